"""The closed vocabularies of the field, the errors, and the label of a model.

The values of a vocabulary are the strings in every table; an unknown value raises `ValueError`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

# Invisible characters that Unicode counts as letters or marks; the others have a category of their own.
UNSEEN_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
# Whole escape sequences of a terminal: without its first character the rest of one would be shown.
ESCAPES = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # a lone surrogate, which no UTF-8 can hold
_LONGEST_MESSAGE = 380  # characters; a path or a server's error may be longer


class AnswerType(StrEnum):
    """How an answer is read, compared and perturbed: the class of that name in `srdcr_lab.answers`."""

    YEAR = "year"
    NUMBER = "number"
    NAME = "name"
    CITY = "city"
    TEXT = "text"
    OPTION = "option"  # a label of the item's options
    DATE = "date"
    YES_NO = "yes_no"


class PerturbationKind(StrEnum):
    NONE = "none"
    OFFSET = "offset"
    FACTOR = "factor"
    SUBSTITUTION = "substitution"
    REWRITE = "rewrite"  # a new passage is written around the claim


class Level(StrEnum):
    """How far a passage is from the truth; for years 20, 40, 60, and 100 or 200 years (paper, Figure 2).

    An absurd claim is impossible: 400 metres in 4.76 seconds.
    """

    STANDARD = "standard"
    SUBTLE = "subtle"
    MILD = "mild"
    MODERATE = "moderate"
    BLATANT = "blatant"
    ABSURD = "absurd"


class KnowledgeCategory(StrEnum):
    """How often sampled answers are right (paper, section 2.2 and Table 3)."""

    HIGHLY_KNOWN = "HIGHLY_KNOWN"
    MAYBE_KNOWN = "MAYBE_KNOWN"
    WEAKLY_KNOWN = "WEAKLY_KNOWN"
    UNKNOWN = "UNKNOWN"


class ConfidenceKind(StrEnum):
    """How a self-confidence was computed; every table shows it beside the value."""

    MEAN_LOGPROB = "mean_logprob"
    SEQUENCE = "sequence"
    MEAN_PROBABILITY = "mean_probability"
    SELF_CONSISTENCY = "self_consistency"
    VERBALIZED = "verbalized"
    P_TRUE = "p_true"
    SEMANTIC_ENTROPY = "semantic_entropy"


NEED_LOGPROBS = (ConfidenceKind.MEAN_LOGPROB, ConfidenceKind.SEQUENCE, ConfidenceKind.MEAN_PROBABILITY,
                 ConfidenceKind.P_TRUE)  # fmt: skip
NEED_DRAWS = (ConfidenceKind.SELF_CONSISTENCY, ConfidenceKind.SEMANTIC_ENTROPY)


class Role(StrEnum):
    """Who speaks. The last four belong to debates among equals and to debates over several documents."""

    DEFENDER = "defender"
    CRITIC = "critic"
    JUDGE = "judge"
    AGENT = "agent"
    PROPONENT = "proponent"
    ADVOCATE = "advocate"
    AGGREGATOR = "aggregator"


class DocumentKind(StrEnum):
    """What one of several documents is, if the benchmark says so (RAMDocs)."""

    CORRECT = "correct"
    MISINFO = "misinfo"
    NOISE = "noise"


class Needs(StrEnum):
    """What an item must have, besides its question, for a method."""

    QUESTION = "question"
    PASSAGE = "passage"
    OPTIONS = "options"
    DOCUMENTS = "documents"
    HOPS = "hops"


class Verdict(StrEnum):
    REASONABLE = "REASONABLE"
    UNREASONABLE = "UNREASONABLE"
    UNPARSED = "UNPARSED"


class Decision(StrEnum):
    USE_CONTEXT = "USE_CONTEXT"
    USE_PRIOR = "USE_PRIOR"
    ABSTAIN = "ABSTAIN"


class Missing(StrEnum):
    """Why a method has no answer to an item. Each reason is counted separately; all of them are part of n."""

    ABSTAINED = "abstained"
    UNPARSED = "unparsed"
    ERROR = "error"


class Told(StrEnum):
    """The answer to a question of `srdcr doctor`."""

    YES, PARTLY, NO = "yes", "partly", "no"
    BEFORE, AFTER, UNTOLD = "before temperature", "after temperature", "cannot be told"


class FinishReason(StrEnum):
    """Why a completion ended. All values are results, not crashes."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"


def visible(text: object, most: int | None = None) -> str:
    """Make a text from outside safe for a terminal: one line, without invisible characters.

    Control, format and private characters are removed (an escape sequence could rewrite the screen, a bidirectional
    mark the order of the words). Beyond `most` characters the middle is left out.

    >>> visible("a\\x1b[31m red\\u202e line\\n")
    'a red line'
    """
    spaced = " ".join(re.sub(ESCAPES, "", str(text)).split())
    printed = (letter for letter in spaced if unicodedata.category(letter)[0] != "C")
    seen = spaced if spaced.isascii() and spaced.isprintable() else re.sub(f"[{UNSEEN_LETTERS}]", "", "".join(printed))
    if most is None or len(seen) <= most:
        return seen
    half = most // 2 - 2
    return f"{seen[:half]} … {seen[-half:]}"


def visible_lines(text: str) -> str:
    """Make each line of a text `visible`, keeping its spaces."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "\n".join(" ".join(map(visible, line.split(" "))) for line in text.split("\n"))


def n_of(n: int, things: str) -> str:
    """Write a count and what is counted (named in the plural).

    >>> n_of(1, "rows"), n_of(1200, "rows")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {things.removesuffix('s') if n == 1 else things}"


def must_be(name: str, value: object, kinds: tuple[Any, ...], such_as: str) -> None:
    """Raise `BadInput` unless an argument is of one of these kinds (with None among them it may be left out)."""
    if not (isinstance(value, tuple(kind for kind in kinds if kind)) or (value is None and None in kinds)):
        raise BadInput(f"{name} is {such_as}, got {' '.join(repr(value).split()):.40}")


def must_have(package: str, who: object, extra: str, *, module: str = "", remedy: str = "") -> None:
    """Raise `BadInput` unless a package of one of our extras is installed."""
    if find_spec(module or package) is None:
        raise BadInput(f"{who} needs {package}; install it in the clone with: pip install -e '.[{extra}]'{remedy}")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the most similar known one; empty if none is similar.

    >>> [did_you_mean(name, ["ramdocs", "sr_dcr"]) for name in ("ramdoc", "SR-DCR", "sun")]
    [' (did you mean ramdocs?)', ' (did you mean sr_dcr?)', '']
    """
    from difflib import get_close_matches

    named = {each.lower().replace("-", "_"): each for each in known}
    near = get_close_matches(str(name)[:_LONGEST_MESSAGE].lower().replace("-", "_"), named, n=1, cutoff=0.7)
    return f" (did you mean {named[near[0]]}?)" if near else ""


# Providers' keys in a text; a quoted key may have stars in its middle (sk-ab***yz).
KEY = re.compile(
    r"\b(?:(?:(?:sk|pk|rk|gsk|xai|hf|r8|pplx|npm|glpat|github_pat|gh[oprsu]|xox[a-z])[-_]|AIza)[A-Za-z0-9*_.…-]{4,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}\b)|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----",
    re.ASCII,
)
# For each byte "x", if it may be part of a key, otherwise " ".
_KEY_BYTES = bytes(120 if b > 127 or re.match(rb"[\w*.-]", bytes([b])) else 32 for b in range(256))


def holds_key(text: str) -> bool:
    """Whether a text contains a whole key: a private key, or 20 or more characters with a digit (hf_hub_download is not
    one)."""
    if "PRIVATE KEY-----" in text and any(key[0].startswith("-----") for key in KEY.finditer(text)):
        return True
    keys = (key[0] for word in _long_words(text) for key in KEY.finditer(word))
    return any(len(key) >= 20 and any(map(str.isdigit, key)) for key in keys)


def _long_words(text: str) -> Iterator[str]:
    """The words of 20 or more characters that a key may have; a regular expression would take five times as long."""
    content = text.encode("utf-8", "surrogatepass")
    marks, end = content.translate(_KEY_BYTES) + b" ", 0
    while (start := marks.find(b"x" * 20, end)) >= 0:
        end = marks.index(b" ", start)
        yield content[start:end].decode("utf-8", "surrogatepass")


class SrdcrError(Exception):
    """Base of every error that this package raises on purpose. Its text is one sentence that a user can act on.

    The sentence may quote files, servers and models, so it is made `visible` and shortened here.
    """

    unanswered_attempts: int = 0  # of a model call, without a usable reply; the provider may still bill them

    def __init__(self, sentence: object = "") -> None:
        super().__init__(visible(sentence, _LONGEST_MESSAGE))


class BadInput(SrdcrError):
    """The user has to change something: a file, an argument, a key. Tables stay as they were."""

    def _render_traceback_(self) -> list[str]:
        """A notebook shows the sentence instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class CallFailed(SrdcrError):
    """One model call gave no completion after the bounded retries. The item's row holds the text."""


class TemperatureRefused(CallFailed):
    """The model takes no temperature; the same request can be sent at the provider's default."""


class NotInStore(CallFailed):
    """The run is offline and the store does not hold the completion."""


class Stopped(SrdcrError):
    """The run ended early and can be resumed: everything that was paid for is in the store."""


class BudgetExhausted(Stopped):
    """The next call could cost more than what is left of the budget."""


ORGANISM = "a model organism, no evidence about any large model"


def label(models: Iterable[str]) -> str:
    """Name the models behind a table or figure, each once; the pocket model also with what it is.

    >>> label(["openai:gpt-4o", "pocket", "pocket"])
    'openai:gpt-4o; pocket: a model organism, no evidence about any large model'
    """
    names = dict.fromkeys(models)
    return "; ".join(f"{name}: {ORGANISM}" if name.partition("#")[0] == "pocket" else name for name in names)
