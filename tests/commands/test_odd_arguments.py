"""Whatever a caller gives to a public name, a mistake ends in one sentence."""

import math
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.guarantee import guaranteed_rule
from srdcr_lab.models import Store
from srdcr_lab.protocols import Choices, DebateDesign
from srdcr_lab.study import study_of
from tests.scripted import ScriptedModel
from tests.simulated import simulated

ODD = [
    None, 5, -1, 2.5, math.nan, math.inf, 10**30, True, "", "nope", "a\x00b", b"x", [], ["nope"], [None], [5], (), {},
    {"a": 1}, object(), Path("/"), pd.DataFrame(),
]  # fmt: skip
ARGUMENTS = [
    "model", "items", "methods", "defender", "critic", "judge", "preset", "design", "rounds", "tau", "samples",
    "confidence", "prompts", "strict", "limit", "seed", "concurrency", "base_url", "patience_s", "reasoning",
    "extra_body", "budget_usd", "store", "batch", "offline", "out", "questions",
]  # fmt: skip
ITEMS = lab.load_items("facts:testbed").limit(2)
RECORDS = simulated(12, ("acvd",)).query("method == 'sr_dcr'")


def _with(kind: Any, name: str, odd: Any) -> Any:
    return kind(**{name: odd})


CALLS: dict[str, Callable[[Any], Any]] = {
    "load_items": lab.load_items,
    "load_model": lab.load_model,
    "load_run": lab.load_run,
    "load_runs": lab.load_runs,
    "load_repeats": lab.load_repeats,
    "results_from": lab.results_from,
    "perturb": lab.perturb,
    "perturb, pool": lambda odd: lab.perturb(ITEMS, pool=odd),
    "perturb, offsets": lambda odd: lab.perturb(ITEMS, offsets=odd),
    "perturb, factors": lambda odd: lab.perturb(ITEMS, factors=odd),
    "load_items, seed": lambda odd: lab.load_items("facts:options", seed=odd),
    "load_items, year_offsets": lambda odd: lab.load_items("facts:testbed", year_offsets=odd),
    "load_model, base_url": lambda odd: lab.load_model("openai:x", base_url=odd),
    "load_model, concurrency": lambda odd: lab.load_model("openai:x", base_url="http://127.0.0.1:9", concurrency=odd),
    "perturb, traits": lambda odd: lab.perturb(ITEMS, traits=odd),
    "perturb, present": lambda odd: lab.perturb(ITEMS, present=odd),
    "results_from, method": lambda odd: lab.results_from(pd.DataFrame({"question": ["a"]}), method=odd),
    "ItemSet.limit": ITEMS.limit,
    "study_of": study_of,
    "Study.repeats": lambda odd: next(lab.Study("pocket", ITEMS).repeats(odd)),
    "guaranteed_rule": lambda odd: guaranteed_rule(odd),
    **{
        f"guaranteed_rule, {name}": lambda odd, name=name: guaranteed_rule(RECORDS, **{name: odd})
        for name in ("alpha", "delta", "false_share", "taus", "starts")
    },
    **{f"DebateDesign, {each.name}": partial(_with, DebateDesign, each.name) for each in fields(DebateDesign)},
    **{f"Choices, {each.name}": partial(_with, Choices, each.name) for each in fields(Choices)},
    "Store": lambda odd: Store(odd).close(),
}


def planned(**arguments: Any) -> None:
    with lab.Study(**({"model": "pocket", "items": ITEMS, "methods": "few_shot"} | arguments)) as study:
        study.plan()


def refused_or_done(call: Callable[[], Any]) -> int:
    """1 where a sentence came; any other error is raised."""
    try:
        call()
    except lab.SrdcrError:
        return 1
    return 0


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_odd_argument_of_a_study(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    n_refused = sum(refused_or_done(lambda odd=odd: planned(**{name: odd})) for odd in ODD)  # type: ignore[misc]
    assert n_refused >= 5


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_argument_of_a_function(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sum(refused_or_done(lambda odd=odd: CALLS[name](odd)) for odd in ODD) >= 5  # type: ignore[misc]


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert len(lab.load_items("facts:testbed", seed=np.int64(0)).limit(np.int64(4))) == 4
    assert DebateDesign(rounds=np.int64(3)).rounds == 3
    assert lab.perturb(ITEMS, offsets=[np.int64(20)])


def test_a_change_of_the_working_directory_moves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with lab.Study(ScriptedModel(), ITEMS, "few_shot", samples=0, out="results", store="completions.sqlite") as study:
        monkeypatch.chdir(tmp_path / "elsewhere")
        study.run(progress=False)
    assert {"results", "completions.sqlite"} <= {path.name for path in tmp_path.iterdir()}
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_hundred_thousand_methods_are_refused_at_once() -> None:
    with pytest.raises(lab.BadInput, match="few_shot occurs 100,000 times"):
        lab.Study("pocket", ITEMS, ["few_shot"] * 100_000)


def test_an_argument_that_a_study_does_not_have() -> None:
    with pytest.raises(TypeError, match=r"Study has no argument 'desing'.*design"):
        lab.Study("pocket", ITEMS, desing="acvd")
    shared = lab.Asking(concurrency=2, offline=True)
    assert lab.Study("pocket", ITEMS, asking=shared, concurrency=3).asking == lab.Asking(concurrency=3, offline=True)


def test_a_number_of_questions_is_drawn_of_what_the_other_arguments_load() -> None:
    items = lab.Study("pocket", "facts:testbed", questions=30, preset=Choices(year_offsets=(7,))).items
    assert {item.perturbation_value for item in items if item.answer_type == "year"} == {None, 7.0, -7.0}
