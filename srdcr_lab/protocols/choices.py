"""Every choice in which the paper and its released code differ, as a named field; two presets; the default is the
paper.

The released code: github.com/smiles724/Self-Reflective-Debates, read in November 2026.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from srdcr_lab.records import BadInput, ConfidenceKind


class Sees(StrEnum):
    """When a role finds the passage in its prompt."""

    NEVER = "never"
    OPENING = "opening"
    ALWAYS = "always"


class Stance(StrEnum):
    ATTACK = "attack"
    MAY_AGREE = "may_agree"


class Order(StrEnum):
    """Who speaks first in the rounds after the openings; in a simultaneous round neither hears the other."""

    CRITIC_FIRST = "critic_first"
    DEFENDER_FIRST = "defender_first"
    SIMULTANEOUS = "simultaneous"


class Match(StrEnum):
    """What counts as the right answer: the whole of it, or the gold answer anywhere in the output."""

    EXACT = "exact"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, kw_only=True)
class DebateDesign:
    """What makes one debate differ from another [3.1]."""

    name: str = "acvd"
    critic_sees: Sees = Sees.NEVER
    critic_stance: Stance = Stance.ATTACK
    order: Order = Order.CRITIC_FIRST
    rounds: int = 6
    judge_sees_passage: bool = False
    first_verdict_round: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise BadInput(f"a debate has at least 1 round, got {self.rounds}")
        if not 0 <= self.first_verdict_round < self.rounds:
            raise BadInput(
                f"the first verdict must fall in one of the {self.rounds} rounds; raise --rounds or take another design"
            )


ACVD = DebateDesign()
DESIGNS = {
    "acvd": ACVD,
    "symmetric": replace(ACVD, name="symmetric", critic_sees=Sees.ALWAYS),
    "released": DebateDesign(
        name="released",
        critic_sees=Sees.OPENING,
        critic_stance=Stance.MAY_AGREE,
        order=Order.SIMULTANEOUS,
        first_verdict_round=1,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The settings of a study. Thresholds and τ lie in [0, 1]; draws and tokens are counts.

    `gate` False leaves confidence out of the decision. `confidence` ``auto`` is `mean_logprob` where the model gives
    log-probabilities, else `self_consistency`. `year_offsets` (years, either sign) make the false
    passages of the shipped testbed and grid. (The released code changes the first mention of a year alone; each shipped
    passage has one.)
    """

    preset: str = "paper"
    design: DebateDesign = field(default=ACVD)
    tau: float = 0.90
    gate: bool = True
    confidence: ConfidenceKind | Literal["auto"] = "auto"
    knowledge_draws: int = 32
    consistency_draws: int = 16
    sampling_temperature: float = 0.5
    highly_known_from: float = 0.85
    maybe_known_from: float = 0.30
    match: Match = Match.EXACT
    exemplars: int = 4
    answer_tokens: int = 32
    debate_tokens: int = 300
    year_offsets: tuple[int, ...] = (20, 40, 60, 100, 200)

    def __post_init__(self) -> None:
        if not 0 <= self.tau <= 1:
            raise BadInput(f"tau is a confidence and lies in [0, 1], got {self.tau}")
        if not 0 < self.maybe_known_from <= self.highly_known_from <= 1:
            raise BadInput(
                f"categories need 0 < maybe ≤ highly ≤ 1, got {self.maybe_known_from} and {self.highly_known_from}"
            )
        if self.knowledge_draws < 0:
            raise BadInput(f"the number of samples is 0 (no categories) or more, got {self.knowledge_draws}")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for `run.json`."""
        return asdict(self)


PRESETS = {
    "paper": Choices(),
    "released": Choices(
        preset="released",
        design=DESIGNS["released"],
        gate=False,
        knowledge_draws=16,
        highly_known_from=0.60,
        match=Match.ANYWHERE,
        year_offsets=(10, 20, 40, 60, 80, 100, 200, 300, 400, 500),
    ),
}


def choices(
    preset: str | Choices = "paper",
    *,
    design: str | DebateDesign | None = None,
    rounds: int | None = None,
    tau: float | None = None,
    samples: int | None = None,
    confidence: str | None = None,
) -> Choices:
    """A preset, or choices of one's own, with some fields changed; None leaves a field as it is.

    Raises
    ------
    BadInput
        For an unknown preset, design or confidence kind, or a value out of range.
    """
    chosen: Choices = preset if isinstance(preset, Choices) else _named("preset", preset, PRESETS)
    shape: DebateDesign = (
        chosen.design
        if design is None
        else design
        if isinstance(design, DebateDesign)
        else _named("design", design, DESIGNS)
    )
    if rounds is not None:
        shape = replace(shape, rounds=rounds)
    kinds = {"auto": "auto", **{kind.value: kind for kind in ConfidenceKind}}
    kind = chosen.confidence if confidence is None else _named("confidence kind", confidence, kinds)
    return replace(
        chosen,
        design=shape,
        confidence=kind,
        tau=chosen.tau if tau is None else tau,
        knowledge_draws=chosen.knowledge_draws if samples is None else samples,
    )


def _named(what: str, name: str, table: dict[str, Any]) -> Any:
    if name not in table:
        raise BadInput(f"unknown {what} {name!r}; known are {', '.join(table)}")
    return table[name]
