"""Turn the published rows of each benchmark into items; rows that cannot be used are left out and counted.

`read_NAME` makes single passages or questions, `read_NAME_documents` questions with several documents. `Passages` have
one passage each, `Questions` options or no passage, `Documents` several documents. Evidence published with a question
becomes the item's passage, and is taken to be true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.name import SUBSTITUTIONS
from srdcr_lab.answers.option import TRUE_OR_FALSE, fault_of, without_repeats
from srdcr_lab.answers.quantities import meanings
from srdcr_lab.data import facts
from srdcr_lab.data.items import ItemSet, not_evaluated, standard_item, with_exemplars
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
_UNREADABLE = "no reply is read as its gold answer"
_TOO_LONG = f"the passage is longer than {LONGEST_TEXT:,} characters"


class Gathering:
    """Items in the order of the file, and how many were left out by reason; `notes` are further notes."""

    counted = "questions"  # what is left out, in the plural
    remark = ""  # about all of these items

    def __init__(self, name: str, *notes: str) -> None:
        self.name = name
        self.notes = notes
        self.left_out: Counter[str] = Counter()
        self.items: list[Item] = []
        self._taken: set[object] = set()

    def leave_out(self, reason: str, how_many: int = 1) -> None:
        self.left_out[reason] += how_many

    def _take_once(self, item: Item, key: object, reason: str) -> bool:
        if key in self._taken:
            self.leave_out(reason)
            return False
        self._taken.add(key)
        self.items.append(item)
        return True

    def left_out_sentence(self) -> str:
        """How many were left out, and why; empty if none was."""
        reasons = "; ".join(f"{count} because {reason}" for reason, count in self.left_out.most_common())
        return f"left out {n_of(self.left_out.total(), self.counted)}: {reasons}" if reasons else ""

    def result(self, file: str) -> ItemSet:
        """The items, the shipped exemplars that are not among them, and notes; raises `BadInput` if no item is left."""
        if not self.items:
            raise BadInput(f"{file}: no row can be used as {self.name}: {self.left_out_sentence()}")
        remarks = (f"{self.name}: {remark}" for remark in (self.remark, self.left_out_sentence()) if remark)
        pool = not_evaluated(facts.exemplars(), self.items)
        return ItemSet(self.name, tuple(self.items), pool, (*self.notes, *remarks))


class Passages(Gathering):
    """Passages, true or false, that each state the answer they are said to claim, or argue for a yes or no."""

    counted = "passages"
    _with_gold = 0  # false passages that mention the gold answer

    def questions(self, rows: Sequence[Row], of_each: int = 1) -> Iterator[tuple[Row, str]]:
        """Each row with its question; a row that repeats an earlier question is left out, with its `of_each`
        passages.
        """
        asked: set[str] = set()
        for row in rows:
            question = row.text("question")
            if question in asked:
                self.leave_out("the question occurs in an earlier row", of_each)
            else:
                yield row, question
            asked.add(question)

    def take(self, item: Item) -> None:
        """Keep the item if its passage states what it claims, for answer types that are stated."""
        if item.item_id not in self._taken and (reason := _unfit(item)):
            self.leave_out(reason)
        elif self._take_once(item, item.item_id, "it occurs in an earlier row") and not item.is_standard:
            self._with_gold += _mentions_gold(item)

    def result(self, file: str) -> ItemSet:
        """As in the base class, but some items may be set aside as exemplars."""
        notes = super().result(file).notes
        if self._with_gold:
            notes += (f"{self.name}: {self._with_gold} false passages mention the gold answer beside their claim",)
        chosen = with_exemplars(self.name, self.items, (), facts.exemplars())
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
        if options is not None:
            offered, options = options, without_repeats(options, gold)
            if len(options) < len(offered):
                self._shortened += 1
                self.remark = f"{self._shortened} questions are asked without an option that repeats a wrong one"
            fields |= {"answer_type": AnswerType.OPTION, "options": options}
        item = standard_item(f"{self.name}-{row.number}", question, gold, **{"domain": self.name, **fields})
        fault = "" if options is None else fault_of(options, gold)
        if "repeats the text" in fault:
            self.leave_out("its right option occurs twice")
        elif fault:
            raise row.bad(column, fault)
        elif len(item.context) > LONGEST_TEXT:
            self.leave_out(_TOO_LONG)
        elif unreadable(item):
            self.leave_out(_UNREADABLE)
        else:
            self._take_once(item, (item.question, item.context, item.options), "an earlier row asks the same")


class Documents(Gathering):
    """Questions with several documents, each asked once; the reasons say what was left out."""

    remark = "documents stand in an order drawn from the question, since the published one follows their types"

    def take(self, item: Item) -> None:
        self._take_once(item, item.question, "questions that stand in an earlier row")

    def left_out_sentence(self) -> str:
        reasons = [f"{what} ({count})" for what, count in self.left_out.items() if count]
        return f"left out were {', '.join(reasons)}" if reasons else ""


def contradicted(true: Item, tag: str, context: str, claim: str) -> Item:
    """The question with a false passage whose distance from the truth is unknown."""
    item_id, kind = f"{true.question_id}@{tag}", PerturbationKind.SUBSTITUTION
    return replace(
        true, item_id=item_id, context=context, claimed_answer=claim, perturbation_kind=kind, level=Level.MODERATE
    )


def _unfit(item: Item) -> str:
    """Why a passage cannot be used; empty if it can."""
    if not (item.question and item.gold_answer and item.claimed_answer and item.context):
        return "question, answer or passage is empty"
    if len(item.context) > LONGEST_TEXT:
        return _TOO_LONG
    if unreadable(item):
        return _UNREADABLE
    same = answers.equal(item.claimed_answer, item.gold_answer, item.answer_type, item.unit, item.aliases)
    if same is not item.is_standard:
        return "the false passage claims a right answer"
    if lacks_its_claim(item):
        return f"the {'true' if item.is_standard else 'false'} passage does not contain its answer"
    return ""


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


def read_clasheval(rows: Sequence[Row]) -> Passages:
    """ClashEval (Wu et al. 2024): questions of six domains, each passage as published and altered by known amounts.

    One row is one modification: years are offset, records, counts and doses multiplied, names and cities replaced
    (slight, significant, comical). A question becomes one standard item and one perturbed item per modification.
    """
    passages = Passages("clasheval")
    questions: dict[tuple[str, str], Item] = {}
    numbers: Counter[str] = Counter()
    for row in rows:
        name, question = row.one_of("dataset", CLASHEVAL_DOMAINS), row.text("question")
        if (name, question) not in questions:
            numbers[name] += 1
            questions[name, question] = _unmodified(row, f"clasheval-{name}-{numbers[name]}")
            passages.take(questions[name, question])
        _take_modification(passages, row, questions[name, question])
    return passages


def _unmodified(row: Row, question_id: str) -> Item:
    question, gold = row.text("question"), row.text("answer_original")
    domain, answer_type = CLASHEVAL_DOMAINS[row.text("dataset")]
    if answer_type is not AnswerType.YEAR and answers.normalise(gold, answer_type) is None:
        answer_type = AnswerType.TEXT  # "4 gold, 2 silver", a place described in a sentence
    unit, context = "", row.text("context_original")
    if answer_type is AnswerType.NUMBER:
        _, unit = answers.infer_unit(gold) or ("", "")
        asked = (name for name in _IN_UNIT.findall(question) if meanings(name))
        unit = unit or next(asked, "")
    return standard_item(question_id, question, gold, context, domain=domain, answer_type=answer_type, unit=unit)


def _take_modification(passages: Passages, row: Row, standard: Item) -> None:
    column = "mod_degree" if "mod_degree" in row.cells else "mod_type"
    claim, context, degree = row.text("answer_mod"), row.text("context_mod"), row.filled(column)
    if row.text("answer_original") != standard.gold_answer:
        passages.leave_out("an earlier row gives the question another gold answer")
        return
    if claim and answers.equal(claim, standard.gold_answer, standard.answer_type, standard.unit):
        if context != standard.context:  # otherwise it is the standard item
            passages.leave_out("the modification leaves the answer as it was")
        return
    kind, value = kind_of(CLASHEVAL_DOMAINS[row.text("dataset")][1]).perturbation, None
    if kind is PerturbationKind.SUBSTITUTION:
        level = SUBSTITUTIONS[row.one_of(column, SUBSTITUTIONS)]
    else:
        value = row.number_in(column) or 0.0
        if kind is PerturbationKind.FACTOR and value <= 0:
            raise row.bad(column, f"the factor {degree} is not above 0")
        level = kind_of(standard.answer_type).level(kind, value, standard)
    form = contradicted(standard, degree, context, claim)
    passages.take(replace(form, perturbation_kind=kind, perturbation_value=value, level=level))


_NEGATED = re.compile(r"(?<!\w)(?:not|cannot|never|no|nor|neither|none)(?!\w)|n['’]t(?!\w)", re.IGNORECASE)
_ALIGNED = {"memory": "parametric_memory_aligned_evidence", "counter": "counter_memory_aligned_evidence"}
_OTHER = {"yes": "no", "no": "yes"}


def read_conflictqa(rows: Sequence[Row]) -> Passages:
    """ConflictQA (Xie et al. 2024): evidence for what a model remembers, and evidence against it, for each question.

    The passage (`…_aligned_evidence`) that agrees with `ground_truth` is the standard item, the other the perturbed
    one. The two published answer sentences tell which is which; if they do not, the question is left out. For a
    yes-or-no question (StrategyQA), the one negated sentence says no. For other questions (PopQA), the true sentence
    names an accepted answer, and the false claim is what differs in the other sentence.
    """
    passages = Passages("conflictqa")
    for row, question in passages.questions(rows, 2):
        if not (golds := row.texts("ground_truth")):
            raise row.bad("ground_truth", "is empty")
        gold, aliases = golds[0], golds[1:]
        sentences = {side: row.text(f"{side}_answer") for side in _ALIGNED}
        yes_or_no = len(golds) == 1 and answers.guess_type(golds) is AnswerType.YES_NO
        kind = AnswerType.YES_NO if yes_or_no else AnswerType.TEXT
        if yes_or_no:
            gold = answers.normalise(gold, kind) or gold
            right = {side: bool(_NEGATED.search(text)) is (gold == "no") for side, text in sentences.items()}
            undecided = "its answer sentences do not tell yes from no"
        else:
            finding = (gold, kind, "", aliases)
            right = {side: answers.states(text, *finding) for side, text in sentences.items()}
            undecided = "both its answer sentences name an accepted answer, or neither"
        if len(set(right.values())) == 1 or (yes_or_no and _NEGATED.search(question)):
            passages.leave_out(undecided, how_many=2)
            continue
        true, false = sorted(_ALIGNED, key=lambda side: not right[side])
        item_id, context = f"conflictqa-{row.number}", row.text(_ALIGNED[true])
        fields = {"domain": "conflictqa", "answer_type": kind, "aliases": aliases}
        item = standard_item(item_id, question, gold, context, **fields)
        claim = _OTHER[gold] if yes_or_no else differing_words(sentences[false], sentences[true])
        passages.take(item)
        passages.take(contradicted(item, "conflict", row.text(_ALIGNED[false]), claim))
    return passages


def differing_words(sentence: str, other: str) -> str:
    """The words of a sentence without the beginning and the end that it shares with the other one.

    >>> differing_words("Rankin's occupation is a photographer.", "Rankin's occupation is a politician.")
    'photographer'
    """
    words, others = (text.strip().rstrip(".").split() for text in (sentence, other))
    start = _alike(words, others)
    end = _alike(words[start:][::-1], others[start:][::-1])
    return " ".join(words[start : len(words) - end])


def _alike(words: list[str], others: list[str]) -> int:
    """How many words two lists share at their beginning, ignoring case."""
    return len(list(takewhile(lambda pair: pair[0].lower() == pair[1].lower(), zip(words, others, strict=False))))


_ASKS_FOR_A_YEAR = re.compile(r"(?<!\w)(?:when|what year|which year|birth date)(?!\w)", re.IGNORECASE)


def read_ramdocs(rows: Sequence[Row]) -> Passages:
    """RAMDocs (Wang et al. 2025): ambiguous questions with correct, misleading and irrelevant documents.

    A question becomes at most two items: its first `correct` document that states its answer, and its first `misinfo`
    document that states its own; each gold answer is right.
    """
    passages = Passages("ramdocs")
    for row, question in passages.questions(rows):
        golds = row.texts("gold_answers")
        documents = _documents(row)
        if not golds:
            raise row.bad("gold_answers", "is empty")
        correct = [document for document in documents if document.kind is DocumentKind.CORRECT]
        misinfo = [document for document in documents if document.kind is DocumentKind.MISINFO]
        wrong = [document.answer for document in misinfo]
        answer_type, unit = kind_of_answer(question, [*golds, *wrong])
        true = _first_that_states(correct, golds, answer_type, unit)
        gold = true.answer if true else golds[0]
        fields: dict[str, Any] = {"domain": "ramdocs", "answer_type": answer_type, "unit": unit}
        fields["aliases"] = tuple(other for other in golds if other != gold)
        item = standard_item(f"ramdocs-{row.number}", question, gold, true.text if true else "", **fields)
        if true:
            passages.take(item)
        else:
            passages.leave_out("no correct document contains its answer")
        if misinfo:
            false = _first_that_states(misinfo, wrong, answer_type, unit) or misinfo[0]
            passages.take(contradicted(item, "misinfo", false.text, false.answer))
    return passages


def read_ramdocs_documents(rows: Sequence[Row]) -> Documents:
    """One item per question with all its documents, except empty ones.

    All gold answers are right, and the wrong ones are listed.
    """
    questions = Documents("ramdocs:documents")
    for row in rows:
        question, golds = row.text("question"), row.texts("gold_answers")
        published = _documents(row)
        for part in row.parts("documents", "document"):
            part.short("text")
        documents = [document for document in published if document.text]
        questions.leave_out("empty documents", len(published) - len(documents))
        if len(documents) > MOST_DOCUMENTS:
            questions.leave_out(f"questions with more than {MOST_DOCUMENTS} documents")
            continue
        if not question or not golds or not documents:
            questions.leave_out("questions without text, gold answer or document")
            continue
        named = row.texts("wrong_answers") if "wrong_answers" in row.cells else ()
        asserted = [document.answer for document in documents if document.kind is DocumentKind.MISINFO]
        answer_type, unit = kind_of_answer(question, [*golds, *filter(None, (*named, *asserted))])
        fields: dict[str, Any] = {"domain": "ramdocs", "answer_type": answer_type, "unit": unit}
        fields["other_gold_answers"] = golds[1:]
        ordered = shuffled(documents, question)
        item = standard_item(f"ramdocs-{row.number}", question, golds[0], documents=ordered, **fields)
        # two of the first 150 questions list a gold answer among the wrong ones: no output could be right
        questions.take(with_wrong_answers(item, named))
    return questions


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


def _first_that_states(
    documents: Sequence[Document], allowed: Sequence[str], answer_type: AnswerType, unit: str
) -> Document | None:
    """The first document whose answer is among `allowed` and occurs in its text."""
    allowed_ones = (document for document in documents if document.answer in allowed)
    return next((each for each in allowed_ones if answers.states(each.text, each.answer, answer_type, unit)), None)


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


def read_boolq(rows: Sequence[Row]) -> Questions:
    """BoolQ (Clark et al. 2019): "true" (yes) or "false" (no); the title of the page is put before the passage."""
    questions = Questions("boolq")
    for row in rows:
        label = row.text("answer").lower()
        if label not in ("true", "false"):
            raise row.bad("answer", f"{row.text('answer')!r} is neither true nor false")
        title, passage = row.text("title"), row.filled("passage")
        question = row.filled("question").removesuffix("?") + "?"
        questions.take(row, question, label, options=_YES_OR_NO, context=f"{title}. {passage}" if title else passage)
    return questions


def read_commonsenseqa(rows: Sequence[Row]) -> Questions:
    """CommonsenseQA (Talmor et al. 2019): question and choices are in two columns or in one object."""
    questions = Questions("commonsenseqa")
    for row in rows:
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
    return questions


def read_cosmosqa(rows: Sequence[Row]) -> Questions:
    """Cosmos QA (Huang et al. 2019): a short story from which the answer has to be inferred; labels 0–3 are A–D."""
    questions = Questions("cosmosqa")
    for row in rows:
        gold = "ABCD"[int(row.one_of("label", "0123"))]
        options = tuple(Option(label=label, text=row.text(f"answer{i}")) for i, label in enumerate("ABCD"))
        question, context = row.filled("question"), row.filled("context")
        questions.take(row, question, gold, column="answer0", options=options, context=context)
    return questions


def read_hover(rows: Sequence[Row]) -> Questions:
    """HoVer (Jiang et al. 2020): claims over two to four pages of an encyclopedia; `domain` says how many.

    The published file names its evidence but does not contain it, so every claim is asked without a passage.
    """
    questions = Questions("hover", "hover: the file holds no evidence, so every claim stands alone")
    for row in rows:
        gold = _HOVER_LABELS[row.one_of("label", _HOVER_LABELS)]
        claim, hops = row.filled("claim"), row.text("num_hops")
        if not hops.isdigit():
            raise row.bad("num_hops", f"{hops!r} is not a whole number")
        question, domain = f"Is this claim true or false? {claim}", f"hover {hops}-hop"
        questions.take(row, question, gold, options=TRUE_OR_FALSE, domain=domain)
    return questions


def read_gsm8k(rows: Sequence[Row]) -> Questions:
    """GSM8K (Cobbe et al. 2021), or a file of its shape: the number after the worked solution is the gold answer."""
    questions = Questions("gsm8k")
    for row in rows:
        if not (number := final_number(row.text("answer"))):
            raise row.bad("answer", "has no number after ####")
        questions.take(row, row.filled("question"), number, answer_type=AnswerType.NUMBER)
    return questions


def final_number(worked: str) -> str:
    """The number after the last ``####`` of a worked solution; empty if there is none."""
    _, marker, last = worked.rpartition("####")
    return (answers.normalise(last, AnswerType.NUMBER) or "") if marker else ""
