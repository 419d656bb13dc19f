"""From what the model answers alone and with the passage, over verdict and confidence, to the final answer [3.2]."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.groups import is_standard
from srdcr_lab.records import Missing, Verdict

STAGES = {
    "answers": ("both right", "passage only", "prior only", "neither right"),
    "verdict": ("REASONABLE", "UNREASONABLE", "UNPARSED", "no debate"),
    "confidence": ("Conf ≥ τ", "Conf < τ"),
    "ending": ("right", "wrong", "abstained", "unparsed", "error"),
}
CONDITIONS = ("standard", "perturbed")
_SHAPE = (len(CONDITIONS), *(len(values) for values in STAGES.values()))


def decision_flow(records: pd.DataFrame, method: str = "sr_dcr") -> pd.DataFrame:
    """Number of items on every way through the decision: `condition`, the columns of `STAGES`, `n`.

    `answers`: is the context answer right, the prior answer, both, neither; an unread one is not right. `verdict`: V*.
    `confidence`: against the row's τ; a missing one is below. `ending`: the final answer, or why there is none. Ways
    that no item took are left out. One run, model and design at a time.
    """
    rows = records[records["method"] == method]
    confidence = rows["self_confidence"].to_numpy(float, na_value=np.nan)
    return flow_table(flow_codes(rows), confidence >= rows["tau"].to_numpy(float), endings(rows))


def flow_codes(rows: pd.DataFrame) -> NDArray[np.intp]:
    """Positions of each row's condition, answers and verdict, shape (3, n): what no threshold moves."""
    context, prior = (_right(rows[f"{name}_correct"]) for name in ("context", "prior"))
    answers = np.where(context & prior, 0, np.where(context, 1, np.where(prior, 2, 3)))
    verdict = np.full(len(rows), 3)
    for place, one in enumerate((Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED)):
        verdict[np.asarray((rows["verdict"] == one).fillna(False), bool)] = place
    return np.stack([~is_standard(rows).to_numpy(bool), answers, verdict]).astype(np.intp)


def endings(rows: pd.DataFrame) -> NDArray[np.intp]:
    """Position of each row's ending in `STAGES`."""
    correct = rows["correct"].astype("boolean")
    ending = np.where(_right(correct), 0, 1)
    for place, why in enumerate((Missing.ABSTAINED, Missing.UNPARSED, Missing.ERROR), start=2):
        ending[np.asarray((rows["missing"] == why).fillna(False), bool)] = place
    return ending.astype(np.intp)


def flow_table(codes: NDArray[np.intp], confident: NDArray[np.bool_], ending: NDArray[np.intp]) -> pd.DataFrame:
    """The table of `decision_flow` from positions."""
    ways = np.ravel_multi_index((*codes, (~confident).astype(np.intp), ending), _SHAPE)
    counts = np.bincount(ways, minlength=int(np.prod(_SHAPE)))
    taken = np.flatnonzero(counts)
    columns = {"condition": CONDITIONS, **STAGES}
    places = np.unravel_index(taken, _SHAPE)
    table = {
        name: np.array(values, object)[place] for (name, values), place in zip(columns.items(), places, strict=True)
    }
    return pd.DataFrame({**table, "n": counts[taken]})


def _right(correct: pd.Series) -> NDArray[np.bool_]:
    return np.asarray(correct.astype("boolean").fillna(False), bool)
