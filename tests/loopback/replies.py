"""What the loopback model says: a function of messages, temperature and seed, good enough for a whole study.

It "knows" each question to a degree that is a hash of the question: at T = 0 it answers its favourite year, at T > 0
it strays the more often the less it knows. Shown a passage it reads the first year there (where there is none, one of
its own making); debaters stand by a year; the judge rules by hash.
"""

import hashlib
import math
import re
from collections.abc import Callable, Sequence

from tests.loopback.document_replies import document_reply
from tests.loopback.method_replies import method_reply

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
