"""Claims about the future beside their mirror images in the past: which pairs count, and the difference by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from srdcr_lab.preference import future_against_past


def _rows(question: str, gold: int, followed: dict[int, bool | None], prior: str = "1500") -> list[dict[str, Any]]:
    """One few-shot row per offset: the claim where it was followed, memory where it was not, None for no answer."""
    answer = {True: lambda claim: claim, False: lambda _: prior, None: lambda _: None}
    return [
        {
            "item_id": f"{question}@{offset:+d}", "question_id": question, "method": "few_shot", "model": "m",
            "design": None, "answer_type": "year", "gold_answer": str(gold), "prior_answer": prior,
            "claimed_answer": str(gold + offset), "context_answer": None, "perturbation_kind": "offset",
            "perturbation_value": float(offset), "level": "blatant", "correct": None,
            "final_answer": answer[did](str(gold + offset)),
        }
        for offset, did in followed.items()
    ]  # fmt: skip


def test_pairs_are_one_question_moved_as_far_either_way() -> None:
    rows = [
        *_rows("a", 1960, {100: False, -100: True, 200: False, -200: True, 20: True, -20: True}),  # +20 is 1980
        *_rows("b", 1970, {100: True, -100: True, 200: False}),  # −200 was not asked
        *_rows("c", 1700, {200: False, -200: True}),  # 1900: no future
        *_rows("d", 1990, {100: None, -100: True}),  # no answer
        *_rows("e", 1990, {100: False, -100: True}, prior="1890"),  # memory says what the backward passage claims
    ]
    found = future_against_past(pd.DataFrame(rows))
    assert (found.n, found.n_questions) == (3, 2)
    assert (found.mean_a, found.mean_b) == (1 / 3, 1.0)
    assert math.isclose(found.difference, -2 / 3)


def test_without_such_pairs_there_is_no_difference() -> None:
    found = future_against_past(pd.DataFrame(_rows("c", 1700, {200: False, -200: True})))
    assert found.n == 0
    assert math.isnan(found.difference)
