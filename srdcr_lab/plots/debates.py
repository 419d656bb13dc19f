"""Debates: verdicts by round and by design [3.1, 4.4], counterfactual debates over options, debates over documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from srdcr_lab.measures import belief_rates, r_star_distribution, rates_by_kappa, verdict_rates, verdicts_by_round
from srdcr_lab.measures.groups import GOLDEN
from srdcr_lab.measures.rule import HARD
from srdcr_lab.plots import drawers as draw
from srdcr_lab.records.names import called

_LEGEND = draw.TOP | {"ncols": 2, "columnspacing": 1.2}
_NO_VERDICTS = "no debate with verdicts in these records"


@dataclass(frozen=True)
class VerdictDisplay:
    """`by_round`: the table of `verdicts_by_round`; `r_star`: that of `r_star_distribution`; of one model."""

    by_round: pd.DataFrame
    r_star: pd.DataFrame

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Self:
        return cls(verdicts_by_round(records), r_star_distribution(records))

    @property
    def table(self) -> pd.DataFrame:
        """The data of `plot`."""
        return self.by_round

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both verdict rates after each round, a colour per design, with 95 % intervals."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        if self.by_round.empty:
            return draw.nothing(ax, _NO_VERDICTS)
        rows = _with_debate(self.by_round)
        rows["series"] = rows["debate"] + ": " + rows["rate"]
        looks: dict[str, draw.Look] = {}
        for debate, colour in draw.colours(rows["debate"]).items():
            for rate, line, marker, face in (("tpr", "-", "o", colour), ("tnr", "--", "s", "white")):
                look = {"linestyle": line, "linewidth": 1.2, "marker": marker, "color": colour, "markerfacecolor": face}
                looks[f"{debate}: verdict_{rate}"] = look | {"label": f"{called(debate)}: verdict_{rate}"}
        draw.points(ax, rows["round"], rows, "series", looks, step=0.06, n="max")
        ax.set(xticks=sorted(rows["round"].unique()), xlabel="verdict after round")
        return draw.finish(ax, _LEGEND, ylim=draw.SHARES, ylabel="share of right verdicts")

    def plot_r_star(self, ax: Axes | None = None, condition: str = "overall") -> Axes:
        """Share of debates whose verdict stays from round r* on; last, those whose final verdict was not read. A round
        in which no debate came to rest has no bar and no interval."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        rows = self.r_star[self.r_star["condition"] == condition] if len(self.r_star) else self.r_star
        if rows.empty:
            return draw.nothing(ax, _NO_VERDICTS)
        rounds = [*map(str, sorted(rows["r_star"].dropna().unique())), "none"]
        rows = _with_debate(rows).assign(r_star=rows["r_star"].map(str, na_action="ignore").fillna("none"))
        colours = draw.colours(rows["debate"])
        n = rows.groupby("debate")["n"].max()
        width = 0.8 / len(colours)
        for (debate, colour), shift in zip(colours.items(), draw.shifts(len(colours), width), strict=True):
            part = rows[(rows["debate"] == debate) & (rows["share"] > 0)]
            ax.bar(
                part["r_star"].map(rounds.index) + shift, part["share"], 0.9 * width, yerr=draw.distances(part),
                color=colour, error_kw={"elinewidth": 1, "capsize": 1.5}, label=f"{called(debate)} (n = {n[debate]})",
            )  # fmt: skip
        last = f"{rounds[-2]}: not stabilised; " if len(rounds) > 1 else ""
        ax.set_xlabel(f"r*, the round from which the verdict stood\n({last}none: last verdict unparsed)")
        ax.set_xticks(range(len(rounds)), rounds)
        return draw.finish(ax, _LEGEND, ylim=(0, 1.03), ylabel="share of debates")


def _with_debate(table: pd.DataFrame) -> pd.DataFrame:
    """With the column `debate`, what tells these rows apart: the design, the method where several methods debate under
    one design or some do not debate, or both; the method where there is no debate."""
    design, method = table["design"].astype(object), table["method"].astype(object)
    debating = design.notna()
    name, alike = design.fillna(method), design[debating].nunique() == 1
    if method[debating].nunique() > 1 or (alike and not debating.all()):
        both = [called(*pair) if isinstance(pair[1], str) else pair[0] for pair in zip(method, design, strict=True)]
        name = method if alike else pd.Series(both, table.index)
    return table.assign(debate=name)


class RatesDisplay(draw.Display):
    """Rates of the final verdict, by design: the table of `srdcr_lab.measures.verdict_rates` of one model."""

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Self:
        return cls(verdict_rates(records))

    def plot(self, ax: Axes | None = None) -> Axes:
        """`verdict_tpr` and `verdict_tnr` with 95 % intervals, and their mean as a bar: 0.5 is a judge that guesses."""
        if self.table.empty:
            return draw.nothing(draw.axes(ax, 3.4, 1.56), _NO_VERDICTS)
        means = self.table.groupby("design", sort=False)["share"].mean()
        ax = draw.named_rows(
            ax, [called(name) for name in means.index], (2.9, 0.8, 0.38), least=2, margin=0.6, fontsize=draw.SMALL
        )
        ax.axvline(0.5, color="0.8", linewidth=0.8, linestyle="--")
        ax.scatter(means, range(len(means)), marker="|", s=130, color="0.25", label="mean of the two", zorder=3)
        looks = {
            "verdict_tpr": {"color": draw.BLUE, "label": "Reasonable | true passage"},
            "verdict_tnr": {"color": draw.ORANGE, "label": "Unreasonable | false passage"},
        }
        y, _ = pd.factorize(self.table["design"])
        draw.points(ax, y, self.table, "rate", looks, step=0.28, across=True, n="max")
        return draw.finish(ax, draw.BELOW, left=False, xlim=draw.SHARES, xlabel="share of verdicts")


class GradedVerdictDisplay(draw.Display):
    """Both verdict rates at every κ: the table of `srdcr_lab.measures.rates_by_kappa` of one model."""

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Self:
        return cls(rates_by_kappa(records, intervals=False))

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line per design from κ = 0, where nothing is believed, to 1; a mark at the words, κ = ½."""
        ax = draw.axes(ax, 4.4, 4.2)
        if self.table.empty:
            return draw.nothing(ax, "no verdict with a probability in these records")
        rows = _with_debate(self.table)
        _guessing(ax)
        for debate, colour in draw.colours(rows["debate"]).items():
            part = rows[rows["debate"] == debate].pivot(index="kappa", columns="rate", values="share")
            x, y = part["verdict_tpr"], part["verdict_tnr"]
            n = rows.loc[rows["debate"] == debate].groupby("rate")["n"].max().sum()
            ax.plot(x, y, color=colour, linewidth=1.2, label=f"{called(debate)} (n = {n})")
            ax.plot(x[HARD], y[HARD], "o", color=colour)
        ax.set(aspect="equal", xlabel="true passages believed (verdict_tpr)", xlim=draw.SHARES)
        return draw.finish(ax, draw.TOP, ylim=draw.SHARES, ylabel="false passages caught (verdict_tnr)")


@dataclass(frozen=True)
class OversightDisplay(draw.Display):
    """The plane: what methods, debate designs and models make of passages, true ones believed × false ones caught: the
    table of `srdcr_lab.measures.belief_rates`, of one run or of several. With `answers`, true × false passages that are
    answered rightly."""

    answers: bool = False

    @classmethod
    def from_records(cls, records: pd.DataFrame, *, answers: bool = False) -> Self:
        return cls(belief_rates(records, answers=answers), answers)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A mark for each, the larger the more of all items it answers, with 95 % intervals: round for debates, square
        for methods without verdicts, a star for the golden baseline. Of several models each has a shape of its own;
        marks of one model have their names beside them. A Judge on the dashed line knows nothing of the passage."""
        ax = draw.axes(ax, draw.WIDEST, 4.2)
        if self.table.empty:
            return draw.nothing(ax, "no debate and no answer in these records")
        if not self.answers:
            _guessing(ax)
        corners = ((0, 1), "trusts none", "left", 1), ((1, 0), "trusts all", "right", -1)
        for place, text, side, up in corners if not self.answers else ():
            ax.plot(*place, "+", color="0.4", markersize=9, zorder=4)
            look: draw.Look = {"ha": side, "va": "center", "fontsize": draw.SMALL, "color": "0.4"}
            ax.annotate(text, place, (0, 12 * up), textcoords="offset points", **look)  # outside, where no mark can be
        rows = _with_debate(self.table)
        colours, models = draw.colours(rows["debate"]), list(rows["model"].unique())
        marks: dict[tuple[float, float], list[str]] = {}
        most = rows.groupby("rate")["n"].max()
        for (model, name), part in rows.groupby(["model", "debate"], sort=False):
            believed, caught = (part[part["rate"] == rate] for rate in ("believed", "caught"))
            if believed["n"].sum() and caught["n"].sum():
                coverage, at = part["coverage"].iloc[0], (believed["share"].iloc[0], caught["share"].iloc[0])
                ends = {"xerr": draw.distances(believed)[:, :1], "yerr": draw.distances(caught)[:, :1]}
                ax.errorbar(*at, **ends, color=colours[name], linewidth=0.6, alpha=0.6)
                marker = "s" if part["design"].isna().all() else "o"
                marker = "*" if name == GOLDEN else "osD^vPX"[models.index(model) % 7] if len(models) > 1 else marker
                label = f"{called(name)}, {model}" if len(models) > 1 else called(name)
                look = {"color": colours[name], "marker": marker, "alpha": 0.8, "zorder": 4 - coverage}
                size = (25 if marker == "*" else 15) + 85 * coverage**3  # 77 % has to look smaller than 100 %
                n = believed["n"].iloc[0], caught["n"].iloc[0]
                fewer = f" (n = {n[0]}, {n[1]})" if n != (most["believed"], most["caught"]) else ""
                ax.scatter(*at, s=size, label=f"{label}: {coverage:.0%}{fewer}", **look)
                near = next((other for other in marks if np.hypot(*np.subtract(at, other)) < 0.03), at)
                marks.setdefault(near, []).append(called(name))
        of_true, of_false = "true passages believed", "false passages caught"
        if self.answers:
            of_true, of_false = "right on true passages", "right on false passages"
        ax.set(aspect="equal", xlabel=f"{of_true} (n = {most['believed']})", xlim=(-0.05, 1.05))
        ax.set(ylim=(-0.12, 1.05))
        if len(models) == 1:
            joined = {place: " · ".join(names) for place, names in marks.items()}
            draw.names_beside(
                ax, {at: name if len(name) < 26 else name.replace(" · ", "\n") for at, name in joined.items()}
            )
        legend = draw.BELOW | {"title": "larger: answers more of all items", "title_fontsize": draw.SMALL}
        return draw.finish(ax, legend, ylabel=f"{of_false} (n = {most['caught']})")


def _guessing(ax: Axes) -> None:
    """The line of judges that know nothing of the passage: what they believe more of the true, they catch less."""
    ax.plot([0, 1], [1, 0], color="0.7", linewidth=1, linestyle="--", label="knows nothing of the passage")
