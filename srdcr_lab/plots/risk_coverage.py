"""What answering from memory risks at each coverage, and where a chosen τ puts one on that curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures.calibration import PrecisionSteps, precision_steps, risk_coverage
from srdcr_lab.measures.thresholds import ThresholdChoice, ThresholdMethod

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
