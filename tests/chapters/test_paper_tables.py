"""Tables 1 and 2 in the paper's layout: numbers, marks, escapes; and the paper's own, as printed."""

import re
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.evaluation import of_acvd
from srdcr_lab.lib.comparison import compare, compare_all
from srdcr_lab.lib.gating import redecided
from srdcr_lab.lib.summary import PaperTable, accuracy_by_stratum, in_order, summary, table_1, table_2
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import folder
from srdcr_lab.records.names import METHOD_LABELS
from srdcr_lab.study import load_run
from srdcr_lab.study.plan import SPREAD
from tests.lib.test_html_page import tags_of
from tests.simulated import frame, simulated


def row(method: str, question: str, offset: float, correct: bool | None, **more: Any) -> dict[str, Any]:
    level = {0: "standard", 20: "subtle", 60: "moderate"}[abs(offset)]
    return {
        "model": "m", "method": method, "design": None, "question_id": question, "level": level,
        "perturbation_kind": "offset" if offset else "none", "perturbation_value": offset or None,
        "correct": correct, "missing": None if correct is not None else "abstained", "verdict": None,
    } | more  # fmt: skip


ROWS = frame(
    *(row("sr_dcr", q, 0, c) for q, c in zip("abcd", (True, True, True, None), strict=True)),
    *(row("sr_dcr", q, 20, c) for q, c in zip("abc", (True, None, False), strict=True)),
    row("sr_dcr", "d", -60, True),
    *(row("few_shot", q, 0, True) for q in "abcd"),
    *(row("few_shot", q, 20, False) for q in "abc"),
    row("few_shot", "d", -60, False),
    *(row("golden", q, 0, True) for q in "abcd"),
)


def test_accuracy_by_stratum_by_hand() -> None:
    """SR-DCR: 1 of 3 at 20 (1 of 2 answered), 1 of 1 at 60; macro 2/3, micro 2/4."""
    table = accuracy_by_stratum(ROWS)
    found = table[table["method"] == "sr_dcr"].set_index("stratum")
    assert list(found.index) == ["offset 20", "offset 60", "macro", "micro"]
    assert found["n"].tolist() == [3, 1, 4, 4]
    assert found["accuracy"].tolist() == pytest.approx([1 / 3, 1, 2 / 3, 1 / 2])
    assert found["selective_accuracy"].tolist() == pytest.approx([1 / 2, 1, 3 / 4, 2 / 3])
    assert found["coverage"].tolist() == pytest.approx([2 / 3, 1, 5 / 6, 3 / 4])


def test_other_kinds_stand_by_level_after_the_offsets() -> None:
    records = pd.concat([ROWS, frame(row("sr_dcr", "e", 60, True, perturbation_kind="factor", perturbation_value=3))])
    assert list(dict.fromkeys(accuracy_by_stratum(records, intervals=False)["stratum"])) == [
        "offset 20", "offset 60", "factor moderate", "macro", "micro",
    ]  # fmt: skip


def test_macro_is_of_the_offsets_as_in_the_paper_where_there_are_any() -> None:
    """B: SR-DCR has 1 of 3 at 20, 1 of 1 at 60 and 0 of 1 under a factor: macro 2/3, not 4/9; micro 2/5."""
    factor = frame(row("sr_dcr", "e", 60, False, perturbation_kind="factor", perturbation_value=3))
    for records, macro in ((pd.concat([ROWS, factor]), (1 / 3 + 1) / 2), (factor, 0.0)):
        table = accuracy_by_stratum(records, intervals=False).set_index(["method", "stratum"])["accuracy"]
        assert table["sr_dcr", "macro"] == pytest.approx(macro)
    table = accuracy_by_stratum(pd.concat([ROWS, factor]), intervals=False).set_index(["method", "stratum"])
    assert table.loc[("sr_dcr", "micro"), "accuracy"] == pytest.approx(2 / 5)
    assert table.loc[("sr_dcr", "macro"), "n"] == 4


def test_several_designs_and_runs_have_rows_of_their_own() -> None:
    records = simulated(10, ("acvd", "symmetric"))
    assert "design" in summary(records, intervals=False)
    assert "run" not in summary(records.assign(run="one"), intervals=False)
    two = pd.concat([records.assign(run="one"), records.assign(run="two")])
    assert len(summary(two, intervals=False)) == 2 * len(summary(records, intervals=False))


def test_rows_stand_in_the_papers_order_and_golden_last() -> None:
    labels = list(table_1(simulated(10)).cells["row"].unique())
    assert labels == [METHOD_LABELS[name] for name in METHOD_LABELS if METHOD_LABELS[name] in labels]
    assert labels[-1] == "Golden Baseline"


def shown(table: PaperTable) -> list[str]:
    """The text of each row, with its marks."""
    rows = re.findall("<tr>(.*?)</tr>", table.html())
    return [" ".join(re.sub("</?t[hd][^>]*>", " ", each).split()) for each in rows]


def test_the_best_is_bold_the_second_underlined_and_golden_is_not_ranked() -> None:
    _, few, ours, golden = shown(table_1(ROWS))
    assert few == "m Few-Shot <b>100.0</b> (100.0) <u>0.0</u> (0.0) n = 4 <u>50.0</u> (50.0) n = 8"
    assert ours == "SR-DCR <u>75.0</u> (100.0) <b>50.0</b> (66.7) n = 4 <b>62.5</b> (83.3) n = 8"
    assert golden == "Golden Baseline 100.0 (100.0) – (n = 0) 100.0 (100.0) n = 4"


def test_cells_of_few_items_are_not_ranked_and_a_column_of_them_is_not_shown() -> None:
    """Nine false passages at 20, eleven at 60: the best of the first is nobody's merit."""
    offsets = [20] * 9 + [60] * 11
    rows = [row(m, f"q{i}", o, m == "rci") for m in ("rci", "few_shot") for i, o in enumerate(offsets)]
    table = table_2(frame(*rows))
    marks = table.cells.set_index(["method", "column"])["mark"]
    assert (marks["rci", "offset 20"], marks["rci", "offset 60"], marks["rci", "micro"]) == ("few", "best", "best")
    assert "Offset 20" not in table.html()
    assert "Columns of fewer than 10 items are left out; the CSV has all 4." in table.html()
    eleven = [row("rci", f"p{i}", 20, True) for i in range(11)]
    assert table_2(frame(*rows, *eleven)).html().count('<span style="color: #999">') == 1
    assert "fewer than" not in table_2(frame(*(each for each in rows if each["perturbation_value"] == 60))).html()


def test_equal_bests_are_both_bold() -> None:
    records = frame(*(row(method, "a", 0, True) for method in ("few_shot", "rci")), row("self_ask", "a", 0, False))
    marks = table_1(records).cells.query("column == 'standard'").set_index("method")["mark"].to_dict()
    assert marks == {"few_shot": "best", "rci": "best", "self_ask": "second"}


def test_heads_carry_n_and_a_column_with_unlike_n_shows_it_in_its_cells() -> None:
    head, few_shot, ours = shown(table_2(ROWS[ROWS["method"] != "golden"]))
    assert head == "Model Method Mean over offsets (macro) (n = 4) All items (micro) (n = 4)"
    grey = '<span style="color: #999">{}</span>'.format
    assert few_shot == f"m Few-Shot {grey('0.0')} (0.0) {grey('0.0')} (0.0)"
    assert ours == f"SR-DCR {grey('66.7')} (75.0) {grey('50.0')} (66.7)"
    assert "False passages Mean" in shown(table_1(ROWS))[0]


def test_intervals_on_demand() -> None:
    assert "[" not in table_1(ROWS).html()
    assert '<td style="text-align: right"><b>50.0</b> (66.7) [' in table_1(ROWS, intervals=True).html()


def test_a_table_holds_no_markup_of_a_name() -> None:
    evil = "<script>alert(1)</script>|**x**_y_[z](http://e)"
    records = ROWS.assign(model=evil, method=[evil, *ROWS["method"][1:]], run="a")
    tags = {tag for tag, _ in tags_of(table_1(records).html())}
    assert tags == {"table", "caption", "thead", "tr", "th", "tbody", "td", "b", "u"}


def test_every_printed_number_is_there() -> None:
    printed = pd.read_csv(folder("reference") / "sr_dcr_tables.csv")
    assert printed.groupby(["table", "model"]).size().to_dict() == {
        (table, model): n for table, n in (("Table 1", 27), ("Table 2", 54)) for model in printed["model"].unique()
    }
    assert (printed["model"].nunique(), set(printed["method"]) < {*METHOD_LABELS}) == (5, True)


def test_a_judge_without_a_debate_is_a_row_of_the_main_table() -> None:
    run = load_run("pocket")
    records = of_acvd(run)
    with pytest.raises(BadInput, match=r"no rows of SR-DCR \(ACVD\); srdcr run --methods sr_dcr --design acvd makes"):
        of_acvd(run.part("symmetric"), "sr_dcr")
    (shown,) = (row for row in table_1(records).cells.query("column == 'overall'").itertuples() if "alone" in row.row)
    alone = run.records.query("method == 'sr_dcr' and design == 'judge_alone'")
    assert (shown.row, shown.n, shown.accuracy) == ("SR-DCR (Judge alone)", 120, alone["right"].mean())
    assert "sr_dcr (judge_alone)" in set(compare_all(records)["b"])
    decided = redecided(records, 0.5).query("method == 'sr_dcr (judge_alone)'")
    assert decided["tau"].eq(0.5).all()
    assert decided["decision"].ne(records.loc[decided.index, "decision"]).any()
    gain = compare(records, "sr_dcr", "few_shot").difference  # `srdcr plan` says by it what a study can tell
    assert (gain.high - gain.low) / 2 / 1.96 * 60**0.5 == pytest.approx(SPREAD, abs=0.005)
    assert in_order(summary(records, intervals=False))["method"].iloc[-1] == "golden"
