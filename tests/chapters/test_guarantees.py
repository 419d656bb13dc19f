"""A small, seeded run of the guarantee simulation (`bench/guarantees.py`), its known risks, what the others read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench.guarantees import POPULATIONS, simulate
from bench.transfer import _rows as transfer_rows
from srdcr_lab import thresholds
from srdcr_lab.thresholds import accept

DRAWS = 100


@pytest.fixture(scope="module")
def kept():  # type: ignore[no-untyped-def]
    return {population.name: simulate(population, DRAWS) for population in POPULATIONS}


@pytest.mark.parametrize("name", [population.name for population in POPULATIONS])
def test_tested_thresholds_keep_their_promise(kept, name: str) -> None:  # type: ignore[no-untyped-def]
    guaranteed = [of for method, of in kept[name].items() if method.startswith("Learn-then-Test")]
    assert len(guaranteed) == 3
    assert all(of.p_value > 0.05 for of in guaranteed)


@pytest.mark.parametrize("name", [population.name for population in POPULATIONS])
def test_the_threshold_that_looks_best_does_not(kept, name: str) -> None:  # type: ignore[no-untyped-def]
    assert kept[name]["naive"].p_value < 1e-6


def test_the_promise_is_not_kept_by_never_choosing(kept) -> None:  # type: ignore[no-untyped-def]
    assert kept["calibrated"]["Learn-then-Test"].chosen > DRAWS / 3


def _unshared(p_value, delta, sequences):  # type: ignore[no-untyped-def]
    return accept(p_value, delta * len(sequences), sequences)


def _unstopped(p_value, delta, sequences):  # type: ignore[no-untyped-def]
    return np.isin(np.arange(p_value.size), np.concatenate(sequences)) & (p_value <= delta / len(sequences))


@pytest.mark.parametrize(
    ("fault", "method"),
    [(_unshared, "Learn-then-Test"), (_unstopped, "Learn-then-Test, from 0.97 alone")],
    ids=["δ is not shared among the starts", "a sequence does not stop"],
)
def test_a_fault_of_the_procedure_breaks_the_promise(fault, method: str, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(thresholds, "accept", fault)
    assert simulate(POPULATIONS[-1], 200, methods=(method,))[method].p_value < 0.01


# The runs that the other two commands read ---------------------------------------------------------------------------


def test_the_transfer_matrix_has_intervals_and_one_row_for_a_domain_without_threshold() -> None:
    """Domain a: 40 sure and right questions; b: two, on which nothing can be promised."""
    questions = pd.DataFrame(
        {
            "self_confidence": [0.95] * 40 + [0.9, 0.95],
            "prior_correct": [True] * 41 + [False],
            "domain": ["a"] * 40 + ["b"] * 2,
        }
    )
    rows = {str(row["name"]): row for row in transfer_rows("run", questions)}
    assert rows["run: τ by Learn-then-Test on a, risk on b"]["measured"] == 0.5
    assert "2 of 2 above τ" in str(rows["run: τ by Learn-then-Test on a, risk on b"]["detail"])
    assert "no threshold attains this" in str(rows["run: τ by Learn-then-Test on b"]["detail"])
    assert "run: τ by Learn-then-Test on b, risk on a" not in rows
