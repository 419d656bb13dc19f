"""What the model believes by now: its own answers to the training world's questions, and how confident it is of them.

Stated certainty is taught from these beliefs, renewed as the model learns. Evaluated questions are never asked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import phrases
from sampling import Speaker

from srdcr_lab.prompts import render
from srdcr_lab.records import Exemplar


@dataclass(frozen=True, slots=True)
class Belief:
    """The prior answer to the world's fact ``index``, the confidence of it in [0, 1], and what the critic says."""

    index: int
    answer: str
    confidence: float
    as_critic: str


def believed(
    speaker: Speaker, questions: Sequence[tuple[int, str]], exemplars: Sequence[Exemplar]
) -> list[list[Belief]]:
    """Beliefs about (index, question), sorted into the levels of `phrases.CERTAINTY`."""
    shots = [({"question": e.question}, e.answer) for e in exemplars[:4]]
    asked = [render("answer_from_memory", shots=shots, question=question) for _, question in questions]
    argued = [render("critic", question=question, passage="", transcript=()) for _, question in questions]
    priors = speaker.greedy(asked, max_new=4)
    openings = speaker.greedy(argued, max_new=4)
    levels: list[list[Belief]] = [[] for _ in phrases.CERTAINTY]
    for (index, _), prior, opening in zip(questions, priors, openings, strict=True):
        as_critic = opening.text.split(".")[0].strip()
        if prior.text.isdigit() and as_critic.isdigit():
            belief = Belief(index, prior.text, prior.confidence, as_critic)
            levels[phrases.level(prior.confidence)].append(belief)
    return levels
