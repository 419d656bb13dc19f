"""The shipped facts, forms of one question in a table, and what a limit leaves of a set [paper 4, 4.4]."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.data import YEAR_OFFSETS, ItemSet, load_items
from srdcr_lab.records import AnswerType, BadInput, Item, Level
from srdcr_lab.records.files import folder
from tests.scripted import exemplars, item
from tools.check_facts import BANDS

OTHER_DOMAINS = {"records", "news", "drugs", "names", "cities"}  # of the paper, beside years
DOMAINS = {"years", *OTHER_DOMAINS, "dates"}


def by_question(items: ItemSet) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for each in items:
        groups[each.question_id].append(each)
    return groups


def test_the_facts_would_pass_as_a_table_of_ones_own() -> None:
    """`facts` is read without looking for each answer in its passage and in a reply; a user's table is looked at."""
    table = pd.read_csv(folder("facts") / "facts.csv", dtype=str, keep_default_na=False)
    assert load_items(table.assign(item_id=table["question_id"]), strict=True).items == load_items("facts").items


def test_facts_are_standard_items_with_distinct_questions() -> None:
    facts = load_items("facts")
    assert len({each.question for each in facts}) == len({each.item_id for each in facts}) == len(facts)
    assert all(each.is_standard and each.claimed_answer == each.gold_answer for each in facts)


@pytest.mark.parametrize(
    ("question_id", "reply", "is_right"),
    [
        ("news-polyakov-mir-days", "438 days", True), ("news-channel-tunnel-length", "50.46 km", True),
        ("years-coelacanth", "It was in 1939.", True), ("records-beamon-long-jump", "29 feet 2 1/2 inches", True),
        ("records-beamon-long-jump", "29 feet 3 inches", False),
        ("cities-first-empire-games", "Hamilton, Ontario, Canada", True),
        ("cities-first-empire-games", "Hamilton, Canada", True),
        ("cities-first-empire-games", "Hamilton, Bermuda", False), ("cities-first-walmart", "Rogers, AR", True),
    ],
)  # fmt: skip
def test_what_a_careful_person_accepts_is_right(question_id: str, reply: str, is_right: bool) -> None:
    fact = next(each for each in load_items("facts") if each.question_id == question_id)
    assert answers.counts_as(answers.read(reply, fact), fact.gold_answer, fact) is is_right


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(folder("facts") / "facts.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def real(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["fame_band"] != "invented"]


def test_there_are_as_many_facts_as_promised(rows: pd.DataFrame, real: pd.DataFrame) -> None:
    """1,000 real questions, none of the paper's domains under 120, event years for a testbed, a seventh of dates."""
    counts = Counter(real["domain"])
    assert len(real) >= 1000
    assert set(counts) == DOMAINS
    assert min(counts.values()) >= 120
    assert counts["years"] >= 190
    assert counts["dates"] / len(real) > 1 / 7
    assert Counter(rows.loc[rows["fame_band"] == "invented", "domain"]) == dict.fromkeys(DOMAINS, 10)
    assert set(zip(rows["domain"], rows["fame_band"], strict=True)) == {
        (domain, band) for domain in DOMAINS for band in BANDS
    }
    held = real[real["split"] == "held"]
    assert len(held.groupby(["domain", "fame_band"])) == len(DOMAINS) * 3


def test_the_look_up_of_105_is_of_answers_as_they_are() -> None:
    audit = pd.read_csv(folder("facts") / "audit-105.csv", dtype=str)
    gold = {each.question_id: each.gold_answer for each in load_items("facts")}
    assert audit["question_id"].str.partition("-")[0].value_counts().to_dict() == dict.fromkeys(DOMAINS, 15)
    assert audit["verdict"].isin(["agrees", "disputable"]).all()
    assert {row.question_id: row.gold_answer for row in audit.itertuples()}.items() <= gold.items()


def test_the_table_of_the_datasheet_counts_what_is_there(rows: pd.DataFrame, real: pd.DataFrame) -> None:
    text = (folder("facts") / "DATASHEET.md").read_text("utf-8")
    told = {
        cells[0]: cells[2:] for cells in re.findall(r"^\| (\w+) \|(.*?)" + r"\| ([\d,]+) " * 9 + r"\|$", text, re.M)
    }
    second, exemplars = (pd.read_csv(folder("facts") / f"{name}.csv") for name in ("second", "exemplars"))
    twice = set(second["question_id"])
    assert told.keys() == DOMAINS | {"all"}
    for domain, cells in told.items():
        own, shown = (each if domain == "all" else each[each["domain"] == domain] for each in (real, exemplars))
        bands = [sum(own["fame_band"] == band) for band in ("famous", "known", "obscure")]
        shares = [sum(own["region"] == "Europe"), sum(own["split"] == "held"), sum(own["question_id"].isin(twice))]
        invented = sum((rows["fame_band"] == "invented") & ((rows["domain"] == domain) | (domain == "all")))
        found = [*bands, len(own), *shares, invented, len(shown)]
        assert [int(cell.replace(",", "")) for cell in cells] == found, domain


# -- splits, pairs, second passages ----------------------------------------------------------------------------------


def test_a_split_of_a_set_has_its_questions_alone(rows: pd.DataFrame) -> None:
    held = set(rows.loc[rows["split"] == "held", "question_id"])
    assert {each.question_id for each in load_items("facts:held")} == held
    assert {each.question_id for each in load_items("facts:public")} == set(rows["question_id"]) - held
    pairs, whole = load_items("facts:held:pairs"), load_items("facts:pairs")
    assert list(pairs) == [each for each in whole if each.question_id in held]
    assert pairs.name == "facts:held:pairs"
    assert not {each.question_id for each in load_items("facts:testbed")} & held
    with pytest.raises(BadInput, match="unknown items 'facts:held:gird'"):
        load_items("facts:held:gird")


def test_every_question_is_paired(rows: pd.DataFrame) -> None:
    groups = by_question(load_items("facts:pairs"))
    assert set(rows["question_id"]) - groups.keys() == {"years-great-fire-of-meireki"}  # no other year fits the name
    assert all([each.is_standard for each in group] == [True, False] for group in groups.values())
    offsets = Counter(group[1].perturbation_value for group in groups.values() if group[1].domain == "dates")
    assert set(offsets) == set(kind_of(AnswerType.DATE).amounts)
    assert max(offsets.values()) - min(offsets.values()) <= 2


def test_a_second_passage_has_the_answer_and_the_lie_of_the_first(real: pd.DataFrame) -> None:
    groups = by_question(load_items("facts:second"))
    assert len(groups) >= len(real) / 4
    for true, false, true_too, false_too in groups.values():
        assert [true.is_standard, false.is_standard] == [true_too.is_standard, false_too.is_standard] == [True, False]
        assert true.context != true_too.context
        assert false.claimed_answer == false_too.claimed_answer
        assert (false.perturbation_kind, false.level) == (false_too.perturbation_kind, false_too.level)
        for one, item_id in ((true_too, f"{true.item_id}@second"), (false_too, f"{false.item_id}@second")):
            assert one.item_id == item_id
            assert answers.find(one.context, one.claimed_answer, one.answer_type, one.unit, one.aliases)
        assert not answers.find(false_too.context, true.gold_answer, true.answer_type, true.unit, true.aliases)


@pytest.mark.parametrize("name", ["facts", "facts:testbed", "facts:grid"])
def test_no_exemplar_is_evaluated_and_every_domain_has_four(name: str) -> None:
    items = load_items(name)
    assert not {e.question for e in items.exemplars} & {each.question for each in items}
    per_domain = Counter(e.domain for e in items.exemplars)
    assert all(per_domain[domain] >= 4 for domain in {each.domain for each in items})


# -- forms of a question in somebody's table -------------------------------------------------------------------------


def table(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["question_id", "question", "gold_answer", "context"])


WHEN, LATER = "When did it open?", "When did it close?"


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (("a", LATER, "1874", "In 1874."), "column question_id: 'a' stands for another question in row 1; give each"),
        (("a", WHEN, "1875", "In 1875."), "column gold_answer: '1875' is another gold answer than '1874' in row 1, of"),
    ],
)
def test_one_id_for_two_questions_is_refused(second: tuple[str, str, str, str], says: str) -> None:
    """The column that is named exists: without question_id, what differs is the gold answer."""
    two = table(("a", WHEN, "1874", "In 1874."), second)
    with pytest.raises(BadInput, match=f"row 2, {says}"):
        load_items(two, strict=True)
    if second[1] == WHEN:
        with pytest.raises(BadInput, match=f"row 2, {says}"):
            load_items(two.drop(columns="question_id"), strict=True)


# -- limit -----------------------------------------------------------------------------------------------------------


def pairs(questions: int, domains: tuple[str, ...] = ("history",), years: tuple[int, ...] = (1894, 1934)) -> ItemSet:
    """Each question with its true passage and one false one; domains and claims go round."""
    items = []
    for i in range(questions):
        domain, year = domains[i % len(domains)], years[i % len(years)]
        for each in (item(1874, question_id=f"q{i}", domain=domain), item(year, question_id=f"q{i}", domain=domain)):
            items.append(replace(each, level=Level.SUBTLE if each.perturbation_value == 20 else each.level))
    return ItemSet("worked", tuple(items), exemplars())


def test_a_limit_is_seeded_and_keeps_order_and_exemplars() -> None:
    whole = pairs(5)
    assert whole.limit(None) is whole
    assert whole.limit(10) is whole
    whole = pairs(9)
    kept = whole.limit(8)
    assert [each for each in whole if each in set(kept)] == list(kept)
    assert kept.exemplars == whole.exemplars
    whole = pairs(20)
    assert whole.limit(8, seed=3) == whole.limit(8, seed=3)
    assert len({whole.limit(8, seed=seed).items for seed in range(6)}) > 1
    chosen = [pairs(20).limit(1, seed=seed).items for seed in range(8)]
    assert all(len(items) == 1 and items[0].is_standard for items in chosen)
    assert len(set(chosen)) > 1
    with pytest.raises(BadInput, match="--limit must be at least 1"):
        pairs(2).limit(0)


@pytest.mark.parametrize("n", [2, 4, 7, 9])
def test_a_limit_is_never_exceeded_and_keeps_forms_paired(n: int) -> None:
    kept = pairs(5).limit(n)
    assert len(kept) == n // 2 * 2
    assert all(len(group) == 2 for group in by_question(kept).values())


def test_a_limit_takes_as_many_of_each_domain_and_offset() -> None:
    """Twelve questions of three domains, each under two offsets: six questions are one of each kind."""
    whole = pairs(12, ("history", "sport", "law"))
    kept = by_question(whole.limit(12))
    kinds = Counter((group[0].domain, group[1].perturbation_value) for group in kept.values())
    assert kinds == {(domain, value): 1 for domain in ("history", "sport", "law") for value in (20.0, 60.0)}


def test_a_limit_takes_each_number_of_misleading_documents_by_its_share() -> None:
    for kept in (load_items("facts:documents").limit(60, seed=seed) for seed in range(3)):
        misleading = Counter(sum(each.kind == "misinfo" for each in item.documents) for item in kept)
        assert set(misleading.values()) == {12}
        assert max(Counter(item.domain for item in kept).values()) <= 32


@pytest.mark.parametrize("n", [60, 120, 300])
def test_a_limited_testbed_keeps_the_shares_of_domains_offsets_and_levels(n: int) -> None:
    """Half of it event years, a tenth each other domain; within them each offset and level by its share."""
    lies = [each for each in load_items("facts:testbed").limit(n) if not each.is_standard]
    assert len(lies) == n // 2
    domains = Counter(each.domain for each in lies)
    assert all(abs(count - n / (4 if domain == "years" else 20)) <= 1 for domain, count in domains.items())
    offsets = Counter(each.perturbation_value for each in lies if each.domain == "years")
    assert all(abs(offsets[sign * size] - n / 40) <= 1.1 for size in YEAR_OFFSETS for sign in (1, -1))
    for domain in OTHER_DOMAINS:
        levels = Counter(each.level for each in lies if each.domain == domain)
        assert max(levels.values()) - min(levels.values()) <= 2


def test_a_limit_of_the_shipped_sets_chooses_what_published_numbers_rest_on() -> None:
    chosen = hashlib.sha256()
    for name, seed, n in product(("facts:testbed", "facts:pairs", "facts:second"), range(3), (1, 20, 60, 300)):
        chosen.update(" ".join(each.item_id for each in load_items(name).limit(n, seed)).encode())
    assert chosen.hexdigest().startswith("6282e8342b02040e")


@pytest.mark.parametrize(("n", "false_forms"), [(20, 1), (80, 1), (139, 2), (200, 4)])
def test_a_limit_of_a_graded_table_keeps_one_true_and_one_false_form_while_there_are_questions(
    n: int, false_forms: int
) -> None:
    """40 questions under six claims; more false forms are kept only where each question gets as many."""
    years = (1874, 1854, 1894, 1834, 1914, 1814, 1934)
    whole = ItemSet("graded", tuple(item(year, question_id=f"q{i}") for i in range(40) for year in years), exemplars())
    kept = by_question(whole.limit(n))
    assert len(kept) == min(n // (1 + false_forms), 40)
    assert all([each.is_standard for each in group].count(False) == false_forms for group in kept.values())
    assert all(group[0].is_standard for group in kept.values())
    claims = Counter(each.perturbation_value for group in kept.values() for each in group[1:])
    assert max(claims.values()) - min(claims.values()) <= 3
    assert set(map(len, by_question(whole.limit(n, whole=True)).values())) == {7}
