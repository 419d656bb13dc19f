"""The closed vocabularies of the field. Their values are the strings in every table; an unknown value raises."""

from __future__ import annotations

from enum import StrEnum


class AnswerType(StrEnum):
    """How an answer is normalised and compared (`srdcr_lab.answers`)."""

    YEAR = "year"
    NUMBER = "number"
    NAME = "name"
    CITY = "city"
    TEXT = "text"
    OPTION = "option"  # a label of the item's options


class PerturbationKind(StrEnum):
    NONE = "none"
    OFFSET = "offset"
    FACTOR = "factor"
    SUBSTITUTION = "substitution"


class Level(StrEnum):
    """How far a passage departs from the truth. For years: 20, 40, 60, and 100 or 200 (paper, Figure 2)."""

    STANDARD = "standard"
    SUBTLE = "subtle"
    MILD = "mild"
    MODERATE = "moderate"
    BLATANT = "blatant"


class KnowledgeCategory(StrEnum):
    """Paper, section 2.2 and Table 3."""

    HIGHLY_KNOWN = "HIGHLY_KNOWN"
    MAYBE_KNOWN = "MAYBE_KNOWN"
    WEAKLY_KNOWN = "WEAKLY_KNOWN"
    UNKNOWN = "UNKNOWN"


class ConfidenceKind(StrEnum):
    """Which definition made a self-confidence; a value never travels without it."""

    MEAN_LOGPROB = "mean_logprob"
    SEQUENCE = "sequence"
    MEAN_PROBABILITY = "mean_probability"
    SELF_CONSISTENCY = "self_consistency"
    VERBALIZED = "verbalized"


class Role(StrEnum):
    """Who speaks. The last four belong to the other debates: equals, and those over several documents."""

    DEFENDER = "defender"
    CRITIC = "critic"
    JUDGE = "judge"
    AGENT = "agent"
    PROPONENT = "proponent"
    ADVOCATE = "advocate"
    AGGREGATOR = "aggregator"


class DocumentKind(StrEnum):
    """What a document of a multi-document item is, where its maker says so (RAMDocs)."""

    CORRECT = "correct"
    MISINFO = "misinfo"
    NOISE = "noise"


class Needs(StrEnum):
    """What a method needs an item to have beside its question."""

    QUESTION = "question"
    PASSAGE = "passage"
    OPTIONS = "options"
    DOCUMENTS = "documents"


class Verdict(StrEnum):
    REASONABLE = "REASONABLE"
    UNREASONABLE = "UNREASONABLE"
    UNPARSED = "UNPARSED"


class Decision(StrEnum):
    USE_CONTEXT = "USE_CONTEXT"
    USE_PRIOR = "USE_PRIOR"
    ABSTAIN = "ABSTAIN"


class Missing(StrEnum):
    """Why an item × method has no answer. Each is counted by itself, all of them inside n."""

    ABSTAINED = "abstained"
    UNPARSED = "unparsed"
    ERROR = "error"


class FinishReason(StrEnum):
    """Why a completion ended; all but `stop` are results with a reason, not crashes."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
