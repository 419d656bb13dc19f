"""A small, seeded run of the guarantee simulation (`bench/guarantees.py`), its known risks, what the others read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from scipy.stats import beta

from bench.guarantees import POPULATIONS, simulate
from bench.runs import tables
from bench.transfer import _rows as transfer_rows
from srdcr_lab import thresholds
from srdcr_lab.thresholds import accept

DRAWS = 100


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda population: population.name)
@pytest.mark.parametrize("tau", [0.0, 0.6, 0.96])
def test_known_risk_by_quadrature(population, tau: float) -> None:  # type: ignore[no-untyped-def]
    def wrong(c: float) -> float:
        return float(beta.pdf(c, population.a, population.b) * (1 - population.right(np.array([c]))[0]))

    edges = sorted({tau, max(tau, 0.95), 1.0})
    joint = sum(integrate.quad(wrong, a, b)[0] for a, b in pairwise(edges))
    mass, found = population.above(tau)
    assert mass == pytest.approx(integrate.quad(lambda c: beta.pdf(c, population.a, population.b), tau, 1)[0])
    assert found == pytest.approx(joint, abs=1e-5)


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


def test_a_missing_run_is_said_and_what_to_run_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables("records", tmp_path) == {}
    assert "run `make study` first" in capsys.readouterr().out


def test_the_runs_that_are_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study/records.parquet").touch()
    assert tables("records", tmp_path) == {"study": tmp_path / "study/records.parquet"}
    assert capsys.readouterr().out == "reads records.parquet of results/study\n"


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
