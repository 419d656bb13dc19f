"""Presets, what is refused, and debate designs as a factorial: told debaters, draws, economies, grids, roles."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab import Study
from srdcr_lab.data import ItemSet
from srdcr_lab.protocols import (
    DESIGNS,
    METHODS,
    PRESETS,
    Choices,
    DebateDesign,
    Outcome,
    choices,
    factorial,
    majority_verdict,
    methods,
    sr_dcr,
)
from srdcr_lab.protocols.choices import Hears, Match, Order, Sees, Stance
from srdcr_lab.records import BadInput, ConfidenceKind, Decision, Missing, Request, Role, Verdict
from srdcr_lab.records.files import from_plain
from tests.scripted import (
    REASONABLE,
    SURE,
    UNREASONABLE,
    UNSURE,
    ScriptedModel,
    by_round,
    exemplars,
    finished,
    item,
    kind_of,
    question_of,
    reader,
    setup_of,
)

R, U, X = Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED
TRUE, FALSE = item(1874), item(1934)  # the model remembers 1874 and reads what the passage says
ACVD = DESIGNS["acvd"]


def outcome_of(model: ScriptedModel, of: Any = FALSE, **design: Any) -> Outcome:
    return asyncio.run(sr_dcr(of, setup_of(model, Choices(design=replace(ACVD, **design)), of)))


def test_debaters_of_the_paper_are_given_the_context_and_the_prior_answer_to_defend() -> None:
    """B: section 3.1 to the letter, in the default and in the symmetric ablation."""
    assert choices().design.debaters_told
    assert DESIGNS["symmetric"] == replace(ACVD, name="symmetric", critic_sees=Sees.ALWAYS)
    model = reader(answer_from_memory=SURE)
    outcome = outcome_of(model)
    assert model.calls == 20  # prior and context answers are asked once
    for kind, answer in (("defender_told", "1934"), ("critic_told", "1874")):
        assert len(model.asked(kind)) == 6
        for request in model.asked(kind):
            assert f"<answer>\n{answer}\n</answer>\nQuestion: " in question_of(request)
    stances = {(turn.role, turn.stance) for turn in outcome.debate.turns}
    assert stances == {(Role.DEFENDER, "1934"), (Role.CRITIC, "1874"), (Role.JUDGE, None)}


def test_own_answers_is_the_same_debate_without_being_told() -> None:
    assert DESIGNS["own_answers"] == replace(ACVD, name="own_answers", debaters_told=False)
    model = reader(answer_with_passage="1950", critic="1900. I am certain.")
    outcome = outcome_of(model, name="own", debaters_told=False)
    assert {kind_of(request) for request in model.asked("critic")} == {"critic"}
    assert {kind_of(request) for request in model.asked("defender")} == {"defender"}
    assert not any("<answer>" in question_of(request) or "1950" in question_of(request) for request in model.requests)
    stated = {(turn.role, turn.stance, turn.stated_answer) for turn in outcome.debate.transcript}
    assert stated == {(Role.DEFENDER, None, "1934"), (Role.CRITIC, None, "1900")}
    with pytest.raises(BadInput, match="a critic that may agree has no assigned answer"):
        replace(DESIGNS["released"], debaters_told=True)


def test_a_judge_of_five_draws_is_one_request_a_round_and_the_majority_rules() -> None:
    def rules(request: Request, draw: int) -> str:
        return [REASONABLE, UNREASONABLE, "?", UNREASONABLE, UNREASONABLE][draw]

    model = reader(answer_from_memory=SURE, judge=rules)
    outcome = outcome_of(model, judge_draws=5, rounds=2, repair=False)
    requests = model.asked("judge")
    assert [(r.temperature, r.stream, r.draws) for r in requests] == [(0.5, "judge", (0, 1, 2, 3, 4))] * 2
    assert outcome.debate.verdict_path == (U, U)
    spoken = [(turn.speaker, turn.verdict) for turn in outcome.debate.turns if turn.role is Role.JUDGE]
    assert spoken == [("0", R), ("1", U), ("2", X), ("3", U), ("4", U)] * 2
    assert outcome.decision is Decision.USE_PRIOR


@pytest.mark.parametrize(
    ("draws", "verdict"),
    [((R,), R), ((R, U), X), ((R, R, U), R), ((R, U, X), X), ((R, R, X, X), X), ((X, X, R), X), ((U, U, X), U)],
)
def test_a_verdict_is_what_more_than_half_of_the_draws_say(draws: tuple[Verdict, ...], verdict: Verdict) -> None:
    assert majority_verdict(draws) is verdict


@pytest.mark.parametrize("last", [REASONABLE, UNREASONABLE, "?"])
def test_the_final_verdict_alone_is_v_star(last: str) -> None:
    path = [UNREASONABLE, REASONABLE, REASONABLE, UNREASONABLE, UNREASONABLE, last]
    whole = outcome_of(reader(answer_from_memory=SURE, judge=by_round(path)), repair=False)
    model = reader(answer_from_memory=SURE, judge=by_round(path))
    saving = outcome_of(model, final_verdict_only=True, repair=False)
    assert saving.ruling.verdict is whole.ruling.verdict
    assert (saving.decision, saving.missing) == (whole.decision, whole.missing)
    assert (saving.ruling.r_star, saving.ruling.stabilised) == (None, None)  # not known
    assert (model.calls, len(model.asked("judge"))) == (15, 1)


@pytest.mark.parametrize(("k", "path", "calls"), [
    (1, "R", 2 + 3), (2, "URR", 2 + 9),
    (2, "URURUR", 20),  # never
    (2, "R??RR", 2 + 15),  # unparsed verdicts settle nothing
    (3, "URRUUU", 20),
])  # fmt: skip
def test_early_stop_after_k_equal_verdicts(k: int, path: str, calls: int) -> None:
    rulings = [{"R": REASONABLE, "U": UNREASONABLE}.get(letter, "?") for letter in path.ljust(6, "U")]
    model = reader(judge=by_round(rulings))
    outcome = outcome_of(model, early_stop=k, repair=False)
    assert "".join({R: "R", U: "U", X: "?"}[verdict] for verdict in outcome.debate.verdict_path) == path
    assert model.calls == calls


def test_the_shortcut_saves_the_debate_where_the_answers_agree() -> None:
    unsure = {"answer_from_memory": UNSURE, "judge": UNREASONABLE}
    model = reader(**unsure)
    agreed = outcome_of(model, TRUE, agreement_shortcut=True)
    assert (model.calls, agreed.debate, agreed.decision, agreed.missing) == (2, None, Decision.USE_CONTEXT, None)
    assert agreed.confidence is not None
    assert outcome_of(reader(**unsure), TRUE).missing is Missing.ABSTAINED  # after a whole debate
    for script in (unsure, {"answer_from_memory": "No idea.", "answer_with_passage": "No idea."}):
        model = reader(**script)
        assert outcome_of(model, FALSE, agreement_shortcut=True).debate is not None
        assert model.calls == 20


def test_a_factorial_is_every_combination_named_after_what_it_changes() -> None:
    designs = factorial(critic_sees=["never", "always"], order=list(Order))
    assert [design.name for design in designs][:4] == [
        "acvd", "acvd, order=defender_first", "acvd, order=simultaneous", "acvd, critic_sees=always",
    ]  # fmt: skip
    assert len(designs) == 6
    assert designs[3] == replace(ACVD, name="acvd, critic_sees=always", critic_sees=Sees.ALWAYS)


def test_several_designs_make_a_grid() -> None:
    chosen = choices(design="acvd, symmetric", rounds=2)
    assert [(design.name, design.rounds) for design in chosen.designs] == [("acvd", 2), ("symmetric", 2)]
    assert choices(design=[ACVD, "released"]).also == (DESIGNS["released"],)
    with pytest.raises(BadInput, match="two designs of a grid are named 'acvd'"):
        choices(design=["acvd", "acvd"])
    with pytest.raises(BadInput, match="unknown design 'quiet'"):
        choices(design="acvd,quiet")
    chosen = choices(design=factorial(rounds=[6, 3], judge_draws=[1, 3], early_stop=[None, 2]))
    plain = json.loads(json.dumps(asdict(chosen)))
    assert plain["design"]["order"] == "critic_first"
    assert from_plain(Choices, plain, "here") == chosen
    del plain["exemplars"], plain["design"]["repair"], plain["also"][0]["repair"]  # written before these were fields
    assert from_plain(Choices, plain, "here") == chosen


def study(model: ScriptedModel, out: Path, **how: Any) -> Study:
    return Study(model, ItemSet("worked", (TRUE, FALSE), exemplars()), samples=0, out=out, **how)


def test_a_grid_runs_from_one_call_and_shares_what_is_equal(tmp_path: Path) -> None:
    model = reader()
    results = finished(study(model, tmp_path / "out", design=["acvd", "symmetric"], rounds=2))
    rows = results.records[["method", "design", "calls_alone"]].fillna("")
    assert [tuple(row) for row in rows.itertuples(index=False)] == [
        ("few_shot", "", 1), ("sr_dcr", "acvd", 8), ("sr_dcr", "symmetric", 8),
    ] * 2  # fmt: skip
    turns = results.turns
    assert set(turns["design"]) == {"acvd", "symmetric"}
    # Both critics say the same here, so whoever hears them is asked once: the symmetric design adds its two prompts of
    # the Critic. The second form of the question saves the prior answer and the blind Critic's opening.
    assert model.calls == (2 + 6 + 2) + (2 + 6 + 2 - 2)


def test_a_judge_that_is_never_read_is_a_sentence_and_the_run_goes_on(tmp_path: Path) -> None:
    results = finished(study(reader(judge="Who knows?"), tmp_path / "out"))
    why = '2 of 2 rows of sr_dcr (acvd): no last line "final decision: REASONABLE"'
    assert any(note.startswith(why) for note in results.manifest["notes"])
    assert list(results.records.query("method == 'sr_dcr'")["missing"]) == ["unparsed"] * 2
    assert results.records["error"].isna().all()


def test_the_papers_numbers() -> None:
    assert choices() == PRESETS["paper"] == Choices()
    paper = choices("paper")
    assert (paper.tau, paper.gate, paper.confidence) == (0.90, True, "auto")
    assert (paper.knowledge_draws, paper.consistency_draws, paper.sampling_temperature) == (32, 16, 0.5)
    assert (paper.highly_known_from, paper.maybe_known_from) == (0.85, 0.30)
    assert (paper.match, paper.exemplars) == (Match.EXACT, 4)
    assert paper.design == DebateDesign(
        name="acvd", critic_sees=Sees.NEVER, critic_stance=Stance.ATTACK, order=Order.CRITIC_FIRST, rounds=6,
        judge_sees_passage=False, debaters_told=True, first_verdict_round=0,
    )  # fmt: skip


def test_the_released_codes_numbers() -> None:
    released = choices("released")
    assert (released.knowledge_draws, released.highly_known_from, released.maybe_known_from) == (16, 0.60, 0.30)
    assert (released.gate, released.match) == (False, Match.ANYWHERE)
    assert (released.judge_debate_unheard, choices().judge_debate_unheard) == (1, 0)
    assert released.design == DebateDesign(
        name="released", critic_sees=Sees.OPENING, critic_stance=Stance.MAY_AGREE, order=Order.SIMULTANEOUS, rounds=6,
        judge_sees_passage=False, debaters_told=False, first_verdict_round=1, repair=False,
    )  # fmt: skip
    assert PRESETS["paper"].year_offsets == (20, 40, 60, 100, 200)
    assert PRESETS["released"].year_offsets == (10, 20, 40, 60, 80, 100, 200, 300, 400, 500)


def test_a_design_replaces_the_presets_and_rounds_replace_the_designs() -> None:
    assert choices("paper", design="symmetric").design == DESIGNS["symmetric"]
    assert choices("released", design="acvd", rounds=3).design == DebateDesign(rounds=3)
    assert choices("released").gate is False
    chosen = choices(tau=0.0, samples=0)
    assert (chosen.tau, chosen.knowledge_draws) == (0.0, 0)
    named = Choices(match="anywhere", confidence="verbalized", design=DebateDesign(name="own", critic_sees="always"))
    assert {type(named.match), type(named.confidence), type(named.design.critic_sees)} == {Match, ConfidenceKind, Sees}
    with pytest.raises(BadInput, match="categories need"):
        Choices(highly_known_from=0.2)
    with pytest.raises(
        BadInput, match="judge_sees_passage is not as in ACVD, the paper's debate; give the design another"
    ):
        DebateDesign(judge_sees_passage=True, rounds=2)


@pytest.mark.parametrize(("make", "wrong", "sentence"), [
    (factorial, {"colour": ["red"]}, "a debate design has no 'colour'; its factors are agreement_shortcut"),
    (factorial, {"order": ["judge_first"]},
     "order is one of critic_first, defender_first, simultaneous, got 'judge_first'"),
    (DebateDesign, {"critic_sees": "allways"}, "critic_sees is one of never, opening, always, got 'allways'"),
    (Choices, {"sampling_temperature": 0.0}, "sampling_temperature is a number from 0.01 to 2.0"),
    (DebateDesign, {"early_stop": 0}, "early_stop is a whole number from 1 to 50, got 0"),
    (DebateDesign, {"early_stop": 2, "final_verdict_only": True}, "final_verdict_only leaves one of them"),
    (DebateDesign, {"judge_draws": 0}, "judge_draws is a whole number from 1 to 1,000"),
    (DebateDesign, {"judge_draws": 3, "judge_temperature": 0.0}, "3 draws of a judge need a temperature above 0"),
    (DebateDesign, {"judge_hears": Hears.NOTHING}, "a judge that hears nothing must be shown the passage"),
    (DebateDesign, {"judge_hears": Hears.ANSWERS, "debaters_told": False},
     "two answers are those assigned to the debaters"),
    (DebateDesign, {"fresh_turns": True, "debaters_told": False}, "set debaters_told"),
    (DebateDesign, {"debater_temperature": 3}, "debater_temperature is a number from 0.0 to 2.0"),
    (DebateDesign, {"judge_hears": Hears.ANSWERS, "first_verdict_round": 1}, "must fall in one of the 1 rounds"),
])  # fmt: skip
def test_a_choice_that_cannot_be_held_gets_a_sentence(
    make: Callable[..., object], wrong: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInput) as caught:
        make(**wrong)
    assert sentence in str(caught.value)


def test_methods_by_name_in_the_order_given() -> None:
    assert [m.name for m in (*methods("sr_dcr, few_shot"), *methods(["golden"]))] == ["sr_dcr", "few_shot", "golden"]
    assert [m.name for m in methods("all")] == list(METHODS)
