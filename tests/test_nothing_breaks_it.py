"""What trials with strangers' tables, servers, bundles and stores found, and the test that guards against each.

F are tables and replies that nobody here made, G is reliability and security. `make trial` tries it all at once.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# point, what happened → the tests that guard against it: FILE::FUNCTION in this folder
GUARDS: dict[tuple[str, str], list[str]] = {
    ("F 1", "amounts with a currency or a thousands separator, and Sky+HD, are not found in their passage"): [],
    ("F 1", "one odd row refuses a whole table"): [],
    ("F 2", "a prefix such as 'Sure! The answer is:' hides the answer"): [],
    ("F 2", "thinking in the content is read as an answer"): [],
    ("F 2", "a gold answer of many words can never be right, and data check is silent"): [],
    ("F 3", "replies that are cut, refused or empty are blamed on the judge's verdict line"): [],
    ("F 4", "log-probabilities that a server does not give leave a confidence of NaN without a word"): [],
    (
        "F 5",
        "a stray full stop after Jr., a name derived from the answer, densities and ages beside a changed count",
    ): [],
    ("F 5", "the end of a sentence is read as a first name"): [],
    ("F 6", "a message denies the passage that boolq has"): [],
    ("F 6", "data check knows less than run"): [],
    ("F 6", "a mistyped benchmark is called a missing file"): [],
    ("F 7", "CommonsenseQA loses questions whose equal options are not the gold answer"): [],
    ("F 7", "a table without passages cannot be loaded"): [],
    ("F 7", "one pool serves names and cities alike"): [],
    ("G 1", "a bundle's parameter writes outside --out"): [],
    ("G 1", "a results folder named ~ is taken for the home folder"): ["test_cli.py::test_a_folder_may_have_any_name"],
    ("G 2", "a damaged store ends in a traceback"): [],
    ("G 3", "one bad reply ends a whole run"): [],
    ("G 4", "two runs write into one results folder"): [],
    ("G 5", "hostile lines are merged into a store, or end in a traceback, or leave a part behind"): [],
    ("G 6", "a reply has no bound"): [],
    ("G 7", "an outage in mid-run fails rows"): [],
    ("G 8", "numbers without bounds hang"): [
        "test_bad_input.py::test_arguments_that_are_wrong",
        "test_choices.py::test_bad_choices_get_a_sentence",
    ],
    ("G 8", "NUL and overlong paths: a traceback, 5,000 characters"): [
        "test_bad_input.py::test_a_path_that_no_file_system_holds",
        "test_bad_input.py::test_a_path_from_python",
    ],
    ("G 8", "deeply nested JSON anywhere, port 99999, manifests without what was asked"): [],
    ("G 8", "an early interrupt ends in a traceback, kill loses its way"): [
        "test_interrupts.py::test_while_modules_are_imported",
        "test_interrupts.py::test_kill_in_mid_run",
        "test_interrupts.py::test_a_reader_that_stops_reading",
    ],
    ("G 8", "a refused replay leaves files that make the next one refuse"): [],
    ("G 8", "a model is loaded before a refusal or for a plan"): [
        "test_bad_input.py::test_a_refusal_reads_no_weights",
        "test_plan.py::test_a_plan_of_many_items_is_estimated_from_some",
    ],
    ("G 9", "escape sequences reach the terminal"): [
        "test_cli.py::test_nothing_unseen_reaches_a_terminal",
        "test_cli.py::test_every_command_prints_by_one_function",
    ],
    ("G 9", "unseen characters and look-alike letters pass defuse"): [],
    ("G 9", "share misses keys"): [],
    ("G 9", "cells that a spreadsheet runs as formulas"): [],
    ("G 9", "duplicate columns, NaN perturbations, dicts as questions are accepted"): [],
    ("G 10", "a finished run of 20,000 items takes long to resume"): [],
}
POINTS = [*(f"F {number}" for number in range(1, 8)), *(f"G {number}" for number in range(1, 11))]


@cache
def _functions(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_named_guard_exists() -> None:
    named = [guard.partition("::") for guards in GUARDS.values() for guard in guards]
    assert [f"{file}::{name}" for file, _, name in named if name not in _functions(file)] == []


@pytest.mark.xfail(reason="the other parts name their guards")
def test_every_point_has_a_guard() -> None:
    assert [point for point in POINTS if point not in {point for point, _ in GUARDS}] == []
    assert [what for what, guards in GUARDS.items() if not guards] == []
