"""Is self-confidence a probability, does it rank? Reliability, calibration error, AUROC, precision above τ.

Every measure takes, for unique questions, `confidence` in [0, 1] (NaN or None if there is none) and `target` (true,
false or missing). Questions without a target (`n_unlabelled`) and without a confidence (`n_missing`) are left out.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from srdcr_lab.lib.statistics import BLOCK, Estimate, jeffreys_interval, jeffreys_share


def known_pairs(
    confidence: ArrayLike, target: ArrayLike, *, probabilities: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], dict[str, int]]:
    """Select the questions with both a confidence and a target.

    Parameters
    ----------
    confidence : array-like
        Confidence of each question; NaN or None if missing.
    target : array-like
        Whether each question has the target; missing if unknown.
    probabilities : bool, default False
        Refuse confidences outside [0, 1].

    Returns
    -------
    tuple of ndarray of float, ndarray of float, ndarray of bool, dict of str to int
        Confidences, targets (0 or 1), which questions these are, and the counts `n` of them, `n_target`, `n_missing`
        (no confidence) and `n_unlabelled` (no target).

    Raises
    ------
    ValueError
        A confidence is infinite or out of range, or a target is neither 0 nor 1.
    """
    values, labels = floats(confidence), floats(target)
    if others := {*labels[~np.isnan(labels)]} - {0, 1}:
        raise ValueError(f"a target is true or false (1 or 0), got {min(others)}")
    labelled = ~np.isnan(labels)
    known = labelled & ~np.isnan(values)
    kept, hits = values[known], labels[known]
    if np.isinf(kept).any() or (probabilities and ((kept < 0) | (kept > 1)).any()):
        limits = "finite" if np.isinf(kept).any() else "from 0 to 1; map a score to that by a function fixed beforehand"
        raise ValueError(f"a confidence is {limits}; got {kept.min()} to {kept.max()}")
    counts = {"n": kept.size, "n_target": int(hits.sum())}
    counts |= {"n_missing": int(labelled.sum()) - kept.size, "n_unlabelled": int((~labelled).sum())}
    return kept, hits, known, counts


def floats(values: ArrayLike) -> NDArray[np.float64]:
    """Convert numbers or truth values to floats; None and NA become NaN.

    Parameters
    ----------
    values : array-like
        The values.

    Returns
    -------
    ndarray of float
        The floats.
    """
    array = np.asarray(values)
    if array.dtype.kind in "bfiu":
        return array.astype(float)
    return np.asarray(pd.array(array).to_numpy(float, na_value=np.nan), float)


def _bin_of(confidence: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """The bin of each confidence: from its lower edge, inclusive like Conf ≥ τ, to below the next; the last holds 1."""
    return np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, edges.size - 2)


def reliability_curve(confidence: ArrayLike, target: ArrayLike, *, n_bins: int = 10) -> pd.DataFrame:
    """Compute the share of the target in each bin of confidence.

    Parameters
    ----------
    confidence : array-like
        Confidence of each question, in [0, 1].
    target : array-like
        Whether each question has the target.
    n_bins : int, default 10
        Number of bins of equal width.

    Returns
    -------
    DataFrame
        One row per bin, empty ones included (`left` ≤ Conf < `right`; the last bin includes 1): `n`, `n_target`,
        `mean_confidence`, and `frequency` with its 95 % Jeffreys interval. `n_missing` and `n_unlabelled` are over all
        bins.
    """
    values, target, _, counts = known_pairs(confidence, target, probabilities=True)
    edges = np.arange(n_bins + 1) / n_bins
    place = _bin_of(values, edges)
    n, hits, total = (np.bincount(place, weights, minlength=edges.size - 1) for weights in (None, target, values))
    low, high = jeffreys_interval(hits, n)
    filled = np.where(n > 0, n, np.nan)
    columns = {"left": edges[:-1], "right": edges[1:], "n": n, "n_target": hits.astype(int)}
    columns |= {"mean_confidence": total / filled, "frequency": hits / filled, "low": low, "high": high}
    return pd.DataFrame({**columns, "n_missing": counts["n_missing"], "n_unlabelled": counts["n_unlabelled"]})


def ece(confidence: ArrayLike, target: ArrayLike, *, n_bins: int = 10, n_boot: int = 1000) -> Estimate:
    """Compute ECE = Σ ``(n_b / n) |frequency_b − mean confidence_b|`` over bins b.

    The debiased value is 2 ECE − E[ECE*], where ECE* has each frequency f redrawn from N(f, f(1 − f)/n_b). The interval
    around it is that of a normal value with variance Σ n_b (f̃(1 − f̃) + (gap_b − ECE)²) / n², f̃ = (k + ½) / (n_b + 1): a
    bootstrap would take a bin without a miss for certain. It begins at 0 unless at most 2.5 % of targets redrawn as
    Bernoulli(Conf) give an ECE as large.

    Parameters
    ----------
    confidence : array-like
        Confidence of each question, in [0, 1].
    target : array-like
        Whether each question has the target.
    n_bins : int, default 10
        Number of bins of equal width.
    n_boot : int, default 1000
        Number of redrawn targets.

    Returns
    -------
    Estimate
        The error with part of its bias removed; NaN without questions.
        The sum above is too large if a bin has few questions.

    References
    ----------
    Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017. Debiased as in Kumar, Liang and Ma 2019, without their
    resampling. Redrawn targets: Bröcker and Smith 2007.
    """
    values = known_pairs(confidence, target, probabilities=True)[0]
    curve = reliability_curve(confidence, target, n_bins=n_bins)
    if not values.size:
        return Estimate()
    n, frequency, confident = curve.loc[curve["n"] > 0, ["n", "frequency", "mean_confidence"]].to_numpy(float).T
    plug_in = float(n @ np.abs(frequency - confident) / values.size)
    folded = _folded_normal_mean(frequency - confident, np.sqrt(frequency * (1 - frequency) / n))
    value = float(np.clip(2 * plug_in - n @ folded / values.size, 0, 1))
    place = _bin_of(values, np.arange(n_bins + 1) / n_bins)
    in_bin = (place[:, None] == np.unique(place)).astype(float)
    share = (n * frequency + 0.5) / (n + 1)  # a bin without a miss is not certain
    spread = share * (1 - share) + (np.abs(frequency - confident) - plug_in) ** 2
    half = float(ndtri(0.975)) * math.sqrt(n @ spread) / values.size
    rng, block = np.random.default_rng((0, 1)), max(1, BLOCK // values.size)
    sizes = [min(block, n_boot - start) for start in range(0, n_boot, block)]
    gaps = ((rng.random((size, values.size)) < values) - values for size in sizes)
    calibrated = np.concatenate([np.abs(each @ in_bin).sum(axis=1) for each in gaps]) / values.size
    p = float((1 + np.sum(calibrated >= plug_in - 1e-12)) / (1 + n_boot))
    low, high = 0.0 if p > 0.025 else max(0.0, value - half), min(1.0, value + half)
    return Estimate(value, low, high, values.size)


def _folded_normal_mean(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """E|X| for X ~ N(mean, deviation²); |mean| where the deviation is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / deviation
    spread = deviation * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + mean * (1 - 2 * ndtr(-ratio))
    return np.asarray(np.where(deviation > 0, spread, np.abs(mean)))


@dataclass(frozen=True, slots=True)
class Above:
    """The questions at or above one τ.

    Attributes
    ----------
    tau : float
        The threshold.
    n_target : int
        Questions with Conf ≥ τ and the target.
    n_above : int
        Questions with Conf ≥ τ.
    n_questions : int
        Questions with a target, including those without a confidence.
    """

    tau: float
    n_target: int
    n_above: int
    n_questions: int

    @property
    def precision(self) -> Estimate:
        """Compute P(target | Conf ≥ τ).

        Returns
        -------
        Estimate
            `n_target / n_above` with its 95 % Jeffreys interval; NaN if no question is above.
        """
        return jeffreys_share(self.n_target, self.n_above)

    @property
    def risk(self) -> Estimate:
        """Compute 1 − `precision`: for the target "the prior answer is right", the share of wrong answers above τ.

        Returns
        -------
        Estimate
            `n_wrong / n_above` with its 95 % Jeffreys interval.
        """
        return self.precision.scaled(-1, 1)

    @property
    def coverage(self) -> Estimate:
        """Compute P(Conf ≥ τ).

        Returns
        -------
        Estimate
            `n_above / n_questions` with its 95 % Jeffreys interval.
        """
        return jeffreys_share(self.n_above, self.n_questions)

    @property
    def n_wrong(self) -> int:
        """Count the wrong answers above τ, for the target "the prior answer is right".

        Returns
        -------
        int
            Their number.
        """
        return self.n_above - self.n_target


@dataclass(frozen=True, slots=True)
class PrecisionSteps:
    """The counts above every distinct confidence; any τ is looked up in O(log n).

    Attributes
    ----------
    tau : ndarray of float
        The distinct confidences, ascending.
    n_above : ndarray of int64
        Questions with Conf ≥ `tau[i]`; a final 0 stands for any τ above all confidences.
    n_target : ndarray of int64
        Questions among them with the target; ends with a 0 too.
    n_questions : int
        Questions with a target, including those without a confidence.
    n_missing : int
        Questions with a target but without a confidence.
    n_unlabelled : int
        Questions without a target, which are left out.
    """

    tau: NDArray[np.float64]
    n_above: NDArray[np.int64]
    n_target: NDArray[np.int64]
    n_questions: int
    n_missing: int
    n_unlabelled: int

    def at(self, tau: float | None) -> Above:
        """Count the questions at or above any τ.

        Parameters
        ----------
        tau : float or None
            Confidence threshold τ in [0, 1]; with None nothing is above it.

        Returns
        -------
        Above
            The counts, from which precision, risk and coverage follow.
        """
        tau = math.inf if tau is None else tau
        i = int(np.searchsorted(self.tau, tau, side="left"))
        return Above(tau, int(self.n_target[i]), int(self.n_above[i]), self.n_questions)

    def frame(self) -> pd.DataFrame:
        """Tabulate P(target | Conf ≥ τ) at every τ at which it can change.

        Returns
        -------
        DataFrame
            One row per τ, descending: `n_above` questions with Conf ≥ τ, `n_target` of them with the target,
            `precision = n_target / n_above` with its 95 % Jeffreys interval, and `coverage`, the share of the questions
            with a target. `n_missing` questions have no confidence and are never above τ; `n_unlabelled` have no target
            and are left out.

        References
        ----------
        Paper, section 4.2.
        """
        rows = np.arange(self.tau.size)[::-1]
        n_above, n_target = self.n_above[rows], self.n_target[rows]
        low, high = jeffreys_interval(n_target, n_above)
        columns = {"tau": self.tau[rows], "n_above": n_above, "n_target": n_target, "precision": n_target / n_above}
        columns |= {"low": low, "high": high, "coverage": n_above / max(self.n_questions, 1)}
        return pd.DataFrame({**columns, "n_missing": self.n_missing, "n_unlabelled": self.n_unlabelled})


def precision_steps(confidence: ArrayLike, target: ArrayLike) -> PrecisionSteps:
    """Prepare P(target | Conf ≥ τ) for every τ.

    Parameters
    ----------
    confidence : array-like
        Confidence of each question; NaN if missing.
    target : array-like
        Whether each question has the target; NA if unknown.

    Returns
    -------
    PrecisionSteps
        The counts behind `PrecisionSteps.frame` and `risk_coverage`.

    Examples
    --------
    >>> precision_steps([0.9, 0.8, 0.4], [True, False, True]).at(0.8).precision.value
    0.5
    """
    values, target, _, counts = known_pairs(confidence, target, probabilities=True)
    tau, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    hits = np.bincount(place, target, tau.size)
    n_above, n_target = (np.append(np.cumsum(part[::-1])[::-1], 0).astype(np.int64) for part in (ties, hits))
    n_missing, n_unlabelled = counts["n_missing"], counts["n_unlabelled"]
    return PrecisionSteps(tau, n_above, n_target, values.size + n_missing, n_missing, n_unlabelled)


def auroc(confidence: ArrayLike, target: ArrayLike, clusters: ArrayLike | None = None) -> Estimate:
    """Compute P(Conf of a question with the target > Conf of one without) + ½ P(equal).

    The interval is DeLong's on the logit scale, with Student's t of the questions in the smaller class. If its variance
    is zero or undefined (separated classes, or a single question in one class) it is Newcombe's, of the numbers of
    questions.

    Parameters
    ----------
    confidence : array-like
        Confidence of each question.
    target : array-like
        Whether each question has the target.
    clusters : array-like, optional
        Question of each value, if a question has several values.

    Returns
    -------
    Estimate
        The area, of the `n` values with a confidence and a target; NaN if one class is empty.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, by midranks as in Sun and Xu 2014; Obuchowski 1997 for clusters; Newcombe
    2006, method 5.

    Examples
    --------
    >>> auroc([0.9, 0.8, 0.3], [True, False, False]).value
    1.0
    """
    values, hits, known, counts = known_pairs(confidence, target)
    if not 0 < counts["n_target"] < counts["n"]:
        return Estimate(n=counts["n"])
    area, parts = _placements(values, hits)
    questions = np.arange(values.size) if clusters is None else np.asarray(clusters)[known]
    half = _half_width(parts, hits, questions)
    if half > 0 and 0 < area < 1:
        low, high = map(float, expit(logit(area) + np.array([-half, half]) / (area * (1 - area))))
    else:
        low, high = _newcombe(area, len(set(questions[hits == 1])), len(set(questions[hits == 0])))
    return Estimate(area, low, high, counts["n"])


def auroc_gain(one: ArrayLike, other: ArrayLike, target: ArrayLike, clusters: ArrayLike) -> Estimate:
    """Compare the AUROC of two confidences of the same questions.

    Parameters
    ----------
    one : array-like
        First confidence.
    other : array-like
        Second confidence.
    target : array-like
        Whether each value has the target.
    clusters : array-like
        Question of each value.

    Returns
    -------
    Estimate
        The first area minus the second, with the interval of DeLong's test of two correlated areas and Student's t of
        the questions in the smaller class; without one where it has a single question, or a difference has no variance
        (separated classes). A value without one of the two confidences is missing.
    """
    first, second = floats(one), floats(other)
    first[np.isnan(second)] = np.nan
    values, hits, known, counts = known_pairs(first, target)
    if not 0 < counts["n_target"] < counts["n"]:
        return Estimate(n=counts["n"])
    questions = np.asarray(clusters)[known]
    (area, parts), (less, its_parts) = (_placements(each, hits) for each in (values, second[known]))
    half = _half_width(parts - its_parts, hits, questions)
    half = half if half or area == less else math.nan
    return Estimate(area - less, area - less - half, area - less + half, counts["n"])


def _placements(values: NDArray[np.float64], hits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """The AUROC, and what each value adds to its error: the share of the other class against which the value is ranked
    rightly, less the AUROC, divided by √(n (n − 1)), n the size of the value's own class."""
    targets, others = (np.sort(values[hits == label]) for label in (1, 0))
    below = (np.searchsorted(others, values, "left") + np.searchsorted(others, values, "right")) / (2 * others.size)
    above = (np.searchsorted(targets, values, "left") + np.searchsorted(targets, values, "right")) / (2 * targets.size)
    area = float(below[hits == 1].mean())
    with np.errstate(divide="ignore", invalid="ignore"):  # a class of one has no variance
        roots = [np.sqrt(each.size * (each.size - 1)) for each in (targets, others)]
        return area, np.where(hits == 1, (below - area) / roots[0], (1 - above - area) / roots[1])


def _half_width(parts: NDArray[np.float64], hits: NDArray[Any], questions: NDArray[Any]) -> float:
    """Of the 95 % interval of a sum of `_placements`, most of whose error is the smaller class's; NaN if that has one
    question."""
    totals = np.bincount(pd.factorize(questions)[0], parts)
    few = min(len(set(questions[hits == side])) for side in (0, 1))
    return float(stdtrit(few - 1, 0.975)) * math.sqrt(totals @ totals)


def _newcombe(area: float, m: int, n: int) -> tuple[float, float]:
    """The areas θ with |area − θ| ≤ z √Var(θ), Var after Hanley and McNeil with (m + n)/2 − 1 for m − 1 and n − 1.

    Var(0) = Var(1) = 0, so an area of 0 or 1 solves this too: each end is looked for beside the area itself.
    """
    aside, pooled = 1e-9, (m + n) / 2 - 1

    def excess(theta: float) -> float:
        variance = theta * (1 - theta) * (1 + pooled * ((1 - theta) / (2 - theta) + theta / (1 + theta))) / (m * n)
        return (area - theta) ** 2 - float(ndtri(0.975)) ** 2 * variance

    low = brentq(excess, 0.0, area - aside) if excess(0.0) > 0 else 0.0
    return float(low), float(brentq(excess, area + aside, 1.0) if excess(1.0) > 0 else 1.0)
