"""SR-DCR and other methods hop by hop, call by call."""

import pytest

from srdcr_lab.data import ItemSet
from srdcr_lab.records import Role
from srdcr_lab.study import Results, Study
from tests.chains import chain, ran, ruling
from tests.scripted import ScriptedModel, exemplars, kind_of, question_of


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
