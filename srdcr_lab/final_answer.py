"""Chapter 05b: what final answers are worth, and a judge that is trained on debates.

Utility per item, accuracy of the surest answers, predictive values of the verdict; last, the paper's open question 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from srdcr_lab.answers import normalise
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.confidence import COSTS
from srdcr_lab.debates import heard_turns
from srdcr_lab.evaluation import MAIN_METHODS, changes_at, of_acvd
from srdcr_lab.lib import draw, groups
from srdcr_lab.lib.comparison import Comparison, compare_pairs, corrected, outcome, side_by_side
from srdcr_lab.lib.gating import FinalAnswers, half_weights
from srdcr_lab.lib.groups import DESIGN_KEYS, FEW, GOLDEN, RATES, answers_equal, by_group, is_standard, names_of
from srdcr_lab.lib.page import Html, render, shown
from srdcr_lab.lib.sentences import answer_box, sentence, sentences
from srdcr_lab.lib.statistics import Estimate, clustered_interval, contrast_interval, ends_of
from srdcr_lab.lib.summary import in_order
from srdcr_lab.records import AnswerType, BadInput, Role, Verdict
from srdcr_lab.records.names import CONDITION_LABELS, FEATURE_LABELS, called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

COVERAGES = tuple(twentieth / 20 for twentieth in range(1, 20))
SHARES = tuple(tenth / 10 for tenth in range(11))
HALF = 0.5  # share of false passages where it is not varied


def answer(results: Results) -> Html:
    """Make the answer box of notebook 05b: utility per item, accuracy at matched coverage, and a trained Judge.

    Parameters
    ----------
    results : Results
        A run of several methods, SR-DCR among them.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    records = of_acvd(results, "few_shot", "confidence_only", "sr_dcr")
    rivals = ["few_shot", "confidence_only"]
    worth = pd.concat([utility_differences(records, "sr_dcr", b, false_shares=(0.5,)) for b in rivals])
    matched = matched_coverage(records)
    return answer_box(
        sentences("utility per item, where a wrong answer costs 1, is higher with SR-DCR",
                  worth, "difference", by=["b"], before="than with", n="n_questions"),
        sentences("SR-DCR is right more often at equal coverage",
                  matched[matched["b"].isin(rivals)], "difference", by=["b"], before="than", n="n_questions"),
        trained_sentence(results),
        label=results.label,
    )  # fmt: skip


def trained_sentence(results: Results) -> str:
    """Say whether a trained Judge has more right verdicts than the prompted one.

    Parameters
    ----------
    results : Results
        A run with debates.

    Returns
    -------
    str
        One sentence; it gives the reason if no Judge could be trained.
    """
    judge = _trained(results)
    if isinstance(judge, str):
        return judge
    return sentence("a trained Judge has more right verdicts than the prompted one", *judge.comparison.difference)


def trained_tables(results: Results) -> Html:
    """Show the rates of the trained and of the prompted Judge, and the features with the largest weights.

    Parameters
    ----------
    results : Results
        A run with debates.

    Returns
    -------
    Html
        The tables, or the reason why no Judge could be trained.
    """
    judge = _trained(results)
    if isinstance(judge, str):
        return render("parts", "paragraphs", lines=[judge])
    caption = "What weighs most; a positive weight speaks for Reasonable"
    return Html(shown(judge.rates, results.label) + shown(judge.strongest(), caption))


def _trained(results: Results) -> TrainedJudge | str:
    """The Judge that the debates of a run train, or a sentence on why there is none."""
    try:
        records = of_acvd(results, "sr_dcr")
        return train_judge(records[records["method"] == "sr_dcr"], results.turns)
    except BadInput as reason:
        return f"No Judge was trained: {reason}."


def utility(
    records: pd.DataFrame, costs: Sequence[float] = COSTS, false_shares: Sequence[float] = (0.5,)
) -> pd.DataFrame:
    """Compute the utility of each method at each cost and share of false passages.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    costs : sequence of float, default COSTS
        Costs of a wrong answer, at least 0.
    false_shares : sequence of float, default (0.5,)
        Shares of false passages, in [0, 1].

    Returns
    -------
    DataFrame
        One row per group × `cost` × `false_share`: `utility` with its 95 % interval over questions, `coverage` and
        `selective_accuracy` at this share, `n`, `n_questions`, `n_answered`. At cost 0 utility is the accuracy. NaN if
        a share needs passages that were not run.
    """

    def worth(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        answers, answered = FinalAnswers.from_records(part), int(part["correct"].notna().sum())
        sizes = {"n": len(part), "n_questions": part["question_id"].nunique(), "n_answered": answered}
        given = {
            share: answers.coverage(share).columns("coverage")
            | answers.selective_accuracy(share).columns("selective_accuracy")
            for share in sorted(false_shares)
        }
        for cost, (share, shares) in product(sorted(costs), given.items()):
            row = answers.utility(cost, share).columns("utility", alone=True)
            yield {"cost": cost, "false_share": share} | row | sizes | shares

    return by_group(records, worth)


def utility_differences(
    records: pd.DataFrame, a: str, b: str, costs: Sequence[float] = (1.0,), false_shares: Sequence[float] = SHARES
) -> pd.DataFrame:
    """Compare the utility of two methods on the items that both have.

    Each item counts, answered or not. All numbers are NaN if one of the two never answers.

    Parameters
    ----------
    records : DataFrame
        Records of one model, run and design.
    a : str
        The first method.
    b : str
        The second method.
    costs : sequence of float, default (1.0,)
        Costs of a wrong answer, at least 0.
    false_shares : sequence of float, default SHARES
        Shares of false passages, in [0, 1].

    Returns
    -------
    DataFrame
        One row per `cost` × `false_share`: `difference` (a − b) with its 95 % interval over questions, `n`,
        `n_questions`, and `changes_at`, the share of false passages at which the two are equal at this cost, NaN if
        there is none.
    """
    worth, rows = FinalAnswers.from_records(records).worth, []
    for cost in costs:
        both = side_by_side(records, a, b, pd.Series(worth(cost), records.index))
        gap, true, questions = both["a"] - both["b"], is_standard(both), both["question_id"]
        means = gap.groupby(true).mean().reindex([True, False])
        sizes = {"n": len(both), "n_questions": questions.nunique(), "changes_at": changes_at(*means)}
        for share in false_shares:
            mean = contrast_interval(gap, questions, true, half_weights(share), bounds=(-1 - cost, 1 + cost))
            row = {"a": a, "b": b, "cost": cost, "false_share": share}
            rows.append(row | mean.columns("difference", alone=True) | sizes)
    table = pd.DataFrame(rows)
    if not {a, b} <= set(records.loc[records["correct"].notna(), "method"]):
        table[["difference", "low", "high", "changes_at"]] = math.nan
    return table


def at_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Reshape `utility` at cost 0 for a figure: accuracy, accuracy of answers and coverage as rows.

    Parameters
    ----------
    table : DataFrame
        As returned by `utility`, at cost 0.

    Returns
    -------
    DataFrame
        Three rows per row of the table, with the measure in `of` and its value in `share`.
    """
    table = table.rename(columns={"utility": "accuracy", "low": "accuracy_low", "high": "accuracy_high"})
    words = {"accuracy": "accuracy", "selective_accuracy": "accuracy of answers", "coverage": "coverage"}
    ends = ("", "_low", "_high")
    parts = [table.assign(of=of, **{f"share{end}": table[name + end] for end in ends}) for name, of in words.items()]
    return pd.concat(parts, ignore_index=True)


def changes_of_place(records: pd.DataFrame, pairs: Sequence[tuple[str, str]], cost: float = 1.0) -> pd.DataFrame:
    """Compute the share of false passages at which two methods change places, for several pairs.

    Parameters
    ----------
    records : DataFrame
        Records of one model, run and design.
    pairs : sequence of tuple of str, str
        Pairs of methods; a pair that was not run is left out.
    cost : float, default 1.0
        Cost of a wrong answer, at least 0.

    Returns
    -------
    DataFrame
        One row per pair: `changes_at` as in `utility_differences`; `low` and `high`, the first and the last share (in
        steps of 0.01) at which the 95 % interval of the difference contains 0, NaN if none does.
    """
    rows = []
    methods = set(records["method"])
    for a, b in (pair for pair in pairs if set(pair) <= methods):
        table = utility_differences(records, a, b, (cost,), [percent / 100 for percent in range(101)])
        alike = table.loc[(table["low"] <= 0) & (table["high"] >= 0), "false_share"]
        shown = {name: table[name][0] for name in ("changes_at", "n", "n_questions")}
        rows.append({"a": a, "b": b, "cost": cost, "low": alike.min(), "high": alike.max(), **shown})
    return pd.DataFrame(rows)


def predictive_values(records: pd.DataFrame, false_shares: Sequence[float] = SHARES) -> pd.DataFrame:
    """Compute how far a verdict can be trusted at each share of false passages.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    false_shares : sequence of float, default SHARES
        Shares of false passages, in [0, 1].

    Returns
    -------
    DataFrame
        One row per design × share: `ppv` = P(passage true | Reasonable) and `npv` = P(passage false | Unreasonable),
        each with its 95 % interval, over `n` debates on `n_questions`. An unparsed verdict is neither. NaN if no such
        verdict was given.
    """

    def values(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        true = is_standard(part).to_numpy(bool)
        verdict, question = part["verdict"], part["question_id"]
        ratios = [_likelihood_ratio(verdict == ruling, true == half, question) for ruling, half in RATES.values()]
        for share in false_shares:
            row: dict[str, Any] = {"false_share": share}
            for name, (own, other), weight in zip(("ppv", "npv"), ratios, (1 - share, share), strict=True):
                with np.errstate(invalid="ignore"):
                    found = weight * own / (weight * own + (1 - weight) * other)
                row |= Estimate(*np.where(np.isnan(found + found[0]), found[0], found).tolist()).columns(name)
            yield row | {"n": len(part), "n_questions": question.nunique()}

    return by_group(groups.debates(records), values, DESIGN_KEYS)


def _likelihood_ratio(ruled: pd.Series, own: NDArray[np.bool_], questions: pd.Series) -> NDArray[np.float64]:
    """Numerators and denominators of P(ruled so | own half) / P(ruled so | other half) and the ends of its 95 %
    interval, from the intervals of both [Donner and Zou 2012]; that the halves share questions makes it wider."""
    hits = ruled.to_numpy(float)
    sides = [clustered_interval(hits[side], questions[side]) for side in (own, ~own)]
    (mine, my_low, my_high, _), (theirs, their_low, their_high, _) = sides
    ends = []
    for top, bottom in ((my_low, their_high), (my_high, their_low)):
        a, b = top * (2 * mine - top), bottom * (2 * theirs - bottom)
        ends.append((a, b, mine * theirs + math.sqrt((mine * theirs) ** 2 - a * b)))
    (a, _, low), (_, b, high) = ends
    return np.array([(mine, a, high), (theirs, low, b)])


def beliefs(records: pd.DataFrame) -> pd.Series:
    """Compute the model's belief in each row's final answer: the mean probability of its tokens.

    `token_probability` records this probability for the prior and the context answer of each item. A final answer that
    equals one of them gets its probability; if it equals both, the larger one.

    Parameters
    ----------
    records : DataFrame
        Records that include rows of `token_probability`.

    Returns
    -------
    Series
        One value per row; NaN for any other answer, and without rows of `token_probability`.
    """
    keys = [name for name in ("run", "model", "item_id") if name in records]
    sides = {"prior_answer": "self_confidence", "context_answer": "context_confidence"}
    weighed = records[records["method"] == "token_probability"].reindex(columns=[*keys, *sides.values()])
    weighed = records[keys].merge(weighed.drop_duplicates(keys), on=keys, how="left").set_index(records.index)
    for answer, belief in sides.items():
        same = answers_equal(records, "final_answer", answer).fillna(False).astype(bool)
        weighed[belief] = weighed[belief].astype(float).where(same)
    return weighed[list(sides.values())].max(axis=1)


def surest_answers(records: pd.DataFrame) -> pd.DataFrame:
    """Compute the risk of each method's most believed answers at several coverages.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per group × `coverage` (of `COVERAGES`), up to the method's own coverage, which is the last row:
        `risk`, the share of wrong answers, and `aurc`, its mean over all coverages up to this one, with their 95 %
        intervals; `n`, `n_questions`, `n_answered`; `n_without_belief`, the answers without a belief, which come last
        in any order.

    References
    ----------
    Risk and coverage: El-Yaniv and Wiener 2010. The area: Geifman et al. 2019. For whole procedures and weighted halves
    ours.
    """

    def risks(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        answers = FinalAnswers.from_records(part)
        own = answers.coverage(HALF).value
        sizes = {"false_share": HALF, "n": len(part), "n_questions": part["question_id"].nunique()}
        sizes |= {"n_answered": int(part["correct"].notna().sum()), "n_without_belief": answers.n_without_belief}
        for coverage in (*(c for c in COVERAGES if c < own), own):
            surest = answers.surest(coverage, HALF)
            accuracy = answers.with_ends(surest.accuracy, surest.on_accuracy, HALF, coverage)
            area = answers.with_ends(surest.aurc, surest.on_aurc, HALF, coverage)
            yield {"coverage": coverage} | accuracy.scaled(-1, 1).columns("risk") | area.columns("aurc") | sizes

    return by_group(records.assign(belief=beliefs(records)), risks)


def matched_coverage(records: pd.DataFrame, reference: str = "sr_dcr") -> pd.DataFrame:
    """Compare the reference with each other method at matched coverage.

    Each method gives only its most believed answers, as many as the method with the lower coverage.

    Parameters
    ----------
    records : DataFrame
        Records of one model, run and design.
    reference : str, default "sr_dcr"
        The method that is compared with the others.

    Returns
    -------
    DataFrame
        One row per other method `b`, and none where no answer has a belief: `coverage`; `accuracy_a`, `accuracy_b` and
        their `difference` with its 95 % interval, paired, over questions; the same for `aurc`; `p_value`, from the
        width of that interval, `corrected`; `n` items that both have, `n_unpaired` that only one has,
        `n_without_belief` answers without a belief.
    """
    records = records.assign(belief=beliefs(records)).reset_index(drop=True)
    methods, rows = records["method"].unique(), []
    are_ordered = reference in methods and records["belief"].notna().any()
    for rival in (method for method in methods if method != reference and are_ordered):
        both = side_by_side(records, reference, rival, records.index.to_series())
        one, other = (FinalAnswers.from_records(records.loc[both[side].to_numpy(int)]) for side in "ab")
        coverage, a, b = one.matched(other, HALF)
        row = {"a": reference, "b": rival, "false_share": HALF, "coverage": coverage}
        row |= {"accuracy_a": a.accuracy, "accuracy_b": b.accuracy}
        gap = one.with_ends(a.accuracy - b.accuracy, a.on_accuracy - b.on_accuracy, HALF, coverage, -1.0)
        row |= gap.columns("difference", alone=True) | {"p_value": _p_value(gap)}
        area = one.with_ends(a.aurc - b.aurc, a.on_aurc - b.on_aurc, HALF, coverage, -1.0)
        row |= {"aurc_a": a.aurc, "aurc_b": b.aurc} | area.columns("aurc_difference")
        sizes = {"n": len(both), "n_questions": both["question_id"].nunique(), "n_unpaired": both.attrs["n_unpaired"]}
        rows.append(row | sizes | {"n_without_belief": one.n_without_belief + other.n_without_belief})
    table = pd.DataFrame(rows, columns=None if rows else ["b", "coverage", "difference", "low", "high", "p_value"])
    return corrected(table)


def _p_value(found: Estimate) -> float:
    """About the two-sided p of a normal value with an interval of this width; the interval's own centre may be off the
    value. 1 where the interval is a point at 0."""
    value, half = found.value, (found.high - found.low) / 2
    return 2 * NormalDist().cdf(-abs(value) * NormalDist().inv_cdf(0.975) / half) if half else float(value == 0)


def draw_utility(table: pd.DataFrame, over: str = "cost", measure: str = "utility", *, panel: str = "") -> Figure:
    """Draw utility, or another measure of final answers, a line per method; SR-DCR and Few-Shot have bands.

    Parameters
    ----------
    table : DataFrame
        As returned by `utility`.
    over : str, default "cost"
        The axis: cost or false_share.
    measure : str, default "utility"
        The measure: utility, coverage or selective_accuracy.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    labels = (
        {"cost": "cost of a wrong answer", "false_share": "share of false passages"}[over],
        "utility per item" if measure == "utility" else measure.replace("_", " "),
    )
    reference = 0.0 if measure == "utility" else None
    return _by_method(table, over, measure, labels, panel=panel, limits=None, reference=reference)


def draw_surest(table: pd.DataFrame) -> Figure:
    """Draw the risk of each method's surest answers; a line ends at the method's own coverage.

    Parameters
    ----------
    table : DataFrame
        As returned by `surest_answers`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    return _by_method(table, "coverage", "risk", ("coverage, the surest first", "wrong among the answers"))


def _by_method(table: pd.DataFrame, x: str, y: str, labels: tuple[str, str], *, panel: str = "", **look: Any) -> Figure:
    rows = table[table["method"].isin(MAIN_METHODS)].reset_index(drop=True)
    banded = rows["method"].isin(["sr_dcr", "few_shot"])
    banded_only = {end: rows[end].where(banded) for end in ends_of(rows, y)}
    rows, palette = draw.by_name(rows.assign(**banded_only), "method")
    return draw.lines(rows, x, y, labels, hue="method", palette=palette, panel=panel, **look)


def draw_matched(matched: pd.DataFrame) -> Figure:
    """Draw the difference in accuracy at matched coverage, SR-DCR minus each other method.

    Parameters
    ----------
    matched : DataFrame
        As returned by `matched_coverage`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = in_order(matched[matched["b"] != GOLDEN], "b")
    names = [f"{called(row.b)} ({row.coverage:.0%})" for row in rows.itertuples()]
    label, note = f"accuracy: {called('sr_dcr')} minus each method", "in brackets: the coverage at which both answer"
    return draw.differences(rows.assign(name=names), label, note=note)


def draw_repeats(table: pd.DataFrame) -> Figure:
    """Draw the accuracy of each method over all repeats, with intervals over questions, and over questions and repeats.

    Parameters
    ----------
    table : DataFrame
        As returned by `over_repeats`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table[(table["measure"] == "accuracy") & (table["condition"] == "overall")]
    if (rows["n_repeats"] < 2).all():
        return draw.nothing("only one seed was run; srdcr run --repeats K runs more")
    both = rows.assign(low=rows["both_low"], high=rows["both_high"])
    parts = [rows.assign(over="over questions"), both.assign(over="over questions and repeats")]
    rows = pd.concat(parts, ignore_index=True)
    palette = {"over questions": draw.INK, "over questions and repeats": draw.GREY}
    return draw.rows(rows.assign(name=names_of(rows)), "value", "name", "mean accuracy", hue="over", palette=palette)


def draw_decisions(table: pd.DataFrame) -> Figure:
    """Draw how items end after each verdict, with true passages above and false ones below.

    Parameters
    ----------
    table : DataFrame
        As returned by `decision_flow`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    way = table["verdict"].str.capitalize()
    way = way.where(table["verdict"] != Verdict.UNREASONABLE, way + ", " + table["confidence"])
    ways = table.assign(way=way, panel=table["condition"].map(CONDITION_LABELS))
    counts = ways.groupby(["panel", "way", "ending"], sort=False)["n"].sum().reset_index()
    labels = ("", "items")
    return draw.stacked(counts, "way", "n", "ending", labels, ENDING_COLOURS, across=True, panel="panel", height=3.4)


ENDING_COLOURS = {
    "right": draw.RIGHT_COLOUR, "wrong": draw.WRONG_COLOUR, "abstained": draw.NO_ANSWER_COLOUR,
    "unparsed": "#8c8c8c", "error": "#3f3f3f",
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
    """Score whether a speech claims certainty.

    Parameters
    ----------
    text : str
        The speech.

    Returns
    -------
    float
        1 if it claims to be certain, −1 if it says that it is not, 0 if it says neither or both.

    Examples
    --------
    >>> stated_certainty("1874. I am not quite certain."), stated_certainty("1874. I am certain.")
    (-1.0, 1.0)
    """
    return float(bool(_SURE.search(_UNSURE.sub(" ", text)))) - float(bool(_UNSURE.search(text)))


def distance(one: object, other: object, kind: AnswerType) -> float:
    """Compute how far two answers are apart.

    Parameters
    ----------
    one : object
        The first answer.
    other : object
        The second answer.
    kind : AnswerType
        Their type.

    Returns
    -------
    float
        The distance log(1 + years) or log(1 + days), for numbers the log ratio; NaN for other types and for answers
        that cannot be read.
    """
    a, b = (normalise(each, kind) if isinstance(each, str) else None for each in (one, other))
    return np.nan if a is None or b is None else kind_of(kind).distance(a, b)


def debate_features(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Compute the features from which a judge is trained: one row per debate.

    Parameters
    ----------
    records : DataFrame
        Debates of one method and design.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        Numbers with the index of `records`, NaN if something was not read: `share_R`, `share_U`, `share_unparsed` of
        the verdict path, `last_R`, `last_U`, `changes` (the share of neighbouring verdicts that differ);
        `critic_certain`, `defender_certain` (means of `stated_certainty` over rounds), `critic_certain_last`;
        `critic_agrees` (the share of rounds in which the Critic states the Defender's answer), `critic_steady` (the
        share of its later answers equal to its first); `answers_agree` and `distance` of prior and context answer;
        `self_confidence`.
    """
    path = records["verdict_path"].fillna("").astype(str)
    features = pd.DataFrame(index=records.index)
    for symbol, name in zip(groups.RULINGS, ("share_R", "share_U", "share_unparsed"), strict=True):
        features[name] = path.str.count(re.escape(symbol)) / path.str.len().where(path != "").astype(float)
    for symbol in "RU":
        features[f"last_{symbol}"] = path.str.endswith(symbol)
    features["changes"] = [sum(a != b for a, b in pairwise(each)) / max(len(each) - 1, 1) for each in path]
    features = features.join(_spoken(records, turns).reindex(records["item_id"]).set_index(records.index))
    features["answers_agree"] = answers_equal(records, "prior_answer", "context_answer")
    pairs = zip(records["prior_answer"], records["context_answer"], records["answer_type"], strict=True)
    features["distance"] = [distance(prior, context, AnswerType(kind)) for prior, context, kind in pairs]
    return features.assign(self_confidence=records["self_confidence"]).astype("Float64").astype(float)


def _spoken(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The features of what Critic and Defender said, by item_id."""
    keys = ["method", "design", "item_id"]
    spoken = heard_turns(turns).merge(records[[*keys, "answer_type"]], on=keys).sort_values("round", kind="stable")
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
        "critic_certain": by_item["certain"].mean(), "critic_certain_last": by_item["certain"].last(),
        "defender_certain": defender.groupby("item_id")["certain"].mean(), "critic_agrees": by_item["agrees"].mean(),
        "critic_steady": by_item["steady"].mean(),
    }  # fmt: skip
    return pd.DataFrame(features)


_RATES = ["judge", "verdict_tpr", "verdict_tnr", "accuracy", "brier", "n", "n_questions"]


@dataclass(frozen=True)
class TrainedJudge:
    """A judge trained on debates, and its rulings on questions that it has not seen.

    Attributes
    ----------
    rulings : DataFrame
        One row per debate: `prompted` and `trained` verdict, calibrated `p_reasonable`, and `fold`.
    comparison : Comparison
        Share of right verdicts, trained (a) minus prompted (b), with true and false passages weighted alike; an
        unparsed verdict is wrong.
    rates : DataFrame
        One row per judge: `verdict_tpr`, `verdict_tnr`, their mean `accuracy`, and the Brier score.
    weights : Series
        Standardised logistic weight of each feature, mean over the folds, largest first.
    """

    rulings: pd.DataFrame
    comparison: Comparison
    rates: pd.DataFrame
    weights: pd.Series

    def strongest(self) -> pd.DataFrame:
        """List the six features with the largest weights, in words.

        Returns
        -------
        DataFrame
            One row per feature; a positive weight speaks for Reasonable.
        """
        return self.weights.head(6).rename(FEATURE_LABELS).rename_axis("feature").reset_index()


def train_judge(records: pd.DataFrame, turns: pd.DataFrame) -> TrainedJudge:
    """Train a logistic judge on debate features, and let it rule on every question while that question is held out.

    The questions are dealt into five parts. Each part is judged by a model trained on the others, whose probabilities
    are calibrated (Platt) on inner folds of whole questions.

    Parameters
    ----------
    records : DataFrame
        Records of one run, model, method and design; rows without a verdict are left out.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    TrainedJudge
        The rulings and their comparison with the prompted Judge.

    Raises
    ------
    BadInput
        Several models or designs, no debates, fewer than twenty questions, or fewer than ten with true, or with false,
        passages.
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
    imputer = SimpleImputer(add_indicator=True, keep_empty_features=True)  # a fold may know nothing of a feature
    logistic = make_pipeline(imputer, StandardScaler(), LogisticRegression(max_iter=1000))
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
    sides, rates = {}, []
    for side, judge_name in (("a", "trained"), ("b", "prompted")):
        right = sides[side] = outcome(held.assign(verdict=rulings[judge_name]), "verdict_right")
        tpr, tnr = right[truth].mean(), right[~truth].mean()
        brier = np.mean((believed - truth) ** 2) if judge_name == "trained" else 1 - right.mean()
        rates.append((judge_name, tpr, tnr, (tpr + tnr) / 2, brier, len(held), held["question_id"].nunique()))
    mean = pd.Series(np.mean(weights, axis=0), features.columns, name="weight")
    return TrainedJudge(
        rulings=rulings, comparison=compare_pairs(rulings.assign(**sides), macro=True),
        rates=pd.DataFrame(rates, columns=_RATES),
        weights=mean[mean.abs().sort_values(ascending=False, kind="stable").index],
    )  # fmt: skip


def _held(records: pd.DataFrame) -> pd.DataFrame:
    for column in ("run", "model", "method", "design"):
        if column in records and records[column].nunique() > 1:
            raise BadInput(f"a judge is trained on debates of one {column} at a time; choose one value of it")
    held = records[records["verdict"].notna()].reset_index(drop=True)
    if held.empty:
        raise BadInput("there are no debates to train a judge on; run a method that debates, such as sr_dcr")
    n = held["question_id"].nunique()
    if n < FEWEST_QUESTIONS:
        raise BadInput(f"a judge is trained on {FEWEST_QUESTIONS} questions or more, and there are {n}; run more items")
    n = held.groupby(is_standard(held))["question_id"].nunique().reindex([True, False], fill_value=0).min()
    if n < FEW:
        raise BadInput(f"a judge is trained on {FEW} questions or more with either kind of passage; one has {n}")
    return held
