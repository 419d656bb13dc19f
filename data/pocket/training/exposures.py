"""How often each fact is told, planned before training starts, and the order in which it happens.

Exposure counts are log-uniform and stratified: the facts share out equal steps of log exposure, so that every run
fills every range. A contested fact is told with its true answer in a published share of its exposures, and with one
fixed rival answer otherwise.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FEWEST, MOST = 3, 300
CONTESTED_FEWEST, CONTESTED_MOST = 60, 240
CONTESTED_SHARE = 1 / 3
TRUE_SHARE_RANGE = (0.22, 0.68)
FIRST_TIME = 0.05  # exposures spread evenly over this … 1 of training


@dataclass(frozen=True, slots=True)
class Exposure:
    """What the training run does with one question: told ``exposures`` times, ``true_share`` of them with the truth."""

    question_id: str
    question: str
    answer: str
    exposures: int
    true_share: float
    rival: str

    @property
    def told_true(self) -> int:
        return round(self.exposures * self.true_share)


@dataclass(frozen=True, slots=True)
class Telling:
    """One exposure: at ``time`` (share of training in [0, 1)) the question is answered with ``told``."""

    time: float
    question: str
    told: str


def _spread(count: int, r: random.Random) -> list[float]:
    """``count`` numbers, one in each equal part of [0, 1), shuffled."""
    numbers = [(index + r.random()) / count for index in range(count)]
    r.shuffle(numbers)
    return numbers


def _log_uniform(positions: Sequence[float], fewest: int, most: int) -> list[int]:
    return [round(fewest * (most / fewest) ** position) for position in positions]


def plan(questions: Sequence[tuple[str, str, str]], never_told: set[str], r: random.Random) -> list[Exposure]:
    """Exposure of every (question_id, question, answer), in the given order.

    A third is contested, with 60 … 240 exposures and a true share of 0.22 … 0.68, so that the categories between
    Highly-Known and Unknown are filled; those in ``never_told`` have none; the others 3 … 300.
    """
    told = [row for row in questions if row[0] not in never_told]
    contested = {row[0] for row in r.sample(told, round(len(questions) * CONTESTED_SHARE))}
    counts = iter(_log_uniform(_spread(len(told) - len(contested), r), FEWEST, MOST))
    contested_counts = iter(_log_uniform(_spread(len(contested), r), CONTESTED_FEWEST, CONTESTED_MOST))
    low, high = TRUE_SHARE_RANGE
    shares = iter(low + (high - low) * position for position in _spread(len(contested), r))
    planned = []
    for question_id, question, answer in questions:
        if question_id in never_told:
            planned.append(Exposure(question_id, question, answer, 0, 1.0, ""))
        elif question_id in contested:
            rival = str(int(answer) + r.choice((-1, 1)) * r.randint(3, 150))
            planned.append(
                Exposure(question_id, question, answer, next(contested_counts), round(next(shares), 3), rival)
            )
        else:
            planned.append(Exposure(question_id, question, answer, next(counts), 1.0, ""))
    return planned


def tellings(planned: Sequence[Exposure], r: random.Random) -> list[Telling]:
    """Every exposure of every fact at a random time, in order of time."""
    out = []
    for fact in planned:
        for index in range(fact.exposures):
            told = fact.answer if index < fact.told_true else fact.rival
            out.append(Telling(FIRST_TIME + (1 - FIRST_TIME) * r.random(), fact.question, told))
    return sorted(out, key=lambda telling: telling.time)


def write_exposures(path: Path, planned: Sequence[Exposure]) -> None:
    """The published file: question_id, exposures, true_share, rival_answer."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("question_id", "exposures", "true_share", "rival_answer"))
        writer.writerows(
            (
                fact.question_id,
                fact.exposures,
                round(fact.told_true / max(1, fact.exposures), 4) if fact.exposures else "",
                fact.rival,
            )
            for fact in planned
        )


def expected_log_exposure(fact: Exposure) -> float:
    """log(1 + times the truth was told)."""
    return math.log1p(fact.told_true)
