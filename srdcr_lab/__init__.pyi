from . import (
    calibration_in_depth as calibration_in_depth, chains as chains, claims as claims, confidence as confidence, debates as debates, designs as designs, documents as documents, elsewhere as elsewhere,
    evaluation as evaluation, final_answer as final_answer, knowledge as knowledge, models_compared as models_compared, preference as preference, stances as stances, thresholds as thresholds,
)
from .data.items import ItemSet as ItemSet
from .data.load import load_items as load_items
from .data.perturbing import Perturbed as Perturbed, perturb as perturb
from .lib.sentences import answer_box as answer_box, sentence as sentence, sentences as sentences
from .records.tables import columns as columns
from .records.types import Item as Item
from .records.vocabulary import BadInput as BadInput, CallFailed as CallFailed, SrdcrError as SrdcrError, Stopped as Stopped
from .study.asking import Asking as Asking, load_model as load_model
from .study.exchange import results_from as results_from
from .study.opening import open_repeats as open_repeats, open_study as open_study
from .study.results import Results as Results, load_repeats as load_repeats, load_run as load_run, load_runs as load_runs
from .study.study import Study as Study
__version__: str
