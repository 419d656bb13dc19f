"""The ground floor: frozen types, closed vocabularies, errors and table schemas. It imports no other floor.

Read `vocabulary` first: the words of the field. `items` says what a question is, `exchanges` what a model is asked and
what it replies, `tables` which columns a results folder has.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
