"""A model's reply, and the part of it that states the answer: where every answer type begins to read.

A reply may think aloud, greet, repeat the question, announce ("Sure! The answer is:"), decorate, explain, take back and
refuse. What the stated part means is the answer type's to say (`kinds`); `Reading` asks it. None is better than a wrong
reading: a text that holds a negation or takes something back states an answer only where it says which one that is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from srdcr_lab.answers.wording import VERBS, pattern, tokens
from srdcr_lab.records.types import parted

_PAIRS = dict(zip("\"'“‘«`*_„([「$", "\"'”’»`*_“)]」$", strict=True))
_AUXILIARIES = frozenset("do does did is are was were be been has have had".split())
_SMALL = _AUXILIARIES | set("it this that he she they the a an of in on at by for to from who which what when".split())
_SMALL |= set("how many year date city town".split())
_STEM = 4  # letters that two forms of a word share: "open", "opened"
_ECHO = 0.6  # share of a question's words from which on a sentence takes it up


def spoken(reply: str) -> str:
    """The reply without the thinking in it: of a text from elsewhere, or kept by an earlier version."""
    return parted(reply)[1]


def undecorated(text: str) -> str:
    """Without the quotes, emphasis, code marks, list bullet and final full stop around it."""
    text = text.strip().strip("\u200e\u200f\u2066\u2067\u2068\u2069\ufeff").strip()
    for _ in range(4):
        before = text
        while len(text) > 1 and text[-1] == _PAIRS.get(text[0]) and not (text[0] in "([" and text[0] in text[1:]):
            text = text[1:-1].strip()
        text = re.sub(r"\A(?:[#>]+|[*•]|[-–](?=\s+[^\W\d_]))\s+", "", text)
        text = re.sub(r"(?<=[^\s.])\.\Z", "", text)
        if text == before:
            break
    return text


def is_refusal(text: str) -> bool:
    return pattern("refusal").fullmatch(" ".join(text.replace("’", "'").split())) is not None


def announced(reply: str) -> list[str]:
    """What stands in a box; else what follows each "Answer:" or "the answer is", on its line or below."""
    if boxed := pattern("boxed").findall(reply):
        return list(boxed)
    lines = [line for line in reply.splitlines() if line.strip()]
    texts = []
    for i, line in enumerate(lines):
        end = len(line)
        for mark in reversed([*pattern("marker").finditer(line)]):
            texts.append(line[mark.end() : end].strip(" \t}") or "\n".join(lines[i + 1 :]))
            end = mark.start()
    return texts


def after_marker(reply: str) -> str:
    """The one announced answer of a text; the whole text where there is none, or more than one."""
    texts = announced(reply)
    return texts[0] if len(texts) == 1 else reply


def emphasised(reply: str) -> str:
    """The one thing that stands in bold; empty where nothing does, or several things."""
    distinct = set(pattern("strong").findall(reply))
    return distinct.pop() if len(distinct) == 1 else ""


def split_sentences(text: str) -> list[str]:
    """Line by line; a full stop after an initial or an abbreviation ends none."""
    pieces: list[str] = []
    for line in text.splitlines():
        if not line.strip() or pattern("fence").fullmatch(line):
            continue
        start = 0
        for end in pattern("sentence_end").finditer(line):
            if not pattern("shortened").search(line, max(0, end.start() - 10), end.start()):
                pieces.append(line[start : end.end()].strip())
                start = end.end()
        pieces.append(line[start:].strip())
    return pieces


def first_line(text: str, sentence: str) -> str:
    """The sentence and what follows it on its line, unless that explains it: "… The passage says so."."""
    rest = text.partition(sentence)[2].partition("\n")[0]
    return sentence if pattern("explains").match(rest) else sentence + rest


def doubts(text: str) -> bool:
    """Whether a sentence denies, or says that something is not known."""
    return pattern("doubt").search(text) is not None


def thinks_again(text: str) -> bool:
    """Whether a sentence may take back or add to what was said before it."""
    return doubts(text) or pattern("second_thought").search(text) is not None


def unexplained(text: str) -> str:
    """Without a remark, an apposition or a relative clause behind it; as it is where that holds a second thought."""
    shorter = pattern("explanation").sub("", text, count=1)
    return text if thinks_again(text[len(shorter) :]) else shorter


def unbracketed(text: str) -> str:
    """Without remarks in brackets."""
    return pattern("brackets").sub("", text)


def stems(text: str) -> set[str]:
    """The words of a text that carry its meaning, each by its first letters; "began" is "begin"."""
    return {VERBS.get(word, word)[:_STEM] for word in tokens(text) if word not in _SMALL}


def said_of(sentence: str, question: str) -> str:
    """What a sentence says of the question's subject: "Paris" of "The capital of France is Paris"; else empty."""
    match = pattern("said_of").fullmatch(unbracketed(sentence))
    may_say = match and stems(match[1]) <= stems(question) and not (doubts(sentence) or is_question(sentence))
    return match[2] if match and may_say else ""


def newly_said(sentence: str, question: str) -> str:
    """At most four words between those of the question that a sentence repeats: "oboe" of "She played the oboe"."""
    words, asked = undecorated(sentence).split(), stems(question)
    repeated = [stems(word) <= asked and (not word.istitle() or word in question.title()) for word in words]
    two = " ".join(words[:2])  # "Plants absorb", but not "San Jose"
    begins_as_asked = not two.istitle() and f" do {two}".casefold() in question.casefold()
    is_sentence = begins_as_asked or any(_is_verb(word, question) for word in words)
    if not (takes_up(sentence, question) and is_sentence) or len(asked - stems(sentence)) > 1 or all(repeated):
        return ""
    new = unexplained(" ".join(words[repeated.index(False) : len(words) - repeated[::-1].index(False)]))
    is_more = any(word in _AUXILIARIES or (stems(word) and stems(word) <= asked) for word in new.split())
    return "" if is_more or len(new.split()) > 4 else new


def _is_verb(word: str, question: str) -> bool:
    """Whether a word can make a sentence of a phrase: "is", "wrote", "carried", "plays" if asked for "play"."""
    is_present = word.endswith("s") and word not in question and stems(word) <= stems(question)
    return word.islower() and (word in _AUXILIARIES or word in VERBS or word.endswith("ed") or is_present)


def is_capitalised(text: str) -> bool:
    """Whether all words but small ones have a capital, as in a name."""
    return not any(word[0].islower() and len(word) > 3 for word in text.split())


def is_all_asked(text: str, question: str) -> bool:
    """Whether a text holds words of the question only; figures are not looked at."""
    return {stem for stem in stems(text) if not stem[0].isdigit()} <= stems(question)


def takes_up(sentence: str, question: str) -> bool:
    """Whether a sentence holds most words of the question."""
    asked = stems(question)
    return bool(asked) and len(asked & stems(sentence)) >= _ECHO * len(asked)


def is_question(sentence: str) -> bool:
    """Whether a sentence of three words or more asks."""
    return sentence.rstrip('*_ "”').endswith("?") and len(sentence.split()) > 2


def repeats(sentence: str, question: str) -> bool:
    """Whether a sentence asks what was asked."""
    return is_question(sentence) and takes_up(sentence, question)


def unasked(said: Sequence[str], asked: Sequence[str]) -> list[str]:
    """What is said, each once, without what was asked with; one of several that the question offers is an answer."""
    new = [each for each in dict.fromkeys(said) if each not in asked]
    return new or (list(dict.fromkeys(said)) if 0 < len(set(said)) < len(set(asked)) else [])


@dataclass(frozen=True, slots=True)
class Reading:
    """How the reply to one question is read: for an answer of this kind and unit, of at most `longest` words."""

    kind: Any  # the class of its type: `kinds.Kind`, which imports this module
    question: str
    unit: str
    longest: int

    def answer(self, text: str) -> str | None:
        """The answer of a text: by itself, before an explanation, in bold, or in a sentence."""
        said = [pattern("opening").sub("", each) for each in split_sentences(text) if not repeats(each, self.question)]
        if not said or is_refusal(undecorated(text)) or is_refusal(undecorated(said[0])):
            return None
        for each in self._alone(text, said[0]):
            if bare := self._bare(each):
                return None if any(self._is_rival(other, bare) for other in said[1:]) else bare
        if pattern("stuck").search(text):
            return None
        said = [each for each in said if self._takes_up(each) or not pattern("turned").match(each)]
        said = [each for each in said if not is_question(each)]
        if any(self.kind.is_doubtful(each) and self._candidates(each) for each in said):
            return None
        if (bold := self._bare(emphasised(text))) and not takes_up(self.question, bold):
            return bold
        main = [each for each in said if self._takes_up(each)]
        if any(thinks_again(each) and self._candidates(each) for each in said if each not in main):
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
        about = said_of(undecorated(first), self.question)
        if not self.kind.is_proper:  # free text
            about = newly_said(first, self.question) or about
        elif not text.islower() and not is_capitalised(unexplained(about)):
            named = self._candidates(unexplained(about))  # of "the Danish painter Ada Vance"
            about = named[0] if len(named) == 1 else ""
        cut = "" if takes_up(self.question, unexplained(first)) else unexplained(first)  # "The Bank (TB) is in Basel."
        return about, unexplained(about), first_line(text, first), first, cut

    def _bare(self, text: str) -> str | None:
        """A text that is an answer by itself: of a value the canonical form, else as it is written."""
        bare = undecorated(text)
        canonical: str | None = self.kind.normalise(bare, self.unit)
        if self.kind.is_value:
            return canonical
        is_short = len(bare.split()) <= self.longest
        return bare if canonical and is_short and self.kind.is_bare(bare, self.question) else None

    def _candidates(self, text: str) -> list[str]:
        return list(self.kind.candidates(text, self.question, self.unit))

    def _takes_up(self, sentence: str) -> bool:
        return takes_up(sentence, self.question)

    def _clause(self, sentence: str) -> list[str]:
        """The one clause with candidates that takes up the question beyond the subject with which all begins."""
        asked = stems(self.question) - stems(self.unit)
        first, *others = pattern("clause").split(sentence)
        subject = set(takewhile(asked.__contains__, (stem for word in first.split() for stem in stems(word))))
        beyond = asked - subject or asked
        fit = [each for each in (first, *others) if stems(each) & beyond and self._candidates(each)]
        return fit if len(fit) == 1 and not thinks_again(sentence) else []

    def _is_rival(self, sentence: str, answer: str) -> bool:
        """Whether a later sentence gives another answer than the bare one before it, or may take that back."""
        found = self._candidates(sentence)
        is_other = any(not self.kind.equal(each, answer, self.unit) for each in found)
        may_replace = thinks_again(sentence) or self._bare(sentence) is not None
        return pattern("taken_back").match(sentence) is not None or (is_other and may_replace)
