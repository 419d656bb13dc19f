"""`srdcr doctor`: what a server does with what a study asks of it, and what that means for a study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from srdcr_lab.commands import PATH, echo
from srdcr_lab.commands.store import open_store
from srdcr_lab.commands.study import ASKING, with_options
from srdcr_lab.records import Told

_TOKENS = "mean_logprob, sequence, mean_probability, p_true, token_probability and calibrated_token_probability"
_DRAWS = "self_consistency, semantic_entropy and knowledge categories"
_SCORES, _GREEDY, _SAMPLED = (f"log-probabilities{at}" for at in ("", " at T = 0", " at T > 0"))
YES, PARTLY, NO, BEFORE, AFTER, UNTOLD = Told
MEANS = {
    (_SCORES, NO): f"{_TOKENS} cannot be had: auto is self_consistency, which takes a τ of its own",
    (
        _SCORES,
        PARTLY,
    ): f"{_TOKENS} fail where a reply lacks some: set --confidence self_consistency, with a τ of its own",
    (_GREEDY, BEFORE): f"{_TOKENS} are valid; a τ carries over from servers like this (quantisation is not seen)",
    (_GREEDY, AFTER): f"{_TOKENS} are the sampler's, and no τ carries over: set --confidence self_consistency",
    (_GREEDY, UNTOLD): f"whether {_TOKENS} are valid, and a τ found on another server carries over, cannot be told",
    (_SAMPLED, AFTER): "log-probabilities of sampled draws (samples.parquet) compare with those of no other T",
    ("draws differ", YES): f"{_DRAWS} are valid",
    ("draws differ", NO): f"{_DRAWS} mean nothing, which no option mends",
    ("draws differ", UNTOLD): f"whether {_DRAWS} mean anything cannot be told",
    ("seed", NO): "a draw is not made again by its seed: the store alone repeats a study",
    ("greedy repeats", NO): "a study asked anew gives other answers: --repeats shows how far they vary",
    ("greedy repeats", PARTLY): "answers depend on what else is in flight: set --concurrency 1 where that matters",
    ("prompt cache matters", YES): "answers and confidences depend on what was asked before, also near τ",
    ("thinking in replies", YES): "thinking stands in replies or takes their room: set --reasoning none",
    ("thinking in replies", PARTLY): "thinking is paid for and not shown: --reasoning none saves it",
    ("system message arrives", NO): "no prompt of a study arrives whole: all of them have a system message",
}


def conclusions(findings: Mapping[str, tuple[Told, str]]) -> Iterator[str]:
    """What findings mean for a study, in sentences. Nothing follows from log-probabilities that are not complete."""
    for (about, told), sentence in MEANS.items():
        if findings[about][0] is told and (findings[_SCORES][0] is YES or about not in (_GREEDY, _SAMPLED)):
            yield sentence
    if "temperature" in findings["left out of requests"][1]:
        yield "answers are the most frequent of several draws, and every row says so: temperature is refused"
    yield "verbalized needs words alone, and is valid"


@click.command()
@click.option("--model", default="pocket", show_default=True, help="as in srdcr run")
@click.option("--store", type=PATH, help="remember the findings there: runs with this store write them into run.json")
@with_options(ASKING)
def doctor(model: str, store: Path | None, **asking: Any) -> None:
    """Find out what a server does with a study's requests. Takes some 50 short completions."""
    from srdcr_lab.models.doctor import DOCTOR, examine
    from srdcr_lab.models.load import price_of
    from srdcr_lab.study.opening import open_all
    from srdcr_lab.study.run import wait_for

    (opened,) = open_all([model], patience_s=0.0, **asking)
    with open_store(store or Path(":memory:"), create=True) as kept:
        try:
            findings, asked = wait_for(examine(opened))
        finally:
            wait_for(opened.aclose())
        kept.remember(opened.identity.key, DOCTOR, json.dumps(findings, ensure_ascii=False))
    completions = [completion for each in asked for completion in each.completions]
    read, said = (sum(getattr(each, f"{kind}_tokens") for each in completions) for kind in ("prompt", "completion"))
    cost = f"${price.cost_of(completions):.4f}" if (price := price_of(opened.identity)) else "cost unknown"
    requests = opened.sent().get("requests", len(asked)) if hasattr(opened, "sent") else len(asked)
    spent = f"{requests} requests, {read:,} prompt tokens, {said:,} completion tokens, {cost}"
    echo(f"{opened.identity}: {len(completions)} completions in {spent}")
    for about, (told, observed) in findings.items():
        echo(f"{about:<27}{told}: {observed}")
    for failure in dict.fromkeys(each.failure for each in asked if each.failure):
        echo(f"failed: {failure}")
    for sentence in conclusions(findings):
        echo(f"- {sentence}")
