"""Charts with sliders and menus that work without a kernel: all values are computed beforehand, and a control selects
rows.

A table is filtered by the controls that share a name with one of its columns. A column that must not be filtered, such
as τ along a curve, needs another name. The charts use Altair, an extra (``srdcr-lab[notebooks]``).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb

from srdcr_lab.lib.page import Html, render, source
from srdcr_lab.records.files import to_write, write_whole
from srdcr_lab.records.vocabulary import must_have

_BRIGHTNESS = (0.299, 0.587, 0.114)  # of red, green and blue
EMBEDDED = {"renderer": "svg", "actions": False}  # text stays text, for search and for screen readers


@dataclass(frozen=True, slots=True)
class Slider:
    """A number between `low` and `high` in steps; `value` is where it starts."""

    name: str
    label: str
    value: float
    low: float = 0.0
    high: float = 1.0
    step: float = 0.01


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values, each with its label for a reader; `value` is where it starts."""

    name: str
    label: str
    options: Mapping[Any, str]
    value: Any


class Interactive:
    """A chart with its controls: shown in a notebook, saved as a page, and its `settings` read by the next cell."""

    def __init__(
        self, chart: Any, controls: Sequence[Slider | Choice], title: str, note: str, reset: Mapping[str, Any]
    ) -> None:
        self.chart, self.title, self.note = chart, title, note
        self._controls, self._reset = controls, reset

    @property
    def settings(self) -> dict[str, Any]:
        """The current values of the controls."""
        moved = vars(self).get("shown")
        values = {one.name: one.value if moved is None else getattr(moved.params, one.name) for one in self._controls}
        return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}

    @property
    def tau(self) -> float:
        """The selected threshold, of a chart with a slider for τ."""
        return float(self.settings["tau"])

    def reset(self) -> None:
        """Set the controls to the paper's values."""
        for name, value in self._reset.items():
            setattr(self.shown.params, name, value)

    def save(self, path: str | Path) -> Path:
        """Write a separate page that works without a kernel and without a network.

        Raises
        ------
        BadInput
            The folder does not exist, or a folder has this name.
        """
        target = to_write(path)
        write_whole(target, self.html())
        return target

    def html(self) -> Html:
        """The page that `save` writes."""
        library = Html(_library().replace("</script", "<\\/script"))
        parts = {"chart": self._spec, "reset": dict(self._reset), "options": EMBEDDED}
        texts = {name: json.dumps(part, separators=(",", ":"), ensure_ascii=False) for name, part in parts.items()}
        scripts = {name: Html(text.replace("<", "\\u003c")) for name, text in texts.items()}
        return render("interactive", title=self.title, note=self.note, library=library, **scripts)

    def png(self) -> bytes:
        """The chart in its initial state, as a picture with few colours; its title names the values of the controls."""
        from PIL import Image

        title = {"text": self.title, "subtitle": " · ".join(map(_at_start, self._controls)), "anchor": "start"}
        spec = self._spec | {"title": title | {"fontSize": 13, "subtitleFontSize": 12, "offset": 14}}
        drawn = Image.open(BytesIO(_needed("vl_convert").vegalite_to_png(spec, scale=1.5)))
        picture = BytesIO()
        drawn.convert("RGB").quantize(128, Image.Quantize.FASTOCTREE).save(picture, "png", optimize=True)
        return picture.getvalue()

    @cached_property
    def _spec(self) -> dict[str, Any]:
        return dict(self.chart.to_dict())

    @cached_property
    def shown(self) -> Any:
        """The widget of the chart; its browser reports the values of the controls."""
        return _widget()(self.chart, embed_options=EMBEDDED)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """The widget, and a picture for readers without a kernel."""
        ipywidgets = _needed("ipywidgets")
        button = ipywidgets.Button(description="Paper's values", tooltip="Set the controls to the paper's values")
        button.on_click(lambda _: self.reset())
        box = ipywidgets.VBox([*([button] if self._reset else []), self.shown, ipywidgets.Label(self.note)])
        return dict(box._repr_mimebundle_()) | {"image/png": self.png(), "text/plain": self.title}


def sliding(
    tables: Mapping[str, pd.DataFrame], draw: Callable[[Mapping[str, Any]], Any], controls: Sequence[Slider | Choice],
    *, title: str, note: str = "", reset: Mapping[str, Any] | None = None,
) -> Interactive:  # fmt: skip
    """Make charts of tables whose rows are selected by sliders and menus.

    Parameters
    ----------
    tables : tidy tables by name; a column with the name of a control holds the values at which that control selects the
    row.
    draw : a function from an `altair.Chart` per table, with its rows selected, to the chart that is shown.
    controls : sliders and menus, from top to bottom.
    title, note : a description for the heading and for screen readers; a line below the chart (`Results.label`).
    reset : values that a button sets.

    Returns
    -------
    Interactive
        Put it at the end of a cell; `settings` are the values of its controls, `save` writes a page.
    """
    altair = _needed("altair")
    charts = {}
    for name, table in tables.items():
        form = altair.CsvDataFormat(type="csv", parse=dict.fromkeys(table.select_dtypes("number"), "number"))
        charts[name] = altair.Chart(altair.InlineData(values=table.to_csv(index=False), format=form))
        for control in controls:
            if control.name in table:
                charts[name] = charts[name].transform_filter(_selects(control))
    chart = draw(charts)
    chart.params = [_bound(altair, control) for control in controls]  # set, since Altair copies every part to add one
    chart.description = title
    look = altair.AxisConfig(grid=False, labelFontSize=11, titleFontSize=12, titleFontWeight="normal")
    chart.config = altair.Config(view=altair.ViewConfig(stroke=None), axis=look, font="DejaVu Sans, sans-serif")
    return Interactive(chart, controls, title, note, reset or {})


def bars(
    chart: Any, y: str, part: str, n: str, palette: Mapping[str, str], *, title: str, look: Mapping[str, Any]
) -> Any:
    """A horizontal bar for each value of the column `y`, stacked from the shares of its parts, which show their numbers
    `n`.

    The column `part` holds positions in the palette; `title` is that of the axis, `look` the properties of the chart.
    """
    import altair as alt

    names, columns = list(palette), 3 if len(palette) > 4 else len(palette)
    chart = chart.transform_calculate(part_name=f"{names!r}[datum['{part}']]")
    legend = alt.Legend(title=None, orient="top", columns=columns, labelLimit=220, labelFontSize=11)
    colour = alt.Color("part_name:N", scale=alt.Scale(domain=names, range=list(palette.values())), legend=legend)
    axis = alt.Axis(format=".0%", tickCount=5)
    at = {"y": alt.Y(f"{y}:N", title=None, sort=None), "order": f"{part}:Q"}
    tips = [alt.Tooltip("part_name:N", title="are"), alt.Tooltip(f"{n}:Q", title="n"), alt.Tooltip("share:Q")]
    x = alt.X("share:Q", stack="zero", title=title, axis=axis, scale=alt.Scale(domain=(0, 1)))
    middle = alt.X("share:Q", stack="zero", bandPosition=0.5, title=title, axis=axis)
    drawn = chart.mark_bar(stroke="white").encode(x=x, color=colour, tooltip=tips, **at)
    shown = alt.condition("datum.share > 0.012", f"{n}:Q", alt.value(""))
    dark = [place for place, colour in enumerate(palette.values()) if np.dot(to_rgb(colour), _BRIGHTNESS) < 0.4]
    ink = alt.condition(f"indexof({dark}, datum['{part}']) >= 0", alt.value("white"), alt.value("black"))
    counts = chart.mark_text(fontSize=11, aria=False).encode(x=middle, text=shown, color=ink, **at)
    return alt.layer(drawn, counts).properties(**look)


def _selects(control: Slider | Choice) -> str:
    if isinstance(control, Slider):
        return f"abs(datum['{control.name}'] - {control.name}) < {control.step / 2}"
    return f"datum['{control.name}'] == {control.name}"


def _at_start(control: Slider | Choice) -> str:
    """The label of a control and where it starts."""
    value = f"{control.value:g}" if isinstance(control, Slider) else control.options[control.value]
    return f"{control.label} {value}"


def _bound(altair: Any, control: Slider | Choice) -> Any:
    """The control as a parameter; its label is its name for a screen reader. A menu of one entry is not shown."""
    name = f"{control.label} "
    if isinstance(control, Slider):
        element = altair.binding_range(min=control.low, max=control.high, step=control.step, name=name)
    else:
        values, labels = list(control.options), list(control.options.values())
        element = altair.binding_select(options=values, labels=labels, name=name) if values[1:] else altair.Undefined
    return altair.param(name=control.name, value=control.value, bind=element).param


def _needed(name: str) -> Any:
    from importlib import import_module

    package = name.replace("_", "-") + ("-python" if name == "vl_convert" else "")
    must_have(package, "this chart", "notebooks", module=name)
    return import_module(name)


@cache
def _widget() -> Any:
    """Altair's widget, which speaks to a screen reader, and whose controls keep the arrow keys in JupyterLab: it takes
    none from an element so marked."""
    altair = _needed("altair")
    _needed("vl_convert")
    altair.JupyterChart.enable_offline()
    start = "async function render({model,el}){"
    script = source("tell.js") + altair.JupyterChart._esm.replace(start, f"{start}tell(el,el);")
    return type("JupyterChart", (altair.JupyterChart,), {"_esm": script, "_css": source("controls.css")})


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return str(_needed("vl_convert").javascript_bundle())
