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
    draws_differ,
    greedy,
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
    "draws at once (n)": YES,
    "draws differ": YES,
    "seed": YES,
    "log-probabilities": YES,
    "log-probabilities at T > 0": BEFORE,
    "log-probabilities at T = 0": BEFORE,
    "greedy repeats": YES,
    "prompt cache matters": NO,
    "thinking in replies": NO,
    "system message arrives": YES,
    "left out of requests": NO,
    "speed": YES,
    "context length": UNTOLD,
}
UNSCORED = {"log-probabilities": NO, "log-probabilities at T > 0": UNTOLD, "log-probabilities at T = 0": UNTOLD}
TOKENS = "mean_logprob, sequence, mean_probability, p_true, token_probability and calibrated_token_probability"
DRAWS = "self_consistency, semantic_entropy and knowledge categories"


def examined(server: Loopback, srdcr: Srdcr, *more: object) -> Ended:
    return srdcr("doctor", "--model", "openai:tested", "--base-url", server.openai_url, *more)


def findings(ended: Ended) -> dict[str, str]:
    """What is printed of each question."""
    lines = (line for line in ended.out.splitlines() if not line.startswith("- "))
    return {line[:27].strip(): line[27:].partition(":")[0] for line in lines if line[:27].strip() in HONEST}


CASES: dict[str, tuple[Temperament, dict[str, Any], dict[str, str], str]] = {
    "honest": (Temperament(), {}, {}, f"{TOKENS} are valid"),
    "ignores n": (
        Temperament(choices="ignored"),
        {"models": ("tested",), "listed": {"max_model_len": 4096}},
        {"draws at once (n)": NO, "context length": YES},
        f"{DRAWS} are valid",
    ),
    "copies draws": (
        Temperament(choices="copies"),
        {},
        {"draws differ": NO, "log-probabilities at T > 0": UNTOLD},  # too few tokens are seen at two temperatures
        "categories mean nothing, which no option mends",
    ),
    "no seed": (Temperament(seeded=False), {}, {"seed": NO}, "the store alone repeats a study"),
    "always greedy": (
        Temperament(sampled=False, sharpness=1.0),
        {},
        {"draws differ": NO, "seed": UNTOLD},
        "categories mean nothing, which no option mends",
    ),
    "sampler's log-probabilities": (
        Temperament(scores="after"),
        {},
        {"log-probabilities at T > 0": AFTER, "log-probabilities at T = 0": AFTER},
        "are the sampler's, and no τ carries over",
    ),
    "sampler's but for T = 0": (
        Temperament(scores="after but greedy"),
        {},
        {"log-probabilities at T > 0": AFTER},
        "log-probabilities of sampled draws (samples.parquet) compare with those of no other T",
    ),
    "some log-probabilities": (
        Temperament(scored="some"),
        {},
        {"log-probabilities": PARTLY},
        "fail where a reply lacks log-probabilities: set --confidence self_consistency",
    ),
    "short log-probabilities": (Temperament(scored="short"), {}, UNSCORED, f"{TOKENS} cannot be had"),
    "no log-probabilities": (Temperament(scored="none"), {}, UNSCORED, "auto is self_consistency"),
    "greedy wanders": (
        Temperament(wanders=True),
        {},
        {
            "greedy repeats": NO,
            "prompt cache matters": UNTOLD,
            "seed": NO,
            "log-probabilities at T > 0": UNTOLD,
            "log-probabilities at T = 0": UNTOLD,
        },
        "--repeats shows how far they vary",
    ),
    "cache matters": (
        Temperament(cached=0.02),
        {},
        {"prompt cache matters": YES},
        "depend on what was asked before",
    ),
    "thinking leaks": (
        Temperament(thinking="leaks"),
        {},
        {"thinking in replies": YES, **UNSCORED},
        "set --reasoning none",
    ),
    "thinking eats": (
        Temperament(thinking="eats"),
        {},
        {
            **{"thinking in replies": YES, **UNSCORED, "greedy repeats": UNTOLD, "prompt cache matters": UNTOLD},
            **{"draws differ": UNTOLD, "seed": UNTOLD},
        },
        "set --reasoning none",
    ),
    "thinking hides": (
        Temperament(thinking="hides"),
        {},
        {"thinking in replies": PARTLY},
        "thinking is paid for and not shown",
    ),
    "drops system messages": (
        Temperament(template="drops"),
        {},
        {"system message arrives": NO},
        "no prompt of a study arrives whole",
    ),
    "refuses system messages": (
        Temperament(template="refuses"),
        {},
        {"system message arrives": NO},
        "failed: openai:tested",
    ),
    "refuses temperature": (
        Temperament(),
        {"refuses": frozenset({"temperature"})},
        {**UNSCORED, "greedy repeats": UNTOLD, "prompt cache matters": UNTOLD, "left out of requests": YES},
        "every row says so: temperature is refused",
    ),
    "refuses everything": (
        Temperament(),
        {"refuses": frozenset({"temperature", "logprobs", "max_tokens", "seed", "n", "stop"})},
        {
            **UNSCORED,
            "greedy repeats": UNTOLD,
            "prompt cache matters": UNTOLD,
            "left out of requests": YES,
            "draws at once (n)": NO,
            "seed": NO,
        },
        "every row says so: temperature is refused",
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
