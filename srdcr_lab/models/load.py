"""From a specification such as ``openai:gpt-4o`` to a model."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from srdcr_lab.models.base import API, ChatModel, settings_of
from srdcr_lab.records import BadInput, Capabilities, Completion, ModelIdentity, NotInStore, Request
from srdcr_lab.records.files import folder
from srdcr_lab.records.vocabulary import did_you_mean, must_have

SPECS = "pocket, hf:NAME_OR_PATH, gguf:FILE, gguf:smollm2, openai:NAME, anthropic:NAME (#label: for one of several)"
_OF_A_SERVER = ("base_url", "concurrency", "patience_s")


def model_of_spec(spec: str = "pocket", *, offline: bool = False, **options: Any) -> ChatModel:
    """The model behind a specification.

    That is ``pocket`` (shipped, offline), ``hf:NAME`` or ``hf:PATH`` (safetensors, run here), ``gguf:FILE`` or
    ``gguf:smollm2`` (llama.cpp, here too), ``openai:NAME`` (also any compatible server) or ``anthropic:NAME``;
    ``#label`` at the end tells apart two servers that serve one name. `base_url`, `concurrency` and `patience_s` are
    for APIs (`ApiChat`), `options` for the adapter, such as `LocalChat`: `reasoning` (a level of `ROOM`) and
    `extra_body` (further fields of every request) for APIs and GGUF files. With `offline` an API's model is never
    asked, which needs neither key nor package.

    Raises
    ------
    BadInput
        Unknown specification, missing key, missing package, a folder without weights.
    """
    provider, _, rest = ("hf", "", "pocket") if spec == "pocket" else spec.partition(":")
    name, _, label = rest.partition("#")
    if provider not in ("hf", "gguf", *API) or not name:
        raise BadInput(f"unknown model {spec!r:.100}; expected {SPECS}{_meant(spec)}")
    settings = partial(settings_of, options.get("reasoning"), options.get("extra_body"))
    if provider in API:
        adapter, logprobs, draws = API[provider]
        if offline:
            identity = ModelIdentity(provider, name, label, settings=settings())
            return AbsentModel(identity, Capabilities(logprobs=logprobs), draws)
        must_have(provider, f"the model {spec}", provider)
        model: ChatModel = getattr(import_module(f"srdcr_lab.models.{provider}"), adapter)(name, label=label, **options)
        return model
    options = {name: value for name, value in options.items() if name not in _OF_A_SERVER}
    if provider == "gguf":
        gguf = import_module("srdcr_lab.models.gguf")
        identity = gguf.gguf_identity(name, label, settings())
        return Local(identity, lambda: gguf.GgufChat(name, identity, **options))
    for package in ("torch", "transformers"):
        must_have(package, f"the model {spec}", "local")
    for option in ("reasoning", "extra_body"):
        if options.pop(option, None):
            flag = f"--{option.replace('_', '-')}"
            raise BadInput(f"{flag} is for a model behind a server, not for {spec}; name a role: {flag} judge=…")
    from srdcr_lab.models.checkpoint import identity_of, number_type

    place, named = name, {"label": label}
    if spec == "pocket":
        place, named = str(folder("pocket")), {"provider": "pocket", "name": "pocket"}
        options.setdefault("device", "cpu")  # on which its numbers were made, and on which it is fast enough
    dtype = number_type(place, **{each: options[each] for each in ("device", "dtype") if each in options})
    identity, chat = identity_of(place, dtype=dtype, **named), "srdcr_lab.models.local"
    read = lambda: import_module(chat).LocalChat(place, identity=identity, **options)  # noqa: E731
    return Local(identity, read, shipped=spec == "pocket")


@dataclass
class AbsentModel:
    """A model that is not there: who it is and what it can give. Its completions come from a store."""

    identity: ModelIdentity
    capabilities: Capabilities
    draws_per_request: int | None = None

    def leave_out(self, parameter: str) -> None:
        """An earlier run learned that the model refuses this parameter."""
        if hasattr(self.capabilities, parameter):
            self.capabilities = replace(self.capabilities, **{parameter: False})

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        raise NotInStore(f"offline, {self.identity} is not asked")

    async def aclose(self) -> None:
        """There is nothing to close."""


def _meant(spec: str) -> str:
    """The specification that a wrong one probably stands for: a misspelt provider, or a known name without one."""
    from genai_prices import Usage, calc_price

    _, colon, name = spec.partition(":")
    if not colon:
        with suppress(LookupError):
            known = calc_price(Usage(), model_ref=spec).provider.id
            return f" (did you mean {known}:{spec}?)" if known in API else ""
    return did_you_mean(spec, ["pocket", *(f"{known}:{name}" for known in ("hf", "gguf", *API) if name)])


class Local:
    """A model that runs here (`LocalChat`, `GgufChat`), whose weights are read when it is first asked, or checked.

    Its identity follows from its files and from the number type, so a plan, a refusal and an offline run need no
    weights. Once closed, it no longer holds them. A shipped model has no need of a check: its files have a manifest.
    """

    def __init__(self, identity: ModelIdentity, read: Callable[[], ChatModel], *, shipped: bool = False) -> None:
        self.identity, self.capabilities = identity, Capabilities(logprobs=True)
        self.draws_per_request: int | None = None
        self.context_tokens: int | None = None
        self._read, self._reading, self._shipped = read, threading.Lock(), shipped
        self._chat: ChatModel | None = None

    async def check(self) -> None:
        """Read the weights, once. Raises `BadInput` if they cannot be read, or lack what decoding needs."""
        if not self._shipped:
            await asyncio.to_thread(self._opened)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        if self._chat is None:
            await asyncio.to_thread(self._opened)
        return await self._opened().complete(request)

    def sent(self) -> dict[str, Any]:
        return dict(getattr(self._chat, "sent", dict)())

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
