"""Self-confidence beside knowledge: its distribution by category [Figures 3, 6, 7]; how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import highly_known, precision_above, reliability_curve
from srdcr_lab.plots.palette import CATEGORY_COLOURS, CATEGORY_LABELS
from srdcr_lab.records import ConfidenceKind

_PRECISION, _COVERAGE = "#0b3c5d", "0.6"


@dataclass(frozen=True)
class ConfidenceHistogramDisplay:
    """Questions by confidence and category.

    `table` has one row per bin × category: `confidence_kind`, `left` ≤ Conf < `right` (the last bin holds 1),
    `knowledge_category`, `n`, and the `n_missing` questions in no bin, for want of a confidence or of draws.
    """

    table: pd.DataFrame

    @classmethod
    def from_questions(
        cls, questions: pd.DataFrame, *, n_bins: int = 20, consistency_draws: int = 16
    ) -> ConfidenceHistogramDisplay:
        """Bins of equal width; for self-consistency one around each share k / `consistency_draws`."""
        kind = next(iter(questions["confidence_kind"].dropna()), "")
        edges = np.arange(n_bins + 1) / n_bins
        if kind == ConfidenceKind.SELF_CONSISTENCY:
            edges = (np.arange(consistency_draws + 2) - 0.5) / consistency_draws
        confidence = questions["self_confidence"].to_numpy(float, na_value=np.nan)
        parts = []
        for category in CATEGORY_COLOURS:
            here = (questions["knowledge_category"] == category).to_numpy(bool, na_value=False)
            n, _ = np.histogram(confidence[here], edges)
            parts.append(pd.DataFrame({"left": edges[:-1], "right": edges[1:], "knowledge_category": category, "n": n}))
        table = pd.concat(parts, ignore_index=True)
        table.insert(0, "confidence_kind", kind)
        return cls(table.assign(n_missing=len(questions) - int(table["n"].sum())))

    def plot(self, ax: Axes | None = None, tau: float | None = 0.90) -> Axes:
        """Stacked bars, from unknown at the bottom to highly known, and a line at τ."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.4))[1]
        bottom = np.zeros(len(self.table) // len(CATEGORY_COLOURS))
        for category in reversed(CATEGORY_COLOURS):
            rows = self.table[self.table["knowledge_category"] == category]
            n = rows["n"].to_numpy(float)
            ax.bar(
                rows["left"], n, rows["right"] - rows["left"], bottom, align="edge", color=CATEGORY_COLOURS[category],
                edgecolor="white", linewidth=0.5, label=f"{CATEGORY_LABELS[category]} (n = {n.sum():.0f})",
            )  # fmt: skip
            bottom += n
        if tau is not None:
            ax.axvline(tau, color="black", linewidth=1, linestyle="--", label=f"τ = {tau:g}")
        missing = self.table["n_missing"].iloc[0]
        without = f"; {missing} without one" if missing else ""
        ax.set(xlim=(-0.05, 1.05), xlabel=f"self-confidence ({_kind(self.table)}{without})", ylabel="questions")
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, reverse=True)
        sns.despine(ax=ax)
        return ax


@dataclass(frozen=True)
class PrecisionDisplay:
    """P(Highly-Known | Conf ≥ τ) at every τ: the table of `srdcr_lab.measures.precision_above`."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> PrecisionDisplay:
        table = precision_above(questions["self_confidence"], highly_known(questions))
        table.insert(0, "confidence_kind", next(iter(questions["confidence_kind"].dropna()), ""))
        return cls(table)

    def plot(self, ax: Axes | None = None, tau: float | None = 0.90) -> Axes:
        """Precision with its 95 % band, and coverage; the upper axis counts the questions with Conf ≥ τ."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.6))[1]
        rows = self.table.sort_values("tau")
        x = rows["tau"].to_numpy(float)
        ax.plot(x, rows["precision"], drawstyle="steps-pre", color=_PRECISION, label="P(Highly-Known | Conf ≥ τ)")
        ax.fill_between(x, rows["low"], rows["high"], step="pre", color=_PRECISION, alpha=0.18, linewidth=0)
        ax.plot(x, rows["coverage"], drawstyle="steps-pre", color=_COVERAGE, label="coverage: share with Conf ≥ τ")
        if tau is not None:
            ax.axvline(tau, color="black", linewidth=1, linestyle="--", label=f"τ = {tau:g}")
        ax.set(xlim=(0, 1.01), ylim=(-0.03, 1.03), xlabel=f"τ ({_kind(self.table)})", ylabel="share of questions")
        counts = ax.secondary_xaxis("top")
        ticks = np.array([0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0])
        above = [int(rows.loc[x >= tick, "n_above"].max()) if (x >= tick).any() else 0 for tick in ticks]
        counts.set_xticks(ticks, [str(n) for n in above], fontsize="small", color="0.4")
        counts.set_xlabel("questions with Conf ≥ τ", fontsize="small", color="0.4")
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        sns.despine(ax=ax)
        return ax


@dataclass(frozen=True)
class ReliabilityDisplay:
    """Share of right prior answers by confidence: the table of `srdcr_lab.measures.reliability_curve`."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, *, n_bins: int = 10) -> ReliabilityDisplay:
        """The target is that the prior answer is right: what a probability of it would be a probability of."""
        table = reliability_curve(questions["self_confidence"], questions["prior_correct"], n_bins=n_bins)
        table.insert(0, "confidence_kind", next(iter(questions["confidence_kind"].dropna()), ""))
        return cls(table)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with 95 % intervals and their number of questions; on the dashed line confidence is a probability."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.4, 4.2))[1]
        rows = self.table[self.table["n"] > 0]
        ends = [(rows["frequency"] - rows["low"]).clip(lower=0), (rows["high"] - rows["frequency"]).clip(lower=0)]
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="confidence = share right")
        ax.errorbar(
            rows["mean_confidence"], rows["frequency"], yerr=ends, fmt="o-", color=_PRECISION, linewidth=1,
            markersize=5, label="prior answers (95 % interval)",
        )  # fmt: skip
        for row in rows.itertuples():
            ax.annotate(
                f"{row.n}", (row.mean_confidence, row.high), (0, 2), textcoords="offset points", ha="center",
                va="bottom", fontsize="x-small", color="0.35",
            )  # fmt: skip
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.08), aspect="equal")
        ax.set(xlabel=f"self-confidence ({_kind(self.table)})", ylabel="share of prior answers that are right")
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1))
        sns.despine(ax=ax)
        return ax


def _kind(table: pd.DataFrame) -> str:
    return str(table["confidence_kind"].iloc[0]) if len(table) else "none"
