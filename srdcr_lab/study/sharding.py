"""A study on many machines: its items in shards, each asked for by a Ray actor with a store of its own, then merged.

The driver splits the questions, so that every form of one is in one shard. Each worker goes through its items against
its store. The driver merges the stores into the run's, and the ordinary run makes the tables from there: they are those
of a run without Ray. A call that failed is asked again by that run.

A worker on the driver's machine writes into ``shards/K.sqlite`` of the results folder. One on another node writes into
a folder of its own, and each report brings the driver what is new for that same file. A worker that dies is started
again and finds what was kept. Whatever ends the driver, the next run, with Ray or without, merges what it finds.

No key travels through Ray, whose `runtime_env` is shown by its dashboard and logs: workers have theirs in their own
environment. Who can reach a cluster can run anything on it: https://docs.ray.io/en/latest/ray-security/index.html
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from srdcr_lab.data.items import grouped
from srdcr_lab.models import Store
from srdcr_lab.models.load import API
from srdcr_lab.protocols.choices import Hears
from srdcr_lab.records import BadInput, Item, SrdcrError, Stopped
from srdcr_lab.records.files import made
from srdcr_lab.study.manifest import differing, short, together
from srdcr_lab.study.opening import Session
from srdcr_lab.study.run import each_setup, progress_bar
from srdcr_lab.study.shards import NOTHING_YET, Report, Worker, fair_limits, fair_slots, told

_SHARDS = "shards"
_POLL_S, _ANSWER_S, _NODES_S, _FREE_S = 0.25, 5.0, 60.0, 30.0
_IN_FLIGHT = 32  # HTTP requests that one process sends with ease
_WORKERS = 4  # that one shard may have, each after the death of the one before
_ROUNDING = 1e-12
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # of HTTP/2, which Ray speaks
_EXPECTED = "expected local, auto or HOST:PORT of a cluster's head (its port is 6379 unless ray start said another)"


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The package ray, connected to the cluster at an address, or to one of this machine (``local``). Where this
    process has a connection, that is used.

    Raises `BadInput` where there is no Ray, or one of another version.
    """
    if find_spec("ray") is None:
        raise BadInput("--ray needs the package ray; install it with: pip install 'srdcr-lab[ray]'")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else Ray reports to its makers
    import ray

    if ray.is_initialized():
        yield ray
        return
    if address not in ("local", "auto"):
        _find(address, ray)
    before = signal.getsignal(signal.SIGTERM)
    alone: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address, log_to_driver=False, logging_level="error", **alone)
    except Exception as error:  # another version, nothing there, a machine too busy to start: Ray says it in many ways
        ray.shutdown()  # of what had started
        raise BadInput(f"--ray {address}: {' '.join(str(error).split())}") from None
    finally:
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, before)  # Ray has put its own
    try:
        yield ray
    finally:
        ray.shutdown()


def _find(address: str, ray: Any) -> None:
    """Raise `BadInput` where nothing answers as Ray does; Ray itself would wait for two minutes and end the process."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise BadInput(f"--ray is {address!r:.100}; {_EXPECTED}")
    host = ray.util.get_node_ip_address() if host in ("localhost", "127.0.0.1") else host  # as Ray does
    try:
        with socket.create_connection((host, int(port)), _ANSWER_S) as there:
            there.sendall(_HELLO)
            speaks = os.environ.get("RAY_USE_TLS") == "1" or there.recv(9)[3:4] == b"\x04"
    except (OSError, OverflowError):
        speaks = False
    if not speaks:
        raise BadInput(f"no Ray answers at {address}; {_EXPECTED}")


@dataclass
class _Shard:
    """What the driver knows of a shard; `slots` and `limit` are the most that its worker may use by now."""

    path: Path
    items: list[Item]
    slots: int = 0
    limit: float = 0.0
    report: Report = NOTHING_YET
    ended: bool = False


class Driver:
    """Has the shards of a `Study` asked for, and merges what they bring into its store."""

    def __init__(self, study: Any, given: dict[str, Any], folder: Path, run_key: str, ray: Any, n: int | None) -> None:
        self._study, self._given, self._folder, self._run_key, self._ray = study, given, folder, run_key, ray
        self._session, self._budget = study._opened(), study._budget
        self._store = self._session.store
        self.sent: Any = {}  # by all workers together
        self._before = self._budget.spent_usd
        if self._store.path == ":memory:":
            raise BadInput("--ray needs a store that is a file, which workers can read; leave the open store out")
        self._store.note_spent(run_key, self._before)
        _same_versions(ray)
        questions = list(grouped(study.items, lambda item: item.question_id).values())
        n = self._number(n, len(questions))
        parts = [[item for forms in questions[k::n] for item in forms] for k in range(n)]
        self._shards = [_Shard(folder / _SHARDS / f"{k}.sqlite", part) for k, part in enumerate(parts, start=1)]

    def _number(self, n: int | None, questions: int) -> int:
        """How many shards: the user's number, if there can be so many, or what suits the cluster."""
        offers = self._ray.cluster_resources()
        gpus, cpus, concurrency = int(offers.get("GPU", 0)), int(offers.get("CPU", 1)), self._given["concurrency"]
        runs_here = any(model.identity.provider not in API for model in self._study._everyone)
        if runs_here:
            most, why = gpus or cpus, f"a model that runs there takes a {'GPU' if gpus else 'CPU'} for each"
            self._threads, self._takes = max(1, cpus // (n or most)), {"num_gpus": 1} if gpus else {"num_cpus": 1}
            usual = most
        else:
            most, why = concurrency, "each has one request in flight at least (--concurrency)"
            self._threads, self._takes, usual = 0, {"num_cpus": 0}, min(cpus, -(-concurrency // _IN_FLIGHT))
        if questions < most:
            most, why = questions, "a question is in one of them"
        if n is not None and not 1 <= n <= most:
            raise BadInput(f"--shards is {n}; expected 1 to {most}: {why}")
        return n or max(1, min(usual, most))

    async def run(self, *, show: bool) -> None:
        """Ask for everything. However that ends, what came is merged."""
        made(self._folder / _SHARDS)
        counted, tasks = SimpleNamespace(served=0, budget=self._budget), []
        try:
            answers = len(self._study.items) * len(each_setup(self._study.methods, self._study.setup))
            with progress_bar(counted, answers, show=show) as bar:
                show_all = partial(self._show, bar, counted)
                tasks = [asyncio.create_task(self._attend(shard, show_all)) for shard in self._shards]
                await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            gather(self._folder, self._session, self._run_key, checked=all(shard.ended for shard in self._shards))
            self._budget.spent_usd = self._store.spent(self._run_key)

    async def _attend(self, shard: _Shard, show: Callable[[], None]) -> None:
        """Have a shard asked for, by another worker where one dies."""
        errors = self._ray.exceptions
        for worker in range(1, _WORKERS + 1):
            try:
                await self._asked(shard, show)
                return
            except errors.RayTaskError as error:
                raise (error.cause if isinstance(error.cause, SrdcrError) else error) from None
            except errors.RayActorError as error:
                if worker == _WORKERS:
                    raise Stopped(f"{_WORKERS} workers of one shard died ({error}); run the same again") from None
                gather(self._folder, self._session, self._run_key, only=shard.path)
                spent = self._store.spent(self._run_key)
                self._before, shard.slots, shard.limit, shard.report = spent, 0, 0.0, NOTHING_YET

    async def _asked(self, shard: _Shard, show: Callable[[], None]) -> None:
        ray, given = self._ray, self._given_to(shard)
        options = {"scheduling_strategy": "SPREAD", "max_restarts": 0, **self._takes}
        try:
            actor = ray.remote(Worker).options(**options).remote(type(self._study), given, shard.items, self._threads)
        except TypeError:  # no worker can be given it
            raise BadInput("--ray needs models that a worker can open: give them by their specification") from None
        asking = None
        try:
            earlier, copies = (Path(self._store.path).resolve(), []) if self._store.count() else (None, [])
            if earlier and len(ray.nodes()) > 1:
                with closing(sqlite3.connect(earlier)) as db:
                    copies = [ray.put(db.serialize())]
            node = ray.get_runtime_context().get_node_id()
            self._compare(await actor.open.remote(shard.path.resolve(), node, earlier, copies, self._run_key))
            await self._poll(actor, shard)
            asking = asyncio.ensure_future(_value(actor.ask.remote()))
            while not asking.done():
                await asyncio.wait([asking], timeout=_POLL_S)
                await self._poll(actor, shard)
                show()
            self.sent, shard.ended = together(self.sent, asking.result()), True
            await actor.close.remote()
        except asyncio.CancelledError:
            with suppress(ray.exceptions.RayError):
                await actor.stop.remote()
                if asking:
                    await asyncio.wait([asking])
                    await self._poll(actor, shard)
                await actor.close.remote()
            raise
        finally:
            ray.kill(actor)
            if asking:
                await asyncio.gather(asking, return_exceptions=True)

    def _given_to(self, shard: _Shard) -> dict[str, Any]:
        """How its worker opens the study: on its items alone, unless a debate may be over another one."""
        items, study = self._study.items, self._study
        if not any(design.judge_hears is Hears.ANOTHER for design in study.choices.designs):
            items = replace(items, items=tuple(shard.items), notes=())
        methods = [method.name for method in study.methods if any(map(method.takes, items))]
        return {**self._given, "items": items, "methods": methods}

    def _compare(self, there: dict[str, Any]) -> None:
        for name, (here, other) in differing(told(self._study), there).items():
            raise BadInput(
                f"{name} is {short(here)} here and {short(other)} on a worker; files, environment and devices of the "
                "nodes have to be those of the machine that starts the run"
            )

    async def _poll(self, actor: Any, shard: _Shard) -> None:
        """Give a worker its part, hear what it uses, keep what it brings."""
        running = [each for each in self._shards if not each.ended]
        place, reports = running.index(shard), [each.report for each in running]
        whole = self._given["concurrency"]
        slots = fair_slots(whole, [report.wanted for report in reports])[place]
        slots = min(slots, shard.slots + whole - sum(each.slots for each in running))
        shard.slots = max(shard.slots, slots)
        limit, last = math.inf, False
        if self._budget.limit_usd is not None:
            ended = sum(each.report.spent for each in self._shards if each.ended)
            usd = self._budget.limit_usd - self._before - ended
            committed, lacking = [r.committed for r in reports], [r.lacking for r in reports]
            limit = fair_limits(usd, committed, lacking)[place]
            limit = min(limit, shard.limit + usd - sum(each.limit for each in running))
            shard.limit = max(shard.limit, limit)
            in_flight = sum(committed) - sum(report.spent for report in reports)
            least = min(filter(None, lacking), default=0.0)
            last = in_flight < _ROUNDING and least > usd - sum(committed) + _ROUNDING
        shard.report = report = await actor.report.remote(slots, limit, last)
        shard.slots, shard.limit = report.slots, report.limit
        if report.news:
            with closing(Store(shard.path)) as kept, kept.transaction():
                for what, *told_of in report.news:
                    getattr(kept, what)(*told_of)

    def _show(self, bar: Any, counted: Any) -> None:
        reports = [shard.report for shard in self._shards]
        self._budget.spent_usd = self._before + sum(report.spent for report in reports)
        counted.served = sum(report.served for report in reports)
        bar.update(sum(report.done for report in reports) - bar.n)


async def _value(reference: Any) -> Any:
    return await reference


def _same_versions(ray: Any) -> None:
    """Raise `BadInput` where a node has other versions than this process."""

    def versions() -> dict[str, str]:  # sent by its text, not by the name of a module that may be another one there
        from importlib.metadata import PackageNotFoundError, version
        from platform import python_version_tuple

        found = {"Python": ".".join(python_version_tuple()[:2])}
        for package in ("ray", "srdcr-lab"):
            found[package] = "not installed"
            with suppress(PackageNotFoundError):
                found[package] = version(package)
        return found

    task, affinity = ray.remote(num_cpus=0)(versions), ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    nodes = [node for node in ray.nodes() if node["Alive"]]
    asked = [task.options(scheduling_strategy=affinity(node["NodeID"], soft=False)).remote() for node in nodes]
    here = versions()
    for node, there in zip(nodes, ray.get(asked, timeout=_NODES_S), strict=True):
        for name, version in here.items():
            if there[name] != version:
                raise BadInput(
                    f"{name} is {version} here and {there[name]} on the node {node['NodeManagerHostname']}; install "
                    "the same there"
                )


def gather(folder: Path, session: Session, run_key: str, *, only: Path | None = None, checked: bool = False) -> None:
    """Merge the stores of shards into that of the run, what they have spent too; each is removed once that is kept.

    The rows of this run are charged for what the shards paid. `checked`: their workers have read every row.
    """
    store = session.store
    for path in [only] if only else sorted((folder / _SHARDS).glob("*.sqlite")):
        if path.exists():
            _wait_until_free(path)
            with store.transaction(), closing(Store(path)) as shard:
                if checked:
                    store.take(shard)
                else:
                    store.merge(path)
                store.note_spent(run_key, store.spent(run_key) + shard.spent(run_key))
                for model in session.models:
                    places = shard.places(model.identity.key)
                    model.bought |= places
                    model.paid += len(places)
            for end in ("", "-wal", "-shm"):
                Path(f"{path}{end}").unlink(missing_ok=True)
    if not only:
        with suppress(OSError):  # there is none
            (folder / _SHARDS).rmdir()


def _wait_until_free(path: Path) -> None:
    """Workers outlive a driver that is killed by some seconds. Raises `Stopped` where one does by half a minute."""
    until = time.monotonic() + _FREE_S
    with closing(sqlite3.connect(path, timeout=0)) as db:
        while True:
            try:
                db.execute("PRAGMA journal_mode=DELETE")  # takes the file for itself alone
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):  # which is said where it is opened as a store
                    return
            except sqlite3.DatabaseError:
                return
            if time.monotonic() > until:
                raise Stopped(f"a worker of a run that was killed still writes into {path}; run the same again later")
            time.sleep(_POLL_S)
