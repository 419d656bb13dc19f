"""SR-DCR by script: each decision, its calls counted by hand [paper 3], and SR-DCR as a filter of documents."""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from srdcr_lab.protocols import DESIGNS, METHODS, Cast, Choices, Outcome, choices, sr_dcr
from srdcr_lab.records import Decision, Item, Missing, Request
from tests.documents import item as documents_item
from tests.documents import shown
from tests.protocols.counting import counted
from tests.scripted import (
    REASONABLE,
    SURE,
    UNREASONABLE,
    UNSURE,
    ScriptedModel,
    item,
    kind_of,
    question_of,
    reader,
    setup_of,
)

TRUE, FALSE = item(1874), item(1934)  # the model remembers 1874 and reads what the passage says
CONTEXT, PRIOR, ABSTAIN = Decision.USE_CONTEXT, Decision.USE_PRIOR, Decision.ABSTAIN
NO_IDEA = "I do not know."


def outcome_of(model: ScriptedModel, of: Item, chosen: Choices | None = None) -> Outcome:
    return asyncio.run(sr_dcr(of, setup_of(model, chosen, of)))


@pytest.mark.parametrize(("prior", "judge", "decision", "answer", "missing"), [
    (SURE, REASONABLE, CONTEXT, "1934", None),  # whatever the confidence
    (UNSURE, REASONABLE, CONTEXT, "1934", None), (SURE, UNREASONABLE, PRIOR, "1874", None),
    (UNSURE, UNREASONABLE, ABSTAIN, None, Missing.ABSTAINED),
    (SURE, "Hard to say.", ABSTAIN, None, Missing.UNPARSED),
    (NO_IDEA, UNREASONABLE, ABSTAIN, None, Missing.ABSTAINED),  # never preferred to the passage
])  # fmt: skip
def test_the_rule(prior: Any, judge: str, decision: Decision, answer: str | None, missing: Missing | None) -> None:
    found = outcome_of(reader(answer_from_memory=prior, judge=judge), FALSE)
    assert (found.decision, found.answer and found.answer.value, found.missing) == (decision, answer, missing)
    expected = {SURE: 0.95, UNSURE: 0.5, NO_IDEA: math.nan}[prior]
    assert found.confidence.value == pytest.approx(expected, nan_ok=True)


def test_an_answer_that_is_chosen_and_was_not_read_is_unparsed() -> None:
    found = outcome_of(reader(answer_with_passage="I cannot tell.", judge=REASONABLE), FALSE)
    assert (found.decision, found.missing) == (CONTEXT, Missing.UNPARSED)
    found = outcome_of(reader(answer_from_memory=NO_IDEA, judge=UNREASONABLE), FALSE, Choices(gate=False))
    assert (found.decision, found.missing) == (PRIOR, Missing.UNPARSED)


def test_the_released_preset_has_no_gate_and_five_verdicts() -> None:
    model = reader(answer_from_memory=UNSURE, critic_may_agree="1874.", judge=UNREASONABLE)
    found = outcome_of(model, FALSE, choices("released"))
    assert found.decision is PRIOR
    assert (len(found.debate.verdict_path), found.ruling.r_star) == (5, 1)


def test_roles_may_be_played_by_different_models() -> None:
    models = {name: reader() for name in ("answerer", "defender", "critic", "judge")}
    setup = replace(setup_of(models["answerer"]), cast=Cast(**models))
    asyncio.run(sr_dcr(FALSE, setup))
    assert {name: sorted({kind_of(r) for r in model.requests}) for name, model in models.items()} == {
        "answerer": ["answer_from_memory", "answer_with_passage"],
        "defender": ["defender_told"], "critic": ["critic_told"], "judge": ["judge"],
    }  # fmt: skip


def test_every_design_is_run_by_the_same_protocol() -> None:
    for name in DESIGNS:
        model = reader(critic_may_agree="1874. No.", debater_fresh="1874. Once more.")
        setup = setup_of(model, choices(design=name), FALSE, item(1934, question_id="q2"))
        assert asyncio.run(sr_dcr(FALSE, setup)).decision is CONTEXT


@pytest.mark.parametrize(("chosen", "defence", "items", "counts"), [
    ({"confidence": "mean_logprob"}, None, [FALSE], [(20, 20)]),  # prior, context, 6 × (defender, critic, judge)
    ({"confidence": "sequence"}, None, [FALSE], [(20, 20)]),
    ({"confidence": "self_consistency"}, None, [FALSE], [(36, 36)]),  # and 16 draws
    ({"confidence": "verbalized"}, None, [FALSE], [(21, 21)]),  # and one question
    ({"rounds": 1}, None, [FALSE], [(5, 5)]), ({"rounds": 2}, None, [FALSE], [(8, 8)]),
    ({"preset": "released"}, None, [FALSE], [(19, 19)]),  # saves the first verdict
    # two forms of a question share the prior answer, its draws and the blind critic's opening
    ({}, None, [TRUE, FALSE], [(20, 20), (20, 18)]),
    ({"confidence": "self_consistency"}, None, [TRUE, FALSE], [(36, 36), (36, 18)]),
    ({"design": "symmetric"}, None, [TRUE, FALSE], [(20, 20), (20, 19)]),
    # a defender who says the same of both passages leaves the context answer and six defences to pay
    ({}, "It is as I say.", [TRUE, FALSE], [(20, 20), (20, 7)]),
])  # fmt: skip
def test_calls_alone_and_paid_over_one_store(
    chosen: dict[str, Any], defence: str | None, items: list[Item], counts: list[tuple[int, int]]
) -> None:
    script = {"critic_may_agree": "1874. No.", "verbalized_confidence": "confidence: 90"}
    model = reader(**script, **({"defender": defence} if defence else {}))
    assert counted(model, items, "sr_dcr", chosen=choices(**chosen)) == counts
    assert model.calls == sum(paid for _, paid in counts)


def judge_of(rulings: Mapping[int, str]) -> Callable[[Request, int], str]:
    """Rules by the year that the defender names."""
    return lambda request, draw: next(
        ruling for year, ruling in rulings.items() if f"{year}. My" in question_of(request)
    )


def defends(request: Request, draw: int) -> str:
    return f"{question_of(request).partition('opened in ')[2][:4]}. My passage says so."


def ran(of: Item, chosen: Choices | None = None, **script: object) -> tuple[ScriptedModel, Outcome]:
    model = ScriptedModel({"defender": defends, "documents_together": "answers: 1874", **script})
    return model, asyncio.run(METHODS["sr_dcr_per_document"].run(of, setup_of(model, chosen, of)))


def test_documents_found_reasonable_are_read_together() -> None:
    rulings = {1874: REASONABLE, 1901: UNREASONABLE, 1850: REASONABLE}
    model, outcome = ran(documents_item(1874, 1901, 1850), judge=judge_of(rulings))
    (reading,) = model.asked("documents_together")
    assert question_of(reading).count("<document") == 2
    assert shown(reading) == [1, 3]
    assert (outcome.values, outcome.decision) == (("1874",), Decision.USE_CONTEXT)


@pytest.mark.parametrize(("documents", "rounds", "calls"), [(2, 1, 10), (2, 6, 40), (1, 1, 6), (50, 1, 202)])
def test_calls_are_a_debate_a_document_and_two(documents: int, rounds: int, calls: int) -> None:
    """For each document its context answer and 3 calls a round; the prior answer, and the reading."""
    model, outcome = ran(documents_item(*range(1874, 1874 + documents)), choices(rounds=rounds), judge=REASONABLE)
    assert (model.calls, outcome.values) == (calls, ("1874",))


def test_each_document_is_debated_as_the_passage() -> None:
    model, outcome = ran(documents_item(1874, 1901), choices(rounds=1), judge=REASONABLE)
    assert [shown(request) for request in model.asked("defender")] == [[1], [2]]
    assert [shown(request) for request in model.asked("critic")] == [[], []]
    assert [(turn.round, turn.role.value, turn.speaker, turn.saw_turns) for turn in outcome.debate.turns] == [
        (0, "defender", "1", ()), (0, "critic", "1", ()), (0, "judge", "1", (0, 1)), (0, "defender", "2", ()),
        (0, "critic", "2", ()), (0, "judge", "2", (2, 3)), (1, "agent", "", ()),
    ]  # fmt: skip
    model, _ = ran(documents_item(1874), choices(design="symmetric"), judge=REASONABLE)
    assert all(shown(request) == [1] for request in model.asked("critic"))
    _, outcome = ran(documents_item(1874), choices(design="two_answers"), judge=REASONABLE)
    assert [turn.round for turn in outcome.debate.turns] == [0, 1]  # a ruling, and the reading


def test_nothing_let_through_answers_from_a_sure_memory_or_abstains() -> None:
    of = documents_item(1901, 1850)
    model, outcome = ran(of, judge=UNREASONABLE, answer_from_memory=SURE)
    assert model.asked("documents_together") == []
    assert (outcome.values, outcome.decision, outcome.missing) == (("1874",), Decision.USE_PRIOR, None)
    assert outcome.confidence is not None
    assert model.calls == 2 * 19 + 1
    model, _ = ran(of, choices(design="own_answers"), judge=UNREASONABLE, answer_from_memory=SURE)
    assert model.calls == 2 * 18 + 1  # nobody is told an answer
    _, outcome = ran(of, judge=UNREASONABLE, answer_from_memory=UNSURE)
    assert (outcome.values, outcome.decision, outcome.missing) == ((), Decision.ABSTAIN, Missing.ABSTAINED)
    # One of two rejected: the rule of section 3.2; not one verdict read: UNPARSED.
    rulings = {1901: "Hard to say.", 1850: UNREASONABLE}
    assert ran(of, judge=judge_of(rulings), answer_from_memory=SURE)[1].values == ("1874",)
    _, outcome = ran(of, judge="Hard to say.", answer_from_memory=SURE)
    assert (outcome.values, outcome.missing) == ((), Missing.UNPARSED)
