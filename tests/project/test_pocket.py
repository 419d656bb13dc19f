"""The shipped model, through transformers: it loads, recalls, reads, debates in format, and runs end to end."""

import asyncio
from pathlib import Path

import pytest

import srdcr_lab as lab
from srdcr_lab.models import ChatModel
from srdcr_lab.models.doctor import Trial, examine
from srdcr_lab.prompts import sources
from srdcr_lab.protocols import Cast, Setup, choices, context_answer, hold_debate, prior_answer
from srdcr_lab.protocols.answering import is_correct
from srdcr_lab.records import Item, Told, Verdict


@pytest.fixture(scope="module")
def pocket() -> ChatModel:
    return lab.load_model("pocket")


@pytest.fixture(scope="module")
def setup(pocket: ChatModel) -> Setup:
    return Setup(Cast(*[pocket] * 4), choices(design="own_answers"), lab.load_items("facts"))


def each(protocol: object, items: list[Item], setup: Setup) -> list[object]:
    async def together() -> list[object]:
        return await asyncio.gather(*(protocol(item, setup) for item in items))

    return asyncio.run(together())


def test_it_recalls_what_it_was_told_often_and_not_what_it_was_never_told(setup: Setup) -> None:
    import pandas as pd

    from srdcr_lab.records.files import folder

    table = pd.read_csv(folder("pocket") / "exposures.csv").set_index("question_id")
    told = table["exposures"][table["true_share"] == 1]  # the others it was also told otherwise
    often_told = set(told.nlargest(10).index)
    never_told = set(table.index[table["exposures"] == 0])
    items = [item for item in setup.items if item.question_id in often_told | never_told]
    right = {
        item.question_id: is_correct(a, item) for item, a in zip(items, each(prior_answer, items, setup), strict=True)
    }
    assert sum(right[question] for question in often_told) >= 9
    assert sum(right[question] for question in never_told) <= 0.05 * len(never_told)


def test_it_reads_true_passages_and_debates_in_format(setup: Setup) -> None:
    """Names and cities are beyond it (MODEL_CARD.md)."""
    items = [item for item in setup.items if item.domain in ("years", "dates", "records", "news", "drugs")][::16]
    read = [is_correct(answer, item) for item, answer in zip(items, each(context_answer, items, setup), strict=True)]
    assert sum(read) / len(read) > 0.8
    items = list(setup.items)[:4]
    for debate in each(hold_debate, items, setup):
        assert Verdict.UNPARSED not in debate.verdict_path
        assert all(turn.stated_answer for turn in debate.transcript)


def test_it_warns_of_prompts_that_are_new_to_it_once_and_runs(
    pocket: ChatModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = sources()["answer_with_passage"].replace("Answer the question;", "Answer this question;")
    own = {"answer_with_passage": text}
    with lab.Study(pocket, "facts:testbed", "few_shot", limit=2, samples=0, prompts=own, out=tmp_path / "run") as study:
        results = study.run(progress=False)
    (warning,) = (record.message for record in caplog.records if "not trained on the prompts" in record.message)
    assert "answer_with_passage" in warning
    assert warning in results.manifest["notes"]
    assert results.records["error"].isna().all()
    lab.Study(pocket, "facts:testbed", limit=2).close()
    assert [record.message for record in caplog.records].count(warning) == 1


@pytest.fixture(scope="module")
def examined(pocket: ChatModel) -> tuple[dict[str, Told], list[Trial]]:
    findings, asked = asyncio.run(examine(pocket))
    return {about: finding[0] for about, finding in findings.items()}, asked


def test_the_doctor_finds_nothing_wrong_with_it(examined: tuple[dict[str, Told], list[Trial]]) -> None:
    told, asked = examined
    assert [told[about] for about in ("seed", "log-probabilities", "greedy repeats")] == [Told.YES] * 3
    assert told["draws differ"] is Told.YES
    assert told["log-probabilities at T = 0"] is Told.BEFORE
    assert told["log-probabilities at T > 0"] is not Told.AFTER  # its draws of a prompt unknown to it share few tokens
    assert told["thinking in replies"] is Told.NO  # although a draw may be of tokens that have no text
    assert {told[about] for about in ("prompt cache matters", "left out of requests")} == {Told.NO}
    assert told["context length"] is Told.YES
    assert not any(each.failure for each in asked)
