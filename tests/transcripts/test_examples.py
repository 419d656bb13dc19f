"""What a notebook shows of a run without a kernel: debates side by side."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.records import BadInput
from srdcr_lab.transcripts import Cases, beside_html, contested
from tests.scripted import REASONABLE, UNREASONABLE, ScriptedModel, by_round, finished
from tests.transcripts.test_explorer import NO_TURNS, _row, _turn, run, two_questions  # noqa: F401 (a fixture)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> lab.Results:
    """Another model on the same items, two rounds under two designs; its draws differ for Elm alone."""

    def remembers(request: object, draw: int) -> str:
        return "1874" if draw % 2 or "Elm" not in str(request) else "<i>1900</i>"

    model = ScriptedModel({"judge": REASONABLE, "answer_from_memory": remembers}, name="other")
    options = {"design": "acvd,symmetric", "rounds": 2, "samples": 4, "out": tmp_path_factory.mktemp("other") / "out"}
    return finished(lab.Study(model, two_questions("<{}>"), "few_shot,sr_dcr", **options))


SAME, NEW = ["1934. It is so."] * 2, ["1934. It is so.", "1934. I see no reason to doubt it."]


@pytest.mark.parametrize(("debates", "first"), [
    ([("mild", "RR", SAME), ("mild", "RU", SAME), ("mild", "RU", NEW)], 2),
    ([("mild", "RR", NEW), ("mild", "R?", NEW), ("mild", "RU", SAME), ("mild", "UR", SAME)], 2),
    ([("mild", "RR", SAME), ("mild", "RR", NEW)], 1),
    ([("standard", "RU", NEW), ("mild", "RR", SAME)], 1),
    ([("standard", "RR", SAME), ("standard", "RU", SAME)], 1),
    ([], None),
])  # fmt: skip
def test_the_debate_that_is_shown_is_chosen_by_a_rule(
    debates: Sequence[tuple[str, str, list[str]]], first: int | None
) -> None:
    """A false passage before all; then a Judge who ruled both ways, then a debater who says something new."""
    rows = [_row(item_id=str(n), level=level, verdict_path=path) for n, (level, path, _) in enumerate(debates)]
    turns = [
        _turn(item_id=str(n), position=2 * k + place, round=k, role=role, text=text)
        for n, (_, path, said) in enumerate(debates) for k in range(2)
        for place, (role, text) in enumerate([("defender", said[k]), ("judge", path[k])])
    ]  # fmt: skip
    rows.append(_row(item_id="silent", level="mild"))
    table = pd.DataFrame(turns) if turns else NO_TURNS
    assert Cases(pd.DataFrame(rows), table, {}).contested == first


def test_two_runs_debate_one_item_round_beside_round(run: lab.Results, other: lab.Results) -> None:  # noqa: F811
    item = contested(run)
    assert item.item_id == "Ash-1934"
    html = beside_html([run, other], item.item_id)
    names = ["scripted:scripted · SR-DCR (ACVD)", "scripted:other · SR-DCR (ACVD)"]
    assert re.findall(r"<th style=[^>]+>(scripted[^<]+)</th>", html) == names
    assert re.findall(r"<h4>Round (\d)", html) == list("00112345"), "the other held two rounds"
    assert html.count("<mark>1934</mark>") == 1, "the passage is shown once"
    assert html.count("<summary>messages and raw reply") == 18 + 6, "each from the store of its own run"
    assert "not at hand" not in html


def test_the_designs_of_a_run_stand_side_by_side_and_the_same_twice_does_not(other: lab.Results) -> None:
    assert contested(other, "symmetric").item_id == "Ash-1934"
    html = beside_html([other, other], "Elm-1934", ["acvd", "symmetric"])
    assert re.findall(r"· ([^<]+)</th>", html) == ["SR-DCR (ACVD)", "SR-DCR (Symmetric)"]
    assert "<Elm>" not in html
    assert "&lt;Elm&gt; was built in <mark>1934</mark>" in html


def test_what_no_run_debated_is_bad_input(run: lab.Results) -> None:  # noqa: F811
    with pytest.raises(BadInput, match=r"none of these runs holds a debate \(Symmetric\) of Ash-1934"):
        beside_html([run], "Ash-1934", ["symmetric"])
    with pytest.raises(BadInput, match=r"of scripted:scripted holds no debate \(Symmetric\)"):
        contested(run, "symmetric")


def test_a_live_run_is_shown_with_the_messages_of_the_given_store(tmp_path: Path) -> None:
    model = ScriptedModel({"judge": by_round([REASONABLE, UNREASONABLE])})
    store = tmp_path / "store.sqlite"
    live = finished(lab.Study(model, two_questions(), "sr_dcr", rounds=2, samples=0, store=store))
    assert beside_html([live], "Ash-1934", store=store).count("<summary>messages and raw reply") == 6
    assert "which is not at hand here" in beside_html([live], "Ash-1934")
