"""Accuracy of methods on true and on false passages, with intervals and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from srdcr_lab.measures import METHOD_LABELS, compare_all, cost_accuracy
from srdcr_lab.measures.groups import GOLDEN
from srdcr_lab.plots.drawers import apart

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


# -- how much better one method is than each other, with paired intervals

_LEVEL = 0.05


@dataclass(frozen=True)
class DifferencesDisplay:
    """The table of `srdcr_lab.measures.compare_all` of one model."""

    table: pd.DataFrame

    @classmethod
    def from_records(
        cls, records: pd.DataFrame, reference: str = "sr_dcr", *, column: str = "method", name: str = "correct"
    ) -> DifferencesDisplay:
        return cls(compare_all(records, reference, column=column, name=name))

    def plot(self, ax: Axes | None = None, condition: str = "overall") -> Axes:
        """Differences with 95 % intervals, one row per rival; filled where the Holm-adjusted p is below 0.05."""
        rows = self.table[(self.table["condition"] == condition) & (self.table["n"] > 0)]
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 0.9 + 0.27 * max(len(rows), 1)))[1]
        for place, row in enumerate(rows.itertuples()):
            ends = [[max(row.difference - row.low, 0)], [max(row.high - row.difference, 0)]]
            ax.errorbar(
                row.difference,
                place,
                xerr=ends,
                fmt="o",
                color="#0173b2",
                markerfacecolor="#0173b2" if row.p_holm < _LEVEL else "white",
                markersize=5,
                elinewidth=1,
                capsize=1.5,
            )
        ax.axvline(0, color="0.5", linewidth=0.8, zorder=0)
        ax.set_yticks(range(len(rows)), [METHOD_LABELS.get(name, name) for name in rows["b"]])
        ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
        first = rows["a"].iloc[0] if len(rows) else "nothing to compare"
        ax.set_xlabel(f"{condition} difference: {METHOD_LABELS.get(first, first)}{' less …' if len(rows) else ''}")
        sns.despine(ax=ax, left=True)
        ax.tick_params(axis="y", length=0)
        return ax


# -- accuracy against cost, and the methods that are not beaten at their price

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
