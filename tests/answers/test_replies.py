"""Replies as models give them: what must be read, and what must not."""

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srdcr_lab.answers import equal, extract, read
from srdcr_lab.answers.wording import spoken
from srdcr_lab.lib.definitions import answer_tokens
from srdcr_lab.records import AnswerType, Completion, FinishReason, Item, Option
from srdcr_lab.study.run import Cause, cause

YEAR, NUMBER, NAME, CITY, TEXT, OPTION, DATE = map(AnswerType, "year number name city text option date".split())
REAL = Path(__file__).parents[1] / "fixtures"

GIVEN = st.sampled_from("Ada Bo Søren Zoë".split())
FAMILY = st.sampled_from("Vance Okoye Márquez Thorup al-Hakim".split())
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
    """One way: prefixes, thinking, fences, brackets, emphasis, explanations."""
    answer_type, answer, _ = case
    reply = around.format(answer)
    if answer_type is TEXT and around.endswith(("says.", "says)")):
        return  # a text is taken as it is written
    said = extract(reply, answer_type)
    assert equal(said, answer, answer_type)
    assert extract(said, answer_type) == said, "what is read is read as itself"


@settings(max_examples=60)
@given(PAIRS.filter(lambda case: case[0] is not TEXT and not equal(case[1], case[2], case[0])), st.sampled_from(UNREAD))
def test_no_answer_is_read_where_none_or_two_are_given(case: tuple[AnswerType, str, str], said: str) -> None:
    """The other way: a denial, doubt, two answers, a question, a refusal, thinking that does not end."""
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
    (TEXT, "Which dance did the men of Zork dance?", "The men of Zork danced {}."),
    (TEXT, "What did the ferry carry over the lake of Zork?", "The ferry carried {} over the lake of Zork."),
    (TEXT, "What was Zork made of?", "Zork was made of {}, a kind of thing. It stood."),
    (YEAR, "In what year was Zork destroyed?", "Zork was founded in 1702 and was destroyed in {}."),
    (YEAR, "When was Zork rebuilt?", "Zork was built in 1702, blown up in 1704, and rebuilt in {}."),
    (YEAR, "What year did the war of Zork begin?", "The war of Zork began in {} and ended in 1702."),
    (YEAR, "In what year was Zork concluded?", "Zork, which was signed on July 17, 1702, was concluded in {}."),
    (DATE, "On what date did the ferry sink?", "The ferry left on 3 March 1702 and sank the next day, {}, in a storm."),
    (DATE, "When was the peace of Zork signed?", "The peace of Zork was signed on {}, and took place on 1 May 1702."),
    (CITY, "In which town is the guild of Zork based?", "The guild of Zork, founded in Oslo, is based in {}."),
    (CITY, "In which town is the seat of Zork?", "The seat of Zork, which is the Seat of Zork, is in {}."),
    (NAME, "Who discovered Zork?", "Zork, named after the Zorken Hills, was discovered by a man named {}, who hid it."),
    (NAME, "Who designed Zork Hall?", "Zork Hall was designed by {} and built by his brother Otto Grahn in 1702."),
    (NAME, "Who was the first king of Zork?", "The first king of Zork was {}, also known as the Zork. He was born."),
    (NAME, "Who invented the zork?", "The invention of the zork is attributed to {}."),
    (NUMBER, "How heavy is the zork?", "The zork weighs {} ± 0.5."),
    (NUMBER, "How many gates does a fair have?", "A fair has {} gates, which are painted by 2 men each."),
    (NUMBER, "How many people saw the fair?", "The fair of May 21, 1702, the 1704 Masters, was seen by {} in 1705."),
]


@pytest.mark.parametrize(("answer_type", "question", "around"), SENTENCES)
@settings(max_examples=5)
@given(st.data())
def test_an_answer_is_read_out_of_a_sentence_about_the_question(
    answer_type: AnswerType, question: str, around: str, data: st.DataObject
) -> None:
    """The one thing that the sentence says and the question does not."""
    answer = data.draw(ANSWERS[answer_type])
    said = extract(around.format(answer), answer_type, question=question)
    if answer not in question and (answer_type is not NUMBER or answer not in "2 2,010"):
        assert equal(said, answer, answer_type)


@pytest.mark.parametrize(("reply", "answer_type", "question"), [
    ("The fair of Zork opened near Oslo and Bergen.", CITY, "In which town did the fair of Zork open?"),
    ("The fair of Zork was founded in Oslo.", NAME, "Who founded the fair of Zork?"),
    ("The fair of Zork was founded by Ada Vance.", CITY, "In which town did the fair of Zork open?"),
    ("The Fair of Zork (FZ) is a fair with offices abroad.", CITY, "In which town is the Fair of Zork?"),
    ("The fair of Zork was founded by Ada Vance or Bo Thorup.", NAME, "Who founded the fair of Zork?"),
    ("Ada Vance and Bo Thorup founded the fair of Zork.", NAME, "Who founded the fair of Zork?"),
    ("The passage does not mention Oslo.", CITY, "In which town did the fair of Zork open?"),
    ("In 2010 there was a fair.", NUMBER, "How many people lived in Zork in 2010?"),
    ("It opened in 1912. It closed in 1915.", YEAR, "In what year was the fair held?"), ("Was it in 1912?", YEAR, ""),
    ("The year is not known. However, in 1912 a model of it was made.", YEAR, "In what year did Zork sink?"),
    ("Based on the information provided, the entry was a sketch.", NAME, "Who won the prize of Zork?"),
    ("It was done at the University by Zork's Research Institute.", NAME, "Who found the fish of Zork?"),
    ("He drove in the 2019 Grand Prix.", NUMBER, "How many races did Zork win?"),
    ("Instead of a man, it was a guild who held the fair.", NAME, "Who held the fair?"),
    ("Fossils were found off the coast of Madagascar.", NAME, "Who found the fish of Zork?"),
    ("The fair was held by a guild, The Zork Collective.", NAME, "Who held the fair?"),
    ("In what year was the bridge at Oslo opened?", CITY, ""),
    ("Zork opened in 1902 and opened again in 1903.", YEAR, "In what year did Zork open?"),
    ("Zork was opened in 1902 and in 1903.", YEAR, "In what year was Zork opened?"),
    ("Zork was opened in 1902, or it was opened in 1903.", YEAR, "In what year was Zork opened?"),
    ("Zork was begun in 1902 and finished in 1903.", YEAR, "In what year was Zork opened?"),
    ("The ferry left on 3 March 1702 and sailed on 4 March 1702.", DATE, "On what date did the ferry sink?"),
    ("Zork, formed by Ada Vance, was formed by Bo Thorup.", NAME, "Who formed Zork?"),
    ("The guild of Zork, based in Oslo, is based in Bergen.", CITY, "In which town is the guild of Zork based?"),
    ("It happened on the 21st of May, 1985.", NUMBER, "How many people saw the fair of Zork?"),
])  # fmt: skip
def test_a_sentence_without_an_anchor_is_not_read(reply: str, answer_type: AnswerType, question: str) -> None:
    """None is better than a wrong reading."""
    assert extract(reply, answer_type, question=question) is None


@pytest.mark.parametrize(("reply", "answer"), [
    ("A 200-tonne wave hit Zork.", None), ("On May 21, 1985 a wave 12 metres high killed 31 at Zork.", "31"),
    ("In 1985 there died 1,985 people at Zork.", "1985"), ("The flood of Zork resulted in 1500 deaths.", "1500"),
    ("It lasted for 12.5 minutes. It was the 21st of May, 1", None),
])  # fmt: skip
def test_no_measure_and_no_date_is_a_number_of_people(reply: str, answer: str | None) -> None:
    """A lone number of a reply that gives none."""
    assert extract(reply, NUMBER, "people", question="How many people died at Zork?") == answer


@pytest.mark.parametrize("answer_type", [each for each in AnswerType if each is not OPTION])
@pytest.mark.parametrize("question", ["In which year after 1814 was Ada Vance in New York?", "How far, in 3 words?"])
def test_the_question_repeated_is_no_answer(answer_type: AnswerType, question: str) -> None:
    for reply in (question, f"**{question}**", f"Question: {question}"):
        assert extract(reply, answer_type, question=question) is None


@pytest.mark.parametrize(("reply", "answer", "question"), [
    *((answer, answer, question) for answer, question in (
        ("Moore's law", "Which law did Gordon Moore state in 1965?"),
        ("Casement’s Fort", "Which fort is named after Casement?"),
        ("Halley's Comet", "What is the comet that Halley saw?"), ("Sky+HD Box", "Which box is it?"),
        ("India and Pakistan Border", "What is the name of India Pakistan border?"),
        ("2002 Bali bombings", "When did the Bali bombings occur?"), ("She's the Man", "Which film is it?"),
        ("San Jose Rose Garden", "what to do san jose?"))),
    ("It's gold.", "gold", "What is it made of?"),
    ("Plants absorb carbon dioxide.", "carbon dioxide", "What do plants absorb?"),
    ("The ferry carries coal.", "coal", "What does the ferry carry?"),
])  # fmt: skip
def test_an_answer_keeps_the_words_that_the_question_has(reply: str, answer: str, question: str) -> None:
    assert extract(reply, TEXT, question=question) == answer


@pytest.mark.parametrize("answer", ["Rio de Janeiro", "New York City"])
def test_one_of_two_that_the_question_offers_is_an_answer(answer: str) -> None:
    question = "Which is older, New York City or Rio de Janeiro, of 1565 or 1624?"
    assert extract(answer, CITY, question=question) == answer
    assert extract("It is of 1565.", YEAR, question=question) == "1565"


WORDS = [Option(label=label, text=text) for label, text in zip("ABC", ("a bank", "Library", "the canal"), strict=True)]


@pytest.mark.parametrize(("reply", "label"), [
    ("No, because there is no record of it.", "B"), ("Yes, since it is so.", "A"), ("No, it did not.", "B"),
    ("The answer is no, it did not.", "B"), ("No.\nIt never was true.", "B"), ("B, because it never was.", "B"),
    ("Yes. Actually, no.", None), ("No record of it exists.", None), ("Yes and no.", None),
    ("I do not know. No?", None),
])  # fmt: skip
def test_an_option_yes_or_no_is_read_before_its_reason(reply: str, label: str | None) -> None:
    yes_or_no = [Option(label="A", text="Yes"), Option(label="B", text="No")]
    assert extract(reply, OPTION, choices=yes_or_no, question="Was it so?") == label


@pytest.mark.parametrize(("reply", "label"), [
    ("The best place to read is the library.", "B"), ("The place to read is not the library.", None),
    ("Is the place to read the library?", None), ("The place to swim is the library.", None),
    ("The best place to read is the library, or the canal.", None),
])  # fmt: skip
def test_an_option_is_read_out_of_a_sentence_about_the_question(reply: str, label: str | None) -> None:
    assert extract(reply, OPTION, choices=WORDS, question="What is the best place to read?") == label


def test_a_text_may_be_as_long_as_the_right_answer() -> None:
    """A gold text of more than ten words could never be right."""
    gold = "because the harbour had been closed to every ship of the line since March"
    item = Item(
        item_id="a", question_id="a", domain="d", question="Why?", gold_answer=gold, claimed_answer=gold, context="",
        answer_type=TEXT,
    )  # fmt: skip
    assert read(f"Answer: {gold}.", item) == gold
    assert extract(gold, TEXT) is None


def test_thinking_is_taken_away_and_nothing_else() -> None:
    """Thinking in the content."""
    assert spoken("<think>a <think>b</think> c</think> d ") == "d"
    assert spoken("a</think>b<think>c") == "b"
    assert spoken("<THINKING>\n1\n</THINKING>\n2") == "2"
    for reply in (" 1 < 2 ", "<b>x</b>", "I think so"):
        assert spoken(reply) == reply
    # cut before the answer, with its thinking in the content.
    reply = Completion("<think>Is it 1874?", completion_tokens=32, finish_reason=FinishReason.LENGTH)
    assert cause(reply) is Cause.STARVED
    tokens = ["<think>", "1874", "</think>", "\n", "18", "74"]
    assert answer_tokens("1874", tokens, range(6), "1874", YEAR) == (4, 5)


@pytest.mark.parametrize(
    ("file", "n", "most_wrong", "most_unread"),
    [("replies.csv", 149, 1, 2), ("plain_replies.csv", 185, 9, 9), ("written_replies.csv", 1148, 135, 108)],
)
def test_replies_are_read_as_a_person_reads_them(file: str, n: int, most_wrong: int, most_unread: int) -> None:
    """Not held out, see `fixtures/replies.md`."""
    rows = list(csv.DictReader((REAL / file).open(encoding="utf-8")))
    unread, wrong = [], []
    for row in rows:
        answer_type = AnswerType(row["answer_type"])
        said = extract(row["reply"], answer_type, row["unit"], question=row["question"])
        if said is None and row["answer"]:
            unread.append(row["reply"])
        elif said and not equal(said, row["answer"], answer_type, row["unit"], row.get("aliases", "").split("|")):
            wrong.append((row["reply"], said))
    assert len(rows) == n
    assert len(wrong) <= most_wrong, wrong
    assert len(unread) <= most_unread, unread


@pytest.mark.parametrize("answer_type", [AnswerType.NAME, AnswerType.CITY, AnswerType.TEXT, AnswerType.YEAR])
def test_a_model_that_repeats_one_word_gives_no_answer(answer_type: AnswerType) -> None:
    """The pocket model, asked about two documents."""
    assert extract(" Columns" + " of" * 90, answer_type) is None
    assert extract("It was 1912 in" + " the" * 90, answer_type) is None
