"""All that happens to one item: its methods, and what the model knows about its question, as rows of the tables."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from srdcr_lab.measures import knowledge_category, sampled_accuracy
from srdcr_lab.models.stored import Meter, metered
from srdcr_lab.protocols import (
    Answer,
    Method,
    Outcome,
    SelfConfidence,
    Setup,
    context_answer,
    knowledge_draws,
    prior_answer,
    self_confidence,
)
from srdcr_lab.protocols.answering import is_correct
from srdcr_lab.records import BudgetExhausted, CallFailed, Item, Missing, Role, SrdcrError, Turn, Verdict

T = TypeVar("T")
Row = dict[str, Any]
Ran = tuple[Outcome | None, Meter, str | None]  # with the error in words where there is no outcome
_PATH = {Verdict.REASONABLE: "R", Verdict.UNREASONABLE: "U", Verdict.UNPARSED: "?"}


@dataclass
class ItemRows:
    """What one item adds to the tables."""

    item: Item
    records: list[Row] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    samples: list[Row] = field(default_factory=list)


@dataclass
class Probe:
    """What the model answers and believes about an item, whatever the method; `errors` are failed calls in words."""

    prior: Answer | None = None
    context: Answer | None = None
    confidence: SelfConfidence | None = None
    draws: tuple[Answer, ...] = ()
    errors: list[str] = field(default_factory=list)


async def run_item(item: Item, setup: Setup, methods: Sequence[Method]) -> ItemRows:
    """Run every method on the item; a failed call becomes the error of its row.

    Where one part of it ends the run, the other parts are still awaited: their calls are paid for.

    Raises
    ------
    BadInput, Stopped
        What ends the whole run.
    """
    probe = Probe()

    async def answer() -> list[Ran]:
        results: list[Ran] = await together(*(_run_method(method, item, setup) for method in methods))
        await fill_probe(probe, item, setup, methods)
        return results

    async def draw() -> None:
        probe.draws = await _attempt(knowledge_draws(item, setup), "knowledge", probe.errors) or ()

    results, _ = await together(answer(), draw())
    rows = ItemRows(item, samples=_samples(item, probe, setup))
    for method, (outcome, meter, error) in zip(methods, results, strict=True):
        rows.records.append(_record(item, method, setup, probe, outcome, meter, error))
        if outcome and outcome.debate:
            rows.turns += [
                _turn(item, method, setup, position, turn) for position, turn in enumerate(outcome.debate.turns)
            ]
    return rows


async def fill_probe(probe: Probe, item: Item, setup: Setup, methods: Sequence[Method]) -> None:
    """Ask what every row shows beside its method's answer. As a rule a method has asked it already and the store
    answers."""
    probe.prior = await _attempt(prior_answer(item, setup), "prior answer", probe.errors)
    probe.context = await _attempt(context_answer(item, setup), "context answer", probe.errors)
    if probe.prior and (setup.choices.knowledge_draws or any(method.uses_confidence for method in methods)):
        probe.confidence = await _attempt(self_confidence(item, probe.prior, setup), "confidence", probe.errors)


def error_rows(item: Item, setup: Setup, methods: Sequence[Method], error: str) -> ItemRows:
    """Rows of an item the run did not get to: its error, and no answer."""
    return ItemRows(item, records=[_record(item, method, setup, Probe(), None, Meter(), error) for method in methods])


async def _run_method(method: Method, item: Item, setup: Setup) -> Ran:
    errors: list[str] = []
    with metered() as meter:
        outcome = await _attempt(method.run(item, setup), "", errors)
    return outcome, meter, errors[0] if errors else None


async def _attempt(awaitable: Awaitable[T], what: str, errors: list[str]) -> T | None:
    """The result, or None and a sentence in `errors` where a call failed. Anything graver goes on up."""
    try:
        return await awaitable
    except (SrdcrError, ExceptionGroup) as error:
        cause = gravest(error)
        if not isinstance(cause, CallFailed):
            raise cause from None
        errors.append(f"{what}: {cause}" if what else str(cause))
        return None


async def together(*awaitables: Awaitable[Any]) -> list[Any]:
    """All results; where some fail, all have ended before the gravest error is raised."""
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    if errors := [result for result in results if isinstance(result, BaseException)]:
        raise max(errors, key=_gravity)
    return results


def gravest(error: BaseException) -> BaseException:
    """The one error that speaks for a group: bad input and bugs before a used-up budget before a failed call."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    return max(map(gravest, error.exceptions), key=_gravity)


def _gravity(error: BaseException) -> int:
    return 0 if isinstance(error, CallFailed) else 1 if isinstance(error, BudgetExhausted) else 2


def _record(
    item: Item, method: Method, setup: Setup, probe: Probe, outcome: Outcome | None, meter: Meter, error: str | None
) -> Row:
    choices, cast = setup.choices, setup.cast
    accuracy = sampled_accuracy([is_correct(draw, item, choices.match) for draw in probe.draws])
    category = knowledge_category(accuracy, highly_from=choices.highly_known_from, maybe_from=choices.maybe_known_from)
    confidence = (outcome.confidence if outcome else None) or probe.confidence
    ruling = outcome.ruling if outcome else None
    debate = outcome.debate if outcome else None
    missing = outcome.missing if outcome else Missing.ERROR
    final = outcome.answer if outcome and missing is None else None
    return {
        **{name: getattr(item, name) for name in _ITEM_COLUMNS},
        "method": method.name,
        "design": choices.design.name if method.debates else None,
        "model": str(cast.answerer.identity),
        "model_defender": str(cast.defender.identity) if method.debates else None,
        "model_critic": str(cast.critic.identity) if method.debates else None,
        "model_judge": str(cast.judge.identity) if method.debates else None,
        **_answer_columns("prior", probe.prior, item, setup),
        **_answer_columns("context", probe.context, item, setup),
        "self_confidence": confidence.value if confidence else None,
        "confidence_kind": confidence.kind if confidence else None,
        "sampled_accuracy": accuracy if probe.draws else None,
        "n_samples": len(probe.draws),
        "knowledge_category": category,
        "tau": choices.tau,
        "verdict": ruling.verdict if ruling else None,
        "verdict_path": "".join(_PATH[verdict] for verdict in debate.verdict_path) if debate else None,
        "r_star": ruling.r_star if ruling else None,
        "stabilised": ruling.stabilised if ruling else None,
        "decision": outcome.decision if outcome else None,
        "final_answer": final.value if final else None,
        "correct": is_correct(final, item, choices.match) if final else None,
        "missing": missing,
        "calls_alone": meter.calls_alone,
        "calls_paid": meter.calls_paid,
        "prompt_tokens": meter.prompt_tokens,
        "completion_tokens": meter.completion_tokens,
        "cost_usd": meter.cost_usd if meter.cost_usd == meter.cost_usd else None,  # NaN: the price is unknown
        "error": "; ".join(filter(None, [error, *probe.errors])) or None,
    }


_ITEM_COLUMNS = (
    "item_id",
    "question_id",
    "domain",
    "answer_type",
    "question",
    "gold_answer",
    "claimed_answer",
    "perturbation_kind",
    "perturbation_value",
    "level",
)


def _answer_columns(name: str, answer: Answer | None, item: Item, setup: Setup) -> Row:
    read = answer is not None and answer.value is not None
    return {
        f"{name}_answer": answer.value if answer else None,
        f"{name}_correct": is_correct(answer, item, setup.choices.match) if answer and read else None,
    }


def _turn(item: Item, method: Method, setup: Setup, position: int, turn: Turn) -> Row:
    completion = turn.completion
    return {
        "item_id": item.item_id,
        "question_id": item.question_id,
        "method": method.name,
        "design": setup.choices.design.name,
        "position": position,
        "round": turn.round,
        "role": turn.role,
        "model": str(getattr(setup.cast, Role(turn.role).value).identity),
        "text": turn.text,
        "stated_answer": turn.stated_answer,
        "verdict": turn.verdict,
        "saw_passage": turn.saw_passage,
        "saw_turns": list(turn.saw_turns),
        "finish_reason": completion.finish_reason if completion else None,
        "prompt_tokens": completion.prompt_tokens if completion else None,
        "completion_tokens": completion.completion_tokens if completion else None,
        "request_digest": turn.request_digest,
    }


def _samples(item: Item, probe: Probe, setup: Setup) -> list[Row]:
    drawn = [probe.prior] if probe.prior else []
    drawn += [*probe.draws, *(probe.confidence.draws if probe.confidence else ())]
    return [
        {
            "question_id": item.question_id,
            "stream": answer.stream,
            "draw": answer.completion.draw,
            "text": answer.text,
            "answer": answer.value,
            "correct": is_correct(answer, item, setup.choices.match),
            "tokens": answer.completion.tokens,
            "logprobs": answer.completion.logprobs,
        }
        for answer in drawn
    ]
