"""Accuracy of many methods on true and on false passages, one row a method."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from srdcr_lab.measures import PaperTable, table_1

_STYLES = {"standard": ("#0173b2", "o"), "perturbed": ("#d55e00", "s"), "overall": ("0.25", "D")}
_SHIFT = {"standard": -0.22, "perturbed": 0.0, "overall": 0.22}


@dataclass(frozen=True)
class MethodAccuracyDisplay:
    """The cells of Table 1 of one model and run, with intervals, in the order of its rows."""

    table: pd.DataFrame

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> MethodAccuracyDisplay:
        return cls.from_table(table_1(records, intervals=True))

    @classmethod
    def from_table(cls, table: PaperTable) -> MethodAccuracyDisplay:
        return cls(table.cells)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Filled: missing answers count as wrong, with the 95 % interval. Open: they are left out."""
        names = list(dict.fromkeys(self.table["row"]))
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 1.1 + 0.34 * max(len(names), 1)))[1]
        for cell in self.table.dropna(subset=["accuracy"]).itertuples():
            colour, marker = _STYLES[cell.column]
            y = names.index(cell.row) + _SHIFT[cell.column]
            ends = [[max(cell.accuracy - cell.low, 0)], [max(cell.high - cell.accuracy, 0)]]
            ax.errorbar(
                cell.accuracy,
                y,
                xerr=ends if cell.low == cell.low else None,
                fmt=marker,
                color=colour,
                markersize=4.5,
                elinewidth=1,
            )
            ax.plot(cell.selective_accuracy, y, marker, color=colour, markersize=4.5, markerfacecolor="none", zorder=1)
        n = self.table.groupby("column")["n"].max()
        shown = [name for name in _STYLES if name in n]
        ax.legend(
            [Line2D([], [], color=_STYLES[name][0], marker=_STYLES[name][1], linestyle="") for name in shown],
            [f"{name} (n = {n[name]})" for name in shown],
            frameon=False,
            fontsize="small",
            loc="lower center",
            bbox_to_anchor=(0.4, 1),
            ncols=3,
            handletextpad=0.1,
            columnspacing=1,
        )
        ax.set_yticks(range(len(names)), names)
        for edge in range(1, len(names)):
            ax.axhline(edge - 0.5, color="0.93", linewidth=0.8, zorder=0)
        ax.set(xlim=(-0.02, 1.02), ylim=(len(names) - 0.5, -0.5))
        ax.set_xlabel("accuracy (filled: missing is wrong; open: missing left out)")
        sns.despine(ax=ax, left=True)
        ax.tick_params(axis="y", length=0)
        return ax
