"""`srdcr doctor`: what a server does with what a study asks of it, and what that means for a study."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from srdcr_lab.commands import PATH, echo
from srdcr_lab.models.doctor import AFTER, BEFORE, DOCTOR, NO, PARTLY, UNTOLD, YES, Finding, Told, examine
from srdcr_lab.models.load import price_of
from srdcr_lab.models.store import Store
from srdcr_lab.study.opening import open_all
from srdcr_lab.study.run import wait_for

_TOKENS = "the confidences mean_logprob, sequence, mean_probability, p_true and the methods token_probability, "
_TOKENS += "calibrated_token_probability"
_DRAWS = "the confidences self_consistency, semantic_entropy and knowledge categories"
_FOLLOWS: tuple[tuple[str, Told, str], ...] = (
    ("log-probabilities", NO, f"{_TOKENS} cannot be had; auto is self_consistency here"),
    ("log-probabilities", PARTLY, f"{_TOKENS} fail where a reply lacks some: set --confidence self_consistency"),
    ("those at T = 0", BEFORE, f"{_TOKENS} are valid"),
    ("those at T = 0", AFTER, f"{_TOKENS} are of the sampler and mean nothing: set --confidence self_consistency"),
    ("those at T = 0", UNTOLD, f"whether {_TOKENS} are the model's own cannot be told"),
    ("draws differ", YES, f"{_DRAWS} are valid"),
    ("draws differ", NO, f"{_DRAWS} mean nothing, and no option mends that: take another server"),
    ("draws differ", UNTOLD, f"whether {_DRAWS} mean anything cannot be told"),
    ("log-probabilities", NO, "a τ found for mean_logprob elsewhere does not carry over: confidence is of another kind"),
    ("those at T = 0", BEFORE, "a τ found on a server where this is so too carries over, as far as the weights are the "
     "same: a quantisation is not seen from outside"),
    ("those at T = 0", AFTER, "a τ found on another server does not carry over"),
    ("those at T = 0", UNTOLD, "whether a τ found on another server carries over cannot be told"),
    ("those at T > 0", AFTER, "log-probabilities of sampled draws (samples.parquet) compare with those of no other T"),
    ("seed", NO, "a draw is not made again by its seed: the store alone repeats a study"),
    ("greedy repeats", NO, "the same study asked anew gives other answers: --repeats shows how far they vary"),
    ("greedy repeats", PARTLY, "answers depend on what else is in flight: set --concurrency 1 where that matters"),
    ("cache matters", YES, "answers depend on what was asked before: a confidence near τ may fall on either side"),
    ("thinking", YES, "thinking takes the room of replies, or stands in them: set --reasoning none"),
    ("thinking", PARTLY, "thinking is paid for and not shown: --reasoning none, where the model takes it, saves that"),
    ("system message", NO, "every prompt of a study has a system message, which does not reach this model"),
)  # fmt: skip


def conclusions(findings: Mapping[str, Finding]) -> Iterator[str]:
    """What findings mean for a study, in sentences."""
    scored = findings["log-probabilities"].told is not NO
    for about, told, sentence in _FOLLOWS:
        if findings[about].told is told and (scored or not about.startswith("those")):
            yield sentence
    if "temperature" in findings["left out"].observed:
        yield "answers are the most frequent of several draws and every row says so, since temperature is refused"
    yield "verbalized needs words alone, and is valid"


@click.command()
@click.option("--model", default="pocket", show_default=True, help="as in srdcr run")
@click.option("--base-url", help="address of an OpenAI- or Anthropic-compatible server; a key is optional")
@click.option("--store", type=PATH, help="remember the findings there: runs with this store write them into run.json")
def doctor(model: str, base_url: str | None, store: Path | None) -> None:
    """Find out what a server does with what a study asks of it.

    In about 60 short completions: draws, seeds, log-probabilities, greedy decoding, caches, thinking and more; then
    what that means for a study.
    """
    (opened,) = open_all([model], base_url=base_url, patience_s=0.0)
    price = price_of(opened.identity)

    async def ask() -> Any:
        try:
            if hasattr(opened, "check"):
                await opened.check()
            return await examine(opened, secrets.token_hex(4))
        finally:
            await opened.aclose()

    findings, asked = wait_for(ask())
    completions = [completion for each in asked for completion in each.completions]
    prompt, said = (sum(getattr(c, f"{kind}_tokens") for c in completions) for kind in ("prompt", "completion"))
    cost = "unknown cost" if price is None else f"${price.cost_of(completions):.4f}" if price.input_usd else "free"
    sent, tokens = getattr(opened, "sent", dict)(), f"{prompt:,} prompt tokens, {said:,} completion tokens"
    echo(f"{opened.identity}: {len(completions)} completions in {sent.get('requests', len(asked))} requests, {tokens}, {cost}")
    for about, finding in findings.items():
        echo(f"{about:<18}{finding.told}: {finding.observed}")
    for sentence in conclusions(findings):
        echo(f"- {sentence}")
    for failure in dict.fromkeys(each.failure for each in asked if each.failure):
        echo(f"failed: {failure}")
    if store:
        kept = {"asked_at": datetime.now(UTC).isoformat(timespec="seconds"), "findings": findings}
        with closing(Store(store)) as file:
            file.remember(opened.identity.key, DOCTOR, json.dumps(kept, default=asdict, ensure_ascii=False))
