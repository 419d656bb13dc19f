"""`srdcr data`: sources of questions, faults of a table, and false passages by known amounts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import srdcr_lab as lab
from srdcr_lab.commands import BAD_INPUT, DONE, SOURCE, Command, as_text, echo, note_all, open_store, refuse_overwriting
from srdcr_lab.records import AnswerType, BadInput
from srdcr_lab.records.files import to_write
from srdcr_lab.records.vocabulary import n_of

if TYPE_CHECKING:
    from srdcr_lab.data.load import Report

_SHOWN = 50  # findings of one check


@click.group()
def data() -> None:
    """Known benchmarks, and tables of your own."""


@data.command("list")
def list_benchmarks() -> None:
    """List the shipped facts and the known benchmarks.

    Each benchmark has its home, licence and columns, and whether it has been fetched.
    """
    from srdcr_lab.data import load
    from srdcr_lab.data.facts import version
    from srdcr_lab.records.files import folder, sha256_of

    number, date = version()
    echo(f"{', '.join(load.SHIPPED)}\n  shipped questions; see data/facts/DATASHEET.md; CC BY 4.0 (hops: MIT)")
    echo(f"  version  {number} of {date}\n  sha256   {sha256_of(folder('facts') / 'facts.csv')} (facts.csv)\n")
    for source in load.BENCHMARKS.values():
        here = load.benchmark_file(source)
        lines = {
            "home": source.home, "licence": source.licence, "rows": f"{source.rows:,}",
            "columns": load.described(source.columns), "sha256": source.sha256 or "none is published",
            "here": str(here) if here.is_file() else f"no: srdcr data fetch {source.name}, or {source.name}=FILE",
        }  # fmt: skip
        echo(f"{source.name}\n  {source.meaning}")
        echo("\n".join(f"  {label:8} {text}" for label, text in lines.items()) + "\n")


@data.command("fetch")
@click.argument("name")
def fetch_benchmark(name: str) -> None:
    """Download the benchmark NAME.

    Its SHA-256 is checked where one is published. It is kept in the folder SRDCR_DATA if set, otherwise in
    ~/.cache/srdcr_lab.
    """
    from srdcr_lab.data import load

    source = load.benchmark(name)
    echo(f"from {source.url}\nlicence {source.licence}; see {source.home}")
    echo(load.download(source)[1])


@data.command("check", cls=Command)
@click.argument("source", type=SOURCE)
def check_items(source: str, strict: bool) -> int:
    """Report everything that is wrong with a table.

    SOURCE is what --items takes: a table, a known set, a benchmark (NAME or NAME=FILE). The exit code is 2 if anything
    is found.
    """
    from srdcr_lab.data.load import check_source

    return tell(check_source(source, strict=strict))


def tell(report: Report) -> int:
    """Print a report: its counts, how often each check was made, its notes and findings; return the exit code."""
    echo_counts("domain, level", [(item.domain, item.level) for item in report.items])
    echo_counts("domain, answer type", [(item.domain, item.answer_type) for item in report.items])
    echo(f"\n{report.name}: checked, found")
    for name, n in report.checked.items():
        echo(f"  {name:30} {n:6,} {len(report.findings.get(name, ())):6,}")
    note_all(report.notes)
    for name, findings in report.findings.items():
        for finding in findings[:_SHOWN]:
            echo(f"{name}: {finding}")
        if len(findings) > _SHOWN:
            echo(f"{name}: and {len(findings) - _SHOWN} more")
    see = "; the notes above say what may be misread" if report.notes else ""
    echo(n_of(len(report.sentences()), "findings") if report.findings else f"nothing was found{see}")
    return BAD_INPUT if report.findings else DONE


def echo_counts(heading: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print how often each pair of labels occurs, with sums."""
    import pandas as pd

    if pairs:
        table = pd.Series(Counter(pairs)).unstack(fill_value=0, sort=False)
        table["all"] = table.sum(axis=1)
        table = pd.concat([table, table.sum().to_frame("all").T])
        echo(f"\n{heading}\n{table.map('{:,}'.format).to_string()}")


@data.command("perturb", cls=Command)
@click.argument("file", type=SOURCE)
def perturb_items(
    file: str, out: Path | None, audit: Path | None, seed: int, offsets: str, factors: str | None, pool: Path | None,
    unflagged: bool, rewrite: str | None, store: Path | None, budget_usd: float | None, **asking: Any,
) -> int:  # fmt: skip
    """Make true passages false by known amounts.

    Every true passage of FILE (or of a known set) gets every false version of its kind. The command prints how many
    versions were accepted, flagged and refused, and why. Flagged ones are written too, with the reasons in the column
    flags, unless --unflagged leaves them out; refused ones are not. With --rewrite each item has one false version,
    which the model writes with supporting details; it is checked and counted too.

    For persons and cities, the columns gender (f, m), role, era, country and near (names that are nearly the answer)
    say what a substitute has to fit; otherwise it is inferred from question and passage. For numbers and years,
    at_least and at_most limit what is possible; a claim beyond them gets the level absurd.
    """
    from srdcr_lab.data import load, perturbing

    for path, endings in ((out, load.ITEM_ENDINGS), (audit, perturbing.AUDIT_ENDINGS)):
        if path is not None:
            to_write(path, endings)
    refuse_overwriting((out, audit), (file, pool, store))
    items, refused = load.read_source(file)
    perturbed = perturbing.perturb(
        items, offsets=[int(size) for size in _numbers(offsets, "--offsets", "whole years")],
        factors=_numbers(factors, "--factors", "numbers") if factors else None,
        pool=None if pool is None else _pool(pool), seed=seed, left_out=refused,
    )  # fmt: skip
    if rewrite is None and (store or budget_usd is not None or any(asking.values())):
        raise BadInput("--store, --budget-usd and how a model is asked are for --rewrite MODEL; leave them out")
    if rewrite is not None:
        kept = store or (out and out.with_suffix(".sqlite"))
        if kept is None:
            raise BadInput("the passages of --rewrite are paid for; say with --out or --store where they are kept")
        perturbed = _rewrite(rewrite, perturbed, seed, kept, lab.Asking(budget_usd=budget_usd, offline=False, **asking))
    echo(f"{items.name}: {n_of(len(items) + len(refused), 'rows')}; {perturbed.sentence()}")
    note_all(perturbed.items.notes)
    reasons = "Why (a form may have several reasons, and is then counted with each)\n"
    for heading, table in (("", perturbing.by_outcome(perturbed)), (reasons, perturbing.by_reason(perturbed))):
        if len(table):
            echo(f"\n{heading}{as_text(table)}")
    if not perturbed.forms:
        why = f": {perturbed.left_out[0].why}" if perturbed.left_out else ""
        raise BadInput(f"{items.name}: no row can be perturbed, so nothing was written{why}")
    if out is not None:
        load.write_items(perturbed.items.unflagged() if unflagged else perturbed.items, out)
        echo(f"\nitems in {out}")
    if audit is not None:
        perturbing.write_audit(perturbed, audit)
        echo(f"audit in {audit}")
    if out is None and audit is None:
        echo("\nnothing was written: add --out FILE.csv for the items, --audit FILE.html for every change and reason")
    return DONE


def _rewrite(spec: str, perturbed: lab.Perturbed, seed: int, store: Path, asking: lab.Asking) -> lab.Perturbed:
    """The items with passages that the model writes; its completions go through a store and a budget, as in a run."""
    from srdcr_lab.models.spending import Budget, StoredModel, price_of
    from srdcr_lab.study.run import rewrite, wait_for

    opened = asking.opened(spec).answerer
    with open_store(store, create=True) as kept:
        budget, run = Budget(asking.budget_usd), f"rewrite {perturbed.items.sha256} {spec} {seed}"
        budget.spent_usd, budget.on_spent = kept.spent(run), partial(kept.note_spent, run)
        model = StoredModel(opened, kept, price=price_of(opened.identity), budget=budget)
        try:
            return wait_for(rewrite(model, perturbed, seed))
        finally:
            wait_for(model.landed())  # what is in flight is paid for
            wait_for(model.aclose())


def _numbers(text: str, option: str, what: str) -> list[float]:
    try:
        values = [float(piece) for piece in text.split(",") if piece.strip()]
    except ValueError:
        values = [math.nan]
    if not all(math.isfinite(value) and (what == "numbers" or value == int(value)) for value in values):
        raise BadInput(f"{option} takes {what} with commas between them, not {text!r}")
    return values


def _pool(path: Path) -> list[str] | dict[AnswerType, list[str]]:
    """The answers in a file, by type if it is a table, such as one of questions."""
    from srdcr_lab.data.rows import read_table, rows_of
    from srdcr_lab.data.tables import check_columns

    if path.suffix.lower() == ".csv":
        columns = ("gold_answer", "answer_type")
        check_columns(frame := read_table(path, columns), columns, str(path), "a pool as a table names types too")
        pool: dict[AnswerType, list[str]] = {}
        for row in rows_of(frame, path.name):
            pool.setdefault(AnswerType(row.one_of("answer_type", AnswerType)), []).append(row.filled("gold_answer"))
        return pool
    try:
        return path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}; a pool has one name or city per line") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
