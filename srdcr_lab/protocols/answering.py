"""How a protocol asks, how a model answers, and how confident it is in its answer [2.2, 2.3, 3.2, 4.1, C.1].

First come the roles, and the way from what a speaker sees to a request, its completions and turns: every request of
every method is built in `Conversation.draw`. Then the two answers of the paper, its confidence, and the outcome of a
method.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from srdcr_lab import answers
from srdcr_lab.answers.option import TRUE_OR_FALSE, claim
from srdcr_lab.answers.wording import opening_statement, spoken
from srdcr_lab.lib import definitions
from srdcr_lab.lib.definitions import ASKED_AGAIN, Ruling, answer_tokens, missing_reason
from srdcr_lab.models.base import ChatModel
from srdcr_lab.prompts import OURS, Prompts, readers
from srdcr_lab.prompts.messages import named
from srdcr_lab.protocols.choices import Choices, Match
from srdcr_lab.records import BadInput, CallFailed, ConfidenceKind, Decision, Missing, Role, Verdict
from srdcr_lab.records.types import GREEDY, Completion, Debate, Exemplar, Item, Request, Turn
from srdcr_lab.records.vocabulary import NEED_DRAWS, NEED_LOGPROBS, TemperatureRefused, must_be

if TYPE_CHECKING:
    from srdcr_lab.data import ItemSet

_T = TypeVar("_T")
Shots = Sequence[tuple[Mapping[str, object], str]]  # fields and reply of each worked example
_PLAYED_BY = {Role.PROPONENT: "defender", Role.ADVOCATE: "critic", Role.AGGREGATOR: "judge", Role.AGENT: "answerer"}


@dataclass(frozen=True)
class Cast:
    """The model that answers and the models in the roles, often all the same."""

    answerer: ChatModel
    defender: ChatModel
    critic: ChatModel
    judge: ChatModel

    def player(self, role: Role) -> ChatModel:
        """The model in a role: proponents defend, the devil's advocate attacks, an aggregator judges, agents answer."""
        model: ChatModel = getattr(self, _PLAYED_BY.get(role, role.value))
        return model


@dataclass(frozen=True)
class Setup:
    """What every protocol gets besides the item. `kept`, if given, collects the prior and context answers that were
    asked for, by name and `id` of the item (the same with another passage is another), so that they are not asked for
    again.
    """

    cast: Cast
    choices: Choices
    items: ItemSet
    seed: int = 0
    prompts: Prompts = OURS
    kept: dict[tuple[str, int], Answer] | None = None

    def fixed_exemplars(self, item: Item) -> tuple[Exemplar, ...]:
        """The same exemplars for every question of a domain, for the confidence prompt [2.3]."""
        return self.items.pool(item)[: self.choices.exemplars]

    def random_exemplars(self, item: Item) -> tuple[Exemplar, ...]:
        """Seeded random in-domain exemplars, the same for every form of a question [appendix B]."""
        pool = self.items.pool(item)
        chosen = _drawn(f"{self.seed}|exemplars|{item.question_id}", len(pool), self.choices.exemplars)
        return tuple(pool[place] for place in chosen)


@lru_cache(maxsize=1000)  # what is asked of one question shows the same
def _drawn(seed: str, n: int, most: int) -> list[int]:
    return random.Random(seed).sample(range(n), min(most, n))


class Answer(NamedTuple):
    """A reply, the answer read from it (None if none could be read), and the part `said` that states it.

    `decoding` is the request's. `draws` are all draws, if the answer was chosen as the most frequent one. `graded`: the
    grade given elsewhere; None if the answer is compared here. It is a tuple, since a large study makes a million.
    """

    value: str | None
    completion: Completion
    stream: str = GREEDY
    said: str | None = None
    decoding: str = ""
    draws: tuple[Answer, ...] = ()
    graded: bool | None = None
    request_digest: str = ""

    @property
    def text(self) -> str:
        return self.completion.text if self.said is None else self.said

    @property
    def defended(self) -> str:
        """What a debater has to defend: the answer or, if none could be read, the model's words."""
        return self.value if self.value is not None else self.text.strip()


def no_answer(reply: str) -> None:
    """The reader of replies that need no answer."""


class Conversation:
    """What is said about one item: asks the speakers and records which turns each of them was shown.

    `max_tokens` and `temperature` apply to every request that names no others.
    """

    def __init__(self, item: Item, setup: Setup, max_tokens: int, temperature: float = 0.0) -> None:
        self.item, self.setup, self.max_tokens, self.temperature = item, setup, max_tokens, temperature
        self._heard: dict[int, tuple[Turn, ...]] = {}  # by identity: turns are not unique in what they say

    async def ask(self, role: Role, template: str, **how: Any) -> Turn:
        """One turn of the model in a role; the arguments are those of `draw`."""
        (turn,) = await self.draw(role, template, **how)
        return turn

    async def replies(
        self, role: Role, template: str, *, stream: str, sees_passage: bool = True, max_tokens: int | None = None,
        draws: int = 1, votes: int | None = None, temperature: float | None = None, logprobs: bool = False,
        scored: bool = False, shots: Shots = (), **fields: object,
    ) -> tuple[Request, tuple[Completion, ...]]:  # fmt: skip
        """Ask whoever plays the role, once or for several draws of one prompt; what was asked, and the replies.

        Parameters
        ----------
        stream : of the draws, unless they are greedy.
        votes : number of draws where the model takes no temperature, and is asked at its provider's default; that may
            be learned from this very request. Default: `draws`.
        scored : whether the words of a verdict are weighed.
        fields : further fields of the template.
        """
        shown = {"question": self.item.question, "passage": self.item.context if sees_passage else None, **fields}
        temperature = self.temperature if temperature is None else temperature
        model = self.setup.cast.player(role)
        request = Request(
            messages=self.setup.prompts.render(template, shots=shots, **shown),
            max_tokens=self.max_tokens if max_tokens is None else max_tokens,
            temperature=temperature, logprobs=logprobs, scored=scored, seed=self.setup.seed,
            stream=GREEDY if temperature == 0 else stream, draws=tuple(range(draws)),
        )  # fmt: skip
        if model.capabilities.temperature:
            with suppress(TemperatureRefused):
                return request, await model.complete(request)
        by_default = replace(request, temperature=None, stream=stream, draws=tuple(range(votes or draws)))
        return by_default, await model.complete(by_default)

    async def draw(
        self, role: Role, template: str, *, round_: int = 0, speaker: str = "", stream: str = "",
        defends: str | None = None, sees_passage: bool = True, heard: Sequence[Turn] = (),
        reads: Callable[[str], str | None] | None = None, rules: Callable[[str], Verdict] | None = None, **how: Any,
    ) -> tuple[Turn, ...]:  # fmt: skip
        """The replies as turns.

        Parameters
        ----------
        speaker : tells apart several of one role; several draws are numbered from 0.
        stream : default: the speaker, or else the role.
        defends : the answer that the speaker is given; in templates ``answer``.
        heard : the turns that the prompt shows; in templates ``transcript``.
        reads : how the answer is read from a reply, None where it states none; default: `read`.
        rules : how a judge's verdict is read; a judge that rules states no answer.
        how : further arguments of `replies`.
        """
        heard, given = tuple(heard), {} if defends is None else {"answer": defends}
        how = {"transcript": heard, "sees_passage": sees_passage, "scored": rules is not None, **given, **how}
        request, completions = await self.replies(role, template, stream=stream or speaker or role.value, **how)
        says, reads = cache(spoken), cache(no_answer if rules else reads or self.read)  # draws repeat each other
        decoding, is_alone = request.decoding, len(request.draws) == 1
        turns = tuple(
            Turn(
                round=round_, role=role, text=text, saw_passage=sees_passage, stance=defends, decoding=decoding,
                speaker=speaker if is_alone else f"{speaker}-{completion.draw}".lstrip("-"),
                saw_turns=(),  # positions, which `debate` knows
                stated_answer=reads(text), verdict=rules(text) if rules else None,
                p_unreasonable=readers.p_unreasonable(text, completion) if rules else None,
                request_digest=request.digest, completion=completion,
            )
            for completion in completions
            for text in (says(completion.text),)  # thinking is neither read nor heard by the others
        )  # fmt: skip
        self._heard |= dict.fromkeys(map(id, turns), heard)
        return turns

    async def answers(self, template: str, stream: str, **how: Any) -> tuple[Answer, ...]:
        """Ask the model itself, and take the replies as answers: no others hear them. `how` as for `replies`."""
        request, completions = await self.replies(Role.AGENT, template, stream=stream, **how)
        stream, decoding, digest = GREEDY if request.decoding == GREEDY else stream, request.decoding, request.digest
        said = {reply: spoken(reply) for reply in {each.text for each in completions}}  # draws repeat each other
        read = {reply: (self.read(text), self.part(text)) for reply, text in said.items()}
        pairs = ((each, *read[each.text]) for each in completions)
        return tuple(Answer(value, each, stream, part, decoding, request_digest=digest) for each, value, part in pairs)

    def withdrawn(self, turn: Turn, speaker: str = "") -> Turn:
        """A turn as words without a verdict, because another one takes its place."""
        words = replace(turn, verdict=None, p_unreasonable=None, speaker=speaker or turn.speaker)
        self._heard[id(words)] = self._heard[id(turn)]
        return words

    def debate(
        self, turns: Sequence[Turn], verdict_path: Sequence[Verdict] = (), first_verdict_round: int = 0
    ) -> Debate:
        """The turns in this order, each with the positions (judges left out) of the turns that its speaker was
        shown. A turn that repeated an earlier one comes before its replacement; only its own speaker was shown it.
        """
        again = {id(turn): [own for own in self._heard[id(turn)] if own.speaker == ASKED_AGAIN] for turn in turns}
        turns = [each for turn in turns for each in (*again[id(turn)], turn)]
        transcript = [turn for turn in turns if turn.role is not Role.JUDGE]
        positions = {id(turn): position for position, turn in enumerate(transcript)}
        seen = [sorted(positions[id(heard)] for heard in self._heard[id(turn)]) for turn in turns]
        placed = [replace(turn, saw_turns=tuple(saw)) for turn, saw in zip(turns, seen, strict=True)]
        return Debate(turns=tuple(placed), verdict_path=tuple(verdict_path), first_verdict_round=first_verdict_round)

    def part(self, reply: str) -> str:
        """The part of a reply that states its answer: here all of it."""
        return reply

    def read(self, reply: str) -> str | None:
        """The answer in a reply; with the loose match, a reply without a single answer counts as one."""
        if self.item.options:
            return answers.extract_option(reply, self.item.options, self.item.question)
        stated = self.part(reply)
        value = answers.read(stated, self.item)
        return value if value is not None or self.setup.choices.match is Match.EXACT else stated.strip() or None

    def answer(self, turn: Turn, stream: str = GREEDY) -> Answer:
        """The answer that a turn states."""
        said = self.part(turn.text)
        completion, digest = turn.completion or Completion(turn.text), turn.request_digest
        return Answer(turn.stated_answer, completion, stream, said, turn.decoding, request_digest=digest)


class FinalLine(Conversation):
    """A conversation whose speakers end with a line ``Final answer: …``."""

    def part(self, reply: str) -> str:
        """The text after ``Final answer:``; the whole reply if it has none of the requested lines."""
        return readers.final_answer(reply) or ("" if readers.SELF_ASK.search(reply) else reply)


class Argument(Conversation):
    """A conversation whose speakers begin with their answer and a full stop."""

    def part(self, reply: str) -> str:
        return opening_statement(reply)

    def read(self, reply: str) -> str | None:
        """The answer with which a reply begins; None if its first sentence is not an answer."""
        return answers.read(self.part(reply), self.item)


# Streams: confidence must not be made of the category's own draws.
KNOWLEDGE, SELF_CONSISTENCY = "knowledge", "self_consistency"


async def prior_answer(item: Item, setup: Setup) -> Answer:
    """Greedy answer to q without a passage, with fixed exemplars [2.3].

    A question with options is asked for a label, without exemplars, and with its passage as evidence (ours).
    """
    answer = await greedy_answer(item, setup, logprobs=True, **_from_memory(item, setup))
    if setup.kept is not None:
        setup.kept["prior", id(item)] = answer
    return answer


async def context_answer(item: Item, setup: Setup, template: str = "answer_with_passage") -> Answer:
    """Greedy answer to (q, c) with seeded random in-domain exemplars: the few-shot baseline [4.1]."""
    answer = await greedy_answer(item, setup, template, shots=worked(setup.random_exemplars(item)), logprobs=True)
    if setup.kept is not None and template == "answer_with_passage":
        setup.kept["context", id(item)] = answer
    return answer


async def greedy_answer(item: Item, setup: Setup, template: str, **how: Any) -> Answer:
    """The greedy answer. For a model that takes no temperature, the most frequent of as many draws as self-consistency
    takes; among equals the one drawn first (ours).
    """
    talk = Conversation(item, setup, setup.choices.answer_tokens)
    draws = await talk.answers(template, SELF_CONSISTENCY, votes=setup.choices.consistency_draws, **how)
    if draws[0].decoding == GREEDY:
        return draws[0]
    return majority(draws, item, attrgetter("value"))._replace(draws=draws)


async def knowledge_draws(item: Item, setup: Setup) -> tuple[Answer, ...]:
    """The N draws without a passage for the sampled accuracy [2.2]."""
    how = {"template": "answer_from_memory", "shots": worked(setup.random_exemplars(item)), "logprobs": True}
    return await _sampled(item, setup, KNOWLEDGE, setup.choices.knowledge_draws, **how)


async def consistency_draws(item: Item, setup: Setup) -> tuple[Answer, ...]:
    """Draws with the prior answer's prompt, from another stream than the knowledge draws [C.1]."""
    n = setup.choices.consistency_draws  # which are only compared, so nothing is asked of their log-probabilities
    return await _sampled(item, setup, SELF_CONSISTENCY, n, **_from_memory(item, setup))


def _from_memory(item: Item, setup: Setup) -> dict[str, Any]:
    """The arguments with which the prior answer is requested."""
    if item.options:
        return {"template": "option_answer", "options": item.options}
    return {"template": "answer_from_memory", "shots": worked(setup.fixed_exemplars(item))}


async def _sampled(item: Item, setup: Setup, stream: str, n: int, **how: Any) -> tuple[Answer, ...]:
    """n draws of a stream."""
    if n == 0:
        return ()
    talk = Conversation(item, setup, setup.choices.answer_tokens, setup.choices.sampling_temperature)
    return await talk.answers(stream=stream, draws=n, **how)


def worked(exemplars: Sequence[Exemplar], ending: str = "") -> Shots:
    """Exemplars as earlier exchanges; `ending` follows each answer."""
    return [({"question": shown.question, "passage": shown.context}, shown.answer + ending) for shown in exemplars]


def by_answer(
    turns: Sequence[_T], item: Item, stated: Callable[[_T], str | None] = attrgetter("stated_answer")
) -> list[list[_T]]:
    """Turns by the answer that they state, in the order of its first mention; turns without an answer are left out."""
    groups: list[list[_T]] = []
    for turn in turns:
        same = [group for group in groups if answers.says_the_same(stated(turn), stated(group[0]), item)]
        if same:
            same[0].append(turn)
        elif stated(turn) is not None:
            groups.append([turn])
    return groups


def majority(turns: Sequence[_T], item: Item, stated: Callable[[_T], str | None] = attrgetter("stated_answer")) -> _T:
    """The first turn with the most frequent answer; the first turn of all if no answer could be read."""

    def votes(turn: _T) -> int:
        return sum(answers.says_the_same(stated(turn), stated(other), item) for other in turns)

    return max(turns, key=votes)  # the first of equals


def is_correct(answer: Answer, item: Item, match: Match = Match.EXACT) -> bool:
    """Whether an answer is the gold answer, an alias or an accepted value, by the chosen match; an unread answer is
    not.

    If the answer was graded elsewhere, that grade counts instead.
    """
    if answer.graded is not None:
        return answer.graded
    gold = item.gold_answer, item.answer_type, item.unit, item.aliases
    if answers.is_accepted(answer.value, item):
        return True
    if match is Match.ANYWHERE and not item.options:  # a label is part of many words
        return answers.contains_anywhere(answer.text, *gold)
    return answer.value is not None and answers.equal(answer.value, *gold)


@dataclass(frozen=True, slots=True)
class SelfConfidence:
    """Confidence in the prior answer, in [0, 1], NaN if there is none, with the draws from which it was estimated."""

    value: float
    kind: ConfidenceKind
    draws: tuple[Answer, ...] = ()


async def self_confidence(item: Item, prior: Answer, setup: Setup) -> SelfConfidence:
    """Confidence in the prior answer by the chosen kind [2.3, 3.2].

    ``auto`` is `mean_logprob` if the reply has log-probabilities, otherwise `self_consistency`. So it is for a model
    that takes no temperature, whose draws are those in which the prior answer is the most frequent. The value is NaN,
    and so never above τ, if the prior answer or a stated confidence could not be read. Without a prior answer nothing
    more is asked, and the kind is what the model usually gives.

    Raises
    ------
    BadInput
        The kind needs log-probabilities and the model gives none.
    CallFailed
        This reply has none.
    """
    kind = setup.choices.confidence
    if kind == "auto":
        gives = setup.cast.answerer.capabilities.logprobs  # which the first reply without any takes back
        scored = not prior.draws and (gives if prior.value is None else prior.completion.logprobs is not None)
        kind = ConfidenceKind.MEAN_LOGPROB if scored else ConfidenceKind.SELF_CONSISTENCY
    if prior.value is None:
        return SelfConfidence(math.nan, kind)
    value: float | None
    draws = (prior.draws or await consistency_draws(item, setup)) if kind in NEED_DRAWS else ()
    if kind is ConfidenceKind.SELF_CONSISTENCY:  # an unread draw agrees with none
        value = definitions.sampled_accuracy([answers.says_the_same(draw.value, prior.value, item) for draw in draws])
    elif kind is ConfidenceKind.SEMANTIC_ENTROPY:
        sizes = [len(group) for group in by_answer(draws, item, attrgetter("value"))]
        value = definitions.semantic_entropy([*sizes, *[1] * (len(draws) - sum(sizes))])
    elif kind is ConfidenceKind.VERBALIZED:
        value = await _stated_confidence(item, prior, setup)
    elif kind is ConfidenceKind.P_TRUE:
        value = await _p_true(item, prior.value, setup)
    else:
        logprobs = answer_logprobs(prior, item)
        value = None if logprobs is None else definitions.FROM_LOGPROBS[kind](logprobs)
    if value is None:
        refuse_unscored(kind, setup.cast.answerer)
        raise CallFailed(f"{setup.cast.answerer.identity}: the reply has no usable log-probabilities for {kind}")
    return SelfConfidence(value, kind, draws)


def refuse_unscored(kind: ConfidenceKind | str, model: ChatModel) -> None:
    """Raise `BadInput` if a confidence kind needs log-probabilities and the model gives none."""
    if kind in NEED_LOGPROBS and not model.capabilities.logprobs:
        others = ", ".join(other for other in ConfidenceKind if other not in NEED_LOGPROBS)
        remedy = f"take --confidence auto, {others}, in a new --out"
        raise BadInput(f"{model.identity} gives no log-probabilities, which the confidence {kind} needs; {remedy}")


def answer_logprobs(answer: Answer, item: Item) -> tuple[float, ...] | None:
    """Log-probabilities of the tokens that overlap the answer in the reply; None if the provider returned none.

    Tokens before and after the answer (a sentence around it, a full stop) do not count, nor does the end marker.
    """
    return _of_its_tokens(answer, answer.completion.logprobs, item)


def answer_margin(answer: Answer, item: Item) -> float | None:
    """The smallest lead of a token of the answer over the next likeliest one, in natural log-probability; None if the
    reply has none.
    """
    return min(_of_its_tokens(answer, answer.completion.margins, item) or (), default=None)


def _of_its_tokens(answer: Answer, values: Sequence[float] | None, item: Item) -> tuple[float, ...] | None:
    """Those values of the reply's tokens that belong to the answer; None if the reply has no tokens or values."""
    tokens = answer.completion.tokens
    if tokens is None or values is None:
        return None
    return answer_tokens(answer.text, tokens, values, answer.value, item.answer_type, item.unit)


async def _stated_confidence(item: Item, prior: Answer, setup: Setup) -> float:
    question = "\n".join([*map(named, item.options), item.question])
    talk = Conversation(item, setup, setup.choices.answer_tokens)
    turn = await talk.ask(Role.AGENT, "verbalized_confidence", question=question, answer=prior.text, reads=no_answer)
    stated = readers.confidence(turn.text)
    return math.nan if stated is None else stated


async def _p_true(item: Item, prior: str, setup: Setup) -> float | None:
    """P(True): the model is asked, greedily, whether its own answer is right [Kadavath et al. 2022, section 3].

    With p the probability of the first token of its "true" or "false", this is p or 1 − p (see
    `readers.word_probability`); NaN for any other reply, None if it has no log-probabilities.
    """
    question = claim("\n".join([*map(named, item.options), item.question]), " ".join(prior.split()))
    how = {"question": question, "options": TRUE_OR_FALSE, "sees_passage": bool(item.options), "logprobs": True}
    talk = Conversation(item, setup, setup.choices.answer_tokens)
    how["reads"] = lambda reply: answers.extract_option(reply, TRUE_OR_FALSE)
    turn = await talk.ask(Role.AGENT, "option_answer", **how)
    if turn.stated_answer is None or turn.stated_answer not in turn.text.lower():  # "Yes." is read as true
        return math.nan
    p = readers.word_probability(turn.stated_answer, turn.text, turn.completion)
    return p if p is None or turn.stated_answer == "true" else 1 - p


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of a method (None if it abstains), or why there is none, and how it was reached.

    `missing` is UNPARSED if an answer was given but could not be read, and ERROR if `error` says why a method could not
    continue although every call was answered. `values` are all answers of a method that may give several, otherwise
    empty. `agreed_round` is the round in which debating agents agreed, or in which no answer changed.
    """

    answer: Answer | None
    missing: Missing | None = None
    decision: Decision | None = None
    ruling: Ruling | None = None
    debate: Debate | None = None
    confidence: SelfConfidence | None = None
    values: tuple[str, ...] = ()
    agreed_round: int | None = None
    context_confidence: float | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        must_be("the answer of an Outcome", self.answer, (Answer, None), "an Answer, as prior_answer gives one")


def answered(answer: Answer, debate: Debate | None = None, **more: Any) -> Outcome:
    """The outcome of a method that always answers: an answer that cannot be read is UNPARSED."""
    return Outcome(answer=answer, missing=Missing.UNPARSED if answer.value is None else None, debate=debate, **more)


def select_answer(
    decision: Decision | None, context: Answer | None, prior: Answer, *, verdict: Verdict | None = None, **more: Any
) -> Outcome:
    """From a decision to the final answer [3.2].

    UNPARSED if the verdict or the chosen answer could not be read, or if nothing was read to decide from (None).
    """
    chosen = {Decision.USE_CONTEXT: context, Decision.USE_PRIOR: prior}.get(decision) if decision else None
    missing = missing_reason(verdict, decision, readable=chosen is not None and chosen.value is not None)
    return Outcome(answer=chosen, missing=missing, decision=decision, **more)
