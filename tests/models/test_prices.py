"""What a token costs, and who says so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from srdcr_lab.models.spending import FREE, price_of
from srdcr_lab.records import BadInput, ModelIdentity

GPT = ModelIdentity("openai", "gpt-4o-mini")
HEADER = "model,input_usd_per_million,output_usd_per_million"


@pytest.fixture(autouse=True)
def _no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SRDCR_PRICES", raising=False)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes a price table and names it in the environment."""

    def write(*rows: str, header: str = HEADER) -> None:
        path = tmp_path / "prices.csv"
        path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
        monkeypatch.setenv("SRDCR_PRICES", str(path))

    return write


@pytest.mark.parametrize("provider", ["pocket", "hf"])
def test_local_models_are_free(provider: str) -> None:
    assert price_of(ModelIdentity(provider, "anything")) == FREE


def test_the_package_knows_a_model_and_says_its_version() -> None:
    price = price_of(GPT)
    assert price is not None
    assert 0 < price.input_usd < price.output_usd < 1e-3
    assert price.source.startswith("genai-prices ")


def test_nobody_knows_a_model_and_the_reason_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert price_of(ModelIdentity("openai", "a-server-of-my-own")) is None
    (said,) = caplog.messages
    assert said.startswith("no price is known for openai:a-server-of-my-own: put it into a CSV with the columns model,")


def test_a_table_may_call_a_model_by_its_name_alone(table: Callable[..., None]) -> None:
    table("gpt-4o-mini,1,3", "openai:llama,5,5", "llama,1,3")
    for model, million in ((GPT, 1), (ModelIdentity("openai", "llama"), 5), (ModelIdentity("openai", "llama", "b"), 1)):
        price = price_of(model)
        assert price is not None
        assert price.cost(1_000_000, 0) == pytest.approx(million)


def test_own_table_goes_first(table: Callable[..., None]) -> None:
    table("openai:gpt-4o-mini,1,3", "openai:llama#desk,0,0", header="\ufeff" + HEADER)  # as a spreadsheet saves it
    price = price_of(GPT)
    assert price is not None
    assert price.cost(1_000_000, 500_000) == pytest.approx(1 + 1.5)
    assert price.source == "prices.csv"
    assert price_of(ModelIdentity("openai", "llama", "desk")) is not None
    assert price_of(ModelIdentity("openai", "llama")) is None


def test_a_table_that_cannot_be_read(table: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("-1", "nan", "inf", "cheap", ""):
        table("openai:gpt-4o-mini,1,3", f"openai:other,{value},3")
        with pytest.raises(BadInput, match=r"prices\.csv, row 2: prices are US dollars per million tokens"):
            price_of(GPT)
    for lines in (["openai:gpt-4o-mini,1"], []):
        table(*lines, header="model,input_usd_per_million")
        with pytest.raises(BadInput, match="lacks the column output_usd_per_million"):
            price_of(GPT)
    table("openai:gpt-4o-mini,1,3", "openai:gpt-4o-mini,10,30")
    with pytest.raises(BadInput, match=r"prices\.csv, row 2: the model 'openai:gpt-4o-mini' has a price above"):
        price_of(GPT)
    monkeypatch.setenv("SRDCR_PRICES", "nowhere.csv")
    with pytest.raises(BadInput, match="cannot read the price table"):
        price_of(GPT)
