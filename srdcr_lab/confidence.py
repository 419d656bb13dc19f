"""Chapter 02: what confidence says about knowledge, P(Highly-Known | Conf ≥ τ) [4.2]."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import bdtrc, expit, logit, ndtri, stdtrit

from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import Estimate, floats, pairs
from srdcr_lab.lib.controls import Slide, with_sliders
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.gating import TAUS, Gated, Gating, gating_table
from srdcr_lab.lib.groups import of_one_kind
from srdcr_lab.lib.page import Chart, Html, Label, Line, html_table, number, render
from srdcr_lab.lib.statistics import jeffreys_interval, rank_correlation, shares
from srdcr_lab.records import ConfidenceKind, Verdict
from srdcr_lab.records.names import kind_called
from srdcr_lab.tuner import tuner as tuner

if TYPE_CHECKING:
    from ipywidgets import VBox

_MANY = 10**9  # more questions than anybody asks


def question_targets(records: pd.DataFrame, kind: str | None = None) -> pd.DataFrame:
    """Confidence and three targets, each True, False or missing, of each question in the records of one model.

    `kind`: the confidence kind; default: the run's.
    `highly_known`: see there. `prior_correct`: the prior answer is right; an unread one is not, one whose call failed
    is missing. `prior_better`: it is right, and the context answer is wrong (or unread) on at least one of the
    question's passages.
    """
    if records["model"].nunique() > 1:
        raise ValueError("the records hold several values of model; choose one of them first")
    items = of_one_kind(records, kind).drop_duplicates("item_id")
    first = items.drop_duplicates("question_id").set_index("question_id")
    prior, context = (_right(items, answer).groupby(items["question_id"]) for answer in ("prior", "context"))
    prior_right = prior.first().reindex(first.index)
    return (
        first[["domain", "self_confidence", "confidence_kind"]]
        .assign(
            self_confidence=first["self_confidence"].astype(float),
            highly_known=highly_known(first),
            prior_correct=prior_right,
            prior_better=prior_right & ~context.min().reindex(first.index),  # failed context answers do not count
        )
        .reset_index()
    )


def _right(items: pd.DataFrame, answer: str) -> pd.Series:
    """Whether the answer is right; False where it could not be read, missing where its call failed."""
    right = items[f"{answer}_correct"].astype("boolean")
    return right.mask(right.isna() & items["error"].isna(), False)


def auroc(confidence: ArrayLike, target: ArrayLike, clusters: ArrayLike | None = None) -> Estimate:
    """P(Conf of a question with the target > Conf of one without) + ½ P(equal); NaN where one class is empty.

    The interval is DeLong's on the logit scale; where its variance is zero or undefined (separated classes, or a single
    question in one) it is Newcombe's. With `clusters` the values are several a question, the independent unit. Source:
    DeLong, DeLong and Clarke-Pearson 1988, by midranks as in Sun and Xu 2014; Obuchowski 1997 for clusters; Newcombe
    2006, method 5.
    """
    values, hits, counts = pairs(confidence, target)
    sizes = counts["n_target"], counts["n"] - counts["n_target"]
    if not all(sizes):
        return Estimate(**counts)
    area, parts = _placements(values, hits)
    if clusters is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(hits == 1, *(np.divide(n, n - 1) for n in sizes))
            variance = float((scale * parts**2).sum())
    else:
        known = ~np.isnan(floats(confidence)) & ~np.isnan(floats(target))
        variance = _variance(parts, np.asarray(clusters)[known])
    z = float(ndtri(0.975))
    if variance > 0 and 0 < area < 1:
        half = z * math.sqrt(variance) / (area * (1 - area))
        low, high = float(expit(logit(area) - half)), float(expit(logit(area) + half))
    else:
        low, high = _newcombe(area, *sizes, z)
    return Estimate(value=area, low=low, high=high, **counts)


def auroc_gain(one: ArrayLike, other: ArrayLike, target: ArrayLike, clusters: ArrayLike) -> Estimate:
    """AUROC of one confidence less that of another of the same values. The interval is that of DeLong's test of two
    correlated areas, with Student's t over clusters as in `auroc`. What lacks one of the two is missing."""
    first, second = floats(one), floats(other)
    first[np.isnan(second)] = np.nan
    values, hits, counts = pairs(first, target)
    if not 0 < counts["n_target"] < counts["n"]:
        return Estimate(**counts)
    known = ~np.isnan(first) & ~np.isnan(floats(target))
    questions = np.asarray(clusters)[known]
    (area, parts), (less, its_parts) = (_placements(each, hits) for each in (values, second[known]))
    half = float(stdtrit(len(set(questions)) - 1, 0.975)) * math.sqrt(_variance(parts - its_parts, questions))
    return Estimate(value=area - less, low=area - less - half, high=area - less + half, **counts)


def _placements(values: NDArray[np.float64], hits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """The AUROC, and each value's part in its error: the share of the other class that it is ranked rightly against
    less the AUROC, by the size of its own class."""
    targets, others = (np.sort(values[hits == label]) for label in (1, 0))
    below = (np.searchsorted(others, values, "left") + np.searchsorted(others, values, "right")) / (2 * others.size)
    above = (np.searchsorted(targets, values, "left") + np.searchsorted(targets, values, "right")) / (2 * targets.size)
    area = float(below[hits == 1].mean())
    return area, np.where(hits == 1, (below - area) / targets.size, (1 - above - area) / others.size)


def _variance(parts: NDArray[np.float64], clusters: NDArray[Any]) -> float:
    """Of a sum whose clusters are independent; NaN for a single one."""
    totals = np.bincount(pd.factorize(clusters)[0], parts)
    return float(totals @ totals) * totals.size / (totals.size - 1) if totals.size > 1 else math.nan


def _newcombe(area: float, m: int, n: int, z: float) -> tuple[float, float]:
    """The areas θ with |area − θ| ≤ z √Var(θ), Var after Hanley and McNeil with (m + n)/2 − 1 for m − 1 and n − 1.

    Var(0) = Var(1) = 0, so an area of 0 or 1 solves this too: each end is looked for beside the area itself.
    """
    aside, pooled = 1e-9, (m + n) / 2 - 1

    def excess(theta: float) -> float:
        variance = theta * (1 - theta) * (1 + pooled * ((1 - theta) / (2 - theta) + theta / (1 + theta))) / (m * n)
        return (area - theta) ** 2 - z**2 * variance

    low = brentq(excess, 0.0, area - aside) if excess(0.0) > 0 else 0.0
    high = brentq(excess, area + aside, 1.0) if excess(1.0) > 0 else 1.0
    return float(low), float(high)


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
    values, target, counts = pairs(confidence, target)
    tau, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    hits = np.bincount(place, target, tau.size)
    n_above, n_target = (np.append(np.cumsum(part[::-1])[::-1], 0).astype(np.int64) for part in (ties, hits))
    n_missing, n_unlabelled = counts["n_missing"], counts["n_unlabelled"]
    return PrecisionSteps(tau, n_above, n_target, values.size + n_missing, n_missing, n_unlabelled)


def precision_above(confidence: ArrayLike, target: ArrayLike) -> pd.DataFrame:
    """P(target | Conf ≥ τ) = |target ∩ C(τ)| / |C(τ)| for every τ at which it can change, descending [4.2].

    `n_above` = |C(τ)|; `coverage` = |C(τ)| / questions with a target. The interval is Jeffreys.
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


def at_paper_taus(steps: PrecisionSteps | Mapping[str, PrecisionSteps]) -> list[dict[str, Any]]:
    """P(Highly-Known | Conf ≥ τ) beside what the paper reports of it [4.2]; of one model, or of several by name."""
    return [
        {"model": model, "reported": reported} | asdict(each.at(tau))
        for model, each in (steps.items() if isinstance(steps, Mapping) else [("", steps)])
        for tau, reported in ((0.90, 0.88), (0.95, 0.95))
    ]


def risk_above(steps: PrecisionSteps, tau: float) -> dict[str, float]:
    """Share of wrong answers from memory among the questions with Conf ≥ τ."""
    above = steps.at(tau)
    return {"risk": above.risk, "low": 1 - above.high, "high": 1 - above.low, "n": above.n_above}


def held_back(records: pd.DataFrame, tau: float) -> pd.DataFrame:
    """Share of right prior answers that SR-DCR does not give: the Judge rejected the passage, and Conf < τ."""
    rows = records[(records["method"] == "sr_dcr") & (records["verdict"] == Verdict.UNREASONABLE)]
    rows = rows[~(rows["self_confidence"].astype(float) >= tau)]
    return shares(rows, rows["prior_correct"].astype("boolean").fillna(False))


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


def gating_curve(records: pd.DataFrame, taus: Sequence[float] = ()) -> pd.DataFrame:
    """`gating_table` of the records' SR-DCR at these τ; by default at all at which something changes, and `TAUS`."""
    gating = Gating.from_records(records)
    confidence = gating.confidence[gating.decided & ~np.isnan(gating.confidence)]
    return gating_table(gating, taus or sorted({*TAUS, *confidence.tolist()}))


def draw_gating(table: pd.DataFrame, tau: float | None = 0.90) -> Figure:
    """What the decision rule gives at any τ, from `gating_curve`, on true and on false passages."""
    names = {"accuracy": "accuracy", "selective_accuracy": "accuracy of the answers", "coverage": "coverage"}
    parts = []
    for name, label in names.items():
        ends = {"low": table.get(f"{name}_low", table[name]), "high": table.get(f"{name}_high", table[name])}
        parts.append(table[["tau"]].assign(value=table[name], series=label, panel=table["condition"], **ends))
    rows = pd.concat(parts, ignore_index=True).replace({"panel": draw.CONDITION_LABELS})
    palette = dict(zip(names.values(), (draw.BLUE, draw.ORANGE, draw.GREY), strict=True))
    labels = ("τ", "share of items")
    return draw.lines(rows, "tau", "value", labels, hue="series", palette=palette, panel="panel", steps=True, tau=tau)


def tau_text(tau: float) -> str:
    return "no τ" if pd.isna(tau) else f"τ = {tau:.3g}"


CONDITIONS_SHOWN = {"standard": "true", "perturbed": "false", "overall": "both (mean of the shares)"}
CURVE_POINTS = 200  # of a drawn curve, at most
_CURVES = Chart("precision and coverage against τ", 420, 150, (24, 24, 24, 24), ("", ""))


@dataclass(frozen=True)
class ConfidenceThreshold:
    """Precision of Conf ≥ τ over questions, the rule over items, and both curves."""

    steps: PrecisionSteps
    gating: Gating
    curves: tuple[Line, ...]

    @classmethod
    def from_tables(cls, questions: pd.DataFrame, records: pd.DataFrame) -> ConfidenceThreshold:
        """From `Results.questions` and `Results.records`, which holds rows of the method sr_dcr."""
        steps = precision_steps(questions["self_confidence"], highly_known(questions))
        table = steps.frame(at_most=CURVE_POINTS).sort_values("tau")
        ends = np.repeat([0.0, *table["tau"]], 2)[1:-1]  # a value holds from the τ before up to and including its own
        curves = tuple(
            Line(list(zip(ends, np.repeat(table[name], 2), strict=True)), colour)
            for name, colour in (("coverage", draw.GREY), ("precision", draw.NAVY))
        )
        return cls(steps, Gating.from_records(records), curves)

    def html(self, tau: float) -> Html:
        """A sentence, the curves with τ in them, and the decisions by condition."""
        labels = (
            Label((0.02, 1), "■ P(Highly-Known | Conf ≥ τ)", (0, -10), style=f"fill: {draw.NAVY}"),
            Label((0.5, 1), "■ coverage", (0, -10), style=f"fill: {draw.GREY}"),
        )
        curves = _CURVES.svg(lines=[*self.curves, Line([(tau, 1), (tau, 0)], "currentColor", 1)], labels=labels)
        decisions = decisions_table(self.gating.at(tau))
        return render("sliders", "confidence", above=self.steps.at(tau), curves=curves, decisions=decisions)


def confidence_slider(questions: pd.DataFrame, records: pd.DataFrame, tau: float = 0.90, label: str = "") -> VBox:
    """A slider for τ, over `Results.questions` and `Results.records`."""
    view = ConfidenceThreshold.from_tables(questions, records)
    return with_sliders(view.html, {"tau": Slide("τ", tau)}, label)


def decisions_table(gated: Sequence[Gated]) -> Html:
    """What `Gating.at` gives, as an HTML table with a row per condition."""
    header = ("passages", "n", "USE_CONTEXT", "USE_PRIOR", "ABSTAIN", "coverage", "accuracy", "selective accuracy")
    rows = [
        [CONDITIONS_SHOWN[part.condition], part.n, part.use_context, part.use_prior, part.abstain]
        + [number(share, ".3f") for share in (part.coverage, part.accuracy, part.selective_accuracy)]
        for part in gated
    ]
    table = html_table(header, rows, row_classes=[f"srdcr-{part.condition}" for part in gated])
    return render("sliders", "decisions", table=table, failed=gated[-1].n_error)
