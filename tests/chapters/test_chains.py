"""Hops of chains: how methods ask them, call by call, and what tables, localisation and final answers show, by hand."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest

from srdcr_lab import chains
from srdcr_lab.data import ItemSet
from srdcr_lab.records import Role
from srdcr_lab.study import Results, Study
from srdcr_lab.transcripts import chain_html
from tests.chains import MAKER, chain, ran, ruling
from tests.scripted import ScriptedModel, exemplars, kind_of, question_of


def test_the_table_of_hops_and_where_errors_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    _, results = ran(chain(), chain(1), chain(2), judge=ruling("Chad", "Cairo"))
    known = SimpleNamespace(questions=pd.DataFrame({"question": [MAKER], "knowledge_category": ["HIGHLY_KNOWN"]}))
    monkeypatch.setattr(type(results), "part", lambda self, name: known)
    table = chains.hop_table(results)
    shown = ["hop", "is_false", "reached", "on_path", "verdict", "answer", "right"]
    rows = table[shown].replace({"REASONABLE": "R", "UNREASONABLE": "U"}).astype(object)
    assert rows.where(rows.notna(), None).to_numpy().tolist() == [
        [1, False, True, True, "R", "Acme", True], [2, False, True, True, "R", "Peru", True],
        [3, False, True, True, "R", "Lima", True],
        [1, True, True, True, "R", "Bolt", False], [2, False, True, False, "U", "Oslo", False],
        [3, False, True, False, "R", None, False],
        [1, False, True, True, "R", "Acme", True], [2, True, True, True, "U", "Peru", True],
        [3, False, True, True, "R", "Lima", True],
    ]  # fmt: skip
    assert table["highly_known"].tolist() == [True, pd.NA, pd.NA] * 3
    ends = chains.error_travel(table, results.records)
    assert ends[["condition", "first_wrong", "right", "no answer"]].to_numpy().tolist() == [
        ["all passages true", 0, 1, 0], ["one passage false", 0, 1, 0], ["one passage false", 1, 0, 1],
    ]  # fmt: skip
    rates = chains.hop_verdicts(table).set_index(["is_false", "hop"])  # two are off the path, two were met before
    assert rates["n"].to_dict() == {
        (False, 1): 1, (False, 2): 1, (False, 3): 1, (True, 1): 1, (True, 2): 1, (True, 3): 0
    }  # fmt: skip
    assert rates["share"].dropna().to_dict() == {
        (False, 1): 0, (False, 2): 0, (False, 3): 0, (True, 1): 0, (True, 2): 1
    }  # fmt: skip
    reader = results.records.assign(method="few_shot", design=None, calls_alone=16, prior_correct=False)  # 16 draws
    final = chains.chain_answers(pd.concat([results.records, reader])).set_index(["method", "condition"])
    assert final.loc[(chains.DEBATE, "perturbed"), ["n", "accuracy"]].tolist() == [2, 0.5]
    assert final.loc[("From memory", "overall"), ["accuracy", "calls"]].tolist() == [0, 16]


def judged(name: str, false: int, verdicts: str, grades: list[float]) -> pd.DataFrame:
    called = {"R": "REASONABLE", "U": "UNREASONABLE", "-": None}
    hops = range(1, len(verdicts) + 1)
    return pd.DataFrame({"method": "m", "item_id": name, "question_id": name, "n_hops": len(verdicts),
                         "false_hop": false, "hop": hops, "is_false": [hop == false for hop in hops],
                         "on_path": [hop < 4 for hop in hops], "p_unreasonable": grades,
                         "verdict": [called[each] for each in verdicts]})  # fmt: skip


def test_localisation_by_hand() -> None:
    """Four false chains: found; another first; ended too early and ungraded; none ruled out, and two graded highest of
    those on the path."""
    nan = float("nan")
    judged_chains = [
        judged("a", 2, "RU", [0.1, 0.9]), judged("b", 2, "UU", [0.8, 0.7]), judged("c", 3, "R--", [nan] * 3),
        judged("d", 1, "RRRR", [0.4, 0.4, 0.2, 0.9]), judged("e", 0, "RU", [0.1, 0.6]).assign(question_id="a"),
        judged("f", 0, "RR", [0.3, 0.2]).assign(question_id="b"),
    ]  # fmt: skip
    found = chains.localisation(pd.concat(judged_chains)).set_index("outcome")
    assert found["value"].to_dict() == pytest.approx(
        {"named": 1 / 4, "ranked": 1.5 / 3, "another": 1 / 4, "none": 2 / 4, "false_alarm": 1 / 2}
    )
    assert found["n"].tolist() == [4, 4, 4, 3, 2]
    assert found.loc["named", ["chance", "gain"]].tolist() == pytest.approx([1 / 4, 0.0])  # as rulings at random
    assert found.loc["ranked", "chance"] == pytest.approx((1 + 0 + 1 / 3) / 3)  # a, b, and d without a true chain
    assert found.loc["false_alarm", "value_low"] < 0.5 < found.loc["false_alarm", "value_high"]
    every = chains.localisation(pd.concat([judged(f"{k}", 2, "RU", [0.1, 0.9]) for k in range(12)])).iloc[0]
    assert every["gain_low"] < every["gain"] == 0.5, "twelve of twelve are no certainty"


def test_the_answer_and_the_view() -> None:
    _, results = ran(chain(), chain(1), chain(2), judge=ruling("Chad", "Cairo"))
    said = str(chains.answer(results))
    assert "same chains would be (+0.17 [−1.00, +1.00], n = 2 chains with a false passage)" in said
    assert "the Judge rules out 0.50 [0.00, 1.00] of 2 false passages and 0.00 [0.00, 0.85] of 3 true" in said
    _, unjudged = ran(chain(1), names="few_shot_per_hop")
    assert "The Judge rules on no passage." in chains.answer(unjudged)
    shown = re.sub("<[^>]+>", " ", chain_html(results, "rocket-1"))
    assert "Where is Bolt from?" in shown  # the question that was asked, though the chain's is about Acme
    assert re.findall(r"→ +(\w+)", shown) == ["REASONABLE", "Bolt", "UNREASONABLE", "Oslo", "REASONABLE"]


def handed_on(results: Results) -> list[tuple[str, str]]:
    said = results.turns[results.turns["role"] == Role.AGENT]
    return list(zip(said["speaker"], said["stated_answer"], strict=True))


def test_every_hop_is_debated_with_its_own_passage_and_the_answer_before() -> None:
    model, results = ran(chain())
    assert handed_on(results) == [("hop-1", "Acme"), ("hop-2", "Peru"), ("hop-3", "Lima")]
    hop_of = {"Who made the Rocket": 1, "Where is Acme from": 2, "What is the capital of Peru": 3}
    calls = []
    for request in model.requests:
        shown = question_of(request)
        hop = next((number for words, number in hop_of.items() if words in shown), 0)
        calls.append((kind_of(request), hop, [n for n in (1, 2, 3) if f"HOP{n}" in shown]))
    for n in (1, 2, 3):
        kinds = [(kind, seen) for kind, hop, seen in calls if hop == n]
        assert sorted(kinds) == [("answer_from_memory", []), ("answer_with_passage", [n]), ("critic_told", []),
                                 ("defender_told", [n]), ("judge", [])]  # fmt: skip
    assert [seen for _, hop, seen in calls if not hop] == [[], [1, 2, 3]]  # the probes of the whole question
    assert results.records.loc[0, ["final_answer", "right", "calls_alone"]].tolist() == ["Lima", True, 15]
    assert results.turns["saw_turns"].map(list).tolist() == [[], [], [0, 1], [], [], [], [3, 4], [], [], [], [6, 7], []]


@pytest.mark.parametrize(("false", "suspicious", "answers", "end"), [
    (2, ["Chad"], ["Acme", "Peru", "Lima"], "Lima"),  # ruled out, and memory is sure
    (3, ["Quito"], ["Acme", "Peru"], "abstained"),  # ruled out, and memory is not sure: the chain ends there
    (1, [], ["Bolt", "Chad", "Cairo"], "Cairo"),  # believed: the later questions are others
    (1, ["Chad"], ["Bolt", "Oslo", None], "unparsed"),  # believed, and then a true passage ruled out
])  # fmt: skip
def test_a_false_hop_is_ruled_out_or_believed(false: int, suspicious: list[str], answers: list[str], end: str) -> None:
    _, results = ran(chain(false), judge=ruling(*suspicious))
    assert [answer for _, answer in handed_on(results)] == [answer for answer in answers if answer]
    assert end in results.records.loc[0, ["final_answer", "missing"]].tolist()


def test_without_the_gate_the_chain_goes_on_and_without_a_debate_it_reads() -> None:
    _, results = ran(chain(3), judge=ruling("Quito"), names="debate_only_per_hop,few_shot_per_hop")
    assert results.records["final_answer"].tolist() == ["Lima", "Quito"]
    assert results.records["calls_alone"].tolist() == [15, 3]


def test_a_plan_counts_every_hop_at_least_and_at_most() -> None:
    with Study(ScriptedModel(), ItemSet("chains", (chain(), chain(1)), exemplars()), "sr_dcr_per_hop") as study:
        table = study.plan().table.set_index("methods").loc["sr_dcr_per_hop (acvd)"]
    assert table[["calls_alone_from", "calls_alone_to"]].tolist() == [2 * 3 * 20, 2 * 3 * (20 + 6)]
    assert table["calls_to"] == 2 * 3 * 26 - 2  # the first hop's prior answer and Critic's opening are shared
