"""Questions and passages: the shipped facts, published benchmarks, your own table, and false passages made from true
ones.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
