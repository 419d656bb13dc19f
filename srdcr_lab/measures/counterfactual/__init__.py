"""What the CFMAD paper measures, from the tables `records` and `turns`: pure functions, DataFrames in and out.

A map: `quality` (accuracy, macro-F1, numbers of stances and rounds), `overconfidence`, `debates` (stance changes, the
judge on unresolved pairs, recall of candidates), `positions` (the order of stances), `costs` (prompts and tokens).

Source: Fang et al. (2025), Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs: [CFMAD].
"""

from srdcr_lab.measures.counterfactual.costs import PAPER_PROMPTS, table_3
from srdcr_lab.measures.counterfactual.debates import ENDS, candidate_recall, debate_ends, stance_changes
from srdcr_lab.measures.counterfactual.overconfidence import overconfidence
from srdcr_lab.measures.counterfactual.positions import position_effect
from srdcr_lab.measures.counterfactual.quality import by_number, macro_f1, table_1

__all__ = [
    "ENDS",
    "PAPER_PROMPTS",
    "by_number",
    "candidate_recall",
    "debate_ends",
    "macro_f1",
    "overconfidence",
    "position_effect",
    "stance_changes",
    "table_1",
    "table_3",
]
