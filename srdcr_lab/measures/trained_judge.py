"""A judge that is trained on debates, beside the one that was prompted [the paper's open question 2].

Every prediction is made by a judge that was not trained on that question: folds are made of whole questions, and so are
the inner ones that calibrate its probabilities. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.comparison import Comparison, compare_pairs
from srdcr_lab.measures.debate_features import debate_features
from srdcr_lab.measures.groups import is_standard
from srdcr_lab.records import BadInput, Verdict

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

FOLDS = 5
FEWEST_QUESTIONS = 20  # of which each fold holds out four


@dataclass(frozen=True)
class TrainedJudge:
    """What a trained judge rules on questions it has not seen, and how that compares.

    Attributes
    ----------
    rulings : one row per debate: `item_id`, `question_id`, `level`, `prompted` and `trained` verdict,
        `p_reasonable` (calibrated), `fold`.
    comparison : trained (a) less prompted (b) share of right verdicts, macro over true and false passages, clustered on
        the question. UNPARSED is wrong.
    rates : `judge`, `verdict_tpr`, `verdict_tnr`, `accuracy` (their mean), `brier`, `n`, `n_questions`.
    weights : the standardised logistic weights of each feature, mean over the folds, strongest first.
    """

    rulings: pd.DataFrame
    comparison: Comparison
    rates: pd.DataFrame
    weights: pd.Series


def train_judge(records: pd.DataFrame, turns: pd.DataFrame, *, folds: int = FOLDS, seed: int = 0) -> TrainedJudge:
    """Train a logistic judge on debate features and rule on every question while it was held out.

    Parameters
    ----------
    records : the rows of one method, model and design whose debates were held; rows without a verdict are left out.
    turns : the run's turns.
    folds : how many parts the questions are dealt into; each is ruled on by a judge trained on the others, whose
        probabilities are calibrated (Platt) on inner folds of whole questions.

    Raises
    ------
    BadInput
        If there are several models or designs, no debates, passages of one kind only, or fewer than twenty questions.
    """
    held = _held(records)
    truth = is_standard(held).to_numpy(bool)
    features = debate_features(held, turns)
    features = features.loc[:, features.notna().any()]
    questions = held["question_id"].to_numpy()
    believed = np.full(len(held), np.nan)
    fold_of = np.full(len(held), -1)
    weights = []
    for fold, (others, here) in enumerate(_by_question(truth, questions, folds, seed)):
        judge = _calibrated(features.iloc[others], truth[others], questions[others], folds, seed)
        believed[here] = judge.predict_proba(features.iloc[here])[:, 1]
        fold_of[here] = fold
        weights.append(_weights(features.iloc[others], truth[others]))
    rulings = pd.DataFrame(
        {
            "item_id": held["item_id"].to_numpy(),
            "question_id": questions,
            "level": held["level"].to_numpy(),
            "prompted": held["verdict"].to_numpy(),
            "trained": np.where(believed >= 0.5, Verdict.REASONABLE.value, Verdict.UNREASONABLE.value),
            "p_reasonable": believed,
            "fold": fold_of,
        }
    )
    mean = pd.concat(weights, axis=1).mean(axis=1)
    return TrainedJudge(rulings, _comparison(rulings, truth, seed), _rates(rulings, truth), _strongest_first(mean))


def _held(records: pd.DataFrame) -> pd.DataFrame:
    for column in ("run", "model", "method", "design"):
        if column in records and records[column].nunique() > 1:
            raise BadInput(f"a judge is trained on debates of one {column} at a time; choose one of the table's")
    held = records[records["verdict"].notna()].reset_index(drop=True)
    if held.empty:
        raise BadInput("there are no debates to train a judge on; run a method that debates, such as sr_dcr")
    if is_standard(held).nunique() < 2:
        raise BadInput(
            "all passages are of one kind, so a judge has nothing to tell apart; add true and false passages"
        )
    n = held["question_id"].nunique()
    if n < FEWEST_QUESTIONS:
        raise BadInput(f"a judge is trained on {FEWEST_QUESTIONS} questions or more, and there are {n}; run more items")
    return held


def _by_question(
    truth: NDArray[np.bool_], questions: NDArray[Any], folds: int, seed: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to train on and rows to rule on; no question is in both."""
    from sklearn.model_selection import StratifiedGroupKFold

    split = StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(questions, truth, questions)
    return iter(split)


def _pipeline() -> Pipeline:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression(max_iter=1000))


def _calibrated(
    features: pd.DataFrame, truth: NDArray[np.bool_], questions: NDArray[Any], folds: int, seed: int
) -> Any:
    from sklearn.calibration import CalibratedClassifierCV

    inner = list(_by_question(truth, questions, folds, seed))
    return CalibratedClassifierCV(_pipeline(), method="sigmoid", cv=inner).fit(features, truth)


def _weights(features: pd.DataFrame, truth: NDArray[np.bool_]) -> pd.Series:
    """The weight of each standardised feature; those of the indicators of what was missing are left out."""
    fitted = _pipeline().fit(features, truth)
    return pd.Series(fitted[-1].coef_[0][: features.shape[1]], index=features.columns)


def _strongest_first(weights: pd.Series) -> pd.Series:
    return weights.reindex(weights.abs().sort_values(ascending=False, kind="stable").index).rename("weight")


def _right(rulings: pd.DataFrame, judge: str, truth: NDArray[np.bool_]) -> NDArray[np.float64]:
    wanted = np.where(truth, Verdict.REASONABLE.value, Verdict.UNREASONABLE.value)
    return np.asarray(rulings[judge].to_numpy(object) == wanted, float)


def _comparison(rulings: pd.DataFrame, truth: NDArray[np.bool_], seed: int) -> Comparison:
    sides = {side: _right(rulings, judge, truth) for side, judge in (("a", "trained"), ("b", "prompted"))}
    return compare_pairs(rulings[["item_id", "question_id", "level"]].assign(**sides), macro=True, seed=seed)


def _rates(rulings: pd.DataFrame, truth: NDArray[np.bool_]) -> pd.DataFrame:
    """Both judges' rates; a prompted verdict is a probability of 1, 0, or ½ where it was not read."""
    stated = {Verdict.REASONABLE: 1.0, Verdict.UNREASONABLE: 0.0}
    probabilities = {
        "trained": rulings["p_reasonable"].to_numpy(float),
        "prompted": np.array([stated.get(Verdict(verdict), 0.5) for verdict in rulings["prompted"]]),
    }
    rows = []
    for judge, probability in probabilities.items():
        right = _right(rulings, judge, truth)
        tpr, tnr = right[truth].mean(), right[~truth].mean()
        brier = float(np.mean((probability - truth) ** 2))
        rows.append(
            {"judge": judge, "verdict_tpr": tpr, "verdict_tnr": tnr, "accuracy": (tpr + tnr) / 2, "brier": brier}
        )
    return pd.DataFrame(rows).assign(n=len(rulings), n_questions=rulings["question_id"].nunique())
