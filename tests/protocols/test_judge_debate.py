"""The debate whose judge picks an answer: two debaters with the passage, one transcript for 1, 3 and 5 rounds [A.2]."""

from __future__ import annotations

import asyncio

from srdcr_lab.models.spending import metered
from srdcr_lab.protocols import METHODS, Outcome, choices
from srdcr_lab.records import Item, Missing, Request, Role
from tests.scripted import Reply, ScriptedModel, item, kind_of, question_of, setup_of, stored_setup

FALSE = item(1934)  # the model remembers 1874 and reads 1934
DEBATER, JUDGE = "judge_debate_debater", "judge_debate_judge"


def side_of(request: Request) -> str:
    return "Defender" if "You are the Defender." in question_of(request) else "Critic"


def debaters(judge: object = "1874. The Critic remembers.", **answers: Reply) -> ScriptedModel:
    """Each debater numbers its speeches: "1934. Defender 0." first."""
    said = {"Defender": 0, "Critic": 0}

    def speech(request: Request, draw: int) -> str:
        side = side_of(request)
        said[side] += 1
        return f"{1934 if side == 'Defender' else 1874}. {side} {said[side] - 1}."

    return ScriptedModel({DEBATER: speech, JUDGE: judge, **answers})


def held(rounds: int, model: ScriptedModel, of: Item = FALSE) -> Outcome:
    return asyncio.run(METHODS[f"judge_debate_{rounds}"].run(of, setup_of(model, None, of)))


def heard_by(request: Request) -> list[str]:
    inside = question_of(request).partition("<debate>")[2].partition("</debate>")[0]
    return [line.split(". ")[1].rstrip(".") for line in inside.splitlines() if line[:2] in ("18", "19")]


def rounds_heard(*rounds: str) -> list[str]:
    names = {"D": "Defender", "C": "Critic"}
    return [f"{names[letter]} {n}" for n, letters in enumerate(rounds) for letter in letters]


def test_two_answers_two_openings_two_turns_a_round_and_one_ruling() -> None:
    for rounds, calls in ((1, 7), (3, 11), (5, 15)):
        model = debaters()
        held(rounds, model)
        assert model.calls == calls == 2 + 2 + 2 * rounds + 1
        assert {request.max_tokens for request in model.asked(DEBATER) + model.asked(JUDGE)} == {300}
    model = debaters()
    held(1, model)
    kinds = [kind_of(request) for request in model.requests]
    assert sorted(kinds[:2]) == ["answer_from_memory", "answer_with_passage"]
    assert kinds[2:] == [DEBATER] * 4 + [JUDGE]


def test_both_debaters_see_the_passage_and_the_answer_that_is_theirs() -> None:
    model = debaters()
    outcome = held(1, model)
    for request in model.asked(DEBATER):
        answer = "1934" if side_of(request) == "Defender" else "1874"
        assert question_of(request).startswith(f"<passage>\n{FALSE.context}\n</passage>\n")
        assert f"Your answer:\n<answer>\n{answer}\n</answer>\nQuestion: " in question_of(request)
    assert [turn.stance for turn in outcome.debate.turns] == ["1934", "1874", "1934", "1874", None]
    assert all(turn.saw_passage for turn in outcome.debate.turns)


def test_the_openings_hear_nobody_then_the_defender_speaks_first() -> None:
    model = debaters()
    outcome = held(3, model)
    heard = {side: [heard_by(r) for r in model.asked(DEBATER) if side_of(r) == side] for side in ("Defender", "Critic")}
    before = ["DC", "DC", "DC"]
    assert heard["Defender"] == [[], *(rounds_heard(*before[:n]) for n in (1, 2, 3))]
    assert heard["Critic"] == [[], *(rounds_heard(*before[:n], "D") for n in (1, 2, 3))]
    assert [(turn.role, turn.round) for turn in outcome.debate.turns] == [
        *((role, round_) for round_ in range(4) for role in (Role.DEFENDER, Role.CRITIC)),
        (Role.JUDGE, 3),
    ]


def test_the_judge_at_r_reads_the_openings_and_exactly_r_rounds() -> None:
    for rounds in (1, 3, 5):
        model = debaters()
        held(rounds, model)
        (request,) = model.asked(JUDGE)
        assert heard_by(request) == rounds_heard(*["DC"] * (rounds + 1))
        assert question_of(request).startswith(f"<passage>\n{FALSE.context}\n</passage>\n<debate>\n<defender round=")
        assert question_of(request).endswith(f"</debate>\nQuestion: {FALSE.question}")


def test_the_released_codes_judge_is_shown_one_round_less() -> None:
    for rounds in (1, 3, 5):
        model = debaters()
        outcome = asyncio.run(METHODS[f"judge_debate_{rounds}"].run(FALSE, setup_of(model, choices("released"), FALSE)))
        (request,) = model.asked(JUDGE)
        assert heard_by(request) == rounds_heard(*["DC"] * rounds)
        assert outcome.debate.turns[-1].saw_turns == tuple(range(2 * rounds))
        assert model.calls == 2 + 2 + 2 * rounds + 1


def test_the_judge_picks_the_answer() -> None:
    for reply, answer in (("1874. The Critic.", "1874"), ("1934. As the passage says, not 1874.", "1934")):
        outcome = held(1, debaters(judge=reply))
        assert (outcome.answer.value, outcome.missing) == (answer, None)
        assert (outcome.ruling, outcome.decision) == (None, None)
    assert held(1, debaters(judge="Both have a point.")).missing is Missing.UNPARSED
    model = debaters(answer_from_memory="I do not know.")
    held(1, model)
    (opening, *_) = (request for request in model.asked(DEBATER) if side_of(request) == "Critic")
    assert "<answer>\nI do not know.\n</answer>" in question_of(opening)


def test_one_transcript_serves_all_three_and_no_more_rounds_are_held_than_the_largest_asks_for() -> None:
    """Alone 7, 11 and 15 calls; together two answers, six rounds of two turns, three rulings."""

    async def run(*rounds: int) -> tuple[list[tuple[int, int]], ScriptedModel]:
        model = debaters()
        setup, counts = stored_setup(model, setup_of(model).choices, FALSE), []
        for each in rounds:
            with metered() as meter:
                await METHODS[f"judge_debate_{each}"].run(FALSE, setup)
            counts.append((meter.calls_alone, meter.calls_paid))
        return counts, model

    counts, model = asyncio.run(run(1, 3, 5))
    assert counts == [(7, 7), (11, 5), (15, 5)]
    assert (len(model.asked(DEBATER)), len(model.asked(JUDGE))) == (12, 3)
    counts, model = asyncio.run(run(3, 1))
    assert counts == [(11, 11), (7, 1)]
    assert len(model.asked(DEBATER)) == 8
