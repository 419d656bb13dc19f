"""Make the Parquet files in data/elsewhere from checkouts of the repositories that released the results.

    git clone https://github.com/Linwei94/LLM-Calibration-Study && git -C LLM-Calibration-Study checkout ddc349e
    python tools/elsewhere.py LLM-Calibration-Study [--out data/elsewhere]
    git clone https://github.com/alebondarenko/llm-robustness && git -C llm-robustness checkout 25700c1
    python tools/elsewhere.py llm-robustness --name biomedical [--out data/elsewhere]

OUT/models.csv and OUT/biomedical.csv name the files that are read, with the SHA-256 of each. A file that differs, that
has another order of questions, or that lacks a column stops the program with a sentence. No text of a question, a
passage or a reply is kept.
"""

from __future__ import annotations

import json
import string
import zipfile
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from srdcr_lab.records.files import sha256_of

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "elsewhere"
COLUMNS = {"verbal_numerical_confidence": "stated_confidence", "logit_perplexity_confidence": "token_probability"}
NEEDED = ["category", "correct_answer", "extracted_answer", *COLUMNS, "token_length"]
NOT_PROBABILITIES = ("DeepSeek Chat",)  # whose token probabilities are above 0.99 for every question


def table(source: Path, models: pd.DataFrame) -> pd.DataFrame:
    """A row per model and question.

    `question` is its number in the source; `answered`, whether an option was read in the reply; `right`, whether it is
    the correct one, False without an answer; the two confidences as released, missing outside [0, 1]; `tokens` of the
    reply, as the source counted them.
    """
    parts = []
    order: pd.DataFrame | None = None
    for model in models.itertuples():
        path = _checked(source / "results" / str(model.file), str(model.sha256), "models.csv")
        replies = pd.read_csv(path)
        if lacking := [name for name in NEEDED if name not in replies]:
            raise click.ClickException(f"{path} has no column {lacking[0]}; its columns are {', '.join(replies)}")
        questions = replies[["category", "correct_answer"]]
        order = questions if order is None else order
        if not questions.equals(order):
            raise click.ClickException(f"{path} has other questions, or another order, than {models['file'].iloc[0]}")
        parts.append(_of_one(replies, str(model.model)))
    return pd.concat(parts, ignore_index=True)


def _checked(path: Path, sha256: str, listed: str) -> Path:
    if not path.is_file():
        raise click.ClickException(f"{path} is missing; check out the commit that README.md names")
    if sha256_of(path) != sha256:
        raise click.ClickException(f"{path} is not the file of {listed}; check out the commit that README.md names")
    return path


def _of_one(replies: pd.DataFrame, model: str) -> pd.DataFrame:
    rows = pd.DataFrame({"model": model, "question": replies.index.astype("int16"), "category": replies["category"]})
    rows["answered"] = replies["extracted_answer"].notna()
    rows["right"] = replies["extracted_answer"] == replies["correct_answer"]
    for released, name in COLUMNS.items():
        confidence = replies[released].astype(float)
        rows[name] = confidence.where(confidence.between(0, 1))
    if model in NOT_PROBABILITIES:
        rows["token_probability"] = float("nan")
    return rows.assign(tokens=replies["token_length"].astype("int32"))


def biomedical(source: Path, files: pd.DataFrame) -> pd.DataFrame:
    """A row per model, question and writer of the false passage.

    `id` is BioASQ's; `kind`, binary or free; `from_memory`, `with_true` and `with_false`, whether the reply was right
    without a passage, with the question's own passages, and with the false one: for binary questions if it equals the
    answer, for free ones by the source's grade. The first two are of the model's own file, missing where that lacks
    the question.
    """
    read = {}
    for row in files.itertuples():
        path = _checked(source / "data" / "results" / str(row.file), str(row.sha256), "biomedical.csv")
        with zipfile.ZipFile(path) as packed:
            lines = packed.read(packed.namelist()[0]).decode().splitlines()
        read[row.kind, row.writer, row.model] = [json.loads(line) for line in lines]
    owns = [replies for (_, writer, model), replies in read.items() if writer == model]
    truth = {reply["id"]: reply["true_answer"] for replies in owns for reply in replies}
    parts = []
    for (kind, writer, model), replies in read.items():
        own = {reply["id"]: reply for reply in read[kind, model, model]}
        for reply in replies:
            mine = own.get(reply["id"], {})
            parts.append({
                "model": model, "writer": writer, "kind": kind, "id": reply["id"],
                "from_memory": _right(mine, "vanilla", kind), "with_true": _right(mine, "predicted", kind),
                "with_false": _right(reply | {"true_answer": truth.get(reply["id"])}, "adversarial", kind),
            })  # fmt: skip
    table = pd.DataFrame(parts)
    return table.astype(dict.fromkeys(["from_memory", "with_true", "with_false"], "boolean"))


def _right(reply: dict[str, Any], name: str, kind: str) -> bool | None:
    if kind == "free":
        return {"yes": True, "no": False}.get(_word(reply.get(f"{name}_correct")))
    told, truth = reply.get(f"{name}_answer"), reply.get("true_answer")
    return None if told is None or truth is None else _word(told) == _word(truth)


def _word(text: str | None) -> str:
    """As the source compares: without punctuation, in small letters."""
    return (text or "").translate(str.maketrans("", "", string.punctuation)).lower().strip()


def write(rows: pd.DataFrame, path: Path) -> None:
    """As Parquet; words and stated confidences, of which there are few, by dictionary."""
    repeated = ["model", "category", "stated_confidence", "tokens"]
    encodings = {"question": "DELTA_BINARY_PACKED", "token_probability": "BYTE_STREAM_SPLIT"}
    content = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(content, path, compression="zstd", compression_level=19, use_dictionary=repeated,
                   column_encoding=encodings)  # fmt: skip


@click.command(help=__doc__.partition("\n")[0])
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", default="mmlu_pro", type=click.Choice(["mmlu_pro", "biomedical"]))
@click.option("--out", default=SHIPPED, type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(source: Path, name: str, out: Path) -> None:
    target = out / f"{name}.parquet"
    if name == "biomedical":
        rows = biomedical(source, pd.read_csv(out / "biomedical.csv"))
        rows.to_parquet(target, compression="zstd", index=False)
    else:
        rows = table(source, pd.read_csv(out / "models.csv"))
        write(rows, target)
    click.echo(f"{target}: {len(rows):,} replies of {rows['model'].nunique()} models, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
