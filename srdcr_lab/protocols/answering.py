"""How a model answers: from memory, from the passage, once greedily or many times at random [2.2, 2.3, 4.1, C.1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srdcr_lab import answers, prompts
from srdcr_lab.protocols.choices import Match
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import GREEDY, Completion, Exemplar, Item, Message, Request

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
