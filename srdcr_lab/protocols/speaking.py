"""One utterance: the request a role is asked with, and the turn that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from srdcr_lab import answers
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.answering import Answer
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import GREEDY, Completion, Item, Message, Request, Role, Turn, Verdict

Reading = Callable[[str], str | None]


async def speak(
    role: Role,
    messages: Sequence[Message],
    setup: Setup,
    *,
    round_: int,
    max_tokens: int,
    saw_passage: bool = True,
    saw_turns: Sequence[int] = (),
    speaker: str = "",
    stance: str | None = None,
    states: Reading | None = None,
    rules: Callable[[str], Verdict] | None = None,
    draws: int = 1,
    temperature: float = 0.0,
) -> tuple[Turn, ...]:
    """Ask who plays the role: one turn, greedily, or several draws of one prompt, in a stream of the role's name.

    `states` reads the answer in a reply, `rules` the verdict. Of several draws the speakers are numbered from 0.
    """
    request = Request(
        messages=tuple(messages),
        max_tokens=max_tokens,
        temperature=temperature if draws > 1 else 0.0,
        seed=setup.seed,
        stream=role.value if draws > 1 else GREEDY,
        draws=tuple(range(draws)),
    )
    return tuple(
        Turn(
            round=round_,
            role=role,
            text=completion.text,
            saw_passage=saw_passage,
            saw_turns=tuple(saw_turns),
            request_digest=request.digest,
            verdict=rules(completion.text) if rules else None,
            stated_answer=states(completion.text) if states else None,
            speaker=str(completion.draw) if draws > 1 else speaker,
            stance=stance,
            completion=completion,
        )
        for completion in await setup.cast.player(role).complete(request)
    )


def first_sentence(item: Item) -> Reading:
    """Reads the answer that a speaker was asked to begin with; None where its first sentence is none."""
    return lambda text: answers.extract(readers.opening_statement(text), item.answer_type, item.unit)


def answer_of(turn: Turn, said: str | None) -> Answer:
    """The answer that a turn states, and the part of it in which it stands."""
    return Answer(turn.stated_answer, turn.completion or Completion(turn.text), said=said)


def defended(answer: Answer) -> str:
    """What a debater is given to defend: the answer, or, where none could be read, what the model said."""
    return answer.value if answer.value is not None else answer.text.strip()
