"""Training rows for the debate's roles and for stated confidence, on the training world alone.

The judge's label is the truth of the passage; critics speak from the model's own beliefs, or from made-up ones on fresh
facts. Both the later critic and the judge first repeat the two answers: comparing them is a matter of adjacent tokens.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import phrases as P
from rows import Materials, Pieces, Row, reading, row
from snapshot import Belief
from world import Fact, corrupted

from srdcr_lab.prompts import render
from srdcr_lab.records import Role, Turn

FALSE_SHARE = 0.35  # of passages under debate
ROUNDS = (0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5)
BELIEVED_SHARE = 0.5  # of debates are about the world's own facts, with the model's own answers
COMPARISON_WEIGHT = 2.0
LEVEL_SHARES = (0.45, 0.2, 0.35)
RIGHT_BY_LEVEL = (0.95, 0.5, 0.08)  # how often a made-up critic is right


@dataclass(frozen=True, slots=True)
class Dispute:
    """Who holds what: the passage's claim, the critic's own answer and its certainty (index into `CERTAINTY`)."""

    fact: Fact
    claim: str
    own: str
    level: int

    @property
    def false(self) -> bool:
        return self.claim != self.fact.answer

    @property
    def agree(self) -> bool:
        return self.claim == self.own


def belief(m: Materials) -> Belief | None:
    """One of the model's beliefs, with the levels of certainty in fixed shares; None before the first snapshot."""
    filled = [level for level, beliefs in enumerate(m.beliefs) if beliefs]
    if not filled:
        return None
    level = m.r.choices(filled, [LEVEL_SHARES[level] for level in filled])[0]
    return m.r.choice(m.beliefs[level])


def dispute(m: Materials) -> Dispute:
    """A debate's facts, with a false passage in `FALSE_SHARE` of them."""
    held = belief(m) if m.r.random() < BELIEVED_SHARE else None
    if held:
        fact, own, level = m.facts[held.index], held.answer, P.level(held.confidence)
    else:
        fact, level = m.world.fact(m.r), m.r.choice((0, 0, 1, 2, 2))
        own = fact.answer if m.r.random() < RIGHT_BY_LEVEL[level] else corrupted(fact.answer, m.r)
    claim = corrupted(fact.answer, m.r) if m.r.random() < FALSE_SHARE else fact.answer
    return Dispute(fact, claim, own, level)


def near_miss(year: str, r: random.Random) -> str:
    """Another year, in half of the cases with one of its two tokens unchanged."""
    while True:
        century, rest = divmod(int(year), 100)
        match r.randrange(4):
            case 0:
                century = r.randint(10, 22)
            case 1:
                rest = r.randrange(100)
            case _:
                century, rest = r.randint(10, 22), r.randrange(100)
        other = f"{century}{rest:02d}"
        if other != year:
            return other


def balanced(m: Materials) -> Dispute:
    """A fresh fact with claim and own answer equal in half of the cases, and often one token apart in the others."""
    fact = m.world.fact(m.r)
    claim = fact.answer if m.r.random() < 0.5 else near_miss(fact.answer, m.r)
    return Dispute(fact, claim, fact.answer, m.r.randrange(3))


def defender_opening(d: Dispute) -> Pieces:
    return [(f"{d.claim}.", 1.0), (P.DEFENDER_OPENS, 0.2)]


def defender_later(d: Dispute) -> Pieces:
    answer = P.CRITIC_AGREES_TOO if d.agree else P.REPLIES_TO_CERTAINTY[d.level]
    return [(f"{d.claim}.", 1.0), (P.DEFENDER_LATER, 0.2), (P.THE_CRITIC_SAYS, 0.2), (f" {d.own}", 0.5), (answer, 0.5)]


def critic_opening(d: Dispute) -> Pieces:
    return [(f"{d.own}.", 1.0), (P.CERTAINTY[d.level], 0.5)]


def critic_later(d: Dispute) -> Pieces:
    stance = P.SAME_AS_MINE if d.agree else P.STANCES[d.level]
    return [*critic_opening(d), (P.THE_DEFENDER_SAYS, 0.2), (f" {d.claim}", 0.5), (stance, 1.0)]


def judgement(d: Dispute) -> Pieces:
    """The judge's comparison and ruling."""
    compared = [(P.JUDGE_DEFENDER, 0.1), (f" {d.claim}", 0.5), (P.JUDGE_CRITIC, 0.1), (f" {d.own}", 0.5)]
    found = [(P.THEY_AGREE, 1.0)] if d.agree else [(P.THEY_DIFFER, 1.0), (P.JUDGE_ON_CERTAINTY[d.level], 0.5)]
    return [*compared, *found, (P.FINAL_DECISION, 0.1), (P.UNREASONABLE if d.false else P.REASONABLE, 1.0)]


def _said(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)


def transcript(d: Dispute, rounds: int, m: Materials) -> tuple[Turn, ...]:
    """The openings and ``rounds`` further rounds, critic first from round 1 on."""
    spoken = [(0, Role.DEFENDER, defender_opening(d)), (0, Role.CRITIC, critic_opening(d))]
    if m.r.random() < 0.1:
        spoken.reverse()
    for number in range(1, rounds + 1):
        spoken += [(number, Role.CRITIC, critic_later(d)), (number, Role.DEFENDER, defender_later(d))]
    return tuple(
        Turn(round=n, role=role, text=_said(said), saw_passage=False, saw_turns=()) for n, role, said in spoken
    )


def defender_row(m: Materials) -> Row:
    d = dispute(m)
    passage = m.world.passage(d.fact, d.claim, m.r)
    if m.r.random() < 0.6:
        return row(render("defender", question=d.fact.question, passage=passage, transcript=()), defender_opening(d))
    turns = transcript(d, max(1, m.r.choice(ROUNDS)), m)[:-1]
    return row(render("defender", question=d.fact.question, passage=passage, transcript=turns), defender_later(d))


def _critic(m: Materials) -> str:
    return "critic" if m.r.random() < 0.85 else "critic_may_agree"


def critic_row(m: Materials) -> Row:
    d = dispute(m)
    if m.r.random() < 0.2:
        d = replace(d, claim=d.own)
    turns = transcript(d, m.r.choice(ROUNDS), m)
    return row(render(_critic(m), question=d.fact.question, passage="", transcript=turns), critic_later(d))


def sighted_critic_row(m: Materials) -> Row:
    """The symmetric critic: it reads the passage too, and answers as a reader does."""
    told = reading(m, 0.5)
    level = 1 if told.claim == told.truth else 0
    d = Dispute(told.fact, told.claim, told.truth, level)
    passage = m.world.passage(d.fact, d.claim, m.r)
    turns = () if m.r.random() < 0.6 else transcript(d, m.r.choice(ROUNDS), m)
    reply = critic_later(d) if turns else critic_opening(d)
    return row(render(_critic(m), question=d.fact.question, passage=passage, transcript=turns), reply)


def judge_row(m: Materials) -> Row:
    d = dispute(m)
    passage = m.world.passage(d.fact, d.claim, m.r) if m.r.random() < 0.08 else ""
    turns = transcript(d, m.r.choice(ROUNDS), m)
    return row(render("judge", question=d.fact.question, passage=passage, transcript=turns), judgement(d))


def comparison_row(m: Materials) -> Row:
    """Same or different, balanced, in the place where a judge or a later critic needs it; no ruling is taught here."""
    d = balanced(m)
    turns = transcript(d, 0, m)
    if m.r.random() < 0.5:
        reply = [*judgement(d)[:4], (judgement(d)[4][0], COMPARISON_WEIGHT)]
        return row(render("judge", question=d.fact.question, passage="", transcript=turns), reply, end=0.0)
    reply = [*critic_later(d)[:-1], (critic_later(d)[-1][0], COMPARISON_WEIGHT)]
    return row(render("critic", question=d.fact.question, passage="", transcript=turns), reply)


def certainty_row(m: Materials) -> Row:
    """The critic's opening with its certainty, after the value it says itself (which is not trained here)."""
    held = belief(m)
    if held is None:
        return comparison_row(m)
    prompt = render(_critic(m), question=m.facts[held.index].question, passage="", transcript=())
    return row(prompt, [(f"{held.as_critic}.", 0.0), (P.CERTAINTY[P.level(held.confidence)], 1.0)])


def stated_confidence_row(m: Materials) -> Row:
    """A percentage for the model's own prior answer: its confidence, to the nearest 5 between 10 and 95."""
    held = belief(m)
    if held is None:
        return comparison_row(m)
    percent = min(95, max(10, 5 * round(20 * held.confidence)))
    prompt = render("verbalized_confidence", question=m.facts[held.index].question, answer=held.answer)
    return row(prompt, [(P.CONFIDENCE_LINE, 0.2), (f" {percent}", 1.0)])
