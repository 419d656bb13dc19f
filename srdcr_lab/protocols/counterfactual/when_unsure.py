"""CFMAD where confidence is low: an experiment of ours, in neither paper.

SR-DCR asks how sure the model is of its own short answer before it acts on a verdict; CFMAD debates every question.
Here the two are joined: where self-confidence reaches τ the short answer stands, and only elsewhere is CFMAD's debate
held.

The short answer is the prior answer; to a question with options it is a label, given with the options in sight (and the
passage, which CFMAD's tasks take as evidence), and confidence is that of the label's tokens.
"""

from __future__ import annotations

from dataclasses import replace

from srdcr_lab import answers, prompts
from srdcr_lab.prompts.option_blocks import named
from srdcr_lab.protocols.answering import SELF_CONSISTENCY, Answer, prior_answer
from srdcr_lab.protocols.confidence import SelfConfidence, self_confidence
from srdcr_lab.protocols.counterfactual.cfmad import cfmad
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import GREEDY, Decision, Item, Needs, Request


async def cfmad_when_unsure(item: Item, setup: Setup) -> Outcome:
    """Conf ≥ τ → the short answer (USE_PRIOR), 1 call with log-probabilities; else CFMAD, 11 calls (a claim: 8)."""
    short, confidence = await short_answer(item, setup)
    if confidence.value >= setup.choices.tau:
        return Outcome(answer=short, decision=Decision.USE_PRIOR, confidence=confidence)
    return replace(await cfmad(item, setup), confidence=confidence)


async def short_answer(item: Item, setup: Setup) -> tuple[Answer, SelfConfidence]:
    """The answer without reasons, and the confidence in it; NaN where it could not be read."""
    if not item.options:
        short = await prior_answer(item, setup)
        return short, await self_confidence(item, short, setup)
    (short,) = await _labels(item, setup, GREEDY)

    async def again() -> tuple[Answer, ...]:
        return await _labels(item, setup, SELF_CONSISTENCY, setup.choices.consistency_draws)

    shown = "\n".join([*map(named, item.options), item.question])  # what a stated confidence is asked about
    return short, await self_confidence(replace(item, question=shown), short, setup, again)


async def _labels(item: Item, setup: Setup, stream: str, n: int = 1) -> tuple[Answer, ...]:
    request = Request(
        messages=prompts.render("option_answer", question=item.question, passage=item.context, options=item.options),
        max_tokens=setup.choices.answer_tokens,
        temperature=0.0 if stream == GREEDY else setup.choices.sampling_temperature,
        logprobs=stream == GREEDY,
        seed=setup.seed,
        stream=stream,
        draws=tuple(range(n)),
    )
    completions = await setup.cast.answerer.complete(request)
    return tuple(Answer(answers.extract_option(each.text, item.options), each, stream) for each in completions)


CFMAD_WHEN_UNSURE = Method(
    "cfmad_when_unsure", cfmad_when_unsure, debates=True, uses_confidence=True, needs=Needs.QUESTION
)
