"""Sliders and menus over a plain function: at every move it writes its HTML anew, from data in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures import CATEGORIES, categorise, jeffreys_interval
from srdcr_lab.measures.knowledge import HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, count_categories
from srdcr_lab.plots.drawers import CATEGORY_COLOURS, CATEGORY_LABELS

if TYPE_CHECKING:
    from ipywidgets import VBox


READOUT = "srdcr-readout"  # class of the HTML under the sliders


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
    """A choice of one of several names: what stands beside it, and the names; the first is chosen."""

    text: str
    names: tuple[str, ...]


def with_sliders(draw: Callable[..., str], slides: Mapping[str, Slide | Menu], label: str = "") -> VBox:
    """Sliders and menus above what `draw` makes of their values, which it takes by name; the label stands below.

    `draw` must escape what is not ours, and take a few milliseconds at most: it runs at every step of a drag.
    """
    import ipywidgets

    controls = {name: _control(slide).add_class(f"srdcr-{name.replace('_', '-')}") for name, slide in slides.items()}

    def drawn() -> str:
        values = {name: control.value for name, control in controls.items()}
        return draw(**{name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()})

    shown = ipywidgets.HTML(drawn()).add_class(READOUT)
    for control in controls.values():
        control.observe(lambda _: setattr(shown, "value", drawn()), names="value")
    return ipywidgets.VBox([*controls.values(), shown, ipywidgets.Label(label)])


def _control(slide: Slide | Menu) -> Any:
    import ipywidgets

    looks = {"style": {"description_width": "12em"}, "layout": {"width": "36em"}}
    if isinstance(slide, Menu):
        return ipywidgets.Dropdown(options=slide.names, value=slide.names[0], description=slide.text, **looks)
    return ipywidgets.FloatSlider(
        value=slide.value, min=slide.low, max=slide.high, step=slide.step, description=slide.text,
        readout_format=".2f", **looks,
    )  # fmt: skip


# -- category thresholds on sliders: how many questions each category holds, by domain

_WIDTH, _ROW, _LEFT = 420, 22, 170  # of the bars, in pixels


@dataclass(frozen=True)
class CategoryThresholds:
    """Questions with draws: sampled accuracy, and the position of each one's domain in `domains`."""

    accuracy: NDArray[np.float64]
    domain: NDArray[np.intp]
    domains: tuple[str, ...]

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> CategoryThresholds:
        drawn = questions.dropna(subset=["sampled_accuracy"])
        codes, names = pd.factorize(drawn["domain"])
        return cls(drawn["sampled_accuracy"].to_numpy(float), codes, tuple(map(str, names)))

    def counts(self, highly_from: float, maybe_from: float) -> NDArray[np.intp]:
        """Questions of each domain in each category, shape (domains, 4)."""
        place = categorise(self.accuracy, highly_from=highly_from, maybe_from=maybe_from)
        return count_categories(self.domain, place, len(self.domains))

    def html(self, highly_from: float, maybe_from: float) -> str:
        """Numbers with intervals, then a bar per domain. Above the first threshold the second has no effect."""
        maybe_from = min(maybe_from, highly_from)
        counts = self.counts(highly_from, maybe_from)
        moved = categorise(self.accuracy, highly_from=highly_from, maybe_from=maybe_from) != categorise(self.accuracy)
        said = (
            f"<p>Highly-Known from {highly_from:.2f}, Maybe-Known from {maybe_from:.2f}: "
            f"<b>{int(moved.sum())}</b> of {self.accuracy.size} questions have another label than with the paper's "
            f"{HIGHLY_KNOWN_FROM:.2f} and {MAYBE_KNOWN_FROM:.2f}.</p>"
        )
        return said + _numbers(counts.sum(axis=0)) + self._bars(counts)

    def _bars(self, counts: NDArray[np.intp]) -> str:
        parts = []
        for row, (name, line) in enumerate(zip(self.domains, counts.tolist(), strict=True)):
            n, x = sum(line), float(_LEFT)
            parts.append(f'<text x="{_LEFT - 8}" y="{row * _ROW + 15}" text-anchor="end">{escape(name)} ({n})</text>')
            for count, colour in zip(line, CATEGORY_COLOURS.values(), strict=True):
                width = _WIDTH * count / n if n else 0.0
                parts.append(
                    f'<rect x="{x:.1f}" y="{row * _ROW + 2}" width="{width:.1f}" height="{_ROW - 6}" fill="{colour}"/>'
                )
                x += width
        height = _ROW * len(self.domains)
        style = "font: 12px sans-serif; fill: currentColor"
        return f'<svg width="{_LEFT + _WIDTH}" height="{height}" style="{style}">{"".join(parts)}</svg>'


def _numbers(counts: NDArray[np.intp]) -> str:
    """One line per category: questions, share, interval."""
    n = int(counts.sum())
    low, high = jeffreys_interval(counts, np.full(len(CATEGORIES), n))
    rows = []
    for i, (name, colour) in enumerate(CATEGORY_COLOURS.items()):
        share = f"{counts[i] / n:.2f} [{low[i]:.2f}, {high[i]:.2f}]" if n else "–"
        rows.append(
            f'<tr><td><span style="color: {colour}">■</span> {CATEGORY_LABELS[name]}</td>'
            f'<td class="srdcr-{name.lower().replace("_", "-")}">{counts[i]}</td><td>{share}</td></tr>'
        )
    return f"<table><tr><th>category</th><th>questions</th><th>share [95 %]</th></tr>{''.join(rows)}</table>"


def category_sliders(questions: pd.DataFrame, label: str = "") -> VBox:
    """Sliders for the two category thresholds, over `Results.questions`."""
    slides = {
        "highly_from": Slide("Highly-Known from", HIGHLY_KNOWN_FROM, low=0.01),
        "maybe_from": Slide("Maybe-Known from", MAYBE_KNOWN_FROM, low=0.01),
    }
    return with_sliders(CategoryThresholds.from_questions(questions).html, slides, label)
