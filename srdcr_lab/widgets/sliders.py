"""Sliders and menus over a plain function from values to HTML, redrawn at every move from data in memory.

Here: any function (`with_sliders`), the category thresholds, the evaluation of a run. What τ does is in `thresholds`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.estimates import jeffreys_interval
from srdcr_lab.measures.final_answer import FinalAnswers, beliefs
from srdcr_lab.measures.gating import STAGES, Gating
from srdcr_lab.measures.groups import groups
from srdcr_lab.measures.knowledge import CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, categorise, count_categories
from srdcr_lab.measures.paper_tables import labelled
from srdcr_lab.pages import Area, Chart, Html, Label, Td, html_table, interval, number, render
from srdcr_lab.plots.drawers import CATEGORY_COLOURS, CATEGORY_LABELS
from srdcr_lab.plots.flow import DecisionFlowDisplay

if TYPE_CHECKING:
    from ipywidgets import VBox


@dataclass(frozen=True, slots=True)
class Slide:
    """A slider: what stands beside it, where it starts, and its range."""

    text: str
    value: float
    low: float = 0.0
    high: float = 1.0
    step: float = 0.01


@dataclass(frozen=True, slots=True)
class Menu:
    """A choice among names: what stands beside it, the names, and the one `chosen` at first (None: the first). With
    `several`, any number can be chosen, and all are at first."""

    text: str
    names: tuple[str, ...]
    chosen: str | None = None
    several: bool = False


def with_sliders(draw: Callable[..., str], slides: Mapping[str, Slide | Menu], label: str = "") -> VBox:
    """Sliders and menus above what `draw` makes of their values, which it takes by name; the label stands below.

    `draw` must escape what is not ours. It runs at every step of a drag, so it may take a few milliseconds at most.
    """
    import ipywidgets

    controls = {name: _control(slide).add_class(f"srdcr-{name.replace('_', '-')}") for name, slide in slides.items()}

    def drawn() -> str:
        values = {name: control.value for name, control in controls.items()}
        return draw(**{name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()})

    shown = ipywidgets.HTML(drawn()).add_class("srdcr-readout")
    for control in controls.values():
        control.observe(lambda _: setattr(shown, "value", drawn()), names="value")
    return ipywidgets.VBox([*controls.values(), shown, ipywidgets.Label(label)])


def _control(slide: Slide | Menu) -> Any:
    import ipywidgets

    looks = {"description": slide.text, "style": {"description_width": "15em"}, "layout": {"width": "38em"}}
    if isinstance(slide, Slide):
        limits = {"min": slide.low, "max": slide.high, "step": slide.step}
        return ipywidgets.FloatSlider(value=slide.value, readout_format=".2f", **limits, **looks)
    if slide.several:
        shown = min(len(slide.names), 8)
        return ipywidgets.SelectMultiple(options=slide.names, value=slide.names, rows=shown, **looks)
    return ipywidgets.Dropdown(options=slide.names, value=slide.chosen or slide.names[0], **looks)


@dataclass(frozen=True)
class CategoryThresholds:
    """Questions with draws: sampled accuracy, and the position of their domain in `domains`."""

    accuracy: NDArray[np.float64]
    domain: NDArray[np.intp]
    domains: tuple[str, ...]

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> CategoryThresholds:
        """From `Results.questions`; a question without draws is left out."""
        drawn = questions.dropna(subset=["sampled_accuracy"])
        codes, names = pd.factorize(drawn["domain"])
        return cls(drawn["sampled_accuracy"].to_numpy(float), codes, tuple(map(str, names)))

    def counts(self, highly_from: float, maybe_from: float) -> NDArray[np.intp]:
        """Questions of each domain in each category, shape (domains, 4)."""
        place = categorise(self.accuracy, highly_from=highly_from, maybe_from=maybe_from)
        return count_categories(self.domain, place, len(self.domains))

    def html(self, highly_from: float, maybe_from: float) -> Html:
        """Numbers with intervals, then a bar per domain. Above the first threshold the second has no effect."""
        maybe_from = min(maybe_from, highly_from)
        counts = self.counts(highly_from, maybe_from)
        moved = categorise(self.accuracy, highly_from=highly_from, maybe_from=maybe_from) != categorise(self.accuracy)
        return render(
            "sliders", "categories", highly=highly_from, maybe=maybe_from, moved=int(moved.sum()), n=moved.size,
            paper=(HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM), numbers=_numbers(counts.sum(axis=0)), bars=self._bars(counts),
        )  # fmt: skip

    def _bars(self, counts: NDArray[np.intp]) -> Html:
        height, sizes = 1 / max(len(self.domains), 1), counts.sum(axis=1)
        shares = np.pad(counts.cumsum(axis=1) / sizes[:, np.newaxis], ((0, 0), (1, 0)))
        bars, labels = [], []
        for row, (name, n) in enumerate(zip(self.domains, sizes, strict=True)):
            top = 1 - row * height
            labels.append(Label((0, top), f"{name} ({n})", (-8, 15), "end", "font-size: 12px"))
            for (left, right), colour in zip(pairwise(shares[row]), CATEGORY_COLOURS.values(), strict=True):
                bars.append(Area([(left, top - 0.1 * height), (right, top - 0.8 * height)], colour))
        chart = Chart("questions of each domain by category", 420, 22 * len(self.domains), (170, 0, 0, 0))
        return chart.svg(bars, labels=labels)


def _numbers(counts: NDArray[np.intp]) -> Html:
    """One line per category: questions, share, interval."""
    n = int(counts.sum())
    low, high = jeffreys_interval(counts, np.full(len(CATEGORIES), n))
    rows = []
    for i, (name, colour) in enumerate(CATEGORY_COLOURS.items()):
        share = interval(counts[i] / n, low[i], high[i]) if n else "–"
        swatch = render("sliders", "swatch", colour=colour, label=CATEGORY_LABELS[name])
        rows.append((swatch, Td(counts[i], css=f"srdcr-{name.lower().replace('_', '-')}"), share))
    return html_table(("category", "questions", "share [95 %]"), rows)


def category_sliders(questions: pd.DataFrame, label: str = "") -> VBox:
    """Sliders for the two category thresholds, over `Results.questions`."""
    return with_sliders(CategoryThresholds.from_questions(questions).html, _category_slides(), label)


def _category_slides() -> dict[str, Slide | Menu]:
    return {
        "highly_from": Slide("Highly-Known from", HIGHLY_KNOWN_FROM, low=0.01),
        "maybe_from": Slide("Maybe-Known from", MAYBE_KNOWN_FROM, low=0.01),
    }


_RIGHT = STAGES["ending"].index("right")
_SR_DCR, _FEW_SHOT = "SR-DCR", "Few-Shot"


@dataclass(frozen=True)
class Evaluation:
    """The records as arrays, and the sampled accuracy of each row's question (NaN without draws).

    The rows of its tables are methods, with their design where there are several.
    """

    live: Gating
    accuracy: NDArray[np.float64]

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Evaluation:
        """From the records of one run."""
        known = records["sampled_accuracy"].to_numpy(float, na_value=np.nan)
        return cls(Gating.from_records(records, None), known)

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(row for _, row, _ in self.live.names))

    @property
    def debated(self) -> str:
        """The row whose decisions the flow shows: SR-DCR, under its first design."""
        return next((row for row in self.rows if row.startswith(_SR_DCR)), self.rows[0])

    def html(
        self,
        tau: float = 0.90,
        highly_from: float = HIGHLY_KNOWN_FROM,
        maybe_from: float = MAYBE_KNOWN_FROM,
        one: str = _SR_DCR,
        other: str = _FEW_SHOT,
        offsets: Collection[str] | None = None,
    ) -> Html:
        """Two methods compared, their accuracy by category, both tables, and the flow."""
        return render(
            "sliders", "evaluation", tau=tau, pair=(one, other),
            difference=self.live.difference(one, other, tau, offsets),
            by_category=self._by_category(tau, highly_from, min(maybe_from, highly_from), (one, other), offsets),
            tables=self.live.tables(tau, offsets), debated=self.debated,
            flow=DecisionFlowDisplay(self.live.flow(tau, self.debated, offsets)).svg(),
        )  # fmt: skip

    def _by_category(
        self, tau: float, highly_from: float, maybe_from: float, pair: Sequence[str], offsets: Collection[str] | None
    ) -> Html:
        """Accuracy on false passages of two rows of the tables, by the category that these thresholds give."""
        live = self.live
        drawn = ~np.isnan(self.accuracy) & np.isin(live.stratum, live.chosen(offsets)[1:])
        place = categorise(np.nan_to_num(self.accuracy), highly_from=highly_from, maybe_from=maybe_from)
        right = live.endings(tau) == _RIGHT
        sizes, hits = [], []
        for name in pair:
            here = drawn & live.in_row(name)
            sizes.append(np.bincount(place[here], minlength=len(CATEGORIES)))
            hits.append(np.bincount(place[here], right[here], len(CATEGORIES)))
        rows = [
            [CATEGORY_LABELS[category], sizes[0][i]]
            + [f"{hit[i] / n[i]:.3f}" if n[i] else "–" for n, hit in zip(sizes, hits, strict=True)]
            for i, category in enumerate(CATEGORIES)
        ]
        return html_table(("accuracy on false passages", "n", *pair), rows)


@dataclass(frozen=True)
class FinalAnswer:
    """The answers of each row of the tables."""

    rows: Mapping[str, FinalAnswers]

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> FinalAnswer:
        """From the records of one run."""
        parts = groups(records.assign(belief=beliefs(records)))
        return cls({labelled(names)[1]: FinalAnswers.from_records(rows) for names, rows in parts})

    def html(self, cost: float, false_share: float, at_most: float = 1.0) -> Html:
        """Utility and coverage of every method, the best first; accuracy of its surest answers, `at_most` so many."""
        table = []
        for name, answers in self.rows.items():
            ends, coverage = answers.utility(cost, false_share), answers.coverage(false_share)[0]
            shown = np.fmin(coverage, at_most)
            surest = answers.surest(shown, false_share)
            right = answers.with_ends(surest.accuracy, surest.on_accuracy, false_share, shown)
            sure = f"{interval(*right)} of {number(shown)}"
            table.append((ends[0], (name, interval(*ends), number(coverage), sure, answers.right.size)))
        best = sorted(table, key=lambda row: -np.nan_to_num(row[0], nan=-np.inf))
        header = ("method", "utility [95 %]", "coverage", "right among the surest [95 %]", "n")
        return html_table(header, [row for _, row in best])


def final_answer_controls(records: pd.DataFrame, label: str = "", cost: float = 1.0) -> VBox:
    """Sliders for what a wrong answer costs, in right ones, for the share of false passages, and for the coverage at
    which methods are compared."""
    slides: dict[str, Slide | Menu] = {
        "cost": Slide("a wrong answer costs", cost, high=5.0, step=0.05),
        "false_share": Slide("share of false passages", 0.5),
        "at_most": Slide("share answered, at most", 1.0, low=0.05, step=0.05),
    }
    return with_sliders(FinalAnswer.from_records(records).html, slides, label)


def evaluation_controls(records: pd.DataFrame, label: str = "", tau: float = 0.90) -> VBox:
    """Controls over the records of one run: τ, category thresholds, two methods to compare, the false passages."""
    view = Evaluation.from_records(records)
    rows = tuple(view.rows)
    slides = {
        "tau": Slide("τ: answer from memory from", tau),
        **_category_slides(),
        "one": Menu("this method", rows, view.debated),
        "other": Menu("less that one", rows, _FEW_SHOT if _FEW_SHOT in rows else rows[-1]),
        "offsets": Menu("false passages", view.live.strata[1:], several=True),
    }
    return with_sliders(view.html, slides, label)
