"""`srdcr data perturb`: make the passages of a table lie by known amounts, and show the account of it."""

from __future__ import annotations

import math
from pathlib import Path

import click

from srdcr_lab.commands.exits import DONE
from srdcr_lab.commands.tables import as_text
from srdcr_lab.records import BadInput


@click.command()
@click.argument("file")
@click.option("--out", type=click.Path(path_type=Path), help="items file to write: .csv, .jsonl or .parquet")
@click.option("--audit", type=click.Path(path_type=Path), help="account to write: .html or .csv")
@click.option("--seed", default=0, show_default=True, type=int, help="of the substitutions")
@click.option("--offsets", default="20,40,60,100,200", show_default=True, help="of years; each with both signs")
@click.option("--factors", default="0.1,0.2,0.4,0.8,1.2,1.5,2,3,5,10", show_default=True, help="of numbers")
@click.option("--pool", type=click.Path(path_type=Path), help="names or cities to substitute, one a line")
def perturb(
    file: str, out: Path | None, audit: Path | None, seed: int, offsets: str, factors: str, pool: Path | None
) -> int:
    """Make true passages lie by known amounts.

    Takes every standard item of FILE (or of a known set) under every perturbation of its kind. Prints how many forms
    were accepted, flagged and refused, and why. Flagged forms are written too; refused ones are not.
    """
    from srdcr_lab.data import perturbing
    from srdcr_lab.data.perturbing import files
    from srdcr_lab.data.perturbing.audit import by_outcome, by_reason

    for path, endings in ((out, files.ITEM_ENDINGS), (audit, files.AUDIT_ENDINGS)):
        if path is not None and files.checked_ending(path, endings).resolve() == Path(file).resolve():
            raise BadInput(f"{path} is the table itself; write to another file")
    items, refused = files.read_source(file)
    perturbed = perturbing.perturb(
        items,
        offsets=[_whole(size) for size in _numbers(offsets, "--offsets")],
        factors=_numbers(factors, "--factors"),
        pool=None if pool is None else _lines(pool),
        seed=seed,
        left_out=refused,
    )
    click.echo(f"{items.name}: {len(items) + len(refused)} rows; {perturbed.sentence()}")
    for note in items.notes:
        click.echo(f"note: {note}")
    for table in (by_outcome(perturbed), by_reason(perturbed)):
        if len(table):
            click.echo(f"\n{as_text(table)}")
    if out is not None:
        files.write_items(perturbed.items, out)
        click.echo(f"\nitems in {out}")
    if audit is not None:
        files.write_audit(perturbed, audit)
        click.echo(f"audit in {audit}")
    return DONE


def _numbers(text: str, option: str) -> list[float]:
    try:
        values = [float(piece) for piece in text.split(",") if piece.strip()]
    except ValueError:
        values = [math.nan]
    if not all(map(math.isfinite, values)):
        raise BadInput(f"{option} takes numbers with commas between them, not {text!r}")
    return values


def _whole(size: float) -> int:
    if size != int(size):
        raise BadInput(f"--offsets takes whole years, not {size:g}")
    return int(size)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}; a pool has one name or city a line") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
