from .examples import (
    answers_html as answers_html, beside_html as beside_html, contested as contested, example_html as example_html,
)
from .explore import explorer as explorer, explorer_html as explorer_html
from .sliders import (
    CategoryThresholds as CategoryThresholds, Evaluation as Evaluation, Menu as Menu, Slide as Slide,
    category_sliders as category_sliders, evaluation_controls as evaluation_controls,
    final_answer_controls as final_answer_controls, with_sliders as with_sliders,
)
from .thresholds import (
    ConfidenceThreshold as ConfidenceThreshold, DomainThresholds as DomainThresholds, choices_html as choices_html,
    confidence_slider as confidence_slider, domain_report as domain_report, framed as framed,
    threshold_controls as threshold_controls, verdict_sliders as verdict_sliders,
)
from .transcript import (
    Html as Html, captioned as captioned, debate_html as debate_html, documents_html as documents_html, explain as explain, options_html as options_html, passage_html as passage_html, side_by_side as side_by_side, stances_html as stances_html,
)
