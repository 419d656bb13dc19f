from . import (
    calibration_in_depth as calibration_in_depth, chains as chains, claims as claims, confidence as confidence, debates as debates, designs as designs, documents as documents, elsewhere as elsewhere,
    evaluation as evaluation, final_answer as final_answer, knowledge as knowledge, models_compared as models_compared, preference as preference,
    stances as stances, thresholds as thresholds,
)
from .data import (
    ItemSet as ItemSet, Perturbed as Perturbed, load_items as load_items, perturb as perturb,
)
from .records import (
    BadInput as BadInput, CallFailed as CallFailed, Item as Item, SrdcrError as SrdcrError, Stopped as Stopped, columns as columns,
)
from .lib.sentences import answer_box as answer_box, sentence as sentence, sentences as sentences
from .study import (
    Asking as Asking, Results as Results, Study as Study, load_model as load_model, load_repeats as load_repeats, load_run as load_run, load_runs as load_runs, open_repeats as open_repeats, open_study as open_study, results_from as results_from,
)

__version__: str
