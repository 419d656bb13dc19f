"""The tables that findings are about and no other measure makes: each takes what a study has, and returns rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import pandas as pd

from srdcr_lab import evidence
from srdcr_lab.answers import same_answer
from srdcr_lab.confidence import PrecisionSteps
from srdcr_lab.lib.comparison import condition_rows, outcome
from srdcr_lab.lib.definitions import categorise
from srdcr_lab.lib.groups import DESIGN_KEYS, debates, groups, is_standard
from srdcr_lab.lib.statistics import clustered_interval, contrast_interval, macro_mean, mean_interval, shares
from srdcr_lab.lib.summary import CONDITIONS
from srdcr_lab.preference import perturbed_answers
from srdcr_lab.records import Decision, Item, KnowledgeCategory, Missing, Role, Verdict

Rows = list[dict[str, Any]]


def rows_with(table: pd.DataFrame, column: str, *values: str) -> pd.DataFrame:
    """Share of the rows that have one of these values, of those that have any."""
    hits = table[column].astype(str).isin(values).astype("boolean")
    return shares(table, hits.mask(table[column].isna()))


def within_category(questions: pd.DataFrame) -> pd.DataFrame:
    low, high = (categorise(questions[f"accuracy_{end}"]).clip(max=2) for end in ("low", "high"))
    within = pd.Series(low == high, questions.index, "boolean")
    return shares(questions, within.mask(questions["sampled_accuracy"].isna()))


def redrawn(questions: pd.DataFrame) -> dict[str, float]:
    known = questions.dropna(subset="redraw_stability")
    return mean_of(known["redraw_stability"], known["question_id"])


def mean_of(values: pd.Series, clusters: pd.Series) -> dict[str, float]:
    low, high = mean_interval(values, clusters)
    return {"value": values.mean(), "low": low, "high": high, "n": len(values)}


def at_papers_tau(steps: PrecisionSteps | Mapping[str, PrecisionSteps]) -> Rows:
    """What the paper reports of P(Highly-Known | Conf ≥ τ) [4.2]; of one model, or of several by their names."""
    return [
        {"model": model, "reported": reported} | asdict(each.at(tau))
        for model, each in (steps.items() if isinstance(steps, Mapping) else [("", steps)])
        for tau, reported in ((0.90, 0.88), (0.95, 0.95))
    ]


def risk_above(steps: PrecisionSteps, tau: float) -> dict[str, float]:
    above = steps.at(tau)
    return {"risk": above.risk, "low": 1 - above.high, "high": 1 - above.low, "n": above.n_above}


def each(a: str, b: str, name: str, values: Iterable[str], measured: Callable[[str], evidence.Evidence]) -> Rows:
    """The evidence on A against B for each of the values that has any."""
    rows = []
    for value in values:
        with suppress(evidence.NoEvidence):
            rows.append({"a": a, "b": b, name: value} | asdict(measured(value)))
    return rows


def leads(records: pd.DataFrame, denominator: str = "all", a: str = "sr_dcr", b: str = "few_shot") -> Rows:
    """Accuracy of A less that of B on true and on false passages, and the mean of the two; of ``all`` or ``answered``
    items."""
    of = evidence.Denominator(f"{denominator} items")
    return each(a, b, "condition", CONDITIONS, lambda condition: evidence.difference(records, a, b, condition, of))


def bias_change(records: pd.DataFrame, a: str = "sr_dcr", b: str = "few_shot") -> Rows:
    return each(a, b, "bias", ("context", "prior"), lambda bias: evidence.bias_contrast(records, a, b, 1.0, bias))


def dearer(records: pd.DataFrame, a: str = "sr_dcr") -> Rows:
    rivals = [b for b in records["method"].unique() if b != a]
    return each(a, "", "b", rivals, lambda b: evidence.more_calls(records, a, b))


def judged(records: pd.DataFrame) -> Rows:
    """Share of right verdicts of each design by condition, overall the mean of the two halves; UNPARSED is wrong."""
    rows = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        for condition in CONDITIONS:
            held = condition_rows(part, condition)
            right, halves = outcome(held, "verdict_right"), is_standard(held)
            low, high = clustered_interval(right, held["question_id"], halves)
            ends = {"share": macro_mean(right, halves), "low": low, "high": high}
            sizes = {"n": len(held), "n_questions": held["question_id"].nunique()}
            rows.append(names | {"condition": condition} | ends | sizes)
    return rows


def decided(records: pd.DataFrame) -> pd.DataFrame:
    """Share of right answers of each decision of SR-DCR that answers, on true and on false passages."""
    rows = records[records["method"] == "sr_dcr"]
    rows = rows.assign(condition=is_standard(rows).map({True: "standard", False: "perturbed"}))
    cells = {"decision": [Decision.USE_CONTEXT, Decision.USE_PRIOR], "condition": CONDITIONS[:2]}
    return shares(rows, rows["correct"].astype("boolean"), cells)


def held_back(records: pd.DataFrame, tau: float) -> pd.DataFrame:
    """Share of right prior answers that SR-DCR does not give: the Judge rejected the passage, and Conf < τ."""
    rows = records[(records["method"] == "sr_dcr") & (records["verdict"] == Verdict.UNREASONABLE)]
    rows = rows[~(rows["self_confidence"].astype(float) >= tau)]
    return shares(rows, rows["prior_correct"].astype("boolean").fillna(False))


def repeated(turns: pd.DataFrame) -> pd.DataFrame:
    """Of each model and role, the share of turns after a speaker's first that say, word for word, an earlier one."""
    ordered = turns.sort_values("position", kind="stable")
    who = ["model", "item_id", "method", "design", "role", "speaker"]
    later = ordered.assign(again=ordered.duplicated([*who, "text"]))[ordered.duplicated(who)]
    return shares(later, later["again"], {name: later[name].unique() for name in ("model", "role")})


def keeps(stated: Any, stance: Any, item: Item) -> bool | None:
    """Whether a turn states the answer that it was given; None where it was given none, or one that cannot be read."""
    told = None if pd.isna(stance) else stance
    return same_answer(None if pd.isna(stated) else stated, told, item) if same_answer(told, told, item) else None


def kept_side(turns: pd.DataFrame, items: Mapping[str, Item]) -> pd.DataFrame:
    """Of each model, design and role, the share of turns of debaters that `keep` to the answer they were given."""
    spoken = turns[turns["role"].isin([Role.DEFENDER, Role.CRITIC])]
    sides = zip(spoken["stated_answer"], spoken["stance"], spoken["item_id"].map(items), strict=True)
    kept = pd.Series(pd.array([keeps(*side) for side in sides], "boolean"), spoken.index)
    return shares(spoken, kept, {name: spoken[name].unique() for name in ("model", "design", "role")})


def follow_known(records: pd.DataFrame) -> Rows:
    """Context preference of few-shot answers to false passages about Highly-Known questions, less that about Unknown
    ones; n counts the questions of the side with fewer."""
    answers = perturbed_answers(records, "few_shot")
    answers = answers[~answers["prior_is_claim"] & answers["follows_claim"].notna()]
    category = answers["knowledge_category"].astype(str)
    here = category.isin([KnowledgeCategory.HIGHLY_KNOWN, KnowledgeCategory.UNKNOWN])
    answers, category = answers[here], category[here]
    weights = {KnowledgeCategory.HIGHLY_KNOWN.value: 1.0, KnowledgeCategory.UNKNOWN.value: -1.0}
    n = min(answers.loc[category == name, "question_id"].nunique() for name in weights)
    if not n:
        raise evidence.NoEvidence("one of the two has no false passage")
    follows, questions = answers["follows_claim"].astype(float), answers["question_id"]
    ends = contrast_interval(follows, questions, category, weights, bounds=(0.0, 1.0))
    about = "questions about years" if (answers["answer_type"] == "year").all() else ""
    return [dict(zip(("difference", "low", "high"), ends, strict=True)) | {"n": n, "about": about}]


def gave_way(stands: pd.DataFrame) -> pd.DataFrame:
    """Of `documents.stands`: how often proponents who were right, or wrong, revised or conceded."""
    return shares(stands, stands["state"] != "defend", {"held_right": [True, False]}).assign(held=["right", "wrong"])


def misled(outcomes: pd.DataFrame) -> Rows:
    """Of `documents.answer_outcomes`: each method's matches where most documents mislead, less those elsewhere."""
    rows = []
    for method, part in outcomes.dropna(subset="share_misinforming").groupby("method", sort=False):
        most, matched = part["share_misinforming"] > 0.5, part["exact_match"].astype(float)
        ends = contrast_interval(matched, part["question_id"], most, {True: 1.0, False: -1.0}, bounds=(0.0, 1.0))
        found = dict(zip(("difference", "low", "high"), ends, strict=True))
        rows.append({"method": method, **found, "n": min(int(most.sum()), int((~most).sum()))})
    return rows


def spared(records: pd.DataFrame, turns: pd.DataFrame, method: str = "cfmad_when_unsure") -> pd.DataFrame:
    """Share of the items that this method answers without a debate: nobody defends a preset stance."""
    rows = records[records["method"] == method]
    debated = turns.loc[(turns["method"] == method) & turns["stance"].notna(), "item_id"]
    return shares(
        rows, (~rows["item_id"].isin(debated)).astype("boolean").where(rows["missing"].fillna("") != Missing.ERROR)
    )


def promised(guarantee: Any) -> Rows:
    """Risk of the rule that a `FinalAnswerGuarantee` chose, on the questions that chose it."""
    if guarantee.rule_ is None:
        raise evidence.NoEvidence("no rule passes the test")
    ends = dict(zip(("risk", "low", "high"), guarantee.risk_, strict=True))
    passed = guarantee.tests_[guarantee.tests_["accepted"]]
    n = int(passed["n_answered"][passed["coverage"].idxmax()])
    return [ends | {"n": n, "n_questions": guarantee.sizes_["n_questions"]}]


def recovered(recovery: pd.DataFrame) -> Rows:
    """The mean over the seeds of each world's rank correlation."""
    worlds = recovery.dropna(subset="rank_correlation").groupby("world", sort=False)
    return [{"world": world} | mean_of(part["rank_correlation"], part["seed"]) for world, part in worlds]


TABLES = {
    measure.__name__: measure
    for measure in (
        *(rows_with, within_category, redrawn, at_papers_tau, risk_above, leads, bias_change, dearer, judged, decided),
        *(held_back, repeated, kept_side, follow_known, gave_way, misled, spared, promised, recovered),
    )
}
