"""How a passage is made to lie by a known amount.

A map, in reading order: `claims` (what is claimed instead: offsets and factors; `pools`: substitutes), `mentions`
(which places state the gold answer), `dependents` (what else gives it away: `beside_years`, `beside_numbers`),
`changes` (the exchange, and undoing it), `forms` (one item under one claim), `table` (all of them), `audit` and
`audit_page` (the account of it), `files`. Levels: `data.levels`.
"""

from srdcr_lab.data.perturbing.claims import FACTORS, SIGNED_YEAR_OFFSETS, YEAR_OFFSETS
from srdcr_lab.data.perturbing.forms import Form, Outcome
from srdcr_lab.data.perturbing.mentions import Change
from srdcr_lab.data.perturbing.table import Perturbed, perturb

__all__ = [
    "FACTORS", "SIGNED_YEAR_OFFSETS", "YEAR_OFFSETS", "Change", "Form", "Outcome", "Perturbed", "perturb",
]  # fmt: skip
