"""Differences with their intervals, one below the other: of methods, of a design's factors, of economies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

_CLEAR, _UNCLEAR = "#0173b2", "0.5"


@dataclass(frozen=True)
class EffectsDisplay:
    """Rows of a table with `difference`, `low`, `high` (95 %) and maybe `p_holm`, each with a `name`."""

    table: pd.DataFrame
    axis: str = "difference"

    @classmethod
    def from_factors(cls, effects: pd.DataFrame, outcome: str = "share of right verdicts") -> EffectsDisplay:
        """From `srdcr_lab.measures.factor_effects` of one model."""
        said = [
            f"{row['factor'].replace('_', ' ')}: {_level(row['a'])} − {_level(row['b'])}"
            for row in effects.to_dict("records")
        ]
        return cls(effects.assign(name=said), f"difference in {outcome}")

    @classmethod
    def from_prices(cls, prices: pd.DataFrame, condition: str = "overall") -> EffectsDisplay:
        """From `srdcr_lab.measures.economies.economy_prices` of one model: the rows of a condition."""
        rows = prices[prices["condition"] == condition]
        names = [f"{row['design']}\n{_saved(row['share_saved'])}" for row in rows.to_dict("records")]
        return cls(rows.assign(name=names), f"{condition} accuracy, less the full design's")

    def plot(self, ax: Axes | None = None) -> Axes:
        """A point per row, blue where its interval leaves out 0; Holm's p at the right."""
        rows = self.table.reset_index(drop=True)
        ax = ax if ax is not None else plt.subplots(figsize=(5.4, 0.5 + 0.36 * max(len(rows), 2)))[1]
        ax.axvline(0, color="0.7", linewidth=0.8)
        for place, row in rows.iterrows():
            clear = row["low"] > 0 or row["high"] < 0
            ends = [[max(row["difference"] - row["low"], 0)], [max(row["high"] - row["difference"], 0)]]
            ax.errorbar(
                row["difference"],
                place,
                xerr=None if pd.isna(row["low"]) else ends,
                fmt="o",
                markersize=4.5,
                color=_CLEAR if clear else _UNCLEAR,
                markerfacecolor=_CLEAR if clear else "white",
                elinewidth=1,
                capsize=1.5,
            )
            if pd.notna(row.get("p_holm")):
                ax.annotate(
                    f"p {_p(row['p_holm'])}",
                    (1.01, place),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    fontsize="x-small",
                )
        ax.set_yticks(range(len(rows)), rows["name"], fontsize="small")
        ax.set(ylim=(len(rows) - 0.4, -0.6), xlabel=self.axis)
        sns.despine(ax=ax, left=True)
        ax.tick_params(axis="y", length=0)
        return ax


def sentences(effects: pd.DataFrame, what: Sequence[str]) -> list[str]:
    """One plain sentence per row: more, less, or no difference that these items show. `what` names each row."""
    said = []
    for name, row in zip(what, effects.to_dict("records"), strict=True):
        numbers = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}], n = {row['n']}"
        if pd.isna(row["low"]):
            said.append(f"{name}: nothing can be said (n = {row['n']})")
        elif row["low"] > 0 or row["high"] < 0:
            said.append(f"{name}: {'higher' if row['low'] > 0 else 'lower'}, {numbers}")
        else:
            said.append(f"{name}: no difference that these items show, {numbers}")
    return said


def _level(value: object) -> str:
    return {"True": "yes", "False": "no"}.get(str(value), str(value).replace("_", " "))


def _saved(share: float) -> str:
    return f"saves {share:.0%} of the calls" if share >= 0 else f"takes {-share:.0%} more calls"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"
