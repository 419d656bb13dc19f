"""A decision in one sentence: what followed from what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.pages import Html as Html
from srdcr_lab.pages import captioned as captioned  # both belong to the floor
from srdcr_lab.protocols import METHODS, Choices, Outcome
from srdcr_lab.records import Decision, DocumentKind, Item, Role, Turn, Verdict


def explain(item: Item, outcome: Outcome, choices: Choices) -> str:
    """Why SR-DCR decided so: verdict, confidence against τ, and whether the answer is right."""
    ruling, confidence = outcome.ruling, outcome.confidence
    if ruling is None or confidence is None:
        return "This method does not use the decision rule."
    relation = "≥" if confidence.value >= choices.tau else "not ≥"
    belief = f"Conf = {confidence.value:.3f} ({confidence.kind}) is {relation} τ = {choices.tau:g}"
    reason = f"V* = {ruling.verdict}" + ("" if outcome.decision is Decision.USE_CONTEXT else f" and {belief}")
    if outcome.answer is None or outcome.missing:
        return (
            f"{reason}, so the decision is {outcome.decision} and there is no answer. The truth is {item.gold_answer}."
        )
    return f"{reason}, so the decision is {outcome.decision}: {outcome.answer.value}. The truth is {item.gold_answer}."


def explain_row(row: Mapping[str, Any]) -> str:
    """The same for a row of the table records, of any method; what is missing is None."""
    truth = f"The truth is {' and '.join(row['gold_answers'])}."
    if row["missing"] == "error":
        return f"There is no answer, and accuracy counts that as wrong: {row['error']}. {truth}"
    answer = " and ".join(row["final_answers"]) if row["final_answer"] is not None else None
    if row["decision"] is None:
        said = "No answer could be read in the reply" if answer is None else f"The method answers {answer}"
        return f"{said}. {truth}"
    end = f": {answer}" if answer is not None else " and there is no answer"
    return f"{_reason(row)}, so the decision is {row['decision']}{end}. {truth}"


def _reason(row: Mapping[str, Any]) -> str:
    if row["method"] == "golden":
        return "This reference knows whether the passage is true"
    if row["context_confidence"] is not None:
        ranked = ", compared by rank among all items" if row["method"].startswith("calibrated") else ""
        return (
            f"Mean token probability is {_number(row['self_confidence'])} for the prior answer and "
            f"{_number(row['context_confidence'])} for the context answer{ranked}"
        )
    method, verdict = METHODS.get(row["method"]), row["verdict"]
    if verdict is None:
        debates = method is None or method.debates
        return "Prior and context answer agree without a debate" if debates else _belief(row)
    weighed = row["decision"] != Decision.USE_CONTEXT and verdict != Verdict.UNPARSED
    believes = method is not None and method.uses_confidence and weighed
    return f"V* = {verdict}" + (f" and {_belief(row)}" if believes else "")


def _belief(row: Mapping[str, Any]) -> str:
    confidence, tau = row["self_confidence"], row["tau"]
    passes = confidence is not None and confidence >= tau
    ignored = row["verdict"] is not None and row["decision"] == Decision.USE_PRIOR and not passes
    compared = f"Conf = {_number(confidence)} ({row['confidence_kind']}) is {'≥' if passes else 'not ≥'} τ = {tau:g}"
    return compared + (" (which this preset leaves out)" if ignored else "")


def _number(value: float | None) -> str:
    return "missing" if value is None else f"{value:.3f}"


# -- passages, documents and debates as HTML. Everything that came from a passage or a model is escaped

_COLOURS = {
    Role.DEFENDER: "#0173b2",
    Role.CRITIC: "#d55e00",
    Role.JUDGE: "#555555",
    Role.AGENT: "#029e73",
    Role.PROPONENT: "#0173b2",
    Role.ADVOCATE: "#d55e00",
    Role.AGGREGATOR: "#555555",
}


def passage_html(item: Item, *, truth: bool = True) -> Html:
    """Question and passage, with what the passage claims marked; and whether that is the `truth`."""
    spans = answers.find(item.context, item.claimed_answer, item.answer_type, item.unit)
    text, position = "", 0
    for span in spans:
        text += (
            escape(item.context[position : span.start]) + f"<mark>{escape(item.context[span.start : span.end])}</mark>"
        )
        position = span.end
    text += escape(item.context[position:])
    known = "true" if item.is_standard else f"false: the answer is {escape(item.gold_answer)}"
    return Html(
        f"<p><b>{escape(item.question)}</b></p><blockquote>{text}</blockquote>"
        f"<p>The passage claims {escape(item.claimed_answer)}{f' ({known})' if truth else ''}.</p>"
    )


def debate_html(outcome: Outcome) -> Html:
    """The debate as it unfolded, round by round, with what each speaker saw and the ruling after each round."""
    debate, ruling = outcome.debate, outcome.ruling
    if debate is None or ruling is None:
        return Html("<p>This method holds no debate.</p>")
    body = "".join(f"<h4>Round {number}</h4>{text}" for number, text in rounds_html(debate.turns).items())
    stood = f"V* = {ruling.verdict}" + (f", standing since round {ruling.r_star}" if ruling.r_star is not None else "")
    unstable = "" if ruling.stabilised else " (not stabilised: it stood for the last round alone)"
    return Html(f"<div>{body}<p><b>{escape(stood)}</b>{unstable}</p></div>")


def rounds_html(turns: Sequence[Turn]) -> dict[int, str]:
    """What was said in each round, in the order in which it was said."""
    rounds: dict[int, str] = {}
    for turn in turns:
        rounds[turn.round] = rounds.get(turn.round, "") + _turn(turn)
    return rounds


def _turn(turn: Turn) -> str:
    passage = "passage, " if turn.saw_passage else ""
    heard = f"{len(turn.saw_turns) or 'no'} earlier turn{'s' if len(turn.saw_turns) > 1 else ''}"
    ruling = f" → <b>{escape(turn.verdict.value)}</b>" if turn.verdict else ""
    speaker = " " + escape(turn.speaker) if turn.speaker else ""
    stance = f", was given the answer {escape(turn.stance)}" if turn.stance is not None else ""
    return (
        f'<p style="border-left: 3px solid {_COLOURS[turn.role]}; padding-left: 0.6em; margin: 0.4em 0">'
        f"<b>{escape(turn.role.value.capitalize())}{speaker}</b> <small>saw question, {passage}{heard}{stance}</small>"
        f'{ruling}<br><span style="white-space: pre-wrap">{escape(turn.text)}</span></p>'
    )


# -- several documents, and how methods went about them side by side, as HTML. Everything untrusted is escaped

_OF_ROLE = {
    Role.AGENT.value: "#029e73",
    Role.PROPONENT.value: "#0173b2",
    Role.DEFENDER.value: "#0173b2",
    Role.ADVOCATE.value: "#d55e00",
    Role.CRITIC.value: "#d55e00",
}
_KINDS = {DocumentKind.CORRECT: "right", DocumentKind.MISINFO: "misleading", DocumentKind.NOISE: "beside the point"}


def documents_html(item: Item) -> Html:
    """The question and its documents, with what each asserts marked, and what is known about it (no model is told)."""
    shown = "".join(_document(item, i) for i in range(len(item.documents)))
    return Html(f"<p><b>{escape(item.question)}</b></p>{shown}")


def _document(item: Item, i: int) -> str:
    document = item.documents[i]
    spans = answers.find(document.text, document.answer, item.answer_type, item.unit) if document.answer else []
    text, position = "", 0
    for span in spans:
        text += escape(document.text[position : span.start])
        text += f"<mark>{escape(document.text[span.start : span.end])}</mark>"
        position = span.end
    known = [f"document {document.document_id}", document.source, _KINDS[document.kind] if document.kind else ""]
    return (
        f"<blockquote>{text}{escape(document.text[position:])}<br>"
        f"<small>{escape(', '.join(filter(None, known)))}</small></blockquote>"
    )


def side_by_side(records: pd.DataFrame, turns: pd.DataFrame, item_id: str) -> Html:
    """A column for each method: what was said, in order, and what came of it."""
    rows = records[records["item_id"] == item_id]
    columns = "".join(_column(row, turns[turns["item_id"] == item_id]) for row in rows.itertuples())
    return Html(
        '<div style="display: grid; grid-template-columns: repeat(auto-fit, minmax(15em, 1fr)); gap: 1em; '
        f'align-items: start">{columns}</div>'
    )


def _column(row: Any, turns: pd.DataFrame) -> str:
    said = turns[turns["method"] == row.method].sort_values("position")
    return (
        f"<div><h4>{escape(row.method)}</h4>{''.join(_document_turn(turn) for turn in said.itertuples())}"
        f"<p><b>{_ending(row)}</b><br><small>{_count(row.calls_alone, 'call')}</small></p></div>"
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _ending(row: Any) -> str:
    given: Sequence[str] = list(row.final_answers)
    if not given:
        why = row.error if isinstance(row.error, str) else row.missing
        return f"no answer ({escape(str(why))})"
    return f"{escape(', '.join(given))}: {'right' if row.correct else 'wrong'}"


def _document_turn(turn: Any) -> str:
    name = str(turn.role).capitalize() + (f" of document {turn.speaker}" if turn.speaker else "")
    saw = [*(["documents" if not turn.speaker else "its document"] if turn.saw_passage else [])]
    saw += [_count(len(turn.saw_turns), "turn")] if len(turn.saw_turns) else []
    return (
        f'<p style="border-left: 3px solid {_OF_ROLE.get(turn.role, "#555555")}; padding-left: 0.6em; margin: 0.4em 0">'
        f"<b>{escape(name)}</b> <small>round {turn.round}, saw {escape(' and '.join(saw) or 'nothing')}</small><br>"
        f'<span style="white-space: pre-wrap; overflow-wrap: anywhere">{escape(turn.text)}</span></p>'
    )


# -- a counterfactual debate as HTML, stance by stance. Everything that came from a model or a file is escaped

_OF_STANCE = {Role.DEFENDER.value: "#0173b2", Role.CRITIC.value: "#d55e00", Role.JUDGE.value: "#555555"}
_AGENT = "#029e73"


def options_html(item: Item) -> Html:
    """The question with its options; the gold one is marked."""
    marked = [
        f"<li>{'<b>' if option.label == item.gold_answer else ''}{escape(option.label)}. {escape(option.text)}"
        f"{' (right)</b>' if option.label == item.gold_answer else ''}</li>"
        for option in item.options
    ]
    passage = f"<blockquote>{escape(item.context)}</blockquote>" if item.context else ""
    options = f'<ul style="list-style: none">{"".join(marked)}</ul>' if marked else ""
    return Html(f"<p><b>{escape(item.question)}</b></p>{passage}{options}")


def stances_html(turns: pd.DataFrame, item_id: str, method: str = "cfmad") -> Html:
    """One question's debate from the table `turns`: chains of thought, then each stance by itself, then the judge."""
    chosen = turns[(turns["item_id"] == item_id) & (turns["method"] == method)].sort_values("position")
    if chosen.empty:
        return Html(f"<p>There is no turn of {escape(method)} on {escape(item_id)}.</p>")
    about = chosen["stance"].fillna("")
    parts = _part("Where the stances come from", chosen[(about == "") & (chosen["role"] != Role.JUDGE)])
    for stance in dict.fromkeys(about[about != ""]):
        parts += _part(f"Stance: {stance}", chosen[about == stance])
    return Html(f"<div>{parts}{_part('Judge', chosen[chosen['role'] == Role.JUDGE])}</div>")


def _part(heading: str, turns: pd.DataFrame) -> str:
    said = "".join(_stance_turn(turn) for turn in turns.itertuples())
    return f"<h4>{escape(heading)}</h4>{said}" if said else ""


def _stance_turn(turn: Any) -> str:
    answer = f" → <b>{escape(turn.stated_answer)}</b>" if isinstance(turn.stated_answer, str) else ""
    heard = f"saw {len(turn.saw_turns)} earlier turns" if len(turn.saw_turns) else "saw no earlier turn"
    name = f" {turn.speaker}" if turn.role == Role.AGENT else ""
    return (
        f'<p style="border-left: 3px solid {_OF_STANCE.get(turn.role, _AGENT)}; padding-left: 0.6em; margin: 0.4em 0">'
        f"<b>{escape(str(turn.role).capitalize() + name)}</b> <small>round {turn.round}, {heard}</small>{answer}<br>"
        f'<span style="white-space: pre-wrap">{escape(turn.text)}</span></p>'
    )
