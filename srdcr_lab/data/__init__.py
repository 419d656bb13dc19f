"""Questions and passages: the shipped facts, somebody's own table, and how a passage is made to lie."""

from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.load import load_items
from srdcr_lab.data.perturbing import Perturbed, perturb
from srdcr_lab.data.perturbing.claims import YEAR_OFFSETS
from srdcr_lab.data.perturbing.forms import offset_year, year_forms

__all__ = ["YEAR_OFFSETS", "ItemSet", "Perturbed", "load_items", "offset_year", "perturb", "year_forms"]
