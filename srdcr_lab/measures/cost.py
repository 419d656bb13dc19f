"""What answers cost beside how good they are: calls, tokens, money, and the Pareto front [CFMAD, Table 3; ours]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.comparison import compare, condition_rows
from srdcr_lab.measures.estimates import mean_interval
from srdcr_lab.measures.evaluation import summary
from srdcr_lab.measures.groups import GOLDEN, comparison_keys, group_columns, groups, stack

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


# -- what an economical debate design saves against the full one, and what it costs in accuracy; on the same items

_SHOWN = ("n", "n_questions", "n_unpaired", "difference", "low", "high", "p_value", "only_a", "only_b")


def economy_prices(
    records: pd.DataFrame,
    full: str = "acvd",
    *,
    method: str = "sr_dcr",
    conditions: Sequence[str] = ("standard", "perturbed", "overall"),
    seed: int = 0,
) -> pd.DataFrame:
    """Each other design against `full`, from one grid.

    Parameters
    ----------
    records : rows of several designs, one per item × design.
    full : the design that the others are economies of.
    conditions : see `srdcr_lab.measures.comparison.condition_rows`.

    Returns
    -------
    DataFrame : (`run`,) `model`, `design`, `condition`; `n` items that both have, `n_questions`, `n_unpaired`;
        `calls_full`, `calls` per item by itself, `calls_saved` per item and `share_saved` of the full design's;
        `tokens_saved` per item; `accuracy_full`, `accuracy` (missing is wrong; overall the mean of the halves), their
        `difference` (the price: economy less full) with `low`, `high` and `p_value` as in `compare`, `only_a` items
        that the economy alone has right and `only_b` that the full design alone has; `n_verdicts` held under both,
        `verdicts_changed` among them; `answers_changed`, items whose final answer (or its absence) differs.
    """
    tables = []
    rows = records[records["method"] == method]
    keys = comparison_keys(rows, "design")
    for values, part in rows.groupby(keys, sort=False, observed=True):
        designs = [design for design in part["design"].dropna().unique() if design != full]
        if full not in set(part["design"]):
            continue
        found = [
            {"design": design, "condition": condition} | _price(part, design, full, condition, seed)
            for design in designs
            for condition in conditions
        ]
        tables.append((dict(zip(keys, values, strict=True)), pd.DataFrame(found)))
    return stack(tables)


def _price(records: pd.DataFrame, design: str, full: str, condition: str, seed: int) -> dict[str, Any]:
    compared = compare(records, design, full, column="design", condition=condition, seed=seed)
    rows = condition_rows(records, condition)
    one, other = (rows[rows["design"] == name].set_index("item_id") for name in (design, full))
    both = one.join(other.add_suffix("_full"), how="inner")
    calls, calls_full = both["calls_alone"].astype(float), both["calls_alone_full"].astype(float)
    saved = sum(both[f"{kind}_tokens_full"] - both[f"{kind}_tokens"] for kind in ("prompt", "completion"))
    held = both["verdict"].notna() & both["verdict_full"].notna()
    return {name: getattr(compared, name) for name in _SHOWN} | {
        "calls_full": calls_full.mean(),
        "calls": calls.mean(),
        "calls_saved": (calls_full - calls).mean(),
        "share_saved": 1 - calls.sum() / calls_full.sum() if calls_full.sum() else float("nan"),
        "tokens_saved": pd.Series(saved, dtype=float).mean(),
        "accuracy_full": compared.mean_b,
        "accuracy": compared.mean_a,
        "n_verdicts": int(held.sum()),
        "verdicts_changed": int((both["verdict"] != both["verdict_full"])[held].sum()),
        "answers_changed": int((both["final_answer"].fillna("") != both["final_answer_full"].fillna("")).sum()),
    }
