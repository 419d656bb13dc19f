"""How a table is shown in a terminal."""

from __future__ import annotations

from typing import Any


def as_text(table: Any) -> str:
    """A DataFrame as aligned text, numbers with four digits, without its index."""
    return str(table.to_string(index=False, float_format=lambda value: f"{value:,.4g}"))
