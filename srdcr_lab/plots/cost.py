"""Accuracy against cost, and the methods that are not beaten at their price."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from srdcr_lab.measures import METHOD_LABELS, cost_accuracy
from srdcr_lab.measures.groups import GOLDEN
from srdcr_lab.plots.spacing import apart

_AXIS = {
    "tokens_per_item": "tokens per item",
    "calls_per_item": "calls per item",
    "calls_paid_per_item": "calls paid per item",
    "cost_usd_per_item": "US dollars per item",
}
_FRONT, _OTHER = "#0173b2", "0.45"
_LINE = 0.062  # height of a name, as a share of the axes


@dataclass(frozen=True)
class CostDisplay:
    """The table of `srdcr_lab.measures.cost_accuracy` of one model and run."""

    table: pd.DataFrame

    @classmethod
    def from_records(
        cls, records: pd.DataFrame, *, cost: str = "tokens_per_item", condition: str = "overall"
    ) -> CostDisplay:
        return cls(cost_accuracy(records, cost=cost, condition=condition))

    def plot(self, ax: Axes | None = None) -> Axes:
        """A point per method with its 95 % interval, the Pareto front as a line; names stand at the right."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.6))[1]
        rows = self.table.dropna(subset=["cost", "accuracy"]).sort_values("accuracy", kind="stable")
        for row in rows.itertuples():
            colour = _FRONT if row.on_front else _OTHER
            ends = [[max(row.accuracy - row.accuracy_low, 0)], [max(row.accuracy_high - row.accuracy, 0)]]
            ax.errorbar(
                row.cost,
                row.accuracy,
                yerr=None if np.isnan(row.accuracy_low) else ends,
                fmt="o",
                markersize=5,
                color=colour,
                markerfacecolor=colour if row.on_front else "white",
                elinewidth=0.8,
                capsize=1.5,
                zorder=3,
            )
        front = rows[rows["on_front"]].sort_values("cost")
        ax.plot(front["cost"], front["accuracy"], color=_FRONT, linewidth=1.2, drawstyle="steps-post", zorder=2)
        if len(rows) and (rows["cost"] > 0).all() and rows["cost"].max() > 5 * rows["cost"].min():
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        self._name(ax, rows)
        cost = rows["cost_of"].iloc[0] if len(rows) else ""
        condition = rows["condition"].iloc[0] if len(rows) else "overall"
        n = f" (n = {rows['n'].max()})" if len(rows) else ""
        ax.set(xlabel=_AXIS.get(cost, cost.replace("_", " ")), ylabel=f"{condition} accuracy{n}")
        sns.despine(ax=ax)
        return ax

    def _name(self, ax: Axes, rows: pd.DataFrame) -> None:
        """Names in a column at the right, each as near to its accuracy as the others allow: they cannot overlap."""
        low, high = ax.get_ylim()
        rows = rows[::-1]
        heights = apart(((rows["accuracy"] - low) / (high - low)).tolist(), _LINE)
        for height, row in zip(heights, rows.itertuples(), strict=True):
            colour = _FRONT if row.on_front else "0.25"
            hair = {"arrowstyle": "-", "relpos": (0, 0.5), "color": colour, "linewidth": 0.4, "alpha": 0.6}
            ax.annotate(
                self._label(row._asdict()),
                xy=(row.cost, row.accuracy),
                xytext=(1.06, height),
                textcoords="axes fraction",
                va="center",
                fontsize="x-small",
                color=colour,
                arrowprops=hair | {"shrinkA": 1, "shrinkB": 3},
                annotation_clip=False,
            )
        ax.set_ylim(low, high)

    def _label(self, row: dict[str, object]) -> str:
        method, design = str(row["method"]), row.get("design")
        told = ", told the truth" if method == GOLDEN else ""
        return METHOD_LABELS.get(method, method) + told + (f" ({design})" if isinstance(design, str) else "")
