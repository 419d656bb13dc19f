"""TODO."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srdcr_lab.measures.rule import Ruling
from srdcr_lab.protocols.answering import Answer, SelfConfidence
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Debate, Decision, Item, Missing, Needs

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer a method settles on, or why there is none, and how it got there.

    `answer` is None where the method abstains; where it was given but could not be read, `missing` is UNPARSED.
    `values` are all its answers where a method may give several, else empty. `agreed_round` is the round in which
    agents who debate as equals agreed. `error` says in words why a method that was answered could not go on (`missing`
    is ERROR then).
    """

    answer: Answer | None
    missing: Missing | None = None
    decision: Decision | None = None
    ruling: Ruling | None = None
    debate: Debate | None = None
    confidence: SelfConfidence | None = None
    values: tuple[str, ...] = ()
    agreed_round: int | None = None
    context_confidence: float | None = None
    error: str | None = None


def given(answer: Answer, debate: Debate | None = None, decision: Decision | None = None) -> Outcome:
    """The outcome of a method that always answers: an answer that cannot be read is UNPARSED."""
    missing = Missing.UNPARSED if answer.value is None else None
    return Outcome(answer=answer, missing=missing, decision=decision, debate=debate)


@dataclass(frozen=True, slots=True)
class Belief:
    """How far a model believes its two answers to an item: what a method that looks at all items at once is given.

    A value is NaN or None where there is none to believe in.
    """

    question_id: str
    prior: float | None
    context: float | None


@dataclass(frozen=True)
class Method:
    """A way to answer an item.

    Parameters
    ----------
    name : what `--methods` takes and the tables say.
    run : from item and setup to an outcome; everything it asks goes through the setup's cast.
    debates : other roles than the answerer's are played, so the tables name their models.
    designed : it follows the study's `DebateDesign`, and is run once under each design of a grid.
    uses_confidence : it asks for the self-confidence of the choices' kind.
    uses_logprobs : it cannot do without log-probabilities.
    needs : what it needs an item to have.
    weighs_sources : its answers are decided once every item has ended, by how reliable its documents' sources are.
    settle : decides from the beliefs of all items once every item has ended; None where `run` has decided.
    """

    name: str
    run: Callable[[Item, Setup], Coroutine[Any, Any, Outcome]]
    debates: bool = False
    designed: bool = False
    uses_confidence: bool = False
    uses_logprobs: bool = False
    needs: Needs = Needs.PASSAGE
    weighs_sources: bool = False
    settle: Callable[[Sequence[Belief]], list[Decision | None]] | None = None

    def setups(self, setup: Setup) -> tuple[Setup, ...]:
        """The setups it runs under: one for each design of the grid if it follows them, else the one."""
        return tuple(map(setup.under, setup.choices.designs)) if self.designed else (setup,)
