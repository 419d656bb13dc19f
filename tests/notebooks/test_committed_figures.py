"""The tables of the committed figures."""

from pathlib import Path

import pandas as pd
import pytest

FIGURES = Path(__file__).parents[2] / "figures"
# What low and high are of, the first of these columns that a figure's table has.
POINTS_DRAWN = ("value", "share", "frequency", "precision", "spearman", "flipped", "utility", "difference", "risk")


@pytest.mark.parametrize("path", sorted(FIGURES.glob("*.csv")), ids=lambda path: path.stem)
def test_every_interval_of_a_figure_is_of_the_point_beside_it(path: Path) -> None:
    table = pd.read_csv(path)
    ends = [(name, f"{name}_low", f"{name}_high") for name in table if f"{name}_low" in table]
    if "low" in table and "mark" not in table:  # Tables 1 and 2 have one interval for two accuracies
        ends.append((next(name for name in POINTS_DRAWN if name in table), "low", "high"))
    for name, low, high in ends:
        rows = table.dropna(subset=[name, low, high])
        assert (rows[low] <= rows[name] + 1e-9).all(), name
        assert (rows[name] <= rows[high] + 1e-9).all(), name
