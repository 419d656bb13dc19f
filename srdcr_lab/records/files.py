"""What comes from outside as JSON, and where the shipped folders lie.

JSON is read strictly: text that is no JSON, and values that do not fit our frozen types, are one sentence. pydantic is
imported only when a value is turned into one of these types.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.records.vocabulary import BadInput

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, SchemaValidator


def read_json(text: str | bytes, where: str, expected: str = "", *, distinct_keys: bool = False) -> Any:
    """The value of a JSON text.

    Parameters
    ----------
    text : the JSON; bytes are UTF-8.
    where : the file, line or cell, as the error names it.
    expected : what the error says was expected, if anything.
    distinct_keys : refuse an object that has a key twice; otherwise the last of them counts.

    Raises
    ------
    BadInput
        Naming `where`.
    """

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        if repeated := [key for key in keys if keys.count(key) > 1]:
            raise BadInput(f"{where}: {repeated[0]!r} stands twice; give each key once")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=distinct if distinct_keys else None)
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error)
    raise BadInput(f"{where}: no JSON ({reason})" + (f"; expected {expected}" if expected else ""))


def from_plain(kind: Any, value: object, where: str) -> Any:
    """The reverse of `dataclasses.asdict`: a value read from JSON as `kind`, one of our frozen dataclasses.

    Types are strict, no field may be missing, even one with a default, and no other may be there.

    Raises
    ------
    BadInput
        Naming `where` and the field.
    """
    from pydantic_core import ValidationError

    try:
        return _validator(kind).validate_json(json.dumps(value), strict=True, extra="forbid")
    except ValidationError as error:
        raise BadInput(f"{where}{_sentence(error.errors(include_url=False)[0])}") from None


@cache
def _validator(kind: Any) -> SchemaValidator:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_all_required(TypeAdapter(kind).core_schema))


def _all_required(schema: Any) -> Any:
    """A pydantic schema without its defaults: a file that lacks a field was written by another version."""
    if isinstance(schema, list):
        return [_all_required(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "default":
        return _all_required(schema["schema"])
    return {name: _all_required(part) for name, part in schema.items()}


def _sentence(error: ErrorDetails) -> str:
    """The place inside the value, what was expected there, and what was found. List entries count from 1."""
    path = [str(step + 1) if isinstance(step, int) else step for step in error["loc"]]
    expected = error["msg"].replace("Input should be", "expected")
    found = "" if error["type"] == "missing" else f", got {error['input']!r:.80}"
    return f"{''.join(f', {step}' for step in path)}: {expected}{found}"


_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Path of the shipped folder ``name`` (``"facts"``, ``"pocket"``), in a checkout or in the installed wheel.

    Raises
    ------
    BadInput
        If this installation does not carry it.
    """
    for candidate in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / "data" / name):
        if candidate.is_dir():
            return candidate
    raise BadInput(f"this installation has no data/{name}; reinstall srdcr-lab, or work in a clone of its repository")
