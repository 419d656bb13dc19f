"""The tables of models in README.md and data/studies/README.md: what each knows, which passages it believes, whether it
debates, what each method's answers are worth, what SR-DCR gains, what debates gain whose turns are fresh, what other
worked examples and another Judge change.

    python tools/models_table.py [RUN…]

A RUN is a results folder, a bundle, or a name that `lab.load_run` knows; without one, every study that ships. What a
model knows is measured on the part `known` of its study where there is one, the rest on the run itself, in the design
`acvd`. Prints Markdown; a test holds both pages to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

import click
import pandas as pd

import srdcr_lab as lab
from srdcr_lab import cli
from srdcr_lab.commands import echo
from srdcr_lab.confidence import auroc, precision_steps
from srdcr_lab.debates import later_turns, path_stability, signs_of_debate, verdict_discrimination, verdict_rates
from srdcr_lab.evaluation import weighted_back, weighted_leads
from srdcr_lab.final_answer import changes_of_place, matched_coverage, utility
from srdcr_lab.lib.comparison import compare, compare_all, over_repeats
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.groups import FROM_MEMORY, is_standard, with_memory
from srdcr_lab.lib.page import interval
from srdcr_lab.lib.statistics import shares
from srdcr_lab.lib.summary import costs, summary
from srdcr_lab.preference import context_preference
from srdcr_lab.records import Role, Verdict
from srdcr_lab.records.names import called
from srdcr_lab.study.bundle import shipped_studies

TAU = 0.9  # the paper's
FEW = 10  # Highly-Known questions or right answers, with fewer of which nothing is said of confidence
SEEDS = range(3)  # of the parts seed_0, …
METHODS = ("few_shot", FROM_MEMORY, "sr_dcr", "confidence_only", "calibrated_token_probability", "golden")
PAIRS = (
    ("sr_dcr", "few_shot"),
    ("sr_dcr", "confidence_only"),
    ("confidence_only", "few_shot"),
    ("calibrated_token_probability", "few_shot"),
)
Row = Mapping[str, str]


def of_acvd(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["design"].fillna("acvd") == "acvd"]


def column(run: lab.Results) -> Iterator[tuple[str, str]]:
    """What was measured, and its value with 95 % interval and n; nothing of what the run does not hold."""
    questions = (run.part("known") or run).questions
    known = highly_known(questions)
    for row in shares(questions, known).itertuples():
        yield "Highly-Known questions", f"{interval(row.share, row.low, row.high)}, n = {row.n}"
    area, few = auroc(questions["self_confidence"], known), known.sum() < FEW
    ends = "–" if few else str(area)
    yield "AUROC of confidence for Highly-Known", f"{ends}, n = {area.n}"
    right = questions["prior_correct"]
    area = auroc(questions["self_confidence"], right)
    yield "AUROC of confidence for a right answer", f"{'–' if right.sum() < FEW else area}, n = {area.n}"
    sure = precision_steps(questions["self_confidence"], known).at(TAU)
    ends = "–" if few else str(sure.precision)
    yield f"P(Highly-Known \\| Conf ≥ {TAU})", f"{ends}, n = {sure.n_above}"
    records = of_acvd(run.records)
    for row in context_preference(records, by=[]).query("not prior_is_claim").itertuples():
        yield "false passages followed, few-shot", f"{interval(row.share, row.low, row.high)}, n = {row.n}"
    debates = records[records["method"] == "sr_dcr"]
    none_read = (debates["verdict"] == Verdict.UNPARSED).all()
    for row in verdict_rates(debates).itertuples():
        half = "true passages believed" if row.rate == "verdict_tpr" else "false passages caught"
        yield f"{half} by the Judge", ("–" if none_read else interval(row.share, row.low, row.high)) + f", n = {row.n}"
    spoken = of_acvd(run.turns)
    spoken = spoken[(spoken["method"] == "sr_dcr") & spoken["role"].isin([Role.DEFENDER, Role.CRITIC])]
    for role, again in later_turns(spoken).sort_values("role", ascending=False).groupby("role", sort=False)["again"]:
        yield f"{role.capitalize()}'s turns that repeat an earlier one", f"{again.mean():.2f}, n = {len(again)}"
    for row in path_stability(debates).itertuples():
        if (row.condition, row.move) == ("overall", "changed"):
            ends = "–" if none_read else interval(row.share, row.low, row.high)
            yield "debates in which the verdict changes", f"{ends}, n = {row.n}"


def answers(name: str, run: lab.Results) -> Iterator[Row]:
    """A row for each method: accuracy, coverage, accuracy of what it answers, utility, accuracy for its tokens. None
    without false passages."""
    records = with_memory(of_acvd(run.records))
    if is_standard(records).all():
        return
    worth = utility(records, [0.0, 1.0]).set_index(["method", "cost"])
    tokens = costs(records).groupby("method")["tokens"].mean()
    weighted = None if run.weights is None else weighted_back(records, run.weights).set_index("method")
    for method in (method for method in METHODS if method in worth.index):
        right, lossy = worth.loc[(method, 0.0)], worth.loc[(method, 1.0)]
        row = {"model": f"`{name}`", "method": called(method)}
        row["accuracy, all items"] = interval(*right[["utility", "low", "high"]])
        row["coverage"] = f"{right['coverage']:.2f}"
        ends = right[["selective_accuracy", "selective_accuracy_low", "selective_accuracy_high"]]
        row["accuracy of answers"] = interval(*ends)
        row["utility at cost 1"] = interval(*lossy[["utility", "low", "high"]]) if right["n_answered"] else "–"
        dear = f"{1000 * right['utility'] / tokens[method]:.2f}"
        row["accuracy per 1,000 tokens"] = "–" if method == FROM_MEMORY else dear  # which no row was asked for alone
        if weighted is not None:
            ends = weighted.loc[method, ["weighted", "weighted_low", "weighted_high"]]
            row["accuracy, weighted to all questions"] = interval(*ends)
        yield row


def signed(value: float, low: float, high: float) -> str:
    return interval(value, low, high, "+.2f")


def gains(name: str, run: lab.Results) -> Iterator[Row]:
    """A row for each two methods: how much more often the first is right, counted three ways; where they are level."""
    records = of_acvd(run.records)
    for a, b in ((a, b) for a, b in PAIRS if {a, b} <= set(records["method"])):
        row = {"model": f"`{name}`", "difference": f"{called(a)} − {called(b)}"}
        row["accuracy, all items"] = signed(*compare(records, a, b).difference[:3])
        matched = matched_coverage(records, a).set_index("b").loc[b]
        ends = matched[["difference", "low", "high"]]
        row["at matched coverage"] = signed(*ends)
        level = f"{changes_of_place(records, [(a, b)], 0.0)['changes_at'][0]:.2f}"
        if run.weights is not None:
            lead = weighted_leads(records[records["method"].isin([a, b])], run.weights, a).iloc[0]
            row["weighted to all questions"] = signed(*lead[["difference", "low", "high"]])
            level += f"; weighted {lead['changes_at']:.2f}"
        row["equal at this share of false passages"] = level.replace("nan", "–")
        yield row


def arguing(name: str, run: lab.Results) -> Iterator[Row]:
    """A row for each design of the part `fresh`: whether it was a debate, what the Judge believes, and how much more
    often than after the debate as it was the verdict and the answer are right (Holm over the other designs)."""
    part = run.part("fresh")
    if part is None:
        return
    debates = part.records[part.records["method"] == "sr_dcr"]
    others = [design for design in debates["design"].unique() if design != "acvd"]
    leads = {
        what: compare_all(debates, "acvd", column="design", conditions=["overall"], name=what, others=others)
        for what in ("verdict_right", "correct")
    }
    debaters = (Role.DEFENDER, Role.CRITIC)
    for design in ("acvd", *others):
        own = debates[debates["design"] == design]
        row = {"model": f"`{name}`", "design, two rounds": called(design)}
        row["calls an item"] = f"{own['calls_alone'].mean():.1f}"
        signs = signs_of_debate(part, design).set_index("role")
        for title, sign in (("nearly repeats", "repeats"), ("new word of the other", "addresses")):
            row[f"{title}: Defender, Critic"] = ", ".join(f"{signs[sign][role]:.2f}" for role in debaters)
        row["verdict changes"] = f"{signs['changes'].iloc[0]:.2f}"
        row |= believed(own)
        for what, lead in leads.items():
            title = f"gain in right {'verdicts' if what == 'verdict_right' else 'answers'} over ACVD"
            for of in lead[lead["b"] == design].itertuples():  # the reference minus this one
                row[title] = f"{signed(-of.difference, -of.high, -of.low)}, p = {of.p_holm:.2f}"
        yield row


def seeds(name: str, run: lab.Results) -> Iterator[Row]:
    """A row for few-shot and each design of the parts `seed_0`, …: accuracy with the worked examples of each seed, all
    together, and how many items have another final answer with another seed."""
    parts = [part for seed in SEEDS if (part := run.part(f"seed_{seed}")) and part.manifest["status"] == "done"]
    if len(parts) < len(SEEDS):
        return
    records = pd.concat([part.records.assign(repeat=seed) for seed, part in enumerate(parts)])
    for (method, design), rows in records.groupby(["method", "design"], dropna=False, sort=False):
        row = {"model": f"`{name}`", "method": called(method, design)}
        for seed, alone in rows.groupby("repeat"):
            row[f"accuracy, seed {seed}"] = f"{alone['correct'].fillna(False).mean():.2f}"
        of_all = over_repeats(summary, rows).query("condition == 'overall' and measure == 'accuracy'").iloc[0]
        row["accuracy, all seeds"] = interval(*of_all[["value", "both_low", "both_high"]])
        answers = rows["final_answer"].fillna("").groupby(rows["item_id"]).nunique()
        row["items whose answer depends on the seed"] = f"{(answers > 1).sum()} of {len(answers)}"
        yield row


def judges(name: str, run: lab.Results) -> Iterator[Row]:
    """A row for the model as its own Judge in the part `fresh` (design `acvd`), and one for the part `judged`."""
    folder = (run.bundle or run.folder).parent
    judged = next((lab.load_run(path) for path in folder.glob("judged*")), None)
    if judged is None:
        return
    own = run.part("fresh")
    for part in (own, judged) if own else (judged,):
        rows = of_acvd(part.records)
        rows = rows[(rows["method"] == "sr_dcr") & rows["item_id"].isin(set(judged.records["item_id"]))]
        row = {"debaters": f"`{name}`", "Judge": f"`{part.identities['judge'].name}`"}
        row["rulings read"] = f"{(rows['verdict'] != Verdict.UNPARSED).sum()} of {len(rows)}"
        yield row | believed(rows)


def believed(debates: pd.DataFrame) -> dict[str, str]:
    """What the Judge of these debates believes, and how well P(UNREASONABLE) tells false passages from true ones."""
    row: dict[str, str] = {}
    for rate in verdict_rates(debates).itertuples():
        half = "true believed" if rate.rate == "verdict_tpr" else "false caught"
        read = (debates["verdict"] != Verdict.UNPARSED).any()
        row[half] = f"{interval(rate.share, rate.low, rate.high) if read else '–'}, n = {rate.n}"
    for area in verdict_discrimination(debates).query("belief == 'P(UNREASONABLE)'").itertuples():
        row["AUROC of P(UNREASONABLE)"] = interval(area.auroc, area.low, area.high)
    return row


def markdown(rows: Iterable[Row]) -> str:
    """A table with a column for each key of the rows; "–" where a row lacks one."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns), *([row.get(name, "–") for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(runs: Mapping[str, lab.Results]) -> list[str]:
    """Tables in Markdown: of the models, their methods' answers, differences between methods, debates that argue, other
    seeds, other Judges."""
    columns = {name: dict(column(run)) for name, run in runs.items()}
    keys = dict.fromkeys(key for each in columns.values() for key in each)
    models = ({"": key} | {f"`{name}`": each.get(key, "–") for name, each in columns.items()} for key in keys)
    parts = (answers, gains, arguing, seeds, judges)
    others = ([row for name, run in runs.items() for row in of(name, run)] for of in parts)
    return [markdown(models), *map(markdown, filter(None, others))]


@click.command("models-table")
@click.argument("runs", nargs=-1)
def models_table(runs: tuple[str, ...]) -> int:
    """Print the models of RUNS side by side."""
    names = runs or sorted(name.partition("/")[0] for name in shipped_studies() if name.endswith("/debates"))
    echo("\n\n".join(tables({name: lab.load_run(name) for name in names})))
    return 0


if __name__ == "__main__":
    cli.cli.add_command(models_table)
    cli.main(["models-table", *sys.argv[1:]])
