"""The evaluation on controls: τ, category thresholds, two methods and a set of offsets redraw tables and flow."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures import CATEGORIES, categorise
from srdcr_lab.measures.gating import STAGES, Gating
from srdcr_lab.measures.knowledge import HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM
from srdcr_lab.plots.drawers import CATEGORY_LABELS
from srdcr_lab.plots.flow import DecisionFlowDisplay

if TYPE_CHECKING:
    from ipywidgets import VBox

READOUT = "srdcr-evaluation"  # class of the HTML under the controls
_RIGHT = STAGES["ending"].index("right")
_SR_DCR = "SR-DCR"


@dataclass(frozen=True)
class Evaluation:
    """The records as arrays, and the sampled accuracy of each row's question (NaN without draws)."""

    live: Gating
    accuracy: NDArray[np.float64]

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Evaluation:
        """From the records of one run."""
        known = records["sampled_accuracy"].to_numpy(float, na_value=np.nan)
        return cls(Gating.from_records(records, None), known)

    @property
    def rows(self) -> list[str]:
        """The rows of the tables: methods, with their design where there are several."""
        return list(dict.fromkeys(names[1] for names in self.live.names))

    @property
    def debated(self) -> str:
        """The row whose decisions the flow shows: SR-DCR under its first design."""
        return next((row for row in self.rows if row.startswith(_SR_DCR)), self.rows[0])

    def html(
        self,
        tau: float = 0.90,
        highly_from: float = HIGHLY_KNOWN_FROM,
        maybe_from: float = MAYBE_KNOWN_FROM,
        one: str = _SR_DCR,
        other: str = "Few-Shot",
        offsets: Collection[str] | None = None,
    ) -> str:
        """Two methods compared, their accuracy by category, both tables, and the flow; nothing is asked of a model."""
        first, second = self.live.tables(tau, offsets)
        flow = DecisionFlowDisplay(self.live.flow(tau, self.debated, offsets))
        return (
            self._difference(tau, one, other, offsets)
            + self._by_category(tau, highly_from, min(maybe_from, highly_from), (one, other), offsets)
            + first.html()
            + second.html()
            + f"<p><b>{escape(self.debated)}</b> on false passages:</p>{flow.svg()}"
        )

    def _difference(self, tau: float, one: str, other: str, offsets: Collection[str] | None) -> str:
        value, low, high = self.live.difference(one, other, tau, offsets)
        names = f"{escape(one)} less {escape(other)}"
        if math.isnan(value):
            return f"<p>{names}: one of the two has no item of a kind.</p>"
        found = f'<b class="srdcr-difference">{value:+.3f}</b> [{low:+.3f}, {high:+.3f}]'
        return f"<p>Overall accuracy at τ = {tau:.2f}, {names}: {found}</p>"

    def _by_category(
        self, tau: float, highly_from: float, maybe_from: float, pair: Sequence[str], offsets: Collection[str] | None
    ) -> str:
        """Accuracy on false passages of two rows of the tables, by the category that these thresholds give."""
        live = self.live
        chosen = [place for place, name in enumerate(live.strata) if place and (offsets is None or name in offsets)]
        drawn = ~np.isnan(self.accuracy) & np.isin(live.stratum, chosen)
        place = categorise(np.nan_to_num(self.accuracy), highly_from=highly_from, maybe_from=maybe_from)
        right = live.endings(tau) == _RIGHT
        columns = []
        for name in pair:
            group = next((g for g, names in enumerate(live.names) if names[1] == name), -1)
            here = drawn & (live.group == group)
            columns.append((np.bincount(place[here], minlength=4), np.bincount(place[here], right[here], 4)))
        head = "".join(f"<th>{escape(name)}</th>" for name in pair)
        lines = "".join(
            f"<tr><td>{CATEGORY_LABELS[category]}</td><td>{columns[0][0][i]}</td>"
            + "".join(f"<td>{hits[i] / n[i]:.3f}</td>" if n[i] else "<td>–</td>" for n, hits in columns)
            + "</tr>"
            for i, category in enumerate(CATEGORIES)
        )
        return f"<table><tr><th>accuracy on false passages</th><th>n</th>{head}</tr>{lines}</table>"


def evaluation_controls(records: pd.DataFrame, label: str = "", tau: float = 0.90) -> VBox:
    """Controls over the records of one run; the tables are drawn anew at every move, from memory."""
    import ipywidgets

    view = Evaluation.from_records(records)
    wide = {"style": {"description_width": "15em"}, "layout": {"width": "38em"}}
    starts = {"tau": ("τ: answer from memory from", tau), "highly_from": ("Highly-Known from", HIGHLY_KNOWN_FROM),
              "maybe_from": ("Maybe-Known from", MAYBE_KNOWN_FROM)}  # fmt: skip
    controls = {
        name: ipywidgets.FloatSlider(value=value, min=0.0 if name == "tau" else 0.01, max=1.0, step=0.01,
                                     description=text, readout_format=".2f", **wide).add_class(f"srdcr-{name}")
        for name, (text, value) in starts.items()
    }  # fmt: skip
    rows, strata = view.rows, list(view.live.strata[1:])
    second = next((row for row in rows if row == "Few-Shot"), rows[-1])
    controls |= {
        "one": ipywidgets.Dropdown(options=rows, value=view.debated, description="this method", **wide),
        "other": ipywidgets.Dropdown(options=rows, value=second, description="less that one", **wide),
        "offsets": ipywidgets.SelectMultiple(
            options=strata, value=strata, rows=min(len(strata), 8), description="false passages", **wide
        ),
    }

    def drawn() -> str:
        return view.html(**{name: control.value for name, control in controls.items()})

    shown = ipywidgets.HTML(drawn()).add_class(READOUT)
    for control in controls.values():
        control.observe(lambda _: setattr(shown, "value", drawn()), names="value")
    return ipywidgets.VBox([*controls.values(), shown, ipywidgets.Label(label)])
