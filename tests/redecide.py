"""The decision again, at another threshold, from the records, by pandas: what the arrays behind the sliders are tested
against."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.lib.definitions import CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, categorise
from srdcr_lab.records import Decision, Missing, Verdict


def redecide(
    records: pd.DataFrame,
    *,
    tau: float | None = None,
    highly_from: float | None = None,
    maybe_from: float | None = None,
    gate: bool = True,
) -> pd.DataFrame:
    """The records as another τ, or other bounds of the categories, would have made them.

    `sr_dcr`: Reasonable → context answer; Unreasonable and Conf ≥ τ → prior answer; else none. `confidence_only`:
    Conf ≥ τ → prior answer, else context answer. `tau`, `decision`, `final_answer`, `correct` and `missing` follow;
    a chosen answer that could not be read is UNPARSED, as is an UNPARSED verdict. Rows that failed stay as they are:
    what they would have answered is not known; so do those whose design saw no need for a debate. With new bounds,
    `knowledge_category` follows for all rows.

    Parameters
    ----------
    tau : the new threshold; None leaves every decision as it is.
    highly_from, maybe_from : new lower bounds of HIGHLY_KNOWN and MAYBE_KNOWN; None leaves the paper's 0.85 or 0.30
        where the other is given, and else every category as it is.
    gate : False for runs of the preset `released`, in which Unreasonable means prior whatever the confidence.
    """
    if highly_from is not None or maybe_from is not None:
        records = records.assign(knowledge_category=_categories(records, highly_from, maybe_from))
    if tau is None:
        return records
    failed = _is(records["missing"], Missing.ERROR)
    verdict = {one: _is(records["verdict"], one) for one in Verdict}
    confident = records["self_confidence"].to_numpy(float, na_value=np.nan) >= tau
    debated = _is(records["method"], "sr_dcr") & ~failed & records["verdict"].notna().to_numpy()
    alone = _is(records["method"], "confidence_only") & ~failed
    context = debated & verdict[Verdict.REASONABLE] | alone & ~confident
    prior = debated & verdict[Verdict.UNREASONABLE] & (confident | (not gate)) | alone & confident
    unparsed = debated & verdict[Verdict.UNPARSED]
    return _with_choice(records, context, prior, unparsed, debated | alone).assign(tau=tau)


def _categories(records: pd.DataFrame, highly_from: float | None, maybe_from: float | None) -> pd.Categorical:
    bounds = {
        "highly_from": HIGHLY_KNOWN_FROM if highly_from is None else highly_from,
        "maybe_from": MAYBE_KNOWN_FROM if maybe_from is None else maybe_from,
    }
    places = categorise(records["sampled_accuracy"].to_numpy(float, na_value=np.nan), **bounds)
    return pd.Categorical.from_codes(places, [category.value for category in CATEGORIES])


def _is(column: pd.Series, value: str) -> NDArray[np.bool_]:
    return np.asarray((column == value).fillna(False), bool)


def _with_choice(
    records: pd.DataFrame,
    context: NDArray[np.bool_],
    prior: NDArray[np.bool_],
    unparsed: NDArray[np.bool_],
    ours: NDArray[np.bool_],
) -> pd.DataFrame:
    """`context` and `prior` are the rows that take that answer, out of `ours`; the rest of `ours` takes none."""
    kept = ~ours
    final = records["final_answer"].where(kept)
    final = final.mask(context, records["context_answer"]).mask(prior, records["prior_answer"])
    correct = records["correct"].astype("boolean").where(kept)
    correct = correct.mask(context, records["context_correct"].astype("boolean"))
    correct = correct.mask(prior, records["prior_correct"].astype("boolean"))
    answered = final.notna().to_numpy()
    chosen = context | prior
    why = records["missing"].astype(object).where(kept, None)
    why = why.mask(ours & ~chosen, Missing.ABSTAINED.value).mask(
        unparsed | (chosen & ~answered), Missing.UNPARSED.value
    )
    decision = records["decision"].astype(object).where(kept, Decision.ABSTAIN.value)
    decision = decision.mask(context, Decision.USE_CONTEXT.value).mask(prior, Decision.USE_PRIOR.value)
    changed = {"final_answer": final, "correct": correct, "missing": why, "decision": decision}
    for name in {"final_is_claim", "final_is_prior"} & set(records):  # of `with_matches`
        of_context, of_prior = _MATCHES[name]
        match = records[name].where(kept).mask(context, records[of_context])
        changed[name] = match.mask(prior, records[of_prior] if of_prior else records["prior_answer"].notna())
    return records.assign(**changed)


_MATCHES = {"final_is_claim": ("context_is_claim", "prior_is_claim"), "final_is_prior": ("context_is_prior", "")}
