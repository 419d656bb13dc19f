"""Self-confidence beside knowledge: its distribution by category [Figures 3, 6, 7]; how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from srdcr_lab.measures import highly_known, precision_above, reliability_curve
from srdcr_lab.measures.beliefs import compared_at, consistency_by_draws
from srdcr_lab.measures.gating import TAUS, Gating, gating_table
from srdcr_lab.measures.precision import PrecisionSteps, precision_steps, risk_coverage
from srdcr_lab.measures.thresholds import (
    Choose,
    ThresholdChoice,
    ThresholdMethod,
    leave_one_domain_out,
    transfer_matrix,
)
from srdcr_lab.plots.drawers import CATEGORY_COLOURS, CATEGORY_LABELS
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


# -- several confidences of the same answers: do they rank questions alike, and do they part at τ?


@dataclass(frozen=True)
class ConfidenceKindsDisplay:
    """`table`: every two confidences compared (`srdcr_lab.measures.beliefs.compared_at`); `above`: of each
    one, the `n` questions that have it and the `n_above` with Conf ≥ τ."""

    table: pd.DataFrame
    above: pd.DataFrame
    tau: float

    @classmethod
    def from_confidences(cls, confidences: pd.DataFrame, tau: float = 0.90) -> ConfidenceKindsDisplay:
        """One row per question, a column per confidence; missing where there is none."""
        counts = {"n": confidences.notna().sum(), "n_above": (confidences >= tau).sum()}
        above = pd.DataFrame(counts).rename_axis("confidence").reset_index()
        return cls(compared_at(confidences, tau), above, tau)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Below the diagonal rank correlations with their 95 % intervals, above it the questions that change sides at
        τ; on it how many lie above τ. Grey where no question has both."""
        names = self.above["confidence"].tolist()
        size = 1.5 + 1.12 * len(names), 0.9 + 0.62 * len(names)
        ax = ax if ax is not None else plt.subplots(figsize=size)[1]
        alike, parted = plt.get_cmap("Blues"), plt.get_cmap("Oranges")
        for row in self.table.to_dict("records"):
            i, j = names.index(row["first"]), names.index(row["second"])
            rho, flipped = row["spearman"], row["flipped"]
            shade = "0.93" if pd.isna(rho) else alike(0.7 * max(rho, 0))
            _cell(ax, i, j, "–" if pd.isna(rho) else f"ρ = {rho:.2f}\n[{row['low']:.2f}, {row['high']:.2f}]", shade)
            shade = "0.93" if pd.isna(flipped) else parted(0.9 * flipped)
            _cell(ax, j, i, f"{row['n_flipped']} of {row['n']}" if row["n"] else "–", shade)
        for i, row in self.above.iterrows():
            _cell(ax, int(str(i)), int(str(i)), f"{row['n_above']} of {row['n']}\n≥ τ", "white")
        ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
        spelled = [name.replace("_", " ") for name in names]
        ax.set_xticks(range(len(names)), spelled, fontsize="small", rotation=18)
        ax.set_yticks(range(len(names)), spelled, fontsize="small")
        ax.set_title(
            f"below: rank correlation; above: questions that change sides at τ = {self.tau:g}", fontsize="small"
        )
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        return ax


def _cell(ax: Axes, x: float, y: float, text: str, colour: object) -> None:
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
    ax.text(x, y, text, ha="center", va="center", fontsize=7)


@dataclass(frozen=True)
class ConsistencyByDrawsDisplay:
    """The table of `srdcr_lab.measures.beliefs.consistency_by_draws`."""

    table: pd.DataFrame
    tau: float

    @classmethod
    def from_agreement(cls, agrees: ArrayLike, tau: float = 0.90) -> ConsistencyByDrawsDisplay:
        """`agrees` has the shape (questions, draws): each draw equals the greedy answer (`agreement_matrix`)."""
        return cls(consistency_by_draws(agrees, tau), tau)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Share of questions that change sides at τ against the number of draws, with its 95 % interval, and how far
        the share is off on average; above each number the draws that must agree."""
        ax = ax if ax is not None else plt.subplots(figsize=(5.6, 3.4))[1]
        rows = self.table
        ax.plot(rows["size"], rows["flipped"], "o-", color="#de8f05", label=f"change sides at τ = {self.tau:g}")
        ax.fill_between(rows["size"], rows["low"], rows["high"], color="#de8f05", alpha=0.18, linewidth=0)
        ax.plot(rows["size"], rows["difference"], "s--", color="#0173b2", markersize=4, label="mean distance of Conf")
        top = max(0.1, 1.15 * float(rows[["high", "difference"]].max().max())) if rows["flipped"].notna().any() else 0.1
        ax.set(
            xlabel="draws", ylim=(-0.02 * top, top), ylabel=f"of {int(rows['n'].max())} questions, against all draws"
        )
        ax.set_xticks(rows["size"])
        counts = ax.secondary_xaxis("top")
        counts.set_xticks(rows["size"], [str(n) for n in rows["least_agreeing"]], fontsize="small", color="0.4")
        counts.set_xlabel("draws that must agree to reach τ", fontsize="small", color="0.4")
        ax.legend(frameon=False, fontsize="small")
        sns.despine(ax=ax)
        return ax


# -- what the decision rule does at any τ [3.2]: both accuracies and coverage against the threshold


@dataclass(frozen=True)
class GatingDisplay:
    """The table of `srdcr_lab.measures.gating.gating_table`, held for drawing."""

    table: pd.DataFrame

    @classmethod
    def from_gating(cls, gating: Gating, taus: Sequence[float] = TAUS) -> GatingDisplay:
        return cls(gating_table(gating, taus))

    def plot(self, ax: Axes | None = None, condition: str = "perturbed", tau: float | None = 0.90) -> Axes:
        """Both accuracies with their bands and coverage, against τ, in one condition."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.4))[1]
        rows = self.table[self.table["condition"] == condition]
        for measure, colour, style in (("accuracy", "#0173b2", "-"), ("selective_accuracy", "#de8f05", "--")):
            ax.plot(rows["tau"], rows[measure], style, color=colour, label=measure.replace("_", " "))
            ends = rows[f"{measure}_low"], rows[f"{measure}_high"]
            ax.fill_between(rows["tau"], *ends, color=colour, alpha=0.15, linewidth=0)
        ax.plot(rows["tau"], rows["coverage"], ":", color="0.3", label="coverage")
        if tau is not None:
            ax.axvline(tau, color="black", linewidth=1, linestyle="--")
        n = int(rows["n"].max()) if len(rows) else 0
        said = "true" if condition == "standard" else "false"
        ax.set(xlim=(0, 1), ylim=(-0.03, 1.03), xlabel="τ", ylabel="share of items", title=f"{said} passages (n = {n})")
        sns.despine(ax=ax)
        return ax


# -- what answering from memory risks at each coverage, and where a chosen τ puts one on that curve

METHOD_NAMES = {
    ThresholdMethod.FIXED: "fixed beforehand",
    ThresholdMethod.TARGET_PRECISION: "looks good enough here",
    ThresholdMethod.LEARN_THEN_TEST: "Learn-then-Test",
    ThresholdMethod.CONFORMAL_RISK_CONTROL: "conformal risk control",
    ThresholdMethod.TRANSFERRED: "from elsewhere",
}
_CURVE = "#0b3c5d"
_MARKS = ("o", "s", "D", "^", "v", "P")
_COLOURS = ("#0173b2", "#949494", "#029e73", "#de8f05", "#cc78bc", "#ca9161")


@dataclass(frozen=True)
class RiskCoverageDisplay:
    """`table` is `srdcr_lab.measures.risk_coverage` of unique questions, target "the prior answer is right"; `choices`
    are the thresholds to mark on it."""

    table: pd.DataFrame
    choices: tuple[ThresholdChoice, ...] = ()

    @classmethod
    def from_steps(cls, steps: PrecisionSteps, choices: Sequence[ThresholdChoice] = ()) -> RiskCoverageDisplay:
        return cls(risk_coverage(steps), tuple(choices))

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, choices: Sequence[ThresholdChoice] = ()) -> RiskCoverageDisplay:
        """From `Results.questions`."""
        return cls.from_steps(precision_steps(questions["self_confidence"], questions["prior_correct"]), choices)

    def plot(self, ax: Axes | None = None, alpha: float | None = None) -> Axes:
        """Risk with its 95 % band against coverage; a mark per chosen τ; a dashed line at the risk that was asked for.

        A choice that found no threshold stands in the legend alone.
        """
        ax = ax if ax is not None else plt.subplots(figsize=(5.6, 3.6))[1]
        rows = self.table.sort_values("coverage")
        ax.plot(rows["coverage"], rows["risk"], color=_CURVE, linewidth=1.4)
        ax.fill_between(rows["coverage"], rows["low"], rows["high"], color=_CURVE, alpha=0.15, linewidth=0)
        if alpha is not None:
            ax.axhline(alpha, color="0.4", linewidth=1, linestyle="--", label=f"risk asked for: α = {alpha:g}")
        for choice, mark, colour in zip(self.choices, _MARKS, _COLOURS, strict=False):
            name = METHOD_NAMES[choice.method]
            there = choice.tau is not None and choice.n_above > 0
            said = f"{name}: τ = {choice.tau:.3g}" if choice.tau is not None else f"{name}: no threshold attains this"
            where = (choice.coverage, choice.risk) if there else (np.nan, np.nan)
            inside = colour if choice.guaranteed else "none"
            ax.scatter(
                *where, marker=mark, s=55, linewidths=1.4, zorder=3, label=said, facecolors=inside, edgecolors=colour
            )
        ax.set(xlim=(0, 1.01), ylim=(-0.03, 1.03), xlabel=f"coverage: share of {_n(rows)} questions with Conf ≥ τ")
        ax.set_ylabel("risk: wrong prior answers among them")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        sns.despine(ax=ax)
        return ax


def _n(rows: pd.DataFrame) -> int:
    return round(rows["n_answered"].iloc[0] / rows["coverage"].iloc[0]) if len(rows) else 0


# -- a τ that is carried to other questions: coverage and risk there, as a matrix of domains

OTHERS = "all others"  # the row of the leave-one-domain-out choices


@dataclass(frozen=True)
class TransferDisplay:
    """The rows of `transfer_matrix`, then those of `leave_one_domain_out`, of the same questions."""

    table: pd.DataFrame

    @classmethod
    def from_questions(
        cls, confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: Choose
    ) -> TransferDisplay:
        """`choose` maps the steps of some questions to a choice, as `learn_then_test` does."""
        given = confidence, target, domains
        parts = [transfer_matrix(*given, choose), leave_one_domain_out(*given, choose)]
        return cls(pd.concat([part for part in parts if len(part)], ignore_index=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """A row per domain τ was chosen on, a column per domain it is used on; the darker, the riskier.

        Each cell has the risk with its 95 % interval, the questions above τ, and in the last row its own τ. A frame
        marks the questions that τ was chosen on, whose risk is too good. Grey: no threshold, or nothing above it.
        """
        columns = list(dict.fromkeys(self.table["applied_to"]))
        places = {name: i for i, name in enumerate(columns)}
        size = (1.6 + 1.25 * len(columns), 1.2 + 0.72 * (len(columns) + 1))
        ax = ax if ax is not None else plt.subplots(figsize=size)[1]
        colours = plt.get_cmap("YlOrRd")
        labels = [*columns, OTHERS]
        for row in self.table.to_dict("records"):
            y, x = places.get(row["chosen_on"], len(columns)), places[row["applied_to"]]
            known = not pd.isna(row["risk"])
            shade = colours(0.75 * row["risk"]) if known else "0.92"
            ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="white", linewidth=1.5))
            if row["same_questions"]:
                ax.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor="0.2", linewidth=1.2))
                labels[y] += f"\n{_tau(row['tau'])}"
            above = f"{row['n_above']} of {row['n']}"
            said = f"{row['risk']:.2f} [{row['risk_low']:.2f}, {row['risk_high']:.2f}]\n{above}" if known else above
            if y == len(columns):
                said = f"{_tau(row['tau'])}\n{said}"
            if pd.isna(row["tau"]):
                said = "no τ" if y == len(columns) else "–"
            ax.text(x, y, said, ha="center", va="center", fontsize=7, color="black")
        ax.axhline(len(columns) - 0.5, color="black", linewidth=1)
        ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(columns) + 0.5, -0.5), xlabel="used on", ylabel="chosen on")
        ax.set_xticks(range(len(columns)), columns, fontsize="small")
        ax.set_yticks(range(len(labels)), labels, fontsize="small")
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        return ax


def _tau(tau: float) -> str:
    return "no τ" if pd.isna(tau) else f"τ = {tau:.3g}"
