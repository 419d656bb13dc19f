"""The tables of a results folder: names, types and meanings of their columns, with a version that reading checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from srdcr_lab.records.vocabulary import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2


@dataclass(frozen=True, slots=True)
class Column:
    """Name, Arrow type and meaning of a column."""

    name: str
    type: str
    meaning: str


def _columns(*rows: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in rows)


RECORDS = _columns(
    ("item_id", "string", "the item"),
    ("question_id", "string", "the question; forms of one question share it"),
    ("domain", "string", "domain of the question"),
    ("answer_type", "string", "how answers are compared"),
    ("question", "string", "the question"),
    ("gold_answer", "string", "the truth"),
    ("gold_answers", "list<string>", "every right answer"),
    ("wrong_answers", "list<string>", "answers that documents assert wrongly; empty where none are known"),
    ("claimed_answer", "string", "what the passage asserts"),
    ("n_options", "int64", "options offered, 0 for an open question"),
    ("n_documents", "int64", "documents shown, 0 for a single passage"),
    ("n_misinforming", "int64", "documents known to misinform"),
    ("perturbation_kind", "string", "none, offset, factor, substitution, rewrite"),
    ("perturbation_value", "double", "signed offset or factor; missing otherwise"),
    ("level", "string", "standard, subtle, mild, moderate, blatant, absurd"),
    ("condition", "string", "standard where the passage is true, perturbed where it is false"),
    ("method", "string", "the method of this row"),
    ("design", "string", "debate design; missing for methods that do not follow one"),
    ("model", "string", "who answers"),
    ("model_defender", "string", "who defends the passage; missing for methods without a debate"),
    ("model_critic", "string", "who attacks it; missing for methods without a debate"),
    ("model_judge", "string", "who rules; missing without a debate"),
    ("decoding", "string", "how its replies were drawn: greedy, T=…, provider's default; missing in earlier runs"),
    ("prior_answer", "string", "greedy zero-context answer; missing if it could not be read"),
    ("prior_correct", "bool", "prior answer is right; missing if it could not be read"),
    (
        "prior_margin",
        "double",
        "narrowest lead of one of its tokens over the next likeliest, in log-probability; missing where not known",
    ),
    ("context_answer", "string", "greedy answer to question and passage; missing if it could not be read"),
    ("context_correct", "bool", "context answer is right; missing if it could not be read"),
    ("context_confidence", "double", "mean probability of the context answer's tokens, where a method weighs it"),
    ("self_confidence", "double", "belief in the prior answer, in [0, 1]"),
    ("confidence_kind", "string", "which definition made it"),
    ("sampled_accuracy", "double", "share of knowledge draws that are right"),
    ("n_samples", "int64", "number of knowledge draws"),
    (
        "knowledge_category",
        "string",
        "category of the sampled accuracy, UNKNOWN < … < HIGHLY_KNOWN; missing without draws",
    ),
    ("knowledge_decoding", "string", "how the knowledge draws were made; missing without draws, and in earlier runs"),
    ("tau", "double", "confidence threshold of the decision"),
    ("verdict", "string", "V*: REASONABLE, UNREASONABLE, UNPARSED; missing without a debate"),
    ("p_unreasonable", "double", "P(UNREASONABLE) where V* was said (mean of draws); missing without log-probs"),
    ("verdict_path", "string", "verdict after each round, R, U or ? (UNPARSED), in order"),
    ("r_star", "int64", "round from which V* stood; missing if V* is UNPARSED, or the judge ruled once"),
    ("stabilised", "bool", "V* stood for more than the last round"),
    ("rounds", "int64", "rounds that were held; missing without a debate"),
    ("agreed_round", "int64", "round in which agents who debate as equals agreed; missing if they did not"),
    ("decision", "string", "USE_CONTEXT, USE_PRIOR, ABSTAIN; missing for methods without the rule"),
    ("final_answer", "string", "what the method answers; missing if it does not"),
    ("final_answers", "list<string>", "every answer it gives; several where several can be right"),
    (
        "correct",
        "bool",
        "final answer is right; with several gold answers, all of them and no wrong one; missing if there is none",
    ),
    ("right", "bool", "the same, but false where there is no answer: its mean is the accuracy"),
    ("missing", "string", "abstained, unparsed or error, where there is no answer"),
    ("calls_alone", "int64", "completions the method takes by itself"),
    (
        "calls_paid",
        "int64",
        "those this row had to ask for in this run, after sharing and the store; knowledge draws are no row's",
    ),
    ("prompt_tokens", "int64", "prompt tokens of calls_alone"),
    ("completion_tokens", "int64", "completion tokens of calls_alone"),
    ("cost_usd", "double", "price of calls_paid; missing if a price is unknown; run.json has the whole run's"),
    ("error", "string", "what failed, where something did"),
)

TURNS = _columns(
    ("item_id", "string", "the item"),
    ("question_id", "string", "its question"),
    ("method", "string", "the method that debates"),
    ("design", "string", "its design"),
    ("position", "int64", "place among all turns of the debate, from 0"),
    ("round", "int64", "round, from 0"),
    ("role", "string", "defender, critic, judge, agent, proponent, advocate, aggregator"),
    ("speaker", "string", "which of several in one role: an agent, a stance, a document; empty for one"),
    ("stance", "string", "the answer the speaker was given to defend or attack; missing without one"),
    ("model", "string", "who speaks"),
    ("text", "string", "the whole reply"),
    ("stated_answer", "string", "the answer a debater begins with; missing if it could not be read"),
    ("verdict", "string", "a judge's verdict"),
    ("p_unreasonable", "double", "P(UNREASONABLE) where it was said; missing without log-probabilities"),
    ("saw_passage", "bool", "the passage was in the prompt"),
    ("saw_turns", "list<int64>", "positions, among the debaters' turns, of those in the prompt"),
    ("decoding", "string", "how the reply was drawn: greedy, T=…, provider's default; missing in earlier runs"),
    ("finish_reason", "string", "stop, length, content_filter, refusal"),
    ("prompt_tokens", "int64", "tokens of the prompt"),
    ("completion_tokens", "int64", "tokens of the reply"),
    ("request_digest", "string", "key of the prompt in the store"),
)

SAMPLES = _columns(
    ("question_id", "string", "the question"),
    ("stream", "string", "greedy, knowledge, self_consistency …"),
    ("draw", "int64", "index in the stream"),
    ("decoding", "string", "how it was drawn: greedy, T=…, provider's default; missing in earlier runs"),
    ("text", "string", "the whole reply"),
    ("answer", "string", "the answer read from it; missing if none"),
    ("correct", "bool", "it is right; an unread answer is not"),
    ("tokens", "list<string>", "tokens of the reply; missing if the provider gives none"),
    ("logprobs", "list<double>", "their log-probabilities"),
)

TABLES = {"records": RECORDS, "turns": TURNS, "samples": SAMPLES}
# Columns that older tables of this version lack: `Results` fills the last two, the others are missing.
LATER = ("p_unreasonable", "decoding", "knowledge_decoding", "prior_margin", "condition", "right")


def arrow_schema(table: str) -> pa.Schema:
    """The Arrow schema of a table; its metadata hold the version and the meaning of each column."""
    import pyarrow as pa

    types = {"string": pa.string(), "double": pa.float64(), "int64": pa.int64(), "bool": pa.bool_()}
    types |= {f"list<{name}>": pa.list_(kind) for name, kind in list(types.items())}
    fields = [pa.field(c.name, types[c.type], metadata={"meaning": c.meaning}) for c in TABLES[table]]
    return pa.schema(fields, metadata={"srdcr_table": table, "srdcr_schema_version": str(SCHEMA_VERSION)})


def check_schema(table: str, schema: pa.Schema, where: str) -> None:
    """Raise `BadInput` where a file's schema is not the one of this version; `where` names the file."""
    import pyarrow as pa

    metadata = schema.metadata or {}
    version = metadata.get(b"srdcr_schema_version", b"none").decode()
    if metadata.get(b"srdcr_table", b"").decode() != table or version != str(SCHEMA_VERSION):
        raise BadInput(
            f"{where} is not a {table} table of schema version {SCHEMA_VERSION} (found {version}); run the study again"
        )
    older = [field for field in arrow_schema(table) if field.name not in LATER or field.name in schema.names]
    if not schema.equals(pa.schema(older)):
        raise BadInput(
            f"{where}: the columns are not those of a {table} table of this version; it was changed, or written by "
            "another version; run the study again"
        )
