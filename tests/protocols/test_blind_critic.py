"""The asymmetric critic is blind: what the passage says reaches it through the Defender's words alone, in any round."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from srdcr_lab.protocols import Cast, DebateDesign, choices, factorial, sr_dcr
from srdcr_lab.records import Item, Request
from tests.scripted import ScriptedModel, item, kind_of, question_of, reader, setup_of

WORDS = ("SENTINEL", "baker")  # of every passage; the defenders below do not say them
YEARS = (1874, 1894, 1854, 1914, 1834, 1934, 1974, 2074)
BLIND = factorial(
    order=["critic_first", "defender_first", "simultaneous"],
    debaters_told=[True, False],
    judge_sees_passage=[False, True],
    judge_draws=[1, 3],
    rounds=[1, 6, 9],
)


def critic_of(design: DebateDesign, of: Item, defence: str = "It is as I say.") -> ScriptedModel:
    """The model that plays the critic, and nothing else, after SR-DCR of that design."""
    critic = ScriptedModel({"critic_told": "1874. I am certain."})
    rest = reader(defender=defence, defender_told=defence)
    setup = setup_of(rest, choices(design=design), of)
    asyncio.run(sr_dcr(of, replace(setup, cast=Cast(rest, rest, critic, rest))))
    return critic


def seen_by(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


@pytest.mark.parametrize("design", BLIND, ids=lambda design: design.name)
def test_no_word_of_the_passage_reaches_the_critic_in_any_round(design: DebateDesign) -> None:
    passage = item(1934)
    assert all(word in passage.context for word in WORDS)
    critic = critic_of(design, passage)
    assert len(critic.requests) == design.rounds
    for round_, request in enumerate(critic.requests):
        assert not any(word in seen_by(request) for word in (*WORDS, "1934", "<passage>")), f"round {round_}"


@pytest.mark.parametrize("told", [False, True])
def test_every_prompt_of_the_critic_is_byte_identical_where_the_defenders_words_are(told: bool) -> None:
    """Not the opening alone: all six prompts are equal over eight passages if the Defender speaks alike of them."""
    design = DebateDesign(debaters_told=told)
    heard = {tuple(request.canonical for request in critic_of(design, item(year)).requests) for year in YEARS}
    assert len(heard) == 1
    assert len(heard.pop()) == 6


def test_the_opening_is_byte_identical_and_a_word_of_the_defender_is_heard_later() -> None:
    openings = {
        critic_of(DebateDesign(), item(year), f"{year}. The baker SENTINEL founded it.").requests[0].canonical
        for year in YEARS
    }
    assert len(openings) == 1
    critic = critic_of(DebateDesign(rounds=3), item(1934), "1934. SENTINEL says so.")
    assert ["SENTINEL" in seen_by(request) for request in critic.requests] == [False, True, True]
    critic = critic_of(DebateDesign(critic_sees=factorial(critic_sees=["always"])[0].critic_sees), item(1934))
    assert all("SENTINEL" in question_of(request) for request in critic.requests)
    assert {kind_of(request) for request in critic.requests} == {"critic_told"}
