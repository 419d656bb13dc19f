"""The tables of the committed figures."""

from pathlib import Path

import pandas as pd
import pytest

TABLES = {path.stem: pd.read_csv(path) for path in sorted((Path(__file__).parents[2] / "figures").glob("*.csv"))}
# What low and high are of, the first of these columns that a table has; Table 1 of the paper has an accuracy.
POINTS_DRAWN = ("value", "share", "frequency", "precision", "spearman", "flipped", "utility", "difference", "risk")
POINTS_DRAWN += ("accuracy",)


def bounded(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Columns with an interval in some row, each with its two ends."""
    ends = [(name, f"{name}_low", f"{name}_high") for name in table if f"{name}_low" in table]
    ends += [(next(name for name in POINTS_DRAWN if name in table), "low", "high")] if "low" in table else []
    return [columns for columns in ends if len(table.dropna(subset=columns))]


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if bounded(table)])
def test_every_interval_of_a_figure_is_of_the_point_beside_it(name: str) -> None:
    for point, low, high in bounded(TABLES[name]):
        rows = TABLES[name].dropna(subset=[point, low, high])
        assert (rows[low] <= rows[point] + 1e-9).all(), point
        assert (rows[point] <= rows[high] + 1e-9).all(), point
