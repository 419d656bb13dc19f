"""P(UNREASONABLE): read from a judge's tokens, kept through store and tables, and what a threshold κ on it does."""

import asyncio
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.confidence import auroc, auroc_gain
from srdcr_lab.debates import draw_graded, rates_by_kappa, verdict_discrimination, with_kappa
from srdcr_lab.lib.calibration import reliability_curve
from srdcr_lab.lib.gating import decided
from srdcr_lab.models import Store
from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.models.spending import StoredModel
from srdcr_lab.prompts import readers
from srdcr_lab.protocols import DESIGNS
from srdcr_lab.records import Completion, Request, Verdict
from srdcr_lab.study.run import ItemRows
from tests.chapters.test_verdicts import row
from tests.loopback.asking import GREEDY, use
from tests.loopback.server import Loopback
from tests.scripted import REASONABLE, reader
from tests.simulated import frame
from tests.study.test_item_rows import rows_of

R, U, UNPARSED = Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED


def ruling(*tokens: tuple[str, float]) -> Completion:
    """A reply of these tokens with their probabilities."""
    words, p = zip(*tokens, strict=True)
    return Completion("".join(words), tokens=words, logprobs=tuple(map(math.log, p)))


SAYS_U = ruling(("final decision:", 0.9), (" UN", 0.7), ("REASONABLE", 0.6))
SAYS_R = ruling(("Not UNREASONABLE at all.", 0.5), ("\nfinal decision: ", 0.9), ("REASON", 0.8), ("ABLE.", 0.4))


@pytest.mark.parametrize(("said", "expected"), [
    (SAYS_U, 0.7), (SAYS_R, 0.2),
    (ruling(("**Final decision:", 0.9), (" **un", 0.6), ("reasonable**\n", 0.9)), 0.6),
    (ruling(("final decision: UNREASONABLE", 0.25)), 0.25),  # a single token: as it is
    (replace(SAYS_U, tokens=None, logprobs=None), None),
    (ruling(("It is REASONABLE", 0.9), (" to doubt it.", 0.5)), None),
])  # fmt: skip
def test_the_first_token_of_the_word_counts(said: Completion, expected: float | None) -> None:
    assert readers.p_unreasonable(said.text, said) == pytest.approx(expected)


def test_thinking_before_the_ruling_has_no_say() -> None:
    thought = ruling(
        ("<think>final decision: UNREASONABLE", 0.1), ("</think>", 1.0), ("final decision:", 1.0), (" R", 0.9)
    )
    whole = replace(thought, text=thought.text + "EASONABLE", tokens=(*(thought.tokens or ()), "EASONABLE"))
    whole = replace(whole, logprobs=(*(whole.logprobs or ()), 0.0))
    assert readers.p_unreasonable("final decision: REASONABLE", whole) == pytest.approx(0.1)
    assert readers.p_unreasonable("elsewhere\nfinal decision: REASONABLE", whole) is None


def test_a_scored_request_is_the_same_request() -> None:
    plain = replace(GREEDY, logprobs=False)
    scored = replace(plain, scored=True)
    assert (scored.canonical, scored.digest, scored.draw_seed(0)) == (plain.canonical, plain.digest, plain.draw_seed(0))
    assert (scored.wants_logprobs, plain.wants_logprobs, GREEDY.wants_logprobs) == (True, False, True)

    async def asked(first: bool, then: bool) -> tuple[int, Any]:
        model, store = reader(), Store(":memory:")
        plain = replace(GREEDY, logprobs=False)
        for scored in (first, then):
            (answer,) = await StoredModel(model, store).complete(replace(plain, scored=scored))
        return model.calls, answer.logprobs

    assert asyncio.run(asked(first=False, then=True)) == (1, None)
    assert asyncio.run(asked(first=True, then=True)) == (1, (-0.01,))


def test_a_server_is_asked_for_them_and_rules_without_them(loopback: Loopback) -> None:
    request = replace(GREEDY, logprobs=False, scored=True)
    (answer,) = use(OpenAIChat("tested", base_url=loopback.openai_url), lambda model: model.complete(request))
    assert loopback.completions[0].body["logprobs"] is True
    assert "".join(answer.tokens or ()) == answer.text
    loopback.behaviour.refuses = ("logprobs",)
    request = replace(GREEDY, logprobs=False, scored=True)
    (answer,) = use(OpenAIChat("tested", base_url=loopback.openai_url), lambda model: model.complete(request))
    assert (bool(answer.text), answer.logprobs) == (True, None)


def by_draw(request: Request, draw: int) -> Completion:
    return (SAYS_U, SAYS_R, SAYS_U)[draw]


def judged(rows: ItemRows) -> list[float | None]:
    return [turn["p_unreasonable"] for turn in rows.turns if turn["role"] == "judge"]


def test_turns_and_records_have_it() -> None:
    rows = rows_of(reader(judge=SAYS_U), names="sr_dcr,few_shot")
    assert judged(rows) == pytest.approx([0.7] * 6)
    assert [turn["p_unreasonable"] for turn in rows.turns if turn["role"] != "judge"] == [None] * 12
    assert [row["p_unreasonable"] for row in rows.records] == [pytest.approx(0.7), None]
    design = replace(DESIGNS["acvd"], name="drawn", judge_draws=3, rounds=2)
    rows = rows_of(reader(judge=by_draw), names="sr_dcr", design=design)
    assert judged(rows) == pytest.approx([0.7, 0.2, 0.7] * 2)
    assert rows.records[0]["p_unreasonable"] == pytest.approx((0.7 + 0.2 + 0.7) / 3)
    model = reader(judge=REASONABLE)
    model.capabilities = replace(model.capabilities, logprobs=False)
    rows = rows_of(model, names="sr_dcr")
    assert (judged(rows), rows.records[0]["p_unreasonable"]) == ([None] * 6, None)


def test_graded_verdicts_by_hand() -> None:
    said = {"verdict": [R, U, R, U, UNPARSED, None, U], "p_unreasonable": [0.3, 0.7, 0.05, 0.45, 0.9, 0.9, None]}
    expected = {0.5: [R, U, R, U, UNPARSED, None, U], 0.3: [U, U, R, U, UNPARSED, None, U]}
    expected |= {0.8: [R, R, R, R, UNPARSED, None, U], 0.0: [U, U, U, U, UNPARSED, None, U]}
    for kappa, verdicts in expected.items():
        found = with_kappa(pd.DataFrame(said), kappa)["verdict"].astype(object)
        assert found.where(found.notna(), None).tolist() == verdicts


DEBATES = frame(
    row("a", True, "RR", p_unreasonable=0.1, self_confidence=0.95),
    row("a", False, "RR", p_unreasonable=0.4, self_confidence=0.95),
    row("b", True, "RU", p_unreasonable=0.6, self_confidence=0.5),
    row("b", False, "RU", p_unreasonable=0.7, self_confidence=0.5),
    row("c", True, "R?", p_unreasonable=None, self_confidence=0.5),
    row("c", False, "RR", p_unreasonable=0.2, self_confidence=0.5),
).assign(context_correct=pd.array([True, False] * 3), prior_correct=pd.array([True] * 6), missing=None)


def test_rates_at_each_kappa_by_hand() -> None:
    """c's true passage has no probability and is left out. κ = 0.4: true .1 .6, false .4 .7 .2."""
    table = rates_by_kappa(DEBATES).set_index("kappa")[["true", "false"]]
    assert table.loc[0.4].tolist() == pytest.approx([1 / 2, 2 / 3])
    assert table.loc[0.5].tolist() == pytest.approx([1 / 2, 1 / 3])


def test_discrimination_by_hand() -> None:
    """True .1 .6, false .4 .7 .2: 5 of 6 pairs … .6 beats .4 and .2, so 4 of 6. Words R U against R U R."""
    table = verdict_discrimination(DEBATES).set_index("belief")
    assert table["auroc"].to_dict() == pytest.approx(
        {"P(UNREASONABLE)": 4 / 6, "the word": 2.5 / 6, "difference": 1.5 / 6}
    )
    assert (table["n"] == 5).all()
    assert (table["n_missing"] == 1).all()
    none = DEBATES.assign(p_unreasonable=np.nan)
    table = verdict_discrimination(none)
    assert (table["auroc"].isna().all(), set(table["n"])) == (True, {0})
    assert rates_by_kappa(none).empty


@pytest.fixture
def paired() -> dict[str, Any]:
    """Sixty questions twice, with two beliefs that share an error by question."""
    rng = np.random.default_rng(1)
    question, false = np.repeat(np.arange(60), 2), np.tile([False, True], 60)
    shared = rng.normal(size=60)[question]
    one, other = (0.8 * false + shared + 0.7 * rng.normal(size=120) for _ in range(2))
    return {"one": one, "other": other.round(0), "false": false, "question": question}


def test_areas_of_clusters_against_a_bootstrap_of_questions(paired: dict[str, Any]) -> None:
    one, other, false, question = paired.values()
    area = auroc(one, false, question)
    gain = auroc_gain(one, other, false, question)
    rng = np.random.default_rng(0)
    areas, gains = [], []
    for _ in range(400):
        drawn = rng.integers(0, 60, 60)
        rows = np.concatenate([2 * drawn, 2 * drawn + 1])
        areas.append(auroc(one[rows], false[rows]).value)
        gains.append(areas[-1] - auroc(other[rows], false[rows]).value)
    assert gain.value == pytest.approx(area.value - auroc(other, false).value)
    assert gain.high - gain.value == pytest.approx(2.0 * np.std(gains), rel=0.1)
    unpaired = auroc(one, false)
    assert (area.value, area.n) == (unpaired.value, unpaired.n)
    assert area.high - area.low == pytest.approx(3.92 * np.std(areas), rel=0.1)
    assert area.high - area.low < 0.85 * (unpaired.high - unpaired.low)  # a question's difficulty cancels


def test_each_value_its_own_cluster_is_the_usual_interval(paired: dict[str, Any]) -> None:
    one, _, false, _ = paired.values()
    usual, alone = auroc(one, false), auroc(one, false, np.arange(120))
    assert [alone.low, alone.high] == pytest.approx([usual.low, usual.high], abs=2e-3)


def test_decisions_follow_from_graded_verdicts() -> None:
    """κ = 0.3 rejects a's false passage, where the model is sure and remembers right."""
    of_false = [decided(with_kappa(DEBATES, kappa), 0.9)[0][1::2].tolist() for kappa in (0.5, 0.3)]
    assert of_false == [["USE_CONTEXT", "ABSTAIN", "USE_CONTEXT"], ["USE_PRIOR", "ABSTAIN", "USE_CONTEXT"]]


def test_the_curve_of_all_kappas_by_hand(figures_closed: None) -> None:
    curve = draw_graded(rates_by_kappa(DEBATES)).axes[0]
    corners = curve.lines[0].get_xydata()  # from believing nothing to believing all, where a true or false one falls
    assert corners * [2, 3] == pytest.approx(
        np.array([[0, 3], [0, 3], [1, 3], [1, 2], [1, 1], [1, 1], [2, 1], [2, 0]], float)
    )
    shown = reliability_curve(DEBATES["p_unreasonable"], DEBATES["level"] != "standard")
    assert shown.loc[shown["n"] > 0, "frequency"].tolist() == [0, 1, 1, 0, 1]
