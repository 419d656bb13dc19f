"""Chapter 06b: kinds of confidence, recalibration, and thresholds carried to other domains."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from srdcr_lab.answers import says_the_same
from srdcr_lab.confidence import auroc, compared_at
from srdcr_lab.knowledge import subset_shares
from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import ece, floats, reliability_curve
from srdcr_lab.lib.definitions import FROM_LOGPROBS, answer_tokens
from srdcr_lab.lib.page import Html, number
from srdcr_lab.lib.sentences import answer_box, sentence
from srdcr_lab.lib.statistics import Estimate, clustered_interval, jeffreys_share, macro_mean
from srdcr_lab.records import GREEDY, BadInput, ConfidenceKind, Item
from srdcr_lab.records.names import kind_called

CONSISTENCY_SIZES = (2, 4, 6, 8, 10, 12, 14, 16)
# The tokens that a confidence is computed from, and what a reader calls them.
COUNTED = {"answer": "tokens of the answer", "reply": "the whole reply", "first": "the first token"}
Map = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def confidence_variants(samples: pd.DataFrame, items: Mapping[str, Item]) -> pd.DataFrame:
    """Compute the confidence of each greedy reply by every choice of tokens (`COUNTED`) and of mean.

    If nothing was asked greedily, the first consistency draw is used.

    Parameters
    ----------
    samples : DataFrame
        One row per answer drawn without a passage, as `Results.samples`.
    items : mapping of str to Item
        An item by `question_id`. If the answer is not found in the reply, the reply without surrounding space counts as
        the answer.

    Returns
    -------
    DataFrame
        One row per question × `counted` × `confidence_kind`, with `confidence` and `n_tokens`; NaN for a reply without
        log-probabilities or tokens.
    """
    greedy = samples[samples["stream"] == GREEDY]
    first = samples[(samples["stream"] == "self_consistency") & (samples["draw"] == 0)]
    rows = []
    for reply in (first if greedy.empty else greedy).to_dict("records"):
        question, scored = reply["question_id"], (reply["tokens"], reply["logprobs"])
        tokens, logprobs = (list(each) if np.ndim(each) else [] for each in scored)  # NA and None: the reply has none
        answer = None if pd.isna(reply["answer"]) else str(reply["answer"])
        asked = items[question]
        own = answer_tokens(str(reply["text"]), tokens, logprobs, answer, asked.answer_type, asked.unit)
        for counted, chosen in zip(COUNTED, (own, logprobs, logprobs[:1]), strict=True):
            for kind, confidence_of in FROM_LOGPROBS.items():
                rows.append((question, counted, kind.value, confidence_of(chosen), len(chosen)))
    return pd.DataFrame(rows, columns=["question_id", "counted", "confidence_kind", "confidence", "n_tokens"])


def agreement_matrix(samples: pd.DataFrame, items: Mapping[str, Item]) -> pd.DataFrame:
    """Compare each consistency draw with the prior answer of its question.

    The prior answer is the greedy one or, if nothing was asked greedily, the most frequent draw.

    Parameters
    ----------
    samples : DataFrame
        One row per answer drawn without a passage, as `Results.samples`.
    items : mapping of str to Item
        An item by `question_id`.

    Returns
    -------
    DataFrame of bool, questions × draws
        Whether the draw equals the prior answer; an unread draw does not. Questions without a prior answer or without
        all draws are left out.
    """
    prior = samples[samples["stream"] == GREEDY].set_index("question_id")["answer"].to_dict()
    drawn = samples[samples["stream"] == "self_consistency"].sort_values("draw", kind="stable")
    for question, own in drawn.dropna(subset=["answer"]).groupby("question_id")["answer"]:
        if question not in prior:
            asked = items[str(question)]
            prior[question] = max(own, key=lambda one: sum(says_the_same(one, other, asked) for other in own))
    drawn = drawn.assign(prior=drawn["question_id"].map(prior)).dropna(subset="prior")
    pairs = zip(drawn["answer"], drawn["prior"], drawn["question_id"], strict=True)
    drawn["agrees"] = [pd.notna(said) and says_the_same(said, first, items[name]) for said, first, name in pairs]
    return drawn.pivot(index="question_id", columns="draw", values="agrees").dropna().astype(bool)


def consistency_by_draws(agrees: ArrayLike, tau: float = 0.90) -> pd.DataFrame:
    """Compare the self-consistency of fewer draws with that of all draws.

    All numbers are expectations over the subsets of the draws at hand.

    Parameters
    ----------
    agrees : array-like
        Whether a draw equals the greedy answer, with shape (q, N).
    tau : float, default 0.9
        Confidence threshold τ in [0, 1].

    Returns
    -------
    DataFrame
        One row per size of `CONSISTENCY_SIZES` up to N: `difference`, the mean distance of the subset's share from that
        of all draws; `flipped`, the share of questions on the other side of τ, with an interval over questions;
        `least_agreeing` = ⌈τ n⌉, the draws that must agree to reach τ; `n` questions.

    References
    ----------
    Paper, appendix C.1.
    """
    right = np.asarray(agrees, bool)
    q, n = right.shape
    totals, whole = right.sum(axis=1), np.arange(n + 1) / max(n, 1)
    rows = []
    for size in (size for size in CONSISTENCY_SIZES if size <= n or not q):
        share, probability = np.arange(size + 1) / size, subset_shares(n, size)
        above = share >= tau
        least = int((~above).sum())
        flips = np.where(whole >= tau, probability @ ~above, probability @ above)[totals]
        distance = (probability * np.abs(share - whole[:, None])).sum(axis=1)[totals]
        rows.append((size, q, macro_mean(distance), *clustered_interval(flips, range(q))[:3], least))
    return pd.DataFrame(rows, columns=["size", "n", "difference", "flipped", "low", "high", "least_agreeing"])


def recalibrated(
    confidence: ArrayLike, target: ArrayLike, method: str = "platt", questions: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Map confidence to the probability of the target, with maps fitted on the other folds.

    All rows of one question are in one of five folds, or of as many as there are questions.

    Parameters
    ----------
    confidence : array-like
        Confidence of each row, shape (q,).
    target : array-like
        Whether each row has the target, shape (q,).
    method : str, default "platt"
        "platt": 1 / (1 + exp(−(a s + b))) of the confidence s, fitted to smoothed targets. "isotonic": the
        non-decreasing curve nearest to the targets.
    questions : array-like, optional
        Question of each row; None if each row is a question of its own.

    Returns
    -------
    ndarray of float, shape (q,)
        The probability; NaN if confidence or target is missing, for a fold whose other folds have only one class, and
        if there are fewer than two questions.

    References
    ----------
    Platt 1999; Zadrozny and Elkan 2002.
    """
    fitted = {"platt": _platt, "isotonic": _isotonic}[method]
    values, labels = floats(confidence), floats(target)
    groups = np.arange(values.size) if questions is None else np.asarray(questions)
    probability = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values) & ~np.isnan(labels))
    splits = min(5, np.unique(groups[known]).size)
    if splits < 2:
        return probability
    for others, held_out in GroupKFold(splits, shuffle=True, random_state=0).split(known, groups=groups[known]):
        learnt_from, shown = known[others], known[held_out]
        if np.unique(labels[learnt_from]).size == 2:
            probability[shown] = fitted(values[learnt_from], labels[learnt_from])(values[shown])
    return probability


def _platt(values: NDArray[np.float64], labels: NDArray[np.float64]) -> Map:
    """Platt's smoothed targets are weights: each row counts for both classes."""
    n_target = labels.sum()
    smoothed = np.where(labels == 1, (n_target + 1) / (n_target + 2), 1 / (labels.size - n_target + 2))
    both, classes = np.tile(values, 2)[:, None], np.repeat([1, 0], values.size)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    model.fit(both, classes, sample_weight=np.concatenate([smoothed, 1 - smoothed]))
    return lambda shown: np.asarray(model.predict_proba(shown[:, None])[:, 1])


def _isotonic(values: NDArray[np.float64], labels: NDArray[np.float64]) -> Map:
    curve = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(values, labels)
    return lambda shown: np.asarray(curve.predict(shown))


# What notebook 06b takes from a run


def _items(results: Any) -> dict[str, Item]:
    return {item.question_id: item for item in results.items.values()}


def token_choices(results: Any) -> pd.DataFrame:
    """Compute `mean_logprob` of each question by the tokens that are counted.

    Parameters
    ----------
    results : Results
        A finished run.

    Returns
    -------
    DataFrame
        One row per question, one column per choice of tokens.
    """
    variants = confidence_variants(results.samples, _items(results))
    rows = variants[variants["confidence_kind"] == ConfidenceKind.MEAN_LOGPROB]
    return rows.pivot(index="question_id", columns="counted", values="confidence")[[*COUNTED]].rename(columns=COUNTED)


def confidence_kinds(results: Any) -> pd.DataFrame:
    """Collect every kind of confidence that a run has, or can still ask for.

    Parameters
    ----------
    results : Results
        A run. With a finished run, or a model without log-probabilities, some kinds are missing.

    Returns
    -------
    DataFrame
        One row per question, one column per kind.
    """
    variants = confidence_variants(results.samples, _items(results))
    rows = variants[(variants["counted"] == "answer") & variants["confidence"].notna()]
    columns = {str(kind): part.set_index("question_id")["confidence"] for kind, part in rows.groupby("confidence_kind")}
    for kind in (kind for kind in ConfidenceKind if kind not in columns):
        with suppress(BadInput):
            questions = results.with_confidence(kind).questions
            columns[kind.value] = questions.set_index("question_id")["self_confidence"].astype(float)
    return pd.DataFrame({kind.value: columns[kind] for kind in ConfidenceKind if kind in columns})


def agreements(results: Any) -> pd.DataFrame:
    """Compute the `agreement_matrix` of a run's consistency draws, asking for them if they are missing.

    Parameters
    ----------
    results : Results
        A run that is still open, or one with consistency draws.

    Returns
    -------
    DataFrame
        Questions × draws, as `agreement_matrix` returns it.
    """
    with suppress(BadInput):
        results = results.with_confidence(ConfidenceKind.SELF_CONSISTENCY)
    return agreement_matrix(results.samples, _items(results))


def discrimination_of(kinds: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """Compute the AUROC of several kinds of confidence for "the answer from memory is right".

    Parameters
    ----------
    kinds : DataFrame
        One column per kind, as `confidence_kinds` returns it.
    questions : DataFrame
        One row per question, as `Results.questions`.

    Returns
    -------
    DataFrame
        One row per kind: `auroc` with its 95 % interval, `n_questions` and `n_missing`.
    """
    right = questions.set_index("question_id")["prior_correct"].reindex(kinds.index)
    missing = kinds[right.notna()].isna().sum()
    rows = [(kind, *auroc(kinds[kind], right), missing[kind]) for kind in kinds]
    return pd.DataFrame(rows, columns=["confidence_kind", "auroc", "low", "high", "n_questions", "n_missing"])


def reliability_curves(questions: pd.DataFrame) -> pd.DataFrame:
    """Compute reliability curves of confidence as it is, and after recalibration by two maps.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.

    Returns
    -------
    DataFrame
        The rows of `reliability_curve`; `confidence` names the curve.
    """
    values, right = questions["self_confidence"], questions["prior_correct"]
    maps = {"as it is": floats(values)}
    maps |= {name: recalibrated(values, right, name, questions["question_id"]) for name in ("platt", "isotonic")}
    curves = [reliability_curve(each, right).assign(confidence=name) for name, each in maps.items()]
    return pd.concat(curves, ignore_index=True).replace({"confidence": {"platt": "Platt", "isotonic": "isotonic"}})


def carried_risk(carried: pd.DataFrame) -> Estimate:
    """Compute the risk above a τ that was chosen on all other domains, over all domains together.

    Parameters
    ----------
    carried : DataFrame
        As returned by `thresholds.transfer`.

    Returns
    -------
    Estimate
        The risk with its Jeffreys interval, of the `n` questions above τ. Domains for which the others gave no τ are
        left out.
    """
    rows = carried[carried["chosen_on"].str.startswith("all but ")].dropna(subset="tau")
    return jeffreys_share(int(rows["n_wrong"].sum()), int(rows["n_above"].sum()))


def answer(questions: pd.DataFrame, carried: pd.DataFrame, *, alpha: float, label: str = "") -> Html:
    """Make the answer box of notebook 06b: calibration, ranking, and whether a τ holds on another domain.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.
    carried : DataFrame
        As returned by `thresholds.transfer` for these questions, at this `alpha`.
    alpha : float
        The wanted risk, in (0, 1).
    label : str, default ""
        The models behind the numbers, as `Results.label`.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    values, right = questions["self_confidence"], questions["prior_correct"]
    error, area = ece(values, right), auroc(values, right)
    claim = f"a τ chosen on the other domains keeps wrong answers below {alpha:g}"
    return answer_box(
        sentence("confidence is close to a probability (calibration error; the bound is ours)", *error, below=0.1),
        sentence("right answers are the more confident ones (AUROC above 0.5)", *area, above=0.5),
        sentence(claim, *carried_risk(carried), below=alpha, of="questions above it"),
        label=label,
    )  # fmt: skip


def draw_kinds(confidences: pd.DataFrame, tau: float = 0.90) -> Figure:
    """Draw how kinds of confidence agree.

    Below the diagonal are rank correlations with their 95 % intervals, above it the questions on different sides of τ,
    on it the numbers above τ.

    Parameters
    ----------
    confidences : DataFrame
        One column per kind, as `confidence_kinds` returns it.
    tau : float, default 0.9
        Confidence threshold τ in [0, 1].

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    pairs, names = compared_at(confidences, tau), list(confidences.columns)
    values = pd.DataFrame(np.nan, names, names)
    texts = pd.DataFrame("–", names, names)
    for name, column in confidences.items():
        texts.loc[name, name] = f"{(column >= tau).sum()} of\n{column.notna().sum()} ≥ τ"
    for row in pairs[pairs["n"] > 0].itertuples():
        values.loc[row.second, row.first] = row.spearman
        texts.loc[row.second, row.first] = "{}\n{} to\n{}".format(*map(number, (row.spearman, row.low, row.high)))
        texts.loc[row.first, row.second] = f"{row.n_flipped}\nof {row.n}"
    called = [kind_called(name).replace(" ", "\n", 1) for name in names]
    values, texts = (each.set_axis(called).set_axis(called, axis=1) for each in (values, texts))
    title = f"below: rank correlation [95 %]\nabove: change sides at τ = {tau:.2f}"
    return draw.heatmap(values, texts, "Blues", title=title)


def draw_consistency(table: pd.DataFrame, tau: float = 0.90) -> Figure:
    """Draw how far the self-consistency of fewer draws is from that of all.

    Parameters
    ----------
    table : DataFrame
        As returned by `consistency_by_draws`.
    tau : float, default 0.9
        Confidence threshold τ in [0, 1].

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    names = {"flipped": f"share that changes sides at τ = {tau:.2f}", "difference": "mean distance of confidence"}
    rows = draw.melted(table.rename(columns={"low": "flipped_low", "high": "flipped_high"}), names, "size")
    palette = dict(zip(names.values(), (draw.ORANGE, draw.BLUE), strict=True))
    labels = ("draws", "difference from all draws")
    return draw.lines(rows, "size", "value", labels, hue="quantity", palette=palette, limits=(0, None))


def draw_transfer(table: pd.DataFrame, alpha: float | None = None) -> Figure:
    """Draw the risk with its 95 % interval where a τ is used.

    A row stands for the domain on which τ was chosen, a column for that on which it is used; a single row is drawn as
    points. A domain that gave no τ has no row, unless none gave one. On the diagonal the risk is too optimistic.

    Parameters
    ----------
    table : DataFrame
        As returned by `thresholds.transfer`.
    alpha : float, optional
        The wanted risk, a dashed line.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing("no domain to carry τ to")
    domains = set(table["applied_to"])
    table = table.dropna(subset="tau") if table["tau"].notna().any() else table
    names, texts = [], []
    for row in table.itertuples():
        tau = "no τ" if pd.isna(row.tau) else f"τ = {row.tau:.2f}"
        names.append(f"{row.chosen_on}\n{tau}" if row.chosen_on in domains else "all others")
        ends = f"{row.risk:.2f}\n{row.risk_low:.2f} to\n{row.risk_high:.2f}\nn = {row.n_above}"
        texts.append(ends if pd.notna(row.risk) else "no τ" if pd.isna(row.tau) else "none")
    if len({*names}) == 1 and table["risk"].notna().any():
        called = [f"{row.applied_to} (n = {row.n_above:.0f})" for row in table.itertuples()]
        note = f"τ chosen on {names[0]}" + "; dashed: α" * (alpha is not None)
        points = table.assign(name=called, n=table["n_above"])
        return draw.line_at(draw.rows(points, "risk", "name", "share wrong above τ", note=note), x=alpha)
    rows = table.assign(chosen_on=names, text=texts)
    wide = rows.pivot(index="chosen_on", columns="applied_to", values=["risk", "text"]).loc[rows["chosen_on"].unique()]
    values, texts = (wide[name][rows["applied_to"].unique()] for name in ("risk", "text"))
    return draw.heatmap(values.rename_axis(None), texts.fillna("–"), "YlOrRd", title="risk where τ is used")
