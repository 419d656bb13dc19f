"""Reading answers, by answer type: normalise, extract from a reply, compare, find in a passage.

A map: `matching` holds the functions below; `year`, `number`, `names` (persons, cities) and `text` say what counts as
the same answer, `options` reads the labels of options; `quantities`, `words` and `units` read numbers, `wording` reads
words, `replies` strips decoration and knows refusals, `spans` keeps places. `respelling` writes another answer the way
a passage writes this one. `token_confidence` says which tokens of a reply state the answer, and how sure they are.
"""

from srdcr_lab.answers.kinds import contains_anywhere, equal, extract, find, guess_type, infer_unit, normalise
from srdcr_lab.answers.options import extract_option
from srdcr_lab.answers.respelling import respell
from srdcr_lab.answers.text import Span

__all__ = [
    "Span",
    "contains_anywhere",
    "equal",
    "extract",
    "extract_option",
    "find",
    "guess_type",
    "infer_unit",
    "normalise",
    "respell",
]
