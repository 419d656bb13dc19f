"""The algorithms of the paper as coroutines.

Read `sr_dcr` first: it is section 3. `answering` is how every protocol asks, how a model answers and how far it
believes its answer, `choices` every field in which studies and debates differ. `methods` lists all methods; those
beside SR-DCR are in `baselines`, `documents` and `counterfactual`.
"""

from srdcr_lab.lib.definitions import Belief, Ruling, decide, majority_verdict, stabilised_verdict
from srdcr_lab.protocols.answering import (
    Answer,
    Cast,
    Outcome,
    SelfConfidence,
    Setup,
    consistency_draws,
    context_answer,
    knowledge_draws,
    prior_answer,
    self_confidence,
)
from srdcr_lab.protocols.choices import DESIGNS, PRESETS, Choices, DebateDesign, choices, factorial
from srdcr_lab.protocols.methods import METHODS, Method, methods
from srdcr_lab.protocols.sr_dcr import hold_debate, sr_dcr

__all__ = [
    "DESIGNS",
    "METHODS",
    "PRESETS",
    "Answer",
    "Belief",
    "Cast",
    "Choices",
    "DebateDesign",
    "Method",
    "Outcome",
    "Ruling",
    "SelfConfidence",
    "Setup",
    "choices",
    "consistency_draws",
    "context_answer",
    "decide",
    "factorial",
    "hold_debate",
    "knowledge_draws",
    "majority_verdict",
    "methods",
    "prior_answer",
    "self_confidence",
    "sr_dcr",
    "stabilised_verdict",
]
