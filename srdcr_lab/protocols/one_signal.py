"""What one signal does alone: the truth itself, self-confidence. (The verdict alone is `sr_dcr.debate_only`.)

`golden` is the paper's reference [4, Golden Baseline]: a model that knows which passages are true.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from srdcr_lab.protocols.answering import context_answer, prior_answer
from srdcr_lab.protocols.confidence import self_confidence
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Decision, Item


async def golden(item: Item, setup: Setup) -> Outcome:
    """The context answer where the passage is true, else the prior answer."""
    if item.is_standard:
        return given(await context_answer(item, setup), decision=Decision.USE_CONTEXT)
    return given(await prior_answer(item, setup), decision=Decision.USE_PRIOR)


async def confidence_only(item: Item, setup: Setup) -> Outcome:
    """The prior answer where Conf ≥ τ, else the context answer."""
    prior, context = await asyncio.gather(prior_answer(item, setup), context_answer(item, setup))
    confidence = await self_confidence(item, prior, setup)
    if confidence.value >= setup.choices.tau:  # NaN is not
        return replace(given(prior, decision=Decision.USE_PRIOR), confidence=confidence)
    return replace(given(context, decision=Decision.USE_CONTEXT), confidence=confidence)


GOLDEN = Method("golden", golden)
CONFIDENCE_ONLY = Method("confidence_only", confidence_only, uses_confidence=True)
