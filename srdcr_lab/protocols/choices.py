"""Every choice in which the paper and its released code differ, as a named field; two presets; the default is the
paper.

The released code: github.com/smiles724/Self-Reflective-Debates, read in November 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from srdcr_lab.protocols.design import ACVD, DESIGNS, DebateDesign
from srdcr_lab.records import BadInput, ConfidenceKind


class Match(StrEnum):
    """What counts as the right answer: the whole of it, or the gold answer anywhere in the output."""

    EXACT = "exact"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The settings of a study. Thresholds and τ lie in [0, 1]; draws and tokens are counts.

    `also` are further designs of a grid: a method that debates by design runs under `design` and under each of them.
    `gate` False leaves confidence out of the decision. `confidence` ``auto`` is `mean_logprob` where the model gives
    log-probabilities, else `self_consistency`. `judge_debate_unheard` counts the last rounds of a judge debate that its
    judge is not shown (one in the released code). `year_offsets` (years, either sign) make the false passages of the
    shipped testbed and grid. (The released code changes the first mention of a year alone; each shipped passage has
    one.)
    """

    preset: str = "paper"
    design: DebateDesign = field(default=ACVD)
    also: tuple[DebateDesign, ...] = ()
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
    judge_debate_unheard: int = 0
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
        names = [design.name for design in self.designs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadInput(
                f"two designs of a grid are named {twice[0]!r}; the tables tell designs apart by their names"
            )

    @property
    def designs(self) -> tuple[DebateDesign, ...]:
        """Every design of the grid; nearly always the one."""
        return (self.design, *self.also)

    def under(self, design: DebateDesign) -> Choices:
        """The same with one design alone."""
        return replace(self, design=design, also=())

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
        judge_debate_unheard=1,
        year_offsets=(10, 20, 40, 60, 80, 100, 200, 300, 400, 500),
    ),
}


def choices(
    preset: str | Choices = "paper",
    *,
    design: str | DebateDesign | Sequence[str | DebateDesign] | None = None,
    rounds: int | None = None,
    tau: float | None = None,
    samples: int | None = None,
    confidence: str | None = None,
) -> Choices:
    """A preset, or choices of one's own, with some fields changed; None leaves a field as it is.

    Several designs (a sequence, or names with commas between them) make a grid.

    Raises
    ------
    BadInput
        For an unknown preset, design or confidence kind, or a value out of range.
    """
    chosen: Choices = preset if isinstance(preset, Choices) else _named("preset", preset, PRESETS)
    shapes = chosen.designs if design is None else _designs(design)
    if rounds is not None:
        shapes = tuple(replace(shape, rounds=rounds) for shape in shapes)
    kinds = {"auto": "auto", **{kind.value: kind for kind in ConfidenceKind}}
    kind = chosen.confidence if confidence is None else _named("confidence kind", confidence, kinds)
    return replace(
        chosen,
        design=shapes[0],
        also=shapes[1:],
        confidence=kind,
        tau=chosen.tau if tau is None else tau,
        knowledge_draws=chosen.knowledge_draws if samples is None else samples,
    )


def _designs(wanted: str | DebateDesign | Sequence[str | DebateDesign]) -> tuple[DebateDesign, ...]:
    if isinstance(wanted, str):
        wanted = [name.strip() for name in wanted.split(",") if name.strip()]
    several = [wanted] if isinstance(wanted, DebateDesign) else list(wanted)
    if not several:
        raise BadInput(f"name at least one design of {', '.join(DESIGNS)}")
    return tuple(each if isinstance(each, DebateDesign) else _named("design", each, DESIGNS) for each in several)


def _named(what: str, name: str, table: dict[str, Any]) -> Any:
    if name not in table:
        raise BadInput(f"unknown {what} {name!r}; known are {', '.join(table)}")
    return table[name]
