"""How reliable sources are, told without labels from how they agree, and majorities weighted by it (RA-RAG).

Everything takes votes in long form: three arrays of equal length, which question was answered, by which source, with
which answer (equal answers are equal values; a source that does not answer has no vote). An empty source, None or NaN,
is a source unknown: its votes count, with the mean weight of the others, and nothing is estimated of it.

Source: the estimate is the iterative weighted majority vote of Li and Yu 2014 (arXiv 1411.4086), which RA-RAG (Hwang et
al. 2025, arXiv 2410.22954) takes over for sources; several tied answers all stand (ours).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

_EQUAL = 1e-9  # weights that differ by less are tied


@dataclass(frozen=True)
class SourceReliability:
    """What cross-checking tells of each source, and the answers that follow.

    Parameters
    ----------
    table : one row a source: `source`; `reliability`, the share of its cross-checked answers that agree with the
        weighted majority, in [0, 1], NaN without any; `weight` ≥ 0; `n_votes`; `n_checked`, those on questions that
        another source answered too.
    majority : question → the answers of greatest weight, several if tied, in the order of the votes.
    iterations : how often weights were estimated.
    converged : whether the last iteration changed no majority.
    """

    table: pd.DataFrame
    majority: Mapping[Any, tuple[Any, ...]]
    iterations: int
    converged: bool


def source_reliability(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any], *, max_iterations: int = 100
) -> SourceReliability:
    """Estimate reliabilities and weighted majorities in turn, from equal weights, until no majority changes.

    1. The majority of a question is the answer of greatest total weight. 2. rᵢ is the share of source i's answers that
    are the majority's, over questions that another source answered too; one of m tied answers counts 1/m. 3. Its weight
    becomes max(0, L rᵢ − 1), L being the mean number of distinct answers to those questions: an answer picked at random
    weighs nothing. Where no source would have weight, all stay equal.
    """
    votes = _Votes.of(questions, sources, answers)
    weights = np.ones(votes.n_sources)
    winning, credit = votes.majority(weights)
    iterations, converged = 0, False
    reliability = votes.agreement(credit)
    while not converged and iterations < max_iterations:
        iterations += 1
        weights = votes.weights(reliability)
        now, credit = votes.majority(weights)
        reliability = votes.agreement(credit)
        converged, winning = bool(np.array_equal(now, winning)), now
    table = pd.DataFrame(
        {
            "source": votes.names,
            "reliability": reliability,
            "weight": weights,
            "n_votes": np.bincount(votes.source[votes.known], minlength=votes.n_sources),
            "n_checked": np.bincount(votes.source[votes.checked], minlength=votes.n_sources),
        }
    )
    return SourceReliability(table, votes.answers_of(winning), iterations, converged)


def weighted_majority(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any], weights: Mapping[Any, float] | None = None
) -> dict[Any, tuple[Any, ...]]:
    """Question → its answers of greatest weight. Without `weights` every source has one vote: the plain majority.

    With the true accuracies' weights it is the oracle that estimates are measured against.
    """
    votes = _Votes.of(questions, sources, answers)
    given = np.ones(votes.n_sources) if weights is None else np.array([weights[name] for name in votes.names], float)
    return votes.answers_of(votes.majority(given)[0])


def log_odds(accuracy: ArrayLike, n_answers: float) -> NDArray[np.float64]:
    """The weights that make a weighted majority most often right where sources err independently and evenly.

    log(p (L − 1) / (1 − p)) of a source right with probability p among L answers; 0 at chance and below.

    >>> log_odds([0.5, 0.9], 2).round(2).tolist()
    [0.0, 2.2]
    """
    p = np.clip(np.asarray(accuracy, float), 1e-6, 1 - 1e-6)
    weights: NDArray[np.float64] = np.maximum(0.0, np.log(p * (n_answers - 1) / (1 - p)))
    return weights


@dataclass(frozen=True)
class _Votes:
    """Votes by number: `option` is a distinct (question, answer); the arrays run over votes, or over options."""

    question: NDArray[np.intp]
    source: NDArray[np.intp]  # −1: unknown
    option: NDArray[np.intp]
    question_of_option: NDArray[np.intp]
    names: list[Any]
    question_names: list[Any]
    answer_of_option: list[Any]

    @classmethod
    def of(cls, questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any]) -> _Votes:
        if not len(questions) == len(sources) == len(answers):
            raise ValueError(f"votes are as many questions as sources as answers, got {len(questions)}, {len(sources)}")
        question, question_names = _numbered(questions)
        source, names = _numbered([None if name == "" else name for name in sources])
        option, options = _numbered(list(zip(question.tolist(), answers, strict=True)))
        of_option = np.array([number for number, _ in options], np.intp)
        return cls(question, source, option, of_option, names, question_names, [answer for _, answer in options])

    @property
    def n_sources(self) -> int:
        return len(self.names)

    @property
    def known(self) -> NDArray[np.bool_]:
        return self.source >= 0

    @property
    def checked(self) -> NDArray[np.bool_]:
        """Votes of known sources on questions with more votes than one."""
        checkable: NDArray[np.bool_] = self.known & (np.bincount(self.question)[self.question] > 1)
        return checkable

    def majority(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Per option whether it wins its question, and what a vote for it is credited: 1/m with m winners."""
        of_unknown = weights.mean() if len(weights) else 1.0
        each = np.append(weights, of_unknown)[self.source]  # −1 is the last
        totals = np.bincount(self.option, weights=each, minlength=len(self.question_of_option))
        most = np.full(len(self.question_names), -np.inf)
        np.maximum.at(most, self.question_of_option, totals)
        wins: NDArray[np.bool_] = totals >= most[self.question_of_option] - _EQUAL
        winners = np.bincount(self.question_of_option, weights=wins, minlength=len(self.question_names))
        return wins, wins / np.maximum(winners, 1)[self.question_of_option]

    def agreement(self, credit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean credit of each source's checked votes; NaN without any."""
        checked = self.checked
        n = np.bincount(self.source[checked], minlength=self.n_sources)
        agreed = np.bincount(self.source[checked], weights=credit[self.option[checked]], minlength=self.n_sources)
        with np.errstate(invalid="ignore"):
            return agreed / n

    def weights(self, reliability: NDArray[np.float64]) -> NDArray[np.float64]:
        """max(0, L r − 1); a source of which nothing is known has the mean weight, and equal ones stand in for none."""
        raw = np.maximum(0.0, self.n_answers * reliability - 1)
        if not np.nansum(raw) > 0:
            return np.ones(self.n_sources)
        return np.where(np.isnan(raw), np.nanmean(raw), raw)

    @property
    def n_answers(self) -> float:
        """Mean number of distinct answers to the questions with more votes than one."""
        votes = np.bincount(self.question, minlength=len(self.question_names))
        distinct = np.bincount(self.question_of_option, minlength=len(self.question_names))
        return float(distinct[votes > 1].mean()) if (votes > 1).any() else 1.0

    def answers_of(self, wins: NDArray[np.bool_]) -> dict[Any, tuple[Any, ...]]:
        found: dict[Any, tuple[Any, ...]] = dict.fromkeys(self.question_names, ())
        for option in np.flatnonzero(wins):
            name = self.question_names[self.question_of_option[option]]
            found[name] = (*found[name], self.answer_of_option[option])
        return found


def _numbered(values: Sequence[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Each value's number in order of first appearance, −1 for none, and the values by number."""
    numbers: dict[Any, int] = {}
    codes = [-1 if value is None or value != value else numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(codes, np.intp), list(numbers)


@dataclass(frozen=True)
class Recovery:
    """How well an estimate recovers known accuracies.

    `rank_correlation` is Spearman's, of estimated reliability and true accuracy over the sources. `estimated`, `oracle`
    and `plain` are shares of questions of which the majority so weighted is the truth and nothing else.
    """

    rank_correlation: float
    estimated: float
    oracle: float
    plain: float
    iterations: int
    converged: bool
    table: pd.DataFrame


def recovery(
    questions: Sequence[Any],
    sources: Sequence[Any],
    answers: Sequence[Any],
    truth: Mapping[Any, Any],
    accuracy: Mapping[Any, float],
) -> Recovery:
    """Estimate from the votes alone, then compare with the truth; the oracle weighs by `log_odds` of the accuracies."""
    found = source_reliability(questions, sources, answers)
    table = found.table.assign(accuracy=[accuracy[name] for name in found.table["source"]])
    n_answers = len(set(zip(questions, answers, strict=True))) / len(set(questions))
    known = dict(zip(accuracy, log_odds(list(accuracy.values()), n_answers), strict=True))

    def right(majority: Mapping[Any, tuple[Any, ...]]) -> float:
        return float(np.mean([majority[question] == (answer,) for question, answer in truth.items()]))

    return Recovery(
        rank_correlation=float(table["reliability"].corr(table["accuracy"], method="spearman")),
        estimated=right(found.majority),
        oracle=right(weighted_majority(questions, sources, answers, known)),
        plain=right(weighted_majority(questions, sources, answers)),
        iterations=found.iterations,
        converged=found.converged,
        table=table,
    )
