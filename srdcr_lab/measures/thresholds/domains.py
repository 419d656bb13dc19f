"""Thresholds across domains: one each, partly pooled, carried from one to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.calibration.steps import PrecisionSteps, precision_steps
from srdcr_lab.measures.knowledge import jeffreys_interval
from srdcr_lab.measures.thresholds.choice import (
    NOTHING,
    ThresholdChoice,
    ThresholdMethod,
    share,
    these_questions,
    threshold_choice,
    transferred,
)
from srdcr_lab.measures.thresholds.tested import TAUS, learn_then_test

Choose = Callable[[PrecisionSteps], ThresholdChoice]


def steps_by_domain(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike) -> dict[str, PrecisionSteps]:
    """The steps of each domain's questions, in order of first appearance."""
    values, labels, of = _columns(confidence, target, domains)
    return {str(domain): precision_steps(values[of == domain], labels[of == domain]) for domain in of.unique()}


def learn_then_test_by_domain(
    steps: Mapping[str, PrecisionSteps],
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
    together: bool = False,
    **options: Any,
) -> dict[str, ThresholdChoice]:
    """A tested threshold for each domain from its own questions.

    The guarantee is each domain's by itself; with `together` each gets δ / number of domains, and it holds for all at
    once. `options` are those of `learn_then_test`.
    """
    each = delta / len(steps) if together else delta
    return {
        name: learn_then_test(of, alpha=alpha, delta=each, on=f"domain {name}", **options) for name, of in steps.items()
    }


def partially_pooled(
    steps: Mapping[str, PrecisionSteps], *, alpha: float = 0.1, taus: Sequence[float] = TAUS
) -> dict[str, ThresholdChoice]:
    """For each domain the smallest τ at which its risk, shrunk towards that of all domains, is at most α: no guarantee.

    At each τ the domains' wrong counts are taken as beta-binomial: the common mean m is the pooled risk, the strength s
    (in questions) has the greatest likelihood up to 10,000; shrunk risk = (n_wrong + s m) / (n_above + s).

    Source: empirical Bayes, e.g. Gelman et al., Bayesian Data Analysis, chapter 5.
    """
    share("alpha", alpha)
    grid = np.array(sorted(set(taus)))
    above = [[of.at(tau) for tau in grid] for of in steps.values()]
    n = np.array([[found.n_above for found in row] for row in above], float)
    wrong = n - np.array([[found.n_target for found in row] for row in above], float)
    shrunk = np.column_stack([_shrunk(n[:, j], wrong[:, j]) for j in range(grid.size)])
    chosen: dict[str, ThresholdChoice] = {}
    for i, (name, of) in enumerate(steps.items()):
        good = np.flatnonzero(shrunk[i] <= alpha)
        others = "no guarantee: the domain's risk was shrunk towards that of all domains, which may not resemble it"
        chosen[name] = threshold_choice(
            ThresholdMethod.PARTIALLY_POOLED,
            float(grid[good[0]]) if good.size else None,
            of,
            others if good.size else f"{NOTHING}: the shrunk risk is above {alpha:g} at every τ",
            chosen_on=these_questions(of, f"domain {name} and those of {len(steps) - 1} other domains"),
            alpha=alpha,
        )
    return chosen


def _shrunk(n: NDArray[np.float64], wrong: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each domain's shrunk risk at one τ; NaN where no domain has a question above it."""
    if n.sum() == 0:
        return np.full(n.size, np.nan)
    mean = wrong.sum() / n.sum()
    if mean in (0, 1) or np.count_nonzero(n) < 2:  # the strength has no likelihood to speak of: pool
        return np.full(n.size, mean)
    strength = _likeliest_strength(n, wrong, mean)
    return np.asarray((wrong + strength * mean) / (n + strength))


def _likeliest_strength(n: NDArray[np.float64], wrong: NDArray[np.float64], mean: float) -> float:
    from scipy.optimize import minimize_scalar
    from scipy.special import betaln

    def loss(log_strength: float) -> float:
        a, b = np.exp(log_strength) * mean, np.exp(log_strength) * (1 - mean)
        return float(-(betaln(wrong + a, n - wrong + b) - betaln(a, b)).sum())

    found = minimize_scalar(loss, bounds=(np.log(0.1), np.log(10_000)), method="bounded")
    return float(np.exp(found.x))


def transfer_matrix(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: Choose) -> pd.DataFrame:
    """τ chosen on domain i; its coverage and risk on domain j, with intervals.

    Parameters
    ----------
    choose : maps steps to a choice, such as `learn_then_test` or `target_precision`.

    Returns
    -------
    DataFrame, a row per ordered pair of domains: `chosen_on`, `applied_to`, `same_questions` (i = j: too good, as the
    choice has seen them), `tau` (NaN where no threshold attains it), `n`, `n_above`, `n_wrong`, `coverage` with
    `coverage_low`, `coverage_high`, `risk` with `risk_low`, `risk_high` (Jeffreys), `guarantee`. A τ that is carried
    to another domain has no guarantee there.
    """
    steps = steps_by_domain(confidence, target, domains)
    choices = {name: replace(choose(of), chosen_on=these_questions(of, f"domain {name}")) for name, of in steps.items()}
    rows = []
    for here, choice in choices.items():
        for there, of in steps.items():
            shown = choice if here == there else transferred(choice, of, f"domain {there}")
            rows.append(_row(here, there, here == there, shown))
    return pd.DataFrame(rows)


def leave_one_domain_out(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: Choose) -> pd.DataFrame:
    """τ chosen on all domains but one; its coverage and risk on that one. Columns of `transfer_matrix`."""
    values, labels, of = _columns(confidence, target, domains)
    rows = []
    for domain in of.unique():
        left = of == domain
        rest = precision_steps(values[~left], labels[~left])
        choice = replace(choose(rest), chosen_on=these_questions(rest, f"all domains but {domain}"))
        shown = transferred(choice, precision_steps(values[left], labels[left]), f"domain {domain}")
        rows.append(_row(f"all but {domain}", str(domain), False, shown))
    return pd.DataFrame(rows)


def _columns(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike) -> tuple[pd.Series, pd.Series, pd.Series]:
    values, labels, of = (pd.Series(part).reset_index(drop=True) for part in (confidence, target, domains))
    if not len(values) == len(labels) == len(of):
        raise ValueError(f"one domain per question, got {len(of)} for {len(values)}")
    return values, labels, of


def _row(chosen_on: str, applied_to: str, same: bool, shown: ThresholdChoice) -> dict[str, Any]:
    low, high = (float(end) for end in jeffreys_interval(shown.n_above, shown.n))
    return {
        "chosen_on": chosen_on,
        "applied_to": applied_to,
        "same_questions": same,
        "tau": np.nan if shown.tau is None else shown.tau,
        "n": shown.n,
        "n_above": shown.n_above,
        "n_wrong": shown.n_wrong,
        "coverage": shown.coverage,
        "coverage_low": low,
        "coverage_high": high,
        "risk": shown.risk,
        "risk_low": shown.low,
        "risk_high": shown.high,
        "guarantee": shown.guarantee,
    }
