"""From what the model answers alone and with the passage, over verdict and confidence, to the final answer [3.2]."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.estimates import clustered_interval, positions
from srdcr_lab.measures.evaluation import CONDITIONS, MACRO, MICRO
from srdcr_lab.measures.groups import STANDARD, group_columns, is_standard, strata, stratum_order
from srdcr_lab.measures.paper_tables import TITLE_1, TITLE_2, Cell, PaperTable, labelled, paper_table
from srdcr_lab.records import Missing, Verdict

STAGES = {
    "answers": ("both right", "passage only", "prior only", "neither right"),
    "verdict": ("REASONABLE", "UNREASONABLE", "UNPARSED", "no debate"),
    "confidence": ("Conf ≥ τ", "Conf < τ"),
    "ending": ("right", "wrong", "abstained", "unparsed", "error"),
}
_HALVES = ("standard", "perturbed")
_SHAPE = (len(_HALVES), *(len(values) for values in STAGES.values()))


def decision_flow(records: pd.DataFrame, method: str = "sr_dcr") -> pd.DataFrame:
    """Number of items on every way through the decision: `condition`, the columns of `STAGES`, `n`.

    `answers`: is the context answer right, the prior answer, both, neither; an unread one is not right. `verdict`: V*.
    `confidence`: against the row's τ; a missing one is below. `ending`: the final answer, or why there is none. Ways
    that no item took are left out. One run, model and design at a time.
    """
    rows = records[records["method"] == method]
    confidence = rows["self_confidence"].to_numpy(float, na_value=np.nan)
    return flow_table(flow_codes(rows), confidence >= rows["tau"].to_numpy(float), endings(rows))


def flow_codes(rows: pd.DataFrame) -> NDArray[np.intp]:
    """Positions of each row's condition, answers and verdict, shape (3, n): what no threshold moves."""
    context, prior = (_right(rows[f"{name}_correct"]) for name in ("context", "prior"))
    answers = np.where(context & prior, 0, np.where(context, 1, np.where(prior, 2, 3)))
    verdict = np.full(len(rows), 3)
    for place, one in enumerate((Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED)):
        verdict[np.asarray((rows["verdict"] == one).fillna(False), bool)] = place
    return np.stack([~is_standard(rows).to_numpy(bool), answers, verdict]).astype(np.intp)


def endings(rows: pd.DataFrame) -> NDArray[np.intp]:
    """Position of each row's ending in `STAGES`."""
    correct = rows["correct"].astype("boolean")
    ending = np.where(_right(correct), 0, 1)
    for place, why in enumerate((Missing.ABSTAINED, Missing.UNPARSED, Missing.ERROR), start=2):
        ending[np.asarray((rows["missing"] == why).fillna(False), bool)] = place
    return ending.astype(np.intp)


def flow_table(codes: NDArray[np.intp], confident: NDArray[np.bool_], ending: NDArray[np.intp]) -> pd.DataFrame:
    """The table of `decision_flow` from positions."""
    ways = np.ravel_multi_index((*codes, (~confident).astype(np.intp), ending), _SHAPE)
    counts = np.bincount(ways, minlength=int(np.prod(_SHAPE)))
    taken = np.flatnonzero(counts)
    columns = {"condition": _HALVES, **STAGES}
    places = np.unravel_index(taken, _SHAPE)
    table = {
        name: np.array(values, object)[place] for (name, values), place in zip(columns.items(), places, strict=True)
    }
    return pd.DataFrame({**table, "n": counts[taken]})


def _right(correct: pd.Series) -> NDArray[np.bool_]:
    return np.asarray(correct.astype("boolean").fillna(False), bool)


# -- what the decision rule does at any τ [3.2], from verdicts, confidences and answers that are already there

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


# -- records as arrays, so that tables and flow follow a slider within milliseconds; no model is asked

_RIGHT, _WRONG, _ABSTAINED, _UNPARSED, _ERROR = range(5)  # positions of flow.STAGES["ending"]
_OF_CORRECT = np.array([_WRONG, _RIGHT, _UNPARSED])


@dataclass(frozen=True)
class LiveRecords:
    """What the tables need of the records, one entry per row; made once, then asked at any τ.

    `names` are block, row and method of each group; `group`, `stratum` and `question` positions (`strata[0]` is
    standard); `ending` what became of the row at the τ it was run at. `decided` are the rows that τ moves: sr_dcr's
    debates (`verdict` as in `gating.decisions`) and those of confidence_only (`alone`), with the endings that the
    context and the prior answer would have (`if_context`, `if_prior`). `gate` is False for runs of the preset
    `released`, as for `redecide`.
    """

    names: tuple[tuple[str, str, str], ...]
    group: NDArray[np.intp]
    strata: tuple[str, ...]
    stratum: NDArray[np.intp]
    question: NDArray[np.intp]
    codes: NDArray[np.intp]
    confidence: NDArray[np.float64]
    ending: NDArray[np.intp]
    decided: NDArray[np.intp]
    verdict: NDArray[np.intp]
    alone: NDArray[np.bool_]
    if_context: NDArray[np.intp]
    if_prior: NDArray[np.intp]
    gate: bool = True

    @classmethod
    def from_records(cls, records: pd.DataFrame, *, gate: bool = True) -> LiveRecords:
        keys = group_columns(records)
        group = records.groupby(keys, sort=False, observed=True, dropna=False).ngroup().to_numpy(np.intp)
        first = records.iloc[np.unique(group, return_index=True)[1]]
        label = strata(records)
        order = [STANDARD, *(name for name in stratum_order(label.unique()) if name != STANDARD)]
        codes, ending = flow_codes(records), endings(records)
        method = records["method"].to_numpy(object)
        debated = (method == "sr_dcr") & (codes[2] != NO_DEBATE)
        decided = np.flatnonzero((debated | (method == "confidence_only")) & (ending != _ERROR))
        moved = records.iloc[decided]
        return cls(
            names=tuple(labelled(row) for row in first[keys].to_dict("records")),
            group=group,
            strata=tuple(order),
            stratum=positions(label, order),
            question=pd.factorize(records["question_id"])[0],
            codes=codes,
            confidence=records["self_confidence"].to_numpy(float, na_value=np.nan),
            ending=ending,
            decided=decided,
            verdict=codes[2][decided],
            alone=method[decided] == "confidence_only",
            if_context=_ending_of(moved["context_correct"]),
            if_prior=_ending_of(moved["prior_correct"]),
            gate=gate,
        )

    def at(self, tau: float | None) -> NDArray[np.intp]:
        """Every row's ending at this τ (positions in `flow.STAGES`); None: as it was run."""
        if tau is None:
            return self.ending
        confident = self.confidence[self.decided] >= tau
        choice = decisions(self.verdict, confident, gate=self.gate)
        choice[self.alone] = np.where(confident, PRIOR, CONTEXT)[self.alone]
        none = np.where(self.verdict == UNPARSED, _UNPARSED, _ABSTAINED)
        moved = np.choose(choice, [self.if_context, self.if_prior, none])
        ending = self.ending.copy()
        ending[self.decided] = moved
        return ending

    def tables(self, tau: float | None = None, strata: Collection[str] | None = None) -> tuple[PaperTable, PaperTable]:
        """Tables 1 and 2 at this τ, over these strata of the perturbed items (all: None), without intervals."""
        chosen = [i for i, name in enumerate(self.strata) if i and (strata is None or name in strata)]
        ending, shape = self.at(tau), (len(self.names), len(self.strata))
        cell = self.group * shape[1] + self.stratum
        n, answered, right = (
            np.bincount(cell, where, shape[0] * shape[1]).reshape(shape)
            for where in (np.ones(len(cell)), ending <= _WRONG, ending == _RIGHT)
        )
        one, two = [], []
        for g, names in enumerate(self.names):
            counts = np.stack([n[g], answered[g], right[g]])
            halves = counts[:, 0], counts[:, chosen].sum(axis=1)
            one += [Cell(*names, column, *_shares([half])) for column, half in zip(CONDITIONS, halves, strict=False)]
            one.append(Cell(*names, CONDITIONS[2], *_shares(halves)))
            levels = [counts[:, i] for i in chosen]
            two += [Cell(*names, self.strata[i], *_shares([level])) for i, level in zip(chosen, levels, strict=True)]
            two += [Cell(*names, MACRO, *_shares(levels)), Cell(*names, MICRO, *_shares([halves[1]]))]
        columns = (*(self.strata[i] for i in chosen), MACRO, MICRO)
        return paper_table(TITLE_1, one, CONDITIONS), paper_table(TITLE_2, two, columns)

    def flow(
        self, tau: float | None = None, row: str = "SR-DCR", strata: Collection[str] | None = None
    ) -> pd.DataFrame:
        """`decision_flow` of one row of the tables, at this τ; `strata` (of the perturbed items) as in `tables`."""
        wanted = [g for g, names in enumerate(self.names) if names[1] == row][:1]
        chosen = [i for i, name in enumerate(self.strata) if i == 0 or strata is None or name in strata]
        here = np.flatnonzero(np.isin(self.group, wanted) & np.isin(self.stratum, chosen))
        confident = self.confidence[here] >= (0.9 if tau is None else tau)
        return flow_table(self.codes[:, here], confident, self.at(tau)[here])

    def difference(
        self, a: str, b: str, tau: float | None = None, strata: Collection[str] | None = None
    ) -> tuple[float, float, float]:
        """Overall accuracy of row `a` less that of row `b` at this τ, and a 95 % interval for a slider.

        Macro over standard and perturbed. Normal approximation over questions (sum of each question's share); where a
        decision hangs on it, take `compare`. NaN where one of the two has no item of a half.
        """
        chosen = [i for i, name in enumerate(self.strata) if i == 0 or strata is None or name in strata]
        ending, kept = self.at(tau), np.isin(self.stratum, chosen)
        totals = np.zeros(int(self.question.max(initial=-1)) + 1)
        for label, sign in ((a, 1.0), (b, -1.0)):
            groups = [g for g, names in enumerate(self.names) if names[1] == label][:1]
            rows = np.flatnonzero(np.isin(self.group, groups) & kept)
            half = (self.stratum[rows] > 0).astype(int)
            size = np.bincount(half, minlength=2)
            if not size.all():
                return math.nan, math.nan, math.nan
            totals += np.bincount(self.question[rows], sign * (ending[rows] == _RIGHT) / (2 * size[half]), totals.size)
        asked = np.unique(self.question[kept])
        value, k = float(totals.sum()), asked.size
        if k < 2:
            return value, math.nan, math.nan
        half_width = 1.959964 * math.sqrt(k / (k - 1) * float(((totals[asked] - value / k) ** 2).sum()))
        return value, value - half_width, value + half_width


def _ending_of(correct: pd.Series) -> NDArray[np.intp]:
    """The ending if this answer is given: right, wrong, or unparsed where it could not be read."""
    return np.asarray(_OF_CORRECT[correct.astype("Int64").fillna(2).to_numpy(int)], np.intp)


def _shares(counts: Any) -> tuple[int, float, float]:
    """n, accuracy and selective accuracy of some parts: their counts added, their shares averaged over the parts."""
    n = int(sum(part[0] for part in counts))
    return n, _mean_known(counts, 2, 0), _mean_known(counts, 2, 1)


def _mean_known(counts: Any, over: int, under: int) -> float:
    known = [part[over] / part[under] for part in counts if part[under]]
    return float(sum(known) / len(known)) if known else math.nan
