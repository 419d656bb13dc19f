"""From a template file and what a role sees to the messages of a request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from jinja2 import DictLoader, Environment, StrictUndefined, Template

from srdcr_lab.prompts.blocks import FILTERS, defuse
from srdcr_lab.records import Message

_FOLDER = resources.files("srdcr_lab.prompts") / "templates"


@cache
def sources() -> Mapping[str, str]:
    """Template name → its text."""
    files = (file for file in _FOLDER.iterdir() if file.name.endswith(".j2"))
    return {file.name.removesuffix(".j2"): file.read_text("utf-8") for file in files}


@cache
def hashes() -> Mapping[str, str]:
    """Template name → SHA-256 of its text, as in `run.json` and the pocket model's manifest."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(sources().items())}


@cache
def _template(name: str) -> Template:
    environment = Environment(loader=DictLoader(dict(sources())), undefined=StrictUndefined, autoescape=False)  # noqa: S701 (prompts, not HTML)
    environment.filters.update(FILTERS)
    return environment.get_template(name)


def _part(name: str, part: str, fields: Mapping[str, object]) -> str:
    template = _template(name)
    fields = {key: defuse(value) if isinstance(value, str) else value for key, value in fields.items()}
    context = template.new_context(fields, shared=True)  # nothing but the fields: templates use no globals
    return "".join(template.blocks[part](context)).strip()


def system_text(name: str) -> str:
    """The instructions of a template. They have no fields, so every request of a role starts with the same text."""
    return _part(name, "system", {})


def render(
    name: str, *, shots: Sequence[tuple[Mapping[str, object], str]] = (), **fields: object
) -> tuple[Message, ...]:
    """Messages of one request: instructions, worked examples as earlier exchanges, then the question at hand.

    Parameters
    ----------
    name : template, such as ``"critic"``.
    shots : (fields, reply) of each worked example.
    fields : what the template names and more; one that is missing raises `jinja2.UndefinedError`.
    """
    messages = [Message("system", system_text(name))]
    for shot, reply in shots:
        messages += [Message("user", _part(name, "user", shot)), Message("assistant", reply)]
    messages.append(Message("user", _part(name, "user", fields)))
    return tuple(messages)
