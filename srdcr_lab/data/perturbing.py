"""Make false passages by known amounts: for one item and claim, for a whole table, with an audit of every attempt.

The answer type (`answers.kinds`) finds the mentions, makes the false answer and looks for what gives the truth away.
Here the mentions are exchanged and the false passage is read again: it must state the claim and no gold answer. A
rewritten passage, written anew by somebody around a claim, is checked in the same way. Pairs are drawn in balance. The
audit is a table, and can be saved as CSV or HTML.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import SequenceMatcher
from functools import partial
from itertools import accumulate, chain, cycle, islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.dates import SIGNED_YEAR_OFFSETS
from srdcr_lab.answers.kinds import Audit, FalseClaim, NoClaim, Traits, Wanted, flagged, kind_of, left_over
from srdcr_lab.answers.name import SMALLEST_POOL, Name, clash, country_of, gender_of, inferred, spoken_of
from srdcr_lab.answers.wording import Span, fold_letters, pattern, spoken, tokens
from srdcr_lab.data.items import ItemSet, flags_counted, grouped, without_particulars
from srdcr_lab.data.rows import Row, rows_of
from srdcr_lab.lib.page import Html, Td, html_table, render, shown
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind
from srdcr_lab.records.files import csv_text, to_write, write_whole
from srdcr_lab.records.vocabulary import must_be, n_of

TRAITS = ("gender", "role", "era", "country", "near", "at_least", "at_most", "lived")  # columns of a table
_LIVED = re.compile(r"(.+?)\s+(-?\d{1,4})\.\.(-?\d{1,4})")
TAG = "rewrite"
_SHORTEST, _LONGEST = 0.5, 2.0  # words of a rewrite, as shares of the true passage's
_ALIKE = 0.85  # likeness of two passages, word by word, from which on one is the other with a value exchanged
_FULL_STOP = re.compile(r"(?<=\w{4})\.\Z")
_COLUMNS = (
    "outcome", "why", "item_id", "question_id", "domain", "answer_type", "question", "gold_answer", "claimed_answer",
    "perturbation_kind", "perturbation_value", "level", "changes",
)  # fmt: skip
AUDIT_ENDINGS = (".html", ".csv")
Pools = dict[tuple[str, AnswerType], dict[str, Traits]]
_AROUND = 90  # characters shown on either side of a change


class Change(NamedTuple):
    """One change: characters [start, start + len(before)) of the true passage are `before`, and `after` in the false
    one.
    """

    start: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Form:
    """A standard item under one claim; `item` is the false one, None if it is refused.

    `why` lists the reasons for a refusal; for a flagged (usable) form, what may give the truth away.
    """

    standard: Item
    claim: FalseClaim
    item: Item | None
    outcome: Audit
    why: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def forms(item: Item, wanted: Wanted) -> Iterator[Form]:
    """The item under each claim about its answer, in order; what is the same for all claims is checked once."""
    kind = kind_of(item.answer_type)
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)[:101]
    answer = f"the answer {item.gold_answer}"
    unfit = f"the passage states {answer} more than 100 times" if spans else f"the passage does not state {answer}"
    refusals = [] if 0 < len(spans) <= 100 else [unfit]
    asked = answers.find(item.question, item.gold_answer, item.answer_type, "", item.aliases)
    if not kind.is_value and any(_is_written_as(span.surface, item.gold_answer) for span in asked):
        refusals.append("the question names the answer itself")
    flags: list[str] = []
    doubts = (*kind.doubts(item, spans), *flagged(item, spans)) if spans else ()
    for outcome, sentence in dict.fromkeys(doubts):
        (refusals if outcome is Audit.REFUSED else flags).append(sentence)
    for claim in kind.claims(item, wanted):
        reasons = refusals or list(filter(None, [claim.refusal]))
        try:
            form = None if reasons else _made(item, claim, spans, flags, wanted.is_vouched_for)
        except NoClaim as error:
            reasons, form = [str(error)], None
        yield form or Form(item, claim, None, Audit.REFUSED, tuple(reasons))


def _is_written_as(surface: str, answer: str) -> bool:
    """Whether a mention has capitals wherever the answer has: "what New Jersey city" does not mention Jersey City."""
    return not any(word[0].islower() and word.capitalize() in answer.split() for word in surface.split())


def _made(item: Item, claim: FalseClaim, spans: Sequence[Span], flags: Sequence[str], is_vouched_for: bool) -> Form:
    """The usable form; raises `NoClaim` if there is none."""
    kind = kind_of(item.answer_type)
    doubts = list(kind.doubts_of_claim(item, claim, spans))
    if refused := next((sentence for outcome, sentence in doubts if outcome is Audit.REFUSED), ""):
        raise NoClaim(refused)
    changes = []
    for span in spans:
        if (written := kind.respell(span.surface, kind.gold(item), claim.canonical)) is None:
            raise NoClaim(f"{claim.answer} cannot be written as the passage writes {span.surface!r}")
        changes.append(_change(item.context, span, written))
    false = claiming(item, claim, applied(item.context, changes))
    if fault := next(chain(still_true(false), unread(false, changes)), ""):
        raise NoClaim(fault)
    why = [*claim.flags, *flags, *(sentence for _, sentence in doubts)]
    if answers.states(item.context, claim.answer, item.answer_type, item.unit):
        why.append("the true passage mentions the claim already")
    if not is_vouched_for and (doubtful := left_over(item, item.context, spans)):
        why.append(doubtful)
    false = replace(false, flags=tuple(sentence.replace("|", "/") for sentence in dict.fromkeys(why)))
    return Form(item, claim, false, Audit.FLAGGED if why else Audit.ACCEPTED, tuple(why), tuple(changes))


def claiming(item: Item, claim: FalseClaim, passage: str) -> Item:
    """The item with a passage that makes a false claim."""
    false = replace(item, item_id=f"{item.item_id}@{claim.tag}", context=passage, claimed_answer=claim.answer)
    return replace(false, perturbation_kind=claim.kind, perturbation_value=claim.value, level=claim.level)


def still_true(false: Item) -> Iterator[str]:
    """How a false passage still states a gold answer."""
    for gold in false.gold_answers:
        called = "the gold answer" if gold == false.gold_answer else f"another gold answer, {gold!r}"
        if answers.equal(false.claimed_answer, gold, false.answer_type, false.unit, false.aliases):
            yield f"the claim {false.claimed_answer} is {called}"
        if answers.is_accepted(false.claimed_answer, false):
            yield f"the claim {false.claimed_answer} counts as right, as the column accepted says"
        if left := answers.find(false.context, gold, false.answer_type, false.unit, false.aliases):
            yield f"the passage would still state {called}: {left[0].surface!r}"


def unread(false: Item, changes: Sequence[Change]) -> Iterator[str]:
    """The places where the claim was written but cannot be read back."""
    stated = answers.find(false.context, false.claimed_answer, false.answer_type, false.unit)
    for start, change in zip(new_places(changes), changes, strict=True):
        if not any(start <= span.start and span.end <= start + len(change.after) for span in stated):
            yield f"{change.after!r} would not be read as {false.claimed_answer} in its place"


def _change(passage: str, span: Span, after: str) -> Change:
    """The change of one mention; a possessive, the capital of a sentence and, in English, "a" and "an" stay right."""
    start, before = span.start, span.surface
    if pattern("stop_of_junior").match(passage, span.end) and not after.casefold().endswith(("jr", "sr")):
        before += "."
    possessive = pattern("possessive_after").match(passage, span.end)
    is_quoted = pattern("quotation_before").search(passage, max(0, start - 200), start)
    if possessive and not is_quoted and before.endswith("s") and not after.endswith("s"):
        before, after = before + possessive[0], f"{after}{possessive[0]}s"
    if before[:1].isupper() and pattern("sentence_before").search(passage, max(0, start - 8), start):
        after = after[0].upper() + after[1:]
    article = pattern("english").search(passage) and pattern("article_before").search(passage, max(0, start - 4), start)
    took_an, takes_an = (pattern("takes_an").match(text) is not None for text in (before, after))
    if article and (article[1].lower() == "an") is took_an and took_an is not takes_an:
        gap = passage[article.end(1) : start]
        right = article[1][0] + ("n" if takes_an else "")
        return Change(article.start(), article[1] + gap + before, right + gap + after)
    return Change(start, before, after)


def applied(passage: str, changes: Sequence[Change]) -> str:
    """The passage with every change made; changes are in order and do not overlap."""
    for start, change in zip(new_places(changes), changes, strict=True):
        passage = passage[:start] + change.after + passage[start + len(change.before) :]
    return passage


def new_places(changes: Sequence[Change]) -> list[int]:
    """Where each change starts in the perturbed passage."""
    shifts = accumulate((len(change.after) - len(change.before) for change in changes), initial=0)
    return [change.start + shift for change, shift in zip(changes, shifts, strict=False)]


def read_traits(frame: pd.DataFrame, file: str) -> dict[str, Traits]:
    """The traits that a table gives in the columns `TRAITS`, by question_id; rows without any, or that could not be
    read, are left out.

    Lists are separated by bars. Without a question_id, the item_id or the row number is used.
    """
    traits = {}
    for row in rows_of(frame, file):
        if any(isinstance(cell, BadInput) for cell in row.cells.values()):
            continue
        gender = row.one_of("gender", ("f", "m", "female", "male", ""))[:1]
        role, era = (frozenset(row.between_bars(column)) for column in ("role", "era"))
        limits = row.number_in("at_least"), row.number_in("at_most")
        own = Traits(gender, role, era, row.text("country"), row.between_bars("near"), *limits, tuple(_lived(row)))
        if own != Traits():
            traits[row.text("question_id") or row.text("item_id") or f"row-{row.number}"] = own
    return traits


def traits_in(frame: pd.DataFrame, file: str) -> Callable[[], Mapping[str, Traits]]:
    """What reads the traits of a table, once false passages are made; a run needs none, and reads none."""
    return partial(read_traits, frame, file) if set(TRAITS) & set(frame.columns) else dict


def _lived(row: Row) -> Iterator[tuple[str, int, int]]:
    for text in row.between_bars("lived"):
        if not (match := _LIVED.fullmatch(text)) or int(match[2]) > int(match[3]):
            raise row.bad("lived", f"{text!r:.60} is not a person with two years; write 'Samuel Pepys 1633..1703'")
        yield match[1], int(match[2]), int(match[3])


def contradictions(false: Item, own: Traits | None = None, pool: Mapping[str, Traits] | None = None) -> list[str]:
    """What contradicts the claim of a false passage, or is still true in it; one sentence each, empty if nothing is
    found.

    The passage is checked as it is, whoever wrote it: the gold answer or an accepted value in it, no claim, a part
    greater than its whole, an impossible value that is not marked absurd, a wrong weekday, a person of another gender
    or role or a city of another country than the passage says.

    Parameters
    ----------
    own : traits of the gold answer; default: inferred from question and passage.
    pool : traits of claims; a near-name that `own` lists has the same traits.
    """
    found = [*islice(still_true(false), 1)]
    kind, folded = kind_of(false.answer_type), fold_letters(false.context)[0]
    for name in () if kind.is_value else (*false.gold_answers, *false.aliases):
        if len(name) > 3 and not found and fold_letters(name)[0] in folded:
            found.append(f"the gold answer would still stand inside another word: {name!r}")
    spans = answers.find(false.context, false.claimed_answer, false.answer_type, false.unit)
    if not spans:
        return [*found, f"the passage does not state the claim {false.claimed_answer}"]
    found += kind.contradictions(false, spans)
    new = answers.normalise(false.claimed_answer, false.answer_type, false.unit)
    if new and false.level is not Level.ABSURD and (why := kind.impossible(false, new, own or Traits())):
        found.append(why)
    if isinstance(kind, Name):
        claimed = replace(false, gold_answer=false.claimed_answer, aliases=())
        own = own or inferred(claimed)
        near = own if false.claimed_answer in own.near else Traits(gender_of(false.claimed_answer))
        other = kind.absurd.get(false.claimed_answer) or (pool or {}).get(false.claimed_answer) or near
        trait = clash(own, other, spoken_of(claimed))
        if trait == "gender" or (trait and false.claimed_answer not in kind.absurd):
            found.append(f"{false.claimed_answer} does not fit what the passage says of the {trait}")
    return found


def rewritten(item: Item, claim: FalseClaim, text: str, own: Traits | None = None) -> Form:
    """The false form that a rewritten passage makes, or the reasons why it is refused.

    `own` are the traits of the gold answer (default: inferred), which the claim has to share.
    """
    own = own or inferred(item)
    false = claiming(item, claim, " ".join(spoken(text).split()))
    if why := (*_faults(item, false), *contradictions(false, own, {claim.answer: own})):
        return Form(item, claim, None, Audit.REFUSED, why)
    spans = answers.find(false.context, claim.answer, item.answer_type, item.unit)
    flags = tuple(filter(None, [left_over(item, false.context, spans)]))
    false = replace(false, flags=tuple(flag.replace("|", "/") for flag in flags))
    return Form(item, claim, false, Audit.FLAGGED if flags else Audit.ACCEPTED, flags)


def _faults(item: Item, false: Item) -> Iterator[str]:
    """What is wrong with a passage as a rewrite."""
    true, new = tokens(item.context), tokens(false.context)
    if not _SHORTEST * len(true) <= len(new) <= _LONGEST * len(true):
        yield f"has {len(new)} words where the true passage has {len(true)}; half to twice as many were expected"
    if hedge := pattern("hints").search(false.context):
        yield f"hedges, or hints that something is false: {hedge[0]!r}"
    for _, name, _ in answers.name.proper_names(item.question):
        words = {word for word in tokens(name) if len(word) > 2}
        if words & set(true) and not words & set(new):
            yield f"does not name what the question names: {name!r}"
    claimed, gold = set(tokens(false.claimed_answer)), set(tokens(item.gold_answer))
    before, after = ([word for word in words if word not in claimed | gold] for words in (true, new))
    if SequenceMatcher(None, before, after, autojunk=False).ratio() >= _ALIKE:
        yield "is the true passage with another value, and not written anew"


class Refusal(NamedTuple):
    """A row of the table that was not perturbed at all."""

    item_id: str
    question: str
    gold_answer: str
    why: str


@dataclass(frozen=True)
class Perturbed:
    """The result of `perturb`.

    Attributes
    ----------
    items : ItemSet
        Every standard item with its accepted and flagged false forms.
    forms : tuple of Form
        Every attempt.
    left_out : tuple of Refusal
        Rows that were not perturbed, with the reason.
    """

    items: ItemSet
    forms: tuple[Form, ...] = field(repr=False)
    left_out: tuple[Refusal, ...] = field(repr=False)

    def audit(self) -> pd.DataFrame:
        """Tabulate every attempt.

        Returns
        -------
        DataFrame
            One row per attempt, in the order of the items, then the rows left out. `why` holds sentences joined by ";
            "; `changes` is a JSON list of [start in the true passage, before, after].
        """
        rows: list[dict[str, object]] = []
        for form in self.forms:
            false = claiming(form.standard, form.claim, "")
            changes = json.dumps(form.changes, ensure_ascii=False)
            said = {"outcome": form.outcome.value, "why": "; ".join(form.why), "changes": changes}
            rows.append(said | {name: getattr(false, name) for name in _COLUMNS if name not in said})
        unknown = dict.fromkeys(_COLUMNS, "") | {"outcome": Audit.REFUSED.value, "changes": "[]"}
        rows += [unknown | row._asdict() | {"perturbation_value": None} for row in self.left_out]
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def paired(self, seed: int = 0) -> ItemSet:
        """Pair each question's true passage with one false one, if it has any.

        Parameters
        ----------
        seed : int, default 0
            Seed of the random draws.

        Returns
        -------
        ItemSet
            The pairs, balanced over kinds and levels.
        """
        standard = [item for item in self.items if item.is_standard]
        order = random.Random(seed).sample(standard, len(standard))
        false = balanced(order, grouped(self.forms, lambda form: form.standard.item_id), len(order))
        pairs = [form for item in standard for form in (item, false.get(item.item_id)) if form is not None]
        return replace(self.items, name=f"{self.items.name}, paired", items=tuple(pairs))

    def sentence(self) -> str:
        """Summarise the counts.

        Returns
        -------
        str
            One line.
        """
        standard = sum(item.is_standard for item in self.items)
        made = Counter(form.outcome for form in self.forms)
        counts = ", ".join(f"{made[outcome]:,} {outcome}" for outcome in Audit)
        tried = f"{n_of(standard, 'true passages')}, {n_of(len(self.forms), 'false versions')} tried"
        return f"{tried}: {counts}; {n_of(len(self.left_out), 'rows')} left out"


def balanced(order: Iterable[Item], forms: Mapping[str, Sequence[Form]], n: int) -> dict[str, Item]:
    """A false form for each of `n` questions, by item_id, as evenly over the strata as the passages allow.

    `forms` are the items under every claim, by item_id. A stratum is a signed offset for years and a level for other
    types, whose factors alternate within it. Strata are filled in turn, the scarcest first, from the questions in their
    order, and from unflagged forms while there are any (so claims in the future are avoided). Absurd forms are left
    out.
    """
    usable = {
        item.item_id: [form for form in forms[item.item_id] if form.item and form.claim.level is not Level.ABSURD]
        for item in order
    }
    strata = list(dict.fromkeys(_stratum(form) for made in usable.values() for form in made))
    left = Counter(islice(cycle(strata), n))  # how many questions each stratum still gets
    used: Counter[tuple[object, float | None]] = Counter()
    false: dict[str, Item] = {}
    for outcomes in ({Audit.ACCEPTED}, set(Audit)):
        eligible = [form for made in usable.values() for form in made if form.outcome in outcomes]
        of_strata = grouped(eligible, _stratum).items()
        fitting = {stratum: grouped(those, lambda form: form.standard.item_id) for stratum, those in of_strata}
        for stratum in sorted(strata, key=lambda stratum: len(fitting.get(stratum, ()))):
            for item_id, candidates in fitting.get(stratum, {}).items():
                if left[stratum] and item_id not in false:
                    form = min(candidates, key=lambda form: used[stratum, form.claim.value])
                    used[stratum, form.claim.value] += 1
                    left[stratum] -= 1
                    false[item_id] = form.item or form.standard
    for item_id, made in usable.items():  # whose strata were full before their turn
        if made and item_id not in false and len(false) < n:
            least = min(made, key=lambda form: (form.outcome is not Audit.ACCEPTED, -left[_stratum(form)]))
            false[item_id] = least.item or least.standard
    return false


def _stratum(form: Form) -> tuple[PerturbationKind, object]:
    claim = form.claim
    return claim.kind, claim.value if claim.kind is PerturbationKind.OFFSET else claim.level


def claims_to_rewrite(perturbed: Perturbed, seed: int = 0) -> Iterator[tuple[Item, FalseClaim]]:
    """Each standard item that has a claim, with one of its claims for a rewrite, balanced over the levels.

    A passage that gives the truth away, or refuses the claim, is no obstacle, because it is replaced. Flagged and
    comical claims are left out.
    """
    possible = (form for form in perturbed.forms if not form.claim.flags)  # neither absurd nor in the future
    wanted = [form for form in possible if form.claim.answer and form.claim.tag != "comical"]
    rng, used = random.Random(seed), Counter[tuple[object, ...]]()
    for members in grouped(wanted, lambda form: form.claim.kind).values():
        forms_of = grouped(members, lambda form: form.standard.item_id)
        order = rng.sample([forms[0].standard for forms in forms_of.values()], len(forms_of))
        false = balanced(order, forms_of, len(order))
        for item in order:
            every = forms_of[item.item_id]
            chosen = [form for form in every if form.item and form.item is false.get(item.item_id)]
            form = min(chosen or rng.sample(every, len(every)), key=lambda form: used[_stratum(form)])
            used[_stratum(form)] += 1
            yield item, replace(form.claim, kind=PerturbationKind.REWRITE, value=None, tag=TAG, flags=())


def by_outcome(perturbed: Perturbed) -> pd.DataFrame:
    """Count attempts by kind and level, with one column per outcome; rows left out are not counted."""
    counts = Counter((form.claim.kind.value, form.claim.level, form.outcome) for form in perturbed.forms)
    keys = sorted({key[:2] for key in counts}, key=lambda key: (key[0], list(Level).index(key[1])))
    rows = [(kind, level.value, *(counts[kind, level, outcome] for outcome in Audit)) for kind, level in keys]
    return pd.DataFrame(rows, columns=["perturbation_kind", "level", *(outcome.value for outcome in Audit)])


def by_reason(perturbed: Perturbed) -> pd.DataFrame:
    """Count the forms, or rows left out, by reason, with one example of each.

    A form may have several reasons, and counts once for each; a row that was left out has one.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for form in perturbed.forms:
        for head, why in {without_particulars(why.partition(": ")[0]): why for why in reversed(form.why)}.items():
            alike.setdefault((form.outcome.value, head), []).append(why)
    for row in perturbed.left_out:
        alike.setdefault(("left out", without_particulars(row.why)), []).append(row.why)
    rows = [(outcome, len(group), group[0]) for (outcome, _), group in alike.items()]
    rows.sort(key=lambda row: (row[0] == Audit.FLAGGED, row[0], -row[1]))
    return pd.DataFrame(rows, columns=["outcome", "n", "for example"])


def checked_offsets(sizes: Iterable[int]) -> tuple[int, ...]:
    """The offsets as they are used: each size with both signs, smallest first."""
    given: list[Any] = list(sizes) if isinstance(sizes, Iterable) else []
    if not given or not all(isinstance(size, Integral) and 1 <= abs(int(size)) <= 5000 for size in given):
        raise BadInput("offsets are whole years from 1 to 5000, such as 20,40,60,100,200; each is used with both signs")
    return tuple(sign * size for size in sorted({abs(int(size)) for size in given}) for sign in (1, -1))


def _checked_factors(values: Iterable[float]) -> tuple[float, ...]:
    given: list[Any] = list(values) if isinstance(values, Iterable) else []
    if not given or not all(isinstance(each, Real) and 0.001 <= float(each) <= 1000 and each != 1 for each in given):
        raise BadInput("factors are numbers from 0.001 to 1000 other than 1, such as 0.8,1.2,2")
    return tuple(sorted({each if isinstance(each, float) else round(float(each), 6) for each in given}))  # of float32


def pools_of(items: Iterable[Item], traits: Mapping[str, Traits] | None = None) -> Pools:
    """Gold answers that can replace each other, by (domain, answer type), each with its traits, sorted.

    `traits` are those of gold answers by question_id; others are inferred from the passages.
    """
    pools: Pools = {}
    for item in sorted(items, key=lambda item: item.gold_answer):
        if kind_of(item.answer_type).perturbation is PerturbationKind.SUBSTITUTION:
            pool = pools.setdefault((item.domain, item.answer_type), {})
            # Without the full stop of a sentence, that somebody copied with the name.
            pool.setdefault(_FULL_STOP.sub("", item.gold_answer), answers.name.all_traits(item, traits or {}))
    return pools


def _given_pool(names: Iterable[str], known: Mapping[str, Traits]) -> dict[str, Traits]:
    """The user's own pool, with traits if they are `known` from the items; otherwise inferred from the name."""
    distinct = sorted({name.strip() for name in names if name.strip()})
    if len(distinct) < SMALLEST_POOL:
        raise BadInput(f"the pool has {len(distinct)} names; a substitution needs {SMALLEST_POOL} wrong ones; add some")
    return {name: known.get(name) or Traits(gender_of(name), country=country_of(name)) for name in distinct}


def perturb(
    items: Iterable[Item], *, offsets: Iterable[int] = SIGNED_YEAR_OFFSETS, factors: Iterable[float] | None = None,
    pool: Sequence[str] | Mapping[AnswerType, Sequence[str]] | None = None,
    traits: Mapping[str, Traits] | None = None, seed: int = 0, present: int | None = None,
    left_out: Sequence[Refusal] = (),
) -> Perturbed:  # fmt: skip
    """Make false passages by known amounts.

    Years and dates are offset, numbers are multiplied by factors, names and cities are substituted.

    Parameters
    ----------
    items : iterable of Item
        Items with true passages; items that are already perturbed, and free text, are left out with the reason.
    offsets : iterable of int, default SIGNED_YEAR_OFFSETS
        Offsets of years; each is used with both signs. Dates have offsets of their own.
    factors : iterable of float, optional
        Factors of numbers; by default those of ``levels.toml``, which are small for the marks of athletes.
    pool : sequence of str or mapping of AnswerType to sequence of str, optional
        Names or cities to substitute, by answer type if the items have several; by default the other gold answers of
        the same domain and type.
    traits : mapping of str to Traits, optional
        Traits of gold answers by `question_id`; by default those of the source of `items`, and where it tells none,
        inferred from questions and passages.
    seed : int, default 0
        Seed of the substitutions; a draw depends only on it and on the `question_id`.
    present : int, optional
        The year after which a claim is flagged as future; by default this year.
    left_out : sequence of Refusal, default ()
        Rows refused before, to be kept in the audit.

    Returns
    -------
    Perturbed
        The items with their false forms, and the audit.

    Raises
    ------
    BadInput
        An offset or factor makes no sense, or a pool is too small.
    """
    must_be("pool", pool, (list, tuple, Mapping, None), "a list of names, or a mapping of answer type to such lists")
    must_be("traits", traits, (Mapping, None), "a mapping of question_id to Traits")
    must_be("present", present, (Integral, None), "a year")
    must_be("items", items, (Iterable,), "an ItemSet or a list of items")
    source = items if isinstance(items, ItemSet) else ItemSet("the table", (), ())
    traits = source.traits() if traits is None else traits
    standard: dict[str, Item] = {}
    unfit = []
    for item in items:
        if why := _unfit(item, standard):
            unfit.append(Refusal(item.item_id, item.question, item.gold_answer, why))
        else:
            standard[item.question_id] = item
    pools = pools_of(standard.values(), traits)
    if pool is not None:
        types = dict.fromkeys(answer_type for _, answer_type in pools)
        if len(types) > 1 and not isinstance(pool, Mapping):
            told = f"{source.name} has answers of the types {' and '.join(types)}"
            how = "give a .csv with the columns gold_answer and answer_type (in Python, a dict by type)"
            raise BadInput(f"{told}, and the pool does not say which of its names is which: {how}")
        given = pool if isinstance(pool, Mapping) else dict.fromkeys(types, pool)
        if unknown := [each for each in given if each not in [*AnswerType]]:
            raise BadInput(f"the pool has names of the type {unknown[0]!r}; expected {', '.join(AnswerType)}")
        pools |= {key: _given_pool(given[key[1]], pools[key]) for key in pools if key[1] in given}
    amounts: dict[AnswerType, Sequence[float]] = {AnswerType.YEAR: checked_offsets(offsets)}
    amounts |= {} if factors is None else {AnswerType.NUMBER: _checked_factors(factors)}
    present = date.today().year if present is None else present
    wanted = Wanted(amounts, pools, traits, seed, present, is_vouched_for=False)
    tried = [(item, tuple(forms(item, wanted))) for item in standard.values()]
    everything = [each for item, made in tried for each in (item, *(form.item for form in made if form.item))]
    name = f"{source.name}, perturbed"
    written = replace(source, name=name, items=(*everything,), notes=(*source.notes, *flags_counted(everything, name)))
    return Perturbed(written, tuple(form for _, made in tried for form in made), (*left_out, *unfit))


def _unfit(item: Item, kept: Mapping[str, Item]) -> str:
    """Why an item cannot be perturbed; empty if it can."""
    must_be("each of items", item, (Item,), "an item, as load_items gives them")
    if not item.is_standard:
        return "its passage is already false"
    if item.documents or item.hops or not item.context:
        return "it has no single passage"
    if kind_of(item.answer_type).perturbation is PerturbationKind.NONE:
        *others, last = [each for each in AnswerType if kind_of(each).perturbation is not PerturbationKind.NONE]
        return f"an answer of type {item.answer_type} is not perturbed; {', '.join(others)} and {last} are"
    if answers.normalise(item.gold_answer, item.answer_type, item.unit) is None:
        return f"the gold answer is no {item.answer_type}"
    if first := kept.get(item.question_id):
        same = "its question and passage stand" if first.context == item.context else "a passage of its question stands"
        return f"{same} in {first.item_id!r} already; delete one of the two rows, or give each its own question_id"
    return ""


def write_audit(perturbed: Perturbed, path: Path) -> None:
    """Write the audit as CSV or as an HTML page, chosen by the file ending."""
    is_table = to_write(path, AUDIT_ENDINGS).suffix.lower() == ".csv"
    text = csv_text(perturbed.audit()) if is_table else audit_page(perturbed, f"Audit of {perturbed.items.name}")
    write_whole(path, text)


def audit_page(perturbed: Perturbed, title: str) -> Html:
    """The audit as an HTML page: counts, reasons, and every attempt by question with what was changed."""
    tables = {"Outcomes": shown(by_outcome(perturbed)), "Reasons": shown(by_reason(perturbed))}
    if perturbed.left_out:
        tables["Rows left out"] = html_table(("item", "question", "gold answer", "why"), perturbed.left_out)
    header, questions = ("outcome", "perturbation", "level", "claim", "change", "why"), []
    for forms in grouped(perturbed.forms, lambda form: form.standard.item_id).values():
        counts = {outcome.value: sum(form.outcome is outcome for form in forms) for outcome in Audit}
        rows = [
            (Td(form.outcome.value, css=form.outcome.value), form.claim.tag, form.claim.level.value, form.claim.answer,
             marked(form.standard.context, form.changes), "; ".join(form.why))
            for form in forms
        ]  # fmt: skip
        questions.append((forms[0].standard, counts, html_table(header, rows)))
    n_standard = sum(item.is_standard for item in perturbed.items)
    return render("audit", title=title, perturbed=perturbed, n_standard=n_standard, tables=tables, questions=questions)


def marked(passage: str, changes: Sequence[Change]) -> Html:
    """The passage as HTML, with the old text of each change struck out and the new text beside it."""
    pieces: list[tuple[str, str, str]] = []
    ends = [0, *(change.start + len(change.before) for change in changes)]
    for done, change in zip(ends, changes, strict=False):
        between = passage[done : change.start]
        if len(between) > 2 * _AROUND:
            between = f"{between[:_AROUND] if done else ''} … {between[-_AROUND:]}"
        pieces.append((between, change.before, change.after))
    if changes:
        tail = passage[ends[-1] :]
        pieces.append((f"{tail[:_AROUND]} …" if len(tail) > _AROUND else tail, "", ""))
    return render("parts", "changed", pieces=pieces)
