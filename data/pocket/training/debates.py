"""Asymmetric debates between copies of one model, for measuring: every debate advances by one turn at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sampling import Speaker

from srdcr_lab.prompts import render
from srdcr_lab.prompts.parse import verdict
from srdcr_lab.records import Role, Turn, Verdict

MAX_NEW = 48


@dataclass
class Played:
    """The turns of one debate, the judge's ruling after each round, and its reading."""

    turns: list[Turn] = field(default_factory=list)
    rulings: list[str] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        return [verdict(text) for text in self.rulings]

    @property
    def defences(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.role is Role.DEFENDER]

    @property
    def objections(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.role is Role.CRITIC]


def play(speaker: Speaker, cases: Sequence[tuple[str, str]], rounds: int) -> list[Played]:
    """Debate each (question, passage): both open unseen, then the critic speaks first; the judge rules every round."""
    debates = [Played() for _ in cases]

    def speak(role: Role, number: int, *, opening: bool = False) -> list[Turn]:
        prompts = []
        for (question, passage), debate in zip(cases, debates, strict=True):
            seen = () if opening else tuple(debate.turns)
            prompts.append(
                render(role.value, question=question, passage=passage if role is Role.DEFENDER else "", transcript=seen)
            )
        replies = speaker.greedy(prompts, MAX_NEW)
        return [
            Turn(round=number, role=role, text=r.text, saw_passage=role is Role.DEFENDER, saw_turns=()) for r in replies
        ]

    for number in range(rounds):
        if number == 0:
            spoken = [speak(Role.DEFENDER, 0, opening=True), speak(Role.CRITIC, 0, opening=True)]
            for turns in spoken:
                for debate, turn in zip(debates, turns, strict=True):
                    debate.turns.append(turn)
        else:
            for role in (Role.CRITIC, Role.DEFENDER):
                for debate, turn in zip(debates, speak(role, number), strict=True):
                    debate.turns.append(turn)
        for debate, turn in zip(debates, speak(Role.JUDGE, number), strict=True):
            debate.rulings.append(turn.text)
    return debates
