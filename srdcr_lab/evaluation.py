"""Chapter 05: every method against every baseline [4.4]: accuracy, differences, cost, weighted results."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.knowledge import category_slides
from srdcr_lab.lib import draw
from srdcr_lab.lib.controls import Menu, Slide, with_sliders
from srdcr_lab.lib.definitions import CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, Belief, by_percentile, categorise
from srdcr_lab.lib.gating import STAGES, Gating
from srdcr_lab.lib.groups import GOLDEN, by_group, group_columns, groups, is_standard
from srdcr_lab.lib.page import Html, html_table, render
from srdcr_lab.lib.statistics import contrast_interval, mean_interval, shares
from srdcr_lab.lib.summary import CALIBRATED, CONDITIONS, NO_INTERVAL, accuracy, summary
from srdcr_lab.records import Decision, Missing, Verdict
from srdcr_lab.records.names import CATEGORY_LABELS, called

if TYPE_CHECKING:
    from ipywidgets import VBox


def cost_summary(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """What a method takes per item, one row per group; failed items are included with what they took.

    Calls and tokens (prompt and completion) are of the method by itself, `calls_paid_per_item` those of this run, after
    sharing and the store; `low` and `high` of `tokens_per_item` are a t interval over questions. Costs are of the calls
    paid, NaN where a row's price is unknown (`n_unpriced`). `wall_s_per_item` where the records have `wall_s`.
    """
    return by_group(records, lambda part: [_costs(part, intervals)])


def _costs(part: pd.DataFrame, intervals: bool) -> dict[str, Any]:
    numbers = part.reindex(columns=[*_NUMBERS, "wall_s"]).astype("Float64").astype(float)
    alone, paid, prompt, completion, price = (numbers[name] for name in _NUMBERS)
    tokens = prompt + completion
    known = tokens.notna()
    calls = alone[known].sum() or math.nan
    ends = mean_interval(tokens[known], part["question_id"][known]) if intervals else NO_INTERVAL
    return {
        "n": len(part),
        "n_questions": part["question_id"].nunique(),
        "calls_per_item": alone.mean(),
        "calls_paid_per_item": paid.mean(),
        "calls_saved": int(alone.sum() - paid.sum()),
        "tokens_per_item": tokens.mean(),
        "low": ends[0],
        "high": ends[1],
        "prompt_tokens_per_call": prompt[known].sum() / calls,
        "completion_tokens_per_call": completion[known].sum() / calls,
        "cost_usd": price.sum(skipna=False) if len(part) else math.nan,
        "cost_usd_per_item": price.mean(skipna=False),
        "n_unpriced": int(price.isna().sum()),
    } | ({"wall_s_per_item": numbers["wall_s"].mean()} if "wall_s" in part else {})


_NUMBERS = ("calls_alone", "calls_paid", "prompt_tokens", "completion_tokens", "cost_usd")


def weighted_back(records: pd.DataFrame, weights: pd.DataFrame) -> pd.DataFrame:
    """Overall accuracy and coverage of each group as they are, and weighted back to the questions that these were
    chosen from.

    `weights` has a row for each chosen question: `question_id`, `knowledge_category` by which it was chosen (maybe of
    another model: the probability of being chosen holds for any model's answers), and `share_first_pass`, the share of
    that category among all questions. These shares are taken as known; 95 % intervals over the questions of each
    category. Calibrated token probability decides anew, by weighted ranks (`by_percentile`).
    """
    rows, of = [], _weights_back(records, weights)
    for names, part in groups(records.assign(weighted=_right_weighted(records, weights))):
        row = accuracy(part["correct"], part["question_id"], is_standard(part))
        row = {name: row[name] for name in ("n", "coverage", "accuracy", "accuracy_low", "accuracy_high")}
        row["coverage_weighted"] = _weighted(part["weighted"].notna(), part, weights, of, (0, 1))[0]
        ends = _weighted(part["weighted"].fillna(False), part, weights, of, (0, 1))
        rows.append(names | row | dict(zip(("weighted", "weighted_low", "weighted_high"), ends, strict=True)))
    return pd.DataFrame(rows)


def weighted_leads(records: pd.DataFrame, weights: pd.DataFrame, a: str = "sr_dcr") -> pd.DataFrame:
    """Overall accuracy of A less that of every other method, weighted as in `weighted_back`; paired, of the items that
    both have: `a`, `b`, `difference`, `low`, `high` (95 %, over questions), `n`, `n_questions`; `changes_at`, the share
    of false passages at which the two are level, NaN where there is none. Of one model."""
    of = _weights_back(records, weights)
    right = _right_weighted(records, weights).fillna(False).astype(float)
    own = right[records["method"] == a].set_axis(records.loc[records["method"] == a, "item_id"])
    rows = []
    for b in records.loc[records["method"] != a, "method"].unique():
        part = records[(records["method"] == b) & records["item_id"].isin(own.index)]
        lead = part["item_id"].map(own) - right[part.index]
        ends = _weighted(lead, part, weights, of, (-1, 1))
        halves = ({cell: share for cell, share in of.items() if cell.endswith(side)} for side in ("true", "false"))
        of_halves = [_weighted(lead, part, weights, half, (-1, 1))[0] for half in halves]
        row = {"a": a, "b": b} | dict(zip(("difference", "low", "high"), ends, strict=True))
        row |= {"n": len(part), "n_questions": part["question_id"].nunique(), "changes_at": changes_at(*of_halves)}
        rows.append(row)
    return pd.DataFrame(rows)


def _right_weighted(records: pd.DataFrame, weights: pd.DataFrame) -> pd.Series:
    """Whether each row is right, with the decisions of calibrated token probability by weighted ranks."""
    right = records["correct"].astype("boolean")
    category, share = _categories(records, weights), _shares(records, weights)
    weight = category.map(share / records["question_id"].groupby(category).nunique()).astype(float)
    ranked = records[(records["method"] == CALIBRATED) & weight.notna()]
    for _, part in ranked.groupby([name for name in ("run", "model") if name in records], observed=True):
        part = part[~(part["missing"] == Missing.ERROR).fillna(False).astype(bool)]
        believed = part[["self_confidence", "context_confidence"]].astype(float)
        rows = zip(part["question_id"], *(believed[name] for name in believed), weight[part.index], strict=True)
        decision = pd.Series(by_percentile([Belief(*row) for row in rows]), part.index)
        context = part["context_correct"].where(decision == Decision.USE_CONTEXT)
        right[part.index] = part["prior_correct"].where(decision == Decision.USE_PRIOR, context).astype("boolean")
    return right


def _weighted(
    values: pd.Series, records: pd.DataFrame, weights: pd.DataFrame, of: dict[str, float], bounds: tuple[int, int]
) -> tuple[float, float, float]:
    """The mean of a value of each row, each cell (a category, with true or false passages) weighed as `of` says."""
    category = _categories(records, weights)
    cells = category + ", " + is_standard(records).map({True: "true", False: "false"})
    return contrast_interval(values, records["question_id"], cells, of, bounds=bounds, groups=category)


def _weights_back(records: pd.DataFrame, weights: pd.DataFrame) -> dict[str, float]:
    """What each cell of `_weighted` weighs: half of the category's share in the first pass, of those that are there."""
    shares = _shares(records, weights)
    return {f"{name}, {side}": value / 2 for name, value in shares.items() for side in ("true", "false")}


def _categories(records: pd.DataFrame, weights: pd.DataFrame) -> pd.Series:
    """By which each row's question was chosen."""
    return records["question_id"].map(weights.set_index("question_id")["knowledge_category"]).astype(object)


def _shares(records: pd.DataFrame, weights: pd.DataFrame) -> pd.Series:
    """The share of each category that these records have, of the first pass's questions in any of them."""
    here = weights[weights["question_id"].isin(records["question_id"])].dropna(subset="knowledge_category")
    shares = here.groupby(here["knowledge_category"].astype(str))["share_first_pass"].first()
    return shares / shares.sum()


def sharing(records: pd.DataFrame) -> pd.DataFrame:
    """Calls of all methods together, per run and model: by themselves, paid, and the share saved.

    Saved are calls that another method, form of the question or run had asked. Knowledge draws are in neither sum.
    """
    keys = [name for name in ("run", "model") if name in records]
    sums = records.groupby(keys, sort=False, observed=True)[["calls_alone", "calls_paid"]].sum().astype(int)
    sums["calls_saved"] = sums["calls_alone"] - sums["calls_paid"]
    sums["share_saved"] = (sums["calls_saved"] / sums["calls_alone"]).astype(float)
    return sums.reset_index()


def cost_accuracy(records: pd.DataFrame, *, cost: str = "tokens_per_item", condition: str = "overall") -> pd.DataFrame:
    """Each group's cost, a column of `cost_summary`, its accuracy, and whether it is on its model's Pareto front.

    `golden`, which is told the truth, is never on the front.
    """
    keys = group_columns(records)
    shown = [*keys, "coverage", *(f"{name}{end}" for name in _MEASURES for end in ("", "_low", "_high")), "n"]
    accuracies = summary(records)
    accuracies = accuracies.loc[accuracies["condition"] == condition, shown]
    table = accuracies.merge(cost_summary(records, intervals=False)[[*keys, cost]], on=keys)
    table = table.rename(columns={cost: "cost"}).assign(on_front=False)
    models = [name for name in ("run", "model") if name in keys]
    for _, rows in table[table["method"] != GOLDEN].groupby(models, sort=False, observed=True):
        table.loc[rows.index, "on_front"] = pareto_front(rows["cost"], rows["accuracy"])
    return table.assign(cost_of=cost, condition=condition)


_MEASURES = ("accuracy", "selective_accuracy")


def pareto_front(cost: ArrayLike, benefit: ArrayLike) -> NDArray[np.bool_]:
    """True where no other point costs at most as much and is at least as good, one of the two strictly. NaN: False."""
    price, good = np.asarray(cost, float), np.asarray(benefit, float)
    cheaper, better = price[:, None] <= price, good[:, None] >= good
    strictly = (price[:, None] < price) | (good[:, None] > good)
    known = ~np.isnan(price) & ~np.isnan(good)
    front: NDArray[np.bool_] = known & ~(cheaper & better & strictly).any(axis=0)
    return front


def changes_at(of_true: float, of_false: float) -> float:
    """The share of false passages at which a difference is 0, from its means over true and over false ones; NaN where
    both have one sign."""
    return of_true / (of_true - of_false) if of_true * of_false < 0 else math.nan


def right_by_decision(records: pd.DataFrame) -> pd.DataFrame:
    """Share of right answers of each decision of SR-DCR that answers, on true and on false passages."""
    rows = records[records["method"] == "sr_dcr"]
    rows = rows.assign(condition=is_standard(rows).map({True: "standard", False: "perturbed"}))
    cells = {"decision": [Decision.USE_CONTEXT, Decision.USE_PRIOR], "condition": CONDITIONS[:2]}
    return shares(rows, rows["correct"].astype("boolean"), cells)


def draw_accuracy(summary: pd.DataFrame) -> Figure:
    """Accuracy of each method on true and on false passages and their mean, from `summary` of one model, with 95 %
    intervals; hollow: of the answers given."""
    rows = summary.assign(name=draw.names_of(summary), panel=summary["condition"].map(draw.CONDITION_LABELS))
    return draw.rows(rows, "accuracy", "name", "accuracy", panel="panel", hollow="selective_accuracy", few="items")


def draw_repeats(table: pd.DataFrame) -> Figure:
    """Accuracy of each method over all repeats, from `over_repeats`: intervals over questions, and over questions and
    repeats."""
    rows = table[(table["measure"] == "accuracy") & (table["condition"] == "overall")]
    both = rows.assign(low=rows["both_low"], high=rows["both_high"])
    parts = [rows.assign(over="over questions"), both.assign(over="over questions and repeats")]
    rows = pd.concat(parts, ignore_index=True)
    return draw.rows(rows.assign(name=draw.names_of(rows)), "value", "name", "overall accuracy", panel="over")


def draw_comparisons(table: pd.DataFrame) -> Figure:
    """What the reference has more right than each other method, from `compare_all` of one model."""
    rows = table[table["n"] > 0]
    if rows.empty:
        return draw.nothing("nothing to compare")
    return draw.differences(rows.assign(name=rows["b"].map(called)), f"{called(rows['a'].iloc[0])} less each")


def draw_cost(table: pd.DataFrame) -> Figure:
    """Accuracy of each method, the cheapest on top, from `cost_accuracy` of one model; in colour what nothing beats at
    its price (Pareto)."""
    rows = table.dropna(subset=["cost", "accuracy"]).sort_values("cost", kind="stable", ignore_index=True)
    if rows.empty:
        return draw.nothing("no method with a known cost")
    costs = [f"{cost:,.0f}" if cost >= 10 else f"{cost:.2g}" for cost in rows["cost"]]
    names = [f"{name}  ({cost})" for name, cost in zip(draw.names_of(rows), costs, strict=True)]
    front = np.where(rows["on_front"], "nothing better at its price", "something is, or told the truth")
    of = rows["cost_of"].iloc[0].replace("cost_usd", "US dollars").replace("_", " ")
    palette = {"nothing better at its price": draw.VERMILION, "something is, or told the truth": draw.GREY}
    rows = rows.assign(name=names, front=front)
    return draw.rows(rows, "accuracy", "name", f"overall accuracy ({of})", hue="front", palette=palette, few="items")


def draw_decisions(table: pd.DataFrame) -> Figure:
    """How items end after each verdict, from `decision_flow`: true passages above, false ones below."""
    ways = table.assign(way=_ways(table), panel=table["condition"].map(draw.CONDITION_LABELS))
    counts = ways.groupby(["panel", "way", "ending"], sort=False)["n"].sum().reset_index()
    labels = ("", "items")
    return draw.stacked(counts, "way", "n", "ending", labels, ENDING_COLOURS, across=True, panel="panel", height=3.4)


def _ways(table: pd.DataFrame) -> list[str]:
    """The verdict of each row, and where it matters the self-confidence."""
    pairs = zip(table["verdict"], table["confidence"], strict=True)
    return [f"{verdict}, {confidence}" if verdict == Verdict.UNREASONABLE else verdict for verdict, confidence in pairs]


ENDING_COLOURS = {
    "right": "#0173b2", "wrong": "#d55e00", "abstained": "#949494", "unparsed": "#c9c9c9", "error": "#3f3f3f",
}  # fmt: skip


_RIGHT = STAGES["ending"].index("right")
_SR_DCR, _FEW_SHOT = "SR-DCR", "Few-Shot"


@dataclass(frozen=True)
class Evaluation:
    """The records as arrays, and the sampled accuracy of each row's question (NaN without draws).

    The rows of its tables are methods, with their design where there are several.
    """

    live: Gating
    accuracy: NDArray[np.float64]

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Evaluation:
        """From the records of one run."""
        known = records["sampled_accuracy"].to_numpy(float, na_value=np.nan)
        return cls(Gating.from_records(records, None), known)

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(row for _, row, _ in self.live.names))

    @property
    def debated(self) -> str:
        """The row whose decisions the flow shows: SR-DCR, under its first design."""
        return next((row for row in self.rows if row.startswith(_SR_DCR)), self.rows[0])

    def html(
        self,
        tau: float = 0.90,
        highly_from: float = HIGHLY_KNOWN_FROM,
        maybe_from: float = MAYBE_KNOWN_FROM,
        one: str = _SR_DCR,
        other: str = _FEW_SHOT,
        offsets: Collection[str] | None = None,
    ) -> Html:
        """Two methods compared, their accuracy by category, both tables, and the flow."""
        return render(
            "sliders", "evaluation", tau=tau, pair=(one, other),
            difference=self.live.difference(one, other, tau, offsets),
            by_category=self._by_category(tau, highly_from, min(maybe_from, highly_from), (one, other), offsets),
            tables=self.live.tables(tau, offsets), debated=self.debated,
            flow=self._endings(self.live.flow(tau, self.debated, offsets)),
        )  # fmt: skip

    def _endings(self, flow: pd.DataFrame) -> Html:
        """How many items end how after each verdict, on false passages."""
        false = flow[flow["condition"] == "perturbed"]
        counts = false.assign(way=_ways(false)).pivot_table(
            index="way", columns="ending", values="n", aggfunc="sum", fill_value=0, sort=False
        )
        return html_table(("verdict", *counts.columns), [(way, *map(int, row)) for way, *row in counts.itertuples()])

    def _by_category(
        self, tau: float, highly_from: float, maybe_from: float, pair: Sequence[str], offsets: Collection[str] | None
    ) -> Html:
        """Accuracy on false passages of two rows of the tables, by the category that these thresholds give."""
        live = self.live
        drawn = ~np.isnan(self.accuracy) & np.isin(live.stratum, live.chosen(offsets)[1:])
        place = categorise(np.nan_to_num(self.accuracy), highly_from=highly_from, maybe_from=maybe_from)
        right = live.endings(tau) == _RIGHT
        sizes, hits = [], []
        for name in pair:
            here = drawn & live.in_row(name)
            sizes.append(np.bincount(place[here], minlength=len(CATEGORIES)))
            hits.append(np.bincount(place[here], right[here], len(CATEGORIES)))
        rows = [
            [CATEGORY_LABELS[category], sizes[0][i]]
            + [f"{hit[i] / n[i]:.3f}" if n[i] else "–" for n, hit in zip(sizes, hits, strict=True)]
            for i, category in enumerate(CATEGORIES)
        ]
        return html_table(("accuracy on false passages", "n", *pair), rows)


def evaluation_controls(records: pd.DataFrame, label: str = "", tau: float = 0.90) -> VBox:
    """Controls over the records of one run: τ, category thresholds, two methods to compare, the false passages."""
    view = Evaluation.from_records(records)
    rows = tuple(view.rows)
    slides = {
        "tau": Slide("τ: answer from memory from", tau),
        **category_slides(),
        "one": Menu("this method", rows, view.debated),
        "other": Menu("less that one", rows, _FEW_SHOT if _FEW_SHOT in rows else rows[-1]),
        "offsets": Menu("false passages", view.live.strata[1:], several=True),
    }
    return with_sliders(view.html, slides, label)
