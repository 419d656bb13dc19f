"""What a model knows and which answer it follows: knowledge categories; context preference, prior preference, biases.

The categories are shown with how far they rest on the draws and with what training told the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from srdcr_lab.measures import knowledge
from srdcr_lab.measures.groups import FEW, year_offset
from srdcr_lab.measures.knowledge import HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM
from srdcr_lab.measures.preference import PRESENT, biases, context_preference, prior_preference_by_round
from srdcr_lab.pages import interval
from srdcr_lab.plots import drawers as draw


class CategoriesDisplay(draw.Display):
    """Share of each knowledge category per domain: the table of `srdcr_lab.measures.categories_by_domain`."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, **thresholds: float) -> Self:
        return cls(_with_decoding(knowledge.categories_by_domain(questions, **thresholds), questions))

    @property
    def shares(self) -> pd.DataFrame:
        """One row per domain, to read: `n`, and each category's share with its interval as text."""
        rows = []
        for domain, part in self.table.groupby("domain", sort=False):
            shares = [interval(row.share, row.low, row.high) for row in part.itertuples()]
            rows.append((domain, part["n"].iloc[0], *shares))
        return pd.DataFrame(rows, columns=["domain", "n", *draw.CATEGORY_LABELS.values()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with 95 % intervals, one row per domain."""
        n = self.table.groupby("domain", sort=False)["n"].first()
        ax = draw.named_rows(ax, [f"{domain} (n = {number})" for domain, number in n.items()], (4.3, 1.2, 0.62))
        looks = {name: look | draw.THIN | {"marker": "o"} for name, look in draw.CATEGORY_LOOKS.items()}
        y, _ = pd.factorize(self.table["domain"])
        draw.points(ax, y, self.table, "knowledge_category", looks, step=0.18, across=True)
        for edge in range(1, len(n)):
            ax.axhline(edge - 0.5, color="0.9", linewidth=0.8, zorder=0)
        return draw.finish(
            ax, draw.BELOW, left=False, xlim=(-0.02, 1.02), xlabel=f"share of questions{_drawn(self.table)}"
        )


@dataclass(frozen=True)
class SampledAccuracyDisplay(draw.Display):
    """Number of questions `n_questions` at each `sampled_accuracy`, its `knowledge_category`, and the thresholds."""

    highly_from: float = HIGHLY_KNOWN_FROM
    maybe_from: float = MAYBE_KNOWN_FROM

    @classmethod
    def from_questions(
        cls, questions: pd.DataFrame, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
    ) -> Self:
        values, n = np.unique(questions["sampled_accuracy"].dropna().to_numpy(float), return_counts=True)
        places = knowledge.categorise(values, highly_from=highly_from, maybe_from=maybe_from)
        names = [knowledge.CATEGORIES[place].value for place in places]
        table = pd.DataFrame({"sampled_accuracy": values, "knowledge_category": names, "n_questions": n})
        return cls(_with_decoding(table, questions), highly_from, maybe_from)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar per outcome of the draws; counts on a logarithmic scale from 1 on."""
        ax = draw.axes(ax, draw.WIDEST, 2.8)
        for rows, look in draw.by_category(self.table, "n_questions"):
            ax.bar(rows["sampled_accuracy"], rows["n_questions"], width=0.02, **look)
        for edge in (self.maybe_from, self.highly_from):
            draw.threshold(ax, edge)
        ax.set_yscale("symlog", linthresh=1)
        most = self.table["n_questions"].max() if len(self.table) else 1
        ticks = [tick for tick in (0, 1, 3, 10, 30, 100, 300, 1000) if tick <= 2 * most]
        ax.set_yticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
        ax.set(xlim=draw.SHARES, xlabel=f"sampled accuracy{_drawn(self.table)}")
        return draw.finish(ax, draw.TOP | {"ncols": 2}, ylabel="questions")


class DrawsDisplay(draw.Display):
    """The categories that fewer draws would give: the table of `srdcr_lab.measures.categories_by_draws`."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, sizes: Sequence[int] = knowledge.SIZES) -> Self:
        return cls(_with_decoding(knowledge.categories_by_draws(questions, sizes), questions))

    def plot(self, ax: Axes | None = None, value: Literal["agreement", "share"] = "agreement") -> Axes:
        """Against the number of draws: agreement with the category of all draws, or the share of each category."""
        ax = draw.axes(ax, 4.6, 3.4)
        agreement = value == "agreement"
        if agreement:
            rows = self.table[self.table["knowledge_category"] == knowledge.ALL_CATEGORIES]
            ax.plot(rows["size"], rows["agreement"], color="black", linewidth=2, label="all", zorder=3)
        for rows, look in draw.by_category(self.table):
            look["label"] += f" (n = {rows['n'].max() if len(rows) else 0})" if agreement else ""
            ax.plot(rows["size"], rows[value], marker="o", markersize=3.5, **look)
        ax.set(xticks=sorted(set(self.table["size"])), xlabel=f"draws per question{_drawn(self.table)}")
        meaning = "same category as all draws" if agreement else "share of questions"
        return draw.finish(ax, draw.INSIDE, ylim=draw.SHARES, ylabel=meaning)


class RedrawDisplay(draw.Display):
    """`sampled_accuracy`, `n_samples`, `knowledge_category` and `redraw_stability` of each distinct outcome of the
    draws, and the number of questions `n_questions` with this outcome."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> Self:
        keys = ["n_samples", "sampled_accuracy", "knowledge_category"]
        outcomes = questions.dropna(subset=["sampled_accuracy"]).groupby(keys, observed=True)["redraw_stability"]
        table = outcomes.agg(redraw_stability="first", n_questions="size").reset_index()
        return cls(_with_decoding(table, questions))

    def plot(self, ax: Axes | None = None) -> Axes:
        """P(same category on a redraw) against sampled accuracy; a mark's area is its number of questions."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        for edge in (MAYBE_KNOWN_FROM, HIGHLY_KNOWN_FROM):
            ax.axvline(edge, color="0.8", linewidth=1, zorder=0)
        for rows, look in draw.by_category(self.table, "n_questions"):
            sizes = 14 + 5 * rows["n_questions"]
            ax.scatter(rows["sampled_accuracy"], rows["redraw_stability"], sizes, alpha=0.8, linewidths=0, **look)
        ax.set(xlim=(-0.08, 1.08), xlabel=f"sampled accuracy{_drawn(self.table)}")
        draw.finish(ax, draw.BELOW, ylim=(0, 1.08), ylabel="P(same category on a redraw)")
        legend: Any = ax.get_legend()
        for handle in legend.legend_handles if legend else ():
            handle.set_sizes([30])
        return ax


def _with_decoding(table: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """The table with how the questions' knowledge draws were made, where that is known."""
    known = questions["knowledge_decoding"].dropna().unique() if "knowledge_decoding" in questions else ()
    return table.assign(knowledge_decoding=", ".join(known)) if len(known) else table


def _drawn(table: pd.DataFrame) -> str:
    """The same, behind the label of an axis."""
    return f" (draws: {table['knowledge_decoding'].iloc[0]})" if "knowledge_decoding" in table and len(table) else ""


_NEVER = 0.3  # place on the logarithmic axis of questions that training never told


class ExposureDisplay(draw.Display):
    """One row per question that both tables hold: what the model knows, how often training told it (`exposures`), the
    share of that which was true (`true_share`, rounded), and how often it was true (`true_exposures`)."""

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, exposures: pd.DataFrame) -> Self:
        """`exposures` is published with a model's training; what was never told has no `true_share`."""
        known = questions[["question_id", "domain", "sampled_accuracy", "n_samples", "knowledge_category"]]
        told = exposures[["question_id", "exposures", "true_share", "rival_answer", "true_exposures"]]
        table = known.merge(told, on="question_id", validate="one_to_one")
        return cls(table.dropna(subset=["sampled_accuracy"]).reset_index(drop=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Sampled accuracy against exposures (logarithmic; never told at the left), coloured by the true share.

        Points are shifted a little up or down, by their order, so that equal ones can be seen; the table is not.
        """
        ax = draw.axes(ax, draw.WIDEST, 3.8)
        told = self.table["exposures"].to_numpy(float)
        shift = 0.018 * ((np.arange(len(told)) * 0.618034) % 1 - 0.5)
        colours = sns.color_palette("flare_r", as_cmap=True).with_extremes(bad="0.6")
        scale: draw.Look = {"norm": Normalize(0, 1), "cmap": colours}
        x, y = np.where(told > 0, told, _NEVER), self.table["sampled_accuracy"].to_numpy(float) + shift
        look: draw.Look = {"s": 18, "alpha": 0.75, "linewidths": 0, "plotnonfinite": True}
        ax.scatter(x, y, c=self.table["true_share"].astype(float), **look, **scale)
        ax.figure.colorbar(ScalarMappable(**scale), ax=ax, pad=0.02).set_label("share told truly (grey: never told)")
        most = max(told.max(initial=1.0), 10.0)
        ticks = [tick for tick in (1, 3, 10, 30, 100, 300, 1000, 3000) if tick <= most * 1.5]
        ax.set_xscale("log")
        ax.set_xticks([_NEVER, *ticks], ["never", *map(str, ticks)])
        ax.minorticks_off()
        ax.set(xlim=(_NEVER * 0.8, most * 1.4), xlabel="times told in training")
        return draw.finish(ax, ylim=(-0.04, 1.04), ylabel="sampled accuracy")


# Context preference [Figures 2, 4], prior preference [Figures 8, 9], biases

_TOGETHER = "all together"
_LEGEND = draw.TOP | {"ncols": 2, "handletextpad": 0.3, "columnspacing": 1.2}


@dataclass(frozen=True)
class ContextPreferenceDisplay(draw.Display):
    """The table of `srdcr_lab.measures.context_preference`; drawn of one model.

    `by` is the column along the axis (stratum, offset, domain, level), `hue` the column that the colour shows.
    """

    by: str = "stratum"
    hue: str = "knowledge_category"

    @classmethod
    def from_records(
        cls, records: pd.DataFrame, by: str = "stratum", *, hue: str = "", method: str = "few_shot"
    ) -> Self:
        """Coloured by category, or by signed `offset` by whether the year claimed lies in the future. The distances of
        a model and colour that all have fewer than `FEW` questions are one place together."""
        hue = hue or ("future" if by == "offset" else "knowledge_category")
        if by == "offset":
            records = records[year_offset(records).notna()]
        table, of_each = (context_preference(records, names, method=method) for names in ((by, hue), (hue,)))
        keys = ["model", "prior_is_claim", hue]
        if by in ("stratum", "offset") and len(table):
            drawn = table[~table["prior_is_claim"]].groupby(["model", hue])["n_questions"].agg(["max", "sum"])
            pooled = drawn[(drawn["max"] < FEW) & (drawn["sum"] > 0)].index
            together, apart = (each.set_index(["model", hue]).index.isin(pooled) for each in (of_each, table))
            whole = of_each[together].assign(**{by: _TOGETHER})
            table = pd.concat([table[~apart].astype({by: object}), whole], ignore_index=True)[table.columns]
            table[by] = pd.Categorical(table[by], table[by].unique())  # each model's panel has the places of all
        counts = of_each[[*keys, "n_questions"]].rename(columns={"n_questions": "n_questions_in_all"})
        return cls(table.merge(counts, "left", on=keys), by, hue)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Shares with 95 % intervals. Items whose prior answer already equals the claim are left out, and counted."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        if self.table.empty:
            return draw.nothing(ax, "no false passage in these records")
        rows = self.table[~self.table["prior_is_claim"]]
        if isinstance(rows[self.by].dtype, pd.CategoricalDtype):
            x, places = rows[self.by].cat.codes, rows[self.by].cat.categories
        else:
            x, places = pd.factorize(rows[self.by])
        looks = {name: self._look(name) for name, part in rows.groupby(self.hue, sort=False) if part["n"].any()}
        for name, n in rows.groupby(self.hue, sort=False)["n_questions_in_all"].first().items():
            if name in looks:
                looks[name] = looks[name] | {"label": f"{looks[name]['label']} ({n} questions)"}
        apart = self.by == "domain"  # no line joins them, so each has its n
        drawn = draw.points(ax, x, rows, self.hue, looks, step=0.22 if apart else 0.12)
        for place, (name, part) in enumerate(drawn.items()):
            if apart:  # numbers side by side are not one number
                draw.numbers_above(ax, "at", part, color=looks[name]["color"], xytext=(0, 4 + 8 * (place % 2)))
            else:
                for _, joined in part.groupby(part[self.by].map(_kind), sort=False):
                    draw.join(ax, joined, color=looks[name]["color"], linewidth=1.2, alpha=0.8)
        ax.set_xticks(range(len(places)), [_tick(value) for value in places])
        if len(places) > 7:
            ax.tick_params(axis="x", labelrotation=45, labelsize=draw.SMALL)
        ax.set(xlim=(-0.5, len(places) - 0.5), xlabel=self._axis_label(places))
        return draw.finish(ax, _LEGEND, ylim=(-0.03, 1.13 if apart else 1.03), ylabel="context preference")

    def _look(self, name: Any) -> draw.Look:
        if self.hue == "knowledge_category":
            return draw.CATEGORY_LOOKS[name]
        if self.hue == "future":
            colour, when = (draw.VERMILION, "after") if name else (draw.BLUE, "up to")
            return {"color": colour, "label": f"claim {when} {PRESENT}"}
        return {"color": draw.colours(self.table[self.hue])[name], "label": str(name)}

    def _axis_label(self, places: Sequence[Any]) -> str:
        names = {"stratum": "offset of the claim in years, either sign", "offset": "offset of the claim in years"}
        other_kinds = self.by == "stratum" and any(_kind(value) != "offset" for value in {*places} - {_TOGETHER})
        label = "how far off the claim is" if other_kinds else names.get(self.by, self.by)
        left_out = int(self.table.loc[self.table["prior_is_claim"], "n"].sum())
        label += "; above each point: its questions" if self.by == "domain" else ""
        return label + (f"\n({left_out} passages whose claim is the prior answer are left out)" if left_out else "")


def _kind(value: Any) -> str:
    """The kind of perturbation; points of one kind are joined by a line."""
    return value.partition(" ")[0] if isinstance(value, str) else ""


def _tick(value: Any) -> str:
    if isinstance(value, str):
        return value.removeprefix("offset ").replace(" ", "\n")
    return f"{value:+g}".replace("-", "−")


class PriorPreferenceByRoundDisplay(draw.Display):
    """The table of `srdcr_lab.measures.prior_preference_by_round` of one model and one kind of debate, by stratum."""

    @classmethod
    def from_records(cls, records: pd.DataFrame, debate: str = "judge_debate", *, gate: bool = False) -> Self:
        """`debate` is ``judge_debate`` or the name of a design whose verdicts are in the records. Strata all of which
        have fewer than `FEW` questions are one line together."""
        table = prior_preference_by_round(records, ("stratum",), gate=gate)
        if len(table) and draw.is_few(table[~table["prior_is_claim"]]).all():
            table = prior_preference_by_round(records, (), gate=gate).assign(stratum=_TOGETHER)
        return cls(table[(table["debate"] == debate) & ~table["prior_is_claim"]] if len(table) else table)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line per stratum over the rounds, darker where the claim is farther off; 95 % intervals."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        if self.table.empty:
            return draw.nothing(ax, "no such debate in these records")
        rows = self.table.sort_values("round", kind="stable")
        rounds, names = rows["round"].unique(), self.table["stratum"].unique()
        palette = sns.color_palette("flare", len(names))
        looks = {name: {"color": colour, "label": name} for name, colour in zip(names, palette, strict=True)}
        step = 0.09 * min(np.diff(rounds), default=1)
        for name, part in draw.points(ax, rows["round"], rows, "stratum", looks, step=step, n="max").items():
            draw.join(ax, part, color=looks[name]["color"], linewidth=1.2)
        ax.set_xticks(rounds, [str(number) for number in rounds])
        return draw.finish(
            ax, draw.BELOW, xlabel="debate ends after round", ylim=draw.SHARES, ylabel="prior preference"
        )


@dataclass(frozen=True)
class BiasDisplay(draw.Display):
    """The table of `srdcr_lab.measures.biases` of one model and method, by the column `by`; last, all items."""

    by: str = "domain"

    @classmethod
    def from_records(cls, records: pd.DataFrame, by: str = "domain", *, method: str = "few_shot") -> Self:
        rows = records[records["method"] == method]
        parts = [biases(rows, by=(by,)), biases(rows).assign(**{by: "all"})]
        return cls(pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True), by)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Shares with 95 % intervals and their number of questions; a group without such items has no point."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        x, places = pd.factorize(self.table[self.by])
        colours = {"context": draw.BLUE, "prior": draw.ORANGE}
        looks = {bias: {"color": colour, "label": f"{bias} bias"} for bias, colour in colours.items()}
        for part in draw.points(ax, x, self.table, "bias", looks, step=0.26).values():
            draw.numbers_above(ax, "at", part)
        ax.axvline(len(places) - 1.5, color="0.8", linewidth=0.8)
        ax.set(xticks=range(len(places)), xticklabels=places, xlim=(-0.5, len(places) - 0.5))
        ax.set_xlabel("above each point: its number of questions")
        return draw.finish(ax, draw.TOP | {"ncols": 2}, ylim=(-0.03, 1.1), ylabel="share of answers")
