"""The training world: invented events with invented years, the questions about them and passages that state them.

Reading, conflict, debate and judging are learned here alone, so that what the model does with the evaluated facts is
generalisation. A passage holds exactly one four-digit number, as those of the evaluated facts do.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import words as W

YEARS_OF_WORLD = (1050, 2029)
YEARS_WHEN_FRESH = (1000, 2289)  # wider than any year after an offset, so that every two-digit pair is copied
CORRUPTION = 250  # a corrupted passage is off by 1 … this many years, uniformly
REVISION_SCALE = 20.0  # a genuine revision is off by an exponential number of years with this mean


@dataclass(frozen=True, slots=True)
class Fact:
    """One event: its question, the truth, and the words a passage needs to state it."""

    question: str
    answer: str
    subject: str
    verb_phrase: str


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

    def name(self, r: random.Random) -> str:
        """An invented proper name of two or three syllables."""
        while True:
            syllables = [
                r.choice(W.SYLLABLE_ONSETS) + r.choice(W.SYLLABLE_VOWELS) + r.choice(W.SYLLABLE_CODAS)
                for _ in range(r.choice((1, 1, 1, 2)))
            ]
            word = ("".join(syllables) + r.choice(W.NAME_ENDINGS)).capitalize()
            if word.lower() not in self.reserved:
                return word

    def _fill(self, pattern: str, r: random.Random, **given: str) -> str:
        """The pattern with its slots filled, slot by slot, so that no two nouns need be equal."""
        out = []
        for part in pattern.split("{"):
            slot, closed, rest = part.partition("}")
            out.append((given[slot] if slot in given else self._slot(slot, r)) + rest if closed else part)
        return "".join(out)

    def _slot(self, slot: str, r: random.Random) -> str:
        match slot:
            case "w":
                return r.choice(W.NOUNS)
            case "ws":
                noun = r.choice(W.NOUNS)
                return (
                    noun[:-1] + "ies"
                    if noun.endswith("y")
                    else noun + "es"
                    if noun.endswith(("s", "h", "x"))
                    else noun + "s"
                )
            case "a":
                return r.choice(W.ADJECTIVES)
            case "vb":
                return r.choice(W.VERBS)
            case "n" | "t" | "T":
                return self.name(r) + (" " + self.name(r) if r.random() < 0.1 else "")
            case "p" | "P":
                return (
                    f"{self.name(r)} {self.name(r)}"
                    if r.random() < 0.7
                    else f"{self.name(r)} {r.choice(('II', 'III', 'IV', 'I', 'VII', 'XIV'))}"
                )
            case "j":
                return r.choice(W.JOBS)
            case "k":
                return (
                    str(r.randint(2, 90))
                    if r.random() < 0.7
                    else r.choice(("two", "three", "five", "ten", "twelve", "forty"))
                )
            case "K":
                return (
                    str(r.randint(100, 999))
                    if r.random() < 0.5
                    else f"{r.randint(1, 600)},{r.choice((0, 500, r.randint(0, 999))):03d}"
                )
            case "c":
                return f"{r.randint(11, 20)}th"
            case "d":
                return f"{r.randint(1, 31)} {r.choice(W.MONTHS)}"
            case "m":
                return r.choice(W.MONTHS)
            case "tail":
                return self._fill(r.choice(W.TAILS), r)
            case "app":
                return self._fill(r.choice(W.APPOSITIONS), r)
            case "app2":
                return self._fill(r.choice(W.PREDICATES), r)
        raise KeyError(slot)

    def fact(self, r: random.Random, years: tuple[int, int] = YEARS_WHEN_FRESH) -> Fact:
        """An event nobody has heard of, uniform over event kinds and years; its question is new to this world."""
        while True:
            subject_pattern, verbs = r.choice(W.EVENTS)
            subject = self._fill(subject_pattern, r)
            auxiliary, verb, phrase = r.choice(verbs)
            place = self.name(r)
            question = self._fill(
                r.choice(W.QUESTIONS), r, x=auxiliary, s=subject, v=self._fill(verb, r, t=place, n=place)
            )
            if question not in self.taken:
                return Fact(question, str(r.randint(*years)), subject, self._fill(phrase, r, t=place, n=place))

    def facts(self, count: int, r: random.Random) -> list[Fact]:
        """The world's own facts: their questions are never made again as fresh ones."""
        made = []
        for _ in range(count):
            made.append(self.fact(r, YEARS_OF_WORLD))
            self.taken.add(made[-1].question)
        return made

    def passage(self, fact: Fact, year: str, r: random.Random, fillers: int | None = None) -> str:
        """A passage of one to five sentences that states ``year`` once, at any place."""
        count = r.choice((0, 0, 1, 1, 2, 2, 3)) if fillers is None else fillers
        capital = fact.subject[0].upper() + fact.subject[1:]
        statement = self._fill(r.choice(W.STATEMENTS), r, s=fact.subject, S=capital, v=fact.verb_phrase, y=year)
        sentences = [self.filler(fact, r) for _ in range(count)]
        sentences.insert(r.choice((0, 0, r.randint(0, count))), statement)
        return " ".join(sentences)

    def filler(self, fact: Fact, r: random.Random) -> str:
        """A sentence without the answer: mostly a pattern, sometimes random words so that every piece is met."""
        kind = r.random()
        if kind < 0.75 or not self.pieces:
            text = self._fill(r.choice(W.FILLERS), r)
            return text[0].upper() + text[1:]
        length = r.randint(4, 16)
        text = "".join(
            r.choice(self.pieces) if r.random() < 0.6 else " " + r.choice(W.FUNCTION_WORDS) for _ in range(length)
        ).strip()
        if r.random() < 0.3:
            text = f"{fact.subject} {text}"
        return text[0].upper() + text[1:] + "."


def corrupted(year: str, r: random.Random) -> str:
    """A wrong year, 1 … `CORRUPTION` years off on either side."""
    return str(int(year) + r.choice((-1, 1)) * r.randint(1, CORRUPTION))


def revised(year: str, r: random.Random) -> str:
    """A year that has genuinely been revised: mostly close to the old one. Here the passage is right."""
    return str(int(year) + r.choice((-1, 1)) * (1 + int(r.expovariate(1 / REVISION_SCALE))))
