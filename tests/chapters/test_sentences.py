"""Sentences on what a run shows: none contradicts its table, whatever the table; and every section of a notebook ends
with one."""

from __future__ import annotations

import math
import re
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srdcr_lab import documents, stances
from srdcr_lab.debates import kept_side, repeated_turns
from srdcr_lab.findings import sentence
from srdcr_lab.lib.sentences import Relation, Standing, standing
from srdcr_lab.lib.statistics import share_with
from tests.scripted import item

ONE = {"share": 0.7, "low": 0.6, "high": 0.8, "n": 40}


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 40), st.booleans())
def test_no_sentence_contradicts_its_table(a: float, b: float, bound: float, n: int, above: bool) -> None:
    low, high = sorted((round(a, 3), round(b, 3)))
    row = {"share": (low + high) / 2, "low": low, "high": high, "n": n}
    said = sentence("x", row, **{"above" if above else "below": round(bound, 2)})
    word = said.split("): ", 1)[1]
    bound = round(bound, 2)
    clear = (low > bound, high < bound) if above else (high < bound, low > bound)
    if n < 10:
        assert word.startswith("Too few" if n else "Not measured")
    elif low == high == bound:
        assert word.startswith("Identical")
    else:
        assert word.startswith("Supported" if clear[0] else "Contradicted" if clear[1] else "Inconclusive")
        shown = [float(end) for end in re.findall(r"\[([+\d.]+), ([+\d.]+)\]", word)[0]]
        if clear[0] or clear[1]:
            assert not shown[0] <= bound <= shown[1] or bound in (low, high) or abs(low - high) < 0.002


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ONE, "most (above 0.5): Supported: (0.70 [0.60, 0.80], n = 40 questions)."),
        (ONE | {"low": 0.4}, "most (above 0.5): Inconclusive: (0.70 [0.40, 0.80], n = 40 questions)."),
        (ONE | {"low": 0.502}, "most (above 0.5): Supported: (0.700 [0.502, 0.800], n = 40 questions)."),
        (ONE | {"low": 0.5004}, "most (above 0.5): Inconclusive: (0.700 [0.500, 0.800], n = 40 questions)."),
        (ONE | {"n": 9}, "most (above 0.5): Too few (n < 10): (0.70 [0.60, 0.80], n = 9 questions)."),
        (ONE | {"n_missing": 2}, "most (above 0.5): Supported: (0.70 [0.60, 0.80], n = 40 questions, 2 missing)."),
        (None, "most (above 0.5): Not measured: (n = 0 questions)."),
        (pd.DataFrame(), "most (above 0.5): Not measured: (n = 0 questions)."),
    ],
)
def test_a_sentence_by_hand(row: Any, said: str) -> None:
    assert sentence("most", row, above=0.5) == said


def test_a_family_is_decided_by_holms_p() -> None:
    rows = pd.DataFrame({
        "a": "sr_dcr", "b": ["few_shot", "rci", "golden", "self_ask"], "condition": ["overall"] * 3 + ["perturbed"],
        "difference": [0.2, -0.2, 0.5, 0.2], "low": [0.1, -0.3, 0.4, 0.1], "high": [0.3, -0.1, 0.6, 0.3],
        "n": 60, "n_questions": 30, "p_holm": [0.01, 0.02, math.nan, 0.08],
    })  # fmt: skip
    said = sentence("{a} is better", rows, "difference", above=0, by=["b"], of="items")
    assert said == (
        "SR-DCR is better (above 0): Supported: Few-Shot (+0.20 [+0.10, +0.30], p = 0.010); "
        "Contradicted: RCI (-0.20 [-0.30, -0.10], p = 0.020); "
        "Inconclusive: Self-Ask (+0.20 [+0.10, +0.30], p = 0.080); n = 60 items of 30 questions each; "
        "decided where Holm's p < 0.05."
    )
    overall = sentence("better", rows, "difference", above=0, by=["b"], where={"condition": "overall"})
    assert "Self-Ask" not in overall


def test_where_no_item_differs_it_says_so() -> None:
    row = {"difference": 0.0, "low": -0.03, "high": 0.03, "only_a": 0, "only_b": 0, "n": 60}
    assert "Identical on every item: (+0.00, n = 60" in sentence("better", row, "difference", above=0)
    other = sentence("better", row | {"only_a": 1, "only_b": 1}, "difference", above=0)
    assert "Inconclusive: (+0.00 [-0.03, +0.03]" in other


def test_a_column_may_hold_the_bound_and_what_a_run_brings_is_escaped() -> None:
    rows = [ONE | {"domain": "<b>years</b>", "reported": 0.9}, ONE | {"domain": "names", "reported": 0.5}]
    said = sentence("as reported", rows, above="reported", by=["domain"])
    assert "Contradicted: <b>years</b> (0.70 [0.60, 0.80] against 0.9)" in said
    page = said._repr_html_()
    assert "&lt;b&gt;years" in page
    assert page.count("<li><b>") == 2
    with pytest.raises(TypeError, match="one bound"):
        sentence("most", ONE)


@pytest.mark.parametrize(
    ("relation", "ends", "expected"),
    [
        (Relation.ABOVE, (0.71, 0.9), Standing.SUPPORTED),
        (Relation.ABOVE, (0.6, 0.9), Standing.INCONCLUSIVE),
        (Relation.BELOW, (0.71, 0.9), Standing.CONTRADICTED),
        (Relation.AT_MOST, (0.7, 0.7), Standing.SUPPORTED),
        (Relation.AT_MOST, (0.71, 0.8), Standing.CONTRADICTED),
        (Relation.WITHIN, (-0.6, 0.6), Standing.SUPPORTED),
        (Relation.WITHIN, (0.6, 0.8), Standing.INCONCLUSIVE),
        (Relation.WITHIN, (-0.9, -0.8), Standing.CONTRADICTED),
        (Relation.ABOVE, (math.nan, math.nan), Standing.INCONCLUSIVE),
    ],
)
def test_an_interval_against_a_bound(relation: Relation, ends: tuple[float, float], expected: Standing) -> None:
    assert standing(*ends, relation, 0.7) is expected


# What sentences are about ------------------------------------------------------------------------------------------


def test_shares_and_means_of_tables_by_hand() -> None:
    """Proponents who gave way, debates that were spared."""
    held = [True] * 10 + [False] * 10
    stood = pd.DataFrame(
        {"question_id": range(20), "held_right": held, "state": ["defend"] * 10 + ["concede", "revise"] * 5}
    )
    assert documents.gave_way(stood).set_index("held")["share"].to_dict() == {"right": 0, "wrong": 1}
    assert share_with(stood, "state", "concede", "revise")["share"].tolist() == [0.5]
    records = pd.DataFrame({
        "item_id": range(12), "question_id": range(12), "method": "cfmad_when_unsure",
        "missing": ["error"] + [None] * 11,
    })  # fmt: skip
    turns = pd.DataFrame({"item_id": [0, 10, 11], "method": "cfmad_when_unsure", "stance": [None, "A", "A"]})
    assert stances.spared(records, turns)["share"].tolist() == [pytest.approx(9 / 11)]


def test_sides_kept_and_words_said_again_by_hand() -> None:
    """Of ten debates a Defender who keeps to 1934 in half of its turns, and a Critic who was given nothing to keep to;
    of a speaker's turns in one debate the first counts for nothing, a later one if it was said before."""
    items = {f"q{n}": item(1934, question_id=f"q{n}") for n in range(10)}
    turns = pd.DataFrame([
        {"item_id": name, "question_id": name, "model": "m", "design": "acvd", "role": role, "stance": stance,
         "stated_answer": stated}
        for name in items
        for role, stance, stated in (("defender", "1934", "1934"), ("defender", "1934", None), ("critic", None, "1874"))
    ])  # fmt: skip
    kept = kept_side(turns, items).set_index("role")
    assert (kept.loc["defender", "share"], kept.loc["defender", "n"]) == (0.5, 20)
    assert (kept.loc["critic", "n"], kept.loc["critic", "n_missing"]) == (0, 10)
    texts = {"defender": "abba", "critic": "aaaa"}
    said = pd.DataFrame([
        {"item_id": f"q{n}", "question_id": f"q{n}", "method": "sr_dcr", "design": design, "model": "m", "role": role,
         "speaker": "", "position": place, "text": text}
        for n in range(20) for design in ("acvd", "symmetric") for role, own in texts.items()
        for place, text in enumerate(own)
    ])  # fmt: skip
    again = repeated_turns(pd.concat([said, said.assign(model="other")]).sample(frac=1, random_state=0))
    assert set(again["n"]) == {120}  # one model's turns are not said again by another
    assert again.groupby("role")["share"].unique().map(list).to_dict() == {"critic": [1], "defender": [2 / 3]}
