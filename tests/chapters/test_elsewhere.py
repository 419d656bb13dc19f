"""Released replies of other models: the shipped file is what the script makes, and notebook 10's tables are computed
again by code that shares nothing with the package."""

import hashlib
import json
import os
import zipfile
from pathlib import Path

import elsewhere as script
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from sklearn.metrics import roc_auc_score

from srdcr_lab import elsewhere
from srdcr_lab.records import BadInput

ROOT = Path(__file__).parents[2]
SHIPPED, ALPHA = ROOT / "data" / "elsewhere", 0.2
MODELS = ["GPT-4.1", "Claude 3.7 Sonnet", "Llama 3.1 405B", "Llama 3.1 8B"]
COLUMNS = {"stated": "stated_confidence", "tokens of the reply": "token_probability"}


@pytest.mark.skipif("LLM_CALIBRATION_STUDY" not in os.environ, reason="names a checkout of the source")
def test_the_shipped_file_is_what_the_script_makes_of_the_source() -> None:
    made = script.table(Path(os.environ["LLM_CALIBRATION_STUDY"]), pd.read_csv(SHIPPED / "models.csv"))
    pd.testing.assert_frame_equal(made, pd.read_parquet(SHIPPED / "mmlu_pro.parquet"), check_exact=True)


def test_what_ships_is_small_whole_and_of_twenty_models() -> None:
    replies, models = pd.read_parquet(SHIPPED / "mmlu_pro.parquet"), pd.read_csv(SHIPPED / "models.csv")
    assert (SHIPPED / "mmlu_pro.parquet").stat().st_size < 3_000_000
    assert replies.groupby("model").size().to_dict() == dict.fromkeys(models["model"], 12_032)
    assert (len(models), models["maker"].nunique()) == (20, 9)
    assert "question" in replies  # a number, never a text
    assert replies["question"].dtype.kind == "i"
    assert "Copyright (c) 2024 OpenAI" in (SHIPPED / "LICENSE").read_text("utf-8")


def test_outcomes_with_false_passages_are_those_that_the_source_and_the_guide_print() -> None:
    """The source's notebooks have the first three for Llama, and Gemma's with what GPT-4o mini wrote."""
    rows = pd.read_parquet(SHIPPED / "biomedical.parquet")
    assert not {"question", "answer", "context"} & {*rows}
    asked = (
        rows[rows["model"] == rows["writer"]].groupby(["kind", "model"])[["from_memory", "with_true"]].mean().round(3)
    )
    assert asked.loc[("binary", "Llama 3.1 70B")].tolist() == [0.861, 0.951]
    assert asked.loc[("free", "Llama 3.1 70B")].tolist() == [0.442, 0.653]
    by_gpt = rows.query("kind == 'binary' and model == 'Gemma 2 9B' and writer == 'GPT-4o mini'")["with_false"]
    assert round(by_gpt.mean(), 3) == 0.215
    rows["known"] = rows["with_false"].where(rows["from_memory"].fillna(False))
    guide = (ROOT / "docs" / "guide" / "elsewhere.md").read_text("utf-8")
    for (kind, model), shares in rows.groupby(["kind", "model"]):
        name = f"{model}, {'yes or no' if kind == 'binary' else 'free answer'}"
        means = shares[["from_memory", "with_true", "with_false", "known"]].mean()
        assert f"| {name} | {' | '.join(f'{mean:.2f}' for mean in means)} |" in guide


def test_the_script_keeps_ids_and_outcomes_of_false_passages(tmp_path: Path) -> None:
    """Of two questions the other model was asked the first alone; it repeats the lie. Free answers have grades."""
    own = {"id": "a", "question": "?", "true_answer": "yes", "vanilla_answer": "Yes.", "predicted_answer": "no",
           "adversarial_answer": "no", "adversarial_context": "text"}  # fmt: skip
    graded = {"id": "f", "vanilla_correct": "no", "predicted_correct": "Yes.", "adversarial_correct": "no",
              "true_answer": ["one"]}  # fmt: skip
    files = [("m", "m", "binary", [own, own | {"id": "b"}]), ("n", "n", "binary", [own]), ("m", "m", "free", [graded]),
             ("m", "n", "binary", [{"id": "b", "adversarial_answer": "Yes"}])]  # fmt: skip
    (tmp_path / "data" / "results").mkdir(parents=True)
    listed = []
    for number, (model, writer, kind, replies) in enumerate(files):
        path = tmp_path / "data" / "results" / f"{number}.zip"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("results/x.json", "\n".join(map(json.dumps, replies)))
        listed.append((model, writer, kind, path.name, hashlib.sha256(path.read_bytes()).hexdigest()))
    table = pd.DataFrame(listed, columns=["model", "writer", "kind", "file", "sha256"])
    table.to_csv(tmp_path / "biomedical.csv", index=False)
    ended = CliRunner().invoke(script.main, [str(tmp_path), "--name", "biomedical", "--out", str(tmp_path)])
    assert "5 replies of 2 models" in ended.output
    rows = pd.read_parquet(tmp_path / "biomedical.parquet")
    assert rows.iloc[[0, 3, 4], 3:].values.tolist() == [
        ["a", True, False, False], ["f", False, True, False], ["b", True, False, True],
    ]  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, ...]:
    """Of four models: at τ = 0.90, the ranks, and the thresholds carried over, each model and kind a key."""
    rows = elsewhere.load_replies(MODELS)
    keyed = (table.set_index(["model", "kind"]) for table in (elsewhere.at_tau(rows, 0.9), elsewhere.ranks(rows)))
    return *keyed, elsewhere.carried(rows, ALPHA)


def _replies(model: str, kind: str) -> pd.DataFrame:
    """What ships of a model, its confidence missing where there is no answer."""
    replies = pd.read_parquet(SHIPPED / "mmlu_pro.parquet", filters=[("model", "==", model)])
    return replies.assign(confidence=replies[COLUMNS[kind]].where(replies["answered"]))


def _ends(hits: int, n: int) -> list[float]:
    """Jeffreys: the quantiles of Beta(k + ½, n − k + ½)."""
    return [float(stats.beta.ppf(at, hits + 0.5, n - hits + 0.5)) for at in (0.025, 0.975)]


def test_known_numbers_of_the_source_come_out(tables: tuple[pd.DataFrame, ...]) -> None:
    """Found by hand in the source's files before this chapter was written."""
    found = tables[0].join(tables[1]["auroc"])[["accuracy", "auroc", "coverage", "precision"]]
    for model, kind, *expected in (
        ("GPT-4.1", "stated", 0.788, 0.749, 0.963, 0.807),
        ("GPT-4.1", "tokens of the reply", 0.788, 0.683, 0.332, 0.911),
        ("Claude 3.7 Sonnet", "stated", 0.781, 0.755, 0.706, 0.881),
        ("Llama 3.1 405B", "stated", 0.715, 0.712, 0.655, 0.827),
        ("Llama 3.1 405B", "tokens of the reply", 0.715, 0.615, 0.319, 0.810),
        ("Llama 3.1 8B", "stated", 0.427, 0.599, 0.167, 0.674),
        ("Llama 3.1 8B", "tokens of the reply", 0.427, 0.539, 0.054, 0.576),
    ):
        assert found.loc[(model, kind)].tolist() == pytest.approx(expected, abs=6e-4)


def test_the_tables_of_notebook_10_are_those_of_plain_pandas(tables: tuple[pd.DataFrame, ...]) -> None:
    at, ranks, _ = tables  # seven: a model of Anthropic has no log-probabilities
    for row in at.reset_index().to_dict("records"):
        replies = _replies(row["model"], row["kind"])
        known, above = replies.dropna(subset="confidence"), replies[replies["confidence"] >= 0.9]
        assert (row["n"], row["n_above"]) == (12_032, len(above))
        assert row["accuracy"] == pytest.approx(replies["right"].mean())
        assert row["coverage"] == pytest.approx(len(above) / 12_032)
        assert row["precision"] == pytest.approx(above["right"].mean())
        found = [row[f"{name}_{end}"] for name in ("coverage", "precision") for end in ("low", "high")]
        assert found == pytest.approx(_ends(len(above), 12_032) + _ends(above["right"].sum(), len(above)), abs=1e-9)
        of_it = ranks.loc[(row["model"], row["kind"])]
        assert of_it["n"] == len(known)
        assert of_it["auroc"] == pytest.approx(roc_auc_score(known["right"], known["confidence"]))
        place = np.minimum((known["confidence"] * 10 + 1e-12).astype(int), 9)
        gap = (known["right"] - known["confidence"]).groupby(place).sum().abs().sum() / len(known)
        assert of_it["ece"] == pytest.approx(gap, abs=0.003)  # the table has the debiased value


def _tested(replies: pd.DataFrame, alpha: float) -> float:
    """Learn-then-Test by a loop: every τ by the binomial test at its share of δ, and below it while that rejects."""
    grid = [0, *np.arange(10, 55, 10), *np.arange(50, 91, 5), 92, 94, *range(95, 100), 99.5, 99.9]
    taus = sorted({float(hundredths) / 100 for hundredths in grid}, reverse=True)
    passed = []
    for start in taus:
        for tau in (tau for tau in taus if tau <= start):
            above = replies[replies["confidence"] >= tau]
            n_wrong = int((~above["right"]).sum())
            if above.empty or stats.binom.cdf(n_wrong, len(above), alpha) > 0.1 / len(taus):
                break
            passed.append(tau)
    return min(passed, default=np.nan)


def test_a_tau_with_a_promise_is_that_of_a_loop(tables: tuple[pd.DataFrame, ...]) -> None:
    """On every second subject by name; and its risk on the others, for the same model and for others."""
    subjects, models = elsewhere.on_other_subjects(tables[2]), tables[2].query("applied_to != chosen_on")
    names = sorted(_replies("GPT-4.1", "stated")["category"].unique())
    for row in subjects.to_dict("records"):
        replies = _replies(row["model"], row["kind"])
        here = replies["category"].isin(names[::2])
        assert row["tau"] == pytest.approx(_tested(replies[here], ALPHA), nan_ok=True)
        others = replies[~here]
        above = others[others["confidence"] >= row["tau"]]
        assert (row["n"], row["n_above"], row["n_wrong"]) == (len(others), len(above), (~above["right"]).sum())
    for row in models.to_dict("records"):
        replies = _replies(row["applied_to"], row["kind"])
        above = replies[~replies["category"].isin(names[::2]) & (replies["confidence"] >= row["tau"])]
        assert (row["n_above"], row["n_wrong"]) == (len(above), (~above["right"]).sum())
        if len(above):
            assert [row["risk_low"], row["risk_high"]] == pytest.approx(_ends(row["n_wrong"], len(above)), abs=1e-9)


def test_an_unknown_model_and_a_tau_above_every_answer_are_a_sentence() -> None:
    with pytest.raises(BadInput, match=r"no replies of 'gpt-9'; choose from GPT-4\.1, "):
        elsewhere.load_replies(["gpt-9"])
    rows = elsewhere.load_replies("Llama 3.1 8B")
    with pytest.raises(BadInput, match="these replies are on one"):
        elsewhere.carried(rows.assign(category="law"))
    assert "No answer is above it." in elsewhere.answer(rows.assign(confidence=0.5))


def test_the_picker_holds_every_model_and_kind_at_every_tau() -> None:
    rows = elsewhere.load_replies(["Llama 3.1 8B", "Claude 3.7 Sonnet"])
    picker = elsewhere.picker(rows)
    assert picker.settings == {"model": "Claude 3.7 Sonnet", "kind": "stated", "tau": 0.9}
    assert "Claude 3.7 Sonnet" in picker.html()
    assert list(rows["model"].unique()) == ["Claude 3.7 Sonnet", "Llama 3.1 8B"]  # by accuracy
