"""`srdcr share` and `srdcr replay`: what goes into a bundle, what a replay finds, and what a hostile bundle gets."""

import io
import json
import lzma
import shutil
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import srdcr_lab as lab
from srdcr_lab.models import Store
from srdcr_lab.prompts import messages
from srdcr_lab.records import BadInput, CallFailed, Stopped, files
from srdcr_lab.records.files import LOCK, check_decoded_size, one_writer
from srdcr_lab.study import bundle, study_of
from srdcr_lab.study.bundle import check_no_traces, shipped_studies
from srdcr_lab.study.results import check_same_study
from srdcr_lab.study.share import made_again, replay, share
from tests.conftest import Srdcr
from tests.scripted import finished, reader


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("shared") / "run"
    finished(lab.Study(reader(), "facts:testbed", limit=2, samples=3, out=out))
    return out


@pytest.fixture(scope="module")
def shared(run: Path) -> Path:
    share(run, run.parent / "study.zip")
    return run.parent / "study.zip"


def _forged(path: Path, packed: int = zipfile.ZIP_DEFLATED, /, **entries: bytes) -> Path:
    """A bundle as a hostile sender would seal it: any names, any content, a digest that fits."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packed) as archive:
        archive.comment = bundle.VERSION + b"0" * 64
        for name, content in entries.items():
            archive.writestr(name, content)
    path.write_bytes(bundle.seal(buffer.getvalue()))
    return path


def test_a_shared_study_is_replayed_without_a_difference(shared: Path, tmp_path: Path) -> None:
    made = replay(shared, tmp_path / "replayed")
    assert (made.differences, made.notes, made.tables) == ((), (), 4)
    assert (tmp_path / "replayed/run/records.parquet").is_file()


SHIPPED = [name for name in sorted(shipped_studies()) if "/" in name]
SMALLEST = {"elements/passages", "pocket/symmetric", "qwen2.5-coder-1.5b/hops", "smollm2-135m/judged"}  # of each study


@pytest.mark.parametrize("study", [
    pytest.param(name, marks=[] if name in SMALLEST else pytest.mark.exhaustive) for name in SHIPPED
])  # fmt: skip
def test_a_study_that_ships_is_replayed_without_a_difference(study: str, tmp_path: Path) -> None:
    made = replay(Path(study), tmp_path / "replayed")
    assert (made.differences, made.tables) == ((), 4)
    name = study.partition("/")[0]
    assert name in str(made.shared.label) or name == "elements"  # which is named after its table


def test_sharing_twice_gives_equal_bytes(run: Path, shared: Path, tmp_path: Path) -> None:
    share(run, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == shared.read_bytes()


def test_any_changed_byte_is_reported(shared: Path, tmp_path: Path) -> None:
    content = shared.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 60)):
        changed = bytearray(content)
        changed[place] ^= 1
        (tmp_path / "changed.zip").write_bytes(changed)
        with pytest.raises(BadInput):
            bundle.unpack(tmp_path / "changed.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("change", [lambda _: b"", lambda _: b"not a zip", lambda whole: whole[: len(whole) // 2]])
def test_what_is_no_bundle_is_said_to_be_none(shared: Path, tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    (tmp_path / "sent.zip").write_bytes(change(shared.read_bytes()))
    with pytest.raises(BadInput, match="is not a bundle of this version's srdcr share"):
        replay(tmp_path / "sent.zip", tmp_path / "out")
    with pytest.raises(BadInput, match="is a folder; a bundle is the file that srdcr share"):
        bundle.unpack(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def resealed(shared: Path, folder: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """The bundle with one file changed and a digest that fits, so that only the replay can tell."""
    bundle.unpack(shared, folder / "opened")
    file = folder / "opened" / name
    before = file.read_bytes()
    file.write_bytes(change(before))
    assert file.read_bytes() != before
    files = {str(p.relative_to(folder / "opened")): p for p in (folder / "opened").rglob("*") if p.is_file()}
    bundle.pack(files, folder / "forged.zip")
    return folder / "forged.zip"


def _replacing(one: str, other: str) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(one.encode(), other.encode(), 1)


def _parquet(table: pa.Table, **options: object) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written, **options)
    return written.getvalue()


def _cell(column: str, value: str) -> Callable[[bytes], bytes]:
    """Another value in the first row of a Parquet table."""

    def change(content: bytes) -> bytes:
        table = pq.read_table(io.BytesIO(content))
        place, values = table.column_names.index(column), table[column].to_pylist()
        return _parquet(
            table.set_column(place, table.schema.field(column), pa.array([value, *values[1:]], pa.string()))
        )

    return change


@pytest.mark.parametrize(("name", "change", "said"), [
    ("run/run.json", _replacing('"items": "facts:testbed"', '"items": "mine"'), "run.json: items is not what was"),
    ("run/run.json", _replacing('"provider"', '"more": 7, "provider"'), "run.json: models is not what was"),
    ("run/items.json", _replacing('"domain": "', '"domain": "x'), "run.json: items_sha256 is not what was"),
    ("run/summary.csv", _replacing("standard", "Standard"), "summary.csv: row 1, condition: 'Standard' became "),
    ("run/records.parquet", _cell("final_answer", "9"), "records.parquet: row 1, final_answer: '9' became "),
    ("run/turns.parquet", _cell("text", "9"), "turns.parquet: row 1, text: '9' became "),
    ("run/samples.parquet", _cell("text", "9"), "samples.parquet: row 1, text: '9' became "),
    ("store.jsonl", _replacing('"text": "1874', '"text": "1875'), "records.parquet: row "),
])  # fmt: skip
def test_a_changed_file_is_a_difference(
    shared: Path, tmp_path: Path, name: str, change: Callable[[bytes], bytes], said: str
) -> None:
    made = replay(resealed(shared, tmp_path, name, change), tmp_path / "replayed")
    assert [found for found in made.differences if found.startswith(said)], made.differences


def test_a_summary_that_another_processor_rounded_is_the_same(shared: Path, tmp_path: Path) -> None:
    """Their last digits differ; anything more is a difference."""

    def scaled(content: bytes, factor: float) -> bytes:
        table = pd.read_csv(io.BytesIO(content))
        return table.assign(accuracy=table["accuracy"] * factor + (factor - 1)).to_csv(index=False).encode()

    for factor, differ in ((1 + 4e-16, False), (1 + 1e-6, True)):
        place = tmp_path / str(factor)
        place.mkdir()
        changed = resealed(shared, place, "run/summary.csv", lambda content, by=factor: scaled(content, by))
        made = replay(changed, place / "replayed")
        assert any(found.startswith("summary.csv: row 1, accuracy") for found in made.differences) is differ


def test_a_run_with_a_failed_row_is_shared_and_replayed(tmp_path: Path) -> None:
    """What the server said is not asked again: the row fails in the replay too, with a sentence of its own."""
    refusing = reader(judge=CallFailed("the server said 500"))
    results = finished(lab.Study(refusing, "facts:testbed", limit=2, samples=0, out=tmp_path / "run"))
    assert results.records["error"].notna().sum() == 2
    share(tmp_path / "run", tmp_path / "study.zip")
    assert replay(tmp_path / "study.zip", tmp_path / "replayed").differences == ()


@pytest.mark.parametrize("name", ["../out.txt", "/etc/out", "run/../../out", "run/x.csv", "notebooks/x", "C:\\out"])
def test_no_path_leaves_the_folder(name: str, tmp_path: Path) -> None:
    forged = _forged(tmp_path / "forged.zip", **{name: b"x"})
    with pytest.raises(BadInput, match="as no bundle does"):
        bundle.unpack(forged, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("packed", "ending", "said"), [
    (zipfile.ZIP_DEFLATED, "", "unpacks to more than 1,000 bytes"),
    (zipfile.ZIP_LZMA, "", "unpacks to more than 1,000 bytes"),
    (zipfile.ZIP_STORED, ".xz", "unpacks to more than 1,000 bytes"),
    (zipfile.ZIP_BZIP2, "", "as no bundle does"),
])  # fmt: skip
def test_a_bomb_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: int, ending: str, said: str
) -> None:
    """Nor into memory: of 100 MB that are packed, no more is read than a block of the zip makes."""
    monkeypatch.setitem(bundle._LARGEST, "run/run.json", 1000)
    bomb = lzma.compress(b"0" * 100_000_000, preset=0) if ending else b"0" * 100_000_000
    forged = _forged(tmp_path / "forged.zip", packed, **{f"run/run.json{ending}": bomb})
    tracemalloc.start()
    with pytest.raises(BadInput, match=said):
        bundle.unpack(forged, tmp_path / "out")
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 80_000_000
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "change", "said"), [
    ("summary.csv", _replacing("standard", "Standard"), "summary.csv: row 1, condition: 'Standard' became "),
    ("records.parquet", _cell("final_answer", "9"), "records.parquet: row 1, final_answer: '9' became "),
    ("records.parquet", lambda content: content[:400], "the same srdcr run writes it again"),
    ("items.json", _replacing('"domain": "', '"domain": "x'), "the same srdcr run writes it anew"),
    ("items.json", lambda content: b"{}", "the same run writes it again"),
    ("run.json", _replacing('"seed": 0', '"seed": 7'), "more rows lack completions (is this the store of the run?)"),
    ("run.json", lambda content: b"{}", "run the same into another folder; with --store"),
])  # fmt: skip
def test_what_is_to_be_done_about_an_edited_file_is_said(
    run: Path, tmp_path: Path, name: str, change: Callable[[bytes], bytes], said: str
) -> None:
    shutil.copytree(run, tmp_path / "run")
    file = tmp_path / "run" / name
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(BadInput) as refused:
        share(tmp_path / "run", tmp_path / "study.zip")
    assert said in str(refused.value)
    assert "--out" not in str(refused.value)
    assert len(str(refused.value)) < 400
    assert not (tmp_path / "study.zip").exists()


def test_a_folder_in_use_is_not_replayed_into(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="not empty"):
        replay(shared, tmp_path / "full")


def test_what_is_not_finished_or_not_made_by_its_store_is_not_shared(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run, tmp_path / "run")
    manifest = tmp_path / "run/run.json"
    manifest.write_text(manifest.read_text().replace('"status": "done"', '"status": "stopped"'))
    with pytest.raises(BadInput, match="not finished"):
        share(tmp_path / "run", tmp_path / "study.zip")
    finished(lab.Study(reader(), "facts", limit=2, samples=0, out=tmp_path / "other"))
    with pytest.raises(BadInput, match="cannot be replayed"):
        share(run, tmp_path / "study.zip", store=tmp_path / "other/store.sqlite")
    monkeypatch.setitem(bundle._LARGEST, "run/run.json", 10)
    with pytest.raises(BadInput, match="too much for a bundle"):
        share(run, tmp_path / "study.zip")
    assert not (tmp_path / "study.zip").exists()


@pytest.fixture
def shipped(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with one study of two parts."""
    (tmp_path / "data/studies/tiny").mkdir(parents=True)
    for part in ("debates", "known"):
        shutil.copy(shared, tmp_path / f"data/studies/tiny/{part}.zip")
    monkeypatch.setattr(bundle, "shipped", lambda name: tmp_path / "data" / name)
    return tmp_path / "data/studies"


def test_a_run_is_opened_by_a_name_a_bundle_or_a_folder(run: Path, shared: Path, shipped: Path) -> None:
    expected = lab.load_run(run).records
    for name in ("tiny", "tiny/known", "tiny/debates", shared, str(shared)):
        opened = lab.load_run(name)
        pd.testing.assert_frame_equal(opened.records, expected)
        place = opened.folder
        assert place.is_dir()
        assert shipped not in place.parents
        del opened
        assert not place.exists(), "what was unpacked goes with the results"
    assert set(lab.load_runs("tiny", run)["run"]) == {"tiny", "run"}
    assert set(lab.load_runs("tiny/known", run, run / "../run")["run"]) == {"known", f"{run}", f"{run}/../run"}
    with pytest.raises(BadInput, match="the run tiny is named twice; name each once"):
        lab.load_runs("tiny", "tiny")
    with pytest.raises(BadInput, match=r"no design sr_dcr; its designs are acvd"):
        study_of(lab.load_run(run), design="sr_dcr")


@pytest.mark.parametrize("name", ["tiny/know", "tinny", "tiny/../tiny", "no/such.zip", "tiny/known.zip", "x" * 255])
def test_a_name_that_is_none_is_told_those_that_are(shipped: Path, name: str, srdcr: Srdcr) -> None:
    with pytest.raises(BadInput) as refused:
        lab.load_run(name)
    assert "the name of a study that ships: tiny, tiny/debates, tiny/known" in str(refused.value)
    assert len(str(refused.value)) < 400
    ended = srdcr("replay", name, "--out", shipped.parent / "out")
    assert (ended.code, ended.sentence) == (2, f"srdcr: {refused.value}")
    assert not (shipped.parent / "out").exists()


def test_a_hostile_bundle_is_not_opened_and_leaves_nothing(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    whole = _entries(shared)
    part = {name: whole[name] for name in whole if name != "run/items.json"}
    for entries in (whole | {"../out.txt": b"x"}, part, whole | {"run/run.json": b"{"}):
        forged = _forged(tmp_path / "forged.zip", **entries)
        with pytest.raises(BadInput):
            lab.load_run(forged)
        assert not list((tmp_path / "temporary").iterdir())
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["forged.zip", "temporary"]


def test_a_study_that_ships_has_every_column() -> None:
    rows = lab.load_run("smollm2-135m").records
    assert rows["right"].tolist() == (rows["correct"] == True).fillna(False).tolist()  # noqa: E712
    assert (rows["condition"] == "standard").tolist() == (rows["level"] == "standard").tolist()
    assert (rows["knowledge_category"].min(), rows["knowledge_category"].max()) == ("UNKNOWN", "HIGHLY_KNOWN")


def test_a_study_that_ships_is_replayed_by_its_name_and_shows_its_table(shipped: Path, srdcr: Srdcr) -> None:
    manifest = lab.load_run("tiny").manifest
    assert set(manifest["machine"]) == {"system", "processor", "cores"}
    assert manifest["versions"]["srdcr-lab"] == lab.__version__
    first, header, *rest = srdcr.ok("replay", "tiny", "--out", shipped.parent / "out").out.splitlines()
    assert first.startswith("as it was shared: scripted:scripted; items facts:testbed; made 20")
    assert header.split()[:2] == ["method", "items"]
    assert rest[-1] == "no difference"


def test_a_prompt_that_the_run_did_not_need_may_be_another(shared: Path, tmp_path: Path) -> None:
    """A template was changed since that this run never used: its tables are made again."""

    def changed(content: bytes) -> bytes:
        return _manifest(content, "asked.prompts_sha256.stance_judge", '"00"')

    made = replay(resealed(shared, tmp_path, "run/run.json", changed), tmp_path / "replayed")
    assert made.differences == ()
    assert made.notes[0].startswith("its prompts stance_judge are not this version's: if anything was asked")


def test_prompts_that_are_not_known_are_named_and_table_is_shown(shared: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    """What they asked for cannot be found in the store: exit code 1, and the study's own table."""
    with pytest.MonkeyPatch.context() as patch:
        texts = dict(messages.sources()) | {"judge": messages.sources()["judge"].replace("Judge of", "Arbiter of")}
        patch.setattr(messages, "sources", lambda: texts)
        messages._repeated.cache_clear()
        forged = srdcr("replay", shared, "--out", tmp_path / "replayed")
    messages._repeated.cache_clear()
    assert forged.code == 1
    assert "note: its prompts judge are not this version's" in forged.out
    assert "records.parquet: row " in forged.out
    assert "sr_dcr" in forged.out


def _entries(shared: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(shared) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _manifest(content: bytes, path: str, value: str) -> bytes:
    """The manifest with the JSON text `value` at a dotted path; nothing there where it is empty."""
    manifest = json.loads(content)
    *way, last = path.split(".")
    inner = manifest
    for step in way:
        inner = inner[step]
    inner[last] = "HERE"
    if not value:
        del inner[last]
    return json.dumps(manifest).replace('"HERE"', value).encode()


WRONG = ["", "null", "7", "-1e999", "NaN", "1" * 400, '"x"', '[["x"]]', "[" * 200_000]
OF_MANIFEST = ("asked", "asked.models", "asked.models.answerer", "asked.models.answerer.name", "asked.methods")
OF_MANIFEST += ("asked.choices", "asked.choices.design", "asked.seed", "asked.items", "logprobs", "schema_version")
OPTIONAL = ("remarks", "parts", "versions", "asked.prompts_sha256")


@pytest.mark.parametrize("path", OF_MANIFEST + OPTIONAL)
def test_a_manifest_of_any_shape_is_one_sentence(run: Path, tmp_path: Path, path: str) -> None:
    """For a folder that is read, shared or resumed."""
    before = (run / "run.json").read_bytes()
    for value in WRONG[path in OPTIONAL :]:
        if path.endswith(("items", "name")) and value == '"x"':
            continue  # another text is as good
        (tmp_path / "run.json").write_bytes(_manifest(before, path, value))
        for use in (
            lambda: made_again(tmp_path, Store(":memory:"), tmp_path / "again"),
            lambda: check_same_study(tmp_path, {}),
        ):
            with pytest.raises(BadInput) as refused:
                use()
            assert len(str(refused.value)) < 400
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(("name", "content"), [
    ("run/turns.parquet", _parquet(pa.table({"text": [[{"a": 1}]]}))),  # of another schema
    ("run/run.json", b'{"schema_version": 2}'),
    ("run/items.json", b'{"srdcr_items": 1, "name": 7, "notes": [], "items": {}, "exemplars": []}'),
    ("run/items.json", b'{"srdcr_items":' + b"[" * 100_000), ("run/records.parquet", b"PAR1 not at all PAR1"),
    ("run/summary.csv", b""),
    ("store.jsonl.xz", lzma.compress(b"{}\n")),
])  # fmt: skip
def test_a_refused_replay_leaves_nothing(shared: Path, tmp_path: Path, name: str, content: bytes) -> None:
    """So the next one is not refused for what the first has left."""
    forged = _forged(tmp_path / "forged.zip", **{**_entries(shared), name: content})
    (tmp_path / "there").mkdir()
    for out in (tmp_path / "there", tmp_path / "new"):
        with pytest.raises(BadInput):
            replay(forged, out)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["forged.zip", "there"]
    assert not list((tmp_path / "there").iterdir())


@pytest.mark.parametrize("table", [
    lambda: {"text": ["x" * 100_000] * 2_000},  # one value, which a dictionary repeats
    lambda: {"text": ["x" * 25_000_000]},
    lambda: {"saw_turns": [[0] * 5_000_000]},
    lambda: {"text": pa.array([b"x" * 100_000] * 2_000, pa.binary(100_000))},
    lambda: {"texts": [["x" * 100_000]] * 2_000},
], ids=["dictionary", "long", "list", "fixed", "in lists"])  # fmt: skip
def test_a_table_that_decodes_to_too_much_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: Callable[[], dict[str, list[Any]]]
) -> None:
    monkeypatch.setattr(bundle, "_LARGEST_TABLE", 20_000_000)
    content = _parquet(pa.table(table()), compression="zstd")
    assert len(content) < 1_000_000
    forged = _forged(tmp_path / "forged.zip", **{"run/turns.parquet": content})
    with pytest.raises(BadInput, match=r"turns\.parquet holds more than .* MiB"):
        bundle.unpack(forged, tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["forged.zip"]


def test_a_large_table_within_the_bound_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a few steps, also where its rows are one group."""
    table = pa.table({"text": pa.array([f"{i} " * 20 for i in range(20_000)])})
    (tmp_path / "my.parquet").write_bytes(_parquet(table))
    seen: list[int] = []
    monkeypatch.setattr(files, "_decoded_size", lambda column: seen.append(len(column)) or 0)
    check_decoded_size(tmp_path / "my.parquet", 20_000_000)
    assert seen == [10_000, 10_000]


def test_a_second_run_in_a_folder_is_told_of_the_first(tmp_path: Path) -> None:
    """With exit code 3, since the same command works once the first has ended."""
    out = tmp_path / "run"
    with lab.Study(reader(), "facts", limit=1, samples=0, out=out) as study:
        with one_writer(out), pytest.raises(Stopped, match="in use by process"):
            study.run(progress=False)
        assert not out.exists()
        study.run(progress=False)
    assert LOCK not in {entry.name for entry in out.iterdir()}
    with one_writer(tmp_path / "again"), pytest.raises(Stopped, match="in use by process"):
        replay(tmp_path / "study.zip", tmp_path / "again")


@pytest.mark.parametrize(("content", "what"), [
    ("... a-key-of-my-own-1234 ...", "OPENAI_API_KEY"),
    ('{}\n{"text": "it is twelve\\"and\\\\more"}\n', "MY_SECRET"),  # as JSON escapes it
    (f"{Path.cwd()}/items.csv", "the path"), ("my key is sk-" + "a1" * 20, "looks like a key"),
])  # fmt: skip
def test_a_trace_of_this_machine_is_not_shared(content: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-my-own-1234")
    monkeypatch.setenv("MY_SECRET", 'twelve"and\\more')
    with pytest.raises(BadInput, match=what):
        check_no_traces("store.jsonl", content.encode())


def test_a_key_inside_a_compressed_table_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-my-own-1234")
    errors = ["a", "refused: a-key-of-my-own-1234 is unknown", "z"]  # the first and the last stand open in statistics
    written = _parquet(pa.table({"error": errors}), compression="gzip")
    assert b"a-key-of-my-own-1234 is unknown" not in written
    with pytest.raises(BadInput, match="OPENAI_API_KEY"):
        check_no_traces("run/records.parquet", written)


@pytest.mark.parametrize("name", ["store.jsonl", "run/run.json"])
def test_a_trace_that_json_writes_in_ascii_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters beyond ASCII as \\uXXXX, those beyond 16 bits in two halves; an escaped backslash begins none."""
    monkeypatch.setenv("HOME", "/home/José 🗝")
    monkeypatch.setenv("MY_SECRET", "\\u00e9-is-no-letter")
    for traced, what in [("/home/José 🗝/study", "the path"), ("\\u00e9-is-no-letter", "MY_SECRET")]:
        with pytest.raises(BadInput, match=what):
            check_no_traces(name, json.dumps({"text": f"it is {traced}"}).encode())
    check_no_traces(name, json.dumps({"text": "José 🗝 \ud83d"}).encode())
