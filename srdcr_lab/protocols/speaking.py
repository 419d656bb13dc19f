"""How a protocol asks: who plays which role, and from what a speaker sees to a request, its completions and turns.

Every request of every method is built in `Conversation.draw`; the templates say in words what is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from srdcr_lab import answers
from srdcr_lab.answers.replies import spoken
from srdcr_lab.models.base import ChatModel
from srdcr_lab.prompts import OURS, Prompts, readers
from srdcr_lab.protocols.choices import Choices, DebateDesign, Match
from srdcr_lab.records import GREEDY, Completion, Debate, Exemplar, Item, Request, Role, Turn, Verdict
from srdcr_lab.records.vocabulary import TemperatureRefused

if TYPE_CHECKING:
    from srdcr_lab.data import ItemSet

Reader = Callable[[str], str | None]  # from a reply to the answer that it states, None where it states none
Shots = Sequence[tuple[Mapping[str, object], str]]  # fields and reply of each worked example


@dataclass(frozen=True)
class Cast:
    """The model that answers and the models that play the roles, often all the same."""

    answerer: ChatModel
    defender: ChatModel
    critic: ChatModel
    judge: ChatModel

    def player(self, role: Role) -> ChatModel:
        """Who plays a role: proponents defend, the devil's advocate attacks, an aggregator judges, agents answer."""
        match role:
            case Role.DEFENDER | Role.PROPONENT:
                return self.defender
            case Role.CRITIC | Role.ADVOCATE:
                return self.critic
            case Role.JUDGE | Role.AGGREGATOR:
                return self.judge
            case Role.AGENT:
                return self.answerer

    @classmethod
    def of_one(cls, model: ChatModel) -> Cast:
        return cls(model, model, model, model)


@dataclass(frozen=True)
class Setup:
    """What every protocol is given beside the item. `players`: the models that designs name, by specification."""

    cast: Cast
    choices: Choices
    items: ItemSet
    seed: int = 0
    players: Mapping[str, ChatModel] = field(default_factory=dict)
    prompts: Prompts = OURS

    def under(self, design: DebateDesign) -> Setup:
        """The same setup with one design of its grid, and the models that play the roles in it."""
        roles = ("defender", "critic", "judge")
        named = {role: self.players[spec] for role in roles if (spec := getattr(design, role)) is not None}
        alone = replace(self.choices, design=design, also=())
        return replace(self, choices=alone, cast=replace(self.cast, **named))

    def fixed_exemplars(self, item: Item) -> tuple[Exemplar, ...]:
        """The same exemplars for every question of a domain: for the confidence prompt [2.3]."""
        return self.items.pool(item)[: self.choices.exemplars]

    def random_exemplars(self, item: Item) -> tuple[Exemplar, ...]:
        """Seeded random in-domain exemplars, the same for every form of a question [appendix B]."""
        pool = self.items.pool(item)
        rng = random.Random(f"{self.seed}|exemplars|{item.question_id}")
        return tuple(rng.sample(pool, min(self.choices.exemplars, len(pool))))


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, the answer read from it (None where none could be read), and the part `said` that states it.

    `decoding` is the request's. `draws`: if it was chosen as the most frequent answer, all those that it was chosen of.
    `graded`: whether others found it right; None: we compare it ourselves.
    """

    value: str | None
    completion: Completion
    stream: str = GREEDY
    said: str | None = None
    decoding: str = ""
    draws: tuple[Answer, ...] = ()
    graded: bool | None = None

    @property
    def text(self) -> str:
        return self.completion.text if self.said is None else self.said

    @property
    def defended(self) -> str:
        """What a debater is given to defend: the answer, or where none could be read the model's words."""
        return self.value if self.value is not None else self.text.strip()


def no_answer(reply: str) -> None:
    """The reader of replies that are not asked for an answer."""


class Conversation:
    """What is said about one item: asks the speakers and remembers which turns each of them was shown.

    `max_tokens` and `temperature` are those of every request that names no other.
    """

    def __init__(self, item: Item, setup: Setup, max_tokens: int, temperature: float = 0.0) -> None:
        self.item, self.setup, self.max_tokens, self.temperature = item, setup, max_tokens, temperature
        self._heard: dict[int, tuple[Turn, ...]] = {}  # by identity: turns are not unique in what they say

    async def ask(self, role: Role, template: str, **how: Any) -> Turn:
        """One turn of whoever plays the role; the arguments are those of `draw`."""
        (turn,) = await self.draw(role, template, **how)
        return turn

    async def draw(
        self,
        role: Role,
        template: str,
        *,
        round_: int = 0,
        speaker: str = "",
        defends: str | None = None,
        sees_passage: bool = True,
        heard: Sequence[Turn] = (),
        reads: Reader | None = None,
        rules: Callable[[str], Verdict] | None = None,
        max_tokens: int | None = None,
        draws: int = 1,
        votes: int | None = None,
        temperature: float | None = None,
        stream: str | None = None,
        logprobs: bool = False,
        shots: Shots = (),
        **fields: object,
    ) -> tuple[Turn, ...]:
        """Ask whoever plays the role, once or for several draws of one prompt.

        Parameters
        ----------
        speaker : tells apart several of one role; several draws are numbered from 0.
        defends : the answer that the speaker is given; in templates ``answer``.
        heard : the turns that the prompt shows; in templates ``transcript``.
        reads : how the answer is read from a reply; default: `read`.
        rules : how a judge's verdict is read; a judge that rules states no answer.
        stream : of the draws, unless they are greedy; default: the speaker, or else the role.
        votes : number of draws where the model takes no temperature, and is asked at its provider's default; that may
            be learned from this very request. Default: `draws`.
        """
        heard = tuple(heard)
        shown: dict[str, object] = {"question": self.item.question, "transcript": heard}
        shown["passage"] = self.item.context if sees_passage else None
        if defends is not None:
            shown["answer"] = defends
        reads = no_answer if rules else reads or self.read
        temperature = self.temperature if temperature is None else temperature
        model, stream = self.setup.cast.player(role), stream or speaker or role.value
        request = Request(
            messages=self.setup.prompts.render(template, shots=shots, **(shown | fields)),
            max_tokens=self.max_tokens if max_tokens is None else max_tokens,
            temperature=temperature,
            logprobs=logprobs,
            scored=rules is not None,
            seed=self.setup.seed,
            stream=GREEDY if temperature == 0 else stream,
            draws=tuple(range(draws)),
        )
        by_default = replace(request, temperature=None, stream=stream, draws=tuple(range(votes or draws)))
        if not model.capabilities.temperature:
            request = by_default
        try:
            completions = await model.complete(request)
        except TemperatureRefused:
            completions = await model.complete(request := by_default)
        turns = tuple(
            Turn(
                round=round_,
                role=role,
                text=text,
                saw_passage=sees_passage,
                saw_turns=(),  # positions, which `debate` knows
                request_digest=request.digest,
                verdict=rules(text) if rules else None,
                p_unreasonable=readers.p_unreasonable(text, completion) if rules else None,
                stated_answer=reads(text),
                speaker=speaker if len(request.draws) == 1 else f"{speaker}-{completion.draw}".lstrip("-"),
                stance=defends,
                decoding=request.decoding,
                completion=completion,
            )
            for completion in completions
            for text in (spoken(completion.text),)  # thinking is neither read nor heard by the others
        )
        self._heard |= dict.fromkeys(map(id, turns), heard)
        return turns

    def withdrawn(self, ruling: Turn) -> Turn:
        """A ruling as words that rule nothing: another one takes its place."""
        words = replace(ruling, verdict=None, p_unreasonable=None)
        self._heard[id(words)] = self._heard[id(ruling)]
        return words

    def debate(
        self, turns: Sequence[Turn], verdict_path: Sequence[Verdict] = (), first_verdict_round: int = 0
    ) -> Debate:
        """The turns in this order, each with the positions (judges left out) of those that its speaker was shown."""
        transcript = [turn for turn in turns if turn.role is not Role.JUDGE]
        positions = {id(turn): position for position, turn in enumerate(transcript)}
        seen = [sorted(positions[id(heard)] for heard in self._heard[id(turn)]) for turn in turns]
        placed = [replace(turn, saw_turns=tuple(saw)) for turn, saw in zip(turns, seen, strict=True)]
        return Debate(turns=tuple(placed), verdict_path=tuple(verdict_path), first_verdict_round=first_verdict_round)

    def part(self, reply: str) -> str:
        """The part of a reply that states its answer: all of it."""
        return reply

    def read(self, reply: str) -> str | None:
        """The answer in a reply; by the loose match a reply that holds no single answer counts as one."""
        if self.item.options:
            return answers.extract_option(reply, self.item.options, self.item.question)
        stated = self.part(reply)
        value = answers.read(stated, self.item)
        return value if value is not None or self.setup.choices.match is Match.EXACT else stated.strip() or None

    def answer(self, turn: Turn, stream: str = GREEDY) -> Answer:
        """The answer that a turn states."""
        said = self.part(turn.text)
        return Answer(turn.stated_answer, turn.completion or Completion(turn.text), stream, said, turn.decoding)


class FinalLine(Conversation):
    """A conversation whose speakers end with a line ``Final answer: …``."""

    def part(self, reply: str) -> str:
        """What follows ``Final answer:``; of a reply with none of the lines that were asked for, all of it."""
        line = readers.final_answer(reply)
        return line or ("" if readers.is_in_lines(reply) else reply)


class Argument(Conversation):
    """A conversation whose speakers begin with their answer and a full stop."""

    def part(self, reply: str) -> str:
        return readers.opening_statement(reply)

    def read(self, reply: str) -> str | None:
        """The answer that a reply begins with; None where its first sentence is none."""
        return answers.read(self.part(reply), self.item)
