"""The same study with other seeds: what the measures say of it by hand, and how a run with repeats behaves."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import srdcr_lab as lab
from srdcr_lab.claims import CLAIMS, Claim, check_claims
from srdcr_lab.lib.comparison import each_repeat, over_both, over_repeats, what_varied
from srdcr_lab.lib.sentences import Standing
from srdcr_lab.lib.summary import summary
from srdcr_lab.records import BadInput, BudgetExhausted, Completion, Request
from tests.conftest import Srdcr
from tests.doubles import ScriptedModel
from tests.lib.test_comparison import two_methods as correct_or_not
from tests.loopback.fixture import priced
from tests.loopback.server import Loopback
from tests.scripted import finished
from tests.simulated import simulated
from tests.study.test_resume import arguments, records, started, wait_until


def two_methods(a: str, b: str) -> pd.DataFrame:
    return correct_or_not(a, b).assign(missing=None)


def repeated(*tables: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table.assign(repeat=k) for k, table in enumerate(tables, start=1)], ignore_index=True)


def test_both_variations_by_hand() -> None:
    """Repeats at .5, .6, .7 with half-widths .2, pooled .6 ± .16: V is .04 and .0256 of t²₂₉; what answers waver takes
    (.04 − .0256) · 1.5 / 3 = .0072 of the latter, and the repeats' own t interval has a half of t₂ · .1 / √3."""
    each = [(m, m - 0.2, m + 0.2) for m in (0.5, 0.6, 0.7)]
    half = math.sqrt(0.0256 - 0.0072 + t.ppf(0.975, 2) ** 2 * 0.01 / 3)
    assert over_both((0.6, 0.44, 0.76), each) == pytest.approx((0.1, 0.6 - half, 0.6 + half, 3))
    assert over_both((0.6, 0.44, 0.76), each, bounds=(0.2, 0.7))[2] == 0.7


def test_equal_repeats_add_nothing_and_one_repeat_says_nothing() -> None:
    ends = (0.6, 0.4, 0.8)
    assert over_both(ends, [ends] * 3)[:3] == pytest.approx((0, 0.4, 0.8))
    assert np.isnan(over_both(ends, [ends, (math.nan,) * 3])[:3]).all()


def test_accuracy_over_repeats_by_hand() -> None:
    """Ten questions, A right on 6, 7 and 5; B on 4 each time. Values are means, an interval over questions is that of
    each question's mean, and equal repeats have that of one."""
    true = correct_or_not("r" * 12, "r" * 12, "standard").assign(missing=None)
    tables = [pd.concat([two_methods("r" * k + "w" * (10 - k), "rrrrwwwwww"), true]) for k in (6, 7, 5)]
    table = over_repeats(summary, repeated(*tables)).query("condition == 'perturbed' and measure == 'accuracy'")
    a, b = (table[table["method"] == method].iloc[0] for method in "ab")
    assert (a["value"], a["sd"], a["n"], a["n_questions"], a["n_repeats"]) == pytest.approx((0.6, 0.1, 10, 10, 3))
    assert a["both_low"] < a["low"] < 0.6 < a["high"] < a["both_high"] <= 1
    one = summary(tables[0]).query("condition == 'perturbed' and method == 'b'").iloc[0]
    assert b[["low", "high"]].tolist() == pytest.approx([one["accuracy_low"], one["accuracy_high"]])
    assert b[["both_low", "both_high", "sd"]].tolist() == pytest.approx([one["accuracy_low"], one["accuracy_high"], 0])
    two = over_repeats(summary, repeated(*[simulated(20, ("acvd", "symmetric"))] * 2)).query("method == 'sr_dcr'")
    assert two.groupby("design").size().tolist() == [6, 6], "a row for each of three conditions and two measures"


def test_an_answer_that_is_missing_in_one_repeat_leaves_its_selective_accuracy_out() -> None:
    tables = [two_methods(a, "rrrr") for a in ("mmmm", "rrrw", "rrww")]
    table = over_repeats(summary, repeated(*tables)).query("condition == 'perturbed' and method == 'a'")
    assert dict(zip(table["measure"], table["n_repeats"], strict=True)) == {"accuracy": 3, "selective_accuracy": 2}
    assert table["value"].tolist() == pytest.approx([5 / 12, 5 / 8])


def test_what_a_seed_has_changed() -> None:
    first = simulated(20)
    other = first.assign(
        sampled_accuracy=(first["sampled_accuracy"] - 0.5).abs(), self_confidence=first["self_confidence"] + 1e-7
    )
    other.loc[(other["method"] == "sr_dcr") & (other["question_id"] == "q0"), "final_answer"] = "1"
    twice = [
        pd.concat([rows, rows.assign(model="two", final_answer="1")], ignore_index=True) for rows in (first, other)
    ]
    varied = what_varied(repeated(*twice)).set_index(["what", "method"])
    assert varied.loc[("final_answer", "few_shot"), "share"] == 0
    table = what_varied(repeated(first, other)).set_index(["what", "method"])
    assert table.loc[("sampled_accuracy", ""), "share"] > 0.5
    assert table.loc[("prior_answer", ""), ["share", "n", "n_questions"]].tolist() == [0, 40, 20]
    assert table.loc[("self_confidence", ""), "share"] == 0  # last digits
    assert table.loc[("final_answer", "sr_dcr"), "share"] == pytest.approx(2 / 40)
    assert table.loc[("final_answer", "few_shot"), "share"] == 0


def test_repeats_of_other_items_or_methods_and_a_measure_of_one_row_a_question_are_refused() -> None:
    one = two_methods("rrw", "rww")
    with pytest.raises(BadInput, match="repeats 1 and 2 are not of one study: item_id 'q2/subtle' is in only one"):
        each_repeat(repeated(one, two_methods("rr", "rw")))
    with pytest.raises(BadInput, match="repeats 1 and 3 are not of one study: method 'b' is in only one of them"):
        each_repeat(repeated(one, one, one[one["method"] == "a"]))
    with pytest.raises(BadInput, match="one has 6 rows, the other 5"):
        each_repeat(repeated(one, one.iloc[:-1]))
    with pytest.raises(BadInput, match="no column repeat; srdcr run --repeats"):
        over_repeats(summary, one)
    rows = repeated(*[two_methods("rrw", "rww")] * 2)
    with pytest.raises(ValueError, match="one row a question"):
        over_repeats(lambda part: summary(part.drop_duplicates(["question_id", "method"])), rows)


CHOSEN = ("4.2c", "4.4a1", "4.4g", "3.1")
METHODS = ("sr_dcr", "few_shot", "debate_only", "naive_debate", "judge_debate_5")


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.key in CHOSEN], ids=lambda claim: claim.key)
def test_a_claim_carries_the_variation_over_repeats(claim: Claim) -> None:
    """Three draws of one model: the interval is `over_both` of the three and of all together, n that of one repeat.
    Repeats that are equal change nothing."""
    designs = ("acvd", "symmetric") if claim.key == "3.1" else ("acvd",)
    tables = [simulated(20, designs, seed).query("method in @METHODS") for seed in range(3)]
    of_items = ["item_id", "question_id", "gold_answer", "claimed_answer"]
    tables = [table.assign(**tables[0][of_items]) for table in tables]
    rows = repeated(*tables)
    for denominator in claim.denominators:
        single = claim.evidence(tables[0], denominator)
        equal = claim.evidence(repeated(*[tables[0]] * 3), denominator)
        assert (equal.n, *equal.estimate) == pytest.approx((single.n, *single.estimate), abs=0.03)
        assert (equal.estimate.value, equal.estimate.n) == pytest.approx((single.estimate.value, single.estimate.n))
        assert "sd 0.000 over 3 repeats" in equal.note
        varied, pooled = claim.evidence(rows, denominator), claim._measured(each_repeat(rows)[0], denominator)
        alone = [claim.evidence(table, denominator) for table in tables]
        sd, *ends, _ = over_both(pooled.estimate, [found.estimate for found in alone])
        share = claim.key in ("4.2c", "4.4a1")
        assert varied.estimate[1:3] == pytest.approx(np.clip(ends, 0, 1) if share else ends)
        assert varied.estimate.value == pooled.estimate.value
        assert f"sd {sd:.3f} over 3 repeats" in varied.note
        assert varied.n <= max(len(table) for table in tables)


def test_the_checklist_of_repeats() -> None:
    """One claim holds in each repeat, but the repeats differ by more than that: together they are inconclusive."""
    rows = [("r" * k + "w" * (30 - k), "w" * 26 + "rrrr") for k in (8, 30, 10)]
    tables = [two_methods(*pair).replace({"method": {"a": "judge_debate_1", "b": "rci"}}) for pair in rows]
    (claim,) = [claim for claim in CLAIMS if claim.key == "4.3d"]
    pooled = claim._measured(each_repeat(repeated(*tables))[0], "all items")
    varied = claim.evidence(repeated(*tables), "all items")
    assert claim.standing(pooled) is Standing.SUPPORTED
    assert claim.standing(varied) is Standing.INCONCLUSIVE
    assert "over 3 repeats" in varied.note
    first = simulated(20).query("method == 'few_shot'")
    table = check_claims(repeated(first, first)).set_index(["claim", "denominator"])
    assert "sd 0.000 over 2 repeats" in table.loc[("4.4a1", "all items"), "note"]
    assert table.loc[("4.4o", "all items"), "note"] == "SR-DCR was not run"


def drawn(request: Request, draw: int) -> Completion:
    """1874, or by the seed another year; every byte of the prompt is a token."""
    sure = request.temperature == 0 or request.draw_seed(draw) % 2
    text = "1874" if sure else str(1700 + request.draw_seed(draw) % 100)
    size = sum(len(message.content) for message in request.messages)
    return Completion(text, draw, prompt_tokens=size, completion_tokens=5)


def study(items: Path, **more: object) -> lab.Study:
    return lab.Study(ScriptedModel(drawn), items, "few_shot,confidence_only", samples=8, **more)  # type: ignore[arg-type]


def test_the_first_repeat_is_the_study_itself(items_csv: Path, tmp_path: Path) -> None:
    finished(study(items_csv, out=tmp_path / "alone"))
    with study(items_csv, out=tmp_path / "many") as many:
        many.model.sent = lambda: {"requests": len(many.model.asked), "notes": []}  # type: ignore[union-attr]
        found = [repeat.run(progress=False) for repeat in many.repeats(3)]
        assert many._opened().store.count() == 3 * found[0].manifest["counts"]["calls_paid"]
    first, second, _ = found
    pd.testing.assert_frame_equal(lab.load_run(tmp_path / "alone").records, first.records)
    assert [run.folder.name for run in found] == ["many", "repeat-2", "repeat-3"]
    assert not (tmp_path / "many" / "repeat-2" / "store.sqlite").exists()
    assert [run.manifest["asked"]["seed"] for run in found] == [0, 1, 2]
    assert second.manifest["asked"]["items_sha256"] == first.manifest["asked"]["items_sha256"]
    assert "a repeat with seed 1; its items are those of seed 0" in second.manifest["notes"]
    assert not any("repeat" in note for note in first.manifest["notes"])
    assert {len(run.records) for run in found} == {6}
    assert {sent["requests"] for run in found for sent in run.manifest["sent"].values()} == {len(many.model.asked) // 3}
    together = lab.load_repeats(tmp_path / "many")
    assert together["repeat"].value_counts().to_dict() == {1: 6, 2: 6, 3: 6}
    varied = what_varied(together).set_index(["what", "method"])["share"]
    assert varied["sampled_accuracy", ""] > 0
    assert varied["prior_answer", ""] == 0


def test_a_seed_changes_random_exemplars_orders_and_draws_and_nothing_else(items_csv: Path) -> None:
    """The prior answer's prompt has fixed exemplars, and so has that of the consistency draws, which are drawn anew."""
    model = ScriptedModel(drawn)
    prompts, seeds = [], []
    with lab.Study(model, items_csv, "few_shot,naive_debate", samples=4) as many:
        for repeat in many.repeats(2):
            model.asked.clear()
            repeat.run(progress=False)
            prompts.append({(request.stream, request.messages) for request in model.asked})
            seeds.append({request.draw_seed(draw) for request in model.asked for draw in request.draws})
    shared = Counter(stream for stream, _ in prompts[0] & prompts[1])
    assert shared == {"greedy": 3, "self_consistency": 3}  # of three questions
    assert len(prompts[0]) == len(prompts[1]) > 8
    assert not seeds[0] & seeds[1]


def test_a_budget_is_that_of_all_repeats(items_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second attempt goes on with what all repeats of the first have spent."""
    priced(monkeypatch, tmp_path, "openai:double,1000,1000")
    with study(items_csv, out=tmp_path / "whole", budget_usd=100) as whole:
        spent = [repeat.run(progress=False).manifest["spent_usd"] for repeat in whole.repeats(2)]
    assert spent == pytest.approx([spent[0], 2 * spent[0]], rel=0.1)
    bound = 2.5 * spent[0]
    for _ in range(2):
        with study(items_csv, out=tmp_path / "part", budget_usd=bound) as part, pytest.raises(BudgetExhausted):
            list(map(lab.Study.run, part.repeats(3)))
        kept = [json.loads(path.read_text())["spent_usd"] for path in (tmp_path / "part").rglob("run.json")]
        assert 2 * spent[0] < max(kept) <= bound


def test_the_plan_is_that_of_all_repeats(srdcr: Srdcr, items_csv: Path) -> None:
    command = ["plan", "--model", "openai:gpt-4o-mini", "--items", items_csv, "--methods", "few_shot", "--samples", 4]
    one, three = srdcr(*command), srdcr(*command, "--repeats", 3)
    last = [next(line.split() for line in ended.out.splitlines() if "the whole run" in line) for ended in (one, three)]
    assert [3 * int(number) for number in last[0][3:5]] == [int(number) for number in last[1][3:5]]
    assert "3 repeats together; they share no call" in three.out
    assert "repeats" not in one.out


def test_a_killed_run_with_repeats_goes_on(loopback: Loopback, items_csv: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    """Interrupted in the second repeat: exit code 3, and the same command asks only for what is missing."""
    loopback.behaviour.latency_s = 0.05
    command = arguments(loopback, tmp_path / "out", "--methods", "few_shot", "--items", items_csv, "--repeats", 3)
    with started(*command) as process:
        wait_until(lambda: (tmp_path / "out/repeat-2/run.json").exists())
        process.send_signal(2)
        _, err = process.communicate(timeout=600)
        assert (process.returncode, "Traceback" in err) == (3, False), err
        wait_until(lambda: loopback.in_flight == 0)
    before, asked = Counter(asked.key for asked in loopback.completions), len(loopback.completions)
    loopback.behaviour.latency_s = 0.0
    ended = srdcr.ok(*command)
    again = sum(asked.key in before for asked in loopback.completions) - sum(before.values())
    assert again <= 8  # concurrency: only what was in flight
    assert records(tmp_path / "out")["calls_paid"].sum() == 0
    assert len(loopback.completions) > asked
    table = pd.read_csv(tmp_path / "out/repeats.csv")
    assert set(table["measure"]) == {"accuracy", "selective_accuracy"}
    assert (table["n_repeats"] <= 3).all()
    assert "repeats.csv" in ended.out
    srdcr.ok(*command[:-1], "2")  # fewer: the third stays, and is no part of the table
    assert pd.read_csv(tmp_path / "out/repeats.csv")["n_repeats"].max() == 2


def test_folders_that_are_no_repeats_are_said(items_csv: Path, tmp_path: Path) -> None:
    with study(items_csv, out=tmp_path / "a") as many:
        for repeat in many.repeats(2):
            repeat.run(progress=False)
    finished(study(items_csv, out=tmp_path / "b", tau=0.5, seed=7))
    with pytest.raises(BadInput, match=r"a and .*b are not repeats of one study: tau is 0\.9 in the one, 0\.5 in the"):
        lab.load_repeats(tmp_path / "a", tmp_path / "b")
    with pytest.raises(BadInput, match="has the seed 0 of another repeat"):
        lab.load_repeats(tmp_path / "a", tmp_path / "a")
    (tmp_path / "b").rename(tmp_path / "a/repeat-3")
    with (
        study(items_csv, out=tmp_path / "a") as many,
        pytest.raises(BadInput, match=r"repeat-3 holds a run with other arguments \(seed was 7, is now 2\)"),
    ):
        next(many.repeats(3))  # before anything is run
    manifest = tmp_path / "a/repeat-2/run.json"
    manifest.write_text(manifest.read_text().replace('"done"', '"stopped"'))
    for load, path in ((lab.load_repeats, tmp_path / "a"), (lab.load_runs, manifest.parent)):
        with pytest.raises(BadInput, match="repeat-2 is not finished"):
            load(path)


def test_a_repeat_is_shared_by_itself(items_csv: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    out = tmp_path / "out"
    with study(items_csv, out=out) as many:
        list(map(lab.Study.run, many.repeats(2)))
    ended = srdcr("share", out, tmp_path / "first.zip")
    assert ended.out.endswith("holds the first repeat, not repeat-2; share each by itself\n")
    assert "is also read here" in srdcr.refuses("share", out / "repeat-2", out / "store.sqlite")
    srdcr.ok("share", out / "repeat-2", tmp_path / "second.zip")
    ended = srdcr("replay", tmp_path / "second.zip", "--out", tmp_path / "again")
    assert (ended.code, "no difference" in ended.out) == (0, True), ended.out
