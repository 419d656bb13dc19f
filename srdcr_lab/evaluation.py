"""Chapter 05: every method against every baseline [4.4]: accuracy, differences, cost, weighted results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import compare_all
from srdcr_lab.lib.definitions import Belief, by_percentile
from srdcr_lab.lib.groups import GOLDEN, by_group, group_columns, groups, is_standard, stack, with_matches
from srdcr_lab.lib.page import Html, interval, number
from srdcr_lab.lib.sentences import and_list, answer_box, sentences
from srdcr_lab.lib.statistics import contrast_interval, mean_interval, shares, with_interval
from srdcr_lab.lib.summary import CALIBRATED, CONDITIONS, NO_INTERVAL, accuracy, summary
from srdcr_lab.records import BadInput, Decision, Missing
from srdcr_lab.records.names import METHOD_LABELS, called, model_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

MAIN_METHODS = ("few_shot", "confidence_only", "calibrated_token_probability", "debate_only", "sr_dcr", GOLDEN)
FALSE_PASSAGE_ENDS = {  # what becomes of a false passage: its label and colour
    "right": ("right", draw.BLUE),
    "followed": ("follows the passage", draw.VERMILION),
    "other": ("another wrong answer", draw.ORANGE),
    "missing": ("no answer", draw.GREY),
}


def of_acvd(results: Results, *methods: str) -> pd.DataFrame:
    """The records of a study under the paper's debate; bad input where one of these methods was not run."""
    records = results.records[results.records["design"].fillna("acvd") == "acvd"]
    for method in methods:
        if not (records["method"] == method).any():
            raise BadInput(
                f"this run has no rows of {called(method)}; srdcr run --methods {','.join(methods)} makes them"
            )
    return records.reset_index(drop=True)


def answer_in_brief(results: Results) -> Html:
    """The answer box of notebook 00: what few-shot does with false passages, and what SR-DCR and Confidence Only
    change."""
    records = of_acvd(results, "few_shot", "confidence_only", "sr_dcr")
    table = summary(records)
    few = table[table["method"] == "few_shot"].set_index("condition")
    right = [interval(*few.loc[half, ["accuracy", "accuracy_low", "accuracy_high"]]) for half in CONDITIONS[:2]]
    n = records["question_id"].nunique()
    return answer_box(
        f"With the passage in its prompt (Few-Shot), the model is right on {right[0]} of the true and on {right[1]} of "
        f"the false passages (n = {n} questions).",
        _ahead(records, "sr_dcr", "few_shot"),
        _ahead(records, "confidence_only", "sr_dcr", ["overall"]),
        label=results.label,
    )


def answer(results: Results, real: Results | None = None) -> Html:
    """The answer box of notebook 05: SR-DCR against few-shot and against confidence alone, and what it costs; beside it
    how SR-DCR compares with the methods of a study of a real model."""
    records = of_acvd(results, "few_shot", "confidence_only", "sr_dcr")
    calls = records.groupby("method")["calls_alone"].mean()
    price = ", ".join(f"{called(name)} {calls[name]:.0f}" for name in ("few_shot", "confidence_only", "sr_dcr"))
    compared = compare_all(records)
    few, confident = (compared[compared["b"] == b] for b in ("few_shot", "confidence_only"))
    against: dict[str, Any] = {"column": "difference", "by": ["condition"], "n": "n_questions"}
    other = sentences("SR-DCR is right less often than Confidence Only", confident, below=0.0, **against)
    mean = summary(records, intervals=False).query("condition == 'overall'").set_index("method")
    given = ", ".join(
        f"{called(name)} {mean.loc[name, 'coverage']:.0%} and {number(mean.loc[name, 'selective_accuracy'])}"
        for name in ("few_shot", "sr_dcr")
    )
    ranked = among_all(compared)
    if real is not None:
        rows = of_acvd(real)
        name = f"{model_called(rows['model'].iloc[0])} ({'chosen ' if real.chosen else ''}questions of another study)"
        ranked += f" With {name}: {among_all(compare_all(rows))}"
    return answer_box(
        sentences("SR-DCR is right more often than Few-Shot", few, **against),
        f"{other} Calls an item: {price}. Coverage, and accuracy of the answers given: {given}.",
        ranked,
        label=results.label,
    )


def _ahead(records: pd.DataFrame, a: str, b: str, conditions: Sequence[str] = CONDITIONS) -> str:
    table = compare_all(records, a, others=[b], conditions=conditions).drop(columns="p_holm")
    claim = "{a} is right more often than {b} (uncorrected)"
    return sentences(claim, table, "difference", by=["condition"], n="n_questions")


def among_all(compared: pd.DataFrame) -> str:
    """From `compare_all`: how many of the other methods SR-DCR is ahead of, and behind, after Holm's correction."""
    rivals = compared[(compared["condition"] == "overall") & (compared["b"] != GOLDEN)]
    decided = rivals[rivals["p_holm"] < 0.05]
    ahead, behind = ([called(b) for b in decided.loc[sign * decided["difference"] > 0, "b"]] for sign in (1, -1))
    return (
        f"Of {len(rivals)} other methods SR-DCR is ahead of {and_list(ahead)} and behind "
        f"{and_list(behind)}, by the mean of true and false passages; the rest is inconclusive "
        "(Holm-corrected)."
    )


def in_order(table: pd.DataFrame, column: str = "method") -> pd.DataFrame:
    """The rows in the order of the paper's tables, the golden baseline last."""
    order = [*(name for name in METHOD_LABELS if name != GOLDEN), GOLDEN]
    place = table[column].map({name: i for i, name in enumerate(order)}).fillna(len(order))
    return table.loc[place.sort_values(kind="stable").index].reset_index(drop=True)


def rightness(records: pd.DataFrame, methods: Sequence[str] = MAIN_METHODS) -> pd.DataFrame:
    """The plane: the share of true and of false passages that each method answers rightly, by model; a missing answer
    is not right."""
    tables = []
    for names, part in groups(records[records["method"].isin(methods)]):
        true, right = is_standard(part), part["correct"].astype("boolean").fillna(False)
        row = names | {"coverage": part["correct"].notna().mean()}
        for half, here in (("true", true), ("false", ~true)):
            ((share, low, high),) = shares(part[here], right[here])[["share", "low", "high"]].to_numpy()
            row |= with_interval(half, share, low, high)
        tables.append(row | {"n_questions": part["question_id"].nunique()})
    return pd.DataFrame(tables)


def false_passages(records: pd.DataFrame, methods: Sequence[str] = MAIN_METHODS) -> pd.DataFrame:
    """What becomes of the false passages: the share of each of `FALSE_PASSAGE_ENDS`, by model and method, of all
    their items."""
    rows = with_matches(records[records["method"].isin(methods) & ~is_standard(records)])
    right = rows["correct"].astype("boolean")
    followed = rows["final_is_claim"].astype("boolean").fillna(False)
    end = pd.Series("other", rows.index).mask(followed, "followed").mask(right.fillna(False), "right")
    rows = rows.assign(end=end.mask(right.isna(), "missing"))
    return stack(
        [
            (names, shares(part, part["end"].eq(end).astype("boolean")).assign(end=end))
            for names, part in groups(rows)
            for end in FALSE_PASSAGE_ENDS
        ]
    )


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


def draw_rightness(table: pd.DataFrame) -> Figure:
    """From `rightness`: right on true × right on false passages, a point a method, larger where it answers more."""
    table = in_order(table.dropna(subset=["true", "false"]))
    if table.empty:
        return draw.nothing("no method here has both true and false passages")
    rows, palette = draw.by_name(table.assign(model=table["model"].map(model_called)), "method")
    labels = ("right on true passages", "right on false passages")
    return draw.plane(rows, "true", "false", "method", labels, palette, panel="model", size="coverage")


def draw_false_passages(table: pd.DataFrame) -> Figure:
    """From `false_passages`: a bar a method, a panel a model."""
    if table.empty:
        return draw.nothing("no false passages here")
    table = in_order(table)
    ends = table["end"].map({end: label for end, (label, _) in FALSE_PASSAGE_ENDS.items()})
    rows = table.assign(method=draw.names_of(table), end=ends, model=table["model"].map(model_called))
    labels, height = ("", "share of false passages"), 0.8 + 0.24 * len(table) / len(FALSE_PASSAGE_ENDS)
    return draw.stacked(
        rows,
        "method",
        "share",
        "end",
        labels,
        dict(FALSE_PASSAGE_ENDS.values()),
        across=True,
        panel="model",
        height=height,
    )


def draw_accuracy(summary: pd.DataFrame) -> Figure:
    """Accuracy of each method on true and on false passages and their mean, from `summary` of one model, with 95 %
    intervals; hollow: of the answers given."""
    rows = in_order(summary)
    rows = rows.assign(name=draw.names_of(rows), panel=rows["condition"].map(draw.CONDITION_LABELS))
    return draw.rows(rows, "accuracy", "name", "accuracy", panel="panel", hollow="selective_accuracy", few="items")


def draw_comparisons(table: pd.DataFrame) -> Figure:
    """What the reference has more right than each other method, from `compare_all` of one model."""
    rows = in_order(table[(table["n"] > 0) & (table["b"] != GOLDEN)], "b")
    if rows.empty:
        return draw.nothing("nothing to compare")
    label = f"difference in accuracy, {called(rows['a'].iloc[0])} less each"
    return draw.differences(rows.assign(name=rows["b"].map(called)), label)


def draw_cost(table: pd.DataFrame) -> Figure:
    """Accuracy of each method, the cheapest on top, from `cost_accuracy` of one model; in colour what nothing beats at
    its price (Pareto)."""
    rows = table.dropna(subset=["cost", "accuracy"]).sort_values("cost", kind="stable", ignore_index=True)
    if rows.empty:
        return draw.nothing("no method with a known cost")
    costs = [f"{cost:,.0f}" if cost >= 10 else f"{cost:.2g}" for cost in rows["cost"]]
    names = [f"{name}  ({cost})" for name, cost in zip(draw.names_of(rows), costs, strict=True)]
    front = np.where(rows["on_front"], "nothing better at its price", "beaten at its price, or knows the truth")
    of = rows["cost_of"].iloc[0].replace("cost_usd", "US dollars").replace("_", " ")
    palette = {"nothing better at its price": draw.VERMILION, "beaten at its price, or knows the truth": draw.GREY}
    rows = rows.assign(name=names, front=front)
    return draw.rows(
        rows, "accuracy", "name", f"mean accuracy (in brackets: {of})", hue="front", palette=palette, few="items"
    )
