"""Models that take no temperature: one refusal, answers by vote, rows that say so, and the same again without a key.

Over HTTP with both official SDKs, and by hand with a model from a script.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.models import Store
from srdcr_lab.protocols import Choices
from srdcr_lab.protocols.answering import context_answer, prior_answer, self_confidence
from srdcr_lab.records import BadInput, Message, Request
from srdcr_lab.study import Results, Study
from srdcr_lab.study.share import replay, run_differences, share
from tests.conftest import ITEMS, Srdcr
from tests.loopback.server import Loopback
from tests.scripted import ScriptedModel, finished, setup_of

DEFAULT = "provider's default"
SPECS = ("openai:reasoner", "anthropic:thinker")


@pytest.fixture
def refusing(loopback: Loopback) -> Loopback:
    """A server that refuses what OpenAI's reasoning models refuse, or of Anthropic's parameters temperature."""
    loopback.behaviour.refuses = frozenset({"temperature", "logprobs", "max_tokens"})
    loopback.behaviour.latency_s = 0.002
    return loopback


def study(server: Loopback, spec: str, out: Path | None, methods: str = "few_shot,sr_dcr", **more: Any) -> Study:
    url = server.openai_url if spec.startswith("openai") else server.url
    arguments = {"rounds": 2, "samples": 4, "base_url": url, "out": out} | more
    return Study(spec, pd.DataFrame(ITEMS), methods, **arguments)


def run(server: Loopback, spec: str, out: Path | None, methods: str = "few_shot,sr_dcr", **more: Any) -> Results:
    return finished(study(server, spec, out, methods, **more))


def refusals(server: Loopback) -> Counter[bool]:
    """The refused requests so far, by whether they named a temperature."""
    return Counter("temperature" in asked.body for asked in server.completions if asked.status != "200")


@pytest.mark.parametrize("spec", SPECS)
def test_a_study_of_a_model_without_temperature(refusing: Loopback, tmp_path: Path, spec: str) -> None:
    """No more refusals than requests in flight; every row, turn and sample says how it was drawn; a second run sends
    no refused request; offline the same comes out."""
    results = run(refusing, spec, tmp_path / "one", concurrency=4)
    first = refusals(refusing)
    assert 1 <= first[True] <= 4
    assert first[False] <= (4 if spec in SPECS[:1] else 0)
    records, turns, samples = results.records, results.turns, results.samples
    assert set(records["decoding"]) == set(records["knowledge_decoding"]) == {DEFAULT}
    assert set(turns["decoding"]) == set(samples["decoding"]) == {DEFAULT}
    assert set(records["confidence_kind"]) == {"self_consistency"}
    assert records["error"].isna().all()
    assert results.manifest["temperature"] == {spec: False}
    assert results.label == f"{spec} (drawn at the provider's default temperature)"
    assert set(results.summary["decoding"]) == {DEFAULT}
    assert any("refuses temperature: draws are made at the provider's default" in n for n in results.manifest["notes"])
    drawn = samples.groupby(["question_id", "stream"]).size().unstack()
    assert drawn.to_dict("list") == {"knowledge": [4] * len(drawn), "self_consistency": [16] * len(drawn)}
    sent = len(refusing.completions)
    run(refusing, spec, tmp_path / "two", "few_shot,zero_shot", store=tmp_path / "one/store.sqlite")
    assert len(refusing.completions) > sent
    assert all(asked.status == "200" for asked in refusing.completions[sent:])
    again = run(refusing, spec, tmp_path / "again", store=tmp_path / "one/store.sqlite", offline=True)
    assert run_differences(results, again) == []
    assert again.label == results.label
    assert again.manifest["logprobs"] == results.manifest["logprobs"] == {spec: False}


def test_an_ordinary_judge_of_a_model_without_temperature(refusing: Loopback, tmp_path: Path) -> None:
    """Who takes one is asked with one: the rows say both, the turns which. A bundle of it is replayed elsewhere."""
    with Loopback() as other:
        from srdcr_lab.models.openai import OpenAIChat

        judge = OpenAIChat("judge", base_url=other.openai_url)
        results = run(refusing, "anthropic:thinker", tmp_path / "run", judge=judge)
    by_method = results.records.drop_duplicates("method").set_index("method")["decoding"].to_dict()
    assert by_method == {"few_shot": DEFAULT, "sr_dcr": f"greedy, {DEFAULT}"}
    by_role = results.turns.groupby("role")["decoding"].unique().map(list).to_dict()
    assert by_role == {"critic": [DEFAULT], "defender": [DEFAULT], "judge": ["greedy"]}
    assert results.manifest["temperature"] == {"anthropic:thinker": False, "openai:judge": True}
    share(tmp_path / "run", tmp_path / "study.zip")
    assert replay(tmp_path / "study.zip", tmp_path / "elsewhere").differences == ()


@pytest.mark.parametrize("items", ["facts", "facts:options", "facts:documents"])
def test_every_method_goes_on_without_temperature(refusing: Loopback, items: str) -> None:
    """Only the first requests name a temperature; what needs log-probabilities says so in its row."""
    arguments = {"rounds": 2, "samples": 0, "limit": 1, "base_url": refusing.openai_url, "concurrency": 2}
    records = finished(Study("openai:reasoner", items, "all", **arguments)).records
    assert refusals(refusing)[True] <= 2
    failed = records[records["error"].notna()]
    assert set(failed["method"]) <= {"token_probability", "calibrated_token_probability"}
    assert set(records["decoding"].drop(failed.index)) == {DEFAULT}


def test_a_row_of_an_ordinary_run_says_how_it_was_drawn(loopback: Loopback) -> None:
    """Greedy, at T = 0.5 where draws were asked for, or at a method's own temperature; the summary has no column."""
    results = run(loopback, "openai:desk", None, "few_shot,sr_dcr,vote_20", confidence="self_consistency")
    by_method = results.records.drop_duplicates("method").set_index("method")["decoding"].to_dict()
    assert by_method == {"few_shot": "greedy", "sr_dcr": "greedy, T=0.5", "vote_20": "T=0.5"}
    by_stream = results.samples.groupby("stream")["decoding"].unique().map(list).to_dict()
    assert by_stream == {"greedy": ["greedy"], "knowledge": ["T=0.5"], "self_consistency": ["T=0.5"]}
    assert "decoding" not in results.summary
    assert results.label == "openai:desk"


def test_a_plan_knows_what_store_remembers(refusing: Loopback, items_csv: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    """And says before that what a refusal would change. The calls planned are those that a run then makes."""
    arguments = ["--model", "anthropic:thinker", "--items", items_csv, "--rounds", 2, "--samples", 4]
    before = srdcr("plan", *arguments).out
    calls = run(refusing, "anthropic:thinker", tmp_path / "run").manifest["counts"]["calls_paid"]
    assert "refuses a temperature, its prior and context answers take 16 draws each" in before
    after = srdcr("plan", *arguments, "--store", tmp_path / "run/store.sqlite").out
    (whole,) = (line for line in after.splitlines() if line.startswith("the whole run"))
    assert whole.split()[4].partition("–")[0] == f"{calls:,}"  # at most, rulings are asked for again


@pytest.mark.parametrize("fact", ["5", '["messages"]', '{"temperature": true}'])
def test_a_store_that_remembers_nonsense(refusing: Loopback, tmp_path: Path, fact: str) -> None:
    with closing(Store(tmp_path / "store.sqlite")) as store:
        store.remember("openai|reasoner|", "refused", fact)
    with pytest.raises(BadInput, match=r"store\.sqlite: what openai:reasoner refuses") as refused:
        run(refusing, "openai:reasoner", tmp_path / "out", store=tmp_path / "store.sqlite")
    assert len(str(refused.value)) < 400
    assert not (tmp_path / "out").exists()


def undrawn(answers: Sequence[str], **script: Any) -> ScriptedModel:
    """A model without temperature or log-probabilities, whose draws say these answers, over and over."""

    def says(request: Request, draw: int) -> str:
        return answers[draw % len(answers)]

    model = ScriptedModel({"answer_from_memory": says, "answer_with_passage": says, **script}, logprobs=False)
    model.capabilities = replace(model.capabilities, temperature=False)
    return model


@pytest.mark.parametrize(("answers", "n", "expected", "share"), [
    (["1874", "1901", "1901"], 3, "1901", 2 / 3),
    (["1901", "1874", "1874", "1901"], 4, "1901", 1 / 2),  # of equals the one drawn first
    (["I do not know", "1874", "in 1874", "1901"], 4, "1874", 1 / 2),  # as years compare; unread ones do not count
    (["I do not know"], 16, None, None),
])  # fmt: skip
def test_an_answer_is_the_most_frequent_draw_and_its_share_the_confidence(
    answers: list[str], n: int, expected: str | None, share: float | None
) -> None:
    model = undrawn(answers)
    setup = setup_of(model, Choices(consistency_draws=n))
    one = setup.items.items[0]
    prior = asyncio.run(prior_answer(one, setup))
    assert prior.value == expected
    assert (prior.stream, prior.decoding, len(prior.draws)) == ("self_consistency", DEFAULT, n)
    confidence = asyncio.run(self_confidence(one, prior, setup))
    assert confidence.kind == "self_consistency"
    assert confidence.value == (pytest.approx(share) if share else pytest.approx(float("nan"), nan_ok=True))
    assert model.calls == n  # the same draws
    assert asyncio.run(context_answer(one, setup)).value == expected
    assert [request.temperature for request in model.requests] == [None, None]


def test_the_canonical_request_says_null_and_ordinary_ones_are_as_they_were() -> None:
    request = Request((Message("user", "When?"),), 8)
    canonical = '{{"logprobs":false,"max_tokens":8,"messages":[["user","When?"]],"seed":0,"stop":[],"temperature":{}}}'
    assert request.canonical == canonical.format("0.0")
    by_default = replace(request, temperature=None, stream="critic", draws=(0, 1))
    assert by_default.canonical == canonical.format("null")
    with pytest.raises(ValueError, match="a greedy request has one draw"):
        replace(request, draws=(0, 1))
