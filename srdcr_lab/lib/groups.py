"""Which rows of a table of records belong together: groups of run, model, method and design, strata, equal answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.lib.statistics import shares
from srdcr_lab.records import AnswerType, BadInput, KnowledgeCategory, Level, PerturbationKind, Verdict
from srdcr_lab.records.names import called

STANDARD = "standard"
PERTURBED_LEVELS = tuple(level.value for level in Level if level is not Level.STANDARD)
CATEGORY_NAMES = tuple(category.value for category in KnowledgeCategory)
RULINGS = {"R": Verdict.REASONABLE, "U": Verdict.UNREASONABLE, "?": Verdict.UNPARSED}
GOLDEN = "golden"
FROM_MEMORY = "From memory"
_OF_YEARS = [kind for kind in AnswerType if kind_of(kind).quantity() == "year"]
FEW = 10  # a group of fewer questions is grey in figures and tables, and not ranked
COLUMNS_OF_SHARES = ("n", "n_questions", "n_missing", "share", "low", "high")  # the columns that `shares` gives

_OWN_BELIEF = ("token_probability", "calibrated_token_probability")  # write the mean probability that they compare


def of_one_kind(records: pd.DataFrame) -> pd.DataFrame:
    """Select the rows whose self-confidence is of the run's kind, which all methods share except those that write a
    confidence of their own. Several kinds (a row without a confidence has none) are bad input."""
    shared = records[~records["method"].isin(_OWN_BELIEF)]
    rows = records if shared.empty else shared
    if len(kinds := rows.loc[rows["self_confidence"].notna(), "confidence_kind"].dropna().unique()) > 1:
        raise BadInput(f"the records hold several kinds of confidence ({', '.join(kinds)}); choose the rows of one")
    return rows


def group_columns(records: pd.DataFrame, always: Sequence[str] = ("model", "method")) -> list[str]:
    """The columns that tell the groups of a table apart: `always`; `run` if there are several; `design` if one method
    of one model and run has several.
    """
    columns = [name for name in ("run", "model", "method") if name in records]
    keys = [name for name in columns if name in always or (name == "run" and records["run"].nunique() > 1)]
    if "design" in records and "design" not in always:
        within = records.dropna(subset=["design"]).drop_duplicates([*columns, "design"])
        keys += ["design"] if within.duplicated(columns).any() else []
    return keys + [name for name in always if name not in keys and name in records]


def groups(
    records: pd.DataFrame, always: Sequence[str] = ("model", "method")
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Each group's names and its rows, numbered from 0, in order of first appearance."""
    columns = group_columns(records, always)
    for values, rows in records.groupby(columns, sort=False, observed=True, dropna=False):
        yield dict(zip(columns, values, strict=True)), rows.reset_index(drop=True)


def of_design(records: pd.DataFrame, design: str | None = None) -> pd.DataFrame:
    """The rows of one debate design and those that have none. Unless the design is given: ACVD, or the first design
    where there is no ACVD."""
    designs = records["design"].dropna()
    chosen = design or ("acvd" if (designs == "acvd").any() else next(iter(designs), "acvd"))
    return records[records["design"].fillna(chosen) == chosen].reset_index(drop=True)


def by_group(
    records: pd.DataFrame,
    rows_of: Callable[[pd.DataFrame], Iterable[dict[str, Any]]],
    always: Sequence[str] = ("model", "method"),
) -> pd.DataFrame:
    """One table of each group's rows, with its names in front; only the columns if there is no group."""
    rows = [names | row for names, part in groups(records, always) for row in rows_of(part)]
    if not rows:
        return pd.DataFrame(columns=[*group_columns(records, always), *next(iter(rows_of(records.iloc[:0])))])
    return pd.DataFrame(rows)


def of_several(
    several: Mapping[str, pd.DataFrame], measure: Callable[[pd.DataFrame], pd.DataFrame], column: str
) -> pd.DataFrame:
    """One table of a measure over several tables, with the name of each in a column."""
    return pd.concat([measure(table).assign(**{column: name}) for name, table in several.items()], ignore_index=True)


def comparison_keys(records: pd.DataFrame, column: str) -> list[str]:
    """The columns within which values of `column` are compared: model, and run if one run holds several of them."""
    if "run" not in records:
        return ["model"]
    met = records.dropna(subset=[column]).groupby("run", observed=True)[column].nunique()
    return ["run", "model"] if (met > 1).any() else ["model"]


def stack(parts: Sequence[tuple[dict[str, Any], pd.DataFrame]], columns: Sequence[str] = ()) -> pd.DataFrame:
    """One table of the groups' tables, with the group's names in front. Without a group: empty, with these columns."""
    named = [pd.DataFrame(names, index=table.index).join(table) for names, table in parts]
    return pd.concat(named, ignore_index=True) if named else pd.DataFrame(columns=list(columns))


def group_shares(
    rows: pd.DataFrame, hits: pd.Series, by: Mapping[str, Sequence[Any] | None] | None = None,
    always: Sequence[str] = ("model", "method"), **how: Any,
) -> pd.DataFrame:  # fmt: skip
    """`shares` of the hits in each group. A column of `by` without values has those of the group, in order of first
    appearance; `how` are further arguments of `shares`.
    """
    by, tables = by or {}, []
    for names, part in groups(rows.assign(hit=hits.reindex(rows.index)), always):  # `assign` would fill an empty table
        values = {name: part[name].unique() if given is None else given for name, given in by.items()}
        tables.append((names, shares(part, part["hit"], values, **how)))
    return stack(tables, [*always, *by, *COLUMNS_OF_SHARES])


def is_standard(records: pd.DataFrame) -> pd.Series:
    """True if the passage is true."""
    return records["level"] == Level.STANDARD


def halves(records: pd.DataFrame) -> pd.Series:
    """``standard`` if the passage is true, otherwise ``perturbed``."""
    return is_standard(records).map({True: STANDARD, False: "perturbed"})


def strata(records: pd.DataFrame) -> pd.Series:
    """How far each passage is from the truth: "standard", "offset 20" (years, either sign), other kinds by level
    ("factor mild"), offsets of other answer types by their type ("date mild")."""
    size, level = year_offset(records).abs(), records["level"].astype(object)
    kind = records["perturbation_kind"].astype(object)
    if "answer_type" in records:
        kind = kind.mask((kind == PerturbationKind.OFFSET) & size.isna(), records["answer_type"].astype(object))
    named = {value: f"offset {value:g}" for value in size.dropna().unique()}
    return (kind + " " + level).mask(size.notna(), size.map(named).astype(object)).mask(is_standard(records), STANDARD)


def year_offset(records: pd.DataFrame) -> pd.Series:
    """Signed offset of the claim in years; missing for every other kind of false passage and of answer."""
    of_years = records["answer_type"].isin(_OF_YEARS) if "answer_type" in records else True
    return records["perturbation_value"].where(of_years & (records["perturbation_kind"] == PerturbationKind.OFFSET))


def stratum_order(names: Sequence[str]) -> list[str]:
    """Distinct strata: standard first, offsets in years by size, then each other kind from subtle to blatant."""
    return sorted(set(names), key=_place)


def in_macro(names: Sequence[str]) -> list[str]:
    """The strata of false passages that enter the mean of Table 2: the offsets, as in the paper, or all if there are
    none.
    """
    false = [name for name in stratum_order(names) if name != STANDARD]
    return [name for name in false if _place(name)[0] == 1] or false


def _place(name: str) -> tuple[int, str, float]:
    kind, _, rest = name.partition(" ")
    if kind == STANDARD:
        return 0, "", 0.0
    if kind == PerturbationKind.OFFSET and rest not in PERTURBED_LEVELS:
        return 1, "", float(rest)
    return 2, kind, float(PERTURBED_LEVELS.index(rest)) if rest in PERTURBED_LEVELS else np.inf


MATCHES = {
    "prior_is_claim": ("prior_answer", "claimed_answer"),
    "context_is_claim": ("context_answer", "claimed_answer"),
    "context_is_prior": ("context_answer", "prior_answer"),
    "final_is_claim": ("final_answer", "claimed_answer"),
    "final_is_prior": ("final_answer", "prior_answer"),
}
_GRADES = {"context_is_prior": ["context_correct", "prior_correct"], "final_is_prior": ["correct", "prior_correct"]}


def with_matches(records: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of `MATCHES`, each `answers_equal` of two answers, or true where both are graded as the only gold
    answer (in two spellings); columns already there are kept."""
    missing = {name: pair for name, pair in MATCHES.items() if name not in records}
    found = {name: answers_equal(records, *pair) for name, pair in missing.items()}
    one_gold = records["gold_answers"].str.len() == 1 if "gold_answers" in records else True
    for name, grades in _GRADES.items():
        if name in missing and set(grades) <= set(records):
            both_right = records[grades].astype("boolean").fillna(False).all(axis=1)
            found[name] = found[name].mask(both_right & one_gold, True)
    return records.assign(**found)


def answers_equal(records: pd.DataFrame, left: str, right: str) -> pd.Series:
    """Row by row, whether two columns hold equal answers (`srdcr_lab.answers.equal`); missing if either is."""
    unit = records["unit"].astype(object).fillna("") if "unit" in records else pd.Series("", records.index)
    known = (records[left].notna() & records[right].notna()).to_numpy()
    compared = (records[left], records[right], records["answer_type"], unit)
    same = np.zeros(len(records), bool)
    same[known] = list(map(_equal, *(column.astype(object).to_numpy()[known] for column in compared)))
    return pd.Series(pd.array(same, "boolean"), records.index).where(known)


@lru_cache(maxsize=100_000)  # the rows of several methods repeat the same pairs
def _equal(left: str, right: str, kind: str, unit: str) -> bool:
    return left == right or answers.equal(left, right, AnswerType(kind), unit)


def names_of(table: pd.DataFrame) -> list[str]:
    """Name the method of each row, with its design if the table has one.

    Parameters
    ----------
    table : DataFrame
        Rows with `method` and, optionally, `design`.

    Returns
    -------
    list of str
        The names.
    """
    designs = table["design"] if "design" in table else [None] * len(table)
    return [called(method, design) for method, design in zip(table["method"], designs, strict=True)]


RATES = {"verdict_tpr": (Verdict.REASONABLE, True), "verdict_tnr": (Verdict.UNREASONABLE, False)}
P_UNREASONABLE = "P(UNREASONABLE)"  # a judge's belief, as tables and figures name it
DESIGN_KEYS = ("model", "method", "design")


def debates(records: pd.DataFrame) -> pd.DataFrame:
    """Rows with a verdict path, each debate once: `debate_only` shares the debates of SR-DCR in the same run, with the
    same model, and is left out beside it."""
    held = records[records["verdict_path"].notna()]
    runs = pd.MultiIndex.from_frame(held[[name for name in ("run", "model") if name in held]])
    shared = (held["method"] == "debate_only") & runs.isin(runs[held["method"] == "sr_dcr"])
    return held[~shared].reset_index(drop=True)


def with_memory(records: pd.DataFrame, reader: str = "few_shot") -> pd.DataFrame:
    """The records and, as the method `FROM_MEMORY`, the prior answer of each item, for as many calls as `reader`'s; not
    of a model that was never asked without a passage."""
    keys = [name for name in ("run", "model", "item_id") if name in records]
    rows = records.sort_values("method", key=lambda method: method != reader, kind="stable").drop_duplicates(keys)
    rows = rows.assign(correct=rows["prior_correct"], calls_alone=rows["calls_alone"].where(rows["method"] == reader))
    rows = rows[rows.groupby("model", observed=True)["correct"].transform("count") > 0]
    rows = rows.assign(method=FROM_MEMORY, design=None, missing=None, verdict=None)
    return pd.concat([records, rows], ignore_index=True)


def cells(rows: pd.DataFrame, by: Sequence[str]) -> dict[str, list[Any]]:
    """Values of each column of `by` in the order of a figure; categories and levels even if unused.

    The level absurd is shown only if it occurs: it is not a degree of falsehood, and testbeds leave it out.
    """
    absurd = "level" in by and Level.ABSURD in set(rows["level"])
    levels = [level for level in PERTURBED_LEVELS if level != Level.ABSURD or absurd]
    fixed: dict[str, Sequence[Any]] = {"knowledge_category": CATEGORY_NAMES, "level": levels}
    fixed |= {"future": (False, True), "prior_is_claim": (False, True)}
    present = {name: rows[name].dropna().unique() for name in by}
    in_order: dict[str, Callable[..., list[Any]]] = {"stratum": stratum_order, "domain": list}
    return {name: list(fixed[name]) if name in fixed else in_order.get(name, sorted)(present[name]) for name in by}
