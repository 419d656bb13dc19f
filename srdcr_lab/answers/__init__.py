"""Answers, by type: read from a reply, compare, find in a passage, rewrite there, replace by false ones.

A map: `kinds` holds the functions below, how a reply is read, and `Kind`, the class of free text; the classes of the
other types lie in `dates` (years too), `number`, `name` (cities too) and `option` (yes or no too). `quantities` reads
and writes numbers, `wording` folds and cuts text, `token_confidence` says how sure the tokens of an answer are. The
English of all of them is ``english.toml``.
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
