"""What run.json says: what was asked, with which versions and prices, what came of it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from srdcr_lab import prompts
from srdcr_lab.data import ItemSet
from srdcr_lab.models import ChatModel
from srdcr_lab.models.base import Reporting
from srdcr_lab.models.budget import Budget
from srdcr_lab.protocols import Choices, Method
from srdcr_lab.study.opening import price_for

_PACKAGES = ("srdcr-lab", "numpy", "pandas", "pyarrow", "torch", "transformers", "openai", "anthropic", "genai-prices")
ROLES = ("answerer", "defender", "critic", "judge")
_POCKET = (
    "made with the pocket model, a model organism trained to know, half-know and not know: "
    "no evidence about any large model"
)


def asked(
    items: ItemSet,
    methods: Sequence[Method],
    choices: Choices,
    models: Sequence[ChatModel],
    players: Mapping[str, ChatModel],
    *,
    limit: int | None,
    seed: int,
) -> dict[str, Any]:
    """What decides the numbers: a results folder resumes only under the same. `players` are the models that designs
    name, by specification."""
    roles = dict(zip(ROLES, models, strict=True)) | dict(players)
    content = json.dumps([asdict(item) for item in items], sort_keys=True).encode()
    return {
        "items": items.name,
        "items_sha256": hashlib.sha256(content).hexdigest(),
        "n_items": len(items),
        "limit": limit,
        "methods": [method.name for method in methods],
        "choices": choices.as_dict(),
        "seed": seed,
        "models": {role: asdict(model.identity) for role, model in roles.items()},
        "prompts_sha256": dict(prompts.hashes()),
    }


def manifest(
    status: str, asked: dict[str, Any], items: ItemSet, models: Sequence[ChatModel], budget: Budget
) -> dict[str, Any]:
    """Everything but the counts, which a finished run adds."""
    prices = {str(model.identity): price_for(model.identity, None) for model in models}
    return {
        "status": status,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked": asked,
        "notes": [*items.notes, *([_POCKET] if any(m.identity.provider == "pocket" for m in models) else [])],
        "logprobs": {str(model.identity): model.capabilities.logprobs for model in models},
        "sent": {str(model.identity): model.sent() for model in models if isinstance(model, Reporting)},
        "prices": {name: asdict(price) if price else None for name, price in prices.items()},
        "budget_usd": budget.limit_usd,
        "spent_usd": budget.spent_usd,
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
