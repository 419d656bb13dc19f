"""How good the methods are: accuracy on true and on false passages, paired differences, cost; and one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from srdcr_lab.measures import compare_all, cost_accuracy
from srdcr_lab.measures.final_answer import SHARES, surest_answers, utility
from srdcr_lab.measures.groups import GOLDEN
from srdcr_lab.plots import drawers as draw
from srdcr_lab.records.names import called, level_called


class AccuracyDisplay(draw.Display):
    """Both accuracies per method and condition: `method`, `condition`, `measure`, `value`, `low`, `high` (95 %), `n`,
    `coverage`; shares in [0, 1]."""

    @classmethod
    def from_summary(cls, summary: pd.DataFrame) -> Self:
        """From `srdcr_lab.measures.summary` of one model."""
        parts = []
        for measure in ("accuracy", "selective_accuracy"):
            value, low, high = (summary[measure + end] for end in ("", "_low", "_high"))
            part = summary[["method", "condition", "n", "coverage"]]
            parts.append(part.assign(measure=measure, value=value, low=low, high=high))
        return cls(pd.concat(parts, ignore_index=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with intervals: filled, missing answers count as wrong; open, they are left out."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        rows = self.table.assign(series=self.table["method"] + " " + self.table["measure"])
        looks: dict[str, draw.Look] = {}
        for method, colour in draw.colours(rows["method"]).items():
            for measure, face, name in (("accuracy", colour, called(method)), ("selective_accuracy", "white", None)):
                look = {"marker": "o", "color": colour, "markerfacecolor": face, "label": name}
                looks[f"{method} {measure}"] = draw.LARGE | look
        x, _ = pd.factorize(rows["condition"])
        draw.points(ax, x, rows, "series", looks, "value", step=0.8 / max(len(looks), 1))
        if len(rows):
            ax.plot([], [], "o", color="0.3", markerfacecolor="white", label="open: of the answers given")
        n = self.table.groupby("condition", sort=False)["n"].first()
        names = {name: look["label"] for name, look in draw.CONDITION_LOOKS.items()}
        ticks = [f"{names.get(condition, condition)}\n(n = {number})" for condition, number in n.items()]
        ax.set_xticks(range(len(n)), ticks)
        return draw.finish(ax, draw.BELOW, ylim=draw.SHARES, ylabel="share of items")


COMPARED = ("sr_dcr", "few_shot", "confidence_only", "calibrated_token_probability", "debate_only", GOLDEN)


@dataclass(frozen=True)
class UtilityDisplay(draw.Display):
    """What the final answers of some methods are worth, `over` the cost of a wrong one or the share of false passages:
    the table of `srdcr_lab.measures.utility`, of which `measure` is drawn."""

    over: str = "cost"
    measure: str = "utility"

    @classmethod
    def from_records(
        cls,
        records: pd.DataFrame,
        methods: Sequence[str] = COMPARED,
        *,
        over: str = "cost",
        cost: float = 1.0,
        measure: str = "utility",
    ) -> Self:
        """Over `cost`, half of the passages false; over `false_share`, at this cost. Of one model and design. `measure`
        is utility, coverage or selective_accuracy; accuracy is the utility at cost 0."""
        rows = records[records["method"].isin(methods)]
        if over == "cost":
            return cls(utility(rows, [step / 4 for step in range(17)]), over, measure)
        return cls(utility(rows, [cost], SHARES), over, measure)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line for each method, with its 95 % band as `_lines` says; who never answers is at utility 0."""
        ax = draw.axes(ax, draw.WIDEST, 3.2)
        name = self.measure.replace("_", " ")
        if self.measure == "utility":
            ax.axhline(0, color="0.5", linewidth=0.8)
            name += "" if self.over == "cost" else f" at cost {self.table['cost'].max():g}"
        _lines(ax, self.table, self.over, self.measure)
        names = {"cost": "cost of a wrong answer, in right answers", "false_share": "share of false passages"}
        return draw.finish(ax, draw.BELOW, xlabel=names[self.over], ylabel=name)


def _lines(ax: Axes, table: pd.DataFrame, x: str, y: str, band: float = 0.12) -> None:
    """A line for each method, named with its n. Of more than two methods the first of `COMPARED` alone have a band:
    others would lie upon it, and the table has them. Lines no farther apart than they are thick have dashes."""
    colours = draw.colours(table["method"])
    paths = table.pivot_table(index=x, columns="method", values=y).reindex(columns=list(colours))
    near = 0.02 * float(paths.max(axis=None) - paths.min(axis=None))
    for method, colour in colours.items():
        rows = table[table["method"] == method]
        one = [other for other in colours if (paths[other] - paths[method]).abs().max() <= near]
        banded = len(colours) <= 2 or method in COMPARED[:2]
        name = f"{called(method)} (n = {rows['n'].max()})" + (", 95 % band" if banded and len(colours) > 2 else "")
        look: draw.Look = {"color": colour, "label": name, "zorder": 2.5 if method == COMPARED[0] else 2}
        if len(one) > 1:
            ax.plot([], [], **look)  # in the legend a whole line
            look |= {"linestyle": (4 * one.index(method), (4, 4 * (len(one) - 1))), "label": None}
        if banded:
            draw.curve(ax, rows, x, y, band, **look)
        else:
            ax.plot(rows[x], rows[y], **look)


class SurestDisplay(draw.Display):
    """Risk of each method's most believed answers: the table of `srdcr_lab.measures.surest_answers`."""

    @classmethod
    def from_records(
        cls, records: pd.DataFrame, methods: Sequence[str] = COMPARED, *, false_share: float = 0.5
    ) -> Self:
        """Of one model and design; beliefs are taken from all of the records."""
        table = surest_answers(records, false_share=false_share)
        return cls(table[table["method"].isin(methods)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line for each method, with its 95 % band as `_lines` says; a dot where it has given every answer it
        gives."""
        ax = draw.axes(ax, draw.WIDEST, 3.2)
        _lines(ax, self.table, "coverage", "risk", 0.08)
        last = self.table.groupby("method", sort=False).last()
        ax.scatter(last["coverage"], last["risk"], c=list(draw.colours(last.index).values()), zorder=3)
        ax.set(xlim=draw.SHARES, xlabel="coverage: share of items answered, the surest first")
        return draw.finish(ax, draw.BELOW, ylim=draw.SHARES, ylabel="risk: wrong among them")


class DifferencesDisplay(draw.Display):
    """How much better a method is than each other: the table of `srdcr_lab.measures.compare_all` of one model."""

    @classmethod
    def from_records(
        cls, records: pd.DataFrame, reference: str = "sr_dcr", *, column: str = "method", name: str = "correct"
    ) -> Self:
        return cls(compare_all(records, reference, column=column, name=name))

    def plot(self, ax: Axes | None = None, condition: str | None = "overall") -> Axes:
        """Differences with 95 % intervals, one row per rival; filled where the Holm-adjusted p is below 0.05, half
        filled where there is none. None: every condition, in the rows of one picture."""
        if condition is None:
            axis = f"difference: {called(self.table['a'].iloc[0])} less …" if len(self.table) else "nothing to compare"
            return EffectsDisplay(self.table.assign(name=self.table["b"].map(called)), axis).plot(ax)
        rows = self.table[(self.table["condition"] == condition) & (self.table["n"] > 0)]
        ax = draw.named_rows(ax, [called(name) for name in rows["b"]], (3.6, 0.9, 0.27))
        _differences(ax, rows, np.arange(len(rows)), markersize=5)
        ax.axvline(0, color="0.5", linewidth=0.8, zorder=0)
        reference = [f"{called(name)} less …" for name in rows["a"]] or ["nothing to compare"]
        return draw.finish(ax, draw.BELOW, left=False, xlabel=f"{condition} difference: {reference[0]}{_n(rows)}")


@dataclass(frozen=True)
class EffectsDisplay(draw.Display):
    """Rows with `difference`, `low`, `high` (95 %), a `name`, and maybe `condition` and `p_holm`: of factors, of
    economies, of methods."""

    axis: str = "difference"

    @classmethod
    def from_factors(cls, effects: pd.DataFrame, outcome: str = "share of right verdicts") -> Self:
        """From `srdcr_lab.measures.factor_effects` of one model, in one condition or in several, one below another:
        on true passages right verdicts are `verdict_tpr`, on false ones `verdict_tnr`."""
        names = [
            f"{row['factor'].replace('_', ' ')}: {level_called(row['a'])} − {level_called(row['b'])}"
            for row in effects.to_dict("records")
        ]
        return cls(effects.assign(name=names), f"difference in {outcome}")

    @classmethod
    def from_matched(cls, matched: pd.DataFrame) -> Self:
        """From `srdcr_lab.measures.matched_coverage`."""
        names = [f"{called(row.b)} ({row.coverage:.0%})" for row in matched.itertuples()]
        return cls(
            matched.assign(name=names), f"accuracy of as many answers\n(share of the items), {called('sr_dcr')} less …"
        )

    @classmethod
    def from_prices(cls, prices: pd.DataFrame, condition: str = "overall") -> Self:
        """From `srdcr_lab.measures.evaluation.economy_prices` of one model: the rows of a condition."""
        rows = prices[prices["condition"] == condition]
        names = [f"{called(row['design'])}\n{_saved(row)}" for row in rows.to_dict("records")]
        return cls(rows.assign(name=names), f"{condition} accuracy, less the full design's")

    def plot(self, ax: Axes | None = None) -> Axes:
        """A row per name, with a point for each condition, filled, open or half filled as the legend says. Equal
        answers have no interval: nothing about them is uncertain."""
        rows, known = self.table, "condition" in self.table
        y, names = pd.factorize(rows["name"])
        conditions = list(dict.fromkeys(rows["condition"])) if known else []
        height = 0.3 + 0.06 * max(len(conditions) - 1, 0)
        ax = draw.named_rows(ax, names, (3.2, 0.7, height), least=2, margin=0.6)
        ax.axvline(0, color="0.7", linewidth=0.8)
        if "answers_changed" in rows:
            rows = rows.assign(**{end: rows[end].where(rows["answers_changed"] > 0) for end in ("low", "high")})
        several = len(conditions) > 1
        for shift, condition in zip(draw.shifts(len(conditions), 0.26), conditions, strict=True) if several else ():
            here, look = rows["condition"] == condition, dict(draw.CONDITION_LOOKS[condition])
            ax.plot([], [], linestyle="none", **look | {"label": look["label"] + _n(rows[here])})
            y = np.where(here, y + shift, y)
        _differences(ax, rows, y, conditions if several else ())
        for place, p in enumerate(rows.get("p_holm", ()) if not several else ()):
            if pd.notna(p):
                text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
                ax.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=draw.SMALL)
        return draw.finish(ax, draw.BELOW, left=False, xlabel=self.axis + ("" if several else _n(rows)))


_OPEN: draw.Look = {"markerfacecolor": "white"}
_HALF: draw.Look = {"fillstyle": "left", "markerfacecoloralt": "white"}
_BY_P = {"filled: p < 0.05 (Holm)": {}, "open: p ≥ 0.05 (Holm)": _OPEN, "half: outside the family (Holm)": _HALF}
_BY_INTERVAL = {"filled: interval leaves out 0 (uncorrected)": {}, "open: interval contains 0": _OPEN}


def _differences(ax: Axes, rows: pd.DataFrame, at: Any, conditions: Sequence[str] = (), **look: Any) -> None:
    """A point per row, in the look of its condition: filled, open or half filled by Holm's p, where the table has none
    by the interval. The legend has the marks that occur."""
    if "p_holm" in rows:
        clear, marks = np.select([rows["p_holm"] < 0.05, rows["p_holm"] >= 0.05], [0, 1], 2), _BY_P
    else:
        clear, marks = 1 - ((rows["low"] > 0) | (rows["high"] < 0)).to_numpy(int), _BY_INTERVAL
    mark = np.array([*marks])[clear]
    plain: draw.Look = {"marker": "o", "color": draw.INK} | look
    for condition in conditions or [""]:
        own = plain | draw.CONDITION_LOOKS.get(condition, {}) | {"label": None}
        here = (rows["condition"] == condition).to_numpy() if condition else np.ones(len(rows), bool)
        looks = {name: own | face for name, face in marks.items() if name in mark[here]}
        draw.points(ax, at[here], rows.assign(mark=mark)[here], "mark", looks, "difference", across=True)
    for name, face in marks.items():
        if name in mark:
            ax.plot([], [], "o", color="0.3", label=name, **face)


def _n(rows: pd.DataFrame) -> str:
    """The n of these differences, to stand behind a label."""
    n = sorted({int(number) for number in rows.get("n", ())} - {0})
    return f" (n = {'–'.join(map(str, dict.fromkeys([n[0], n[-1]])))})" if n else ""


def _saved(row: Mapping[str, Any]) -> str:
    share = row["share_saved"]
    calls = f"saves {share:.0%} of the calls" if share >= 0 else f"takes {-share:.0%} more calls"
    return calls if row["answers_changed"] else f"{calls}; same answers"


class CostDisplay(draw.Display):
    """The table of `srdcr_lab.measures.cost_accuracy` of one model and run."""

    @classmethod
    def from_records(cls, records: pd.DataFrame, *, cost: str = "tokens_per_item", condition: str = "overall") -> Self:
        return cls(cost_accuracy(records, cost=cost, condition=condition))

    def plot(self, ax: Axes | None = None) -> Axes:
        """A row per method with its cost, the cheapest on top; accuracy with its 95 % interval, filled where nothing
        beats it at its price (Pareto). The line is the best accuracy at the price of each row or less."""
        rows = self.table.dropna(subset=["cost", "accuracy"]).sort_values(
            ["cost", "accuracy"], ascending=[True, False], kind="stable", ignore_index=True
        )
        costs = [f"{cost:,.0f}" if cost >= 10 else f"{cost:.2g}" for cost in rows["cost"]]
        designs = rows["design"] if "design" in rows else [None] * len(rows)
        names = [f"{called(*row)}  ({cost})" for *row, cost in zip(rows["method"], designs, costs, strict=True)]
        ax = draw.named_rows(ax, names, (3.4, 1.1, 0.27))
        if rows.empty:
            return draw.finish(ax, left=False, xlabel="overall accuracy")
        front = rows[rows["on_front"]]
        best = front["accuracy"].reindex(rows.index).ffill()
        ax.plot(best, rows.index, color="0.7", linewidth=1.2, drawstyle="steps-pre", zorder=1)
        filled, opened, half = _BY_PRICE
        mark = np.select([rows["method"] == GOLDEN, rows["on_front"]], [half, filled], opened)
        looks = {name: {"marker": "o", "color": draw.INK, "label": name} | face for name, face in _BY_PRICE.items()}
        draw.points(ax, rows.index, rows.assign(mark=mark), "mark", looks, "accuracy", across=True)
        cost, condition = rows.iloc[0][["cost_of", "condition"]]
        of = cost.replace("cost_usd", "US dollars").replace("_", " ")
        label = f"{condition} accuracy (n = {rows['n'].max()})\nin parentheses: {of}"
        return draw.finish(ax, draw.BELOW, left=False, xlabel=label)


_BY_PRICE: dict[str, draw.Look] = {
    "filled: nothing better at its price or less": {}, "open: something is": _OPEN, "half: told the truth": _HALF,
}  # fmt: skip


class OneQuestionDisplay(draw.Display):
    """Rows of the table `records` for one year question and one method, one per offset of its passage."""

    @classmethod
    def from_records(cls, records: pd.DataFrame, question_id: str, method: str = "sr_dcr") -> Self:
        chosen = records[(records["question_id"] == question_id) & (records["method"] == method)]
        columns = (
            "item_id question gold_answer claimed_answer prior_answer context_answer verdict_path "
            "self_confidence confidence_kind tau decision final_answer correct missing"
        )
        table = chosen[columns.split()].copy()
        table.insert(1, "offset", chosen["perturbation_value"].fillna(0).astype(int))
        return cls(table.sort_values("offset").reset_index(drop=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Answered year against claimed year; grey lines mark the truth and full belief in the passage."""
        ax = draw.axes(ax, draw.WIDEST, 3.6)
        names = ["claimed_answer", "context_answer", "final_answer"]
        claim, context, final = (pd.to_numeric(self.table[name], errors="coerce") for name in names)
        ax.axhline(int(self.table["gold_answer"].iloc[0]), color="0.75", zorder=0, label="the truth")
        ax.plot(claim, claim, color="0.75", linestyle="--", zorder=0, label="what the passage says")
        ax.plot(claim, context, "+", color="0.3", markersize=11, label=f"context answer ({called('few_shot')})")
        final = final.where(self.table["decision"] != "ABSTAIN", final.fillna(float(claim.min())))
        markers = {"USE_CONTEXT": ("s", draw.BLUE), "USE_PRIOR": ("o", draw.ORANGE), "ABSTAIN": ("x", draw.INK)}
        for decision, (marker, colour) in markers.items():
            here = self.table["decision"] == decision
            look: draw.Look = {"facecolors": "none", "edgecolors": colour, "label": f"decision {decision}"}
            if decision == "ABSTAIN":
                look = {"color": colour, "label": f"decision {decision} (no answer, drawn at the bottom)"}
            if here.any():
                ax.scatter(claim[here], final[here], marker=marker, s=64, **look)
        ax.set_title(fill(self.table["question"].iloc[0], 48), fontsize="medium")
        return draw.finish(ax, draw.BELOW, xlabel="year the passage claims", ylabel="year answered")
