"""When should a language model believe the passage it is given, and when its own memory?

Its names::

    open_study, Study              ask a model, or open a finished run; results come as DataFrames
    load_model, load_items         a model and questions; perturb makes false passages for a table of your own
    load_run, load_runs            results of finished runs; load_repeats and results_from read other folders and tables
    columns                        what each column of a table means: columns("records")
    sentence, sentences            Supported, Contradicted or Inconclusive; answer_box shows them
    knowledge, confidence, …       a chapter for each notebook, with its measures, tables and figures

Each name explains itself: ``help(lab.Study)``. The paper's algorithm is in `srdcr_lab.protocols`.
"""

import lazy_loader

__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__"]  # what help() prints in full; dir() and the editor know every name of the stub

__version__ = "0.5.0.dev0"
