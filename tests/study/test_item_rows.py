"""From outcomes to rows: every branch of what an item adds to the tables."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from srdcr_lab.models.spending import Price
from srdcr_lab.protocols import METHODS, Method, Outcome, choices, methods
from srdcr_lab.protocols.answering import context_answer
from srdcr_lab.records import BadInput, CallFailed, Completion, Item, Request
from srdcr_lab.records.tables import RECORDS, SAMPLES, TURNS, Column
from srdcr_lab.study.run import ItemRows, _filled, run_item
from tests.scripted import (
    REASONABLE,
    SURE,
    UNREASONABLE,
    UNSURE,
    Script,
    ScriptedModel,
    by_round,
    item,
    reader,
    stored_setup,
)

TRUE, FALSE = item(1874), item(1934)  # the model remembers 1874 and reads what the passage says


def rows_of(model: ScriptedModel, of: Item = FALSE, names: str = "few_shot,sr_dcr", **chosen: Any) -> ItemRows:
    setup = stored_setup(model, choices(**chosen), of, price=Price(1e-6, 2e-6, "worked"))
    return asyncio.run(run_item(of, setup, methods(names)))


def test_rows_have_the_columns_of_the_schemas() -> None:
    rows = rows_of(reader())
    for table, columns in ((rows.records, RECORDS), (rows.turns, TURNS), (rows.samples, SAMPLES)):
        assert {tuple(row) for row in table} == {tuple(column.name for column in columns)}
    with pytest.raises(KeyError, match="nothing gives the column colour a value"):
        _filled((Column("colour", "string", ""),), {}, TRUE)


def test_a_method_of_ones_own_has_to_return_an_outcome() -> None:
    with pytest.raises(BadInput, match=r"what the method own returns is an Outcome\(answer=…\), got Answer"):
        asyncio.run(run_item(FALSE, stored_setup(reader(), choices(), FALSE), [Method("own", context_answer)]))


def test_a_method_that_reads_another_passage_changes_no_other_row(monkeypatch: pytest.MonkeyPatch) -> None:
    async def other(item: Item, setup: Any) -> Outcome:
        return Outcome(answer=await context_answer(replace(item, context="It was founded in 1999."), setup))

    monkeypatch.setitem(METHODS, "other", Method("other", other))
    few_shot, own = rows_of(reader(), names="few_shot,other").records
    assert few_shot["context_answer"] == own["context_answer"] == few_shot["final_answer"] == "1934"
    assert own["final_answer"] == "1999"


def test_the_row_of_a_decision_for_the_prior_answer() -> None:
    path = [REASONABLE, "?", *[UNREASONABLE] * 4]
    few_shot, debated = rows_of(reader(answer_from_memory=SURE, judge=by_round(path))).records
    assert {name: debated[name] for name in ("item_id", "question_id", "level", "claimed_answer")} == {
        "item_id": "q1@+60", "question_id": "q1", "level": "moderate", "claimed_answer": "1934",
    }  # fmt: skip
    assert (debated["prior_answer"], debated["prior_correct"]) == ("1874", True)
    assert (debated["context_answer"], debated["context_correct"]) == ("1934", False)
    assert (debated["verdict"], debated["verdict_path"], debated["r_star"]) == ("UNREASONABLE", "R?UUUU", 2)
    assert (debated["stabilised"], debated["decision"]) == (True, "USE_PRIOR")
    assert (debated["final_answer"], debated["correct"], debated["missing"]) == ("1874", True, None)
    assert (debated["self_confidence"], debated["confidence_kind"]) == (pytest.approx(0.95), "mean_logprob")
    assert (debated["calls_alone"], debated["error"]) == (21, None)
    assert (few_shot["final_answer"], few_shot["correct"], few_shot["calls_alone"]) == ("1934", False, 1)
    assert [few_shot[name] for name in ("design", "verdict", "verdict_path", "r_star", "decision")] == [None] * 5
    assert few_shot["self_confidence"] == debated["self_confidence"]


@pytest.mark.parametrize(("model", "of", "expected"), [
    (reader(judge=REASONABLE), TRUE, ("REASONABLE", "RRRRRR", 0, "USE_CONTEXT", "1874", True, None)),
    (reader(answer_from_memory=UNSURE, judge=UNREASONABLE), FALSE,
     ("UNREASONABLE", "UUUUUU", 0, "ABSTAIN", None, None, "abstained")),
    (reader(judge="?"), FALSE, ("UNPARSED", "??????", None, "ABSTAIN", None, None, "unparsed")),
])  # fmt: skip
def test_the_row_of_another_decision(model: ScriptedModel, of: Item, expected: tuple[object, ...]) -> None:
    (row,) = rows_of(model, of, "sr_dcr").records
    names = ("verdict", "verdict_path", "r_star", "decision", "final_answer", "correct", "missing")
    assert tuple(row[name] for name in names) == expected


def test_an_unread_answer_is_neither_right_nor_wrong_in_its_row() -> None:
    few_shot, debated = rows_of(reader(answer_with_passage="Perhaps.", answer_from_memory="Perhaps.")).records
    for row in (few_shot, debated):
        assert (row["prior_answer"], row["prior_correct"]) == (None, None)
        assert (row["context_answer"], row["context_correct"]) == (None, None)
        assert (row["final_answer"], row["correct"], row["missing"]) == (None, None, "unparsed")


def remembering(n: int) -> Script:
    """Sure of 1874 when greedy; the first n of the draws say so too."""
    return {"answer_from_memory": lambda r, draw: SURE if r.temperature == 0 or draw < n else "1900"}


@pytest.mark.parametrize(
    ("right", "category"),
    [(28, "HIGHLY_KNOWN"), (27, "MAYBE_KNOWN"), (10, "MAYBE_KNOWN"), (9, "WEAKLY_KNOWN"), (6, "WEAKLY_KNOWN"),
     (0, "UNKNOWN")],
)  # fmt: skip
def test_the_row_carries_the_category_of_32_draws(right: int, category: str) -> None:
    (row,) = rows_of(reader(**remembering(right)), names="few_shot").records
    assert (row["sampled_accuracy"], row["n_samples"], row["knowledge_category"]) == (right / 32, 32, category)


def test_samples_0_skips_the_categories_and_what_few_shot_does_not_need() -> None:
    model = reader()
    (row,) = rows_of(model, names="few_shot", samples=0).records
    assert (row["sampled_accuracy"], row["n_samples"], row["knowledge_category"]) == (None, 0, None)
    assert row["self_confidence"] is None
    assert model.calls == 2  # the context answer, and the prior answer that is shown beside it


def test_samples_hold_the_prior_answer_and_every_draw_with_its_stream() -> None:
    samples = rows_of(reader(), names="sr_dcr", confidence="self_consistency").samples
    streams = [(row["stream"], row["draw"]) for row in samples]
    assert streams[:1] == [("greedy", 0)]
    assert streams[1:33] == [("knowledge", i) for i in range(32)]
    assert streams[33:] == [("self_consistency", i) for i in range(16)]
    assert samples[1]["logprobs"] == (-0.01,)
    assert (samples[0]["answer"], samples[0]["correct"]) == ("1874", True)


def test_turn_rows_are_in_the_order_of_the_debate() -> None:
    turns = rows_of(reader(), names="sr_dcr", rounds=2).turns
    assert [(t["position"], t["round"], t["role"], t["saw_passage"], t["saw_turns"]) for t in turns] == [
        (0, 0, "defender", True, []), (1, 0, "critic", False, []), (2, 0, "judge", False, [0, 1]),
        (3, 1, "critic", False, [0, 1]), (4, 1, "defender", True, [0, 1, 2]), (5, 1, "judge", False, [0, 1, 2, 3]),
    ]  # fmt: skip


def test_a_failed_judge_is_an_error_of_its_method_alone() -> None:
    few_shot, debated = rows_of(reader(judge=CallFailed("the server hung up"))).records
    assert (debated["missing"], debated["error"]) == ("error", "the server hung up")
    assert (debated["final_answer"], debated["correct"], debated["verdict"]) == (None, None, None)
    assert debated["prior_answer"] == "1874"  # what was answered is still shown
    assert (few_shot["missing"], few_shot["error"], few_shot["final_answer"]) == (None, None, "1934")


def test_a_failed_probe_is_said_in_every_row_and_takes_no_answer_away() -> None:
    def fails_when_sampled(request: Request, draw: int) -> Completion | Exception:
        return CallFailed("no draws today") if request.stream == "knowledge" else SURE

    few_shot, debated = rows_of(reader(answer_from_memory=fails_when_sampled, judge=REASONABLE)).records
    for row in (few_shot, debated):
        assert (row["final_answer"], row["missing"]) == ("1934", None)
        assert (row["error"], row["knowledge_category"]) == ("knowledge: no draws today", None)


def test_methods_of_one_item_pay_for_a_shared_answer_once() -> None:
    few_shot, debated = rows_of(reader()).records
    assert few_shot["calls_alone"] + debated["calls_alone"] == 21
    assert few_shot["calls_paid"] + debated["calls_paid"] == 20
