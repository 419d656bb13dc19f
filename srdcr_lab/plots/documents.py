"""Documents that contradict each other: measures against the share that misleads; reliabilities recovered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures.documents import document_summary

_LABELS = {
    "exact_match": "exact match",
    "precision": "precision of the answers",
    "recall": "recall of the right answers",
    "misinformation_adopted": "misinformation adopted",
    "coverage": "coverage",
}
_BY = {
    "share_misinforming": "share of misleading documents among those that answer",
    "n_misinforming": "misleading documents",
    "n_documents": "documents",
    "n_gold": "right answers",
}
_MARKERS = "osD^vPX"


@dataclass(frozen=True)
class MisinformationDisplay:
    """The table of `srdcr_lab.measures.documents.document_summary` for one model, by the column `by`."""

    table: pd.DataFrame
    by: str

    @classmethod
    def from_outcomes(cls, outcomes: pd.DataFrame, by: str = "share_misinforming") -> MisinformationDisplay:
        """From `srdcr_lab.measures.documents.answer_outcomes`."""
        return cls(document_summary(outcomes, by), by)

    def plot(self, ax: Axes | None = None, *, measure: str = "exact_match") -> Axes:
        """One line a method with 95 % intervals; where nothing was answered precision has no point."""
        ax = ax if ax is not None else plt.subplots(figsize=(5.2, 3.4))[1]
        rows = self.table[self.table["measure"] == measure]
        methods = list(dict.fromkeys(self.table["method"]))
        values = np.sort(rows.loc[rows["value"].notna(), self.by].unique())
        step = 0.02 * (float(np.ptp(values)) or 1.0)
        for i, (method, colour) in enumerate(zip(methods, sns.color_palette("colorblind", len(methods)), strict=True)):
            own = rows[(rows["method"] == method) & rows["value"].notna()].sort_values(self.by)
            ends = own["value"] - own["low"], own["high"] - own["value"]
            ax.errorbar(
                own[self.by] + step * (i - (len(methods) - 1) / 2),
                own["value"],
                yerr=[end.clip(lower=0).fillna(0) for end in ends],
                marker=_MARKERS[i % len(_MARKERS)],
                markersize=5,
                capsize=2,
                elinewidth=0.8,
                color=colour,
                label=method,
            )
        n = rows.groupby(self.by)["n_items"].max()
        ax.set_xticks(values, [f"{value:g}\n(n = {n[value]})" for value in values])
        ax.set(ylim=(-0.03, 1.03), xlabel=_BY[self.by], ylabel=_LABELS.get(measure, measure.replace("_", " ")))
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        sns.despine(ax=ax)
        return ax


@dataclass(frozen=True)
class RecoveryDisplay:
    """The table of `srdcr_lab.study.recovery.source_recovery`: one row a world and seed."""

    table: pd.DataFrame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Rank correlation of estimated and true reliability: a point a seed, a bar at each world's median."""
        worlds = list(dict.fromkeys(self.table["world"]))
        ax = ax if ax is not None else plt.subplots(figsize=(5.2, 0.5 * len(worlds) + 1))[1]
        for place, world in enumerate(worlds):
            values = self.table.loc[self.table["world"] == world, "rank_correlation"].to_numpy()
            spread = np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else np.zeros(1)
            ax.plot(values, place + spread, "o", markersize=3, color="#0173b2", alpha=0.6)
            median = float(np.median(values))
            ax.plot([median, median], [place - 0.3, place + 0.3], color="0.15", linewidth=2)
        ax.axvline(0.9, color="0.7", linestyle=":", linewidth=1)
        ax.set_yticks(range(len(worlds)), worlds)
        ax.set_ylim(len(worlds) - 0.5, -0.5)
        n = self.table.groupby("world")["seed"].nunique().max()
        ax.set(xlim=(-1.05, 1.05), xlabel=f"Spearman correlation with the true accuracies ({n} seeds; bar: median)")
        sns.despine(ax=ax)
        return ax

    def plot_majorities(self, ax: Axes | None = None) -> Axes:
        """Share of questions that the plain, the estimated and the oracle's majority get right, mean over the seeds."""
        worlds = list(dict.fromkeys(self.table["world"]))
        ax = ax if ax is not None else plt.subplots(figsize=(5.2, 0.5 * len(worlds) + 1))[1]
        means = self.table.groupby("world", sort=False)[list(_MAJORITIES)].mean()
        for name, (label, colour, marker) in _MAJORITIES.items():
            ax.plot(means[name], range(len(worlds)), marker, color=colour, label=label, markersize=6, linestyle="none")
        ax.set_yticks(range(len(worlds)), worlds)
        ax.set(
            ylim=(len(worlds) - 0.5, -0.5), xlim=(0.5, 1.02), xlabel="share of questions whose majority is the truth"
        )
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        sns.despine(ax=ax)
        return ax


_MAJORITIES: Mapping[str, tuple[str, str, str]] = {
    "plain": ("one vote a source", "0.55", "s"),
    "estimated": ("weighted by estimate", "#0173b2", "o"),
    "oracle": ("weighted by true accuracy", "#de8f05", "|"),
}


@dataclass(frozen=True)
class SourcesDisplay:
    """Columns `source`, `accuracy` (the truth) and `reliability` (the estimate), in [0, 1]; `perfect_reader`, the
    estimate from documents that nobody misread, may stand beside them."""

    table: pd.DataFrame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Estimated reliability against true accuracy, a named point a source; one without an estimate is left out."""
        ax = ax if ax is not None else plt.subplots(figsize=(4, 4))[1]
        ax.plot([0, 1], [0, 1], color="0.8", linewidth=1, zorder=0)
        known = self.table.dropna(subset=["reliability", "accuracy"])
        ax.plot(known["accuracy"], known["reliability"], "o", markersize=5, color="#0173b2", label="as the model read")
        if "perfect_reader" in known:
            perfect = known["accuracy"], known["perfect_reader"]
            ax.plot(*perfect, "o", markersize=5, color="0.5", markerfacecolor="none", label="as nobody misread")
            ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        for row in known.itertuples():
            place = row.accuracy, row.reliability
            ax.annotate(row.source, place, (4, 3), textcoords="offset points", fontsize="x-small")
        low = min(0.4, *known.drop(columns="source").filter(["accuracy", "reliability", "perfect_reader"]).min()) - 0.02
        ax.set(xlim=(low, 1.02), ylim=(low, 1.02), xlabel="true accuracy of the source", ylabel="estimated reliability")
        sns.despine(ax=ax)
        return ax
