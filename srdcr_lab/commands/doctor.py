"""`srdcr doctor`: what a server does with what a study asks of it, and what that means for a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from srdcr_lab.commands import PATH, echo
from srdcr_lab.commands.store import open_store
from srdcr_lab.commands.study import ASKING, with_options


@click.command()
@click.option("--model", default="pocket", show_default=True, help="as in srdcr run")
@click.option("--store", type=PATH, help="remember the findings there: runs with this store write them into run.json")
@with_options(ASKING)
def doctor(model: str, store: Path | None, **asking: Any) -> None:
    """Find out what a server does with a study's requests. Takes some 50 short completions."""
    from srdcr_lab.models.doctor import DOCTOR, conclusions, examine
    from srdcr_lab.models.spending import price_of
    from srdcr_lab.study.opening import open_all
    from srdcr_lab.study.run import wait_for

    (opened,) = open_all([model], patience_s=0.0, **asking)
    with open_store(store or Path(":memory:"), create=True) as kept:
        try:
            findings, trials = wait_for(examine(opened))
        finally:
            wait_for(opened.aclose())
        kept.remember(opened.identity.key, DOCTOR, json.dumps(findings, ensure_ascii=False))
    completions = [completion for each in trials for completion in each.completions]
    read, said = (sum(getattr(each, f"{kind}_tokens") for each in completions) for kind in ("prompt", "completion"))
    cost = f"${price.cost_of(completions):.4f}" if (price := price_of(opened.identity)) else "cost unknown"
    requests = opened.sent().get("requests", len(trials)) if hasattr(opened, "sent") else len(trials)
    spent = f"{requests} requests, {read:,} prompt tokens, {said:,} completion tokens, {cost}"
    echo(f"{opened.identity}: {len(completions)} completions in {spent}")
    for about, (told, observed) in findings.items():
        echo(f"{about:<27}{told}: {observed}")
    for failure in dict.fromkeys(each.failure for each in trials if each.failure):
        echo(f"failed: {failure}")
    for sentence in conclusions(findings):
        echo(f"- {sentence}")
