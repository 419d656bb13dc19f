"""Counterfactual debates with preset stances, CFMAD, and the methods its paper compares them with.

Source: Fang et al. (2025), Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs, cited
here as [CFMAD]. Read `cfmad` and `stances` first; `design` holds the settings, `asking` what an agent sees and how its
reply is read. Baselines: `chain_of_thought`, `reflection`, `consistency`, `agents` (MAD), `contrast`. `when_unsure` is
ours.

Prompts per sample [CFMAD Table 3]: chain of thought 1, self-reflection 3, self-consistency 7, MAD 10, self-contrast 6,
CFMAD 10, of a claim 7.
"""

from srdcr_lab.protocols.counterfactual.agents import MAD
from srdcr_lab.protocols.counterfactual.cfmad import (
    ABLATIONS,
    CFMAD,
    CFMAD_ROUNDS,
    CFMAD_STANCES,
    CFMAD_SWAPPED,
    cfmad,
    cfmad_method,
)
from srdcr_lab.protocols.counterfactual.chain_of_thought import COT
from srdcr_lab.protocols.counterfactual.consistency import SELF_CONSISTENCY
from srdcr_lab.protocols.counterfactual.contrast import SELF_CONTRAST
from srdcr_lab.protocols.counterfactual.design import CounterfactualDesign
from srdcr_lab.protocols.counterfactual.reflection import SELF_REFLECTION
from srdcr_lab.protocols.counterfactual.when_unsure import CFMAD_WHEN_UNSURE

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

__all__ = ["COUNTERFACTUAL_METHODS", "CounterfactualDesign", "cfmad", "cfmad_method"]
