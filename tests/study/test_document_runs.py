"""Whole runs over several documents: `srdcr run` on a loopback server, RA-RAG's second pass, what the tables say."""

from pathlib import Path

from srdcr_lab.data import ItemSet
from srdcr_lab.records import Item
from srdcr_lab.study import Results, Study, load_run
from srdcr_lab.study.run import ItemRows, run_items, wait_for
from tests.conftest import Srdcr
from tests.documents import item, says_what_it_reads
from tests.loopback.server import Loopback
from tests.scripted import ScriptedModel, exemplars, finished
from tests.scripted import item as passage_item

FIXTURE = Path(__file__).parents[1] / "fixtures" / "benchmarks" / "ramdocs.jsonl"
METHODS = "concatenate,madam_rag,ra_rag,dialectical"


def test_the_four_methods_run_over_ramdocs(srdcr: Srdcr, loopback: Loopback, tmp_path: Path) -> None:
    model = ("--model", "openai:test", "--base-url", loopback.openai_url, "--items", f"ramdocs={FIXTURE}")
    srdcr.ok("run", *model, "--methods", METHODS, "--out", tmp_path / "out")
    results = load_run(tmp_path / "out")
    records = results.records
    assert len(records) == 4 * 4
    assert set(records["method"]) == set(METHODS.split(","))
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


# RA-RAG's second pass ------------------------------------------------------------------------------------------------
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


# Errors --------------------------------------------------------------------------------------------------------------
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
