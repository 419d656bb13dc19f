"""Power and clustering by hand, by simulation, and against textbook formulas."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from statsmodels.regression.mixed_linear_model import MixedLM

from srdcr_lab.lib.comparison import (
    compare_all,
    design_effect,
    intra_question_correlation,
    power_table,
    questions_needed,
)
from srdcr_lab.lib.statistics import holm, sign_flip_test
from tests.lib.test_comparison import two_methods
from tests.simulated import simulated


def test_correlation_by_hand() -> None:
    """Two questions of two values, (1, 1) and (0, 1): MSB = 1/4, MSW = 1/4, so ρ = 0; (1, 1), (0, 0): ρ = 1."""
    assert intra_question_correlation([1, 1, 0, 1], list("aabb")) == pytest.approx(0)
    assert intra_question_correlation([1, 1, 0, 0], list("aabb")) == pytest.approx(1)
    assert intra_question_correlation([1, 0, 1, 0], list("aabb")) == pytest.approx(-1)


def test_correlation_is_that_of_a_mixed_model() -> None:
    """Random intercepts of variance 1 and noise of variance 3: about 1/4, whichever way it is estimated."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(200), 5)
    values = rng.normal(0, 1, 200)[clusters] + rng.normal(0, math.sqrt(3), 1000)
    fit = MixedLM(values, np.ones((1000, 1)), groups=clusters).fit()
    between = float(fit.cov_re[0, 0])
    assert intra_question_correlation(values, clusters) == pytest.approx(between / (between + fit.scale), abs=0.005)


@pytest.mark.parametrize(("values", "clusters"), [([], []), ([1, 0], "ab"), ([1, 0], "aa"), ([1, 1, 1, 1], "aabb")])
def test_where_nothing_can_be_told_of_the_correlation(values: list[int], clusters: str) -> None:
    assert math.isnan(intra_question_correlation(values, list(clusters)))


def test_design_effect_by_hand() -> None:
    """Equal values in each question of four: 1 + (4 − 1) · 1; one value a question: 1."""
    assert design_effect([1] * 4 + [0] * 4, list("aaaabbbb")) == pytest.approx(4)
    assert design_effect([1, 0, 1], list("abc")) == 1


def test_design_effect_is_the_ratio_of_the_variances_of_the_mean() -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(30), 4)
    means, variances, effects = [], [], []
    for _ in range(3000):
        values = rng.normal(0, 1, 30)[clusters] + rng.normal(0, 1, 120)
        means.append(values.mean())
        variances.append(values.var(ddof=1) / 120)
        effects.append(design_effect(values, clusters))
    assert np.mean(effects) == pytest.approx(np.var(means) / np.mean(variances), rel=0.08)


@pytest.mark.parametrize(("difference", "discordance"), [(0.05, 0.20), (0.10, 0.30), (0.02, 0.10)])
def test_questions_needed_agree_with_connors_formula(difference: float, discordance: float) -> None:
    """n = (z₁ √ψ + z₂ √(ψ − d²))² / d² (Connor 1987), within one in a hundred."""
    z = norm.ppf([0.975, 0.8])
    connor = (z[0] * math.sqrt(discordance) + z[1] * math.sqrt(discordance - difference**2)) ** 2 / difference**2
    assert questions_needed(difference, discordance) == pytest.approx(connor, rel=0.015)


def test_that_many_questions_do_see_the_difference_four_times_in_five() -> None:
    n = questions_needed(0.10, 0.30)
    rng = np.random.default_rng(4)
    d = rng.choice([1, -1, 0], size=(4000, n), p=[0.20, 0.10, 0.70])
    z = d.mean(axis=1) / (d.std(axis=1, ddof=1) / math.sqrt(n))
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.80, abs=0.02)


def test_a_design_effect_and_several_items_a_question_change_the_number_by_their_ratio() -> None:
    assert questions_needed(0.05, 0.2, effect_of_design=2, items_per_question=4) == pytest.approx(622 / 2, abs=1)


@pytest.mark.parametrize(("difference", "discordance"), [(0, 0.2), (1.2, 0.2), (0.1, 1.1)])
def test_shares_that_are_none_are_refused(difference: float, discordance: float) -> None:
    with pytest.raises(ValueError, match="lies in"):
        questions_needed(difference, discordance)


def test_the_power_table_rests_on_the_discordance_of_the_records() -> None:
    """Of 10 questions, 4 are discordant."""
    table = power_table(two_methods("rrrrrwwwww", "rrwwwrwwww"), "a", "b").tail(1)
    assert table["discordance"].item() == pytest.approx(0.4)
    assert table["n_questions_needed"].item() == questions_needed(0.1, 0.4)
    assert (table["n"].item(), table["items_per_question"].item()) == (10, 1.0)


def test_the_power_is_that_of_the_family_that_decides() -> None:
    """B: one of twelve comparisons under Holm; golden is in no family."""
    records = two_methods("rrrrrwwwww", "rrwwwrwwww")
    others = [records[records["method"] == "b"].assign(method=name) for name in ("golden", *map(str, range(11)))]
    alone, among = power_table(records, "a", "b"), power_table(pd.concat([records, *others]), "a", "b")
    assert (alone["family"].max(), among["family"].max()) == (1, 12)
    assert (among["n_questions_needed"] > 1.6 * alone["n_questions_needed"]).all()
    assert questions_needed(0.05, 0.20, alpha=0.05 / 12) == 1090


def test_the_family_is_the_one_that_holm_corrects_for() -> None:
    """Whatever the condition: as many comparisons as `compare_all` adjusts."""
    records = simulated(12).query("method != 'rci' or level == 'standard'")
    for condition in ("standard", "perturbed", "overall"):
        decided = compare_all(records, conditions=(condition,))["p_holm"].notna().sum()
        assert power_table(records, condition=condition)["family"].unique().tolist() == [decided]


def test_that_many_questions_pass_the_test_that_decides_four_times_in_five() -> None:
    """The smallest of twelve p values of `sign_flip_test`, adjusted by `holm`, is below 0.05."""
    n = questions_needed(0.15, 0.30, alpha=0.05 / 12)
    rng = np.random.default_rng(4)
    found = []
    for _ in range(200):
        gaps = rng.choice([1, -1, 0], size=n, p=[0.225, 0.075, 0.70])
        p = sign_flip_test(gaps, range(n), n_flips=1999)
        found.append(holm([p, *[1.0] * 11])[0] < 0.05)
    assert np.mean(found) == pytest.approx(0.80, abs=0.08)


def test_power_is_printed_for_the_comparisons_beside_it() -> None:
    """Where a notebook shows a power table, it is of the records whose comparisons it shows; no page and no command
    computes power by itself, where it would not know the family."""
    root = Path(__file__).parents[2]
    printed = {}
    for path in (root / "notebooks").glob("*.ipynb"):
        cells = ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
        called = [re.findall(rf"\b{name}\(([^,)]*)", "\n".join(cells)) for name in _SHOWN]
        printed |= {path.name: called} if called[0] else {}
        assert "questions_needed" not in "".join(cells)
    assert printed == {"05_full_evaluation.ipynb": [["records"], ["records"]]}
    sources = [*(root / "srdcr_lab").rglob("*.py"), *(root / "srdcr_lab").rglob("*.j2")]
    callers = {
        path.name for path in sources if re.search(r"\b(power_table|questions_needed)\(", path.read_text("utf-8"))
    }
    assert callers == {"comparison.py"}


_SHOWN = ("power_table", "compare_all")


def test_the_power_table_of_nothing_is_missing() -> None:
    table = power_table(two_methods("rr", ""), "a", "b")
    assert table["n"].eq(0).all()
    assert table["n_questions_needed"].isna().all()
    assert isinstance(table, pd.DataFrame)
