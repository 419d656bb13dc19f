"""How good verdicts are, round by round and design by design, and when they settle [3.1, 4.4]."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import r_star_distribution, verdicts_by_round

_RATES = {"verdict_tpr": ("o", "-"), "verdict_tnr": ("s", "--")}


@dataclass(frozen=True)
class VerdictDisplay:
    """`by_round`: the table of `verdicts_by_round`; `r_star`: that of `r_star_distribution`; of one model."""

    by_round: pd.DataFrame
    r_star: pd.DataFrame

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> VerdictDisplay:
        return cls(verdicts_by_round(records), r_star_distribution(records))

    @property
    def table(self) -> pd.DataFrame:
        """The data of `plot`."""
        return self.by_round

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both verdict rates after each round, a colour per design, with 95 % intervals."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.2))[1]
        if self.by_round.empty:
            return _nothing(ax)
        table = _named(self.by_round)
        designs = list(dict.fromkeys(table["debate"]))
        lines = [(design, rate) for design in designs for rate in _RATES]
        colours = dict(zip(designs, sns.color_palette("colorblind", len(designs)), strict=True))
        for place, (design, rate) in enumerate(lines):
            part = table[(table["debate"] == design) & (table["rate"] == rate)]
            marker, style = _RATES[rate]
            ax.errorbar(
                part["round"] + 0.06 * (place - (len(lines) - 1) / 2),
                part["share"],
                yerr=[(part["share"] - part["low"]).clip(lower=0), (part["high"] - part["share"]).clip(lower=0)],
                fmt=marker + style,
                markersize=4.5,
                markerfacecolor=colours[design] if rate == "verdict_tpr" else "white",
                color=colours[design],
                linewidth=1.2,
                elinewidth=1,
                capsize=1.5,
                label=f"{design}: {rate} (n = {part['n'].max()})",
            )
        ax.set_xticks(sorted(self.by_round["round"].unique()))
        ax.set(ylim=(-0.03, 1.03), xlabel="verdict after round", ylabel="share of right verdicts")
        _legend(ax)
        sns.despine(ax=ax)
        return ax

    def plot_r_star(self, ax: Axes | None = None, condition: str = "overall") -> Axes:
        """Share of debates whose verdict stood from round r* on; last, those whose final verdict was not read."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.2))[1]
        rows = self.r_star[self.r_star["condition"] == condition] if len(self.r_star) else self.r_star
        if rows.empty:
            return _nothing(ax)
        rows = _named(rows)
        designs = list(dict.fromkeys(rows["debate"]))
        values = [*sorted(rows["r_star"].dropna().unique()), None]
        width = 0.8 / len(designs)
        for place, (design, colour) in enumerate(
            zip(designs, sns.color_palette("colorblind", len(designs)), strict=True)
        ):
            part = rows[rows["debate"] == design]
            x = [values.index(None if pd.isna(value) else value) for value in part["r_star"]]
            ax.bar(
                np.array(x) + width * (place - (len(designs) - 1) / 2),
                part["share"],
                width=0.9 * width,
                yerr=[(part["share"] - part["low"]).clip(lower=0), (part["high"] - part["share"]).clip(lower=0)],
                color=colour,
                error_kw={"elinewidth": 1, "capsize": 1.5},
                label=f"{design} (n = {part['n'].max()})",
            )
        ax.set_xticks(range(len(values)), [*map(str, values[:-1]), "none"])
        last = f"{values[-2]}: not stabilised; " if len(values) > 1 else ""
        ax.set(ylim=(0, 1.03), ylabel="share of debates")
        ax.set_xlabel(f"r*, the round from which the verdict stood\n({last}none: last verdict unparsed)")
        _legend(ax)
        sns.despine(ax=ax)
        return ax


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """With the column `debate`: the design, and the method where several methods debate."""
    design, method = table["design"].astype(object), table["method"].astype(object)
    return table.assign(debate=design + ", " + method if method.nunique() > 1 else design)


def _nothing(ax: Axes) -> Axes:
    ax.text(0.5, 0.5, "no debate with verdicts in these records", ha="center", transform=ax.transAxes)
    return ax


def _legend(ax: Axes) -> None:
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, columnspacing=1.2)
