"""The plan against counts by hand, and against what a run then does."""

import asyncio
import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.data import ItemSet
from srdcr_lab.models.spending import Price
from srdcr_lab.protocols import DESIGNS, Cast, Setup, choices, methods
from srdcr_lab.records import Item
from srdcr_lab.study import Study
from srdcr_lab.study.plan import make_plan
from tests import documents
from tests.scripted import ScriptedModel, exemplars, item

TRUE, FALSE = item(1874), item(1934)
DEAR = Price(1e-6, 2e-6, "worked")
BESIDE, SHARED = "(answers and draws)", "the whole run"


def planned(*items: Item, names: str = "few_shot,sr_dcr", price: Price | None = DEAR, logprobs: bool = True,
            **chosen: Any) -> tuple[pd.DataFrame, ScriptedModel]:  # fmt: skip
    model = ScriptedModel(logprobs=logprobs)
    setup = Setup(Cast(*[model] * 4), choices(**chosen), ItemSet("worked", items, exemplars()))
    plan = asyncio.run(make_plan(setup, methods(names), {model.identity.key: price}))
    return plan.table.set_index("methods"), model


def calls(*items: Item, end: str = "calls_from", **how: Any) -> dict[str, int]:
    """Calls by row, of the methods without their design."""
    counted = planned(*items, **how)[0]
    return {str(name).partition(" (acvd")[0]: int(n) for name, n in counted[end].items()}


@pytest.mark.parametrize(("chosen", "expected"), [
    # Few-shot 1; SR-DCR prior, context and 6 × 3; beside them 32 draws, prior and context; in all 1 + 1 + 18 + 32.
    ({"names": "few_shot,sr_dcr"}, {"few_shot": 1, "sr_dcr": 20, BESIDE: 34, SHARED: 52}),
    ({"rounds": 1, "samples": 0}, {"sr_dcr": 5, BESIDE: 2, SHARED: 5}),
    ({"rounds": 3, "samples": 0}, {"sr_dcr": 11, BESIDE: 2, SHARED: 11}),
    ({"confidence": "self_consistency"}, {"sr_dcr": 36, BESIDE: 50, SHARED: 68}),
    ({"logprobs": False}, {"sr_dcr": 36, BESIDE: 50, SHARED: 68}),  # self-consistency, chosen by itself
    ({"confidence": "verbalized"}, {"sr_dcr": 21, BESIDE: 35, SHARED: 53}),
    ({"confidence": "p_true"}, {"sr_dcr": 21, BESIDE: 35, SHARED: 53}),
    # Prior, context, 12 speeches, 5 rulings; 16 draws beside. No ruling is asked for again: the most is the least.
    ({"preset": "released"}, {"sr_dcr (released)": 19, BESIDE: 18, SHARED: 35}),
    ({"preset": "released", "end": "calls_to"}, {"sr_dcr (released)": 19, BESIDE: 18, SHARED: 35}),
    # Two designs need the same two answers; the Defender's opening, alone, is the same turn in both.
    ({"design": "acvd,symmetric", "samples": 0}, {"sr_dcr": 20, "sr_dcr (symmetric)": 20, BESIDE: 2, SHARED: 20 + 17}),
    # A placebo of the only question there is: its two answers are asked for, and the plan goes on.
    ({"design": "placebo", "samples": 0}, {"sr_dcr (placebo)": 2, BESIDE: 2, SHARED: 2}),
])  # fmt: skip
def test_one_item_by_hand(chosen: dict[str, Any], expected: dict[str, int]) -> None:
    assert calls(TRUE, **({"names": "sr_dcr"} | chosen)) == expected


def test_two_forms_alone_and_shared() -> None:
    """Alone each item counts by itself. Shared, the second form adds what holds its passage or hangs on it: the context
    answer, and of 18 turns all but the Critic's opening."""
    assert calls(TRUE, FALSE, end="calls_alone_from") == {"few_shot": 2, "sr_dcr": 40, BESIDE: 68, SHARED: 110}
    assert calls(TRUE, FALSE) == {"few_shot": 2, "sr_dcr": 20 + 18, BESIDE: 34 + 1, SHARED: 52 + 18}


def test_every_method_of_one_item_by_hand() -> None:
    """At least: agents agree at once. At most: five rounds of three, and each of six rulings asked for its line once
    more, in the one debate that SR-DCR and debate_only share. The debates with a judge share their answers and the
    beginnings of one transcript: 2 + 2 + 10 turns, and a ruling each."""
    every = {"few_shot": 1, "zero_shot": 1, "self_ask": 1, "rci": 3, "astute": 2, "judge_debate_1": 7,
             "judge_debate_3": 11, "judge_debate_5": 15, "naive_debate": 3, "sr_dcr": 20, "debate_only": 20,
             "confidence_only": 2, "token_probability": 2, "calibrated_token_probability": 2, "golden": 1}  # fmt: skip
    whole = 2 + 1 + 1 + 3 + 2 + 15 - 2 + 2 + 3 + 18
    names = ",".join(every)
    assert calls(TRUE, names=names, samples=0) == every | {BESIDE: 2, SHARED: whole}
    most = calls(TRUE, names=names, samples=0, end="calls_to")
    assert most == every | {"naive_debate": 15, "sr_dcr": 26, "debate_only": 26, BESIDE: 2, SHARED: whole + 12 + 6}


def test_fresh_turns_are_planned_for_debaters_who_always_repeat_themselves() -> None:
    """Of two rounds at least no turn is asked again, at most both of the second round, and both rulings."""
    how: dict[str, Any] = {"names": "sr_dcr", "design": "acvd_fresh", "rounds": 2, "samples": 0}
    assert calls(TRUE, **how)["sr_dcr"] == 2 + 6
    assert calls(TRUE, end="calls_to", **how)["sr_dcr"] == 2 + 6 + 2 + 2


@pytest.mark.parametrize(("economy", "least"), [({"early_stop": 2}, 2 + 6), ({"agreement_shortcut": True}, 2)])
def test_an_economy_is_counted_from_its_best_case_to_its_worst(economy: dict[str, Any], least: int) -> None:
    """Two equal verdicts after rounds 0 and 1, or equal answers and no debate; at worst each ruling is asked again."""
    design = replace(DESIGNS["acvd"], **economy)
    assert calls(TRUE, names="sr_dcr", design=design, samples=0)["sr_dcr"] == least
    assert calls(TRUE, names="sr_dcr", design=design, samples=0, end="calls_to")["sr_dcr"] == 20 + 6


def test_tokens_and_costs_lie_between_those_of_short_and_longest_replies() -> None:
    """Short: prior and context 4 tokens each, 12 speeches and 6 rulings of 80. Longest: 2 × 32 and 18 × 300, and 300
    for each of 6 rulings once more."""
    row = planned(TRUE, names="sr_dcr")[0].loc["sr_dcr (acvd)"]
    assert (row["completion_tokens_from"], row["completion_tokens_to"]) == (2 * 4 + 18 * 80, 2 * 32 + (18 + 6) * 300)
    assert row["prompt_tokens_from"] < row["prompt_tokens_to"]
    for end in ("from", "to"):
        expected = row[f"prompt_tokens_{end}"] * 1e-6 + row[f"completion_tokens_{end}"] * 2e-6
        assert row[f"cost_usd_{end}"] == pytest.approx(expected)
    table, model = planned(TRUE, price=None)
    assert table[["cost_usd_from", "cost_usd_to"]].isna().all(axis=None)
    assert not math.isnan(table.loc["sr_dcr (acvd)", "prompt_tokens_from"])
    assert model.requests == []  # a plan asks nothing


def test_a_plan_of_many_items_is_estimated_from_some() -> None:
    """Calls, which are alike for every item, come out exact; the more calls an item takes, the fewer are gone through,
    so that a plan of thousands of items, or of every method, takes no minutes."""
    with Study(ScriptedModel(), "facts:testbed", "few_shot,sr_dcr", limit=160, rounds=1) as study:
        planned = study.plan()
    with Study(ScriptedModel(), "facts:testbed", "all", limit=160, rounds=1) as study:
        assert 5 < study.plan().rehearsed < planned.rehearsed < 160
    calls = planned.table.set_index("methods")
    assert calls.loc["few_shot", "calls_from"] == 160
    assert calls.loc["sr_dcr (acvd)", ["calls_alone_from", "calls_alone_to"]].tolist() == [160 * 5, 160 * (5 + 1)]
    assert calls["calls_alone_to"].dtype == int


def test_a_prompt_is_as_long_as_the_replies_in_it() -> None:
    """The critique shows the first reply, the revision both: three replies, each of 300 tokens instead of 80."""
    row = planned(TRUE, names="rci", samples=0)[0].loc["rci"]
    assert row["prompt_tokens_to"] - row["prompt_tokens_from"] == pytest.approx(3 * 220, abs=3)
    latin, han = (planned(replace(TRUE, context=c * 400), names="few_shot")[0].loc["few_shot"] for c in "x桥")
    assert han["prompt_tokens_to"] - latin["prompt_tokens_to"] == 2 * 400 / 4


@pytest.mark.parametrize(("method", "least", "most"), [
    ("concatenate", 1, 1),
    ("madam_rag", 2 * 4, 3 * 4),  # three agents and the aggregator, two or three rounds
    ("ra_rag", 3, 3),
    ("dialectical", 3 + 1 + 1, 2 * (3 + 1 + 3) + 1),  # nobody challenged; everybody, and each reply repaired
    # Memory is asked; what is let through is read; or rulings are asked again.
    ("sr_dcr_per_document (acvd)", 3 * 19 + 2, 3 * (19 + 6) + 1),
])  # fmt: skip
def test_calls_of_an_item_with_three_documents(method: str, least: int, most: int) -> None:
    items = ItemSet("worked", (documents.item(1874, 1901, 1850),), exemplars())
    table = Study(ScriptedModel(), items, method.partition(" ")[0]).plan().table.set_index("methods")
    assert tuple(table.loc[method, ["calls_alone_from", "calls_alone_to"]]) == (least, most)
