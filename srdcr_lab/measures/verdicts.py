"""How good a judge's verdicts are, how they move over the rounds, and what is decided from them [3.1, 3.2, 4.4].

A verdict path ("RRUR?U") has one letter per round: R Reasonable, U Unreasonable, ? UNPARSED.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.measures.comparison import comparable, condition_rows, outcome, side_by_side
from srdcr_lab.measures.estimates import positions, shares
from srdcr_lab.measures.groups import (
    CATEGORY_NAMES,
    PERTURBED_LEVELS,
    RULINGS,
    groups,
    halves,
    is_standard,
    stack,
    strata,
    stratum_order,
)
from srdcr_lab.measures.precision import auroc, auroc_gain
from srdcr_lab.measures.rule import HARD, VERDICTS, graded, stabilised_verdict
from srdcr_lab.records import Decision, Level, Verdict

RATES = {"verdict_tpr": (Verdict.REASONABLE, True), "verdict_tnr": (Verdict.UNREASONABLE, False)}
MOVES = ("changed", "oscillates", "unstabilised", "unparsed")
NO_DECISION = "none"
READ = (Verdict.REASONABLE, Verdict.UNREASONABLE)
P_UNREASONABLE = "P(UNREASONABLE)"  # a judge's belief, as tables and figures name it
DESIGN_KEYS = ("model", "method", "design")


def debates(records: pd.DataFrame) -> pd.DataFrame:
    """Rows with a verdict path, each debate once: `debate_only` shares SR-DCR's debate and is left out beside it."""
    held = records[records["verdict_path"].notna()]
    shared = (held["method"] == "debate_only") & (held["method"] == "sr_dcr").any()
    return held[~shared].reset_index(drop=True)


def first_verdict_round(rows: pd.DataFrame) -> int:
    """The round of the first letter of a design's paths: rounds held less the number of letters."""
    return int(rows["rounds"].iloc[0]) - len(rows["verdict_path"].iloc[0])


def by_round(rows: pd.DataFrame) -> pd.DataFrame:
    """The debates of one design, once per round, with `round`, `symbol` (R, U or ?) and `held`.

    A debate that stopped early keeps its last symbol, without being `held`.
    """
    paths, first = list(rows["verdict_path"]), first_verdict_round(rows)
    parts = []
    for place in range(max(map(len, paths))):
        symbols = [path[min(place, len(path) - 1)] for path in paths]
        held = [len(path) > place for path in paths]
        parts.append(rows.assign(round=first + place, symbol=symbols, held=held))
    return pd.concat(parts, ignore_index=True)


def path_moves(path: str) -> dict[str, bool]:
    """What a path does: `changed` and `oscillates` (returns to an earlier verdict) leave unparsed verdicts out.

    It is `unstabilised` if V* was reached in the last round alone; a V* that is UNPARSED was never reached. `unparsed`:
    some verdict is.

    >>> path_moves("RUR?RR")
    {'changed': True, 'oscillates': True, 'unstabilised': False, 'unparsed': True}
    """
    changes = sum(a != b for a, b in pairwise(path.replace("?", "")))
    ruling = stabilised_verdict([RULINGS[letter] for letter in path])
    late = ruling.verdict is not Verdict.UNPARSED and not ruling.stabilised
    flags = changes >= 1, changes >= 2, late, "?" in path
    return dict(zip(MOVES, flags, strict=True))


def cells(rows: pd.DataFrame, by: Sequence[str]) -> dict[str, list[Any]]:
    """Values of each column of `by` in the order in which a figure shows them; categories and levels also if unused.

    The level absurd is shown where it occurs: it is no degree, and testbeds leave it out.
    """
    absurd = "level" in by and Level.ABSURD in set(rows["level"])
    levels = [level for level in PERTURBED_LEVELS if level != Level.ABSURD or absurd]
    fixed: dict[str, Sequence[Any]] = {"knowledge_category": CATEGORY_NAMES, "level": levels}
    fixed |= {"future": (False, True), "prior_is_claim": (False, True)}
    present = {name: rows[name].dropna().unique() for name in by}
    in_order: dict[str, Callable[..., list[Any]]] = {"stratum": stratum_order, "domain": list}
    return {name: list(fixed[name]) if name in fixed else in_order.get(name, sorted)(present[name]) for name in by}


def verdict_rates(records: pd.DataFrame, by: Sequence[str] = (), *, intervals: bool = True) -> pd.DataFrame:
    """`verdict_tpr` = P(Reasonable | true passage), `verdict_tnr` = P(Unreasonable | false passage), of debates held.

    UNPARSED counts as neither, and in `n_unparsed`. `by`: any of `stratum`, `knowledge_category`, `domain`, `level`.
    """
    tables = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        for rate, rows, right in _halves(part.assign(stratum=strata), part["verdict"]):
            values = cells(rows, by)
            read = right.where(rows["verdict"] != Verdict.UNPARSED)
            table = shares(rows, right, values, intervals=intervals)
            unparsed = shares(rows, read, values, intervals=False)["n_missing"]
            tables.append((names | {"rate": rate}, table.assign(n_unparsed=unparsed)))
    return stack(tables)


def verdicts_by_round(records: pd.DataFrame) -> pd.DataFrame:
    """Both verdict rates if the debate ended after each round; one that stopped early keeps its last verdict.

    `n_held` counts the debates that ruled in that round; an unparsed verdict (`n_unparsed`) counts as neither.
    """
    tables = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        rows = by_round(part)
        rounds = sorted(rows["round"].unique())
        for rate, half, right in _halves(rows, rows["symbol"].map(RULINGS)):
            counted = half.assign(n_held=half["held"], n_unparsed=half["symbol"] == "?").groupby("round")
            counts = counted[["n_held", "n_unparsed"]].sum().reindex(rounds, fill_value=0).reset_index(drop=True)
            table = shares(half, right, {"round": rounds})
            tables.append((names | {"rate": rate}, table.join(counts)))
    return stack(tables)


def _halves(rows: pd.DataFrame, verdict: pd.Series) -> Iterator[tuple[str, pd.DataFrame, pd.Series]]:
    """Each rate, the rows it is about, and which of their verdicts are right."""
    for rate, (wanted, true) in RATES.items():
        here = is_standard(rows) == true
        yield rate, rows[here], verdict[here] == wanted


def with_kappa(records: pd.DataFrame, kappa: float = HARD) -> pd.DataFrame:
    """The records with the verdicts that a threshold κ on P(UNREASONABLE) makes of V* (`rule.graded`).

    Decisions and answers stay as they were: `Gating.from_records` of these records says what follows.
    """
    verdict = positions(records["verdict"], VERDICTS)
    ruled = graded(verdict, records["p_unreasonable"].to_numpy(float, na_value=np.nan), kappa)
    return records.assign(verdict=np.array([*map(str, VERDICTS[:-1]), None], object)[ruled])


def rates_by_kappa(records: pd.DataFrame, kappas: Sequence[float] = (), *, intervals: bool = True) -> pd.DataFrame:
    """`verdict_rates` at each κ (default: each at which a rate can change), of debates whose V* has a probability."""
    held = debates(records)
    return stack(
        [
            ({"kappa": kappa}, verdict_rates(with_kappa(part, kappa), intervals=intervals))
            for _, part in groups(held[held["p_unreasonable"].notna()], DESIGN_KEYS)
            for kappa in kappas or sorted({0.0, HARD, 1.0, *part["p_unreasonable"]})
        ]
    )


def verdict_discrimination(records: pd.DataFrame) -> pd.DataFrame:
    """Does the judge tell false passages from true ones? AUROC of its P(UNREASONABLE), of its word alone (UNREASONABLE
    before REASONABLE, so ½ (verdict_tpr + verdict_tnr)), and of the first less the second: one row each per design.

    All three are of the debates whose V* was read and has a probability; `n_missing` are the others. Intervals are
    clustered on the question.
    """
    tables = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        word = part["verdict"].map({Verdict.REASONABLE: 0.0, Verdict.UNREASONABLE: 1.0}).astype(float)
        p = part["p_unreasonable"].astype(float).where(word.notna())
        false, questions = ~is_standard(part), part["question_id"]
        found = {
            P_UNREASONABLE: auroc(p, false, questions),
            "the word": auroc(word.where(p.notna()), false, questions),
            "difference": auroc_gain(p, word, false, questions),
        }
        rows = [{"belief": name, "auroc": area.value} | asdict(area) for name, area in found.items()]
        columns = ["belief", "auroc", "low", "high", "n", "n_target", "n_missing"]
        tables.append((names, pd.DataFrame(rows, columns=columns)))
    return stack(tables)


# Debate as oversight: what a judge makes of the debate, and of less


def persuasion(
    records: pd.DataFrame,
    alone: str = "judge_alone",
    after: str = "acvd",
    *,
    conditions: Sequence[str] = ("standard", "perturbed", "overall"),
) -> pd.DataFrame:
    """How often a debate talks the Judge out of a right verdict and into one: condition × `move`, by SR-DCR's designs.

    ``lost``: of the items on which the Judge of the design `alone` is right, the share on which that of `after` is
    wrong; ``won``: of those on which it is wrong, the share on which `after` is right. An item of which one of the two
    verdicts was not read, or is not there, is in neither and in `n_missing`. Intervals are clustered on the question.
    Ours, after the persuasiveness of single debaters in Khan et al. 2024.
    """
    tables = []
    for names, part, present in comparable(records[records["method"] == "sr_dcr"], "design"):
        if not {alone, after} <= set(present):
            continue
        right = outcome(part, "verdict_right").mask(part["verdict"] == Verdict.UNPARSED)
        pairs = side_by_side(part, alone, after, right, column="design")
        for condition in conditions:
            both, asked = condition_rows(pairs, condition), condition_rows(part, condition)["item_id"].nunique()
            for move, before in (("lost", 1.0), ("won", 0.0)):
                base = both[both["a"] == before]
                table = shares(base, base["b"] != before).assign(n_missing=asked - len(both))
                tables.append((names | {"alone": alone, "after": after, "condition": condition, "move": move}, table))
    return stack(tables)


def belief_rates(records: pd.DataFrame, *, answers: bool = False) -> pd.DataFrame:
    """What each method, under each debate design, makes of passages: `rate` ``believed``, a share of the true passages,
    and ``caught``, a share of the false ones; `coverage`, the share of all items that it answers.

    A debate believes a passage where V* is Reasonable and catches it where V* is Unreasonable. A method without
    verdicts believes a true passage, or catches a false one, where its answer is right: a misread claim is no catch.
    With `answers` that holds for every method. An item without an answer, or whose verdict was not read, is neither: in
    n, and in `n_missing`.
    """
    tables = []
    for names, part in groups(records, DESIGN_KEYS):
        right = part["correct"].astype("boolean")
        if part["verdict"].notna().any() and not answers:
            true = is_standard(part).map({True: Verdict.REASONABLE, False: Verdict.UNREASONABLE})
            right = (part["verdict"] == true).astype("boolean").mask(~part["verdict"].isin(READ))
        for rate, here in (("believed", is_standard(part)), ("caught", ~is_standard(part))):
            table = shares(part[here], right[here].fillna(False))
            counts = {"n_missing": int(right[here].isna().sum()), "coverage": part["correct"].notna().mean()}
            tables.append((names | {"rate": rate}, table.assign(**counts)))
    return stack(tables)


def decision_counts(records: pd.DataFrame) -> pd.DataFrame:
    """Group × condition × `decision`: its `share` of all items, failed ones ("none") included, and how they ended."""
    tables = []
    for names, part in groups(records):
        decided = part.assign(decision=part["decision"].astype(object).fillna(NO_DECISION))
        for condition, rows in decided.groupby(halves(part), sort=False) if part["decision"].notna().any() else ():
            correct = rows["correct"].astype("boolean")
            for decision in (*Decision, NO_DECISION):
                here = rows["decision"] == decision
                counts = {
                    "n_decided": int(here.sum()),
                    "n_right": int((here & correct.fillna(False)).sum()),
                    "n_wrong": int((here & ~correct.fillna(True)).sum()),
                    "n_missing": int((here & correct.isna()).sum()),
                }
                row = names | {"condition": condition, "decision": str(decision)}
                tables.append((row, _share(rows, here).assign(**counts)))
    return stack(tables)


def _share(rows: pd.DataFrame, hits: pd.Series) -> pd.DataFrame:
    return shares(rows, hits).drop(columns="n_missing")


def path_stability(records: pd.DataFrame) -> pd.DataFrame:
    """Group × condition × `move`: the share of verdict paths that do it (see `path_moves`), of those that can move."""
    tables = []
    for names, rows in _paths(records):
        moves = pd.DataFrame(list(map(path_moves, rows["verdict_path"])), index=rows.index)
        tables += [(names | {"move": move}, _share(rows, moves[move])) for move in MOVES]
    return stack(tables)


def r_star_distribution(records: pd.DataFrame) -> pd.DataFrame:
    """Group × condition × `r_star`: the share of debates whose verdict holds from that round on; they sum to 1.

    r* = R − 1 means not `stabilised`. Debates whose V* is UNPARSED have no r*: they are the row with `r_star` missing.
    Debates with a single verdict are left out.
    """
    tables = []
    for names, rows in _paths(records):
        r_star = rows["r_star"].astype("Int64")
        first = first_verdict_round(rows)
        last = first + int(rows["verdict_path"].astype(object).str.len().max()) - 1
        for value in (*range(first, last + 1), None):
            here = r_star.isna() if value is None else (r_star == value).fillna(False)
            stabilised = value is not None and value < last
            tables.append((names | {"r_star": value, "stabilised": stabilised}, _share(rows, here)))
    return stack(tables).astype({"r_star": "Int64"} if tables else {})


def _paths(records: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Debates of more than one verdict, by group and condition."""
    held = debates(records)
    for names, part in groups(held[held["verdict_path"].astype(object).str.len() > 1], DESIGN_KEYS):
        for condition, rows in (*part.groupby(halves(part), sort=False), ("overall", part)):
            yield names | {"condition": condition}, rows


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two raters agree, with a 95 % interval clustered on the question, and Cohen's κ (NaN for one label)."""

    n: int
    n_questions: int
    n_agree: int
    share: float
    low: float
    high: float
    kappa: float


def agreement(one: ArrayLike, other: ArrayLike, questions: ArrayLike) -> Agreement:
    """Agreement of two raters, item by item; leave out beforehand what one of them has not decided. Ours.

    >>> agreement(["R", "R", "U", "U"], ["R", "U", "U", "U"], ["a", "b", "c", "d"]).kappa
    0.5
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = np.asarray(one, object), np.asarray(other, object)
    items = pd.DataFrame({"question_id": questions, "same": first == second})
    kappa = float(cohen_kappa_score(list(first), list(second))) if len({*first, *second}) > 1 else math.nan
    row = _share(items, items["same"]).to_dict("records")[0]
    return Agreement(**row, n_agree=int(items["same"].sum()), kappa=kappa)
