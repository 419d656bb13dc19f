"""Questions and passages: the shipped facts, somebody's own table, and how a passage is made to lie."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
