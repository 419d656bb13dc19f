"""What a notebook shows of a run without a kernel: the debates of one item, side by side.

Plain HTML, from the tables of a run; no model is called. Which case is shown is a rule's choice, so it shows no rate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.lib.page import Html, render
from srdcr_lab.records import BadInput, Item
from srdcr_lab.records.names import called
from srdcr_lab.transcripts.cases import Cases
from srdcr_lab.transcripts.explorer import store_of
from srdcr_lab.transcripts.views import messages_in

if TYPE_CHECKING:
    from srdcr_lab.study import Results


def contested(run: Results, design: str = "acvd", *, among: Collection[str] = ()) -> Item:
    """The item whose debate `Cases.contested` takes; bad input where the run holds no debate of this design.

    `among`: ids of items of which it is to be one, such as those of another run; where it holds none of them, of all.
    """
    records = run.records[run.records["design"] == design]
    shared = records[records["item_id"].isin(list(among))]
    cases = Cases(records if shared.empty else shared, run.turns, run.items, ["sr_dcr"])
    if (place := cases.contested) is None:
        raise BadInput(f"{run.folder.name} of {run.label} holds no debate ({called(design)})")
    return cases.items[cases.rows[place]["item_id"]]


def beside_html(
    runs: Sequence[Results], item_id: str, designs: Sequence[str] = ("acvd",), *, store: str | Path | None = None
) -> Html:
    """One item's debates of SR-DCR, round beside round: a column for each of these designs that a run held of it.

    Of runs of one model and design the first is shown. `store`: that of the runs without one of their own. Bad input
    where no run held any.
    """
    columns: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        cases = Cases.of(run, ["sr_dcr"], designs)
        held = [place for place in range(len(cases)) if cases.key(place)[0] == item_id]
        with messages_in(store_of(run, run.store or store) if held else None) as sent:
            for place in held:
                name = f"{run.label} · {called('sr_dcr', cases.rows[place]['design'])}"
                if name not in columns:
                    columns[name] = cases.column(place, name, sent)
    if not columns:
        raise BadInput(f"none of these runs holds a debate ({', '.join(map(called, designs))}) of {item_id}")
    numbers = sorted({number for case in columns.values() for number in case["rounds"]})
    return render("transcript", "beside", cases=list(columns.values()), numbers=numbers)
