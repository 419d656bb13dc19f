"""A set of items with its exemplars: sampled in proportion, given exemplars if it has none, saved as JSON."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from numbers import Integral
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from srdcr_lab.records import AnswerType, BadInput, DocumentKind, Exemplar, Item, Level
from srdcr_lab.records.files import as_plain, from_plain, read_json, whole_file
from srdcr_lab.records.vocabulary import must_be, n_of

Thing = TypeVar("Thing")
GroupKey = TypeVar("GroupKey")
Group = list[Item]  # the forms of one question
Stratum = Callable[[Group], object]
_STRATA: tuple[Stratum, ...] = (
    lambda group: sum(document.kind is DocumentKind.MISINFO for document in group[0].documents),
    lambda group: group[0].domain,
    lambda group: tuple(item.level for item in group),
    lambda group: tuple(item.perturbation_value for item in group),
)
_perturbation = attrgetter("perturbation_kind", "level", "perturbation_value")
_SAID_OF = ("flags", "is_control")  # what is said of an item and changes no request
_SET_ASIDE = 8  # exemplars taken from a domain that brings none
_NAMED = 5  # domains that a note names
_VERSION = 1  # of the JSON file
_BEGINNING = b'{"srdcr_items"'


@dataclass(frozen=True)
class ItemSet:
    """Items to evaluate, in a fixed order, and a disjoint pool of exemplars.

    Attributes
    ----------
    name : str
        Where the items come from.
    items : tuple of Item
        The items.
    exemplars : tuple of Exemplar
        Worked examples for prompts; none of them is evaluated.
    notes : tuple of str
        How the set came about, and what was left out.
    traits : callable
        Reads what the source tells of gold answers (`gender`, `at_most` and so on), by question_id.
    """

    name: str
    items: tuple[Item, ...] = field(repr=False)
    exemplars: tuple[Exemplar, ...] = field(repr=False)
    notes: tuple[str, ...] = ()
    traits: Callable[[], Mapping[str, Any]] = field(default=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        evaluated = {item.question for item in self.items}
        if shared := [exemplar.question for exemplar in self.exemplars if exemplar.question in evaluated]:
            raise BadInput(f"{self.name}: the exemplar {shared[0]!r} is also evaluated; take it out of one of the two")

    @cached_property
    def sha256(self) -> str:
        """Return the SHA-256 of the items.

        Returns
        -------
        str
            Hexadecimal digits; computed once, which takes half a second for 20,000 items.
        """
        encode, digest = json.JSONEncoder(sort_keys=True, default=asdict).encode, hashlib.sha256(b"[")
        for place, item in enumerate(self.items):
            plain = {name: value for name, value in as_plain(item).items() if name not in _SAID_OF}
            digest.update((", " * (place > 0) + encode(plain)).encode())
        digest.update(b"]")
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def frame(self) -> pd.DataFrame:
        """Return the items as a table.

        Returns
        -------
        DataFrame
            One row per item, with the columns of `Item`.
        """
        columns = [field.name for field in fields(Item)]
        return pd.DataFrame([[getattr(item, name) for name in columns] for item in self.items], columns=columns)

    def unflagged(self) -> ItemSet:
        """Return the set without the false passages that something may give away.

        Returns
        -------
        ItemSet
            The items whose `flags` are empty; a note says how many are left out.
        """
        kept = part_of(self, (item for item in self.items if not item.flags))
        if not kept.items:
            raise BadInput(f"{self.name}: every item is flagged; run without --unflagged, or reword the passages")
        told = f"{self.name}: {n_of(len(self) - len(kept), 'flagged items')} left out"
        return replace(kept, notes=(*kept.notes, told))

    def pool(self, item: Item) -> tuple[Exemplar, ...]:
        """Return the exemplars for an item.

        Parameters
        ----------
        item : Item
            The item.

        Returns
        -------
        tuple of Exemplar
            The exemplars of its domain; of all domains, if its own has fewer than four.
        """
        own = self._exemplars_of.get(item.domain, ())
        return tuple(own) if len(own) >= 4 else self.exemplars

    @cached_property
    def _exemplars_of(self) -> dict[str, list[Exemplar]]:
        return grouped(self.exemplars, lambda exemplar: exemplar.domain)

    def another(self, item: Item, seed: int = 0) -> Item | None:
        """Draw an item with a passage, of another question, for a placebo.

        All forms of a question get the same item, so that it does not tell them apart.

        Parameters
        ----------
        item : Item
            The item.
        seed : int, default 0
            Seed of the random draws.

        Returns
        -------
        Item or None
            An item of the same domain and answer type if there is one, else of the same answer type, else any; None if
            there is no other question.
        """
        own = (item.question_id, item.question_id.rpartition("/")[0])  # of a hop also its chain's
        for alike in (item.domain, item.answer_type), (None, item.answer_type), (None, None):
            others = [other for other in self._alike.get(alike, ()) if other.question_id not in own]
            if others:
                return random.Random(f"{seed}|another|{item.question_id}").choice(others)
        return None

    @cached_property
    def _alike(self) -> dict[tuple[str | None, AnswerType | None], list[Item]]:
        """Items with a passage by domain and answer type, by answer type alone, and all."""
        passages = [item for item in self.items if item.context]
        return {
            **grouped(passages, lambda item: (item.domain, item.answer_type)),
            **grouped(passages, lambda item: (None, item.answer_type)),
            (None, None): passages,
        }

    def limit(self, n: int | None, seed: int = 0, *, whole: bool = False) -> ItemSet:
        """Draw at most `n` items, by question, in proportion to domains, levels and perturbations.

        Items with documents are drawn first of all in proportion to the number of misleading documents. A question
        keeps its true forms and as many false ones, at least one; more only if there is room for more of every
        question. A graded table therefore gives pairs of many questions rather than all forms of a few. It is cut
        further only if not even one question fits.

        Parameters
        ----------
        n : int
            Largest number of items; None for all.
        seed : int, default 0
            Seed of the random draws.
        whole : bool, default False
            Keep every form of a question.

        Returns
        -------
        ItemSet
            The smaller set.

        Raises
        ------
        BadInput
            `n` is below 1.
        """
        must_be("limit", n, (Integral, None), "a whole number")
        if n is None or n >= len(self.items):
            return self
        if n < 1:
            raise BadInput(f"a limit (--limit, questions) must be at least 1, got {n}")
        questions = list(grouped(self.items, lambda item: item.question_id).values())
        if not whole:
            questions = _fewer_false_forms(questions, n // len(questions), random.Random(f"{seed}|forms"))
        strata = _STRATA if any(item.documents for item in self.items) else _STRATA[1:]
        groups = _in_proportion(questions, strata, random.Random(seed))
        chosen: list[Item] = []
        for group in groups:
            if len(chosen) + len(group) <= n:
                chosen += group
        keep = {item.item_id for item in chosen or groups[0][:n]}
        fewer = f"the limit of {n} keeps {len(keep)} items: equally many false forms of each question, or all it has"
        part = part_of(self, (item for item in self.items if item.item_id in keep))
        return part if len(keep) == n else replace(part, notes=(*part.notes, fewer))

    def of_questions(self, n: int | None, seed: int = 0) -> ItemSet:
        """Draw at most `n` questions in proportion to domains, and keep every form of each.

        Absurd forms are left out, because they are not a degree of falsehood.

        Parameters
        ----------
        n : int
            Largest number of questions; None for all.
        seed : int, default 0
            Seed of the random draws.

        Returns
        -------
        ItemSet
            The smaller set.
        """
        forms = replace(self, items=tuple(item for item in self.items if item.level is not Level.ABSURD))
        first = {item.question_id: item for item in reversed(forms.items)}
        chosen = {item.question_id for item in replace(self, items=tuple(first.values())).limit(n, seed)}
        return part_of(self, (item for item in forms if item.question_id in chosen))


def part_of(whole: ItemSet, items: Iterable[Item], name: str = "") -> ItemSet:
    """Some items of a set, of which the note on flags counts those alone."""
    part = replace(whole, name=name or whole.name, items=tuple(items))
    others = tuple(note for note in whole.notes if _FLAGGED not in note)
    return part if others == whole.notes else replace(part, notes=(*others, *flags_counted(part.items, part.name)))


def _fewer_false_forms(questions: Sequence[Group], size: int, rng: random.Random) -> list[Group]:
    """Keep each question's true forms and as many false ones, at least one, or as many as make `size` forms in all.

    The perturbations kept are those used least often by the questions before; ties are broken at random.
    """
    used: Counter[tuple[object, ...]] = Counter()
    kept = []
    for group in questions:
        true = [item for item in group if item.is_standard]
        false = [item for item in group if not item.is_standard]
        while len(false) > max(1, len(true), size - len(true)):
            false.remove(max(rng.sample(false, len(false)), key=lambda item: used[_perturbation(item)]))
        used.update(map(_perturbation, false))
        kept.append([item for item in group if item.is_standard or item in false])
    return kept


def _in_proportion(groups: Sequence[Group], strata: Sequence[Stratum], rng: random.Random) -> list[Group]:
    """Order groups at random so that every beginning of the order has each stratum in proportion, to within one group.

    The j-th of a stratum's m groups gets the position (j + u) / m, with one random u in [0, 1) per stratum. Finer
    strata spread within the coarser ones in the same way.
    """
    if not strata:
        return rng.sample(groups, len(groups))
    places: list[tuple[float, Group]] = []
    for part in grouped(groups, strata[0]).values():
        start = rng.random()
        places += [((j + start) / len(part), group) for j, group in enumerate(_in_proportion(part, strata[1:], rng))]
    return [group for _, group in sorted(places, key=lambda place: place[0])]


def grouped(things: Iterable[Thing], key: Callable[[Thing], GroupKey]) -> dict[GroupKey, list[Thing]]:
    """Things by key, both in the order of the things."""
    groups: dict[GroupKey, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


def standard_item(question_id: str, question: str, gold_answer: str, context: str = "", **others: Any) -> Item:
    """An item that claims its gold answer; its id is the question's unless `others` (further fields) sets one."""
    core = {"question_id": question_id, "question": question, "gold_answer": gold_answer, "context": context}
    return Item(**{"item_id": question_id, "claimed_answer": gold_answer, **core, **others})


def as_exemplar(item: Item) -> Exemplar:
    return Exemplar(question=item.question, answer=item.gold_answer, context=item.context, domain=item.domain)


def not_evaluated(pool: Sequence[Exemplar], items: Sequence[Item]) -> tuple[Exemplar, ...]:
    """The exemplars of a pool whose question is not among the items."""
    evaluated = {item.question for item in items}
    return tuple(exemplar for exemplar in pool if exemplar.question not in evaluated)


def with_exemplars(name: str, items: Sequence[Item], own: Sequence[Exemplar], pool: Sequence[Exemplar]) -> ItemSet:
    """Items with their `own` exemplars and those of the pool; notes say where the exemplars come from.

    A domain with fewer than four exemplars sets eight of its questions aside if it has at least forty; otherwise
    exemplars of other domains are used, as they are where documents take the place of a passage. Questions with options
    need none. Fewer than four in all raise `BadInput`.
    """
    exemplars = [*own, *not_evaluated(pool, items)]
    set_aside: set[str] = set()
    domains: dict[str, list[str]] = {}
    for domain, members in grouped((each for each in items if not each.options), lambda item: item.domain).items():
        if sum(exemplar.domain == domain for exemplar in exemplars) >= 4:
            continue
        standard = [item for item in members if item.is_standard and not item.documents]
        questions = list(dict.fromkeys(item.question_id for item in standard))
        if len(questions) < 5 * _SET_ASIDE:
            what = "fewer than four exemplars of its own, so those of other domains are shown with it"
        else:
            aside = set(questions[:: len(questions) // _SET_ASIDE][:_SET_ASIDE])
            exemplars += [as_exemplar(item) for item in standard if item.question_id in aside]
            set_aside |= aside
            what = f"{_SET_ASIDE} of its questions were set aside as exemplars and are not evaluated"
        domains.setdefault(what, []).append(domain)
    notes = (f"{_each_of(those)}: {what}; the column is_exemplar marks your own" for what, those in domains.items())
    if len(exemplars) < 4:
        raise BadInput(f"{name}: a few-shot prompt needs four exemplars; mark rows with the column is_exemplar")
    kept = tuple(item for item in items if item.question_id not in set_aside)
    return ItemSet(name, kept, tuple(exemplars), tuple(notes))


_FLAGGED = "may give themselves away"
_PARTICULAR = re.compile(r"'.*'|[-+]?\d[\d.,]*")


def without_particulars(sentence: str) -> str:
    """A reason or flag without what it quotes and its numbers, by which such sentences are counted."""
    return _PARTICULAR.sub("…", sentence)


def flags_counted(items: Sequence[Item], name: str) -> list[str]:
    """A note on how many false passages are flagged, and why most of them are; none where none is."""
    flagged = [item for item in items if item.flags]
    reasons = (dict.fromkeys(without_particulars(flag.partition(": ")[0]) for flag in item.flags) for item in flagged)
    most = "; ".join(f"{flag} ({n:,})" for flag, n in Counter(chain.from_iterable(reasons)).most_common(_NAMED))
    of = sum(not item.is_standard for item in items)
    return [f"{name}: {len(flagged):,} of {of:,} false passages {_FLAGGED}: {most}"] if flagged else []


def _each_of(domains: Sequence[str]) -> str:
    shown = ", ".join(domains[:_NAMED]) + (" …" if len(domains) > _NAMED else "")
    return f"domain {shown}" if len(domains) == 1 else f"each of {len(domains)} domains ({shown})"


def first_difference(before: Iterable[Item], now: Iterable[Item]) -> str:
    """The first item that has changed, and what changed, in words; empty if nothing did."""
    known = {item.item_id: asdict(item) for item in before}
    for item in now:
        if (was := known.pop(item.item_id, None)) is None:
            return f"item {item.item_id} is new"
        for name, value in asdict(item).items():
            if value != was[name] and name not in _SAID_OF:
                return f"of item {item.item_id} the {name} was {was[name]!r:.60}, is now {value!r:.60}"
    return f"item {next(iter(known))} is gone" if known else ""


def freeze(items: ItemSet, path: Path) -> None:
    """Write the set as JSON, one item per line; `thaw` reads it back."""
    encode = json.JSONEncoder(ensure_ascii=False, default=asdict).encode
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(encode({"srdcr_items": _VERSION, "name": items.name, "notes": items.notes})[:-1])
        for name, records in (("items", items.items), ("exemplars", items.exemplars)):
            file.write(f',\n"{name}": [\n')
            file.writelines(",\n" * (place > 0) + encode(as_plain(record)) for place, record in enumerate(records))
            file.write("\n]")
        file.write("}\n")


def is_frozen(path: Path) -> bool:
    """Whether a file begins as `freeze` writes it; any other ``.json`` file is a table."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def thaw(path: Path) -> ItemSet:
    """Read the set that `freeze` wrote; `BadInput` names the item and the field that are wrong."""
    content = None
    with suppress(OSError, BadInput):
        content = read_json(path.read_bytes(), str(path))
    if not isinstance(content, dict) or "srdcr_items" not in content:
        raise BadInput(f"{path} is no items file of srdcr_lab; give one a run wrote (the same run writes it again)")
    if (version := content.pop("srdcr_items")) != _VERSION:
        raise BadInput(f"{path} has items of version {version}, this srdcr_lab reads version {_VERSION}")
    return from_plain(ItemSet, content, str(path))  # type: ignore[no-any-return]
