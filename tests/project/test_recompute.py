"""`tools/recompute.py`, which shares nothing with the package, finds the same numbers, and one that was changed."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import recompute

from srdcr_lab import cli, load_run
from srdcr_lab.confidence import precision_steps
from srdcr_lab.final_answer import utility
from srdcr_lab.knowledge import categories_by_domain, categories_by_draws
from srdcr_lab.lib.comparison import compare_all
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.summary import table_1, table_2
from tests.loopback.fixture import years_of
from tests.loopback.server import Loopback

Audit = Callable[[Path], tuple[int, str]]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of every method, with its store."""
    folder = tmp_path_factory.mktemp("recompute")
    out, items = folder / "out", years_of("facts:testbed", folder)
    with pytest.MonkeyPatch.context() as patch, Loopback() as server:
        patch.setenv("NO_PROXY", "127.0.0.1")
        given = f"run --model openai:test --base-url {server.openai_url} --items {items} --limit 4 --samples 4"
        with pytest.raises(SystemExit) as ended:
            cli.main([*given.split(), "--methods", "all", "--out", str(out)])
        assert ended.value.code == 0
    return out


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Audit:
    """Exit code and output of `python tools/recompute.py DIR`."""

    def run(folder: Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["recompute.py", str(folder)])
        return recompute.main(), capsys.readouterr().out

    return run


def test_every_number_is_found_again(published: Path, audit: Audit) -> None:
    code, out = audit(published)
    assert code == 0, [line for line in out.splitlines() if "<- differs" in line]
    summary = pd.read_csv(published / "summary.csv")
    names = summary.columns.drop(["model", "method", "condition", "design"], errors="ignore")
    assert sum(line.startswith("summary.csv ") for line in out.splitlines()) == len(summary) * len(names) + 1
    assert all(f"records.{name}" in out for name in ("self_confidence", "knowledge_category", "verdict", "decision"))


CHANGES: tuple[tuple[str, str, object], ...] = (
    ("summary.csv", "accuracy", 0.123), ("summary.csv", "selective_accuracy_high", 0.98),
    ("summary.csv", "n_abstained", 7), ("records.parquet", "sampled_accuracy", 0.55),
    ("records.parquet", "final_answer", "1701"), ("turns.parquet", "verdict", "UNPARSED"),
    ("samples.parquet", "answer", "1701"),
)  # fmt: skip


@pytest.mark.parametrize("name", ["elements/passages", "smollm2-135m/judged"])
def test_replies_of_real_models_are_read_alike(name: str, tmp_path: Path, audit: Audit) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["replay", name, "--out", str(tmp_path / "replayed")])
    assert ended.value.code == 0
    code, out = audit(tmp_path / "replayed" / "run")
    assert code == 0, [line for line in out.splitlines() if "<- differs" in line]


def test_what_was_changed_is_found(published: Path, tmp_path: Path, audit: Audit) -> None:
    folder = shutil.copytree(published, tmp_path / "changed")
    for table, column, value in CHANGES:
        path = folder / table
        changed = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
        changed.loc[changed.index[changed[column].notna()][-1], column] = value
        changed.to_csv(path, index=False) if path.suffix == ".csv" else changed.to_parquet(path, index=False)
    pd.read_csv(folder / "summary.csv").iloc[1:].to_csv(folder / "summary.csv", index=False)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    run["counts"]["turns"] += 1
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    code, out = audit(folder)
    assert code == 1
    wrong = [line for line in out.splitlines() if "<- differs" in line]
    for table, column, value in CHANGES:
        name = table.removesuffix(".parquet")
        assert any(line.startswith(name) and column in line and f"{value}"[:22] in line for line in wrong), column
    assert any(line.startswith("run.json counts turns") for line in wrong)
    assert any(line.startswith("summary.csv methods and conditions without a row") for line in wrong)


def test_without_a_store_or_results(
    published: Path, tmp_path: Path, audit: Audit, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(published, tmp_path / "bare", ignore=shutil.ignore_patterns("store*"))
    code, out = audit(folder)
    assert code == 0
    assert "records.context_answer: no clear reply in the store: the published answer is used" in out
    assert "records.prompt_tokens: a reply that is counted is in no table, and not one alone in the store" in out
    with pytest.raises(SystemExit) as ended:
        audit(tmp_path)
    assert ended.value.code == 2
    assert "no results folder, it has no run.json" in capsys.readouterr().err


def test_tables_of_the_notebooks_are_found_again(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = load_run(published)
    made = {
        "01_categories": categories_by_domain(run.questions), "01_draws": categories_by_draws(run.questions),
        "02_precision": precision_steps(run.questions.self_confidence, highly_known(run.questions)).frame(),
        "05_table_1": table_1(run.records).cells, "05_table_2": table_2(run.records).cells,
        "05_comparisons": compare_all(run.records), "05_utility": utility(run.records),
    }  # fmt: skip
    for name, table in made.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.setattr(sys, "argv", ["recompute.py", str(published), "--figures", str(tmp_path)])
    code, out = recompute.main(), capsys.readouterr().out
    assert code == 0, [line for line in out.splitlines() if "<- differs" in line]
    for name in made:
        assert f"{name}.csv: rows that are ours alone" in out
    for name in made:
        (tmp_path / f"{name}.csv").unlink()
    made["02_precision"].assign(high=0.77).to_csv(tmp_path / "02_precision.csv", index=False)
    assert recompute.main() == 1
