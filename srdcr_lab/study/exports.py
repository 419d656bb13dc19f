"""Results as an Inspect AI log: a zip of JSON, version 2 (inspect_ai.log: EvalLog, EvalSample, EvalSampleSummary).

Texts leave without control and format characters, and what holds a key or a path of this machine is refused as in a
bundle. The tables hold no times and no prompts: every event has the time at which the run was written, in its place of
the order, and what a speaker saw is put together from `saw_passage` and `saw_turns`; it is not the prompt. Tokens are
those that a method takes by itself, nothing shared; where other models speak too, those of turns.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from srdcr_lab.data.items import grouped
from srdcr_lab.data.tables import checked_ending
from srdcr_lab.records import Item, Missing, Role
from srdcr_lab.records.files import whole_file
from srdcr_lab.records.vocabulary import n_of, visible, visible_lines
from srdcr_lab.study.bundle import check_no_traces
from srdcr_lab.study.folder import Results

Row = dict[str, Any]
_MEASURES = ("accuracy", "selective_accuracy", "coverage")
_ELSEWHERE = ("item_id", "question_id", "method", "design", "model", "text", "request_digest")  # of a turn's columns
_SCORES = ("verdict", "decision", "knowledge_category", "self_confidence")  # beside `correct`
_EXPLAIN = (*_SCORES, "confidence_kind", "verdict_path", "prior_answer", "context_answer", "missing")
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter", "refusal": "content_filter"}


def write_inspect(results: Results, target: Path) -> str:
    """Write an Inspect AI log (`.eval`) in which each row of `records` is a sample; say how many.

    The score `correct` is C, I, or N where there is no answer, with the reason abstained, unparsed or error: Inspect's
    accuracy counts what is missing as wrong, as ours does. A row without an answer because a call failed is a sample
    with an error. Metrics are those of `summary`, a score for each method.
    """
    header, summaries, used = _header(results), [], Counter[str]()
    debates = grouped(_rows(results.turns), lambda turn: (turn["item_id"], _label(turn)))
    path = whole_file(checked_ending(target, (".eval",)))
    with path as part, zipfile.ZipFile(part, "w") as log:

        def put(name: str, value: Any) -> None:
            text = json.dumps(_clean(value), allow_nan=False)
            check_no_traces(f"{target.name}, {name}", text.encode())
            log.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # of 1980: equal content is an equal file

        for row in _rows(results.records):
            name = visible(f"{_label(row)} {row['item_id']}".replace("/", "∕"), 200)
            used[name] += 1
            name = name if used[name] == 1 else f"{name} #{used[name]}"
            turns = debates.get((row["item_id"], _label(row)), [])
            sample = _sample(name, row, turns, results.items.get(row["item_id"]), header["eval"])
            put(f"samples/{name}_epoch_1.json", sample)
            shown = {key: cell for key, cell in sample.items() if key not in ("messages", "output", "events")}
            error = sample["error"] and sample["error"]["message"]
            summaries.append(shown | {"completed": True, "message_count": len(sample["messages"]), "error": error})
        header["eval"]["dataset"] |= {"samples": len(summaries), "sample_ids": [each["id"] for each in summaries]}
        put("summaries.json", summaries)
        put("header.json", header)
    return f"{target}: {n_of(len(summaries), 'samples')}; inspect view --log-dir {target.parent} shows them"


def _header(results: Results) -> Row:
    """The log without its samples."""
    manifest, models = results.manifest, {role: visible(who) for role, who in results.identities.items()}
    asked, written, n = manifest["asked"], manifest["written"], len(results.records)
    run = _id(json.dumps(asked, sort_keys=True), written)
    begun = datetime.fromisoformat(written) - timedelta(seconds=manifest["counts"].get("wall_s", 0))
    scores: dict[str, Row] = {}
    for row in _rows(results.summary):
        score = scores.setdefault(_label(row), {"name": _label(row), "scorer": "correct", "metrics": {}})
        for measure in (measure for measure in _MEASURES if row[measure] is not None):
            ends = {"low": row.get(f"{measure}_low"), "high": row.get(f"{measure}_high"), "n": row["n"]}
            name = f"{row['condition']} {measure}"
            score["metrics"][name] = {"name": name, "value": row[measure], "metadata": ends}
    return {
        "version": 2, "status": "success" if manifest["status"] == "done" else "cancelled",
        "eval": {
            "eval_id": run, "run_id": run, "task_id": run, "created": written, "task": "srdcr",
            "task_args": {"seed": asked["seed"]}, "dataset": {"name": asked["items"]}, "config": {},
            "model": models["answerer"], "packages": manifest.get("versions", {}),
            "model_roles": {role: {"model": name} for role, name in models.items() if role != "answerer"},
            "metadata": {"asked": asked, "about": __doc__, "notes": manifest["notes"], "label": visible(results.label)},
        },
        "plan": {"steps": [{"solver": name} for name in asked["methods"]]},
        "results": {"scores": [*scores.values()], "total_samples": n, "completed_samples": n},
        "stats": {"started_at": begun.isoformat(timespec="seconds"), "completed_at": written},
    }  # fmt: skip


def _sample(name: str, row: Row, turns: Sequence[Row], item: Item | None, spec: Row) -> Row:
    """A row of `records` with its debate."""
    asked = {"role": "user", "content": _seen(row, item)}
    said = [_message(turn) | {"metadata": _told(turn, *_ELSEWHERE)} for turn in turns]
    answer = {"role": "assistant", "content": row["final_answer"], "model": row["model"]}
    final = [] if row["final_answer"] is None else [answer]
    scores = {score: {"value": row[score]} for score in _SCORES if row[score] is not None}
    grade = {True: "C", False: "I", None: "N"}[row["correct"]]
    explained = "; ".join(f"{column} {row[column]}" for column in _EXPLAIN if row[column] is not None)
    correct = {"value": grade, "answer": row["final_answer"], "explanation": explained, "reason": row["missing"]}
    alone = all(turn["model"] == row["model"] for turn in turns)  # else the row's tokens are of several models
    by_model = grouped([row] if alone else turns, lambda each: str(each["model"]))
    failed = {"message": row["error"] or "", "traceback": "", "traceback_ansi": ""}
    return {
        "id": name, "epoch": 1, "uuid": _id(spec["run_id"], name, length=22), "input": asked["content"],
        "target": row["gold_answers"] if len(row["gold_answers"]) > 1 else row["gold_answer"],
        "messages": [asked, *(said or final)],
        "output": {"model": row["model"], "choices": [{"message": each, "stop_reason": "stop"} for each in final]},
        "scores": {"correct": correct} | scores,
        "metadata": _told(row),
        "events": [_event(row, turn, turns, item, spec["created"]) for turn in turns],
        "model_usage": {model: _usage(own) for model, own in by_model.items()},
        "role_usage": {role: _usage(own) for role, own in grouped(turns, lambda turn: str(turn["role"])).items()},
        "error": failed if row["missing"] == Missing.ERROR else None,
    }  # fmt: skip


def _event(row: Row, turn: Row, turns: Sequence[Row], item: Item | None, written: str) -> Row:
    """A turn as a model event, whose input is what its speaker saw."""
    debaters = [each for each in turns if each["role"] != Role.JUDGE]
    heard = [_message(debaters[place]) | {"role": "user"} for place in turn["saw_turns"]]
    choice = {"message": _message(turn), "stop_reason": _STOPS.get(turn["finish_reason"], "unknown")}
    return {
        "event": "model", "timestamp": written, "working_start": 0.0, "model": turn["model"], "role": _speaker(turn),
        "input": [{"role": "user", "content": _seen(row, item, turn)}, *heard],
        "tools": [], "tool_choice": "none", "config": {},
        "output": {"model": turn["model"], "choices": [choice], "usage": _usage([turn])},
    }  # fmt: skip


def _seen(row: Row, item: Item | None, turn: Row | None = None) -> str:
    """The question with its options, and the passage or documents: what of it the speaker of a turn saw."""
    lines = [row["question"], *(f"{option.label}. {option.text}" for option in (item.options if item else ()))]
    if item and (turn is None or turn["saw_passage"]):
        about = (turn["speaker"] or "").partition("/")[0] if turn else ""
        own = [document for document in item.documents if document.document_id == about] or item.documents
        lines += [f"\nPassage: {text}" for text in (item.context, *(each.text for each in own)) if text]
    return "\n".join(lines)


def _message(turn: Row) -> Row:
    """A turn, with its speaker's name: "1903. It …" at the start of a text would be shown as a list.

    Its id is the same wherever it is seen, by which Inspect counts it once.
    """
    text = f"**{_speaker(turn)}, round {turn['round']}:** {turn['text']}"
    turn_id = _id(turn["item_id"], _label(turn), str(turn["position"]), length=22)
    return {"role": "assistant", "content": text, "model": turn["model"], "id": turn_id}


def _usage(rows: Sequence[Row]) -> Row:
    read, said = (sum(row[f"{kind}_tokens"] or 0 for row in rows) for kind in ("prompt", "completion"))
    return {"input_tokens": read, "output_tokens": said, "total_tokens": read + said}


def _told(row: Row, *but: str) -> Row:
    return {name: cell for name, cell in row.items() if cell not in (None, [], "") and name not in but}


def _label(row: Mapping[str, Any]) -> str:
    """``sr_dcr (acvd)``: the method of a row, and the design that it follows."""
    return f"{row['method']} ({row['design']})" if row.get("design") else str(row["method"])


def _speaker(turn: Row) -> str:
    return f"{turn['role'].capitalize()} {turn['speaker'] or ''}".strip()


def _id(*parts: str, length: int = 32) -> str:
    """A hexadecimal id of these names: an export made again has the same."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:length]


def _rows(frame: pd.DataFrame) -> list[Row]:
    return pa.Table.from_pandas(frame, preserve_index=False).to_pylist()  # type: ignore[no-any-return]


def _clean(value: Any) -> Any:
    """Texts as `visible_lines`, infinite numbers as None."""
    if isinstance(value, str):
        return visible_lines(value)
    if isinstance(value, list):
        return [_clean(cell) for cell in value]
    if isinstance(value, Mapping):
        return {name: _clean(cell) for name, cell in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
