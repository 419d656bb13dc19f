"""How far a knowledge category can be relied on: fewer draws, or the same number drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import categories_by_draws
from srdcr_lab.measures.knowledge import HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM
from srdcr_lab.measures.knowledge_tables import ALL_CATEGORIES, SIZES
from srdcr_lab.plots.palette import CATEGORY_COLOURS, CATEGORY_LABELS


@dataclass(frozen=True)
class DrawsDisplay:
    """What fewer draws would have said: the table of `srdcr_lab.measures.categories_by_draws`."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, sizes: Sequence[int] = SIZES) -> DrawsDisplay:
        return cls(categories_by_draws(questions, sizes))

    def plot(self, ax: Axes | None = None, value: Literal["agreement", "share"] = "agreement") -> Axes:
        """Against the number of draws: agreement with the category of all draws, or the share of each category."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.4))[1]
        whole = self.table[(self.table["knowledge_category"] == ALL_CATEGORIES)]
        if value == "agreement":
            ax.plot(whole["size"], whole["agreement"], color="black", linewidth=2, label="all", zorder=3)
        for category, colour in CATEGORY_COLOURS.items():
            rows = self.table[self.table["knowledge_category"] == category]
            n = rows["n"].max() if len(rows) else 0
            label = f"{CATEGORY_LABELS[category]} (n = {n})" if value == "agreement" else CATEGORY_LABELS[category]
            ax.plot(rows["size"], rows[value], marker="o", markersize=3.5, color=colour, label=label)
        said = "same category as all draws" if value == "agreement" else "share of questions"
        ax.set(ylim=(-0.03, 1.03), xlabel="draws per question", ylabel=said, xticks=sorted(set(self.table["size"])))
        ax.legend(frameon=False, fontsize="small")
        sns.despine(ax=ax)
        return ax


@dataclass(frozen=True)
class RedrawDisplay:
    """`sampled_accuracy`, `n_samples`, `knowledge_category` and `redraw_stability` of each distinct outcome of the
    draws, with the number of questions `n_questions` that had it."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> RedrawDisplay:
        drawn = questions.dropna(subset=["sampled_accuracy"])
        keys = ["n_samples", "sampled_accuracy", "knowledge_category"]
        grouped = drawn.groupby(keys, sort=True, observed=True)["redraw_stability"]
        return cls(grouped.agg(redraw_stability="first", n_questions="size").reset_index())

    def plot(self, ax: Axes | None = None) -> Axes:
        """P(same category on a redraw) against sampled accuracy; a mark's area is its number of questions."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.4))[1]
        for edge in (MAYBE_KNOWN_FROM, HIGHLY_KNOWN_FROM):
            ax.axvline(edge, color="0.8", linewidth=1, zorder=0)
        for category, colour in CATEGORY_COLOURS.items():
            rows = self.table[self.table["knowledge_category"] == category]
            label = f"{CATEGORY_LABELS[category]} (n = {rows['n_questions'].sum()})"
            sizes = 14 + 5 * rows["n_questions"].to_numpy(float)
            ax.scatter(
                rows["sampled_accuracy"], rows["redraw_stability"], s=sizes, color=colour, alpha=0.8, linewidths=0,
                label=label,
            )  # fmt: skip
        ax.set(xlim=(-0.08, 1.08), ylim=(0, 1.08), xlabel="sampled accuracy", ylabel="P(same category on a redraw)")
        legend = ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(1, 0))
        for handle in legend.legend_handles:
            handle.set_sizes([30])  # type: ignore[union-attr]
        sns.despine(ax=ax)
        return ax
