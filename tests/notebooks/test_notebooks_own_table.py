"""A table of one's own, three questions about years, goes through every notebook that takes items.

The cells run here, one notebook after the other in one process and on one store, and in the model's place stands
something that says little: what kernels and the pocket model do with the notebooks is what their other tests are about.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
import pytest
from IPython.display import display

matplotlib.use("agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import srdcr_lab as lab
from srdcr_lab.prompts import Prompts
from srdcr_lab.study import asking
from srdcr_lab.study.plan import Stage, StandIn
from tests.executing import NOTEBOOKS, code_cells

TAKING_ITEMS = [
    path for path in NOTEBOOKS if '"ITEMS = ' in path.read_text("utf-8") and path.name[:2] != "07"
]  # options
LACKING = ("03_", "08_", "11_")  # false passages, several documents, hops
SOME = ("01_", "02_", "05_")  # of those that have all they need; `make trial` runs them all
QUESTIONS = [f"When was mill {i} built?" for i in range(3)]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Parameters that name the table."""
    folder = tmp_path_factory.mktemp("own")
    rows = [f"{question},{1800 + i},Mill {i} was built in {1800 + i}." for i, question in enumerate(QUESTIONS)]
    (folder / "my.csv").write_text("question,gold_answer,context\n" + "\n".join(rows) + "\n")
    given = {"ITEMS": str(folder / "my.csv"), "STORE": str(folder / "s.sqlite"), "FIGURES": str(folder / "figures")}
    return given | {"REPEATS": 1, "STUDY": None}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is written to the working directory, no figure stays open, and each is drawn for its label, not saved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Figure, "savefig", lambda _, path, **__: isinstance(path, Path) and path.touch())
    yield
    plt.close("all")


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the pocket model's place something that agrees with everything, at once."""
    stage, load = Stage(Prompts(), longest=False), asking.load_model
    stage.answer = "1801"
    monkeypatch.setattr(asking, "load_model", lambda *spec, **options: StandIn(load(*spec, **options), None, stage))


@pytest.mark.usefixtures("elsewhere", "brief")
@pytest.mark.parametrize("path", [
    pytest.param(path, id=path.name, marks=[] if path.name[:3] in (*LACKING, *SOME) else pytest.mark.exhaustive)
    for path in TAKING_ITEMS
])  # fmt: skip
def test_a_notebook_runs_over_a_table_of_ones_own(path: Path, given: dict[str, Any]) -> None:
    """Or says in one sentence what the table lacks: false passages, debates both ways, several documents."""
    if path.name[:3] in LACKING:
        with pytest.raises(lab.BadInput, match=r"this run has|needs items with|holds no|srdcr run"):
            _run(path, given)
    else:
        assert {item.question for item in _asked(_run(path, given))} == set(QUESTIONS)


@pytest.mark.usefixtures("elsewhere", "brief")
@pytest.mark.parametrize("number", ["02_", "06_", "06b_"])
def test_a_notebook_of_memory_and_belief_runs_over_a_closed_book_table(number: str, given: dict[str, Any]) -> None:
    """Two questions without passages; what needs one is left out."""
    table = Path(given["ITEMS"]).with_name("closed.csv")
    table.write_text("question,gold_answer\n" + "".join(f"{QUESTIONS[i]},{1800 + i}\n" for i in range(2)))
    (path,) = (path for path in TAKING_ITEMS if path.name.startswith(number))
    names = _run(path, {**given, "ITEMS": str(table)})
    assert [item.context for item in _asked(names)] == ["", ""]
    assert names["results"].questions["knowledge_category"].notna().all()
    assert "sr_dcr" not in set(names["results"].records["method"])


@pytest.mark.usefixtures("elsewhere")
def test_notebook_02_reads_results_that_were_made_elsewhere(tmp_path: Path) -> None:
    """No model is asked: the sections on other kinds of confidence have nothing to show."""
    rows = [
        {"question": question, "gold_answer": str(1800 + i), "context": f"Mill {i} was built in {1800 + i}.",
         "prior_answer": str(1800 + i % 2), "context_answer": str(1800 + i), "self_confidence": 0.3 * (i + 1),
         "confidence_kind": "verbalized", "verdict": "REASONABLE", "samples": [str(1800 + i)] * 4}
        for i, question in enumerate(QUESTIONS)
    ]  # fmt: skip
    lab.results_from(pd.DataFrame(rows), tmp_path / "own")
    (path,) = (path for path in TAKING_ITEMS if path.name.startswith("02"))
    given = {"RUN": str(tmp_path / "own"), "FIGURES": str(tmp_path / "figures"), "STORE": str(tmp_path / "none")}
    names = _run(path, given)
    assert names["results"].label == "elsewhere:model"
    assert not (tmp_path / "none").exists()
    assert {"02_confidence", "02_precision"} <= {figure.stem for figure in (tmp_path / "figures").glob("*.csv")}


def _asked(names: dict[str, Any]) -> list[lab.Item]:
    """The items of the notebook's study."""
    return list(names["study"].items) if names.get("study") else list(names["results"].items.values())


def _run(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What the names of a notebook stand for after its last cell."""
    names: dict[str, Any] = {"display": display}
    for cell in code_cells(path):
        exec(compile(cell.source, path.name, "exec"), names)  # noqa: S102 (our own notebooks)
        if "parameters" in cell.metadata.get("tags", ()):
            names |= {name: value for name, value in given.items() if name in names}
    return names
