"""Measures that sentences of several chapters rest on, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from srdcr_lab import stances
from srdcr_lab.debates import kept_side, repeated_turns
from srdcr_lab.lib.statistics import share_with
from tests.scripted import item


def test_shares_and_means_of_tables_by_hand() -> None:
    """Proponents who gave way, debates that were spared."""
    held = [True] * 10 + [False] * 10
    stood = pd.DataFrame(
        {"question_id": range(20), "held_right": held, "state": ["defend"] * 10 + ["concede", "revise"] * 5}
    )
    assert share_with(stood, "state", "concede", "revise")["share"].tolist() == [0.5]
    records = pd.DataFrame({
        "item_id": range(12), "question_id": range(12), "method": "cfmad_when_unsure",
        "missing": ["error"] + [None] * 11,
    })  # fmt: skip
    turns = pd.DataFrame({"item_id": [0, 10, 11], "method": "cfmad_when_unsure", "stance": [None, "A", "A"]})
    assert stances.spared(records, turns)["share"].tolist() == [pytest.approx(9 / 11)]


def test_sides_kept_and_words_said_again_by_hand() -> None:
    """Of ten debates a Defender who keeps to 1934 in half of its turns, and a Critic who was given nothing to keep to;
    of a speaker's turns in one debate the first counts for nothing, a later one if it was said before."""
    items = {f"q{n}": item(1934, question_id=f"q{n}") for n in range(10)}
    turns = pd.DataFrame([
        {"item_id": name, "question_id": name, "model": "m", "design": "acvd", "role": role, "stance": stance,
         "speaker": "", "stated_answer": stated}
        for name in items
        for role, stance, stated in (("defender", "1934", "1934"), ("defender", "1934", None), ("critic", None, "1874"))
    ])  # fmt: skip
    kept = kept_side(turns, items).set_index("role")
    assert (kept.loc["defender", "share"], kept.loc["defender", "n"]) == (0.5, 20)
    assert (kept.loc["critic", "n"], kept.loc["critic", "n_missing"]) == (0, 10)
    texts = {"defender": "abba", "critic": "aaaa"}
    said = pd.DataFrame([
        {"item_id": f"q{n}", "question_id": f"q{n}", "method": "sr_dcr", "design": design, "model": "m", "role": role,
         "speaker": "", "position": place, "text": text}
        for n in range(20) for design in ("acvd", "symmetric") for role, own in texts.items()
        for place, text in enumerate(own)
    ])  # fmt: skip
    again = repeated_turns(pd.concat([said, said.assign(model="other")]).sample(frac=1, random_state=0))
    assert set(again["n"]) == {120}  # one model's turns are not said again by another
    assert again.groupby("role")["share"].unique().map(list).to_dict() == {"critic": [1], "defender": [2 / 3]}
