"""Results as an Inspect AI log.

Texts leave without control and format characters, and what holds a key or a path of this machine is refused as in a
bundle. The tables hold no times and no prompts: every event has the time at which the run was written, in its place of
the order, and what a speaker saw is put together from `saw_passage` and `saw_turns`.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.data.items import grouped, thaw
from srdcr_lab.data.tables import checked_ending
from srdcr_lab.records import BadInput, Item, Missing, Role
from srdcr_lab.records.files import whole_file
from srdcr_lab.records.vocabulary import n_of, visible, visible_lines
from srdcr_lab.study.bundle import check_no_traces
from srdcr_lab.study.folder import Results
from srdcr_lab.study.manifest import ITEMS

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
TOLD = {
    "times": "not recorded: every event has the time at which the run was written, in its place of the order",
    "seen": "what a speaker saw is put together from the tables (saw_passage, saw_turns); it is not the prompt",
    "tokens": "those that a method takes by itself, nothing shared; where other models speak too, those of turns",
}
MEASURES = ("accuracy", "selective_accuracy", "coverage")
_ELSEWHERE = ("item_id", "question_id", "method", "design", "model", "text", "request_digest")  # of a turn's columns
_EXPLAIN = ("verdict", "verdict_path", "decision", "prior_answer", "self_confidence", "context_answer", "missing")
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter", "refusal": "content_filter"}


@dataclass(frozen=True)
class Dialogue:
    """A row of `records`, its turns, and its item where the folder has it; missing cells are None."""

    row: Row
    turns: Sequence[Row]
    item: Item | None

    def asked(self, turn: Row | None = None) -> str:
        """The question with its options, and the passage or documents: what of it the speaker of a turn saw."""
        options, documents = (self.item.options, self.item.documents) if self.item else ((), ())
        lines = [self.row["question"], *(f"{option.label}. {option.text}" for option in options)]
        if self.item and (turn is None or turn["saw_passage"]):
            about = (turn["speaker"] or "").partition("/")[0] if turn else ""
            own = [document for document in documents if document.document_id == about] or documents
            lines += [f"\nPassage: {text}" for text in (self.item.context, *(each.text for each in own)) if text]
        return visible_lines("\n".join(lines))

    def heard(self, turn: Row) -> list[Row]:
        """The turns that the speaker of a turn saw."""
        debaters = [each for each in self.turns if each["role"] != Role.JUDGE]
        return [debaters[place] for place in turn["saw_turns"]]


def label_of(row: Mapping[str, Any]) -> str:
    """``sr_dcr (acvd)``: the method of a row, and the design that it follows."""
    return f"{row['method']} ({row['design']})" if row.get("design") else str(row["method"])


def name_of(turn: Row) -> str:
    return f"{turn['role'].capitalize()} {turn['speaker'] or ''}".strip()


def spoken(turn: Row) -> str:
    """A turn with its speaker's name: "1903. It …" at the start of a text would be shown as a list."""
    return f"**{name_of(turn)}, round {turn['round']}:** {turn['text']}"


def dialogues(results: Results) -> Iterator[Dialogue]:
    """Every row of `records` with its debate, in their order."""
    items: dict[str, Item] = {}
    with suppress(BadInput):  # a folder of an earlier version, whose items are not known
        items = {visible_lines(item.item_id): item for item in thaw(results.folder / ITEMS)}
    turns = grouped(rows_of(results.turns), lambda turn: (turn["item_id"], label_of(turn)))
    for row in rows_of(results.records):
        yield Dialogue(row, turns.get((row["item_id"], label_of(row)), ()), items.get(row["item_id"]))


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Rows as JSON takes them."""
    import pyarrow as pa

    rows: list[Row] = _clean(pa.Table.from_pandas(frame, preserve_index=False).to_pylist())
    return rows


def _clean(value: Any) -> Any:
    """Texts as `visible_lines`, infinite numbers as None."""
    match value:
        case str():
            return visible_lines(value)
        case list():
            return [_clean(cell) for cell in value]
        case dict():
            return {name: _clean(cell) for name, cell in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def harmless_json(value: Any, name: str) -> str:
    """JSON in ASCII, without a key or a path of this machine."""
    text = json.dumps(value, allow_nan=False)
    check_no_traces(name, text.encode())
    return text


def name_id(*parts: str, length: int = 32) -> str:
    """A hexadecimal id of these names: an export made again has the same."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:length]


def run_id(manifest: Mapping[str, Any]) -> str:
    return name_id(json.dumps(manifest["asked"], sort_keys=True), manifest["written"])


# Inspect: a zip of JSON, its log of version 2 (inspect_ai.log: EvalLog, EvalSample, EvalSampleSummary).


def write_inspect(results: Results, target: Path) -> str:
    """Write an Inspect AI log (`.eval`) in which each row of `records` is a sample; say how many.

    The score `correct` is C, I, or N where there is no answer, with the reason abstained, unparsed or error: Inspect's
    accuracy counts what is missing as wrong, as ours does. A row without an answer because a call failed is a sample
    with an error. Metrics are those of `summary`, a score for each method.
    """
    header, summaries, used = _header(results), [], Counter[str]()
    path = whole_file(checked_ending(target, (".eval",)))
    with path as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as log:

        def put(name: str, value: Any) -> None:
            entry = zipfile.ZipInfo(name)  # of 1980: equal content is an equal file
            entry.compress_type = zipfile.ZIP_DEFLATED
            log.writestr(entry, harmless_json(value, f"{target.name}, {name}"))

        for dialogue in dialogues(results):
            name = visible(f"{label_of(dialogue.row)} {dialogue.row['item_id']}".replace("/", "∕"), 200)
            used[name] += 1
            sample = _sample(dialogue, name if used[name] == 1 else f"{name} #{used[name]}", header["eval"])
            put(f"samples/{sample['id']}_epoch_1.json", sample)
            summaries.append({key: cell for key, cell in sample.items() if key not in ("messages", "output", "events")})
            summaries[-1] |= {"completed": True, "message_count": len(sample["messages"])}
            if "error" in sample:
                summaries[-1]["error"] = sample["error"]["message"]
        header["eval"]["dataset"] |= {"samples": len(summaries), "sample_ids": [each["id"] for each in summaries]}
        header["results"] |= {"total_samples": len(summaries), "completed_samples": len(summaries)}
        put("summaries.json", summaries)
        put("header.json", header)
    return f"{target}: {n_of(len(summaries), 'samples')}; inspect view --log-dir {target.parent} shows them"


def _header(results: Results) -> Row:
    """The log without its samples."""
    manifest, models = _clean(results.manifest), {role: visible(who) for role, who in results.identities.items()}
    asked, run, written = manifest["asked"], run_id(results.manifest), manifest["written"]
    begun = datetime.fromisoformat(written) - timedelta(seconds=manifest["counts"].get("wall_s", 0))
    scores: dict[str, Row] = {}
    for row in rows_of(results.summary):
        score = scores.setdefault(label_of(row), {"name": label_of(row), "scorer": "correct", "metrics": {}})
        for name in (measure for measure in MEASURES if row[measure] is not None):
            ends = {"low": row.get(f"{name}_low"), "high": row.get(f"{name}_high"), "n": row["n"]}
            metric = {"name": f"{row['condition']} {name}", "value": row[name], "metadata": ends}
            score["metrics"][metric["name"]] = metric
    return {
        "version": 2,
        "status": "success" if manifest["status"] == "done" else "cancelled",
        "eval": {
            "eval_id": run, "run_id": run, "task_id": run, "created": written, "task": "srdcr",
            "task_args": {"seed": asked["seed"]}, "dataset": {"name": asked["items"]}, "config": {},
            "model": models["answerer"], "packages": manifest.get("versions", {}),
            "model_roles": {role: {"model": name} for role, name in models.items() if role != "answerer"},
            "metadata": TOLD | {"asked": asked, "notes": manifest["notes"], "label": visible(results.label)},
        },
        "plan": {"steps": [{"solver": name} for name in asked["methods"]]},
        "results": {"scores": list(scores.values())},
        "stats": {"started_at": begun.isoformat(timespec="seconds"), "completed_at": written},
    }  # fmt: skip


def _sample(dialogue: Dialogue, sample_id: str, spec: Row) -> Row:
    row, turns = dialogue.row, dialogue.turns
    said = [_turn(turn) | {"metadata": _told(turn, *_ELSEWHERE)} for turn in turns]
    final = [] if row["final_answer"] is None else [_message("assistant", row["final_answer"], row)]
    explained = "; ".join(f"{name} {row[name]}" for name in _EXPLAIN if row[name] is not None)
    grade = {True: "C", False: "I", None: "N"}[row["correct"]]
    scores = {"correct": {"value": grade, "answer": row["final_answer"], "explanation": explained}}
    scores["correct"] |= {"reason": row["missing"]} if row["missing"] else {}
    named = ("verdict", "decision", "knowledge_category", "self_confidence")
    scores |= {name: {"value": row[name]} for name in named if row[name] is not None}
    if "self_confidence" in scores:
        scores["self_confidence"]["explanation"] = row["confidence_kind"]
    alone = all(turn["model"] == row["model"] for turn in turns)  # else the row's tokens are of several models
    counted = [row] if alone else turns
    failed = {"message": row["error"] or "", "traceback": "", "traceback_ansi": ""}
    return {
        "id": sample_id,
        "epoch": 1,
        "uuid": name_id(spec["run_id"], sample_id, length=22),
        "input": dialogue.asked(),
        "target": row["gold_answers"] if len(row["gold_answers"]) > 1 else row["gold_answer"],
        "messages": [_message("user", dialogue.asked()), *(said or final)],
        "output": {
            "model": row["model"],
            "choices": [{"message": message, "stop_reason": "stop"} for message in final],
        },
        "scores": scores,
        "metadata": _told(row),
        "events": [_event(dialogue, turn, spec["created"]) for turn in turns],
        "model_usage": {
            model: _usage(rows) for model, rows in grouped(counted, lambda each: str(each["model"])).items()
        },
        "role_usage": {role: _usage(own) for role, own in grouped(turns, lambda turn: str(turn["role"])).items()},
    } | ({"error": failed} if row["missing"] == Missing.ERROR else {})


def _told(row: Row, *but: str) -> Row:
    return {name: cell for name, cell in row.items() if cell not in (None, [], "") and name not in but}


def _message(role: str, content: str, of: Row | None = None) -> Row:
    return {"role": role, "content": content} | ({"model": of["model"]} if of else {})


def _turn(turn: Row) -> Row:
    """A turn as a message. Its id is the same wherever it is seen, by which Inspect counts it once."""
    turn_id = name_id(turn["item_id"], label_of(turn), str(turn["position"]), length=22)
    return _message("assistant", spoken(turn), turn) | {"id": turn_id}


def _usage(rows: Sequence[Row]) -> Row:
    read, said = (sum(row[f"{kind}_tokens"] or 0 for row in rows) for kind in ("prompt", "completion"))
    return {"input_tokens": read, "output_tokens": said, "total_tokens": read + said}


def _event(dialogue: Dialogue, turn: Row, written: str) -> Row:
    """A turn as a model event, whose input is what its speaker saw."""
    heard = [_turn(each) | {"role": "user"} for each in dialogue.heard(turn)]
    choice = {"message": _turn(turn), "stop_reason": _STOPS.get(turn["finish_reason"], "unknown")}
    return {
        "event": "model", "timestamp": written, "working_start": 0.0, "model": turn["model"], "role": name_of(turn),
        "input": [_message("user", dialogue.asked(turn)), *heard],
        "tools": [], "tool_choice": "none", "config": {},
        "output": {"model": turn["model"], "choices": [choice], "usage": _usage([turn])},
    }  # fmt: skip
