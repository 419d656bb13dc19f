"""`srdcr data`: make passages lie by known amounts."""

from __future__ import annotations

import click

from srdcr_lab.commands.perturbing import perturb


@click.group()
def data() -> None:
    """Questions and passages: perturb a table of your own."""


data.add_command(perturb)
