"""The few statistics the measuring script needs: Wilson intervals, AUROC, Spearman."""

from __future__ import annotations

import math
from collections.abc import Sequence


def wilson(hits: int, n: int) -> str:
    """Share with its 95 % interval and n; NaN for none."""
    if n == 0:
        return "no case"
    z, share = 1.96, hits / n
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return f"{share:.2f} [{max(0.0, low):.2f}, {min(1.0, high):.2f}] (n = {n})"


def share(flags: Sequence[bool]) -> str:
    return wilson(sum(flags), len(flags))


def auroc(values: Sequence[float], positive: Sequence[bool]) -> float:
    """P(a positive's value > a negative's), ties counted half; NaN where one side is empty."""
    above = [v for v, p in zip(values, positive, strict=True) if p]
    below = [v for v, p in zip(values, positive, strict=True) if not p]
    wins = sum((a > b) + 0.5 * (a == b) for a in above for b in below)
    return wins / (len(above) * len(below)) if above and below else math.nan


def _ranks(values: Sequence[float]) -> list[float]:
    return [sum(w < v for w in values) + (sum(w == v for w in values) + 1) / 2 for v in values]


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's correlation of the mid-ranks; NaN where one side is constant."""
    a, b = _ranks(x), _ranks(y)
    mean = (len(x) + 1) / 2
    covariance = sum((p - mean) * (q - mean) for p, q in zip(a, b, strict=True))
    spread = math.sqrt(sum((p - mean) ** 2 for p in a) * sum((q - mean) ** 2 for q in b))
    return covariance / spread if spread else math.nan
