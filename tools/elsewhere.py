"""Make data/elsewhere/mmlu_pro.parquet from a checkout of LLM-Calibration-Study.

    git clone https://github.com/Linwei94/LLM-Calibration-Study && git -C LLM-Calibration-Study checkout ddc349e
    python tools/elsewhere.py LLM-Calibration-Study [--out data/elsewhere]

OUT/models.csv names the files that are read, with the SHA-256 of each. A file that differs, that has another order of
questions, or that lacks a column stops the program with a sentence. No text of a question is in the source.
"""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from srdcr_lab.records.files import sha256_of

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "elsewhere"
COLUMNS = {
    "verbal_numerical_confidence": "stated_confidence",
    "logit_perplexity_confidence": "token_probability",
}
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
        path = source / "results" / str(model.file)
        if not path.is_file():
            raise click.ClickException(f"{path} is missing; check out the commit that README.md names")
        if sha256_of(path) != model.sha256:
            raise click.ClickException(
                f"{path} is not the file of models.csv; check out the commit that README.md names"
            )
        replies = pd.read_csv(path)
        if lacking := [name for name in NEEDED if name not in replies]:
            raise click.ClickException(f"{path} has no column {lacking[0]}; its columns are {', '.join(replies)}")
        questions = replies[["category", "correct_answer"]]
        order = questions if order is None else order
        if not questions.equals(order):
            raise click.ClickException(f"{path} has other questions, or another order, than {models['file'].iloc[0]}")
        parts.append(_of_one(replies, str(model.model)))
    return pd.concat(parts, ignore_index=True)


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


def write(rows: pd.DataFrame, path: Path) -> None:
    """As Parquet; words and stated confidences, of which there are few, by dictionary."""
    repeated = ["model", "category", "stated_confidence", "tokens"]
    encodings = {"question": "DELTA_BINARY_PACKED", "token_probability": "BYTE_STREAM_SPLIT"}
    content = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(content, path, compression="zstd", compression_level=19, use_dictionary=repeated,
                   column_encoding=encodings)  # fmt: skip


@click.command(help=__doc__.partition("\n")[0])
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", default=SHIPPED, type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(source: Path, out: Path) -> None:
    rows = table(source, pd.read_csv(out / "models.csv"))
    target = out / "mmlu_pro.parquet"
    write(rows, target)
    click.echo(f"{target}: {len(rows):,} replies of {rows['model'].nunique()} models, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
