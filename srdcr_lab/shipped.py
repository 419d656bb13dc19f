"""Where the shipped facts and the pocket model lie: `data/` of a checkout, or inside the installed wheel."""

from __future__ import annotations

from pathlib import Path

from srdcr_lab.records import BadInput

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Path of the shipped folder ``name`` (``"facts"``, ``"pocket"``).

    Raises
    ------
    BadInput
        If this installation does not carry it.
    """
    for candidate in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / "data" / name):
        if candidate.is_dir():
            return candidate
    raise BadInput(f"this installation has no data/{name}; reinstall srdcr-lab, or work in a clone of its repository")
