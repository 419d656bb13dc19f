"""Judge debate [A.2]: two debaters who both see the passage, one for its answer, one for the answer from memory.

Both open at once. In the rounds after the openings the Defender (the paper's Agent A) speaks first and the Critic
(Agent B) replies. Then the Judge, who sees question, passage and everything said, picks an answer: whichever it
begins with, also where that is neither side's. The debates of 1, 3 and 5 rounds are beginnings of one transcript:
their requests are equal, so the store answers what a longer or shorter one has asked.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from srdcr_lab import prompts
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.answering import Answer, context_answer, prior_answer, same_answer
from srdcr_lab.protocols.method import Method, Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import answer_of, defended, first_sentence, speak
from srdcr_lab.records import CallFailed, Debate, Exemplar, Item, Message, Role, Turn

JUDGE_DEBATE_TOKENS = 300


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
    said = readers.opening_statement(ruling.text)
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
        max_tokens=JUDGE_DEBATE_TOKENS,
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
        max_tokens=JUDGE_DEBATE_TOKENS,
        saw_turns=range(len(transcript)),
        states=first_sentence(item),
    )
    return turn


JUDGE_DEBATES = tuple(
    Method(f"judge_debate_{rounds}", partial(judge_debate, rounds=rounds), debates=True) for rounds in (1, 3, 5)
)


# -- naive debate [A.2]: three agents answer by themselves, then see each other's answers and reconsider

AGENTS, ROUNDS, NAIVE_DEBATE_TOKENS = 3, 5, 250


async def naive_debate(item: Item, setup: Setup) -> Outcome:
    """Three calls a round, until all agree or five rounds are over.

    Raises
    ------
    CallFailed
        If there are too few exemplars to give each agent an order of its own.
    """
    turns: list[Turn] = []
    orders = exemplar_orders(item, setup)
    latest = await asyncio.gather(*(_answer(item, setup, agent, orders[agent]) for agent in range(AGENTS)))
    turns += latest
    while not _agree(latest, item) and latest[0].round + 1 < ROUNDS:
        heard, round_ = tuple(turns), latest[0].round + 1
        latest = await asyncio.gather(*(_reconsider(item, setup, agent, heard, round_) for agent in range(AGENTS)))
        turns += latest
    chosen = majority(latest, item)
    said = readers.opening_statement(chosen.text)
    agreed = latest[0].round if _agree(latest, item) else None
    return replace(given(answer_of(chosen, said), Debate(turns=tuple(turns), verdict_path=())), agreed_round=agreed)


def exemplar_orders(item: Item, setup: Setup) -> list[tuple[Exemplar, ...]]:
    """One order of the item's exemplars an agent, all different and seeded; the first is the few-shot baseline's."""
    orders = [setup.random_exemplars(item)]
    if len(orders[0]) < AGENTS:  # fewer have no three orders
        raise CallFailed(
            f"naive_debate needs {AGENTS} exemplars or more to show its agents different orders, and there are "
            f"{len(orders[0])} for {item.domain}"
        )
    rng = random.Random(f"{setup.seed}|agents|{item.question_id}")
    while len(orders) < AGENTS:
        order = tuple(rng.sample(orders[0], len(orders[0])))
        if order not in orders:
            orders.append(order)
    return orders


async def _answer(item: Item, setup: Setup, agent: int, exemplars: Sequence[Exemplar]) -> Turn:
    """Round 0: question and passage, nothing of the others."""
    shots = [({"question": e.question, "passage": e.context}, f"{e.answer}. The passage says so.") for e in exemplars]
    messages = prompts.render("naive_debate_answer", shots=shots, question=item.question, passage=item.context)
    return await _speak(item, setup, agent, messages, 0, ())


async def _reconsider(item: Item, setup: Setup, agent: int, heard: Sequence[Turn], round_: int) -> Turn:
    """A later round: the agent's own last answer, and the others' answers of every round so far."""
    mine = max(position for position, turn in enumerate(heard) if turn.speaker == _name(agent))
    others = [position for position, turn in enumerate(heard) if turn.speaker != _name(agent)]
    messages = prompts.render(
        "naive_debate_reconsider",
        question=item.question,
        passage=item.context,
        answer=heard[mine].text,
        transcript=[heard[position] for position in others],
    )
    return await _speak(item, setup, agent, messages, round_, sorted([mine, *others]))


async def _speak(
    item: Item, setup: Setup, agent: int, messages: Sequence[Message], round_: int, saw: Sequence[int]
) -> Turn:
    (turn,) = await speak(
        Role.AGENT,
        messages,
        setup,
        round_=round_,
        max_tokens=NAIVE_DEBATE_TOKENS,
        saw_turns=saw,
        speaker=_name(agent),
        states=first_sentence(item),
    )
    return turn


def _name(agent: int) -> str:
    return f"agent-{agent}"


def _agree(turns: Sequence[Turn], item: Item) -> bool:
    return all(same_answer(turn.stated_answer, turns[0].stated_answer, item) for turn in turns)


def majority(turns: Sequence[Turn], item: Item) -> Turn:
    """The first turn with the most frequent answer; the first turn of all where no answer could be read."""

    def votes(turn: Turn) -> int:
        return sum(same_answer(turn.stated_answer, other.stated_answer, item) for other in turns)

    return max(turns, key=votes)  # the first of equals


NAIVE_DEBATE = Method("naive_debate", naive_debate)
