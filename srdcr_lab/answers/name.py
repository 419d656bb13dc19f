"""Names of persons, compared without case, diacritics, punctuation, titles, degrees and remarks in brackets.

"J.R.R." = "J. R. R." = "JRR"; "Curie, Marie" = "Marie Curie". "Jr" and regnal numbers count. An initial agrees with
every name that begins with it ("M. Curie"), and one of two names may lack middle names. Relatives with the same first
name are therefore taken for one person. A name is replaced by a real one from a pool, or by an absurd one.

Cities: "St." = "Saint", "Mt." = "Mount", "Ft." = "Fort"; "City of X" = X, but "Mexico City" is not "Mexico".

"Paris, France" agrees with "Paris", but not with "Paris, Texas", nor with "Paris" that has the alias "Paris, Texas". A
city is replaced in the same way as a person's name.

A substitute must not contradict a pronoun, title, role or country of the passage. Traits (gender, role, era, country)
come from a table, or are inferred from question and passage: from the given name, from pronouns if all have one gender,
from words for what a person is or did, and from the only country named beside the city or as the person's. The
countries of large cities are known (``english.toml``). An unknown trait agrees with everything in a passage without
words for it.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import ClassVar

from srdcr_lab.answers import kinds, wording
from srdcr_lab.answers.kinds import ARTICLES, Audit, Doubt, FalseClaim, Kind, Traits, Wanted, find, normalise
from srdcr_lab.answers.wording import ENGLISH, Span, fold_letters, is_refusal, pattern, spelled, stems, tokens
from srdcr_lab.records import AnswerType, Item, Level, PerturbationKind

# Slight: a true near-name, by spelling or region. Significant: another of the same kind, elsewhere. Comical: absurd.
SUBSTITUTIONS = {"slight": Level.SUBTLE, "significant": Level.MODERATE, "comical": Level.BLATANT}
SMALLEST_POOL = 4  # other answers that a substitution needs to choose from
_NEAR = 0.55  # likeness of two names from which on one is near to the other
_FEW = 3  # substitutes that one is drawn from at least, where there are so many

NAME_WORDS: Mapping[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in ENGLISH["names"].items()}
_SUFFIXES = NAME_WORDS["suffixes"]
_SHORT_SUFFIX = {"junior": "jr", "senior": "sr"}
_ROMAN = re.compile(r"[ivxl]+")
_SEPARATOR = r"[\s.,'\-·・=゠]{0,3}"
WORD_BREAK = r"[\s.,\-·・=゠]{1,3}"
_NO_NAMES = NAME_WORDS["openers"] | NAME_WORDS["no_names"] | {month.casefold() for month in wording.MONTHS}
_MOST = 50  # names of a reply; with more there is no one answer


def proper_names(text: str) -> Iterator[tuple[str, str, str]]:
    """Capitalised words in a row: the word before, the name, and the rest of its sentence.

    Words that merely begin a sentence ("The", "However,"), months and weekdays are not names.
    """
    for sentence in map(wording.unbracketed, wording.split_sentences(text)):
        for run in pattern("proper_name").finditer(sentence):
            words = run[0].split()
            names = [re.split("['’]", word.casefold())[0] not in _NO_NAMES for word in words]
            names[0] |= words[0] == "The" and sentence[: run.start()].endswith((" in ", " at ", " from "))  # The Hague
            n = names.index(True) if True in names else len(words)
            head = re.sub(r"(?i:city|town) of \Z", "cityof", sentence[max(0, run.start() - 40) : run.start()])
            head = pattern("part_of_a_place").sub("off", pattern("belongs_to").sub("by", head))
            before = [*re.findall(r"\w+", head), *words[:n]]
            after = sentence[run.end() :]
            is_of_a_nation = len(words) == n + 1 and pattern("nationality").search(words[n])
            is_adjective = is_of_a_nation and re.match(r"[ -][a-z]", after)
            if words[n:] and not is_adjective and (before or len(words) > 1 or not after.startswith(",")):
                yield before[-1].casefold() if before else "", re.sub(r"['’]s?\Z", "", " ".join(words[n:])), after


_ROLE_OF, _DONE_BY, _GENDER_OF, _GIVEN = (
    {word: key for key, words in ENGLISH[of].items() for word in words.split()}
    for of in ("roles", "deeds", "genders", "given")
)
_COUNTRY_OF = {name: names[0] for _, names in wording.COUNTRIES for name in names}
_CONTINENT_OF = {names[0]: continent for continent, names in wording.COUNTRIES}
_HOME = {city: country for country, cities in ENGLISH["cities"].items() for city in cities.split(", ")}


@dataclass(frozen=True, slots=True)
class Spoken:
    """The genders, roles and countries that are named in a question and its passage.

    `lies_in`: what follows a city as its region ("Springfield, Illinois"), or its region elsewhere. `continents`: those
    named in the question, or beside a city.
    """

    genders: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    countries: frozenset[str] = frozenset()
    lies_in: frozenset[str] = frozenset()
    continents: frozenset[str] = frozenset()


def spoken_of(item: Item) -> Spoken:
    """What a question and its passage say of the answer; the answer's own words do not count.

    A role counts in the question and beside the answer; a country if it is a person's, and for a city anywhere.
    """
    question, passage, answer = item.question, item.context, item.gold_answer
    spans = find(passage, answer, item.answer_type)
    if item.answer_type is AnswerType.CITY:
        region, rest = answer.partition(", ")[2], wording.without(passage, spans)
        lies_in = {match[1] for span in spans if (match := pattern("lies_in").match(passage, span.end))}
        lies_in |= {region} if region and region in rest else set()
        continents = frozenset(map(str.lower, pattern("continent").findall(_beside(question, passage, spans))))
        countries = _countries(f"{question} {rest}", "country")
        return Spoken(countries=countries, lies_in=frozenset(lies_in), continents=continents)
    text, own = f"{question} {passage}", set(tokens(answer))
    beside = set(tokens(_beside(question, passage, spans)))
    return Spoken(_of(_words(text) - own, _GENDER_OF), _of(beside - own, _ROLE_OF), _countries(text, "countryman"))


def _beside(question: str, passage: str, spans: Sequence[Span]) -> str:
    """The question and the sentences that state its answer."""
    return " ".join([question, *dict.fromkeys(wording.sentence_at(passage, span.start) for span in spans)])


def _words(text: str) -> set[str]:
    """The words of a text, except those that are titles only with a capital: "the miss"."""
    return set(tokens(pattern("no_titles").sub(" ", text)))


def _of(words: AbstractSet[str], *tables: Mapping[str, str]) -> frozenset[str]:
    return frozenset(table[word] for table in tables for word in words & table.keys())


def _countries(text: str, named: str) -> frozenset[str]:
    return frozenset(_COUNTRY_OF[match[1]] for match in pattern(named).finditer(text))


def _only(found: frozenset[str]) -> str:
    return next(iter(found)) if len(found) == 1 else ""


def inferred(item: Item) -> Traits:
    """The traits of a standard item's answer, inferred from its name, question and passage."""
    spans = find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    beside = _beside(item.question, item.context, spans)
    if item.answer_type is AnswerType.CITY:
        return Traits(country=country_of(item.gold_answer) or _only(_countries(beside, "country")))
    country = _only(_countries(f"{item.question} {item.context}", "countryman"))
    asked, said = (_words(text) - set(tokens(item.gold_answer)) for text in (item.question, beside))
    called = {word for span in spans for word in tokens(item.context[max(0, span.start - 20) : span.start])[-1:]}
    named = gender_of(item.gold_answer) or _only(_of(called, _GENDER_OF))  # "his nephew Jo Doe"
    referred = _of(NAME_WORDS["pronouns"].intersection(tokens(item.context)), _GENDER_OF)
    if _of(said, _GENDER_OF) - referred:  # "his wife Jo Doe"
        referred = frozenset()
    gender = named or _only(_of(asked, _GENDER_OF)) or _only(referred)
    return Traits(gender, _of(asked, _ROLE_OF, _DONE_BY) or _of(said, _ROLE_OF, _DONE_BY), country=country)


def all_traits(item: Item, known: Mapping[str, Traits]) -> Traits:
    """The traits of answers by question_id, inferred where none are given."""
    own, told = known.get(item.question_id) or Traits(), inferred(item)
    return Traits(own.gender or told.gender, own.role or told.role, own.era, own.country or told.country, own.near)


def country_of(city: str) -> str:
    """What follows a city after a comma, otherwise the country of a large city; or empty."""
    name, _, region = city.partition(", ")
    return region or _HOME.get(name, "")


def gender_of(name: str) -> str:
    """The gender of a given name: "f", "m", or empty."""
    return str(_GIVEN.get("".join(tokens(name)[:1]), ""))


def clash(own: Traits, other: Traits, spoken: Spoken) -> str:
    """The first trait that keeps the other name from replacing the answer with its `own` traits; empty if none does."""
    if own is other:
        return ""
    if own.gender != other.gender and ((own.gender and other.gender) or spoken.genders):
        return "gender"
    needed = own.role & spoken.roles or own.role
    if not needed & other.role and ((needed and other.role) or spoken.roles):
        return "role"
    if own.era and other.era and not own.era & other.era:
        return "era"
    named = spoken.countries if not own.country else spoken.countries & {own.country}
    home, elsewhere = (_CONTINENT_OF.get(each.country, "") for each in (own, other))
    is_far = (not home or home in spoken.continents) and spoken.continents - {elsewhere}
    is_abroad = (named and (not own.country or other.country != own.country)) or spoken.lies_in - {other.country}
    return "country" if is_far or is_abroad else ""


class Name(Kind):
    """A person's name; perturbed by substitution."""

    answer_type = AnswerType.NAME
    is_proper = True
    perturbation = PerturbationKind.SUBSTITUTION
    absurd: ClassVar[Mapping[str, Traits]] = {
        name: Traits(gender) for gender in "mf" for name in ENGLISH["absurd"][gender].split(", ")
    }

    def canonical(self, text: str, unit: str = "") -> str | None:
        """ "j. r. r. tolkien", "marie curie"."""
        text = pattern("degree_after").sub("", pattern("remark_after").sub("", text.strip()))
        family, _, rest = text.partition(",")
        first_names = tokens(rest)
        is_name = not set(first_names) & (_SUFFIXES | NAME_WORDS["degrees"])
        if family.strip() and is_name and "," not in rest and len(first_names) <= 4:
            text = f"{rest} {family}"
        words = tokens(pattern("initials").sub(lambda run: " ".join(run[0]), text.strip()))
        while len(words) > 1 and words[0] in NAME_WORDS["titles"]:
            words = words[1:]
        while len(words) > 1 and words[-1] in NAME_WORDS["degrees"]:
            words = words[:-1]
        words = (*words[:1], *(_SHORT_SUFFIX.get(word, word) for word in words[1:]))
        dotted = (f"{word}." if len(word) == 1 and word.islower() else word for word in words[:-1])
        return " ".join([*dotted, *words[-1:]]) or None

    def same(self, a: str, b: str, unit: str = "") -> bool:
        """Equal surnames and suffixes, agreeing first names, and agreeing middle names unless one name has none.

        >>> Name().same("v. van gogh", "vincent willem van gogh"), Name().same("george w. bush", "george h. w. bush")
        (True, False)
        """
        family = _surname(a)
        if a == b or family != _surname(b) or _ROMAN.fullmatch(family):
            return a == b
        (one, _, end), (other, _, other_end) = (name.rpartition(family) for name in (a, b))
        pairs = [*zip(one.split(), other.split(), strict=False)]
        is_first_alone = 1 in (len(one.split()), len(other.split()))
        agree = all(x == y or (x[0] == y[0] and "." in x + y) for x, y in pairs)
        return end == other_end and agree and bool(pairs) and (is_first_alone or len(one.split()) == len(other.split()))

    def is_no_answer(self, text: str) -> bool:
        """Also true for sentences: four or more words with a lower-case verb."""
        return is_refusal(text) or (len(text.split()) >= 4 and pattern("verb_of_a_sentence").search(text) is not None)

    def is_bare(self, text: str, question: str) -> bool:
        """False for two names, a denial, a question, an explanation, or a sentence about what was asked."""
        words = text.split()
        small = [word for word in words if word[0].islower() and word not in NAME_WORDS["particles"]]
        shared, others = stems(text) & stems(question), stems(" ".join(small))
        says_more = len(shared) > 1 and not shared >= stems(text)
        opens = len(others) > 1 or words[0].casefold() in NAME_WORDS["openers"] - ARTICLES  # "Based on what it says"
        is_sentence = len(words) > 2 and ((shared and others) or says_more or (opens and not text.islower()))
        is_more = is_sentence or wording.unexplained(text) != text or len(wording.split_sentences(text)) > 1
        is_other = wording.thinks_again(text) and len([*proper_names(text)]) > 1
        return not (is_more or is_other or pattern("not_one_name").search(text))

    def candidates(self, text: str, question: str, unit: str = "") -> list[str]:
        """The proper names that may be the answer; a part of another one is left out."""
        found: dict[str, str] = {}
        asked, may, rest = set(tokens(question)), False, ""
        for before, name, after in islice(proper_names(text), _MOST):
            lies_in = rest.startswith(f" in {name}")  # "Innsbruck in Austria"
            may = self.may_answer(name, before, after, question) and (may or before not in ("and", "or"))
            form = normalise(name, self.answer_type)
            if form and may and not lies_in and not set(tokens(name)) <= asked:
                found.setdefault(form, name)
                rest = after
        words = [set(form.split()) for form in found]
        return [name for form, name in found.items() if not any(set(form.split()) < other for other in words)]

    def is_doubtful(self, sentence: str) -> bool:
        """Also true if a sentence says of two names which one it is."""
        return wording.doubts(sentence) or " or " in wording.unbracketed(sentence)

    def may_answer(self, name: str, before: str, after: str, question: str) -> bool:
        """Whether a name may be the person asked for: not a place, and a single first word only as the subject."""
        if " " not in name and (before in ARTICLES or not before):
            return not before and wording.is_all_asked(after, question)
        return before not in NAME_WORDS["placing"] and not set(tokens(name)) & NAME_WORDS["organisations"]

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> Iterator[Span]:
        """Whole mentions of the name, and `partial` ones by surname, with or without initials before it."""
        words = canonical.split()
        core = words[:-1] if words[-1] in _SUFFIXES and words[1:] else words
        if not wording.may_stand(passage, core[-1].rstrip(".")):
            return
        patterns = [_pattern(words)]
        if len(words) == 2:
            patterns.append(f"{spelled(words[1])},\\s{spelled(words[0].rstrip('.'))}")
        yield from wording.places(passage, patterns)
        if len(core) > 1 and not _ROMAN.fullmatch(words[-1]) and len(core[-1]) >= 3:
            earlier = "|".join(f"{re.escape(w.rstrip('.'))}|{re.escape(w[0])}\\." for w in dict.fromkeys(core[:-1]))
            for span in wording.places(passage, [rf"(?<!\w)(?:(?:{earlier})[\s.]{{1,2}}){{0,4}}{spelled(core[-1])}"]):
                last_word = pattern("last_word").search(passage, max(0, span.end - 100), span.end)
                if not (last_word and last_word[0][0].islower() and span.surface[-1].isalpha()):
                    yield replace(span, partial=True)  # but "king" is no mention of Martin Luther King

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """Full name for full name, surname for surname, "M. Surname" for initials, "Surname, Given" likewise."""
        stated, whole = tokens(surface), tokens(answer)
        family = _surname(new_answer)
        first_names = new_answer.removesuffix(family).split() if new_answer.endswith(family) else []
        written = new_answer
        if stated != whole:
            if "," in surface and first_names and self.canonical(surface) == self.canonical(answer):
                written = f"{family}, {' '.join(first_names)}"
            elif stated == whole[-len(stated) :]:
                written = family
            elif stated[1:] and stated[-1:] == whole[-1:] and first_names and all(len(w) == 1 for w in stated[:-1]):
                written = " ".join([*(f"{name[0]}." for name in first_names[: len(stated) - 1]), family])
        return super().respell(surface, answer, written)

    def claims(self, item: Item, wanted: Wanted) -> Iterator[FalseClaim]:
        """A slight, a significant and a comical substitute, drawn by (seed, question_id) alone.

        Each fits what the passage says of the person or city (`clash`). Slight is a near-name of the traits, otherwise
        a name of the pool with a similar spelling or, for cities, in the same country; significant is one of the
        others, if possible of another country; comical is one that no passage can mean. Significant substitutes are
        drawn from the more similar spellings, comical ones from the less similar, so that similarity falls with the
        level.
        """
        own = all_traits(item, wanted.traits)
        spoken = spoken_of(item)
        pool = wanted.pools.get((item.domain, self.answer_type), {})
        real = [name for name in pool if self._is_other(name, item)]
        enough = real if len(real) >= SMALLEST_POOL else ()
        fitting = self._by_likeness((name for name in enough if not clash(own, pool[name], spoken)), item)
        alike = [name for name in fitting if self._is_near(name, item, own, pool[name])]
        near = [name for name in own.near if self._is_other(name, item, of_family=True)]
        near = near or alike[: min(_FEW, max(1, len(fitting) // 2))]
        far = [name for name in fitting if name not in near]
        far = [name for name in far if not own.country or pool[name].country != own.country] or far
        far = [name for name in far if not (own.era and pool[name].era) or own.era == pool[name].era]
        absurd = [name for name in self._by_likeness(self.absurd, item) if self._is_other(name, item)]
        absurd = [name for name in absurd if clash(own, self.absurd[name], spoken) != "gender" and not spoken.lies_in]
        fitting_by_degree = near, far[: max(_FEW, len(far) // 2)], absurd[len(absurd) // 2 :]
        for (degree, level), names in zip(SUBSTITUTIONS.items(), fitting_by_degree, strict=True):
            refusal = "" if names else _none_for(degree, item, len(real))
            name = "" if refusal else random.Random(f"{wanted.seed}:{item.question_id}:{degree}").choice(sorted(names))
            yield FalseClaim(self.perturbation, None, level, degree, name, name, refusal)

    def _by_likeness(self, names: Iterable[str], item: Item) -> list[str]:
        return sorted(names, key=lambda name: (-likeness(name, item.gold_answer), name))

    def _is_near(self, name: str, item: Item, own: Traits, other: Traits) -> bool:
        """Whether a name of the pool is spelled nearly like the answer."""
        return likeness(name, item.gold_answer) >= _NEAR

    def _is_other(self, name: str, item: Item, of_family: bool = False) -> bool:
        """Whether it is another answer that question and passage do not have and that differs from the gold one by
        more than one letter.

        Unless it may be `of_family`, it also shares no word with the gold answer.
        """
        golds = (item.gold_answer, *item.aliases)
        own = {word for gold in golds for word in tokens(gold) if len(word) > 2}
        if not (of_family or own.isdisjoint(tokens(name))) or normalise(name, self.answer_type) is None:
            return False
        if kinds.equal(name, item.gold_answer, self.answer_type, aliases=item.aliases):
            return False
        is_stated = any(kinds.states(text, name, self.answer_type) for text in (item.context, item.question))
        return not (is_stated or any(_one_letter_apart(name, gold) for gold in golds))

    def related(self, item: Item, rest: str) -> Iterator[tuple[int, str]]:
        """Words that begin like a word of the answer."""
        names = (item.gold_answer, *item.aliases)
        # "Lyonnais" and "voltaic" share four letters with the name that they are made of, "Romans" three.
        begins = tuple({word[: 3 + (len(word) > 4)] for name in names for word in tokens(name) if len(word) > 2})
        for match in re.finditer(r"[^\W\d_]{4,}", rest):
            if fold_letters(match[0])[0].startswith(begins) and match[0] not in item.question:
                yield match.start(), match[0]

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        own = {word for name in (item.gold_answer, *item.aliases) for word in tokens(name)}
        if all(span.partial for span in spans):
            yield Audit.FLAGGED, "the passage has the surname alone"
        for span in spans:
            quoted = repr(wording.around(item.context, span))
            before = pattern("name_before").search(item.context, max(0, span.start - 30), span.start)
            joined = pattern("joined_before").search(item.context, max(0, span.start - 30), span.start)
            is_short = len(tokens(span.surface)) < len(tokens(item.gold_answer))
            if is_short and before and _is_given_name(before[1], own):
                yield Audit.REFUSED, f"the surname may be another person's: {quoted}"
            elif joined and _is_given_name(joined[1], own):
                yield Audit.FLAGGED, f"another person may share the surname: {quoted}"
            if in_longer_name(item.context, span):
                yield Audit.FLAGGED, f"the answer is part of a longer name: {quoted}"
        words = tokens(item.gold_answer)
        if len(words) > 1 and len(words[0]) > 2 and words[0] in tokens(wording.without(item.context, spans)):
            yield Audit.FLAGGED, f"the given name occurs by itself: {words[0]!r}"
        yield from other_words(item, spans)


def _none_for(degree: str, item: Item, others: int) -> str:
    """Why there is no substitute of a degree."""
    if degree == "comical":
        return "every absurd name contradicts what the passage says of gender or place; name the gender in its column"
    if others < SMALLEST_POOL:
        found = f"the domain {item.domain!r} has {others} other answers of type {item.answer_type}"
        needed = f"a substitution needs {SMALLEST_POOL} wrong ones, so give a pool"
        return f"{found} that the passage does not mention; {needed}"
    fits = f"is nearly {item.gold_answer} and fits" if degree == "slight" else "fits"
    return f"none of {others} other answers {fits} the passage; name some in the column near or give a pool"


def _pattern(words: list[str]) -> str:
    """Expression for the words in this order; initials may touch the word after them."""
    forms = {"jr": "junior|jr", "sr": "senior|sr"}
    pieces = [f"(?:{forms.get(word) or spelled(word.rstrip('.'))})" for word in words]
    breaks = [_SEPARATOR if word.endswith(".") else WORD_BREAK for word in words[:-1]]
    return "".join(piece + gap for piece, gap in zip(pieces, [*breaks, ""], strict=True))


def _surname(name: str) -> str:
    """Family name, with particles: "de Mestral", "Márquez", "King" for "King Jr"."""
    words = name.split()
    while len(words) > 1 and words[-1].strip(".,").casefold() in _SUFFIXES:
        words = words[:-1]
    start = len(words) - 1
    while start > 1 and words[start - 1].casefold() in NAME_WORDS["particles"]:
        start -= 1
    return " ".join(words[start:]).strip(",")


@lru_cache(maxsize=10_000)
def likeness(a: str, b: str) -> float:
    """Share of equal letters in order, in [0, 1], of two names without their regions."""
    one, other = (" ".join(tokens(name.partition(", ")[0])) for name in sorted((a, b)))
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _one_letter_apart(a: str, b: str) -> bool:
    """Whether one name may be a spelling of the other: "Wesselbronn" of "Wesselbrunn"."""
    short, long = sorted((" ".join(tokens(name)) for name in (a, b)), key=len)
    if len(long) - len(short) > 1:
        return False
    skipped = len(short) == len(long)
    return any(short[:i] + short[i + skipped :] == long[:i] + long[i + 1 :] for i in range(len(long)))


def _is_given_name(word: str, own: set[str]) -> bool:
    is_another_word = word.rstrip(".").casefold() in NAME_WORDS["honorifics"] | NAME_WORDS["openers"]
    ends_sentence = word.endswith(".") and len(word) > 3  # "in May. Ribault", not "Wm. Ribault"
    return word[0].isupper() and not ends_sentence and not is_another_word and not set(tokens(word)) & own


def in_longer_name(passage: str, span: Span) -> bool:
    """Whether a capitalised word follows a mention: "the Curie Institute"."""
    after = pattern("name_after").match(passage, span.end)
    word = after[1] if after else ""
    return word[:1].isupper() and not word.isupper() and word.casefold() not in NAME_WORDS["openers"]


def other_words(item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
    """Other names of the answer that would stay (in brackets, after "also known as", by initials, of its people), and
    words derived from it."""
    passage = item.context
    for span in spans:
        after = pattern("other_name_after").match(passage, span.end)
        if found := after or pattern("other_name_before").search(passage, max(0, span.start - 60), span.start):
            yield Audit.FLAGGED, f"another name stands beside {span.surface!r}: {found[0].strip()!r}"
    if found := pattern("other_name").search(passage):
        yield Audit.FLAGGED, f"the passage speaks of another name: {found[0]!r}"
    words = [word for word in re.split(r"[\s.-]+", item.gold_answer.partition(",")[0]) if word[:1].isupper()]
    capitals = [word[0] for word in words if word.casefold() not in _SUFFIXES]
    short = (r"\.?" if len(capitals) > 2 else r"\.").join(capitals)
    if len(capitals) > 1 and (found := re.search(rf"(?<!\w){short}(?!\w)", passage)):
        yield Audit.FLAGGED, f"the passage has the initials of the answer: {found[0]!r}"
    people = ENGLISH["demonyms"].get(item.gold_answer.partition(",")[0], "").replace("*", "s?").replace(", ", "|")
    if people and (found := re.search(rf"(?<!\w)(?:{people})(?!\w)", passage)):
        yield Audit.FLAGGED, f"the passage names the people of the answer: {found[0]!r}"
    own = {word for answer in (item.gold_answer, *item.aliases) for word in tokens(answer)}
    for stem in (word[: max(4, len(word) - 2)] for word in sorted(own) if len(word) > 3):
        others = re.findall(rf"(?<!\w){re.escape(stem)}[^\W\d_]{{1,8}}(?!\w)", fold_letters(passage)[0])
        if derived := next((other for other in others if other not in own), ""):  # "Parisians", "Fordism"
            yield Audit.FLAGGED, f"the passage contains a word derived from the answer: {derived!r}"
            return


_SHORT_WORDS = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "&": "and"}
_SPELLINGS = {full: f"{full}|{short}" for short, full in _SHORT_WORDS.items() if short != "&"}
_COMMON = NAME_WORDS["parts_of_cities"] | {"city", "town", "beach", "springs"}


class City(Name):
    """A city, with or without its region; perturbed by substitution."""

    answer_type = AnswerType.CITY
    absurd = dict.fromkeys(ENGLISH["absurd"]["cities"].split(", "), Traits())

    def canonical(self, text: str, unit: str = "") -> str | None:
        """Its name, then after a comma its region, if given."""
        written = pattern("remark_after").sub("", text.strip()).split(",")
        parts = [" ".join(_SHORT_WORDS.get(word, word) for word in tokens(part)) for part in written]
        name, *regions = [part for part in parts if part] or [""]
        name = re.sub(r"^(?:(?:the )?(?:city|town) of (?=\w))+", "", name)
        return ", ".join([name, *regions]) or None

    def same(self, a: str, b: str, unit: str = "") -> bool:
        """Equal names, and the regions of one include those of the other, or one has none."""
        (name_a, *regions_a), (name_b, *regions_b) = a.split(", "), b.split(", ")
        return name_a == name_b and (set(regions_a) <= set(regions_b) or set(regions_b) <= set(regions_a))

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> Iterator[Span]:
        """Mentions of the city, with or without its region."""
        name, _, region = canonical.partition(", ")
        if not all(word in _SPELLINGS or wording.may_stand(passage, word) for word in name.split()):
            return
        pattern = WORD_BREAK.join(f"(?:{_SPELLINGS.get(word, spelled(word))})" for word in name.split())
        if region:
            words = [spelled(word) for word in region.replace(",", "").split()]
            pattern += f"(?:,?{WORD_BREAK}{WORD_BREAK.join(words)})?"
        yield from wording.places(passage, [pattern])

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """Without the new city's region, if the surface has none."""
        return Kind.respell(self, surface, answer, new_answer if "," in surface else new_answer.partition(",")[0])

    def _is_near(self, name: str, item: Item, own: Traits, other: Traits) -> bool:
        """Also true for a city of the same region or country."""
        region, region_of_name = (each.partition(", ")[2] for each in (item.gold_answer, name))
        is_alike = (region and region == region_of_name) or (own.country and own.country == other.country)
        return bool(is_alike) or super()._is_near(name, item, own, other)

    def is_bare(self, text: str, question: str) -> bool:
        """Also false for a city behind a preposition of place: "In Paris"."""
        return not pattern("in_a_place").match(text) and super().is_bare(text, question)

    def candidates(self, text: str, question: str, unit: str = "") -> list[str]:
        """Those that are called a city or a town; if none is, all of them."""
        found = super().candidates(text, question, unit)
        said = {name for before, name, _ in proper_names(text) if before == "cityof"}
        return [name for name in found if name in said] or found

    def may_answer(self, name: str, before: str, after: str, question: str) -> bool:
        """Whether a name may be the place asked for: after a preposition of place, or as the subject."""
        return before in NAME_WORDS["placed"] if before else wording.is_all_asked(after, question)

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        for span in spans:
            quoted = repr(wording.around(item.context, span))
            before = pattern("name_before").search(item.context, max(0, span.start - 30), span.start)
            if before and before[1].casefold() in NAME_WORDS["parts_of_cities"]:
                yield Audit.REFUSED, f"the answer is part of another name: {quoted}"
            if in_longer_name(item.context, span):
                yield Audit.FLAGGED, f"the answer is part of a longer name: {quoted}"
        words = tokens(item.gold_answer.partition(", ")[0])
        names = {word for word in words if len(word) > 3} - _COMMON if len(words) > 1 else set()
        if alone := names.intersection(tokens(wording.without(item.context, spans))):
            yield Audit.FLAGGED, f"a part of the answer occurs by itself: {min(alone)!r}"
        yield from other_words(item, spans)
