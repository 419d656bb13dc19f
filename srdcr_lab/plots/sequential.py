"""Drawing only until the category settles: draws that are used, against labels that come out otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from srdcr_lab.measures.sequential_check import sequential_figures

ALLOWED = (0.005, 0.01, 0.02, 0.05, 0.10)
GOAL_USED, GOAL_CHANGED = 0.5, 0.02
_COLOUR = "#0173b2"


@dataclass(frozen=True)
class SequentialDisplay:
    """One row per share of changed labels that the rule allows itself: `allowed`, and the fields of
    `srdcr_lab.measures.sequential_check.SequentialFigures`."""

    table: pd.DataFrame

    @classmethod
    def from_draws(cls, draws: ArrayLike, allowed: Sequence[float] = ALLOWED, *, seed: int = 0) -> SequentialDisplay:
        """`draws` has the shape (questions, draws): each draw is right (`knowledge_matrix(samples)`)."""
        found = [sequential_figures(draws, max_changed=share, seed=seed) for share in allowed]
        return cls(
            pd.DataFrame([{"allowed": share} | asdict(each) for share, each in zip(allowed, found, strict=True)])
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """A point per rule: share of labels that changed, share of the draws that were used (mean over all orders of
        the same draws), with the 95 % intervals of the one order that was drawn; shaded: half the draws at 2 %."""
        ax = ax if ax is not None else plt.subplots(figsize=(5.6, 3.6))[1]
        rows = self.table.dropna(subset=["used"])
        right = max(0.06, 1.25 * rows["changed_any_order"].max()) if len(rows) else 0.06
        n, n_draws = (int(self.table[name].max()) for name in ("n", "n_draws")) if len(self.table) else (0, 0)
        ax.fill_between([0, GOAL_CHANGED], 0, GOAL_USED, color="#029e73", alpha=0.12, linewidth=0, label="the goal")
        ax.plot(rows["changed_any_order"], rows["used_any_order"], "o-", color=_COLOUR, linewidth=1, markersize=5)
        for row in rows.itertuples():
            where = (row.changed_any_order, row.used_any_order)
            ax.plot([where[0]] * 2, [row.used_low, row.used_high], color=_COLOUR, linewidth=1, alpha=0.5)
            ax.annotate(f"{row.allowed:.1%} allowed", where, (6, 5), textcoords="offset points", fontsize="x-small")
        ax.set(xlim=(-0.002, right), ylim=(0, 1.03), xlabel="share of labels that differ from those of all draws")
        ax.set_ylabel(f"share of the {n_draws} draws used")
        ax.set_title(f"{n} questions", fontsize="medium")
        ax.legend(frameon=False, fontsize="small", loc="upper right")
        sns.despine(ax=ax)
        return ax
