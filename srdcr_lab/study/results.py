"""A finished run as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.measures import jeffreys_interval, redraw_stability, summary
from srdcr_lab.models.local.checkpoint import fingerprint, pocket_folder
from srdcr_lab.records import BadInput, Level, ModelIdentity, check_schema, label
from srdcr_lab.study.folder import read_manifest

_QUESTION_COLUMNS = ["question_id", "domain", "question", "gold_answer", "prior_answer", "prior_correct"]
_QUESTION_COLUMNS += ["self_confidence", "confidence_kind", "sampled_accuracy", "n_samples", "knowledge_category"]


@dataclass(frozen=True)
class Results:
    """The tables of one results folder, read when first asked for (columns: `srdcr_lab.records.tables`)."""

    folder: Path
    _keep: Any = field(default=None, repr=False, compare=False)  # a temporary folder lives as long as its results

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """run.json: versions, arguments, seeds, prompt hashes, model identities, counts."""
        if (manifest := read_manifest(self.folder)) is None:
            raise BadInput(f"{self.folder} holds no run (there is no run.json in it)")
        return manifest

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row per item × method."""
        return self._read("records")

    @cached_property
    def turns(self) -> pd.DataFrame:
        """Every utterance, with what its speaker saw."""
        return self._read("turns")

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Every answer drawn without a passage."""
        return self._read("samples")

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Table 1: see `srdcr_lab.measures.summary`."""
        return summary(self.records)

    @property
    def questions(self) -> pd.DataFrame:
        """One row per question with what the model knows and believes: prior answer, confidence, sampled accuracy.

        `accuracy_low` and `accuracy_high` are the sampled accuracy's Jeffreys interval, `redraw_stability` is the
        probability of the same category on a fresh set of draws.
        """
        by_level = self.records.sort_values("level", key=lambda level: level != Level.STANDARD, kind="stable")
        table = by_level.drop_duplicates("question_id")[_QUESTION_COLUMNS].reset_index(drop=True)
        n = table["n_samples"].fillna(0).astype(int)
        right = (table["sampled_accuracy"].fillna(0) * n).round().astype(int)
        table["accuracy_low"], table["accuracy_high"] = jeffreys_interval(right, n)
        table["redraw_stability"] = [redraw_stability(k, of) for k, of in zip(right, n, strict=True)]
        return table

    @property
    def label(self) -> str:
        """Who made these numbers, for figures and tables: the models, and that pocket is a model organism."""
        return label(str(identity) for identity in self._identities.values())

    @property
    def exposures(self) -> pd.DataFrame | None:
        """How often training told the pocket model each question of this run, how often truly
        (data/pocket/exposures.csv); None for any other model than the shipped one, and where it was told of none."""
        who = self._identities["answerer"]
        if who.provider != "pocket" or who.fingerprint != fingerprint(pocket_folder()):
            return None
        told = pd.read_csv(pocket_folder() / "exposures.csv")
        told = told[told["question_id"].isin(self.records["question_id"])]
        return told.reset_index(drop=True) if len(told) else None

    @property
    def _identities(self) -> dict[str, ModelIdentity]:
        return {role: ModelIdentity(**named) for role, named in self.manifest["asked"]["models"].items()}

    def n_rows(self, table: str) -> int:
        """Number of rows of a table, without reading it."""
        import pyarrow.parquet as pq

        return int(pq.read_metadata(self.folder / f"{table}.parquet").num_rows)

    def _read(self, table: str) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / f"{table}.parquet"
        if not path.is_file():
            raise BadInput(
                f"{self.folder} has no {table}.parquet; the run has not finished, run it again with the same arguments"
            )
        try:
            content = pq.read_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise BadInput(f"cannot read {path} ({error})") from None
        check_schema(table, content.schema, str(path))
        nullable = {pa.bool_(): pd.BooleanDtype(), pa.int64(): pd.Int64Dtype()}
        return content.to_pandas(types_mapper=nullable.get)


def load_run(folder: str | Path) -> Results:
    """The results in a folder that `srdcr run --out` wrote."""
    results = Results(Path(folder))
    results.manifest  # noqa: B018 (says at once if there is none)
    return results


def load_runs(*folders: str | Path | Sequence[str | Path]) -> pd.DataFrame:
    """The records of several runs in one table, with the column `run` (the folder's name)."""
    paths = [Path(path) for entry in folders for path in (entry if isinstance(entry, (list, tuple)) else [entry])]  # type: ignore[arg-type]
    return pd.concat([load_run(path).records.assign(run=path.name) for path in paths], ignore_index=True)
