"""Cities: "St." = "Saint", "Mt." = "Mount", "Ft." = "Fort"; "City of X" = X, but "Mexico City" is not "Mexico".

"Paris, France" agrees with "Paris", not with "Paris, Texas"; nor does it agree with "Paris" that has the alias "Paris,
Texas". A city is replaced as a person's name is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from srdcr_lab.answers.kinds import Doubt, Kind, Outcome, Traits
from srdcr_lab.answers.name import (
    NAME_BEFORE,
    REMARK,
    WORD_BREAK,
    WORDS,
    Name,
    derived_words,
    in_longer_name,
    proper_names,
    unmentioned,
)
from srdcr_lab.answers.replies import is_all_asked
from srdcr_lab.answers.wording import ENGLISH, Span, around, may_stand, places, spelled, tokens
from srdcr_lab.records import AnswerType, Item

_SHORT_WORDS = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "&": "and"}
_SPELLINGS = {full: f"{full}|{short}" for short, full in _SHORT_WORDS.items() if short != "&"}
_COMMON = WORDS["parts_of_cities"] | {"city", "town", "beach", "springs"}
_PLACED = frozenset("in at near from to is was and or called named cityof".split())


class City(Name):
    """A city, with or without what it lies in; perturbed by substitution."""

    answer_type = AnswerType.CITY
    absurd = dict.fromkeys(ENGLISH["absurd"]["cities"].split(", "), Traits())

    def canonical(self, text: str, unit: str = "") -> str | None:
        """Its name, then after a comma what it lies in, if that is said."""
        parts = [
            " ".join(_SHORT_WORDS.get(word, word) for word in tokens(part))
            for part in REMARK.sub("", text.strip()).split(",")
        ]
        name, *regions = [part for part in parts if part] or [""]
        name = re.sub(r"^(?:(?:the )?(?:city|town) of (?=\w))+", "", name)
        return ", ".join([name, *regions]) or None

    def same(self, a: str, b: str, unit: str = "") -> bool:
        """Equal names, where one is said to lie in all that the other lies in, or in nothing."""
        (name_a, *regions_a), (name_b, *regions_b) = a.split(", "), b.split(", ")
        return name_a == name_b and (set(regions_a) <= set(regions_b) or set(regions_b) <= set(regions_a))

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> list[Span]:
        """Mentions of the city, with or without its region."""
        name, _, region = canonical.partition(", ")
        if not all(word in _SPELLINGS or may_stand(passage, word) for word in name.split()):
            return []
        pattern = WORD_BREAK.join(f"(?:{_SPELLINGS.get(word, spelled(word))})" for word in name.split())
        if region:
            words = [spelled(word) for word in region.replace(",", "").split()]
            pattern += f"(?:,?{WORD_BREAK}{WORD_BREAK.join(words)})?"
        return list(places(passage, [pattern]))

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """Without what the new city lies in, where the surface does not say it."""
        return Kind.respell(self, surface, answer, new_answer if "," in surface else new_answer.partition(",")[0])

    def _is_near(self, name: str, item: Item, own: Traits, other: Traits) -> bool:
        """Also one of the same region or country."""
        region = item.gold_answer.partition(", ")[2]
        is_of_region = bool(region) and region == name.partition(", ")[2]
        return (
            is_of_region
            or bool(own.country and own.country == other.country)
            or super()._is_near(name, item, own, other)
        )

    def candidates(self, text: str, question: str, unit: str = "") -> list[str]:
        """Those that are said to be a city or a town; where none is, all of them."""
        found = super().candidates(text, question, unit)
        said = {name for before, name, _ in proper_names(text) if before == "cityof"}
        return [name for name in found if name in said] or found

    def may_answer(self, name: str, before: str, after: str, question: str) -> bool:
        """Whether a name may be the place asked for: after a preposition of place, or as the subject."""
        return before in _PLACED if before else is_all_asked(after, question)

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        for span in spans:
            quoted = repr(around(item.context, span))
            before = NAME_BEFORE.search(item.context, max(0, span.start - 30), span.start)
            if before and before[1].casefold() in WORDS["parts_of_cities"]:
                yield Outcome.REFUSED, f"the answer is part of another name: {quoted}"
            if in_longer_name(item.context, span):
                yield Outcome.FLAGGED, f"the answer stands in a longer name: {quoted}"
        words = tokens(item.gold_answer.partition(", ")[0])
        names = {word for word in words if len(word) > 3} - _COMMON if len(words) > 1 else set()
        if alone := names.intersection(tokens(unmentioned(item, spans))):
            yield Outcome.FLAGGED, f"a part of the answer stands by itself: {min(alone)!r}"
        yield from derived_words(item)


KIND = City()
