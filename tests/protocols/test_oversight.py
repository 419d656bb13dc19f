"""Debate as oversight: what the Judge of each control hears, how many calls it takes, and the measures by hand."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import Study
from srdcr_lab.data import ItemSet
from srdcr_lab.debates import right_by_half, verdict_rates
from srdcr_lab.designs import CONTROLS, over_controls, persuasion
from srdcr_lab.protocols import DESIGNS, METHODS, Outcome, choices, sr_dcr
from srdcr_lab.protocols.choices import Hears
from srdcr_lab.records import AnswerType, Decision, Request, Role
from tests.chapters.test_verdicts import row
from tests.scripted import SURE, UNREASONABLE, ScriptedModel, exemplars, finished, item, question_of, reader, setup_of
from tests.simulated import frame, simulated

pytestmark = pytest.mark.usefixtures("figures_closed")

FALSE = item(1934)
OTHER = (item(1884, question_id="q2"), item(1894, question_id="q2"))


def held(design: str, of: Any = FALSE, **script: Any) -> tuple[ScriptedModel, Outcome]:
    model = reader(answer_from_memory=SURE, **script)
    return model, asyncio.run(sr_dcr(of, setup_of(model, choices(design=design), of, *OTHER)))


def judged(model: ScriptedModel) -> list[str]:
    return [question_of(request) for request in model.asked("judge")]


def canonical(model: ScriptedModel, role: str) -> list[str]:
    return [request.canonical for request in model.asked(role)]


def two_turns(critic: str) -> str:
    """The debate of a bare answer of the Defender and these words of the Critic."""
    defender = '<defender round="0">\n1934.\n</defender>'
    return f'<debate>\n{defender}\n<critic round="0">\n{critic}\n</critic>\n</debate>'


@pytest.mark.parametrize(("design", "shown", "calls", "openings"), [
    ("judge_alone", f"<passage>\n{FALSE.context}\n</passage>", 3, 0),
    ("two_answers", two_turns("1874."), 3, 0), ("one_critique", two_turns("1874. I am certain."), 4, 1),
])  # fmt: skip
def test_a_judge_of_no_debate_hears_the_passage_or_two_answers_or_one_critique(
    design: str, shown: str, calls: int, openings: int
) -> None:
    """The critique is the Critic's opening of the debate."""
    model, outcome = held(design, judge=UNREASONABLE)
    assert judged(model) == [f"{shown}\nQuestion: {FALSE.question}"]
    assert (model.calls, model.asked("defender")) == (calls, [])
    assert canonical(model, "critic") == canonical(held("acvd")[0], "critic")[:openings]
    assert (outcome.decision, outcome.ruling and outcome.ruling.r_star) == (Decision.USE_PRIOR, None)
    assert held(design)[1].decision is Decision.USE_CONTEXT


@pytest.mark.parametrize(("name", "speaks", "silent"), [("defender", "D", "critic"), ("critic", "C", "defender")])
def test_in_a_consultancy_one_side_speaks_and_the_judge_is_told_so(name: str, speaks: str, silent: str) -> None:
    debate, _ = held("acvd")
    model, outcome = held(f"consultancy_{name}")
    assert "".join(turn.role.value[0].upper() for turn in outcome.debate.turns) == f"{speaks}J" * 6
    assert (model.calls, model.asked(silent)) == (2 + 12, [])
    assert canonical(model, name)[0] == canonical(debate, name)[0], "the opening is the debate's"
    for round_, prompt in enumerate(judged(model)):
        assert prompt.count(f"<{silent} ") == prompt.count("takes no part in this debate") == 1
        assert prompt.count(f"<{name} ") == round_ + 1


def test_a_placebo_is_another_questions_debate_word_for_word() -> None:
    model, outcome = held("placebo")
    about = setup_of(model, None, FALSE, *OTHER).items.another(FALSE)
    assert about in OTHER
    whole, _ = held("acvd", about)
    for role in ("defender", "critic"):
        assert canonical(model, role) == canonical(whole, role)
    for own, others in zip(judged(model), judged(whole), strict=True):
        assert own == others.replace("society q2", "society q1"), "the question is the item's"
    assert {turn.speaker for turn in outcome.debate.transcript} == {f"about {about.item_id}"}
    assert outcome.answer.value == "1934", "the answers to choose from are the item's own"


def test_the_placebo_of_a_question_is_one_item_whatever_its_form_and_the_order() -> None:
    """So nothing in it tells a true passage from a false one, and a run that was killed goes on as it began."""
    many = [item(year, question_id=f"q{n}", domain=f"d{n % 2}") for n in range(12) for year in (1874, 1934)]
    items = ItemSet("worked", tuple(many), ())
    chosen = {each.item_id: items.another(each, seed=3) for each in many}
    for n in range(12):
        one, other = (chosen[f"q{n}@{offset:+d}"] for offset in (0, 60))
        assert one is other is not None
        assert one.question_id != f"q{n}"
        assert one.domain == f"d{n % 2}"
    assert {each.is_standard for each in chosen.values() if each} == {True, False}
    assert chosen == {each.item_id: ItemSet("again", tuple(many), ()).another(each, seed=3) for each in many}
    assert any(items.another(each, seed=4) is not chosen[each.item_id] for each in many)
    elsewhere = replace(many[0], question_id="alone", domain="elsewhere")
    assert items.another(elsewhere) is not None, "of another domain where its own has no other question"
    assert items.another(replace(elsewhere, answer_type=AnswerType.CITY)) is not None
    hop = replace(many[0], question_id=f"{many[0].question_id}/1")
    assert [ItemSet("alone", (many[0], many[1]), ()).another(each) for each in (many[0], hop)] == [None, None]


def test_a_placebo_reuses_the_debates_that_were_held(tmp_path: Path) -> None:
    model = reader(answer_from_memory=SURE)
    both = ItemSet("worked", (item(1874), FALSE, *OTHER), exemplars())
    how = {"methods": "sr_dcr", "samples": 0, "store": tmp_path / "store.sqlite"}
    finished(Study(model, both, design="acvd", **how))
    before = len(model.requests)
    records = finished(Study(model, both, design="placebo", **how)).records
    new = model.requests[before:]
    assert {question_of(request).startswith("<debate>") for request in new} == {True}
    assert len(new) == 2 * 6, "six rulings a question: its forms hear the same, so they are asked once"
    assert records["error"].isna().all()
    alone = ItemSet("alone", (item(1874),), exemplars())
    (error,) = finished(Study(reader(), alone, "sr_dcr", samples=0, design="placebo")).records["error"]
    assert error == "a placebo needs an item of another question, and there is none"


def test_swapped_turns_stand_under_the_other_name() -> None:
    debate, _ = held("acvd")
    model, outcome = held("swapped")
    for role in ("defender", "critic"):
        assert canonical(model, role) == canonical(debate, role)
    for own, whole in zip(judged(model), judged(debate), strict=True):
        names = whole.replace("<defender", "<X").replace("</defender", "</X")
        names = names.replace("<critic", "<defender").replace("</critic", "</defender")
        assert own == names.replace("<X", "<critic").replace("</X", "</critic")
    said = {turn.role: turn.stated_answer for turn in outcome.debate.transcript}
    assert said == {Role.DEFENDER: "1934", Role.CRITIC: "1874"}, "the table keeps who spoke"


def test_a_vote_is_the_majority_of_as_many_answers_as_a_debate_takes_calls() -> None:
    def say(request: Request, draw: int) -> str:
        return ["1934", "1874", "1874", "no idea"][draw % 4]

    model = ScriptedModel({"answer_with_passage": say})
    outcome = asyncio.run(METHODS["vote_20"].run(FALSE, setup_of(model)))
    (request,) = model.requests
    assert (request.temperature, request.stream, len(request.draws)) == (0.5, "vote", 20)
    assert len(request.draws) == held("acvd")[0].calls
    assert (outcome.answer.value, outcome.missing) == ("1874", None)
    tie = ScriptedModel({"answer_with_passage": lambda request, draw: ["1934", "1874"][draw % 2]})
    first = asyncio.run(METHODS["vote_20"].run(FALSE, setup_of(tie))).answer
    assert first.value == "1934", "of equals the one drawn first"


def test_every_control_differs_from_the_debate_in_what_the_judge_hears() -> None:
    acvd = DESIGNS["acvd"]
    controls = {name: design for name, design in DESIGNS.items() if design.judge_hears is not Hears.DEBATE}
    assert tuple(controls) == CONTROLS
    for name, design in controls.items():
        sees = {"judge_sees_passage": True} if name == "judge_alone" else {}
        assert design == replace(acvd, name=name, judge_hears=design.judge_hears, **sees)


def _rows(design: str, true: str, false: str) -> list[dict[str, Any]]:
    """One verdict a question, "?" for one that was not read, " " for none."""
    paths = [(letter, standard) for letters, standard in ((true, True), (false, False)) for letter in letters]
    names = [*"abcdefgh"[: len(true)], *"abcdefgh"[: len(false)]]
    return [
        row(name, standard, path if path != " " else None, design=design, answer_type="year")
        for name, (path, standard) in zip(names, paths, strict=True)
    ]


TABLE = frame(*_rows("judge_alone", "RRU?", "UUR "), *_rows("acvd", "RUR?", "RUUU"))


def test_persuasion_by_hand() -> None:
    """True: b is lost, c is won. False: a is lost, c is won. d has one verdict in each half and is in neither share."""
    table = persuasion(TABLE).set_index(["condition", "move"])
    assert table["n"].tolist() == [2, 1, 2, 1]  # lost and won of the true ones, lost and won of the false ones
    assert table["share"].to_dict() == pytest.approx({key: 0.5 if key[1] == "lost" else 1.0 for key in table.index})
    assert table["n_missing"].groupby("condition").first().to_dict() == {"standard": 1, "perturbed": 1}
    assert table["low"].between(0, table["share"]).all()
    assert table["high"].between(table["share"], 1).all()
    assert persuasion(TABLE, alone="two_answers").empty


def test_persuasion_adds_up_to_the_difference_of_the_verdict_rates() -> None:
    """Over debates that were read, right after = right alone − lost + won, by another way."""
    records = simulated(60, ("judge_alone", "acvd"))
    records = records[records["verdict"].notna() & (records["verdict"] != "UNPARSED")]
    both = records.groupby("item_id")["design"].transform("nunique") == 2
    table = persuasion(records[both]).set_index(["condition", "move"])
    rates = verdict_rates(records[both & (records["method"] == "sr_dcr")]).set_index(["design", "rate"])
    for condition, rate in (("standard", "verdict_tpr"), ("perturbed", "verdict_tnr")):
        moved = table.loc[condition]
        hits = moved["n"] * moved["share"]
        alone, after = (rates.loc[(design, rate), "share"] for design in ("judge_alone", "acvd"))
        assert (hits["won"] - hits["lost"]) / moved["n"].sum() == pytest.approx(after - alone)


def test_beliefs_by_hand() -> None:
    """A verdict that was not read, or is not there, is in n and in neither share."""
    answers = {"method": "vote_20", "design": None, "verdict": None, "verdict_path": None, "claimed_answer": "1934"}
    votes = [
        {**row("a", True, None), **answers, "claimed_answer": "1874", "final_answer": "1874", "correct": True},
        {**row("a", False, None), **answers, "final_answer": "1934", "correct": False},
        {**row("b", False, None), **answers, "final_answer": "1874", "correct": True},
        {**row("c", False, None), **answers, "final_answer": None, "correct": None},
    ]
    records = pd.concat([TABLE, frame(*votes)], ignore_index=True).assign(
        answer_type="year", prior_answer="1874", context_answer="1934"
    )
    table = right_by_half(records).assign(design=lambda t: t["design"].fillna("vote")).set_index("design")
    assert table["true"].to_dict() == {"judge_alone": 0.5, "acvd": 0.5, "vote": 1.0}
    assert table["false"].to_dict() == pytest.approx({"judge_alone": 0.5, "acvd": 0.75, "vote": 1 / 3})
    assert table[["n", "n_missing"]].values.tolist() == [[8, 2], [8, 1], [4, 1]]
    assert table.loc["vote", "coverage"] == 0.75


def test_a_misread_claim_is_no_catch() -> None:
    """A wrong answer to a false passage that is not its claim catches nothing; with `answers`, no verdict counts."""
    misread = {"method": "few_shot", "design": None, "verdict": None, "verdict_path": None, "claimed_answer": "1934"}
    answers = ({"final_answer": answer, "correct": answer == "1874"} for answer in ("1899", "1874"))
    assert right_by_half(frame(*(row("a", False, None) | misread | one for one in answers)))["false"].tolist() == [0.5]
    known = TABLE.assign(prior_correct=TABLE["question_id"] != "a", calls_alone=2)
    debated = right_by_half(known, answers=True).set_index("design")
    shares = debated.query("method == 'From memory'")[["true", "false", "coverage"]]  # wrong on question a alone
    assert shares.to_numpy().tolist() == [[0.75, 0.75, 1.0]]
    assert "From memory" not in set(right_by_half(known.assign(prior_correct=None), answers=True)["method"])
    of_acvd = TABLE[(TABLE["design"] == "acvd") & (TABLE["level"] != "standard")]
    assert debated.loc["acvd", "false"] == of_acvd["correct"].fillna(False).astype(bool).mean()


def test_what_a_debate_adds_is_paired_with_each_control() -> None:
    """ACVD less each control that was run, on the items that both have; another design is no control."""
    table = over_controls(simulated(40, ("acvd", "placebo", "swapped", "symmetric")))
    assert set(table["b"]) == {"placebo", "swapped"}
    assert (table["low"] <= table["difference"]).all()
    assert table["p_holm"].notna().all()
    assert over_controls(simulated(10, ("acvd",))).empty
