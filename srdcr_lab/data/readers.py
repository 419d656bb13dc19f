"""Turn the published rows of each benchmark into rows in our own columns, which `tables` checks as it checks a user's.

`read_NAME` makes rows with one passage, or questions, `read_NAME_documents` questions with several documents. What is
wrong with a row is raised, what is wrong with one of its passages is a row that is `unusable`; `asked` holds what
earlier rows asked. Evidence published with a question becomes the row's passage, and is taken to be true.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import takewhile
from typing import Any

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.name import SUBSTITUTIONS
from srdcr_lab.answers.quantities import meanings
from srdcr_lab.answers.wording import pattern
from srdcr_lab.data.rows import DOCUMENT_KEYS, Row, document_of, rows_of, shuffled
from srdcr_lab.records import AnswerType, BadInput, Document, DocumentKind, Level, PerturbationKind

Cells = dict[str, Any]
Earlier = dict[Any, Any]  # question → the row that asked it first
Reader = Callable[[Row, Earlier], Iterator[Cells]]
_AGAIN = "an earlier row asks the same"


def in_our_columns(frame: pd.DataFrame, file: str, read: Reader, name: str = "") -> pd.DataFrame:
    """The rows that a reader makes of published ones, as a table; `name` is the domain and begins the question_id."""
    asked: Earlier = {}
    made: list[tuple[int, Cells]] = []
    for row in rows_of(frame, file):
        try:
            own = list(read(row, asked))
        except BadInput as fault:
            own = [unusable(fault)]
        named = {"question_id": f"{name}-{row.number}", "domain": name} if name else {}
        made += [(row.number, named | cells) for cells in own]
    table = pd.DataFrame([cells for _, cells in made], dtype=object)
    table.attrs["numbers"] = [number for number, _ in made]
    return table


def unusable(fault: BadInput) -> Cells:
    """A row that raises why it cannot be used when it is read."""
    return {"question": fault, "gold_answer": fault}


def _refuse_again(row: Row, asked: Earlier, column: str, *question: object) -> None:
    """Raise `BadInput` if an earlier row asks the question."""
    if asked.setdefault(question, row.number) != row.number:
        raise row.bad(column, _AGAIN)


def _contradicted(true: Cells, tag: str, context: str, claim: str) -> Cells:
    """The question with a false passage of the data set."""
    false = {"item_id": f"{true['question_id']}@{tag}", "context": context, "claimed_answer": claim}
    return true | false | {"perturbation_kind": PerturbationKind.SUBSTITUTION}


_CLASHEVAL_DOMAINS: Mapping[str, tuple[str, AnswerType]] = {  # data set → our domain, the type of its answers
    "names": ("names", AnswerType.NAME), "locations": ("cities", AnswerType.CITY), "years": ("years", AnswerType.YEAR),
    **{name: (name, AnswerType.NUMBER) for name in ("records", "news", "drugs")},
}  # fmt: skip


def read_clasheval(row: Row, asked: Earlier) -> Iterator[Cells]:
    """ClashEval (Wu et al. 2024): questions of six domains, each passage as published and altered by known amounts.

    One row is one modification: years are offset, records, counts and doses multiplied, names and cities replaced
    (slight, significant, comical). A question becomes one standard item and one perturbed item per modification.
    """
    made, degree = clasheval_modification(row), row.text("mod_degree", row.text("mod_type"))
    name, gold = row.text("dataset"), made["gold_answer"]
    if not (true := asked.get((name, made["question"]))):
        number = 1 + sum(dataset == name for dataset, _ in asked)
        own = {"question_id": f"clasheval-{name}-{number}", "context": row.text("context_original")}
        true = asked[name, made["question"]] = made | _TRUE | own | {"claimed_answer": gold}
        yield true
    if gold != true["gold_answer"]:
        yield unusable(row.bad("answer_original", "an earlier row gives the question another gold answer"))
    elif made["perturbation_kind"] is not PerturbationKind.NONE:
        yield made | {"question_id": true["question_id"], "item_id": f"{true['question_id']}@{degree}"}
    elif made["context"] != true["context"]:  # otherwise it is the standard item
        yield unusable(row.bad("context_mod", "the modification leaves the answer as it was"))


_TRUE: Cells = {"perturbation_kind": PerturbationKind.NONE, "perturbation_value": None, "level": Level.STANDARD}


def clasheval_modification(row: Row) -> Cells:
    """A modification, which is true where it claims the original answer."""
    domain, answer_type = _CLASHEVAL_DOMAINS[row.one_of("dataset", _CLASHEVAL_DOMAINS)]
    question, gold, claim = row.text("question"), row.text("answer_original"), row.text("answer_mod")
    column = "mod_degree" if "mod_degree" in row.cells else "mod_type"
    kind, unit = kind_of(answer_type).perturbation, ""
    if answer_type is not AnswerType.YEAR and answers.normalise(gold, answer_type) is None:
        answer_type = AnswerType.TEXT  # "4 gold, 2 silver", a place described in a sentence
    if answer_type is AnswerType.NUMBER:
        _, unit = answers.infer_unit(gold) or ("", "")
        unit = unit or next(filter(meanings, pattern("in_unit").findall(question)), "")
    made = {"question": question, "gold_answer": gold, "context": row.text("context_mod"), "claimed_answer": claim}
    made |= {"domain": domain, "answer_type": answer_type, "unit": unit}
    if answers.equal(claim, gold, answer_type, unit):
        return made | _TRUE
    degree = row.filled(column)
    if kind is PerturbationKind.SUBSTITUTION:
        return made | {"perturbation_kind": kind, "level": SUBSTITUTIONS[row.one_of(column, SUBSTITUTIONS)]}
    value = row.number_in(column) or 0.0
    if kind is PerturbationKind.FACTOR and value <= 0:
        raise row.bad(column, f"the factor {degree} is not above 0")
    return made | {"perturbation_kind": kind, "perturbation_value": value}


_ALIGNED = {"memory": "parametric_memory_aligned_evidence", "counter": "counter_memory_aligned_evidence"}


def read_conflictqa(row: Row, asked: Earlier) -> Iterator[Cells]:
    """ConflictQA (Xie et al. 2024): evidence for what a model remembers, and evidence against it, for each question.

    The passage (`…_aligned_evidence`) that agrees with `ground_truth` is the standard item, the other the perturbed
    one. The two published answer sentences tell which is which; if they do not, the question is left out. For a
    yes-or-no question (StrategyQA), the one negated sentence says no. For other questions (PopQA), the true sentence
    names an accepted answer, and the false claim is what differs in the other sentence.
    """
    question, golds, negated = row.text("question"), row.texts("ground_truth"), pattern("negated")
    if not golds:
        raise row.bad("ground_truth", "is empty")
    gold, aliases = golds[0], golds[1:]
    sentences = {side: row.text(f"{side}_answer") for side in _ALIGNED}
    yes_or_no = not aliases and answers.guess_type(golds) is AnswerType.YES_NO
    kind = AnswerType.YES_NO if yes_or_no else AnswerType.TEXT
    if yes_or_no:
        gold = answers.normalise(gold, kind) or gold
        right = {side: bool(negated.search(text)) is (gold == "no") for side, text in sentences.items()}
        undecided = "its answer sentences do not tell yes from no"
    else:
        right = {side: answers.states(text, gold, kind, "", aliases) for side, text in sentences.items()}
        undecided = "both its answer sentences name an accepted answer, or neither"
    is_decided = len(set(right.values())) == 2 and not (yes_or_no and negated.search(question))
    if (is_again := asked.setdefault(question, row.number) != row.number) or not is_decided:
        yield from [unusable(row.bad("question", _AGAIN if is_again else undecided))] * 2  # its passages
        return
    true, false = sorted(_ALIGNED, key=lambda side: not right[side])
    claim = {"yes": "no", "no": "yes"}[gold] if yes_or_no else differing_words(sentences[false], sentences[true])
    made: Cells = {"question_id": f"conflictqa-{row.number}", "question": question, "gold_answer": gold}
    made |= {"context": row.text(_ALIGNED[true]), "answer_type": kind, "aliases": aliases}
    yield made
    yield _contradicted(made, "conflict", row.text(_ALIGNED[false]), claim)


def differing_words(sentence: str, other: str) -> str:
    """The words of a sentence without the beginning and the end that it shares with the other one.

    >>> differing_words("Rankin's occupation is a photographer.", "Rankin's occupation is a politician.")
    'photographer'
    """
    words, others = (text.strip().rstrip(".").split() for text in (sentence, other))
    start = _alike(words, others)
    return " ".join(words[start : len(words) - _alike(words[start:][::-1], others[start:][::-1])])


def _alike(words: list[str], others: list[str]) -> int:
    """How many words two lists share at their beginning, ignoring case."""
    return len(list(takewhile(lambda pair: pair[0].lower() == pair[1].lower(), zip(words, others, strict=False))))


def read_ramdocs(row: Row, asked: Earlier) -> Iterator[Cells]:
    """RAMDocs (Wang et al. 2025): ambiguous questions with correct, misleading and irrelevant documents.

    A question becomes at most two items: its first `correct` document that states its answer, and its first `misinfo`
    document that states its own; each gold answer is right.
    """
    question, golds, documents = row.text("question"), row.texts("gold_answers"), _documents(row)
    _refuse_again(row, asked, "question", question)
    if not golds:
        raise row.bad("gold_answers", "is empty")
    correct = [each for each in documents if each.kind is DocumentKind.CORRECT and each.answer in golds]
    misinfo = [each for each in documents if each.kind is DocumentKind.MISINFO]
    answer_type, unit = kind_of_answer(question, [*golds, *(each.answer for each in misinfo)])
    stating = (each for each in (*correct, *misinfo) if answers.states(each.text, each.answer, answer_type, unit))
    first = {each.kind: each for each in reversed([*stating])}
    true = first.get(DocumentKind.CORRECT)
    gold, context = (true.answer, true.text) if true else (golds[0], "")
    made: Cells = {"question_id": f"ramdocs-{row.number}", "question": question, "gold_answer": gold}
    made |= {"context": context, "answer_type": answer_type, "unit": unit}
    made |= {"aliases": [other for other in golds if other != gold]}
    yield made if true else unusable(row.bad("documents", "no correct document contains its answer"))
    if misinfo:
        false = first.get(DocumentKind.MISINFO, misinfo[0])
        yield _contradicted(made, "misinfo", false.text, false.answer)


def read_ramdocs_documents(row: Row, asked: Earlier) -> Iterator[Cells]:
    """One item per question with all its documents, except empty ones.

    All gold answers are right, and the wrong ones are listed.
    """
    question, golds, published = row.text("question"), row.texts("gold_answers"), _documents(row)
    documents = shuffled((document for document in published if document.text), question)
    _refuse_again(row, asked, "question", question)
    yield from [unusable(row.bad("documents", "a document is empty"))] * (len(published) - len(documents))
    named = row.texts("wrong_answers") if "wrong_answers" in row.cells else ()
    asserted = [document.answer for document in documents if document.kind is DocumentKind.MISINFO]
    answer_type, unit = kind_of_answer(question, [*golds, *filter(None, (*named, *asserted))])
    parts = [dict(zip(DOCUMENT_KEYS, astuple(document), strict=True)) for document in documents]
    # two of the first 150 questions list a gold answer among the wrong ones, which loading takes out
    made = {"question": question, "gold_answer": next(iter(golds), ""), "gold_answers": golds, "wrong_answers": named}
    yield made | {"documents": parts, "answer_type": answer_type, "unit": unit}


def _documents(row: Row) -> list[Document]:
    """The documents of a row; one of type noise answers nothing, which the benchmark writes as "unknown"."""
    documents = [document_of(part) for part in row.parts("documents", "document") if part.filled("type")]
    return [replace(each, answer="") if each.kind is DocumentKind.NOISE else each for each in documents]


def kind_of_answer(question: str, given: Sequence[str]) -> tuple[AnswerType, str]:
    """Answer type and unit of one question, from its wording and all its answers, right and wrong.

    A year if the question asks for one and every answer is one; a number if all are, in the unit they share; else text.
    """
    if pattern("asks_for_a_date").search(question):
        years = all(answers.normalise(answer, AnswerType.YEAR) for answer in given)
        return (AnswerType.YEAR if years else AnswerType.TEXT), ""
    values = [answers.infer_unit(answer) for answer in given]
    units = {value[1] for value in values if value is not None and value[1]}
    if None in values or len(units) > 1:
        return AnswerType.TEXT, ""
    return AnswerType.NUMBER, units.pop() if units else ""


_YES_OR_NO = {"true": "yes", "false": "no"}
_HOVER_LABELS = {"SUPPORTED": "true", "NOT_SUPPORTED": "false"}


def read_boolq(row: Row, asked: Earlier) -> Iterator[Cells]:
    """BoolQ (Clark et al. 2019): "true" (yes) or "false" (no); the title of the page is put before the passage."""
    label = row.text("answer").lower()
    if label not in _YES_OR_NO:
        raise row.bad("answer", f"{row.text('answer')!r} is neither true nor false")
    title, passage = row.text("title"), row.filled("passage")
    question = row.filled("question").removesuffix("?") + "?"
    context = f"{title}. {passage}" if title else passage
    _refuse_again(row, asked, "question", question, context)
    yield {"question": question, "gold_answer": label, "context": context, "options": _YES_OR_NO}


def read_commonsenseqa(row: Row, asked: Earlier) -> Iterator[Cells]:
    """CommonsenseQA (Talmor et al. 2019): question and choices are in two columns or in one object."""
    if isinstance(published := row.cells.get("question"), dict):
        row.cells |= {"question": published.get("stem"), "choices": published.get("choices")}
    choices: Any = row.cells.get("choices")
    if isinstance(choices, dict) and {"label", "text"} <= set(choices):  # two lists
        labels, texts = list(choices["label"]), list(choices["text"])
        if len(labels) != len(texts):
            raise row.bad("choices", f"has {len(labels)} labels and {len(texts)} texts")
        choices = [{"label": a, "text": b} for a, b in zip(labels, texts, strict=True)]
    if not (gold := row.text("answerKey")):
        raise row.bad("answerKey", "is empty; the test split is published without answers, take the dev split")
    _refuse_again(row, asked, "question", row.filled("question"), str(choices))
    yield {"question": row.filled("question"), "gold_answer": gold, "options": choices}


def read_cosmosqa(row: Row, asked: Earlier) -> Iterator[Cells]:
    """Cosmos QA (Huang et al. 2019): a short story from which the answer has to be inferred; labels 0–3 are A–D."""
    gold = "ABCD"[int(row.one_of("label", "0123"))]
    options = {label: row.text(f"answer{i}") for i, label in enumerate("ABCD")}
    question, context = row.filled("question"), row.filled("context")
    _refuse_again(row, asked, "question", question, context, *options.values())
    yield {"question": question, "gold_answer": gold, "context": context, "options": options}


def read_hover(row: Row, asked: Earlier) -> Iterator[Cells]:
    """HoVer (Jiang et al. 2020): claims over two to four pages of an encyclopedia; `domain` says how many.

    The published file names its evidence but does not contain it, so every claim is asked without a passage.
    """
    gold = _HOVER_LABELS[row.one_of("label", _HOVER_LABELS)]
    claim, hops = row.filled("claim"), row.text("num_hops")
    if not hops.isdigit():
        raise row.bad("num_hops", f"{hops!r} is not a whole number")
    _refuse_again(row, asked, "claim", claim)
    made = {"question": f"Is this claim true or false? {claim}", "gold_answer": gold}
    yield made | {"domain": f"hover {hops}-hop", "options": {each: each for each in _HOVER_LABELS.values()}}


def read_gsm8k(row: Row, asked: Earlier) -> Iterator[Cells]:
    """GSM8K (Cobbe et al. 2021), or a file of its shape: the number after the worked solution is the gold answer."""
    if not (number := final_number(row.text("answer"))):
        raise row.bad("answer", "has no number after ####")
    _refuse_again(row, asked, "question", row.filled("question"))
    yield {"question": row.filled("question"), "gold_answer": number, "answer_type": AnswerType.NUMBER}


def final_number(worked: str) -> str:
    """The number after the last ``####`` of a worked solution; empty if there is none."""
    _, marker, last = worked.rpartition("####")
    return (answers.normalise(last, AnswerType.NUMBER) or "") if marker else ""
