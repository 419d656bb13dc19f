"""Chapter 04b: what the parts of a debate are worth: factors, controls without a debate, economies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab.debates import READ, with_debate
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import comparable, compare, condition_rows
from srdcr_lab.lib.groups import DESIGN_KEYS, groups, is_standard, stack
from srdcr_lab.lib.statistics import shares
from srdcr_lab.lib.summary import CONDITIONS
from srdcr_lab.records import Verdict
from srdcr_lab.records.names import called, level_called


def belief_rates(records: pd.DataFrame, *, answers: bool = False) -> pd.DataFrame:
    """What each method, under each debate design, makes of passages: `rate` ``believed``, a share of the true passages,
    and ``caught``, a share of the false ones; `coverage`, the share of all items that it answers.

    A debate believes a passage where V* is Reasonable and catches it where V* is Unreasonable. A method without
    verdicts believes a true passage, or catches a false one, where its answer is right: a misread claim is no catch.
    With `answers` that holds for every method. An item without an answer, or whose verdict was not read, is neither: in
    n, and in `n_missing`.
    """
    tables = []
    for names, part in groups(records, DESIGN_KEYS):
        right = part["correct"].astype("boolean")
        if part["verdict"].notna().any() and not answers:
            true = is_standard(part).map({True: Verdict.REASONABLE, False: Verdict.UNREASONABLE})
            right = (part["verdict"] == true).astype("boolean").mask(~part["verdict"].isin(READ))
        for rate, here in (("believed", is_standard(part)), ("caught", ~is_standard(part))):
            table = shares(part[here], right[here].fillna(False))
            counts = {"n_missing": int(right[here].isna().sum()), "coverage": part["correct"].notna().mean()}
            tables.append((names | {"rate": rate}, table.assign(**counts)))
    return stack(tables)


def draw_plane(table: pd.DataFrame, *, answers: bool = False, panel: str = "") -> Figure:
    """True passages believed × false ones caught, from `belief_rates`: a point for each method or design, larger where
    it answers more. With `answers`, true × false passages that are answered rightly. On the dashed line a Judge knows
    nothing of the passage."""
    if set(table.loc[table["n"] > 0, "rate"] if len(table) else ()) != {"believed", "caught"}:
        return draw.nothing("no method here has both true and false passages")
    rows = with_debate(table)
    keys = ["model", "debate", "coverage"]
    wide = rows.pivot_table(index=keys, columns="rate", values=["share", "low", "high"], sort=False, observed=True)
    wide.columns = [rate if end == "share" else f"{rate}_{end}" for end, rate in wide.columns]
    wide = wide.reset_index().dropna(subset=["believed", "caught"])
    wide, palette = draw.by_name(wide, "debate")
    names = ("right on true passages", "right on false passages")
    labels = names if answers else ("true passages believed", "false passages caught")
    return draw.plane(
        wide, "believed", "caught", "debate", labels, palette, panel=panel, size="coverage", guessing=not answers
    )


def named_factors(effects: pd.DataFrame) -> pd.DataFrame:
    """`factor_effects` with a `name` for each: the factor and its two levels."""
    names = [
        f"{row['factor'].replace('_', ' ')}: {level_called(row['a'])} − {level_called(row['b'])}"
        for row in effects.to_dict("records")
    ]
    return effects.assign(name=names)


def draw_factors(effects: pd.DataFrame) -> Figure:
    """What each factor of a debate changes in the share of right verdicts, from `named_factors`."""
    return draw.differences(effects, "difference in right verdicts")


def draw_economies(prices: pd.DataFrame, condition: str = "overall") -> Figure:
    """What cheaper debates cost in accuracy, from `economy_prices`."""
    rows = prices[prices["condition"] == condition]
    names = [f"{called(row['design'])}\n{_saved(row)}" for row in rows.to_dict("records")]
    return draw.differences(rows.assign(name=names), f"{condition} accuracy, less the full design's")


def _saved(row: Mapping[str, Any]) -> str:
    share = row["share_saved"]
    calls = f"saves {share:.0%} of the calls" if share >= 0 else f"takes {-share:.0%} more calls"
    return calls if row["answers_changed"] else f"{calls}; same answers"


def economy_prices(
    records: pd.DataFrame, full: str = "acvd", *, conditions: Sequence[str] = CONDITIONS
) -> pd.DataFrame:
    """What every other debate design of SR-DCR saves against `full`, and what it costs in accuracy; on the same items.

    Columns: (`run`,) `model`, `design`, `condition`; fields of `Comparison`, in which A is the economy and `difference`
    its price; `calls_full`, `calls` and `calls_saved` per item of the method by itself, `share_saved` of the full
    design's; `tokens_saved` per item; `accuracy_full`, `accuracy`; `n_verdicts` held under both, `verdicts_changed`
    among them; `answers_changed`, items whose final answer (or its absence) differs. Where none
    does, the price is 0 on these items and nothing about that is uncertain: so are `low` and `high`.
    """
    rows = []
    for names, part, present in comparable(records[records["method"] == "sr_dcr"], "design"):
        for design in present if full in present else ():
            for condition in conditions if design != full else ():
                price = _price(part, design, full, condition)
                rows.append(names | {"design": design, "condition": condition} | price)
    return pd.DataFrame(rows)


def _price(records: pd.DataFrame, design: str, full: str, condition: str) -> dict[str, Any]:
    compared = compare(records, design, full, column="design", condition=condition)
    rows = condition_rows(records, condition)
    economy, whole = (rows[rows["design"] == name].set_index("item_id") for name in (design, full))
    both = economy.join(whole.add_suffix("_full"), how="inner")
    calls, calls_full = both["calls_alone"].astype(float), both["calls_alone_full"].astype(float)
    tokens, tokens_full = (both[f"prompt_tokens{end}"] + both[f"completion_tokens{end}"] for end in ("", "_full"))
    held = both["verdict"].notna() & both["verdict_full"].notna()
    changed = int((both["final_answer"].fillna("") != both["final_answer_full"].fillna("")).sum())
    price = {name: getattr(compared, name) for name in _SHOWN}
    if compared.n and not changed:
        price |= {"low": 0.0, "high": 0.0}
    return price | {
        "calls_full": calls_full.mean(),
        "calls": calls.mean(),
        "calls_saved": (calls_full - calls).mean(),
        "share_saved": 1 - calls.sum() / (calls_full.sum() or math.nan),
        "tokens_saved": (tokens_full - tokens).astype(float).mean(),
        "accuracy_full": compared.mean_b,
        "accuracy": compared.mean_a,
        "n_verdicts": int(held.sum()),
        "verdicts_changed": int((both["verdict"] != both["verdict_full"])[held].sum()),
        "answers_changed": changed,
    }


_SHOWN = ("n", "n_questions", "n_unpaired", "difference", "low", "high", "p_value", "only_a", "only_b")
