"""A study in waves: all requests that protocols wait for are answered elsewhere at once, and their replies stored.

A wave is found by replay. The study runs against its store; a completion that the store lacks is noted, and that call
fails. Once the replies are there, the study runs again, until nothing is missing; then the ordinary run writes the
tables, from the store. Nothing is kept in memory between two waves, so a killed run resumes with the next one. A debate
of SR-DCR takes about as many waves as it has turns.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from srdcr_lab.models import Store
from srdcr_lab.models.base import API, held, received, redact
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.models.spending import Price, StoredModel
from srdcr_lab.models.store import Asked, as_file
from srdcr_lab.protocols import Method, Setup
from srdcr_lab.records import BadInput, BudgetExhausted, CallFailed, Item, ModelIdentity, Request
from srdcr_lab.records.files import read_json
from srdcr_lab.records.types import Place
from srdcr_lab.records.vocabulary import NEED_LOGPROBS, n_of, visible
from srdcr_lab.study.run import WINDOW, Probe, all_at_once, fill_probe, run_item

_TURNS = 64  # of the event loop, far more than a chain of tasks that end and begin takes to reach its next request
_DRAWS_A_LINE = "draws a line"  # the store's name for what srdcr requests --draws said
_LACKED: ContextVar[list[Request] | None] = ContextVar("lacked", default=None)  # by the item that is gone through
_LIVE: ContextVar[bool | None] = ContextVar("live", default=None)  # whether what is asked now waits for no wave

Work = Sequence[tuple[Item, Setup]]  # what is gone through: an item, and the setup of its repeat


class InWaves(StoredModel):
    """A `StoredModel` that notes, for the next wave, what the store lacks, and fails that call.

    A call fails only once every protocol waits, so that none beside it is cut off before it has asked. A model that
    runs here, where batches save nothing, answers as usual.
    """

    def __init__(self, *model_and_store: Any, **how: Any) -> None:
        super().__init__(*model_and_store, **how)
        self.wanted: dict[tuple[str, str], Request] = {}
        self.failed: dict[Place, str] = {}  # what a wave brought no reply to, and why
        self.arrived: dict[Place, Price | None] = {}  # in waves: the run that follows charges its rows for them
        self.stopped: BudgetExhausted | None = None  # no further wave is sent
        self.rest: Callable[[], Awaitable[None]] = partial(asyncio.sleep, 0)

    async def _from_model(self, request: Request) -> dict[int, Any]:
        if _LIVE.get() or self._offline or self.identity.provider not in API:
            return await super()._from_model(request)
        if reasons := [self.failed[place] for place in request.places.values() if place in self.failed]:
            raise CallFailed(reasons[0])
        if self.stopped:
            raise self.stopped
        place = request.digest, request.stream
        known = self.wanted.get(place, request)
        draws = tuple(sorted({*known.draws, *request.draws}))
        self.wanted[place] = replace(known, draws=draws, scored=known.scored or request.scored)
        if (lacked := _LACKED.get()) is not None:
            lacked.append(request)
        await self.rest()
        raise CallFailed(f"{self.identity}: the reply to this request is not in the store; run the same command again")

    async def ask(self, requests: Sequence[Request], tell: Callable[[str], None]) -> None:
        """Have these requests answered in batches; a failed one is not asked again by this object."""
        from srdcr_lab.models.batches import ask_batch  # which needs an SDK

        live = StoredModel(self.model, self.store, price=self.price, budget=self.budget)
        failed = await ask_batch(live, requests, tell=tell)
        in_a_batch = self.price and self.price.in_a_batch()
        for request in requests:
            here = self.store.get(self.identity, request)
            self.paid += len(here)
            for draw, place in request.places.items():
                if draw in here:
                    self.arrived[place] = live.bought.get(place, in_a_batch)
                else:
                    self.failed[place] = failed.get(place, f"{self.identity}: no reply came in its batch")

    def lines(self, requests: Sequence[Request], most_draws: int | None) -> Iterator[str]:
        """The requests as lines of OpenAI's batch files, each with at most this many draws, by default as many as
        before; the store records both.
        """
        if self.store.batches(self.identity.key):
            raise BadInput(f"batches of {self.identity} are under way; srdcr run --batch waits for them")
        api: Any = self.model
        known = self.store.recall(self.identity.key, _DRAWS_A_LINE)
        size = most_draws or (known and int(known)) or api.draws_per_request
        if most_draws:
            self.store.remember(self.identity.key, _DRAWS_A_LINE, str(most_draws))
        for request in requests:
            for start in range(0, len(request.draws), size):
                asked = Asked(self.identity.key, replace(request, draws=request.draws[start : start + size]))
                self.store.note_asked([asked])
                line = {"custom_id": asked.custom_id, "method": "POST", "url": "/v1/chat/completions"}
                yield json.dumps(line | {"body": api.worded(asked.request, asked.request.draws)}) + "\n"


class Waves:
    """Items that are run again and again; those that lack nothing are left out."""

    def __init__(self, models: Iterable[StoredModel], methods: Sequence[Method], work: Work) -> None:
        self.work, self._methods = work, methods
        self.models = [model for model in models if isinstance(model, InWaves)]
        self._resting: asyncio.Task[None] | None = None
        for model in self.models:
            model.rest = self._at_rest

    async def first_item(self) -> None:
        """With a confidence kind that a server may not give, the first item shows whether this one does. It is asked
        live, so bad input is known within seconds and before a wave is paid for.
        """
        item, setup = self.work[0]
        if setup.choices.confidence not in NEED_LOGPROBS:
            return
        with held(_LIVE, True):
            await fill_probe(Probe(), item, setup, self._methods)

    async def missing(self) -> dict[InWaves, list[Request]]:
        """The next wave: what each model is asked, each request once, with only the missing draws.

        Bad input is raised, as in a run.
        """
        lacking: list[tuple[Item, Setup]] = []
        todo = iter(self.work)

        async def go_through() -> None:
            for item, setup in todo:
                with held(_LACKED, []) as lacked:
                    await run_item(item, setup, self._methods)
                if lacked:
                    lacking.append((item, setup))

        for model in self.models:
            model.wanted = {}
        await all_at_once(go_through() for _ in self.work[:WINDOW])
        self.work = lacking
        return {model: list(model.wanted.values()) for model in self.models if model.wanted}

    async def _at_rest(self) -> None:
        """Wait until no protocol can go on: for some turns of the event loop nothing was requested or delivered, and
        models that run here have answered.
        """
        if self._resting is None or self._resting.done():
            self._resting = asyncio.create_task(self._until_quiet())
        await asyncio.shield(self._resting)

    async def _until_quiet(self) -> None:
        before, now = -1, 0
        while before != now:
            for model in self.models:
                await model.landed()
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            before, now = now, sum(model.served + len(model.wanted) for model in self.models)


async def ask_in_waves(waves: Waves, *, tell: Callable[[str], None]) -> None:
    """Have everything that the items need answered in batches, wave by wave, the models of a wave side by side.

    A request that failed is not asked again: its rows fail with its sentence. When the budget is used up, nothing more
    is sent, and whatever is still missing fails with that error.
    """
    try:
        await waves.first_item()
        for number in count(1):
            if not (wave := await waves.missing()):
                return
            for model, requests in wave.items():
                draws = sum(len(request.draws) for request in requests)
                asked = f"{n_of(len(requests), 'requests')} ({n_of(draws, 'draws')}) to {model.identity}"
                since = f"{datetime.now().astimezone():%Y-%m-%d %H:%M}"
                tell(f"wave {number}, for {n_of(len(waves.work), 'items')}: {asked}; waiting since {since}")
            await all_at_once(model.ask(requests, tell) for model, requests in wave.items())
    except BudgetExhausted as error:
        for model in waves.models:
            model.stopped = error
    finally:
        for model in waves.models:
            model.bought |= model.arrived
            model.arrived = {}  # a later run has not bought it


def adapter(model: ModelIdentity) -> Any:
    """The adapter of a model whose requests are only written and whose replies are only read, so that it needs no
    key.
    """
    return model_of_spec(model.spec, base_url="http://localhost", **json.loads(model.settings or "{}"))


def model_of_key(key: str) -> ModelIdentity:
    """The API model with this key in a store; its name may hold bars."""
    names, brace, settings = key.partition("|{")
    provider, _, rest = names.partition("|")
    name, _, label = rest.rpartition("|")
    return ModelIdentity(provider, name, label, settings=brace[1:] + settings)


class Imported(NamedTuple):
    """The result of a file of replies: numbers of completions, and of lines with fewer draws than requested; sentences
    about lines with an error, and about the replies.
    """

    added: int
    known: int
    short: int
    failed: list[str]
    notes: list[str]


async def import_replies(store: Store, path: Path) -> Imported:
    """Store the replies to what `InWaves.lines` asked: those of all lines, or none.

    Lines are those of OpenAI's batch API (https://developers.openai.com/api/docs/guides/batch) and of ``vllm
    run-batch``, where an error may be a text, and a failed line has no body
    (https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/run_batch.py). A line with an error is left
    for the next wave; of two replies to one line the first is kept. Bad input names the line that is not a reply, or a
    reply to something else.
    """
    from srdcr_lab.models.api import MOST_BYTES  # which needs an SDK's client

    readers: dict[str, Any] = {}  # `StoredModel` by the key of its model
    failed, read, short = [], 0, 0
    with store.transaction(), as_file(path, "file of replies").open("rb") as file:
        before = store.count()
        for number, line in enumerate(iter(lambda: file.readline(MOST_BYTES), b""), start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            asked, status, reply = _reply_of(line, where, store)
            if asked.model not in readers:
                readers[asked.model] = StoredModel(adapter(model_of_key(asked.model)), store)
            stored, request, why = readers[asked.model], asked.request, ""
            reader = stored.model
            try:  # a refusal teaches what is to be left out
                completions = reader.understood(status, reply, request, reader.worded(request, request.draws))
            except Exception as error:  # whatever a reply does to its reader
                if status == 200 and not isinstance(error, CallFailed):
                    raise BadInput(f"{where}: not a chat completion ({type(error).__name__}: {error})") from None
                completions, why = None, str(error) if status == 200 else ""
            if completions is None:
                stored.remember_model()
                failed.append(f"line {number}: {why or f'{status} {redact(visible(reply, 200))}'}")
                continue
            short += len(completions) < len(request.draws)
            read += len(completions)
            store.put(reader.identity, request, [*map(received, completions)])
            store.close_asked([asked], answered=True)
        notes = [note for stored in readers.values() for note in stored.model.sent()["notes"]]
        added = store.count() - before
        return Imported(added, read - added, short, failed, notes)


def _reply_of(line: bytes, where: str, store: Store) -> tuple[Asked, int, Any]:
    """What a line replies to, its status, and the reply's body, or an error in OpenAI's form."""
    record = read_json(line, where, "a line as OpenAI's batch API or vllm run-batch writes it")
    record = record if isinstance(record, dict) else {}
    custom_id, response, error = record.get("custom_id"), record.get("response"), record.get("error")
    asked = store.asked(custom_id) if isinstance(custom_id, str) else None
    if asked is None:
        wrote = f"srdcr requests wrote no line {custom_id!r:.70} for {store.path}"
        raise BadInput(f"{where}: {wrote}; give the replies to its own lines, or the store of the study that asked")
    response = response if isinstance(response, dict) else {}
    status, body = response.get("status_code", 200), response.get("body")
    if error or status != 200:
        failed = status if isinstance(status, int) and 400 <= status < 600 else 500
        return asked, failed, body if isinstance(body, dict) else {"error": error}
    name, said = model_of_key(asked.model).name, body.get("model") if isinstance(body, dict) else None
    if isinstance(said, str) and not re.fullmatch(rf"{re.escape(name)}(-[\d-]+)?", said):  # a date behind an alias
        raise BadInput(
            f"{where}: a reply of the model {said!r:.80}, and {name!r:.80} was asked; name the model in --model as the "
            "engine calls it, or let it serve under that name (vllm --served-model-name, llama-server --alias)"
        )
    return asked, status, body
