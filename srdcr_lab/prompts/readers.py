"""Strict readers of replies: the line with which a reply had to end or begin, and replies that are one JSON object.

A reply that cannot be read gives UNPARSED or None; a JSON object raises `Malformed`, which says why. What value an
answer's text stands for is decided in `srdcr_lab.answers`.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

from srdcr_lab.records import Completion, Verdict
from srdcr_lab.records.files import parse_json
from srdcr_lab.records.vocabulary import HALF_CHARACTER

# Emphasis, and quotation marks around the line or the word, are ignored: **Final decision:** REASONABLE. A ruling with
# which a quotation ends is somebody else's.
# So are words that introduce the ruling in a sentence of its own: "…. Therefore, the final decision is REASONABLE."
RULING = r"final decision[\s*_`]*+(?::|is[\s*_`]*+:?)[\s*_`]*+(?P<word>[\"'“])?[\s*_`\[(]*+(REASONABLE|UNREASONABLE)"
_VERDICT = re.compile(
    r"(?P<line>[\s*_#`]*[\"'“])?(?:.*[.!?][\"'”)*_]* +)?[\s*_#`\"'“-]*"
    r"(?:(?:therefore|thus|so|hence),? )?(?:(?:the|my) )?"
    + RULING
    + r"[\s.!*_`\])]*(?(line)[\"'”]?|(?(word)[\"'”]?))[\s.*_`]*",
    re.IGNORECASE | re.ASCII,
)
_CONFIDENCE = re.compile(r"[\s*_]*confidence[\s*_]*:[\s*_]*(\d{1,3})\s*%?[\s.*_]*", re.IGNORECASE | re.ASCII)
_ANSWER = re.compile(r"[\s>*_#`\"'“-]*(?:final )?answer[\s*_`]*:[\s*_`]*(\S.*?)[\s*_`\"'”]*", re.IGNORECASE)
_FINAL_ANSWER = re.compile(r"[\s*_#>`\"'“\d.)-]*final answer[\s*_`]*:[\s*_`]*(\S.*)", re.IGNORECASE | re.ASCII)
SELF_ASK = re.compile(
    r"^[ \t*_#>`\"'“\d.)-]*(?:step \d+\W*)?(?:sub[- ]?(?:question|answer)|follow-?up|(?:intermediate|final) answer)\b",
    re.IGNORECASE | re.MULTILINE,
)
# A reply that says it has no answer, with a remark: "none (the agents disagree)". "None but the Brave" is a film.
_NONE = re.compile(r"(?is)[\W_]*(?:none|null|n/?a|unknown)[\W_]*(?:of (?:them|these|the)\b.*|[(,;:–—-].*)?")
_ANSWERS = re.compile(r"[\s*_#`\"'“]*answers[\s*_`]*:(.*)", re.IGNORECASE | re.ASCII)


def _on_last_line(pattern: re.Pattern[str], reply: str, limit: int | None = None) -> str | None:
    """What the pattern captures last in the last line with words (up to the limit), if it matches the whole line."""
    last = next((line for line in reversed(reply.splitlines()) if any(map(str.isalnum, line))), "")
    match = pattern.fullmatch(last[:limit])
    return match[match.lastindex or 0] if match else None


def verdict(reply: str) -> Verdict:
    """The ruling, if it is the whole last sentence of the last non-empty line; otherwise UNPARSED."""
    ruling = _on_last_line(_VERDICT, reply)
    return Verdict(ruling.upper()) if ruling else Verdict.UNPARSED


def word_probability(word: str, reply: str, completion: Completion | None) -> float | None:
    """The probability p of the first token of the last such word in a reply; None without log-probabilities.

    If a model chooses between two words and nothing else was likely here, p is the share of the word it said; otherwise
    its share of the two is larger. `reply` is the completion's text without thinking.
    """
    places = [match.start() for match in re.finditer(re.escape(word), reply, re.IGNORECASE)]
    if completion is None or completion.tokens is None or completion.logprobs is None or not places:
        return None
    begins = "".join(completion.tokens).rfind(reply)
    if begins < 0:
        return None
    ends = accumulate(map(len, completion.tokens))
    first = next(place for place, end in enumerate(ends) if end > begins + places[-1])
    return math.exp(completion.logprobs[first])


def p_unreasonable(reply: str, completion: Completion) -> float | None:
    """P(UNREASONABLE) where the verdict is stated: `word_probability` of UNREASONABLE, or 1 − that of REASONABLE.

    None if no verdict could be read, and without log-probabilities. The reasons come before the verdict, so this is the
    belief after them. Ours; belief in a word as in Kadavath et al. 2022 (arXiv 2207.05221), G-Eval (arXiv 2303.16634).
    """
    word = _on_last_line(_VERDICT, reply)
    p = None if word is None else word_probability(word, reply, completion)
    return p if p is None or verdict(reply) is Verdict.UNREASONABLE else 1 - p


def confidence(reply: str) -> float | None:
    """A stated percentage as a number in [0, 1]; None unless the reply is exactly that line."""
    match = _CONFIDENCE.fullmatch(reply)
    return int(match[1]) / 100 if match and int(match[1]) <= 100 else None


def answer_line(reply: str) -> str | None:
    """What follows ``answer:`` on the last non-empty line; None if that line does not begin with it.

    >>> answer_line("It is a place for books.\\n**Answer:** B")
    'B'
    """
    return _on_last_line(_ANSWER, reply, limit=1000)  # the time of this pattern grows with the square


def final_answer(reply: str) -> str | None:
    """The same for ``Final answer:``, for prompts in which a line ``answer:`` is not enough."""
    line = _on_last_line(_FINAL_ANSWER, reply)
    return None if line is None else line.strip()


def answers_line(reply: str) -> tuple[str, ...] | None:
    """The answers on the last non-empty line, ``answers: A | B``; empty for ``none``, None without such a line."""
    line = _on_last_line(_ANSWERS, reply)
    if line is None:
        return None
    answers = [answer.strip(" \t*_`\"'“”") for answer in line.split("|")]
    given = tuple(answer for answer in answers if answer and not _NONE.fullmatch(answer))
    return given or (() if any(answers) else None)


def dashed_lines(reply: str) -> list[str]:
    """The texts of the lines that begin with a dash, in order."""
    lines = map(str.strip, reply.splitlines())
    return [text for line in lines if line.startswith(("- ", "– ", "* ")) and (text := line[2:].strip())]


# Replies that are one JSON object: the theses, challenges and rebuttals of a dialectical debate

_FENCE = re.compile(r"\s*```(?:json)?[^\S\n]*\n(.*)\n[^\S\n]*```\s*", re.DOTALL)
_MOST_STEPS = 20


class Malformed(Exception):
    """A reply that is not the requested object. The text says why, without quoting the reply."""


class Stand(StrEnum):
    """What a challenged proponent does with its thesis."""

    DEFEND = "defend"
    REVISE = "revise"
    CONCEDE = "concede"


@dataclass(frozen=True, slots=True)
class Thesis:
    """A proponent's answer and the steps to it; `answer` is None if its document gives none.

    In the reply to a challenge `state` is what becomes of the first thesis.
    """

    answer: str | None
    chain_of_thought: tuple[str, ...]
    state: Stand | None = None


def thesis(reply: str) -> Thesis:
    """The thesis in a reply that is exactly ``{"answer": text or null, "chain_of_thought": [text, …]}``.

    Raises `Malformed` for any other reply.
    """
    fields = _object(reply, "answer", "chain_of_thought")
    return Thesis(_answer(fields), _steps(fields))


def rebuttal(reply: str, held: Thesis) -> Thesis:
    """The rebuttal by the proponent of the thesis `held`, in a reply that is a thesis with a ``"state"``.

    Raises `Malformed` for any other reply, and if the answer contradicts the state: a defence without the answer of the
    thesis, or a revision or concession with it.
    """
    fields = _object(reply, "state", "answer", "chain_of_thought")
    if fields["state"] not in list(Stand):
        raise Malformed(f'"state" is none of {", ".join(Stand)}')
    state, answer = Stand(fields["state"]), _answer(fields)
    kept = _written(answer) == _written(held.answer)
    if state is Stand.DEFEND and not kept:
        raise Malformed('"state" is "defend", but "answer" is not the answer of the thesis')
    if state is not Stand.DEFEND and kept and answer is not None:
        raise Malformed(f'"state" is "{state}", but "answer" is still the answer of the thesis')
    if state is Stand.REVISE and answer is None:
        raise Malformed('"state" is "revise", but "answer" is null')
    return Thesis(answer, _steps(fields), state)


def challenges(reply: str, n_documents: int) -> Mapping[int, str]:
    """Number of a document, from 1 and ascending → its challenge; empty if no document is challenged.

    Raises `Malformed` unless the reply is ``{"challenges": [{"document": number, "challenge": text}, …]}`` and names
    only documents that exist, each at most once.
    """
    entries = _object(reply, "challenges")["challenges"]
    if not isinstance(entries, list):
        raise Malformed('"challenges" is not a list')
    by_document: dict[int, str] = {}
    for entry in entries:
        if not isinstance(entry, dict) or sorted(entry) != ["challenge", "document"]:
            raise Malformed('an entry of "challenges" is not an object with exactly "document" and "challenge"')
        number = entry["document"]
        if type(number) is not int or not 1 <= number <= n_documents:
            raise Malformed(f'"document" is not the number of a document, 1 to {n_documents}')
        if number in by_document:
            raise Malformed(f"document {number} is challenged twice")
        by_document[number] = _text(entry["challenge"], 'a "challenge" is not a text')
    return dict(sorted(by_document.items()))


def _object(reply: str, *keys: str) -> dict[str, Any]:
    """The JSON object in a reply, with or without a code fence around it."""
    fenced = _FENCE.fullmatch(reply)
    try:
        content = parse_json(fenced[1] if fenced else reply, distinct_keys=True)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise Malformed("it is not one JSON object")
    if sorted(content) != sorted(keys):
        raise Malformed("its keys are not exactly " + ", ".join(f'"{key}"' for key in keys))
    if HALF_CHARACTER.search(json.dumps(content, ensure_ascii=False)):
        raise Malformed("it holds half of a character")
    return content


def _text(value: object, fault: str) -> str:
    if not isinstance(value, str) or not any(map(str.isalnum, value)):  # the prompt's example has "…"
        raise Malformed(fault)
    return value.strip()


def _answer(fields: Mapping[str, Any]) -> str | None:
    answer = fields["answer"]
    text = None if answer is None else _text(answer, '"answer" is neither a text nor null')
    return None if text is None or _NONE.fullmatch(text) else text


def _steps(fields: Mapping[str, Any]) -> tuple[str, ...]:
    steps = fields["chain_of_thought"]
    if not isinstance(steps, list) or not 0 < len(steps) <= _MOST_STEPS:
        raise Malformed(f'"chain_of_thought" is not a list of 1 to {_MOST_STEPS} steps')
    return tuple(_text(step, 'a step of "chain_of_thought" is not a text') for step in steps)


def _written(answer: str | None) -> str | None:
    """Without case, space, emphasis and commas; a sign, a point or a unit makes another answer."""
    return None if answer is None else re.sub(r"[\s,*_`\"'“”’]", "", answer.casefold()).rstrip(".")
