"""Sliders over a plain function from values to HTML, drawn again at every move from data in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipywidgets import VBox


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

    `draw` must escape what is not ours. It runs at every step of a drag, so it may take a few milliseconds at most.
    """
    import ipywidgets

    controls = {name: _control(slide).add_class(f"srdcr-{name.replace('_', '-')}") for name, slide in slides.items()}

    def drawn() -> str:
        values = {name: control.value for name, control in controls.items()}
        return draw(**{name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()})

    shown = ipywidgets.HTML(drawn()).add_class("srdcr-readout")
    for control in controls.values():
        control.observe(lambda _: setattr(shown, "value", drawn()), names="value")
    return ipywidgets.VBox([*controls.values(), shown, ipywidgets.Label(label)])


def _control(slide: Slide) -> Any:
    import ipywidgets

    looks = {"description": slide.text, "style": {"description_width": "15em"}, "layout": {"width": "38em"}}
    limits = {"min": slide.low, "max": slide.high, "step": slide.step}
    return ipywidgets.FloatSlider(value=slide.value, readout_format=".2f", **limits, **looks)
