"""RA-RAG's estimate on sources of known accuracy: sources that err by themselves, and sources that collude."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import pandas as pd

from srdcr_lab.data.document_sets import SOURCES, reports
from srdcr_lab.measures.reliability import Recovery, recovery

QUESTIONS = 200
_WEAKEST = tuple(sorted(SOURCES, key=SOURCES.__getitem__))
WORLDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "independent, many lies": {},
        "independent, one lie a question": {"lies": 1},
        "the 3 least accurate collude": {"colluding": _WEAKEST[:3]},
        "the 4 least accurate collude": {"colluding": _WEAKEST[:4]},
        "the 5 least accurate collude": {"colluding": _WEAKEST[:5]},
    }
)


def recovered(world: str, seed: int, n_questions: int = QUESTIONS) -> Recovery:
    """The estimate from the reports of one world, beside the truth."""
    said = reports(seed, n_questions=n_questions, **WORLDS[world])
    return recovery(said.questions, said.sources, said.answers, said.truth, said.accuracy)


def source_recovery(seeds: Iterable[int] = range(20), n_questions: int = QUESTIONS) -> pd.DataFrame:
    """One row per world × seed: `world`, `seed`, and the numbers of `srdcr_lab.measures.reliability.Recovery`."""
    names = [field.name for field in fields(Recovery) if field.name != "table"]
    rows = []
    for world in WORLDS:
        for seed in seeds:
            found = recovered(world, seed, n_questions)
            rows.append({"world": world, "seed": seed} | {name: getattr(found, name) for name in names})
    return pd.DataFrame(rows)
