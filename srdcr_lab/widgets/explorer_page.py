"""The transcripts of a run as one HTML file that needs nothing else: no server, no kernel, no network.

Every case is written by the same code as in the notebook, escaped, and hidden until it is asked for; a short script of
our own filters and steps. The page's policy allows that one script, by its hash, and no other.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from srdcr_lab.widgets.explorer_cases import FACETS, Cases, Run, Told, tell

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
