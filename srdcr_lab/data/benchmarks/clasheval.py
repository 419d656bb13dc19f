"""ClashEval (Wu et al. 2024): questions of six domains, each passage once as found and altered by known amounts.

One row is one modification: years are offset, records, counts and doses multiplied, names and cities replaced (slight,
significant, comical). A question becomes one standard item and one perturbed item per modification. The columns that
the model-response files add are ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.name import SUBSTITUTIONS
from srdcr_lab.answers.units import meanings
from srdcr_lab.data.benchmarks.gathering import Gathering, PublishedRow, rows_of
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.records import AnswerType, Exemplar, Item, PerturbationKind

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.items import ItemSet

_IN_UNIT = re.compile(r"(?<!\w)in ([^\W\d_]+(?:/[^\W\d_]+)?)")


@dataclass(frozen=True, slots=True)
class _Domain:
    """How one of the six data sets is read."""

    domain: str
    answer_type: AnswerType
    kind: PerturbationKind


_DOMAINS = MappingProxyType(
    {
        "names": _Domain("names", AnswerType.NAME, PerturbationKind.SUBSTITUTION),
        "locations": _Domain("cities", AnswerType.CITY, PerturbationKind.SUBSTITUTION),
        "years": _Domain("years", AnswerType.YEAR, PerturbationKind.OFFSET),
        "records": _Domain("records", AnswerType.NUMBER, PerturbationKind.FACTOR),
        "news": _Domain("news", AnswerType.NUMBER, PerturbationKind.FACTOR),
        "drugs": _Domain("drugs", AnswerType.NUMBER, PerturbationKind.FACTOR),
    }
)


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows."""
    gathering = Gathering("clasheval", file)
    degree = "mod_degree" if "mod_degree" in frame.columns else "mod_type"
    questions: dict[tuple[str, str], Item] = {}
    numbers: Counter[str] = Counter()
    for row in rows_of(frame, file):
        key = (row.text("dataset"), row.text("question"))
        if key not in questions:
            numbers[key[0]] += 1
            questions[key] = _standard(row, f"clasheval-{key[0]}-{numbers[key[0]]}")
            gathering.take(questions[key])
        _modification(gathering, row, questions[key], row.text(degree), degree)
    return gathering.result(exemplar_pool)


def _standard(row: PublishedRow, question_id: str) -> Item:
    name, gold = row.text("dataset"), row.text("answer_original")
    if name not in _DOMAINS:
        raise row.bad("dataset", f"{name!r} is none of {', '.join(_DOMAINS)}")
    domain = _DOMAINS[name]
    answer_type = domain.answer_type
    if domain.kind is not PerturbationKind.OFFSET and answers.normalise(gold, answer_type) is None:
        answer_type = AnswerType.TEXT  # "4 gold, 2 silver", a place described in a sentence
    question = row.text("question")
    return Item(
        item_id=question_id,
        question_id=question_id,
        question=question,
        gold_answer=gold,
        context=row.text("context_original"),
        claimed_answer=gold,
        domain=domain.domain,
        answer_type=answer_type,
        unit=_unit(question, gold) if answer_type is AnswerType.NUMBER else "",
    )


def _unit(question: str, gold: str) -> str:
    """The unit of the answer, else the one the question asks for ("in mg"), else none."""
    inferred = answers.infer_unit(gold)
    asked = (found for found in _IN_UNIT.findall(question) if meanings(found))
    return (inferred[1] if inferred else "") or next(asked, "")


def _modification(gathering: Gathering, row: PublishedRow, standard: Item, degree: str, column: str) -> None:
    claim = row.text("answer_mod")
    if not degree:
        raise row.bad(column, "is empty")
    if row.text("answer_original") != standard.gold_answer:
        gathering.leave_out("an earlier row gives the question another gold answer")
        return
    if claim and answers.equal(claim, standard.gold_answer, standard.answer_type, standard.unit):
        if row.text("context_mod") != standard.context:
            gathering.leave_out("the modification leaves the answer as it was")
        return  # the unmodified passage, which is the standard item
    item = replace(
        standard,
        item_id=f"{standard.question_id}@{degree}",
        context=row.text("context_mod"),
        claimed_answer=claim,
    )
    gathering.take(_graded(row, item, degree, column))


def _graded(row: PublishedRow, item: Item, degree: str, column: str) -> Item:
    """The item with kind, value and level of its modification."""
    kind = _DOMAINS[row.text("dataset")].kind
    if kind is PerturbationKind.SUBSTITUTION:
        if degree not in SUBSTITUTIONS:
            raise row.bad(column, f"{degree!r} is none of {', '.join(SUBSTITUTIONS)}")
        return replace(item, perturbation_kind=kind, level=SUBSTITUTIONS[degree])
    try:
        value = float(degree)
    except ValueError:
        raise row.bad(column, f"{degree!r} is not a number") from None
    if kind is PerturbationKind.FACTOR and value <= 0:
        raise row.bad(column, f"the factor {degree} is not above 0")
    level = kind_of(item.answer_type).level(kind, value)
    return replace(item, perturbation_kind=kind, perturbation_value=value, level=level)


CLASHEVAL = Benchmark(
    name="clasheval",
    meaning="six domains, each passage as found and altered by known amounts (Wu et al. 2024)",
    home="https://github.com/kevinwu23/StanfordClashEval",
    licence="CC BY 4.0",
    rows=9_980,
    url="https://raw.githubusercontent.com/kevinwu23/StanfordClashEval/main/data/dataset/dataset.pqt",
    file="dataset.pqt",
    sha256="",
    columns=(
        "question",
        "context_original",
        "context_mod",
        "answer_original",
        "answer_mod",
        "mod_degree|mod_type",
        "dataset",
    ),
    read=read,
)
