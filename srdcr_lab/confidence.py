"""Chapter 02: what confidence says about knowledge, P(Highly-Known | Conf ≥ τ) [4.2]."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc

from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import auroc as auroc
from srdcr_lab.lib.calibration import auroc_gain as auroc_gain
from srdcr_lab.lib.calibration import ece, known_pairs, reliability_curve
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.gating import Gating, gating_table
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import Sentence, answer_box, sentence, sentences
from srdcr_lab.lib.statistics import jeffreys_interval, rank_correlation
from srdcr_lab.records import BadInput, ConfidenceKind
from srdcr_lab.records.names import kind_called
from srdcr_lab.tuner import rows_of_sr_dcr
from srdcr_lab.tuner import tuner as tuner

if TYPE_CHECKING:
    from srdcr_lab.study import Results

_MANY = 10**9  # more questions than anybody asks


def answer(results: Results) -> Html:
    """The answer box of notebook 02: does confidence rank questions, is the model right above τ, and how far is
    confidence from a probability?"""
    questions = results.known.questions
    if not questions["self_confidence"].notna().any():
        raise BadInput("this run has no confidence; srdcr run … --methods confidence_only measures it")
    confidence, tau = questions["self_confidence"], results.manifest["asked"]["choices"]["tau"]
    ranks = auroc(confidence, questions["prior_correct"])
    above = precision_steps(confidence, questions["prior_correct"]).at(tau)
    off = ece(confidence, questions["prior_correct"])
    return answer_box(
        sentence("confidence is higher where the answer from memory is right (AUROC)", ranks.value, ranks.low,
                 ranks.high, ranks.n, above=0.5),
        sentence(f"most answers from memory with confidence of at least {tau:.2f} are right", above.precision,
                 above.low, above.high, above.n_above, above=0.5, of="questions above τ"),
        sentence("the calibration error of confidence (ECE) is below 0.10, so that it can be read as a probability",
                 off.debiased, off.low, off.high, off.n, below=0.1),
        label=results.label,
    )  # fmt: skip


def measured(results: Results, *kinds: str) -> list[Results]:
    """The results under their own kind of confidence and under these others, as far as they can be had."""
    every = [results]
    for kind in kinds:
        with suppress(BadInput):
            other = results.with_confidence(kind)
            every += [other] if other is not results else []
    return every


def decisions_at(results: Results, tau: float) -> pd.DataFrame:
    """What SR-DCR decides at a τ, on true and on false passages."""
    table = gating_table(Gating.from_records(rows_of_sr_dcr(results)), [tau])
    table["n_unread"] = table["n"] - table["abstain"] - (table["coverage"] * table["n"]).round().astype(int)
    shares = ["coverage", "accuracy", "accuracy_low", "accuracy_high"]
    return table[["condition", "n", "use_context", "use_prior", "abstain", "n_unread", *shares]]


def above_tau(several: Mapping[str, pd.DataFrame], tau: float) -> Sentence:
    """Are as many questions with confidence of at least τ Highly-Known as the paper reports of τ = 0.90 [4.2]? For the
    questions of each model or kind."""
    rows = [
        {"questions": name} | asdict(precision_steps(each["self_confidence"], highly_known(each)).at(tau))
        for name, each in several.items()
    ]
    claim = f"more than 0.88 (the paper's share) of the questions with confidence ≥ {tau:.2f} are Highly-Known"
    return sentences(claim, rows, "precision", above=0.88, by=["questions"], n="n_above", of="questions above τ")


def precision_of(several: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """`precision_above` for Highly-Known of several tables of questions, named in `questions`."""
    tables = [
        precision_above(each["self_confidence"], highly_known(each)).assign(questions=name)
        for name, each in several.items()
    ]
    return pd.concat(tables, ignore_index=True)


def reliability_of(several: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """`reliability_curve` of right answers from memory, of several tables of questions, named in `questions`."""
    tables = [
        reliability_curve(each["self_confidence"], each["prior_correct"]).assign(questions=name)
        for name, each in several.items()
    ]
    return pd.concat(tables, ignore_index=True)


def kinds_compared(several: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """AUROC of each kind of confidence for both targets, and the gain in AUROC for right answers over the first kind.

    Each table is `Results.questions` under another kind.
    """
    ranked = discrimination(pd.concat(several)).pivot(
        index="confidence_kind", columns="target", values=["auroc", "low", "high"]
    )
    first = several[0].set_index("question_id")
    rows: list[dict[str, Any]] = []
    for questions in several:
        kind = questions["confidence_kind"].dropna().iloc[0]
        row = {"confidence_kind": kind}
        for name, target in (("highly_known", "Highly-Known"), ("right", "prior answer right")):
            ends = zip(("", "_low", "_high"), ("auroc", "low", "high"), strict=True)
            row |= {f"auroc_{name}{end}": ranked.loc[kind, (column, target)] for end, column in ends}
        other = questions.set_index("question_id")["self_confidence"].reindex(first.index)
        other = other if rows else other * np.nan  # the first kind gains nothing over itself
        gain = auroc_gain(other, first["self_confidence"], first["prior_correct"], first.index)
        rows.append(row | {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high, "n": len(questions)})
    return pd.DataFrame(rows)


def discrimination(questions: pd.DataFrame) -> pd.DataFrame:
    """AUROC of self-confidence, per kind, for two targets: the question is Highly-Known; its prior answer is right."""
    rows = []
    for kind, part in questions.groupby("confidence_kind", sort=False):
        for target, hits in (("Highly-Known", highly_known(part)), ("prior answer right", part["prior_correct"])):
            area = auroc(part["self_confidence"], hits)
            rows.append({"confidence_kind": kind, "target": target, "auroc": area.value} | asdict(area))
    columns = ["confidence_kind", "target", "auroc", "low", "high", "n", "n_target", "n_missing", "n_unlabelled"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True, slots=True)
class Above:
    """`n_above` of `n_questions` have Conf ≥ τ, `n_target` of these the target; `precision` has Jeffreys ends."""

    tau: float
    n_above: int
    n_target: int
    n_questions: int
    precision: float
    low: float
    high: float
    coverage: float

    @property
    def risk(self) -> float:
        """1 − precision: with the target "the prior answer is right", wrong priors among Conf ≥ τ."""
        return 1 - self.precision


@dataclass(frozen=True, slots=True)
class PrecisionSteps:
    """Counts above every distinct confidence, ascending: made once, then looked up in O(log n).

    `n_above[i]` questions have Conf ≥ `tau[i]`, `n_target[i]` of them the target; both end with a 0, for any τ above
    all confidences. `n_questions` counts those with a target, also without confidence.
    """

    tau: NDArray[np.float64]
    n_above: NDArray[np.int64]
    n_target: NDArray[np.int64]
    n_questions: int
    n_missing: int
    n_unlabelled: int

    def at(self, tau: float) -> Above:
        """What lies above any τ, a distinct confidence or not."""
        i = int(np.searchsorted(self.tau, tau, side="left"))
        n_above, hits = int(self.n_above[i]), int(self.n_target[i])
        low, high = map(float, jeffreys_interval(hits, n_above))
        precision = hits / n_above if n_above else math.nan
        coverage = n_above / self.n_questions if self.n_questions else math.nan
        return Above(tau, n_above, hits, self.n_questions, precision, low, high, coverage)

    def frame(self, *, at_most: int | None = None) -> pd.DataFrame:
        """`precision_above` of these questions; with `at_most`, so many of its rows, evenly spaced in coverage."""
        rows = np.arange(self.tau.size)[::-1]
        if at_most is not None and rows.size > at_most:
            wanted = np.linspace(self.n_above[-2], self.n_above[0], at_most)
            rows = rows[np.unique(np.searchsorted(self.n_above[:-1][::-1], wanted))]
        n_above, n_target = self.n_above[rows], self.n_target[rows]
        low, high = jeffreys_interval(n_target, n_above)
        columns = {"tau": self.tau[rows], "n_above": n_above, "n_target": n_target, "precision": n_target / n_above}
        columns |= {"low": low, "high": high, "coverage": n_above / max(self.n_questions, 1)}
        return pd.DataFrame({**columns, "n_missing": self.n_missing, "n_unlabelled": self.n_unlabelled})


def precision_steps(confidence: ArrayLike, target: ArrayLike) -> PrecisionSteps:
    """The steps of these questions; their tables are `precision_above` and `risk_coverage`."""
    values, target, counts = known_pairs(confidence, target)
    tau, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    hits = np.bincount(place, target, tau.size)
    n_above, n_target = (np.append(np.cumsum(part[::-1])[::-1], 0).astype(np.int64) for part in (ties, hits))
    n_missing, n_unlabelled = counts["n_missing"], counts["n_unlabelled"]
    return PrecisionSteps(tau, n_above, n_target, values.size + n_missing, n_missing, n_unlabelled)


def precision_above(confidence: ArrayLike, target: ArrayLike) -> pd.DataFrame:
    """P(target | Conf ≥ τ) = #(target ∩ C(τ)) / #C(τ) for every τ at which it can change, descending [4.2].

    C(τ) are the questions with confidence ≥ τ: `n_above`; `coverage` is their share of the questions with a target. The
    interval is Jeffreys.
    """
    return precision_steps(confidence, target).frame()


def risk_coverage(steps: PrecisionSteps, *, at_most: int | None = None) -> pd.DataFrame:
    """Risk = wrong / answered against coverage = answered / n, where Conf ≥ τ is answered, for every τ, descending.

    `steps` are of the target that the answer is right. Intervals are Jeffreys. Source: El-Yaniv and Wiener 2010;
    Geifman and El-Yaniv 2017.
    """
    above = steps.frame(at_most=at_most).rename(columns={"n_above": "n_answered"})
    above["n_wrong"], above["risk"] = above["n_answered"] - above["n_target"], 1 - above["precision"]
    above["low"], above["high"] = 1 - above["high"], 1 - above["low"]
    columns = ["tau", "coverage", "n_answered", "n_wrong", "risk", "low", "high", "n_missing", "n_unlabelled"]
    return above[columns]


def compared_at(confidences: pd.DataFrame, tau: float = 0.90) -> pd.DataFrame:
    """For each two columns of confidence: do they rank questions alike, and how many are on different sides of τ?

    A row of `confidences` is a question; `n` counts those that have both. `spearman` has a bootstrap interval,
    `flipped`, the share on different sides, a Jeffreys one.
    """
    rows = []
    for first, second in combinations(confidences.columns, 2):
        both = confidences[[first, second]].dropna()
        rank = rank_correlation(both[first], both[second])
        flipped = int(((both[first] >= tau) != (both[second] >= tau)).sum())
        share = flipped / len(both) if len(both) else np.nan
        ends = map(float, jeffreys_interval(flipped, len(both)))
        rows.append((first, second, len(both), rank.value, rank.low, rank.high, flipped, share, *ends))
    columns = ["first", "second", "n", "spearman", "low", "high", "n_flipped", "flipped", "flipped_low", "flipped_high"]
    return pd.DataFrame(rows, columns=columns)


class QuestionsNeeded(NamedTuple):
    """`n_above` questions above τ give the width; of `n_questions` at least so many are above it as `assured`."""

    n_above: int
    n_questions: int


def questions_for_width(precision: float, coverage: float, width: float, *, assured: float = 0.9) -> QuestionsNeeded:
    """Questions for a 95 % Jeffreys interval of P(target | Conf ≥ τ) at most `width` wide.

    `precision` is the share expected (½ is the safe guess), `coverage` P(Conf ≥ τ) expected, `assured` the probability
    with which enough of the questions are above τ, Bin(n_questions, coverage).
    """
    if not (0 <= precision <= 1 and 0 < coverage <= 1 and 0 < width < 1 and 0 < assured < 1):
        raise ValueError("precision lies in [0, 1], coverage in (0, 1], width and assured between 0 and 1")

    def narrow(n: int) -> bool:
        low, high = jeffreys_interval(precision * n, n)
        return bool(high - low <= width)

    n_above = 1 + bisect_left(range(1, _MANY), True, key=narrow)
    enough = range(n_above, _MANY)
    more = bisect_left(enough, True, key=lambda n: float(bdtrc(n_above - 1, n, coverage)) >= assured)
    return QuestionsNeeded(n_above, n_above + more)


def confidence_histogram(questions: pd.DataFrame, *, n_bins: int = 20, consistency_draws: int = 16) -> pd.DataFrame:
    """Questions by kind of confidence, bin (`left` ≤ Conf < `right`; the last bin holds 1) and category: `n`.

    Bins have equal width; self-consistency has one around each share k / `consistency_draws`. `n_missing` questions of
    the kind are in no bin, because they have no confidence or no draws.
    """
    tables = []
    for kind, part in questions.groupby("confidence_kind", sort=False):
        edges = np.arange(n_bins + 1) / n_bins
        if kind == ConfidenceKind.SELF_CONSISTENCY:
            edges = (np.arange(consistency_draws + 2) - 0.5) / consistency_draws
        counts = []
        for category in draw.CATEGORY_COLOURS:
            confidence = part.loc[part["knowledge_category"] == category, "self_confidence"].dropna()
            n, _ = np.histogram(confidence.to_numpy(float), edges)
            counts.append(
                pd.DataFrame({"left": edges[:-1], "right": edges[1:], "knowledge_category": category, "n": n})
            )
        table = pd.concat(counts, ignore_index=True)
        table.insert(0, "confidence_kind", kind)
        tables.append(table.assign(n_missing=len(part) - int(table["n"].sum())))
    return pd.concat(tables, ignore_index=True)


def draw_confidence(table: pd.DataFrame, tau: float | None = 0.90) -> Figure:
    """Questions by confidence and category, from `confidence_histogram`: a panel for each kind; dashed: τ."""
    rows, palette = draw.by_category(table)
    rows["middle"] = ((rows["left"] + rows["right"]) / 2).round(6)
    rows["kind"] = rows["confidence_kind"].map(kind_called)
    panel, height = ("kind" if rows["kind"].nunique() > 1 else ""), 2.4 * rows["kind"].nunique()
    labels = ("self-confidence", "questions")
    return draw.stacked(rows, "middle", "n", "category", labels, palette, panel=panel, height=height, tau=tau)


def draw_precision(table: pd.DataFrame, tau: float | None = 0.90, *, panel: str = "") -> Figure:
    """P(Highly-Known | Conf ≥ τ) at every τ with its 95 % band, from `precision_above`; grey: coverage."""
    if table.empty:
        return draw.nothing("no question with a confidence and knowledge draws")
    keep, series = (
        ["tau", *([panel] if panel else [])],
        {"precision": "P(Highly-Known | Conf ≥ τ)", "coverage": "coverage"},
    )
    above = table[[*keep, "precision", "low", "high"]].rename(columns={"precision": "value"})
    coverage = table[[*keep, "coverage"]].rename(columns={"coverage": "value"})
    parts = [above.assign(series=series["precision"]), coverage.assign(series=series["coverage"])]
    rows = pd.concat(parts, ignore_index=True)
    palette = dict(zip(series.values(), (draw.NAVY, draw.GREY), strict=True))
    labels = ("τ", "share of questions")
    return draw.lines(rows, "tau", "value", labels, hue="series", palette=palette, panel=panel, steps=True, tau=tau)


def draw_reliability(table: pd.DataFrame, of: str = "prior answers", *, panel: str = "") -> Figure:
    """Share of right answers in each bin of confidence, from `reliability_curve`; dashed: confidence is a probability.

    `of` = "passages" where the table is of false passages by P(UNREASONABLE).
    """
    rows = table[table["n"] > 0].reset_index(drop=True)
    if panel == "confidence_kind":
        rows[panel] = rows[panel].map(kind_called)
    labels = ("self-confidence", "share right") if of == "prior answers" else ("P(UNREASONABLE)", "share false")
    made = draw.lines(rows, "mean_confidence", "frequency", labels, points=True, panel=panel, height=3.0)
    for ax in made.axes:
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    return made


def tau_text(tau: float) -> str:
    return "no τ" if pd.isna(tau) else f"τ = {tau:.3g}"
