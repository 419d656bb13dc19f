"""The algorithms of the paper as coroutines, one idea a module.

Read `sr_dcr` and `debate` first: they are section 3. Then `decision` (the rule), `answering`, `confidence`; `choices`
and `design` for every field in which studies and debates differ. The methods it is compared with are one module each:
`few_shot`, `self_ask`, `rci`, `judge_debate`, `naive_debate`, `one_signal`, `token_probability`; `methods` lists them.
"""

from srdcr_lab.measures.rule import Ruling, decide, majority_verdict, stabilised_verdict
from srdcr_lab.protocols.answering import (
    Answer,
    SelfConfidence,
    consistency_draws,
    context_answer,
    knowledge_draws,
    prior_answer,
    self_confidence,
)
from srdcr_lab.protocols.choices import DESIGNS, PRESETS, Choices, DebateDesign, choices, factorial
from srdcr_lab.protocols.debate import hold_debate
from srdcr_lab.protocols.method import Belief, Method, Outcome
from srdcr_lab.protocols.methods import METHODS, methods
from srdcr_lab.protocols.setup import Cast, Setup
from srdcr_lab.protocols.sr_dcr import sr_dcr

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
