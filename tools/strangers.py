"""What a stranger may bring, as tables: arguments, files, replies of a server, bundles. `trial.py` tries them all."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ESC, BIDI, DEEP, OUTSIDE = "\x1b[2J\x1b[31m", "\u202eabc\u2066", "@@deep@@", "OUTSIDE"


@dataclass(frozen=True)
class Trial:
    """A command in a folder that holds these files. `rows` of its records must come out without an error, and what it
    prints must hold `says`."""

    name: str
    command: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    rows: int = 0
    says: str = ""


# Arguments and files -------------------------------------------------------------------------------------------------

HEADER = "question,gold_answer,context"
ROWS = ["When was the bridge built?,1874,The bridge was built in 1874.",
        "When was the tower built?,1912,The tower was built in 1912.",
        "When was the canal dug?,1801,The canal was dug in 1801."]  # fmt: skip
TABLE = "\n".join([HEADER, *ROWS, ""]).encode()
LINES = [dict(zip(HEADER.split(","), row.split(","), strict=True)) for row in ROWS]
ASKED = ("--items", "good.csv", "--samples", "2", "--rounds", "2")
OFFLINE = ("run", "--offline", "--model", "openai:test", *ASKED, "--out", "out")
PLAN = ("plan", "--model", "openai:test", *ASKED)

NUMBERS = ("1000000000", "-1", "0", "1e9", "nan", "inf", "-inf", "9" * 30, "", "٣", "0x10", "½", "1" + "0" * 5000)
TEXTS = ("", " ", "a\0b", ESC, BIDI, "x" * 300, "x" * 5000, "\udcff", "a\nb", "../..", "~", "-", ".", "{}", "%s%n", "/",
         "\U000e0020", "con:", "\\\\host\\share", "a,,b", "'; --", "a/" * 3000)  # fmt: skip
ADDRESSES = ("http://127.0.0.1:99999", "http://", "ftp://x", "http://[::1", "http://a b", "http://127.0.0.1:0/v1", "x",
             "http://127.0.0.1:9\0", f"http://{ESC}/", "http://" + "a" * 5000, "http://\udcff/", "HTTP://%zz",
             "http://user:pass@127.0.0.1:99999/", "http://127.0.0.1:-1", "file:///etc/passwd")  # fmt: skip
OPTIONS = {
    **dict.fromkeys(("--rounds", "--samples", "--limit", "--seed", "--concurrency", "--tau", "--budget-usd"), NUMBERS),
    **dict.fromkeys(("--model", "--items", "--methods", "--design", "--preset", "--confidence", "--judge"), TEXTS),
    **dict.fromkeys(("--out", "--store"), TEXTS),
    "--base-url": ADDRESSES,
}
COMMANDS = {  # {} is the strange argument
    "data check": ("data", "check", "{}"),
    "data fetch": ("data", "fetch", "{}"),
    "data perturb": ("data", "perturb", "good.csv", "--out", "{}"),
    "data perturb --pool": ("data", "perturb", "good.csv", "--pool", "{}"),
    "data perturb --factors": ("data", "perturb", "good.csv", "--factors", "{}"),
    "data perturb --seed": ("data", "perturb", "good.csv", "--seed", "{}"),
    "data perturb --offsets": ("data", "perturb", "good.csv", "--offsets", "{}"),
    "data perturb --audit": ("data", "perturb", "{}", "--audit", "audit.html"),
    "store info": ("store", "info", "{}"),
    "store check": ("store", "check", "{}"),
    "store merge": ("store", "merge", "new.sqlite", "{}"),
    "share": ("share", "{}", "study.zip"),
    "replay": ("replay", "{}", "--out", "out"),
    "(command)": ("{}",),
    "(option)": ("run", "--{}"),
}


def nested(value: Any) -> bytes:
    """JSON in which each DEEP stands for a hundred thousand brackets."""
    return json.dumps(value).replace(f'"{DEEP}"', "[" * 100_000 + "]" * 100_000).encode()


def changed(document: Any, path: str, value: Any) -> Any:
    """A copy in which `value` stands at the dotted path; without the entry where it is Ellipsis."""
    copy = deepcopy(document)
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    inner = copy
    for step in steps:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return copy


VALUES: dict[str, Any] = {"2^70": 2**70, "-1": -1, "0.5": 0.5, "null": None, "true": True, "[]": [], "{}": {}, "deep": DEEP, "": "",
          "infinity": math.inf, "nan": math.nan, "ESC": ESC, "bidi": BIDI, "surrogate": "\ud800", "absent": ...,
          "long": "x" * 5_000_000}  # fmt: skip


def parquet(rows: list[dict[str, Any]], noted: str = "{}", repeated: str = "") -> bytes:
    """The rows, with what a program such as pandas noted of them, and a column that a dictionary holds once for all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written, table = io.BytesIO(), pa.Table.from_pylist(rows)
    if repeated:
        table = table.append_column("note", pa.DictionaryArray.from_arrays(pa.array([0] * len(rows)), [repeated]))
    pq.write_table(table.replace_schema_metadata({"pandas": noted}), written)
    return written.getvalue()


RESULTS = {"prior_answer": "1874", "context_answer": "1912", "final_answer": "1874", "prior_correct": "1",
           "context_correct": "0", "final_correct": "true", "self_confidence": "0.9", "confidence_kind": "verbalized",
           "logprobs": "[-0.1]", "samples": "1874|1912", "verdict": "UNREASONABLE", "verdict_path": "RU",
           "p_unreasonable": "0.8", "claimed_answer": "1874", "options": "1874|1912|1801|1912", "argued": "1",
           "knowledge_category": "UNKNOWN", "perturbation_kind": "none", "level": "standard"}  # fmt: skip


def results() -> Iterator[tuple[str, bytes]]:
    """Tables of results in which one cell is odd, or one column is missing, by file name."""
    for beside in ("samples", "knowledge_category"):
        whole = [line | {name: cell for name, cell in RESULTS.items() if name != beside} for line in LINES]
        for column in whole[0]:
            for name, value in VALUES.items():
                yield (
                    f"{column} {name or 'empty'} without {beside}.jsonl",
                    b"\n".join(map(nested, changed(whole, f"0.{column}", value))),
                )
            rows = [{name: cell for name, cell in row.items() if name != column} for row in whole]
            yield f"no {column}, no {beside}.jsonl", b"\n".join(map(nested, rows))
    memory = [line | {"prior_answer": "1874"} for line in (*LINES, *LINES)]
    yield "memory.jsonl", b"\n".join(map(nested, memory))


def tables() -> Iterator[tuple[str, bytes]]:
    """Malformed tables, by file name."""
    head, first = HEADER.encode() + b"\n", ROWS[0].encode() + b"\n"
    texts = {
        "empty": b"", "header only": head, "NUL bytes": head + b"a\0b,1874,in 1874\n", "zeros": bytes(5000),
        "UTF-16": TABLE.decode().encode("utf-16"), "latin-1": head + b"Caf\xe9?,1874,In 1874.\n", "open quote":
        head + b'"When,1874\n', "more cells": head + b"a,1874,in 1874,b,c\n", "duplicate columns": b"question,question,"
        b"gold_answer,context\n" + b"a,b,1874,in 1874\n", "no line end": head + first.strip(), "CR only":
        TABLE.replace(b"\n", b"\r"), "huge cell": head + b"When?,1874,in 1874 " + b"x" * 20_000_000 + b"\n", "formulas":
        head + b"=1+1,1874,In 1874.\n", "ESC": head + f"When{ESC}?,1874,In 1874.\n".encode(), "ESC header":
        f"question,gold_answer,context,{ESC}\n".encode() + first, "surrogates": head + b"\xed\xa0\x80?,1874,1874\n",
        "BOM twice": b"\xef\xbb\xbf" * 2 + TABLE, "only commas": b",,,\n" * 5, "HTML": b"<html><body>404</body></html>",
        "gzip": gzip.compress(TABLE), "png": b"\x89PNG\r\n\x1a\n" + bytes(100), "2000 columns": b",".join(b"c%d" % n
        for n in range(2000)) + b"\n", "digits": head + b"9" * 5000 + b",1874,in 1874\n", "unseen":
        head + "When\u3164\U000e0020?,1874,In 1874.\n".encode(), "articles": head + b"Which?," + b"the " * 200 + b"," +
        b"the " * 199 + b"end\n", "a passage of numbers": head + b"How many?,43,There were 43. " + b"1024 " * 19_000 + b"\n",
        "an answer without end": head + b"When?,1874,It was 1874. " + b"1874 " * 19_000 + b"\n", "mentions among numbers":
        head + b"How many?,52.5,It was 52.5. " + (b"52.5 and " + b"7 " * 90) * 90 + b"\n",
    }  # fmt: skip
    yield from ((f"{name}.csv", content) for name, content in texts.items())
    columns = {"domain": (ESC, BIDI), "perturbation_value": ("nan", "inf", "1e999"), "answer_type": ("x", ESC),
               "perturbation_kind": ("offset", ESC), "level": ("x",), "options": ("a|a", "|", "a"), "is_exemplar": ("x",),
               "argued": ("x", ESC, "2"), "documents": ("[", "[" * 100_000, "{}", '[{"text": 1}]', "[1e999]"), "item_id": (ESC, "x" * 5000, "x" * 20_000_000),
               "claimed_answer": ("1874 1875", ESC, "yes"), "aliases": ("|||", "a|" * 1_000_000), "unit": (BIDI,)}  # fmt: skip
    for column, cells in columns.items():
        for place, cell in enumerate(cells):
            quoted = '"' + cell.replace('"', '""') + '"'
            yield f"{column} {place}.csv", f"{HEADER},{column}\n{ROWS[0]},{quoted}\n".encode()
    for column in HEADER.split(","):
        for name, value in VALUES.items():
            if value is not ... or column == "question":
                yield f"{column} {name or 'empty'}.jsonl", b"\n".join(map(nested, changed(LINES, f"0.{column}", value)))
    whole = {"array": b"[]", "number": b"1", "text": b'"a"', "deep": b"[" * 100_000, "two": b"{}{}", "cut": b'[{"a":',
             "null": b"null", "lists": b"[[1],[2]]", "2^70": b'[{"question": %d}]' % 2**70}  # fmt: skip
    yield from ((f"{name}.json", content) for name, content in whole.items())
    good = parquet(LINES)
    odd = {"cut": good[:-20], "zeros": good[:200] + bytes(200) + good[400:], "magic": b"PAR1" + bytes(50) + b"PAR1",
           "types": parquet([{"question": {"a": 1}, "gold_answer": [1], "context": 2.5}]), "empty": b"",
           "numbers": parquet([{"question": 1, "gold_answer": 1874, "context": math.nan}]),
           "bytes": parquet([{"question": b"\xff", "gold_answer": b"1874", "context": b"in 1874"}]),
           "huge": parquet([LINES[0] | {"question": "x" * 10_000_000}]),
           "repeated": parquet(LINES * 1000, repeated="x" * 10_000_000), "no note": parquet(LINES, "{"),
           "noted": parquet(LINES, '{"index_columns": ["nope"], "column_indexes": [{}], "columns": [{"name": "x"}]}')}  # fmt: skip
    yield from ((f"{name}.parquet", content) for name, content in odd.items())


def flipped(content: bytes, chance: random.Random) -> bytes:
    changing = bytearray(content)
    for _ in range(chance.randint(1, 9)):
        changing[chance.randrange(len(changing))] = chance.randrange(256)
    return bytes(changing)


MANIFEST = {"schema_version": 2, "asked": {"items": "a", "models": {}, "choices": {}}, "spent_usd": 0.0}
FROZEN = {"srdcr_items": 1, "name": "a", "notes": [], "items": [], "exemplars": []}


def inputs(seed: int) -> Iterator[Trial]:
    """Every option and argument with strange values; every reader of a file with strange content."""
    good = {"good.csv": TABLE}
    for option, values in OPTIONS.items():
        for value in values:
            yield Trial(f"run {option} {value!r:.60}", (*OFFLINE, option, value), good)
    for option in ("--rounds", "--samples", "--limit", "--tau"):
        for value in NUMBERS:
            yield Trial(f"plan {option} {value!r:.60}", (*PLAN, option, value), good)
    for command, words in COMMANDS.items():
        for value in (*TEXTS, *NUMBERS) if words[-2:-1] in (("--offsets",), ("--factors",), ("--seed",)) else TEXTS:
            yield Trial(f"{command} {value!r:.60}", tuple(word.replace("{}", value) for word in words), good)
    for name, content in tables():
        yield Trial(f"data check {name}", ("data", "check", name), {name: content})
        yield Trial(f"run {name}", (*OFFLINE, "--items", name), {name: content})
        if name.endswith(".csv"):
            yield Trial(f"data perturb {name}", ("data", "perturb", name, "--out", "made.csv"), {name: content})
        yield Trial(f"import {name}", ("import", name, "--out", "out"), {name: content})
    for name, content in results():
        yield Trial(f"import {name}", ("import", name, "--out", "out"), {name: content})
    for benchmark in ("clasheval", "conflictqa", "ramdocs", "commonsenseqa", "boolq", "hover"):
        for name, content in tables():
            if name.endswith((".json", ".parquet")):
                yield Trial(f"{benchmark}={name}", (*OFFLINE, "--items", f"{benchmark}={name}"), {name: content})
    for path in (*MANIFEST, "asked.items", "asked.models", "asked.choices"):
        for name, value in VALUES.items():
            files = good | {"out/run.json": nested(changed(MANIFEST, path, value))}
            yield Trial(f"run.json {path} = {name}", OFFLINE, files)
    for path in FROZEN:
        for name, value in VALUES.items():
            files = {"items.json": nested(changed(FROZEN, path, value))}
            yield Trial(f"items.json {path} = {name}", (*OFFLINE, "--items", "items.json"), files)
    chance, forms = (
        random.Random(seed),
        {"a.csv": TABLE, "a.jsonl": b"\n".join(map(nested, LINES)), "a.parquet": parquet(LINES)},
    )
    for number in range(60):
        name, whole = chance.choice(sorted(forms.items()))
        yield Trial(f"flipped {number} {name}", (*OFFLINE, "--items", name), {name: flipped(whole, chance)})


# Servers -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """What a server sends. `raw` replaces status and headers; parts are sent one by one, for ever where they are."""

    status: int = 200
    body: bytes | Callable[[], Iterator[bytes]] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bool = False


def good_openai(asked: dict[str, Any]) -> dict[str, Any]:
    tokens = [{"token": "1874", "bytes": [49, 56, 55, 52], "logprob": -0.1, "top_logprobs": []}]
    one = {
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "1874"},
        "logprobs": {"content": tokens},
    }
    usage = {"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 21}
    choices = [{"index": index, **deepcopy(one)} for index in range(asked.get("n") or 1)]
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}


def good_anthropic(_: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 20, "output_tokens": 1}
    content = [{"type": "text", "text": "1874"}]
    return {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}  # fmt: skip


def _for_ever(part: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: iter(lambda: part, b"")


@cache
def _bomb() -> bytes:
    """600 MB of nothing."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(b" " * (1 << 20)) for _ in range(600)), packer.flush()])


def bodies() -> dict[str, Reply]:
    """Replies that are no completion, by name."""
    texts = {
        "nothing": b"", "null": b"null", "list": b"[]", "object": b"{}", "true": b"true", "text": b'"a"', "ESC": ESC.encode(),
        "HTML": b"<html><body><h1>502</h1></body></html>", "deep list": b"[" * 100_000, "deep object": b'{"a":' * 100_000,
        "Infinity": b'{"choices": Infinity}', "not UTF-8": b'{"choices": "\xff\xfe"}', "UTF-16": '{"a": 1}'.encode("utf-16"),
        "cut": b'{"choices": [{"mess', "two": b"{}{}", "digits": b"9" * 10_000, "BOM": b"\xef\xbb\xbf{}", "NUL": b"\0" * 100,
        "stream": b'data: {"choices": []}\n\ndata: [DONE]\n\n', "error in 200": b'{"error": {"message": "\\u001b[31mno"}}',
    }  # fmt: skip
    found = {f"body {name}": Reply(body=text) for name, text in texts.items()}
    odd = (b"", ESC.encode(), b'{"error": "x"}', b'{"error": {"message": ["a"], "code": {}}}', b"[" * 100_000, b"null",
           json.dumps({"error": {"message": ESC + BIDI + "x" * 5000, "code": 2**70}}).encode())  # fmt: skip
    statuses = (201, 204, 206, 300, 304, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 429, 451, 500, 501,
                502, 503, 504, 529, 599, 999)  # fmt: skip
    found |= {f"status {s}": Reply(s, b"" if s in (204, 304) else odd[n % len(odd)]) for n, s in enumerate(statuses)}
    for where in ("/", "http://127.0.0.1:1/", "file:///etc/passwd", "http://[::1", ESC.replace("\x1b", "%1b"), ""):
        found[f"redirect to {where!r}"] = Reply(307, b"", {"Location": where})
    for wait in ("-1", "nan", "1e300", "x", "Thu, 01 Jan 1970 00:00:00 GMT"):
        found[f"retry-after {wait}"] = Reply(429, b"{}", {"Retry-After": wait})
    json_head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    found |= {
        "gzip bomb": Reply(body=lambda: iter([_bomb()]), headers={"Content-Encoding": "gzip"}),
        "gzip bomb in gzip": Reply(body=lambda: iter([gzip.compress(_bomb())]), headers={"Content-Encoding": "gzip, gzip"}),
        "no gzip": Reply(body=b"{}", headers={"Content-Encoding": "gzip"}),
        "unknown encoding": Reply(body=b"{}", headers={"Content-Encoding": "x-lies"}),
        "endless body": Reply(body=_for_ever(b" " * 65536)),
        "endless list": Reply(body=_for_ever(b"[" * 65536)),
        "endless error": Reply(500, _for_ever(b"x" * 65536)),
        "100 MB": Reply(body=lambda: iter([b"1" * (1 << 20)] * 100)),
        "longer than said": Reply(body=json_head + b"Content-Length: 1\r\n\r\n{}", raw=True),
        "shorter than said": Reply(body=json_head + b"Content-Length: 100\r\n\r\n{}", raw=True),
        "negative length": Reply(body=json_head + b"Content-Length: -1\r\n\r\n{}", raw=True),
        "broken chunks": Reply(body=json_head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", raw=True),
        "endless headers": Reply(body=_for_ever(b"X-A: " + b"a" * 1000 + b"\r\n"), raw=True),
        "huge header": Reply(body=b"{}", headers={"X-A": "a" * 200_000}),
        "no HTTP": Reply(body=b"SSH-2.0-OpenSSH_9.0\r\n", raw=True),
        "closed at once": Reply(body=b"", raw=True),
        "slow drip": Reply(body=lambda: iter([b" "] * 20 + [b"{}"])),
    }  # fmt: skip
    return found


EDITS = {"openai": ("choices", "choices.0.message", "choices.0.message.content", "choices.0.finish_reason", "usage",
                    "usage.prompt_tokens", "choices.0.logprobs.content", "choices.0.logprobs.content.0.logprob", "model"),
         "anthropic": ("content", "content.0.text", "usage.input_tokens", "stop_reason")}  # fmt: skip
CALLED = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
WITHOUT_TEXT: dict[str, dict[str, dict[str, Any]]] = {
    "openai": {
        "a tool is called": {"choices.0.message.content": None, "choices.0.message.tool_calls": CALLED},
        "an image": {"choices.0.message.content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/"}}]},
    },
    "anthropic": {
        "a tool is called": {"content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
        "nothing": {"content": []},
    },
}
GOOD = {"openai": good_openai, "anthropic": good_anthropic}


def replies() -> dict[str, Callable[[dict[str, Any]], Reply]]:
    """What each server says where it is asked about the tower, by the name of its trial; the rest it answers well."""
    found: dict[str, Callable[[dict[str, Any]], Reply]] = {}
    for provider, paths in EDITS.items():
        for name, reply in bodies().items():
            found[f"{provider}: {name}"] = lambda _, reply=reply: reply  # type: ignore[misc]
        for name, edits in WITHOUT_TEXT[provider].items():
            found[f"{provider}: {name}"] = partial(_edited, GOOD[provider], edits)
        for path in paths:
            for name, value in VALUES.items():
                good = GOOD[provider]
                found[f"{provider}: {path} = {name}"] = lambda asked, good=good, path=path, value=value: Reply(  # type: ignore[misc]
                    body=nested(changed(good(asked), path, value))
                )
    return found


def _edited(good: Callable[[dict[str, Any]], Any], edits: Mapping[str, Any], asked: dict[str, Any]) -> Reply:
    reply = good(asked)
    for path, value in edits.items():
        reply = changed(reply, path, value)
    return Reply(body=nested(reply))


ENDING = (
    "status 40",
    "status 410",
    "redirect",
    "model =",
)  # may end the run: a key, a name, an account to be put right


SAID = {"redirect to 'http://127.0.0.1:1/'": "nothing is sent there", "a tool is called": "such a reply is not kept"}


def servers(port: int) -> Iterator[Trial]:
    """A run at each of the servers; the two rows that are not about the tower must be whole."""
    for number, name in enumerate(replies()):
        provider, _, kind = name.partition(": ")
        address = f"http://127.0.0.1:{port}/{number}" + ("/v1" if provider == "openai" else "")
        patience = "2" if kind.startswith("retry-after") else "0"
        server = ("--model", f"{provider}:test", "--base-url", address, "--patience", patience)
        rows = 0 if kind.startswith(ENDING) else 2
        command = ("run", *server, *ASKED, "--methods", "few_shot", "--confidence", "self_consistency", "--out", "out")
        yield Trial(name, command, {"good.csv": TABLE}, rows, SAID.get(kind, ""))


# Bundles -------------------------------------------------------------------------------------------------------------

NAMES = ("../OUTSIDE", "/tmp/OUTSIDE", "run/../../OUTSIDE", "~/OUTSIDE", "\\\\host\\OUTSIDE", "..\\OUTSIDE", "C:/OUTSIDE", "a\0b",
         "run/run.json/x", "run/run.json ", "items/../x.csv", "items/.csv", "items/" + "x" * 300 + ".csv", "items/con.csv",
         "notebooks/99_x.ipynb", "notebooks/../x.ipynb", ESC, "store.jsonl/", ".", "items/a\u202e.csv")  # fmt: skip
IN_MANIFEST = ("schema_version", "status", "asked", "asked.items", "asked.methods", "asked.seed", "asked.models",
               "asked.models.answerer", "asked.models.answerer.name", "asked.choices", "asked.choices.tau", "logprobs",
               "asked.choices.design.rounds", "asked.choices.knowledge_draws", "asked.choices.design.judge", "counts")  # fmt: skip
IN_STORE = ("completions", "completions.0.draw", "completions.0.text", "completions.0.logprobs", "model.name", "request",
            "completions.0.prompt_tokens", "request.messages", "request.max_tokens")  # fmt: skip
FEW = ("2^70", "-1", "null", "[]", "deep", "ESC", "surrogate", "absent", "nan")


def _sealed(files: Mapping[str, bytes], extra: Iterator[zipfile.ZipInfo] | None = None) -> bytes:
    from srdcr_lab.study import bundle

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.comment = bundle.VERSION + b"0" * 64
        for name, content in files.items():
            archive.writestr(name, content)
        for info in extra or ():
            archive.writestr(info, "/etc/passwd")
    return bundle.seal(made.getvalue())


def bundles(seed: int) -> Iterator[Trial]:
    """A bundle that was replayed without a difference, changed in one thing each, and sealed again."""
    from srdcr_lab.study import bundle

    with tempfile.TemporaryDirectory() as place:
        names = bundle.unpack(ROOT / "data/studies/pocket/years.zip", folder := Path(place) / "opened")
        files = (name.removesuffix(".xz") for name in names)
        whole = {name: (folder / name).read_bytes() for name in files}
    manifest = changed(json.loads(whole["run/run.json"]), "asked.methods", ["few_shot"])
    whole["run/run.json"] = nested(manifest)
    first, _, rest = whole["store.jsonl"].partition(b"\n")

    def trial(name: str, content: bytes) -> Trial:
        return Trial(name, ("replay", "a.zip", "--out", "out"), {"a.zip": content})

    def other(name: str, **changes: bytes) -> Trial:
        return trial(name, _sealed(whole | {key.replace("__", "/", 1): content for key, content in changes.items()}))

    yield from (trial(f"name {name!r:.40}", _sealed(whole | {name: b"x"})) for name in NAMES)
    link = zipfile.ZipInfo("items/link.csv")
    link.external_attr = 0o120777 << 16
    yield trial("symlink", _sealed(whole, iter([link])))
    yield trial("three hundred files", _sealed(whole | {f"items/{n}.csv": b"" for n in range(300)}))
    yield trial("1.2 GB in one file", _sealed(whole | {"store.jsonl": b" " * (1200 << 20)}))
    yield trial("no zip", b"PK" + bytes(500))
    yield trial("lacks run.json", _sealed({name: whole[name] for name in whole if name != "run/run.json"}))
    many = nested(changed(manifest, "asked.methods", ["few_shot"] * 100_000))
    yield other("run.json with 100,000 methods", **{"run__run.json": many})
    for path in IN_MANIFEST:
        yield from (
            other(f"run.json {path} = {name}", **{"run__run.json": nested(changed(manifest, path, VALUES[name]))})
            for name in FEW
        )
    for path in IN_STORE:
        for name in FEW:
            line = nested(changed(json.loads(first), path, VALUES[name]))
            yield other(f"store.jsonl {path} = {name}", **{"store.jsonl": line + b"\n" + rest})
    items = json.loads(whole["run/items.json"])
    for path in (*FROZEN, "items.0", "items.0.question", "items.0.options", "items.0.perturbation_value"):
        yield from (
            other(f"items.json {path} = {name}", **{"run__items.json": nested(changed(items, path, VALUES[name]))})
            for name in FEW
        )
    chance = random.Random(seed)
    for name in ("run/records.parquet", "run/turns.parquet", "run/samples.parquet", "run/summary.csv", "store.jsonl"):
        for number in range(4):
            yield trial(f"{name} flipped {number}", _sealed(whole | {name: flipped(whole[name], chance)}))
        yield trial(f"{name} empty", _sealed(whole | {name: b""}))
        yield trial(f"{name} of another kind", _sealed(whole | {name: parquet(LINES)}))
