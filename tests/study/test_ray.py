"""Shards on Ray: the tables of a run without it, workers that die, runs that are stopped, one budget, bad input.

One cluster of this machine serves the whole file. Without the package ray its tests are skipped, and fail where the
variable CI is set.
"""

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from srdcr_lab.models.store import Store
from srdcr_lab.records import BadInput, Stopped
from srdcr_lab.study import Study, cluster
from tests.conftest import Srdcr
from tests.doubles import IDENTITY, ScriptedModel, completion, request
from tests.loopback.fixture import priced
from tests.loopback.server import Loopback
from tests.scripted import finished
from tests.study.test_resume import kept, same_numbers

pytestmark = pytest.mark.ray
CONCURRENCY = 8


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package, connected to a cluster of this machine, whose workers know what a token costs."""
    if find_spec("ray") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs: pip install ray (80 MB)")
    with pytest.MonkeyPatch.context() as patch:
        priced(patch, tmp_path_factory.mktemp("prices"), "test,1,2")
        with ExitStack() as stack:
            for attempt in range(3):  # Ray gives itself 30 seconds to start, which a busy machine may exceed
                with suppress(*[BadInput] * (attempt < 2)):
                    yield stack.enter_context(cluster.connected("local"))
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
def test_tables_are_those_of_a_run_without_ray(
    ray: Any, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool, design: str
) -> None:
    """Also those of a method that waits for every item, of debates over another item, which is in another shard, and
    of shards on another node, which bring their stores whole."""
    if elsewhere:  # the driver takes itself for another node than the workers'
        monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "elsewhere"))
        nodes = ray.nodes()
        monkeypatch.setattr(ray, "nodes", lambda: nodes * 2)
    methods = "few_shot,sr_dcr,calibrated_token_probability"
    finished(study(loopback, tmp_path / "ray", "few_shot", design=design))  # whose store the shards look into
    store = tmp_path / "ray/store.sqlite"
    before = len(loopback.completions)
    with study(loopback, tmp_path / "sharded", methods, design=design, store=store) as sharded:
        results = sharded.run(progress=False, ray="local", shards=2)
    assert results.manifest["status"] == "done"
    assert loopback.most_in_flight <= CONCURRENCY
    if design == "acvd":  # of a placebo's other items two shards ask the same
        assert asked_again(loopback) == 0
    assert len(loopback.completions) > before
    assert not (tmp_path / "sharded/shards").exists()
    finished(study(loopback, tmp_path / "alone", methods, design=design))
    same_numbers(tmp_path / "sharded", tmp_path / "alone")


def test_a_worker_that_dies_is_started_again(ray: Any, loopback: Loopback, tmp_path: Path) -> None:
    """By Ray; it asks again for what was in flight alone."""
    loopback.behaviour.latency_s = 0.03
    with study(loopback, tmp_path / "ray") as sharded:
        killer = threading.Thread(target=_kill_one_worker, args=(loopback,))
        killer.start()
        results = sharded.run(progress=False, ray="local", shards=2)
        killer.join()
    assert results.manifest["status"] == "done"
    assert results.records["error"].isna().all()
    assert asked_again(loopback) <= CONCURRENCY


def test_a_worker_that_dies_elsewhere_does_not_spend_its_share_twice(
    ray: Any, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its store is lost with its node, so its whole share counts as spent; the other shard's store is merged."""
    monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "elsewhere"))
    loopback.behaviour.latency_s = 0.03
    with study(loopback, tmp_path / "ray", budget_usd=1.0) as sharded:
        killer = threading.Thread(target=_kill_one_worker, args=(loopback,))
        killer.start()
        with pytest.raises(Stopped, match=r"its \$0\.5000 count as spent; run the same command again"):
            sharded.run(progress=False, ray="local", shards=2)
        killer.join()
        assert 0.5 < sharded._budget.spent_usd < 0.6
    results = finished(study(loopback, tmp_path / "ray", budget_usd=1.0))
    assert results.manifest["status"] == "done"
    assert 0.5 < results.manifest["spent_usd"] < 0.7


def _kill_one_worker(server: Loopback) -> None:
    import psutil

    while len(server.completions) < 15:
        time.sleep(0.02)
    server.behaviour.latency_s = 2.0  # so that no shard ends before
    workers = (each for each in psutil.process_iter(["cmdline"]) if "ray::_Worker.ask" in " ".join(each.cmdline()))
    next(workers).kill()
    server.behaviour.latency_s = 0.0


def test_an_interrupted_run_goes_on_without_ray(ray: Any, loopback: Loopback, tmp_path: Path) -> None:
    loopback.behaviour.latency_s = 0.05

    def interrupt() -> None:
        while len(loopback.completions) < 20:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with study(loopback, tmp_path / "out") as sharded, pytest.raises(Stopped, match="run the same command again"):
        sharded.run(progress=False, ray="local", shards=2)
    assert kept(tmp_path / "out", "requests") >= len({asked.key for asked in loopback.completions}) - CONCURRENCY
    loopback.behaviour.latency_s = 0.0
    results = finished(study(loopback, tmp_path / "out"))
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
    assert finished(study(loopback, tmp_path / "out")).manifest["spent_usd"] == 0.5
    assert len(loopback.completions) == asked
    assert not (tmp_path / "out/shards").exists()
    same_numbers(tmp_path / "out", tmp_path / "first")


def test_a_store_that_a_worker_still_writes_into_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers outlive a driver that is killed by some seconds."""
    monkeypatch.setattr(cluster, "_ANSWER_S", 0.0)
    (tmp_path / "shards").mkdir()
    with closing(Store(tmp_path / "shards/1.sqlite")) as shard, closing(Store(tmp_path / "store.sqlite")) as store:
        shard.put(IDENTITY, request(), [completion(request(), 0)])
        shard.note_spent("key", 0.25)
        session = SimpleNamespace(store=store, models=())
        with pytest.raises(Stopped, match=r"still writes into .*1\.sqlite; run the same command again later"):
            cluster.gather(tmp_path, session, "key")
        shard.close()
        with monkeypatch.context() as killed:
            killed.setattr(Path, "unlink", None)
            with pytest.raises(TypeError):  # between merging it and removing it
                cluster.gather(tmp_path, session, "key")
        cluster.gather(tmp_path, session, "key")
        assert (store.count(), store.spent("key")) == (1, 0.25)
    assert not (tmp_path / "shards").exists()


def test_a_shard_that_opens_no_store_and_one_that_closes_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = SimpleNamespace(get_node_id=lambda: "elsewhere")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: node))
    content, _, failure = cluster._ask_shard((Study, {}, [], None, "key", {}), Path(), "here", None)
    assert content is None
    assert "cannot open the store" in str(failure)
    shard = cluster._ShardStore(tmp_path / "1.sqlite", tmp_path / "earlier.sqlite")
    shard.close()
    with pytest.raises(Stopped, match="closed"):
        shard._earlier.count()


def test_one_budget_holds_over_all_shards(ray: Any, loopback: Loopback, tmp_path: Path) -> None:
    """Each shard has an equal part; what they leave, the run that follows uses, and not more than the whole."""
    with study(loopback, tmp_path / "out", budget_usd=0.03, limit=24) as sharded:
        with pytest.raises(Stopped) as stopped:
            sharded.run(progress=False, ray="local", shards=2)
        spent = sharded._budget.spent_usd
    (worst,) = map(float, re.findall(r"next call's worst case \(\$([\d.]+);", str(stopped.value)))
    assert 0.03 - worst < spent <= 0.03
    counts = json.loads((tmp_path / "out/run.json").read_text())["counts"]
    assert counts["calls_paid"] == counts["completions_in_store"] >= len(loopback.completions) > 10


@pytest.mark.parametrize(("shards", "address", "sentence"), [
    (0, "local", r"--shards is 0; expected 1 to 4: a question is in one of them"),
    (5, "local", r"--shards is 5; expected 1 to 4"),
    (None, "hello", r"--ray is 'hello'; expected local, auto or HOST:PORT"),
    (None, "ray://head:10001", r"--ray is 'ray://head:10001'; expected"),
    (None, "127.0.0.1:1", r"no Ray answers at 127\.0\.0\.1:1; expected"),
    (None, "nowhere.invalid:6379", r"no Ray answers at nowhere\.invalid:6379"),
    (None, "127.0.0.1:99999", r"no Ray answers at"), (None, "WEB", r"no Ray answers at"),
])  # fmt: skip
def test_bad_input_is_said_at_once(
    ray: Any, loopback: Loopback, tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch, shards: int | None,
    address: str, sentence: str,
) -> None:  # fmt: skip
    if address != "local":
        monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(cluster, "_ANSWER_S", 1.0)
    address = f"127.0.0.1:{loopback.port}" if address == "WEB" else address
    more = ["--shards", shards] if shards is not None else []
    command = ["run", "--model", "openai:test", "--base-url", loopback.openai_url, "--items", "facts:testbed"]
    command += ["--limit", 8, "--samples", 0, "--ray", address, *more, "--out", tmp_path / "out"]
    ended = srdcr(*command)
    assert ended.code == 2
    assert re.search(sentence, ended.sentence), ended.err
    assert not (tmp_path / "out").exists()


def test_without_the_package_ray(loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with study(loopback, tmp_path / "out") as sharded, pytest.raises(BadInput, match=r"pip install -e '.\[ray\]'"):
        sharded.run(progress=False, ray="local")


@pytest.mark.parametrize(("out", "batch", "given", "said"), [
    ("out", True, {"ray": "local"}, "leave --ray out"), ("out", False, {"shards": 2}, "give both ray"),
    (None, False, {"ray": "local"}, "give both ray"),
])  # fmt: skip
def test_what_does_not_go_together(
    loopback: Loopback, tmp_path: Path, out: str | None, batch: bool, given: dict[str, Any], said: str
) -> None:
    with study(loopback, out and tmp_path / out, batch=batch) as sharded, pytest.raises(BadInput, match=said):
        sharded.run(progress=False, **given)
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
