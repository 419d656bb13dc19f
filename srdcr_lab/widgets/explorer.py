"""The transcript explorer in a notebook: filter, step, read why, and rule for oneself. It calls no model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.widgets.explorer_cases import FACETS, Cases, Run, tell
from srdcr_lab.widgets.explorer_reader import FILE, ReaderVerdict, ReaderVerdicts, compare_with_judge

if TYPE_CHECKING:
    from ipywidgets import VBox

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
