"""The numbers in the text of data/studies/README.md that stand in none of its tables, as the page says them.

    python tools/studies_text.py

Each line is a piece of a sentence, computed from the bundles that ship; a test finds every one of them on the page.
Numbers of formats and sides come from `tools/prompts_report.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import pandas as pd

import srdcr_lab as lab
from srdcr_lab import chains, cli, preference
from srdcr_lab.commands import echo
from srdcr_lab.confidence import auroc, precision_steps
from srdcr_lab.debates import later_turns, verdict_discrimination
from srdcr_lab.evaluation import weighted_leads
from srdcr_lab.final_answer import utility, utility_differences
from srdcr_lab.lib.comparison import compare, compare_all, outcome
from srdcr_lab.lib.groups import FROM_MEMORY, is_standard
from srdcr_lab.lib.page import interval
from srdcr_lab.lib.statistics import shares
from srdcr_lab.records import KnowledgeCategory, Verdict
from srdcr_lab.records.names import called

QWEN, SMOL = "qwen2.5-coder-1.5b", "smollm2-135m"


def known(name: str) -> str:
    """How many of the questions asked first are in each category."""
    counts = lab.load_run(f"{name}/known").questions["knowledge_category"].value_counts()
    highly, maybe, weakly, unknown = (counts[category.value] for category in KnowledgeCategory)
    questions = " of 300 questions are" if name != "elements" else " questions are"
    return f"{highly}{questions} Highly-Known, {maybe} Maybe-, {weakly} Weakly-Known, {unknown} Unknown"


def believed(debates: pd.DataFrame) -> list[tuple[int, int]]:
    """How many true, then false passages the Judge calls reasonable, and of how many."""
    true, said = is_standard(debates), debates["verdict"] == Verdict.REASONABLE
    return [(int(said[half].sum()), int(half.sum())) for half in (true, ~true)]


def reasonable(debates: pd.DataFrame, link: str = " and ") -> str:
    (true, n_true), (false, n_false) = believed(debates)
    return f"{true} of {n_true} true{link}{false} of {n_false} false passages reasonable"


def followed(records: pd.DataFrame) -> tuple[int, int]:
    """How many false passages few-shot follows, of those whose claim differs from the prior answer."""
    of = preference.context_preference(records, by=[]).query("not prior_is_claim").iloc[0]
    return round(of["share"] * of["n"]), int(of["n"])


def years() -> Iterator[str]:
    rows = lab.load_run(f"{QWEN}/years").records.query("method == 'few_shot'")
    hits = rows["final_answer"] == rows["claimed_answer"]
    of = {"years": (20, 100, 200)}
    table = shares(rows.assign(years=rows["perturbation_value"].abs()), hits, of, questions_alike=True)
    at = [interval(*ends) for ends in table[["share", "low", "high"]].to_numpy(float)]
    yield f"{at[0]} at 20 years, {at[1]} at 100, {at[2]} at 200 (30 questions, {table['n'].iloc[0]} claims each)"
    rows = rows[rows["level"] != "absurd"]
    pairs = preference.future_against_past(rows)
    yield (
        f"{pairs.mean_a:.2f} and {pairs.mean_b:.2f} of {pairs.n} pairs ({pairs.difference.n} questions; difference "
        f"{pairs.difference}"
    )
    answers = preference.perturbed_answers(rows)
    past = rows[~rows["item_id"].isin(answers.loc[answers["future"].astype(bool), "item_id"])]
    slopes = [preference.offset_slopes(part).query("knowledge_category == 'all'").iloc[0] for part in (rows, past)]
    yield f"the slope is {interval(*slopes[0][['slope', 'low', 'high']])} log-odds per 100 years"
    hits, n = followed(past)
    yield f"{hits} of {n} past claims are followed, and {slopes[1]['n_rare']} questions have all the others"


def qwen() -> Iterator[str]:
    run = lab.load_run(QWEN)
    records = run.records
    debates = records[records["method"] == "sr_dcr"]
    acvd, two = (debates[debates["design"] == design] for design in ("acvd", "two_answers"))
    yield known(QWEN)
    yield "Few-shot follows {} of the {} false passages whose claim differs".format(*followed(records))
    yield from years()
    yield f"The Judge of the debates calls {reasonable(acvd)}"
    areas = verdict_discrimination(debates).query("belief == 'P(UNREASONABLE)'").set_index("design")
    ends = {name: interval(*areas.loc[name, ["auroc", "low", "high"]]) for name in areas.index}
    yield f"AUROC {ends['acvd']}; without a debate (`judge_alone`) {ends['judge_alone']}"
    yield f"from the two answers alone (`two_answers`) {ends['two_answers']}"
    symmetric = lab.load_run(f"{QWEN}/symmetric").records.query("method == 'sr_dcr'")
    yield f"calls {reasonable(symmetric)}"
    decided = acvd["decision"].value_counts()
    yield f"took the passage's answer for {decided['USE_CONTEXT']} of {len(acvd)} items, and the answer from memory"
    spoken = run.turns.query("method == 'sr_dcr' and design == 'acvd'")
    distinct = spoken.groupby(["item_id", "role"])["text"].nunique().groupby("role").mean()
    yield f"({distinct['defender']:.1f} and {distinct['critic']:.1f} distinct texts per debate)"
    yield from fresh()
    caught, trusted = ({} for _ in range(2))
    for name, rows in (("two", two), ("acvd", acvd)):
        true, said = is_standard(rows), rows["verdict"]
        caught[name], trusted[name] = (said[~true] == "UNREASONABLE").mean(), (said[true] == "REASONABLE").mean()
    yield f"catches {caught['two']:.2f} of the false passages, with them {caught['acvd']:.2f}"
    yield f"believes {trusted['two']:.2f} and {trusted['acvd']:.2f} of the true ones"
    lead = compare_all(debates, "acvd", column="design", conditions=["overall"], name="verdict_right")
    lead = lead.set_index("b").loc["two_answers"]
    yield f"right in {lead['mean_b']:.2f} of the cases, against {lead['mean_a']:.2f}"
    yield f"(difference {interval(-lead['difference'], -lead['high'], -lead['low'])}, Holm p = {lead['p_holm']:.3f}"
    read = debates[debates["verdict"] != Verdict.UNPARSED]
    lead = compare_all(read, "acvd", column="design", conditions=["overall"], name="verdict_right").set_index("b")
    n, value, low, high, p = lead.loc["two_answers", ["n", "difference", "low", "high", "p_holm"]]
    yield f"over the {n:.0f} items with both rulings read {interval(-value, -high, -low)}, Holm p = {p:.2f}"
    alike = pd.concat([acvd, two]).assign(method=lambda rows: rows["design"].astype(object), design=None)
    judged = alike.assign(correct=outcome(pd.concat([acvd, two]), "verdict_right"), missing=None)
    names = ["difference", "low", "high"]
    value, low, high = weighted_leads(judged, run.weights, "acvd").iloc[0][names]
    yield f"weighted to all questions {interval(-value, -high, -low)})"
    value, low, high = weighted_leads(alike, run.weights, "acvd").iloc[0][names]
    yield f"the difference of {interval(value, low, high)} for the debate"
    yield f"{two['right'].mean():.2f} with the two answers alone (coverage {two['missing'].isna().mean():.2f})"
    yield f"{acvd['right'].mean():.2f} with the debate ({acvd['missing'].isna().mean():.2f})"
    yield from controls()
    yield from hop_by_hop()
    yield from against_few_shot(records)


def fresh() -> Iterator[str]:
    debates = lab.load_run(f"{QWEN}/fresh").records.query("method == 'sr_dcr'")
    counts = {design: believed(rows) for design, rows in debates.groupby("design")}
    (true, n_true), (false, n_false) = counts["acvd"]
    pair = {name: f"{each[0][0]} and {each[1][0]}" for name, each in counts.items()}
    yield f"calls {true} of {n_true} true and {false} of {n_false} false passages reasonable in plain ACVD"
    yield f"{pair['acvd_fresh']} with fresh turns, {pair['symmetric_fresh']} if the Critic also sees the passage"
    judged = lab.load_run(f"{SMOL}/judged").records.query("method == 'sr_dcr'")
    for half in (is_standard(judged), ~is_standard(judged)):
        n = judged.loc[half, "verdict"].value_counts()
        yield f"{n['REASONABLE']} of {half.sum()} reasonable, {n['UNREASONABLE']} unreasonable, {n['UNPARSED']} unread"


def controls() -> Iterator[str]:
    records = lab.load_run(f"{QWEN}/controls").records
    given = {name: rows.set_index("item_id") for name, rows in records.groupby("method")}
    few = given["few_shot"]["final_answer"].fillna("")
    for name in ("few_shot_warned", "vote_20"):
        same = (given[name]["final_answer"].fillna("") == few).sum()
        yield f"the same answer to all {same} items" + " as without the warning" * (name == "few_shot_warned")
    wrong = given["few_shot_warned"]
    yield f"{wrong.loc[~is_standard(wrong), 'right'].sum()} of 60 right on false passages"
    debates = records[records["method"] == "sr_dcr"]
    (one, _), (other, _) = believed(debates[debates["design"] == "one_critique"])
    yield f"the Judge calls {one} of 60 true and {other} of 60 false passages reasonable, after six rounds 57 and 56"
    right = debates.groupby("design")["right"].mean()
    yield f"{right['acvd']:.2f} with the debate, {right['one_critique']:.2f} with one critique"
    for design in ("one_critique", "judge_alone"):
        yield str(compare(debates, "acvd", design, column="design").difference)


def hop_by_hop() -> Iterator[str]:
    """Of the chains: what is ruled out, where, and how many final answers are right."""
    run = lab.load_run(f"{QWEN}/chains")
    hops = chains.hop_table(run)
    found = chains.localisation(hops).set_index(["method", "outcome"])
    first = found.loc[(chains.DEBATE, "named")]
    n, outcomes = f"{first['n']:.0f}", ("named", "another", "none")
    one, other, none = (f"{found.loc[(chains.DEBATE, which), 'value'] * first['n']:.0f}" for which in outcomes)
    yield f"is the false one in {one} of {n} chains and a true one in {other}; in the other {none} it rules out none"
    gains = interval(*first[["gain", "gain_low", "gain_high"]])
    yield f"as many hops ruled out at random ({first['chance'] * first['n']:.1f} chains; difference {gains})"
    yield f"with all passages true (after the debate {found.loc[(chains.DEBATE, 'ranked'), 'chance']:.2f})"
    on_path = hops[hops["on_path"] & hops["verdict"].notna()]
    on_path = on_path.drop_duplicates(["method", "question_id", "hop", "is_false"])
    for method in (chains.DEBATE, *(called("sr_dcr_per_hop", name) for name in ("one_critique", "judge_alone"))):
        ruled = on_path[on_path["method"] == method].groupby("is_false")["verdict"]
        out, of = (each.to_dict() for each in (ruled.agg(lambda said: (said == "UNREASONABLE").sum()), ruled.size()))
        yield f"{out[True]} of {of[True]} false and {out[False]} of {of[False]} true passages"
        ranked = found.loc[(method, "ranked")]
        values, gains = (interval(*ranked[[of, f"{of}_low", f"{of}_high"]]) for of in ("value", "gain"))
        yield f"{values} of {ranked['n']:.0f} chains, difference {gains}"
    answers = chains.chain_answers(run.records).set_index(["condition", "method"])
    for condition, words in (("perturbed", "With one false passage"), ("standard", "with all passages true")):
        order = chains.READER, FROM_MEMORY, chains.DEBATE, called("few_shot_per_hop")
        right = [f"{answers.loc[(condition, name), 'accuracy'] * first['n']:.0f}" for name in order]
        yield f"{words}, few-shot over all passages is right on {right[0]} of the {n} chains, the answer from memory"
        yield f"memory on {right[1]}, SR-DCR hop by hop on {right[2]} and few-shot hop by hop on {right[3]}"
    lead = compare_all(chains.by_variant(run.records), chains.READER, conditions=["overall"]).set_index("b")
    for name, link in ((chains.DEBATE, f" over {len(lead)} comparisons"), (called("few_shot_per_hop"), "")):
        gap = lead.loc[name]
        yield f"by {interval(*gap[['difference', 'low', 'high']])} (Holm p = {gap['p_holm']:.3f}{link})"
    part = run.part("hops")
    yield f"ask {len(part.questions) if part else 0} different questions"
    own = run.turns[~run.turns["method"].str.startswith("debate_only")]  # whose debates are those of SR-DCR
    later = later_turns(own.assign(run=own["speaker"])).groupby("role")["nearly"].agg(["sum", "size"])
    repeats, of = later["sum"].to_dict(), later["size"].to_dict()
    yield f"{repeats['defender']} of the Defender's and {repeats['critic']} of the Critic's later turns nearly repeat"
    yield f"an earlier one, of {of['defender']} and {of['critic']}"


def with_few_lies() -> Iterator[str]:
    """What pocket's answers are worth where one passage in ten is false."""
    records = lab.load_run("pocket").records.query("design == 'acvd' or design.isna()")
    at = utility(records, [0.0], [0.1]).set_index("method")["utility"]
    gap = utility_differences(records, "sr_dcr", "few_shot", [0.0], [0.1]).iloc[0]
    yield f"right on {at['few_shot']:.2f} with few-shot, {at['sr_dcr']:.2f} with SR-DCR"
    yield f"(difference {interval(*gap[['difference', 'low', 'high']])})"


def against_few_shot(records: pd.DataFrame) -> Iterator[str]:
    names = ["calibrated_token_probability", "confidence_only"]
    others, widths = [], {}
    for condition in ("perturbed", "overall", "standard"):
        leads = leads_over_few_shot(records, condition)
        for name in names:
            yield "+" * (condition != "standard") + interval(*leads.loc[name, ["difference", "low", "high"]])
        others.append(leads.drop(names))
        widths[condition] = " to ".join(f"{end:.2f}" for end in (leads["high"] - leads["low"]).agg(["min", "max"]) / 2)
    rest = pd.concat(others)
    least, most = (f"{end:+.2f}".replace("-", "−") for end in rest["difference"].agg(["min", "max"]))
    yield f"lies between {least} and {most} and is inconclusive (Holm p at least {rest['p_holm'].min():.2f})"
    yield f"half-widths of {widths['overall']} overall and of {widths['perturbed']} on false passages"


def leads_over_few_shot(records: pd.DataFrame, condition: str) -> pd.DataFrame:
    """By how much each method but golden, in the design `acvd`, is right more often than few-shot."""
    compared = records[(records["design"].fillna("acvd") == "acvd") & (records["method"] != "golden")]
    leads = compare_all(compared, "few_shot", conditions=[condition]).set_index("b")
    turned = {"difference": -leads["difference"], "low": -leads["high"], "high": -leads["low"]}
    return leads.assign(**turned)


def smaller() -> Iterator[str]:
    """Of the elements and of SmolLM2."""
    yield known("elements")
    questions = lab.load_run("elements/known").questions
    highly = questions["knowledge_category"] == KnowledgeCategory.HIGHLY_KNOWN
    for domain, words in (("atomic numbers", "of the Highly-Known are atomic numbers"), ("discovery years",) * 2):
        of = questions["domain"] == domain
        yield f"{highly[of].sum()} {words} (of {of.sum()})"
    area = auroc(questions["self_confidence"], questions["prior_correct"])
    yield f"AUROC {area}"
    steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
    for tau in (0.8, 0.9):
        yield f"{steps.at(tau).n_wrong} of {steps.at(tau).n_above}"
    rows = lab.load_run("elements/passages").records.query("method == 'few_shot'")
    true = is_standard(rows)
    yield f"right on all {rows.loc[true, 'right'].sum()} true passages and on {rows.loc[~true, 'right'].sum()} of the"
    yield "the claim of {} of {} false passages".format(*followed(rows))
    yield known(SMOL)
    records = lab.load_run(SMOL).records
    rows = records[records["method"] == "few_shot"]
    right = [rows.loc[half, "right"].mean() for half in (is_standard(rows), ~is_standard(rows))]
    yield f"right on {right[0]:.2f} of the true and on {right[1]:.2f} of the false passages"
    yield "follows {} of {} false ones".format(*followed(records))
    leads = leads_over_few_shot(records, "perturbed")
    gain = leads.loc[leads["difference"].idxmax()]
    yield f"the largest gain is {gain['difference']:+.2f} (Holm p = {gain['p_holm']:.2f})"


@click.command("studies-text")
def studies_text() -> None:
    """Print the numbers of the page's text."""
    for piece in (*qwen(), *smaller(), *with_few_lies()):
        echo(piece)


if __name__ == "__main__":
    cli.cli.add_command(studies_text)
    cli.main(["studies-text", *sys.argv[1:]])
