"""Results that were made elsewhere: worked examples by hand, what is missing stays missing, bad cells in a sentence."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.confidence import measured, precision_steps
from srdcr_lab.debates import verdict_rates
from srdcr_lab.lib.calibration import reliability_curve
from srdcr_lab.lib.definitions import PAPER_TAU
from srdcr_lab.preference import context_preference
from srdcr_lab.records import BadInput, PerturbationKind
from srdcr_lab.study import exchange
from srdcr_lab.study.exchange import KINDS, NEEDED_BESIDE
from tests.conftest import Srdcr

SURE, UNSURE = [math.log(0.95)], [math.log(0.64), math.log(0.25)]  # the second: a geometric mean of 0.4
ROWS: tuple[dict[str, Any], ...] = (
    # believed, as it should be
    {"question_id": "mill", "gold_answer": "1801", "claimed_answer": "1801", "prior_answer": "1799",
     "context_answer": "1801", "logprobs": UNSURE, "verdict_path": "URRRRR", "samples": ["1799"] * 7 + ["1801"],
     "p_unreasonable": 0.2, "final_answer": "It was 1801."},
    # caught, and remembered
    {"question_id": "mill", "gold_answer": "1801", "claimed_answer": "1861", "prior_answer": "1799",
     "context_answer": "1861", "logprobs": UNSURE, "verdict_path": "UUUUUU", "samples": ["1799"] * 7 + ["1801"],
     "p_unreasonable": 0.9, "final_answer": ""},
    {"question_id": "dam", "gold_answer": "1900", "claimed_answer": "1920", "prior_answer": "The answer is 1900.",
     "context_answer": "1920", "logprobs": SURE, "verdict_path": "RUUUUU", "samples": ["1900"] * 7 + ["none"],
     "p_unreasonable": 0.8, "final_answer": "1920"},
    # unparsed, and an answer that cannot be read
    {"question_id": "quay", "gold_answer": "1700", "claimed_answer": "1700", "prior_answer": "I do not know",
     "context_answer": "", "logprobs": [], "verdict_path": "RRRRR?", "samples": ["?"] * 8,
     "p_unreasonable": None, "final_answer": "1750"},
)  # fmt: skip


def table(**changed: Any) -> pd.DataFrame:
    """The rows above as a table; columns may be changed, or left out by None."""
    rows = [
        {"question": f"When was the {row['question_id']} built?", "answer_type": "year", "domain": "history",
         "context": f"The {row['question_id']} was built in {row['claimed_answer']}.", **row}
        for row in ROWS
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    for name, values in changed.items():
        frame = frame.drop(columns=name, errors="ignore") if values is None else frame.assign(**{name: values})
    return frame


def of(results: lab.Results, method: str, *columns: str) -> list[tuple[Any, ...]]:
    """The columns of the rows of a method, missing cells as None."""
    rows = results.records.query("method == @method")[[*columns]].astype(object)
    return [*rows.where(rows.notna(), None).itertuples(index=False, name=None)]


@pytest.fixture(scope="module")
def results() -> lab.Results:
    return lab.results_from(table(), model="gpt-x", method="my_rag")


def test_decisions_and_answers_by_hand(results: lab.Results) -> None:
    columns = ("verdict", "r_star", "decision", "final_answer", "correct", "missing")
    assert of(results, "sr_dcr", *columns) == [
        ("REASONABLE", 1, "USE_CONTEXT", "1801", True, None),
        ("UNREASONABLE", 0, "ABSTAIN", None, None, "abstained"),
        ("UNREASONABLE", 1, "USE_PRIOR", "1900", True, None),
        ("UNPARSED", None, "ABSTAIN", None, None, "unparsed"),
    ]
    assert of(results, "debate_only", "decision", "final_answer", "correct")[1] == ("USE_PRIOR", "1799", False)
    rows = of(results, "confidence_only", "decision", "correct", "missing")
    assert rows[:2] == [("USE_CONTEXT", True, None), ("USE_CONTEXT", False, None)]
    assert rows[2:] == [("USE_PRIOR", True, None), ("USE_CONTEXT", None, "unparsed")]
    assert of(results, "few_shot", "correct", "missing")[2:] == [(False, None), (None, "unparsed")]
    rows = of(results, "my_rag", "final_answer", "correct", "missing")
    assert rows[:2] == [("1801", True, None), (None, None, "abstained")]
    assert rows[2:] == [("1920", False, None), ("1750", False, None)]


def test_confidence_and_category_by_hand(results: lab.Results) -> None:
    questions = results.questions.set_index("question_id")
    expected = {"mill": 0.4, "dam": 0.95, "quay": math.nan}
    assert questions["self_confidence"].to_dict() == pytest.approx(expected, nan_ok=True)
    assert set(questions["confidence_kind"]) == {"mean_logprob"}
    shown = questions[["sampled_accuracy", "knowledge_category", "prior_answer", "prior_correct"]].T
    assert [*shown["mill"]] == [1 / 8, "WEAKLY_KNOWN", "1799", False]
    assert [*shown["dam"]] == [7 / 8, "HIGHLY_KNOWN", "1900", True]
    assert [*shown["quay"]][:2] == [0, "UNKNOWN"]
    assert shown["quay"].iloc[2:].isna().all()
    assert len(results.samples.query("stream == 'knowledge'")) == 3 * 8  # once a question


def test_what_the_table_does_not_tell_is_missing(results: lab.Results) -> None:
    unknown = ["design", "model_defender", "model_judge", "decoding", "calls_alone", "calls_paid", "prompt_tokens",
               "completion_tokens", "cost_usd", "knowledge_decoding"]  # fmt: skip
    assert results.records[unknown].isna().all(axis=None)
    assert results.samples["decoding"].isna().all()
    assert results.turns.empty
    assert set(results.records["model"]) == {"elsewhere:gpt-x"}
    assert results.label == "elsewhere:gpt-x"
    assert of(results, "few_shot", "verdict", "rounds", "p_unreasonable")[0] == (None, None, None)
    assert of(results, "sr_dcr", "verdict_path", "rounds", "p_unreasonable")[0] == ("URRRRR", 6, 0.2)
    bare = lab.results_from(table(**dict.fromkeys(set(NEEDED_BESIDE) - {"context_answer"})))
    assert {*bare.records["method"]} == {"few_shot"}
    told = ["prior_answer", "prior_correct", "self_confidence", "confidence_kind", "knowledge_category", "verdict"]
    assert bare.records[told].isna().all(axis=None)
    assert bare.samples.empty


def test_a_verdict_without_a_path_is_a_ruling_without_a_debate(tmp_path: Path, srdcr: Srdcr) -> None:
    """Rows as our own runs of the design judge_alone write them."""
    told = table(verdict_path=None, verdict=["REASONABLE", "UNREASONABLE", "UNREASONABLE", "UNPARSED"])
    told.to_json(tmp_path / "own.jsonl", orient="records", lines=True)
    ended = srdcr("import", tmp_path / "own.jsonl", "--out", tmp_path / "out")
    assert "debate_only (judge_alone)" in ended.out
    assert "a verdict without verdict_path is a ruling without a debate: design judge_alone" in ended.out
    results = lab.load_run(tmp_path / "out")
    for method in ("debate_only", "sr_dcr"):
        rows = of(results, method, "design", "verdict_path", "rounds", "r_star")
        assert rows == [("judge_alone", letter, 1, None) for letter in "RUU?"]
    rates = verdict_rates(results.records).set_index("rate")
    assert (rates.loc["verdict_tpr", "n"], rates.loc["verdict_tnr", "share"]) == (2, 1)


def test_a_stated_confidence_keeps_its_kind_and_may_stand_alone_with_a_verdict() -> None:
    ruled = ["REASONABLE", "UNREASONABLE", "UNREASONABLE", "UNPARSED"]
    told = table(logprobs=None, verdict_path=None, samples=None, self_confidence=[0.5, 0.5, 0.9, None],
                 confidence_kind="verbalized", verdict=ruled)  # fmt: skip
    shown = lab.results_from(told, tau=0.5).records.query("method == 'sr_dcr'")
    assert [*shown["decision"]] == ["USE_CONTEXT", "USE_PRIOR", "USE_PRIOR", "ABSTAIN"]
    assert set(shown["confidence_kind"]) == {"verbalized"}
    assert shown[["r_star", "stabilised"]].isna().all(axis=None)


def test_no_debate_is_needed_where_both_answers_are_equal() -> None:
    told = table(context_answer=["1799", "1861", "1920", ""], verdict_path=["", "UU", "UU", "?"])
    assert of(lab.results_from(told), "sr_dcr", "verdict", "decision")[0] == (None, "USE_CONTEXT")


def test_questions_without_passages_are_asked_of_memory() -> None:
    told = table()[["question", "gold_answer", "answer_type", "prior_answer", "logprobs"]].iloc[1:]
    results = lab.results_from(told)
    assert of(results, "few_shot", "final_answer", "correct")[:2] == [("1799", False), ("1900", True)]
    decisions = of(results, "confidence_only", "decision")
    assert decisions == [("ABSTAIN",), ("USE_PRIOR",), ("ABSTAIN",)]
    told = table(context=None, documents='[{"text": "It was built in 1900."}]')  # documents are passages, too
    decisions = of(lab.results_from(told).at(0.9), "confidence_only", "decision")
    assert decisions == [("USE_CONTEXT",), ("USE_CONTEXT",), ("USE_PRIOR",), ("USE_CONTEXT",)]


OPTIONS = {
    "question": "Which is the older one?",
    "options": "the tower|the bridge|The bridge",
    "gold_answer": "the tower",
    "prior_answer": "A",
}
OLDER: list[dict[str, Any]] = [
    {**OPTIONS, "context": "The tower is of 1500.", "claimed_answer": "A", "context_answer": "A"},
    {**OPTIONS, "context": "The tower is of 1700.", "claimed_answer": "B", "context_answer": "C"},
]


def test_a_table_with_options_keeps_which_passages_are_false() -> None:
    """A reply may name an option that is left out as a repeat: it is that of the one that stays."""
    rows = of(lab.results_from(pd.DataFrame(OLDER)), "few_shot", "claimed_answer", "level", "final_answer", "correct")
    assert rows == [("A", "standard", "A", True), ("B", "moderate", "B", False)]


@pytest.mark.parametrize(("frame", "told"), [
    (pd.DataFrame(OLDER).drop(columns="claimed_answer"), "in 2 rows (the first is row 1) nothing says whether"),
    (pd.DataFrame(OLDER).assign(claimed_answer=["A", ""]), "in 1 row (the first is row 2) nothing says whether"),
    (pd.DataFrame(OLDER).drop(columns=["options", "claimed_answer"]).assign(gold_answer="yes"),
     "fill claimed_answer (the gold answer where it is true) or perturbation_kind (none where it is true)"),
    (table(claimed_answer=None, argued=1, gold_answer="1801"),
     "in 4 rows (the first is row 1) nothing says whether the passage is true"),
    (table(context=None), "in 4 rows (the first is row 1) nothing says whether the passage is true: it is not given"),
])  # fmt: skip
def test_a_condition_that_is_not_known_is_never_guessed(frame: pd.DataFrame, told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        lab.results_from(frame, tmp_path / "out")
    assert told in str(error.value)
    assert len(str(error.value)) < 400
    assert not (tmp_path / "out").exists()


def test_replies_to_yes_or_no_questions_are_read() -> None:
    asked = {"question": "Is the tower older?", "gold_answer": "yes", "prior_answer": "Yes, it is."}
    cells = [
        {"context": "It is of 1500.", "claimed_answer": "yes", "context_answer": "True"},
        {"context": "It is of 1700.", "claimed_answer": "no", "context_answer": "No: it is of 1700."},
        {"context": "It is not of 1500.", "claimed_answer": "no", "context_answer": "There is no date."},
    ]
    results = lab.results_from(pd.DataFrame([asked | each for each in cells]))
    assert of(results, "few_shot", "level", "prior_correct", "final_answer", "correct", "missing") == [
        ("standard", True, "yes", True, None),
        ("moderate", True, "no", False, None),
        ("moderate", True, None, None, "unparsed"),
    ]


def test_answers_from_memory_alone_count_once_a_question() -> None:
    memory = [name for name in NEEDED_BESIDE if name.startswith(("context", "final", "verdict", "p_un"))]
    told = table(**dict.fromkeys(memory), context=["", "It stands.", "", "a"])
    results = lab.results_from(told)
    assert of(results, "few_shot", "question_id", "level", "correct") == [
        ("mill", "standard", False), ("dam", "standard", True), ("quay", "standard", None),
    ]  # fmt: skip
    assert results.manifest["notes"][1:] == [
        "table: answers from memory alone, so passages are not read",
        "table: left out 1 row whose question stands in an earlier row",
    ]
    with pytest.raises(BadInput, match="row 2, column prior_answer: is another one than in row 1, which asks the same"):
        lab.results_from(told.assign(prior_answer=["1799", "1801", "1900", "1700"]))


def test_options_are_answered_from_memory_too() -> None:
    told = pd.DataFrame([OPTIONS] * 2).assign(question=["Which?", "Where?"], confidence_kind="p_true")
    results = lab.results_from(told.assign(self_confidence=[0.5, 0.95]))
    assert of(results, "few_shot", "final_answer", "correct") == [("A", True)] * 2
    assert of(results, "confidence_only", "decision") == [("ABSTAIN",), ("USE_PRIOR",)]


def test_grades_from_elsewhere_replace_our_comparison() -> None:
    """Every answer below is graded otherwise than we compare it, the last is not one that we can read."""
    told = table(prior_correct=[True, True, False, False], context_correct=["0", "1", "1.0", "false"],
                 final_correct=[0, 0, 1, 1], final_answer=["1801", "", "1920", "in the reign of Anne"])  # fmt: skip
    results = lab.results_from(told)
    assert results.manifest["graded_elsewhere"] == ["prior_correct", "context_correct", "final_correct"]
    graded = "table: graded elsewhere, and not compared here: prior_correct, context_correct, final_correct"
    assert graded in results.manifest["notes"]
    assert of(results, "own", "final_answer", "correct", "missing") == [
        ("1801", False, None), (None, None, "abstained"), ("1920", True, None), ("in the reign of Anne", True, None),
    ]  # fmt: skip
    assert of(results, "few_shot", "prior_correct", "correct") == [
        (True, False), (True, True), (False, True), (None, None),
    ]  # fmt: skip
    assert of(results, "sr_dcr", "decision", "correct")[:3] == [
        ("USE_CONTEXT", False), ("ABSTAIN", None), ("USE_PRIOR", False),
    ]  # fmt: skip
    assert lab.results_from(table()).manifest["graded_elsewhere"] == []


def test_a_category_may_be_given_without_draws() -> None:
    given = ["HIGHLY_KNOWN", "HIGHLY_KNOWN", "UNKNOWN", ""]
    results = lab.results_from(table(samples=None, knowledge_category=given))
    rows = of(results, "few_shot", "knowledge_category", "n_samples")
    assert rows[1:] == [("HIGHLY_KNOWN", 0), ("UNKNOWN", 0), (None, 0)]
    shown = context_preference(results.records).set_index("knowledge_category")["share"]
    assert (shown.xs("HIGHLY_KNOWN").max(), shown.xs("UNKNOWN").max()) == (1, 1)
    by_prior = context_preference(results.records, ["prior_correct"]).set_index("prior_correct")["n"]
    assert by_prior.to_dict() == {False: 1, True: 1}


def test_a_judged_passage_is_true_false_or_a_part_of_its_own(tmp_path: Path, srdcr: Srdcr) -> None:
    """None of these passages holds its answer in words; the last two are about something else."""
    rows = [
        {"relevance": "true", "claimed_answer": "", "context_answer": "1801"},
        {"relevance": "FALSE", "claimed_answer": "1861", "context_answer": "1861"},
        {"relevance": "irrelevant", "claimed_answer": "", "context_answer": "1799"},
        {"relevance": "irrelevant", "claimed_answer": "", "context_answer": "1801"},
    ]
    asked = {"question": "When was the mill built?", "gold_answer": "1801", "context": "It has a wheel.",
             "answer_type": "year", "prior_answer": "1799"}  # fmt: skip
    pd.DataFrame([asked | row for row in rows]).to_csv(tmp_path / "judged.csv", index=False)
    srdcr.ok("import", tmp_path / "judged.csv", "--out", tmp_path / "out")
    results = lab.load_run(str(tmp_path / "out"))
    assert of(results, "few_shot", "level", "correct") == [("standard", True), ("moderate", False)]
    part = results.part("irrelevant")
    assert part is not None
    assert of(part, "few_shot", "final_answer", "correct") == [("1799", False), ("1801", True)]
    assert part.label == "elsewhere:model; every passage is irrelevant"
    assert results.label == "elsewhere:model"
    with pytest.raises(BadInput, match="row 3, column relevance: 'perhaps' is none of true, false, irrelevant"):
        lab.results_from(table(relevance=["true", "false", "perhaps", ""]))
    with pytest.raises(BadInput, match="every passage is irrelevant"):
        lab.results_from(table(relevance="irrelevant"))
    with pytest.raises(BadInput, match=r"row 1, column perturbation_kind: .* but claimed_answer is empty; fill it"):
        lab.results_from(table(relevance="false", claimed_answer=""))


def test_several_kinds_of_confidence_are_parts_of_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its logprobs the dam alone is sure; by what the model says, the mill is."""
    results = lab.results_from(table(confidence_verbalized=[0.95, 0.95, 0.5, 0.1], confidence_p_true=0.1))
    assert results.questions["confidence_kind"].unique().tolist() == ["mean_logprob"]
    stated = results.with_confidence("verbalized")
    assert stated.questions.set_index("question_id")["self_confidence"].dropna().to_dict() == {"mill": 0.95, "dam": 0.5}
    decisions = stated.records.query("method == 'sr_dcr'")["decision"]
    assert decisions.tolist() == ["USE_CONTEXT", "USE_PRIOR", "ABSTAIN", "ABSTAIN"]
    several = measured(results, "verbalized", "p_true", "sequence")
    kinds = [each.questions["confidence_kind"].iloc[0] for each in several]
    assert kinds == ["mean_logprob", "verbalized", "p_true"]
    alone = lab.results_from(table(logprobs=None, confidence_p_true=0.95))
    assert alone.questions["confidence_kind"].unique().tolist() == ["p_true"]
    with pytest.raises(BadInput, match=r"row 2, column confidence_p_true: 1\.2 is not in"):
        lab.results_from(table(confidence_p_true=[0, 1.2, 0, 0]))
    lower = results.at(0.4).with_confidence("verbalized").records.query("method == 'sr_dcr'")
    assert lower["tau"].unique().tolist() == [0.4]
    monkeypatch.delattr(exchange, "SUMMARY")
    with pytest.raises(NameError):  # between the part and the rest
        lab.results_from(table(confidence_p_true=0.1), tmp_path)
    monkeypatch.undo()
    assert lab.results_from(table(confidence_p_true=0.1), tmp_path).manifest["status"] == "done"


def test_grades_of_draws_and_tokens_of_a_whole_reply() -> None:
    """Every draw of the mill is graded right; of "It was 1900." the last two tokens hold the answer to the dam."""
    tokens = [["17", "99"], ["17", "99"], ["It was", " 19", "00."], ["?"]]
    logprobs = [UNSURE, UNSURE, [-3.0, *UNSURE], [-1.0]]
    told = table(samples_correct=[[1] * 8, [1] * 8, [1] * 7 + [0], [0] * 8], tokens=tokens, logprobs=logprobs)
    rows = lab.results_from(told).questions.set_index("question_id")
    assert rows["sampled_accuracy"].to_dict() == {"mill": 1, "dam": 7 / 8, "quay": 0}
    assert rows["self_confidence"].drop("quay").to_dict() == pytest.approx({"mill": 0.4, "dam": 0.4})
    with pytest.raises(BadInput, match="row 1, column samples_correct: has 1 grade for 8 samples"):
        lab.results_from(told.assign(samples_correct="1"))
    with pytest.raises(BadInput, match="row 4, column tokens: has 1 token for 2 logprobs"):
        lab.results_from(told.assign(logprobs=[UNSURE, UNSURE, [-3.0, *UNSURE], UNSURE]))


@pytest.mark.parametrize("where", ["the guide", "srdcr import --help"])
def test_every_column_and_kind_is_listed(where: str, srdcr: Srdcr) -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide"
    pages = "".join((guide / name).read_text("utf-8") for name in ("questions.md", "sharing.md", "confidence.md"))
    text = pages if where == "the guide" else srdcr("import", "--help").out
    told = str.removeprefix if where == "the guide" else lambda *_: "confidence_KIND"
    names = {told(name, "confidence_") if name in KINDS else name for name in NEEDED_BESIDE}
    assert [name for name in (*names, *PerturbationKind, "argued", "relevance") if name not in text] == []


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_file_of_any_kind_gives_same_as_frame(ending: str, results: lab.Results, tmp_path: Path, srdcr: Srdcr) -> None:
    path, frame = tmp_path / f"own.{ending}", table()
    if ending == "csv":
        frame["samples"] = frame["samples"].map("|".join)
        frame["logprobs"] = frame["logprobs"].map(json.dumps)
        frame.to_csv(path, index=False)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    ended = srdcr("import", path, "--out", tmp_path / "out", "--model", "gpt-x", "--method", "my_rag")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, f"results in {tmp_path / 'out'}")
    assert "note: results made elsewhere: no model was asked" in ended.out
    read = lab.load_run(tmp_path / "out")
    for name in ("records", "samples", "summary"):
        pd.testing.assert_frame_equal(getattr(read, name), getattr(results, name))
    srdcr.ok("import", path, "--out", tmp_path / "out", "--model", "gpt-x", "--method", "my_rag")
    other = ("import", path, "--out", tmp_path / "out", "--model", "gpt-y", "--method", "my_rag")
    assert "holds a run with other arguments" in srdcr.refuses(*other)


def test_measures_take_it(results: lab.Results) -> None:
    row = results.summary.set_index(["method", "condition"]).loc[("sr_dcr", "overall")]
    assert (row["accuracy"], row["coverage"], row["n_abstained"], row["n_unparsed"]) == (0.5, 0.5, 1, 1)
    questions = results.questions
    curve = reliability_curve(questions["self_confidence"], questions["prior_correct"]).query("n > 0")
    assert (curve["frequency"] - curve["mean_confidence"]).abs().tolist() == pytest.approx([0.4, 0.05])
    steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
    assert steps.at(PAPER_TAU).n_above == 1
    assert len(lab.load_runs(results.folder)) == len(results.records)


@pytest.mark.parametrize(("changed", "told"), [
    ({"self_confidence": 0.5, "logprobs": None}, "self_confidence is useless without the column confidence_kind"),
    ({"context_answer": None}, "verdict_path is useless without the column context_answer"),
    ({"self_confidence": 1.5, "confidence_kind": "verbalized"}, "self_confidence: 1.5 is not in [0, 1]"),
    ({"self_confidence": "high", "confidence_kind": "verbalized"}, "self_confidence: 'high' is not a"),
    ({"self_confidence": 0.5, "confidence_kind": ["p_true", "", "p_true", "p_true"]},
     "row 2, column confidence_kind: '' is none of mean_logprob"),
    ({"confidence_kind": "gut"}, "confidence_kind: 'gut' is none of"),
    ({"confidence_kind": "verbalized"}, "confidence_kind: verbalized is not made of logprobs"),
    ({"self_confidence": 0.5, "confidence_kind": ["p_true", "p_true", "verbalized", "p_true"]},
     "column confidence_kind: holds p_true, verbalized"),
    ({"logprobs": [SURE, [0.7], SURE, SURE]}, "row 2, column logprobs: '0.7' are no natural logarithms"),
    ({"samples": [["x" * 100_001]] * 4}, "row 1, column samples, entry 1, text: has 100,001 characters"),
    ({"logprobs": "[-0.1, {"}, "logprobs: not valid JSON"),
    ({"verdict": "TRUE"}, "verdict: 'TRUE' is none of REASONABLE, UNREASONABLE, UNPARSED"),
    ({"verdict": "UNREASONABLE"}, "verdict: is UNREASONABLE, and verdict_path ends in REASONABLE"),
    ({"verdict_path": "RXR"}, "verdict_path: 'RXR' holds 'X'"),
    ({"verdict_path": ["RR", "", "UU", "?"]}, "row 2, column verdict: is empty, and the two answers differ"),
    ({"p_unreasonable": -1}, "p_unreasonable: -1 is not in [0, 1]"),
    ({"samples": [["\ud800"]] * 4}, "samples, entry 1, text: holds half of a character"),
    ({"context_correct": "right"}, "context_correct: 'right' is neither true nor false; write true"),
    ({"prior_correct": [1, 1, 0, None]}, "row 4, column prior_correct: is empty, but prior_answer is not; grade every"),
    ({"context_correct": 1}, "row 4, column context_correct: is true, but context_answer is empty"),
    ({"final_answer": None, "final_correct": 1}, "final_correct is useless without the column final_answer"),
    ({"knowledge_category": "UNKNOWN"}, "samples and knowledge_category both give the category; keep one"),
    ({"samples": None, "knowledge_category": "Unknown"},
     "knowledge_category: 'Unknown' is none of HIGHLY_KNOWN, MAYBE_KNOWN"),
    (dict.fromkeys(NEEDED_BESIDE), "has no answers; it needs the column context_answer or final_answer"),
    ({"question": None}, "the column question is missing"),
])  # fmt: skip
def test_bad_cells_are_one_sentence_and_leave_nothing(changed: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        lab.results_from(table(**changed), tmp_path / "out")
    assert told in str(error.value)
    assert str(error.value).startswith("table")
    assert len(str(error.value)) < 400
    assert not (tmp_path / "out").exists()


def test_a_row_that_is_no_item_is_left_out_or_refused() -> None:
    told = table(context=["The mill was built in 1801.", "It stands.", "The dam was built in 1920.", "1700 it was."])
    results = lab.results_from(told)
    assert len(results.records.query("method == 'sr_dcr'")) == 3
    left_out = "table, row 2, column context: the passage does not contain the answer '1861'"
    assert left_out in str(results.manifest["notes"])
    with pytest.raises(BadInput, match="row 2, column context"):
        lab.results_from(told, strict=True)


def test_a_misspelt_column_is_noted_and_a_taken_name_refused() -> None:
    notes = lab.results_from(table().rename(columns={"samples": "sample"})).manifest["notes"]
    assert any("the column sample is not read (did you mean samples?)" in note for note in notes)
    with pytest.raises(BadInput, match="has the answers of sr_dcr in other columns too"):
        lab.results_from(table(), method="sr_dcr")


def test_hostile_names_are_shown_harmless(tmp_path: Path, srdcr: Srdcr) -> None:
    path = tmp_path / "own.jsonl"
    table(question=[f"When \x1b[31m\u202e{n}?" for n in (1, 1, 2, 3)]).to_json(path, orient="records", lines=True)
    ended = srdcr.ok("import", path, "--out", tmp_path / "out", "--model", "x\x1b[31m\u202ey")
    assert "\x1b" not in ended.out + (tmp_path / "out" / "run.json").read_text()
    srdcr.ok("export", "inspect", tmp_path / "out", tmp_path / "own.eval")
