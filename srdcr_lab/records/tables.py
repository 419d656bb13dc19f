"""The columns of every table of results: names, types and meanings (`tables.csv`), and the version of the files."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from srdcr_lab.records.files import rows_beside
from srdcr_lab.records.vocabulary import BadInput, did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SCHEMA_VERSION = 2


class Column(NamedTuple):
    """Name, Arrow type and meaning of a column."""

    name: str
    type: str
    meaning: str


COLUMNS_OF = {  # of every table of `Results`, whose rows stand together
    table: tuple(Column(row["column"], row["type"], row["meaning"]) for row in rows)
    for table, rows in groupby(rows_beside(__file__, "tables.csv"), lambda row: row["table"])
}
TABLES = {name: COLUMNS_OF[name] for name in ("records", "turns", "samples")}  # that are files
RECORDS, TURNS, SAMPLES = TABLES["records"], TABLES["turns"], TABLES["samples"]


def columns(table: str = "records") -> pd.DataFrame:
    """What each column of a table means.

    Parameters
    ----------
    table : str, default "records"
        A table of `Results`: records, turns, samples, summary or questions.

    Returns
    -------
    DataFrame
        One row per column, indexed by its name: its `type` and its `meaning`.

    Raises
    ------
    BadInput
        There is no table of this name.

    Examples
    --------
    >>> columns("summary").loc["coverage", "meaning"]
    'n_answered / n'
    """
    import pandas as pd

    if not isinstance(table, str) or table not in COLUMNS_OF:
        near = did_you_mean(str(table), COLUMNS_OF)
        raise BadInput(f"{table!r} is not a table{near}; name one of {', '.join(COLUMNS_OF)}")

    class Columns(pd.DataFrame):  # type: ignore[misc]
        def _repr_html_(self) -> str:
            with pd.option_context("display.max_colwidth", None):  # pandas would cut the meanings
                return str(self.to_html())

        def __repr__(self) -> str:
            return "\n".join(" ".join(f"{cell!s:23}" for cell in row).rstrip() for row in self.itertuples())

    return Columns(pd.DataFrame(COLUMNS_OF[table]).set_index("name").rename_axis("column"))


def arrow_schema(table: str) -> pa.Schema:
    """The Arrow schema of a table. Its metadata hold the schema version and the meaning of each column."""
    import pyarrow as pa

    types = {"string": pa.string(), "double": pa.float64(), "int64": pa.int64(), "bool": pa.bool_()}
    types |= {f"list<{name}>": pa.list_(kind) for name, kind in list(types.items())}
    fields = [pa.field(c.name, types[c.type], metadata={"meaning": c.meaning}) for c in TABLES[table]]
    return pa.schema(fields, metadata={"srdcr_table": table, "srdcr_schema_version": str(SCHEMA_VERSION)})


def check_schema(table: str, schema: pa.Schema, where: str) -> None:
    """Raise `BadInput` unless a file has the schema of this version; `where` names the file."""
    metadata = schema.metadata or {}
    version = metadata.get(b"srdcr_schema_version", b"none").decode()
    if metadata.get(b"srdcr_table", b"").decode() != table or version != str(SCHEMA_VERSION):
        expected = f"a {table} table of schema version {SCHEMA_VERSION}"
        raise BadInput(f"{where} is not {expected} (found {version}); run the study again")
    if not schema.equals(arrow_schema(table)):
        raise BadInput(f"{where}: its columns show that it was changed or written by another version; run it again")
