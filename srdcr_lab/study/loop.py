"""A background event loop, so that a notebook's plain calls run coroutines and an interrupted kernel cancels them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


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
