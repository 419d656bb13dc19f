"""How a table is shown in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from srdcr_lab.commands import DONE, SOME_FAILED


def as_text(table: Any) -> str:
    """A DataFrame as aligned text, numbers with four digits, without its index."""
    return str(table.to_string(index=False, float_format=lambda value: f"{value:,.4g}"))


# -- `srdcr plan`, `run` and `notebooks`: what a study would cost, the study, and the notebooks


def _study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `plan` and `run` share: what decides the numbers, and how the models are reached."""
    options = [
        click.option(
            "--model",
            default="pocket",
            show_default=True,
            help="pocket (shipped), hf:NAME_OR_PATH, openai:NAME (key in OPENAI_API_KEY), anthropic:NAME (key in "
            "ANTHROPIC_API_KEY)",
        ),
        click.option(
            "--items",
            default="facts",
            show_default=True,
            help="facts, facts:testbed, facts:grid, facts:options, facts:claims, facts:documents, a benchmark "
            "(srdcr data list), BENCHMARK=FILE, or a CSV, JSONL or Parquet file",
        ),
        click.option(
            "--methods",
            default="few_shot,sr_dcr",
            show_default=True,
            help="names with commas between them (README.md lists them), or all: those made for such items",
        ),
        click.option("--defender", help="model of this role; default: --model"),
        click.option("--critic", help="model of this role; default: --model"),
        click.option("--judge", help="model of this role; default: --model"),
        click.option("--preset", default="paper", show_default=True, help="paper or released"),
        click.option("--design", help="acvd, symmetric, released, or several with commas; default: the preset's"),
        click.option("--rounds", type=int, help="rounds of debate; default: the preset's (6)"),
        click.option("--tau", type=float, help="confidence threshold in [0, 1]; default: the preset's (0.9)"),
        click.option(
            "--confidence",
            help="auto, mean_logprob, sequence, mean_probability, self_consistency, verbalized; default: the preset's "
            "(auto: mean_logprob, or self_consistency of a model without log-probabilities)",
        ),
        click.option(
            "--samples", type=int, help="knowledge draws per question, 0 for no categories; default: the preset's (32)"
        ),
        click.option("--limit", type=int, help="at most so many items, stratified and seeded; default: all"),
        click.option("--seed", default=0, show_default=True, type=int),
        click.option("--base-url", help="address of an OpenAI- or Anthropic-compatible server; a key is optional"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_study_options
def plan(**options: Any) -> None:
    """What a run would take: calls, tokens, cost from–to.

    Asks no server and needs no key.
    """
    from srdcr_lab.study import Study

    with Study(offline=True, **options) as study:
        table = study.plan().table
        click.echo(f"{len(study.items)} items of {study.items.name}")
        click.echo(as_text(_plan_table(table)))
        click.echo(
            "A call is one completion. alone: every item by itself, nothing shared. shared: equal requests asked once, "
            "in a row over its items, in the last row over all rows; tokens and costs are estimates of these."
        )


@click.command()
@_study_options
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="results folder; an existing one is resumed"
)
@click.option("--concurrency", default=64, show_default=True, type=int, help="API requests in flight at once")
@click.option("--budget-usd", type=float, help="never spend more than this; default: no bound")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="file of the completions; default: store.sqlite in the results folder",
)
@click.option("--offline", is_flag=True, help="take every completion from the store, ask nothing")
def run(out: Path, **options: Any) -> int:
    """Run methods on items and write the results.

    The folder --out then holds summary.csv, records, turns and samples as Parquet, items.json, run.json and, unless
    --store says where, the store of the completions. A run that was stopped goes on with the same command.
    """
    from srdcr_lab.study import Study

    with Study(out=out, **options) as study:
        results = study.run()
        click.echo(as_text(_final_table(results.summary)))
        for note in results.manifest["notes"]:
            click.echo(f"note: {note}")
        failed = results.manifest["counts"]["failed"]
        click.echo(
            f"results in {out}"
            + (f"; {failed} rows carry an error, see the column error of records.parquet" if failed else "")
        )
    return SOME_FAILED if failed else DONE


@click.command()
@click.option("--model", help="as in srdcr run; default: what each notebook says")
@click.option("--items", help="as in srdcr run; default: what each notebook says")
@click.option("--limit", type=int, help="at most so many items; default: what each notebook says")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/notebooks"), show_default=True)
def notebooks(out: Path, **options: Any) -> None:
    """Execute notebooks 00–08 into the folder --out.

    They draw into figures/ and share results/store.sqlite.
    """
    from srdcr_lab.study.notebooks import run_notebooks

    for path in run_notebooks(out, {name.upper(): value for name, value in options.items()}):
        click.echo(path.name)


def _plan_table(plan: Any) -> Any:
    """The plan for a terminal: one column a quantity, from–to where the two differ."""
    titles = {"calls_alone": "calls alone", "calls": "shared", "prompt_tokens": "prompt tokens",
              "completion_tokens": "completion tokens", "cost_usd": "cost USD"}  # fmt: skip

    def span(row: Any, name: str) -> str:
        least, most = row[f"{name}_from"], row[f"{name}_to"]
        written = [f"{value:,.2f}" if name == "cost_usd" else f"{value:,.0f}" for value in (least, most)]
        return "unknown" if least != least else "–".join(dict.fromkeys(written))

    table = plan[["methods"]].copy()
    for name, title in titles.items():
        table[title] = [span(row, name) for _, row in plan.iterrows()]
    return table


def _final_table(summary: Any) -> Any:
    """Table 1 for a terminal: shares in per cent with their intervals."""

    def percent(row: Any, name: str) -> str:
        if row[name] != row[name]:
            return "–"
        return f"{100 * row[name]:.1f} [{100 * row[f'{name}_low']:.0f}, {100 * row[f'{name}_high']:.0f}]"

    table = summary[["model", "method", "condition", "n"]].copy()
    table["coverage"] = [f"{100 * value:.1f}" if value == value else "–" for value in summary["coverage"]]
    for name in ("accuracy", "selective_accuracy"):
        table[f"{name} % [95 %]"] = [percent(row, name) for _, row in summary.iterrows()]
    for name in ("abstained", "unparsed", "error"):
        table[name] = summary[f"n_{name}"]
    return table
