"""Chapter 04b: what the parts of a debate are worth: controls, economies, other wordings, single choices of design."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab.debates import READ
from srdcr_lab.lib import comparison, draw
from srdcr_lab.lib.comparison import comparable, compare, compare_all, condition_rows, outcome, side_by_side
from srdcr_lab.lib.groups import COLUMNS_OF_SHARES, halves, stack
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import answer_box, sentences
from srdcr_lab.lib.statistics import shares
from srdcr_lab.lib.summary import CONDITIONS
from srdcr_lab.records import BadInput, Verdict
from srdcr_lab.records.names import CONTROLS, called, level_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

_FACTORS = {"debaters_told": "answers assigned"}  # what a reader calls a factor, where its name does not say it
OUR_WORDING = "ours"  # the wording of the prompts that ship
ECONOMIES = ("final_verdict_only", "early_stop", "agreement_shortcut", "judge_draws")  # fields of a design


def answer(results: Results, *reworded: Results) -> Html:
    """Make the answer box of notebook 04b: the debate against simpler controls, cheaper debates, other wordings.

    Parameters
    ----------
    results : Results
        A run with debates and at least one control.
    *reworded : Results
        Runs of the same study with other wordings of the prompts.

    Returns
    -------
    Html
        The answer box of the notebook.

    Raises
    ------
    BadInput
        There is no control in the run.
    """
    added = over_controls(results.records, conditions=["overall"])
    if added.empty:
        command = f"srdcr run --methods sr_dcr --design acvd,{','.join(CONTROLS)}"
        raise BadInput(f"this run has no control besides its debates; {command} makes them")
    prices = economy_prices(economies_of(results.records), conditions=["overall"])
    same = verdicts_kept(by_wording(results, *reworded))
    return answer_box(
        sentences("the debate gives right verdicts more often", added[added["b"].isin(CONTROLS[:2])],
                  "difference", by=["b"], before="than", of="items"),
        sentences("a changed debate gives fewer right answers than the full one", prices, "difference",
                  below=0.0, by=["design"], of="items"),
        sentences("more than nine verdicts in ten stay the same when the Judge is asked in other words", same,
                  above=0.9, column="share", by=["wording"], of="verdicts"),
        label=results.label,
    )  # fmt: skip


def over_controls(records: pd.DataFrame, *, conditions: Sequence[str] = CONDITIONS) -> pd.DataFrame:
    """Compare the right verdicts of the debate ACVD with those of each control on the same items.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    conditions : sequence of str, default CONDITIONS
        The conditions that are compared.

    Returns
    -------
    DataFrame
        The rows of `compare_all`, one per control × condition; Holm's correction is over the controls.
    """
    rows = of_controls(records)
    controls = [control for control in CONTROLS if control in set(rows["design"])]
    return compare_all(rows, "acvd", column="design", conditions=conditions, name="verdict_right", others=controls)


def of_controls(records: pd.DataFrame) -> pd.DataFrame:
    """Select SR-DCR's records of the debate ACVD and of its controls.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        The rows of these designs.
    """
    return records[(records["method"] == "sr_dcr") & records["design"].isin(["acvd", *CONTROLS])]


def draw_controls(table: pd.DataFrame) -> Figure:
    """Draw what the debate adds over each control, with 95 % intervals.

    Parameters
    ----------
    table : DataFrame
        As returned by `over_controls`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing("no control in these records")
    return draw.differences(table.assign(name=table["b"].map(called)), "right verdicts: the debate less the control")


def persuasion(records: pd.DataFrame, alone: str = "judge_alone") -> pd.DataFrame:
    """Compute how often the debate ACVD moves the Judge from a right verdict to a wrong one, and the reverse.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    alone : str, default "judge_alone"
        The design in which the Judge rules without the debate.

    Returns
    -------
    DataFrame
        One row per model × condition (standard, perturbed) × `move`. `lost`: the share of items that are right under
        `alone` and become wrong. `won`: the share of items that are wrong under `alone` and become right. An item
        without two readable verdicts is in neither and in `n_missing`. Intervals are clustered on the question.

    References
    ----------
    Ours, after the persuasiveness of single debaters in Khan et al. 2024.
    """
    tables = []
    by = {"condition": CONDITIONS[:2], "move": ("lost", "won")}
    for names, part, present in comparable(records[records["method"] == "sr_dcr"], "design"):
        if {alone, "acvd"} <= set(present):
            right = outcome(part, "verdict_right").mask(part["verdict"] == Verdict.UNPARSED)
            pairs = side_by_side(part, alone, "acvd", right, column="design")
            pairs = pairs.assign(condition=halves(pairs), move=pairs["a"].map({1.0: "lost", 0.0: "won"}))
            table = shares(pairs, pairs["b"] != pairs["a"], by)
            n_items = part["item_id"].groupby(halves(part)).nunique()
            missing = n_items.sub(pairs["condition"].value_counts(), fill_value=0)
            table["n_missing"] = table["condition"].map(missing).fillna(0).astype(int)
            tables.append((names | {"alone": alone, "after": "acvd"}, table))
    return stack(tables, ("alone", "after", *by, *COLUMNS_OF_SHARES))


def factor_table(records: pd.DataFrame, designs: Iterable[Any]) -> pd.DataFrame:
    """Tabulate the effect of each single factor of a debate design on right verdicts.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    designs : iterable of object
        The designs that were run, each a `DebateDesign`.

    Returns
    -------
    DataFrame
        The rows of `factor_effects` for each condition, with a `name`: the factor and its two levels.
    """
    factors = {design.name: asdict(design) for design in designs}
    parts = [comparison.factor_effects(records, factors, condition=condition) for condition in CONDITIONS]
    effects = pd.concat(parts, ignore_index=True)
    if effects.empty:
        return pd.DataFrame(columns=["name", "condition", "difference", "low", "high", "p_holm", "n"])
    factor = {name: _FACTORS.get(name, name.replace("_", " ")) for name in effects["factor"]}
    names = [f"{factor[row.factor]}: {level_called(row.a)} − {level_called(row.b)}" for row in effects.itertuples()]
    return effects.assign(name=names)


def draw_factors(effects: pd.DataFrame) -> Figure:
    """Draw the effect of each factor of a debate design on the share of right verdicts.

    Parameters
    ----------
    effects : DataFrame
        As returned by `factor_table`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if effects.empty:
        return draw.nothing("no two designs in these records differ in one choice alone")
    return draw.differences(effects.sort_values("name", kind="stable"), "difference in right verdicts")


def economies_of(records: pd.DataFrame) -> pd.DataFrame:
    """Select the records of the debate ACVD and of its economies, the designs that save calls.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        SR-DCR's rows under these designs.
    """
    saving = records["design"].astype(str).str.contains(f", (?:{'|'.join(ECONOMIES)})=")
    return records[(records["method"] == "sr_dcr") & (saving | records["design"].isin(["acvd"]))]


def draw_economies(prices: pd.DataFrame) -> Figure:
    """Draw what cheaper debates cost in accuracy, true and false passages weighed alike.

    Parameters
    ----------
    prices : DataFrame
        As returned by `economy_prices`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = prices[prices["condition"] == "overall"]
    if rows.empty:
        return draw.nothing("no economy in these records")
    names = [f"{called(row['design'])}\n{_saved(row)}" for row in rows.to_dict("records")]
    return draw.differences(rows.assign(name=names), "accuracy minus the full design's")


def _saved(row: Mapping[str, Any]) -> str:
    share = row["share_saved"]
    calls = f"saves {share:.0%} of the calls" if share >= 0 else f"takes {-share:.0%} more calls"
    return calls if row["answers_changed"] else f"{calls}; same answers"


def economy_prices(records: pd.DataFrame, *, conditions: Sequence[str] = CONDITIONS) -> pd.DataFrame:
    """Compute what every other debate design of SR-DCR saves against the full one, ACVD, and its cost in accuracy.

    Both are measured on the same items.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    conditions : sequence of str, default CONDITIONS
        The conditions that are compared.

    Returns
    -------
    DataFrame
        One row per model × design × condition: the fields of `Comparison`, the economy minus the full design;
        `share_saved`, of the full design's calls; `answers_changed`, the items whose final answer differs. If none
        does, the price on these items is exactly 0, and so are `low` and `high`.
    """
    rows, full = [], "acvd"
    for names, part, present in comparable(records[records["method"] == "sr_dcr"], "design"):
        economies = [design for design in present if design != full and full in present]
        for design, condition in product(economies, conditions):
            price: dict[str, Any] = compare(part, design, full, column="design", condition=condition).columns()
            own, whole = (condition_rows(part[part["design"] == name], condition) for name in (design, full))
            both = own.merge(whole, on="item_id", suffixes=("", "_full"))
            price["share_saved"] = 1 - both["calls_alone"].sum() / (both["calls_alone_full"].sum() or math.nan)
            changed = both["final_answer"].fillna("") != both["final_answer_full"].fillna("")
            price["answers_changed"] = int(changed.sum())
            if price["n"] and not changed.any():
                price |= {"low": 0.0, "high": 0.0}
            rows.append(names | {"design": design, "condition": condition} | price)
    return pd.DataFrame(rows, columns=None if rows else ["model", "design", "condition"])


# Other wordings


def by_wording(results: Results, *reworded: Results) -> pd.DataFrame:
    """Collect SR-DCR's records of the debate ACVD under several wordings of the prompts.

    Parameters
    ----------
    results : Results
        The run with the original prompts.
    *reworded : Results
        Runs of the same study with other wordings; a run with a wording that an earlier one has is left out.

    Returns
    -------
    DataFrame
        The rows with the column `wording`: "ours", then "wording 1", "wording 2", … in the order of the runs.
    """
    different: dict[str, Results] = {}
    for run in (results, *reworded):
        different.setdefault(str(run.manifest["asked"].get("prompts_sha256")), run)
    tables = []
    for place, run in enumerate(different.values()):
        rows = run.records[(run.records["method"] == "sr_dcr") & (run.records["design"] == "acvd")]
        tables.append(rows.assign(wording=f"wording {place}" if place else OUR_WORDING))
    return pd.concat(tables, ignore_index=True)


def verdicts_kept(worded: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of verdicts that stay the same under another wording.

    Parameters
    ----------
    worded : DataFrame
        As returned by `by_wording`.

    Returns
    -------
    DataFrame
        One row per other wording, with the columns of `shares` over the items with a readable verdict under both
        (`n_missing` counts the others), clustered on the question, and `n_unread`, the verdicts that could not be read.
    """
    ours = worded[worded["wording"] == OUR_WORDING].set_index("item_id")["verdict"]
    rows = worded[worded["wording"] != OUR_WORDING].reset_index(drop=True)
    before = rows["item_id"].map(ours)
    same = (rows["verdict"] == before).astype("boolean").where(rows["verdict"].isin(READ) & before.isin(READ))
    rows = rows.assign(unread=~rows["verdict"].isin(READ))
    return shares(rows, same, {"wording": rows["wording"].unique()}, counts=["unread"])
