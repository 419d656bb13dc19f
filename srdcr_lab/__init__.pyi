from .data import (
    ItemSet as ItemSet, Perturbed as Perturbed, load_items as load_items, offset_year as offset_year, perturb as perturb, year_forms as year_forms,
)
from .records import (
    BadInput as BadInput, CallFailed as CallFailed, Item as Item, SrdcrError as SrdcrError, Stopped as Stopped,
)
from .study import (
    Results as Results, Study as Study, load_model as load_model, load_repeats as load_repeats, load_run as load_run, load_runs as load_runs, results_from as results_from,
)

__version__: str
