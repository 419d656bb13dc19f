"""Records as arrays, so that tables and flow follow a slider within milliseconds; no model is asked.

`redecide` says what the decisions are; here the same is done without pandas. The two are tested against each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.evaluation import CONDITIONS
from srdcr_lab.measures.flow import endings, flow_codes, flow_table
from srdcr_lab.measures.gating import CONTEXT, NO_DEBATE, PRIOR, UNPARSED, decisions
from srdcr_lab.measures.groups import STANDARD, group_columns, strata, stratum_order
from srdcr_lab.measures.intervals import positions
from srdcr_lab.measures.paper_tables import TITLE_1, TITLE_2, Cell, PaperTable, labelled, paper_table
from srdcr_lab.measures.strata_accuracy import MACRO, MICRO

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
    return n, _mean(counts, 2, 0), _mean(counts, 2, 1)


def _mean(counts: Any, over: int, under: int) -> float:
    known = [part[over] / part[under] for part in counts if part[under]]
    return float(sum(known) / len(known)) if known else math.nan
