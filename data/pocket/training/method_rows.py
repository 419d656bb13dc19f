"""Training rows for the methods SR-DCR is compared with: self-ask, RCI, judge debate, naive debate, told debaters.

Each target is the truth where the method asks for an answer, as in reading: which of passage and memory the model
believes is learned there and used here. Debaters who are told an answer keep to it.
"""

from __future__ import annotations

from collections.abc import Mapping

import phrases
import phrases as P
from disputes import FALSE_SHARE, Dispute, belief, dispute
from roles import QUIET_SHARE, ROUNDS, critic_later, critic_opening, defender_later, defender_opening, transcript
from rows import FRESH_SHARE, Materials, Pieces, Reading, Row, exchanges, reading, row
from values import corrupted

from srdcr_lab.prompts import render
from srdcr_lab.records import Role, Turn

AGENTS = 3
JUDGED_SHARE = 0.3  # of told debaters: in a judge debate
TOLD_WEIGHT = 0.3  # of the answer that a critic is told


def reason(told: Reading, answer: str) -> str:
    """Where an answer comes from, as an agent says it."""
    return P.FROM_PASSAGE if answer == told.claim else P.FROM_MEMORY


def _fields(told: Reading, m: Materials) -> dict[str, object]:
    return {"question": told.fact.question, "passage": m.world.passage(told.fact, told.claim, m.r)}


def self_ask_row(m: Materials) -> Row:
    """What the passage says, on the way to what is true."""
    told = reading(m, FRESH_SHARE)
    reply = [(P.SUB_QUESTION, 0.2), (f" {told.claim}", 0.5), (P.FINAL_ANSWER, 0.2), (f" {told.truth}", 1.0)]
    return row(render("self_ask", **_fields(told, m)), reply)


def _answered(m: Materials) -> tuple[Reading, str, str]:
    """A reading, the answer that was given to it (right in most cases), and the critique this deserves."""
    told = reading(m, FRESH_SHARE)
    wrong = told.claim if told.claim != told.truth else corrupted(told.truth, told.fact.values, m.r)
    answer = wrong if m.r.random() < 0.4 else told.truth
    if answer == told.truth:
        return told, answer, P.NO_FAULT
    return told, answer, (P.FAULT_BY_PASSAGE if told.truth == told.claim else P.FAULT_BY_MEMORY) + f" {told.truth}."


def critique_row(m: Materials) -> Row:
    told, answer, critique = _answered(m)
    fault, _, rest = critique.partition(":")
    reply = [(critique, 1.0)] if critique == P.NO_FAULT else [(f"{fault}:", 1.0), (rest, 1.0)]
    return row(render("rci_critique", answer=answer, **_fields(told, m)), reply)


def improve_row(m: Materials) -> Row:
    told, answer, critique = _answered(m)
    return row(render("rci_improve", answer=answer, critique=critique, **_fields(told, m)), [(told.truth, 1.0)])


def told_debater_row(m: Materials) -> Row:
    """A debater who is given its answer: in a judge debate both see the passage, in ours the Critic does not."""
    side, judged = m.r.choice((Role.DEFENDER, Role.CRITIC)), m.r.random() < JUDGED_SHARE
    d, defends = dispute(m), side is Role.DEFENDER
    if not defends and m.r.random() < QUIET_SHARE and (held := belief(m, quiet=True)):
        fact = m.facts[held.index]
        claim = corrupted(fact.answer, fact.values, m.r) if m.r.random() < FALSE_SHARE else fact.answer
        d = Dispute(fact, claim, held.answer, phrases.level(held.confidence))
    turns: tuple[Turn, ...] = ()
    if m.r.random() < 0.5:
        speaks_second = defends != judged  # the Defender begins a round of a judge debate, and ends one of ours
        whole = transcript(d, max(1, m.r.choice(ROUNDS)), m, defender_first=judged)
        turns = whole[: -1 if speaks_second else -2]
    opening, later = (defender_opening, defender_later) if defends else (critic_opening, critic_later)
    reply = (later if turns else opening)(d)
    if not defends:  # what it is told is not to be learned from
        reply = [(reply[0][0], TOLD_WEIGHT), *reply[1:]]
    passage = m.world.passage(d.fact, d.claim, m.r) if judged or defends else ""
    fields: dict[str, object] = {"question": d.fact.question, "passage": passage, "transcript": turns}
    fields["answer"] = d.claim if defends else d.own
    if judged:
        return row(render("judge_debate_debater", side="Defender" if defends else "Critic", **fields), reply)
    return row(render("defender_told" if defends else "critic_told", **fields), reply)


def picking_judge_row(m: Materials) -> Row:
    """The judge that picks an answer: the true one where a side holds it, else the passage's."""
    d = dispute(m)
    if d.claim == d.fact.answer or d.own != d.fact.answer:
        winner = d.claim
    else:
        winner = d.own
    why: Pieces = [(P.THEY_AGREE[1:], 0.5)]
    if not d.agree:
        why = [(P.PASSAGE_WINS if winner == d.claim else P.MEMORY_WINS, 0.5)]
    turns = transcript(d, m.r.choice((1, 1, 3, 5)), m, defender_first=True)
    passage = m.world.passage(d.fact, d.claim, m.r)
    prompt = render("judge_debate_judge", question=d.fact.question, passage=passage, transcript=turns)
    return row(prompt, [(f"{winner}.", 1.0), *why])


def agent_row(m: Materials) -> Row:
    """An agent's first answer, after none to four exemplars whose passages are right."""
    told = reading(m, FRESH_SHARE)
    shots: list[tuple[Mapping[str, object], str, float]] = [
        ({"question": e.question, "passage": e.context}, f"{e.answer}.{P.AS_EXAMPLE}", 0.0)
        for e in m.r.sample(m.exemplars[told.fact.domain], m.r.choice((0, 0, 0, 1, 2, 4)))
    ]
    reply = f"{told.truth}.{reason(told, told.truth)}"
    return exchanges("naive_debate_answer", [*shots, (_fields(told, m), reply, 1.0)])


def reconsidering_row(m: Materials) -> Row:
    """An agent that has read the others: it settles on the truth, and says whether that is a change."""
    told = reading(m, FRESH_SHARE)
    others = [corrupted(told.truth, told.fact.values, m.r), told.claim, told.truth, told.truth]
    held = [m.r.choice(others) for _ in range(AGENTS)]
    rounds = m.r.choice((1, 1, 1, 2, 2, 3, 4))
    turns = [
        Turn(round=number, role=Role.AGENT, text=_agent_says(told, held[agent], number), saw_passage=True, saw_turns=())
        for number in range(rounds)
        for agent in range(1, AGENTS)
    ]
    own = _agent_says(told, held[0], rounds - 1)
    prompt = render("naive_debate_reconsider", answer=own, transcript=tuple(turns), **_fields(told, m))
    kept = P.KEEP if told.truth == held[0] else P.CHANGE
    return row(prompt, [(f"{told.truth}.", 1.0), (kept, 0.5)])


def _agent_says(told: Reading, answer: str, number: int) -> str:
    return f"{answer}.{reason(told, answer) if number == 0 else P.KEEP}"


def astute_row(m: Materials) -> Row:
    """What is remembered, without a passage; or memory and passage side by side, and then the answer."""
    d = dispute(m)
    if m.r.random() < 0.3:
        return row(
            render("astute_memory", question=d.fact.question), [(f"{d.own}.", TOLD_WEIGHT), (P.CERTAINTY[d.level], 0.5)]
        )
    passage = m.world.passage(d.fact, d.claim, m.r)
    prompt = render("astute_answer", question=d.fact.question, passage=passage, reply=f"{d.own}.{P.CERTAINTY[d.level]}")
    winner = d.own if d.level == 0 and d.own == d.fact.answer else d.claim
    compared: Pieces = [(P.JUDGE_PASSAGE, 0.2), (f" {d.claim}", 0.5), (P.I_SAY, 0.1), (f" {d.own}", 0.5)]
    return row(
        prompt,
        [*compared, (P.WE_AGREE if d.agree else P.WE_DIFFER + ".", 1.0), (P.FINAL_ANSWER, 0.2), (f" {winner}", 1.0)],
    )
