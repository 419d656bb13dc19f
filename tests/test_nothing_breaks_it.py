"""What trials with strangers' tables, servers, bundles and stores found, and the test that guards against each.

F are tables and replies that nobody here made, G is reliability and security. `make trial` tries it all at once.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent

# Speed (G 10: resuming a run of 20,000 items) is no test's business: `make bench`.
# point, what happened → the tests that guard against it: FILE::FUNCTION in this folder
GUARDS: dict[tuple[str, str], list[str]] = {
    ("F 1", "amounts with a currency or a thousands separator, and Sky+HD, are not found in their passage"): [
        "test_answers.py::test_texts_with_money_symbols_and_dates_are_found"
    ],
    ("F 1", "one odd row refuses a whole table"): [
        "test_tables.py::test_a_row_that_cannot_be_used_is_left_out_counted_and_named",
        "test_tables.py::test_a_table_of_which_nothing_is_left_is_refused",
        "test_tables.py::test_a_run_tells_what_was_left_out_keeps_it_and_goes_on",
    ],
    ("F 2", "a prefix such as 'Sure! The answer is:' hides the answer"): [
        "test_replies.py::test_an_answer_is_read_whatever_stands_around_it",
        "test_replies.py::test_no_answer_is_read_where_none_or_two_are_given",
        "test_replies.py::test_an_answer_is_read_out_of_a_sentence_about_the_question",
        "test_replies.py::test_the_question_repeated_is_no_answer",
        "test_replies.py::test_replies_of_two_small_models_are_read_as_a_person_reads_them",
    ],
    ("F 2", "thinking in the content is read as an answer"): [
        "test_replies.py::test_thinking_is_taken_away_and_nothing_else",
        "test_baselines.py::test_thinking_in_the_content_is_neither_read_nor_heard",
    ],
    ("F 2", "a gold answer of many words can never be right, and data check is silent"): [
        "test_replies.py::test_a_text_may_be_as_long_as_the_right_answer",
        "test_tables.py::test_an_answer_that_no_reply_can_match_is_left_out",
    ],
    ("F 3", "replies that are cut, refused or empty are blamed on the judge's verdict line"): [
        "test_causes.py::test_causes_of_replies_without_an_answer",
        "test_causes.py::test_each_cause_is_counted_and_its_first_reply_shown",
        "test_replies.py::test_a_reply_that_is_thinking_alone_is_starved",
    ],
    ("F 4", "log-probabilities that a server does not give leave a confidence of NaN without a word"): [
        "test_causes.py::test_a_confidence_that_a_server_cannot_give_is_refused_at_the_first_reply",
        "test_causes.py::test_auto_replaces_what_a_server_does_not_give_and_says_so",
    ],
    (
        "F 5",
        "a stray full stop after Jr., a name derived from the answer, densities and ages beside a changed count",
    ): [
        "test_perturbing.py::test_the_stop_of_junior_goes_with_him_and_the_end_of_a_sentence_stays",
        "test_perturbing.py::test_what_depends_on_the_answer_and_stays_is_flagged",
    ],
    ("F 5", "the end of a sentence is read as a first name"): [
        "test_perturbing.py::test_a_sentence_end_before_a_surname_is_no_first_name"
    ],
    ("F 6", "a message denies the passage that boolq has"): [
        "test_closed_book.py::test_a_refusal_says_what_the_items_have"
    ],
    ("F 6", "data check knows less than run"): [
        "test_data_check.py::test_whatever_a_run_takes_is_checked",
        "test_data_check.py::test_answers_that_are_not_of_their_type",
    ],
    ("F 6", "a mistyped benchmark is called a missing file"): [
        "test_data_check.py::test_a_source_that_is_none_is_refused_as_by_a_run",
        "test_closed_book.py::test_a_mistyped_method",
    ],
    ("F 7", "CommonsenseQA loses questions whose equal options are not the gold answer"): [
        "test_question_benchmarks.py::test_a_question_with_a_wrong_option_twice_is_asked_without_the_second"
    ],
    ("F 7", "a table without passages cannot be loaded"): [
        "test_closed_book.py::test_a_table_without_passages_has_categories_and_confidence",
        "test_closed_book.py::test_a_method_that_needs_a_passage_is_refused",
        "test_notebooks_own_table.py::test_a_notebook_of_memory_and_belief_runs_over_a_closed_book_table",
    ],
    ("F 7", "one pool serves names and cities alike"): [
        "test_perturb_command.py::test_a_pool_that_names_types_gives_each_its_own"
    ],
    ("G 1", "a bundle's parameter writes outside --out"): [
        "test_shared_notebooks.py::test_no_value_of_a_bundle_reaches_a_place_a_model_or_code",
        "test_shared_notebooks.py::test_a_replay_writes_and_reads_nothing_outside",
        "test_shared_notebooks.py::test_a_model_of_a_bundle_is_never_opened",
        "test_sharing.py::test_no_model_that_a_manifest_names_for_a_design_is_opened",
    ],
    ("G 1", "a results folder named ~ is taken for the home folder"): ["test_cli.py::test_a_folder_may_have_any_name"],
    ("G 2", "a damaged store ends in a traceback"): [
        "test_store.py::test_a_row_that_was_changed_is_damage_to_every_command",
        "test_store.py::test_a_run_meets_damage_in_its_middle",
        "test_store.py::test_a_damaged_file_is_told_and_recovered",
        "test_store.py::test_a_log_with_a_broken_page_before_whole_ones_is_left_as_it_is",
    ],
    ("G 3", "one bad reply ends a whole run"): [
        "test_api_faults.py::test_whatever_one_reply_is_it_costs_its_own_call",
        "test_api_faults.py::test_token_counts_that_cannot_be_are_none",
        "test_store.py::test_a_completion_that_is_none_costs_its_own_row",
    ],
    ("G 4", "two runs write into one results folder"): [
        "test_files.py::test_a_folder_has_one_writer_also_after_a_kill",
        "test_sharing.py::test_a_second_run_in_a_folder_is_told_of_the_first",
    ],
    ("G 5", "hostile lines are merged into a store, or end in a traceback, or leave a part behind"): [
        "test_store.py::test_a_merge_takes_no_line_that_no_export_has",
        "test_store.py::test_a_merge_of_what_is_no_json",
        "test_token_logprobs.py::test_a_probability_is_no_log_probability",
    ],
    ("G 6", "a reply has no bound"): [
        "test_api_faults.py::test_a_reply_is_unpacked_as_far_as_its_bound",
        "test_api_faults.py::test_an_endless_reply_comes_to_an_end",
        "test_store.py::test_a_line_without_end_is_not_read_to_its_end",
    ],
    ("G 7", "an outage in mid-run fails rows"): [
        "test_api_faults.py::test_an_outage_is_waited_out_by_all_calls_together",
        "test_api_faults.py::test_a_server_that_is_started_again_is_waited_for",
        "test_api_faults.py::test_patience_has_an_end",
        "test_api_faults.py::test_who_waits_can_be_cancelled",
    ],
    ("G 8", "numbers without bounds hang"): [
        "test_bad_input.py::test_arguments_that_are_wrong",
        "test_choices.py::test_bad_choices_get_a_sentence",
    ],
    ("G 8", "NUL and overlong paths: a traceback, 5,000 characters"): [
        "test_bad_input.py::test_a_path_that_no_file_system_holds",
        "test_bad_input.py::test_a_path_from_python",
    ],
    ("G 8", "deeply nested JSON anywhere, port 99999, manifests without what was asked"): [
        "test_files.py::test_what_is_no_json_is_one_sentence",
        "test_api_faults.py::test_options_that_cannot_be_meant",
        "test_sharing.py::test_a_manifest_of_any_shape_is_one_sentence",
        "test_shared_notebooks.py::test_a_notebook_of_any_shape_is_read_or_one_sentence",
    ],
    ("G 8", "an early interrupt ends in a traceback, kill loses its way"): [
        "test_interrupts.py::test_while_modules_are_imported",
        "test_interrupts.py::test_kill_in_mid_run",
        "test_interrupts.py::test_a_reader_that_stops_reading",
    ],
    ("G 8", "a refused replay leaves files that make the next one refuse"): [
        "test_sharing.py::test_a_refused_replay_leaves_nothing",
        "test_sharing.py::test_after_a_refused_replay_the_next_takes_the_same_folder",
    ],
    ("G 8", "a model is loaded before a refusal or for a plan"): [
        "test_bad_input.py::test_a_refusal_reads_no_weights",
        "test_plan.py::test_a_plan_of_many_items_is_estimated_from_some",
    ],
    ("G 9", "a server's escape sequences reach the terminal and the column error"): [
        "test_api_faults.py::test_escape_sequences_of_a_server_reach_no_message_and_no_table",
        "test_api_faults.py::test_control_characters_and_halves_of_characters_stop_at_the_store",
    ],
    ("G 9", "escape sequences reach the terminal"): [
        "test_cli.py::test_nothing_unseen_reaches_a_terminal",
        "test_cli.py::test_every_command_prints_by_one_function",
    ],
    ("G 9", "unseen characters and look-alike letters pass defuse"): [
        "test_prompts.py::test_letters_that_look_like_ours_are_taken_for_them",
        "test_prompts.py::test_a_forgery_in_another_alphabet_is_inert",
    ],
    ("G 9", "share misses keys"): ["test_redact.py::test_a_known_kind_of_key_is_hidden_and_not_shared"],
    ("G 9", "cells that a spreadsheet runs as formulas"): [
        "test_files.py::test_a_cell_that_a_spreadsheet_would_run_is_inert_and_read_back",
        "test_files.py::test_a_table_of_ones_own_comes_back_from_csv",
    ],
    ("G 9", "duplicate columns, NaN perturbations, dicts as questions are accepted"): [
        "test_tables.py::test_a_column_that_stands_twice_is_refused",
        "test_tables.py::test_a_cell_of_another_kind_is_named",
        "test_tables.py::test_a_missing_perturbation_of_a_program_is_an_empty_cell",
    ],
}
POINTS = [*(f"F {number}" for number in range(1, 8)), *(f"G {number}" for number in range(1, 10))]


@cache
def _functions(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_named_guard_exists() -> None:
    named = [guard.partition("::") for guards in GUARDS.values() for guard in guards]
    assert [f"{file}::{name}" for file, _, name in named if name not in _functions(file)] == []


def test_every_point_has_a_guard() -> None:
    assert [point for point in POINTS if point not in {point for point, _ in GUARDS}] == []
    assert [what for what, guards in GUARDS.items() if not guards] == []
