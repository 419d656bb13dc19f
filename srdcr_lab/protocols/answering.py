"""How a model answers: from memory, from the passage, once greedily or many times at random [2.2, 2.3, 4.1, C.1]."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from srdcr_lab import answers, prompts
from srdcr_lab.answers.token_confidence import FROM_LOGPROBS, answer_tokens
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.choices import Match
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import GREEDY, Completion, ConfidenceKind, Exemplar, Item, Message, Request

# Streams: confidence must not be made of the category's own draws.
KNOWLEDGE, SELF_CONSISTENCY = "knowledge", "self_consistency"


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply and the answer read from it; `value` is None where none could be read.

    `said` is the part of the reply in which the answer stands, where that is not all of it.
    """

    value: str | None
    completion: Completion
    stream: str = GREEDY
    said: str | None = None

    @property
    def text(self) -> str:
        return self.completion.text if self.said is None else self.said


async def prior_answer(item: Item, setup: Setup) -> Answer:
    """Greedy zero-context answer to q with fixed exemplars, and the log-probabilities of its tokens [2.3]."""
    (answer,) = await _answers(item, setup, _from_memory(item, setup.fixed_exemplars(item)), logprobs=True)
    return answer


async def context_answer(item: Item, setup: Setup) -> Answer:
    """Greedy answer to (q, c) with seeded random in-domain exemplars: the few-shot baseline [4.1]."""
    messages = with_passage(item, setup.random_exemplars(item))
    (answer,) = await _answers(item, setup, messages, logprobs=True)
    return answer


async def zero_shot_answer(item: Item, setup: Setup) -> Answer:
    """Greedy answer to (q, c) without exemplars."""
    (answer,) = await _answers(item, setup, with_passage(item))
    return answer


async def knowledge_draws(item: Item, setup: Setup) -> tuple[Answer, ...]:
    """The N zero-context draws that sampled accuracy is made of [2.2]."""
    messages = _from_memory(item, setup.random_exemplars(item))
    return await _answers(item, setup, messages, stream=KNOWLEDGE, n=setup.choices.knowledge_draws, logprobs=True)


async def consistency_draws(item: Item, setup: Setup) -> tuple[Answer, ...]:
    """Draws of the prior answer's own prompt, from another stream than the knowledge draws [C.1]."""
    messages = _from_memory(item, setup.fixed_exemplars(item))
    return await _answers(item, setup, messages, stream=SELF_CONSISTENCY, n=setup.choices.consistency_draws)


def same_answer(value: str | None, other: str | None, item: Item) -> bool:
    """Whether two answers to the item's question are equal; an unread answer equals nothing.

    The gold answer and its aliases are spellings of one answer, so two of them are equal.
    """
    if value is None or other is None:
        return False
    if answers.equal(value, other, item.answer_type, item.unit):
        return True
    return bool(item.aliases) and _is_gold(value, item) and _is_gold(other, item)


def _is_gold(value: str | None, item: Item) -> bool:
    return value is not None and answers.equal(value, item.gold_answer, item.answer_type, item.unit, item.aliases)


def is_correct(answer: Answer, item: Item, match: Match = Match.EXACT) -> bool:
    """Whether an answer is the gold answer (or an alias), by the chosen match; an unread one is not."""
    if match is Match.ANYWHERE and not item.options:  # a label stands in many words
        return answers.contains_anywhere(answer.text, item.gold_answer, item.answer_type, item.unit, item.aliases)
    return _is_gold(answer.value, item)


def with_passage(item: Item, exemplars: Sequence[Exemplar] = ()) -> tuple[Message, ...]:
    """The prompt of an answer to question and passage."""
    shots = [({"question": e.question, "passage": e.context}, e.answer) for e in exemplars]
    return prompts.render("answer_with_passage", shots=shots, question=item.question, passage=item.context)


def _from_memory(item: Item, exemplars: Sequence[Exemplar]) -> tuple[Message, ...]:
    shots = [({"question": e.question}, e.answer) for e in exemplars]
    return prompts.render("answer_from_memory", shots=shots, question=item.question)


async def _answers(
    item: Item, setup: Setup, messages: tuple[Message, ...], *, stream: str = GREEDY, n: int = 1, logprobs: bool = False
) -> tuple[Answer, ...]:
    if n == 0:
        return ()
    request = Request(
        messages=messages,
        max_tokens=setup.choices.answer_tokens,
        temperature=0.0 if stream == GREEDY else setup.choices.sampling_temperature,
        logprobs=logprobs,
        seed=setup.seed,
        stream=stream,
        draws=tuple(range(n)),
    )
    completions = await setup.cast.answerer.complete(request)
    return tuple(Answer(read(c.text, item, setup.choices.match), c, stream) for c in completions)


def read(text: str, item: Item, match: Match) -> str | None:
    """The answer in a reply; by the loose match a reply that holds no single answer stands for itself."""
    value = answers.extract(text, item.answer_type, item.unit)
    return value if value is not None or match is Match.EXACT else text.strip() or None


# -- self-confidence in the prior answer, by five definitions [2.3, 3.2

Redraw = Callable[[], Awaitable[tuple[Answer, ...]]]


@dataclass(frozen=True, slots=True)
class SelfConfidence:
    """Belief in the prior answer, in [0, 1]; NaN where it could not be had. `draws` are those it was estimated from."""

    value: float
    kind: ConfidenceKind
    draws: tuple[Answer, ...] = ()


def answer_logprobs(answer: Answer, item: Item) -> tuple[float, ...] | None:
    """Log-probabilities of the tokens that overlap the answer in the reply; None where the provider gave none.

    Tokens before and after the answer (a sentence around it, a full stop) do not count, nor does the end marker.
    """
    completion = answer.completion
    if completion.tokens is None or completion.logprobs is None:
        return None
    read = completion.tokens, completion.logprobs, answer.value, item.answer_type, item.unit
    return answer_tokens(answer.text, *read)


async def self_confidence(item: Item, prior: Answer, setup: Setup, draw_again: Redraw | None = None) -> SelfConfidence:
    """Confidence in the prior answer by the chosen kind; `draw_again` draws its prompt anew where it has another one.

    ``auto`` takes `mean_logprob` where the reply came with log-probabilities, else `self_consistency`. A prior answer
    that could not be read is none to believe in: NaN, whatever the kind, and nothing more is asked. An explicit
    log-probability kind without log-probabilities, and a verbalized reply that cannot be read, give NaN too: such an
    item is never above τ.
    """
    kind = setup.choices.confidence
    if kind == "auto":
        given = setup.cast.answerer.capabilities.logprobs and prior.completion.logprobs is not None
        kind = ConfidenceKind.MEAN_LOGPROB if given else ConfidenceKind.SELF_CONSISTENCY
    if prior.value is None:
        return SelfConfidence(math.nan, kind)
    if kind is ConfidenceKind.SELF_CONSISTENCY:
        return _agreement(item, prior, await (draw_again() if draw_again else consistency_draws(item, setup)))
    if kind is ConfidenceKind.VERBALIZED:
        return SelfConfidence(await _verbalized(item, prior, setup), kind)
    return SelfConfidence(FROM_LOGPROBS[kind](answer_logprobs(prior, item) or ()), kind)


def _agreement(item: Item, prior: Answer, draws: tuple[Answer, ...]) -> SelfConfidence:
    """Share of draws that equal the greedy answer; unread draws count as unequal [C.1]."""
    agree = sum(same_answer(draw.value, prior.value, item) for draw in draws)
    return SelfConfidence(agree / len(draws) if draws else math.nan, ConfidenceKind.SELF_CONSISTENCY, draws)


async def _verbalized(item: Item, prior: Answer, setup: Setup) -> float:
    messages = prompts.render("verbalized_confidence", question=item.question, answer=prior.text)
    request = Request(messages=messages, max_tokens=setup.choices.answer_tokens, seed=setup.seed)
    (completion,) = await setup.cast.answerer.complete(request)
    stated = readers.confidence(completion.text)
    return math.nan if stated is None else stated
