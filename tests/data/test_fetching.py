"""Bringing a benchmark here: checksums known and recorded, a folder of its own, and one sentence without a network."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest

from srdcr_lab.data import benchmarks, load_items
from srdcr_lab.data.benchmarks import BENCHMARKS, Benchmark
from srdcr_lab.records import BadInput
from tests.conftest import Srdcr

CONTENT = (Path(__file__).parents[1] / "fixtures" / "benchmarks" / "ramdocs.jsonl").read_bytes()
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
        for module in ("srdcr_lab.data.benchmarks", "srdcr_lab.data.load"):
            monkeypatch.setattr(f"{module}.BENCHMARKS", known)
        return source

    return register


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_fetched_benchmark_runs_by_its_name(ramdocs: Register, srdcr: Srdcr, tmp_path: Path) -> None:
    ramdocs()
    ended = srdcr("data", "fetch", "ramdocs")
    assert ended.code == 0, ended.err
    assert "sha256 as expected" in ended.out
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
    with pytest.raises(BadInput, match="is no web address"):
        benchmarks.fetch(replace(ramdocs(), url=local.as_uri()))


@pytest.mark.parametrize(
    ("path", "sha256", "says"),
    [
        ("/whole", "0" * 64, "expected 0000"),
        ("/absent", SHA256, "cannot download ramdocs (HTTP 404); download"),
        ("/broken", SHA256, "broke off; run the same again"),
    ],
)
def test_nothing_is_kept_of_a_fetch_that_fails(
    ramdocs: Register, srdcr: Srdcr, tmp_path: Path, path: str, sha256: str, says: str
) -> None:
    ramdocs(path, sha256)
    ended = srdcr("data", "fetch", "ramdocs")
    assert ended.code == 2
    assert says in ended.sentence
    assert files(tmp_path / "cache") == set()


def test_without_a_network_the_sentence_says_what_to_download_and_where_to_put_it(
    ramdocs: Register, srdcr: Srdcr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = replace(ramdocs(), url=f"http://127.0.0.1:9/{FILE}")  # nobody listens on the discard port
    monkeypatch.setattr("srdcr_lab.data.benchmarks.BENCHMARKS", {"ramdocs": source})
    ended = srdcr("data", "fetch", "ramdocs")
    assert ended.code == 2
    assert ended.sentence.startswith("srdcr: cannot download ramdocs (")
    assert f"download {source.url} by hand" in ended.sentence
    assert str(tmp_path / "cache" / "ramdocs" / "RAMDocs_test.jsonl") in ended.sentence


def test_a_checksum_that_is_not_known_is_recorded_at_the_first_fetch(ramdocs: Register, tmp_path: Path) -> None:
    source = ramdocs(sha256="")
    _, first = benchmarks.fetch(source)
    assert f"recorded and later fetches must agree: sha256 {SHA256}" in first
    assert json.loads((tmp_path / "cache" / "checksums.json").read_text()) == {source.url: SHA256}
    _, second = benchmarks.fetch(source)
    assert second.endswith("sha256 as recorded at the first fetch")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "checksums.json").write_text("[")
    with pytest.raises(BadInput, match=r"checksums\.json cannot be read"):
        benchmarks.fetch(source)


@pytest.mark.parametrize("sha256", [SHA256, ""])
def test_a_file_that_changed_since_is_not_read(ramdocs: Register, sha256: str) -> None:
    path, _ = benchmarks.fetch(ramdocs(sha256=sha256))
    path.write_bytes(CONTENT + b"\n")
    with pytest.raises(BadInput, match=f"expected {SHA256}; delete it and run srdcr data fetch ramdocs"):
        load_items("ramdocs")


def test_a_file_put_there_by_hand_is_taken_and_its_checksum_kept(ramdocs: Register) -> None:
    source = ramdocs(sha256="")
    benchmarks.place(source).parent.mkdir(parents=True)
    benchmarks.place(source).write_bytes(CONTENT)
    assert len(load_items("ramdocs")) == 6
    assert benchmarks.known_checksum(source) == SHA256


def test_an_unknown_name(srdcr: Srdcr) -> None:
    ended = srdcr("data", "fetch", "ramdoc")
    assert ended.code == 2
    assert "there is no benchmark 'ramdoc' (did you mean ramdocs?); known are clasheval" in ended.sentence


def test_the_list_names_home_licence_columns_and_what_is_here(ramdocs: Register, srdcr: Srdcr) -> None:
    source = ramdocs()
    before = srdcr("data", "list").out
    for known in BENCHMARKS.values():
        assert f"\n{known.name}\n" in before
        assert known.home in before
        assert known.licence in before
    assert "no: srdcr data fetch ramdocs, or ramdocs=FILE" in before
    path, _ = benchmarks.fetch(source)
    assert f"here     {path}" in srdcr("data", "list").out


def test_the_cache_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SRDCR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert benchmarks.cache_folder() == tmp_path / "srdcr_lab"
