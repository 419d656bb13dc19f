"""The paper's measures as pure functions: arrays or DataFrames in and out, never a model call."""

from srdcr_lab.measures.calibration import auroc, brier, ece, reliability_curve
from srdcr_lab.measures.claims import CLAIMS, claims_checklist, claims_html
from srdcr_lab.measures.comparison import Comparison, compare, compare_all, factor_effects
from srdcr_lab.measures.cost import cost_accuracy, cost_summary, pareto_front, sharing
from srdcr_lab.measures.estimates import (
    clustered_interval,
    contrast_interval,
    holm,
    jeffreys_interval,
    matched_odds_ratio,
    mean_interval,
    sign_flip_test,
)
from srdcr_lab.measures.evaluation import accuracy, accuracy_by_stratum, summary
from srdcr_lab.measures.knowledge import (
    CATEGORIES,
    categories_by_domain,
    categories_by_draws,
    categorise,
    discrimination,
    highly_known,
    knowledge_category,
    rank_correlation,
    redraw_stability,
    sampled_accuracy,
)
from srdcr_lab.measures.paper_tables import METHOD_LABELS, PaperTable, table_1, table_2
from srdcr_lab.measures.power import design_effect, intra_question_correlation, power_table, questions_needed
from srdcr_lab.measures.precision import precision_above, precision_steps, risk_coverage
from srdcr_lab.measures.preference import biases, context_preference, offset_slopes, prior_preference_by_round
from srdcr_lab.measures.verdicts import (
    decision_counts,
    path_stability,
    r_star_distribution,
    verdict_rates,
    verdicts_by_round,
)

__all__ = [
    "CATEGORIES",
    "CLAIMS",
    "METHOD_LABELS",
    "Comparison",
    "PaperTable",
    "accuracy",
    "accuracy_by_stratum",
    "auroc",
    "biases",
    "brier",
    "categories_by_domain",
    "categories_by_draws",
    "categorise",
    "claims_checklist",
    "claims_html",
    "clustered_interval",
    "compare",
    "compare_all",
    "context_preference",
    "contrast_interval",
    "cost_accuracy",
    "cost_summary",
    "decision_counts",
    "design_effect",
    "discrimination",
    "ece",
    "factor_effects",
    "highly_known",
    "holm",
    "intra_question_correlation",
    "jeffreys_interval",
    "knowledge_category",
    "matched_odds_ratio",
    "mean_interval",
    "offset_slopes",
    "pareto_front",
    "path_stability",
    "power_table",
    "precision_above",
    "precision_steps",
    "prior_preference_by_round",
    "questions_needed",
    "r_star_distribution",
    "rank_correlation",
    "redraw_stability",
    "reliability_curve",
    "risk_coverage",
    "sampled_accuracy",
    "sharing",
    "sign_flip_test",
    "summary",
    "table_1",
    "table_2",
    "verdict_rates",
    "verdicts_by_round",
]
