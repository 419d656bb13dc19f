"""The closed vocabularies of the field. Their values are the strings in every table; an unknown value raises."""

from __future__ import annotations

from collections.abc import Iterable
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


# -- what can go wrong, sorted by what the user has to do about it


class SrdcrError(Exception):
    """Base of every error this package raises on purpose. Its text is one sentence a user can act on."""


class BadInput(SrdcrError):
    """The user has to change something: a file, an argument, a key. Nothing was written."""


class CallFailed(SrdcrError):
    """One model call gave no completion, after the bounded retries. The item's row carries the text."""

    unanswered_attempts: int = 0  # attempts that brought nothing usable, and that the provider may bill all the same


class NotInStore(CallFailed):
    """Offline, and the store does not hold the completion that is asked for."""


class Stopped(SrdcrError):
    """The run ended early and can be resumed: what was paid for is in the store."""


class BudgetExhausted(Stopped):
    """The next call's worst case does not fit into what is left of the budget."""


# -- who made the numbers of a figure or table, in words that travel with it

ORGANISM = "a model organism, no evidence about any large model"


def label(models: Iterable[str]) -> str:
    """Names of the models, each once; the pocket model's with what it is.

    >>> label(["openai:gpt-4o", "pocket", "pocket"])
    'openai:gpt-4o; pocket: a model organism, no evidence about any large model'
    """
    names = dict.fromkeys(models)
    return "; ".join(f"{name}: {ORGANISM}" if name.partition("#")[0] == "pocket" else name for name in names)
