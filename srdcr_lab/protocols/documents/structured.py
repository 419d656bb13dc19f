"""A structured reply with one request for repair: the object that was read, or why there is none, and what was said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from srdcr_lab.prompts.structured import Malformed
from srdcr_lab.records import Turn

T = TypeVar("T")
Ask = Callable[[str | None, str], Awaitable[Turn]]  # (what was wrong with the reply, that reply) → the next turn


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """One or two turns of a speaker; `value` is None where `fault` says what was wrong with the second as well."""

    value: T | None
    turns: Sequence[Turn]
    fault: str = ""


async def structured(
    ask: Ask, read: Callable[[str], T], states: Callable[[T], str | None] = lambda _: None
) -> Reply[T]:
    """Ask, read strictly, and where the reply is malformed ask once more, showing the reply and its fault.

    `states` is the answer that the object holds, for the turn that it was read from.
    """
    turns = [await ask(None, "")]
    fault = ""
    for last in (False, True):
        try:
            value = read(turns[-1].text)
        except Malformed as error:
            fault = str(error)
            if not last:
                turns.append(await ask(fault, turns[-1].text))
        else:
            turns[-1] = replace(turns[-1], stated_answer=states(value))
            return Reply(value, turns)
    return Reply(None, turns, fault)
