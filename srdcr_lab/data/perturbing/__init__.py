"""How a passage is made to lie by a known amount.

A map, in reading order: `answers.kinds` (levels, and what is claimed instead of the truth, by answer type), `forms`
(one item under one claim), `table` (all items, and the account of every attempt), `audit` (the account as a page),
`files`.
"""

from srdcr_lab.answers.kinds import Outcome
from srdcr_lab.answers.number import FACTORS
from srdcr_lab.answers.year import SIGNED_YEAR_OFFSETS, YEAR_OFFSETS
from srdcr_lab.data.perturbing.forms import Change, Form
from srdcr_lab.data.perturbing.table import Perturbed, perturb

__all__ = [
    "FACTORS", "SIGNED_YEAR_OFFSETS", "YEAR_OFFSETS", "Change", "Form", "Outcome", "Perturbed", "perturb",
]  # fmt: skip
