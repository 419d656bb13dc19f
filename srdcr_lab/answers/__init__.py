"""Answers by type: read from a reply, compared, found in a passage, and replaced there by false ones.

`kinds` holds the functions below, the reading of replies, and `Kind`, the class of free text. The classes of the other
types are in `dates` (also years), `number`, `name` (also cities) and `option` (also yes or no). `quantities` reads and
writes numbers, and `wording` folds and cuts text. The English word lists and expressions are in ``english.toml``.
"""

from srdcr_lab.answers import dates as dates
from srdcr_lab.answers import name as name
from srdcr_lab.answers.kinds import bounds as bounds
from srdcr_lab.answers.kinds import contains_anywhere as contains_anywhere
from srdcr_lab.answers.kinds import counts_as as counts_as
from srdcr_lab.answers.kinds import equal as equal
from srdcr_lab.answers.kinds import extract as extract
from srdcr_lab.answers.kinds import find as find
from srdcr_lab.answers.kinds import guess_type as guess_type
from srdcr_lab.answers.kinds import is_accepted as is_accepted
from srdcr_lab.answers.kinds import normalise as normalise
from srdcr_lab.answers.kinds import read as read
from srdcr_lab.answers.kinds import same_answer as same_answer
from srdcr_lab.answers.kinds import says_the_same as says_the_same
from srdcr_lab.answers.kinds import states as states
from srdcr_lab.answers.number import infer_unit as infer_unit
from srdcr_lab.answers.option import extract_option as extract_option
from srdcr_lab.answers.wording import Span as Span
