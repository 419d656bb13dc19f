"""SR-DCR by script: each decision, and the calls it takes counted by hand [paper 3]."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import pytest

from srdcr_lab.models.spending import metered
from srdcr_lab.protocols import DESIGNS, METHODS, Cast, Choices, Outcome, choices, sr_dcr
from srdcr_lab.records import Decision, Item, Missing, Verdict
from tests.scripted import (
    REASONABLE,
    SURE,
    UNREASONABLE,
    UNSURE,
    ScriptedModel,
    by_round,
    item,
    kind_of,
    reader,
    setup_of,
    stored_setup,
)

TRUE, FALSE = item(1874), item(1934)  # the model remembers 1874 and reads what the passage says


def outcome_of(model: ScriptedModel, of: Item, chosen: Choices | None = None) -> Outcome:
    return asyncio.run(sr_dcr(of, setup_of(model, chosen, of)))


def test_reasonable_uses_the_context_answer_whatever_the_confidence() -> None:
    for prior in (SURE, UNSURE):
        found = outcome_of(reader(answer_from_memory=prior, judge=REASONABLE), FALSE)
        assert found.decision is Decision.USE_CONTEXT
        assert (found.answer.value, found.missing) == ("1934", None)


def test_unreasonable_and_confident_uses_the_prior_answer() -> None:
    found = outcome_of(reader(answer_from_memory=SURE, judge=UNREASONABLE), FALSE)
    assert found.decision is Decision.USE_PRIOR
    assert (found.answer.value, found.missing) == ("1874", None)
    assert found.confidence.value == pytest.approx(0.95)


def test_unreasonable_and_not_confident_abstains() -> None:
    found = outcome_of(reader(answer_from_memory=UNSURE, judge=UNREASONABLE), FALSE)
    assert (found.decision, found.answer, found.missing) == (Decision.ABSTAIN, None, Missing.ABSTAINED)


def test_an_unparsed_verdict_abstains_and_is_counted_as_unparsed() -> None:
    found = outcome_of(reader(answer_from_memory=SURE, judge="Hard to say."), FALSE)
    assert (found.decision, found.answer, found.missing) == (Decision.ABSTAIN, None, Missing.UNPARSED)
    assert (found.ruling.verdict, found.ruling.r_star) == (Verdict.UNPARSED, None)


def test_the_last_run_of_verdicts_decides() -> None:
    path = [REASONABLE, "?", UNREASONABLE, REASONABLE, UNREASONABLE, UNREASONABLE]
    found = outcome_of(reader(answer_from_memory=SURE, judge=by_round(path)), FALSE)
    assert found.decision is Decision.USE_PRIOR
    assert (found.ruling.r_star, found.ruling.stabilised) == (4, True)


def test_an_unread_context_answer_that_is_chosen_is_unparsed() -> None:
    found = outcome_of(reader(answer_with_passage="I cannot tell.", judge=REASONABLE), FALSE)
    assert (found.decision, found.missing) == (Decision.USE_CONTEXT, Missing.UNPARSED)


def test_an_unread_prior_answer_is_never_preferred_to_the_passage() -> None:
    found = outcome_of(reader(answer_from_memory="I do not know.", judge=UNREASONABLE), FALSE)
    assert math.isnan(found.confidence.value)
    assert (found.decision, found.missing) == (Decision.ABSTAIN, Missing.ABSTAINED)


def test_without_the_gate_an_unread_prior_answer_is_unparsed() -> None:
    found = outcome_of(reader(answer_from_memory="I do not know.", judge=UNREASONABLE), FALSE, Choices(gate=False))
    assert (found.decision, found.missing) == (Decision.USE_PRIOR, Missing.UNPARSED)


def test_the_released_preset_has_no_gate_and_five_verdicts() -> None:
    found = outcome_of(reader(answer_from_memory=UNSURE, critic_may_agree="1874.", judge=UNREASONABLE), FALSE,
                       choices("released"))  # fmt: skip
    assert found.decision is Decision.USE_PRIOR
    assert (len(found.debate.verdict_path), found.ruling.r_star) == (5, 1)


def test_few_shot_is_the_context_answer() -> None:
    model = reader()
    found = asyncio.run(METHODS["few_shot"].run(FALSE, setup_of(model)))
    assert (found.answer.value, found.missing, found.decision) == ("1934", None, None)
    assert [kind_of(request) for request in model.requests] == ["answer_with_passage"]


def test_few_shot_that_cannot_be_read_is_unparsed() -> None:
    found = asyncio.run(METHODS["few_shot"].run(FALSE, setup_of(reader(answer_with_passage="Perhaps."))))
    assert found.missing is Missing.UNPARSED


def test_roles_may_be_played_by_different_models() -> None:
    models = {name: reader() for name in ("answerer", "defender", "critic", "judge")}
    setup = replace(setup_of(models["answerer"]), cast=Cast(**models))
    asyncio.run(sr_dcr(FALSE, setup))
    assert {name: sorted({kind_of(r) for r in model.requests}) for name, model in models.items()} == {
        "answerer": ["answer_from_memory", "answer_with_passage"],
        "defender": ["defender_told"],
        "critic": ["critic_told"],
        "judge": ["judge"],
    }


def test_every_design_is_run_by_the_same_protocol() -> None:
    for name in DESIGNS:
        setup = setup_of(
            reader(critic_may_agree="1874. No."), choices(design=name), FALSE, item(1934, question_id="q2")
        )
        assert asyncio.run(sr_dcr(FALSE, setup)).decision is Decision.USE_CONTEXT


# -- calls -----------------------------------------------------------------------------------------------------------


def metered_calls(model: ScriptedModel, chosen: Choices, *items: Item) -> list[tuple[int, int]]:
    """(alone, paid) of SR-DCR on each item, one after the other, over one store."""

    async def run() -> list[tuple[int, int]]:
        setup, counts = stored_setup(model, chosen, *items), []
        for each in items:
            with metered() as meter:
                await sr_dcr(each, setup)
            counts.append((meter.calls_alone, meter.calls_paid))
        return counts

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        ("mean_logprob", 20),  # prior, context, 6 × (defender, critic, judge)
        ("sequence", 20),
        ("self_consistency", 36),  # and 16 draws
        ("verbalized", 21),  # and one question
    ],
)
def test_calls_alone_at_six_rounds(kind: str, calls: int) -> None:
    model = reader(verbalized_confidence="confidence: 90")
    assert metered_calls(model, choices(confidence=kind), FALSE) == [(calls, calls)]


@pytest.mark.parametrize(("rounds", "calls"), [(1, 5), (2, 8), (6, 20)])
def test_calls_alone_by_rounds(rounds: int, calls: int) -> None:
    assert metered_calls(reader(), choices(rounds=rounds), FALSE) == [(calls, calls)]


def test_the_released_debate_saves_the_first_verdict() -> None:
    model = reader(critic_may_agree="1874. No.")
    assert metered_calls(model, choices("released"), FALSE) == [(19, 19)]


def test_two_forms_share_the_prior_answer_and_the_critics_opening() -> None:
    """All other requests hold the passage, or a transcript in which the defender speaks of it."""
    model = reader()
    assert metered_calls(model, choices(), TRUE, FALSE) == [(20, 20), (20, 18)]
    assert model.calls == 38


def test_two_forms_share_the_consistency_draws_too() -> None:
    assert metered_calls(reader(), choices(confidence="self_consistency"), TRUE, FALSE) == [(36, 36), (36, 18)]


def test_a_symmetric_critic_shares_nothing_but_the_prior_answer() -> None:
    assert metered_calls(reader(), choices(design="symmetric"), TRUE, FALSE) == [(20, 20), (20, 19)]


def test_a_defender_who_says_the_same_of_both_passages_leaves_seven_calls_to_pay() -> None:
    """Six defences and the context answer hold the passage; what hangs on the transcript alone is shared."""
    model = reader(defender="It is as I say.")
    assert metered_calls(model, choices(), TRUE, FALSE) == [(20, 20), (20, 7)]
