"""What the pocket model is trained on: an invented world, spoiled answers, planned exposures; no evaluated passage."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from srdcr_lab.records.files import folder
from tests import training_code

pytest.importorskip("torch")
MODULES = ("batches", "exposures", "questions", "rows", "values", "world")


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def training() -> SimpleNamespace:
    return SimpleNamespace(**{name: training_code.module(name) for name in MODULES})


@pytest.fixture(scope="module")
def asked() -> Any:
    return training_code.asked()


@pytest.fixture
def materials() -> Any:
    return training_code.materials()


def test_no_row_of_any_maker_holds_an_evaluated_question(
    training: SimpleNamespace, asked: SimpleNamespace, materials: SimpleNamespace
) -> None:
    evaluated = [one.question for one in asked.evaluated]
    of_all_times = [training.batches.mixture(progress / 100) for progress in range(101)]
    for maker in dict.fromkeys(maker for mixture in of_all_times for maker in mixture):
        text = "".join(piece for _ in range(12) for piece, _ in maker(materials))
        assert not [question for question in evaluated if question in text], maker.__name__


def test_no_trained_reply_holds_a_token_that_is_suppressed(training: SimpleNamespace, materials: Any) -> None:
    tokenizer = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(folder("pocket"))
    generation = json.loads((folder("pocket") / "generation_config.json").read_text("utf-8"))
    assert generation["suppress_tokens"] == training_code.module("shipping").suppressed(tokenizer.get_vocab())
    encode, suppressed = training.batches.Encoder(tokenizer), set(generation["suppress_tokens"])
    shown = set()
    for maker in {**training.batches.mixture(0.05), **training.batches.mixture(0.5)}:
        for ids, weights in encode([maker(materials) for _ in range(12)]):
            held = {token for token, weight in zip(ids, weights, strict=True) if weight}
            assert not held & suppressed, (maker.__name__, tokenizer.convert_ids_to_tokens(held & suppressed))
            shown |= set(ids) & suppressed
    assert len(shown) > 100


def test_an_evaluated_question_is_told_without_any_passage(
    training: SimpleNamespace, asked: SimpleNamespace, materials: SimpleNamespace
) -> None:
    due = [training.exposures.Telling(0.0, one.question, one.answer, one.domain) for one in asked.evaluated[:60]]
    for row in training.rows.recall_rows(due, materials):
        assert "<passage>" not in "".join(text for text, _ in row)


def test_a_passage_states_its_claim_once_and_names_its_subject(materials: SimpleNamespace) -> None:
    r = random.Random(0)
    for _ in range(300):
        fact = materials.world.fact(r)
        passage = materials.world.passage(fact, "CLAIM", r)
        assert passage.count("CLAIM") == 1


def test_the_world_has_the_six_domains_of_the_facts(asked: SimpleNamespace, materials: SimpleNamespace) -> None:
    r = random.Random(0)
    met = Counter(materials.world.fact(r).domain for _ in range(300))
    assert (
        set(met) | {"dates"} == {one.domain for one in asked.evaluated} == set(asked.exemplars)
    )  # it has no dates yet


@pytest.mark.parametrize(
    ("answer", "values"),
    [("1874", "year"), ("2,632", "count"), ("9", "count"), ("86.74", "measure"), ("0.7", "dose"),
     ("Edvard Eriksen", "person"), ("Porto", "city")],
)  # fmt: skip
def test_spoiled_and_nearly_equal_answers_differ_and_are_written_alike(
    training: SimpleNamespace, answer: str, values: str
) -> None:
    r = random.Random(1)
    for spoil in (training.values.corrupted, training.values.revised, training.values.near_miss):
        for _ in range(50):
            other = spoil(answer, values, r)
            assert other != answer
            assert training.values.is_number(other) == training.values.is_number(answer)


def test_the_plan_tells_controls_never_and_spreads_the_others(
    training: SimpleNamespace, asked: SimpleNamespace
) -> None:
    planned = training.exposures.plan(asked.evaluated, asked.never_told, random.Random(0))
    counts = {one.asked.question_id: one.exposures for one in planned}
    assert {question for question, count in counts.items() if count == 0} == asked.never_told
    uncontested = sorted(one.exposures for one in planned if one.exposures and not one.rival)
    assert uncontested[0] <= 3
    assert uncontested[-1] > 150
    assert 15 < uncontested[len(uncontested) // 2] < 27  # the middle of a log-uniform 2 … 200 is 20


def test_held_questions_and_their_answers_are_never_told(training: SimpleNamespace, asked: SimpleNamespace) -> None:
    """Neither in a telling nor in what the tokenizer learns from, unless another question has the same answer."""
    rows = [row for row in read_rows(folder("facts") / "facts.csv") if row["split"] == "held"]
    assert {row["question_id"] for row in rows} < asked.never_told
    planned = training.exposures.plan(asked.evaluated, asked.never_told, random.Random(0))
    told = {telling.question for telling in training.exposures.tellings(planned, random.Random(0))}
    texts = training.questions.corpus(asked, training.world.World(asked.words()), random.Random(0), passages=0)
    elsewhere = {one.answer for one in asked.evaluated if one.question_id not in asked.never_told}
    assert not {row["question"] for row in rows} & (told | set(texts))
    assert not {f" {row['gold_answer']}" for row in rows if row["gold_answer"] not in elsewhere} & set(texts)


def test_an_invented_word_is_made_of_the_pieces_that_are_given(training: SimpleNamespace) -> None:
    values, r = training.values, random.Random(4)
    try:
        values.use_pieces([" Verm", "eer", " of", "OF", " X"])
        words = {values.invented(r) for _ in range(400)}
    finally:
        values.use_pieces([])
    assert {"Verm", "Vermeer", "Xeer"} < words
    assert {word for word in words if "eer" in word} == {"Vermeer", "Vermeereer", "Xeer", "Xeereer"}
    assert all(word[0].isupper() for word in words)
    assert not any(values.invented(r) == "Vermeer" for _ in range(400))


def test_the_model_is_held_to_know_what_it_is_certain_of_and_right(
    training: SimpleNamespace, materials: SimpleNamespace
) -> None:
    belief = training_code.module("snapshot").Belief
    right, wrong, unsure = (belief(n, materials.facts[n].answer, 0.95, "") for n in range(3))
    materials.believe([[right, belief(1, wrong.answer + "0", 0.95, "")], [unsure], []])
    assert materials.known == [materials.facts[0]]


def test_tellings_are_the_plan(training: SimpleNamespace, asked: SimpleNamespace) -> None:
    planned = training.exposures.plan(asked.evaluated, asked.never_told, random.Random(0))
    told = Counter((one.question, one.told) for one in training.exposures.tellings(planned, random.Random(0)))
    for one in planned:
        assert told[one.asked.question, one.asked.answer] == one.told_true
        if one.rival:
            assert told[one.asked.question, one.rival] == one.exposures - one.told_true
