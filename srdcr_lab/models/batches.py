"""A wave of requests at half price, through the batch APIs of OpenAI and Anthropic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from srdcr_lab.models.api import ApiChat
from srdcr_lab.models.load import Price
from srdcr_lab.models.spending import Budget
from srdcr_lab.models.store import Store
from srdcr_lab.records import Request

PAUSE_S = 60.0  # between two looks at the batches under way
LONGEST_S = 24 * 3600.0  # after which both providers end a batch: the worst-case wait for one wave
_DISCOUNT = 0.5  # https://developers.openai.com/api/docs/guides/batch, https://platform.claude.com/docs/en/build-with-claude/batch-processing


def at_batch_price(price: Price) -> Price:
    """What tokens cost in a batch, of the price that they have live."""
    share = {"input_usd": price.input_usd * _DISCOUNT, "output_usd": price.output_usd * _DISCOUNT}
    return replace(price, **share, source=f"{price.source}, half of it in batches")


async def ask_batch(
    model: ApiChat,
    store: Store,
    wave: Sequence[Request],
    *,
    budget: Budget,
    price: Price | None,
    tell: Callable[[str], None],
    pause_s: float = PAUSE_S,
) -> list[tuple[Request, str]]:
    """Put the completions of a wave into the store; return what failed, each with a sentence.

    `wave` are requests with the draws that are missing. `price` is the live one; batches are booked at half of it
    (`at_batch_price`). Batches of this model that the store says are under way are waited for too, whatever they hold.

    Raises `BudgetExhausted` where some did not fit, after what fitted has come in; `Stopped` where the provider cannot
    be reached; `BadInput` where it has no batches, or does not know one that is under way.
    """
    raise NotImplementedError
