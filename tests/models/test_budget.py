"""What a token costs; and a budget holds for the whole run: what is reserved, booked, refused, how a run goes on."""

import asyncio
import itertools
import json
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from srdcr_lab.models.base import ChatModel
from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.models.spending import FREE, Budget, Price, StoredModel, price_of, worst_case_usd
from srdcr_lab.models.store import Store
from srdcr_lab.records import (
    BadInput,
    BudgetExhausted,
    CallFailed,
    Completion,
    ModelIdentity,
    Request,
    SrdcrError,
    Stopped,
)
from srdcr_lab.study.run import gravest
from tests.conftest import Srdcr
from tests.doubles import ScriptedModel, completion, request
from tests.loopback.fixture import PRICES, priced
from tests.loopback.server import Loopback

PRICE = Price(0.01, 0.02, "here")
ONE = request("When?")
PER_TOKEN = 2e-4  # US dollars, in the runs
# 5 bytes and 16 for the chat template, at a cent; 8 tokens of a reply, at two.
WORST = 21 * 0.01 + 8 * 0.02


def test_worst_case_by_hand() -> None:
    assert worst_case_usd(ONE, PRICE) == pytest.approx(0.37)
    assert worst_case_usd(request("When?", range(4)), PRICE) == pytest.approx(4 * 0.37)  # a server may ignore n


async def ask(budget: Budget, model: ChatModel, asked: Request = ONE, price: Price = PRICE) -> None:
    await StoredModel(model, Store(":memory:"), price=price, budget=budget)._ask(asked)


def test_the_worst_case_is_reserved_before_anything_is_sent() -> None:
    """Of every attempt; a small budget is written without an exponent."""
    inner = ScriptedModel()
    said = r"\$0\.00001 does not cover the next call's worst case \(\$0\.000037; \$0\.000000 spent\)"
    with pytest.raises(BudgetExhausted, match=said):
        asyncio.run(ask(Budget(1e-5), inner, price=Price(1e-6, 2e-6, "here")))
    inner.max_attempts = 3  # type: ignore[attr-defined]
    with pytest.raises(BudgetExhausted, match=r"\$1\.1 does not cover the next call's worst case \(\$1\.1100"):
        asyncio.run(ask(Budget(1.1), inner))
    assert inner.asked == []


class Greedy(ScriptedModel):
    """Spends all that it may, after a seeded number of turns of the loop; checks the bill while it runs."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.budget, self.bill, self.most_in_flight, self.in_flight = budget, 0.0, 0, 0
        self.rng = random.Random(0)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        for _ in range(self.rng.randrange(20)):
            await asyncio.sleep(0)
        self.in_flight -= 1
        self.bill += WORST
        assert self.bill <= 10.0
        return (Completion("1874", prompt_tokens=21, completion_tokens=8),)


def test_never_exceeded_by_64_callers_who_spend_all_they_may() -> None:
    budget = Budget(10.0)
    model = Greedy(budget)

    async def run() -> list[Any]:
        async def caller() -> None:
            while True:
                await ask(budget, model)

        return await asyncio.gather(*(caller() for _ in range(64)), return_exceptions=True)

    assert all(isinstance(result, BudgetExhausted) for result in asyncio.run(run()))
    assert 10.0 - WORST < budget.spent_usd <= 10.0
    assert budget.spent_usd == pytest.approx(model.bill)
    assert model.most_in_flight == 27  # ⌊10 / 0.37⌋


def test_a_cancelled_caller_leaves_the_line() -> None:
    async def run() -> int:
        budget, inner = Budget(0.5), ScriptedModel(gated=True)
        first, waiting, last = (asyncio.create_task(ask(budget, inner)) for _ in range(3))
        await asyncio.sleep(0.01)
        waiting.cancel()
        inner.gate.set()
        await first  # cost 0.2: what is left covers no other worst case
        with pytest.raises(BudgetExhausted):
            await last
        return len(inner.asked)

    assert asyncio.run(run()) == 1


def test_a_reservation_that_comes_with_the_cancellation_is_given_back() -> None:
    async def run() -> None:
        budget = Budget(1.0)
        await budget.reserve(1.0)
        waiting = asyncio.create_task(budget.reserve(1.0))
        await asyncio.sleep(0)
        budget.settle(1.0, 0.0)
        waiting.cancel()
        await asyncio.wait([waiting])
        await asyncio.wait_for(budget.reserve(1.0), 5)

    asyncio.run(run())


def test_a_bill_that_cannot_be_written_down_lets_nobody_wait_for_ever() -> None:
    """G, disk full: what was set aside is given back before the store is asked to keep the sum."""

    def full(_: float) -> None:
        raise Stopped("database or disk is full")

    async def run() -> None:
        budget = Budget(1.0)
        budget.on_spent = full
        await budget.reserve(1.0)
        waiting = asyncio.create_task(budget.reserve(0.5))
        await asyncio.sleep(0)
        with pytest.raises(Stopped, match="full"):
            budget.settle(1.0, 0.1)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(run())


class Unlucky(ScriptedModel):
    """An adapter that retries: some attempts come to nothing, some draws arrive, then it succeeds or raises."""

    max_attempts = 4

    def __init__(self, unanswered: int, arrive: int, failure: Exception | None = None) -> None:
        super().__init__()
        self.unanswered, self.arrive, self.failure = unanswered, arrive, failure

    async def complete_counted(
        self, request: Request, arrived: Callable[[Sequence[Completion]], None]
    ) -> tuple[tuple[Completion, ...], int]:
        found = tuple(completion(request, draw) for draw in request.draws[: self.arrive])
        arrived(found)
        if self.failure:
            raise self.failure
        return found, self.unanswered


def _failed(unanswered: int, kind: type[SrdcrError] = CallFailed) -> SrdcrError:
    error = kind("no reply within 120 s, 6 times")
    error.unanswered_attempts = unanswered
    return error


@pytest.mark.parametrize(("model", "draws", "booked"), [
    (Unlucky(0, 1), 1, 0.2), (Unlucky(2, 1), 1, 0.2 + 2 * WORST),
    (Unlucky(9, 1), 1, 4 * WORST),  # never more than was reserved
    (Unlucky(0, 0, _failed(3)), 4, 3 * 4 * WORST), (Unlucky(0, 2, _failed(0)), 4, 2 * 0.2),
    (Unlucky(0, 0, BadInput("the key was refused")), 4, 0.0), (Unlucky(0, 0, _failed(1, BadInput)), 4, 4 * WORST),
])  # fmt: skip
def test_attempts_that_timed_out_and_calls_that_failed_book_what_may_be_billed(
    model: Unlucky, draws: int, booked: float
) -> None:
    budget = Budget(100)
    with pytest.raises(type(model.failure)) if model.failure else nullcontext():
        asyncio.run(ask(budget, model, request("When?", range(draws))))
    assert budget.spent_usd == pytest.approx(booked)


def test_replies_without_token_counts_book_the_worst_case() -> None:
    class Unmetered(ScriptedModel):
        async def complete(self, request: Request) -> tuple[Completion, ...]:
            return tuple(replace(each, prompt_tokens=0) for each in await super().complete(request))

    budget = Budget(100)
    asyncio.run(ask(budget, Unmetered(), request("When?", range(3))))
    assert budget.spent_usd == pytest.approx(3 * WORST)


def test_an_interrupted_call_books_all_that_was_reserved() -> None:
    async def run() -> float:
        budget, inner = Budget(1.0), ScriptedModel(gated=True)
        asker = asyncio.create_task(ask(budget, inner))
        await asyncio.sleep(0.01)
        asker.cancel()
        await asyncio.wait([asker])
        return budget.spent_usd

    assert asyncio.run(run()) == pytest.approx(WORST)


def test_what_speaks_for_a_group_of_errors() -> None:
    """Bad input before a used-up budget before a failed call, in whatever order and depth they came."""
    failed, exhausted, bad = CallFailed("500"), BudgetExhausted("$1"), BadInput("404")
    for errors in itertools.permutations([failed, exhausted, bad]):
        assert gravest(ExceptionGroup("debate", errors)) is bad
    assert gravest(ExceptionGroup("debate", [failed, ExceptionGroup("round", [exhausted, failed])])) is exhausted
    assert gravest(failed) is failed


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading is free, so that the worst case of a turn is its 300 tokens, whatever the prompt."""
    priced(monkeypatch, tmp_path, f"openai:test,0,{1e6 * PER_TOKEN}")


def _arguments(server: Loopback, items: Path, out: Path) -> list[object]:
    return ["run", "--model", "openai:test", "--base-url", server.openai_url, "--items", items, "--out", out]


@pytest.mark.usefixtures("prices")
def test_a_run_stops_at_its_budget_and_goes_on_with_more(
    loopback: Loopback, items_csv: Path, tmp_path: Path, srdcr: Srdcr
) -> None:
    arguments = [*_arguments(loopback, items_csv, tmp_path / "out"), "--samples", 0]
    budget = OpenAIChat("test", base_url=loopback.openai_url).max_attempts * 300 * PER_TOKEN + 0.08  # of 0.2 in all
    ended = srdcr(*arguments, "--budget-usd", budget)
    assert (ended.code, "raise --budget-usd and run again" in ended.sentence) == (3, True)
    records = pq.read_table(tmp_path / "out" / "records.parquet").to_pylist()
    stopped = [row for row in records if "does not cover" in (row["error"] or "")]
    assert len(records) == 6
    assert stopped
    assert all(row["missing"] == "error" and row["final_answer"] is None for row in stopped)
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    assert manifest["status"] == "stopped"
    assert 0 < manifest["spent_usd"] <= budget
    assert manifest["counts"]["calls_paid"] == len(loopback.completions) > 0
    assert srdcr(*arguments, "--budget-usd", budget).code == 3  # the budget is the whole run's, not each attempt's
    again = json.loads((tmp_path / "out" / "run.json").read_text())
    assert manifest["spent_usd"] <= again["spent_usd"] <= budget
    srdcr.ok(*arguments, "--budget-usd", 1000)
    assert {asked.seen for asked in loopback.completions} == {1}
    records = pq.read_table(tmp_path / "out" / "records.parquet").to_pylist()
    assert [row["error"] for row in records] == [None] * 6
    table = (tmp_path / "out/summary.csv").read_text()
    (tmp_path / "out/store.sqlite").unlink()  # without its completions, a budget that is too small changes no table
    assert srdcr(*arguments, "--budget-usd", budget / 10).code == 3
    status = json.loads((tmp_path / "out/run.json").read_text())["status"]
    assert ((tmp_path / "out/summary.csv").read_text(), status) == (table, "done")


def test_budget_without_a_price_is_bad_input(loopback: Loopback, items_csv: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    assert "no price is known for openai:test" in srdcr.refuses(
        *_arguments(loopback, items_csv, tmp_path / "out"), "--budget-usd", 5
    )
    assert not (tmp_path / "out").exists()
    assert loopback.asked == []


def test_without_price_and_budget_costs_are_missing(
    loopback: Loopback, items_csv: Path, tmp_path: Path, srdcr: Srdcr
) -> None:
    srdcr.ok(*_arguments(loopback, items_csv, tmp_path / "out"), "--samples", 2, "--rounds", 1)
    costs = pq.read_table(tmp_path / "out" / "records.parquet").column("cost_usd").to_pylist()
    assert None in costs


GPT = ModelIdentity("openai", "gpt-4o-mini")


@pytest.fixture(autouse=True)
def _no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SRDCR_PRICES", raising=False)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return partial(priced, monkeypatch, tmp_path)


@pytest.mark.parametrize("provider", ["pocket", "hf"])
def test_local_models_are_free(provider: str) -> None:
    assert price_of(ModelIdentity(provider, "anything")) == FREE


def test_the_package_knows_a_model_and_says_its_version() -> None:
    price = price_of(GPT)
    assert 0 < price.input_usd < price.output_usd < 1e-3
    assert price.source.startswith("genai-prices ")


def test_nobody_knows_a_model_and_the_reason_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert price_of(ModelIdentity("openai", "a-server-of-my-own")) is None
    (said,) = caplog.messages
    assert said.startswith("no price is known for openai:a-server-of-my-own: put it into a CSV with the columns model,")


def test_a_table_may_call_a_model_by_its_name_alone(table: Callable[..., None]) -> None:
    table("gpt-4o-mini,1,3", "openai:llama,5,5", "llama,1,3")
    for model, million in ((GPT, 1), (ModelIdentity("openai", "llama"), 5), (ModelIdentity("openai", "llama", "b"), 1)):
        price = price_of(model)
        assert price.cost(1_000_000, 0) == pytest.approx(million)


def test_own_table_goes_first(table: Callable[..., None]) -> None:
    table("openai:gpt-4o-mini,1,3", "openai:llama#desk,0,0", header="\ufeff" + PRICES)  # as a spreadsheet saves it
    price = price_of(GPT)
    assert price.cost(1_000_000, 500_000) == pytest.approx(1 + 1.5)
    assert price.source == "prices.csv"
    assert price_of(ModelIdentity("openai", "llama", "desk")) is not None
    assert price_of(ModelIdentity("openai", "llama")) is None


def test_a_table_that_cannot_be_read(table: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("-1", "nan", "inf", "cheap", ""):
        table("openai:gpt-4o-mini,1,3", f"openai:other,{value},3")
        with pytest.raises(BadInput, match=r"prices\.csv, row 2: prices are US dollars per million tokens"):
            price_of(GPT)
    for lines, header in ((["openai:gpt-4o-mini,1"], "model,input_usd_per_million"), ([], "model"), ([], "")):
        table(*lines, header=header)
        with pytest.raises(BadInput, match="lacks the column"):
            price_of(GPT)
    table("openai:gpt-4o-mini,1,3", "openai:gpt-4o-mini,10,30")
    with pytest.raises(BadInput, match=r"prices\.csv, row 2: the model 'openai:gpt-4o-mini' has a price above"):
        price_of(GPT)
    monkeypatch.setenv("SRDCR_PRICES", "nowhere.csv")
    with pytest.raises(BadInput, match="cannot read the price table"):
        price_of(GPT)
