"""The file that `srdcr share` writes: a zip that ends in the SHA-256 of all its bytes before that.

A bundle comes from somebody else, so nothing in it is trusted: names are of the kinds below and distinct, sizes are
bounded while they are read, and nothing is unpickled. The digest shows damage, not malice. What goes in is searched for
keys and for traces of this machine.
"""

from __future__ import annotations

import getpass
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from srdcr_lab.records import BadInput
from srdcr_lab.records.files import whole_file

VERSION = b"srdcr bundle 1, sha256 "
_DIGITS = 64
_NAME = re.compile(
    r"run/(run\.json|items\.json|summary\.csv|(records|turns|samples)\.parquet)"
    r"|store\.jsonl|requirements\.lock|notebooks/[0-9]{2}_[a-z0-9_]{1,60}\.ipynb"
    r"|items/\w[\w .()-]{0,100}\.(?i:csv|json|jsonl|ndjson|parquet|pqt)"
)
_LARGEST_ZIP, _LARGEST_FILE, _LARGEST_IN_ALL, _MOST_FILES = 1 << 30, 1 << 30, 2 << 30, 64
_WRITTEN = (1980, 1, 1, 0, 0, 0)  # no times: equal content is an equal file

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST_SECRET = 12
_KEYS = re.compile(r"\bsk-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{30,}")
_PATHS = re.compile(
    r"(?<![\w.:/])/(?:home|root|Users|tmp|usr|opt|var|mnt|media|srv|private)/\w|\b[A-Z]:\\(?:Users|home)\b"
)


def pack(files: Mapping[str, Path], target: Path) -> str:
    """Write the files under their names; return the digest that the bundle ends in.

    Raises
    ------
    BadInput
        If `unpack` would not take a name, or the target cannot be written.
    """
    if refused := [name for name in files if not _NAME.fullmatch(name)]:
        raise BadInput(f"{refused[0]} is no name for a file in a bundle; call it by letters, digits, - and _")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
        archive.comment = VERSION + b"0" * _DIGITS
    sealed, digest = seal(buffer.getvalue())
    try:
        with whole_file(target) as part:
            part.write_bytes(sealed)
    except OSError as error:
        raise BadInput(f"cannot write {target} ({error.strerror}); give another file") from None
    return digest


def seal(content: bytes) -> tuple[bytes, str]:
    """The zip with the digest of its bytes at the end of its comment, and the digest."""
    digest = hashlib.sha256(content[:-_DIGITS]).hexdigest()
    return content[:-_DIGITS] + digest.encode(), digest


def unpack(source: Path, folder: Path) -> list[str]:
    """Write a bundle's files below the folder and return their names.

    Raises
    ------
    BadInput
        If it is no bundle, was changed, or holds what no bundle holds; nothing was written then.
    """
    try:
        if source.stat().st_size > _LARGEST_ZIP:
            raise BadInput(f"{source} has more than {_LARGEST_ZIP >> 30} GiB, too much for a bundle")
        content = source.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {source} ({error.strerror})") from None
    if content[-_DIGITS - len(VERSION) : -_DIGITS] != VERSION:
        raise BadInput(f"{source} is no bundle of this version's srdcr share, or was changed")
    if seal(content)[0] != content:
        raise BadInput(f"{source} was changed after it was shared; ask for it again")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = _contents(archive, source)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
        raise BadInput(f"{source} is no bundle of srdcr share ({error})") from None
    for name, file in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file)
    return list(files)


def _contents(archive: zipfile.ZipFile, source: Path) -> dict[str, bytes]:
    """Every file, read no further than its bound: what a zip says of its sizes may be a lie."""
    names = archive.namelist()
    if strange := [name for name in names if not _NAME.fullmatch(name)]:
        raise BadInput(f"{source} holds {strange[0]!r}, which is no part of a bundle; do not use it")
    if len(names) != len(set(names)) or len(names) > _MOST_FILES:
        raise BadInput(f"{source} holds a file twice, or too many; do not use it")
    files: dict[str, bytes] = {}
    left = _LARGEST_IN_ALL
    for name in names:
        largest = min(_LARGEST_FILE, left)
        with archive.open(name) as file:
            files[name] = file.read(largest + 1)
        if len(files[name]) > largest:
            raise BadInput(f"{source}: {name} unpacks to more than {largest:,} bytes; do not use it")
        left -= len(files[name])
    return files


def check_no_traces(name: str, content: bytes) -> None:
    """Raise `BadInput` if a file to be shared holds a key, this user's name in a path, or a path of this machine; in
    a notebook, which shows what its code printed, any absolute path.

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


def _traces() -> Iterator[tuple[str, str]]:
    """What must not leave this machine: a name for it, and the text."""
    for variable, value in os.environ.items():
        if _SECRET.search(variable) and len(value) >= _SHORTEST_SECRET:
            yield f"the value of {variable}", value
    here = (Path.home(), Path.cwd(), Path(__file__).resolve().parents[2], Path(sys.prefix), Path(tempfile.gettempdir()))
    for place in dict.fromkeys(here):
        if len(place.parts) > 1:
            yield f"the path {place}", str(place) + os.sep
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        return
    yield f"the user name {user}", f"/{user}/"


def _texts(name: str, content: bytes) -> Iterator[str]:
    """The texts that a file holds."""
    match PurePath(name).suffix:
        case ".parquet" | ".pqt":
            import pyarrow.parquet as pq

            file = pq.ParquetFile(io.BytesIO(content))
            for batch in file.iter_batches():
                yield from _strings(batch.to_pydict())
            for pair in (file.metadata.metadata or {}).items():
                yield from (text.decode(errors="replace") for text in pair)
        case ".ipynb":
            yield from _strings(json.loads(content))
        case ".json" | ".jsonl" | ".ndjson":
            yield from _json_texts(content.decode(errors="replace"))
        case _:
            yield content.decode(errors="replace")


def _json_texts(content: str) -> Iterator[str]:
    """The texts of one JSON value, or of a value a line; what is not JSON as it is."""
    try:
        yield from _strings(json.loads(content))
    except ValueError:
        for line in content.split("\n"):
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
