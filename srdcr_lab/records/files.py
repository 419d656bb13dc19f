"""From plain values (JSON) back to our frozen types, strictly: what is missing, unknown or ill-typed is bad input."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from srdcr_lab.records.vocabulary import BadInput


def from_plain(kind: Any, value: object, where: str) -> Any:
    """The value as `kind`: a dataclass, an enum, a tuple, a union, a literal or a basic type.

    The reverse of `dataclasses.asdict` and `json.dumps`.

    Raises
    ------
    BadInput
        Naming `where` and the field.
    """
    origin = get_origin(kind)
    if origin in (UnionType, Union):
        return _one_of(get_args(kind), value, where)
    if origin is Literal:
        return _checked(value in get_args(kind), value, " or ".join(map(str, get_args(kind))), where)
    if origin is tuple:
        _checked(isinstance(value, list), value, "a list", where)
        return tuple(from_plain(get_args(kind)[0], each, where) for each in value)  # type: ignore[attr-defined]
    if is_dataclass(kind):
        return _record(kind, value, where)
    if issubclass(kind, StrEnum):
        return kind(_checked(value in list(kind), value, f"one of {', '.join(kind)}", where))
    basic = (int, float) if kind is float else kind
    fits = isinstance(value, basic) and isinstance(value, bool) == (kind is bool)
    return _checked(fits, value, kind.__name__, where)


def _record(kind: Any, value: object, where: str) -> Any:
    known = [field.name for field in fields(kind)]
    if not isinstance(value, dict) or sorted(value) != sorted(known):
        raise BadInput(f"{where}: expected the fields {', '.join(known)}")
    types = _types(kind)
    return kind(**{name: from_plain(types[name], each, f"{where}, {name}") for name, each in value.items()})


def _one_of(kinds: tuple[Any, ...], value: object, where: str) -> Any:
    if value is None and NoneType in kinds:
        return None
    wanted = [kind for kind in kinds if kind is not NoneType]
    for kind in wanted[:-1]:
        try:
            return from_plain(kind, value, where)
        except BadInput:
            continue
    return from_plain(wanted[-1], value, where)


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _checked(fits: bool, value: Any, expected: str, where: str) -> Any:
    if not fits:
        raise BadInput(f"{where}: expected {expected}, got {value!r}")
    return value


# -- where the shipped facts and the pocket model lie: `data/` of a checkout, or inside the installed wheel

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Path of the shipped folder ``name`` (``"facts"``, ``"pocket"``).

    Raises
    ------
    BadInput
        If this installation does not carry it.
    """
    for candidate in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / "data" / name):
        if candidate.is_dir():
            return candidate
    raise BadInput(f"this installation has no data/{name}; reinstall srdcr-lab, or work in a clone of its repository")
