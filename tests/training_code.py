"""The pocket model's training code for tests: its modules by name, as scripts find them, and a small training world."""

import importlib
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from srdcr_lab.records import AnswerType

TRAINING = Path(__file__).resolve().parents[1] / "data" / "pocket" / "training"
ANSWER_TYPES = {
    "year": AnswerType.YEAR, "fresh_year": AnswerType.YEAR, "date": AnswerType.DATE, "person": AnswerType.NAME,
    "city": AnswerType.CITY,
}  # fmt: skip


def module(name: str) -> ModuleType:
    sys.path.insert(0, str(TRAINING))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TRAINING))


def asked() -> Any:
    """The evaluated questions and the exemplars."""
    return module("questions").read_questions(TRAINING.parents[1] / "facts")


def materials(seed: int = 3, own_facts: int = 60) -> Any:
    """What rows are made of, with a small world; `materials.world.met` is every fact it made, by its question."""
    exposures, questions, r = module("exposures"), asked(), random.Random(seed)
    world = _remembering(questions.words())
    facts = world.facts(own_facts, r)
    named = [
        exposures.Asked(f"world-{n}", fact.question, fact.answer, fact.domain, fact.values)
        for n, fact in enumerate(facts)
    ]
    planned = exposures.plan(named, set(), r)
    return module("rows").Materials(world, facts, planned, questions.exemplars, r)


def _remembering(reserved: set[str]) -> Any:
    class Remembering(module("world").World):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(reserved)
            self.met: dict[str, Any] = {}

        def fact(self, *args: Any, **named: Any) -> Any:
            made = super().fact(*args, **named)
            self.met[made.question] = made
            return made

    return Remembering()


def answer_type(fact: Any) -> AnswerType:
    return ANSWER_TYPES.get(fact.values, AnswerType.NUMBER)
