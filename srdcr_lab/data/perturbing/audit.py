"""The account of a perturbation as one HTML page that needs nothing else: no script, no font, no address."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from srdcr_lab.data.perturbing.forms import Change, Form
from srdcr_lab.data.perturbing.table import Perturbed, by_outcome, by_reason
from srdcr_lab.pages import html_page, html_table

_AROUND = 90  # characters shown on either side of a change
_STYLE = """\
details { border-top: 1px solid #d0d7de; padding: .4em 0; }
summary { cursor: pointer; }
del { background: #ffd7d5; } ins { background: #ccf2d4; text-decoration: none; } mark { background: #fff3b0; }
.accepted { color: #116329; } .flagged { color: #8a5700; } .refused { color: #a40e26; }
"""


def audit_page(perturbed: Perturbed, title: str) -> str:
    """The page: counts, reasons, and per question every attempt with what was changed."""
    standard = sum(item.is_standard for item in perturbed.items)
    pieces = [
        f"<p>{standard} standard items, {len(perturbed.items) - standard} perturbed ones, "
        f"{len(perturbed.left_out)} rows left out. Flagged forms are among the items; refused ones are not.</p>"
    ]
    for heading, frame in (("Outcomes", by_outcome(perturbed)), ("Reasons", by_reason(perturbed))):
        pieces += [f"<h2>{heading}</h2>", html_table(frame.columns, frame.itertuples(index=False))]
    if perturbed.left_out:
        rows = [(row.item_id, row.question, row.gold_answer, row.why) for row in perturbed.left_out]
        pieces += ["<h2>Rows left out</h2>", html_table(("item", "question", "gold answer", "why"), rows)]
    pieces.append("<h2>Questions</h2>")
    for _, group in groupby(perturbed.forms, key=lambda form: form.standard.item_id):
        pieces.append(_question(list(group)))
    return html_page(title, pieces, style=_STYLE, width="75em")


def _question(forms: Sequence[Form]) -> str:
    item = forms[0].standard
    counts = ", ".join(
        f'<span class="{name}">{n} {name}</span>'
        for name in ("accepted", "flagged", "refused")
        if (n := sum(form.outcome.value == name for form in forms))
    )
    rows = "".join(
        f'<tr><td class="{form.outcome.value}">{form.outcome.value}</td><td>{escape(form.claim.tag)}</td>'
        f"<td>{escape(form.claim.level.value)}</td><td dir='auto'>{escape(form.claim.answer)}</td>"
        f"<td dir='auto'>{marked(item.context, form.changes)}</td><td>{escape('; '.join(form.why))}</td></tr>"
        for form in forms
    )
    return (
        f"<details><summary><b dir='auto'>{escape(item.question)}</b> {escape(item.gold_answer)} · {counts}</summary>"
        f"<table><tr><th>outcome</th><th>perturbation</th><th>level</th><th>claim</th><th>change</th><th>why</th></tr>"
        f"{rows}</table></details>"
    )


def marked(passage: str, changes: Sequence[Change]) -> str:
    """The passage around each change as HTML: what stood there struck out, what stands there now beside it."""
    pieces: list[str] = []
    done = 0
    for each in changes:
        start, end = each.start, each.start + len(each.before)
        if start - done > 2 * _AROUND:
            pieces.append(escape(passage[done : done + _AROUND]) if done else "")
            pieces.append(" … " + escape(passage[start - _AROUND : start]))
        else:
            pieces.append(escape(passage[done:start]))
        pieces.append(f"<del>{escape(each.before)}</del> <ins>{escape(each.after)}</ins>")
        done = end
    if changes:
        tail = passage[done : done + _AROUND]
        pieces.append(escape(tail) + (" …" if done + _AROUND < len(passage) else ""))
    return "".join(pieces)
