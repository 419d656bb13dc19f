"""What the loopback model says in debates over several documents: a function of the prompt, in the form asked for.

It reads the first year of a document where one is asked for, else the first words with capitals. Now and then, by hash,
a structured reply has prose around it: it comes right when it is asked for once more.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from srdcr_lab.prompts import system_text

_TEMPLATES = (
    *("documents_together", "document_agent", "documents_aggregator", "documents_judge"),
    *("proponent_thesis", "devils_advocate", "proponent_rebuttal"),
)
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")
_NAME = re.compile(r"\b[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,3}")
_HELD = re.compile(r"(?:It is (.+)\.|No answer\.)")
_AGAIN = "Reply again, with the JSON object alone."
_MALFORMED_SHARE = 0.1


@cache
def _template(system: str) -> str | None:
    return next((name for name in _TEMPLATES if system_text(name) == system), None)


def document_reply(system: str, user: str, asked: str, unit: Any) -> str | None:
    """The reply to a prompt of these debates; None for any other. `unit` gives a number in (0, 1) for its arguments."""
    match _template(system):
        case "documents_together":
            return _line(_most(_read(text, asked) for text in _blocks(user, "document")))
        case "document_agent":
            return _agent(user, asked, unit)
        case "documents_aggregator":
            return _line(_most(_first_sentence(text) for text in _blocks(user, "agent")))
        case "documents_judge":
            return _line(_most(_standing(user)))
        case "proponent_thesis":
            (document,) = _blocks(user, "document")
            return _json(user, unit, answer=_read(document, asked), chain_of_thought=["The document says so."])
        case "devils_advocate":
            return _advocate(user, unit)
        case "proponent_rebuttal":
            return _rebuttal(user, unit)
    return None


def _blocks(user: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}[^>]*>\n(.*?)\n</{tag}>", user, re.DOTALL)


def _read(document: str, asked: str) -> str | None:
    found = (_YEAR if re.search(r"\b(?:when|year)\b", asked, re.IGNORECASE) else _NAME).search(document)
    return found[0] if found else None


def _agent(user: str, asked: str, unit: Any) -> str:
    (document,) = _blocks(user, "document")
    own, others = _read(document, asked), _blocks(user, "agent")
    if others and unit("gives in", document) < 0.2:
        return f"{_first_sentence(others[0]) or 'Unknown'}. The other agent convinces me."
    return f"{own}. The document says so." if own else "Unknown. The document does not say."


def _first_sentence(text: str) -> str | None:
    answer = text.partition(". ")[0]
    return None if answer == "Unknown" else answer


def _most(answers: Iterable[str | None]) -> list[str]:
    """The most frequent answer, and the next where it is as frequent."""
    counts = Counter(answer for answer in answers if answer).most_common(2)
    return [answer for answer, count in counts if count == counts[0][1]]


def _line(answers: Sequence[str]) -> str:
    return f"The evidence is plain.\nanswers: {' | '.join(answers) or 'none'}"


def _held(user: str, tag: str) -> list[str | None]:
    return [found[1] if (found := _HELD.match(text)) else None for text in _blocks(user, tag)]


def _advocate(user: str, unit: Any) -> str:
    theses = _held(user, "thesis")
    best = _most(theses)
    faulted = [i for i, thesis in enumerate(theses, start=1) if thesis and thesis not in best[:1]]
    return _json(
        user, unit, challenges=[{"document": i, "challenge": f"Another document says {best[0]}."} for i in faulted]
    )


def _rebuttal(user: str, unit: Any) -> str:
    (held,) = _held(user, "thesis")
    steps, share = ["I have read it again."], unit("rebuttal", user)
    if share < 0.5:
        return _json(user, unit, state="defend", answer=held, chain_of_thought=steps)
    if share < 0.6:
        return _json(user, unit, state="revise", answer=f"{held} II", chain_of_thought=steps)
    return _json(user, unit, state="concede", answer=None, chain_of_thought=steps)


def _standing(user: str) -> list[str | None]:
    """Each document's last word, concessions left out."""
    last: dict[str, str | None] = {}
    for _, number, state, text in re.findall(
        r'<(thesis|rebuttal) document="(\d+)"(?: state="(\w+)")?>\n(.*?)\n</\1>', user, re.DOTALL
    ):
        found = _HELD.match(text)
        last[number] = None if state == "concede" or not found else found[1]
    return list(last.values())


def _json(user: str, unit: Any, **found: Any) -> str:
    text = json.dumps(found, ensure_ascii=False)
    if _AGAIN not in user and unit("malformed", user) < _MALFORMED_SHARE:
        return f"Here is my reply: {text}"
    return text
