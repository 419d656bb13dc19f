"""A structured reply with one request for repair: the object that was read, or why there is none, and what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from srdcr_lab import prompts
from srdcr_lab.prompts import readers as parse
from srdcr_lab.prompts.readers import Malformed, Rebuttal, Thesis
from srdcr_lab.protocols.document_agents import concluded, stated, value_of
from srdcr_lab.protocols.method import Method, Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import speak
from srdcr_lab.records import Debate, Item, Message, Missing, Needs, Role, Turn

T = TypeVar("T")
Ask = Callable[[str | None, str], Awaitable[Turn]]  # (what was wrong with the reply, that reply) → the next turn


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """One or two turns of a speaker; `value` is None where `fault` says what was wrong with the second as well."""

    value: T | None
    turns: Sequence[Turn]
    fault: str = ""


async def structured(
    ask: Ask, read: Callable[[str], T], states: Callable[[T], str | None] = lambda _: None
) -> Reply[T]:
    """Ask, read strictly, and where the reply is malformed ask once more, showing the reply and its fault.

    `states` is the answer that the object holds, for the turn that it was read from.
    """
    turns = [await ask(None, "")]
    fault = ""
    for last in (False, True):
        try:
            value = read(turns[-1].text)
        except Malformed as error:
            fault = str(error)
            if not last:
                turns.append(await ask(fault, turns[-1].text))
        else:
            turns[-1] = replace(turns[-1], stated_answer=states(value))
            return Reply(value, turns)
    return Reply(None, turns, fault)


# -- the dialectical debate between documents, in three phases (the rounds of its turns)

THESIS_TOKENS = 500
CHALLENGE_TOKENS, MOST_TOKENS = 120, 4000  # for each document, beside a thesis's worth; what every API takes
THESES, ANTITHESIS, SYNTHESIS = range(3)


class _InVain(Exception):
    """A speaker was asked twice and gave no valid reply."""


async def dialectical(item: Item, setup: Setup) -> Outcome:
    """n theses, 1 advocate, a rebuttal per challenge, 1 judge; each structured reply may be asked for twice."""
    floor = _Floor(item, setup)
    try:
        theses = await floor.theses()
        challenges = await floor.challenges(theses)
        rebuttals = await floor.rebuttals(theses, challenges)
    except _InVain as error:
        return floor.broken_off(f"dialectical: {error}")
    return await floor.judged(theses, challenges, rebuttals)


class _Floor:
    """The debate as it grows: its transcript, and where in it each speaker was heard last."""

    def __init__(self, item: Item, setup: Setup) -> None:
        self.item, self.setup = item, setup
        self.documents = [document.text for document in item.documents]
        self.turns: list[Turn] = []
        self.thesis_at: list[int] = []
        self.advocate_at = 0
        self.rebuttal_at: list[int] = []

    async def theses(self) -> list[Thesis]:
        asked = [
            structured(partial(self._propose, i), parse.thesis, lambda thesis: value_of(thesis.answer, self.item))
            for i in range(len(self.documents))
        ]
        names = [f"the proponent of {self._name(i)}" for i in range(len(self.documents))]
        theses, self.thesis_at = self._hear(names, await asyncio.gather(*asked))
        return theses

    async def challenges(self, theses: Sequence[Thesis]) -> Mapping[int, str]:
        """Challenge by the number of its document, from 1."""
        ask = partial(self._advocate, theses)
        reply = await structured(ask, partial(parse.challenges, n_documents=len(self.documents)))
        (challenges,), (self.advocate_at,) = self._hear(["the devil's advocate"], [reply])
        return challenges

    async def rebuttals(self, theses: Sequence[Thesis], challenges: Mapping[int, str]) -> Mapping[int, Rebuttal]:
        """Rebuttal by the number of its document, of those that were challenged."""
        asked = [
            structured(
                partial(self._rebut, number, theses[number - 1], challenge),
                partial(parse.rebuttal, held=theses[number - 1]),
                lambda rebuttal: value_of(rebuttal.answer, self.item),
            )
            for number, challenge in challenges.items()
        ]
        names = [f"the challenged proponent of {self._name(number - 1)}" for number in challenges]
        rebuttals, self.rebuttal_at = self._hear(names, await asyncio.gather(*asked))
        return dict(zip(challenges, rebuttals, strict=True))

    async def judged(
        self, theses: Sequence[Thesis], challenges: Mapping[int, str], rebuttals: Mapping[int, Rebuttal]
    ) -> Outcome:
        cases = [(thesis, challenges.get(i), rebuttals.get(i)) for i, thesis in enumerate(theses, start=1)]
        messages = prompts.render("documents_judge", cases=cases, question=self.item.question)
        heard = [*self.thesis_at, *([self.advocate_at] if challenges else []), *self.rebuttal_at]
        (turn,) = await speak(
            Role.JUDGE,
            messages,
            self.setup,
            round_=SYNTHESIS,
            max_tokens=self.setup.choices.debate_tokens,
            saw_passage=False,
            saw_turns=heard,
        )
        turn = stated(turn, self.item)
        return concluded(turn, self.item, Debate(turns=(*self.turns, turn), verdict_path=()))

    def broken_off(self, error: str) -> Outcome:
        debate = Debate(turns=tuple(self.turns), verdict_path=())
        return Outcome(answer=None, missing=Missing.ERROR, debate=debate, error=error)

    async def _propose(self, i: int, fault: str | None, reply: str) -> Turn:
        messages = prompts.render(
            "proponent_thesis", document=self.documents[i], question=self.item.question, fault=fault, reply=reply
        )
        return await self._speak(Role.PROPONENT, messages, THESES, THESIS_TOKENS, (), i)

    async def _advocate(self, theses: Sequence[Thesis], fault: str | None, reply: str) -> Turn:
        messages = prompts.render(
            "devils_advocate",
            documents=self.documents,
            theses=theses,
            question=self.item.question,
            fault=fault,
            reply=reply,
        )
        room = min(THESIS_TOKENS + CHALLENGE_TOKENS * len(self.documents), MOST_TOKENS)
        return await self._speak(Role.ADVOCATE, messages, ANTITHESIS, room, self.thesis_at)

    async def _rebut(self, number: int, thesis: Thesis, challenge: str, fault: str | None, reply: str) -> Turn:
        messages = prompts.render(
            "proponent_rebuttal",
            document=self.documents[number - 1],
            thesis=thesis,
            challenge=challenge,
            question=self.item.question,
            fault=fault,
            reply=reply,
        )
        heard = (self.thesis_at[number - 1], self.advocate_at)
        stance = value_of(thesis.answer, self.item)
        return await self._speak(Role.PROPONENT, messages, ANTITHESIS, THESIS_TOKENS, heard, number - 1, stance)

    async def _speak(
        self,
        role: Role,
        messages: Sequence[Message],
        round_: int,
        max_tokens: int,
        heard: Sequence[int],
        i: int | None = None,
        stance: str | None = None,
    ) -> Turn:
        (turn,) = await speak(
            role,
            messages,
            self.setup,
            round_=round_,
            max_tokens=max_tokens,
            saw_turns=heard,
            speaker="" if i is None else self.item.documents[i].document_id,
            stance=stance,
        )
        return turn

    def _hear(self, names: Sequence[str], replies: Sequence[Reply[T]]) -> tuple[list[T], list[int]]:
        """Add all turns to the transcript; what was said, and where. The first reply in vain is raised."""
        places = []
        for reply in replies:
            self.turns += reply.turns
            places.append(len(self.turns) - 1)
        for name, reply in zip(names, replies, strict=True):
            if reply.value is None:
                raise _InVain(f"{name} was asked twice and gave no valid reply: {reply.fault}")
        return [reply.value for reply in replies if reply.value is not None], places

    def _name(self, i: int) -> str:
        return f"document {self.item.documents[i].document_id}"


DIALECTICAL = Method("dialectical", dialectical, debates=True, needs=Needs.DOCUMENTS)
