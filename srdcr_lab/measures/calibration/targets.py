"""What confidence is held against, one row per unique question."""

from __future__ import annotations

import pandas as pd

from srdcr_lab.records import KnowledgeCategory


def question_targets(records: pd.DataFrame) -> pd.DataFrame:
    """Confidence and the three targets of each question in a records table.

    Parameters
    ----------
    records : rows of one model, item × method; leave in the levels whose passages are to count.

    Returns
    -------
    DataFrame, one row per `question_id` in order of first appearance, with `domain`, `self_confidence`,
    `confidence_kind` and three targets, each True, False or missing:

    - `highly_known`: `knowledge_category` is HIGHLY_KNOWN; missing without knowledge draws.
    - `prior_correct`: the prior answer is right; one that could not be read is not, one whose call failed is missing.
    - `prior_better`: the prior answer is right and the context answer is wrong (or unread) on at least one of the
      question's passages: on these the prior answer is right more often than the context answer.
    """
    items = records.drop_duplicates("item_id")
    for column in ("model", "confidence_kind"):
        if items[column].nunique() > 1:
            raise ValueError(f"the records hold several values of {column}; choose one of them first")
    first = items.drop_duplicates("question_id").set_index("question_id")
    category = first["knowledge_category"]
    highly = (category == KnowledgeCategory.HIGHLY_KNOWN).astype("boolean").mask(category.isna())
    prior, context = (_right(items, answer) for answer in ("prior", "context"))
    fooled = (~context).groupby(items["question_id"]).max()  # passages without an answer do not count
    prior_right = prior.groupby(items["question_id"]).first().reindex(first.index)
    table = pd.DataFrame(
        {
            "domain": first["domain"],
            "self_confidence": first["self_confidence"].astype(float),
            "confidence_kind": first["confidence_kind"],
            "highly_known": highly,
            "prior_correct": prior_right,
            "prior_better": prior_right & fooled.reindex(first.index),
        }
    )
    return table.reset_index()


def _right(items: pd.DataFrame, answer: str) -> pd.Series:
    """Whether the answer is right; False where it was given and could not be read, missing where its call failed."""
    right = items[f"{answer}_correct"].astype("boolean")
    unread = right.isna() & items["error"].isna()
    return right.mask(unread, False)
