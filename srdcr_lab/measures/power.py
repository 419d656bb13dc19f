"""How many questions a study takes: to see a difference of two methods, or to know a share to a given width. Ours."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import bdtrc

from srdcr_lab.measures.comparison import condition_rows, paired
from srdcr_lab.measures.estimates import jeffreys_interval

DIFFERENCES = (0.02, 0.03, 0.05, 0.10)
_MANY = 10**9  # more questions than anybody asks


def intra_question_correlation(values: ArrayLike, clusters: ArrayLike) -> float:
    """ρ, by one-way analysis of variance: (MSB − MSW) / (MSB + (m₀ − 1) · MSW), m₀ = (N − Σm²/N) / (k − 1).

    NaN where no question has two values, there is one question only, or all values are equal. Source: Donner 1986.
    """
    scored = np.asarray(values, float)
    codes = pd.factorize(np.asarray(clusters))[0]
    sizes = np.bincount(codes) if codes.size else np.zeros(0, int)
    k, n = sizes.size, scored.size
    if k < 2 or n == k:
        return math.nan
    means = np.bincount(codes, weights=scored) / sizes
    between = float((sizes * (means - scored.mean()) ** 2).sum()) / (k - 1)
    within = float(((scored - means[codes]) ** 2).sum()) / (n - k)
    usual = (n - (sizes**2).sum() / n) / (k - 1)
    total = between + (usual - 1) * within
    return (between - within) / total if total > 0 else math.nan


def design_effect(values: ArrayLike, clusters: ArrayLike) -> float:
    """Variance of the mean over that of independent values: 1 + (Σm²/Σm − 1) · max(ρ, 0); 1 for NaN [Kish 1965]."""
    sizes = pd.Series(np.asarray(clusters)).value_counts().to_numpy(float)
    rho = intra_question_correlation(values, clusters)
    return 1 + ((sizes**2).sum() / sizes.sum() - 1) * rho if rho > 0 else 1.0


def questions_needed(
    difference: float,
    discordance: float,
    *,
    items_per_question: float = 1.0,
    effect_of_design: float = 1.0,
    power: float = 0.80,
    alpha: float = 0.05,
) -> int:
    """Questions to see a difference in accuracy with that power, two-sided, paired on the items.

    The difference of an item is 1, 0 or −1 with standard deviation √(ψ − d²), ψ the share of items on which exactly one
    of the two methods is right (`discordance`). n items by the one-sample t test; questions = n · design effect / items
    per question, rounded up.

    >>> questions_needed(0.05, 0.20)
    624
    """
    from statsmodels.stats.power import TTestPower

    d, psi = abs(difference), max(abs(difference), discordance)
    if not 0 < d <= 1 or psi > 1:
        raise ValueError(f"a difference lies in (0, 1] and a discordance in [0, 1], got {difference} and {discordance}")
    spread = math.sqrt(max(psi - d**2, 1e-6))
    n = TTestPower().solve_power(effect_size=d / spread, power=power, alpha=alpha, alternative="two-sided")
    return math.ceil(max(float(np.squeeze(n)), 2.0) * effect_of_design / items_per_question)


def power_table(
    records: pd.DataFrame, a: str = "sr_dcr", b: str = "few_shot", *, condition: str = "perturbed"
) -> pd.DataFrame:
    """Questions that differences of 2, 3, 5 and 10 points would take, from how A and B differed on these items.

    Columns: `difference`, `n_questions_needed`; beside it what it rests on: `n`, `n_questions`, `discordance`,
    `correlation` (of the differences within a question), `design_effect`, `items_per_question`. NaN where no item has
    both. One model, run and design at a time.
    """
    pairs = paired(condition_rows(records, condition), a, b)
    gap, questions = pairs["a"] - pairs["b"], pairs["question_id"]
    n, n_questions = len(pairs), questions.nunique()
    basis = {"n": n, "n_questions": n_questions, "discordance": float((gap != 0).mean()) if n else math.nan}
    basis["correlation"] = intra_question_correlation(gap, questions)
    basis["design_effect"] = effect = design_effect(gap, questions) if n else math.nan
    basis["items_per_question"] = per_question = n / n_questions if n else math.nan
    options = {"items_per_question": per_question, "effect_of_design": effect}
    needed = [questions_needed(d, basis["discordance"], **options) if n else math.nan for d in DIFFERENCES]
    return pd.DataFrame({"difference": DIFFERENCES, "n_questions_needed": needed}).assign(**basis)


class QuestionsNeeded(NamedTuple):
    """`n_above` questions above τ give the width; of `n_questions` at least so many are above it as `assured`."""

    n_above: int
    n_questions: int


def questions_for_width(precision: float, coverage: float, width: float, *, assured: float = 0.9) -> QuestionsNeeded:
    """Questions for a 95 % Jeffreys interval of P(target | Conf ≥ τ) at most `width` wide.

    `precision` is the share expected (½ is the safe guess), `coverage` P(Conf ≥ τ) expected, `assured` the probability
    with which enough of the questions are above τ, Bin(n_questions, coverage).
    """
    if not (0 <= precision <= 1 and 0 < coverage <= 1 and 0 < width < 1 and 0 < assured < 1):
        raise ValueError("precision lies in [0, 1], coverage in (0, 1], width and assured between 0 and 1")

    def narrow(n: int) -> bool:
        low, high = jeffreys_interval(precision * n, n)
        return bool(high - low <= width)

    n_above = 1 + bisect_left(range(1, _MANY), True, key=narrow)
    enough = range(n_above, _MANY)
    more = bisect_left(enough, True, key=lambda n: float(bdtrc(n_above - 1, n, coverage)) >= assured)
    return QuestionsNeeded(n_above, n_above + more)
