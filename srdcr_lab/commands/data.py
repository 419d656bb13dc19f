"""`srdcr data`: where questions come from, what is wrong with them, and passages that lie by known amounts."""

from __future__ import annotations

import click

from srdcr_lab.commands.data_sources import check, fetch, list_benchmarks
from srdcr_lab.commands.perturbing import perturb


@click.group()
def data() -> None:
    """Known benchmarks, and tables of your own."""


for command in (list_benchmarks, fetch, check, perturb):
    data.add_command(command)
