"""The debate about a passage [3.1]: Defender, Critic and Judge, and what each of them sees.

In round 0 both open at once, without seeing each other. From round 1 on the Critic speaks first and the Defender
replies (other orders are designs of ours). After each round the Judge rules on the transcript so far. Debaters do not
see rulings, so these are asked for while the debate goes on; only `early_stop` waits for them.

The debaters defend answers of their own: the Defender reads the passage's, the Critic recalls its own, and each states
it first. The table `turns` shows how often these are the context answer and the prior answer. Debaters of a design with
`debaters_told` are given these two answers instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from srdcr_lab.measures.rule import majority_verdict
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.choices import Order, Sees, Stance
from srdcr_lab.protocols.speaking import Answer, Argument, Conversation, Setup
from srdcr_lab.records import Debate, Item, Role, Turn, Verdict

Told = Mapping[Role, str]  # what each debater is given to defend; empty where it states an answer of its own
Rulings = list[asyncio.Task[tuple[Turn, ...]]]


def told(context: Answer, prior: Answer) -> Told:
    """The answers that the debaters of a design with `debaters_told` are given."""
    return {Role.DEFENDER: context.defended, Role.CRITIC: prior.defended}


async def hold_debate(item: Item, setup: Setup, told: Told | None = None) -> Debate:
    """Hold the debate of the setup's design over one item.

    Returns
    -------
    Debate
        Every turn in the order it was spoken, each round's ruling after the round, and the verdict path.
    """
    design, told = setup.choices.design, told or {}
    if bool(told) is not design.debaters_told:
        raise ValueError("a debate's design says whether its debaters are told what to defend")
    talk = Argument(item, setup, setup.choices.debate_tokens)
    async with asyncio.TaskGroup() as group:
        transcript: list[Turn] = []
        rulings: Rulings = []
        for round_ in range(design.rounds):
            transcript += await _round(talk, told, tuple(transcript), round_)
            if round_ >= design.judged_from:
                rulings.append(group.create_task(judge(talk, tuple(transcript), round_)))
            if await _settled(rulings, design.early_stop):
                break
    spoken = [turn for ruling in rulings for turn in ruling.result()]
    turns = sorted([*transcript, *spoken], key=lambda turn: (turn.round, turn.role is Role.JUDGE))
    return talk.debate(turns, [_verdict(ruling.result()) for ruling in rulings], design.judged_from)


async def _round(talk: Conversation, told: Told, heard: Sequence[Turn], round_: int) -> list[Turn]:
    """The debaters' turns of one round, in the order they enter the transcript."""
    order = talk.setup.choices.design.order
    defends, attacks = partial(defend, talk, told, round_), partial(attack, talk, told, round_)
    if round_ == 0 or order is Order.SIMULTANEOUS:
        return list(await asyncio.gather(defends(heard), attacks(heard)))
    first, second = (attacks, defends) if order is Order.CRITIC_FIRST else (defends, attacks)
    opening = await first(heard)
    return [opening, await second([*heard, opening])]


async def _settled(rulings: Rulings, early_stop: int | None) -> bool:
    """Whether the last verdicts, as many as `early_stop` asks for, are equal and could be read."""
    if early_stop is None or len(rulings) < early_stop:
        return False
    last = {_verdict(await ruling) for ruling in rulings[-early_stop:]}
    return len(last) == 1 and Verdict.UNPARSED not in last


def _verdict(ruling: Sequence[Turn]) -> Verdict:
    return majority_verdict([turn.verdict for turn in ruling if turn.verdict is not None])


async def defend(talk: Conversation, told: Told, round_: int, heard: Sequence[Turn]) -> Turn:
    """The Defender sees question, passage and transcript, and defends the passage's answer."""
    template, answer = "defender_told" if told else "defender", told.get(Role.DEFENDER)
    return await talk.ask(Role.DEFENDER, template, round_=round_, heard=heard, defends=answer)


async def attack(talk: Conversation, told: Told, round_: int, heard: Sequence[Turn]) -> Turn:
    """The Critic sees question and transcript, the passage only where the design shows it, and argues from memory."""
    design, answer = talk.setup.choices.design, told.get(Role.CRITIC)
    own = "critic" if design.critic_stance is Stance.ATTACK else "critic_may_agree"
    template = "critic_told" if told else own
    sees = design.critic_sees is Sees.ALWAYS or (design.critic_sees is Sees.OPENING and round_ == 0)
    return await talk.ask(Role.CRITIC, template, round_=round_, heard=heard, defends=answer, sees_passage=sees)


async def judge(talk: Conversation, heard: Sequence[Turn], round_: int) -> tuple[Turn, ...]:
    """The Judge sees question and transcript and rules, once or in several draws; what cannot be read is UNPARSED."""
    design = talk.setup.choices.design
    return await talk.draw(
        Role.JUDGE,
        "judge",
        round_=round_,
        sees_passage=design.judge_sees_passage,
        heard=heard,
        rules=readers.verdict,
        draws=design.judge_draws,
        temperature=design.judge_temperature if design.judge_draws > 1 else 0.0,
    )
