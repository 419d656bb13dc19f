"""The methods that can be compared, by the name `--methods` takes."""

from __future__ import annotations

from collections.abc import Sequence

from srdcr_lab.protocols.baselines import (
    CALIBRATED_TOKEN_PROBABILITY,
    CONFIDENCE_ONLY,
    FEW_SHOT,
    GOLDEN,
    RCI,
    SELF_ASK,
    TOKEN_PROBABILITY,
    ZERO_SHOT,
)
from srdcr_lab.protocols.cfmad import ABLATIONS, CFMAD, CFMAD_ROUNDS, CFMAD_STANCES, CFMAD_SWAPPED, CFMAD_WHEN_UNSURE
from srdcr_lab.protocols.cfmad_baselines import COT, MAD, SELF_CONSISTENCY, SELF_CONTRAST, SELF_REFLECTION
from srdcr_lab.protocols.debate_baselines import JUDGE_DEBATES, NAIVE_DEBATE
from srdcr_lab.protocols.dialectical import DIALECTICAL
from srdcr_lab.protocols.document_systems import CONCATENATE, MADAM_RAG, RA_RAG, SR_DCR_PER_DOCUMENT
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.sr_dcr import DEBATE_ONLY, SR_DCR
from srdcr_lab.records import BadInput

DOCUMENT_METHODS = (CONCATENATE, MADAM_RAG, RA_RAG, DIALECTICAL, SR_DCR_PER_DOCUMENT)
COUNTERFACTUAL_METHODS = (
    COT,
    SELF_REFLECTION,
    SELF_CONSISTENCY,
    MAD,
    SELF_CONTRAST,
    CFMAD,
    *ABLATIONS,
    CFMAD_SWAPPED,
    *CFMAD_STANCES,
    *CFMAD_ROUNDS,
    CFMAD_WHEN_UNSURE,
)

METHODS = {
    method.name: method
    for method in (
        FEW_SHOT,
        ZERO_SHOT,
        SELF_ASK,
        RCI,
        *JUDGE_DEBATES,
        NAIVE_DEBATE,
        SR_DCR,
        DEBATE_ONLY,
        CONFIDENCE_ONLY,
        TOKEN_PROBABILITY,
        CALIBRATED_TOKEN_PROBABILITY,
        GOLDEN,
        *DOCUMENT_METHODS,
        *COUNTERFACTUAL_METHODS,
    )
}


def methods(names: str | Sequence[str]) -> tuple[Method, ...]:
    """Methods by name, in the order given; ``all`` means every one (of which a study keeps those made for its items).

    Raises
    ------
    BadInput
        For an unknown name, none, or one twice.
    """
    wanted = [name.strip() for name in (names.split(",") if isinstance(names, str) else names) if name.strip()]
    if wanted == ["all"]:
        return tuple(METHODS.values())
    for name in wanted:
        if name not in METHODS:
            raise BadInput(f"unknown method {name!r}; known are {', '.join(METHODS)}, and all")
    if not wanted or len(set(wanted)) < len(wanted):
        raise BadInput(f"name each method once, at least one of {', '.join(METHODS)}")
    return tuple(METHODS[name] for name in wanted)
