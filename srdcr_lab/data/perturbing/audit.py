"""The account of a perturbation as a table: one row an attempt, and one a row of the table that was left out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from srdcr_lab.data.perturbing.forms import Form, Outcome
from srdcr_lab.data.perturbing.mentions import Change
from srdcr_lab.data.perturbing.table import Perturbed, Refusal
from srdcr_lab.pages import Html, Td, frame_table, html_table, render

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = (
    "outcome", "why", "item_id", "question_id", "domain", "answer_type", "question", "gold_answer", "claimed_answer",
    "perturbation_kind", "perturbation_value", "level", "changes",
)  # fmt: skip
_PARTICULAR = re.compile(r"'.*'|[-+]?\d[\d.,]*")


def audit_frame(perturbed: Perturbed) -> pd.DataFrame:
    """One row an attempt, in the order of the items; rows left out last.

    `why` holds sentences joined by "; "; `changes` is a JSON list of [start in the true passage, before, after].
    """
    import pandas as pd

    rows = [_of_form(form) for form in perturbed.forms] + [_of_refusal(row) for row in perturbed.left_out]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _of_form(form: Form) -> dict[str, object]:
    item, claim = form.standard, form.claim
    return {
        "outcome": form.outcome.value,
        "why": "; ".join(form.why),
        "item_id": f"{item.question_id}@{claim.tag}",
        "question_id": item.question_id,
        "domain": item.domain,
        "answer_type": item.answer_type.value,
        "question": item.question,
        "gold_answer": item.gold_answer,
        "claimed_answer": claim.answer,
        "perturbation_kind": claim.kind.value,
        "perturbation_value": claim.value,
        "level": claim.level.value,
        "changes": json.dumps([[c.start, c.before, c.after] for c in form.changes], ensure_ascii=False),
    }


def _of_refusal(row: Refusal) -> dict[str, object]:
    empty: dict[str, object] = dict.fromkeys(COLUMNS, "")
    told = {"outcome": Outcome.REFUSED.value, "why": row.why, "item_id": row.item_id, "changes": "[]"}
    asked = {"question": row.question, "gold_answer": row.gold_answer, "perturbation_value": None}
    return empty | told | asked


def by_outcome(perturbed: Perturbed) -> pd.DataFrame:
    """Counts of attempts by kind and level, one column an outcome; rows left out are not among them."""
    import pandas as pd

    keys = dict.fromkeys((form.claim.kind.value, form.claim.level.value) for form in perturbed.forms)
    counts = Counter((form.claim.kind.value, form.claim.level.value, form.outcome) for form in perturbed.forms)
    rows = [
        {"perturbation_kind": kind, "level": level, **{o.value: counts[kind, level, o] for o in Outcome}}
        for kind, level in sorted(keys, key=_order)
    ]
    return pd.DataFrame(rows, columns=["perturbation_kind", "level", *(o.value for o in Outcome)])


def _order(key: tuple[str, str]) -> tuple[str, int]:
    return key[0], ["standard", "subtle", "mild", "moderate", "blatant"].index(key[1])


def by_reason(perturbed: Perturbed) -> pd.DataFrame:
    """How often each reason stands in the account, whatever it is about, with one example of it."""
    import pandas as pd

    told = [(form.outcome, why) for form in perturbed.forms for why in form.why]
    told += [(Outcome.REFUSED, row.why) for row in perturbed.left_out]
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for outcome, why in told:
        key = (outcome.value, _PARTICULAR.sub("…", why.partition(": ")[0]))
        counts[key] += 1
        examples.setdefault(key, why)
    rows = [(outcome, n, examples[outcome, kind]) for (outcome, kind), n in counts.most_common()]
    rows.sort(key=lambda row: (row[0] != "refused", -row[1]))
    return pd.DataFrame(rows, columns=["outcome", "n", "for example"])


# -- the account of a perturbation as one HTML page that needs nothing else: no script, no font, no address

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


# -- files around a perturbation: a table read row by row, the items written
