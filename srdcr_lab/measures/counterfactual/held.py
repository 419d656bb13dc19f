"""Which answers were held when: the turns of each question, and when two answers are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.measures.groups import groups
from srdcr_lab.measures.intervals import clustered_interval
from srdcr_lab.records import AnswerType, Role


@dataclass(frozen=True)
class Asked:
    """One question under one method: its row of `records` and its turns in order."""

    row: Any
    turns: pd.DataFrame

    def same(self, a: object, b: object) -> bool:
        """Whether two answers are equal for this question; an unread one equals nothing. Aliases are not known here."""
        if not isinstance(a, str) or not isinstance(b, str):
            return False
        return answers.equal(a, b, AnswerType(self.row.answer_type))

    @property
    def answered(self) -> bool:
        return not pd.isna(self.row.correct)

    @property
    def right(self) -> bool:
        return self.answered and bool(self.row.correct)

    def is_gold(self, answer: object) -> bool:
        return self.same(answer, self.row.gold_answer)

    def said_by(self, *speakers: str, round_: int | None = None) -> list[object]:
        """The answers that these speakers stated, in order."""
        chosen = self.turns["speaker"].isin(speakers)
        if round_ is not None:
            chosen &= self.turns["round"] == round_
        return list(self.turns.loc[chosen, "stated_answer"])

    @property
    def defences(self) -> pd.DataFrame:
        """The turns of the preset stances."""
        return self.turns[(self.turns["role"] == Role.DEFENDER) & self.turns["stance"].notna()]

    @property
    def stances(self) -> list[str]:
        """The preset answers, in the order in which the judge read them."""
        return list(dict.fromkeys(self.defences["stance"]))

    @property
    def held_at_last(self) -> dict[str, object]:
        """Stance → the answer that its defender held at the end; empty where nobody replied to anything."""
        replies = self.defences[self.defences["round"] > 0]
        return {stance: own["stated_answer"].iloc[-1] for stance, own in replies.groupby("stance", sort=False)}


def asked(records: pd.DataFrame, turns: pd.DataFrame) -> Iterator[tuple[dict[str, Any], list[Asked]]]:
    """Each group's names (model, method …) and its questions with their turns, also where they have none.

    Tables of several runs need the column `run` in both.
    """
    keys = ["run", "method"] if "run" in records and "run" in turns else ["method"]
    spoken = dict(tuple(turns.sort_values("position", kind="stable").groupby([*keys, "item_id"], sort=False)))
    nothing = turns.iloc[:0]
    for names, rows in groups(records):
        yield (
            names,
            [
                Asked(row, spoken.get((*(getattr(row, key) for key in keys), row.item_id), nothing))
                for row in rows.itertuples(index=False)
            ],
        )


def share(hits: Sequence[bool], questions: Sequence[str]) -> dict[str, float | int]:
    """`share` of hits with its 95 % interval clustered on the question, and `n`; NaN of nothing."""
    low, high = clustered_interval(list(map(float, hits)), list(questions))
    return {"n": len(hits), "share": sum(hits) / len(hits) if hits else float("nan"), "low": low, "high": high}
