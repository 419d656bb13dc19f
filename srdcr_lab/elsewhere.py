"""Chapter 10: does τ mean the same in every model? Released replies of twenty models to MMLU-Pro, read by our measures.

No model is asked here. Each question was answered once, so P(right | Conf ≥ τ) is shown, not P(Highly-Known | Conf ≥
τ); the questions have options, and no passage is in the prompt. Two kinds of confidence were released: the number that
the model states, and the mean probability of the tokens of its whole reply, reasoning and stated number included. That
is neither the geometric mean nor the answer's tokens, which chapter 02 takes. Source, licence and limits:
data/elsewhere/README.md.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import seaborn.objects as so
from matplotlib.figure import Figure

from srdcr_lab.confidence import GRID, tau_curve
from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import PrecisionSteps, auroc, auroc_gain, ece, precision_steps
from srdcr_lab.lib.definitions import PAPER_TAU
from srdcr_lab.lib.groups import FEW, by_group
from srdcr_lab.lib.interactive import Choice, Interactive, Slider, sliding
from srdcr_lab.lib.page import Html, interval
from srdcr_lab.lib.sentences import Sentence, and_list, answer_box, sentences
from srdcr_lab.lib.statistics import Estimate, rank_correlation
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import folder
from srdcr_lab.thresholds import TAUS, carried_to, learn_then_test

STATED, REPLY_TOKENS = "stated", "tokens of the reply"  # the kinds of confidence, as a reader sees them
_KINDS = {"stated_confidence": STATED, "token_probability": REPLY_TOKENS}  # columns of the shipped table
_COLOURS = {STATED: draw.BLUE, REPLY_TOKENS: draw.ORANGE}
_EACH = ["model", "kind"]
_COVERAGE, _PRECISION = "coverage", "P(right | Conf ≥ τ)"
RELEASED = "MMLU-Pro, one reply a question, no passage (LLM-Calibration-Study)"  # the label of every figure


def load_replies(models: Sequence[str] | None = None) -> pd.DataFrame:
    """Load the released replies that ship in data/elsewhere.

    Parameters
    ----------
    models : sequence of str, optional
        Names as in data/elsewhere/models.csv; by default all twenty.

    Returns
    -------
    DataFrame
        One row per kind of confidence, model and question: `model`, `maker`, `question`, `category`, `right`, `kind`,
        `confidence`; models by falling accuracy. Where no option could be read in a reply, `right` is False and
        `confidence` missing, because it belongs to no answer. Kinds that a model does not have are left out.

    Raises
    ------
    BadInput
        If a model is not among the twenty.
    """
    replies = pd.read_parquet(folder("elsewhere") / "mmlu_pro.parquet")
    models = [models] if isinstance(models, str) else models
    known = pd.read_csv(folder("elsewhere") / "models.csv")[["model", "maker"]]
    for model in models or ():
        if model not in set(known["model"]):
            raise BadInput(f"there are no replies of {model!r}; choose from {', '.join(known['model'])}")
    chosen = replies[replies["model"].isin(models or known["model"])].merge(known, on="model")
    accuracy = chosen.groupby("model")["right"].transform("mean")
    ordered = chosen.loc[accuracy.sort_values(ascending=False, kind="stable").index]
    shared = ["model", "maker", "question", "category", "right", "answered"]
    rows = ordered.rename(columns=_KINDS).melt(shared, [*_KINDS.values()], "kind", "confidence")
    rows["confidence"] = rows["confidence"].where(rows.pop("answered"))
    return rows[rows.groupby(["model", "kind"])["confidence"].transform("count") > 0].reset_index(drop=True)


def _steps(rows: pd.DataFrame) -> PrecisionSteps:
    return precision_steps(rows["confidence"], rows["right"])


def at_tau(rows: pd.DataFrame, *taus: float) -> pd.DataFrame:
    """Count what lies above each τ.

    Parameters
    ----------
    rows : DataFrame
        As returned by `load_replies`.
    *taus : float
        Thresholds.

    Returns
    -------
    DataFrame
        One row per model, kind and `tau`: `accuracy` of all `n` questions, without an answer counted as wrong;
        `coverage` = n_above / n; `precision`, the share of right answers among the `n_above`. The last two have 95 %
        Jeffreys intervals.
    """

    def counted(own: pd.DataFrame) -> Iterator[dict[str, Any]]:
        steps, accuracy = _steps(own), own["right"].mean()
        for above in map(steps.at, taus):
            counts = {"tau": above.tau, "n": above.n_questions, "accuracy": accuracy, "n_above": above.n_above}
            yield counts | above.coverage.columns("coverage") | above.precision.columns("precision")

    return by_group(rows, counted, _EACH)


def _by_quantity(table: pd.DataFrame) -> pd.DataFrame:
    """`at_tau` with a row for each of its two quantities; `n` are the questions that it is a share of."""
    rows = draw.melted(table, {"coverage": _COVERAGE, "precision": _PRECISION}, "model", "kind", "tau", "n", "n_above")
    return rows.assign(n=rows["n"].where(rows["quantity"] == _COVERAGE, rows["n_above"]))


def ranks(rows: pd.DataFrame) -> pd.DataFrame:
    """Measure whether confidence ranks right answers first, and whether it is a probability.

    Parameters
    ----------
    rows : DataFrame
        As returned by `load_replies`.

    Returns
    -------
    DataFrame
        One row per model and kind: `auroc` and the debiased calibration error `ece` in ten bins, of the `n` questions
        with a confidence, with 95 % intervals; `accuracy` of all questions.
    """

    def ranked(own: pd.DataFrame) -> Iterator[dict[str, Any]]:
        area = auroc(own["confidence"], own["right"])
        error = ece(own["confidence"], own["right"], n_boot=200)
        yield {"accuracy": own["right"].mean(), "n": area.n} | area.columns("auroc") | error.columns("ece")

    return by_group(rows, ranked, _EACH)


def follows_accuracy(table: pd.DataFrame) -> Sentence:
    """Say whether confidence ranks right answers better in models that are right more often.

    Parameters
    ----------
    table : DataFrame
        As returned by `ranks`.

    Returns
    -------
    Sentence
        Spearman's correlation of accuracy and AUROC for each kind, over models.
    """
    kinds = table.groupby("kind", sort=False)
    found = [{"kind": kind} | rank_correlation(own["accuracy"], own["auroc"])._asdict() for kind, own in kinds]
    claim = "confidence ranks right answers better in models that are right more often (Spearman's ρ)"
    return sentences(claim, found, by=["kind"], of="models")


def which_ranks_better(rows: pd.DataFrame) -> Sentence:
    """Say in how many models the stated confidence has the higher AUROC.

    Parameters
    ----------
    rows : DataFrame
        As returned by `load_replies`.

    Returns
    -------
    Sentence
        Counts of models that have both kinds, by the 95 % interval of the difference on the same questions.
    """
    signs = []
    for _, own in rows.groupby("model", sort=False):
        both = own.pivot(index="question", columns="kind", values="confidence")
        if len(both.columns) == len(_KINDS):
            right = own.drop_duplicates("question").set_index("question")["right"].reindex(both.index)
            gain = auroc_gain(both[STATED], both[REPLY_TOKENS], right, both.index)
            signs.append(1 if gain.low > 0 else -1 if gain.high < 0 else 0)
    return Sentence(
        f"Stated confidence ranks right answers better than the token probability of the reply in {signs.count(1)} of "
        f"{len(signs)} models that have both, worse in {signs.count(-1)} (95 % intervals of the difference of AUROC, "
        "uncorrected)."
    )


def carried(rows: pd.DataFrame, alpha: float = 0.2) -> pd.DataFrame:
    """Choose τ on half of the subjects by Learn-then-Test, and measure its risk on the other half.

    Parameters
    ----------
    rows : DataFrame
        As returned by `load_replies`.
    alpha : float
        Largest share of wrong answers above τ; the choice may fail with probability 0.1.

    Returns
    -------
    DataFrame
        One row per kind, model that τ was `chosen_on` and model that it is `applied_to`: `risk` = n_wrong / n_above and
        `coverage` = n_above / n with 95 % Jeffreys intervals, on the other half of the subjects. If no τ attains
        `alpha`, there is one row, without `tau`.

    Raises
    ------
    BadInput
        The replies are on a single subject.

    Notes
    -----
    τ is chosen on every second subject by name; with thousands of questions, each τ of the grid is tested by itself
    (Bonferroni). The promise holds for further questions of the same population; other subjects and other models are
    other populations.
    """
    subjects = sorted(rows["category"].unique())
    if len(subjects) < 2:
        raise BadInput("τ is carried to other subjects, and these replies are on one; choose more")
    here = rows["category"].isin(subjects[::2])
    others = {key: _steps(own) for key, own in rows[~here].groupby(_EACH, sort=False)}
    table = []
    for (model, kind), own in rows[here].groupby(_EACH, sort=False):
        tau = learn_then_test(_steps(own), alpha=alpha, starts=TAUS).tau
        for (other, its_kind), steps in others.items():
            if its_kind == kind and (other == model or tau is not None):
                row = {"kind": kind, "chosen_on": model, "applied_to": other} | carried_to(tau, steps)
                table.append(row if tau is not None else row | Estimate().columns("coverage"))
    return pd.DataFrame(table)


def on_other_subjects(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of `carried` on the model that τ was chosen on.

    Parameters
    ----------
    table : DataFrame
        As returned by `carried`.

    Returns
    -------
    DataFrame
        These rows, the model in `model`.
    """
    own = table[table["chosen_on"] == table["applied_to"]]
    return own.drop(columns="applied_to").rename(columns={"chosen_on": "model"}).reset_index(drop=True)


def answer(rows: pd.DataFrame, tau: float = PAPER_TAU, alpha: float = 0.2) -> Html:
    """Make the answer box of notebook 10.

    Parameters
    ----------
    rows : DataFrame
        As returned by `load_replies`.
    tau : float
        The threshold.
    alpha : float
        Largest share of wrong answers above a chosen τ.

    Returns
    -------
    Html
        Lowest and highest coverage and P(right) at τ, and whether a chosen τ can be carried over.
    """
    table, moved = at_tau(rows, tau), carried(rows, alpha)
    found = (own := on_other_subjects(moved)).dropna(subset="tau")
    has_own = found[["model", "kind"]].rename(columns={"model": "applied_to"})
    other = moved.query("chosen_on != applied_to").merge(has_own)
    lost, broken = (int((part["risk_low"] > alpha).sum()) for part in (found, other))
    promise = f"No τ keeps the share of wrong answers above it at {alpha:g}."
    if len(found):
        spread = f"between {found['tau'].min():.2f} and {found['tau'].max():.2f}"
        promise = (
            f"Chosen so that at most {alpha:g} of the answers above it are wrong, τ lies {spread} ({len(found)} of "
            f"{len(own)} pairs of model and kind have one); more than {alpha:g} are wrong on other subjects for {lost} "
            f"of these {len(found)}"
        )
        promise += f", on other models with a τ (no promise) in {broken} of {len(other)} pairs." if len(other) else "."
    most, least = table["accuracy"].agg(["max", "min"])
    opening = "No: at" if table["precision_low"].max() > table["precision_high"].min() else "At"
    right = f"Of the answers above it, {_span(table, 'precision')} are right; of all, {least:.2f} to {most:.2f}."
    return answer_box(
        f"{opening} τ = {tau:.2f}, {_span(table, 'coverage')} of the questions are above the threshold, depending on "
        "model and kind of confidence.",
        right if table["n_above"].any() else "No answer is above it.",
        promise,
        label=RELEASED,
    )


def _span(table: pd.DataFrame, name: str) -> str:
    """The least and the greatest value, with their models; the one that there is, or none."""
    known = table.dropna(subset=name).sort_values(name, kind="stable")
    rows, places = known.iloc[[0, -1][: len(known)]].to_dict("records"), (name, f"{name}_low", f"{name}_high")
    ends = [f"{interval(*map(row.get, places))} ({row['model']}, {row['kind']})" for row in rows]
    return f"between {and_list(ends)}" if len(ends) > 1 else and_list(ends)


def pairs_broken(table: pd.DataFrame, alpha: float) -> Sentence:
    """Say in how many pairs of models a τ that was carried over breaks its promise.

    Parameters
    ----------
    table : DataFrame
        As returned by `carried`, for other models than the one that τ was chosen on.
    alpha : float
        Largest share of wrong answers above τ.

    Returns
    -------
    Sentence
        Counts of pairs whose whole 95 % interval of the risk is above `alpha`, or not above it.
    """
    above, below = int((table["risk_low"] > alpha).sum()), int((table["risk_high"] <= alpha).sum())
    return Sentence(
        f"Carried over to another model, τ has a risk above {alpha:.2f} in {above} of {len(table)} pairs and at most "
        f"{alpha:.2f} in {below} (whole 95 % interval); in {len(table) - above - below} neither is shown."
    )


def draw_at(table: pd.DataFrame) -> Figure:
    """Draw coverage and P(right | Conf ≥ τ) of each model at one τ.

    Parameters
    ----------
    table : DataFrame
        As returned by `at_tau` for one τ.

    Returns
    -------
    Figure
        One row per model, one panel per quantity.
    """
    return draw.rows(_by_quantity(table), "value", "model", "share", panel="quantity", hue="kind", palette=_COLOURS)


def draw_over_tau(table: pd.DataFrame, named: Sequence[str], tau: float) -> Figure:
    """Draw coverage and P(right | Conf ≥ τ) over τ.

    Parameters
    ----------
    table : DataFrame
        As returned by `at_tau` for many τ.
    named : sequence of str
        At most four models that are drawn in colour; the others are grey.
    tau : float
        Where the dashed line is.

    Returns
    -------
    Figure
        One line per model; none where fewer than ten answers are above τ.
    """
    rows = _by_quantity(table)
    rows = rows[rows["n"] >= FEW].assign(panel=lambda each: each["kind"] + ": " + each["quantity"])
    shown = [name for name in named if name in set(rows["model"])]
    palette = dict(zip(shown, (draw.NAVY, draw.VERMILION, draw.GREEN, draw.ORANGE), strict=False))
    plot = so.Plot(rows, x="tau", y="value", group="model").add(so.Line(color="0.8", linewidth=0.7))
    plot = plot.add(so.Line(linewidth=1.4), data=rows[rows["model"].isin(palette)], color="model", linestyle="model")
    plot = plot.facet("panel", wrap=2).scale(color=draw.scale(palette), linestyle=so.Nominal(order=shown))
    plot = plot.limit(y=draw.ALL_SHARES).label(x="threshold τ", y="share", color="", title=str)
    return draw.figure(plot, 4.6, note="grey: the other models", tau=tau)


def draw_ranks(table: pd.DataFrame) -> Figure:
    """Draw AUROC and calibration error of each model against its accuracy.

    Parameters
    ----------
    table : DataFrame
        As returned by `ranks`.

    Returns
    -------
    Figure
        One point per model and kind with its 95 % interval, one panel per measure.
    """
    rows = draw.melted(table, {"auroc": "AUROC", "ece": "calibration error (ECE)"}, "kind", "accuracy")
    plot = so.Plot(rows, x="accuracy", y="value", color="kind")
    plot = plot.add(so.Range(linewidth=1), ymin="low", ymax="high", legend=False).add(so.Dot(pointsize=4))
    plot = plot.facet("quantity").scale(color=draw.scale(_COLOURS)).share(y=False)
    return draw.figure(plot.label(x="accuracy", y="", color="", title=str), 2.8)


def draw_risk(table: pd.DataFrame, by: str, alpha: float) -> Figure:
    """Draw the share of wrong answers above τ for each model.

    Parameters
    ----------
    table : DataFrame
        Rows of `carried`, as `on_other_subjects` selects them, or on other models.
    by : str
        Column that names the models.
    alpha : float
        Where the dashed line is.

    Returns
    -------
    Figure
        One row per model; none where no question is above τ.
    """
    rows = table[table["n_above"] > 0].assign(n=lambda above: above["n_above"])
    tau = f"the τ of {' or '.join(rows['chosen_on'].unique())}" if by == "applied_to" else "τ"
    look: dict[str, Any] = {"palette": _COLOURS, "limits": (0, None), "note": f"dashed: α = {alpha:g}"}
    return draw.line_at(draw.rows(rows, "risk", by, f"share wrong above {tau}", hue="kind", **look), x=alpha)


def picker(rows: pd.DataFrame, tau: float = PAPER_TAU) -> Interactive:
    """Make a chart of one model and kind over τ, chosen from menus, with a slider for τ.

    Parameters
    ----------
    rows : DataFrame
        As returned by `load_replies`.
    tau : float
        Where the slider starts.

    Returns
    -------
    Interactive
        P(right | Conf ≥ τ) and coverage with their 95 % bands; ends a cell to be moved.
    """
    models, kinds = list(rows["model"].unique()), list(_KINDS.values())
    table = at_tau(rows, *GRID).rename(columns={"tau": "at"})
    tables = {}
    for name in ("precision", "coverage"):
        ends = {f"{name}_low": "low", f"{name}_high": "high"}
        tables[name] = table[["model", "kind", "at", name, *ends, "n_above", "n"]].rename(columns=ends).round(3)
    controls: list[Slider | Choice] = [
        Choice("model", "model", {model: model for model in models}, models[0]),
        Choice("kind", "kind of confidence", {kind: kind for kind in kinds}, kinds[0]),
        Slider("tau", "threshold τ", tau),
    ]
    title = "What τ means in each model"
    return sliding(tables, _panels, controls, title=title, note=RELEASED, reset={"tau": PAPER_TAU})


def _panels(charts: Any) -> Any:
    import altair as alt

    right = tau_curve(charts["precision"], "precision", _PRECISION, draw.NAVY, counts=True)
    share = tau_curve(charts["coverage"], "coverage", _COVERAGE, draw.BLUE)
    return alt.hconcat(right, share, spacing=40).resolve_scale(color="independent")
