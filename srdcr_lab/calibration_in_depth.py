"""Chapter 06b: kinds of confidence, recalibration, and thresholds carried to other domains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from srdcr_lab import answers
from srdcr_lab.answers.token_confidence import FROM_LOGPROBS, answer_tokens
from srdcr_lab.confidence import auroc, compared_at, tau_text
from srdcr_lab.knowledge import subset_shares
from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import ece, floats, reliability_curve
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import answer_box, sentence
from srdcr_lab.lib.statistics import bootstrapped, jeffreys_interval, percentile_interval
from srdcr_lab.records import GREEDY, AnswerType, BadInput, ConfidenceKind
from srdcr_lab.records.names import kind_called

CONSISTENCY_SIZES = (2, 4, 6, 8, 10, 12, 14, 16)


class Counted(StrEnum):
    """The tokens a confidence is made of. The paper says answer tokens [2.3]; the others are what code often takes."""

    ANSWER = "answer"
    REPLY = "reply"
    FIRST = "first"


def confidence_variants(samples: pd.DataFrame, answer_types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Confidence of each greedy reply of a samples table, by every choice of tokens (`Counted`) and of mean.

    Where nothing was asked greedily, of the first consistency draw. NaN for a reply without log-probabilities or
    tokens. `answer_types` are those of each question_id, text by default; where the answer is not found in the reply,
    the reply without surrounding space counts as the answer.
    """
    greedy = samples[samples["stream"] == GREEDY]
    first = samples[(samples["stream"] == "self_consistency") & (samples["draw"] == 0)]
    rows = [
        (reply["question_id"], counted.value, kind.value, confidence_of(logprobs), len(logprobs))
        for reply in (first if greedy.empty else greedy).to_dict("records")
        for counted, logprobs in _counted(reply, _answer_type(answer_types, reply["question_id"]))
        for kind, confidence_of in FROM_LOGPROBS.items()
    ]
    return pd.DataFrame(rows, columns=["question_id", "counted", "confidence_kind", "confidence", "n_tokens"])


def _answer_type(answer_types: Mapping[str, str] | None, question_id: str) -> AnswerType:
    return AnswerType((answer_types or {}).get(question_id, AnswerType.TEXT))


def _counted(reply: Mapping[str, Any], answer_type: AnswerType) -> Iterator[tuple[Counted, list[float]]]:
    """Log-probabilities of the tokens that each choice counts."""
    tokens, logprobs = (_list(reply[column]) for column in ("tokens", "logprobs"))
    answer = None if pd.isna(reply["answer"]) else str(reply["answer"])
    yield Counted.ANSWER, list(answer_tokens(str(reply["text"]), tokens, logprobs, answer, answer_type))
    yield Counted.REPLY, logprobs
    yield Counted.FIRST, logprobs[:1]


def _list(values: Any) -> list[Any]:
    return [] if values is None or values is pd.NA or isinstance(values, float) else list(values)


def agreement_matrix(samples: pd.DataFrame, answer_types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Whether each consistency draw equals its question's prior answer (an unread one does not): questions × draws.

    That is the greedy answer, or where nothing was asked greedily the most frequent draw. Questions without one or
    without all draws are left out. `answer_types` as in `confidence_variants`.
    """
    greedy = samples[samples["stream"] == GREEDY].set_index("question_id")["answer"]
    drawn = samples[samples["stream"] == "self_consistency"].sort_values("draw", kind="stable")
    prior = greedy.to_dict()
    for question, own in drawn.dropna(subset=["answer"]).groupby("question_id")["answer"]:
        if question not in prior:
            kind = _answer_type(answer_types, str(question))
            prior[question] = max(own, key=lambda one: sum(answers.equal(one, other, kind) for other in own))
    drawn = drawn[drawn["question_id"].map(prior).notna()]
    agrees = [
        isinstance(draw.answer, str)
        and answers.equal(draw.answer, prior[draw.question_id], _answer_type(answer_types, draw.question_id))
        for draw in drawn.itertuples()
    ]
    matrix = drawn.assign(agrees=agrees).pivot(index="question_id", columns="draw", values="agrees")
    return matrix.dropna().astype(bool)


def consistency_by_draws(
    agrees: ArrayLike, tau: float = 0.90, sizes: Sequence[int] = CONSISTENCY_SIZES
) -> pd.DataFrame:
    """How far the self-consistency of n draws is from that of all N, and how often it is on the other side of τ [C.1].

    `agrees` (q, N) says that a draw equals the greedy answer. Expected over all subsets of `size` draws: `difference` =
    E|share of the subset − share of N|, `flipped` = share of questions on the other side of τ (bootstrap over
    questions); `least_agreeing` = ⌈τ n⌉, the draws that must agree to reach τ.
    """
    right = np.asarray(agrees, bool)
    q, n = right.shape
    totals, whole = right.sum(axis=1), np.arange(n + 1) / n
    rows = []
    for size in sizes:
        share, probability = np.arange(size + 1) / size, subset_shares(n, size)
        above = share >= tau
        least = int(np.argmax(above)) if above.any() else size + 1
        if q == 0:
            rows.append((size, 0, np.nan, np.nan, np.nan, np.nan, least))
            continue
        flips = np.where(whole >= tau, probability @ ~above, probability @ above)[totals]
        distance = (probability * np.abs(share - whole[:, None])).sum(axis=1)[totals]
        resampled = bootstrapped(lambda weights, flips=flips: weights @ flips / q, q)  # type: ignore[misc]
        rows.append((size, q, distance.mean(), flips.mean(), *percentile_interval(resampled), least))
    return pd.DataFrame(rows, columns=["size", "n", "difference", "flipped", "low", "high", "least_agreeing"])


def recalibrated(
    confidence: ArrayLike,
    target: ArrayLike,
    method: Literal["platt", "isotonic"] = "platt",
    questions: ArrayLike | None = None,
    *,
    n_splits: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Probability of the target by a map of confidence that was fitted on the other folds; shape (q,).

    ``platt``: 1 / (1 + exp(−(a s + b))) of the confidence s, fitted to smoothed targets [Platt 1999]; ``isotonic``: the
    non-decreasing curve nearest to the targets [Zadrozny and Elkan 2002]. Rows of one question (`questions`; None: one
    row each) are in one fold; there are at most as many folds as questions. NaN where confidence or target is missing,
    for a fold whose other folds hold one class only, and where there are fewer than two questions.
    """
    fitted = {"platt": _platt, "isotonic": _isotonic}[method]
    values, labels = floats(confidence), floats(target)
    groups = np.arange(values.size) if questions is None else np.asarray(questions)
    if not values.shape == labels.shape == groups.shape:
        shapes = f"{values.shape}, {labels.shape}, {groups.shape}"
        raise ValueError(f"one confidence, target and question each, got {shapes}")
    probability = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values) & ~np.isnan(labels))
    splits = min(n_splits, np.unique(groups[known]).size)
    if splits < 2:
        return probability
    for others, held_out in GroupKFold(splits, shuffle=True, random_state=seed).split(known, groups=groups[known]):
        learnt_from, shown = known[others], known[held_out]
        if np.unique(labels[learnt_from]).size == 2:
            probability[shown] = fitted(values[learnt_from], labels[learnt_from])(values[shown])
    return probability


Map = Callable[[NDArray[np.float64]], NDArray[np.float64]]


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


def _types(results: Any) -> dict[str, str]:
    return dict(zip(results.records["question_id"], results.records["answer_type"], strict=True))


def token_choices(results: Any) -> pd.DataFrame:
    """`mean_logprob` of each question by the tokens that count: a row per question, a column per choice."""
    variants = confidence_variants(results.samples, _types(results))
    rows = variants[variants["confidence_kind"] == ConfidenceKind.MEAN_LOGPROB]
    names = {"answer": "tokens of the answer", "reply": "the whole reply", "first": "the first token"}
    return rows.pivot(index="question_id", columns="counted", values="confidence")[[*names]].rename(columns=names)


def confidence_kinds(results: Any) -> pd.DataFrame:
    """Every kind of confidence that a run has or can still ask for: a row per question, a column per kind.

    `results` : a `Results`. Of a finished run, and of a model without log-probabilities, some kinds are missing.
    """
    variants = confidence_variants(results.samples, _types(results))
    rows = variants[(variants["counted"] == Counted.ANSWER) & variants["confidence"].notna()]
    columns = {str(kind): part.set_index("question_id")["confidence"] for kind, part in rows.groupby("confidence_kind")}
    for kind in ConfidenceKind:
        if kind not in columns:
            with suppress(BadInput):
                questions = results.with_confidence(kind).questions
                columns[kind.value] = questions.set_index("question_id")["self_confidence"].astype(float)
    return pd.DataFrame({kind.value: columns[kind] for kind in ConfidenceKind if kind in columns})


def agreements(results: Any) -> pd.DataFrame:
    """`agreement_matrix` of a run's consistency draws, which are asked for where they are missing."""
    with suppress(BadInput):
        results = results.with_confidence(ConfidenceKind.SELF_CONSISTENCY)
    return agreement_matrix(results.samples, _types(results))


def discrimination_of(kinds: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """AUROC for "the answer from memory is right" of each kind, a column of `kinds`."""
    right = questions.set_index("question_id")["prior_correct"].reindex(kinds.index)
    areas = {kind: auroc(kinds[kind], right) for kind in kinds}
    rows = [(kind, area.value, area.low, area.high, area.n, area.n_missing) for kind, area in areas.items()]
    return pd.DataFrame(rows, columns=["confidence_kind", "auroc", "low", "high", "n_questions", "n_missing"])


def reliability_curves(questions: pd.DataFrame) -> pd.DataFrame:
    """`reliability_curve` of confidence as it is and as `recalibrated` by both maps (`confidence` names which)."""
    values, right = questions["self_confidence"], questions["prior_correct"]
    maps = {"as it is": floats(values)}
    maps |= {name: recalibrated(values, right, name, questions["question_id"]) for name in ("platt", "isotonic")}
    curves = [reliability_curve(each, right).assign(confidence=name) for name, each in maps.items()]
    return pd.concat(curves, ignore_index=True).replace({"confidence": {"platt": "Platt", "isotonic": "isotonic"}})


def carried_risk(carried: pd.DataFrame) -> dict[str, Any]:
    """The risk above a τ that was chosen on all other domains, over all domains together, from `thresholds.transfer`.

    Domains for which the others gave no τ are left out; `n` counts the questions above τ.
    """
    rows = carried[carried["chosen_on"].str.startswith("all but ")].dropna(subset="tau")
    n_above, n_wrong = int(rows["n_above"].sum()), int(rows["n_wrong"].sum())
    low, high = map(float, jeffreys_interval(n_wrong, n_above))
    return {"estimate": n_wrong / n_above if n_above else math.nan, "low": low, "high": high, "n": n_above}


def answer(questions: pd.DataFrame, carried: pd.DataFrame, *, alpha: float, label: str = "") -> Html:
    """The answer to notebook 06b.

    Parameters
    ----------
    questions : `Results.questions`.
    carried : `thresholds.transfer` of them, at this `alpha`.
    """
    values, right = questions["self_confidence"], questions["prior_correct"]
    error, area = ece(values, right), auroc(values, right)
    claim = f"a τ chosen on the other domains keeps wrong answers below {alpha:g}"
    return answer_box(
        sentence("confidence is nearly a probability (calibration error below 0.1)", error.debiased, error.low,
                 error.high, error.n, below=0.1),
        sentence("right answers are the more confident ones (AUROC above 0.5)", area.value, area.low, area.high,
                 area.n, above=0.5),
        sentence(claim, **carried_risk(carried), below=alpha, of="questions above it"),
        label=label,
    )  # fmt: skip


def draw_kinds(confidences: pd.DataFrame, tau: float = 0.90) -> Figure:
    """How kinds of confidence agree, from one column for each: below the diagonal rank correlations with their 95 %
    intervals, above it the questions on different sides of τ, on it how many lie above τ."""
    pairs, names = compared_at(confidences, tau), list(confidences.columns)
    values = pd.DataFrame(np.nan, names, names)
    texts = pd.DataFrame("–", names, names)
    for name, column in confidences.items():
        texts.loc[name, name] = f"{(column >= tau).sum()} of\n{column.notna().sum()} ≥ τ"
    for row in pairs[pairs["n"] > 0].itertuples():
        values.loc[row.second, row.first], values.loc[row.first, row.second] = row.spearman, row.flipped
        texts.loc[row.second, row.first] = f"{row.spearman:.2f}\n{row.low:.2f} to\n{row.high:.2f}"
        texts.loc[row.first, row.second] = f"{row.n_flipped}\nof {row.n}"
    called = [kind_called(name).replace(" ", "\n", 1) for name in names]
    values, texts = (each.set_axis(called).set_axis(called, axis=1) for each in (values, texts))
    title = f"below: rank correlation [95 %]\nabove: change sides at τ = {tau:g}"
    return draw.heatmap(values, texts, "Blues", title=title)


def draw_consistency(table: pd.DataFrame, tau: float = 0.90) -> Figure:
    """How far the self-consistency of fewer draws is from that of all, from `consistency_by_draws`."""
    names = {"flipped": f"share that changes sides at τ = {tau:g}", "difference": "mean distance of Conf"}
    parts = [table[["size", "low", "high"]].assign(value=table["flipped"], series=names["flipped"])]
    parts.append(table[["size"]].assign(value=table["difference"], series=names["difference"]))
    palette = dict(zip(names.values(), (draw.ORANGE, draw.BLUE), strict=True))
    labels, rows = ("draws", "against all draws"), pd.concat(parts, ignore_index=True)
    return draw.lines(rows, "size", "value", labels, hue="series", palette=palette, limits=(0, None))


def draw_transfer(table: pd.DataFrame) -> Figure:
    """Risk with its 95 % interval where τ is used, from `transfer`: a row per domain on which τ was chosen, a column
    per domain on which it is used. A domain that gave no τ has no row, unless none gave one. Grey: no question above
    it. On the diagonal the risk is too good."""
    domains = set(table["applied_to"])
    table = table.dropna(subset="tau") if table["tau"].notna().any() else table
    names, texts = [], []
    for row in table.itertuples():
        names.append(f"{row.chosen_on}\n{tau_text(row.tau)}" if row.chosen_on in domains else "all others")
        ends = f"{row.risk:.2f}\n{row.risk_low:.2f} to\n{row.risk_high:.2f}\nn = {row.n_above}"
        texts.append(ends if pd.notna(row.risk) else "no τ" if pd.isna(row.tau) else "none")
    rows = table.assign(chosen_on=names, text=texts)
    order = list(dict.fromkeys(rows["chosen_on"])), list(dict.fromkeys(rows["applied_to"]))
    values, texts = (
        rows.pivot(index="chosen_on", columns="applied_to", values=name).loc[order[0], order[1]]
        for name in ("risk", "text")
    )
    return draw.heatmap(values.rename_axis(None), texts.fillna("–"), "YlOrRd", title="risk where τ is used")
