"""The tables that notebooks 00, 01, 02 and 05 show of a study, beside what is made of its recomputed records.

`compare_figures` takes the notebooks' CSV files; `compare_notebooks` takes tables in executed notebooks that have no
file, to the digits that they show. What is about other items than the results folder is left out, and the ledger says
so. The published help texts alone say the bounds of a utility.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import recompute_knowledge as knowledge
import recompute_tables as tables

HALVES = ("standard", "perturbed", "overall")
KEYS = (
    *("model", "method", "condition", "measure", "column", "domain", "knowledge_category", "confidence_kind", "size"),
    *(
        "tau",
        "left",
        "answers",
        "verdict",
        "confidence",
        "ending",
        "a",
        "b",
        "cost_of",
        "cost",
        "false_share",
        "target",
    ),
    *("sampled_accuracy", "bias", "decision"),
)


# --- notebooks 00 and 05 ---------------------------------------------------------------------------------------------


def summaries(ours: pd.DataFrame) -> pd.DataFrame:
    """Table 1 with intervals: a row per method and condition."""
    rows = []
    for method, of in ours.groupby("method", sort=False):
        for condition in HALVES:
            rows.append({"method": method, "condition": condition} | tables.summary_row(tables.chosen(of, condition)))
    return pd.DataFrame(rows)


def strata(rows: pd.DataFrame) -> pd.Series:
    """Offsets by their size, other kinds by level."""
    size = rows.perturbation_value.astype(float).abs().map(lambda v: f"{v:g}")
    dates = rows.answer_type == "date"  # moved by days
    other = rows.perturbation_kind.mask(dates, "date") + " " + rows.level
    return ("offset " + size).where((rows.perturbation_kind == "offset") & ~dates, other)


def table_2(ours: pd.DataFrame) -> pd.DataFrame:
    """Accuracies by stratum; macro is the mean over the offsets where there are any."""
    rows = []
    for method, of in tables.chosen(ours, "perturbed").groupby("method", sort=False):
        stratum = strata(of)
        offsets = of[stratum.str.startswith("offset")] if stratum.str.startswith("offset").any() else of
        cuts = [(name, of[stratum == name], None) for name in stratum.unique()]
        cuts += [("macro", offsets, strata(offsets)), ("micro", of, None)]
        for name, cut, by in cuts:
            outcome, given = cut.correct.fillna(False).astype(float), cut.correct.notna()
            by = pd.Series(0, index=cut.index) if by is None else by
            row = {"method": method, "column": name, "n": len(cut), "accuracy": outcome.groupby(by).mean().mean()}
            rows.append(row | {"selective_accuracy": outcome.where(given).groupby(by).mean().mean(skipna=False)})
    return pd.DataFrame(rows)


def sign_flips(per_question: Any) -> float:
    """Exact two-sided p of a sum whose terms change sign at will, by the distribution of all such sums."""
    sums = {0.0: 1.0}
    for value in per_question[np.abs(per_question) > 1e-12]:
        after: dict[float, float] = {}
        for total, chance in sums.items():
            for each in (total + value, total - value):
                after[round(each, 9)] = after.get(round(each, 9), 0.0) + chance / 2
        sums = after
    seen = abs(per_question.sum()) - 1e-7
    return sum(chance for total, chance in sums.items() if abs(total) >= seen)


def comparisons(
    ours: pd.DataFrame, first: str = "sr_dcr", column: str = "method", outcome: pd.Series | None = None
) -> pd.DataFrame:
    """The first, SR-DCR, less every other method, or design, on the same items; p exact. Outcome: a right answer."""
    right = ours.assign(right=ours.correct.fillna(False).astype(float) if outcome is None else outcome).pivot(
        index="item_id", columns=column, values="right"
    )
    about = ours.drop_duplicates("item_id").set_index("item_id").loc[right.index]
    rows = []
    for condition in HALVES:
        for rival in right.columns.drop(first):
            of = tables.chosen(about[right[[first, rival]].notna().all(axis=1)], condition)
            if not len(of):
                continue
            half, question = tables.halves(of), of.question_id
            weights = {name: 1 / half.nunique() for name in half.unique()}
            share = half.map(weights) / half.map(half.value_counts())
            a, b = right.loc[of.index, first], right.loc[of.index, rival]
            low, high = tables.t_interval(a - b, question, half, weights, (-1, 1), difference=True)
            only_a, only_b = int((a > b).sum()), int((a < b).sum())
            row = {"condition": condition, "a": first, "b": rival, "n": len(of), "n_questions": question.nunique()}
            row |= {"n_unpaired": 0, "mean_a": (a * share).sum(), "mean_b": (b * share).sum()}
            row |= {"only_a": only_a, "only_b": only_b, "difference": ((a - b) * share).sum()}
            per_question = ((a - b) * share).groupby(question).sum()
            row["p_value"] = sign_flips(per_question[per_question.abs() > share.min() / 2].to_numpy())
            low, high = max(low, -1.0), min(high, 1.0)
            if row["p_value"] > 0.05:  # the exact test decides
                low, high = min(low, 0.0), max(high, 0.0)
            row |= {"low": low, "high": high}
            rows.append(row)
    return pd.DataFrame(rows)


def holm(p: pd.Series) -> pd.Series:
    ordered = p.dropna().sort_values()
    return (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1).reindex(p.index)


def utility(ours: pd.DataFrame, of: pd.DataFrame) -> pd.DataFrame:
    """Utility (right − c · wrong) / n, coverage and selective accuracy at the costs and shares of false passages that
    stand in the rows `of`: (1 − π) · standard + π · perturbed. Selective accuracy is such a mean of right over that of
    answered, with the interval of the ratio linearised."""
    rows = []
    for method, cost, false in of[["method", "cost", "false_share"]].drop_duplicates().itertuples(index=False):
        mine = ours[ours.method == method]
        half, given = tables.halves(mine), mine.correct.notna()
        worth = mine.correct.map({True: 1.0, False: -float(cost)}).fillna(0.0).astype(float)
        row = {"method": method, "cost": cost, "false_share": false, "n": len(mine), "n_answered": given.sum()}
        row["n_questions"] = mine.question_id.nunique()
        weights = {name: weight for name, weight in (("standard", 1 - false), ("perturbed", false)) if weight}
        answered, right = given.astype(float), mine.correct.fillna(False).astype(float)

        def mean(values: pd.Series, half: pd.Series = half, weights: dict[str, float] = weights) -> float:
            return float(sum(weight * values[half == kind].mean() for kind, weight in weights.items()))

        for name, values, least in (("utility", worth, -cost), ("coverage", answered, 0)):
            low, high = tables.t_interval(values, mine.question_id, half, weights, (least, 1))
            ends = ("low", "high") if name == "utility" else (f"{name}_low", f"{name}_high")
            row |= dict(zip(ends, (max(low, least), min(high, 1.0)), strict=True)) | {name: mean(values)}
        if (covered := mean(answered)) > 0:
            ratio = mean(right) / covered
            bounds = -ratio / covered, (1 - ratio) / covered
            low, high = tables.t_interval((right - ratio * answered) / covered, mine.question_id, half, weights, bounds)
            row |= {"selective_accuracy": ratio, "selective_accuracy_low": max(0.0, ratio + min(low, 0.0))}
            row["selective_accuracy_high"] = min(1.0, ratio + max(high, 0.0))
        rows.append(row)
    return pd.DataFrame(rows)


def costs(ours: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Tokens per item against overall accuracy; on the front is what nothing beats; golden never is."""
    table = summary[summary.condition == "overall"].copy()
    spent = (ours.prompt_tokens + ours.completion_tokens).astype(float).groupby(ours.method).mean()
    table["cost"] = table.method.map(spent)
    table["on_front"] = [
        row.method != "golden"
        and not any(
            other.cost <= row.cost
            and other.accuracy >= row.accuracy
            and (other.cost, other.accuracy) != (row.cost, row.accuracy)
            for other in table[table.method != "golden"].itertuples()
        )
        for row in table.itertuples()
    ]
    return table.assign(cost_of="tokens_per_item").drop(columns="condition")


def flow(ours: pd.DataFrame) -> pd.DataFrame:
    debates = ours[ours.method == "sr_dcr"].copy()
    context, prior = (debates[name].fillna(False).astype(bool) for name in ("context_correct", "prior_correct"))
    debates["answers"] = np.select(
        [context & prior, context, prior], ["both right", "passage only", "prior only"], "neither right"
    )
    debates["confidence"] = np.where(
        debates.self_confidence.astype(float) >= debates.tau.astype(float), "confidence ≥ τ", "confidence < τ"
    )
    debates["ending"] = debates.missing.fillna(debates.correct.map({True: "right", False: "wrong"}))
    debates["condition"] = tables.halves(debates)
    return debates.groupby(["condition", "answers", "verdict", "confidence", "ending"]).size().reset_index(name="n")


# --- theirs beside ours ----------------------------------------------------------------------------------------------


def compare(name: str, theirs: pd.DataFrame, ours: pd.DataFrame, ledger: Any, digits: Any = None) -> None:
    """Every cell of `theirs` that `ours` has, row by row; rows are told apart by the columns of `KEYS` in both."""
    keys = ["n_above"] if "n_above" in ours else [key for key in KEYS if key in theirs and key in ours]
    index = {tuple(plain(row[key]) for key in keys): row for row in ours.to_dict("records")}
    shown = [tuple(plain(row[key]) for key in keys) for row in theirs.to_dict("records")]
    for column in theirs.select_dtypes("number").dropna(axis=1, how="all").columns.difference([*ours, "p_holm"]):
        ledger.leave_out(f"{name} {column}", "no rule here", len(theirs))
    for at, row in zip(shown, theirs.to_dict("records"), strict=True):
        mine = index.get(at)
        where = f"{name} " + " ".join(str(plain(row[key])) for key in keys)
        if mine is None:
            ledger.number(f"{where}: a row that is not ours", 1, 0)
            continue
        for column in (column for column in row if column in mine and column not in keys):
            tolerance = 0.5 * 10.0 ** -digits[column] + 1e-9 if digits and column in digits else 1e-9
            ledger.number(f"{where} {column}", row[column], mine[column], tolerance)
    ledger.number(f"{name}: rows that are ours alone", 0, len(set(index) - set(shown)))


def plain(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, int | float | np.number) else value


def compare_figures(figures: Path, ours: pd.DataFrame, bounds: tuple[float, float], ledger: Any) -> None:
    """The CSV files of notebooks 00, 01, 02 and 05 that are about these items."""
    known, summary = knowledge.questions(ours), summaries(ours)
    known_right = ["right", "right_low", "right_high"]
    printed = ["method", "column", "n", "accuracy", "selective_accuracy"]
    made: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
        "00_first_study": lambda _: summary,
        "01_categories": lambda _: knowledge.categories(known, bounds),
        "01_redraws": lambda _: knowledge.redraws(known, bounds),
        "01_draws": lambda _: knowledge.fewer_draws(known, bounds),
        "02_confidence": lambda _: knowledge.histogram(known),
        "02_precision": lambda _: knowledge.precision(known).drop(columns=known_right),
        "02_reliability": lambda _: knowledge.reliability(known),
        "05_accuracy": lambda _: summary,
        "05_table_1": lambda _: summary.rename(columns={"condition": "column"})[printed],
        "05_table_2": lambda _: table_2(ours),
        "05_comparisons": lambda _: comparisons(ours),
        "05_utility": lambda theirs: utility(ours, theirs),
        "05_false_share": lambda theirs: utility(ours, theirs),
        "05_cost": lambda _: costs(ours, summary),
        "05_decision_flow": lambda _: flow(ours),
    }
    for path in sorted(figures.glob("*.csv")):
        theirs = pd.read_csv(path)
        if path.stem not in made:
            ledger.leave_out(path.name, "no rule here, or items and designs that are not in this folder", len(theirs))
            continue
        if "questions" in theirs:  # of this study, and of a real model beside it
            theirs = theirs[theirs["questions"] == "this study"].drop(columns="questions")
        mine = made[path.stem](theirs)
        for column in ("method", "confidence_kind"):
            if column in theirs:
                other = ~theirs[column].isin(mine[column])
                if other.any():
                    ledger.leave_out(path.name, f"another {column} than in this folder", int(other.sum()))
                theirs, mine = theirs[~other], mine[mine[column].isin(theirs[column])]
        size = next(column for column in ("n_above", "n", "n_questions") if column in theirs)
        if not 0.8 < theirs[size].sum() / mine[size].sum() < 1.25:
            ledger.leave_out(path.name, "it is about other items", len(theirs))
            continue
        compare(path.name, theirs, mine, ledger)
        if "p_holm" in theirs:
            adjusted = theirs[theirs.b != "golden"].groupby("condition").p_value.transform(holm).reindex(theirs.index)
            where = theirs.condition + " " + theirs.b
            ledger.column(f"{path.name} p_holm, of their p_value", where, theirs.p_holm, adjusted)


# --- tables in executed notebooks ------------------------------------------------------------------------------------


# What notebooks call methods and confidences, whose names the results have.
SHOWN = {
    "Zero-Shot": "zero_shot", "Few-Shot": "few_shot", "Self-Ask": "self_ask", "RCI": "rci", "Astute RAG": "astute",
    **{f"Judge Debate (Round {n})": f"judge_debate_{n}" for n in (1, 3, 5)}, "Naive Debate": "naive_debate",
    "Vote (20 answers)": "vote_20", "Token Probability": "token_probability",
    "Calibrated Token Probability": "calibrated_token_probability", "Confidence Only": "confidence_only",
    "Debate Only": "debate_only", "SR-DCR": "sr_dcr", "Golden Baseline": "golden",
    "geometric mean probability": "mean_logprob", "self-consistency": "self_consistency",
}  # fmt: skip


def html_tables(notebook: Path) -> list[pd.DataFrame]:
    """The tables among a notebook's outputs, as text."""
    found = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            for table in re.findall(r"<table.*?</table>", "".join(output.get("data", {}).get("text/html", "")), re.S):
                rows = [
                    re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)
                    for row in re.findall(r"<tr.*?</tr>", table, re.S)
                ]
                rows = [[html.unescape(re.sub(r"<.*?>", "", text)) for text in row] for row in rows]
                if rows and len({len(row) for row in rows}) == 1:
                    found.append(pd.DataFrame(rows[1:], columns=rows[0]))
    return found


def compare_notebooks(notebooks: Path, ours: pd.DataFrame, ledger: Any) -> None:
    """What notebook 02 prints of these items in tables without a file, to the digits shown."""
    known = knowledge.questions(ours)
    made: dict[tuple[str, str], Callable[[pd.DataFrame], pd.DataFrame]] = {
        ("tau", "n_above"): lambda shown: knowledge.precision(known, shown.tau.astype(float)),
        ("auroc", "target"): lambda _: knowledge.discrimination(known),
        ("debiased", "value"): lambda _: knowledge.ece(known),
    }
    for path in sorted(notebooks.glob("*.ipynb")):
        for shown in html_tables(path):
            rule = next((rule for columns, rule in made.items() if set(columns) <= set(shown)), None)
            if rule is None or not path.name.startswith("02"):
                continue
            shown = shown.rename(columns={"confidence": "confidence_kind"})
            for column in shown.columns.intersection(["method", "confidence_kind"]):
                shown[column] = shown[column].map(lambda name: SHOWN.get(name, name))
            mine = rule(shown)
            digits = {}
            for column in shown.columns.intersection(mine.columns):
                if not isinstance(mine[column].iloc[0], str):
                    digits[column] = shown[column].str.partition(".")[2].str.len().max()
                    shown[column] = pd.to_numeric(shown[column], errors="coerce")
            if "confidence_kind" in shown:
                shown = shown[shown.confidence_kind.isin(mine.confidence_kind)]
            compare(f"{path.name} table of {shown.columns[-1]}", shown, mine, ledger, digits)
