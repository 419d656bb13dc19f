"""What travels with a run's numbers: who answered, what its training told, and another confidence beside the first."""

from collections.abc import Iterator

import pandas as pd
import pytest

from srdcr_lab import Study
from srdcr_lab.models.checkpoint import fingerprint
from srdcr_lab.records import ModelIdentity
from srdcr_lab.records.files import folder
from srdcr_lab.records.vocabulary import ORGANISM
from tests.doubles import ScriptedModel, completion

ITEMS = pd.DataFrame([{"question": "When was it?", "gold_answer": "1874", "context": "In 1874.", "question_id": "q"}])


@pytest.fixture
def first() -> Iterator[Study]:
    """A study of one question, whose model always says the right year."""
    model = ScriptedModel(lambda request, draw: completion(request, draw, "1874"))
    model.identity = ModelIdentity("pocket", "pocket", fingerprint=fingerprint(folder("pocket")))
    with Study(model, ITEMS, "few_shot", samples=4) as one:
        yield one


def test_results_of_the_pocket_model_say_what_it_is(first: Study) -> None:
    assert first.run(progress=False).label == f"pocket: {ORGANISM}"


def test_another_confidence_stands_beside_the_first_and_asks_for_nothing_that_is_there(first: Study) -> None:
    kinds, paid = [], []
    with first.with_confidence("verbalized") as other:
        for one in (first, other):
            kinds += one.run(progress=False).questions["confidence_kind"].tolist()
            paid.append(one.setup.cast.answerer.paid)  # type: ignore[attr-defined]
    kinds += first.run(progress=False).questions["confidence_kind"].tolist()  # although the other has been closed
    assert (kinds, paid[1] - paid[0]) == (["self_consistency", "verbalized", "self_consistency"], 1)
