"""Learn-then-Test against MAPIE, which offers the same for a precision by a wider p-value."""

from __future__ import annotations

import numpy as np
import pytest
from mapie.risk_control import BinaryClassificationController, precision
from mapie.risk_control.fwer_control import FWERFixedSequenceTesting, control_fwer

from srdcr_lab.confidence import precision_steps
from srdcr_lab.thresholds import TAUS, risk_tests


def drawn(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.beta(8, 1, n)
    return confidence, rng.random(n) < confidence**0.5


@pytest.mark.parametrize("seed", range(3))
def test_the_same_tests_are_accepted_from_the_same_p_values(seed: int) -> None:
    tests = risk_tests(precision_steps(*drawn(seed)), starts=(max(TAUS),))
    same = control_fwer(tests["p_value"], 0.1, FWERFixedSequenceTesting(n_starts=1))
    assert np.flatnonzero(tests["accepted"]).tolist() == list(same)


@pytest.mark.parametrize("seed", range(3))
def test_what_mapie_accepts_the_exact_test_accepts(seed: int) -> None:
    """Its Hoeffding–Bentkus p-values bound ours from above: it finds a part of our thresholds."""
    confidence, right = drawn(seed)
    controller = BinaryClassificationController(
        predict_function=lambda x: np.column_stack([1 - x[:, 0], x[:, 0]]),
        risk=precision,
        target_level=0.9,
        confidence_level=0.9,
        list_predict_params=np.array(TAUS),
        fwer_method="bonferroni",
    )
    controller.calibrate(confidence[:, None], right.astype(int))
    tests = risk_tests(precision_steps(confidence, right))
    ours = set(tests.loc[tests["p_value"] <= 0.1 / len(tests), "tau"])
    theirs = {float(tau) for tau in np.ravel(controller.valid_predict_params)}
    assert theirs
    assert theirs <= ours
