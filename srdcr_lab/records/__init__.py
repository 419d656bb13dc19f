"""The ground floor: frozen types, closed vocabularies, errors and table schemas. Imports nothing of ours."""

from srdcr_lab.records.completions import GREEDY, Capabilities, Completion, Message, ModelIdentity, Request
from srdcr_lab.records.debates import Debate, Turn
from srdcr_lab.records.errors import BadInput, BudgetExhausted, CallFailed, NotInStore, SrdcrError, Stopped
from srdcr_lab.records.items import Document, Exemplar, Item, Option
from srdcr_lab.records.labels import label
from srdcr_lab.records.tables import SCHEMA_VERSION, arrow_schema, check_schema
from srdcr_lab.records.vocabulary import (
    AnswerType,
    ConfidenceKind,
    Decision,
    DocumentKind,
    FinishReason,
    KnowledgeCategory,
    Level,
    Missing,
    Needs,
    PerturbationKind,
    Role,
    Verdict,
)

__all__ = [
    "GREEDY",
    "SCHEMA_VERSION",
    "AnswerType",
    "BadInput",
    "BudgetExhausted",
    "CallFailed",
    "Capabilities",
    "Completion",
    "ConfidenceKind",
    "Debate",
    "Decision",
    "Document",
    "DocumentKind",
    "Exemplar",
    "FinishReason",
    "Item",
    "KnowledgeCategory",
    "Level",
    "Message",
    "Missing",
    "ModelIdentity",
    "Needs",
    "NotInStore",
    "Option",
    "PerturbationKind",
    "Request",
    "Role",
    "SrdcrError",
    "Stopped",
    "Turn",
    "Verdict",
    "arrow_schema",
    "check_schema",
    "label",
]
