"""Read a user's table as items: CSV, JSON lines, Parquet or a DataFrame, checked row by row; `rows` reads single
cells.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.option import fault_of, label_of, without_repeats
from srdcr_lab.answers.wording import pattern
from srdcr_lab.data.items import (
    ItemSet,
    as_exemplar,
    flags_counted,
    grouped,
    standard_item,
    with_exemplars,
    without_particulars,
)
from srdcr_lab.data.rows import DOCUMENT_KEYS, LONGEST_ANSWER, REQUIRED, Row, documents_in, options_in, rows_of
from srdcr_lab.records import AnswerType, BadInput, DocumentKind, Exemplar, Item, Level, PerturbationKind
from srdcr_lab.records.types import PREVIOUS
from srdcr_lab.records.vocabulary import did_you_mean, n_of, visible

WRITTEN = (
    "item_id", "question_id", "question", "gold_answer", "context", "claimed_answer", "domain", "answer_type",
    "aliases", "unit", "perturbation_kind", "perturbation_value", "level", "gold_answers", "wrong_answers",
    "accepted", "flags", "is_control", "is_exemplar",
)  # fmt: skip
Checked = tuple[Row, Item | Exemplar | BadInput]
COLUMNS = (*WRITTEN, "options", "documents", "hops", "argued")
LISTS = ("aliases", "gold_answers", "wrong_answers", "accepted", "flags")
_COMPARED = 1000  # unread columns, with the known ones
_PASSAGES = ("passage", "passages", "paragraph", "evidence", "text", "document")  # what others call a context
_OPTION = re.compile(r"(?i)[a-j]|(?:option|choice)s?[ _-]?[a-j1-9]")
_SHOWN = frozenset({"context", "documents", "options", "hops"})  # without any of them, a table is closed-book
_NAMED, _NOTED, _NUMBERED = 3, 5, 12  # rows that one sentence names, that have a note each, and whose numbers are given
MOST_HOPS = 10


class LacksAnswer(BadInput):
    """A passage does not contain the answer that it is said to claim; `row` is the row number."""

    def __init__(self, sentence: str, row: int) -> None:
        super().__init__(sentence)
        self.row = row


def missing_columns(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns that a table lacks; "a|b" is a column of either name."""
    return [column for column in columns if not set(frame.columns) & set(column.split("|"))]


def check_columns(frame: pd.DataFrame, columns: Sequence[str], file: str, needs: str) -> None:
    """Raise `BadInput` if a table lacks a column, has one twice or has no rows; `needs` names the required columns."""
    if twice := [str(name) for name in frame.columns[frame.columns.duplicated()] if str(name)]:
        raise BadInput(f"{file}: the column {twice[0]} occurs twice; keep one of them, or rename the other")
    if missing := missing_columns(frame, columns):
        name, found = missing[0].replace("|", " or "), [str(column) for column in frame.columns]
        near = did_you_mean(missing[0], sorted({*found} - {*COLUMNS})).replace("did you mean", "is it")
        raise BadInput(f"{file}: the column {name} is missing; {needs}; found: {', '.join(found)}{near}")
    if frame.empty:
        raise BadInput(f"{file} has no rows")


def items_from_rows(rows: Iterable[Checked], pool: Sequence[Exemplar] = (), *, strict: bool = False) -> ItemSet:
    """Items of a table's checked rows; exemplars are the rows whose column `is_exemplar` is true, and those that
    `with_exemplars` adds.

    Rows that cannot be used are left out and named in notes; with `strict`, or if none is left, they raise `BadInput`.
    """
    checked = list(rows)
    name = checked[0][0].file
    pairs, exemplars, faults = sorted_out(checked, name, strict=strict)
    items = [item for _, item in pairs]
    whole = with_exemplars(name, items, exemplars, pool)
    notes = [*left_out(faults, name), *shortened(pairs, name), *flags_counted(whole.items, name)]
    notes += _doubts(checked, items)
    if unstated := condition_unstated(pairs):
        passages = f"{n_of(len(unstated), 'passages')} that need not contain the answer (options, yes or no, argued)"
        why = "since claimed_answer and perturbation_kind are empty"
        notes.append(f"{name}: taken to be true, {why}: {passages}")
    return replace(whole, notes=(*notes, *whole.notes))


def sorted_out(
    rows: Sequence[Checked], name: str, *, strict: bool = False
) -> tuple[list[tuple[Row, Item]], list[Exemplar], list[BadInput]]:
    """The rows with their items, the exemplars, and what is wrong with the other rows.

    With `strict`, or if no item is left, it raises the first fault and says how many more rows have one.
    """
    pairs = [(row, entry) for row, entry in rows if isinstance(entry, Item)]
    faults = [entry for _, entry in rows if isinstance(entry, BadInput)]
    if faults and (strict or not pairs):
        first, *others = faults
        more = f"{n_of(len(others), 'more rows')} cannot be used: srdcr data check lists all"
        raise BadInput(f"{first!s:.220}; {more}") if others else first
    if not pairs:
        raise BadInput(f"{name}: every row is an exemplar; none is left to evaluate")
    return pairs, [entry for _, entry in rows if isinstance(entry, Exemplar)], faults


def condition_unstated(pairs: Sequence[tuple[Row, Item]]) -> list[Row]:
    """The rows that do not say whether their passage is true, if the passage does not show it either."""
    shown = ((row, item) for row, item in pairs if item.context)
    argued = (row for row, item in shown if row.flag("argued") or not kind_of(item.answer_type).is_stated)
    return [row for row in argued if not (row.text("claimed_answer") or row.text("perturbation_kind"))]


def shortened(pairs: Sequence[tuple[Row, Item]], name: str) -> Iterator[str]:
    """How many questions lost an option."""
    if n := sum(len(options_in(row, "options")) > len(item.options) for row, item in pairs if item.options):
        yield f"{name}: {n_of(n, 'rows')} asked without an option that repeats a wrong one"


def left_out(faults: Sequence[BadInput], name: str) -> Iterator[str]:
    """How many rows are left out, and why the first few are."""
    if faults:
        more = f"; here are {_NOTED}, srdcr data check lists all" if len(faults) > _NOTED else ""
        yield f"{name}: left out {n_of(len(faults), 'rows')} that cannot be used{more}; --strict would refuse"
        yield from map(str, faults[:_NOTED])
    if numbers := [str(fault.row) for fault in faults if isinstance(fault, LacksAnswer)]:
        which = ", ".join(numbers[:_NUMBERED]) + (" …" if len(numbers) > _NUMBERED else "")
        why = f"because the passage does not contain the answer (row {which})"
        advice = "if a passage argues for its answer in other words, set the column argued"
        yield f"{name}: {len(numbers):,} of these {why}; {advice}"


def left_out_by_reason(faults: Sequence[BadInput], name: str) -> Iterator[str]:
    """How many rows of a published file are left out for each reason, without what each row's own reason quotes."""
    if faults:
        yield f"{name}: left out {n_of(len(faults), 'rows')} that cannot be used; --strict would refuse"
    reasons = Counter(without_particulars(f"{fault}".partition(", column ")[2].partition(";")[0]) for fault in faults)
    yield from (f"{name}: {n_of(count, 'rows')}, column {told}" for told, count in reasons.most_common())


def not_read(columns: Collection[str], known: Collection[str]) -> Iterator[str]:
    """The columns that are not read, and are called nearly as a known one that the table lacks, or hold an option."""
    for column in islice(columns, _COMPARED):
        name = "context" if column.lower() in _PASSAGES else column.lower()
        if column not in known and (near := did_you_mean(name, sorted({*known} - {*columns}))):
            yield f"the column {visible(column)} is not read{near}"
    if "options" not in columns and len(options := [each for each in columns if _OPTION.fullmatch(each)]) > 1:
        named = ", ".join(map(visible, options))
        yield f"the columns {named:.100} are not read: put options into one column, options, with bars between them"


def _doubts(checked: Sequence[Checked], items: Sequence[Item]) -> Iterator[str]:
    """Ways in which a table may be misread."""
    often = Counter((item.question, item.context) for item in items)
    again = (item for item in items if often[item.question, item.context] > 1)
    alike = grouped(again, lambda item: replace(item, item_id="", question_id="")).values()
    repeated = [[item.item_id for item in same] for same in alike if len(same) > 1]
    for first, *others in repeated[:_NOTED]:
        yield f"{', '.join(others[:_NAMED])}: the same as {first}; each row counts, so delete what is repeated"
    if len(repeated) > _NOTED:
        yield f"{n_of(len(repeated), 'rows')} occur more than once; the notes name the first {_NOTED}"
    lists = [cell for row, _ in checked if isinstance(cell := row.cells.get("documents"), list)]  # JSON was read before
    for key in dict.fromkeys(key for entry in chain.from_iterable(lists) if isinstance(entry, dict) for key in entry):
        if key not in DOCUMENT_KEYS:
            near = did_you_mean(key, DOCUMENT_KEYS)
            yield f"the key {key} of a document is not read{near}; a document has {', '.join(DOCUMENT_KEYS)}"
    columns = [str(column) for column in checked[0][0].cells]
    yield from not_read(columns, COLUMNS)
    if not _SHOWN & set(columns):
        unread = ", ".join(visible(column) for column in columns if column not in COLUMNS)
        note = "there is no column context, options or documents: the questions are asked of memory alone (closed-book)"
        yield f"{note}; not read: {unread:.200}" if unread else note
    untyped = (each for row, each in checked if row.cells.get("answer_type", "") == "" and isinstance(each, Item))
    unstated = (each for each in untyped if not each.options and not _is_yes_no(each.gold_answer))
    if len(guessed := Counter(each.answer_type for each in unstated)) > 1:
        told = ", ".join(f"{n} {answer_type}" for answer_type, n in guessed.most_common())
        empty = "answer_type is empty" if "answer_type" in columns else "there is no column answer_type"
        yield f"{empty}: types were guessed from answers and questions ({told}); fill it ({', '.join(AnswerType)})"
    passages = [text for item in items for text in (item.context, *(each.text for each in item.documents)) if text]
    if 2 * sum(pattern("english").search(text) is not None for text in passages) < len(passages):
        yield "fewer than half of the passages look English, and all are read by English rules: docs/guide/questions.md"


def checked_rows(frame: pd.DataFrame, name: str, *, is_ours: bool = False) -> Iterator[Checked]:
    """Each row, with what it is: an item, an exemplar, or the sentence that says what is wrong with it.

    A table without passages, documents and options is closed-book: its questions are asked without any text. For a
    table that `is_ours`, the tests have checked that answers are found and read, so this is not checked again.
    """
    check_columns(frame, REQUIRED[:2], name, f"needed are {', '.join(REQUIRED)}")
    rows = rows_of(frame, name, is_ours=is_ours)
    untyped = [row.cells["gold_answer"] for row in rows if row.cells.get("answer_type") in (None, "")]
    of_all = answers.guess_type([gold for gold in untyped if isinstance(gold, str) and not _is_yes_no(gold)])
    ids: dict[str, str] = {}  # question → the id of the first row that asks it
    row_of: dict[str, int] = {}  # item_id → its row
    first: dict[str, Item] = {}  # question_id → its first item
    for row in rows:
        try:
            own_id = row.text("question_id") or row.text("item_id") or f"row-{row.number}"
            item = _item(row, of_all, ids.setdefault(row.text("question"), own_id))
            if row.flag("is_exemplar"):
                yield row, as_exemplar(item)
                continue
            if (item_id := _item_id(row, item, row_of)) != item.item_id:
                item = replace(item, item_id=item_id)
            if earlier := row_of.get(item.item_id):
                raise row.bad("item_id", f"{item.item_id!r} already occurs in row {earlier}; make it unique")
            asked_before = first.setdefault(item.question_id, item)
            _refuse_another_question(row, item, asked_before, row_of.get(asked_before.item_id, 0))
            row_of[item.item_id] = row.number
            yield row, item
        except BadInput as error:
            yield row, error


def _item_id(row: Row, item: Item, taken: Collection[str]) -> str:
    """The row's own item_id, or one made from its question_id, or from the row number.

    The true form of a question has the question_id as its item_id; those of its other forms begin with it.
    """
    place, question_id = f"row-{row.number}", row.text("question_id")
    if not question_id:
        named = place
    elif item.perturbation_value:
        named = f"{question_id}@{item.perturbation_value:+g}"
    else:
        named = question_id if item.is_standard and question_id not in taken else f"{question_id}@{place}"
    return row.text("item_id", named)


def _guessed(row: Row, of_all: AnswerType) -> AnswerType:
    """The answer type of a row by its answer and question, if its passage states such an answer; else text.

    Among numbers, four digits are a year only if the question asks for one.
    """
    gold, passage, question = row.text("gold_answer"), row.text("context"), row.text("question")
    guessed = answers.guess_type([gold], question)
    if of_all in (AnswerType.YEAR, AnswerType.DATE) and guessed is not AnswerType.NUMBER and not _is_yes_no(gold):
        return of_all
    if (of_all, guessed) == (AnswerType.NUMBER, AnswerType.YEAR) and not pattern("asks_for_a_year").search(question):
        guessed = AnswerType.NUMBER
    claim, aliases = row.text("claimed_answer") or gold, row.between_bars("aliases")
    is_there = not passage or not kind_of(guessed).is_stated
    is_there = is_there or answers.states(passage, claim, guessed, aliases=aliases if claim == gold else ())
    return guessed if is_there else AnswerType.TEXT


def _is_yes_no(gold: str) -> bool:
    return kind_of(AnswerType.YES_NO).guesses([gold])


def _refuse_another_question(row: Row, item: Item, first: Item, where: int) -> None:
    """Raise `BadInput` if forms of one question differ in text or gold answer, since they share the draws without a
    passage.
    """
    if item.question != first.question:
        another = f"{item.question_id!r} names another question in row {where}"
        raise row.bad("question_id", f"{another}; give each question an id of its own")
    if item.gold_answer != first.gold_answer and not answers.same_answer(item.gold_answer, first.gold_answer, first):
        another = f"{item.gold_answer!r:.60} is another gold answer than {first.gold_answer!r:.60} in row {where}"
        raise row.bad("gold_answer", f"{another}, of the same question; correct one, or put one into aliases")


def _item(row: Row, of_all: AnswerType, question_id: str) -> Item:
    """The item of a row; `of_all` is the type of the table's answers, and `question_id` its question, if the row names
    none.
    """
    documents, hops = documents_in(row), _hops_in(row)
    question, gold = row.filled("question"), row.filled("gold_answer")
    row.short("question")
    for column in ("gold_answer", "claimed_answer", "item_id", "question_id", "domain", "unit"):
        row.short(column, LONGEST_ANSWER)
    has_options = row.cells.get("options", "") != ""
    if hops and (documents or has_options):
        raise row.bad("hops", "is there beside options or documents; give a question one of them")
    if not documents and not has_options and not hops and not _SHOWN.isdisjoint(row.cells):
        row.filled("context")
    question_id = row.text("question_id", question_id)
    context = row.short("context") or "\n\n".join(hop.context for hop in hops)
    others: dict[str, Any] = {"item_id": row.text("item_id", question_id), "domain": row.text("domain", "general")}
    others |= {"flags": row.between_bars("flags"), "is_control": bool(row.flag("is_control"))}
    make = partial(standard_item, question_id, question, gold, context, documents=documents, hops=hops, **others)
    return _with_options(row, make()) if has_options else _with_answer(row, make, of_all)


def _hops_in(row: Row) -> tuple[Item, ...]:
    """The hops of a chain, each an object with the columns of a row that has a passage; () if the cell is empty.

    At most one of their passages is false.
    """
    if row.cells.get("hops", "") == "":
        return ()
    parts = row.parts("hops", "hop", '[{"question": "…", "gold_answer": "…", "context": "…"}, …]')
    if not 1 < len(parts) <= MOST_HOPS:
        raise row.bad("hops", f"holds {len(parts)}, and a chain has 2 to {MOST_HOPS}; a single question needs no hops")
    hops: list[Item] = []
    for number, part in enumerate(parts, start=1):
        if part.text("options") or not part.text("context"):
            raise part.bad("context", "is empty, or beside options; every hop has a passage and an open question")
        if (PREVIOUS in part.text("question")) is (number == 1):
            how = "asks about {previous}, and no hop is before it; name what it asks about"
            raise part.bad("question", how if number == 1 else "lacks {previous}, the answer to the hop before; add it")
        hop = _item(part, AnswerType.TEXT, f"hop-{number}")
        for before, other in enumerate(hops, start=1):
            if answers.same_answer(hop.gold_answer, other.gold_answer, other):
                raise part.bad("gold_answer", f"is that of hop {before} too, a cycle; let the chain end before it")
        hops.append(hop)
    if len(false := [number for number, hop in enumerate(hops, start=1) if not hop.is_standard]) > 1:
        raise row.bad("hops", f"hops {false[0]} and {false[1]} are both false; at most one may be, correct the others")
    if not answers.same_answer(row.text("gold_answer"), hops[-1].gold_answer, hops[-1]):
        raise row.bad("gold_answer", f"is not the last hop's, {hops[-1].gold_answer!r:.60}; correct one of them")
    return tuple(hops)


def _with_options(row: Row, item: Item) -> Item:
    """The item with its options and the label of its gold answer; a passage need not contain the text of an option."""
    if item.documents:
        raise row.bad("documents", "is there beside options; give a question one of the two and leave the other empty")
    offered = options_in(row, "options")
    label = label_of(item.gold_answer, offered)
    options = without_repeats(offered, label)
    if fault := fault_of(options, label):
        raise row.bad("gold_answer" if fault.startswith("the answer") else "options", fault)
    if (named := row.one_of("answer_type", AnswerType, AnswerType.OPTION)) != AnswerType.OPTION:
        raise row.bad("answer_type", f"is {named}, but a question with options has the type option; leave it empty")
    item = replace(item, gold_answer=label, claimed_answer=label, answer_type=AnswerType.OPTION, options=options)
    if why := unreadable(item):
        raise row.bad("options", f"{why}: its label or text is another option's too; change one of them")
    claim = label_of(_claim(row, item), options, offered)
    if fault := fault_of(options, claim):
        raise row.bad("claimed_answer", fault)
    return _with_claim(row, item, claim, row.number_in("perturbation_value")) if item.context else item


def _with_answer(row: Row, make: Callable[..., Item], of_all: AnswerType) -> Item:
    """The item with how its answer is compared, which other answers are right or wrong, and what its passage claims."""
    named = row.text("answer_type") and row.one_of("answer_type", AnswerType)
    answer_type, unit = AnswerType(named or _guessed(row, of_all)), row.text("unit")
    if answer_type is AnswerType.OPTION:
        raise row.bad("options", "is empty, but answer_type is option; name the options")
    gold = row.text("gold_answer")
    canonical = answers.normalise(gold, answer_type, unit)
    if canonical is None:
        how = "as 14 July 1789 or 1789-07-14" if answer_type is AnswerType.DATE else "as a reply would"
        told = f"{gold!r:.60} is no answer of type {answer_type}"
        raise row.bad("gold_answer", f"{told}; write it {how}, or take another type ({', '.join(AnswerType)})")
    if unit and answer_type is not AnswerType.NUMBER:
        raise row.bad("unit", f"is {unit!r}, but an answer of type {answer_type} has none; leave it empty")
    if unit and " " in canonical:  # the canonical form keeps a unit that disagrees
        raise row.bad("unit", f"is {unit!r}, but the gold answer is {gold!r}; write both in one unit")
    value = row.number_in("perturbation_value")
    others = tuple(answer for answer in row.between_bars("gold_answers") if answer != gold)
    aliases, accepted = row.between_bars("aliases"), row.between_bars("accepted")
    for each in accepted:
        if answers.bounds(each, answer_type, unit) is None:
            how = "values with | between them, or a range such as 400..800 of two positive numbers, years or dates"
            raise row.bad("accepted", f"{each!r:.60} is no answer of type {answer_type}; it holds {how}")
    item = make(answer_type=answer_type, unit=unit, aliases=aliases, other_gold_answers=others, accepted=accepted)
    if not row.is_ours and (why := unreadable(item)):
        raise row.bad("gold_answer", f"{why}; write it as a reply would, or put a shorter form into aliases")
    item = with_wrong_answers(item, row.between_bars("wrong_answers"))
    return _with_claim(row, item, _claim(row, item), value) if item.context else item


def _claim(row: Row, item: Item) -> str:
    """What the passage claims; by default the gold answer, or for a false passage the only other answer."""
    possible = ("yes", "no") if item.answer_type is AnswerType.YES_NO else [option.label for option in item.options]
    others = [each for each in possible if not answers.equal(each, item.gold_answer, item.answer_type)]
    if item.false_hop and not row.text("claimed_answer"):
        told = f"is empty, and hop {item.false_hop} is false"
        raise row.bad("claimed_answer", f"{told}; write the last answer of whoever believes that hop")
    is_false = row.text("perturbation_kind", PerturbationKind.NONE) != PerturbationKind.NONE
    return row.text("claimed_answer", others[0] if is_false and len(others) == 1 else item.gold_answer)


def level_of(item: Item, claimed: str) -> Level:
    """The level of a claim: by its offset or factor; moderate for names and cities."""
    kind = kind_of(item.answer_type)
    new = answers.normalise(claimed, item.answer_type, item.unit)
    apart = math.nan if new is None or not kind.is_value else kind.distance(kind.gold(item), new)
    if math.isnan(apart):
        return Level.MODERATE
    amount = math.exp(apart) if kind.perturbation is PerturbationKind.FACTOR else math.expm1(apart)
    return kind.level(kind.perturbation, round(amount, 9), item)


def _with_claim(row: Row, item: Item, claim: str, value: float | None) -> Item:
    """The item with what its passage claims, and how far that is from the truth."""
    if answers.normalise(claim, item.answer_type, item.unit) is None:
        raise row.bad("claimed_answer", f"{claim!r:.60} is no answer of type {item.answer_type}; correct it")
    perturbed = claim != item.gold_answer and not answers.same_answer(claim, item.gold_answer, item)
    if item.hops and perturbed is not bool(item.false_hop):
        told = "the right answer, though a hop is false" if item.false_hop else "false, though every hop is true"
        raise row.bad("claimed_answer", f"{claim!r:.60} is {told}; correct one of them")
    if perturbed and answers.is_accepted(claim, item):
        raise row.bad("claimed_answer", f"{claim!r:.60} counts as right, see the column accepted; claim another answer")
    default = PerturbationKind.SUBSTITUTION if perturbed else PerturbationKind.NONE
    kind = PerturbationKind(row.one_of("perturbation_kind", PerturbationKind, default))
    if perturbed == (kind is PerturbationKind.NONE):
        negation = "not " if perturbed else ""
        told = f"{claim!r} is {negation}the gold answer" if row.text("claimed_answer") else "is empty; fill it"
        raise row.bad("perturbation_kind", f"is {kind}, but claimed_answer {told}")
    unsaid = value is None and kind is PerturbationKind.SUBSTITUTION
    level = level_of(item, claim) if unsaid else kind_of(item.answer_type).level(kind, value, item)
    level = Level(row.one_of("level", Level, level))
    if perturbed == (level is Level.STANDARD):
        raise row.bad("level", f"is {level}, but perturbation_kind is {kind}; correct one, or leave level empty")
    if perturbed or value is not None or claim != item.gold_answer:
        item = replace(item, claimed_answer=claim, perturbation_kind=kind, perturbation_value=value, level=level)
    if not row.is_ours and not item.hops and not row.flag("argued") and lacks_its_claim(item):
        others = (kind for kind in (AnswerType.NUMBER, AnswerType.YEAR, AnswerType.DATE) if kind != item.answer_type)
        fitting = next((kind for kind in others if answers.states(item.context, claim, kind, item.unit)), None)
        hint = f" (as answer_type {fitting} it does)" if fitting else ""
        told = f"the passage does not contain the answer {claim!r}{hint}; correct it, add its spelling to aliases, or"
        raise LacksAnswer(f"{row.place('context')}: {told} put what a false one says into claimed_answer", row.number)
    return item


def lacks_its_claim(item: Item) -> bool:
    """Whether a passage does not state what it claims, for answer types that are stated in words."""
    claim = item.claimed_answer, item.answer_type, item.unit, item.aliases if item.is_standard else ()
    return kind_of(item.answer_type).is_stated and not answers.states(item.context, *claim)


def unreadable(item: Item) -> str:
    """Why no reply can be read as the item's gold answer or an alias; empty if one can."""
    gold = item.gold_answer, item.answer_type, item.unit, item.aliases
    replies = (answers.read(text, item) for text in (item.gold_answer, *item.aliases))
    if any(reply is not None and answers.equal(reply, *gold) for reply in replies):
        return ""
    return f"no reply is read as the {item.answer_type} {item.gold_answer[:50]!r}, so no answer could be right"


def with_wrong_answers(item: Item, named: Sequence[str]) -> Item:
    """The item with the wrong answers that are listed or claimed by misleading documents, except those that are
    right.
    """
    asserted = [document.answer for document in item.documents if document.kind is DocumentKind.MISINFO]
    distinct = dict.fromkeys(filter(None, (*named, *asserted)))
    wrong = (each for each in distinct if not any(answers.counts_as(each, gold, item) for gold in item.gold_answers))
    return replace(item, wrong_answers=tuple(wrong)) if distinct else item
