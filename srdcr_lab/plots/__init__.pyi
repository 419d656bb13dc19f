from .confidence import (
    ConfidenceHistogramDisplay as ConfidenceHistogramDisplay, ConfidenceKindsDisplay as ConfidenceKindsDisplay,
    ConsistencyByDrawsDisplay as ConsistencyByDrawsDisplay, GatingDisplay as GatingDisplay, PrecisionDisplay as PrecisionDisplay, ReliabilityDisplay as ReliabilityDisplay, RiskCoverageDisplay as RiskCoverageDisplay,
    TransferDisplay as TransferDisplay,
)
from .debates import (
    GradedVerdictDisplay as GradedVerdictDisplay, OversightDisplay as OversightDisplay,
    RatesDisplay as RatesDisplay, VerdictDisplay as VerdictDisplay,
)
from .drawers import save_figure as save_figure, small_multiples as small_multiples
from .evaluation import (
    AccuracyDisplay as AccuracyDisplay, CostDisplay as CostDisplay, DifferencesDisplay as DifferencesDisplay,
    EffectsDisplay as EffectsDisplay, OneQuestionDisplay as OneQuestionDisplay, SurestDisplay as SurestDisplay, UtilityDisplay as UtilityDisplay,
)
from .flow import DecisionFlowDisplay as DecisionFlowDisplay
from .knowledge import (
    BiasDisplay as BiasDisplay, CategoriesDisplay as CategoriesDisplay, ContextPreferenceDisplay as ContextPreferenceDisplay,
    DrawsDisplay as DrawsDisplay, ExposureDisplay as ExposureDisplay, PriorPreferenceByRoundDisplay as PriorPreferenceByRoundDisplay,
    RedrawDisplay as RedrawDisplay, SampledAccuracyDisplay as SampledAccuracyDisplay,
)
