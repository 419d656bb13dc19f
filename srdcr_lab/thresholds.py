"""Chapter 06: how to choose τ: Learn-then-Test, beside a τ fixed beforehand and one that looks good enough."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv
from scipy.stats import binom

from srdcr_lab.confidence import CURVE_POINTS, PrecisionSteps, decisions_table, precision_steps, risk_coverage
from srdcr_lab.knowledge import ALL_DOMAINS
from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import reliability_curve
from srdcr_lab.lib.controls import Menu, Slide, with_sliders
from srdcr_lab.lib.gating import Gating
from srdcr_lab.lib.page import Chart, Dot, Html, Line, html_table, interval, number, render
from srdcr_lab.lib.statistics import jeffreys_interval

if TYPE_CHECKING:
    from ipywidgets import VBox

PAPER_TAU = 0.90
SCOPE = (
    "Risk is the share of wrong prior answers among questions with Conf ≥ τ, whatever their verdict: τ bounds errors "
    "of USE_PRIOR alone, not wrong passages that were believed (USE_CONTEXT)."
)
NOTHING = "no threshold attains this"
POWER = 0.8  # with which a number of questions would do


class ThresholdMethod(StrEnum):
    FIXED = "fixed"
    TARGET_PRECISION = "target_precision"
    LEARN_THEN_TEST = "learn_then_test"
    TRANSFERRED = "transferred"


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """τ, its guarantee in a sentence, and what lies above it on the `n` questions it is shown on.

    `tau` is None where no threshold attains what was asked; `bound` is the number that the sentence guarantees, None
    without a guarantee. `coverage` = n_above / n; `risk` = n_wrong / n_above with its Jeffreys interval, too good, as a
    rule, on the questions that τ was chosen on.
    """

    method: ThresholdMethod
    tau: float | None
    guarantee: str
    bound: float | None
    chosen_on: str
    n: int
    n_above: int
    n_wrong: int
    coverage: float
    risk: float
    low: float
    high: float

    @property
    def guaranteed(self) -> bool:
        """False where the sentence begins with "no guarantee" or "no threshold"."""
        return self.bound is not None

    def __str__(self) -> str:
        risk = "" if math.isnan(self.risk) else f", {self.n_wrong} wrong (risk {self.risk:.3f})"
        above = f"{self.n_above} of {self.n} questions above it{risk}"
        chosen = "" if self.tau is None else f"τ = {self.tau:.4g}; {above}; "
        return f"{self.method.value}, on {self.chosen_on}: {chosen}{self.guarantee}. {SCOPE}"


def _choice(
    method: str, steps: PrecisionSteps, tau: float | None, guarantee: str, on: str, bound: float | None = None
) -> ThresholdChoice:
    """The choice, with what lies above τ on the questions of `steps`."""
    above = steps.at(math.inf if tau is None else tau)
    wrong = above.n_above - above.n_target
    low, high = map(float, jeffreys_interval(wrong, above.n_above))
    shown = (above.n_questions, above.n_above, wrong, above.coverage, above.risk, low, high)
    return ThresholdChoice(ThresholdMethod(method), tau, guarantee, None if tau is None else bound, on, *shown)


def _questions(steps: PrecisionSteps, named: str | None) -> str:
    return f"{steps.n_questions} questions" + (f" of {named}" if named else "")


def _check_shares(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} lies between 0 and 1, got {value}")


def fixed_threshold(
    steps: PrecisionSteps, tau: float = PAPER_TAU, *, delta: float = 0.1, on: str | None = None
) -> ThresholdChoice:
    """τ as it was fixed beforehand: with probability ≥ 1 − δ its risk is at most the one-sided Clopper–Pearson bound.

    The bound is the p with P(Bin(n_above, p) ≤ n_wrong) = δ. No guarantee where no question lies above τ. Source: τ =
    0.90: paper 3.2 and 4.2; Clopper and Pearson 1934.
    """
    _check_shares(delta=delta)
    above = steps.at(tau)
    wrong = above.n_above - above.n_target
    if above.n_above == 0:
        upper, guarantee = None, f"no guarantee: no question lies above τ = {tau:g}"
    else:
        upper = 1.0 if wrong == above.n_above else float(betaincinv(wrong + 1, above.n_above - wrong, 1 - delta))
        guarantee = f"as τ was fixed beforehand, its risk is at most {upper:.3f} with probability ≥ {1 - delta:g}"
    return _choice("fixed", steps, tau, guarantee, _questions(steps, on), upper)


def target_precision(steps: PrecisionSteps, *, alpha: float = 0.1, on: str | None = None) -> ThresholdChoice:
    """The smallest τ whose risk on these very questions is at most α: the usual choice, without a guarantee.

    Of many thresholds it picks one that looks good enough, so its true risk is above α about as often as not.
    """
    _check_shares(alpha=alpha)
    n_above, n_target = steps.n_above[:-1], steps.n_target[:-1]
    tau = _smallest(steps, n_above - n_target <= alpha * n_above + 1e-9)
    guarantee = f"no guarantee: τ was picked where the risk on the same questions is at most {alpha:g}"
    if tau is None:
        guarantee = f"{NOTHING}: the risk is above {alpha:g} at every τ"
    return _choice("target_precision", steps, tau, guarantee, _questions(steps, on))


def _smallest(steps: PrecisionSteps, good: NDArray[np.bool_]) -> float | None:
    return float(steps.tau[good.argmax()]) if good.any() else None


# Fixed before any question is seen; fine where confidences crowd. 0 means to believe every prior answer.
_HUNDREDTHS = (0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 99, 99.5, 99.9)
TAUS = tuple(hundredths / 100 for hundredths in _HUNDREDTHS)
STARTS = (0.97, 0.9, 0.8)


def accept(p_value: NDArray[np.float64], delta: float, sequences: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Which hypotheses of a grid, on the last axis, are rejected by fixed sequences; P(any that is true is) ≤ δ.

    `sequences` are the orders of testing, as positions in the grid; each has an equal part of δ and stops at the first
    hypothesis that is not rejected.
    """
    accepted = np.zeros(p_value.shape, bool)
    for places in sequences:
        passed = p_value[..., places] <= delta / len(sequences)
        accepted[..., places] |= np.logical_and.accumulate(passed, axis=-1)
    return accepted


def risk_tests(
    steps: PrecisionSteps,
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
    taus: Sequence[float] = TAUS,
    starts: Sequence[float] = STARTS,
) -> pd.DataFrame:
    """For each τ of a grid, descending, the test of "its risk is above α"; parameters as in `learn_then_test`.

    `p_value` = P(Bin(n_above, α) ≤ n_wrong), 1 where nothing is above; `accepted`: the hypothesis is rejected, so that
    τ may be used.
    """
    _check_shares(alpha=alpha, delta=delta)
    grid = np.array(sorted(set(taus), reverse=True))
    if not starts or not set(starts) <= set(taus):
        raise ValueError(f"each start is one of the taus, got starts {tuple(starts)}")
    place = np.searchsorted(steps.tau, grid, side="left")
    n_above, n_wrong = steps.n_above[place], (steps.n_above - steps.n_target)[place]
    p_value = np.where(n_above > 0, bdtr(n_wrong, np.maximum(n_above, 1), alpha), 1.0)
    sequences = [np.flatnonzero(grid <= start) for start in starts]
    accepted = accept(p_value, delta, sequences)
    table = {"tau": grid, "n_above": n_above, "n_wrong": n_wrong, "risk": n_wrong / np.where(n_above, n_above, np.nan)}
    return pd.DataFrame({**table, "p_value": p_value, "accepted": accepted})


def learn_then_test(
    steps: PrecisionSteps,
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
    taus: Sequence[float] = TAUS,
    starts: Sequence[float] = STARTS,
    on: str | None = None,
) -> ThresholdChoice:
    """The smallest τ that the tests accept: P(risk(τ) ≤ α) ≥ 1 − δ over draws of the questions.

    The questions are drawn independently from the population τ is for. `taus` and `starts` are chosen before these
    questions are seen; each start is one of the taus.

    Why it is valid: of the independent questions above a τ fixed beforehand, the number of wrong ones is binomial with
    the risk P(wrong | Conf ≥ τ), so the test has a valid p-value. Fixed sequences keep the probability of accepting any
    τ with risk(τ) > α at δ or below, however the tests depend on each other; so any accepted τ may be used. A grid made
    of these questions' own confidences would not be valid. Source: Angelopoulos et al., Learn then Test, 2021 (their
    Hoeffding–Bentkus p-value replaced by the exact binomial).
    """
    tests = risk_tests(steps, alpha=alpha, delta=delta, taus=taus, starts=starts)
    accepted = tests.loc[tests["accepted"], "tau"]
    tau = float(accepted.min()) if len(accepted) else None
    guarantee = f"with probability ≥ {1 - delta:g} over draws of the questions it was chosen on, the risk on further "
    guarantee += f"questions of the same population is at most {alpha:g}"
    if tau is None:
        first = tests[tests["tau"].isin(starts)]
        guarantee = f"{NOTHING}: risk ≤ {alpha:g} with probability ≥ {1 - delta:g} {_takes(first, alpha, delta)}"
    return _choice("learn_then_test", steps, tau, guarantee, _questions(steps, on), alpha)


def _takes(first: pd.DataFrame, alpha: float, delta: float) -> str:
    """How many questions above τ it would take, in words. `first`: the tests one of which has to be passed."""
    level = delta / len(first)
    least = math.ceil(math.log(level) / math.log(1 - alpha))
    shared = f" ({len(first)} tests share δ)" if len(first) > 1 else ""
    told = f"takes at least {least} questions above τ, even if none of them is wrong{shared}"
    best = first.loc[first["p_value"].idxmin()]
    if not best["n_wrong"]:
        return told
    told += f"; above τ = {best['tau']:g} there are {best['n_above']:.0f}, {best['n_wrong']:.0f} of them wrong: at "
    if best["risk"] >= alpha:
        return told + "that risk no number would do"

    def passes(n: int) -> bool:
        allowed = int(binom.ppf(level, n, alpha)) - 1  # the most wrong ones with P(Bin(n, α) ≤ them) < level
        return bool(allowed >= 0 and binom.cdf(allowed, n, best["risk"]) >= POWER)

    needed = 1 + bisect_left(range(1, 10**8), True, key=passes)
    return told + f"that risk about {needed} would do in {POWER:.0%} of studies"


def every_choice(
    steps: PrecisionSteps, *, alpha: float = 0.1, delta: float = 0.1, tau: float = PAPER_TAU, on: str | None = None
) -> tuple[ThresholdChoice, ...]:
    """Fixed at `tau`, target precision and Learn-then-Test, in this order, at the same α and δ."""
    return (
        fixed_threshold(steps, tau, delta=delta, on=on),
        target_precision(steps, alpha=alpha, on=on),
        learn_then_test(steps, alpha=alpha, delta=delta, on=on),
    )


def recommended(choices: Sequence[ThresholdChoice]) -> ThresholdChoice:
    """The choice by Learn-then-Test, the only one that guarantees the risk that was asked for."""
    return next(choice for choice in choices if choice.method is ThresholdMethod.LEARN_THEN_TEST)


def transferred(choice: ThresholdChoice, steps: PrecisionSteps, to: str) -> ThresholdChoice:
    """A τ chosen elsewhere, shown on the questions of `to`: no guarantee, whatever it had where it was chosen."""
    guarantee = f"no guarantee: τ was chosen on {choice.chosen_on} and is used on {to}, whose questions may differ"
    if choice.tau is None:
        guarantee = choice.guarantee
    return _choice("transferred", steps, choice.tau, guarantee, choice.chosen_on)


Choose = Callable[[PrecisionSteps], ThresholdChoice]  # such as `learn_then_test`


def transfer(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: Choose) -> pd.DataFrame:
    """τ chosen on one domain, or on all others, and its coverage and risk, with Jeffreys intervals, on another.

    A row per ordered pair of domains, then one per domain for τ chosen on all others (`chosen_on` "all but …"). Where
    both are the same (`same_questions`) they are too good, as the choice has seen them. `tau` is NaN where none attains
    what was asked.
    """
    questions = _table(confidence, target, domains)
    steps = {str(domain): _steps(part) for domain, part in questions.groupby("domain", sort=False)}
    rows = []
    for here, own in steps.items():
        choice = replace(choose(own), chosen_on=_questions(own, f"domain {here}"))
        for there, others in steps.items():
            shown = choice if here == there else transferred(choice, others, f"domain {there}")
            rows.append(_row(here, there, shown))
    for domain, own in steps.items() if len(steps) > 1 else ():
        rest = _steps(questions[questions["domain"].astype(str) != domain])
        choice = replace(choose(rest), chosen_on=_questions(rest, f"all domains but {domain}"))
        rows.append(_row(f"all but {domain}", domain, transferred(choice, own, f"domain {domain}")))
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = ["chosen_on", "applied_to", "same_questions", "tau", "n", "n_above", "n_wrong", "coverage", "coverage_low",
            "coverage_high", "risk", "risk_low", "risk_high", "guarantee"]  # fmt: skip


def _table(confidence: ArrayLike, target: ArrayLike, domains: ArrayLike) -> pd.DataFrame:
    columns = {"confidence": confidence, "target": target, "domain": domains}
    series = {name: pd.Series(column).reset_index(drop=True) for name, column in columns.items()}
    if len(set(map(len, series.values()))) > 1:
        raise ValueError(f"one domain per question, got {len(series['domain'])} for {len(series['confidence'])}")
    return pd.DataFrame(series)


def _steps(questions: pd.DataFrame) -> PrecisionSteps:
    return precision_steps(questions["confidence"], questions["target"])


def _row(chosen_on: str, applied_to: str, shown: ThresholdChoice) -> tuple[Any, ...]:
    tau = math.nan if shown.tau is None else shown.tau
    coverage = (shown.coverage, *map(float, jeffreys_interval(shown.n_above, shown.n)))
    counts, risk = (shown.n, shown.n_above, shown.n_wrong), (shown.risk, shown.low, shown.high)
    return (chosen_on, applied_to, chosen_on == applied_to, tau, *counts, *coverage, *risk, shown.guarantee)


METHOD_NAMES = {
    ThresholdMethod.FIXED: "fixed beforehand",
    ThresholdMethod.TARGET_PRECISION: "looks good enough here",
    ThresholdMethod.LEARN_THEN_TEST: "Learn-then-Test",
    ThresholdMethod.TRANSFERRED: "from elsewhere",
}


def draw_risk_coverage(
    table: pd.DataFrame, choices: Sequence[ThresholdChoice] = (), alpha: float | None = None
) -> Figure:
    """Risk of answers from memory at each coverage with its 95 % band, from `risk_coverage`; a mark for each chosen τ,
    filled where it has a guarantee; dashed: the risk asked for."""
    rows = table.sort_values("coverage", kind="stable")
    labels = ("coverage: share with Conf ≥ τ", "wrong prior answers among them")
    made = draw.lines(rows, "coverage", "risk", labels, steps=True, reference=alpha, height=2.8)
    ax = made.axes[0]
    for choice, colour, marker in zip(choices, sns.color_palette("colorblind"), "osD^vP", strict=False):
        attained = choice.tau is not None and choice.n_above > 0
        place = (choice.coverage, choice.risk) if attained else (np.nan, np.nan)
        name = (
            f"{METHOD_NAMES[choice.method]}: {'none attains this' if choice.tau is None else f'τ = {choice.tau:.3g}'}"
        )
        face = colour if choice.guaranteed else "none"
        ax.plot(*place, marker, color=colour, markerfacecolor=face, markersize=7, label=name)
    if choices:
        made.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, frameon=False, fontsize=8)
    return made


_CHOICE_COLOURS = ("#0173b2", "#949494", "#029e73")
_RISK = Chart("risk against coverage", 190, 190, (34, 10, 16, 32), ("coverage", "risk"))
_RELIABILITY = Chart("reliability", 190, 190, (34, 10, 16, 32), ("self-confidence", "share right"))


class Calibrated:
    """One confidence kind on the questions of one domain, and the rule on the items that were debated, with the
    confidence of these questions."""

    def __init__(self, questions: pd.DataFrame, debated: pd.DataFrame) -> None:
        self.steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
        confidence = questions.set_index("question_id")["self_confidence"].astype(float)
        rows = debated.assign(self_confidence=debated["question_id"].map(confidence).astype(float))
        self.gating = Gating.from_records(rows)
        curve = risk_coverage(self.steps, at_most=CURVE_POINTS)
        steps = zip(curve["coverage"].repeat(2)[1:], curve["risk"].repeat(2)[:-1], strict=True)
        self.risk = Line(list(steps), draw.NAVY)
        self.reliability = _reliability(questions)

    def html(self, alpha: float, delta: float) -> Html:
        """The choices, both pictures, and the decisions at the recommended τ (without one, the paper's)."""
        choices = every_choice(self.steps, alpha=alpha, delta=delta)
        chosen = recommended(choices).tau
        tau = PAPER_TAU if chosen is None else chosen
        dots = [
            Dot((choice.coverage, choice.risk), colour, 5, choice.guaranteed,
                f"{METHOD_NAMES[choice.method]}: τ = {choice.tau:.4g}")
            for choice, colour in zip(choices, _CHOICE_COLOURS, strict=True)
            if choice.n_above
        ]  # fmt: skip
        risk = _RISK.svg(lines=[self.risk, Line([(0, alpha), (1, alpha)], "#666", 1, dashed=True)], dots=dots)
        return render(
            "sliders", "thresholds", attained=chosen is not None, tau=tau, choices=choices_html(choices), risk=risk,
            reliability=self.reliability, decisions=decisions_table(self.gating.at(tau)),
        )  # fmt: skip


def _reliability(questions: pd.DataFrame) -> Html:
    """Share of right prior answers in ten bins of confidence, with 95 % intervals."""
    table = reliability_curve(questions["self_confidence"], questions["prior_correct"])
    bins = list(table[table["n"] > 0].itertuples())
    intervals = [Line([(row.mean_confidence, row.low), (row.mean_confidence, row.high)], draw.NAVY, 1) for row in bins]
    dots = [Dot((row.mean_confidence, row.frequency), draw.NAVY, 2.5, title=f"{row.n} questions") for row in bins]
    return _RELIABILITY.svg(lines=[Line([(0, 0), (1, 1)], draw.GREY, 1, dashed=True), *intervals], dots=dots)


@dataclass(frozen=True)
class DomainThresholds:
    """`Calibrated` for each kind and each domain; all of it in memory."""

    views: Mapping[tuple[str, str], Calibrated]
    kinds: tuple[str, ...]
    domains: tuple[str, ...]

    @classmethod
    def from_tables(cls, kinds: Mapping[str, pd.DataFrame], debated: pd.DataFrame) -> DomainThresholds:
        """From the questions table of each kind (`Results.questions`), and records with rows of sr_dcr."""
        first = next(iter(kinds.values()))
        names = tuple(map(str, dict.fromkeys(first["domain"])))
        domains = (ALL_DOMAINS, *names) if len(names) != 1 else names
        rows = debated[debated["method"] == "sr_dcr"]
        views = {
            (kind, domain): Calibrated(_of(questions, domain), _of(rows, domain))
            for kind, questions in kinds.items()
            for domain in domains
        }
        return cls(views, tuple(kinds), domains)

    def html(self, alpha: float, delta: float, kind: str, domain: str) -> Html:
        return self.views[kind, domain].html(alpha, delta)


def _of(table: pd.DataFrame, domain: str) -> pd.DataFrame:
    return table if domain == ALL_DOMAINS else table[table["domain"] == domain]


def choices_html(choices: Sequence[ThresholdChoice], label: str = "", *, scope: bool = True) -> Html:
    """Thresholds with their guarantee, one a row; below them what τ bounds at all (`scope`), and the label."""
    header = ("chosen", "τ", "above τ", "coverage", "wrong among them [95 %]", "what is guaranteed")
    rows = [
        (
            METHOD_NAMES[choice.method],
            number(choice.tau, ".4g"),
            f"{choice.n_above} of {choice.n}",
            f"{choice.coverage:.2f}" if choice.n else "–",
            interval(choice.risk, choice.low, choice.high),
            choice.guarantee,
        )
        for choice in choices
    ]
    return render("sliders", "choices", table=html_table(header, rows), scope=SCOPE if scope else "", label=label)


def threshold_controls(
    kinds: Mapping[str, pd.DataFrame], debated: pd.DataFrame, *, alpha: float = 0.1, delta: float = 0.1, label: str = ""
) -> VBox:
    """Controls over the questions of each confidence kind, and the records of the debates."""
    view = DomainThresholds.from_tables(kinds, debated)
    slides: dict[str, Slide | Menu] = {
        "alpha": Slide("α: risk at most", alpha, low=0.01, high=0.60),
        "delta": Slide("δ: may fail in a share of", delta, low=0.01, high=0.50),
        "kind": Menu("confidence", view.kinds),
        "domain": Menu("questions of", view.domains),
    }
    return with_sliders(view.html, slides, label)
