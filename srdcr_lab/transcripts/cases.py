"""The cases of a run, one item under one method each: what they can be asked for, and each of them as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab.lib.groups import with_matches
from srdcr_lab.lib.page import Html, Td, html_table, render
from srdcr_lab.records import Item, Level, Role, Verdict
from srdcr_lab.records.names import called, category_called, kind_called
from srdcr_lab.records.vocabulary import visible
from srdcr_lab.transcripts.views import by_round, explain_row, passage_html, withdrawn

if TYPE_CHECKING:
    from srdcr_lab.study import Results

STORIES = (
    "believed a false passage", "rejected a true passage", "rejected a false passage first, believed it in the end",
    "prior answer right, final answer wrong", "context answer wrong, final answer right",
    "context answer right, final answer not", "verdict changed", "a ruling could not be read",
    "a ruling without its line, asked for again",
)  # fmt: skip
FACETS = {
    "method": "method", "outcome": "outcome", "decision": "decision", "verdict": "V*", "passage": "passage",
    "domain": "domain", "story": "what happened",
}  # fmt: skip
Key = tuple[str, str, str]  # item, method, and design ("" for none): what tells a case from all others of its run
_SYMBOLS = {"R": "Reasonable", "U": "Unreasonable", "?": "not read"}


class Cases:
    """The cases of a run by method, all or some of them: `rows` of records, with `facets` (see `FACETS`), and turns.

    Of an item that is not in `items` the question alone is shown. A missing value is None.
    """

    def __init__(
        self,
        records: pd.DataFrame,
        turns: pd.DataFrame,
        items: Mapping[str, Item],
        methods: Sequence[str] | None = None,
    ) -> None:
        wanted = list(records["method"].unique()) if methods is None else list(methods)
        chosen = with_matches(records[records["method"].isin(wanted)])
        chosen = chosen.sort_values("method", key=lambda name: name.map(wanted.index), kind="stable")
        self.items, self.rows = items, _plain(chosen).to_dict("records")
        self._turns: dict[Key, list[Any]] = {}
        for turn in _plain(turns.sort_values("position", kind="stable")).itertuples():
            self._turns.setdefault((turn.item_id, turn.method, turn.design or ""), []).append(turn)
        several = chosen["design"].nunique() > 1
        self.facets = [_facets(row, self.turns(place), several) for place, row in enumerate(self.rows)]

    @classmethod
    def of(cls, run: Results, methods: Sequence[str] | None = None, designs: Sequence[str] | None = None) -> Cases:
        records = run.records if designs is None else run.records[run.records["design"].isin(list(designs))]
        return cls(records, run.turns, run.items, methods)

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, place: int) -> Key:
        row = self.rows[place]
        return row["item_id"], row["method"], row["design"] or ""

    def turns(self, place: int) -> Sequence[Any]:
        """The case's rows of the table `turns`, in order."""
        return self._turns.get(self.key(place), ())

    @property
    def start(self) -> int:
        """The case to open on: the first of a false passage, before others one on which a judge ruled."""

        def wanted(place: int) -> tuple[bool, bool, bool]:
            facets = self.facets[place]
            return "false" in facets["passage"], bool(facets["verdict"]), bool(self.turns(place))

        return max(range(len(self)), key=wanted, default=0)

    @property
    def contested(self) -> int | None:
        """The first debate over a false passage in which the Judge ruled both ways and a debater did not only repeat
        itself; where there is none, the first that has as many of these, in this order. None without a debate."""

        def argued(place: int) -> tuple[bool, bool, bool]:
            spoken = [turn for turn in self.turns(place) if turn.role != Role.JUDGE]
            new = len({(turn.role, turn.speaker, turn.text) for turn in spoken}) > len(
                {(turn.role, turn.speaker) for turn in spoken}
            )
            ruled = set(self.rows[place]["verdict_path"] or "") - {"?"}
            return "false" in self.facets[place]["passage"], len(ruled) > 1, new

        return max((place for place in range(len(self)) if self.turns(place)), key=argued, default=None)

    def label(self, place: int, *, blind: bool = False) -> str:
        """The case in a line of a list; `blind`, by its method and question alone."""
        facets, names = self.facets[place], ("method",) if blind else ("passage", "method", "verdict", "outcome")
        parts = [f"{value} passage" if name == "passage" else said(value) for name in names for value in facets[name]]
        return " · ".join([*parts, visible(self.rows[place]["question"], 120)])

    def html(self, place: int, sent: Callable[[Any], object] | None = None) -> Html:
        """What was asked and shown, what was said in each round, and how it ended. `sent`: see `by_round`."""
        return render("transcript", "case", **self._shown(place, sent))

    def column(self, place: int, name: str, sent: Callable[[Any], object] | None = None) -> dict[str, Any]:
        """The case as a column of that name, for the macro `beside` of the templates."""
        return {"name": name, **self._shown(place, sent)}

    def _shown(self, place: int, sent: Callable[[Any], object] | None) -> dict[str, Any]:
        row = self.rows[place]
        item = self.items.get(row["item_id"])
        return {
            "row": row, "item": item, "passage": passage_html(item) if item and item.context else "",
            "answers": _answers(row), "rounds": by_round(self.turns(place), sent), "elsewhere": sent is None,
            "ending": explain_row(row),
        }  # fmt: skip

    def options(self, facet: str) -> list[str]:
        """The values of a facet that occur, in order of first appearance."""
        values = dict.fromkeys(value for facets in self.facets for value in facets[facet])
        return [story for story in STORIES if story in values] if facet == "story" else list(values)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(object).where(table.notna(), None)


def said(value: str) -> str:
    """A value of a facet as its reader sees it: a method under a design by their names."""
    return " · ".join(map(called, value.split(" · ")))


def _facets(row: Mapping[str, Any], turns: Sequence[Any], several_designs: bool) -> dict[str, tuple[str, ...]]:
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
    believed, path = row["verdict"] == Verdict.REASONABLE, row["verdict_path"] or ""
    happened = (
        facets["passage"] == "false" and (believed or follows),
        facets["passage"] == "true" and row["verdict"] == Verdict.UNREASONABLE,
        facets["passage"] == "false" and believed and "U" in path,
        row["prior_correct"] and facets["outcome"] == "wrong",
        context is not None and not context and row["correct"],
        context and not row["correct"],
        len(set(path) - {"?"}) > 1,
        "?" in path,
        any(withdrawn(turns)),
    )
    return {name: (value,) if value else () for name, value in facets.items()} | {
        "story": tuple(compress(STORIES, happened))
    }


def _answers(row: Mapping[str, Any]) -> Html:
    """Both answers, confidence, and the path of the verdicts; what the case does not have is left out."""
    confidence, agreed = row["self_confidence"], row["agreed_round"]
    lines = {
        "method": called(row["method"], row["design"]),
        "passage": passage_of(row),
        "prior answer": judged(row["prior_answer"], row["prior_correct"]),
        "self-confidence": "" if confidence is None else f"{confidence:.3f} ({kind_called(row['confidence_kind'])})",
        "knowledge category": category_called(row["knowledge_category"]),
        "context answer": judged(row["context_answer"], row["context_correct"]),
        "verdict path": " → ".join(_SYMBOLS[symbol] for symbol in row["verdict_path"] or ""),
        "agents agreed in round": "" if agreed is None else str(int(agreed)),
    }
    left = "text-align: left"
    return html_table((), [(Td(name, left, head=True), Td(value, left)) for name, value in lines.items() if value])


def passage_of(row: Mapping[str, Any]) -> str:
    if row["n_documents"]:
        return f"{row['n_misinforming']} of {row['n_documents']} documents misinform" if row["n_misinforming"] else ""
    if row["n_options"]:
        return ""
    if row["level"] == Level.STANDARD:
        return "true"
    size = row["perturbation_value"]
    amount = "" if size is None else f" {size:+g}" if row["perturbation_kind"] == "offset" else f" {size:g}"
    return f"false: {row['perturbation_kind']}{amount}, {row['level']}"


def judged(answer: str | None, correct: bool | None) -> str:
    return "" if answer is None else answer + ("" if correct is None else " (right)" if correct else " (wrong)")
