"""A reader's own verdicts, kept with the run in a small CSV and compared with the judge's."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from srdcr_lab.measures.agreement import Agreement, agreement
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.widgets.explorer_cases import Cases

FILE = "reader_verdicts.csv"
_COLUMNS = ("item_id", "method", "design", "verdict", "blind")


class ReaderVerdict(StrEnum):
    REASONABLE = "REASONABLE"
    UNREASONABLE = "UNREASONABLE"
    CANNOT_TELL = "CANNOT_TELL"


@dataclass(frozen=True, slots=True)
class Given:
    """A verdict, and whether it was given without sight of the judge, the decision and the truth."""

    verdict: ReaderVerdict
    blind: bool


@dataclass
class ReaderVerdicts:
    """The verdicts of one reader by case (`Cases.key`), and the file that keeps them; it is written at every change,
    whole or not at all."""

    path: Path
    given: dict[tuple[str, ...], Given] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> ReaderVerdicts:
        """Those of a file, or none where there is no file.

        Raises
        ------
        BadInput
            For a file of another form, naming the row.
        """
        if not path.exists():
            return cls(path)
        try:
            with path.open(encoding="utf-8", newline="") as file:
                head, *rows = csv.reader(file)
        except (OSError, ValueError, csv.Error):
            raise BadInput(f"{path} cannot be read as the verdicts of a reader; move it away") from None
        if tuple(head) != _COLUMNS:
            raise BadInput(f"{path} has not the columns {', '.join(_COLUMNS)}; move it away to begin anew")
        return cls(path, dict(_read(path, number, row) for number, row in enumerate(rows, start=1)))

    def record(self, key: tuple[str, ...], verdict: ReaderVerdict | None, *, blind: bool = False) -> None:
        """Keep a verdict, or with None take it back."""
        given = {other: value for other, value in self.given.items() if other != key}
        if verdict is not None:
            given[key] = Given(verdict, blind)
        part = self.path.with_name(self.path.name + ".part")
        with part.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(_COLUMNS)
            lines.writerows((*of, one.verdict.value, str(one.blind)) for of, one in given.items())
        os.replace(part, self.path)  # noqa: PTH105 (whole or not at all)
        self.given = given


def _read(path: Path, number: int, row: Sequence[str]) -> tuple[tuple[str, ...], Given]:
    if len(row) != len(_COLUMNS) or row[3] not in list(ReaderVerdict) or row[4] not in ("True", "False"):
        known = ", ".join(ReaderVerdict)
        raise BadInput(f"{path}, row {number}: expected {', '.join(_COLUMNS)} with one of {known}, then True or False")
    return tuple(row[:3]), Given(ReaderVerdict(row[3]), row[4] == "True")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Reader and judge on the cases that both have decided, and how often each of them is right about the passage.

    `n_cannot_tell`: the reader could not; `n_unruled`: V* is UNPARSED or the method has none. Neither is in the
    agreement.
    """

    agreement: Agreement
    reader_right: int
    judge_right: int
    n_cannot_tell: int
    n_unruled: int

    def __str__(self) -> str:
        found, left = self.agreement, f"{self.n_cannot_tell} cannot tell, {self.n_unruled} without a verdict of a judge"
        if not found.n:
            return f"No case yet on which both the reader and the judge have ruled ({left})."
        kappa = f"κ = {found.kappa:.2f}" if found.kappa == found.kappa else "κ undefined (both said one thing only)"
        return (
            f"The reader agrees with the judge on {found.n_agree} of {found.n}: {found.share:.2f} "
            f"[{found.low:.2f}, {found.high:.2f}], {kappa}; left out: {left}. Right about the passage: "
            f"the reader on {self.reader_right}, the judge on {self.judge_right} of {found.n}."
        )


def compare_with_judge(cases: Cases, given: Mapping[tuple[str, ...], Given], *, blind: bool = False) -> Comparison:
    """The reader beside V*, on the verdicts given, or on those given `blind` alone."""
    judge_of = {cases.key(place): place for place in range(len(cases))} if given else {}
    mine, theirs, questions, true = [], [], [], []
    n_cannot_tell = n_unruled = 0
    for key, one in given.items():
        if key not in judge_of or (blind and not one.blind):
            continue
        row = cases.row(judge_of[key])
        if one.verdict is ReaderVerdict.CANNOT_TELL:
            n_cannot_tell += 1
        elif row["verdict"] in (None, Verdict.UNPARSED):
            n_unruled += 1
        else:
            mine.append(one.verdict.value)
            theirs.append(row["verdict"])
            questions.append(row["question_id"])
            truth = Verdict.REASONABLE if row["level"] == Level.STANDARD else Verdict.UNREASONABLE
            true.append(truth.value)
    return Comparison(
        agreement(mine, theirs, questions), _equal(mine, true), _equal(theirs, true), n_cannot_tell, n_unruled
    )


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))
