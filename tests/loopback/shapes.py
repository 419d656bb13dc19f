"""The loopback server in the dress of real servers: replies of the shapes in tests/fixtures/servers, which say of
themselves what they were constructed from."""

import json
from pathlib import Path
from typing import Any

from tests.loopback.behaviour import Behaviour

FOLDER = Path(__file__).parents[1] / "fixtures" / "servers"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
_REPLY = "{reply}"


def shape(name: str) -> dict[str, Any]:
    """A fixture: `about`, `source`, what it `refuses`, how many `choices` it gives, and a `reply`."""
    fixture: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return fixture


def behaves_like(name: str) -> Behaviour:
    fixture = shape(name)
    refuses = frozenset(fixture["refuses"])
    return Behaviour(refuses=refuses, choices=fixture.get("choices"), reply_shape=fixture["reply"])


def shaped(reply: dict[str, Any], form: dict[str, Any]) -> dict[str, Any]:
    """What the loopback server replies, in this form; the form's own tokens are its thinking."""
    if "content" in reply:
        return {**_put(form, reply["content"][0]["text"])} | {"usage": _together(form["usage"], reply["usage"])}
    choices = []
    for choice in reply["choices"]:
        scored = (choice.get("logprobs") or {}).get("content")
        one = _put(form["choices"][0], choice["message"]["content"], scored)
        if not scored:
            one["logprobs"] = None
        choices.append(one | {"index": choice["index"], "finish_reason": choice["finish_reason"]})
    usage = dict(form["usage"])
    usage["completion_tokens"] *= len(choices)
    return form | {"choices": choices, "usage": _together(usage, reply["usage"])}


def _put(form: Any, text: str, scored: list[Any] | None = None) -> Any:
    """The form with the text, and where tokens are listed their log-probabilities, in the places of ``{reply}``."""
    if isinstance(form, dict):
        return {name: _put(part, text, scored) for name, part in form.items()}
    if isinstance(form, list):
        return [each for part in form for each in ((scored or []) if part == _REPLY else [_put(part, text, scored)])]
    return form.replace(_REPLY, text) if isinstance(form, str) else form


def _together(form: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
    """The loopback's counts with those of the form, which are its thinking's."""
    return form | {name: n + (form.get(name) or 0) for name, n in usage.items()}
