"""A reader's own verdicts, kept with the run in a small CSV and compared with the judge's."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.measures.verdicts import Agreement, agreement
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.widgets.cases import FACETS, Cases, Run, tell

if TYPE_CHECKING:
    from ipywidgets import VBox


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


# -- the transcript explorer in a notebook: filter, step, read why, and rule for oneself. It calls no model

SHOWN = "srdcr-case"  # class of the HTML that tells the case
_RULINGS = {"no verdict yet": None, "Reasonable": ReaderVerdict.REASONABLE, "Unreasonable": ReaderVerdict.UNREASONABLE,
            "cannot tell": ReaderVerdict.CANNOT_TELL}  # fmt: skip


def explorer(run: Run, methods: Sequence[str] | None = None, *, keep: str | Path | None = None) -> VBox:
    """The transcripts of a run (`Results`), or of some of its methods.

    A reader's own verdicts go into reader_verdicts.csv in the run's folder, or in the folder `keep`.
    """
    cases = Cases.of(run, methods)
    return Explorer(cases, ReaderVerdicts.load(Path(keep or run.folder) / FILE), run.label).box


class Explorer:
    """The controls and what they show; `place` is the case's place among all, `found` are those that match."""

    def __init__(self, cases: Cases, reader: ReaderVerdicts, label: str = "") -> None:
        import ipywidgets

        self.cases, self.reader = cases, reader
        self.found = list(range(len(cases)))
        self._moving = False
        self.filters = {
            facet: ipywidgets.Dropdown(options=[("any", ""), *((value, value) for value in cases.options(facet))],
                                       description=text, style={"description_width": "8em"},
                                       layout={"width": "32em" if facet == "story" else "20em"})
            .add_class(f"srdcr-{facet}")
            for facet, text in FACETS.items()
        }  # fmt: skip
        self.case = ipywidgets.BoundedIntText(
            value=1, min=1, max=max(len(cases), 1), description="case", layout={"width": "12em"}
        )
        self.total = ipywidgets.Label()
        self.before, self.after = (ipywidgets.Button(description=text) for text in ("◀ case", "case ▶"))
        self.round = ipywidgets.IntSlider(value=0, min=0, max=0, description="up to round").add_class("srdcr-round")
        self.blind = ipywidgets.Checkbox(description="hide judge, decision and truth", indent=False)
        self.ruling = ipywidgets.ToggleButtons(options=_RULINGS, description="I rule").add_class("srdcr-ruling")
        self.shown = ipywidgets.HTML().add_class(SHOWN)
        self.compared = ipywidgets.HTML()
        wrap = {"flex_flow": "row wrap"}
        steps = [self.before, self.case, self.total, self.after, self.round, self.blind]
        self.box = ipywidgets.VBox([
            ipywidgets.HBox(list(self.filters.values()), layout=wrap), ipywidgets.HBox(steps, layout=wrap),
            self.shown, self.ruling, self.compared, ipywidgets.Label(label),
        ])  # fmt: skip
        self._connect()
        self._filter()
        self._compare()

    @property
    def place(self) -> int | None:
        """The case's place among all; None where no case matches."""
        return self.found[self.case.value - 1] if self.found else None

    def _connect(self) -> None:
        for control in self.filters.values():
            control.observe(lambda _: self._filter(), names="value")
        self.case.observe(lambda _: self._open(), names="value")
        for control in (self.round, self.blind):
            control.observe(lambda _: self._show(), names="value")
        self.ruling.observe(self._rule, names="value")
        self.before.on_click(lambda _: self._go(-1))
        self.after.on_click(lambda _: self._go(+1))

    def _go(self, step: int) -> None:
        self.case.value = min(max(self.case.value + step, self.case.min), self.case.max)

    def _filter(self) -> None:
        """Find the cases anew and open the first of them."""
        self.found = self.cases.matching({name: control.value for name, control in self.filters.items()})
        self._moving = True
        self.case.value, self.case.max = 1, max(len(self.found), 1)
        self._moving = False
        self.total.value = f"of {len(self.found)}"
        self._open()

    def _open(self) -> None:
        """Show the first round of the case, and what the reader said of it before."""
        if self._moving:
            return
        self._moving = True
        rounds = [turn.round for turn in self.cases.turns(self.place)] if self.place is not None else []
        self.round.value, self.round.max = 0, max(rounds, default=0)
        given = self.reader.given.get(self.cases.key(self.place)) if self.place is not None else None
        self.ruling.value = given.verdict if given else None
        self._moving = False
        self._show()

    def _show(self) -> None:
        if self._moving:
            return
        if self.place is None:
            self.shown.value = "<p>No case has all of these.</p>"
            return
        self.shown.value = tell(self.cases, self.place, blind=self.blind.value).html(self.round.value)

    def _rule(self, change: Any) -> None:
        """Keep the reader's verdict in the file, then compare."""
        if self._moving or self.place is None:
            return
        self.reader.record(self.cases.key(self.place), change["new"], blind=self.blind.value)
        self._compare()

    def _compare(self) -> None:
        given = self.reader.given
        lines = [f"{compare_with_judge(self.cases, given)}"]
        if any(one.blind for one in given.values()):
            lines.append(
                f"Of those given with judge and truth hidden: {compare_with_judge(self.cases, given, blind=True)}"
            )
        self.compared.value = "".join(f"<p>{line}</p>" for line in lines)
