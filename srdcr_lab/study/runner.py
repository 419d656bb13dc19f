"""All items at once, their rows in order: no barrier between rounds, no more than a window of items in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

from srdcr_lab.protocols import Method, Setup
from srdcr_lab.records import BudgetExhausted, Item
from srdcr_lab.study.item import error_rows, run_item
from srdcr_lab.study.rows import ItemRows

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
