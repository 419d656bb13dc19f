"""From a specification such as ``openai:gpt-4o`` to a model."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from srdcr_lab.models.base import ChatModel
from srdcr_lab.records import BadInput

SPECIFICATIONS = "pocket, hf:NAME or hf:PATH, openai:NAME, anthropic:NAME (add #label where one name means two servers)"
_NEEDS = {"hf": ("torch", "transformers"), "openai": ("openai",), "anthropic": ("anthropic",)}


def load_model(
    spec: str = "pocket", *, base_url: str | None = None, concurrency: int = 64, **options: Any
) -> ChatModel:
    """The model behind a specification.

    Parameters
    ----------
    spec : ``pocket`` (shipped, offline), ``hf:NAME`` or ``hf:PATH`` (safetensors, run here), ``openai:NAME`` (also any
        compatible server), ``anthropic:NAME``; ``#label`` at the end tells apart two servers that serve one name.
    base_url : address of an OpenAI-compatible or Anthropic-compatible server; default: the SDK's environment variables.
    concurrency : requests in flight at once (APIs), ≥ 1.
    options : further options of the adapter (`OpenAIChat`, `LocalChat` …).

    Raises
    ------
    BadInput
        Unknown specification, missing key, missing package, weights that cannot be read.
    """
    provider, _, rest = spec.partition(":")
    name, _, label = rest.partition("#")
    if spec == "pocket":
        _need("hf", "pocket")
        return _load_pocket(**options)
    if provider not in _NEEDS or not name:
        raise BadInput(f"unknown model {spec!r}; expected {SPECIFICATIONS}")
    _need(provider, spec)
    if provider == "hf":
        from srdcr_lab.models.local.chat import LocalChat

        return LocalChat(name, label=label, **options)
    if provider == "openai":
        from srdcr_lab.models.openai import OpenAIChat

        return OpenAIChat(name, label=label, base_url=base_url, concurrency=concurrency, **options)
    from srdcr_lab.models.anthropic import AnthropicChat

    return AnthropicChat(name, label=label, base_url=base_url, concurrency=concurrency, **options)


def _load_pocket(**options: Any) -> ChatModel:
    from srdcr_lab.models.local.chat import LocalChat
    from srdcr_lab.models.local.checkpoint import pocket_folder

    return LocalChat(str(pocket_folder()), provider="pocket", name="pocket", **options)


def _need(provider: str, spec: str) -> None:
    for package in _NEEDS[provider]:
        if find_spec(package) is None:
            extra = "local" if provider == "hf" else provider
            raise BadInput(
                f"the model {spec} needs the package {package}; install it with: pip install 'srdcr-lab[{extra}]'"
            )
