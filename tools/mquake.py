"""Questions of several hops from MQuAKE (Zhong et al. 2023): `python tools/mquake.py FILE --out chains.jsonl`.

Reads a file in its published columns and writes a table of our own, which `srdcr run --items chains.jsonl` takes: two
rows a case, all passages true and one of them false. `cut_chains.py` makes data/hops from the four-hop file.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import pandas as pd

from srdcr_lab import answers, cli
from srdcr_lab.answers.kinds import FalseClaim
from srdcr_lab.commands import DONE, PATH, echo
from srdcr_lab.data.items import standard_item, without_particulars
from srdcr_lab.data.perturbing import claiming
from srdcr_lab.data.rows import Row, read_table, rows_of
from srdcr_lab.data.tables import check_columns, checked_rows
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind
from srdcr_lab.records.files import write_whole
from srdcr_lab.records.types import PREVIOUS
from srdcr_lab.records.vocabulary import n_of

COLUMNS = ("case_id", "questions", "single_hops", "orig")
Cells = dict[str, Any]

_TOLD: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("chains.toml").read_text("utf-8"))


class Step(NamedTuple):
    """One fact of a chain of MQuAKE: its relation (Wikidata's identifier), its subject, and the question for it."""

    relation: str
    subject: str
    question: str
    cloze: str
    answer: str
    aliases: tuple[str, ...]

    def told(self, form: int) -> str:
        """The fact as a passage: in one of our forms for its relation, otherwise as its published cloze."""
        passages = _TOLD["passages"].get(self.relation, [f"{self.cloze} {{answer}}."])
        subject, answer = (f"the {name}" if name in _TOLD["the"] else name for name in (self.subject, self.answer))
        text = str(passages[form % len(passages)].format(subject=subject, answer=answer)).replace("..", ".")
        return text[0].upper() + text[1:]


def read_mquake(rows: Sequence[Row]) -> tuple[list[Item], Counter[str]]:
    """MQuAKE (Zhong et al. 2023): questions that take several facts, with a passage for each of these hops.

    A case becomes two items, a true one and one in which the passage of one hop is false. Which hop that is, is
    balanced. It claims another answer that the file has for its relation. What is true of that answer is added to the
    passages of the later hops, in both items: whoever believes the false passage finds an answer to every later
    question, and ends with another one. Passages are ours (``chains.toml``); the counterfactual answers of the file are
    not used. Beside the items, it counts by reason what is left out.
    """
    made: list[Item] = []
    left_out, balance = Counter[str](), Counter[tuple[int, int]]()
    chains = [(row, _steps(row)) for row in rows]
    known = {(step.relation, step.subject): step for _, steps in reversed(chains) for step in steps}
    for row, steps in chains:
        rng = random.Random(f"mquake|{row.text('case_id')}")
        named = all(step.subject in step.question for step in steps)
        places = sorted(range(len(steps)) if named else (), key=lambda place: balance[len(steps), place])
        ways = ((place, way) for place in places if (way := _astray(steps, place, known, rng)))
        place, way = next(ways, (0, []))
        if not way:
            left_out["no other answer leads to another end, or a question lacks its subject"] += 2
            continue
        balance[len(steps), place] += 1
        form, aside = rng.randrange(2), dict(enumerate(way[1:], start=place + 1))
        hops = [_hop(number, step, aside.get(number), form, rng) for number, step in enumerate(steps)]
        name, fields = f"mquake-{row.text('case_id')}", {"domain": f"{len(steps)} hops", "aliases": steps[-1].aliases}
        question, gold = next(iter(row.texts("questions")), ""), steps[-1].answer
        item = standard_item(name, question, gold, _joined(hops), hops=tuple(hops), **fields)
        hops[place] = _contradicted(hops[place], "false", way[0].told(form), way[0].answer)
        false = _contradicted(item, f"hop-{place + 1}", _joined(hops), way[-1].answer)
        made += [item, replace(false, hops=tuple(hops))]
    found = [entry for _, entry in checked_rows(pd.DataFrame(map(cells_of, made)), "mquake")] if made else []
    left_out.update(without_particulars(str(entry)) for entry in found if isinstance(entry, BadInput))
    return [item for item, entry in zip(made, found, strict=True) if isinstance(entry, Item)], left_out


def _contradicted(true: Item, tag: str, context: str, claim: str) -> Item:
    """The item with a false passage whose distance from the truth is unknown."""
    false = FalseClaim(PerturbationKind.SUBSTITUTION, None, Level.MODERATE, tag, claim, claim)
    return claiming(true, false, context)


def _steps(row: Row) -> list[Step]:
    """The facts of a case, in order."""
    parts = row.parts("single_hops", "hop")
    try:
        ids, labels = (row.cells["orig"][name] for name in ("triples", "triples_labeled"))
        named = [(str(ids[place][1]), str(labels[place][0])) for place in range(len(parts))]
    except (LookupError, TypeError):
        raise row.bad("orig", "triples and triples_labeled were expected, with an entry for each hop") from None
    steps = []
    for part, (relation, subject) in zip(parts, named, strict=True):
        question, cloze, answer = (part.filled(column) for column in ("question", "cloze", "answer"))
        codes = (alias for alias in part.texts("answer_alias") if len(alias) > 3 or not alias.islower())
        aliases = tuple(alias for alias in codes if "|" not in alias and answers.normalise(alias, AnswerType.TEXT))
        steps.append(Step(relation, subject, question, cloze, answer, aliases))
    return steps


def _astray(steps: Sequence[Step], place: int, known: Mapping[tuple[str, str], Step], rng: random.Random) -> list[Step]:
    """The facts to the end, once one at `place` is replaced by a false one; empty if no claim leads to another end."""
    claims = {step.answer: step for step in known.values() if step.relation == steps[place].relation}
    for claim in rng.sample(sorted(claims), len(claims)):
        way = [steps[place]._replace(answer=claim, aliases=claims[claim].aliases)]
        for step in steps[place + 1 :]:
            if following := known.get((step.relation, way[-1].answer)):
                way.append(following)
        right = {name.casefold() for step in steps for name in (step.subject, step.answer, *step.aliases)}
        apart = right.isdisjoint(name.casefold() for step in way for name in (step.answer, *step.aliases))
        if apart and len(way) == len(steps) - place:
            return way
    return []


def _hop(number: int, step: Step, aside: Step | None, form: int, rng: random.Random) -> Item:
    """A hop, numbered from 0, with a true passage, which says a fact aside too, if there is one."""
    told = [each.told(form + place) for place, each in enumerate((step, aside)) if each]
    question = step.question.replace(step.subject, PREVIOUS) if number else step.question
    context = " ".join(rng.sample(told, len(told)))
    return standard_item(f"hop-{number + 1}", question, step.answer, context, aliases=step.aliases)


def _joined(hops: Sequence[Item]) -> str:
    return "\n\n".join(hop.context for hop in hops)


def cells_of(item: Item) -> Cells:
    """A row of a table of our own."""
    names = ("item_id", "question_id", "question", "gold_answer", "claimed_answer", "domain", "answer_type")
    hops = [
        {name: getattr(hop, name) for name in (*names[2:5], "context", "answer_type")}
        | {"aliases": "|".join(hop.aliases)}
        for hop in item.hops
    ]
    return {name: getattr(item, name) for name in names} | {"aliases": "|".join(item.aliases), "hops": hops}


def write_lines(rows: Iterable[Cells], path: Path) -> None:
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


@click.command("mquake")
@click.argument("file", type=PATH)
@click.option("--out", type=PATH, required=True, help="the table: JSON lines")
def mquake(file: Path, out: Path) -> int:
    """Chains of a file in MQuAKE's published columns as a table with the column hops."""
    frame = read_table(file, COLUMNS)
    check_columns(frame, COLUMNS, str(file), f"MQuAKE as published has {', '.join(COLUMNS)}")
    chains, left_out = read_mquake(rows_of(frame, file.name))
    write_lines(map(cells_of, chains), out)
    reasons = "; ".join(f"{count} because {reason}" for reason, count in left_out.most_common())
    echo(f"{out}: {len(chains)} items" + f" left out {n_of(left_out.total(), 'passages')}: {reasons}" * bool(reasons))
    return DONE


if __name__ == "__main__":
    import sys

    cli.cli.add_command(mquake)
    cli.main(["mquake", *sys.argv[1:]])
