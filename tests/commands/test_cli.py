"""The outside handles: what `srdcr plan` and `srdcr run` print, write, refuse and return."""

import asyncio
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from srdcr_lab.commands import as_text
from srdcr_lab.protocols import sr_dcr
from srdcr_lab.records import SCHEMA_VERSION, BadInput, ConfidenceKind, check_schema
from srdcr_lab.records.tables import TABLES
from srdcr_lab.study import Study, load_run
from srdcr_lab.study.results import table_writer
from srdcr_lab.study.run import Cause, ItemRows, progress_bar, wait_for
from tests.conftest import Ended, Srdcr
from tests.loopback.fixture import years_of
from tests.loopback.server import Loopback

# the columns that others depend on
DESIGNED = {
    "records": "item_id question_id domain answer_type gold_answer claimed_answer perturbation_kind perturbation_value "
    "level prior_answer context_answer self_confidence confidence_kind knowledge_category verdict decision "
    "final_answer method design model model_defender model_critic model_judge sampled_accuracy n_samples correct "
    "prior_correct context_correct verdict_path r_star calls_alone calls_paid prompt_tokens completion_tokens "
    "cost_usd error condition right",
    "turns": "item_id method round role text verdict saw_passage saw_turns",
    "samples": "question_id stream draw text answer correct logprobs",
}
FILES = {"records.parquet", "turns.parquet", "samples.parquet", "summary.csv", "run.json", "items.json", "store.sqlite"}


@pytest.fixture
def small(openai: list[object], items_csv: Path) -> list[object]:
    """A run of three items that takes few calls."""
    return ["run", *openai, "--items", items_csv, "--samples", 2, "--rounds", 2]


@pytest.fixture
def facts_run(openai: list[object], tmp_path: Path, srdcr: Srdcr) -> tuple[Path, Ended]:
    out = tmp_path / "out"
    ended = srdcr.ok("run", *openai, "--items", "facts", "--methods", "sr_dcr", "--limit", 6, "--out", out)
    return out, ended


def test_every_file_and_column_of_the_design(facts_run: tuple[Path, Ended], loopback: Loopback) -> None:
    out, ended = facts_run
    assert {entry.name for entry in out.iterdir() if not re.search("-(wal|shm)$", entry.name)} == FILES
    tables = {name: pq.read_table(out / f"{name}.parquet") for name in TABLES}
    for name, table in tables.items():
        check_schema(name, table.schema, name)
        assert set(DESIGNED[name].split()) <= set(table.column_names)
    records = tables["records"].to_pandas()
    assert len(records) == 6
    assert records["error"].isna().all()
    assert (records["calls_alone"] == 1 + 1 + 6 * 3).all()  # prior and context answer, six rounds of three
    assert records["verdict_path"].str.fullmatch("[RU?]{6}").all()
    assert set(records["confidence_kind"]) == {"mean_logprob"}
    assert set(records["n_samples"]) == {32}
    assert len(tables["turns"]) == 6 * 18
    samples = tables["samples"].to_pandas()
    assert samples.groupby("stream").size().to_dict() == {"greedy": 6, "knowledge": 6 * 32}
    _summary_and_manifest(out, records, loopback)
    assert f"results in {out}" in ended.out
    assert "true passages %" in ended.out
    assert ended.out.splitlines()[-1] == f"to look further: srdcr notebooks --run {out}"


def _summary_and_manifest(out: Path, records: pd.DataFrame, loopback: Loopback) -> None:
    summary = pd.read_csv(out / "summary.csv")
    assert list(summary["condition"]) == ["standard", "perturbed", "overall"]
    overall = summary.iloc[2]
    assert overall["n"] == 6
    assert overall["n_answered"] == records["correct"].notna().sum()
    assert overall["accuracy"] == pytest.approx((records["correct"] == True).mean())  # noqa: E712 (missing is not right)
    manifest = json.loads((out / "run.json").read_text("utf-8"))
    assert manifest["schema_version"] == SCHEMA_VERSION
    assert manifest["status"] == "done"
    assert {"python", "srdcr-lab", "openai"} <= set(manifest["versions"])
    asked = manifest["asked"]
    assert (asked["items"], asked["limit"], asked["methods"], asked["seed"]) == ("facts", 6, ["sr_dcr"], 0)
    assert asked["choices"]["tau"] == 0.9
    assert asked["models"]["judge"] == {"provider": "openai", "name": "test", "label": "", "fingerprint": ""}
    assert {"answer_from_memory", "judge"} <= set(asked["prompts_sha256"])
    paid = sum(asked.choices for asked in loopback.completions)
    counts = manifest["counts"]
    assert counts.pop("wall_s") > 0
    assert set(counts.pop("causes")) <= {Cause.REPEATS, Cause.UNREADABLE}  # the server replies to a date with a year
    assert counts == {
        "records": 6, "turns": 108, "samples": 6 * 33, "failed": 0, "calls_paid": paid, "completions_in_store": paid,
    }  # fmt: skip
    assert manifest["sent"]["openai:test"]["served_models"] == ["test-2026-01-01"]


def test_a_study_opens_its_folder_with_its_first_call(loopback: Loopback, items_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    options = {"base_url": loopback.openai_url, "rounds": 1, "samples": 0, "out": out}
    with Study("openai:test", items_csv, "sr_dcr", **options) as study:  # type: ignore[arg-type]
        assert wait_for(sr_dcr(next(iter(study.items)), study.setup)).debate is not None
        asked = len(loopback.completions)
        study.run(progress=False)
        repeated = {one.key for one in loopback.completions[:asked]} & {one.key for one in loopback.completions[asked:]}
        assert repeated == set()


def test_roles_by_other_models(openai: list[object], items_csv: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    command = ["run", *openai, "--items", items_csv, "--methods", "sr_dcr", "--samples", 0, "--rounds", 1]
    srdcr.ok(*command, "--judge", "openai:court", "--critic", "openai:test#other", "--out", tmp_path / "out")
    (row, *_) = load_run(tmp_path / "out").records.to_dict("records")
    assert [row[f"model_{role}"] for role in ("defender", "critic", "judge")] == [
        "openai:test",
        "openai:test#other",
        "openai:court",
    ]


@pytest.mark.parametrize(("change", "named"), [
    (["--tau", 0.8], "tau was 0.9, is now 0.8"), (["--samples", 3], "knowledge_draws was 2, is now 3"),
    (["--seed", 1], "seed was 0, is now 1"), (["--limit", 2], "limit was null, is now 2"),
    (["--methods", "sr_dcr"], 'methods was ["few_shot", "sr_dcr"], is now ["sr_dcr"]'),
    (["--model", "openai:other"], 'models.answerer.name was "test", is now "other"'),
    (["--judge", "openai:test#two"], 'models.judge.label was "", is now "two"'),
    (["--preset", "released"], 'preset was "paper", is now "released"'),
])  # fmt: skip
def test_a_run_with_other_arguments_is_refused_by_name(
    small: list[object], tmp_path: Path, srdcr: Srdcr, change: list[object], named: str
) -> None:
    _once(small, tmp_path, srdcr)
    before = {entry.name: entry.read_bytes() for entry in (tmp_path / "out").iterdir()}
    assert f"holds a run with other arguments ({named})" in srdcr.refuses(*small, *change, "--out", tmp_path / "out")
    assert {entry.name: entry.read_bytes() for entry in (tmp_path / "out").iterdir()} == before


def _once(small: list[object], tmp_path: Path, srdcr: Srdcr) -> None:
    """The folder as an interrupted run leaves it: checked before anything is asked, so the manifest is enough."""
    out = tmp_path / "out"
    given = {str(name): value for name, value in zip(small[1::2], small[2::2], strict=True)}
    study = Study("openai:test", str(given["--items"]), base_url=str(given["--base-url"]), samples=2, rounds=2, out=out)
    out.mkdir()
    (out / "run.json").write_text(
        json.dumps({"schema_version": SCHEMA_VERSION, "asked": study.asked(), "spent_usd": 0.0})
    )


@pytest.mark.parametrize(("change", "named"), [
    (("The bridge was", "A bridge was"), "of item row-1 the context was 'The bridge was"),
    (("When was the bridge built?,1874", "When was the bridge built?,1875"),
     "holds a run with other items (item row-1 is gone)"),
])  # fmt: skip
def test_the_row_of_a_table_that_has_changed_is_named(
    openai: list[object], items_csv: Path, tmp_path: Path, srdcr: Srdcr, change: tuple[str, str], named: str
) -> None:
    command = ["run", *openai, "--items", items_csv, "--methods", "few_shot", "--samples", 0, "--out", tmp_path / "out"]
    srdcr.ok(*command)
    items_csv.write_text(items_csv.read_text().replace(*change))
    ended = srdcr(*command)
    assert (ended.code, named in ended.sentence) == (2, True), ended.sentence
    assert "sha256" not in ended.sentence
    assert len(ended.sentence) < 400


def test_a_folder_with_something_else_is_refused(small: list[object], tmp_path: Path, srdcr: Srdcr) -> None:
    out = tmp_path / "photographs"
    out.mkdir()
    (out / "bridge.jpg").touch()
    assert "is not a results folder" in srdcr.refuses(*small, "--out", out)
    assert [entry.name for entry in out.iterdir()] == ["bridge.jpg"]


@pytest.mark.parametrize("left", [(), ("run.json.part",)])
def test_an_empty_folder_and_what_a_run_leaves_that_was_killed_before_it_began_are_taken(
    small: list[object], tmp_path: Path, srdcr: Srdcr, left: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in left:
        (out / name).write_text("{")
    srdcr.ok(*small, "--out", out)


def _fail_after(rows: int, folder: Path) -> None:
    with table_writer(folder) as add:
        add(ItemRows(SimpleNamespace(question_id="q"), records=[{"item_id": "a"}] * rows))  # type: ignore[arg-type]
        assert list(folder.glob("*.part-*"))
        raise RuntimeError


def test_an_exception_leaves_the_tables_of_an_earlier_run_and_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        _fail_after(6000, tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "records.parquet.part-1").touch()  # of a run that was killed
    with table_writer(tmp_path):
        pass
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    assert set(before) == {f"{name}.parquet" for name in TABLES}
    with pytest.raises(RuntimeError):
        _fail_after(6000, tmp_path)
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["~", "con:", "file:"])
def test_a_folder_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A library that takes such a name for the home folder or an address would write elsewhere."""
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir()
    with table_writer(Path(name)):
        pass
    assert {path.name for path in (tmp_path / name).iterdir()} == {f"{table}.parquet" for table in TABLES}
    assert len(list(tmp_path.iterdir())) == 1


def test_rows_of_many_groups_arrive_in_order(tmp_path: Path) -> None:
    names = [f"row-{number}" for number in range(12_001)]
    with table_writer(tmp_path) as add:
        for name in names:
            add(ItemRows(SimpleNamespace(question_id="q"), records=[{"item_id": name}]))  # type: ignore[arg-type]
    table = pq.read_table(tmp_path / "records.parquet")
    assert table.column("item_id").to_pylist() == names


def test_results_of_a_run_that_has_not_finished(small: list[object], tmp_path: Path, srdcr: Srdcr) -> None:
    _once(small, tmp_path, srdcr)
    with pytest.raises(BadInput, match=r"has no records\.parquet; the run has not finished"):
        _ = load_run(tmp_path / "out").records


Ends = tuple[int, int]


def _plan(ended: Ended) -> dict[str, tuple[Ends, Ends]]:
    """Calls alone and shared by row of the printed plan, each at least and at most: one number where they are equal."""
    row = r"^ *(few_shot|sr_dcr|the whole run)(?: \(\w+\))? +([\d,–]+) +([\d,–]+) "

    def ends(printed: str) -> Ends:
        least, _, most = printed.replace(",", "").partition("–")
        return int(least), int(most or least)

    return {name: (ends(alone), ends(shared)) for name, alone, shared in re.findall(row, ended.out, re.MULTILINE)}


@pytest.mark.parametrize(("design", "items", "confidence"), [
    ("acvd", "facts:testbed", "auto"), ("symmetric", "own", "verbalized"),
    ("released", "facts:testbed", "self_consistency"),
])  # fmt: skip
def test_the_plan_says_what_a_run_then_pays(
    openai: list[object], loopback: Loopback, items_csv: Path, tmp_path: Path, srdcr: Srdcr, design: str, items: str,
    confidence: str,
) -> None:  # fmt: skip
    """A run whose every ruling has its line pays the least; at most each of six rulings is asked for once more, in the
    released design none."""
    source = items_csv if items == "own" else years_of(items, tmp_path, 60)
    study = [*openai, "--items", source, "--limit", 4, "--design", design, "--confidence", confidence, "--samples", 5]
    planned = srdcr.ok("plan", *study)
    assert loopback.asked == []
    calls = _plan(planned)
    assert "will probably be missed (80 % power" in planned.out
    srdcr.ok("run", *study, "--out", tmp_path / "out")
    records = load_run(tmp_path / "out").records
    for method in ("few_shot", "sr_dcr"):
        rows = records.query("method == @method")
        least, repairs = rows["calls_alone"].sum(), 6 * len(rows) * (method == "sr_dcr" and design != "released")
        assert calls[method][0] == (least, least + repairs)
    paid = sum(asked.choices for asked in loopback.completions)
    assert calls["the whole run"][1][0] == paid == load_run(tmp_path / "out").manifest["counts"]["calls_paid"]


def test_a_plan_needs_no_key(srdcr: Srdcr, no_keys: None) -> None:
    planned = srdcr.ok(
        "plan", "--model", "anthropic:claude", "--judge", "openai:gpt-4o", "--limit", 2, "--methods", "all"
    )
    planned_rows = [line for line in planned.out.splitlines() if not line.startswith("note: ")]
    assert "token_probability" not in " ".join(planned_rows)  # which needs log-probabilities, as a note says


def test_a_narrow_terminal_breaks_no_name_and_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setenv("COLUMNS", "30")
    table = pd.DataFrame({"method": ["few_shot per hop"], "calls": ["785,447–3,154,311"], "error": [0]})
    assert as_text(table).splitlines()[-1] == "method: few_shot per hop; calls: 785,447–3,154,311"


@pytest.mark.parametrize("help_of", [[], ["plan"], ["run"], ["data"], ["store"]])
def test_help(srdcr: Srdcr, help_of: list[str]) -> None:
    ended = srdcr(*help_of, "--help")
    assert (ended.code, ended.out.startswith("Usage: srdcr")) == (0, True)
    assert "..." not in ended.out.replace("[ARGS]...", "")  # every command's line is whole on 80 columns


def test_help_of_a_run_has_headings_and_examples(srdcr: Srdcr) -> None:
    lines = srdcr("run", "--help").out.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Model:", "Questions:", "Methods:", "Cost:", "Output:"]
    assert sum(line.strip().startswith("srdcr run ") for line in lines) == 2
    assert [kind for kind in ConfidenceKind if kind not in "\n".join(lines)] == []


HOSTILE = "\x1b[2J\u202etxt\u2066\U000e0020"


def test_nothing_unseen_reaches_a_terminal(tmp_path: Path, srdcr: Srdcr) -> None:
    """Whatever a command prints of a table, a path or its arguments; the spaces of its tables stay."""
    items = tmp_path / f"it{HOSTILE}ems.csv"
    passage = "The bridge was built in 1874."
    items.write_text(
        f"question,gold_answer,context,domain,item_id\nWhen?,1874,{passage},{HOSTILE}years,{HOSTILE}a\n", "utf-8"
    )
    out = tmp_path / f"o{HOSTILE}ut"
    said = [
        srdcr("plan", "--model", f"openai:{HOSTILE}x", "--items", items, "--samples", 0),
        srdcr("run", "--offline", "--model", f"openai:{HOSTILE}x", "--items", items, "--samples", 0, "--out", out),
        srdcr("data", "check", items), srdcr("data", "perturb", items), srdcr("run", f"--{HOSTILE}"),
        srdcr(f"{HOSTILE}"), srdcr("store", "info", tmp_path / HOSTILE), srdcr("plan", "--methods", HOSTILE),
    ]  # fmt: skip
    assert [ended.code for ended in said] == [0, 1, 0, 0, 2, 2, 2, 2]
    for ended in said:
        printed = (ended.out + ended.err).replace("\n", "").replace("\r", "")  # which redraws the progress bar
        assert printed.isprintable(), ascii(printed)
        assert "\U000e0020" not in printed
    assert re.search(r"method +items +true passages % +false passages % +mean %", said[1].out)


def test_a_log_hears_of_a_run_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srdcr_lab.study.run.LOGGED_EVERY_S", 0.001)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # in a notebook a bar is shown instead
    session: Any = SimpleNamespace(served=12, budget=SimpleNamespace(spent_usd=0.5))
    said = ""

    async def run() -> None:
        nonlocal said
        with progress_bar(session, 40, show=True) as bar:
            bar()
            bar()
            while not said.endswith("\n"):
                await asyncio.sleep(0.001)
                said += capsys.readouterr().err

    asyncio.run(asyncio.wait_for(run(), timeout=20))
    assert said.strip().splitlines()[0] == "2 of 40 answers, 0:00:00 passed, 12 completions, $0.5000"


def test_a_table_becomes_a_page_and_so_does_a_finished_run(
    openai: list[object], items_csv: Path, tmp_path: Path, srdcr: Srdcr
) -> None:
    (page, again), store = (tmp_path / name for name in ("page.html", "again.html")), tmp_path / "s.sqlite"
    ended = srdcr("report", items_csv, *openai, "--store", store, "--limit", 4, "--out", page)
    assert (ended.code, ended.out) == (0, f"{page}: openai:test\n")
    text = page.read_text("utf-8")
    assert f"{items_csv.name}: at what confidence may the model answer from memory?" in text
    assert "srdcr-answer" in text
    small = ["--items", items_csv, "--methods", "few_shot", "--samples", 2, "--store", store]
    srdcr.ok("run", *openai, *small, "--out", tmp_path / "run")
    srdcr.ok("report", "--run", tmp_path / "run", "--out", again)
    assert "No τ is guaranteed" in again.read_text("utf-8")
    srdcr.ok("report", "--run", "elements", "--out", again)
    assert "Few-shot repeats the claim of" in again.read_text("utf-8"), "its passages are another part"


@pytest.mark.parametrize(("given", "said"), [
    ([], "name a TABLE to study"), (["facts", "--run", "pocket"], "and not both"),
    (["facts", "--out", "."], "give a file in an existing folder"),
    (["facts", "--out", "none/page.html"], "give a file in an existing folder"),
    (["--run", "no-such-run"], "there is no run no-such-run"),
    (["mine.csv", "--out", "./mine.csv"], "mine.csv is also read here, or written twice"),
    (["--run", "pocket", "--limit", 3], "--run names a study with its model and items: leave --limit out"),
    (["facts", "--alpha", 2], "--alpha"), (["--run", "pocket", "--tau", 5], "tau"),
])  # fmt: skip
def test_what_no_report_can_be_made_of_is_one_sentence(given: list[object], said: str, srdcr: Srdcr) -> None:
    assert said in srdcr.refuses("report", *given)
