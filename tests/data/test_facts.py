"""The shipped facts: items, sets drawn from them, splits, limits of a set [paper 4, 4.4]."""

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.answers.kinds import SCALES
from srdcr_lab.answers.option import fault_of
from srdcr_lab.data import YEAR_OFFSETS, ItemSet, facts, load_items
from srdcr_lab.data.facts import SOURCES, standard
from srdcr_lab.records import AnswerType, BadInput, DocumentKind, Item, Level
from srdcr_lab.records.files import folder
from tests.answers.test_answers_properties import NUMBER_SPELLINGS, YEAR_SPELLINGS
from tests.scripted import exemplars
from tests.scripted import item as society
from tools.check_facts import BANDS

OTHER_DOMAINS = {"records", "news", "drugs", "names", "cities"}  # of the paper, beside years
DOMAINS = {"years", *OTHER_DOMAINS, "dates"}


def by_question(items: ItemSet) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for each in items:
        groups[each.question_id].append(each)
    return groups


def test_facts_are_distinct_standard_items_and_would_pass_as_a_table_of_ones_own() -> None:
    """`facts` is read without looking for each answer in its passage and in a reply; a user's table is looked at."""
    table = pd.read_csv(folder("facts") / "facts.csv", dtype=str, keep_default_na=False)
    table = table.assign(item_id=table["question_id"], is_control=table["fame_band"] == "invented")
    assert load_items(table, strict=True).items == load_items("facts").items
    facts = load_items("facts")
    assert len({each.question for each in facts}) == len({each.item_id for each in facts}) == len(facts)
    assert all(each.is_standard and each.claimed_answer == each.gold_answer for each in facts)
    audit = pd.read_csv(folder("facts") / "audit-105.csv", dtype=str)
    gold = {each.question_id: each.gold_answer for each in load_items("facts")}
    assert audit["question_id"].str.partition("-")[0].value_counts().to_dict() == dict.fromkeys(DOMAINS, 15)
    assert audit["verdict"].isin(["agrees", "disputable"]).all()
    assert {row.question_id: row.gold_answer for row in audit.itertuples()}.items() <= gold.items()


@pytest.mark.parametrize(("question_id", "reply", "is_right"), [
    ("news-polyakov-mir-days", "438 days", True), ("news-channel-tunnel-length", "50.46 km", True),
    ("years-coelacanth", "It was in 1939.", False), ("records-beamon-long-jump", "29 feet 2 1/2 inches", True),
    ("records-beamon-long-jump", "29 feet 3 inches", False),
    ("cities-first-empire-games", "Hamilton, Ontario, Canada", True),
    ("cities-first-empire-games", "Hamilton, Canada", True),
    ("cities-mezquita", "Córdoba, Argentina", False), ("cities-mezquita", "Córdoba, Spain", True),
    ("cities-first-empire-games", "Hamilton, Bermuda", False), ("cities-first-walmart", "Rogers, AR", True),
])  # fmt: skip
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


def _drawn(rows: pd.DataFrame, day: str) -> set[str]:
    """The rule of the datasheet: of the real questions looked up on a day, by domain and band, every fifth by hash."""
    found = rows[rows["checked_by"].str.startswith(f"search {day}") & (rows["fame_band"] != "invented")]
    held: set[str] = set()
    for _, stratum in found.groupby(["domain", "fame_band"]):
        ids = [str(name) for name in stratum["question_id"]]
        held |= set(sorted(ids, key=lambda name: hashlib.sha256(f"held|{name}".encode()).hexdigest())[::5])
    return held


def test_held_questions_are_those_that_the_rule_draws(rows: pd.DataFrame) -> None:
    """Dropped rows keep their place in the draw, and rows of a later day change none; of the 27th all are held."""
    columns = ["question_id", "domain", "fame_band", "split", "checked_by"]
    every = pd.concat([rows[columns], pd.read_csv(folder("facts") / "dropped.csv", dtype=str)[columns]])
    held = set(every.loc[every["split"] == "held", "question_id"])
    assert len(held & set(rows["question_id"])) >= 100
    added = set(every.loc[every["checked_by"].str.startswith("search 2026-11-27"), "question_id"])
    assert held == _drawn(every, "2026-11-22") | added
    later = rows.head(200).assign(question_id=lambda new: new["question_id"] + "-2", checked_by="search 2027-01-01: a")
    assert _drawn(pd.concat([every, later]), "2026-11-22") | added == held


def test_a_split_of_a_set_has_its_questions_alone(rows: pd.DataFrame) -> None:
    held = set(rows.loc[rows["split"] == "held", "question_id"])
    assert {each.question_id for each in load_items("facts:held")} == held
    assert {each.question_id for each in load_items("facts:public")} == set(rows["question_id"]) - held
    pairs, whole = load_items("facts:held:pairs"), load_items("facts:pairs")
    assert list(pairs) == [each for each in whole if each.question_id in held]
    assert pairs.name == "facts:held:pairs"
    assert not {each.question_id for each in load_items("facts:testbed")} & held
    for source, says in (("gird", "unknown items"), ("testbed", "facts:testbed has no held questions, so there is no")):
        with pytest.raises(BadInput, match=says):
            load_items(f"facts:held:{source}")
    with pytest.raises(BadInput, match="a question has at least one false answer, got 0"):
        facts.reports(lies=0)
    graded = load_items("facts:held:grid")
    for part in (graded, graded.limit(50)):
        assert part.notes[0].startswith(f"facts:held:grid: {sum(map(bool, (each.flags for each in part)))} of ")


@pytest.mark.exhaustive
def test_questions_that_are_added_change_no_earlier_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a study that is resumed after an update of the facts asks for the items that it began with."""

    def first(items: ItemSet) -> ItemSet:
        return replace(items, items=tuple(item for item in items if item.question_id not in facts._later()))

    years = replace(standard(), items=tuple(item for item in standard() if item.domain == "years"))
    assert len(first(years)) < len(years)
    assert first(facts._paired("", years, 0, YEAR_OFFSETS)) == facts._paired("", first(years), 0, YEAR_OFFSETS)
    drawn = first(load_items("facts:options")), first(load_items("facts:claims"))
    monkeypatch.setattr(facts, "_real", lambda: [item for item in first(standard()) if not item.is_control])
    assert drawn == (facts.options.__wrapped__(), facts.claims.__wrapped__())


def test_every_question_is_paired(rows: pd.DataFrame) -> None:
    groups = by_question(load_items("facts:pairs"))
    assert set(rows["question_id"]) - groups.keys() == {"years-great-fire-of-meireki"}  # no other year fits the name
    assert all([each.is_standard for each in group] == [True, False] for group in groups.values())
    offsets = Counter(group[1].perturbation_value for group in groups.values() if group[1].domain == "dates")
    assert set(offsets) == set(SCALES["date"]["amounts"])
    assert max(offsets.values()) - min(offsets.values()) <= 2


def test_a_second_passage_has_the_answer_and_the_lie_of_the_first(real: pd.DataFrame) -> None:
    assert len(load_items("facts:second", year_offsets=(40,))) > 1000  # some questions have no false form then
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


def table(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["question_id", "question", "gold_answer", "context"])


WHEN, LATER = "When did it open?", "When did it close?"


@pytest.mark.parametrize(("second", "says"), [
    (("a", LATER, "1874", "In 1874."), "column question_id: 'a' names another question in row 1; give each"),
    (("a", WHEN, "1875", "In 1875."), "column gold_answer: '1875' is another gold answer than '1874' in row 1, of"),
])  # fmt: skip
def test_one_id_for_two_questions_is_refused(second: tuple[str, str, str, str], says: str) -> None:
    """The column that is named exists: without question_id, what differs is the gold answer."""
    two = table(("a", WHEN, "1874", "In 1874."), second)
    with pytest.raises(BadInput, match=f"row 2, {says}"):
        load_items(two, strict=True)
    if second[1] == WHEN:
        with pytest.raises(BadInput, match=f"row 2, {says}"):
            load_items(two.drop(columns="question_id"), strict=True)


def pairs(questions: int, domains: tuple[str, ...] = ("history",), years: tuple[int, ...] = (1894, 1934)) -> ItemSet:
    """Each question with its true passage and one false one; domains and claims go round."""
    items = []
    for i in range(questions):
        domain, year = domains[i % len(domains)], years[i % len(years)]
        for each in (
            society(1874, question_id=f"q{i}", domain=domain),
            society(year, question_id=f"q{i}", domain=domain),
        ):
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
    with pytest.raises(BadInput, match=r"--limit, questions\) must be at least 1"):
        pairs(2).limit(0)


@pytest.mark.parametrize("n", [2, 4, 7, 9])
def test_a_limit_is_never_exceeded_and_keeps_forms_paired(n: int) -> None:
    kept = pairs(5).limit(n)
    assert len(kept) == n // 2 * 2
    assert all(len(group) == 2 for group in by_question(kept).values())


def test_a_limit_takes_each_kind_by_its_share() -> None:
    """Twelve questions of three domains, each under two offsets: six questions are one of each kind."""
    kept = by_question(pairs(12, ("history", "sport", "law")).limit(12))
    kinds = Counter((group[0].domain, group[1].perturbation_value) for group in kept.values())
    assert kinds == {(domain, value): 1 for domain in ("history", "sport", "law") for value in (20.0, 60.0)}
    for kept in (load_items("facts:documents").limit(60, seed=seed) for seed in range(3)):
        misleading = Counter(sum(each.kind == "misinfo" for each in item.documents) for item in kept)
        assert set(misleading.values()) == {12}
        assert max(Counter(item.domain for item in kept).values()) <= 32
    chosen = hashlib.sha256()
    for name, seed, n in product(("facts:testbed", "facts:public:pairs", "facts:second"), range(3), (1, 20, 60, 300)):
        chosen.update(" ".join(each.item_id for each in load_items(name).limit(n, seed)).encode())
    assert chosen.hexdigest().startswith("efe7d311865a98db")


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


@pytest.mark.parametrize(("n", "false_forms"), [(20, 1), (80, 1), (139, 2), (200, 4)])
def test_a_limit_of_a_graded_table_keeps_two_forms_while_there_are_questions(n: int, false_forms: int) -> None:
    """40 questions under six claims; more false forms are kept only where each question gets as many."""
    years = (1874, 1854, 1894, 1834, 1914, 1814, 1934)
    forms = tuple(society(year, question_id=f"q{i}") for i in range(40) for year in years)
    whole = ItemSet("graded", forms, exemplars())
    kept = by_question(whole.limit(n))
    assert len(kept) == min(n // (1 + false_forms), 40)
    assert all([each.is_standard for each in group].count(False) == false_forms for group in kept.values())
    assert all(group[0].is_standard for group in kept.values())
    claims = Counter(each.perturbation_value for group in kept.values() for each in group[1:])
    assert max(claims.values()) - min(claims.values()) <= 3
    assert set(map(len, by_question(whole.limit(n, whole=True)).values())) == {7}


FACTS = {item.question_id: item for item in standard()}


def offered(item: Item) -> dict[str, str]:
    return {option.label: option.text for option in item.options}


def test_every_known_fact_is_asked_once_and_no_invented_one() -> None:
    expected = {name for name, fact in FACTS.items() if not fact.is_control}
    for items in (load_items("facts:options"), load_items("facts:claims")):
        assert {item.question_id for item in items} == expected
        assert len(items) == len(expected) > 300


def test_four_options_hold_the_gold_answer_and_others_of_its_domain() -> None:
    by_domain: dict[str, set[str]] = defaultdict(set)
    for fact in FACTS.values():
        by_domain[fact.domain].add(fact.gold_answer)
    options = load_items("facts:options")
    for item in options:
        fact = FACTS[item.question_id]
        assert offered(item)[item.gold_answer] == fact.gold_answer
        assert "".join(offered(item)) == "ABCD"
        assert not fault_of(item.options, item.gold_answer)
        wrong = [text for label, text in offered(item).items() if label != item.gold_answer]
        assert set(wrong) <= by_domain[item.domain]
        assert not any(answers.equal(text, fact.gold_answer, fact.answer_type, "", fact.aliases) for text in wrong)
        # A dose of 2.4 stands beside decimals, and not beside a crowd.
        if fact.answer_type is AnswerType.NUMBER and "," in fact.gold_answer:
            assert not any("." in text for text in wrong)
    counts = Counter(item.gold_answer for item in options)
    assert min(counts.values()) > 0.8 * len(options) / 4


def test_half_of_each_domains_claims_are_true() -> None:
    claims = load_items("facts:claims")
    for domain in {item.domain for item in claims}:
        counts = Counter(item.gold_answer for item in claims if item.domain == domain)
        assert abs(counts["true"] - counts["false"]) <= 1
    for item in claims:
        fact = FACTS[item.question_id]
        asserted = item.question.rpartition(" is ")[2].removesuffix(".")
        equal = answers.equal(asserted, fact.gold_answer, fact.answer_type, "", fact.aliases)
        assert equal is (item.gold_answer == "true")


@pytest.mark.parametrize("name", ["facts:options", "facts:claims", "facts:testbed"])
def test_another_seed_draws_others_and_the_same_seed_the_same(name: str) -> None:
    assert load_items(name, seed=1).items != load_items(name, seed=0).items
    assert load_items(name, seed=1).items == load_items(name, seed=1).items


@pytest.fixture(scope="module")
def items() -> ItemSet:
    return load_items("facts:documents")


def test_every_question_has_five_voices_and_one_beside_the_point(items: ItemSet) -> None:
    assert len(items) == 300
    for item in items:
        about = [each for each in item.documents if each.kind is not DocumentKind.NOISE]
        assert (len(item.documents), len({each.source for each in about})) == (6, 5)
        assert len({each.text for each in item.documents}) == 6
        assert {each.source for each in item.documents} <= set(SOURCES)
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for item in items:
        counts[item.domain][sum(each.kind is DocumentKind.MISINFO for each in item.documents)] += 1
    assert counts["years"] == dict.fromkeys(range(5), 30)
    assert all(counts[domain] == dict.fromkeys(range(5), 6) for domain in counts if domain != "years")


def test_a_document_states_what_it_is_said_to_assert(items: ItemSet) -> None:
    for item in items:
        for each in item.documents:
            if each.kind is DocumentKind.NOISE:
                assert each.answer == ""
                continue
            assert answers.find(each.text, each.answer, item.answer_type, item.unit)
            right = answers.equal(each.answer, item.gold_answer, item.answer_type, item.unit, item.aliases)
            assert right is (each.kind is DocumentKind.CORRECT)
    for item in items:
        assert set(item.wrong_answers) == {e.answer for e in item.documents if e.kind is DocumentKind.MISINFO}
    several = Counter(len(item.wrong_answers) for item in items if len(item.documents) == 6)
    assert several[1] > 60  # one lie for all
    assert several[2] > 20  # lies of their own


def test_sources_tell_of_the_truth_and_place_and_lead_in_do_not(items: ItemSet) -> None:
    told = [each for item in items for each in item.documents if each.kind is not DocumentKind.NOISE]
    right = {
        name: sum(e.kind is DocumentKind.CORRECT for e in told if e.source == name)
        / sum(e.source == name for e in told)
        for name in SOURCES
    }
    weak, strong = sorted(SOURCES, key=SOURCES.__getitem__)[:3], sorted(SOURCES, key=SOURCES.__getitem__)[-3:]
    assert max(right[name] for name in weak) < min(right[name] for name in strong)
    # The share of correct documents at each place, and under each lead-in, is that of all.
    by_place: dict[str, list[bool]] = defaultdict(list)
    for item in items:
        for each in item.documents:
            lead_in = each.text.partition(": ")[0] if each.text.startswith("From a") else "none"
            for group in (each.document_id, lead_in):
                by_place[group].append(each.kind is DocumentKind.CORRECT)
    for group, correct in by_place.items():
        assert abs(sum(correct) / len(correct) - 0.5) < 0.11, group


SIGNED = {sign * size for size in YEAR_OFFSETS for sign in (1, -1)}


@pytest.fixture(scope="module")
def testbed() -> ItemSet:
    return load_items("facts:testbed")


@pytest.fixture(scope="module")
def grid() -> ItemSet:
    return load_items("facts:grid")


def lies(items: ItemSet) -> list[Item]:
    return [each for each in items if not each.is_standard]


def test_the_design_of_the_testbed(testbed: ItemSet) -> None:
    """Else: python tools/release_facts.py data/facts/testbed.parquet, or grid.parquet"""
    assert (testbed, load_items("facts:grid")) == (facts.drawn_testbed(), facts.drawn_grid())
    assert Counter(each.is_standard for each in testbed) == {True: 300, False: 300}
    true = [each.question_id for each in testbed if each.is_standard]
    assert len(set(true)) == 300
    assert true == [each.question_id for each in lies(testbed)]
    offsets = Counter(each.perturbation_value for each in lies(testbed) if each.domain == "years")
    assert offsets == dict.fromkeys(SIGNED, 15)
    factors = Counter(each.perturbation_value for each in lies(testbed) if each.perturbation_kind == "factor")
    assert set(SCALES["number"]["amounts"]) < set(factors) < {*SCALES["number"]["amounts"], *SCALES["mark"]["amounts"]}
    assert not any(each.flags for each in testbed)  # times five or ten is often beyond what is possible
    assert all(int(each.claimed_answer) <= 2026 for each in lies(testbed) if each.domain == "years")
    rows = pd.read_csv(folder("facts") / "facts.csv", dtype=str, keep_default_na=False)
    invented = set(rows.loc[rows["fame_band"] == "invented", "gold_answer"])
    assert not {each.claimed_answer for each in lies(testbed) if each.domain in ("names", "cities")} & invented


@pytest.mark.parametrize("domain", ["records", "news", "drugs", "names", "cities"])
def test_thirty_of_each_other_domain_evenly_over_its_levels(testbed: ItemSet, domain: str) -> None:
    levels = Counter(each.level for each in lies(testbed) if each.domain == domain)
    assert sum(levels.values()) == 30
    assert len(levels) == (3 if domain in ("names", "cities") else 4)
    assert max(levels.values()) - min(levels.values()) <= 1


def test_the_grid_has_every_question_and_nearly_every_perturbation(grid: ItemSet) -> None:
    """Some doses and counts are so small that a factor rounds to the truth, to zero, or to another factor's claim."""
    forms = {each.question_id: Counter[str]() for each in load_items("facts")}
    for each in grid:
        forms[each.question_id][each.domain if not each.is_standard else "standard"] += 1
    assert {each["standard"] for each in forms.values()} == {1}
    whole = {"years": 10, "dates": 10, "names": 3, "cities": 3}  # of some nobody else has role and time
    for domain, n in whole.items():
        counts = [each[domain] for each in forms.values() if domain in each]
        assert (max(counts), counts.count(n) / len(counts) > 0.75, min(counts) >= 1) == (n, True, True)
    factors = [each.total() - 1 for each in forms.values() if not set(each) & set(whole)]
    assert sum(n >= 8 for n in factors) / len(factors) > 0.7
    assert min(factors) >= 1


def test_every_year_of_the_grid_is_moved_by_every_offset_and_ahead_of_today_blatantly(grid: ItemSet) -> None:
    moved: dict[tuple[str, int], set[float | None]] = {}
    for lie in lies(grid):
        if lie.domain == "years":
            moved.setdefault((lie.question_id, int(lie.gold_answer)), set()).add(lie.perturbation_value)
    for (_, gold), offsets in moved.items():
        assert offsets == {offset for offset in SIGNED if gold + offset <= 2026 or offset > 60}


def test_no_lie_of_the_grid_keeps_the_truth(grid: ItemSet) -> None:
    # Without `find`: spellings are looked for as text. A number's are looked for with its unit behind them.
    for lie in lies(grid):
        for surface in spellings(lie):
            behind = rf"[ \u00a0-]?{re.escape(lie.unit)}" if lie.unit else r"(?![\w-]|[.,:]\d)"
            assert not re.search(rf"(?<![\w.,]){re.escape(surface)}{behind}", lie.context, re.IGNORECASE), lie.item_id
    # What stands before and behind the one mention of the answer (but for "a", "an" before it) is the same.
    true = {each.question_id: each for each in grid if each.is_standard}
    for lie in lies(grid):
        one = true[lie.question_id]
        (mention,) = answers.find(one.context, one.gold_answer, one.answer_type, one.unit, one.aliases)
        assert lie.context.startswith(one.context[: max(0, mention.start - 3)]), lie.item_id
        assert lie.context.endswith(one.context[mention.end :]), lie.item_id


def spellings(lie: Item) -> list[str]:
    """The gold answer and its aliases, and a whole number or a year as every speller of our tests writes it."""
    given = [lie.gold_answer, *lie.aliases]
    value = lie.gold_answer.replace(",", "")
    if lie.answer_type is AnswerType.YEAR:
        given += [how(int(value)) for how in YEAR_SPELLINGS.values()]
    elif lie.answer_type is AnswerType.NUMBER and value.isdigit():
        given += [how(int(value)) for how in NUMBER_SPELLINGS.values()]
    return given
