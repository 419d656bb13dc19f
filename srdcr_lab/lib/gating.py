"""What the decision rule makes of records at any τ [3.2], and the utility of the final answers.

Verdicts, confidences and answers are in the records already, so no model is asked. `decided` is the rule for the rows
of a table; `srdcr_lab.lib.definitions.decide` is the same for one item.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.lib.comparison import condition_rows
from srdcr_lab.lib.definitions import ENDINGS
from srdcr_lab.lib.groups import halves, is_standard
from srdcr_lab.lib.statistics import Estimate, contrast_interval, ratio_interval
from srdcr_lab.lib.summary import CONDITIONS, summary
from srdcr_lab.records import BadInput, Decision, Missing, Verdict

STAGES = {
    "condition": CONDITIONS[:2],
    "answers": ("both right", "passage only", "prior only", "neither right"),
    "verdict": (*(verdict.value for verdict in Verdict), "no debate"),
    "confidence": ("confidence ≥ τ", "confidence < τ"),
    "ending": ENDINGS,
}
_NEAR = 0.05  # the share of the items on either side of the last answer taken whose risk is that of this answer


def decided(
    rows: pd.DataFrame, tau: ArrayLike, *, gate: bool = True, unreasonable: Decision = Decision.USE_PRIOR,
    unparsed: Decision = Decision.ABSTAIN,
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:  # fmt: skip
    """Apply the decision rule to the rows of a table, and find how each item ends.

    Rows of `sr_dcr` follow `decide`; those of `confidence_only` take the prior answer where Conf ≥ τ, otherwise the
    context answer.

    Parameters
    ----------
    rows : DataFrame
        Records; rows of other methods are decided as if they were rows of `sr_dcr`, which means nothing.
    tau : float or array-like
        Confidence threshold τ in [0, 1], or k of them.
    gate : bool, default True
        With False, Unreasonable leads to the prior answer whatever the confidence.
    unreasonable : Decision, default Decision.USE_PRIOR
        Decision after an unreasonable verdict.
    unparsed : Decision, default Decision.ABSTAIN
        Decision after an unparsed verdict.

    Returns
    -------
    decision : ndarray of str
        One of `Decision` for each row, with shape (n,), or (k, n) for k thresholds; of a row that failed it means
        nothing.
    ending : ndarray of str
        One of `ENDINGS` for each row, with the same shape: the grade of the answer, or why there is none.

    Raises
    ------
    BadInput
        A threshold, or a confidence, is no number in [0, 1].

    References
    ----------
    Paper, section 3.2.
    """
    taus = np.asarray(tau, float)
    if not ((taus >= 0) & ((taus <= 1) | np.isinf(taus))).all():  # an infinite one is never reached
        raise BadInput(f"tau is a number from 0 to 1, got {tau!r:.40}")
    beliefs = rows["self_confidence"].to_numpy(float, na_value=np.nan)
    if ((beliefs < 0) | (beliefs > 1)).any():
        raise BadInput("self_confidence lies from 0 to 1; map a score to that by a function that is fixed beforehand")
    sure = beliefs >= taus[..., np.newaxis]
    rejected, unread = (rows["verdict"].isin([each]) for each in (Verdict.UNREASONABLE, Verdict.UNPARSED))
    decision = np.select([rejected, unread], [unreasonable, unparsed], Decision.USE_CONTEXT)
    if gate:
        decision = np.where((decision == Decision.USE_PRIOR) & ~sure, Decision.ABSTAIN, decision)
    by_confidence = np.where(sure, Decision.USE_PRIOR, Decision.USE_CONTEXT)
    decision = np.where(rows["method"].str.match(r"confidence_only\b"), by_confidence, decision)
    context, prior = (
        rows[f"{side}_correct"].astype("boolean").to_numpy(float, na_value=np.nan) for side in ("context", "prior")
    )
    grade = np.select([decision == Decision.USE_CONTEXT, decision == Decision.USE_PRIOR], [context, prior], np.nan)
    abstained = (decision == Decision.ABSTAIN) & ~unread.to_numpy()
    ending = np.select(
        [rows["missing"].isin([Missing.ERROR]), grade == 1, grade == 0, abstained],
        [Missing.ERROR, "right", "wrong", Missing.ABSTAINED],
        Missing.UNPARSED,
    )
    return decision, ending


def decision_flow(records: pd.DataFrame) -> pd.DataFrame:
    """Count the items on every path through SR-DCR's decision.

    Parameters
    ----------
    records : DataFrame
        Records of one run, model and design.

    Returns
    -------
    DataFrame
        One row per path with items: `condition`; `answers`, which of the two answers are right (an unread one is not);
        `verdict`; `confidence`, against the row's τ (a missing one is below); `ending`, the grade of the final answer,
        or why there is none; `n`.
    """
    rows = records[records["method"] == "sr_dcr"]
    context, prior, right = (
        rows[name].astype("boolean").fillna(False).to_numpy(bool)
        for name in ("context_correct", "prior_correct", "correct")
    )
    sure = rows["self_confidence"].to_numpy(float, na_value=np.nan) >= rows["tau"].to_numpy(float)
    verdict, missing = (rows[name].astype(object) for name in ("verdict", "missing"))
    paths = {
        "condition": halves(rows),
        "answers": np.select([context & prior, context, prior], STAGES["answers"][:3], STAGES["answers"][3]),
        "verdict": verdict.where(verdict.notna(), "no debate"),
        "confidence": np.where(sure, *STAGES["confidence"]),
        "ending": missing.where(missing.notna(), np.where(right, "right", "wrong")),
    }
    ordered = pd.DataFrame({name: pd.Categorical(paths[name], values) for name, values in STAGES.items()})
    counts = ordered.groupby([*STAGES], observed=True).size().reset_index(name="n")
    return counts.astype(dict.fromkeys(STAGES, str))


def redecided(
    records: pd.DataFrame, tau: float, *, gate: bool = True, from_memory: Collection[str] = ()
) -> pd.DataFrame:
    """Change records to another τ.

    Only rows of `sr_dcr` and `confidence_only`, also with a name behind it such as "sr_dcr (judge_alone)", that did not
    fail change.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    tau : float
        Confidence threshold τ in [0, 1].
    gate : bool, default True
        False for the preset `released`.
    from_memory : Collection[str], default ()
        Ids of items without a passage, on which an unsure `confidence_only` abstains.

    Returns
    -------
    DataFrame
        The records with `tau`, decision and final answer of the new threshold.
    """
    decision, ending = decided(records, tau, gate=gate)
    changes = records["method"].str.match(r"(sr_dcr|confidence_only)\b") & (ending != Missing.ERROR)
    takes_context = decision == Decision.USE_CONTEXT
    abstains = records["item_id"].isin(from_memory).to_numpy() & takes_context
    ending = np.where(abstains, Missing.ABSTAINED, ending)
    right, answered = ending == "right", np.isin(ending, ["right", "wrong"])
    context, prior = (records[f"{side}_answer"].to_numpy(object) for side in ("context", "prior"))
    nothing = np.full(len(records), None)
    answer = np.select([answered & takes_context, answered], [context, prior], nothing)
    values = {
        "decision": np.where(abstains, Decision.ABSTAIN, decision).astype(object),
        "final_answer": answer,
        "final_answers": [np.array([each] if each is not None else [], object) for each in answer],
        "correct": np.where(answered, right, nothing),
        "right": right,
        "missing": np.where(answered, nothing, ending),
    }
    changed = {name: pd.Series([*column], records.index, object) for name, column in values.items()}
    table = {name: records[name].astype(object).mask(changes, new) for name, new in changed.items()}
    return records.assign(**table, tau=tau).astype({name: records[name].dtype for name in values})


def decisions_by_condition(records: pd.DataFrame, tau: float, *, gate: bool = True) -> pd.DataFrame:
    """Tabulate what SR-DCR decides at one τ.

    Parameters
    ----------
    records : DataFrame
        Records of one run, model and design.
    tau : float
        Confidence threshold τ in [0, 1].
    gate : bool, default True
        False for the preset `released`.

    Returns
    -------
    DataFrame
        One row per condition (true passages, false passages, overall): the columns of `summary`, and in `use_context`,
        `use_prior` and `abstain` how many items are decided so; items that failed are in none of them.
    """
    changed = redecided(records[records["method"] == "sr_dcr"], tau, gate=gate)
    decisions = [condition_rows(changed, condition)["decision"] for condition in CONDITIONS]
    counts = {each.lower(): [int((column == each).sum()) for column in decisions] for each in Decision}
    return summary(changed).assign(**counts)


# What answers are worth


@dataclass(frozen=True)
class FinalAnswers:
    """The answers of one method as arrays with one value per item.

    Attributes
    ----------
    right : ndarray of float
        1 for right, 0 for wrong, NaN for missing.
    question : ndarray of int
        The question, as a number from 0.
    true : ndarray of bool
        Whether the passage is true.
    belief : ndarray of float
        Belief in the answer, in [0, 1]; NaN if unknown, which ranks lowest.
    """

    right: NDArray[np.float64]
    question: NDArray[np.intp]
    true: NDArray[np.bool_]
    belief: NDArray[np.float64]

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> FinalAnswers:
        """Read the rows of one method.

        Parameters
        ----------
        records : DataFrame
            Rows of one method, optionally with their `beliefs` in the column `belief`.

        Returns
        -------
        FinalAnswers
            The arrays.
        """
        right = records["correct"].astype("Float64").to_numpy(float, na_value=np.nan)
        belief = records["belief"].to_numpy(float) if "belief" in records else np.full(len(records), np.nan)
        return cls(right, pd.factorize(records["question_id"])[0], is_standard(records).to_numpy(bool), belief)

    @property
    def n_without_belief(self) -> int:
        """Count the answers without a belief.

        Returns
        -------
        int
            Their number.
        """
        return int((~np.isnan(self.right) & np.isnan(self.belief)).sum())

    def worth(self, cost: float) -> NDArray[np.float64]:
        """Score each answer: 1 if right, 0 if missing, −`cost` if wrong.

        Parameters
        ----------
        cost : float
            Cost of a wrong answer, at least 0, in units of a right one.

        Returns
        -------
        ndarray of float
            One score per item.

        Raises
        ------
        BadInput
            The cost is negative or not finite.
        """
        if not (math.isfinite(cost) and cost >= 0):
            raise BadInput(f"the cost of a wrong answer is a number of at least 0, got {cost}")
        return np.where(np.isnan(self.right), 0.0, np.where(self.right == 1, 1.0, -cost))

    def mean(
        self, values: NDArray[np.float64], false_share: float, bounds: tuple[float, float] = (0.0, 1.0)
    ) -> Estimate:
        """Average a value per item at a share of false passages.

        Parameters
        ----------
        values : ndarray of float
            One value per item, within `bounds`.
        false_share : float
            Share of false passages, in [0, 1].
        bounds : tuple of float, float, default (0.0, 1.0)
            Smallest and largest possible value.

        Returns
        -------
        Estimate
            The mean with its 95 % interval, and the number of questions.
        """
        return contrast_interval(values, self.question, self.true, half_weights(false_share), bounds=bounds)

    def utility(self, cost: float, false_share: float) -> Estimate:
        """Compute utility per item, (right − cost · wrong) / n, at a share of false passages.

        Parameters
        ----------
        cost : float
            Cost of a wrong answer, at least 0.
        false_share : float
            Share of false passages, in [0, 1].

        Returns
        -------
        Estimate
            The utility with its 95 % interval, and the number of questions; NaN if the passages needed were not run.
        """
        return self.mean((self.worth(cost) + cost) / (1 + cost), false_share).scaled(1 + cost, -cost)

    def coverage(self, false_share: float) -> Estimate:
        """Compute the share of items that are answered.

        Parameters
        ----------
        false_share : float
            Share of false passages, in [0, 1].

        Returns
        -------
        Estimate
            The share with its 95 % interval, and the number of questions.
        """
        return self.mean((~np.isnan(self.right)).astype(float), false_share)

    def selective_accuracy(self, false_share: float) -> Estimate:
        """Compute the share of all given answers that are right.

        The overall row of a summary has the mean of the shares on true and on false passages instead.

        Parameters
        ----------
        false_share : float
            Share of false passages, in [0, 1].

        Returns
        -------
        Estimate
            The share with its 95 % interval, and the number of questions.
        """
        answered = (~np.isnan(self.right)).astype(float)
        return ratio_interval(np.nan_to_num(self.right), answered, self.question, self.true, half_weights(false_share))

    def with_ends(
        self, value: float, influence: NDArray[np.float64], false_share: float, coverage: float, least: float = 0.0
    ) -> Estimate:
        """Turn a value of `surest`, or a difference of two, into a value with its interval.

        Parameters
        ----------
        value : float
            The value, in [`least`, 1].
        influence : ndarray of float
            Influence of each item on it.
        false_share : float
            Share of false passages, in [0, 1].
        coverage : float
            Coverage at which the value was taken.
        least : float, default 0.0
            Smallest possible value.

        Returns
        -------
        Estimate
            The value with its 95 % interval, and the number of questions.
        """
        if math.isnan(value):
            return Estimate()
        _, low, high, n = self.mean(value + coverage * influence, false_share, (least, 1.0))
        low, high = (value + (end - value) / coverage for end in (low, high))
        return Estimate(value, max(least, low), min(1.0, high), n)

    def surest(self, coverage: float, false_share: float) -> Surest:
        """Measure the answers with the highest belief, as many as cover a given share of the items.

        Answers with equal belief are taken in equal parts, which is the expectation over their orders.

        Parameters
        ----------
        coverage : float
            Share of the items, in (0, 1].
        false_share : float
            Share of false passages, in [0, 1].

        Returns
        -------
        Surest
            Accuracy and AURC with the influence of each item.
        """
        weights = half_weights(false_share)
        sizes = {half: (self.true == half).sum() for half in weights}
        if not all(sizes.values()) or not coverage > 0:
            nothing = np.full(self.right.size, np.nan)
            return Surest(math.nan, math.nan, nothing, nothing, math.nan)
        weight = np.select([self.true == half for half in weights], [w / sizes[half] for half, w in weights.items()], 0)
        wrong = (self.right == 0).astype(float)
        order = np.where(np.isnan(self.right), np.inf, np.where(np.isnan(self.belief), 1, -self.belief))
        place = np.unique(order, return_inverse=True)[1]
        mass = np.bincount(place, weight * ~np.isnan(self.right))
        end = mass.cumsum()
        start, answered = end - mass, end[-1]
        near = np.maximum(np.minimum(end, coverage + _NEAR) - np.maximum(start, coverage - _NEAR), 0)
        start, end = np.minimum(start, coverage), np.minimum(end, coverage)
        taken, mass = end - start, np.where(mass > 0, mass, np.inf)
        rate = np.bincount(place, weight * wrong) / mass
        risk = float(rate @ taken / coverage)
        # Another study would cut elsewhere, unless all answers are taken: so the risk at the cut matters, too.
        at_cut = float(rate @ near / near.sum()) if coverage < answered - 1e-9 else risk
        with np.errstate(divide="ignore", invalid="ignore"):
            # A wrong answer at u adds 1 / v to the risk at each coverage v after u: log(coverage / u) in all.
            last, first = (np.nan_to_num(edge * (1 + np.log(coverage / edge))) for edge in (end, start))
            added = (last - first) / mass
            # An answer more, right or wrong, moves those after it on: each wrong one then adds less.
            after = np.nan_to_num(rate * np.log(end / start), posinf=0.0)
            own = rate * (taken - np.nan_to_num(start * np.log(end / start))) / mass
            moved = own + taken / mass * (after.sum() - after.cumsum())
        on_accuracy = (taken / mass)[place] * (at_cut - wrong) / coverage - (at_cut - risk)
        influence = wrong * added[place] - moved[place]
        area, slope = float((weight * wrong) @ added[place] / coverage), (risk - at_cut) / coverage
        return Surest(1 - risk, area, on_accuracy, (influence - weight @ influence) / coverage, slope)

    def matched(self, other: FinalAnswers, false_share: float) -> tuple[float, Surest, Surest]:
        """Measure the surest answers of two methods at the lower of their coverages.

        Parameters
        ----------
        other : FinalAnswers
            The other method, on the same items.
        false_share : float
            Share of false passages, in [0, 1].

        Returns
        -------
        tuple of float, Surest, Surest
            The coverage, and both methods there. The coverage is an estimate too; its error is part of both influences.
        """
        fewer = min((self, other), key=lambda each: each.coverage(false_share).value)
        coverage = fewer.coverage(false_share).value
        a, b = (each.surest(coverage, false_share) for each in (self, other))
        error = ~np.isnan(fewer.right) - coverage
        a, b = (each._replace(on_accuracy=each.on_accuracy + each.slope * error) for each in (a, b))
        return coverage, a, b


class Surest(NamedTuple):
    """Accuracy and AURC of the answers with the highest belief.

    Attributes
    ----------
    accuracy : float
        Share of right answers up to a coverage.
    aurc : float
        Mean risk over all coverages up to it.
    on_accuracy, on_aurc : ndarray of float
        Influence of each item on either, with mean 0; intervals are made from it.
    slope : float
        By how much the accuracy changes with the coverage, 0 where all answers are taken. The accuracy at the cut is
        that of the answers within 0.05 of the items on either side.
    """

    accuracy: float
    aurc: float
    on_accuracy: NDArray[np.float64]
    on_aurc: NDArray[np.float64]
    slope: float


def half_weights(false_share: float) -> dict[bool, float]:
    """Return the weights of true and of false passages at a share of false ones.

    Parameters
    ----------
    false_share : float
        Share of false passages, in [0, 1].

    Returns
    -------
    dict of bool to float
        True → weight of true passages, False → weight of false ones; a half without weight is left out.

    Raises
    ------
    BadInput
        The share is outside [0, 1].
    """
    if not 0 <= false_share <= 1:
        raise BadInput(f"a share of false passages lies in [0, 1], got {false_share}")
    return {true: weight for true, weight in ((True, 1 - false_share), (False, false_share)) if weight}
