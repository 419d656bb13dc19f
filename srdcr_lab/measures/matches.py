"""Which answers equal which: a row's answer, its prior answer, and what the passage claims."""

from __future__ import annotations

import numpy as np
import pandas as pd

from srdcr_lab import answers
from srdcr_lab.records import AnswerType

MATCHES = {
    "prior_is_claim": ("prior_answer", "claimed_answer"),
    "context_is_claim": ("context_answer", "claimed_answer"),
    "context_is_prior": ("context_answer", "prior_answer"),
    "final_is_claim": ("final_answer", "claimed_answer"),
    "final_is_prior": ("final_answer", "prior_answer"),
}


def with_matches(records: pd.DataFrame) -> pd.DataFrame:
    """The records with the columns of `MATCHES`: bool, missing where one of the two answers is missing.

    Exact match after normalisation (`srdcr_lab.answers.equal`). Columns that are there already are left as they are, so
    that a table is matched once however many measures read it.
    """
    missing = {name: pair for name, pair in MATCHES.items() if name not in records}
    return records.assign(**{name: same_answer(records, *pair) for name, pair in missing.items()})


def same_answer(records: pd.DataFrame, left: str, right: str) -> pd.Series:
    """Row by row, whether two columns hold the same answer; each distinct pair is compared once."""
    unit = records["unit"].astype(object).fillna("") if "unit" in records else pd.Series("", records.index)
    columns = [records[left], records[right], records["answer_type"], unit]
    known = (records[left].notna() & records[right].notna()).to_numpy()
    found: dict[tuple[str, str, str, str], bool] = {}
    same = np.zeros(len(records), bool)
    rows = zip(*(column.astype(object).to_numpy()[known] for column in columns), strict=True)
    for place, row in zip(np.flatnonzero(known), rows, strict=True):
        if row not in found:
            found[row] = row[0] == row[1] or _equal(*row)
        same[place] = found[row]
    return pd.Series(pd.array(same, "boolean"), records.index).where(known)


def _equal(left: str, right: str, kind: str, unit: str) -> bool:
    """`left` and `right` are written differently; two plain years then differ."""
    if kind == AnswerType.YEAR and all(len(text) == 4 and text.isascii() and text.isdigit() for text in (left, right)):
        return False
    return answers.equal(left, right, AnswerType(kind), unit)
