"""False passages that a model writes anew: one request an item, each reply checked as `data.perturbing` does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from srdcr_lab.answers.kinds import Audit, FalseClaim, Traits
from srdcr_lab.data.perturbing import Form, Perturbed, claims_to_rewrite, rewritten
from srdcr_lab.models.base import ChatModel
from srdcr_lab.prompts import render_rewrite
from srdcr_lab.records import CallFailed, FinishReason, Item, Request
from srdcr_lab.records.vocabulary import TemperatureRefused

_MOST_TOKENS = 600  # of a passage


async def rewrite(
    model: ChatModel, perturbed: Perturbed, traits: Mapping[str, Traits] | None = None, seed: int = 0
) -> Perturbed:
    """Every standard item with the passage that the model wrote around one of its claims, where that passed.

    `perturbed` says which claims can be made. A call that failed is a refused form; what stops a run stops this one.
    """
    wanted = list(claims_to_rewrite(perturbed, seed))
    forms = await asyncio.gather(
        *(_one(model, item, claim, (traits or {}).get(item.question_id)) for item, claim in wanted)
    )
    made = {form.standard.item_id: form.item for form in forms if form.item is not None}
    standard = [item for item in perturbed.items if item.is_standard]
    both = [each for item in standard for each in (item, made.get(item.item_id)) if each is not None]
    name = f"{perturbed.items.name.removesuffix(', perturbed')}, rewritten"
    items = replace(perturbed.items, name=name, items=tuple(both))
    return Perturbed(items, tuple(forms), perturbed.left_out)


async def _one(model: ChatModel, item: Item, claim: FalseClaim, own: Traits | None) -> Form:
    messages = render_rewrite(item.question, item.context, claim.answer)
    request = Request(messages, _MOST_TOKENS, 0.0 if model.capabilities.temperature else None)
    try:
        try:
            (completion,) = await model.complete(request)
        except TemperatureRefused:
            (completion,) = await model.complete(replace(request, temperature=None))
    except CallFailed as error:
        return Form(item, claim, None, Audit.REFUSED, (f"no passage was written: {error}",))
    if completion.finish_reason is not FinishReason.STOP:
        return Form(item, claim, None, Audit.REFUSED, (f"the passage was not finished: {completion.finish_reason}",))
    return rewritten(item, claim, completion.text, own)
