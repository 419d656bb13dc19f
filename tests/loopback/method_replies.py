"""What the loopback model says in the methods that SR-DCR is compared with; None for any other prompt."""

import re
from collections.abc import Callable

from srdcr_lab import prompts

_ANSWER = re.compile(r"<answer>\n(.*?)[.\n]", re.DOTALL)
_SAID = re.compile(r"<(?:defender|critic) round=\"\d+\">\n(.*?)\. ", re.DOTALL)


def method_reply(system: str, user: str, year: str, unit: Callable[..., float]) -> str | None:
    """`year` is what it reads in the passage; who sees the same prompt says the same."""
    role = next((name for name in _REPLIES if prompts.system_text(name) == system), None)
    return _REPLIES[role](user, year, unit) if role else None


def _given(user: str, year: str) -> str:
    found = _ANSWER.search(user)
    return found[1] if found else year


def _picks(user: str, year: str, unit: Callable[..., float]) -> str:
    sides = _SAID.findall(user) or [year]
    return f"{sides[int(len(sides) * unit('judge', user))]}. It is the better supported one."


_REPLIES: dict[str, Callable[[str, str, Callable[..., float]], str]] = {
    "self_ask": lambda user, year, unit: f"Sub-question: What does it say?\nSub-answer: {year}\nFinal answer: {year}",
    "astute_memory": lambda user, year, unit: "I remember little of it.",
    "astute_answer": lambda user, year, unit: f"My memory says nothing against it.\nFinal answer: {year}",
    "rci_critique": lambda user, year, unit: "- The year may be wrong.",
    "rci_improve": lambda user, year, unit: _given(user, year),
    "judge_debate_debater": lambda user, year, unit: f"{_given(user, year)}. I am certain of it.",
    "judge_debate_judge": _picks,
    "naive_debate_answer": lambda user, year, unit: f"{year}. The passage says so.",
    "naive_debate_reconsider": lambda user, year, unit: f"{_given(user, year)}. I keep my answer.",
    "defender_told": lambda user, year, unit: f"{_given(user, year)}. The passage says so.",
    "critic_told": lambda user, year, unit: f"{_given(user, year)}. I am certain. The passage misleads.",
}
