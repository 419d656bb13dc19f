"""The debate about a passage [3.1]: Defender, Critic and Judge, and what each of them sees.

In round 0 both open at once, without seeing each other. From round 1 on the Critic speaks first and the Defender
replies (other orders are designs of ours). After each round the Judge rules on the transcript so far. Rulings do not
feed back into the debate, so they are asked for while it goes on.

The answers that are defended are the speakers' own: the Defender reads the passage's, the Critic recalls its own, and
each states it first. How often that is the context answer and the prior answer is in the table `turns`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from srdcr_lab import answers, prompts
from srdcr_lab.prompts import parse
from srdcr_lab.protocols.choices import DebateDesign, Order, Sees, Stance
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Debate, Item, Request, Role, Turn


async def hold_debate(item: Item, setup: Setup) -> Debate:
    """Hold the debate of the setup's design over one item.

    Returns
    -------
    Debate
        Every turn in the order it was spoken, each round's ruling after the round, and the verdict path.
    """
    design = setup.choices.design
    async with asyncio.TaskGroup() as group:
        transcript: list[Turn] = []
        rulings: list[asyncio.Task[Turn]] = []
        for round_ in range(design.rounds):
            transcript += await _round(item, setup, transcript, round_)
            if round_ >= design.first_verdict_round:
                rulings.append(group.create_task(judge(item, setup, tuple(transcript), round_)))
    verdicts = [ruling.result() for ruling in rulings]
    turns = sorted([*transcript, *verdicts], key=lambda turn: (turn.round, turn.role is Role.JUDGE))
    return Debate(
        turns=tuple(turns),
        verdict_path=tuple(turn.verdict for turn in verdicts if turn.verdict is not None),
        first_verdict_round=design.first_verdict_round,
    )


async def _round(item: Item, setup: Setup, heard: Sequence[Turn], round_: int) -> list[Turn]:
    """The debaters' turns of one round, in the order they enter the transcript."""
    order = setup.choices.design.order
    if round_ == 0 or order is Order.SIMULTANEOUS:
        return list(await asyncio.gather(defend(item, setup, heard, round_), attack(item, setup, heard, round_)))
    first, second = (attack, defend) if order is Order.CRITIC_FIRST else (defend, attack)
    opening = await first(item, setup, heard, round_)
    return [opening, await second(item, setup, [*heard, opening], round_)]


async def defend(item: Item, setup: Setup, heard: Sequence[Turn], round_: int) -> Turn:
    """The Defender sees question, passage and transcript, and defends the passage's answer."""
    return await _speak(Role.DEFENDER, "defender", item, setup, heard, round_, sees_passage=True)


async def attack(item: Item, setup: Setup, heard: Sequence[Turn], round_: int) -> Turn:
    """The Critic sees question and transcript, the passage only where the design shows it, and argues from memory."""
    design = setup.choices.design
    template = "critic" if design.critic_stance is Stance.ATTACK else "critic_may_agree"
    return await _speak(Role.CRITIC, template, item, setup, heard, round_, sees_passage=_critic_sees(design, round_))


async def judge(item: Item, setup: Setup, transcript: Sequence[Turn], round_: int) -> Turn:
    """The Judge sees question and transcript and rules; a reply without a readable ruling is UNPARSED."""
    return await _speak(
        Role.JUDGE, "judge", item, setup, transcript, round_, sees_passage=setup.choices.design.judge_sees_passage
    )


def _critic_sees(design: DebateDesign, round_: int) -> bool:
    return design.critic_sees is Sees.ALWAYS or (design.critic_sees is Sees.OPENING and round_ == 0)


async def _speak(
    role: Role, template: str, item: Item, setup: Setup, heard: Sequence[Turn], round_: int, *, sees_passage: bool
) -> Turn:
    messages = prompts.render(
        template, question=item.question, passage=item.context if sees_passage else None, transcript=tuple(heard)
    )
    request = Request(messages=messages, max_tokens=setup.choices.debate_tokens, seed=setup.seed)
    (completion,) = await setup.cast.player(role).complete(request)
    is_judge = role is Role.JUDGE
    return Turn(
        round=round_,
        role=role,
        text=completion.text,
        saw_passage=sees_passage,
        saw_turns=tuple(range(len(heard))),
        request_digest=request.digest,
        verdict=parse.verdict(completion.text) if is_judge else None,
        stated_answer=None if is_judge else _stated_answer(completion.text, item),
        completion=completion,
    )


def _stated_answer(text: str, item: Item) -> str | None:
    """The answer a debater was asked to begin with; None where its first sentence is none."""
    return answers.extract(parse.opening_statement(text), item.answer_type, item.unit)
