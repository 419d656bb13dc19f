"""Results as OTLP traces, in a file or sent to an endpoint, and as an MLflow run.

A trace for each row of `records`, a span for each turn. Attributes are those of OpenTelemetry's semantic conventions
for generative AI 1.41 (opentelemetry.io/docs/specs/semconv/gen-ai), which are in development; our columns are
srdcr.NAME.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from srdcr_lab.data.tables import checked_ending
from srdcr_lab.models.http import address, redact
from srdcr_lab.records import BadInput, Missing, Stopped
from srdcr_lab.records.files import whole_file
from srdcr_lab.records.vocabulary import n_of, visible
from srdcr_lab.study.bundle import check_no_traces
from srdcr_lab.study.exports import (
    MEASURES,
    TOLD,
    Dialogue,
    Row,
    dialogues,
    harmless_json,
    label_of,
    name_id,
    name_of,
    rows_of,
    run_id,
    spoken,
)
from srdcr_lab.study.folder import Results, needed
from srdcr_lab.study.manifest import MANIFEST, SUMMARY, TABLES

_TRACES, _WAIT_S = 32, 30  # of one request


def write_otlp(results: Results, target: Path) -> str:
    """Write traces as a collector's file exporter does, an ExportTraceServiceRequest a line; say how many spans."""
    n_spans = 0
    with whole_file(checked_ending(target, (".jsonl", ".json"))) as part, part.open("w", encoding="ascii") as file:
        for n, request in _requests(results, target.name):
            file.write(request + "\n")
            n_spans += n
    return f"{target}: {n_of(n_spans, 'spans')}"


def post_otlp(results: Results, endpoint: str, **headers: str) -> str:
    """Send traces to an OTLP/HTTP endpoint as JSON; say how many spans. ``/v1/traces`` is added to a bare address.

    Further `headers` are those of OTEL_EXPORTER_OTLP_HEADERS (``name=value,name=value``). They follow no redirection.
    `BadInput` where the endpoint refuses the traces, `Stopped` where it cannot be reached now; sent again, every trace
    has the same id.
    """
    try:
        parts, where = urlsplit(endpoint), address(endpoint)
    except ValueError:
        raise BadInput("that is no address of an endpoint; give one such as http://127.0.0.1:4318") from None
    url = endpoint if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/v1/traces"
    pairs = (pair.split("=", 1) for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",") if "=" in pair)
    headers |= {"Content-Type": "application/json"} | {name.strip(): unquote(value).strip() for name, value in pairs}
    opener, n_spans = urllib.request.build_opener(_Staying), 0
    for n, text in _requests(results, "the export"):
        taken = f"{where} took {n_of(n_spans, 'spans')}"
        request = urllib.request.Request(url, text.encode("ascii"), headers, method="POST")  # noqa: S310
        try:
            with opener.open(request, timeout=_WAIT_S) as reply:
                rejected = (json.loads(reply.read() or b"{}").get("partialSuccess") or {}).get("rejectedSpans") or 0
        except urllib.error.HTTPError as error:
            said = redact(visible(error.read(400).decode(errors="replace"), 150))
            known = error.code < 500 and error.code != 429
            raise (BadInput if known else Stopped)(f"{taken} and refused the next ({error.code}: {said})") from None
        except (OSError, HTTPException, ValueError, AttributeError) as error:
            why = redact(visible(error, 150)) if isinstance(error, OSError) else type(error).__name__
            raise Stopped(f"{taken}, then gave no answer ({why})") from None
        if int(rejected):
            raise BadInput(f"{taken} and rejected {int(rejected):,} of the next {n:,}")
        n_spans += n
    return f"{where} took {n_of(n_spans, 'spans')}"


class _Staying(urllib.request.HTTPRedirectHandler):
    """A redirection is an error: headers may hold a key."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _requests(results: Results, name: str) -> Iterator[tuple[int, str]]:
    """Requests, each with its number of spans."""
    manifest, every = results.manifest, dialogues(results)
    resource = {"service.name": "srdcr-lab", "srdcr.items": manifest["asked"]["items"], "srdcr.times": TOLD["times"]}
    run, start = run_id(manifest), int(datetime.fromisoformat(manifest["written"]).timestamp()) * 10**9
    providers = {visible(who): who.provider for who in results.identities.values()}
    while some := list(islice(every, _TRACES)):
        spans = [span for dialogue in some for span in _spans(dialogue, run, start, providers)]
        scope = {"scope": {"name": "srdcr_lab"}, "spans": spans}
        whole = {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}
        yield len(spans), harmless_json({"resourceSpans": [whole]}, name)


def _spans(dialogue: Dialogue, run: str, start: int, providers: Mapping[str, str]) -> Iterator[Row]:
    row, label = dialogue.row, label_of(dialogue.row)
    trace = name_id(run, row["item_id"], label)

    def span(place: int, name: str, last: int, said: str | None, seen: Sequence[str], columns: Row, **told: Any) -> Row:
        attributes: Row = {"gen_ai.operation.name": name.split()[0]}
        attributes |= {f"gen_ai.{key.replace('__', '.')}": cell for key, cell in told.items()}
        attributes["gen_ai.input.messages"] = _parts("user", seen)
        attributes["gen_ai.output.messages"] = _parts("assistant", [] if said is None else [said])
        attributes |= {f"srdcr.{key}": cell for key, cell in columns.items() if key != "text"}
        return {
            "traceId": trace, "spanId": name_id(trace, str(place), length=16), "name": name, "kind": 3 if place else 1,
            "startTimeUnixNano": str(start + place), "endTimeUnixNano": str(start + last),
            "attributes": _attributes(attributes),
        }  # fmt: skip

    n = len(dialogue.turns)
    root = span(0, f"invoke_workflow {label}", n, row["final_answer"], [dialogue.asked()], row, workflow__name=label)
    yield root | ({"status": {"code": 2, "message": row["error"]}} if row["missing"] == Missing.ERROR else {})
    for place, turn in enumerate(dialogue.turns, start=1):
        told = {
            "provider__name": providers.get(turn["model"]), "request__model": turn["model"],
            "agent__name": name_of(turn), "response__finish_reasons": [turn["finish_reason"] or "unknown"],
            "usage__input_tokens": turn["prompt_tokens"], "usage__output_tokens": turn["completion_tokens"],
        }  # fmt: skip
        seen = [dialogue.asked(turn), *map(spoken, dialogue.heard(turn))]
        own = span(place, f"chat {turn['model']}", place, turn["text"], seen, turn, **told)
        yield own | {"parentSpanId": root["spanId"]}


def _parts(role: str, texts: Sequence[str]) -> str | None:
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts]
    return json.dumps(messages) if messages else None


def _attributes(values: Mapping[str, Any]) -> list[Row]:
    return [{"key": key, "value": _any_value(cell)} for key, cell in values.items() if cell is not None]


def _any_value(cell: Any) -> Row:
    if isinstance(cell, list):
        return {"arrayValue": {"values": [_any_value(each) for each in cell]}}
    kind = {bool: "boolValue", int: "intValue", float: "doubleValue"}.get(type(cell), "stringValue")
    return {kind: str(cell) if kind == "intValue" else cell}


def log_mlflow(results: Results, tracking_uri: str) -> str:
    """Log a run in the experiment srdcr_lab: arguments as parameters, `summary` as metrics, the tables as artifacts,
    and where the URI is a server's (MLflow ≥ 3.6, which takes OTLP), the traces. Says the run and how many spans.
    """
    mlflow = needed("mlflow", "srdcr export mlflow")
    files = [results.folder / name for name in (MANIFEST, SUMMARY, *(f"{table}.parquet" for table in TABLES))]
    for file in files:
        check_no_traces(file.name, file.read_bytes())
    metrics: dict[str, float] = {}
    for row in rows_of(results.summary):
        group = "/".join(filter(None, [row["method"], row.get("design"), row["condition"]]))
        metrics |= {f"{group}/{name}": row[name] for name in MEASURES if row[name] is not None}
    try:
        mlflow.set_tracking_uri(tracking_uri)
        experiment = mlflow.set_experiment("srdcr_lab").experiment_id
        with mlflow.start_run(run_name=visible(results.folder.name)) as run:
            mlflow.log_params({name: visible(cell, 500) for name, cell in results.manifest["asked"].items()})
            mlflow.log_metrics(metrics)
            for file in files:
                mlflow.log_artifact(str(file))
    except mlflow.exceptions.MlflowException as error:
        raise Stopped(f"MLflow gave an error: {redact(visible(error, 250))}") from None
    headers = {"x-mlflow-experiment-id": experiment, "x-mlflow-run-id": run.info.run_id}
    traces = (
        f"; {post_otlp(results, tracking_uri, **headers)}" if tracking_uri.startswith(("http://", "https://")) else ""
    )
    return f"run {run.info.run_id} of the experiment srdcr_lab{traces}"
