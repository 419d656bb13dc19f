"""Chapter 03: whether an answer follows the passage's claim or the model's memory [4.1; Figures 2, 8].

One table, `passages`, has a row for each passage with what became of it; every measure counts its rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from srdcr_lab.lib import draw, groups
from srdcr_lab.lib.comparison import Comparison, compare_pairs
from srdcr_lab.lib.groups import CATEGORY_NAMES, FEW, cells, group_shares, is_standard, stack, strata, with_matches
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import answer_box, sentence
from srdcr_lab.lib.statistics import Estimate, contrast_interval, shares
from srdcr_lab.records import AnswerType, BadInput, Level
from srdcr_lab.records.names import ANSWER_GROUPS, model_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

PRESENT = 2026  # the year of the shipped facts; a later claim lies in the future, whatever the calendar says
FOLLOWED, RIGHT, OTHER, MISSING = "follows the passage", "right", "another wrong answer", "no answer"


def passages(records: pd.DataFrame, method: str = "few_shot") -> pd.DataFrame:
    """Tabulate what became of each passage that a method read, true or false.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`. If a model did not run `few_shot`, the context answer of each
        item is used instead; it is the same answer.
    method : str, default "few_shot"
        The method whose answers are counted.

    Returns
    -------
    DataFrame
        The method's rows with `stratum`; `kind` of answer (years, numbers …); `offset` in years, signed, missing for
        other kinds; `future`, whether the claim lies after `PRESENT`; `prior_is_claim`, false if the prior answer was
        not read; `follows_claim` and `follows_prior`, missing without an answer, the second also without a prior
        answer; and `ending`, what became of the passage.
    """
    rows = records[records["method"] == method]
    others = records[~records["model"].isin(rows["model"].unique())]
    if method == "few_shot" and (len(others) or rows.empty):
        others = others.drop_duplicates([name for name in ("run", "model", "item_id") if name in records])
        others = with_matches(others).assign(method=method, design=None, final_answer=others["context_answer"])
        others = others.assign(final_is_claim=others["context_is_claim"], final_is_prior=others["context_is_prior"])
        others = others.assign(correct=others["context_correct"]) if "context_correct" in others else others
        rows = pd.concat([with_matches(rows), others]) if len(rows) else others
    return with_claims(rows.reset_index(drop=True))


def perturbed_answers(records: pd.DataFrame, method: str = "few_shot") -> pd.DataFrame:
    """Select the rows of `passages` whose passage is false.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str, default "few_shot"
        The method whose answers are counted.

    Returns
    -------
    DataFrame
        One row per false passage.
    """
    rows = passages(records, method)
    return rows[~is_standard(rows)].reset_index(drop=True)


def with_claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of `passages` to rows of records.

    Parameters
    ----------
    rows : DataFrame
        Rows of `Results.records`.

    Returns
    -------
    DataFrame
        The same rows with the further columns.
    """
    rows, claimed = with_matches(rows), rows["claimed_answer"].astype(object)
    return rows.assign(
        stratum=strata(rows),
        kind=rows["answer_type"].astype(object).map(ANSWER_GROUPS).fillna("other answers"),
        offset=groups.year_offset(rows),
        future=pd.to_numeric(claimed.where(rows["answer_type"] == "year"), errors="coerce") > PRESENT,
        prior_is_claim=rows["prior_is_claim"].fillna(False).astype(bool),
        follows_claim=rows["final_is_claim"],
        follows_prior=rows["final_is_prior"],
        ending=endings_of(rows),
    )


def endings_of(rows: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Find how each answer to a passage ends.

    Parameters
    ----------
    rows : DataFrame
        Rows with the columns of `with_matches`.

    Returns
    -------
    ndarray of str
        One of the four endings; the claim of a true passage is right.
    """
    right = rows["correct"].astype("boolean").fillna(False).astype(bool)
    follows = rows["final_is_claim"].fillna(False).astype(bool) & ~is_standard(rows)
    return np.select([rows["final_answer"].isna(), right, follows], [MISSING, RIGHT, FOLLOWED], OTHER)


def of_results(results: Results) -> pd.DataFrame:
    """Collect the passages that chapter 03 counts.

    These are the passages of the run and of its part `years`, each once. Absurd claims are left out, because they are
    not a degree of falsehood.

    Parameters
    ----------
    results : Results
        A run with answers to false passages.

    Returns
    -------
    DataFrame
        The rows of `passages`.

    Raises
    ------
    BadInput
        No passage is false.
    """
    parts = [part.records for part in (results, results.part("years")) if part]
    records = pd.concat([part[part["level"].notna()] for part in parts], ignore_index=True)
    rows = passages(records[records["level"] != Level.ABSURD]).drop_duplicates("item_id", ignore_index=True)
    if is_standard(rows).all():
        remedy = "srdcr run --items facts:grid --methods few_shot makes them"
        raise BadInput(f"this run has no answers to false passages; {remedy}")
    return rows


def context_preference(
    records: pd.DataFrame, by: Sequence[str] = ("stratum", "knowledge_category"), *, questions_alike: bool = False
) -> pd.DataFrame:
    """Compute context preference: the share of few-shot answers to false passages that equal the passage's claim.

    If the prior answer already equals the claim, following cannot be told from remembering; such items have rows of
    their own (`prior_is_claim`). An item without an answer follows nothing: it is outside the share and in `n_missing`,
    although accuracies count it as wrong.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    by : sequence of str, default ("stratum", "knowledge_category")
        Columns that define the cells: any of `stratum`, `offset` (signed), `knowledge_category`, `prior_correct`,
        `domain`, `kind`, `level`, `future`, `perturbation_kind`.
    questions_alike : bool, default False
        Count a question once in a cell, however many passages it has there.

    Returns
    -------
    DataFrame
        One row per model × cell, empty cells included (except those of future claims), with the columns of `shares`:
        `n`, `n_questions`, `n_missing`, `share` and its 95 % interval.

    References
    ----------
    Paper, section 4.1, Figures 2 and 8.
    """
    rows = perturbed_answers(records)
    return preference_shares(rows, ("model", "method"), "follows_claim", by, questions_alike=questions_alike)


def preference_shares(
    rows: pd.DataFrame, group: Sequence[str], follows: str, by: Sequence[str], *, questions_alike: bool = False
) -> pd.DataFrame:
    """Compute shares by group, `prior_is_claim` and further columns.

    Parameters
    ----------
    rows : DataFrame
        One row per answer, with the column `follows`.
    group : sequence of str
        Columns whose values are analysed apart.
    follows : str
        The column that is true if an answer is counted in the share.
    by : sequence of str
        Columns that define the cells.
    questions_alike : bool, default False
        Count a question once in a cell.

    Returns
    -------
    DataFrame
        One row per group × cell; empty cells of rare kinds are left out.
    """
    values = cells(rows, ("prior_is_claim", *by))
    table = group_shares(rows, rows[follows], values, group, questions_alike=questions_alike)
    table = table.astype({"prior_is_claim": bool})
    rare = table["prior_is_claim"] | table.get("future", False)
    return table[~rare | (table["n"] + table["n_missing"] > 0)].reset_index(drop=True)


def endings_by(records: pd.DataFrame) -> pd.DataFrame:
    """Tabulate what became of true and of false passages by domain, with questions weighted alike.

    Passages whose claim equals the prior answer are left out: following and remembering coincide there.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per `condition` × `domain` × `ending`, with `share`, its interval, `n` and `n_questions`.
    """
    rows = passages(records)
    rows = rows[is_standard(rows) | ~rows["prior_is_claim"]]
    tables = []
    for condition, part in (("true passages", rows[is_standard(rows)]), ("false passages", rows[~is_standard(rows)])):
        for ending in PASSAGE_ENDS:
            table = shares(part, part["ending"] == ending, cells(part, ("domain",)), questions_alike=True)
            tables.append(({"condition": condition, "ending": ending}, table.drop(columns="n_missing")))
    return stack(tables)


def biases(records: pd.DataFrame, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """Compute context bias and prior bias, with questions weighted alike.

    Context bias is P(answer = claim | prior right, passage false); prior bias is P(answer = prior | prior wrong,
    passage true).

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    by : sequence of str, default ()
        Columns whose values are compared.

    Returns
    -------
    DataFrame
        One row per model × method × `bias` × cell: `share` with its 95 % interval, `n`, `n_questions` and `n_missing`.
        An item without an answer follows neither and stays in `n`; an item whose prior answer could not be read is
        under neither condition.

    References
    ----------
    ClashEval.
    """
    tables = []
    for names, part in groups.groups(with_matches(records)):
        standard, prior_right = is_standard(part), part["prior_correct"].astype("boolean")
        conditions = {
            "context": ("final_is_claim", ~standard & prior_right.fillna(False)),
            "prior": ("final_is_prior", standard & ~prior_right.fillna(True)),
        }
        for bias, (match, under) in conditions.items():
            rows = part[under.astype(bool)]
            rows = rows.assign(stratum=strata(rows), missing=rows[match].isna())
            table = shares(rows, rows[match].fillna(False), cells(rows, by), questions_alike=True, counts=["missing"])
            tables.append((names | {"bias": bias}, table))
    return stack(tables, ("model", "method", "bias", *by, *groups.COLUMNS_OF_SHARES))


def biases_by(records: pd.DataFrame) -> pd.DataFrame:
    """Compute the biases of few-shot answers by domain, and over all items.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        The rows of `biases`, the last ones with the domain "all".
    """
    rows = records[records["method"] == "few_shot"]
    parts = [biases(rows, by=("domain",)), biases(rows).assign(domain="all")]
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


PER = 100.0  # years
ALL = "all"
FEW_QUESTIONS, FEW_RARE = 20, 10  # below, in all or with the rarer outcome, a cluster-robust interval is too narrow
_SLOPE = ("n", "n_questions", "n_rare", "slope", "low", "high", "p_value", "odds_ratio", "note")


def offset_slopes(records: pd.DataFrame) -> pd.DataFrame:
    """Fit logit P(few-shot answer = claim) = α + β · distance / 100 years, by knowledge category.

    Only year offsets are used. Items whose prior answer equals the claim, and items without an answer, are left out.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per model × category ("all" included): `slope` β in log-odds per 100 years with its 95 % interval,
        clustered on the question, `p_value`, `odds_ratio`, `n`, `n_questions`, and `n_rare` of these with the rarer
        outcome. A negative slope means that claims farther off are followed less. `note` says why there is no slope, or
        what weakens it.

    References
    ----------
    Ours.
    """
    rows = []
    for names, part in groups.groups(_year_answers(records)):
        for category in (*CATEGORY_NAMES, ALL):
            cell = part if category == ALL else part[part["knowledge_category"] == category]
            slope = logistic_slope(cell["offset"].abs() / PER, cell["follows_claim"].astype(bool), cell["question_id"])
            rows.append(names | {"knowledge_category": category} | slope)
    return pd.DataFrame(rows, columns=None if rows else ["model", "method", "knowledge_category", *_SLOPE])


def _year_answers(records: pd.DataFrame) -> pd.DataFrame:
    """Few-shot answers to passages with a year offset whose claim is not the prior answer."""
    rows = perturbed_answers(records)
    return rows[rows["offset"].notna() & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]


def logistic_slope(x: ArrayLike, y: ArrayLike, clusters: ArrayLike) -> dict[str, Any]:
    """Fit the slope of a logistic regression of 0/1 outcomes on one variable.

    Parameters
    ----------
    x : array-like
        The variable.
    y : array-like
        The outcomes, 0 or 1.
    clusters : array-like
        The question of each outcome.

    Returns
    -------
    dict of str to object
        `n`, `n_questions`, `n_rare`, `slope` with its cluster-robust 95 % t interval, `p_value`, `odds_ratio` and
        `note`. If all outcomes or all x are equal, or if x separates the outcomes, the slope is NaN and the note says
        so.
    """
    import statsmodels.api as sm  # takes a second, which the command line would pay at every start

    x, y = np.asarray(x, float), np.asarray(y, bool)
    codes, questions = pd.factorize(np.asarray(clusters))
    n_questions, rare = len(questions), min(len(np.unique(codes[y])), len(np.unique(codes[~y])))
    slope = low = high = p_value = odds_ratio = math.nan
    note = _no_slope(x, y, n_questions)
    if not note:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = sm.Logit(y.astype(float), sm.add_constant(x))
            fit = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
            odds_ratio = float(np.exp(fit.params[1]))  # infinite where x nearly separates the outcomes
        slope, p_value = float(fit.params[1]), float(fit.pvalues[1])
        low, high = map(float, fit.conf_int()[1])
        n, whose = (n_questions, "") if n_questions < FEW_QUESTIONS else (rare, " with the rarer outcome")
        note = f"only {n} questions{whose}: the interval is too narrow" if n < FEW_RARE or not whose else ""
    return dict(zip(_SLOPE, (y.size, n_questions, rare, slope, low, high, p_value, odds_ratio, note), strict=True))


def _no_slope(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], n_questions: int) -> str:
    """Why there is no slope; empty where there is one."""
    if n_questions < 3:
        return "fewer than 3 questions"
    if y.all() or not y.any():
        return "every claim was followed" if y.all() else "no claim was followed"
    if np.ptp(x) == 0:
        return "one offset only"
    return "the offset separates the outcomes" if x[y].max() <= x[~y].min() or x[~y].max() <= x[y].min() else ""


def future_against_past(records: pd.DataFrame) -> Comparison:
    """Compare how often claims about the future and equally distant claims about the past are followed.

    Only questions with an answer to both claims are used, and only if the prior answer equals neither claim.

    Parameters
    ----------
    records : DataFrame
        Records of one model.

    Returns
    -------
    Comparison
        The share for claims after `PRESENT` (a) minus that for the claims as far off in the other direction (b).

    References
    ----------
    Ours.
    """
    rows = _year_answers(records)
    rows = rows.assign(size=rows["offset"].abs(), followed=rows["follows_claim"].astype(float))
    ahead, back = rows[(rows["offset"] > 0) & rows["future"]], rows[rows["offset"] < 0]
    keys = ["question_id", "size"]
    ahead = ahead[[*keys, "item_id", "level", "followed"]].rename(columns={"followed": "a"})
    pairs = ahead.merge(back[[*keys, "followed"]].rename(columns={"followed": "b"}), on=keys)
    pairs.attrs["n_unpaired"] = len(ahead) - len(pairs)
    return compare_pairs(pairs)


def years_beside(rows: pd.DataFrame, other: Results) -> pd.DataFrame:
    """Put the year questions of two runs into one table.

    Parameters
    ----------
    rows : DataFrame
        As returned by `of_results`.
    other : Results
        Another run; its part `years` is used if it has one.

    Returns
    -------
    DataFrame
        The rows about years, those of the other run below.
    """
    both = pd.concat([rows, of_results(other.part("years") or other)], ignore_index=True)
    return both[both["answer_type"] == AnswerType.YEAR].reset_index(drop=True)


# The answer of notebook 03


def answer(results: Results) -> Html:
    """Make the answer box of notebook 03: how many false passages are followed, and what protects.

    Parameters
    ----------
    results : Results
        A run with answers to false passages.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    rows = of_results(results)
    every = context_preference(rows, (), questions_alike=True).query("not prior_is_claim").iloc[0]
    most, least = CATEGORY_NAMES[0], CATEGORY_NAMES[-1]
    far = difference(rows[rows["knowledge_category"] == most], "level", Level.BLATANT, Level.SUBTLE)
    protects = difference(rows, "knowledge_category", most, least)
    return answer_box(
        sentence(
            "with the few-shot prompt, the model follows most false passages",
            every["share"], every["low"], every["high"], every["n_questions"], above=0.5,
        ),
        sentence("it follows fewer false passages about Highly-Known than about Unknown answers, kind by kind",
                 *protects, below=0.0, of="questions in the smaller group"),
        sentence("it follows fewer blatant than subtle false passages about Highly-Known answers", *far,
                 below=0.0, of="questions in the smaller group"),
        label=results.label,
    )  # fmt: skip


def difference(records: pd.DataFrame, column: str, one: str, other: str) -> Estimate:
    """Compare context preference between two values of a column.

    The difference is taken within each kind of answer, because kinds are not read equally well and are not known
    equally often. A kind is weighted by its number of questions; a kind without both sides is left out. Questions weigh
    alike, whether a question has passages on one side or on both.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    column : str
        The column that is compared.
    one : str
        The first value.
    other : str
        The second value.

    Returns
    -------
    Estimate
        The share for `one` minus the share for `other`, with its 95 % interval and the number of questions on the
        smaller side.
    """
    rows = perturbed_answers(records)
    rows = rows[~rows["prior_is_claim"] & rows["follows_claim"].notna() & rows[column].isin([one, other])]
    keys = ["question_id", "kind", column]
    means = rows.astype({"follows_claim": float, column: object}).groupby(keys)["follows_claim"].mean().reset_index()
    sizes = means.groupby(["kind", column]).size().unstack(fill_value=0).reindex(columns=[one, other], fill_value=0)
    sizes = sizes[(sizes > 0).all(axis=1)]
    if sizes.empty:
        return Estimate()
    share = sizes.sum(axis=1) / sizes.to_numpy().sum()
    weights = {f"{kind}/{side}": sign * share[kind] for kind in share.index for side, sign in ((one, 1), (other, -1))}
    means = means[means["kind"].isin(share.index)]
    cell = means["kind"] + "/" + means[column]
    found = contrast_interval(means["follows_claim"], means["question_id"], cell, weights, bounds=(0.0, 1.0))
    return found._replace(n=int(sizes.sum().min()))


# Tables and figures [2, 4, 8]

TOGETHER = "all together"
_PLACE = {name: place for place, name in enumerate([*dict.fromkeys(ANSWER_GROUPS.values()), "other answers"])}
PASSAGE_ENDS = {  # what becomes of a passage, and its colour
    RIGHT: draw.RIGHT_COLOUR, FOLLOWED: draw.FOLLOWED_COLOUR, OTHER: draw.WRONG_COLOUR, MISSING: draw.NO_ANSWER_COLOUR,
}  # fmt: skip


def preference_by(records: pd.DataFrame, by: str = "stratum", *, panel: str = "") -> pd.DataFrame:
    """Tabulate the context preference of few-shot answers along an axis, by knowledge category and panel.

    Questions are weighted alike. Answers whose prior answer is the claim are left out. If a model, panel and category
    has fewer than `FEW` questions at every distance, its distances are pooled as "all together".

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    by : str, default "stratum"
        The column along the axis.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.

    Returns
    -------
    DataFrame
        The rows of `context_preference`, with `n_left_out`.
    """
    keys = [*([panel] if panel not in ("", "model") else []), "knowledge_category"]  # each model is a group of its own
    table, whole = (context_preference(records, names, questions_alike=True) for names in ((by, *keys), keys))
    left_out = int(table.loc[table["prior_is_claim"], "n"].sum())
    table, whole = (each[~each["prior_is_claim"]] for each in (table, whole))
    keys = ["model", *keys]
    most = table.groupby(keys)["n_questions"].max()
    pooled = most[(most < FEW) & (most > 0)].index
    together, apart = (each.set_index(keys).index.isin(pooled) for each in (whole, table))
    parts = [table[~apart].astype({by: object}), whole[together].assign(**{by: TOGETHER})]
    table = pd.concat(parts, ignore_index=True)[table.columns]
    table[by] = pd.Categorical(table[by], table[by].unique())
    return table.assign(n_left_out=left_out)


def draw_preference(table: pd.DataFrame, by: str = "stratum", *, panel: str = "") -> Figure:
    """Draw the share of answers that follow the passage's claim, with 95 % intervals.

    Panels show no curve with fewer than `FEW` questions, unless there is no other.

    Parameters
    ----------
    table : DataFrame
        As returned by `preference_by`.
    by : str, default "stratum"
        The column along the axis.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table[table["n"] > 0] if len(table) else table
    if panel and (rows["n_questions"] >= FEW).any():
        rows = rows[rows[by] != TOGETHER]
    if panel == "kind":
        rows = rows.sort_values("kind", key=lambda kind: kind.map(_PLACE), kind="stable")
    if rows.empty:
        return draw.nothing("no false passage in these records")
    names = [str(value).removeprefix("offset ").replace(" ", "\n") for value in rows[by]]
    in_years = by == "stratum" and all(map(str.isdigit, names))
    rows = rows.assign(**{by: [int(name) for name in names] if in_years else names}).reset_index(drop=True)
    if panel == "model":
        rows["model"] = rows["model"].map(model_called)
    rows, palette = draw.by_category(rows)
    palette = {name: colour for name, colour in palette.items() if name in set(rows["category"])}
    labels = "years off the truth" if in_years else "how far off the claim is", "context preference"
    return draw.lines(rows, by, "share", labels, hue="category", palette=palette, panel=panel, points=True)


def draw_endings(table: pd.DataFrame) -> Figure:
    """Draw what became of true and of false passages, a bar per domain.

    Parameters
    ----------
    table : DataFrame
        As returned by `endings_by`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table.astype({"domain": object})
    return draw.stacked(
        rows, "domain", "share", "ending", ("", "share of questions"), PASSAGE_ENDS, across=True, panel="condition",
        height=0.6 + 0.22 * 2 * rows["domain"].nunique(),
    )  # fmt: skip


def draw_biases(table: pd.DataFrame) -> Figure:
    """Draw context bias and prior bias with 95 % intervals, a row per domain.

    Parameters
    ----------
    table : DataFrame
        As returned by `biases_by`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table.dropna(subset="share").assign(bias=lambda found: found["bias"] + " bias")
    palette = {"context bias": draw.INK, "prior bias": draw.BLUE}
    return draw.rows(rows.reset_index(drop=True), "share", "domain", "share of questions", hue="bias", palette=palette)
