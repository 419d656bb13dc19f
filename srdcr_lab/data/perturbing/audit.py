"""The account of a perturbation as one HTML page that needs nothing else: no script, no font, no address."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from srdcr_lab.data.perturbing.forms import Change, Form
from srdcr_lab.data.perturbing.table import Perturbed, by_outcome, by_reason
from srdcr_lab.pages import Html, Td, frame_table, html_table, render

_AROUND = 90  # characters shown on either side of a change
_FORM_HEADER = ("outcome", "perturbation", "level", "claim", "change", "why")


def audit_page(perturbed: Perturbed, title: str) -> Html:
    """The page: counts, reasons, and per question every attempt with what was changed."""
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
