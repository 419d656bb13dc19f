"""Concatenation, or "naive RAG": every document in one prompt, one reply."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab import prompts
from srdcr_lab.measures.rule import decide, stabilised_verdict
from srdcr_lab.protocols.answering import context_answer, prior_answer, same_answer, self_confidence
from srdcr_lab.protocols.debate import hold_debate
from srdcr_lab.protocols.document_agents import again, answered, concluded, opening, stated
from srdcr_lab.protocols.method import Method, Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import speak
from srdcr_lab.protocols.sr_dcr import debate_answers
from srdcr_lab.records import Debate, Decision, Document, Item, Missing, Needs, Role, Turn, Verdict


async def concatenate(item: Item, setup: Setup) -> Outcome:
    """One call that sees every document."""
    turn = await answer_from(item.documents, item, setup)
    return concluded(turn, item, Debate(turns=(turn,), verdict_path=()))


async def answer_from(documents: Sequence[Document], item: Item, setup: Setup, round_: int = 0) -> Turn:
    """The answerer reads these documents together and ends with its answers."""
    messages = prompts.render(
        "documents_together", documents=[document.text for document in documents], question=item.question
    )
    (turn,) = await speak(Role.AGENT, messages, setup, round_=round_, max_tokens=setup.choices.debate_tokens)
    return stated(turn, item)


CONCATENATE = Method("concatenate", concatenate, needs=Needs.DOCUMENTS)


# -- RA-RAG: what each source answers by itself, then a majority weighted by how reliable the sources are


async def ra_rag(item: Item, setup: Setup) -> Outcome:
    """One call per document."""
    turns = await opening(item, setup)
    values = most_voted(turns, item)
    first = next((turn for turn in turns if turn.stated_answer == (values or ("",))[0]), None)
    return answered(values, first, Debate(turns=tuple(turns), verdict_path=()))


def most_voted(turns: Sequence[Turn], item: Item) -> tuple[str, ...]:
    """The answers that most turns state, in the order of the documents; empty where none states an answer."""
    votes: list[tuple[str, int]] = []
    for value in (turn.stated_answer for turn in turns if turn.stated_answer is not None):
        place = next((i for i, (known, _) in enumerate(votes) if same_answer(known, value, item)), None)
        if place is None:
            votes.append((value, 1))
        else:
            votes[place] = votes[place][0], votes[place][1] + 1
    most = max((count for _, count in votes), default=0)
    return tuple(value for value, count in votes if count == most)


RA_RAG = Method("ra_rag", ra_rag, needs=Needs.DOCUMENTS, weighs_sources=True)


# -- MADAM-RAG (Wang et al. 2025): an agent for each document, an aggregator, up to three rounds

ROUNDS = 3


async def madam_rag(item: Item, setup: Setup) -> Outcome:
    """One call per document and one of the aggregator in each round."""
    n = len(item.documents)
    async with asyncio.TaskGroup() as group:
        spoken = [await opening(item, setup)]
        aggregates = [group.create_task(_aggregate(item, setup, spoken[-1], 0))]
        while not _converged(spoken, item) and len(spoken) < ROUNDS:
            before = (len(spoken) - 1) * (n + 1)  # agents, then the aggregator, of each round
            spoken.append(await again(item, setup, spoken[-1], range(before, before + n)))
            aggregates.append(group.create_task(_aggregate(item, setup, spoken[-1], before + n + 1)))
    turns = [turn for said, task in zip(spoken, aggregates, strict=True) for turn in (*said, task.result())]
    agreed = len(spoken) - 1 if _converged(spoken, item) else None
    return concluded(turns[-1], item, Debate(turns=tuple(turns), verdict_path=()), agreed)


def _converged(spoken: Sequence[Sequence[Turn]], item: Item) -> bool:
    """Whether no answer changed in the last round; an answer that could not be read is like none at all."""
    if len(spoken) == 1:
        return len(item.documents) == 1
    return all(_same(now, before, item) for now, before in zip(spoken[-1], spoken[-2], strict=True))


def _same(one: Turn, other: Turn, item: Item) -> bool:
    if one.stated_answer is None or other.stated_answer is None:
        return one.stated_answer is other.stated_answer
    return same_answer(one.stated_answer, other.stated_answer, item)


async def _aggregate(item: Item, setup: Setup, said: Sequence[Turn], first: int) -> Turn:
    """The aggregator on the agents' replies of one round, which stand from position `first` on."""
    messages = prompts.render(
        "documents_aggregator",
        agents={i: turn.text for i, turn in enumerate(said, start=1)},
        question=item.question,
    )
    (turn,) = await speak(
        Role.AGGREGATOR,
        messages,
        setup,
        round_=said[0].round,
        max_tokens=setup.choices.debate_tokens,
        saw_passage=False,
        saw_turns=range(first, first + len(said)),
    )
    return stated(turn, item)


MADAM_RAG = Method("madam_rag", madam_rag, debates=True, needs=Needs.DOCUMENTS)


# -- SR-DCR for each document: its verdict V* lets a document through to concatenation, or keeps it out. Ours


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
