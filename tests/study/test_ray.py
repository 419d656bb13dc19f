"""Shards on Ray: the tables of a run without it, workers that die, runs that are stopped, one budget, bad input.

One cluster of this machine serves the whole file. Without the package ray its tests are skipped, and fail where the
variable CI is set.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.models.store import Store
from srdcr_lab.records import BadInput, BudgetExhausted, Stopped
from srdcr_lab.study import Study, sharding
from srdcr_lab.study.shards import Share
from tests.conftest import Srdcr
from tests.doubles import IDENTITY, ScriptedModel, completion, request
from tests.loopback.server import Loopback
from tests.study.test_resume import same_numbers

pytestmark = pytest.mark.ray
CONCURRENCY = 8


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package, connected to a cluster of this machine, whose workers know what a token costs."""
    if find_spec("ray") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs: pip install ray (80 MB)")
    prices = tmp_path_factory.mktemp("prices") / "prices.csv"
    prices.write_text("model,input_usd_per_million,output_usd_per_million\ntest,1,2\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SRDCR_PRICES", str(prices))
        with ExitStack() as stack:
            for attempt in range(3):  # Ray gives itself 30 seconds to start, which a busy machine may exceed
                with suppress(*[BadInput] * (attempt < 2)):
                    yield stack.enter_context(sharding.connected("local"))
                    return


def study(server: Loopback, out: Path | None, methods: str = "few_shot,sr_dcr", **more: Any) -> Study:
    given: dict[str, Any] = {"base_url": server.openai_url, "limit": 8, "samples": 4, "rounds": 2}
    given |= {"concurrency": CONCURRENCY, "out": out, **more}
    return Study("openai:test", "facts:testbed", methods, **given)


def asked_again(server: Loopback) -> int:
    """How often something was asked that had been asked before."""
    return len(server.completions) - len({asked.key for asked in server.completions})


@pytest.mark.parametrize(
    ("elsewhere", "design"), [(False, "acvd"), (True, "placebo")], ids=["on this node", "on another node"]
)
def test_tables_are_those_of_a_run_without_ray_also_where_a_worker_dies(
    ray: Any, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool, design: str
) -> None:
    """Also those of a method that waits for every item, and of debates over another item, which is in another shard.
    Another worker goes on: it asks again for what was in flight, on another node also for what was not yet reported."""
    if elsewhere:  # the driver takes itself for another node than the workers'
        monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "elsewhere"))
        nodes = ray.nodes()
        monkeypatch.setattr(ray, "nodes", lambda: nodes * 2)
    killed, poll = [], sharding.Driver._poll

    async def then_kill(driver: sharding.Driver, actor: Any, shard: Any) -> None:
        await poll(driver, actor, shard)
        if not killed and shard.report.served > 15:
            ray.kill(actor)
            killed.append(shard.report)

    monkeypatch.setattr(sharding.Driver, "_poll", then_kill)
    monkeypatch.setattr(sharding, "_POLL_S", 0.02)
    loopback.behaviour.latency_s = 0.03
    methods = "few_shot,sr_dcr,calibrated_token_probability"
    with study(loopback, tmp_path / "ray", methods, design=design) as sharded:
        results = sharded.run(progress=False, ray="local", shards=2)
    assert len(killed) == 1
    paid = results.manifest["counts"]["calls_paid"]
    assert results.manifest["status"] == "done"
    assert paid >= results.manifest["counts"]["completions_in_store"]  # two shards of a placebo may ask the same
    assert loopback.most_in_flight <= CONCURRENCY
    if design == "acvd":  # of a placebo's other items two shards ask the same
        assert asked_again(loopback) <= CONCURRENCY
    assert not (tmp_path / "ray/shards").exists()
    loopback.behaviour.latency_s = 0.0
    with study(loopback, tmp_path / "alone", methods, design=design) as alone:
        live = alone.run(progress=False)
    assert results.records["calls_paid"].sum() == live.records["calls_paid"].sum() > 0
    same_numbers(tmp_path / "ray", tmp_path / "alone")


def test_an_interrupted_run_goes_on_without_ray(
    ray: Any, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.behaviour.latency_s, show = 0.05, sharding.Driver._show

    def then_interrupt(driver: sharding.Driver, bar: Any, counted: Any) -> None:
        show(driver, bar, counted)
        if counted.served > 60:
            monkeypatch.setattr(sharding.Driver, "_show", show)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(sharding.Driver, "_show", then_interrupt)
    with study(loopback, tmp_path / "out") as sharded, pytest.raises(Stopped, match="run the same again"):
        sharded.run(progress=False, ray="local", shards=2)
    with closing(Store(tmp_path / "out/store.sqlite")) as store:
        kept = store.count("requests")
    assert kept > 10
    before = {asked.key for asked in loopback.completions}
    assert kept >= len(before) - CONCURRENCY
    loopback.behaviour.latency_s = 0.0
    with study(loopback, tmp_path / "out") as alone:
        results = alone.run(progress=False)
    assert results.records["error"].isna().all()
    assert asked_again(loopback) <= CONCURRENCY


def test_the_stores_of_a_driver_that_was_killed_are_merged(loopback: Loopback, tmp_path: Path) -> None:
    """By a run without Ray: it asks nothing, and counts what the shards had spent."""
    with study(loopback, tmp_path / "first") as first:
        first.run(progress=False)
        key = first._run_key()
    (tmp_path / "out/shards").mkdir(parents=True)
    for k in (1, 2):  # both hold everything
        with closing(Store(tmp_path / f"out/shards/{k}.sqlite")) as shard:
            shard.merge(tmp_path / "first/store.sqlite")
            shard.note_spent(key, 0.25)
    (tmp_path / "out/run.json").write_bytes((tmp_path / "first/run.json").read_bytes())
    asked = len(loopback.completions)
    with study(loopback, tmp_path / "out") as again:
        assert again.run(progress=False).manifest["spent_usd"] == 0.5
    assert len(loopback.completions) == asked
    assert not (tmp_path / "out/shards").exists()
    same_numbers(tmp_path / "out", tmp_path / "first")


def test_a_store_that_a_worker_still_writes_into_is_left(
    loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers outlive a driver that is killed by some seconds."""
    monkeypatch.setattr(sharding, "_FREE_S", 0.0)
    (tmp_path / "shards").mkdir()
    with closing(Store(tmp_path / "shards/1.sqlite")) as shard, closing(Store(tmp_path / "store.sqlite")) as store:
        shard.put(IDENTITY, request(), [completion(request(), 0)])
        session = SimpleNamespace(store=store, models=())
        with pytest.raises(Stopped, match=r"still writes into .*1\.sqlite; run the same again later"):
            sharding.gather(tmp_path, session, "key")
        shard.close()
        sharding.gather(tmp_path, session, "key")
        assert store.count() == 1
    assert not (tmp_path / "shards").exists()


def test_one_budget_holds_over_all_shards(
    ray: Any, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one shard does not need goes to the other, so that the whole is used; and not more than the whole."""
    monkeypatch.setattr(sharding, "_POLL_S", 0.02)
    with study(loopback, tmp_path / "out", budget_usd=0.03) as sharded:
        with pytest.raises(Stopped) as stopped:
            sharded.run(progress=False, ray="local", shards=2)
        spent = sharded._budget.spent_usd
    (worst,) = map(float, re.findall(r"next call's worst case \(\$([\d.]+);", str(stopped.value)))
    assert worst > 0.03 / 2  # which no shard has where each has a half
    assert 0.03 - worst < spent <= 0.03
    counts = json.loads((tmp_path / "out/run.json").read_text())["counts"]
    asked = len(loopback.completions)
    assert asked > 20
    assert counts["calls_paid"] == counts["completions_in_store"] >= asked


def test_a_part_of_a_budget_waits_for_more() -> None:
    async def used() -> list[float]:
        share, seen = Share(1.0), []
        await share.reserve(0.6)
        waiting = asyncio.create_task(share.reserve(0.6))
        await asyncio.sleep(0)
        seen.append(share.lacking)
        share.divide(0.1, False)  # no less than is committed
        seen.append(share.limit_usd)
        share.divide(1.2, False)
        await waiting
        seen.append(share.committed)
        share.settle(0.6, 0.1)
        share.settle(0.6, 0.1)
        share.divide(0.3, True)
        with pytest.raises(BudgetExhausted):
            await share.reserve(0.2)
        return seen

    assert asyncio.run(used()) == pytest.approx([0.6, 0.6, 1.2])


def test_slots_are_held_back(loopback: Loopback) -> None:
    """Free ones at once, one in use when it is free; and given back."""

    async def held() -> list[int]:
        model = OpenAIChat("test", base_url=loopback.openai_url, concurrency=4)
        seen = [await model.hold_back(3)]
        asking = [asyncio.create_task(model.complete(request(f"When {k}?"))) for k in range(3)]
        await asyncio.gather(*asking)
        seen += [loopback.most_in_flight, await model.hold_back(4)]
        waiting = asyncio.create_task(model.complete(request("When?")))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(waiting), 0.05)
        seen.append(await model.hold_back(0))
        await waiting
        await model.aclose()
        return seen

    assert asyncio.run(held()) == [3, 1, 4, 0]


@pytest.mark.parametrize(
    ("shards", "address", "sentence"),
    [
        (0, "local", r"--shards is 0; expected 1 to 4: a question is in one of them"),
        (5, "local", r"--shards is 5; expected 1 to 4"),
        (None, "hello", r"--ray is 'hello'; expected local, auto or HOST:PORT"),
        (None, "ray://head:10001", r"--ray is 'ray://head:10001'; expected"),
        (None, "127.0.0.1:1", r"no Ray answers at 127\.0\.0\.1:1; expected"),
        (None, "nowhere.invalid:6379", r"no Ray answers at nowhere\.invalid:6379"),
        (None, "127.0.0.1:99999", r"no Ray answers at"),
        (None, "WEB", r"no Ray answers at"),
    ],
)
def test_bad_input_is_said_at_once(
    ray: Any,
    loopback: Loopback,
    tmp_path: Path,
    srdcr: Srdcr,
    monkeypatch: pytest.MonkeyPatch,
    shards: int | None,
    address: str,
    sentence: str,
) -> None:
    if address != "local":
        monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(sharding, "_ANSWER_S", 1.0)
    address = f"127.0.0.1:{loopback.port}" if address == "WEB" else address
    more = ["--shards", shards] if shards is not None else []
    command = ["run", "--model", "openai:test", "--base-url", loopback.openai_url, "--items", "facts:testbed"]
    command += ["--limit", 8, "--samples", 0, "--ray", address, *more, "--out", tmp_path / "out"]
    ended = srdcr(*command)
    assert ended.code == 2
    assert re.search(sentence, ended.sentence), ended.err
    assert not (tmp_path / "out").exists()


def test_without_the_package_ray(loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharding, "find_spec", lambda _: None)
    with study(loopback, tmp_path / "out") as sharded, pytest.raises(BadInput, match=r"pip install 'srdcr-lab\[ray\]'"):
        sharded.run(progress=False, ray="local")


def test_batches_and_workers_are_not_for_one_run(loopback: Loopback, tmp_path: Path) -> None:
    with study(loopback, tmp_path / "out", batch=True) as batched, pytest.raises(BadInput, match="leave --ray out"):
        batched.run(progress=False, ray="local")


@pytest.mark.parametrize("out", [True, False])
def test_shards_are_for_ray_and_for_a_folder(loopback: Loopback, tmp_path: Path, out: bool) -> None:
    given: dict[str, Any] = {"shards": 2} if out else {"ray": "local"}
    with study(loopback, tmp_path / "out" if out else None) as sharded, pytest.raises(BadInput, match="give both ray"):
        sharded.run(progress=False, **given)
    assert not loopback.completions


def test_other_versions_on_a_worker(
    ray: Any, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "9.9" if name == "srdcr-lab" else installed(name))
    with (
        study(loopback, tmp_path / "out") as sharded,
        pytest.raises(BadInput, match=r"srdcr-lab is 9\.9 here and .* on the node .*; install the same there"),
    ):
        sharded.run(progress=False, ray="local")
    assert not loopback.completions


def test_a_worker_that_would_ask_elsewhere(
    ray: Any, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its environment may name another server, another price, or its files be those of another model."""
    monkeypatch.setenv("SRDCR_PRICES", "")
    with (
        study(loopback, tmp_path / "out") as sharded,
        pytest.raises(BadInput, match=r"prices.openai:test is null here and \[1e-06, 2e-06\] on a worker"),
    ):
        sharded.run(progress=False, ray="local", shards=2)
    assert not loopback.completions


def test_a_model_that_no_worker_can_be_given(ray: Any, tmp_path: Path) -> None:
    model = ScriptedModel()
    model.gate = threading.Lock()  # type: ignore[assignment]
    with (
        Study(model, "facts:testbed", "few_shot", limit=2, samples=0, out=tmp_path / "out") as sharded,
        pytest.raises(BadInput, match="give them by their specification"),
    ):
        sharded.run(progress=False, ray="local")
