"""A store as JSON lines, and back: what one carries to a colleague."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from srdcr_lab.models.store import Store, request_of
from srdcr_lab.records import BadInput, Completion, FinishReason, ModelIdentity, Request


def export(store: Store, target: Path) -> int:
    """Write every request with its completions, one a line, sorted; return the number of lines.

    Raises
    ------
    BadInput
        If the target cannot be written, or is a store: completions that were paid for are not overwritten.
    """
    if target.is_file() and _is_sqlite(target):
        raise BadInput(f"{target} is a store, which an export would destroy; give another target")
    part = target.with_name(target.name + ".part")
    lines = 0
    try:
        with part.open("w", encoding="utf-8") as file:
            for record in store.records():
                file.write(json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n")
                lines += 1
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise BadInput(f"cannot write {target} ({error.strerror}); give another target") from None
    return lines


def merge(store: Store, source: Path) -> int:
    """Add what another store or an export holds; what `store` already holds stays. Returns the number of completions
    added.

    Raises
    ------
    BadInput
        If the source is missing, or a line of it is no record of an export (then nothing of it is added).
    """
    if not source.is_file():
        raise BadInput(f"there is no file {source} to merge")
    records = list(_from_store(source) if _is_sqlite(source) else _from_export(source))
    before = store.count()
    for model, request, completions in records:
        store.put(model, request, completions)
    return store.count() - before


def contents(store: Store) -> Iterator[tuple[ModelIdentity, Request, list[Completion]]]:
    """Every request of a store with its completions, sorted."""
    return map(_parsed, store.records())


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\x00"


def _from_store(path: Path) -> Iterator[Any]:
    other = Store(path)
    try:
        yield from contents(other)
    finally:
        other.close()


def _from_export(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield _parsed(json.loads(line.decode("utf-8")))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BadInput(f"{path}, line {number}: no record of a store export ({error})") from None


def _parsed(record: Mapping[str, Any]) -> tuple[ModelIdentity, Request, list[Completion]]:
    completions = [_completion(fields) for fields in record["completions"]]
    request = request_of(record["request"], record["stream"], tuple(completion.draw for completion in completions))
    return ModelIdentity(**record["model"]), request, completions


def _completion(fields: Mapping[str, Any]) -> Completion:
    text, tokens, logprobs = fields["text"], fields["tokens"], fields["logprobs"]
    if not isinstance(text, str):
        raise ValueError("the text of a completion is no text")
    return Completion(
        text=text,
        draw=int(fields["draw"]),
        tokens=None if tokens is None else tuple(map(str, tokens)),
        logprobs=None if logprobs is None else tuple(map(float, logprobs)),
        finish_reason=FinishReason(fields["finish_reason"]),
        prompt_tokens=int(fields["prompt_tokens"]),
        completion_tokens=int(fields["completion_tokens"]),
    )
