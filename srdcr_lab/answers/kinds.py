"""The public functions of this floor, over one small module per answer type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from srdcr_lab.answers import names, number, options, text, year
from srdcr_lab.answers.replies import after_marker, first_line, is_refusal, is_sentence, undecorated
from srdcr_lab.answers.text import Span, fold_digits, without_overlaps
from srdcr_lab.records import AnswerType, Option


@dataclass(frozen=True, slots=True)
class Kind:
    """How answers of one type are read.

    `canonical(text, unit)`; `same(a, b, unit)` of canonical forms; `occurrences(passage, canonical, unit)`.
    `in_sentence(text, unit)` reads the one answer out of a sentence; where it is None, a reply is its first line, of at
    most `max_words` words.
    """

    canonical: Callable[[str, str], str | None]
    same: Callable[[str, str, str], bool]
    occurrences: Callable[[str, str, str], list[Span]]
    in_sentence: Callable[[str, str], str | None] | None = None
    max_words: int = 10


KINDS: Mapping[AnswerType, Kind] = MappingProxyType(
    {
        AnswerType.YEAR: Kind(year.canonical, year.same, year.occurrences, year.in_sentence),
        AnswerType.NUMBER: Kind(number.canonical, number.same, number.occurrences, number.in_sentence),
        AnswerType.NAME: Kind(names.person, names.same_person, names.persons_in),
        AnswerType.CITY: Kind(names.city, names.same_city, names.cities_in),
        AnswerType.TEXT: Kind(text.canonical, text.same, text.occurrences),
        AnswerType.OPTION: Kind(options.canonical, options.same, options.occurrences),
    }
)


@lru_cache(maxsize=10_000)  # the same few answers are compared again and again
def normalise(text: str, answer_type: AnswerType, unit: str = "") -> str | None:
    """Canonical form of a bare answer; two answers are compared by it. None where the text is no answer of that type.

    Idempotent. What counts as the same is written at the top of each type's module.
    """
    bare = undecorated(after_marker(text))
    if not bare or _is_no_answer(bare, answer_type):
        return None
    canonical = KINDS[answer_type].canonical(bare, unit)
    return None if canonical is None or _is_no_answer(canonical, answer_type) else canonical


def _is_no_answer(text: str, answer_type: AnswerType) -> bool:
    return is_refusal(text) or (answer_type in (AnswerType.NAME, AnswerType.CITY) and is_sentence(text))


def extract(output: str, answer_type: AnswerType, unit: str = "", choices: Sequence[Option] = ()) -> str | None:
    """The answer in a model's reply to "reply with the answer alone"; None (unparsed) rather than a guess.

    Of a question with options it is the label that the reply names; without its options (`choices`) none is.

    Years and numbers come back in canonical form: of the whole reply, else of its first line, else the one distinct
    candidate of a sentence. Names, cities and texts come back as they were written, without decoration: the first line,
    at most ten words. A refusal is None. Of several "Answer:" lines none is believed.
    """
    if answer_type is AnswerType.OPTION:
        return options.extract_option(output, choices)
    kind, reply = KINDS[answer_type], undecorated(after_marker(output))
    line = undecorated(first_line(reply))
    if not line or is_refusal(line) or is_refusal(reply):
        return None
    if kind.in_sentence is not None:
        whole = normalise(reply, answer_type, unit)
        return whole or _first_bare_line(reply, answer_type, unit) or kind.in_sentence(reply, unit)
    if len(line.split()) > kind.max_words or normalise(line, answer_type, unit) is None:
        return None
    return line


def _first_bare_line(reply: str, answer_type: AnswerType, unit: str) -> str | None:
    """The first line where it is an answer by itself and no other line is a different one."""
    bare = [normalise(line, answer_type, unit) for line in reply.splitlines() if line.strip()]
    return bare[0] if bare and len({answer for answer in bare if answer is not None}) == 1 else None


def equal(a: str, b: str, answer_type: AnswerType, unit: str = "", aliases: Sequence[str] = ()) -> bool:
    """Exact match after normalisation of `a` with `b` or one of b's aliases. What is no answer equals nothing."""
    left = normalise(a, answer_type, unit)
    if left is None:
        return False
    same = KINDS[answer_type].same
    return any(same(left, right, unit) for right in _canonical_forms((b, *aliases), answer_type, unit))


def find(passage: str, answer: str, answer_type: AnswerType, unit: str = "", aliases: Sequence[str] = ()) -> list[Span]:
    """Every occurrence of an answer, or of its aliases, in any spelling, left to right and without overlaps.

    Weaker mentions (a surname, a number without its unit, the short end of a range) are marked `partial`. An answer
    that is none of its type occurs nowhere.
    """
    occurrences = KINDS[answer_type].occurrences
    forms = _canonical_forms((answer, *aliases), answer_type, unit)
    return without_overlaps(span for form in forms for span in occurrences(passage, form, unit))


def contains_anywhere(
    output: str, gold: str, answer_type: AnswerType, unit: str = "", aliases: Sequence[str] = ()
) -> bool:
    """The released code's loose match: the gold answer occurs anywhere in the output. For preset `released` alone.

    A label is no such answer (a "C" stands in many words): an option is matched exactly, whatever the preset.
    """
    if answer_type is AnswerType.OPTION:
        return equal(output, gold, answer_type)
    weak_counts = answer_type in (AnswerType.YEAR, AnswerType.NUMBER)
    return any(weak_counts or not span.partial for span in find(output, gold, answer_type, unit, aliases))


def _canonical_forms(answers: Iterable[str], answer_type: AnswerType, unit: str) -> list[str]:
    """Distinct canonical forms; an answer that is none of its type is left out."""
    forms = (normalise(answer, answer_type, unit) for answer in answers)
    return list(dict.fromkeys(form for form in forms if form is not None))


def guess_type(answers: Sequence[str]) -> AnswerType:
    """Answer type of a table that does not name one.

    YEAR where all are four digits in 1000–2199, NUMBER where all are numbers with at most one unit between them, else
    TEXT. Names and cities are never guessed; no answers at all are TEXT.
    """
    given = [fold_digits(answer).strip() for answer in answers if answer and answer.strip()]
    if given and all(len(a) == 4 and a.isdigit() and 1000 <= int(a) <= 2199 for a in given):
        return AnswerType.YEAR
    values = [number.infer_unit(answer) for answer in given]
    units = {value[1] for value in values if value is not None and value[1]}
    return AnswerType.NUMBER if given and None not in values and len(units) <= 1 else AnswerType.TEXT


def infer_unit(text: str) -> tuple[str, str] | None:
    """Value and unit: "5 milligrams" → ("5", "mg"), "3,559 people" → ("3559", "people"), "12" → ("12", "")."""
    return number.infer_unit(undecorated(text))
