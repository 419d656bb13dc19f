"""A τ that is carried to other questions: coverage and risk there, as a matrix of domains."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from srdcr_lab.measures.thresholds import leave_one_domain_out, transfer_matrix
from srdcr_lab.measures.thresholds.domains import Choose

OTHERS = "all others"  # the row of the leave-one-domain-out choices


@dataclass(frozen=True)
class TransferDisplay:
    """The rows of `transfer_matrix`, then those of `leave_one_domain_out`, of the same questions."""

    table: pd.DataFrame

    @classmethod
    def from_questions(
        cls, confidence: ArrayLike, target: ArrayLike, domains: ArrayLike, choose: Choose
    ) -> TransferDisplay:
        """`choose` maps the steps of some questions to a choice, as `learn_then_test` does."""
        given = confidence, target, domains
        parts = [transfer_matrix(*given, choose), leave_one_domain_out(*given, choose)]
        return cls(pd.concat([part for part in parts if len(part)], ignore_index=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """A row per domain τ was chosen on, a column per domain it is used on; the darker, the riskier.

        Each cell has the risk with its 95 % interval, the questions above τ, and in the last row its own τ. A frame
        marks the questions that τ was chosen on, whose risk is too good. Grey: no threshold, or nothing above it.
        """
        columns = list(dict.fromkeys(self.table["applied_to"]))
        places = {name: i for i, name in enumerate(columns)}
        size = (1.6 + 1.25 * len(columns), 1.2 + 0.72 * (len(columns) + 1))
        ax = ax if ax is not None else plt.subplots(figsize=size)[1]
        colours = plt.get_cmap("YlOrRd")
        labels = [*columns, OTHERS]
        for row in self.table.to_dict("records"):
            y, x = places.get(row["chosen_on"], len(columns)), places[row["applied_to"]]
            known = not pd.isna(row["risk"])
            shade = colours(0.75 * row["risk"]) if known else "0.92"
            ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="white", linewidth=1.5))
            if row["same_questions"]:
                ax.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor="0.2", linewidth=1.2))
                labels[y] += f"\n{_tau(row['tau'])}"
            above = f"{row['n_above']} of {row['n']}"
            said = f"{row['risk']:.2f} [{row['risk_low']:.2f}, {row['risk_high']:.2f}]\n{above}" if known else above
            if y == len(columns):
                said = f"{_tau(row['tau'])}\n{said}"
            if pd.isna(row["tau"]):
                said = "no τ" if y == len(columns) else "–"
            ax.text(x, y, said, ha="center", va="center", fontsize=7, color="black")
        ax.axhline(len(columns) - 0.5, color="black", linewidth=1)
        ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(columns) + 0.5, -0.5), xlabel="used on", ylabel="chosen on")
        ax.set_xticks(range(len(columns)), columns, fontsize="small")
        ax.set_yticks(range(len(labels)), labels, fontsize="small")
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        return ax


def _tau(tau: float) -> str:
    return "no τ" if pd.isna(tau) else f"τ = {tau:.3g}"
