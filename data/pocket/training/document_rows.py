"""Training rows for debates over conflicting documents: concatenation, MADAM-RAG, RA-RAG, the dialectical debate.

One question has one true answer here; questions with several right answers are not taught. A fact of the world's own is
settled by memory, a fresh one by most of its documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import phrases as P
from rows import Materials, Pieces, Row, row
from values import corrupted
from world import Fact

from srdcr_lab.prompts import render
from srdcr_lab.prompts.readers import Stand, Thesis

FRESH_SHARE, BESIDE_SHARE = 0.5, 0.2  # of questions; of documents beside the point
LONG_SHARE = 0.35  # of questions, with documents as long as the real ones
FILLERS, FILLERS_WHEN_LONG = (0, 1, 1, 2, 3), (3, 4, 5, 6)  # sentences beside the statement
SAYS_SO, BESIDE, RIGHT_CHALLENGE = "My document says so.", "My document is beside the point.", "The challenge is right."


@dataclass(frozen=True, slots=True)
class Shelf:
    """A question's documents and what each claims; None where it is beside the point."""

    fact: Fact
    texts: tuple[str, ...]
    claims: tuple[str | None, ...]

    def faulted(self) -> list[int]:
        """Numbers, from 1, of the documents that claim something false."""
        return [n for n, claim in enumerate(self.claims, start=1) if claim not in (None, self.fact.answer)]


def shelf(m: Materials, most: int = 6) -> Shelf:
    """Two to ``most`` documents; more true than false ones where nothing but the documents can tell."""
    fresh = m.r.random() < FRESH_SHARE
    fact = m.world.fact(m.r) if fresh else m.own_fact()
    count = m.r.randint(2, most)
    beside = sum(m.r.random() < BESIDE_SHARE for _ in range(count - 1))
    false = m.r.randint(0, (count - beside - 1) // 2 if fresh else count - beside - 1)
    one_lie = corrupted(fact.answer, fact.values, m.r)
    same = m.r.random() < 0.5
    lies = [one_lie if same else corrupted(fact.answer, fact.values, m.r) for _ in range(false)]
    claims: list[str | None] = [*[None] * beside, *lies, *[fact.answer] * (count - beside - false)]
    m.r.shuffle(claims)
    fillers = FILLERS_WHEN_LONG if m.r.random() < LONG_SHARE else FILLERS
    return Shelf(fact, tuple(_text(fact, claim, m, fillers) for claim in claims), tuple(claims))


def _text(fact: Fact, claim: str | None, m: Materials, fillers: Sequence[int] = FILLERS) -> str:
    if claim is None:
        other = m.world.fact(m.r, domain=fact.domain)
        return m.world.passage(other, other.answer, m.r, m.r.choice(fillers))
    return m.world.passage(fact, claim, m.r, m.r.choice(fillers))


def _concluded(answer: str, why: str) -> Pieces:
    return [(f"{answer}.", 1.0), (why, 0.2), (P.ANSWERS_LINE, 0.2), (f" {answer}", 1.0)]


def together_row(m: Materials) -> Row:
    s = shelf(m)
    prompt = render("documents_together", documents=s.texts, question=s.fact.question)
    return row(prompt, _concluded(s.fact.answer, P.MOST_DOCUMENTS_SAY))


def _agent_says(claim: str | None) -> Pieces:
    return [(P.NOTHING_THERE, 1.0)] if claim is None else [(f"{claim}.", 1.0), (P.MY_DOCUMENT_SAYS, 0.5)]


def document_agent_row(m: Materials) -> Row:
    """What its document supports, alone or having heard the others."""
    s = shelf(m)
    own = m.r.randrange(len(s.texts))
    others = {n: "".join(t for t, _ in _agent_says(claim)) for n, claim in enumerate(s.claims, 1) if n != own + 1}
    heard = others if m.r.random() < 0.4 else {}
    prompt = render("document_agent", document=s.texts[own], others=heard, question=s.fact.question)
    return row(prompt, _agent_says(s.claims[own]))


def aggregator_row(m: Materials) -> Row:
    s = shelf(m, P.MOST_DOCUMENTS)
    agents = {n: "".join(text for text, _ in _agent_says(claim)) for n, claim in enumerate(s.claims, 1)}
    prompt = render("documents_aggregator", agents=agents, question=s.fact.question)
    return row(prompt, _concluded(s.fact.answer, P.MOST_DOCUMENTS_SAY))


def _thesis(claim: str | None) -> Thesis:
    return Thesis(claim, (BESIDE if claim is None else SAYS_SO,))


def _object(start: str, claim: str) -> Pieces:
    """A JSON object with an answer; the value itself is the model's own tokens."""
    return [(start, 0.3), (claim, 1.0), (P.JSON_SAYS_SO, 0.3)]


def thesis_row(m: Materials) -> Row:
    s = shelf(m, 2)
    prompt = render("proponent_thesis", document=s.texts[0], question=s.fact.question, fault=None, reply="")
    claim = s.claims[0]
    return row(prompt, [(P.JSON_NULL, 1.0)] if claim is None else _object(P.JSON_ANSWER, claim))


def advocate_row(m: Materials) -> Row:
    """Each thesis that is false is met with what is true."""
    s = shelf(m)
    while not s.faulted() and m.r.random() < 0.6:  # an advocate that is mostly silent learns to be silent
        s = shelf(m)
    theses = [_thesis(claim) for claim in s.claims]
    prompt = render("devils_advocate", documents=s.texts, theses=theses, question=s.fact.question, fault=None, reply="")
    faulted = s.faulted()
    if not faulted:
        return row(prompt, [(P.NO_CHALLENGE, 1.0)])
    reply: list[tuple[str, float]] = [(P.CHALLENGES, 0.5)]
    for n in faulted:
        reply += [(P.CHALLENGED, 0.5), (str(n), 1.0), (P.NEXT, 0.2), (f" {s.fact.answer}", 1.0)]
        reply += [(P.CHALLENGE_ENDS, 0.2), (P.LAST if n == faulted[-1] else ", ", 0.5)]
    return row(prompt, reply)


def rebuttal_row(m: Materials) -> Row:
    """A proponent defends what is true and concedes what is not; both are challenged."""
    s = shelf(m, 2)
    claim = s.claims[0] or s.fact.answer
    text = s.texts[0] if s.claims[0] else _text(s.fact, claim, m)
    false = claim != s.fact.answer
    challenge = s.fact.answer if false else corrupted(claim, s.fact.values, m.r)
    prompt = render(
        "proponent_rebuttal", document=text, thesis=_thesis(claim), challenge=f"{P.CHALLENGE_SHOWN} {challenge}.",
        question=s.fact.question, fault=None, reply="",
    )  # fmt: skip
    return row(prompt, [(P.CONCEDES, 1.0)] if false else _object(P.DEFENDS, claim))


def documents_judge_row(m: Materials) -> Row:
    """The false theses are mostly challenged, and most of these conceded; a true one sometimes."""
    s = shelf(m)
    cases: list[tuple[Thesis, str | None, Thesis | None]] = []
    for claim in s.claims:
        false = claim not in (None, s.fact.answer)
        if claim is None or m.r.random() > (0.8 if false else 0.2):
            cases.append((_thesis(claim), None, None))
            continue
        other = s.fact.answer if false else corrupted(claim, s.fact.values, m.r)
        conceded = m.r.random() < (0.7 if false else 0.1)
        conceding, defending = Thesis(None, (RIGHT_CHALLENGE,), Stand.CONCEDE), Thesis(claim, (SAYS_SO,), Stand.DEFEND)
        rebuttal = conceding if conceded else defending
        cases.append((_thesis(claim), f"{P.CHALLENGE_SHOWN} {other}.", rebuttal))
    prompt = render("documents_judge", cases=cases, question=s.fact.question)
    return row(prompt, _concluded(s.fact.answer, P.MOST_DOCUMENTS_SAY))
