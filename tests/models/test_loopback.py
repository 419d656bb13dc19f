"""The loopback server itself: what it says can carry a study, and what it does to clients can be survived."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.prompts import readers, render
from srdcr_lab.records import Message, Request, Role, Turn, Verdict
from tests.loopback.replies import reply
from tests.loopback.server import Loopback

QUESTION = "When was the bridge built?"
ROOT = Path(__file__).parents[2]


def said(messages: tuple[Message, ...], temperature: float = 0.0, seed: int = 0) -> str:
    return reply([{"role": message.role, "content": message.content} for message in messages], temperature, seed)


def test_roles_speak_as_their_prompts_ask() -> None:
    passage = "The bridge was built in 1874."
    turns = (Turn(round=0, role=Role.DEFENDER, text="1874. It says so.", saw_passage=True, saw_turns=()),)
    memory = said(render("answer_from_memory", question=QUESTION))
    assert memory.isdigit()
    assert said(render("answer_with_passage", question=QUESTION, passage=passage)) == "1874"
    defence = said(render("defender", question=QUESTION, passage=passage, transcript=()))
    attack = said(render("critic", question=QUESTION, passage=None, transcript=turns))
    assert (readers.opening_statement(defence), readers.opening_statement(attack)) == ("1874", memory)
    ruling = said(render("judge", question=QUESTION, passage=None, transcript=turns, reply=""))
    assert readers.verdict(ruling) is not Verdict.UNPARSED
    assert readers.confidence(said(render("verbalized_confidence", question=QUESTION, answer=memory))) is not None


def test_draws_differ_by_seed_and_repeat_with_it() -> None:
    questions = [render("answer_from_memory", question=f"When was bridge {i} built?") for i in range(20)]
    drawn = [{said(question, 0.5, seed) for seed in range(8)} for question in questions]
    assert max(map(len, drawn)) > 1
    assert said(questions[0], 0.5, 3) == said(questions[0], 0.5, 3)


def test_a_tenth_of_the_requests_fails_and_every_answer_arrives(loopback: Loopback) -> None:
    loopback.behaviour.fault_share = 0.1
    requests = [Request(render("answer_from_memory", question=f"When was bridge {i} built?"), 16) for i in range(150)]

    async def run() -> list[str]:
        model = OpenAIChat("tested", base_url=loopback.openai_url, timeout_s=2.0, concurrency=8)
        answers = await asyncio.gather(*map(model.complete, requests))
        await model.aclose()
        return [answer.text for (answer,) in answers]

    answers = asyncio.run(run())
    assert answers == [said(request.messages) for request in requests]
    assert {asked.status for asked in loopback.completions} >= {"200", "429", "500", "cut", "hang"}
    assert len(loopback.completions) == 150 + sum(asked.status != "200" for asked in loopback.completions)


@pytest.mark.usefixtures("no_keys")
def test_as_a_process_with_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "tests.loopback.server", "--with-parent", "--log", str(log), "--models", "tested"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        url = process.stdout.readline().removeprefix("listening on ").strip()
        request = Request(render("answer_from_memory", question=QUESTION), 16)

        async def run() -> None:
            model = OpenAIChat("tested", base_url=f"{url}/v1")
            await model.check()
            await model.complete(request)
            await model.complete(replace(request, seed=1))
            await model.aclose()

        asyncio.run(run())
        process.terminate()
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [(line["path"], line["status"], line["seen"]) for line in lines] == [("/v1/chat/completions", "200", 1)] * 2
