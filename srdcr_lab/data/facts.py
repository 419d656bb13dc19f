"""A testbed: each question once with its true passage and once with a false one, balanced over the perturbations.

Strata are filled in turn from a seeded order of the questions; a question goes to a stratum only where its passage can
be made to lie that way, without a flag where one can be had (so claims in the future are avoided while questions last).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from srdcr_lab.answers.kinds import Wanted
from srdcr_lab.answers.year import YEAR_OFFSETS
from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.perturbing.forms import Form, forms
from srdcr_lab.data.perturbing.table import checked_offsets, pools_of
from srdcr_lab.data.tables import items_from_frame, read_table
from srdcr_lab.data.testbed import paired
from srdcr_lab.records import AnswerType, Exemplar, Item
from srdcr_lab.records.files import folder

if TYPE_CHECKING:
    import pandas as pd


# -- the shipped facts: standard items, a testbed of paired items, and the grid of every perturbation

_WRITTEN = 2026  # the year of the facts: what a later claim is called must not change with the calendar


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """The shipped pool, disjoint from the questions."""
    frame = read_table(folder("facts") / "exemplars.csv")
    return tuple(
        Exemplar(question=row["question"], answer=row["gold_answer"], context=row["context"], domain=row["domain"])
        for row in frame.to_dict("records")
    )


@cache
def standard() -> ItemSet:
    """`facts`: every shipped question with its true passage."""
    frame = read_table(folder("facts") / "facts.csv")
    frame["item_id"] = frame["question_id"]
    return items_from_frame(frame, "facts", exemplars())


@cache
def invented() -> frozenset[str]:
    """Questions of the controls, whose answers are no substitutes for real ones."""
    frame = read_table(folder("facts") / "facts.csv")
    return frozenset(frame.loc[frame["fame_band"] == "invented", "question_id"])


@cache
def testbed(seed: int = 0, offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """`facts:testbed`: 600 items when all facts are there, each question once true and once false (paper, 4.4).

    150 event years, as many under each of the `offsets` and either sign, and 30 questions of each other domain,
    evenly over the levels; where there are fewer facts, all of them. Questions, offsets and factors are drawn by the
    seed; a flagged form (a claim in the future, say) is taken only where too few others are left, so older events
    fill the larger offsets ahead.
    """
    forms = _forms(seed, offsets)
    return _set("facts:testbed", paired(standard().items, lambda item: forms[item.item_id], seed))


@cache
def grid(offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """`facts:grid`: every question standard and under every perturbation its passage allows."""
    forms = _forms(0, offsets)
    return _set("facts:grid", [each for item in standard() for each in _with_forms(item, forms[item.item_id])])


def _with_forms(item: Item, forms: Sequence[Form]) -> list[Item]:
    return [item, *(form.item for form in forms if form.item is not None)]


@cache
def _forms(seed: int, offsets: tuple[int, ...]) -> Mapping[str, Sequence[Form]]:
    """Each question under every claim, by item_id; testbed and grid are made of the same ones."""
    pools = pools_of(item for item in standard() if item.question_id not in invented())
    wanted = Wanted({AnswerType.YEAR: checked_offsets(offsets)}, pools, seed, present=_WRITTEN)
    return {item.item_id: tuple(forms(item, wanted)) for item in standard()}


def _set(name: str, items: list[Item]) -> ItemSet:
    return ItemSet(name, tuple(items), exemplars())


# -- the paper's printed Tables 1 and 2, to lay one's own numbers beside (`data/reference`, with its datasheet)


def printed_tables(table: str | None = None) -> pd.DataFrame:
    """Every number of the two tables: `table`, `model`, `printed_method`, `method`, `column`, `percent`, `caution`.

    `accuracy` is `percent` / 100. `caution` says what to keep in mind about a number and is empty for most; some
    of SR-DCR's leave items out of the denominator.

    Parameters
    ----------
    table : "Table 1" or "Table 2" for one of them.

    Source: arXiv 2506.06020, section 4.
    """
    import pandas as pd

    printed = pd.read_csv(folder("reference") / "sr_dcr_tables.csv", keep_default_na=False)
    printed["accuracy"] = printed["percent"] / 100
    return printed if table is None else printed[printed["table"] == table].reset_index(drop=True)
