"""One shard of a study: the Ray actor that asks for its items, its store, and its part of concurrency and budget.

Each shard has a part of both. What it does not use, and all of it when it ends, goes to those that need it once it has
said so (`fair_slots`, `fair_limits`): the parts never exceed the whole. `sharding.Driver` divides and merges.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from srdcr_lab.models import Store
from srdcr_lab.models.load import price_of
from srdcr_lab.models.spending import Budget
from srdcr_lab.records import BudgetExhausted, Completion, Item, ModelIdentity, Request, SrdcrError
from srdcr_lab.study.run import run_items


def fair_slots(whole: int, wanted: Sequence[int]) -> list[int]:
    """Of `whole` slots those of each shard, one at least: nobody has more than it wants while another lacks some, and
    what nobody wants is spread.

    >>> fair_slots(12, [1, 9, 9]), fair_slots(12, [0, 2, 3])
    ([1, 5, 6], [3, 4, 5])
    """
    slots, left = [1] * len(wanted), whole - len(wanted)
    for passed, place in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        more = max(0, min(wanted[place] - 1, left // (len(wanted) - passed)))
        slots[place], left = slots[place] + more, left - more
    return [own + left // len(slots) + (place >= len(slots) - left % len(slots)) for place, own in enumerate(slots)]


def fair_limits(whole: float, committed: Sequence[float], lacking: Sequence[float]) -> list[float]:
    """Of `whole` US dollars what each shard may spend: what it has spent or reserved, what its next call lacks (the
    least first, while it lasts), and an equal part of the rest.

    >>> fair_limits(10, [4, 2], [0, 3]), fair_limits(10, [4, 5], [2, 1])
    ([4.5, 5.5], [4.0, 6.0])
    """
    limits, left = [*committed], whole - sum(committed)
    for place in sorted(range(len(limits)), key=lacking.__getitem__):
        if lacking[place] <= left:
            limits[place], left = limits[place] + lacking[place], left - lacking[place]
    return [limit + max(left, 0.0) / len(limits) for limit in limits]


class Share(Budget):
    """A shard's part of a budget: a call that it does not cover waits for more, until the `last` part is given."""

    lacking, last = 0.0, False

    @property
    def committed(self) -> float:
        return self.spent_usd + self._reserved

    async def reserve(self, amount: float) -> None:
        while self.limit_usd is not None and not self.last and self.committed + amount > self.limit_usd:
            self.lacking = amount
            self._freed.clear()
            await self._freed.wait()
        self.lacking = 0.0
        await super().reserve(amount)

    def divide(self, limit_usd: float, last: bool) -> None:
        """Have this much from now on, but no less than is committed."""
        self.limit_usd, self.last = max(limit_usd, self.committed), last
        self._freed.set()


class ShardStore(Store):
    """A shard's store. It looks into that of the run, too, and notes in `news`, if any, what it is given to keep."""

    def __init__(self, path: Path, earlier: Path | None, news: list[tuple[Any, ...]] | None) -> None:
        super().__init__(path)
        self._earlier, self._news = Store(earlier) if earlier else None, news

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        here = super().get(model, request)
        if self._earlier and len(here) < len(request.draws):
            here = self._earlier.get(model, request) | here
        return here

    def recall(self, model: str, name: str) -> str | None:
        known = super().recall(model, name)
        return self._earlier.recall(model, name) if known is None and self._earlier else known

    def put(self, model: ModelIdentity, request: Request, completions: Sequence[Completion]) -> None:
        super().put(model, request, completions)
        self._note("put", model, request, completions)

    def remember(self, model: str, name: str, value: str) -> None:
        super().remember(model, name, value)
        self._note("remember", model, name, value)

    def note_spent(self, run: str, usd: float) -> None:
        super().note_spent(run, usd)
        self._note("note_spent", run, usd)

    def _note(self, *what: Any) -> None:
        if self._news is not None:
            self._news.append(what)


class Report(NamedTuple):
    """What a worker has done (answers, completions, US dollars) and uses."""

    done: int = 0
    served: int = 0
    spent: float = 0.0
    committed: float = 0.0
    limit: float = 0.0
    lacking: float = 0.0
    slots: int = 0  # HTTP requests that may be in flight
    wanted: int = 0  # HTTP requests that are, or wait for a slot
    news: Sequence[tuple[Any, ...]] = ()


NOTHING_YET = Report()


class Worker:
    """The actor: `ask` runs to the shard's end, and the others beside it, in one event loop."""

    def __init__(self, opened: Callable[..., Any], given: dict[str, Any], items: Sequence[Item], threads: int) -> None:
        if threads:
            os.environ["OMP_NUM_THREADS"] = str(threads)  # read by torch, which is not imported yet, and by llama.cpp
        self._opened, self._given, self._items, self._done = opened, given, items, 0
        self._news: list[tuple[Any, ...]] = []
        self._asking: asyncio.Task[None] | None = None
        self._elsewhere: Path | None = None

    async def open(
        self, path: Path, node: str, earlier: Path | None, copies: list[Any], run_key: str
    ) -> dict[str, Any]:
        """Open the study and its store; see `told`. On another `node` than the driver's no path of it is to be had."""
        import ray

        if ray.get_runtime_context().get_node_id() != node:
            self._elsewhere = Path(tempfile.mkdtemp(prefix="srdcr-"))
            path = self._elsewhere / path.name
            if earlier:
                earlier = self._elsewhere / "earlier.sqlite"
                earlier.write_bytes(await copies[0])
        self._store = ShardStore(path, earlier, self._news if self._elsewhere else None)
        self._study = self._opened(**self._given, store=self._store)
        self._budget = self._study._budget = Share(self._given["budget_usd"])
        self._budget.on_spent = partial(self._store.note_spent, run_key)
        self._session = self._study._opened()
        return told(self._study)

    async def ask(self) -> dict[str, Any]:
        """Ask for all that the items need; what was really sent. A failed call is left to the driver's own run."""
        self._asking = asyncio.create_task(self._ask())
        try:
            await self._asking
        except asyncio.CancelledError:
            return {}
        except BudgetExhausted:
            pass  # which the driver's own run will say
        for _ in self._store.contents():  # checked by many at once, and not when it is merged
            pass
        return {str(model.identity): model.sent() for model in self._study._everyone if hasattr(model, "sent")}

    async def _ask(self) -> None:
        try:
            await self._study._check()
            run = run_items(self._study.setup, self._study.methods, on_done=self._count, items=self._items)
            async with aclosing(run):
                async for _ in run:
                    pass
        except SrdcrError:
            await self._session.landed()  # paid for
            raise
        finally:
            await self._session.abandon()

    def _count(self) -> None:
        self._done += 1

    async def report(self, slots: int, limit: float, last: bool) -> Report:
        """Take this part of concurrency and budget from now on, and say what is done and used."""
        most = self._given["concurrency"]
        idle = [await model.hold_back(most - slots) for model in self._study._everyone if hasattr(model, "hold_back")]
        if math.isfinite(limit):
            self._budget.divide(limit, last)
        news, self._news[:] = [*self._news], []
        used, budget, asking = self._session, self._budget, max(model.asking for model in self._session.models)
        money = budget.spent_usd, budget.committed, budget.limit_usd or 0.0, budget.lacking
        return Report(self._done, used.served, *money, most - min(idle, default=0), asking, news)

    async def stop(self) -> None:
        """Cancel what is in flight; `ask` then ends."""
        if self._asking:
            self._asking.cancel()

    async def close(self) -> None:
        """Let models and store go, and on another node than the driver's the store's folder."""
        await self._session.aclose()
        if self._elsewhere:
            shutil.rmtree(self._elsewhere, ignore_errors=True)


def told(study: Any) -> dict[str, Any]:
    """What has to be the same on every machine: models, where they are asked, at what price, choices and prompts."""
    asked, models = study.asked(), {str(model.identity): model for model in study._everyone}
    prices = {name: price_of(model.identity) for name, model in models.items()}
    return {
        **{name: asked[name] for name in ("models", "choices", "prompts_sha256")},
        "addresses": {name: getattr(model, "address", "") for name, model in models.items()},
        "prices": {name: price and (price.input_usd, price.output_usd) for name, price in prices.items()},
    }
