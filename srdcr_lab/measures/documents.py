"""What methods make of documents that contradict each other: RAMDocs' exact match, per-answer precision and recall, and
how often misinformation is adopted; by number of documents, of misleading ones and of gold answers.

Source: RAMDocs and its score are Wang et al. 2025; precision, recall and adoption per answer are ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.answers import equal
from srdcr_lab.measures.estimates import clustered_interval, mean_interval
from srdcr_lab.measures.reliability import source_reliability
from srdcr_lab.records import DocumentKind, Item, Role

SHARES = ("exact_match", "precision", "recall", "misinformation_adopted", "coverage")
MEANS = ("rounds", "calls_alone", "prompt_tokens", "completion_tokens")
ITEM_COLUMNS = ("n_documents", "n_misinforming", "share_misinforming", "n_gold")


def answer_outcomes(records: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """One row per item × method with what its answers are worth.

    Parameters
    ----------
    records : table `records`; rows of items that are not among `items`, or have no documents, are left out.
    items : with gold answers, wrong answers and documents.

    Returns
    -------
    DataFrame : `item_id, question_id, method, missing, rounds, calls_alone, prompt_tokens, completion_tokens`;
        `n_documents`, `n_misinforming`, `share_misinforming` (of the documents that answer, right or wrong: NaN if
        none is known to), `n_gold`; `n_given` answers, `n_right` gold answers among them, `n_wrong` known wrong
        answers among them, `n_asserted` (known wrong answers of the item); `exact_match`: every gold answer and no
        wrong one is given. Where nothing is answered, all that is given is 0 and the match False.
    """
    by_id = {item.item_id: item for item in items if item.documents}
    rows = records[records["item_id"].isin(by_id)]
    scored = [_scored(by_id[name], given) for name, given in zip(rows["item_id"], rows["final_answers"], strict=True)]
    columns = ["item_id", "question_id", "method", "missing", *MEANS]
    table = rows[[name for name in columns if name in rows]].reset_index(drop=True)
    return pd.concat([table, pd.DataFrame(scored, columns=[*ITEM_COLUMNS, *_COUNTS, "exact_match"])], axis=1)


_STATE = re.compile(r'"state"\s*:\s*"(defend|revise|concede)"')
_COUNTS = ("n_given", "n_right", "n_wrong", "n_asserted")


def _scored(item: Item, given: Sequence[str] | None) -> tuple[Any, ...]:
    answers = [] if given is None else list(given)

    def among(wanted: Sequence[str]) -> int:
        return sum(any(same_answer(answer, each, item) for answer in answers) for each in wanted)

    kinds = [document.kind for document in item.documents]
    true, false = kinds.count(DocumentKind.CORRECT), kinds.count(DocumentKind.MISINFO)
    right, wrong = among(item.gold_answers), among(item.wrong_answers)
    match = right == len(item.gold_answers) and not wrong
    share = false / (true + false) if true + false else math.nan
    found = len(answers), right, wrong, len(item.wrong_answers)
    return len(kinds), false, share, len(item.gold_answers), *found, match


@dataclass(frozen=True)
class _Share:
    """Units of a share: hits per item, and out of how many."""

    hits: NDArray[np.float64]
    of: NDArray[np.float64]


def _share(table: pd.DataFrame, measure: str) -> _Share:
    one = np.ones(len(table))
    match measure:
        case "exact_match":
            return _Share(table["exact_match"].to_numpy(float), one)
        case "precision":
            return _Share(table["n_right"].to_numpy(float), table["n_given"].to_numpy(float))
        case "recall":
            return _Share(table["n_right"].to_numpy(float), table["n_gold"].to_numpy(float))
        case "misinformation_adopted":
            return _Share((table["n_wrong"] > 0).to_numpy(float), (table["n_asserted"] > 0).to_numpy(float))
        case _:
            return _Share((table["n_given"] > 0).to_numpy(float), one)


def document_summary(outcomes: pd.DataFrame, by: str | None = None, *, intervals: bool = True) -> pd.DataFrame:
    """Each measure of each method, over all items or for each value of a column, with its n and interval.

    Parameters
    ----------
    outcomes : from `answer_outcomes`.
    by : None, or one of `n_documents`, `n_misinforming`, `share_misinforming`, `n_gold`.

    Returns
    -------
    DataFrame : `method`, the column of `by`, `measure`, `value`, `low`, `high` (95 %, clustered on the question), `n`,
        `n_items`. `exact_match` and `coverage` (something is answered) are out of n items, what is missing counted as
        wrong; `precision` out of n given answers; `recall` out of n gold answers; `misinformation_adopted` (a known
        wrong answer is given) out of n items that have one. `rounds`, `calls_alone`, `prompt_tokens` and
        `completion_tokens` are means over n items. A share of nothing is NaN, with n = 0.
    """
    keys = ["method"] if by is None else ["method", by]
    rows: list[dict[str, Any]] = []
    for names, part in outcomes.groupby(keys, sort=False, dropna=True):
        named = dict(zip(keys, names, strict=True)) | {"n_items": len(part)}
        clusters = part["question_id"].to_numpy()
        for measure in SHARES:
            share = _share(part, measure)
            rows.append(named | {"measure": measure} | _of_share(share, clusters, intervals))
        for measure in (name for name in MEANS if name in part):
            known = part[measure].notna()
            rows.append(named | {"measure": measure} | _of_mean(part.loc[known, measure], clusters[known], intervals))
    columns = [*keys, "measure", "value", "low", "high", "n", "n_items"]
    found = pd.DataFrame(rows, columns=columns)
    return found if by is None else found.sort_values(by, kind="stable", ignore_index=True)


def _of_share(share: _Share, clusters: NDArray[Any], intervals: bool) -> dict[str, Any]:
    """Hits out of units; the units of one question are resampled together."""
    n = int(share.of.sum())
    if n == 0:
        return {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    ends = (math.nan, math.nan)
    if intervals:
        repeated = share.of.astype(int)
        units = np.concatenate([np.arange(k) < hit for k, hit in zip(repeated, share.hits, strict=True)])
        ends = clustered_interval(units.astype(float), np.repeat(clusters, repeated))
    return {"value": float(np.minimum(share.hits, share.of).sum() / n), "low": ends[0], "high": ends[1], "n": n}


def _of_mean(values: pd.Series, clusters: NDArray[Any], intervals: bool) -> dict[str, Any]:
    numbers = values.to_numpy(float)
    low, high = mean_interval(numbers, clusters) if intervals else (math.nan, math.nan)
    return {"value": float(numbers.mean()) if len(numbers) else math.nan, "low": low, "high": high, "n": len(numbers)}


def stands(turns: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """What challenged proponents of the dialectical debate did, and whether they should have.

    Parameters
    ----------
    turns : table `turns`. Debates that broke off are left out, and so are replies that had to be repaired.
    items : with documents.

    Returns
    -------
    DataFrame : `item_id, question_id`, `document_id`, `kind` of the document, `held` and `answer` (missing: none),
        `state` (defend, revise, concede), `held_right` (the answer held was a gold one).
    """
    by_id = {item.item_id: item for item in items}
    debates = turns[(turns["method"] == "dialectical") & turns["item_id"].isin(by_id)]
    whole = debates[debates["item_id"].isin(debates.loc[debates["role"] == Role.JUDGE, "item_id"])]
    said = whole[(whole["role"] == Role.PROPONENT) & (whole["round"] > 0)]
    rows = []
    for turn in said.drop_duplicates(["item_id", "speaker"], keep="last").itertuples():
        item, state = by_id[turn.item_id], _STATE.search(turn.text)
        if state is None:
            continue
        held = turn.stance if isinstance(turn.stance, str) else None
        kinds = {document.document_id: document.kind for document in item.documents}
        rows.append(
            {
                "item_id": item.item_id,
                "question_id": item.question_id,
                "document_id": turn.speaker,
                "kind": kinds.get(turn.speaker),
                "held": held,
                "answer": turn.stated_answer if isinstance(turn.stated_answer, str) else None,
                "state": state[1],
                "held_right": held is not None and any(same_answer(held, gold, item) for gold in item.gold_answers),
            }
        )
    columns = ["item_id", "question_id", "document_id", "kind", "held", "answer", "state", "held_right"]
    return pd.DataFrame(rows, columns=columns)


def stand_counts(found: pd.DataFrame) -> pd.DataFrame:
    """From `stands`: how many challenged proponents who were right, or wrong, defended, revised and conceded."""
    counts: Mapping[tuple[bool, str], int] = found.groupby(["held_right", "state"]).size().to_dict()
    states = ("defend", "revise", "concede")
    return pd.DataFrame(
        [
            {"held": "right" if right else "wrong"} | {state: counts.get((right, state), 0) for state in states}
            for right in (True, False)
        ]
    ).assign(n=lambda table: table[list(states)].sum(axis=1))


# -- what sources said about items: votes from the turns of a run, and their reliability beside the truth


def votes_of(items: Iterable[Item], turns: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[str], list[str]]:
    """Item ids, sources and answers of what agents said about single documents.

    Parameters
    ----------
    items : with their documents, whose `source` is the voter.
    turns : `item_id`, `speaker` (a document's id) and `stated_answer` of each; without an answer there is no vote.
    """
    by_id = {item.item_id: item for item in items}
    sources = {
        (item.item_id, document.document_id): document.source for item in by_id.values() for document in item.documents
    }
    votes: tuple[list[str], list[str], list[str]] = ([], [], [])
    told: dict[str, list[str]] = {}
    for turn in turns:
        item_id, speaker, value = turn["item_id"], turn["speaker"], turn["stated_answer"]
        if value is None or value != value or (item_id, speaker) not in sources:
            continue
        known = told.setdefault(item_id, [])
        answer = next(
            (each for each in known if same_answer(each, value, by_id[item_id])), value
        )  # spellings of one answer
        known.append(answer)
        for column, entry in zip(votes, (item_id, sources[item_id, speaker], answer), strict=True):
            column.append(entry)
    return votes


def asserted(items: Iterable[Item]) -> list[dict[str, Any]]:
    """The turns of a reader who never misreads: what each document is known to assert, for `votes_of`."""
    return [
        {"item_id": item.item_id, "speaker": document.document_id, "stated_answer": document.answer or None}
        for item in items
        for document in item.documents
    ]


def same_answer(one: str, other: str, item: Item) -> bool:
    """Whether two answers to the question are one: equal, or both of them spellings of the gold answer."""
    if equal(one, other, item.answer_type, item.unit):
        return True
    golds = item.gold_answer, item.answer_type, item.unit, item.aliases
    return bool(item.aliases) and equal(one, *golds) and equal(other, *golds)


def sources_as_read(items: Sequence[Item], turns: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The sources of the items' documents: estimated from what was read in them, beside the truth.

    Parameters
    ----------
    items, turns : as `votes_of` takes them.

    Returns
    -------
    DataFrame : the columns of `SourceReliability.table`; `perfect_reader`, the reliability that a reader who never
        misreads would estimate; `accuracy`, the share of the source's documents that are correct, of those that are
        known to be correct or to mislead. Least accurate first. Empty where no document names its source.
    """
    read = source_reliability(*votes_of(items, turns)).table.set_index("source")
    perfect = source_reliability(*votes_of(items, asserted(items))).table.set_index("source")["reliability"]
    kinds: dict[str, list[bool]] = {}
    for document in (document for item in items for document in item.documents):
        if document.source and document.kind in (DocumentKind.CORRECT, DocumentKind.MISINFO):
            kinds.setdefault(document.source, []).append(document.kind is DocumentKind.CORRECT)
    accuracy = pd.Series({source: float(np.mean(right)) for source, right in kinds.items()}, dtype=float)
    table = read.assign(perfect_reader=perfect.reindex(read.index), accuracy=accuracy.reindex(read.index))
    return table.sort_values("accuracy", kind="stable").reset_index(names="source")
