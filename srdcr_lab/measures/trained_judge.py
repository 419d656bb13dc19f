"""A debate as numbers: its verdict path, how certain its speakers say they are, whose answers agree and how far apart.

What a judge that is trained and not prompted may go by (the paper's open question 2). The truth is no feature: neither
the gold answer nor whether the passage was changed is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.measures.comparison import Comparison, compare_pairs
from srdcr_lab.measures.groups import RULINGS, is_standard, with_matches
from srdcr_lab.records import AnswerType, BadInput, Role, Verdict

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


_UNSURE = re.compile(
    r"(?:\bnot|n't|\bnever|\bhardly|\bless than) (?:\w+ ){0,2}(?:certain|sure|confident|positive)\b"
    r"|\b(?:uncertain|unsure|perhaps|maybe|possibly|probably|might|i think|i believe|i guess|if i remember|guess)\b"
    r"|\b(?:do not|don't|cannot|can't) (?:know|remember|recall)\b",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"\b(?:certain|sure|confident|positive|definitely|undoubtedly|no doubt|without doubt|beyond doubt)\b", re.IGNORECASE
)


def stated_certainty(text: str) -> float:
    """1 where a speech claims to be certain, −1 where it says that it is not, 0 where it says neither or both.

    >>> stated_certainty("1874. I am not quite certain."), stated_certainty("1874. I am certain.")
    (-1.0, 1.0)
    """
    unsure = bool(_UNSURE.search(text))
    sure = bool(_SURE.search(_UNSURE.sub(" ", text)))
    return float(sure) - float(unsure)


def distance(one: str | None, other: str | None, kind: AnswerType) -> float:
    """How far two answers are apart: log(1 + years) or log(1 + days), |log ratio| for numbers of one sign; else NaN."""
    a, b = (None if each is None else answers.normalise(each, kind) for each in (one, other))
    return np.nan if a is None or b is None else kind_of(kind).distance(a, b)


def debate_features(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """One row of floats per debate, with the index of `records`; NaN where something could not be read.

    `share_R`, `share_U`, `share_unparsed` of the verdict path, `last_R`, `last_U`, `changes` (share of neighbouring
    verdicts that differ); `critic_certain`, `defender_certain` (mean of `stated_certainty` over rounds) and
    `critic_certain_last`; `critic_agrees` (share of rounds in which the Critic states the Defender's answer),
    `critic_steady` (share of its answers equal to its first); `answers_agree` (prior and context), `distance` of the
    two, and `self_confidence`.

    Parameters
    ----------
    records : rows of debates of one method and one design.
    turns : their turns, at least; others are left out.
    """
    path = records["verdict_path"].fillna("").astype(str)
    length = path.str.len().where(path.str.len() > 0).astype(float)
    found = pd.DataFrame(index=records.index)
    for symbol, name in zip(RULINGS, ("share_R", "share_U", "share_unparsed"), strict=True):
        found[name] = path.str.count(re.escape(symbol)) / length
    for symbol in "RU":
        found[f"last_{symbol}"] = path.str.endswith(symbol).astype(float)
    found["changes"] = [sum(a != b for a, b in pairwise(each)) / max(len(each) - 1, 1) for each in path]
    spoken = _spoken(records, turns)
    found = found.join(spoken.reindex(records["item_id"]).set_index(records.index))
    found["answers_agree"] = with_matches(records)["context_is_prior"].astype("Float64")
    kinds = map(AnswerType, records["answer_type"])
    pairs = zip(*(records[name].astype(object) for name in ("prior_answer", "context_answer")), kinds, strict=True)
    found["distance"] = [distance(_read(a), _read(b), kind) for a, b, kind in pairs]
    found["self_confidence"] = records["self_confidence"]
    return found.astype(float)


def _read(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _spoken(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The features of what was said, by item_id."""
    mine = turns
    for name in ("method", "design"):
        mine = mine[mine[name].isin(records[name].unique())]
    kinds = dict(zip(records["item_id"], map(AnswerType, records["answer_type"]), strict=True))
    rows = {}
    for item_id, said in mine[mine["item_id"].isin(kinds)].groupby("item_id", sort=False):
        critic, defender = (said[said["role"] == role].sort_values("round") for role in (Role.CRITIC, Role.DEFENDER))
        certain = critic["text"].map(stated_certainty)
        stated, against = (list(part["stated_answer"].astype(object)) for part in (critic, defender))
        kind = kinds[item_id]
        rows[item_id] = {
            "critic_certain": certain.mean(),
            "critic_certain_last": certain.iloc[-1] if len(certain) else np.nan,
            "defender_certain": defender["text"].map(stated_certainty).mean(),
            "critic_agrees": _share([_same(a, b, kind) for a, b in zip(stated, against, strict=False)]),
            "critic_steady": _share([_same(a, stated[0], kind) for a in stated[1:]]),
        }
    names = ("critic_certain", "critic_certain_last", "defender_certain", "critic_agrees", "critic_steady")
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(names))


def _same(one: object, other: object, kind: AnswerType) -> float:
    a, b = _read(one), _read(other)
    return np.nan if a is None or b is None else float(a == b or answers.equal(a, b, kind, ""))


def _share(values: list[float]) -> float:
    read = [value for value in values if not np.isnan(value)]
    return float(np.mean(read)) if read else np.nan


# -- a judge that is trained on debates, beside the one that was prompted [the paper's open question 2]

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
