"""How good verdicts are, round by round and design by design, and when they settle [3.1, 4.4]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import r_star_distribution, verdict_rates, verdicts_by_round

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


# -- both verdict rates of the final verdict, one design below the other [3.1, 4.4]

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


# -- differences with their intervals, one below the other: of methods, of a design's factors, of economies

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
        """From `srdcr_lab.measures.cost.economy_prices` of one model: the rows of a condition."""
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
