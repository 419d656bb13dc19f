"""How many errors are a method's overconfidence: it never looked at another answer [CFMAD 2.2, Figure 2].

Share = overconfident errors / all errors. An error is a question that was answered wrongly. It is overconfident where

- self-reflection: the revised answer is the same as the initial incorrect one;
- self-consistency: at least six of the seven draws are the same incorrect answer;
- MAD, self-contrast: all three initial answers are the same incorrect one.

An initial reply that could not be read is no such answer. The paper defines it for no other method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd

from srdcr_lab.measures.counterfactual.held import Asked, asked, share

NEARLY_ALL = 6  # of seven draws


def _kept_by_reflection(question: Asked) -> bool:
    initial, revised = question.said_by("cot"), question.said_by("revision")
    if not initial or not revised:
        return False
    return question.same(initial[0], revised[-1]) and not question.is_gold(initial[0])


def _nearly_all_votes(question: Asked) -> bool:
    votes = [vote for vote in question.said_by(*(f"vote-{i}" for i in range(7))) if isinstance(vote, str)]
    counts = Counter({vote: sum(question.same(vote, other) for other in votes) for vote in votes})
    return any(n >= NEARLY_ALL and not question.is_gold(vote) for vote, n in counts.items())


def _all_three(question: Asked, *speakers: str) -> bool:
    initial = question.said_by(*speakers, round_=0)
    alike = len(initial) == len(speakers) and all(question.same(initial[0], other) for other in initial)
    return alike and not question.is_gold(initial[0])


OVERCONFIDENT: Mapping[str, Callable[[Asked], bool]] = MappingProxyType(
    {
        "self_reflection": _kept_by_reflection,
        "self_consistency": _nearly_all_votes,
        "mad": lambda question: _all_three(question, "agent-0", "agent-1", "agent-2"),
        "self_contrast": lambda question: _all_three(question, "view-0", "view-1", "view-2"),
    }
)


def overconfidence(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method of the four: `n` errors, the `share` that is overconfidence with its interval, `n_missing`.

    Questions without an answer are no errors here; `n_missing` counts them. NaN where there is no error.
    """
    rows = []
    for names, questions in asked(records, turns):
        rule = OVERCONFIDENT.get(names["method"])
        if rule is None:
            continue
        errors = [each for each in questions if each.answered and not each.right]
        hits = [rule(each) for each in errors]
        missing = sum(not each.answered for each in questions)
        found = share(hits, [each.row.question_id for each in errors])
        rows.append({**names, **found, "n_overconfident": sum(hits), "n_missing": missing})
    return pd.DataFrame(rows, columns=None if rows else ["method", "n", "share", "low", "high"])
