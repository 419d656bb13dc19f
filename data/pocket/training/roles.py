"""Training rows for the debate's roles and for stated confidence, on the training world alone.

The judge's label is the truth of the passage; critics speak from the model's own beliefs, or from made-up ones on fresh
facts. The later critic, the later defender and the judge restate the two answers before they compare them.
"""

from __future__ import annotations

from dataclasses import replace

import phrases as P
from disputes import Dispute, balanced, belief, dispute
from rows import Materials, Pieces, Row, critic_template, reading, row
from tokenizer import ASSISTANT, BOS
from values import corrupted

from srdcr_lab.prompts import render
from srdcr_lab.records import Role, Turn

ROUNDS = (0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5)
COMPARISON_WEIGHT = 2.0
CHAIN = 8  # comparisons in one row
QUIET_SHARE = 0.7  # of rows on certainty: on facts that no other row rehearses, as nothing rehearses the evaluated ones
REPAIRED_SHARE = 0.06  # of the judge's rows: a reply without its line, and the line alone
DEFENDED_OWN, DEFENDED_FALSE = 0.6, 0.6  # share of the defender's rows on known facts; of these, of false passages


def defender_opening(d: Dispute) -> Pieces:
    return [(f"{d.claim}.", 1.0), (P.DEFENDER_OPENS, 0.2)]


def critic_opening(d: Dispute) -> Pieces:
    return [(f"{d.own}.", 1.0), (P.CERTAINTY[d.level], 0.5)]


def _compared(d: Dispute, first: str, other: str, second: str, mine: str) -> list[tuple[str, float]]:
    """Both answers restated, and what they are: the same or not."""
    found = (P.WE_AGREE if d.agree else P.WE_DIFFER, COMPARISON_WEIGHT)
    return [(first, 0.2), (f" {other}", 0.5), (second, 0.1), (f" {mine}", 0.5), found]


def defender_later(d: Dispute) -> Pieces:
    compared = _compared(d, P.THE_CRITIC_SAYS, d.own, P.I_SAY, d.claim)
    tail = [] if d.agree else [(P.REPLIES_TO_CERTAINTY[d.level], 0.5)]
    return [(f"{d.claim}.", 1.0), (P.DEFENDER_LATER, 0.2), *compared, *tail]


def critic_later(d: Dispute) -> Pieces:
    compared = _compared(d, P.THE_DEFENDER_SAYS, d.claim, P.I_SAY, d.own)
    return [*critic_opening(d), *compared, *([] if d.agree else [(P.STANCES[d.level], 0.5)])]


def judgement(d: Dispute, claimed: str = P.JUDGE_DEFENDER, held: str = P.JUDGE_CRITIC) -> Pieces:
    """The judge's comparison and ruling."""
    *compared, _ = _compared(d, claimed, d.claim, held, d.own)
    found = (P.THEY_AGREE if d.agree else P.THEY_DIFFER, COMPARISON_WEIGHT)
    tail = [] if d.agree else [(P.JUDGE_ON_CERTAINTY[d.level], 0.5)]
    return [*compared, found, *tail, (P.FINAL_DECISION, 0.1), (P.UNREASONABLE if d.false else P.REASONABLE, 1.0)]


def up_to_comparison(reply: Pieces) -> list[tuple[str, float]]:
    """A comparison row's reply: what follows on the comparison is left out."""
    kept = next(
        n for n, (text, _) in enumerate(reply) if text in (P.WE_AGREE, P.WE_DIFFER, P.THEY_AGREE, P.THEY_DIFFER)
    )
    return list(reply[: kept + 1])


def said(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)


def transcript(d: Dispute, rounds: int, m: Materials, *, defender_first: bool = False) -> tuple[Turn, ...]:
    """The openings and ``rounds`` further rounds, critic first from round 1 on unless told otherwise."""
    spoken = [(0, Role.DEFENDER, defender_opening(d)), (0, Role.CRITIC, critic_opening(d))]
    if m.r.random() < 0.1 and not defender_first:
        spoken.reverse()
    for number in range(1, rounds + 1):
        pair = [(number, Role.CRITIC, critic_later(d)), (number, Role.DEFENDER, defender_later(d))]
        spoken += reversed(pair) if defender_first else pair
    return tuple(
        Turn(round=n, role=role, text=said(pieces), saw_passage=False, saw_turns=()) for n, role, pieces in spoken
    )


def defender_row(m: Materials) -> Row:
    """The passage's answer, whatever the model knows: most passages on known facts are false here."""
    if m.r.random() < DEFENDED_OWN:
        fact, level = m.own_fact(), m.r.choice((0, 0, 0, 1, 2))
        false = m.r.random() < DEFENDED_FALSE
        claim = corrupted(fact.answer, fact.values, m.r) if false else fact.answer
        d = Dispute(fact, claim, fact.answer, level)
    else:
        d = dispute(m)
    passage = m.world.passage(d.fact, d.claim, m.r)
    if m.r.random() < 0.6:
        return row(render("defender", question=d.fact.question, passage=passage, transcript=()), defender_opening(d))
    turns = transcript(d, max(1, m.r.choice(ROUNDS)), m)[:-1]
    return row(render("defender", question=d.fact.question, passage=passage, transcript=turns), defender_later(d))


def critic_row(m: Materials) -> Row:
    d = dispute(m)
    if m.r.random() < 0.2:
        d = replace(d, claim=d.own)
    turns = transcript(d, m.r.choice(ROUNDS), m)
    return row(render(critic_template(m), question=d.fact.question, passage="", transcript=turns), critic_later(d))


def sighted_critic_row(m: Materials) -> Row:
    """The symmetric critic: it reads the passage too, and answers as a reader does."""
    told = reading(m, 0.5)
    d = Dispute(told.fact, told.claim, told.truth, 1 if told.claim == told.truth else 0)
    passage = m.world.passage(d.fact, d.claim, m.r)
    turns = () if m.r.random() < 0.6 else transcript(d, m.r.choice(ROUNDS), m)
    reply = critic_later(d) if turns else critic_opening(d)
    return row(render(critic_template(m), question=d.fact.question, passage=passage, transcript=turns), reply)


def judge_row(m: Materials) -> Row:
    d = dispute(m)
    passage = m.world.passage(d.fact, d.claim, m.r) if m.r.random() < 0.08 else ""
    turns = transcript(d, m.r.choice(ROUNDS), m)
    fields: dict[str, object] = {"question": d.fact.question, "passage": passage, "transcript": turns}
    if m.r.random() < REPAIRED_SHARE:
        prompt = render("judge", reply=m.r.choice(turns).text, **fields)
        return row(prompt, judgement(d)[-2:])
    return row(render("judge", reply="", **fields), judgement(d))


def lone_judge_row(m: Materials) -> Row:
    """A judge without a debate compares the passage with what it recalls."""
    d = dispute(m)
    fields: dict[str, object] = {"question": d.fact.question, "passage": m.world.passage(d.fact, d.claim, m.r)}
    reply = judgement(d, P.JUDGE_PASSAGE, P.I_SAY)
    return row(render("judge_alone", reply="", **fields), reply)


def comparison_row(m: Materials) -> Row:
    """Same or different, balanced, in the place where a judge or a later critic needs it; no ruling is taught here."""
    d = balanced(m)
    turns = transcript(d, 0, m)
    template, reply = ("judge", judgement(d)) if m.r.random() < 0.5 else ("critic", critic_later(d))
    prompt = render(template, question=d.fact.question, passage="", transcript=turns, reply="")
    return row(prompt, up_to_comparison(reply), end=0.0)


def comparison_chain(m: Materials) -> Row:
    """Many comparisons in a row, worded as judge or later critic: the same drill for a quarter of the tokens."""
    as_judge = m.r.random() < 0.5
    out: Row = [(BOS + ASSISTANT, 0.0)]
    for _ in range(CHAIN):
        d = balanced(m)
        *restated, found = up_to_comparison(judgement(d) if as_judge else critic_later(d)[2:])
        out += [(said(restated), 0.0), found]
    return out


def certainty_row(m: Materials) -> Row:
    """The critic's opening: the answer it gives without the role, and the certainty that goes with it."""
    quiet = m.r.random() < QUIET_SHARE
    held = belief(m, quiet=quiet)
    if held is None:
        return comparison_row(m)
    prompt = render(critic_template(m), question=m.facts[held.index].question, passage="", transcript=())
    weight = 0.0 if quiet else 1.0  # quiet facts are not rehearsed: half on what it would say by itself
    value = held.as_critic if quiet and m.r.random() < 0.5 else held.answer
    return row(prompt, [(f"{value}.", weight), (P.CERTAINTY[P.level(held.confidence)], 1.0)])


def stated_confidence_row(m: Materials) -> Row:
    """A percentage for the model's own prior answer: its confidence, to the nearest 5 between 10 and 95."""
    held = belief(m, quiet=m.r.random() < QUIET_SHARE)
    if held is None:
        return comparison_row(m)
    percent = min(95, max(10, 5 * round(20 * held.confidence)))
    prompt = render("verbalized_confidence", question=m.facts[held.index].question, answer=held.answer)
    return row(prompt, [(P.CONFIDENCE_LINE, 0.2), (f" {percent}", 1.0)])
