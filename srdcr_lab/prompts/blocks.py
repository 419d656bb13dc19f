"""The blocks that untrusted text cannot leave, as the templates' filters show it.

Whatever in a passage or a reply looks like one of our tags, or like a line that our readers read, is made inert, also
in letters of other alphabets that look like ours: its bracket becomes ‹, its colon the ratio sign ∶. The text stays
readable, and nothing inside a block can end it, open another, or become such a line when a judge copies it. (That a
passage may persuade a judge is the subject of study.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import chain

from srdcr_lab.prompts.readers import RULING, Rebuttal, Thesis
from srdcr_lab.records import Option, Turn
from srdcr_lab.records.vocabulary import UNSEEN_LETTERS

TAGS = tuple(
    (
        "passage debate defender critic judge answer agent critique document thesis challenge rebuttal "
        "options stance reply feedback instruction"
    ).split()
)

# Invisible characters may precede a word and separate its letters.
_UNSEEN = (
    r"\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f"
    + UNSEEN_LETTERS
)
# What a reader takes for a letter of our words: in Latin, digits, Greek, Cyrillic, Armenian, Cherokee and Coptic (small
# and capital ones that are each other's are listed once), after Unicode's confusables (UTS 39) …
_ALIKE = {
    "a": "аαɑᴀꭺ", "b": "вьβƅʙᏼ", "c": "сϲᴄꮯⲥ", "d": "ԁɗᴅꭰ", "e": "еεҽєᴇꭼ", "f": "ϝƒғꜰք", "g": "ɡցԍɢꮐ", "h": "һнηհʜꮋ",
    "i": "іιıɩӏǀ1l|!ꭵ", "j": "јϳյȷᴊꭻ", "k": "кκĸᴋꮶ", "l": "ӏǀι1i|ⅼʟլꮮ", "m": "мμᴍꮇ", "n": "νոηпռɴ", "o": "оοσօᴏⲟ0",
    "p": "рρᴘꮲⲣ", "q": "ԛգզ", "r": "гᴦʀꮢꭱ", "s": "ѕꜱտꮪƽ", "t": "тτᴛꭲ", "u": "υսʋцᴜ", "v": "νѵᴠꮩ", "w": "ԝѡωաꮃᴡ",
    "y": "уγүʏꭹ",
}  # fmt: skip
# … and its forms for mathematics, enclosed, raised, full-width: what compatibility (NFKC) makes the letter itself.
_FORMS = (
    range(0x1D2C, 0x1DC0),
    range(0x2070, 0x2190),
    range(0x2460, 0x2500),
    range(0xFF01, 0xFF5F),
    range(0x1D400, 0x1D800),
)
_COLON = "[:：﹕ː˸։׃꞉︓]"


@cache
def _alike() -> Mapping[str, str]:
    """Letter → the inside of a pattern's brackets that matches everything seen as it."""
    seen = {letter: {letter, *others, *others.upper()} for letter, others in _ALIKE.items()}
    for character in map(chr, chain(*_FORMS)):
        plain = unicodedata.normalize("NFKC", character).lower()
        if plain in seen:
            seen[plain].add(character)
    return {letter: "".join(sorted(characters)) for letter, characters in seen.items()}


def _seen_as(word: str) -> str:
    """Pattern of everything that a reader takes for this word."""
    pattern = f"[{_UNSEEN}]*".join(f"[{_alike()[letter]}]" for letter in word)
    return f"(?:{pattern}|ﬁ[{_UNSEEN}]*{_seen_as(word[2:])})" if word.startswith("fi") else pattern


_TAG = re.compile(rf"[<＜﹤˂ᐸ](?=[\s/／{_UNSEEN}]*(?:{'|'.join(map(_seen_as, TAGS))})\b)", re.IGNORECASE)
_LINES = {
    "verdict": rf"{_seen_as('final')}[\s*_`\-{_UNSEEN}]+{_seen_as('decision')}[\s*_`\"'{_UNSEEN}]*",
    "answer": rf"{_seen_as('answer')}[\s*_`\"'“”{_UNSEEN}]*",
    "answers": rf"{_seen_as('answers')}[\s*_`\"'“”{_UNSEEN}]*",
}
_COLONS = {name: re.compile(rf"({label}){_COLON}", re.IGNORECASE) for name, label in _LINES.items()}
_RULING = re.compile(RULING, re.IGNORECASE | re.ASCII)  # with "is" it needs no colon


@lru_cache(maxsize=10_000)  # every later round shows a turn again
def defuse(text: str) -> str:
    """Untrusted text with our own tags and verdict lines made inert. Idempotent; other text is unchanged."""
    text = _COLONS["verdict"].sub("\\1∶", _TAG.sub("‹", text))
    return _RULING.sub(lambda ruling: ruling[0].replace(" ", "\u00a0", 1), text)


def block(tag: str, text: object, line: str = "", **attributes: object) -> str:
    """Untrusted text between our tags; `attributes` are our own words. `line` names a further line to make inert."""
    text = str(text)  # raises UndefinedError for a field that a template names and that is missing
    if line:
        text = _COLONS[line].sub("\\1∶", text)
    shown = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{shown}>\n{defuse(text).strip()}\n</{tag}>"


def blocks(tag: str, number: str, line: str, texts: Mapping[int, str] | Iterable[str]) -> str:
    """A block for each text with its number (from 1 unless the mapping says otherwise) as an attribute."""
    numbered = texts if isinstance(texts, Mapping) else dict(enumerate(texts, start=1))
    return "\n".join(block(tag, text, line, **{number: i}) for i, text in numbered.items())


def debate(turns: Iterable[Turn], line: str = "") -> str:
    """The transcript: a block for each turn, with its role as the tag and its round as an attribute."""
    spoken = [block(turn.role.value, turn.text, line, round=turn.round) for turn in turns]
    return "\n".join(["<debate>", *spoken, "</debate>"])


def named(option: Option) -> str:
    """An option on one line: ``B. a library``, or the label alone where the text is the label."""
    text = " ".join(option.text.split())
    return option.label if text == option.label else f"{option.label}. {text}"


def _stance(option: Option) -> str:
    return block("stance", named(option), "answer")


def _stances(cases: Iterable[tuple[Option, Sequence[Turn]]]) -> str:
    return "\n".join(f"{_stance(option)}\n{debate(turns, 'answer')}" for option, turns in cases)


def _held(view: Thesis | Rebuttal) -> str:
    answer = "No answer." if view.answer is None else f"It is {view.answer}."
    return "\n".join([answer, *(f"- {step}" for step in view.chain_of_thought)])


def _cases(cases: Iterable[tuple[Thesis, str | None, Rebuttal | None]]) -> str:
    """For each document its thesis and, where it was challenged, challenge and rebuttal with its state."""
    shown = []
    for i, (thesis, challenge, rebuttal) in enumerate(cases, start=1):
        shown.append(block("thesis", _held(thesis), "answers", document=i))
        if challenge is not None:
            shown.append(block("challenge", challenge, "answers", document=i))
        if rebuttal is not None:
            shown.append(block("rebuttal", _held(rebuttal), "answers", document=i, state=rebuttal.state))
    return "\n".join(shown)


# The filters of the templates. Each kind of reader is asked to end with another line, which its blocks make inert.
FILTERS: Mapping[str, Callable[..., str]] = {
    "passage_block": partial(block, "passage"),
    "answer_block": partial(block, "answer"),
    "critique_block": partial(block, "critique"),
    "debate_block": debate,
    # several documents
    "document_block": partial(block, "document", line="answers"),
    "documents_block": partial(blocks, "document", "id", "answers"),
    "agents_block": partial(blocks, "agent", "document", "answers"),
    "thesis_block": lambda thesis: block("thesis", _held(thesis), "answers"),
    "theses_block": lambda theses: blocks("thesis", "document", "answers", map(_held, theses)),
    "challenge_block": partial(block, "challenge", line="answers"),
    "cases_block": _cases,
    # questions with options
    "evidence_block": partial(block, "passage", line="answer"),
    "options_block": lambda options: block("options", "\n".join(map(named, options)), "answer"),
    "stance_block": _stance,
    "reply_block": partial(block, "reply", line="answer"),
    "replies_block": partial(blocks, "reply", "agent", "answer"),
    "feedback_block": partial(block, "feedback", line="answer"),
    "instruction_block": partial(block, "instruction", line="answer"),
    "stance_debate_block": partial(debate, line="answer"),
    "stances_block": _stances,
}
