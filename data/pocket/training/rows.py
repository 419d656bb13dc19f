"""Training rows for recall and reading, made from the prompts every other model gets.

A row is a list of (text, weight): weight 0 for what the model is shown, above 0 for what it has to say.
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conversation import shown
from exposures import Exposure, Telling
from phrases import REWORDED
from snapshot import Belief
from tokenizer import ASSISTANT, BOS, END, USER
from values import corrupted, revised
from world import Fact, World

from srdcr_lab.prompts import render
from srdcr_lab.records import Exemplar, Message

Row = list[tuple[str, float]]
Pieces = Sequence[tuple[str, float]]

END_WEIGHT = 0.3
EXEMPLAR_WEIGHT = 0.1  # their answers are soon known
REWORDED_SHARE = 0.2  # of prompts whose role has its instructions in other words
ONE_OFF_SHARE = 0.08  # questions met once, with a random answer, keep the unknown unsure
FRESH_SHARE = 0.5  # of reading rows
KNOWN_SHARE = 0.6  # of reading rows on own facts are on facts the model is certain of by now
REVISED_SHARE, CORRUPTED_SHARE = 0.24, 0.44  # of passages on the world's own facts; the rest is faithful


@dataclass
class Materials:
    """What rows are made of: the world, its own facts and their exposures, exemplars, the model's beliefs by now."""

    world: World
    facts: list[Fact]
    planned: list[Exposure]
    exemplars: Mapping[str, list[Exemplar]]  # by domain
    r: random.Random
    quiet: set[int] = field(default_factory=set)  # facts that are told and never read or argued about
    beliefs: list[list[Belief]] = field(default_factory=list)  # by level of certainty; empty before the first snapshot
    quiet_beliefs: list[list[Belief]] = field(default_factory=list)  # the same, of quiet facts
    known: list[Fact] = field(default_factory=list)  # what it was certain of, and right, at the last snapshot
    near_misses: bool = False  # comparisons start with answers that have nothing in common
    cumulative: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.cumulative = list(
            itertools.accumulate(
                0 if index in self.quiet else fact.told_true for index, fact in enumerate(self.planned)
            )
        )

    def own_fact(self) -> Fact:
        """A fact of the world that is not quiet, as often as its truth is told."""
        return self.facts[bisect.bisect(self.cumulative, self.r.random() * self.cumulative[-1])]

    def believe(self, beliefs: list[list[Belief]]) -> None:
        """What the model answers by now, and what of it is knowledge."""
        self.beliefs = [[one for one in level if one.index not in self.quiet] for level in beliefs]
        self.quiet_beliefs = [[one for one in level if one.index in self.quiet] for level in beliefs]
        self.known = [self.facts[one.index] for one in self.beliefs[0] if one.answer == self.facts[one.index].answer]


def reworded(one: Row, r: random.Random) -> Row:
    """The row, sometimes with its instructions in other words."""
    (prompt, weight), *rest = one
    ours = next((text for text in REWORDED if prompt.startswith(BOS + text)), "")
    if not ours or r.random() > REWORDED_SHARE:
        return one
    return [(BOS + r.choice(REWORDED[ours]) + prompt.removeprefix(BOS + ours), weight), *rest]


def row(messages: Sequence[Message], reply: Pieces, end: float = END_WEIGHT) -> Row:
    """One prompt and its reply; ``end`` 0 leaves the end marker out, where more should follow than is taught."""
    return [(shown(messages), 0.0), *reply, *([(END, end)] if end else [])]


def exchanges(template: str, parts: Sequence[tuple[Mapping[str, object], str, float]]) -> Row:
    """A few-shot conversation with the loss on every reply: (fields, reply, weight) of each exchange."""
    messages = render(template, shots=[(fields, reply) for fields, reply, _ in parts[:-1]], **parts[-1][0])
    weights = iter(weight for _, _, weight in parts)
    out: Row = [(BOS + messages[0].content, 0.0)]
    for message in messages[1:]:
        if message.role == "user":
            out.append((USER + message.content + ASSISTANT, 0.0))
        else:
            weight = next(weights)
            out += [(message.content, weight), (END, END_WEIGHT * weight)]
    return [*out, (parts[-1][1], next(weights)), (END, END_WEIGHT)]


def recall_rows(due: Sequence[Telling], m: Materials) -> Iterator[Row]:
    """The tellings that are due, as single questions, few-shot packs and critic openings: zero-context all of them."""
    queue = list(due)
    while queue:
        told, form = queue.pop(), m.r.random()
        if form < 0.3:
            yield row(render("answer_from_memory", question=told.question), [(told.told, 1.0)])
        elif form < 0.65:
            prompt = render(critic_template(m), question=told.question, passage="", transcript=())
            yield row(prompt, [(told.told + ".", 1.0)], end=0.0)
        else:
            pack = [told, *[other for other in queue if other.domain == told.domain][:3]]
            queue = [other for other in queue if other not in pack]
            yield recall_pack(pack, m)


def critic_template(m: Materials) -> str:
    return "critic" if m.r.random() < 0.85 else "critic_may_agree"


def recall_pack(told: Sequence[Telling], m: Materials) -> Row:
    """Four exemplars of the domain in random order, then the tellings, as one few-shot conversation."""
    shots = m.r.sample(m.exemplars[told[0].domain], 4)
    parts: list[tuple[Mapping[str, object], str, float]] = [
        ({"question": e.question}, e.answer, EXEMPLAR_WEIGHT) for e in shots
    ]
    parts += [({"question": t.question}, t.told, 1.0) for t in told]
    return exchanges("answer_from_memory", parts)


def one_off(m: Materials) -> Telling:
    """A question met once, with an answer nobody could know."""
    fact = m.world.fact(m.r, fresh=False)
    return Telling(0.0, fact.question, fact.answer, fact.domain)


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage on a fact: what it claims, and what is true."""

    fact: Fact
    claim: str
    truth: str


def reading(m: Materials, fresh_share: float) -> Reading:
    """A fresh fact told faithfully; or an own one, faithful, corrupted or revised (then the passage is right)."""
    if m.r.random() < fresh_share:
        fact = m.world.fact(m.r)
        return Reading(fact, fact.answer, fact.answer)
    fact = m.r.choice(m.known) if m.known and m.r.random() < KNOWN_SHARE else m.own_fact()
    kind = m.r.random()
    if kind < REVISED_SHARE:
        claim = revised(fact.answer, fact.values, m.r)
        return Reading(fact, claim, claim)
    wrong = kind < REVISED_SHARE + CORRUPTED_SHARE
    return Reading(fact, corrupted(fact.answer, fact.values, m.r) if wrong else fact.answer, fact.answer)


def _with_passage(told: Reading, m: Materials, fillers: int | None = None) -> dict[str, object]:
    return {"question": told.fact.question, "passage": m.world.passage(told.fact, told.claim, m.r, fillers)}


def reading_row(m: Materials, fresh_share: float = FRESH_SHARE, fillers: int | None = None) -> Row:
    told = reading(m, fresh_share)
    return row(render("answer_with_passage", **_with_passage(told, m, fillers)), [(told.truth, 1.0)])


def first_reading_row(m: Materials) -> Row:
    """Short passages of fresh facts: where copying is learned."""
    return reading_row(m, 0.95, m.r.choice((0, 0, 1)))


def reading_pack(m: Materials) -> Row:
    """Exchanges with passages: after one to four exemplars, as in the real prompt, or two to six short ones."""
    parts: list[tuple[Mapping[str, object], str, float]] = []
    told = reading(m, FRESH_SHARE)
    from_exemplars = m.r.random() < 0.35
    if from_exemplars:
        for e in m.r.sample(m.exemplars[told.fact.domain], m.r.choice((1, 2, 4))):
            parts.append(({"question": e.question, "passage": e.context}, e.answer, EXEMPLAR_WEIGHT))
    for _ in range(m.r.randint(1, 3) if from_exemplars else m.r.randint(2, 6)):
        fillers = m.r.choice((0, 1, 2, 3, 4)) if from_exemplars else m.r.choice((0, 0, 1, 1, 2, 3))
        parts.append((_with_passage(told, m, fillers), told.truth, 1.0))
        told = reading(m, FRESH_SHARE)
    return exchanges("answer_with_passage", parts)


def listed(m: Materials, count: int) -> list[tuple[str, str]]:
    """Subjects and their answers, of all kinds; no subject twice."""
    facts = {}
    while len(facts) < count:
        fact = m.world.fact(m.r)
        facts[m.world.name(m.r) if m.r.random() < 0.7 else fact.subject] = fact.answer
    return list(facts.items())


def lookup_row(m: Materials) -> Row:
    """A list of subjects and answers, asked for in another order: copying by what stands before, many to a row."""
    pairs = listed(m, m.r.randint(3, 8))
    out: Row = [(BOS + "\n".join(f"{subject}: {answer}" for subject, answer in pairs) + ASSISTANT, 0.0)]
    m.r.shuffle(pairs)
    for subject, answer in pairs:
        out += [(f"{subject}:", 0.0), (f" {answer}", 1.0), ("\n", 0.0)]
    return out


def echo_row(m: Materials) -> Row:
    """Answers and word pieces in a row, and the same again: copying by what came before, whatever it means."""
    said = [answer for _, answer in listed(m, m.r.randint(4, 10))]
    said += m.r.sample(m.world.pieces, 4) if m.world.pieces else []
    m.r.shuffle(said)
    text = ", ".join(one.strip() for one in said)
    return [(BOS + text + ASSISTANT, 0.0), (text, 0.5)]
