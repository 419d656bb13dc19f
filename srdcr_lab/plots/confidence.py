"""Confidence: beside knowledge [Figures 3, 6, 7] and other confidences, and what a threshold τ on it does [3.2].

The last displays show the decision rule at every τ, and the risk of answering from memory, here and in other domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from srdcr_lab.measures import highly_known, precision_above, reliability_curve, thresholds
from srdcr_lab.measures.gating import TAUS, Gating, gating_table
from srdcr_lab.measures.groups import is_standard
from srdcr_lab.measures.knowledge import consistency_by_draws
from srdcr_lab.measures.precision import PrecisionSteps, compared_at, precision_steps, risk_coverage
from srdcr_lab.measures.verdicts import P_UNREASONABLE
from srdcr_lab.plots import drawers as draw
from srdcr_lab.records import ConfidenceKind
from srdcr_lab.records.names import called_in
from srdcr_lab.records.vocabulary import n_of


class ConfidenceHistogramDisplay(draw.Display):
    """Questions by confidence and category: a row per bin (`left` ≤ Conf < `right`; the last bin holds 1) × category,
    with `n`, and `n_missing`, the questions in no bin because they have no confidence or no draws."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, *, n_bins: int = 20, consistency_draws: int = 16) -> Self:
        """Bins of equal width; for self-consistency one around each share k / `consistency_draws`."""
        edges = np.arange(n_bins + 1) / n_bins
        if _kind(questions) == ConfidenceKind.SELF_CONSISTENCY:
            edges = (np.arange(consistency_draws + 2) - 0.5) / consistency_draws
        bins = pd.DataFrame({"left": edges[:-1], "right": edges[1:]})
        parts = []
        for category in draw.CATEGORY_COLOURS:
            confidence = questions.loc[questions["knowledge_category"] == category, "self_confidence"].dropna()
            n, _ = np.histogram(confidence.to_numpy(float), edges)
            parts.append(bins.assign(knowledge_category=category, n=n))
        table = _with_kind(pd.concat(parts, ignore_index=True), questions)
        return cls(table.assign(n_missing=len(questions) - int(table["n"].sum())))

    def plot(self, ax: Axes | None = None, tau: float | None = 0.90) -> Axes:
        """Stacked bars, from unknown at the bottom to highly known, and a line at τ."""
        ax = draw.axes(ax, draw.WIDEST, 3.2)
        bottom = 0
        for rows, look in reversed([*draw.by_category(self.table, "n")]):
            n, width = rows["n"].to_numpy(), rows["right"] - rows["left"]
            ax.bar(rows["left"], n, width, bottom, align="edge", edgecolor="white", linewidth=0.5, **look)
            bottom = bottom + n
        draw.threshold(ax, tau, "τ = {:g}")
        missing = self.table["n_missing"].iloc[0]
        without = f"\n({n_of(missing, 'questions')} without a confidence or draws left out)" if missing else ""
        ax.set(xlim=(-0.05, 1.05), xlabel=f"self-confidence ({_named(self.table)}){without}")
        return draw.finish(ax, draw.TOP | {"ncols": 2, "reverse": True}, ylabel="questions")


class PrecisionDisplay(draw.Display):
    """P(Highly-Known | Conf ≥ τ) at every τ: the table of `srdcr_lab.measures.precision_above`."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> Self:
        return cls(_with_kind(precision_above(questions["self_confidence"], highly_known(questions)), questions))

    def plot(self, ax: Axes | None = None, tau: float | None = 0.90) -> Axes:
        """Precision with its 95 % band, and coverage; the upper axis counts the questions with Conf ≥ τ."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        if self.table.empty:
            return draw.nothing(ax, "no question with a confidence and knowledge draws")
        rows = self.table.sort_values("tau")
        look: draw.Look = {"drawstyle": "steps-pre", "color": draw.NAVY, "label": "P(Highly-Known | Conf ≥ τ)"}
        draw.curve(ax, rows, "tau", "precision", **look)
        look |= {"color": "0.6", "label": "coverage: share with Conf ≥ τ"}
        ax.plot(rows["tau"], rows["coverage"], **look)
        draw.threshold(ax, tau, "τ = {:g}")
        ticks = [0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0]
        n = [rows.loc[rows["tau"] >= tick, "n_above"].max() for tick in ticks]
        draw.upper_axis(ax, ticks, np.nan_to_num(n).astype(int), "questions with Conf ≥ τ")
        ax.set(xlim=(0, 1.01), xlabel=f"τ ({_named(self.table)})")
        return draw.finish(ax, draw.BELOW, ylim=draw.SHARES, ylabel="share of questions")


class ReliabilityDisplay(draw.Display):
    """Share of right prior answers by confidence, or of false passages by the judge's P(UNREASONABLE): the table of
    `srdcr_lab.measures.reliability_curve`."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, *, n_bins: int = 10) -> Self:
        curve = reliability_curve(questions["self_confidence"], questions["prior_correct"], n_bins=n_bins)
        return cls(_with_kind(curve, questions))

    @classmethod
    def from_verdicts(cls, records: pd.DataFrame, *, n_bins: int = 10) -> Self:
        """From the debates of one design; a passage counts by itself, so the intervals of pairs are a little wide."""
        curve = reliability_curve(records["p_unreasonable"], ~is_standard(records), n_bins=n_bins)
        return cls(_with_kind(curve, records.assign(confidence_kind=P_UNREASONABLE)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with 95 % intervals and their number of questions, joined where there are ten or more; on the dashed
        line confidence is a probability."""
        ax = draw.axes(ax, 4.4, 4.2)
        rows, kind = self.table[self.table["n"] > 0], _kind(self.table)
        of, which, name = "prior answers", "right", f"self-confidence ({_named(self.table)})"
        if kind == P_UNREASONABLE:
            of, which, name = "passages", "false", f"{kind} of the final verdict"
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label=f"belief = share {which}")
        look = draw.THIN | {"color": draw.NAVY, "linestyle": "-", "linewidth": 1, "markersize": 5}
        look["label"] = f"{of} (95 % interval)"
        draw.intervals(ax, rows["mean_confidence"], rows, "frequency", **look)
        draw.numbers_above(ax, "mean_confidence", rows, va="bottom", color="0.35")
        ax.set(xlim=draw.SHARES, ylim=(-0.03, 1.08), aspect="equal", ylabel=f"share of {of} that are {which}")
        return draw.finish(ax, draw.TOP, of=of, xlabel=name)


def _with_kind(table: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    table.insert(0, "confidence_kind", _kind(questions, ""))
    return table


def _kind(rows: pd.DataFrame, none: str = "none") -> str:
    return str(next(iter(rows["confidence_kind"].dropna()), none))


def _named(rows: pd.DataFrame) -> str:
    return called_in("confidence_kind", _kind(rows))


@dataclass(frozen=True)
class ConfidenceKindsDisplay(draw.Display):
    """`table` compares every two confidences of the same answers (`srdcr_lab.measures.precision.compared_at`); `above`
    counts for each confidence the `n` questions that have it and the `n_above` with Conf ≥ τ."""

    above: pd.DataFrame
    tau: float

    @classmethod
    def from_confidences(cls, confidences: pd.DataFrame, tau: float = 0.90) -> Self:
        """One row per question, a column per confidence; missing where there is none."""
        counts = {"n": confidences.notna().sum(), "n_above": (confidences >= tau).sum()}
        above = pd.DataFrame(counts).rename_axis("confidence").reset_index()
        return cls(compared_at(confidences, tau), above, tau)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Below the diagonal rank correlations with their 95 % intervals, above it the questions that change sides at
        τ; on it how many lie above τ. Grey where no question has both."""
        place = {name: i for i, name in enumerate(self.above["confidence"])}
        alike, changed = (plt.get_cmap(name).with_extremes(bad="0.93") for name in ("Blues", "Oranges"))
        cells: list[tuple[int, int, str, Any]] = []
        for i, row in enumerate(self.above.itertuples()):
            cells.append((i, i, f"{row.n_above}\nof {row.n}\n≥ τ", "white"))
        for row in self.table.itertuples():
            i, j = place[row.first], place[row.second]
            ends = (round(end, 2) + 0.0 for end in (row.spearman, row.low, row.high))  # no −0
            rho = "–" if pd.isna(row.spearman) else "{:.2f}\n{:.2f} to\n{:.2f}".format(*ends)
            cells.append((i, j, rho, alike(0.7 * row.spearman)))
            cells.append((j, i, f"{row.n_flipped}\nof {row.n}" if row.n else "–", changed(0.9 * row.flipped)))
        names = [called_in("confidence", name).replace(" ", "\n", 1) for name in place]
        ax = draw.axes(ax, max(4.4, 0.9 + 0.63 * len(names)), max(2.6, 0.7 + 0.54 * len(names)))
        draw.matrix(ax, cells, names, names)
        title = f"below: rank correlation ρ [95 %]\nabove: change sides at τ = {self.tau:g}"
        ax.set_title(title, size=draw.SMALL, loc="left")
        return ax


@dataclass(frozen=True)
class ConsistencyByDrawsDisplay(draw.Display):
    """The table of `srdcr_lab.measures.knowledge.consistency_by_draws`."""

    tau: float

    @classmethod
    def from_agreement(cls, agrees: ArrayLike, tau: float = 0.90) -> Self:
        """`agrees` has the shape (questions, draws): each draw equals the greedy answer (`agreement_matrix`)."""
        return cls(consistency_by_draws(agrees, tau), tau)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Share of questions that change sides at τ against the number of draws, with its 95 % interval, and the mean
        distance from the share of all draws; above each number the draws that must agree."""
        ax = draw.axes(ax, draw.WIDEST, 3.2)
        rows, sizes = self.table, self.table["size"]
        n = int(rows["n"].max())
        look: draw.Look = {
            "marker": "o",
            "color": draw.ORANGE,
            "label": f"share that changes sides at τ = {self.tau:g}",
        }
        draw.curve(ax, rows, "size", "flipped", **look)
        ax.plot(sizes, rows["difference"], "s--", color=draw.BLUE, markersize=4, label="mean distance of Conf")
        top = max(0.1, 1.15 * float(rows[["high", "difference"]].max().max())) if rows["flipped"].notna().any() else 0.1
        ax.set(xticks=sizes, ylabel=f"against all draws (n = {n} questions)")
        draw.upper_axis(ax, sizes, rows["least_agreeing"], "draws that must agree to reach τ")
        return draw.finish(ax, draw.INSIDE, xlabel="draws", ylim=(-0.02 * top, top))


class GatingDisplay(draw.Display):
    """What the decision rule [3.2] does at any τ: the table of `srdcr_lab.measures.gating.gating_table`."""

    @classmethod
    def from_gating(cls, gating: Gating, taus: Sequence[float] = ()) -> Self:
        """At these τ; by default at every one at which something changes, and at those of `TAUS`."""
        confidence = gating.confidence[gating.decided & ~np.isnan(gating.confidence)]
        return cls(gating_table(gating, taus or sorted({*TAUS, *confidence.tolist()})))

    def plot(self, ax: Axes | None = None, condition: str = "perturbed", tau: float | None = 0.90) -> Axes:
        """Both accuracies with their bands and coverage, against τ, in one condition: steps, since Conf ≥ τ changes at
        the confidence of a question alone."""
        ax = draw.axes(ax, 4.6, 3.4)
        rows = self.table[self.table["condition"] == condition]
        for measure, colour, style in (("accuracy", draw.BLUE, "-"), ("selective_accuracy", draw.ORANGE, "--")):
            look: draw.Look = {"color": colour, "linestyle": style, "drawstyle": "steps-pre"}
            draw.curve(ax, rows, "tau", measure, 0.15, label=measure.replace("_", " "), **look)
        ax.plot(rows["tau"], rows["coverage"], ":", color="0.3", drawstyle="steps-pre", label="coverage")
        draw.threshold(ax, tau, "τ = {:g}")
        n = int(rows["n"].max()) if len(rows) else 0
        ax.set_title(f"{'true' if condition == 'standard' else 'false'} passages (n = {n})", fontsize="medium")
        return draw.finish(ax, xlim=(0, 1), xlabel="τ", ylim=draw.SHARES, ylabel="share of items")


METHOD_NAMES = {
    thresholds.ThresholdMethod.FIXED: "fixed beforehand",
    thresholds.ThresholdMethod.TARGET_PRECISION: "looks good enough here",
    thresholds.ThresholdMethod.LEARN_THEN_TEST: "Learn-then-Test",
    thresholds.ThresholdMethod.CONFORMAL_RISK_CONTROL: "conformal risk control",
    thresholds.ThresholdMethod.TRANSFERRED: "from elsewhere",
}
_CHOICE_LOOKS = (
    ("o", draw.BLUE), ("s", "#949494"), ("D", "#029e73"), ("^", draw.ORANGE), ("v", "#cc78bc"), ("P", "#ca9161"),
)  # fmt: skip


@dataclass(frozen=True)
class RiskCoverageDisplay(draw.Display):
    """What answering from memory risks at each coverage: `srdcr_lab.measures.risk_coverage` of unique questions, target
    "the prior answer is right". `choices` are the thresholds to mark on the curve."""

    choices: tuple[thresholds.ThresholdChoice, ...] = ()

    @classmethod
    def from_steps(cls, steps: PrecisionSteps, choices: Sequence[thresholds.ThresholdChoice] = ()) -> Self:
        return cls(risk_coverage(steps), tuple(choices))

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, choices: Sequence[thresholds.ThresholdChoice] = ()) -> Self:
        return cls.from_steps(precision_steps(questions["self_confidence"], questions["prior_correct"]), choices)

    def plot(self, ax: Axes | None = None, alpha: float | None = None) -> Axes:
        """Risk with its 95 % band against coverage; a mark per chosen τ, filled if it has a guarantee; a dashed line at
        the risk `alpha` that was asked for. A choice without a threshold is in the legend alone."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        rows = self.table.sort_values("coverage")
        draw.curve(ax, rows, "coverage", "risk", 0.15, color=draw.NAVY, linewidth=1.4, drawstyle="steps-post")
        if alpha is not None:
            ax.axhline(alpha, color="0.4", linewidth=1, linestyle="--", label=f"risk asked for: α = {alpha:g}")
        for choice, (marker, colour) in zip(self.choices, _CHOICE_LOOKS, strict=False):
            tau = "no threshold attains this" if choice.tau is None else f"τ = {choice.tau:.3g}"
            attained = choice.tau is not None and choice.n_above > 0
            place = (choice.coverage, choice.risk) if attained else (np.nan, np.nan)
            look: draw.Look = {"marker": marker, "s": 55, "linewidths": 1.4, "edgecolors": colour, "zorder": 3}
            look |= {"facecolors": colour if choice.guaranteed else "none"}
            ax.scatter(*place, label=f"{METHOD_NAMES[choice.method]}: {tau}", **look)
        n = round(rows["n_answered"].iloc[0] / rows["coverage"].iloc[0]) if len(rows) else 0
        ax.set(xlim=(0, 1.01), xlabel=f"coverage: share of {n} questions with Conf ≥ τ")
        return draw.finish(ax, draw.BELOW, ylim=draw.SHARES, ylabel="risk: wrong prior answers among them")


class TransferDisplay(draw.Display):
    """A τ that is carried to other questions: the rows of `transfer_matrix`, then those of `leave_one_domain_out`."""

    @classmethod
    def from_questions(
        cls, confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: thresholds.Choose
    ) -> Self:
        """`choose` maps the steps of some questions to a choice, as `learn_then_test` does."""
        measures = thresholds.transfer_matrix, thresholds.leave_one_domain_out
        parts = [measure(confidence, target, domains, choose) for measure in measures]
        return cls(pd.concat([part for part in parts if len(part)], ignore_index=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """A row per domain τ was chosen on, a column per domain it is used on; the darker, the riskier.

        Each cell has the risk with its 95 % interval, the questions above τ, and in the last row its own τ. A frame
        marks the questions that τ was chosen on, whose risk is too good. Grey: no threshold, or nothing above it.
        """
        domains = self.table["applied_to"].unique().tolist()
        names, others = list(domains), len(domains)
        ax = draw.axes(ax, 0.7 + 0.64 * others, 0.8 + 0.84 * (others + 1))
        shades = plt.get_cmap("YlOrRd").with_extremes(bad="0.92")
        cells = []
        for row in self.table.itertuples():
            x = domains.index(row.applied_to)
            y = domains.index(row.chosen_on) if row.chosen_on in domains else others
            lines = [_tau(row.tau)] if y == others else []
            if pd.notna(row.risk):
                ends = (f"{end:.2f}".removeprefix("0") for end in (row.risk_low, row.risk_high))
                lines += [f"{row.risk:.2f}", "–".join(ends)]
            lines.append(f"{row.n_above}\nof {row.n}")
            if pd.isna(row.tau):
                lines = ["no τ" if y == others else "–"]
            cells.append((x, y, "\n".join(lines), shades(0.75 * row.risk)))
            if row.same_questions:
                names[y] += f"\n{_tau(row.tau)}"
                frame: draw.Look = {"fill": False, "edgecolor": "0.2", "linewidth": 1.2, "zorder": 1.5}
                ax.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, **frame))
        draw.matrix(ax, cells, domains, [*names, "all others"])
        ax.axhline(others - 0.5, color="black", linewidth=1)
        ax.set(xlabel="used on", ylabel="chosen on")
        return ax


def _tau(tau: float) -> str:
    return "no τ" if pd.isna(tau) else f"τ = {tau:.3g}"
