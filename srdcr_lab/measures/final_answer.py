"""What the answers that a method gives are worth, for any cost of a wrong one and any share of false passages.

A right answer counts 1, a missing one 0, a wrong one −c: u(c) = (right − c · wrong) / n. Half of a testbed's passages
are false; at a share π of them any mean is (1 − π) · standard + π · perturbed. `selective` compares methods that answer
as many items. All of it is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.comparison import side_by_side
from srdcr_lab.measures.estimates import bootstrapped, contrast_interval, percentile_interval
from srdcr_lab.measures.groups import groups, is_standard, stack
from srdcr_lab.measures.verdicts import DESIGN_KEYS, debates
from srdcr_lab.pages import interval
from srdcr_lab.records import BadInput, Verdict

COSTS = (0.0, 0.5, 1.0, 2.0, 4.0)
SHARES = tuple(round(share, 1) for share in np.linspace(0, 1, 11))
_FINE = tuple(percent / 100 for percent in range(101))  # shares at which two methods are asked whether they differ
Ends: TypeAlias = tuple[float, float, float]  # a value, and its 95 % interval


@dataclass(frozen=True)
class FinalAnswers:
    """The answers of one method as arrays, a value per item: right (1), wrong (0) or missing (NaN), its question, and
    whether its passage is true."""

    right: NDArray[np.float64]
    question: NDArray[np.intp]
    true: NDArray[np.bool_]

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> FinalAnswers:
        """From the rows of one method."""
        right = records["correct"].astype("Float64").to_numpy(float, na_value=np.nan)
        return cls(right, pd.factorize(records["question_id"])[0], is_standard(records).to_numpy(bool))

    def worth(self, cost: float) -> NDArray[np.float64]:
        """What each answer is worth: 1, 0 or −`cost`, which is at least 0."""
        if not (math.isfinite(cost) and cost >= 0):
            raise BadInput(f"the cost of a wrong answer is a number of at least 0, got {cost}")
        return np.where(np.isnan(self.right), 0.0, np.where(self.right == 1, 1.0, -cost))

    def mean(self, values: NDArray[np.float64], false_share: float, bounds: tuple[float, float] = (0.0, 1.0)) -> Ends:
        """The mean of a value per item at this share of false passages, with its 95 % interval over questions."""
        return contrast_interval(values, self.question, self.true, half_weights(false_share), bounds=bounds)

    def utility(self, cost: float, false_share: float) -> Ends:
        """Utility at this cost and share of false passages; NaN where a half that it needs was not run."""
        return self.mean(self.worth(cost), false_share, (-cost, 1.0))

    def coverage(self, false_share: float) -> Ends:
        """Share of the items that are answered."""
        return self.mean((~np.isnan(self.right)).astype(float), false_share)


def half_weights(false_share: float) -> dict[bool, float]:
    """The weight of true and of false passages; a half without weight is left out."""
    if not 0 <= false_share <= 1:
        raise BadInput(f"a share of false passages lies in [0, 1], got {false_share}")
    return {true: weight for true, weight in ((True, 1 - false_share), (False, false_share)) if weight}


def utility(
    records: pd.DataFrame, costs: Sequence[float] = COSTS, false_shares: Sequence[float] = (0.5,)
) -> pd.DataFrame:
    """Utility of each method (and run, model, design, where there are several) at each cost and share of false items.

    Columns `cost`, `false_share`, `utility`, `low`, `high` (95 %, over questions), `n`, `n_questions`, `n_answered`. A
    share that needs a half which was not run is NaN.
    """
    tables = []
    for names, rows in groups(records):
        answers = FinalAnswers.from_records(rows)
        answered, questions = int(rows["correct"].notna().sum()), rows["question_id"].nunique()
        sizes = {"n": len(rows), "n_questions": questions, "n_answered": answered}
        found = [
            {"cost": cost, "false_share": share, **_named("utility", answers.utility(cost, share)), **sizes}
            for cost in costs
            for share in false_shares
        ]
        tables.append((names, pd.DataFrame(found)))
    return stack(tables)


def _named(name: str, ends: Ends) -> dict[str, float]:
    return dict(zip((name, "low", "high"), ends, strict=True))


def utility_differences(
    records: pd.DataFrame, a: str, b: str, costs: Sequence[float] = (1.0,), false_shares: Sequence[float] = SHARES
) -> pd.DataFrame:
    """Utility of method A less that of B on the items both have: columns as in `utility`, of one model, run and design.

    `changes_at`: the share of false passages at which the two change places at this cost; NaN where they do not.
    """
    worth = FinalAnswers.from_records(records).worth
    tables = []
    for cost in costs:
        both = side_by_side(records, a, b, pd.Series(worth(cost), records.index))
        gap = both["a"] - both["b"]
        rows = [
            {"cost": cost, "false_share": share, **_named("difference", _gap_at(gap, both, share, cost))}
            for share in false_shares
        ]
        means = gap.groupby(is_standard(both)).mean()
        true, false = means.get(True, math.nan), means.get(False, math.nan)
        change = true / (true - false) if true * false < 0 else math.nan
        table = pd.DataFrame(rows).assign(n=len(both), n_questions=both["question_id"].nunique(), changes_at=change)
        tables.append(({"a": a, "b": b}, table))
    return stack(tables)


def _gap_at(gap: pd.Series, both: pd.DataFrame, share: float, cost: float) -> Ends:
    bounds = (-1 - cost, 1 + cost)
    return contrast_interval(gap, both["question_id"], is_standard(both), half_weights(share), bounds=bounds)


def changes_of_place(records: pd.DataFrame, pairs: Sequence[tuple[str, str]], cost: float = 1.0) -> pd.DataFrame:
    """For each two methods the share of false passages at which they change places, one row a pair.

    `changes_at` as in `utility_differences`; `low` and `high` are the first and the last share (in steps of 0.01) at
    which the 95 % interval of the difference contains 0, NaN if none does. `at_0`, `at_50` and `at_100` (each with
    `_low` and `_high`) are the differences at 0, 50 and 100 % false passages. Pairs of methods that were not run are
    left out.
    """
    rows = []
    for a, b in pairs:
        if not {a, b} <= set(records["method"]):
            continue
        table = utility_differences(records, a, b, (cost,), _FINE)
        level = table.loc[(table["low"] <= 0) & (table["high"] >= 0), "false_share"]
        row = table.iloc[0][["a", "b", "cost", "n", "n_questions", "changes_at"]].to_dict()
        row |= {"low": level.min(), "high": level.max()}
        for percent in (0, 50, 100):
            shown = table.iloc[percent]
            row |= {f"at_{percent}{end}": shown[end.strip("_") or "difference"] for end in ("", "_low", "_high")}
        rows.append(row)
    return pd.DataFrame(rows)


def changes_in_words(table: pd.DataFrame) -> list[str]:
    """A sentence for each row of `changes_of_place`."""
    sentences = []
    for row in table.to_dict("records"):
        ends = [
            f"{interval(row[f'at_{share}'], row[f'at_{share}_low'], row[f'at_{share}_high'], '+.2f')} at {share} %"
            for share in (0, 50, 100)
        ]
        place = "they do not change places"
        if not math.isnan(row["changes_at"]):
            place = f"they change places at {row['changes_at']:.0%}"
        apart = "differ at every share" if math.isnan(row["low"]) else (
            f"cannot be told apart between {row['low']:.0%} and {row['high']:.0%}"
        )  # fmt: skip
        sentences.append(
            f"Utility of {row['a']} less {row['b']} at c = {row['cost']:g} (n = {row['n']}): {', '.join(ends)} false "
            f"passages; {place}, and {apart}."
        )
    return sentences


def predictive_values(records: pd.DataFrame, false_shares: Sequence[float] = SHARES) -> pd.DataFrame:
    """What a verdict is worth to who reads it, by design and share of false passages.

    `ppv` = P(passage true | Reasonable), `npv` = P(passage false | Unreasonable); intervals resample questions.
    UNPARSED is neither. `n` debates. NaN where no such verdict was given.
    """
    shares = np.array([half_weights(share).get(False, 0.0) for share in false_shares])
    tables = []
    for names, rows in groups(debates(records), DESIGN_KEYS):
        counts = _by_question(rows)

        def values(weights: NDArray[np.float64], counts: NDArray[np.float64] = counts) -> NDArray[np.float64]:
            """Both values at every share, shape (resamples, 2 · shares)."""
            n_true, n_false, *ruled = (weights @ counts).T
            with np.errstate(invalid="ignore", divide="ignore"):
                accepted, missed = (count / n for count, n in zip(ruled[:2], (n_true, n_false), strict=True))
                accused, caught = (count / n for count, n in zip(ruled[2:], (n_true, n_false), strict=True))
                believed = np.outer(accepted, 1 - shares), np.outer(missed, shares)
                doubted = np.outer(caught, shares), np.outer(accused, 1 - shares)
                return np.hstack([right / (right + wrong) for right, wrong in (believed, doubted)])

        measured = values(np.ones((1, len(counts))))[0].reshape(2, -1)
        resampled = bootstrapped(values, len(counts)).reshape(-1, 2, len(shares))
        table = pd.DataFrame({"false_share": shares})
        for i, name in enumerate(("ppv", "npv")):
            ends = [percentile_interval(column) for column in resampled[:, i].T]
            table[[name, f"{name}_low", f"{name}_high"]] = np.column_stack([measured[i], ends])
        tables.append((names, table.assign(n=len(rows), n_questions=len(counts))))
    return stack(tables)


def _by_question(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Of each question: its true and its false passages, then of either kind those ruled Reasonable, Unreasonable."""
    true = is_standard(rows).to_numpy(bool)
    columns = [true, ~true]
    for verdict in (Verdict.REASONABLE, Verdict.UNREASONABLE):
        ruled = (rows["verdict"] == verdict).to_numpy(bool)
        columns += [ruled & true, ruled & ~true]
    table = pd.DataFrame(np.column_stack(columns).astype(float))
    return np.asarray(table.groupby(rows["question_id"].to_numpy(), sort=False).sum(), float)
