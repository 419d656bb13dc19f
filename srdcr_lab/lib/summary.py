"""Accuracy beside n, coverage and the reasons for missing answers; Tables 1 and 2 of the paper [4.4]."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.lib import groups
from srdcr_lab.lib.comparison import condition_rows, outcome
from srdcr_lab.lib.groups import FEW, GOLDEN, by_group, is_standard, names_of, strata
from srdcr_lab.lib.page import Html, Td, html_table
from srdcr_lab.lib.statistics import Estimate, clustered_interval, macro_mean, mean_interval
from srdcr_lab.records import PROVIDERS_DEFAULT, BadInput, Missing
from srdcr_lab.records.files import csv_text, write_whole
from srdcr_lab.records.names import METHOD_LABELS

CONDITIONS = ("standard", "perturbed", "overall")
MACRO, MICRO, CALIBRATED = "macro", "micro", "calibrated_token_probability"
SPENT = ("calls_alone", "prompt_tokens", "completion_tokens")  # by a method alone, whatever others share
_READ = "run model method design level question_id correct missing verdict decoding".split()  # of some sixty columns


def accuracy(
    correct: pd.Series, clusters: pd.Series, strata: pd.Series | None = None, *, intervals: bool = True
) -> dict[str, float]:
    """Compute the accuracy of one set of rows, with coverage and risk.

    Parameters
    ----------
    correct : Series
        Whether each answer is right; missing without an answer.
    clusters : Series
        Question of each row.
    strata : Series, optional
        Stratum of each row, over whose shares the mean is taken; None for one.
    intervals : bool, default True
        Compute 95 % intervals, clustered on the question.

    Returns
    -------
    dict of str to float
        `accuracy` = right / n counts a missing answer as wrong; `selective_accuracy` = right / answered leaves it out;
        `coverage` = answered / n; `risk` = wrong / answered; `n`, `n_answered`. A share of nothing is NaN.
    """
    answered = correct.notna()
    right = correct.astype("boolean").fillna(False).astype(bool)
    counts = {"n": len(correct), "n_answered": int(answered.sum())}
    measured: dict[str, float] = {**counts, "coverage": macro_mean(answered, strata)}
    for name, here in (("accuracy", slice(None)), ("selective_accuracy", answered)):
        parts = None if strata is None else strata[here]
        found = clustered_interval(right[here], clusters[here], parts, ends=intervals)
        every = strata is None or strata[here].nunique() == strata.nunique()  # no mean where a stratum has no answer
        measured |= (found if every else Estimate()).columns(name)
    return measured | {"risk": 1 - measured["selective_accuracy"]}


def summary(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Compute Table 1: accuracy, coverage and missing answers by method and condition.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    intervals : bool, default True
        Compute 95 % intervals, clustered on the question.

    Returns
    -------
    DataFrame
        One row per model × method (× run, × design, if there are several) × condition; `lab.columns("summary")`
        explains the columns. Overall shares are the mean over true and false passages, as in the paper;
        `accuracy_micro` is right / n over all rows.

    References
    ----------
    Paper, section 4.4.
    """
    keys = [name for name in ("run", "repeat", *groups.DESIGN_KEYS, "item_id") if name in records]
    if "item_id" in keys and records.duplicated(keys).any():
        raise BadInput("several rows of one method and item; give the records of one run, or add a column run")
    records = records.filter(items=_READ)
    table = by_group(records, lambda part: [_of_condition(part, condition, intervals) for condition in CONDITIONS])
    if "decoding" not in records or not records["decoding"].astype("string").str.contains(PROVIDERS_DEFAULT).any():
        return table
    ways = by_group(records, lambda part: [{"decoding": "; ".join(sorted(set(part["decoding"].dropna())))}])
    return table.merge(ways, how="left")


def _of_condition(records: pd.DataFrame, condition: str, intervals: bool) -> dict[str, Any]:
    rows = condition_rows(records, condition)
    halves = is_standard(rows) if condition == "overall" else None
    measured: dict[str, Any] = {"condition": condition}
    measured |= accuracy(rows["correct"], rows["question_id"], halves, intervals=intervals)
    measured["n_questions"] = rows["question_id"].nunique()
    measured["accuracy_micro"] = outcome(rows, "correct").mean()
    measured |= {f"n_{why.value}": int((rows["missing"] == why).sum()) for why in Missing}
    ruled = rows[rows["verdict"].notna()]
    for rate, (verdict, true) in groups.RATES.items():
        own = ruled[is_standard(ruled) == true]
        right = own["verdict"] == verdict
        found = clustered_interval(right, own["question_id"], ends=intervals)
        measured |= found.columns(rate) | {f"{rate}_n": len(own)}
    return measured


def costs(records: pd.DataFrame) -> pd.DataFrame:
    """Compute what an item takes, of each method by itself; failed items count with what they took.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per group: `n`, and the means of `calls` and of `tokens` (prompts and replies), the latter with a 95 % t
        interval over questions.
    """

    def means(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        calls, prompts, replies = (part[name].astype("Float64").astype(float) for name in SPENT)
        tokens = prompts + replies
        known = tokens.notna()
        taken = mean_interval(tokens[known], part["question_id"][known])
        yield {"n": len(part), "calls": calls.mean()} | taken.columns("tokens")

    return by_group(records, means)


def in_order(table: pd.DataFrame, column: str = "method") -> pd.DataFrame:
    """Sort rows by method in the order of the paper's tables, with the golden baseline last.

    Parameters
    ----------
    table : DataFrame
        Rows with a column of methods.
    column : str, default "method"
        The column of methods.

    Returns
    -------
    DataFrame
        The sorted rows.
    """
    order = [*(name for name in METHOD_LABELS if name != GOLDEN), GOLDEN]
    place = table[column].map({name: i for i, name in enumerate(order)}).fillna(len(order) - 1.5)
    return table.loc[place.sort_values(kind="stable").index].reset_index(drop=True)


# Tables 1 and 2 in the layout of the paper, as HTML and CSV: best bold, second underlined

_HEADS = {"standard": "True passages", "perturbed": "False passages", "overall": "Mean of both",
          MACRO: "Mean over offsets (macro)", MICRO: "All items (micro)"}  # fmt: skip
BEST, SECOND, _GREY = "best", "second", "few"
TITLE_1 = "Table 1: accuracy on true and on false passages."
TITLE_2 = "Table 2: accuracy on false passages, by offset."
NOTE = (
    "Accuracy in %, missing answers counted as wrong; in parentheses over answered items only. Best of a column bold, "
    "second underlined, by the first number; the golden baseline is told the truth and is not ranked."
)
_HTML = {BEST: "<b>{}</b>", SECOND: "<u>{}</u>", _GREY: '<span style="color: #999">{}</span>', "": "{}"}


@dataclass(frozen=True)
class PaperTable:
    """A table in the layout of the paper.

    Attributes
    ----------
    title : str
        The title.
    cells : DataFrame
        One row per cell: `block` (the model, and run) and `row` (the method, and design) as shown; `method`, `column`,
        `n`, `coverage`, `accuracy`, `selective_accuracy`, `low`, `high` and `mark`; shares in [0, 1].
    columns : tuple of str
        The columns, in order.
    """

    title: str
    cells: pd.DataFrame
    columns: tuple[str, ...]

    def html(self) -> Html:
        """Return the table as HTML, with everything from a model, a run or a table escaped.

        Returns
        -------
        Html
            The table.
        """
        counts = self.cells.groupby("column")["n"]
        same = {column: n.iloc[0] for column, n in counts if n.nunique() == 1}  # n is in the head, not in each cell
        labels = {name: _HEADS.get(name, name[:1].upper() + name[1:]) for name in self.columns}
        heads = [f"{label} (n = {same[name]})" if name in same else label for name, label in labels.items()]
        lines = []
        for block, of_block in self.cells[self.cells["column"].isin(self.columns)].groupby("block", sort=False):
            model = [Td(block, "text-align: left; vertical-align: top", head=True, rows=of_block["row"].nunique())]
            for row, cells in of_block.groupby("row", sort=False):
                numbers = (Td(Html(_shown(cell, same)), "text-align: right") for cell in cells.to_dict("records"))
                lines.append([*model, Td(row, "text-align: left"), *numbers])
                model = []  # it spans the rows of its methods
        return html_table(("Model", "Method", *heads), lines, caption=f"{self.title} {NOTE}")

    _repr_html_ = html

    def save(self, folder: str | Path, name: str, *, label: str = "") -> PaperTable:
        """Write the cells as CSV.

        Parameters
        ----------
        folder : str or Path
            The folder, made if needed.
        name : str
            Name of the file, without its ending.
        label : str, default ""
            The models behind the numbers, as `Results.label`.

        Returns
        -------
        PaperTable
            The table itself.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}.csv", csv_text(self.cells.assign(label=label)))
        return self


def conditions_of(records: pd.DataFrame) -> Sequence[str]:
    """Name the conditions of a run: true passages, false ones and the mean of both, or the only kind that there is.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    sequence of str
        Some of `CONDITIONS`.
    """
    halves = is_standard(records)
    return CONDITIONS if halves.nunique() > 1 else CONDITIONS[:1] if halves.all() else CONDITIONS[1:2]


def table_1(records: pd.DataFrame, *, intervals: bool = False) -> PaperTable:
    """Compute Table 1: methods by condition, for every model.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    intervals : bool, default False
        Show intervals.

    Returns
    -------
    PaperTable
        The table.
    """
    measured = summary(records, intervals=intervals).rename(columns={"condition": "column"})
    return _paper_table(TITLE_1, measured, conditions_of(records))


def table_2(records: pd.DataFrame) -> PaperTable:
    """Compute Table 2: methods by offset of the false passages (other kinds by level), with macro and micro mean.

    A column in which no method has ten items is left out where the table is shown; `cells` and the CSV hold it.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    PaperTable
        The table.
    """
    measured = accuracy_by_stratum(records, intervals=False).rename(columns={"stratum": "column"})
    most = measured.groupby("column", sort=False)["n"].max()
    shown = [column for column, n in most.items() if n >= FEW or column in (MACRO, MICRO)]
    title = TITLE_2 if set(shown) - {MACRO, MICRO} else TITLE_2.replace(", by offset", "")
    if len(shown) < most.size:
        title += f" Columns of fewer than {FEW} items are left out; the CSV has all {most.size}."
    return _paper_table(title, measured, shown, FEW)


def _paper_table(title: str, measured: pd.DataFrame, columns: Sequence[str], least: int = 0) -> PaperTable:
    """These measures in the paper's order; best and second of a column marked, ties alike, golden never. A cell of
    fewer than `least` items is grey instead."""
    runs = " · " + measured["run"].astype(str) if "run" in measured else ""
    cells = pd.DataFrame({"block": measured["model"].astype(str) + runs, "row": names_of(measured)}, measured.index)
    cells["method"] = measured["method"].astype(str)
    cells = cells.join(measured[["column", "n", "coverage", "accuracy", "selective_accuracy"]])
    cells = cells.assign(low=measured["accuracy_low"], high=measured["accuracy_high"])
    few = cells["n"] < least
    ranked = cells["accuracy"].round(9).mask(few | (cells["method"] == GOLDEN))
    rank = ranked.groupby([cells["block"], cells["column"]]).rank("dense", ascending=False)
    cells["mark"] = rank.map({1: BEST, 2: SECOND}).fillna("").mask(few, _GREY)
    if (few & cells["column"].isin(columns)).any():
        title += f" Cells of fewer than {least} items are grey in HTML and not ranked, because so few items do not show"
        title += " how good a method is."
    blocks = list(cells["block"].unique())
    cells = in_order(cells).sort_values("block", key=lambda names: names.map(blocks.index), kind="stable")
    return PaperTable(title, cells.reset_index(drop=True), tuple(columns))


def _shown(cell: Mapping[str, Any], same_n: Mapping[str, int]) -> str:
    if math.isnan(cell["accuracy"]):
        return "– (n = 0)"
    selective = "–" if math.isnan(cell["selective_accuracy"]) else f"{100 * cell['selective_accuracy']:.1f}"
    text = _HTML[cell["mark"]].format(f"{100 * cell['accuracy']:.1f}") + f" ({selective})"
    if not math.isnan(cell["low"]):
        text += f" [{100 * cell['low']:.0f}, {100 * cell['high']:.0f}]"
    return text if cell["column"] in same_n else f"{text} n = {cell['n']}"


def accuracy_by_stratum(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Compute accuracy on false passages by stratum: offsets by size and, for other kinds, levels.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    intervals : bool, default True
        Compute 95 % intervals, clustered on the question.

    Returns
    -------
    DataFrame
        One row per group × stratum, then `macro` (the mean of the offsets, as in the paper, or of all strata without
        any) and `micro` (all items); columns as in `accuracy`. A stratum on which a method was not run has n = 0 and is
        outside its macro mean.
    """
    order = groups.stratum_order(strata(condition_rows(records, "perturbed")).unique())
    members = {name: [name] for name in order} | {MACRO: groups.in_macro(order), MICRO: order}

    def of_strata(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        false = condition_rows(part, "perturbed")
        stratum = strata(false)
        for column, names in members.items():
            here = false[stratum.isin(names)]
            parts = stratum[here.index] if column == MACRO else None
            yield {"stratum": column} | accuracy(here["correct"], here["question_id"], parts, intervals=intervals)

    return by_group(records, of_strata)
