"""Waves at half price over the batch APIs of OpenAI and Anthropic: whatever happens, each line is answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab.models import batches
from srdcr_lab.models.anthropic import AnthropicChat
from srdcr_lab.models.api import ApiChat
from srdcr_lab.models.batches import ask_batch
from srdcr_lab.models.load import Price
from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.models.spending import Budget
from srdcr_lab.models.store import Store
from srdcr_lab.records import BadInput, BudgetExhausted, Message, Request, Stopped
from tests.loopback.server import Loopback

PRICE = Price(1e-6, 2e-6, "a test")
Failed = list[tuple[Request, str]]


def wave(n: int, draws: int = 1) -> list[Request]:
    """Greedy requests; or with draws, of the stream ``knowledge``."""
    asked = [Request((Message("user", f"When was bridge {i} built?"),), 16) for i in range(n)]
    if draws == 1:
        return asked
    return [replace(each, temperature=0.5, stream="knowledge", draws=tuple(range(draws))) for each in asked]


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that the loopback server made is listed at once."""
    monkeypatch.setattr(batches, "_GRACE_S", 0.0)


class Lab:
    """One store, one server; every call of `ask` is a new process as far as the code under test can tell."""

    def __init__(self, provider: str, server: Loopback, path: Path) -> None:
        self.provider, self.server, self.path = provider, server, path
        self.told: list[str] = []
        self.budget = Budget()

    def model(self, **options: Any) -> ApiChat:
        url = self.server.openai_url if self.provider == "openai" else self.server.url
        chat = OpenAIChat if self.provider == "openai" else AnthropicChat
        return chat("double", base_url=url, timeout_s=5, max_retries=1, patience_s=1, **options)

    def ask(self, asked: Sequence[Request], model: ApiChat | None = None, price: Price | None = PRICE) -> Failed:
        async def run() -> Failed:
            here = model or self.model()
            with closing(Store(self.path)) as store:
                try:
                    return await ask_batch(
                        here, store, asked, budget=self.budget, price=price, tell=self.told.append, pause_s=0
                    )
                finally:
                    await here.aclose()

        return asyncio.run(run())

    def missing(self, asked: Sequence[Request]) -> int:
        with closing(Store(self.path)) as store:
            identity = self.model().identity
            return sum(len(each.draws) - len(store.get(identity, each)) for each in asked)

    def is_clean(self) -> bool:
        """Nothing is under way, and what was sent was sent once."""
        with closing(Store(self.path)) as store:
            under_way = store.batches(self.model().identity.key)
            return not under_way and not self.server.batches.twice and not store.integrity()


@pytest.fixture
def lab(provider: str, loopback: Loopback, tmp_path: Path) -> Iterator[Lab]:
    yield Lab(provider, loopback, tmp_path / "store.sqlite")


def test_a_wave_comes_back_in_one_batch(lab: Lab) -> None:
    asked = wave(20)
    assert lab.ask(asked) == []
    assert lab.missing(asked) == 0 and lab.is_clean()
    assert len(lab.server.batches.batches) == 1 and len(lab.server.batches.accepted) == 19  # the first went live
    assert len(lab.server.completions) == 1
    lab.ask(asked)
    assert len(lab.server.batches.batches) == 1
