"""Do thresholds keep what they promise? 1,000 draws of questions from populations whose risk is known.

A population has a density of confidence and a frequency η(c) of right prior answers, so the risk above any τ is an
integral. Each draw chooses τ by every method; a choice whose true risk is above α (at the fixed τ: above the bound it
was given) is a violation. Learn-then-Test and the fixed τ may have a share of at most δ of them: the one-sided binomial
test asks whether they have significantly more. The threshold that looks best has. Conformal risk control is held to its
own promise, the mean over draws of the share of all questions that are above τ and wrong. In the last population the
risk is hardly above α and questions are many, so that violations come near δ: faults show there that others hide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binomtest

from srdcr_lab.lib.calibration import PrecisionSteps, precision_steps
from srdcr_lab.thresholds import ThresholdChoice, learn_then_test, naive_threshold

DRAWS, QUESTIONS, ALPHA, DELTA, LEVEL = 1000, 300, 0.10, 0.10, 0.05
POINTS, POWER_DRAWS = 200_000, 300
RECOMMENDED = "Learn-then-Test"


@dataclass(frozen=True)
class Population:
    """Confidence ~ Beta(a, b); the prior answer is right with probability `right`(confidence)."""

    name: str
    a: float
    b: float
    right: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    n: int = QUESTIONS

    def draw(self, n: int, rng: np.random.Generator) -> PrecisionSteps:
        confidence = rng.beta(self.a, self.b, n)
        return precision_steps(confidence, rng.random(n) < self.right(confidence))

    def above(self, tau: float) -> tuple[float, float]:
        """P(Conf ≥ τ) and P(Conf ≥ τ and wrong), by the midpoint rule over quantiles of confidence."""
        mass = float(beta.sf(tau, self.a, self.b))
        return mass, float(np.interp(mass * POINTS, np.arange(POINTS + 1), self._wrong_above))

    @cached_property
    def _wrong_above(self) -> NDArray[np.float64]:
        """The joint share above the upper 0, 1, 2 … of POINTS quantiles of confidence."""
        confidence = beta.isf((np.arange(POINTS) + 0.5) / POINTS, self.a, self.b)
        return np.append(0, np.cumsum(1 - self.right(confidence)) / POINTS)


POPULATIONS = (
    Population("calibrated", 4, 1, lambda c: c),
    Population("overconfident", 6, 1, lambda c: c**3),
    Population("risk 0.101 at every τ", 4, 1, lambda c: np.full_like(c, 0.899)),
    Population("riskier at the top", 4, 1, lambda c: np.where(c > 0.95, 0.85, 0.912)),
    Population("risk 0.1001 at every τ", 4, 1, lambda c: np.full_like(c, 0.8999), 3000),
)
METHODS: dict[str, Callable[[PrecisionSteps], ThresholdChoice]] = {
    "Learn-then-Test": partial(learn_then_test, alpha=ALPHA, delta=DELTA),
    "Learn-then-Test, 0.90 alone": partial(learn_then_test, alpha=ALPHA, delta=DELTA, taus=(0.9,), starts=(0.9,)),
    "Learn-then-Test, from 0.97 alone": partial(learn_then_test, alpha=ALPHA, delta=DELTA, starts=(0.97,)),
    "naive": partial(naive_threshold, alpha=ALPHA),
}


@dataclass(frozen=True)
class Kept:
    """What became of one method's choices over the draws: how many violate, and what they buy on average."""

    violations: int
    chosen: int
    draws: int
    joint_risk: float  # mean over draws of P(Conf ≥ τ and wrong); 0 where nothing was chosen
    coverage: float

    @property
    def p_value(self) -> float:
        """One-sided: of so many violations or more, if their probability were δ."""
        return float(binomtest(self.violations, self.draws, DELTA, alternative="greater").pvalue)


def simulate(
    population: Population, draws: int = DRAWS, n: int | None = None, seed: int = 0, methods: Collection[str] = METHODS
) -> dict[str, Kept]:
    """The methods on the same draws of the population."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
    truth: dict[float, tuple[float, float]] = {}
    for _ in range(draws):
        steps = population.draw(n or population.n, rng)
        for name in methods:
            choice = METHODS[name](steps)
            if choice.tau is None:
                found[name].append((0.0, 0.0, ALPHA))
                continue
            if choice.tau not in truth:
                truth[choice.tau] = population.above(choice.tau)
            found[name].append((*truth[choice.tau], ALPHA))
    return {name: _kept(np.array(chosen)) for name, chosen in found.items()}


def _kept(chosen: NDArray[np.float64]) -> Kept:
    mass, joint, bound = chosen.T
    return Kept(
        violations=int(np.sum(joint > bound * mass * (1 + 1e-9))),
        chosen=int(np.sum(mass > 0)),
        draws=len(chosen),
        joint_risk=float(joint.mean()),
        coverage=float(mass.mean()),
    )


def rows() -> list[dict[str, object]]:
    table: list[dict[str, object]] = []
    for population in POPULATIONS:
        for name, kept in simulate(population).items():
            told = f"{kept.chosen} of {kept.draws} draws of {population.n} questions chose a τ; mean coverage "
            told += f"{kept.coverage:.2f}; mean share above τ and wrong {kept.joint_risk:.3f}; one-sided binomial "
            told += f"p = {kept.p_value:.2g}"
            promise, holds = _promise(name, kept)
            table.append(
                {
                    "name": f"{population.name}: {name}, violations",
                    "measured": kept.violations / kept.draws,
                    "target": promise,
                    "holds": holds,
                    "unit": "of draws",
                    "detail": told,
                }
            )
    return [*table, *_powers()]


def _powers() -> Iterator[dict[str, object]]:
    """How often Learn-then-Test finds a τ that keeps its promise, where there is one."""
    for population in POPULATIONS[:2]:
        for n in (60, 150, 300, 600, 1200):
            kept = simulate(population, POWER_DRAWS, n, methods=(RECOMMENDED,))[RECOMMENDED]
            yield {
                "name": f"{population.name}: {RECOMMENDED}, power with {n} questions",
                "measured": (kept.chosen - kept.violations) / kept.draws,
                "target": "none",
                "holds": True,
                "unit": "of draws",
                "detail": f"a τ was found whose risk is at most {ALPHA}; {kept.draws} draws",
            }


def _promise(name: str, kept: Kept) -> tuple[str, bool]:
    if name.startswith("Learn-then-Test") or name == "fixed 0.90":
        return f"not significantly above δ = {DELTA}", kept.p_value >= LEVEL
    if name == "naive":
        return f"significantly above δ = {DELTA}: it promises nothing", kept.p_value < LEVEL
    raise ValueError(name)
