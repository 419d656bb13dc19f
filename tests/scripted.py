"""A model that answers from a script written by hand and keeps every request, for unit tests of the protocols.

A script gives a reply, or a function of the request, for each kind of call. The kind is told from the system message,
which is a fixed text per template.
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from srdcr_lab import prompts
from srdcr_lab.data import ItemSet
from srdcr_lab.models import Store
from srdcr_lab.models.spending import Price, StoredModel
from srdcr_lab.protocols import Cast, Choices, Setup
from srdcr_lab.records import (
    AnswerType,
    Capabilities,
    Completion,
    Exemplar,
    Item,
    Level,
    ModelIdentity,
    PerturbationKind,
    Request,
)
from srdcr_lab.study import Results, Study

Reply = str | Completion | Exception
Script = Mapping[str, Reply | Sequence[Reply] | Callable[[Request, int], Reply]]

REASONABLE, UNREASONABLE = "final decision: REASONABLE", "final decision: UNREASONABLE"
ANSWERS = {"answer_from_memory": "1874", "answer_with_passage": "1934"}
ROLES = {"critic": "1874. I am certain.", "defender": "1934. The passage says so.", "judge": REASONABLE}


def kind_of(request: Request) -> str:
    """The template a request was made from."""
    system = request.messages[0].content
    (name,) = (name for name in prompts.sources() if prompts.system_text(name) == system)
    return name


# Debaters of either kind of design, and judges of what is no debate, by their role.
ROLE_OF = {"critic_told": "critic", "critic_shown": "critic", "defender_told": "defender"}
ROLE_OF |= dict.fromkeys(("judge_alone", "judge_shown"), "judge")


class ScriptedModel:
    """Replies by kind of call: one text for all, a list in order of asking, or a function of request and draw.

    Each says what is written for its role (`ROLE_OF`), unless the script has a reply to its template.
    """

    def __init__(self, script: Script | None = None, *, logprobs: bool = True, name: str = "scripted") -> None:
        self.identity = ModelIdentity("scripted", name)
        self.capabilities = Capabilities(logprobs=logprobs)
        self.script: dict[str, object] = {**ANSWERS, **ROLES, **(script or {})}
        self.requests: list[Request] = []
        self._asked: dict[str, int] = {}

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        self.requests.append(request)
        await asyncio.sleep(0)
        return tuple(self._completion(request, draw) for draw in request.draws)

    def _completion(self, request: Request, draw: int) -> Completion:
        kind = kind_of(request)
        kind = kind if kind in self.script else ROLE_OF.get(kind, kind)
        reply = self.script[kind]
        if callable(reply):
            reply = reply(request, draw)
        elif isinstance(reply, list):
            self._asked[kind] = self._asked.get(kind, 0) + 1
            reply = reply[self._asked[kind] - 1]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return Completion(reply.text, draw, reply.tokens, reply.logprobs)
        assert isinstance(reply, str)
        scored = self.capabilities.logprobs and request.wants_logprobs
        return Completion(reply, draw, (reply,) if scored else None, (-0.01,) if scored else None, prompt_tokens=7)

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def asked(self, kind: str) -> list[Request]:
        """Requests of one kind, or of a role (`ROLE_OF`), in the order they came."""
        return [request for request in self.requests if kind in (named := kind_of(request), ROLE_OF.get(named))]

    @property
    def calls(self) -> int:
        """Completions handed out."""
        return sum(len(request.draws) for request in self.requests)


def question_of(request: Request) -> str:
    """The last user message: what the speaker sees of this item."""
    return request.messages[-1].content


def heard_by(request: Request) -> list[str]:
    """What stands in a prompt's debate block, in order, such as ["defender 0", "critic 0"]."""
    inside = question_of(request).partition("<debate>")[2].partition("</debate>")[0]
    return [line.split(". ")[1].rstrip(".") for line in inside.splitlines() if line[:2] in ("18", "19")]


def rounds_heard(*rounds: str) -> list[str]:
    """["DC", "CD"] → what was said in rounds 0 and 1, in that order."""
    names = {"D": "defender", "C": "critic"}
    return [f"{names[letter]} {n}" for n, letters in enumerate(rounds) for letter in letters]


def exemplars(n: int = 8, domain: str = "history") -> tuple[Exemplar, ...]:
    return tuple(
        Exemplar(
            question=f"When was bridge {i} of {domain} built?",
            answer=str(1700 + i),
            context=f"Bridge {i} was built in {1700 + i}.",
            domain=domain,
        )
        for i in range(n)
    )


def item(passage_year: int = 1874, *, gold: str = "1874", question_id: str = "q1", domain: str = "history") -> Item:
    """When was the society founded? The gold answer is 1874; the passage says `passage_year`."""
    offset = passage_year - int(gold)
    return Item(
        item_id=f"{question_id}@{offset:+d}", question_id=question_id,
        question=f"When was the society {question_id} founded?", gold_answer=gold,
        context=f"The society {question_id} was founded in {passage_year} by SENTINEL the baker.",
        claimed_answer=str(passage_year), domain=domain, answer_type=AnswerType.YEAR,
        perturbation_kind=PerturbationKind.OFFSET if offset else PerturbationKind.NONE,
        perturbation_value=float(offset) if offset else None, level=Level.MODERATE if offset else Level.STANDARD,
    )  # fmt: skip


def setup_of(model: ScriptedModel, choices: Choices | None = None, *items: Item, seed: int = 0) -> Setup:
    """A setup in which one model plays every role."""
    return Setup(Cast(*[model] * 4), choices or Choices(), ItemSet("worked", items or (item(),), exemplars()), seed)


def finished(study: Study) -> Results:
    """What a study ends with that is run and closed."""
    with study:
        return study.run(progress=False)


SURE = Completion("1874", tokens=("1874",), logprobs=(math.log(0.95),))
UNSURE = Completion("1874", tokens=("1874",), logprobs=(math.log(0.50),))


def reader(**script: Any) -> ScriptedModel:
    """A model that remembers 1874, and whose context answer and defence are the year in the passage of `item`."""

    def reads(request: Request, draw: int) -> str:
        return question_of(request).partition("founded in ")[2][:4]

    def defends(request: Request, draw: int) -> str:
        return f"{reads(request, draw)}. The passage says so."

    return ScriptedModel({"answer_with_passage": reads, "defender": defends, **script})


def by_round(rulings: Sequence[str]) -> Callable[[Request, int], str]:
    """A judge that rules by the round it hears."""
    return lambda request, draw: rulings[question_of(request).count("<defender") - 1]


def stored_setup(model: ScriptedModel, chosen: Choices, *items: Item, price: Price | None = None) -> Setup:
    """A setup behind a store that is forgotten."""
    stored = StoredModel(model, Store(":memory:"), price=price)
    return replace(setup_of(model, chosen, *items), cast=Cast(*[stored] * 4))
