"""The account of a perturbation as a table: one row an attempt, and one a row of the table that was left out."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from srdcr_lab.data.perturbing.forms import Form, Outcome
from srdcr_lab.data.perturbing.table import Perturbed, Refusal

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
