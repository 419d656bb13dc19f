"""The command line: `srdcr plan`, `run`, `store` and `notebooks`.

Exit codes: 0 done; 1 done, some items failed (their rows say why); 2 bad input; 3 stopped, can be resumed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from srdcr_lab.records import BadInput, SrdcrError, Stopped

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script; turns errors into one sentence and an exit code."""
    try:
        code = cli.main(args=arguments, prog_name="srdcr", standalone_mode=False)
    except BadInput as error:
        _complain(error)
        code = BAD_INPUT
    except Stopped as error:
        _complain(error)
        code = RESUMABLE
    except SrdcrError as error:
        _complain(error)
        code = SOME_FAILED
    except click.ClickException as error:
        _complain(error.format_message())
        code = BAD_INPUT
    except OSError as error:
        _complain(f"{error}; put that right and run the same again to go on")
        code = RESUMABLE
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted; run the same again to go on")
        code = RESUMABLE
    sys.exit(code or DONE)


def _complain(sentence: object) -> None:
    click.echo(f"srdcr: {sentence}", err=True)


@click.group()
@click.version_option(package_name="srdcr-lab")
def cli() -> None:
    """When should a language model believe the passage it is given, and when its own memory?"""


def _study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `plan` and `run` share: what decides the numbers, and how the models are reached."""
    options = [
        click.option(
            "--model", default="pocket", show_default=True, help="pocket, hf:NAME_OR_PATH, openai:NAME, anthropic:NAME"
        ),
        click.option(
            "--items",
            default="facts",
            show_default=True,
            help="facts, facts:testbed, facts:grid, or a CSV, JSONL or Parquet file",
        ),
        click.option("--methods", default="few_shot,sr_dcr", show_default=True, help="comma-separated, or all"),
        click.option("--defender", help="model of this role; default: --model"),
        click.option("--critic", help="model of this role; default: --model"),
        click.option("--judge", help="model of this role; default: --model"),
        click.option("--preset", default="paper", show_default=True, help="paper or released"),
        click.option("--design", help="acvd, symmetric or released; default: the preset's"),
        click.option("--rounds", type=int, help="rounds of debate; default: the preset's (6)"),
        click.option("--tau", type=float, help="confidence threshold in [0, 1]; default: the preset's (0.9)"),
        click.option(
            "--confidence", help="auto, mean_logprob, sequence, mean_probability, self_consistency, verbalized"
        ),
        click.option(
            "--samples", type=int, help="knowledge draws per question, 0 for no categories; default: the preset's (32)"
        ),
        click.option("--limit", type=int, help="at most so many items, stratified and seeded"),
        click.option("--seed", default=0, show_default=True, type=int),
        click.option("--base-url", help="address of an OpenAI- or Anthropic-compatible server"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@_study_options
def plan(**options: Any) -> None:
    """Calls (alone, and shared), tokens and cost from–to, before anything is spent."""
    from srdcr_lab.study import Study

    with Study(**options) as study:
        table = study.plan().table
        click.echo(
            f"{len(study.items)} items of {study.items.name}; a call is one completion; tokens and costs are estimates"
        )
        click.echo(_text(table))


@cli.command()
@_study_options
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="results folder; an existing one is resumed"
)
@click.option("--concurrency", default=64, show_default=True, type=int, help="API requests in flight at once")
@click.option("--budget-usd", type=float, help="never spend more than this")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="file of the completions; default: store.sqlite in the results folder",
)
@click.option("--offline", is_flag=True, help="take every completion from the store, ask nothing")
def run(out: Path, **options: Any) -> int:
    """Run methods on items; write records, turns, samples, summary and run.json to the results folder."""
    from srdcr_lab.study import Study

    with Study(out=out, **options) as study:
        results = study.run()
        click.echo(_text(_final_table(results.summary)))
        for note in results.manifest["notes"]:
            click.echo(f"note: {note}")
        failed = results.manifest["counts"]["failed"]
        click.echo(
            f"results in {out}"
            + (f"; {failed} rows carry an error, see the column error of records.parquet" if failed else "")
        )
    return SOME_FAILED if failed else DONE


@cli.command()
@click.option("--model", help="as in srdcr run; default: what each notebook says")
@click.option("--items", help="as in srdcr run; default: what each notebook says")
@click.option("--limit", type=int, help="at most so many items")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/notebooks"), show_default=True)
def notebooks(out: Path, **options: Any) -> None:
    """Execute the sequence of notebooks with these parameters, into --out."""
    from srdcr_lab.study.notebooks import run_notebooks

    for path in run_notebooks(out, {name.upper(): value for name, value in options.items()}):
        click.echo(path.name)


@cli.group()
def store() -> None:
    """Look into a store, carry it elsewhere, check it."""


def _store_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("file", type=click.Path(path_type=Path))(command)


@store.command()
@_store_argument
def info(file: Path) -> None:
    """What the store holds, by model."""
    with _open(file) as opened:
        click.echo(f"{file}: {opened.count():,} completions of {opened.count('requests'):,} requests")
        for identity, completions, prompt, completion in opened.models():
            click.echo(
                f"  {identity}: {completions:,} completions, {prompt:,} prompt tokens, {completion:,} completion tokens"
            )


@store.command()
@_store_argument
@click.argument("target", type=click.Path(path_type=Path))
def export(file: Path, target: Path) -> None:
    """Write the store as sorted JSON lines: portable, comparable by diff, without keys or times."""
    from srdcr_lab.models import exchange

    with _open(file) as opened:
        click.echo(f"{exchange.export(opened, target):,} requests written to {target}")


@store.command()
@_store_argument
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge(file: Path, sources: tuple[Path, ...]) -> None:
    """Add other stores or exports to the store FILE; what it already holds stays."""
    from srdcr_lab.models import exchange

    with _open(file, create=True) as opened:
        try:
            for source in sources:
                click.echo(f"{exchange.merge(opened, source):,} completions added from {source}")
        except BadInput:
            opened.withdraw()
            raise


@store.command()
@_store_argument
def check(file: Path) -> int:
    """Look for damage: SQLite's own check, and requests whose key does not fit their text."""
    with _open(file) as opened:
        findings = opened.integrity()
        click.echo("\n".join(findings) or f"{file}: {opened.count():,} completions, no damage found")
    return BAD_INPUT if findings else DONE


def _open(file: Path, *, create: bool = False) -> Any:
    from contextlib import closing

    from srdcr_lab.models import Store

    if not create and not file.is_file():
        raise BadInput(f"there is no store {file}")
    return closing(Store(file))


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


def _text(table: Any) -> str:
    return str(table.to_string(index=False, float_format=lambda value: f"{value:,.4g}"))


if __name__ == "__main__":
    main()
