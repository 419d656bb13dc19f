"""`srdcr doctor`: against a loopback server of each temperament it prints what is true of that one, and no more."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab.models import doctor
from srdcr_lab.models.doctor import MEANS, Trial, draws_differ, greedy, seed
from srdcr_lab.records import Capabilities, Completion, Message, Request, Told
from tests.conftest import Ended, Srdcr
from tests.doubles import ScriptedModel
from tests.loopback.behaviour import Behaviour
from tests.loopback.fixture import priced
from tests.loopback.server import Loopback
from tests.loopback.temperaments import Temperament

YES, PARTLY, NO, BEFORE, AFTER, UNTOLD = Told
HONEST = {
    "draws at once (n)": YES, "draws differ": YES, "seed": YES, "log-probabilities": YES,
    "log-probabilities at T > 0": BEFORE, "log-probabilities at T = 0": BEFORE, "greedy repeats": YES,
    "prompt cache matters": NO, "thinking in replies": NO, "system message arrives": YES,
    "left out of requests": NO, "context length": UNTOLD,
}  # fmt: skip
UNSCORED = {"log-probabilities": NO, "log-probabilities at T > 0": UNTOLD, "log-probabilities at T = 0": UNTOLD}
SILENT = dict.fromkeys(["draws differ", "seed", "greedy repeats", "prompt cache matters"], UNTOLD)
TOKENS = "mean_logprob, sequence, mean_probability, p_true, token_probability and calibrated_token_probability"
DRAWS = "self_consistency, semantic_entropy and knowledge categories"


def examined(server: Loopback, srdcr: Srdcr, *more: object) -> Ended:
    return srdcr("doctor", "--model", "openai:tested", "--base-url", server.openai_url, *more)


def findings(ended: Ended) -> dict[str, str]:
    """What is printed of each question."""
    lines = (line for line in ended.out.splitlines() if not line.startswith("- "))
    return {line[:27].strip(): line[27:].partition(":")[0] for line in lines if line[:27].strip() in HONEST}


UNREFUSED = UNSCORED | dict.fromkeys(["greedy repeats", "prompt cache matters"], UNTOLD) | {"left out of requests": YES}
WANDERS = dict.fromkeys(["prompt cache matters", "log-probabilities at T > 0", "log-probabilities at T = 0"], UNTOLD)
COPIES = {"draws differ": NO, "log-probabilities at T > 0": UNTOLD}  # too few tokens are seen at two temperatures
SHARP, SMOOTH = "log-probabilities at T = 0", "log-probabilities at T > 0"
EVERYTHING = frozenset({"temperature", "logprobs", "max_tokens", "seed", "n", "stop"})
LISTED = {"models": ("tested",), "listed": {"max_model_len": 4096}}
Case = tuple[Temperament, dict[str, Any], str, dict[str, Any]]
CASES: dict[str, Case] = {
    "honest": (Temperament(), {}, f"{TOKENS} are valid", {}),
    "ignores n": (
        Temperament(choices="ignored"), {"draws at once (n)": NO, "context length": YES}, f"{DRAWS} are valid", LISTED),
    "copies draws": (Temperament(choices="copies"), COPIES, "categories mean nothing; no option fixes this", {}),
    "no seed": (Temperament(seeded=False), {"seed": NO}, "the store alone repeats a study", {}),
    "always greedy": (
        Temperament(sampled=False, sharpness=1.0), {"draws differ": NO, "seed": UNTOLD}, "categories mean nothing", {}),
    "sampler's log-probabilities": (
        Temperament(scores="after"), {SMOOTH: AFTER, SHARP: AFTER}, "are the sampler's, and no τ carries over", {}),
    "sampler's but for T = 0": (
        Temperament(scores="after but greedy"), {SMOOTH: AFTER}, "compare with those of no other T", {}),
    "some log-probabilities": (
        Temperament(scored="some"), {"log-probabilities": PARTLY}, "set --confidence self_consistency", {}),
    "short log-probabilities": (Temperament(scored="short"), UNSCORED, f"{TOKENS} cannot be had", {}),
    "no log-probabilities": (Temperament(scored="none"), UNSCORED, "auto is self_consistency", {}),
    "greedy wanders": (
        Temperament(wanders=True), WANDERS | {"greedy repeats": NO, "seed": NO}, "shows how far they vary", {}),
    "cache matters": (Temperament(cached=0.02), {"prompt cache matters": YES}, "depend on what was asked before", {}),
    "thinking leaks": (
        Temperament(thinking="leaks"), UNSCORED | {"thinking in replies": YES}, "set --reasoning none", {}),
    "thinking eats": (
        Temperament(thinking="eats"), UNSCORED | SILENT | {"thinking in replies": YES}, "set --reasoning none", {}),
    "thinking hides": (
        Temperament(thinking="hides"), {"thinking in replies": PARTLY}, "thinking is paid for and not shown", {}),
    "drops system messages": (
        Temperament(template="drops"), {"system message arrives": NO}, "no prompt of a study arrives whole", {}),
    "refuses system messages": (
        Temperament(template="refuses"), {"left out of requests": YES}, "yes: system", {}),
    "refuses temperature": (
        Temperament(), UNREFUSED, "temperature is refused", {"refuses": frozenset({"temperature"})}),
    "refuses everything": (
        Temperament(), UNREFUSED | {"draws at once (n)": NO, "seed": NO}, "temperature is refused",
        {"refuses": EVERYTHING}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_true_of_a_server_is_printed(name: str, quick_retries: None, no_keys: None, srdcr: Srdcr) -> None:
    temperament, different, sentence, behaviour = CASES[name]
    with Loopback(Behaviour(**behaviour), temperament=temperament) as server:
        ended = examined(server, srdcr)
        assert ended.code == (name in ("thinking eats", "drops system messages")), ended.err
        assert findings(ended) == HONEST | different, ended.out
        assert sentence in ended.out
        own = findings(ended)["log-probabilities"], findings(ended)["log-probabilities at T = 0"]
        assert (f"- {TOKENS} are valid" in ended.out) == (own == (YES, BEFORE))
    assert f" in {len(server.completions)} requests" in ended.out
    assert len(server.completions) <= 75


def test_a_model_without_temperature_is_asked_nothing_at_one() -> None:
    model = ScriptedModel(lambda request, draw: Completion("A word.", draw, ("A word.",), (-1.0,)))
    model.capabilities = Capabilities(logprobs=True, temperature=False)
    asyncio.run(doctor.examine(model))
    assert [request.draws for request in model.asked if len(request.draws) > 1] == [tuple(range(4, 12))]


def test_each_conclusion_is_drawn_from_what_can_be_found() -> None:
    assert {about for about, _ in MEANS} <= set(HONEST)
    assert {told for _, told in MEANS} <= set(Told)


def test_what_it_took_is_printed_with_its_price(
    loopback: Loopback, srdcr: Srdcr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(monkeypatch, tmp_path, "tested,1000000,0")
    loopback.temperament = Temperament()
    (prompt, dollars) = re.findall(r"([\d,]+) prompt tokens, .*\$(\d+)\.", examined(loopback, srdcr).out)[0]
    assert int(prompt.replace(",", "")) == int(dollars) > 0


def test_findings_are_asked_once_and_stand_in_run_json(
    loopback: Loopback, srdcr: Srdcr, tmp_path: Path, items_csv: Path
) -> None:
    loopback.temperament = Temperament(scores="after", template="refuses")
    store, out = tmp_path / "store.sqlite", tmp_path / "out"
    settings = "--reasoning", "none", "--extra-body", '{"top_k": 20}'
    examined(loopback, srdcr, "--store", store, *settings)
    assert all((asked.body["reasoning_effort"], asked.body["top_k"]) == ("none", 20) for asked in loopback.completions)
    assert b"127.0.0.1" not in store.read_bytes()  # what failed names the server, and is printed alone
    loopback.temperament = None
    asked = len(loopback.completions)
    run = ["run", "--model", "openai:tested", "--base-url", loopback.openai_url, "--items", items_csv]
    run += ["--methods", "few_shot", "--samples", 0, "--store", store, "--out", out]
    srdcr.ok(*run, *settings)
    (found,) = json.loads((out / "run.json").read_text())["doctor"].values()  # these settings are part of the model
    assert found["log-probabilities at T = 0"][0] == AFTER
    few_shot = 2 * 3  # prior and context answers of three items
    assert len(loopback.completions) == asked + few_shot


def test_server_that_is_away_and_store_that_is_none_are_bad_input(no_keys: None, srdcr: Srdcr, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    command = ["doctor", "--model", "openai:tested", "--base-url", "http://127.0.0.1:9/v1", "--store", store]
    ended = srdcr(*command)
    assert (ended.code, store.exists()) == (2, False)
    assert "could not be reached" in ended.sentence
    store.write_text("no store")
    assert "is not a store" in srdcr(*command).sentence


def said(*texts: str, logprob: float | None = None) -> Trial:
    scores = None if logprob is None else (logprob,)
    completions = [Completion(text, tokens=scores and (text,), logprobs=scores) for text in texts]
    return Trial(Request((Message("user", "?"),), 12), tuple(completions))


@pytest.mark.parametrize(("at_once", "alone", "logprob", "told"), [
    ("aab", "aa", None, YES),
    ("aaa", "ab", None, NO),  # copies of one
    ("aaa", "aa", -0.9, NO),  # .41 ** 4 = .03: no sampling makes five equal
    ("aaa", "aa", -0.7, UNTOLD),  # .50 ** 4 = .06
    ("aaa", "aa", None, UNTOLD), ("aaa", ("a", ""), None, UNTOLD),  # one of which failed
])  # fmt: skip
def test_equal_draws_are_blamed_where_chance_does_not_explain_them(
    at_once: str, alone: Sequence[str], logprob: float | None, told: Told
) -> None:
    assert draws_differ(said(*at_once, logprob=logprob), [said(text) for text in alone])[0] is told


@pytest.mark.parametrize(("pairs", "told"), [
    (["aa", "bb", "cc", "dd"], YES), (["aa", "bb", "cc", "de"], PARTLY),
    (["ab", "cd", "ef", "gh"], NO),
    (["aa", "aa", "aa", "bb"], UNTOLD),  # half of the pairs are equal: .5 ** 4 = .06
    (["aa", "aa", "bb", "cc"], YES),  # a sixth of them
    (["aa"], UNTOLD),
])  # fmt: skip
def test_a_seed_is_honoured_where_other_seeds_say_other_things(pairs: Sequence[str], told: Told) -> None:
    assert seed(pairs, {})[0] is told


def day(*logprobs: float, beside: str = "a") -> list[Completion]:
    """First, again, again, (another prompt,) after it, and beside other requests."""
    replies = [Completion("a", tokens=("a",), logprobs=(value,)) for value in logprobs]
    return [*replies[:3], replies[0], replies[3], replace(replies[2], text=beside, tokens=(beside,))]


@pytest.mark.parametrize(("replies", "repeats", "matters"), [
    (day(-1, -1, -1, -1), YES, NO), (day(-1, -1, -1, -1, beside="b"), PARTLY, NO),
    (day(-1, -1.2, -1.2, -1.2), YES, YES),  # what was seen before is another number
    (day(-1.2, -1.2, -1.2, -1), YES, YES),
    (day(-1, -1.2, -1, -1.2), YES, NO),  # it is another number anyhow
])  # fmt: skip
def test_a_cache_matters_where_replies_change_by_more_than_anyhow(
    replies: list[Completion], repeats: Told, matters: Told
) -> None:
    assert [told for told, _ in greedy([day(-1, -1, -1, -1), replies])] == [repeats, matters]


@pytest.mark.parametrize(("at_half", "told"), [
    ([-1.0, -1.2, -0.9, -2.0, -0.5], BEFORE),  # noise moves one of five
    ([-1.2, -1.3, -0.8, -1.9, -0.6], UNTOLD),  # less than the noise, and more than half of them
    ([-0.3, -0.5, -0.2, -1.2, -0.1], AFTER),
])  # fmt: skip
def test_noise_of_a_cache_hides_no_scale_where_most_tokens_stay(at_half: list[float], told: Told) -> None:
    own = [-1.0, -1.5, -0.9, -2.0, -0.5]

    def drawn(t: float, token: str, logprob: float) -> Trial:
        request = Request((Message("user", doctor._OPEN),), 12, t, stream="doctor")
        return Trial(request, (Completion(token, tokens=(token,), logprobs=(logprob,)),))

    asked = [drawn(t, str(i), x) for t, values in ((1.0, own), (0.5, at_half)) for i, x in enumerate(values)]
    asked += [drawn(1.0, "noisy", x) for x in (-3.0, -3.16)]  # one token, twice at one temperature
    assert doctor.score_scale(asked, [0.5], 2)[0] is told
