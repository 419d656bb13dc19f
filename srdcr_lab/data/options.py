"""The options of a question in somebody's own table: read from a cell, and checked with the gold answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from srdcr_lab.answers.options import fault_of
from srdcr_lab.data.documents import checked
from srdcr_lab.records import BadInput, Option

LETTERS = "ABCDEFGHIJ"
Bad = Callable[[str], BadInput]


def options_of(cell: str, gold: str, bad: Bad, bad_gold: Bad) -> tuple[tuple[Option, ...], str]:
    """The options in a cell, and the label of the gold answer.

    Parameters
    ----------
    cell : texts with bars between them ("a bank|a library"), which get the labels A, B, C …; or JSON: a list of texts,
        an object of label → text, or a list of objects with `label` and `text`.
    gold : a label, or the text of one option as it stands there.
    bad, bad_gold : make the errors that name file, row and column.

    Raises
    ------
    BadInput
        For fewer than two options, an empty one, a label or a text that stands twice, a gold answer that is none.
    """
    options = tuple(_options(cell, bad))
    by_text = [option.label for option in options if option.text == gold]
    label = gold if gold in [option.label for option in options] else by_text[0] if len(by_text) == 1 else gold
    if fault := fault_of(options, label):
        raise (bad_gold if fault.startswith("the answer") else bad)(fault)
    return options, label


def _options(cell: str, bad: Bad) -> list[Option]:
    if not cell.lstrip().startswith(("[", "{")):
        return _lettered([text.strip() for text in cell.split("|")], bad)

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise bad(f"{twice!r} stands twice; give each option a label of its own")
        return dict(pairs)

    try:
        found = json.loads(cell, object_pairs_hook=distinct)
    except ValueError as error:
        raise bad(f'is no JSON ({error}); expected texts with bars between them, or {{"A": "…", "B": "…"}}') from None
    if isinstance(found, dict):
        return [Option(label=_text(label, bad), text=_text(text, bad)) for label, text in found.items()]
    if all(isinstance(each, Mapping) for each in found):
        return [Option(label=_text(each.get("label"), bad), text=_text(each.get("text"), bad)) for each in found]
    return _lettered([_text(each, bad) for each in found], bad)


def _text(value: Any, bad: Bad) -> str:
    if not isinstance(value, (str, int, float)) or value != value:
        raise bad(f"a label or text is {value!r:.20}; an option has a label and a text")
    return checked(str(value).strip(), bad)


def _lettered(texts: list[str], bad: Bad) -> list[Option]:
    if len(texts) > len(LETTERS):
        raise bad(f"holds {len(texts)} options, at most {len(LETTERS)} get letters; give labels of your own")
    return [Option(label=label, text=text) for label, text in zip(LETTERS, texts, strict=False)]
