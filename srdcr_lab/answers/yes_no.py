"""Yes or no: read where a reply says it as an answer. A "no" inside a sentence ("no record of it") says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from srdcr_lab.answers.kinds import LONGEST, Kind
from srdcr_lab.answers.replies import announced, is_question, sentences, spoken
from srdcr_lab.answers.wording import Span
from srdcr_lab.records import AnswerType, Option

_MEANING = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
_WORD = re.compile(
    rf"\b(?:{'|'.join(_MEANING)})\b(?!\.\s{{0,3}}\d)(?=[\s*_\"”')\]]{{0,4}}(?:[.,;:!?\n–—]|\Z)|\s(?:-|(?:it|they|there)\b))",
    re.IGNORECASE,
)
_BEFORE = re.compile(  # a clause begins here: "So, yes."
    r"(?:\A|[.,;:!?\n–—]|\s-)[\s*_\"“'(\[>#`-]*(?:(?:so|well|then|thus|hence|therefore|actually|wait|or|and|but)[,\s]+){0,2}\Z",
    re.IGNORECASE,
)
_NEAR = 40  # characters before the word


class YesNo(Kind):
    """Yes or no, also written true or false; a passage argues for it in other words. It is not perturbed."""

    answer_type = AnswerType.YES_NO
    is_value = True
    is_stated = False

    def canonical(self, text: str, unit: str = "") -> str | None:
        """The one of "yes" and "no" that a text says, once or repeatedly."""
        said = "\n".join(each for each in sentences(text) if not is_question(each))
        values = {value for _, value in _said(said)}
        return values.pop() if len(values) == 1 else None

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> list[Span]:
        """Where the passage says it as an answer."""
        return [Span(m.start(), m.end(), m[0]) for m, value in _said(passage) if value == canonical]

    def extract(
        self, output: str, unit: str = "", choices: Sequence[Option] = (), question: str = "", longest: int = LONGEST
    ) -> str | None:
        """As `canonical` reads it, in what the reply announces or in all of it.

        >>> KIND.extract("No, there is no record of it."), KIND.extract("There is no record of it.")
        ('no', None)
        """
        reply = spoken(output)
        readings = {self.normalise(text) for text in announced(reply) or [reply]}
        return readings.pop() if len(readings) == 1 else None

    def guesses(self, answers: Sequence[str]) -> bool:
        return all(answer.casefold() in _MEANING for answer in answers)


KIND = YesNo()


def _said(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each word that stands as an answer, and what it means."""
    for match in _WORD.finditer(text):
        if _BEFORE.search(text[max(0, match.start() - _NEAR) : match.start()]):
            yield match, _MEANING[match[0].casefold()]
