"""Counterfactual debates by script: who saw what, in which order, and the prompts each sample takes [CFMAD]."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab import stances
from srdcr_lab.data import ItemSet
from srdcr_lab.data.facts import exemplars
from srdcr_lab.protocols import METHODS, Cast, Outcome
from srdcr_lab.protocols.counterfactual import OWN_PERSPECTIVES, Question, perspectives, preset_stances
from srdcr_lab.records import AnswerType, Completion, Decision, Item, Missing, Needs, Option, Request, Role
from srdcr_lab.study import Results, Study
from tests.protocols.counting import counted
from tests.scripted import ScriptedModel, finished, item, kind_of, question_of, setup_of


def option_item(*texts: str, gold: str = "B", question_id: str = "books", passage: str = "") -> Item:
    options = tuple(Option(label=label, text=text) for label, text in zip("ABCDE", texts, strict=False))
    return replace(
        item(), item_id=question_id, question_id=question_id, question="Where are books lent?", gold_answer=gold,
        claimed_answer=gold, context=passage, answer_type=AnswerType.OPTION, options=options,
    )  # fmt: skip


BOOKS = option_item("a bank", "a library", "a shop", "a canal", "a mill")
CLAIM = replace(
    option_item(question_id="claim", gold="false", passage="The lock was dug in 1874."),
    question="Is this claim true or false? The lock is older than the bridge.",
    options=(Option(label="true", text="true"), Option(label="false", text="false")),
)
SUM = replace(
    option_item(question_id="sum", gold="1200"),
    question="How many passengers?",
    answer_type=AnswerType.NUMBER,
    options=(),
)

OF_ANY_QUESTION = [method for method in METHODS.values() if method.needs is Needs.QUESTION]

Reply = str | Callable[[Request, int], str]
REPLIES: dict[str, Reply] = {
    "chain_of_thought": "One reads there.\nanswer: B", "reflection_feedback": "FEEDBACK on it.",
    "reflection_revision": "REVISED.\nanswer: C", "mad_expert": "EXPERT.\nanswer: A", "mad_plain": "PLAIN.\nanswer: B",
    "mad_stepwise": "STEPS.\nanswer: B", "mad_update": "UPDATED.\nanswer: B", "mad_judge": "Two of three.\nanswer: B",
    "contrast_perspectives": "- ONE by parts\n- TWO by exclusion\n- THREE by habit",
    "contrast_view": "VIEW.\nanswer: B", "contrast_comparison": "COMPARED.",
    "contrast_revision": "SETTLED.\nanswer: B",
    "stance_abduction": lambda request, draw: f"ABDUCTION of {stance_of(request)}.",
    "stance_critic": lambda request, draw: f"CRITIC of {stance_of(request)}.",
    "stance_rebuttal": lambda request, draw: f"REBUTTAL of {stance_of(request)}.\nanswer: {stance_of(request)}",
    "stance_reflection": lambda request, draw: f"REFLECTION of {stance_of(request)}.\nanswer: {stance_of(request)}",
    "stance_judge": "The better case.\nanswer: B", "option_answer": "B",
}  # fmt: skip


def stance_of(request: Request) -> str:
    """The label that the prompt gives its speaker."""
    return question_of(request).partition("<stance>\n")[2].partition("\n")[0].partition(".")[0]


def scripted(**script: Any) -> ScriptedModel:
    return ScriptedModel({**REPLIES, **script})


def outcome(name: str, of: Item = BOOKS, model: ScriptedModel | None = None, *, seed: int = 0) -> Outcome:
    model = model or scripted()
    return asyncio.run(METHODS[name].run(of, setup_of(model, None, of, seed=seed)))


def value(found: Outcome) -> str | None:
    return found.answer.value if found.answer else None


TABLE_3 = {"cot": 1, "self_reflection": 3, "self_consistency": 7, "mad": 10, "self_contrast": 6, "cfmad": 10}


@pytest.mark.parametrize(("name", "of", "prompts"), [
    *((name, BOOKS, prompts) for name, prompts in TABLE_3.items()),
    ("cfmad", CLAIM, 7), ("cfmad_swapped", BOOKS, 10),
    ("cfmad_stances_3", BOOKS, 13), ("cfmad_stances_4", BOOKS, 16),
    ("cfmad_stances_5", BOOKS, 16),  # every option is a stance: none has to be chosen
    ("cfmad_rounds_2", BOOKS, 14), ("cfmad_rounds_5", CLAIM, 23),
    ("direct_judge", BOOKS, 6), ("direct_judge", CLAIM, 3),
    ("replace_with_self_reflection", BOOKS, 8), ("replace_with_mad", BOOKS, 10),
    ("replace_with_mad", CLAIM, 7),
])  # fmt: skip
def test_prompts_per_sample_of_table_3_variants_and_ablations(name: str, of: Item, prompts: int) -> None:
    model = scripted()
    assert counted(model, of, name) == [(prompts, prompts)]
    assert model.calls == prompts


@pytest.mark.parametrize("said", ["Certainly.", "A shed.\nanswer: F", "One of them.\nanswer: A or B"])
@pytest.mark.parametrize("method", OF_ANY_QUESTION, ids=lambda method: method.name)
def test_an_unreadable_model_takes_as_many_calls_and_answers_nothing(method: Any, said: str) -> None:
    """So a plan that is made without a model counts the calls of a run. F is the label of no option."""
    babble = dict.fromkeys(REPLIES, said)
    model, readable = scripted(**babble), scripted(option_answer=Completion("B", tokens=("B",), logprobs=(-1.0,)))
    found = asyncio.run(method.run(BOOKS, setup_of(model, None, BOOKS)))
    asyncio.run(method.run(BOOKS, setup_of(readable, None, BOOKS)))
    assert found.missing is Missing.UNPARSED
    assert model.calls == readable.calls


def test_methods_share_what_they_ask_alike() -> None:
    """`cot` is the first of CFMAD's chains of thought; swapping and the ablations ask anew only what differs."""
    counts = counted(scripted(), BOOKS, "cfmad", "cot", "direct_judge", "cfmad_swapped", "cfmad_rounds_2")
    assert [paid for _, paid in counts] == [10, 0, 1, 1, 5]


def test_chain_of_thought_sees_question_and_options_and_its_last_line_is_read() -> None:
    model = scripted()
    found = outcome("cot", model=model)
    (request,) = model.requests
    assert question_of(request).splitlines() == [
        "<options>", "A. a bank", "B. a library", "C. a shop", "D. a canal", "E. a mill", "</options>",
        "Question: Where are books lent?",
    ]  # fmt: skip
    assert (request.temperature, request.stream) == (0.2, "chain_of_thought")
    assert (value(found), found.missing) == ("B", None)
    found = outcome("cot", model=scripted(chain_of_thought="Certainly a case for a canal boat."))
    assert (value(found), found.missing) == (None, Missing.UNPARSED)


def test_self_reflection_sees_its_own_reply_then_the_feedback_too() -> None:
    model = scripted()
    found = outcome("self_reflection", model=model)
    assert [kind_of(request) for request in model.requests] == [
        "chain_of_thought", "reflection_feedback", "reflection_revision",
    ]  # fmt: skip
    heard = [[word in question_of(request) for word in ("One reads there.", "FEEDBACK")] for request in model.requests]
    assert heard == [[False, False], [True, False], [True, True]]
    assert value(found) == "C"
    assert [turn.saw_turns for turn in found.debate.turns] == [(), (0,), (0, 1)]
    assert [turn.stated_answer for turn in found.debate.turns] == ["B", None, "C"]


def test_self_consistency_votes_over_seven_draws_at_temperature_one() -> None:
    drawn = ["C", "B", "A or B", "B", "C", "B", "C"]
    model = scripted(chain_of_thought=lambda request, draw: f"So.\nanswer: {drawn[draw]}")
    found = outcome("self_consistency", model=model)
    (request,) = model.requests
    assert (request.temperature, request.draws) == (1.0, tuple(range(7)))
    assert value(found) == "C"  # three each: the one that was drawn first
    assert [turn.stated_answer for turn in found.debate.turns] == ["C", "B", None, "B", "C", "B", "C"]


def test_mad_agents_open_apart_then_see_the_last_replies_of_all() -> None:
    model = scripted()
    found = outcome("mad", model=model)
    assert [kind_of(request) for request in model.requests] == [
        "mad_expert", "mad_plain", "mad_stepwise", *["mad_update"] * 6, "mad_judge",
    ]  # fmt: skip
    own, _, others = question_of(model.asked("mad_update")[0]).partition("The other agents:")
    assert "EXPERT" in own
    assert "EXPERT" not in others
    assert others.index("PLAIN") < others.index("STEPS")
    later = question_of(model.asked("mad_update")[3])
    assert "EXPERT" not in later  # the last replies alone
    assert later.count("UPDATED") == 3
    assert question_of(model.requests[-1]).count("UPDATED") == 3
    assert value(found) == "B"
    assert [turn.saw_turns for turn in found.debate.turns[3:6]] == [(0, 1, 2)] * 3
    assert found.debate.turns[-1].saw_turns == (6, 7, 8)
    assert [turn.round for turn in found.debate.turns] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_self_contrast_answers_by_its_own_three_instructions() -> None:
    model = scripted()
    found = outcome("self_contrast", model=model)
    kinds = ["contrast_perspectives", *["contrast_view"] * 3, "contrast_comparison", "contrast_revision"]
    assert [kind_of(request) for request in model.requests] == kinds
    views = [question_of(request) for request in model.asked("contrast_view")]
    assert [word in view for word, view in zip(("ONE", "TWO", "THREE"), views, strict=True)] == [True] * 3
    assert "TWO" not in views[0]
    assert question_of(model.requests[4]).count("VIEW.") == 3
    assert question_of(model.requests[5]).count("VIEW.") == 3
    assert "COMPARED." in question_of(model.requests[5])
    assert value(found) == "B"
    assert perspectives("- by parts\nnonsense") == ["by parts", *OWN_PERSPECTIVES[1:]]
    assert perspectives("nonsense") == list(OWN_PERSPECTIVES)


def test_a_claims_debate_in_order_and_what_each_speaker_saw() -> None:
    found = outcome("cfmad", CLAIM, scripted(stance_judge="The lock.\nanswer: false"))
    turns = found.debate.turns
    first, second = turns[0].speaker, turns[1].speaker
    assert {first, second} == {"true", "false"}
    assert [(turn.role, turn.round, turn.speaker) for turn in turns] == [
        (Role.DEFENDER, 0, first), (Role.DEFENDER, 0, second),
        (Role.CRITIC, 1, first), (Role.DEFENDER, 1, first),
        (Role.CRITIC, 1, second), (Role.DEFENDER, 1, second),
        (Role.JUDGE, 1, ""),
    ]  # fmt: skip
    assert [turn.saw_turns for turn in turns] == [(), (), (0,), (0, 2), (1,), (1, 4), (0, 1, 2, 3, 4, 5)]
    assert [turn.stated_answer for turn in turns] == [None, None, None, first, None, second, "false"]
    assert {turn.saw_passage for turn in turns} == {True}
    assert value(found) == "false"


def test_the_false_side_is_attacked_for_its_own_reply_and_defends_that_the_claim_is_false() -> None:
    """The two slips of the released script: the prompt in place of the reply, and "why is it true" to both sides."""
    model = scripted()
    outcome("cfmad", CLAIM, model)
    (critic,) = (each for each in model.asked("stance_critic") if stance_of(each) == "false")
    (rebuttal,) = (each for each in model.asked("stance_rebuttal") if stance_of(each) == "false")
    assert "ABDUCTION of false." in question_of(critic)
    assert "true." not in question_of(critic).partition("</options>")[2].partition("Question:")[0]
    assert "ABDUCTION of false." in question_of(rebuttal)
    assert "CRITIC of false." in question_of(rebuttal)
    assert "Your answer:\n<stance>\nfalse\n</stance>" in question_of(rebuttal)
    assert "of true." not in question_of(rebuttal)


def test_the_judge_reads_every_stance_with_its_debate_in_order() -> None:
    model = scripted()
    found = outcome("cfmad", model=model)
    first, second = (turn.speaker for turn in found.debate.turns[3:5])
    read = question_of(model.asked("stance_judge")[0])
    places = [
        read.index(f"{what} of {who}.") for who in (first, second) for what in ("ABDUCTION", "CRITIC", "REBUTTAL")
    ]
    assert places == sorted(places)
    assert "One reads there." not in read  # nothing of the chains of thought
    assert read.splitlines()[-1] == "Question: Where are books lent?"


def test_the_stances_are_the_most_frequent_chain_of_thought_answer_and_a_seeded_other() -> None:
    drawn = ["C", "B", "C"]
    model = scripted(chain_of_thought=lambda request, draw: f"So.\nanswer: {drawn[draw]}")
    others = set()
    for seed in range(30):
        found = outcome("cfmad", model=model, seed=seed)
        stances = {turn.stance for turn in found.debate.turns if turn.role is Role.DEFENDER}
        assert "C" in stances
        assert len(stances) == 2
        others |= stances - {"C"}
    assert others == set("ABDE")


def preset(of: Item = BOOKS, model: ScriptedModel | None = None, n: int = 2, **how: bool) -> list[str]:
    stances, _ = asyncio.run(preset_stances(Question(of, setup_of(model or scripted(), None, of)), n, **how))
    return [option.label for option in stances]


def test_preset_stances() -> None:
    sets = [set(preset(n=n)) for n in (2, 3, 4, 5)]
    assert [len(each) for each in sets] == [2, 3, 4, 5]
    assert sets[0] < sets[1] < sets[2] < sets[3]
    assert preset(swap=True) == preset()[::-1]
    claims = [replace(CLAIM, item_id=str(i), question_id=str(i)) for i in range(20)]
    assert {preset(claim)[0] for claim in claims} == {"true", "false"}
    assert len(preset(model=scripted(chain_of_thought="C is for cookie."))) == 2


def test_rebuttals_are_heard_and_a_stance_may_give_up() -> None:
    model = scripted()
    outcome("cfmad_rounds_2", CLAIM, model)
    second = [question_of(each) for each in model.asked("stance_critic")][2:]
    assert all("REBUTTAL of" in each and each.count("CRITIC of") == 1 for each in second)
    assert not any("of true." in each and "of false." in each for each in second)
    model = scripted(stance_rebuttal="You are right.\nanswer: D", stance_judge="Neither.\nanswer: D")
    found = outcome("cfmad", model=model)
    rebuttals = [turn for turn in found.debate.turns if (turn.round, turn.role) == (1, Role.DEFENDER)]
    assert {turn.stated_answer for turn in rebuttals} == {value(found)} == {"D"}


def test_the_ablations_differ_only_in_what_the_judge_reads() -> None:
    reads = {}
    for name in ("cfmad", "direct_judge", "replace_with_self_reflection", "replace_with_mad"):
        model = scripted()
        outcome(name, model=model)
        read = question_of(model.asked("stance_judge")[0])
        reads[name] = {word for word in ("ABDUCTION", "CRITIC", "REBUTTAL", "REFLECTION", "UPDATED") if word in read}
    assert reads == {
        "cfmad": {"ABDUCTION", "CRITIC", "REBUTTAL"},
        "direct_judge": {"ABDUCTION"},
        "replace_with_self_reflection": {"ABDUCTION", "REFLECTION"},
        "replace_with_mad": {"ABDUCTION", "UPDATED"},
    }


def adding(*drawn: str, judge: str = "answer: A") -> ScriptedModel:
    return scripted(
        chain_of_thought=lambda request, draw: f"I add them up.\nanswer: {drawn[draw]}", stance_judge=f"So.\n{judge}"
    )


def test_candidates_of_an_open_question_become_options_and_the_answer_is_a_value() -> None:
    model = adding("1,200", "1300", "1200 passengers")
    found = outcome("cfmad", SUM, model)
    read = question_of(model.asked("stance_judge")[0])
    options = read.partition("<options>\n")[2].partition("\n</options>")[0].splitlines()
    assert sorted(option[3:] for option in options) == ["1200", "1300"]
    assert value(found) == options[0][3:]
    assert {turn.stance for turn in found.debate.turns if turn.role is Role.CRITIC} == {"1200", "1300"}
    assert len(found.debate.turns) == 10


def test_one_candidate_is_the_answer_and_none_is_unparsed() -> None:
    assert value(outcome("cfmad", SUM, adding("1200", "1300", "1200", judge="answer: 1300"))) == "1300"
    model = adding("1200", "1200", "1,200")
    found = outcome("cfmad", SUM, model)
    assert (value(found), found.agreed_round, model.calls) == ("1200", 0, 3)
    found = outcome("cfmad", SUM, adding("many", "many", "many"))
    assert (value(found), found.missing, found.agreed_round) == (None, Missing.UNPARSED, None)


def label_reply(text: str, logprob: float) -> Completion:
    return Completion(text, tokens=(text,), logprobs=(logprob,))


def test_only_where_the_model_is_unsure_the_debate_decides() -> None:
    model = scripted(option_answer=label_reply("C", -0.01))
    found = outcome("cfmad_when_unsure", model=model)
    assert (value(found), found.decision, model.calls) == ("C", Decision.USE_PRIOR, 1)
    assert found.confidence.value == pytest.approx(0.990, abs=1e-3)
    model = scripted(option_answer=label_reply("C", -1.0))
    found = outcome("cfmad_when_unsure", model=model)
    assert (value(found), found.decision, model.calls) == ("B", None, 11)
    assert found.confidence.value == pytest.approx(0.368, abs=1e-3)
    model = ScriptedModel({**REPLIES, "option_answer": lambda request, draw: "B" if draw else "B."}, logprobs=False)
    found = outcome("cfmad_when_unsure", model=model)
    assert (value(found), model.calls) == ("B", 17)
    assert (found.confidence.value, len(found.confidence.draws)) == (1.0, 16)


def test_roles_are_played_by_the_models_of_the_cast() -> None:
    models = {name: scripted() for name in ("answerer", "defender", "critic", "judge")}
    setup = replace(setup_of(models["answerer"], None, BOOKS), cast=Cast(**models))
    asyncio.run(METHODS["cfmad"].run(BOOKS, setup))
    assert {name: {kind_of(each) for each in model.requests} for name, model in models.items()} == {
        "answerer": {"chain_of_thought"}, "defender": {"stance_abduction", "stance_rebuttal"},
        "critic": {"stance_critic"}, "judge": {"stance_judge"},
    }  # fmt: skip


ROWS = Path(__file__).parents[1] / "fixtures" / "benchmarks"
COMPARED = ("cot", "self_reflection", "self_consistency", "mad", "self_contrast", "cfmad", "cfmad_swapped")


def ran(model: ScriptedModel, items: Any, methods: Any = COMPARED, **options: Any) -> Results:
    return finished(Study(model, items, methods, **options))


def test_a_study_of_options_has_table_3_in_its_records() -> None:
    results = ran(scripted(), f"commonsenseqa={ROWS / 'commonsenseqa.jsonl'}")
    costs = stances.cost_by_method(results.records).set_index("method")
    known = costs[costs["paper_prompts"].notna()]
    assert known["prompts_per_sample"].tolist() == known["paper_prompts"].tolist() == [1, 3, 7, 10, 6, 10]
    assert results.records["error"].isna().all()
    assert results.records["n_options"].tolist() == [3] * len(results.records)


def test_option_items_are_asked_nothing_that_no_method_wants() -> None:
    """No prior answer, no context answer, no knowledge draws: not even where evidence stands beside the options."""
    model = scripted()
    results = ran(model, f"cosmosqa={ROWS / 'cosmosqa.csv'}", ("cot",))
    assert model.calls == 2
    assert results.records["prior_answer"].isna().all()
    assert results.turns["saw_passage"].all()


def test_turns_say_who_spoke_for_which_answer() -> None:
    results = ran(scripted(), f"boolq={ROWS / 'boolq.jsonl'}", ("cfmad",))
    spoken = results.turns[results.turns["role"] == Role.DEFENDER]
    assert set(spoken["stance"]) == {"true", "false"}
    assert (spoken["speaker"] == spoken["stance"]).all()
    judged = results.turns[results.turns["role"] == Role.JUDGE]
    assert [list(each) for each in judged["saw_turns"]] == [[0, 1, 2, 3, 4, 5]] * 2
    ends = stances.debate_ends(results.records, results.turns).set_index("end")["share"]
    assert ends.sum() == pytest.approx(1)


@pytest.mark.parametrize("items", [f"commonsenseqa={ROWS / 'commonsenseqa.jsonl'}", f"boolq={ROWS / 'boolq.jsonl'}"])
def test_a_plan_of_options_says_what_a_run_asks(items: str) -> None:
    model = scripted()
    with Study(model, items, COMPARED) as study:
        plan = study.plan().table.set_index("methods")
        records = study.run(progress=False).records
    alone = records.groupby("method")["calls_alone"].sum()
    for method in COMPARED:
        assert plan.loc[method, "calls_alone_from"] == plan.loc[method, "calls_alone_to"] == alone[method]


def test_a_plan_of_open_questions_reckons_with_a_debate() -> None:
    items = ItemSet("sums", (SUM,), exemplars())
    for drawn, calls in ((("7", "7", "7"), 3), (("7", "8", "9"), 10)):
        with Study(adding(*drawn), items, "cfmad") as study:
            plan = study.plan().table.set_index("methods").loc["cfmad"]
            (row,) = study.run(progress=False).records.to_dict("records")
        assert (plan["calls_alone_from"], plan["calls_alone_to"]) == (3, 10)
        assert row["calls_alone"] == calls


def test_open_questions_are_answered_with_numbers() -> None:
    results = ran(scripted(chain_of_thought="answer: 350", mad_judge="answer: 350"), f"gsm8k={ROWS / 'gsm8k.jsonl'}",
                  ("cot", "mad", "cfmad"))  # fmt: skip
    right = results.records.groupby("method")["correct"].sum()
    assert right.to_dict() == {"cot": 1, "mad": 1, "cfmad": 1}
    recall = stances.candidate_recall(results.records, results.turns)
    assert recall["share"].tolist() == [0.5]
