"""The same measure for each domain, and for all questions together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

ALL = "all"


def by_group(
    measure: Callable[..., Any],
    confidence: ArrayLike,
    target: ArrayLike,
    groups: ArrayLike,
    *,
    name: str = "domain",
    **options: Any,
) -> pd.DataFrame:
    """`measure(confidence, target, **options)` on each group, in order of first appearance, and on all.

    Parameters
    ----------
    measure : one that returns a dataclass (one row a group; values that are tables are left out) or a DataFrame (its
        rows, the group before them).
    groups : shape (q,), each question's domain.

    Returns
    -------
    DataFrame whose first column `name` holds the group, and last of all "all".
    """
    values, labels, of = pd.Series(confidence), pd.Series(target), pd.Series(groups)
    if not len(values) == len(labels) == len(of):
        raise ValueError(f"one domain per question, got {len(of)} for {len(values)}")
    values, labels, of = (series.reset_index(drop=True) for series in (values, labels, of))
    parts: list[pd.DataFrame] = []
    for group in [*of.unique(), ALL]:
        chosen = np.ones(len(of), bool) if group == ALL else (of == group).to_numpy()
        found = _table(measure(values[chosen], labels[chosen], **options))
        found.insert(0, name, group)
        parts.append(found)
    return pd.concat(parts, ignore_index=True)


def _table(found: Any) -> pd.DataFrame:
    if isinstance(found, pd.DataFrame):
        return found.copy()
    if not is_dataclass(found) or isinstance(found, type):
        raise TypeError(f"a measure returns a dataclass or a DataFrame, got {type(found).__name__}")
    return pd.DataFrame([{key: of for key, of in asdict(found).items() if not isinstance(of, pd.DataFrame)}])
