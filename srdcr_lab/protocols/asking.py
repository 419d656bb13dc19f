"""The settings of counterfactual debates and of the methods they are compared with [CFMAD 4.1, B.2]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from srdcr_lab import answers, prompts
from srdcr_lab.prompts.readers import answer_line
from srdcr_lab.protocols.answering import Answer
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import BadInput, Completion, Debate, Item, Option, Request, Role, Turn

MOST_STANCES = MOST_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class CounterfactualDesign:
    """What makes one counterfactual debate differ from another; the defaults are the paper's.

    Parameters
    ----------
    stances : preset answers, 2–5; fewer where the question has fewer options.
    rounds : rounds of critic and rebuttal, 1–5.
    temperature : of every call but the votes of self-consistency, > 0.
    candidates : chains of thought that a preset answer comes from: the most frequent option, or all answers of an open
        question.
    order_seed : beside the study's seed, draws the other stances and the order in which the judge reads them.
    swap : reverses that order, and nothing else.
    """

    stances: int = 2
    rounds: int = 1
    temperature: float = 0.2
    candidates: int = 3
    order_seed: int = 0
    swap: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.stances <= MOST_STANCES:
            raise BadInput(f"a counterfactual debate has 2 to {MOST_STANCES} stances, got {self.stances}")
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise BadInput(f"a counterfactual debate has 1 to {MOST_ROUNDS} rounds, got {self.rounds}")
        if not self.temperature > 0:
            raise BadInput(f"the temperature is above 0, or all chains of thought are one; got {self.temperature}")
        if self.candidates < 1:
            raise BadInput(f"at least 1 chain of thought gives the candidates, got {self.candidates}")


PAPER = CounterfactualDesign()


# -- one question as agents are asked it: what they see, how their replies are read, who heard whom


@dataclass(frozen=True, eq=False)
class Said:
    """A turn, and those of the others that its speaker had before it. Equal only to itself."""

    turn: Turn
    heard: tuple[Said, ...] = ()

    @property
    def text(self) -> str:
        return self.turn.text

    @property
    def answer(self) -> Answer:
        """The answer that the turn ends with, and the line in which it stands."""
        completion = self.turn.completion or Completion(self.text)
        return Answer(self.turn.stated_answer, completion, said=answer_line(self.text) or self.text)


@dataclass(frozen=True)
class Question:
    """An item with the options that are shown: its own, or the candidates of an open question.

    An answer is a label where the item has options of its own, else the value of a candidate.
    """

    item: Item
    setup: Setup
    design: CounterfactualDesign = PAPER
    candidates: tuple[Option, ...] = ()

    @property
    def options(self) -> tuple[Option, ...]:
        return self.item.options or self.candidates

    def among(self, candidates: Sequence[Option]) -> Question:
        """The open question with candidates to choose from."""
        return replace(self, candidates=tuple(candidates))

    def value_of(self, option: Option) -> str:
        """The answer that an option stands for."""
        return option.label if self.item.options else option.text

    def read(self, reply: str) -> str | None:
        """The answer that a reply ends with; None where it names none, or no one option."""
        last = answer_line(reply)
        if self.options:
            label = answers.extract_option(last if last is not None else reply, self.options)
            return next((self.value_of(option) for option in self.options if option.label == label), None)
        return answers.extract(last if last is not None else reply, self.item.answer_type, self.item.unit)

    async def ask(
        self,
        role: Role,
        template: str,
        *,
        stream: str,
        round_: int = 0,
        heard: Sequence[Said] = (),
        speaker: str = "",
        stance: Option | None = None,
        answers_it: bool = True,
        draws: int = 1,
        temperature: float | None = None,
        **fields: Any,
    ) -> tuple[Said, ...]:
        """Ask who plays the role for one reply, or for several draws of one prompt.

        `heard` are the turns whose text is in `fields`. `answers_it` is False for replies that are not asked to end
        with an answer. Of several draws the speakers are numbered from 0.
        """
        shown: dict[str, Any] = {"question": self.item.question, "passage": self.item.context, "options": self.options}
        messages = prompts.render(template, **shown, stance=stance, **fields)
        request = Request(
            messages=messages,
            max_tokens=self.setup.choices.debate_tokens,
            temperature=self.design.temperature if temperature is None else temperature,
            seed=self.setup.seed,
            stream=stream,
            draws=tuple(range(draws)),
        )
        completions = await self.setup.cast.player(role).complete(request)
        return tuple(
            Said(
                Turn(
                    round=round_,
                    role=role,
                    text=completion.text,
                    saw_passage=bool(self.item.context),
                    saw_turns=(),
                    request_digest=request.digest,
                    stated_answer=self.read(completion.text) if answers_it else None,
                    speaker=f"{speaker}-{completion.draw}" if draws > 1 else speaker,
                    stance=self.value_of(stance) if stance else None,
                    completion=completion,
                ),
                tuple(heard),
            )
            for completion in completions
        )


def debate_of(spoken: Sequence[Said]) -> Debate:
    """The turns in this order, each with the places of those its speaker heard; a judge, whom nobody hears, is last."""
    places = {id(said): place for place, said in enumerate(spoken)}
    turns = (replace(said.turn, saw_turns=tuple(sorted(places[id(each)] for each in said.heard))) for said in spoken)
    return Debate(turns=tuple(turns), verdict_path=())
