"""Answers, by type: read from a reply, compare, find in a passage, rewrite there, replace by false ones.

A map: `kinds` holds the functions below and `Kind`, the class of free text; the class of every other type lies in the
module of its name (`year`, `number`, `name`, `city`, `option`, `date`, `yes_no`). `quantities` and `number_words` read
and write numbers, `wording` folds text, `replies` finds the part of a reply that states its answer, `token_confidence`
says how sure its tokens are.
"""

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
    respell,
    same_answer,
)
from srdcr_lab.answers.number import infer_unit
from srdcr_lab.answers.option import extract_option
from srdcr_lab.answers.wording import Span

__all__ = [
    "Span",
    "bounds",
    "contains_anywhere",
    "counts_as",
    "equal",
    "extract",
    "extract_option",
    "find",
    "guess_type",
    "infer_unit",
    "is_accepted",
    "normalise",
    "read",
    "respell",
    "same_answer",
]
