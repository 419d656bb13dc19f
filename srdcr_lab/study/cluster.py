"""A study on many machines: its items are split into shards, each asked by one worker of Ray with its own store,
then merged.

Questions are split so that all forms of one are in one shard; concurrency and budget are divided evenly beforehand. The
ordinary run follows: it merges the stores, asks for what is still missing (failed calls and, with the rest of the
budget, what a shard could not pay), and writes the tables.

If a worker dies, Ray runs it again, except under a budget: what it had spent may be lost with its node. Its share then
counts as spent unless its store says how much it was; the other shards end, and the same command resumes.

A worker on this machine writes into ``shards/K.sqlite`` of the results folder, so nothing is lost when a run stops. One
on another node keeps its store there until it ends, and then returns it whole.

No key travels through Ray, whose dashboard and logs show the arguments of tasks: workers read keys from their own
environment. Anyone who can reach a cluster can run code on it: https://docs.ray.io/en/latest/ray-security/index.html
"""

import os
import signal
import socket
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from platform import python_version_tuple
from typing import Any

from srdcr_lab.data.items import grouped
from srdcr_lab.models import Store
from srdcr_lab.models.base import API
from srdcr_lab.models.spending import price_of
from srdcr_lab.protocols.choices import Hears
from srdcr_lab.records import BadInput, BudgetExhausted, Completion, Item, ModelIdentity, Request, SrdcrError, Stopped
from srdcr_lab.records.files import made
from srdcr_lab.records.vocabulary import must_have
from srdcr_lab.study.asking import Session
from srdcr_lab.study.results import asked_differently, sent_together, short, versions_of
from srdcr_lab.study.run import run_items, wait_for

SHARDS = "shards"  # the folder of their stores, in a results folder
_ANSWER_S = 5.0
_IN_FLIGHT = 32  # HTTP requests that one process sends with ease
_RETRIES = 3  # of a worker that died
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # of HTTP/2, which Ray speaks
_EXPECTED = "expected local, auto or HOST:PORT of a cluster's head (its port is 6379 unless ray start said another)"


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The package ray, connected to the cluster at an address, or to one on this machine (``local``). An existing
    connection of this process is used.

    Raises `BadInput` if there is no Ray, or another version.
    """
    must_have("ray", "--ray", "ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else Ray reports to its makers
    import ray

    if ray.is_initialized():
        yield ray
        return
    if address not in ("local", "auto"):
        _check_address(address, ray)
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


def _check_address(address: str, ray: Any) -> None:
    """Raise `BadInput` if nothing there answers like Ray; Ray itself would wait for two minutes and end the process."""
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


def ask_in_shards(study: Any, folder: Path, ray: Any, n: int | None) -> dict[str, Any]:
    """Let workers that open an equal `Study` ask for its items, and merge their stores into the study's. Returns what
    the workers sent, together.
    """
    session, run_key = study._opened(), study._run_key()
    if session.store.path == ":memory:":
        raise BadInput("--ray needs a store that is a file, which workers can read; leave the open store out")
    questions = list(grouped(study.items, lambda item: item.question_id).values())
    n, takes = _division(study, ray, n, len(questions))
    budget = study._budget
    left = None if budget.limit_usd is None else max(budget.limit_usd - budget.spent_usd, 0.0) / n
    asking = replace(study.asking, concurrency=max(1, study.asking.concurrency // n), budget_usd=None)
    how = {"model": study.model, "asking": asking, "preset": study.choices, "prompts": study.prompts.own}
    how["seed"] = study.seed
    about_another = any(design.judge_hears is Hears.ANOTHER for design in study.choices.designs)  # of any shard
    earlier = Path(session.store.path).resolve() if session.store.count() else None
    if earlier and len(ray.nodes()) > 1:
        with closing(sqlite3.connect(earlier)) as db:
            earlier = ray.put(db.serialize())
    made(folder / SHARDS)
    paths = [(folder / SHARDS).resolve() / f"{k}.sqlite" for k in range(1, n + 1)]
    node = ray.get_runtime_context().get_node_id()
    sent: dict[str, Any] = {}
    options = {"scheduling_strategy": "SPREAD", **takes}
    options |= dict.fromkeys(("max_restarts", "max_task_retries"), _RETRIES if left is None else 0)
    workers, parts = ray.remote(_Worker).options(**options), {}
    failures: list[SrdcrError] = []
    lost = "" if left is None else f"; where nobody knows what it spent, its ${left:.4f} count as spent"
    try:
        for k, path in enumerate(paths):
            session.store.note_spent(f"{run_key} {path}", 0.0)  # what `gather` has counted of it
            items = [item for forms in questions[k::n] for item in forms]
            known = study.items if about_another else replace(study.items, items=tuple(items), notes=())
            if not (methods := [method.name for method in study.methods if any(map(method.takes, known))]):
                continue  # rows of these questions only say why
            given = how | {"items": known, "methods": methods}
            shard = (type(study), given, items, left, run_key, same_everywhere(study))
            if left is not None:
                with closing(Store(path)) as reserved:  # until the worker says what it has spent
                    reserved.note_spent(run_key, left)
            try:
                worker = workers.remote()
                parts[worker.ask.remote(shard, path, node, earlier)] = path, worker
            except TypeError:  # no worker can be given it
                path.unlink(missing_ok=True)
                raise BadInput("--ray needs models that a worker can open: give them by their specification") from None
        while waiting := [*parts]:
            (ended,), _ = ray.wait(waiting)
            path, _ = parts.pop(ended)
            try:
                content, of_shard, failure = ray.get(ended)
            except ray.exceptions.RayTaskError:  # an error of ours
                raise
            except ray.exceptions.RayError as error:  # the other shards go on: what they receive is paid for
                remedy = "run the same command again to resume"
                failures.append(Stopped(f"the worker of a shard died ({error}){lost}; {remedy}"))
                continue
            if content is not None:
                path.write_bytes(content)
            failures = [failure, *failures] if failure else failures
            sent = sent_together(sent, of_shard)
    finally:
        for _, worker in parts.values():
            ray.kill(worker)
        if parts:
            ray.wait([*parts], num_returns=len(parts), timeout=_ANSWER_S)
        gather(folder, session, run_key)
        budget.spent_usd = max(budget.spent_usd, session.store.spent(run_key))
    if failures:
        raise failures[0]
    return sent


def _division(study: Any, ray: Any, n: int | None, questions: int) -> tuple[int, dict[str, Any]]:
    """The number of shards (the user's, if there can be so many, or what suits the cluster), and what each gets."""
    offers = ray.cluster_resources()
    gpus, cpus = int(offers.get("GPU", 0)), int(offers.get("CPU", 1))
    if any(model.identity.provider not in API for model in study._everyone):
        most, why = gpus or cpus, f"a model that runs there takes a {'GPU' if gpus else 'CPU'} for each"
        usual, threads = most, str(max(1, cpus // (n or most)))
        takes = {"num_gpus" if gpus else "num_cpus": 1, "runtime_env": {"env_vars": {"OMP_NUM_THREADS": threads}}}
    else:
        most, why = study.asking.concurrency, "each has one request in flight at least (--concurrency)"
        usual, takes = min(cpus, -(-study.asking.concurrency // _IN_FLIGHT)), {"num_cpus": 0}
    if questions < most:
        most, why = questions, "a question is in one of them"
    if n is not None and not 1 <= n <= most:
        raise BadInput(f"--shards is {n}; expected 1 to {most}: {why}")
    return n or max(1, min(usual, most)), takes


def _ask_shard(
    shard: Any, path: Path, node: str, earlier: Any
) -> tuple[bytes | None, dict[str, Any], SrdcrError | None]:
    """Ask for everything that a shard's items need. Returns its store (None if it is in the run's folder,
    which a worker on another `node` does not have), what was sent, and the error that ended it. A failed call is left
    to the run that follows.
    """
    import ray

    opened, given, items, budget_usd, run_key, there = shard
    elsewhere = ray.get_runtime_context().get_node_id() != node
    sent, failure = {}, None
    with tempfile.TemporaryDirectory(prefix="srdcr-") as place:
        path = Path(place) / path.name if elsewhere else path
        if isinstance(earlier, bytes):
            (Path(place) / "earlier.sqlite").write_bytes(earlier)
            earlier = Path(place) / "earlier.sqlite"
        try:
            with closing(_ShardStore(path, earlier)) as store:
                if budget_usd is not None:
                    store.note_spent(run_key, 0.0)  # in place of what was reserved
                with opened(**given, store=store) as study:
                    for name, (here, other) in asked_differently(there, same_everywhere(study)).items():
                        raise BadInput(
                            f"{name} is {short(here)} here and {short(other)} on a worker; files, environment and "
                            "devices of the nodes have to be those of the machine that starts the run"
                        )
                    study._budget.limit_usd, study._budget.spent_usd = budget_usd, store.spent(run_key)
                    study._budget.on_spent = partial(store.note_spent, run_key)
                    wait_for(_ask_for(study, items))
                    sent = study._sent()
        except SrdcrError as error:
            failure = error
        return path.read_bytes() if elsewhere and path.is_file() else None, sent, failure


class _Worker:
    """An actor, since one can be killed at any time; Ray may abort the process that cancels a task as it ends."""

    ask = staticmethod(_ask_shard)


async def _ask_for(study: Any, items: Sequence[Item]) -> None:
    session = study._opened()
    try:
        await study._check()
        async with aclosing(run_items(study.setup, study.methods, on_done=lambda: None, items=items)) as run:
            async for _ in run:
                pass
    except SrdcrError as error:
        await session.landed()  # paid for
        if not isinstance(error, BudgetExhausted):  # which the run that follows says
            raise
    finally:
        await session.abandon()


class _ShardStore(Store):
    """A shard's store, which also reads from that of the run."""

    def __init__(self, path: Path, earlier: Path | None) -> None:
        super().__init__(path)
        self._earlier = Store(earlier or ":memory:")

    def close(self) -> None:
        self._earlier.close()
        super().close()

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        here = super().get(model, request)
        return here if len(here) == len(request.draws) else self._earlier.get(model, request) | here

    def recall(self, model: str, name: str) -> str | None:
        return super().recall(model, name) or self._earlier.recall(model, name)


def same_everywhere(study: Any) -> dict[str, Any]:
    """What has to be the same on every machine: versions, models, their addresses and prices, choices, prompts."""
    asked, models = study.asked(), {str(model.identity): model for model in study._everyone}
    prices = {name: price_of(model.identity) for name, model in models.items()}
    return {
        "versions": {"Python": ".".join(python_version_tuple()[:2]), **versions_of(("ray", "srdcr-lab"))},
        **{name: asked[name] for name in ("models", "choices", "prompts_sha256")},
        "addresses": {name: getattr(model, "address", "") for name, model in models.items()},
        "prices": {name: price and [price.input_usd, price.output_usd] for name, price in prices.items()},
    }


def gather(folder: Path, session: Session, run_key: str) -> None:
    """Merge the stores of shards, and what they have spent, into that of the run; each is removed once it is merged. If
    it could not be removed, and is merged again, nothing is counted twice.

    The rows of this run are charged for what the shards paid.
    """
    store = session.store
    for path in sorted((folder / SHARDS).glob("*.sqlite")):
        _check_free(path)
        with store.transaction(), closing(Store(path)) as shard:
            store.merge(path)
            spent, counted = shard.spent(run_key), f"{run_key} {path.resolve()}"
            store.note_spent(run_key, store.spent(run_key) + spent - store.spent(counted))
            store.note_spent(counted, spent)
            for model in session.models:
                places = shard.places(model.identity.key)
                model.bought |= dict.fromkeys(places, model.price)
                model.paid += len(places)
        path.unlink()
    with suppress(OSError):  # there is none
        (folder / SHARDS).rmdir()


def _check_free(path: Path) -> None:
    """Raise `Stopped` if a worker still writes after some seconds, by which workers outlive their driver."""
    until = time.monotonic() + _ANSWER_S
    with closing(sqlite3.connect(path)) as db:
        while True:
            try:
                db.execute("PRAGMA journal_mode=DELETE")  # takes the file for itself alone, or fails at once
                return
            except sqlite3.DatabaseError as error:
                if "locked" not in str(error):
                    return  # what it is, is said where it is opened as a store
                if time.monotonic() > until:
                    raise Stopped(f"a worker still writes into {path}; run the same command again later") from None
            time.sleep(0.1)
