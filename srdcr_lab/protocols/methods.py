"""The methods that can be compared, by the name `--methods` takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from srdcr_lab.protocols.answering import context_answer
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.sr_dcr import sr_dcr
from srdcr_lab.records import BadInput, Item, Missing, Needs


@dataclass(frozen=True)
class Method:
    """A coroutine from an item to an outcome, what it uses beside the answering model, and what it needs of items."""

    name: str
    run: Callable[[Item, Setup], Awaitable[Outcome]]
    debates: bool = False
    uses_confidence: bool = False
    needs: Needs = Needs.PASSAGE


async def few_shot(item: Item, setup: Setup) -> Outcome:
    """The context answer as it is [4, baseline 1]."""
    answer = await context_answer(item, setup)
    return Outcome(answer=answer, missing=Missing.UNPARSED if answer.value is None else None)


METHODS = {
    method.name: method
    for method in (
        Method("few_shot", few_shot),
        Method("sr_dcr", sr_dcr, debates=True, uses_confidence=True),
    )
}


def methods(names: str | Sequence[str]) -> tuple[Method, ...]:
    """Methods by name, in the order given; ``all`` means every one.

    Raises
    ------
    BadInput
        For an unknown name, none, or one twice.
    """
    wanted = [name.strip() for name in (names.split(",") if isinstance(names, str) else names) if name.strip()]
    if wanted == ["all"]:
        return tuple(METHODS.values())
    for name in wanted:
        if name not in METHODS:
            raise BadInput(f"unknown method {name!r}; known are {', '.join(METHODS)}, and all")
    if not wanted or len(set(wanted)) < len(wanted):
        raise BadInput(f"name each method once, at least one of {', '.join(METHODS)}")
    return tuple(METHODS[name] for name in wanted)
