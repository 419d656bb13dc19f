"""Text: folding, words and places in a passage; and the parts of a model's reply, for replies in English.

`ENGLISH` holds the word lists, units and expressions of ``english.toml``. A reply may think aloud, greet, repeat the
question, announce ("Sure! The answer is:"), decorate, explain, take back and refuse; the functions at the end find
these parts. `kinds.Reading` and the answer type interpret them.
"""

import re
import tomllib
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from srdcr_lab.records.types import parted

_FILE = Path(__file__).with_name("english.toml")
ENGLISH: dict[str, Any] = tomllib.loads(_FILE.read_text("utf-8"), parse_float=Decimal)
MONTHS, ORDINALS = (ENGLISH["numbers"][name].split() for name in ("months", "ordinals"))
VERBS = {form: verb for verb, *forms in map(str.split, ENGLISH["verbs"]["irregular"].split(",")) for form in forms}
_PARTS = ENGLISH["parts"] | {"MONTH": f"(?:{'|'.join(MONTHS)})", "ORDINAL": "|".join(ORDINALS), "VERB": "|".join(VERBS)}
_PARTS["ROLE"] = "|".join(word for words in ENGLISH["roles"].values() for word in words.split())
_PARTS["PARTICLE"] = "|".join(ENGLISH["names"]["particles"].split())
_PARTS["CAPITAL"] = f"[{''.join(filter(str.isupper, map(chr, range(0x250))))}]"
_PARTS["VOWEL_SIGN"] = f"[{''.join(c for c in map(chr, range(0x370, 0xAC00)) if unicodedata.category(c)[0] == 'M')}]"
COUNTRIES = [(part, each.split(", ")) for part, row in ENGLISH["countries"].items() for each in row.split("; ")]
_COUNTRY_NAMES = (re.escape(name) for _, names in COUNTRIES for name in names)
_PARTS["COUNTRY"] = "|".join(sorted(_COUNTRY_NAMES, key=len, reverse=True))
_LONGEST_BARE = 300  # characters; a longer text states no bare value
_LONGEST_SENTENCE = 1000  # characters


def whole(text: str) -> str:
    """An expression of ``english.toml`` on one line, with the parts named in double braces inserted."""
    return re.sub(r"\{\{(\w+)\}\}", lambda part: whole(_PARTS[part[1]]), "".join(text.splitlines()))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The compiled expression of this name in ``english.toml``."""
    return re.compile(whole(ENGLISH["expressions"][name]))


@cache
def worded(words: str) -> re.Pattern[str]:
    """The compiled expression for whole words, written as in ``english.toml``."""
    return re.compile(rf"(?<!\w)(?:{whole(words)})(?!\w)")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """An occurrence of an answer: characters [start, end) of a text, which are its `surface`.

    A `partial` one is weaker: a surname alone or with initials, a number without its unit, the short end of a range
    ("18" in "1914–18"), a date without its year.
    """

    start: int
    end: int
    surface: str
    partial: bool = False


def without_overlaps(places: Iterable[Any]) -> list[Any]:
    """Spans, left to right, without overlaps; the earlier one is kept.

    Of two with the same start, the one that is not `partial` is kept, then the longer one.
    """
    kept: list[Any] = []
    for place in sorted(places, key=lambda place: (place.start, getattr(place, "partial", False), -place.end)):
        if not kept or place.start >= kept[-1].end:
            kept.append(place)
    return kept


def without(text: str, places: Iterable[Any]) -> str:
    """A text of the same length with these spans blotted out."""
    for place in places:
        text = text[: place.start] + "…" * (place.end - place.start) + text[place.end :]
    return text


def around(passage: str, span: Span) -> str:
    """The mention with 18 characters on either side, for quoting."""
    return " ".join(passage[max(0, span.start - 18) : span.end + 18].split())


@lru_cache(maxsize=16)  # of one passage, the sentence of each number is asked for
def _sentence_ends(passage: str) -> tuple[list[int], list[int]]:
    """Where the last marks of sentences stand, and where the next ones begin."""
    spans = [end.span() for end in pattern("end_in_passage").finditer(passage)]
    return [start for start, _ in spans], [end for _, end in spans]


def sentence_at(passage: str, place: int) -> str:
    """The sentence around a place, at most a thousand characters to either side."""
    marks, begins = _sentence_ends(passage)
    before, behind = bisect_right(begins, place), bisect_left(marks, place)
    first = begins[before - 1] if before else 0
    last = marks[behind] if behind < len(marks) else len(passage)
    return passage[max(first, place - _LONGEST_SENTENCE) : min(last, place + _LONGEST_SENTENCE)]


_SAME_LENGTH = dict(zip("−﹣‐‑٫٬٪’ʼμ", "----.,%''µ", strict=True))


@cache
def _fold_digit(char: str) -> str:
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    category = unicodedata.category(char)
    if category == "Zs" and char != " ":
        return "\u00a0"
    if category in ("Lo", "Cf"):
        return "·"  # a script without case may touch a number: 1874年
    return _SAME_LENGTH.get(char) or (unicodedata.normalize("NFKC", char) if "\uff01" <= char <= "\uff5e" else char)


def fold_digits(text: str) -> str:
    """The text, same length, with ASCII digits, signs and separators; letters without case (CJK, Arabic) become "·"."""
    return text if text.isascii() else "".join(map(_fold_digit, text))


def in_script_of(surface: str, digits: str) -> str:
    """ASCII digits in the script of the first digit of `surface`."""
    first = next((char for char in surface if char.isdecimal()), "0")
    zero = ord(first) - unicodedata.decimal(first)
    return "".join(chr(zero + int(char)) if char.isdigit() else char for char in digits)


def in_case_of(surface: str, words: str) -> str:
    """Upper case, Every Word Capitalised, or only the first letter, as in `surface`."""
    if surface.isupper() and len(surface) > 1:
        return words.upper()
    letters = [word[0] for word in surface.split() if word[0].isalpha() and word.lower() != "and"]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return " ".join(word if word == "and" else word[0].upper() + word[1:] for word in words.split())
    return words[0].upper() + words[1:] if surface[:1].isupper() else words


_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ŋ": "n"}


@cache
def _fold_letter(char: str) -> str:
    """A character without case, diacritics and compatibility form; it can become several letters, or none."""
    plain = unicodedata.normalize("NFKD", char).casefold()
    kept = (c for c in plain if not "\u0300" <= c <= "\u036f" and unicodedata.category(c) != "Cf")
    folded = "".join(str(unicodedata.decimal(c, _LETTERS.get(c, c))) for c in kept)
    return folded if folded == char else "".join(map(_fold_letter, folded))


def fold_letters(text: str) -> tuple[str, Sequence[int]]:
    """Text without case, diacritics and compatibility forms, and the original position of each character."""
    if text.isascii():
        return text.lower(), range(len(text))
    pieces = [_fold_letter(char) for char in text]
    return "".join(pieces), [i for i, piece in enumerate(pieces) for _ in piece]


_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "HANGUL")


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word; scripts without spaces have no words."""
    return all(char.isalnum() and not unicodedata.name(char, "").startswith(_UNSPACED) for char in (left, right))


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] neither begins nor ends inside a word."""
    if start > 0 and _joins(text[start - 1], text[start]):
        return False
    last = end - 1
    while last > start and unicodedata.combining(text[last]):
        last -= 1
    return not (end < len(text) and _joins(text[last], text[end]))


@lru_cache(maxsize=5_000)  # a name is compared with every other of its domain
def tokens(text: str) -> tuple[str, ...]:
    """Words and numbers without case, diacritics and punctuation; "O'Brien" and "C++" are one word, "Jean-Paul" two."""
    folded = pattern("grouping").sub("", pattern("apostrophe").sub("", fold_letters(text)[0]))
    return tuple(pattern("token").findall(folded))


@lru_cache(maxsize=5_000)
def spelled(token: str) -> str:
    """Expression for one token, with an apostrophe allowed between any two letters and commas in long numbers."""
    between = ",?" if re.search(r"\d{4}", token) else "'?" if token.isalpha() else ""
    return between.join(re.escape(char) for char in token)


# One apostrophe and one hyphen for all: an expression with sets of characters beyond 255 takes long to compile.
_PLAIN_MARKS = str.maketrans("’ʼ‐‑", "''--")
_UNMARKED = str.maketrans("‐‑", "--", "'’ʼ,")  # without what `spelled` allows between letters and digits
_compiled = lru_cache(1 << 12)(re.compile)  # that of re holds 512: of the shipped facts each would be compiled thrice


@lru_cache(maxsize=16)  # a passage is looked through for every name of a pool
def _folded(passage: str) -> tuple[str, Sequence[int], str]:
    """A passage as expressions are matched with it, where its characters stood, and the passage `_UNMARKED`."""
    folded, sources = fold_letters(passage)
    return folded.translate(_PLAIN_MARKS), sources, folded.translate(_UNMARKED)


def may_stand(passage: str, token: str) -> bool:
    """Whether a passage has the letters of a token at all; quicker than an expression that finds nothing."""
    return token.translate(_UNMARKED) in _folded(passage)[2]


def places(passage: str, patterns: Sequence[str]) -> Iterator[Span]:
    """Where the folded passage matches one of these expressions as whole words, as places in the original passage."""
    plain, sources, _ = _folded(passage)
    expression = "|".join(f"(?:{each})" for each in patterns).translate(_PLAIN_MARKS)
    if "'" not in plain:
        expression = expression.replace("'?", "")  # compiles in a third of the time
    for match in _compiled(expression).finditer(plain):
        start, end = sources[match.start()], sources[match.end() - 1] + 1
        is_cut = any(0 < at < len(plain) and sources[at - 1] == sources[at] for at in match.span())  # ハ of パ
        while end < len(passage) and unicodedata.combining(passage[end]):
            end += 1
        if not is_cut and is_whole_word(passage, start, end):
            yield Span(start, end, passage[start:end])


_PAIRS = dict(zip("\"'“‘«`*_„([「$", "\"'”’»`*_“)]」$", strict=True))
_AUXILIARIES = frozenset(ENGLISH["verbs"]["auxiliaries"].split())
_SMALL = _AUXILIARIES | set(ENGLISH["verbs"]["small"].split())
_STEM = 4  # letters that two forms of a word share: "open", "opened"
_ECHO = 0.6  # share of a question's words from which on a sentence takes it up


def spoken(reply: str) -> str:
    """The reply without its thinking, for texts from elsewhere or kept by an earlier version."""
    return parted(reply)[1]


def undecorated(text: str) -> str:
    """The text without quotes, emphasis, code marks, list bullet and final full stop around it."""
    text = text.strip().strip("\u200e\u200f\u2066\u2067\u2068\u2069\ufeff").strip()
    before = ""
    while text != before:
        before = text
        while len(text) > 1 and text[-1] == _PAIRS.get(text[0]) and not (text[0] in "([" and text[0] in text[1:]):
            text = text[1:-1].strip()
        text = pattern("final_stop").sub("", pattern("list_mark").sub("", text))
    return text


def is_refusal(text: str) -> bool:
    return pattern("refusal").fullmatch(" ".join(text.replace("’", "'").split())) is not None


def announced(reply: str) -> list[str]:
    """What is in a box; otherwise what follows each "Answer:" or "the answer is", on its line or below."""
    if boxed := pattern("boxed").findall(reply):
        return list(boxed)
    lines = [line for line in reply.splitlines() if line.strip()]
    texts = []
    for i, line in enumerate(lines):
        _, *said = pattern("marker").split(line)
        texts += [each.strip(" \t}") or "\n".join(lines[i + 1 :]) for each in reversed(said)]
    for mark in ("**", "`"):  # the marker took the one that opens
        texts = [text.replace(mark, "", text.count(mark) % 2) for text in texts]
    return texts


def after_marker(reply: str) -> str:
    """The only announced answer of a text; the whole text if there is none, or more than one."""
    texts = announced(reply)
    return texts[0] if len(texts) == 1 else reply


def emphasised(reply: str) -> str:
    """The only part in bold; empty if there is none, or several."""
    distinct = set(pattern("strong").findall(reply))
    return distinct.pop() if len(distinct) == 1 else ""


def split_sentences(text: str) -> list[str]:
    """Split into sentences, line by line; a full stop after an initial or an abbreviation does not end one."""
    pieces: list[str] = []
    for line in text.splitlines():
        if not line.strip() or pattern("fence").fullmatch(line):
            continue
        start = 0
        for end in pattern("sentence_end").finditer(line):
            short = pattern("shortened").search(line, max(0, end.start() - 10), end.start())
            ends_a_name = short and re.search(r"\b(?:[^\W\d_]|[JS]r)\.\Z", short[0])  # "World War I.", "King Jr."
            if not short or (ends_a_name and pattern("begins").match(line, end.start())):
                pieces.append(line[start : end.end()].strip())
                start = end.end()
        pieces.append(line[start:].strip())
    return pieces


def opening_statement(reply: str) -> str:
    """The first line up to a full stop, where a debater has to put its answer."""
    lines = (line.strip() for line in reply.split("\n") if line.strip() and not pattern("fence").fullmatch(line))
    text = next(lines, "")
    for sentence in split_sentences(text):
        if sentence.rstrip("*_\"'”").endswith((".", "。", "।")):
            return text[: text.index(sentence) + len(sentence)].removesuffix(".")
    return text


def first_line(text: str, sentence: str) -> str:
    """The first sentence with the rest of its line, unless that explains it: "… The passage says so."."""
    rest = text.partition(sentence)[2].partition("\n")[0]
    return sentence if pattern("explains").match(rest) else sentence + rest


def doubts(text: str) -> bool:
    """Whether a sentence denies something, or says that something is not known."""
    return pattern("denial").search(text) is not None


def thinks_again(text: str) -> bool:
    """Whether a sentence may take back or add to what was said before it."""
    return doubts(text) or pattern("second_thought").search(text) is not None


def unexplained(text: str) -> str:
    """The text without a remark, apposition or relative clause after it; unchanged if that contains a second
    thought.
    """
    shorter = pattern("explanation").sub("", text, count=1)
    return text if thinks_again(text[len(shorter) :]) else shorter


def unbracketed(text: str) -> str:
    """Without remarks in brackets."""
    return pattern("brackets").sub("", text)


def stems(text: str) -> set[str]:
    """The words of a text that carry its meaning, each by its first letters; "began" becomes "begin"."""
    return {VERBS.get(word, word)[:_STEM] for word in tokens(text) if word not in _SMALL}


def said_of(sentence: str, question: str) -> str:
    """What a sentence says of the question's subject: "Paris" of "The capital of France is Paris"; else empty."""
    match = pattern("said_of").fullmatch(unbracketed(sentence))
    may_say = match and stems(match[1]) <= stems(question) and not (doubts(sentence) or is_question(sentence))
    return match[2] if match and may_say else ""


def newly_said(sentence: str, question: str) -> str:
    """At most four words between those of the question that a sentence repeats: "oboe" of "She played the oboe"."""
    words, asked = undecorated(sentence).split(), stems(question)
    named = {word for word in words[1:] if word.istitle() and word not in question}  # "Treaty" of a "treaty"

    def is_asked(word: str) -> bool:
        return stems(word) <= asked and word not in named

    repeated = [is_asked(word) and (not word.istitle() or word in question.title()) for word in words]
    two = " ".join(words[:2])  # "Plants absorb", but not "San Jose"
    begins_as_asked = not two.istitle() and f" do {two}".casefold() in question.casefold()
    is_sentence = begins_as_asked or any(_is_verb(word, question) for word in words)
    if not (takes_up(sentence, question) and is_sentence) or len(asked - stems(sentence)) > 1 or all(repeated):
        return ""
    first, last = repeated.index(False), len(words) - repeated[::-1].index(False)
    new = unexplained(" ".join(words[first:last]))
    is_more = any(word in _AUXILIARIES or (stems(word) and is_asked(word)) for word in new.split())
    while first and words[first].istitle() and words[first - 1].istitle() and words[first - 1] != "The":
        first -= 1  # "Ford" of "Ford Motor Company"
    return "" if is_more or len(new.split()) > 4 else unexplained(" ".join(words[first:last]))


def _is_verb(word: str, question: str) -> bool:
    """Whether a word can make a sentence of a phrase: "is", "wrote", "carried", "plays" if asked for "play"."""
    is_present = word.endswith("s") and word not in question and stems(word) <= stems(question)
    return word.islower() and (word in _AUXILIARIES or word in VERBS or word.endswith("ed") or is_present)


def is_capitalised(text: str) -> bool:
    """Whether all words except small ones have a capital, as in a name."""
    return not any(word[0].islower() and len(word) > 3 for word in text.split())


def is_all_asked(text: str, question: str) -> bool:
    """Whether a text has only words of the question; figures are ignored."""
    return {stem for stem in stems(text) if not stem[0].isdigit()} <= stems(question)


def takes_up(sentence: str, question: str) -> bool:
    """Whether a sentence has most words of the question."""
    asked = stems(question)
    return bool(asked) and len(asked & stems(sentence)) >= _ECHO * len(asked)


def is_question(sentence: str) -> bool:
    """Whether a sentence of three words or more is a question."""
    return sentence.rstrip('*_ "”').endswith("?") and len(sentence.split()) > 2


def repeats(sentence: str, question: str) -> bool:
    """Whether a sentence repeats the question."""
    return is_question(sentence) and takes_up(sentence, question)


def stated_alone(text: str, stated: Callable[[str], Sequence[Any]], hedge: str, behind: str) -> Any:
    """The one value that is `stated` in a text, with only a hedge before it and few words behind it; else None.

    `hedge` and `behind` name expressions.
    """
    folded = fold_digits(text).strip()
    values = stated(folded) if len(folded) <= _LONGEST_BARE else ()
    if len(values) != 1 or not pattern(hedge).fullmatch(folded, 0, values[0].start):
        return None
    return values[0] if pattern(behind).fullmatch(folded, values[0].end) else None


def unasked(said: Sequence[str], asked: Sequence[str]) -> list[str]:
    """New answers; if there are none, those of the question, where the question offers more than are said."""
    new = [each for each in dict.fromkeys(said) if each not in asked]
    return new or (list(dict.fromkeys(said)) if 0 < len(set(said)) < len(set(asked)) else [])
