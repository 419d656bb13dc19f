"""Files around a perturbation: a table read row by row, without giving up at a wrong row; items and account written."""

from __future__ import annotations

from collections.abc import Sequence
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
from srdcr_lab.records.files import whole_file

if TYPE_CHECKING:
    import pandas as pd

ITEM_ENDINGS = (".csv", ".jsonl", ".parquet")
AUDIT_ENDINGS = (".html", ".csv")
_COLUMNS = (
    "item_id", "question_id", "question", "gold_answer", "context", "claimed_answer", "domain", "answer_type",
    "aliases", "unit", "perturbation_kind", "perturbation_value", "level", "gold_answers", "wrong_answers",
    "is_exemplar",
)  # fmt: skip


def read_source(source: str) -> tuple[ItemSet, list[Refusal]]:
    """A known set as `load_items` gives it; else a file's items and exemplars, and why its other rows are none."""
    path = Path(source)
    if source.partition("=")[0] in BENCHMARKS or not (path.suffix or path.exists()):
        return load_items(source), []
    rows = list(checked_rows(read_table(path), path.name))
    items = tuple(row for row in rows if isinstance(row, Item))
    evaluated = {item.question for item in items}
    exemplars = tuple(row for row in rows if isinstance(row, Exemplar) and row.question not in evaluated)
    refused = [Refusal("", "", "", str(row)) for row in rows if isinstance(row, BadInput)]
    return ItemSet(path.name, items, exemplars), refused


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


def write_items(items: ItemSet, path: Path) -> None:
    """Items as CSV, JSON lines or Parquet, by the ending; `load_items` reads them back.

    Columns that are empty throughout are left out where they hold lists; the shipped exemplars are not repeated.
    """
    frame = _frame(items)
    ending = checked_ending(path, ITEM_ENDINGS).suffix.lower()
    with whole_file(path) as part:
        match ending:
            case ".csv":
                frame.to_csv(part, index=False, lineterminator="\n")
            case ".jsonl":
                frame.to_json(part, orient="records", lines=True, force_ascii=False)
            case _:
                frame.to_parquet(part, index=False)


def write_audit(perturbed: Perturbed, path: Path) -> None:
    """The account as CSV or as a page of its own, by the ending."""
    ending = checked_ending(path, AUDIT_ENDINGS).suffix.lower()
    with whole_file(path) as part:
        if ending == ".csv":
            perturbed.audit().to_csv(part, index=False, lineterminator="\n")
        else:
            part.write_text(audit_page(perturbed, f"Audit of {perturbed.items.name}"), encoding="utf-8")


def _frame(items: ItemSet) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for item in items:
        lists = {"aliases": item.aliases, "gold_answers": item.other_gold_answers, "wrong_answers": item.wrong_answers}
        row = {name: getattr(item, name, "") for name in _COLUMNS}
        rows.append(row | {name: "|".join(values) for name, values in lists.items()})
    shipped = set(shipped_exemplars())
    own = [exemplar for exemplar in items.exemplars if exemplar not in shipped]
    rows += [_exemplar_row(f"exemplar-{number}", exemplar, items) for number, exemplar in enumerate(own, start=1)]
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    frame["perturbation_value"] = frame["perturbation_value"].astype("Float64")
    text = frame.columns.drop("perturbation_value")
    frame[text] = frame[text].fillna("").astype(str)
    return frame.drop(columns=[name for name in ("gold_answers", "wrong_answers") if not frame[name].any()])


def _exemplar_row(place: str, exemplar: Exemplar, items: ItemSet) -> dict[str, object]:
    """An exemplar as a table has it; its answer type is one of its domain's items, by which its passage states it."""
    types = dict.fromkeys(item.answer_type for item in items if item.domain == exemplar.domain)
    fitting = (kind for kind in (*types, *AnswerType) if answers.find(exemplar.context, exemplar.answer, kind))
    return {
        "item_id": place,
        "question_id": place,
        "question": exemplar.question,
        "gold_answer": exemplar.answer,
        "context": exemplar.context,
        "claimed_answer": exemplar.answer,
        "domain": exemplar.domain,
        "answer_type": str(next(fitting, AnswerType.TEXT)),
        "is_exemplar": "true",
    }
