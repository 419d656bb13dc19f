"""The questions of the tasks beside this file, as `srdcr data export` wrote them."""

from pathlib import Path

import datasets


def options(**_metadata):
    """All questions with options as the split `test`: the public ones, then the held ones."""
    folder = Path(__file__).resolve().parents[1] / "options"
    files = [str(folder / f"{split}.parquet") for split in ("public", "held")]
    return datasets.load_dataset("parquet", data_files={"test": files})
