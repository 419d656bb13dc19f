"""SR-DCR [section 3]: debate the passage, weigh the verdict against self-confidence, then answer or abstain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from srdcr_lab.measures.rule import Ruling, decide, stabilised_verdict
from srdcr_lab.protocols.answering import Answer, context_answer, prior_answer, same_answer, self_confidence
from srdcr_lab.protocols.debate import hold_debate, told
from srdcr_lab.protocols.method import Method, Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Debate, Decision, Item, Missing, Verdict


async def sr_dcr(item: Item, setup: Setup) -> Outcome:
    """The three stages of the paper; what does not depend on each other runs at once."""
    async with asyncio.TaskGroup() as stages:
        believing_passage = stages.create_task(context_answer(item, setup))
        remembering = stages.create_task(prior_answer(item, setup))
        debating = stages.create_task(debate_answers(item, setup, believing_passage, remembering))
        confidence = await self_confidence(item, await remembering, setup)
    context, prior, debate = believing_passage.result(), remembering.result(), debating.result()
    outcome = settle(debate, context, prior, setup, confidence.value, gate=setup.choices.gate)
    return replace(outcome, confidence=confidence)


async def debate_only(item: Item, setup: Setup) -> Outcome:
    """SR-DCR without the gate: V* alone decides between context and prior answer."""
    async with asyncio.TaskGroup() as stages:
        believing_passage = stages.create_task(context_answer(item, setup))
        remembering = stages.create_task(prior_answer(item, setup))
        debating = stages.create_task(debate_answers(item, setup, believing_passage, remembering))
    return settle(debating.result(), believing_passage.result(), remembering.result(), setup, gate=False)


async def debate_answers(
    item: Item, setup: Setup, context: Awaitable[Answer], prior: Awaitable[Answer]
) -> Debate | None:
    """The debate of the design; None where it has the agreement shortcut and the two answers are equal."""
    design = setup.choices.design
    if not (design.debaters_told or design.agreement_shortcut):
        return await hold_debate(item, setup)  # which waits for neither
    read, remembered = await context, await prior
    if design.agreement_shortcut and same_answer(read.value, remembered.value, item):
        return None
    return await hold_debate(item, setup, told(read, remembered) if design.debaters_told else None)


def settle(
    debate: Debate | None, context: Answer, prior: Answer, setup: Setup, confidence: float = float("nan"), *, gate: bool
) -> Outcome:
    """From the verdict path to the final answer [3.2]."""
    if debate is None:
        return given(context, decision=Decision.USE_CONTEXT)
    ruling = stabilised_verdict(debate.verdict_path, debate.first_verdict_round)
    if setup.choices.design.final_verdict_only:
        ruling = Ruling(ruling.verdict, r_star=None, stabilised=None)
    decision = decide(ruling.verdict, confidence, setup.choices.tau, gate=gate)
    chosen = {Decision.USE_CONTEXT: context, Decision.USE_PRIOR: prior}.get(decision)
    missing = None
    if ruling.verdict is Verdict.UNPARSED or (chosen is not None and chosen.value is None):
        missing = Missing.UNPARSED
    elif decision is Decision.ABSTAIN:
        missing = Missing.ABSTAINED
    return Outcome(answer=chosen, missing=missing, decision=decision, ruling=ruling, debate=debate)


SR_DCR = Method("sr_dcr", sr_dcr, debates=True, designed=True, uses_confidence=True)
DEBATE_ONLY = Method("debate_only", debate_only, debates=True, designed=True)
