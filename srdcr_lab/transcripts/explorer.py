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
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab.lib.page import Html, render, source
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


def reader_agreement(run: Results, verdicts: pd.DataFrame, *, blind: bool = False) -> pd.DataFrame:
    """One row: how often the reader (see `load_verdicts`) and the Judge agree on the passages that both ruled on. Ours.

    `share` with its interval clustered on the question, Cohen's `kappa` (NaN where both said one thing only), and the
    shares on which each of them is right about the passage. Left out are `n_cannot_tell` cases of the reader, and
    `n_unruled` without a verdict of the Judge that could be read. `blind`: only verdicts given without sight of the
    Judge.
    """
    from sklearn.metrics import cohen_kappa_score

    keys = ["item_id", "method", "design"]
    records = run.records.assign(design=run.records["design"].fillna(""))
    both = verdicts[verdicts["blind"]] if blind else verdicts
    both = both.rename(columns={"verdict": "reader"}).merge(
        records[[*keys, "question_id", "level", "verdict"]], on=keys
    )
    decided = both[both["reader"] != ReaderVerdict.CANNOT_TELL]
    ruled = decided[decided["verdict"].isin([Verdict.REASONABLE, Verdict.UNREASONABLE])]
    reader, judge = ruled["reader"].astype(str), ruled["verdict"].astype(str)
    truth = ruled["level"].eq(Level.STANDARD).map({True: "REASONABLE", False: "UNREASONABLE"})
    kappa = cohen_kappa_score(list(reader), list(judge)) if len({*reader, *judge}) > 1 else math.nan
    return shares(ruled, reader == judge).drop(columns="n_missing").assign(
        kappa=kappa, reader_right=(reader == truth).mean(), judge_right=(judge == truth).mean(),
        n_cannot_tell=len(both) - len(decided), n_unruled=len(decided) - len(ruled),
    )  # fmt: skip
