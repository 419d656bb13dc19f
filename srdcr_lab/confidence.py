"""Chapter 02: what confidence says about knowledge, P(Highly-Known | Conf ≥ τ) [4.2]."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import bdtrc

from srdcr_lab.lib import draw
from srdcr_lab.lib.calibration import PrecisionSteps, ece, known_pairs, reliability_curve
from srdcr_lab.lib.calibration import auroc as auroc
from srdcr_lab.lib.calibration import auroc_gain as auroc_gain
from srdcr_lab.lib.calibration import precision_steps as precision_steps
from srdcr_lab.lib.definitions import PAPER_TAU, highly_known
from srdcr_lab.lib.gating import FinalAnswers, decided, decisions_by_condition
from srdcr_lab.lib.groups import of_design, of_several, stack
from srdcr_lab.lib.interactive import Choice, Interactive, Slider, bars, sliding
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import Sentence, answer_box, sentence, sentences
from srdcr_lab.lib.statistics import Estimate, jeffreys_interval, jeffreys_share, rank_correlation
from srdcr_lab.records import BadInput, ConfidenceKind, Decision, Missing
from srdcr_lab.records.names import category_called, kind_called
from srdcr_lab.records.vocabulary import did_you_mean

if TYPE_CHECKING:
    from srdcr_lab.study import Results

_MANY = 10**9  # more questions than anybody asks


def answer(results: Results) -> Html:
    """Make the answer box of notebook 02: whether confidence ranks questions, and whether it is a probability.

    Parameters
    ----------
    results : Results
        A run with self-confidence.

    Returns
    -------
    Html
        The answer box of the notebook.

    Raises
    ------
    BadInput
        The run measured no confidence.
    """
    questions = _confident(results)
    confidence, tau = questions["self_confidence"], results.manifest["asked"]["choices"]["tau"]
    ranks = auroc(confidence, questions["prior_correct"])
    above = precision_steps(confidence, questions["prior_correct"]).at(tau)
    off = ece(confidence, questions["prior_correct"])
    return answer_box(
        sentence("confidence is higher where the answer from memory is right (AUROC)", *ranks, above=0.5),
        sentence(f"most answers from memory with confidence of at least {tau:.2f} are right", *above.precision,
                 above=0.5, of="questions above τ"),
        sentence("the calibration error of confidence (ECE) is below 0.10, a bound of ours", *off, below=0.1),
        label=results.label,
    )  # fmt: skip


def measured(results: Results, *kinds: str) -> list[Results]:
    """Collect the results under several kinds of confidence.

    Parameters
    ----------
    results : Results
        A run; its own kind comes first.
    *kinds : str
        Further kinds; one that the model or the run does not have is left out.

    Returns
    -------
    list of Results
        The results, one entry per kind.
    """
    every = [results]
    for kind in kinds:
        if kind not in [*ConfidenceKind]:
            raise BadInput(f"{kind!r} is no kind of confidence{did_you_mean(kind, ConfidenceKind)}")
        with suppress(BadInput):
            other = results.with_confidence(kind)
            every += [other] if other is not results else []
    return every


def decisions_at(results: Results, tau: float) -> pd.DataFrame:
    """Tabulate what SR-DCR decides at one τ, on true and on false passages.

    Parameters
    ----------
    results : Results
        A run with rows of SR-DCR.
    tau : float
        Confidence threshold τ in [0, 1].

    Returns
    -------
    DataFrame
        One row per condition: `n` items; the numbers decided `use_context`, `use_prior` and `abstain`; `coverage`;
        and `accuracy`, in which a missing answer counts as wrong, with its 95 % interval.
    """
    rows, gate = rows_of_sr_dcr(results)
    table = decisions_by_condition(rows, tau, gate=gate)[:2]
    shares = ["coverage", "accuracy", "accuracy_low", "accuracy_high"]
    return table[["condition", "n", "use_context", "use_prior", "abstain", *shares]]


def above_tau(several: Mapping[str, pd.DataFrame], tau: float) -> Sentence:
    """Say whether more than 0.88 of the questions with confidence of at least τ are Highly-Known.

    The paper reports so much of τ = 0.90 [4.2].

    Parameters
    ----------
    several : mapping of str to DataFrame
        Name of a model or kind → its questions.
    tau : float
        Confidence threshold τ in [0, 1].

    Returns
    -------
    Sentence
        One sentence with a verdict per table.
    """
    steps = {name: precision_steps(each["self_confidence"], highly_known(each)) for name, each in several.items()}
    rows = [{"questions": name} | each.at(tau).precision._asdict() for name, each in steps.items()]
    claim = f"more than 0.88 (the paper's share) of the questions with confidence ≥ {tau:.2f} are Highly-Known"
    return sentences(claim, rows, above=0.88, by=["questions"], of="questions above τ")


def precision_of(several: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute P(Highly-Known | Conf ≥ τ) for several tables of questions.

    Parameters
    ----------
    several : mapping of str to DataFrame
        Name of a model or kind → its questions.

    Returns
    -------
    DataFrame
        The rows of `PrecisionSteps.frame`, with the name in the column `questions`.
    """
    return of_several(
        several, lambda one: precision_steps(one["self_confidence"], highly_known(one)).frame(), "questions"
    )


def reliability_of(several: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute reliability curves of right answers from memory for several tables of questions.

    Parameters
    ----------
    several : mapping of str to DataFrame
        Name of a model or kind → its questions.

    Returns
    -------
    DataFrame
        The rows of `reliability_curve`, with the name in the column `questions`.
    """
    return of_several(several, lambda one: reliability_curve(one["self_confidence"], one["prior_correct"]), "questions")


def kinds_compared(several: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Compare kinds of confidence by their AUROC for two targets.

    Parameters
    ----------
    several : sequence of DataFrame
        One table per kind, each as `Results.questions`; the first is the yardstick.

    Returns
    -------
    DataFrame
        One row per kind: AUROC for Highly-Known questions (`auroc_highly_known`) and for right answers from memory
        (`auroc_right`), and the gain of each over the first kind (`gain_highly_known`, `gain_right`), each with its
        95 % interval; `n` questions with a confidence of this kind and a judged answer, among those of the first.
    """
    first = several[0].set_index("question_id")
    rows: list[dict[str, Any]] = []
    has_one = first["self_confidence"].notna()
    for questions in several:
        row = {"confidence_kind": next(iter(questions["confidence_kind"].dropna()), None)}
        own = questions.set_index("question_id")["self_confidence"].reindex(first.index).where(has_one)
        for name, hits in (("highly_known", highly_known(several[0])), ("right", first["prior_correct"])):
            found = auroc(own, hits)
            gain = auroc_gain(own, first["self_confidence"], hits, first.index) if rows else Estimate()
            row |= found.columns(f"auroc_{name}") | gain.columns(f"gain_{name}")
        rows.append(row | {"n": found.n})  # of the second target
    return pd.DataFrame(rows)


def risk_coverage(steps: PrecisionSteps) -> pd.DataFrame:
    """Compute risk = wrong / answered against coverage = answered / n, where Conf ≥ τ is answered.

    Parameters
    ----------
    steps : PrecisionSteps
        Counts for the target "the answer is right".

    Returns
    -------
    DataFrame
        One row per τ, descending: `coverage`, `n_answered`, `n_wrong`, `risk` with its 95 % Jeffreys interval,
        `n_missing` and `n_unlabelled`.

    References
    ----------
    El-Yaniv and Wiener 2010; Geifman and El-Yaniv 2017.
    """
    above = steps.frame().rename(columns={"n_above": "n_answered"})
    above["n_wrong"], above["risk"] = above["n_answered"] - above["n_target"], 1 - above["precision"]
    above["low"], above["high"] = 1 - above["high"], 1 - above["low"]
    columns = ["tau", "coverage", "n_answered", "n_wrong", "risk", "low", "high", "n_missing", "n_unlabelled"]
    return above[columns]


def compared_at(confidences: pd.DataFrame, tau: float = 0.90) -> pd.DataFrame:
    """Compare columns of confidence in pairs: ranks of questions, and questions on different sides of τ.

    Parameters
    ----------
    confidences : DataFrame
        One row per question, one column per kind or model.
    tau : float, default 0.9
        Confidence threshold τ in [0, 1].

    Returns
    -------
    DataFrame
        One row per pair: `n` questions with both; `spearman` with its interval (`low`, `high`); `n_flipped`
        questions on different sides of τ and their share `flipped` with its Jeffreys interval.
    """
    rows = []
    for first, second in combinations(confidences.columns, 2):
        both = confidences[[first, second]].dropna()
        flipped = int(((both[first] >= tau) != (both[second] >= tau)).sum())
        rank, share = rank_correlation(both[first], both[second]), jeffreys_share(flipped, len(both))
        rows.append((first, second, len(both), *rank[:3], flipped, *share[:3]))
    columns = ["first", "second", "n", "spearman", "low", "high", "n_flipped", "flipped", "flipped_low", "flipped_high"]
    return pd.DataFrame(rows, columns=columns)


class QuestionsNeeded(NamedTuple):
    """How many questions a study needs.

    Attributes
    ----------
    n_above : int
        Questions above τ that give the wanted width.
    n_questions : int
        Questions of which at least `n_above` are above τ with a probability of 0.9; their number is binomial.
    """

    n_above: int
    n_questions: int


def questions_for_width(precision: float, coverage: float, width: float) -> QuestionsNeeded:
    """Compute the required sample size for an interval of P(target | Conf ≥ τ) of a given width.

    Parameters
    ----------
    precision : float
        Expected share with the target, in [0, 1]; 0.5 is the safe guess.
    coverage : float
        Expected P(Conf ≥ τ), in (0, 1].
    width : float
        Largest width of the 95 % Jeffreys interval, in (0, 1).

    Returns
    -------
    QuestionsNeeded
        The numbers of questions above τ and in all.

    Raises
    ------
    BadInput
        A number is out of its range.
    """
    if not (0 <= precision <= 1 and 0 < coverage <= 1 and 0 < width < 1):
        raise BadInput(f"precision {precision} is in [0, 1], coverage {coverage} in (0, 1], width {width} in (0, 1)")

    def narrow(n: int) -> bool:
        low, high = jeffreys_interval(precision * n, n)
        return bool(high - low <= width)

    n_above = 1 + bisect_left(range(1, _MANY), True, key=narrow)
    enough = range(n_above, _MANY)
    more = bisect_left(enough, True, key=lambda n: float(bdtrc(n_above - 1, n, coverage)) >= 0.9)
    return QuestionsNeeded(n_above, n_above + more)


def confidence_histogram(questions: pd.DataFrame) -> pd.DataFrame:
    """Count questions by kind of confidence, bin and knowledge category.

    Self-consistency has one bin around each possible share, for the least number of draws that gives every share here.

    Parameters
    ----------
    questions : DataFrame
        Rows of one or several kinds, with `confidence_kind`.

    Returns
    -------
    DataFrame
        One row per kind × category × bin (`left` ≤ Conf < `right`; 20 bins, the last includes 1), with `n` questions.
        `n_missing` questions of the kind have no confidence or no draws and are in no bin.
    """
    tables = []
    for kind, part in questions.groupby("confidence_kind", sort=False):
        edges, known = np.arange(21) / 20, part.dropna(subset="self_confidence")
        known_pairs(known["self_confidence"], np.ones(len(known)), probabilities=True)  # which refuses others
        if kind == ConfidenceKind.SELF_CONSISTENCY:
            shares = known["self_confidence"].to_numpy(float)
            n_draws = next((n for n in range(1, 1001) if np.allclose(shares * n, (shares * n).round())), 20)
            edges = (np.arange(n_draws + 2) - 0.5) / n_draws
        counts = {"left": edges[:-1], "right": edges[1:]}
        for name in draw.CATEGORY_COLOURS:
            values = known.loc[known["knowledge_category"] == name, "self_confidence"].to_numpy(float)
            counts[name] = np.histogram(values, edges)[0]
        table = pd.DataFrame(counts).melt(["left", "right"], var_name="knowledge_category", value_name="n")
        tables.append(({"confidence_kind": kind}, table.assign(n_missing=len(part) - int(table["n"].sum()))))
    return stack(tables, ["confidence_kind", "left", "right", "knowledge_category", "n", "n_missing"])


def draw_confidence(table: pd.DataFrame, tau: float = 0.90) -> Figure:
    """Draw the questions by confidence and category, a panel per kind; dashed: τ.

    Parameters
    ----------
    table : DataFrame
        As returned by `confidence_histogram`.
    tau : float, default 0.9
        Position of the dashed line.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing("no question")
    rows, palette = draw.by_category(table)
    rows["middle"] = ((rows["left"] + rows["right"]) / 2).round(6)
    rows["kind"] = rows["confidence_kind"].map(kind_called)
    panel, height = ("kind" if rows["kind"].nunique() > 1 else ""), 2.4 * rows["kind"].nunique()
    labels = ("confidence", "questions")
    return draw.stacked(rows, "middle", "n", "category", labels, palette, panel=panel, height=height, tau=tau)


def draw_precision(table: pd.DataFrame, tau: float = 0.90, *, panel: str = "") -> Figure:
    """Draw P(Highly-Known | Conf ≥ τ) with its 95 % band; grey: coverage.

    Parameters
    ----------
    table : DataFrame
        As returned by `precision_of` or `PrecisionSteps.frame`.
    tau : float, default 0.9
        Position of the dashed line.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing("no question with a confidence and knowledge draws")
    names = {"precision": "P(Highly-Known | confidence ≥ τ)", "coverage": "coverage"}
    ends = {"low": "precision_low", "high": "precision_high"}
    rows = draw.melted(table.rename(columns=ends), names, "tau", *([panel] if panel else []))
    palette = dict(zip(names.values(), (draw.NAVY, draw.GREY), strict=True))
    labels = ("τ", "share of questions")
    return draw.lines(rows, "tau", "value", labels, hue="quantity", palette=palette, panel=panel, steps=True, tau=tau)


def draw_reliability(table: pd.DataFrame, *, panel: str = "") -> Figure:
    """Draw the share of right answers in each bin of confidence, with marks as large as the number of questions.

    On the dashed line confidence equals that share.

    Parameters
    ----------
    table : DataFrame
        As returned by `reliability_curve` or `reliability_of`.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table[table["n"] > 0].reset_index(drop=True)
    labels = ("confidence", "share right")
    made = draw.lines(rows, "mean_confidence", "frequency", labels, points=True, panel=panel, size="n", height=3.0)
    for ax in made.axes:
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    return made


# The tuner: what another τ, cost of a wrong answer or share of false passages would change. The decisions at every τ
# are those of `srdcr_lab.lib.gating`, computed here once; the page only selects among them.

GRID = np.arange(101) / 100  # of τ
COSTS = (0.0, 0.5, 1.0, 2.0, 4.0)
FALSE_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
NEAR = 0.05
OUTCOMES = {
    "right from the passage": draw.RIGHT_COLOUR,
    "right from memory": draw.PALE_RIGHT,
    "wrong from memory": draw.PALE_WRONG,
    "wrong from the passage": draw.WRONG_COLOUR,
    "abstained": draw.NO_ANSWER_COLOUR,
    "not readable or failed": "#8c8c8c",
}
_AT_TAU = "abs(datum.at - tau) < 0.005"
_WIDTH, _LONGEST, _LISTED = 330, 60, 8  # of a panel, in pixels; of a question that is listed; so many of them


def tuner(results: Results, *others: Results) -> Interactive:
    """Make a chart for choosing τ: what it means for knowledge, for final answers and for their utility.

    It shows P(Highly-Known | Conf ≥ τ) with its 95 % band; what becomes of true and of false passages; utility per
    item, (right − cost · wrong) / n, with its interval; coverage and risk (wrong / answered); the best τ on one half of
    the questions and its result on the other half; and the questions whose confidence is within .05 of τ. A run without
    debates has no final answers: the first and the last of these are shown, and the note says what is missing.

    Parameters
    ----------
    results : Results
        A run, as from `lab.open_study`.
    *others : Results
        The same study with other kinds of confidence (`results.with_confidence`), or studies of other models.

    Returns
    -------
    Interactive
        The tuner. Put it at the end of a cell; the next cell can read `tuner.tau` and `tuner.settings`.
        `tuner.save("tune.html")` writes a page that needs neither a kernel nor a network.

    Raises
    ------
    BadInput
        No answer from memory has a confidence, two runs have the same model and kind, or Altair is not installed.
    """
    runs = [results, *others]
    names = [str(_confident(run)["confidence_kind"].iloc[0]) for run in runs]
    if len(set(names)) < len(names):
        names = [f"{run.records['model'].iloc[0]}: {kind_called(name)}" for run, name in zip(runs, names, strict=True)]
    if len(set(names)) < len(names):
        raise BadInput(f"the tuner tells runs apart by model and kind of confidence, got {', '.join(names)}")
    drawn = all(map(_has_draws, runs))
    parts = {name: tuning_tables(run, drawn=drawn) for name, run in zip(names, runs, strict=True)}
    panels = [panel for panel in parts[names[0]] if all(panel in tables for tables in parts.values())]
    tables = {panel: of_several(parts, itemgetter(panel), "confidence") for panel in panels}
    asked, note = float(results.manifest["asked"]["choices"]["tau"]), results.label
    if (start := round(asked, 2)) != asked:
        note += f"; the run's τ = {asked:g} is not shown, as τ moves in steps of 0.01"
    controls: list[Slider | Choice] = [Slider("tau", "threshold τ", start)]
    reset: dict[str, Any] = {"tau": PAPER_TAU, "confidence": names[0]}
    if "worth" in tables:
        shares = {share: f"{share:.0%}" for share in tables["worth"]["false_share"].unique()}
        half = 0.5 if 0.5 in shares else min(shares)
        controls.append(Choice("cost", "cost of a wrong answer", {cost: f"{cost:g}" for cost in COSTS}, 1.0))
        controls.append(Choice("false_share", "share of false passages", shares, half))
        reset |= {"cost": 0.0, "false_share": half}
    else:
        note += f"; {_NO_ANSWERS}"
    kinds = {name: kind_called(name) for name in names}
    controls.append(Choice("confidence", "kind of confidence", kinds, names[0]))
    panels_of = partial(_drawn, target="Highly-Known" if drawn else "right from memory")
    return sliding(tables, panels_of, controls, title="Which threshold τ?", note=note, reset=reset)


_NO_ANSWERS = "without debates there are no final answers to show: srdcr run … --methods few_shot,sr_dcr makes them"


def _confident(results: Results) -> pd.DataFrame:
    questions = results.known.questions.dropna(subset=["self_confidence"])
    if questions.empty:
        raise BadInput("this run has no confidence; srdcr run … --methods confidence_only measures it")
    return questions


def _has_draws(results: Results) -> bool:
    return bool(highly_known(_confident(results)).notna().any())


def tuning_tables(results: Results, *, drawn: bool | None = None) -> dict[str, pd.DataFrame]:
    """Compute the tidy tables behind the panels of the tuner, for one kind of confidence.

    Parameters
    ----------
    results : Results
        A run.
    drawn : bool, optional
        Whether the target is Highly-Known, or else being right from memory; by default whether there are draws.

    Returns
    -------
    dict of str to DataFrame
        The tables by name: `known`, P(target | Conf ≥ τ); `near`, the questions close to τ; and of a run with
        debates `worth`, utility per item; `answers`, coverage and risk; `becomes`, what becomes of true (0) and false
        (1) passages, in the order of `OUTCOMES`; `best`, the best τ. The column `at` is a τ on a curve, `tau` the
        selected one.
    """
    confident, questions = _confident(results), results.known.questions
    drawn = _has_draws(results) if drawn is None else drawn
    target = highly_known(questions) if drawn else questions["prior_correct"]
    steps = precision_steps(questions["self_confidence"], target)
    known = [(tau, *steps.at(tau).precision, steps.n_questions) for tau in GRID]
    columns = ["at", "precision", "low", "high", "n_above", "n"]
    tables = {"known": pd.DataFrame(known, columns=columns).round(3)}
    if (results.records["method"] == "sr_dcr").any():
        tables |= _tables_of_answers(results)
    return tables | {"near": _near(confident)}


def _near(questions: pd.DataFrame) -> pd.DataFrame:
    """Each question with its confidence, in words."""
    right = questions["prior_correct"].map({True: "right from memory", False: "wrong from memory"})
    known = [category_called(category) for category in questions["knowledge_category"].astype(object).fillna("")]
    text = [q if len(q) <= _LONGEST else f"{q[: _LONGEST - 1]}…" for q in questions["question"].astype(str)]
    about = [", ".join(filter(None, pair)) for pair in zip(known, right.fillna("not readable"), strict=True)]
    return pd.DataFrame({"value": questions["self_confidence"].astype(float).round(4), "text": text, "about": about})


def rows_of_sr_dcr(results: Results) -> tuple[pd.DataFrame, bool]:
    """Select the records of SR-DCR under one design, the paper's debate if there are several, and look up their rule.

    Parameters
    ----------
    results : Results
        A run with rows of SR-DCR.

    Returns
    -------
    tuple of DataFrame, bool
        One row per item, and whether the run's rule compares confidence with τ, as the paper's does (`decided`).

    Raises
    ------
    BadInput
        There are no rows of SR-DCR.
    """
    rows = results.records[results.records["method"] == "sr_dcr"]
    if rows.empty:
        raise BadInput("this run has no final answers of SR-DCR; srdcr run … --methods few_shot,sr_dcr makes them")
    return of_design(rows), results.manifest["asked"]["choices"]["gate"]


def _tables_of_answers(results: Results) -> dict[str, pd.DataFrame]:
    """`worth`, `answers`, `becomes` and `best` of `tuning_tables`."""
    rows, gate = rows_of_sr_dcr(results)
    decision, ending = decided(rows, GRID, gate=gate)
    right = np.select([ending == "right", ending == "wrong"], [1.0, 0.0], np.nan)  # of each τ and row
    changes = 1 + np.flatnonzero((ending[1:] != ending[:-1]).any(axis=1))
    as_run = FinalAnswers.from_records(rows)
    shares = [s for s in FALSE_SHARES if (as_run.true.any() or s == 1) and (not as_run.true.all() or s == 0)]
    worth, given = [], []
    for places in np.split(np.arange(GRID.size), changes):  # of which all give the same answers
        answers = replace(as_run, right=right[places[0]])
        for share in shares:
            risk = answers.selective_accuracy(share).scaled(-1, 1)
            row = answers.coverage(share).columns("coverage") | risk.columns("risk")
            given += [{"false_share": share, "tau": tau} | row for tau in GRID[places]]
            for cost in COSTS:
                row = answers.utility(cost, share).columns("utility", alone=True)
                worth += [{"cost": cost, "false_share": share, "at": tau} | row for tau in GRID[places]]
    return {
        "worth": pd.DataFrame(worth).round(3),
        "answers": pd.DataFrame(given).round(3),
        "becomes": _becomes(as_run.true, decision, ending),
        "best": _best(rows, right, shares),
    }


def _becomes(true: NDArray[np.bool_], decision: NDArray[np.str_], ending: NDArray[np.str_]) -> pd.DataFrame:
    """True passages (0) and false ones (1) by what becomes of them at each τ of the grid."""
    passage, right, wrong = decision == Decision.USE_CONTEXT, ending == "right", ending == "wrong"
    given = [right & passage, right & ~passage, wrong & ~passage, wrong & passage, ending == Missing.ABSTAINED]
    outcome = np.select(given, range(5), 5)
    tau, passages = np.broadcast_arrays(GRID[:, np.newaxis], ~true)
    rows = pd.DataFrame({"tau": tau.ravel(), "passages": passages.ravel().astype(int), "outcome": outcome.ravel()})
    table = rows.groupby([*rows]).size().reset_index(name="n")
    table["share"] = (table["n"] / table.groupby(["tau", "passages"])["n"].transform("sum")).round(3)
    return table[["passages", "outcome", "n", "share", "tau"]]


def _best(rows: pd.DataFrame, right: NDArray[np.float64], shares: Sequence[float]) -> pd.DataFrame:
    """The τ of the highest utility on one half of the questions (the highest such τ), and its worth on the rest."""
    as_run = FinalAnswers.from_records(rows)
    chosen, rest = np.array_split(np.random.default_rng(0).permutation(int(as_run.question.max()) + 1), 2)
    here = np.isin(as_run.question, chosen)
    half, of_rest = (~as_run.true[here]).astype(np.intp), FinalAnswers.from_records(rows[~here])
    n = np.maximum(np.bincount(half, minlength=2), 1)
    n_right, n_wrong = (np.array([np.bincount(half, at[here] == grade, 2) for at in right]) for grade in (1, 0))
    paper = int(np.searchsorted(GRID, PAPER_TAU))
    found = []
    for cost, share in product(COSTS, shares):
        utility = ((n_right - cost * n_wrong) / n @ [1 - share, share]).round(9)
        best = GRID.size - 1 - int(utility[::-1].argmax())
        there, of_paper = (replace(of_rest, right=right[i, ~here]).utility(cost, share) for i in (best, paper))
        row = {"cost": cost, "false_share": share, "best": GRID[best]} | there.columns("utility", alone=True)
        found.append(row | {"of_paper": of_paper.value, "n_rest": rest.size})
    return pd.DataFrame(found).round(3)


def _drawn(charts: Mapping[str, Any], target: str) -> Any:
    """The panels: knowledge beside worth, then what becomes of the passages, sentences, and the questions near τ."""
    import altair as alt

    title = f"P({target} | confidence ≥ τ)"
    known = tau_curve(charts["known"], "precision", title, draw.NAVY, counts=True)
    if "worth" not in charts:
        return alt.vconcat(known, _questions(charts["near"]), spacing=14)
    worth = tau_curve(charts["worth"], "utility", "utility per item", draw.BLUE, share=False)
    told = [
        _text(charts["answers"], f"'Coverage ' + {shown_interval('coverage', 'coverage_low', 'coverage_high')} + "
              f"', risk ' + {shown_interval('risk', 'risk_low', 'risk_high')} + ' (wrong answers among those given)'"),
        _text(charts["best"], "'Best τ on one half of the questions: ' + format(datum.best, '.2f')"),
        _text(charts["best"], "'Utility per item on the other half (' + datum.n_rest + ' questions): ' + "
              f"{shown_interval('utility', 'low', 'high')} + '; with the paper’s τ: ' + format(datum.of_paper, '.2f')"),
    ]  # fmt: skip
    heading = alt.Title("What becomes of true and of false passages", anchor="start", fontSize=13)
    look = {"width": 2 * _WIDTH, "height": 80, "title": heading}
    becomes = charts["becomes"].transform_calculate(of="datum.passages == 0 ? 'true' : 'false'")
    stacked = bars(becomes, "of", "outcome", "n", OUTCOMES, title="share of passages", look=look)
    parts = [alt.hconcat(known, worth, spacing=40), stacked, *told, _questions(charts["near"])]
    return alt.vconcat(*parts, spacing=14).resolve_scale(color="independent")


def shown_interval(value: str, low: str, high: str) -> str:
    """Make the Vega expression for a value with its interval.

    Parameters
    ----------
    value : str
        Field of the value.
    low : str
        Field of the lower end.
    high : str
        Field of the upper end.

    Returns
    -------
    str
        The expression; it shows ``no value`` if the value is missing.
    """
    shown = f"format(datum.{value}, '.2f') + ' [' + format(datum.{low}, '.2f') + ', ' + format(datum.{high}, '.2f')"
    return f"(isValid(datum.{value}) ? {shown} + ']' : 'no value')"


def tau_curve(chart: Any, column: str, title: str, colour: str, *, counts: bool = False, share: bool = True) -> Any:
    """Draw a curve over all τ with its band, and the value at τ as a point and in words.

    Parameters
    ----------
    chart : Chart
        Chart with the fields `at` (each τ), `low`, `high` and `column`, for the counts also `n_above` and `n`.
    column : str
        Field of the curve.
    title : str
        Heading of the panel.
    colour : str
        Colour of curve and band.
    counts : bool, default False
        Say also how many of the questions are above τ.
    share : bool, default True
        The vertical axis is that of a share, from 0 to 1; otherwise it fits the data, and a line marks zero.

    Returns
    -------
    LayerChart
        The panel.
    """
    import altair as alt

    x = alt.X("at:Q", title="threshold τ", scale=alt.Scale(domain=(0, 1)))
    y = {"title": None, "scale": alt.Scale(domain=(0, 1)) if share else alt.Scale(zero=False)}
    here, chart = chart.transform_filter(_AT_TAU), chart.transform_filter(f"isValid(datum.{column})")
    valid, step = chart.transform_filter(_AT_TAU), {"interpolate": "step-before"}
    words = shown_interval(column, "low", "high")
    if counts:
        words += " + ' · ' + datum.n_above + ' of ' + datum.n + ' questions are above τ'"
    layers = [
        chart.mark_area(opacity=0.18, color=colour, **step).encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q"),
        chart.mark_line(color=colour, **step).encode(x=x, y=alt.Y(f"{column}:Q", **y)),
        here.mark_rule(color=draw.GREY, strokeDash=[4, 3]).encode(x=x),
        valid.mark_rule(color=colour, strokeWidth=2).encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q"),
        valid.mark_point(color=colour, filled=True, size=70, opacity=1).encode(x=x, y=alt.Y(f"{column}:Q", **y)),
        here.transform_calculate(words=words)
        .mark_text(align="left", fontSize=13)
        .encode(text="words:N", x=alt.value(0), y=alt.value(-8)),
    ]
    if not share:
        layers.insert(0, chart.mark_rule(color="#bbb", aria=False).encode(y=alt.datum(0)))
    heading = alt.Title(title, anchor="start", fontSize=13, offset=20)
    return alt.layer(*layers).properties(width=_WIDTH, height=190, title=heading)


def _text(chart: Any, words: str) -> Any:
    import altair as alt

    line = chart.transform_calculate(words=words).mark_text(align="left", fontSize=13)
    return line.encode(text="words:N", x=alt.value(0)).properties(width=2 * _WIDTH, height=14)


def _questions(chart: Any) -> Any:
    """The questions nearest to τ."""
    import altair as alt

    near = (
        chart.transform_calculate(off="abs(datum.value - tau)")
        .transform_filter(f"datum.off <= {NEAR}")
        .transform_joinaggregate(n="count()")
        .transform_window(place="row_number()", sort=[alt.SortField("off")])
        .transform_filter(f"datum.place <= {_LISTED}")
        .transform_window(row="row_number()", sort=[alt.SortField("value", order="descending")])
        .transform_calculate(
            side="datum.value >= tau ? ' · above τ · ' : ' · below τ · '",
            words="format(datum.value, '.3f') + datum.side + datum.text + ' (' + datum.about + ')'",
            heading=f"'Questions that change sides when τ moves by {NEAR:g}: ' + datum.n"
            f" + (datum.n > {_LISTED} ? ' (the nearest {_LISTED} are listed)' : '')",
        )
    )
    y = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(1, _LISTED + 1))))
    lines = near.mark_text(align="left", fontSize=12).encode(text="words:N", x=alt.value(0), y=y)
    heading = near.transform_filter("datum.row == 1").mark_text(align="left", fontSize=13, fontWeight="bold")
    heading = heading.encode(text="heading:N", x=alt.value(0), y=alt.value(-12))
    return alt.layer(lines, heading).properties(width=2 * _WIDTH, height=17 * _LISTED)
