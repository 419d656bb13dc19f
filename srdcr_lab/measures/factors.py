"""What each factor of a debate design does, over a grid of designs run on the same items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

import pandas as pd

from srdcr_lab.measures.comparison import compare_pairs, condition_rows, paired
from srdcr_lab.measures.groups import comparison_keys, stack
from srdcr_lab.measures.paired_tests import holm


def factor_effects(
    records: pd.DataFrame,
    designs: Mapping[str, Mapping[str, Any]],
    *,
    method: str = "sr_dcr",
    name: str = "verdict_right",
    condition: str = "overall",
    seed: int = 0,
) -> pd.DataFrame:
    """The main effect of every factor: each two levels, over all pairs of designs that differ in that factor alone.

    An item's values are averaged over those pairs, then compared as in `compare`; the sign-flip test keeps questions
    together. `p_holm` is over all rows of a run and model.

    Parameters
    ----------
    records : rows of several designs, one per item × design.
    designs : each design's factors, such as ``{"acvd": {"critic_sees": "never", "order": "critic_first"}, …}`` (or
        ``asdict`` of each `DebateDesign`; its name is no factor). Designs that are not in the records are left out.
    name : the outcome, `verdict_right` or `correct` (`comparison.outcome`).

    Returns
    -------
    DataFrame : (`run`,) `model`, `factor`, `a`, `b` (its levels), `n_pairs` of designs, and the fields of `Comparison`
        that an average has: `n`, `n_questions`, `mean_a`, `mean_b`, `difference` (A less B), `low`, `high`, `p_value`,
        `p_holm`.
    """
    tables = []
    rows = condition_rows(records[records["method"] == method], condition)
    keys = comparison_keys(rows, "design")
    for values, part in rows.groupby(keys, sort=False, observed=True):
        run = [design for design in part["design"].dropna().unique() if design in designs]
        present = {design: {name: level for name, level in designs[design].items() if name != "name"} for design in run}
        found = []
        for (factor, a, b), pairs in _alike_but_one(present).items():
            averaged = _averaged([paired(part, x, y, column="design", name=name) for x, y in pairs])
            fields = asdict(compare_pairs(averaged, macro=condition == "overall", seed=seed))
            found.append({"factor": factor, "a": a, "b": b, "n_pairs": len(pairs)} | fields)
        table = pd.DataFrame(found).drop(columns=list(_NOT_OF_AN_AVERAGE), errors="ignore")
        if len(table):
            tables.append((dict(zip(keys, values, strict=True)), table.assign(p_holm=holm(table["p_value"]))))
    return stack(tables)


_NOT_OF_AN_AVERAGE = ("n_unpaired", "p_mcnemar", "only_a", "only_b", "odds_ratio", "odds_ratio_low", "odds_ratio_high")


def _alike_but_one(designs: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, Any, Any], list[tuple[str, str]]]:
    """Per factor and two of its levels, the pairs of designs that agree in every other factor."""
    pairs: dict[tuple[str, Any, Any], list[tuple[str, str]]] = {}
    for x, y in combinations(designs, 2):
        unlike = [factor for factor in designs[x] if designs[x][factor] != designs[y].get(factor)]
        if len(unlike) == 1:
            a, b = designs[x][unlike[0]], designs[y][unlike[0]]
            (first, level_a), (second, level_b) = sorted([(x, a), (y, b)], key=lambda pair: str(pair[1]))
            pairs.setdefault((unlike[0], level_a, level_b), []).append((first, second))
    return pairs


def _averaged(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Each item's mean over the pairs of designs; items that some pair lacks are left out."""
    stacked = pd.concat(tables)
    grouped = stacked.groupby("item_id", sort=False)
    means = grouped[["a", "b"]].mean().join(grouped[["question_id", "level"]].first())
    return means[grouped.size() == len(tables)].reset_index()
