"""Who or what a name stands for: gender, role, era and country, and which of them a passage speaks of.

A substitute must not contradict a pronoun, a title, a role or a country of the passage that it is put into. Traits come
from a table, or are inferred from the question and the passage: from the given name, from pronouns of one gender only,
from words for what a person is or did, from the one country that is named beside the answer. What is not known agrees
with any trait that the passage has no word for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from srdcr_lab.answers.kinds import find
from srdcr_lab.answers.wording import ENGLISH, sentence_at, tokens
from srdcr_lab.records import AnswerType, Item


def _inverted(table: Mapping[str, str]) -> dict[str, str]:
    return {word: key for key, words in table.items() for word in words.split()}


ROLES = frozenset(ENGLISH["roles"])
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
_COUNTRY = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, _COUNTRY_OF), key=len, reverse=True))})(?!\w)")
_LIES_IN = re.compile(r", ([A-Z][^\W\d_]{2,})(?=[,.;)]| (?!(?:and|or)\b)[a-z])")  # "Springfield, Illinois."


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of a person or a city; what is not known is empty. `near`: names that are nearly this one.

    `gender` is "f" or "m", `role` words of `ROLES`, or others of one's own, `era` the centuries that it belongs to,
    `country` as it is called in English.
    """

    gender: str = ""
    role: frozenset[str] = frozenset()
    era: frozenset[str] = frozenset()
    country: str = ""
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spoken:
    """The genders, roles and countries that a question and its passage have words for."""

    genders: frozenset[str]
    roles: frozenset[str]
    countries: frozenset[str]


@lru_cache(maxsize=64)  # each of a pool is compared with the same passage
def spoken_of(question: str, passage: str, answer: str, answer_type: AnswerType) -> Spoken:
    """What a question and its passage speak of; the answer's own words count for nothing."""
    text = f"{question} {passage}"
    if answer_type is AnswerType.CITY:
        spans = find(passage, answer, answer_type)
        beside = {match[1] for span in spans if (match := _LIES_IN.match(passage, span.end))}
        return Spoken(frozenset(), frozenset(), _countries(text) | beside)
    words = set(tokens(text)) - set(tokens(answer))
    return Spoken(_of(words, _GENDER_OF), _of(words, _ROLE_OF), _countries(text, by_name=False))


def _of(words: set[str], *tables: Mapping[str, str]) -> frozenset[str]:
    return frozenset(table[word] for table in tables for word in words & table.keys())


def _countries(text: str, by_name: bool = True) -> frozenset[str]:
    """The countries of a text; not `by_name`: those of which it has another word, as it has for a person's."""
    said = (match[0] for match in _COUNTRY.finditer(text))
    return frozenset(_COUNTRY_OF[word] for word in said if by_name or _COUNTRY_OF[word] != word)


def _only(found: frozenset[str]) -> str:
    return next(iter(found)) if len(found) == 1 else ""


def inferred(item: Item) -> Traits:
    """The traits of a standard item's answer, as its name, its question and its passage tell them."""
    spans = find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    names = set(tokens(item.gold_answer))
    beside = [item.question, *dict.fromkeys(sentence_at(item.context, span.start) for span in spans)]
    is_city = item.answer_type is AnswerType.CITY
    country = _only(_countries(" ".join(beside), by_name=is_city))
    if is_city:
        return Traits(country=country)
    asked, said = (set(tokens(text)) - names for text in (item.question, " ".join(beside)))
    pronouns = set(tokens(item.context)) & _PRONOUNS
    gender = gender_of(item.gold_answer) or _only(_of(asked, _GENDER_OF)) or _only(_of(pronouns, _GENDER_OF))
    return Traits(gender, _of(asked, _ROLE_OF, _DONE_BY) or _of(said, _ROLE_OF, _DONE_BY), country=country)


def gender_of(name: str) -> str:
    """The gender that a given name tells: "f", "m", or empty."""
    words = tokens(name)
    return _GIVEN.get(words[0], "") if words else ""


def clash(own: Traits, other: Traits, spoken: Spoken) -> str:
    """The first trait by which the other cannot stand where the answer with its `own` traits stands; empty: it can."""
    if own.gender != other.gender and ((own.gender and other.gender) or spoken.genders):
        return "gender"
    needed = own.role & spoken.roles or own.role
    if not needed & other.role and ((needed and other.role) or spoken.roles):
        return "role"
    if own.era and other.era and not own.era & other.era:
        return "era"
    named = spoken.countries if not own.country else spoken.countries & {own.country}
    if named and (not own.country or other.country != own.country):
        return "country"
    return ""
