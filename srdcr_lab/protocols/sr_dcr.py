"""SR-DCR [section 3]: debate the passage, weigh the verdict against self-confidence, then answer or abstain."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

from srdcr_lab.measures.rule import Ruling, decide, stabilised_verdict
from srdcr_lab.protocols.answering import (
    Outcome,
    context_answer,
    decided,
    prior_answer,
    same_answer,
    self_confidence,
)
from srdcr_lab.protocols.debate import hold_debate, told
from srdcr_lab.protocols.speaking import Answer, Setup
from srdcr_lab.records import Debate, Decision, Item


async def sr_dcr(item: Item, setup: Setup, *, gate: bool = True) -> Outcome:
    """The three stages of the paper; what does not depend on each other runs at once.

    Without the gate (`debate_only`) V* alone decides, and no confidence is asked for.
    """
    async with asyncio.TaskGroup() as stages:
        reading = stages.create_task(context_answer(item, setup))
        remembering = stages.create_task(prior_answer(item, setup))
        debating = stages.create_task(debate_answers(item, setup, lambda: asyncio.gather(reading, remembering)))
        confidence = await self_confidence(item, await remembering, setup) if gate else None
    context, prior, debate = reading.result(), remembering.result(), debating.result()
    if debate is None:
        return decided(Decision.USE_CONTEXT, context, prior, confidence=confidence)
    ruling = ruled(debate, setup)
    belief = confidence.value if confidence else math.nan
    decision = decide(ruling.verdict, belief, setup.choices.tau, gate=gate and setup.choices.gate)
    why = {"ruling": ruling, "debate": debate, "confidence": confidence}
    return decided(decision, context, prior, verdict=ruling.verdict, **why)


async def debate_answers(
    item: Item, setup: Setup, both: Callable[[], Awaitable[tuple[Answer, Answer]]]
) -> Debate | None:
    """The debate of the design; None where it has the agreement shortcut and context and prior answer are equal.

    `both` brings these two answers; it is called only where the design depends on them.
    """
    design = setup.choices.design
    if not (design.debaters_told or design.agreement_shortcut):
        return await hold_debate(item, setup)
    context, prior = await both()
    if design.agreement_shortcut and same_answer(context.value, prior.value, item):
        return None
    return await hold_debate(item, setup, told(context, prior) if design.debaters_told else None)


def ruled(debate: Debate, setup: Setup) -> Ruling:
    """The earliest stabilised verdict; r* is not known where only the last verdict was asked for."""
    ruling = stabilised_verdict(debate.verdict_path, debate.first_verdict_round)
    if setup.choices.design.final_verdict_only:
        return Ruling(ruling.verdict, r_star=None, stabilised=None)
    return ruling
