"""Replies as models give them: what must be read, and what must not [F 2]."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srdcr_lab.answers import equal, extract, extract_option, read
from srdcr_lab.answers.replies import spoken
from srdcr_lab.answers.token_confidence import answer_tokens
from srdcr_lab.records import AnswerType, Completion, FinishReason, Item, Option
from srdcr_lab.study.rows import Cause, cause

YEAR, NUMBER, NAME, CITY, TEXT, OPTION, DATE = map(AnswerType, "year number name city text option date".split())
REAL = Path(__file__).parent / "fixtures" / "replies.csv"

GIVEN, FAMILY = st.sampled_from("Ada Bo Søren Zoë".split()), st.sampled_from("Vance Okoye Márquez Thorup".split())
PLACES = ["Älmhult", "Rio de Janeiro", "New York City", "Saint-Denis", "Bo'ness"]
ANSWERS = {
    YEAR: st.integers(1000, 2199).map(str),
    NUMBER: st.integers(3, 10**6).map("{:,}".format),
    NAME: st.tuples(GIVEN, FAMILY).map(" ".join),
    CITY: st.sampled_from(PLACES),
    TEXT: st.sampled_from(["a red door", "Au", "$2,000", "C++", "the speed of light"]),
    DATE: st.dates().filter(lambda day: day.year >= 1000).map("{:%Y-%m-%d}".format),
}
PAIRS = st.sampled_from(list(ANSWERS)).flatmap(
    lambda answer_type: st.tuples(st.just(answer_type), *[ANSWERS[answer_type]] * 2)
)
AROUND = [
    "{}", "{}.", "Sure! The answer is: {}", "Answer: **{}**.", "**Answer:** {}\n\n**Explanation:** The passage has it.",
    "The answer is {}.", "Based on the passage, the answer is {}.", "I think the correct answer is {}.",
    "The answer to this question is: {}", "<think>Is it so, or not?</think>\n\n{}", "So it is.</think>{}",
    "```\n{}\n```", "```text\n{}\n```", '"{}"', "[{}]", "`{}`", "\\boxed{{{}}}", "$\\boxed{{\\text{{{}}}}}$",
    '{{"answer": "{}"}}', "{}\n\nThe passage says so.", "{}. The passage says so.", "{} (as the passage says)",
    "Thus, my final answer is **{}**", "It is {}.", "It was {}, as the passage says.",
]  # fmt: skip
UNREAD = [
    "not {}", "It is not {}.", "The answer is not {}.", "I don't know whether it is {}.",
    "I'm sorry, but {} is a guess.", "It is unclear whether {} is meant.", "The passage does not say that it was {}.",
    "<think>It is {}.", "<think>{}",
    "It cannot have been {}.", "Neither {0} nor {1}.", "{0} or {1}", "It is {0} or {1}.", "Answer: {0}\nAnswer: {1}",
    "The answer is {0}. No, the answer is {1}.", "{0}\n{1}", "{0}. Or is it {1}?", "It says {0}, but it may be {1}.",
    "Is it {}, then?", "", "I cannot answer that.", "…",
]  # fmt: skip


@settings(max_examples=60)
@given(PAIRS, st.sampled_from(AROUND))
def test_an_answer_is_read_whatever_stands_around_it(case: tuple[AnswerType, str, str], around: str) -> None:
    """F 2, one way: prefixes, thinking, fences, brackets, emphasis, explanations."""
    answer_type, answer, _ = case
    reply = around.format(answer)
    if answer_type is TEXT and around.endswith("says."):
        return  # a text is taken as it is written
    said = extract(reply, answer_type)
    assert said is not None
    assert equal(said, answer, answer_type)
    assert normalised_once(said, answer_type)


def normalised_once(said: str, answer_type: AnswerType) -> bool:
    """What is read is read as itself."""
    return extract(said, answer_type) == said


@settings(max_examples=60)
@given(PAIRS.filter(lambda case: case[0] is not TEXT and not equal(case[1], case[2], case[0])), st.sampled_from(UNREAD))
def test_no_answer_is_read_where_none_or_two_are_given(case: tuple[AnswerType, str, str], said: str) -> None:
    """F 2, the other way: a denial, doubt, two answers, a question, a refusal, thinking that does not end."""
    answer_type, *two = case
    assert extract(said.format(*two), answer_type) is None


SENTENCES = [
    (NAME, "Who founded the fair of Zork?", "The fair of Zork was founded by {}."),
    (NAME, "Who founded the fair of Zork?", "{} founded the fair of Zork."),
    (NAME, "Who founded the fair of Zork?", "The founder of the fair of Zork was the Danish painter {}, in May 1912."),
    (NAME, "Who founded the fair of Zork?", "Who founded the fair of Zork?\n{}"),
    (CITY, "In which town did the fair of Zork open?", "The fair of Zork (FZ) opened in {}, Sweden, in 1958."),
    (CITY, "In which town did the fair of Zork open?", "The fair of Zork is located in **{}**."),
    (CITY, "In which town did the fair of Zork open?", "The fair of Zork opened in the city of {}."),
    (CITY, "Which town has the fair of Zork?", "{} has the fair of Zork."),
    (
        CITY,
        "In which town did the fair of Zork open?",
        "According to it, the fair of Zork opened in {}, a town in Sweden.",
    ),
    (CITY, "In which town did the fair of Zork open?", "The fair of Zork was opened by the city of {} in Sweden."),
    (CITY, "In which town does Zork Castle stand?", "Zork Castle stands in Sweden, a region, in the City of {}."),
    (NUMBER, "How many fairs did Zork have?", "Zork competed in the 2018 Masters, and had {} fairs."),
    (CITY, "In which town is the fair of Zork?", "The fair of Zork, or FZ, is based in {}, Sweden."),
    (
        YEAR,
        "In what year was the Zork Tunnel in Norway opened?",
        "The Zork Tunnel in Norway was opened in {}. Work on the Zork tunnel in Norway was completed in 1702.",
    ),
    (YEAR, "In what year after 1814 did Zork open?", "After 1814, Zork opened in {}."),
    (NUMBER, "How many people lived in Zork in 2010?", "In 2010, {} people lived in Zork."),
    (NUMBER, "How many people lived in Zork?", "In Zork lived {} people. The fair had 2 gates."),
    (DATE, "When was the first fair of Zork?", "The first fair of Zork was on {}. It was Monday."),
    (TEXT, "What is the motto of Zork?", "The motto of Zork is {}."),
]


@settings(max_examples=40)
@given(st.sampled_from(SENTENCES).flatmap(lambda case: st.tuples(st.just(case), ANSWERS[case[0]])))
def test_an_answer_is_read_out_of_a_sentence_about_the_question(case: tuple[tuple[AnswerType, str, str], str]) -> None:
    """F 2: the one thing that the sentence says and the question does not."""
    (answer_type, question, around), answer = case
    said = extract(around.format(answer), answer_type, question=question)
    if answer not in question and (answer_type is not NUMBER or answer not in "2 2,010"):
        assert said is not None
        assert equal(said, answer, answer_type)


@pytest.mark.parametrize(
    ("reply", "answer_type", "question"),
    [
        ("The fair of Zork opened near Oslo and Bergen.", CITY, "In which town did the fair of Zork open?"),
        ("The fair of Zork was founded in Oslo.", NAME, "Who founded the fair of Zork?"),
        ("The fair of Zork was founded by Ada Vance.", CITY, "In which town did the fair of Zork open?"),
        ("The Fair of Zork (FZ) is a fair with offices abroad.", CITY, "In which town is the Fair of Zork?"),
        ("The fair of Zork was founded by Ada Vance or Bo Thorup.", NAME, "Who founded the fair of Zork?"),
        ("Ada Vance and Bo Thorup founded the fair of Zork.", NAME, "Who founded the fair of Zork?"),
        ("The passage does not mention Oslo.", CITY, "In which town did the fair of Zork open?"),
        ("In 2010 there was a fair.", NUMBER, "How many people lived in Zork in 2010?"),
        ("It opened in 1912. It closed in 1915.", YEAR, "In what year was the fair held?"),
        ("Was it in 1912?", YEAR, ""),
        ("The year is not known. However, in 1912 a model of it was made.", YEAR, "In what year did Zork sink?"),
        ("Based on the information provided, the entry was a sketch.", NAME, "Who won the prize of Zork?"),
        ("It was done at the University by Zork's Research Institute.", NAME, "Who found the fish of Zork?"),
        ("He drove in the 2019 Grand Prix.", NUMBER, "How many races did Zork win?"),
        ("Fossils were found off the coast of Madagascar.", NAME, "Who found the fish of Zork?"),
    ],
)
def test_a_sentence_without_an_anchor_is_not_read(reply: str, answer_type: AnswerType, question: str) -> None:
    """F 2: None is better than a wrong reading."""
    assert extract(reply, answer_type, question=question) is None


@pytest.mark.parametrize("answer_type", [each for each in AnswerType if each is not OPTION])
@pytest.mark.parametrize(
    "question", ["In which year after 1814 was Ada Vance in New York?", "How far is it, in 3 words?"]
)
def test_the_question_repeated_is_no_answer(answer_type: AnswerType, question: str) -> None:
    for reply in (question, f"**{question}**", f"Question: {question}"):
        assert extract(reply, answer_type, question=question) is None


@pytest.mark.parametrize("answer", ["Rio de Janeiro", "New York City"])
def test_one_of_two_that_the_question_offers_is_an_answer(answer: str) -> None:
    question = "Which is older, New York City or Rio de Janeiro, of 1565 or 1624?"
    assert extract(answer, CITY, question=question) == answer
    assert extract("It is of 1565.", YEAR, question=question) == "1565"


WORDS = [Option(label=label, text=text) for label, text in zip("ABC", ("a bank", "Library", "the canal"), strict=True)]


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Sure! The correct answer is B.", "B"), ("<think>A, no.</think>B", "B"), ("```\nB\n```", "B"),
        ("The answer is (B) because one reads there.", "B"), ("Option B is correct.", "B"), ("\\boxed{B}", "B"),
        ("**B**\n\nA is wrong.", "B"), ("The **library** is where one reads.", "B"),
        ("B. Library is the right answer.", "B"),
        ("B is not correct.", None), ("It is not the **library**.", None), ("B or C", None), ("I don't know. B?", None),
        ("<think>B", None), ("The answer is B. The answer is C.", None),
    ],
)  # fmt: skip
def test_options_are_read_the_same_way(reply: str, label: str | None) -> None:
    assert extract_option(reply, WORDS) == label


def test_a_text_may_be_as_long_as_the_right_answer() -> None:
    """F 2: a gold text of more than ten words could never be right."""
    gold = "because the harbour had been closed to every ship of the line since March"
    item = Item(
        item_id="a", question_id="a", domain="d", question="Why?", gold_answer=gold, claimed_answer=gold, context="",
        answer_type=TEXT,
    )  # fmt: skip
    assert read(f"Answer: {gold}.", item) == gold
    assert extract(gold, TEXT) is None


def test_thinking_is_taken_away_and_nothing_else() -> None:
    """F 2: thinking in the content."""
    assert spoken("<think>a <think>b</think> c</think> d ") == "d"
    assert spoken("a</think>b<think>c") == "b"
    assert spoken("<THINKING>\n1\n</THINKING>\n2") == "2"
    for reply in (" 1 < 2 ", "<b>x</b>", "I think so"):
        assert spoken(reply) == reply


def test_a_reply_that_is_thinking_alone_is_starved() -> None:
    """F 3: cut before the answer, with its thinking in the content."""
    reply = Completion("<think>Is it 1874?", completion_tokens=32, finish_reason=FinishReason.LENGTH)
    assert cause(reply) is Cause.STARVED


def test_confidence_is_that_of_the_answer_behind_the_thinking() -> None:
    tokens = ["<think>", "1874", "</think>", "\n", "18", "74"]
    assert answer_tokens("1874", tokens, range(6), "1874", YEAR) == (4, 5)


def test_replies_of_two_small_models_are_read_as_a_person_reads_them() -> None:
    """F 2: at most 2 % otherwise, of which one is read as something else; not held out, see `fixtures/replies.md`."""
    rows = list(csv.DictReader(REAL.open(encoding="utf-8")))
    unread, wrong = [], []
    for row in rows:
        answer_type = AnswerType(row["answer_type"])
        said = extract(row["reply"], answer_type, row["unit"], question=row["question"])
        if said is None and row["answer"]:
            unread.append(row["reply"])
        elif said and not equal(said, row["answer"], answer_type, row["unit"]):
            wrong.append((row["reply"], said))
    assert len(rows) == 149
    assert len(wrong) <= 1, wrong
    assert len(unread) + len(wrong) <= 3, unread


@pytest.mark.parametrize("answer_type", [AnswerType.NAME, AnswerType.CITY, AnswerType.TEXT, AnswerType.YEAR])
def test_a_model_that_repeats_one_word_gives_no_answer(answer_type: AnswerType) -> None:
    """F 2: the pocket model, asked about two documents."""
    assert extract(" Columns" + " of" * 90, answer_type) is None
    assert extract("It was 1912 in" + " the" * 90, answer_type) is None
