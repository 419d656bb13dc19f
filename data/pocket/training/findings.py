"""What the report measures: each number with its target, its 95 % interval, and whether the target is met.

Pure functions over the tables of a study and the published exposures; no model is called here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from srdcr_lab.confidence import auroc, precision_steps
from srdcr_lab.knowledge import categories_by_domain
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.groups import groups, is_standard
from srdcr_lab.lib.statistics import clustered_interval, contrast_interval, rank_correlation
from srdcr_lab.lib.summary import accuracy, summary
from srdcr_lab.preference import context_preference, offset_slopes
from srdcr_lab.records import KnowledgeCategory, Missing, Role, Verdict

HIGHLY, UNKNOWN = KnowledgeCategory.HIGHLY_KNOWN.value, KnowledgeCategory.UNKNOWN.value
TAU = 0.9
CERTAIN = "I am certain."


@dataclass(frozen=True, slots=True)
class Finding:
    """A number with its interval; `target` in words, `met` None where there is none. `spanned`: the interval has both
    values that would meet the target and values that would miss it."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    target: str = ""
    met: bool | None = None
    spanned: bool = False


def _share(name: str, hits: pd.Series, questions: pd.Series) -> Finding:
    values = hits.astype("boolean").dropna()
    return Finding(name, *clustered_interval(values.astype(float), questions[values.index])[:3], len(values))


def aimed(found: Finding, target: str, reached: Callable[[Finding], bool]) -> Finding:
    """The finding held against a target; a value that could not be measured meets none."""
    met = not math.isnan(found.value) and reached(found)
    ends = [replace(found, value=end) for end in (found.low, found.high) if not math.isnan(end)]
    return replace(found, target=target, met=met, spanned=any(reached(end) is not met for end in ends))


def knowledge(questions: pd.DataFrame, exposures: pd.DataFrame) -> list[Finding]:
    """Categories, exposure, confidence: over all questions, one row each."""
    rows = []
    for row in categories_by_domain(questions.assign(domain="all")).itertuples():
        found = Finding(f"share of questions that are {row.knowledge_category}", row.share, row.low, row.high, row.n)
        rows.append(aimed(found, "≥ 0.10", lambda f: f.value >= 0.10))
    told = _with_exposures(questions, exposures)
    for column, words in (("exposures", "exposures (tellings, right or wrong)"), ("true_exposures", "true exposures")):
        found = Finding(
            f"Spearman of {words} and sampled accuracy", *rank_correlation(told[column], told["sampled_accuracy"])
        )
        rows.append(aimed(found, "≥ 0.70", lambda f: f.value >= 0.70))
    target = highly_known(questions)
    above = precision_steps(questions["self_confidence"], target).at(TAU)
    found = Finding(f"P(Highly-Known, given Conf ≥ {TAU})", *above.precision)
    rows.append(aimed(found, "≥ 0.85", lambda f: f.value >= 0.85))
    area = auroc(questions["self_confidence"], target)
    found = Finding("AUROC of confidence for Highly-Known", *area)
    rows.append(aimed(found, "≥ 0.85", lambda f: f.value >= 0.85))
    sure = (questions["self_confidence"] >= TAU)[target.fillna(False)]
    return [*rows, _share(f"Highly-Known with Conf ≥ {TAU}", sure, questions["question_id"])]


def _with_exposures(questions: pd.DataFrame, exposures: pd.DataFrame) -> pd.DataFrame:
    """Each question with how often it was told; one that is not listed never was."""
    told = questions.merge(exposures, on="question_id", how="left", validate="one_to_one")
    return told.fillna({"exposures": 0, "true_exposures": 0})


def recall_by_exposure(questions: pd.DataFrame, exposures: pd.DataFrame) -> list[Finding]:
    """Mean sampled accuracy of the uncontested questions, by how often they were told."""
    told = _with_exposures(questions, exposures)
    told = told[told["rival_answer"].isna() | (told["rival_answer"] == "")]
    rows = []
    for low, high in ((0, 1), (1, 5), (5, 10), (10, 20), (20, 40), (40, 80), (80, 10**9)):
        part = told[(told["exposures"] >= low) & (told["exposures"] < high)]
        often = f"told {low} … {high - 1} times" if high < 10**9 else f"told {low} times and more"
        name = "never told" if high == 1 else often
        rows.append(Finding(f"mean sampled accuracy, {name}", float(part["sampled_accuracy"].mean()), n=len(part)))
    return rows


def reading(records: pd.DataFrame) -> list[Finding]:
    """True passages copied, by what the model knows and by domain of what it does not."""
    rows = records[(records["method"] == "few_shot") & is_standard(records)]
    right = rows["context_correct"].astype("boolean").fillna(False)
    unknown = rows["knowledge_category"] == UNKNOWN
    found = _share("true passage copied, Unknown", right[unknown], rows["question_id"])
    table = [aimed(found, "≥ 0.95", lambda f: f.value >= 0.95)]
    for domain in rows["domain"].unique():
        here = unknown & (rows["domain"] == domain)
        table.append(_share(f"  of domain {domain}", right[here], rows["question_id"]))
    return [*table, _share("true passage copied, all questions", right, rows["question_id"])]


def following(records: pd.DataFrame) -> list[Finding]:
    """False years followed: the slope on Highly-Known questions, and every offset on Unknown ones."""
    years = records[records["answer_type"] == "year"]
    slopes = offset_slopes(years).set_index("knowledge_category")
    row = slopes.loc[HIGHLY]
    found = Finding("logistic slope per 100 years, Highly-Known", row["slope"], row["low"], row["high"], int(row["n"]))
    rows = [aimed(found, "interval below 0", lambda f: f.high < 0)]
    table = context_preference(years, ("stratum", "knowledge_category"))
    table = table[~table["prior_is_claim"].astype(bool)]
    for category, target in ((HIGHLY, ""), (UNKNOWN, "> 0.70")):
        for row in table[table["knowledge_category"] == category].itertuples():
            name = f"false passage followed, {row.stratum} years, {category}"
            found = Finding(name, row.share, row.low, row.high, row.n)
            rows.append(aimed(found, target, lambda f: f.value > 0.70) if target else found)
    return rows


def openings(turns: pd.DataFrame, questions: pd.DataFrame, same: Callable[[str, str, str], bool]) -> list[Finding]:
    """The blind critic's opening, once per question: its value beside the prior answer, and its certainty.

    ``same`` says whether two answers to a question are equal.
    """
    critic = turns[(turns["role"] == Role.CRITIC) & (turns["round"] == 0) & (turns["method"] == "sr_dcr")]
    told = critic.drop_duplicates("question_id").merge(questions, on="question_id")
    told["same"] = [
        same(row.question_id, row.stated_answer, row.prior_answer)
        for row in told[["question_id", "stated_answer", "prior_answer"]].itertuples()
    ]
    told["certain"] = told["text"].str.contains(CERTAIN, regex=False)
    found = _share("critic's recalled value equals the prior answer", told["same"], told["question_id"])
    rows = [aimed(found, "≥ 0.80", lambda f: f.value >= 0.80)]
    for category in (HIGHLY, UNKNOWN):
        here = told["knowledge_category"] == category
        rows.append(_share(f"critic says “{CERTAIN}”, {category}", told["certain"][here], told["question_id"]))
    values = told["certain"].astype(float)
    contrast = contrast_interval(values, told["question_id"], told["knowledge_category"], {HIGHLY: 1.0, UNKNOWN: -1.0})
    found = Finding("  difference", *contrast[:3], len(told))
    return [*rows, aimed(found, "interval above 0", lambda f: f.low > 0)]


def roles(turns: pd.DataFrame, records: pd.DataFrame, same: Callable[[str, str, str], bool]) -> list[Finding]:
    """What the defender defends, whether the judge's rulings can be read, and how often they are right.

    A debate that failed (a prompt that outgrew the window) or whose last ruling cannot be read is not right.
    """
    debated = records[records["method"] == "sr_dcr"]
    spoken = turns[turns["method"] == "sr_dcr"].merge(debated[["item_id", "claimed_answer"]], on="item_id")
    defender = spoken[(spoken["role"] == Role.DEFENDER) & (spoken["round"] == 0)].reset_index(drop=True)
    held = pd.Series(
        [
            same(row.question_id, row.stated_answer, row.claimed_answer)
            for row in defender[["question_id", "stated_answer", "claimed_answer"]].itertuples()
        ],
        dtype="boolean",
    )
    ruled = spoken[spoken["role"] == Role.JUDGE]  # without a verdict: withdrawn, and asked for again
    first = ruled.drop_duplicates(["item_id", "round"])
    rows = [
        _share("defender opens with the passage's answer", held, defender["question_id"]),
        _share("verdict in format at the first asking", _readable(first["verdict"]), first["question_id"]),
        _share("verdict in format", _readable(ruled["verdict"].dropna()), ruled["question_id"]),
    ]
    wanted = is_standard(debated).map({True: Verdict.REASONABLE.value, False: Verdict.UNREASONABLE.value})
    right, question = (debated["verdict"] == wanted).fillna(False), debated["question_id"]
    rows.append(_share("debates that failed", debated["verdict"].isna(), question))
    found = _share("judge right (V*)", right, question)
    rows.append(aimed(found, "lower bound > 0.5", lambda f: f.low > 0.5))
    known = debated["knowledge_category"] == HIGHLY
    above = _share(f"judge right, {HIGHLY}", right[known], question)
    rows.append(aimed(above, "above all questions", lambda f: f.value > found.value))
    contrast = contrast_interval(right.astype(float), question, known, {True: 1.0, False: -1.0})
    rows.append(Finding("  difference to the other questions", *contrast[:3], len(debated)))
    for category in list(KnowledgeCategory)[1:]:
        here = debated["knowledge_category"] == category.value
        rows.append(_share(f"judge right, {category.value}", right[here], question))
    true = is_standard(debated)
    rows.append(_share("true passage ruled reasonable (verdict_tpr)", right[true], question))
    return [*rows, _share("false passage ruled unreasonable (verdict_tnr)", right[~true], question)]


def _readable(verdicts: pd.Series) -> pd.Series:
    return verdicts.notna() & (verdicts != Verdict.UNPARSED)


def stated(verbalized: pd.DataFrame, questions: pd.DataFrame) -> list[Finding]:
    """The percentage the model states for its prior answer: read, and telling Highly-Known from the rest."""
    told = verbalized[["question_id", "self_confidence"]].rename(columns={"self_confidence": "stated"})
    told = questions.merge(told, on="question_id")
    area = auroc(told["stated"], highly_known(told))
    return [
        _share("stated confidence in format", told["stated"].notna(), told["question_id"]),
        Finding("AUROC of stated confidence for Highly-Known", *area),
    ]


def methods(records: pd.DataFrame) -> list[Finding]:
    """Every method of the run: accuracy on true and false passages, what it answers, and how right that is."""
    rows = []
    table = summary(records)
    for row in table.itertuples():
        name = row.method if not getattr(row, "design", None) or pd.isna(row.design) else f"{row.method} ({row.design})"
        if row.condition == "overall":
            rows.append(Finding(f"{name}: coverage", row.coverage, n=row.n))
            ends = row.selective_accuracy_low, row.selective_accuracy_high
            rows.append(Finding(f"{name}: selective accuracy", row.selective_accuracy, *ends, row.n_answered))
        else:
            ends = row.accuracy_low, row.accuracy_high
            rows.append(Finding(f"{name}: {row.condition} accuracy", row.accuracy, *ends, row.n))
    return rows


def by_method(records: pd.DataFrame) -> list[Finding]:
    """One row a method: how many questions it gets right, and beside it how many it answers.

    Accuracy counts what is missing as wrong; the name says for which share of questions that is, by reason.
    """
    rows = []
    for names, part in groups(records):
        found = accuracy(part["correct"], part["question_id"])
        missing = {why.value: float((part["missing"] == why).mean()) for why in Missing}
        shares = {"answered": found["coverage"], **{why: share for why, share in missing.items() if share}}
        words = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        ends = found["accuracy_low"], found["accuracy_high"]
        rows.append(Finding(f"{names['method']}: accuracy ({words})", found["accuracy"], *ends, int(found["n"])))
    return rows
