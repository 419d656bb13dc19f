"""The claims of the paper's section 4 as a table: each with one's own number, its interval and a verdict.

A claim compares one quantity with one bound; what the interval says of it is decided in `srdcr_lab.lib.sentences`. The
claims are *uncorrected*: by chance alone about one interval in twenty misses. The paper does not say whether a missing
answer counts as wrong in its accuracies, so a claim about accuracy has a row for either reading (`Denominator`).

A measure takes the records of one run and model, and raises `NoEvidence` where they cannot give the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from srdcr_lab.debates import without_debate
from srdcr_lab.lib.comparison import condition_rows, each_repeat, has_repeats, outcome, over_both, side_by_side
from srdcr_lab.lib.groups import FEW, GOLDEN, halves, in_macro, is_standard, of_one_kind, strata, with_matches
from srdcr_lab.lib.page import Html, shown
from srdcr_lab.lib.sentences import Relation, Standing, standing
from srdcr_lab.lib.statistics import clustered_interval, contrast_interval, mean_interval, paired_interval
from srdcr_lab.preference import offset_slopes, perturbed_answers
from srdcr_lab.records import KnowledgeCategory
from srdcr_lab.records.names import IN_PAPER, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A value with its 95 % interval and what it rests on.

    Attributes
    ----------
    value : float, default math.nan
        The number; NaN if it could not be measured.
    low, high : float, default math.nan
        Ends of its 95 % interval.
    n : int, default 0
        Items behind it.
    n_questions : int, default 0
        Questions behind it.
    note : str, default ""
        A remark, or why there is no value.
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_questions: int = 0
    note: str = ""


class NoEvidence(Exception):
    """The records cannot give the number; the message says why."""


class Denominator(StrEnum):
    """What an accuracy is a share of: all items, where a missing answer counts as wrong, or the answered items."""

    ALL = "all items"
    ANSWERED = "answered items"


# What is measured


def accuracy_difference(
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
    """Compute the accuracy of A minus that of B under a condition.

    The comparison is over the items that both have, or over those that each of them answered. It is paired if these are
    the same items.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method or design.
    b : str
        The second method or design.
    condition : str
        Standard, perturbed, overall (both halves weighted alike), a level, or "x-y" for a difference of two of these.
    denominator : str, default Denominator.ALL
        A `Denominator`.
    column : str, default "method"
        The column of `a` and `b`: method or design.
    name : str, default "correct"
        What counts: `correct` for right answers, `verdict_right` for right verdicts.
    level : float, default 0.95
        Level of the interval.

    Returns
    -------
    Evidence
        The difference with its interval.

    Raises
    ------
    NoEvidence
        One of the two was not run, or no item is left.
    """
    items, wide = _side_by_side(_ran(records, a, b, column=column), denominator, column, name)
    return _lead(items, wide[a], wide[b], condition, denominator, level)


def design_difference(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Compute the share of right verdicts of design A minus that of design B.

    The comparison is paired, with true and false passages weighted alike.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first design.
    b : str
        The second design.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    debates = records[records["method"] == "sr_dcr"]
    return accuracy_difference(debates, a, b, "overall", column="design", name="verdict_right")


def accuracy_of(records: pd.DataFrame, method: str, condition: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the accuracy of one method under one condition.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    condition : str
        Standard, perturbed, overall or a level.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The accuracy with its interval, clustered on the question.
    """
    rows = condition_rows(_of(_ran(records, method), denominator), condition)
    return _share(outcome(rows, "correct"), rows)


def gap(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the accuracy of one method on true passages minus that on false ones.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    rows = _of(_ran(records, method), denominator)
    return _contrast(outcome(rows, "correct"), rows, *_weights(rows, "standard-perturbed"))


def worse_half(records: pd.DataFrame, a: str, b: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compare two methods by the lower of their accuracies on true and on false passages.

    Always abstaining gains nothing here. A is better only if both its accuracies are above the lower one of B, so each
    end of the interval is the smaller one of the two contrasts.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The lower accuracy of A minus the lower accuracy of B, with its interval.

    Raises
    ------
    NoEvidence
        One of the two has no items with true, or with false, passages.
    """
    rows = _of(_ran(records, a, b), denominator)
    cells, right = rows["method"].astype(str) + " " + halves(rows), outcome(rows, "correct")
    means = right.groupby(cells).mean()
    if len(means) < 4:
        raise NoEvidence("one of the two has no items with true, or with false, passages")
    worse = min(("perturbed", "standard"), key=lambda half: means[f"{b} {half}"])
    leads = [
        _contrast(right, rows, cells, {f"{a} {half}": 1.0, f"{b} {worse}": -1.0}) for half in ("standard", "perturbed")
    ]
    least = {name: min(getattr(lead, name) for lead in leads) for name in ("value", "low", "high")}
    note = f"the worse half of {called(b)}: {worse}"
    return replace(leads[0], **least, n=len(rows), note=note)


def best_of_others(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the smallest overall lead of a method over the paper's other methods, except golden.

    Golden knows the truth, so no method can beat it.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The smallest lead, with an interval for a minimum.
    """
    _ran(records, method)
    return _least_lead({"": records}, method, denominator)


def least_over_strata(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the smallest lead of a method on false passages, over all offsets and all other methods.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The smallest lead, with an interval for a minimum.
    """
    _ran(records, method)
    false = condition_rows(records, "perturbed")
    stratum = strata(false)
    parts = {f" at {name}": false[stratum == name] for name in in_macro(list(stratum.unique()))}
    return _least_lead(parts, method, denominator)


def following(records: pd.DataFrame, level: str, *categories: str) -> Evidence:
    """Compute few-shot context preference on passages of one level, for some knowledge categories.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    level : str
        The level of the false passages.
    *categories : str
        The knowledge categories.

    Returns
    -------
    Evidence
        The share with its interval.
    """
    rows = perturbed_answers(condition_rows(records, level))
    rows = rows[rows["knowledge_category"].isin(categories) & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    return _share(rows["follows_claim"].astype(float), rows)


def offset_slope(records: pd.DataFrame, category: str) -> Evidence:
    """Compute the log-odds of following a claim per 100 years of offset.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    category : str
        The knowledge category.

    Returns
    -------
    Evidence
        The slope with its interval.
    """
    slopes = offset_slopes(records).rename(columns={"slope": "value"})
    for row in slopes[slopes["knowledge_category"] == category].to_dict("records"):
        return Evidence(**{field.name: row[field.name] for field in fields(Evidence)})
    raise NoEvidence("no year offsets")


def share_highly_known(records: pd.DataFrame, at_least: float, below: float = math.inf) -> Evidence:
    """Compute P(Highly-Known | confidence in [at_least, below)) over unique questions.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    at_least : float
        Lowest confidence.
    below : float, default math.inf
        Upper bound of the confidence, excluded.

    Returns
    -------
    Evidence
        The share with its Jeffreys interval.
    """
    rows = of_one_kind(records)
    rows = rows[rows["knowledge_category"].notna() & rows["self_confidence"].notna()]
    rows = rows.drop_duplicates([name for name in ("repeat", "question_id") if name in rows])
    rows = rows[(rows["self_confidence"] >= at_least) & (rows["self_confidence"] < below)]
    return _share(rows["knowledge_category"] == KnowledgeCategory.HIGHLY_KNOWN, rows)


def prior_preference_change(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Compute the prior preference of A minus that of B on the false passages that both answered.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    _ran(records, a, b)
    rows = pd.concat([perturbed_answers(records, method) for method in (a, b)])
    rows = rows[~rows["prior_is_claim"]]
    both = side_by_side(rows, a, b, rows["follows_prior"].astype("Float64").astype(float))
    return _evidence(paired_interval(both["a"] - both["b"], both["question_id"], *_weights(both, "perturbed")), both)


def bias_contrast(records: pd.DataFrame, a: str, b: str, weight: float) -> Evidence:
    """Compute the prior bias of A minus `weight` times that of B.

    The prior bias is the share of prior answers on true passages whose question the model got wrong.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.
    weight : float
        Factor of B's bias.

    Returns
    -------
    Evidence
        The contrast with its interval.
    """
    rows = _ran(records, a, b)
    wrong = ~rows["prior_correct"].astype("boolean").fillna(True)
    rows = with_matches(rows[is_standard(rows) & wrong.astype(bool)])
    follows = rows["final_is_prior"].fillna(False).astype(float)
    return _contrast(follows, rows, rows["method"].astype(object), {a: 1.0, b: -weight})


def more_calls(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Compute how many more calls per item A takes than B, each by itself.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    rows = _ran(records, a, b)
    both = side_by_side(rows, a, b, rows["calls_alone"].astype(float))
    more = both["a"] - both["b"]
    return _evidence((more.mean(), *mean_interval(more, both["question_id"])), both)


def _least_lead(parts: Mapping[str, pd.DataFrame], method: str, denominator: str) -> Evidence:
    """The least lead with an interval for a minimum.

    Its low end is the least of the leads' (all have to be above, so none is corrected), its high end the least of their
    ends at level 1 − 0.05 / their number (one below is enough).

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
    ends = (value, min(lead[1] for lead in leads), min(lead[2] for lead in leads))
    own_rows = pd.concat([part[part["method"] == method] for part in parts.values()])
    return replace(_evidence(ends, own_rows), note=f"the least lead is over {name}")


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
        twice = np.tile(questions, 2)
        ends = contrast_interval(values[here], twice[here], cells[here], signed, bounds=(0.0, 1.0), level=level)
    return _evidence(ends, items[parts.isin(list(weights))])


def _ran(records: pd.DataFrame, *names: str, column: str = "method") -> pd.DataFrame:
    """The rows of these methods or designs, all of which are needed."""
    for name in names:
        if not (records[column] == name).any():
            raise NoEvidence(f"{called(name)} was not run")
    return records[records[column].isin(names)]


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


def _share(hits: pd.Series, rows: pd.DataFrame) -> Evidence:
    return _evidence((hits.mean(), *clustered_interval(hits, rows["question_id"])), rows)


def _contrast(shares: pd.Series, rows: pd.DataFrame, parts: pd.Series, weights: Mapping[str, float]) -> Evidence:
    ends = contrast_interval(shares, rows["question_id"], parts, weights, bounds=(0.0, 1.0))
    return _evidence(ends, rows[parts.isin(list(weights))])


def _evidence(ends: Sequence[Any], rows: pd.DataFrame) -> Evidence:
    """A value and its interval, of these rows."""
    value, low, high = map(float, ends)
    if rows.empty or math.isnan(value):
        raise NoEvidence("no item is left")
    return Evidence(value=value, low=low, high=high, n=len(rows), n_questions=rows["question_id"].nunique())


OF_ACCURACY = (accuracy_difference, accuracy_of, gap, worse_half, best_of_others, least_over_strata)
_OF_SHARES = (accuracy_of, following, share_highly_known)  # of which an interval stays within 0 and 1

# What the paper claims


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is measured here.

    Attributes
    ----------
    key : str
        Section of the paper, with a letter.
    text : str
        The claim in words.
    quantity : str
        What is measured.
    paper : str
        What the paper prints.
    measure : callable
        The function that takes records and gives `Evidence`.
    arguments : sequence of str or float
        Its further arguments.
    relation : Relation, default Relation.ABOVE
        How the quantity has to lie relative to `threshold`.
    threshold : float, default 0.0
        The bound.
    reading : str, default ""
        Our interpretation, where the paper leaves it open.
    """

    key: str
    text: str
    quantity: str
    paper: str
    measure: Callable[..., Evidence]
    arguments: Sequence[str | float]
    relation: Relation = Relation.ABOVE
    threshold: float = 0.0
    reading: str = ""

    @property
    def denominators(self) -> tuple[str, ...]:
        """Return the denominators under which the claim is checked.

        Returns
        -------
        tuple of str
            Both of `Denominator` for a claim about accuracy; other measures have a denominator of their own, named "".
        """
        return tuple(Denominator) if self.measure in OF_ACCURACY else ("",)

    @property
    def rests_on(self) -> tuple[str, str | None] | None:
        """Return the debates whose arguments the claim is about.

        Returns
        -------
        tuple of str and str or None
            Method and design, as in `without_debate`; None for a claim about anything else.
        """
        if self.measure is design_difference:
            return _SR_DCR, str(self.arguments[0])
        return (_ROUNDS[0], None) if self.arguments[:2] == _ROUNDS else None

    def evidence(self, records: pd.DataFrame, denominator: str = "") -> Evidence:
        """Measure the quantity on records.

        Parameters
        ----------
        records : DataFrame
            One row per item × method, as `Results.records`.
        denominator : str, default ""
            A `Denominator`, or "".

        Returns
        -------
        Evidence
            The value, NaN with a note if the records cannot give it. Its interval is over questions, and over repeats
            if there are several.
        """
        if not has_repeats(records):
            return self._measured(records, denominator)
        pooled, each = each_repeat(records)
        together, *single = (self._measured(part, denominator) for part in (pooled, *each))
        ends = [(part.value, part.low, part.high) for part in (together, *single)]
        bounds = (0.0, 1.0) if self.measure in _OF_SHARES else (-math.inf, math.inf)
        sd, low, high, n_repeats = over_both(ends[0], ends[1:], together.n_questions, bounds=bounds)
        varied = f"sd {sd:.3f} over {n_repeats} repeats" if n_repeats > 1 else ""
        note = "; ".join(filter(None, [together.note, varied]))
        return replace(together, low=low, high=high, n=together.n // len(each), note=note)

    def _measured(self, records: pd.DataFrame, denominator: str) -> Evidence:
        try:
            return self.measure(records, *self.arguments, *filter(None, [denominator]))
        except NoEvidence as reason:
            return Evidence(note=str(reason))

    def standing(self, evidence: Evidence) -> Standing:
        """Say what the interval says about the claim.

        Parameters
        ----------
        evidence : Evidence
            The measured quantity.

        Returns
        -------
        Standing
            The verdict; "too few" below ten questions.
        """
        if evidence.n_questions < FEW:
            return Standing.TOO_FEW if evidence.n else Standing.NOT_MEASURED
        return standing(evidence.low, evidence.high, self.relation, self.threshold)


ACCURACY_ON = {"standard": "accuracy on true passages", "perturbed": "accuracy on false passages",
               "overall": "mean accuracy", "blatant": "accuracy on blatantly false passages"}  # fmt: skip


def _lead_of(
    a: str, b: str, key: str, text: str, paper: str, condition: str,
    relation: Relation = Relation.ABOVE, threshold: float = 0.0, reading: str = "",
) -> Claim:  # fmt: skip
    """A claim about the accuracy of A less that of B."""
    quantity = f"{ACCURACY_ON[condition]}, {called(a)} − {called(b)}"
    return Claim(key, text, quantity, paper, accuracy_difference, (a, b, condition), relation, threshold, reading)


def _dropping(method: str, keys: tuple[str, str], on_true: str, on_false: str) -> tuple[Claim, Claim]:
    """Two claims: a method does well on true passages, and drops sharply on false ones."""
    name = called(method)
    return (
        Claim(keys[0], f"{name} does well on true passages.", f"accuracy on true passages, {name}",
              f"GPT-3.5 {on_true}", accuracy_of, (method, "standard"), ABOVE, 0.8, "well is more than 80 %"),
        Claim(keys[1], f"{name} drops sharply on false ones.", f"accuracy on true − on false passages, {name}",
              f"GPT-3.5 {on_true} against {on_false}", gap, (method,), ABOVE, 0.2, "sharply is by more than 20 points"),
    )  # fmt: skip


ABOVE, BELOW = Relation.ABOVE, Relation.BELOW
_ALL_FORMS = "of as many false passages of a question as these records have"
_NO_BASELINE = "no baseline is named, and the tables do not give the number; we take the debate without confidence"
_MARGIN = "the margin of 5 points is ours"
_ROUNDS, _SR_DCR = ("judge_debate_5", "judge_debate_1"), "sr_dcr"
_OVER_ROUNDS = "Judge Debate (Round 5) − Judge Debate (Round 1)"

CLAIMS = (
    Claim("4.1a", "The farther off a claim is, the less it is followed where the model knows the answer well.",
          "log-odds of following per 100 years, Highly-Known", "Figure 2",
          offset_slope, ("HIGHLY_KNOWN",), BELOW, reading=_ALL_FORMS),
    Claim("4.1b", "Where it knows little, the model follows even blatantly false passages.",
          "context preference on blatant passages, Unknown and Weakly-Known", "> 70 %",
          following, ("blatant", "UNKNOWN", "WEAKLY_KNOWN"), ABOVE, 0.7, _ALL_FORMS),
    Claim("4.2a", "Confidence of 0.90 or more means highly known.", "P(Highly-Known | confidence ≥ 0.90)", "> 0.88",
          share_highly_known, (0.9,), ABOVE, 0.88),
    Claim("4.2b", "Confidence of 0.95 or more means highly known.", "P(Highly-Known | confidence ≥ 0.95)", "> 0.95",
          share_highly_known, (0.95,), ABOVE, 0.95),
    Claim("4.2c", "Below 0.70, confidence overlaps poorly with what is highly known.",
          "P(Highly-Known | confidence < 0.70)", "poor", share_highly_known, (0.0, 0.7), BELOW, 0.5,
          "poor is less than half"),
    _lead_of(*_ROUNDS, "4.3a", "More rounds of judge debate raise accuracy on true passages.", "GPT-4o 70.0 → 96.0",
             "standard"),
    _lead_of(*_ROUNDS, "4.3b", "More rounds of judge debate lower accuracy on false passages.", "GPT-4o 57.3 → 45.3",
             "perturbed", BELOW),
    _lead_of("judge_debate_1", "self_ask", "4.3c", "One round resists false passages better than Self-Ask.",
             "GPT-4o 57.3 against 31.7", "perturbed"),
    _lead_of("judge_debate_1", "rci", "4.3d", "One round resists false passages better than RCI.",
             "GPT-4o 57.3 against 22.3", "perturbed"),
    Claim("4.3e", "Judges lean on the prior answer early and on the passage later.",
          f"prior preference on false passages, {_OVER_ROUNDS}", "Figures 4 and 9: falls",
          prior_preference_change, _ROUNDS, BELOW),
    Claim("4.3f", "More rounds hurt more where the passage is subtly false than where it is blatantly so.",
          f"({_OVER_ROUNDS}) subtle minus blatant", "Figures 4 and 9: steeper for subtle",
          accuracy_difference, (*_ROUNDS, "subtle-blatant"), BELOW),
    _lead_of(*_ROUNDS, "4.3g", "On blatantly false passages accuracy is stable over the rounds.", "relatively stable",
             "blatant", Relation.WITHIN, 0.1, reading="stable is within 10 points"),
    *_dropping("few_shot", ("4.4a1", "4.4a2"), "99.3", "9.0"),
    *_dropping("self_ask", ("4.4b1", "4.4b2"), "95.0", "14.7"),
    *_dropping("rci", ("4.4c1", "4.4c2"), "96.7", "12.3"),
    _lead_of("judge_debate_5", "few_shot", "4.4d",
             "Judge debate (5 rounds) resists false passages better than few-shot.",
             "GPT-3.5 17.0 against 9.0 (Sonnet 24.7 against 43.0)", "perturbed"),
    _lead_of("judge_debate_5", "few_shot", "4.4e", "It pays for that on true passages.", "GPT-3.5 90.3 against 99.3",
             "standard", BELOW),
    _lead_of(_SR_DCR, "naive_debate", "4.4f", "SR-DCR is the most accurate overall: better than Naive Debate.",
             "GPT-3.5 +3.4", "overall"),
    Claim("4.4g", "SR-DCR is better overall than every other method.", "mean accuracy, SR-DCR − the strongest other",
          "4 of 5 models", best_of_others, (_SR_DCR,)),
    _lead_of(_SR_DCR, "naive_debate", "4.4h", "SR-DCR gains most on false passages: over Naive Debate.",
             "GPT-4o +10.2, Haiku +20.2", "perturbed", reading="its text says Judge Debate and RCI"),
    _lead_of(_SR_DCR, "judge_debate_5", "4.4i", "… over Judge Debate (5 rounds).", "GPT-4o +9.2", "perturbed"),
    _lead_of(_SR_DCR, "rci", "4.4j", "… over RCI.", "Haiku +27.9", "perturbed"),
    Claim("4.4k", "SR-DCR is the most accurate at every offset.",
          "accuracy on false passages, SR-DCR − the strongest other",
          "GPT-3.5, but for offset 200 (38.3 against 40.0)", least_over_strata, (_SR_DCR,)),
    _lead_of(_SR_DCR, "few_shot", "4.4l", "SR-DCR keeps its accuracy on true passages.", "GPT-3.5 95.7 against 99.3",
             "standard", ABOVE, -0.05, reading=_MARGIN),
    _lead_of(_SR_DCR, "golden", "4.4m", "On false passages SR-DCR nearly matches the golden baseline.",
             "GPT-3.5 29.7 against 31.7", "perturbed", ABOVE, -0.05, reading=_MARGIN),
    Claim("4.4n", "SR-DCR balances both kinds of passage better than Naive Debate.",
          "accuracy on the worse kind of passage, SR-DCR − Naive Debate", "GPT-3.5 29.7 against 20.3",
          worse_half, (_SR_DCR, "naive_debate"),
          reading="the better balance is the higher of the two lower accuracies"),
    _lead_of(_SR_DCR, "confidence_only", "4.4o", "SR-DCR beats confidence alone.", "not tabulated", "overall"),
    _lead_of(_SR_DCR, "debate_only", "4.4p", "SR-DCR beats the debate alone.", "not tabulated", "overall"),
    _lead_of(_SR_DCR, "debate_only", "4.4q", "Self-reflection makes it more robust to false passages.", "+7.7",
             "perturbed", reading=_NO_BASELINE),
    _lead_of(_SR_DCR, "debate_only", "4.4r", "Self-reflection recovers accuracy on true passages.", "+5.6",
             "standard", reading=_NO_BASELINE),
    Claim("4.4s", "SR-DCR halves the prior bias of extended debates.", "prior bias, SR-DCR − ½ Judge Debate (Round 5)",
          "2 ×", bias_contrast, (_SR_DCR, "judge_debate_5", 0.5), BELOW,
          reading="extended debates are Judge Debate (Round 5)"),
    Claim("4.4t", "SR-DCR takes at most one call more than its debate.", "calls an item, SR-DCR − Debate Only", "1",
          more_calls, (_SR_DCR, "debate_only"), Relation.AT_MOST, 1.0),
    Claim("3.1", "Keeping the passage from the critic makes better verdicts.",
          "share of right verdicts, overall, ACVD − Symmetric", "not tested",
          design_difference, ("acvd", "symmetric"), reading="claimed in section 3.1, tested nowhere"),
)  # fmt: skip


def check_claims(
    records: pd.DataFrame, *, design: str | None = None, turns: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Check every claim of the paper on these records.

    Parameters
    ----------
    records : DataFrame
        One or several runs. With a column `repeat` (`load_repeats`) they are repeats of one study, and intervals are
        over questions and repeats.
    design : str, optional
        The debate design of SR-DCR; by default `acvd`, otherwise the first.
    turns : DataFrame, optional
        The utterances of these runs, as `Results.turns`. With them a claim about arguments is *not tested* if its
        debaters mostly repeat themselves (`debates.without_debate`).

    Returns
    -------
    DataFrame
        One row per run × model × claim × denominator, with the fields of `Claim` and `Evidence`, and the `standing`.

    References
    ----------
    Paper, section 4.
    """
    keys = [name for name in ("run", "model") if name in records]
    rows = []
    for values, part in records.groupby(keys, sort=False, observed=True):
        designs = [*part["design"].dropna().unique()]
        chosen = design or ("acvd" if "acvd" in designs else designs[0] if designs else None)
        of_one = part[part["design"].isna() | (part["design"] == chosen)]
        spoken = turns if turns is None or "run" not in keys else turns[turns["run"] == values[keys.index("run")]]
        hollow = set() if spoken is None else without_debate(spoken)
        for claim in CLAIMS:
            about = part if claim.measure is design_difference else of_one
            for denominator in claim.denominators:
                evidence = claim.evidence(about, denominator)
                row = dict(zip(keys, values, strict=True)) | {"claim": claim.key} | asdict(claim) | asdict(evidence)
                row |= {"relation": claim.relation.value, "denominator": denominator}
                row["standing"] = claim.standing(evidence).value
                if evidence.n and claim.rests_on in hollow:
                    row |= {"standing": Standing.NOT_TESTED.value, "note": "its debaters mostly repeat themselves"}
                rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, *_COLUMNS])


_COLUMNS = ("claim", "text", "quantity", "denominator", "paper", "value", "low", "high", "n", "n_questions", "relation",
            "threshold", "standing", "reading", "note")  # fmt: skip


def tally(checked: pd.DataFrame) -> str:
    """Count claims by verdict, a missing answer counted as wrong.

    Parameters
    ----------
    checked : DataFrame
        As returned by `check_claims`.

    Returns
    -------
    str
        Such as ``supported: 3, contradicted: 1``.
    """
    counts = checked.loc[checked["denominator"] != Denominator.ANSWERED, "standing"].value_counts()
    return ", ".join(f"{name}: {n}" for name, n in counts.items())


def claims_table(checked: pd.DataFrame) -> Html:
    """Show the checked claims of one model to a reader.

    Parameters
    ----------
    checked : DataFrame
        As returned by `check_claims`, of one model.

    Returns
    -------
    Html
        One row per claim, with both verdicts of a claim about accuracy.
    """
    keys = ["claim"]
    of_answers = checked[checked["denominator"] == Denominator.ANSWERED].set_index(keys)["standing"]
    rows = checked[checked["denominator"] != Denominator.ANSWERED]
    remarks = [f" ({reading})" if reading else "" for reading in rows["reading"]]
    texts = rows["claim"] + " " + rows["text"] + remarks
    claimed = [f"{relation} {bound:g}" for relation, bound in zip(rows["relation"], rows["threshold"], strict=True)]
    table = pd.DataFrame({"text": texts, "quantity": rows["quantity"], "paper": rows["paper"], "claimed": claimed})
    table = table.join(rows[["value", "low", "high", "n_questions", "standing"]].rename(columns={"value": "here"}))
    return shown(table.assign(of_answers=rows["claim"].map(of_answers)), "Uncorrected: each claim by its own interval.")
