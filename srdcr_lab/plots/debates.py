"""Counterfactual debates: accuracy by method, overconfident errors, how debates end, numbers of stances and rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures.counterfactual import ENDS, by_number, debate_ends, overconfidence, table_1
from srdcr_lab.measures.documents import document_summary

END_COLOURS = MappingProxyType(dict(zip(ENDS, ("#0173b2", "#d55e00", "#56b4e9", "#ecb08a", "#bbbbbb"), strict=True)))
END_LABELS = MappingProxyType(
    {
        "valid_change": "agree, right",
        "invalid_change": "agree, wrong",
        "judge_right": "judge right",
        "judge_wrong": "judge wrong",
        "judge_missing": "judge not read",
    }
)


@dataclass(frozen=True)
class MethodsDisplay:
    """Table 1 of `srdcr_lab.measures.counterfactual`, one row a method of one model; `value` is what is drawn."""

    table: pd.DataFrame
    value: str = "accuracy"

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> MethodsDisplay:
        """Accuracy; macro-F1 where every question is a claim that is true or false."""
        table = table_1(records)
        return cls(table, "macro_f1" if table["macro_f1"].notna().all() else "accuracy")

    def plot(self, ax: Axes | None = None) -> Axes:
        """One row a method, first on top: points with 95 % intervals, what could not be read counted as wrong."""
        names = [f"{row.method}  ({row.n_answered}/{row.n} answered)" for row in self.table.itertuples()]
        columns = self.table[[self.value, f"{self.value}_low", f"{self.value}_high"]]
        meaning = "macro-F1" if self.value == "macro_f1" else "share of questions that are right"
        return _points(ax, names, columns, meaning, "#0173b2")


@dataclass(frozen=True)
class OverconfidenceDisplay:
    """Figure 2: the table of `srdcr_lab.measures.counterfactual`."""

    table: pd.DataFrame

    @classmethod
    def from_tables(cls, records: pd.DataFrame, turns: pd.DataFrame) -> OverconfidenceDisplay:
        return cls(overconfidence(records, turns))

    def plot(self, ax: Axes | None = None) -> Axes:
        """One row a method; a method without an error has no point."""
        names = [f"{row.method}  (errors: {row.n})" for row in self.table.itertuples()]
        columns = self.table[["share", "low", "high"]]
        return _points(ax, names, columns, "share of errors that are overconfidence", "#d55e00")


@dataclass(frozen=True)
class DebateEndsDisplay:
    """Figures 4 and 5 in one: the table of `srdcr_lab.measures.counterfactual.debate_ends`."""

    table: pd.DataFrame

    @classmethod
    def from_tables(cls, records: pd.DataFrame, turns: pd.DataFrame) -> DebateEndsDisplay:
        return cls(debate_ends(records, turns))

    def plot(self, ax: Axes | None = None) -> Axes:
        """One bar a method whose parts sum to 1; a part is labelled where it is wide enough."""
        methods = list(dict.fromkeys(self.table["method"]))
        shares = self.table.pivot(index="method", columns="end", values="share") if methods else pd.DataFrame()
        n = self.table.groupby("method", sort=False)["n"].first()
        ax = _rows(ax, [f"{method}  (n = {n[method]})" for method in methods])
        start = np.zeros(len(methods))
        for end in ENDS if methods else ():
            widths = shares.loc[methods, end].to_numpy(float)
            ax.barh(range(len(methods)), widths, left=start, color=END_COLOURS[end], label=END_LABELS[end], height=0.6)
            for place, (left, width) in enumerate(zip(start, widths, strict=True)):
                if width >= 0.08:
                    ink = "white" if end.endswith("change") else "black"
                    ax.text(left + width / 2, place, f"{width:.2f}", ha="center", va="center", size="small", color=ink)
            start = start + widths
        ax.set(xlim=(0, 1), xlabel="share of debated questions")
        if methods:
            ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        return ax


@dataclass(frozen=True)
class NumberDisplay:
    """Figure 6: accuracy of CFMAD by number of `what`, ``stances`` or ``rounds``."""

    table: pd.DataFrame
    what: str

    @classmethod
    def from_records(cls, records: pd.DataFrame, what: str) -> NumberDisplay:
        return cls(by_number(records, what), what)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with 95 % intervals, joined; 2 stances and 1 round are the paper's."""
        ax = ax if ax is not None else plt.subplots(figsize=(3.6, 3.0))[1]
        numbers, values = self.table[self.what].to_numpy(float), self.table["accuracy"].to_numpy(float)
        low, high = (self.table[f"accuracy_{end}"].to_numpy(float) for end in ("low", "high"))
        ax.errorbar(numbers, values, yerr=_around(values, low, high), fmt="o-", color="#0173b2", capsize=2)
        n = int(self.table["n"].max()) if len(self.table) else 0
        ax.set(ylim=(-0.03, 1.03), xticks=numbers, xlabel=f"{self.what} (n = {n} each)", ylabel="accuracy")
        sns.despine(ax=ax)
        return ax


def _rows(ax: Axes | None, names: list[str]) -> Axes:
    """Axes with one named row each, the first on top, and shares from 0 to 1 along them."""
    ax = ax if ax is not None else plt.subplots(figsize=(6.4, 0.9 + 0.32 * max(len(names), 1)))[1]
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(-0.03, 1.03), ylim=(max(len(names), 1) - 0.4, -0.6))
    sns.despine(ax=ax)
    return ax


def _points(ax: Axes | None, names: list[str], columns: pd.DataFrame, meaning: str, colour: str) -> Axes:
    """A point a row from the columns value, low, high."""
    ax = _rows(ax, names)
    values, low, high = columns.to_numpy(float).T
    ax.errorbar(values, range(len(values)), xerr=_around(values, low, high), fmt="o", color=colour, capsize=2)
    ax.set_xlabel(meaning)
    return ax


def _around(values: Any, low: Any, high: Any) -> Any:
    """Distances of the ends from the value; an end that a bootstrap puts on its wrong side is at the value."""
    return np.array([np.maximum(values - low, 0), np.maximum(high - values, 0)])


# -- documents that contradict each other: measures against the share that misleads; reliabilities recovered

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
    """The table of `srdcr_lab.study.demonstrations.source_recovery`: one row a world and seed."""

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
