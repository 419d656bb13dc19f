"""`srdcr data list`, `fetch` and `check`: which benchmarks are known, bring one here, look over a table or facts."""

from __future__ import annotations

from collections import Counter

import click

from srdcr_lab.commands.exits import BAD_INPUT, DONE

_SHOWN = 50  # findings of one check


@click.command("list")
def list_benchmarks() -> None:
    """The shipped facts and the known benchmarks.

    Of each benchmark: home, licence, columns, and whether it is here.
    """
    from srdcr_lab.data.benchmarks import BENCHMARKS, fetching
    from srdcr_lab.data.load import SHIPPED

    click.echo(", ".join(SHIPPED) + "\n  shipped questions; see data/facts/DATASHEET.md; CC BY 4.0\n")
    for source in BENCHMARKS.values():
        here = fetching.place(source)
        known = "published" if source.sha256 else "recorded" if fetching.known_checksum(source) else ""
        lines = {
            "home": source.home,
            "licence": source.licence,
            "rows": f"{source.rows:,}",
            "columns": ", ".join(column.replace("|", " or ") for column in source.columns),
            "sha256": f"{fetching.known_checksum(source)} ({known})" if known else "recorded at the first fetch",
            "here": str(here) if here.is_file() else f"no: srdcr data fetch {source.name}, or {source.name}=FILE",
        }
        click.echo(f"{source.name}\n  {source.meaning}")
        click.echo("\n".join(f"  {label:8} {text}" for label, text in lines.items()) + "\n")


@click.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Download the benchmark NAME and check its sha256.

    It is kept in the folder SRDCR_DATA, else in ~/.cache/srdcr_lab.
    """
    from srdcr_lab.data.benchmarks import benchmark, fetching

    source = benchmark(name)
    click.echo(f"from {source.url}\nlicence {source.licence}; see {source.home}")
    click.echo(fetching.fetch(source)[1])


@click.command()
@click.argument("source")
def check(source: str) -> int:
    """Say all that is wrong with a table.

    SOURCE is a table of items, a folder of facts, or a benchmark (NAME or NAME=FILE). Exit code 2 where something is
    found.
    """
    from srdcr_lab.data.checks import check_source

    report = check_source(source)
    for heading, counts in report.counts:
        _echo_counts(heading, counts)
    click.echo(f"\n{report.name}: checked, found")
    for name, n in report.checked.items():
        click.echo(f"  {name:30} {n:6,} {report.found(name):6,}")
    for note in report.notes:
        click.echo(f"note: {note}")
    for name in report.checked:
        findings = [finding for finding in report.findings if finding.check == name]
        for finding in findings[:_SHOWN]:
            click.echo(f"{name}: {finding}")
        if len(findings) > _SHOWN:
            click.echo(f"{name}: and {len(findings) - _SHOWN} more")
    click.echo(f"{len(report.findings)} findings" if report.findings else "nothing was found")
    return BAD_INPUT if report.findings else DONE


def _echo_counts(heading: str, counts: Counter[tuple[str, ...]]) -> None:
    """Counts by one or two labels; two make a table with sums."""
    click.echo(f"\n{heading}")
    columns = list(dict.fromkeys(key[1] for key in counts if len(key) > 1))
    if not columns:
        for key, n in counts.items():
            click.echo(f"  {key[0]:12} {n:6,}")
        return
    click.echo(f"  {'':12} " + "".join(f"{column:>10}" for column in [*columns, "all"]))
    for label in dict.fromkeys(key[0] for key in counts):
        row = [counts[label, column] for column in columns]
        click.echo(f"  {label:12} " + "".join(f"{n:10,}" for n in [*row, sum(row)]))
    sums = [sum(n for key, n in counts.items() if key[1] == column) for column in columns]
    click.echo(f"  {'all':12} " + "".join(f"{n:10,}" for n in [*sums, sum(sums)]))
