"""Turn a template and what a role sees into the messages of a request; check templates of the user's own.

Untrusted text is shown in blocks that it cannot leave. Text in a passage or a reply that looks like one of our tags, or
like a line that our readers read, is made inert, even if it uses look-alike letters of other alphabets: its bracket
becomes ‹, its colon the ratio sign ∶. The text stays readable, and nothing inside a block can end it, open another, or
become such a line when a judge copies it. (That a passage may persuade a judge is the subject of study.)

A user's template may use any words, and show things in any order in its block `user`. Its code is restricted: each
piece must be one of ours. A role therefore sees what it has to see and nothing else, no passage can leave its block,
and no code of a user, or of a bundle from a stranger, can run. The template must ask for what our readers read.
"""

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from itertools import chain, starmap
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template, TemplateSyntaxError

from srdcr_lab.prompts.readers import RULING, Thesis
from srdcr_lab.records import BadInput, Message, Option, Turn
from srdcr_lab.records.files import as_path
from srdcr_lab.records.vocabulary import HALF_CHARACTER, UNSEEN_LETTERS, did_you_mean, must_be

TAGS = (*"passage debate defender critic judge answer agent critique document thesis challenge rebuttal".split(),
        *"options stance reply feedback instruction".split())  # fmt: skip

# Invisible characters that may precede a word or separate its letters.
_UNSEEN = (
    r"\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f"
    + UNSEEN_LETTERS
)
# Letter → characters that look like it …
_ALIKE: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("alike.toml").read_text("utf-8"))
# … and its mathematical, enclosed, raised and full-width forms, which NFKC normalisation turns into the letter itself.
_FORMS = ((0x1D2C, 0x1DC0), (0x2070, 0x2190), (0x2460, 0x2500), (0xFF01, 0xFF5F), (0x1D400, 0x1D800))
_COLON = "[:：﹕ː˸։׃꞉︓]"


@cache
def _alike() -> Mapping[str, str]:
    """Letter → the characters, for a pattern's brackets, that look like it."""
    seen = {letter: {letter, *others, *others.upper()} for letter, others in _ALIKE.items()}
    for character in map(chr, chain.from_iterable(starmap(range, _FORMS))):
        plain = unicodedata.normalize("NFKC", character).lower()
        if plain in seen:
            seen[plain].add(character)
    return {letter: "".join(sorted(characters)) for letter, characters in seen.items()}


def _seen_as(word: str) -> str:
    """Pattern of everything that looks like this word."""
    pattern = f"[{_UNSEEN}]*".join(f"[{_alike()[letter]}]" for letter in word)
    return f"(?:{pattern}|ﬁ[{_UNSEEN}]*{_seen_as(word[2:])})" if word.startswith("fi") else pattern


_TAG = re.compile(rf"[<＜﹤˂ᐸ〈⟨❮⧼](?=[\s/／∕⁄⧸╱\\{_UNSEEN}]*(?:{'|'.join(map(_seen_as, TAGS))})(?!\w))", re.IGNORECASE)
_LINES = {line: rf"{_seen_as(line)}[\s*_`\"'“”{_UNSEEN}]*" for line in ("answer", "answers")}
_LINES["verdict"] = rf"{_seen_as('final')}[\s*_`\-{_UNSEEN}]+{_seen_as('decision')}[\s*_`\"'{_UNSEEN}]*"
_COLONS = {name: re.compile(rf"({label}){_COLON}", re.IGNORECASE) for name, label in _LINES.items()}
_ANY_COLON, _RULING = re.compile(_COLON), re.compile(RULING, re.IGNORECASE | re.ASCII)  # one with "is" needs no colon


@lru_cache(maxsize=10_000)  # every later round shows a turn again
def defuse(text: str) -> str:
    """Make our own tags and verdict lines in untrusted text inert. Idempotent; other text is unchanged."""
    text = _TAG.sub("‹", text)
    text = _COLONS["verdict"].sub("\\1∶", text) if _ANY_COLON.search(text) else text  # few texts have one
    return _RULING.sub(lambda ruling: ruling[0].replace(" ", "\u00a0", 1), text)


def block(tag: str, text: object, line: str = "", **attributes: object) -> str:
    """Put untrusted text between our tags; `attributes` are our own words, `line` a further line to make inert."""
    text = str(text)  # raises UndefinedError for a field that a template names and that is missing
    if line:
        text = _COLONS[line].sub("\\1∶", text)
    shown = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{shown}>\n{defuse(text).strip()}\n</{tag}>"


def blocks(tag: str, number: str, line: str, texts: Mapping[int, str] | Iterable[str]) -> str:
    """Make a block for each text, with its number as an attribute (from 1, unless the mapping says otherwise)."""
    numbered = texts if isinstance(texts, Mapping) else dict(enumerate(texts, start=1))
    return "\n".join(block(tag, text, line, **{number: i}) for i, text in numbered.items())


def debate(turns: Iterable[Turn], line: str = "") -> str:
    """Make the transcript: a block for each turn, with its role as the tag and its round as an attribute."""
    spoken = [block(turn.role.value, turn.text, line, round=turn.round) for turn in turns]
    return "\n".join(["<debate>", *spoken, "</debate>"])


def named(option: Option) -> str:
    """Write an option on one line: ``B. a library``, or only the label if the text is the label."""
    text = " ".join(option.text.split())
    return option.label if text == option.label else f"{option.label}. {text}"


def _stance(option: Option) -> str:
    return block("stance", named(option), "answer")


def _stances(cases: Iterable[tuple[Option, Sequence[Turn]]]) -> str:
    return "\n".join(f"{_stance(option)}\n{debate(turns, 'answer')}" for option, turns in cases)


def _held(view: Thesis) -> str:
    answer = "No answer." if view.answer is None else f"It is {view.answer}."
    return "\n".join([answer, *(f"- {step}" for step in view.chain_of_thought)])


def _cases(cases: Iterable[tuple[Thesis, str | None, Thesis | None]]) -> str:
    """For each document its thesis and, if it was challenged, the challenge and the rebuttal with its state."""
    shown = []
    for i, (thesis, challenge, rebuttal) in enumerate(cases, start=1):
        shown.append(block("thesis", _held(thesis), "answers", document=i))
        if challenge is not None:
            shown.append(block("challenge", challenge, "answers", document=i))
        if rebuttal is not None:
            shown.append(block("rebuttal", _held(rebuttal), "answers", document=i, state=rebuttal.state))
    return "\n".join(shown)


# The filters of the templates. Each kind of prompt asks for its own last line, which the blocks in it make inert.
FILTERS: Mapping[str, Callable[..., str]] = {
    **{f"{tag}_block": partial(block, tag) for tag in ("passage", "answer", "critique")},
    "debate_block": debate,
    # several documents
    **{f"{tag}_block": partial(block, tag, line="answers") for tag in ("document", "challenge")},
    "documents_block": partial(blocks, "document", "id", "answers"),
    "agents_block": partial(blocks, "agent", "document", "answers"),
    "thesis_block": lambda thesis: block("thesis", _held(thesis), "answers"),
    "theses_block": lambda theses: blocks("thesis", "document", "answers", map(_held, theses)),
    "cases_block": _cases,
    # questions with options
    **{f"{tag}_block": partial(block, tag, line="answer") for tag in ("reply", "feedback", "instruction")},
    "evidence_block": partial(block, "passage", line="answer"),
    "options_block": lambda options: block("options", "\n".join(map(named, options)), "answer"),
    "stance_block": _stance,
    "replies_block": partial(blocks, "reply", "agent", "answer"),
    "stance_debate_block": partial(debate, line="answer"),
    "stances_block": _stances,
}


# Templates, ours and the user's

_TEMPLATES = Path(__file__).with_name("templates")
_PARAPHRASES = Path(__file__).with_name("paraphrases")
_LONGEST = 20_000  # characters
_CODE = ("{{", "{%")
_BLOCKS = {"{% block system %}": "system", "{% block user %}": "user", "{% endblock %}": ""}
# The marks by which replies are read, such as the full stop after an opening answer: a template must ask for those of
# them that ours asks for.
_READ_BY = re.compile(
    r"final decision:|UNREASONABLE|(?:Final answer|Sub-question|Sub-answer|answers|confidence):|full stop"
    r'|"(?:answer: |- |state|answer|chain_of_thought|challenges|document|challenge|defend|revise|concede)"'
)


@cache
def sources() -> Mapping[str, str]:
    """Template name → our text."""
    return {file.stem: file.read_text("utf-8") for file in _TEMPLATES.glob("*.j2")}


@cache
def _template(text: str) -> Template:
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 (prompts, not HTML)
    environment.filters.update(FILTERS)
    return environment.from_string(text)


def _part(text: str, part: str, fields: Mapping[str, object]) -> str:
    template = _template(text)
    fields = {key: defuse(value) if isinstance(value, str) else value for key, value in fields.items()}
    context = template.new_context(fields, shared=True)  # nothing but the fields: templates use no globals
    return "".join(template.blocks[part](context)).strip()


@lru_cache(maxsize=10_000)  # nearly every request of a role has the same instructions and worked examples
def _repeated(text: str, part: str, fields: tuple[tuple[str, object], ...] = ()) -> str:
    return _part(text, part, dict(fields))


@dataclass(frozen=True)
class Prompts:
    """The templates of a study: ours, except those that `own` replaces (name → text, checked by `own_prompts`)."""

    own: Mapping[str, str] = field(default_factory=dict)

    def hashes(self) -> Mapping[str, str]:
        """Template name → SHA-256 of its text, as in `run.json` and the pocket model's manifest."""
        texts = {**sources(), **self.own}
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(texts.items())}

    def system_text(self, name: str) -> str:
        """The instructions of a template. They have no fields, so all requests of a role start with the same text."""
        return _repeated(self.own.get(name) or sources()[name], "system")

    def render(
        self, name: str, *, shots: Sequence[tuple[Mapping[str, object], str]] = (), **fields: object
    ) -> tuple[Message, ...]:
        """Messages of one request: instructions, worked examples as earlier exchanges, then the question at hand.

        `shots` are the fields and the reply of each worked example. A missing field of the template `name` raises
        `jinja2.UndefinedError`.
        """
        messages, text = [Message("system", self.system_text(name))], self.own.get(name) or sources()[name]
        for shot, reply in shots:
            messages += [Message("user", _repeated(text, "user", tuple(shot.items()))), Message("assistant", reply)]
        return (*messages, Message("user", _part(text, "user", fields)))


def render_rewrite(question: str, passage: str, answer: str) -> tuple[Message, ...]:
    """Messages that ask for a new passage around a false answer.

    The template belongs to no role and is not in `sources`, so runs and the pocket model do not depend on it.
    """
    rewrite = Prompts({"rewrite": (_TEMPLATES / "data" / "rewrite.j2").read_text("utf-8")})
    return rewrite.render("rewrite", question=question, passage=passage, answer=answer)


OURS = Prompts()
hashes, system_text, render = OURS.hashes, OURS.system_text, OURS.render


def own_prompts(given: str | Path | Mapping[str, str] | None) -> Prompts:
    """Our prompts, with the templates of a folder (NAME.j2) or of a mapping (name → text) in place of ours.

    ``paraphrase-1`` and ``paraphrase-2`` are our own rewordings of the roles' instructions. Raises `BadInput` for the
    first fault, with its file and line.
    """
    if not given:
        return OURS
    if str(given) in (ours := {f"paraphrase-{folder.name}": folder for folder in _PARAPHRASES.iterdir()}):
        given = ours[str(given)]
    folder = Path() if isinstance(given, Mapping) else as_path(given)
    texts = {f"{name}.j2": text for name, text in given.items()} if isinstance(given, Mapping) else _read(folder)
    for file, text in texts.items():
        must_be(f"the template {file}", text, (str,), "a text")
        try:
            for line, fault in _faults(file, text):
                raise BadInput(f"{folder / file}, line {line}: {fault}")
        except TemplateSyntaxError as error:
            raise BadInput(f"{folder / file}, line {error.lineno}: {error.message:.150}; write it as ours") from None
    named = {file.removesuffix(".j2"): text for file, text in texts.items()}
    return Prompts({name: text for name, text in named.items() if text != sources()[name]})


@cache
def paraphrases() -> tuple[Prompts, ...]:
    """Our prompts with reworded instructions, to measure variation over prompts."""
    return tuple(own_prompts(folder) for folder in sorted(_PARAPHRASES.iterdir()))


def _read(folder: Path) -> dict[str, str]:
    """File name → text, for all files of a folder that are not hidden; bytes that are not UTF-8 as lone surrogates."""
    texts = {}
    try:
        for path in sorted(folder.glob("[!.]*")):
            with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
                texts[path.name] = file.read(_LONGEST + 1)
    except OSError as error:
        raise BadInput(f"cannot read {error.filename} ({error.strerror}); make it readable, or take it away") from None
    if not texts:
        raise BadInput(f"{folder} is no folder with templates; copy into one those of {_TEMPLATES} that you change")
    return texts


def _faults(file: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and sentence for each fault of a template; it is compiled only once its code is known to be ours."""
    name, known = file.removesuffix(".j2"), [f"{name}.j2" for name in sources()]
    if file not in known:
        yield 1, f"there is no template of this name{did_you_mean(file, known)}; use a name from {_TEMPLATES}"
    if not text.strip() or len(text) > _LONGEST:
        yield 1, f"it is empty, or has more than {_LONGEST:,} characters; start from a copy of ours"
    if broken := HALF_CHARACTER.search(text):
        yield text.count("\n", 0, broken.start()) + 1, "this is not UTF-8; save the file as UTF-8"
    ours = [piece for _, _, piece in _pieces(sources()[name]) if piece.startswith(_CODE)]
    may = {"": "nothing outside of the blocks system and user is sent"}
    may["system"] = "the block system may only hold words"
    may["user"] = f"the block user may hold words and {', '.join(ours)}"
    last, there = dict.fromkeys(may, 1), set()
    for line, block, piece in _pieces(text):
        if not block or (piece.startswith(_CODE) and (block == "system" or piece not in ours)):
            yield line, f"“{piece:.80}” is not allowed here, remove it; {may[block]}"
        last[block] = line
        there |= {(block, ""), (block, piece)}
    needed = [piece for piece in ours if not piece.startswith("{% if reply %}")]  # then a reply is not asked for twice
    for block, piece in (("system", ""), *(("user", piece) for piece in needed)):
        if (block, piece) not in there:
            yield last[block], f"the block {block} lacks {piece or 'words'}, which this role needs; add it as in ours"
    instructions = Prompts({name: text}).system_text(name)
    for mark in _READ_BY.findall(OURS.system_text(name)):
        if mark.casefold() not in instructions.casefold():
            yield last["system"], f"the block system lacks {mark!r}, by which replies are read; ask for it as ours does"


def _pieces(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, block and text of each piece of code and words; a whole condition, without its words, is one piece."""
    block, condition, began = "", "", 0
    for line, piece in _tokens(text):
        if condition or piece.startswith("{% if "):
            began = began if condition else line
            condition += piece * piece.startswith(_CODE)
            if piece == "{% endif %}":
                yield began, block, condition.replace("{% else %}{% endif %}", piece)
                condition = ""
        elif piece in _BLOCKS and bool(block) is not bool(_BLOCKS[piece]):  # none is in another
            block = _BLOCKS[piece]
        else:
            yield line, block, piece


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of words, and of code in its normal form: ``{{ passage | passage_block }}``."""
    code: list[str] = []
    for line, kind, value in Environment().lex(text):  # noqa: S701 (read, and not rendered)
        if kind in ("variable_begin", "block_begin"):
            code = [value[:2]]
        elif kind in ("variable_end", "block_end"):
            yield line, " ".join([*code, value.strip()[-2:]])
        elif kind in ("data", "raw_begin") and value.strip():
            yield line + value[: len(value) - len(value.lstrip())].count("\n"), value.strip()
        elif kind != "whitespace":
            code.append(value)
