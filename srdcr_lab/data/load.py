"""One door to every source of items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab.data import facts
from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.data.perturbations import YEAR_OFFSETS
from srdcr_lab.data.tables import items_from_frame, read_table
from srdcr_lab.records import BadInput

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = ("facts", "facts:testbed", "facts:grid")


def load_items(
    source: str | Path | pd.DataFrame | ItemSet = "facts",
    *,
    seed: int = 0,
    year_offsets: Sequence[int] = YEAR_OFFSETS,
    every_mention: bool = True,
) -> ItemSet:
    """Items to evaluate, with their exemplars.

    Parameters
    ----------
    source : ``facts``, ``facts:testbed``, ``facts:grid``, a CSV, JSONL or Parquet file, or a DataFrame with the columns
        `question, gold_answer, context` and any of `claimed_answer, domain, answer_type, aliases, unit, question_id,
        item_id, perturbation_kind, perturbation_value, level, is_exemplar`.
    seed : of the testbed's draw of offsets.
    year_offsets, every_mention : how the passages of the shipped testbeds lie (`srdcr_lab.data.perturbations`).

    Raises
    ------
    BadInput
        One sentence that names file, row and column.
    """
    if isinstance(source, ItemSet):
        return source
    if not isinstance(source, (str, Path)):
        return items_from_frame(source, "table", facts.exemplars())
    match str(source):
        case "facts":
            return facts.standard()
        case "facts:testbed":
            return facts.testbed(seed, year_offsets, every_mention=every_mention)
        case "facts:grid":
            return facts.grid(year_offsets, every_mention=every_mention)
    path = Path(source)
    if not path.suffix and not path.exists():
        raise BadInput(
            f"unknown items {str(source)!r}; expected {', '.join(SHIPPED)} or a file (.csv, .jsonl, .parquet)"
        )
    return items_from_frame(read_table(path), path.name, facts.exemplars())
