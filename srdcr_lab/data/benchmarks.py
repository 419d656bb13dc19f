"""Published benchmarks as items: from the user's own file, or fetched once into a cache folder, with its checksum.

`benchmarks.toml` is the table of them and `readers` makes items of their rows. A new benchmark is a row and a function.
"""

from __future__ import annotations

import os
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO
from urllib.parse import urlsplit

from srdcr_lab.data import readers
from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.rows import Row, read_table, rows_of
from srdcr_lab.data.tables import check_columns
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import sha256_of, whole_file, write_whole
from srdcr_lab.records.vocabulary import did_you_mean

RowReader = Callable[[Sequence[Row]], readers.Gathering]
LARGEST = 500_000_000  # bytes; no published file comes near
_TIMEOUT_S = 30
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One published file: a row of `benchmarks.toml`, which says what its fields mean."""

    name: str
    meaning: str
    home: str
    licence: str
    rows: int
    url: str
    columns: Sequence[str]
    reader: str = ""
    sha256: str = ""
    recognised: bool = True

    def read(self, form: str) -> RowReader | None:
        """What makes items of its rows in a form, ``passages`` or ``documents``; None where it has no such form."""
        endings = {"passages": "", "documents": "_documents"}
        name = f"read_{self.reader or self.name}{endings.get(form, form)}"
        return getattr(readers, name, None) if form in endings else None


_ROWS = tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))
BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {name: Benchmark(name=name, **row) for name, row in _ROWS.items()}
)


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name; bad input where there is none."""
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise BadInput(f"there is no benchmark {name!r}{did_you_mean(name, BENCHMARKS)}; known are {known}")
    return BENCHMARKS[name]


def load_benchmark(name: str, path: Path | None, *, form: str = "passages", strict: bool = False) -> ItemSet:
    """Items of a benchmark from a file in its published columns, or (`path` None) from the cache folder.

    `form` is ``passages`` (one passage an item) or ``documents`` (all documents of a question, one item a question).
    Bad input: a file that is missing, changed since it was fetched, or without the published columns; an unknown form;
    with `strict`, anything left out.
    """
    source = benchmark(name)
    if not (read := source.read(form)):
        forms = " or ".join(f"{name}:{known}" for known in ("passages", "documents") if source.read(known))
        raise BadInput(f"{name} has no form {form!r}; write {forms}")
    file = cached(source) if path is None else path
    frame = read_table(file, source.columns)
    check_columns(frame, source.columns, str(file), f"{name} as published has {described(source.columns)}")
    gathered = read(rows_of(frame, file.name))
    if strict and gathered.left_out.total():
        raise BadInput(f"{file.name}: {gathered.left_out_sentence()}")
    return replace(gathered.result(file.name), name=f"{name}:documents" if form == "documents" else name)


def described(columns: Sequence[str]) -> str:
    """Columns as a sentence names them."""
    return ", ".join(column.replace("|", " or ") for column in columns)


def cache_folder() -> Path:
    """Where fetched files are kept."""
    own = os.environ.get("SRDCR_DATA")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "srdcr_lab"


def place(source: Benchmark) -> Path:
    """Where the file of this benchmark is, once it is fetched."""
    return cache_folder() / source.name / source.url.rpartition("/")[2]


def cached(source: Benchmark) -> Path:
    """The file in the cache folder; bad input where it is not there or has another checksum than the known one."""
    path = place(source)
    if not path.is_file():
        raise BadInput(f"{source.name} is not here yet; run srdcr data fetch {source.name}, or {_by_hand(source)}")
    digest, known = sha256_of(path), known_checksum(source)
    if known and digest != known:
        raise BadInput(
            f"{path} has the sha256 {digest}, expected {known}; delete it and run srdcr data fetch {source.name}, "
            f"or name a copy you trust with --items {source.name}=FILE"
        )
    if not known:
        write_whole(_record(source), f"{digest}\n")
    return path


def fetch(source: Benchmark) -> tuple[Path, str]:
    """Download the file into the cache folder; its place and the sentence to print.

    The file gets its name only when it is complete and has the known checksum; otherwise bad input says why.
    """
    target, known = place(source), known_checksum(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as part:
        with part.open("wb") as file:
            _download(source, file)
        digest = sha256_of(part)
        if known and digest != known:
            raise BadInput(
                f"{source.url} has the sha256 {digest}, expected {known}; nothing was kept: the file has changed "
                f"since, so look at {source.home}, and use a copy you trust with --items {source.name}=FILE"
            )
    if known:
        agrees = "as expected" if source.sha256 else "as recorded at the first fetch"
        return target, f"{source.name}: {target}, sha256 {agrees}"
    write_whole(_record(source), f"{digest}\n")
    recorded = "no checksum was known beforehand, so this one was recorded and later fetches must agree"
    return target, f"{source.name}: {target}; {recorded}: sha256 {digest}"


def _download(source: Benchmark, file: BinaryIO) -> None:
    if urlsplit(source.url).scheme not in ("https", "http"):
        raise BadInput(f"{source.name}: {source.url} is no web address")
    try:
        with urllib.request.urlopen(source.url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 (scheme checked above)
            expected = answer.headers.get("Content-Length") or ""
            for chunk in iter(partial(answer.read, _CHUNK), b""):
                file.write(chunk)
                if file.tell() > LARGEST:
                    raise BadInput(f"{source.url} is larger than {LARGEST:,} bytes; {_by_hand(source)}")
    except (HTTPException, OSError) as error:
        reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        raise BadInput(f"cannot download {source.name} ({reason}); {_by_hand(source)}") from None
    if expected.isdigit() and file.tell() != int(expected):
        raise BadInput(f"the download of {source.name} broke off; run the same again, or {_by_hand(source)}")


def _by_hand(source: Benchmark) -> str:
    """What to do without a network."""
    by_hand = f"download {source.url} by hand (home: {source.home}) and put it at {place(source)}"
    return f"{by_hand}, or name your copy with --items {source.name}=FILE"


def known_checksum(source: Benchmark) -> str:
    """The published sha256, or the one recorded beside the file; empty if neither is known yet."""
    record = _record(source)
    return source.sha256 or (record.read_text("ascii", "replace").strip() if record.is_file() else "")


def _record(source: Benchmark) -> Path:
    """Where the checksum of a file without a published one is kept: beside the file."""
    return place(source).with_name(f"{source.url.rpartition('/')[2]}.sha256")
