"""What the loopback model says: a function of messages, temperature and seed, good enough for a whole study.

It "knows" each question to a degree that is a hash of the question: at T = 0 it answers its favourite year, at T > 0
it strays the more often the less it knows. Shown a passage it reads the first year there (where there is none, one of
its own making); debaters stand by a year; the judge rules by hash.
"""

import hashlib
import math
import re
from collections.abc import Callable, Sequence

from srdcr_lab import prompts
from tests.loopback.document_replies import document_reply

Messages = Sequence[dict[str, str]]
Reply = Callable[[Messages, float, int], str]

_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")


def reply(messages: Messages, temperature: float, seed: int) -> str:
    """The default reply. `seed` stands for the draw: equal seeds give equal texts."""
    system = "\n".join(message["content"] for message in messages if message["role"] == "system")
    user = messages[-1]["content"]
    asked = question(user)
    if (told := document_reply(system, user, asked, unit)) is not None:
        return told
    if "final decision" in system:
        ruling = "REASONABLE" if unit("judge", asked) < 0.5 else "UNREASONABLE"
        return f"One side is better supported than the other.\nfinal decision: {ruling}"
    if "confidence:" in system:
        return f"confidence: {round(100 * belief(messages))}"
    passage = re.search(r"<passage>(.*?)</passage>", user, re.DOTALL)
    read = _YEAR.search(passage[1]) if passage else None
    # A passage without a year still leads to a year of its own: another passage, another reply.
    year = read[1] if read else str(_recalled(passage[1] if passage else asked, temperature, seed))
    if (told := method_reply(system, user, year, unit)) is not None:
        return told
    if "You are the" in system:
        return f"{year}. I am certain. The other side offers no reason to doubt it."
    return year


def belief(messages: Messages) -> float:
    """How sure the model is of its own year for this question, in [0.05, 0.999]."""
    return 0.05 + 0.949 * math.sqrt(unit("belief", question(messages[-1]["content"])))


def question(text: str) -> str:
    """The last line that begins with ``Question:``; else the whole text."""
    found = re.findall(r"^Question: (.*)$", text, re.MULTILINE)
    return found[-1] if found else text


def unit(*parts: object) -> float:
    """A number in (0, 1) that is a function of the parts."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 0.5) / 2**64


def _recalled(asked: str, temperature: float, seed: int) -> int:
    favourite = 1500 + int(500 * unit("year", asked))
    strays = temperature > 0 and unit("stray", asked, seed) > 0.05 + 0.949 * math.sqrt(unit("belief", asked))
    return favourite + (1 + int(20 * unit("by", asked, seed)) if strays else 0)


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
