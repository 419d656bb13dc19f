"""The top floor: a study ties model, items and protocols together for a notebook and for the command line."""

from srdcr_lab.study.opening import load_model
from srdcr_lab.study.results import Results, load_run, load_runs
from srdcr_lab.study.study import Study

__all__ = ["Results", "Study", "load_model", "load_run", "load_runs"]
