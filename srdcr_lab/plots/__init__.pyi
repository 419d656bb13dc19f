from .confidence import (
    ConfidenceHistogramDisplay as ConfidenceHistogramDisplay, ConfidenceKindsDisplay as ConfidenceKindsDisplay,
    ConsistencyByDrawsDisplay as ConsistencyByDrawsDisplay, GatingDisplay as GatingDisplay, PrecisionDisplay as PrecisionDisplay, ReliabilityDisplay as ReliabilityDisplay, RiskCoverageDisplay as RiskCoverageDisplay,
    TransferDisplay as TransferDisplay,
)
from .debates import (
    DebateEndsDisplay as DebateEndsDisplay, MethodsDisplay as MethodsDisplay, MisinformationDisplay as MisinformationDisplay, NumberDisplay as NumberDisplay, OverconfidenceDisplay as OverconfidenceDisplay,
    RecoveryDisplay as RecoveryDisplay, SourcesDisplay as SourcesDisplay,
)
from .drawers import save_figure as save_figure
from .evaluation import (
    AccuracyDisplay as AccuracyDisplay, CostDisplay as CostDisplay, DifferencesDisplay as DifferencesDisplay,
)
from .flow import DecisionFlowDisplay as DecisionFlowDisplay
from .knowledge import (
    CategoriesDisplay as CategoriesDisplay, DrawsDisplay as DrawsDisplay, ExposureDisplay as ExposureDisplay,
    RedrawDisplay as RedrawDisplay, SampledAccuracyDisplay as SampledAccuracyDisplay,
)
from .preference import (
    BiasDisplay as BiasDisplay, ContextPreferenceDisplay as ContextPreferenceDisplay, OneQuestionDisplay as OneQuestionDisplay, PriorPreferenceByRoundDisplay as PriorPreferenceByRoundDisplay,
)
from .verdicts import (
    EffectsDisplay as EffectsDisplay, RatesDisplay as RatesDisplay, VerdictDisplay as VerdictDisplay, sentences as sentences,
)
