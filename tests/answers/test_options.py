"""Options read strictly: one label, or none."""

import pytest

from srdcr_lab.answers import contains_anywhere, equal, extract, extract_option, find, normalise
from srdcr_lab.records import AnswerType, Option

OPTION = AnswerType.OPTION


def options(*texts: str) -> tuple[Option, ...]:
    return tuple(Option(label=label, text=text) for label, text in zip("ABCDE", texts, strict=False))


PLACES = options("a bank", "Library", "department store", "the canal", "B minor")
CLAIM = (Option(label="true", text="yes"), Option(label="false", text="no"))


@pytest.mark.parametrize(("reply", "label"), [
    ("B", "B"), ("b", "B"), ("(B)", "B"), ("[B]", "B"), ("B.", "B"), ("B)", "B"), ("**B**", "B"), ("Option B", "B"),
    ("B. Library", "B"), ("(B) library.", "B"), ("B: the Library", "B"), ("B - Library", "B"),
    ("library", "B"), ("The library.", "B"), ("Department store", "C"), ("canal", "D"), ("bank", "A"),
    ("Answer: B", "B"), ("answer: (B)", "B"), ("**Answer:** B. Library", "B"), ("Answer: library", "B"),
    ("The correct answer is Option B.", "B"), ("The answer is B because one reads there.", "B"),
    ("Judgement: The correct answer is Option [B].", "B"), ("Final answer:\nB", "B"),
    ("C is a shop, A keeps money.\nOne reads there.\nanswer: B", "B"), ("B\nOne reads there.", "B"),
    ("One reads there.\n(B)", "B"), ("Answer: B\nSo the answer is B.\nAnswer: B", "B"),
    ("E", "E"), ("B minor", "E"), ("E. B minor", "E"), ("Answer: **B**", "B"), ("The correct answer is **B**.", "B"),
    ("The answer is **B**: a library.", "B"), ("The correct answer is `B`.", "B"), ("Answer: **A** or **B**", None),
])  # fmt: skip
def test_a_reply_that_names_one_option(reply: str, label: str | None) -> None:
    assert extract_option(reply, PLACES) == label


@pytest.mark.parametrize("reply", [
    "", "  \n", "Certainly a matter of taste.", "Cannot tell.", "C is for cookie.", "A", "F", "Option F", "B or C",
    "B, C", "B. department store", "Answer: B\nAnswer: C", "A. a bank\nB. Library", "not B", "The answer is not B.",
    "I considered\nB\nand left it.", "Answer: it depends", "Answer:", "a shop", "None of them",
    "A clear case: the B.", "Banks", "Answer: C? No, it cannot be.", "It is the library, or the canal.",
])  # fmt: skip
def test_a_reply_that_names_none_or_two_is_unparsed(reply: str) -> None:
    offered = PLACES[1:] if reply == "A" else PLACES
    assert extract_option(reply, offered) is None


@pytest.mark.parametrize(
    ("reply", "label"),
    [("True", "true"), ("yes.", "true"), ("answer: false", "false"), ("The claim is true.", None), ("untrue", None),
     ("No", "false"), ("It is true that it is false.", None), ("true or false", None), ("FALSE", "false")],
)  # fmt: skip
def test_a_claim_is_true_or_false(reply: str, label: str | None) -> None:
    assert extract_option(reply, CLAIM) == label


def test_the_public_functions_take_options() -> None:
    assert extract("Answer: C", OPTION, choices=PLACES) == "C"
    assert extract("Answer: C", OPTION) is None
    assert equal("c", "C", OPTION)
    assert not equal("C", "A", OPTION)
    assert normalise("(C)", OPTION) == "c"
    assert normalise("a long sentence", OPTION) is None
    assert [(span.start, span.end) for span in find("A boat in Canal C: a c", "C", OPTION)] == [(16, 17)]
    assert not contains_anywhere("Certainly not", "C", OPTION)
    assert contains_anywhere("C", "C", OPTION)
    crossed = (Option(label="A", text="B"), Option(label="B", text="C"))
    assert extract_option("B", crossed) is None
    assert extract_option("A", crossed) == "A"
