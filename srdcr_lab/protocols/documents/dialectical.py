"""The dialectical debate between documents, in three phases (the rounds of its turns).

0, theses: a proponent for each document gives (answer, chain_of_thought) from its document alone.
1, antithesis: one devil's advocate sees every document and thesis and challenges the proponents it faults. Each
challenge goes to that proponent alone, who sees its document, its thesis and the challenge, and defends, revises or
concedes: an explicit state.
2, synthesis: a judge reads theses, challenges and rebuttals, no document, weighs how each withstood its challenge, and
does not count votes.

Theses, challenges and rebuttals are JSON objects read strictly; a malformed one is asked for once more. If that is
malformed too, the debate ends there with an error.

Source: A Dialectical Framework for Adversarial and Evidence-Aware RAG, sections 2 and 3; the explicit state and the
request for repair are ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from srdcr_lab import prompts
from srdcr_lab.prompts import structured as parse
from srdcr_lab.prompts.structured import Rebuttal, Thesis
from srdcr_lab.protocols.documents.reading import concluded, stated, value_of
from srdcr_lab.protocols.documents.structured import Reply, structured
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import speak
from srdcr_lab.records import Debate, Item, Message, Missing, Needs, Role, Turn

THESIS_TOKENS = 500
CHALLENGE_TOKENS, MOST_TOKENS = 120, 4000  # for each document, beside a thesis's worth; what every API takes
THESES, ANTITHESIS, SYNTHESIS = range(3)
T = TypeVar("T")


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
