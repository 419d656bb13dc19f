"""What the hops of chains show: tables, localisation and final answers, worked by hand."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest

from srdcr_lab import chains
from srdcr_lab.transcripts import chain_html
from tests.chains import MAKER, chain, ran, ruling


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
    rates = chains.hop_verdicts(table).set_index(["is_false", "hop"])  # after Bolt, two verdicts are off the path
    assert rates["n"].to_dict() == {
        (False, 1): 2, (False, 2): 1, (False, 3): 2, (True, 1): 1, (True, 2): 1, (True, 3): 0
    }  # fmt: skip
    assert rates["share"].dropna().to_dict() == {
        (False, 1): 0, (False, 2): 0, (False, 3): 0, (True, 1): 0, (True, 2): 1
    }  # fmt: skip
    final = chains.chain_answers(results.records).set_index(["method", "condition"])
    assert final.loc[(chains.DEBATE, "perturbed"), ["n", "accuracy"]].tolist() == [2, 0.5]
    assert final.loc[(chains.CLOSED_BOOK, "overall"), ["accuracy", "calls"]].tolist() == [0, 1]


def judged(name: str, false: int, verdicts: str, grades: list[float]) -> pd.DataFrame:
    called = {"R": "REASONABLE", "U": "UNREASONABLE", "-": None}
    return pd.DataFrame({"method": "m", "item_id": name, "question_id": name, "n_hops": len(verdicts),
                         "false_hop": false, "hop": range(1, len(verdicts) + 1), "p_unreasonable": grades,
                         "verdict": [called[each] for each in verdicts]})  # fmt: skip


def test_localisation_by_hand() -> None:
    """Four false chains: found; another first; ended too early and ungraded; none ruled out, yet graded highest."""
    nan = float("nan")
    judged_chains = [
        judged("a", 2, "RU", [0.1, 0.9]),
        judged("b", 2, "UU", [0.8, 0.7]),
        judged("c", 3, "R--", [nan] * 3),
        judged("d", 1, "RRR", [0.4, 0.3, 0.2]),
        judged("e", 0, "RU", [0.1, 0.6]),
        judged("f", 0, "RR", [0.1, 0.2]),
    ]
    found = chains.localisation(pd.concat(judged_chains)).set_index("outcome")
    assert found["value"].to_dict() == pytest.approx(
        {"named": 1 / 4, "ranked": 2 / 3, "another": 1 / 4, "none": 2 / 4, "false_alarm": 1 / 2}
    )
    assert found["n"].tolist() == [4, 4, 4, 3, 2]
    assert found.loc["named", ["chance", "gain"]].tolist() == pytest.approx([5 / 12, 1 / 4 - 5 / 12])
    assert found.loc["ranked", "chance"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)
    assert found.loc["false_alarm", "value_low"] < 0.5 < found.loc["false_alarm", "value_high"]
    every = chains.localisation(pd.concat([judged(f"{k}", 2, "RU", [0.1, 0.9]) for k in range(12)])).iloc[0]
    assert every["gain_low"] < every["gain"] == 0.5, "twelve of twelve are no certainty"


def test_the_answer_and_the_view() -> None:
    _, results = ran(chain(), chain(1), chain(2), judge=ruling("Chad", "Cairo"))
    said = str(chains.answer(results))
    assert "more often than by chance (+0.17 [-1.00, +1.00], n = 2 false chains)" in said
    assert "The Judge rules out 0.50 [0.00, 1.00] of the 2 false passages and 0.00 [0.00, 0.85] of the 5 true" in said
    _, unjudged = ran(chain(1), names="few_shot_per_hop")
    assert "The Judge rules on no passage." in chains.answer(unjudged)
    shown = re.sub("<[^>]+>", " ", chain_html(results, "rocket-1"))
    assert "Where is Bolt from?" in shown  # the question that was asked, though the chain's is about Acme
    assert re.findall(r"→ +(\w+)", shown) == ["REASONABLE", "Bolt", "UNREASONABLE", "Oslo", "REASONABLE"]
