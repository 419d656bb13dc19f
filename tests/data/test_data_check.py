"""`srdcr data check` and `tools/check_facts.py`: every finding of a table, and of a folder of facts, by row or id."""

import csv
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.data import load_items
from srdcr_lab.data.items import freeze
from srdcr_lab.data.load import check_source
from srdcr_lab.data.rows import LONGEST_TEXT
from srdcr_lab.records import AnswerType, BadInput
from tests.conftest import Srdcr
from tools import check_facts as check_facts_py
from tools.check_facts import COLUMNS, EXEMPLAR_COLUMNS, RULES, check_facts, check_promises, unasserted

RAMDOCS = Path(__file__).parents[1] / "fixtures" / "benchmarks" / "ramdocs.jsonl"


def fact(number: int, place: str, year: str = "1874", **changed: str) -> dict[str, str]:
    """A row that keeps every rule."""
    row = {
        "question_id": f"years-{place.lower()}-{number}", "domain": "years", "gold_answer": year,
        "question": f"In what year was the viaduct at {place} opened?", "answer_type": "year",
        "context": f"Dr. Holt drew the viaduct of {place}. The first train crossed it in {year}.",
        "subject": f"Viaduct of {place}", "source_title": "invented", "fame_band": "invented",
        "register": "encyclopaedia", "region": "Europe", "split": "public", "checked_by": "by hand",
    }  # fmt: skip
    return {**dict.fromkeys(COLUMNS, ""), **row, **changed}


KNOWN = {"fame_band": "known", "source_title": "Marnow"}
SECOND = {
    "question_id": "years-skarn-2",
    "register": "plaque",
    "context": "Viaduct of Skarn. In 1911 the first train crossed it. Built of brick.",
}
Write = Callable[..., Path]


@pytest.fixture
def facts(tmp_path: Path) -> Write:
    """A folder of two facts, one exemplar, their look-ups and a second passage; keywords change the first fact."""

    def write(second: Mapping[str, str] = SECOND, dropped: str = "years-gone-9", **changed: str) -> Path:
        rows = {
            "facts.csv": [fact(1, "Marnow", **changed), fact(2, "Skarn", "1911")],
            "exemplars.csv": [fact(3, "Elvane", "1850")],
        }
        for name, content in rows.items():
            with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
                columns = COLUMNS if name == "facts.csv" else EXEMPLAR_COLUMNS
                writer = csv.DictWriter(file, columns, extrasaction="ignore")
                writer.writeheader()
                writer.writerows(content)
        ids = [row["question_id"] for content in rows.values() for row in content if row["question_id"] != "unseen"]
        pd.DataFrame({"question_id": ids}).to_csv(tmp_path / "lookups.csv", index=False)
        pd.DataFrame({"question_id": [dropped]}).to_csv(tmp_path / "dropped.csv", index=False)
        pd.DataFrame([SECOND | second]).to_csv(tmp_path / "second.csv", index=False)
        return tmp_path

    return write


@pytest.mark.exhaustive
def test_the_shipped_facts_pass() -> None:
    ended = subprocess.run([sys.executable, check_facts_py.__file__], capture_output=True, text=True, check=False)
    out = ended.stdout
    assert (ended.returncode, out.count("nothing was found")) == (0, 2), out + ended.stderr
    assert re.search(r"domain, band\n +famous +known +obscure +invented +all\n", out)
    for name in RULES:
        assert re.search(rf"{name} +[\d,]+ +0\n", out)
    for heading in ("band", "band of those held", "register", "region", "place of the answer in its passage"):
        assert f"domain, {heading}\n" in out
    similarity = re.search(r"subtle (0\.\d+) \(of \d+\), moderate (0\.\d+) \(of \d+\), blatant (0\.\d+)", out)
    slight, significant, comical = map(float, similarity.groups())
    assert slight > significant > comical


def test_facts_that_keep_every_rule(facts: Write, capsys: pytest.CaptureFixture[str]) -> None:
    report = check_facts(facts())
    assert report.sentences() == []
    assert report.checked.pop("second passage") == 1
    assert set(report.checked.values()) == {3}
    where = facts()
    (where / "exemplars.csv").write_bytes((where / "facts.csv").read_bytes())
    found = set(check_facts(where).findings)
    assert found == {"unique ids", "no two share a subject", "no two share a question"}
    assert check_facts(facts(fame_band="unknown")).tell() == 2
    assert "provenance: years-marnow-1: the fame band 'unknown'" in capsys.readouterr().out


@pytest.mark.parametrize(("changed", "check", "says"), [
    ({"context": "The viaduct of Marnow. It opened in 1874, yes 1874."}, "answer once in the passage",
     "2 times ('1874', '1874')"),
    ({"question": "Was the viaduct of Marnow opened in 1874?"}, "answer not in the question",
     "contains the answer ('1874')"),
    ({"context": "It was drawn by Holt. The first train crossed in 1874."}, "passage and question agree",
     "the passage does not name"),
    ({"question": "In what year was it opened?"}, "passage and question agree",
     "the question does not name the subject"),
    ({"unit": "metres"}, "unit", "its unit 'metres'"),
    ({"answer_type": "number", "unit": "arches"}, "unit",
     "the passage states 1874 without its unit 'arches' right behind it"),
    ({"context": "The viaduct of Marnow, begun in 1870. Opened 1874."}, "no second year",
     "another four-digit number, 1870"),
    ({"context": "The viaduct of Marnow dates from 1874."}, "two to four sentences", "1 sentences"),
    ({"fame_band": "rare", "source_title": "Marnow"}, "provenance", "the fame band 'rare' is none of famous, known"),
    ({"source_title": "Marnow"}, "provenance", "disagree on whether it is invented"),
    ({"checked_by": ""}, "provenance", "the column checked_by is empty"),
    ({"register": "poem"}, "provenance", "the register 'poem' is none of encyclopaedia"),
    ({"split": "held"}, "provenance", "the split 'held' is not public, and not held of a real question"),
    ({"split": ""}, "provenance", "the split '' is not public"),
    ({"accepted": "1875"}, "provenance", "accepted and accepted_because are both filled or both empty"),
    ({"dropped": "years-marnow-1"}, "never dropped", "the id is in dropped.csv; take another"),
    ({"question_id": "years-skarn-2"}, "unique ids", "stands in facts.csv already"),
    ({"question_id": "unseen"}, "looked up", "not in lookups.csv"),
    ({"gold_answer": "soon"}, "row", "row 1, column gold_answer: 'soon' is no answer of type year"),
    ({"answer_type": "colour"}, "row", "row 1, column answer_type: 'colour' is none of year, number"),
])  # fmt: skip
def test_each_rule_finds_what_breaks_it(facts: Write, changed: dict[str, str], check: str, says: str) -> None:
    findings = check_facts(facts(**changed)).findings[check]
    assert len(findings) == 1
    assert says in findings[0]


@pytest.mark.parametrize(("second", "says"), [
    ({"register": "encyclopaedia"}, "its register 'encyclopaedia' is the first passage's, or none of"),
    ({"register": "poem"}, "its register 'poem' is the first passage's, or none of"),
    ({"context": "Viaduct of Skarn. Built of brick."}, "the passage states the answer '1911' 0 times (nowhere)"),
    ({"question_id": "years-elsewhere"}, "no such question"),
])  # fmt: skip
def test_the_rules_hold_for_second_passages(facts: Write, second: dict[str, str], says: str) -> None:
    (finding,) = check_facts(facts(second=second)).findings["second passage"]
    assert says in finding


@pytest.mark.parametrize(("changed", "says"), [
    ({}, "shares: 2 of 2 answers of years stand in the last third, at most 40% were promised"),
    ({"context": "In 1874 the first train crossed the viaduct of Marnow. It is still high."},
     "no word that ages: years-marnow-1: 'still'"),
    (KNOWN, "shares: 1 of 1 years are from Europe, at most 67% were promised"),
    (KNOWN, "shares: 1 of 1 real questions have one passage alone, at most 75% were promised"),
    (KNOWN | {"domain": "news", "question": "When did ten people die at Marnow?"},
     "shares: 1 of 1 news are tolls, at most 50% were promised"),
    ({"split": "held"}, "held: 0, 100 at least were promised"),
])  # fmt: skip
def test_each_promise_of_a_folder_that_is_not_kept(facts: Write, changed: dict[str, str], says: str) -> None:
    findings = check_promises(facts(**changed)).findings
    told = [f"{check}: {finding}" for check, found in findings.items() for finding in found]
    assert says in told


def test_a_passage_that_only_mentions_its_answer_is_found() -> None:
    """The ten that readers of November 2026 found, in short, each with a wording that asserts the answer."""
    for row in pd.read_csv(RAMDOCS.parents[1] / "mentioned.csv").itertuples():
        for sentence, n in ((row.mentioned, 1), (row.asserted, 0)):
            passage = f"Dear Ann, I have thought about what you asked me. {sentence.format(row.answer)}"
            (span,) = answers.find(passage, row.answer, AnswerType(row.answer_type))
            assert len([*unasserted(row.question, "", passage, row.answer, span)]) == n, sentence


def test_a_public_text_that_tells_a_held_answer_is_found(facts: Write) -> None:
    held = KNOWN | {"split": "held", "question": "When was the Marnow Viaduct?"}
    told = "Viaduct of Skarn. In 1911 the first train crossed it. The Marnow Viaduct is of 1874."
    for text, n in ((told, 1), (told.replace("1874", "1875"), 0), (told.replace("Marnow", "other"), 0)):
        assert len(check_promises(facts(SECOND | {"context": text}, **held)).findings.get("told elsewhere", [])) == n


def test_a_folder_without_facts_or_a_needed_column(facts: Write) -> None:
    where = facts()
    frame = pd.read_csv(where / "facts.csv", dtype=str).drop(columns="subject")
    frame.to_csv(where / "facts.csv", index=False)
    with pytest.raises(BadInput, match=r"facts\.csv: the column subject is missing; facts\.csv has question_id"):
        check_facts(where)
    with pytest.raises(BadInput, match=r"there is no file .*facts\.csv"):
        check_facts(where / "none")


def test_a_table_is_checked_row_by_row(tmp_path: Path, srdcr: Srdcr) -> None:
    rows = [
        {"question": "When?", "gold_answer": "1874", "context": "In 1874."},
        {"question": "", "gold_answer": "1874", "context": "In 1874."},
        {"question": "How?", "gold_answer": "1890", "context": "Long ago."},
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "items.csv", index=False)
    ended = srdcr("data", "check", tmp_path / "items.csv")
    assert ended.code == 2
    assert "items.csv, row 2, column question: is empty" in ended.out
    assert "items.csv, row 3, column context: the passage does not contain the answer '1890'" in ended.out
    assert "2 findings" in ended.out


def test_a_table_that_loads_prints_its_counts_and_notes(items_csv: Path, srdcr: Srdcr, tmp_path: Path) -> None:
    ended = srdcr.ok("data", "check", items_csv)
    assert re.search(r"general +2 +1 +3\n", ended.out)
    assert re.search(r"\n +year +all\ngeneral +3 +3\n", ended.out)
    assert "note: domain general: fewer than four exemplars" in ended.out
    freeze(load_items(items_csv), tmp_path / "items.json")
    srdcr.ok("data", "check", tmp_path / "items.json")


def test_notes_on_the_whole_table(tmp_path: Path) -> None:
    rows = [("When?", "1900", f"It was in 1900, place {place}.", f"d{place}") for place in range(7)]
    table = pd.DataFrame(rows, columns=["question", "gold_answer", "context", "domain"])
    table["question"] = [f"When was place {place}?" for place in range(7)]
    (note,) = load_items(table).notes
    assert note.startswith("each of 7 domains (d0, d1, d2, d3, d4 …): fewer than four exemplars of its own")
    assert note.endswith("the column is_exemplar marks your own")
    rows = {"question": ["How many?", "Who?"], "gold_answer": ["12", "Holt"], "context": ["There are 12.", "Holt."]}
    assert "types were guessed from answers and questions (1 number, 1 name)" in load_items(pd.DataFrame(rows)).notes[0]
    told = pd.DataFrame({**rows, "answer_type": ["number", "name"]})
    assert not any("answer_type" in note for note in load_items(told).notes)
    # Exemplar rows alone leave nothing to evaluate, though each row is sound.
    pd.DataFrame({**only(), "is_exemplar": ["yes"]}).to_csv(tmp_path / "items.csv", index=False)
    (said,) = check_source(tmp_path / "items.csv").sentences()
    assert said == "items.csv: every row is an exemplar; none is left to evaluate"


@pytest.mark.parametrize(
    ("source", "n"), [("ramdocs:documents={}", 4), ("ramdocs:passages={}", 6), ("facts:rewrites", 506)]
)
def test_whatever_a_run_takes_is_checked(srdcr: Srdcr, source: str, n: int) -> None:
    """`data check` opens what `run` opens."""
    ended = srdcr.ok("data", "check", source.format(RAMDOCS))
    assert re.search(rf"row +{n} +0\n", ended.out), ended.out


@pytest.mark.parametrize(("source", "says"), [
    (f"{RAMDOCS}", f"has the columns of ramdocs as published; write ramdocs={RAMDOCS}"),
    (f"ramdoc={RAMDOCS}", "there is no benchmark 'ramdoc' (did you mean ramdocs?)"),
    ("ramdoc", "unknown items 'ramdoc' (did you mean ramdocs?)"),
    ("facts:testbad", "unknown items 'facts:testbad' (did you mean facts:testbed?)"),
    (f"ramdocs:document={RAMDOCS}", "ramdocs has no form 'document'; write ramdocs:passages or ramdocs:documents"),
])  # fmt: skip
def test_a_source_that_is_none_is_refused_as_by_a_run(srdcr: Srdcr, source: str, says: str) -> None:
    """A benchmark's file without its name, and mistyped names; `run` says the same."""
    for command in (("data", "check", source), ("plan", "--items", source)):
        ended = srdcr(*command)
        assert (ended.code, ended.out) == (2, "")
        assert says in ended.sentence


def test_what_a_benchmark_leaves_out_is_a_finding_where_asked(srdcr: Srdcr) -> None:
    """One meaning of --strict for tables and benchmarks."""
    ended = srdcr("data", "check", f"ramdocs={RAMDOCS}", "--strict")
    assert (ended.code, "1 finding" in ended.out) == (2, True)
    with pytest.raises(BadInput, match=r"ramdocs\.jsonl, row 4, column documents: no correct .*; 1 more row cannot"):
        load_items(f"ramdocs={RAMDOCS}", strict=True)


@pytest.mark.parametrize(("answer_type", "golds", "says"), [
    ("name", ["Derby City Council"], "'Derby City Council' is said to be a name and looks like an organisation"),
    ("name", ["University of Marnow"], "is said to be a name and looks like an organisation"),
    ("city", ["Marnow Ltd"], "'Marnow Ltd' is said to be a city and looks like an organisation"),
    ("name", ["1874"], "'1874' is said to be a name and looks like a year"),
    ("city", ["12 km"], "'12 km' is said to be a city and looks like a number"),
    ("number", ["1874", "1875", "1880", "1901"], "4 numbers without a unit are all such as 1874; if they are years"),
    ("name", ["Ines Holt", "Council Bluffs"], ""), ("city", ["Council Bluffs", "Museum"], ""),
    ("number", ["1874", "1875", "3"], ""),
])  # fmt: skip
def test_answers_that_are_not_of_their_type(tmp_path: Path, answer_type: str, golds: list[str], says: str) -> None:
    """A "name" that is a city council, and the like."""
    rows = [{"question": f"{g}?", "gold_answer": g, "context": f"{g}.", "answer_type": answer_type} for g in golds]
    pd.DataFrame(rows).to_csv(tmp_path / "items.csv", index=False)
    found = check_source(tmp_path / "items.csv").sentences()
    assert len(found) == bool(says)
    assert says in " ".join(found)


def only(**row: str) -> dict[str, list[str]]:
    return {"question": ["When?"], "gold_answer": ["1874"], "context": ["In 1874."]} | {k: [v] for k, v in row.items()}


@pytest.mark.parametrize(("row", "answer_type"), [
    (only(gold_answer="١٨٧٤", context="بُني الجسر عام ١٨٧٤ على النهر."), AnswerType.YEAR),
    (only(gold_answer="1874", context="הגשר נבנה בשנת 1874 מעל הנהר."), AnswerType.YEAR),
    (only(gold_answer="१२५०", context="गाँव में 1,250 लोग रहते हैं।", answer_type="number"), AnswerType.NUMBER),
    (only(gold_answer="ירושלים", context="הבירה היא ירושלים."), AnswerType.TEXT),
])  # fmt: skip
def test_other_scripts_and_directions(row: dict[str, list[str]], answer_type: AnswerType) -> None:
    items = load_items(pd.DataFrame(row))
    assert items.items[0].answer_type is answer_type
    assert any(note.startswith("fewer than half of the passages look English") for note in items.notes)


def test_a_passage_of_the_greatest_length_is_taken() -> None:
    passage = "x" * (LONGEST_TEXT - 9) + " In 1874."
    assert len(load_items(pd.DataFrame(only(context=passage)))) == 1
    with pytest.raises(BadInput, match="has 100,001 characters, at most 100,000 are taken"):
        load_items(pd.DataFrame(only(context="x" + passage)))
