"""How many questions it takes to know P(target | Conf ≥ τ) to a given width."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc

from srdcr_lab.measures.knowledge import jeffreys_interval


@dataclass(frozen=True, slots=True)
class QuestionsNeeded:
    """`n_above` questions above τ give the width; of `n_questions` at least so many are above it as `assured`."""

    n_above: int
    n_questions: int


def questions_for_width(
    precision: float, coverage: float, width: float, *, level: float = 0.95, assured: float = 0.9
) -> QuestionsNeeded:
    """Questions for an interval of P(target | Conf ≥ τ), such as P(Highly-Known | Conf ≥ 0.9), at most so wide.

    Parameters
    ----------
    precision : the share expected, in [0, 1]; ½ is the safe guess.
    coverage : P(Conf ≥ τ) expected, in (0, 1].
    width : of the whole Jeffreys interval at `level`, in (0, 1).
    assured : probability with which enough of the questions are above τ; Bin(n_questions, coverage).

    Source: ours, from the interval of Brown, Cai and DasGupta 2001.
    """
    if not (0 <= precision <= 1 and 0 < coverage <= 1 and 0 < width < 1 and 0 < assured < 1):
        raise ValueError("precision lies in [0, 1], coverage in (0, 1], width and assured between 0 and 1")
    n_above = _least(lambda n: _width(precision, n, level) <= width)
    n_questions = _least(lambda n: n >= n_above and float(bdtrc(n_above - 1, n, coverage)) >= assured)
    return QuestionsNeeded(n_above, n_questions)


def _width(precision: float, n: int, level: float) -> float:
    low, high = jeffreys_interval(np.float64(precision * n), n, level)
    return float(high - low)


def _least(enough: Callable[[int], bool]) -> int:
    """The least n for which a condition that stays true once true is true."""
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = math.ceil((low + high) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
