"""Training rows for questions with options and for debates over preset answers (CFMAD and its baselines).

Every reply that answers begins with the answer itself, recalled or read as in all other rows, and then names the
option. Options are other answers of the same kind; a claim is judged by comparing what it asserts with what is
recalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import phrases as P
from conversation import shown
from rows import Materials, Pieces, Row, row
from values import another, corrupted

from srdcr_lab.prompts import render
from srdcr_lab.records import Option, Role, Turn

LETTERS = "ABCDE"
OPEN_SHARE, CLAIM_SHARE = 0.1, 0.25  # of questions: without options; true or false
WITH_PASSAGE = 0.2  # of questions: a fresh fact and its passage
SPEAKER_KNOWS = 0.7  # how often the speaker of a shown reply holds the truth
ANSWERING = ("chain_of_thought", "mad_expert", "mad_plain", "mad_stepwise", "contrast_view")
AMONG_AGENTS = ("mad_update", "mad_update", "mad_judge", "contrast_comparison", "contrast_revision")


@dataclass(frozen=True, slots=True)
class Choice:
    """A question and what each of its labels stands for; an open question's labels are its answers."""

    question: str
    passage: str
    values: Mapping[str, str]  # label → the answer that somebody who names it holds
    truth: str  # label
    kind: str  # "open", "claim", "options"
    asserted: str = ""  # by a claim

    @property
    def options(self) -> tuple[Option, ...]:
        if self.kind == "open":
            return ()
        alone = self.kind == "claim"  # its labels say it all
        return tuple(Option(label=label, text=label if alone else text) for label, text in self.values.items())

    @property
    def stances(self) -> tuple[Option, ...]:
        return self.options or tuple(Option(label=text, text=text) for text in self.values)

    def fields(self) -> dict[str, object]:
        return {"question": self.question, "passage": self.passage, "options": self.options}

    def someones(self, m: Materials) -> str:
        """The label that a speaker names who is often right."""
        return self.truth if m.r.random() < SPEAKER_KNOWS else m.r.choice(list(self.values))


def choice(m: Materials) -> Choice:
    fresh = m.r.random() < WITH_PASSAGE
    fact = m.world.fact(m.r) if fresh else m.own_fact()
    passage = m.world.passage(fact, fact.answer, m.r) if fresh else ""
    wrong: list[str] = []
    while len(wrong) < 4:
        made = (corrupted if m.r.random() < 0.4 else another)(fact.answer, fact.values, m.r)
        wrong += [made] if made not in (fact.answer, *wrong) else []
    kind = m.r.random()
    if kind < CLAIM_SHARE:
        truth = m.r.choice(("true", "false"))
        asserted = fact.answer if truth == "true" else wrong[0]
        claim = f'Is this claim true or false? The answer to the question "{fact.question}" is {asserted}.'
        values = {"true": asserted, "false": wrong[0] if truth == "true" else fact.answer}
        return Choice(claim, passage, values, truth, "claim", asserted)
    texts = [fact.answer, *wrong[: m.r.choice((1, 2, 3, 3, 3, 4))]]
    m.r.shuffle(texts)
    if kind < CLAIM_SHARE + OPEN_SHARE:
        return Choice(fact.question, passage, {text: text for text in texts}, fact.answer, "open")
    values = dict(zip(LETTERS, texts, strict=False))
    return Choice(fact.question, passage, values, next(k for k, v in values.items() if v == fact.answer), "options")


def holding(c: Choice, label: str, why: str = P.FROM_MEMORY, weight: float = 1.0) -> Pieces:
    """The answer, what a claim is beside it, and the last line."""
    value = c.values[label]
    named = [(f" ({label})", weight)] if c.kind == "options" else []
    out = [(value, weight), *named, (".", weight), (why, 0.2)]
    if c.kind == "claim":
        compared = P.WE_AGREE if c.asserted == value else P.WE_DIFFER
        out += [(P.THE_CLAIM_SAYS, 0.2), (f" {c.asserted}", 0.5), (P.I_SAY, 0.1), (f" {value}", 0.5), (compared, 2.0)]
    return [*out, (P.ANSWER_LINE, 0.2), (f" {label}", weight)]


def _text(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)


def _reply(c: Choice, m: Materials, why: str = P.FROM_MEMORY) -> tuple[str, str]:
    """A shown reply and the label it names."""
    label = c.someones(m)
    return label, _text(holding(c, label, why))


def option_row(m: Materials) -> Row:
    """One agent alone: the reasons and the last line, or the label and nothing else."""
    c = choice(m)
    if c.options and m.r.random() < 0.2:
        return row(render("option_answer", **c.fields()), [(c.truth, 1.0)])
    why = P.FROM_PASSAGE if c.passage else P.FROM_MEMORY
    extra = {"instruction": m.r.choice(P.PERSPECTIVES)}
    return row(render(m.r.choice(ANSWERING), **c.fields(), **extra), holding(c, c.truth, why))


def label_row(m: Materials) -> Row:
    """From an answer to its label, many to a row: the step that comes after recalling."""
    while (c := choice(m)).kind != "options":
        pass
    out: Row = [(shown(render(m.r.choice(ANSWERING), **c.fields(), instruction=m.r.choice(P.PERSPECTIVES))), 0.0)]
    for label in m.r.sample(list(c.values), len(c.values)):
        why = m.r.choice((P.FROM_MEMORY, P.FROM_PASSAGE, P.KEEP, ""))
        out += [
            (c.values[label], 0.0),
            (f" ({label})", 1.0),
            (f".{why}{P.ANSWER_LINE}", 0.0),
            (f" {label}", 1.0),
            ("\n", 0.0),
        ]
    return out


def agents_row(m: Materials) -> Row:
    """Agents who have read each other: an update, a majority, a comparison, a revision."""
    c, form = choice(m), m.r.choice(AMONG_AGENTS)
    named, replies = zip(*(_reply(c, m) for _ in range(3)), strict=True)
    majority = max(named, key=named.count)
    agree = P.THEY_ALL_AGREE if len(set(named)) == 1 else P.NOT_ALL_AGREE
    if form == "mad_update":
        others = replies[1 : m.r.choice((2, 3))]
        kept = P.KEEP if named[0] == c.truth else P.CHANGE
        prompt = render(form, reply=replies[0], replies=others, **c.fields())
        return row(prompt, holding(c, c.truth, kept))
    if form == "mad_judge":
        return row(render(form, replies=replies, **c.fields()), holding(c, majority, P.MOST_SAY))
    if form == "contrast_comparison":
        return row(render(form, replies=replies, **c.fields()), [(agree, 1.0)])
    return row(render(form, replies=replies, feedback=agree, **c.fields()), holding(c, c.truth, P.FROM_MEMORY))


def reflection_row(m: Materials) -> Row:
    """Feedback on a reply, the revision after it, and three instructions for somebody else."""
    c, form = choice(m), m.r.choice(("reflection_feedback", "reflection_revision", "contrast_perspectives"))
    if form == "contrast_perspectives":
        return row(render(form, **c.fields()), [("\n".join(P.PERSPECTIVES), 0.3)])
    label, reply = _reply(c, m)
    fault = P.FAULT_BY_PASSAGE if c.passage else P.FAULT_BY_MEMORY
    feedback: Pieces = [(P.NO_FAULT, 1.0)] if label == c.truth else [(fault, 1.0), (f" {c.values[c.truth]}.", 1.0)]
    if form == "reflection_feedback":
        return row(render(form, reply=reply, **c.fields()), feedback)
    kept = P.KEEP if label == c.truth else P.CHANGE
    return row(render(form, reply=reply, feedback=_text(feedback), **c.fields()), holding(c, c.truth, kept))


def _abduction(c: Choice, stance: Option) -> Pieces:
    """Begins with the stance; whether it is remembered is said, since a reason cannot be made up."""
    basis = P.FROM_MEMORY if stance.label == c.truth else P.IT_MAY_BE
    return [(f"{stance.label if c.kind == 'claim' else stance.text}.", 1.0), (basis, 0.5)]


def _attack(c: Choice, stance: Option, recalled: str) -> Pieces:
    """What the critic recalls, and whether it stands against the stance."""
    return [(f"{c.values[recalled]}.", 1.0), (P.NO_ERROR if recalled == stance.label else P.NOT_SO, 0.5)]


def _rebuttal(c: Choice, stance: Option, recalled: str) -> Pieces:
    return holding(c, recalled, P.KEEP if recalled == stance.label else P.CHANGE)


def _said(role: Role, number: int, pieces: Pieces) -> Turn:
    return Turn(round=number, role=role, text=_text(pieces), saw_passage=False, saw_turns=())


def _debate(c: Choice, stance: Option, recalled: str, turns: int) -> list[Turn]:
    """The first ``turns`` of abduction, attack, rebuttal, attack, … by a speaker who recalls that label."""
    said = [_said(Role.DEFENDER, 0, _abduction(c, stance))]
    for number in range(1, turns):
        role, make = (Role.CRITIC, _attack) if number % 2 else (Role.DEFENDER, _rebuttal)
        said.append(_said(role, (number + 1) // 2, make(c, stance, recalled)))
    return said


def stance_row(m: Materials) -> Row:
    """Defender, critic and the stance's last word, and a defender who examines its own reasons."""
    c = choice(m)
    stance, recalled = m.r.choice(c.stances), c.someones(m)
    form = m.r.choice(("stance_abduction", "stance_critic", "stance_rebuttal", "stance_rebuttal", "stance_reflection"))
    fields = {**c.fields(), "stance": stance}
    if form == "stance_abduction":
        return row(render(form, **fields), _abduction(c, stance))
    if form == "stance_critic":
        turns = _debate(c, stance, recalled, m.r.choice((1, 1, 1, 3)))
        return row(render(form, transcript=turns, **fields), _attack(c, stance, c.truth))
    turns = _debate(c, stance, recalled, 1 if form == "stance_reflection" else m.r.choice((2, 2, 2, 4)))
    return row(render(form, transcript=turns, **fields), _rebuttal(c, stance, c.truth))


def stance_judge_row(m: Materials) -> Row:
    """The judge reads two or three stances; the true one is among them."""
    c = choice(m)
    right = next(stance for stance in c.stances if stance.label == c.truth)
    wrong = [stance for stance in c.stances if stance != right]
    shown = [right, *m.r.sample(wrong, min(len(wrong), m.r.choice((1, 2, 2))))]
    m.r.shuffle(shown)
    recalled, turns = c.someones(m), m.r.choice((1, 3, 3, 3, 5))
    debates = [(stance, _debate(c, stance, recalled, turns)) for stance in shown]
    return row(render("stance_judge", debates=debates, **c.fields()), holding(c, c.truth))
