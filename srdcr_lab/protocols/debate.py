"""The debate about a passage [3.1]: Defender, Critic and Judge, and what each of them sees.

In round 0 both open at once, without seeing each other. From round 1 on the Critic speaks first and the Defender
replies (other orders are designs of ours). After each round the Judge rules on the transcript so far. Rulings do not
feed back into the debate, so they are asked for while it goes on; only `early_stop` waits for them.

The answers that are defended are the speakers' own: the Defender reads the passage's, the Critic recalls its own, and
each states it first. How often that is the context answer and the prior answer is in the table `turns`. With
`debaters_told` they are given these two answers instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from srdcr_lab import prompts
from srdcr_lab.measures.rule import majority_verdict
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.answering import Answer
from srdcr_lab.protocols.choices import DebateDesign, Order, Sees, Stance
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import defended, first_sentence, speak
from srdcr_lab.records import Debate, Item, Role, Turn, Verdict

Told = Mapping[Role, str]  # what each debater is given to defend; empty where it states an answer of its own
Rulings = list[asyncio.Task[tuple[Turn, ...]]]


def told(context: Answer, prior: Answer) -> Told:
    """The answers that the debaters of a design with `debaters_told` are given."""
    return {Role.DEFENDER: defended(context), Role.CRITIC: defended(prior)}


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
    async with asyncio.TaskGroup() as group:
        transcript: list[Turn] = []
        rulings: Rulings = []
        for round_ in range(design.rounds):
            transcript += await _round(item, setup, told, transcript, round_)
            if round_ >= design.judged_from:
                rulings.append(group.create_task(judge(item, setup, tuple(transcript), round_)))
            if await _settled(rulings, design.early_stop):
                break
    spoken = [turn for ruling in rulings for turn in ruling.result()]
    turns = sorted([*transcript, *spoken], key=lambda turn: (turn.round, turn.role is Role.JUDGE))
    return Debate(
        turns=tuple(turns),
        verdict_path=tuple(_verdict(ruling.result()) for ruling in rulings),
        first_verdict_round=design.judged_from,
    )


async def _round(item: Item, setup: Setup, told: Told, heard: Sequence[Turn], round_: int) -> list[Turn]:
    """The debaters' turns of one round, in the order they enter the transcript."""
    order = setup.choices.design.order
    defends, attacks = partial(defend, item, setup, told), partial(attack, item, setup, told)
    if round_ == 0 or order is Order.SIMULTANEOUS:
        return list(await asyncio.gather(defends(heard, round_), attacks(heard, round_)))
    first, second = (attacks, defends) if order is Order.CRITIC_FIRST else (defends, attacks)
    opening = await first(heard, round_)
    return [opening, await second([*heard, opening], round_)]


async def _settled(rulings: Rulings, early_stop: int | None) -> bool:
    """Whether the last verdicts, as many as `early_stop` asks for, are equal and could be read."""
    if early_stop is None or len(rulings) < early_stop:
        return False
    last = {_verdict(await ruling) for ruling in rulings[-early_stop:]}
    return len(last) == 1 and Verdict.UNPARSED not in last


def _verdict(ruling: Sequence[Turn]) -> Verdict:
    return majority_verdict([turn.verdict for turn in ruling if turn.verdict is not None])


async def defend(item: Item, setup: Setup, told: Told, heard: Sequence[Turn], round_: int) -> Turn:
    """The Defender sees question, passage and transcript, and defends the passage's answer."""
    template = "defender_told" if told else "defender"
    return await _argue(Role.DEFENDER, template, item, setup, told, heard, round_, sees_passage=True)


async def attack(item: Item, setup: Setup, told: Told, heard: Sequence[Turn], round_: int) -> Turn:
    """The Critic sees question and transcript, the passage only where the design shows it, and argues from memory."""
    design = setup.choices.design
    own = "critic" if design.critic_stance is Stance.ATTACK else "critic_may_agree"
    template = "critic_told" if told else own
    sees = _critic_sees(design, round_)
    return await _argue(Role.CRITIC, template, item, setup, told, heard, round_, sees_passage=sees)


def _critic_sees(design: DebateDesign, round_: int) -> bool:
    return design.critic_sees is Sees.ALWAYS or (design.critic_sees is Sees.OPENING and round_ == 0)


async def _argue(
    role: Role,
    template: str,
    item: Item,
    setup: Setup,
    told: Told,
    heard: Sequence[Turn],
    round_: int,
    *,
    sees_passage: bool,
) -> Turn:
    answer = told.get(role)
    messages = prompts.render(
        template,
        question=item.question,
        passage=item.context if sees_passage else None,
        transcript=tuple(heard),
        answer=answer,
    )
    (turn,) = await speak(
        role,
        messages,
        setup,
        round_=round_,
        max_tokens=setup.choices.debate_tokens,
        saw_passage=sees_passage,
        saw_turns=range(len(heard)),
        stance=answer,
        states=first_sentence(item),
    )
    return turn


async def judge(item: Item, setup: Setup, transcript: Sequence[Turn], round_: int) -> tuple[Turn, ...]:
    """The Judge sees question and transcript and rules, once or in several draws; what cannot be read is UNPARSED."""
    design = setup.choices.design
    sees = design.judge_sees_passage
    messages = prompts.render(
        "judge", question=item.question, passage=item.context if sees else None, transcript=tuple(transcript)
    )
    return await speak(
        Role.JUDGE,
        messages,
        setup,
        round_=round_,
        max_tokens=setup.choices.debate_tokens,
        saw_passage=sees,
        saw_turns=range(len(transcript)),
        rules=readers.verdict,
        draws=design.judge_draws,
        temperature=design.judge_temperature,
    )
