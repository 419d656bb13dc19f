"""An item set as one JSON file: every field of every item and exemplar, so that a run carries what it was asked."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.records import BadInput, Exemplar, Item
from srdcr_lab.records.plain import from_plain

ENDING = ".json"
_VERSION = 1
_BEGINNING = b'{"srdcr_items"'


def freeze(items: ItemSet) -> str:
    """The set as JSON text, one item a line; `thaw` gives the same set back."""
    lines = ",\n".join(json.dumps(asdict(item), ensure_ascii=False) for item in items.items)
    exemplars = ",\n".join(json.dumps(asdict(exemplar), ensure_ascii=False) for exemplar in items.exemplars)
    head = json.dumps({"srdcr_items": _VERSION, "name": items.name, "notes": items.notes}, ensure_ascii=False)
    return f'{head[:-1]},\n"items": [\n{lines}\n],\n"exemplars": [\n{exemplars}\n]}}\n'


def is_frozen(path: Path) -> bool:
    """Whether a file begins as `freeze` writes it; any other ``.json`` is a table."""
    if path.suffix.lower() != ENDING or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def thaw(path: Path) -> ItemSet:
    """The set that `freeze` wrote into a file.

    Raises
    ------
    BadInput
        If the file is not one of these, naming the item and the field.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        version = content["srdcr_items"]
        name, notes = content["name"], content["notes"]
        items, exemplars = content["items"], content["exemplars"]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{path} is no items file of srdcr_lab; give one that a run wrote, or a CSV") from None
    if version != _VERSION:
        raise BadInput(f"{path} has items of version {version}, this srdcr_lab reads version {_VERSION}")
    return ItemSet(
        str(name),
        tuple(from_plain(Item, item, f"{path}, item {number}") for number, item in enumerate(items, start=1)),
        tuple(
            from_plain(Exemplar, each, f"{path}, exemplar {number}") for number, each in enumerate(exemplars, start=1)
        ),
        tuple(map(str, notes)),
    )
