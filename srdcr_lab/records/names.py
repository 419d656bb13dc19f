"""The labels of methods, designs, confidences and categories for a reader, and each method's colour and mark.

Tables on disk, arguments and code use the names that `--methods`, `--design` and `--confidence` take. `called` gives
the label for a figure, a page or a sentence; `called_in` the label of a value in a table, whose column says whether
`self_consistency` is a method or a confidence. A new method, design or confidence needs a line in `names.csv`, which
also says whether a method is the paper's, whether a design is a control, and what a confidence means; colour and mark
may be empty. Figures take them from `colours` and `markers`.
"""

import re
from collections.abc import Callable, Iterable
from zlib import crc32

from srdcr_lab.records.files import rows_beside

_NAMES = rows_beside(__file__, "names.csv")


def _labels(kind: str) -> dict[str, str]:
    return {row["name"]: row["label"] for row in _NAMES if row["kind"] == kind}


METHOD_LABELS = _labels("method")  # first those of Tables 1 and 2, in the order of their rows
CONTROLS = (*_labels("control"),)  # designs whose Judge hears something else than the debate
DESIGN_LABELS = _labels("design") | _labels("control")
CONFIDENCE_LABELS = _labels("confidence")
CONFIDENCE_MEANINGS = {row["name"]: row["meaning"] for row in _NAMES if row["meaning"]}
CATEGORY_LABELS = _labels("category")
CONDITION_LABELS = _labels("condition")  # of the passages
FEATURE_LABELS = _labels("feature")  # of a debate, as the trained judge sees it
ANSWER_GROUPS = _labels("answer_group")  # of answer types, in figures of notebook 03
HOP_OUTCOMES = _labels("hop_outcome")  # of a chain with a false passage, but for the last
MEASURES = _labels("measure")  # of answers from conflicting documents
_FACTORS = _labels("factor")  # of a design, around the level; any other is its name and the level
_HEADINGS = _labels("heading")  # columns as a reader sees them; any other has its name with spaces
_MARKERS = {row["label"]: row["marker"] for row in _NAMES if row["marker"]}
COLOURS = {row["name"]: row["colour"] for row in _NAMES if row["colour"]}
IN_PAPER = frozenset(row["name"] for row in _NAMES if row["in_paper"])  # the methods of its Tables 1 and 2
_RESERVE = [row["colour"] for row in _NAMES if row["kind"] == "reserve"]  # for names that have none of their own
_FAMILY = {"judge_debate": "Judge Debate"}  # of which the methods are beginnings


def called(name: str, design: object = None) -> str:
    """Label a method, a debate design, or a method under a design; any other name stays as it is.

    >>> called("few_shot"), called("sr_dcr", "symmetric"), called("sr_dcr (acvd)")
    ('Few-Shot', 'SR-DCR (Symmetric)', 'SR-DCR (ACVD)')
    >>> called("acvd, order=defender_first, judge_sees_passage=True")
    'ACVD, order: defender first, judge sees passage'
    """
    if isinstance(design, str):
        return f"{called(name)} ({called(design)})"
    under = re.fullmatch(r"(\w+) \((.+)\)", name)  # as a plan names a row
    if under and under[1] in METHOD_LABELS:
        return called(*under.groups())
    known = METHOD_LABELS.get(name) or DESIGN_LABELS.get(name) or _FAMILY.get(name)
    base, *changes = name.split(", ")
    if known or base not in DESIGN_LABELS or not all("=" in change for change in changes):
        return known or name
    parted = (change.partition("=") for change in changes)
    told = [_FACTORS.get(name, f"{heading(name)}: {{}}").format(level_called(level)) for name, _, level in parted]
    return ", ".join([DESIGN_LABELS[base], *(each.removesuffix(": yes") for each in told)])


def called_in(column: str, name: str) -> str:
    """Label a value in this column of a table.

    >>> called_in("method", "self_consistency"), called_in("confidence_kind", "self_consistency")
    ('Self-Consistency', 'self-consistency')
    """
    return _CALLED_IN.get(column, called)(name)


def heading(column: str) -> str:
    """The heading of a column for a reader.

    >>> heading("p_holm"), heading("redraw_stability")
    ('p (Holm)', 'redraw stability')
    """
    return _HEADINGS.get(column, column.replace("_", " "))


def kind_called(kind: object) -> str:
    """Label a kind of confidence."""
    return CONFIDENCE_LABELS.get(str(kind), str(kind))


def category_called(category: object) -> str:
    """Label a knowledge category; None is empty, and any other value stays as it is."""
    return CATEGORY_LABELS.get(str(category), str(category or ""))


def model_called(identity: str) -> str:
    """Name a local model without its number type, which captions add.

    >>> model_called("hf:qwen2.5-coder-1.5b (dtype bfloat16)"), model_called("openai:m")
    ('qwen2.5-coder-1.5b', 'openai:m')
    """
    return re.sub(r" \(dtype \w+\)$", "", identity.removeprefix("hf:"))


def level_called(level: object) -> str:
    """Label a level of a design's factor."""
    return {"True": "yes", "False": "no"}.get(str(level), str(level).replace("_", " "))


def colours(names: Iterable[str]) -> dict[str, str]:
    """Each distinct name with its colour: that of `COLOURS`, of SR-DCR under a design the design's. Any other name gets
    one of twelve that no name before it has, if one is left."""
    chosen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        free = [colour for colour in _RESERVE if colour not in chosen.values()] or _RESERVE
        chosen[name] = COLOURS.get(name) or _OF_DESIGNS.get(name) or free[crc32(name.encode()) % len(free)]
    return chosen


def markers(labels: Iterable[str]) -> dict[str, str]:
    """Each distinct label with the shape of its marks: its own, under a design the design's, or one not yet taken.

    >>> markers(["SR-DCR per hop (Judge alone)", "Golden Baseline", "over questions"])
    {'SR-DCR per hop (Judge alone)': 'o', 'Golden Baseline': 'v', 'over questions': 's'}
    """
    distinct, chosen = list(dict.fromkeys(labels)), dict[str, str]()
    for label in sorted(distinct, key=lambda label: label not in _MARKERS):  # nobody else takes an own mark
        own = _MARKERS.get(label) or _MARKERS.get(label.partition(" (")[2].removesuffix(")"), "")
        chosen[label] = next((shape for shape in f"{own}os^DvP<>X*phd8H" if shape not in chosen.values()), "o")
    return {label: chosen[label] for label in distinct}


_CALLED_IN: dict[str, Callable[[str], str]] = {
    "model": model_called,
    "what": heading,
    "knowledge_category": category_called,
    "role": str.capitalize,
    "condition": lambda name: CONDITION_LABELS.get(name, name),
    **dict.fromkeys(("confidence_kind", "confidence", "first", "second"), kind_called),
}
# Columns, or the name of an index, whose values have labels
NAMING = (*_CALLED_IN, "method", "methods", "design", "debate", "a", "b", "alone")
_OF_DESIGNS = {  # SR-DCR under each
    called(method, name): COLOURS.get(name, "") for method in ("sr_dcr", "sr_dcr_per_hop") for name in DESIGN_LABELS
}
