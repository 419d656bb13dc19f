"""Cut the chains of data/hops from MQuAKE: `python tools/cut_chains.py MQuAKE-hard.json`, which checks its checksum.

A chain is two or three facts in a row of one of the four-hop cases, whose relations hold for good: who wrote, made,
founded or was born, not who directs or coaches. Facts that are wrong or that have changed are left out (`NOT`). The
question is put together here; passages, and which hop is false, are those of `read_mquake`.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mquake import Cells, cells_of, read_mquake, write_lines

from srdcr_lab.data.items import grouped
from srdcr_lab.data.rows import Row, read_table
from srdcr_lab.records import Item
from srdcr_lab.records.files import sha256_of
from srdcr_lab.records.types import ONE_HOP

SHA256 = "fc78dc7bec4625d3ce6e2923acae7f1920691b0b23e663182bf799f2856f2a11"  # of the file at the commit in data/hops

ASKED = {  # what a question calls the answer, by relation
    "P19": "the birthplace of {}", "P20": "the city where {} died", "P26": "the person married to {}",
    "P27": "the country of citizenship of {}", "P30": "the continent of {}", "P36": "the capital of {}",
    "P37": "the official language of {}", "P40": "the child of {}", "P50": "the author of {}",
    "P69": "the university where {} studied", "P112": "the founder of {}", "P136": "the type of music of {}",
    "P159": "the city of the headquarters of {}", "P170": "the creator of {}", "P175": "the performer of {}",
    "P176": "the maker of {}", "P178": "the developer of {}", "P495": "the country of origin of {}",
    "P641": "the sport of {}", "P800": "the best-known work of {}",
}  # fmt: skip
PERSONS = ("P26", "P40", "P50", "P112", "P170", "P175")
NOT = {  # subjects by relation: marriages that have ended, facts that are wrong, words of several sports
    "P26": ["Al Gore", "Vince McMahon", "Richard Dawkins", "Priscilla Presley", "Miley Cyrus", "David Duchovny", "Nas",
            "Kanye West", "Kim Kardashian", "Neil Gaiman", "Louise Redknapp", "Ted Turner", "Charles Saatchi",
            "Elvis Presley"],
    "P27": ["University of Coimbra", "Wallace Fard Muhammad"],
    "P37": ["United States of America", "Chennai"],
    "P641": ["goalkeeper", "midfielder", "defender", "center", "Michael Lewis", "Silvio Berlusconi",
             "association football manager", "Dietrich Mateschitz", "Imran Khan"],
    "P170": ["YouTube Original Channel Initiative", "Strawberry Fields Forever"],
}  # fmt: skip
MOST = {"pattern": 12, "second": 5, "answer": 20}  # chains of one length that have one of these in common
WANTED, SHOWN = 60, 5  # chains of each length to ask, and worked examples
ITEMS = Path(__file__).parent.parent / "data" / "hops" / "chains.jsonl"


def main(file: Path) -> int:
    if (digest := sha256_of(file)) != SHA256:
        print(f"{file} has the sha256 {digest}, and {SHA256} is expected")
        return 2
    cases = read_table(file).to_dict("records")
    random.Random(0).shuffle(cases)
    rows: list[Cells] = []
    chains: list[Item] = []
    begun: set[tuple[str, str]] = set()
    alone: dict[str, Item] = {}
    for length in (3, 2):
        forms = grouped(asked(list(pick(cuts(cases, length), begun))), lambda item: item.question_id)
        pairs = list(forms.values())
        chains += [item for pair in pairs[:WANTED] for item in pair]
        rows += [example(true, f"{length} hops") for true, _ in pairs[WANTED : WANTED + SHOWN]]
        hops = (true.hop(number) for true, _ in pairs[WANTED:] for number in range(1, length + 1))
        alone |= {hop.question: hop for hop in hops}
    evaluated = {item.hop(number).question for item in chains for number in range(1, len(item.hops) + 1)}
    single = [hop for question, hop in alone.items() if question not in evaluated]
    rows += [example(hop, ONE_HOP) for hop in random.Random(0).sample(single, min(len(single), 2 * SHOWN))]
    rows = [*map(cells_of, chains), *rows]
    write_lines(rows, ITEMS)
    for what in ("domain", "false_hop", "claimed_answer"):
        print(what, Counter(str(getattr(item, what)) for item in chains).most_common(12))
    print(f"{ITEMS}: {len(chains)} items, {len(rows) - len(chains)} worked examples")
    return 0


def cuts(cases: Sequence[Cells], length: int) -> Iterator[Cells]:
    """Every part of a case of this length that can be asked, in the published columns."""
    for case in cases:
        ids, labels = case["orig"]["triples"], case["orig"]["triples_labeled"]
        for start in range(len(ids) - length + 1):
            part = slice(start, start + length)
            facts = [(own[1], label[0]) for own, label in zip(ids[part], labels[part], strict=True)]
            if all(relation in ASKED and subject not in NOT.get(relation, ()) for relation, subject in facts):
                orig = {"triples": ids[part], "triples_labeled": labels[part]}
                cells = {"case_id": f"{case['case_id']}-{start + 1}-{start + length}", "orig": orig}
                yield cells | {"questions": [question(facts)], "single_hops": case["single_hops"][part]}


def question(facts: Sequence[tuple[str, str]]) -> str:
    """What the chain leads to, as one question, from its relations and first subject."""
    asked = facts[0][1]
    for relation, _ in facts:
        asked = ASKED[relation].format(asked)
    return f"{'Who' if facts[-1][0] in PERSONS else 'What'} is {asked}?"


def pick(windows: Iterator[Cells], begun: set[tuple[str, str]]) -> Iterator[Cells]:
    """Those of which not too many are alike, and none begins with a fact that another one has begun with."""
    had: Counter[tuple[str, object]] = Counter()
    for cells in windows:
        ids, labels = cells["orig"]["triples"], cells["orig"]["triples_labeled"]
        first, second = ((own[1], label[0]) for own, label in zip(ids[:2], labels[:2], strict=True))
        features = {"pattern": tuple(own[1] for own in ids), "second": second, "answer": labels[-1][2]}
        if first not in begun and all(had[feature] < MOST[feature[0]] for feature in features.items()):
            had.update(features.items())
            begun.add(first)
            yield cells


def asked(windows: Sequence[Cells]) -> list[Item]:
    """The chains as the reader makes them, true and false."""
    rows = [Row("MQuAKE", number, cells) for number, cells in enumerate(windows, start=1)]
    return read_mquake(rows)[0]


def example(item: Item, domain: str) -> Cells:
    names = ("item_id", "question_id", "question", "gold_answer", "context", "answer_type")
    return {name: getattr(item, name) for name in names} | {"domain": domain, "is_exemplar": "true"}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
