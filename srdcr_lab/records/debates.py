"""A debate as data: who said what in which round, and what they saw when they said it."""

from __future__ import annotations

from dataclasses import dataclass

from srdcr_lab.records.completions import Completion
from srdcr_lab.records.vocabulary import Role, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of one role.

    `saw_passage` and `saw_turns` (positions of the transcript's turns that were in the prompt) say what the speaker
    saw; the prompt itself is in the store under `request_digest`. `verdict` is set on the judge's turns alone,
    `stated_answer` on the debaters'. `speaker` tells apart those of one role (an agent, a stance, a document);
    `stance` is the answer a speaker was given to defend or to attack.
    """

    round: int
    role: Role
    text: str
    saw_passage: bool
    saw_turns: tuple[int, ...]
    request_digest: str = ""
    verdict: Verdict | None = None
    stated_answer: str | None = None
    speaker: str = ""
    stance: str | None = None
    completion: Completion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """All turns in the order they were spoken, and the verdict after each round that had one."""

    turns: tuple[Turn, ...]
    verdict_path: tuple[Verdict, ...]
    first_verdict_round: int = 0

    @property
    def transcript(self) -> tuple[Turn, ...]:
        """The debaters' turns alone."""
        return tuple(turn for turn in self.turns if turn.role is not Role.JUDGE)
