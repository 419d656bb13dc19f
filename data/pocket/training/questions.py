"""The evaluated questions and the exemplars, and the texts the tokenizer learns its pieces from."""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from pathlib import Path

import other_domains as O
import proper_names as names
import words as W
from exposures import Asked
from world import World

from srdcr_lab.records import Exemplar

# answer type → `values.VALUES`
VALUES_OF = {"year": "year", "date": "date", "number": "count", "name": "person", "city": "city"}


@dataclass(frozen=True, slots=True)
class Questions:
    """The evaluated questions (never their passages), those never told, and the exemplars by domain.

    Never told are the invented ones and those of the split `held`.
    """

    evaluated: list[Asked]
    never_told: set[str]
    exemplars: dict[str, list[Exemplar]]

    def words(self) -> set[str]:
        """Words of the questions and answers: no invented name may be one of them."""
        texts = (text for asked in self.evaluated for text in (asked.question, asked.answer))
        return {word.strip("?,.'\"") for text in texts for word in text.split()}


def read_questions(folder: Path) -> Questions:
    """Questions and answers of facts.csv, and exemplars.csv whole. The passages of facts.csv are not read."""
    with (folder / "facts.csv").open(encoding="utf-8", newline="") as file:
        rows = [{key: value for key, value in row.items() if key != "context"} for row in csv.DictReader(file)]
    exemplars: dict[str, list[Exemplar]] = {}
    with (folder / "exemplars.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            exemplars.setdefault(row["domain"], []).append(
                Exemplar(
                    question=row["question"], answer=row["gold_answer"], context=row["context"], domain=row["domain"]
                )
            )
    evaluated = [
        Asked(row["question_id"], row["question"], row["gold_answer"], row["domain"], VALUES_OF[row["answer_type"]])
        for row in rows
    ]
    never_told = {row["question_id"] for row in rows if row["fame_band"] == "invented" or row["split"] == "held"}
    return Questions(evaluated, never_told, exemplars)


def corpus(questions: Questions, world: World, r: random.Random, passages: int = 4000) -> list[str]:
    """What the tokenizer learns its pieces from: questions that are told, exemplars and the training world's text."""
    told = (one for one in questions.evaluated if one.question_id not in questions.never_told)
    asked = [text for one in told for text in (one.question, f" {one.answer}")]
    shown = [text for pool in questions.exemplars.values() for e in pool for text in (e.question, e.context, e.answer)]
    common = W.NOUNS + W.ADJECTIVES + W.VERBS + W.FUNCTION_WORDS + W.MONTHS + W.JOBS + list(W.NUMBER_WORDS)
    common += [word.capitalize() for word in W.FUNCTION_WORDS] + names.COUNTRIES + names.NATIONS
    common += [word for family in O.FAMILIES for unit in family.units for word in " ".join(unit).split()]
    listed = names.CITIES + names.GIVEN + names.FAMILY
    texts = asked * 40 + shown * 10 + [" ".join(("", *common))] * 60 + [" ".join(("", *listed))] * 25
    for _ in range(passages):
        fact = world.fact(r)
        texts += [fact.question, world.passage(fact, fact.answer, r)]
    return texts
