"""What methods cost that are asked one after the other over one store."""

import asyncio

from srdcr_lab.models.spending import metered
from srdcr_lab.protocols import METHODS, Choices
from srdcr_lab.records import Item
from tests.scripted import ScriptedModel, stored_setup


def counted(
    model: ScriptedModel, items: Item | list[Item], *names: str, chosen: Choices | None = None
) -> list[tuple[int, int]]:
    """For each item and method the calls it takes alone, and those that it pays after all before it."""
    each_item = items if isinstance(items, list) else [items]

    async def run() -> list[tuple[int, int]]:
        setup, counts = stored_setup(model, chosen or Choices(), *each_item), []
        for item in each_item:
            for name in names:
                with metered() as meter:
                    await METHODS[name].run(item, setup)
                counts.append((meter.calls_alone, meter.calls_paid))
        return counts

    return asyncio.run(run())
