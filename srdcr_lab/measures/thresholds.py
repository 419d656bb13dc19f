"""A threshold with what it promises: the result of every way to choose τ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv

from srdcr_lab.measures.estimates import jeffreys_interval
from srdcr_lab.measures.precision import PrecisionSteps, precision_steps

SCOPE = (
    "Risk is the share of wrong prior answers among questions with Conf ≥ τ, whatever their verdict: τ bounds errors "
    "of USE_PRIOR alone, not wrong passages that were believed (USE_CONTEXT)."
)
NOTHING = "no threshold attains this"


class ThresholdMethod(StrEnum):
    FIXED = "fixed"
    TARGET_PRECISION = "target_precision"
    LEARN_THEN_TEST = "learn_then_test"
    CONFORMAL_RISK_CONTROL = "conformal_risk_control"
    TRANSFERRED = "transferred"


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """τ, what is guaranteed of it in a sentence, on which questions, and what it buys.

    `tau` is None where no threshold attains what was asked; `n_above` and `coverage` are then 0 and `risk` NaN.
    `guaranteed` is False where the sentence begins with "no guarantee" or "no threshold"; `bound` is the number that
    the sentence guarantees, None without one. `coverage` = n_above / n and
    `risk` = n_wrong / n_above are of the `n` questions τ is shown on; after a choice on these very questions the risk,
    with its Jeffreys interval `low` to `high`, describes them and tends to be too good. `scope` is always the same:
    τ bounds USE_PRIOR errors alone.
    """

    method: ThresholdMethod
    tau: float | None
    guarantee: str
    guaranteed: bool
    bound: float | None
    chosen_on: str
    alpha: float | None
    delta: float | None
    n: int
    n_above: int
    n_wrong: int
    coverage: float
    risk: float
    low: float
    high: float
    scope: str = SCOPE

    def __str__(self) -> str:
        if self.tau is None:
            return f"{self.method.value}, on {self.chosen_on}: {self.guarantee}. {self.scope}"
        risk = "" if math.isnan(self.risk) else f", {self.n_wrong} wrong (risk {self.risk:.3f})"
        above = f"{self.n_above} of {self.n} questions above it{risk}"
        return f"{self.method.value}, on {self.chosen_on}: τ = {self.tau:.4g}; {above}; {self.guarantee}. {self.scope}"


def threshold_choice(
    method: ThresholdMethod,
    tau: float | None,
    steps: PrecisionSteps,
    guarantee: str,
    *,
    chosen_on: str,
    bound: float | None = None,
    alpha: float | None = None,
    delta: float | None = None,
) -> ThresholdChoice:
    """The choice, with what lies above τ on the given questions; without a `bound` it has no guarantee."""
    above = steps.at(math.inf if tau is None else tau)
    wrong = above.n_above - above.n_target
    low, high = (float(end) for end in jeffreys_interval(wrong, above.n_above))
    return ThresholdChoice(
        method=method,
        tau=tau,
        guarantee=guarantee,
        guaranteed=bound is not None and tau is not None,
        bound=None if tau is None else bound,
        chosen_on=chosen_on,
        alpha=alpha,
        delta=delta,
        n=steps.n_questions,
        n_above=above.n_above,
        n_wrong=wrong,
        coverage=above.coverage,
        risk=above.risk,
        low=low,
        high=high,
    )


def these_questions(steps: PrecisionSteps, named: str | None) -> str:
    """In words: the questions a choice was made on."""
    return f"{steps.n_questions} questions" + (f" of {named}" if named else "")


def share(name: str, value: float) -> float:
    """α or δ, if it lies between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} lies between 0 and 1, got {value}")
    return value


def transferred(choice: ThresholdChoice, steps: PrecisionSteps, to: str) -> ThresholdChoice:
    """A τ chosen elsewhere, shown on other questions: no guarantee, whatever it had where it was chosen.

    The risk and its interval are those of the questions of `to`, which took no part in the choice.
    """
    return threshold_choice(
        ThresholdMethod.TRANSFERRED,
        choice.tau,
        steps,
        f"no guarantee: τ was chosen on {choice.chosen_on} and is used on {to}, whose questions may differ"
        if choice.tau is not None
        else choice.guarantee,
        chosen_on=choice.chosen_on,
        alpha=choice.alpha,
        delta=choice.delta,
    )


# -- the paper's fixed threshold, and the threshold that looks best

PAPER_TAU = 0.90


def fixed_threshold(
    steps: PrecisionSteps, tau: float = PAPER_TAU, *, delta: float = 0.1, on: str | None = None
) -> ThresholdChoice:
    """τ as it was fixed beforehand, with an upper bound of its risk.

    Guaranteed, as τ does not depend on these questions: with probability ≥ 1 − δ the risk is at most the one-sided
    Clopper–Pearson bound, the p with P(Bin(n_above, p) ≤ n_wrong) = δ. Nothing where no question lies above τ.

    Source: τ = 0.90: paper 3.2 and 4.2; Clopper and Pearson 1934.
    """
    share("delta", delta)
    above = steps.at(tau)
    wrong = above.n_above - above.n_target
    if above.n_above == 0:
        upper, guarantee = None, f"no guarantee: no question lies above τ = {tau:g}"
    else:
        upper = 1.0 if wrong == above.n_above else float(betaincinv(wrong + 1, above.n_above - wrong, 1 - delta))
        guarantee = f"as τ was fixed beforehand, its risk is at most {upper:.3f} with probability ≥ {1 - delta:g}"
    return threshold_choice(
        ThresholdMethod.FIXED,
        tau,
        steps,
        guarantee,
        bound=upper,
        chosen_on=these_questions(steps, on),
        delta=delta,
    )


def target_precision(steps: PrecisionSteps, *, alpha: float = 0.1, on: str | None = None) -> ThresholdChoice:
    """The smallest τ whose risk on these very questions is at most α: the usual choice, without a guarantee.

    Of many thresholds the one that looks good enough is picked, so its true risk is above α about as often as not.
    """
    share("alpha", alpha)
    n_above, n_target = steps.n_above[:-1], steps.n_target[:-1]
    good = np.flatnonzero(n_above - n_target <= alpha * n_above + 1e-9)
    return threshold_choice(
        ThresholdMethod.TARGET_PRECISION,
        float(steps.tau[good[0]]) if good.size else None,
        steps,
        f"no guarantee: τ was picked where the risk on the same questions is at most {alpha:g}"
        if good.size
        else f"{NOTHING}: the risk is above {alpha:g} at every τ",
        chosen_on=these_questions(steps, on),
        alpha=alpha,
    )


# -- learn-then-Test: a threshold whose risk is at most α with probability at least 1 − δ

# Fixed before any question is seen; fine where confidences crowd. 0 means to believe every prior answer.
_HUNDREDTHS = (0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 99, 99.5, 99.9)
TAUS = tuple(of / 100 for of in _HUNDREDTHS)
STARTS = (0.97, 0.9, 0.8)


class Procedure(StrEnum):
    """How several thresholds are tested so that the probability of any false acceptance is at most δ.

    FIXED_SEQUENCE goes from each start down the grid, with δ / number of starts each, until a test fails; HOLM and
    BONFERRONI test the whole grid.
    """

    FIXED_SEQUENCE = "fixed_sequence"
    HOLM = "holm"
    BONFERRONI = "bonferroni"


def risk_tests(
    steps: PrecisionSteps,
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
    taus: Sequence[float] = TAUS,
    procedure: Procedure | str = Procedure.FIXED_SEQUENCE,
    starts: Sequence[float] = STARTS,
) -> pd.DataFrame:
    """For each τ of a grid, the test of "its risk is above α".

    Parameters
    ----------
    steps : of questions drawn independently from one population, with the target "the prior answer is right".
    taus, starts : fixed before these questions were seen; each start is one of the taus.

    Returns
    -------
    DataFrame, τ descending: `tau`, `n_above`, `n_wrong`, `risk`, `p_value` = P(Bin(n_above, α) ≤ n_wrong), 1 where
    nothing is above; `accepted`: the hypothesis is rejected, so that τ may be used.
    """
    share("alpha", alpha)
    share("delta", delta)
    grid = np.array(sorted(set(taus), reverse=True))
    place = np.searchsorted(steps.tau, grid, side="left")
    n_above, n_target = steps.n_above[place], steps.n_target[place]
    n_wrong = n_above - n_target
    p_values = np.where(n_above > 0, bdtr(n_wrong, np.maximum(n_above, 1), alpha), 1.0)
    with np.errstate(invalid="ignore"):
        risk = n_wrong / np.where(n_above > 0, n_above, np.nan)
    return pd.DataFrame(
        {
            "tau": grid,
            "n_above": n_above,
            "n_wrong": n_wrong,
            "risk": risk,
            "p_value": p_values,
            "accepted": _accepted(p_values, delta, Procedure(procedure), _places(grid, starts)),
        }
    )


def learn_then_test(
    steps: PrecisionSteps,
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
    taus: Sequence[float] = TAUS,
    procedure: Procedure | str = Procedure.FIXED_SEQUENCE,
    starts: Sequence[float] = STARTS,
    on: str | None = None,
) -> ThresholdChoice:
    """The smallest τ that the tests accept: P(risk(τ) ≤ α) ≥ 1 − δ over draws of the questions.

    Parameters
    ----------
    steps : of questions drawn independently from the population τ is for, target "the prior answer is right"; with
        another target read "without the target" for "wrong".
    taus, starts, procedure : chosen before these questions were seen.

    Notes
    -----
    Why it is valid. The risk P(wrong | Conf ≥ τ) is a ratio and not monotone in τ. Given how many of independent
    questions lie above a τ fixed beforehand, the number of wrong ones among them is binomial with exactly this risk;
    so p(τ) = P(Bin(n_above, α) ≤ n_wrong) is a p-value of "risk(τ) > α", given n_above and therefore without it. Each
    procedure keeps the probability of accepting any τ with risk(τ) > α at δ or below, whatever the dependence between
    the tests; so any accepted τ may be used. An order or a grid made of these questions' own confidences would not do
    for FIXED_SEQUENCE.

    Source: Angelopoulos, Bates, Candès, Jordan and Lei, Learn then Test, 2021 (their Hoeffding–Bentkus p-value
    replaced by the exact binomial); Holm 1979; several starts: ibid., fixed-sequence testing.
    """
    tests = risk_tests(steps, alpha=alpha, delta=delta, taus=taus, procedure=procedure, starts=starts)
    accepted = tests.loc[tests["accepted"], "tau"]
    tau = float(accepted.min()) if len(accepted) else None
    if tau is None:
        tested = len(starts) if Procedure(procedure) is Procedure.FIXED_SEQUENCE else len(tests)
        least = math.ceil(math.log(delta / tested) / math.log(1 - alpha))
        guarantee = f"{NOTHING}: risk ≤ {alpha:g} with probability ≥ {1 - delta:g} takes at least {least} questions "
        guarantee += "above τ, even if none of them is wrong"
    else:
        guarantee = f"with probability ≥ {1 - delta:g} over draws of the questions it was chosen on, the risk on "
        guarantee += f"further questions of the same population is at most {alpha:g}"
    return threshold_choice(
        ThresholdMethod.LEARN_THEN_TEST,
        tau,
        steps,
        guarantee,
        bound=alpha,
        chosen_on=these_questions(steps, on),
        alpha=alpha,
        delta=delta,
    )


def _places(grid: NDArray[np.float64], starts: Sequence[float]) -> list[int]:
    places = [int(i) for start in starts for i in np.flatnonzero(grid == start)]
    if len(places) != len(starts) or not places:
        raise ValueError(f"each start is one of the taus, got starts {tuple(starts)}")
    return places


def _accepted(
    p_values: NDArray[np.float64], delta: float, procedure: Procedure, starts: list[int]
) -> NDArray[np.bool_]:
    accepted = np.zeros(p_values.size, bool)
    if procedure is Procedure.BONFERRONI:
        return np.asarray(p_values <= delta / p_values.size)
    if procedure is Procedure.HOLM:
        order = np.argsort(p_values, kind="stable")
        held = p_values[order] <= delta / np.arange(p_values.size, 0, -1)
        accepted[order[: int(np.argmin(np.append(held, False)))]] = True
        return accepted
    for start in starts:
        held = p_values[start:] <= delta / len(starts)
        accepted[start : start + int(np.argmin(np.append(held, False)))] = True
    return accepted


# -- conformal risk control: bounds an expectation of a monotone loss, which is less than Learn-then-Test promises


def conformal_risk_control(steps: PrecisionSteps, *, alpha: float = 0.1, on: str | None = None) -> ThresholdChoice:
    """The smallest observed τ with (wrong above τ + 1) / (n + 1) ≤ α.

    The loss 1[Conf ≥ τ and prior wrong] falls with τ, so E[loss of the next question] ≤ α, the expectation being over
    the calibration questions as well: the share of *all* questions that are above τ and wrong, not the risk among
    those above, and no statement about the τ at hand. Questions need to be exchangeable.

    Source: Angelopoulos, Bates, Fisch, Lei and Schuster, Conformal Risk Control, 2024, theorem 1.
    """
    share("alpha", alpha)
    wrong = (steps.n_above - steps.n_target)[:-1]
    good = np.flatnonzero(wrong + 1 <= alpha * (steps.n_questions + 1) + 1e-9)
    return threshold_choice(
        ThresholdMethod.CONFORMAL_RISK_CONTROL,
        float(steps.tau[good[0]]) if good.size else None,
        steps,
        f"in expectation only: at most {alpha:g} of all questions are above τ and wrong, on average over the questions "
        "it was chosen on; the risk among those above τ is not bounded"
        if good.size
        else f"{NOTHING}: it takes more questions, or fewer wrong ones at high confidence",
        bound=alpha,
        chosen_on=these_questions(steps, on),
        alpha=alpha,
    )


# -- thresholds across domains: one each, partly pooled, carried from one to another

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


# -- every way to choose τ on the same questions, so that what each promises can be compared


def every_choice(
    steps: PrecisionSteps, *, alpha: float = 0.1, delta: float = 0.1, tau: float = PAPER_TAU, on: str | None = None
) -> tuple[ThresholdChoice, ...]:
    """Fixed at `tau`, target precision, Learn-then-Test, conformal risk control, in this order, at the same α and δ."""
    return (
        fixed_threshold(steps, tau, delta=delta, on=on),
        target_precision(steps, alpha=alpha, on=on),
        learn_then_test(steps, alpha=alpha, delta=delta, on=on),
        conformal_risk_control(steps, alpha=alpha, on=on),
    )


def recommended(choices: Sequence[ThresholdChoice]) -> ThresholdChoice:
    """The choice by Learn-then-Test, the only one whose guarantee is of the risk that was asked for; its `tau` is None
    where no threshold attains it."""
    return next(choice for choice in choices if choice.method is ThresholdMethod.LEARN_THEN_TEST)
