"""Risk–coverage by hand."""

from __future__ import annotations

import math

import pytest

from srdcr_lab.confidence import precision_steps, risk_coverage


def test_risk_and_coverage_by_hand() -> None:
    """Four questions, one without confidence: it is never answered and stays in the denominator of coverage."""
    curve = risk_coverage(precision_steps([0.9, 0.8, 0.8, math.nan], [True, False, True, True]))
    assert curve["tau"].tolist() == [0.9, 0.8]
    assert curve["n_answered"].tolist() == [1, 3]
    assert curve["n_wrong"].tolist() == [0, 1]
    assert curve["risk"].tolist() == pytest.approx([0, 1 / 3])
    assert curve["coverage"].tolist() == pytest.approx([1 / 4, 3 / 4])


def test_interval_is_that_of_the_risk() -> None:
    curve = risk_coverage(precision_steps([0.9] * 10, [True] * 8 + [False] * 2))
    assert curve["low"][0] < curve["risk"][0] < curve["high"][0]
