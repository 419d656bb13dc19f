"""The facts as a release: Parquet files, a dataset card, a Croissant file, tasks for lm-evaluation-harness.

    python tools/release_facts.py DIR       a new folder; or the croissant.json, testbed.parquet or grid.parquet
                                            beside facts.csv, which is written anew

What card and Croissant file say of the data is read from DATASHEET.md, the version too. Their formats:
huggingface.co/docs/hub/datasets-manual-configuration, docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from srdcr_lab import cli
from srdcr_lab.commands import PATH, echo
from srdcr_lab.data import facts
from srdcr_lab.data.items import ItemSet, grouped
from srdcr_lab.data.load import load_items, write_items
from srdcr_lab.data.rows import read_table
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import folder, sha256_of, write_whole
from srdcr_lab.records.vocabulary import n_of

if TYPE_CHECKING:
    import pandas as pd

CROISSANT, CARD = "croissant.json", "README.md"
FROZEN: dict[str, Callable[[], ItemSet]] = {"testbed.parquet": facts.drawn_testbed, "grid.parquet": facts.drawn_grid}
_CONFIG = {"facts": "questions"}  # what a table is called where that is not the name of its file
_TYPES = {"f": "Float", "i": "Integer"}  # of numpy and of Croissant; any other is text
_FORMATS = {".csv": "text/csv", ".parquet": "application/x-parquet"}  # the latter as mlcroissant knows it


def export(target: Path) -> list[str]:
    """Write the release into a new folder, whole or not at all; lines on what was written.

    A target named croissant.json is written anew as the description of the CSV files beside it, one named
    testbed.parquet or grid.parquet as that set of the default seed and offsets: data/facts ships all three.
    """
    target = target.resolve()  # also of "."
    if not target.parent.is_dir():
        raise BadInput(f"{target}: there is no folder {target.parent}; make it first")
    if target.name == CROISSANT:
        tables = sorted(target.parent.glob("*.csv"))
        if not any(path.name == "facts.csv" for path in tables):
            raise BadInput(f"{target}: there is no facts.csv beside it; name {CROISSANT} in the folder of the facts")
        write_whole(target, _croissant([_described(path, target.parent) for path in tables]))
        return [f"{target}: {n_of(len(tables), 'files')} described"]
    if draw := FROZEN.get(target.name):
        write_items(items := draw(), target)
        return [f"{target}: {n_of(len(items), 'items')}"]
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        what = "a folder that holds something" if target.is_dir() else "a file"
        raise BadInput(f"{target} is {what}; name a new folder")
    with TemporaryDirectory(dir=target.parent, prefix=".export-") as place:
        part = Path(place) / "whole"
        shutil.copytree(folder("facts") / "release", part, ignore=shutil.ignore_patterns("*.j2", "__pycache__"))
        shutil.copy(folder("facts") / "LICENSE", part)
        _write_tables(part)
        files = [_described(path, part) for path in sorted(part.glob("*/*.parquet"))]
        files.sort(key=lambda file: (file["config"] != "questions", file["config"], file["split"] == "held"))
        write_whole(part / CROISSANT, _croissant(files))
        for name in (CARD, "lm_eval/utils.py"):  # as a file of Python in data/ it could not be installed in place
            write_whole(part / name, _rendered(name, files) + "\n")
        part.replace(target)
    counts = [f"{file['config']}/{file['split']}: {n_of(file['rows'], 'rows')}" for file in files]
    return [*counts, f"version {facts.version()[0]} in {target}; {CARD} is its card, {CROISSANT} has the checksums"]


def _write_tables(part: Path) -> None:
    """CONFIG/SPLIT.parquet of every shipped table and of the sets of items made of them."""
    import pandas as pd

    whole = read_table(folder("facts") / "facts.csv")
    splits = dict(zip(whole["question_id"], whole["split"], strict=True))
    told = whole[["question_id", "domain", "question", "gold_answer", "aliases", "answer_type", "unit", "accepted"]]
    for path in sorted(folder("facts").glob("*.csv")):
        table = read_table(path, ("question_id",))
        if path.stem in ("second", "rewrites"):
            kind = "none" if path.stem == "second" else "rewrite"
            table = told.merge(table, on="question_id", validate="one_to_many").assign(perturbation_kind=kind)
        for column in table.columns.intersection(["popularity", "at_least", "at_most"]):
            table[column] = pd.to_numeric(table[column])
        _write_split(table, splits, part / _CONFIG.get(path.stem, path.stem))
    _write_split(_options(), splits, part / "options")
    for name in ("testbed", "pairs", "grid"):
        (part / name).mkdir()
        for split in facts.SPLITS:
            with suppress(BadInput):  # the testbed has none of some splits
                write_items(facts.of_split(load_items(f"facts:{name}"), split), part / name / f"{split}.parquet")


def _write_split(table: pd.DataFrame, splits: Mapping[str, str], config: Path) -> None:
    """A table as a file for each split of its questions; rows of exemplars and dropped questions are `train`."""
    config.mkdir()
    named = table["question_id"].map(splits).fillna("train")
    for split, rows in table.groupby(named):
        rows.to_parquet(config / f"{split}.parquet", index=False)


def _options() -> pd.DataFrame:
    table = load_items("facts:options").frame()[["question_id", "domain", "question", "gold_answer", "options"]]
    table["options"] = [[option.text for option in offered] for offered in table["options"]]
    return table.assign(answer=table["gold_answer"].map("ABCD".index))


def _described(path: Path, root: Path) -> dict[str, Any]:
    """What card and Croissant file say of a file: its place, checksum, rows and columns."""
    table, parts = read_table(path, ("question_id",)), path.relative_to(root).with_suffix("").parts
    config = _CONFIG.get(parts[0], parts[0])
    columns = [
        {"name": name, "type": _TYPES.get(cells.dtype.kind, "Text"), "is_list": np.ndim(next(iter(cells), "")) > 0}
        for name, cells in table.items()
    ]
    return {
        "path": path.relative_to(root).as_posix(), "format": _FORMATS[path.suffix], "sha256": sha256_of(path),
        "size": path.stat().st_size, "config": config, "split": parts[-1], "name": "-".join((config, *parts[1:])),
        "rows": len(table), "columns": columns,
    }  # fmt: skip


def _croissant(files: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(json.loads(_rendered(CROISSANT, files)), indent=1, ensure_ascii=False) + "\n"


def datasheet() -> dict[str, str]:
    """The text of each section of DATASHEET.md, by heading."""
    pieces = re.split(r"^## (.+)\n", (folder("facts") / "DATASHEET.md").read_text("utf-8"), flags=re.MULTILINE)
    return {heading: body.strip() for heading, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def _rendered(name: str, files: Sequence[Mapping[str, Any]]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # noqa: S701 (Markdown and JSON, not HTML)
        loader=FileSystemLoader(folder("facts") / "release"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    number, date = facts.version()
    configs = grouped(files, lambda file: file["config"])
    template = environment.get_template(f"{name}.j2")
    return template.render(files=files, configs=configs, sections=datasheet(), version=number, date=date)


@click.command("release-facts")
@click.argument("target", metavar="DIR", type=PATH)
def release_facts(target: Path) -> None:
    """Write the shipped facts into the new folder DIR, as a release."""
    for line in export(target):
        echo(line)


if __name__ == "__main__":
    cli.cli.add_command(release_facts)
    cli.main(["release-facts", *sys.argv[1:]])
