"""The file that `srdcr share` writes: a zip of a study that ends in the SHA-256 of all its bytes before that.

A bundle comes from somebody else, so reading one trusts nothing: the names are of the kinds below, no two are equal,
sizes are bounded while they are read, and nothing is unpickled. The digest tells of damage, not of malice.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from srdcr_lab.records import BadInput

VERSION = b"srdcr bundle 1, sha256 "
_DIGITS = 64
_NAME = re.compile(
    r"run/(run\.json|items\.json|summary\.csv|(records|turns|samples)\.parquet)"
    r"|store\.jsonl|requirements\.lock|notebooks/[0-9]{2}_[a-z0-9_]{1,60}\.ipynb"
    r"|items/\w[\w .()-]{0,100}\.(?i:csv|json|jsonl|ndjson|parquet|pqt)"
)
_LARGEST_ZIP, _LARGEST_FILE, _LARGEST_IN_ALL, _MOST_FILES = 1 << 30, 1 << 30, 2 << 30, 64
_WRITTEN = (1980, 1, 1, 0, 0, 0)  # no times: equal content is an equal file
_CHUNK = 1 << 20


def pack(files: Mapping[str, Path], target: Path) -> str:
    """Write the files under their names; return the digest that the bundle ends in.

    Raises
    ------
    BadInput
        If a name is none that `unpack` takes, or the target cannot be written.
    """
    if strange := [name for name in files if not _NAME.fullmatch(name)]:
        raise BadInput(f"{strange[0]} is no name for a file in a bundle; call it by letters, digits, - and _")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
        archive.comment = VERSION + b"0" * _DIGITS
    sealed, digest = seal(buffer.getvalue())
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(sealed)
        part.replace(target)
    except OSError as error:
        raise BadInput(f"cannot write {target} ({error.strerror}); give another file") from None
    finally:
        part.unlink(missing_ok=True)
    return digest


def seal(content: bytes) -> tuple[bytes, str]:
    """The zip with the digest of its bytes in the place that its comment keeps for it, and the digest."""
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
            found = _contents(archive, source)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
        raise BadInput(f"{source} is no bundle of srdcr share ({error})") from None
    for name, file in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file)
    return list(found)


def _contents(archive: zipfile.ZipFile, source: Path) -> dict[str, bytes]:
    names = archive.namelist()
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadInput(f"{source} holds {name!r}, which is no part of a bundle; do not use it")
    if len(names) != len(set(names)) or len(names) > _MOST_FILES:
        raise BadInput(f"{source} holds a file twice, or too many; do not use it")
    found: dict[str, bytes] = {}
    for name in names:
        found[name] = _read(archive, name, source, min(_LARGEST_FILE, _LARGEST_IN_ALL - sum(map(len, found.values()))))
    return found


def _read(archive: zipfile.ZipFile, name: str, source: Path, largest: int) -> bytes:
    """A file's bytes, counted as they are unpacked: what a zip says of its sizes may be a lie."""
    parts, size = [], 0
    with archive.open(name) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > largest:
                raise BadInput(f"{source}: {name} unpacks to more than {largest:,} bytes; do not use it")
            parts.append(chunk)
    return b"".join(parts)
