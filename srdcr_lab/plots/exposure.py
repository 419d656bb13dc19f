"""What was told in training against what is known: possible only for a model whose training is published."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

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
