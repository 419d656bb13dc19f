"""The top floor: a study ties model, items and protocols together for a notebook and for the command line."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
