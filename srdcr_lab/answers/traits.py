"""Who or what a name stands for: gender, role, era and country, and which of them a passage speaks of.

A substitute must not contradict a pronoun, a title, a role or a country of the passage that it is put into. Traits come
from a table, or are inferred from question and passage: from the given name, from pronouns of one gender only, from
words for what a person is or did, from the one country that is named beside the city or is said to be the person's;
the country of a large city is known (``english.toml``).
What is not known agrees with any trait that the passage has no word for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from srdcr_lab.answers.kinds import Traits, find
from srdcr_lab.answers.wording import ENGLISH, Span, pattern, sentence_at, tokens
from srdcr_lab.records import AnswerType, Item


def _inverted(table: Mapping[str, str]) -> dict[str, str]:
    return {word: key for key, words in table.items() for word in words.split()}


KNOWN_ROLES = frozenset(ENGLISH["roles"])
_ROLE_OF = _inverted(ENGLISH["roles"])
_DONE_BY = _inverted(ENGLISH["deeds"])
_GENDER_OF = _inverted(ENGLISH["genders"])
_GIVEN = _inverted(ENGLISH["given"])
_PRONOUNS = frozenset("he him his himself she her hers herself".split())
_COUNTRY_OF = {
    name: names[0]
    for row in ENGLISH["countries"].values()
    for names in (country.split(", ") for country in row.split("; "))
    for name in names
}
_CONTINENT_OF = {country.split(", ")[0]: continent for continent, row in ENGLISH["countries"].items()
                 for country in row.split("; ")}  # fmt: skip
_NAMES = "|".join(sorted(map(re.escape, _COUNTRY_OF), key=len, reverse=True))
_COUNTRY = re.compile(rf"(?<!\w)({_NAMES})(?!\w)")
_COUNTRYMAN = re.compile(  # "the Danish painter", "a Dane who", "an Irishman"; not "a Danish film"
    rf"(?<!\w)({_NAMES})(?!\w)(?:(?<=man)|(?:[ -]\w+){{0,2}}[ -](?:{'|'.join(_ROLE_OF)}|man|woman|teacher|lawyer)(?!\w)"
    r"|(?=,? (?:who|born|gave|from|with)(?!\w)))"
)
_HOME = {city: country for country, cities in ENGLISH["cities"].items() for city in cities.split(", ")}


@dataclass(frozen=True, slots=True)
class Spoken:
    """The genders, roles and countries that a question and its passage have words for.

    `lies_in`: what stands behind a city as what it lies in ("Springfield, Illinois"), or its region elsewhere.
    `continents`: those that are named in the question, or beside a city.
    """

    genders: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    countries: frozenset[str] = frozenset()
    lies_in: frozenset[str] = frozenset()
    continents: frozenset[str] = frozenset()


@lru_cache(maxsize=64)  # each of a pool is compared with the same passage
def spoken_of(question: str, passage: str, answer: str, answer_type: AnswerType) -> Spoken:
    """What a question and its passage speak of; the answer's own words count for nothing.

    A role counts in the question and beside the answer, a country where it is a person's or, of a city, anywhere.
    """
    spans = find(passage, answer, answer_type)
    if answer_type is AnswerType.CITY:
        region, without = answer.partition(", ")[2], passage
        for span in reversed(spans):
            without = f"{without[: span.start]}…{without[span.end :]}"
        lies_in = {match[1] for span in spans if (match := pattern("lies_in").match(passage, span.end))}
        lies_in |= {region} if region and region in without else set()
        named = pattern("continent").findall(_beside(question, passage, spans))
        continents = frozenset(map(str.lower, named))
        return Spoken(
            frozenset(), frozenset(), _countries(f"{question} {without}", _COUNTRY), frozenset(lies_in), continents
        )
    text, own = f"{question} {passage}", set(tokens(answer))
    beside = set(tokens(_beside(question, passage, spans)))
    return Spoken(_of(_words(text) - own, _GENDER_OF), _of(beside - own, _ROLE_OF), _countries(text, _COUNTRYMAN))


def _beside(question: str, passage: str, spans: Sequence[Span]) -> str:
    """The question and the sentences that state its answer."""
    return " ".join([question, *dict.fromkeys(sentence_at(passage, span.start) for span in spans)])


def _words(text: str) -> set[str]:
    """The words of a text, without those that are titles only with a capital: "the miss"."""
    return set(tokens(pattern("no_titles").sub(" ", text)))


def _of(words: set[str], *tables: Mapping[str, str]) -> frozenset[str]:
    return frozenset(table[word] for table in tables for word in words & table.keys())


def _countries(text: str, named: re.Pattern[str]) -> frozenset[str]:
    return frozenset(_COUNTRY_OF[match[1]] for match in named.finditer(text))


def _only(found: frozenset[str]) -> str:
    return next(iter(found)) if len(found) == 1 else ""


def inferred(item: Item) -> Traits:
    """The traits of a standard item's answer, as its name, its question and its passage tell them."""
    spans = find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    beside = _beside(item.question, item.context, spans)
    if item.answer_type is AnswerType.CITY:
        return Traits(country=country_of(item.gold_answer) or _only(_countries(beside, _COUNTRY)))
    country = _only(_countries(f"{item.question} {item.context}", _COUNTRYMAN))
    asked, said = (_words(text) - set(tokens(item.gold_answer)) for text in (item.question, beside))
    pronouns = set(tokens(item.context)) & _PRONOUNS
    called = {word for span in spans for word in tokens(item.context[max(0, span.start - 20) : span.start])[-1:]}
    named = gender_of(item.gold_answer) or _only(_of(called, _GENDER_OF))  # "his nephew Jo Doe"
    referred = _of(pronouns, _GENDER_OF)
    if _of(said, _GENDER_OF) - referred:  # "his wife Jo Doe"
        referred = frozenset()
    gender = named or _only(_of(asked, _GENDER_OF)) or _only(referred)
    return Traits(gender, _of(asked, _ROLE_OF, _DONE_BY) or _of(said, _ROLE_OF, _DONE_BY), country=country)


def all_traits(item: Item, known: Mapping[str, Traits]) -> Traits:
    """What is known of an item's answer, by question_id, and inferred where that is empty."""
    own, told = known.get(item.question_id) or Traits(), inferred(item)
    return Traits(own.gender or told.gender, own.role or told.role, own.era, own.country or told.country, own.near)


def country_of(city: str) -> str:
    """What a city is said to lie in behind a comma, else the country of a large one; or empty."""
    name, _, region = city.partition(", ")
    return region or _HOME.get(name, "")


def gender_of(name: str) -> str:
    """The gender that a given name tells: "f", "m", or empty."""
    words = tokens(name)
    return _GIVEN.get(words[0], "") if words else ""


def clash(own: Traits, other: Traits, spoken: Spoken) -> str:
    """The first trait by which the other cannot stand where the answer with its `own` traits stands; empty: it can."""
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
    if (not home or home in spoken.continents) and spoken.continents - {elsewhere}:
        return "country"
    if (named and (not own.country or other.country != own.country)) or spoken.lies_in - {other.country}:
        return "country"
    return ""
