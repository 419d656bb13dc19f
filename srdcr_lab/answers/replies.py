"""What is stripped from a reply before it is read as an answer, and what is no answer at all."""

from __future__ import annotations

import re

_MARKER = re.compile(
    r"[\s>*_#`-]*(?:(?:the\s)?(?:final\s|short\s)?answer(?:\sis)?\s?[*_]{0,3}\s?[:：]|(?:so\s)?the\s(?:final\s)?answer\sis\b)[\s*_`]*",
    re.IGNORECASE,
)
_PAIRS = dict(zip("\"'“‘«`*_„([「$", "\"'”’»`*_“)]」$", strict=True))
_REFUSAL = re.compile(
    r"(?:i (?:do not|don'?t|cannot|can'?t|could not|couldn'?t|have no|was unable)\b.*"
    r"|(?:i'm|i am) (?:not|unable|sorry|afraid)\b.*|unknown|unsure|unanswerable|undetermined|n/?a|no answer|no idea"
    r"|not (?:known|stated|specified|mentioned|given|available|applicable|sure|certain)"
    r"|(?:it )?(?:cannot|can ?not|can't|could not) be (?:determined|answered|known)\b.*"
    r"|(?:(?:the )?answer is|it is|it's|this is) (?:not known|unknown|unclear|impossible)\b.*"
    r"|sorry\b.*|as an ai\b.*|\?+|-+|…+|\.+)[.!]*",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE = re.compile(r"\s(?:is|was|were|are|has|had|have|because|which)\s")


def undecorated(text: str) -> str:
    """Without quotes, emphasis, code marks, list bullets and a final full stop around it."""
    text = text.strip().strip("\u200e\u200f\u2066\u2067\u2068\u2069\ufeff").strip()
    for _ in range(4):
        before = text
        while len(text) > 1 and text[-1] == _PAIRS.get(text[0]) and not (text[0] in "([" and text[0] in text[1:]):
            text = text[1:-1].strip()
        text = re.sub(r"\A(?:[#>]+|[*•]|[-–](?=\s+[^\W\d_]))\s+", "", text)
        text = re.sub(r"(?<=[^\s.])\.\Z", "", text)
        if text == before:
            break
    return text


def after_marker(reply: str) -> str:
    """What follows the reply's one "Answer:" on its line; the whole reply where there is none, or more than one."""
    lines = [line for line in reply.splitlines() if line.strip()]
    marked = [(i, found.end()) for i, line in enumerate(lines) if (found := _MARKER.match(line))]
    if len(marked) != 1:
        return reply
    line, start = marked[0]
    return lines[line][start:] or "\n".join(lines[line + 1 :])


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def is_refusal(text: str) -> bool:
    return _REFUSAL.fullmatch(" ".join(text.replace("’", "'").split())) is not None


def is_sentence(text: str) -> bool:
    """True where four or more words hold a lower-case verb: a name or a city in an answer does not."""
    return len(text.split()) >= 4 and _SENTENCE.search(text) is not None


# -- confidence from the tokens of a reply: which of them state the answer
