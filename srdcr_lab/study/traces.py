"""What must not leave this machine with a shared study: keys, the user's name, absolute paths."""

from __future__ import annotations

import getpass
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from srdcr_lab.records import BadInput

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_KEYS = re.compile(r"\bsk-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{30,}")
_PATHS = re.compile(
    r"(?<![\w.:/])/(?:home|root|Users|tmp|usr|opt|var|mnt|media|srv|private)/\w|\b[A-Z]:\\(?:Users|home)\b"
)
_SHORTEST_SECRET = 12


def check_no_traces(name: str, content: bytes) -> None:
    """Raise `BadInput` if a file that is to be shared holds a key, this user's name in a path, or a path of this
    machine; in a notebook, which shows what its code printed, any absolute path.

    Texts are searched as they read: out of the columns of Parquet, out of JSON without its escapes.
    """
    text = "\n".join(_texts(name, content))
    for what, trace in _traces():
        if trace in text:
            raise BadInput(f"{name} holds {what}; run the study or its notebooks again without it, then share")
    if _KEYS.search(text):
        raise BadInput(f"{name} holds what looks like a key; take it out, then share")
    if name.endswith(".ipynb") and (path := _PATHS.search(text)):
        shown = text[path.start() : path.start() + 60].split()[0]
        raise BadInput(f"{name} holds the absolute path {shown}; execute it again without, then share")


def _texts(name: str, content: bytes) -> Iterator[str]:
    """The texts that a file holds."""
    match PurePath(name).suffix:
        case ".parquet" | ".pqt":
            import pyarrow.parquet as pq

            file = pq.ParquetFile(io.BytesIO(content))
            for batch in file.iter_batches():
                yield from _strings(batch.to_pydict())
            yield from (
                text.decode(errors="replace") for pair in (file.metadata.metadata or {}).items() for text in pair
            )
        case ".ipynb":
            yield from _strings(json.loads(content))
        case ".json" | ".jsonl" | ".ndjson":
            yield from _json_texts(content.decode(errors="replace"))
        case _:
            yield content.decode(errors="replace")


def _json_texts(content: str) -> Iterator[str]:
    """The texts of one JSON value, or of a value a line; what is no JSON, as it stands."""
    try:
        yield from _strings(json.loads(content))
        return
    except ValueError:
        lines = content.split("\n")
    for line in lines:
        try:
            yield from _strings(json.loads(line))
        except ValueError:
            yield line


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                yield str(name)
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)


def _traces() -> Iterator[tuple[str, str]]:
    for variable, value in os.environ.items():
        if _SECRET.search(variable) and len(value) >= _SHORTEST_SECRET:
            yield f"the value of {variable}", value
    places = (
        Path.home(),
        Path.cwd(),
        Path(__file__).resolve().parents[2],
        Path(sys.prefix),
        Path(tempfile.gettempdir()),
    )
    for place in dict.fromkeys(places):
        if len(place.parts) > 1:
            yield f"the path {place}", str(place) + os.sep
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        return
    yield f"the user name {user}", f"/{user}/"
