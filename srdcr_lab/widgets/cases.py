"""The cases of a run (one item under one method): what can be asked for, one case as HTML, all of them as a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab.data.items import thaw
from srdcr_lab.measures.groups import with_matches
from srdcr_lab.pages import Html, Td, html_table, render, source
from srdcr_lab.records import Item, Level, Role, Verdict
from srdcr_lab.widgets.transcript import explain_row, passage_html

if TYPE_CHECKING:
    from srdcr_lab.study import Results

STORIES = (
    "believed a false passage",
    "rejected a true passage",
    "context answer wrong, final answer right",
    "context answer right, final answer not",
    "verdict changed",
)
FACETS = {
    "method": "method", "outcome": "outcome", "decision": "decision", "verdict": "V*", "passage": "passage",
    "domain": "domain", "story": "what happened",
}  # fmt: skip
_SYMBOLS = {"R": "Reasonable", "U": "Unreasonable", "?": "not read"}

Key = tuple[str, str, str]  # item, method, and design ("" for none): what tells a case from all others of its run


@dataclass(frozen=True)
class Cases:
    """Rows of `records` with their facets (`FACETS`, each with the values that hold), turns and items. A missing value
    is None."""

    rows: Sequence[dict[str, Any]]
    facets: Sequence[dict[str, tuple[str, ...]]]
    items: Mapping[str, Item]
    said: Mapping[Key, Sequence[Any]]

    @classmethod
    def of(cls, run: Results, methods: Sequence[str] | None = None) -> Cases:
        """The cases of a run by method, all or some of them."""
        items = {item.item_id: item for item in thaw(run.folder / "items.json").items}
        return cls.from_tables(run.records, run.turns, items, methods)

    @classmethod
    def from_tables(
        cls, records: pd.DataFrame, turns: pd.DataFrame, items: Mapping[str, Item], methods: Sequence[str] | None = None
    ) -> Cases:
        """The same from the tables; of an item that is not in `items` the question alone is shown."""
        wanted = list(records["method"].unique()) if methods is None else list(methods)
        chosen = with_matches(records[records["method"].isin(wanted)])
        chosen = chosen.sort_values("method", key=lambda name: name.map(wanted.index), kind="stable")
        rows = _plain(chosen).to_dict("records")
        several = chosen["design"].nunique() > 1
        said: dict[Key, list[Any]] = {}
        for turn in _plain(turns.sort_values("position", kind="stable")).itertuples():
            said.setdefault((turn.item_id, turn.method, turn.design or ""), []).append(turn)
        return cls(rows, [_facets(row, several) for row in rows], items, said)

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, place: int) -> Key:
        row = self.rows[place]
        return row["item_id"], row["method"], row["design"] or ""

    def turns(self, place: int) -> Sequence[Any]:
        """The case's rows of the table `turns`, in order."""
        return self.said.get(self.key(place), ())

    def matching(self, wanted: Mapping[str, str]) -> list[int]:
        """Places of the cases that have all of these facets; an empty value asks for nothing."""
        asked = {name: value for name, value in wanted.items() if value}
        return [i for i, facets in enumerate(self.facets) if all(asked[name] in facets[name] for name in asked)]

    def options(self, facet: str) -> list[str]:
        """The values of a facet that occur, in order of first appearance."""
        values = dict.fromkeys(value for facets in self.facets for value in facets[facet])
        return [story for story in STORIES if story in values] if facet == "story" else list(values)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(object).where(table.notna(), None)


def _facets(row: Mapping[str, Any], several_designs: bool) -> dict[str, tuple[str, ...]]:
    """What a case can be asked for by; nothing where its method has no such thing."""
    has_passage, true = not (row["n_options"] or row["n_documents"]), row["level"] == Level.STANDARD
    facets = {
        "method": row["method"] + (f" · {row['design']}" if several_designs and row["design"] else ""),
        "outcome": row["missing"] or ("right" if row["correct"] else "wrong"),
        "decision": row["decision"],
        "verdict": row["verdict"],
        "passage": ("true" if true else "false") if has_passage else None,
        "domain": row["domain"],
    }
    context, follows = row["context_correct"], row["verdict"] is None and row["final_is_claim"]
    happened = (
        facets["passage"] == "false" and (row["verdict"] == Verdict.REASONABLE or follows),
        facets["passage"] == "true" and row["verdict"] == Verdict.UNREASONABLE,
        context is not None and not context and row["correct"],
        context and not row["correct"],
        len(set(row["verdict_path"] or "") - {"?"}) > 1,
    )
    return {name: (value,) if value else () for name, value in facets.items()} | {
        "story": tuple(compress(STORIES, happened))
    }


def case_html(cases: Cases, place: int, *, blind: bool = False, upto: int | None = None) -> Html:
    """What was asked and shown, what was said in each round, and how it ended.

    `upto` leaves out later rounds, and before the last one the ending; `blind` the truth, the judge and the decision.
    """
    row = cases.rows[place]
    item = cases.items.get(row["item_id"])
    rounds: dict[int, list[Any]] = {}
    for turn in cases.turns(place):
        if not (blind and turn.role in (Role.JUDGE, Role.AGGREGATOR)):
            rounds.setdefault(turn.round, []).append(turn)
    shown = {number: turns for number, turns in rounds.items() if upto is None or number <= upto}
    return render(
        "transcript", "case", row=row, item=item, blind=blind, rounds=shown,
        passage=passage_html(item, truth=not blind) if item and item.context else "",
        answers="" if blind else _answers(row),
        ending=explain_row(row) if len(shown) == len(rounds) and not blind else "",
    )  # fmt: skip


def _answers(row: Mapping[str, Any]) -> Html:
    """Both answers, confidence, and the path of the verdicts; what the case does not have is left out."""
    confidence, agreed = row["self_confidence"], row["agreed_round"]
    lines = {
        "method": row["method"] + (f", design {row['design']}" if row["design"] else ""),
        "passage": _passage(row),
        "prior answer": _judged(row["prior_answer"], row["prior_correct"]),
        "self-confidence": "" if confidence is None else f"{confidence:.3f} ({row['confidence_kind']})",
        "knowledge category": row["knowledge_category"],
        "context answer": _judged(row["context_answer"], row["context_correct"]),
        "verdict path": " → ".join(_SYMBOLS[symbol] for symbol in row["verdict_path"] or ""),
        "agents agreed in round": "" if agreed is None else str(int(agreed)),
    }
    left = "text-align: left"
    return html_table((), [(Td(name, left, head=True), Td(value, left)) for name, value in lines.items() if value])


def _passage(row: Mapping[str, Any]) -> str:
    if row["n_documents"]:
        return f"{row['n_misinforming']} of {row['n_documents']} documents misinform" if row["n_misinforming"] else ""
    if row["n_options"]:
        return ""
    if row["level"] == Level.STANDARD:
        return "true"
    size = row["perturbation_value"]
    amount = "" if size is None else f" {size:+g}" if row["perturbation_kind"] == "offset" else f" {size:g}"
    return f"false: {row['perturbation_kind']}{amount}, {row['level']}"


def _judged(answer: str | None, correct: bool | None) -> str:
    return "" if answer is None else answer + ("" if correct is None else " (right)" if correct else " (wrong)")


def explorer_html(run: Results, methods: Sequence[str] | None = None, title: str = "Transcripts") -> Html:
    """A page with every case of the run (or of some methods): filter, go from case to case, step through the rounds.

    It needs no server, kernel or network. Its policy allows its own script alone, named by its digest.
    """
    cases = Cases.of(run, methods)
    script = source("explorer.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shown = [
        ({f"data-{name}": "; ".join(values) for name, values in facets.items()}, case_html(cases, place))
        for place, facets in enumerate(cases.facets)
    ]
    filters = {facet: (text, cases.options(facet)) for facet, text in FACETS.items()}
    return render("explorer", title=title, label=run.label, cases=shown, filters=filters, script=script, digest=digest)
