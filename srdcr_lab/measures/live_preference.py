"""Context preference by stratum and category while the bounds of the categories move; no model is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.groups import stratum_order
from srdcr_lab.measures.intervals import positions
from srdcr_lab.measures.knowledge import CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, categorise, jeffreys_interval
from srdcr_lab.measures.preference import perturbed_answers


@dataclass(frozen=True)
class LivePreference:
    """The false passages that tell a preference, one entry per item: those whose prior answer is not the claim.

    `follows` is 1 where the answer equals the claim, NaN without an answer; `accuracy` is the sampled accuracy.
    """

    strata: tuple[str, ...]
    stratum: NDArray[np.intp]
    question: NDArray[np.intp]
    follows: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @classmethod
    def from_records(cls, records: pd.DataFrame, method: str = "few_shot") -> LivePreference:
        """Of one run and model."""
        rows = perturbed_answers(records, method)
        rows = rows[~rows["prior_is_claim"]]
        order = stratum_order(rows["stratum"].unique())
        return cls(
            strata=tuple(order),
            stratum=positions(rows["stratum"], order),
            question=pd.factorize(rows["question_id"])[0],
            follows=rows["follows_claim"].astype("Float64").to_numpy(float, na_value=np.nan),
            accuracy=rows["sampled_accuracy"].to_numpy(float, na_value=np.nan),
        )

    def at(self, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM) -> pd.DataFrame:
        """`context_preference` by stratum and category with these bounds, for the items that are not apart.

        Intervals are Jeffreys's with n divided by the design effect of the clustering on the question: with one item a
        question those of `context_preference`, else an approximation of its bootstrap. An item without draws is in no
        cell.
        """
        category = categorise(self.accuracy, highly_from=highly_from, maybe_from=maybe_from)
        shape = len(self.strata), len(CATEGORIES)
        cell = self.stratum * shape[1] + category
        known = ~np.isnan(self.follows) & (category >= 0)
        unread = np.isnan(self.follows) & (category >= 0)
        size, where, hit, question = shape[0] * shape[1], cell[known], self.follows[known], self.question[known]
        n, k = np.bincount(where, minlength=size), np.bincount(where, hit, size)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = k / n
            scatter = np.bincount(where, (hit - share[where]) ** 2, size)
            pairs, place = np.unique(where * (self.question.max(initial=0) + 1) + question, return_inverse=True)
            of_question = np.bincount(place, hit - share[where], pairs.size) ** 2
            home = pairs // (self.question.max(initial=0) + 1)
            asked = np.bincount(home, minlength=size)
            effect = np.where(scatter > 0, np.bincount(home, of_question, size) / scatter, n / asked)
            usable = n / np.maximum(effect, 1)
            low, high = jeffreys_interval(share * usable, usable)
        return pd.DataFrame(
            {
                "stratum": np.repeat(np.array(self.strata, object), shape[1]),
                "knowledge_category": [category.value for category in CATEGORIES] * shape[0],
                "prior_is_claim": False,
                "n": n,
                "n_questions": asked,
                "n_missing": np.bincount(cell[unread], minlength=size),
                "share": share,
                "low": low,
                "high": high,
            }
        )
