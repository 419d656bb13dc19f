"""Files: where the shipped folders are, a file written whole or not at all, and JSON from outside, read strictly.

pydantic is imported only when a value is turned into one of our frozen types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.records.vocabulary import BadInput

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

_PACKAGE = Path(__file__).resolve().parents[1]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The file beside `path` to write to. It takes the name `path` when the block ends, and is removed if that fails.

    So a reader never sees half a file.
    """
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a whole file (text as UTF-8) or leave what was there."""
    with whole_file(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def parse_json(text: str | bytes, *, distinct_keys: bool = False) -> Any:
    """The value of a JSON text that anyone may have written. Raises ValueError, in one sentence, for what is none.

    NaN is None. Refused are also nesting too deep for Python, infinities, integers beyond 64 bits (no table holds
    them) and, with `distinct_keys`, an object that has a key twice; otherwise the last of them counts.
    """
    try:
        return json.loads(
            text, parse_int=_integer, parse_constant=_no_number, object_pairs_hook=_distinct if distinct_keys else None
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _integer(digits: str) -> int:
    if len(digits) < 19 or (len(digits) < 21 and -(2**63) <= int(digits) < 2**63):
        return int(digits)
    raise ValueError(f"the number {digits[:20]}… is beyond 64 bits")


def _no_number(name: str) -> None:
    if name != "NaN":  # with which many a program writes a missing value
        raise ValueError(f"{name} is no number of JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if repeated := [key for key in keys if keys.count(key) > 1]:
        raise ValueError(f"{repeated[0]!r} stands twice; give each key once")
    return dict(pairs)


def read_json(text: str | bytes, where: str, expected: str = "", *, distinct_keys: bool = False) -> Any:
    """`parse_json`, whose complaint is bad input that names `where` (a file, line or cell) and what was `expected`."""
    try:
        return parse_json(text, distinct_keys=distinct_keys)
    except ValueError as error:
        raise BadInput(f"{where}: no JSON ({error})" + (f"; expected {expected}" if expected else "")) from None


def from_plain(kind: Any, value: object, where: str) -> Any:
    """The reverse of `dataclasses.asdict`: a value read from JSON as `kind`, one of our frozen dataclasses.

    Types are strict, and each field must be there, even one with a default: a file without it is of another version.
    Bad input names `where` and the field.
    """
    from pydantic_core import ValidationError

    try:
        return _validator(kind).validate_json(json.dumps(value), strict=True, extra="forbid")
    except ValidationError as errors:
        error = errors.errors(include_url=False)[0]
    # each step with a comma before it; entries of a list count from 1
    path = "".join(f", {step + 1 if isinstance(step, int) else step}" for step in error["loc"])
    got = "" if error["type"] == "missing" else f", got {error['input']!r:.80}"
    raise BadInput(f"{where}{path}: {error['msg'].replace('Input should be', 'expected')}{got}")


@cache
def _validator(kind: Any) -> SchemaValidator:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_without_defaults(TypeAdapter(kind).core_schema))


def _without_defaults(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_defaults(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "default":
        return _without_defaults(schema["schema"])
    return {name: _without_defaults(part) for name, part in schema.items()}


def folder(name: str) -> Path:
    """Path of the shipped folder ``name`` (``"facts"``, ``"pocket"``), in a checkout or in the installed wheel."""
    for candidate in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / "data" / name):
        if candidate.is_dir():
            return candidate
    raise BadInput(f"this installation has no data/{name}; reinstall srdcr-lab, or work in a clone of its repository")
