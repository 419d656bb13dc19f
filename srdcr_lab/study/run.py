"""Opened models behind one store and one budget: what costs money while a study runs, and is let go of after it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from srdcr_lab.measures.documents import votes_of
from srdcr_lab.measures.reliability import source_reliability
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.budget import Budget
from srdcr_lab.models.stored import Meter, metered
from srdcr_lab.protocols import (
    Belief,
    Cast,
    Method,
    Setup,
    context_answer,
    knowledge_draws,
    prior_answer,
    self_confidence,
)
from srdcr_lab.records import BudgetExhausted, CallFailed, Decision, Item, Missing, Needs, SrdcrError
from srdcr_lab.study.opening import wrap
from srdcr_lab.study.rows import ItemRows, Probe, Ran, Row, all_and_no_wrong, record_row, sample_rows, turn_row


class Session:
    """Answerer, defender, critic and judge (often one model), each asked through the store and paid from the budget;
    so are the `players` that designs name."""

    def __init__(
        self,
        models: Sequence[ChatModel],
        players: Mapping[str, ChatModel],
        store: Store,
        budget: Budget,
        *,
        offline: bool = False,
    ) -> None:
        self.store, self.budget = store, budget
        wrapped = {id(model): wrap(model, store, budget, offline=offline) for model in (*models, *players.values())}
        self.models = tuple(wrapped.values())
        self.cast = Cast(*(wrapped[id(model)] for model in models))
        self.players = {spec: wrapped[id(model)] for spec, model in players.items()}

    @property
    def paid(self) -> int:
        """Completions that were asked of a model so far."""
        return sum(model.paid for model in self.models)

    @property
    def served(self) -> int:
        """Completions that were handed out so far, from wherever."""
        return sum(model.served for model in self.models)

    async def landed(self) -> None:
        """Wait for what is in flight though nobody needs it any more: it is paid for."""
        for model in self.models:
            await model.landed()

    async def abandon(self) -> None:
        """Cancel what is in flight."""
        for model in self.models:
            await model.abandon()

    async def aclose(self, *, close_store: bool = True) -> None:
        """Close the models; a model opens again when it is next asked. Then the store, unless it is somebody else's."""
        for model in self.models:
            with suppress(Exception):  # of one model, which must not keep the others open
                await model.aclose()
        if close_store:
            self.store.close()


# -- all that happens to one item: its methods, and what the model knows about its question

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


# -- RA-RAG's second pass: when every item has ended, its rows are decided by how reliable their sources turned out


@dataclass
class SourceVotes:
    """The rows of one method that wait, their items, and what was said about each document."""

    items: dict[str, Item] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    turns: list[Row] = field(default_factory=list)

    def add(self, item: Item, row: Row, turns: Sequence[Row]) -> None:
        """Take an item's row, and of all its turns those of the row's method."""
        self.items[item.item_id], self.rows[item.item_id] = item, row
        needed = ("item_id", "speaker", "stated_answer")
        self.turns += [{name: turn[name] for name in needed} for turn in turns if turn["method"] == row["method"]]

    def settle(self) -> None:
        """Fill in the answers of the weighted majority; a row without a vote or with an error stays as it is."""
        found = source_reliability(*votes_of(self.items.values(), self.turns))
        for item_id, values in found.majority.items():
            row = self.rows[item_id]
            if row["missing"] is not Missing.ERROR:
                row |= {
                    "final_answer": values[0],
                    "final_answers": list(values),
                    "correct": all_and_no_wrong(values, self.items[item_id]),
                    "missing": None,
                }


# -- methods that decide once every item has ended: their rows wait, and are written last

_CHOSEN = {Decision.USE_PRIOR: "prior", Decision.USE_CONTEXT: "context"}


class Waiting:
    """The rows held back of methods that settle."""

    def __init__(self, methods: Sequence[Method]) -> None:
        self._settles = {method.name: method.settle for method in methods if method.settle}
        self._votes = {method.name: SourceVotes() for method in methods if method.weighs_sources}
        self._rows: dict[str, list[Row]] = defaultdict(list)

    def hold_back(self, rows: ItemRows) -> ItemRows:
        """The item's rows without those that wait."""
        waiting = {*self._settles, *self._votes}
        for row in rows.records:
            if row["method"] in waiting:
                self._rows[row["method"]].append(row)
            if row["method"] in self._votes:
                self._votes[row["method"]].add(rows.item, row, rows.turns)
        rows.records = [row for row in rows.records if row["method"] not in waiting]
        return rows

    def settled(self) -> list[Row]:
        """The rows that waited, decided from the beliefs or the sources of all of them; a row with a failed call stays
        as it is."""
        for name, settle in self._settles.items():
            rows = [row for row in self._rows[name] if row["missing"] is not Missing.ERROR]
            beliefs = [Belief(row["question_id"], row["self_confidence"], row["context_confidence"]) for row in rows]
            for row, decision in zip(rows, settle(beliefs), strict=True):
                _decide(row, decision)
        for votes in self._votes.values():
            votes.settle()
        return [row for rows in self._rows.values() for row in rows]


def _decide(row: Row, decision: Decision | None) -> None:
    """Fill in what follows from a decision; None means that neither answer could be read."""
    chosen = _CHOSEN.get(decision) if decision else None
    answer = row[f"{chosen}_answer"] if chosen else None
    row["decision"] = decision
    row["final_answer"] = answer
    row["final_answers"] = [] if answer is None else [answer]
    row["correct"] = row[f"{chosen}_correct"] if answer is not None else None
    row["missing"] = None if answer is not None else Missing.UNPARSED


# -- all items at once, their rows in order: no barrier between rounds, no more than a window of items in memory

WINDOW = 1024  # items in flight; far above any concurrency, so that slots never wait for a slow item


async def run_items(
    items: Iterable[Item],
    setup: Setup,
    methods: Sequence[Method],
    *,
    window: int = WINDOW,
    on_done: Callable[[], object] = lambda: None,
) -> AsyncGenerator[ItemRows, None]:
    """Rows of each item, in the order of the items; `on_done` is called when an item ends, in whatever order they do.

    When the budget is used up, the items that were not reached yield rows with that error, and it is raised at the
    end. Any other error cancels the items in flight and is raised at once.
    """
    in_flight: deque[tuple[Item, asyncio.Task[ItemRows]]] = deque()
    stopped: list[BudgetExhausted] = []

    async def next_rows() -> ItemRows:
        item, task = in_flight.popleft()
        try:
            return await task
        except BudgetExhausted as error:
            stopped.append(error)
            return error_rows(item, setup, methods, str(error))

    try:
        for item in items:
            if len(in_flight) >= window:
                yield await next_rows()
            task = asyncio.create_task(run_item(item, setup, methods))
            task.add_done_callback(lambda _: on_done())
            in_flight.append((item, task))
        while in_flight:
            yield await next_rows()
    finally:
        for _, task in in_flight:
            task.cancel()
        await asyncio.gather(*(task for _, task in in_flight), return_exceptions=True)
    if stopped:
        raise stopped[0]


# -- a background event loop, so that a notebook's plain calls run coroutines and an interrupted kernel cancels


@cache
def background_loop() -> asyncio.AbstractEventLoop:
    """The one loop of this process, in a daemon thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="srdcr-loop", daemon=True).start()
    return loop


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; on an interrupt cancel it, wait until it has let go, and pass the interrupt on."""
    future = asyncio.run_coroutine_threadsafe(coroutine, background_loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        _drain(future)
        raise


def _drain(future: Any) -> None:
    done = threading.Event()

    def when_idle() -> None:
        if len(asyncio.all_tasks()) == 0:
            done.set()
        else:
            background_loop().call_later(0.05, when_idle)

    background_loop().call_soon_threadsafe(when_idle)
    done.wait(timeout=10)


# -- a progress bar over items that also ticks with completions: in a breadth-first run the items end together


@contextmanager
def progress_bar(session: Session, n_items: int, *, show: bool) -> Iterator[Any]:
    """The bar; its `update` counts an item. It shows in a terminal and in a notebook, not in a log."""
    from tqdm.auto import tqdm

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.5)
            bar.set_postfix_str(f"{session.served:,} completions, ${session.budget.spent_usd:.4f}")

    watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    with tqdm(total=n_items, unit="item", disable=not (show and watched)) as bar:
        ticking = asyncio.create_task(tick())
        try:
            yield bar
        finally:
            ticking.cancel()
