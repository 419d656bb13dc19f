"""The paper's measures as pure functions: arrays or DataFrames in and out, never a model call."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
