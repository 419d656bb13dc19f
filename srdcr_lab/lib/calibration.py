"""Is self-confidence a probability? Reliability curves, calibration error and the Brier score.

Every measure takes, for unique questions, `confidence` in [0, 1], NaN or None where there is none, and `target`, true,
false or missing. Left out are questions without a target (`n_unlabelled`) and without a confidence (`n_missing`).
Whether the confident answers are the right ones: `srdcr_lab.confidence`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from srdcr_lab.lib.statistics import BLOCK, bootstrapped, jeffreys_interval, percentile_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its 95 % interval over `n` questions, `n_target` of them with the target; NaN if there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int
    n_target: int
    n_missing: int
    n_unlabelled: int


def pairs(
    confidence: ArrayLike, target: ArrayLike, *, probabilities: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, int]]:
    """Confidence and target (0 or 1) of the questions that have both, and the counts of an `Estimate`.

    `ValueError` for unequal shapes, another target, an infinite confidence, or with `probabilities` one outside [0, 1].
    """
    values, labels = floats(confidence), floats(target)
    if values.shape != labels.shape or values.ndim != 1:
        raise ValueError(f"confidence and target are one value per question each, got {values.shape}, {labels.shape}")
    labelled = ~np.isnan(labels)
    known = labelled & ~np.isnan(values)
    kept, hits = values[known], labels[known]
    if not np.isin(hits, (0, 1)).all():
        raise ValueError("a target is true or false for each question")
    if np.isinf(kept).any() or (probabilities and ((kept < 0) | (kept > 1)).any()):
        raise ValueError(f"a confidence lies in [0, 1], got {kept.min()} to {kept.max()}")
    counts = {"n": kept.size, "n_target": int(hits.sum())}
    return kept, hits, counts | {"n_missing": int(labelled.sum()) - kept.size, "n_unlabelled": int((~labelled).sum())}


def floats(values: ArrayLike) -> NDArray[np.float64]:
    """Numbers or truth values as floats; None and NA become NaN."""
    array = np.asarray(values)
    if array.dtype.kind in "bfiu":
        return array.astype(float)
    return np.asarray(pd.array(array).to_numpy(float, na_value=np.nan), float)


class Bins(StrEnum):
    """How [0, 1] is cut: into bins of equal width, or of about equally many questions."""

    WIDTH = "width"
    MASS = "mass"


def mass_cuts(confidence: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """The confidences that open the second, third … of n_bins bins of about equally many questions, without repeats."""
    first = -(-confidence.size * np.arange(1, n_bins) // n_bins)  # rounded up
    return np.unique(np.sort(confidence)[first[first < confidence.size]])


def _edges(confidence: NDArray[np.float64], n_bins: int, bins: str) -> NDArray[np.float64]:
    """Edges from 0 to 1, at most n_bins + 1: equal confidences share a bin, so MASS may give fewer."""
    if n_bins < 1:
        raise ValueError(f"a curve has at least one bin, got {n_bins}")
    if Bins(bins) is Bins.WIDTH or not confidence.size:
        return np.arange(n_bins + 1) / n_bins
    inner = mass_cuts(confidence, n_bins)
    return np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]])


def _bin_of(confidence: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """The bin of each confidence: from its lower edge, inclusive like Conf ≥ τ, to below the next; the last holds 1."""
    return np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, edges.size - 2)


def reliability_curve(
    confidence: ArrayLike, target: ArrayLike, *, n_bins: int = 10, bins: str = Bins.WIDTH
) -> pd.DataFrame:
    """Share of the target (`frequency`, Jeffreys interval) in each bin `left` ≤ Conf < `right`, also of the empty ones.

    The last bin holds 1. `n_missing` and `n_unlabelled` are of all bins.
    """
    values, target, counts = pairs(confidence, target, probabilities=True)
    edges = _edges(values, n_bins, bins)
    place = _bin_of(values, edges)
    n, hits, total = (np.bincount(place, weights, minlength=edges.size - 1) for weights in (None, target, values))
    low, high = jeffreys_interval(hits, n)
    filled = np.where(n > 0, n, np.nan)
    columns = {"left": edges[:-1], "right": edges[1:], "n": n, "n_target": hits.astype(int)}
    columns |= {"mean_confidence": total / filled, "frequency": hits / filled, "low": low, "high": high}
    return pd.DataFrame({**columns, "n_missing": counts["n_missing"], "n_unlabelled": counts["n_unlabelled"]})


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationError(Estimate):
    """ECE, and the reliability curve it is made of.

    `value` is the plug-in estimate, too large where a bin has few questions; `debiased` takes part of that off, and
    `low` and `high` belong to it. `p_calibrated`: P(a plug-in value at least as large | the confidence is calibrated).
    """

    debiased: float = math.nan
    p_calibrated: float = math.nan
    bins: Bins
    curve: pd.DataFrame


def ece(
    confidence: ArrayLike,
    target: ArrayLike,
    *,
    n_bins: int = 10,
    bins: str = Bins.WIDTH,
    n_boot: int = 1000,
    seed: int = 0,
) -> CalibrationError:
    """ECE = Σ (n_b / n) |frequency_b − mean confidence_b| over bins b. NaN for n = 0.

    Debiased: 2 ECE − E[ECE*], where ECE* has each frequency f redrawn from N(f, f(1 − f)/n_b). The interval is the
    basic bootstrap over questions, around the debiased value, as the percentile one would repeat the bias. It begins at
    0 where `p_calibrated` (targets redrawn as Bernoulli(Conf)) exceeds 0.025, as a bootstrap covers this edge of the
    range too seldom. Source: Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017; debiased as in Kumar, Liang and Ma
    2019, without their resampling; redrawn targets: Bröcker and Smith 2007.
    """
    values, hits, counts = pairs(confidence, target, probabilities=True)
    curve = reliability_curve(confidence, target, n_bins=n_bins, bins=bins)
    if not values.size:
        return CalibrationError(**counts, bins=Bins(bins), curve=curve)
    filled = curve[curve["n"] > 0]
    n, frequency = filled["n"].to_numpy(float), filled["frequency"].to_numpy(float)
    gap = frequency - filled["mean_confidence"].to_numpy(float)
    value = float(n @ np.abs(gap) / values.size)
    redrawn = float(n @ _folded_normal_mean(gap, np.sqrt(frequency * (1 - frequency) / n)) / values.size)
    debiased = float(np.clip(2 * value - redrawn, 0, 1))

    place = _bin_of(values, _edges(values, n_bins, bins))
    in_bin = (place[:, None] == np.unique(place)).astype(float)

    def plug_in(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.abs(gaps @ in_bin).sum(axis=1) / values.size)

    resampled = bootstrapped(lambda weights: plug_in(weights * (hits - values)), values.size, n_boot=n_boot, seed=seed)
    reach = np.quantile(resampled, [0.975, 0.025]) - resampled.mean()
    low, high = np.clip(debiased - reach, 0, 1).tolist()
    rng, block = np.random.default_rng((seed, 1)), max(1, BLOCK // values.size)  # another stream than the bootstrap's
    sizes = [min(block, n_boot - start) for start in range(0, n_boot, block)]
    calibrated = np.concatenate([plug_in((rng.random((size, values.size)) < values) - values) for size in sizes])
    p_calibrated = float((1 + np.sum(calibrated >= value - 1e-12)) / (1 + n_boot))
    return CalibrationError(
        value=value,
        low=0.0 if p_calibrated > 0.025 else low,
        high=high,
        debiased=debiased,
        p_calibrated=p_calibrated,
        bins=Bins(bins),
        curve=curve,
        **counts,
    )


def _folded_normal_mean(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """E|X| for X ~ N(mean, deviation²); |mean| where the deviation is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / deviation
    spread = deviation * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + mean * (1 - 2 * ndtr(-ratio))
    return np.asarray(np.where(deviation > 0, spread, np.abs(mean)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Brier(Estimate):
    """value = reliability − resolution + uncertainty + within_bin, exactly.

    `reliability` (0 is best) is how far the bins' frequencies are from their mean confidence, `resolution` how far they
    are from each other, `uncertainty` = p(1 − p) with p the share of the target. `within_bin` is 0 where each bin holds
    a single confidence.
    """

    reliability: float = math.nan
    resolution: float = math.nan
    uncertainty: float = math.nan
    within_bin: float = math.nan


def brier(
    confidence: ArrayLike, target: ArrayLike, *, n_bins: int | None = 10, bins: str = Bins.MASS, n_boot: int = 1000
) -> Brier:
    """Brier score = (1/n) Σ (Conf − target)², 0 is best; percentile bootstrap over questions. NaN for n = 0.

    With `n_bins` None each distinct confidence is a bin, right for self-consistency with its 17 values. The parts are
    plug-in values; reliability and resolution are both too large for few questions a bin. Source: Brier 1950; Murphy
    1973; the rest within bins after Stephenson, Coelho and Jolliffe 2008.
    """
    values, hits, counts = pairs(confidence, target, probabilities=True)
    if not values.size:
        return Brier(**counts)
    loss = (values - hits) ** 2
    low, high = percentile_interval(
        bootstrapped(lambda weights: weights @ loss / values.size, values.size, n_boot=n_boot)
    )
    binned = values if n_bins is None else _bin_of(values, _edges(values, n_bins, bins))
    place = np.unique(binned, return_inverse=True)[1]
    n = np.bincount(place)
    mean, frequency = (np.bincount(place, part) / n for part in (values, hits))
    off, share = values - mean[place], hits.mean()
    return Brier(
        value=float(loss.mean()),
        low=low,
        high=high,
        reliability=float(n @ (mean - frequency) ** 2 / values.size),
        resolution=float(n @ (frequency - share) ** 2 / values.size),
        uncertainty=float(share * (1 - share)),
        within_bin=float(np.mean(off**2) - 2 * np.mean(off * (hits - frequency[place]))),
        **counts,
    )
