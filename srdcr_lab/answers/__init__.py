"""Answers by type: read from a reply, compared, found in a passage, and replaced there by false ones.

`kinds` holds the functions below, the reading of replies, and `Kind`, the class of free text. The classes of the other
types are in `dates` (also years), `number`, `name` (also cities) and `option` (also yes or no). `quantities` reads and
writes numbers, and `wording` folds and cuts text. The English word lists and expressions are in ``english.toml``.
"""

from srdcr_lab.answers import dates as dates
from srdcr_lab.answers import name as name
from srdcr_lab.answers.kinds import (
    bounds,
    contains_anywhere,
    counts_as,
    equal,
    extract,
    find,
    guess_type,
    is_accepted,
    normalise,
    read,
    same_answer,
    says_the_same,
    states,
)
from srdcr_lab.answers.number import infer_unit
from srdcr_lab.answers.option import extract_option
from srdcr_lab.answers.wording import Span

__all__ = [
    "Span", "bounds", "contains_anywhere", "counts_as", "equal", "extract", "extract_option", "find", "guess_type",
    "infer_unit", "is_accepted", "normalise", "read", "same_answer", "says_the_same", "states",
]  # fmt: skip
