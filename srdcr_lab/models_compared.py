"""Notebook 09: several models side by side, what each run has, and which differences can be told. Ours.

Models are compared in pairs, on the items that both were asked; the independent units are the questions. Wherever these
tables name a `model`, it is the name that `names_apart` gives a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import combinations

import pandas as pd

from srdcr_lab.answers.token_confidence import NEED_LOGPROBS
from srdcr_lab.lib.comparison import Comparison, compare_pairs, outcome, side_by_side
from srdcr_lab.lib.groups import debates, groups, is_standard, of_one_kind
from srdcr_lab.lib.statistics import holm
from srdcr_lab.preference import perturbed_answers
from srdcr_lab.records.names import called, model_called

_QUESTION = ["question", "gold_answer"]  # question_ids of two tables may be the same by chance
_ITEM = ["item_id", *_QUESTION, "claimed_answer"]
RIGHT_OF = ("few_shot", "sr_dcr")  # methods whose answers are compared between models


def names_apart(models: Sequence[str], runs: Sequence[str]) -> list[str]:
    """A name for each run: what its model is called; with the run's, or else a number, where several would have the
    same.

    >>> names_apart(["pocket", "pocket", "hf:m (dtype bfloat16)"], ["new", "old", "study"])
    ['pocket (new)', 'pocket (old)', 'm']
    """
    short = [model_called(model) for model in models]
    both = zip(short, runs, strict=True)
    names = [f"{model} ({run})" if short.count(model) > 1 else model for model, run in both]
    return [f"{name} {names[:i].count(name) + 1}" if names.count(name) > 1 else name for i, name in enumerate(names)]


def what_runs_have(records: pd.DataFrame) -> pd.DataFrame:
    """One row a model: `n_items`, `n_questions`, `n_shared` of these that another model was asked too, `methods`,
    `confidence_kind`, and `lacks`, what its run does not have of what models are compared by."""
    rows = []
    asked = records.drop_duplicates(["model", *_QUESTION])
    shared = asked[asked.duplicated(_QUESTION, keep=False)]
    for names, part in groups(records, ("model",)):
        n_shared = int((shared["model"] == names["model"]).sum())
        false = part[~is_standard(part)].drop_duplicates("item_id")
        kind = ", ".join(of_one_kind(part)["confidence_kind"].dropna().unique())
        there = {
            "few-shot answers (its context answers stand in)": (part["method"] == "few_shot").any(),
            "knowledge draws (so no categories)": part["knowledge_category"].notna().any(),
            "confidence": kind,
            f"log-probabilities (its confidence is {kind})": not kind or kind in NEED_LOGPROBS,
            "true passages": is_standard(part).any(),
            "false passages": len(false) > 0,
            "second false passage of any question (its preference at each offset is of other questions)": (
                false["question_id"].duplicated().any()
            ),
            "debates with verdicts": part["verdict"].notna().any(),
            "final answers of SR-DCR": (part["method"] == "sr_dcr").any(),
            "question that another run has (nothing is paired)": n_shared > 0,
        }
        rows.append(
            names
            | {
                "n_items": part["item_id"].nunique(),
                "n_questions": part["question_id"].nunique(),
                "n_shared": n_shared,
                "methods": ", ".join(map(called, part["method"].unique())),
                "confidence_kind": kind,
                "lacks": ", ".join(f"no {what}" for what, is_there in there.items() if not is_there),
            }
        )
    return pd.DataFrame(rows)


def compare_models(
    records: pd.DataFrame, methods: Sequence[str] = RIGHT_OF, *, questions: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Each two models, A and B, by each `quantity`: the fields of `Comparison`, A less B, on what both have.

    What is compared: whether the prior answer of a question is right; whether the few-shot answer to a false passage is
    its claim, where it was read and neither model had that answer before; whether the verdict of a debate is right; and
    whether the answers of `methods` are. `questions` (as `Results.questions`, with a column `model`) may have more
    prior answers than the records. Missing answers and unread verdicts are wrong; the last two weigh true and
    false passages alike. An item is the same where id, question, gold answer and claim are. `p_holm` is over the whole
    table; a pair without a common item has n = 0. `BadInput` where a model has several designs of one method.
    """
    rows = []
    for quantity, of_items, values, macro in _quantities(records.reset_index(drop=True), methods, questions):
        for a, b in combinations(records["model"].unique(), 2):
            pairs = side_by_side(of_items, a, b, values, column="model")
            name = {"quantity": quantity, "name": f"{a} less {b}", "a": a, "b": b}
            rows.append(name | asdict(compare_pairs(pairs, macro=macro)))
    columns = ["quantity", "name", "a", "b", *(field.name for field in fields(Comparison))]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=holm(table["p_value"]))


def _quantities(
    records: pd.DataFrame, methods: Sequence[str], questions: pd.DataFrame | None
) -> Iterator[tuple[str, pd.DataFrame, pd.Series, bool]]:
    """Name, rows keyed as `_ITEM`, the value of each, and whether both halves weigh the same."""
    of_models = [part for _, part in groups(records, ("model",))]
    questions = (records if questions is None else questions).drop_duplicates(["model", *_QUESTION], ignore_index=True)
    right = questions["prior_correct"].astype("boolean").fillna(False).astype(float)
    yield "prior answers right", _keyed(questions.assign(level=""), _QUESTION), right, False
    false = pd.concat(map(perturbed_answers, of_models), ignore_index=True)
    follows = false["follows_claim"].astype("Float64").astype(float)
    yield "false passages followed", _keyed(false), follows.where(~false["prior_is_claim"]), False
    held = pd.concat(map(debates, of_models), ignore_index=True)
    yield "verdicts right", _keyed(held), outcome(held, "verdict_right"), True
    for method in methods:
        own = records[records["method"] == method]
        yield f"{called(method)} answers right", _keyed(own), outcome(own, "correct"), True


def _keyed(rows: pd.DataFrame, keys: Sequence[str] = _ITEM) -> pd.DataFrame:
    """With ids that two models share only where these columns agree."""

    def joined(first: str, *others: str) -> pd.Series:
        return rows[first].astype("string").str.cat(rows[list(others)].astype("string"), sep="\n", na_rep="")

    return rows.assign(item_id=joined(*keys), question_id=joined(*_QUESTION))
