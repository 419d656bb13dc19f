"""From items to rows: all methods of an item, many items at once, and the methods that decide when all have ended.

There is no barrier between items or rounds: the models limit what is in flight. A failed call is the error of one row;
bad input, a used-up budget and errors of ours end the run.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from srdcr_lab.answers.token_confidence import NEED_LOGPROBS
from srdcr_lab.lib.source_reliability import source_reliability, votes_of
from srdcr_lab.models.spending import Meter, metered
from srdcr_lab.protocols import Belief, Method, Outcome, Setup
from srdcr_lab.protocols.answering import context_answer, knowledge_draws, prior_answer, self_confidence
from srdcr_lab.records import BudgetExhausted, CallFailed, Decision, Item, Missing, Needs, SrdcrError
from srdcr_lab.study.opening import NEEDED
from srdcr_lab.study.rows import ItemRows, Probe, Row, all_and_no_wrong, failed, final_columns, item_rows

T = TypeVar("T")
_CHOSEN: dict[Decision | None, str] = {Decision.USE_PRIOR: "prior", Decision.USE_CONTEXT: "context"}
LOGGED_EVERY_S = 60.0  # how often a log hears of a run
WINDOW = 1024  # items in flight: far above any concurrency, so that no slot waits for a slow item


async def run_item(
    item: Item, setup: Setup, methods: Sequence[Method], on_done: Callable[[], object] = lambda: None
) -> ItemRows:
    """Run every method on the item, under each design it follows; a failed call becomes the error of its row.
    `on_done` is called whenever a method has ended.

    Bad input and a used-up budget are raised once all parts have ended: their calls are paid for.
    """
    probe, runs = Probe(), each_setup(methods, setup)

    async def answer() -> list[tuple[Outcome, Meter]]:
        results = await _together(*(_run_method(method, item, under, on_done) for method, under in runs))
        await fill_probe(probe, item, setup, methods)
        return results

    async def draw() -> None:
        if asked_of_memory(item, methods):
            probe.draws = await _attempt(knowledge_draws(item, setup), "knowledge", probe.errors) or ()

    results, _ = await _together(answer(), draw())
    return item_rows(item, setup, probe, runs, results)


def each_setup(methods: Sequence[Method], setup: Setup) -> list[tuple[Method, Setup]]:
    """Every method with every setup it runs under: the rows of one item, in their order."""
    return [(method, under) for method in methods for under in method.setups(setup)]


def asked_of_memory(item: Item, methods: Sequence[Method]) -> bool:
    """Whether rows show what the model knows of the item without a passage: it has one, or a method answers without."""
    return item.has(Needs.PASSAGE) or any(method.from_memory and method.takes(item) for method in methods)


async def fill_probe(probe: Probe, item: Item, setup: Setup, methods: Sequence[Method]) -> None:
    """Ask for prior answer, context answer and confidence, which every row shows. Most are in the store by now."""
    if not asked_of_memory(item, methods):
        return  # prior and context answers belong to a question with one passage, or with nothing beside it
    probe.prior = await _attempt(prior_answer(item, setup), "prior answer", probe.errors)
    if not item.is_closed_book:
        probe.context = await _attempt(context_answer(item, setup), "context answer", probe.errors)
    if probe.prior and (setup.choices.knowledge_draws or any(method.uses_confidence for method in methods)):
        probe.confidence = await _attempt(self_confidence(item, probe.prior, setup), "confidence", probe.errors)


async def _run_method(method: Method, item: Item, setup: Setup, on_done: Callable[[], object]) -> tuple[Outcome, Meter]:
    if not method.takes(item):
        return failed(f"{method.name} needs {NEEDED[method.needs]}, and this item has none"), Meter()
    errors: list[str] = []
    with metered() as meter:
        outcome = await _attempt(method.run(item, setup), "", errors)
    on_done()
    return outcome or failed(errors[0]), meter


async def _attempt(awaitable: Awaitable[T], what: str, errors: list[str]) -> T | None:
    """The result; or None, and a sentence in `errors`, where a call failed. Anything graver is raised."""
    try:
        return await awaitable
    except (SrdcrError, ExceptionGroup) as error:
        cause = gravest(error)
        if not isinstance(cause, CallFailed):
            raise cause from None
        errors.append(f"{what}: {cause}" if what else str(cause))
        return None


async def _together(*awaitables: Awaitable[Any]) -> list[Any]:
    """All results; where some fail, the gravest error is raised once all have ended."""
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    if errors := [result for result in results if isinstance(result, BaseException)]:
        raise gravest(BaseExceptionGroup("", errors))
    return results


def gravest(error: BaseException) -> BaseException:
    """The one error that speaks for a group: bad input and bugs before a used-up budget before a failed call."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = map(gravest, error.exceptions)
    return max(causes, key=lambda cause: (not isinstance(cause, CallFailed), not isinstance(cause, BudgetExhausted)))


async def run_items(
    setup: Setup, methods: Sequence[Method], *, on_done: Callable[[], object], items: Sequence[Item] | None = None
) -> AsyncGenerator[ItemRows, None]:
    """Rows of each item of `setup` (or of these), in order; `on_done` is called whenever a method has ended on one.

    When the budget is used up, the items not reached yield rows with that error, and it is raised at the end. Any
    other error cancels the items in flight and is raised at once.
    """
    in_flight: deque[tuple[Item, asyncio.Task[ItemRows]]] = deque()
    stopped: list[BudgetExhausted] = []

    async def next_rows() -> ItemRows:
        item, task = in_flight.popleft()
        try:
            return await task
        except BudgetExhausted as error:
            stopped.append(error)
            runs = each_setup(methods, setup)
            return item_rows(item, setup, Probe(), runs, [(failed(str(error)), Meter())] * len(runs))

    try:
        # With a confidence kind that a server may not give, the first item goes alone: it shows whether this one does.
        first_window = 1 if setup.choices.confidence in NEED_LOGPROBS else WINDOW
        for place, item in enumerate(setup.items if items is None else items):
            if len(in_flight) >= (first_window if place == 1 else WINDOW):
                yield await next_rows()
            in_flight.append((item, asyncio.create_task(run_item(item, setup, methods, on_done))))
        while in_flight:
            yield await next_rows()
    finally:
        for _, task in in_flight:
            task.cancel()
        await asyncio.gather(*(task for _, task in in_flight), return_exceptions=True)
    if stopped:
        raise stopped[0]


class Waiting:
    """Rows of the methods that decide once every item has ended, by all items' beliefs or sources."""

    def __init__(self, methods: Sequence[Method]) -> None:
        self._methods = {method.name: method for method in methods if method.settle or method.weighs_sources}
        self._rows: dict[str, list[tuple[Item, Row]]] = {name: [] for name in self._methods}
        self._votes: dict[str, list[Row]] = {name: [] for name in self._methods}

    def hold_back(self, rows: ItemRows) -> ItemRows:
        """The item's rows without those that wait."""
        for row in rows.records:
            if (name := row["method"]) in self._methods:
                self._rows[name].append((rows.item, row))
                if self._methods[name].weighs_sources:
                    needed = ("item_id", "speaker", "stated_answer")
                    said = (turn for turn in rows.turns if turn["method"] == name)
                    self._votes[name] += [{column: turn[column] for column in needed} for turn in said]
        rows.records = [row for row in rows.records if row["method"] not in self._methods]
        return rows

    def settled(self) -> list[Row]:
        """The rows that waited, decided; a row with a failed call stays as it is."""
        for name, method in self._methods.items():
            rows = [(item, row) for item, row in self._rows[name] if row["missing"] is not Missing.ERROR]
            if method.settle:
                beliefs = [Belief(r["question_id"], r["self_confidence"], r["context_confidence"]) for _, r in rows]
                for (_, row), decision in zip(rows, method.settle(beliefs), strict=True):
                    chosen = _CHOSEN.get(decision)
                    answer, correct = (row[f"{chosen}_answer"], row[f"{chosen}_correct"]) if chosen else (None, None)
                    row |= {"decision": decision, **final_columns([] if answer is None else [answer], correct)}
            if method.weighs_sources:
                everyone = [item for item, _ in self._rows[name]]
                majority = source_reliability(*votes_of(everyone, self._votes[name])).majority
                for item, row in rows:
                    if values := majority.get(item.item_id):
                        row |= final_columns(values, all_and_no_wrong(values, item))
        return [row for rows in self._rows.values() for _, row in rows]


@cache
def background_loop() -> asyncio.AbstractEventLoop:
    """The one event loop of this process, in a daemon thread: a notebook's own loop is busy with the notebook."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="srdcr-loop", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):  # the loop's thread does not go on in a forked child
    os.register_at_fork(after_in_child=background_loop.cache_clear)


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end. An interrupt cancels it, waits until it has cleaned up, and is raised again."""
    ended = threading.Event()

    async def to_its_end() -> T:
        try:
            return await coroutine
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(to_its_end(), background_loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        ended.wait(timeout=10)
        raise


@contextmanager
def progress_bar(session: Any, n_answers: int, *, show: bool) -> Iterator[Any]:
    """A bar whose `update` counts the answer of a method to an item; in a log a line a minute.

    Items run side by side and end together, so answers and completions show that a run moves, and items would not.
    """
    from tqdm.auto import tqdm

    watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    log: dict[str, Any] = {
        "delay": math.inf,
        "bar_format": "{n_fmt} of {total_fmt} answers, {elapsed} passed{postfix}\n",
    }

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.5 if watched else LOGGED_EVERY_S)
            bar.set_postfix_str(f"{session.served:,} completions, ${session.budget.spent_usd:.4f}")

    with tqdm(total=n_answers, unit="answer", disable=not show, **({} if watched else log)) as bar:
        ticking = asyncio.create_task(tick())
        try:
            yield bar
        finally:
            ticking.cancel()
