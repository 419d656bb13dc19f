"""Compute, hold, draw: each display holds its table and draws itself on a given Axes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
