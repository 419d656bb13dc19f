"""How often answers are right, beside n, coverage and why answers are missing, and what they cost.

`summary` holds the numbers of the paper's Table 1, `accuracy_by_stratum` those of its Table 2 [4.4]; their layout is in
`paper_tables`. Calls, tokens, money and the Pareto front follow CFMAD's Table 3 and are ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.comparison import comparable, compare, condition_rows, outcome
from srdcr_lab.measures.estimates import clustered_interval, contrast_interval, macro_mean, mean_interval, with_interval
from srdcr_lab.measures.final_answer import changes_at
from srdcr_lab.measures.groups import (
    GOLDEN,
    by_group,
    group_columns,
    groups,
    in_macro,
    is_standard,
    strata,
    stratum_order,
)
from srdcr_lab.measures.rule import Belief, by_percentile
from srdcr_lab.measures.verdicts import RATES
from srdcr_lab.records import PROVIDERS_DEFAULT, Decision, Missing

CONDITIONS = ("standard", "perturbed", "overall")
MACRO, MICRO, CALIBRATED = "macro", "micro", "calibrated_token_probability"
_NO_INTERVAL = (math.nan, math.nan)
_READ = "run model method design level question_id correct missing verdict decoding".split()  # of some sixty columns


def accuracy(
    correct: pd.Series, clusters: pd.Series, strata: pd.Series | None = None, *, intervals: bool = True
) -> dict[str, float | int]:
    """Accuracy of one set of rows, with coverage, risk, and 95 % intervals clustered on the question.

    `accuracy` = right / n counts a missing answer as wrong, `selective_accuracy` = right / answered leaves it out;
    `coverage` = answered / n; `risk` = wrong / answered. With `strata`, every share is the mean of the strata's. A
    share of nothing is NaN.
    """
    answered = correct.notna()
    right = correct.astype("boolean").fillna(False).astype(bool)
    measured: dict[str, float | int] = {
        "n": len(correct),
        "n_answered": int(answered.sum()),
        "coverage": macro_mean(answered, strata),
    }
    for name, here in (("accuracy", slice(None)), ("selective_accuracy", answered)):
        parts = None if strata is None else strata[here]
        ends = clustered_interval(right[here], clusters[here], parts) if intervals else _NO_INTERVAL
        measured |= with_interval(name, macro_mean(right[here], parts), *ends)
    return measured | {"risk": 1 - measured["selective_accuracy"]}


def summary(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Table 1 [4.4]: one row per model × method (× run, × design, where there are several) × condition.

    Overall, every share is the mean of the standard and the perturbed one where both were run (as in the paper);
    `accuracy_micro` is right / n over all rows; `n_questions` counts the questions behind the n items. `n_abstained`,
    `n_unparsed` and `n_error` count why answers are missing. `verdict_tpr` = P(Reasonable | true passage) and
    `verdict_tnr` = P(Unreasonable | false passage) are over the debates held (`verdict_tpr_n`, `verdict_tnr_n`);
    UNPARSED counts as neither. Where a model takes no temperature, `decoding` says of each row how its replies were
    drawn.
    """
    records = records.filter(items=_READ)
    table = by_group(records, lambda part: [_of_condition(part, condition, intervals) for condition in CONDITIONS])
    if "decoding" not in records or not records["decoding"].astype("string").str.contains(PROVIDERS_DEFAULT).any():
        return table
    ways = by_group(records, lambda part: [{"decoding": "; ".join(sorted(set(part["decoding"].dropna())))}])
    return table.merge(ways, how="left")


def _of_condition(records: pd.DataFrame, condition: str, intervals: bool) -> dict[str, Any]:
    rows = condition_rows(records, condition)
    halves = is_standard(rows) if condition == "overall" else None
    measured: dict[str, Any] = {"condition": condition}
    measured |= accuracy(rows["correct"], rows["question_id"], halves, intervals=intervals)
    measured["n_questions"] = rows["question_id"].nunique()
    measured["accuracy_micro"] = outcome(rows, "correct").mean()
    measured |= {f"n_{why.value}": int((rows["missing"] == why).sum()) for why in Missing}
    ruled = rows[rows["verdict"].notna()]
    for rate, (verdict, true) in RATES.items():
        own = ruled[is_standard(ruled) == true]
        right = own["verdict"] == verdict
        ends = clustered_interval(right, own["question_id"]) if intervals else _NO_INTERVAL
        measured |= {**with_interval(rate, right.mean(), *ends), f"{rate}_n": len(own)}
    return measured


def accuracy_by_stratum(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Table 2: one row per group × stratum of the perturbed items, then `macro` and `micro`; columns as in `accuracy`.

    Strata are offsets by size and, for the other kinds, levels. `macro` is the mean of the offsets, as in the paper,
    or of all strata without any; `micro` pools all items. A stratum on which a method was not run has n = 0 and is
    outside its macro mean.
    """
    order = stratum_order(strata(condition_rows(records, "perturbed")).unique())
    rows = []
    for names, part in groups(records):
        false = condition_rows(part, "perturbed")
        stratum = strata(false)
        for column in (*order, MACRO, MICRO):
            strata_of = {MACRO: in_macro(order), MICRO: order}.get(column, [column])
            here = false[stratum.isin(strata_of)]
            parts = stratum[here.index] if column == MACRO else None
            measured = accuracy(here["correct"], here["question_id"], parts, intervals=intervals)
            rows.append({**names, "stratum": column, **measured})
    return pd.DataFrame(rows, columns=[*group_columns(records), *_STRATUM_COLUMNS])


_STRATUM_COLUMNS = [
    *("stratum", "n", "n_answered", "coverage", "accuracy", "selective_accuracy", "accuracy_low", "accuracy_high"),
    *("selective_accuracy_low", "selective_accuracy_high", "risk"),
]


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
    ends = mean_interval(tokens[known], part["question_id"][known]) if intervals else _NO_INTERVAL
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
