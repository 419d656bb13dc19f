"""Chapter 06b: kinds of confidence, recalibration, and thresholds carried to other domains."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import GroupKFold
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from srdcr_lab import answers, thresholds
from srdcr_lab.answers.token_confidence import FROM_LOGPROBS, answer_tokens
from srdcr_lab.confidence import compared_at, tau_text
from srdcr_lab.knowledge import subset_shares
from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import floats, mass_cuts
from srdcr_lab.lib.statistics import bootstrapped, percentile_interval
from srdcr_lab.records import GREEDY, AnswerType
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


EDGE = 1e-6  # confidences of exactly 0 and 1 have no log-odds


class Recalibration(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What every recalibration shares.

    `X` has a row per unique question, without missing values; its first column holds the confidence. `y` has two
    classes, of which the greater is the target.
    """

    classes_: NDArray[Any]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803
        """Learn from confidences and their targets; `ValueError` unless there are both classes."""
        rows, labels = validate_data(self, X, y)
        check_classification_targets(labels)
        self.classes_, target = np.unique(labels, return_inverse=True)
        if self.classes_.size > 2:
            kind = type_of_target(labels, input_name="y")
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if self.classes_.size < 2:
            raise ValueError("a recalibration is learnt from both classes; these questions have only one class")
        self._learn(np.asarray(rows[:, 0], float), target.astype(float))
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Probability of either class; shape (q, 2), the target's in the second column."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        probability = np.clip(self._probability(np.asarray(rows[:, 0], float)), 0, 1)
        return np.column_stack([1 - probability, probability])

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The likelier class of each question."""
        likelier = self.predict_proba(X)[:, 1] > 0.5
        return np.asarray(self.classes_[likelier.astype(int)])

    @abstractmethod
    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        """Set what `_probability` needs, from confidences and 0/1 targets of both classes."""

    @abstractmethod
    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the target, for each confidence."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # scikit-learn's checks make up several columns; one says little
        return tags


class PlattScaling(Recalibration):
    """p = 1 / (1 + exp(−(a s + b))), s the confidence [Platt 1999].

    Targets are smoothed: (N₊ + 1)/(N₊ + 2) for 1, 1/(N₋ + 2) for 0; so separated classes have a finite curve.
    """

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        (self.slope_,), self.intercept_ = _logistic_fit(confidence[:, None], target)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(expit(self.slope_ * confidence + self.intercept_))


class BetaCalibration(Recalibration):
    """log-odds of p = a ln c − b ln(1 − c) + m, a, b ≥ 0, fitted like Platt's [Kull, Silva Filho and Flach 2017]."""

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        (self.a_, self.b_), self.m_ = _logistic_fit(self._features(confidence), target, least=0.0)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(expit(self._features(confidence) @ [self.a_, self.b_] + self.m_))

    def _features(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        if ((confidence < 0) | (confidence > 1)).any():
            raise ValueError(f"a confidence lies in [0, 1], got {confidence.min()} to {confidence.max()}")
        inside = np.clip(confidence, EDGE, 1 - EDGE)
        return np.column_stack([np.log(inside), -np.log1p(-inside)])


def _logistic_fit(
    features: NDArray[np.float64], target: NDArray[np.float64], least: float | None = None
) -> tuple[NDArray[np.float64], float]:
    """Coefficients, each at least `least`, and intercept of the curve with least cross-entropy to smoothed targets."""
    n_target = target.sum()
    smoothed = np.where(target == 1, (n_target + 1) / (n_target + 2), 1 / (target.size - n_target + 2))
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    design = np.column_stack([(features - centre) / spread, np.ones(target.size)])

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = design @ weights
        entropy = np.logaddexp(0, odds) - smoothed * odds
        return float(entropy.mean()), np.asarray(design.T @ (expit(odds) - smoothed) / target.size)

    bounds = [(least, None)] * features.shape[1] + [(None, None)]
    options = {"gtol": 1e-10, "ftol": 0}
    weights = minimize(loss, np.zeros(design.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    coefficients = weights[:-1] / spread
    return coefficients, float(weights[-1] - coefficients @ centre)


class IsotonicRecalibration(Recalibration):
    """The non-decreasing curve nearest to the targets, flat beyond the confidences seen [Zadrozny and Elkan 2002]."""

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        self.curve_ = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(confidence, target)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.curve_.predict(confidence))


class HistogramBinning(Recalibration):
    """The frequency of the target in each of `n_bins` bins of about equally many questions [Zadrozny, Elkan 2001]."""

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        self.edges_ = mass_cuts(confidence, self.n_bins)
        place = np.searchsorted(self.edges_, confidence, side="right")
        n, hits = (np.bincount(place, weights, minlength=self.edges_.size + 1) for weights in (None, target))
        self.frequency_ = np.where(n > 0, hits / np.maximum(n, 1), target.mean())

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.frequency_[np.searchsorted(self.edges_, confidence, side="right")])


def cross_fitted(
    estimator: BaseEstimator,
    confidence: ArrayLike,
    target: ArrayLike,
    questions: ArrayLike | None = None,
    *,
    n_splits: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Probability of the target from an estimator fitted on the other folds; shape (q,).

    The estimator is a recalibration, or a `Pipeline` or search that ends in one. Rows of one question (`questions`;
    None: one row each) are in one fold; there are at most as many folds as questions. NaN where confidence or target is
    missing, for a fold whose other folds hold one class only, and where there are fewer than two questions.
    """
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
    folds = GroupKFold(splits, shuffle=True, random_state=seed)
    for others, held_out in folds.split(known, groups=groups[known]):
        learnt_from, shown = known[others], known[held_out]
        if np.unique(labels[learnt_from]).size == 2:
            fitted = clone(estimator).fit(values[learnt_from, None], labels[learnt_from].astype(int))
            probability[shown] = fitted.predict_proba(values[shown, None])[:, 1]
    return probability


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
    return draw.cells(values, texts, "Blues", title=title)


def draw_consistency(table: pd.DataFrame, tau: float = 0.90) -> Figure:
    """How far the self-consistency of fewer draws is from that of all, from `consistency_by_draws`."""
    names = {"flipped": f"share that changes sides at τ = {tau:g}", "difference": "mean distance of Conf"}
    parts = [table[["size", "low", "high"]].assign(value=table["flipped"], series=names["flipped"])]
    parts.append(table[["size"]].assign(value=table["difference"], series=names["difference"]))
    palette = dict(zip(names.values(), (draw.ORANGE, draw.BLUE), strict=True))
    labels, rows = ("draws", "against all draws"), pd.concat(parts, ignore_index=True)
    return draw.lines(rows, "size", "value", labels, hue="series", palette=palette, limits=(0, None))


def transfer(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: thresholds.Choose) -> pd.DataFrame:
    """A τ that is carried to other questions: the rows of `transfer_matrix`, then those of `leave_one_domain_out`.

    `choose` maps the steps of some questions to a choice, as `learn_then_test` does.
    """
    measures = thresholds.transfer_matrix, thresholds.leave_one_domain_out
    parts = [measure(confidence, target, domains, choose) for measure in measures]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def draw_transfer(table: pd.DataFrame) -> Figure:
    """Risk with its 95 % interval where τ is used, from `transfer`: a row per domain on which τ was chosen, a column
    per domain on which it is used. Grey: no τ, or no question above it. On the diagonal the risk is too good."""
    domains = set(table["applied_to"])
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
    return draw.cells(values.rename_axis(None), texts.fillna("–"), "YlOrRd", title="risk where τ is used")
