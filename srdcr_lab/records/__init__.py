"""The ground floor: closed vocabularies, errors, frozen types and table schemas. It imports no other floor.

`vocabulary` holds the words of the field, `types` what they describe, `tables` the columns of a results folder and
`files` what reads and writes any file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
