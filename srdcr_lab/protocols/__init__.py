"""The algorithms of the paper as coroutines, one idea a module.

Read `sr_dcr` and `debate` first: they are section 3. Then `decision` (the rule), `answering`, `confidence`, and
`choices` for every field in which studies differ.
"""

from srdcr_lab.protocols.answering import Answer, consistency_draws, context_answer, knowledge_draws, prior_answer
from srdcr_lab.protocols.choices import DESIGNS, PRESETS, Choices, DebateDesign, choices
from srdcr_lab.protocols.confidence import SelfConfidence, self_confidence
from srdcr_lab.protocols.debate import hold_debate
from srdcr_lab.protocols.decision import Ruling, decide, stabilised_verdict
from srdcr_lab.protocols.methods import METHODS, Method, methods
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Cast, Setup
from srdcr_lab.protocols.sr_dcr import sr_dcr

__all__ = [
    "DESIGNS",
    "METHODS",
    "PRESETS",
    "Answer",
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
    "hold_debate",
    "knowledge_draws",
    "methods",
    "prior_answer",
    "self_confidence",
    "sr_dcr",
    "stabilised_verdict",
]
