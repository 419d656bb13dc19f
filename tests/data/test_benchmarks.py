"""Published benchmarks as items: fetched, read, what is left out, and what is wrong with a file."""

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.answers import extract_option
from srdcr_lab.data import ItemSet, load, load_items
from srdcr_lab.data.load import BENCHMARKS, Benchmark
from srdcr_lab.data.readers import final_number, kind_of_answer
from srdcr_lab.records import AnswerType, BadInput, Item, Level, Needs, Option, PerturbationKind
from tests.conftest import Srdcr

ROWS = Path(__file__).parents[1] / "fixtures" / "benchmarks"
PASSAGES = {
    "clasheval": "clasheval.csv", "conflictqa": "conflictqa-strategyqa.json",
    "conflictqa-popqa": "conflictqa-popqa.json", "ramdocs": "ramdocs.jsonl",
}  # fmt: skip
QUESTIONS = {
    "commonsenseqa": "commonsenseqa.jsonl", "cosmosqa": "cosmosqa.csv", "boolq": "boolq.jsonl", "hover": "hover.json",
    "gsm8k": "gsm8k.jsonl",
}  # fmt: skip
FILES = PASSAGES | QUESTIONS


def loaded(name: str) -> ItemSet:
    return load_items(f"{name}={ROWS / FILES[name]}")


def by_id(items: ItemSet) -> dict[str, Item]:
    return {item.item_id: item for item in items}


@pytest.mark.parametrize("name", FILES)
def test_forms_of_a_question_share_its_gold_answer_and_ids_are_unique(name: str) -> None:
    items = loaded(name)
    assert (items.name, len(items.exemplars) >= 4) == (name, True)
    assert len(by_id(items)) == len(items) > 0
    assert name in PASSAGES or [*by_id(items)] == [f"{name}-1", f"{name}-2"]
    golds = {(item.question_id, item.question, item.gold_answer) for item in items}
    assert len(golds) == len({item.question_id for item in items})
    assert all(item.is_standard == (item.claimed_answer == item.gold_answer) for item in items)


@pytest.mark.parametrize("name", FILES)
def test_what_is_left_out_is_counted_with_its_reason(name: str) -> None:
    notes = " ".join(loaded(name).notes)
    assert f"{name}: left out 2 rows that cannot be used; --strict would refuse {name}: " in notes
    assert sum(map(int, re.findall(rf"{name}: (\d+) rows?, column \w+: ", notes))) == 2


PUBLISHED = {
    "ramdocs": "ramdocs.jsonl", "ramdocs:documents": "ramdocs.jsonl",
    "conflictqa": "conflictqa-strategyqa-chatgpt.jsonl", "commonsenseqa": "commonsenseqa-dev.jsonl",
    "cosmosqa": "cosmosqa-valid.csv", "hover": "hover-dev.json",
}  # fmt: skip


@pytest.mark.parametrize("name", ["facts:grid", *PUBLISHED])
def test_every_answer_reads_as_itself(name: str) -> None:
    """Right, accepted and false ones, and the text of every option."""
    path = Path(os.environ.get("SRDCR_DATASETS", "")) / PUBLISHED.get(name, "")
    if name in PUBLISHED and not (os.environ.get("SRDCR_DATASETS") and path.is_file()):
        pytest.skip(f"SRDCR_DATASETS names no folder with {PUBLISHED[name]}")
    cases = {}
    for item in load_items(f"{name}={path}" if name in PUBLISHED else name):
        given = [*item.gold_answers, *item.aliases, *item.accepted, item.claimed_answer, *item.wrong_answers]
        cases |= {(item.question_id, each): (item, each, each) for each in given if ".." not in each}
        cases |= {(item.question_id, each.text): (item, each.text, each.label) for each in item.options}
    read = [(text, answers.read(text, item), answer, item) for item, text, answer in cases.values()]
    unlike = [(text, said) for text, said, answer, item in read if not _is_answer(said, answer, item)]
    assert (unlike, len(read) > 100) == ([], True)


def _is_answer(said: str | None, answer: str, item: Item) -> bool:
    return said is not None and answers.equal(said, answer, item.answer_type, item.unit)


def test_clasheval_has_one_standard_item_a_question_and_one_per_modification() -> None:
    items = loaded("clasheval")
    years = [item for item in items if item.domain == "years"]
    assert [item.item_id for item in years] == [f"clasheval-years-1{end}" for end in ("", "@-77", "@20", "@100")]
    assert [item.perturbation_value for item in years] == [None, -77, 20, 100]
    assert [item.level for item in years] == [Level.STANDARD, Level.BLATANT, Level.SUBTLE, Level.BLATANT]
    assert years[1].context.count("1797") == 2


@pytest.mark.parametrize(("item_id", "domain", "answer_type", "kind", "level", "claim"), [
    ("names-1@slight", "names", AnswerType.NAME, "substitution", Level.SUBTLE, "Irene Hult"),
    ("names-1@comical", "names", AnswerType.NAME, "substitution", Level.BLATANT, "Lighty McBeacon"),
    ("locations-1@significant", "cities", AnswerType.CITY, "substitution", Level.MODERATE, "Drumsk"),
    ("records-1@10.0", "records", AnswerType.NUMBER, "factor", Level.BLATANT, "16:49.10"),
    ("news-1@2.0", "news", AnswerType.NUMBER, "factor", Level.MILD, "278"),
    ("drugs-1@0.4", "drugs", AnswerType.NUMBER, "factor", Level.MODERATE, "12"),
])  # fmt: skip
def test_clasheval_tells_domain_type_kind_and_level(
    item_id: str, domain: str, answer_type: AnswerType, kind: str, level: Level, claim: str
) -> None:
    item = by_id(loaded("clasheval"))[f"clasheval-{item_id}"]
    assert (item.domain, item.answer_type, item.level, item.claimed_answer) == (domain, answer_type, level, claim)
    assert item.perturbation_kind is PerturbationKind(kind)


def test_clasheval_model_responses_load_as_the_data_set_does(tmp_path: Path) -> None:
    """Parquet, `mod_type` for `mod_degree`, and the columns that responses add."""
    frame = pd.read_csv(ROWS / FILES["clasheval"], dtype=str, keep_default_na=False)
    frame = frame.rename(columns={"mod_degree": "mod_type"}).assign(
        prior_response="1874", prior_correct=1, prior_logprobs="[-0.1, -0.2]", context_correct=0
    )
    frame.to_parquet(tmp_path / "gpt4.pqt")
    assert load_items(f"clasheval={tmp_path / 'gpt4.pqt'}").items == loaded("clasheval").items


def test_conflictqa_takes_its_true_passage_from_the_side_that_agrees_with_the_truth() -> None:
    items = by_id(loaded("conflictqa"))
    ferry, airport = items["conflictqa-1"], items["conflictqa-2"]
    assert (ferry.answer_type, ferry.gold_answer, ferry.context) == (
        AnswerType.YES_NO, "yes", "Train ferries have rails on deck. (counter)",
    )  # fmt: skip
    assert (airport.gold_answer, airport.context) == ("no", "The nearest runway is in Marnow. (memory)")
    assert (items["conflictqa-1@conflict"].claimed_answer, items["conflictqa-2@conflict"].claimed_answer) == (
        "no",
        "yes",
    )
    items = by_id(loaded("conflictqa-popqa"))
    assert items["conflictqa-1"].context == "The engineer Ines Holt built lighthouses. (counter)"
    assert items["conflictqa-1"].aliases == ("lighthouse engineer",)
    assert items["conflictqa-1@conflict"].claimed_answer == "a photographer"


def test_ramdocs_takes_the_first_document_that_states_its_answer() -> None:
    items = by_id(loaded("ramdocs"))
    assert items["ramdocs-2"].context == "The viaduct was opened in 1874."
    assert items["ramdocs-2@misinfo"].claimed_answer == "1900"
    assert items["ramdocs-3"].aliases == ("American football",)


@pytest.mark.parametrize(("question", "given", "kind"), [
    ("When was it built?", ["1874", "about 1820"], (AnswerType.YEAR, "")),
    ("When was it built?", ["1874", "May 1820"], (AnswerType.TEXT, "")),
    ("What is the population?", ["1874", "1900"], (AnswerType.NUMBER, "")),
    ("What is the population?", ["3,559 people", "10,000 people"], (AnswerType.NUMBER, "people")),
    ("How long is it?", ["98 km", "60 miles"], (AnswerType.TEXT, "")),
    ("Who?", ["Ines Holt", "1874"], (AnswerType.TEXT, "")),
])  # fmt: skip
def test_type_and_unit_of_one_question(question: str, given: list[str], kind: tuple[AnswerType, str]) -> None:
    assert kind_of_answer(question, given) == kind


def first_row(name: str) -> dict[str, Any]:
    if FILES[name].endswith(".csv"):
        return dict(pd.read_csv(ROWS / FILES[name], dtype=str, keep_default_na=False).to_dict("records")[0])
    text = (ROWS / FILES[name]).read_text("utf-8")
    return dict(json.loads(text)[0] if FILES[name].endswith(".json") else json.loads(text.splitlines()[0]))


@pytest.mark.parametrize(("content", "says"), [
    (b"", "is empty; every line is an object with question, documents, gold_answers"),
    (b'{"question": "When?"}\n{"question"\n', ".jsonl, line 2: not valid JSON"),
    (b'{"question": "Caf\xe9?"}\n', "is not UTF-8"),
    (b'{"question": "When?", "documents": []}\n', "the column gold_answers is missing; ramdocs as published has"),
])  # fmt: skip
def test_a_file_that_is_not_as_published(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(f"ramdocs={tmp_path / 'rows.jsonl'}")


def test_an_array_is_read_as_json_lines_are(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (ROWS / FILES["ramdocs"]).read_text("utf-8").splitlines()]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert load_items(f"ramdocs={tmp_path / 'rows.json'}").items == loaded("ramdocs").items


CONTENT = (ROWS / FILES["ramdocs"]).read_bytes()
FILE = "RAMDocs_test.jsonl"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Site(BaseHTTPRequestHandler):
    """Serves CONTENT below /whole, half of it below /broken (and then hangs up), nothing elsewhere."""

    def do_GET(self) -> None:
        found = self.path in (f"/whole/{FILE}", f"/broken/{FILE}")
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(CONTENT) if found else 0))
        self.end_headers()
        if found:
            self.wfile.write(CONTENT if self.path.startswith("/whole") else CONTENT[: len(CONTENT) // 2])

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


Register = Callable[..., Benchmark]


@pytest.fixture
def ramdocs(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Register:
    """RAMDocs as if it were published on this site with this checksum; the cache folder is a fresh one."""
    monkeypatch.setenv("SRDCR_DATA", str(tmp_path / "cache"))

    def register(path: str = "/whole", sha256: str = SHA256) -> Benchmark:
        source = replace(BENCHMARKS["ramdocs"], url=f"{site}{path}/{FILE}", sha256=sha256)
        known = MappingProxyType({**BENCHMARKS, "ramdocs": source})
        monkeypatch.setattr("srdcr_lab.data.load.BENCHMARKS", known)
        return source

    return register


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_fetched_benchmark_runs_by_its_name(ramdocs: Register, srdcr: Srdcr, tmp_path: Path) -> None:
    ramdocs()
    ended = srdcr.ok("data", "fetch", "ramdocs")
    assert "sha256 as published" in ended.out
    assert files(tmp_path / "cache") == {"ramdocs/RAMDocs_test.jsonl"}
    assert len(load_items("ramdocs")) == 6


def test_before_it_is_fetched_the_sentence_says_what_to_do(ramdocs: Register, tmp_path: Path) -> None:
    source = ramdocs()
    with pytest.raises(BadInput) as refused:
        load_items("ramdocs")
    for part in ("srdcr data fetch ramdocs", source.url, str(tmp_path / "cache"), "--items ramdocs=FILE"):
        assert part in str(refused.value)
    local = tmp_path / "local.jsonl"
    local.write_text("{}")
    with pytest.raises(BadInput, match="is not a web address"):
        load.download(replace(ramdocs(), url=local.as_uri()))


@pytest.mark.parametrize(("path", "sha256", "says"), [
    ("/whole", "0" * 64, "expected 0000"), ("/absent", SHA256, "cannot download ramdocs (HTTP 404); download"),
    ("/broken", SHA256, "was interrupted; run the same command again"),
])  # fmt: skip
def test_nothing_is_kept_of_a_fetch_that_fails(
    ramdocs: Register, srdcr: Srdcr, tmp_path: Path, path: str, sha256: str, says: str
) -> None:
    ramdocs(path, sha256)
    assert says in srdcr.refuses("data", "fetch", "ramdocs")
    assert files(tmp_path / "cache") == set()


def test_without_a_network_the_sentence_says_what_to_download_and_where_to_put_it(
    ramdocs: Register, srdcr: Srdcr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = replace(ramdocs(), url=f"http://127.0.0.1:9/{FILE}")  # nobody listens on the discard port
    monkeypatch.setattr("srdcr_lab.data.load.BENCHMARKS", {"ramdocs": source})
    ended = srdcr("data", "fetch", "ramdocs")
    assert ended.code == 2
    assert ended.sentence.startswith("srdcr: cannot download ramdocs (")
    assert f"download {source.url} by hand" in ended.sentence
    assert str(tmp_path / "cache" / "ramdocs" / "RAMDocs_test.jsonl") in ended.sentence


def test_a_file_that_changed_since_is_not_read(ramdocs: Register) -> None:
    path, _ = load.download(ramdocs())
    path.write_bytes(CONTENT + b"\n")
    with pytest.raises(BadInput, match=f"expected {SHA256}; delete it and run srdcr data fetch ramdocs"):
        load_items("ramdocs")


def test_without_a_published_checksum_a_file_is_taken_as_it_is(ramdocs: Register) -> None:
    source = ramdocs(sha256="")
    assert f"sha256 {SHA256}; none is published" in load.download(source)[1]
    load.benchmark_file(source).write_bytes(CONTENT + b"\n")
    assert len(load_items("ramdocs")) == 6


def test_the_list_names_home_licence_columns_and_what_is_here(
    ramdocs: Register, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = ramdocs()
    before = srdcr("data", "list").out
    for known in BENCHMARKS.values():
        assert f"\n{known.name}\n" in before
        assert known.home in before
        assert known.licence in before
    assert "no: srdcr data fetch ramdocs, or ramdocs=FILE" in before
    path, _ = load.download(source)
    assert f"here     {path}" in srdcr("data", "list").out
    assert "there is no benchmark 'ramdoc' (did you mean ramdocs?); known are clasheval" in srdcr.refuses(
        "data", "fetch", "ramdoc"
    )
    monkeypatch.delenv("SRDCR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert load.benchmark_file(source).parents[1] == tmp_path / "srdcr_lab"


def test_a_published_place_from_nought_becomes_a_letter() -> None:
    flat, nested = loaded("commonsenseqa")
    assert (flat.gold_answer, flat.options[1]) == ("B", Option(label="B", text="pilot boat"))
    assert (nested.question, nested.gold_answer) == ("What keeps a kite in the air?", "A")
    assert not nested.has(Needs.PASSAGE)
    assert {item.answer_type for item in (flat, nested)} == {AnswerType.OPTION}
    first, second = loaded("cosmosqa")
    assert (first.gold_answer, second.gold_answer) == ("A", "D")
    assert second.options[3].text == "Light the lamp again ."
    assert first.context.startswith("The lamp")
    assert not first.has(Needs.PASSAGE)  # evidence beside options, which SR-DCR's methods do not read


def test_a_question_with_a_wrong_option_twice_is_asked_without_the_second(tmp_path: Path) -> None:
    """Only a right option that occurs twice makes a question that nobody can answer."""
    choices = {"label": ["A", "B", "C", "D"], "text": ["shaker", "Shaker", "shoe", "shaker "]}
    rows = [{"question": q, "choices": choices, "answerKey": gold} for q, gold in (("Which?", "C"), ("Where?", "A"))]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    items = load_items(f"commonsenseqa={tmp_path / 'rows.jsonl'}")
    (asked,) = items
    assert [(option.label, option.text) for option in asked.options] == [("A", "shaker"), ("C", "shoe")]
    assert [extract_option(reply, asked.options) for reply in ("shaker", "C", "shoe")] == ["A", "C", "C"]
    assert items.notes == (
        "commonsenseqa: 1 row asked without an option that repeats a wrong one",
        "commonsenseqa: left out 1 row that cannot be used; --strict would refuse",
        "commonsenseqa: 1 row, column options: option B repeats the text of an earlier one",
    )


def test_yes_and_no_claims_and_final_numbers() -> None:
    lock, bridge = loaded("boolq")
    assert lock.question == "is the lower lock of marnow older than the upper one?"
    assert [(each.label, each.text) for each in lock.options] == [("true", "yes"), ("false", "no")]
    assert (lock.gold_answer, bridge.gold_answer) == ("true", "false")
    assert bridge.context.startswith("Swing bridge. While")
    first, second = loaded("hover")
    assert first.question == "Is this claim true or false? The engineer of the Harrow Bridge was born in Marnow."
    assert (first.gold_answer, second.gold_answer) == ("true", "false")
    assert (first.domain, second.domain, first.context) == ("hover 2-hop", "hover 3-hop", "")
    assert "every claim stands alone" in loaded("hover").notes[0]
    assert [item.gold_answer for item in loaded("gsm8k")] == ["1200", "350"]
    assert {item.answer_type for item in loaded("gsm8k")} == {AnswerType.NUMBER}


def test_a_row_that_cannot_be_read_is_left_out_and_open_questions_are_all_asked(tmp_path: Path) -> None:
    rows = [{"question": f"What is {n} and 1?", "answer": f"#### {n + 1}" if n else "?"} for n in range(41)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    items = load_items(f"gsm8k={tmp_path / 'rows.jsonl'}")
    assert (len(items), items.notes[1]) == (40, "gsm8k: 1 row, column answer: has no number after ####")
    with pytest.raises(BadInput, match=r"rows\.jsonl, row 1, column answer: has no number after ####"):
        load_items(f"gsm8k={tmp_path / 'rows.jsonl'}", strict=True)


@pytest.mark.parametrize("name", ["boolq", "commonsenseqa"])
def test_parquet_without_titles_and_with_arrays_reads_the_same(tmp_path: Path, name: str) -> None:
    """The shapes in which the same rows are published elsewhere."""
    rows = [json.loads(line) for line in (ROWS / FILES[name]).read_text("utf-8").splitlines()]
    rows = [row for row in rows if isinstance(row["question"], str)]
    pd.DataFrame(rows).drop(columns="title", errors="ignore").to_parquet(tmp_path / "rows.parquet")
    items = load_items(f"{name}={tmp_path / 'rows.parquet'}")
    assert items.items[0].gold_answer == loaded(name).items[0].gold_answer
    assert items.items[0].options == loaded(name).items[0].options


@pytest.mark.parametrize(("worked", "number"), [
    ("so\n#### -1,250", "-1250"), ("#### 3.50", "3.5"), ("no marker 7", ""), ("#### many", ""),
    ("a #### b #### 9", "9"),
])  # fmt: skip
def test_the_number_after_the_last_marker(worked: str, number: str) -> None:
    assert final_number(worked) == number


@pytest.mark.parametrize(("name", "change", "says"), [
    ("commonsenseqa", {"answerKey": "F"}, "row 1, column gold_answer: the answer 'F' is none of the labels A, B, C"),
    ("commonsenseqa", {"answerKey": ""}, "row 1, column answerKey: is empty; the test split"),
    ("commonsenseqa", {"choices": {"label": ["A"], "text": ["x", "y"]}}, "column choices: has 1 labels and 2 texts"),
    ("commonsenseqa", {"choices": {"label": ["A"], "text": ["x"]}}, "needs at least two options, found 1"),
    ("commonsenseqa", {"choices": {"label": ["B", "B"], "text": ["x", "y"]}}, "the label 'B' occurs twice"),
    ("commonsenseqa", {"choices": "A, B"}, "column options: a question needs at least two options, found 1"),
    ("commonsenseqa", {"question": ""}, "row 1, column question: is empty"),
    ("cosmosqa", {"label": "4"}, "row 1, column label: '4' is none of 0, 1, 2, 3"),
    ("cosmosqa", {"answer2": ""}, "row 1, column options: option C is empty"),
    ("cosmosqa", {"context": ""}, "row 1, column context: is empty"),
    ("boolq", {"answer": "maybe"}, "row 1, column answer: 'maybe' is neither true nor false"),
    ("boolq", {"passage": ""}, "row 1, column passage: is empty"),
    ("hover", {"label": "REFUTED"}, "row 1, column label: 'REFUTED' is none of SUPPORTED, NOT_SUPPORTED"),
    ("hover", {"claim": ""}, "row 1, column claim: is empty"),
    ("hover", {"num_hops": "two"}, "row 1, column num_hops: 'two' is not a whole number"),
    ("gsm8k", {"answer": "It is 42."}, "row 1, column answer: has no number after ####"),
    ("clasheval", {"dataset": "sports"}, "row 1, column dataset: 'sports' is none of names, locations, years"),
    ("clasheval", {"mod_degree": ""}, "row 1, column mod_degree: is empty"),
    ("clasheval", {"mod_degree": "much"}, "row 1, column mod_degree: 'much' is not a number"),
    ("ramdocs", {"gold_answers": "3,559"}, "row 1, column gold_answers: a list was expected, found '3,559'"),
    ("ramdocs", {"gold_answers": []}, "row 1, column gold_answers: is empty"),
    ("ramdocs", {"documents": [{"text": "…"}]}, "row 1, column documents, document 1, type: is empty"),
    ("ramdocs", {"documents": [{"text": "…", "type": "rumour", "answer": "1"}]},
     "row 1, column documents, document 1, type: 'rumour' is none of correct, misinfo, noise"),
    ("ramdocs", {"documents": [{"text": "3,559 people " * 9000, "type": "correct", "answer": "3,559 people"}]},
     "row 1, column context: has 116,999 characters, at most 100,000 are taken"),
    ("ramdocs", {"question": ["a"]}, "row 1, column question: is a list, a text was expected"),
    ("ramdocs", {"documents": []}, "row 1, column documents: no correct document contains its"),
    ("ramdocs:documents", {"documents": [{"text": "x" * 100_001, "type": "noise", "answer": ""}]},
     "document 1, text: has 100,001"),
    ("ramdocs:documents", {"documents": [{"text": "\ud800", "type": "noise", "answer": ""}]}, "half of a character"),
    ("ramdocs:documents", {"gold_answers": []}, "row 1, column gold_answer: is empty"),
])  # fmt: skip
def test_a_cell_that_is_wrong_is_named(tmp_path: Path, name: str, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**first_row(name.partition(":")[0]), **change}), "utf-8")
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(f"{name}={path}")


@pytest.mark.parametrize("name", ["conflictqa", "clasheval", *QUESTIONS])
def test_a_file_without_its_columns_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.csv").write_text("question_text\nWhere?\n", "utf-8")
    with pytest.raises(BadInput, match=rf"the column \w+ is missing; {name} as published has \w+, "):
        load_items(f"{name}={tmp_path / 'rows.csv'}")


def test_a_file_as_published_is_recognised() -> None:
    with pytest.raises(BadInput, match=r"columns of boolq as published; write boolq="):
        load_items(ROWS / FILES["boolq"])


def table(**columns: Any) -> pd.DataFrame:
    rows = {"question": "Where are books lent?", "gold_answer": "B", "options": "a bank|a library|a canal", **columns}
    return pd.DataFrame([rows])


@pytest.mark.parametrize("options", [
    "a bank|a library|a canal",
    '["a bank", "a library", "a canal"]',
    '{"A": "a bank", "B": "a library", "C": "a canal"}',
    '[{"label": "A", "text": "a bank"}, {"label": "B", "text": "a library"}, {"label": "C", "text": "a canal"}]',
    [{"label": "A", "text": "a bank"}, {"label": "B", "text": "a library"}, {"label": "C", "text": "a canal"}],
    ["a bank", "a library", "a canal"],
])  # fmt: skip
def test_options_are_read_in_each_spelling(options: Any) -> None:
    (item,) = load_items(table(options=options))
    assert [(each.label, each.text) for each in item.options] == [("A", "a bank"), ("B", "a library"), ("C", "a canal")]
    assert (item.gold_answer, item.answer_type, item.context) == ("B", AnswerType.OPTION, "")


def test_the_gold_answer_may_be_an_options_text_and_a_passage_stand_beside() -> None:
    (item,) = load_items(table(gold_answer="a canal"))
    assert item.gold_answer == "C"
    (item,) = load_items(table(context="One borrows and brings back."))
    assert item.context == "One borrows and brings back."
    assert item.is_standard


@pytest.mark.parametrize(("columns", "says"), [
    ({"gold_answer": "D"}, "table, row 1, column gold_answer: the answer 'D' is none of the labels A, B, C"),
    ({"options": "a bank"}, "column options: a question needs at least two options, found 1"),
    ({"gold_answer": "libary"}, "none of the labels A, B, C and no option's text (did you mean a library?)"),
    ({"options": "a bank; a canal"}, "found 1; bars stand between them (a bank|a library)"),
    ({"options": "a bank||a canal"}, "column options: option B is empty"),
    ({"options": "a bank|A bank"}, "column options: option B repeats the text of an earlier one"),
    ({"options": '{"A": "x"'}, "column options: not valid JSON"),
    ({"options": '{"A": "x", "a": "y"}', "gold_answer": "A"}, "column options: the label 'A' occurs twice"),
    ({"options": '{"A": "x", "B": "y", "B": "z"}'}, "column options: not valid JSON ('B' occurs twice"),
    ({"options": '["x", NaN]'}, "column options: option B is empty"),
    ({"options": '["x", "\\ud800"]'}, "column options, option 2, text: holds half of a character"),
    ({"options": "[]"}, "column options: a question needs at least two options, found 0"),
    ({"documents": ["It is a library."]}, "column documents: is there beside options"),
    ({"options": '[{"label": "A"}, {"label": "B", "text": "y"}]'}, "column options: option A is empty"),
    ({"options": "|".join("abcdefghijk")}, "column options: holds 11 options, at most 10 get letters"),
    ({"answer_type": "text"}, "column answer_type: is text, but a question with options has the type option"),
    ({"options": "", "answer_type": "option", "context": "B"}, "column options: is empty, but answer_type is option"),
])  # fmt: skip
def test_wrong_options_are_a_sentence(columns: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(table(**columns))
