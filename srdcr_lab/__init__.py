"""When should a language model believe the passage it is given, and when its own memory?

A map. `Study` ties everything together; `load_model` and `load_items` bring model and questions; `load_run` and
`load_runs` bring back results. The algorithm of the paper is in `srdcr_lab.protocols`, its measures and figures are in
a chapter for each notebook (`srdcr_lab.knowledge`, `srdcr_lab.confidence` …), every table's columns in
`srdcr_lab.records.tables`. Names are looked up when first used, so that importing the package costs nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.4.0"
