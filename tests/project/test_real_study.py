"""`tools/prompts_report.py` and `tools/study_real.py`, on models whose every reply is written here."""

import re
import runpy
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import judge_wordings
import models_table
import pandas as pd
import prompts_report
import pytest
import studies_text
import study_real

import srdcr_lab as lab
from srdcr_lab import cli, prompts
from srdcr_lab.data import ItemSet, facts
from srdcr_lab.evaluation import weighted_back
from srdcr_lab.models import Store
from srdcr_lab.records import CallFailed, Completion, Request
from srdcr_lab.records.files import csv_text
from srdcr_lab.study import bundle, study_of
from srdcr_lab.study.results import read_manifest
from srdcr_lab.study.share import share
from tests import executing
from tests.conftest import Srdcr
from tests.scripted import REASONABLE, UNREASONABLE, ScriptedModel, exemplars, item, kind_of, question_of, reader

LINE_ALONE = "Reply again, with that line alone."


def _round(request: Request) -> int:
    return question_of(request).count("<defender")


def _rules(request: Request, draw: int) -> str | Completion:
    """Round 0: only the repair has the line. Round 1: the line at once. Round 2: never."""
    if _round(request) == 2:
        words, p = f"The passage holds.\n{UNREASONABLE}", (-0.5, -0.25)
        return Completion(words, tokens=(words[:-12], words[-12:]), logprobs=p)
    repaired = LINE_ALONE in question_of(request)
    return REASONABLE if repaired and _round(request) == 1 else "I would rather not say."


def _defends(request: Request, draw: int) -> str:
    """Gives up its side in the last round."""
    year = question_of(request).partition("founded in ")[2][:4]
    return (
        f"{year}. The passage says so, and I have read it with care." if _round(request) < 2 else "1666. I was wrong."
    )


def _attacks(request: Request, draw: int) -> str:
    """Copies its instructions in the opening."""
    copied = prompts.system_text("critic_told").partition(". ")[2][:60]
    return f"1874. {copied}" if not _round(request) else "1874. I am certain of it. Question: none."


@pytest.fixture(scope="module", autouse=True)
def _as_scripts() -> Iterator[None]:
    """Both are commands only where they run as scripts; here, for these tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        for script in (prompts_report.prompts_report, study_real.study_real, judge_wordings.judge_wordings):
            patch.setitem(cli.cli.commands, str(script.name), script)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rounds over a true and a false passage of one question, and of another one."""
    folder = tmp_path_factory.mktemp("prompts") / "run"
    items = tuple(item(year, question_id=name) for name in ("q1", "q2") for year in (1874, 1934))
    model = reader(judge=_rules, defender=_defends, critic=_attacks, self_ask="I will not.")
    methods = "few_shot,self_ask,sr_dcr,debate_only"
    with lab.Study(model, ItemSet("worked", items, exemplars()), methods, rounds=3, samples=0, out=folder) as study:
        study.run(progress=False)
    return folder


def test_rates_of_formats_sides_and_repeats(run: Path) -> None:
    table = prompts_report.report([str(run)]).set_index(["measure", "of"])
    judge, defender, critic = (f"{role} (acvd)" for role in ("judge", "defender", "critic"))
    expected = {
        ("answer in format", "few_shot"): (4, 1.0),
        ("answer in format", "self_ask"): (4, 0.0),
        ("answer in format", "sr_dcr (acvd)"): (4, 0.0),  # the last ruling has no line
        ("ruling in format, first asking", judge): (12, 1 / 3),
        ("ruling in format, after a repair", judge): (12, 2 / 3),
        ("ruling REASONABLE, true passage", judge): (6, 1 / 3),
        ("ruling REASONABLE, false passage", judge): (6, 1 / 3),
        ("verdict_tpr (V*)", judge): (2, 0.0),
        ("turn keeps to its side", defender): (12, 2 / 3),
        ("turn keeps to its side", critic): (12, 1.0),
        ("turn repeats its instructions", critic): (12, 1 / 3),
        ("turn repeats its instructions", defender): (12, 0.0),
        ("turn of 20–120 words", judge): (12, 0.0),
        ("words of a turn: median, 5–95 %", judge): (12, 5.0),  # 5, 5 and 5; the repair's 3 are left out
    }
    found = {key: (int(table.loc[key, "n"]), pytest.approx(table.loc[key, "value"])) for key in expected}
    assert found == expected
    repaired = table.loc[("ruling in format, after a repair", judge)]
    assert repaired["low"] < 2 / 3 < repaired["high"]


@pytest.mark.parametrize("script", [study_real, prompts_report], ids=["study-real", "prompts-report"])
def test_a_script_that_is_run_is_its_command(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script.__file__), "--help"])
    monkeypatch.setattr(cli.cli, "commands", dict(cli.cli.commands))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script.__file__), run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out.startswith(f"Usage: srdcr {script.__name__.replace('_', '-')} ")


def test_a_bundle_and_a_table_as_csv(run: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    share(run, tmp_path / "run.zip")
    ended = srdcr.ok("prompts-report", tmp_path / "run.zip", "--csv", tmp_path / "rates.csv")
    assert "ruling in format, first asking" in ended.out
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "rates.csv"), prompts_report.report([str(run)]))
    assert "holds no run" in srdcr.refuses("prompts-report", tmp_path)


# A study of the shipped facts: of four questions one is known, one half-known, one hardly, one not at all.
DRAWS = (4, 2, 1, 0)  # right ones, of four


def _knower(**script: Any) -> ScriptedModel:
    place = {each.question: (place, each) for place, each in enumerate(facts.standard())}

    def recalls(request: Request, draw: int) -> str:
        number, asked = place[question_of(request).removeprefix("Question: ")]
        known = DRAWS[number % len(DRAWS)]
        wrong = "Quito" if asked.domain == "cities" else "1001"
        return asked.gold_answer if draw < (known if request.temperature else known // 2) else wrong

    said = {"answer_from_memory": recalls, "answer_with_passage": "1002", "self_ask": "Final answer: 1003"}
    said |= {"rci_critique": "- No fault found.", "rci_improve": "1002"}
    said |= dict.fromkeys(("judge_debate_debater", "judge_debate_judge"), "1004. So it is.")
    return ScriptedModel(said | script)


TINY = "--known-from 32 --questions 8 --symmetric 4 --years 4 --rounds 2 --samples 4".split()
Ran = tuple[Path, ScriptedModel]


def _go(model: ScriptedModel, out: Path, *more: str) -> int:
    """Exit code of the command on this model."""
    command = ["study-real", "--model", "scripted", "--out", str(out), *TINY, *more]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_real, "model_of_spec", lambda spec, **options: model)
        with pytest.raises(SystemExit) as ended:
            cli.main(command)
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    out, model = tmp_path_factory.mktemp("real"), _knower()
    assert _go(model, out) == 0
    return out, model


def test_every_part_is_a_results_folder_and_nothing_is_asked_twice(studied: Ran) -> None:
    out, model = studied
    asked = model.calls
    assert asked == len(
        {(request.digest, request.stream, draw) for request in model.requests for draw in request.draws}
    )
    assert _go(model, out) == 0
    assert model.calls == asked
    debates, symmetric, years = (lab.load_run(out / part).records for part in ("debates", "symmetric", "years"))
    assert debates["item_id"].nunique() == 16
    assert set(debates.loc[debates["method"] == "sr_dcr", "design"]) == {"acvd", "judge_alone", "two_answers"}
    assert set(debates["method"]) == set(study_real.COMPARED)
    assert set(symmetric["item_id"]) < set(debates["item_id"])
    assert (symmetric["item_id"].nunique(), set(symmetric["design"])) == (4, {"symmetric"})
    assert years["question_id"].nunique() == 4
    assert set(years["answer_type"]) == {"year"}
    assert set(years["knowledge_category"]) == {"HIGHLY_KNOWN"}
    assert years["level"].nunique() > 3


def test_the_second_round_adds_two_parts_and_asks_only_for_what_is_new(studied: Ran, tmp_path: Path) -> None:
    shutil.copytree(studied[0], tmp_path / "out")
    model = _knower(answer_with_passage_warned="1874", debater_fresh="1874. Something else.")
    assert _go(model, tmp_path / "out", "--parts", "known,controls,fresh") == 0
    controls, fresh = (lab.load_run(tmp_path / "out" / part) for part in ("controls", "fresh"))
    assert set(controls.records["method"]) == {"few_shot", "few_shot_warned", "vote_20", "sr_dcr"}
    assert set(fresh.records["design"]) == {"acvd", "acvd_fresh", "symmetric_fresh"}
    assert set(fresh.records["item_id"]) == set(controls.records["item_id"]) == set(
        lab.load_run(studied[0] / "debates").records["item_id"])  # fmt: skip
    assert fresh.records["rounds"].max() == 2
    kinds = {kind_of(request) for request in model.requests}
    assert kinds == {"answer_with_passage", "answer_with_passage_warned", "judge", "judge_shown", "critic_shown",
                     "debater_fresh", "defender_told"}, "of a vote, a warning, one critique, fresh debates"  # fmt: skip
    assert any("hardly a debate" in note for note in fresh.manifest["notes"])
    of = ("--questions-of", str(studied[0] / "debates"))
    assert _go(_knower(answer_with_passage_warned="1874"), tmp_path / "alone", *of, "--parts", "controls") == 0
    alone = lab.load_run(tmp_path / "alone/controls")
    assert (set(alone.records["item_id"]), alone.weights is None) == (set(fresh.records["item_id"]), False)
    assert not (tmp_path / "alone/known").exists()


def test_seeds_change_worked_examples_and_another_judge_rules_on_the_same_debates(studied: Ran, tmp_path: Path) -> None:
    of = ("--questions-of", str(studied[0] / "debates"), "--judge", "scripted", "--judged", "2")
    assert _go(_knower(), tmp_path, *of, "--parts", "seeds,judged") == 0
    seeds = [lab.load_run(tmp_path / f"seed_{seed}") for seed in study_real.SEEDS]
    assert [run.manifest["asked"]["seed"] for run in seeds] == [0, 1, 2]
    assert {frozenset(run.records["design"].dropna()) for run in seeds} == {frozenset({"acvd", "one_critique"})}
    judged = lab.load_run(tmp_path / "judged").records
    assert (judged["item_id"].nunique(), judged["rounds"].max()) == (4, 2)
    assert _go(_knower(), tmp_path, *of[:2], "--parts", "judged") == 2  # without --judge


class _Judges(ScriptedModel):
    """Calls passages unreasonable in every other question, and only in one wording."""

    def _completion(self, request: Request, draw: int) -> Completion:
        own = {prompts.Prompts({"judge": text}).system_text("judge"): name for name, text in judge_wordings.prompts()}
        if (name := own.get(request.messages[0].content)) is None:
            return super()._completion(request, draw)
        doubts = "paraphrase 2, REASONABLE first, verdict alone" in name and len(question_of(request)) % 2
        return Completion(UNREASONABLE if doubts else REASONABLE, draw)


def test_a_wording_is_chosen_on_half_of_the_questions_and_its_bundles_give_the_same_table(
    studied: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, srdcr: Srdcr
) -> None:
    monkeypatch.setattr(judge_wordings, "model_of_spec", lambda spec, **options: _Judges())
    made = srdcr("judge-wordings", "--model", "x", "--run", studied[0] / "debates", "--rounds", "1",
                 "--out", tmp_path / "out", "--ship", tmp_path / "shipped")  # fmt: skip
    told = "chosen on 8 items: paraphrase 2, REASONABLE first, verdict alone; reported on 8 others"
    assert made.out.splitlines()[-1:] == [told], made.sentence
    assert len([*(tmp_path / "shipped").glob("*.zip")]) == 14
    assert srdcr("judge-wordings", "--out", tmp_path / "shipped").out == made.out
    next((tmp_path / "shipped" / "prompts").glob("ours*")).write_text("another", "utf-8")
    assert "is not the prompt that was tried" in srdcr("judge-wordings", "--out", tmp_path / "shipped").sentence


def test_debates_on_the_questions_of_another_study_pair_with_it(studied: Ran, tmp_path: Path) -> None:
    model = _knower(answer_from_memory="1001")
    assert _go(model, tmp_path, "--questions-of", str(studied[0] / "debates")) == 0
    theirs, ours = (lab.load_run(out / "debates").records for out in (studied[0], tmp_path))
    assert set(theirs["item_id"]) == set(ours["item_id"])
    assert lab.load_run(tmp_path / "debates").weights.equals(lab.load_run(studied[0] / "debates").weights)
    assert (tmp_path / "weights.csv").read_bytes() == (studied[0] / "weights.csv").read_bytes()


def test_half_of_the_chosen_are_known_and_weights_undo_it(studied: Ran) -> None:
    known = lab.load_run(studied[0] / "known").questions
    weights = pd.read_csv(studied[0] / "weights.csv")
    assert not set(known["question_id"]) & {item.question_id for item in facts.standard() if item.is_control}
    assert (len(known), len(weights)) == (32, 8)
    assert weights["knowledge_category"].isin(["HIGHLY_KNOWN", "MAYBE_KNOWN"]).sum() == 4
    shares = weights.groupby("knowledge_category")["weight"].sum() / len(weights)
    assert shares.to_dict() == pytest.approx(known["knowledge_category"].value_counts(normalize=True).to_dict())


@pytest.mark.parametrize(("there", "quota"), [
    ((20, 20, 20, 20), (2, 2, 2, 1)), ((1, 20, 20, 20), (1, 3, 2, 1)),
    ((1, 1, 20, 20), (1, 1, 3, 2)),  # fewer known ones than half: all of them
    ((20, 20, 1, 0), (3, 3, 1, 0)), ((1, 0, 1, 0), (1, 0, 1, 0)),
])  # fmt: skip
def test_quotas_of_seven(there: tuple[int, ...], quota: tuple[int, ...]) -> None:
    names = ("HIGHLY_KNOWN", "MAYBE_KNOWN", "WEAKLY_KNOWN", "UNKNOWN")
    found = study_real.quotas(dict(zip(names, there, strict=True)), 7)
    assert tuple(found[name] for name in names) == quota


def test_chains_are_balanced_and_every_question_of_their_hops_is_asked_once() -> None:
    chains = study_real.chains_of(80)
    assert Counter(len(item.hops) for item in chains) == {2: 80, 3: 80}
    assert Counter(item.false_hop for item in chains if len(item.hops) == 2) == {0: 40, 1: 20, 2: 20}
    questions = [item.question for item in study_real.hops_of(chains)]
    assert len(set(questions)) == len(questions) == 105


def test_a_plan_is_a_trial_and_its_hours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = _knower()
    assert _go(model, tmp_path, "--plan") == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["trial_answers", "trial_debate"]
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("hours_to", "known", "debates", "symmetric", "years"))
    before = read_manifest(tmp_path / "trial_debate")
    assert before["counts"]["calls_paid"] > 0
    assert _go(model, tmp_path, "--plan") == 0
    assert read_manifest(tmp_path / "trial_debate") == before  # its time is taken once


def _interrupting() -> Callable[[Request, int], str]:
    """What interrupts once: a second Ctrl-C is in nobody's hands."""
    left = [signal.SIGINT]

    def says(request: Request, draw: int) -> str:
        if left:
            signal.pthread_kill(threading.main_thread().ident or 0, left.pop())
        return "1004. So it is."

    return says


@pytest.mark.parametrize(("template", "says", "sentence"), [
    ("judge_debate_debater", _interrupting(), "what was received is kept"),
    ("answer_from_memory", lambda *_: CallFailed("the server is gone"), "rows of known failed"),
])  # fmt: skip
def test_a_stop_is_a_sentence_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], template: str, says: Callable[[Request, int], Any],
    sentence: str, studied: Ran,
) -> None:  # fmt: skip
    assert _go(_knower(**{template: says}), tmp_path, "--years", "1") == 3
    told = capsys.readouterr().err.strip().rpartition("\n")[2]
    assert sentence in told
    assert len(told) < 400
    assert _go(_knower(), tmp_path, "--years", "1") == 0
    tables = [pd.read_csv(out / "weighted.csv") for out in (tmp_path, studied[0])]
    pd.testing.assert_frame_equal(*tables)


@pytest.fixture(scope="module")
def shipped(studied: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the whole study."""
    data = tmp_path_factory.mktemp("data")
    study_real.ship(studied[0], data / "studies/tiny")
    return data


def test_a_finished_study_ships_as_a_bundle_of_each_part(
    studied: Ran, shipped: Path, tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, study = studied[0], shipped / "studies/tiny"
    ended = srdcr("study-real", "--out", out, "--ship", tmp_path / "again")  # no model is named or asked
    assert ended.code == 0, ended.err
    parts = {"known.zip", "debates.zip", "symmetric.zip", "years.zip"}
    assert {path.name for path in (tmp_path / "again").iterdir()} >= parts | {"weights.csv", "weighted.csv"}
    for file in study.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), "sharing twice gives equal bytes"
    monkeypatch.setattr(bundle, "shipped", lambda name: shipped / name)
    for name, part in (("tiny", "debates"), ("tiny/known", "known"), ("tiny/symmetric", "symmetric")):
        pd.testing.assert_frame_equal(lab.load_run(name).records, lab.load_run(out / part).records)
        assert "unfinished" not in lab.load_run(name).label
    srdcr.ok("replay", "tiny/symmetric", "--out", tmp_path / "replayed")
    table = prompts_report.report(["tiny"])
    assert set(table["of"]) >= {"judge (acvd)", "few_shot"}


def test_a_study_goes_on_from_what_ships(studied: Ran, shipped: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    bundles = sorted((shipped / "studies/tiny").glob("*.zip"))
    srdcr.ok("store", "merge", tmp_path / "store.sqlite", *bundles)
    out, model = studied[0], _knower()
    assert _go(model, tmp_path) == 0
    assert model.calls < 30  # of the trial alone: no bundle holds it
    ours, theirs = (lab.load_run(folder / "debates").records for folder in (tmp_path, out))
    pd.testing.assert_series_equal(ours["final_answer"], theirs["final_answer"])
    (tmp_path / "damaged.zip").write_bytes(bundles[0].read_bytes()[:-100] + b"0" * 100)
    ended = srdcr("store", "merge", tmp_path / "new.sqlite", bundles[1], tmp_path / "damaged.zip")
    assert ended.code == 2
    assert not (tmp_path / "new.sqlite").exists()


def test_an_unfinished_study_ships_as_far_as_it_has_come(studied: Ran, tmp_path: Path, srdcr: Srdcr) -> None:
    """Killed at the debates: their folder holds no tables, and the store lacks a reply about one of their items."""
    out = tmp_path / "real"
    for part in ("known", "debates"):
        shutil.copytree(studied[0] / part, out / part)
    missing = lab.load_run(out / "debates").records["question"].iloc[0]
    for table in ("records", "turns", "samples"):
        (out / f"debates/{table}.parquet").unlink()
    manifest = out / "debates/run.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"status": "done"', '"status": "running"'), "utf-8")
    with closing(Store(studied[0] / "store.sqlite")) as whole, closing(Store(out / "store.sqlite")) as some:
        for model, request, completions in whole.contents():
            if missing not in question_of(request) or "Judge" not in request.messages[0].content:
                some.put(model, request, completions)
    ended = srdcr.ok("study-real", "--out", out, "--ship", tmp_path / "ship")
    assert sorted(path.name for path in (tmp_path / "ship").iterdir()) == ["debates.zip", "known.zip"]
    held = lab.load_run(tmp_path / "ship/debates.zip")
    assert held.records["item_id"].nunique() == 14, "the question's true and false item are not done"
    assert held.label.endswith("; unfinished")
    assert "debates.zip: 14 of 16 items, " in ended.out
    srdcr.ok("replay", tmp_path / "ship/debates.zip", "--out", tmp_path / "replayed")


def test_parts_of_a_study_and_their_completions_are_found_from_each_other(
    studied: Ran, shipped: Path, tmp_path: Path
) -> None:
    for debates in (lab.load_run(shipped / "studies/tiny/debates.zip"), lab.load_run(studied[0] / "debates")):
        symmetric = debates.part("symmetric")
        assert symmetric is debates.part("symmetric") is not None, "a bundle is unpacked once"
        assert set(symmetric.records["design"]) == {"symmetric"}
        assert debates.part("trial_debate") is None
        assert debates.store
        with study_of(debates, methods=["sr_dcr"], design="acvd") as study:
            again = study.run(progress=False).records
        assert again["error"].isna().all()
        assert (set(again["method"]), set(again["design"])) == ({"sr_dcr"}, {"acvd"})
        with pytest.raises(lab.BadInput, match=r"has no design placebo; its designs are acvd, judge_alone"):
            study_of(debates, design="placebo")
        known = debates.part("known")
        assert len(debates.first_pass) == len(known.questions) == 32
        assert len(debates.weights) == debates.records["question_id"].nunique()
        assert (known.weights, debates.part("symmetric").weights) == (None, None)
        told = "; chosen questions: 25% Highly-Known and 25% Unknown (all 32 asked: 12% Highly-Known and "
        assert debates.chosen == f"{told}19% Unknown)"
        assert (known.first_pass, known.chosen) == (None, "")
    shutil.copy(shipped / "studies/tiny/debates.zip", tmp_path / "mine.zip")
    shutil.copy(shipped / "studies/tiny/symmetric.zip", tmp_path / "symmetric.zip")
    assert lab.load_run(tmp_path / "mine.zip").part("symmetric") is None, "whose it is cannot be known"
    shutil.copytree(studied[0] / "debates", tmp_path / "mine")
    with pytest.raises(lab.BadInput, match=r"no store of completions in .*; name it: --store"):
        study_of(lab.load_run(tmp_path / "mine"))


@pytest.mark.exhaustive
def test_notebooks_show_a_study_that_ships(shipped: Path, tmp_path: Path) -> None:
    """All seven, with the parts beside the debates, and no model: the scripted one cannot be loaded."""
    said = executing.shown(shipped / "studies/tiny/debates.zip", tmp_path, executing.NOTEBOOKS[:7])
    assert said == []
    for path in executing.NOTEBOOKS[:7]:
        _shows_sentences(tmp_path / path.name)
    tables = {path.stem: pd.read_csv(path) for path in (tmp_path / "figures").glob("*.csv")}
    (label,) = set(tables["00_first_study"]["label"])
    assert label.startswith("scripted:scripted; chosen questions: ")
    assert tables["01_redraws"]["n_questions"].sum() == 32, "the first pass"
    assert {"acvd", "symmetric"} <= set(tables["04_verdicts"]["design"])
    assert set(tables["05_table_1"]["method"]) >= set(study_real.COMPARED)


def _shows_sentences(path: Path) -> None:
    """No sentence of an executed notebook on what the run shows holds a number that is none."""
    outputs = [output.data for cell in executing.code_cells(path) for output in cell.outputs if "data" in output]
    texts = [data.get("text/plain", "") + data.get("text/html", "") for data in outputs]
    said = [text for text in texts if re.search(r"Supported|Contradicted|Inconclusive|Too few|Not measured", text)]
    assert said
    assert not [sentence for sentence in said if re.search(r"\bnan\b", sentence)]


def test_a_notebook_whose_question_a_run_cannot_answer_says_so(shipped: Path, tmp_path: Path) -> None:
    """Debates alone, and no symmetric ones, without which 04 shows nothing."""
    shutil.copy(shipped / "studies/tiny/debates.zip", tmp_path / "mine.zip")
    (said,) = executing.shown(tmp_path / "mine.zip", tmp_path / "out", executing.NOTEBOOKS[3:5])
    assert said.startswith("04_debates.ipynb: ")
    assert "has no item that was debated under each design (ACVD, Symmetric)" in said
    assert (tmp_path / "out/03_context_preference.ipynb").is_file()
    shutil.copy(shipped / "studies/tiny/known.zip", tmp_path / "mine.zip")
    (said,) = executing.shown(tmp_path / "mine.zip", tmp_path / "none", [executing.NOTEBOOKS[0]])
    assert said.startswith("00_start_here.ipynb: ")
    assert not list((tmp_path / "none").glob("*.ipynb"))


STUDIED = sorted(name for name in bundle.shipped_studies() if name.endswith(("/debates", "/known")))


@pytest.mark.exhaustive
@pytest.mark.parametrize("study", STUDIED)
def test_no_sentence_contradicts_a_study_that_ships(study: str, tmp_path: Path) -> None:
    """In the notebooks that its part can answer, 01 for all of them."""
    executing.shown(study, tmp_path, executing.NOTEBOOKS[:7])
    made = sorted(tmp_path.glob("[0-9]*.ipynb"))
    assert "01" in {path.name[:2] for path in made}
    for path in made:
        _shows_sentences(path)


@pytest.mark.exhaustive
def test_the_tables_of_models_are_what_their_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of the studies has all of them, and that of the Judge's wordings."""
    place = Path(models_table.__file__).parents[1] / "data/studies"
    models_table.models_table.main([], standalone_mode=False)
    printed = capsys.readouterr().out.strip().split("\n\n")
    assert len(printed) == 6
    wordings = ["--out", str(place / "qwen2.5-coder-1.5b" / "wordings")]
    judge_wordings.judge_wordings.main(wordings, standalone_mode=False)
    printed.append(capsys.readouterr().out.rpartition("chosen on")[0].strip())
    text = (place / "README.md").read_text("utf-8")
    assert all(table in text for table in printed)
    studies_text.studies_text.main([], standalone_mode=False)  # what stands in no table
    one_line = " ".join(text.split())
    assert [piece for piece in capsys.readouterr().out.splitlines() if piece not in one_line] == []


@pytest.mark.parametrize(
    "study", sorted(name.partition("/")[0] for name in bundle.shipped_studies() if name.endswith("/debates"))
)
def test_what_is_weighted_back_is_what_ships(study: str) -> None:
    run = lab.load_run(study)
    shipped = Path(bundle.__file__).parents[2] / "data/studies" / study / "weighted.csv"
    made = pd.read_csv(StringIO(csv_text(weighted_back(run.records, run.weights))))
    pd.testing.assert_frame_equal(made, pd.read_csv(shipped))


def test_what_does_not_fit_or_is_no_study_is_not_shipped(
    studied: Ran, tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nothing").mkdir()
    ended = srdcr("study-real", "--out", tmp_path / "nothing", "--ship", tmp_path / "ship")
    assert (ended.code, "holds no part of a study" in ended.sentence) == (2, True)
    for given, named in (
        ((), "--model"),
        (("--model", "gguf:nowhere.gguf"), "nowhere.gguf"),
        (("--questions", 0), "--qu"),
    ):
        assert named in srdcr.refuses("study-real", "--out", tmp_path / "nothing", *given)
    monkeypatch.setattr(study_real, "MOST_MB", 0.01)
    assert "MB may ship; nothing was written; study fewer items into another --out" in srdcr.refuses(
        "study-real", "--out", studied[0], "--ship", tmp_path / "ship"
    )
    assert not (tmp_path / "ship").exists()
