"""SR-DCR [section 3]: debate the passage, weigh the verdict against self-confidence, then answer or abstain."""

from __future__ import annotations

import asyncio

from srdcr_lab.protocols.answering import context_answer, prior_answer
from srdcr_lab.protocols.confidence import self_confidence
from srdcr_lab.protocols.debate import hold_debate
from srdcr_lab.protocols.decision import decide, stabilised_verdict
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Decision, Item, Missing, Verdict


async def sr_dcr(item: Item, setup: Setup) -> Outcome:
    """The three stages of the paper; what does not depend on each other runs at once."""
    async with asyncio.TaskGroup() as stages:
        believing_passage = stages.create_task(context_answer(item, setup))
        debating = stages.create_task(hold_debate(item, setup))
        prior = await prior_answer(item, setup)
        confidence = await self_confidence(item, prior, setup)
    context, debate = believing_passage.result(), debating.result()

    ruling = stabilised_verdict(debate.verdict_path, debate.first_verdict_round)
    decision = decide(ruling.verdict, confidence.value, setup.choices.tau, gate=setup.choices.gate)
    chosen = {Decision.USE_CONTEXT: context, Decision.USE_PRIOR: prior}.get(decision)

    missing = None
    if ruling.verdict is Verdict.UNPARSED or (chosen is not None and chosen.value is None):
        missing = Missing.UNPARSED
    elif decision is Decision.ABSTAIN:
        missing = Missing.ABSTAINED
    return Outcome(
        answer=chosen, missing=missing, decision=decision, ruling=ruling, debate=debate, confidence=confidence
    )
