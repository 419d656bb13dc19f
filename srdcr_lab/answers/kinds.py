"""The base class of answer types, the functions that call these classes, and the reading of replies.

`Kind` is free text and the base class of the others. A class that sets `answer_type` handles that type;
`srdcr_lab.answers` imports all of them. A new type needs a member of `AnswerType`, a class and, in a new file, an
import there.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, ClassVar

from srdcr_lab.answers import wording
from srdcr_lab.answers.wording import ENGLISH, Span, pattern, stems, takes_up, undecorated, unexplained, worded
from srdcr_lab.records import AnswerType, Item, Level, Option, PerturbationKind


class Audit(StrEnum):
    """The outcome for a false passage; a flagged one is usable, but may give the truth away."""

    ACCEPTED = "accepted"
    FLAGGED = "flagged"
    REFUSED = "refused"


Doubt = tuple[Audit, str]  # FLAGGED or REFUSED, and the sentence that says why


def doubt(is_refused: bool, sentence: str) -> Doubt:
    return Audit.REFUSED if is_refused else Audit.FLAGGED, sentence


@dataclass(frozen=True, slots=True)
class FalseClaim:
    """One perturbation of one gold answer; `refusal` says why there is none.

    `tag` is its name in item ids ("+20", "x1.5", "slight"). `canonical` is the false answer in the form in which
    answers are compared, `answer` in the form in which it is written.
    """

    kind: PerturbationKind
    value: float | None
    level: Level
    tag: str
    canonical: str = ""
    answer: str = ""
    refusal: str = ""
    flags: tuple[str, ...] = ()


class NoClaim(ValueError):
    """A gold answer cannot be altered by an amount; the text says why."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of an answer; unknown traits are empty.

    For a person or a city: `gender` is "f" or "m", `role` words of ``[roles]`` or others, `era` the centuries it
    belongs to, `country` in English, `near` names that resemble it. For a number in its unit, or a year: less than
    `at_least` or more than `at_most` is impossible. `lived` are persons of the passage, each with the first and the
    last year in which it can speak of them.
    """

    gender: str = ""
    role: frozenset[str] = frozenset()
    era: frozenset[str] = frozenset()
    country: str = ""
    near: tuple[str, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    lived: tuple[tuple[str, int, int], ...] = ()

    def forbids(self, value: Decimal | int) -> str:
        """Why a value is impossible, in words; empty if it is possible."""
        if self.at_least is not None and value < self.at_least:
            return f"beyond what is possible: at least {self.at_least:g}, and it is {value}"
        if self.at_most is not None and value > self.at_most:
            return f"beyond what is possible: at most {self.at_most:g}, and it is {value}"
        return ""

    def anachronisms(self, year: int) -> list[str]:
        """The persons of the passage who did not live in a year, one flag each."""
        return [f"an anachronism in {year}: {name}, {a} to {z}" for name, a, z in self.lived if not a <= year <= z]


@dataclass(frozen=True)
class Wanted:
    """Which claims are made about items.

    `amounts` by answer type (default: the type's own), `pools` of substitutes by (domain, answer type), each with its
    traits, `traits` of gold answers by question_id (default: inferred), `seed` of the substitutions, `present`: the
    year after which a claim is flagged as future, `is_vouched_for`: the passages state one answer once, so what is
    `left_over` in them is no flag.
    """

    amounts: Mapping[AnswerType, Sequence[float]] = field(default_factory=dict)
    pools: Mapping[tuple[str, AnswerType], Mapping[str, Traits]] = field(default_factory=dict)
    traits: Mapping[str, Traits] = field(default_factory=dict)
    seed: int = 0
    present: int = 9999
    is_vouched_for: bool = True


_QUOTED = 3  # words that a flag quotes
_BEHIND = 250  # characters behind a mention that are looked at
LONGEST = 10  # words of an answer, unless the right one is longer
ARTICLES = frozenset({"a", "an", "the"})
_GAP = r"(?:[^\w%+#€£$]{1,4}|(?<=[+#%]))"  # nothing between "+" and "HD"
_BREAK = _GAP.replace("{1,4}", r"{1,4}(?:(?:a|an|the)[^\w%+#€£$]{1,3})?")
SCALES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("levels.toml").read_text("utf-8"))


class Kind:
    """Free text, compared without case, diacritics, articles and punctuation [as SQuAD does]; base of all types.

    A type overrides `canonical` and `occurrences`; one of values, `is_value` and `candidates` too; one whose answers
    can be replaced by false ones, `perturbation`, `quantity` and `altered`.

    Which amounts are tried, and their levels, is in ``levels.toml`` by quantity, with sources. A rewrite has the level
    of the offset or factor that it claims; what is impossible is absurd. Substitutions are ClashEval's, their levels
    ours: slight is subtle, significant moderate, comical blatant.
    """

    answer_type: ClassVar[AnswerType] = AnswerType.TEXT
    is_value: ClassVar[bool] = False  # an amount, a point in time, yes or no: read from a sentence, in canonical form
    is_stated: ClassVar[bool] = True  # a passage that claims such an answer says it in words
    is_proper: ClassVar[bool] = False  # a name: in a sentence it has capitals
    perturbation: ClassVar[PerturbationKind] = PerturbationKind.NONE

    def __init_subclass__(cls) -> None:
        if "answer_type" in vars(cls):
            _KINDS[cls.answer_type] = cls()

    def canonical(self, text: str, unit: str = "") -> str | None:
        """The form in which bare answers are compared, idempotent; None if the text is not an answer of this type."""
        words = wording.tokens(text)
        return " ".join(word for word in words if word not in ARTICLES) or " ".join(words) or None

    def is_no_answer(self, text: str) -> bool:
        """Whether a text says that there is no answer, or gives more than one."""
        return wording.is_refusal(text)

    def same(self, a: str, b: str, unit: str = "") -> bool:
        """Whether two canonical forms are the same answer; for texts, also whether they are the same day."""
        return a == b or ((day := normalise(a, AnswerType.DATE)) is not None and day == normalise(b, AnswerType.DATE))

    def distance(self, a: str, b: str) -> float:
        """The distance between two canonical forms, ≥ 0; NaN if the type has none."""
        return math.nan

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> Iterable[Span]:
        """Where a passage states a canonical answer, in any spelling."""
        gap = _GAP if ARTICLES.issuperset(words := canonical.split()) else _BREAK  # an article has one place
        spans = [*wording.places(passage, [r"(?:(?<!\w)a\.[ ]?)*" + gap.join(map(wording.spelled, words))])]  # initials
        if day := normalise(canonical, AnswerType.DATE):
            spans += [span for span in kind_of(AnswerType.DATE).occurrences(passage, day) if not span.partial]
        return spans

    def candidates(self, text: str, question: str, unit: str = "") -> list[str]:
        """The distinct answers that a sentence may give, without those in its question; none for free text."""
        return []

    def is_bare(self, text: str, question: str) -> bool:
        """Whether a text can be an answer by itself, without a sentence around it."""
        return True

    def is_doubtful(self, sentence: str) -> bool:
        """Whether a sentence may say that what it names is not the answer."""
        return wording.doubts(sentence)

    def extract(self, output: str, reading: Reading) -> str | None:
        """The answer in a reply, in what it announces or in all of it; see the function `extract`."""
        reply = pattern("next_question").sub(r"\1", wording.spoken(output))
        answers = [self.answer_of(text, reading) for text in wording.announced(reply) or [reply]]
        distinct = {answer and normalise(answer, self.answer_type, reading.unit) for answer in answers}
        return answers[0] if len(distinct) == 1 else None

    def answer_of(self, text: str, reading: Reading) -> str | None:
        """The answer in one text of a reply."""
        return reading.answer(text)

    def guesses(self, answers: Sequence[str]) -> bool:
        """Whether a table with these gold answers (one or more, digits folded) is taken to have this type."""
        return False

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """The new answer in the style in which `surface`, a mention that `find` returned, writes `answer`; None if
        impossible.

        Years, numbers and dates are in canonical form, other answers as usually written: "Twelve", "12" and "18" give
        "Eighteen"; "July 14th, 1789", "1789-07-14" and "1789-07-21" give "July 21st, 1789".
        """
        letters = [char for char in surface if char.isalpha()]
        return new_answer.upper() if len(letters) > 1 and all(char.isupper() for char in letters) else new_answer

    def gold(self, item: Item) -> str:
        """The item's gold answer as `respell` takes it: a value in canonical form, otherwise as written."""
        canonical = normalise(item.gold_answer, self.answer_type, item.unit) if self.is_value else None
        return canonical or item.gold_answer

    def restated(self, item: Item, new: str) -> str:
        """The item's gold answer as written, with hedge and unit, but with its value exchanged."""
        for span in find(item.gold_answer, item.gold_answer, self.answer_type, item.unit)[:1]:
            if (written := self.respell(span.surface, self.gold(item), new)) is not None:
                return item.gold_answer[: span.start] + written + item.gold_answer[span.end :]
        return new

    def quantity(self, item: Item | None = None) -> str:
        """The row of ``levels.toml`` for an item's answer."""
        return self.answer_type

    def level(self, kind: PerturbationKind, value: float | None, item: Item | None = None) -> Level:
        """How far a perturbation departs from the truth; moderate if it has no amount."""
        if kind is PerturbationKind.NONE:
            return Level.STANDARD
        if kind is PerturbationKind.OFFSET and value is not None:
            size, quantity = abs(value), "year"
        elif kind is PerturbationKind.FACTOR and value is not None and value > 0:
            size, quantity = max(value, 1 / value), "number"
        else:
            return Level.MODERATE
        bounds = SCALES[self.quantity(item) if kind is self.perturbation else quantity]["up_to"]
        return next((Level(level) for level, bound in bounds.items() if size <= bound), Level.BLATANT)

    def claims(self, item: Item, wanted: Wanted) -> Iterator[FalseClaim]:
        """Every claim about an item's answer, possible or not; none if this type is not perturbed."""
        own = wanted.traits.get(item.question_id, Traits())
        for amount in wanted.amounts.get(self.answer_type, SCALES.get(self.quantity(item), {}).get("amounts", ())):
            tag = f"x{amount:g}" if self.perturbation is PerturbationKind.FACTOR else f"{amount:+.0f}"
            claim = FalseClaim(self.perturbation, float(amount), self.level(self.perturbation, amount, item), tag)
            try:
                new, flags = self.altered(item, amount, wanted.present, own)
                if why := self.impossible(item, new, own):
                    claim, flags = replace(claim, level=Level.ABSURD), [*flags, why]
                claim = replace(claim, canonical=new, answer=self.restated(item, new), flags=tuple(flags))
            except NoClaim as error:
                claim = replace(claim, refusal=str(error))
            yield claim

    def altered(self, item: Item, amount: float, present: int, own: Traits) -> tuple[str, list[str]]:
        """The gold answer altered by an amount, in canonical form, and flags; raises `NoClaim` if that is not
        possible.
        """
        raise NotImplementedError

    def impossible(self, item: Item, new: str, own: Traits) -> str:
        """Why a claim, in canonical form, is impossible; empty if it is possible, or if the gold answer, whose traits
        are `own`, would be impossible too.
        """
        return ""

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        """What speaks against exchanging these mentions, and what else gives the gold answer away, whatever is claimed.

        A mention that may mean something else and another statement of the answer refuse the passage; weaker mentions
        and what merely depends on the answer are flagged.
        """
        yield from ()

    def doubts_of_claim(self, item: Item, claim: FalseClaim, spans: Sequence[Span]) -> Iterator[Doubt]:
        """What in the passage gives this claim away."""
        yield from ()

    def related(self, item: Item, rest: str) -> Iterator[tuple[int, str]]:
        """What in the rest of a passage, beside the words of ``[left_over]``, may be related to its answer; with its
        place.
        """
        yield from ()

    def contradictions(self, false: Item, spans: Sequence[Span]) -> Iterator[str]:
        """What in a false passage contradicts its claim; `spans` are the mentions of the claim."""
        yield from ()


_KINDS: dict[AnswerType, Kind] = {AnswerType.TEXT: Kind()}


def kind_of(answer_type: AnswerType) -> Kind:
    """The class of an answer type; `Kind` itself for free text."""
    return _KINDS[answer_type]


@lru_cache(maxsize=10_000)  # the same few answers are compared again and again
def normalise(text: str, answer_type: AnswerType, unit: str = "") -> str | None:
    """Canonical form of a bare answer, in which answers are compared; None if the text is not an answer of that type.

    Idempotent. The module of each type says which answers count as the same.
    """
    kind, bare = kind_of(answer_type), text if text.isalnum() else undecorated(wording.after_marker(text))
    if not bare or kind.is_no_answer(bare):
        return None
    canonical = kind.canonical(bare, unit)
    return None if canonical is None or kind.is_no_answer(canonical) else canonical


def flagged(item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
    """What may give away the answer that these spans state, by the tables of flags in ``english.toml``."""
    passage, tables = item.context, ENGLISH["flags"].get(item.answer_type, {})
    texts = {
        "passage": [passage],
        "sentence": [wording.sentence_at(passage, span.start) for span in spans],
        "behind": [passage[span.end : span.end + _BEHIND] for span in spans],
    }
    for where, some in texts.items():
        for sentence, words in tables.get(where, {}).items():
            if match := next(filter(None, map(worded(f"(?i:{words})").search, some)), None):
                yield Audit.FLAGGED, f"{sentence}: {match[0].strip()!r}"


def left_over(item: Item, passage: str, spans: Sequence[Span]) -> str:
    """The words beside the mentions of an answer for which the program cannot vouch, in order, as a flag.

    Nothing of a passage may be left over: no figure, name or relation that could restate the answer or contradict the
    claim.
    """
    rest = wording.without(passage, spans)
    found = dict(kind_of(item.answer_type).related(item, rest))
    for match in worded(ENGLISH["left_over"][item.answer_type]).finditer(rest):
        found = {place: words for place, words in found.items() if not match.start() <= place < match.end()}
        found[match.start()] = match[0]
    words = dict.fromkeys(repr(found[place].strip()) for place in sorted(found))
    return f"doubtful, as it may be related to the answer: {', '.join(islice(words, _QUOTED))}" if words else ""


def extract(
    output: str, answer_type: AnswerType, unit: str = "", choices: Sequence[Option] = (), question: str = "",
    longest: int = LONGEST,
) -> str | None:  # fmt: skip
    """The answer in a model's reply to "reply with the answer alone"; None (unparsed) rather than a guess.

    Years, numbers and dates are returned in canonical form, names, cities and texts (at most `longest` words) as
    written; an option is the label of one of the `choices` that the reply names. After "Answer:" or "the answer is"
    follows the answer; if there are several of these, they must agree. Otherwise the answer is the whole reply, its
    first sentence, or the only candidate in it: a value or a name that is not in the `question`. None for a refusal,
    for two answers, for a denied answer, and for the question repeated.
    """
    return _extracted(output, Reading(kind_of(answer_type), question, unit, longest, tuple(choices)))


@lru_cache(maxsize=10_000)  # draws repeat each other, and so do methods that ask the same
def _extracted(output: str, reading: Reading) -> str | None:
    return reading.kind.extract(output, reading)


def read(reply: str, item: Item) -> str | None:
    """The answer in a reply to an item's question; a text may be as long as the longest right answer."""
    longest = max([LONGEST, *(len(each.split()) for each in (*item.gold_answers, *item.aliases, *item.accepted))])
    return extract(reply, item.answer_type, item.unit, item.options, item.question, longest)


def equal(a: str, b: str, answer_type: AnswerType, unit: str = "", aliases: Sequence[str] = ()) -> bool:
    """Exact match after normalisation of `a` with `b` or one of b's aliases. A text that is not an answer equals
    nothing.
    """
    left, others = normalise(a, answer_type, unit), _canonical_forms((b, *aliases), answer_type, unit)
    return left is not None and any(kind_of(answer_type).same(left, right, unit) for right in others)


def says_the_same(one: str | None, other: str | None, item: Item) -> bool:
    """Whether two answers are equal by their type alone, without the gold answer. None equals nothing."""
    return one is not None and other is not None and equal(one, other, item.answer_type, item.unit)


def same_answer(one: str | None, other: str | None, item: Item) -> bool:
    """Whether two answers to the item's question are equal, or both are its gold answer. None equals nothing."""
    if one is None or other is None:
        return False
    gold = item.gold_answer, item.answer_type, item.unit, item.aliases
    are_gold = [equal(each, *gold) for each in (one, other)] if item.aliases else []
    return all(are_gold) if any(are_gold) else says_the_same(one, other, item)


def bounds(accepted: str, answer_type: AnswerType, unit: str = "") -> tuple[str, str] | None:
    """The canonical ends of an accepted value: both ends of a range such as "400..800", otherwise one value twice.

    None if they are not answers of the type, or if the type has no ranges.
    """
    kind = kind_of(answer_type)
    low, _, high = accepted.partition("..") if kind.is_value else (accepted, "", "")
    first, last = (normalise(end, answer_type, unit) for end in (low, high or low))
    if first is None or last is None or (high and math.isnan(kind.distance(first, last))):
        return None
    return first, last


def is_accepted(answer: str | None, item: Item) -> bool:
    """Whether an answer is one of the item's `accepted` values, or in a range of them."""
    kind, unit = kind_of(item.answer_type), item.unit
    value = normalise(answer, item.answer_type, unit) if answer and item.accepted else None
    if value is None:
        return False
    for low, high in filter(None, (bounds(each, item.answer_type, unit) for each in item.accepted)):
        width = kind.distance(low, high)  # NaN where the type has none
        if kind.same(value, low, unit) or (kind.distance(low, value) <= width and kind.distance(value, high) <= width):
            return True
    return False


def counts_as(answer: str | None, gold: str, item: Item) -> bool:
    """Whether an answer is this gold answer of the item; for `item.gold_answer` the accepted values count too."""
    return same_answer(answer, gold, item) or (gold == item.gold_answer and is_accepted(answer, item))


def find(passage: str, answer: str, answer_type: AnswerType, unit: str = "", aliases: Sequence[str] = ()) -> list[Span]:
    """Every occurrence of an answer, or of its aliases, in any spelling, left to right and without overlaps.

    Weaker mentions are marked `partial`. A text that is not an answer of its type occurs nowhere.
    """
    return wording.without_overlaps(_occurrences(passage, (answer, *aliases), answer_type, unit))


def states(passage: str, answer: str, answer_type: AnswerType, unit: str = "", aliases: Sequence[str] = ()) -> bool:
    """Whether an answer, or one of its aliases, occurs in a passage; stops at the first mention."""
    is_there = (at := passage.find(answer)) >= 0 and wording.is_whole_word(passage, at, at + len(answer))
    if is_there and kind_of(answer_type).is_proper and normalise(answer, answer_type, unit):
        return True  # as it is written: no expression has to be compiled
    return any(True for _ in _occurrences(passage, (answer, *aliases), answer_type, unit))


def _occurrences(passage: str, answers: Sequence[str], answer_type: AnswerType, unit: str) -> Iterator[Span]:
    for form in _canonical_forms(answers, answer_type, unit):
        yield from kind_of(answer_type).occurrences(passage, form, unit)


def contains_anywhere(
    output: str, gold: str, answer_type: AnswerType, unit: str = "", aliases: Sequence[str] = ()
) -> bool:
    """The released code's loose match, for preset `released`: the gold answer occurs anywhere in the output.

    Of a value, weaker mentions count too; a label is matched exactly.
    """
    if answer_type is AnswerType.OPTION:
        return equal(output, gold, answer_type)
    is_value = kind_of(answer_type).is_value
    return any(is_value or not span.partial for span in find(output, gold, answer_type, unit, aliases))


def guess_type(answers: Sequence[str], question: str = "") -> AnswerType:
    """Answer type of a table that does not name one, or of one row by its answer and its `question`.

    YEAR if all gold answers are four digits in 1000–2199; NUMBER if all are numbers with at most one unit between them;
    DATE if all are dates; YES_NO if all are yes, no, true or false; else TEXT. Without answers, TEXT. A question also
    tells a year of any form, a count of four digits, a person and a city.
    """
    given = [wording.fold_digits(answer).strip() for answer in answers if answer and answer.strip()]
    for asked, words in ENGLISH["asks"].items() if given and question else ():
        kind, answer = kind_of(AnswerType(asked)), given[0]
        is_named = kind.is_value or (answer[0].isupper() and wording.is_capitalised(answer))
        if is_named and normalise(answer, kind.answer_type) and worded(f"(?i:{words})").search(question):
            return kind.answer_type
    alone = next((each for each in AnswerType if given and kind_of(each).guesses(given)), AnswerType.TEXT)
    is_part = alone is AnswerType.NUMBER and question and re.search(r"\d.*[A-Z][a-z]", given[0])  # "the 7 Dwarfs"
    return AnswerType.TEXT if is_part else alone


def _canonical_forms(answers: Sequence[str], answer_type: AnswerType, unit: str) -> list[str]:
    """Distinct canonical forms; texts that are not answers of the type are left out, and a city that also occurs with
    region.
    """
    forms = dict.fromkeys(filter(None, (normalise(answer, answer_type, unit) for answer in answers)))
    return [form for form in forms if not any(other.startswith(f"{form}, ") for other in forms)]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the reply to one question is read: for an answer of this kind and unit, of at most `longest` words."""

    kind: Kind
    question: str
    unit: str
    longest: int
    choices: Sequence[Option] = ()

    def answer(self, text: str) -> str | None:
        """The answer of a text: by itself, before an explanation, in bold, or in a sentence."""
        if self.kind.is_value and text.replace(",", "").isalnum() and (value := self._bare(text)):
            return value  # one word, so nothing else has to be looked for
        said = [each for each in wording.split_sentences(text) if not wording.repeats(each, self.question)]
        opened = [pattern("opening").sub("", each) for each in said]
        said = [pattern("contrast").sub("", each) for each in opened if each]
        if not said or any(map(wording.is_refusal, {undecorated(text), undecorated(said[0])})):
            return None
        for each in self._alone(text, said[0]):
            if bare := self._bare(each):
                return None if any(self._is_rival(other, bare) for other in said[1:]) else bare
        if pattern("stuck").search(text):
            return None
        said = [each for each in said if takes_up(each, self.question) or not pattern("turned").match(each)]
        said = [each for each in said if not wording.is_question(each)]
        if any(self.kind.is_doubtful(each) and self._candidates(each) for each in said):
            return None
        if (bold := self._bare(wording.emphasised(text))) and not takes_up(self.question, bold):
            return bold
        main = [each for each in said if takes_up(each, self.question)]
        if any(wording.thinks_again(each) and self._candidates(each) for each in said if each not in main):
            main = []
        whole = [each for each in main if stems(self.question) <= stems(each)]
        clauses = [clause for each in whole for clause in self._clause(each) or [each]]
        for some in (said, main, whole, clauses, map(unexplained, main) if self.kind.is_proper else ()):
            if len(found := self._candidates("\n".join(some))) == 1:
                return found[0] if len(found[0].split()) <= self.longest else None
        return None

    def _alone(self, text: str, first: str) -> tuple[str, ...]:
        """What may be the bare answer of a text with this first sentence."""
        if self.kind.is_value:
            return text, first
        about = wording.said_of(undecorated(first), self.question)
        if not self.kind.is_proper:  # free text
            about = wording.newly_said(first, self.question) or about
        elif not text.islower() and not wording.is_capitalised(unexplained(about)):
            named = self._candidates(unexplained(about))  # of "the Danish painter Ada Vance"
            about = named[0] if len(named) == 1 else ""
        cut = "" if takes_up(self.question, unexplained(first)) else unexplained(first)  # "The Bank (TB) is in Basel."
        return about, unexplained(about), wording.first_line(text, first), first, cut

    def _bare(self, text: str) -> str | None:
        """The canonical form (of a value) or the text itself, if it is an answer by itself."""
        bare = undecorated(text)
        canonical = normalise(bare, self.kind.answer_type, self.unit)
        if self.kind.is_value:
            return canonical
        is_short = len(bare.split()) <= self.longest
        return bare if canonical and is_short and self.kind.is_bare(bare, self.question) else None

    def _candidates(self, text: str) -> list[str]:
        return self.kind.candidates(text, self.question, self.unit)

    def _clause(self, sentence: str) -> list[str]:
        """The only clause with candidates that repeats more of the question than its subject."""
        asked = stems(self.question) - stems(self.unit)
        first, *others = pattern("next_clause").split(sentence)
        subject = set(takewhile(asked.__contains__, (stem for word in first.split() for stem in stems(word))))
        beyond = asked - subject or asked
        fit = [each for each in (first, *others) if stems(each) & beyond and self._candidates(each)]
        return fit if len(fit) == 1 and not wording.thinks_again(sentence) else []

    def _is_rival(self, sentence: str, answer: str) -> bool:
        """Whether a later sentence gives another answer than the bare one before it, or may take it back."""
        found = self._candidates(sentence)
        is_other = any(not equal(each, answer, self.kind.answer_type, self.unit) for each in found)
        may_replace = wording.thinks_again(sentence) or self._bare(sentence) is not None
        return pattern("taken_back").match(sentence) is not None or (is_other and may_replace)
