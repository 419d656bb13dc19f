"""`srdcr doctor`: against a loopback server of each temperament it prints what is true of that one, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab.models.doctor import (
    AFTER,
    BEFORE,
    NO,
    PARTLY,
    UNTOLD,
    YES,
    Asked,
    cache_matters,
    draws_differ,
    greedy_repeats,
    scale,
    seed,
)
from srdcr_lab.models.store import Store
from srdcr_lab.records import Completion, Message, ModelIdentity, Request
from tests.conftest import Ended, Srdcr
from tests.loopback.behaviour import Behaviour
from tests.loopback.server import Loopback
from tests.loopback.temperaments import Temperament

HONEST = {
    "draws at once": YES,
    "draws differ": YES,
    "seed": YES,
    "log-probabilities": YES,
    "those at T > 0": BEFORE,
    "those at T = 0": BEFORE,
    "greedy repeats": YES,
    "cache matters": NO,
    "thinking": NO,
    "system message": YES,
    "left out": NO,
    "speed": YES,
    "context": UNTOLD,
}
UNSCORED = {"log-probabilities": NO, "those at T > 0": UNTOLD, "those at T = 0": UNTOLD}
TOKENS, DRAWS = "mean_logprob, sequence, mean_probability, p_true", "self_consistency, semantic_entropy"


def examined(server: Loopback, srdcr: Srdcr, *more: object) -> Ended:
    return srdcr("doctor", "--model", "openai:tested", "--base-url", server.openai_url, *more)


def findings(ended: Ended) -> dict[str, str]:
    """What is printed of each question."""
    lines = (line for line in ended.out.splitlines() if not line.startswith("- "))
    return {line[:18].strip(): line[18:].partition(":")[0] for line in lines if line[:18].strip() in HONEST}


CASES: dict[str, tuple[Temperament, dict[str, Any], dict[str, str], str]] = {
    "honest": (Temperament(), {}, {}, f"{TOKENS} and the methods token_probability, calibrated_token_probability are"),
    "ignores n": (
        Temperament(choices="ignored"),
        {"models": ("tested",), "listed": {"max_model_len": 4096}},
        {"draws at once": NO, "context": YES},
        f"{DRAWS} and knowledge categories are valid",
    ),
    "copies draws": (
        Temperament(choices="copies"),
        {},
        {"draws differ": NO, "those at T > 0": UNTOLD},  # too few tokens are seen at two temperatures
        "categories mean nothing",
    ),
    "no seed": (Temperament(seeded=False), {}, {"seed": NO}, "the store alone repeats a study"),
    "always greedy": (
        Temperament(sampled=False, sharpness=1.0),
        {},
        {"draws differ": NO, "seed": UNTOLD},
        "categories mean nothing",
    ),
    "sampler's log-probabilities": (
        Temperament(scores="after"),
        {},
        {"those at T > 0": AFTER, "those at T = 0": AFTER},
        "a τ found on another server does not carry over",
    ),
    "sampler's but for T = 0": (
        Temperament(scores="after but greedy"),
        {},
        {"those at T > 0": AFTER},
        "log-probabilities of sampled draws (samples.parquet) compare with those of no other T",
    ),
    "some log-probabilities": (
        Temperament(scored="some"),
        {},
        {"log-probabilities": PARTLY},
        "fail where a reply lacks some: set --confidence self_consistency",
    ),
    "short log-probabilities": (Temperament(scored="short"), {}, UNSCORED, f"{TOKENS} and the methods"),
    "no log-probabilities": (Temperament(scored="none"), {}, UNSCORED, "auto is self_consistency here"),
    "greedy wanders": (
        Temperament(wanders=True),
        {},
        {"greedy repeats": NO, "cache matters": UNTOLD, "seed": NO, "those at T > 0": UNTOLD, "those at T = 0": UNTOLD},
        "--repeats shows how far they vary",
    ),
    "cache matters": (Temperament(cached=0.02), {}, {"cache matters": YES}, "answers depend on what was asked before"),
    "thinking leaks": (Temperament(thinking="leaks"), {}, {"thinking": YES, **UNSCORED}, "set --reasoning none"),
    "thinking eats": (
        Temperament(thinking="eats"),
        {},
        {"thinking": YES, **UNSCORED, "draws differ": UNTOLD, "seed": UNTOLD},
        "set --reasoning none",
    ),
    "thinking hides": (Temperament(thinking="hides"), {}, {"thinking": PARTLY}, "thinking is paid for and not shown"),
    "drops system messages": (
        Temperament(template="drops"),
        {},
        {"system message": NO},
        "which does not reach this model",
    ),
    "refuses system messages": (Temperament(template="refuses"), {}, {"system message": NO}, "failed: openai:tested"),
    "refuses temperature": (
        Temperament(),
        {"refuses": frozenset({"temperature"})},
        {**UNSCORED, "greedy repeats": UNTOLD, "cache matters": UNTOLD, "left out": YES},
        "since temperature is refused",
    ),
    "refuses everything": (
        Temperament(),
        {"refuses": frozenset({"temperature", "logprobs", "max_tokens", "seed", "n", "stop"})},
        {
            **UNSCORED,
            "greedy repeats": UNTOLD,
            "cache matters": UNTOLD,
            "left out": YES,
            "draws at once": NO,
            "seed": NO,
        },
        "since temperature is refused",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_true_of_a_server_is_printed(name: str, quick_retries: None, no_keys: None, srdcr: Srdcr) -> None:
    temperament, behaviour, different, sentence = CASES[name]
    with Loopback(Behaviour(**behaviour), temperament=temperament) as server:
        ended = examined(server, srdcr)
        assert ended.code == 0, ended.err
        assert findings(ended) == HONEST | different, ended.out
        assert sentence in ended.out
    assert f" in {len(server.completions)} requests" in ended.out
    assert len(server.completions) <= 75
