"""The presets against the table "The paper and its released code differ", and what is refused."""

from __future__ import annotations

import json
import math

import pytest

from srdcr_lab.protocols import DESIGNS, METHODS, PRESETS, Choices, DebateDesign, choices, methods
from srdcr_lab.protocols.choices import Match, Order, Sees, Stance
from srdcr_lab.records import BadInput, ConfidenceKind


def test_the_papers_numbers() -> None:
    assert choices() == PRESETS["paper"] == Choices()
    paper = choices("paper")
    assert (paper.tau, paper.gate, paper.confidence) == (0.90, True, "auto")
    assert (paper.knowledge_draws, paper.consistency_draws, paper.sampling_temperature) == (32, 16, 0.5)
    assert (paper.highly_known_from, paper.maybe_known_from) == (0.85, 0.30)
    assert (paper.match, paper.exemplars) == (Match.EXACT, 4)
    assert paper.design == DebateDesign(
        name="acvd",
        critic_sees=Sees.NEVER,
        critic_stance=Stance.ATTACK,
        order=Order.CRITIC_FIRST,
        rounds=6,
        judge_sees_passage=False,
        debaters_told=True,
        first_verdict_round=0,
    )
    plain = json.loads(json.dumps(choices().as_dict()))
    assert plain["design"]["order"] == "critic_first"
    assert plain["tau"] == 0.9


def test_the_released_codes_numbers() -> None:
    released = choices("released")
    assert (released.knowledge_draws, released.highly_known_from, released.maybe_known_from) == (16, 0.60, 0.30)
    assert (released.gate, released.match) == (False, Match.ANYWHERE)
    assert (released.judge_debate_unheard, choices().judge_debate_unheard) == (1, 0)
    assert released.design == DebateDesign(
        name="released",
        critic_sees=Sees.OPENING,
        critic_stance=Stance.MAY_AGREE,
        order=Order.SIMULTANEOUS,
        rounds=6,
        judge_sees_passage=False,
        debaters_told=False,
        first_verdict_round=1,
        repair=False,
    )
    assert PRESETS["paper"].year_offsets == (20, 40, 60, 100, 200)
    assert PRESETS["released"].year_offsets == (10, 20, 40, 60, 80, 100, 200, 300, 400, 500)


def test_a_design_replaces_the_presets_and_rounds_replace_the_designs() -> None:
    assert choices("paper", design="symmetric").design == DESIGNS["symmetric"]
    assert choices("released", design="acvd", rounds=3).design == DebateDesign(rounds=3)
    assert choices("released").gate is False
    chosen = choices(tau=0.0, samples=0)
    assert (chosen.tau, chosen.knowledge_draws) == (0.0, 0)
    with pytest.raises(BadInput, match="categories need"):
        Choices(highly_known_from=0.2)


@pytest.mark.parametrize("kind", ["auto", *ConfidenceKind])
def test_confidence_kinds_by_name(kind: str) -> None:
    assert choices(confidence=kind).confidence == kind


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"preset": "papers"}, "unknown preset 'papers'; known are paper, released"),
        ({"design": "acdv"}, "unknown design 'acdv'; known are acvd, symmetric, own_answers, released"),
        ({"confidence": "logprob"}, "unknown confidence kind 'logprob'"),
        ({"tau": 1.1}, "tau is a number from 0.0 to 1.0"),
        ({"tau": -0.1}, "tau is a number from 0.0 to 1.0"),
        ({"tau": math.nan}, "tau is a number from 0.0 to 1.0"),
        ({"rounds": 0}, "rounds is a whole number from 1 to 50"),
        ({"samples": -1}, "samples is a whole number from 0 to 1,000"),
        ({"preset": "released", "rounds": 1}, "the first verdict must fall in one of the 1 rounds"),
    ],
)
def test_bad_choices_get_a_sentence(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        choices(**wrong)
    assert sentence in str(caught.value)


def test_methods_by_name_in_the_order_given() -> None:
    assert [m.name for m in methods("sr_dcr, few_shot")] == ["sr_dcr", "few_shot"]
    assert [m.name for m in methods(["few_shot"])] == ["few_shot"]
    assert [m.name for m in methods("all")] == list(METHODS)


@pytest.mark.parametrize("names", ["", "sr_drc", "few_shot,few_shot", "all,few_shot"])
def test_bad_methods_get_a_sentence(names: str) -> None:
    with pytest.raises(BadInput, match=r"known are|name each method once"):
        methods(names)
