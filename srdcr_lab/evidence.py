"""What the claims of the paper's section 4 compare: differences, gaps, leads and shares, each with its interval.

A measure takes the records of one run and model, and raises `NoEvidence` where they cannot give the number. Accuracies
are of all items or of the answered ones, since the paper does not say whether a missing answer counts as wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from srdcr_lab.lib.comparison import condition_rows, outcome, side_by_side
from srdcr_lab.lib.groups import GOLDEN, halves, in_macro, is_standard, of_one_kind, strata, with_matches
from srdcr_lab.lib.statistics import clustered_interval, contrast_interval, mean_interval, paired_interval
from srdcr_lab.lib.summary import CONDITIONS
from srdcr_lab.preference import offset_slopes, perturbed_answers
from srdcr_lab.records import KnowledgeCategory
from srdcr_lab.records.names import IN_PAPER, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A value, its 95 % interval, and what is behind it; NaN with n = 0 and a note where nothing is."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_questions: int = 0
    note: str = ""


class NoEvidence(Exception):
    """The records cannot give the number; the message is the note."""


class Denominator(StrEnum):
    """Of what an accuracy is a share: a missing answer counts as wrong, or is left out."""

    ALL = "all items"
    ANSWERED = "answered items"


def difference(
    records: pd.DataFrame,
    a: str,
    b: str,
    condition: str,
    denominator: str = Denominator.ALL,
    *,
    column: str = "method",
    name: str = "correct",
    level: float = 0.95,
) -> Evidence:
    """Accuracy of A less that of B under a condition (see `_weights`): of the items both have, or of those that each of
    them answered. Paired where these are the same items."""
    items, wide = _side_by_side(_ran(records, a, b, column=column), denominator, column, name)
    return _lead(items, wide[a], wide[b], condition, denominator, level)


def design_difference(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Share of right verdicts of design A less that of B, paired; overall macro."""
    debates = records[records["method"] == "sr_dcr"]
    return difference(debates, a, b, "overall", column="design", name="verdict_right")


def accuracy_of(records: pd.DataFrame, method: str, condition: str, denominator: str = Denominator.ALL) -> Evidence:
    """Accuracy of one method under one condition."""
    rows = condition_rows(_of(_ran(records, method), denominator), condition)
    right = outcome(rows, "correct")
    return _evidence(right.mean(), clustered_interval(right, rows["question_id"]), rows)


def gap(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """Standard less perturbed accuracy of one method."""
    rows = _of(_ran(records, method), denominator)
    return _contrast(outcome(rows, "correct"), rows, *_weights(rows, "standard-perturbed"), bounds=(0.0, 1.0))


def worse_half(records: pd.DataFrame, a: str, b: str, denominator: str = Denominator.ALL) -> Evidence:
    """The lower of A's accuracies on true and on false passages, less the lower of B's: abstaining always gains none.

    A is better only if both its halves are above the worse one of B, so the ends are the least of the two contrasts'.
    """
    rows = _of(_ran(records, a, b), denominator)
    cells, right = rows["method"].astype(str) + " " + halves(rows), outcome(rows, "correct")
    means = right.groupby(cells).mean()
    if len(means) < 4:
        raise NoEvidence("one of the two has no item of a half")
    worse = min(("perturbed", "standard"), key=lambda half: means[f"{b} {half}"])
    leads = [
        _contrast(right, rows, cells, {f"{a} {half}": 1.0, f"{b} {worse}": -1.0}, bounds=(0.0, 1.0))
        for half in ("standard", "perturbed")
    ]
    least = {name: min(getattr(lead, name) for lead in leads) for name in ("value", "low", "high")}
    return Evidence(
        **least, n=len(rows), n_questions=leads[0].n_questions, note=f"the worse half of {called(b)}: {worse}"
    )


def best_of_others(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """The least of the method's overall leads over the paper's others but golden, which is told the truth."""
    return _least_lead({"": _ran(records, method, others=True)}, method, denominator)


def least_over_strata(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """The least, over the offsets and over every other method, of the method's leads on false passages."""
    false = condition_rows(_ran(records, method, others=True), "perturbed")
    stratum = strata(false)
    parts = {f" at {name}": false[stratum == name] for name in in_macro(list(stratum.unique()))}
    return _least_lead(parts, method, denominator)


def _least_lead(parts: Mapping[str, pd.DataFrame], method: str, denominator: str) -> Evidence:
    """The least lead with an interval for a minimum: its low end is the least of the leads' (all have to be above, so
    none is corrected), its high end the least of their ends at level 1 − 0.05 / their number (one below is enough).

    Source: intersection-union, Berger 1982; Bonferroni.
    """
    rivalries = [
        (f"{called(name)}{where}", items, wide[method], wide[name])
        for where, (items, wide) in ((where, _side_by_side(part, denominator)) for where, part in parts.items())
        for name in (wide if method in wide else ())
        if name in IN_PAPER - {method, GOLDEN}
    ]
    leads = []
    for name, items, own, other in rivalries:
        with suppress(NoEvidence):
            lead = _lead(items, own, other, "overall", denominator)
            sure = _lead(items, own, other, "overall", denominator, 1 - 0.05 / len(rivalries))
            leads.append((lead.value, lead.low, sure.high, f"{name} (n = {lead.n})"))
    if not leads:
        raise NoEvidence("no other method was run")
    value, _, _, name = min(leads)
    low, high = min(lead[1] for lead in leads), min(lead[2] for lead in leads)
    questions = pd.concat([part.loc[part["method"] == method, "question_id"] for part in parts.values()])
    n, note = len(questions), f"the least lead is over {name}"
    return Evidence(value=value, low=low, high=high, n=n, n_questions=questions.nunique(), note=note)


def _side_by_side(
    rows: pd.DataFrame, denominator: str, column: str = "method", name: str = "correct"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The items, with `question_id` and `level`; and of each its outcome under every method, NaN where that does not
    count."""
    items = rows.drop_duplicates("item_id").set_index("item_id")[["question_id", "level"]]
    values = outcome(rows, name).where(rows["correct"].notna() | (denominator == Denominator.ALL))
    keyed = pd.DataFrame({"item_id": rows["item_id"], "method": rows[column].astype(str), "value": values})
    return items, keyed.pivot(index="item_id", columns="method", values="value").loc[items.index]


def _lead(
    items: pd.DataFrame, own: pd.Series, other: pd.Series, condition: str, denominator: str, level: float = 0.95
) -> Evidence:
    """One column of outcomes less another, over the items that count for both of them, or for either."""
    counts = (own.notna() & other.notna()) if denominator == Denominator.ALL else (own.notna() | other.notna())
    items, own, other = items[counts], own[counts], other[counts]
    parts, weights = _weights(items, condition)
    questions = items["question_id"]
    if (own.notna() & other.notna()).all():
        ends = paired_interval(own - other, questions, parts, weights, level=level)
    else:
        values = np.concatenate([own, other])
        cells = np.concatenate([parts + ", own", parts + ", other"])
        signed = {
            f"{part}, {side}": sign * w for side, sign in (("own", 1), ("other", -1)) for part, w in weights.items()
        }
        here = ~np.isnan(values)
        asked = np.tile(questions, 2)
        ends = contrast_interval(values[here], asked[here], cells[here], signed, bounds=(0.0, 1.0), level=level)
    return _evidence(ends[0], ends[1:], items[parts.isin(list(weights))])


def following(records: pd.DataFrame, level: str, *categories: str) -> Evidence:
    """Few-shot context preference of some knowledge categories on passages of a level."""
    rows = perturbed_answers(condition_rows(records, level))
    rows = rows[rows["knowledge_category"].isin(categories) & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    hits = rows["follows_claim"].astype(float)
    return _evidence(hits.mean(), clustered_interval(hits, rows["question_id"]), rows)


def offset_slope(records: pd.DataFrame, category: str) -> Evidence:
    """Log-odds of following per 100 years of offset."""
    slopes = offset_slopes(records).rename(columns={"slope": "value"})
    for row in slopes[slopes["knowledge_category"] == category].to_dict("records"):
        return Evidence(**{field.name: row[field.name] for field in fields(Evidence)})
    raise NoEvidence("no year offsets")


def highly_known(records: pd.DataFrame, at_least: float, below: float = math.inf) -> Evidence:
    """P(Highly-Known | confidence in [at_least, below)) over unique questions, Jeffreys interval."""
    rows = of_one_kind(records)
    rows = rows[rows["knowledge_category"].notna() & rows["self_confidence"].notna()]
    rows = rows.drop_duplicates([name for name in ("repeat", "question_id") if name in rows])
    rows = rows[(rows["self_confidence"] >= at_least) & (rows["self_confidence"] < below)]
    hits = rows["knowledge_category"] == KnowledgeCategory.HIGHLY_KNOWN
    return _evidence(hits.mean(), clustered_interval(hits, rows["question_id"]), rows)


def prior_preference_change(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Prior preference of A less that of B on the false passages that both answered."""
    _ran(records, a, b)
    rows = pd.concat([perturbed_answers(records, method) for method in (a, b)])
    rows = rows[~rows["prior_is_claim"]]
    both = side_by_side(rows, a, b, rows["follows_prior"].astype("Float64").astype(float))
    value, *ends = paired_interval(both["a"] - both["b"], both["question_id"], *_weights(both, "perturbed"))
    return _evidence(value, ends, both)


def bias_contrast(records: pd.DataFrame, a: str, b: str, weight: float, bias: str = "prior") -> Evidence:
    """Bias of A less `weight` times that of B. ``prior``: the prior answer is given, on true passages whose question
    the model got wrong; ``context``: the claim is, on false passages whose question it got right."""
    rows = _ran(records, a, b)
    knows, of_prior = rows["prior_correct"].astype("boolean"), bias == "prior"
    under = (is_standard(rows) == of_prior) & (knows == (not of_prior)).fillna(False)
    rows = with_matches(rows[under.astype(bool)])
    follows = rows["final_is_prior" if of_prior else "final_is_claim"].fillna(False).astype(float)
    return _contrast(follows, rows, rows["method"].astype(object), {a: 1.0, b: -weight}, bounds=(0.0, 1.0))


def more_calls(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Calls an item that A takes more than B, each by itself."""
    rows = _ran(records, a, b)
    both = side_by_side(rows, a, b, rows["calls_alone"].astype(float))
    more = both["a"] - both["b"]
    return _evidence(more.mean(), mean_interval(more, both["question_id"]), both)


def _ran(records: pd.DataFrame, *names: str, column: str = "method", others: bool = False) -> pd.DataFrame:
    """The rows of these methods or designs, all of which are needed; with `others`, of all."""
    for name in names:
        if not (records[column] == name).any():
            raise NoEvidence(f"the design {name} was not run" if column == "design" else f"{name} was not run")
    return records if others else records[records[column].isin(names)]


def _of(rows: pd.DataFrame, denominator: str) -> pd.DataFrame:
    return rows if denominator == Denominator.ALL else rows[rows["correct"].notna()]


def _weights(rows: pd.DataFrame, condition: str) -> tuple[pd.Series, dict[str, float]]:
    """Each row's part of a condition, and the parts' weights: overall (both halves equally), "x", or "x-y"."""
    first, _, second = condition.partition("-")
    half = halves(rows)
    if first == "overall":
        return half, dict.fromkeys(half.unique(), 1 / half.nunique()) if len(rows) else {"standard": 1.0}
    parts = half if first in ("standard", "perturbed") else rows["level"]
    return parts, {first: 1.0} | ({second: -1.0} if second else {})


def _contrast(
    values: pd.Series,
    rows: pd.DataFrame,
    parts: pd.Series,
    weights: Mapping[str, float],
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Evidence:
    value, *ends = contrast_interval(values, rows["question_id"], parts, weights, bounds=bounds)
    return _evidence(value, ends, rows[parts.isin(list(weights))])


def _evidence(value: float, ends: Sequence[Any], rows: pd.DataFrame) -> Evidence:
    if rows.empty or math.isnan(value):
        raise NoEvidence("no item is left")
    low, high = map(float, ends)
    return Evidence(value=float(value), low=low, high=high, n=len(rows), n_questions=rows["question_id"].nunique())


OF_ACCURACY = (difference, accuracy_of, gap, worse_half, best_of_others, least_over_strata)
SHARES = (accuracy_of, following, highly_known)  # of which an interval stays within 0 and 1
OTHERS = (design_difference, following, offset_slope, highly_known, prior_preference_change, bias_contrast,
          more_calls)  # fmt: skip


def _each(
    a: str, b: str, name: str, values: Iterable[str], measured: Callable[[str], Evidence]
) -> list[dict[str, Any]]:
    """The evidence on A against B for each of the values that has any."""
    rows = []
    for value in values:
        with suppress(NoEvidence):
            rows.append({"a": a, "b": b, name: value} | asdict(measured(value)))
    return rows


def leads(
    records: pd.DataFrame, denominator: str = "all", a: str = "sr_dcr", b: str = "few_shot"
) -> list[dict[str, Any]]:
    """Accuracy of A less that of B on true and on false passages, and the mean of the two; of ``all`` or ``answered``
    items."""
    of = Denominator(f"{denominator} items")
    return _each(a, b, "condition", CONDITIONS, lambda condition: difference(records, a, b, condition, of))


def bias_change(records: pd.DataFrame, a: str = "sr_dcr", b: str = "few_shot") -> list[dict[str, Any]]:
    """The biases of A less those of B."""
    return _each(a, b, "bias", ("context", "prior"), lambda bias: bias_contrast(records, a, b, 1.0, bias))


def dearer(records: pd.DataFrame, a: str = "sr_dcr") -> list[dict[str, Any]]:
    """Calls an item that A takes more than each other method."""
    rivals = [b for b in records["method"].unique() if b != a]
    return _each(a, "", "b", rivals, lambda b: more_calls(records, a, b))
