"""The column `popularity` of data/facts/facts.csv: in how many quiz clues a question's subject or article is named.

    python tools/popularity.py CLUES [data/facts/facts.csv]

CLUES is a folder of tab-separated files with the columns category, answer and question, such as the seasons of
github.com/jwolle1/jeopardy_clue_dataset (529,939 clues of 1984–2025). Only counts of them are kept here.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from srdcr_lab.records.files import csv_text, write_whole

CLUE = ["category", "answer", "question"]


def plain(text: str) -> str:
    """Lower case, no accents, one space for whatever is no letter or digit."""
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", " ", letters).strip()


def names(fact: pd.Series) -> set[str]:
    """How clues may name it: its subject and its article, without a bracket at the end and an article in front."""
    written = (re.sub(r" \(.*\)$", "", fact[column]) for column in ("subject", "source_title"))
    return {re.sub(r"^(the|a|an) ", "", plain(name)) for name in written} - {""}


def clues(folder: Path) -> Iterator[str]:
    """The words of each clue: its category, what is read out, what has to be said."""
    for path in sorted(folder.glob("*.tsv")):
        frame = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False, quoting=3, usecols=CLUE)
        yield from (plain(" | ".join(clue)) for clue in frame[CLUE].itertuples(index=False))


def counted(facts: pd.DataFrame, folder: Path) -> dict[str, int]:
    """question_id → clues that name it."""
    named = {fact["question_id"]: names(fact) for _, fact in facts.iterrows() if fact["fame_band"] != "invented"}
    by_word = defaultdict(set)
    for name in set().union(*named.values()):
        by_word[name.split()[0]].add(name)
    clues_of = defaultdict(set)
    for number, clue in enumerate(clues(folder)):
        for word in set(clue.split()):
            for name in by_word.get(word, ()):
                if f" {name} " in f" {clue} ":
                    clues_of[name].add(number)
    return {question: len(set().union(*(clues_of[name] for name in of))) for question, of in named.items()}


if __name__ == "__main__":
    folder, file = Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "data/facts/facts.csv")
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    found = counted(table, folder)
    table["popularity"] = [str(found.get(question, "")) for question in table["question_id"]]
    write_whole(file, csv_text(table))
