"""The cases of a run: one item under one method, what can be asked for, and how one of them is told as HTML."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from srdcr_lab.data.items import thaw
from srdcr_lab.measures.groups import with_matches
from srdcr_lab.records import Item, Level, Role, Turn, Verdict
from srdcr_lab.widgets.transcript import explain_row, passage_html, rounds_html

ITEMS = "items.json"
STORIES = (
    "believed a false passage",
    "rejected a true passage",
    "context answer wrong, final answer right",
    "context answer right, final answer not",
    "verdict changed",
)
FACETS = {
    "method": "method",
    "outcome": "outcome",
    "decision": "decision",
    "verdict": "V*",
    "passage": "passage",
    "domain": "domain",
    "story": "what happened",
}
_KEYS = ["item_id", "method", "design"]
_SYMBOLS = {"R": "Reasonable", "U": "Unreasonable", "?": "not read"}


class Run(Protocol):
    """What is needed of `srdcr_lab.study.Results`."""

    folder: Path

    @property
    def records(self) -> pd.DataFrame: ...
    @property
    def turns(self) -> pd.DataFrame: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True)
class Cases:
    """Rows of `records` with their turns and items. `facets` has a row a case; its column story holds tuples of
    `STORIES`."""

    records: pd.DataFrame
    facets: pd.DataFrame
    items: Mapping[str, Item]
    _turns: pd.DataFrame
    _places: Mapping[tuple[str, ...], Any]

    @classmethod
    def of(cls, run: Run, methods: Sequence[str] | None = None) -> Cases:
        """The cases of a run method by method, all or some of them; passages come from the run's items.json."""
        items = {item.item_id: item for item in thaw(run.folder / ITEMS).items}
        return cls.from_tables(run.records, run.turns, items, methods)

    @classmethod
    def from_tables(
        cls, records: pd.DataFrame, turns: pd.DataFrame, items: Mapping[str, Item], methods: Sequence[str] | None = None
    ) -> Cases:
        wanted = list(records["method"].unique()) if methods is None else list(methods)
        rows = records[records["method"].isin(wanted)]
        rows = rows.sort_values("method", key=lambda name: name.map(wanted.index), kind="stable").reset_index(drop=True)
        keyed = turns.sort_values("position", kind="stable").reset_index(drop=True)
        places = keyed.assign(design=keyed["design"].fillna("")).groupby(_KEYS, sort=False).indices
        return cls(rows, _facets(rows), items, keyed, places)

    def __len__(self) -> int:
        return len(self.records)

    def row(self, place: int) -> dict[str, Any]:
        """A case's row of `records`; what is missing is None."""
        return _plain(self.records.iloc[place])

    def key(self, place: int) -> tuple[str, ...]:
        """Item, method, and design ("" for none): what tells a case from all others of its run."""
        return tuple(value or "" for value in _plain(self.records.loc[place, _KEYS]).values())

    def turns(self, place: int) -> list[Turn]:
        """What was said, in order."""
        return [_turn(_plain(self._turns.iloc[at])) for at in self._places.get(self.key(place), ())]

    def matching(self, wanted: Mapping[str, str]) -> list[int]:
        """Places of the cases that have all of these facets; an empty value asks for nothing."""
        keep = np.ones(len(self), bool)
        for name, value in wanted.items():
            if value:
                column = self.facets[name]
                keep &= column.map(lambda told, value=value: value in told) if name == "story" else column == value
        return [int(place) for place in np.flatnonzero(keep)]

    def options(self, facet: str) -> list[str]:
        """The values of a facet that occur, in order of first appearance."""
        values = self.facets[facet]
        if facet == "story":
            happened = set().union(*values)
            return [story for story in STORIES if story in happened]
        return [str(value) for value in values.unique() if value]


def _facets(records: pd.DataFrame) -> pd.DataFrame:
    """What cases can be asked for by; "" where a method has no such thing."""
    correct = records["correct"].astype("boolean")
    answered = correct.map({True: "right", False: "wrong"}).astype(object)
    several = records["design"].nunique() > 1
    design = [f" · {name}" if several and isinstance(name, str) else "" for name in records["design"]]
    passage = records["n_options"] + records["n_documents"] == 0
    true, false = passage & (records["level"] == Level.STANDARD), passage & (records["level"] != Level.STANDARD)
    facets = pd.DataFrame(
        {
            "method": records["method"].astype(object) + design,
            "outcome": records["missing"].astype(object).where(records["missing"].notna(), answered),
            "decision": records["decision"].astype(object).fillna(""),
            "verdict": records["verdict"].astype(object).fillna(""),
            "passage": np.select([true, false], ["true", "false"], ""),
            "domain": records["domain"].astype(object),
        }
    )
    return facets.assign(story=_stories(records, true, false))


def _stories(records: pd.DataFrame, true: pd.Series, false: pd.Series) -> list[tuple[str, ...]]:
    right = records["correct"].astype("boolean").fillna(False)
    context = records["context_correct"].astype("boolean")
    follows = with_matches(records)["final_is_claim"].fillna(False) & records["verdict"].isna()
    happened = (
        false & ((records["verdict"] == Verdict.REASONABLE) | follows),
        true & (records["verdict"] == Verdict.UNREASONABLE),
        ~context.fillna(True) & right,
        context.fillna(False) & ~right,
        records["verdict_path"].astype(object).fillna("").map(lambda path: len(set(path) - {"?"}) > 1),
    )
    told = zip(*(each.astype(bool) for each in happened), strict=True)
    return [tuple(story for story, holds in zip(STORIES, row, strict=True) if holds) for row in told]


def _plain(row: pd.Series) -> dict[str, Any]:
    """Lists stay; every missing scalar is None."""
    values = {name: list(value) if isinstance(value, np.ndarray) else value for name, value in row.items()}
    return {name: value if isinstance(value, list) or not pd.isna(value) else None for name, value in values.items()}


def _turn(row: Mapping[str, Any]) -> Turn:
    return Turn(
        round=int(row["round"]),
        role=Role(row["role"]),
        text=row["text"],
        saw_passage=bool(row["saw_passage"]),
        saw_turns=tuple(row["saw_turns"]),
        verdict=Verdict(row["verdict"]) if row["verdict"] else None,
        stated_answer=row["stated_answer"],
        speaker=row["speaker"] or "",
        stance=row["stance"],
    )


@dataclass(frozen=True)
class Told:
    """One case as HTML: what was asked and shown, what was said in each round, and how it ended."""

    question: str
    answers: str
    rounds: Mapping[int, str]
    ending: str

    def html(self, upto: int | None = None) -> str:
        """All of it, with the rounds up to `upto` only; the ending once they are all there."""
        shown = "".join(
            f"<h4>Round {number}</h4>{text}" for number, text in self.rounds.items() if upto is None or number <= upto
        )
        over = not self.rounds or upto is None or upto >= max(self.rounds)
        return self.question + self.answers + shown + (self.ending if over else "")


def tell(cases: Cases, place: int, *, blind: bool = False) -> Told:
    """A case as HTML, everything escaped. `blind` leaves out the truth, the judge and the decision."""
    row, turns = cases.row(place), cases.turns(place)
    item = cases.items.get(row["item_id"])
    question = _source(item, truth=not blind) if item else f"<p><b>{escape(row['question'])}</b></p>"
    spoken = [turn for turn in turns if not (blind and turn.role in (Role.JUDGE, Role.AGGREGATOR))]
    rounds = rounds_html(spoken)
    if blind:
        return Told(question, "", rounds, "")
    return Told(question, _answers(row), rounds, _ending(row, bool(rounds)))


def _source(item: Item, *, truth: bool) -> str:
    """Question, and what the model is shown with it: passage, options, documents."""
    shown = passage_html(item, truth=truth) if item.context else f"<p><b>{escape(item.question)}</b></p>"
    options = "".join(f"<li><b>{escape(each.label)}</b> {escape(each.text)}</li>" for each in item.options)
    documents = "".join(
        f"<li><small>{escape(each.source or each.document_id)}"
        f"{f' ({escape(each.kind.value)})' if each.kind and truth else ''}</small><br>{escape(each.text)}</li>"
        for each in item.documents
    )
    return shown + (f"<ul>{options}</ul>" if options else "") + (f"<ol>{documents}</ol>" if documents else "")


def _answers(row: Mapping[str, Any]) -> str:
    """Both answers, confidence, and the path of the verdicts."""
    lines = {
        "method": row["method"] + (f", design {row['design']}" if row["design"] else ""),
        "passage": _passage(row),
        "prior answer": _judged(row["prior_answer"], row["prior_correct"]),
        "self-confidence": _confidence(row),
        "knowledge category": row["knowledge_category"] or "",
        "context answer": _judged(row["context_answer"], row["context_correct"]),
        "verdict path": " → ".join(_SYMBOLS[symbol] for symbol in row["verdict_path"] or ""),
        "agents agreed in round": "" if row["agreed_round"] is None else str(int(row["agreed_round"])),
    }
    cells = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th><td style="text-align: left">{escape(value)}</td></tr>'
        for name, value in lines.items()
        if value
    )
    return f"<table>{cells}</table>"


def _passage(row: Mapping[str, Any]) -> str:
    if row["n_documents"]:
        return f"{row['n_misinforming']} of {row['n_documents']} documents misinform" if row["n_misinforming"] else ""
    if row["n_options"]:
        return ""
    if row["level"] == Level.STANDARD:
        return "true"
    size = row["perturbation_value"]
    amount = "" if size is None else f" {size:+g}" if row["perturbation_kind"] == "offset" else f" {size:g}"
    return f"false: {row['perturbation_kind']}{amount}, {row['level']}"


def _judged(answer: str | None, correct: bool | None) -> str:
    return "" if answer is None else answer + ("" if correct is None else " (right)" if correct else " (wrong)")


def _confidence(row: Mapping[str, Any]) -> str:
    confidence = row["self_confidence"]
    return "" if confidence is None else f"{confidence:.3f} ({row['confidence_kind']})"


def _ending(row: Mapping[str, Any], debated: bool) -> str:
    stood = ""
    if row["verdict"] is not None:
        since = "" if row["r_star"] is None else f", standing since round {int(row['r_star'])}"
        unstable = " (not stabilised: it stood for the last round alone)" if row["stabilised"] is False else ""
        stood = f"<p><b>V* = {escape(row['verdict'])}{since}</b>{unstable}</p>"
    silent = "" if debated else "<p>No transcript: nobody but the answerer spoke.</p>"
    outcome = row["missing"] or ("right" if row["correct"] else "wrong")
    return f"{silent}{stood}<p>{escape(explain_row(row))} <b>Outcome: {escape(outcome)}.</b></p>"


# -- the transcripts of a run as one HTML file that needs nothing else: no server, no kernel, no network

_SCRIPT = """
"use strict";
const cases = [...document.querySelectorAll("article")], filters = [...document.querySelectorAll("select")];
const id = name => document.getElementById(name);
let found = cases, place = 0, round = 0;

const told = (one, name) => name === "story" ? one.dataset.story.split("; ") : [one.dataset[name]];
const has = (one, filter) => !filter.value || told(one, filter.name).includes(filter.value);
const rounds = () => [...found[place].querySelectorAll("section")];

function show() {
  for (const one of cases) one.hidden = one !== found[place];
  id("none").hidden = found.length > 0;
  id("which").textContent = found.length ? `case ${place + 1} of ${found.length}` : "";
  const steps = found.length ? rounds() : [];
  steps.forEach((step, i) => { step.hidden = i > round; });
  id("round").textContent = steps.length ? `${Math.min(round + 1, steps.length)} of ${steps.length} rounds` : "";
  const ending = found.length && found[place].querySelector("footer");
  if (ending) ending.hidden = round < steps.length - 1;
}
const go = to => { place = Math.max(0, Math.min(found.length - 1, to)); round = 0; show(); };
const step = to => { round = Math.max(0, Math.min(rounds().length - 1, to)); show(); };

for (const filter of filters) filter.addEventListener("change", () => {
  found = cases.filter(one => filters.every(each => has(one, each)));
  go(0);
});
const does = {before: () => go(place - 1), after: () => go(place + 1), earlier: () => step(round - 1),
              later: () => step(round + 1), all: () => step(Infinity)};
for (const name of Object.keys(does)) id(name).addEventListener("click", () => found.length && does[name]());
id("controls").hidden = false;
go(0);
"""

_STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 52rem; margin: 1.5rem auto; padding: 0 1rem; color: #222 }
blockquote { border-left: 3px solid #ccc; margin-left: 0; padding-left: 0.8rem; white-space: pre-wrap }
th { padding-right: 1rem; font-weight: normal; color: #666 } mark { background: #ffe9a8 }
nav { background: #f4f4f4; padding: 0.6rem; position: sticky; top: 0 }
nav label { margin-right: 0.8rem; white-space: nowrap; line-height: 2 } nav span { margin-left: 0.6rem }
article { border-top: 1px solid #ccc; overflow-wrap: anywhere } small { color: #666 } [hidden] { display: none }
"""


_FORBIDDEN = "base-uri 'none'; form-action 'none'"


def explorer_html(run: Run, methods: Sequence[str] | None = None, title: str = "Transcripts") -> str:
    """A page with every case of the run (or of some methods): filter, go from case to case, step through the rounds.

    Without JavaScript it shows all of them, one below the other.
    """
    cases = Cases.of(run, methods)
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; {_FORBIDDEN}"
    body = "\n".join(_case(cases, place) for place in range(len(cases)))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n"
        f"<p>{escape(run.label)}. {len(cases)} cases: one item under one method each.</p>\n{_controls(cases)}\n"
        f'<p id="none" hidden>No case has all of these.</p>\n{body}\n<script>{_SCRIPT}</script></body></html>\n'
    )


def _controls(cases: Cases) -> str:
    filters = "".join(
        f'<label>{escape(text)} <select name="{facet}"><option value="">any</option>'
        + "".join(f'<option value="{escape(value)}">{escape(value)}</option>' for value in cases.options(facet))
        + "</select></label> "
        for facet, text in FACETS.items()
    )
    buttons = {"before": "◀ case", "after": "case ▶", "earlier": "◀ round", "later": "round ▶", "all": "all rounds"}
    steps = "".join(f'<button id="{name}" type="button">{text}</button> ' for name, text in buttons.items())
    return f'<nav id="controls" hidden>{filters}<br>{steps}<span id="which"></span> <span id="round"></span></nav>'


def _case(cases: Cases, place: int) -> str:
    facets = cases.facets.iloc[place]
    values = {name: "; ".join(facets[name]) if name == "story" else str(facets[name]) for name in FACETS}
    marks = " ".join(f'data-{name}="{escape(value)}"' for name, value in values.items())
    told: Told = tell(cases, place)
    rounds = "".join(f"<section><h4>Round {number}</h4>{text}</section>" for number, text in told.rounds.items())
    return f"<article {marks}>{told.question}{told.answers}{rounds}<footer>{told.ending}</footer></article>"
