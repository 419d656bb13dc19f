"""The dialectical debate by script: theses, routed challenges, rebuttals with a state, repairs, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from srdcr_lab.protocols import METHODS, Outcome
from srdcr_lab.records import Debate, Item, Missing, Request, Role
from tests.documents import challenges, in_turn, item, rebuttal, shown, thesis, thesis_of_document
from tests.scripted import ScriptedModel, kind_of, question_of, setup_of

Reply = str | Callable[[Request, int], str]
NOBODY = challenges()
AGREED = {"proponent_thesis": thesis_of_document, "devils_advocate": NOBODY, "documents_judge": "answers: 1874"}


def ran(of: Item, **script: Reply) -> tuple[ScriptedModel, Outcome]:
    model = ScriptedModel({**AGREED, **script})
    return model, asyncio.run(METHODS["dialectical"].run(of, setup_of(model, None, of)))


def held(outcome: Outcome) -> Debate:
    assert outcome.debate is not None
    return outcome.debate


# Who is asked, in which order, and sees what -------------------------------------------------------------------------


def test_a_debate_of_three_documents_with_one_challenge() -> None:
    model, outcome = ran(
        item(1874, 1901, None),
        devils_advocate=challenges(d2="A category tag is no statement."),
        proponent_rebuttal=rebuttal("concede", None, "I concede."),
        documents_judge="The second was withdrawn.\nanswers: 1874",
    )
    assert [kind_of(request) for request in model.requests] == [
        *["proponent_thesis"] * 3, "devils_advocate", "proponent_rebuttal", "documents_judge",
    ]  # fmt: skip
    assert [shown(request) for request in model.requests] == [[1], [2], [3], [1, 2, 3], [2], []]
    assert (outcome.values, outcome.missing, outcome.error) == (("1874",), None, None)
    turns = held(outcome).turns
    assert [(turn.round, turn.role.value, turn.speaker, turn.saw_turns, turn.saw_passage) for turn in turns] == [
        (0, "proponent", "1", (), True), (0, "proponent", "2", (), True), (0, "proponent", "3", (), True),
        (1, "advocate", "", (0, 1, 2), True), (1, "proponent", "2", (1, 3), True),
        (2, "judge", "", (0, 1, 2, 3, 4), False),
    ]  # fmt: skip
    assert [turn.stated_answer for turn in turns] == ["1874", "1901", None, None, None, "1874"]
    assert [turn.stance for turn in turns] == [None, None, None, None, "1901", None]


def test_who_is_asked_again() -> None:
    """n + 1 + 1 calls; the judge hears theses alone."""
    model, outcome = ran(item(1874, 1901))
    assert model.calls == 4
    assert held(outcome).turns[-1].saw_turns == (0, 1)
    assert "<challenge" not in question_of(model.asked("documents_judge")[0])
    # n + 1 + n + 1 calls.
    model, outcome = ran(
        item(1874, 1901),
        devils_advocate=challenges(d2="Why?", d1="How so?"),
        proponent_rebuttal=lambda request, draw: rebuttal("defend", "1874" if shown(request) == [1] else "1901"),
    )
    assert model.calls == 6
    assert [turn.speaker for turn in held(outcome).turns[3:5]] == ["1", "2"]
    model, _ = ran(
        item(1874, 1901, 1850),
        devils_advocate=challenges(d2="TO-TWO", d3="TO-THREE"),
        proponent_rebuttal=rebuttal("concede", None),
    )
    two, three = map(question_of, model.asked("proponent_rebuttal"))
    assert ("TO-TWO" in two, "TO-THREE" in two, "DOC2 " in two, "1901" in two) == (True, False, True, True)
    assert ("TO-TWO" in three, "TO-THREE" in three, "DOC3 " in three, "1850" in three) == (False, True, True, True)


def test_the_advocate_and_the_judge_see_theses_by_number() -> None:
    model, _ = ran(
        item(1874, None), proponent_thesis=lambda r, d: thesis("1874", "STEP") if shown(r) == [1] else thesis(None)
    )
    asked = question_of(model.asked("devils_advocate")[0])
    assert '<document id="2">\nDOC2 is about geese.\n</document>' in asked
    assert '<thesis document="1">\nIt is 1874.\n- STEP\n</thesis>' in asked
    assert '<thesis document="2">\nNo answer.\n- My document says so.\n</thesis>' in asked
    model, _ = ran(
        item(1874, 1901),
        devils_advocate=challenges(d2="A tag is no statement."),
        proponent_rebuttal=rebuttal("concede", "1874", "A tag is weaker."),
    )
    asked = question_of(model.asked("documents_judge")[0])
    assert asked == (
        '<thesis document="1">\nIt is 1874.\n- My document says so.\n</thesis>\n'
        '<thesis document="2">\nIt is 1901.\n- My document says so.\n</thesis>\n'
        '<challenge document="2">\nA tag is no statement.\n</challenge>\n'
        '<rebuttal document="2" state="concede">\nIt is 1874.\n- A tag is weaker.\n</rebuttal>\n'
        "Question: When was the hall q1 opened?"
    )
    assert ran(item(1874, 1901), documents_judge="answers: 1874 | 1901")[1].values == ("1874", "1901")
    assert ran(item(1874, 1901), documents_judge="answers: none")[1].missing is Missing.ABSTAINED
    assert ran(item(1874, 1901), documents_judge="It is 1874.")[1].missing is Missing.UNPARSED


@pytest.mark.parametrize("years", [(1874,), tuple(range(1801, 1851))])
def test_one_document_or_fifty(years: tuple[int, ...]) -> None:
    model, outcome = ran(item(*years))
    assert (model.calls, outcome.values) == (len(years) + 2, ("1874",))


def test_roles_are_played_by_their_models() -> None:
    of = item(1874)
    players = {name: ScriptedModel(AGREED) for name in ("answerer", "defender", "critic", "judge")}
    setup = setup_of(players["answerer"], None, of)
    asyncio.run(METHODS["dialectical"].run(of, replace(setup, cast=type(setup.cast)(**players))))
    assert {name: [kind_of(r) for r in model.requests] for name, model in players.items()} == {
        "answerer": [], "defender": ["proponent_thesis"], "critic": ["devils_advocate"], "judge": ["documents_judge"],
    }  # fmt: skip


# Repairs -------------------------------------------------------------------------------------------------------------


def test_a_malformed_thesis_is_asked_for_once_more_with_its_fault() -> None:
    model, outcome = ran(item(1874), proponent_thesis=in_turn("It is 1874.", thesis("1874")))
    first, second = model.asked("proponent_thesis")
    assert first.messages[0] == second.messages[0]
    assert (
        "<answer>\nIt is 1874.\n</answer>\nThis reply was not what was asked for: it is not one JSON object. Reply"
        in (question_of(second))
    )
    assert [(turn.role, turn.text) for turn in held(outcome).turns[:2]] == [
        (Role.PROPONENT, "It is 1874."),
        (Role.PROPONENT, thesis("1874")),
    ]
    assert [turn.stated_answer for turn in held(outcome).turns[:2]] == [None, "1874"]
    assert held(outcome).turns[2].saw_turns == (1,)  # the advocate hears the thesis and not the attempt
    assert outcome.values == ("1874",)


def test_a_second_malformed_reply_ends_the_debate_with_an_error_that_keeps_the_turns() -> None:
    model, outcome = ran(item(1874, 1901), proponent_thesis=lambda r, d: thesis("1874") if shown(r) == [1] else "no")
    assert model.calls == 3  # nobody speaks after it
    assert outcome.missing is Missing.ERROR
    assert outcome.error == (
        "dialectical: the proponent of document 2 was asked twice and gave no valid reply: it is not one JSON object"
    )
    assert [turn.text for turn in held(outcome).turns] == [thesis("1874"), "no", "no"]


def test_advocate_and_challenged_proponent_are_repaired_too() -> None:
    model, outcome = ran(
        item(1874, 1901),
        devils_advocate=in_turn(challenges(d9="Who?"), challenges(d2="Why?")),
        proponent_rebuttal=in_turn(rebuttal("yield", None), rebuttal("concede", None)),
    )
    assert model.calls == 2 + 2 + 2 + 1
    assert outcome.values == ("1874",)
    assert held(outcome).turns[-1].saw_turns == (0, 1, 3, 5)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ({"devils_advocate": "None."}, "the devil's advocate was asked twice"),
        (
            {"devils_advocate": challenges(d1="Why?"), "proponent_rebuttal": "{}"},
            "the challenged proponent of document 1 was asked twice",
        ),
    ],
)
def test_their_second_failure_is_the_rows_error(script: dict[str, str], said: str) -> None:
    _, outcome = ran(item(1874), **script)
    assert (outcome.answer, outcome.missing) == (None, Missing.ERROR)
    assert said in str(outcome.error)


# Documents that pretend ----------------------------------------------------------------------------------------------
