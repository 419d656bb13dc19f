"""Context bias and prior bias, by domain or any other grouping [ClashEval; 4.4]."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import biases

_STYLE = {"context": ("#0173b2", "o"), "prior": ("#de8f05", "s")}


@dataclass(frozen=True)
class BiasDisplay:
    """The table of `srdcr_lab.measures.biases` of one model and method, by the column `by`; last, all items."""

    table: pd.DataFrame
    by: str = "domain"

    @classmethod
    def from_records(cls, records: pd.DataFrame, by: str = "domain", *, method: str = "few_shot") -> BiasDisplay:
        rows = records[records["method"] == method]
        parts = [biases(rows, by=(by,)), biases(rows).assign(**{by: "all"})]
        return cls(pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True), by)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Shares with 95 % intervals and the items each rests on; a group without such items has no point."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.4))[1]
        places = list(dict.fromkeys(self.table[self.by]))
        for shift, (bias, (colour, marker)) in zip((-0.13, 0.13), _STYLE.items(), strict=True):
            part = self.table[(self.table["bias"] == bias) & (self.table["n"] > 0)]
            x = [places.index(name) + shift for name in part[self.by]]
            ends = [(part["share"] - part["low"]).clip(lower=0), (part["high"] - part["share"]).clip(lower=0)]
            ax.errorbar(
                x, part["share"], yerr=ends, fmt=marker, color=colour, markersize=4.5, elinewidth=1, capsize=1.5,
                label=f"{bias} bias",
            )  # fmt: skip
            for at, height, n in zip(x, part["high"], part["n"], strict=True):
                ax.annotate(str(n), (at, height), (0, 2), textcoords="offset points", ha="center", fontsize="x-small")
        ax.axvline(len(places) - 1.5, color="0.8", linewidth=0.8)
        ax.set_xticks(range(len(places)), places)
        ax.set(xlim=(-0.5, len(places) - 0.5), ylim=(-0.03, 1.1), ylabel="share of answers")
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
        sns.despine(ax=ax)
        return ax
