"""What the decision rule does at any τ [3.2]: both accuracies and coverage against the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures.gating import TAUS, Gating, gating_table


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
