"""Methods that decide once every item has ended: their rows wait, and are written last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from srdcr_lab.protocols import Belief, Method
from srdcr_lab.records import Decision, Missing
from srdcr_lab.study.rows import ItemRows, Row
from srdcr_lab.study.source_votes import SourceVotes

_CHOSEN = {Decision.USE_PRIOR: "prior", Decision.USE_CONTEXT: "context"}


class Waiting:
    """The rows held back of methods that settle."""

    def __init__(self, methods: Sequence[Method]) -> None:
        self._settles = {method.name: method.settle for method in methods if method.settle}
        self._votes = {method.name: SourceVotes() for method in methods if method.weighs_sources}
        self._rows: dict[str, list[Row]] = defaultdict(list)

    def hold_back(self, rows: ItemRows) -> ItemRows:
        """The item's rows without those that wait."""
        waiting = {*self._settles, *self._votes}
        for row in rows.records:
            if row["method"] in waiting:
                self._rows[row["method"]].append(row)
            if row["method"] in self._votes:
                self._votes[row["method"]].add(rows.item, row, rows.turns)
        rows.records = [row for row in rows.records if row["method"] not in waiting]
        return rows

    def settled(self) -> list[Row]:
        """The rows that waited, decided from the beliefs or the sources of all of them; a row with a failed call stays
        as it is."""
        for name, settle in self._settles.items():
            rows = [row for row in self._rows[name] if row["missing"] is not Missing.ERROR]
            beliefs = [Belief(row["question_id"], row["self_confidence"], row["context_confidence"]) for row in rows]
            for row, decision in zip(rows, settle(beliefs), strict=True):
                _decide(row, decision)
        for votes in self._votes.values():
            votes.settle()
        return [row for rows in self._rows.values() for row in rows]


def _decide(row: Row, decision: Decision | None) -> None:
    """Fill in what follows from a decision; None means that neither answer could be read."""
    chosen = _CHOSEN.get(decision) if decision else None
    answer = row[f"{chosen}_answer"] if chosen else None
    row["decision"] = decision
    row["final_answer"] = answer
    row["final_answers"] = [] if answer is None else [answer]
    row["correct"] = row[f"{chosen}_correct"] if answer is not None else None
    row["missing"] = None if answer is not None else Missing.UNPARSED
