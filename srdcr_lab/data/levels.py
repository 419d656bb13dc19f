"""How far a passage departs from the truth: one table for every kind of perturbation.

| level    | year offset (size)  | factor f, by max(f, 1/f)        | substitution |
|----------|---------------------|---------------------------------|--------------|
| subtle   | to 20               | to 1.25 (0.8, 1.2)              | slight       |
| mild     | to 40               | to 2 (1.5, 2)                   |              |
| moderate | to 60               | to 3 (0.4, 3)                   | significant  |
| blatant  | beyond (100, 200)   | beyond (0.1, 0.2, 5, 10)        | comical      |

Years: paper, Figure 2. Factors and substitutions: ours; the factors and the three substitutions are ClashEval's.
"""

from __future__ import annotations

from enum import StrEnum

from srdcr_lab.records import Level


class Substitution(StrEnum):
    """Slight: a real answer of the same domain, close in spelling. Significant: any other one. Comical: absurd."""

    SLIGHT = "slight"
    SIGNIFICANT = "significant"
    COMICAL = "comical"


_OFFSETS = ((20, Level.SUBTLE), (40, Level.MILD), (60, Level.MODERATE))
_FACTORS = ((1.25, Level.SUBTLE), (2, Level.MILD), (3, Level.MODERATE))
_SUBSTITUTIONS = {
    Substitution.SLIGHT: Level.SUBTLE,
    Substitution.SIGNIFICANT: Level.MODERATE,
    Substitution.COMICAL: Level.BLATANT,
}


def level_of_offset(offset: float) -> Level:
    """Level of a year offset, by its size."""
    return next((level for bound, level in _OFFSETS if abs(offset) <= bound), Level.BLATANT)


def level_of_factor(factor: float) -> Level:
    """Level of a positive factor: 0.5 lies as far off as 2."""
    size = max(factor, 1 / factor)
    return next((level for bound, level in _FACTORS if size <= bound), Level.BLATANT)


def level_of_substitution(degree: Substitution) -> Level:
    return _SUBSTITUTIONS[degree]
