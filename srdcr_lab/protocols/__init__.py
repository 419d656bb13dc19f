"""The algorithms of the paper as coroutines.

Read `sr_dcr` first: it is section 3. `answering` holds how every protocol asks, how a model answers and how confident
it is; `choices` every field in which studies and debates differ. `methods` lists all methods; those besides SR-DCR are
in `baselines`, `documents` and `counterfactual`.
"""

from srdcr_lab.lib.definitions import Ruling as Ruling
from srdcr_lab.lib.definitions import decide as decide
from srdcr_lab.lib.definitions import majority_verdict as majority_verdict
from srdcr_lab.lib.definitions import stabilised_verdict as stabilised_verdict
from srdcr_lab.protocols.answering import Answer as Answer
from srdcr_lab.protocols.answering import Cast as Cast
from srdcr_lab.protocols.answering import Conversation as Conversation
from srdcr_lab.protocols.answering import Outcome as Outcome
from srdcr_lab.protocols.answering import SelfConfidence as SelfConfidence
from srdcr_lab.protocols.answering import Setup as Setup
from srdcr_lab.protocols.answering import consistency_draws as consistency_draws
from srdcr_lab.protocols.answering import context_answer as context_answer
from srdcr_lab.protocols.answering import knowledge_draws as knowledge_draws
from srdcr_lab.protocols.answering import prior_answer as prior_answer
from srdcr_lab.protocols.answering import self_confidence as self_confidence
from srdcr_lab.protocols.answering import worked as worked
from srdcr_lab.protocols.choices import DESIGNS as DESIGNS
from srdcr_lab.protocols.choices import PRESETS as PRESETS
from srdcr_lab.protocols.choices import Choices as Choices
from srdcr_lab.protocols.choices import DebateDesign as DebateDesign
from srdcr_lab.protocols.choices import choices as choices
from srdcr_lab.protocols.choices import factorial as factorial
from srdcr_lab.protocols.methods import METHODS as METHODS
from srdcr_lab.protocols.methods import Method as Method
from srdcr_lab.protocols.methods import methods as methods
from srdcr_lab.protocols.sr_dcr import hold_debate as hold_debate
from srdcr_lab.protocols.sr_dcr import sr_dcr as sr_dcr
