"""Sequential categorisation: stop drawing once what N draws would say is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from srdcr_lab.measures.knowledge import CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, category_counts
from srdcr_lab.records import KnowledgeCategory

N_DRAWS, MAX_CHANGED = 32, 0.02


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When to stop after `drawn` draws of which `correct` are right, and which category it is then.

    `stop[drawn, correct]` and `label[drawn, correct]` (positions in `CATEGORIES`) have the shape (N + 1, N + 1); at N
    it always stops, with the category of all N. `expected_draws` per question and `expected_changed`, the share of
    questions whose label is not that of all N draws, are what the prior expects. Make it with `stopping_rule`.
    """

    n_draws: int
    stop: NDArray[np.bool_]
    label: NDArray[np.intp]
    expected_draws: float
    expected_changed: float

    def settled(self, correct: int, drawn: int) -> KnowledgeCategory | None:
        """The category if it is settled, None to draw on: what a protocol asks after each draw."""
        if not 0 <= correct <= drawn <= self.n_draws:
            raise ValueError(f"of at most {self.n_draws} draws {drawn} cannot have {correct} right ones")
        return CATEGORIES[self.label[drawn, correct]] if self.stop[drawn, correct] else None


def jeffreys_totals(n_draws: int = N_DRAWS, strength: float = 1.0) -> NDArray[np.float64]:
    """Probability of 0 … N right draws if accuracy ~ Beta(s/2, s/2): the prior of one who has seen no question."""
    k = np.arange(n_draws + 1)
    ways = gammaln(n_draws + 1) - gammaln(k + 1) - gammaln(n_draws - k + 1)
    half = strength / 2
    return np.asarray(np.exp(ways + betaln(k + half, n_draws - k + half) - betaln(half, half)))


def learnt_totals(totals: ArrayLike, n_draws: int = N_DRAWS, pseudo_questions: float = 20.0) -> NDArray[np.float64]:
    """Probability of 0 … N right draws, learnt from other questions with all N draws.

    totals : shape (q,), right draws of each. Jeffreys' prior counts as `pseudo_questions` further ones.
    """
    counts = np.bincount(np.asarray(totals, int), minlength=n_draws + 1)
    if counts.size > n_draws + 1:
        raise ValueError(f"of {n_draws} draws at most {n_draws} are right, got {counts.size - 1}")
    weights = counts + pseudo_questions * jeffreys_totals(n_draws)
    return np.asarray(weights / weights.sum())


def stopping_rule(
    prior: ArrayLike | None = None,
    *,
    n_draws: int = N_DRAWS,
    max_changed: float = MAX_CHANGED,
    looks: Sequence[int] | None = None,
    highly_from: float = HIGHLY_KNOWN_FROM,
    maybe_from: float = MAYBE_KNOWN_FROM,
) -> StoppingRule:
    """The rule with the fewest expected draws among those that are expected to change at most so many labels.

    Parameters
    ----------
    prior : shape (N + 1,), probability that 0 … N of a question's N draws are right; `jeffreys_totals` by default,
        `learnt_totals` of other questions saves more.
    max_changed : share of questions whose label may differ from that of all N draws; 0 stops only where no further
        draw can change it.
    looks : numbers of draws after which it may stop, such as (4, 8, …, 28) for draws in blocks; any by default.

    Notes
    -----
    Draws are exchangeable, so after k of m right P(K of N | k, m) ∝ prior(K) C(K, k) C(N − K, m − k). Stopping costs
    λ P(another label), a draw costs 1; backward induction gives the best rule for each λ, and the least λ that keeps
    to `max_changed` is taken. A prior unlike the questions keeps the rule sensible but not the share.

    Source: ours; optimal stopping by backward induction as in DeGroot, Optimal Statistical Decisions, 1970, chapter 12.
    """
    weights = jeffreys_totals(n_draws) if prior is None else np.asarray(prior, float)
    if weights.shape != (n_draws + 1,) or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(f"a prior has a probability for each of 0 to {n_draws} right draws")
    whole = category_counts(n_draws, highly_from=highly_from, maybe_from=maybe_from)
    states = _States.of(weights / weights.sum(), whole)
    allowed = np.ones(n_draws + 1, bool)
    if looks is not None:
        allowed[:] = False
        allowed[list(looks)] = True
    low, high = 0.0, 12.0  # of log10 λ
    best = _best(states, allowed, 10**high)
    for _ in range(30):
        middle = (low + high) / 2
        tried = _best(states, allowed, 10**middle)
        if tried.expected_changed <= max_changed:
            best, high = tried, middle
        else:
            low = middle
    return best


@dataclass(frozen=True, slots=True)
class _States:
    """For each (drawn, correct), padded to (N + 1, N + 1): the likeliest label, P(another), P(next draw is right)."""

    label: NDArray[np.intp]
    doubt: NDArray[np.float64]
    next_right: NDArray[np.float64]

    @classmethod
    def of(cls, weights: NDArray[np.float64], whole: NDArray[np.intp]) -> _States:
        n = weights.size - 1
        label = np.zeros((n + 1, n + 1), np.intp)
        doubt, next_right = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        one_hot = np.eye(len(CATEGORIES))[whole]
        for drawn in range(n + 1):
            likelihood = _hypergeometric(n, drawn)  # (correct, total)
            joint = likelihood * np.maximum(weights, 1e-30)  # no total is impossible
            posterior = joint / joint.sum(axis=1, keepdims=True)
            by_label = posterior @ one_hot
            here = slice(0, drawn + 1)
            label[drawn, here] = by_label.argmax(axis=1)
            others = by_label.sum(axis=1) - by_label.max(axis=1)
            doubt[drawn, here] = np.where(others > 1e-13, others, 0)  # what rounding leaves is none
            if drawn < n:
                left = (np.arange(n + 1) - np.arange(drawn + 1)[:, None]) / (n - drawn)
                next_right[drawn, here] = (posterior * left).sum(axis=1)
        return cls(label, doubt, next_right)


def _hypergeometric(n: int, drawn: int) -> NDArray[np.float64]:
    """P(correct right ones among the first `drawn` | total right ones of n); shape (drawn + 1, n + 1)."""
    correct, total = np.arange(drawn + 1)[:, None], np.arange(n + 1)

    def choose(of: NDArray[np.intp], k: NDArray[np.intp]) -> NDArray[np.float64]:
        possible = (k >= 0) & (k <= of)
        kept = np.where(possible, k, 0)
        return np.asarray(np.where(possible, gammaln(of + 1) - gammaln(kept + 1) - gammaln(of - kept + 1), -np.inf))

    ways = choose(total, correct) + choose(n - total, drawn - correct)
    return np.asarray(np.exp(ways - (gammaln(n + 1) - gammaln(drawn + 1) - gammaln(n - drawn + 1))))


def _best(states: _States, allowed: NDArray[np.bool_], penalty: float) -> StoppingRule:
    """Backward induction: at each state the cheaper of stopping and drawing on."""
    n = allowed.size - 1
    stop = np.zeros((n + 1, n + 1), bool)
    stop[n] = True
    cost, changed, draws = penalty * states.doubt[n], states.doubt[n].copy(), np.zeros(n + 1)
    for drawn in range(n - 1, -1, -1):
        here = slice(0, drawn + 1)
        right = states.next_right[drawn, here]
        ahead = [right * of[1 : drawn + 2] + (1 - right) * of[: drawn + 1] for of in (cost, changed, draws)]
        now = penalty * states.doubt[drawn, here]
        halt = allowed[drawn] & (now <= 1 + ahead[0]) & (drawn > 0)
        stop[drawn, here] = halt
        cost = np.where(halt, now, 1 + ahead[0])
        changed = np.where(halt, states.doubt[drawn, here], ahead[1])
        draws = np.where(halt, 0, 1 + ahead[2])
    return StoppingRule(n, stop, states.label, float(draws[0]), float(changed[0]))
