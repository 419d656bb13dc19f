"""From a specification such as ``openai:gpt-4o`` to a model, and from a model to the price of its tokens.

A price comes from the user's own table, or from the package genai-prices; else it is unknown.
"""

from __future__ import annotations

import asyncio
import csv
import logging
import math
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from srdcr_lab.models.base import ChatModel
from srdcr_lab.records import BadInput, Capabilities, Completion, ModelIdentity, Request
from srdcr_lab.records.files import folder
from srdcr_lab.records.vocabulary import did_you_mean

SPECIFICATIONS = "pocket, hf:NAME_OR_PATH, gguf:FILE, gguf:smollm2, openai:NAME, anthropic:NAME (#label: of one server)"

# Providers asked over HTTP: the class of each, in the module of its name, which needs the SDK of that name.
API = {"openai": "OpenAIChat", "anthropic": "AnthropicChat"}
_PRICE_COLUMNS = ("model", "input_usd_per_million", "output_usd_per_million")


def model_of_spec(
    spec: str = "pocket", *, base_url: str | None = None, concurrency: int = 64, **options: Any
) -> ChatModel:
    """The model behind a specification.

    That is ``pocket`` (shipped, offline), ``hf:NAME`` or ``hf:PATH`` (safetensors, run here), ``gguf:FILE`` or
    ``gguf:smollm2`` (llama.cpp, here too), ``openai:NAME`` (also any compatible server) or ``anthropic:NAME``;
    ``#label`` at the end tells apart two servers that serve one name. `base_url` and `concurrency` are for APIs
    (`ApiChat`), `options` for the adapter, such as `LocalChat`: `reasoning` (none, low, medium, high) and `extra_body`
    (further fields of every request) for APIs and GGUF files.

    Raises
    ------
    BadInput
        Unknown specification, missing key, missing package, a folder without weights.
    """
    provider, _, rest = ("hf", "", "pocket") if spec == "pocket" else spec.partition(":")
    name, _, label = rest.partition("#")
    if provider not in ("hf", "gguf", *API) or not name:
        raise BadInput(f"unknown model {spec!r:.100}; expected {SPECIFICATIONS}{_meant(spec)}")
    if provider == "gguf":
        from srdcr_lab.models.base import settings_of

        gguf = import_module("srdcr_lab.models.gguf")
        identity = gguf.gguf_identity(name, label, settings_of(options.get("reasoning"), options.get("extra_body")))
        return Local(identity, lambda: gguf.GgufChat(name, identity, **options))
    for package in ("torch", "transformers") if provider == "hf" else (provider,):
        if find_spec(package) is None:
            extra = "local" if provider == "hf" else provider
            raise BadInput(
                f"the model {spec} needs the package {package}; install it with: pip install 'srdcr-lab[{extra}]'"
            )
    if provider == "hf":
        if told := [f"--{name.replace('_', '-')}" for name in ("reasoning", "extra_body") if options.pop(name, None)]:
            raise BadInput(f"{told[0]} is for a model behind a server, not for {spec}; name a role: {told[0]} judge=…")
        from srdcr_lab.models.checkpoint import identity_of, number_type

        place = str(folder("pocket")) if spec == "pocket" else name
        dtype = number_type(place, **{each: options[each] for each in ("device", "dtype") if each in options})
        named = {"provider": "pocket", "name": "pocket"} if spec == "pocket" else {"label": label}
        identity, chat = identity_of(place, dtype=dtype, **named), "srdcr_lab.models.local"
        return Local(identity, lambda: import_module(chat).LocalChat(place, identity=identity, **options))
    adapter = getattr(import_module(f"srdcr_lab.models.{provider}"), API[provider])
    model: ChatModel = adapter(name, label=label, base_url=base_url, concurrency=concurrency, **options)
    return model


def _meant(spec: str) -> str:
    """The specification that a wrong one may stand for: its provider misspelt, or left out before a known name."""
    from genai_prices import Usage, calc_price

    _, colon, name = spec.partition(":")
    if not colon:
        with suppress(LookupError):
            known = calc_price(Usage(), model_ref=spec).provider.id
            return f" (did you mean {known}:{spec}?)" if known in API else ""
    return did_you_mean(spec, ["pocket", *(f"{known}:{name}" for known in ("hf", "gguf", *API) if name)])


class Local:
    """A model that runs here (`LocalChat`, `GgufChat`), whose weights are read when it is first asked, or checked.

    Who it is stands in its files, and in the type that weights run here compute in: a plan, a refusal and a run offline
    need no weights, and torch only where that type is measured. Closed, it holds them no longer.
    """

    def __init__(self, identity: ModelIdentity, read: Callable[[], ChatModel]) -> None:
        self.identity, self.capabilities = identity, Capabilities(logprobs=True)
        self.draws_per_request: int | None = None
        self.context_tokens: int | None = None
        self._read, self._reading = read, threading.Lock()
        self._chat: ChatModel | None = None

    async def check(self) -> None:
        """Read the weights, once. Raises `BadInput` where they cannot be read, or lack what decoding needs."""
        if self._chat is None:
            await asyncio.to_thread(self._opened)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        await self.check()
        return await self._opened().complete(request)

    def sent(self) -> dict[str, Any]:
        told: dict[str, Any] = getattr(self._chat, "sent", dict)()
        return told

    async def aclose(self) -> None:
        chat, self._chat = self._chat, None
        if chat:
            await chat.aclose()

    def _opened(self) -> ChatModel:
        with self._reading:
            if self._chat is None:
                self._chat = self._read()
                self.capabilities = self._chat.capabilities
                self.draws_per_request = getattr(self._chat, "draws_per_request", None)
                self.context_tokens = getattr(self._chat, "context_tokens", None)
            return self._chat


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token, and where the figure comes from."""

    input_usd: float
    output_usd: float
    source: str

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return prompt_tokens * self.input_usd + completion_tokens * self.output_usd

    def cost_of(self, completions: Sequence[Completion]) -> float:
        return sum(self.cost(completion.prompt_tokens, completion.completion_tokens) for completion in completions)

    def in_a_batch(self) -> Price:
        """What tokens cost in a provider's batch: half, of prompts and of completions (`api.Batches`)."""
        return Price(self.input_usd / 2, self.output_usd / 2, f"{self.source}, half in a batch")


FREE = Price(0.0, 0.0, "local model")


def price_of(model: ModelIdentity) -> Price | None:
    """The price of a model's tokens, or None where it is unknown.

    The environment variable SRDCR_PRICES may name a CSV with the columns ``model`` (as in ``--model``, or without the
    provider), ``input_usd_per_million`` and ``output_usd_per_million``, which goes before the prices of genai-prices.
    """
    table = os.environ.get("SRDCR_PRICES")
    own = _price_table(Path(table)) if table else {}
    if price := own.get(model.spec) or own.get(model.name):
        return price
    if model.provider not in API:
        return FREE
    from importlib.metadata import version

    from genai_prices import Usage, calc_price

    # Priced at one token, where prices that rise with the length of the prompt are at their base.
    one_token = (Usage(input_tokens=1, output_tokens=0), Usage(input_tokens=0, output_tokens=1))
    try:
        prompt, completion = (
            float(calc_price(usage, model_ref=model.name, provider_id=model.provider).total_price)
            for usage in one_token
        )
    except LookupError:
        _say_once(f"{no_price(model)}; without it costs are unknown")
        return None
    return Price(prompt, completion, f"genai-prices {version('genai-prices')}")


def no_price(model: ModelIdentity) -> str:
    """The beginning of a sentence: what is missing, and what to do."""
    columns, spec = ", ".join(_PRICE_COLUMNS), model.spec
    return f"no price is known for {spec}: put it into a CSV with the columns {columns} and name it in SRDCR_PRICES"


_say_once = cache(logging.getLogger(__name__).warning)


def _price_table(path: Path) -> dict[str, Price]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the price table {path} ({error})") from None
    if rows and (absent := [column for column in _PRICE_COLUMNS if column not in rows[0]]):
        raise BadInput(f"{path}: the price table lacks the column {absent[0]}; it needs {', '.join(_PRICE_COLUMNS)}")
    prices = {}
    for number, row in enumerate(rows, start=1):
        try:
            prompt, completion = (float(row[column]) / 1e6 for column in _PRICE_COLUMNS[1:])
        except (TypeError, ValueError):
            prompt = completion = math.nan
        if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
            raise BadInput(f"{path}, row {number}: prices are US dollars per million tokens, 0 or more")
        prices[row["model"]] = Price(prompt, completion, path.name)
    return prices
