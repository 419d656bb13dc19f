"""What answers cost beside how good they are: calls, tokens, money, and the Pareto front [CFMAD, Table 3; ours]."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.evaluation import summary
from srdcr_lab.measures.groups import GOLDEN, group_columns, groups, stack
from srdcr_lab.measures.intervals import mean_interval

WALL = "wall_s"


def cost_summary(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """What a method takes per item; failed items are included with what they took.

    Returns
    -------
    DataFrame, one row a group: `n` items, `n_questions`; `calls_per_item` (by itself) and `calls_paid_per_item` (in
    this run, after sharing and the store), `calls_saved` = Σ calls_alone − Σ calls_paid; `tokens_per_item` (prompt and
    completion, of all calls the method takes by itself) with `low` and `high` (bootstrap over questions),
    `prompt_tokens_per_call`, `completion_tokens_per_call`; `cost_usd` and `cost_usd_per_item` of the calls paid, NaN
    where a row's price is unknown (`n_unpriced`); `wall_s_per_item` where the records have `wall_s`.
    """
    parts = [(names, pd.DataFrame([_costs(part, intervals)])) for names, part in groups(records)]
    return stack(parts, columns=() if parts else [*group_columns(records), *_costs(records, intervals=False)])


def _costs(part: pd.DataFrame, intervals: bool) -> dict[str, float | int]:
    number = {name: part[name].astype("Float64").to_numpy(float, na_value=np.nan) for name in _NUMBERS}
    tokens = number["prompt_tokens"] + number["completion_tokens"]
    known = ~np.isnan(tokens)
    calls = float(np.nansum(number["calls_alone"][known]))
    low, high = mean_interval(tokens[known], part["question_id"].to_numpy()[known]) if intervals else (math.nan,) * 2
    costs = {
        "n": len(part),
        "n_questions": part["question_id"].nunique(),
        "calls_per_item": _mean(number["calls_alone"]),
        "calls_paid_per_item": _mean(number["calls_paid"]),
        "calls_saved": int(np.nansum(number["calls_alone"]) - np.nansum(number["calls_paid"])),
        "tokens_per_item": _mean(tokens),
        "low": low,
        "high": high,
        "prompt_tokens_per_call": float(number["prompt_tokens"][known].sum() / calls) if calls else math.nan,
        "completion_tokens_per_call": float(number["completion_tokens"][known].sum() / calls) if calls else math.nan,
        "cost_usd": float(number["cost_usd"].sum()) if len(part) else math.nan,
        "cost_usd_per_item": float(number["cost_usd"].mean()) if len(part) else math.nan,
        "n_unpriced": int(np.isnan(number["cost_usd"]).sum()),
    }
    if WALL in part:
        costs["wall_s_per_item"] = _mean(part[WALL].astype("Float64").to_numpy(float, na_value=np.nan))
    return costs


_NUMBERS = ("calls_alone", "calls_paid", "prompt_tokens", "completion_tokens", "cost_usd")


def _mean(values: NDArray[np.float64]) -> float:
    return float(np.nanmean(values)) if (~np.isnan(values)).any() else math.nan


def sharing(records: pd.DataFrame) -> pd.DataFrame:
    """Calls of all methods together, per run and model: by themselves, paid, and the share saved.

    Saved are calls that another method, another form of the question or an earlier run had already asked; the knowledge
    draws belong to no method and are in neither sum.
    """
    keys = [name for name in ("run", "model") if name in records]
    sums = records.groupby(keys, sort=False, observed=True)[["calls_alone", "calls_paid"]].sum().astype(int)
    sums["calls_saved"] = sums["calls_alone"] - sums["calls_paid"]
    sums["share_saved"] = (sums["calls_saved"] / sums["calls_alone"]).astype(float)
    return sums.reset_index()


def cost_accuracy(
    records: pd.DataFrame, *, cost: str = "tokens_per_item", condition: str = "overall", intervals: bool = True
) -> pd.DataFrame:
    """Each group's cost and its accuracy under a condition, and whether it is on the Pareto front of its model.

    `cost` is a column of `cost_summary`. `golden` cannot be had and is never on the front.
    """
    keys = group_columns(records)
    accuracies = summary(records, intervals=intervals)
    accuracies = accuracies[accuracies["condition"] == condition]
    columns = [*keys, "coverage", *(f"{name}{end}" for name in _MEASURES for end in ("", "_low", "_high"))]
    costs = cost_summary(records, intervals=False)
    table = accuracies[[*columns, "n"]].merge(costs[[*keys, cost]], on=keys).rename(columns={cost: "cost"})
    blocks = [name for name in ("run", "model") if name in keys]
    table["on_front"] = False
    for _, rows in table[table["method"] != GOLDEN].groupby(blocks, sort=False, observed=True):
        table.loc[rows.index, "on_front"] = pareto_front(rows["cost"], rows["accuracy"])
    return table.assign(cost_of=cost, condition=condition)


_MEASURES = ("accuracy", "selective_accuracy")


def pareto_front(cost: ArrayLike, benefit: ArrayLike) -> NDArray[np.bool_]:
    """True where no other point costs at most as much and is at least as good, one of the two strictly. NaN: False."""
    price, good = np.asarray(cost, float), np.asarray(benefit, float)
    cheaper, better = price[:, None] <= price, good[:, None] >= good
    strictly = (price[:, None] < price) | (good[:, None] > good)
    known = ~np.isnan(price) & ~np.isnan(good)
    front: NDArray[np.bool_] = known & ~(cheaper & better & strictly & known[:, None]).any(axis=0)
    return front
