"""Chapter 02, its tuner: what another τ, another cost of a wrong answer or another share of false passages would give.

Decisions at every τ are those of `srdcr_lab.lib.gating`, computed here once; the page only selects them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.lib.definitions import DECISIONS, ENDINGS, PAPER_TAU, highly_known
from srdcr_lab.lib.draw import BLUE, GREY, NAVY, ORANGE, VERMILION
from srdcr_lab.lib.gating import Gating
from srdcr_lab.lib.interactive import Choice, Interactive, Slider, sliding
from srdcr_lab.lib.statistics import contrast_of_sums, jeffreys_interval
from srdcr_lab.records import BadInput, Decision
from srdcr_lab.records.names import category_called, kind_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

GRID = np.round(np.arange(101) / 100, 2)  # of τ
COSTS = (0.0, 0.5, 1.0, 2.0, 4.0)
FALSE_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
NEAR = 0.05
OUTCOMES = {
    "right from the passage": BLUE,
    "right from memory": "#2a9d8f",
    "wrong from memory": ORANGE,
    "wrong from the passage": VERMILION,
    "abstained": "#cccccc",
    "not readable": "#8c8c8c",
}
_AT_TAU = "abs(datum.at - tau) < 0.005"
_WIDTH, _LONGEST = 410, 80  # of a panel, in pixels; of a question that is listed


class Tuner(Interactive):
    """The tuner as it is moved: `tau` and `settings` are where its controls are, `save` writes a page."""

    kinds: Sequence[str] = ()

    @property
    def tau(self) -> float:
        """The threshold that is chosen."""
        return float(self.settings["tau"])

    @property
    def settings(self) -> dict[str, Any]:
        """τ, the cost of a wrong answer, the share of false passages and the kind of confidence that are chosen."""
        chosen = super().settings
        return chosen | {"confidence": self.kinds[int(chosen["confidence"])]}


def tuner(results: Results, *others: Results) -> Tuner:
    """A chart to choose τ by: what it means for knowledge, for final answers and for their worth.

    It shows P(Highly-Known | confidence ≥ τ) with its 95 % band; what becomes of true and of false passages; utility
    per item (right − cost · wrong) / n with its interval, coverage, and risk (wrong / answered); the best τ of one half
    of the questions and what it gives on the other; and the questions whose confidence is within .05 of τ.

    Parameters
    ----------
    results : of SR-DCR, from `lab.open_study`.
    others : the same study with other kinds of confidence (`results.with_confidence`), or of other models.

    Returns
    -------
    Tuner
        Ends a cell to be moved; `tuner.tau` and `tuner.settings` are read by the next one; ``tuner.save("tune.html")``
        writes a page that needs neither a kernel nor a network.

    Raises
    ------
    BadInput
        Where there are no items of SR-DCR, or Altair is missing.
    """
    every = [_OneConfidence(each) for each in (results, *others)]
    names = [each.kind for each in every]
    if len(set(names)) < len(names):
        names = [f"{each.model}: {kind_called(each.kind)}" for each in every]
    tables: dict[str, list[pd.DataFrame]] = {}
    for code, each in enumerate(every):
        for name, table in each.tables().items():
            tables.setdefault(name, []).append(table.assign(confidence=code))
    shares = {share: f"{share:.0%}" for share in every[0].false_shares}
    half = 0.5 if 0.5 in shares else min(shares)
    controls: list[Slider | Choice] = [
        Slider("tau", "threshold τ", every[0].tau),
        Choice("cost", "cost of a wrong answer", {cost: f"{cost:g}" for cost in COSTS}, 1.0),
        Choice("false_share", "share of false passages", shares, half),
        Choice("confidence", "kind of confidence", {i: kind_called(name) for i, name in enumerate(names)}, 0),
    ]
    made: Tuner = sliding(
        {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()},
        lambda charts: _drawn(charts, "Highly-Known" if every[0].has_draws else "right from memory"),
        controls,
        title="Which threshold τ?",
        note=results.label,
        reset={"tau": PAPER_TAU, "cost": 0.0, "false_share": half, "confidence": 0},
        made=Tuner,
    )
    made.kinds = names
    return made


def tuning_tables(results: Results) -> dict[str, pd.DataFrame]:
    """The tidy tables behind the panels, of one kind of confidence; `at` is a τ of a curve, `tau` one that is selected.

    `known`: P(Highly-Known | confidence ≥ τ); `worth`: utility per item; `answers`: coverage and risk; `becomes`: what
    becomes of true (0) and false (1) passages, in the order of `OUTCOMES`; `best`: the best τ; `near`: the questions.
    """
    return _OneConfidence(results).tables()


def rows_of_sr_dcr(results: Results) -> pd.DataFrame:
    """The records of SR-DCR under one design: the paper's debate where there are several."""
    rows = results.records[results.records["method"] == "sr_dcr"]
    if rows.empty:
        raise BadInput("the tuner needs final answers of SR-DCR; run srdcr run … --methods few_shot,sr_dcr")
    designs = rows["design"].dropna().unique()
    return rows[rows["design"] == ("acvd" if "acvd" in designs else designs[0])] if len(designs) > 1 else rows


class _OneConfidence:
    """The items and questions of one run under one kind of confidence, at every τ."""

    def __init__(self, results: Results) -> None:
        rows = rows_of_sr_dcr(results)
        asked = results.manifest["asked"]["choices"]
        self.tau, self.model = round(float(asked.get("tau", PAPER_TAU)), 2), str(rows["model"].iloc[0])
        self.gating = Gating.from_records(rows, gate=asked.get("gate", True))
        self.questions = results.known.questions.dropna(subset=["self_confidence"])
        self.kind = str(rows["confidence_kind"].iloc[0])
        target = highly_known(self.questions)
        self.has_draws = bool(target.notna().any())
        self.target = target if self.has_draws else self.questions["prior_correct"].astype("boolean")
        self.half = self.gating.stages[0]
        self.n_questions = int(self.gating.question.max()) + 1
        self.n = self._sums(np.ones(self.half.size))
        present = [bool(self.n[:, half].any()) for half in (0, 1)]
        self.false_shares = [s for s in FALSE_SHARES if (present[0] or s == 1) and (present[1] or s == 0)]

    def tables(self) -> dict[str, pd.DataFrame]:
        """See `tuning_tables`."""
        endings = np.stack([self.gating.endings(tau) for tau in GRID])
        same = [bool((one == before).all()) for one, before in zip(endings[1:], endings, strict=False)]
        first = np.maximum.accumulate(np.where([False, *same], 0, np.arange(GRID.size)))  # since when all is as now
        return {
            "known": self._known(),
            "worth": self._worth(endings, first),
            "answers": self._answers(endings, first),
            "becomes": pd.concat([self._becomes(tau) for tau in GRID], ignore_index=True),
            "best": self._best(endings),
            "near": self._near(),
        }

    def _known(self) -> pd.DataFrame:
        """P(target | confidence ≥ τ) over the questions."""
        known = self.target.notna().to_numpy()
        confidence = self.questions["self_confidence"].to_numpy(float)[known]
        hits = self.target[known].to_numpy(bool)
        above = confidence >= GRID[:, None]
        n_above, n_hits = above.sum(axis=1), (above & hits).sum(axis=1)
        low, high = jeffreys_interval(n_hits, n_above)
        with np.errstate(invalid="ignore"):
            columns = {"at": GRID, "precision": n_hits / n_above, "low": low, "high": high, "n_above": n_above}
        return pd.DataFrame(columns).assign(n=known.sum()).round(3)

    def _sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sums over a question's true and false passages, shape (questions, 2)."""
        cell = 2 * self.gating.question + self.half
        sums = np.bincount(cell, values.astype(float), 2 * self.n_questions)
        return np.asarray(sums, float).reshape(-1, 2)

    def _mean(self, sums: NDArray[np.float64], share: float, among: Any = ()) -> tuple[float, float, float]:
        """The mean of values in [0, 1] at this share of false passages, with its interval over questions."""
        weights = np.array([1 - share, share])
        halves = np.flatnonzero(weights)
        sizes = self.n[among] if len(among) else self.n
        sums = sums[among] if len(among) else sums
        here = sizes[:, halves].any(axis=1)
        if not sizes[:, halves].any(axis=0).all():
            return math.nan, math.nan, math.nan
        return contrast_of_sums(sums[here][:, halves], sizes[here][:, halves], weights[halves], (0.0, 1.0), 0.95)

    def _utility(self, ending: NDArray[Any], cost: float, share: float, among: Any = ()) -> tuple[float, float, float]:
        """(right − cost · wrong) / n with its interval."""
        worth = np.where(ending == _RIGHT, 1.0, np.where(ending == _WRONG, 0.0, cost / (1 + cost)))
        value, low, high = ((1 + cost) * end - cost for end in self._mean(self._sums(worth), share, among))
        return value, low, high

    def _worth(self, endings: NDArray[Any], first: NDArray[np.intp]) -> pd.DataFrame:
        rows = []
        for cost in COSTS:
            for share in self.false_shares:
                ends = {i: self._utility(endings[i], cost, share) for i in np.unique(first)}
                rows += [(cost, share, tau, *ends[i]) for tau, i in zip(GRID, first, strict=True)]
        return pd.DataFrame(rows, columns=["cost", "false_share", "at", "utility", "low", "high"]).round(3)

    def _answers(self, endings: NDArray[Any], first: NDArray[np.intp]) -> pd.DataFrame:
        rows = []
        for share in self.false_shares:
            ends = {i: self._coverage_and_risk(endings[i], share) for i in np.unique(first)}
            rows += [(share, tau, *ends[i]) for tau, i in zip(GRID, first, strict=True)]
        ends_of = [f"{name}{end}" for name in ("coverage", "risk") for end in ("", "_low", "_high")]
        return pd.DataFrame(rows, columns=["false_share", "tau", *ends_of]).round(3)

    def _coverage_and_risk(self, ending: NDArray[Any], share: float) -> tuple[float, ...]:
        """Both with intervals; the risk as `ratio_interval` has it."""
        wrong, answered = self._sums(ending == _WRONG), self._sums((ending == _RIGHT) | (ending == _WRONG))
        coverage = self._mean(answered, share)
        if not coverage[0] > 0:
            return (*coverage, math.nan, math.nan, math.nan)
        risk = self._mean(wrong, share)[0] / coverage[0]
        _, low, high = self._mean(wrong - risk * answered + risk * self.n, share)
        low, high = (risk + (end - risk) / coverage[0] for end in (low, high))
        return (*coverage, risk, max(0.0, low), min(1.0, high))

    def _becomes(self, tau: float) -> pd.DataFrame:
        """True and false passages by what becomes of them at τ."""
        decision, ending = self.gating.decisions(tau), self.gating.endings(tau)
        passage = decision == DECISIONS.index(Decision.USE_CONTEXT)
        right, wrong = ending == _RIGHT, ending == _WRONG
        given = [right & passage, right & ~passage, wrong & ~passage, wrong & passage, ending == _ABSTAINED]
        outcome = np.select(given, range(5), 5)
        counts = np.bincount(6 * self.half + outcome, minlength=12).reshape(2, 6)
        n = counts.sum(axis=1, keepdims=True)
        table = pd.DataFrame(
            {
                "passages": np.repeat([0, 1], 6),
                "outcome": np.tile(np.arange(6), 2),
                "n": counts.ravel(),
                "share": (counts / np.maximum(n, 1)).ravel().round(3),
            }
        )
        return table[table["n"] > 0].assign(tau=tau)

    def _best(self, endings: NDArray[Any]) -> pd.DataFrame:
        """The τ of the highest utility on one half of the questions (the highest such τ), and its worth on the rest."""
        order = np.random.default_rng(0).permutation(self.n_questions)
        chosen, rest = np.array_split(order, 2)
        counts = np.stack([[self._sums(ending == which)[chosen].sum(axis=0) for which in (0, 1)] for ending in endings])
        n = np.maximum(self.n[chosen].sum(axis=0), 1)
        paper = int(np.searchsorted(GRID, PAPER_TAU))
        rows = []
        for cost in COSTS:
            for share in self.false_shares:
                utility = ((counts[:, 0] - cost * counts[:, 1]) / n @ [1 - share, share]).round(9)
                best = GRID.size - 1 - int(utility[::-1].argmax())
                there = self._utility(endings[best], cost, share, rest)
                rows.append((cost, share, GRID[best], *there, self._utility(endings[paper], cost, share, rest)[0]))
        columns = ["cost", "false_share", "best", "utility", "low", "high", "of_paper"]
        return pd.DataFrame(rows, columns=columns).assign(n_rest=rest.size).round(3)

    def _near(self) -> pd.DataFrame:
        """Each question with its confidence, in words."""
        rows = self.questions
        right = rows["prior_correct"].map({True: "right from memory", False: "wrong from memory"})
        known = [category_called(category) for category in rows["knowledge_category"].astype(object).fillna("")]
        text = [q if len(q) <= _LONGEST else f"{q[: _LONGEST - 1]}…" for q in rows["question"].astype(str)]
        about = [", ".join(filter(None, pair)) for pair in zip(known, right.fillna("not readable"), strict=True)]
        return pd.DataFrame({"value": rows["self_confidence"].to_numpy(float).round(4), "text": text, "about": about})


_RIGHT, _WRONG, _ABSTAINED = 0, 1, ENDINGS.index("abstained")


def _drawn(charts: Mapping[str, Any], target: str) -> Any:
    """The panels: knowledge beside worth, then what becomes of the passages, sentences, and the questions near τ."""
    import altair as alt

    above = "datum.n_above + ' of ' + datum.n + ' questions are above τ'"
    known = tau_curve(
        charts["known"], "precision", f"P({target} | confidence ≥ τ)", NAVY, (0, 1),
        f"{shown_interval('precision', 'low', 'high')} + ' · ' + {above}",
    )  # fmt: skip
    worth = tau_curve(
        charts["worth"], "utility", "utility per item", BLUE, None, shown_interval("utility", "low", "high"), zero=True
    )
    sentences = [
        _text(charts["answers"], f"'Coverage ' + {shown_interval('coverage', 'coverage_low', 'coverage_high')} + "
              f"', risk ' + {shown_interval('risk', 'risk_low', 'risk_high')} + ' (wrong answers among those given)'"),
        _text(charts["best"], "'Best τ on one half of the questions: ' + format(datum.best, '.2f') + '. On the other "
              f"half it gives ' + {shown_interval('utility', 'low', 'high')} + ' an item, the paper’s τ "
              "' + format(datum.of_paper, '.2f') + ' (' + datum.n_rest + ' questions)'"),
    ]  # fmt: skip
    top = alt.hconcat(known, worth, spacing=40)
    parts = [top, _bars(charts["becomes"]), *sentences, _questions(charts["near"])]
    return alt.vconcat(*parts, spacing=14).resolve_scale(color="independent")


def shown_interval(value: str, low: str, high: str) -> str:
    shown = f"format(datum.{value}, '.2f') + ' [' + format(datum.{low}, '.2f') + ', ' + format(datum.{high}, '.2f')"
    return f"(isValid(datum.{value}) ? {shown} + ']' : 'no value')"


def tau_curve(chart: Any, column: str, title: str, colour: str, domain: Any, text: str, *, zero: bool = False) -> Any:
    """A curve over all τ with its band; the value at τ as a point and in words."""
    import altair as alt

    x = alt.X("at:Q", title="threshold τ", scale=alt.Scale(domain=(0, 1)))
    y = {"title": None, "scale": alt.Scale(domain=domain) if domain else alt.Scale(zero=False)}
    here, chart = chart.transform_filter(_AT_TAU), chart.transform_filter(f"isValid(datum.{column})")
    valid = chart.transform_filter(_AT_TAU)
    step = {"interpolate": "step-before"}
    layers = [
        chart.mark_area(opacity=0.18, color=colour, **step).encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q"),
        chart.mark_line(color=colour, **step).encode(x=x, y=alt.Y(f"{column}:Q", **y)),
        here.mark_rule(color=GREY, strokeDash=[4, 3]).encode(x=x),
        valid.mark_rule(color=colour, strokeWidth=2).encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q"),
        valid.mark_point(color=colour, filled=True, size=70, opacity=1).encode(x=x, y=alt.Y(f"{column}:Q", **y)),
        here.transform_calculate(words=text)
        .mark_text(align="left", fontSize=13)
        .encode(text="words:N", x=alt.value(0), y=alt.value(-8)),
    ]
    if zero:
        layers.insert(0, chart.mark_rule(color="#bbb").encode(y=alt.datum(0)))
    heading = alt.Title(title, anchor="start", fontSize=13, offset=20)
    return alt.layer(*layers).properties(width=_WIDTH, height=190, title=heading)


def _bars(chart: Any) -> Any:
    """What becomes of true and of false passages: a bar each, in parts."""
    import altair as alt

    names = list(OUTCOMES)
    chart = chart.transform_calculate(
        of="datum.passages == 0 ? 'true passages' : 'false passages'", becomes=f"{names!r}[datum.outcome]"
    )
    x, y = (
        alt.X("share:Q", stack="zero", title="share of passages", axis=alt.Axis(format=".0%", tickCount=5)),
        alt.Y("of:N", sort=["true passages", "false passages"], title=None),
    )
    colour = alt.Color(
        "becomes:N",
        scale=alt.Scale(domain=names, range=list(OUTCOMES.values())),
        legend=alt.Legend(title=None, orient="top", columns=6, labelLimit=220),
    )
    tips = [alt.Tooltip(f"{name}", title=title) for name, title in (("of:N", "of"), ("becomes:N", "are"), ("n:Q", "n"))]
    bars = chart.mark_bar(stroke="white").encode(x=x, y=y, color=colour, order="outcome:Q", tooltip=tips)
    middle = alt.X("share:Q", stack="zero", bandPosition=0.5, title="share of passages")
    counts = chart.mark_text(fontSize=11).encode(
        x=middle, y=y, order="outcome:Q", text=alt.condition("datum.share > 0.03", "n:Q", alt.value("")),
        color=alt.condition("datum.outcome == 0 || datum.outcome == 1", alt.value("white"), alt.value("black")),
    )  # fmt: skip
    heading = alt.Title("What becomes of true and of false passages", anchor="start", fontSize=13)
    return alt.layer(bars, counts).properties(width=2 * _WIDTH, height=80, title=heading)


def _text(chart: Any, words: str) -> Any:
    import altair as alt

    line = chart.transform_calculate(words=words).mark_text(align="left", fontSize=13)
    return line.encode(text="words:N", x=alt.value(0)).properties(width=2 * _WIDTH, height=14)


def _questions(chart: Any, most: int = 8) -> Any:
    """The questions nearest to τ, at most so many."""
    import altair as alt

    near = (
        chart.transform_calculate(off="abs(datum.value - tau)")
        .transform_filter(f"datum.off <= {NEAR}")
        .transform_joinaggregate(n="count()")
        .transform_window(place="row_number()", sort=[alt.SortField("off")])
        .transform_filter(f"datum.place <= {most}")
        .transform_window(row="row_number()", sort=[alt.SortField("value", order="descending")])
        .transform_calculate(
            side="datum.value >= tau ? ' · above τ · ' : ' · below τ · '",
            words="format(datum.value, '.2f') + datum.side + datum.text + ' (' + datum.about + ')'",
            heading=f"'Questions that change sides when τ moves by {NEAR:g}: ' + datum.n",
        )
    )
    y = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(1, most + 1))))
    lines = near.mark_text(align="left", fontSize=12).encode(text="words:N", x=alt.value(0), y=y)
    heading = near.transform_filter("datum.row == 1").mark_text(align="left", fontSize=13, fontWeight="bold")
    heading = heading.encode(text="heading:N", x=alt.value(0), y=alt.value(-12))
    return alt.layer(lines, heading).properties(width=2 * _WIDTH, height=17 * most)
