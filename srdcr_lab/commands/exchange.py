"""`srdcr export` and `srdcr import`: results for other tools, and results that were made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from srdcr_lab.commands import PATH, as_text, echo

_SHOWN = ["model", "method", "condition", "n", "coverage", "accuracy", "selective_accuracy"]


@click.command()
@click.argument("kind", metavar="inspect", type=click.Choice(["inspect"]))
@click.argument("folder", type=PATH)
@click.argument("target", type=PATH)
def export(kind: str, folder: Path, target: Path) -> None:
    """Write the results in FOLDER for another tool.

    inspect: an Inspect AI log, TARGET (.eval), with each item × method as a sample.

    No key leaves, no path of this machine, and no character that cannot be seen.
    """
    from srdcr_lab.study import load_run
    from srdcr_lab.study.exchange import write_inspect

    echo(write_inspect(load_run(folder), target))


@click.command("import")
@click.argument("table", type=PATH)
@click.option("--out", required=True, type=PATH, help="results folder to write")
@click.option("--model", default="model", show_default=True, help="name of what answered; shown after elsewhere:")
@click.option("--method", default="own", show_default=True, help="name of what gave the column final_answer")
@click.option("--tau", type=float, help="confidence threshold in [0, 1]; default: the paper's (0.9)")
@click.option("--strict", is_flag=True, help="refuse a table of which a row is no item; default: leave it out")
def import_(table: Path, out: Path, model: str, method: str, tau: float | None, strict: bool) -> None:
    """Make a results folder of results from elsewhere.

    TABLE (.csv, .jsonl, .parquet) has a row an item: question, gold_answer and, unless it was asked of memory alone,
    context; what the passage asserts (claimed_answer, and perhaps perturbation_kind: none, offset, factor,
    substitution, rewrite); any other column of --items (options, answer_type, argued …); and any of these results:

    \b
    prior_answer, context_answer    answers without and with the passage, or replies that state them
    final_answer                    answers of a method of your own; empty where it abstained
    prior_correct, context_correct, final_correct
                                    their grades (true or false, 1 or 0), used instead of our own comparison
    self_confidence                 in the prior answer, from 0 to 1, with confidence_kind
    logprobs                        a list: natural logarithms of the prior answer's tokens
    samples                         a list: answers drawn without the passage
    knowledge_category              where there are no samples: HIGHLY_KNOWN, MAYBE_KNOWN, WEAKLY_KNOWN, UNKNOWN
    verdict_path                    R, U or ? after each round of a debate
    verdict                         alone: of a judge without a debate (REASONABLE, UNREASONABLE, UNPARSED)
    p_unreasonable                  how likely the judge found UNREASONABLE
    """
    from srdcr_lab.study import results_from

    results = results_from(table, out, model=model, method=method, tau=tau, strict=strict)
    designs = results.records.dropna(subset="design").set_index("method")["design"].to_dict()
    named = {method: f"{method} ({design})" for method, design in designs.items()}
    echo(as_text(results.summary[_SHOWN].replace({"method": named})))
    for note in results.manifest["notes"]:
        echo(f"note: {note}")
    echo(f"results in {out}")
