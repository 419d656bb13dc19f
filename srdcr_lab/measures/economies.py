"""What an economical debate design saves against the full one, and what it costs in accuracy; on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from srdcr_lab.measures.comparison import compare, condition_rows
from srdcr_lab.measures.groups import comparison_keys, stack

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
