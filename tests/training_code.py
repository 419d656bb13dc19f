"""The pocket model's training code for tests: its modules by name, as scripts find them, and a small training world."""

import importlib
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

TRAINING = Path(__file__).resolve().parents[1] / "data" / "pocket" / "training"


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
    """What rows are made of, with a small world."""
    exposures, questions, r = module("exposures"), asked(), random.Random(seed)
    world = module("world").World(questions.words())
    facts = world.facts(own_facts, r)
    named = [
        exposures.Asked(f"world-{n}", fact.question, fact.answer, fact.domain, fact.values)
        for n, fact in enumerate(facts)
    ]
    planned = exposures.plan(named, set(), r)
    return module("rows").Materials(world, facts, planned, questions.exemplars, r)
