"""What every measure must bear: rows with any index and in any order, an empty table, one method, several runs."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.claims import check_claims
from srdcr_lab.debates import (
    path_stability,
    prior_preference_by_round,
    r_star_distribution,
    verdict_rates,
    verdicts_by_round,
)
from srdcr_lab.evaluation import cost_accuracy
from srdcr_lab.lib.gating import decision_flow
from srdcr_lab.lib.groups import of_design, of_one_kind
from srdcr_lab.lib.summary import accuracy_by_stratum, costs, summary, table_1, table_2
from srdcr_lab.preference import biases, context_preference, offset_slopes
from srdcr_lab.records import BadInput
from tests.simulated import simulated

EVERY = pd.concat([rows for _, rows in simulated(15).groupby("method", sort=False)], ignore_index=True)
FEW = ("few_shot", "judge_debate_1", "judge_debate_3", "golden", "debate_only", "sr_dcr")
RECORDS = EVERY[EVERY["method"].isin(FEW)].reset_index(drop=True)

NAMED = (
    *(summary, accuracy_by_stratum, context_preference, biases, prior_preference_by_round, verdict_rates),
    *(verdicts_by_round, path_stability, r_star_distribution, costs, cost_accuracy, offset_slopes),
)
MEASURES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {measure.__name__: measure for measure in NAMED} | {
    "decision_flow": decision_flow,
    "table_1": lambda records: table_1(records).cells,
    "table_2": lambda records: table_2(records).cells,
}
each = pytest.mark.parametrize("name", MEASURES)


@cache
def plain(name: str) -> pd.DataFrame:
    """The table of the records as they are."""
    return MEASURES[name](RECORDS)


@each
def test_the_index_of_the_rows_means_nothing(name: str) -> None:
    """Tables put together by hand repeat their index."""
    alike = RECORDS.set_axis(np.zeros(len(RECORDS), int))
    pd.testing.assert_frame_equal(MEASURES[name](alike), plain(name))


@each
def test_the_order_of_the_items_means_nothing(name: str) -> None:
    """Methods stay in their order, the items of each are turned round."""
    turned = pd.concat([rows[::-1] for _, rows in RECORDS.groupby("method", sort=False)])
    pd.testing.assert_frame_equal(_sorted(MEASURES[name](turned)), _sorted(plain(name)))


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    words = [column for column in table if table[column].dtype == object or table[column].dtype == "str"]
    numbers = [column for column in ("round", "r_star", "offset") if column in table]
    return table.sort_values([*words, *numbers], kind="stable").reset_index(drop=True)


def failed() -> pd.DataFrame:
    """Every call failed: nothing is known but the items."""
    nothing = dict.fromkeys(("prior_answer", "context_answer", "final_answer", "verdict", "verdict_path", "decision"))
    rows = RECORDS.assign(**nothing, missing="error", self_confidence=np.nan, knowledge_category=None)
    for column in ("correct", "prior_correct", "context_correct", "stabilised"):
        rows[column] = pd.array([pd.NA] * len(rows), "boolean")
    return rows.assign(r_star=pd.array([pd.NA] * len(rows), "Int64"))


@pytest.mark.parametrize("case", ["b - acvd::- acvd", "b - a::b -", "b acvd:b:b", "b -:acvd:-", "-::-", "::"])
def test_one_debate_is_chosen_and_what_has_none_is_kept(case: str) -> None:
    there, asked, kept = (part.split() for part in case.split(":"))
    rows = pd.DataFrame({"design": pd.Series(there, dtype="str").replace("-", None)})
    assert of_design(rows, *asked)["design"].fillna("-").tolist() == kept


BORNE = {
    "one method without a debate": RECORDS[RECORDS["method"] == "few_shot"],
    "true passages alone": RECORDS[RECORDS["level"] == "standard"],
    "no answer at all": failed(),
}


@each
@pytest.mark.parametrize("rows", BORNE)
def test_a_table_that_lacks_much_is_borne(name: str, rows: str) -> None:
    assert isinstance(MEASURES[name](BORNE[rows]), pd.DataFrame)


@pytest.mark.parametrize("name", [name for name in MEASURES if name != "decision_flow"])  # which is of one run
def test_two_runs_are_measured_apart(name: str) -> None:
    two = pd.concat([RECORDS.assign(run="one"), RECORDS.assign(run="two")])
    assert len(MEASURES[name](two)) == 2 * len(plain(name)) > 0


def test_claims_bear_any_index_and_a_run_where_all_failed() -> None:
    records = RECORDS[RECORDS["method"].isin(("few_shot", "sr_dcr"))]
    alike = check_claims(records.set_axis(np.zeros(len(records), int)))
    pd.testing.assert_frame_equal(alike, check_claims(records))
    assert len(check_claims(failed())) == len(alike)


@pytest.mark.parametrize("order", [["token_probability", "few_shot"], ["few_shot", "token_probability"]])
def test_the_kind_of_confidence_does_not_depend_on_the_order_of_the_methods(order: list[str]) -> None:
    """ClashEval's method writes the mean probability that it compares into its rows."""
    kinds = {"token_probability": "mean_probability", "few_shot": "mean_logprob"}
    rows = pd.DataFrame({"method": order, "confidence_kind": [kinds[name] for name in order], "self_confidence": 0.5})
    assert of_one_kind(rows)["method"].tolist() == ["few_shot"]
    assert len(of_one_kind(rows[rows["method"] == "token_probability"])) == 1
    alike = rows.assign(method="few_shot")
    assert len(of_one_kind(alike.assign(self_confidence=[0.5, np.nan]))) == 2, "a row without a confidence has no kind"
    with pytest.raises(BadInput, match="several kinds of confidence"):
        of_one_kind(alike)
