"""Methods over several documents, by script and in whole runs: who saw what, in which order, how many calls."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from srdcr_lab.data import ItemSet
from srdcr_lab.protocols import METHODS, Outcome
from srdcr_lab.records import AnswerType, CallFailed, Debate, Item, Missing, Request, Role
from srdcr_lab.study import Results, Study, load_run
from srdcr_lab.study.run import ItemRows, run_items, wait_for
from tests.conftest import Srdcr
from tests.documents import (
    challenges,
    documents,
    in_turn,
    item,
    rebuttal,
    says_what_it_reads,
    shown,
    thesis,
    thesis_of_document,
)
from tests.loopback.server import Loopback
from tests.protocols.counting import counted
from tests.scripted import ScriptedModel, exemplars, finished, kind_of, question_of, setup_of
from tests.scripted import item as passage_item

Reply = str | Callable[[Request, int], str]


def ran(method: str, of: Item, **script: Reply | Exception) -> tuple[ScriptedModel, Outcome]:
    model = ScriptedModel(script)
    return model, asyncio.run(METHODS[method].run(of, setup_of(model, None, of)))


def held(outcome: Outcome) -> Debate:
    assert outcome.debate is not None
    return outcome.debate


def test_concatenation_is_one_call_that_sees_every_document_in_order() -> None:
    model, outcome = ran("concatenate", item(1874, 1901, None), documents_together="Two say so.\nanswers: 1874")
    assert model.calls == 1
    assert shown(model.requests[0]) == [1, 2, 3]
    assert question_of(model.requests[0]).splitlines()[-1] == "Question: When was the hall q1 opened?"
    assert (outcome.values, outcome.missing) == (("1874",), None)
    (turn,) = held(outcome).turns
    assert (turn.role, turn.stated_answer, turn.saw_passage, turn.saw_turns) == (Role.AGENT, "1874", True, ())
    of = replace(item(1874, 1901), answer_type=AnswerType.TEXT, gold_answer="American football")
    _, outcome = ran("concatenate", of, documents_together='answers: "American football" | the American Football | AFL')
    assert outcome.values == ("American football", "AFL")


@pytest.mark.parametrize(("reply", "values", "missing"), [
    ("answers: 1874 | 1901", ("1874", "1901"), None),
    ("**Answers:** 1874 | AD 1874", ("1874",), None),  # one year, twice
    ("answers: none", (), Missing.ABSTAINED), ("answers:", (), Missing.UNPARSED),
    ("answers: perhaps", (), Missing.UNPARSED), ("answers: 1874 or 1901 | 1874", (), Missing.UNPARSED),
    ("1874", (), Missing.UNPARSED),
    ("answers: 1874\nI hope this helps.", (), Missing.UNPARSED),
])  # fmt: skip
def test_the_last_line_holds_the_answers_or_there_are_none(
    reply: str, values: tuple[str, ...], missing: Missing | None
) -> None:
    _, outcome = ran("concatenate", item(1874, 1901), documents_together=reply)
    assert (outcome.values, outcome.missing) == (values, missing)
    assert held(outcome).turns[0].text == reply  # the raw reply stays


def madam(*years: int | None, **script: Reply | Exception) -> tuple[ScriptedModel, Outcome]:
    """Agents who stand by their documents, and an aggregator who says 1874, where the script says nothing else."""
    usual = {"document_agent": says_what_it_reads, "documents_aggregator": "answers: 1874"}
    return ran("madam_rag", item(*years), **(usual | script))


def test_agents_open_from_their_own_document_and_then_hear_the_others_last_replies() -> None:
    model, outcome = madam(1874, 1901, None)
    agents = model.asked("document_agent")
    assert [shown(request) for request in agents] == [[1], [2], [3]] * 2
    assert ["<agent" in question_of(request) for request in agents] == [False] * 3 + [True] * 3
    heard = question_of(agents[4])
    assert heard.count("<agent") == 2
    assert '<agent document="1">\n1874. My document says so.\n</agent>' in heard
    assert '<agent document="3">\nUnknown. My document is about geese.\n</agent>' in heard
    assert [(turn.round, turn.role.value, turn.speaker, turn.saw_turns) for turn in held(outcome).turns] == [
        (0, "agent", "1", ()), (0, "agent", "2", ()), (0, "agent", "3", ()), (0, "aggregator", "", (0, 1, 2)),
        (1, "agent", "1", (1, 2)), (1, "agent", "2", (0, 2)), (1, "agent", "3", (0, 1)),
        (1, "aggregator", "", (4, 5, 6)),
    ]  # fmt: skip
    assert [turn.stated_answer for turn in held(outcome).turns[:3]] == ["1874", "1901", None]


def test_the_aggregator_sees_replies_and_no_document() -> None:
    model, _ = madam(1874, 1901)
    for request in model.asked("documents_aggregator"):
        assert shown(request) == []
        assert question_of(request).count("<agent document=") == 2


def test_madam_rag_ends_when_answers_are_unchanged_or_after_three_rounds() -> None:
    """(2 agents + 1 aggregator) × 2 rounds."""
    model, outcome = madam(1874, 1901, documents_aggregator="answers: 1874 | 1901")
    assert (model.calls, outcome.agreed_round, outcome.values) == (6, 1, ("1874", "1901"))
    years = iter(range(1800, 1900))
    model, outcome = madam(1874, 1901, document_agent=lambda request, draw: f"{next(years)}. I have changed my mind.")
    assert (model.calls, outcome.agreed_round) == (9, None)
    assert max(turn.round for turn in held(outcome).turns) == 2
    model, outcome = madam(1874)
    assert (model.calls, outcome.agreed_round, outcome.values) == (2, 0, ("1874",))
    with pytest.raises((CallFailed, ExceptionGroup)):
        madam(1874, 1901, document_agent=CallFailed("cut off"))


def test_the_final_aggregate_is_that_of_the_round_that_converged() -> None:
    """Agent 2 gives in, in round 1; round 2 changes nothing. The aggregates differ, and the last one counts."""

    def agent(request: Request, draw: int) -> str:
        first = "<agent" not in question_of(request)
        return "1901. My document says so." if shown(request) == [2] and first else "1874. So it is."

    aggregates = in_turn("answers: 1901", "answers: none", "answers: 1874")
    model, outcome = madam(1874, 1901, document_agent=agent, documents_aggregator=aggregates)
    assert (model.calls, outcome.agreed_round, outcome.values) == (9, 2, ("1874",))


def test_fifty_documents_are_asked_all_at_once() -> None:
    """Each agent waits until all fifty have been asked."""
    of = item(*range(1801, 1851))

    class Waiting(ScriptedModel):
        barrier: asyncio.Barrier

        async def complete(self, request: Request):
            if kind_of(request) == "document_agent" and "<agent" not in question_of(request):
                await self.barrier.wait()
            return await super().complete(request)

    async def bounded() -> Outcome:
        model = Waiting({"document_agent": says_what_it_reads, "documents_aggregator": "answers: 1801"})
        model.barrier = asyncio.Barrier(50)
        return await asyncio.wait_for(METHODS["madam_rag"].run(of, setup_of(model, None, of)), timeout=60)

    assert len(held(asyncio.run(bounded())).turns) == 2 * 51


@pytest.mark.parametrize(
    ("method", "years", "calls"),
    [("concatenate", [1874], 1), ("concatenate", [*[1874] * 26, *range(1901, 1925)], 1),
     ("ra_rag", [1874], 1), ("ra_rag", [*[1874] * 26, *range(1901, 1925)], 50)],
)  # fmt: skip
def test_one_document_or_fifty_are_all_read(method: str, years: list[int], calls: int) -> None:
    model, outcome = ran(method, item(*years), documents_together="answers: 1874", document_agent=says_what_it_reads)
    assert (model.calls, outcome.values) == (calls, ("1874",))
    assert sorted(place for request in model.requests for place in shown(request)) == list(range(1, len(years) + 1))


def test_ra_rag_asks_each_document_once_and_counts_votes() -> None:
    model, outcome = ran("ra_rag", item(1874, 1901, 1874, None), document_agent=says_what_it_reads)
    assert (model.calls, outcome.values, outcome.missing) == (4, ("1874",), None)
    assert [shown(request) for request in model.requests] == [[1], [2], [3], [4]]
    assert ran("ra_rag", item(1874, 1901, None), document_agent=says_what_it_reads)[1].values == ("1874", "1901")
    _, outcome = ran("ra_rag", item(None, None), document_agent=says_what_it_reads)
    assert (outcome.values, outcome.missing, outcome.answer) == ((), Missing.ABSTAINED, None)
    _, outcome = ran("ra_rag", item(None, None), document_agent="My document is about geese.")
    assert (outcome.values, outcome.missing) == ((), Missing.UNPARSED)


def test_madam_rag_and_ra_rag_share_their_openings() -> None:
    model = ScriptedModel({"document_agent": says_what_it_reads, "documents_aggregator": "answers: 1874"})
    # the agents repeat themselves, so the aggregator's second prompt is its first
    assert counted(model, item(1874, 1901), "madam_rag", "ra_rag") == [(6, 5), (2, 0)]


@pytest.mark.parametrize("method", ["concatenate", "madam_rag", "ra_rag", "dialectical"])
def test_kinds_sources_and_published_answers_are_in_no_prompt(method: str) -> None:
    of = replace(
        item(1874), documents=tuple(replace(each, source="GAZETTE", answer="ANSWER") for each in documents(1874))
    )
    model, _ = ran(
        method, of, documents_together="answers: 1874", document_agent="1874. So it is.",
        documents_aggregator="answers: 1874", **(AGREED | {"proponent_thesis": thesis("1874", "So it is.")}),
    )  # fmt: skip
    sent = "".join(question_of(request) for request in model.requests)
    assert not [word for word in ("GAZETTE", "ANSWER", "correct", "misinfo") if word in sent]


AGREED: dict[str, Reply] = {
    "proponent_thesis": thesis_of_document, "devils_advocate": challenges(), "documents_judge": "answers: 1874",
}  # fmt: skip


def debated(of: Item, **script: Reply) -> tuple[ScriptedModel, Outcome]:
    return ran("dialectical", of, **(AGREED | script))


def test_a_debate_of_three_documents_with_one_challenge() -> None:
    model, outcome = debated(
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
    model, outcome = debated(item(1874, 1901))
    assert model.calls == 4
    assert held(outcome).turns[-1].saw_turns == (0, 1)
    assert "<challenge" not in question_of(model.asked("documents_judge")[0])
    model, outcome = debated(
        item(1874, 1901),
        devils_advocate=challenges(d2="Why?", d1="How so?"),
        proponent_rebuttal=lambda request, draw: rebuttal("defend", "1874" if shown(request) == [1] else "1901"),
    )
    assert model.calls == 6
    assert [turn.speaker for turn in held(outcome).turns[3:5]] == ["1", "2"]
    model, _ = debated(
        item(1874, 1901, 1850),
        devils_advocate=challenges(d2="TO-TWO", d3="TO-THREE"),
        proponent_rebuttal=rebuttal("concede", None),
    )
    two, three = map(question_of, model.asked("proponent_rebuttal"))
    assert ("TO-TWO" in two, "TO-THREE" in two, "DOC2 " in two, "1901" in two) == (True, False, True, True)
    assert ("TO-TWO" in three, "TO-THREE" in three, "DOC3 " in three, "1850" in three) == (False, True, True, True)


def test_the_advocate_and_the_judge_see_theses_by_number() -> None:
    model, _ = debated(
        item(1874, None), proponent_thesis=lambda r, d: thesis("1874", "STEP") if shown(r) == [1] else thesis(None)
    )
    asked = question_of(model.asked("devils_advocate")[0])
    assert '<document id="2">\nDOC2 is about geese.\n</document>' in asked
    assert '<thesis document="1">\nIt is 1874.\n- STEP\n</thesis>' in asked
    assert '<thesis document="2">\nNo answer.\n- My document says so.\n</thesis>' in asked
    model, _ = debated(
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
    assert debated(item(1874, 1901), documents_judge="answers: 1874 | 1901")[1].values == ("1874", "1901")
    assert debated(item(1874, 1901), documents_judge="answers: none")[1].missing is Missing.ABSTAINED
    assert debated(item(1874, 1901), documents_judge="It is 1874.")[1].missing is Missing.UNPARSED


@pytest.mark.parametrize("years", [(1874,), tuple(range(1801, 1851))])
def test_one_document_or_fifty(years: tuple[int, ...]) -> None:
    model, outcome = debated(item(*years))
    assert (model.calls, outcome.values) == (len(years) + 2, ("1874",))


def test_roles_are_played_by_their_models() -> None:
    of = item(1874)
    players = {name: ScriptedModel(AGREED) for name in ("answerer", "defender", "critic", "judge")}
    setup = setup_of(players["answerer"], None, of)
    asyncio.run(METHODS["dialectical"].run(of, replace(setup, cast=type(setup.cast)(**players))))
    assert {name: [kind_of(r) for r in model.requests] for name, model in players.items()} == {
        "answerer": [], "defender": ["proponent_thesis"], "critic": ["devils_advocate"], "judge": ["documents_judge"],
    }  # fmt: skip


def test_a_malformed_thesis_is_asked_for_once_more_with_its_fault() -> None:
    model, outcome = debated(item(1874), proponent_thesis=in_turn("It is 1874.", thesis("1874")))
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


def test_a_malformed_reply_is_repaired_once_then_ends_the_debate() -> None:
    model, outcome = debated(
        item(1874, 1901),
        devils_advocate=in_turn(challenges(d9="Who?"), challenges(d2="Why?")),
        proponent_rebuttal=in_turn(rebuttal("yield", None), rebuttal("concede", None)),
    )
    assert model.calls == 2 + 2 + 2 + 1
    assert outcome.values == ("1874",)
    assert held(outcome).turns[-1].saw_turns == (0, 1, 3, 5)
    model, outcome = debated(
        item(1874, 1901), proponent_thesis=lambda r, d: thesis("1874") if shown(r) == [1] else "no"
    )
    assert model.calls == 3  # nobody speaks after it
    assert outcome.missing is Missing.ERROR
    assert outcome.error == (
        "dialectical: the proponent of document 2 was asked twice and gave no valid reply: it is not one JSON object"
    )
    assert [turn.text for turn in held(outcome).turns] == [thesis("1874"), "no", "no"]


@pytest.mark.parametrize(("script", "said"), [
    ({"devils_advocate": "None."}, "the devil's advocate was asked twice"),
    ({"devils_advocate": challenges(d1="Why?"), "proponent_rebuttal": "{}"},
     "the challenged proponent of document 1 was asked twice"),
])  # fmt: skip
def test_their_second_failure_is_the_rows_error(script: dict[str, str], said: str) -> None:
    _, outcome = debated(item(1874), **script)
    assert (outcome.answer, outcome.missing) == (None, Missing.ERROR)
    assert said in str(outcome.error)


FIXTURE = Path(__file__).parents[1] / "fixtures" / "benchmarks" / "ramdocs.jsonl"
ALL_FOUR = "concatenate,madam_rag,ra_rag,dialectical"


def test_the_four_methods_run_over_ramdocs(srdcr: Srdcr, loopback: Loopback, tmp_path: Path) -> None:
    model = ("--model", "openai:test", "--base-url", loopback.openai_url, "--items", f"ramdocs={FIXTURE}")
    srdcr.ok("run", *model, "--methods", ALL_FOUR, "--out", tmp_path / "out")
    results = load_run(tmp_path / "out")
    records = results.records
    assert len(records) == 4 * 4
    assert set(records["method"]) == set(ALL_FOUR.split(","))
    assert records["error"].isna().all()
    assert records["prior_answer"].isna().all()  # no knowledge draws are spent on items without a passage
    assert set(records["n_documents"]) == {2, 3}
    calls = records.pivot_table(index="item_id", columns="method", values="calls_alone").loc["ramdocs-1"]
    assert (calls["concatenate"], calls["ra_rag"]) == (1, 3)
    assert any("no document of ramdocs:documents names its source" in note for note in results.manifest["notes"])
    turns = results.turns
    debate = turns[(turns["method"] == "dialectical") & (turns["item_id"] == "ramdocs-3")]
    assert debate["role"].tolist()[-1] == "judge"
    assert {"proponent", "advocate", "judge"} == set(debate["role"])
    assert set(debate.loc[debate["role"] == "proponent", "speaker"]) == {"1", "2", "3"}


def sourced(question_id: str, *told: tuple[str, int]) -> Item:
    return item(*(year for _, year in told), question_id=question_id, sources=[source for source, _ in told])


def studied(*items: Item) -> Results:
    model = ScriptedModel({"document_agent": says_what_it_reads})
    return Study(model, ItemSet("worked", items, exemplars()), "ra_rag").run(progress=False)


# The worked example of `test_source_reliability`: A and B agree, C and D err apart; then A stands against C and D.
APART = [sourced(f"q{i}", ("A", 1874), ("B", 1874), ("C", 1801), ("D", 1802)) for i in (1, 2, 3)]
TOGETHER = sourced("q4", ("A", 1874), ("C", 1801), ("D", 1801))


def test_sources_that_err_elsewhere_lose_their_majority() -> None:
    results = studied(*APART, TOGETHER)
    rows = results.records.set_index("item_id")
    assert rows.loc["q4", "final_answer"] == "1874"
    assert rows["correct"].tolist() == [True] * 4
    assert len(results.turns) == 15  # each document was asked once
    (alone,) = studied(TOGETHER).records.to_dict("records")  # a plain majority
    assert (alone["final_answer"], list(alone["final_answers"]), alone["correct"]) == ("1801", ["1801"], False)


def test_a_broken_off_debate_is_a_row_with_its_error_and_its_turns() -> None:
    model = ScriptedModel({"proponent_thesis": "no", "devils_advocate": '{"challenges": []}'})
    results = Study(model, ItemSet("worked", (item(1874),), exemplars()), "dialectical").run(progress=False)
    (row,) = results.records.to_dict("records")
    assert (row["missing"], row["calls_alone"]) == ("error", 2)
    assert row["error"].startswith("dialectical: the proponent of document 1 was asked twice")
    assert results.turns["text"].tolist() == ["no", "no"]


def test_an_item_without_documents_is_a_row_with_a_sentence() -> None:
    model = ScriptedModel({"documents_together": "answers: 1874"})
    items = ItemSet("worked", (item(1874), passage_item(question_id="q2")), exemplars())
    study, ended = Study(model, items, "concatenate", samples=0), list[int]()

    async def go_through() -> list[ItemRows]:
        return [rows async for rows in run_items(study.setup, study.methods, on_done=lambda: ended.append(1))]

    assert len(wait_for(go_through())) == len(ended) == 2, "the progress bar comes to its end"
    rows = finished(study).records.set_index("item_id")
    assert rows.loc["q1", "final_answer"] == "1874"
    assert rows.loc["q2@+0", "error"] == "concatenate needs several documents, and this item has none"
