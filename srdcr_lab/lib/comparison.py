"""Two methods, or two debate designs, on the same items: paired tests, required sample sizes, repeats.

The independent units are the questions. The paper compares percentages without a test [4.4]; everything here is ours.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from srdcr_lab.lib.groups import GOLDEN, comparison_keys, group_columns, is_standard, of_one_kind, stack
from srdcr_lab.lib.statistics import Estimate, holm, macro_mean, paired_interval, shares, sign_flip_test
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.records.names import DESIGN_LABELS, METHOD_LABELS
from srdcr_lab.records.vocabulary import did_you_mean

_KNOWN = {"method": METHOD_LABELS, "design": DESIGN_LABELS}  # names that a run may lack; those of others are its own
_ASKED = ("question", "claimed_answer")
DIFFERENCES = (0.02, 0.03, 0.05, 0.10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A minus B over the items that both have; missing answers count as wrong.

    Attributes
    ----------
    n : int
        Items that both have.
    n_unpaired : int
        Items that only one has.
    mean_a, mean_b : float
        Means of A and of B.
    difference : Estimate
        Mean of A minus mean of B, with its `paired_interval` and the number of questions; overall, the mean of the
        differences on true and on false passages.
    p_value : float
        Of the `sign_flip_test`.
    only_a, only_b : int
        Items on which only A, or only B, is right.
    """

    n: int
    n_unpaired: int
    mean_a: float
    mean_b: float
    difference: Estimate
    p_value: float
    only_a: int
    only_b: int

    def columns(self) -> dict[str, float]:
        """Return the comparison as a row of a table.

        Returns
        -------
        dict of str to float
            `OF_A_COMPARISON`: the fields, with the ends of the difference in `low` and `high`.
        """
        row = asdict(self) | {"n_questions": self.difference.n} | self.difference.columns("difference", alone=True)
        return {name: row[name] for name in OF_A_COMPARISON}


OF_A_COMPARISON = "n n_questions n_unpaired mean_a mean_b difference low high p_value only_a only_b".split()


def outcome(records: pd.DataFrame, name: str) -> pd.Series:
    """Score each row: 1.0 if it is right, 0.0 if it is not.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    name : str
        "correct": the final answer is right; a missing one scores 0. "verdict_right": the verdict is Reasonable on a
        true passage or Unreasonable on a false one; an unparsed one scores 0, a row without a debate NaN.

    Returns
    -------
    Series
        One score per row.

    Raises
    ------
    BadInput
        The outcome is unknown.
    """
    if name == "correct":
        return records["correct"].astype("boolean").fillna(False).astype(float)
    if name == "verdict_right":
        wanted = is_standard(records).map({True: Verdict.REASONABLE.value, False: Verdict.UNREASONABLE.value})
        return (records["verdict"].astype(object) == wanted).astype(float).where(records["verdict"].notna())
    raise BadInput(f"unknown outcome {name!r}; known are correct, verdict_right")


def condition_rows(records: pd.DataFrame, condition: str) -> pd.DataFrame:
    """Select the rows of a condition.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    condition : str
        One of overall, standard, perturbed, or a level.

    Returns
    -------
    DataFrame
        The rows.
    """
    if condition == "overall":
        return records
    if condition == "perturbed":
        return records[~is_standard(records)]
    if condition not in (known := ("overall", "perturbed", *Level)):
        raise BadInput(f"unknown condition {condition!r}{did_you_mean(condition, known)}; known are {', '.join(known)}")
    return records[records["level"] == condition]


def side_by_side(records: pd.DataFrame, a: str, b: str, values: pd.Series, *, column: str = "method") -> pd.DataFrame:
    """Put the values of two methods or designs side by side.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method or design.
    b : str
        The second method or design.
    values : Series
        Value of each row.
    column : str, default "method"
        The column of `a` and `b`: method or design.

    Returns
    -------
    DataFrame
        One row per item for which both have a value: `item_id`, `question_id`, `level`, `a`, `b`. `attrs["n_unpaired"]`
        counts the items that only one has.

    Raises
    ------
    BadInput
        One of the two has several rows for an item.
    """
    rows = records[["item_id", "question_id", "level"]].assign(value=values)
    left, right = (rows[records[column] == name] for name in (a, b))
    for name, own in ((a, left), (b, right)):
        if own["item_id"].duplicated().any():
            one = "compare within one model, run and design at a time"
            raise BadInput(f"{column} {name!r} has several rows for an item; {one}")
    left, right = left.rename(columns={"value": "a"}).dropna(subset="a"), right.dropna(subset="value")
    both = left.merge(right[["item_id", "value"]].rename(columns={"value": "b"}), on="item_id")
    both.attrs["n_unpaired"] = len(left) + len(right) - 2 * len(both)
    return both


def _check_known(records: pd.DataFrame, column: str, *names: str) -> None:
    """Raise `BadInput` for a column that there is not, or a name that is neither in it nor known."""
    if column not in records:
        raise BadInput(f"the records have no column {column!r:.40}{did_you_mean(column, records.columns)}")
    known = [*_KNOWN.get(column, ()), *records[column].dropna().unique()]
    if unknown := [name for name in names if str(name).partition(" (")[0] not in known and name not in known]:
        raise BadInput(f"unknown {column} {unknown[0]!r}{did_you_mean(unknown[0], known)}")


def corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Correct the p-values of a family of comparisons by Holm's method.

    Parameters
    ----------
    table : DataFrame
        One row per comparison, with `p_value` and the other of the two, `b`.

    Returns
    -------
    DataFrame
        The table with `p_holm` and `family`, the number of comparisons; those with `golden`, which knows the truth, are
        not among them.
    """
    p_values = table["p_value"].mask(table["b"] == GOLDEN)
    return table.assign(p_holm=holm(p_values), family=int(p_values.notna().sum()))


def compare(
    records: pd.DataFrame, a: str, b: str, *, column: str = "method", condition: str = "overall", name: str = "correct"
) -> Comparison:
    """Compare two methods, designs, models or runs on the items that both have.

    Parameters
    ----------
    records : DataFrame
        Records of one model and run; for models and runs those of one method and design, where an item of the same
        `item_id` with another question or claim is another item.
    a : str
        The first method, design, model or run.
    b : str
        The second one.
    column : str, default "method"
        The column of `a` and `b`: method, design, model or run.
    condition : str, default "overall"
        One of overall (true and false passages weighted alike), standard, perturbed, or a level.
    name : str, default "correct"
        The outcome: correct or verdict_right.

    Returns
    -------
    Comparison
        The comparison.
    """
    _check_known(records, column, a, b)
    rows = condition_rows(records, condition)
    if column not in _KNOWN and {*_ASKED} <= {*rows}:  # two tables may number their rows alike
        rows = rows.assign(item_id=rows[["item_id", *_ASKED]].astype(str).agg("\n".join, axis=1))
    return compare_pairs(side_by_side(rows, a, b, outcome(rows, name), column=column), macro=condition == "overall")


def compare_pairs(pairs: pd.DataFrame, *, macro: bool = False) -> Comparison:
    """Compare paired rows.

    Parameters
    ----------
    pairs : DataFrame
        As returned by `side_by_side`.
    macro : bool, default False
        Weight true and false passages alike.

    Returns
    -------
    Comparison
        The comparison; NaN with n = 0 without pairs.
    """
    clusters = pairs["question_id"].to_numpy()
    half = is_standard(pairs).to_numpy(bool) & macro
    a, b = pairs["a"].to_numpy(float), pairs["b"].to_numpy(float)
    halves = np.unique(half)
    weights = dict.fromkeys(halves, 1 / len(halves)) if len(halves) else {False: 1.0}
    return Comparison(
        n=len(pairs), n_unpaired=pairs.attrs.get("n_unpaired", 0), mean_a=macro_mean(a, half),
        mean_b=macro_mean(b, half), difference=paired_interval(a - b, clusters, half, weights),
        p_value=sign_flip_test(a - b, clusters, half), only_a=int((a > b).sum()), only_b=int((a < b).sum()),
    )  # fmt: skip


def comparable(records: pd.DataFrame, column: str) -> Iterator[tuple[dict[str, Any], pd.DataFrame, list[str]]]:
    """Split records into parts within which values of a column can be compared.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    column : str
        The column: method or design.

    Yields
    ------
    tuple of dict of str to object, DataFrame, list of str
        Names of the part, its rows, and the values of the column in it.
    """
    if column not in ("method", "design"):
        raise BadInput(f"column is method or design, got {column!r:.40}; `compare` compares two models")
    keys = comparison_keys(records, column)
    for values, part in records.groupby(keys, sort=False, observed=True):
        yield dict(zip(keys, values, strict=True)), part, list(part[column].dropna().unique())


def compare_all(
    records: pd.DataFrame, reference: str = "sr_dcr", *, column: str = "method",
    conditions: Sequence[str] = ("standard", "perturbed", "overall"), name: str = "correct",
    others: Sequence[str] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Compare a reference with every other method or design.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    reference : str, default "sr_dcr"
        The method or design that is compared with the others.
    column : str, default "method"
        The column of these: method or design.
    conditions : sequence of str, default ("standard", "perturbed", "overall")
        The conditions.
    name : str, default "correct"
        The outcome: correct or verdict_right.
    others : sequence of str, optional
        The others; None for all that were run.

    Returns
    -------
    DataFrame
        One row per run × model × condition × other (`b`), with the columns of `Comparison`; `corrected` within one run,
        model and condition.
    """
    conditions = [conditions] if isinstance(conditions, str) else conditions
    parts, tables = [*comparable(records, column)], []
    _check_known(records, column, reference)
    for names, part, present in parts:
        rivals = [value for value in present if value != reference] if others is None else list(others)
        for condition in conditions if rivals and reference in present else ():
            compared = {b: compare(part, reference, b, column=column, condition=condition, name=name) for b in rivals}
            row = {"condition": condition, "a": reference}
            table = pd.DataFrame([row | {"b": b} | comparison.columns() for b, comparison in compared.items()])
            tables.append((names, corrected(table)))
    columns = ("condition", "a", "b", *OF_A_COMPARISON, "p_holm", "family")
    return stack(tables, [*comparison_keys(records, column), *columns])


def factor_effects(
    records: pd.DataFrame, designs: Mapping[str, Mapping[str, Any]], *, condition: str = "overall"
) -> pd.DataFrame:
    """Compute the main effect of every factor of a debate design on SR-DCR's verdicts.

    Two levels of a factor are compared over all pairs of designs that agree in every other factor. Whether an item's
    verdict is right is averaged over the `n_pairs` pairs, then compared as in `compare`.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    designs : mapping of str to mapping of str to object
        Name of a design → its factors, such as `asdict` of each `DebateDesign`.
    condition : str, default "overall"
        The condition.

    Returns
    -------
    DataFrame
        One row per factor and pair of levels (`a`, `b`), with the columns of `Comparison`. `only_a` and `only_b` count
        the items of every pair, so that an average of 0 is not mistaken for no difference. `corrected` within a run and
        model.
    """
    tables = []
    rows = condition_rows(records[records["method"] == "sr_dcr"], condition)
    for names, part, present in comparable(rows, "design"):
        factors = {design: designs[design] for design in present if design in designs}
        effects = []
        for (factor, a, b), pairs in _alike_but_one(factors).items():
            each = [side_by_side(part, x, y, outcome(part, "verdict_right"), column="design") for x, y in pairs]
            compared = compare_pairs(_averaged(each), macro=condition == "overall").columns()
            compared["only_a"] = sum(int((table["a"] > table["b"]).sum()) for table in each)
            compared["only_b"] = sum(int((table["a"] < table["b"]).sum()) for table in each)
            effects.append({"factor": factor, "a": a, "b": b, "n_pairs": len(pairs)} | compared)
        if effects:
            table = pd.DataFrame(effects).drop(columns="n_unpaired")
            tables.append((names | {"condition": condition}, corrected(table)))
    return stack(tables)


def _alike_but_one(designs: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, Any, Any], list[tuple[str, str]]]:
    """Per factor and two of its levels, the pairs of designs that agree in every other factor."""
    pairs: dict[tuple[str, Any, Any], list[tuple[str, str]]] = {}
    for x, y in combinations(designs, 2):
        unlike = [name for name, level in designs[x].items() if name != "name" and level != designs[y].get(name)]
        if len(unlike) == 1:
            factor = unlike[0]
            first, second = sorted((x, y), key=lambda design: str(designs[design][factor]))
            pairs.setdefault((factor, designs[first][factor], designs[second][factor]), []).append((first, second))
    return pairs


def _averaged(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Each item's mean over the pairs of designs; items that some pair lacks are left out."""
    grouped = pd.concat(tables).groupby("item_id", sort=False)
    means = grouped[["a", "b"]].mean().join(grouped[["question_id", "level"]].first())
    return means[grouped.size() == len(tables)].reset_index()


def questions_needed(compared: Comparison, difference: float, *, family: int = 1) -> int:
    """Compute how many questions show a true difference with 80 % power, two-sided at 0.05 / `family`.

    The variance is that of the interval as shown, which is wider where the test does not reject 0: then these are a few
    questions more than needed.

    Parameters
    ----------
    compared : Comparison
        A comparison; a difference is assumed to vary by question as much as it did there.
    difference : float
        The true difference, in (0, 1].
    family : int, default 1
        Number of comparisons that Holm corrects for; its first step needs p ≤ 0.05 / family.

    Returns
    -------
    int
        The number of questions.
    """
    from scipy.special import stdtrit  # not above: every start of the command line would pay for it

    (_, low, high, n), quantile = compared.difference, NormalDist().inv_cdf
    t = float(stdtrit(n, 0.975))  # of n − 1 degrees of freedom, and 1 for the values that the interval adds
    error = (high - low) / 2 / t * math.sqrt(n)
    return math.ceil(((quantile(1 - 0.05 / family / 2) + quantile(0.80)) * error / difference) ** 2)


def required_sample_size(
    records: pd.DataFrame, a: str = "sr_dcr", b: str = "few_shot", *, condition: str = "perturbed"
) -> pd.DataFrame:
    """Compute the required sample size for differences of 2, 3, 5 and 10 points, from how A and B differed here.

    Parameters
    ----------
    records : DataFrame
        Records of one model, run and design.
    a : str, default "sr_dcr"
        The first method.
    b : str, default "few_shot"
        The second method.
    condition : str, default "perturbed"
        The condition.

    Returns
    -------
    DataFrame
        One row per difference: `questions_needed` for 80 % power, missing if no item has both; `family`, the number of
        comparisons as in `compare_all`; `n_questions` here.
    """
    family = max(1, len(set(condition_rows(records, condition)["method"]) - {a, GOLDEN}))
    compared = compare(records, a, b, condition=condition)
    needed = [questions_needed(compared, d, family=family) if compared.n else None for d in DIFFERENCES]
    table = pd.DataFrame({"difference": DIFFERENCES, "questions_needed": pd.array(needed, "Int64")})
    return table.assign(family=family, n_questions=compared.difference.n)


# Repeats. A seed chooses exemplars, orders and draws. The records of all repeats are one table with the column
# `repeat`, as `load_repeats` reads it. Questions and repeats are crossed random effects; an interval over questions
# alone, as that of a single study, says nothing of what another seed would have given.


def over_both(
    pooled: Sequence[float], each: Iterable[Sequence[float]], *, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float, float, int]:
    """Extend an interval over questions by the variation over repeats.

    Answers that vary from repeat to repeat make each single interval wider than the pooled one: Vₑ = (mean V −
    V_pooled) · K / (K − 1). The questions' own part is V_q = V_pooled − Vₑ / K, at least 0; the variation of repeats is
    in their standard deviation. Each half of the interval is √(half² · V_q / V_pooled + t²ₖ₋₁ · sd² / K), within
    `bounds`; if repeats happen to agree, it may be smaller than the pooled half. With 3 repeats (two degrees of
    freedom) it is wide. `make guarantees` prints the coverage: .93 to .97, and up to .98 with 30 questions or 3
    repeats.

    Parameters
    ----------
    pooled : Estimate, or sequence of float
        A value and its interval over questions, of all K repeats together.
    each : iterable of Estimate, or of sequences of float
        The same of each repeat.
    bounds : tuple of float, float, default (-math.inf, math.inf)
        Smallest and largest possible value.

    Returns
    -------
    tuple of float, float, float, int
        The standard deviation over repeats, the two ends of the 95 % interval over questions and repeats, and the
        number of repeats with a value; NaN for fewer than two.

    References
    ----------
    Variance components of two crossed factors: Searle, Casella and McCulloch 1992. Halves combined as in Howe 1974;
    Satterthwaite's degrees of freedom gave .90 with 3 repeats that differ much.
    """
    from scipy.special import stdtrit  # not above: every start of the command line would pay for it

    all_of_them = np.asarray(pooled[:3], float)
    known = np.array([one[:3] for one in each], float).reshape(-1, 3)
    known = known[~np.isnan(known).any(axis=1)]
    k = len(known)
    if k < 2 or np.isnan(all_of_them).any():
        return math.nan, math.nan, math.nan, k
    value, low, high = all_of_them
    single, together = ((ends[..., 2] - ends[..., 1]) ** 2 for ends in (known, all_of_them))
    wavering = max(0.0, float(single.mean() - together)) * k / (k - 1)
    own = max(0.0, 1 - wavering / k / float(together)) if together else 0.0
    variance = float(known[:, 0].var(ddof=1))
    over = float(stdtrit(k - 1, 0.975)) ** 2 * variance / k
    below, above = (math.sqrt(own * half**2 + over) for half in (value - low, high - value))
    return math.sqrt(variance), max(bounds[0], value - below), min(bounds[1], value + above), k


def each_repeat(records: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Split the records of all repeats, and pool them as if they were of one study.

    Parameters
    ----------
    records : DataFrame
        Records with the column `repeat`, as `load_repeats` reads them.

    Returns
    -------
    tuple of DataFrame, list of DataFrame
        The pooled records, with as many items per question as there are repeats, and the records of each repeat.

    Raises
    ------
    BadInput
        There is no column `repeat`, or the repeats differ in items, models, methods or designs.
    """
    if "repeat" not in records:
        raise BadInput("the records have no column repeat; srdcr run --repeats K makes them, load_repeats reads them")
    parts = [part for _, part in records.groupby("repeat")]
    for part in parts[1:]:
        which = f"repeats {parts[0]['repeat'].iloc[0]} and {part['repeat'].iloc[0]} are not of one study"
        for name in ("model", "method", "design", "item_id"):
            if unlike := set(part[name].dropna()) ^ set(parts[0][name].dropna()):
                raise BadInput(f"{which}: {name} {min(unlike)!r} is in only one of them")
        if len(part) != len(parts[0]):
            raise BadInput(f"{which}: one has {len(parts[0])} rows, the other {len(part)}")
    return records.assign(item_id=records["item_id"] + " in repeat " + records["repeat"].astype(str)), parts


def over_repeats(measure: Callable[[pd.DataFrame], pd.DataFrame], records: pd.DataFrame) -> pd.DataFrame:
    """Compute accuracies over repeats, with intervals over questions and over both.

    Parameters
    ----------
    measure : callable
        A function from records to a table of accuracies, such as `summary`.
    records : DataFrame
        Records with the column `repeat`.

    Returns
    -------
    DataFrame
        One row per model × method (× design, if there are several) × condition × measure (`accuracy`,
        `selective_accuracy`): `value` of all repeats together (their mean, if none leaves rows out); `low`, `high`
        (95 %, over questions); `sd` over repeats; `both_low`, `both_high` (95 %, over questions and repeats, see
        `over_both`); `n` rows of one repeat; `n_questions`; `n_repeats`, the repeats that have a value.

    Raises
    ------
    ValueError
        The measure reads one row per question, so it would see only one repeat.
    """
    keys, measures = [*group_columns(records), "condition"], ("accuracy", "selective_accuracy")
    pooled, each = each_repeat(records)
    together, *alone = (measure(part).set_index(keys) for part in (pooled, *each))
    alone = [table.reindex(together.index) for table in alone]
    if (sum(table["n"].fillna(0) for table in alone) != together["n"]).any():
        raise ValueError("the measure reads one row a question, so it would see only one repeat")
    rows = []
    for name in measures:
        ends = [name, f"{name}_low", f"{name}_high"]
        of_all, *single = (table[ends].to_numpy(float, na_value=np.nan) for table in (together, *alone))
        for place, pooled_ends in enumerate(of_all):
            both = over_both(pooled_ends, [found[place] for found in single], bounds=(0.0, 1.0))
            rows.append([name, *pooled_ends, *both])
    columns = ["measure", "value", "low", "high", "sd", "both_low", "both_high", "n_repeats"]
    repeated = pd.concat([together.assign(n=together["n"] // len(each))] * len(measures)).reset_index()
    return repeated[keys].join(pd.DataFrame(rows, columns=columns)).join(repeated[["n", "n_questions"]])


_OF_AN_ITEM = ("prior_answer", "self_confidence", "sampled_accuracy", "knowledge_category", "context_answer")
_OF_A_METHOD = ("verdict", "decision", "final_answer", "correct")


def what_varied(records: pd.DataFrame) -> pd.DataFrame:
    """Compute how often something is not the same in all repeats (numbers to four digits).

    The prior answer's prompt has fixed exemplars: a greedy prior answer varies only if the server does. The context
    answer has other exemplars in each repeat; sampled accuracy and category have other exemplars and draws.

    Parameters
    ----------
    records : DataFrame
        Records with the column `repeat`.

    Returns
    -------
    DataFrame
        One row per `what` × `method` (empty for what all methods share), with the columns of `shares` over items; the
        share is NaN if nothing was repeated.
    """
    each_repeat(records)
    records = records.round(4)
    shared = of_one_kind(records).drop_duplicates(["repeat", "model", "item_id"])
    wanted = [("", name, shared) for name in _OF_AN_ITEM]
    wanted += [(method, name, rows) for method, rows in records.groupby("method", sort=False) for name in _OF_A_METHOD]
    tables = []
    for method, name, rows in wanted:
        if rows[name].notna().any():
            keys = ["model", "item_id", *(["design"] if method else [])]
            values = rows.assign(value=rows[name].astype(str)).groupby(keys, sort=False, dropna=False)
            found = values.agg(question_id=("question_id", "first"), n_values=("value", "nunique")).reset_index()
            tables.append(({"what": name, "method": method}, shares(found, found["n_values"] > 1)))
    varied = stack(tables).drop(columns="n_missing")
    return varied if records["repeat"].nunique() > 1 else varied.assign(share=math.nan, low=math.nan, high=math.nan)
