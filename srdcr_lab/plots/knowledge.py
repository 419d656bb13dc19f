"""How much of each domain a model knows, with intervals, and what the thresholds cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from srdcr_lab.measures import CATEGORIES, categories_by_domain, categories_by_draws, categorise
from srdcr_lab.measures.knowledge import ALL_CATEGORIES, HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, SIZES
from srdcr_lab.plots.drawers import CATEGORY_COLOURS, CATEGORY_LABELS


@dataclass(frozen=True)
class CategoriesDisplay:
    """Share of each knowledge category per domain: the table of `srdcr_lab.measures.categories_by_domain`."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, **thresholds: float) -> CategoriesDisplay:
        return cls(categories_by_domain(questions, **thresholds))

    @property
    def shares(self) -> pd.DataFrame:
        """One row per domain to read: `n`, and each category's share with its interval, in words."""
        rows = []
        for domain, part in self.table.groupby("domain", sort=False):
            said = [f"{row.share:.2f} [{row.low:.2f}, {row.high:.2f}]" if row.n else "–" for row in part.itertuples()]
            rows.append((domain, part["n"].iloc[0], *said))
        return pd.DataFrame(rows, columns=["domain", "n", *CATEGORY_LABELS.values()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Points with 95 % intervals, one row per domain."""
        domains = list(dict.fromkeys(self.table["domain"]))
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 1.2 + 0.62 * len(domains)))[1]
        for place, (category, colour) in enumerate(CATEGORY_COLOURS.items()):
            rows = self.table[(self.table["knowledge_category"] == category) & (self.table["n"] > 0)]
            below, above = (rows["share"] - rows["low"]).clip(lower=0), (rows["high"] - rows["share"]).clip(lower=0)
            ax.errorbar(
                rows["share"],
                [domains.index(domain) + 0.18 * (place - 1.5) for domain in rows["domain"]],
                xerr=[below, above],
                fmt="o",
                markersize=4.5,
                color=colour,
                label=CATEGORY_LABELS[category],
            )
        n = self.table.groupby("domain")["n"].first()
        ax.set_yticks(range(len(domains)), [f"{domain} (n = {n[domain]})" for domain in domains])
        ax.set(xlim=(-0.02, 1.02), ylim=(len(domains) - 0.5, -0.5), xlabel="share of questions")
        for edge in range(1, len(domains)):
            ax.axhline(edge - 0.5, color="0.9", linewidth=0.8, zorder=0)
        ax.legend(
            frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4, handletextpad=0.2
        )
        sns.despine(ax=ax, left=True)
        ax.tick_params(axis="y", length=0)
        return ax


@dataclass(frozen=True)
class SampledAccuracyDisplay:
    """Number of questions `n_questions` at each `sampled_accuracy`, its `knowledge_category`, and the thresholds."""

    table: pd.DataFrame
    highly_from: float = HIGHLY_KNOWN_FROM
    maybe_from: float = MAYBE_KNOWN_FROM

    @classmethod
    def from_questions(
        cls,
        questions: pd.DataFrame,
        highly_from: float = HIGHLY_KNOWN_FROM,
        maybe_from: float = MAYBE_KNOWN_FROM,
    ) -> SampledAccuracyDisplay:
        accuracy = questions["sampled_accuracy"].to_numpy(float, na_value=np.nan)
        values, counts = np.unique(accuracy[~np.isnan(accuracy)], return_counts=True)
        place = categorise(values, highly_from=highly_from, maybe_from=maybe_from)
        names = [CATEGORIES[i].value for i in place]
        table = pd.DataFrame({"sampled_accuracy": values, "knowledge_category": names, "n_questions": counts})
        return cls(table, highly_from, maybe_from)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar per outcome of the draws; counts on a logarithmic scale from 1 on."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 2.8))[1]
        for category, colour in CATEGORY_COLOURS.items():
            rows = self.table[self.table["knowledge_category"] == category]
            label = f"{CATEGORY_LABELS[category]} (n = {rows['n_questions'].sum()})"
            ax.bar(rows["sampled_accuracy"], rows["n_questions"], width=0.02, color=colour, label=label)
        for edge in (self.maybe_from, self.highly_from):
            ax.axvline(edge, color="black", linewidth=1, linestyle="--")
        ax.set_yscale("symlog", linthresh=1)
        most = self.table["n_questions"].max() if len(self.table) else 1
        ax.set_yticks(ticks := [t for t in (0, 1, 3, 10, 30, 100, 300, 1000) if t <= 2 * most], list(map(str, ticks)))
        ax.minorticks_off()
        ax.set(xlim=(-0.03, 1.03), xlabel="sampled accuracy", ylabel="questions")
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
        sns.despine(ax=ax)
        return ax


# -- how far a knowledge category can be relied on: fewer draws, or the same number drawn again


@dataclass(frozen=True)
class DrawsDisplay:
    """What fewer draws would have said: the table of `srdcr_lab.measures.categories_by_draws`."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, sizes: Sequence[int] = SIZES) -> DrawsDisplay:
        return cls(categories_by_draws(questions, sizes))

    def plot(self, ax: Axes | None = None, value: Literal["agreement", "share"] = "agreement") -> Axes:
        """Against the number of draws: agreement with the category of all draws, or the share of each category."""
        ax = ax if ax is not None else plt.subplots(figsize=(4.6, 3.4))[1]
        whole = self.table[(self.table["knowledge_category"] == ALL_CATEGORIES)]
        if value == "agreement":
            ax.plot(whole["size"], whole["agreement"], color="black", linewidth=2, label="all", zorder=3)
        for category, colour in CATEGORY_COLOURS.items():
            rows = self.table[self.table["knowledge_category"] == category]
            n = rows["n"].max() if len(rows) else 0
            label = f"{CATEGORY_LABELS[category]} (n = {n})" if value == "agreement" else CATEGORY_LABELS[category]
            ax.plot(rows["size"], rows[value], marker="o", markersize=3.5, color=colour, label=label)
        said = "same category as all draws" if value == "agreement" else "share of questions"
        ax.set(ylim=(-0.03, 1.03), xlabel="draws per question", ylabel=said, xticks=sorted(set(self.table["size"])))
        ax.legend(frameon=False, fontsize="small")
        sns.despine(ax=ax)
        return ax


@dataclass(frozen=True)
class RedrawDisplay:
    """`sampled_accuracy`, `n_samples`, `knowledge_category` and `redraw_stability` of each distinct outcome of the
    draws, with the number of questions `n_questions` that had it."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame) -> RedrawDisplay:
        drawn = questions.dropna(subset=["sampled_accuracy"])
        keys = ["n_samples", "sampled_accuracy", "knowledge_category"]
        grouped = drawn.groupby(keys, sort=True, observed=True)["redraw_stability"]
        return cls(grouped.agg(redraw_stability="first", n_questions="size").reset_index())

    def plot(self, ax: Axes | None = None) -> Axes:
        """P(same category on a redraw) against sampled accuracy; a mark's area is its number of questions."""
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.4))[1]
        for edge in (MAYBE_KNOWN_FROM, HIGHLY_KNOWN_FROM):
            ax.axvline(edge, color="0.8", linewidth=1, zorder=0)
        for category, colour in CATEGORY_COLOURS.items():
            rows = self.table[self.table["knowledge_category"] == category]
            label = f"{CATEGORY_LABELS[category]} (n = {rows['n_questions'].sum()})"
            sizes = 14 + 5 * rows["n_questions"].to_numpy(float)
            ax.scatter(
                rows["sampled_accuracy"], rows["redraw_stability"], s=sizes, color=colour, alpha=0.8, linewidths=0,
                label=label,
            )  # fmt: skip
        ax.set(xlim=(-0.08, 1.08), ylim=(0, 1.08), xlabel="sampled accuracy", ylabel="P(same category on a redraw)")
        legend = ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(1, 0))
        for handle in legend.legend_handles:
            handle.set_sizes([30])  # type: ignore[union-attr]
        sns.despine(ax=ax)
        return ax


# -- what was told in training against what is known: possible only for a model whose training is published

_MAP = sns.color_palette("flare_r", as_cmap=True)
_COLUMNS = ["question_id", "exposures", "true_share", "rival_answer"]
_NEVER = 0.3  # where questions that were never told stand on the logarithmic axis


@dataclass(frozen=True)
class ExposureDisplay:
    """One row per question that both tables hold: what the model knows, how often training told it, and how often so
    truly: `exposures`, `true_share`, `true_exposures` = exposures × true_share."""

    table: pd.DataFrame

    @classmethod
    def from_questions(cls, questions: pd.DataFrame, exposures: pd.DataFrame) -> ExposureDisplay:
        known = questions[["question_id", "domain", "sampled_accuracy", "n_samples", "knowledge_category"]]
        table = known.merge(exposures[_COLUMNS], on="question_id", validate="one_to_one")
        table["true_exposures"] = table["exposures"] * table["true_share"].fillna(1.0)
        return cls(table.dropna(subset=["sampled_accuracy"]).reset_index(drop=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Sampled accuracy against exposures (logarithmic; never told at the left), coloured by the share told truly.

        Points are shifted a little up or down, by their order, so that equal ones can be told apart; the table is not.
        """
        ax = ax if ax is not None else plt.subplots(figsize=(6.4, 3.8))[1]
        table = self.table
        told = table["exposures"].to_numpy(float)
        shift = 0.018 * ((np.arange(len(table)) * 0.618034) % 1 - 0.5)
        ax.scatter(
            np.where(told > 0, told, _NEVER),
            table["sampled_accuracy"].to_numpy(float) + shift,
            c=table["true_share"].fillna(1.0),
            cmap=_MAP,
            vmin=0,
            vmax=1,
            s=18,
            alpha=0.75,
            linewidths=0,
        )
        ax.set_xscale("log")
        most = max(told.max(initial=1.0), 10.0)
        ticks = [tick for tick in (1, 3, 10, 30, 100, 300, 1000, 3000) if tick <= most * 1.5]
        ax.set_xticks([_NEVER, *ticks], ["never", *map(str, ticks)])
        ax.minorticks_off()
        ax.set(xlim=(_NEVER * 0.8, most * 1.4), ylim=(-0.04, 1.04), ylabel="sampled accuracy")
        ax.set_xlabel("times told in training")
        bar = ax.figure.colorbar(ScalarMappable(Normalize(0, 1), _MAP), ax=ax, pad=0.02)
        bar.set_label("share told truly")
        sns.despine(ax=ax)
        return ax
