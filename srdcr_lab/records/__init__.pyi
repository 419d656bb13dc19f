from .tables import SCHEMA_VERSION as SCHEMA_VERSION, arrow_schema as arrow_schema, check_schema as check_schema, columns as columns
from .types import GREEDY as GREEDY, PROVIDERS_DEFAULT as PROVIDERS_DEFAULT, Capabilities as Capabilities, Completion as Completion, Debate as Debate
from .types import Document as Document, Exemplar as Exemplar, Item as Item, Message as Message
from .types import ModelIdentity as ModelIdentity, Option as Option, Request as Request, Turn as Turn
from .vocabulary import AnswerType as AnswerType, ConfidenceKind as ConfidenceKind, Decision as Decision
from .vocabulary import DocumentKind as DocumentKind, FinishReason as FinishReason, Level as Level, Needs as Needs
from .vocabulary import KnowledgeCategory as KnowledgeCategory, Missing as Missing, Role as Role, Verdict as Verdict
from .vocabulary import PerturbationKind as PerturbationKind, Told as Told, label as label
from .vocabulary import BadInput as BadInput, BudgetExhausted as BudgetExhausted, CallFailed as CallFailed
from .vocabulary import NotInStore as NotInStore, SrdcrError as SrdcrError, Stopped as Stopped
from .vocabulary import TemperatureRefused as TemperatureRefused
