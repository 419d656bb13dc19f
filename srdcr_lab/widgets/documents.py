"""Several documents, and how methods went about them side by side, as HTML. Everything untrusted is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.records import DocumentKind, Item, Role
from srdcr_lab.widgets.html import Html

_COLOURS = {
    Role.AGENT.value: "#029e73",
    Role.PROPONENT.value: "#0173b2",
    Role.DEFENDER.value: "#0173b2",
    Role.ADVOCATE.value: "#d55e00",
    Role.CRITIC.value: "#d55e00",
}
_KINDS = {DocumentKind.CORRECT: "right", DocumentKind.MISINFO: "misleading", DocumentKind.NOISE: "beside the point"}


def documents_html(item: Item) -> Html:
    """The question and its documents, with what each asserts marked, and what is known about it (no model is told)."""
    shown = "".join(_document(item, i) for i in range(len(item.documents)))
    return Html(f"<p><b>{escape(item.question)}</b></p>{shown}")


def _document(item: Item, i: int) -> str:
    document = item.documents[i]
    spans = answers.find(document.text, document.answer, item.answer_type, item.unit) if document.answer else []
    text, position = "", 0
    for span in spans:
        text += escape(document.text[position : span.start])
        text += f"<mark>{escape(document.text[span.start : span.end])}</mark>"
        position = span.end
    known = [f"document {document.document_id}", document.source, _KINDS[document.kind] if document.kind else ""]
    return (
        f"<blockquote>{text}{escape(document.text[position:])}<br>"
        f"<small>{escape(', '.join(filter(None, known)))}</small></blockquote>"
    )


def side_by_side(records: pd.DataFrame, turns: pd.DataFrame, item_id: str) -> Html:
    """A column for each method: what was said, in order, and what came of it."""
    rows = records[records["item_id"] == item_id]
    columns = "".join(_column(row, turns[turns["item_id"] == item_id]) for row in rows.itertuples())
    return Html(
        '<div style="display: grid; grid-template-columns: repeat(auto-fit, minmax(15em, 1fr)); gap: 1em; '
        f'align-items: start">{columns}</div>'
    )


def _column(row: Any, turns: pd.DataFrame) -> str:
    said = turns[turns["method"] == row.method].sort_values("position")
    return (
        f"<div><h4>{escape(row.method)}</h4>{''.join(_turn(turn) for turn in said.itertuples())}"
        f"<p><b>{_ending(row)}</b><br><small>{_count(row.calls_alone, 'call')}</small></p></div>"
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _ending(row: Any) -> str:
    given: Sequence[str] = list(row.final_answers)
    if not given:
        why = row.error if isinstance(row.error, str) else row.missing
        return f"no answer ({escape(str(why))})"
    return f"{escape(', '.join(given))}: {'right' if row.correct else 'wrong'}"


def _turn(turn: Any) -> str:
    name = str(turn.role).capitalize() + (f" of document {turn.speaker}" if turn.speaker else "")
    saw = [*(["documents" if not turn.speaker else "its document"] if turn.saw_passage else [])]
    saw += [_count(len(turn.saw_turns), "turn")] if len(turn.saw_turns) else []
    return (
        f'<p style="border-left: 3px solid {_COLOURS.get(turn.role, "#555555")}; padding-left: 0.6em; margin: 0.4em 0">'
        f"<b>{escape(name)}</b> <small>round {turn.round}, saw {escape(' and '.join(saw) or 'nothing')}</small><br>"
        f'<span style="white-space: pre-wrap; overflow-wrap: anywhere">{escape(turn.text)}</span></p>'
    )
