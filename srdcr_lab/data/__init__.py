"""Questions and passages: the shipped facts, somebody's own table, and how a passage is made to lie."""

from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.data.load import load_items
from srdcr_lab.data.perturbations import YEAR_OFFSETS, offset_year, year_forms
from srdcr_lab.data.perturbing import Perturbed, perturb

__all__ = ["YEAR_OFFSETS", "ItemSet", "Perturbed", "load_items", "offset_year", "perturb", "year_forms"]
