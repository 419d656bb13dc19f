"""JSON from outside: read strictly, turned into our types, and a set of items kept as one file. Files written whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.items import freeze, thaw
from srdcr_lab.records import BadInput, Document, DocumentKind, Item
from srdcr_lab.records.files import from_plain, parse_json, read_json, whole_file

FERRY = Item(
    item_id="ferry",
    question_id="ferry",
    question="When did it sail?",
    gold_answer="1874",
    context="",
    claimed_answer="1874",
    perturbation_value=20.0,
    documents=(Document(document_id="1", text="In 1874.", kind=DocumentKind.CORRECT),),
)


def plain(**changed: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(asdict(FERRY))), **changed}


def without(name: str, record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def test_json_is_read_from_text_and_bytes() -> None:
    assert read_json('{"a": [1, 2], "a": [NaN]}', "here") == {"a": [None]}
    assert read_json('"é"'.encode(), "here") == "é"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nul",
        "[" * 100_000,
        "1" * 5_000,
        "9223372036854775808",
        "[Infinity]",
        "-Infinity",
        b"\xff",
        '{"a": 1} x',
    ],
)
def test_what_is_no_json_is_one_sentence(text: str | bytes) -> None:
    with pytest.raises(BadInput, match=r"^cell 3: no JSON \(.+\); expected a list$"):
        read_json(text, "cell 3", "a list")


def test_a_repeated_key_is_refused_where_it_would_hide_something() -> None:
    with pytest.raises(BadInput, match=r"^cell 3: no JSON \('a' stands twice; give each key once\)$"):
        read_json('[{"b": 1}, {"a": 1, "a": 1}]', "cell 3", distinct_keys=True)


def test_a_record_comes_back_as_it_was() -> None:
    assert from_plain(Item, plain(), "here") == FERRY
    assert from_plain(Item, plain(perturbation_value=None), "here").perturbation_value is None
    assert from_plain(Item, plain(perturbation_value=20), "here") == FERRY


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (
            plain(level="huge"),
            "file, level: expected 'standard', 'subtle', 'mild', 'moderate' or 'blatant', got 'huge'",
        ),
        (plain(perturbation_value="20"), "file, perturbation_value: expected a valid number, got '20'"),
        (plain(perturbation_value=True), "file, perturbation_value: expected a valid number, got True"),
        (plain(question=7), "file, question: expected a valid string, got 7"),
        (plain(aliases="a"), "file, aliases: expected a valid array, got 'a'"),
        (plain(colour="red"), "file, colour: Unexpected keyword argument, got 'red'"),
        (without("question", plain()), "file, question: Field required"),
        (without("domain", plain()), "file, domain: Field required"),  # although it has a default
        (plain(documents=[without("source", plain()["documents"][0])]), "file, documents, 1, source: Field required"),
        (plain(documents=["In 1874."]), "file, documents, 1: expected an object, got 'In 1874.'"),
        ([plain()], "file: expected an object, got [{"),
        (None, "file: expected an object, got None"),
    ],
)
def test_a_record_of_another_making_is_named_by_file_and_field(record: object, says: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(says)}"):
        from_plain(Item, record, "file")


def test_items_come_back_as_they_were(tmp_path: Path) -> None:
    items = load_items("facts:testbed")
    (tmp_path / "items.json").write_text(freeze(items))
    assert load_items(tmp_path / "items.json") == items


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (freeze(ItemSet("one", (FERRY,), ())).replace('"level": "standard"', '"level": "huge"'), "items, 1, level: "),
        ('{"srdcr_items": 2, "name": "x"}', "has items of version 2, this srdcr_lab reads version 1"),
        ('{"srdcr_items": 1, "name": "x", "notes": [], "items": []}', "exemplars: Field required"),
        ('{"srdcr_items": 1, "name": "x", "notes": "", "items": [], "exemplars": []}', "notes: expected a valid array"),
        ('{"srdcr_items"', "is no items file of srdcr_lab; give one that a run wrote"),
        ("[]", "is no items file of srdcr_lab"),
        ('{"name": "x"}', "is no items file of srdcr_lab"),
    ],
)
def test_a_damaged_file_of_items(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "items.json").write_text(content)
    with pytest.raises(BadInput, match=rf"items\.json,? {says}"):
        thaw(tmp_path / "items.json")


def test_items_are_loaded_without_pydantic() -> None:
    code = "import sys; from srdcr_lab.data import load_items; load_items('facts'); sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _break_off(path: Path) -> None:
    with whole_file(path) as part:
        part.write_text("half")
        raise KeyboardInterrupt


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    with pytest.raises(KeyboardInterrupt):
        _break_off(path)
    assert list(tmp_path.iterdir()) == []
    with whole_file(path) as part:
        part.write_text("whole")
        assert not path.exists()
    with pytest.raises(KeyboardInterrupt):
        _break_off(path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("notes.txt", "whole")]


@pytest.mark.parametrize("whole", [0, 2**63 - 1, -(2**63), 1912])
def test_whole_numbers_of_64_bits_are_read(whole: int) -> None:
    assert parse_json(str(whole)) == whole
    with pytest.raises(ValueError, match="beyond 64 bits"):
        parse_json(str(whole + (2**64 if whole >= 0 else -(2**64))))


@pytest.mark.parametrize(
    "hidden", ["\x1b", "\x9b", "\u202e", "\u200b", "\U000e0020", "\u3164", "\ue000", "\ud800", "\x00"]
)
def test_a_message_shows_nothing_that_cannot_be_seen(hidden: str) -> None:
    assert str(BadInput(f"a{hidden}[31mred\nb é 中")) == "a[31mred b é 中"


def test_a_message_has_a_bound_and_keeps_its_end() -> None:
    message = str(BadInput("the file " + "x" * 10_000 + " is too long; rename it"))
    assert len(message) < 400
    assert message.startswith("the file x")
    assert message.endswith("x is too long; rename it")
