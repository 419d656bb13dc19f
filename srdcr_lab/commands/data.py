"""`srdcr data`: make passages lie by known amounts."""

from __future__ import annotations

import click


@click.group()
def data() -> None:
    """Questions and passages: perturb a table of your own."""
