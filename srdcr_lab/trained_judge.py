"""A judge that is trained on debates, beside the one that was prompted [the paper's open question 2].

A debate becomes numbers: its verdict path, how certain its speakers say they are, whose answers agree and how far apart
they are. The truth is no feature: neither the gold answer nor whether the passage was changed is looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.lib.comparison import Comparison, compare_pairs, outcome
from srdcr_lab.lib.groups import RULINGS, is_standard, same_answer, with_matches
from srdcr_lab.records import AnswerType, BadInput, Role, Verdict

FOLDS = 5
FEWEST_QUESTIONS = 20  # of which each fold holds out four
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
    return float(bool(_SURE.search(_UNSURE.sub(" ", text)))) - float(bool(_UNSURE.search(text)))


def distance(one: object, other: object, kind: AnswerType) -> float:
    """How far two answers are apart: log(1 + years) or log(1 + days); of numbers the log ratio; else NaN."""
    a, b = (answers.normalise(each, kind) if isinstance(each, str) else None for each in (one, other))
    return np.nan if a is None or b is None else kind_of(kind).distance(a, b)


def debate_features(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """One row of floats per debate of one method and design, with the index of `records`; NaN for what was not read.

    `share_R`, `share_U`, `share_unparsed` of the verdict path, `last_R`, `last_U`, `changes` (share of neighbouring
    verdicts that differ); `critic_certain`, `defender_certain` (mean of `stated_certainty` over rounds) and
    `critic_certain_last`; `critic_agrees` (share of rounds in which the Critic states the Defender's answer),
    `critic_steady` (share of its later answers equal to its first); `answers_agree` (prior and context), `distance` of
    the two, and `self_confidence`.
    """
    path = records["verdict_path"].fillna("").astype(str)
    features = pd.DataFrame(index=records.index)
    for symbol, name in zip(RULINGS, ("share_R", "share_U", "share_unparsed"), strict=True):
        features[name] = path.str.count(re.escape(symbol)) / path.str.len().where(path != "").astype(float)
    for symbol in "RU":
        features[f"last_{symbol}"] = path.str.endswith(symbol)
    features["changes"] = [sum(a != b for a, b in pairwise(each)) / max(len(each) - 1, 1) for each in path]
    features = features.join(_spoken(records, turns).reindex(records["item_id"]).set_index(records.index))
    features["answers_agree"] = with_matches(records)["context_is_prior"]
    pairs = zip(records["prior_answer"], records["context_answer"], records["answer_type"], strict=True)
    features["distance"] = [distance(prior, context, AnswerType(kind)) for prior, context, kind in pairs]
    return features.assign(self_confidence=records["self_confidence"]).astype("Float64").astype(float)


def _spoken(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The features of what Critic and Defender said, by item_id."""
    keys = ["method", "design", "item_id"]
    spoken = turns.merge(records[[*keys, "answer_type"]], on=keys).sort_values("round", kind="stable")
    spoken["certain"] = spoken["text"].map(stated_certainty)
    spoken["place"] = spoken.groupby(["item_id", "role"]).cumcount()
    critic, defender = (spoken[spoken["role"] == role] for role in (Role.CRITIC, Role.DEFENDER))
    against = defender[["item_id", "place", "stated_answer"]].rename(columns={"stated_answer": "against"})
    critic = critic.merge(against, on=["item_id", "place"], how="left")
    first = critic.drop_duplicates("item_id").set_index("item_id")["stated_answer"]
    critic["first"] = critic["item_id"].map(first)
    critic["agrees"] = same_answer(critic, "stated_answer", "against").astype("Float64")
    critic["steady"] = same_answer(critic, "stated_answer", "first").astype("Float64").where(critic["place"] > 0)
    by_item = critic.groupby("item_id")
    features = {
        "critic_certain": by_item["certain"].mean(),
        "critic_certain_last": by_item["certain"].last(),
        "defender_certain": defender.groupby("item_id")["certain"].mean(),
        "critic_agrees": by_item["agrees"].mean(),
        "critic_steady": by_item["steady"].mean(),
    }
    return pd.DataFrame(features)


FEATURES = {
    "share_R": "share of rounds ruled Reasonable",
    "share_U": "share of rounds ruled Unreasonable",
    "share_unparsed": "share of rounds whose ruling could not be read",
    "last_R": "last ruling Reasonable",
    "last_U": "last ruling Unreasonable",
    "changes": "the ruling changes",
    "critic_certain": "the Critic claims certainty",
    "critic_certain_last": "the Critic claims certainty in the end",
    "defender_certain": "the Defender claims certainty",
    "critic_agrees": "the Critic states the Defender's answer",
    "critic_steady": "the Critic keeps its answer",
    "answers_agree": "prior and context answer agree",
    "distance": "distance of prior and context answer",
    "self_confidence": "confidence in the prior answer",
}  # in words
_RATES = ["judge", "verdict_tpr", "verdict_tnr", "accuracy", "brier", "n", "n_questions"]


@dataclass(frozen=True)
class TrainedJudge:
    """What a trained judge rules on questions it has not seen, and how that compares.

    `rulings`: one row per debate, with `prompted` and `trained` verdict, `p_reasonable` (calibrated) and `fold`.
    `comparison`: trained (a) less prompted (b) share of right verdicts, macro over true and false passages; UNPARSED is
    wrong. `rates`: of each `judge`; `accuracy` is the mean of `verdict_tpr` and `verdict_tnr`. `weights`: the
    standardised logistic weight of each feature, mean over the folds, strongest first.
    """

    rulings: pd.DataFrame
    comparison: Comparison
    rates: pd.DataFrame
    weights: pd.Series

    def strongest(self, n: int = 6) -> pd.DataFrame:
        """The `n` features that weigh most, in words; a positive weight speaks for Reasonable."""
        return self.weights.head(n).rename(FEATURES).rename_axis("feature").reset_index()


def train_judge(records: pd.DataFrame, turns: pd.DataFrame) -> TrainedJudge:
    """Train a logistic judge on debate features and rule on every question while it was held out.

    `records` are of one run, model, method and design; rows without a verdict are left out. The questions are dealt
    into five parts. Each is ruled on by a judge trained on the others, whose probabilities are calibrated (Platt) on
    inner folds of whole questions. `BadInput` for several models or designs, no debates, passages of one kind only, or
    fewer than twenty questions.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if turns.empty:
        raise BadInput("a judge is trained on what debaters said, and these results have no turns")
    held = _held(records)
    truth, questions = is_standard(held).to_numpy(bool), held["question_id"].to_numpy()
    features = debate_features(held, turns).dropna(axis=1, how="all")
    logistic = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression(max_iter=1000))
    split = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0).split  # no question is on both sides
    believed, fold_of = np.full(len(held), np.nan), np.full(len(held), -1)
    weights = []
    for fold, (others, here) in enumerate(split(features, truth, questions)):
        seen, labels = features.iloc[others], truth[others]
        inner = list(split(seen, labels, questions[others]))
        judge = CalibratedClassifierCV(logistic, method="sigmoid", cv=inner).fit(seen, labels)
        believed[here], fold_of[here] = judge.predict_proba(features.iloc[here])[:, 1], fold
        weights.append(logistic.fit(seen, labels)[-1].coef_[0][: features.shape[1]])  # without the imputer's indicators
    ruled = np.where(believed >= 0.5, Verdict.REASONABLE.value, Verdict.UNREASONABLE.value)
    rulings = held[["item_id", "question_id", "level"]].assign(
        prompted=held["verdict"], trained=ruled, p_reasonable=believed, fold=fold_of
    )
    stated = held["verdict"].map({Verdict.REASONABLE: 1.0, Verdict.UNREASONABLE: 0.0}).fillna(0.5)
    sides, rates = {}, []
    for side, judge_name, probability in (("a", "trained", believed), ("b", "prompted", stated)):
        right = sides[side] = outcome(held.assign(verdict=rulings[judge_name]), "verdict_right")
        tpr, tnr = right[truth].mean(), right[~truth].mean()
        brier = float(np.mean((probability - truth) ** 2))
        rates.append((judge_name, tpr, tnr, (tpr + tnr) / 2, brier, len(held), held["question_id"].nunique()))
    mean = pd.Series(np.mean(weights, axis=0), features.columns, name="weight")
    return TrainedJudge(
        rulings=rulings,
        comparison=compare_pairs(rulings.assign(**sides), macro=True),
        rates=pd.DataFrame(rates, columns=_RATES),
        weights=mean[mean.abs().sort_values(ascending=False, kind="stable").index],
    )


def _held(records: pd.DataFrame) -> pd.DataFrame:
    for column in ("run", "model", "method", "design"):
        if column in records and records[column].nunique() > 1:
            raise BadInput(f"a judge is trained on debates of one {column} at a time; choose one of the table's")
    held = records[records["verdict"].notna()].reset_index(drop=True)
    if held.empty:
        raise BadInput("there are no debates to train a judge on; run a method that debates, such as sr_dcr")
    if is_standard(held).nunique() < 2:
        raise BadInput("all passages are of one kind, so there is nothing to tell apart; add true and false passages")
    n = held["question_id"].nunique()
    if n < FEWEST_QUESTIONS:
        raise BadInput(f"a judge is trained on {FEWEST_QUESTIONS} questions or more, and there are {n}; run more items")
    return held
