"""Two methods, or two debate designs, on the same items: paired tests, and how many questions a test takes.

Below: the same study with other seeds, and how much a number varies over repeats beside how it varies over questions.
The independent units are the questions. The paper compares percentages without a test [4.4]; everything here is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.lib.groups import GOLDEN, comparison_keys, is_standard, of_one_kind, stack
from srdcr_lab.lib.statistics import holm, macro_mean, paired_interval, shares, sign_flip_test
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


# Repeats. A seed chooses exemplars, orders and draws. The records of all repeats are one table with the column
# `repeat`, as `load_repeats` reads it. Questions and repeats are crossed random effects; an interval over questions
# alone, as that of a single study, says nothing of what another seed would have given.


def over_both(
    pooled: ArrayLike, each: ArrayLike, n_questions: int, *, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float, float, int]:
    """Carry the variation over repeats into an interval over questions: the standard deviation over repeats, both ends
    of the 95 % interval over questions and repeats, and how many repeats have a value; NaN for fewer than two.

    `pooled`, a value and its interval over questions, is of all K repeats together; `each`, shape (K, 3), of each by
    itself. Answers that waver from repeat to repeat make each single interval wider than the pooled one:
    Vₑ = (mean V − V_pooled) · K / (K − 1). The questions' own part is V_q = V_pooled − Vₑ / K, at least 0; all that
    repeats vary is in their standard deviation. Each half is √(half² · V_q / V_pooled + t²ₖ₋₁ · sd² / K), within
    `bounds`; where repeats happen to agree, it may be less than the pooled half. 3 repeats make it wide (two degrees of
    freedom). `make guarantees` prints the coverage: .93 to .97, and up to .98 with 30 questions or 3 repeats.

    Source: variance components of two crossed factors (Searle, Casella and McCulloch 1992), halves combined as in Howe
    1974; Satterthwaite's degrees of freedom gave .90 with 3 repeats that differ much.
    """
    from scipy.special import stdtrit  # not above: every start of the command line would pay for it

    all_of_them, known = np.asarray(pooled, float), np.asarray(each, float).reshape(-1, 3)
    known = known[~np.isnan(known).any(axis=1)]
    k = len(known)
    if k < 2 or np.isnan(all_of_them).any():
        return math.nan, math.nan, math.nan, k
    value, low, high = all_of_them
    of_one_study = 2 * stdtrit(max(n_questions - 1, 1), 0.975)
    single, together = (((ends[..., 2] - ends[..., 1]) / of_one_study) ** 2 for ends in (known, all_of_them))
    wavering = max(0.0, float(single.mean() - together)) * k / (k - 1)
    own = max(0.0, 1 - wavering / k / float(together)) if together else 0.0
    variance = float(known[:, 0].var(ddof=1))
    over = float(stdtrit(k - 1, 0.975)) ** 2 * variance / k
    below, above = (math.sqrt(own * half**2 + over) for half in (value - low, high - value))
    return math.sqrt(variance), max(bounds[0], value - below), min(bounds[1], value + above), k


def has_repeats(records: pd.DataFrame) -> bool:
    return "repeat" in records and records["repeat"].nunique() > 1


def each_repeat(records: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The records of all repeats as if of one study, with as many items for each question as there are repeats; and
    those of each. Repeats that do not have the same items, models, methods and designs are bad input."""
    if "repeat" not in records:
        raise BadInput("the records have no column repeat; srdcr run --repeats K makes them, load_repeats reads them")
    parts = [part for _, part in records.groupby("repeat")]
    for part in parts[1:]:
        which = f"repeats {parts[0]['repeat'].iloc[0]} and {part['repeat'].iloc[0]} are not of one study"
        for name in ("model", "method", "design", "item_id"):
            if unlike := set(part[name].dropna()) ^ set(parts[0][name].dropna()):
                raise BadInput(f"{which}: {name} {min(unlike)!r} is in one of them alone")
        if len(part) != len(parts[0]):
            raise BadInput(f"{which}: one has {len(parts[0])} rows, the other {len(part)}")
    told_apart = records["item_id"] + " in repeat " + records["repeat"].astype(str)
    return records.assign(item_id=told_apart), parts


def over_repeats(
    measure: Callable[[pd.DataFrame], pd.DataFrame],
    records: pd.DataFrame,
    names: Sequence[str] = ("accuracy", "selective_accuracy"),
    by: Sequence[str] = ("method", "condition"),
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> pd.DataFrame:
    """Numbers of a measure's table, such as `summary`, over repeats: one row for each of its rows, which `by` tells
    apart, and each of the columns `names`.

    Columns: those of `by`; `measure`, the name; `value` of all repeats together, which is their mean where none leaves
    rows out; `low`, `high` (95 %, over questions, these repeats given); `sd` over repeats; `both_low`, `both_high`
    (95 %, over questions and repeats, see `over_both`; within `bounds`, for a difference −1 and 1); `n` rows of one
    repeat, `n_questions`, `n_repeats` that have the number.
    """
    pooled, each = each_repeat(records)
    together, *alone = (measure(part).set_index(list(by)) for part in (pooled, *each))
    alone = [table.reindex(together.index) for table in alone]
    if (sum(table["n"].fillna(0) for table in alone) != together["n"]).any():
        raise ValueError("the measure reads one row a question, so that it would see one repeat alone")
    n_questions, rows = records["question_id"].nunique(), []
    for name in names:
        ends = [name, *(f"{name}_{end}" if f"{name}_{end}" in together else end for end in ("low", "high"))]
        of_all, *single = (table[ends].to_numpy(float, na_value=np.nan) for table in (together, *alone))
        for place, pooled_ends in enumerate(of_all):
            both = over_both(pooled_ends, [found[place] for found in single], n_questions, bounds=bounds)
            rows.append([name, *pooled_ends, *both])
    columns = ["measure", "value", "low", "high", "sd", "both_low", "both_high", "n_repeats"]
    repeated = pd.concat([together[["n"]] // len(each)] * len(names)).assign(n_questions=n_questions).reset_index()
    return repeated[list(by)].join(pd.DataFrame(rows, columns=columns)).join(repeated[["n", "n_questions"]])


_OF_AN_ITEM = ("prior_answer", "self_confidence", "sampled_accuracy", "knowledge_category", "context_answer")
_OF_A_METHOD = ("verdict", "decision", "final_answer", "correct")


def what_varied(records: pd.DataFrame) -> pd.DataFrame:
    """How often something is not the same in all repeats (numbers to four digits, a machine's last ones vary): columns
    `what`, `method` (empty for what every method shares) and those of `shares`, over items.

    The prior answer's prompt shows fixed exemplars: greedy, it varies only where the server does. The context answer
    has other exemplars in each repeat, sampled accuracy and category other exemplars and draws. Ours.
    """
    each_repeat(records)
    records = records.round(4)
    shared = of_one_kind(records).drop_duplicates(["repeat", "item_id"])
    wanted = [("", name, shared) for name in _OF_AN_ITEM]
    wanted += [(method, name, rows) for method, rows in records.groupby("method", sort=False) for name in _OF_A_METHOD]
    tables = []
    for method, name, rows in wanted:
        if rows[name].notna().any():
            keys = ["item_id", "design"] if method else ["item_id"]
            values = rows.assign(value=rows[name].astype(str)).groupby(keys, sort=False, dropna=False)
            found = values.agg(question_id=("question_id", "first"), n_values=("value", "nunique")).reset_index()
            tables.append(shares(found, found["n_values"] > 1).assign(what=name, method=method))
    columns = ["what", "method", "n", "n_questions", "share", "low", "high"]
    return pd.concat(tables, ignore_index=True)[columns]
