"""From items to rows: all methods of an item, many items at once, and the methods that decide when all items have
ended.

There is no barrier between items or rounds: the models limit the requests in flight. A failed call is the error of one
row; bad input, a used-up budget and our own errors end the run. Passages around false claims are written here too.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import cache, partial
from math import isnan
from typing import Any, TypeVar

from srdcr_lab.answers import counts_as
from srdcr_lab.answers.kinds import Audit, FalseClaim, Traits
from srdcr_lab.answers.wording import spoken
from srdcr_lab.data.perturbing import Form, Perturbed, claims_to_rewrite, rewritten
from srdcr_lab.lib.definitions import ASKED_AGAIN, knowledge_category, sampled_accuracy, says_again
from srdcr_lab.lib.source_reliability import source_reliability, votes_of
from srdcr_lab.models import ChatModel
from srdcr_lab.models.spending import Meter, metered
from srdcr_lab.prompts import render_rewrite
from srdcr_lab.protocols import Answer, Method, Outcome, SelfConfidence, Setup, answering
from srdcr_lab.protocols.answering import self_confidence
from srdcr_lab.records import BudgetExhausted, CallFailed, Decision, DocumentKind, FinishReason, TemperatureRefused
from srdcr_lab.records.tables import RECORDS, TURNS, Column
from srdcr_lab.records.types import Completion, Debate, Item, Request, Turn
from srdcr_lab.records.vocabulary import NEED_LOGPROBS, Missing, Needs, Role, SrdcrError, Verdict, must_be, visible
from srdcr_lab.study.asking import NEEDED

_T = TypeVar("_T")
_CHOSEN: dict[Decision | None, str] = {Decision.USE_PRIOR: "prior", Decision.USE_CONTEXT: "context"}
_OF_A_BELIEF = ("question_id", "self_confidence", "context_confidence")  # columns of records
_OF_A_VOTE = ("item_id", "speaker", "stated_answer")  # columns of turns
LOGGED_EVERY_S = 60.0  # how often a log hears of a run
_PASSAGE_TOKENS = 600  # of a rewritten passage
WINDOW = 1024  # items in flight: far above any concurrency, so that no slot waits for a slow item


async def run_item(
    item: Item, setup: Setup, methods: Sequence[Method], on_done: Callable[[], object] = lambda: None
) -> ItemRows:
    """Run every method on the item, under each design it follows; a failed call becomes the error of its row. `on_done`
    is called whenever a method has ended.

    Bad input and a used-up budget are raised once all parts have ended, because their calls are paid for.
    """
    setup = replace(setup, kept={})
    probe, runs = Probe(), each_setup(methods, setup)

    async def answer() -> list[tuple[Outcome, Meter]]:
        results = await _together(*(_run_method(method, item, under, on_done) for method, under in runs))
        await fill_probe(probe, item, setup, methods)
        return results

    async def draw() -> None:
        if asked_of_memory(item, methods):
            probe.draws = await _attempt(answering.knowledge_draws(item, setup), "knowledge", probe.errors) or ()

    results, _ = await _together(answer(), draw())
    return item_rows(item, setup, probe, runs, results)


def each_setup(methods: Sequence[Method], setup: Setup) -> list[tuple[Method, Setup]]:
    """Every method with every setup it runs under: the rows of one item, in order."""
    return [(method, under) for method in methods for under in method.setups(setup)]


def asked_of_memory(item: Item, methods: Sequence[Method]) -> bool:
    """Whether rows show what the model knows of the item without a passage: if it has one, or if a method answers
    without.
    """
    return item.has(Needs.PASSAGE) or any(method.from_memory and method.takes(item) for method in methods)


async def fill_probe(probe: Probe, item: Item, setup: Setup, methods: Sequence[Method]) -> None:
    """Ask for prior answer, context answer and confidence, which every row shows, unless a method asked for them."""
    if not asked_of_memory(item, methods):
        return  # prior and context answers belong to a question with one passage, or with nothing beside it
    kept = setup.kept or {}
    probe.prior, probe.context = kept.get(("prior", id(item))), kept.get(("context", id(item)))
    if not probe.prior:
        probe.prior = await _attempt(answering.prior_answer(item, setup), "prior answer", probe.errors)
    if not probe.context and not item.is_closed_book:
        probe.context = await _attempt(answering.context_answer(item, setup), "context answer", probe.errors)
    if probe.prior and (setup.choices.knowledge_draws or any(method.uses_confidence for method in methods)):
        probe.confidence = await _attempt(self_confidence(item, probe.prior, setup), "confidence", probe.errors)


async def _run_method(method: Method, item: Item, setup: Setup, on_done: Callable[[], object]) -> tuple[Outcome, Meter]:
    errors: dict[str, str] = {}
    with metered() as meter:
        if method.takes(item):
            outcome = await _attempt(method.run(item, setup), method.name, errors)
            if not errors:
                must_be(f"what the method {method.name} returns", outcome, (Outcome,), "an Outcome(answer=…)")
        else:
            outcome = failed(f"{method.name} needs {NEEDED[method.needs]}, and this item has none")
    on_done()
    return outcome or failed(errors[method.name]), meter


async def _attempt(awaitable: Awaitable[_T], what: str, errors: dict[str, str]) -> _T | None:
    """The result; or None, with a sentence in `errors`, if a call failed. More serious errors are raised."""
    must_be(what, awaitable, (Awaitable,), "awaited, so define it with `async def`")
    try:
        return await awaitable
    except (SrdcrError, ExceptionGroup) as error:
        cause = gravest(error)
        if not isinstance(cause, CallFailed):
            raise cause from None
        errors[what] = str(cause)
        return None


async def _together(*awaitables: Awaitable[Any]) -> list[Any]:
    """All results; if some fail, the most serious error is raised once all have ended."""
    if len(awaitables) == 1:  # a task for it would take as long as two requests from the store
        return [await awaitables[0]]
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    if errors := [result for result in results if isinstance(result, BaseException)]:
        raise gravest(BaseExceptionGroup("", errors))
    return results


async def all_at_once(coroutines: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Run these at once. Where some fail, the others are cancelled, and the most serious error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in coroutines:
                group.create_task(each)
    except BaseExceptionGroup as errors:
        raise gravest(errors) from None


def gravest(error: BaseException) -> BaseException:
    """The most serious error of a group: bad input and bugs before a used-up budget before a failed call."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = map(gravest, error.exceptions)
    return max(causes, key=lambda cause: (not isinstance(cause, CallFailed), not isinstance(cause, BudgetExhausted)))


async def run_items(
    setup: Setup, methods: Sequence[Method], *, on_done: Callable[[], object], items: Sequence[Item] | None = None
) -> AsyncGenerator[ItemRows, None]:
    """Rows of each item of `setup` (or of these), in order; `on_done` is called whenever a method has ended on one.

    When the budget is used up, the items not reached yield rows with that error, and it is raised at the end. Any other
    error cancels the items in flight and is raised at once.
    """
    in_flight: deque[tuple[Item, asyncio.Task[ItemRows]]] = deque()
    stopped: list[BudgetExhausted] = []

    async def next_rows() -> ItemRows:
        item, task = in_flight.popleft()
        try:
            return await task
        except BudgetExhausted as error:
            stopped.append(error)
            runs = each_setup(methods, setup)
            return item_rows(item, setup, Probe(), runs, [(failed(str(error)), Meter())] * len(runs))

    try:
        # With a confidence kind that a server may not give, the first item goes alone: it shows whether this one does.
        first_window = 1 if setup.choices.confidence in NEED_LOGPROBS else WINDOW
        for place, item in enumerate(setup.items if items is None else items):
            while in_flight and (in_flight[0][1].done() or len(in_flight) >= (first_window if place == 1 else WINDOW)):
                yield await next_rows()
            in_flight.append((item, asyncio.create_task(run_item(item, setup, methods, on_done))))
            if place % 16 == 0:
                await asyncio.sleep(0)  # the first requests go out before the last items are prepared
        while in_flight:
            yield await next_rows()
    finally:
        for _, task in in_flight:
            task.cancel()
        await asyncio.gather(*(task for _, task in in_flight), return_exceptions=True)
    if stopped:
        raise stopped[0]


class Waiting:
    """Rows of the methods that decide once every item has ended, from all items' confidences or sources."""

    def __init__(self, methods: Sequence[Method]) -> None:
        self._methods = {method.name: method for method in methods if method.settle or method.weighs_sources}
        self._rows: dict[str, list[tuple[Item, TableRow]]] = {name: [] for name in self._methods}
        self._votes: dict[str, list[TableRow]] = {name: [] for name in self._methods}

    def hold_back(self, rows: ItemRows) -> ItemRows:
        """The item's rows, without those that have to wait."""
        for name, method in self._methods.items():
            self._rows[name] += [(rows.item, row) for row in rows.records if row["method"] == name]
            said = (turn for turn in rows.turns if turn["method"] == name and method.weighs_sources)
            self._votes[name] += [{column: turn[column] for column in _OF_A_VOTE} for turn in said]
        rows.records = [row for row in rows.records if row["method"] not in self._methods]
        return rows

    def settled(self) -> Iterator[ItemRows]:
        """The rows that waited, now decided; a row with a failed call stays as it is."""
        for name, method in self._methods.items():
            rows = [(item, row) for item, row in self._rows[name] if row["missing"] is not Missing.ERROR]
            if method.settle:
                columns = ([row[name] for _, row in rows] for name in _OF_A_BELIEF)
                for (_, row), decision in zip(rows, method.settle(*columns), strict=True):
                    chosen = _CHOSEN.get(decision)
                    answer, correct = (row[f"{chosen}_answer"], row[f"{chosen}_correct"]) if chosen else (None, None)
                    row |= {"decision": decision, **final_columns([] if answer is None else [answer], correct)}
            if method.weighs_sources:
                everyone = [item for item, _ in self._rows[name]]
                majority = source_reliability(*votes_of(everyone, self._votes[name])).majority
                for item, row in rows:
                    if values := majority.get(item.item_id):
                        row |= final_columns(values, all_and_no_wrong(values, item))
            yield from (ItemRows(item, [row]) for item, row in self._rows[name])


async def rewrite(model: ChatModel, perturbed: Perturbed, seed: int = 0) -> Perturbed:
    """Every standard item with the passage that the model wrote around one of its claims, if that passed.

    `perturbed` says which claims can be made. A call that failed is a refused form; what stops a run stops this one.
    """
    wanted, traits = list(claims_to_rewrite(perturbed, seed)), perturbed.items.traits()
    forms = await asyncio.gather(
        *(_passage_written(model, item, claim, traits.get(item.question_id)) for item, claim in wanted)
    )
    false = {form.standard.item_id: form.item for form in forms}
    standard = [item for item in perturbed.items if item.is_standard]
    items = tuple(each for item in standard for each in (item, false.get(item.item_id)) if each)
    name = f"{perturbed.items.name.removesuffix(', perturbed')}, rewritten"
    return replace(perturbed, items=replace(perturbed.items, name=name, items=items), forms=tuple(forms))


async def _passage_written(model: ChatModel, item: Item, claim: FalseClaim, own: Traits | None) -> Form:
    messages = render_rewrite(item.question, item.context, claim.answer)
    request = Request(messages, _PASSAGE_TOKENS, 0.0 if model.capabilities.temperature else None)
    try:
        try:
            (completion,) = await model.complete(request)
        except TemperatureRefused:
            (completion,) = await model.complete(replace(request, temperature=None))
    except CallFailed as error:
        return Form(item, claim, None, Audit.REFUSED, (f"no passage was written: {error}",))
    if completion.finish_reason is not FinishReason.STOP:
        return Form(item, claim, None, Audit.REFUSED, (f"the passage was not finished: {completion.finish_reason}",))
    return rewritten(item, claim, completion.text, own)


@cache
def background_loop() -> asyncio.AbstractEventLoop:
    """The one event loop of this process, in a daemon thread, because a notebook's own loop is busy with the
    notebook.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="srdcr-loop", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):  # the loop's thread does not go on in a forked child
    os.register_at_fork(after_in_child=background_loop.cache_clear)


def wait_for(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end. An interrupt cancels it, waits until it has cleaned up, and is raised again."""
    ended = threading.Event()

    async def to_its_end() -> _T:
        try:
            return await coroutine
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(to_its_end(), background_loop())
    try:
        while not ended.wait(1):  # a wait without an end cannot be interrupted on Windows
            pass
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        ended.wait(timeout=10)
        raise


@contextmanager
def progress_bar(session: Any, n_answers: int, *, show: bool) -> Iterator[Callable[[], object]]:
    """A bar, as a function that counts the answer of a method to an item; in a log one line per minute.

    Items run side by side and end together; counting answers and completions shows that a run moves.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, force_terminal=sys.stderr.isatty())  # whatever FORCE_COLOR says
    watched = console.is_interactive or console.is_jupyter
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("answers"), TimeElapsedColumn())
    bar = Progress(*columns, TextColumn("{task.description}"), console=console, transient=console.is_jupyter,
                   disable=not (show and watched))  # fmt: skip
    task, begun = bar.add_task("", total=n_answers), time.monotonic()

    def spent() -> str:
        bar.update(task, description=f"{session.served:,} completions, ${session.budget.spent_usd:.4f}")
        return bar.tasks[0].description

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.5 if watched else LOGGED_EVERY_S)
            said, passed = spent(), timedelta(seconds=round(time.monotonic() - begun))
            if show and not watched:
                console.out(f"{bar.tasks[0].completed:,.0f} of {n_answers:,} answers, {passed} passed, {said}")

    with bar:
        ticking = asyncio.create_task(tick())
        try:
            yield partial(bar.advance, task)
        finally:
            ticking.cancel()
            spent()


TableRow = dict[str, Any]
_DEBATING = (Role.DEFENDER, Role.CRITIC, Role.JUDGE)
_PATH = {Verdict.REASONABLE: "R", Verdict.UNREASONABLE: "U", Verdict.UNPARSED: "?"}


class Cause(StrEnum):
    """Why a reply gave no answer."""

    STARVED = "no text, though tokens were spent: thinking took all of them; --reasoning none, or more room: low … high"
    REFUSED = "refused"
    FILTERED = "stopped by a content filter"
    EMPTY = "empty reply"
    CUT = "cut at its length"
    NO_VERDICT = 'no last line "final decision: REASONABLE" or "final decision: UNREASONABLE"'
    UNREADABLE = "no answer could be read"
    REPEATS = "nearly an earlier turn again, so there was hardly a debate, and what arguments are worth is not tested"


_ENDED = {FinishReason.REFUSAL: Cause.REFUSED, FinishReason.CONTENT_FILTER: Cause.FILTERED}
_WITHOUT_TEXT = (Cause.STARVED, Cause.REFUSED, Cause.FILTERED, Cause.EMPTY)


def cause(reply: Completion, verdict: Verdict | None = None) -> Cause:
    """Why a reply, or a ruling with its verdict, gave no answer; called only if none was read."""
    if reply.finish_reason in _ENDED:
        return _ENDED[reply.finish_reason]
    at_length = reply.finish_reason is FinishReason.LENGTH
    if not spoken(reply.text).strip():
        thought = at_length or reply.thinking or reply.thinking_tokens or reply.text.strip()
        return Cause.STARVED if thought else Cause.EMPTY
    if at_length:
        return Cause.CUT
    return Cause.NO_VERDICT if verdict is Verdict.UNPARSED else Cause.UNREADABLE


WhyMissing = tuple[str, Cause | None, str]  # kind of row or turn; why it has no answer, None: it has; what was said


@dataclass
class ItemRows:
    """The rows that one item adds to the tables, and the replies behind its rows and turns."""

    item: Item
    records: list[TableRow] = field(default_factory=list)
    turns: list[TableRow] = field(default_factory=list)
    samples: list[TableRow] = field(default_factory=list)
    replies: list[WhyMissing] = field(default_factory=list)


class Causes:
    """What is missing in a run: by cause, the numbers of rows and turns of each kind, and the first reply."""

    def __init__(self) -> None:
        self.counts: dict[Cause, Counter[str]] = {}
        self._of: Counter[str] = Counter()
        self._first: dict[Cause, str] = {}

    def add(self, replies: Sequence[WhyMissing]) -> None:
        self._of.update(kind for kind, _, _ in replies)
        for kind, why, text in replies:
            if why:
                self.counts.setdefault(why, Counter())[kind] += 1
                self._first[why] = self._first.get(why) or visible(text, 200)

    def notes(self) -> Iterator[str]:
        """One sentence per cause."""
        for why, counted in self.counts.items():
            if why is Cause.REPEATS:  # a few of them are part of a debate
                counted = Counter({kind: n for kind, n in counted.items() if 2 * n > self._of[kind]})
            if kinds := ", ".join(f"{n} of {self._of[kind]} {kind}" for kind, n in counted.most_common()):
                yield f"{kinds}: {why}" + (f"; the first reply: {first!r}" if (first := self._first[why]) else "")


@dataclass
class Probe:
    """The model's answers to an item and its confidence, whatever the method; `errors` say why a call failed."""

    prior: Answer | None = None
    context: Answer | None = None
    confidence: SelfConfidence | None = None
    draws: tuple[Answer, ...] = ()
    errors: dict[str, str] = field(default_factory=dict)


def failed(error: str) -> Outcome:
    """The outcome of a method that could not be completed."""
    return Outcome(answer=None, missing=Missing.ERROR, error=error)


def item_rows(
    item: Item, setup: Setup, probe: Probe,
    runs: Sequence[tuple[Method, Setup]], results: Sequence[tuple[Outcome, Meter]],
) -> ItemRows:  # fmt: skip
    """The rows of an item: `runs` are its methods with their setups, `results` what each gave."""
    drawn = [*_drawn(probe)]
    keys = [(each.value, each.text, each.graded) for each in drawn]  # draws repeat each other
    distinct = dict(zip(keys, drawn, strict=True))
    grades = {key: answering.is_correct(each, item, setup.choices.match) for key, each in distinct.items()}
    right = [grades[key] for key in keys]
    rows = ItemRows(item, samples=[*map(partial(_sample_row, item), drawn, right)])
    unread = [(cause(draw.completion), draw.text) for draw in probe.draws if draw.value is None]
    rows.replies += [("knowledge draws", why if why in _WITHOUT_TEXT else None, text) for why, text in unread]
    rows.replies += [("knowledge draws", None, "")] * (len(probe.draws) - len(unread))
    if probe.confidence and probe.prior and probe.prior.value is not None:
        belief = probe.confidence
        rows.replies.append((f"confidences ({belief.kind})", Cause.UNREADABLE if isnan(belief.value) else None, ""))
    known = [is_right for each, is_right in zip(drawn, right, strict=True) if each.stream == answering.KNOWLEDGE]
    shared = _item_columns(item, setup, probe, known)
    debates: set[tuple[tuple[str, str], ...]] = set()
    for (method, under), (outcome, meter) in zip(runs, results, strict=True):
        replies = [*_replies(method, under, probe, outcome, debates)]
        if replies[0][1] is Cause.STARVED:
            outcome = replace(outcome, error=outcome.error or Cause.STARVED)
        rows.records.append(_record_row(item, method, under, probe, shared, outcome, meter))
        rows.replies += replies
        for position, turn in enumerate(outcome.debate.turns if outcome.debate else ()):
            rows.turns.append(_turn_row(item, method, under, position, turn))
    return rows


def _replies(
    method: Method, setup: Setup, probe: Probe, outcome: Outcome, debates: set[tuple[tuple[str, str], ...]]
) -> Iterator[WhyMissing]:
    """The row and each turn of its debate, with what is wrong with it. A debate that methods share, which then is among
    the item's `debates`, counts once.
    """
    turns = outcome.debate.turns if outcome.debate else ()
    kind = f"rows of {method.name}" + (f" ({setup.choices.design.name})" if method.designed else "")
    reply, verdict = _deciding(outcome, turns, probe)
    yield kind, cause(reply, verdict) if outcome.missing is Missing.UNPARSED else None, reply.text
    own: dict[tuple[Role, str], list[str]] = {}
    said = tuple((turn.request_digest, turn.text) for turn in turns)
    for turn in turns if said not in debates else ():
        reply = turn.completion or Completion(turn.text)
        silent = why if (why := cause(reply)) in _WITHOUT_TEXT else None
        yield f"turns of the {turn.role}", silent, reply.text
        if turn.role in (Role.DEFENDER, Role.CRITIC) and turn.speaker != ASKED_AGAIN and not silent:
            if earlier := own.setdefault((turn.role, turn.speaker), []):
                debate = setup.choices.design.name if method.designed else method.name
                again = Cause.REPEATS if says_again(turn.text, earlier) else None
                yield f"later turns of the {turn.role} ({debate})", again, turn.text
            earlier.append(turn.text)
    debates.add(said)


def _deciding(outcome: Outcome, turns: Sequence[Turn], probe: Probe) -> tuple[Completion, Verdict | None]:
    """The reply that decides whether a row has an answer, and its verdict if it is a judge's."""
    if outcome.ruling and outcome.ruling.verdict is Verdict.UNPARSED:
        turns = [turn for turn in turns if turn.verdict is Verdict.UNPARSED] or turns
    elif answer := outcome.answer or (None if turns else probe.prior):
        return answer.completion, None
    last = turns[-1] if turns else None
    return (last.completion or Completion(last.text), last.verdict) if last else (Completion(""), None)


def _said(error: str | None, of_calls: Mapping[str, str]) -> str:
    """Errors in one cell, each cause once: "knowledge, prior answer: …", without names if the method failed so."""
    causes = [cause for cause in dict.fromkeys(of_calls.values()) if cause != error]
    named = [f"{', '.join(call for call, why in of_calls.items() if why == cause)}: {cause}" for cause in causes]
    return "; ".join([*filter(None, [error]), *named])


def _item_columns(item: Item, setup: Setup, probe: Probe, right: Sequence[bool]) -> TableRow:
    """What every row of an item shows, whatever its method; `right` says which knowledge draws are."""
    choices, accuracy = setup.choices, sampled_accuracy(right)
    bounds = {"highly_from": choices.highly_known_from, "maybe_from": choices.maybe_known_from}
    return {
        "n_options": len(item.options), "n_documents": len(item.documents),
        "n_misinforming": sum(document.kind is DocumentKind.MISINFO for document in item.documents),
        "model": str(setup.cast.answerer.identity), **_answer_columns("prior", probe.prior, item, setup),
        "prior_margin": answering.answer_margin(probe.prior, item) if probe.prior else None,
        **_answer_columns("context", probe.context, item, setup), "sampled_accuracy": accuracy if right else None,
        "n_samples": len(right), "knowledge_category": knowledge_category(accuracy, **bounds),
        "knowledge_decoding": probe.draws[0].decoding if probe.draws else None,
    }  # fmt: skip


def _record_row(
    item: Item, method: Method, setup: Setup, probe: Probe, shared: TableRow, outcome: Outcome, meter: Meter
) -> TableRow:
    choices, cast, debate = setup.choices, setup.cast, outcome.debate
    confidence = outcome.confidence or probe.confidence
    values: TableRow = shared | {
        "method": method.name,
        "design": choices.design.name if method.designed else None,
        **{f"model_{role}": str(cast.player(role).identity) if method.debates else None for role in _DEBATING},
        "decoding": ", ".join(sorted(meter.decodings, key=str.lower)) or None,
        "self_confidence": confidence.value if confidence else None,
        "confidence_kind": confidence.kind if confidence else None,
        "p_unreasonable": _p_unreasonable(debate) if debate else None,
        "verdict_path": "".join(_PATH[verdict] for verdict in debate.verdict_path) or None if debate else None,
        "rounds": len({turn.round for turn in debate.turns}) if debate else None,
        **_final_columns(outcome, item, setup),
        "cost_usd": meter.cost_usd if meter.cost_usd == meter.cost_usd else None,  # NaN: the price is unknown
        "error": _said(outcome.error, probe.errors) or None,
    }
    return _filled(RECORDS, values, item, outcome.ruling, outcome, meter, choices)


def _p_unreasonable(debate: Debate) -> float | None:
    """The mean over the draws of the last ruling; None if none has one, or if the debate has no verdict of its own."""
    rulings = [turn for turn in debate.turns if turn.verdict is not None] if debate.verdict_path else []
    last = [turn.p_unreasonable for turn in rulings if turn.round == rulings[-1].round]
    known = [p for p in last if p is not None]
    return sum(known) / len(known) if known else None


def _filled(columns: Sequence[Column], values: TableRow, *sources: object) -> TableRow:
    """The columns in order, each from `values`, or else from the first source that has a field of its name, or None."""
    kinds = tuple(map(type, sources))

    def field_of(name: str) -> Any:
        place = _holder(name, kinds)
        return None if place is None else getattr(sources[place], name)

    return {each.name: values[each.name] if each.name in values else field_of(each.name) for each in columns}


@cache
def _holder(name: str, kinds: Sequence[type]) -> int | None:
    """The place of the first class whose records have a field of this name."""
    fields = ({*dir(kind), *getattr(kind, "__dataclass_fields__", ())} for kind in kinds)
    place = next((place for place, names in enumerate(fields) if name in names), None)
    if place is None and type(None) not in kinds:
        raise KeyError(f"nothing gives the column {name} a value")
    return place


def _answer_columns(name: str, answer: Answer | None, item: Item, setup: Setup) -> TableRow:
    if answer is None or answer.value is None:
        return {f"{name}_answer": None, f"{name}_correct": None}
    return {f"{name}_answer": answer.value, f"{name}_correct": answering.is_correct(answer, item, setup.choices.match)}


def _final_columns(outcome: Outcome, item: Item, setup: Setup) -> TableRow:
    answer = outcome.answer
    if answer is None or outcome.missing:
        return final_columns([], None, outcome.missing)
    values = outcome.values or (answer.value,)
    if answer.graded is None and (outcome.values or item.other_gold_answers or item.wrong_answers):
        return final_columns(values, all_and_no_wrong(values, item))
    return final_columns(values, answering.is_correct(answer, item, setup.choices.match))


def final_columns(values: Sequence[str | None], correct: bool | None, missing: Missing | None = None) -> TableRow:
    """The columns of a method's answers; if there are none, they are UNPARSED, or `missing` says why."""
    return {
        "final_answer": values[0] if values else None, "final_answers": [*values], "correct": correct,
        "right": bool(correct), "missing": missing or (None if values else Missing.UNPARSED),
    }  # fmt: skip


def all_and_no_wrong(answers: Sequence[str | None], item: Item) -> bool:
    """Whether the answers include every gold answer and no wrong one: RAMDocs' exact match."""

    def among(answer: str) -> bool:
        return any(counts_as(value, answer, item) for value in answers)

    return all(map(among, item.gold_answers)) and not any(map(among, item.wrong_answers))


def _turn_row(item: Item, method: Method, setup: Setup, position: int, turn: Turn) -> TableRow:
    values = {
        "method": method.name, "design": setup.choices.design.name if method.designed else None, "position": position,
        "model": str(setup.cast.player(turn.role).identity), "saw_turns": list(turn.saw_turns),
    }  # fmt: skip
    return _filled(TURNS, values, turn, item, turn.completion)


def _drawn(probe: Probe) -> Iterator[Answer]:
    """Every answer given without a passage."""
    yield from (probe.prior.draws or [probe.prior]) if probe.prior else ()
    yield from probe.draws
    if probe.confidence and not (probe.prior and probe.prior.draws):  # whose draws these are, too
        yield from probe.confidence.draws


def _sample_row(item: Item, answer: Answer, right: bool) -> TableRow:
    reply = answer.completion
    return {
        "question_id": item.question_id, "stream": answer.stream, "draw": reply.draw, "decoding": answer.decoding,
        "text": reply.text, "answer": answer.value, "correct": right, "tokens": reply.tokens,
        "logprobs": reply.logprobs,
    }  # fmt: skip
