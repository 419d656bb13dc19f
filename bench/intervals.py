"""Do intervals hold the truth in 95 % of studies? Every kind of interval, on populations whose truth is known.

A study asks n questions, each once with a true and once with a false passage. What its two halves have in common is
varied: they are identical, uncorrelated, or opposed. The probabilities are drawn anew for each study, so a coverage is
a mean over truths. Rows "at" a truth keep it fixed. Near 0 and 1 no interval of 0/1 values holds every truth at one
rate, and a category of four questions says little: there only too low a coverage misses the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from srdcr_lab.final_answer import predictive_values
from srdcr_lab.knowledge import mean_stability
from srdcr_lab.lib.calibration import auroc, auroc_gain, ece
from srdcr_lab.lib.definitions import categorise
from srdcr_lab.lib.gating import FinalAnswers
from srdcr_lab.lib.statistics import Estimate, clustered_interval, contrast_interval, mean_interval, rank_correlation
from srdcr_lab.stances import CLASSES, macro_f1

STUDIES, SIZES = 1000, (15, 30, 60, 300)
LEAST, MOST, NOISE = 0.93, 0.97, 2.0  # the goal, and how many standard errors of the simulation it may be missed by
HALVES = ("identical", "uncorrelated", "opposed")
TRUTHS = ((1.0, 0.03), (0.97, 0.03), (0.95, 0.1), (0.99, 0.98))  # chances on true and on false passages
SHARES = np.array([26, 29, 60, 185]) / 300  # of the categories, of which equally many questions are debated

Floats = NDArray[np.float64]
Study = tuple[float, Estimate]  # the truth, and what was found


def _halves(n: int, relation: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Uniform numbers of the questions in both halves."""
    first = rng.random(n)
    return first, {"identical": first, "uncorrelated": rng.random(n), "opposed": 1 - first}[relation]


def _rights(
    n: int, relation: str, rng: np.random.Generator, truth: tuple[float, float] | None = None
) -> tuple[Floats, Floats, Floats]:
    """Right answers on true and on false passages, and their probabilities."""
    chances = rng.uniform(0.05, 0.95, 2) if truth is None else np.array(truth)
    if relation == "identical":
        chances[1] = chances[0]
    first, second = _halves(n, relation, rng)
    return (first < chances[0]).astype(float), (second < chances[1]).astype(float), chances


def _gains(n: int, relation: str, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """A less B (1, 0 or −1) on true and on false passages, and their means."""
    unlike, ahead = rng.uniform(0.02, 0.6, 2), rng.uniform(0.1, 0.9, 2)
    if relation == "identical":
        unlike[1], ahead[1] = unlike[0], ahead[0]
    gains = [
        (draw < u * a).astype(float) - (draw > 1 - u * (1 - a))
        for draw, u, a in zip(_halves(n, relation, rng), unlike, ahead, strict=True)
    ]
    return gains[0], gains[1], unlike * (2 * ahead - 1)


def share(n: int, relation: str, rng: np.random.Generator) -> Study:
    right, _, chances = _rights(n, relation, rng)
    return chances[0], clustered_interval(right, range(n))


def accuracy_overall(
    n: int, relation: str, rng: np.random.Generator, truth: tuple[float, float] | None = None
) -> Study:
    first, second, chances = _rights(n, relation, rng, truth)
    both, questions, halves = np.concatenate([first, second]), np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    return chances.mean(), clustered_interval(both, questions, halves)


def accuracy_by_offset(n: int, relation: str, rng: np.random.Generator) -> Study:
    chances = rng.uniform(0.05, 0.95, 5)
    offset = np.arange(n) % 5
    return chances.mean(), clustered_interval((rng.random(n) < chances[offset]).astype(float), range(n), offset)


def share_of_forms(n: int, relation: str, rng: np.random.Generator) -> Study:
    """Of one to eleven forms of each question, alike to a degree of 0.3."""
    chance = rng.uniform(0.1, 0.9)
    questions = np.repeat(np.arange(n), rng.integers(1, 12, n))
    own = rng.beta(chance * 7 / 3, (1 - chance) * 7 / 3, n)
    return chance, clustered_interval((rng.random(questions.size) < own[questions]).astype(float), questions)


def gap_between_halves(
    n: int, relation: str, rng: np.random.Generator, truth: tuple[float, float] | None = None
) -> Study:
    first, second, chances = _rights(n, relation, rng, truth)
    return chances[0] - chances[1], _contrast(first, second, {0: 1, 1: -1}, (0.0, 1.0))


def difference(n: int, relation: str, rng: np.random.Generator) -> Study:
    gain, _, means = _gains(n, relation, rng)
    return means[0], contrast_interval(gain, range(n), np.zeros(n, int), {0: 1})


def difference_overall(n: int, relation: str, rng: np.random.Generator) -> Study:
    first, second, means = _gains(n, relation, rng)
    return means.mean(), _contrast(first, second, {0: 0.5, 1: 0.5})


def difference_of_gaps(n: int, relation: str, rng: np.random.Generator) -> Study:
    first, second, means = _gains(n, relation, rng)
    return means[0] - means[1], _contrast(first, second, {0: 1, 1: -1})


def accuracy_weighted_back(n: int, relation: str, rng: np.random.Generator) -> Study:
    return _weighted_back(_rights, n, relation, rng, (0.0, 1.0))


def difference_weighted_back(n: int, relation: str, rng: np.random.Generator) -> Study:
    return _weighted_back(_gains, n, relation, rng, (-1.0, 1.0))


def _weighted_back(
    draw: Callable[..., tuple[Floats, Floats, Floats]], n: int, relation: str, rng: np.random.Generator,
    bounds: tuple[float, float],
) -> Study:  # fmt: skip
    """As `measures.weighted_back` has it: of each category a like number of questions, weighted to its share."""
    sizes = [(n + place) // len(SHARES) for place in range(len(SHARES))]
    parts = [draw(size, relation, rng) for size in sizes]
    values = np.concatenate([part[half] for half in (0, 1) for part in parts])
    category, half = np.tile(np.repeat(np.arange(len(SHARES)), sizes), 2), np.repeat([0, 1], n)
    weights = {2 * place + side: share / 2 for place, share in enumerate(SHARES) for side in (0, 1)}
    cells = 2 * category + half
    found = contrast_interval(values, np.tile(np.arange(n), 2), cells, weights, bounds=bounds, groups=category)
    return float(SHARES @ [part[2].mean() for part in parts]), found


def mean_of_calls(n: int, relation: str, rng: np.random.Generator) -> Study:
    return 20.0, mean_interval(rng.gamma(4, 5, n), range(n))


def _whole(n: int, rng: np.random.Generator) -> tuple[FinalAnswers, FinalAnswers]:
    """Two methods on the same questions, a true and a false passage each; belief goes with what a question is like,
    and the first leaves out most of what it hardly believes."""
    question, true = np.tile(np.arange(n), 2), np.repeat([True, False], n)
    ease = rng.normal(size=n)[question]
    pair = []
    for ahead, silent in ((0.0, 0.4), (0.5, 0.0)):
        belief = ease + 0.7 * rng.normal(size=2 * n)
        right = (rng.random(2 * n) < expit(belief + np.where(true, 1.0, -0.7) + ahead)).astype(float)
        right[(rng.random(2 * n) < silent) & (belief < 0.3)] = np.nan
        pair.append(FinalAnswers(right, question, true, belief))
    return pair[0], pair[1]


def _matched(one: FinalAnswers, other: FinalAnswers, which: str) -> Study:
    """The difference in `accuracy` or `aurc` where both answer as many, and its interval."""
    coverage, a, b = one.matched(other, 0.5)
    influence = getattr(a, f"on_{which}") - getattr(b, f"on_{which}")
    found = one.with_ends(getattr(a, which) - getattr(b, which), influence, 0.5, coverage, -1.0)
    return found.value, found


@cache
def _known(which: str) -> float:
    return _matched(*_whole(200_000, np.random.default_rng(1)), which)[0]


def accuracy_at_matched_coverage(n: int, relation: str, rng: np.random.Generator) -> Study:
    return _known("accuracy"), _matched(*_whole(n, rng), "accuracy")[1]


def area_under_risk_at_matched_coverage(n: int, relation: str, rng: np.random.Generator) -> Study:
    return _known("aurc"), _matched(*_whole(n, rng), "aurc")[1]


def accuracy_of_the_surest_half(n: int, relation: str, rng: np.random.Generator) -> Study:
    """The surest half of answers that are right at 0.9 down to a belief of 0.5, and at 0.3 below it."""
    belief = expit(rng.normal(size=n)[np.tile(np.arange(n), 2)] + 0.7 * rng.normal(size=2 * n))
    right = (rng.random(2 * n) < np.where(belief > 0.5, 0.9, 0.3)).astype(float)
    answers = FinalAnswers(right, np.tile(np.arange(n), 2), np.repeat([True, False], n), belief)
    surest = answers.surest(0.5, 0.5)
    return 0.9, answers.with_ends(surest.accuracy, surest.on_accuracy, 0.5, 0.5)


def agreement_of_half_the_draws(n: int, relation: str, rng: np.random.Generator) -> Study:
    """Of 32 draws a question, where most questions are nearly always or nearly never answered rightly."""
    drawn = pd.DataFrame({"question_id": range(n), "n_samples": 32})
    found = mean_stability(drawn.assign(sampled_accuracy=rng.binomial(32, rng.beta(0.1, 0.1, n)) / 32))
    return _agreement(), found


@cache
def _agreement() -> float:
    rng = np.random.default_rng(1)
    chance = rng.beta(0.1, 0.1, 1_000_000)
    one, other = (categorise(rng.binomial(16, chance) / 16) for _ in range(2))
    return float((one == other).mean())


def calibration_error(n: int, relation: str, rng: np.random.Generator) -> Study:
    """Confidence c is right with probability c²; by ten bins, the error is the mean of c − c² of a Beta(2, 2): 0.2."""
    confidence = rng.beta(2, 2, n)
    found = ece(confidence, rng.random(n) < confidence**2, n_boot=200)
    return 0.2, found


def difference_of_two_aurocs(n: int, relation: str, rng: np.random.Generator) -> Study:
    """Of two confidences that are equally good, where one question in five has the target, and two in any case."""
    target = (rng.random(n) < 0.2) | (np.arange(n) < 2)
    shared = 0.5 * rng.normal(size=n) + 0.74 * target
    one, other = (shared + 0.87 * rng.normal(size=n) for _ in range(2))
    found = auroc_gain(one, other, target, np.arange(n))
    return 0.0, found


def auroc_of_a_rare_class(n: int, relation: str, rng: np.random.Generator) -> Study:
    """One question in ten has the target, and three in any case."""
    target = np.arange(n) < max(3, n // 10)
    found = auroc(rng.normal(size=n) + 1.5 * target, target)
    return float(ndtr(1.5 / 2**0.5)), found


def macro_f1_of_claims(n: int, relation: str, rng: np.random.Generator) -> Study:
    """One claim in five is true; true claims are judged rightly with one chance, false ones with another."""
    true, chances = rng.random(n) < 0.2, rng.uniform(0.3, 0.95, 2)
    said = (rng.random(n) < np.where(true, *chances)) == true
    gold, final = (pd.Series(np.where(side, *CLASSES)) for side in (true, said))
    found = macro_f1(gold, final, pd.Series(range(n)))
    hits, others = np.array([0.2, 0.8]) * chances, np.array([0.2, 0.8]) * (1 - chances)
    truth = (2 * hits / (2 * hits + others.sum())).mean()
    return float(truth), found


def rank_correlation_with_ties(n: int, relation: str, rng: np.random.Generator) -> Study:
    """Ranks of two normal variables that correlate 0.7, one of them in four classes; the truth by a large sample."""
    found = rank_correlation(*_two_orders(n, rng))
    return _true_rank_correlation(), found


def _two_orders(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    first = rng.normal(size=n)
    return np.digitize(first, [-0.5, 0.5, 1.2]).astype(float), 0.7 * first + 0.51**0.5 * rng.normal(size=n)


@cache
def _true_rank_correlation() -> float:
    return rank_correlation(*_two_orders(1_000_000, np.random.default_rng(0))).value


def predictive_value(n: int, relation: str, rng: np.random.Generator) -> Study:
    """How often a passage that was ruled reasonable is true, if one passage in ten is false."""
    first, second, chances = _rights(n, relation, rng)  # here: ruled reasonable
    halves = np.repeat(["standard", "mild"], n)
    verdict = np.where(np.concatenate([first, second]) == 1, "REASONABLE", "UNREASONABLE")
    of_all = {"method": "sr_dcr", "model": "m", "design": "acvd"}
    debates = pd.DataFrame({"question_id": np.tile(np.arange(n), 2), "level": halves, "verdict": verdict, **of_all})
    found = predictive_values(debates.assign(verdict_path=verdict), [0.1]).iloc[0]
    weighted = np.array([0.9, 0.1]) * chances
    return weighted[0] / weighted.sum(), Estimate(*found[["ppv", "ppv_low", "ppv_high"]])


def selective_accuracy(n: int, relation: str, rng: np.random.Generator) -> Study:
    """Of answers that are given more often where they are right, at 30 % false passages."""
    right, false_right, chances = _rights(n, relation, rng)
    given = np.array([0.9, 0.5])  # of right and of wrong answers
    value = np.concatenate([right, false_right])
    value[rng.random(2 * n) >= np.where(value == 1, *given)] = np.nan
    weights = np.array([0.7, 0.3])
    truth = weights @ chances * given[0] / (weights @ (chances * given[0] + (1 - chances) * given[1]))
    question, true = np.tile(np.arange(n), 2), np.repeat([True, False], n)
    return truth, FinalAnswers(value, question, true, np.full(2 * n, np.nan)).selective_accuracy(0.3)


def _contrast(
    first: Floats, second: Floats, weights: dict[int, float], bounds: tuple[float, float] = (-1.0, 1.0)
) -> Estimate:
    n = len(first)
    values, questions = np.concatenate([first, second]), np.tile(np.arange(n), 2)
    return contrast_interval(values, questions, np.repeat([0, 1], n), weights, bounds=bounds)


ALONE: tuple[Callable[[int, str, np.random.Generator], Study], ...]
ALONE = (
    share, accuracy_by_offset, share_of_forms, difference, mean_of_calls,
    calibration_error, accuracy_of_the_surest_half, accuracy_at_matched_coverage, area_under_risk_at_matched_coverage,
)  # fmt: skip
WIDE_OF_FEW = (  # on purpose
    agreement_of_half_the_draws, difference_of_two_aurocs, auroc_of_a_rare_class, macro_f1_of_claims,
    rank_correlation_with_ties, predictive_value,
)  # fmt: skip
OF_HALVES = (accuracy_overall, gap_between_halves, difference_overall, difference_of_gaps, selective_accuracy)
WEIGHTED = (accuracy_weighted_back, difference_weighted_back)


def kinds() -> Iterator[tuple[str, Callable[[int, str, np.random.Generator], Study], str, float]]:
    """The name of each kind of interval, the kind, how the halves are related, and the most it may cover. The gap of
    identical halves is 0 in every study, which any interval holds."""
    yield from ((_name(kind), kind, "uncorrelated", MOST) for kind in ALONE)
    yield from ((_name(kind), kind, "uncorrelated", 1.0) for kind in WIDE_OF_FEW)
    yield from ((f"{_name(kind)}, {relation} halves", kind, relation, MOST) for kind in OF_HALVES for relation in HALVES
                if not (relation == "identical" and "gap" in kind.__name__))  # fmt: skip
    yield from ((f"{_name(kind)}, {relation} halves", kind, relation, 1.0) for kind in WEIGHTED for relation in HALVES)
    for kind in (accuracy_overall, gap_between_halves):
        for truth in TRUTHS:
            yield f"{_name(kind)} at {truth[0]} and {truth[1]}", partial(kind, truth=truth), "uncorrelated", 1.0


def _name(kind: Callable[..., Study]) -> str:
    return kind.__name__.replace("_", " ")


def coverage(kind: Callable[..., Study], n: int, relation: str, studies: int = STUDIES, seed: int = 0) -> float:
    """Share of the studies whose interval holds the truth."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(studies):
        truth, found = kind(n, relation, rng)
        held += found.low - 1e-12 <= truth <= found.high + 1e-12
    return held / studies


def rows() -> list[dict[str, object]]:
    noise = NOISE * (0.95 * 0.05 / STUDIES) ** 0.5
    table: list[dict[str, object]] = []
    for name, kind, relation, most in kinds():
        for n in SIZES:
            held = coverage(kind, n, relation)
            table.append(
                {
                    "name": f"{name}, {n} questions",
                    "measured": held,
                    "target": f"{LEAST} to {most:.3g}",
                    "holds": LEAST - noise <= held <= most + noise,
                    "unit": "of 95 % intervals hold the truth",
                    "detail": f"{STUDIES} studies; within {noise:.3f} of the goal is within the simulation's noise",
                }
            )
    return table
