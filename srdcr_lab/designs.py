"""Chapter 04b: what the parts of a debate are worth: factors, controls without a debate, economies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from srdcr_lab.debates import READ, guessing_line, with_debate
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import comparable, compare, condition_rows
from srdcr_lab.lib.groups import DESIGN_KEYS, GOLDEN, groups, is_standard, stack
from srdcr_lab.lib.statistics import shares
from srdcr_lab.lib.summary import CONDITIONS
from srdcr_lab.records import Verdict
from srdcr_lab.records.names import called, level_called


def belief_rates(records: pd.DataFrame, *, answers: bool = False) -> pd.DataFrame:
    """What each method, under each debate design, makes of passages: `rate` ``believed``, a share of the true passages,
    and ``caught``, a share of the false ones; `coverage`, the share of all items that it answers.

    A debate believes a passage where V* is Reasonable and catches it where V* is Unreasonable. A method without
    verdicts believes a true passage, or catches a false one, where its answer is right: a misread claim is no catch.
    With `answers` that holds for every method. An item without an answer, or whose verdict was not read, is neither: in
    n, and in `n_missing`.
    """
    tables = []
    for names, part in groups(records, DESIGN_KEYS):
        right = part["correct"].astype("boolean")
        if part["verdict"].notna().any() and not answers:
            true = is_standard(part).map({True: Verdict.REASONABLE, False: Verdict.UNREASONABLE})
            right = (part["verdict"] == true).astype("boolean").mask(~part["verdict"].isin(READ))
        for rate, here in (("believed", is_standard(part)), ("caught", ~is_standard(part))):
            table = shares(part[here], right[here].fillna(False))
            counts = {"n_missing": int(right[here].isna().sum()), "coverage": part["correct"].notna().mean()}
            tables.append((names | {"rate": rate}, table.assign(**counts)))
    return stack(tables)


@dataclass(frozen=True)
class OversightDisplay(draw.Display):
    """The plane: what methods, debate designs and models make of passages, true ones believed × false ones caught: the
    table of `srdcr_lab.designs.belief_rates`, of one run or of several. With `answers`, true × false passages that are
    answered rightly."""

    answers: bool = False

    @classmethod
    def from_records(cls, records: pd.DataFrame, *, answers: bool = False) -> Self:
        return cls(belief_rates(records, answers=answers), answers)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A mark for each, the larger the more of all items it answers, with 95 % intervals: round for debates, square
        for methods without verdicts, a star for the golden baseline. Of several models each has a shape of its own;
        marks of one model have their names beside them. A Judge on the dashed line knows nothing of the passage."""
        ax = draw.axes(ax, draw.WIDEST, 4.2)
        if self.table.empty:
            return draw.nothing(ax, "no debate and no answer in these records")
        if not self.answers:
            guessing_line(ax)
        corners = ((0, 1), "trusts none", "left", 1), ((1, 0), "trusts all", "right", -1)
        for place, text, side, up in corners if not self.answers else ():
            ax.plot(*place, "+", color="0.4", markersize=9, zorder=4)
            look: draw.Look = {"ha": side, "va": "center", "fontsize": draw.SMALL, "color": "0.4"}
            ax.annotate(text, place, (0, 12 * up), textcoords="offset points", **look)  # outside, where no mark can be
        rows = with_debate(self.table)
        colours, models = draw.colours(rows["debate"]), list(rows["model"].unique())
        marks: dict[tuple[float, float], list[str]] = {}
        most = rows.groupby("rate")["n"].max()
        for (model, name), part in rows.groupby(["model", "debate"], sort=False):
            believed, caught = (part[part["rate"] == rate] for rate in ("believed", "caught"))
            if believed["n"].sum() and caught["n"].sum():
                coverage, at = part["coverage"].iloc[0], (believed["share"].iloc[0], caught["share"].iloc[0])
                ends = {"xerr": draw.distances(believed)[:, :1], "yerr": draw.distances(caught)[:, :1]}
                ax.errorbar(*at, **ends, color=colours[name], linewidth=0.6, alpha=0.6)
                marker = "s" if part["design"].isna().all() else "o"
                marker = "*" if name == GOLDEN else "osD^vPX"[models.index(model) % 7] if len(models) > 1 else marker
                label = f"{called(name)}, {model}" if len(models) > 1 else called(name)
                look = {"color": colours[name], "marker": marker, "alpha": 0.8, "zorder": 4 - coverage}
                size = (25 if marker == "*" else 15) + 85 * coverage**3  # 77 % has to look smaller than 100 %
                n = believed["n"].iloc[0], caught["n"].iloc[0]
                fewer = f" (n = {n[0]}, {n[1]})" if n != (most["believed"], most["caught"]) else ""
                ax.scatter(*at, s=size, label=f"{label}: {coverage:.0%}{fewer}", **look)
                near = next((other for other in marks if np.hypot(*np.subtract(at, other)) < 0.03), at)
                marks.setdefault(near, []).append(called(name))
        of_true, of_false = "true passages believed", "false passages caught"
        if self.answers:
            of_true, of_false = "right on true passages", "right on false passages"
        ax.set(aspect="equal", xlabel=f"{of_true} (n = {most['believed']})", xlim=(-0.05, 1.05))
        ax.set(ylim=(-0.12, 1.05))
        if len(models) == 1:
            joined = {place: " · ".join(names) for place, names in marks.items()}
            draw.names_beside(
                ax, {at: name if len(name) < 26 else name.replace(" · ", "\n") for at, name in joined.items()}
            )
        legend = draw.BELOW | {"title": "larger: answers more of all items", "title_fontsize": draw.SMALL}
        return draw.finish(ax, legend, ylabel=f"{of_false} (n = {most['caught']})")


def economy_prices(
    records: pd.DataFrame, full: str = "acvd", *, conditions: Sequence[str] = CONDITIONS
) -> pd.DataFrame:
    """What every other debate design of SR-DCR saves against `full`, and what it costs in accuracy; on the same items.

    Columns: (`run`,) `model`, `design`, `condition`; fields of `Comparison`, in which A is the economy and `difference`
    its price; `calls_full`, `calls` and `calls_saved` per item of the method by itself, `share_saved` of the full
    design's; `tokens_saved` per item; `accuracy_full`, `accuracy`; `n_verdicts` held under both, `verdicts_changed`
    among them; `answers_changed`, items whose final answer (or its absence) differs. Where none
    does, the price is 0 on these items and nothing about that is uncertain: so are `low` and `high`.
    """
    rows = []
    for names, part, present in comparable(records[records["method"] == "sr_dcr"], "design"):
        for design in present if full in present else ():
            for condition in conditions if design != full else ():
                price = _price(part, design, full, condition)
                rows.append(names | {"design": design, "condition": condition} | price)
    return pd.DataFrame(rows)


def _price(records: pd.DataFrame, design: str, full: str, condition: str) -> dict[str, Any]:
    compared = compare(records, design, full, column="design", condition=condition)
    rows = condition_rows(records, condition)
    economy, whole = (rows[rows["design"] == name].set_index("item_id") for name in (design, full))
    both = economy.join(whole.add_suffix("_full"), how="inner")
    calls, calls_full = both["calls_alone"].astype(float), both["calls_alone_full"].astype(float)
    tokens, tokens_full = (both[f"prompt_tokens{end}"] + both[f"completion_tokens{end}"] for end in ("", "_full"))
    held = both["verdict"].notna() & both["verdict_full"].notna()
    changed = int((both["final_answer"].fillna("") != both["final_answer_full"].fillna("")).sum())
    price = {name: getattr(compared, name) for name in _SHOWN}
    if compared.n and not changed:
        price |= {"low": 0.0, "high": 0.0}
    return price | {
        "calls_full": calls_full.mean(),
        "calls": calls.mean(),
        "calls_saved": (calls_full - calls).mean(),
        "share_saved": 1 - calls.sum() / (calls_full.sum() or math.nan),
        "tokens_saved": (tokens_full - tokens).astype(float).mean(),
        "accuracy_full": compared.mean_b,
        "accuracy": compared.mean_a,
        "n_verdicts": int(held.sum()),
        "verdicts_changed": int((both["verdict"] != both["verdict_full"])[held].sum()),
        "answers_changed": changed,
    }


_SHOWN = ("n", "n_questions", "n_unpaired", "difference", "low", "high", "p_value", "only_a", "only_b")


@dataclass(frozen=True)
class EffectsDisplay(draw.Display):
    """Rows with `difference`, `low`, `high` (95 %), a `name`, and maybe `condition` and `p_holm`: of factors, of
    economies, of methods."""

    axis: str = "difference"

    @classmethod
    def from_factors(cls, effects: pd.DataFrame, outcome: str = "share of right verdicts") -> Self:
        """From `srdcr_lab.lib.comparison.factor_effects` of one model, in one condition or several, one below another.

        Right verdicts are `verdict_tpr` on true passages and `verdict_tnr` on false ones."""
        names = [
            f"{row['factor'].replace('_', ' ')}: {level_called(row['a'])} − {level_called(row['b'])}"
            for row in effects.to_dict("records")
        ]
        return cls(effects.assign(name=names), f"difference in {outcome}")

    @classmethod
    def from_matched(cls, matched: pd.DataFrame) -> Self:
        """From `srdcr_lab.final_answer.matched_coverage`."""
        names = [f"{called(row.b)} ({row.coverage:.0%})" for row in matched.itertuples()]
        return cls(
            matched.assign(name=names), f"accuracy of as many answers\n(share of the items), {called('sr_dcr')} less …"
        )

    @classmethod
    def from_prices(cls, prices: pd.DataFrame, condition: str = "overall") -> Self:
        """From `srdcr_lab.designs.economy_prices` of one model: the rows of a condition."""
        rows = prices[prices["condition"] == condition]
        names = [f"{called(row['design'])}\n{_saved(row)}" for row in rows.to_dict("records")]
        return cls(rows.assign(name=names), f"{condition} accuracy, less the full design's")

    def plot(self, ax: Axes | None = None) -> Axes:
        """A row per name, with a point for each condition, filled, open or half filled as the legend says. Equal
        answers have no interval: nothing about them is uncertain."""
        rows, known = self.table, "condition" in self.table
        y, names = pd.factorize(rows["name"])
        conditions = list(dict.fromkeys(rows["condition"])) if known else []
        height = 0.3 + 0.06 * max(len(conditions) - 1, 0)
        ax = draw.named_rows(ax, names, (3.2, 0.7, height), least=2, margin=0.6)
        ax.axvline(0, color="0.7", linewidth=0.8)
        if "answers_changed" in rows:
            rows = rows.assign(**{end: rows[end].where(rows["answers_changed"] > 0) for end in ("low", "high")})
        several = len(conditions) > 1
        for shift, condition in zip(draw.shifts(len(conditions), 0.26), conditions, strict=True) if several else ():
            here, look = rows["condition"] == condition, dict(draw.CONDITION_LOOKS[condition])
            ax.plot([], [], linestyle="none", **look | {"label": look["label"] + n_text(rows[here])})
            y = np.where(here, y + shift, y)
        points_of_differences(ax, rows, y, conditions if several else ())
        for place, p in enumerate(rows.get("p_holm", ()) if not several else ()):
            if pd.notna(p):
                text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
                ax.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=draw.SMALL)
        return draw.finish(ax, draw.BELOW, left=False, xlabel=self.axis + ("" if several else n_text(rows)))


OPEN: draw.Look = {"markerfacecolor": "white"}
HALF: draw.Look = {"fillstyle": "left", "markerfacecoloralt": "white"}
_BY_P = {"filled: p < 0.05 (Holm)": {}, "open: p ≥ 0.05 (Holm)": OPEN, "half: outside the family (Holm)": HALF}
_BY_INTERVAL = {"filled: interval leaves out 0 (uncorrected)": {}, "open: interval contains 0": OPEN}


def points_of_differences(ax: Axes, rows: pd.DataFrame, at: Any, conditions: Sequence[str] = (), **look: Any) -> None:
    """A point per row, in the look of its condition: filled, open or half filled by Holm's p, where the table has none
    by the interval. The legend has the marks that occur."""
    if "p_holm" in rows:
        clear, marks = np.select([rows["p_holm"] < 0.05, rows["p_holm"] >= 0.05], [0, 1], 2), _BY_P
    else:
        clear, marks = 1 - ((rows["low"] > 0) | (rows["high"] < 0)).to_numpy(int), _BY_INTERVAL
    mark = np.array([*marks])[clear]
    plain: draw.Look = {"marker": "o", "color": draw.INK} | look
    for condition in conditions or [""]:
        own = plain | draw.CONDITION_LOOKS.get(condition, {}) | {"label": None}
        here = (rows["condition"] == condition).to_numpy() if condition else np.ones(len(rows), bool)
        looks = {name: own | face for name, face in marks.items() if name in mark[here]}
        draw.points(ax, at[here], rows.assign(mark=mark)[here], "mark", looks, "difference", across=True)
    for name, face in marks.items():
        if name in mark:
            ax.plot([], [], "o", color="0.3", label=name, **face)


def n_text(rows: pd.DataFrame) -> str:
    """The n of these differences, to stand behind a label."""
    n = sorted({int(number) for number in rows.get("n", ())} - {0})
    return f" (n = {'–'.join(map(str, dict.fromkeys([n[0], n[-1]])))})" if n else ""


def _saved(row: Mapping[str, Any]) -> str:
    share = row["share_saved"]
    calls = f"saves {share:.0%} of the calls" if share >= 0 else f"takes {-share:.0%} more calls"
    return calls if row["answers_changed"] else f"{calls}; same answers"
