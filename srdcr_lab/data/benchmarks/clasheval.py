"""ClashEval (Wu et al. 2024): questions of six domains, each passage once as published and altered by known amounts.

One row is one modification: years are offset, records, counts and doses multiplied, names and cities replaced (slight,
significant, comical). A question becomes one standard item and one perturbed item per modification.

Its authors deleted the file from their main branch on 17 January 2025 and left the earlier commit, which `url` names.
What says CC BY 4.0 is the metadata beside it (`croissant.json`); the repository has no licence file. Its README also
points to the dataset kewu93/ClashEval on Hugging Face.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.name import SUBSTITUTIONS
from srdcr_lab.answers.quantities import meanings
from srdcr_lab.data.benchmarks.gathering import Passages, contradicted
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.items import standard_item
from srdcr_lab.data.rows import Row
from srdcr_lab.records import AnswerType, Item, PerturbationKind

_IN_UNIT = re.compile(r"(?<!\w)in ([^\W\d_]+(?:/[^\W\d_]+)?)")
_DOMAINS: Mapping[str, tuple[str, AnswerType]] = {  # data set → our domain, the type of its answers
    "names": ("names", AnswerType.NAME),
    "locations": ("cities", AnswerType.CITY),
    "years": ("years", AnswerType.YEAR),
    "records": ("records", AnswerType.NUMBER),
    "news": ("news", AnswerType.NUMBER),
    "drugs": ("drugs", AnswerType.NUMBER),
}


def read(rows: Sequence[Row]) -> Passages:
    """Items of the published rows."""
    passages = Passages("clasheval")
    questions: dict[tuple[str, str], Item] = {}
    numbers: Counter[str] = Counter()
    for row in rows:
        name, question = row.one_of("dataset", _DOMAINS), row.text("question")
        if (name, question) not in questions:
            numbers[name] += 1
            questions[name, question] = _standard(row, f"clasheval-{name}-{numbers[name]}")
            passages.take(questions[name, question])
        _take_modification(passages, row, questions[name, question])
    return passages


def _standard(row: Row, question_id: str) -> Item:
    question, gold = row.text("question"), row.text("answer_original")
    domain, answer_type = _DOMAINS[row.text("dataset")]
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
    kind, value = kind_of(_DOMAINS[row.text("dataset")][1]).perturbation, None
    if kind is PerturbationKind.SUBSTITUTION:
        level = SUBSTITUTIONS[row.one_of(column, SUBSTITUTIONS)]
    else:
        value = row.number_in(column) or 0.0
        if kind is PerturbationKind.FACTOR and value <= 0:
            raise row.bad(column, f"the factor {degree} is not above 0")
        level = kind_of(standard.answer_type).level(kind, value)
    form = contradicted(standard, degree, context, claim)
    passages.take(replace(form, perturbation_kind=kind, perturbation_value=value, level=level))


CLASHEVAL = Benchmark(
    name="clasheval",
    meaning="six domains, each passage as found and altered by known amounts (Wu et al. 2024)",
    home="https://github.com/kevinwu23/StanfordClashEval",
    licence="CC BY 4.0 by its croissant.json; its authors took the file off their main branch in January 2025",
    rows=9_980,
    url="https://raw.githubusercontent.com/kevinwu23/StanfordClashEval/ba892d17f9b125264494689b7ce5d8ab22ed821d/data/dataset/dataset.pqt",
    columns=(
        "question", "context_original", "context_mod", "answer_original", "answer_mod", "mod_degree|mod_type", "dataset"
    ),
    read=read,
)  # fmt: skip
