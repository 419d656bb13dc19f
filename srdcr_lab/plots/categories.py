"""How much of each domain a model knows, with intervals, and what the thresholds cut."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.measures import CATEGORIES, categories_by_domain, categorise
from srdcr_lab.measures.knowledge import HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM
from srdcr_lab.plots.palette import CATEGORY_COLOURS, CATEGORY_LABELS


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
