"""`loopback`: a fresh server for one test, with the SDKs' back-off shortened and no key in the environment."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from srdcr_lab.data import load_items
from srdcr_lab.data.load import write_items
from tests.loopback.server import Loopback

PRICES = "model,input_usd_per_million,output_usd_per_million"


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDKs wait half a second before their first retry; here ten milliseconds."""
    for sdk in ("openai", "anthropic"):
        monkeypatch.setattr(f"{sdk}._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("srdcr_lab.models.api.PROBE_PAUSE_S", 0.01)


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without keys, addresses and a proxy for loopback."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def loopback(quick_retries: None, no_keys: None) -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


def priced(patch: pytest.MonkeyPatch, folder: Path, *rows: str, header: str = PRICES) -> None:
    """A price table, named in the environment; a row is a model, and US dollars per million tokens in and out."""
    (folder / "prices.csv").write_text("\n".join([header, *rows]) + "\n", "utf-8")
    patch.setenv("SRDCR_PRICES", str(folder / "prices.csv"))


def years_of(name: str, folder: Path, most: int | None = None) -> Path:
    """The event years of a shipped set, at most so many, as a file: the server knows no other answers."""
    shipped = load_items(name)
    years = [item for item in shipped if item.domain == "years"]
    write_items(replace(shipped, items=tuple(years[:most])), folder / "years.csv")
    return folder / "years.csv"
