"""What the decision rule does at any τ [3.2], from verdicts, confidences and answers that are already there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.flow import flow_codes
from srdcr_lab.measures.intervals import clustered_interval
from srdcr_lab.records import Missing

CONTEXT, PRIOR, ABSTAIN, _FAILED = range(4)
_REASONABLE, _UNREASONABLE, UNPARSED, NO_DEBATE = range(4)  # positions of flow.STAGES["verdict"]
TAUS = tuple(round(0.05 * step, 2) for step in range(21))


def decisions(verdict: NDArray[np.intp], confident: NDArray[np.bool_], *, gate: bool = True) -> NDArray[np.intp]:
    """The rule [3.2] over arrays: 0 context, 1 prior, 2 abstain.

    Reasonable → context; Unreasonable and `confident` (Conf ≥ τ) → prior; else none. Without `gate`, Unreasonable means
    prior whatever the confidence. Where a design saw no need for a debate, the two answers agreed: context.

    Parameters
    ----------
    verdict : positions in ``flow.STAGES["verdict"]``.
    """
    prior = (verdict == _UNREASONABLE) & (confident | (not gate))
    context = (verdict == _REASONABLE) | (verdict == NO_DEBATE)
    return np.where(context, CONTEXT, np.where(prior, PRIOR, ABSTAIN)).astype(np.intp)


@dataclass(frozen=True, slots=True)
class Gated:
    """Items of one condition under a τ: how many take each decision, how many are answered, how many right.

    `n_error` items failed and took no decision; an abstention may be for an UNPARSED verdict, and an answer that could
    not be read is chosen and not answered. Overall, the shares are the mean of the two conditions' (the paper's).
    """

    condition: str
    n: int
    use_context: int
    use_prior: int
    abstain: int
    n_error: int
    n_answered: int
    n_right: int
    coverage: float
    accuracy: float
    selective_accuracy: float


@dataclass(frozen=True)
class Gating:
    """The rows of one method that decides by the rule, as arrays over items.

    `verdict` as in `decisions`; `context_right` and `prior_right` are 0 or 1, NaN where no answer could be read. `gate`
    is False for runs of the preset `released`, which leaves confidence out of the rule.
    """

    condition: NDArray[np.intp]  # 0 standard, 1 perturbed
    question: NDArray[np.intp]
    verdict: NDArray[np.intp]
    confidence: NDArray[np.float64]
    context_right: NDArray[np.float64]
    prior_right: NDArray[np.float64]
    failed: NDArray[np.bool_]
    gate: bool = True

    @classmethod
    def from_records(cls, records: pd.DataFrame, method: str = "sr_dcr", *, gate: bool = True) -> Gating:
        rows = records[records["method"] == method]
        condition, _, verdict = flow_codes(rows)
        numbers = {
            name: rows[name].astype("Float64").to_numpy(float, na_value=np.nan)
            for name in ("self_confidence", "context_correct", "prior_correct")
        }
        return cls(
            condition=condition,
            question=pd.factorize(rows["question_id"])[0],
            verdict=verdict,
            confidence=numbers["self_confidence"],
            context_right=numbers["context_correct"],
            prior_right=numbers["prior_correct"],
            failed=(rows["missing"] == Missing.ERROR).to_numpy(bool, na_value=False),
            gate=gate,
        )

    def decide(self, tau: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Each item's decision (0 context, 1 prior, 2 abstain, 3 failed), and whether it answers right (NaN: not)."""
        choice = decisions(self.verdict, self.confidence >= tau, gate=self.gate)
        choice[self.failed] = _FAILED
        right = np.where(choice == CONTEXT, self.context_right, np.where(choice == PRIOR, self.prior_right, np.nan))
        return choice, right

    def at(self, tau: float) -> tuple[Gated, Gated, Gated]:
        """Standard, perturbed, overall; a τ in [0, 1]."""
        choice, right = self.decide(tau)
        known = ~np.isnan(right)
        counts = np.bincount(4 * self.condition + choice, minlength=8).reshape(2, 4)
        answered = np.bincount(self.condition[known], minlength=2)
        hits = np.bincount(self.condition[known], weights=right[known], minlength=2).astype(int)
        halves = [
            _gated(name, counts[i].tolist(), int(answered[i]), int(hits[i]))
            for i, name in enumerate(("standard", "perturbed"))
        ]
        return halves[0], halves[1], _overall(halves)


def _gated(condition: str, counts: Sequence[int], answered: int, right: int) -> Gated:
    use_context, use_prior, abstain, n_error = counts
    n = sum(counts)
    shares = (_share(answered, n), _share(right, n), _share(right, answered))
    return Gated(condition, n, use_context, use_prior, abstain, n_error, answered, right, *shares)


def _overall(halves: Sequence[Gated]) -> Gated:
    """Counts added; shares averaged over the conditions that have items."""
    present = [half for half in halves if half.n]
    counts = [sum(getattr(half, name) for half in halves) for name in _COUNTS]
    shares = [_mean([getattr(half, name) for half in present]) for name in _SHARES]
    return Gated("overall", *counts, *shares)


_COUNTS = ("n", "use_context", "use_prior", "abstain", "n_error", "n_answered", "n_right")
_SHARES = ("coverage", "accuracy", "selective_accuracy")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _mean(values: Sequence[float]) -> float:
    """Mean of the values there are; NaN for none."""
    there = [value for value in values if value == value]
    return sum(there) / len(there) if there else math.nan


def gating_table(gating: Gating, taus: Sequence[float] = TAUS) -> pd.DataFrame:
    """One row per τ × condition (standard, perturbed): the counts and shares of `Gated`, with 95 % intervals of both
    accuracies over questions."""
    rows = []
    for tau in taus:
        _, right = gating.decide(tau)
        for i, gated in enumerate(gating.at(tau)[:2]):
            here = gating.condition == i
            answered = here & ~np.isnan(right)
            hits = np.nan_to_num(right)
            row = {"tau": tau, **{name: getattr(gated, name) for name in ("condition", *_COUNTS, *_SHARES)}}
            for measure, part in (("accuracy", here), ("selective_accuracy", answered)):
                ends = clustered_interval(hits[part], gating.question[part])
                row |= {f"{measure}_low": ends[0], f"{measure}_high": ends[1]}
            rows.append(row)
    return pd.DataFrame(rows)
