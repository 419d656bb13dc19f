"""The ground floor: closed vocabularies, errors, frozen types and table schemas. It imports no other floor.

`vocabulary` holds the words of the field, `types` the things they describe, `tables` the columns of every table,
`names` the labels for readers, and `files` the functions that read and write files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
