"""What counterfactual debates come to: stances that change, and the judge where they do not agree [CFMAD Figures 4, 5].

For every question that was debated one of five things is true, and their shares sum to 1:

- `valid_change`: at the end all stances hold the gold answer, so those that were wrong have changed (Figure 4, valid);
- `invalid_change`: at the end all stances hold the same wrong answer (Figure 4, invalid);
- `judge_right`, `judge_wrong`: they do not agree, and the judge is right or wrong (Figure 5);
- `judge_missing`: they do not agree, and the judge gave no readable answer.

The denominator is all debated questions, as the paper's four shares have it. A stance whose last reply could not be
read agrees with nobody.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from srdcr_lab.measures.counterfactual.held import Asked, asked, share

ENDS = ("valid_change", "invalid_change", "judge_right", "judge_wrong", "judge_missing")


def end_of(question: Asked) -> str | None:
    """Which of the five; None where nothing was debated."""
    held = list(question.held_at_last.values())
    if not held:
        return None
    if all(question.same(held[0], other) for other in held):
        return "valid_change" if question.is_gold(held[0]) else "invalid_change"
    if not question.answered:
        return "judge_missing"
    return "judge_right" if question.right else "judge_wrong"


def debate_ends(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method with debates: the share of each end with its interval, `n` debated, `n_undebated` beside them.

    Long: one row per end, in the order of `ENDS`.
    """
    rows = []
    for names, questions in asked(records, turns):
        ends = [(end_of(each), each.row.question_id) for each in questions]
        debated = [(end, question) for end, question in ends if end is not None]
        for end in ENDS if debated else ():
            found = share([each == end for each, _ in debated], [question for _, question in debated])
            rows.append({**names, "end": end, **found, "n_undebated": len(ends) - len(debated)})
    return pd.DataFrame(rows, columns=None if rows else ["method", "end", "n", "share", "low", "high", "n_undebated"])


def stance_changes(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method: how often a right and how often a wrong stance holds another answer at the end.

    The paper's claim is that wrong ones give up more often [CFMAD 4.3.1]. `n` counts stances whose last reply could be
    read, `n_unread` the others.
    """
    rows = []
    for names, questions in asked(records, turns):
        held = [(each, stance, answer) for each in questions for stance, answer in each.held_at_last.items()]
        for right in (True, False) if held else ():
            own = [(each, stance, answer) for each, stance, answer in held if each.is_gold(stance) is right]
            read = [(each, stance, answer) for each, stance, answer in own if isinstance(answer, str)]
            changed = [not each.same(stance, answer) for each, stance, answer in read]
            found = share(changed, [each.row.question_id for each, _, _ in read])
            rows.append({**names, "stance": "right" if right else "wrong", **found, "n_unread": len(own) - len(read)})
    return pd.DataFrame(rows, columns=None if rows else ["method", "stance", "n", "share", "low", "high", "n_unread"])


def candidate_recall(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """How often the gold answer is among the candidates: what no judge can make up for [CFMAD A.2, Table 4; 4.4].

    Candidates are the preset stances; where the chains of thought agreed and nothing was debated, their one answer.
    `n_without` counts the questions that have none. `accuracy_recalled` is the accuracy where it was among them.
    """
    rows = []
    for names, questions in asked(records, turns):
        if not names["method"].startswith(_PRESETTING):
            continue
        known = [(each, each.stances or _drawn(each)) for each in questions]
        having = [(each, candidates) for each, candidates in known if candidates]
        hits = [any(each.is_gold(candidate) for candidate in candidates) for each, candidates in having]
        right = [each.right for (each, _), hit in zip(having, hits, strict=True) if hit]
        found = share(hits, [each.row.question_id for each, _ in having])
        rows.append(
            {
                **names,
                **{{"share": "recall"}.get(name, name): value for name, value in found.items()},
                "n_without": len(questions) - len(having),
                "mean_candidates": float(np.mean([len(each) for _, each in having])) if having else np.nan,
                "accuracy_recalled": sum(right) / len(right) if right else np.nan,
            }
        )
    return pd.DataFrame(rows, columns=None if rows else ["method", "n", "recall", "low", "high"])


_PRESETTING = ("cfmad", "direct_judge", "replace_with")


def _drawn(question: Asked) -> list[str]:
    """Distinct answers of the chains of thought."""
    found: list[str] = []
    drawn = question.turns.loc[question.turns["speaker"].str.startswith("cot"), "stated_answer"]
    for answer in drawn:
        if isinstance(answer, str) and not any(question.same(answer, other) for other in found):
            found.append(answer)
    return found
