"""Two methods, or two debate designs, on the same items: paired tests, and how many questions a test takes.

The independent units are the questions. The paper compares percentages without a test [4.4]; everything here is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from srdcr_lab.lib.groups import GOLDEN, comparison_keys, is_standard, stack
from srdcr_lab.lib.statistics import holm, macro_mean, paired_interval, sign_flip_test
from srdcr_lab.records import BadInput, Verdict

DIFFERENCES = (0.02, 0.03, 0.05, 0.10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A less B over the items both have; `n_unpaired` counts those that only one has. Missing answers count as wrong.

    `difference` is mean A − mean B; overall, the mean of the two halves' differences, with its `paired_interval`.
    `p_value`: `sign_flip_test`. `only_a`, `only_b`: items on which one alone is right.
    """

    n: int
    n_questions: int
    n_unpaired: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p_value: float
    only_a: int
    only_b: int


def outcome(records: pd.DataFrame, name: str) -> pd.Series:
    """1.0 or 0.0 per row: the final answer is right (`correct`; missing is 0), or the verdict is (`verdict_right`).

    A verdict is right that is Reasonable on a true passage, Unreasonable on a false one; UNPARSED is 0, no debate NaN.
    """
    if name == "correct":
        return records["correct"].astype("boolean").fillna(False).astype(float)
    if name == "verdict_right":
        wanted = is_standard(records).map({True: Verdict.REASONABLE.value, False: Verdict.UNREASONABLE.value})
        right = (records["verdict"].astype(object) == wanted).astype(float)
        return right.where(records["verdict"].notna())
    raise BadInput(f"unknown outcome {name!r}; known are correct, verdict_right")


def condition_rows(records: pd.DataFrame, condition: str) -> pd.DataFrame:
    """The rows of a condition: overall, standard, perturbed, or one level of perturbation."""
    if condition == "overall":
        return records
    if condition == "perturbed":
        return records[~is_standard(records)]
    return records[records["level"] == condition]


def paired(records: pd.DataFrame, a: str, b: str, *, column: str = "method", name: str = "correct") -> pd.DataFrame:
    """`side_by_side` of an `outcome`."""
    return side_by_side(records, a, b, outcome(records, name), column=column)


def side_by_side(records: pd.DataFrame, a: str, b: str, values: pd.Series, *, column: str = "method") -> pd.DataFrame:
    """One row per item for which both have a value: `item_id`, `question_id`, `level`, `a`, `b`.

    `attrs["n_unpaired"]` counts the items that only one has. `BadInput` where one has several rows for an item.
    """
    rows = records[["item_id", "question_id", "level"]].assign(value=values)
    sides = []
    for side, name in (("a", a), ("b", b)):
        own = rows[records[column] == name].rename(columns={"value": side})
        if own["item_id"].duplicated().any():
            raise BadInput(
                f"{column} {name!r} has several rows for an item; compare within one model, run and design at a time"
            )
        sides.append(own.dropna(subset=side))
    left, right = sides
    both = left.merge(right[["item_id", "b"]], on="item_id")
    both.attrs["n_unpaired"] = len(left) + len(right) - 2 * len(both)
    return both


def compare(
    records: pd.DataFrame, a: str, b: str, *, column: str = "method", condition: str = "overall", name: str = "correct"
) -> Comparison:
    """Compare two values of `column` (``method``, ``design``) on the items both have.

    `condition` is overall (macro over standard and perturbed), standard, perturbed, or a level; `name` the outcome,
    `correct` or `verdict_right`.
    """
    pairs = paired(condition_rows(records, condition), a, b, column=column, name=name)
    return compare_pairs(pairs, macro=condition == "overall")


def compare_pairs(pairs: pd.DataFrame, *, macro: bool = False, level: float = 0.95) -> Comparison:
    """The comparison of `paired` rows; `macro` weighs true and false passages equally. NaN with n = 0 for no pair."""
    clusters = pairs["question_id"].to_numpy()
    half = is_standard(pairs).to_numpy(bool) & macro
    a, b = pairs["a"].to_numpy(float), pairs["b"].to_numpy(float)
    halves = np.unique(half)
    weights = dict.fromkeys(halves, 1 / len(halves)) if len(halves) else {False: 1.0}
    difference, low, high = paired_interval(a - b, clusters, half, weights, level=level)
    return Comparison(
        n=len(pairs),
        n_questions=len(set(clusters)),
        n_unpaired=pairs.attrs.get("n_unpaired", 0),
        mean_a=macro_mean(a, half),
        mean_b=macro_mean(b, half),
        difference=difference,
        low=low,
        high=high,
        p_value=sign_flip_test(a - b, clusters, half),
        only_a=int((a > b).sum()),
        only_b=int((a < b).sum()),
    )


def comparable(records: pd.DataFrame, column: str) -> Iterator[tuple[dict[str, Any], pd.DataFrame, list[str]]]:
    """Parts of the records within which values of `column` are compared: names, rows, the values in them."""
    keys = comparison_keys(records, column)
    for values, part in records.groupby(keys, sort=False, observed=True):
        yield dict(zip(keys, values, strict=True)), part, list(part[column].dropna().unique())


def compare_all(
    records: pd.DataFrame,
    reference: str = "sr_dcr",
    *,
    column: str = "method",
    conditions: Sequence[str] = ("standard", "perturbed", "overall"),
    name: str = "correct",
    others: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The reference against every other method (or design): the fields of `Comparison` by run, model and condition.

    `p_holm` is over all comparisons of one run, model and condition, but for those with `golden`, which is told the
    truth.
    """
    tables = []
    for names, part, present in comparable(records, column):
        rivals = [value for value in present if value != reference] if others is None else list(others)
        for condition in conditions if rivals and reference in present else ():
            compared = {b: compare(part, reference, b, column=column, condition=condition, name=name) for b in rivals}
            row = {"condition": condition, "a": reference}
            table = pd.DataFrame([row | {"b": b} | asdict(comparison) for b, comparison in compared.items()])
            table["p_holm"] = holm(table["p_value"].where(table["b"] != GOLDEN))
            tables.append((names, table))
    columns = ("condition", "a", "b", *(field.name for field in fields(Comparison)), "p_holm")
    return stack(tables, [*comparison_keys(records, column), *columns])


def factor_effects(
    records: pd.DataFrame, designs: Mapping[str, Mapping[str, Any]], *, condition: str = "overall"
) -> pd.DataFrame:
    """The main effect of every factor on SR-DCR's verdicts: each two levels, over designs alike in all other factors.

    `designs` has each design's factors, such as ``asdict`` of each `DebateDesign`; `name` is no factor. Whether an
    item's verdict is right is averaged over the `n_pairs` pairs of designs, then compared as in `compare`. `a` and `b`
    are the factor's levels; `only_a` and `only_b` count the items of every pair, so that an average of 0 is not taken
    for no difference; `p_holm` is over all rows of a run and model.
    """
    tables = []
    rows = condition_rows(records[records["method"] == "sr_dcr"], condition)
    for names, part, present in comparable(rows, "design"):
        factors = {design: designs[design] for design in present if design in designs}
        effects = []
        for (factor, a, b), pairs in _alike_but_one(factors).items():
            each = [paired(part, x, y, column="design", name="verdict_right") for x, y in pairs]
            compared = asdict(compare_pairs(_averaged(each), macro=condition == "overall"))
            compared["only_a"] = sum(int((table["a"] > table["b"]).sum()) for table in each)
            compared["only_b"] = sum(int((table["a"] < table["b"]).sum()) for table in each)
            effects.append({"factor": factor, "a": a, "b": b, "n_pairs": len(pairs)} | compared)
        if effects:
            table = pd.DataFrame(effects, columns=_OF_AN_EFFECT)
            tables.append((names | {"condition": condition}, table.assign(p_holm=holm(table["p_value"]))))
    return stack(tables)


_OF_AN_EFFECT = ["factor", "a", "b", "n_pairs", "n", "n_questions", "mean_a", "mean_b", "difference", "low", "high",
                 "p_value", "only_a", "only_b"]  # fmt: skip


def _alike_but_one(designs: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, Any, Any], list[tuple[str, str]]]:
    """Per factor and two of its levels, the pairs of designs that agree in every other factor."""
    pairs: dict[tuple[str, Any, Any], list[tuple[str, str]]] = {}
    for x, y in combinations(designs, 2):
        unlike = [name for name, level in designs[x].items() if name != "name" and level != designs[y].get(name)]
        for factor in unlike if len(unlike) == 1 else ():
            first, second = sorted((x, y), key=lambda design: str(designs[design][factor]))
            pairs.setdefault((factor, designs[first][factor], designs[second][factor]), []).append((first, second))
    return pairs


def _averaged(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Each item's mean over the pairs of designs; items that some pair lacks are left out."""
    grouped = pd.concat(tables).groupby("item_id", sort=False)
    means = grouped[["a", "b"]].mean().join(grouped[["question_id", "level"]].first())
    return means[grouped.size() == len(tables)].reset_index()


def questions_needed(compared: Comparison, difference: float, *, family: int = 1, power: float = 0.80) -> int:
    """How many questions show a true difference of that size with this power, two-sided at 0.05 / `family`.

    A difference varies by question as much as it did in this comparison: an interval narrows with the root of the
    number of questions, however many items each has. The family is the number of comparisons that Holm corrects for,
    whose first step asks for p ≤ 0.05 / family.
    """
    if not 0 < difference <= 1:
        raise ValueError(f"a difference lies in (0, 1], got {difference}")
    quantile = NormalDist().inv_cdf
    error = (compared.high - compared.low) / 2 / quantile(0.975) * math.sqrt(compared.n_questions)
    return math.ceil(((quantile(1 - 0.05 / family / 2) + quantile(power)) * error / difference) ** 2)


def required_sample_size(
    records: pd.DataFrame, a: str = "sr_dcr", b: str = "few_shot", *, condition: str = "perturbed"
) -> pd.DataFrame:
    """Questions that show differences of 2, 3, 5 and 10 points with 80 % power, from how A and B differed here.

    The comparison is one of a `family`, as `compare_all` makes it: A against every other method but golden. Missing
    where no item has both. One model, run and design at a time.
    """
    family = max(1, len(set(condition_rows(records, condition)["method"]) - {a, GOLDEN}))
    compared = compare(records, a, b, condition=condition)
    needed = [questions_needed(compared, d, family=family) if compared.n else None for d in DIFFERENCES]
    table = pd.DataFrame({"difference": DIFFERENCES, "questions_needed": pd.array(needed, "Int64")})
    return table.assign(family=family, n_questions=compared.n_questions)
