"""From a template file and what a role may see to the messages of a request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from jinja2 import DictLoader, Environment, StrictUndefined, Template

from srdcr_lab.prompts.blocks import (
    FILTERS,
    OPTION_FILTERS,
    answer_block,
    critique_block,
    debate_block,
    defuse,
    passage_block,
)
from srdcr_lab.records import Message

_FOLDER = resources.files("srdcr_lab.prompts") / "templates"


@cache
def sources() -> Mapping[str, str]:
    """Template name → its text, as shipped."""
    return {
        file.name.removesuffix(".j2"): file.read_text("utf-8")
        for file in _FOLDER.iterdir()
        if file.name.endswith(".j2")
    }


@cache
def hashes() -> Mapping[str, str]:
    """Template name → SHA-256 of its text: what `run.json` and the pocket model's manifest record."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(sources().items())}


@cache
def _template(name: str) -> Template:
    environment = Environment(loader=DictLoader(dict(sources())), undefined=StrictUndefined, autoescape=False)  # noqa: S701 (prompts, not HTML)
    environment.filters |= {
        "passage_block": passage_block,
        "debate_block": debate_block,
        "answer_block": answer_block,
        "critique_block": critique_block,
        **FILTERS,
        **OPTION_FILTERS,
    }
    return environment.get_template(name)


def _part(name: str, part: str, fields: Mapping[str, object]) -> str:
    template = _template(name)
    fields = {key: defuse(value) if isinstance(value, str) else value for key, value in fields.items()}
    context = template.new_context(fields, shared=True)  # nothing but the fields: templates use no globals
    return "".join(template.blocks[part](context)).strip()


def system_text(name: str) -> str:
    """The instructions of a template. They take no fields: every request of a role starts with the same text."""
    return _part(name, "system", {})


def render(
    name: str, *, shots: Sequence[tuple[Mapping[str, object], str]] = (), **fields: object
) -> tuple[Message, ...]:
    """Messages of one request: instructions, worked examples as earlier exchanges, then the question at hand.

    Parameters
    ----------
    name : template, such as ``"critic"``.
    shots : (fields, reply) of each worked example.
    fields : what the template names; a missing one raises `jinja2.UndefinedError`.
    """
    messages = [Message("system", system_text(name))]
    for shot, reply in shots:
        messages += [Message("user", _part(name, "user", shot)), Message("assistant", reply)]
    messages.append(Message("user", _part(name, "user", fields)))
    return tuple(messages)
