"""Verdict rates, paths, r*, what debaters say again and whether they keep their side: worked by hand."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import debates as on
from srdcr_lab import stances
from srdcr_lab.designs import by_wording, verdicts_kept
from srdcr_lab.lib.definitions import ASKED_AGAIN, stabilised_verdict
from srdcr_lab.lib.groups import cells
from srdcr_lab.lib.statistics import share_with
from srdcr_lab.records import BadInput, Verdict
from tests.scripted import item
from tests.simulated import frame

LETTERS = {"R": Verdict.REASONABLE, "U": Verdict.UNREASONABLE, "?": Verdict.UNPARSED}


def row(question: str, true: bool, path: str | None, *, first: int = 0, **more: Any) -> dict[str, Any]:
    ruling = stabilised_verdict([LETTERS[letter] for letter in path], first) if path else None
    return {
        "model": "m", "method": "sr_dcr", "design": "acvd", "question_id": question, "item_id": f"{question}{true}",
        "level": "standard" if true else "subtle", "perturbation_kind": "none" if true else "offset",
        "perturbation_value": None if true else 20.0, "verdict_path": path,
        "rounds": path and first + len(path), "verdict": ruling and ruling.verdict.value,
        "r_star": ruling and ruling.r_star, "decision": None, "correct": None,
    } | more  # fmt: skip


DEBATES = frame(
    row("a", True, "RRR"), row("b", True, "URR"), row("c", True, "RU?"), row("d", True, None),
    row("a", False, "UUU"), row("b", False, "RUR"), row("c", False, "RUU"),
)  # fmt: skip


def test_verdict_rates_by_hand() -> None:
    """True: R R ? of three debates (the fourth was not held). False: U R U."""
    table = on.verdict_rates(DEBATES).set_index("rate")
    assert table["n"].to_dict() == {"verdict_tpr": 3, "verdict_tnr": 3}
    assert table["share"].to_dict() == pytest.approx({"verdict_tpr": 2 / 3, "verdict_tnr": 2 / 3})
    assert table["n_unparsed"].to_dict() == {"verdict_tpr": 1, "verdict_tnr": 0}


def test_verdicts_by_round_by_hand() -> None:
    table = on.verdicts_by_round(DEBATES).set_index(["rate", "round"])
    assert table.loc["verdict_tpr", "share"].tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])  # R U R, R R U, R R ?
    assert table.loc["verdict_tnr", "share"].tolist() == pytest.approx([1 / 3, 1, 2 / 3])  # U R R, U U U, U R U
    assert table.loc["verdict_tpr", "n_unparsed"].tolist() == [0, 0, 1]


def test_rounds_of_a_debate_that_stopped_early_and_of_one_that_began_to_rule_later() -> None:
    table = on.verdicts_by_round(frame(row("a", True, "RR"), row("b", True, "URRR"))).set_index(["rate", "round"])
    tpr = table.loc["verdict_tpr"]
    assert tpr["share"].tolist() == pytest.approx([0.5, 1, 1, 1])
    assert tpr["n_held"].tolist() == [2, 2, 1, 1]
    released = frame(row("a", True, "URRRR", first=1))  # whose judge rules after rounds 1 … 5
    assert on.first_verdict_round(released) == 1
    assert sorted(on.verdicts_by_round(released)["round"].unique()) == [1, 2, 3, 4, 5]


def test_debate_only_shares_its_debate_with_sr_dcr_and_is_not_counted_twice() -> None:
    twice = pd.concat([DEBATES, DEBATES.assign(method="debate_only")])
    pd.testing.assert_frame_equal(on.verdict_rates(twice), on.verdict_rates(DEBATES))
    assert len(on.verdict_rates(DEBATES.assign(method="debate_only"))) == 2
    assert len(on.verdict_rates(pd.concat([twice, DEBATES.assign(method="debate_only", model="alone")]))) == 4


@pytest.mark.parametrize(("path", "moves"), [
    ("RRRR", ""), ("URRR", "changed"), ("RUR", "changed oscillates unstabilised"),
    ("RUUR", "changed oscillates unstabilised"), ("R?RR", "unparsed"), ("R?UU", "changed unparsed"),
    ("RRR?", "unparsed"), ("RU?", "changed unparsed"), ("RR?U", "changed unstabilised unparsed"),
    ("RU", "changed unstabilised"),
])  # fmt: skip
def test_what_a_path_does(path: str, moves: str) -> None:
    assert {name for name, moved in on.path_moves(path).items() if moved} == set(moves.split())


def test_path_stability_by_hand() -> None:
    """Of RRR, URR, RU?, UUU, RUR, RUU: four change, one comes back, one is unstabilised, one is unparsed."""
    table = on.path_stability(DEBATES)
    overall = table[table["condition"] == "overall"].set_index("move")["share"]
    assert overall.to_dict() == pytest.approx(
        {"changed": 4 / 6, "oscillates": 1 / 6, "unstabilised": 1 / 6, "unparsed": 1 / 6}
    )


def test_r_star_by_hand() -> None:
    """True: 0, 1, none. False: 0, 2 (not stabilised), 1."""
    table = on.r_star_distribution(DEBATES)
    true = table[table["condition"] == "standard"]
    assert true["r_star"].tolist() == [0, 1, 2, pd.NA]
    assert true["share"].tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert true["stabilised"].tolist() == [True, True, False, False]
    assert table.groupby("condition")["share"].sum().tolist() == pytest.approx([1, 1, 1])


def test_the_level_absurd_is_shown_where_it_occurs() -> None:
    usual = ["subtle", "mild", "moderate", "blatant"]
    assert cells(pd.DataFrame({"level": ["mild"]}), ["level"]) == {"level": usual}
    assert cells(pd.DataFrame({"level": ["absurd"]}), ["level"]) == {"level": [*usual, "absurd"]}


def run(records: pd.DataFrame, turns: pd.DataFrame | None = None, words: str = "ours") -> Any:
    """As much of `Results` as the chapters read."""
    spoken = records.iloc[:0] if turns is None else turns
    asked = {"asked": {"prompts_sha256": words}}
    return SimpleNamespace(label="m", records=records, turns=spoken, items={"q": item(1934)}, manifest=asked,
                           part=lambda name: None)  # fmt: skip


def spoken(*said: tuple[str, str], **columns: Any) -> pd.DataFrame:
    """Turns of one debate, from (role, text) in their order."""
    usual = {"model": "m", "item_id": "q", "question_id": "q", "method": "sr_dcr", "design": "acvd", "speaker": ""}
    turns = [usual | {"role": role, "position": place, "text": text} for place, (role, text) in enumerate(said)]
    return pd.DataFrame(turns).assign(**columns)


def test_items_debated_one_way_alone_are_left_out() -> None:
    symmetric = DEBATES.assign(design="symmetric")
    both = run(pd.concat([DEBATES, symmetric[symmetric["question_id"] == "a"]], ignore_index=True))
    assert set(on.both_ways(both)["item_id"]) == {"aTrue", "aFalse"}
    with pytest.raises(BadInput, match=r"debated under each design \(ACVD, Symmetric\); srdcr run"):
        on.both_ways(run(DEBATES))


def test_a_gain_in_discrimination_by_hand() -> None:
    """One design ranks every false passage above every true one (1), the other cannot tell them apart (½)."""
    true = DEBATES["level"] == "standard"
    told_apart = DEBATES.assign(p_unreasonable=(~true).astype(float))
    alike = DEBATES.assign(design="symmetric", p_unreasonable=0.5)
    gain, low, high, n = on.discrimination_gain(pd.concat([told_apart, alike], ignore_index=True))
    assert (gain, n) == (0.5, 6)
    assert pd.isna([low, high]).all()  # no variance, which is no certainty


def test_signs_of_a_debate_by_hand() -> None:
    """A Defender that nearly says one thing three times, and a Critic that leaves its assigned answer in its last."""
    said = [("defender", "A"), ("critic", "x"), ("defender", "A"), ("critic", "y"), ("defender", "A"), ("critic", "z")]
    turns = spoken(*said, stance="1934", stated_answer=["1934"] * 5 + ["1874"])
    turns.loc[2, "text"] = "A!"  # nearly the same
    table = on.signs_of_debate(run(frame(row("q", False, "RUU")), turns)).set_index("role")
    assert table["repeats"].to_dict() == {"defender": 1.0, "critic": 0.0}
    assert table["distinct"].to_dict() == {"defender": 2.0, "critic": 3.0}
    assert table["own_side"].to_dict() == pytest.approx({"defender": 1.0, "critic": 2 / 3})
    assert table["changes"].tolist() == [1.0, 1.0]
    assert table["debated"].to_dict() == {"defender": False, "critic": True}
    assert on.signs_of_debate(run(frame(row("q", False, "U")), turns))["changes"].isna().all(), "a single verdict"
    apart = on.signs_of_debate(run(frame(row("q", False, "RUU")), turns.assign(model=turns["role"].str.upper())))
    assert apart[["role", "debated", "changes"]].values.tolist() == [["defender", False, 1.0], ["critic", True, 1.0]]
    two = frame(row("q", False, "RUU"), row("q", True, "RR") | {"model": "n"})
    both = pd.concat([turns, turns.assign(model="n")], ignore_index=True)
    assert on.signs_of_debate(run(two, both)).groupby("model")["changes"].first().to_dict() == {"m": 1.0, "n": 0.0}
    assert [on.without_debate(turns), on.without_debate(turns[turns["role"] == "critic"])] == [True, False]
    with pytest.raises(BadInput, match="no debate of several rounds"):
        on.signs_of_debate(run(DEBATES, turns.iloc[:0]))


def test_what_is_new_in_a_turn_by_hand() -> None:
    """The Defender repeats itself but for a mark, then takes up the Critic's year, then one that is no longer new."""
    said = [
        ("defender", "1934. The passage names the founder of the society, a baker of that town, in plain words."),
        ("critic", "1874. The almanac of 1875 lists it."),
        ("critic", "1874. The almanac of 1875 lists it."),  # asked again
        ("critic", "1874. A baker has no part in it."),
        ("defender", "1934: the passage names the founder of the society, a baker of that town, in plain words!"),
        ("critic", "1874. Ledgers name it."),
        ("defender", "1934. No ledgers survive."),
        ("critic", "1874. Then see the bylaws."),
        ("defender", "1934. An almanac of 1875 errs."),
    ]
    turns = spoken(*said, speaker=["", "", ASKED_AGAIN, *[""] * 6])
    later = on.later_turns(turns.sample(frac=1, random_state=1))
    assert later["position"].tolist() == [3, 4, 5, 6, 7, 8], "without the first ones, and the one that nobody heard"
    assert later["nearly"].tolist() == [False, True, False, False, False, False]
    assert not later["again"].any(), "word for word"
    assert later["addresses"].tolist() == [True, False, False, True, False, False]


def test_verdicts_that_another_wording_keeps_by_hand() -> None:
    """Ours: R R ? none, U R U. The other turns b's false passage around, and does not rule on c's; a third run has the
    words of the second and is left out."""
    words = DEBATES.assign(
        verdict=["REASONABLE", "REASONABLE", "REASONABLE", None, "UNREASONABLE", "UNREASONABLE", "UNPARSED"]
    )
    worded = by_wording(run(DEBATES), run(words, words="other"), run(words, words="other"))
    assert worded["wording"].unique().tolist() == ["ours", "wording 1"]
    (kept,) = verdicts_kept(worded).itertuples()
    assert (kept.n, kept.n_missing, kept.share, kept.n_unread) == (4, 3, 0.75, 2)


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
    kept = on.kept_side(turns, items).set_index("role")
    assert (kept.loc["defender", "share"], kept.loc["defender", "n"]) == (0.5, 20)
    assert (kept.loc["critic", "n"], kept.loc["critic", "n_missing"]) == (0, 10)
    texts = {"defender": "abba", "critic": "aaaa"}
    one = pd.concat([spoken(*((role, text) for text in own)) for role, own in texts.items()])
    said = pd.concat([one.assign(item_id=f"q{n}", question_id=f"q{n}", design=design)
                      for n in range(20) for design in ("acvd", "symmetric")])  # fmt: skip
    two = pd.concat([said.assign(run=1), said.assign(run=2, model="other")])
    again = on.repeated_turns(two.sample(frac=1, random_state=0))
    assert set(again["n"]) == {120}  # the turns of one run are not said again in another
    assert again.groupby("role")["share"].unique().map(list).to_dict() == {"critic": [1], "defender": [2 / 3]}
