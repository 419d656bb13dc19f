"""Chains of questions: MQuAKE as published, a table of one's own and what is wrong with it, the shipped set."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mquake import mquake

from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.items import freeze, thaw
from srdcr_lab.records import BadInput, Level, Needs
from srdcr_lab.records.types import PREVIOUS

FILE = Path(__file__).parents[1] / "fixtures" / "benchmarks" / "mquake.json"
LAMP: list[dict[str, Any]] = [
    {"question": "Who made the lamp?", "gold_answer": "Ann", "aliases": ["An"], "context": "The lamp was made by Ann."},
    {"question": "Where is {previous} from?", "gold_answer": "Norland", "context": "Ann is from Norland."},
]


def own(hops: object = LAMP, **cells: object) -> ItemSet:
    whole = {"question": "Where is the lamp's maker from?", "gold_answer": "Norland", "hops": hops, **cells}
    return load_items(pd.DataFrame([whole]))


def test_a_false_hop_need_not_be_the_last() -> None:
    false = altered(1, context="The lamp was made by Bea.", claimed_answer="Bea", perturbation_kind="substitution")
    (item,) = own(false, claimed_answer="Sudland")  # where Bea is from, as no passage says
    assert (item.false_hop, item.claimed_answer, item.hops[0].aliases) == (1, "Sudland", ("An",))


def altered(number: int, **cells: object) -> list[dict[str, Any]]:
    return [hop | (cells if place == number else {}) for place, hop in enumerate(LAMP, start=1)]


def test_a_published_case_is_a_true_chain_and_one_with_a_false_hop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mquake.main([str(FILE), "--out", str(tmp_path / "mine.jsonl")], standalone_mode=False) == 0
    items = load_items(tmp_path / "mine.jsonl").items
    assert "6 items left out 2 passages: 2 because no other answer" in capsys.readouterr().out
    assert [item.false_hop for item in items] == [0, 1, 0, 2, 0, 3]
    for true, false in zip(items[::2], items[1::2], strict=True):
        differ = [n for n, pair in enumerate(zip(true.hops, false.hops, strict=True), start=1) if pair[0] != pair[1]]
        assert differ == [false.false_hop]
        claim, asked = false.hops[differ[0] - 1], [hop.question for hop in true.hops]
        assert [PREVIOUS in question for question in asked] == [False, True, True]
        for hop in false.hops[false.false_hop :]:  # what is true of the claim leads to another end
            other = next(o for o in items[::2] if claim.claimed_answer in [h.gold_answer for h in o.hops])
            assert other.hops[false.hops.index(hop)].gold_answer in hop.context
        assert (false.claimed_answer != false.gold_answer, false.level) == (True, Level.MODERATE)
        assert true.context.count("\n\n") == 2
    assert items[0].hops[1].aliases == ("Kingdom of Norland",)  # neither a code nor what a table cannot hold
    assert items[0].hop(2).question == "What is the country of citizenship of Ann Roe?"
    assert items[1].hop(3, "Sudland").question == "What is the capital of Sudland?"
    assert items[2].aliases == ()


def test_a_damaged_case_is_refused_with_a_sentence(tmp_path: Path) -> None:
    case = json.loads(FILE.read_text("utf-8"))[0]
    case["orig"]["triples"].pop()
    (path := tmp_path / "mine.json").write_text(json.dumps([case]), "utf-8")
    with pytest.raises(BadInput, match=r"mine.json, row 1, column orig: triples and triples_labeled were expected"):
        mquake.main([str(path), "--out", str(tmp_path / "mine.jsonl")], standalone_mode=False)


def test_a_table_of_ones_own_and_its_frozen_items(tmp_path: Path) -> None:
    false = altered(1, context="The lamp was made by Bo.", claimed_answer="Bo")
    for hops in (false, json.dumps(false)):
        (item,) = own(hops, claimed_answer="Sudland", argued="true")
        assert (item.false_hop, item.context) == (1, "The lamp was made by Bo.\n\nAnn is from Norland.")
        assert item.has(Needs.HOPS)
    freeze(items := own(false, claimed_answer="Sudland", argued="true"), tmp_path / "items.json")
    assert thaw(tmp_path / "items.json").items == items.items


@pytest.mark.parametrize(("hops", "cells", "said"), [
    (altered(2, context=""), {}, r"row 1, column hops, hop 2, context: is empty, or"),
    (altered(1, question="Who made {previous}?"), {}, r"hop 1, question: asks about \{previous\}, and no hop is"),
    (altered(2, question="Where is Ann from?"), {}, r"hop 2, question: lacks \{previous\}, .* add it"),
    (LAMP[:1], {}, r"column hops: holds 1, and a chain has 2 to 10"),
    (altered(2, gold_answer="Ann", context="Ann."), {}, r"hop 2, gold_answer: is that of hop 1 too, a cycle"),
    (altered(2, context="Ann is from afar."), {}, r"hop 2, context: the passage does not contain the answer"),
    (altered(2, options="Norland|Sudland"), {}, r"hop 2, context: .* beside options; every hop has a passage"),
    (LAMP, {"gold_answer": "Sudland"}, r"gold_answer: is not the last hop's, 'Norland'; correct one"),
    (altered(1, context="By Bo.", claimed_answer="Bo"), {}, r"claimed_answer: is empty, and hop 1 is false; write"),
    (LAMP, {"claimed_answer": "Sudland"}, r"'Sudland' is false, though every hop is true"),
    ([hop | {"context": "By Bo.", "claimed_answer": "Bo"} for hop in LAMP], {}, r"hops 1 and 2 are both false"),
    (LAMP, {"options": "a|b"}, r"column hops: is there beside options or documents"),
    ("[{", {}, r"column hops: not valid JSON"),
])  # fmt: skip
def test_what_is_wrong_with_a_chain_is_said_with_row_and_hop(hops: object, cells: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        own(hops, **cells)


def test_the_shipped_chains_are_balanced_and_state_what_they_claim() -> None:
    items = load_items("hops")
    assert not items.notes
    places = Counter((len(item.hops), item.false_hop) for item in items)
    assert places == {(2, 0): 60, (2, 1): 30, (2, 2): 30, (3, 0): 60, (3, 1): 20, (3, 2): 20, (3, 3): 20}
    examples = Counter(exemplar.domain for exemplar in items.exemplars)
    assert examples == {"2 hops": 5, "3 hops": 5, "one hop": 10}
    asked = {item.hop(n).question for item in items for n in range(1, len(item.hops) + 1)}
    assert asked.isdisjoint(exemplar.question for exemplar in items.exemplars)
