"""What can be chosen: how a debate is held (`DebateDesign`, grids of designs), and the settings of a study (`Choices`).

The preset `released` takes some choices of the authors' code; docs/guide/papers.md says which, and which not.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import StrEnum
from itertools import product
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

from srdcr_lab.records import BadInput, ConfidenceKind
from srdcr_lab.records.files import rows_beside
from srdcr_lab.records.vocabulary import must_be

# Least and most of each number of a study; 1 is for whole numbers, 1.0 for any. The upper bounds keep a slip from
# becoming a run that never ends.
RANGES: dict[str, tuple[float, float]] = {
    row["name"]: (json.loads(row["least"]), json.loads(row["most"])) for row in rows_beside(__file__, "ranges.csv")
}


def check_ranges(**numbers: object) -> None:
    """Check that numbers are of the right kind and within their range.

    Parameters
    ----------
    **numbers : object
        The numbers by name; None is allowed.

    Raises
    ------
    BadInput
        The first number that is not.
    """
    for name, number in numbers.items():
        least, most = RANGES[name]
        kind: type[Any] = Real if isinstance(least, float) else Integral
        fits = isinstance(number, kind) and not isinstance(number, bool) and least <= number <= most
        if number is not None and not fits:
            called = "number" if kind is Real else "whole number"
            raise BadInput(f"{name.removesuffix('_s')} is a {called} from {least:,} to {most:,}, got {number!r:.40}")


def _check_fields(choice: DebateDesign | Choices) -> None:
    """Check every field; a text becomes the member of the vocabulary that it names."""
    check_ranges(**{name: value for name, value in vars(choice).items() if name in RANGES})
    for each in fields(choice):
        if each.default not in (None, MISSING):
            known = (kind for kind in (bool, Integral, Real, str) if isinstance(each.default, kind))
            kind = next(known, type(each.default))
            must_be(each.name, getattr(choice, each.name), (kind,), f"a value such as {each.default!s:.40}")
        if isinstance(each.default, StrEnum):
            _take(choice, each.name, type(each.default))


def _take(choice: DebateDesign | Choices, name: str, known: type[StrEnum], *others: str) -> None:
    if (value := getattr(choice, name)) not in [*others, *known]:
        raise BadInput(f"{name} is one of {', '.join([*others, *known])}, got {value!r:.40}")
    object.__setattr__(choice, name, value if value in others else known(value))


class Sees(StrEnum):
    """When a role is shown the passage."""

    NEVER = "never"
    OPENING = "opening"
    ALWAYS = "always"


class Stance(StrEnum):
    """Whether the Critic always attacks the passage's answer, or may agree with it."""

    ATTACK = "attack"
    MAY_AGREE = "may_agree"


class Order(StrEnum):
    """Who speaks first after the openings; in a simultaneous round neither hears the other."""

    CRITIC_FIRST = "critic_first"
    DEFENDER_FIRST = "defender_first"
    SIMULTANEOUS = "simultaneous"


class Hears(StrEnum):
    """What the Judge hears; all values except the debate are controls.

    The controls are ours, after the literature on debate as oversight: Khan et al. 2024 (arXiv 2402.06782) and Kenton
    et al. 2024 (arXiv 2407.04622) compare a debate with a judge who hears none, and with consultancy.
    """

    DEBATE = "debate"
    NOTHING = "nothing"  # nobody argues: the Judge has question and passage
    ANSWERS = "answers"  # nobody argues: the Judge has the two answers
    CRITIQUE = "critique"  # the two answers, and the Critic's opening against the Defender's
    DEFENDER = "defender"  # consultancy: one side speaks in every round, and nobody contradicts
    CRITIC = "critic"
    ANOTHER = "another_debate"  # placebo: the same design's debate over an item of another question
    SWAPPED = "swapped"  # each turn under the other debater's name


SILENT = (Hears.NOTHING, Hears.ANSWERS)
ONE_RULING = (*SILENT, Hears.CRITIQUE)  # nobody replies to anybody
_OF_ACVD = ("critic_sees", "critic_stance", "order", "judge_sees_passage", "debaters_told", "judge_hears")


@dataclass(frozen=True, kw_only=True)
class DebateDesign:
    """What makes one debate differ from another [3.1].

    Attributes
    ----------
    name : str, default "acvd"
        Name of the design, in tables and for `--design`.
    critic_sees : Sees, default Sees.NEVER
        When the Critic is shown the passage. Without `fresh_turns` the prompts do not change with it: in `symmetric`
        both Critic and Judge are still told that the Critic argues from memory, so that the passage is the only
        difference.
    critic_stance : Stance, default Stance.ATTACK
        Whether the Critic always attacks, or may agree.
    order : Order, default Order.CRITIC_FIRST
        Who speaks first from round 1 on.
    rounds : int, default 6
        Number of rounds, including the openings, which are round 0.
    judge_sees_passage : bool, default False
        Whether the Judge is shown the passage.
    debaters_told : bool, default True
        Whether the Defender has to defend the context answer and the Critic the prior answer, as in the paper.
        Only the Critic is told then never to agree, and to say how certain it is (ours). Otherwise each states an
        answer of its own, and the Critic may agree.
    judge_hears : Hears, default Hears.DEBATE
        The debate or, in an oversight control, something else; if nobody replies there is one round.
    first_verdict_round : int, default 0
        The first round after which the Judge rules.
    judge_draws : int, default 1
        Number of draws of a ruling; more than half must agree, otherwise the verdict is UNPARSED.
    judge_temperature : float, default 0.5
        Temperature of several draws.
    repair : bool, default True
        Whether a ruling without its verdict line is requested once more, that line alone. Neither the paper nor its
        released code says what happens to such a reply.
    debater_temperature : float, default 0.0
        Temperature of the debaters' turns.
    fresh_turns : bool, default False
        Whether a debater who says nearly the same as in an earlier turn of its own is asked once more, at T = 0.7, for
        a point that is new (ours). Where the Critic always sees the passage, nobody is told then that it does not.
    final_verdict_only : bool, default False
        Economy: the Judge rules only after the last round. V* is the same, r* is unknown.
    early_stop : int, optional
        Economy: the debate ends once so many verdicts in a row are equal and readable; None for never.
    agreement_shortcut : bool, default False
        Economy: no debate if prior and context answer are equal; that is the answer.

    Examples
    --------
    >>> DebateDesign(name="blind_judge_of_3", rounds=3).rounds_held
    3
    """

    keeps_defaults = True  # a run.json written before a field was added takes the field's default
    name: str = "acvd"
    critic_sees: Sees = Sees.NEVER
    critic_stance: Stance = Stance.ATTACK
    order: Order = Order.CRITIC_FIRST
    rounds: int = 6
    judge_sees_passage: bool = False
    debaters_told: bool = True
    judge_hears: Hears = Hears.DEBATE
    first_verdict_round: int = 0
    judge_draws: int = 1
    judge_temperature: float = 0.5
    repair: bool = True
    debater_temperature: float = 0.0
    fresh_turns: bool = False
    final_verdict_only: bool = False
    early_stop: int | None = None
    agreement_shortcut: bool = False

    def __post_init__(self) -> None:
        _check_fields(self)
        if not 0 <= self.first_verdict_round < self.rounds_held:
            raise BadInput(f"the first verdict must fall in one of the {self.rounds_held} rounds; raise --rounds")
        if self.judge_hears is Hears.NOTHING and not self.judge_sees_passage:
            raise BadInput(f"design {self.name}: a judge that hears nothing must be shown the passage")
        if self.judge_hears in (Hears.ANSWERS, Hears.CRITIQUE) and not self.debaters_told:
            raise BadInput(f"design {self.name}: the judge's two answers are those assigned to the debaters")
        if self.fresh_turns and not self.debaters_told:
            raise BadInput(f"design {self.name}: fresh_turns asks for points for assigned answers; set debaters_told")
        if self.judge_draws > 1 and not self.judge_temperature > 0:
            raise BadInput(f"design {self.name}: {self.judge_draws} draws of a judge need a temperature above 0")
        if self.early_stop is not None and self.final_verdict_only:
            raise BadInput(f"design {self.name}: early_stop counts verdicts, and final_verdict_only leaves one of them")
        if self.debaters_told and self.critic_stance is not Stance.ATTACK:
            raise BadInput(f"design {self.name}: a critic that may agree has no assigned answer; unset debaters_told")
        changed = [name for name in _OF_ACVD if getattr(self, name) != getattr(DebateDesign, name)]
        if self.name == "acvd" and changed:
            raise BadInput(f"{changed[0]} is not as in ACVD, the paper's debate; give the design another name")

    @property
    def says_what_critic_sees(self) -> bool:
        """Return whether Critic and Judge are told that the Critic has the passage.

        Returns
        -------
        bool
            True where it always has it, if the design has `fresh_turns`.
        """
        return self.fresh_turns and self.critic_sees is Sees.ALWAYS

    @property
    def rounds_held(self) -> int:
        """Return the number of rounds of the debate; one if nobody replies.

        Returns
        -------
        int
            The number.
        """
        return 1 if self.judge_hears in ONE_RULING else self.rounds

    @property
    def judged_from(self) -> int:
        """Return the first round after which the Judge rules, taking `final_verdict_only` into account.

        Returns
        -------
        int
            The round.
        """
        return self.rounds_held - 1 if self.final_verdict_only else self.first_verdict_round


ACVD = DebateDesign()
_UNLIKE_ACVD: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("designs.toml").read_text("utf-8"))
DESIGNS = {name: replace(ACVD, name=name, **changed) for name, changed in _UNLIKE_ACVD.items()}


def factorial(base: DebateDesign = ACVD, **factors: Sequence[Any]) -> tuple[DebateDesign, ...]:
    """Combine values of a design's fields; each design is named after what it changes in `base`.

    Parameters
    ----------
    base : DebateDesign, default ACVD
        The design that is varied.
    **factors : sequence of object
        Field → list of its values.

    Returns
    -------
    tuple of DebateDesign
        One design per combination.

    Raises
    ------
    BadInput
        An unknown field or value, or a design that cannot be held.

    Examples
    --------
    >>> [design.name for design in factorial(critic_sees=["never", "always"], rounds=[6, 3])]
    ['acvd', 'acvd, rounds=3', 'acvd, critic_sees=always', 'acvd, critic_sees=always, rounds=3']
    """
    known = {field.name for field in fields(DebateDesign)} - {"name"}
    if unknown := sorted(set(factors) - known):
        raise BadInput(f"a debate design has no {unknown[0]!r}; its factors are {', '.join(sorted(known))}")
    for name, values in factors.items():
        must_be(name, values, (list, tuple), "a list of values")
    designs = []
    for combination in product(*factors.values()):
        chosen = dict(zip(factors, combination, strict=True))
        changed = [f"{name}={value}" for name, value in chosen.items() if value != getattr(base, name)]
        designs.append(replace(base, **chosen, name=", ".join([base.name, *changed])))
    return tuple(designs)


class Match(StrEnum):
    """What counts as the right answer: the whole output, or the gold answer anywhere in it."""

    EXACT = "exact"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The settings of a study; thresholds and τ lie in [0, 1].

    Attributes
    ----------
    preset : str, default "paper"
        Name of the preset.
    design : DebateDesign
        The debate design.
    also : tuple of DebateDesign
        Further designs; a method that follows a design runs under `design` and under each of these.
    tau : float, default 0.9
        The confidence threshold.
    gate : bool, default True
        With False, confidence has no part in the decision.
    confidence : ConfidenceKind or Literal['auto'], default "auto"
        Kind of confidence; "auto" is `mean_logprob` if the model gives log-probabilities, otherwise `self_consistency`.
    knowledge_draws : int, default 32
        Draws per question for the knowledge category.
    consistency_draws : int, default 16
        Draws per question for self-consistency.
    sampling_temperature : float, default 0.5
        Temperature of these draws.
    highly_known_from, maybe_known_from : float, default 0.85 and 0.30
        Bounds of the knowledge categories.
    match : Match, default Match.EXACT
        What counts as the right answer.
    exemplars : int, default 4
        Worked examples in a few-shot prompt.
    answer_tokens : int, default 32
        Most tokens of a short answer.
    debate_tokens : int, default 300
        Most tokens of a turn.
    judge_debate_unheard : int, default 0
        Number of last rounds of a judge debate that its judge is not shown.
    year_offsets : tuple of int
        Years, of either sign, by which passages of the shipped testbed and grid are false.
    """

    keeps_defaults = True  # a run.json written before a field was added takes the field's default
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
        _check_fields(self)
        _take(self, "confidence", ConfidenceKind, "auto")
        if not 0 < self.maybe_known_from <= self.highly_known_from <= 1:
            bounds = f"{self.maybe_known_from} and {self.highly_known_from}"
            raise BadInput(f"categories need 0 < maybe ≤ highly ≤ 1, got {bounds}")
        for design in self.designs:
            must_be("each design", design, (DebateDesign,), "a DebateDesign; DESIGNS has those with names")
        twice, times = Counter(design.name for design in self.designs).most_common(1)[0]
        if times > 1:
            raise BadInput(f"two designs of a grid are named {twice!r}; tables tell designs apart by their names")

    @property
    def designs(self) -> tuple[DebateDesign, ...]:
        """Return every design of the study, usually one.

        Returns
        -------
        tuple of DebateDesign
            The designs.
        """
        return (self.design, *self.also)


PRESETS = {
    "paper": Choices(),
    "released": Choices(
        preset="released", design=DESIGNS["released"], gate=False, knowledge_draws=16, highly_known_from=0.60,
        match=Match.ANYWHERE, judge_debate_unheard=1, year_offsets=(10, 20, 40, 60, 80, 100, 200, 300, 400, 500),
    ),
}  # fmt: skip


def choices(
    preset: str | Choices = "paper", *, design: str | DebateDesign | Sequence[str | DebateDesign] | None = None,
    rounds: int | None = None, tau: float | None = None, samples: int | None = None, confidence: str | None = None,
) -> Choices:  # fmt: skip
    """Change some fields of a preset, or of given choices.

    Parameters
    ----------
    preset : str or Choices, default "paper"
        "paper", "released", or choices.
    design : str, DebateDesign or sequence of str or DebateDesign, optional
        A design, its name, several names with commas, or a list of these.
    rounds : int, optional
        Number of rounds, including the openings.
    tau : float, optional
        Confidence threshold in [0, 1].
    samples : int, optional
        Knowledge draws per question; 0 for none.
    confidence : str, optional
        Kind of confidence, or "auto".

    Returns
    -------
    Choices
        The choices; None leaves a field as it is.

    Raises
    ------
    BadInput
        An unknown preset, design or kind of confidence, or a number out of range.
    """
    check_ranges(rounds=rounds, tau=tau, samples=samples)
    chosen: Choices = preset if isinstance(preset, Choices) else _named("preset", preset, PRESETS)
    designs = chosen.designs if design is None else _designs(design)
    if rounds is not None:
        designs = tuple(replace(each, rounds=rounds) for each in designs)
    wanted: dict[str, Any] = {"confidence": confidence, "tau": tau, "knowledge_draws": samples}
    changed = {name: value for name, value in wanted.items() if value is not None}
    return replace(chosen, design=designs[0], also=designs[1:], **changed)


def _designs(wanted: str | DebateDesign | Sequence[str | DebateDesign]) -> tuple[DebateDesign, ...]:
    if isinstance(wanted, str):
        wanted = names_in(wanted)
    must_be("design", wanted, (DebateDesign, Sequence), "a name, a DebateDesign, or a list of these")
    several = [wanted] if isinstance(wanted, DebateDesign) else list(wanted)
    if not several:
        raise BadInput(f"name at least one design of {', '.join(DESIGNS)}")
    return tuple(each if isinstance(each, DebateDesign) else _named("design", each, DESIGNS) for each in several)


def names_in(text: str) -> list[str]:
    """Split names at commas.

    Parameters
    ----------
    text : str
        Names with commas between them.

    Returns
    -------
    list of str
        The names.
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def _named(what: str, name: str, table: dict[str, Any]) -> Any:
    if not isinstance(name, str) or name not in table:
        raise BadInput(f"unknown {what} {name!r:.40}; known are {', '.join(table)}")
    return table[name]
