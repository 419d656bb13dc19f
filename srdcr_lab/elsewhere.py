"""Chapter 10: does τ mean the same in every model? Released replies of twenty models to MMLU-Pro, read by our measures.

No model is asked here. Each question was answered once, so P(right | Conf ≥ τ) is shown, not P(Highly-Known | Conf ≥
τ); the questions have options, and no passage is in the prompt. Two kinds of confidence were released: the number that
the model states, and the mean probability of the tokens of its whole reply, reasoning and stated number included. That
is neither the geometric mean nor the answer's tokens, which chapter 02 takes. Source, licence and limits:
data/elsewhere/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import seaborn.objects as so
from matplotlib.figure import Figure

from srdcr_lab.confidence import PrecisionSteps, precision_steps
from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import auroc, auroc_gain, ece
from srdcr_lab.lib.groups import FEW
from srdcr_lab.lib.interactive import Choice, Interactive, Slider, sliding
from srdcr_lab.lib.page import Html, interval, number
from srdcr_lab.lib.sentences import Sentence, answer_box
from srdcr_lab.lib.statistics import jeffreys_interval
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import folder
from srdcr_lab.thresholds import PAPER_TAU, learn_then_test, transferred
from srdcr_lab.tuner import GRID, shown_interval, tau_curve

STATED, TOKENS = "stated", "tokens of the reply"  # the kinds of confidence, as a reader sees them
SOURCE_KINDS = {"stated_confidence": STATED, "token_probability": TOKENS}  # columns of the shipped table
KIND_COLOURS = {STATED: draw.BLUE, TOKENS: draw.ORANGE}
COVERAGE, PRECISION = "coverage", "P(right | Conf ≥ τ)"
LABEL = "MMLU-Pro, one reply a question, no passage (LLM-Calibration-Study)"


def load(models: Sequence[str] | None = None) -> pd.DataFrame:
    """The released replies: a row per model, kind of confidence and question.

    `right` is False where no option was read in the reply, and `confidence` is missing there, as it belongs to no
    answer; it is also missing where the source has none in [0, 1]. A kind that a model has not is left out.

    Parameters
    ----------
    models : names as in data/elsewhere/models.csv; None takes all twenty.

    Returns
    -------
    DataFrame
        `model`, `maker`, `kind`, `question`, `category`, `right`, `confidence`; models by falling accuracy.

    Raises
    ------
    BadInput
        For a model that is not among them.
    """
    replies = pd.read_parquet(folder("elsewhere") / "mmlu_pro.parquet")
    known = pd.read_csv(folder("elsewhere") / "models.csv")[["model", "maker"]]
    for model in models or ():
        if model not in set(known["model"]):
            raise BadInput(f"there are no replies of {model!r}; choose from {', '.join(known['model'])}")
    chosen = replies[replies["model"].isin(models or known["model"])].merge(known, on="model")
    accuracy = chosen.groupby("model")["right"].transform("mean")
    ordered = chosen.iloc[(-accuracy).argsort(kind="stable")]
    parts = [
        ordered[["model", "maker", "question", "category", "right"]].assign(
            kind=name, confidence=ordered[column].where(ordered["answered"])
        )
        for column, name in SOURCE_KINDS.items()
    ]
    rows = pd.concat(parts, ignore_index=True)
    return rows[rows.groupby(["model", "kind"])["confidence"].transform("count") > 0].reset_index(drop=True)


def _steps(rows: pd.DataFrame) -> PrecisionSteps:
    return precision_steps(rows["confidence"], rows["right"])


def _of_each(rows: pd.DataFrame) -> Any:
    """Model and kind, and their rows, in the order of the table."""
    return rows.groupby(["model", "kind"], sort=False)


def at_tau(rows: pd.DataFrame, *taus: float) -> pd.DataFrame:
    """What lies above τ: a row per model, kind and `tau`.

    `accuracy` of all `n` questions, wrong without an answer; `coverage` = n_above / n; `precision`, the share of right
    answers among the `n_above`; both with Jeffreys intervals.
    """
    table = []
    for (model, kind), own in _of_each(rows):
        steps, accuracy = _steps(own), own["right"].mean()
        for tau in taus:
            above = steps.at(tau)
            low, high = map(float, jeffreys_interval(above.n_above, above.n_questions))
            table.append({"model": model, "kind": kind, "tau": tau, "n": above.n_questions, "accuracy": accuracy,
                          "n_above": above.n_above, "coverage": above.coverage, "coverage_low": low,
                          "coverage_high": high, "precision": above.precision, "precision_low": above.low,
                          "precision_high": above.high})  # fmt: skip
    return pd.DataFrame(table)


def _by_quantity(table: pd.DataFrame) -> pd.DataFrame:
    """`at_tau` with a row for each of its two quantities; `n` are the questions that it is a share of."""
    names = {"coverage": (COVERAGE, "n"), "precision": (PRECISION, "n_above")}
    parts = [
        table[["model", "kind", "tau"]].assign(
            quantity=quantity, n=table[n], value=table[name], low=table[f"{name}_low"], high=table[f"{name}_high"]
        )
        for name, (quantity, n) in names.items()
    ]
    return pd.concat(parts, ignore_index=True)


def ranks(rows: pd.DataFrame) -> pd.DataFrame:
    """Does confidence rank right answers first (`auroc`), and is it a probability (`ece`)? A row per model and kind.

    Of the questions with a confidence, `n`; `accuracy` is of all. The calibration error is the debiased one, in ten
    bins.
    """
    table = []
    for (model, kind), own in _of_each(rows):
        area = auroc(own["confidence"], own["right"])
        error = ece(own["confidence"], own["right"], n_boot=200)
        table.append({"model": model, "kind": kind, "accuracy": own["right"].mean(), "n": area.n,
                      "auroc": area.value, "auroc_low": area.low, "auroc_high": area.high, "ece": error.debiased,
                      "ece_low": error.low, "ece_high": error.high})  # fmt: skip
    return pd.DataFrame(table)


def which_ranks_better(rows: pd.DataFrame) -> Sentence:
    """In how many models the stated confidence has the higher AUROC, by the 95 % interval of the difference."""
    signs = []
    for _, own in rows.groupby("model", sort=False):
        kinds = own.pivot(index="question", columns="kind", values="confidence")
        if len(kinds.columns) == len(SOURCE_KINDS):
            right = own.drop_duplicates("question").set_index("question")["right"].reindex(kinds.index)
            gain = auroc_gain(kinds[STATED], kinds[TOKENS], right, kinds.index)
            signs.append(1 if gain.low > 0 else -1 if gain.high < 0 else 0)
    return Sentence(
        f"Stated confidence ranks right answers better than the token probability of the reply in {signs.count(1)} of "
        f"{len(signs)} models that have both, worse in {signs.count(-1)} (95 % interval of the difference of AUROC)."
    )


def halves(rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Every second subject by name, to choose τ on, and the others."""
    subjects = sorted(rows["category"].unique())
    return subjects[::2], subjects[1::2]


def carried(rows: pd.DataFrame, alpha: float = 0.2, delta: float = 0.1) -> pd.DataFrame:
    """The τ that Learn-then-Test finds for risk ≤ α on half of the subjects, and what it gives on the other half.

    A row per kind, model that it was `chosen_on` and model it is `applied_to`; `risk` = n_wrong / n_above with its
    Jeffreys interval, `coverage` = n_above / n, all on the other half. `tau` is missing, with one row, where none
    attains α. The promise is about questions of the same population: neither other subjects nor other models are.
    """
    here = rows["category"].isin(halves(rows)[0])
    chosen = {key: learn_then_test(_steps(own), alpha=alpha, delta=delta) for key, own in _of_each(rows[here])}
    others = {key: _steps(own) for key, own in _of_each(rows[~here])}
    table = []
    for (model, kind), choice in chosen.items():
        for (other, its_kind), steps in others.items():
            if its_kind == kind and (other == model or choice.tau is not None):
                shown = transferred(choice, steps, other)
                table.append({"kind": kind, "chosen_on": model, "applied_to": other,
                              "tau": math.nan if shown.tau is None else shown.tau, "n": shown.n,
                              "n_above": shown.n_above, "n_wrong": shown.n_wrong, "coverage": shown.coverage,
                              "risk": shown.risk, "risk_low": shown.low, "risk_high": shown.high})  # fmt: skip
    return pd.DataFrame(table)


def on_other_subjects(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `carried` on the model that τ was chosen on."""
    own = table[table["chosen_on"] == table["applied_to"]]
    return own.drop(columns="applied_to").rename(columns={"chosen_on": "model"}).reset_index(drop=True)


def on_other_models(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `carried` on other models than the one τ was chosen on."""
    return table[table["chosen_on"] != table["applied_to"]].reset_index(drop=True)


def answer(rows: pd.DataFrame, tau: float = PAPER_TAU, alpha: float = 0.2) -> Html:
    """The answer box of notebook 10: coverage and P(right) at τ, and whether a τ with a promise can be carried over."""
    table, moved = at_tau(rows, tau), carried(rows, alpha)
    own, other = on_other_subjects(moved), on_other_models(moved)
    found, broken = own[own["tau"].notna()], int((other["risk_low"] > alpha).sum())
    kept = int((found["risk_low"] <= alpha).sum())
    spread = f"between {found['tau'].min():.2f} and {found['tau'].max():.2f}" if len(found) else "nowhere"
    return answer_box(
        f"At τ = {tau:.2f} between {_extreme(table, 'coverage', False)} and {_extreme(table, 'coverage', True)} of the "
        "questions are above the threshold.",
        f"Of the answers above it between {_extreme(table, 'precision', False)} and "
        f"{_extreme(table, 'precision', True)} are right.",
        f"Chosen so that at most {alpha:g} of the answers above it are wrong, τ lies {spread} ({len(found)} of "
        f"{len(own)} models and kinds have one); on other subjects this holds for {kept} of {len(found)}, on other "
        f"models it is broken in {broken} of {len(other)} pairs.",
        label=LABEL,
    )


def _extreme(table: pd.DataFrame, name: str, highest: bool) -> str:
    row = table.loc[table[name].idxmax() if highest else table[name].idxmin()]
    return f"{interval(row[name], row[f'{name}_low'], row[f'{name}_high'])} ({row['model']}, {row['kind']})"


def pairs_broken(table: pd.DataFrame, alpha: float) -> Sentence:
    """In how many pairs of `on_other_models` the whole interval of the risk is above α, and in how many it is not."""
    above, below = int((table["risk_low"] > alpha).sum()), int((table["risk_high"] <= alpha).sum())
    empty = int((table["n_above"] == 0).sum())
    return Sentence(
        f"Carried over to another model, τ has a risk above {number(alpha)} in {above} of {len(table)} pairs and at "
        f"most {number(alpha)} in {below} (whole 95 % interval); {empty} have no question above τ."
    )


# Figures


def draw_at(table: pd.DataFrame) -> Figure:
    """Coverage and P(right | Conf ≥ τ) of each model at one τ, from `at_tau`."""
    rows = _by_quantity(table)
    return draw.rows(rows, "value", "model", "share", panel="quantity", hue="kind", palette=KIND_COLOURS)


def draw_over_tau(table: pd.DataFrame, named: Sequence[str], tau: float) -> Figure:
    """Both shares over τ, from `at_tau`: a grey line a model, those `named` in colour; below ten answers no line."""
    rows = _by_quantity(table)
    rows = rows[rows["n"] >= FEW].assign(panel=lambda each: each["kind"] + ": " + each["quantity"])
    shown = [name for name in named if name in set(rows["model"])]
    palette = dict(zip(shown, (draw.NAVY, draw.VERMILION, "#2a9d8f", draw.ORANGE), strict=False))
    plot = so.Plot(rows, x="tau", y="value", group="model").add(so.Line(color="0.8", linewidth=0.7))
    plot = plot.add(so.Line(linewidth=1.4), data=rows[rows["model"].isin(palette)], color="model")
    plot = plot.facet("panel", wrap=2).scale(color=draw.scale(palette))
    plot = plot.limit(y=draw.ALL_SHARES).label(x="threshold τ", y="share", color="", title=str)
    return draw.line_at(draw.figure(plot, 4.6), x=tau)


def draw_ranks(table: pd.DataFrame) -> Figure:
    """AUROC and calibration error of each model against its accuracy, from `ranks`, with 95 % intervals."""
    names = {"auroc": "AUROC", "ece": "calibration error (ECE)"}
    parts = [
        table[["model", "kind", "accuracy"]].assign(
            measure=label, value=table[name], low=table[f"{name}_low"], high=table[f"{name}_high"]
        )
        for name, label in names.items()
    ]
    plot = so.Plot(pd.concat(parts, ignore_index=True), x="accuracy", y="value", color="kind")
    plot = plot.add(so.Range(linewidth=1), ymin="low", ymax="high", legend=False).add(so.Dot(pointsize=4))
    plot = plot.facet("measure").scale(color=draw.scale(KIND_COLOURS)).share(y=False)
    return draw.figure(plot.label(x="accuracy", y="", color="", title=str), 2.8)


def draw_risk(table: pd.DataFrame, by: str, alpha: float) -> Figure:
    """The risk above τ of each model, named in the column `by`, from `carried`; dashed: α. Without a τ, no row."""
    rows = table[table["n_above"] > 0].assign(n=table["n_above"])
    label = "share of wrong answers above τ"
    return draw.rows(rows, "risk", by, label, hue="kind", palette=KIND_COLOURS, reference=alpha,
                     limits=(0.0, None))  # fmt: skip


def picker(rows: pd.DataFrame, tau: float = PAPER_TAU) -> Interactive:
    """P(right | Conf ≥ τ) and coverage of one model and kind over τ, both chosen from menus, τ by a slider."""
    models, kinds = rows["model"].unique(), list(SOURCE_KINDS.values())
    table = at_tau(rows, *GRID).rename(columns={"tau": "at"})
    table["model"], table["kind"] = table["model"].map(list(models).index), table["kind"].map(kinds.index)
    tables = {}
    for name in ("precision", "coverage"):
        ends = {f"{name}_low": "low", f"{name}_high": "high"}
        tables[name] = table[["model", "kind", "at", name, *ends, "n_above", "n"]].rename(columns=ends).round(3)
    controls = [
        Choice("model", "model", dict(enumerate(models)), 0),
        Choice("kind", "kind of confidence", dict(enumerate(kinds)), 0),
        Slider("tau", "threshold τ", tau),
    ]
    title = "What τ means in each model"
    made: Interactive = sliding(tables, _panels, controls, title=title, note=LABEL, reset={"tau": PAPER_TAU})
    return made


def _panels(charts: Any) -> Any:
    import altair as alt

    above = "datum.n_above + ' of ' + datum.n + ' questions are above τ'"
    right = tau_curve(charts["precision"], "precision", PRECISION, draw.NAVY, (0, 1),
                      f"{shown_interval('precision', 'low', 'high')} + ' · ' + {above}")  # fmt: skip
    share = tau_curve(charts["coverage"], "coverage", COVERAGE, draw.BLUE, (0, 1),
                      shown_interval("coverage", "low", "high"))  # fmt: skip
    return alt.hconcat(right, share, spacing=40).resolve_scale(color="independent")
