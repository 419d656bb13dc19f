"""What travels with a run's numbers: who answered, what its training told, and another confidence beside the first."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

from srdcr_lab import Results, Study
from srdcr_lab.models.checkpoint import fingerprint
from srdcr_lab.records import ModelIdentity
from srdcr_lab.records.files import folder
from srdcr_lab.records.vocabulary import ORGANISM
from tests.doubles import ScriptedModel, completion

POCKET = ModelIdentity("pocket", "pocket", fingerprint=fingerprint(folder("pocket")))


def items(*question_ids: str) -> pd.DataFrame:
    rows = [
        {"question": f"When was bridge {n} built?", "gold_answer": "1874", "context": "In 1874.", "question_id": name}
        for n, name in enumerate(question_ids)
    ]
    return pd.DataFrame(rows)


def study(identity: ModelIdentity, *question_ids: str) -> Study:
    """A study of some questions whose model always says the right year."""
    model = ScriptedModel(lambda request, draw: completion(request, draw, "1874"))
    model.identity = identity
    return Study(model, items(*question_ids or ("q",)), "few_shot", samples=4)


def results(identity: ModelIdentity, *question_ids: str) -> Results:
    with study(identity, *question_ids) as one:
        return one.run(progress=False)


def test_results_of_the_pocket_model_say_what_it_is() -> None:
    assert results(POCKET).label == f"pocket: {ORGANISM}"


@pytest.fixture
def first() -> Iterator[Study]:
    with study(POCKET) as one:
        yield one


def test_another_confidence_stands_beside_the_first_and_does_not_replace_it(first: Study) -> None:
    other = first.with_confidence("verbalized")
    kinds = [one.run(progress=False).questions["confidence_kind"].tolist() for one in (first, other, first)]
    assert kinds == [["self_consistency"], ["verbalized"], ["self_consistency"]]


def test_another_confidence_asks_for_nothing_that_is_there(first: Study) -> None:
    first.run(progress=False)
    before = first.setup.cast.answerer.paid  # type: ignore[attr-defined]
    first.with_confidence("verbalized").run(progress=False)
    assert first.setup.cast.answerer.paid == before + 1  # type: ignore[attr-defined]
