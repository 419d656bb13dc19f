"""A progress bar over items that also ticks with completions: in a breadth-first run the items end together."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from srdcr_lab.study.session import Session


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
