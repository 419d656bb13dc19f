"""Heights of labels that must not overlap."""

from __future__ import annotations

from collections.abc import Sequence


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights from the top down, moved so that neighbours are at least `gap` apart and the lowest is not below 0.

    >>> [round(height, 2) for height in apart([0.9, 0.88, 0.1], 0.1)]
    [0.9, 0.8, 0.1]
    """
    moved: list[float] = []
    for height in heights:
        moved.append(min(height, moved[-1] - gap) if moved else height)
    floor = 0.0
    for i in reversed(range(len(moved))):
        if moved[i] >= floor:
            break
        moved[i] = floor
        floor += gap
    return moved
