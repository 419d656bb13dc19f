"""`srdcr data perturb`: items that `load_items` reads back, the account as a table and as a page, and bad input."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab.answers.kinds import Audit
from srdcr_lab.data import load_items
from srdcr_lab.data.load import read_source
from srdcr_lab.data.perturbing import by_reason, perturb
from tests.conftest import Srdcr
from tests.scripted import item as society

ROWS = (
    {"question_id": "q1", "question": "When did it open?", "gold_answer": "1874", "context": "Opened in 1874, aged 9."},
    {"question_id": "q2", "question": "How long?", "gold_answer": "98 km", "context": 'A "long" way, 98 km,\nsays he.'},
    {
        "question_id": "q3", "question": "Who is <b>he</b>?", "gold_answer": "Jo Doe",
        "context": "<script>x</script> Jo Doe",
    },
    {"question_id": "q4", "question": "When?", "gold_answer": "1700", "context": "It does not say."},
)  # fmt: skip
FIXTURE = Path(__file__).parents[1] / "fixtures" / "benchmarks" / "ramdocs.jsonl"
POOL = ("Adam Ash", "Bob Birch", "Carl Cork", "David Dogwood", "John Dove")
TYPES = ("year", "number", "name", "year")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    pd.DataFrame(ROWS).assign(answer_type=TYPES, aliases=["", "", "Joe Doe|J. Doe", ""]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_the_items_are_read_back(srdcr: Srdcr, table: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out{ending}"
    srdcr.ok("data", "perturb", table, "--out", out, "--seed", 3)
    items = load_items(out).items
    assert [each.item_id for each in items if each.is_standard] == ["q1", "q2", "q3"]
    by_id = {each.item_id: each for each in items}
    assert len(items) == 3 + 10 + 8 + 1  # rounding moves two factors of 98 too far; the pool of names is too small
    assert (by_id["q1@-20"].context, by_id["q1@-20"].level.value) == ("Opened in 1854, aged 9.", "subtle")
    double = by_id["q2@x2"]
    assert (double.claimed_answer, double.perturbation_value) == ("196 km", 2.0)
    assert double.context == 'A "long" way, 196 km,\nsays he.'
    assert by_id["q3@comical"].aliases == ("Joe Doe", "J. Doe")
    assert by_id["q3@comical"].perturbation_value is None


@pytest.mark.parametrize(("columns", "ids"), [
    ({}, ("row-2", "row-2", "row-2@+20")), ({"item_id": ["a", "b"]}, ("b", "b", "b@+20")),
    ({"question_id": ["c", "d"]}, ("d", "d", "d@+20")),
    ({"question_id": ["c", "d"], "item_id": ["a", "b"]}, ("b", "d", "b@+20")),
])  # fmt: skip
def test_ids_are_those_of_the_table_else_the_place_of_the_row(
    srdcr: Srdcr, tmp_path: Path, columns: dict[str, list[str]], ids: tuple[str, ...]
) -> None:
    rows = [("When did it open?", "1874", "In 1874."), ("When did it close?", "1904", "In 1904.")]
    frame = pd.DataFrame(rows, columns=["question", "gold_answer", "context"]).assign(**columns)
    frame.to_csv(tmp_path / "mine.csv", index=False)
    srdcr.ok("data", "perturb", tmp_path / "mine.csv", "--out", tmp_path / "out.csv")
    true, lie = (each for each in load_items(tmp_path / "out.csv").items if each.gold_answer == "1904"
                 and each.perturbation_value in (None, 20))  # fmt: skip
    assert (true.item_id, true.question_id, lie.item_id) == ids
    assert lie.question_id == true.question_id


def test_ids_of_rows_without_their_own() -> None:
    rows = [
        ("q", "Who?", "Ada", "It was Ada.", "", None), ("q", "Who?", "Ada", "It was Bea.", "Bea", None),
        ("q", "Who?", "Ada", "Ada did it.", "", None), ("y", "When?", "1874", "In 1894.", "1894", 20),
    ]  # fmt: skip
    columns = ["question_id", "question", "gold_answer", "context", "claimed_answer", "perturbation_value"]
    items = load_items(pd.DataFrame(rows, columns=columns).assign(perturbation_kind=["", "substitution", "", "offset"],
                                                                  answer_type=["name"] * 3 + ["year"]))  # fmt: skip
    assert [each.item_id for each in items] == ["q", "q@row-2", "q@row-3", "y@+20"]
    rows = [
        ("When?", "1874", "In 1874.", ""), ("Where?", "Rome", "In Rome.", ""), ("When?", "1874", "In 1884.", "1884"),
    ]  # fmt: skip
    items = load_items(pd.DataFrame(rows, columns=["question", "gold_answer", "context", "claimed_answer"]))
    assert [(each.item_id, each.question_id) for each in items] == [
        ("row-1", "row-1"), ("row-2", "row-2"), ("row-3", "row-1"),
    ]  # fmt: skip


def test_other_right_answers_are_written_and_read_back(srdcr: Srdcr, table: Path, tmp_path: Path) -> None:
    pd.read_csv(table).assign(gold_answers=["1874|1899", "98 km", "Jo Doe", "1700"]).to_csv(table, index=False)
    srdcr.ok("data", "perturb", table, "--out", tmp_path / "out.csv")
    items = {each.item_id: each for each in load_items(tmp_path / "out.csv")}
    assert items["q1@+20"].other_gold_answers == ("1899",)
    assert items["q2@x2"].other_gold_answers == ()
    out = srdcr("data", "perturb", f"ramdocs={FIXTURE}").out
    assert "ramdocs: 6 rows; 2 true passages, 20 false versions tried: 19 accepted, 1 flagged, 0 refused" in out
    assert "note: ramdocs: 1 row, column documents: no correct document contains its answer" in out


def test_exemplars_of_the_table_stay_exemplars(srdcr: Srdcr, table: Path, tmp_path: Path) -> None:
    marked = pd.read_csv(table, keep_default_na=False).iloc[:3].assign(is_exemplar=["", "", "yes"])
    marked.to_csv(table, index=False)
    srdcr.ok("data", "perturb", table, "--out", tmp_path / "out.csv")
    items = load_items(tmp_path / "out.csv")
    assert ROWS[2]["question"] in {exemplar.question for exemplar in items.exemplars}
    assert {each.question_id for each in items} == {"q1", "q2"}


def test_what_is_printed(srdcr: Srdcr, table: Path) -> None:
    out = srdcr("data", "perturb", table).out
    assert "mine.csv: 4 rows; 3 true passages, 23 false versions tried: 9 accepted, 10 flagged, 4 refused; 1 row" in out
    assert "an age may give the year away: 'aged 9'" in out
    assert "row 4, column context: the passage does not contain the answer '1700'" in out
    assert out.endswith("nothing was written: add --out FILE.csv for the items, --audit FILE.html for every change and "
                        "reason\n")  # fmt: skip
    perturbed = perturb(read_source(str(table))[0], left_out=read_source(str(table))[1])
    counted = by_reason(perturbed).groupby("outcome")["n"].sum()
    several = sum(len(form.why) - 1 for form in perturbed.forms if form.outcome == "refused")
    assert counted["left out"] == len(perturbed.left_out) == 1
    assert counted["refused"] - several == [form.outcome for form in perturbed.forms].count(Audit.REFUSED) == 4


@pytest.mark.parametrize(("name", "code"), [("names.txt", 2), ("names.csv", 0)])
def test_a_pool_says_its_types_where_the_table_has_several(srdcr: Srdcr, tmp_path: Path, name: str, code: int) -> None:
    """Else persons would be put into passages about cities."""
    rows = [("Who?", "Ada Vance", "It was Ada Vance.", "name"), ("Where?", "Basel", "In Basel.", "city")]
    columns = ["question", "gold_answer", "context", "answer_type"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "names.txt").write_text("\n".join(POOL))
    pd.DataFrame({"gold_answer": POOL, "answer_type": "name"}).to_csv(tmp_path / "names.csv", index=False)
    ended = srdcr("data", "perturb", tmp_path / "mine.csv", "--pool", tmp_path / name, "--out", tmp_path / "out.csv")
    assert (ended.code, (tmp_path / "out.csv").exists()) == (code, not code)
    if code:
        assert "has answers of the types name and city" in ended.sentence
        assert "a .csv with the columns gold_answer and answer_type" in ended.sentence


def test_a_table_of_which_nothing_can_be_perturbed_is_refused(srdcr: Srdcr, tmp_path: Path) -> None:
    """No passages, texts alone: an empty file would look like a result."""
    mine = tmp_path / "mine.csv"
    for row, why in (
        ("Who?,Ada Vance", "it has no single passage"),
        ("Who?,", "mine.csv, row 1, column gold_answer: is"),
    ):
        mine.write_text(f"question,gold_answer\n{row}\n")
        ended = srdcr("data", "perturb", mine, "--out", tmp_path / "out.csv")
        assert (ended.code, (tmp_path / "out.csv").exists()) == (2, False)
        assert f"mine.csv: no row can be perturbed, so nothing was written: {why}" in ended.sentence


def test_rows_left_out_for_different_causes_are_counted_apart(tmp_path: Path) -> None:
    """One column may be wrong in several ways; the row numbers do not count."""
    rows = [("Q1?", "", "In 1874."), ("Q2?", "1874", ""), ("Q3?", "1874", "x" * 100_001), ("Q4?", "1874", "")]
    pd.DataFrame(rows, columns=["question", "gold_answer", "context"]).to_csv(tmp_path / "mine.csv", index=False)
    items, refused = read_source(str(tmp_path / "mine.csv"))
    reasons = by_reason(perturb(items, left_out=refused))
    assert list(reasons["n"]) == [2, 1, 1]
    assert reasons["for example"][0] == "mine.csv, row 2, column context: is empty"
    graded = perturb([society()], present=2026)
    (form, *_) = graded.forms
    twice = replace(form, why=("stated in 1874: 'a'", "stated in 1894: 'b'"))  # two reasons of one kind, of one form
    assert by_reason(replace(graded, forms=(twice,)))["n"].to_list() == [1]


def test_the_account_as_a_table(srdcr: Srdcr, table: Path, tmp_path: Path) -> None:
    srdcr.ok("data", "perturb", table, "--audit", tmp_path / "audit.csv")
    audit = pd.read_csv(tmp_path / "audit.csv", dtype=str, keep_default_na=False).set_index("item_id")
    assert audit["outcome"].value_counts().to_dict() == {"accepted": 9, "flagged": 10, "refused": 5}
    row = audit.loc["q1@+60"]
    assert (row["gold_answer"], row["claimed_answer"], row["why"]) == (
        "1874", "1934",
        "an age may give the year away: 'aged 9'; doubtful, as it may be related to the answer: 'aged 9'",
    )  # fmt: skip
    assert json.loads(row["changes"]) == [[10, "1874", "1934"]]
    assert "a substitution needs 4 wrong ones, so give a pool" in audit.loc["q3@slight", "why"]


def test_the_account_as_a_page_of_its_own(srdcr: Srdcr, table: Path, tmp_path: Path) -> None:
    srdcr.ok("data", "perturb", table, "--audit", tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text("utf-8")
    assert not re.search(r"<script|<[^>]+\s(?:src|href|on\w+)=", page)
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    assert "Who is &lt;b&gt;he&lt;/b&gt;?" in page
    assert "Opened in <del>1874</del> <ins>1934</ins>, aged 9." in page
    long = "No dates here. " * 3000
    pd.DataFrame([{"question": "When?", "gold_answer": "1874", "context": f"{long}In 1874. {long}"}]).to_csv(
        tmp_path / "long.csv", index=False
    )
    srdcr.ok("data", "perturb", tmp_path / "long.csv", "--audit", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "<del>1874</del> <ins>1894</ins>" in page
    assert len(page) < 20_000
    before = table.read_bytes()
    assert srdcr("data", "perturb", table, "--out", table).code == 2
    assert table.read_bytes() == before


@pytest.mark.parametrize(("options", "sentence"), [
    (("--out", "x.txt"), "x.txt: expected a name that ends in .csv or .jsonl or .parquet"),
    (("--audit", "x.pdf"), "x.pdf: expected a name that ends in .html or .csv"),
    (("--out", "no/x.csv"), "no/x.csv is a folder, or its folder does not exist; give a file in an existing folder"),
    (("--out", "a.csv", "--audit", "./a.csv"), "a.csv is also read here, or written twice; write to another file"),
    (("--out", "a.csv", "--pool", "a.csv"), "a.csv is also read here, or written twice; write to another file"),
    (("--offsets", "20,x"), "--offsets takes whole years with commas between them, not '20,x'"),
    (("--offsets", "20.5"), "--offsets takes whole years with commas between them, not '20.5'"),
    (("--factors", "inf"), "--factors takes numbers with commas between them, not 'inf'"),
    (("--factors", "1"), "factors are numbers from 0.001 to 1000 other than 1, such as 0.8,1.2,2"),
    (("--rewrite", "pocket"), "the passages of --rewrite are paid for; say with --out or --store where they are kept"),
    (("--budget-usd", "5"),
     "--store, --budget-usd and how a model is asked are for --rewrite MODEL; leave them out"),
    (("--pool", "none.txt"), "there is no file none.txt; a pool has one name or city per line"),
])  # fmt: skip
def test_bad_input(srdcr: Srdcr, table: Path, options: tuple[str, str], sentence: str) -> None:
    ended = srdcr("data", "perturb", table, *options)
    assert (ended.code, ended.sentence) == (2, f"srdcr: {sentence}")


def test_a_given_pool(srdcr: Srdcr, table: Path, tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("\n".join(POOL), "utf-8")
    srdcr.ok("data", "perturb", table, "--pool", tmp_path / "pool.txt", "--out", tmp_path / "o.jsonl")
    claims = {each.item_id: each.claimed_answer for each in load_items(tmp_path / "o.jsonl")}
    assert claims["q3@slight"] == "John Dove"  # nearly Jo Doe
    assert claims["q3@significant"] in POOL[:4]
    # one file serves names and cities, and neither gets the other's.
    rows = [(name, "name") for name in POOL] + [(city, "city") for city in ("Marnow", "Harrow", "Salt", "Tin", "Rope")]
    pd.DataFrame(rows, columns=["gold_answer", "answer_type"]).to_csv(tmp_path / "pool.csv", index=False)
    srdcr.ok("data", "perturb", table, "--pool", tmp_path / "pool.csv", "--out", tmp_path / "o.jsonl")
    claims = {each.item_id: each.claimed_answer for each in load_items(tmp_path / "o.jsonl")}
    assert {claims["q3@slight"], claims["q3@significant"]} <= set(POOL)
    pd.DataFrame(rows[5:], columns=["gold_answer", "answer_type"]).to_csv(tmp_path / "pool.csv", index=False)
    srdcr.ok("data", "perturb", table, "--pool", tmp_path / "pool.csv", "--out", tmp_path / "o.jsonl")
    assert "q3@slight" not in {each.item_id for each in load_items(tmp_path / "o.jsonl")}


@pytest.mark.parametrize(("content", "says"), [
    ("gold_answer,answer_type\nAnn Ash,nmae\n", "column answer_type: 'nmae' is none of year"),
    ("Ann Ash\nBob Birch\n", "pool.csv: the column gold_answer is missing; a pool as a table names types too"),
    ("gold_answer,answer_type\n,name\n", "pool.csv, row 1, column gold_answer: is empty"),
])  # fmt: skip
def test_a_pool_that_is_wrong(srdcr: Srdcr, table: Path, tmp_path: Path, content: str, says: str) -> None:
    """A sentence with row and column."""
    (tmp_path / "pool.csv").write_text(content)
    assert says in srdcr.refuses("data", "perturb", table, "--pool", tmp_path / "pool.csv")


EXCERPT = Path(os.environ.get("SRDCR_DATASETS", "")) / "ramdocs.jsonl"


@pytest.mark.skipif(not EXCERPT.is_file(), reason="SRDCR_DATASETS names no folder with ramdocs.jsonl")
def test_the_audit_of_ramdocs_as_published(srdcr: Srdcr, tmp_path: Path) -> None:
    ended = srdcr("data", "perturb", f"ramdocs={EXCERPT}", "--audit", tmp_path / "a.csv")
    assert (ended.code, "its questions were set aside as exemplars" in ended.out) == (0, True)
    audit = pd.read_csv(tmp_path / "a.csv", dtype=str, keep_default_na=False).query("perturbation_kind != ''")
    assert (audit["item_id"].is_unique, set(audit["answer_type"])) == (True, {"year", "number"})
    assert (audit["outcome"] != "refused").mean() > 0.7
