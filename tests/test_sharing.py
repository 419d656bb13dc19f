"""`srdcr share` and `srdcr replay`: what goes into a bundle, what a replay finds, and what a hostile bundle gets."""

from __future__ import annotations

import io
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import nbformat
import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.data import load_items
from srdcr_lab.data.frozen import freeze, thaw
from srdcr_lab.records import BadInput
from srdcr_lab.study import bundle
from srdcr_lab.study.notebook_files import parameters_of, same_code, shared_form, tables_of
from srdcr_lab.study.sharing import replay, share
from srdcr_lab.study.traces import check_no_traces
from tests.scripted import reader


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("shared") / "run"
    with lab.Study(reader(), "facts:testbed", limit=4, samples=3, out=out) as study:
        study.run(progress=False)
    return out


@pytest.fixture
def shared(run: Path, tmp_path: Path) -> Path:
    share(run, tmp_path / "study.zip")
    return tmp_path / "study.zip"


def _forged(path: Path, **entries: bytes) -> Path:
    """A bundle as a hostile sender would seal it: any names, any content, a digest that fits."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = bundle.VERSION + b"0" * 64
        for name, content in entries.items():
            archive.writestr(name, content)
    path.write_bytes(bundle.seal(buffer.getvalue())[0])
    return path


def test_a_shared_study_is_replayed_without_a_difference(shared: Path, tmp_path: Path) -> None:
    assert replay(shared, tmp_path / "replayed") == []
    assert (tmp_path / "replayed/run/records.parquet").is_file()


def test_sharing_twice_gives_equal_bytes(run: Path, shared: Path, tmp_path: Path) -> None:
    share(run, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == shared.read_bytes()


def test_any_changed_byte_is_reported(shared: Path, tmp_path: Path) -> None:
    content = shared.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 60)):
        changed = bytearray(content)
        changed[place] ^= 1
        (tmp_path / "changed.zip").write_bytes(changed)
        with pytest.raises(BadInput):
            bundle.unpack(tmp_path / "changed.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_changed_table_is_a_difference(shared: Path, tmp_path: Path) -> None:
    """Sealed anew, so that only the replay can tell."""
    bundle.unpack(shared, tmp_path / "opened")
    summary = tmp_path / "opened/run/summary.csv"
    summary.write_text(summary.read_text().replace("standard", "Standard"))
    files = {str(p.relative_to(tmp_path / "opened")): p for p in (tmp_path / "opened").rglob("*") if p.is_file()}
    bundle.pack(files, tmp_path / "forged.zip")
    assert replay(tmp_path / "forged.zip", tmp_path / "replayed") == ["summary.csv: its bytes differ"]


def test_a_completion_that_is_missing_is_a_difference(shared: Path, tmp_path: Path) -> None:
    bundle.unpack(shared, tmp_path / "opened")
    store = tmp_path / "opened/store.jsonl"
    store.write_text("".join(store.read_text().splitlines(keepends=True)[1:]))
    files = {str(p.relative_to(tmp_path / "opened")): p for p in (tmp_path / "opened").rglob("*") if p.is_file()}
    bundle.pack(files, tmp_path / "forged.zip")
    assert any(found.startswith("records.parquet") for found in replay(tmp_path / "forged.zip", tmp_path / "replayed"))


@pytest.mark.parametrize("name", ["../out.txt", "/etc/out", "run/../../out", "run/x.csv", "notebooks/x.py", "C:\\out"])
def test_no_path_leaves_the_folder(name: str, tmp_path: Path) -> None:
    forged = _forged(tmp_path / "forged.zip", **{name: b"x"})
    with pytest.raises(BadInput, match="no part of a bundle"):
        bundle.unpack(forged, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_LARGEST_FILE", 1000)
    forged = _forged(tmp_path / "forged.zip", **{"run/run.json": b"0" * 1_000_000})
    with pytest.raises(BadInput, match="unpacks to more than"):
        bundle.unpack(forged, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all"])
def test_what_is_no_bundle_is_said_to_be_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(BadInput, match="no bundle"):
        replay(tmp_path / "x.zip", tmp_path / "out")


def test_a_manifest_of_another_making_is_bad_input(shared: Path, tmp_path: Path) -> None:
    bundle.unpack(shared, tmp_path / "opened")
    manifest = tmp_path / "opened/run/run.json"
    manifest.write_text(manifest.read_text().replace('"tau": 0.9', '"tau": "0.9"'))
    files = {str(p.relative_to(tmp_path / "opened")): p for p in (tmp_path / "opened").rglob("*") if p.is_file()}
    bundle.pack(files, tmp_path / "forged.zip")
    with pytest.raises(BadInput, match="choices, tau: expected float"):
        replay(tmp_path / "forged.zip", tmp_path / "replayed")


def test_a_folder_in_use_is_not_replayed_into(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="not empty"):
        replay(shared, tmp_path / "full")


def test_an_unfinished_run_is_not_shared(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    manifest = tmp_path / "run/run.json"
    manifest.write_text(manifest.read_text().replace('"status": "done"', '"status": "stopped"'))
    with pytest.raises(BadInput, match="not finished"):
        share(tmp_path / "run", tmp_path / "study.zip")


def test_a_run_that_its_store_does_not_make_is_not_shared(run: Path, tmp_path: Path) -> None:
    with lab.Study(reader(), "facts", limit=2, samples=0, out=tmp_path / "other") as other:
        other.run(progress=False)
    with pytest.raises(BadInput, match="cannot be replayed"):
        share(run, tmp_path / "study.zip", store=tmp_path / "other/store.sqlite")
    assert not (tmp_path / "study.zip").exists()


# What must stay here -------------------------------------------------------------------------------------------------


def test_a_key_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-my-own-1234")
    with pytest.raises(BadInput, match="OPENAI_API_KEY"):
        check_no_traces("run.json", b"... a-key-of-my-own-1234 ...")


def test_a_path_of_this_machine_is_not_shared() -> None:
    with pytest.raises(BadInput, match="the path"):
        check_no_traces("run.json", f"{Path.cwd()}/items.csv".encode())


def test_what_looks_like_a_key_is_not_shared() -> None:
    with pytest.raises(BadInput, match="looks like a key"):
        check_no_traces("store.jsonl", b"my key is sk-" + b"a1" * 20)


# Items and notebooks as files ----------------------------------------------------------------------------------------


def test_items_come_back_as_they_were(tmp_path: Path) -> None:
    items = load_items("facts:testbed")
    (tmp_path / "items.json").write_text(freeze(items))
    assert load_items(tmp_path / "items.json") == items


def test_damaged_items_are_named(tmp_path: Path) -> None:
    items = replace(load_items("facts").limit(2))
    (tmp_path / "items.json").write_text(freeze(items).replace('"level": "standard"', '"level": "huge"', 1))
    with pytest.raises(BadInput, match="item 1, level: expected one of standard"):
        thaw(tmp_path / "items.json")


def _notebook(path: Path, *, limit: int = 4, code: str = "x = 1", items: str = "facts") -> Path:
    table = pd.DataFrame({"a": [1]}).to_html()
    cells = [
        nbformat.v4.new_code_cell('ITEMS = "facts"\nLIMIT = None  # all', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(
            f"# Parameters\nITEMS = {items!r}\nLIMIT = {limit}", metadata={"tags": ["injected-parameters"]}
        ),
        nbformat.v4.new_code_cell(
            code, outputs=[nbformat.v4.new_output("display_data", data={"text/html": table, "text/plain": "a"})]
        ),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_parameters_of_a_notebook_are_those_it_ran_with(tmp_path: Path) -> None:
    assert parameters_of(_notebook(tmp_path / "a.ipynb")) == {"ITEMS": "facts", "LIMIT": 4}


def test_a_parameter_that_is_code_is_refused(tmp_path: Path) -> None:
    path = _notebook(tmp_path / "a.ipynb")
    path.write_text(path.read_text().replace("LIMIT = 4", "LIMIT = open('x')"))
    with pytest.raises(BadInput, match="LIMIT is no plain value"):
        parameters_of(path)


def test_code_is_compared_apart_from_parameters(tmp_path: Path) -> None:
    one = _notebook(tmp_path / "a.ipynb", limit=4)
    assert same_code(one, _notebook(tmp_path / "b.ipynb", limit=5))
    assert not same_code(one, _notebook(tmp_path / "c.ipynb", code="x = 2"))


def test_tables_of_a_notebook(tmp_path: Path) -> None:
    (table,) = tables_of(_notebook(tmp_path / "a.ipynb"))
    assert 'class="dataframe"' in table


def test_a_shared_notebook_names_no_folder(tmp_path: Path) -> None:
    path = _notebook(tmp_path / "a.ipynb", items="/home/somebody/items.json")
    assert "somebody" not in shared_form(path)
    assert "ITEMS = 'items.json'" in shared_form(path)
