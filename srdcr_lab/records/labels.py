"""Who made the numbers of a figure or table, in words that travel with it."""

from __future__ import annotations

from collections.abc import Iterable

ORGANISM = "a model organism, no evidence about any large model"


def label(models: Iterable[str]) -> str:
    """Names of the models, each once; the pocket model's with what it is.

    >>> label(["openai:gpt-4o", "pocket", "pocket"])
    'openai:gpt-4o; pocket: a model organism, no evidence about any large model'
    """
    names = dict.fromkeys(models)
    return "; ".join(f"{name}: {ORGANISM}" if name.partition("#")[0] == "pocket" else name for name in names)
