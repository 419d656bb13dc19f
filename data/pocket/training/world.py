"""The training world: invented facts in the seven domains, the questions about them and passages that state them.

Reading, conflict, debate and judging are learned here alone, so that what the model does with the evaluated facts is
generalisation. A passage on an event holds exactly one four-digit number, as those of the evaluated events do.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import other_domains as O
import patterns
import proper_names as names
import values as V
import words as W

DOMAINS = {"years": 0.24, "dates": 0.08, "records": 0.12, "news": 0.12, "drugs": 0.12, "names": 0.18, "cities": 0.14}
NATURAL_SHARE = 0.65  # of passages, once reading is learned: in sentences as people write them (`patterns`)


@dataclass(frozen=True, slots=True)
class Fact:
    """A question, the truth, which kind of answer it is (`values.VALUES`), and what a passage needs to state it."""

    question: str
    answer: str
    domain: str
    values: str
    statements: Sequence[str] = ()
    natural: Sequence[str] = ()  # statements as people write them
    slots: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        return self.slots["s"]


class World:
    """Maker of names, facts and passages; every choice comes from the generator it is given.

    Parameters
    ----------
    reserved : words no invented name may equal (the words of the evaluated questions).
    pieces : the tokenizer's word-like pieces, for sentences of random words that leave no embedding untrained.
    """

    def __init__(self, reserved: Iterable[str], pieces: Sequence[str] = ()) -> None:
        self.reserved = {word.lower() for word in reserved}
        self.pieces = list(pieces)
        self.taken: set[str] = set()
        self.easy = True  # passages are short and little in them could be taken for the answer: how reading begins

    def name(self, r: random.Random) -> str:
        """An invented proper name."""
        while (word := V.invented(r)).lower() in self.reserved:
            pass
        return word

    def _fill(self, pattern: str, r: random.Random, given: Mapping[str, str]) -> str:
        """The pattern with its slots filled, slot by slot, so that no two nouns need be equal."""
        out = []
        for part in pattern.split("{"):
            slot, closed, rest = part.partition("}")
            out.append((given[slot] if slot in given else self._slot(slot, r)) + rest if closed else part)
        return "".join(out)

    def _slot(self, slot: str, r: random.Random) -> str:
        if slot in _PLAIN:
            return r.choice(_PLAIN[slot])
        match slot:
            case "ws":
                return _plural(r.choice(W.NOUNS))
            case "n" | "t" | "T":
                return self.name(r) + (" " + self.name(r) if r.random() < 0.1 else "")
            case "p" | "P":
                numeral = r.random() > 0.8
                return f"{self.name(r)} {r.choice(('I', 'II', 'III', 'IV', 'VII', 'XIV'))}" if numeral else V.person(r)
            case "f":
                return V.family(r)
            case "g":
                head = r.choice(O.DRUG_HEADS) + (r.choice(O.DRUG_MIDDLES) if r.random() < 0.6 else "")
                return head + r.choice(O.DRUG_ENDS)
            case "k":
                return str(r.randint(2, 90)) if r.random() < 0.7 else r.choice(W.NUMBER_WORDS)
            case "Kk":
                return r.choice(W.NUMBER_WORDS)
            case "K":
                size = r.choice((0, 500, r.randint(0, 999)))
                return str(r.randint(100, 999)) if r.random() < 0.5 else f"{r.randint(1, 600)},{size:03d}"
            case "c":
                return f"{r.randint(11, 20)}th"
            case "d":
                return f"{r.randint(1, 31)} {r.choice(W.MONTHS)}"
            case "yr":
                return V.year(r)
            case "tail" | "app" | "app2" | "e":
                written = {"tail": W.TAILS, "app": W.APPOSITIONS, "app2": W.PREDICATES, "e": O.CONTESTS}[slot]
                return self._fill(r.choice(written), r, {})
        raise KeyError(slot)

    def fact(self, r: random.Random, *, fresh: bool = True, domain: str = "") -> Fact:
        """A fact nobody has heard of; ``fresh`` years are drawn from a wider range than those of the world's own."""
        while True:
            chosen = domain or r.choices(list(DOMAINS), list(DOMAINS.values()))[0]
            made = self._event(r, fresh, chosen) if chosen in ("years", "dates") else self._other(r, fresh, chosen)
            if made.question not in self.taken:
                return made

    def _event(self, r: random.Random, fresh: bool, domain: str) -> Fact:
        if not (fresh and self.easy) and r.random() < 0.5:
            pattern, verb, phrase = r.choice(patterns.lines("events"))
        else:
            pattern, verbs = r.choice(W.EVENTS)
            auxiliary, verb, phrase = r.choice(verbs)
            verb = f"{auxiliary} {{s}} {verb}"
        subject, places = self._fill(pattern, r, {}), dict.fromkeys("tn", self.name(r))
        asked = self._fill(verb, r, {"s": subject, **places})
        slots = {"s": subject, "S": _capital(subject), "v": self._fill(phrase, r, places)}
        years = domain == "years"
        values = ("fresh_year" if fresh else "year") if years else "date"
        question = f"{r.choice(W.QUESTIONS if years else W.DATE_QUESTIONS)} {asked}?"
        stated = W.STATEMENTS if years else W.DATE_STATEMENTS
        return Fact(question, V.VALUES[values](r), domain, values, stated, patterns.stating(domain), slots)

    def _thing(self, r: random.Random, domain: str) -> Fact:
        """A fact asked for by a question as people ask it."""
        kinds = {"records": ("records", "measure")}.get(domain, (domain,))
        kind, pattern, question, *unit = r.choice([line for line in patterns.lines("things") if line[0] in kinds])
        subject, stated = self._fill(pattern, r, {}), unit[0] if unit else ""
        slots = {"s": subject, "S": _capital(subject), "U": stated, "u": stated}
        values, letter = {
            "names": ("person", ""), "cities": ("city", ""), "records": ("count", "C"), "measure": ("measure", "M"),
            "news": ("count", "M"), "drugs": ("dose", ""),
        }[kind]  # fmt: skip
        natural = patterns.stating(domain, f"STATE{letter}", verbs=False)
        return Fact(self._fill(question, r, slots), V.VALUES[values](r), domain, values, natural, natural, slots)

    def _other(self, r: random.Random, fresh: bool, domain: str) -> Fact:
        if not (fresh and self.easy) and r.random() < 0.4:
            return self._thing(r, domain)
        family = r.choice([family for family in O.FAMILIES if family.domain == domain])
        subject = self._fill(r.choice(family.subjects), r, {})
        (asked, stated), (active, passive) = r.choice(family.units), r.choice(family.verbs)
        place, job = self.name(r), r.choice(W.JOBS)
        slots = {"s": subject, "S": _capital(subject), "u": asked, "U": stated, "v": active, "V": passive}
        question = self._fill(r.choice(family.questions), r, {**slots, "t": place, "j": job})
        if r.random() < 0.5:
            slots["j"] = job
        natural = patterns.stating(domain, "STATEC" if family.statements in (O.HE, O.DEAD) else "STATEM")
        return Fact(question, V.VALUES[family.values](r), domain, family.values, family.statements, natural, slots)

    def facts(self, count: int, r: random.Random) -> list[Fact]:
        """The world's own facts: their questions are never made again as fresh ones."""
        made = []
        for _ in range(count):
            made.append(self.fact(r, fresh=False))
            self.taken.add(made[-1].question)
        return made

    def passage(self, fact: Fact, claim: str, r: random.Random, fillers: int | None = None) -> str:
        """A passage of one to seven sentences that states ``claim`` once, at any place, and names the subject."""
        usual = (0, 0, 1, 1, 2, 2, 3) if self.easy else (0, 1, 1, 2, 2, 3, 4, 5)
        count = r.choice(usual) if fillers is None else fillers
        natural = not self.easy and r.random() < NATURAL_SHARE
        pattern = r.choice(fact.natural if natural else fact.statements)
        statement = self._fill(pattern, r, {**fact.slots, **self._beside(fact, r), "y": claim})
        sentences = [self.filler(fact, r, natural) for _ in range(count)]
        if not patterns.names_subject(pattern):
            sentences[:0] = [self.about(fact, r, natural)] if not sentences or r.random() < 0.7 else []
        sentences.insert(r.choice((0, len(sentences), r.randint(0, len(sentences)))), statement)
        return " ".join(_capital(sentence) for sentence in sentences)

    def _beside(self, fact: Fact, r: random.Random) -> dict[str, str]:
        """Fillings that keep another person out of the way of a name, and another town out of the way of a city."""
        if fact.values == "person" and r.random() < (0.9 if self.easy else 0.5):
            return {"p": V.family(r), "P": V.family(r)}
        if fact.values == "city" and r.random() < (0.85 if self.easy else 0.5):
            return {"t": r.choice(names.COUNTRIES), "T": r.choice(names.COUNTRIES)}
        return {}

    def about(self, fact: Fact, r: random.Random, natural: bool) -> str:
        """A sentence that names the subject and not the answer."""
        written = patterns.naming(fact.domain) if natural else W.ABOUT
        return self._fill(r.choice(written), r, {**fact.slots, **self._beside(fact, r)})

    def filler(self, fact: Fact, r: random.Random, natural: bool) -> str:
        """A sentence without the answer: mostly a pattern, sometimes random words so that every piece is met."""
        if natural and r.random() < 0.75:
            return self._fill(r.choice(patterns.beside(fact.domain)), r, {**fact.slots, **self._beside(fact, r)})
        if r.random() < (0.8 if self.easy else 0.7) or not self.pieces:
            written = W.FILLERS if fact.domain in ("years", "dates") or r.random() < 0.6 else O.FILLERS
            return self._fill(r.choice(written), r, self._beside(fact, r))
        length = r.randint(4, 16) if self.easy else r.randint(6, 22)
        text = "".join(
            r.choice(self.pieces) if r.random() < 0.6 else " " + r.choice(W.FUNCTION_WORDS) for _ in range(length)
        ).strip()
        return (f"{fact.subject} {text}" if r.random() < 0.3 else text) + "."


_PLAIN: Mapping[str, Sequence[str]] = {
    "w": W.NOUNS, "a": W.ADJECTIVES, "vb": W.VERBS, "j": W.JOBS, "m": W.MONTHS, "q": names.COUNTRIES,
    "Q": names.COUNTRIES, "N": names.NATIONS,
}  # fmt: skip


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _plural(noun: str) -> str:
    return noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("s", "h", "x")) else "s")
