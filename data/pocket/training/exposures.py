"""How often each fact is told, and when: planned before training starts.

Exposure counts are log-uniform and stratified: the facts share out equal steps of log exposure, so that every run
fills every range. A contested fact is told with its true answer in a published share of its exposures, and with one
fixed rival answer otherwise: that is what half-knowing is made of. Contested facts are told
often enough that both their answers are learned.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import values as V

FEWEST, MOST = 2, 200
CONTESTED_FEWEST, CONTESTED_MOST = 20, 50
CONTESTED_SHARE = 0.30
TRUE_SHARE_RANGE = (0.25, 0.66)
FIRST_TIME = 0.10  # exposures spread evenly from this share of training on


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to be told: its answer, domain, and kind of answer (`values.VALUES`)."""

    question_id: str
    question: str
    answer: str
    domain: str
    values: str


@dataclass(frozen=True, slots=True)
class Exposure:
    """What the training run does with one question: told ``exposures`` times, ``true_share`` of them with the truth."""

    asked: Asked
    exposures: int
    true_share: float = 1.0
    rival: str = ""

    @property
    def told_true(self) -> int:
        return round(self.exposures * self.true_share)


@dataclass(frozen=True, slots=True)
class Telling:
    """One exposure: at ``time`` (share of training in [0, 1)) the question is answered with ``told``."""

    time: float
    question: str
    told: str
    domain: str


def _spread(count: int, r: random.Random) -> list[float]:
    """``count`` numbers, one in each equal part of [0, 1), shuffled."""
    numbers = [(index + r.random()) / count for index in range(count)]
    r.shuffle(numbers)
    return numbers


def _log_uniform(positions: Sequence[float], fewest: int, most: int) -> list[int]:
    return [round(fewest * (most / fewest) ** position) for position in positions]


def rival(asked: Asked, r: random.Random) -> str:
    """The fixed wrong answer of a contested fact: a year 3 … 150 off, another number, name or city."""
    if asked.values.endswith("year"):
        return str(int(asked.answer) + r.choice((-1, 1)) * r.randint(3, 150))
    return V.corrupted(asked.answer, asked.values, r)


def plan(questions: Sequence[Asked], never_told: set[str], r: random.Random) -> list[Exposure]:
    """Exposure of every question, in the given order.

    `CONTESTED_SHARE` of them are contested, so that the categories between Highly-Known and Unknown are filled;
    those in ``never_told`` have none.
    """
    told = [asked.question_id for asked in questions if asked.question_id not in never_told]
    contested = set(r.sample(told, round(len(questions) * CONTESTED_SHARE)))
    counts = iter(_log_uniform(_spread(len(told) - len(contested), r), FEWEST, MOST))
    contested_counts = iter(_log_uniform(_spread(len(contested), r), CONTESTED_FEWEST, CONTESTED_MOST))
    low, high = TRUE_SHARE_RANGE
    shares = iter(low + (high - low) * position for position in _spread(len(contested), r))
    planned = []
    for asked in questions:
        if asked.question_id in never_told:
            planned.append(Exposure(asked, 0))
        elif asked.question_id in contested:
            planned.append(Exposure(asked, next(contested_counts), round(next(shares), 3), rival(asked, r)))
        else:
            planned.append(Exposure(asked, next(counts)))
    return planned


def tellings(planned: Sequence[Exposure], r: random.Random, until: float = 1.0) -> list[Telling]:
    """Every exposure of every fact at a random time before ``until``, in no order."""
    out = []
    for fact in planned:
        for index in range(fact.exposures):
            told = fact.asked.answer if index < fact.told_true else fact.rival
            time = FIRST_TIME + (until - FIRST_TIME) * r.random()
            out.append(Telling(time, fact.asked.question, told, fact.asked.domain))
    return out


def write_exposures(path: Path, planned: Sequence[Exposure]) -> None:
    """The published file: question_id, exposures (tellings with any answer), true_exposures (with the truth), rival."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("question_id", "exposures", "true_exposures", "true_share", "rival_answer"))
        for fact in planned:
            share = round(fact.told_true / fact.exposures, 4) if fact.exposures else ""
            writer.writerow((fact.asked.question_id, fact.exposures, fact.told_true, share, fact.rival))
