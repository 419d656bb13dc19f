"""When should a language model believe the passage it is given, and when its own memory?

A map. `Study` ties everything together; `load_model` and `load_items` bring model and questions; `load_run` and
`load_runs` bring back results. The algorithm of the paper is in `srdcr_lab.protocols`, its measures in
`srdcr_lab.measures`, every table's columns in `srdcr_lab.records.tables`. Names are looked up when first used, so
that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from srdcr_lab.data import ItemSet, Perturbed, load_items, offset_year, perturb, year_forms
    from srdcr_lab.records import BadInput, CallFailed, Item, SrdcrError, Stopped
    from srdcr_lab.study import Results, Study, load_model, load_run, load_runs

__version__ = "0.1.0"

_HOMES = {
    "srdcr_lab.data": ("ItemSet", "Perturbed", "load_items", "offset_year", "perturb", "year_forms"),
    "srdcr_lab.records": ("BadInput", "CallFailed", "Item", "SrdcrError", "Stopped"),
    "srdcr_lab.study": ("Results", "Study", "load_model", "load_run", "load_runs"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BadInput",
    "CallFailed",
    "Item",
    "ItemSet",
    "Perturbed",
    "Results",
    "SrdcrError",
    "Stopped",
    "Study",
    "load_items",
    "load_model",
    "load_run",
    "load_runs",
    "offset_year",
    "perturb",
    "year_forms",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'srdcr_lab' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
