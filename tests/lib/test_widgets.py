"""What a notebook shows: everything from a passage or a model is escaped, and the decision is explained."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from srdcr_lab.protocols import Answer, Choices, Outcome, Ruling, SelfConfidence
from srdcr_lab.records import (
    AnswerType,
    Completion,
    ConfidenceKind,
    Debate,
    Decision,
    Item,
    Missing,
    PerturbationKind,
    Role,
    Turn,
    Verdict,
)
from srdcr_lab.transcripts.views import debate_html, explain, passage_html

EVIL = '<script>alert("x")</script>'
ITEM = Item(
    item_id="q@+60",
    question_id="q",
    question=f"When {EVIL}?",
    gold_answer="1874",
    context=f"{EVIL} The bridge was built in 1934. {EVIL}",
    claimed_answer="1934",
    answer_type=AnswerType.YEAR,
    perturbation_kind=PerturbationKind.OFFSET,
    perturbation_value=60.0,
)


def turn(role: Role, round_: int, text: str, verdict: Verdict | None = None, *, passage: bool = False) -> Turn:
    return Turn(round=round_, role=role, text=text, saw_passage=passage, saw_turns=(), verdict=verdict)


def outcome(verdict: Verdict, decision: Decision, answer: str | None, confidence: float) -> Outcome:
    turns = (
        turn(Role.DEFENDER, 0, f"1934. {EVIL}", passage=True),
        turn(Role.CRITIC, 0, "1874. </p><h1>I am certain."),
        turn(Role.JUDGE, 0, f"{EVIL} final decision: {verdict}", verdict),
    )
    return Outcome(
        answer=None if answer is None else Answer(answer, Completion(answer)),
        missing=Missing.ABSTAINED if answer is None else None,
        decision=decision,
        ruling=Ruling(verdict, 0, stabilised=False),
        debate=Debate(turns=turns, verdict_path=(verdict,)),
        confidence=SelfConfidence(confidence, ConfidenceKind.MEAN_LOGPROB),
    )


def test_a_passage_is_escaped_and_its_claim_marked() -> None:
    html = passage_html(ITEM)
    assert "<script" not in html
    assert "<mark>1934</mark>" in html
    assert "false: the answer is 1874" in html


def test_a_true_passage_is_called_true() -> None:
    true = replace(ITEM, claimed_answer="1874", context="Built in 1874.", perturbation_kind=PerturbationKind.NONE)
    assert "(true)" in passage_html(true)


def test_a_debate_is_escaped_and_says_who_saw_the_passage() -> None:
    html = debate_html(outcome(Verdict.UNREASONABLE, Decision.ABSTAIN, None, 0.5))
    assert "<script" not in html
    assert "<h1>" not in html
    assert html.count("saw question, passage") == 1
    assert "<b>UNREASONABLE</b>" in html
    assert "not stabilised" in html


@pytest.mark.parametrize(
    ("verdict", "decision", "answer", "confidence", "sentence"),
    [
        (
            Verdict.REASONABLE,
            Decision.USE_CONTEXT,
            "1934",
            0.99,
            "V* = REASONABLE, so the answer is taken from the passage: 1934. The truth is 1874.",
        ),
        (
            Verdict.UNREASONABLE,
            Decision.USE_PRIOR,
            "1874",
            0.95,
            "V* = UNREASONABLE and Conf = 0.950 (mean_logprob) is ≥ τ = 0.9, so the answer is taken from memory: 1874. "
            "The truth is 1874.",
        ),
        (
            Verdict.UNREASONABLE,
            Decision.ABSTAIN,
            None,
            math.nan,
            "V* = UNREASONABLE and Conf = nan (mean_logprob) is not ≥ τ = 0.9, so there is no "
            "answer. The truth is 1874.",
        ),
    ],
)
def test_a_decision_is_explained(
    verdict: Verdict, decision: Decision, answer: str | None, confidence: float, sentence: str
) -> None:
    assert explain(ITEM, outcome(verdict, decision, answer, confidence), Choices()) == sentence
