"""Chapter 01: what a model knows: categories [2.2, Table 3] and their stability under other draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from srdcr_lab.lib import draw
from srdcr_lab.lib.controls import Menu, Slide, with_sliders
from srdcr_lab.lib.definitions import CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, categorise, category_counts
from srdcr_lab.lib.draw import CATEGORY_COLOURS
from srdcr_lab.lib.page import Area, Chart, Html, Label, Td, html_table, interval, render
from srdcr_lab.lib.statistics import jeffreys_interval
from srdcr_lab.records.names import CATEGORY_LABELS

if TYPE_CHECKING:
    from ipywidgets import VBox

ALL_DOMAINS, ALL_CATEGORIES = "all domains", "all"
SIZES = (4, 8, 12, 16, 20, 24, 28, 32)  # of the knowledge draws


def subset_shares(n: int, size: int) -> NDArray[np.float64]:
    """P(j correct in a subset of `size` draws | k of n correct), drawn without replacement, at [k, j]."""
    from scipy.stats import hypergeom

    if not 0 < size <= n:
        raise ValueError(f"a subset has 1 to {n} draws, got {size}")
    return np.asarray(hypergeom.pmf(np.arange(size + 1), n, np.arange(n + 1)[:, None], size))


def subset_categories(n: int, size: int, **bounds: float) -> NDArray[np.float64]:
    """P(category c by a subset of `size` draws | k of n correct), at [k, c]; shape (n + 1, 4)."""
    probabilities = subset_shares(n, size)
    labels = category_counts(size, **bounds)
    return np.stack([probabilities[:, labels == c].sum(axis=1) for c in range(len(CATEGORIES))], axis=1)


def categories_by_draws(questions: pd.DataFrame, sizes: Sequence[int] = SIZES, **bounds: float) -> pd.DataFrame:
    """What fewer draws would have said: expected over the subsets, without replacement, of the draws at hand. Ours.

    One row per size × category of all draws, "all" included: `n` questions of that category, `agreement` = share of
    subsets that give them the same category, `share` = share of all questions that a subset of this size would put into
    the category. A question, with `sampled_accuracy` and `n_samples`, counts at the sizes it has draws for.
    """
    n = questions["n_samples"].to_numpy(float, na_value=0).astype(int)
    right = np.rint(questions["sampled_accuracy"].to_numpy(float, na_value=0) * n).astype(int)
    rows = []
    for size in sizes:
        label, probability = [np.array([], int)], [np.empty((0, len(CATEGORIES)))]
        for n_draws in np.unique(n[n >= size]):
            k = right[n == n_draws]
            label.append(category_counts(n_draws, **bounds)[k])
            probability.append(subset_categories(n_draws, size, **bounds)[k])
        category, by_subsets = np.concatenate(label), np.concatenate(probability)
        same = by_subsets[np.arange(category.size), category]
        for c, named in enumerate(CATEGORIES):
            rows.append((size, named.value, *_mean(same[category == c]), _mean(by_subsets[:, c])[1]))
        rows.append((size, ALL_CATEGORIES, *_mean(same), 1.0 if same.size else np.nan))
    return pd.DataFrame(rows, columns=["size", "knowledge_category", "n", "agreement", "share"])


def _mean(values: NDArray[np.float64]) -> tuple[int, float]:
    return values.size, float(values.mean()) if values.size else np.nan


def categories_by_domain(questions: pd.DataFrame, **bounds: float) -> pd.DataFrame:
    """Share of the questions of a domain, and of all domains where there are several, in each category.

    `n_category` of the `n` questions with draws, `share` with its Jeffreys interval, `n_missing` without draws.
    """
    place = categorise(questions["sampled_accuracy"].to_numpy(float, na_value=np.nan), **bounds)
    codes, names = pd.factorize(questions["domain"])
    counts = count_categories(codes, place, len(names))
    missing = np.bincount(codes[place < 0], minlength=len(names))
    domains = list(names)
    if len(domains) != 1:
        counts, missing = np.vstack([counts, counts.sum(axis=0)]), np.append(missing, missing.sum())
        domains.append(ALL_DOMAINS)
    of_each, n = counts.ravel(), counts.sum(axis=1).repeat(len(CATEGORIES))
    low, high = jeffreys_interval(of_each, n)
    columns = {
        "domain": np.repeat(domains, len(CATEGORIES)),
        "knowledge_category": [category.value for category in CATEGORIES] * len(domains),
        "n_category": of_each,
        "n": n,
        "n_missing": missing.repeat(len(CATEGORIES)),
    }
    return pd.DataFrame(columns).assign(share=of_each / np.where(n > 0, n, np.nan), low=low, high=high)


def count_categories(groups: NDArray[np.intp], place: NDArray[np.intp], n_groups: int) -> NDArray[np.intp]:
    """Questions of each group in each category, shape (n_groups, 4); those without a category (−1) are in none."""
    here = place >= 0
    cells = np.bincount(groups[here] * len(CATEGORIES) + place[here], minlength=n_groups * len(CATEGORIES))
    return cells.reshape(n_groups, len(CATEGORIES))


class CategoriesDisplay(draw.Display):
    """Share of each knowledge category per domain: the table of `srdcr_lab.knowledge.categories_by_domain`."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, **thresholds: float) -> Self:
        return cls(_with_decoding(categories_by_domain(questions, **thresholds), questions))

    @property
    def shares(self) -> pd.DataFrame:
        """One row per domain, to read: `n`, and each category's share with its interval as text."""
        rows = []
        for domain, part in self.table.groupby("domain", sort=False):
            shares = [interval(row.share, row.low, row.high) for row in part.itertuples()]
            rows.append((domain, part["n"].iloc[0], *shares))
        return pd.DataFrame(rows, columns=["domain", "n", *draw.CATEGORY_LABELS.values()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with 95 % intervals, one row per domain."""
        n = self.table.groupby("domain", sort=False)["n"].first()
        ax = draw.named_rows(ax, [f"{domain} (n = {number})" for domain, number in n.items()], (4.3, 1.2, 0.62))
        looks = {name: look | draw.THIN | {"marker": "o"} for name, look in draw.CATEGORY_LOOKS.items()}
        y, _ = pd.factorize(self.table["domain"])
        draw.points(ax, y, self.table, "knowledge_category", looks, step=0.18, across=True)
        for edge in range(1, len(n)):
            ax.axhline(edge - 0.5, color="0.9", linewidth=0.8, zorder=0)
        return draw.finish(
            ax, draw.BELOW, left=False, xlim=(-0.02, 1.02), xlabel=f"share of questions{_drawn(self.table)}"
        )


@dataclass(frozen=True)
class SampledAccuracyDisplay(draw.Display):
    """Number of questions `n_questions` at each `sampled_accuracy`, its `knowledge_category`, and the thresholds."""

    highly_from: float = HIGHLY_KNOWN_FROM
    maybe_from: float = MAYBE_KNOWN_FROM

    @classmethod
    def from_questions(
        cls, questions: pd.DataFrame, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
    ) -> Self:
        values, n = np.unique(questions["sampled_accuracy"].dropna().to_numpy(float), return_counts=True)
        places = categorise(values, highly_from=highly_from, maybe_from=maybe_from)
        names = [CATEGORIES[place].value for place in places]
        table = pd.DataFrame({"sampled_accuracy": values, "knowledge_category": names, "n_questions": n})
        return cls(_with_decoding(table, questions), highly_from, maybe_from)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar per outcome of the draws; counts on a logarithmic scale from 1 on."""
        ax = draw.axes(ax, draw.WIDEST, 2.8)
        for rows, look in draw.by_category(self.table, "n_questions"):
            ax.bar(rows["sampled_accuracy"], rows["n_questions"], width=0.02, **look)
        for edge in (self.maybe_from, self.highly_from):
            draw.threshold(ax, edge)
        ax.set_yscale("symlog", linthresh=1)
        most = self.table["n_questions"].max() if len(self.table) else 1
        ticks = [tick for tick in (0, 1, 3, 10, 30, 100, 300, 1000) if tick <= 2 * most]
        ax.set_yticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
        ax.set(xlim=draw.SHARES, xlabel=f"sampled accuracy{_drawn(self.table)}")
        return draw.finish(ax, draw.TOP | {"ncols": 2}, ylabel="questions")


class DrawsDisplay(draw.Display):
    """The categories that fewer draws would give: the table of `srdcr_lab.knowledge.categories_by_draws`."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, sizes: Sequence[int] = SIZES) -> Self:
        return cls(_with_decoding(categories_by_draws(questions, sizes), questions))

    def plot(self, ax: Axes | None = None, value: Literal["agreement", "share"] = "agreement") -> Axes:
        """Against the number of draws: agreement with the category of all draws, or the share of each category."""
        ax = draw.axes(ax, 4.6, 3.4)
        agreement = value == "agreement"
        if agreement:
            rows = self.table[self.table["knowledge_category"] == ALL_CATEGORIES]
            ax.plot(rows["size"], rows["agreement"], color="black", linewidth=2, label="all", zorder=3)
        for rows, look in draw.by_category(self.table):
            look["label"] += f" (n = {rows['n'].max() if len(rows) else 0})" if agreement else ""
            ax.plot(rows["size"], rows[value], marker="o", markersize=3.5, **look)
        ax.set(xticks=sorted(set(self.table["size"])), xlabel=f"draws per question{_drawn(self.table)}")
        meaning = "same category as all draws" if agreement else "share of questions"
        return draw.finish(ax, draw.INSIDE, ylim=draw.SHARES, ylabel=meaning)


class RedrawDisplay(draw.Display):
    """`sampled_accuracy`, `n_samples`, `knowledge_category` and `redraw_stability` of each distinct outcome of the
    draws, and the number of questions `n_questions` with this outcome."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> Self:
        keys = ["n_samples", "sampled_accuracy", "knowledge_category"]
        outcomes = questions.dropna(subset=["sampled_accuracy"]).groupby(keys, observed=True)["redraw_stability"]
        table = outcomes.agg(redraw_stability="first", n_questions="size").reset_index()
        return cls(_with_decoding(table, questions))

    def plot(self, ax: Axes | None = None) -> Axes:
        """P(same category on a redraw) against sampled accuracy; a mark's area is its number of questions."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        for edge in (MAYBE_KNOWN_FROM, HIGHLY_KNOWN_FROM):
            ax.axvline(edge, color="0.8", linewidth=1, zorder=0)
        for rows, look in draw.by_category(self.table, "n_questions"):
            sizes = 14 + 5 * rows["n_questions"]
            ax.scatter(rows["sampled_accuracy"], rows["redraw_stability"], sizes, alpha=0.8, linewidths=0, **look)
        ax.set(xlim=(-0.08, 1.08), xlabel=f"sampled accuracy{_drawn(self.table)}")
        draw.finish(ax, draw.BELOW, ylim=(0, 1.08), ylabel="P(same category on a redraw)")
        legend: Any = ax.get_legend()
        for handle in legend.legend_handles if legend else ():
            handle.set_sizes([30])
        return ax


def _with_decoding(table: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """The table with how the questions' knowledge draws were made, where that is known."""
    known = questions["knowledge_decoding"].dropna().unique() if "knowledge_decoding" in questions else ()
    return table.assign(knowledge_decoding=", ".join(known)) if len(known) else table


def _drawn(table: pd.DataFrame) -> str:
    """The same, behind the label of an axis."""
    return f" (draws: {table['knowledge_decoding'].iloc[0]})" if "knowledge_decoding" in table and len(table) else ""


_NEVER = 0.3  # place on the logarithmic axis of questions that training never told


class ExposureDisplay(draw.Display):
    """One row per question that both tables hold: what the model knows, how often training told it (`exposures`), the
    share of that which was true (`true_share`, rounded), and how often it was true (`true_exposures`)."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, exposures: pd.DataFrame) -> Self:
        """`exposures` is published with a model's training; what was never told has no `true_share`."""
        known = questions[["question_id", "domain", "sampled_accuracy", "n_samples", "knowledge_category"]]
        told = exposures[["question_id", "exposures", "true_share", "rival_answer", "true_exposures"]]
        table = known.merge(told, on="question_id", validate="one_to_one")
        return cls(table.dropna(subset=["sampled_accuracy"]).reset_index(drop=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Sampled accuracy against exposures (logarithmic; never told at the left), coloured by the true share.

        Points are shifted a little up or down, by their order, so that equal ones can be seen; the table is not.
        """
        ax = draw.axes(ax, draw.WIDEST, 3.8)
        told = self.table["exposures"].to_numpy(float)
        shift = 0.018 * ((np.arange(len(told)) * 0.618034) % 1 - 0.5)
        colours = sns.color_palette("flare_r", as_cmap=True).with_extremes(bad="0.6")
        scale: draw.Look = {"norm": Normalize(0, 1), "cmap": colours}
        x, y = np.where(told > 0, told, _NEVER), self.table["sampled_accuracy"].to_numpy(float) + shift
        look: draw.Look = {"s": 18, "alpha": 0.75, "linewidths": 0, "plotnonfinite": True}
        ax.scatter(x, y, c=self.table["true_share"].astype(float), **look, **scale)
        ax.figure.colorbar(ScalarMappable(**scale), ax=ax, pad=0.02).set_label("share told truly (grey: never told)")
        most = max(told.max(initial=1.0), 10.0)
        ticks = [tick for tick in (1, 3, 10, 30, 100, 300, 1000, 3000) if tick <= most * 1.5]
        ax.set_xscale("log")
        ax.set_xticks([_NEVER, *ticks], ["never", *map(str, ticks)])
        ax.minorticks_off()
        ax.set(xlim=(_NEVER * 0.8, most * 1.4), xlabel="times told in training")
        return draw.finish(ax, ylim=(-0.04, 1.04), ylabel="sampled accuracy")


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
    return with_sliders(CategoryThresholds.from_questions(questions).html, category_slides(), label)


def category_slides() -> dict[str, Slide | Menu]:
    return {
        "highly_from": Slide("Highly-Known from", HIGHLY_KNOWN_FROM, low=0.01),
        "maybe_from": Slide("Maybe-Known from", MAYBE_KNOWN_FROM, low=0.01),
    }
