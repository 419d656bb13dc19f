from .exchange import results_from as results_from
from .asking import Asking as Asking, load_model as load_model
from .opening import open_repeats as open_repeats, open_study as open_study, study_of as study_of
from .results import Results as Results, load_repeats as load_repeats, load_run as load_run, load_runs as load_runs
from .study import Study as Study
