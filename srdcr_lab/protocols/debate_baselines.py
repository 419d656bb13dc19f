"""Debates that SR-DCR is compared with [A.2]: judge debate and naive debate.

Judge debate: two debaters see the passage; one defends its answer, the other the answer from memory. Both open at once.
In later rounds the Defender (the paper's Agent A) speaks first and the Critic (Agent B) replies. Then the Judge, who
sees question, passage and transcript, begins with an answer, which need not be one of the two. Debates of 1, 3 and 5
rounds begin alike, so the store answers what another has asked.

Naive debate: three agents answer by themselves, then see each other's answers and reconsider.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from functools import partial

from srdcr_lab.protocols.answering import Outcome, answered, context_answer, prior_answer, same_answer, worked
from srdcr_lab.protocols.speaking import Answer, Argument, Setup
from srdcr_lab.records import CallFailed, Exemplar, Item, Role, Turn

JUDGE_DEBATE_TOKENS = 300


async def judge_debate(item: Item, setup: Setup, *, rounds: int) -> Outcome:
    """The answer the Judge picks after the openings and `rounds` rounds: 2 + 2 + 2 · rounds + 1 calls."""
    talk = Argument(item, setup, JUDGE_DEBATE_TOKENS)
    context, prior = await asyncio.gather(context_answer(item, setup), prior_answer(item, setup))
    defender, critic = partial(_argue, talk, Role.DEFENDER, context), partial(_argue, talk, Role.CRITIC, prior)
    transcript = list(await asyncio.gather(defender((), 0), critic((), 0)))
    for round_ in range(1, rounds + 1):
        transcript.append(await defender(transcript, round_))
        transcript.append(await critic(transcript, round_))
    heard = transcript[: 2 * (1 + rounds - setup.choices.judge_debate_unheard)]
    ruling = await talk.ask(Role.JUDGE, "judge_debate_judge", round_=rounds, heard=heard)
    return answered(talk.answer(ruling), talk.debate([*transcript, ruling]))


async def _argue(talk: Argument, role: Role, answer: Answer, heard: Sequence[Turn], round_: int) -> Turn:
    """A debater sees question, passage and transcript, and defends the answer it was given."""
    side, template = role.value.capitalize(), "judge_debate_debater"
    return await talk.ask(role, template, round_=round_, heard=heard, defends=answer.defended, side=side)


AGENTS, ROUNDS, NAIVE_DEBATE_TOKENS = 3, 5, 250


async def naive_debate(item: Item, setup: Setup) -> Outcome:
    """Three calls a round, until all agree or five rounds are over; then the most frequent answer.

    Raises
    ------
    CallFailed
        If there are too few exemplars to give each agent an order of its own.
    """
    talk = Argument(item, setup, NAIVE_DEBATE_TOKENS)
    orders = exemplar_orders(item, setup)
    latest = await asyncio.gather(*(_answer(talk, agent, orders[agent]) for agent in range(AGENTS)))
    turns = [*latest]
    while not _agree(latest, item) and latest[0].round + 1 < ROUNDS:
        heard = tuple(turns)
        latest = await asyncio.gather(*(_reconsider(talk, agent, heard) for agent in range(AGENTS)))
        turns += latest
    agreed = latest[0].round if _agree(latest, item) else None
    return answered(talk.answer(majority(latest, item)), talk.debate(turns), agreed_round=agreed)


def exemplar_orders(item: Item, setup: Setup) -> list[tuple[Exemplar, ...]]:
    """A seeded order of the item's exemplars for each agent, all different; the first is the few-shot baseline's."""
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


async def _answer(talk: Argument, agent: int, exemplars: Sequence[Exemplar]) -> Turn:
    """Round 0: question and passage, and nothing from the others."""
    shots = worked(exemplars, ending=". The passage says so.")
    return await talk.ask(Role.AGENT, "naive_debate_answer", speaker=f"agent-{agent}", shots=shots)


async def _reconsider(talk: Argument, agent: int, turns: Sequence[Turn]) -> Turn:
    """A later round: the agent's own last answer, and the others' answers of every round so far."""
    speaker = f"agent-{agent}"
    own = [turn for turn in turns if turn.speaker == speaker][-1]
    others = [turn for turn in turns if turn.speaker != speaker]
    return await talk.ask(
        Role.AGENT,
        "naive_debate_reconsider",
        round_=own.round + 1,
        speaker=speaker,
        heard=[own, *others],
        answer=own.text,
        transcript=others,
    )


def _agree(turns: Sequence[Turn], item: Item) -> bool:
    return all(same_answer(turn.stated_answer, turns[0].stated_answer, item) for turn in turns)


def majority(turns: Sequence[Turn], item: Item) -> Turn:
    """The first turn with the most frequent answer; the first turn of all where no answer could be read."""

    def votes(turn: Turn) -> int:
        return sum(same_answer(turn.stated_answer, other.stated_answer, item) for other in turns)

    return max(turns, key=votes)  # the first of equals
