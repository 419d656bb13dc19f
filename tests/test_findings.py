"""What a run shows: no sentence contradicts its table, whatever the table; and every section of a notebook has one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.claims import claims_checklist
from srdcr_lab.confidence import compared_at, discrimination, precision_steps
from srdcr_lab.debates import path_stability, prior_preference_by_round
from srdcr_lab.final_answer import matched_coverage, utility_differences
from srdcr_lab.knowledge import categories_by_domain
from srdcr_lab.lib.calibration import ece
from srdcr_lab.lib.comparison import Comparison, compare, compare_all, compare_pairs
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.statistics import jeffreys_interval, rank_correlation
from srdcr_lab.preference import biases, context_preference, future_against_past, offset_slopes
from srdcr_lab.records import BadInput
from srdcr_lab.sentences import FINDINGS, Finding, Relation, Sentence, can_be_told, finding
from tests.scripted import item
from tests.simulated import simulated

SAID = ("this run shows it", "it does not show it, but the opposite", "it cannot be told")
SAME, FEW, NONE = "it is the same on every item", "too few to tell", "not measured"
PHRASES = (*SAID, SAME, FEW, NONE)
NUMBER = r"[+-]?\d+\.\d+"


def parts(sentence: str) -> dict[str, str]:
    """What follows each of the phrases in a sentence."""
    found = {}
    for phrase in PHRASES:
        if phrase in sentence:
            after = sentence.split(phrase, 1)[1]
            found[phrase] = re.split("|".join(f"; {re.escape(each)}" for each in PHRASES), after)[0]
    return found


def agrees(name: str, sentence: str) -> int:
    """Each interval of a sentence lies as it says, and what it tells is of ten at least; returns how many it has."""
    relation, bound = FINDINGS[name].relation, FINDINGS[name].against
    n = 0
    for phrase, part in parts(sentence).items():
        counts = [int(count.replace(",", "")) for count in re.findall(r"(?:\bn =| of) (\d[\d,]*) ", part)]
        if phrase == NONE:
            assert 0 in counts or not counts, sentence
        else:
            assert not any(counts) or (min(filter(None, counts)) < 10) == (phrase == FEW), sentence
        pattern = rf"\[({NUMBER}), ({NUMBER})\](?: against (\S+?)(?=[,)]))?(?:, p [=<] (\S+?)(?=[,)]))?"
        for low, high, own, p in re.findall(pattern, part):
            n += 1
            edge = float(own or bound)
            above, below = float(low) > edge, float(high) < edge
            shows, opposite = (above, below) if relation is Relation.ABOVE else (below, above)
            expected = SAID[0] if shows else SAID[1] if opposite else SAID[2]
            by_p = SAID[2] if p and float(p) > 0.05 else expected
            assert phrase in (FEW, NONE, by_p), sentence
    return n


def questions(records: pd.DataFrame) -> pd.DataFrame:
    rows = records.drop_duplicates("question_id")
    low, high = jeffreys_interval(rows["sampled_accuracy"] * 32, 32)
    return rows.assign(accuracy_low=low, accuracy_high=high, redraw_stability=0.9 + rows["sampled_accuracy"] / 20)


def ranks(rows: pd.DataFrame) -> object:
    return rank_correlation(rows["sampled_accuracy"], rows["self_confidence"])


def steps(rows: pd.DataFrame, target: str = "prior_correct") -> object:
    return precision_steps(rows["self_confidence"], highly_known(rows) if target == "known" else rows[target])


def verdicts(records: pd.DataFrame) -> pd.DataFrame:
    return compare_all(records[records["method"] == "sr_dcr"], "acvd", column="design", name="verdict_right")


def of_acvd(records: pd.DataFrame) -> pd.DataFrame:
    return records[records["design"].fillna("acvd") == "acvd"]


ON_RECORDS: dict[str, Callable[[pd.DataFrame], Sentence]] = {
    "right_draws": lambda r: finding("right_draws", questions(r).head(3)),
    "within_category": lambda r: finding("within_category", questions(r)),
    "unknown": lambda r: finding("unknown", categories_by_domain(questions(r))),
    "extremes": lambda r: finding("extremes", questions(r)),
    "redrawn": lambda r: finding("redrawn", questions(r)),
    "prior_right": lambda r: finding("prior_right", questions(r)),
    "told_truly": lambda r: finding("told_truly", ranks(questions(r))),
    "separated": lambda r: finding("separated", discrimination(questions(r))),
    "precise": lambda r: finding("precise", steps(questions(r), "known")),
    "risky": lambda r: finding("risky", steps(questions(r)), 0.9),
    "same_side": lambda r: finding("same_side", compared_at(questions(r)[["self_confidence", "sampled_accuracy"]])),
    "calibrated": lambda r: finding("calibrated", ece(questions(r)["self_confidence"], questions(r)["prior_correct"])),
    "held_back": lambda r: finding("held_back", of_acvd(r), 0.9),
    "followed": lambda r: finding("followed", context_preference(r, by=["knowledge_category"])),
    "falls": lambda r: finding("falls", offset_slopes(of_acvd(r))),
    "later": lambda r: finding("later", future_against_past(of_acvd(r))),
    "biased": lambda r: finding("biased", biases(r[r["method"].isin(["few_shot", "golden"])])),
    "less_biased": lambda r: finding("less_biased", of_acvd(r)),
    "judged": lambda r: finding("judged", r),
    "judged_designs": lambda r: finding("judged_designs", r),
    "better_verdicts": lambda r: finding("better_verdicts", verdicts(r)),
    "moves": lambda r: finding("moves", path_stability(r)),
    "prior_preferred": lambda r: finding("prior_preferred", prior_preference_by_round(of_acvd(r), by=())),
    "ahead": lambda r: finding("ahead", of_acvd(r)),
    "ahead_answered": lambda r: finding("ahead_answered", of_acvd(r)),
    "more_right": lambda r: finding("more_right", compare_all(of_acvd(r))),
    "decided": lambda r: finding("decided", of_acvd(r)),
    "worth": lambda r: finding("worth", utility_differences(of_acvd(r), "sr_dcr", "few_shot", false_shares=(0, 1))),
    "matched": lambda r: finding("matched", matched_coverage(of_acvd(r))),
    "dearer": lambda r: finding("dearer", of_acvd(r)),
}  # fmt: skip

METHODS = ["few_shot", "golden", "judge_debate_1", "confidence_only", "debate_only", "sr_dcr"]


def some_methods(n_questions: int) -> pd.DataFrame:
    records = simulated(n_questions, ("acvd", "symmetric"), seed=3)
    return records[records["method"].isin(METHODS)].reset_index(drop=True)


DEBATED = some_methods(30)
KNOWN = DEBATED[DEBATED["knowledge_category"] == "HIGHLY_KNOWN"]
NOTHING = DEBATED.assign(
    **dict.fromkeys(("prior_answer", "context_answer", "final_answer", "verdict", "verdict_path", "decision")),
    **dict.fromkeys(("correct", "prior_correct"), pd.array([pd.NA] * len(DEBATED), "boolean")),
    missing="error", self_confidence=np.nan, sampled_accuracy=np.nan, knowledge_category=None,
    r_star=pd.array([pd.NA] * len(DEBATED), "Int64"),
)  # fmt: skip
RUNS = {
    "30 questions": DEBATED,
    "4 items": some_methods(2),
    "one question": some_methods(1),
    "one category": KNOWN,
    "every call failed": NOTHING,
    "no debate": DEBATED[DEBATED["method"] == "few_shot"],
    "true passages": DEBATED[DEBATED["level"] == "standard"],
    "one row": DEBATED[DEBATED["method"] == "sr_dcr"].head(1),
    "no row": DEBATED.iloc[:0],
}


@pytest.mark.parametrize("name", ON_RECORDS)
@pytest.mark.parametrize("run", RUNS)
def test_no_sentence_contradicts_the_records(run: str, name: str) -> None:
    if run == "no row" and FINDINGS[name].measure is None:
        pytest.skip("other measures make this table")
    said = ON_RECORDS[name](RUNS[run])
    assert said.startswith("Here: ")
    assert parts(said), said
    assert "nan" not in said
    intervals = agrees(name, said)
    assert intervals or any(each in said for each in (SAID[2], SAME, FEW, NONE)), said
    if run == "30 questions" and name not in ("later", "told_truly"):
        assert intervals, said


def table(of: Finding, rows: list[tuple[float, float, float, int]]) -> pd.DataFrame:
    """A table with the columns that a finding reads."""
    made = pd.DataFrame(rows, columns=[of.value, f"{of.ends}low", f"{of.ends}high", of.n])
    made = made.assign(**{name: [f"{name} {i}" for i in range(len(rows))] for name in of.by})
    return made.assign(**of.where, **({of.against: 0.5} if isinstance(of.against, str) else {}))


BY_TABLE = [name for name, each in FINDINGS.items() if each.measure is None]


@pytest.mark.parametrize("name", BY_TABLE)
def test_no_sentence_contradicts_a_table(name: str) -> None:
    """Clear of the bound on either side, across it, missing, barely clear with a huge n, on the bound, few, none."""
    of = FINDINGS[name]
    bound = 0.5 if isinstance(of.against, str) else of.against
    ends = [
        (bound + a, bound + b)
        for a, b in ((0.1, 0.3), (-0.3, -0.1), (-0.1, 0.1), (0.0003, 0.001), (math.nan,) * 2, (0, 0), (0.1, 0.3))
    ] + [(math.nan,) * 2]
    sizes = (60, 60, 10, 10_000_000, 10, 60, 9, 0)
    rows = [((low + high) / 2, low, high, n) for (low, high), n in zip(ends, sizes, strict=True)]
    said = finding(name, table(of, rows))
    assert agrees(name, said) == 5
    assert list(parts(said)) == list(PHRASES)
    assert "10,000,000" in said
    if of.by:
        shown = parts(said)[SAID[0]]
        above = [f"{of.by[0]} {i}" in shown for i in range(7)]
        assert above == [i in ((0, 3) if of.relation is Relation.ABOVE else (1,)) for i in range(7)]


@pytest.mark.parametrize("name", FINDINGS)
def test_of_nothing_it_says_not_measured(name: str) -> None:
    arguments = {"risky": (0.9,), "held_back": (0.9,)}
    for nothing in (None, pd.DataFrame(), []) if FINDINGS[name].measure is None else (None, pd.DataFrame()):
        said = finding(name, nothing, *arguments.get(name, ()))
        assert said.endswith(f": not measured (n = 0 {FINDINGS[name].of}).")


def test_a_sentence_by_hand() -> None:
    rows = pd.DataFrame({
        "a": "sr_dcr", "b": ["few_shot", "rci", "golden", "self_ask"], "condition": "overall",
        "difference": [0.2, -0.2, 0.5, 0.2], "low": [0.1, -0.3, 0.4, 0.1], "high": [0.3, -0.1, 0.6, 0.3],
        "n": 60, "n_questions": 30, "p_holm": [0.01, 0.02, math.nan, 0.08],
    })  # fmt: skip
    assert finding("more_right", rows) == (
        "Here: SR-DCR is right more often than what it is compared with, a missing answer counted as wrong (above 0): "
        "this run shows it for Few-Shot (+0.20 [+0.10, +0.30], p = 0.010); "
        "it does not show it, but the opposite for RCI (-0.20 [-0.30, -0.10], p = 0.020); "
        "it cannot be told for Self-Ask (+0.20 [+0.10, +0.30], p = 0.080); n = 60 items of 30 questions each; "
        "told where Holm's p is below 0.05."
    )


def test_where_no_item_differs_it_is_the_same_by_hand() -> None:
    """Equal on all of 60 items, and equal on average: one of them better once, the other once."""
    rows = pd.DataFrame({
        "a": "sr_dcr", "b": ["few_shot", "rci"], "condition": "overall", "difference": 0.0, "low": -0.03, "high": 0.03,
        "only_a": [0, 1], "only_b": [0, 1], "n": 60, "n_questions": 60, "p_holm": 1.0,
    })  # fmt: skip
    said = finding("more_right", rows)
    assert "it cannot be told for RCI (+0.00 [-0.03, +0.03], p = 1.000); it is the same on every item for Few-" in said
    assert "Few-Shot (+0.00); n = 60 items" in said


def test_shares_and_means_of_tables_by_hand() -> None:
    """Proponents who gave way, attempts that were accepted, the mean over seeds."""
    held = [True] * 10 + [False] * 10
    stood = pd.DataFrame(
        {"question_id": range(20), "held_right": held, "state": ["defend"] * 10 + ["concede", "revise"] * 5}
    )
    assert finding("gave_way", stood) == (
        "Here: most challenged proponents give way (above 0.5): this run shows it for wrong (1.00 [0.78, 1.00]); "
        "it does not show it, but the opposite for right (0.00 [0.00, 0.22]); n = 10 proponents of 10 questions each."
    )
    audit = pd.DataFrame({"question_id": range(10), "outcome": ["accepted"] * 5 + ["refused"] * 5})
    assert "it cannot be told (0.50 [0.22, 0.78], n = 10 attempts of 10 questions)" in finding("accepted", audit)
    worlds = pd.DataFrame({"world": "apart", "seed": range(10), "rank_correlation": [0.96, 0.98] * 5})
    assert "this run shows it (0.97 [0.96, 0.98], n = 10 seeds)" in finding("recovered", worlds)
    assert "too few to tell (0.97 [0.96, 0.98], n = 9 seeds)" in finding("recovered", worlds.tail(9))


def test_misled_spared_and_promised_by_hand() -> None:
    """Twelve questions on either side; of eleven without an error nine that were not debated; a rule's risk."""
    sides = pd.DataFrame({"question_id": range(24), "method": "ra_rag", "share_misinforming": [0.2] * 12 + [0.6] * 12})
    lost = finding("misled", sides.assign(exact_match=[True] * 12 + [False] * 12))
    assert "this run shows it (-1.00 [-1.00, " in lost
    assert lost.endswith(", n = 12 questions on the smaller side).")
    assert "it cannot be told (+0.00 [" in finding("misled", sides.assign(exact_match=[True, False] * 12))
    records = pd.DataFrame({
        "item_id": range(12), "question_id": range(12), "method": "cfmad_when_unsure",
        "missing": ["error"] + [None] * 11,
    })  # fmt: skip
    turns = pd.DataFrame({"item_id": [0, 10, 11], "method": "cfmad_when_unsure", "stance": [None, "A", "A"]})
    assert "this run shows it (0.82 [" in finding("spared", records, turns)
    rules = pd.DataFrame({"accepted": [True, True, False], "coverage": [0.2, 0.4, 0.9], "n_answered": [20, 40, 90]})
    chosen = SimpleNamespace(rule_="τ", tests_=rules, risk_=(0.05, 0.01, 0.1), sizes_={"n_questions": 50})
    assert "this run shows it (0.05 [0.01, 0.10], n = 40 answers of 50 questions)" in finding(
        "promised", chosen, against=0.2
    )
    none = finding("promised", SimpleNamespace(rule_=None), against=0.2)
    assert none.endswith("(below 0.2): not measured, no rule passes the test (n = 0 answers).")


def test_sides_kept_and_what_knowing_does_by_hand() -> None:
    """Of ten debates a Defender who keeps to 1934 in half of its turns, and a Critic who was given nothing to keep to;
    Highly-Known questions that are never followed, Unknown ones that always are."""
    items = {f"q{n}": item(1934, question_id=f"q{n}") for n in range(10)}
    turns = pd.DataFrame([
        {"item_id": name, "question_id": name, "model": "m", "design": "acvd", "role": role, "stance": stance,
         "stated_answer": stated}
        for name in items
        for role, stance, stated in (("defender", "1934", "1934"), ("defender", "1934", None), ("critic", None, "1874"))
    ])  # fmt: skip
    kept = finding("keeps_side", turns, items)
    assert "for defender (0.50 [" in kept
    assert "n = 20 turns of 10 questions)" in kept
    assert "not measured for critic (–, n = 0 turns, 10 missing)" in kept
    many = some_methods(90)
    known = many[many["knowledge_category"].isin(["HIGHLY_KNOWN", "UNKNOWN"])]
    claim = np.where(known["knowledge_category"] == "UNKNOWN", known["claimed_answer"], known["gold_answer"])
    followed = known.assign(context_answer=claim, final_answer=claim, prior_answer=known["gold_answer"])
    assert "this run shows it for questions about years (-1.00 [" in finding("known_followed", followed)
    assert "not measured, one of the two has no false passage" in finding("known_followed", KNOWN)


def test_words_said_again_by_hand() -> None:
    """Of one speaker's turns in one debate: the first counts for nothing, a later one if it was said before."""
    said = {"defender": "abba", "critic": "aaaa"}
    turns = pd.DataFrame([
        {"item_id": f"q{n}", "question_id": f"q{n}", "method": "sr_dcr", "design": design, "model": "m", "role": role,
         "speaker": "", "position": place, "text": text}
        for n in range(20) for design in ("acvd", "symmetric") for role, texts in said.items()
        for place, text in enumerate(texts)
    ])  # fmt: skip
    told = finding("repeats", turns.sample(frac=1, random_state=0))
    assert "this run shows it for critic (1.00 [" in told
    assert "defender (0.67 [" in told
    assert "n = 120 turns of 20 questions each" in told
    several = finding("repeats", pd.concat([turns, turns.assign(model="other")]))
    assert ", m · critic (" in several  # a model is named once
    assert "defender (0.67 [" in several  # one model's turns are not said again by another of the same item
    assert "n = 120 turns of 20 questions each" in several


WHICH = "Here: these questions tell which of SR-DCR and Few-Shot has more right answers: "
LESS = "Here: these questions tell that SR-DCR and Few-Shot differ by less than 0.10 in right answers "
CANNOT = "Here: these questions cannot tell which of SR-DCR and Few-Shot has more right answers "


def compared(low: float, high: float, n_questions: int) -> Comparison:
    """Of two items a question, with this interval."""
    others = dict.fromkeys((each.name for each in fields(Comparison)), math.nan)
    ends = {"difference": (low + high) / 2, "low": low, "high": high, "n": 2 * n_questions, "n_questions": n_questions}
    return Comparison(**others | ends)


@pytest.mark.parametrize(
    ("ends", "n", "said", "then"),
    [
        ((0.001, 0.201), 60, WHICH + "SR-DCR ", ""),
        ((-0.3, -0.1), 60, WHICH + "Few-Shot ", ""),
        ((0.0, 0.2), 60, CANNOT, "About 130 such questions would tell one of 0.10 in four studies of five."),
        ((-0.099, 0.099), 60, LESS, ""),
        ((-0.1, 0.099), 60, CANNOT, "About 130 such questions would"),
        ((-0.5, 0.5), 10, CANNOT, "About 520 such questions would"),
        ((-0.5, 0.5), 9, CANNOT, "From so few it cannot be said how many would."),
        (
            (-0.02, 0.104),
            1000,
            CANNOT,
            "So many would tell a true one of 0.10 in four studies of five: here it lies in between.",
        ),
    ],
)
def test_whether_so_many_questions_tell_by_hand(ends: tuple[float, float], n: int, said: str, then: str) -> None:
    """(1.96 + 0.84) / 1.96 = 1.43: of 60 questions that give ± 0.1 it takes 1.43² as many."""
    told = can_be_told(compared(*ends, n), "sr_dcr", "few_shot")
    assert told.startswith(said)
    assert then in told
    assert f"n = {2 * n:,} items of {n:,} questions" in told
    assert (said == CANNOT) == ("neither 0 nor a difference of 0.10 is ruled out" in told)


@pytest.mark.parametrize("run", RUNS)
def test_what_is_said_of_the_size_is_true_of_the_interval(run: str) -> None:
    found = compare(of_acvd(RUNS[run]), "sr_dcr", "few_shot")
    told = can_be_told(found, "sr_dcr", "few_shot")
    if not found.n:
        assert told.endswith("SR-DCR and Few-Shot has more right answers cannot be told: no item has both (n = 0).")
    elif told.startswith(WHICH):
        assert told.startswith(WHICH + "SR-DCR ") if found.low > 0 else found.high < 0
    elif told.startswith(LESS):
        assert -0.1 < found.low <= 0 <= found.high < 0.1
    else:
        assert told.startswith(CANNOT)
        assert found.low <= 0 <= found.high
        assert max(-found.low, found.high) >= 0.1


def test_as_many_questions_as_are_said_do_tell_four_times_in_five() -> None:
    """Answers of which A has a tenth more right: the number is learnt from 40 questions, and tried on as many."""
    rng = np.random.default_rng(5)

    def study(n: int, ahead: float) -> Comparison:
        gap = rng.choice([1, -1, 0], n, p=[0.15 + ahead / 2, 0.15 - ahead / 2, 0.7])
        rows = pd.DataFrame({"a": gap == 1, "b": gap == -1, "question_id": range(n), "level": "mild"})
        return compare_pairs(rows.astype({"a": float, "b": float}))

    said = [can_be_told(study(40, 0.0), "a", "b") for _ in range(60)]
    needed = [int(number) for each in said for number in re.findall(r"About (\d+) such", each)]
    n = int(np.median(needed))
    told = [can_be_told(study(n, 0.1), "a", "b").endswith(").") for _ in range(300)]
    assert 100 < n < 400
    assert 0.74 < np.mean(told) < 0.95


def test_the_bound_may_be_given() -> None:
    above = steps(questions(DEBATED))
    assert "(below 0.9): this run shows it (" in finding("risky", above, 0.9, against=0.9)
    with pytest.raises(BadInput, match="unknown finding 'risk'; known are "):
        finding("risk", above)


def test_claims_are_counted_by_their_own_bound_and_relation() -> None:
    claims = claims_checklist(of_acvd(DEBATED))
    said = parts(finding("claims", claims))
    phrases = {"holds": SAID[:1], "does not hold": SAID[1:2], "cannot tell": (SAID[2], SAME, FEW), NONE: (NONE,)}
    for standing, alike in phrases.items():
        rows = claims[claims["standing"] == standing]
        names = {" · ".join(filter(None, pair)) for pair in zip(rows["claim"], rows["denominator"], strict=True)}
        texts = [said.get(phrase, "").removeprefix(" for ").split("; the table")[0].rstrip(".") for phrase in alike]
        assert {name for text in texts for name in text.split(", ")} - {""} == names


def test_what_a_run_brings_is_escaped() -> None:
    rows = table(FINDINGS["unknown"], [(0.9, 0.8, 0.95, 9), (0.9, 0.8, 0.95, 8)]).assign(
        domain=["<b>years</b>", "\x0ba"]
    )
    shown = finding("unknown", rows)._repr_html_()
    assert "&lt;b&gt;years" in shown
    assert shown.startswith("<p><b>Here:</b> more than half")
    several = finding("unknown", table(FINDINGS["unknown"], [(0.9, 0.8, 0.95, 60), (0.2, 0.1, 0.3, 50)]))
    assert several._repr_html_().count("<li><b>") == 2
    assert re.sub(r"<.*?>|\s", "", several._repr_html_()) == re.sub(r"[ ;.]+(?=it does|$)| ", "", several)


# -- notebooks --------------------------------------------------------------------------------------------------------

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("0*.ipynb"))
MEASURES_NOTHING = (
    *("Parameters", "Next", "Another model, other ", "The designs", "Turn the knobs", "Read the debates", "The table"),
    *("Read more debates", "The report to hand on", "A statement against a category tag", "The runs", "Words of these"),
)


def cells(path: Path) -> list[tuple[str, str]]:
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text("utf-8"))["cells"]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_section_ends_with_what_the_run_shows(path: Path) -> None:
    sections: dict[str, str] = {}
    heading = ""
    for kind, source in cells(path):
        heading = source.splitlines()[0][3:] if kind == "markdown" and source.startswith("## ") else heading
        sections[heading] = source
        assert "\n\n## " not in source or heading == "", "a section begins with a cell of its own"
        assert "What you should see" not in source
    sources = "\n".join(source for _, source in cells(path))
    assert "display(" not in sources or not re.search(r"\bfor display\b", sources), "display is hidden by a variable"
    bare = [name for name, last in sections.items() if name and 'finding("' not in last]
    assert [name for name in bare if not name.startswith(MEASURES_NOTHING)] == []


def test_the_notebooks_say_every_finding_and_no_other() -> None:
    said = {name for path in NOTEBOOKS for _, source in cells(path) for name in re.findall(r'finding\("(\w+)"', source)}
    assert said == set(FINDINGS)
