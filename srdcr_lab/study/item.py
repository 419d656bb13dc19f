"""All that happens to one item: its methods, and what the model knows about its question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from srdcr_lab.models.stored import Meter, metered
from srdcr_lab.protocols import Method, Setup, context_answer, knowledge_draws, prior_answer, self_confidence
from srdcr_lab.records import BudgetExhausted, CallFailed, Item, Needs, SrdcrError
from srdcr_lab.study.rows import ItemRows, Probe, Ran, record_row, sample_rows, turn_row

T = TypeVar("T")
_NEEDED = {Needs.PASSAGE: "a passage", Needs.OPTIONS: "options", Needs.DOCUMENTS: "several documents"}


async def run_item(item: Item, setup: Setup, methods: Sequence[Method]) -> ItemRows:
    """Run every method on the item, under each design it follows; a failed call becomes the error of its row.

    Where one part of it ends the run, the other parts are still awaited: their calls are paid for.

    Raises
    ------
    BadInput, Stopped
        What ends the whole run.
    """
    probe, runs = Probe(), each_setup(methods, setup)

    async def answer() -> list[Ran]:
        results: list[Ran] = await together(*(_run_method(method, item, under) for method, under in runs))
        await fill_probe(probe, item, setup, methods)
        return results

    async def draw() -> None:
        if item.has(Needs.PASSAGE):
            probe.draws = await _attempt(knowledge_draws(item, setup), "knowledge", probe.errors) or ()

    results, _ = await together(answer(), draw())
    rows = ItemRows(item, samples=sample_rows(item, probe, setup))
    for (method, under), ran in zip(runs, results, strict=True):
        rows.records.append(record_row(item, method, under, probe, ran))
        debate = ran[0].debate if ran[0] else None
        for position, turn in enumerate(debate.turns if debate else ()):
            rows.turns.append(turn_row(item, method, under, position, turn))
    return rows


def each_setup(methods: Sequence[Method], setup: Setup) -> list[tuple[Method, Setup]]:
    """Every method with every setup it runs under: the rows of one item, in their order."""
    return [(method, under) for method in methods for under in method.setups(setup)]


async def fill_probe(probe: Probe, item: Item, setup: Setup, methods: Sequence[Method]) -> None:
    """Ask what every row shows beside its method's answer. As a rule a method has asked it already and the store
    answers."""
    if not item.has(Needs.PASSAGE):
        return  # prior and context answers are those of a question with one passage
    probe.prior = await _attempt(prior_answer(item, setup), "prior answer", probe.errors)
    probe.context = await _attempt(context_answer(item, setup), "context answer", probe.errors)
    if probe.prior and (setup.choices.knowledge_draws or any(method.uses_confidence for method in methods)):
        probe.confidence = await _attempt(self_confidence(item, probe.prior, setup), "confidence", probe.errors)


def error_rows(item: Item, setup: Setup, methods: Sequence[Method], error: str) -> ItemRows:
    """Rows of an item the run did not get to: its error, and no answer."""
    unreached: Ran = (None, Meter(), error)
    return ItemRows(
        item, [record_row(item, method, under, Probe(), unreached) for method, under in each_setup(methods, setup)]
    )


async def _run_method(method: Method, item: Item, setup: Setup) -> Ran:
    if not item.has(method.needs):
        return None, Meter(), f"{method.name} needs {_NEEDED[method.needs]}, and this item has none"
    errors: list[str] = []
    with metered() as meter:
        outcome = await _attempt(method.run(item, setup), "", errors)
    return outcome, meter, errors[0] if errors else outcome.error if outcome else None


async def _attempt(awaitable: Awaitable[T], what: str, errors: list[str]) -> T | None:
    """The result, or None and a sentence in `errors` where a call failed. Anything graver goes on up."""
    try:
        return await awaitable
    except (SrdcrError, ExceptionGroup) as error:
        cause = gravest(error)
        if not isinstance(cause, CallFailed):
            raise cause from None
        errors.append(f"{what}: {cause}" if what else str(cause))
        return None


async def together(*awaitables: Awaitable[Any]) -> list[Any]:
    """All results; where some fail, all have ended before the gravest error is raised."""
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    if errors := [result for result in results if isinstance(result, BaseException)]:
        raise max(errors, key=_gravity)
    return results


def gravest(error: BaseException) -> BaseException:
    """The one error that speaks for a group: bad input and bugs before a used-up budget before a failed call."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    return max(map(gravest, error.exceptions), key=_gravity)


def _gravity(error: BaseException) -> int:
    return 0 if isinstance(error, CallFailed) else 1 if isinstance(error, BudgetExhausted) else 2
