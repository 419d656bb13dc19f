"""Who joins what is being decoded, and when: the worker of a local model over a decoder that only counts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from srdcr_lab.models.decoding import Draw, Sample
from srdcr_lab.models.local import Call, Worker
from srdcr_lab.records import Completion, FinishReason, Message, Request

SIZE = 20  # tokens a call


class Counting:
    """A decoder whose every step finishes one row; its first prefill waits until `gate` is set."""

    def __init__(self) -> None:
        self.gate, self.in_use = threading.Event(), threading.Lock()
        self.started: list[int] = []

    def start(self, prompts: Sequence[tuple[Any, Sequence[Draw]]]) -> list[Any]:
        self.gate.wait(timeout=300)
        self.started.append(len(prompts))
        return [SimpleNamespace(rows=[SimpleNamespace(draws=list(draws)) for _, draws in prompts])]

    def join(self, batches: Sequence[Any]) -> list[Any]:
        return [SimpleNamespace(rows=[row for batch in batches for row in batch.rows])]

    def advance(self, batch: Any) -> list[tuple[Draw, Sample]]:
        return [(batch.rows.pop(0).draws[0], Sample((), True, 1))]


def prepare(call: Call) -> None:
    call.prompt = (0,) * (SIZE - 1)
    call.draws = [Draw(seed=0, temperature=0.0, max_new=1, owner=call, index=0)]


def complete(call: Call, draw: Draw, sample: Sample) -> Completion:
    return Completion(text="", draw=draw.index, finish_reason=FinishReason.STOP)


def serve(n: int, fitting: int, cancelled: Sequence[int] = ()) -> tuple[Counting, list[Any]]:
    """Ask n calls, of which so many fit at once; the first is inside while the others arrive, some are cancelled."""

    async def asked() -> list[Any]:
        worker = Worker(decoder, prepare, complete, max_batch_tokens=fitting * SIZE)  # type: ignore[arg-type]
        calls = [Call(Request((Message("user", "Who?"),), max_tokens=1)) for _ in range(n)]
        for call in calls:
            worker.inbox.put(call)
        for place in cancelled:
            calls[place].future.cancel()
        decoder.gate.set()
        found = await asyncio.wait_for(
            asyncio.gather(*(asyncio.wrap_future(call.future) for call in calls), return_exceptions=True), 300
        )
        worker.inbox.put(None)
        await asyncio.to_thread(worker.thread.join)
        return found

    decoder = Counting()
    return decoder, asyncio.run(asked())


def test_a_full_decoder_takes_newcomers_by_the_handful() -> None:
    """Sixteen fit. Each leaves one place, but taking one in copies what the others have."""
    decoder, found = serve(100, fitting=16)
    assert all(isinstance(completions[0], Completion) for completions in found)
    assert sum(decoder.started) == 100
    assert len(decoder.started) < 100 / 2


def test_what_is_larger_than_the_bound_runs_alone() -> None:
    decoder, found = serve(3, fitting=0)
    assert len(found) == 3
    assert decoder.started == [1, 1, 1]


def test_a_call_that_was_cancelled_while_it_waited_is_passed_over() -> None:
    decoder, found = serve(6, fitting=1, cancelled=[3, 5])
    assert [isinstance(one, asyncio.CancelledError) for one in found] == [False, False, False, True, False, True]
    assert sum(decoder.started) == 4
