"""What the pocket model is taught to reply, as it decodes it, is read as meant by the protocols that ask for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from srdcr_lab import answers, prompts
from srdcr_lab.prompts import readers
from srdcr_lab.prompts.readers import Stand, Thesis, answer_line
from srdcr_lab.protocols.answering import Argument
from srdcr_lab.protocols.counterfactual import Question
from srdcr_lab.protocols.documents import several_values, value_of
from srdcr_lab.records import AnswerType, Item
from srdcr_lab.records.files import folder
from tests import training_code
from tests.scripted import ScriptedModel, setup_of

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ROWS = 80  # of each maker
OPTION_MAKERS = ("option_row", "agents_row", "reflection_row", "stance_row", "stance_judge_row")
DOCUMENT_MAKERS = (
    "together_row", "document_agent_row", "aggregator_row", "thesis_row", "advocate_row", "rebuttal_row",
    "documents_judge_row",
)  # fmt: skip
SETTLED = (  # templates whose reply ends with what is true
    "chain_of_thought", "mad_expert", "mad_plain", "mad_stepwise", "mad_update", "contrast_view", "contrast_revision",
    "reflection_revision", "stance_rebuttal", "stance_reflection", "stance_judge",
)  # fmt: skip


@dataclass(frozen=True)
class Taught:
    """A training row: its template, what it is about, its prompt, and its reply as the model decodes it."""

    template: str
    about: Any  # an `option_rows.Choice` or a `document_rows.Shelf`
    prompt: str
    reply: str
    item: Item

    def same(self, one: str | None, other: str | None) -> bool:
        if one is None or other is None:
            return one is other
        return answers.equal(one, other, self.item.answer_type)


@pytest.fixture(scope="module")
def taught() -> list[Taught]:
    tokenizer, materials = transformers.AutoTokenizer.from_pretrained(folder("pocket")), training_code.materials()

    def decoded(pieces: list[tuple[str, float]]) -> str:
        ids = [token for text, _ in pieces for token in tokenizer.encode(text, add_special_tokens=False)]
        return str(tokenizer.decode(ids, skip_special_tokens=True))

    found = []
    made = [*_made("option_rows", "choice", OPTION_MAKERS, materials)]
    made += _made("document_rows", "shelf", DOCUMENT_MAKERS, materials)
    for (prompt, _), *pieces, about in made:
        fact = materials.world.met.get(about.question if hasattr(about, "question") else about.fact.question)
        found.append(Taught(_template(prompt), about, prompt, decoded(pieces), _item(about, fact)))
    return found


def _made(module_name: str, subject: str, makers: tuple[str, ...], materials: Any) -> Iterator[list[Any]]:
    """Rows of each maker, and at the end of each the subject that the maker drew for it."""
    module, drawn = training_code.module(module_name), []
    draw = getattr(module, subject)

    def remember(*arguments: Any) -> Any:
        drawn.append(draw(*arguments))
        return drawn[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, subject, remember)
        for name in makers * ROWS:
            yield [*getattr(module, name)(materials), drawn[-1]]


def _template(prompt: str) -> str:
    names = (name for name in prompts.sources() if prompt.startswith(f"<s>{prompts.system_text(name)}<|user|>"))
    (name,) = names
    return name


def _item(about: Any, fact: Any) -> Item:
    """The item that a protocol would have asked about."""
    options = getattr(about, "options", ())
    gold = about.truth if hasattr(about, "truth") else fact.answer
    return Item(
        item_id="q",
        question_id="q",
        question=about.question if hasattr(about, "question") else fact.question,
        gold_answer=gold,
        context="",
        claimed_answer=gold,
        answer_type=AnswerType.OPTION if options else training_code.answer_type(fact),
        options=options,
    )


def _of(taught: list[Taught], *templates: str) -> list[Taught]:
    found = [one for one in taught if one.template in templates]
    assert found
    return found


def _read(one: Taught, reply: str) -> str | None:
    return Question(one.item, setup_of(ScriptedModel())).read(reply)


def test_every_template_of_these_methods_is_taught(taught: list[Taught]) -> None:
    names, materials = training_code.module("phrases").TEMPLATES, training_code.materials()
    makers = (training_code.module("roles").lone_judge_row, training_code.module("method_rows").astute_row)
    over_a_passage = {_template(make(materials)[0][0]) for make in makers * ROWS}
    assert over_a_passage == {"judge_alone", "astute_memory", "astute_answer"}
    assert {one.template for one in taught} | over_a_passage == set(names[names.index("chain_of_thought") :])


@pytest.mark.parametrize("template", SETTLED)
def test_a_reply_that_ends_with_an_answer_names_the_true_one(taught: list[Taught], template: str) -> None:
    for one in _of(taught, template):
        assert one.same(_read(one, one.reply), one.about.truth), one.reply


def test_a_label_and_what_no_protocol_reads(taught: list[Taught]) -> None:
    for one in _of(taught, "option_answer"):
        assert answers.extract_option(one.reply, one.item.options) == one.about.truth
    for one in _of(taught, "reflection_feedback", "contrast_comparison", "stance_abduction", "stance_critic"):
        assert answer_line(one.reply) is None
    for one in _of(taught, "mad_judge"):
        shown = [part.partition("\n</reply>")[0] for part in one.prompt.split("<reply agent=")[1:]]
        named = [_read(one, text.replace("∶", ":")) for text in shown]
        assert len(named) == 3
        assert one.same(_read(one, one.reply), Counter(named).most_common()[0][0])


@pytest.mark.parametrize("template", ["documents_together", "documents_aggregator", "documents_judge"])
def test_a_conclusion_from_documents_is_the_one_true_answer(taught: list[Taught], template: str) -> None:
    for one in _of(taught, template):
        values = several_values(one.reply, one.item)
        assert len(values) == 1
        assert one.same(values[0], one.about.fact.answer)


def test_what_speakers_of_documents_say_is_read(taught: list[Taught]) -> None:
    for one in _of(taught, "document_agent"):
        (place,) = (place for place, text in enumerate(one.about.texts) if f"<document>\n{text}\n" in one.prompt)
        assert one.same(Argument(one.item, setup_of(ScriptedModel()), 150).read(one.reply), one.about.claims[place]), (
            one.reply
        )
    for one in _of(taught, "proponent_thesis"):
        assert one.same(value_of(readers.thesis(one.reply).answer, one.item), one.about.claims[0]), one.reply
    for one in _of(taught, "devils_advocate"):
        challenges = readers.challenges(one.reply, len(one.about.texts))
        assert list(challenges) == one.about.faulted()
        assert set(challenges.values()) <= {f"It is {one.about.fact.answer}."}
    states = set()
    for one in _of(taught, "proponent_rebuttal"):
        held = one.about.claims[0] or one.about.fact.answer
        rebuttal = readers.rebuttal(one.reply, Thesis(held, ("My document says so.",)))
        assert rebuttal.state is (Stand.DEFEND if held == one.about.fact.answer else Stand.CONCEDE)
        states.add(rebuttal.state)
    assert states == {Stand.DEFEND, Stand.CONCEDE}
