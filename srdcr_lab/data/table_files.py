"""The rows of a table that somebody brings: CSV, JSON lines or Parquet, read as they stand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.records import BadInput

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("question", "gold_answer", "context")


def read_table(path: Path, needed: Sequence[str] = REQUIRED) -> pd.DataFrame:
    """A file's rows, as text where the format has no types. `needed` are the columns an empty file is told to have.

    A ``.json`` file holds JSON lines or one array of objects; ``.pqt`` is Parquet.

    Raises
    ------
    BadInput
        If the file is missing, empty, not UTF-8, broken or of another format.
    """
    import pandas as pd

    if not path.is_file():
        raise BadInput(
            f"there is no file {path}; items are a file (.csv, .jsonl, .parquet) or a shipped set such as 'facts'"
        )
    try:
        match path.suffix.lower():
            case ".csv":
                frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
                if not isinstance(frame.index, pd.RangeIndex):  # pandas takes the first cells for names of the rows
                    raise BadInput(f"{path}: the rows have more cells than the header; quote cells that hold a comma")
                return frame
            case ".jsonl" | ".ndjson" | ".json":
                return pd.DataFrame(_objects(path, needed), dtype=object)
            case ".parquet" | ".pqt":
                return pd.read_parquet(path)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except pd.errors.EmptyDataError:
        raise BadInput(f"{path} is empty; it needs the columns {', '.join(needed)}") from None
    except (ValueError, OSError) as error:
        raise BadInput(f"cannot read {path} as {path.suffix[1:]}: {error}") from None
    raise BadInput(f"{path}: items come as .csv, .jsonl or .parquet, not {path.suffix or 'a file without an ending'}")


def _objects(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; lines end with a line feed alone, other separators may stand in a passage."""
    text = path.read_text("utf-8-sig")
    if path.suffix.lower() == ".json" and text.lstrip().startswith("["):
        return _array(path, text)
    objects = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{path}, line {number}: no JSON ({error})") from None
        if not isinstance(found, dict):
            raise BadInput(f'{path}, line {number}: a line is an object such as {{"question": "…", …}}')
        objects.append(found)
    if not objects:
        raise BadInput(f"{path} is empty; every line is an object with {', '.join(needed)}")
    return objects


def _array(path: Path, text: str) -> list[dict[str, Any]]:
    """The objects of a file that is one JSON array."""
    try:
        objects = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{path}: no JSON ({error})") from None
    for number, found in enumerate(objects, start=1):
        if not isinstance(found, dict):
            raise BadInput(f'{path}, row {number}: a row is an object such as {{"question": "…", …}}')
    return list(objects)
