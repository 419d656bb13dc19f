"""TODO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.facts import exemplars as shipped_exemplars
from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.load import load_items
from srdcr_lab.data.perturbing.audit import audit_page
from srdcr_lab.data.perturbing.table import Perturbed, Refusal
from srdcr_lab.data.tables import checked_rows, read_table
from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item

if TYPE_CHECKING:
    import pandas as pd


ITEM_ENDINGS = (".csv", ".jsonl", ".parquet")


AUDIT_ENDINGS = (".html", ".csv")


ITEM_COLUMNS = (
    "item_id", "question_id", "question", "gold_answer", "context", "claimed_answer", "domain", "answer_type",
    "aliases", "unit", "perturbation_kind", "perturbation_value", "level", "gold_answers", "wrong_answers",
    "is_exemplar",
)  # fmt: skip


def read_rows(path: Path) -> tuple[ItemSet, list[Refusal]]:
    """A table's items with the exemplars it brings, and its rows that are no items: why, instead of giving up."""
    found = list(checked_rows(read_table(path), path.name))
    items = tuple(row for row in found if isinstance(row, Item))
    evaluated = {item.question for item in items}
    exemplars = tuple(row for row in found if isinstance(row, Exemplar) and row.question not in evaluated)
    refused = [Refusal("", "", "", str(row)) for row in found if isinstance(row, BadInput)]
    return ItemSet(path.name, items, exemplars), refused


def read_source(source: str) -> tuple[ItemSet, list[Refusal]]:
    """A file's rows as `read_rows` gives them, or a known set as `load_items` does."""
    path = Path(source)
    known = source.partition("=")[0] in BENCHMARKS or not (path.suffix or path.exists())
    return (load_items(source), []) if known else read_rows(path)


def checked_ending(path: Path, endings: Sequence[str]) -> Path:
    """The path, if its ending is one that can be written.

    Raises
    ------
    BadInput
        If it is not, or its folder does not exist.
    """
    if path.suffix.lower() not in endings:
        raise BadInput(f"{path}: expected a name that ends in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {path.parent}; make it first")
    return path


def items_frame(items: ItemSet) -> pd.DataFrame:
    """Columns that `load_items` reads, empty lists left out; the shipped exemplars are not repeated."""
    import pandas as pd

    rows = [_item_row(item) for item in items]
    shipped = set(shipped_exemplars())
    own = [exemplar for exemplar in items.exemplars if exemplar not in shipped]
    rows += [_exemplar_row(number, exemplar, items) for number, exemplar in enumerate(own, start=1)]
    frame = pd.DataFrame(rows, columns=list(ITEM_COLUMNS))
    frame["perturbation_value"] = frame["perturbation_value"].astype("Float64")
    text = [name for name in frame.columns if name != "perturbation_value"]
    frame[text] = frame[text].fillna("").astype(str)
    return frame.drop(columns=[name for name in ("gold_answers", "wrong_answers") if not frame[name].any()])


def _item_row(item: Item) -> dict[str, object]:
    lists = {"aliases": item.aliases, "gold_answers": item.other_gold_answers, "wrong_answers": item.wrong_answers}
    return {name: getattr(item, name, "") for name in ITEM_COLUMNS} | {name: "|".join(lists[name]) for name in lists}


def _exemplar_row(number: int, exemplar: Exemplar, items: ItemSet) -> dict[str, object]:
    types = dict.fromkeys(item.answer_type for item in items if item.domain == exemplar.domain)
    fitting = (t for t in (*types, *AnswerType) if answers.find(exemplar.context, exemplar.answer, t))
    return {
        "item_id": f"exemplar-{number}",
        "question_id": f"exemplar-{number}",
        "question": exemplar.question,
        "gold_answer": exemplar.answer,
        "context": exemplar.context,
        "claimed_answer": exemplar.answer,
        "domain": exemplar.domain,
        "answer_type": str(next(fitting, AnswerType.TEXT)),
        "is_exemplar": "true",
    }


def write_items(items: ItemSet, path: Path) -> None:
    """Items as CSV, JSON lines or Parquet, by the ending; `load_items` reads them back."""
    frame = items_frame(items)
    match checked_ending(path, ITEM_ENDINGS).suffix.lower():
        case ".csv":
            _whole(path, lambda part: frame.to_csv(part, index=False, lineterminator="\n"))
        case ".jsonl":
            _whole(path, lambda part: frame.to_json(part, orient="records", lines=True, force_ascii=False))
        case _:
            _whole(path, lambda part: frame.to_parquet(part, index=False))


def write_audit(perturbed: Perturbed, path: Path) -> None:
    """The audit as CSV or as a page of its own, by the ending."""
    if checked_ending(path, AUDIT_ENDINGS).suffix.lower() == ".csv":
        frame = perturbed.audit()
        _whole(path, lambda part: frame.to_csv(part, index=False, lineterminator="\n"))
    else:
        page = audit_page(perturbed, f"Audit of {perturbed.items.name}")
        _whole(path, lambda part: part.write_text(page, encoding="utf-8"))


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the path, then move into place: a reader never sees half a file."""
    part = path.with_name(f".{path.name}.part")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
