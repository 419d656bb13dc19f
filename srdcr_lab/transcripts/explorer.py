"""The transcript explorer: the cases of a run (one item under one method), as a page and in a notebook.

A reader can filter, search, step, read why, see what a speaker was sent, and rule for oneself; the verdicts are kept in
a small CSV with the run, and compared with the judge's. No model is called.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.lib.page import Html, interval, render, source
from srdcr_lab.lib.statistics import shares
from srdcr_lab.models.store import as_file
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.records.files import whole_file
from srdcr_lab.transcripts.cases import FACETS, Cases, Key, said
from srdcr_lab.transcripts.views import messages_in

if TYPE_CHECKING:
    from ipywidgets import VBox

    from srdcr_lab.study import Results

FILE = "reader_verdicts.csv"
_COLUMNS = ("item_id", "method", "design", "verdict", "blind")


def explorer_html(
    run: Results, methods: Sequence[str] | None = None, title: str = "Transcripts", *, store: str | Path | None = None
) -> Html:
    """A page with every case of the run (or of some methods): filter, search, go from case to case, step through the
    rounds; by the keyboard too. `store`: as in `explorer`.

    It needs no server, kernel or network. Its policy allows its own script alone, named by its digest.
    """
    return cases_page(Cases.of(run, methods), title, run.label, store_of(run, store))


def cases_page(cases: Cases, title: str, label: str = "", store: Path | None = None) -> Html:
    """The page of `explorer_html`. Of the messages every line is in it once: a debate's prompts repeat its turns."""
    script = source("explorer.js")
    lines: dict[str, int] = {}
    sent: list[list[tuple[str, list[int]]]] = []
    with messages_in(store) as parts_of:

        def numbered(turn: Any) -> int:
            parts = [(heading, text.split("\n")) for heading, text in parts_of(turn)] if parts_of else []
            sent.append([(heading, [lines.setdefault(line, len(lines)) for line in text]) for heading, text in parts])
            return len(sent) - 1

        shown = [
            ({f"data-{name}": "; ".join(values) for name, values in facets.items()},
             cases.html(place, sent=numbered if parts_of else None))
            for place, facets in enumerate(cases.facets)
        ]  # fmt: skip
    return render(
        "explorer", title=title, label=label, cases=shown, start=cases.start, script=script,
        labels=[cases.label(place) for place in range(len(cases))],
        filters={facet: (text, _menu(cases, facet)) for facet, text in FACETS.items()},
        sent={"lines": list(lines), "turns": sent},
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )  # fmt: skip


def store_of(run: Results, store: str | Path | None) -> Path | None:
    """The file that keeps what was sent and came back in a run: the one given, or the run's own, if any."""
    return as_file(Path(store)) if store is not None else run.store


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


def _menu(cases: Cases, facet: str) -> list[tuple[str, str]]:
    """What each value of a facet is called, and the value."""
    return [(said(value), value) for value in cases.options(facet)]


def explorer(
    run: Results,
    methods: Sequence[str] | None = None,
    *,
    keep: str | Path | None = None,
    store: str | Path | None = None,
) -> VBox:
    """The transcripts of a run, or of some of its methods; list and rounds move by arrow keys too.

    A reader's own verdicts go into reader_verdicts.csv in the run's folder, or in the folder `keep`. What each speaker
    was sent, and its raw reply, is read from the file `store`; default: the store in the run's folder, if any.
    """
    cases = Cases.of(run, methods)
    return Explorer(cases, Path(keep or run.folder) / FILE, run.label, store_of(run, store)).box


class Explorer:
    """The controls and what they show. `matching`: places of the cases that filters and search leave."""

    def __init__(self, cases: Cases, path: Path, label: str = "", store: Path | None = None) -> None:
        import ipywidgets

        self.cases, self.path, self.given, self.store = cases, path, load_verdicts(path), store
        self.matching = list(range(len(cases)))
        self._moving = False  # true while the code itself moves controls: they do not react then
        self.filters = {
            facet: ipywidgets.Dropdown(options=[("any", ""), *_menu(cases, facet)],
                                       description=text, style={"description_width": "8em"},
                                       layout={"width": "32em" if facet == "story" else "20em"})
            .add_class(f"srdcr-{facet}")
            for facet, text in FACETS.items()
        }  # fmt: skip
        self.search = ipywidgets.Text(description="search", placeholder="in questions, passages and replies",
                                      style={"description_width": "8em"}, layout={"width": "32em"})  # fmt: skip
        self.listed = ipywidgets.Select(rows=6, layout={"width": "100%"}).add_class("srdcr-list")
        self.total = ipywidgets.Label()
        self.before, self.after = (ipywidgets.Button(description=text) for text in ("◀ case", "case ▶"))
        self.round = ipywidgets.IntSlider(value=0, min=0, max=0, description="up to round").add_class("srdcr-round")
        self.blind = ipywidgets.Checkbox(description="hide judge, decision and truth", indent=False)
        self.ruling = ipywidgets.ToggleButtons(options=_RULINGS, description="I rule").add_class("srdcr-ruling")
        self.shown, self.compared = ipywidgets.HTML().add_class("srdcr-case"), ipywidgets.HTML()
        wrap = {"flex_flow": "row wrap"}
        steps = [self.before, self.total, self.after, self.round, self.blind]
        self.box = ipywidgets.VBox([
            ipywidgets.HBox([*self.filters.values(), self.search], layout=wrap), self.listed,
            ipywidgets.HBox(steps, layout=wrap), self.shown, self.ruling, self.compared, ipywidgets.Label(label),
        ])  # fmt: skip
        reactions = dict.fromkeys([*self.filters.values(), self.search], self._filter)
        reactions |= {self.listed: self._open, self.round: self._show, self.blind: self._hide, self.ruling: self._rule}
        for control, reaction in reactions.items():
            control.observe(reaction, names="value")
        self.before.on_click(lambda _: self._go(-1))
        self.after.on_click(lambda _: self._go(+1))
        self._list(cases.start if len(cases) else None)
        self._open()
        self._compare()

    @property
    def place(self) -> int | None:
        """The case's place among all; None where no case matches."""
        return None if self.listed.index is None else self.matching[self.listed.index]

    def _go(self, step: int) -> None:
        if self.matching:
            self.listed.index = min(max(self.listed.index + step, 0), len(self.matching) - 1)

    def _filter(self, _: Any = None) -> None:
        wanted = {name: control.value for name, control in self.filters.items()}
        self.matching = self.cases.matching(wanted, self.search.value)
        self._list(self.matching[0] if self.matching else None)
        self._open()

    def _list(self, chosen: int | None) -> None:
        """List the cases that match, with this one chosen."""
        self._moving = True
        self.listed.options = [(self.cases.label(place, blind=self.blind.value), place) for place in self.matching]
        self.listed.value = chosen
        self._moving = False
        self.total.value = f"{len(self.matching)} of {len(self.cases)} cases"

    def _hide(self, _: Any = None) -> None:
        """The list too would tell."""
        self._list(self.place)
        self._show()

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
            return
        with messages_in(self.store) as sent:
            self.shown.value = self.cases.html(self.place, blind=self.blind.value, upto=self.round.value, sent=sent)

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


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two raters agree, with a 95 % interval clustered on the question, and Cohen's κ (NaN for one label)."""

    n: int
    n_questions: int
    n_agree: int
    share: float
    low: float
    high: float
    kappa: float


def agreement(one: ArrayLike, other: ArrayLike, questions: ArrayLike) -> Agreement:
    """Agreement of two raters, item by item; leave out beforehand what one of them has not decided. Ours.

    >>> agreement(["R", "R", "U", "U"], ["R", "U", "U", "U"], ["a", "b", "c", "d"]).kappa
    0.5
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = np.asarray(one, object), np.asarray(other, object)
    items = pd.DataFrame({"question_id": questions, "same": first == second})
    kappa = float(cohen_kappa_score(list(first), list(second))) if len({*first, *second}) > 1 else math.nan
    row = shares(items, items["same"]).drop(columns="n_missing").to_dict("records")[0]
    return Agreement(**row, n_agree=int(items["same"].sum()), kappa=kappa)
