"""What is missing has its cause, in counts and notes; a confidence that a server cannot give is refused or replaced."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import BadInput, Results, Study
from srdcr_lab.records import Completion, FinishReason, Verdict
from srdcr_lab.study.run import Cause, _said, cause
from tests.loopback import protocols, replies
from tests.loopback.server import Loopback

UNPARSED = Verdict.UNPARSED


@pytest.mark.parametrize(("reply", "verdict", "expected"), [
    (Completion("", finish_reason=FinishReason.LENGTH), UNPARSED, Cause.STARVED),
    (Completion("", completion_tokens=1), None, Cause.EMPTY),
    (Completion("<think>Hm, 1874?</think>"), None, Cause.STARVED),
    (Completion("<think>Hm, 1874?", completion_tokens=6), UNPARSED, Cause.STARVED),
    (Completion("The year is", finish_reason=FinishReason.LENGTH), UNPARSED, Cause.CUT),
    (Completion("I cannot.", finish_reason=FinishReason.REFUSAL), UNPARSED, Cause.REFUSED),
    (Completion("", finish_reason=FinishReason.CONTENT_FILTER), None, Cause.FILTERED),
    (Completion("Who knows?"), UNPARSED, Cause.NO_VERDICT), (Completion("Who knows?"), None, Cause.UNREADABLE),
])  # fmt: skip
def test_causes_of_replies_without_an_answer(reply: Completion, verdict: Verdict | None, expected: Cause) -> None:
    assert cause(reply, verdict) is expected


def results(server: Loopback, out: Path, methods: str = "few_shot,sr_dcr", **how: Any) -> Results:
    """A study of two items against the server, with debates of two rounds."""
    rows = [(f"When was bridge {n} built?", f"187{n}", f"It was built in 187{n}.") for n in range(2)]
    items = pd.DataFrame(rows, columns=["question", "gold_answer", "context"])
    how = {"samples": 0, "rounds": 2, "base_url": server.openai_url, "out": out} | how
    with Study("openai:tested", items, methods, **how) as study:
        return study.run(progress=False)


def test_who_thinks_until_nothing_is_left_is_told_so(loopback: Loopback, tmp_path: Path) -> None:
    """And the judge's missing verdict line is not blamed."""
    loopback.behaviour.max_characters = 0
    starved = results(loopback, tmp_path / "out")
    assert starved.records["error"].str.contains("thinking took all of them; --reasoning none, or more room").all()
    manifest = starved.manifest
    assert manifest["counts"]["causes"] == {
        Cause.STARVED: {
            "rows of few_shot": 2,
            "rows of sr_dcr (acvd)": 2,
            **dict.fromkeys(["turns of the defender", "turns of the critic"], 4),
            "turns of the judge": 8,  # each ruling is asked for again
        }
    }
    (note,) = (note for note in manifest["notes"] if "2 of 2 rows of sr_dcr (acvd)" in note)
    assert "8 of 8 turns of the judge" in note
    assert "no text, though tokens were spent" in note


def test_each_cause_is_counted_and_its_first_reply_shown(loopback: Loopback, tmp_path: Path) -> None:

    def reply(messages: replies.Messages, temperature: float, seed: int) -> str:
        if "final decision" in messages[0]["content"]:
            return "\x1b[31m\u202eI would rather not rule."
        return replies.reply(messages, temperature, seed)

    loopback.reply = reply
    manifest = results(loopback, tmp_path / "out", methods="few_shot,sr_dcr,debate_only").manifest
    repeated = {f"later turns of the {role} (acvd)": 2 for role in ("defender", "critic")}  # the server's debaters do
    ruled = {f"rows of {method} (acvd)": 2 for method in ("sr_dcr", "debate_only")}  # which share their debate
    assert manifest["counts"]["causes"] == {Cause.NO_VERDICT: ruled, Cause.REPEATS: repeated}
    said = f"2 of 2 rows of debate_only (acvd): {Cause.NO_VERDICT}; the first reply: 'I would rather not rule.'"
    assert said in "\n".join(manifest["notes"])


def test_a_stated_confidence_that_cannot_be_read_is_counted(loopback: Loopback, tmp_path: Path) -> None:
    loopback.reply = lambda messages, *how: (
        "quite" if "confidence:" in messages[0]["content"] else replies.reply(messages, *how)
    )
    notes = results(loopback, tmp_path / "out", confidence="verbalized").manifest["notes"]
    assert f"2 of 2 confidences (verbalized): {Cause.UNREADABLE}" in notes


@pytest.mark.parametrize("kind", ["mean_logprob", "sequence", "mean_probability"])
def test_a_confidence_that_a_server_cannot_give_is_refused_at_the_first_reply(
    loopback: Loopback, tmp_path: Path, kind: str
) -> None:
    loopback.behaviour.logprobs = "null"
    with pytest.raises(BadInput, match=f"openai:tested gives no log-probabilities, which the confidence {kind} needs"):
        results(loopback, tmp_path / "out", confidence=kind)
    asked = [replies.question(request.body["messages"][-1]["content"]) for request in loopback.completions]
    assert not any("bridge 1" in question for question in asked)  # the second item was not begun


def test_auto_replaces_what_a_server_does_not_give_and_says_so(loopback: Loopback, tmp_path: Path) -> None:
    loopback.behaviour.logprobs = "missing"
    found = results(loopback, tmp_path / "out")
    assert set(found.records["confidence_kind"].dropna()) == {"self_consistency"}
    assert found.records.query("method == 'sr_dcr'")["self_confidence"].notna().all()
    assert found.manifest["logprobs"] == {"openai:tested": False}
    assert (
        "openai:tested: Some replies came without usable log-probabilities although they were asked for."
        in (found.manifest["notes"])
    )


def test_a_cause_that_failed_several_calls_is_told_once() -> None:
    """A reader found four times the same sentence in a cell."""
    calls = {"knowledge": "the server is gone.", "prior answer": "it slept."}
    assert _said("the server is gone.", calls) == "the server is gone.; prior answer: it slept."
    assert _said(None, dict.fromkeys(calls, "it slept.")) == "knowledge, prior answer: it slept."
    assert _said(None, {}) == ""


def test_prior_answers_that_another_run_may_change_are_counted(
    loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token of probability .51 is ahead of the rest by logit(.51) = .04."""
    monkeypatch.setattr(protocols, "belief", lambda messages: 0.51 if "bridge 0" in messages[-1]["content"] else 0.9)
    found = results(loopback, tmp_path / "out")
    by_question = found.records.groupby("question_id")["prior_margin"]
    assert [round(value, 2) for value in by_question.first()] == [0.04, 2.2]
    (note,) = (note for note in found.manifest["notes"] if note.startswith("near ties"))
    assert "1 of 2 prior answers have a token that is ahead of the next by less than 0.05" in note
