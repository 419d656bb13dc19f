"""Methods for a question with several documents: concatenation, RA-RAG, MADAM-RAG, SR-DCR for each document (ours), and
the dialectical debate between documents. Also, ours, methods that answer a question of several hops one by one.

Several answers can be right about documents, so a method's last speaker gives one answer, several, or none; none is an
abstention.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeAlias, TypeVar

from srdcr_lab import answers
from srdcr_lab.answers import says_the_same
from srdcr_lab.answers.wording import is_refusal
from srdcr_lab.lib.definitions import decide
from srdcr_lab.prompts import readers
from srdcr_lab.prompts.readers import Malformed, Thesis
from srdcr_lab.protocols import answering
from srdcr_lab.protocols.answering import Answer, Argument, Conversation, Outcome, Setup, context_answer, prior_answer
from srdcr_lab.protocols.sr_dcr import debate_unless_agreed, ruled
from srdcr_lab.records import Completion, Debate, Decision, Document, Item, Missing, Role, Turn, Verdict

Answering = Callable[[Item, Setup], Awaitable[Outcome]]
AGENT_TOKENS, MOST_ROUNDS = 150, 3


def value_of(answer: str | None, item: Item) -> str | None:
    """A bare answer as the tables write it; None if it is not an answer of the item's type."""
    return None if answer is None else answers.read(answer, item)


def several_values(reply: str, item: Item) -> tuple[str, ...] | None:
    """The distinct answers on a reply's last line; empty if it says "none", None if one of them cannot be read, since
    it may be a wrong one.
    """
    line = readers.answers_line(reply)
    if not line:
        return line
    values = [value for answer in line if (value := value_of(answer, item)) is not None]
    return tuple(alike[0] for alike in answering.by_answer(values, item, str)) if len(values) == len(line) else None


async def ask_for_answers(talk: Conversation, role: Role, template: str, **how: Any) -> Turn:
    """A turn that ends with a line of answers, of which it states the first."""

    def first(reply: str) -> str | None:
        return next(iter(several_values(reply, talk.item) or ()), None)

    return await talk.ask(role, template, reads=first, **how)


def concluded(values: tuple[str, ...] | None, turn: Turn, debate: Debate, **more: Any) -> Outcome:
    """The outcome of a method whose last turn gives these answers; none is an abstention, None is UNPARSED."""
    if values == ():
        return Outcome(answer=None, missing=Missing.ABSTAINED, debate=debate, **more)
    answer = Answer(values[0] if values else None, turn.completion or Completion(turn.text))
    missing = None if values else Missing.UNPARSED
    return Outcome(answer=answer, missing=missing, debate=debate, values=values or (), **more)


async def concatenate(item: Item, setup: Setup) -> Outcome:
    """Every document in one prompt ("naive RAG"): one call."""
    talk = Conversation(item, setup, setup.choices.debate_tokens)
    turn = await _read_together(talk, item.documents)
    return concluded(several_values(turn.text, item), turn, talk.debate([turn]))


async def _read_together(talk: Conversation, documents: Sequence[Document], round_: int = 0) -> Turn:
    texts = [document.text for document in documents]
    return await ask_for_answers(talk, Role.AGENT, "documents_together", round_=round_, documents=texts)


async def ra_rag(item: Item, setup: Setup) -> Outcome:
    """The answers that most documents support: one call per document.

    Once every item has ended, a run weighs the votes by the estimated reliability of the documents' sources.
    """
    talk = Argument(item, setup, AGENT_TOKENS)
    turns = await _agents(talk)
    groups = answering.by_answer(turns, item)
    most = max(map(len, groups), default=0)
    voted = [group[0] for group in groups if len(group) == most]
    values = tuple(turn.stated_answer for turn in voted if turn.stated_answer is not None)
    is_read = values or any(is_refusal(talk.part(turn.text)) for turn in turns)  # "Unknown." is an abstention
    return concluded(values if is_read else None, [*voted, *turns][0], talk.debate(turns))


async def madam_rag(item: Item, setup: Setup) -> Outcome:
    """An agent for each document and an aggregator in each round (Wang et al. 2025).

    Rounds end when no agent's answer changes, after three at most. The last aggregate is the answer.
    """
    talk = Argument(item, setup, AGENT_TOKENS)
    async with asyncio.TaskGroup() as group:
        rounds = [await _agents(talk)]
        aggregates = [group.create_task(_aggregate(talk, rounds[-1]))]
        while not _converged(rounds, item) and len(rounds) < MOST_ROUNDS:
            rounds.append(await _agents(talk, rounds[-1]))
            aggregates.append(group.create_task(_aggregate(talk, rounds[-1])))
    turns = [turn for replies, task in zip(rounds, aggregates, strict=True) for turn in (*replies, task.result())]
    agreed = len(rounds) - 1 if _converged(rounds, item) else None
    return concluded(several_values(turns[-1].text, item), turns[-1], talk.debate(turns), agreed_round=agreed)


async def _agents(talk: Conversation, last: Sequence[Turn] = ()) -> list[Turn]:
    """Each agent answers from its document alone, or after reading the others' last replies; all at once."""
    return list(await asyncio.gather(*(_agent(talk, i, last) for i in range(len(talk.item.documents)))))


async def _agent(talk: Conversation, i: int, last: Sequence[Turn]) -> Turn:
    document, round_ = talk.item.documents[i], last[0].round + 1 if last else 0
    others = {j: turn for j, turn in enumerate(last, start=1) if j != i + 1}
    how = {"speaker": document.document_id, "document": document.text, "heard": list(others.values())}
    replies = {j: turn.text for j, turn in others.items()}
    return await talk.ask(Role.AGENT, "document_agent", round_=round_, others=replies, **how)


async def _aggregate(talk: Conversation, replies: Sequence[Turn]) -> Turn:
    """The aggregator reads the agents' replies of one round."""
    how = {"round_": replies[0].round, "heard": replies, "agents": [turn.text for turn in replies]}
    how |= {"max_tokens": talk.setup.choices.debate_tokens, "sees_passage": False}
    return await ask_for_answers(talk, Role.AGGREGATOR, "documents_aggregator", **how)


def _converged(rounds: Sequence[Sequence[Turn]], item: Item) -> bool:
    """Whether no answer changed in the last round; two answers that could not be read count as equal."""
    if len(rounds) == 1:
        return len(item.documents) == 1
    pairs = [(now.stated_answer, before.stated_answer) for now, before in zip(rounds[-1], rounds[-2], strict=True)]
    return all((now, before) == (None, None) or says_the_same(now, before, item) for now, before in pairs)


async def sr_dcr_per_document(item: Item, setup: Setup) -> Outcome:
    """A debate per document; its verdict V* lets the document through to concatenation or keeps it out.

    If no document is let through: the prior answer if its confidence suffices; UNPARSED if no verdict could be read.
    """

    @cache
    def remembering() -> asyncio.Task[Answer]:  # asked once, and only where a debate or the decision needs it
        return asyncio.create_task(prior_answer(item, setup))

    async def debated(document: Document) -> Debate | None:  # None after the design's agreement shortcut
        one = replace(item, context=document.text, documents=())
        return await debate_unless_agreed(one, setup, lambda: asyncio.gather(context_answer(one, setup), remembering()))

    debates = await asyncio.gather(*map(debated, item.documents))
    turns = in_one(zip((document.document_id for document in item.documents), debates, strict=True))
    verdicts = [ruled(debate, setup).verdict if debate else Verdict.REASONABLE for debate in debates]
    kept = [document for document, v in zip(item.documents, verdicts, strict=True) if v is Verdict.REASONABLE]
    if kept:
        talk = Conversation(item, setup, setup.choices.debate_tokens)
        turn = await _read_together(talk, kept, round_=max((turn.round + 1 for turn in turns), default=0))
        debate = Debate(turns=(*turns, turn), verdict_path=())
        return concluded(several_values(turn.text, item), turn, debate, decision=Decision.USE_CONTEXT)
    prior = await remembering()
    confidence = await answering.self_confidence(item, prior, setup)
    verdict = Verdict.UNREASONABLE if Verdict.UNREASONABLE in verdicts else Verdict.UNPARSED
    decision = decide(verdict, confidence.value, setup.choices.tau, gate=setup.choices.gate)
    debate = Debate(turns=turns, verdict_path=())
    outcome = answering.select_answer(decision, None, prior, verdict=verdict, debate=debate, confidence=confidence)
    if outcome.missing or prior.value is None:
        return replace(outcome, answer=None)
    return replace(outcome, values=(prior.value,))


def in_one(debates: Iterable[tuple[str, Debate | None]]) -> tuple[Turn, ...]:
    """Debates one after the other; a turn's speaker begins with the name of what its debate is about."""
    turns: list[Turn] = []
    before = 0
    for about, debate in debates:
        for turn in debate.turns if debate else ():
            name = f"{about}/{turn.speaker}" if turn.speaker else about
            saw_turns = tuple(before + position for position in turn.saw_turns)
            turns.append(replace(turn, speaker=name, saw_turns=saw_turns))
        before += len(debate.transcript) if debate else 0
    return tuple(turns)


async def per_hop(item: Item, setup: Setup, *, answering: Answering) -> Outcome:
    """A method for one passage at every hop of a chain, its question asked about the answer to the hop before.

    A hop without an answer ends the chain, and is the reason why there is none. With SR-DCR there is a debate a hop,
    whose Critic sees none of the passages. Turns name their hop as their speaker; the last one of a hop is its answer,
    if it has one.
    """
    debates: dict[str, Debate] = {}
    outcome, previous = Outcome(answer=None), ""
    for number in range(1, len(item.hops) + 1):
        outcome = await answering(item.hop(number, previous), setup)
        debates[f"hop-{number}"] = _with_answer(outcome)
        if outcome.missing or not outcome.answer or outcome.answer.value is None:
            break
        previous = outcome.answer.value
    debate = Debate(turns=in_one(debates.items()), verdict_path=())
    return replace(outcome, debate=debate, ruling=None, confidence=None)


def _with_answer(outcome: Outcome) -> Debate:
    """The debate of a hop, and after it the answer, if there is one, as a turn of the model that answers."""
    debate = outcome.debate or Debate(turns=(), verdict_path=())
    answer = outcome.answer
    if outcome.missing or answer is None:
        return debate
    said = {name: getattr(answer, name) for name in ("text", "request_digest", "decoding", "completion")}
    said |= {"round": debate.turns[-1].round + 1 if debate.turns else 0, "stated_answer": answer.value}
    last = Turn(**said, role=Role.AGENT, saw_passage=outcome.decision is not Decision.USE_PRIOR, saw_turns=())
    return replace(debate, turns=(*debate.turns, last))


# The dialectical debate, in three phases, which are the rounds of its turns. A proponent for each document states a
# thesis from that document alone. A devil's advocate, who sees everything, challenges the theses it faults, and each
# challenged proponent defends, revises or concedes. A judge concludes. Theses, challenges and rebuttals are JSON
# objects; a speaker whose reply is malformed is asked once more.

_T = TypeVar("_T")
JsonReply: TypeAlias = tuple[Sequence[Turn], _T | Malformed]  # one or two turns, and what was read from the last
Accepted: TypeAlias = tuple[Turn, _T]

THESIS_TOKENS = 500  # of a thesis or a rebuttal
CHALLENGE_TOKENS, MOST_TOKENS = 120, 4000  # for each document, beside a thesis's worth; what every API takes
THESES, ANTITHESIS, SYNTHESIS = range(3)


async def dialectical(item: Item, setup: Setup) -> Outcome:
    """n theses, 1 advocate, a rebuttal per challenge, 1 judge; each structured reply may be requested twice.

    A speaker who gives no valid reply ends the debate with an error.
    """
    talk = Conversation(item, setup, THESIS_TOKENS)
    turns: list[Turn] = []
    try:
        theses = _accept(turns, await asyncio.gather(*(_propose(talk, i) for i in range(len(item.documents)))))
        ((attack, challenges),) = _accept(turns, [await _challenge(talk, theses)])
        rebutting = (_rebut(talk, i, theses[i - 1], attack, challenge) for i, challenge in challenges.items())
        rebuttals = dict(zip(challenges, _accept(turns, await asyncio.gather(*rebutting)), strict=True))
    except Malformed as error:
        return Outcome(answer=None, missing=Missing.ERROR, debate=talk.debate(turns), error=f"dialectical: {error}")
    numbered = enumerate((thesis for _, thesis in theses), start=1)
    cases = [(thesis, challenges.get(i), rebuttals[i][1] if i in rebuttals else None) for i, thesis in numbered]
    attacks = [attack] if challenges else []
    heard = [*(turn for turn, _ in theses), *attacks, *(turn for turn, _ in rebuttals.values())]
    how = {"max_tokens": setup.choices.debate_tokens, "sees_passage": False, "cases": cases}
    ruling = await ask_for_answers(talk, Role.JUDGE, "documents_judge", round_=SYNTHESIS, heard=heard, **how)
    return concluded(several_values(ruling.text, item), ruling, talk.debate([*turns, ruling]))


def _accept(turns: list[Turn], replies: Sequence[JsonReply[_T]]) -> list[Accepted[_T]]:
    """The last turn and the content of each reply; all turns are added to the debate's.

    Raises `Malformed` for the first reply that is malformed.
    """
    turns += [turn for asked, _ in replies for turn in asked]
    accepted = []
    for (*_, turn), content in replies:
        if isinstance(content, Malformed):
            proponent = "the challenged proponent" if turn.round == ANTITHESIS else "the proponent"
            name = "the devil's advocate" if turn.role is Role.ADVOCATE else f"{proponent} of document {turn.speaker}"
            raise Malformed(f"{name} was asked twice and gave no valid reply: {content}")
        accepted.append((turn, content))
    return accepted


async def _propose(talk: Conversation, i: int) -> JsonReply[Thesis]:
    """A proponent sees its document and nothing else."""
    document = talk.item.documents[i]
    how = {"round_": THESES, "speaker": document.document_id, "document": document.text}
    return await _structured(talk, readers.thesis, Role.PROPONENT, "proponent_thesis", **how)


async def _challenge(talk: Conversation, theses: Sequence[Accepted[Thesis]]) -> JsonReply[Mapping[int, str]]:
    """The devil's advocate sees every document and thesis; challenges are keyed by the number of the document, from
    1.
    """
    documents, (turns, proposed) = [document.text for document in talk.item.documents], zip(*theses, strict=True)
    read = partial(readers.challenges, n_documents=len(documents))
    max_tokens = min(THESIS_TOKENS + CHALLENGE_TOKENS * len(documents), MOST_TOKENS)
    how = {"round_": ANTITHESIS, "max_tokens": max_tokens, "heard": turns, "documents": documents, "theses": proposed}
    return await _structured(talk, read, Role.ADVOCATE, "devils_advocate", **how)


async def _rebut(
    talk: Conversation, number: int, proposed: Accepted[Thesis], attack: Turn, challenge: str
) -> JsonReply[Thesis]:
    """A challenged proponent sees its document, its thesis and the challenge to it."""
    document, (turn, thesis) = talk.item.documents[number - 1], proposed
    how = {"round_": ANTITHESIS, "speaker": document.document_id, "document": document.text, "heard": [turn, attack]}
    how |= {"defends": value_of(thesis.answer, talk.item), "thesis": thesis, "challenge": challenge}
    return await _structured(talk, partial(readers.rebuttal, held=thesis), Role.PROPONENT, "proponent_rebuttal", **how)


async def _structured(
    talk: Conversation, read: Callable[[str], _T], role: Role, template: str, **how: Any
) -> JsonReply[_T]:
    """Ask and read strictly; if the reply is malformed, ask once more, showing the reply and its fault."""

    def content(text: str) -> _T | Malformed:
        try:
            return read(text)
        except Malformed as fault:
            return fault

    def stated(text: str) -> str | None:
        return value_of(getattr(content(text), "answer", None), talk.item)  # challenges hold no answer

    ask = partial(talk.ask, role, template, reads=stated, **how)
    first = await ask(fault="", reply="")
    fault = content(first.text)
    if not isinstance(fault, Malformed):
        return [first], fault
    second = await ask(fault=str(fault), reply=first.text)
    return [first, second], content(second.text)
