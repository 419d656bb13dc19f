"""What one shipped fact promises. Each rule takes a fact and yields what is wrong with it, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

from srdcr_lab import answers
from srdcr_lab.answers.wording import tokens
from srdcr_lab.records import AnswerType

BANDS = ("famous", "known", "obscure", "invented")
_SENTENCE_END = re.compile(r"[.!?][\"'’”)]*(?=\s+[\"'‘“(]?\S|\s*\Z)")
_ABBREVIATION = re.compile(r"(?<!\w)(?:[A-Z]|Dr|Mr|Mrs|St|Mt|No|Jr|Sr|vs|c)\.\Z")
_FOUR_DIGITS = re.compile(r"(?<![\d.,])[12]\d{3}(?![\d,]|\.\d)")
_COMMON = frozenset(
    "a an and at by for from in into of on or over the to under with after before first last new old great was were is"
    " airlines architect authority bank battle bell birthplace bridge bronze building bus captain cave centre church"
    " capital city composition construction country court crash creation creator death defined daily design development"
    " disaster discovery dose flight foundation founding grave invention inventor leader made main man members museum"
    " number office opening organization painter painting people person programme publication record sculptor seat"
    " sinking site span square station statue tomb tower treaty winner woman world writer year years".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row of a facts file: what every item has, and where it comes from."""

    question_id: str
    domain: str
    question: str
    gold_answer: str
    aliases: tuple[str, ...]
    answer_type: AnswerType
    unit: str
    context: str
    subject: str
    source_title: str
    fame_band: str
    checked_by: str

    def stated_in(self, text: str) -> list[answers.Span]:
        return answers.find(text, self.gold_answer, self.answer_type, self.unit, self.aliases)


def answer_stands_once(fact: Fact) -> Iterator[str]:
    spans = fact.stated_in(fact.context)
    if len(spans) != 1:
        places = ", ".join(repr(span.surface) for span in spans) or "nowhere"
        yield f"the passage states the answer {fact.gold_answer!r} {len(spans)} times ({places}); it must once"


def question_keeps_the_answer(fact: Fact) -> Iterator[str]:
    for span in fact.stated_in(fact.question):
        yield f"the question contains the answer ({span.surface!r})"


def subject_words(fact: Fact) -> list[str]:
    """Words that tell this subject from others: of subject and source title, without common ones and the answer's."""
    given_away = {word for text in (fact.gold_answer, *fact.aliases) for word in tokens(text)}
    words = dict.fromkeys(tokens(f"{fact.subject} {fact.source_title}"))
    return [word for word in words if len(word) > 2 and word not in _COMMON and word not in given_away]


def names(text: str, word: str) -> bool:
    """True where a text has the word, in this or another form ("Ottoman", "Ottomans"; "Bannock Burn")."""
    words = tokens(text)
    return any(each[:5] == word[:5] for each in words) or (len(word) > 5 and word in "".join(words))


def passage_and_question_agree(fact: Fact) -> Iterator[str]:
    """Question and passage each name the subject, so that the passage alone tells what its answer answers."""
    words = subject_words(fact)
    for text, which in ((fact.question, "question"), (fact.context, "passage")):
        if not any(names(text, word) for word in words):
            yield f"the {which} does not name the subject {fact.subject!r} (looked for {', '.join(words) or 'no word'})"


def unit_fits(fact: Fact) -> Iterator[str]:
    if (fact.answer_type is AnswerType.NUMBER) is not bool(fact.unit):
        yield f"the answer is a {fact.answer_type}, its unit {fact.unit!r}; a number has one, nothing else has"
    elif fact.unit and any(span.partial for span in fact.stated_in(fact.context)):
        yield f"the passage states {fact.gold_answer} without its unit {fact.unit!r} right behind it"


def no_second_year(fact: Fact) -> Iterator[str]:
    """Another year in the passage would give away an altered one."""
    if fact.answer_type is AnswerType.YEAR:
        own = answers.normalise(fact.gold_answer, AnswerType.YEAR)
        for found in _FOUR_DIGITS.findall(fact.context):
            if found != own:
                yield f"the passage holds another four-digit number, {found}"


def two_to_four_sentences(fact: Fact) -> Iterator[str]:
    ends = [end for end in _SENTENCE_END.finditer(fact.context) if not _ABBREVIATION.search(fact.context[: end.end()])]
    if not 2 <= len(ends) <= 4:
        yield f"the passage has {len(ends)} sentences, 2 to 4 were asked for"


def provenance_is_given(fact: Fact) -> Iterator[str]:
    if fact.fame_band not in BANDS:
        yield f"the fame band {fact.fame_band!r} is none of {', '.join(BANDS)}"
    if (fact.fame_band == "invented") is not (fact.source_title == "invented"):
        yield f"band {fact.fame_band!r} and source title {fact.source_title!r} disagree on whether it is invented"
    for column in ("subject", "source_title", "checked_by"):
        if not getattr(fact, column):
            yield f"the column {column} is empty"


RULES: MappingProxyType[str, Callable[[Fact], Iterator[str]]] = MappingProxyType(
    {
        "answer once in the passage": answer_stands_once,
        "answer not in the question": question_keeps_the_answer,
        "passage and question agree": passage_and_question_agree,
        "unit": unit_fits,
        "no second year": no_second_year,
        "two to four sentences": two_to_four_sentences,
        "provenance": provenance_is_given,
    }
)
