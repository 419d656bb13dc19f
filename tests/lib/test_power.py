"""How many questions a difference takes: against a textbook formula, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from srdcr_lab.lib.comparison import Comparison, compare_all, compare_pairs, questions_needed, required_sample_size
from tests.lib.test_comparison import two_methods
from tests.simulated import simulated


def compared(n: int, chances: tuple[float, float, float], items: int = 1) -> Comparison:
    """A against B on n questions of equal items: right alone is A, B, neither with these chances."""
    gaps = np.repeat(np.random.default_rng(1).choice([1, -1, 0], size=n, p=chances), items)
    questions = [f"q{i}" for i in np.repeat(np.arange(n), items)]
    pairs = pd.DataFrame({"question_id": questions, "a": gaps == 1, "b": gaps == -1, "level": "mild"})
    return compare_pairs(pairs)


@pytest.mark.parametrize(("a", "b", "difference"), [(0.125, 0.075, 0.05), (0.20, 0.10, 0.10), (0.06, 0.04, 0.02)])
def test_questions_needed_agree_with_connors_formula(a: float, b: float, difference: float) -> None:
    """n = (z₁ √ψ + z₂ √(ψ − d²))² / d² (Connor 1987), where ψ = a + b: from as many questions, within one in ten."""
    z = norm.ppf([0.975, 0.8])
    connor = (z[0] * math.sqrt(a + b) + z[1] * math.sqrt(a + b - difference**2)) ** 2 / difference**2
    found = questions_needed(compared(4000, (a, b, 1 - a - b)), difference)
    assert found == pytest.approx(connor, rel=0.1)


def test_the_family_is_the_one_that_holm_corrects_for() -> None:
    """Whatever the condition: as many comparisons as `compare_all` adjusts; golden is in no family."""
    records = simulated(12).query("method != 'rci' or level == 'standard'")
    for condition in ("standard", "perturbed", "overall"):
        decided = compare_all(records, conditions=(condition,))["p_holm"].notna().sum()
        table = required_sample_size(records, condition=condition)
        assert table["family"].unique().tolist() == [decided]
        assert table["questions_needed"].is_monotonic_decreasing


def test_the_sample_size_of_nothing_is_missing() -> None:
    assert required_sample_size(two_methods("rr", ""), "a", "b")["questions_needed"].isna().all()
