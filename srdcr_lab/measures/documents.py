"""What methods make of documents that contradict each other.

The score of RAMDocs (Wang et al. 2025), beside precision, recall and adoption of misinformation per answer (ours), and
what challenged proponents of the dialectical debate do. The reliability of sources is in `sources`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.answers import equal
from srdcr_lab.measures.estimates import clustered_interval, macro_mean, mean_interval
from srdcr_lab.records import DocumentKind, Item, Role

MEANS = ("rounds", "calls_alone", "prompt_tokens", "completion_tokens")


def same_answer(one: str, other: str, item: Item) -> bool:
    """Whether two answers to the item's question are equal, or both are spellings of the gold answer."""
    if equal(one, other, item.answer_type, item.unit):
        return True
    golds = item.gold_answer, item.answer_type, item.unit, item.aliases
    return bool(item.aliases) and equal(one, *golds) and equal(other, *golds)


def answer_outcomes(records: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """One row per item × method with what its answers are worth; items without documents are left out.

    Returns
    -------
    DataFrame : `item_id, question_id, method, missing, rounds, calls_alone, prompt_tokens, completion_tokens`;
        `n_documents`, `n_misinforming`, `share_misinforming` (of the documents known to answer right or wrong; NaN if
        there is none), `n_gold`; `n_given` answers, `n_right` gold answers among them, `n_wrong` known wrong answers
        among them, `n_asserted` (known wrong answers of the item); `exact_match`: every gold answer and no wrong one is
        given. Without an answer the counts of what is given are 0 and the match is False.
    """
    by_id = {item.item_id: item for item in items if item.documents}
    rows = records[records["item_id"].isin(by_id)]
    scores = [_score(by_id[name], given) for name, given in zip(rows["item_id"], rows["final_answers"], strict=True)]
    columns = [name for name in ("item_id", "question_id", "method", "missing", *MEANS) if name in rows]
    return pd.concat([rows[columns].reset_index(drop=True), pd.DataFrame(scores, columns=list(_SCORE))], axis=1)


_SCORE = ("n_documents", "n_misinforming", "share_misinforming", "n_gold", "n_given", "n_right", "n_wrong",
          "n_asserted", "exact_match")  # fmt: skip


def _score(item: Item, given: Sequence[str] | None) -> tuple[Any, ...]:
    answers = [] if given is None else list(given)

    def among(wanted: Sequence[str]) -> int:
        return sum(any(same_answer(answer, each, item) for answer in answers) for each in wanted)

    kinds = [document.kind for document in item.documents]
    true, false = kinds.count(DocumentKind.CORRECT), kinds.count(DocumentKind.MISINFO)
    share = false / (true + false) if true + false else math.nan
    right, wrong, n_gold = among(item.gold_answers), among(item.wrong_answers), len(item.gold_answers)
    match = right == n_gold and not wrong
    return len(kinds), false, share, n_gold, len(answers), right, wrong, len(item.wrong_answers), match


def document_summary(outcomes: pd.DataFrame, by: str | None = None, *, intervals: bool = True) -> pd.DataFrame:
    """Each measure of each method, over all items or for each value of a column, with its n and interval.

    Parameters
    ----------
    outcomes : from `answer_outcomes`.
    by : None, or one of `n_documents`, `n_misinforming`, `share_misinforming`, `n_gold`.

    Returns
    -------
    DataFrame : `method`, the column of `by`, `measure`, `value`, `low`, `high` (95 %, clustered on the question), `n`,
        `n_items`. `exact_match` and `coverage` (something is answered) are out of n items, missing answers counted as
        wrong; `precision` out of n given answers; `recall` out of n gold answers; `misinformation_adopted` (a known
        wrong answer is given) out of n items that have one. `rounds`, `calls_alone`, `prompt_tokens` and
        `completion_tokens` are means over n items. A share of nothing is NaN, with n = 0.
    """
    keys = ["method"] if by is None else ["method", by]
    rows = []
    for names, part in outcomes.groupby(keys, sort=False, dropna=True):
        for measure, values, questions, interval in _measured(part):
            low, high = interval(values, questions) if intervals else (math.nan, math.nan)
            rows.append((*names, measure, macro_mean(values), low, high, len(values), len(part)))
    table = pd.DataFrame(rows, columns=[*keys, "measure", "value", "low", "high", "n", "n_items"])
    return table if by is None else table.sort_values(by, kind="stable", ignore_index=True)


def _measured(part: pd.DataFrame) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], Callable[..., Any]]]:
    """Each measure with its values, their questions, and the interval of their mean.

    A share's values are its units, 1 or 0, such as the given answers of precision.
    """
    questions, every = part["question_id"].to_numpy(), np.ones(len(part), int)
    out_of = {
        "exact_match": (part["exact_match"], every),
        "precision": (part["n_right"], part["n_given"]),
        "recall": (part["n_right"], part["n_gold"]),
        "misinformation_adopted": (part["n_wrong"] > 0, part["n_asserted"] > 0),
        "coverage": (part["n_given"] > 0, every),
    }
    for measure, (hits, units) in out_of.items():
        sizes = np.asarray(units, int)
        values = np.concatenate([np.arange(size) < hit for size, hit in zip(sizes, hits, strict=True)])
        yield measure, values, np.repeat(questions, sizes), clustered_interval
    for measure in (name for name in MEANS if name in part):
        known = part[measure].notna().to_numpy()
        yield measure, part[measure].to_numpy(float, na_value=np.nan)[known], questions[known], mean_interval


_STATES = ["defend", "revise", "concede"]


def stands(turns: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """What challenged proponents of the dialectical debate did, and whether they were right before.

    Debates that broke off are left out, and so are replies that had to be repaired.

    Returns
    -------
    DataFrame : `item_id, question_id`, `document_id`, `kind` of the document, `held` and `answer` (None where missing),
        `state` (defend, revise, concede), `held_right` (the answer held was a gold one).
    """
    by_id = {item.item_id: item for item in items}
    debates = turns[(turns["method"] == "dialectical") & turns["item_id"].isin(by_id)]
    whole = debates["item_id"].isin(debates.loc[debates["role"] == Role.JUDGE, "item_id"])
    replies = debates[whole & (debates["role"] == Role.PROPONENT) & (debates["round"] > 0)]
    replies = replies.drop_duplicates(["item_id", "speaker"], keep="last")
    states = replies["text"].astype(str).str.extract(rf'"state"\s*:\s*"({"|".join(_STATES)})"', expand=False)
    rows = []
    for turn, state in zip(replies.itertuples(), states, strict=True):
        item, held = by_id[turn.item_id], turn.stance if isinstance(turn.stance, str) else None
        answer = turn.stated_answer if isinstance(turn.stated_answer, str) else None
        kind = next((document.kind for document in item.documents if document.document_id == turn.speaker), None)
        right = held is not None and any(same_answer(held, gold, item) for gold in item.gold_answers)
        rows.append((item.item_id, item.question_id, turn.speaker, kind, held, answer, state, right))
    columns = ["item_id", "question_id", "document_id", "kind", "held", "answer", "state", "held_right"]
    return pd.DataFrame(rows, columns=columns).dropna(subset="state", ignore_index=True)


def stand_counts(table: pd.DataFrame) -> pd.DataFrame:
    """From `stands`: how many challenged proponents who were right, or wrong, defended, revised and conceded."""
    counts = pd.crosstab(table["held_right"], table["state"]).reindex(
        index=[True, False], columns=_STATES, fill_value=0
    )
    counts = counts.assign(n=counts.sum(axis=1)).set_axis(["right", "wrong"])
    return counts.rename_axis(columns=None).reset_index(names="held")
