"""The file that `srdcr share` writes: a zip that ends with the SHA-256 of all its preceding bytes.

Nothing in a bundle is trusted: names must be distinct and among those below, sizes are bounded while they are read, and
nothing is unpickled. The digest shows damage, not malice. What goes into a bundle is searched for keys and for traces
of this machine. Shipped studies are bundles too, one for each part, and have names.
"""

import getpass
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO

from srdcr_lab.records import BadInput
from srdcr_lab.records.files import as_path, check_decoded_size, write_whole
from srdcr_lab.records.files import folder as shipped
from srdcr_lab.records.tables import TABLES
from srdcr_lab.records.vocabulary import did_you_mean, holds_key

VERSION = b"srdcr bundle 1, sha256 "
_DIGITS = 64
# Of a study (tools/study_real.py).
PARTS = ("debates", "known", "controls", "fresh", "symmetric", "years", "known_years", "passages", "judged",
         "seed_0", "seed_1", "seed_2", "chains", "hops")  # fmt: skip
_MIB = 1 << 20
# The files of a bundle, and how many bytes each may take; JSON takes fifty times its size in memory.
_LARGEST = {"run/run.json": 16 * _MIB, "run/summary.csv": 16 * _MIB, "run/items.json": 32 * _MIB}
_LARGEST |= {f"run/{name}.parquet": 256 * _MIB for name in TABLES}
_LARGEST |= {"store.jsonl": 1024 * _MIB, "requirements.lock": 16 * _MIB}  # earlier bundles have the last
_LARGEST_ZIP, _LARGEST_TABLE = 1024 * _MIB, 512 * _MIB
_WRITTEN = (1980, 1, 1, 0, 0, 0)  # no times: equal content is an equal file, and any other program notes one
# Requests repeat each other's beginnings from far away, where Deflate does not look: xz makes a sixth of them. With its
# usual search for repetitions it would take up to five times as long for a tenth less. Earlier bundles hold LZMA.
_REPETITIVE, _XZ = "store.jsonl", [{"id": lzma.FILTER_LZMA2, "mf": lzma.MF_HC4}]
_BLOCK = 4096  # bytes of a packed file that are read at once: of LZMA they may become 30 MB
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
_BROKEN = (zipfile.BadZipFile, RuntimeError, EOFError, ValueError, MemoryError, zlib.error, lzma.LZMAError)

_ESCAPED = re.compile(r"\\(?:([\"\\/])|u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*)")  # as JSON writes characters
_SECRET, _SHORTEST_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE), 12


def pack(files: Mapping[str, Path], target: Path) -> None:
    """Write the files under their names, which are those of `_LARGEST`."""
    if large := [name for name, path in files.items() if path.stat().st_size > _LARGEST[name]]:
        raise BadInput(f"{large[0]} has more than {_LARGEST[large[0]] // _MIB} MiB, too much for a bundle")
    for path in (path for name, path in files.items() if name.endswith(".parquet")):
        check_decoded_size(path, _LARGEST_TABLE)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            content = path.read_bytes()
            if name == _REPETITIVE:
                name, content = f"{name}.xz", lzma.compress(content, filters=_XZ)
            archive.writestr(zipfile.ZipInfo(name, _WRITTEN), content, zipfile.ZIP_DEFLATED)
        archive.comment = VERSION + b"0" * _DIGITS
    write_whole(target, seal(buffer.getvalue()))


def seal(content: bytes) -> bytes:
    """The zip with the digest of its bytes at the end of its comment."""
    return content[:-_DIGITS] + hashlib.sha256(content[:-_DIGITS]).hexdigest().encode()


def unpack(source: Path, folder: Path) -> list[str]:
    """Write a bundle's files into a new folder and return their names. If it is not a bundle, was changed, or holds
    anything else, that is bad input, and nothing is left.
    """
    if source.is_dir():
        raise BadInput(f"{source} is a folder; a bundle is the file that srdcr share {source} FILE.zip makes of a run")
    part = folder.with_name(folder.name + ".part")
    try:
        with zipfile.ZipFile(_sealed(source)) as archive:
            _extract(archive, source, part)
            names = archive.namelist()
        part.replace(folder)
    except OSError as error:
        raise BadInput(f"cannot unpack {source} ({error.strerror}); give the file that srdcr share wrote") from None
    except _BROKEN as error:
        raise BadInput(f"{source} is not a bundle of srdcr share, or its list of files is damaged ({error})") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return names


def _sealed(source: Path) -> BinaryIO:
    """The content of a bundle; bad input unless it ends with the digest of what comes before that."""
    if source.stat().st_size > _LARGEST_ZIP:
        raise BadInput(f"{source} has more than {_LARGEST_ZIP // _MIB:,} MiB, too much for a bundle")
    content = source.read_bytes()
    if content[-_DIGITS - len(VERSION) : -_DIGITS] != VERSION:
        why = "it was cut off, unpacked and zipped again, or is no bundle; ask for the very file that was written"
        raise BadInput(f"{source} is not a bundle of this version's srdcr share: {why}")
    if content != seal(content):
        raise BadInput(f"{source} was changed; ask for the file again as srdcr share wrote it")
    return io.BytesIO(content)


def _extract(archive: zipfile.ZipFile, source: Path, folder: Path) -> None:
    """Every file, read no further than its bound: a zip may lie about its sizes."""
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".xz")
        if name not in _LARGEST or (folder / name).exists() or entry.compress_type not in _METHODS:
            raise BadInput(f"{source} holds {entry.filename!r}, or holds it as no bundle does; do not use it")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            with archive.open(entry) as opened, (folder / name).open("wb") as file:
                packed: IO[bytes] = opened if name == entry.filename else lzma.open(opened)  # noqa: SIM115
                while block := packed.read(_BLOCK):
                    if file.tell() + len(block) > _LARGEST[name]:
                        raise BadInput(f"{source}: {name} unpacks to more than {_LARGEST[name]:,} bytes; do not use it")
                    file.write(block)
        except _BROKEN as error:
            raise BadInput(f"{name} in {source} is damaged ({error}); copy the file again, or ask for it") from None
        if name.endswith(".parquet"):
            check_decoded_size(folder / name, _LARGEST_TABLE)


def shipped_studies() -> dict[str, Path]:
    """The bundles of the shipped studies by name: NAME/PART, and NAME alone for its debates or, without debates, for
    its knowledge draws.
    """
    bundles: list[Path] = []
    with suppress(BadInput):  # this installation has none
        bundles = sorted(shipped("studies").glob("*/*.zip"))
    named = {f"{bundle.parent.name}/{bundle.stem}": bundle for bundle in bundles}
    main = {bundle.parent.name: bundle for part in ("known", "debates") for bundle in bundles if bundle.stem == part}
    return main | named


def bundle_of(run: str | Path) -> Path | None:
    """The bundle behind a file's path or the name of a shipped study; None for a folder. Anything else is bad input."""
    studies, path = shipped_studies(), as_path(run)
    if bundle := studies.get(path.as_posix()):
        return bundle
    if path.exists():
        return None if path.is_dir() else path
    near, names = did_you_mean(path.as_posix(), studies), ", ".join(studies) or "none"
    told = f"give a results folder, a bundle, or the name of a study that ships: {names:.200}"
    raise BadInput(f"there is no run {path.as_posix():.80}{near}; {told}")


def check_no_traces(name: str, content: bytes) -> None:
    """Raise `BadInput` if a file to be shared holds a key, this user's name in a path, or a path of this machine.

    Texts are searched as a reader sees them: the columns of Parquet, and JSON without its escapes.
    """
    if name.endswith(".parquet"):
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        file = pq.ParquetFile(io.BytesIO(content))
        notes = [*map(bytes.decode, chain(*(file.metadata.metadata or {}).items()))]
        parts = (pc.list_flatten(each) if each.type.num_fields else each for each in file.read().columns)
        columns = [file.schema_arrow.names, *(pc.unique(part).to_pylist() for part in parts)]
        texts: Iterable[str] = [json.dumps([notes, columns], ensure_ascii=False, default=str)]
    else:
        texts = (line.decode(errors="replace") for line in io.BytesIO(content))
    traces = [*_traces()]
    for text in texts:
        text = _ESCAPED.sub(_plain, text)
        for what, trace in traces:
            if trace in text:
                raise BadInput(f"{name} holds {what}; run the study again without it, then share")
        if holds_key(text):
            raise BadInput(f"{name} holds what looks like a key; take it out, then share")


def _plain(escape: re.Match[str]) -> str:
    return escape[1] or bytes.fromhex(escape[0].replace("\\u", "")).decode("utf-16-be", "replace")


def _traces() -> Iterator[tuple[str, str]]:
    """What must not leave this machine: its description and its text."""
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
