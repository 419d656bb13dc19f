"""Chapter 02: what confidence says about knowledge, P(Highly-Known | Conf ≥ τ) [4.2]."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.special import bdtrc

from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import PrecisionSteps, ece, reliability_curve
from srdcr_lab.lib.calibration import auroc as auroc
from srdcr_lab.lib.calibration import auroc_gain as auroc_gain
from srdcr_lab.lib.calibration import precision_steps as precision_steps
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.gating import Gating
from srdcr_lab.lib.groups import of_several
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import Sentence, answer_box, sentence, sentences
from srdcr_lab.lib.statistics import jeffreys_interval, rank_correlation, with_interval
from srdcr_lab.records import BadInput, ConfidenceKind
from srdcr_lab.records.names import kind_called
from srdcr_lab.tuner import rows_of_sr_dcr
from srdcr_lab.tuner import tuner as tuner

if TYPE_CHECKING:
    from srdcr_lab.study import Results

_MANY = 10**9  # more questions than anybody asks


def answer(results: Results) -> Html:
    """Make the answer box of notebook 02: whether confidence ranks questions, and whether it is a probability.

    Parameters
    ----------
    results : Results
        A run with self-confidence.

    Returns
    -------
    Html
        The answer box of the notebook.

    Raises
    ------
    BadInput
        The run measured no confidence.
    """
    questions = results.known.questions
    if not questions["self_confidence"].notna().any():
        raise BadInput("this run has no confidence; srdcr run … --methods confidence_only measures it")
    confidence, tau = questions["self_confidence"], results.manifest["asked"]["choices"]["tau"]
    ranks = auroc(confidence, questions["prior_correct"])
    above = precision_steps(confidence, questions["prior_correct"]).at(tau)
    off = ece(confidence, questions["prior_correct"])
    return answer_box(
        sentence("confidence is higher where the answer from memory is right (AUROC)", *ranks.ends, ranks.n, above=0.5),
        sentence(f"most answers from memory with confidence of at least {tau:.2f} are right", *above.ends,
                 above.n_above, above=0.5, of="questions above τ"),
        sentence("the calibration error of confidence (ECE) is below 0.10, so that it can be read as a probability",
                 *off.ends, off.n, below=0.1),
        label=results.label,
    )  # fmt: skip


def measured(results: Results, *kinds: str) -> list[Results]:
    """Collect the results under several kinds of confidence.

    Parameters
    ----------
    results : Results
        A run; its own kind comes first.
    *kinds : str
        Further kinds; one that cannot be had is left out.

    Returns
    -------
    list of Results
        The results, one entry per kind.
    """
    every = [results]
    for kind in kinds:
        with suppress(BadInput):
            other = results.with_confidence(kind)
            every += [other] if other is not results else []
    return every


def decisions_at(results: Results, tau: float) -> pd.DataFrame:
    """Tabulate what SR-DCR decides at one τ, on true and on false passages.

    Parameters
    ----------
    results : Results
        A run with rows of SR-DCR.
    tau : float
        Confidence threshold τ in [0, 1].

    Returns
    -------
    DataFrame
        One row per condition: `n` items; the numbers decided `use_context`, `use_prior` and `abstain`; `coverage`;
        and `accuracy`, in which a missing answer counts as wrong, with its 95 % interval.
    """
    table = Gating.from_records(rows_of_sr_dcr(results)).at(tau)[:2]
    shares = ["coverage", "accuracy", "accuracy_low", "accuracy_high"]
    return table[["condition", "n", "use_context", "use_prior", "abstain", *shares]]


def above_tau(several: Mapping[str, pd.DataFrame], tau: float) -> Sentence:
    """Say whether more than 0.88 of the questions with confidence of at least τ are Highly-Known.

    The paper reports so much of τ = 0.90 [4.2].

    Parameters
    ----------
    several : mapping of str to DataFrame
        Name of a model or kind → its questions.
    tau : float
        Confidence threshold τ in [0, 1].

    Returns
    -------
    Sentence
        One sentence with a verdict per table.
    """
    rows = [
        {"questions": name} | asdict(precision_steps(each["self_confidence"], highly_known(each)).at(tau))
        for name, each in several.items()
    ]
    claim = f"more than 0.88 (the paper's share) of the questions with confidence ≥ {tau:.2f} are Highly-Known"
    return sentences(claim, rows, "precision", above=0.88, by=["questions"], n="n_above", of="questions above τ")


def precision_of(several: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute P(Highly-Known | Conf ≥ τ) for several tables of questions.

    Parameters
    ----------
    several : mapping of str to DataFrame
        Name of a model or kind → its questions.

    Returns
    -------
    DataFrame
        The rows of `precision_above`, with the name in the column `questions`.
    """
    return of_several(several, lambda each: precision_above(each["self_confidence"], highly_known(each)), "questions")


def reliability_of(several: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute reliability curves of right answers from memory for several tables of questions.

    Parameters
    ----------
    several : mapping of str to DataFrame
        Name of a model or kind → its questions.

    Returns
    -------
    DataFrame
        The rows of `reliability_curve`, with the name in the column `questions`.
    """
    return of_several(
        several, lambda each: reliability_curve(each["self_confidence"], each["prior_correct"]), "questions"
    )


def kinds_compared(several: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Compare kinds of confidence by their AUROC for two targets.

    Parameters
    ----------
    several : sequence of DataFrame
        One table per kind, each as `Results.questions`.

    Returns
    -------
    DataFrame
        One row per kind: AUROC for Highly-Known questions (`auroc_highly_known`) and for right answers from memory
        (`auroc_right`), and the `gain` of the latter over the first kind, each with its 95 % interval; `n` questions.
    """
    first = several[0].set_index("question_id")
    rows: list[dict[str, Any]] = []
    for questions in several:
        row = {"confidence_kind": questions["confidence_kind"].dropna().iloc[0]}
        for name, hits in (("highly_known", highly_known(questions)), ("right", questions["prior_correct"])):
            row |= with_interval(f"auroc_{name}", *auroc(questions["self_confidence"], hits).ends)
        other = questions.set_index("question_id")["self_confidence"].reindex(first.index)
        other = other if rows else other * np.nan  # the first kind gains nothing over itself
        gain = auroc_gain(other, first["self_confidence"], first["prior_correct"], first.index)
        rows.append(row | with_interval("gain", *gain.ends) | {"n": len(questions)})
    return pd.DataFrame(rows)


def precision_above(confidence: ArrayLike, target: ArrayLike) -> pd.DataFrame:
    """Compute P(target | Conf ≥ τ) at every τ at which it can change.

    Parameters
    ----------
    confidence : array-like
        Confidence of each question; NaN if missing.
    target : array-like
        Whether each question has the target, such as being Highly-Known; NA if unknown.

    Returns
    -------
    DataFrame
        One row per τ, descending: `n_above` questions with Conf ≥ τ, `n_target` of them with the target, `precision =
        n_target / n_above` with its 95 % Jeffreys interval, and `coverage`, the share of the questions with a target.
        `n_missing` questions have no confidence and are never above τ; `n_unlabelled` have no target and are left out.

    References
    ----------
    Paper, section 4.2.
    """
    return precision_steps(confidence, target).frame()


def risk_coverage(steps: PrecisionSteps) -> pd.DataFrame:
    """Compute risk = wrong / answered against coverage = answered / n, where Conf ≥ τ is answered.

    Parameters
    ----------
    steps : PrecisionSteps
        Counts for the target "the answer is right".

    Returns
    -------
    DataFrame
        One row per τ, descending: `coverage`, `n_answered`, `n_wrong`, `risk` with its 95 % Jeffreys interval,
        `n_missing` and `n_unlabelled`.

    References
    ----------
    El-Yaniv and Wiener 2010; Geifman and El-Yaniv 2017.
    """
    above = steps.frame().rename(columns={"n_above": "n_answered"})
    above["n_wrong"], above["risk"] = above["n_answered"] - above["n_target"], 1 - above["precision"]
    above["low"], above["high"] = 1 - above["high"], 1 - above["low"]
    columns = ["tau", "coverage", "n_answered", "n_wrong", "risk", "low", "high", "n_missing", "n_unlabelled"]
    return above[columns]


def compared_at(confidences: pd.DataFrame, tau: float = 0.90) -> pd.DataFrame:
    """Compare columns of confidence in pairs: ranks of questions, and questions on different sides of τ.

    Parameters
    ----------
    confidences : DataFrame
        One row per question, one column per kind or model.
    tau : float, default 0.9
        Confidence threshold τ in [0, 1].

    Returns
    -------
    DataFrame
        One row per pair: `n` questions with both; `spearman` with its bootstrap interval (`low`, `high`); `n_flipped`
        questions on different sides of τ and their share `flipped` with its Jeffreys interval.
    """
    rows = []
    for first, second in combinations(confidences.columns, 2):
        both = confidences[[first, second]].dropna()
        *rank, _ = rank_correlation(both[first], both[second])
        flipped = int(((both[first] >= tau) != (both[second] >= tau)).sum())
        share = flipped / len(both) if len(both) else np.nan
        ends = map(float, jeffreys_interval(flipped, len(both)))
        rows.append((first, second, len(both), *rank, flipped, share, *ends))
    columns = ["first", "second", "n", "spearman", "low", "high", "n_flipped", "flipped", "flipped_low", "flipped_high"]
    return pd.DataFrame(rows, columns=columns)


class QuestionsNeeded(NamedTuple):
    """Say how many questions a study needs.

    Attributes
    ----------
    n_above : int
        Questions above τ that give the wanted width.
    n_questions : int
        Questions of which at least `n_above` are above τ, with the assured probability.
    """

    n_above: int
    n_questions: int


def questions_for_width(precision: float, coverage: float, width: float, *, assured: float = 0.9) -> QuestionsNeeded:
    """Compute the required sample size for an interval of P(target | Conf ≥ τ) of a given width.

    Parameters
    ----------
    precision : float
        Expected share with the target, in [0, 1]; 0.5 is the safe guess.
    coverage : float
        Expected P(Conf ≥ τ), in (0, 1].
    width : float
        Largest width of the 95 % Jeffreys interval, in (0, 1).
    assured : float, default 0.9
        Probability, in (0, 1), that enough questions are above τ; their number is binomial.

    Returns
    -------
    QuestionsNeeded
        The numbers of questions above τ and in all.
    """

    def narrow(n: int) -> bool:
        low, high = jeffreys_interval(precision * n, n)
        return bool(high - low <= width)

    n_above = 1 + bisect_left(range(1, _MANY), True, key=narrow)
    enough = range(n_above, _MANY)
    more = bisect_left(enough, True, key=lambda n: float(bdtrc(n_above - 1, n, coverage)) >= assured)
    return QuestionsNeeded(n_above, n_above + more)


def confidence_histogram(questions: pd.DataFrame, *, n_bins: int = 20, consistency_draws: int = 16) -> pd.DataFrame:
    """Count questions by kind of confidence, bin and knowledge category.

    Parameters
    ----------
    questions : DataFrame
        Rows of one or several kinds, with `confidence_kind`.
    n_bins : int, default 20
        Number of bins of equal width; self-consistency has one bin around each possible share instead.
    consistency_draws : int, default 16
        Number of draws behind self-consistency.

    Returns
    -------
    DataFrame
        One row per kind × category × bin (`left` ≤ Conf < `right`; the last bin includes 1), with `n` questions.
        `n_missing` questions of the kind have no confidence or no draws and are in no bin.
    """
    tables = []
    for kind, part in questions.groupby("confidence_kind", sort=False):
        edges = np.arange(n_bins + 1) / n_bins
        if kind == ConfidenceKind.SELF_CONSISTENCY:
            edges = (np.arange(consistency_draws + 2) - 0.5) / consistency_draws
        bins = {"confidence_kind": kind, "left": edges[:-1], "right": edges[1:]}
        known = part.dropna(subset="self_confidence")
        of = {name: known.loc[known["knowledge_category"] == name, "self_confidence"] for name in draw.CATEGORY_COLOURS}
        counts = [
            pd.DataFrame(bins | {"knowledge_category": name, "n": np.histogram(values.to_numpy(float), edges)[0]})
            for name, values in of.items()
        ]
        table = pd.concat(counts, ignore_index=True)
        tables.append(table.assign(n_missing=len(part) - int(table["n"].sum())))
    return pd.concat(tables, ignore_index=True)


def draw_confidence(table: pd.DataFrame, tau: float | None = 0.90) -> Figure:
    """Draw the questions by confidence and category, a panel per kind; dashed: τ.

    Parameters
    ----------
    table : DataFrame
        As returned by `confidence_histogram`.
    tau : float, default 0.9
        Position of the dashed line; None for no line.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows, palette = draw.by_category(table)
    rows["middle"] = ((rows["left"] + rows["right"]) / 2).round(6)
    rows["kind"] = rows["confidence_kind"].map(kind_called)
    panel, height = ("kind" if rows["kind"].nunique() > 1 else ""), 2.4 * rows["kind"].nunique()
    labels = ("self-confidence", "questions")
    return draw.stacked(rows, "middle", "n", "category", labels, palette, panel=panel, height=height, tau=tau)


def draw_precision(table: pd.DataFrame, tau: float | None = 0.90, *, panel: str = "") -> Figure:
    """Draw P(Highly-Known | Conf ≥ τ) with its 95 % band; grey: coverage.

    Parameters
    ----------
    table : DataFrame
        As returned by `precision_above` or `precision_of`.
    tau : float, default 0.9
        Position of the dashed line; None for no line.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing("no question with a confidence and knowledge draws")
    names = {"precision": "P(Highly-Known | Conf ≥ τ)", "coverage": "coverage"}
    ends = {"low": "precision_low", "high": "precision_high"}
    rows = draw.melted(table.rename(columns=ends), names, "tau", *([panel] if panel else []))
    palette = dict(zip(names.values(), (draw.NAVY, draw.GREY), strict=True))
    labels = ("τ", "share of questions")
    return draw.lines(rows, "tau", "value", labels, hue="quantity", palette=palette, panel=panel, steps=True, tau=tau)


def draw_reliability(table: pd.DataFrame, *, panel: str = "") -> Figure:
    """Draw the share of right answers in each bin of confidence, with marks as large as the number of questions.

    On the dashed line confidence equals that share.

    Parameters
    ----------
    table : DataFrame
        As returned by `reliability_curve` or `reliability_of`.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table[table["n"] > 0].reset_index(drop=True)
    labels = ("self-confidence", "share right")
    made = draw.lines(rows, "mean_confidence", "frequency", labels, points=True, panel=panel, size="n", height=3.0)
    for ax in made.axes:
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    return made


def tau_text(tau: float) -> str:
    """Write a threshold for a reader.

    Parameters
    ----------
    tau : float
        The threshold; NaN if none was found.

    Returns
    -------
    str
        The text, "τ = 0.9" or "no τ".
    """
    return "no τ" if pd.isna(tau) else f"τ = {tau:.3g}"
