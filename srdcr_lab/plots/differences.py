"""How much better one method is than each other, with paired intervals."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import METHOD_LABELS, compare_all

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
