"""One token for one draw: a random number keyed by draw and step, and the inverse cumulative distribution (CDF).

A draw's seed and the step give a number u in [0, 1). The token is where the CDF of softmax(logits / T) passes u, in
float64. So a sample does not depend on what else is in the batch, up to rounding: batch composition changes logits by
about 1e-6 in float32, and a u that close to an edge of the CDF may fall on its other side. Greedy decoding has the same
limit for two tokens that are equally likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

_FAR_AHEAD = 999.0  # of a token that alone is allowed
_CELLS = 1 << 23  # rows × vocabulary of the float64 tables that are computed at once


@dataclass(eq=False, slots=True)
class Draw:
    """One wanted sample: seed and limits. T = 0 is greedy. `owner` and `index` are for the caller."""

    seed: int
    temperature: float
    max_new: int
    stop: tuple[str, ...] = ()
    owner: Any = None
    index: int = 0


def choose(
    logits: torch.Tensor, draws: Sequence[Sequence[Draw]], steps: Sequence[int]
) -> list[list[tuple[int, float, float]]]:
    """The next token of each row's draws, its natural log-probability at T = 1, and how far the row's likeliest token
    is ahead of the next one in log-probability.

    `logits` is (rows, vocabulary), −inf excludes a token; `steps` counts the tokens that each row has generated so far.
    Raises FloatingPointError where a row's logits are not numbers.
    """
    piece = max(1, _CELLS // logits.shape[1])
    if len(draws) > piece:
        first = choose(logits[:piece], draws[:piece], steps[:piece])
        return first + choose(logits[piece:], draws[piece:], steps[piece:])
    logits = logits.float()
    best = logits.argmax(dim=-1).cpu()  # of equal logits, the first
    tokens = best[:, None].repeat(1, max(map(len, draws)))
    for temperature in sorted({draw.temperature for row in draws for draw in row} - {0.0}):
        rows = [place for place, row in enumerate(draws) if any(draw.temperature == temperature for draw in row)]
        seeds = np.zeros((len(rows), tokens.shape[1]), dtype=np.uint64)
        wanted = np.zeros(seeds.shape, dtype=np.bool_)
        for line, place in enumerate(rows):
            row = draws[place]
            seeds[line, : len(row)] = [draw.seed for draw in row]
            wanted[line, : len(row)] = [draw.temperature == temperature for draw in row]
        counts = np.array([[steps[place]] for place in rows], dtype=np.uint64)
        picked = inverse_cdf(logits[rows], temperature, uniforms(seeds, counts)).cpu()
        tokens[rows] = torch.where(torch.from_numpy(wanted), picked, tokens[rows])
    values = torch.log_softmax(logits, dim=-1).gather(1, tokens.to(logits.device)).cpu()
    if not torch.isfinite(values).all():
        raise FloatingPointError("the model's logits are not finite numbers")
    first_two = logits.topk(2, dim=-1).values
    ahead = (first_two[:, 0] - first_two[:, 1]).clamp(max=_FAR_AHEAD).tolist()
    picks = zip(tokens.tolist(), values.tolist(), ahead, draws, strict=True)
    return [
        [(token, logp, margin) for token, logp in zip(ids, logps, strict=True)][: len(row)]
        for ids, logps, margin, row in picks
    ]


def inverse_cdf(logits: torch.Tensor, temperature: float, u: NDArray[np.float64]) -> torch.Tensor:
    """Tokens at which the distribution function of softmax(logits / T) passes u.

    `logits` is (rows, vocabulary), `u` (rows, draws) in [0, 1). A token of probability zero is never picked.
    """
    wide = logits.cpu() if logits.device.type == "mps" else logits  # mps has no float64
    cdf = torch.softmax(wide.double() / temperature, dim=-1).cumsum(dim=-1)
    reached = torch.from_numpy(u).to(cdf.device) * cdf[:, -1:]
    return torch.searchsorted(cdf, reached, right=True).clamp_(max=cdf.shape[1] - 1)


def uniforms(seeds: NDArray[np.uint64], steps: NDArray[np.uint64]) -> NDArray[np.float64]:
    """One number in [0, 1) for each (seed, step): SplitMix64 as a counter-based generator, upper 52 bits.

    Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
    """
    with np.errstate(over="ignore"):
        state = _mix(seeds) + (steps + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        return (_mix(state) >> np.uint64(12)).astype(np.float64) * 2.0**-52


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
