"""Turn the published rows of each benchmark into items; rows that cannot be used are left out and counted.

`read_NAME` makes single passages or questions, `read_NAME_documents` questions with several documents. `Passages` have
one passage each, `Questions` options or no passage, `Documents` several documents. Evidence published with a question
becomes the item's passage, and is taken to be true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from srdcr_lab import answers
from srdcr_lab.answers.kinds import FalseClaim, kind_of
from srdcr_lab.answers.name import SUBSTITUTIONS
from srdcr_lab.answers.option import TRUE_OR_FALSE, fault_of, without_repeats
from srdcr_lab.answers.quantities import meanings
from srdcr_lab.data import facts
from srdcr_lab.data.items import ItemSet, not_evaluated, standard_item, with_exemplars
from srdcr_lab.data.perturbing import claiming
from srdcr_lab.data.rows import (
    LONGEST_TEXT,
    MOST_DOCUMENTS,
    Row,
    document_of,
    lacks_its_claim,
    options_in,
    shuffled,
    unreadable,
    with_wrong_answers,
)
from srdcr_lab.records import AnswerType, BadInput, Document, DocumentKind, Item, Level, Option, PerturbationKind
from srdcr_lab.records.vocabulary import n_of

Options = tuple[Option, ...] | None  # None: an open question


@dataclass
class Gathering:
    """Items in the order of the file, each by what it may have only once, and how many were left out by reason."""

    name: str
    note: str = ""  # about the file
    taken: dict[object, Item] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    counted = "questions"  # what is left out, in the plural
    repeated = "an earlier row asks the same"
    remark = ""  # about all of these items

    def _keep(self, item: Item, key: object, reason: str = "") -> None:
        """Keep an item, unless there is a reason to leave it out or an earlier one has its key."""
        if reason := reason or self.repeated * (key in self.taken):
            self.left_out[reason] += 1
        else:
            self.taken[key] = item

    def left_out_sentence(self) -> str:
        """How many were left out, and why; empty if none was."""
        reasons = "; ".join(f"{count} because {reason}" for reason, count in self.left_out.most_common())
        return f"left out {n_of(self.left_out.total(), self.counted)}: {reasons}" if reasons else ""

    def result(self, file: str) -> ItemSet:
        """The items, the shipped exemplars that are not among them, and notes; raises `BadInput` if no item is left."""
        if not self.taken:
            raise BadInput(f"{file}: no row can be used as {self.name}: {self.left_out_sentence()}")
        remarks = (self.note, self.remark, self.left_out_sentence())
        items, notes = tuple(self.taken.values()), tuple(f"{self.name}: {remark}" for remark in remarks if remark)
        return ItemSet(self.name, items, not_evaluated(facts.exemplars(), items), notes)


@dataclass
class Passages(Gathering):
    """Passages, true or false, that each state the answer they are said to claim, or argue for a yes or no."""

    asked: dict[tuple[str, str], Item | None] = field(default_factory=dict)  # data set and question → its true form
    counted = "passages"
    repeated = "it occurs in an earlier row"

    def is_new(self, question: str, of_each: int = 1) -> bool:
        """Whether a row asks a question first; otherwise it is left out, with its `of_each` passages."""
        if is_new := ("", question) not in self.asked:
            self.asked["", question] = None
        else:
            self.left_out["the question occurs in an earlier row"] += of_each
        return is_new

    def take(self, item: Item) -> None:
        """Keep the item if its passage states what it claims, for answer types that are stated."""
        self._keep(item, item.item_id, "" if item.item_id in self.taken else _unfit(item))

    def result(self, file: str) -> ItemSet:
        """As in the base class, but some items may be set aside as exemplars."""
        notes = super().result(file).notes
        chosen = with_exemplars(self.name, [*self.taken.values()], (), facts.exemplars())
        if n := sum(_mentions_gold(item) for item in chosen if not item.is_standard):
            notes += (f"{self.name}: {n} false passages mention the gold answer beside their claim",)
        return replace(chosen, notes=(*notes, *chosen.notes))


class Questions(Gathering):
    """Questions with options, and open ones, each asked once. A wrong option that repeats another is dropped."""

    _shortened = 0  # questions of which an option was dropped

    def take(
        self, row: Row, question: str, gold: str, options: Options = None, column: str = "question", **fields: Any
    ) -> None:
        """Keep the question of a row, unless an earlier row asks the same about the same passage, or two options are
        the same.

        Raises `BadInput`, naming the column, for fewer than two options or a gold answer that is not among them.
        """
        fault = ""
        if options is not None:
            kept = without_repeats(options, gold)
            if len(kept) < len(options):
                self._shortened += 1
                self.remark = f"{self._shortened} questions are asked without an option that repeats a wrong one"
            fault = fault_of(kept, gold)
            if fault and "repeats the text" not in fault:
                raise row.bad(column, fault)
            fields |= {"answer_type": AnswerType.OPTION, "options": kept}
        item = standard_item(f"{self.name}-{row.number}", question, gold, **{"domain": self.name, **fields})
        reason = "its right option occurs twice" if fault else _unreadable(item)
        self._keep(item, (item.question, item.context, item.options), reason)


class Documents(Gathering):
    """Questions with several documents, each asked once; the reasons say what was left out."""

    remark = "documents stand in an order drawn from the question, since the published one follows their types"
    repeated = "questions that stand in an earlier row"

    def take(self, item: Item) -> None:
        self._keep(item, item.question)

    def left_out_sentence(self) -> str:
        reasons = ", ".join(f"{what} ({count})" for what, count in self.left_out.items() if count)
        return f"left out were {reasons}" if reasons else ""


SHAPES: Mapping[str, type[Gathering]] = {"passages": Passages, "questions": Questions, "documents": Documents}


def contradicted(true: Item, tag: str, context: str, claim: str) -> Item:
    """The question with a false passage whose distance from the truth is unknown."""
    false = FalseClaim(PerturbationKind.SUBSTITUTION, None, Level.MODERATE, tag, claim, claim)
    return claiming(true, false, context)


def _unfit(item: Item) -> str:
    """Why a passage cannot be used; empty if it can."""
    if not (item.question and item.gold_answer and item.claimed_answer and item.context):
        return "question, answer or passage is empty"
    if reason := _unreadable(item):
        return reason
    same = answers.equal(item.claimed_answer, item.gold_answer, item.answer_type, item.unit, item.aliases)
    if same is not item.is_standard:
        return "the false passage claims a right answer"
    if lacks_its_claim(item):
        return f"the {'true' if item.is_standard else 'false'} passage does not contain its answer"
    return ""


def _unreadable(item: Item) -> str:
    """Why an item is too long, or no reply could be right; empty if neither is so."""
    if len(item.context) > LONGEST_TEXT:
        return f"the passage is longer than {LONGEST_TEXT:,} characters"
    return "no reply is read as its gold answer" if unreadable(item) else ""


def _mentions_gold(item: Item) -> bool:
    """Whether the passage has the gold answer as written; other spellings are too slow to look for here."""
    if not any(form.lower() in item.context.lower() for form in (item.gold_answer, *item.aliases)):
        return False
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    return any(not span.partial for span in spans)


_IN_UNIT = re.compile(r"(?<!\w)in ([^\W\d_]+(?:/[^\W\d_]+)?)")
CLASHEVAL_DOMAINS: Mapping[str, tuple[str, AnswerType]] = {  # data set → our domain, the type of its answers
    "names": ("names", AnswerType.NAME),
    "locations": ("cities", AnswerType.CITY),
    "years": ("years", AnswerType.YEAR),
    "records": ("records", AnswerType.NUMBER),
    "news": ("news", AnswerType.NUMBER),
    "drugs": ("drugs", AnswerType.NUMBER),
}


def read_clasheval(row: Row, passages: Passages) -> None:
    """ClashEval (Wu et al. 2024): questions of six domains, each passage as published and altered by known amounts.

    One row is one modification: years are offset, records, counts and doses multiplied, names and cities replaced
    (slight, significant, comical). A question becomes one standard item and one perturbed item per modification.
    """
    name, question = row.one_of("dataset", CLASHEVAL_DOMAINS), row.text("question")
    if not (standard := passages.asked.get((name, question))):
        number = 1 + sum(dataset == name for dataset, _ in passages.asked)
        standard = passages.asked[name, question] = _unmodified(row, f"clasheval-{name}-{number}")
        passages.take(standard)
    column = "mod_degree" if "mod_degree" in row.cells else "mod_type"
    claim, context, degree = row.text("answer_mod"), row.text("context_mod"), row.filled(column)
    if row.text("answer_original") != standard.gold_answer:
        passages.left_out["an earlier row gives the question another gold answer"] += 1
        return
    if claim and answers.equal(claim, standard.gold_answer, standard.answer_type, standard.unit):
        if context != standard.context:  # otherwise it is the standard item
            passages.left_out["the modification leaves the answer as it was"] += 1
        return
    kind, value = kind_of(CLASHEVAL_DOMAINS[name][1]).perturbation, None
    if kind is PerturbationKind.SUBSTITUTION:
        level = SUBSTITUTIONS[row.one_of(column, SUBSTITUTIONS)]
    else:
        value = row.number_in(column) or 0.0
        if kind is PerturbationKind.FACTOR and value <= 0:
            raise row.bad(column, f"the factor {degree} is not above 0")
        level = kind_of(standard.answer_type).level(kind, value, standard)
    passages.take(claiming(standard, FalseClaim(kind, value, level, degree, claim, claim), context))


def _unmodified(row: Row, question_id: str) -> Item:
    question, gold = row.text("question"), row.text("answer_original")
    domain, answer_type = CLASHEVAL_DOMAINS[row.text("dataset")]
    if answer_type is not AnswerType.YEAR and answers.normalise(gold, answer_type) is None:
        answer_type = AnswerType.TEXT  # "4 gold, 2 silver", a place described in a sentence
    unit, context = "", row.text("context_original")
    if answer_type is AnswerType.NUMBER:
        _, unit = answers.infer_unit(gold) or ("", "")
        unit = unit or next(filter(meanings, _IN_UNIT.findall(question)), "")
    return standard_item(question_id, question, gold, context, domain=domain, answer_type=answer_type, unit=unit)


_NEGATED = re.compile(r"(?<!\w)(?:not|cannot|never|no|nor|neither|none)(?!\w)|n['’]t(?!\w)", re.IGNORECASE)
_ALIGNED = {"memory": "parametric_memory_aligned_evidence", "counter": "counter_memory_aligned_evidence"}
_OTHER = {"yes": "no", "no": "yes"}


def read_conflictqa(row: Row, passages: Passages) -> None:
    """ConflictQA (Xie et al. 2024): evidence for what a model remembers, and evidence against it, for each question.

    The passage (`…_aligned_evidence`) that agrees with `ground_truth` is the standard item, the other the perturbed
    one. The two published answer sentences tell which is which; if they do not, the question is left out. For a
    yes-or-no question (StrategyQA), the one negated sentence says no. For other questions (PopQA), the true sentence
    names an accepted answer, and the false claim is what differs in the other sentence.
    """
    question = row.text("question")
    if not passages.is_new(question, 2):
        return
    if not (golds := row.texts("ground_truth")):
        raise row.bad("ground_truth", "is empty")
    gold, aliases = golds[0], golds[1:]
    sentences = {side: row.text(f"{side}_answer") for side in _ALIGNED}
    yes_or_no = not aliases and answers.guess_type(golds) is AnswerType.YES_NO
    kind = AnswerType.YES_NO if yes_or_no else AnswerType.TEXT
    if yes_or_no:
        gold = answers.normalise(gold, kind) or gold
        right = {side: bool(_NEGATED.search(text)) is (gold == "no") for side, text in sentences.items()}
        undecided = "its answer sentences do not tell yes from no"
    else:
        right = {side: answers.states(text, gold, kind, "", aliases) for side, text in sentences.items()}
        undecided = "both its answer sentences name an accepted answer, or neither"
    if len(set(right.values())) == 1 or (yes_or_no and _NEGATED.search(question)):
        passages.left_out[undecided] += 2
        return
    true, false = sorted(_ALIGNED, key=lambda side: not right[side])
    fields = {"domain": "conflictqa", "answer_type": kind, "aliases": aliases}
    item = standard_item(f"conflictqa-{row.number}", question, gold, row.text(_ALIGNED[true]), **fields)
    claim = _OTHER[gold] if yes_or_no else differing_words(sentences[false], sentences[true])
    passages.take(item)
    passages.take(contradicted(item, "conflict", row.text(_ALIGNED[false]), claim))


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


_ASKS_FOR_A_YEAR = re.compile(r"(?<!\w)(?:when|what year|which year|birth date)(?!\w)", re.IGNORECASE)


def read_ramdocs(row: Row, passages: Passages) -> None:
    """RAMDocs (Wang et al. 2025): ambiguous questions with correct, misleading and irrelevant documents.

    A question becomes at most two items: its first `correct` document that states its answer, and its first `misinfo`
    document that states its own; each gold answer is right.
    """
    question = row.text("question")
    if not passages.is_new(question):
        return
    golds, documents = row.texts("gold_answers"), _documents(row)
    if not golds:
        raise row.bad("gold_answers", "is empty")
    correct = [each for each in documents if each.kind is DocumentKind.CORRECT and each.answer in golds]
    misinfo = [each for each in documents if each.kind is DocumentKind.MISINFO]
    answer_type, unit = kind_of_answer(question, [*golds, *(each.answer for each in misinfo)])
    stating = (each for each in (*correct, *misinfo) if answers.states(each.text, each.answer, answer_type, unit))
    first = {each.kind: each for each in reversed([*stating])}
    true = first.get(DocumentKind.CORRECT)
    gold, context = (true.answer, true.text) if true else (golds[0], "")
    kind: dict[str, Any] = {"domain": "ramdocs", "answer_type": answer_type, "unit": unit}
    aliases = tuple(other for other in golds if other != gold)
    item = standard_item(f"ramdocs-{row.number}", question, gold, context, aliases=aliases, **kind)
    if true:
        passages.take(item)
    else:
        passages.left_out["no correct document contains its answer"] += 1
    if misinfo:
        false = first.get(DocumentKind.MISINFO, misinfo[0])
        passages.take(contradicted(item, "misinfo", false.text, false.answer))


def read_ramdocs_documents(row: Row, questions: Documents) -> None:
    """One item per question with all its documents, except empty ones.

    All gold answers are right, and the wrong ones are listed.
    """
    question, golds = row.text("question"), row.texts("gold_answers")
    published = _documents(row)
    for part in row.parts("documents", "document"):
        part.short("text")
    documents = tuple(document for document in published if document.text)
    questions.left_out["empty documents"] += len(published) - len(documents)
    if len(documents) > MOST_DOCUMENTS:
        questions.left_out[f"questions with more than {MOST_DOCUMENTS} documents"] += 1
        return
    if not question or not golds or not documents:
        questions.left_out["questions without text, gold answer or document"] += 1
        return
    named = row.texts("wrong_answers") if "wrong_answers" in row.cells else ()
    asserted = [document.answer for document in documents if document.kind is DocumentKind.MISINFO]
    answer_type, unit = kind_of_answer(question, [*golds, *filter(None, (*named, *asserted))])
    kind: dict[str, Any] = {"domain": "ramdocs", "answer_type": answer_type, "unit": unit}
    kind |= {"documents": shuffled(documents, question), "other_gold_answers": golds[1:]}
    item = standard_item(f"ramdocs-{row.number}", question, golds[0], **kind)
    # two of the first 150 questions list a gold answer among the wrong ones: no output could be right
    questions.take(with_wrong_answers(item, named))


def _documents(row: Row) -> list[Document]:
    """The documents of a row; one of type noise answers nothing, which the benchmark writes as "unknown"."""
    documents = []
    for part in row.parts("documents", "document"):
        for key in ("text", "type", "answer"):
            if not isinstance(part.cells.get(key), str):
                raise part.bad(key, "a text was expected")
        document = document_of(part)
        documents.append(replace(document, answer="") if document.kind is DocumentKind.NOISE else document)
    return documents


def kind_of_answer(question: str, given: Sequence[str]) -> tuple[AnswerType, str]:
    """Answer type and unit of one question, from its wording and all its answers, right and wrong.

    A year if the question asks for one and every answer is one; a number if all are, in the unit they share; else text.
    """
    if _ASKS_FOR_A_YEAR.search(question):
        years = all(answers.normalise(answer, AnswerType.YEAR) for answer in given)
        return (AnswerType.YEAR if years else AnswerType.TEXT), ""
    values = [answers.infer_unit(answer) for answer in given]
    units = {value[1] for value in values if value is not None and value[1]}
    if None in values or len(units) > 1:
        return AnswerType.TEXT, ""
    return AnswerType.NUMBER, units.pop() if units else ""


_YES_OR_NO = (Option(label="true", text="yes"), Option(label="false", text="no"))
_HOVER_LABELS = {"SUPPORTED": "true", "NOT_SUPPORTED": "false"}


def read_boolq(row: Row, questions: Questions) -> None:
    """BoolQ (Clark et al. 2019): "true" (yes) or "false" (no); the title of the page is put before the passage."""
    label = row.text("answer").lower()
    if label not in ("true", "false"):
        raise row.bad("answer", f"{row.text('answer')!r} is neither true nor false")
    title, passage = row.text("title"), row.filled("passage")
    question = row.filled("question").removesuffix("?") + "?"
    questions.take(row, question, label, options=_YES_OR_NO, context=f"{title}. {passage}" if title else passage)


def read_commonsenseqa(row: Row, questions: Questions) -> None:
    """CommonsenseQA (Talmor et al. 2019): question and choices are in two columns or in one object."""
    if isinstance(published := row.cells.get("question"), dict):
        row.cells |= {"question": published.get("stem"), "choices": published.get("choices")}
    choices: Any = row.cells.get("choices")
    if isinstance(choices, dict) and {"label", "text"} <= set(choices):  # two lists
        labels, texts = list(choices["label"]), list(choices["text"])
        if len(labels) != len(texts):
            raise row.bad("choices", f"has {len(labels)} labels and {len(texts)} texts")
        row.cells["choices"] = [{"label": a, "text": b} for a, b in zip(labels, texts, strict=True)]
    question, options = row.filled("question"), options_in(row, "choices")
    if not (gold := row.text("answerKey")):
        raise row.bad("answerKey", "is empty; the test split is published without answers, take the dev split")
    questions.take(row, question, gold, column="choices", options=options)


def read_cosmosqa(row: Row, questions: Questions) -> None:
    """Cosmos QA (Huang et al. 2019): a short story from which the answer has to be inferred; labels 0–3 are A–D."""
    gold = "ABCD"[int(row.one_of("label", "0123"))]
    options = tuple(Option(label=label, text=row.text(f"answer{i}")) for i, label in enumerate("ABCD"))
    question, context = row.filled("question"), row.filled("context")
    questions.take(row, question, gold, column="answer0", options=options, context=context)


def read_hover(row: Row, questions: Questions) -> None:
    """HoVer (Jiang et al. 2020): claims over two to four pages of an encyclopedia; `domain` says how many.

    The published file names its evidence but does not contain it, so every claim is asked without a passage.
    """
    gold = _HOVER_LABELS[row.one_of("label", _HOVER_LABELS)]
    claim, hops = row.filled("claim"), row.text("num_hops")
    if not hops.isdigit():
        raise row.bad("num_hops", f"{hops!r} is not a whole number")
    question, domain = f"Is this claim true or false? {claim}", f"hover {hops}-hop"
    questions.take(row, question, gold, options=TRUE_OR_FALSE, domain=domain)


def read_gsm8k(row: Row, questions: Questions) -> None:
    """GSM8K (Cobbe et al. 2021), or a file of its shape: the number after the worked solution is the gold answer."""
    if not (number := final_number(row.text("answer"))):
        raise row.bad("answer", "has no number after ####")
    questions.take(row, row.filled("question"), number, answer_type=AnswerType.NUMBER)


def final_number(worked: str) -> str:
    """The number after the last ``####`` of a worked solution; empty if there is none."""
    _, marker, last = worked.rpartition("####")
    return (answers.normalise(last, AnswerType.NUMBER) or "") if marker else ""
