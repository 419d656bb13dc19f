"""How following a false passage changes with its offset: the logistic slope per knowledge category [4.1]."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.measures.groups import CATEGORY_NAMES, groups, stack
from srdcr_lab.measures.preference import PRESENT, perturbed_answers

PER = 100.0  # years
_FIELDS = ("n", "n_questions", "slope", "low", "high", "p_value", "odds_ratio", "note")
ALL = "all"
FEW_QUESTIONS = 20  # below, a cluster-robust interval is too narrow


def offset_slopes(records: pd.DataFrame, *, method: str = "few_shot", present: int = PRESENT) -> pd.DataFrame:
    """logit P(answer = claimed) = α + β · |offset| / 100 years, fitted apart for every category, and for all items.

    Year offsets only; items whose prior answer equals the claim, and those without an answer, are left out. A negative
    β: the farther off the claim, the less it is followed. Standard errors are robust to the clustering on the question.

    Returns
    -------
    DataFrame : group columns, `knowledge_category` (or "all"), `n`, `n_questions`, `slope` (β, log-odds per 100
        years), `low`, `high` (95 %), `p_value`, `odds_ratio`, `note` (why there is no slope, or what weakens it).

    Source: the paper shows the curves (Figure 2) and fits none; the model is ours.
    """
    rows = perturbed_answers(records, method, present=present)
    rows = rows[rows["offset"].notna() & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    tables = []
    for names, part in groups(rows):
        for category in (*CATEGORY_NAMES, ALL):
            cell = part if category == ALL else part[part["knowledge_category"] == category]
            fitted = logistic_slope(cell["offset"].abs() / PER, cell["follows_claim"].astype(bool), cell["question_id"])
            tables.append(({**names, "knowledge_category": category}, pd.DataFrame([fitted])))
    return stack(tables, ("model", "method", "knowledge_category", *_FIELDS))


def logistic_slope(x: ArrayLike, y: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Mapping[str, Any]:
    """Slope of a logistic regression of the 0/1 values `y` on `x`, with a cluster-robust interval.

    NaN, and a note that says why, where all outcomes or all x are equal, or where x separates the outcomes.
    """
    import statsmodels.api as sm  # takes a second, which the command line would pay at every start

    x, y = np.asarray(x, float), np.asarray(y, bool)
    codes = pd.factorize(np.asarray(clusters))[0]
    n_questions = int(codes.max(initial=-1)) + 1
    found: dict[str, Any] = {
        "n": y.size,
        "n_questions": n_questions,
        "slope": math.nan,
        "low": math.nan,
        "high": math.nan,
    }
    found |= {"p_value": math.nan, "odds_ratio": math.nan, "note": _no_slope(x, y, n_questions)}
    if found["note"]:
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.Logit(y.astype(float), sm.add_constant(x))
        fit = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": codes})
    low, high = fit.conf_int(1 - level)[1]
    few = f"only {n_questions} questions: the interval is too narrow" if n_questions < FEW_QUESTIONS else ""
    slope = float(fit.params[1])
    return found | {
        "slope": slope,
        "low": float(low),
        "high": float(high),
        "p_value": float(fit.pvalues[1]),
        "odds_ratio": math.exp(slope),
        "note": few,
    }


def _no_slope(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], n_questions: int) -> str:
    if n_questions < 3:
        return "fewer than 3 questions"
    if y.all() or not y.any():
        return "every claim was followed" if y.all() else "no claim was followed"
    if np.ptp(x) == 0:
        return "one offset only"
    if x[y].max() <= x[~y].min() or x[~y].max() <= x[y].min():
        return "the offset separates the outcomes"
    return ""
