"""`srdcr export` and `srdcr import`: results for other tools, and results that were made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from srdcr_lab.commands import PATH, echo
from srdcr_lab.commands.study import as_text
from srdcr_lab.models.http import address
from srdcr_lab.records.vocabulary import n_of

_SHOWN = ["model", "method", "condition", "n", "coverage", "accuracy", "selective_accuracy"]


@click.group()
def export() -> None:
    """Write the results in FOLDER for other tools.

    No key leaves, no path of this machine, and no character that cannot be seen.
    """


@export.command()
@click.argument("folder", type=PATH)
@click.argument("target", type=PATH)
def inspect(folder: Path, target: Path) -> None:
    """An Inspect AI log, TARGET (.eval): each item × method as a sample."""
    from srdcr_lab.study import exports, load_run

    n = exports.write_inspect(load_run(folder), target)
    echo(f"{target}: {n_of(n, 'samples')}; inspect view --log-dir {target.parent} shows them")


@export.command()
@click.argument("folder", type=PATH)
@click.argument("target")
def otel(folder: Path, target: str) -> None:
    """Traces of turns as OTLP JSON.

    TARGET is a file (.jsonl), or the address of an OTLP/HTTP endpoint (http://127.0.0.1:4318).
    """
    from srdcr_lab.study import exports, load_run

    if target.startswith(("http://", "https://")):
        echo(f"{address(target)}: {n_of(exports.post_otlp(load_run(folder), target), 'spans')} taken")
    else:
        echo(f"{target}: {n_of(exports.write_otlp(load_run(folder), PATH(target)), 'spans')}")


@export.command()
@click.argument("folder", type=PATH)
@click.argument("tracking_uri")
def mlflow(folder: Path, tracking_uri: str) -> None:
    """An MLflow run: parameters, metrics, tables, and on a server the traces. Needs the package mlflow."""
    from srdcr_lab.study import exports, load_run

    run, n = exports.log_mlflow(load_run(folder), tracking_uri)
    echo(f"run {run} in the experiment srdcr_lab; {n_of(n, 'spans')} of traces")


@click.command("import")
@click.argument("table", type=PATH)
@click.option("--out", required=True, type=PATH, help="results folder to write")
@click.option("--model", default="model", show_default=True, help="name of what answered; shown after elsewhere:")
@click.option("--method", default="own", show_default=True, help="name of what gave the column final_answer")
@click.option("--tau", type=float, help="confidence threshold in [0, 1]; default: the paper's (0.9)")
@click.option("--strict", is_flag=True, help="refuse a table of which a row is no item; default: leave it out")
def import_(table: Path, out: Path, model: str, method: str, tau: float | None, strict: bool) -> None:
    """Make a results folder of results from elsewhere.

    TABLE (.csv, .jsonl, .parquet) has a row an item: the columns of --items, and any of prior_answer, context_answer,
    final_answer, self_confidence with confidence_kind, logprobs, samples, verdict, verdict_path, p_unreasonable.
    """
    from srdcr_lab.study import results_from

    results = results_from(table, out, model=model, method=method, tau=tau, strict=strict)
    echo(as_text(results.summary[_SHOWN]))
    for note in results.manifest["notes"]:
        echo(f"note: {note}")
    echo(f"results in {out}")
