"""Sliders over a plain function: at every move it writes its HTML anew, from data in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipywidgets import VBox

READOUT = "srdcr-readout"  # class of the HTML under the sliders


@dataclass(frozen=True, slots=True)
class Slide:
    """A slider: what stands beside it, where it starts, and its range."""

    text: str
    value: float
    low: float = 0.0
    high: float = 1.0
    step: float = 0.01


def with_sliders(draw: Callable[..., str], slides: Mapping[str, Slide], label: str = "") -> VBox:
    """Sliders above what `draw` makes of their values, which it takes by name; the label stands below.

    `draw` must escape what is not ours, and take a few milliseconds at most: it runs at every step of a drag.
    """
    import ipywidgets

    controls = {
        name: ipywidgets.FloatSlider(
            value=slide.value, min=slide.low, max=slide.high, step=slide.step, description=slide.text,
            readout_format=".2f", style={"description_width": "12em"}, layout={"width": "36em"},
        ).add_class(f"srdcr-{name.replace('_', '-')}")
        for name, slide in slides.items()
    }  # fmt: skip

    def drawn() -> str:
        return draw(**{name: round(control.value, 6) for name, control in controls.items()})

    shown = ipywidgets.HTML(drawn()).add_class(READOUT)
    for control in controls.values():
        control.observe(lambda _: setattr(shown, "value", drawn()), names="value")
    return ipywidgets.VBox([*controls.values(), shown, ipywidgets.Label(label)])
