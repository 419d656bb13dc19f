"""Sliders and menus over a plain function: at every move it writes its HTML anew, from data in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True, slots=True)
class Menu:
    """A choice of one of several names: what stands beside it, and the names; the first is chosen."""

    text: str
    names: tuple[str, ...]


def with_sliders(draw: Callable[..., str], slides: Mapping[str, Slide | Menu], label: str = "") -> VBox:
    """Sliders and menus above what `draw` makes of their values, which it takes by name; the label stands below.

    `draw` must escape what is not ours, and take a few milliseconds at most: it runs at every step of a drag.
    """
    import ipywidgets

    controls = {name: _control(slide).add_class(f"srdcr-{name.replace('_', '-')}") for name, slide in slides.items()}

    def drawn() -> str:
        values = {name: control.value for name, control in controls.items()}
        return draw(**{name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()})

    shown = ipywidgets.HTML(drawn()).add_class(READOUT)
    for control in controls.values():
        control.observe(lambda _: setattr(shown, "value", drawn()), names="value")
    return ipywidgets.VBox([*controls.values(), shown, ipywidgets.Label(label)])


def _control(slide: Slide | Menu) -> Any:
    import ipywidgets

    looks = {"style": {"description_width": "12em"}, "layout": {"width": "36em"}}
    if isinstance(slide, Menu):
        return ipywidgets.Dropdown(options=slide.names, value=slide.names[0], description=slide.text, **looks)
    return ipywidgets.FloatSlider(
        value=slide.value, min=slide.low, max=slide.high, step=slide.step, description=slide.text,
        readout_format=".2f", **looks,
    )  # fmt: skip
