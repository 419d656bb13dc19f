"""The transcript explorer: the cases of a run (one item under one method), as a page and in a notebook.

A reader can filter, step, read why, and rule for oneself; the verdicts are kept in a small CSV with the run, and
compared with the judge's. No model is called.
"""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from srdcr_lab.measures.verdicts import Agreement, agreement
from srdcr_lab.pages import Html, interval, render, source
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.records.files import whole_file
from srdcr_lab.widgets.transcript import FACETS, Cases, Key

if TYPE_CHECKING:
    from ipywidgets import VBox

    from srdcr_lab.study import Results

FILE = "reader_verdicts.csv"
_COLUMNS = ("item_id", "method", "design", "verdict", "blind")


def explorer_html(run: Results, methods: Sequence[str] | None = None, title: str = "Transcripts") -> Html:
    """A page with every case of the run (or of some methods): filter, go from case to case, step through the rounds.

    It needs no server, kernel or network. Its policy allows its own script alone, named by its digest.
    """
    cases = Cases.of(run, methods)
    script = source("explorer.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shown = [
        ({f"data-{name}": "; ".join(values) for name, values in facets.items()}, cases.html(place))
        for place, facets in enumerate(cases.facets)
    ]
    filters = {facet: (text, cases.options(facet)) for facet, text in FACETS.items()}
    return render("explorer", title=title, label=run.label, cases=shown, filters=filters, script=script, digest=digest)


class ReaderVerdict(StrEnum):
    REASONABLE = "REASONABLE"
    UNREASONABLE = "UNREASONABLE"
    CANNOT_TELL = "CANNOT_TELL"


class Given(NamedTuple):
    """A verdict, and whether it was given without sight of the judge, the decision and the truth."""

    verdict: ReaderVerdict
    blind: bool


def load_verdicts(path: Path) -> dict[Key, Given]:
    """A reader's verdicts by case (`Cases.key`), from the file that keeps them; none where there is no file. A file of
    another form is bad input."""
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
    except (OSError, ValueError, csv.Error):
        raise BadInput(f"{path} cannot be read as the verdicts of a reader; move it away") from None
    if tuple(head) != _COLUMNS:
        raise BadInput(f"{path} has not the columns {', '.join(_COLUMNS)}; move it away to begin anew")
    given = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != len(_COLUMNS) or row[3] not in list(ReaderVerdict) or row[4] not in ("True", "False"):
            expected = f"{', '.join(_COLUMNS)} with one of {', '.join(ReaderVerdict)}, then True or False"
            raise BadInput(f"{path}, row {number}: expected {expected}")
        given[row[0], row[1], row[2]] = Given(ReaderVerdict(row[3]), row[4] == "True")
    return given


def save_verdicts(path: Path, given: Mapping[Key, Given]) -> None:
    """Write the file as a whole, or leave it as it was."""
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *((*key, *value) for key, value in given.items())])


@dataclass(frozen=True, slots=True)
class Comparison:
    """Reader and judge on the cases that both have decided, and how often each of them is right about the passage.

    Left out are `n_cannot_tell` cases of the reader, and `n_unruled` whose V* is UNPARSED or that have none.
    """

    agreement: Agreement
    reader_right: int
    judge_right: int
    n_cannot_tell: int
    n_unruled: int

    def __str__(self) -> str:
        both, left = self.agreement, f"{self.n_cannot_tell} cannot tell, {self.n_unruled} without a verdict of a judge"
        if not both.n:
            return f"No case yet on which both the reader and the judge have ruled ({left})."
        kappa = f"κ = {both.kappa:.2f}" if both.kappa == both.kappa else "κ undefined (both said one thing only)"
        return (
            f"The reader agrees with the judge on {both.n_agree} of {both.n}: "
            f"{interval(both.share, both.low, both.high)}, {kappa}; left out: {left}. Right about the passage: "
            f"the reader on {self.reader_right}, the judge on {self.judge_right} of {both.n}."
        )


def compare_with_judge(cases: Cases, given: Mapping[Key, Given], *, blind: bool = False) -> Comparison:
    """The reader beside V*, on the verdicts given, or on those given `blind` alone."""
    rows = {cases.key(place): row for place, row in enumerate(cases.rows)} if given else {}
    ruled = [(rows[key], value.verdict) for key, value in given.items() if key in rows and (value.blind or not blind)]
    decided = [(row, verdict) for row, verdict in ruled if verdict is not ReaderVerdict.CANNOT_TELL]
    both = [(row, verdict) for row, verdict in decided if row["verdict"] not in (None, Verdict.UNPARSED)]
    reader, judge = [verdict.value for _, verdict in both], [row["verdict"] for row, _ in both]
    truth = [Verdict.REASONABLE if row["level"] == Level.STANDARD else Verdict.UNREASONABLE for row, _ in both]
    return Comparison(
        agreement(reader, judge, [row["question_id"] for row, _ in both]),
        reader_right=sum(map(eq, reader, truth)),
        judge_right=sum(map(eq, judge, truth)),
        n_cannot_tell=len(ruled) - len(decided),
        n_unruled=len(decided) - len(both),
    )


_RULINGS = {"no verdict yet": None, "Reasonable": ReaderVerdict.REASONABLE, "Unreasonable": ReaderVerdict.UNREASONABLE,
            "cannot tell": ReaderVerdict.CANNOT_TELL}  # fmt: skip


def explorer(run: Results, methods: Sequence[str] | None = None, *, keep: str | Path | None = None) -> VBox:
    """The transcripts of a run, or of some of its methods. A reader's own verdicts go into reader_verdicts.csv in the
    run's folder, or in the folder `keep`."""
    cases = Cases.of(run, methods)
    return Explorer(cases, Path(keep or run.folder) / FILE, run.label).box


class Explorer:
    """The controls and what they show. `matching`: places of the cases that the filters leave."""

    def __init__(self, cases: Cases, path: Path, label: str = "") -> None:
        import ipywidgets

        self.cases, self.path, self.given = cases, path, load_verdicts(path)
        self.matching = list(range(len(cases)))
        self._moving = False  # true while the code itself moves controls: they do not react then
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
        self.shown, self.compared = ipywidgets.HTML().add_class("srdcr-case"), ipywidgets.HTML()
        wrap = {"flex_flow": "row wrap"}
        steps = [self.before, self.case, self.total, self.after, self.round, self.blind]
        self.box = ipywidgets.VBox([
            ipywidgets.HBox(list(self.filters.values()), layout=wrap), ipywidgets.HBox(steps, layout=wrap),
            self.shown, self.ruling, self.compared, ipywidgets.Label(label),
        ])  # fmt: skip
        reactions = dict.fromkeys(self.filters.values(), self._filter)
        reactions |= {self.case: self._open, self.round: self._show, self.blind: self._show, self.ruling: self._rule}
        for control, reaction in reactions.items():
            control.observe(reaction, names="value")
        self.before.on_click(lambda _: self._go(-1))
        self.after.on_click(lambda _: self._go(+1))
        self._filter()
        self._compare()

    @property
    def place(self) -> int | None:
        """The case's place among all; None where no case matches."""
        return self.matching[self.case.value - 1] if self.matching else None

    def _go(self, step: int) -> None:
        self.case.value = min(max(self.case.value + step, self.case.min), self.case.max)

    def _filter(self, _: Any = None) -> None:
        self.matching = self.cases.matching({name: control.value for name, control in self.filters.items()})
        self._moving = True
        self.case.value, self.case.max = 1, max(len(self.matching), 1)
        self._moving = False
        self.total.value = f"of {len(self.matching)}"
        self._open()

    def _open(self, _: Any = None) -> None:
        if self._moving:
            return
        place = self.place
        rounds = [] if place is None else [turn.round for turn in self.cases.turns(place)]
        given = None if place is None else self.given.get(self.cases.key(place))
        self._moving = True
        self.round.value, self.round.max = 0, max(rounds, default=0)
        self.ruling.value = given.verdict if given else None
        self._moving = False
        self._show()

    def _show(self, _: Any = None) -> None:
        if self._moving:
            return
        if self.place is None:
            self.shown.value = "<p>No case has all of these.</p>"
        else:
            self.shown.value = self.cases.html(self.place, blind=self.blind.value, upto=self.round.value)

    def _rule(self, change: Any) -> None:
        """Keep the reader's verdict in the file (or take it back), then compare."""
        if self._moving or self.place is None:
            return
        key = self.cases.key(self.place)
        given = {case: value for case, value in self.given.items() if case != key}
        if change["new"] is not None:
            given[key] = Given(change["new"], self.blind.value)
        save_verdicts(self.path, given)
        self.given = given
        self._compare()

    def _compare(self) -> None:
        lines = [str(compare_with_judge(self.cases, self.given))]
        if any(value.blind for value in self.given.values()):
            unseen = compare_with_judge(self.cases, self.given, blind=True)
            lines.append(f"Of those given with judge and truth hidden: {unseen}")
        self.compared.value = render("parts", "paragraphs", lines=lines)
