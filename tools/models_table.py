"""The table of models in README.md: what each knows, which passages it believes, what SR-DCR gains.

    python tools/models_table.py [RUN…]

A RUN is a results folder, a bundle, or a name that `lab.load_run` knows; without one, every study that ships. What a
model knows is measured on the part `known` of its study where there is one, the rest on the run itself, in the design
`acvd`. Prints Markdown; a test holds README.md to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

import srdcr_lab as lab
from srdcr_lab import cli
from srdcr_lab.commands import echo
from srdcr_lab.measures import (
    compare_all,
    context_preference,
    highly_known,
    precision_steps,
    summary,
    verdict_rates,
)
from srdcr_lab.measures.estimates import shares
from srdcr_lab.measures.groups import is_standard
from srdcr_lab.measures.precision import auroc
from srdcr_lab.pages import interval
from srdcr_lab.records.names import called
from srdcr_lab.study.bundle import shipped_studies

TAU = 0.9  # the paper's
METHODS = ("few_shot", "sr_dcr", "confidence_only", "calibrated_token_probability", "golden")


def column(run: lab.Results) -> Iterator[tuple[str, str]]:
    """What was measured, and its value with 95 % interval and n; nothing of what the run does not hold."""
    questions = (run.part("known") or run).questions
    known = highly_known(questions)
    for row in shares(questions, known).itertuples():
        yield "Highly-Known questions", f"{interval(row.share, row.low, row.high)}, n = {row.n}"
    area = auroc(questions["self_confidence"], known)
    yield "confidence ranks them first (AUROC)", f"{interval(area.value, area.low, area.high)}, n = {area.n}"
    sure = precision_steps(questions["self_confidence"], known).at(TAU)
    yield f"P(Highly-Known \\| Conf ≥ {TAU})", f"{interval(sure.precision, sure.low, sure.high)}, n = {sure.n_above}"
    records = run.records[run.records["design"].fillna("acvd") == "acvd"]
    for row in context_preference(records, by=[]).query("not prior_is_claim").itertuples():
        yield "false passages followed, few-shot", f"{interval(row.share, row.low, row.high)}, n = {row.n}"
    for row in verdict_rates(records[records["method"] == "sr_dcr"]).itertuples():
        half = "true passages believed" if row.rate == "verdict_tpr" else "false passages caught"
        yield f"{half} by the Judge", f"{interval(row.share, row.low, row.high)}, n = {row.n}"
    if is_standard(records).all():
        return  # no false passage was asked about, as in `known`
    right = summary(records).query("condition == 'overall' and method in @METHODS").set_index("method")
    for row in right.reindex([name for name in METHODS if name in right.index]).itertuples():
        share = interval(row.accuracy, row.accuracy_low, row.accuracy_high)
        yield f"right, {called(row.Index)}", f"{share}, n = {row.n}"
    if {"few_shot", "sr_dcr"} <= set(right.index):
        for row in compare_all(records, others=["few_shot"], conditions=["overall"]).itertuples():
            yield "SR-DCR less few-shot", f"{interval(row.difference, row.low, row.high)}, n = {row.n}"


@click.command("models-table")
@click.argument("runs", nargs=-1)
def models_table(runs: tuple[str, ...]) -> int:
    """Print the models of RUNS side by side."""
    names = runs or sorted(name for name in shipped_studies() if "/" not in name)
    columns = {name: dict(column(lab.load_run(name))) for name in names}
    echo("| | " + " | ".join(f"`{name}`" for name in columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for row in dict.fromkeys(key for each in columns.values() for key in each):
        echo(f"| {row} | " + " | ".join(each.get(row, "–") for each in columns.values()) + " |")
    return 0


if __name__ == "__main__":
    cli.cli.add_command(models_table)
    cli.main(["models-table", *sys.argv[1:]])
