"""The plan against counts by hand, and against what a run then does."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.data import ItemSet
from srdcr_lab.models import Store
from srdcr_lab.models.spending import Price, StoredModel
from srdcr_lab.protocols import DESIGNS, Cast, Setup, choices, methods
from srdcr_lab.records import Item
from srdcr_lab.study import Study
from srdcr_lab.study.plan import make_plan
from srdcr_lab.study.run import run_item
from tests.scripted import ScriptedModel, exemplars, item

TRUE, FALSE, OTHER = item(1874), item(1934), item(1874, question_id="q2")
DEAR = Price(1e-6, 2e-6, "worked")
BESIDE, SHARED = "(beside every row)", "the whole run"


def planned(*items: Item, names: str = "few_shot,sr_dcr", price: Price | None = DEAR, logprobs: bool = True,
            **chosen: Any) -> tuple[pd.DataFrame, ScriptedModel]:  # fmt: skip
    model = ScriptedModel(logprobs=logprobs)
    setup = Setup(Cast.of_one(model), choices(**chosen), ItemSet("worked", items, exemplars()))
    plan = asyncio.run(make_plan(setup, methods(names), {model.identity.key: price}))
    return plan.table.set_index("methods"), model


def calls(*items: Item, end: str = "calls_from", **how: Any) -> dict[str, int]:
    """Calls by row, of the methods without their design."""
    counted = planned(*items, **how)[0]
    return {str(name).partition(" (acvd")[0]: int(n) for name, n in counted[end].items()}


def test_one_item_by_hand() -> None:
    """Few-shot 1; SR-DCR prior, context and 6 × 3; beside them 32 draws, prior and context; in all 1 + 1 + 18 + 32."""
    assert calls(TRUE) == {"few_shot": 1, "sr_dcr": 20, BESIDE: 34, SHARED: 52}


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


def test_the_released_judge_is_asked_once() -> None:
    """No ruling is asked for its line again, so that the most is the least."""
    for end in ("calls_from", "calls_to"):
        assert calls(TRUE, names="sr_dcr", preset="released", end=end)["sr_dcr (released)"] == 19


def test_a_grid_has_a_row_a_design_and_shares_what_is_equal() -> None:
    """Both need prior and context answers; the Defender's opening, alone, is the same turn in both."""
    counted = planned(TRUE, names="sr_dcr", design="acvd,symmetric", samples=0)[0]["calls_from"]
    assert counted.to_dict() == {"sr_dcr (acvd)": 20, "sr_dcr (symmetric)": 20, BESIDE: 2, SHARED: 20 + 17}


def test_an_economy_is_counted_from_its_best_case_to_its_worst() -> None:
    """Two equal verdicts after rounds 0 and 1, or none before the end, each of six rulings asked for once more."""
    design = replace(DESIGNS["acvd"], early_stop=2)
    assert calls(TRUE, names="sr_dcr", design=design, samples=0)["sr_dcr"] == 2 + 6
    assert calls(TRUE, names="sr_dcr", design=design, samples=0, end="calls_to")["sr_dcr"] == 20 + 6


def test_fresh_turns_are_planned_for_debaters_who_always_repeat_themselves() -> None:
    """Of two rounds at least no turn is asked again, at most both of the second round, and both rulings."""
    how: dict[str, Any] = {"names": "sr_dcr", "design": "acvd_fresh", "rounds": 2, "samples": 0}
    assert calls(TRUE, **how)["sr_dcr"] == 2 + 6
    assert calls(TRUE, end="calls_to", **how)["sr_dcr"] == 2 + 6 + 2 + 2


def test_the_agreement_shortcut_may_save_the_whole_debate() -> None:
    design = replace(DESIGNS["acvd"], agreement_shortcut=True)
    assert calls(TRUE, names="sr_dcr", design=design, samples=0)["sr_dcr"] == 2
    assert calls(TRUE, names="sr_dcr", design=design, samples=0, end="calls_to")["sr_dcr"] == 20 + 6


def test_a_method_that_cannot_go_on_is_planned_as_far_as_it_goes() -> None:
    """A placebo of the only question there is: its two answers are asked for, and the plan goes on."""
    assert calls(TRUE, names="sr_dcr", design="placebo", samples=0) == {"sr_dcr (placebo)": 2, BESIDE: 2, SHARED: 2}


def test_self_consistency_adds_sixteen() -> None:
    expected = {"sr_dcr": 36, BESIDE: 50, SHARED: 68}
    assert calls(TRUE, names="sr_dcr", confidence="self_consistency") == expected
    assert calls(TRUE, names="sr_dcr", logprobs=False) == expected  # chosen by itself


def test_one_further_question_adds_one() -> None:
    for kind in ("verbalized", "p_true"):
        assert calls(TRUE, names="sr_dcr", confidence=kind) == {"sr_dcr": 21, BESIDE: 35, SHARED: 53}


@pytest.mark.parametrize(("rounds", "alone"), [(1, 5), (3, 11)])
def test_rounds(rounds: int, alone: int) -> None:
    assert calls(TRUE, names="sr_dcr", rounds=rounds, samples=0) == {"sr_dcr": alone, BESIDE: 2, SHARED: alone}


def test_the_released_preset() -> None:
    """Prior, context, 12 speeches, 5 rulings; 16 draws beside."""
    expected = {"sr_dcr (released)": 19, BESIDE: 18, SHARED: 35}
    assert calls(TRUE, names="sr_dcr", preset="released") == expected


def test_another_question_shares_nothing() -> None:
    assert calls(TRUE, OTHER)[SHARED] == 2 * 52


def test_planning_asks_the_model_nothing() -> None:
    assert planned(TRUE, FALSE)[1].requests == []


def test_tokens_lie_between_short_and_longest_replies() -> None:
    """Short: prior and context 4 tokens each, 12 speeches and 6 rulings of 80. Longest: 2 × 32 and 18 × 300, and 300
    for each of 6 rulings once more."""
    row = planned(TRUE, names="sr_dcr")[0].loc["sr_dcr (acvd)"]
    assert (row["completion_tokens_from"], row["completion_tokens_to"]) == (2 * 4 + 18 * 80, 2 * 32 + (18 + 6) * 300)
    assert row["prompt_tokens_from"] < row["prompt_tokens_to"]


def test_costs_by_hand() -> None:
    row = planned(TRUE, names="sr_dcr")[0].loc["sr_dcr (acvd)"]
    for end in ("from", "to"):
        expected = row[f"prompt_tokens_{end}"] * 1e-6 + row[f"completion_tokens_{end}"] * 2e-6
        assert row[f"cost_usd_{end}"] == pytest.approx(expected)


def test_an_unknown_price_is_missing_and_not_nothing() -> None:
    table = planned(TRUE, price=None)[0]
    assert table[["cost_usd_from", "cost_usd_to"]].isna().all(axis=None)
    assert not math.isnan(table.loc["sr_dcr (acvd)", "prompt_tokens_from"])


def run_calls(*items: Item, **chosen: Any) -> tuple[int, int]:
    """Completions of SR-DCR alone, and all that reached the model, in a run over one store."""
    said = {"defender": lambda r, d: r.messages[-1].content.partition("founded in ")[2][:4] + ". It says so."}
    model = ScriptedModel(said)
    cast = Cast.of_one(StoredModel(model, Store(":memory:")))
    setup = Setup(cast, choices(**chosen), ItemSet("worked", items, exemplars()))

    async def run() -> int:
        rows = [await run_item(each, setup, methods("sr_dcr")) for each in items]
        return sum(row.records[0]["calls_alone"] for row in rows)

    return asyncio.run(run()), model.calls


@pytest.mark.parametrize("chosen", [{}, {"samples": 0}, {"rounds": 2}, {"confidence": "self_consistency"},
                                    {"design": "symmetric"}])  # fmt: skip
def test_a_run_takes_what_the_plan_said(chosen: dict[str, Any]) -> None:
    alone, asked = run_calls(TRUE, OTHER, **chosen)
    table = planned(TRUE, OTHER, names="sr_dcr", **chosen)[0]
    assert (alone, asked) == (table["calls_alone_from"].iloc[0], table.loc[SHARED, "calls_from"])


def test_a_plan_over_two_forms_does_not_say_less_than_the_run() -> None:
    """Both passages are defended in other words, so only the prior answer, the draws and the critic's opening are
    shared: 52 for the first form, 18 for the second."""
    assert run_calls(TRUE, FALSE) == (40, 70)
    assert calls(TRUE, FALSE, names="sr_dcr")[SHARED] == 70


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
