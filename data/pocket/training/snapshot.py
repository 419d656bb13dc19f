"""What the model believes by now: its own answers to the training world's questions, and how confident it is of them.

Stated certainty is taught from these beliefs, renewed as the model learns. Evaluated questions are never asked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import phrases
from sampling import Speaker
from world import Fact

from srdcr_lab.answers.wording import opening_statement
from srdcr_lab.prompts import render
from srdcr_lab.records import Exemplar

MOST_TOKENS = 16  # of an answer and a full stop


@dataclass(frozen=True, slots=True)
class Belief:
    """The prior answer to the world's fact ``index``, the confidence of it in [0, 1], and what the critic says."""

    index: int
    answer: str
    confidence: float
    as_critic: str


def believed(
    speaker: Speaker, facts: Sequence[tuple[int, Fact]], exemplars: Mapping[str, Sequence[Exemplar]]
) -> list[list[Belief]]:
    """Beliefs about (index, fact), sorted into the levels of `phrases.CERTAINTY`; unreadable answers are left out."""
    asked, argued = [], []
    for _, fact in facts:
        shots = [({"question": e.question}, e.answer) for e in exemplars[fact.domain][:4]]
        asked.append(render("answer_from_memory", shots=shots, question=fact.question))
        argued.append(render("critic", question=fact.question, passage="", transcript=()))
    priors = speaker.greedy(asked, max_new=MOST_TOKENS)
    openings = speaker.greedy(argued, max_new=MOST_TOKENS)
    levels: list[list[Belief]] = [[] for _ in phrases.CERTAINTY]
    for (index, _), prior, opening in zip(facts, priors, openings, strict=True):
        as_critic = opening_statement(opening.text)
        if plausible(prior.text) and plausible(as_critic):
            belief = Belief(index, prior.text, prior.confidence, as_critic)
            levels[phrases.level(prior.confidence)].append(belief)
    return levels


def plausible(answer: str) -> bool:
    """Whether a text can be the answer to anything: short, on one line, without one of the fixed phrases."""
    return 0 < len(answer) <= 40 and answer == answer.strip() and not set(answer) & set("\n<:;")
