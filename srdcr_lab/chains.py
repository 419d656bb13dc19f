"""Chapter 11: whether the false passage of a chain of questions is found at its hop, and where errors lead.

A chain has at most one hop with a false passage. The paper leaves open whether its debate works where context is judged
at several steps, so all measures are ours. The independent units are the chains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab.answers import same_answer
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import compare_all
from srdcr_lab.lib.definitions import majority_verdict
from srdcr_lab.lib.groups import FROM_MEMORY, by_group, group_columns, names_of, with_matches, with_memory
from srdcr_lab.lib.page import Html, interval
from srdcr_lab.lib.sentences import answer_box, sentences
from srdcr_lab.lib.statistics import clustered_interval, contrast_interval, shares
from srdcr_lab.lib.summary import costs, summary
from srdcr_lab.preference import endings_of
from srdcr_lab.records import BadInput, KnowledgeCategory, Role, Verdict
from srdcr_lab.records.names import HOP_OUTCOMES, called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

DEBATE, READER = called("sr_dcr_per_hop", "acvd"), called("few_shot")  # what the answer box compares
_ACCURACY = ["accuracy", "accuracy_low", "accuracy_high"]
_CONDITIONS = {"standard": "all passages true", "perturbed": "one passage false"}


def answer(results: Results) -> Html:
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
    hops = hop_table(results).query("method == @DEBATE")
    found = localisation(hops).set_index("outcome").to_dict("index")
    rows, against = by_variant(results.records), None
    if READER in set(rows["method"]):
        against = compare_all(rows, READER, conditions="overall").query("b == @DEBATE")
    final = chain_answers(results.records).query("condition == 'overall'").set_index("method")
    ends = [f"{name}: {interval(*final.loc[name, _ACCURACY])}" for name in (FROM_MEMORY, READER) if name in final.index]
    said = [
        f"{interval(rate.share, rate.low, rate.high)} of {rate.n} {'false' if rate.is_false else 'true'} passages"
        for rate in hop_verdicts(hops, "method").sort_values("is_false", ascending=False).itertuples()
    ]
    return answer_box(
        sentences("the false hop is ruled out first more often than one random hop in the same chains would be",
                  found.get("named"), "gain", above=0, of="chains with a false passage"),
        sentences("the false hop has the highest P(UNREASONABLE) more often than with all passages true",
                  found.get("ranked"), "gain", above=0, of="chains"),
        sentences("Few-Shot over all passages answers more chains rightly than SR-DCR per hop",
                  against, "difference", above=0, n="n_questions", of="chains"),
        f"Share of right final answers, true and false chains weighed alike. {'; '.join(ends)}.",
        f"After right answers, the Judge rules out {' and '.join(said)}." if said else "The Judge rules on no passage.",
        label=results.label,
    )  # fmt: skip


def by_variant(records: pd.DataFrame) -> pd.DataFrame:
    """Name each row's method with its design, so that designs are compared as methods are.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, or per turn, as `Results.records` and `Results.turns`.

    Returns
    -------
    DataFrame
        The rows; `method` is a label such as "SR-DCR per hop (ACVD)", and `design` is empty.
    """
    return records.assign(method=names_of(records), design=None)


def hop_table(results: Results) -> pd.DataFrame:
    """Tabulate what the methods that go from hop to hop did at each hop.

    Parameters
    ----------
    results : Results
        A run over chains; its part `hops` has their questions, asked without a passage.

    Returns
    -------
    DataFrame
        One row per method (with its design) × chain × hop. `hop` counts from 1; `is_false`: its passage is false;
        `false_hop`: the hop of the chain that is, 0 for none. `reached`: every hop before has an answer; `on_path`:
        each of these is right, so that the hop is asked the question of the chain. `verdict` is V* (None without a
        ruling), `p_unreasonable` its grade, `answer` what the hop hands on, `right` whether that is its gold answer
        (False without an answer). `highly_known`: the hop's question is Highly-Known; missing where that is unknown.

    Raises
    ------
    BadInput
        No method went from hop to hop.
    """
    part, records = results.part("hops"), results.records
    category = dict(part.questions[["question", "knowledge_category"]].to_numpy()) if part else {}
    by_id = {item.item_id: item for item in results.items.values() if item.hops}
    said: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for turn in by_variant(results.turns).itertuples():
        said[turn.method, turn.item_id, str(turn.speaker).partition("/")[0]].append(turn)
    rows: list[dict[str, Any]] = []
    chains = by_variant(records[records["method"].str.endswith("_per_hop") & records["item_id"].isin(by_id)])
    if chains.empty:
        raise BadInput("this run has no chains; srdcr run --items hops --methods few_shot,sr_dcr_per_hop makes one")
    for record in chains.itertuples():
        item = by_id[record.item_id]
        reached = on_path = record.missing != "error"
        for number in range(1, len(item.hops) + 1):
            hop, own = item.hop(number), _at_hop(said[record.method, record.item_id, f"hop-{number}"])
            right, is_known = same_answer(own["answer"], hop.gold_answer, hop), category.get(hop.question)
            rows.append(own | {
                "method": record.method, "item_id": item.item_id, "question_id": item.question_id,
                "n_hops": len(item.hops), "false_hop": item.false_hop, "hop": number,
                "is_false": number == item.false_hop, "reached": reached, "on_path": on_path, "right": right,
                "highly_known": None if pd.isna(is_known) else is_known == KnowledgeCategory.HIGHLY_KNOWN,
            })  # fmt: skip
            reached &= own["answer"] is not None
            on_path &= reached and right
    return pd.DataFrame(rows).astype({"highly_known": "boolean"})


def _at_hop(turns: Sequence[Any]) -> dict[str, Any]:
    """Verdict, its grade and the answer of one hop of a chain, from the turns there."""
    rulings = [turn for turn in turns if pd.notna(turn.verdict)]
    last = [turn for turn in rulings if turn.round == max(each.round for each in rulings)]
    stated = [turn.stated_answer for turn in turns if turn.role == Role.AGENT]
    verdict = majority_verdict([Verdict(turn.verdict) for turn in last]).value if last else None
    grade = pd.Series([turn.p_unreasonable for turn in last], dtype=float).mean()
    return {"verdict": verdict, "p_unreasonable": grade, "answer": stated[-1] if stated else None}


def localisation(hops: pd.DataFrame) -> pd.DataFrame:
    """Measure how often the first hop that is ruled out is the one that is false.

    Parameters
    ----------
    hops : DataFrame
        As returned by `hop_table`.

    Returns
    -------
    DataFrame
        One row per method × `outcome` (`HOP_OUTCOMES`): `value`, the share of chains with its 95 % interval, of `n`.
        Of the chains with a false hop: "named", it is the first hop that is ruled out; "another", an earlier or later
        hop is; "none"; these sum to 1. "ranked": it has the highest P(UNREASONABLE) of the hops on the path, out of the
        chains with two such hops or more; one of m tied hops counts 1/m. "false_alarm": a hop of a true chain is ruled
        out, out of the true chains. `chance`: for "named" a hop chosen at random, 1 / hops in the chains in which a hop
        is ruled out; for "ranked" how often the same hop has the highest P(UNREASONABLE) of the same hops
        where all passages are true (an unknown P counts as 1). `gain` is the mean of the difference, with its 95 %
        interval. A share of nothing is NaN with n = 0.
    """
    judged = hops[hops.groupby("method")["verdict"].transform("count") > 0]
    one = ["method", "item_id", "question_id", "n_hops", "false_hop"]
    accused = judged["hop"].where(judged["verdict"] == Verdict.UNREASONABLE)
    chains = judged.assign(accused=accused).groupby(one, sort=False)["accused"].min().reset_index()
    graded = judged[judged["on_path"]].dropna(subset="p_unreasonable")
    place, grades = ["method", "question_id", "hop"], {"ranked": "p_unreasonable", "by_chance": "p_all_true"}
    all_true = graded[graded["false_hop"] == 0].set_index(place)["p_unreasonable"].rename("p_all_true")
    graded = graded.join(all_true, on=place).fillna({"p_all_true": 1.0})
    for credit, grade in grades.items():
        graded[credit] = graded["is_false"].where(graded[grade] == graded.groupby(one)[grade].transform("max"))
    ranked = graded.groupby(one).filter(lambda hops: len(hops) > 1).groupby(one)[[*grades]].mean()
    chains = chains.merge(ranked.reset_index(), on=one, how="left")
    false, named = chains["false_hop"] > 0, chains["accused"] == chains["false_hop"]
    outcomes = {
        "named": named.where(false), "another": (chains["accused"].notna() & ~named).where(false),
        "none": chains["accused"].isna().where(false), "ranked": chains["ranked"].where(false),
        "false_alarm": chains["accused"].notna().where(~false),
    }  # fmt: skip

    def shares_of(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        for outcome in outcomes:
            known = part.dropna(subset=outcome)
            hits, whose = known[outcome].astype(float), known["question_id"]
            chance = known["by_chance"] if outcome == "ranked" else known["accused"].notna() / known["n_hops"]
            row = {"outcome": outcome} | clustered_interval(hits, whose).columns("value")
            gain = contrast_interval(hits - chance, whose, np.zeros(len(hits)), {0: 1.0})
            gains = {"chance": chance.mean()} | gain.columns("gain")
            yield row | {"n": len(hits)} | (gains if outcome in ("named", "ranked") else {})

    return by_group(chains.assign(**outcomes), shares_of, ("method",))


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
        a wrong answer the question is another one; a hop whose chain is asked twice counts once with its true passage.
    """
    ruled = hops[hops["on_path"] & hops["verdict"].notna() & hops[by].notna()]
    ruled = ruled.drop_duplicates(["method", "question_id", "hop", "is_false"])
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
        One row per method × condition × `first_wrong` (0 for none): the number of chains that first went wrong there,
        by the ending of their final answer, as `preference.endings_of` names it.
    """
    first = hops["hop"].where(~hops["right"]).groupby([hops["method"], hops["item_id"]]).min()
    first = first.fillna(0).astype(int).rename("first_wrong").reset_index()
    chains = by_variant(with_matches(records)).merge(first, on=["method", "item_id"])
    keys = [chains["method"], chains["condition"].replace(_CONDITIONS), chains["first_wrong"]]
    return pd.crosstab(keys, endings_of(chains)).rename_axis(columns=None).reset_index()


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
        the mean `calls` of an item. The method `FROM_MEMORY` is the prior answer to the whole question; it takes as
        many calls as the answer of few-shot.
    """
    rows = with_memory(by_variant(records), READER)
    return summary(rows).merge(costs(rows)[[*group_columns(rows), "calls"]])


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
    rows = table[table["condition"].isin(_CONDITIONS)].replace({"condition": _CONDITIONS})
    palette = dict(zip(_CONDITIONS.values(), (draw.RIGHT_COLOUR, draw.FOLLOWED_COLOUR), strict=True))
    return draw.rows(rows, "accuracy", "method", "right final answers", hue="condition", palette=palette, few="chains")


def draw_localisation(table: pd.DataFrame) -> Figure:
    """Draw how often each method rules out the false hop, another one or none; hollow: `chance`.

    Parameters
    ----------
    table : DataFrame
        As returned by `localisation`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table.replace({"outcome": HOP_OUTCOMES})
    look: dict[str, Any] = {"hue": "method", "hollow": "chance", "keys": [draw.key("for comparison", filled=False)]}
    return draw.rows(rows, "value", "outcome", "share of chains", few="chains", **look)
