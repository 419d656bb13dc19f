"""The plan against counts by hand, and against what a run then does."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.data import ItemSet
from srdcr_lab.models import Store
from srdcr_lab.models.prices import Price
from srdcr_lab.models.stored import StoredModel
from srdcr_lab.protocols import Cast, Setup, choices, methods
from srdcr_lab.records import Item
from srdcr_lab.study.item import run_item
from srdcr_lab.study.plan import make_plan
from tests.scripted import ScriptedModel, exemplars, item

TRUE, FALSE, OTHER = item(1874), item(1934), item(1874, question_id="q2")
DEAR = Price(1e-6, 2e-6, "worked")
BESIDE, SHARED = "(knowledge and answers)", "all, shared"


def planned(*items: Item, names: str = "few_shot,sr_dcr", price: Price | None = DEAR, logprobs: bool = True,
            **chosen: Any) -> tuple[pd.DataFrame, ScriptedModel]:  # fmt: skip
    model = ScriptedModel(logprobs=logprobs)
    setup = Setup(Cast.of_one(model), choices(**chosen), ItemSet("worked", items, exemplars()))
    plan = asyncio.run(make_plan(setup, items, methods(names), {model.identity.key: price}))
    return plan.table.set_index("methods"), model


def calls(*items: Item, **how: Any) -> dict[str, int]:
    return {str(name): int(n) for name, n in planned(*items, **how)[0]["calls"].items()}


def test_one_item_by_hand() -> None:
    """Few-shot 1; SR-DCR prior, context and 6 × 3; beside them 32 draws, prior and context; shared 1 + 1 + 18 + 32."""
    assert calls(TRUE) == {"few_shot": 1, "sr_dcr": 20, BESIDE: 34, SHARED: 52}


def test_self_consistency_adds_sixteen() -> None:
    expected = {"sr_dcr": 36, BESIDE: 50, SHARED: 68}
    assert calls(TRUE, names="sr_dcr", confidence="self_consistency") == expected
    assert calls(TRUE, names="sr_dcr", logprobs=False) == expected  # chosen by itself


def test_verbalized_adds_one() -> None:
    assert calls(TRUE, names="sr_dcr", confidence="verbalized") == {"sr_dcr": 21, BESIDE: 35, SHARED: 53}


@pytest.mark.parametrize(("rounds", "alone"), [(1, 5), (3, 11)])
def test_rounds(rounds: int, alone: int) -> None:
    assert calls(TRUE, names="sr_dcr", rounds=rounds, samples=0) == {"sr_dcr": alone, BESIDE: 2, SHARED: alone}


def test_the_released_preset() -> None:
    """Prior, context, 12 speeches, 5 rulings; 16 draws beside."""
    assert calls(TRUE, names="sr_dcr", preset="released") == {"sr_dcr": 19, BESIDE: 18, SHARED: 35}


def test_another_question_shares_nothing() -> None:
    assert calls(TRUE, OTHER)[SHARED] == 2 * 52


def test_planning_asks_the_model_nothing() -> None:
    assert planned(TRUE, FALSE)[1].requests == []


def test_tokens_lie_between_short_and_longest_replies() -> None:
    """Short: prior and context 4 tokens each, 12 speeches and 6 rulings of 80. Longest: 2 × 32 and 18 × 300."""
    row = planned(TRUE, names="sr_dcr")[0].loc["sr_dcr"]
    assert (row["completion_tokens_from"], row["completion_tokens_to"]) == (2 * 4 + 18 * 80, 2 * 32 + 18 * 300)
    assert row["prompt_tokens_from"] < row["prompt_tokens_to"]


def test_costs_by_hand() -> None:
    row = planned(TRUE, names="sr_dcr")[0].loc["sr_dcr"]
    for end in ("from", "to"):
        expected = row[f"prompt_tokens_{end}"] * 1e-6 + row[f"completion_tokens_{end}"] * 2e-6
        assert row[f"cost_usd_{end}"] == pytest.approx(expected)


def test_an_unknown_price_is_missing_and_not_nothing() -> None:
    table = planned(TRUE, price=None)[0]
    assert table[["cost_usd_from", "cost_usd_to"]].isna().all(axis=None)
    assert not math.isnan(table.loc["sr_dcr", "prompt_tokens_from"])


def run_calls(*items: Item, **chosen: Any) -> tuple[int, int]:
    """Completions of SR-DCR alone, and all that reached the model, in a run over one store."""
    said = {"defender": lambda r, d: r.messages[-1].content.partition("founded in ")[2][:4] + ". It says so."}
    model = ScriptedModel(said)  # type: ignore[arg-type]
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
    table = calls(TRUE, OTHER, names="sr_dcr", **chosen)
    assert (alone, asked) == (table["sr_dcr"], table[SHARED])


def test_a_plan_over_two_forms_does_not_say_less_than_the_run() -> None:
    """Both passages are defended in other words, so only the prior answer, the draws and the critic's opening are
    shared: 52 for the first form, 18 for the second."""
    assert run_calls(TRUE, FALSE) == (40, 70)
    assert calls(TRUE, FALSE, names="sr_dcr")[SHARED] == 70
