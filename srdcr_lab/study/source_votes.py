"""RA-RAG's second pass: when every item has ended, its rows are decided by how reliable their sources turned out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from srdcr_lab.measures.reliability import source_reliability
from srdcr_lab.measures.sources import votes_of
from srdcr_lab.records import Item, Missing
from srdcr_lab.study.rows import Row, all_and_no_wrong


@dataclass
class SourceVotes:
    """The rows of one method that wait, their items, and what was said about each document."""

    items: dict[str, Item] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    turns: list[Row] = field(default_factory=list)

    def add(self, item: Item, row: Row, turns: Sequence[Row]) -> None:
        """Take an item's row, and of all its turns those of the row's method."""
        self.items[item.item_id], self.rows[item.item_id] = item, row
        needed = ("item_id", "speaker", "stated_answer")
        self.turns += [{name: turn[name] for name in needed} for turn in turns if turn["method"] == row["method"]]

    def settle(self) -> None:
        """Fill in the answers of the weighted majority; a row without a vote or with an error stays as it is."""
        found = source_reliability(*votes_of(self.items.values(), self.turns))
        for item_id, values in found.majority.items():
            row = self.rows[item_id]
            if row["missing"] is not Missing.ERROR:
                row |= {
                    "final_answer": values[0],
                    "final_answers": list(values),
                    "correct": all_and_no_wrong(values, self.items[item_id]),
                    "missing": None,
                }
