"""A sentence says what its numbers say, whatever they are, and its verdict comes first."""

import math
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import srdcr_lab as lab
from srdcr_lab.lib.page import shown
from srdcr_lab.lib.sentences import Relation, Standing, answer_box, sentence, sentences, standing
from srdcr_lab.records import BadInput


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 40), st.booleans())
def test_no_sentence_contradicts_its_numbers(a: float, b: float, bound: float, n: int, above: bool) -> None:
    low, high = sorted((round(a, 3), round(b, 3)))
    bound = round(bound, 2)
    text = sentence("x", (low + high) / 2, low, high, n, **{"above" if above else "below": bound})
    clear = (low > bound, high < bound) if above else (high < bound, low > bound)
    if n < 10:
        assert text.verdict is (Standing.TOO_FEW if n else Standing.NOT_MEASURED)
    elif low == high == bound == 0:
        assert text.verdict is Standing.SAME
    else:
        verdicts = {clear[0]: Standing.SUPPORTED, clear[1]: Standing.CONTRADICTED}
        assert text.verdict is verdicts.get(True, Standing.INCONCLUSIVE)
        ends = [float(end) for end in re.findall(r"\[([-+\d.]+), ([-+\d.]+)\]", text)[0]]
        if any(clear):
            assert not ends[0] <= bound <= ends[1] or bound in (low, high) or abs(low - high) < 0.002


@pytest.mark.parametrize(("numbers", "options", "text"), [
    ((0.7, 0.6, 0.8, 40), {"above": 0.5}, "Supported: most (0.70 [0.60, 0.80] against 0.5, n = 40 questions)."),
    ((0.7, 0.4, 0.8, 40), {"above": 0.5},
     "Inconclusive: whether most (0.70 [0.40, 0.80] against 0.5, n = 40 questions)."),
    ((0.7, 0.6, 0.8, 40), {"below": 0.5},
     "Contradicted: the claim that most (0.70 [0.60, 0.80] against 0.5, n = 40 questions)."),
    ((0.7, 0.502, 0.8, 40), {"above": 0.5}, "Supported: most (0.700 [0.502, 0.800] against 0.5, n = 40 questions)."),
    ((0.1, 0.05, 0.15, 1234), {}, "Supported: most (+0.10 [+0.05, +0.15], n = 1,234 questions)."),
    ((0.1, 0.05, 0.15, 40), {"p": 0.2},
     "Inconclusive: whether most (Holm-corrected) (+0.10 [+0.05, +0.15], p = 0.200, n = 40 questions)."),
    ((0.1, 0.05, 0.15, 9), {"of": "debates"}, "Too few (n < 10): whether most (+0.10 [+0.05, +0.15], n = 9 debates)."),
    ((0.5, 0.5, 0.5, 40), {"above": 0.5},
     "Inconclusive: whether most (0.500 [0.500, 0.500] against 0.5, n = 40 questions)."),
    ((math.nan,), {}, "Not measured: whether most (–, n = 0 questions)."),
])  # fmt: skip
def test_a_sentence_by_hand(numbers: tuple[float, ...], options: dict[str, float], text: str) -> None:
    assert sentence("most", *numbers, **options) == text
    assert sentence("{x} most", *numbers, **options) == text.replace("most", "{x} most")


def test_rows_of_a_table_are_named_and_sorted_by_verdict() -> None:
    rows = [
        {"a": "sr_dcr", "b": "few_shot", "condition": name, "value": value, "low": value - 0.05, "high": value + 0.05,
         "n": 100, "p_holm": p, "family": 17}
        for name, value, p in (("true", 0.02, 0.4), ("false", 0.1, 0.0001), ("all", 0.2, 0.0001))
    ]  # fmt: skip
    text = sentences("{a} is right more often than {b}", pd.DataFrame(rows), by=["condition"])
    assert text == (
        "Supported: SR-DCR is right more often than Few-Shot (Holm-corrected over 17 comparisons), for false "
        "(+0.10 [+0.05, +0.15], p < 0.001, n = 100 questions) and all (+0.20 [+0.15, +0.25], p < 0.001, "
        "n = 100 questions). Inconclusive for true (+0.02 [−0.03, +0.07], p = 0.400, n = 100 questions)."
    )
    assert text.verdict is None
    text = sentences("A wins", rows, by=["b"], before="than")
    assert text.startswith("Supported: A wins (Holm-corrected over 17 comparisons) than ")
    assert sentences("x", rows[:0]) == "Not measured: whether x (n = 0 questions)."


def test_a_misspelt_column_is_told() -> None:
    with pytest.raises(BadInput, match=r"no column 'shares' \(did you mean share\?\)"):
        sentences("x", pd.DataFrame({"share": [0.5], "low": 0.4, "high": 0.6, "n": 90}), "shares")


def test_two_bounds_are_one_too_many() -> None:
    with pytest.raises(TypeError, match="one bound"):
        sentences("x", {"value": 1.0}, above=0.1, below=0.2)


@pytest.mark.parametrize(("ends", "relation", "bound", "verdict"), [
    ((-0.05, 0.05), Relation.WITHIN, 0.1, Standing.SUPPORTED),
    ((0.12, 0.2), Relation.WITHIN, 0.1, Standing.CONTRADICTED),
    ((0.1, 0.2), Relation.AT_MOST, 0.2, Standing.SUPPORTED),
    ((0.5004, 0.8), Relation.ABOVE, 0.5, Standing.INCONCLUSIVE),
    ((math.nan, 0.8), Relation.ABOVE, 0.5, Standing.INCONCLUSIVE),
])  # fmt: skip
def test_standing(ends: tuple[float, float], relation: Relation, bound: float, verdict: Standing) -> None:
    assert standing(*ends, relation, bound) is verdict


def test_an_answer_box_escapes_what_is_not_ours_and_shows_verdicts_in_bold() -> None:
    box = answer_box(sentence("a < b", 0.1, 0.05, 0.15, 40), "<script>", label="pocket")
    assert "<b>Supported</b>: a &lt; b" in box
    assert "&lt;script&gt;" in box
    assert "pocket" in box


def test_a_shown_table_has_headings_labels_and_intervals_in_one_column() -> None:
    table = pd.DataFrame({
        "method": ["sr_dcr"], "share": [0.123], "low": [0.1], "high": [0.2], "n": [12000], "p_holm": [0.00001],
        "knowledge_category": ["HIGHLY_KNOWN"], "x": [pd.NA], "accuracy": [0.5], "accuracy_low": [0.4],
        "accuracy_high": [0.6], "<b>": ["<i>"],
    })  # fmt: skip
    html = shown(table, "made by hand")
    for text in ("SR-DCR", "0.12 [0.10, 0.20]", "12,000", "&lt; 0.001", "Highly-Known", "–", "0.50 [0.40, 0.60]"):
        assert text in html
    assert "p (Holm)" in html
    assert "share [95 % interval]" in html
    assert "p_holm" not in html
    assert "<i>" not in html


def test_bad_input_in_a_notebook_is_one_sentence() -> None:
    with pytest.raises(lab.BadInput) as error:
        lab.open_study(run="no-such-run")
    assert error.value._render_traceback_() == [f"BadInput: {error.value}"]
