"""What was asked, said and decided: passages, documents, debates, whole cases as HTML, and decisions in a sentence.

Everything that came from a passage, a file or a model is escaped by the templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.data.items import thaw
from srdcr_lab.measures.groups import with_matches
from srdcr_lab.pages import Html as Html
from srdcr_lab.pages import Td, html_table, render
from srdcr_lab.pages import captioned as captioned  # both belong to the floor
from srdcr_lab.protocols import METHODS, Choices, Outcome
from srdcr_lab.records import Decision, Item, Level, Role, Verdict

if TYPE_CHECKING:
    from srdcr_lab.study import Results

STORIES = (
    "believed a false passage", "rejected a true passage", "context answer wrong, final answer right",
    "context answer right, final answer not", "verdict changed",
)  # fmt: skip
FACETS = {
    "method": "method", "outcome": "outcome", "decision": "decision", "verdict": "V*", "passage": "passage",
    "domain": "domain", "story": "what happened",
}  # fmt: skip

Key = tuple[str, str, str]  # item, method, and design ("" for none): what tells a case from all others of its run
_SYMBOLS = {"R": "Reasonable", "U": "Unreasonable", "?": "not read"}


def explain(item: Item, outcome: Outcome, choices: Choices) -> str:
    """Why SR-DCR decided so: verdict, confidence against τ, and whether the answer is right."""
    ruling, confidence = outcome.ruling, outcome.confidence
    if ruling is None or confidence is None:
        return "This method does not use the decision rule."
    reason = f"V* = {ruling.verdict}"
    if outcome.decision is not Decision.USE_CONTEXT:
        reason += f" and {_compared(confidence.value, confidence.kind, choices.tau)}"
    answer = None if outcome.answer is None or outcome.missing else outcome.answer.value
    return f"{reason}, so the decision is {_decided(outcome.decision, answer)}. The truth is {item.gold_answer}."


def explain_row(row: Mapping[str, Any]) -> str:
    """The same for a row of the table records, of any method; a missing value is None."""
    truth = f"The truth is {' and '.join(row['gold_answers'])}."
    if row["missing"] == "error":
        return f"There is no answer, and accuracy counts that as wrong: {row['error']}. {truth}"
    answer = None if row["final_answer"] is None else " and ".join(row["final_answers"])
    if row["decision"] is not None:
        return f"{_reason(row)}, so the decision is {_decided(row['decision'], answer)}. {truth}"
    if answer is None:
        return f"No answer could be read in the reply. {truth}"
    return f"The method answers {answer}. {truth}"


def _decided(decision: str | None, answer: str | None) -> str:
    return f"{decision} and there is no answer" if answer is None else f"{decision}: {answer}"


def _reason(row: Mapping[str, Any]) -> str:
    """What the decision followed from."""
    name, verdict = row["method"], row["verdict"]
    method = METHODS.get(name)
    if name == "golden":
        return "This reference knows whether the passage is true"
    if row["context_confidence"] is not None:
        ranked = ", compared by rank among all items" if name.startswith("calibrated") else ""
        return (
            f"Mean token probability is {_number(row['self_confidence'])} for the prior answer and "
            f"{_number(row['context_confidence'])} for the context answer{ranked}"
        )
    if verdict is None and (method is None or method.debates):
        return "Prior and context answer agree without a debate"
    belief = _compared(row["self_confidence"], row["confidence_kind"], row["tau"])
    if verdict is None:
        return belief
    weighed = row["decision"] != Decision.USE_CONTEXT and verdict != Verdict.UNPARSED
    if not weighed or method is None or not method.uses_confidence:
        return f"V* = {verdict}"
    ignored = row["decision"] == Decision.USE_PRIOR and not _reaches(row["self_confidence"], row["tau"])
    return f"V* = {verdict} and {belief}" + (" (which this preset leaves out)" if ignored else "")


def _compared(confidence: float | None, kind: str, tau: float) -> str:
    relation = "≥" if _reaches(confidence, tau) else "not ≥"
    return f"Conf = {_number(confidence)} ({kind}) is {relation} τ = {tau:g}"


def _reaches(confidence: float | None, tau: float) -> bool:
    return confidence is not None and confidence >= tau


def _number(value: float | None) -> str:
    return "missing" if value is None else f"{value:.3f}"


def passage_html(item: Item, *, truth: bool = True) -> Html:
    """Question and passage, with what the passage claims marked; and whether that is the `truth`."""
    return _view("passage", item=item, pieces=_marked(item.context, item.claimed_answer, item), truth=truth)


def documents_html(item: Item) -> Html:
    """The question and its documents: what each asserts is marked, and what only we know of it stands below."""
    return _view("documents", item=item, pieces=[_marked(each.text, each.answer, item) for each in item.documents])


def _marked(text: str, answer: str, item: Item) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is a mention of the answer."""
    pieces, position = [], 0
    for span in answers.find(text, answer, item.answer_type, item.unit) if answer else []:
        pieces += [(text[position : span.start], False), (text[span.start : span.end], True)]
        position = span.end
    return [*pieces, (text[position:], False)]


def options_html(item: Item) -> Html:
    """The question with its passage and its options; the gold one is marked."""
    return _view("options", item=item)


def debate_html(outcome: Outcome) -> Html:
    """The debate round by round, with what each speaker saw, and the verdict with the round since which it stands."""
    return _view("debate", debate=outcome.debate, final=outcome.ruling)


def side_by_side(records: pd.DataFrame, turns: pd.DataFrame, item_id: str) -> Html:
    """A column for each method: what was said, in order, and what came of it."""
    said = turns[turns["item_id"] == item_id].sort_values("position", kind="stable")
    rows = records[records["item_id"] == item_id].itertuples()
    return _view("columns", columns=[(row, said[said["method"] == row.method].itertuples()) for row in rows])


def stances_html(turns: pd.DataFrame, item_id: str, method: str = "cfmad") -> Html:
    """One question's debate from the table `turns`: chains of thought, then each stance by itself, then the judge."""
    chosen = turns[(turns["item_id"] == item_id) & (turns["method"] == method)].sort_values("position")
    about, judged = chosen["stance"].fillna(""), chosen["role"] == Role.JUDGE
    parts = {"Where the stances come from": (about == "") & ~judged}
    parts |= {f"Stance: {stance}": about == stance for stance in dict.fromkeys(about[about != ""])}
    parts["Judge"] = judged
    said = {heading: list(chosen[rows].itertuples()) for heading, rows in parts.items() if rows.any()}
    return _view("stances", parts=said, method=method, item_id=item_id)


def _view(macro: str, **values: object) -> Html:
    return render("transcript", macro, **values)


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
        several = chosen["design"].nunique() > 1
        self.facets = [_facets(row, several) for row in self.rows]
        self._turns: dict[Key, list[Any]] = {}
        for turn in _plain(turns.sort_values("position", kind="stable")).itertuples():
            self._turns.setdefault((turn.item_id, turn.method, turn.design or ""), []).append(turn)

    @classmethod
    def of(cls, run: Results, methods: Sequence[str] | None = None) -> Cases:
        items = {item.item_id: item for item in thaw(run.folder / "items.json").items}
        return cls(run.records, run.turns, items, methods)

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, place: int) -> Key:
        row = self.rows[place]
        return row["item_id"], row["method"], row["design"] or ""

    def turns(self, place: int) -> Sequence[Any]:
        """The case's rows of the table `turns`, in order."""
        return self._turns.get(self.key(place), ())

    def html(self, place: int, *, blind: bool = False, upto: int | None = None) -> Html:
        """What was asked and shown, what was said in each round, and how it ended. `upto` leaves out later rounds, and
        before the last one the ending; `blind` the truth, the judge and the decision."""
        row = self.rows[place]
        item = self.items.get(row["item_id"])
        rounds: dict[int, list[Any]] = {}
        for turn in self.turns(place):
            if not (blind and turn.role in (Role.JUDGE, Role.AGGREGATOR)):
                rounds.setdefault(turn.round, []).append(turn)
        shown = {number: said for number, said in rounds.items() if upto is None or number <= upto}
        return _view(
            "case", row=row, item=item, blind=blind, rounds=shown,
            passage=passage_html(item, truth=not blind) if item and item.context else "",
            answers="" if blind else _answers(row),
            ending=explain_row(row) if len(shown) == len(rounds) and not blind else "",
        )  # fmt: skip

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
