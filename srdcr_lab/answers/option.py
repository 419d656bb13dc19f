"""Yes or no: read where a reply says it as an answer. A "no" inside a sentence ("no record of it") says nothing.

Options of a multiple-choice question or a binary claim, read strictly: a reply names one option, or none.

A reply names a label if it is the label alone ("B", "(b)", "option B"), the label before its own text ("B. a bank"), or
either of them after "answer:" and the like; or if it is an option's text. A reason may follow ("No, because …"). A
letter inside a sentence names nothing.
"""

import re
from collections.abc import Iterator, Sequence

from srdcr_lab.answers import wording
from srdcr_lab.answers.kinds import Kind, Reading, normalise
from srdcr_lab.answers.wording import Span, announced, doubts, emphasised, pattern, said_of, spoken, tokens, undecorated
from srdcr_lab.records import AnswerType, Option
from srdcr_lab.records.vocabulary import did_you_mean

_MEANING = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
_NEAR = 40  # characters before the word


class YesNo(Kind):
    """Yes or no, also written true or false; a passage argues for it in other words. It is not perturbed."""

    answer_type = AnswerType.YES_NO
    is_value = True
    is_stated = False

    def canonical(self, text: str, unit: str = "") -> str | None:
        """The one of "yes" and "no" that a text says, once or repeatedly."""
        said = "\n".join(each for each in wording.split_sentences(text) if not wording.is_question(each))
        values = {value for _, value in _said(said)}
        return values.pop() if len(values) == 1 else None

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> list[Span]:
        """Where the passage says it as an answer."""
        return [Span(m.start(), m.end(), m[0]) for m, value in _said(passage) if value == canonical]

    def answer_of(self, text: str, reading: Reading) -> str | None:
        """As `canonical` reads it.

        >>> [normalise(text, AnswerType.YES_NO) for text in ("No, there is no record of it.", "There is no record.")]
        ['no', None]
        """
        return normalise(text, self.answer_type)

    def guesses(self, answers: Sequence[str]) -> bool:
        return all(answer.casefold() in _MEANING for answer in answers)


def _said(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each word that stands as an answer, and what it means."""
    for match in pattern("yes_or_no").finditer(text):
        if pattern("clause_begins").search(text[max(0, match.start() - _NEAR) : match.start()]):
            yield match, _MEANING[match[0].casefold()]


TRUE_OR_FALSE = (Option(label="true", text="true"), Option(label="false", text="false"))
_LABEL = re.compile(r"[^\W_]{1,12}")


class Label(Kind):
    """The label of an option, compared without case and brackets; it is not perturbed."""

    answer_type = AnswerType.OPTION
    is_stated = False

    def canonical(self, text: str, unit: str = "") -> str | None:
        """None for anything longer than a word of twelve characters."""
        bare = undecorated(undecorated(text).removesuffix(")"))
        return bare.casefold() if _LABEL.fullmatch(bare) else None

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> list[Span]:
        """The label as a word by itself. Single letters count only in capitals: "a" is an article."""
        matches = re.finditer(rf"(?<!\w){re.escape(canonical)}(?!\w)", passage, re.IGNORECASE)
        spans = [Span(match.start(), match.end(), match[0]) for match in matches]
        return [span for span in spans if len(canonical) > 1 or not canonical.isalpha() or span.surface[0].isupper()]

    def extract(self, output: str, reading: Reading) -> str | None:
        return extract_option(output, reading.choices, reading.question)


def claim(question: str, answer: str) -> str:
    """The claim, to be asked for as `TRUE_OR_FALSE`, that this is the answer."""
    return f'Is this claim true or false? The answer to the question "{question}" is {answer}.'


def extract_option(reply: str, options: Sequence[Option], question: str = "") -> str | None:
    """The label of the one option that a reply names; None (unparsed) rather than a guess.

    Lines that begin with "answer:" ("The correct answer is …") decide, and must agree. Without one, the first or last
    line has to name the option, and no other line another; or it is what a sentence says of the question's subject.

    >>> extract_option("C is unlikely.", [Option(label="B", text="a bank"), Option(label="C", text="a canal")])
    >>> extract_option("(B)", [Option(label="B", text="a bank"), Option(label="C", text="a canal")])
    'B'
    """
    reply = spoken(reply)
    if texts := announced(reply):
        named = {_named(pattern("reason_after").sub("", text.partition("\n")[0]), options) for text in texts}
        return named.pop() if len(named) == 1 else None
    if whole := _named(reply, options):
        return whole
    lines = (pattern("verdict").sub("", line) for line in reply.splitlines() if line.strip())
    read = [_named(pattern("reason_after").sub("", line), options) for line in lines]
    if labels := set(read) - {None}:
        return labels.pop() if len(labels) == 1 and (read[0] or read[-1]) else None
    return None if doubts(reply) else _named(emphasised(reply) or said_of(undecorated(reply), question), options)


def _named(answer: str, options: Sequence[Option]) -> str | None:
    """The label that a bare answer names: by itself, with its own text after it, or by an option's text alone.

    An option that is yes or no is also named by an answer that begins so.
    """
    bare = undecorated(answer)
    label, text = match.groups() if (match := pattern("option_named").fullmatch(bare)) else ("", None)
    said = normalise(bare, AnswerType.YES_NO) if YesNo().guesses(tokens(bare)[:1]) else None  # "No, because …"
    labelled = text and label.casefold() in {option.label.casefold() for option in options}  # "A. car" is no "a car"
    named = {
        option.label
        for option in options
        if (not labelled and _is_text_of(bare, option))
        or (said and YesNo().guesses([option.text]) and said == normalise(option.text, AnswerType.YES_NO))
        or (tokens(option.label) == tokens(label) and (text is None or _is_text_of(text, option)))
    }
    return named.pop() if len(named) == 1 else None


def _is_text_of(answer: str, option: Option) -> bool:
    """Whether an answer is the option's text, without case, punctuation and articles."""
    written = Kind().canonical(undecorated(answer))
    return written is not None and written == Kind().canonical(option.text)


def without_repeats(options: Sequence[Option], gold: str) -> tuple[Option, ...]:
    """The options without those that repeat the text of an earlier wrong one; labels stay.

    A reply that is such a text then names one option, as `extract_option` wants it. The right option is never dropped,
    nor what repeats it: such a question has two right options, which `fault_of` says.
    """
    right = [_folded(option.text) for option in options if option.label == gold]
    texts = [_folded(option.text) for option in options]
    return tuple(o for i, o in enumerate(options) if texts[i] in right or texts[i] not in texts[:i])


def label_of(named: str, options: Sequence[Option], offered: Sequence[Option] = ()) -> str:
    """The label of the option that is named by its label or text, also by the label of a repeat among those `offered`.

    What names no option stays as it is.
    """
    if named in [option.label for option in options]:
        return named
    text = _folded(next((option.text for option in offered if option.label == named), named))
    return next((option.label for option in options if _folded(option.text) == text), named)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def fault_of(options: Sequence[Option], gold: str) -> str:
    """What is wrong with the options of a question, in words; empty where nothing is."""
    if (n := len(options)) < 2:
        return f"a question needs at least two options, found {n}; bars stand between them (a bank|a library)"
    for option in options:
        if not _LABEL.fullmatch(option.label):
            return f"the label {option.label!r} is not one word of at most twelve letters or digits"
        if not option.text.strip():
            return f"option {option.label} is empty"
    labels = [option.label for option in options]
    folded = [label.casefold() for label in labels]
    if twice := [label for label in labels if folded.count(label.casefold()) > 1]:
        return f"the label {twice[0]!r} occurs twice"
    texts = [_folded(option.text) for option in options]
    if repeated := [label for i, label in enumerate(labels) if texts[i] in texts[:i]]:
        return f"option {repeated[0]} repeats the text of an earlier one"
    if gold not in labels:
        near = did_you_mean(gold, [*labels, *(option.text for option in options)])
        return f"the answer {gold!r} is none of the labels {', '.join(labels)} and no option's text{near}"
    return ""
