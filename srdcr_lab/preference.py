"""Chapter 03: whether answers follow the passage's claim or the model's prior answer [4.1; Figures 2, 8]."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import Comparison, compare_pairs
from srdcr_lab.lib.groups import (
    CATEGORY_NAMES,
    FEW,
    cells,
    groups,
    is_standard,
    stack,
    strata,
    with_matches,
    year_offset,
)
from srdcr_lab.lib.statistics import shares

_SHARES = ("n", "n_questions", "n_missing", "share", "low", "high")
PRESENT = 2026  # the year of the shipped facts; a later claim lies in the future, whatever the calendar says


def perturbed_answers(records: pd.DataFrame, method: str = "few_shot") -> pd.DataFrame:
    """The rows of one method whose passage is false, with what the measures below read.

    Adds `stratum`, `offset` (signed, in years, missing for other kinds), `future` (claims a year after `PRESENT`),
    `prior_is_claim` (False where the prior answer was not read), `follows_claim` and `follows_prior` (missing without
    an answer; `follows_prior` also without a prior answer). Where a model's `few_shot` was not run, each item's context
    answer takes its place: it is few-shot's.
    """
    rows = records[records["method"] == method]
    others = records[~records["model"].isin(rows["model"].unique())]
    if method == "few_shot" and (len(others) or rows.empty):
        others = others.drop_duplicates([name for name in ("run", "model", "item_id") if name in records])
        others = with_matches(others).assign(method=method, design=None, final_answer=others["context_answer"])
        others = others.assign(final_is_claim=others["context_is_claim"], final_is_prior=others["context_is_prior"])
        rows = pd.concat([with_matches(rows), others]) if len(rows) else others
    return with_claims(rows[~is_standard(rows)].reset_index(drop=True))


def with_claims(rows: pd.DataFrame) -> pd.DataFrame:
    rows = with_matches(rows)
    return rows.assign(
        stratum=strata(rows),
        offset=year_offset(rows),
        future=_claimed_year(rows) > PRESENT,
        prior_is_claim=rows["prior_is_claim"].fillna(False).astype(bool),
        follows_claim=rows["final_is_claim"],
        follows_prior=rows["final_is_prior"],
    )


def _claimed_year(rows: pd.DataFrame) -> pd.Series:
    return pd.to_numeric(rows["claimed_answer"].astype(object).where(rows["answer_type"] == "year"), errors="coerce")


def context_preference(
    records: pd.DataFrame, by: Sequence[str] = ("stratum", "knowledge_category"), *, method: str = "few_shot"
) -> pd.DataFrame:
    """Context preference: on perturbed items, the share of answers that equal `claimed_answer` [4.1, Figures 2 and 8].

    Items whose prior answer already equals the claim cannot tell a preference: they have rows of their own
    (`prior_is_claim`). An item without an answer follows nothing: it is outside the share and in `n_missing`, though
    accuracies count it as wrong. `by` is any of `stratum`, `offset` (signed), `knowledge_category`, `prior_correct`,
    `domain`, `level`, `future`, `perturbation_kind`. One row per group × cell, empty cells included, except those of
    future claims; columns as in `shares`.
    """
    rows = perturbed_answers(records, method)
    return preference_shares(rows, ("model", "method"), "follows_claim", by)


def preference_shares(rows: pd.DataFrame, group: Sequence[str], follows: str, by: Sequence[str]) -> pd.DataFrame:
    """Shares by group, `prior_is_claim` and `by`, without the empty cells of what is rare."""
    values = cells(rows, ("prior_is_claim", *by))
    tables = []
    for names, part in groups(rows, group):
        table = shares(part, part[follows], values)
        rare = table["prior_is_claim"] | table.get("future", False)
        tables.append((names, table[~rare | (table["n"] + table["n_missing"] > 0)]))
    return stack(tables, (*group, "prior_is_claim", *by, *_SHARES)).astype({"prior_is_claim": bool})


def biases(records: pd.DataFrame, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """Context bias P(answer = claimed | prior right, passage false), prior bias P(answer = prior | prior wrong, true).

    Questions weigh alike, however many passages each has. Every item under the condition is in n; one without an answer
    follows neither (`n_missing`). An item whose prior answer could not be read is under neither condition. Source:
    ClashEval.
    """
    tables = []
    for names, part in groups(with_matches(records)):
        standard, prior_right = is_standard(part), part["prior_correct"].astype("boolean")
        conditions = {
            "context": ("final_is_claim", ~standard & prior_right.fillna(False)),
            "prior": ("final_is_prior", standard & ~prior_right.fillna(True)),
        }
        for bias, (match, under) in conditions.items():
            rows = part[under.astype(bool)].assign(stratum=strata)
            values, follows = cells(rows, by), rows[match]
            table = shares(rows, follows.fillna(False), values, questions_alike=True)
            missing = shares(rows, follows, values, intervals=False)["n_missing"]
            tables.append((names | {"bias": bias}, table.assign(n_missing=missing)))
    return stack(tables, ("model", "method", "bias", *by, *_SHARES))


PER = 100.0  # years
ALL = "all"
FEW_QUESTIONS = 20  # below, a cluster-robust interval is too narrow
_SLOPE = ("n", "n_questions", "slope", "low", "high", "p_value", "odds_ratio", "note")


def offset_slopes(records: pd.DataFrame, *, future: bool = True) -> pd.DataFrame:
    """logit P(few-shot answer = claimed) = α + β · |offset| / 100 years, for every category and for all items (ours).

    Year offsets only; items whose prior answer equals the claim, and those without an answer, are left out, and where
    `future` is False claims of a year after `PRESENT`, which may be rejected for another reason. A negative
    `slope` β means that a claim is followed less the farther off it is. Standard errors are clustered on the question.
    `note` says why there is no slope, or what weakens it.
    """
    rows = []
    answers = _year_answers(records)
    for names, part in groups(answers if future else answers[~answers["future"]]):
        for category in (*CATEGORY_NAMES, ALL):
            cell = part if category == ALL else part[part["knowledge_category"] == category]
            slope = logistic_slope(cell["offset"].abs() / PER, cell["follows_claim"].astype(bool), cell["question_id"])
            rows.append(names | {"knowledge_category": category} | slope)
    return pd.DataFrame(rows, columns=None if rows else ["model", "method", "knowledge_category", *_SLOPE])


def _year_answers(records: pd.DataFrame) -> pd.DataFrame:
    """Few-shot answers to passages with a year offset whose claim is not the prior answer."""
    rows = perturbed_answers(records)
    return rows[rows["offset"].notna() & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]


def logistic_slope(x: ArrayLike, y: ArrayLike, clusters: ArrayLike) -> dict[str, Any]:
    """Slope of a logistic regression of the 0/1 values `y` on `x`, with a cluster-robust interval.

    NaN, and a note that says why, where all outcomes or all x are equal, or where x separates the outcomes.
    """
    import statsmodels.api as sm  # takes a second, which the command line would pay at every start

    x, y = np.asarray(x, float), np.asarray(y, bool)
    codes, questions = pd.factorize(np.asarray(clusters))
    n_questions = len(questions)
    slope = low = high = p_value = math.nan
    note = _no_slope(x, y, n_questions)
    if not note:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = sm.Logit(y.astype(float), sm.add_constant(x))
            fit = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": codes})
        slope, p_value = float(fit.params[1]), float(fit.pvalues[1])
        low, high = map(float, fit.conf_int()[1])
        note = f"only {n_questions} questions: the interval is too narrow" if n_questions < FEW_QUESTIONS else ""
    return dict(zip(_SLOPE, (y.size, n_questions, slope, low, high, p_value, math.exp(slope), note), strict=True))


def _no_slope(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], n_questions: int) -> str:
    """Why there is no slope; empty where there is one."""
    if n_questions < 3:
        return "fewer than 3 questions"
    if y.all() or not y.any():
        return "every claim was followed" if y.all() else "no claim was followed"
    if np.ptp(x) == 0:
        return "one offset only"
    if x[y].max() <= x[~y].min() or x[~y].max() <= x[y].min():
        return "the offset separates the outcomes"
    return ""


def future_against_past(records: pd.DataFrame) -> Comparison:
    """Few-shot context preference of claims after `PRESENT` (a) less that of the claims as far off the other way (b).

    Only questions that have an answer to both are compared, and whose prior answer equals neither claim. One model at a
    time; ours.
    """
    rows = _year_answers(records)
    rows = rows.assign(size=rows["offset"].abs(), followed=rows["follows_claim"].astype(float))
    ahead, back = rows[(rows["offset"] > 0) & rows["future"]], rows[rows["offset"] < 0]
    keys = ["question_id", "size"]
    ahead = ahead[[*keys, "item_id", "level", "followed"]].rename(columns={"followed": "a"})
    return compare_pairs(ahead.merge(back[[*keys, "followed"]].rename(columns={"followed": "b"}), on=keys))


def n_future(records: pd.DataFrame) -> int:
    """How many items claim a year after `PRESENT`."""
    false = records[~is_standard(records)].drop_duplicates("item_id")
    return int((_claimed_year(false) > PRESENT).sum())


# Context preference [Figures 2, 4], prior preference [Figures 8, 9], biases

TOGETHER = "all together"
_LEGEND = draw.TOP | {"ncols": 2, "handletextpad": 0.3, "columnspacing": 1.2}


@dataclass(frozen=True)
class ContextPreferenceDisplay(draw.Display):
    """The table of `srdcr_lab.preference.context_preference`; drawn of one model.

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
            whole = of_each[together].assign(**{by: TOGETHER})
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
        other_kinds = self.by == "stratum" and any(_kind(value) != "offset" for value in {*places} - {TOGETHER})
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


@dataclass(frozen=True)
class BiasDisplay(draw.Display):
    """The table of `srdcr_lab.preference.biases` of one model and method, by the column `by`; last, all items."""

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
