"""Whether the order in which a judge reads the stances sways it: the same debates, read in both orders.

`cfmad` and `cfmad_swapped` share every turn but the judge's, so what differs is the order alone.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from srdcr_lab.measures.counterfactual.held import Asked, asked, share
from srdcr_lab.measures.intervals import contrast_interval


def position_effect(
    records: pd.DataFrame, turns: pd.DataFrame, method: str = "cfmad", swapped: str = "cfmad_swapped"
) -> pd.DataFrame:
    """Per model, over the questions that were debated and answered in both orders.

    Columns
    -------
    n : pairs; `n_missing` those with an order without a readable answer.
    changed : share whose answer differs between the orders, with `changed_low`, `changed_high`.
    first, last : share of all judgements that choose the stance read first, and the one read last.
    effect : first − last in [−1, 1], 0 without a position effect, with `effect_low`, `effect_high` clustered on the
        question.
    """
    either: dict[tuple[Any, ...], dict[str, dict[str, Asked]]] = {}
    for names, questions in asked(records[records["method"].isin([method, swapped])], turns):
        debated = {each.row.item_id: each for each in questions if each.stances}
        either.setdefault(_without_method(names), {})[names["method"]] = debated
    rows = [{**dict(names), **_effect(orders[method], orders[swapped])}
            for names, orders in either.items() if {method, swapped} <= set(orders)]  # fmt: skip
    return pd.DataFrame(rows, columns=None if rows else ["n", "changed", "first", "last", "effect"])


def _without_method(names: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in names.items() if name != "method")


def _effect(straight: dict[str, Asked], reversed_: dict[str, Asked]) -> dict[str, float | int]:
    pairs = [(straight[item], reversed_[item]) for item in straight if item in reversed_]
    read = [pair for pair in pairs if all(isinstance(each.row.final_answer, str) for each in pair)]
    changed = [not a.same(a.row.final_answer, b.row.final_answer) for a, b in read]
    found = share(changed, [a.row.question_id for a, _ in read])
    judged = [each for pair in read for each in pair]
    places = [(each.same(each.row.final_answer, each.stances[0]), each.same(each.row.final_answer, each.stances[-1]))
              for each in judged]  # fmt: skip
    contrast = [int(first) - int(last) for first, last in places]
    effect, low, high = (
        contrast_interval(contrast, [each.row.question_id for each in judged], [0] * len(contrast), {0: 1.0})
        if contrast
        else (math.nan,) * 3
    )
    n = len(judged)
    return {
        "n": len(read),
        "n_missing": len(pairs) - len(read),
        "changed": found["share"],
        "changed_low": found["low"],
        "changed_high": found["high"],
        "first": sum(first for first, _ in places) / n if n else math.nan,
        "last": sum(last for _, last in places) / n if n else math.nan,
        "effect": effect,
        "effect_low": low,
        "effect_high": high,
    }
