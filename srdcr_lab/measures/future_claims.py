"""Are passages that claim a year in the future easier to reject? Each beside its mirror image in the past (ours)."""

from __future__ import annotations

import pandas as pd

from srdcr_lab.measures.comparison import Comparison, compare_pairs
from srdcr_lab.measures.groups import is_standard
from srdcr_lab.measures.preference import PRESENT, perturbed_answers


def future_against_past(records: pd.DataFrame, *, method: str = "few_shot", present: int = PRESENT) -> Comparison:
    """Context preference of claims after `present` (a) less that of the claims as far off the other way (b).

    A pair is one question with +k years, which lands after `present`, and the same question with −k years: so question
    and distance are equal, and the direction alone differs. Pairs in which either passage got no answer, or whose prior
    answer equals either claim, are left out. NaN with n = 0 where the table has no such pair. One model at a time.
    """
    rows = perturbed_answers(records, method, present=present)
    rows = rows[rows["offset"].notna() & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    rows = rows.assign(size=rows["offset"].abs(), followed=rows["follows_claim"].astype(float))
    ahead, back = rows[(rows["offset"] > 0) & rows["future"]], rows[rows["offset"] < 0]
    keys = ["question_id", "size"]
    columns = [*keys, "item_id", "level", "followed"]
    both = ahead[columns].merge(back[[*keys, "followed"]], on=keys, suffixes=("", "_back"))
    return compare_pairs(both.rename(columns={"followed": "a", "followed_back": "b"}))


def n_future(records: pd.DataFrame, *, present: int = PRESENT) -> int:
    """How many items claim a year after `present`."""
    false = records[~is_standard(records) & (records["answer_type"] == "year")].drop_duplicates("item_id")
    return int((pd.to_numeric(false["claimed_answer"].astype(object), errors="coerce") > present).sum())
