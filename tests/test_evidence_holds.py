"""What readers found wrong in the evidence, who recomputed everything, and the test that guards against each.

A are errors, B deviations from the papers that no reader was told of. What no test guards yet stands in `OPEN`, with
the reason. `make guarantees` prints the simulations behind A 2 to A 4.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab.measures import discrimination
from tests.test_nothing_breaks_it import TESTS, _functions

NOTEBOOKS = TESTS.parent / "notebooks"

# point, what was found → the tests that guard against it: FILE::FUNCTION in this folder
GUARDS: dict[tuple[str, str], list[str]] = {
    ("A 1", "claims that cannot hold where missing answers count as wrong"): [
        "test_claims_checklist.py::test_each_denominator_by_hand",
        "test_claims_checklist.py::test_denominators_that_disagree_are_said_to",
    ],
    ("A 2", "a true claim about every offset or every method is refuted by the luckiest rival"): [
        "test_claims_checklist.py::test_ahead_of_every_other_method_needs_all_of_them_and_behind_one_is_enough",
        "test_claims_checklist.py::test_the_least_over_the_offsets_needs_every_offset",
    ],
    ("A 3", "a contrast forgets what both halves of a question have in common"): [
        "test_intervals.py::test_a_contrast_of_both_halves_takes_what_they_share_into_account",
        "test_intervals.py::test_few_unlike_pairs_have_the_adjusted_interval_and_no_false_certainty",
    ],
    ("A 4", "a claim holds against the exact test"): [
        "test_claims_checklist.py::test_a_claim_does_not_hold_against_the_exact_test"
    ],
    ("A 5", "the kind of confidence depends on the order of the methods"): [
        "test_calibration_targets.py::test_the_kind_does_not_depend_on_the_order_of_the_methods"
    ],
    ("A 6", "true exposures are computed from a rounded share"): [
        "test_plots_knowledge.py::test_exposure_leaves_out_what_was_not_drawn_or_not_listed"
    ],
    ("A 7", "an unparsed V* counts as unstabilised"): [
        "test_verdicts.py::test_a_path_is_unstabilised_where_the_protocol_says_so"
    ],
    ("A 8", "half of a claim is tested; losing on true passages is a gain"): [
        "test_claims_checklist.py::test_the_worse_half_by_hand"
    ],
    ("A 9", "notebooks say what their tables contradict"): [
        "test_evidence_holds.py::test_no_notebook_says_what_its_table_contradicted"
    ],
    ("A 9", "a slider and the table beside it have different intervals"): [
        "test_live.py::test_the_live_difference_and_its_interval_are_those_of_a_comparison"
    ],
    ("A 9", "n = 297 of 300 questions beside n_missing = 0"): [
        "test_evidence_holds.py::test_every_question_is_in_one_count_of_discrimination",
        "test_discrimination.py::test_missing_ones_are_left_out_and_counted",
    ],
    ("A 9", "05's main figure leaves out the best methods"): [
        "test_evidence_holds.py::test_notebook_05_draws_the_most_accurate_methods"
    ],
    ("A 9", "06's message on needed questions is wrong where there are 43"): [
        "test_thresholds.py::test_the_number_that_it_takes_is_true_of_what_is_there"
    ],
    ("A 9", "06 draws whiskers of one estimator on points of another"): [
        "test_evidence_holds.py::test_every_interval_of_a_figure_is_of_the_point_beside_it"
    ],
    ("B 1", "the preset paper lets debaters state answers of their own"): [
        "test_design.py::test_debaters_of_the_paper_are_given_the_context_and_the_prior_answer_to_defend",
        "test_design.py::test_own_answers_is_the_same_debate_without_being_told",
        "test_sharing.py::test_a_folder_of_an_earlier_version_is_named_truly_and_resumed",
    ],
    ("B 2", "exemplars of the naive debate and eight templates tilt the comparison"): [
        "test_prompts.py::test_no_baseline_is_warned_of_the_passage",
        "test_naive_debate.py::test_the_exemplars_do_not_say_where_their_answers_come_from",
    ],
    ("B 3", "Table 2's macro mean is not of the paper's offsets"): [
        "test_paper_tables.py::test_macro_is_of_the_offsets_as_in_the_paper_where_there_are_any"
    ],
    ("B 4", "the dialectical debate hardly happens, and nobody says so"): [
        "test_evidence_holds.py::test_notebook_08_counts_the_advocates_who_challenge_nobody"
    ],
    ("B 5", "the card's met targets are point estimates"): [
        "test_pocket_report.py::test_a_target_that_the_interval_spans_is_told",
    ],
    ("B 6", "power is for one test where a family decides"): [
        "test_power.py::test_the_power_is_that_of_the_family_that_decides"
    ],
    ("B 6", "two denominators of 'abstained' stand in 05 unexplained"): [
        "test_evidence_holds.py::test_notebook_05_says_what_abstain_counts"
    ],
}
OPEN: dict[tuple[str, str], str] = {}
POINTS = [*(f"A {number}" for number in range(1, 10)), *(f"B {number}" for number in range(1, 7))]


def test_every_named_guard_exists() -> None:
    named = [guard.partition("::") for guards in GUARDS.values() for guard in guards]
    assert [f"{file}::{name}" for file, _, name in named if name not in _functions(file)] == []


def test_every_point_has_a_guard_or_is_open() -> None:
    assert sorted({point for point, _ in [*GUARDS, *OPEN]}) == POINTS
    assert [what for what, guards in GUARDS.items() if not guards] == []
    assert not set(GUARDS) & set(OPEN)


# What has no other room


def _source(name: str) -> str:
    cells = json.loads((NOTEBOOKS / name).read_text("utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("00_start_here.ipynb", "not far below"),
        ("05_full_evaluation.ipynb", r"[Cc]onfidence alone cannot"),
        ("07_counterfactual_debate.ipynb", "[Ii]t costs less"),
    ],
)
def test_no_notebook_says_what_its_table_contradicted(name: str, said: str) -> None:
    assert not re.search(said, _source(name))


# What low and high are of, the first of these columns that a figure's table has.
POINTS_DRAWN = ("value", "share", "frequency", "precision", "spearman", "flipped", "utility", "difference", "risk")


@pytest.mark.parametrize("path", sorted((NOTEBOOKS.parent / "figures").glob("*.csv")), ids=lambda path: path.stem)
def test_every_interval_of_a_figure_is_of_the_point_beside_it(path: Path) -> None:
    table = pd.read_csv(path)
    ends = [(name, f"{name}_low", f"{name}_high") for name in table if f"{name}_low" in table]
    if "low" in table and "mark" not in table:  # Tables 1 and 2 have one interval for two accuracies
        ends.append((next(name for name in POINTS_DRAWN if name in table), "low", "high"))
    for name, low, high in ends:
        rows = table.dropna(subset=[name, low, high])
        assert (rows[low] <= rows[name] + 1e-9).all(), name
        assert (rows[name] <= rows[high] + 1e-9).all(), name


def test_every_question_is_in_one_count_of_discrimination() -> None:
    """Of five questions one prior answer was not read: it has neither confidence nor a target."""
    questions = pd.DataFrame(
        {
            "confidence_kind": "mean_logprob",
            "self_confidence": [0.9, 0.4, 0.7, 0.2, None],
            "prior_correct": pd.array([True, False, True, False, None], "boolean"),
            "sampled_accuracy": [1.0, 0.0, 0.9, 0.1, 0.0],
            "knowledge_category": ["HIGHLY_KNOWN", "UNKNOWN", "HIGHLY_KNOWN", "WEAKLY_KNOWN", "UNKNOWN"],
        }
    )
    table = discrimination(questions).set_index("target")
    assert (table[["n", "n_missing", "n_unlabelled"]].sum(axis=1) == len(questions)).all()
    assert table.loc["prior answer right", ["n", "n_missing", "n_unlabelled"]].tolist() == [4, 0, 1]
    assert "n_unlabelled" in _source("02_confidence_and_knowledge.ipynb")


def test_notebook_05_draws_the_most_accurate_methods() -> None:
    assert re.search(r'chosen = .+nlargest\(3, "accuracy"\)', _source("05_full_evaluation.ipynb"))


def test_notebook_05_says_what_abstain_counts() -> None:
    assert "an unparsed verdict is decided as ABSTAIN; as a reason for a missing answer" in _source(
        "05_full_evaluation.ipynb"
    )


def test_notebook_08_counts_the_advocates_who_challenge_nobody() -> None:
    assert re.search(r"print\(f.+silent\.sum\(\).+challenge nobody", _source("08_conflicting_documents.ipynb"))
