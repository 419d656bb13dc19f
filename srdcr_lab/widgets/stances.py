"""A counterfactual debate as HTML, stance by stance. Everything that came from a model or a file is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd

from srdcr_lab.records import Item, Role
from srdcr_lab.widgets.html import Html

_COLOURS = {Role.DEFENDER.value: "#0173b2", Role.CRITIC.value: "#d55e00", Role.JUDGE.value: "#555555"}
_AGENT = "#029e73"


def options_html(item: Item) -> Html:
    """The question with its options; the gold one is marked."""
    marked = [
        f"<li>{'<b>' if option.label == item.gold_answer else ''}{escape(option.label)}. {escape(option.text)}"
        f"{' (right)</b>' if option.label == item.gold_answer else ''}</li>"
        for option in item.options
    ]
    passage = f"<blockquote>{escape(item.context)}</blockquote>" if item.context else ""
    options = f'<ul style="list-style: none">{"".join(marked)}</ul>' if marked else ""
    return Html(f"<p><b>{escape(item.question)}</b></p>{passage}{options}")


def stances_html(turns: pd.DataFrame, item_id: str, method: str = "cfmad") -> Html:
    """One question's debate from the table `turns`: chains of thought, then each stance by itself, then the judge."""
    chosen = turns[(turns["item_id"] == item_id) & (turns["method"] == method)].sort_values("position")
    if chosen.empty:
        return Html(f"<p>There is no turn of {escape(method)} on {escape(item_id)}.</p>")
    about = chosen["stance"].fillna("")
    parts = _part("Where the stances come from", chosen[(about == "") & (chosen["role"] != Role.JUDGE)])
    for stance in dict.fromkeys(about[about != ""]):
        parts += _part(f"Stance: {stance}", chosen[about == stance])
    return Html(f"<div>{parts}{_part('Judge', chosen[chosen['role'] == Role.JUDGE])}</div>")


def _part(heading: str, turns: pd.DataFrame) -> str:
    said = "".join(_turn(turn) for turn in turns.itertuples())
    return f"<h4>{escape(heading)}</h4>{said}" if said else ""


def _turn(turn: Any) -> str:
    answer = f" → <b>{escape(turn.stated_answer)}</b>" if isinstance(turn.stated_answer, str) else ""
    heard = f"saw {len(turn.saw_turns)} earlier turns" if len(turn.saw_turns) else "saw no earlier turn"
    name = f" {turn.speaker}" if turn.role == Role.AGENT else ""
    return (
        f'<p style="border-left: 3px solid {_COLOURS.get(turn.role, _AGENT)}; padding-left: 0.6em; margin: 0.4em 0">'
        f"<b>{escape(str(turn.role).capitalize() + name)}</b> <small>round {turn.round}, {heard}</small>{answer}<br>"
        f'<span style="white-space: pre-wrap">{escape(turn.text)}</span></p>'
    )
