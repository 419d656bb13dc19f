"""The methods that can be compared, by the name `--methods` takes."""

from __future__ import annotations

from collections.abc import Sequence

from srdcr_lab.protocols.counterfactual import COUNTERFACTUAL_METHODS
from srdcr_lab.protocols.documents import DOCUMENT_METHODS
from srdcr_lab.protocols.few_shot import FEW_SHOT, ZERO_SHOT
from srdcr_lab.protocols.judge_debate import JUDGE_DEBATES
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.naive_debate import NAIVE_DEBATE
from srdcr_lab.protocols.one_signal import CONFIDENCE_ONLY, GOLDEN
from srdcr_lab.protocols.rci import RCI
from srdcr_lab.protocols.self_ask import SELF_ASK
from srdcr_lab.protocols.sr_dcr import DEBATE_ONLY, SR_DCR
from srdcr_lab.protocols.token_probability import CALIBRATED_TOKEN_PROBABILITY, TOKEN_PROBABILITY
from srdcr_lab.records import BadInput

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
