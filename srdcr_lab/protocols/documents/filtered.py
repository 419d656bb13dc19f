"""SR-DCR for each document: its verdict V* lets a document through to concatenation, or keeps it out. Ours.

Each document is debated as the one passage of SR-DCR is [paper, 3.1]. Those that are found reasonable are read together
in one prompt. Where none is, the prior answer stands if its self-confidence reaches τ, and the method abstains
otherwise: the paper's rule [3.2] for several passages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab.protocols.answering import context_answer, prior_answer
from srdcr_lab.protocols.confidence import self_confidence
from srdcr_lab.protocols.debate import hold_debate
from srdcr_lab.protocols.decision import decide, stabilised_verdict
from srdcr_lab.protocols.documents.reading import concluded
from srdcr_lab.protocols.documents.together import answer_from
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.sr_dcr import debate_answers
from srdcr_lab.records import Debate, Decision, Document, Item, Missing, Needs, Turn, Verdict


async def sr_dcr_per_document(item: Item, setup: Setup) -> Outcome:
    """A debate per document, one call that reads what is left; the prior answer and its confidence if nothing is."""
    debates = await asyncio.gather(*(_debated(item, document, setup) for document in item.documents))
    turns = _in_one(item.documents, debates)
    verdicts = [_verdict(debate) for debate in debates]
    kept = [document for document, v in zip(item.documents, verdicts, strict=True) if v is Verdict.REASONABLE]
    if not kept:
        return await _from_memory(item, setup, verdicts, Debate(turns=turns, verdict_path=()))
    turn = await answer_from(kept, item, setup, round_=setup.choices.design.rounds)
    outcome = concluded(turn, item, Debate(turns=(*turns, turn), verdict_path=()))
    return replace(outcome, decision=Decision.USE_CONTEXT)


async def _debated(item: Item, document: Document, setup: Setup) -> Debate | None:
    """The debate of the design over one document; None where its agreement shortcut makes it needless."""
    one, design = replace(item, context=document.text, documents=()), setup.choices.design
    if not (design.debaters_told or design.agreement_shortcut):
        return await hold_debate(one, setup)
    async with asyncio.TaskGroup() as stages:
        reading = stages.create_task(context_answer(one, setup))
        remembering = stages.create_task(prior_answer(one, setup))
        debating = stages.create_task(debate_answers(one, setup, reading, remembering))
    return debating.result()


def _verdict(debate: Debate | None) -> Verdict:
    if debate is None:  # document and memory agree
        return Verdict.REASONABLE
    return stabilised_verdict(debate.verdict_path, debate.first_verdict_round).verdict


def _in_one(documents: Sequence[Document], debates: Sequence[Debate | None]) -> tuple[Turn, ...]:
    """Every document's debate, one after the other; a turn's speaker is the document that it is about."""
    turns: list[Turn] = []
    heard = 0
    for document, debate in zip(documents, debates, strict=True):
        for turn in debate.turns if debate else ():
            name = f"{document.document_id}/{turn.speaker}" if turn.speaker else document.document_id
            turns.append(replace(turn, speaker=name, saw_turns=tuple(heard + position for position in turn.saw_turns)))
        heard += len(debate.transcript) if debate else 0
    return tuple(turns)


async def _from_memory(item: Item, setup: Setup, verdicts: Sequence[Verdict], debate: Debate) -> Outcome:
    """No document was let through: the prior answer if it is believed, else none; UNPARSED if no verdict was read."""
    prior = await prior_answer(item, setup)
    confidence = await self_confidence(item, prior, setup)
    ruling = Verdict.UNREASONABLE if Verdict.UNREASONABLE in verdicts else Verdict.UNPARSED
    decision = decide(ruling, confidence.value, setup.choices.tau, gate=setup.choices.gate)
    outcome = Outcome(answer=None, missing=Missing.ABSTAINED, decision=decision, debate=debate, confidence=confidence)
    if ruling is Verdict.UNPARSED or (decision is Decision.USE_PRIOR and prior.value is None):
        return replace(outcome, missing=Missing.UNPARSED)
    if decision is Decision.USE_PRIOR and prior.value is not None:
        return replace(outcome, answer=prior, values=(prior.value,), missing=None)
    return outcome


SR_DCR_PER_DOCUMENT = Method(
    "sr_dcr_per_document",
    sr_dcr_per_document,
    debates=True,
    designed=True,
    uses_confidence=True,
    needs=Needs.DOCUMENTS,
)
