"""Judge debate [A.2]: two debaters who both see the passage, one for its answer, one for the answer from memory.

Both open at once. In the rounds after the openings the Defender (the paper's Agent A) speaks first and the Critic
(Agent B) replies. Then the Judge, who sees question, passage and everything said, picks an answer: whichever it
begins with, also where that is neither side's. The debates of 1, 3 and 5 rounds are beginnings of one transcript:
their requests are equal, so the store answers what a longer or shorter one has asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from srdcr_lab import prompts
from srdcr_lab.prompts import parse
from srdcr_lab.protocols.answering import Answer, context_answer, prior_answer
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import answer_of, defended, first_sentence, speak
from srdcr_lab.records import Debate, Item, Role, Turn

MAX_TOKENS = 300


async def judge_debate(item: Item, setup: Setup, *, rounds: int) -> Outcome:
    """The answer the Judge picks after the openings and `rounds` rounds: 2 + 2 + 2 · rounds + 1 calls."""
    context, prior = await asyncio.gather(context_answer(item, setup), prior_answer(item, setup))
    defender = partial(_argue, item, setup, Role.DEFENDER, context)
    critic = partial(_argue, item, setup, Role.CRITIC, prior)
    transcript = list(await asyncio.gather(defender((), 0), critic((), 0)))
    for round_ in range(1, rounds + 1):
        transcript.append(await defender(tuple(transcript), round_))
        transcript.append(await critic(tuple(transcript), round_))
    heard = 2 * (1 + rounds - setup.choices.judge_debate_unheard)
    ruling = await _pick(item, setup, transcript[:heard], rounds)
    said = parse.opening_statement(ruling.text)
    return given(answer_of(ruling, said), Debate(turns=(*transcript, ruling), verdict_path=()))


async def _argue(item: Item, setup: Setup, role: Role, answer: Answer, heard: Sequence[Turn], round_: int) -> Turn:
    """A debater sees question, passage and transcript, and defends the answer it was given."""
    messages = prompts.render(
        "judge_debate_debater",
        question=item.question,
        passage=item.context,
        transcript=heard,
        side=role.value.capitalize(),
        answer=defended(answer),
    )
    (turn,) = await speak(
        role,
        messages,
        setup,
        round_=round_,
        max_tokens=MAX_TOKENS,
        saw_turns=range(len(heard)),
        stance=defended(answer),
        states=first_sentence(item),
    )
    return turn


async def _pick(item: Item, setup: Setup, transcript: Sequence[Turn], round_: int) -> Turn:
    messages = prompts.render("judge_debate_judge", question=item.question, passage=item.context, transcript=transcript)
    (turn,) = await speak(
        Role.JUDGE,
        messages,
        setup,
        round_=round_,
        max_tokens=MAX_TOKENS,
        saw_turns=range(len(transcript)),
        states=first_sentence(item),
    )
    return turn


JUDGE_DEBATES = tuple(
    Method(f"judge_debate_{rounds}", partial(judge_debate, rounds=rounds), debates=True) for rounds in (1, 3, 5)
)
