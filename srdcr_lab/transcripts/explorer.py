"""The transcript explorer: a page with the cases of a run, one item under one method each, and a reader's verdicts.

A reader filters, searches, steps, reads why, sees what a speaker was sent, and rules; the page saves the verdicts as a
small CSV, which `reader_agreement` compares with the Judge's. No model is called, and no kernel is needed.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.lib.page import Html, interval, render, source
from srdcr_lab.lib.statistics import shares
from srdcr_lab.models.store import as_file
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.transcripts.cases import FACETS, Cases, said
from srdcr_lab.transcripts.views import messages_in

if TYPE_CHECKING:
    from srdcr_lab.study import Results

_COLUMNS = ("item_id", "method", "design", "verdict", "blind")


def explorer_html(
    run: Results, methods: Sequence[str] | None = None, title: str = "Transcripts", *, store: str | Path | None = None
) -> Html:
    """A page with every case of the run (or of some methods): filter, search, go from case to case, step through the
    rounds, rule for yourself; by the keyboard too.

    What each speaker was sent, and its raw reply, is read from the file `store`; default: the one in the run's folder,
    if any. The page needs no server, kernel or network; its policy allows its own script alone, named by its digest.
    """
    return cases_page(Cases.of(run, methods), title, run.label, store_of(run, store))


def save_explorer(run: Results, path: str | Path, *, store: str | Path | None = None) -> Path:
    """Write the explorer of every method of the run that speaks in turns; the file, its folder made if needed.

    `store` is read for what was sent where the run has no store of its own.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    spoken = list(run.turns["method"].unique())
    page = explorer_html(run, spoken, "Debates, turn by turn", store=run.store or store)
    path.write_text(page, encoding="utf-8")
    return path


def cases_page(cases: Cases, title: str, label: str = "", store: Path | None = None) -> Html:
    """The page of `explorer_html`. Of the messages every line is in it once: a debate's prompts repeat its turns."""
    script = source("explorer.js")
    lines: dict[str, int] = {}
    sent: list[list[tuple[str, list[int]]]] = []
    with messages_in(store) as parts_of:

        def numbered(turn: Any) -> int:
            parts = [(heading, text.split("\n")) for heading, text in parts_of(turn)] if parts_of else []
            sent.append([(heading, [lines.setdefault(line, len(lines)) for line in text]) for heading, text in parts])
            return len(sent) - 1

        shown = [
            ({f"data-{name}": "; ".join(values) for name, values in facets.items()}
             | {"data-key": json.dumps(cases.key(place))},
             cases.html(place, numbered if parts_of else None))
            for place, facets in enumerate(cases.facets)
        ]  # fmt: skip
    return render(
        "explorer", title=title, label=label, cases=shown, start=cases.start, script=script,
        labels=[(cases.label(place), cases.label(place, blind=True)) for place in range(len(cases))],
        filters={facet: (text, [(said(value), value) for value in cases.options(facet)])
                 for facet, text in FACETS.items()},
        sent={"lines": list(lines), "turns": sent},
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )  # fmt: skip


def store_of(run: Results, store: str | Path | None) -> Path | None:
    """The file that keeps what was sent and came back in a run: the one given, or the run's own, if any."""
    return as_file(Path(store)) if store is not None else run.store


class ReaderVerdict(StrEnum):
    REASONABLE = "REASONABLE"
    UNREASONABLE = "UNREASONABLE"
    CANNOT_TELL = "CANNOT_TELL"


def load_verdicts(path: str | Path) -> pd.DataFrame:
    """A reader's verdicts, from the file that the page saves: `item_id`, `method`, `design` ("" for none), `verdict`,
    and whether it was given `blind`, without sight of the judge, the decision and the truth. `BadInput` for another
    file."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
    except (OSError, ValueError, csv.Error):
        raise BadInput(f"{path} cannot be read as the verdicts of a reader") from None
    if tuple(head) != _COLUMNS:
        raise BadInput(f"{path} has not the columns {', '.join(_COLUMNS)}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(_COLUMNS) or row[3] not in list(ReaderVerdict) or row[4] not in ("True", "False"):
            expected = f"{', '.join(_COLUMNS)} with one of {', '.join(ReaderVerdict)}, then True or False"
            raise BadInput(f"{path}, row {number}: expected {expected}")
    return pd.DataFrame(rows, columns=list(_COLUMNS)).assign(blind=[row[4] == "True" for row in rows])


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two raters agree, with a 95 % interval clustered on the question, and Cohen's κ (NaN for one label)."""

    n: int
    n_questions: int
    n_agree: int
    share: float
    low: float
    high: float
    kappa: float


def agreement(one: ArrayLike, other: ArrayLike, questions: ArrayLike) -> Agreement:
    """Agreement of two raters, item by item; leave out beforehand what one of them has not decided. Ours.

    >>> agreement(["R", "R", "U", "U"], ["R", "U", "U", "U"], ["a", "b", "c", "d"]).kappa
    0.5
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = np.asarray(one, object), np.asarray(other, object)
    items = pd.DataFrame({"question_id": questions, "same": first == second})
    kappa = float(cohen_kappa_score(list(first), list(second))) if len({*first, *second}) > 1 else math.nan
    row = shares(items, items["same"]).drop(columns="n_missing").to_dict("records")[0]
    return Agreement(**row, n_agree=int(items["same"].sum()), kappa=kappa)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Reader and judge on the cases that both have decided, and how often each of them is right about the passage.

    Left out are `n_cannot_tell` cases of the reader, and `n_unruled` whose V* is UNPARSED or that have none.
    """

    agreement: Agreement
    reader_right: int
    judge_right: int
    n_cannot_tell: int
    n_unruled: int

    def __str__(self) -> str:
        both, left = self.agreement, f"{self.n_cannot_tell} cannot tell, {self.n_unruled} without a verdict of a judge"
        if not both.n:
            return f"No case yet on which both the reader and the judge have ruled ({left})."
        kappa = f"κ = {both.kappa:.2f}" if both.kappa == both.kappa else "κ undefined (both said one thing only)"
        return (
            f"The reader agrees with the judge on {both.n_agree} of {both.n}: "
            f"{interval(both.share, both.low, both.high)}, {kappa}; left out: {left}. Right about the passage: "
            f"the reader on {self.reader_right}, the judge on {self.judge_right} of {both.n}."
        )


def reader_agreement(run: Results, verdicts: pd.DataFrame, *, blind: bool = False) -> Comparison:
    """The reader (see `load_verdicts`) beside V*, on the verdicts given, or on those given `blind` alone."""
    cases = Cases.of(run)
    rows = {cases.key(place): row for place, row in enumerate(cases.rows)}
    given = verdicts[verdicts["blind"]] if blind else verdicts
    keyed = zip(given["item_id"], given["method"], given["design"], given["verdict"], strict=True)
    ruled = [(rows[tuple(key)], verdict) for *key, verdict in keyed if tuple(key) in rows]
    decided = [(row, verdict) for row, verdict in ruled if verdict != ReaderVerdict.CANNOT_TELL]
    both = [(row, verdict) for row, verdict in decided if row["verdict"] not in (None, Verdict.UNPARSED)]
    reader, judge = [verdict for _, verdict in both], [row["verdict"] for row, _ in both]
    truth = [Verdict.REASONABLE if row["level"] == Level.STANDARD else Verdict.UNREASONABLE for row, _ in both]
    return Comparison(
        agreement(reader, judge, [row["question_id"] for row, _ in both]),
        reader_right=sum(map(eq, reader, truth)),
        judge_right=sum(map(eq, judge, truth)),
        n_cannot_tell=len(ruled) - len(decided),
        n_unruled=len(decided) - len(both),
    )
