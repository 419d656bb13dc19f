"""Thresholds across domains: one each, partly pooled, carried from one to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.measures.calibration.steps import PrecisionSteps, precision_steps
from srdcr_lab.measures.knowledge import jeffreys_interval
from srdcr_lab.measures.thresholds.choice import (
    ThresholdChoice,
    these_questions,
    transferred,
)

Choose = Callable[[PrecisionSteps], ThresholdChoice]


def steps_by_domain(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike) -> dict[str, PrecisionSteps]:
    """The steps of each domain's questions, in order of first appearance."""
    values, labels, of = _columns(confidence, target, domains)
    return {str(domain): precision_steps(values[of == domain], labels[of == domain]) for domain in of.unique()}


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
