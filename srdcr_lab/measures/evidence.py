"""One number on the records with its interval: what a claim is held against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from srdcr_lab.measures.comparison import condition_rows, paired
from srdcr_lab.measures.estimates import clustered_interval, contrast_interval, jeffreys_interval, mean_interval
from srdcr_lab.measures.groups import GOLDEN, is_standard, strata, with_matches
from srdcr_lab.measures.preference import offset_slopes, perturbed_answers
from srdcr_lab.records import KnowledgeCategory, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A value, its 95 % interval, and what is behind it; NaN with n = 0 and a note where nothing is."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_questions: int = 0
    note: str = ""


def difference(records: pd.DataFrame, a: str, b: str, condition: str) -> Evidence:
    """Accuracy of method A less that of B, paired; overall macro."""
    if lacking := _lacking(records, a, b):
        return lacking
    pairs = paired(condition_rows(records, condition), a, b)
    half = is_standard(pairs) & (condition == "overall")
    names = list(half.unique())
    return _contrast(pairs["a"] - pairs["b"], pairs, half, {name: 1 / len(names) for name in names})


def gap(records: pd.DataFrame, method: str) -> Evidence:
    """Standard less perturbed accuracy of one method."""
    if lacking := _lacking(records, method):
        return lacking
    rows = records[records["method"] == method]
    right = rows["correct"].astype("boolean").fillna(False).astype(float)
    return _contrast(right, rows, is_standard(rows), {True: 1.0, False: -1.0}, bounds=(0.0, 1.0))


def gap_difference(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """A's gap between standard and perturbed accuracy less B's."""
    if lacking := _lacking(records, a, b):
        return lacking
    pairs = paired(records, a, b)
    return _contrast(pairs["a"] - pairs["b"], pairs, is_standard(pairs), {True: 1.0, False: -1.0})


def level_contrast(records: pd.DataFrame, a: str, b: str, first: Level, second: Level) -> Evidence:
    """A less B on passages of the first level, less the same on those of the second."""
    if lacking := _lacking(records, a, b):
        return lacking
    pairs = paired(condition_rows(records, "perturbed"), a, b)
    return _contrast(pairs["a"] - pairs["b"], pairs, pairs["level"], {first.value: 1.0, second.value: -1.0})


def best_of_others(records: pd.DataFrame, method: str, condition: str) -> Evidence:
    """The method less the most accurate other one but golden, chosen on the same items, which is hard on the method."""
    if lacking := _lacking(records, method):
        return lacking
    rival = _strongest(condition_rows(records, condition), method)
    if rival is None:
        return Evidence(note="no other method was run")
    return replace(difference(records, method, rival, condition), note=f"the strongest other method is {rival}")


def least_over_strata(records: pd.DataFrame, method: str) -> Evidence:
    """The least, over the offsets, of the method less the most accurate other one there.

    Its interval runs from the least low to the least high of the offsets' intervals: above 0 only where all are, below
    0 where one is (intersection-union).
    """
    if lacking := _lacking(records, method):
        return lacking
    false = condition_rows(records, "perturbed")
    label = strata(false)
    parts = [best_of_others(false[label == name], method, "overall") for name in label.unique()]
    known = [part for part in parts if part.n]
    if not known:
        return Evidence(note="no other method was run on false passages")
    value, low, high = (float(min(getattr(part, name) for part in known)) for name in ("value", "low", "high"))
    n, n_questions = sum(part.n for part in known), max(part.n_questions for part in known)
    return Evidence(value=value, low=low, high=high, n=n, n_questions=n_questions, note="the least over the offsets")


def following(records: pd.DataFrame, categories: Sequence[KnowledgeCategory], level: Level) -> Evidence:
    """Few-shot context preference of some categories on passages of a level."""
    rows = perturbed_answers(condition_rows(records, level.value))
    rows = rows[rows["knowledge_category"].isin(categories) & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    hits = rows["follows_claim"].astype(float)
    low, high = clustered_interval(hits, rows["question_id"])
    return _evidence(float(hits.mean()) if len(hits) else math.nan, low, high, rows)


def offset_slope(records: pd.DataFrame, category: KnowledgeCategory) -> Evidence:
    """Log-odds of following per 100 years of offset."""
    table = offset_slopes(records)
    rows = table[table["knowledge_category"] == category] if len(table) else table
    if not len(rows):
        return Evidence(note="no year offsets")
    row = rows.iloc[0]
    return Evidence(value=row["slope"], low=row["low"], high=row["high"], n=int(row["n"]),
                    n_questions=int(row["n_questions"]), note=row["note"])  # fmt: skip


def highly_known(records: pd.DataFrame, at_least: float = -math.inf, below: float = math.inf) -> Evidence:
    """P(Highly-Known | confidence in [at_least, below)) over unique questions, Jeffreys interval."""
    rows = records[records["knowledge_category"].notna() & records["self_confidence"].notna()]
    rows = rows.drop_duplicates("question_id")
    rows = rows[(rows["self_confidence"] >= at_least) & (rows["self_confidence"] < below)]
    k, n = int((rows["knowledge_category"] == KnowledgeCategory.HIGHLY_KNOWN).sum()), len(rows)
    low, high = jeffreys_interval(k, n)
    return _evidence(k / n if n else math.nan, float(low), float(high), rows)


def prior_preference_change(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Prior preference of A less that of B on the false passages that both answered."""
    if lacking := _lacking(records, a, b):
        return lacking
    sides = []
    for method in (a, b):
        rows = perturbed_answers(records, method)
        rows = rows[~rows["prior_is_claim"] & rows["follows_prior"].notna()]
        sides.append(rows.set_index("item_id")[["question_id", "follows_prior"]])
    both = sides[0].join(sides[1]["follows_prior"].rename("b"), how="inner")
    change = both["follows_prior"].astype(float) - both["b"].astype(float)
    return _contrast(change, both, pd.Series(False, both.index), {False: 1.0})


def prior_bias_contrast(records: pd.DataFrame, a: str, b: str, weight: float) -> Evidence:
    """Prior bias of A less `weight` times that of B: on true passages whose question the model got wrong."""
    if lacking := _lacking(records, a, b):
        return lacking
    wrong = ~records["prior_correct"].astype("boolean").fillna(True)
    rows = with_matches(records[records["method"].isin([a, b]) & is_standard(records) & wrong.astype(bool)])
    follows = rows["final_is_prior"].fillna(False).astype(float)
    return _contrast(follows, rows, rows["method"].astype(object), {a: 1.0, b: -weight}, bounds=(0.0, 1.0))


def more_calls(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Calls an item that A takes more than B, each by itself."""
    if lacking := _lacking(records, a, b):
        return lacking
    sides = [records[records["method"] == method].set_index("item_id") for method in (a, b)]
    both = sides[0][["question_id", "calls_alone"]].join(sides[1]["calls_alone"].rename("b"), how="inner")
    more = (both["calls_alone"] - both["b"]).astype(float)
    low, high = mean_interval(more, both["question_id"])
    return _evidence(float(more.mean()) if len(more) else math.nan, low, high, both)


def design_difference(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Share of right verdicts of design A less that of B, paired; overall macro."""
    rows = records[(records["method"] == "sr_dcr") & records["design"].isin([a, b])]
    if missing := [name for name in (a, b) if not (rows["design"] == name).any()]:
        return Evidence(note=f"the design {missing[0]} was not run")
    pairs = paired(rows, a, b, column="design", name="verdict_right")
    half = is_standard(pairs)
    return _contrast(pairs["a"] - pairs["b"], pairs, half, {name: 1 / half.nunique() for name in half.unique()})


def _strongest(rows: pd.DataFrame, method: str) -> str | None:
    others = rows[~rows["method"].isin([method, GOLDEN])]
    if others.empty:
        return None
    right = others["correct"].astype("boolean").fillna(False).astype(float)
    halves = right.groupby([others["method"].astype(object), is_standard(others)], sort=False).mean()
    return str(halves.groupby(level=0, sort=False).mean().idxmax())


def _lacking(records: pd.DataFrame, *methods: str) -> Evidence | None:
    ran = set(records["method"].unique())
    missing = [method for method in methods if method not in ran]
    return Evidence(note=f"{missing[0]} was not run") if missing else None


def _contrast(
    values: pd.Series,
    rows: pd.DataFrame,
    parts: pd.Series,
    weights: Mapping[Any, float],
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Evidence:
    used = parts.isin(list(weights))
    if not used.any():
        return Evidence(note="no item is left")
    value, low, high = contrast_interval(values, rows["question_id"], parts, weights, bounds=bounds)
    return _evidence(value, low, high, rows[used])


def _evidence(value: float, low: float, high: float, rows: pd.DataFrame) -> Evidence:
    note = "" if len(rows) else "no item is left"
    return Evidence(value=value, low=low, high=high, n=len(rows), n_questions=rows["question_id"].nunique(), note=note)
