"""Prompts and tokens per sample [CFMAD A.1, Table 3]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.groups import groups
from srdcr_lab.records import Missing

# Of questions with options; a claim takes CFMAD seven.
PAPER_PROMPTS: Mapping[str, int] = MappingProxyType(
    {"cot": 1, "self_reflection": 3, "self_consistency": 7, "mad": 10, "self_contrast": 6, "cfmad": 10}
)


def table_3(records: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Per model × method: mean prompts, tokens a prompt and tokens a sample, of the method by itself.

    Tokens are those of prompts and replies together. Intervals of the tokens a sample are Student's, over the means of
    the questions. Rows with an error are left out and counted in `n_error`. `paper_prompts` is Table 3's.
    """
    rows = []
    for names, part in groups(records):
        ended = part[part["missing"].fillna("") != Missing.ERROR]
        calls = ended["calls_alone"].to_numpy(float)
        tokens = (ended["prompt_tokens"] + ended["completion_tokens"]).to_numpy(float)
        by_question = pd.Series(tokens).groupby(ended["question_id"].to_numpy()).mean().to_numpy()
        low, high = _student(by_question, level)
        rows.append(
            {
                **names,
                "n": len(ended),
                "n_error": len(part) - len(ended),
                "prompts_per_sample": calls.mean() if len(calls) else math.nan,
                "tokens_per_prompt": tokens.sum() / calls.sum() if calls.sum() else math.nan,
                "tokens_per_sample": tokens.mean() if len(tokens) else math.nan,
                "tokens_per_sample_low": low,
                "tokens_per_sample_high": high,
                "paper_prompts": PAPER_PROMPTS.get(names["method"], pd.NA),
            }
        )
    return pd.DataFrame(rows)


def _student(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Interval of a mean; NaN for fewer than two values."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return math.nan, math.nan
    half = float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(n))
    return float(values.mean() - half), float(values.mean() + half)
