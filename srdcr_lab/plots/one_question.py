"""One question under every offset: what is claimed, what is answered, what SR-DCR decides."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

_MARKERS = {"USE_CONTEXT": "s", "USE_PRIOR": "o", "ABSTAIN": "x"}


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
        colours = dict(zip(_MARKERS, sns.color_palette("colorblind", len(_MARKERS)), strict=True))
        final = pd.to_numeric(table["final_answer"], errors="coerce")
        for decision, marker in _MARKERS.items():
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
