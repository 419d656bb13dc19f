"""Exact match, precision, recall and adoption on documents, worked by hand; what challenged proponents did."""

import json
import math
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.documents import answer_outcomes, concession_gap, document_summary, stands
from tests.documents import item

# q1: two right documents, one misleading; q2: two gold answers, two misleading documents; q3: nobody misleads.
ITEMS = (
    item(1874, 1874, 1901, question_id="q1"),
    item(1874, 1901, 1850, question_id="q2", golds=(1874, 1880)),
    item(1874, None, question_id="q3"),
)


def records(method: str = "concatenate", **given: tuple[str, ...] | None) -> pd.DataFrame:
    usual = {"method": method, "rounds": 2, "calls_alone": 3, "prompt_tokens": 100, "completion_tokens": 10}
    rows = [
        {"item_id": name, "question_id": name, "final_answers": list(answers or ()),
         "missing": None if answers else "abstained"}
        for name, answers in given.items()
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**usual)


def outcome(answers: tuple[str, ...] | None, of: str = "q2") -> dict[str, Any]:
    (row,) = answer_outcomes(records(**{of: answers}), ITEMS).to_dict("records")
    return {str(name): value for name, value in row.items()}


@pytest.mark.parametrize(("answers", "counts", "match"), [
    (("1874", "1880"), (2, 2, 0), True),
    (("AD 1880", "1874"), (2, 2, 0), True),  # whatever order and spelling
    (("1874", "1880", "1777"), (3, 2, 0), True),  # a further answer is not known to be wrong
    (("1874", "1880", "1901"), (3, 2, 1), False), (("1874",), (1, 1, 0), False),
    (("1901", "1850"), (2, 0, 2), False), (None, (0, 0, 0), False),
])  # fmt: skip
def test_every_gold_answer_and_no_wrong_one(
    answers: tuple[str, ...] | None, counts: tuple[int, int, int], match: bool
) -> None:
    found = outcome(answers)
    assert tuple(found[name] for name in ("n_given", "n_right", "n_wrong")) == counts
    assert found["exact_match"] is match


def test_items_are_described_by_their_documents() -> None:
    found = outcome(("1874",), "q1")
    assert (found["n_documents"], found["n_misinforming"], found["n_gold"], found["n_asserted"]) == (3, 1, 1, 1)
    assert found["share_misinforming"] == pytest.approx(1 / 3)
    assert outcome(None, "q3")["share_misinforming"] == 0
    assert outcome(("1874", "AD 1874"))["n_given_right"] == 2  # of two gold answers, one


def table(found: pd.DataFrame) -> dict[str, tuple[float, int]]:
    return {row["measure"]: (row["value"], row["n"]) for row in found.to_dict("records")}


def test_each_measure_has_its_own_denominator() -> None:
    """q1 answers 1874; q2 answers 1874 and 1901; q3 abstains. 3 answers given, 2 of them gold, of 4 gold answers."""
    outcomes = answer_outcomes(records(q1=("1874",), q2=("1874", "1901"), q3=None), ITEMS)
    found = table(document_summary(outcomes))
    assert found["exact_match"] == (pytest.approx(1 / 3), 3)
    assert found["precision"] == (pytest.approx(2 / 3), 3)
    assert found["recall"] == (pytest.approx(2 / 4), 4)
    assert found["misinformation_adopted"] == (pytest.approx(1 / 2), 2)
    assert found["coverage"] == (pytest.approx(2 / 3), 3)
    assert found["rounds"] == (2.0, 3)
    assert found["completion_tokens"] == (10.0, 3)


def test_a_share_of_nothing_is_nan() -> None:
    outcomes = answer_outcomes(records(q3=None), ITEMS)
    for measure in ("precision", "misinformation_adopted"):
        value, n = table(document_summary(outcomes))[measure]
        assert (math.isnan(value), n) == (True, 0)


def test_by_a_column_and_by_method() -> None:
    both = pd.concat([records(q1=("1874",), q2=("1874",)), records("madam_rag", q1=("1901",), q2=None)])
    found = document_summary(answer_outcomes(both, ITEMS), "n_gold")
    match = found[found["measure"] == "exact_match"]
    by_hand = [["concatenate", 1, 1.0], ["madam_rag", 1, 0.0], ["concatenate", 2, 0.0], ["madam_rag", 2, 0.0]]
    assert match[["method", "n_gold", "value"]].to_numpy().tolist() == by_hand


def turn(speaker: str, text: str, **fields: Any) -> dict[str, Any]:
    of = {"item_id": "q1", "method": "dialectical", "role": "proponent", "round": 1, "speaker": speaker, "text": text}
    return of | {"stance": None, "stated_answer": None} | fields


def test_what_challenged_proponents_did() -> None:
    turns = [
        turn("1", '{"answer": "1874"}', round=0),
        turn("1", json.dumps({"state": "defend"}), stance="1874", stated_answer="1874"),
        turn("3", 'Well: {"state": "defend"}', stance="1901"),  # an attempt, repaired by the next
        turn("3", json.dumps({"state": "concede"}), stance="1901"),
        turn("", "answers: 1874", role="judge", round=2),
        turn("1", json.dumps({"state": "concede"}), item_id="q2", stance="1874"),  # no judge: it broke off
    ]
    found = stands(pd.DataFrame(turns), ITEMS)
    assert found[["document_id", "kind", "held", "state", "held_right"]].to_numpy().tolist() == [
        ["1", "correct", "1874", "defend", True],
        ["3", "misinfo", "1901", "concede", False],
    ]
    empty = {"held": None, "held_right": None}  # which is not wrong
    more = pd.concat([*[found] * 6, found.assign(**empty)], ignore_index=True)
    more["question_id"] = [f"q{i // 2}" for i in range(14)]
    assert concession_gap(more).value == 1
