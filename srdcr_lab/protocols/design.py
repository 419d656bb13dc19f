"""How a debate may be held: every factor in which designs differ, the presets, and grids of them.

The economies spend fewer calls and are off by default; what each costs in accuracy is measured from a grid
(`srdcr_lab.measures.economies`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import product
from typing import Any

from srdcr_lab.records import BadInput


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


@dataclass(frozen=True, kw_only=True)
class DebateDesign:
    """What makes one debate differ from another [3.1].

    Parameters
    ----------
    name : what the tables call it.
    critic_sees, critic_stance, order, rounds, judge_sees_passage : the factors; rounds count from 0, openings included.
    debaters_told : the Defender is given the context answer to defend and the Critic the prior answer; otherwise each
        states an answer of its own.
    first_verdict_round : the first round after which the Judge rules.
    judge_draws, judge_temperature : with more draws than one the Judge is asked so often, at that temperature, and a
        verdict is what more than half of the draws say; without such a majority it is UNPARSED.
    defender, critic, judge : specifications of the models that play these roles; None: the study's.
    final_verdict_only : economy: the Judge rules after the last round alone. V* is the same, r* is not known.
    early_stop : economy: the debate ends once so many verdicts in a row are equal and read; None: never.
    agreement_shortcut : economy: no debate where prior and context answers are equal; that answer is given.
    """

    name: str = "acvd"
    critic_sees: Sees = Sees.NEVER
    critic_stance: Stance = Stance.ATTACK
    order: Order = Order.CRITIC_FIRST
    rounds: int = 6
    judge_sees_passage: bool = False
    debaters_told: bool = False
    first_verdict_round: int = 0
    judge_draws: int = 1
    judge_temperature: float = 0.5
    defender: str | None = None
    critic: str | None = None
    judge: str | None = None
    final_verdict_only: bool = False
    early_stop: int | None = None
    agreement_shortcut: bool = False

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise BadInput(f"a debate has at least 1 round, got {self.rounds}")
        if not 0 <= self.first_verdict_round < self.rounds:
            raise BadInput(
                f"the first verdict must fall in one of the {self.rounds} rounds; raise --rounds or take another design"
            )
        if self.judge_draws < 1 or (self.judge_draws > 1 and not self.judge_temperature > 0):
            raise BadInput(
                f"design {self.name}: a judge is drawn at least once, and several draws need a temperature above 0; "
                f"got {self.judge_draws} at {self.judge_temperature:g}"
            )
        if self.early_stop is not None and (self.early_stop < 1 or self.final_verdict_only):
            raise BadInput(
                f"design {self.name}: early_stop counts equal verdicts, so it is 1 or more and not used together with "
                "final_verdict_only"
            )
        if self.debaters_told and self.critic_stance is not Stance.ATTACK:
            raise BadInput(
                f"design {self.name}: a critic that is told which answer to defend cannot be one that may agree; leave "
                "out debaters_told or set critic_stance to attack"
            )

    @property
    def players(self) -> tuple[str, ...]:
        """Specifications of the models that it names."""
        return tuple(spec for spec in (self.defender, self.critic, self.judge) if spec is not None)

    @property
    def judged_from(self) -> int:
        """The first round after which the Judge rules, economies considered."""
        return self.rounds - 1 if self.final_verdict_only else self.first_verdict_round


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


def factorial(base: DebateDesign = ACVD, **factors: Sequence[Any]) -> tuple[DebateDesign, ...]:
    """Every combination of these values of a design's fields, each named after what it changes in `base`.

    >>> [design.name for design in factorial(critic_sees=["never", "always"], rounds=[6, 3])]
    ['acvd', 'acvd, rounds=3', 'acvd, critic_sees=always', 'acvd, critic_sees=always, rounds=3']

    Raises
    ------
    BadInput
        For a field that designs do not have, a value that is none of the factor's, or a design that cannot be held.
    """
    known = {field.name for field in fields(DebateDesign)} - {"name"}
    if unknown := sorted(set(factors) - known):
        raise BadInput(f"a debate design has no {unknown[0]!r}; its factors are {', '.join(sorted(known))}")
    designs = []
    for combination in product(*factors.values()):
        chosen = {name: _value(name, value) for name, value in zip(factors, combination, strict=True)}
        changed = [f"{name}={value}" for name, value in chosen.items() if value != getattr(base, name)]
        designs.append(replace(base, **chosen, name=", ".join([base.name, *changed])))
    return tuple(designs)


def _value(name: str, value: Any) -> Any:
    kinds: dict[str, type[StrEnum]] = {"critic_sees": Sees, "critic_stance": Stance, "order": Order}
    if name not in kinds:
        return value
    try:
        return kinds[name](value)
    except ValueError:
        raise BadInput(f"{name} is one of {', '.join(kinds[name])}, got {value!r}") from None
