"""What happened to one item, as rows of the tables `srdcr_lab.records.tables`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isnan
from typing import Any

from srdcr_lab.answers import counts_as
from srdcr_lab.answers.replies import spoken
from srdcr_lab.lib.definitions import knowledge_category, sampled_accuracy
from srdcr_lab.models.base import FEW_TOKENS
from srdcr_lab.models.spending import Meter
from srdcr_lab.protocols import Answer, Method, Outcome, SelfConfidence, Setup
from srdcr_lab.protocols.answering import answer_margin, is_correct
from srdcr_lab.records import Completion, Debate, DocumentKind, FinishReason, Item, Missing, Turn, Verdict
from srdcr_lab.records.tables import RECORDS, SAMPLES, TURNS, Column
from srdcr_lab.records.vocabulary import visible

Row = dict[str, Any]
_OF_THE_ITEM = RECORDS[: [column.name for column in RECORDS].index("method")]
_PATH = {Verdict.REASONABLE: "R", Verdict.UNREASONABLE: "U", Verdict.UNPARSED: "?"}


class Cause(StrEnum):
    """Why a reply brought no answer."""

    WITHOUT_TEXT = "tokens that are no text, such as a tool call"
    STARVED = "no text, though tokens were spent: thinking took all of them; --reasoning none, or more room: low … high"
    REFUSED = "refused"
    FILTERED = "stopped by a content filter"
    EMPTY = "empty reply"
    CUT = "cut at its length"
    NO_VERDICT = 'no last line "final decision: REASONABLE" or "final decision: UNREASONABLE"'
    UNREADABLE = "no answer could be read"


_WITHOUT_TEXT = (Cause.WITHOUT_TEXT, Cause.STARVED, Cause.REFUSED, Cause.FILTERED, Cause.EMPTY)


def cause(reply: Completion, verdict: Verdict | None = None) -> Cause:
    """Why a reply, or a ruling with its verdict, brought no answer. It is asked for where none was read."""
    at_length = reply.finish_reason is FinishReason.LENGTH
    if reply.finish_reason is FinishReason.REFUSAL:
        return Cause.REFUSED
    if reply.finish_reason is FinishReason.CONTENT_FILTER:
        return Cause.FILTERED
    if not spoken(reply.text).strip():
        if at_length or reply.thinking or reply.thinking_tokens or reply.text.strip():
            return Cause.STARVED
        return Cause.WITHOUT_TEXT if reply.completion_tokens > FEW_TOKENS else Cause.EMPTY  # kept by earlier versions
    if at_length:
        return Cause.CUT
    return Cause.NO_VERDICT if verdict is Verdict.UNPARSED else Cause.UNREADABLE


Reply = tuple[str, Cause | None, str]  # the kind of row or turn, why it has no answer (None: it has), what was said


@dataclass
class ItemRows:
    """What one item adds to the tables, and the replies behind its rows and turns."""

    item: Item
    records: list[Row] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    samples: list[Row] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)


class Causes:
    """What is missing in a run: by cause, how many rows and turns of which kind, and the first reply."""

    def __init__(self) -> None:
        self.counts: dict[Cause, Counter[str]] = {}
        self._of: Counter[str] = Counter()
        self._first: dict[Cause, str] = {}

    def add(self, replies: Sequence[Reply]) -> None:
        for kind, why, text in replies:
            self._of[kind] += 1
            if why:
                self.counts.setdefault(why, Counter())[kind] += 1
                self._first[why] = self._first.get(why) or visible(text, 200)

    def notes(self) -> list[str]:
        """A sentence on each cause."""
        notes = []
        for why, counted in self.counts.items():
            kinds = ", ".join(f"{n} of {self._of[kind]} {kind}" for kind, n in counted.most_common())
            notes.append(f"{kinds}: {why}" + (f"; the first reply: {first!r}" if (first := self._first[why]) else ""))
        return notes


@dataclass
class Probe:
    """What the model answers and believes about an item, whatever the method; `errors` are failed calls in words."""

    prior: Answer | None = None
    context: Answer | None = None
    confidence: SelfConfidence | None = None
    draws: tuple[Answer, ...] = ()
    errors: list[str] = field(default_factory=list)


def failed(error: str) -> Outcome:
    """The outcome of a method that could not be run to its end."""
    return Outcome(answer=None, missing=Missing.ERROR, error=error)


def item_rows(
    item: Item,
    setup: Setup,
    probe: Probe,
    runs: Sequence[tuple[Method, Setup]],
    results: Sequence[tuple[Outcome, Meter]],
) -> ItemRows:
    """The rows of an item: `runs` are its methods with their setups, `results` what became of each."""
    rows = ItemRows(item, samples=_sample_rows(item, probe, setup))
    for draw in probe.draws:
        why = cause(draw.completion)
        rows.replies.append(("knowledge draws", why if why in _WITHOUT_TEXT else None, draw.text))
    if probe.confidence and probe.prior and probe.prior.value is not None:
        belief = probe.confidence
        rows.replies.append((f"confidences ({belief.kind})", Cause.UNREADABLE if isnan(belief.value) else None, ""))
    for (method, under), (outcome, meter) in zip(runs, results, strict=True):
        replies = [*_replies(method, under, probe, outcome)]
        if replies[0][1] is Cause.STARVED:
            outcome = replace(outcome, error=outcome.error or Cause.STARVED)
        rows.records.append(_record_row(item, method, under, probe, outcome, meter))
        rows.replies += replies
        for position, turn in enumerate(outcome.debate.turns if outcome.debate else ()):
            rows.turns.append(_turn_row(item, method, under, position, turn))
    return rows


def _replies(method: Method, setup: Setup, probe: Probe, outcome: Outcome) -> Iterator[Reply]:
    """The row and each turn of its debate, with what is wrong with it."""
    turns = outcome.debate.turns if outcome.debate else ()
    kind = f"rows of {method.name}" + (f" ({setup.choices.design.name})" if method.designed else "")
    reply, verdict = _deciding(outcome, turns, probe)
    yield kind, cause(reply, verdict) if outcome.missing is Missing.UNPARSED else None, reply.text
    for turn in turns:
        reply = turn.completion or Completion(turn.text)
        yield f"turns of the {turn.role}", why if (why := cause(reply)) in _WITHOUT_TEXT else None, reply.text


def _deciding(outcome: Outcome, turns: Sequence[Turn], probe: Probe) -> tuple[Completion, Verdict | None]:
    """The reply for which a row has an answer or none, and its verdict if it is a judge's."""
    if outcome.ruling and outcome.ruling.verdict is Verdict.UNPARSED:
        turns = [turn for turn in turns if turn.verdict is Verdict.UNPARSED] or turns
    elif answer := outcome.answer or (None if turns else probe.prior):
        return answer.completion, None
    last = turns[-1] if turns else None
    return (last.completion or Completion(last.text), last.verdict) if last else (Completion(""), None)


_PROBES = ("knowledge", "prior answer", "context answer", "confidence")


def _each_once(errors: Sequence[str]) -> str:
    """Errors in one cell, each cause once: "knowledge, prior answer: …", or bare where the method itself failed so."""
    by_cause: dict[str, list[str]] = {}
    for error in errors:
        call, _, cause = error.partition(": ")
        if call in _PROBES:
            by_cause.setdefault(cause, []).append(call)
        else:
            by_cause.setdefault(error, []).append("")
    return "; ".join(cause if "" in calls else f"{', '.join(calls)}: {cause}" for cause, calls in by_cause.items())


def _record_row(item: Item, method: Method, setup: Setup, probe: Probe, outcome: Outcome, meter: Meter) -> Row:
    choices, cast = setup.choices, setup.cast
    accuracy = sampled_accuracy([is_correct(draw, item, choices.match) for draw in probe.draws])
    category = knowledge_category(accuracy, highly_from=choices.highly_known_from, maybe_from=choices.maybe_known_from)
    confidence = outcome.confidence or probe.confidence
    ruling, debate = outcome.ruling, outcome.debate
    return {
        **_filled(
            _OF_THE_ITEM,
            item,
            n_options=len(item.options),
            n_documents=len(item.documents),
            n_misinforming=sum(document.kind is DocumentKind.MISINFO for document in item.documents),
        ),
        "method": method.name,
        "design": choices.design.name if method.designed else None,
        "model": str(cast.answerer.identity),
        "model_defender": str(cast.defender.identity) if method.debates else None,
        "model_critic": str(cast.critic.identity) if method.debates else None,
        "model_judge": str(cast.judge.identity) if method.debates else None,
        "decoding": ", ".join(sorted(meter.decodings, key=str.lower)) or None,
        **_answer_columns("prior", probe.prior, item, setup),
        "prior_margin": answer_margin(probe.prior, item) if probe.prior else None,
        **_answer_columns("context", probe.context, item, setup),
        "context_confidence": outcome.context_confidence,
        "self_confidence": confidence.value if confidence else None,
        "confidence_kind": confidence.kind if confidence else None,
        "sampled_accuracy": accuracy if probe.draws else None,
        "n_samples": len(probe.draws),
        "knowledge_category": category,
        "knowledge_decoding": probe.draws[0].decoding if probe.draws else None,
        "tau": choices.tau,
        "verdict": ruling.verdict if ruling else None,
        "p_unreasonable": _p_unreasonable(debate) if debate else None,
        "verdict_path": "".join(_PATH[verdict] for verdict in debate.verdict_path) or None if debate else None,
        "r_star": ruling.r_star if ruling else None,
        "stabilised": ruling.stabilised if ruling else None,
        "rounds": len({turn.round for turn in debate.turns}) if debate else None,
        "agreed_round": outcome.agreed_round,
        "decision": outcome.decision,
        **_final_columns(outcome, item, setup),
        "calls_alone": meter.calls_alone,
        "calls_paid": meter.calls_paid,
        "prompt_tokens": meter.prompt_tokens,
        "completion_tokens": meter.completion_tokens,
        "cost_usd": meter.cost_usd if meter.cost_usd == meter.cost_usd else None,  # NaN: the price is unknown
        "error": _each_once([*filter(None, [outcome.error]), *probe.errors]) or None,
    }


def _p_unreasonable(debate: Debate) -> float | None:
    """The mean over the draws of the last ruling; None where none has one, or the debate has no verdict of its own."""
    rulings = [turn for turn in debate.turns if turn.verdict is not None] if debate.verdict_path else []
    last = [turn.p_unreasonable for turn in rulings if turn.round == rulings[-1].round]
    known = [p for p in last if p is not None]
    return sum(known) / len(known) if known else None


def _filled(columns: Sequence[Column], source: object, **values: object) -> Row:
    """The columns in their order, each from `values` or else from the field of its name."""
    names = (column.name for column in columns)
    return {name: values[name] if name in values else getattr(source, name) for name in names}


def _answer_columns(name: str, answer: Answer | None, item: Item, setup: Setup) -> Row:
    read = answer is not None and answer.value is not None
    return {
        f"{name}_answer": answer.value if answer else None,
        f"{name}_correct": is_correct(answer, item, setup.choices.match) if answer and read else None,
    }


def _final_columns(outcome: Outcome, item: Item, setup: Setup) -> Row:
    answer = outcome.answer
    if answer is None or outcome.missing:
        return final_columns([], None, outcome.missing)
    values = outcome.values or (answer.value,)
    if answer.graded is None and (outcome.values or item.other_gold_answers or item.wrong_answers):
        return final_columns(values, all_and_no_wrong(values, item))
    return final_columns(values, is_correct(answer, item, setup.choices.match))


def final_columns(values: Sequence[str | None], correct: bool | None, missing: Missing | None = None) -> Row:
    """The columns of a method's answers; where there are none, they are UNPARSED or `missing` says why."""
    return {
        "final_answer": values[0] if values else None,
        "final_answers": [*values],
        "correct": correct,
        "right": bool(correct),
        "missing": missing or (None if values else Missing.UNPARSED),
    }


def all_and_no_wrong(answers: Sequence[str | None], item: Item) -> bool:
    """Whether every gold answer is among the answers and no wrong one is: RAMDocs' exact match."""

    def among(answer: str) -> bool:
        return any(counts_as(value, answer, item) for value in answers)

    return all(map(among, item.gold_answers)) and not any(map(among, item.wrong_answers))


def _turn_row(item: Item, method: Method, setup: Setup, position: int, turn: Turn) -> Row:
    reply = turn.completion
    return _filled(
        TURNS,
        turn,
        item_id=item.item_id,
        question_id=item.question_id,
        method=method.name,
        design=setup.choices.design.name if method.designed else None,
        position=position,
        model=str(setup.cast.player(turn.role).identity),
        saw_turns=list(turn.saw_turns),
        finish_reason=reply.finish_reason if reply else None,
        prompt_tokens=reply.prompt_tokens if reply else None,
        completion_tokens=reply.completion_tokens if reply else None,
    )


def _sample_rows(item: Item, probe: Probe, setup: Setup) -> list[Row]:
    """Every answer without a passage."""
    drawn = [*(probe.prior.draws or [probe.prior])] if probe.prior else []
    drawn += probe.draws
    if probe.confidence and not (probe.prior and probe.prior.draws):  # whose draws these are, too
        drawn += probe.confidence.draws
    return [
        _filled(
            SAMPLES,
            answer.completion,
            question_id=item.question_id,
            stream=answer.stream,
            decoding=answer.decoding,
            text=answer.text,
            answer=answer.value,
            correct=is_correct(answer, item, setup.choices.match),
        )
        for answer in drawn
    ]
