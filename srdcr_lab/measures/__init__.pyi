from .calibration import (
    brier as brier, ece as ece, reliability_curve as reliability_curve,
)
from .claims import CLAIMS as CLAIMS, claims_checklist as claims_checklist, claims_html as claims_html
from .comparison import (
    Comparison as Comparison, compare as compare, compare_all as compare_all, design_effect as design_effect,
    factor_effects as factor_effects, intra_question_correlation as intra_question_correlation, power_table as power_table,
    questions_needed as questions_needed,
)
from .estimates import (
    clustered_interval as clustered_interval, contrast_interval as contrast_interval, jeffreys_interval as jeffreys_interval, mean_interval as mean_interval,
)
from .evaluation import (
    accuracy as accuracy, accuracy_by_stratum as accuracy_by_stratum, cost_accuracy as cost_accuracy, cost_summary as cost_summary, economy_prices as economy_prices, pareto_front as pareto_front, sharing as sharing, summary as summary, weighted_back as weighted_back, weighted_leads as weighted_leads,
)
from .final_answer import (
    beliefs as beliefs, changes_of_place as changes_of_place, matched_coverage as matched_coverage,
    predictive_values as predictive_values, surest_answers as surest_answers, utility as utility, utility_differences as utility_differences,
)
from .findings import FINDINGS as FINDINGS, can_be_told as can_be_told, finding as finding
from .gating import Gating as Gating
from .guarantee import DecisionRule as DecisionRule, FinalAnswerGuarantee as FinalAnswerGuarantee
from .knowledge import (
    CATEGORIES as CATEGORIES, agreement_matrix as agreement_matrix, categories_by_domain as categories_by_domain, categories_by_draws as categories_by_draws,
    categorise as categorise, confidence_variants as confidence_variants, highly_known as highly_known, knowledge_category as knowledge_category, redraw_stability as redraw_stability, sampled_accuracy as sampled_accuracy,
)
from .paired import holm as holm, matched_odds_ratio as matched_odds_ratio, sign_flip_test as sign_flip_test
from .paper_tables import (
    METHOD_LABELS as METHOD_LABELS, PaperTable as PaperTable, table_1 as table_1, table_2 as table_2,
)
from .precision import (
    auroc as auroc, auroc_gain as auroc_gain, compared_at as compared_at, discrimination as discrimination, precision_above as precision_above, precision_steps as precision_steps, question_targets as question_targets, questions_for_width as questions_for_width, rank_correlation as rank_correlation, risk_coverage as risk_coverage,
)
from .preference import (
    biases as biases, context_preference as context_preference, future_against_past as future_against_past, n_future as n_future, offset_slopes as offset_slopes, prior_preference_by_round as prior_preference_by_round,
)
from .recalibration import (
    BetaCalibration as BetaCalibration, HistogramBinning as HistogramBinning, IsotonicRecalibration as IsotonicRecalibration, PlattScaling as PlattScaling, cross_fitted as cross_fitted,
)
from .repeats import over_repeats as over_repeats, what_varied as what_varied
from .trained_judge import train_judge as train_judge
from .verdicts import (
    belief_rates as belief_rates, decision_counts as decision_counts, path_stability as path_stability, persuasion as persuasion, r_star_distribution as r_star_distribution,
    rates_by_kappa as rates_by_kappa, verdict_discrimination as verdict_discrimination, verdict_rates as verdict_rates, with_kappa as with_kappa, verdicts_by_round as verdicts_by_round,
)
