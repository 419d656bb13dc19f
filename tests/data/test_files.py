"""JSON from outside: read strictly, turned into our types, and a set of items kept as one file. Files written whole."""

import csv
import errno
import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.items import first_difference, freeze, thaw
from srdcr_lab.data.load import write_items
from srdcr_lab.records import BadInput, Document, DocumentKind, Item, Stopped, files

FERRY = Item(
    item_id="ferry", question_id="ferry", question="When did it sail?", gold_answer="1874", context="",
    claimed_answer="1874", perturbation_value=20.0,
    documents=(Document(document_id="1", text="In 1874.", kind=DocumentKind.CORRECT),),
)  # fmt: skip


def plain(**changed: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(asdict(FERRY))), **changed}


def without(name: str, record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def test_json_is_read_from_text_and_bytes() -> None:
    assert files.read_json('{"a": [1, 2], "a": [NaN]}', "here") == {"a": [None]}
    assert files.read_json('"é"'.encode(), "here") == "é"
    with pytest.raises(BadInput, match=r"^cell 3: not valid JSON \('a' occurs twice; give each key once\)$"):
        files.read_json('[{"b": 1}, {"a": 1, "a": 1}]', "cell 3", distinct_keys=True)


@pytest.mark.parametrize("text", [
    "", "{", "nul", "[" * 100_000, "1" * 5_000, "9223372036854775808", "[Infinity]", "-Infinity", "[1e999]", b"\xff",
    '{"a": 1} x',
])  # fmt: skip
def test_what_is_no_json_is_one_sentence(text: str | bytes) -> None:
    with pytest.raises(BadInput, match=r"^cell 3: not valid JSON \(.+\); expected a list$"):
        files.read_json(text, "cell 3", "a list")


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    assert files.from_plain(Item, plain(), "here") == FERRY
    assert files.from_plain(Item, plain(perturbation_value=None), "here").perturbation_value is None
    assert files.from_plain(Item, plain(perturbation_value=20), "here") == FERRY
    items = load_items("facts:testbed")
    freeze(items, tmp_path / "items.json")
    assert load_items(tmp_path / "items.json") == items


@pytest.mark.parametrize(("record", "says"), [
    (plain(level="huge"),
     "file, level: expected 'standard', 'subtle', 'mild', 'moderate', 'blatant' or 'absurd', got 'huge'"),
    (plain(perturbation_value="20"), "file, perturbation_value: expected a valid number, got '20'"),
    (plain(perturbation_value=True), "file, perturbation_value: expected a valid number, got True"),
    (plain(question=7), "file, question: expected a valid string, got 7"),
    (plain(aliases="a"), "file, aliases: expected a valid array, got 'a'"),
    (plain(colour="red"), "file, colour: Unexpected keyword argument, got 'red'"),
    (without("question", plain()), "file, question: Field required"),
    (without("domain", plain()), "file, domain: Field required"),  # although it has a default
    (plain(documents=[without("source", plain()["documents"][0])]), "file, documents, 1, source: Field required"),
    (plain(documents=["In 1874."]), "file, documents, 1: expected an object, got 'In 1874.'"),
    ([plain()], "file: expected an object, got [{"), (None, "file: expected an object, got None"),
])  # fmt: skip
def test_a_record_of_another_making_is_named_by_file_and_field(record: object, says: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(says)}"):
        files.from_plain(Item, record, "file")


def test_items_without_accepted_values_are_written_and_hashed_as_before_there_were_any(tmp_path: Path) -> None:
    """Folders and bundles of before are read, and a run in them goes on: its manifest holds the hash."""
    one, other = ItemSet("one", (FERRY,), ()), ItemSet("one", (replace(FERRY, accepted=("1875",)),), ())
    assert one.sha256 == "6d72d1c8387eba896f2f6fdacdb85bcfd84c8fc7e23ebb88bf004ed9e2e7dc0e"
    freeze(one, tmp_path / "items.json")
    assert '"accepted"' not in (tmp_path / "items.json").read_text()
    assert thaw(tmp_path / "items.json") == one
    freeze(other, tmp_path / "items.json")
    assert thaw(tmp_path / "items.json") == other != one
    assert other.sha256 != one.sha256
    assert first_difference(one, other).endswith("the accepted was (), is now ('1875',)")


@pytest.mark.parametrize(("content", "says"), [
    (json.dumps({"srdcr_items": 1, "name": "x", "notes": [], "items": [plain(level="huge")], "exemplars": []}),
     "items, 1, level: "),
    ('{"srdcr_items": 2, "name": "x"}', "has items of version 2, this srdcr_lab reads version 1"),
    ('{"srdcr_items": 1, "name": "x", "notes": [], "items": []}', "exemplars: Field required"),
    ('{"srdcr_items": 1, "name": "x", "notes": "", "items": [], "exemplars": []}', "notes: expected a valid array"),
    ('{"srdcr_items"', "is no items file of srdcr_lab; give one a run wrote"),
    ("[]", "is no items file of srdcr_lab"), ('{"name": "x"}', "is no items file of srdcr_lab"),
])  # fmt: skip
def test_a_damaged_file_of_items(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "items.json").write_text(content)
    with pytest.raises(BadInput, match=rf"items\.json,? {says}"):
        thaw(tmp_path / "items.json")


def test_items_are_loaded_without_pydantic() -> None:
    code = "import sys; from srdcr_lab.data import load_items; load_items('facts'); sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _break_off(path: Path) -> None:
    with files.whole_file(path) as part:
        part.write_text("half")
        raise KeyboardInterrupt


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    with pytest.raises(KeyboardInterrupt):
        _break_off(path)
    assert list(tmp_path.iterdir()) == []
    with files.whole_file(path) as part:
        part.write_text("whole")
        assert not path.exists()
    with pytest.raises(KeyboardInterrupt):
        _break_off(path)
    with files.whole_file(path) as first, files.whole_file(path) as second:  # of two processes
        first.write_text("whole")
        second.write_text("earlier")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("notes.txt", "whole")]


@pytest.mark.parametrize("whole", [0, 2**63 - 1, -(2**63), 1912])
def test_whole_numbers_of_64_bits_are_read(whole: int) -> None:
    assert files.parse_json(str(whole)) == whole
    with pytest.raises(ValueError, match="beyond 64 bits"):
        files.parse_json(str(whole + (2**64 if whole >= 0 else -(2**64))))


@pytest.mark.parametrize(
    "hidden", ["\x1b", "\x9b", "\u202e", "\u200b", "\U000e0020", "\u3164", "\ue000", "\ud800", "\x00"]
)
def test_a_message_shows_nothing_that_cannot_be_seen(hidden: str) -> None:
    assert str(BadInput(f"a{hidden}red\nb é 中")) == "ared b é 中"
    assert str(BadInput("a \x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x07")) == "a red link"


def test_a_message_shows_its_bounded_text() -> None:
    message = str(BadInput("the file " + "x" * 10_000 + " is too long; rename it"))
    assert len(message) < 400
    assert message.startswith("the file x")
    assert message.endswith("x is too long; rename it")
    # 30 MB of wrong items took 16 GB.
    whole: dict[str, Any] = {"name": "x", "items": [[]] * 100_000, "exemplars": [], "notes": []}
    with pytest.raises(BadInput, match=r"^here, items, 1: expected an object"):
        files.from_plain(ItemSet, whole, "here")
    with pytest.raises(BadInput, match=r"^here: more than 1,000 fields are not as expected"):
        files.from_plain(ItemSet, {str(number): 1 for number in range(2_000)}, "here")


# Tables as CSV
@pytest.mark.parametrize(("text", "cell"), [
    ("=1+1", "'=1+1"), ("+cmd", "'+cmd"), ("-5 °C", "'-5 °C"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
    ("'=1", "''=1"), ("-5", "-5"), ("+20", "+20"), ("-1.5e-3", "-1.5e-3"), ("'quoted'", "'quoted'"), ("a=1", "a=1"),
    ("", ""),
])  # fmt: skip
def test_a_cell_that_a_spreadsheet_would_run_is_inert_and_read_back(text: str, cell: str) -> None:
    """In every CSV that we write; a number stays one."""
    written = files.csv_text(pd.DataFrame({"=text": [text], "number": [-1.5], "of a kind": pd.Categorical([text])}))
    assert list(csv.reader(StringIO(written))) == [["'=text", "number", "of a kind"], [cell, "-1.5", cell]]
    assert files.plain_cell(cell) == text


def test_a_table_of_ones_own_comes_back_from_csv(tmp_path: Path) -> None:
    """`graded.csv` repeats a user's cells, and is read again as items."""
    rows = [
        {
            "question": f"=When was {name} built?", "gold_answer": "-5 °C", "context": "@It was at -5 °C.",
            "domain": "'+x",
        }
        for name in ("it", "that", "this", "these", "those")
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "my.csv", index=False)
    items = load_items(tmp_path / "my.csv")
    write_items(items, tmp_path / "graded.csv")
    assert "'=When" in (tmp_path / "graded.csv").read_text("utf-8")
    assert load_items(tmp_path / "graded.csv").items == items.items


# One writer
HOLDS = "import sys; from pathlib import Path; from srdcr_lab.records.files import one_writer\n"
HOLDS += "with one_writer(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"


def test_a_folder_has_one_writer_also_after_a_kill(tmp_path: Path) -> None:
    """The second is told who and since when; a writer that is killed leaves a folder that can be taken."""
    folder = tmp_path / "run"
    command = [sys.executable, "-c", HOLDS, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        said = rf"in use by process {other.pid} on \S+ since 20\S+ \S+; run the same later"
        with pytest.raises(Stopped, match=said), files.one_writer(folder):
            pytest.fail("two writers")
        other.kill()
        other.wait()
    assert (folder / files.LOCK).exists()
    with files.one_writer(folder) as created:
        assert not created
    assert not list(folder.iterdir())


def test_a_folder_made_for_nothing_is_gone(tmp_path: Path) -> None:
    with files.one_writer(tmp_path / "run") as created:
        assert created
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("fails", ["fcntl.flock", "os.open"])
def test_without_locks_folder_is_written_all_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """A network file system may have none, and on a read-only one nothing can be put down."""

    def none(*_: object) -> int:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fails, none)
    with files.one_writer(tmp_path), files.one_writer(tmp_path):
        assert not (tmp_path / files.LOCK).exists()
