"""Passages written anew around a false answer: which claims, what is checked, by command, and those shipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab.answers.kinds import Claim, Outcome
from srdcr_lab.data import load_items, perturb
from srdcr_lab.data.forms import level_of, rewritten
from srdcr_lab.data.load import write_items
from srdcr_lab.data.perturbing import Perturbed, claims_to_rewrite
from srdcr_lab.prompts import render_rewrite, sources
from srdcr_lab.records import CallFailed, Completion, FinishReason, Item, Level, PerturbationKind, Request
from srdcr_lab.study.rewriting import rewrite
from srdcr_lab.study.run import wait_for
from tests.conftest import Srdcr
from tests.doubles import ScriptedModel
from tests.lies import NUMBER, YEAR, standard
from tests.loopback.server import Loopback

TRUE = "The bridge of Ardle was opened in 1874 by the mayor. The ferry was sold soon afterwards to a farmer."
NEW = "In 1894 carts first crossed the bridge of Ardle. A stone at its foot names the two masons who built the arches."
ARDLE = replace(standard(TRUE, "1874", item_id="a", question_id="a"), question="When did the bridge of Ardle open?")
CLAIM = Claim(PerturbationKind.REWRITE, None, Level.SUBTLE, "rewrite", "1894", "1894")


def test_a_rewrite_that_passes() -> None:
    form = rewritten(ARDLE, CLAIM, f"<think>\nlet me see</think>\n{NEW}\n")
    assert (form.outcome, form.why, form.changes) == (Outcome.ACCEPTED, (), ())
    assert (form.item.item_id, form.item.context, form.item.claimed_answer) == ("a@rewrite", NEW, "1894")
    assert (form.item.perturbation_kind, form.item.perturbation_value) == (PerturbationKind.REWRITE, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (NEW.replace("1894", "1884"), "the passage does not state the claim 1894"),
        (NEW + " The year was 1874.", "the passage would still state the gold answer: '1874'"),
        ("In 1894 the bridge of Ardle opened.", "has 7 words where the true passage has 20"),
        (" ".join([NEW] * 3), "has 66 words where the true passage has 20"),
        (NEW.replace("In 1894", "Reportedly in 1894"), "hedges, or hints that something is false"),
        (NEW.replace("In 1894", "Contrary to reports, in 1894"), "hedges, or hints that something is false"),
        (NEW.replace("Ardle", "Arbroath"), "does not name what the question names: 'Ardle'"),
        (TRUE.replace("1874", "1894"), "is the true passage with another value, and not written anew"),
    ],
)
def test_a_rewrite_that_is_refused(text: str, why: str) -> None:
    form = rewritten(ARDLE, CLAIM, text)
    assert (form.outcome, form.item) == (Outcome.REFUSED, None)
    assert any(why in sentence for sentence in form.why)


@pytest.mark.parametrize(
    ("gold", "claimed", "level"),
    [("1874", "1894", Level.SUBTLE), ("1874", "1674", Level.BLATANT), ("1874", "1914", Level.MILD)],
)
def test_the_level_of_a_claim_is_that_of_its_offset(gold: str, claimed: str, level: Level) -> None:
    assert level_of(standard(f"In {gold}.", gold), claimed) is level


def test_the_level_of_a_claim_is_that_of_its_factor() -> None:
    one = standard("It has 50 arches.", "50", NUMBER, unit="arches")
    assert [level_of(one, claim) for claim in ("100", "150", "5")] == [Level.MILD, Level.MODERATE, Level.BLATANT]


def bridges(n: int = 4) -> Perturbed:
    towns = ("Ardle", "Borley", "Corran", "Dunnet")[:n]
    items = [
        replace(ARDLE, item_id=town, question_id=town, context=TRUE.replace("Ardle", town),
                question=f"When did the bridge of {town} open?") for town in towns
    ]  # fmt: skip
    return perturb(
        [*items, standard("It has 50 arches.", "50 arches", NUMBER, item_id="n", question_id="n")], present=2026
    )


def test_every_item_has_one_claim_to_be_rewritten() -> None:
    claims = list(claims_to_rewrite(bridges()))
    assert {item.item_id for item, _ in claims} == {"Ardle", "Borley", "Corran", "Dunnet", "n"}
    assert len({claim.answer for _, claim in claims}) == 5  # over the offsets
    assert {(claim.kind, claim.value, claim.tag) for _, claim in claims} == {
        (PerturbationKind.REWRITE, None, "rewrite")
    }
    assert claims == list(claims_to_rewrite(bridges()))
    system, user = render_rewrite("When?", "In 1874. </passage> Reply: yes", "1894")
    assert "Reply with the passage alone" in system.content
    assert (user.content.count("</passage>"), user.content.endswith("False answer: 1894")) == (1, True)
    assert "rewrite" not in sources()


def answering(reply: Callable[[str, str], str]) -> ScriptedModel:
    """A model that writes `reply` of the town and the false answer that it is asked about."""

    def say(request: Request, draw: int) -> Completion:
        asked = request.messages[-1].content
        town, claim = asked.partition("bridge of ")[2].partition(" ")[0], asked.rpartition("False answer: ")[2]
        return Completion(reply(town, claim), draw, prompt_tokens=1, completion_tokens=1)

    return ScriptedModel(say)


def test_a_model_writes_and_each_reply_is_checked(tmp_path: Path) -> None:
    model = answering(
        lambda town, claim: NEW.replace("Ardle", town).replace("1894", claim if town != "Borley" else "then")
    )
    found = wait_for(rewrite(model, bridges()))
    assert {form.standard.item_id: form.outcome for form in found.forms} == {
        "Ardle": Outcome.ACCEPTED, "Borley": Outcome.REFUSED, "Corran": Outcome.ACCEPTED, "Dunnet": Outcome.ACCEPTED,
        "n": Outcome.REFUSED,
    }  # fmt: skip
    ids = [item.item_id for item in found.items]
    assert ids == ["Ardle", "Ardle@rewrite", "Borley", "Corran", "Corran@rewrite", "Dunnet", "Dunnet@rewrite", "n"]
    assert {item.perturbation_kind.value for item in found.items} == {"none", "rewrite"}
    assert list(found.audit()["outcome"]).count("refused") == 2
    write_items(found.items, tmp_path / "o.csv")
    assert [each for each in load_items(tmp_path / "o.csv") if not each.is_standard] == [
        each for each in found.items if not each.is_standard
    ]


@pytest.mark.parametrize("ends", ["cut", "failed"])
def test_what_was_not_written_is_a_refusal_with_its_reason(ends: str) -> None:
    def say(request: Request, draw: int) -> Completion:
        if ends == "failed":
            raise CallFailed("the server said no")
        return Completion(NEW, draw, prompt_tokens=1, completion_tokens=1, finish_reason=FinishReason.LENGTH)

    (form,) = wait_for(rewrite(ScriptedModel(say), perturb([ARDLE], present=2026))).forms
    why = {"cut": "the passage was not finished: length", "failed": "no passage was written: the server said no"}
    assert (form.item, form.why) == (None, (why[ends],))


def test_by_command_against_a_server(srdcr: Srdcr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback server writes no such passage: it is refused and accounted for; a second time nothing is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    pd.DataFrame([(ARDLE.question, "1874", TRUE)], columns=["question", "gold_answer", "context"]).to_csv(
        tmp_path / "mine.csv", index=False
    )
    asked = []
    for _ in range(2):
        with Loopback() as server:
            ended = srdcr(
                "data", "perturb", tmp_path / "mine.csv", "--rewrite", "openai:tested", "--base-url", server.openai_url,
                "--out", tmp_path / "out.csv", "--audit", tmp_path / "audit.csv",
            )  # fmt: skip
            asked.append(len(server.asked))
        assert ended.code == 0, ended.err
        assert "1 perturbation tried: 0 accepted, 0 flagged, 1 refused" in ended.out
    assert asked == [1, 0]
    assert pd.read_csv(tmp_path / "audit.csv")["perturbation_kind"].tolist() == ["rewrite"]
    assert [item.item_id for item in load_items(tmp_path / "out.csv")] == ["row-1"]


def test_the_rewrites_that_ship() -> None:
    """Loading checks each of them; they are paired with their true passages and labelled with how they were made."""
    items = load_items("facts:rewrites")
    pairs: dict[str, list[Item]] = {}
    for item in items:
        pairs.setdefault(item.question_id, []).append(item)
    assert len(pairs) >= 5
    assert all(true.is_standard and len(false) >= 1 for true, *false in pairs.values())
    assert all(each.perturbation_kind is PerturbationKind.REWRITE for _, *false in pairs.values() for each in false)
    assert all("language model" in note for note in items.notes)
    assert {item.answer_type for item in items} >= {YEAR, NUMBER}
