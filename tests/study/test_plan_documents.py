"""The plan of debates over several documents: the least and the most calls, counted by hand."""

from __future__ import annotations

import pytest

from srdcr_lab.data import ItemSet
from srdcr_lab.study import Study
from tests.documents import item
from tests.scripted import ScriptedModel, exemplars


@pytest.mark.parametrize(
    ("method", "least", "most"),
    [
        ("concatenate", 1, 1),
        ("madam_rag", 2 * 4, 3 * 4),  # three agents and the aggregator, two or three rounds
        ("ra_rag", 3, 3),
        ("dialectical", 3 + 1 + 1, 2 * (3 + 1 + 3) + 1),  # nobody challenged; everybody, and each reply repaired
        (
            "sr_dcr_per_document (acvd)",
            3 * 19 + 2,
            3 * (19 + 6) + 1,
        ),  # memory is asked; what is let through is read; or rulings asked again
    ],
)
def test_calls_of_an_item_with_three_documents(method: str, least: int, most: int) -> None:
    items = ItemSet("worked", (item(1874, 1901, 1850),), exemplars())
    table = Study(ScriptedModel(), items, method.partition(" ")[0]).plan().table.set_index("methods")
    assert tuple(table.loc[method, ["calls_alone_from", "calls_alone_to"]]) == (least, most)
