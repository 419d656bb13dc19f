"""How many false forms of hard passages give themselves away: `python tools/hard_passages.py [SOURCE …]`.

The frozen passages (tests/fixtures/hard_passages.csv) say what is right for each: `change`, after which none of the
strings in `gone` may be left, or `refuse`. Printed are the share of unflagged forms that are faulty and the share of
passages wrongly refused, by who wrote them. Of a SOURCE (as `srdcr data perturb` takes it) nobody has said what is
right: printed are the outcomes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from srdcr_lab.answers.kinds import Audit
from srdcr_lab.data.load import read_source
from srdcr_lab.data.perturbing import Form, Perturbed, perturb
from srdcr_lab.data.tables import checked_rows
from srdcr_lab.records import BadInput, Item

PASSAGES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "hard_passages.csv"
FAULTY, REFUSED = 0.05, 0.10  # the aims


class Judged(NamedTuple):
    """What became of a hard passage: its forms, those of them that are unflagged and faulty, and why none was made."""

    row: dict[str, str]
    usable: list[Form]
    unflagged: list[Form]
    faulty: list[Form]
    refused: str


def judged(frame: pd.DataFrame) -> Iterator[Judged]:
    """Perturb a table of hard passages as a user's table without types, and judge each row."""
    rows = [entry for _, entry in checked_rows(frame[["question", "gold_answer", "context"]], PASSAGES.name)]
    made = perturb([row for row in rows if isinstance(row, Item)])
    for place, row in enumerate(frame.to_dict("records")):
        forms = [form for form in made.forms if form.standard.question == row["question"]]
        usable = [form for form in forms if form.item]
        unflagged = [form for form in usable if form.outcome is Audit.ACCEPTED]
        faulty = [form for form in unflagged if row["handling"] == "refuse" or left(form, row["gone"])]
        left_out = [each.why for each in made.left_out if each.question == row["question"]]
        left_out += [str(rows[place])] if isinstance(rows[place], BadInput) else []
        why = "; ".join(dict.fromkeys([*left_out, *(why for form in forms for why in form.why)]))
        yield Judged(row, usable, unflagged, faulty, "" if usable or row["handling"] == "refuse" else why)


def left(form: Form, gone: str) -> list[str]:
    """The strings that should have gone and are still in a false passage."""
    passage = form.item.context if form.item else ""
    return [text for text in gone.split("|") if text and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", passage)]


def rates(rows: list[Judged]) -> tuple[float, float, str]:
    """The share of faulty forms among the unflagged, of wrong refusals among what can be changed, and both in words."""
    forms, faulty = (sum(len(getattr(row, name)) for row in rows) for name in ("unflagged", "faulty"))
    usable = sum(len(row.usable) for row in rows)
    to_change = [row for row in rows if row.row["handling"] == "change"]
    refused = sum(bool(row.refused) for row in to_change)
    told = (
        f"{len(rows)} passages; faulty: {faulty} of {forms} unflagged forms ({faulty / max(forms, 1):.0%}); "
        f"wrongly refused: {refused} of {len(to_change)} passages ({refused / max(len(to_change), 1):.0%}); "
        f"flagged: {usable - forms} of {usable} forms"
    )
    return faulty / max(forms, 1), refused / max(len(to_change), 1), told


def outcomes(source: str) -> Perturbed:
    items, left_out = read_source(source)
    return perturb(items, left_out=left_out)


def main(sources: list[str]) -> int:
    for source in sources:
        print(f"{source}: {outcomes(source).sentence()}")
    if sources:
        return 0
    frame = pd.read_csv(PASSAGES, keep_default_na=False, dtype=str)
    everything = list(judged(frame))
    for row in everything:
        for form in row.faulty[:1]:
            print(f"faulty {form.claim.tag}: {form.item.context if form.item else ''}")
        if row.refused:
            print(f"refused: {row.row['question']} {row.refused}")
    for author in dict.fromkeys(frame["written_by"]):
        print(f"{author}: {rates([row for row in everything if row.row['written_by'] == author])[2]}")
    faulty, refused, told = rates(everything)
    print(f"all: {told}")
    return int(faulty > FAULTY or refused > REFUSED)


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except BadInput as error:
        raise SystemExit(f"{error}") from None
