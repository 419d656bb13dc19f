"""Files around a perturbation: a table read row by row, wrong rows set aside; items written, and the account of them.

The account is a CSV, or an HTML page that needs nothing else: no script, no font, no address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.facts import exemplars as shipped_exemplars
from srdcr_lab.data.forms import Change, Form
from srdcr_lab.data.items import ItemSet, standard_item
from srdcr_lab.data.load import load_items
from srdcr_lab.data.perturbing import Perturbed, Refusal, by_outcome, by_reason
from srdcr_lab.data.tables import checked_rows, read_table
from srdcr_lab.pages import Html, Td, frame_table, html_table, render
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
_AROUND = 90  # characters shown on either side of a change
_FORM_HEADER = ("outcome", "perturbation", "level", "claim", "change", "why")


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
    """The path; bad input where its ending is none of these, or its folder does not exist."""
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
    shipped = set(shipped_exemplars())
    own = [exemplar for exemplar in items.exemplars if exemplar not in shipped]
    exemplars = [_as_item(f"exemplar-{number}", exemplar, items) for number, exemplar in enumerate(own, start=1)]
    frame = replace(items, items=(*items, *exemplars), exemplars=()).frame()
    frame = frame.rename(columns={"other_gold_answers": "gold_answers"})
    for lists in ("aliases", "gold_answers", "wrong_answers"):
        frame[lists] = frame[lists].map("|".join)
    frame["is_exemplar"] = [*[""] * len(items), *["true"] * len(exemplars)]
    frame.loc[frame["is_exemplar"] == "true", ["perturbation_kind", "level"]] = ""
    text = [name for name in _COLUMNS if name != "perturbation_value"]
    frame = frame[[*_COLUMNS]].astype({"perturbation_value": "Float64"} | dict.fromkeys(text, str))
    return frame.drop(columns=[name for name in ("gold_answers", "wrong_answers") if not frame[name].any()])


def _as_item(item_id: str, exemplar: Exemplar, items: ItemSet) -> Item:
    """An exemplar as an item, of the first type of its domain's items by which its passage states its answer."""
    question, answer, context, domain = exemplar.question, exemplar.answer, exemplar.context, exemplar.domain
    types = dict.fromkeys(item.answer_type for item in items if item.domain == domain)
    fitting = (kind for kind in (*types, *AnswerType) if answers.find(context, answer, kind))
    answer_type = next(fitting, AnswerType.TEXT)
    return standard_item(item_id, question, answer, context, domain=domain, answer_type=answer_type)


def audit_page(perturbed: Perturbed, title: str) -> Html:
    """The account as a page: counts, reasons, and per question every attempt with what was changed."""
    tables = {"Outcomes": frame_table(by_outcome(perturbed)), "Reasons": frame_table(by_reason(perturbed))}
    if perturbed.left_out:
        rows = [(row.item_id, row.question, row.gold_answer, row.why) for row in perturbed.left_out]
        tables["Rows left out"] = html_table(("item", "question", "gold answer", "why"), rows)
    questions = []
    for _, group in groupby(perturbed.forms, key=lambda form: form.standard.item_id):
        forms = list(group)
        counts = {name: sum(form.outcome == name for form in forms) for name in ("accepted", "flagged", "refused")}
        questions.append((forms[0].standard, counts, html_table(_FORM_HEADER, map(_form_row, forms))))
    n_standard = sum(item.is_standard for item in perturbed.items)
    return render("audit", title=title, perturbed=perturbed, n_standard=n_standard, tables=tables, questions=questions)


def _form_row(form: Form) -> tuple[object, ...]:
    claim, change = form.claim, marked(form.standard.context, form.changes)
    outcome = Td(form.outcome.value, css=form.outcome.value)
    return outcome, claim.tag, claim.level.value, claim.answer, change, "; ".join(form.why)


def marked(passage: str, changes: Sequence[Change]) -> Html:
    """The passage around each change as HTML: what stood there struck out, what stands there now beside it."""
    pieces: list[tuple[str, str, str]] = []
    done = 0
    for change in changes:
        between = passage[done : change.start]
        if len(between) > 2 * _AROUND:
            between = f"{between[:_AROUND] if done else ''} … {between[-_AROUND:]}"
        pieces.append((between, change.before, change.after))
        done = change.start + len(change.before)
    if changes:
        tail = passage[done : done + _AROUND]
        pieces.append((tail + (" …" if done + _AROUND < len(passage) else ""), "", ""))
    return render("parts", "changed", pieces=pieces)
