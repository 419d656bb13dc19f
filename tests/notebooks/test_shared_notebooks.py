"""Executed notebooks in a bundle: as files, as tables to compare, and executed again somewhere else."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.records import BadInput, Capabilities, ModelIdentity
from srdcr_lab.study import bundle, notebooks, opening
from srdcr_lab.study import share as sharing
from srdcr_lab.study.notebooks import parameters_of, portable, run_notebooks, shared_form
from srdcr_lab.study.opening import AbsentModel, load_model
from srdcr_lab.study.share import Replayed, bundled_parameters, replay, share
from tests.scripted import reader

FRAME = pd.DataFrame({"a": [1, 2], "calls_paid": [7, 8]})


def _notebook(path: Path, *, limit: int = 4, code: str = "x = 1", items: str = "facts") -> Path:
    cells = [
        nbformat.v4.new_code_cell('ITEMS = "facts"\nLIMIT = None  # all', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(
            f"# Parameters\nITEMS = {items!r}\nLIMIT = {limit}", metadata={"tags": ["injected-parameters"]}
        ),
        nbformat.v4.new_code_cell(
            code, outputs=[nbformat.v4.new_output("display_data", data={"text/html": FRAME.to_html()})]
        ),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


# As files ---------------------------------------------------------------------------------------------------------


def test_parameters_of_a_notebook_are_those_it_ran_with(tmp_path: Path) -> None:
    assert parameters_of(_notebook(tmp_path / "a.ipynb")) == {"ITEMS": "facts", "LIMIT": 4}


def test_a_parameter_that_is_code_is_refused(tmp_path: Path) -> None:
    path = _notebook(tmp_path / "a.ipynb")
    path.write_text(path.read_text().replace("LIMIT = 4", "LIMIT = open('x')"))
    with pytest.raises(BadInput, match="LIMIT is no plain value"):
        parameters_of(path)


@pytest.mark.parametrize(
    "items", ["/home/somebody/my.csv", "ramdocs=/home/somebody/my.csv", "hf:/home/somebody/my.csv"]
)
def test_a_shared_notebook_names_no_folder(tmp_path: Path, items: str) -> None:
    shared = shared_form(_notebook(tmp_path / "a.ipynb", items=items))
    assert "somebody" not in shared
    assert f"ITEMS = '{items.replace('/home/somebody/', '')}'" in shared
    assert "LIMIT = None  # all" in shared


def test_a_warning_names_its_module_and_no_folder(tmp_path: Path) -> None:
    path = _notebook(tmp_path / "a.ipynb")
    notebook = nbformat.read(path, 4)
    warning = "one/two\n/some where/lib/plots/differences.py:52: UserWarning: identical limits\n  ax.plot()\n"
    notebook.cells[-1].outputs.append(nbformat.v4.new_output("stream", name="stderr", text=warning))
    nbformat.write(notebook, path)
    (tmp_path / "b.ipynb").write_text(shared_form(path))
    said = nbformat.read(tmp_path / "b.ipynb", 4).cells[-1].outputs[-1].text
    assert said == "one/two\ndifferences.py:52: UserWarning: identical limits\n  ax.plot()\n"


def test_what_an_output_says_of_the_parameters_folder_is_cut_too(tmp_path: Path) -> None:
    path = _notebook(tmp_path / "a.ipynb", items="/home/somebody/my.csv", code="# see /home/somebody/transcripts.html")
    assert "# see transcripts.html" in shared_form(path)
    assert "/usr" in shared_form(_notebook(path, items="/my.csv", code="# /usr stays"))


@pytest.mark.parametrize(
    ("value", "cut"),
    [
        ("facts:testbed", "facts:testbed"),
        ("hf:ORG/NAME", "hf:ORG/NAME"),
        ("openai:gpt-4o#desk", "openai:gpt-4o#desk"),
        ("../my.csv", "my.csv"),
        ("C:\\Users\\me\\my.csv", "my.csv"),
        ("hf:~/weights", "hf:weights"),
        ("gguf:/home/me/some.gguf", "gguf:some.gguf"),
        ("../results/store.sqlite", "../results/store.sqlite"),
        (0.9, 0.9),
    ],
)
def test_a_parameter_without_its_folder(value: Any, cut: Any) -> None:
    assert portable(value) == cut


# What a bundle decides --------------------------------------------------------------------------------------------

CAST = {"answerer": AbsentModel(ModelIdentity("openai", "desk"), Capabilities(logprobs=True))}
SHIPPED_NOTEBOOKS = notebooks.sequence(notebooks.SEQUENCE)
PLACES = {*sharing._PLACES}
DECLARED = [(path, name) for path in SHIPPED_NOTEBOOKS for name in parameters_of(path)]


def _hostile(place: Path) -> list[Any]:
    """What a parameter could be given to reach a file, a model, a server or code: `place` holds a file and a link."""
    file = place / "secret.csv"
    paths = [
        str(file), str(file).lstrip("/"), "secret.csv", "../secret.csv", "../../b/OUTSIDE/run",
        "items/../../secret.csv",
        "my.csv/../../secret.csv", ".", "..", "/", "~", "~/secret.csv", "~root/x.csv", "link.csv", "items/link.csv",
        str(place / "link.csv"), "\\\\server\\share\\x.csv", "//server/share/x.csv", "C:\\x.csv", "C:x.csv",
        "file:///etc/passwd", "%2e%2e%2fsecret.csv", "..%2fsecret.csv", "%2Fetc%2Fpasswd", "my.csv\0",
        "\u2025/secret.csv", "MY.CSV", "my.csv ",
    ]  # fmt: skip
    prefixed = [f"{prefix}{path}" for prefix in ("hf:", "ramdocs=", "ramdocs:documents=", "no_such=") for path in paths]
    servers = ["openai:other", "openai:desk#https://x", "http://127.0.0.1:1/v1", "hf:ORG/NAME", "anthropic:x"]
    code = ['");import os#', "x\nimport os", "x\\", "{0}", "\x1b[2J", "\u202e", '"""']
    numbers = [
        True,
        -1,
        0,
        2**63,
        1.5,
        1e308,
        float("nan"),
        float("inf"),
        b"x",
        [],
        {},
        ("facts",),
        "60/",
        "1" * 10_000,
    ]
    return [*paths, *prefixed, *servers, *code, *numbers]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Beside a bundle's items, with one table of its own: a file, and a link to it."""
    (tmp_path / "items").mkdir()
    (tmp_path / "items/my.csv").write_text("x")
    (tmp_path / "secret.csv").write_text("x")
    (tmp_path / "link.csv").symlink_to(tmp_path / "secret.csv")
    return tmp_path


def _given(notebook: Path, target: Path, values: dict[str, Any]) -> Path:
    """The notebook as one in a bundle, executed with these values."""
    content = nbformat.read(notebook, 4)
    lines = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    content.cells.append(nbformat.v4.new_code_cell(lines, metadata={"tags": ["injected-parameters"]}))
    nbformat.write(content, target)
    return target


def test_every_notebook_may_stand_in_a_bundle() -> None:
    names = [f"notebooks/{path.name}" for path in SHIPPED_NOTEBOOKS]
    assert [name for name in names if not bundle._NAME.fullmatch(name)] == []


@pytest.mark.parametrize("notebook", SHIPPED_NOTEBOOKS, ids=lambda path: path.stem)
def test_no_value_of_a_bundle_reaches_a_place_a_model_or_code(
    hostile: Path, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G 1: every parameter of every notebook, given everything that could reach something."""
    names, values = list(parameters_of(notebook)), dict[str, Any]()
    monkeypatch.setattr(sharing, "parameters_of", lambda path: values)
    for name in names:
        for value in _hostile(hostile):
            values.clear()
            values[name] = value
            try:
                chosen = bundled_parameters(notebook, hostile / "items", CAST)
            except BadInput:
                assert name not in PLACES
                continue
            if name in PLACES:
                assert chosen == {}
            elif name not in notebooks.WORDS:
                assert type(value) in (int, float), (name, value)
                assert abs(value) <= 100_000
            else:
                assert not set(value) & set('/\\~%"\n\0{}\x1b\u202e')
                assert value.strip(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ITEMS", "facts:testbed"),
        ("ITEMS", "ramdocs:documents"),
        ("MODEL", "openai:desk"),
        ("LIMIT", 60),
        ("TAU", 0.5),
        ("METHODS", "few_shot,sr_dcr"),
    ],
)
def test_a_plain_value_of_a_bundle_is_taken(hostile: Path, name: str, value: Any) -> None:
    path = next(path for path, declared in DECLARED if declared == name)
    given = {"MODEL": "openai:desk", name: value}
    chosen = bundled_parameters(_given(path, hostile / path.name, given), hostile / "items", CAST)
    assert chosen.get(name) == value
    assert not chosen.keys() & PLACES


def test_a_parameter_finds_its_table_in_the_bundle_and_nowhere_else(hostile: Path) -> None:
    assert sharing._in_bundle("ramdocs=my.csv", hostile / "items") == f"ramdocs={hostile.resolve()}/items/my.csv"
    assert sharing._in_bundle("secret.csv", hostile / "items") is None


def test_another_pocket_model_is_not_replayed_by_this_one(hostile: Path) -> None:
    cast = {"answerer": AbsentModel(ModelIdentity("pocket", "pocket", "", "00"), Capabilities(logprobs=True))}
    with pytest.raises(BadInput, match="another pocket model than this clone's"):
        bundled_parameters(SHIPPED_NOTEBOOKS[0], hostile / "items", cast)


@pytest.mark.parametrize(
    "identity",
    [
        ModelIdentity("hf", "../secret", "", "00"),
        ModelIdentity("hf", "../secret", "", "00", '{"dtype":"bfloat16"}'),
        ModelIdentity("pocket", "hf:../secret", "", "00"),
    ],
)
def test_a_model_of_a_bundle_is_never_opened(identity: ModelIdentity) -> None:
    """G 1: neither from a folder that its name might be, nor from weights that lie on this machine."""
    cast = {"answerer": AbsentModel(identity, Capabilities(logprobs=True))}
    with patch.dict(os.environ, {**sharing._OFFLINE, opening.REPLAYED: opening.as_told(cast.values())}):
        opened = load_model("hf:../secret", offline=True)
    assert isinstance(opened, AbsentModel)
    assert opened.identity == identity


def _shape(**cell: Any) -> str:
    """A notebook of one code cell, some of whose fields are replaced."""
    whole = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "",
        "outputs": [],
        "execution_count": None,
    } | cell
    return json.dumps({"cells": [whole], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        "7",
        '{"cells": 7, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
        _shape(source=7),
        _shape(metadata={"tags": 7}),
        _shape(metadata={"tags": [["parameters"]]}),
        _shape(outputs=[7]),
        _shape(outputs=[{"output_type": "display_data", "metadata": {}, "data": [7]}]),
        _shape(outputs=[{"output_type": "display_data", "metadata": {}, "data": {"text/html": 7}}]),
        *(
            _shape(metadata={"tags": ["parameters"]}, source=f"LIMIT = {value}")
            for value in ("(" * 9_000, "[" * 500, "{[]: 1}")
        ),
        _shape(source="x = " + "(" * 9_000),
        _shape(source="x = " + "-" * 15_000 + "1"),
        _shape(source="x\0"),
    ],
    ids=range(15),
)  # fmt: skip
def test_a_notebook_of_any_shape_is_read_or_one_sentence(tmp_path: Path, content: str) -> None:
    """G 8: what is in a bundle is data, whatever it is."""
    (tmp_path / "a.ipynb").write_text(content)
    with suppress(BadInput):
        parameters_of(tmp_path / "a.ipynb")


# Executed again ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sequence of one notebook that shows a table of one's own, executed, and a run, shared together."""
    place = tmp_path_factory.mktemp("notebooks")
    FRAME.to_csv(place / "my own.csv", index=False)
    cells = [
        nbformat.v4.new_code_cell(
            'MODEL = "scripted:scripted"\nITEMS = "facts"\nSTORE = "s"\nFIGURES = "f"',
            metadata={"tags": ["parameters"]},
        ),
        nbformat.v4.new_code_cell(
            "import os, pandas as pd\n"
            'open(STORE, "a").close(), os.makedirs(FIGURES, exist_ok=True)\n'
            "table = pd.read_csv(ITEMS).assign(n=1)\n"
            'table["calls_paid"] *= int(os.environ.get("SRDCR_OFFLINE", 0))\n'
            'table.to_csv(f"{FIGURES}/00_own.csv", index=False)'
        ),
    ]
    (place / "sequence").mkdir()
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), place / "sequence/00_own.ipynb")
    given = {"ITEMS": str(place / "my own.csv"), "FIGURES": str(place / "figures")}
    run_notebooks(place / "executed", given, place / "sequence")
    with lab.Study(reader(), "facts", limit=1, samples=0, out=place / "run") as study:
        study.run(progress=False)
    with pytest.MonkeyPatch.context() as patch:
        for module in (notebooks, sharing):
            patch.setattr(module, "SEQUENCE", place / "sequence")
        share(place / "run", place / "study.zip", notebooks=place / "executed")
    return place


def _replayed(
    place: Path, out: Path, monkeypatch: pytest.MonkeyPatch, name: str = "notebooks/00_own.ipynb", **changes: str
) -> Replayed:
    """A replay, where a file of the bundle has these texts replaced and a digest that fits."""
    for module in (notebooks, sharing):
        monkeypatch.setattr(module, "SEQUENCE", place / "sequence")
    bundle.unpack(place / "study.zip", out / "opened")
    notebook = out / "opened" / name
    text = notebook.read_text("utf-8")
    for one, other in changes.items():
        assert one in text
        text = text.replace(one, other)
    notebook.write_text(text, "utf-8")
    bundle.pack({str(p.relative_to(out / "opened")): p for p in (out / "opened").rglob("*.*")}, out / "again.zip")
    return replay(out / "again.zip", out / "replayed")


def test_the_bundle_holds_the_table_the_notebook_read(place: Path, tmp_path: Path) -> None:
    names = bundle.unpack(place / "study.zip", tmp_path / "opened")
    assert {"items/my own.csv", "notebooks/00_own.ipynb", "figures/00_own.csv"} < set(names)
    assert parameters_of(tmp_path / "opened/notebooks/00_own.ipynb")["ITEMS"] == "my own.csv"


def test_a_changed_table_of_a_notebook_is_a_difference(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _replayed(place, tmp_path, monkeypatch, "figures/00_own.csv", **{"2,": "3,"})
    assert made.differences == ("00_own.csv: row 2, a: 3 became 2",)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"scripted:scripted": "hf:weights"}, "its parameter MODEL is nothing that a bundle may say"),
        ({"my own.csv": "../secret.csv"}, "its parameter ITEMS is nothing that a bundle may say"),
    ],
)
def test_what_cannot_be_compared_is_not_executed(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], why: str
) -> None:
    made = _replayed(place, tmp_path, monkeypatch, **change)
    assert made.differences[0] == f"00_own.ipynb: {why}, so it was not executed"
    assert not (tmp_path / "replayed/notebooks").exists()


def test_a_replay_writes_and_reads_nothing_outside(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G 1: what a bundle says of places is not taken, however it is written. The notebook is executed offline, where
    what was paid is another number; its table comes from the bundle."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "my.txt").write_text("mine")

    def around() -> set[tuple[str, bytes]]:
        files = (path for folder in (place, outside) for path in folder.rglob("*") if path.is_file())
        return {(str(path), path.read_bytes()) for path in files}

    before = around()
    changes = {'STORE = \\"s\\"': f'STORE = \\"{outside}/my.txt\\"'}
    made = _replayed(place, tmp_path, monkeypatch, **changes)
    assert (made.differences, made.notebook_tables) == ((), 1)
    assert around() == before
    assert parameters_of(tmp_path / "replayed/notebooks/00_own.ipynb")["ITEMS"].startswith(str(tmp_path.resolve()))
    assert (tmp_path / "replayed/store.sqlite").is_file()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["again.zip", "opened", "outside", "replayed"]


def test_a_notebook_about_other_runs_stays_out_of_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "executed").mkdir()
    _notebook(tmp_path / "executed/00_a.ipynb", items="facts")
    other = notebooks.SEQUENCE / "09_models_compared.ipynb"
    (tmp_path / "executed" / other.name).write_bytes(other.read_bytes())
    assert set(notebooks.executed(tmp_path / "executed", tmp_path)) == {"notebooks/00_a.ipynb"}


def test_two_tables_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        FRAME.to_csv(tmp_path / name / "my.csv")
    (tmp_path / "executed").mkdir()
    _notebook(tmp_path / "executed/00_a.ipynb", items=str(tmp_path / "one/my.csv"))
    _notebook(tmp_path / "executed/01_b.ipynb", items=str(tmp_path / "other/my.csv"))
    with pytest.raises(BadInput, match=r"two files called my\.csv"):
        notebooks.executed(tmp_path / "executed", tmp_path)
