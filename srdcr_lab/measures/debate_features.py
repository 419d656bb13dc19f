"""A debate as numbers: its verdict path, how certain its speakers say they are, whose answers agree and how far apart.

What a judge that is trained and not prompted may go by (the paper's open question 2). The truth is no feature: neither
the gold answer nor whether the passage was changed is looked at.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd

from srdcr_lab import answers
from srdcr_lab.measures.groups import RULINGS
from srdcr_lab.measures.matches import with_matches
from srdcr_lab.records import AnswerType, Role

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
    """How far two answers are apart: log(1 + years) for years, |log ratio| for numbers of one sign; else NaN."""
    if kind not in (AnswerType.YEAR, AnswerType.NUMBER) or one is None or other is None:
        return np.nan
    try:
        a, b = (float(answers.normalise(each, kind) or np.nan) for each in (one, other))
    except ValueError:  # it is more than a plain number
        return np.nan
    if np.isnan(a) or np.isnan(b):
        return np.nan
    if kind is AnswerType.YEAR:
        return float(np.log1p(abs(a - b)))
    return float(abs(np.log(abs(a / b)))) if a * b > 0 else np.nan


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
