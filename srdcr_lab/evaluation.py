"""Chapter 05: every method against every baseline [4.4]: accuracy, differences, cost, weighted results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.lib import draw, groups
from srdcr_lab.lib.comparison import compare_all
from srdcr_lab.lib.definitions import by_percentile
from srdcr_lab.lib.groups import FEW, FROM_MEMORY, GOLDEN, by_group, group_columns, group_shares, is_standard, names_of
from srdcr_lab.lib.page import Html, interval, number
from srdcr_lab.lib.sentences import SIGNIFICANT, Sentence, and_list, answer_box, sentences
from srdcr_lab.lib.statistics import Estimate, contrast_interval
from srdcr_lab.lib.summary import CALIBRATED, accuracy, conditions_of, costs, in_order, summary
from srdcr_lab.preference import FOLLOWED, MISSING, OTHER, PASSAGE_ENDS, RIGHT, with_claims
from srdcr_lab.records import BadInput, Decision, Missing
from srdcr_lab.records.names import COLOURS, CONDITION_LABELS, called, model_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

MAIN_METHODS = ("few_shot", "confidence_only", "calibrated_token_probability", "debate_only", "sr_dcr", GOLDEN)
FALSE_PASSAGE_ENDS = {"right": RIGHT, "followed": FOLLOWED, "other": OTHER, "missing": MISSING}


def of_acvd(results: Results, *methods: str) -> pd.DataFrame:
    """Select the records of a study under the paper's debate.

    Parameters
    ----------
    results : Results
        A finished run.
    *methods : str
        Methods that must have been run.

    Returns
    -------
    DataFrame
        The rows of the design `acvd` and those of methods without a design; if SR-DCR was also run with a Judge who
        hears no debate or a single critique, these rows are methods of their own, such as ``sr_dcr (judge_alone)``.

    Raises
    ------
    BadInput
        One of the methods was not run.
    """
    records, ran, design = results.records, results.records["method"], results.records["design"]
    apart = ran.eq("sr_dcr") & design.isin(["judge_alone", "one_critique"])
    named = records.assign(method=ran.mask(apart, "sr_dcr (" + design + ")"), design=design.mask(apart))
    records = groups.of_design(named, "acvd")
    for method in methods:
        if not (records["method"] == method).any():
            elsewhere = method in set(results.records["method"])  # under another design
            command = f"srdcr run --methods {','.join(methods)}" + " --design acvd" * elsewhere
            rows = called(method, "acvd" if elsewhere else None)
            raise BadInput(f"this run has no rows of {rows}; {command} makes them")
    return records


def answer_in_brief(results: Results) -> Html:
    """Make the answer box of notebook 00: few-shot, and what SR-DCR and Confidence Only change.

    Parameters
    ----------
    results : Results
        A run of few-shot, Confidence Only and SR-DCR.

    Returns
    -------
    Html
        The answer box of the notebook.

    Raises
    ------
    BadInput
        One of the methods was not run.
    """
    records = of_acvd(results, "few_shot", "confidence_only", "sr_dcr")
    table = summary(records)
    few = table[table["method"] == "few_shot"].set_index("condition")
    n, there = records["question_id"].nunique(), conditions_of(records)
    right = " and ".join(
        f"on {interval(*few.loc[half, ['accuracy', 'accuracy_low', 'accuracy_high']])} of the {CONDITION_LABELS[half]}"
        for half in there[:2]
    )
    return answer_box(
        f"With the passage in its prompt (Few-Shot), the model is right {right} (n = {n} questions).",
        *([_NO_LIES] if len(there) == 1 else []),
        _ahead(records, "sr_dcr", "few_shot", there),
        _ahead(records, "confidence_only", "sr_dcr", there[-1:]),
        "No claim here is corrected for the others; notebook 05 compares all methods, with a correction.",
        label=results.label,
    )


_NO_LIES = "All passages are true, or all are false, so the two are not compared; lab.perturb makes true ones false."


def answer(results: Results, real: Results | None = None) -> Html:
    """Make the answer box of notebook 05: SR-DCR against few-shot and against confidence alone, and its cost.

    Parameters
    ----------
    results : Results
        A run of few-shot, Confidence Only and SR-DCR.
    real : Results, optional
        The study of a real model, for a sentence on how SR-DCR compares there.

    Returns
    -------
    Html
        The answer box of the notebook.

    Raises
    ------
    BadInput
        One of the methods was not run.
    """
    shown = ("few_shot", "confidence_only", "sr_dcr")
    records = of_acvd(results, *shown)
    calls = records.groupby("method")["calls_alone"].mean().astype(float)
    price = ", ".join(f"{called(name)} {number(calls[name], '.0f')}" for name in shown)
    compared = compare_all(records, conditions=(there := conditions_of(records)))
    few, confident = (compared[compared["b"] == b] for b in ("few_shot", "confidence_only"))
    against: dict[str, Any] = {"column": "difference", "by": ["condition"], "n": "n_questions"}
    other = sentences("SR-DCR is right less often than Confidence Only", confident, below=0.0, **against)
    mean = summary(groups.with_memory(records), intervals=False).query("condition == @there[-1]").set_index("method")
    given = ", ".join(
        f"{called(name)} {mean.loc[name, 'coverage']:.0%} and {number(mean.loc[name, 'selective_accuracy'])}"
        for name in pd.Index(["few_shot", "sr_dcr", FROM_MEMORY]).intersection(mean.index, sort=False)
    )
    of = CONDITION_LABELS[there[0]] if len(there) == 1 else "means of true and false passages"
    ranked = among_all(compared)
    if real is not None:
        rows = of_acvd(real)
        name = f"{model_called(rows['model'].iloc[0])} ({'chosen ' if real.chosen else ''}questions of another study)"
        said = among_all(compare_all(rows, conditions=conditions_of(rows)))
        ranked += f" With {name}, {said[0].lower()}{said[1:]}"
    return answer_box(
        *([_NO_LIES] if len(there) == 1 else []),
        sentences("SR-DCR is right more often than Few-Shot", few, **against),
        Sentence(f"{other} Calls an item: {price}. Coverage and accuracy of answers ({of}): {given}."),
        ranked,
        label=results.label,
    )  # fmt: skip


def _ahead(records: pd.DataFrame, a: str, b: str, conditions: Sequence[str]) -> str:
    table = compare_all(records, a, others=[b], conditions=conditions).drop(columns="p_holm")
    claim = "{a} is right more often than {b}"
    return sentences(claim, table, "difference", by=["condition"], n="n_questions")


def among_all(compared: pd.DataFrame) -> str:
    """Say which other methods SR-DCR is ahead of, and behind, after Holm's correction.

    Fewer than ten questions decide nothing.

    Parameters
    ----------
    compared : DataFrame
        As returned by `compare_all`.

    Returns
    -------
    str
        One sentence on the last condition: the mean of true and false passages, or the only kind that there is.
    """
    rivals = compared[compared["condition"].isin(compared["condition"][-1:]) & (compared["b"] != GOLDEN)]
    if rivals.empty:
        return "No other method was run, so SR-DCR is compared with none."
    decided = rivals[(rivals["p_holm"] < SIGNIFICANT) & (rivals["n_questions"] >= FEW)]
    ahead, behind = ([called(b) for b in decided.loc[sign * decided["difference"] > 0, "b"]] for sign in (1, -1))
    condition = rivals["condition"].iloc[0]
    by = "by the mean of true and false passages" if condition == "overall" else f"on {CONDITION_LABELS[condition]}"
    if len(rivals) == 1:
        stands = "ahead of it" if ahead else "behind it" if behind else "neither clearly ahead of it nor behind it"
        return f"The only other method is {called(rivals['b'].iloc[0])}; SR-DCR is {stands}, {by}."
    if not ahead and not behind:
        return f"All {len(rivals)} comparisons with other methods, {by}, are inconclusive (Holm-corrected)."
    stands = f"SR-DCR is ahead of {and_list(ahead)} and behind {and_list(behind)}"
    return f"Compared with {len(rivals)} other methods {by}, {stands}; the rest are inconclusive (Holm-corrected)."


def false_passages(records: pd.DataFrame, methods: Sequence[str] = MAIN_METHODS) -> pd.DataFrame:
    """Tabulate what becomes of false passages.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    methods : sequence of str, default MAIN_METHODS
        The methods that are compared.

    Returns
    -------
    DataFrame
        One row per model × method × `end` (right, followed, other, missing), with the columns of `shares` over all
        items with a false passage.
    """
    rows = with_claims(records[records["method"].isin(methods) & ~is_standard(records)])
    each = rows.merge(pd.DataFrame({"end": list(FALSE_PASSAGE_ENDS)}), how="cross")
    return group_shares(each, each["ending"] == each["end"].map(FALSE_PASSAGE_ENDS), {"end": [*FALSE_PASSAGE_ENDS]})


def weighted_back(records: pd.DataFrame, weights: pd.DataFrame) -> pd.DataFrame:
    """Compute overall accuracy and coverage, as measured and weighted back to the questions of the first pass.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    weights : DataFrame
        One row per chosen question, as `Results.weights`: `question_id`; `knowledge_category`, by which it was chosen
        (possibly of another model: how likely a question was chosen is the same for any model's answers);
        `share_first_pass`, the share of that category among all questions, taken as known.

    Returns
    -------
    DataFrame
        One row per group: `accuracy` and `coverage`, the same as `weighted` and `coverage_weighted`, with 95 %
        intervals over the questions of each category. Calibrated token probability decides anew, by weighted ranks.
    """
    rows, of = _weighed(records, weights)

    def both(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        row = accuracy(part["correct"], part["question_id"], is_standard(part))
        row = {name: row[name] for name in ("n", "coverage", "accuracy", "accuracy_low", "accuracy_high")}
        row["coverage_weighted"] = _mean_of_cells(part["weighted_right"].notna(), part, of, (0, 1)).value
        yield row | _mean_of_cells(part["weighted_right"].fillna(False), part, of, (0, 1)).columns("weighted")

    return by_group(rows, both)


def weighted_leads(records: pd.DataFrame, weights: pd.DataFrame, a: str = "sr_dcr") -> pd.DataFrame:
    """Compare overall accuracy with every other method, weighted as in `weighted_back`.

    Parameters
    ----------
    records : DataFrame
        Records of one model.
    weights : DataFrame
        One row per chosen question, as `Results.weights`.
    a : str, default "sr_dcr"
        The method that is compared with the others.

    Returns
    -------
    DataFrame
        One row per other method `b`: `difference` (a − b) over the items that both have, paired, with its 95 % interval
        over questions; `n` and `n_questions`; `changes_at`, the share of false passages at which the two are equal, NaN
        if there is none.
    """
    weighed, of = _weighed(records, weights)
    right = weighed["weighted_right"].fillna(False).astype(float)
    own = right[records["method"] == a].set_axis(records.loc[records["method"] == a, "item_id"])
    rows = []
    for b in records.loc[records["method"] != a, "method"].unique():
        part = weighed[(records["method"] == b) & records["item_id"].isin(own.index)]
        lead = part["item_id"].map(own) - right[part.index]
        gap = _mean_of_cells(lead, part, of, (-1, 1))
        halves = ({cell: share for cell, share in of.items() if cell.endswith(side)} for side in ("true", "false"))
        of_halves = [_mean_of_cells(lead, part, half, (-1, 1)).value for half in halves]
        sizes = {"n": len(part), "n_questions": part["question_id"].nunique(), "changes_at": changes_at(*of_halves)}
        rows.append({"a": a, "b": b} | gap.columns("difference", alone=True) | sizes)
    return pd.DataFrame(rows)


def _weighed(records: pd.DataFrame, weights: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """The records with the `category` by which each question was chosen, its `cell` (the category, with true or false
    passages) and `weighted_right`; and what each cell weighs: half of the category's share of the first pass, of the
    categories that are there."""
    category = records["question_id"].map(weights.set_index("question_id")["knowledge_category"]).astype(object)
    here = weights[weights["question_id"].isin(records["question_id"])].dropna(subset="knowledge_category")
    share = here.groupby(here["knowledge_category"].astype(str))["share_first_pass"].first()
    share = share / share.sum()
    weight = category.map(share / records["question_id"].groupby(category).nunique()).astype(float)
    right = _right_by_weighted_ranks(records, weight)
    cell = category + ", " + is_standard(records).map({True: "true", False: "false"})
    of = {f"{name}, {side}": value / 2 for name, value in share.items() for side in ("true", "false")}
    return records.assign(category=category, cell=cell, weighted_right=right), of


def _right_by_weighted_ranks(records: pd.DataFrame, weight: pd.Series) -> pd.Series:
    """Whether each row is right, with the decisions of calibrated token probability by weighted ranks."""
    right = records["correct"].astype("boolean")
    ranked = records[(records["method"] == CALIBRATED) & weight.notna()]
    for _, part in ranked.groupby([name for name in ("run", "model") if name in records], observed=True):
        part = part[~(part["missing"] == Missing.ERROR).fillna(False).astype(bool)]
        of_prior, of_context = (part[f"{side}_confidence"].astype(float) for side in ("self", "context"))
        decision = pd.Series(by_percentile(part["question_id"], of_prior, of_context, weight[part.index]), part.index)
        context = part["context_correct"].where(decision == Decision.USE_CONTEXT)
        right[part.index] = part["prior_correct"].where(decision == Decision.USE_PRIOR, context).astype("boolean")
    return right


def _mean_of_cells(values: pd.Series, rows: pd.DataFrame, of: dict[str, float], bounds: tuple[int, int]) -> Estimate:
    """The mean of a value of each row, each cell weighed as `of` says."""
    return contrast_interval(values, rows["question_id"], rows["cell"], of, bounds=bounds, groups=rows["category"])


def cost_accuracy(records: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the cost and the overall accuracy of each method, and which methods are on their model's Pareto front.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per group, with `cost` (tokens an item), `accuracy` and `on_front`. The golden baseline knows the truth
        and is never on the front.
    """
    keys = group_columns(records)
    shown = [*keys, "coverage", *(f"{name}{end}" for name in _MEASURES for end in ("", "_low", "_high")), "n"]
    accuracies = summary(records)
    accuracies = accuracies.loc[accuracies["condition"] == "overall", shown]
    spent = costs(records).rename(columns={"tokens": "cost"})
    table = accuracies.merge(spent[[*keys, "cost"]], on=keys).assign(on_front=False)
    models = [name for name in ("run", "model") if name in keys]
    for _, rows in table[table["method"] != GOLDEN].groupby(models, sort=False, observed=True):
        table.loc[rows.index, "on_front"] = pareto_front(rows["cost"], rows["accuracy"])
    return table.assign(cost_of="tokens_per_item", condition="overall")


_MEASURES = ("accuracy", "selective_accuracy")


def pareto_front(cost: ArrayLike, benefit: ArrayLike) -> NDArray[np.bool_]:
    """Find the points that no other point dominates.

    Parameters
    ----------
    cost : array-like
        The costs.
    benefit : array-like
        The benefits.

    Returns
    -------
    ndarray of bool
        True if no other point costs at most as much and is at least as good, one of the two strictly; False for NaN.

    Examples
    --------
    >>> pareto_front([1, 2, 2], [0.5, 0.7, 0.6]).tolist()
    [True, True, False]
    """
    price, good = np.asarray(cost, float), np.asarray(benefit, float)
    cheaper, better = price[:, None] <= price, good[:, None] >= good
    strictly = (price[:, None] < price) | (good[:, None] > good)
    known = ~np.isnan(price) & ~np.isnan(good)
    return np.asarray(known & ~(cheaper & better & strictly).any(axis=0))


def changes_at(of_true: float, of_false: float) -> float:
    """Compute the share of false passages at which a difference is 0.

    Parameters
    ----------
    of_true : float
        Mean difference on true passages.
    of_false : float
        Mean difference on false passages.

    Returns
    -------
    float
        The share; NaN if both differences have the same sign, or both are 0.

    Examples
    --------
    >>> changes_at(-0.1, 0.3)
    0.25
    """
    return abs(of_true / (of_true - of_false)) if of_true * of_false <= 0 and of_true != of_false else math.nan


def draw_false_passages(table: pd.DataFrame) -> Figure:
    """Draw what becomes of false passages, a bar per method and a panel per model.

    A method that never answers has no bar.

    Parameters
    ----------
    table : DataFrame
        As returned by `false_passages`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing("no false passages here")
    table = in_order(table)
    keys = [table[name] for name in ("run", "model", "method", "design") if name in table]
    silent = table["share"].where(table["end"] == "missing").groupby(keys, dropna=False).transform("max")
    table = table.assign(share=table["share"].mask(silent == 1, 0.0), model=table["model"].map(model_called))
    rows = table.assign(method=names_of(table), end=table["end"].map(FALSE_PASSAGE_ENDS))
    return draw.stacked(
        rows, "method", "share", "end", ("", "share of false passages"), PASSAGE_ENDS, across=True, panel="model",
        height=0.8 + 0.24 * len(table) / len(PASSAGE_ENDS), empty="no answers",
    )  # fmt: skip


def draw_accuracy(summary: pd.DataFrame) -> Figure:
    """Draw the accuracy of each method on true passages, on false passages and their mean, with 95 % intervals.

    Hollow marks are accuracies of the answers given.

    Parameters
    ----------
    summary : DataFrame
        As `Results.summary`, of one model.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = in_order(summary)
    rows = rows.assign(name=names_of(rows), panel=rows["condition"].map(CONDITION_LABELS))
    keys = [draw.key("a missing answer is wrong"), draw.key("of the answers given", filled=False)]
    return draw.rows(
        rows, "accuracy", "name", "accuracy", panel="panel", hollow="selective_accuracy", few="items", keys=keys
    )


def draw_comparisons(table: pd.DataFrame) -> Figure:
    """Draw the difference in accuracy between the reference and each other method.

    Parameters
    ----------
    table : DataFrame
        As returned by `compare_all`, of one model.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = in_order(table[(table["n"] > 0) & (table["b"] != GOLDEN)], "b")
    label = f"accuracy: {' and '.join(map(called, rows['a'].unique()))} minus each method"
    return draw.differences(rows.assign(name=rows["b"].map(called)), label)


def draw_cost(table: pd.DataFrame) -> Figure:
    """Draw the accuracy of each method in the order of cost; dark methods are on the Pareto front.

    The golden baseline, which is not compared, has the last row; SR-DCR's name has its colour.

    Parameters
    ----------
    table : DataFrame
        As returned by `cost_accuracy`, of one model.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table.dropna(subset=["cost", "accuracy"]).assign(golden=table["method"] == GOLDEN)
    rows = rows.sort_values(["golden", "cost"], kind="stable", ignore_index=True)
    if rows.empty:
        return draw.nothing("no method with a known cost")
    pairs = zip(names_of(rows), rows["cost"], strict=True)
    rows["name"] = [f"{name}  ({cost:{',.0f' if cost >= 10 else '.2g'}})" for name, cost in pairs]
    fronts = {True: "nothing better at its price", False: "beaten at its price"}
    rows["front"] = rows["on_front"].astype(bool).map(fronts).mask(rows["golden"], called(GOLDEN))
    known = dict.fromkeys(rows.loc[rows["golden"], "front"], COLOURS[GOLDEN])
    palette = {fronts[True]: draw.INK, fronts[False]: draw.GREY} | known
    note = "in brackets: tokens per item" + "; below the line: knows the truth" * len(known)
    made = draw.rows(rows, "accuracy", "name", "mean accuracy", hue="front", palette=palette, few="items", note=note)
    for label, method in zip(made.axes[0].get_yticklabels(), rows["method"], strict=True):
        label.set_color(COLOURS[method] if method == "sr_dcr" else draw.INK)
    return draw.line_at(made, y=(~rows["golden"]).sum() - 0.5)
