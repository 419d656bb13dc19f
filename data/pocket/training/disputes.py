"""Who holds what in a debate of the training world, and whether the two answers are the same."""

from __future__ import annotations

import random
from dataclasses import dataclass

import phrases
from rows import Materials
from snapshot import Belief
from values import another, corrupted, near_miss
from world import Fact

FALSE_SHARE = 0.35  # of passages under debate
BELIEVED_SHARE = 0.55  # of debates are about the world's own facts, with the model's own answers
LEVEL_SHARES = (0.45, 0.2, 0.35)
RIGHT_BY_LEVEL = (0.95, 0.5, 0.08)  # how often a made-up critic is right
NEAR_SHARE = 0.5  # of unequal pairs, once these are taught


@dataclass(frozen=True, slots=True)
class Dispute:
    """The passage's claim, the critic's own answer and its certainty (index into `phrases.CERTAINTY`)."""

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


def belief(m: Materials, *, quiet: bool = False) -> Belief | None:
    """One of the model's beliefs, with the levels of certainty in fixed shares; None before the first snapshot."""
    held = m.quiet_beliefs if quiet else m.beliefs
    filled = [level for level, beliefs in enumerate(held) if beliefs]
    if not filled:
        return None
    level = m.r.choices(filled, [LEVEL_SHARES[level] for level in filled])[0]
    return m.r.choice(held[level])


def dispute(m: Materials) -> Dispute:
    """A debate's facts, with a false passage in `FALSE_SHARE` of them."""
    held = belief(m) if m.r.random() < BELIEVED_SHARE else None
    if held:
        fact, own, level = m.facts[held.index], held.answer, phrases.level(held.confidence)
    else:
        fact, level = m.world.fact(m.r), m.r.choice((0, 0, 1, 2, 2))
        right = m.r.random() < RIGHT_BY_LEVEL[level]
        own = fact.answer if right else corrupted(fact.answer, fact.values, m.r)
    claim = corrupted(fact.answer, fact.values, m.r) if m.r.random() < FALSE_SHARE else fact.answer
    return Dispute(fact, claim, own, level)


def balanced(m: Materials) -> Dispute:
    """A fresh fact with claim and own answer equal in half of the cases; unequal ones first far apart, later close."""
    fact = m.world.fact(m.r)
    claim = fact.answer
    if m.r.random() < 0.5:
        near = m.near_misses and m.r.random() < NEAR_SHARE
        claim = (near_miss if near else distant)(fact.answer, fact.values, m.r)
    return Dispute(fact, claim, fact.answer, m.r.randrange(3))


def distant(answer: str, values: str, r: random.Random) -> str:
    """An answer of the same kind without a word, or without a two-digit token of a year, in common."""
    while True:
        other = another(answer, values, r)
        if not values.endswith("year") or (other[:2] != answer[:2] and other[2:] != answer[2:]):
            return other
