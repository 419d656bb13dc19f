"""Chapter 01: what a model knows: knowledge categories [2.2, Table 3] and their stability under other draws.

Figures are seaborn specifications over the tables of this chapter; each table can be had without its figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.figure import Figure
from numpy.typing import NDArray

from srdcr_lab.lib import definitions, draw, statistics
from srdcr_lab.lib.definitions import CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, categorise, category_counts
from srdcr_lab.lib.draw import CATEGORY_COLOURS
from srdcr_lab.lib.groups import CATEGORY_NAMES, FEW, of_several
from srdcr_lab.lib.interactive import Interactive, Slider, bars, sliding
from srdcr_lab.lib.page import Html, interval
from srdcr_lab.lib.sentences import answer_box
from srdcr_lab.lib.statistics import Estimate, clustered_interval, contrast_interval, macro_mean, shares
from srdcr_lab.records import BadInput
from srdcr_lab.records.names import CATEGORY_LABELS

if TYPE_CHECKING:
    from srdcr_lab.study import Results

ALL_DOMAINS, ALL_CATEGORIES = "all domains", "all"
SIZES = (4, 8, 12, 16, 20, 24, 28, 32)  # of the knowledge draws
_BOUNDS = np.linspace(0.05, 1, 20).round(2)  # that a slider offers


def answer(results: Results) -> Html:
    """Make the answer box of notebook 01: what is known, where most and least, and how stable that is.

    Parameters
    ----------
    results : Results
        A run whose questions have knowledge draws.

    Returns
    -------
    Html
        The answer box of the notebook.

    Raises
    ------
    BadInput
        The run drew no answers without the passage.
    """
    questions = results.known.questions
    if not questions["n_samples"].gt(0).any():
        raise BadInput("this run drew no answers without the passage; srdcr run … --samples 32 draws them")
    table = categories_by_domain(questions)
    known = table[table["knowledge_category"] == CATEGORIES[0]].set_index("domain")
    total = known.iloc[-1]  # all domains, or the only one
    unknown = table[table["knowledge_category"] == CATEGORIES[-1]].iloc[-1]
    domains = known.drop(index=ALL_DOMAINS, errors="ignore").sort_values("share")
    domains = domains[domains["n"] >= FEW]
    ends = [f"{name} {interval(row.share, row.low, row.high)}" for name, row in domains.iterrows()]
    where = f"No two domains have {FEW} questions each, so domains are not compared."
    if len(ends) > 1:
        where = (
            f"By domain the share of Highly-Known runs from {ends[0]} to {ends[-1]}, the lowest and the highest here."
        )
    with_one, most = questions[questions["sampled_accuracy"] > 0], int(questions["n_samples"].max())
    stable = mean_stability(with_one, **results.known.bounds)
    shown = [interval(row["share"], row["low"], row["high"]) for row in (total, unknown)]
    return answer_box(
        f"Of {total['n']:,} questions, {shown[0]} are Highly-Known and {shown[1]} Unknown (no right answer in "
        f"{most} draws).",
        where,
        f"Of the {stable.n} questions with a right draw, two sets of {most // 2} draws give the same category with "
        f"probability {stable} on average.",
        label=results.label,
    )


def subset_shares(n: int, size: int) -> NDArray[np.float64]:
    """Compute P(j right in a subset of `size` draws | k of n right), drawn without replacement.

    Parameters
    ----------
    n : int
        Number of draws per question.
    size : int
        Number of draws in the subset, from 1 to `n`.

    Returns
    -------
    ndarray of shape (n + 1, size + 1)
        The probability at [k, j] (hypergeometric).

    Examples
    --------
    >>> subset_shares(2, 1).round(2).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(np.arange(size + 1), n, np.arange(n + 1)[:, None], size))


def subset_categories(n: int, size: int, **bounds: float) -> NDArray[np.float64]:
    """Compute P(category c from a subset of `size` draws | k of n right).

    Parameters
    ----------
    n : int
        Number of draws per question.
    size : int
        Number of draws in the subset, from 1 to `n`.
    **bounds : float
        `highly_from` and `maybe_from`, the bounds of the categories (0.85 and 0.30 in the paper).

    Returns
    -------
    ndarray of shape (n + 1, 4)
        The probability at [k, c], with categories in the order of `CATEGORIES`.
    """
    probabilities = subset_shares(n, size)
    labels = category_counts(size, **bounds)
    return np.stack([probabilities[:, labels == c].sum(axis=1) for c in range(len(CATEGORIES))], axis=1)


def categories_by_draws(questions: pd.DataFrame, sizes: Sequence[int] = SIZES, **bounds: float) -> pd.DataFrame:
    """Compare the categories that fewer draws would give with those of all draws.

    All numbers are expectations over subsets of the draws at hand, taken without replacement. A question counts at
    every size up to its number of draws.

    Parameters
    ----------
    questions : DataFrame
        One row per question, with `sampled_accuracy` and `n_samples`.
    sizes : sequence of int, default SIZES
        Sizes of the subsets.
    **bounds : float
        `highly_from` and `maybe_from`, the bounds of the categories, as `Results.bounds`.

    Returns
    -------
    DataFrame
        One row per size × category of all draws ("all" included): `n` questions in that category; `agreement`, the
        share of subsets that give them the same category; `share`, the share of all questions that a subset of this
        size puts into the category.

    References
    ----------
    Ours.
    """
    n = questions["n_samples"].to_numpy(float, na_value=0).astype(int)
    right = np.rint(questions["sampled_accuracy"].to_numpy(float, na_value=0) * n).astype(int)
    rows = []
    for size in sizes:
        label, probability = [np.array([], int)], [np.empty((0, len(CATEGORIES)))]
        for n_draws in np.unique(n[n >= size]):
            k = right[n == n_draws]
            label.append(category_counts(n_draws, **bounds)[k])
            probability.append(subset_categories(n_draws, size, **bounds)[k])
        category, by_subsets = np.concatenate(label), np.concatenate(probability)
        same = by_subsets[np.arange(category.size), category]
        for c, named in enumerate(CATEGORIES):
            of = same[category == c]
            rows.append((size, named.value, of.size, macro_mean(of), macro_mean(by_subsets[:, c])))
        rows.append((size, ALL_CATEGORIES, same.size, macro_mean(same), 1.0 if same.size else np.nan))
    return pd.DataFrame(rows, columns=["size", "knowledge_category", "n", "agreement", "share"])


def categories_by_domain(questions: pd.DataFrame, **bounds: float) -> pd.DataFrame:
    """Count the questions of each domain, and of all domains together, in each category.

    Parameters
    ----------
    questions : DataFrame
        One row per question, with `domain` and `knowledge_category`.
    **bounds : float
        `highly_from` and `maybe_from`: other bounds than the run's, which take the category from `sampled_accuracy`.

    Returns
    -------
    DataFrame
        One row per domain × category: `n_category` of the `n` questions with a category, their `share` with a 95 %
        Jeffreys interval (`low`, `high`), and `n_missing`, the questions without a category.

    References
    ----------
    Paper, section 2.2 and Table 3.
    """
    place = pd.Categorical(definitions.one_row_each(questions)["knowledge_category"], CATEGORY_NAMES).codes
    if bounds:
        place = categorise(questions["sampled_accuracy"].to_numpy(float, na_value=np.nan), **bounds)
    codes, names = pd.factorize(questions["domain"])
    counts = np.zeros((len(names), 1 + len(CATEGORIES)), int)  # the last column: without a category, which is at −1
    np.add.at(counts, (codes, place), 1)
    domains = list(names)
    if len(domains) != 1:
        counts, domains = np.vstack([counts, counts.sum(axis=0)]), [*domains, ALL_DOMAINS]
    n = counts[:, :-1].sum(axis=1).repeat(len(CATEGORIES))
    table = pd.DataFrame({
        "domain": np.repeat(domains, len(CATEGORIES)),
        "knowledge_category": [category.value for category in CATEGORIES] * len(domains),
        "n_category": counts[:, :-1].ravel(), "n": n, "n_missing": counts[:, -1].repeat(len(CATEGORIES)),
    })  # fmt: skip
    low, high = statistics.jeffreys_interval(table["n_category"], n)
    return table.assign(share=table["n_category"] / np.where(n > 0, n, np.nan), low=low, high=high)


def outcomes_of_draws(questions: pd.DataFrame) -> pd.DataFrame:
    """List each distinct outcome of the knowledge draws.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.

    Returns
    -------
    DataFrame
        One row per outcome: `n_samples`, `sampled_accuracy`, `knowledge_category`, `redraw_stability` and
        `n_questions`. Questions without draws are left out.
    """
    keys = ["n_samples", "sampled_accuracy", "knowledge_category"]
    outcomes = questions.dropna(subset=["sampled_accuracy"]).groupby(keys, observed=True)["redraw_stability"]
    return outcomes.agg(redraw_stability="first", n_questions="size").reset_index()


def within_category(questions: pd.DataFrame, **bounds: float) -> pd.DataFrame:
    """Compute the share of questions whose whole interval of sampled accuracy lies in one category.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.
    **bounds : float
        `highly_from` and `maybe_from`, the bounds of the categories, as `Results.bounds`.

    Returns
    -------
    DataFrame
        One row, as `shares` returns it. Weakly-Known and Unknown count as one category here, and questions without
        draws are in `n_missing`.
    """
    low, high = (categorise(questions[f"accuracy_{end}"], **bounds).clip(max=2) for end in ("low", "high"))
    within = pd.Series(low == high, questions.index, "boolean")
    return shares(questions, within.mask(questions["sampled_accuracy"].isna()))


def mean_stability(questions: pd.DataFrame, **bounds: float) -> Estimate:
    """Estimate how often two sets of half the draws give a question the same category.

    The two halves of the draws at hand are such sets, and every way of halving them counts. The mean of
    `redraw_stability` rests on a prior instead.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.
    **bounds : float
        `highly_from` and `maybe_from`, the bounds of the categories, as `Results.bounds`.

    Returns
    -------
    Estimate
        The mean over the questions with two draws or more.

    References
    ----------
    Ours.
    """
    known = questions[questions["n_samples"] > 1]
    same = pd.Series(np.nan, known.index)
    for n, part in known.groupby("n_samples"):
        half, one, right = n // 2, np.arange(n // 2 + 1), np.arange(n + 1)[:, None]
        alike = categorise(one / half, **bounds) == categorise((right - one) / (n - half), **bounds)
        n_right = (part["sampled_accuracy"].astype(float) * n).round().astype(int)
        same[part.index] = (subset_shares(n, half) * alike).sum(axis=1)[n_right]
    return clustered_interval(same, known["question_id"])


def known_better(questions: pd.DataFrame, other: pd.DataFrame) -> Estimate:
    """Compare the share of Highly-Known questions with that of another model.

    Parameters
    ----------
    questions : DataFrame
        One row per question of the first model.
    other : DataFrame
        One row per question of the second model.

    Returns
    -------
    Estimate
        The first share minus the second, over the questions with a category for both models.
    """
    names = ["knowledge_category", "knowledge_category_other"]
    both = questions.merge(other, on="question_id", suffixes=("", "_other")).dropna(subset=names)
    here, there = ((both[name] == CATEGORIES[0]).astype(float) for name in names)
    return contrast_interval(here - there, both["question_id"], np.zeros(len(both)), {0.0: 1.0})


def by_model(several: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute the share of all questions in each category for several models.

    Parameters
    ----------
    several : mapping of str to DataFrame
        Name of a model → its questions.

    Returns
    -------
    DataFrame
        The rows of `categories_by_domain` for all domains together, with the column `model`.
    """
    return of_several(several, lambda each: categories_by_domain(each.assign(domain=ALL_DOMAINS)), "model")


def draw_categories(table: pd.DataFrame, by: str = "domain") -> Figure:
    """Draw the share of questions in each category, a bar per value of `by`.

    Parameters
    ----------
    table : DataFrame
        As returned by `categories_by_domain`.
    by : str, default "domain"
        The column with one bar per value.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows, palette = draw.by_category(table)
    return draw.stacked(rows, by, "share", "category", ("", "share of questions"), palette, across=True, n="n")


def draw_draws(table: pd.DataFrame) -> Figure:
    """Draw what fewer draws would give: agreement with all draws, and the share of each category.

    Parameters
    ----------
    table : DataFrame
        As returned by `categories_by_draws`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    names = {"agreement": "same category as all draws", "share": "share of questions"}
    rows = table.melt(["size", "knowledge_category"], [*names], "panel", "value").dropna(subset="value")
    always = (rows["panel"] == "agreement") & (rows["knowledge_category"] == CATEGORIES[-1])
    rows, palette = draw.by_category(rows[~always].replace({"panel": names}))
    labels, note = ("draws per question", "share"), "left without Unknown, which is 1 there by construction"
    look: dict[str, Any] = {"hue": "category", "palette": palette, "panel": "panel", "points": True, "note": note}
    return draw.lines(rows.reset_index(drop=True), "size", "value", labels, **look)


def draw_redraws(outcomes: pd.DataFrame, highly_from: float = 0.85, maybe_from: float = 0.30) -> Figure:
    """Draw P(same category on a redraw) at each sampled accuracy; larger points stand for more questions.

    Parameters
    ----------
    outcomes : DataFrame
        As returned by `outcomes_of_draws`.
    highly_from, maybe_from : float, default 0.85 and 0.3
        The bounds of the categories, as `Results.bounds`, where lines are drawn.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows, palette = draw.by_category(outcomes)
    size = "n_questions" if outcomes["n_questions"].nunique() > 1 else None
    plot = so.Plot(rows, x="sampled_accuracy", y="redraw_stability", color="category", pointsize=size)
    plot = plot.add(so.Dot(alpha=0.8)).limit(x=(-0.05, 1.05), y=(0, 1.08))
    plot = plot.scale(color=draw.scale(palette), pointsize=(4, 14))
    n = f"{outcomes['n_samples'].max():.0f}" if outcomes["n_samples"].nunique() == 1 else "all"
    plot = plot.label(x=f"share of right answers in {n} draws", y="P(same category on a redraw)")
    keys = draw.count_keys(outcomes["n_questions"], (4, 14)) if size else []
    made = draw.figure(plot, 3.0, keys=keys, note="dashed: bounds of the categories")
    return draw.line_at(draw.line_at(made, x=maybe_from), x=highly_from)


def category_thresholds(questions: pd.DataFrame, label: str = "") -> Interactive:
    """Make sliders for the bounds of Highly-Known and Maybe-Known.

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.
    label : str, default ""
        The models behind the numbers, as `Results.label`.

    Returns
    -------
    Interactive
        The widget; `save(path)` writes it as a page that needs no kernel.

    References
    ----------
    Paper, section 2.2 and Table 3 (bounds 0.85 and 0.30).
    """
    tables, palette = [], {CATEGORY_LABELS[name]: colour for name, colour in CATEGORY_COLOURS.items()}
    look = {"width": 640, "height": {"step": 38}}
    for highly, maybe in product(_BOUNDS, repeat=2):
        table = categories_by_domain(questions, highly_from=highly, maybe_from=min(maybe, highly))
        table = table.assign(category=np.tile(range(len(palette)), len(table) // len(palette)))
        table = table.loc[table["n_category"] > 0, ["domain", "category", "n_category", "share", "low", "high"]]
        tables.append(table.round(3).assign(highly=highly, maybe=maybe))
    controls = [
        Slider("highly", "Highly-Known from", HIGHLY_KNOWN_FROM, 0.05, 1.0, 0.05),
        Slider("maybe", "Maybe-Known from (at most the one above)", MAYBE_KNOWN_FROM, 0.05, 1.0, 0.05),
    ]

    def drawn(charts: Any) -> Any:
        return bars(charts["bars"], "domain", "category", "n_category", palette, title="share of questions", look=look)

    whole, paper = pd.concat(tables, ignore_index=True), {"highly": HIGHLY_KNOWN_FROM, "maybe": MAYBE_KNOWN_FROM}
    title = "Questions of each domain by category"
    return sliding({"bars": whole}, drawn, controls, title=title, note=label, reset=paper)
