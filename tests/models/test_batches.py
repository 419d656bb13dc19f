"""Waves at half price over the batch APIs of OpenAI and Anthropic: whatever happens, each line is answered once."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab.models import batches
from srdcr_lab.models.anthropic import AnthropicChat
from srdcr_lab.models.api import ApiChat, CountingClient
from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.models.spending import Budget, Price, StoredModel, worst_case_usd
from srdcr_lab.models.store import Store
from srdcr_lab.records import BadInput, BudgetExhausted, Request, Stopped
from srdcr_lab.records.files import one_writer
from srdcr_lab.records.types import Place
from tests.asking_batches import wave
from tests.conftest import Srdcr
from tests.loopback.server import Loopback

PRICE = Price(1e-6, 2e-6, "a test")
Failed = dict[Place, str]


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


openai = pytest.mark.parametrize("provider", ["openai"])  # what the other lacks, or does no otherwise
anthropic = pytest.mark.parametrize("provider", ["anthropic"])


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are looked at without a pause, and those that the server made are listed at once."""
    monkeypatch.setattr(batches, "PAUSE_S", 0.0)
    monkeypatch.setattr(batches, "_GRACE_S", 0.0)


class Lab:
    """One store, one server; every call of `ask` is a new process as far as the code under test can tell."""

    def __init__(self, provider: str, server: Loopback, path: Path) -> None:
        self.provider, self.server, self.path = provider, server, path
        self.told: list[str] = []
        self.name = "double"
        self.budget = Budget()

    def model(self, **options: Any) -> ApiChat:
        url = self.server.openai_url if self.provider == "openai" else self.server.url
        chat = OpenAIChat if self.provider == "openai" else AnthropicChat
        options = {"timeout_s": 5, "max_retries": 1, "patience_s": 1} | options
        return chat(self.name, base_url=url, **options)

    def ask(
        self, asked: Sequence[Request], model: ApiChat | None = None, tell: Callable[[str], None] | None = None
    ) -> Failed:
        async def run() -> Failed:
            here = model or self.model()
            with closing(Store(self.path)) as store:
                try:
                    live = StoredModel(here, store, price=PRICE, budget=self.budget)
                    return await batches.ask_batch(live, asked, tell=tell or self.told.append)
                finally:
                    await here.aclose()

        return asyncio.run(run())

    def missing(self, asked: Sequence[Request]) -> int:
        with closing(Store(self.path)) as store:
            identity = self.model().identity
            return sum(len(each.draws) - len(store.get(identity, each)) for each in asked)

    def is_clean(self) -> bool:
        """Nothing is under way, and nothing was sent twice."""
        with closing(Store(self.path)) as store:
            under_way = store.batches(self.model().identity.key)
            return not under_way and not self.server.batches.twice and not store.integrity()

    def gets(self, asked: Sequence[Request], **options: Any) -> None:
        """All that is asked, in one call; and nothing twice."""
        assert self.ask(asked, **options) == {}
        assert self.missing(asked) == 0
        assert self.is_clean()


@pytest.fixture
def lab(provider: str, loopback: Loopback, tmp_path: Path) -> Lab:
    return Lab(provider, loopback, tmp_path / "store.sqlite")


def test_a_wave_comes_back_in_one_batch(lab: Lab) -> None:
    asked = wave(20)
    lab.gets(asked)
    assert len(lab.server.batches.batches) == 1
    assert len(lab.server.batches.accepted) == 19
    assert len(lab.server.completions) == 1
    lab.ask(asked)
    assert len(lab.server.batches.batches) == 1


@openai
def test_the_same_completions_as_live_at_half_the_price(lab: Lab, tmp_path: Path) -> None:
    """Of a model with seeds: the same texts, log-probabilities and counts of tokens; nothing stays reserved."""
    asked = [*wave(3, draws=5), *(replace(each, logprobs=True) for each in wave(3)), replace(wave(1)[0], scored=True)]
    lab.ask(asked)
    budget = Budget()
    with closing(Store(lab.path)) as batched, closing(Store(tmp_path / "live.sqlite")) as live:
        asyncio.run(all_live(lab.model(), live, budget, asked))
        for each in asked:
            assert batched.get(lab.model().identity, each) == live.get(lab.model().identity, each)
    assert 0.5 * budget.spent_usd < lab.budget.spent_usd < 0.8 * budget.spent_usd  # one of each form went live
    assert lab.budget.left_usd() == float("inf")


async def all_live(model: ApiChat, store: Store, budget: Budget, asked: Sequence[Request]) -> None:
    stored = StoredModel(model, store, price=PRICE, budget=budget)
    for each in asked:
        await stored.complete(each)
    await model.aclose()


def test_results_may_be_longer_than_a_reply_and_what_comes_at_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srdcr_lab.models.api.MOST_BYTES", 2000)
    monkeypatch.setattr("srdcr_lab.models.api._MOST_BYTES_OF_AN_ERROR", 1000)
    lab.gets(wave(600))
    assert max(len(content) for _, content in lab.server.batches.files.values()) > 2**17


def test_a_budget_sends_what_fits_and_says_what_does_not(lab: Lab) -> None:
    asked = wave(80)
    lab.budget = Budget(5 * worst_case_usd(asked[0], PRICE))
    with pytest.raises(BudgetExhausted, match=r"budget of .* does not cover"):
        lab.ask(asked, model=lab.model())
    assert 0 < lab.missing(asked) < 70
    assert lab.is_clean()
    assert len(lab.server.batches.batches) > 1
    assert lab.budget.spent_usd <= lab.budget.limit_usd
    lab.budget = Budget()
    lab.gets(asked)


@pytest.mark.parametrize("fault", ["500", "expired", "lost", "broken", "malformed"])
def test_a_line_without_an_answer_is_asked_again_and_fails_with_a_sentence(lab: Lab, fault: str) -> None:
    asked = wave(6)
    lab.server.batches.rules.faults = {"bridge 3": [fault], "bridge 4": [fault] * 9}
    ((failed, sentence),) = lab.ask(asked).items()
    assert failed == asked[4].places[0]
    assert sentence.startswith(f"{lab.provider}:double: ")
    assert "asked 3 times" in sentence
    assert lab.missing(asked) == 1
    assert sorted(lab.server.batches.accepted.values()) == [1, 1, 1, 2, 3]


def test_lines_that_nobody_understands_cost_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one of another program; the second answer to one line is left out."""
    hostile = [7, [], None, {}, {"custom_id": {}}, {"custom_id": "\ud83d", "result": 1}, {"custom_id": 1e9}]
    keep = lab.server.batches._file

    def file(key: str, content: bytes) -> str:
        if b"custom_id" not in content or b"method" in content:
            return keep(key, content)
        lines = [*(json.dumps(each).encode() for each in hostile), b"{", b"\xff", b'"' + b"x" * 3000, b""]
        return keep(key, b"\n".join([*lines, content, *lines, content]))

    monkeypatch.setattr(lab.server.batches, "_file", file)
    lab.gets(wave(6))
    assert len(lab.server.batches.batches) == 1


def test_a_line_that_is_refused_fails_at_once(lab: Lab) -> None:
    asked = wave(6)
    lab.server.batches.rules.faults = {"bridge 3": ["400"] * 9}
    ((failed, sentence),) = lab.ask(asked).items()
    assert failed == asked[3].places[0]
    assert "answered 400 (scripted)" in sentence
    assert lab.missing(asked) == 1
    assert set(lab.server.batches.accepted.values()) == {1}


def test_what_a_model_refuses_is_learned_live(lab: Lab) -> None:
    """Before the first batch, from one request of each form."""
    refused = {"openai": {"seed", "max_tokens", "stop", "n"}, "anthropic": set[str]()}[lab.provider]
    lab.server.behaviour.refuses = frozenset(refused)
    asked = [*wave(4, draws=3), *(replace(each, stop=("Q:",)) for each in wave(4))]
    lab.gets(asked)
    assert len(lab.server.batches.batches) == 1


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
def test_what_an_ended_batch_leaves_is_asked_again(lab: Lab, ending: str) -> None:
    asked = wave(6)
    lab.server.batches.rules.endings = [ending, ending]
    lab.gets(asked)
    assert max(lab.server.batches.accepted.values()) == 3
    assert set(lab.server.batches.answered.values()) == {1}


@openai
def test_a_batch_that_fails_again_and_again(lab: Lab) -> None:
    lab.server.batches.rules.endings = ["invalid_request: Not today."] * 9
    failed = lab.ask(wave(6))
    assert len(failed) == 5
    assert all("invalid_request: Not today" in sentence for sentence in failed.values())
    assert len(lab.server.batches.batches) == 3
    assert lab.is_clean()


@openai
def test_the_limits_of_the_provider_split_a_wave(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srdcr_lab.models.batches.MOST_BATCH_BYTES", 1500)
    lab.gets(wave(20))
    assert len(lab.server.batches.batches) > 4


def test_a_batch_that_is_too_large_all_the_same_is_split_further(lab: Lab) -> None:
    lab.server.batches.rules.most_lines = 3
    lab.gets(wave(20))
    assert max(lab.server.batches.accepted.values()) == 1


def test_a_full_queue_is_waited_for_and_larger_ones_are_split(lab: Lab) -> None:
    if lab.provider == "anthropic":
        lab.server.batches.rules.errors = ["429"] * 3
    else:
        lab.server.batches.rules.queue = 50
    lab.gets(wave(20))
    assert any(re.search(r"\d+ requests wait: ", told) for told in lab.told)
    if lab.provider == "anthropic":
        assert [len(batch.lines) for batch in lab.server.batches.batches] == [19]


@openai
def test_a_server_that_never_was_there_stops_before_anything_is_sent(lab: Lab) -> None:
    lab.server.behaviour.away = 500
    with pytest.raises(Stopped, match=r"answered 500 .* No batch was sent"):
        lab.ask(wave(9), model=lab.model(max_retries=0))
    assert len(lab.server.turned_away) == 1


def test_a_batch_of_another_account(lab: Lab, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its completions go into a new store, which knows of no batch."""
    variable = f"{lab.provider.upper()}_API_KEY"
    monkeypatch.setenv(variable, "sk-one-12345678")
    lab.server.batches.rules.polls = 99

    def ends(told: str) -> None:
        if "are in the batch" in told:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.ask(wave(4), tell=ends)
    monkeypatch.setenv(variable, "sk-two-12345678")
    with pytest.raises(BadInput, match=r"does not give the batch \w*batch_0 .*key of the account.*srdcr store merge"):
        lab.ask(wave(4))
    new = lab.path.with_name("new.sqlite")
    assert srdcr("store", "merge", new, lab.path).out.startswith("1 completions added")
    lab.path = new
    lab.server.batches.rules.polls = 0
    assert lab.ask(wave(4)) == {}
    assert lab.missing(wave(4)) == 0


def test_a_server_without_batches(lab: Lab) -> None:
    lab.server.batches.rules.errors = ["404"]
    with pytest.raises(BadInput, match=r"has no batches .404.; run without --batch"):
        lab.ask(wave(4))
    assert lab.is_clean()


def test_an_outage_while_a_batch_is_under_way(lab: Lab) -> None:
    lab.server.batches.rules.polls = 5

    def goes(told: str) -> None:
        lab.told.append(told)
        if "are in the batch" in told:
            lab.server.behaviour.away = 503
            asyncio.get_running_loop().call_later(0.1, setattr, lab.server.behaviour, "away", None)

    lab.gets(wave(4), tell=goes)
    assert lab.server.turned_away


@openai
def test_a_server_that_stays_away_stops_the_run_which_can_be_resumed(lab: Lab) -> None:
    def goes(told: str) -> None:
        if "are in the batch" in told:
            lab.server.behaviour.away = 503

    with pytest.raises(Stopped, match="run the same command again to collect them"):
        lab.ask(wave(4), model=lab.model(patience_s=0.05), tell=goes)
    lab.server.behaviour.away = None
    lab.gets(wave(4))


@pytest.mark.parametrize("error", ["lost", "500"])
def test_a_batch_whose_id_never_arrived_is_found(lab: Lab, error: str) -> None:
    lab.server.batches.rules.errors = [error]
    lab.gets(wave(6))
    assert len(lab.server.batches.batches) == 1
    assert set(lab.server.batches.accepted.values()) == {1}


def test_a_batch_is_not_taken_for_another_of_the_same_wave(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of as many lines; the id of the first never arrived, and the second is the newer."""
    model = lab.model()
    lab.ask([wave(7)[6]], model=model)
    lab.server.batches.rules.errors = ["lost"]
    monkeypatch.setattr(batches, "MOST_BATCH_BYTES", 1200)
    lab.gets(wave(6), model=model)
    assert [len(batch.lines) for batch in lab.server.batches.batches] == [3, 3]


@anthropic
def test_a_batch_that_looks_like_ours_and_is_not(lab: Lab) -> None:
    """Another program of the account makes a batch of as many lines at the same moment."""
    model = lab.model()
    lab.ask([wave(9)[8]], model=model)
    make, other = (
        lab.server.batches._made,
        [(f"other-{i}", {"model": "m", "max_tokens": 1, "messages": []}) for i in range(4)],
    )

    def made(request: Any, lines: Any) -> Any:
        lab.server.batches._made = make  # type: ignore[method-assign]
        ours = make(request, lines)
        make(request, other)
        return ours

    lab.server.batches._made = made  # type: ignore[method-assign]
    lab.server.batches.rules.errors = ["lost"]
    lab.gets(wave(4), model=model)
    assert len(lab.server.batches.batches) == 2
    assert set(lab.server.batches.accepted.values()) == {1}


@openai
def test_two_processes_do_not_send_the_same(lab: Lab) -> None:
    name = hashlib.sha256(lab.model().identity.key.encode()).hexdigest()[:8]
    with one_writer(Path(f"{lab.path}-batches-{name}")), pytest.raises(Stopped, match="is in use by"):
        lab.ask(wave(4))
    assert lab.ask(wave(4)) == {}
    assert not [*lab.path.parent.glob("*-batches-*")]


class Killed(BaseException):
    """The process ends here."""


class Killer:
    """Counts the steps to the outside, writes to the store and requests to the server, and ends the process at one."""

    def __init__(self, at: int, after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.after, self.steps, self.dead = at, after, 0, False
        transaction, send = Store.transaction, CountingClient.send

        @contextmanager
        def committed(store: Store) -> Iterator[None]:
            nested = store._db.in_transaction
            if not nested:
                self.step(before=True)
            with transaction(store):
                if self.dead:
                    raise Killed  # nothing of a dead process reaches the file
                yield
            if not nested:
                self.step(before=False)

        async def sent(client: CountingClient, request: Any, **options: Any) -> Any:
            self.step(before=True)
            response = await send(client, request, **options)
            self.step(before=False)
            return response

        monkeypatch.setattr(Store, "transaction", committed)
        monkeypatch.setattr(CountingClient, "send", sent)

    def step(self, before: bool) -> None:
        self.steps += before
        if self.dead or (self.steps == self.at and before != self.after):
            self.dead = True
            raise Killed


def test_killed_between_any_two_steps_nothing_is_asked_twice(lab: Lab) -> None:
    """At each step in turn, before it and after it; then the same again, in a new process."""
    asked = wave(3)
    lab.server.batches.rules.polls = 0
    for at in count(1):
        killed = []
        for after in (False, True):
            lab.name = f"double-{at}-{after}"
            lab.path = lab.path.with_name(f"{lab.name}.sqlite")
            with pytest.MonkeyPatch.context() as patch:
                killer = Killer(at, after, patch)
                with suppress(Killed):
                    lab.ask(asked)
            killed.append(killer.dead)
            lab.gets(asked)
        if not any(killed):
            break
    assert at > 10
    assert set(lab.server.batches.accepted.values()) == {1}
