"""Chapter 05b: what final answers are worth, and a judge that is trained on debates.

Utility per item, accuracy of the surest answers, predictive values of the verdict; last, the paper's open question 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from srdcr_lab.answers import normalise
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.evaluation import changes_at, in_order, of_acvd
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import Comparison, compare_pairs, outcome, side_by_side
from srdcr_lab.lib.groups import (
    DESIGN_KEYS,
    GOLDEN,
    RATES,
    RULINGS,
    answers_equal,
    debates,
    groups,
    is_standard,
    stack,
    with_matches,
)
from srdcr_lab.lib.page import Html, render, shown
from srdcr_lab.lib.sentences import answer_box, sentences
from srdcr_lab.lib.statistics import contrast_interval, holm, ratio_interval, with_interval
from srdcr_lab.records import AnswerType, BadInput, Role, Verdict
from srdcr_lab.records.names import called
from srdcr_lab.tuner import COSTS

if TYPE_CHECKING:
    from srdcr_lab.study import Results

COVERAGES = tuple(round(0.05 * step, 2) for step in range(1, 20))
SHARES = tuple(round(share, 1) for share in np.linspace(0, 1, 11))
_FINE = tuple(percent / 100 for percent in range(101))  # shares at which two methods are asked whether they differ
Ends: TypeAlias = tuple[float, float, float]  # a value, and its 95 % interval


def answer(results: Results) -> Html:
    """The answer box of notebook 05b: what an item is worth with SR-DCR, its answers at matched coverage, and whether
    a trained Judge rules better than the prompted one."""
    records = of_acvd(results, "few_shot", "confidence_only", "sr_dcr")
    rivals = ["few_shot", "confidence_only"]
    worth = pd.concat([utility_differences(records, "sr_dcr", b, false_shares=(0.5,)) for b in rivals])
    matched = matched_coverage(records)
    return answer_box(
        sentences("where a wrong answer costs 1, utility per item is higher with SR-DCR",
                  worth, "difference", by=["b"], before="than with", n="n_questions"),
        sentences("at equal coverage SR-DCR is right more often",
                  matched[matched["b"].isin(rivals)], "difference", by=["b"], before="than", n="n_questions"),
        trained_sentence(results),
        label=results.label,
    )  # fmt: skip


def trained_sentence(results: Results) -> str:
    """Whether a trained Judge has more right verdicts than the prompted one; why not, where none can be trained."""
    try:
        judge = _trained(results)
    except BadInput as reason:
        return f"No Judge was trained: {reason}."
    compared = asdict(judge.comparison)
    return sentences(
        "a trained Judge has more right verdicts than the prompted one", compared, "difference", n="n_questions"
    )


def trained_tables(results: Results) -> Html:
    """The rates of the trained and of the prompted Judge, and what weighs most; why not, where none can be trained."""
    try:
        judge = _trained(results)
    except BadInput as reason:
        return render("parts", "paragraphs", lines=[f"No Judge was trained: {reason}."])
    caption = "What weighs most; a positive weight speaks for Reasonable"
    return Html(shown(judge.rates, results.label) + shown(judge.strongest(), caption))


def _trained(results: Results) -> TrainedJudge:
    records = of_acvd(results, "sr_dcr")
    return train_judge(records[records["method"] == "sr_dcr"], results.turns)


@dataclass(frozen=True)
class FinalAnswers:
    """The answers of one method as arrays, a value per item: right (1), wrong (0) or missing (NaN), its question,
    whether its passage is true, and how far the answer is believed (NaN: not known, which is least)."""

    right: NDArray[np.float64]
    question: NDArray[np.intp]
    true: NDArray[np.bool_]
    belief: NDArray[np.float64]

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> FinalAnswers:
        """From the rows of one method, maybe with their `beliefs` as a column `belief`."""
        right = records["correct"].astype("Float64").to_numpy(float, na_value=np.nan)
        belief = records["belief"].to_numpy(float) if "belief" in records else np.full(len(records), np.nan)
        return cls(right, pd.factorize(records["question_id"])[0], is_standard(records).to_numpy(bool), belief)

    @property
    def n_without_belief(self) -> int:
        """Answers of which nothing says how far they are believed."""
        return int((~np.isnan(self.right) & np.isnan(self.belief)).sum())

    def worth(self, cost: float) -> NDArray[np.float64]:
        """What each answer is worth: 1, 0 or −`cost`, which is at least 0."""
        if not (math.isfinite(cost) and cost >= 0):
            raise BadInput(f"the cost of a wrong answer is a number of at least 0, got {cost}")
        return np.where(np.isnan(self.right), 0.0, np.where(self.right == 1, 1.0, -cost))

    def mean(self, values: NDArray[np.float64], false_share: float, bounds: tuple[float, float] = (0.0, 1.0)) -> Ends:
        """The mean of a value per item at this share of false passages, with its 95 % interval over questions."""
        return contrast_interval(values, self.question, self.true, half_weights(false_share), bounds=bounds)

    def utility(self, cost: float, false_share: float) -> Ends:
        """Utility at this cost and share of false passages; NaN where a half that it needs was not run."""
        ends = self.mean((self.worth(cost) + cost) / (1 + cost), false_share)
        value, low, high = ((1 + cost) * end - cost for end in ends)
        return value, low, high

    def coverage(self, false_share: float) -> Ends:
        """Share of the items that are answered."""
        return self.mean((~np.isnan(self.right)).astype(float), false_share)

    def selective_accuracy(self, false_share: float) -> Ends:
        """Share of all answers given that are right; a summary's overall row has the mean of the two halves' shares."""
        answered = (~np.isnan(self.right)).astype(float)
        return ratio_interval(np.nan_to_num(self.right), answered, self.question, self.true, half_weights(false_share))

    def with_ends(
        self, value: float, influence: NDArray[np.float64], false_share: float, coverage: float, least: float = 0.0
    ) -> Ends:
        """A value of `surest` in [`least`, 1], or of two of them a difference, with the interval of its influences."""
        if math.isnan(value):
            return math.nan, math.nan, math.nan
        _, low, high = self.mean(value + coverage * influence, false_share, (least, 1.0))
        return value, max(least, value + (low - value) / coverage), min(1.0, value + (high - value) / coverage)

    def surest(self, coverage: float, false_share: float) -> Surest:
        """What is known of the answers believed most, so many that they cover this share of the items.

        Answers that are believed equally are taken in equal parts, which is the expectation over their orders.
        """
        weights = half_weights(false_share)
        sizes = {half: (self.true == half).sum() for half in weights}
        if not all(sizes.values()) or not coverage > 0:
            nothing = np.full(self.right.size, np.nan)
            return Surest(math.nan, math.nan, nothing, nothing)
        weight = np.select([self.true == half for half in weights], [w / sizes[half] for half, w in weights.items()], 0)
        wrong = (self.right == 0).astype(float)
        order = np.where(np.isnan(self.right), np.inf, np.where(np.isnan(self.belief), 1, -self.belief))
        place = np.unique(order, return_inverse=True)[1]
        mass = np.bincount(place, weight * ~np.isnan(self.right))
        end = mass.cumsum()
        start, end = np.minimum(end - mass, coverage), np.minimum(end, coverage)
        taken, mass = end - start, np.where(mass > 0, mass, np.inf)
        rate = np.bincount(place, weight * wrong) / mass
        risk = float(rate @ taken / coverage)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A wrong answer at u adds 1 / v to the risk at each coverage v after u: log(coverage / u) in all.
            last, first = (np.nan_to_num(edge * (1 + np.log(coverage / edge))) for edge in (end, start))
            added = (last - first) / mass
            # An answer more, right or wrong, moves those after it on: each wrong one then adds less.
            after = np.nan_to_num(rate * np.log(end / start), posinf=0.0)
            own = rate * (taken - np.nan_to_num(start * np.log(end / start))) / mass
            moved = own + taken / mass * (after.sum() - after.cumsum())
        right_part = (taken / mass)[place] * (1 - wrong - (1 - risk))
        influence = wrong * added[place] - moved[place]
        area = float((weight * wrong) @ added[place] / coverage)
        return Surest(1 - risk, area, right_part / coverage, (influence - weight @ influence) / coverage)


class Surest(NamedTuple):
    """Accuracy of the surest answers up to a coverage, and AURC, the mean of their risk over all coverages up to it;
    with the influence of each item on either (mean 0), from which intervals are made."""

    accuracy: float
    aurc: float
    on_accuracy: NDArray[np.float64]
    on_aurc: NDArray[np.float64]


def half_weights(false_share: float) -> dict[bool, float]:
    """The weight of true and of false passages; a half without weight is left out."""
    if not 0 <= false_share <= 1:
        raise BadInput(f"a share of false passages lies in [0, 1], got {false_share}")
    return {true: weight for true, weight in ((True, 1 - false_share), (False, false_share)) if weight}


def utility(
    records: pd.DataFrame, costs: Sequence[float] = COSTS, false_shares: Sequence[float] = (0.5,)
) -> pd.DataFrame:
    """Utility of each method (and run, model, design, where there are several) at each cost and share of false items.

    Columns `cost`, `false_share`, `utility`, `low`, `high` (95 %, over questions), `n`, `n_questions`, `n_answered`;
    `coverage` and `selective_accuracy` at this share, with their ends. At no cost, utility is the accuracy. A share
    that needs a half which was not run is NaN.
    """
    tables = []
    for names, rows in groups(records):
        answers = FinalAnswers.from_records(rows)
        answered, questions = int(rows["correct"].notna().sum()), rows["question_id"].nunique()
        found = []
        for share in false_shares:
            shown = with_interval("coverage", *answers.coverage(share))
            shown |= with_interval("selective_accuracy", *answers.selective_accuracy(share))
            for cost in costs:
                value, low, high = answers.utility(cost, share)
                row = {"cost": cost, "false_share": share, "utility": value, "low": low, "high": high}
                found.append(row | {"n": len(rows), "n_questions": questions, "n_answered": answered} | shown)
        tables.append((names, pd.DataFrame(found).sort_values(["cost", "false_share"], kind="stable")))
    return stack(tables)


def utility_differences(
    records: pd.DataFrame, a: str, b: str, costs: Sequence[float] = (1.0,), false_shares: Sequence[float] = SHARES
) -> pd.DataFrame:
    """Utility of method A less that of B on the items both have: columns as in `utility`, of one model, run and design.

    `changes_at`: the share of false passages at which the two change places at this cost; NaN where they do not. Each
    item counts, answered or not; all is NaN where one of the two never answers.
    """
    worth = FinalAnswers.from_records(records).worth
    both_answer = {a, b} <= set(records.loc[records["correct"].notna(), "method"])
    tables = []
    for cost in costs:
        both = side_by_side(records, a, b, pd.Series(worth(cost), records.index))
        gap, true, bounds = both["a"] - both["b"], is_standard(both), (-1 - cost, 1 + cost)
        rows = [
            (cost, share, *contrast_interval(gap, both["question_id"], true, half_weights(share), bounds=bounds))
            for share in false_shares
        ]
        means = gap.groupby(true).mean()
        change = changes_at(means.get(True, math.nan), means.get(False, math.nan))
        table = pd.DataFrame(rows, columns=["cost", "false_share", "difference", "low", "high"])
        table = table.assign(n=len(both), n_questions=both["question_id"].nunique(), changes_at=change)
        if not both_answer:
            table[["difference", "low", "high", "changes_at"]] = math.nan
        tables.append(({"a": a, "b": b}, table))
    return stack(tables)


def at_shares(table: pd.DataFrame) -> pd.DataFrame:
    """`utility` at no cost, longer: accuracy, accuracy of answers and coverage as rows (`of`), each as a `share`."""
    table = table.rename(columns={"utility": "accuracy", "low": "accuracy_low", "high": "accuracy_high"})
    words = {"accuracy": "accuracy", "selective_accuracy": "accuracy of answers", "coverage": "coverage"}
    parts = []
    for name, of in words.items():
        columns = {f"share{end}": table[f"{name}{end}"] for end in ("", "_low", "_high")}
        parts.append(table.assign(of=of, **columns))
    return pd.concat(parts, ignore_index=True)


def changes_of_place(records: pd.DataFrame, pairs: Sequence[tuple[str, str]], cost: float = 1.0) -> pd.DataFrame:
    """For each two methods the share of false passages at which they change places, one row a pair.

    `changes_at` as in `utility_differences`; `low` and `high` are the first and the last share (in steps of 0.01) at
    which the 95 % interval of the difference contains 0, NaN if none does. Pairs of methods that were not run are left
    out.
    """
    rows = []
    for a, b in pairs:
        if not {a, b} <= set(records["method"]):
            continue
        table = utility_differences(records, a, b, (cost,), _FINE)
        level = table.loc[(table["low"] <= 0) & (table["high"] >= 0), "false_share"]
        shown = {name: table[name][0] for name in ("changes_at", "n", "n_questions")}
        rows.append({"a": a, "b": b, "cost": cost, "low": level.min(), "high": level.max(), **shown})
    return pd.DataFrame(rows)


def predictive_values(records: pd.DataFrame, false_shares: Sequence[float] = SHARES) -> pd.DataFrame:
    """What a verdict is worth to who reads it, by design and share of false passages.

    `ppv` = P(passage true | Reasonable), `npv` = P(passage false | Unreasonable), each with its ends. UNPARSED is
    neither. `n` debates of `n_questions`. NaN where no such verdict was given.
    """
    tables = []
    for names, rows in groups(debates(records), DESIGN_KEYS):
        true = is_standard(rows).to_numpy(bool)
        found = []
        for share in false_shares:
            row: dict[str, float] = {"false_share": share}
            for name, (verdict, half) in zip(("ppv", "npv"), RATES.values(), strict=True):
                ruled = (rows["verdict"] == verdict).to_numpy(float)
                right = ruled * (true == half)
                ends = ratio_interval(right, ruled, rows["question_id"], true, half_weights(share))
                row |= with_interval(name, *ends)
            found.append(row)
        sizes = {"n": len(rows), "n_questions": rows["question_id"].nunique()}
        tables.append((names, pd.DataFrame(found).assign(**sizes)))
    return stack(tables)


def beliefs(records: pd.DataFrame) -> pd.Series:
    """How far the model believes each row's final answer: the mean probability of its tokens, NaN where unknown.

    `token_probability` weighs the prior and the context answer of each item by it; a final answer equal to one of them
    has its belief, to both the greater. Any other answer has none, and none has without rows of that method.
    """
    keys = [name for name in ("run", "model", "item_id") if name in records]
    sides = {"prior_answer": "self_confidence", "context_answer": "context_confidence"}
    weighed = records[records["method"] == "token_probability"].reindex(columns=[*keys, *sides.values()])
    weighed = records[keys].merge(weighed.drop_duplicates(keys), on=keys, how="left").set_index(records.index)
    for answer, belief in sides.items():
        same = answers_equal(records, "final_answer", answer).fillna(False).astype(bool)
        weighed[belief] = weighed[belief].astype(float).where(same)
    return weighed[list(sides.values())].max(axis=1)


def surest_answers(
    records: pd.DataFrame, coverages: Sequence[float] = COVERAGES, false_share: float = 0.5
) -> pd.DataFrame:
    """Risk of each method's most believed answers at these coverages, up to its own, which is the last row.

    Columns `coverage`; `risk`, wrong among the answers, and `aurc`, its mean over all coverages up to this one, with
    their 95 % ends; `n`, `n_questions`, `n_answered`, and `n_without_belief` of these, which come last, in any order.
    Source: risk and coverage as in El-Yaniv and Wiener 2010, the area as in Geifman et al. 2019; for whole procedures
    and weighted halves ours.
    """
    tables = []
    for names, rows in groups(records.assign(belief=beliefs(records))):
        answers = FinalAnswers.from_records(rows)
        own = answers.coverage(false_share)[0]
        found = []
        for coverage in (*(c for c in coverages if c < own), own):
            surest = answers.surest(coverage, false_share)
            accuracy, low, high = answers.with_ends(surest.accuracy, surest.on_accuracy, false_share, coverage)
            risk = with_interval("risk", 1 - accuracy, 1 - high, 1 - low)
            area = answers.with_ends(surest.aurc, surest.on_aurc, false_share, coverage)
            found.append({"coverage": coverage, **risk, **with_interval("aurc", *area)})
        sizes = {"n": len(rows), "n_questions": rows["question_id"].nunique()}
        sizes |= {"n_answered": int(rows["correct"].notna().sum()), "n_without_belief": answers.n_without_belief}
        tables.append((names, pd.DataFrame(found).assign(false_share=false_share, **sizes)))
    return stack(tables)


def matched_coverage(records: pd.DataFrame, reference: str = "sr_dcr", false_share: float = 0.5) -> pd.DataFrame:
    """The reference against each other method where both answer as many items: `coverage`, the smaller of their two.

    Each gives the answers that it believes most. `accuracy_a`, `accuracy_b` and their `difference` (`low`, `high`); the
    same of `aurc` up to this coverage; paired, over questions. `p_value` is that of the difference's interval, `p_holm`
    corrects it for the number of methods but golden. `n` items both have, `n_unpaired` that only one has,
    `n_without_belief` answers of either. Of one model, run and design.
    """
    records = records.assign(belief=beliefs(records)).reset_index(drop=True)
    methods = records["method"].unique()
    rows = []
    for rival in (method for method in methods if method != reference and reference in methods):
        both = side_by_side(records, reference, rival, records.index.to_series())
        one, other = (FinalAnswers.from_records(records.loc[both[side].to_numpy(int)]) for side in "ab")
        coverage = min(one.coverage(false_share)[0], other.coverage(false_share)[0])
        a, b = one.surest(coverage, false_share), other.surest(coverage, false_share)
        row = {"a": reference, "b": rival, "false_share": false_share, "coverage": coverage}
        row |= {"accuracy_a": a.accuracy, "accuracy_b": b.accuracy}
        gap = one.with_ends(a.accuracy - b.accuracy, a.on_accuracy - b.on_accuracy, false_share, coverage, -1.0)
        row |= dict(zip(("difference", "low", "high"), gap, strict=True))
        row["p_value"] = _p_value(*gap)
        area = one.with_ends(a.aurc - b.aurc, a.on_aurc - b.on_aurc, false_share, coverage, -1.0)
        row |= {"aurc_a": a.aurc, "aurc_b": b.aurc, **with_interval("aurc_difference", *area)}
        without = one.n_without_belief + other.n_without_belief
        sizes = {"n": len(both), "n_questions": both["question_id"].nunique(), "n_unpaired": both.attrs["n_unpaired"]}
        rows.append(row | sizes | {"n_without_belief": without})
    table = pd.DataFrame(rows)
    return table.assign(p_holm=holm(table["p_value"].where(table["b"] != GOLDEN))) if rows else table


def _p_value(value: float, low: float, high: float) -> float:
    """Two-sided, of a normal value with this 95 % interval; 1 where the interval is a point at 0."""
    half = (high - low) / 2
    return 2 * NormalDist().cdf(-abs(value) * NormalDist().inv_cdf(0.975) / half) if half else float(value == 0)


_DRAWN = ("sr_dcr", "few_shot", "confidence_only", "calibrated_token_probability", "debate_only", GOLDEN)


def draw_utility(table: pd.DataFrame, over: str = "cost", measure: str = "utility", *, panel: str = "") -> Figure:
    """What final answers are worth, from `utility`: a line a method; bands of SR-DCR and Few-Shot alone."""
    labels = (
        {"cost": "cost of a wrong answer", "false_share": "share of false passages"}[over],
        measure.replace("_", " "),
    )
    reference = 0.0 if measure == "utility" else None
    return _by_method(table, over, measure, labels, panel=panel, limits=None, reference=reference)


def draw_surest(table: pd.DataFrame) -> Figure:
    """Risk of each method's surest answers at each coverage, from `surest_answers`; a line ends at the method's own."""
    return _by_method(table, "coverage", "risk", ("coverage, the surest first", "wrong among the answers"))


def _by_method(table: pd.DataFrame, x: str, y: str, labels: tuple[str, str], *, panel: str = "", **look: Any) -> Figure:
    rows = table[table["method"].isin(_DRAWN)].reset_index(drop=True)
    banded = rows["method"].isin(_DRAWN[:2])
    low, high = (f"{y}_{end}" if f"{y}_low" in rows else end for end in ("low", "high"))
    rows, palette = draw.by_name(rows.assign(**{end: rows[end].where(banded) for end in (low, high)}), "method")
    return draw.lines(rows, x, y, labels, hue="method", palette=palette, panel=panel, **look)


def draw_matched(matched: pd.DataFrame) -> Figure:
    """Accuracy at matched coverage, SR-DCR less each other method, from `matched_coverage`."""
    rows = in_order(matched[matched["b"] != GOLDEN], "b")
    names = [f"{called(row.b)} ({row.coverage:.0%})" for row in rows.itertuples()]
    return draw.differences(rows.assign(name=names), f"accuracy at this coverage, {called('sr_dcr')} less each")


def draw_repeats(table: pd.DataFrame) -> Figure:
    """Accuracy of each method over all repeats, from `over_repeats`: intervals over questions, and over questions and
    repeats."""
    rows = table[(table["measure"] == "accuracy") & (table["condition"] == "overall")]
    if (rows["n_repeats"] < 2).all():
        return draw.nothing("one seed says nothing of another")
    both = rows.assign(low=rows["both_low"], high=rows["both_high"])
    parts = [rows.assign(over="over questions"), both.assign(over="over questions and repeats")]
    rows = pd.concat(parts, ignore_index=True)
    return draw.rows(rows.assign(name=draw.names_of(rows)), "value", "name", "mean accuracy", panel="over")


def draw_decisions(table: pd.DataFrame) -> Figure:
    """How items end after each verdict, from `decision_flow`: true passages above, false ones below."""
    ways = table.assign(way=_ways(table), panel=table["condition"].map(draw.CONDITION_LABELS))
    counts = ways.groupby(["panel", "way", "ending"], sort=False)["n"].sum().reset_index()
    labels = ("", "items")
    return draw.stacked(counts, "way", "n", "ending", labels, ENDING_COLOURS, across=True, panel="panel", height=3.4)


def _ways(table: pd.DataFrame) -> list[str]:
    """The verdict of each row, and where it matters the self-confidence."""
    pairs = zip(table["verdict"], table["confidence"], strict=True)
    return [
        verdict.capitalize() + (f", {confidence}" if verdict == Verdict.UNREASONABLE else "")
        for verdict, confidence in pairs
    ]


ENDING_COLOURS = {
    "right": "#0173b2", "wrong": "#d55e00", "abstained": "#949494", "unparsed": "#c9c9c9", "error": "#3f3f3f",
}  # fmt: skip


# A trained judge. A debate becomes numbers: its verdict path, how certain its speakers say they are, whose answers
# agree and how far apart they are. Neither the gold answer nor whether the passage was changed is a feature.

FOLDS = 5
FEWEST_QUESTIONS = 20  # of which each fold holds out four
_UNSURE = re.compile(
    r"(?:\bnot|n't|\bnever|\bhardly|\bless than) (?:\w+ ){0,2}(?:certain|sure|confident|positive)\b"
    r"|\b(?:uncertain|unsure|perhaps|maybe|possibly|probably|might|i think|i believe|i guess|if i remember|guess)\b"
    r"|\b(?:do not|don't|cannot|can't) (?:know|remember|recall)\b",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"\b(?:certain|sure|confident|positive|definitely|undoubtedly|no doubt|without doubt|beyond doubt)\b", re.IGNORECASE
)


def stated_certainty(text: str) -> float:
    """1 where a speech claims to be certain, −1 where it says that it is not, 0 where it says neither or both.

    >>> stated_certainty("1874. I am not quite certain."), stated_certainty("1874. I am certain.")
    (-1.0, 1.0)
    """
    return float(bool(_SURE.search(_UNSURE.sub(" ", text)))) - float(bool(_UNSURE.search(text)))


def distance(one: object, other: object, kind: AnswerType) -> float:
    """How far two answers are apart: log(1 + years) or log(1 + days); of numbers the log ratio; else NaN."""
    a, b = (normalise(each, kind) if isinstance(each, str) else None for each in (one, other))
    return np.nan if a is None or b is None else kind_of(kind).distance(a, b)


def debate_features(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """One row of floats per debate of one method and design, with the index of `records`; NaN for what was not read.

    `share_R`, `share_U`, `share_unparsed` of the verdict path, `last_R`, `last_U`, `changes` (share of neighbouring
    verdicts that differ); `critic_certain`, `defender_certain` (mean of `stated_certainty` over rounds) and
    `critic_certain_last`; `critic_agrees` (share of rounds in which the Critic states the Defender's answer),
    `critic_steady` (share of its later answers equal to its first); `answers_agree` (prior and context), `distance` of
    the two, and `self_confidence`.
    """
    path = records["verdict_path"].fillna("").astype(str)
    features = pd.DataFrame(index=records.index)
    for symbol, name in zip(RULINGS, ("share_R", "share_U", "share_unparsed"), strict=True):
        features[name] = path.str.count(re.escape(symbol)) / path.str.len().where(path != "").astype(float)
    for symbol in "RU":
        features[f"last_{symbol}"] = path.str.endswith(symbol)
    features["changes"] = [sum(a != b for a, b in pairwise(each)) / max(len(each) - 1, 1) for each in path]
    features = features.join(_spoken(records, turns).reindex(records["item_id"]).set_index(records.index))
    features["answers_agree"] = with_matches(records)["context_is_prior"]
    pairs = zip(records["prior_answer"], records["context_answer"], records["answer_type"], strict=True)
    features["distance"] = [distance(prior, context, AnswerType(kind)) for prior, context, kind in pairs]
    return features.assign(self_confidence=records["self_confidence"]).astype("Float64").astype(float)


def _spoken(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The features of what Critic and Defender said, by item_id."""
    keys = ["method", "design", "item_id"]
    spoken = turns.merge(records[[*keys, "answer_type"]], on=keys).sort_values("round", kind="stable")
    spoken["certain"] = spoken["text"].map(stated_certainty)
    spoken["place"] = spoken.groupby(["item_id", "role"]).cumcount()
    critic, defender = (spoken[spoken["role"] == role] for role in (Role.CRITIC, Role.DEFENDER))
    against = defender[["item_id", "place", "stated_answer"]].rename(columns={"stated_answer": "against"})
    critic = critic.merge(against, on=["item_id", "place"], how="left")
    first = critic.drop_duplicates("item_id").set_index("item_id")["stated_answer"]
    critic["first"] = critic["item_id"].map(first)
    critic["agrees"] = answers_equal(critic, "stated_answer", "against").astype("Float64")
    critic["steady"] = answers_equal(critic, "stated_answer", "first").astype("Float64").where(critic["place"] > 0)
    by_item = critic.groupby("item_id")
    features = {
        "critic_certain": by_item["certain"].mean(),
        "critic_certain_last": by_item["certain"].last(),
        "defender_certain": defender.groupby("item_id")["certain"].mean(),
        "critic_agrees": by_item["agrees"].mean(),
        "critic_steady": by_item["steady"].mean(),
    }
    return pd.DataFrame(features)


FEATURES = {
    "share_R": "share of rounds ruled Reasonable",
    "share_U": "share of rounds ruled Unreasonable",
    "share_unparsed": "share of rounds whose ruling could not be read",
    "last_R": "last ruling Reasonable",
    "last_U": "last ruling Unreasonable",
    "changes": "the ruling changes",
    "critic_certain": "the Critic claims certainty",
    "critic_certain_last": "the Critic claims certainty in the end",
    "defender_certain": "the Defender claims certainty",
    "critic_agrees": "the Critic states the Defender's answer",
    "critic_steady": "the Critic keeps its answer",
    "answers_agree": "prior and context answer agree",
    "distance": "distance of prior and context answer",
    "self_confidence": "confidence in the prior answer",
}  # in words
_RATES = ["judge", "verdict_tpr", "verdict_tnr", "accuracy", "brier", "n", "n_questions"]


@dataclass(frozen=True)
class TrainedJudge:
    """What a trained judge rules on questions it has not seen, and how that compares.

    `rulings`: one row per debate, with `prompted` and `trained` verdict, `p_reasonable` (calibrated) and `fold`.
    `comparison`: trained (a) less prompted (b) share of right verdicts, macro over true and false passages; UNPARSED is
    wrong. `rates`: of each `judge`; `accuracy` is the mean of `verdict_tpr` and `verdict_tnr`. `weights`: the
    standardised logistic weight of each feature, mean over the folds, strongest first.
    """

    rulings: pd.DataFrame
    comparison: Comparison
    rates: pd.DataFrame
    weights: pd.Series

    def strongest(self, n: int = 6) -> pd.DataFrame:
        """The `n` features that weigh most, in words; a positive weight speaks for Reasonable."""
        return self.weights.head(n).rename(FEATURES).rename_axis("feature").reset_index()


def train_judge(records: pd.DataFrame, turns: pd.DataFrame) -> TrainedJudge:
    """Train a logistic judge on debate features and rule on every question while it was held out.

    `records` are of one run, model, method and design; rows without a verdict are left out. The questions are dealt
    into five parts. Each is ruled on by a judge trained on the others, whose probabilities are calibrated (Platt) on
    inner folds of whole questions. `BadInput` for several models or designs, no debates, passages of one kind only, or
    fewer than twenty questions.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if turns.empty:
        raise BadInput("a judge is trained on what debaters said, and these results have no turns")
    held = _held(records)
    truth, questions = is_standard(held).to_numpy(bool), held["question_id"].to_numpy()
    features = debate_features(held, turns).dropna(axis=1, how="all")
    logistic = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression(max_iter=1000))
    split = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0).split  # no question is on both sides
    believed, fold_of = np.full(len(held), np.nan), np.full(len(held), -1)
    weights = []
    for fold, (others, here) in enumerate(split(features, truth, questions)):
        seen, labels = features.iloc[others], truth[others]
        inner = list(split(seen, labels, questions[others]))
        judge = CalibratedClassifierCV(logistic, method="sigmoid", cv=inner).fit(seen, labels)
        believed[here], fold_of[here] = judge.predict_proba(features.iloc[here])[:, 1], fold
        weights.append(logistic.fit(seen, labels)[-1].coef_[0][: features.shape[1]])  # without the imputer's indicators
    ruled = np.where(believed >= 0.5, Verdict.REASONABLE.value, Verdict.UNREASONABLE.value)
    rulings = held[["item_id", "question_id", "level"]].assign(
        prompted=held["verdict"], trained=ruled, p_reasonable=believed, fold=fold_of
    )
    stated = held["verdict"].map({Verdict.REASONABLE: 1.0, Verdict.UNREASONABLE: 0.0}).fillna(0.5)
    sides, rates = {}, []
    for side, judge_name, probability in (("a", "trained", believed), ("b", "prompted", stated)):
        right = sides[side] = outcome(held.assign(verdict=rulings[judge_name]), "verdict_right")
        tpr, tnr = right[truth].mean(), right[~truth].mean()
        brier = float(np.mean((probability - truth) ** 2))
        rates.append((judge_name, tpr, tnr, (tpr + tnr) / 2, brier, len(held), held["question_id"].nunique()))
    mean = pd.Series(np.mean(weights, axis=0), features.columns, name="weight")
    return TrainedJudge(
        rulings=rulings,
        comparison=compare_pairs(rulings.assign(**sides), macro=True),
        rates=pd.DataFrame(rates, columns=_RATES),
        weights=mean[mean.abs().sort_values(ascending=False, kind="stable").index],
    )


def _held(records: pd.DataFrame) -> pd.DataFrame:
    for column in ("run", "model", "method", "design"):
        if column in records and records[column].nunique() > 1:
            raise BadInput(f"a judge is trained on debates of one {column} at a time; choose one of the table's")
    held = records[records["verdict"].notna()].reset_index(drop=True)
    if held.empty:
        raise BadInput("there are no debates to train a judge on; run a method that debates, such as sr_dcr")
    if is_standard(held).nunique() < 2:
        raise BadInput("all passages are of one kind, so there is nothing to tell apart; add true and false passages")
    n = held["question_id"].nunique()
    if n < FEWEST_QUESTIONS:
        raise BadInput(f"a judge is trained on {FEWEST_QUESTIONS} questions or more, and there are {n}; run more items")
    return held
