"""Results in the formats of other tools, as tables of the columns that `results_from` reads.

``inspect=FILE`` reads a log of Inspect AI, ``lm-eval=FILE`` what lm-evaluation-harness writes with ``--log_samples``,
``clasheval=FILE`` the released responses of ClashEval (Wu et al. 2024). Any other source is a table of our own columns.
"""

import math
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pandas as pd
import pyarrow as pa

from srdcr_lab.data.items import grouped
from srdcr_lab.data.readers import clasheval_modification, in_our_columns
from srdcr_lab.data.rows import read_table
from srdcr_lab.data.tables import missing_columns
from srdcr_lab.records import BadInput, ConfidenceKind
from srdcr_lab.records.files import read_json
from srdcr_lab.records.vocabulary import visible

_GRADES = ("exact_match", "acc")  # of the harness; the first that is there grades the answer
_CLASHEVAL = ("question", "answer_original", "answer_mod", "context_mod", "dataset", "mod_degree|mod_type")
_RESPONSES = {"prior_response": "prior_answer", "post_response": "context_answer", "prior_logprobs": "logprobs"}


def read_results(source: str | Path) -> pd.DataFrame:
    """The rows of a table, or of ``FORMAT=FILE`` in our columns; bad input if the file has not that format.

    The `attrs` of a log have its `model` and `notes`.
    """
    name, equals, rest = str(source).partition("=")
    if equals and name == "inspect":
        return _inspect(Path(rest))
    if not equals or name not in _FORMATS:
        return read_table(Path(source))
    convert, needed = _FORMATS[name]
    frame = read_table(Path(rest), needed)
    if missing := missing_columns(frame, needed):
        lacks, found = missing[0].replace("|", " or "), ", ".join(visible(str(column)) for column in frame)
        raise BadInput(f"{rest} is not in the format {name}: it lacks the column {lacks}; its columns are {found}")
    return convert(frame, rest)


def _clasheval(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A row is one modification of a question's passage; where the claim is the original answer, it is true.

    Numbers have no unit here: that of a question would leave out rows whose passage writes it in another way.
    """
    table = in_our_columns(frame, Path(name).name, lambda row, _: iter([clasheval_modification(row)]))
    replies = {ours: [*frame[theirs]] for theirs, ours in _RESPONSES.items() if theirs in frame}
    return table.assign(unit="", **replies)


def _lm_eval(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A row is a document under the first of its filters, asked of memory alone; a list of choices is our options."""
    grade = next((column for column in _GRADES if column in frame), None)
    rows = []
    frame = frame.drop_duplicates("doc_id")
    numbers = [place + 1 for place in frame.index]  # in the file
    for number, sample in zip(numbers, frame.to_dict("records"), strict=True):
        try:
            first = sample["filtered_resps"][0]  # a text, or the likelihood of one of several continuations
            row = _choice(sample) if isinstance(first, Sequence) and not isinstance(first, str) else _generated(sample)
            row |= {"prior_correct": bool(int(sample[grade]))} if grade else {}  # a missing grade is no number
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            fault = "doc, arguments, target and filtered_resps do not fit together"
            raise BadInput(f"{name}, row {number}: {fault}; write the file again with --log_samples") from None
        rows.append(row)
    table = pd.DataFrame(rows)
    table.attrs["numbers"] = numbers
    return table


def _generated(sample: Mapping[str, Any]) -> dict[str, Any]:
    gold, *aliases = sample["target"] if isinstance(sample["target"], list) else [sample["target"]]
    return {
        "question": _question(sample), "gold_answer": str(gold), "aliases": [str(alias) for alias in aliases],
        "prior_answer": str(sample["filtered_resps"][0]),
    }  # fmt: skip


def _choice(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The likeliest continuation; its confidence is the product of its tokens' probabilities."""
    texts = [str(request["arg_1"]).strip() for request in sample["arguments"].values()]
    likelihoods = [float(first) for first, *_ in sample["filtered_resps"]]
    best = max(range(len(likelihoods)), key=likelihoods.__getitem__)
    # The number of a choice, or its text; what may be either is a text only if a field of the document holds it.
    target = str(sample["target"]).strip()
    is_place = target.isdigit() and not (target in texts and target in sample["doc"].values())
    gold = texts[int(target) if is_place else texts.index(target)]
    return {
        "question": _question(sample), "options": texts, "gold_answer": gold,
        "prior_answer": texts[best], "self_confidence": math.exp(likelihoods[best]),
        "confidence_kind": ConfidenceKind.SEQUENCE.value,
    }  # fmt: skip


def _question(sample: Mapping[str, Any]) -> str:
    """The question of the document; where it has none, the prompt."""
    return str(sample["doc"].get("question") or next(iter(sample["arguments"].values()))["arg_0"])


_FORMATS: dict[str, tuple[Callable[[pd.DataFrame, str], pd.DataFrame], Sequence[str]]] = {
    "clasheval": (_clasheval, (*_CLASHEVAL, "prior_response", "post_response")),
    "lm-eval": (_lm_eval, ("doc_id", "doc", "arguments", "target", "filtered_resps")),
}


# Inspect AI: a zip of JSON (.eval), compressed by deflate or Zstandard, or one JSON file

OWN_TASK = "srdcr"  # of the logs that `exchange.write_inspect` writes
_ZSTANDARD = 93  # a compression that Python's zipfile reads from 3.14 on
_KEPT = ("eval", "id", "epoch", "input", "choices", "target", "output", "scores", "metadata", "error")
_LARGEST, _MOST = 1 << 26, 1 << 30  # bytes of a sample, and of all
# What a damaged or encrypted zip raises, and what JSON does that is no log.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, pa.ArrowException, OSError, RuntimeError, LookupError, AttributeError,
               TypeError, ValueError, StopIteration)  # fmt: skip
_NAMED = ("question_id", "context", "claimed_answer", "domain", "answer_type", "unit", "argued", "relevance",
          "perturbation_kind", "perturbation_value", "prior_answer", "context_answer", "prior_correct",
          "context_correct", "self_confidence", "confidence_kind", "knowledge_category", "verdict", "verdict_path",
          "p_unreasonable")  # fmt: skip
_SCORES = dict.fromkeys(("c", "1", "1.0", "true", "yes"), True) | dict.fromkeys(("i", "0", "0.0", "false", "no"), False)


def _inspect(path: Path) -> pd.DataFrame:
    """A row is a question: its first epoch is the answer, the others are draws if it was asked without a passage."""
    where = visible(path.name)
    rows: list[dict[str, Any]] = []
    try:
        header, samples = _log(path)
        if header["eval"]["task"] == OWN_TASK:
            raise BadInput(f"{path} is an export of srdcr_lab; open the results folder that it was made of")
        in_order = sorted(samples, key=lambda sample: int(sample["epoch"]))
        for key, same in grouped(in_order, lambda sample: str(sample["id"])).items():
            try:
                rows.append(_of_one(same))
            except BadInput as fault:
                told = BadInput(f"{where}, sample {visible(key, 60)}: {fault}")  # which the row raises when it is read
                rows.append({"question": told, "gold_answer": told})
        notes = {f"{where}: graded by {next(iter(each['scores']))}": 0 for each in samples if each.get("scores")}
        about = {"model": header["eval"]["model"], "notes": [*notes]}
    except _UNREADABLE as error:
        reason = visible(f"{type(error).__name__}: {error}", 120)
        raise BadInput(f"{path} is no log of Inspect AI (.eval or .json): {reason}") from None
    frame = pd.DataFrame(rows, dtype=object)
    frame = frame.where(frame.notna(), "")
    frame.attrs |= about
    return frame


def _log(path: Path) -> tuple[Any, list[Any]]:
    """The header and the samples, also of an unfinished log."""
    if path.suffix == ".json":
        header = read_json(path.read_bytes(), str(path))
        return header, header["samples"]
    with zipfile.ZipFile(path) as log:
        entries = {entry.filename: entry for entry in log.infolist()}
        header = entries.get("header.json") or entries["_journal/start.json"]
        samples = [entry for name, entry in entries.items() if name.startswith("samples/")]
        if sum(entry.file_size for entry in samples) > _MOST:
            raise BadInput(f"the samples hold more than {_MOST >> 20} MiB; import the log in parts")
        return _member(log, header), [_member(log, entry) for entry in samples]


def _member(log: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    """A file in the zip as JSON, of which what is read is kept: the events of a sample may be long."""
    size, is_zstandard = entry.file_size, entry.compress_type == _ZSTANDARD
    if size > _LARGEST:
        raise BadInput(f"{visible(entry.filename)} holds more than {_LARGEST >> 20} MiB; leave it out of the log")
    if is_zstandard:  # take the bytes as they are
        entry.compress_type, entry.file_size, entry.CRC = zipfile.ZIP_STORED, entry.compress_size, None  # type: ignore[assignment]
    content = log.read(entry)
    if is_zstandard:
        content = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read(size)
    whole = read_json(content, visible(entry.filename))
    return {name: part for name, part in whole.items() if name in _KEPT}


def _of_one(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The row of a question; what its metadata holds under our names counts, else what was replied."""
    whole = [sample for sample in samples if not sample.get("error")]
    if len(whole) < len(samples) and (not whole or len({sample["epoch"] for sample in samples}) == 1):
        raise BadInput("ended in an error; run it again")
    first, metadata = whole[0], whole[0].get("metadata") or {}
    gold, *aliases = first["target"] if isinstance(first["target"], list) else [first["target"]]
    if first.get("choices") and aliases:
        raise BadInput("has several right options; only questions with one can be read")
    row = {"question_id": str(first["id"]), "question": _asked(first["input"]), "gold_answer": gold, "aliases": aliases}
    row |= {"options": dict(zip(ascii_uppercase, first["choices"], strict=False))} if first.get("choices") else {}
    row |= {name: metadata[name] for name in _NAMED if name in metadata}
    if {"prior_answer", "context_answer"} & {*metadata}:
        return row
    which = "context" if row.get("context") else "prior"
    (reply, grade, tokens), *draws = map(_reply, whole)
    row |= {f"{which}_answer": reply} | ({} if grade is None else {f"{which}_correct": grade})
    if which == "prior" and tokens:
        row |= {"tokens": [each["token"] for each in tokens], "logprobs": [each["logprob"] for each in tokens]}
    if which == "prior" and draws:
        row |= {"samples": [text for text, _, _ in draws]}
        row |= {} if grade is None else {"samples_correct": [right for _, right, _ in draws]}
    return row


def _asked(messages: Any) -> str:
    """The text of an input, or of the last message of the user in it."""
    if isinstance(messages, str):
        return messages
    content = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def _reply(sample: Mapping[str, Any]) -> tuple[str, bool | None, list[Any]]:
    """What was answered, as the scorer read it if it did; its first score; the tokens of the whole reply."""
    output = sample["output"]
    choice: Mapping[str, Any] = next(iter(output["choices"]), {})
    tokens = (choice.get("logprobs") or {}).get("content") or []
    text, scores = str(output.get("completion") or ""), sample.get("scores")
    if not scores:
        return text, None, tokens
    score = next(iter(scores.values()))
    read, value = score.get("answer"), str(score["value"]).lower()
    if value == "n":
        return "", False, tokens
    if value not in _SCORES:
        raise BadInput(f"its score {visible(value, 20)} is neither right nor wrong")
    taken = read is not None if sample.get("choices") else read and str(read) in text
    return str(read) if taken else text, _SCORES[value], tokens
