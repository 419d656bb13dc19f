"""What a run over chains shows: right answers, whether the false hop is found, verdicts by place, where errors lead.

    python tools/chains_report.py RUN [--figures FOLDER]

RUN is a results folder or bundle of `tools/study_real.py --parts chains`, or of any run over items with hops; the part
`hops` beside it says which hops are Highly-Known. A chain has at most one hop with a false passage. The paper leaves
open whether its debate works where context is judged at several steps, so all measures are ours. The independent units
are the chains. With a study of a real model this becomes the chapter of a notebook.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd
from matplotlib.figure import Figure

import srdcr_lab as lab
from srdcr_lab import cli
from srdcr_lab.answers import same_answer
from srdcr_lab.commands import PATH, echo
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import compare_all
from srdcr_lab.lib.definitions import majority_verdict
from srdcr_lab.lib.page import Html, interval
from srdcr_lab.lib.sentences import answer_box, sentences
from srdcr_lab.lib.statistics import clustered_interval, mean_interval, shares
from srdcr_lab.lib.summary import summary
from srdcr_lab.records import Item, KnowledgeCategory, Role, Verdict
from srdcr_lab.records.names import called

PER_HOP, CLOSED_BOOK = "_per_hop", "Closed book"
DEBATE, READER = "sr_dcr_per_hop (acvd)", "few_shot"  # what the answer box compares
ENDS = ("right", "followed", "other", "missing")
OUTCOMES = {
    "named": "the false hop is ruled out first",
    "another": "another hop is ruled out first",
    "none": "no hop is ruled out",
    "ranked": "the false hop is graded worst",
    "false_alarm": "a hop of a true chain is ruled out",
}
_HOPS = ["method", "item_id", "question_id", "condition", "n_hops", "false_hop", "hop", "is_false", "reached",
         "on_path", "verdict", "p_unreasonable", "answer", "right", "highly_known"]  # fmt: skip


def answer(results: lab.Results) -> Html:
    """Make the answer box of notebook 11: whether the false hop is found, what the debate gains, and its verdicts.

    Parameters
    ----------
    results : Results
        A run over chains with SR-DCR per hop and few-shot.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    records = by_variant(results.records)
    hops = hop_table(results.records, results.turns, results.items.values())
    found = localisation(hops[hops["method"] == DEBATE]).set_index("outcome").to_dict("index")
    against = compare_all(records, DEBATE, conditions=["overall"], others=[READER])
    rates = hop_verdicts(hops[hops["method"] == DEBATE].assign(hop="any")).set_index("is_false").to_dict("index")
    said = [
        f"{interval(rate['share'], rate['low'], rate['high'])} of the {rate['n']} {name} passages"
        for name, rate in (("false", rates.get(True)), ("true", rates.get(False))) if rate
    ]  # fmt: skip
    return answer_box(
        sentences("the first hop that is ruled out is the false one, more often than by chance",
                  found.get("named"), "gain", above=0, of="false chains"),
        sentences("SR-DCR hop by hop answers more chains rightly than few-shot over all passages",
                  against, "difference", above=0, n="n_items", of="chains"),
        f"The Judge rules out {' and '.join(said)}.",
        label=results.label,
    )  # fmt: skip


def by_variant(records: pd.DataFrame) -> pd.DataFrame:
    """Name each row's method with its design, so that variants are compared as methods are.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, or per turn, as `Results.records` and `Results.turns`.

    Returns
    -------
    DataFrame
        The rows; `method` is "METHOD (DESIGN)" where there is a design, and `design` is empty.
    """
    named = records["method"].astype(str) + (" (" + records["design"].astype("string") + ")").fillna("")
    return records.assign(method=named.astype(object), design=None)


def hop_table(
    records: pd.DataFrame, turns: pd.DataFrame, items: Iterable[Item], known: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Tabulate what the methods that go from hop to hop did at each hop.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.
    items : iterable of Item
        The chains, as `Results.items.values()`.
    known : DataFrame, optional
        The hops' questions asked without a passage, as `Results.questions`.

    Returns
    -------
    DataFrame
        One row per method (with its design) × chain × hop. `hop` counts from 1; `is_false`: its passage is false;
        `false_hop`: the hop of the chain that is, 0 for none. `reached`: every hop before has an answer; `on_path`:
        each of these is right, so that the hop is asked the question of the chain. `verdict` is V* (None without a
        ruling), `p_unreasonable` its grade, `answer` what the hop hands on, `right` whether that is its gold answer
        (False without an answer). `highly_known`: the hop's question is Highly-Known; missing where that is unknown.
    """
    by_id = {item.item_id: item for item in items if item.hops}
    said = dict(iter(by_variant(turns).groupby(["method", "item_id"], sort=False)))
    category = {} if known is None else dict(zip(known["question"], known["knowledge_category"], strict=True))
    rows: list[dict[str, Any]] = []
    chains = by_variant(records[records["method"].str.endswith(PER_HOP) & records["item_id"].isin(by_id)])
    for record in chains.itertuples():
        item = by_id[record.item_id]
        whole = {"method": record.method, "item_id": item.item_id, "question_id": item.question_id,
                 "condition": item.condition, "n_hops": len(item.hops), "false_hop": item.false_hop}  # fmt: skip
        spoken = said.get((record.method, item.item_id), turns.iloc[:0])
        reached, on_path = record.missing != "error", True
        for number in range(1, len(item.hops) + 1):
            hop = item.hop(number)
            own = _at_hop(spoken[spoken["speaker"].astype(str).str.split("/").str[0] == f"hop-{number}"])
            right = same_answer(own["answer"], hop.gold_answer, hop)
            is_known = category.get(hop.question)
            rows.append(whole | own | {
                "hop": number, "is_false": number == item.false_hop, "reached": reached,
                "on_path": reached and on_path, "right": right,
                "highly_known": None if pd.isna(is_known) else is_known == KnowledgeCategory.HIGHLY_KNOWN,
            })  # fmt: skip
            reached, on_path = reached and own["answer"] is not None, on_path and right
    return pd.DataFrame(rows, columns=_HOPS).astype({"highly_known": "boolean"})


def _at_hop(turns: pd.DataFrame) -> dict[str, Any]:
    """Verdict, its grade and the answer of one hop, from its turns."""
    rulings = turns[turns["verdict"].notna()]
    last = rulings[rulings["round"] == rulings["round"].max()]
    stated = turns.loc[turns["role"] == Role.AGENT, "stated_answer"]
    verdict = majority_verdict([Verdict(each) for each in last["verdict"]]).value if len(last) else None
    grade = last["p_unreasonable"].astype(float).mean()
    return {"verdict": verdict, "p_unreasonable": grade, "answer": stated.iloc[-1] if len(stated) else None}


def localisation(hops: pd.DataFrame) -> pd.DataFrame:
    """Measure how often the first hop that is ruled out is the one that is false.

    Parameters
    ----------
    hops : DataFrame
        As returned by `hop_table`.

    Returns
    -------
    DataFrame
        One row per method × `outcome` (`OUTCOMES`): `value`, the share of chains with its 95 % interval, out of `n`.
        Of the chains with a false hop: "named", it is the first hop that is ruled out; "another", an earlier or later
        hop is; "none"; these sum to 1. "ranked": it has the highest P(UNREASONABLE) of the hops reached, out of the
        chains with such a grade. "false_alarm": a hop of a true chain is ruled out, out of the true chains. For "named"
        and "ranked", `chance` is the mean of 1 / hops over the same chains, and `gain` the mean of the difference, with
        a 95 % t interval. A share of nothing is NaN with n = 0.
    """
    judged = hops[hops.groupby("method")["verdict"].transform("count") > 0]
    rows = []
    for method, of_method in judged.groupby("method", sort=False):
        chains = pd.DataFrame([_accused(chain) for _, chain in of_method.groupby("item_id", sort=False)])
        false, true = chains[chains["false_hop"] > 0], chains[chains["false_hop"] == 0]
        graded = false[false["ranked"] > 0]
        for outcome, part, hits in (
            ("named", false, false["accused"] == false["false_hop"]),
            ("another", false, (false["accused"] > 0) & (false["accused"] != false["false_hop"])),
            ("none", false, false["accused"] == 0),
            ("ranked", graded, graded["ranked"] == graded["false_hop"]),
            ("false_alarm", true, true["accused"] > 0),
        ):
            low, high = clustered_interval(hits, part["question_id"])
            row = {"method": method, "outcome": outcome, "value": hits.mean(), "low": low, "high": high, "n": len(part)}
            if outcome in ("named", "ranked"):
                over = hits - 1 / part["n_hops"]
                ends = mean_interval(over, part["question_id"])
                row |= {"chance": (1 / part["n_hops"]).mean(), "gain": over.mean()}
                row |= dict(zip(("gain_low", "gain_high"), ends, strict=True))
            rows.append(row)
    return pd.DataFrame(rows, columns=["method", "outcome", "value", "low", "high", "n", "chance", "gain", "gain_low",
                                       "gain_high"])  # fmt: skip


def _accused(chain: pd.DataFrame) -> dict[str, Any]:
    """The first hop of a chain that is ruled out, and the one with the highest grade; 0 for none."""
    out = chain.loc[chain["verdict"] == Verdict.UNREASONABLE, "hop"]
    graded = chain.dropna(subset="p_unreasonable")
    ranked = graded.loc[graded["p_unreasonable"].idxmax(), "hop"] if len(graded) else 0
    one = chain.iloc[0]
    names = ("question_id", "n_hops", "false_hop")
    return {name: one[name] for name in names} | {"accused": out.min() if len(out) else 0, "ranked": ranked}


def hop_verdicts(hops: pd.DataFrame, by: str = "hop") -> pd.DataFrame:
    """Compute how often a hop is ruled unreasonable, for true and false passages.

    Parameters
    ----------
    hops : DataFrame
        As returned by `hop_table`.
    by : str, default "hop"
        A further column whose values are told apart: `hop`, `n_hops` or `highly_known`.

    Returns
    -------
    DataFrame
        One row per method × `is_false` × value: `share` of Unreasonable with its 95 % interval, clustered on the chain,
        out of `n` verdicts. An unparsed verdict counts as not Unreasonable. Only hops on the path count, because after
        a wrong answer the question is another one.
    """
    ruled = hops[hops["on_path"] & hops["verdict"].notna() & hops[by].notna()]
    values = {name: list(ruled[name].unique()) for name in ("method", "is_false")}
    return shares(ruled, ruled["verdict"] == Verdict.UNREASONABLE, values | {by: sorted(ruled[by].unique())})


def error_travel(hops: pd.DataFrame, records: pd.DataFrame) -> pd.DataFrame:
    """Follow chains from their first hop without a right answer to their end.

    Parameters
    ----------
    hops : DataFrame
        As returned by `hop_table`.
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per method × condition × `first_wrong` (0 for none) × `end`: right; followed (the answer of whoever
        believes the false hop); other; missing. `share` of the chains that first went wrong there, with its 95 %
        interval, out of `n`.
    """
    wrong = hops["hop"].where(~hops["right"])
    first = wrong.groupby([hops["method"], hops["item_id"]]).min().fillna(0).astype(int).rename("first_wrong")
    chains = by_variant(records).merge(first.reset_index(), on=["method", "item_id"])
    chains["end"] = [_end(*row) for row in zip(chains["right"], chains["final_answer"], chains["claimed_answer"],
                                               chains["condition"], strict=True)]  # fmt: skip
    names = ("method", "condition", "first_wrong")
    values: dict[str, Sequence[Any]] = {name: sorted(chains[name].unique()) for name in names}
    parts = [shares(chains, chains["end"] == end, values).assign(end=end) for end in ENDS]
    table = pd.concat(parts, ignore_index=True)
    return table[table["n"] > 0].reset_index(drop=True)


def _end(right: bool, final: object, claimed: str, condition: str) -> str:
    if right or not isinstance(final, str):
        return "right" if right else "missing"
    followed = Item(item_id="", question_id="", question="", gold_answer=claimed, context="", claimed_answer=claimed)
    return "followed" if condition != "standard" and same_answer(final, claimed, followed) else "other"


def chain_answers(records: pd.DataFrame) -> pd.DataFrame:
    """Summarise the final answers of every method, and what it takes.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        The columns of `summary` for every method and condition (true chains, chains with a false hop, their mean), and
        the mean `calls` of an item. The method `CLOSED_BOOK` is the prior answer to the whole question.
    """
    rows = by_variant(records)
    memory = rows.drop_duplicates(["model", "item_id"])
    memory = memory.assign(method=CLOSED_BOOK, correct=memory["prior_correct"], missing=None, verdict=None,
                           calls_alone=1)  # fmt: skip
    rows = pd.concat([rows, memory], ignore_index=True)
    calls = rows.groupby("method")["calls_alone"].mean()
    made = summary(rows)
    return made.assign(calls=made["method"].map(calls))


# Figures


def draw_chain_answers(table: pd.DataFrame) -> Figure:
    """Draw the share of right final answers of each method, on true chains and on chains with a false hop.

    Parameters
    ----------
    table : DataFrame
        As returned by `chain_answers`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    names = {"standard": "all passages true", "perturbed": "one passage false"}
    rows = table[table["condition"].isin(names)].replace({"condition": names})
    rows = rows.assign(method=rows["method"].map(called))
    palette = dict(zip(names.values(), (draw.RIGHT_COLOUR, draw.FOLLOWED_COLOUR), strict=True))
    return draw.rows(rows, "accuracy", "method", "right final answers", hue="condition", palette=palette, few="chains")


def draw_localisation(table: pd.DataFrame) -> Figure:
    """Draw how often each method rules out the false hop, another one or none; hollow: chance.

    Parameters
    ----------
    table : DataFrame
        As returned by `localisation`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table.assign(outcome=table["outcome"].map(OUTCOMES), method=table["method"].map(called))
    keys = [draw.key("chance", filled=False)]
    return draw.rows(
        rows, "value", "outcome", "share of chains", hue="method", hollow="chance", keys=keys, few="chains"
    )


@click.command("chains-report")
@click.argument("run")
@click.option("--figures", type=PATH, help="write two figures and their tables into this folder")
def chains_report(run: str, figures: Path | None) -> None:
    """Print what a RUN over chains shows."""
    results = lab.load_run(run)
    part = results.part("hops")
    hops = hop_table(results.records, results.turns, results.items.values(), part.questions if part else None)
    answers, found = chain_answers(results.records), localisation(hops)
    ends = error_travel(hops, results.records)
    tables = {
        "Right final answers": answers[["method", "condition", "n", "accuracy", "accuracy_low", "accuracy_high",
                                        "coverage", "calls"]],
        "The first hop that is ruled out, and the one with the highest P(UNREASONABLE)": found,
        "Verdicts by place of the hop": hop_verdicts(hops),
        "Verdicts by knowledge of the hop": hop_verdicts(hops, "highly_known"),
        "Where chains end, by their first hop without a right answer": ends.pivot(
            index=["method", "condition", "first_wrong", "n"], columns="end", values="share").reset_index(),
    }  # fmt: skip
    for sentence in re.findall("<li>(.*?)</li>", str(answer(results))):
        echo(re.sub("<[^>]+>", "", sentence))
    for title, table in ((title, table) for title, table in tables.items() if len(table)):
        shown = table.drop(columns="model", errors="ignore")
        echo(f"\n{title}\n{shown.to_string(index=False, na_rep='–', float_format='{:.2f}'.format)}")
    if figures:
        draw.save_figure(draw_chain_answers(answers), answers, figures, "chain_answers", label=results.label)
        draw.save_figure(draw_localisation(found), found, figures, "localisation", label=results.label)


if __name__ == "__main__":
    cli.cli.add_command(chains_report)  # in this process alone: its sentences and exit codes are those of srdcr
    cli.main(["chains-report", *sys.argv[1:]])
