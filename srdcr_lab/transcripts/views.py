"""What was asked, said and decided: passages, documents, debates as HTML, what a speaker was sent, and decisions in a
sentence.

Everything that came from a passage, a file or a model is escaped by the templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from srdcr_lab import answers
from srdcr_lab.answers.wording import spoken
from srdcr_lab.lib.page import Html, render
from srdcr_lab.models.store import Store, as_file
from srdcr_lab.protocols import METHODS, Outcome
from srdcr_lab.records import Decision, Item, Role, SrdcrError, Verdict
from srdcr_lab.records.names import called, kind_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

Parts = list[tuple[str, str]]  # headings and texts: the messages of a request, its settings, the raw reply


def explain_row(row: Mapping[str, Any]) -> str:
    """Why a method answered as a row of the table `records` says: verdict, confidence against τ, and the truth.

    A missing value of the row is None.
    """
    truth = f"The truth is {' and '.join(row['gold_answers'])}."
    if row["missing"] == "error":
        return f"There is no answer, and accuracy counts that as wrong: {row['error']}. {truth}"
    answer = None if row["final_answer"] is None else " and ".join(row["final_answers"])
    if row["decision"] is not None:
        return f"{_reason(row)}, so {_decided(row['decision'], answer)}. {truth}"
    if answer is None:
        return f"No answer could be read in the reply. {truth}"
    return f"The method answers {answer}. {truth}"


DECISIONS = {Decision.USE_CONTEXT: "from the passage", Decision.USE_PRIOR: "from memory", Decision.ABSTAIN: "abstained"}


def _decided(decision: str | None, answer: str | None) -> str:
    if decision is None or decision == Decision.ABSTAIN:
        return "there is no answer"
    source = f"the answer is taken {DECISIONS[Decision(decision)]}"
    return f"{source}, and could not be read" if answer is None else f"{source}: {answer}"


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
    belief = _compared(row["self_confidence"], kind_called(row["confidence_kind"]), row["tau"])
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


def passage_html(item: Item) -> Html:
    """Question and passage, with what the passage claims marked; and whether that is the truth."""
    return _view("passage", item=item, pieces=_marked(item.context, item.claimed_answer, item))


def _marked(text: str, answer: str, item: Item) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is a mention of the answer."""
    pieces, position = [], 0
    for span in answers.find(text, answer, item.answer_type, item.unit) if answer else []:
        pieces += [(text[position : span.start], False), (text[span.start : span.end], True)]
        position = span.end
    return [*pieces, (text[position:], False)]


@contextmanager
def messages_in(store: str | Path | None) -> Iterator[Callable[[Any], Parts] | None]:
    """What gives the messages that the speaker of a turn (or of its row) was sent and its raw reply, out of the store
    that keeps them; None without a store. Where they cannot be had there, a sentence stands in their place."""
    if store is None:
        yield None
        return
    try:
        opened = Store(as_file(Path(store)))
    except SrdcrError as error:
        instead = [("not at hand", str(error))]
        yield lambda _: instead
        return
    with closing(opened):
        yield partial(_sent, opened)


def _sent(store: Store, turn: Any) -> Parts:
    try:
        for model, request, replies in store.contents(turn.request_digest or ""):
            for reply in replies:
                if getattr(turn, "model", str(model)) == str(model) and spoken(reply.text) == turn.text:
                    parts: Parts = [(message.role, message.content) for message in request.messages]
                    parts.append(("asked for", f"at most {request.max_tokens} tokens, {request.decoding}"))
                    thinking = [("thinking", reply.thinking)] if reply.thinking else []
                    return [*parts, *thinking, ("raw reply", reply.text)]
    except SrdcrError as error:
        return [("not at hand", str(error))]
    return [("not at hand", f"{store.path} does not hold this turn's request with its reply")]


class Told(NamedTuple):
    """A turn as it is shown: a note on how it came about, what a judge ruled, the earlier round whose words it repeats,
    and what `sent` gives for it."""

    turn: Any
    note: str
    ruling: str | None
    repeats: int | None
    sent: object


_BRIEF = 40  # characters that are shown again rather than folded: the sentence in their place is no shorter


def by_round(turns: Sequence[Any], sent: Callable[[Any], object] | None = None) -> dict[int, list[Told]]:
    """The turns (or rows of them) of a debate by their round. `sent`: what `messages_in` gives, or a number by which a
    page's script finds it."""
    rounds: dict[int, list[Told]] = {}
    first: dict[tuple[str, str, str], int] = {}
    again = False
    for turn, gone in zip(turns, withdrawn(turns), strict=True):
        said = first.setdefault((turn.role, turn.speaker, turn.text), turn.round)
        repeats = said if said < turn.round and len(turn.text) > _BRIEF else None
        note = ", was asked for the line of its ruling alone" if again else ""
        ruling = "no ruling: its last line is missing, and the Judge is asked for it again" if gone else turn.verdict
        rounds.setdefault(turn.round, []).append(Told(turn, note, ruling, repeats, sent(turn) if sent else None))
        again = gone
    return rounds


def withdrawn(turns: Sequence[Any]) -> list[bool]:
    """Of each turn, whether it is a ruling without its line, for which the Judge rules anew in the next turn."""
    gone = [
        (one.role, one.speaker, one.round) == (Role.JUDGE, after.speaker, after.round)
        and one.verdict is None and after.role == Role.JUDGE and after.verdict is not None
        for one, after in pairwise(turns)
    ]  # fmt: skip
    return [*gone, *([False] if turns else [])]


def debate_html(outcome: Outcome, store: str | Path | None = None) -> Html:
    """The debate round by round, with what each speaker saw, and the verdict with the round since which it stands.

    With the file of its `store` each turn unfolds into the messages that its speaker was sent, and its raw reply.
    """
    with messages_in(store) as sent:
        rounds = by_round(outcome.debate.turns, sent) if outcome.debate else {}
    return _view("debate", rounds=rounds, final=outcome.ruling)


def documents_html(run: Results, item_id: str) -> Html:
    """A question with its documents, what each asserts marked; below, a column for each method: what was said, in
    order, and what came of it."""
    item = run.items[item_id]
    said = run.turns[run.turns["item_id"] == item_id].sort_values("position", kind="stable")
    rows = run.records[run.records["item_id"] == item_id].itertuples()
    columns = [(called(row.method), row, said[said["method"] == row.method].itertuples()) for row in rows]
    pieces = [_marked(each.text, each.answer, item) for each in item.documents]
    return Html(_view("documents", item=item, pieces=pieces) + _view("columns", columns=columns))


def stances_html(run: Results, item_id: str, method: str = "cfmad") -> Html:
    """A question with its options, the right one marked, and its debate: chains of thought, each stance by itself, then
    the judge."""
    chosen = run.turns[(run.turns["item_id"] == item_id) & (run.turns["method"] == method)].sort_values("position")
    about, judged = chosen["stance"].fillna(""), chosen["role"] == Role.JUDGE
    parts = {"Where the stances come from": (about == "") & ~judged}
    parts |= {f"Stance: {stance}": about == stance for stance in dict.fromkeys(about[about != ""])}
    parts["Judge"] = judged
    said = {heading: list(chosen[rows].itertuples()) for heading, rows in parts.items() if rows.any()}
    debate = _view("stances", parts=said, method=method, item_id=item_id)
    return Html(_view("options", item=run.items[item_id]) + debate)


def _view(macro: str, **values: object) -> Html:
    return render("transcript", macro, **values)
