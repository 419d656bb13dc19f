"""Re-deciding from the records: the rule of the paper at any other τ, and nothing else, as in a study with that τ."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pandas as pd
import pytest

from srdcr_lab.data import ItemSet
from srdcr_lab.lib.definitions import redraw_stability
from srdcr_lab.protocols import METHODS, Choices, Method, Outcome
from srdcr_lab.records import BadInput, CallFailed, Completion, Request
from srdcr_lab.study import Results, Study, load_run, open_repeats, open_study, study_of
from tests import scripted
from tests.study.test_resume import PAID

RULINGS = {"q0": scripted.UNREASONABLE, "q1": scripted.UNREASONABLE, "q2": scripted.REASONABLE, "q3": "I cannot say."}


def studied(folder: Path, methods: str, *, closed_book: bool = False, **more: Any) -> Results:
    """Four questions, q1 and q3 remembered with confidence 0.5, the others with 0.95; the store lies beside the run."""

    def remembers(request: Request, draw: int) -> Completion:
        return scripted.UNSURE if any(name in scripted.question_of(request) for name in ("q1", "q3")) else scripted.SURE

    def rules(request: Request, draw: int) -> str:
        return next(ruling for name, ruling in RULINGS.items() if name in "".join(m.content for m in request.messages))

    forms = [scripted.item(year, question_id=name) for name in RULINGS for year in (1874, 1934)]
    if closed_book:
        forms = [replace(each, context="") for each in forms[::2]]
    model = scripted.reader(answer_from_memory=remembers, judge=rules)
    how: dict[str, Any] = {"out": folder / "study", "store": folder / "store.sqlite", "rounds": 1, "samples": 2} | more
    return scripted.finished(Study(model, ItemSet("worked", tuple(forms), scripted.exemplars()), methods, **how))


@pytest.mark.parametrize(
    ("methods", "closed_book"), [("few_shot,sr_dcr,confidence_only,debate_only", False), ("confidence_only", True)]
)
@pytest.mark.parametrize("tau", [0.3, 0.9, 0.99])
def test_results_at_a_threshold_are_those_of_a_study_with_it(
    tmp_path: Path, methods: str, closed_book: bool, tau: float
) -> None:
    results = studied(tmp_path, methods, closed_book=closed_book)
    other = results.at(tau=tau)
    again = scripted.finished(study_of(results, tau=tau))  # finds the store beside the folder
    pd.testing.assert_frame_equal(other.records.drop(columns=PAID), again.records.drop(columns=PAID))
    pd.testing.assert_frame_equal(other.summary, again.summary)
    assert other.manifest["asked"]["choices"] == again.manifest["asked"]["choices"]
    assert (results.records["tau"] == 0.9).all()


def test_a_threshold_is_a_share_and_needs_records_that_say_what_it_decides(tmp_path: Path) -> None:
    results = studied(tmp_path, "sr_dcr")
    for tau in (6, None, True):
        with pytest.raises(BadInput, match=rf"tau is a number from 0(.0)? to 1(.0)?, got {tau}"):
            results.at(tau)
    opened = open_study(run=results, tau=0.6)
    assert opened.manifest["asked"]["choices"]["tau"] == 0.6
    assert opened.records.equals(results.at(0.6).records)
    assert open_study(run=results, limit=3) is results
    assert open_repeats(2, run=results, tau=0.6)["tau"].eq(0.6).all()
    for method in ("one_of_my_own", "cfmad_when_unsure"):
        results.manifest["asked"]["methods"].append(method)
        with pytest.raises(BadInput, match=rf"{method} do not say .*study_of\(results, tau=0.6\)"):
            results.at(0.6)


def test_the_mean_of_right_is_the_accuracy_and_that_of_correct_is_not(tmp_path: Path) -> None:
    results = studied(tmp_path, "few_shot,sr_dcr")
    table = results.summary.set_index(["method", "condition"])
    means = results.records.groupby(["method", "condition"])[["right", "correct"]].mean()
    assert means["right"].to_dict() == table["accuracy"].drop("overall", level="condition").to_dict()
    assert means["correct"]["sr_dcr", "standard"] == 1.0 > means["right"]["sr_dcr", "standard"]
    assert set(table["n_questions"]) == {4}


def test_what_is_said_of_a_question_is_by_the_choices_of_the_run(tmp_path: Path) -> None:
    """Its own bounds of the categories, and its kind of confidence beside a method that writes another one."""
    results = studied(tmp_path, "token_probability,confidence_only", preset=Choices(highly_known_from=0.4))
    expected = redraw_stability(2, 2, highly_from=0.4, maybe_from=0.3)
    assert results.questions["redraw_stability"].tolist() == [expected] * 4 != [redraw_stability(2, 2)] * 4
    with pytest.raises(BadInput, match=r"alone; for another kind: .*study_of\(results, confidence='mean_p"):
        results.with_confidence("mean_probability")
    own = results.with_confidence("mine", {"q0": 0.2, "q1": 0.97})
    assert own.questions["self_confidence"].tolist()[:2] == [0.2, 0.97]
    assert own.questions["self_confidence"].isna().sum() == 2
    sure = [run.records.query("method == 'confidence_only'")["decision"].eq("USE_PRIOR") for run in (own, results)]
    assert [each.tolist()[:4] for each in sure] == [[False, False, True, True], [True, True, False, False]]
    assert "confidence: mine" in own.label
    for wrong in ({}, {"q0": 20.0}, pd.Series([0.2, 0.3], ["q0", "q0"])):
        with pytest.raises(BadInput, match="from 0 to 1"):
            results.with_confidence("mine", wrong)


def test_a_run_is_copied_and_calls_that_failed_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Down(scripted.ScriptedModel):
        async def complete(self, request: Request) -> tuple[Completion, ...]:
            raise CallFailed("it is down")

    results = open_study(Down(), "facts:testbed", "few_shot", limit=2, samples=0)
    assert "2 of 2 rows carry an error, and count as wrong" in caplog.text
    assert load_run(results.save(tmp_path / "kept")).records.equals(results.records)
    with pytest.raises(BadInput, match="exists; give a new folder"):
        results.save(tmp_path / "kept")
    assert copy.deepcopy(load_run(tmp_path / "kept")).records.equals(results.records)
    with pytest.raises(BadInput, match=r"in a temporary folder, which ends with this process: save\(FOLDER\)"):
        copy.deepcopy(results)


@pytest.mark.parametrize(("run", "says"), [
    (AsyncMock(return_value=None), r"what the method mine returns is an Outcome\(answer=…\), got None"),
    (lambda *_: Outcome(answer=None), "mine is awaited, so define it with `async def`, got Outcome"),
    (lambda *_: Outcome(answer="1874"), "the answer of an Outcome is an Answer, as prior_answer gives one, got '1874'"),
])  # fmt: skip
def test_a_slip_in_a_method_of_ones_own_is_a_sentence(monkeypatch: Any, run: Any, says: str) -> None:
    monkeypatch.setitem(METHODS, "mine", Method("mine", run))
    with pytest.raises(BadInput, match=says):
        open_study(scripted.reader(), "facts:testbed", "mine", limit=2, samples=0)


def test_a_model_of_ones_own_says_who_it_is_and_what_it_gives() -> None:
    for name, said in {"identity": "the identity of a model is a Mod", "capabilities": "what a model can give"}.items():
        setattr(model := scripted.reader(), name, "me")
        with pytest.raises(BadInput, match=said):
            Study(model, "facts:testbed", "few_shot", limit=2)


def test_what_is_left_out_of_a_table_of_ones_own_is_told(caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"question": "When?", "gold_answer": answer, "context": "In 1874."} for answer in ("1874", None)]
    with pytest.raises(BadInput, match="unknown model"):
        open_study("nobody", pd.DataFrame(rows))
    assert "left out 1 row" in caplog.text
