"""Results for other tools (an Inspect AI log), and results that were made elsewhere."""

import hashlib
import json
import math
import tempfile
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from srdcr_lab import answers
from srdcr_lab.answers.option import label_of
from srdcr_lab.answers.wording import is_refusal
from srdcr_lab.data.items import ItemSet, freeze, grouped
from srdcr_lab.data.rows import Row, listed, options_in, plain_text
from srdcr_lab.data.tables import COLUMNS, checked_rows, condition_unstated, left_out, not_read, shortened, sorted_out
from srdcr_lab.lib.definitions import FROM_LOGPROBS, answer_tokens, decide, stabilised_verdict
from srdcr_lab.lib.groups import RULINGS
from srdcr_lab.models.load import AbsentModel
from srdcr_lab.models.spending import Meter
from srdcr_lab.protocols import METHODS, Answer, Cast, Outcome, Ruling, SelfConfidence, Setup, choices
from srdcr_lab.protocols.answering import KNOWLEDGE, answered, select_answer
from srdcr_lab.records import BadInput, ConfidenceKind, Decision, KnowledgeCategory, Missing, PerturbationKind, files
from srdcr_lab.records.tables import TABLES
from srdcr_lab.records.types import Capabilities, Completion, Debate, Item, ModelIdentity
from srdcr_lab.records.vocabulary import Verdict, must_be, n_of, visible, visible_lines
from srdcr_lab.study.bundle import check_no_traces
from srdcr_lab.study.formats import OWN_TASK, read_results
from srdcr_lab.study.results import ITEMS, SUMMARY, Results, check_same_study, table_writer, versions_of, write_manifest
from srdcr_lab.study.run import ItemRows, Probe, item_rows

_BOTH = ("prior_answer", "context_answer")
RULED = ("verdict", "verdict_path")
GRADES = {f"{name}_answer": f"{name}_correct" for name in ("prior", "context", "final")}
KINDS = {f"confidence_{kind}": kind for kind in ConfidenceKind}  # columns, beside self_confidence
IRRELEVANT = "irrelevant"  # a value of the column relevance, and the part of the results with these rows
NEEDED_BESIDE: dict[str, tuple[str, ...]] = {  # column of results → those without which it tells nothing
    **dict.fromkeys((*GRADES, "knowledge_category"), ()),
    "self_confidence": ("prior_answer", "confidence_kind"),
    **dict.fromkeys(("confidence_kind", "logprobs", "samples", *KINDS), ("prior_answer",)),
    "tokens": ("logprobs",),
    "samples_correct": ("samples",),
    **{grade: (answer,) for answer, grade in GRADES.items()},
    **dict.fromkeys((*RULED, "p_unreasonable"), _BOTH),
}
_OF_PASSAGES = ("context_answer", "context_correct", "final_answer", "final_correct", *RULED, "p_unreasonable")
_PASSAGE = ["context", "documents", "claimed_answer", "perturbation_kind", "perturbation_value", "level", "argued",
            "relevance"]  # fmt: skip
_NOT_TOLD = ("calls_alone", "calls_paid", "prompt_tokens", "completion_tokens", "cost_usd", "knowledge_decoding")
_NOTE = "results made elsewhere: no model was asked; nothing is known of prompts, calls, tokens and costs"


def results_from(
    table: str | Path | pd.DataFrame, out: str | Path | None = None, *, model: str | None = None, method: str = "own",
    tau: float | None = None, strict: bool = False,
) -> Results:  # fmt: skip
    """Turn results made elsewhere into a results folder, for measures, figures and notebooks.

    Rows of `few_shot` are the context answers (for closed-book questions the prior answers), however they were
    prompted. With confidences there are rows of `confidence_only`, with verdicts of `debate_only`, with both of
    `sr_dcr`. A table of prior answers alone is closed-book: each question counts once, and its passages are not read.

    Parameters
    ----------
    table : str, Path or DataFrame
        CSV, JSONL or Parquet file, ``inspect=FILE`` (a log of Inspect AI), ``lm-eval=FILE`` (`--log_samples` of
        lm-evaluation-harness), ``clasheval=FILE`` (its released responses), or a DataFrame, one row per item, with the
        columns of `load_items` and any of these: `prior_answer` (without the passage) and `context_answer` (with it),
        as answers or as replies that state them, empty if none could be read; `final_answer` of a `method` of your own,
        empty if it abstained; `prior_correct`, `context_correct`, `final_correct` (true or false, 1 or 0), grades that
        replace our own comparison and are named in every label; `self_confidence` in [0, 1] with its `confidence_kind`,
        or `logprobs`, a list of natural logarithms for the tokens of the prior answer, or for the `tokens` of the whole
        reply, among which the answer's are found; further kinds of confidence in columns such as
        `confidence_verbalized`, which `Results.with_confidence` opens; `samples`, a list of answers drawn without the
        passage, with their grades in `samples_correct` if they have any, or the `knowledge_category`; `verdict_path`
        (R, U or ? after each round of a debate), or `verdict` (REASONABLE, UNREASONABLE, UNPARSED) of a judge without a
        debate (design `judge_alone`), empty if both answers are equal and nobody ruled; `p_unreasonable`. Lists are
        lists, JSON, or texts separated by vertical bars. `relevance` says whether a passage is true, false or
        irrelevant; rows with irrelevant ones are the part ``irrelevant`` of the results.
    out : str or Path, optional
        Results folder; None for a temporary one.
    model : str, optional
        Name of the model; tables and figures show it after "elsewhere:". None for what a log says, or else "model".
    method : str, default "own"
        Name of your own method.
    tau : float, optional
        Confidence threshold in [0, 1]; None for the paper's.
    strict : bool, default False
        Refuse a table with unusable rows. A wrong cell among the results is always refused.

    Returns
    -------
    Results
        The results; columns that were not given are missing.

    Raises
    ------
    BadInput
        A cell is wrong, or it is unknown whether a passage is true: neither `claimed_answer` nor `perturbation_kind` is
        given, and the passage is missing or need not contain the answer (options, yes or no, `argued`).
    """
    must_be("method", method, (str,), "a name")
    must_be("a table", table, (str, Path, pd.DataFrame), "a file or a DataFrame")
    name = "table" if not isinstance(table, str | Path) else visible(Path(table).name)
    frame = read_results(table) if isinstance(table, str | Path) else table
    unread = not_read([str(column) for column in frame], {*COLUMNS, *NEEDED_BESIDE})
    notes = [_NOTE, *frame.attrs.get("notes", ()), *(f"{name}: {each}" for each in unread)]
    frame = _with_relevance(frame, name)
    if is_of_memory := "prior_answer" in frame and not {*_OF_PASSAGES} & {*frame}:
        notes += [f"{name}: answers from memory alone, so passages are not read"] * bool({*_PASSAGE} & {*frame})
        frame = frame.drop(columns=_PASSAGE, errors="ignore")
    pairs, _, faults = sorted_out(list(checked_rows(frame, name)), name, strict=strict)
    notes += [*shortened(pairs, name), *left_out(faults, name)]
    if is_of_memory and (repeated := len(pairs) - len(pairs := _each_question_once(pairs))):
        notes.append(f"{name}: left out {n_of(repeated, 'rows')} whose question stands in an earlier row")
    found, methods = _methods_in(frame, name, not any(item.context or item.documents for _, item in pairs), method)
    _refuse_unknown_conditions(pairs, name)
    if graded := [grade for grade in (*GRADES.values(), "samples_correct") if grade in found]:
        notes.append(f"{name}: graded elsewhere, and not compared here: {', '.join(graded)}")
    if _is_alone(found):
        notes.append(f"{name}: a verdict without verdict_path is a ruling without a debate: design judge_alone")
    identity = ModelIdentity("elsewhere", visible(model or frame.attrs.get("model", "model")))
    answerer = AbsentModel(identity, Capabilities(logprobs="logprobs" in found))
    chosen = choices(tau=tau)
    temporary = None if out else tempfile.TemporaryDirectory(prefix="srdcr-")
    folder = files.as_path(out) if out else Path(temporary.name if temporary else "")
    written = []
    parts = _parts(pairs, found, name)
    for part, (belief, own) in parts.items():
        items = ItemSet(name, tuple(item for _, item in own), (), tuple(notes))
        setup = Setup(Cast(answerer, answerer, answerer, answerer), chosen, items)
        made = [_item_rows(row, item, setup, found, methods, belief) for row, item in own]
        if len(kinds := {str(each.records[0]["confidence_kind"]) for each in made} - {"None"}) > 1:
            told = f"holds {', '.join(sorted(kinds))}; give each kind a column of its own, such as confidence_p_true"
            raise BadInput(f"{name}, column confidence_kind: {told}")
        told = json.dumps([(each.records, each.samples) for each in made], default=str)
        asked = {
            "items": name, "items_sha256": items.sha256, "n_items": len(items),
            "results_sha256": hashlib.sha256(told.encode()).hexdigest(), "methods": methods,
            "choices": asdict(chosen), "seed": 0, "models": {"answerer": files.as_plain(identity)},
        }  # fmt: skip
        check_same_study(folder / part, asked, items)
        manifest = {
            "status": "done", "written": datetime.now(UTC).isoformat(timespec="seconds"), "asked": asked,
            "notes": notes, "graded_elsewhere": graded, "versions": versions_of(["srdcr-lab"]),
            "remarks": ["graded elsewhere"] * bool(graded) + [f"every passage is {IRRELEVANT}"] * (part == IRRELEVANT),
            "parts": [] if part else [other for other in parts if other],
            "logprobs": {str(identity): answerer.capabilities.logprobs}, "prices": {str(identity): None},
        }  # fmt: skip
        written.append((Results(folder / part, temporary), manifest, items, made))
    with files.one_writer(folder):  # so that what a kill interrupts can be repeated
        write_manifest(folder, written[0][1] | {"status": "running"})
    for results, manifest, items, made in reversed(written):  # the first last, since it names the others
        with files.one_writer(results.folder):
            write_manifest(results.folder, manifest | {"status": "running"})
            freeze(items, results.folder / ITEMS)
            with table_writer(results.folder) as add:
                for each in made:
                    add(each)
            files.write_whole(results.folder / SUMMARY, files.csv_text(results.summary))
            counts = {table: results.n_rows(table) for table in TABLES} | {"failed": 0}
            write_manifest(results.folder, manifest | {"counts": counts})
    return Results(folder, temporary)


def _parts(
    pairs: Sequence[tuple[Row, Item]], found: Collection[str], name: str
) -> dict[str, tuple[str, list[tuple[Row, Item]]]]:
    """The results, under an empty name, and their parts: the column that holds the confidence, and the rows."""
    beliefs = [column for column in ("self_confidence", "logprobs", *KINDS) if column in found] or [""]
    rows = grouped(pairs, lambda pair: pair[0].text("relevance").lower() == IRRELEVANT)
    if False not in rows:
        raise BadInput(f"{name}: every passage is {IRRELEVANT}; leave the column relevance out to read them")
    kinds = {KINDS[column].value: (column, rows[False]) for column in beliefs[1:] if column in KINDS}
    return {"": (beliefs[0], rows[False])} | kinds | ({IRRELEVANT: (beliefs[0], rows[True])} if True in rows else {})


def _with_relevance(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table with what its column `relevance` says in the columns that say whether a passage is true."""
    if "relevance" not in frame:
        return frame
    kinds = {"": "", "true": "none", "false": PerturbationKind.SUBSTITUTION.value, IRRELEVANT: "none"}
    said = frame["relevance"].map(lambda cell: plain_text(cell).lower())
    for number, word in enumerate(said, start=1):
        if word not in kinds:
            raise BadInput(f"{name}, row {number}, column relevance: {word!r:.40} is none of true, false, {IRRELEVANT}")
    empty = pd.Series("", frame.index, dtype=object)
    kind, argued = (frame.get(column, empty).map(plain_text) for column in ("perturbation_kind", "argued"))
    argued, kind = argued.mask(said != "", "true"), kind.mask(kind == "", said.map(kinds))
    return frame.assign(argued=argued, perturbation_kind=kind)


def _methods_in(frame: pd.DataFrame, name: str, closed_book: bool, method: str) -> tuple[Collection[str], list[str]]:
    """The columns of results that a table has, and the methods of which it tells the answers."""
    found = [column for column in NEEDED_BESIDE if column in frame]
    for column in found:
        if missing := [each for each in NEEDED_BESIDE[column] if each not in found]:
            raise BadInput(f"{name}: the column {column} is useless without the column {missing[0]}; add it")
    if {"samples", "knowledge_category"} <= {*found}:
        raise BadInput(f"{name}: samples and knowledge_category both give the category; keep one of the two columns")
    believed, ruled = {"self_confidence", "logprobs", *KINDS} & {*found}, {*RULED} & {*found}
    answer = "prior_answer" if closed_book else "context_answer"
    methods = ["few_shot"] * (answer in found) + ["confidence_only"] * (answer in found and bool(believed))
    methods += ["debate_only"] * bool(ruled) + ["sr_dcr"] * bool(ruled and believed)
    methods += [method] * ("final_answer" in found)
    if not methods:
        raise BadInput(f"{name} has no answers; it needs the column {answer} or final_answer")
    if len({*methods}) < len(methods):
        raise BadInput(f"{name} has the answers of {method} in other columns too; give those of final_answer a name")
    return found, methods


def _is_alone(found: Collection[str]) -> bool:
    """Whether a judge ruled without a debate."""
    return "verdict" in found and "verdict_path" not in found


def _each_question_once(pairs: Sequence[tuple[Row, Item]]) -> list[tuple[Row, Item]]:
    """The first row of each question; bad input where another one gives another prior answer."""
    first: dict[str, tuple[Row, Item]] = {}
    for row, item in pairs:
        earlier, _ = first.setdefault(item.question_id, (row, item))
        if row.text("prior_answer") != earlier.text("prior_answer"):
            told = f"is another one than in row {earlier.number}, which asks the same; put further draws into samples"
            raise row.bad("prior_answer", told)
    return [*first.values()]


def _refuse_unknown_conditions(pairs: Sequence[tuple[Row, Item]], name: str) -> None:
    """Raise `BadInput` where nothing says whether a passage is true: a wrong guess would be in every result."""
    bare = [row for row, item in pairs if not (item.context or item.documents)]
    unseen = [row for row in bare if any(map(row.text, ("context_answer", *RULED)))]
    stated = "claimed_answer (the gold answer where it is true) or perturbation_kind (none where it is true)"
    advice = f"beside options, for yes or no, or where it is argued it need not state its answer; fill {stated}"
    if rows := unseen or condition_unstated(pairs):
        advice = "it is not given; add the column context" if unseen else advice
        which = f"{n_of(len(rows), 'rows')} (the first is row {rows[0].number})"
        raise BadInput(f"{name}: in {which} nothing says whether the passage is true: {advice}")


def _item_rows(row: Row, item: Item, setup: Setup, found: Collection[str], methods: list[str], belief: str) -> ItemRows:
    """The rows of an item in all tables; no row names speakers, or the design of a debate: the table has neither."""
    replies = {column: _graded(row, column, item) for column in GRADES if column in found}
    prior, context = (replies.get(column) for column in _BOTH)
    probe = Probe(prior, context, _confidence(row, prior, item, belief), _draws(row, item))
    path, ruling = _ruling(row)
    equal = prior and context and answers.same_answer(prior.value, context.value, item)
    if ruling is None and not equal and {*RULED} & {*found}:
        raise row.bad("verdict", "is empty, and the two answers differ; write UNPARSED where none could be read")
    if ruling and _is_alone(found):
        path = (ruling.verdict,)
    debate = Debate(turns=(), verdict_path=path) if path else None
    given = (_outcome(name, item, probe, replies.get("final_answer"), ruling, setup.choices.tau) for name in methods)
    outcomes = [(replace(each, debate=debate if each.ruling else None), Meter()) for each in given]
    known = METHODS["few_shot"]
    made = item_rows(item, setup, probe, [(replace(known, name=name), setup) for name in methods], outcomes)
    p_unreasonable = _share(row, "p_unreasonable")
    for record in made.records:
        record |= dict.fromkeys(_NOT_TOLD)
        if row.text("knowledge_category"):
            record["knowledge_category"] = row.one_of("knowledge_category", KnowledgeCategory)
        if _is_alone(found) and record["method"] in ("sr_dcr", "debate_only"):
            record["design"] = "judge_alone"
        if record["verdict"]:
            record |= {"p_unreasonable": p_unreasonable, "rounds": len(path) or None}
    for sample in made.samples:
        sample["decoding"] = None
    return made


def _read(row: Row, text: str, item: Item, draw: int = 0) -> Answer:
    value = answers.read(text, item)
    if value is None and item.options:  # perhaps an option that is left out since it repeats another one
        offered = options_in(row, "options")
        named = answers.extract_option(text, offered, item.question)
        value = named and label_of(named, item.options, offered)
    return Answer(value, Completion(text, draw=draw))


def _graded(row: Row, column: str, item: Item) -> Answer:
    """The answer in a cell, with its grade if the table has one; a graded reply that we cannot read stays as it is."""
    text, grade = row.short(column), row.flag(GRADES[column])
    if GRADES[column] in row.cells and (grade is None if text else grade):
        told = f"is empty, but {column} is not; grade every answer" if text else f"is true, but {column} is empty"
        raise row.bad(GRADES[column], told)
    answer = _read(row, text, item)
    if answer.value is None and (grade or (grade is False and text and not is_refusal(text))):
        answer = answer._replace(value=text)
    return answer._replace(graded=grade)


def _draws(row: Row, item: Item) -> tuple[Answer, ...]:
    texts, graded = _list(row, "samples"), len(_list(row, "samples_correct"))
    if graded not in (0, len(texts)):
        raise row.bad("samples_correct", f"has {n_of(graded, 'grades')} for {n_of(len(texts), 'samples')}")
    grades = [part.flag("text") for part in row.parts("samples_correct", "entry")] or [None] * len(texts)
    draws = (_read(row, text, item, draw) for draw, text in enumerate(texts))
    return tuple(draw._replace(stream=KNOWLEDGE, graded=grade) for draw, grade in zip(draws, grades, strict=True))


def _confidence(row: Row, prior: Answer | None, item: Item, column: str) -> SelfConfidence | None:
    """Belief in the prior answer by a column; NaN where that answer could not be read."""
    if prior is None or not column:
        return None
    default = ConfidenceKind.MEAN_LOGPROB if column == "logprobs" else ""
    kind = KINDS.get(column) or ConfidenceKind(row.one_of("confidence_kind", ConfidenceKind, default))
    if column != "logprobs":
        value = _share(row, column)
    elif kind in FROM_LOGPROBS:
        value = FROM_LOGPROBS[kind](_logprobs(row, prior, item))
    else:
        raise row.bad("confidence_kind", f"{kind} is not made of logprobs; {', '.join(FROM_LOGPROBS)} are")
    return SelfConfidence(math.nan if value is None or prior.value is None else value, kind)


def _ruling(row: Row) -> tuple[tuple[Verdict, ...], Ruling | None]:
    """The verdict after each round, and V*, with r* where the rounds are told; none where nobody ruled."""
    letters = row.text("verdict_path")
    if unknown := letters.strip("".join(RULINGS)):
        raise row.bad("verdict_path", f"{letters!r:.40} holds {unknown[0]!r}; after each round stands R, U or ?")
    path = tuple(RULINGS[letter] for letter in letters)
    said = Verdict(row.one_of("verdict", Verdict)) if row.text("verdict") else None
    if path and said not in (None, path[-1]):
        raise row.bad("verdict", f"is {said}, and verdict_path ends in {path[-1]}; correct one of them")
    told = Ruling(said, r_star=None, stabilised=None) if said else None
    return path, stabilised_verdict(path) if path else told


def _outcome(name: str, item: Item, probe: Probe, final: Answer | None, ruling: Ruling | None, tau: float) -> Outcome:
    context, prior = probe.context, probe.prior or Answer(None, Completion(""))
    confidence = probe.confidence.value if probe.confidence else math.nan
    verdict, shown = ruling.verdict if ruling else None, item.context or item.documents
    match name:
        case "few_shot":
            return answered(context if context and shown else prior)
        case "confidence_only":
            otherwise = Decision.USE_CONTEXT if shown else Decision.ABSTAIN
            return select_answer(Decision.USE_PRIOR if confidence >= tau else otherwise, context, prior)
        case "sr_dcr" | "debate_only":
            decision = decide(verdict, confidence, tau, gate=name == "sr_dcr")
            return select_answer(decision, context, prior, verdict=verdict, ruling=ruling)
    return answered(final) if final and final.text else Outcome(answer=None, missing=Missing.ABSTAINED)


def _share(row: Row, column: str) -> float | None:
    """The number in [0, 1] in a cell; None where it is empty."""
    value = row.number_in(column)
    if value is not None and not 0 <= value <= 1:
        raise row.bad(column, f"{value:g} is not in [0, 1]")
    return value


def _list(row: Row, column: str) -> list[str]:
    """The texts of a cell that holds a list, JSON, or texts with bars between them."""
    cell = listed(row.cells.get(column))
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        cell = files.read_json(cell, row.place(column), 'a list such as ["1874", "1912"]')
    row.cells[column] = cell if isinstance(cell, list) else plain_text(cell).split("|") if plain_text(cell) else []
    return [part.short("text") for part in row.parts(column, "entry")]


def _logprobs(row: Row, prior: Answer, item: Item) -> Sequence[float]:
    """Those of the answer's tokens, which are looked for among all of the reply if the table has its tokens."""
    texts = _list(row, "logprobs")
    try:
        values = [float(text) for text in texts]
    except ValueError:
        values = [math.nan]
    if not all(-math.inf < value <= 0 for value in values):
        raise row.bad("logprobs", f"{', '.join(texts)!r:.60} are no natural logarithms of probabilities (at most 0)")
    tokens = [str(token) for token in row.cells["tokens"]] if _list(row, "tokens") else []
    if len(tokens) not in (0, len(values)):
        raise row.bad("tokens", f"has {n_of(len(tokens), 'tokens')} for {n_of(len(values), 'logprobs')}")
    if not tokens:
        return values
    return answer_tokens("".join(tokens), tokens, values, prior.value, item.answer_type, item.unit)


_MEASURES = ("accuracy", "selective_accuracy", "coverage")
_SCORES = ("verdict", "decision", "knowledge_category", "self_confidence")  # beside `correct`
_GRADES = {True: "C", False: "I", None: "N"}


def write_inspect(results: Results, target: Path) -> str:
    """Write an Inspect AI log (`.eval`: a zip of JSON, version 2) in which each row of `records` is a sample.

    The messages of a sample are the question and the turns of its debate. The score `correct` is C, I, or N where there
    is no answer, with the reason abstained, unparsed or error: Inspect's accuracy counts what is missing as wrong, as
    ours does. A row without an answer because a call failed is a sample with an error. Metrics are those of `summary`,
    a score for each method. Texts leave without control and format characters; a key or a path of this machine in them
    is bad input. Returns a sentence for the terminal.
    """
    header, summaries = _log_header(results), []
    debates = grouped(_as_dicts(results.turns), lambda turn: (turn["item_id"], _with_design(turn)))
    path = files.whole_file(files.to_write(target, (".eval",)))
    with path as part, zipfile.ZipFile(part, "w") as log:

        def put(name: str, value: Any) -> None:
            text = json.dumps(_clean(value), allow_nan=False)
            check_no_traces(f"{target.name}, {name}", text.encode())
            log.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # of 1980: equal content is an equal file

        for row in _as_dicts(results.records):
            name = visible(whole := f"{_with_design(row)} {row['item_id']}".replace("/", "∕"))
            name = name if len(name) <= 200 else f"{visible(name, 180)} {_log_id(whole, length=16)}"
            turns = debates.get((row["item_id"], _with_design(row)), [])
            sample = _log_sample(name, row, turns, results.items.get(row["item_id"]), header["eval"]["run_id"])
            put(f"samples/{name}_epoch_1.json", sample)
            shown = {key: cell for key, cell in sample.items() if key not in ("messages", "output")}
            error = sample["error"] and sample["error"]["message"]
            summaries.append(shown | {"completed": True, "message_count": len(sample["messages"]), "error": error})
        header["eval"]["dataset"] |= {"samples": len(summaries), "sample_ids": [each["id"] for each in summaries]}
        put("summaries.json", summaries)
        put("header.json", header)
    return f"{target}: {n_of(len(summaries), 'samples')}; inspect view --log-dir {target.parent} shows them"


def _log_header(results: Results) -> dict[str, Any]:
    """The log without its samples."""
    manifest, models = results.manifest, {role: visible(who) for role, who in results.identities.items()}
    asked, written, n = manifest["asked"], manifest["written"], len(results.records)
    run = _log_id(json.dumps(asked, sort_keys=True), written)
    metrics: dict[str, dict[str, Any]] = {}
    for row in _as_dicts(results.summary):
        own = metrics.setdefault(_with_design(row), {})
        for measure in (measure for measure in _MEASURES if row[measure] is not None):
            name, ends = f"{row['condition']} {measure}", {end: row.get(f"{measure}_{end}") for end in ("low", "high")}
            own[name] = {"name": name, "value": row[measure], "metadata": {"n": row["n"]} | ends}
    scores = [{"name": method, "scorer": "correct", "metrics": own} for method, own in metrics.items()]
    return {
        "version": 2, "status": "success" if manifest["status"] == "done" else "cancelled",
        "eval": {
            "eval_id": run, "run_id": run, "task_id": run, "created": written, "task": OWN_TASK,
            "task_args": {"seed": asked["seed"]}, "dataset": {"name": asked["items"]}, "config": {},
            "model": models["answerer"], "packages": manifest["versions"],
            "model_roles": {role: {"model": name} for role, name in models.items() if role != "answerer"},
            "metadata": {"asked": asked, "notes": manifest["notes"], "label": results.label,
                         "graded_elsewhere": manifest.get("graded_elsewhere", [])},
        },
        "plan": {"steps": [{"solver": name} for name in asked["methods"]]},
        "results": {"scores": scores, "total_samples": n, "completed_samples": n},
        "stats": {"started_at": written, "completed_at": written},
    }  # fmt: skip


def _log_sample(
    name: str, row: dict[str, Any], turns: Sequence[dict[str, Any]], item: Item | None, run: str
) -> dict[str, Any]:
    """A row of `records`; its messages are the question, with what stands beside it, and the turns of its debate."""
    options = [f"{option.label}. {option.text}" for option in item.options] if item else []
    texts = [item.context, *(document.text for document in item.documents)] if item else []
    question = "\n".join([row["question"], *options, *(f"\nPassage: {text}" for text in texts if text)])
    about = json.loads(json.dumps(files.as_plain(item), default=asdict)) if item else {}
    answer = {"role": "assistant", "content": row["final_answer"], "model": row["model"]}
    final = [] if row["final_answer"] is None else [answer]
    failure = {"message": row["error"] or "", "traceback": "", "traceback_ansi": ""}
    return {
        "id": name, "epoch": 1, "uuid": _log_id(run, name, length=22), "input": question,
        "target": row["gold_answers"] if len(row["gold_answers"]) > 1 else row["gold_answer"],
        "messages": [{"role": "user", "content": question}, *(map(_log_message, turns) if turns else final)],
        "output": {"model": row["model"], "choices": [{"message": each, "stop_reason": "stop"} for each in final]},
        "scores": {
            "correct": {"value": _GRADES[row["correct"]], "answer": row["final_answer"], "reason": row["missing"]},
            **{score: {"value": row[score]} for score in _SCORES if row[score] is not None},
        },
        "metadata": {name: cell for name, cell in (about | row).items() if cell not in (None, [], (), "")},
        "error": failure if row["missing"] == Missing.ERROR else None,
    }  # fmt: skip


def _log_message(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn, with its speaker's name: "1903. It …" at the start of a text would be shown as a list."""
    speaker = f"{turn['role'].capitalize()} {turn['speaker'] or ''}".strip()
    about = ("position", "round", "role", "saw_passage", "saw_turns", "verdict", "stated_answer")
    return {
        "role": "assistant", "model": turn["model"], "content": f"**{speaker}, round {turn['round']}:** {turn['text']}",
        "id": _log_id(turn["item_id"], _with_design(turn), str(turn["position"]), length=22),
        "metadata": {name: turn[name] for name in about if turn[name] is not None},
    }  # fmt: skip


def _with_design(row: Mapping[str, Any]) -> str:
    """``sr_dcr (acvd)``: the method of a row, and the design that it follows."""
    return f"{row['method']} ({row['design']})" if row.get("design") else str(row["method"])


def _log_id(*parts: str, length: int = 32) -> str:
    """A hexadecimal id of these names: an export made again has the same."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:length]


def _as_dicts(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return pa.Table.from_pandas(frame, preserve_index=False).to_pylist()  # type: ignore[no-any-return]


def _clean(value: Any) -> Any:
    """Texts as `visible_lines`, infinite numbers as None."""
    if isinstance(value, str):
        return visible_lines(value)
    if isinstance(value, list | tuple):
        return [_clean(cell) for cell in value]
    if isinstance(value, Mapping):
        return {name: _clean(cell) for name, cell in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
