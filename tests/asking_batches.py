"""A process that asks a wave in batches, to be killed: python -m tests.asking_batches PROVIDER URL STORE N [NAME]"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial

from srdcr_lab.models import batches
from srdcr_lab.models.anthropic import AnthropicChat
from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.models.spending import StoredModel
from srdcr_lab.models.store import Store
from srdcr_lab.records import Message, Request


def wave(n: int, draws: int = 1) -> list[Request]:
    """Greedy requests; or with draws, of the stream ``knowledge``."""
    texts = [f"When was bridge {i} built?" for i in range(n)]
    if draws == 1:
        return [Request((Message("user", text),), 16) for text in texts]
    numbers = tuple(range(draws))
    return [Request((Message("user", text),), 16, 0.5, stream="knowledge", draws=numbers) for text in texts]


async def main(
    provider: str, url: str, path: str, n: str, name: str = "double", *, tell: Callable[[str], None] = print
) -> None:
    chat = OpenAIChat if provider == "openai" else AnthropicChat
    model = chat(name, base_url=f"{url}/v1", max_retries=1)
    with closing(Store(path)) as store:
        batches.PAUSE_S = 0.02
        await batches.ask_batch(StoredModel(model, store), wave(int(n)), tell=tell)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:], tell=partial(print, flush=True)))
