"""Whom answers follow: context preference by offset and category, prior preference by round [Figures 2, 4, 8, 9]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import biases, context_preference, prior_preference_by_round
from srdcr_lab.measures.preference import PRESENT
from srdcr_lab.plots.drawers import CATEGORY_COLOURS, CATEGORY_LABELS

_MARKERS = "osD^vPX"
_FUTURE_COLOURS = {False: "#0173b2", True: "#d55e00"}
_AXIS = {"stratum": "offset of the claim in years, either sign", "offset": "offset of the claim in years"}


@dataclass(frozen=True)
class ContextPreferenceDisplay:
    """The table of `srdcr_lab.measures.context_preference` of one model, held for drawing.

    `by` is the column along the axis (stratum, offset, domain, level), `hue` the one that is told apart by colour.
    """

    table: pd.DataFrame
    by: str = "stratum"
    hue: str = "knowledge_category"

    @classmethod
    def from_records(
        cls, records: pd.DataFrame, by: str = "stratum", *, hue: str = "", method: str = "few_shot"
    ) -> ContextPreferenceDisplay:
        """By default coloured by category; by signed `offset`, by whether the year claimed lies in the future."""
        hue = hue or ("future" if by == "offset" else "knowledge_category")
        return cls(context_preference(records, (by, hue), method=method), by, hue)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Shares with 95 % intervals. Items whose prior answer already equals the claim are left out, and counted."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.2))[1]
        if self.table.empty:
            ax.text(0.5, 0.5, "no false passage in these records", ha="center", transform=ax.transAxes)
            return ax
        rows = self.table[~self.table["prior_is_claim"]]
        places = list(dict.fromkeys(rows[self.by]))
        series = [(name, part[part["n"] > 0]) for name, part in rows.groupby(self.hue, sort=False)]
        series = [(name, part) for name, part in series if len(part)]
        for place, (name, part) in enumerate(series):
            shift = 0.12 * (place - (len(series) - 1) / 2)
            colour, label = self._style(name)
            x = np.array([places.index(value) for value in part[self.by]]) + shift
            _points(ax, x, part, colour, f"{label} (n = {part['n'].sum()})", _MARKERS[place % len(_MARKERS)])
            for kind in dict.fromkeys(_kind(value) for value in part[self.by]):
                joined = [_kind(value) == kind for value in part[self.by]]
                if self.by != "domain":
                    ax.plot(x[joined], part["share"][joined], color=colour, linewidth=1.2, alpha=0.8)
        ax.set_xticks(range(len(places)), [_tick(value) for value in places])
        if len(places) > 7:
            ax.tick_params(axis="x", labelrotation=45, labelsize="small")
        ax.set(xlim=(-0.5, len(places) - 0.5), ylim=(-0.03, 1.03), ylabel="context preference")
        ax.set_xlabel(self._axis_label(places))
        _legend(ax, 2)
        sns.despine(ax=ax)
        return ax

    def _style(self, name: Any) -> tuple[str, str]:
        if self.hue == "knowledge_category":
            return CATEGORY_COLOURS[name], CATEGORY_LABELS[name]
        if self.hue == "future":
            label = f"claim after {PRESENT}" if name else f"claim up to {PRESENT}"
            return _FUTURE_COLOURS[bool(name)], label
        colours = sns.color_palette("colorblind", self.table[self.hue].nunique()).as_hex()
        return colours[list(self.table[self.hue].unique()).index(name)], str(name)

    def _axis_label(self, places: Sequence[Any]) -> str:
        apart = int(self.table.loc[self.table["prior_is_claim"], "n"].sum())
        other = self.by == "stratum" and any(_kind(value) != "offset" for value in places)
        label = "how far off the claim is" if other else _AXIS.get(self.by, self.by)
        return label + (f"\n({apart} items whose prior answer is the claim are left out)" if apart else "")


@dataclass(frozen=True)
class PriorPreferenceByRoundDisplay:
    """The table of `srdcr_lab.measures.prior_preference_by_round` of one model and one kind of debate, by stratum."""

    table: pd.DataFrame

    @classmethod
    def from_records(
        cls, records: pd.DataFrame, debate: str = "judge_debate", *, gate: bool = False
    ) -> PriorPreferenceByRoundDisplay:
        """`debate` is ``judge_debate`` or the name of a design whose verdicts are in the records."""
        table = prior_preference_by_round(records, ("stratum",), gate=gate)
        return cls(table[(table["debate"] == debate) & ~table["prior_is_claim"]] if len(table) else table)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line per stratum over the rounds, darker where the claim is farther off; 95 % intervals."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.2))[1]
        if self.table.empty:
            ax.text(0.5, 0.5, "no such debate in these records", ha="center", transform=ax.transAxes)
            return ax
        names = list(dict.fromkeys(self.table["stratum"]))
        rounds = sorted(self.table["round"].unique())
        step = min(np.diff(rounds), default=1) * 0.09
        for place, (name, colour) in enumerate(zip(names, sns.color_palette("flare", len(names)), strict=True)):
            part = self.table[(self.table["stratum"] == name) & (self.table["n"] > 0)].sort_values("round")
            x = part["round"].to_numpy(float) + step * (place - (len(names) - 1) / 2)
            ax.plot(x, part["share"], color=colour, linewidth=1.2)
            n = part["n"].max() if len(part) else 0
            _points(ax, x, part, colour, f"{name} (n = {n})", _MARKERS[place % len(_MARKERS)])
        ax.set_xticks(rounds, [str(number) for number in rounds])
        ax.set(ylim=(-0.03, 1.03), ylabel="prior preference", xlabel="debate ends after round")
        _legend(ax, 2)
        sns.despine(ax=ax)
        return ax


def _points(ax: Axes, x: Any, part: pd.DataFrame, colour: Any, label: str, marker: str) -> None:
    below, above = (part["share"] - part["low"]).clip(lower=0), (part["high"] - part["share"]).clip(lower=0)
    ax.errorbar(
        x,
        part["share"],
        yerr=[below, above],
        fmt=marker,
        markersize=4.5,
        color=colour,
        elinewidth=1,
        capsize=1.5,
        label=label,
    )


def _legend(ax: Axes, columns: int) -> None:
    ax.legend(
        frameon=False,
        fontsize="small",
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=columns,
        handletextpad=0.3,
        columnspacing=1.2,
    )


def _kind(value: Any) -> str:
    """Points of one kind of perturbation are joined by a line."""
    return value.partition(" ")[0] if isinstance(value, str) else ""


def _tick(value: Any) -> str:
    if isinstance(value, str):
        return value.removeprefix("offset ").replace(" ", "\n")
    return f"{value:+g}".replace("-", "−")


# -- context bias and prior bias, by domain or any other grouping [ClashEval; 4.4]

_STYLE = {"context": ("#0173b2", "o"), "prior": ("#de8f05", "s")}


@dataclass(frozen=True)
class BiasDisplay:
    """The table of `srdcr_lab.measures.biases` of one model and method, by the column `by`; last, all items."""

    table: pd.DataFrame
    by: str = "domain"

    @classmethod
    def from_records(cls, records: pd.DataFrame, by: str = "domain", *, method: str = "few_shot") -> BiasDisplay:
        rows = records[records["method"] == method]
        parts = [biases(rows, by=(by,)), biases(rows).assign(**{by: "all"})]
        return cls(pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True), by)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Shares with 95 % intervals and the items each rests on; a group without such items has no point."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.4))[1]
        places = list(dict.fromkeys(self.table[self.by]))
        for shift, (bias, (colour, marker)) in zip((-0.13, 0.13), _STYLE.items(), strict=True):
            part = self.table[(self.table["bias"] == bias) & (self.table["n"] > 0)]
            x = [places.index(name) + shift for name in part[self.by]]
            ends = [(part["share"] - part["low"]).clip(lower=0), (part["high"] - part["share"]).clip(lower=0)]
            ax.errorbar(
                x, part["share"], yerr=ends, fmt=marker, color=colour, markersize=4.5, elinewidth=1, capsize=1.5,
                label=f"{bias} bias",
            )  # fmt: skip
            for at, height, n in zip(x, part["high"], part["n"], strict=True):
                ax.annotate(str(n), (at, height), (0, 2), textcoords="offset points", ha="center", fontsize="x-small")
        ax.axvline(len(places) - 1.5, color="0.8", linewidth=0.8)
        ax.set_xticks(range(len(places)), places)
        ax.set(xlim=(-0.5, len(places) - 0.5), ylim=(-0.03, 1.1), ylabel="share of answers")
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
        sns.despine(ax=ax)
        return ax


# -- one question under every offset: what is claimed, what is answered, what SR-DCR decides

_MARKERS_one_question = {"USE_CONTEXT": "s", "USE_PRIOR": "o", "ABSTAIN": "x"}


@dataclass(frozen=True)
class OneQuestionDisplay:
    """Rows of the table `records` for one year question and one method, one per offset of its passage."""

    table: pd.DataFrame

    @classmethod
    def from_records(cls, records: pd.DataFrame, question_id: str, method: str = "sr_dcr") -> OneQuestionDisplay:
        chosen = records[(records["question_id"] == question_id) & (records["method"] == method)]
        columns = [
            "item_id",
            "question",
            "gold_answer",
            "claimed_answer",
            "prior_answer",
            "context_answer",
            "verdict_path",
        ]
        columns += ["self_confidence", "confidence_kind", "tau", "decision", "final_answer", "correct", "missing"]
        table = chosen[columns].copy()
        table.insert(1, "offset", chosen["perturbation_value"].fillna(0).astype(int))
        return cls(table.sort_values("offset").reset_index(drop=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Claimed year against answered year; grey lines mark the truth and full belief in the passage."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 4.2))[1]
        table = self.table
        claim, context = pd.to_numeric(table["claimed_answer"]), pd.to_numeric(table["context_answer"], errors="coerce")
        gold = int(table["gold_answer"].iloc[0])
        ax.axhline(gold, color="0.75", zorder=0, label="the truth")
        ax.plot(claim, claim, color="0.75", linestyle="--", zorder=0, label="what the passage says")
        ax.plot(claim, context, "+", color="0.3", markersize=11, label="context answer (few-shot)")
        colours = dict(
            zip(_MARKERS_one_question, sns.color_palette("colorblind", len(_MARKERS_one_question)), strict=True)
        )
        final = pd.to_numeric(table["final_answer"], errors="coerce")
        for decision, marker in _MARKERS_one_question.items():
            here = table["decision"] == decision
            heights = final.where(final.notna(), float(claim.min())) if decision == "ABSTAIN" else final
            if here.any():
                label = f"SR-DCR: {decision}" + (" (no answer, drawn at the bottom)" if decision == "ABSTAIN" else "")
                face = "none" if marker != "x" else colours[decision]
                ax.scatter(
                    claim[here],
                    heights[here],
                    marker=marker,
                    s=64,
                    edgecolors=None if marker == "x" else colours[decision],
                    facecolors=face,
                    label=label,
                )
        ax.set(xlabel="year the passage claims", ylabel="year answered", title=table["question"].iloc[0])
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        sns.despine(ax=ax)
        return ax
