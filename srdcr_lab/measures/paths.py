"""Verdict paths ("RRUR?U": one letter a round) unfolded into rounds, and how they move."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from srdcr_lab.measures.groups import group_columns


def debates(records: pd.DataFrame) -> pd.DataFrame:
    """Rows of debates with verdicts, each once: `debate_only` shares SR-DCR's debate, and is left out beside it."""
    held = records[records["verdict_path"].notna()]
    shared = (held["method"] == "debate_only") & (held["method"] == "sr_dcr").any()
    return held[~shared].reset_index(drop=True)


def first_verdict_round(rows: pd.DataFrame) -> int:
    """The round of a path's first letter: rounds held less its letters; 0 where the table does not tell.

    A table without `rounds` tells by r*, which is that round plus the place from which V* stands.
    """
    if "rounds" in rows and rows["rounds"].notna().any():
        known = rows[rows["rounds"].notna()].iloc[0]
        return int(known["rounds"]) - len(known["verdict_path"])
    known = rows[rows["r_star"].notna()]
    if known.empty:
        return 0
    path = str(known["verdict_path"].iloc[0])
    return int(known["r_star"].iloc[0]) - len(path.rstrip(path[-1]))


def paths_by_round(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per debate × round: `row` (index of the debate's row), `round`, `symbol` (R, U or ?), `held`.

    A debate that stopped early keeps its last verdict in the rounds that its design goes on to; `held` is False there.
    """
    parts = []
    for _, group in rows.groupby(group_columns(rows, ("model", "method", "design")), sort=False, observed=True):
        paths = group["verdict_path"].astype(object)
        first, longest = first_verdict_round(group), int(paths.str.len().max())
        for place in range(longest):
            symbol = paths.map({path: path[min(place, len(path) - 1)] for path in paths.unique()})
            held = paths.str.len() > place
            parts.append(
                pd.DataFrame({"row": group.index, "round": first + place, "symbol": symbol.array, "held": held.array})
            )
    columns = {"row": rows.index[:0], "round": np.array([], int), "symbol": [], "held": np.array([], bool)}
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns)


def path_moves(path: str) -> dict[str, bool]:
    """What a path does, unparsed verdicts left out of the first two.

    `changed`: not all verdicts are equal. `oscillates`: it comes back to a verdict it had left (two changes or more).
    `unstabilised`: V* stood for the last round alone, or there is none. `unparsed`: some verdict was not read.

    >>> path_moves("RUR?RR")
    {'changed': True, 'oscillates': True, 'unstabilised': False, 'unparsed': True}
    """
    read = path.replace("?", "")
    changes = sum(a != b for a, b in pairwise(read))
    last_run = len(path) - len(path.rstrip(path[-1])) if path and path[-1] != "?" else 0
    return {
        "changed": changes >= 1,
        "oscillates": changes >= 2,
        "unstabilised": last_run < 2,
        "unparsed": "?" in path,
    }
