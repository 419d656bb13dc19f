"""Verdict paths ("RRUR?U": one letter a round) unfolded into rounds, and how they move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.measures.estimates import clustered_interval, shares
from srdcr_lab.measures.groups import RULINGS, groups, is_standard, stack, strata
from srdcr_lab.measures.preference import cells, debates, first_verdict_round, path_moves, paths_by_round
from srdcr_lab.records import Decision, Verdict

# -- how good the verdicts are, how they move over the rounds, and what is decided from them [3.1, 3.2, 4.4]

RATES = {"verdict_tpr": (Verdict.REASONABLE, True), "verdict_tnr": (Verdict.UNREASONABLE, False)}
MOVES = ("changed", "oscillates", "unstabilised", "unparsed")
NO_DECISION = "none"


def verdict_rates(records: pd.DataFrame, by: Sequence[str] = (), *, intervals: bool = True) -> pd.DataFrame:
    """`verdict_tpr` = P(Reasonable | true passage), `verdict_tnr` = P(Unreasonable | false passage), with n.

    Over the debates that were held; UNPARSED counts as neither and is also in `n_unparsed`. Rows: group × `rate` × `by`
    (`stratum`, `knowledge_category`, `domain`, `level`).
    """
    tables = []
    for names, part in groups(debates(records), ("model", "method", "design")):
        for rate, rows, right in _halves(part.assign(stratum=strata), part["verdict"]):
            inner = cells(rows, by)
            table = shares(rows, right, inner, intervals=intervals)
            unparsed = shares(rows, rows["verdict"] == Verdict.UNPARSED, inner, intervals=False)
            table["n_unparsed"] = (unparsed["share"] * unparsed["n"]).fillna(0).round().astype(int)
            tables.append(({**names, "rate": rate}, table))
    return stack(tables)


def verdicts_by_round(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Both verdict rates if the debate ended after each round: group × `rate` × `round`.

    A debate that stopped early keeps its last verdict; `n_held` counts those that did rule in that round, `n_unparsed`
    those whose verdict was not read (counted as neither).
    """
    tables = []
    for names, part in groups(debates(records), ("model", "method", "design")):
        by_round = paths_by_round(part)
        rows = part.loc[by_round["row"]].reset_index(drop=True).assign(**by_round.drop(columns="row"))
        rounds = {"round": sorted(rows["round"].unique())}
        for rate, half, right in _halves(rows, rows["symbol"].map(RULINGS)):
            table = shares(half, right, rounds, intervals=intervals)
            for name, marked in (("n_held", half["held"]), ("n_unparsed", half["symbol"] == "?")):
                table[name] = half[marked].groupby("round").size().reindex(rounds["round"], fill_value=0).to_numpy()
            tables.append(({**names, "rate": rate}, table))
    return stack(tables)


def _halves(rows: pd.DataFrame, verdict: pd.Series) -> Iterator[tuple[str, pd.DataFrame, pd.Series]]:
    for rate, (wanted, true) in RATES.items():
        here = is_standard(rows) == true
        yield rate, rows[here], verdict[here] == wanted


def conditions(rows: pd.DataFrame) -> pd.Series:
    """ "standard" or "perturbed"."""
    return is_standard(rows).map({True: "standard", False: "perturbed"})


def decision_counts(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Group × condition × `decision`: how often, and how it ended (`n_right`, `n_wrong`, `n_missing`).

    `share` is of all items of the condition, failed ones (`decision` "none") included. Methods without the rule have
    no rows.
    """
    tables = []
    for names, part in groups(records):
        if part["decision"].isna().all():
            continue
        decision = part["decision"].astype(object).fillna(NO_DECISION)
        for condition, rows in part.groupby(conditions(part), sort=False):
            correct = rows["correct"].astype("boolean")
            for one in (*(each.value for each in Decision), NO_DECISION):
                here = decision[rows.index] == one
                table = shares(rows, here, intervals=intervals).drop(columns="n_missing")
                counts = {
                    "n_decided": int(here.sum()),
                    "n_right": int((here & correct.fillna(False)).sum()),
                    "n_wrong": int((here & ~correct.fillna(True)).sum()),
                    "n_missing": int((here & correct.isna()).sum()),
                }
                tables.append(({**names, "condition": condition, "decision": one}, table.assign(**counts)))
    return stack(tables)


def path_stability(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Group × condition × `move`: the share of verdict paths that changed, oscillate, are unstabilised, are unparsed.

    See `path_moves`; the oscillation rate is the share that came back to a verdict it had left. A path of one verdict
    cannot move and is left out.
    """
    tables = []
    for names, rows in _paths(records):
        found = {path: path_moves(path) for path in rows["verdict_path"].unique()}
        for move in MOVES:
            moved = rows["verdict_path"].map({path: moves[move] for path, moves in found.items()})
            table = shares(rows, moved.astype("boolean"), intervals=intervals).drop(columns="n_missing")
            tables.append(({**names, "move": move}, table))
    return stack(tables)


def r_star_distribution(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Group × condition × `r_star`: the share of debates whose verdict stood from that round on.

    r* = R − 1 means not stabilised (`stabilised` False). Debates whose V* is UNPARSED have no r*: their row is the one
    with `r_star` missing. Where the judge ruled once only, r* is not known, and the debate is left out. The shares of
    one condition sum to 1.
    """
    tables = []
    for names, rows in _paths(records):
        known = rows["r_star"].astype("Int64")
        first = first_verdict_round(rows)
        last = first + int(rows["verdict_path"].astype(object).str.len().max()) - 1
        for value in (*range(first, last + 1), None):
            here = known.isna() if value is None else (known == value).fillna(False)
            table = shares(rows, here, intervals=intervals).drop(columns="n_missing")
            counts: dict[str, Any] = {"r_star": value, "stabilised": value is not None and value < last}
            tables.append(({**names, **counts}, table))
    table = stack(tables)
    return table.astype({"r_star": "Int64"}) if len(table) else table


def _paths(records: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    held = debates(records)
    moving = held[held["verdict_path"].astype(object).str.len() > 1]
    for names, part in groups(moving, ("model", "method", "design")):
        halves = dict(iter(part.groupby(conditions(part), sort=False)))
        for condition, rows in {**halves, "overall": part}.items():
            yield {**names, "condition": condition}, rows


# -- how far two who rule on the same debates agree: a reader and the judge (ours)


@dataclass(frozen=True, slots=True)
class Agreement:
    """`n_agree` of `n` pairs are equal; the share's 95 % interval is over questions.

    `kappa` is Cohen's, (share − chance) / (1 − chance); NaN where both always say one and the same thing.
    """

    n: int
    n_questions: int
    n_agree: int
    share: float
    low: float
    high: float
    kappa: float


def agreement(one: ArrayLike, other: ArrayLike, questions: ArrayLike) -> Agreement:
    """Agreement of two raters, item by item; leave out beforehand what either of them has not decided.

    Parameters
    ----------
    one, other : labels, one an item.
    questions : each item's question, the independent unit.

    >>> agreement(["R", "R", "U", "U"], ["R", "U", "U", "U"], ["a", "b", "c", "d"]).kappa
    0.5
    """
    first, second = np.asarray(one, object), np.asarray(other, object)
    if first.size == 0:
        return Agreement(0, 0, 0, *(math.nan,) * 4)
    same = first == second
    low, high = clustered_interval(same, questions)
    n_questions = len(set(np.asarray(questions, object)))
    return Agreement(
        first.size, n_questions, int(same.sum()), float(same.mean()), low, high, _kappa(list(first), list(second))
    )


def _kappa(one: list[str], other: list[str]) -> float:
    from sklearn.metrics import cohen_kappa_score

    return math.nan if len({*one, *other}) < 2 else float(cohen_kappa_score(one, other))
