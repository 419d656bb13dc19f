"""Both verdict rates of the final verdict, one design below the other [3.1, 4.4]."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import verdict_rates

_STYLE = {
    "verdict_tpr": ("#0173b2", "o", "Reasonable | true passage"),
    "verdict_tnr": ("#de8f05", "s", "Unreasonable | false passage"),
}


@dataclass(frozen=True)
class RatesDisplay:
    """The table of `srdcr_lab.measures.verdict_rates` of one model."""

    table: pd.DataFrame

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> RatesDisplay:
        return cls(verdict_rates(records))

    def plot(self, ax: Axes | None = None) -> Axes:
        """`verdict_tpr` and `verdict_tnr` with 95 % intervals, and their mean as a bar: 0.5 is a judge that guesses."""
        names = list(dict.fromkeys(self.table["design"])) if len(self.table) else []
        ax = ax if ax is not None else plt.subplots(figsize=(6.0, 0.8 + 0.38 * max(len(names), 2)))[1]
        if not names:
            ax.text(0.5, 0.5, "no debate with verdicts in these records", ha="center", transform=ax.transAxes)
            return ax
        ax.axvline(0.5, color="0.8", linewidth=0.8, linestyle="--")
        means = self.table.groupby("design", sort=False)["share"].mean()
        ax.scatter(means, range(len(names)), marker="|", s=130, color="0.25", label="mean of the two", zorder=3)
        for shift, (rate, (colour, marker, text)) in zip((-0.14, 0.14), _STYLE.items(), strict=True):
            part = self.table[(self.table["rate"] == rate) & (self.table["n"] > 0)]
            if part.empty:
                continue
            ends = [(part["share"] - part["low"]).clip(lower=0), (part["high"] - part["share"]).clip(lower=0)]
            y = [names.index(name) + shift for name in part["design"]]
            ax.errorbar(
                part["share"], y, xerr=ends, fmt=marker, color=colour, markersize=4.5, elinewidth=1, capsize=1.5,
                label=f"{text} (n = {part['n'].max()})",
            )  # fmt: skip
        ax.set_yticks(range(len(names)), names, fontsize="small")
        ax.set(ylim=(len(names) - 0.4, -0.6), xlim=(-0.03, 1.03), xlabel="share of verdicts")
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)
        sns.despine(ax=ax, left=True)
        ax.tick_params(axis="y", length=0)
        return ax
