"""Chapter 06: at what confidence may a model answer from memory? Learn-then-Test, and a naive τ for contrast.

A guarantee for τ concerns answers from memory only; the effect of passages is measured apart (`passages_by_level`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from srdcr_lab.confidence import precision_steps
from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import Above, PrecisionSteps
from srdcr_lab.lib.definitions import PAPER_TAU, one_row_each
from srdcr_lab.lib.groups import FEW, PERTURBED_LEVELS, STANDARD
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import Sentence, Standing, answer_box, sentence
from srdcr_lab.lib.statistics import Estimate, clustered_interval, shares
from srdcr_lab.preference import PASSAGE_ENDS, passages, perturbed_answers
from srdcr_lab.records import BadInput
from srdcr_lab.records.vocabulary import must_be

NOTHING = "no threshold attains this"


class ThresholdMethod(StrEnum):
    """How a τ was chosen, in words."""

    LEARN_THEN_TEST = "recommended: Learn-then-Test"
    NAIVE = "naive: looks good enough here"


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """A threshold τ, its guarantee in a sentence, and what lies above it on the questions it is shown on.

    Attributes
    ----------
    method : ThresholdMethod
        How τ was chosen.
    tau : float, optional
        The threshold; None if no threshold attains the wanted risk.
    guarantee : str
        The guarantee in a sentence, or why there is none.
    above : Above
        What lies above τ on these questions; its risk is usually too low, because they chose τ.
    """

    method: ThresholdMethod
    tau: float | None
    guarantee: str
    above: Above


def check_tests(taus: Sequence[float] | None = None, starts: Sequence[float] = (), **shares: float) -> None:
    """Refuse α and δ outside (0, 1), and sequences that do not start at one of the taus.

    Parameters
    ----------
    taus, starts : sequence of float, optional
        The grid of thresholds, and where its sequences of tests begin.
    **shares : float
        The shares.

    Raises
    ------
    BadInput
        An argument is out of range, or a start is not one of the taus.
    """
    for name, value in shares.items():
        must_be(name, value, (Real,), "a number from 0 to 1")
        if not 0 < value < 1:
            raise BadInput(f"{name} lies between 0 and 1, got {value}")
    if taus is not None and (len(starts) == 0 or not set(starts) <= set(taus)):
        raise BadInput(f"each start is one of the taus, got starts {tuple(starts)}")


def naive_threshold(steps: PrecisionSteps, *, alpha: float = 0.1) -> ThresholdChoice:
    """Choose the smallest τ whose risk on these very questions is at most α: the usual choice, without a guarantee.

    It picks, from many thresholds, one that looks good enough. Its true risk is therefore above α about as often as
    not.

    Parameters
    ----------
    steps : PrecisionSteps
        Counts for the target "the prior answer is right".
    alpha : float, default 0.1
        The wanted risk, in (0, 1).

    Returns
    -------
    ThresholdChoice
        The choice.

    Raises
    ------
    BadInput
        `alpha` is out of range.
    """
    check_tests(alpha=alpha)
    n_above, n_target = steps.n_above[:-1], steps.n_target[:-1]
    good = n_above - n_target <= alpha * n_above + 1e-9
    tau = float(steps.tau[good.argmax()]) if good.any() else None
    guarantee = f"no guarantee: τ was picked where the risk on the same questions is at most {alpha:g}"
    if tau is None:
        guarantee = f"{NOTHING}: the risk is above {alpha:g} at every τ"
    return ThresholdChoice(ThresholdMethod.NAIVE, tau, guarantee, steps.at(tau))


# Fixed before any question is seen; fine where confidences crowd. 0 means to believe every prior answer.
_HUNDREDTHS = (0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 99, 99.5, 99.9)
TAUS = tuple(hundredths / 100 for hundredths in _HUNDREDTHS)
STARTS = (0.97, 0.9, 0.8)


def accept(p_value: NDArray[np.float64], delta: float, sequences: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Find the hypotheses of a grid that are rejected by fixed-sequence testing.

    The probability of rejecting any true hypothesis is at most δ.

    Parameters
    ----------
    p_value : ndarray of float
        P-values, with the grid on the last axis.
    delta : float
        Error level δ, shared equally by the sequences.
    sequences : sequence of ndarray of int
        Orders of testing, as positions in the grid; each stops at the first hypothesis that is not rejected.

    Returns
    -------
    ndarray of bool
        True for each rejected hypothesis.
    """
    accepted = np.zeros(p_value.shape, bool)
    for places in sequences:
        passed = p_value[..., places] <= delta / len(sequences)
        accepted[..., places] |= np.logical_and.accumulate(passed, axis=-1)
    return accepted


def risk_tests(
    steps: PrecisionSteps, *, alpha: float = 0.1, delta: float = 0.1, taus: Sequence[float] = TAUS,
    starts: Sequence[float] = STARTS,
) -> pd.DataFrame:  # fmt: skip
    """Test, for each τ of a grid, the hypothesis "its risk is above α".

    Parameters
    ----------
    steps : PrecisionSteps
        Counts for the target "the prior answer is right".
    alpha : float, default 0.1
        The wanted risk, in (0, 1).
    delta : float, default 0.1
        Probability with which the guarantee may fail, in (0, 1).
    taus : sequence of float, default TAUS
        The grid, fixed before the questions are seen.
    starts : sequence of float, default STARTS
        Thresholds at which the sequences of tests begin; each is one of `taus`.

    Returns
    -------
    DataFrame
        One row per τ, descending: `n_above`, `n_wrong`, `risk`, `p_value` = P(Bin(n_above, α) ≤ n_wrong), 1 if nothing
        is above, and `accepted`, whether the hypothesis is rejected, so that τ may be used.

    Raises
    ------
    BadInput
        An argument is out of range, or a start is not one of the taus.
    """
    check_tests(taus, starts, alpha=alpha, delta=delta)
    grid = np.array(sorted(set(taus), reverse=True))
    place = np.searchsorted(steps.tau, grid, side="left")
    n_above, n_wrong = steps.n_above[place], (steps.n_above - steps.n_target)[place]
    p_value = np.where(n_above > 0, bdtr(n_wrong, np.maximum(n_above, 1), alpha), 1.0)
    accepted = accept(p_value, delta, [np.flatnonzero(grid <= start) for start in starts])
    table = {"tau": grid, "n_above": n_above, "n_wrong": n_wrong, "risk": n_wrong / np.where(n_above, n_above, np.nan)}
    return pd.DataFrame({**table, "p_value": p_value, "accepted": accepted})


def learn_then_test(
    steps: PrecisionSteps, *, alpha: float = 0.1, delta: float = 0.1, taus: Sequence[float] = TAUS,
    starts: Sequence[float] = STARTS,
) -> ThresholdChoice:  # fmt: skip
    """Choose the smallest τ that passes Learn-then-Test, so that P(risk(τ) ≤ α) ≥ 1 − δ over draws of the questions.

    The questions have to be drawn independently from the population that τ is for. `taus` and `starts` are fixed before
    these questions are seen.

    Parameters
    ----------
    steps : PrecisionSteps
        Counts for the target "the prior answer is right".
    alpha : float, default 0.1
        The wanted risk, in (0, 1).
    delta : float, default 0.1
        Probability with which the guarantee may fail, in (0, 1).
    taus : sequence of float, default TAUS
        The grid of thresholds.
    starts : sequence of float, default STARTS
        Thresholds at which the sequences of tests begin; each is one of `taus`.

    Returns
    -------
    ThresholdChoice
        The choice; without a guaranteed τ its sentence says how many questions it takes at least.

    Raises
    ------
    BadInput
        An argument is out of range, or a start is not one of the taus.

    Notes
    -----
    Of the independent questions above a τ fixed beforehand, the number of wrong ones is binomial with the risk P(wrong
    | Conf ≥ τ), so the test has a valid p-value. Fixed sequences keep the probability of accepting any τ with risk(τ) >
    α at δ or below, however the tests depend on each other; so any accepted τ may be used. A grid made of these
    questions' own confidences would not be valid.

    References
    ----------
    Angelopoulos et al., Learn then Test, 2021; their Hoeffding–Bentkus p-value is replaced by the exact binomial one.

    Examples
    --------
    >>> steps = precision_steps([0.95] * 60, [True] * 60)
    >>> learn_then_test(steps).tau
    0.0
    """
    tests = risk_tests(steps, alpha=alpha, delta=delta, taus=taus, starts=starts)
    accepted = tests.loc[tests["accepted"], "tau"]
    tau = float(accepted.min()) if len(accepted) else None
    guarantee = f"with probability ≥ {1 - delta:g} over draws of the questions it was chosen on, the risk on further "
    guarantee += f"questions of the same population is at most {alpha:g}"
    if tau is None:
        first = tests[tests["tau"].isin(starts)]
        guarantee = f"{NOTHING}: risk ≤ {alpha:g} with probability ≥ {1 - delta:g} {_takes(first, alpha, delta)}"
    return ThresholdChoice(ThresholdMethod.LEARN_THEN_TEST, tau, guarantee, steps.at(tau))


def _takes(first: pd.DataFrame, alpha: float, delta: float) -> str:
    """How many questions above τ it would take, in words. `first`: the tests one of which has to be passed."""
    least = math.ceil(math.log(delta / len(first)) / math.log(1 - alpha))
    shared = f" ({len(first)} tests share δ)" if len(first) > 1 else ""
    needed = f"takes at least {least} questions above τ, even if none of them is wrong{shared}"
    best = first.loc[first["p_value"].idxmin()]
    there = f"; above τ = {best['tau']:.2f} there are {best['n_above']:.0f}, {best['n_wrong']:.0f} of them wrong"
    return needed + there if best["n_wrong"] else needed


def transfer(
    confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: Callable[..., ThresholdChoice]
) -> pd.DataFrame:
    """Choose τ on one domain, or on all but one, and measure its coverage and risk on another.

    Parameters
    ----------
    confidence : array-like
        Confidence of each question.
    target : array-like
        Whether the prior answer of each question is right.
    domains : array-like
        Domain of each question.
    choose : callable
        `learn_then_test` or `naive_threshold`, with their options.

    Returns
    -------
    DataFrame
        One row per ordered pair of domains, then one per domain for τ chosen on all others (`chosen_on` "all but …"):
        `coverage` and `risk` with their Jeffreys intervals. With `same_questions` they are too optimistic, because the
        choice has seen the questions. `tau` is NaN if no threshold attains the wanted risk.
    """
    columns = {"confidence": confidence, "target": target, "domain": domains}
    questions = pd.DataFrame({name: np.asarray(column) for name, column in columns.items()}).astype({"domain": str})
    by_domain = questions.groupby("domain", sort=False)
    steps = {name: precision_steps(own["confidence"], own["target"]) for name, own in by_domain}
    chosen_on = {name: choose(own) for name, own in steps.items()}
    rows = [_carried(here, there, chosen_on[here], steps[there]) for here in steps for there in steps]
    for there in steps if len(steps) > 1 else ():
        others = questions[questions["domain"] != there]
        chosen = choose(precision_steps(others["confidence"], others["target"]))
        rows.append(_carried(f"all but {there}", there, chosen, steps[there]))
    return pd.DataFrame(rows, columns=None if rows else ["chosen_on", "applied_to", "tau", "n_above", "n_wrong"])


def _carried(here: str, there: str, chosen: ThresholdChoice, steps: PrecisionSteps) -> dict[str, Any]:
    """A τ that was chosen `here`, on the questions of the domain `there`."""
    guarantee = chosen.guarantee
    if here != there and chosen.tau is not None:
        guarantee = f"no guarantee: τ was chosen on {here} and is used on {there}, which may differ"
    names = {"chosen_on": here, "applied_to": there, "same_questions": here == there}
    return names | carried_to(chosen.tau, steps) | {"guarantee": guarantee}


def carried_to(tau: float | None, steps: PrecisionSteps) -> dict[str, float]:
    """Measure a τ on other questions than those it was chosen on.

    Parameters
    ----------
    tau : float or None
        The threshold; None if there is none, so that nothing lies above it.
    steps : PrecisionSteps
        Counts of the other questions.

    Returns
    -------
    dict
        `tau` (NaN if there is none); the numbers of questions `n`, above τ `n_above` and wrong among these `n_wrong`;
        `coverage` and `risk` with their 95 % intervals.
    """
    above = steps.at(tau)
    return {
        "tau": math.nan if tau is None else tau,
        "n": above.n_questions, "n_above": above.n_above, "n_wrong": above.n_wrong,
        **above.coverage.columns("coverage"), **above.risk.columns("risk"),
    }  # fmt: skip


# What passages do, which no τ bounds

_ALL_LEVELS = "all levels"


def passages_by_level(records: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how few-shot answers end, by how far the passage is from the truth.

    Each item counts once, by its context answer. On true passages the claim is the truth. If a level has fewer than ten
    passages, all false ones form one level, "all levels".

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per level × `end` (right, follows the passage, another wrong answer, no answer): `share` of the `n`
        items with its 95 % interval over `n_questions`.
    """
    items = passages(records)
    if (items["level"].value_counts().drop(STANDARD, errors="ignore") < FEW).any():
        items = items.assign(level=items["level"].where(items["level"] == STANDARD, _ALL_LEVELS))
    levels = [level for level in (STANDARD, *PERTURBED_LEVELS, _ALL_LEVELS) if (items["level"] == level).any()]
    each = items.merge(pd.DataFrame({"end": list(PASSAGE_ENDS)}), how="cross")
    return shares(each, each["ending"] == each["end"], {"level": levels, "end": list(PASSAGE_ENDS)})


def followed(records: pd.DataFrame) -> Estimate:
    """Compute the share of false passages whose claim few-shot answers repeat.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    Estimate
        The share of false passages, and the number of their questions; a missing answer repeats nothing.
    """
    false = perturbed_answers(records)
    return clustered_interval(false["follows_claim"].fillna(False), false["question_id"])


# The chapter's tables, figures and answer


def both_choices(
    questions: pd.DataFrame, alpha: float = 0.1, delta: float = 0.1
) -> tuple[ThresholdChoice, ThresholdChoice]:
    """Choose τ in the recommended and in the naive way.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.
    alpha : float, default 0.1
        The wanted risk, in (0, 1).
    delta : float, default 0.1
        Probability with which the guarantee may fail, in (0, 1).

    Returns
    -------
    tuple of ThresholdChoice, ThresholdChoice
        The choice of `learn_then_test` and that of `naive_threshold`.
    """
    steps = precision_steps(one_row_each(questions)["self_confidence"], questions["prior_correct"])
    return learn_then_test(steps, alpha=alpha, delta=delta), naive_threshold(steps, alpha=alpha)


def choices_table(chosen: Sequence[ThresholdChoice]) -> pd.DataFrame:
    """Tabulate several choices of τ.

    Parameters
    ----------
    chosen : sequence of ThresholdChoice
        The choices.

    Returns
    -------
    DataFrame
        One row per choice: τ, the number of questions above it, the risk there with its interval, and the guarantee.
    """
    rows = [(c.method, c.tau, c.above.n_above, c.above.n_questions, *c.above.risk[:3], c.guarantee) for c in chosen]
    return pd.DataFrame(rows, columns=["choice", "tau", "n_above", "n_questions", "risk", "low", "high", "guarantee"])


def draw_risk_coverage(
    table: pd.DataFrame, chosen: Sequence[ThresholdChoice] = (), alpha: float | None = None
) -> Figure:
    """Draw the risk of answers from memory at each coverage, with its 95 % band and a mark for each chosen τ.

    A filled mark has a guarantee; the dashed line is the wanted risk.

    Parameters
    ----------
    table : DataFrame
        As returned by `risk_coverage`.
    chosen : sequence of ThresholdChoice, default ()
        The choices that are marked.
    alpha : float, optional
        The wanted risk; None for no line.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table.sort_values("coverage", kind="stable")
    labels = ("share of questions with confidence ≥ τ", "risk (share of wrong answers)")
    marks = []
    for choice, colour, marker in zip(chosen, sns.color_palette("colorblind"), "osD", strict=False):
        attained = choice.tau is not None and choice.above.n_above > 0
        place = ([choice.above.coverage.value], [choice.above.risk.value]) if attained else ([], [])
        name = f"{choice.method}, {'none attains this' if choice.tau is None else f'τ = {choice.tau:.2f}'}"
        face = colour if choice.tau is not None and choice.method is ThresholdMethod.LEARN_THEN_TEST else "none"
        marks.append(Line2D(*place, linestyle="", marker=marker, color=colour, markerfacecolor=face, label=name))
    look: dict[str, Any] = {"steps": True, "height": 2.8, "note": f"dashed: α = {alpha:g}" if alpha else ""}
    made = draw.lines(rows, "coverage", "risk", labels, reference=alpha, keys=marks, **look)
    for mark in marks:
        made.axes[0].add_line(mark)
    return made


def draw_passages(table: pd.DataFrame) -> Figure:
    """Draw how few-shot answers end at each level of falsehood.

    Parameters
    ----------
    table : DataFrame
        As returned by `passages_by_level`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    names = {STANDARD: "true passages", _ALL_LEVELS: "false passages"}
    table = table.assign(level=table["level"].map(lambda level: names.get(level, f"false, {level}")))
    return draw.stacked(table, "level", "share", "end", ("", "share of passages"), PASSAGE_ENDS, across=True, n="n")


def promise(choice: ThresholdChoice, alpha: float, delta: float) -> Sentence:
    """Say in one sentence, verdict first, what Learn-then-Test found.

    Parameters
    ----------
    choice : ThresholdChoice
        The choice of `learn_then_test`.
    alpha : float
        The wanted risk, in (0, 1).
    delta : float
        Probability with which the guarantee may fail, in (0, 1).

    Returns
    -------
    Sentence
        The sentence.
    """
    if choice.tau is None:
        return Sentence(f"No τ is guaranteed: {choice.guarantee.removeprefix(NOTHING + ': ')}.", Standing.INCONCLUSIVE)
    tau = max(f"{choice.tau:.2f}", f"{choice.tau:g}", key=len)  # a finer grid has more decimals
    counts = f"{choice.above.n_wrong} of {choice.above.n_above} wrong here, {choice.above.risk}"
    return Sentence(
        f"Guaranteed: at confidence {tau} or more, at most {alpha:g} of the answers from memory to further "
        f"questions like these are wrong ({counts}); a τ chosen in this way breaks that promise with probability "
        f"{delta:g} at most.",
        Standing.SUPPORTED,
    )


def not_covered(records: pd.DataFrame) -> Sentence:
    """Say how often a false passage is followed, which no τ bounds.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    Sentence
        The sentence.
    """
    share = followed(records)
    if not share.n:
        return Sentence("Not covered by τ: false passages. This run has none.")
    return Sentence(
        f"Not covered by τ: answers that follow a passage. Few-shot repeats the claim of {share} of the false passages "
        f"(n = {share.n:,} questions)."
    )


def answer(
    results: Any, passages: pd.DataFrame | None = None, *, alpha: float = 0.1, delta: float = 0.1,
    tau: float = PAPER_TAU,
) -> Html:  # fmt: skip
    """Make the answer box of notebook 06: the guaranteed τ or none, the risk above a fixed τ, and what no τ covers.

    Parameters
    ----------
    results : Results
        A run whose questions were asked without a passage.
    passages : DataFrame, optional
        Records of answers to true and false passages; by default those of `results`.
    alpha : float, default 0.1
        The wanted risk, in (0, 1).
    delta : float, default 0.1
        Probability with which the guarantee may fail, in (0, 1).
    tau : float, default PAPER_TAU
        A threshold that was fixed beforehand.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    records = results.records if passages is None else passages
    return answer_box(*answers_of(results.questions, records, alpha, delta, tau), label=results.label)


def answers_of(
    questions: pd.DataFrame, records: pd.DataFrame, alpha: float, delta: float, tau: float
) -> tuple[Sentence, Sentence, Sentence]:
    """Make the three sentences of the answer.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.
    records : DataFrame
        One row per item × method, as `Results.records`.
    alpha : float
        The wanted risk, in (0, 1).
    delta : float
        Probability with which the guarantee may fail, in (0, 1).
    tau : float
        A threshold that was fixed beforehand.

    Returns
    -------
    tuple of Sentence, Sentence, Sentence
        The guarantee, the risk above the fixed τ, and what is not covered.
    """
    steps = precision_steps(one_row_each(questions)["self_confidence"], questions["prior_correct"])
    chosen, above = learn_then_test(steps, alpha=alpha, delta=delta), steps.at(tau)
    claim = f"above the fixed τ = {tau:.2f} fewer than {alpha:g} of the answers from memory are wrong"
    risk = sentence(claim, *above.risk, below=alpha, of="questions above it")
    if not above.n_above:
        risk = Sentence(f"Not measured: no question has confidence ≥ {tau:.2f}.", Standing.NOT_MEASURED)
    return promise(chosen, alpha, delta), risk, not_covered(records)
