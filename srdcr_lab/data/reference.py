"""The paper's printed Tables 1 and 2, to lay one's own numbers beside (`data/reference`, with its datasheet)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srdcr_lab.shipped import folder

if TYPE_CHECKING:
    import pandas as pd


def printed_tables(table: str | None = None) -> pd.DataFrame:
    """Every number of the two tables: `table`, `model`, `printed_method`, `method`, `column`, `percent`, `caution`.

    `accuracy` is `percent` / 100. `caution` says what to keep in mind about a number and is empty for most; some
    of SR-DCR's leave items out of the denominator.

    Parameters
    ----------
    table : "Table 1" or "Table 2" for one of them.

    Source: arXiv 2506.06020, section 4.
    """
    import pandas as pd

    printed = pd.read_csv(folder("reference") / "sr_dcr_tables.csv", keep_default_na=False)
    printed["accuracy"] = printed["percent"] / 100
    return printed if table is None else printed[printed["table"] == table].reset_index(drop=True)
