"""Several confidences of the same answers: do they rank questions alike, and do they part at τ?"""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from srdcr_lab.measures.confidence_variants import compared_at
from srdcr_lab.measures.consistency_draws import consistency_by_draws


@dataclass(frozen=True)
class ConfidenceKindsDisplay:
    """`table`: every two confidences compared (`srdcr_lab.measures.confidence_variants.compared_at`); `above`: of each
    one, the `n` questions that have it and the `n_above` with Conf ≥ τ."""

    table: pd.DataFrame
    above: pd.DataFrame
    tau: float

    @classmethod
    def from_confidences(cls, confidences: pd.DataFrame, tau: float = 0.90) -> ConfidenceKindsDisplay:
        """One row per question, a column per confidence; missing where there is none."""
        counts = {"n": confidences.notna().sum(), "n_above": (confidences >= tau).sum()}
        above = pd.DataFrame(counts).rename_axis("confidence").reset_index()
        return cls(compared_at(confidences, tau), above, tau)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Below the diagonal rank correlations with their 95 % intervals, above it the questions that change sides at
        τ; on it how many lie above τ. Grey where no question has both."""
        names = self.above["confidence"].tolist()
        size = 1.5 + 1.12 * len(names), 0.9 + 0.62 * len(names)
        ax = ax if ax is not None else plt.subplots(figsize=size)[1]
        alike, parted = plt.get_cmap("Blues"), plt.get_cmap("Oranges")
        for row in self.table.to_dict("records"):
            i, j = names.index(row["first"]), names.index(row["second"])
            rho, flipped = row["spearman"], row["flipped"]
            shade = "0.93" if pd.isna(rho) else alike(0.7 * max(rho, 0))
            _cell(ax, i, j, "–" if pd.isna(rho) else f"ρ = {rho:.2f}\n[{row['low']:.2f}, {row['high']:.2f}]", shade)
            shade = "0.93" if pd.isna(flipped) else parted(0.9 * flipped)
            _cell(ax, j, i, f"{row['n_flipped']} of {row['n']}" if row["n"] else "–", shade)
        for i, row in self.above.iterrows():
            _cell(ax, int(str(i)), int(str(i)), f"{row['n_above']} of {row['n']}\n≥ τ", "white")
        ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
        spelled = [name.replace("_", " ") for name in names]
        ax.set_xticks(range(len(names)), spelled, fontsize="small", rotation=18)
        ax.set_yticks(range(len(names)), spelled, fontsize="small")
        ax.set_title(
            f"below: rank correlation; above: questions that change sides at τ = {self.tau:g}", fontsize="small"
        )
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        return ax


def _cell(ax: Axes, x: float, y: float, text: str, colour: object) -> None:
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
    ax.text(x, y, text, ha="center", va="center", fontsize=7)


@dataclass(frozen=True)
class ConsistencyByDrawsDisplay:
    """The table of `srdcr_lab.measures.consistency_draws.consistency_by_draws`."""

    table: pd.DataFrame
    tau: float

    @classmethod
    def from_agreement(cls, agrees: ArrayLike, tau: float = 0.90) -> ConsistencyByDrawsDisplay:
        """`agrees` has the shape (questions, draws): each draw equals the greedy answer (`agreement_matrix`)."""
        return cls(consistency_by_draws(agrees, tau), tau)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Share of questions that change sides at τ against the number of draws, with its 95 % interval, and how far
        the share is off on average; above each number the draws that must agree."""
        ax = ax if ax is not None else plt.subplots(figsize=(5.6, 3.4))[1]
        rows = self.table
        ax.plot(rows["size"], rows["flipped"], "o-", color="#de8f05", label=f"change sides at τ = {self.tau:g}")
        ax.fill_between(rows["size"], rows["low"], rows["high"], color="#de8f05", alpha=0.18, linewidth=0)
        ax.plot(rows["size"], rows["difference"], "s--", color="#0173b2", markersize=4, label="mean distance of Conf")
        top = max(0.1, 1.15 * float(rows[["high", "difference"]].max().max())) if rows["flipped"].notna().any() else 0.1
        ax.set(
            xlabel="draws", ylim=(-0.02 * top, top), ylabel=f"of {int(rows['n'].max())} questions, against all draws"
        )
        ax.set_xticks(rows["size"])
        counts = ax.secondary_xaxis("top")
        counts.set_xticks(rows["size"], [str(n) for n in rows["least_agreeing"]], fontsize="small", color="0.4")
        counts.set_xlabel("draws that must agree to reach τ", fontsize="small", color="0.4")
        ax.legend(frameon=False, fontsize="small")
        sns.despine(ax=ax)
        return ax
