from .demonstrations import FILM as FILM, film as film, film_script as film_script, source_recovery as source_recovery
from .elsewhere import results_from as results_from
from .opening import load_model as load_model
from .folder import Results as Results, load_repeats as load_repeats, load_run as load_run, load_runs as load_runs
from .study import Study as Study
