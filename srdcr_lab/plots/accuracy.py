"""Accuracy of methods on true and on false passages, with intervals and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

_SHADES = {"accuracy": 1.0, "selective_accuracy": 0.45}


@dataclass(frozen=True)
class AccuracyDisplay:
    """Both accuracies per method and condition, held for drawing.

    `table` has the columns `method`, `condition`, `measure`, `value`, `low`, `high`, `n`, `coverage`: shares in [0,
    1], 95 % intervals.
    """

    table: pd.DataFrame

    @classmethod
    def from_summary(cls, summary: pd.DataFrame) -> AccuracyDisplay:
        """From `srdcr_lab.measures.summary` of one model."""
        parts = []
        for measure in _SHADES:
            part = summary[["method", "condition", "n", "coverage"]].copy()
            part["measure"] = measure
            part["value"], part["low"], part["high"] = (summary[measure + end] for end in ("", "_low", "_high"))
            parts.append(part)
        return cls(pd.concat(parts, ignore_index=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with intervals: filled, missing answers count as wrong; open, they are left out."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.6))[1]
        methods = list(dict.fromkeys(self.table["method"]))
        conditions = list(dict.fromkeys(self.table["condition"]))
        colours = dict(zip(methods, sns.color_palette("colorblind", len(methods)), strict=True))
        step = 0.8 / (2 * len(methods))
        for row in self.table.itertuples():
            filled = row.measure == "accuracy"
            place = 2 * methods.index(row.method) + (not filled) - len(methods) + 0.5
            x = conditions.index(row.condition) + step * place
            if np.isnan(row.value):
                continue
            ax.errorbar(
                x,
                row.value,
                yerr=[[row.value - min(row.low, row.value)], [max(row.high, row.value) - row.value]],
                fmt="o",
                color=colours[row.method],
                markerfacecolor=colours[row.method] if filled else "white",
                label=f"{row.method}, " + row.measure.replace("_", " "),
                capsize=2,
            )
        ax.set_xticks(range(len(conditions)), self._ticks(conditions))
        ax.set(ylim=(-0.03, 1.03), ylabel="share of items")
        handles, labels = ax.get_legend_handles_labels()
        first = dict(zip(reversed(labels), reversed(handles), strict=True))
        ax.legend(
            [first[name] for name in sorted(first)],
            sorted(first),
            frameon=False,
            fontsize="small",
            loc="upper left",
            bbox_to_anchor=(1, 1),
        )
        sns.despine(ax=ax)
        return ax

    def _ticks(self, conditions: list[str]) -> list[str]:
        n = self.table.groupby("condition")["n"].first()
        return [
            f"{name} passages\n(n = {n[name]})" if name != "overall" else f"overall\n(n = {n[name]})"
            for name in conditions
        ]
