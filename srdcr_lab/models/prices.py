"""What a token costs: the user's own table first, then the package genai-prices, else unknown."""

from __future__ import annotations

import csv
import math
import os
from dataclasses import dataclass
from pathlib import Path

from srdcr_lab.records import BadInput, ModelIdentity

PRICES_VARIABLE = "SRDCR_PRICES"
_COLUMNS = ("model", "input_usd_per_million", "output_usd_per_million")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token, and where the figure comes from."""

    input_usd: float
    output_usd: float
    source: str

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return prompt_tokens * self.input_usd + completion_tokens * self.output_usd


FREE = Price(0.0, 0.0, "local model")


def price_of(model: ModelIdentity, table: str | Path | None = None) -> Price | None:
    """The price of a model's tokens, or None where nobody knows it.

    Parameters
    ----------
    table : CSV with the columns ``model`` (as in ``--model``), ``input_usd_per_million`` and
        ``output_usd_per_million``; default: the file that the environment variable SRDCR_PRICES names. It goes before
        the package's prices.
    """
    table = table or os.environ.get(PRICES_VARIABLE)
    if table and (own := _read(Path(table)).get(str(model))):
        return own
    if model.provider in ("pocket", "hf"):
        return FREE
    return _package_price(model)


def _package_price(model: ModelIdentity) -> Price | None:
    from importlib.metadata import version

    from genai_prices import Usage, calc_price

    def cost(usage: Usage) -> float:
        return float(calc_price(usage, model_ref=model.name, provider_id=model.provider).total_price)

    try:
        # Priced at one token, where prices that rise with the length of the prompt are at their base.
        prompt, completion = cost(Usage(input_tokens=1, output_tokens=0)), cost(Usage(input_tokens=0, output_tokens=1))
    except LookupError:
        return None
    return Price(prompt, completion, f"genai-prices {version('genai-prices')}")


def _read(path: Path) -> dict[str, Price]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the price table {path} ({error})") from None
    if rows and (absent := [column for column in _COLUMNS if column not in rows[0]]):
        raise BadInput(f"{path}: the price table lacks the column {absent[0]}; it needs {', '.join(_COLUMNS)}")
    prices = {}
    for number, row in enumerate(rows, start=1):
        try:
            values = [float(row[column]) / 1e6 for column in _COLUMNS[1:]]
        except (TypeError, ValueError):
            values = [math.nan]
        if not all(0 <= value < math.inf for value in values):
            raise BadInput(f"{path}, row {number}: prices are US dollars per million tokens, 0 or more")
        prices[row["model"]] = Price(values[0], values[1], path.name)
    return prices
