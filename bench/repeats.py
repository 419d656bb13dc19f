"""Do intervals over questions and repeats hold the truth in 95 % of studies that are repeated 3, 5 or 10 times?

An answer is right where a sum of normal parts is above 0: of the question, of the repeat, and of the question in that
repeat. What is meant is the share over questions and seeds that were not asked. The share of right answers differs from
study to study; a coverage is a mean over these.

Intervals of one study are held to .93 to .97 (`intervals`). Here some cells are up to .98: 30 questions whose answers
waver, and 3 repeats, cannot be told narrower without falling below .93 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from srdcr_lab.lib.comparison import over_both
from srdcr_lab.lib.statistics import Estimate, clustered_interval, contrast_interval

STUDIES, SIZES, REPEATS = 1000, (30, 60), (3, 5, 10)
LEAST, MOST, NOISE = 0.93, 0.98, 2.0  # the goal, and how many standard errors of the simulation it may be missed by
WORLDS = {  # standard deviations of the parts of question, repeat, and question in that repeat
    "the same answers in each repeat": (1.0, 0.0, 0.01),
    "answers that waver": (0.7, 0.0, 1.0),
    "answers that hang on no question": (0.1, 0.3, 1.0),
    "repeats that differ": (1.0, 0.2, 0.5),
    "repeats that differ much": (1.0, 0.6, 0.5),
}

Floats = NDArray[np.float64]
Study = tuple[float, Estimate, list[Estimate]]  # the truth; of all repeats together, and of each


def _rights(
    n: int, k: int, parts: tuple[float, float, float], shift: Floats, alike: bool, rng: np.random.Generator
) -> Floats:
    """0/1 of question × column × repeat, the columns (halves, or methods) of a question alike by one half; of a repeat
    wholly `alike`, or not at all."""
    question, repeat, both = parts
    columns = shift.size
    own = question * np.sqrt(0.5) * (rng.normal(size=(n, 1, 1)) + rng.normal(size=(n, columns, 1)))
    seed = repeat * rng.normal(size=(1, 1 if alike else columns, k))
    latent: Floats = shift[:, None] + own + seed + both * rng.normal(size=(n, columns, k))
    return (latent > 0).astype(float)


def _studied(truth: float, values: Floats, interval: Callable[[Floats], Estimate]) -> Study:
    """`values` are of question × column × repeat."""
    return truth, interval(values), [interval(values[:, :, [i]]) for i in range(values.shape[2])]


def accuracy_overall(n: int, k: int, parts: tuple[float, float, float], rng: np.random.Generator) -> Study:
    shift = np.repeat(rng.uniform(-1.3, 1.3), 2)

    def interval(values: Floats) -> Estimate:
        question, half, _ = np.indices(values.shape)
        return clustered_interval(values.ravel(), question.ravel(), half.ravel())

    return _studied(float(ndtr(shift[0] / np.linalg.norm(parts))), _rights(n, k, parts, shift, True, rng), interval)


def difference(n: int, k: int, parts: tuple[float, float, float], rng: np.random.Generator) -> Study:
    shift = rng.uniform(-1, 1, 2)

    def interval(values: Floats) -> Estimate:
        question, _, _ = np.indices(values.shape)
        return contrast_interval(values.ravel(), question.ravel(), np.zeros(values.size, int), {0: 1})

    of_methods = _rights(n, k, parts, shift, False, rng)
    truths = ndtr(shift / np.linalg.norm(parts))
    return _studied(float(truths[0] - truths[1]), of_methods[:, [0]] - of_methods[:, [1]], interval)


KINDS: tuple[Callable[[int, int, tuple[float, float, float], np.random.Generator], Study], ...]
KINDS = (accuracy_overall, difference)


def coverage(kind: Callable[..., Study], n: int, k: int, world: str, studies: int = STUDIES) -> tuple[float, float]:
    """Share of the studies whose interval holds the truth: over questions and repeats, and over questions alone."""
    rng = np.random.default_rng(0)
    held = np.zeros((studies, 2), bool)
    for study in range(studies):
        truth, pooled, each = kind(n, k, WORLDS[world], rng)
        _, low, high, _ = over_both(pooled, each)
        held[study] = low - 1e-12 <= truth <= high + 1e-12, pooled.low - 1e-12 <= truth <= pooled.high + 1e-12
    both, questions = held.mean(axis=0)
    return float(both), float(questions)


def rows() -> list[dict[str, object]]:
    noise = NOISE * (0.95 * 0.05 / STUDIES) ** 0.5
    table: list[dict[str, object]] = []
    for kind in KINDS:
        for world in WORLDS:
            for n in SIZES:
                for k in REPEATS:
                    held, alone = coverage(kind, n, k, world)
                    table.append(
                        {
                            "name": f"{kind.__name__.replace('_', ' ')}, {world}, {n} questions, {k} repeats",
                            "measured": held,
                            "target": f"{LEAST} to {MOST}",
                            "holds": LEAST - noise <= held <= MOST + noise,
                            "unit": "of 95 % intervals hold the truth",
                            "detail": f"over questions alone {alone:.3f}; {STUDIES} studies, noise {noise:.3f}"
                            + ("; few repeats, wide intervals" if k == 3 else ""),
                        }
                    )
    return table
