"""How often is a claim called what it is not? Studies of an invented model whose quantity is the claim's threshold.

There a claim is neither clearly true nor clearly false, so each wrong word is likeliest: "holds" and "does not hold"
may each be said of at most 5 % of the studies. A study has 60 questions, each with a true and a false passage.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab import claims
from srdcr_lab.claims import Claim, Denominator, Evidence
from srdcr_lab.lib.sentences import Relation, Standing

STUDIES, QUESTIONS, MOST, NOISE = 300, 60, 0.05, 2.0
OFFSETS, LEVELS = (20, 40, 60, 100, 200), ("subtle", "mild", "moderate", "blatant", "blatant")
RIVALS = tuple(f"rival_{i}" for i in range(6))


def records(
    chances: dict[str, tuple[float, float]],
    rng: np.random.Generator,
    answered: float = 1.0,
    easy: NDArray[np.float64] | None = None,
) -> pd.DataFrame:
    """Rows of methods that are right on true and on false passages with these probabilities. A question that is `easy`
    for one is often easy for all."""
    questions = np.arange(QUESTIONS)
    easy = rng.random((QUESTIONS, 2)) if easy is None else easy
    parts = []
    for method, chance in chances.items():
        for false in (0, 1):
            own = np.where(rng.random(QUESTIONS) < 0.5, easy[:, false], rng.random(QUESTIONS))
            right = pd.Series(own < chance[false]).astype("boolean")
            right = right.mask(rng.random(QUESTIONS) > answered)
            prior = rng.random(QUESTIONS) < 0.5
            parts.append(
                pd.DataFrame(
                    {
                        "item_id": [f"q{q}-{false}" for q in questions],
                        "question_id": [f"q{q}" for q in questions],
                        "method": method,
                        "model": "invented",
                        "design": None,
                        "level": np.where(false, np.array(LEVELS)[questions % 5], "standard"),
                        "perturbation_kind": np.where(false, "offset", "none"),
                        "perturbation_value": np.where(false, np.array(OFFSETS)[questions % 5], np.nan),
                        "answer_type": "year",
                        "gold_answer": "1900",
                        "claimed_answer": [str(1900 + OFFSETS[q % 5]) if false else "1900" for q in questions],
                        "prior_answer": np.where(prior, "1900", "1850"),
                        "context_answer": "1900",
                        "prior_correct": pd.Series(prior).astype("boolean"),
                        "final_answer": np.where(right.fillna(False), "1900", "1850"),
                        "correct": right,
                        "calls_alone": 20 + rng.poisson(1, QUESTIONS) if method == "a" else 20,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def _two(rng: np.random.Generator) -> pd.DataFrame:
    level = tuple(rng.uniform(0.2, 0.8, 2))
    return records({"a": level, "b": level}, rng, answered=0.8)


def _repeats(rng: np.random.Generator) -> pd.DataFrame:
    """Three repeats, in each of which either method is by chance better or worse than it is."""
    level, easy = rng.uniform(0.3, 0.7, 2), rng.random((QUESTIONS, 2))
    parts = []
    for k in (1, 2, 3):
        chances = {method: tuple(level + rng.normal(0, 0.05)) for method in ("a", "b")}
        parts.append(records(chances, rng, easy=easy).assign(repeat=k))
    return pd.concat(parts, ignore_index=True)


def _gap(rng: np.random.Generator) -> pd.DataFrame:
    low = rng.uniform(0.1, 0.7)
    return records({"a": (low + 0.2, low)}, rng)


def _well(rng: np.random.Generator) -> pd.DataFrame:
    return records({"a": (0.8, 0.5)}, rng)


def _many(rng: np.random.Generator) -> pd.DataFrame:
    level = tuple(rng.uniform(0.3, 0.7, 2))
    return records(dict.fromkeys(("a", *RIVALS), level), rng, answered=0.9)


Measure = Callable[..., Evidence]
KINDS: dict[str, tuple[Callable[[np.random.Generator], pd.DataFrame], Measure, tuple[object, ...], Relation, float]] = {
    "a difference overall": (_two, claims.accuracy_difference, ("a", "b", "overall"), Relation.ABOVE, 0.0),
    "a difference overall, of three repeats": (
        _repeats, claims.accuracy_difference, ("a", "b", "overall"), Relation.ABOVE, 0.0),
    "a difference of answered items": (
        _two, claims.accuracy_difference, ("a", "b", "overall", Denominator.ANSWERED), Relation.ABOVE, 0.0),
    "a difference of differences": (
        _two, claims.accuracy_difference, ("a", "b", "subtle-blatant"), Relation.BELOW, 0.0),
    "a gap of more than 20 points": (_gap, claims.gap, ("a",), Relation.ABOVE, 0.2),
    "an accuracy above 80 %": (_well, claims.accuracy_of, ("a", "standard"), Relation.ABOVE, 0.8),
    "the better worse half": (_two, claims.worse_half, ("a", "b"), Relation.ABOVE, 0.0),
    "better than every other method": (_many, claims.best_of_others, ("a",), Relation.ABOVE, 0.0),
    "… of answered items": (_many, claims.best_of_others, ("a", Denominator.ANSWERED), Relation.ABOVE, 0.0),
    "best at every offset": (_many, claims.least_over_strata, ("a",), Relation.ABOVE, 0.0),
    "prior preference": (_two, claims.prior_preference_change, ("a", "b"), Relation.BELOW, 0.0),
    "prior bias": (_two, claims.bias_contrast, ("a", "b", 1.0), Relation.BELOW, 0.0),
    "one more call": (_two, claims.more_calls, ("a", "b"), Relation.ABOVE, 1.0),
}  # fmt: skip


def said(kind: str, studies: int = STUDIES, seed: int = 0) -> dict[Standing, float]:
    """Share of studies in which a claim of this kind is said to hold, and not to hold."""
    study, measure, arguments, relation, threshold = KINDS[kind]
    claim = Claim("", "", "", "", measure, arguments, relation, threshold)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    words = [claim.standing(claim.evidence(study(rng))) for _ in range(studies)]
    return {word: words.count(word) / studies for word in (Standing.SUPPORTED, Standing.CONTRADICTED)}


def rows() -> list[dict[str, object]]:
    most = MOST + NOISE * (MOST * (1 - MOST) / STUDIES) ** 0.5
    return [
        {
            "name": f"{kind}, at the threshold: {word.value}",
            "measured": share,
            "target": f"≤ {MOST}",
            "holds": share <= most,
            "unit": "of studies",
            "detail": f"{STUDIES} studies of {QUESTIONS} questions; up to {most:.3f} is within the simulation's noise",
        }
        for kind in KINDS
        for word, share in said(kind).items()
    ]
