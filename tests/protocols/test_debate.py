"""Who says what in a debate, in which order, and what each sees [paper 3.1]; the asymmetric critic is blind."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from srdcr_lab.protocols import DESIGNS, Cast, Choices, DebateDesign, choices, factorial, hold_debate, sr_dcr
from srdcr_lab.protocols.choices import Order
from srdcr_lab.records import CallFailed, Completion, Debate, Item, Request, Role, Verdict
from tests.scripted import (
    REASONABLE,
    UNREASONABLE,
    ScriptedModel,
    heard_by,
    item,
    kind_of,
    question_of,
    reader,
    rounds_heard,
    setup_of,
)

R, U, X = Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED

LACKING = "This reply has no line with your decision. Reply again, with that line alone."


class Speaker(ScriptedModel):
    """Debaters say "1874. critic 3." for their fourth speech, so that a prompt shows who was heard."""

    def __init__(self, rulings: Sequence[str] = (REASONABLE,) * 6, again: Sequence[str] = ()) -> None:
        said = {"critic": 0, "defender": 0}

        def speech(request: Request, draw: int) -> str:
            role = kind_of(request).partition("_")[0]
            said[role] += 1
            return f"{1874 if role == 'critic' else 1934}. {role} {said[role] - 1}."

        def ruling(request: Request, draw: int) -> str:
            said = again if LACKING in question_of(request) else rulings
            return said[question_of(request).count("<defender") - len(self.skipped) - 1]

        self.skipped: Sequence[int] = ()
        super().__init__({"critic": speech, "critic_may_agree": speech, "defender": speech, "judge": ruling})


def held(model: ScriptedModel, design: DebateDesign, passage: Item | None = None) -> Debate:
    """A debate that waits for what does not come is given up."""
    debate = hold_debate(passage or item(1934), setup_of(model, Choices(design=design)), told_by(design))
    return asyncio.run(asyncio.wait_for(debate, timeout=60))


def told_by(design: DebateDesign) -> dict[Role, str]:
    return {Role.DEFENDER: "1934", Role.CRITIC: "1874"} if design.debaters_told else {}


def speakers(debate: Debate) -> str:
    """Such as "DC.J|CD.J": who spoke, in the order of the turns."""
    return "".join(turn.role.value[0].upper() for turn in debate.turns)


ACVD, SYMMETRIC, RELEASED = DESIGNS["acvd"], DESIGNS["symmetric"], DESIGNS["released"]


def test_acvd_takes_eighteen_calls_in_the_papers_order() -> None:
    model = Speaker()
    debate = held(model, ACVD)
    assert speakers(debate) == "DCJ" + "CDJ" * 5
    assert [turn.round for turn in debate.turns] == [r for r in range(6) for _ in range(3)]
    assert (model.calls, len(debate.verdict_path)) == (18, 6)
    critic = [heard_by(request) for request in model.asked("critic")]
    defender = [heard_by(request) for request in model.asked("defender")]
    assert critic[0] == defender[0] == []
    assert critic[1] == rounds_heard("DC")
    assert defender[1] == rounds_heard("DC", "C")
    assert critic[5] == rounds_heard("DC", "CD", "CD", "CD", "CD")
    assert defender[5] == rounds_heard("DC", "CD", "CD", "CD", "CD", "C")
    heard = sorted((heard_by(request) for request in model.asked("judge")), key=len)
    assert heard == [rounds_heard("DC", *["CD"] * n) for n in range(6)]
    for request in model.asked("judge"):
        assert "SENTINEL" not in question_of(request)
        assert question_of(request).endswith(f"Question: {item().question}")
    assert all("SENTINEL" in question_of(request) for request in model.asked("defender"))
    assert not any("SENTINEL" in message.content for r in model.asked("critic") for message in r.messages)
    assert {(r.temperature, r.max_tokens, len(r.messages)) for r in model.requests} == {(0.0, 300, 2)}


def test_symmetric_differs_from_acvd_in_the_critics_passage_block_alone() -> None:
    asymmetric, symmetric = Speaker(), Speaker()
    held(asymmetric, ACVD)
    held(symmetric, SYMMETRIC)
    block = f"<passage>\n{item(1934).context}\n</passage>"
    assert len(asymmetric.requests) == len(symmetric.requests) == 18
    for kind in ("defender", "judge"):
        assert [r.canonical for r in asymmetric.asked(kind)] == [r.canonical for r in symmetric.asked(kind)]
    for without, with_passage in zip(asymmetric.asked("critic"), symmetric.asked("critic"), strict=True):
        assert f"{block}\n{question_of(without)}" == question_of(with_passage)
        assert without.messages[:-1] == with_passage.messages[:-1]


def test_a_turn_that_repeats_its_speaker_is_asked_for_once_more_and_heard_by_nobody() -> None:
    """A Critic who says one thing in each of three rounds, and then a new one; the Defender's speeches all differ."""
    fresh = iter(["1874. A first new point.", "1874. I am certain!"])  # the second one repeats again, and stands
    model = Speaker()
    model.script |= {"critic": "1874. I am certain.", "debater_fresh": lambda request, draw: next(fresh)}
    debate = held(model, replace(DESIGNS["acvd_fresh"], rounds=3))
    assert speakers(debate) == "DCJCCDJCCDJ"
    turns = [turn for turn in debate.turns if turn.role is Role.CRITIC]
    assert [turn.speaker for turn in turns] == ["", "asked again", "", "asked again", ""]
    assert turns[2].text == "1874. A first new point."
    assert turns[2].saw_turns == (*turns[1].saw_turns, 2), "its own reply, which only it was shown"
    heard = [place for turn in debate.turns if turn.role is not Role.CRITIC for place in turn.saw_turns]
    assert not {2, 5} & set(heard)
    first, second = model.asked("debater_fresh")
    assert (first.temperature, first.stream, second.stream) == (0.7, "critic", "critic")
    assert "SENTINEL" not in question_of(first), "a Critic without the passage stays without it"
    assert "repeats you:\n<reply>\n1874. I am certain.\n</reply>\nYou are the Critic." in question_of(first)
    assert "A first new point" in question_of(second)


def test_in_the_symmetric_debate_of_fresh_turns_nobody_is_told_of_memory() -> None:
    model = Speaker()
    held(model, replace(DESIGNS["symmetric_fresh"], rounds=2, debater_temperature=0.3))
    assert {kind_of(request) for request in model.requests} == {"critic_shown", "defender_told", "judge_shown"}
    assert not any("memory" in request.messages[0].content or "remember" in request.messages[0].content
                   for request in model.requests)  # fmt: skip
    assert {request.temperature for request in model.requests if kind_of(request) != "judge_shown"} == {0.3}


def test_released_speaks_simultaneously_shows_the_passage_once_and_is_judged_from_round_1_on() -> None:
    model = Speaker()
    model.skipped = (0,)
    debate = held(model, RELEASED)
    assert speakers(debate) == "DC" + "DCJ" * 5
    assert model.calls == 17
    for critic, defender in zip(model.asked("critic_may_agree"), model.asked("defender"), strict=True):
        assert heard_by(critic) == heard_by(defender)
    heard = sorted((heard_by(request) for request in model.asked("judge")), key=len)
    assert heard == [rounds_heard(*["DC"] * n) for n in range(2, 7)]
    assert (debate.first_verdict_round, len(debate.verdict_path)) == (1, 5)
    assert ["SENTINEL" in question_of(r) for r in model.asked("critic_may_agree")] == [True] + [False] * 5
    assert model.asked("critic") == []
    assert all("SENTINEL" in question_of(request) for request in model.asked("defender"))
    assert [turn.saw_passage for turn in debate.turns if turn.role is Role.CRITIC] == [True] + [False] * 5


def test_defender_first_and_a_judge_with_the_passage() -> None:
    model = Speaker()
    debate = held(model, DebateDesign(name="ours", order=Order.DEFENDER_FIRST, rounds=2))
    assert speakers(debate) == "DCJDCJ"
    assert heard_by(model.asked("critic")[1]) == rounds_heard("DC", "D")
    model = Speaker()
    debate = held(model, DebateDesign(name="ours", judge_sees_passage=True, rounds=2))
    assert all("SENTINEL" in question_of(request) for request in model.asked("judge"))
    assert [turn.saw_passage for turn in debate.turns if turn.role is Role.JUDGE] == [True, True]


def test_a_ruling_without_its_line_is_asked_for_that_line_once() -> None:
    model = Speaker([REASONABLE, "I cannot say.", "Hm."], again=["", UNREASONABLE, "Well."])
    debate = held(model, DebateDesign(rounds=3))
    assert debate.verdict_path == (R, U, X)
    judged = [(turn.round, turn.text, turn.verdict) for turn in debate.turns if turn.role is Role.JUDGE]
    assert judged[:3] == [(0, REASONABLE, R), (1, "I cannot say.", None), (1, UNREASONABLE, U)]
    assert judged[3:] == [(2, "Hm.", None), (2, "Well.", X)]  # asked once, not for ever
    first, again = (question_of(r) for r in model.asked("judge") if question_of(r).count("<defender") == 2)
    assert again == first.replace("Question:", f"<answer>\nI cannot say.\n</answer>\n{LACKING}\nQuestion:")
    model = ScriptedModel({"critic": f"1874.\n{UNREASONABLE}", "judge": "I abstain."})
    debate = held(model, DebateDesign(rounds=2))
    assert debate.verdict_path == (X, X)
    assert all(turn.verdict is None for turn in debate.transcript)
    assert UNREASONABLE not in "".join(question_of(request) for request in model.asked("judge"))
    model = Speaker([REASONABLE, "I cannot say.", UNREASONABLE, REASONABLE, f"{REASONABLE}, I think", UNREASONABLE])
    debate = held(model, replace(ACVD, repair=False))
    assert debate.verdict_path == (R, X, U, R, X, U)
    judged = [turn for turn in debate.turns if turn.role is Role.JUDGE]
    assert [turn.verdict for turn in judged] == [R, X, U, R, X, U]
    assert judged[1].text == "I cannot say."  # the raw reply stays


def test_turns_say_what_their_speakers_saw_and_stated() -> None:
    debate = held(Speaker(), DebateDesign(rounds=2))
    assert [(turn.role.value, turn.saw_turns, turn.saw_passage) for turn in debate.turns] == [
        ("defender", (), True), ("critic", (), False), ("judge", (0, 1), False), ("critic", (0, 1), False),
        ("defender", (0, 1, 2), True), ("judge", (0, 1, 2, 3), False),
    ]  # fmt: skip
    model = Speaker()
    debate = held(model, DebateDesign(rounds=1))
    assert [turn.stated_answer for turn in debate.turns] == ["1934", "1874", None]
    assert {turn.request_digest for turn in debate.turns} == {request.digest for request in model.requests}


def test_rulings_do_not_hold_up_the_debate() -> None:
    """Every judge waits until the last defence has been asked for; a debate that waited for a ruling would not end."""

    class SlowJudge(Speaker):
        def __init__(self) -> None:
            super().__init__()
            self.over = asyncio.Event()

        async def complete(self, request: Request) -> tuple[Completion, ...]:
            if kind_of(request) == "judge":
                await self.over.wait()
            elif kind_of(request) == "defender_told" and len(heard_by(request)) == 11:
                self.over.set()
            return await super().complete(request)

    assert held(SlowJudge(), ACVD).verdict_path == (R,) * 6


def test_openings_are_asked_at_once() -> None:
    """Each opening waits for the other to be asked for."""

    class Waiting(Speaker):
        def __init__(self) -> None:
            super().__init__()
            self.opened = asyncio.Barrier(2)

        async def complete(self, request: Request) -> tuple[Completion, ...]:
            if kind_of(request) != "judge":
                await self.opened.wait()
            return await super().complete(request)

    assert len(held(Waiting(), DebateDesign(rounds=1)).transcript) == 2


def test_a_failed_call_fails_the_debate() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        held(ScriptedModel({"judge": CallFailed("cut off")}), ACVD)
    assert caught.group_contains(CallFailed, match="cut off")


WORDS = ("SENTINEL", "baker")  # of every passage; the defenders below do not say them
YEARS = (1874, 1894, 1854, 1914, 1834, 1934, 1974, 2074)
BLIND = factorial(
    order=["critic_first", "defender_first", "simultaneous"], debaters_told=[True, False],
    judge_sees_passage=[False, True], judge_draws=[1, 3], rounds=[1, 6, 9],
)  # fmt: skip


def critic_of(design: DebateDesign, of: Item, defence: str = "It is as I say.") -> ScriptedModel:
    """The model that plays the critic, and nothing else, after SR-DCR of that design."""
    critic = ScriptedModel({"critic_told": "1874. I am certain."})
    rest = reader(defender=defence, defender_told=defence)
    setup = setup_of(rest, choices(design=design), of)
    asyncio.run(sr_dcr(of, replace(setup, cast=Cast(rest, rest, critic, rest))))
    return critic


def seen_by(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


@pytest.mark.parametrize("design", BLIND, ids=lambda design: design.name)
def test_no_word_of_the_passage_reaches_the_critic_in_any_round(design: DebateDesign) -> None:
    passage = item(1934)
    assert all(word in passage.context for word in WORDS)
    critic = critic_of(design, passage)
    assert len(critic.requests) == design.rounds
    for round_, request in enumerate(critic.requests):
        assert not any(word in seen_by(request) for word in (*WORDS, "1934", "<passage>")), f"round {round_}"


@pytest.mark.parametrize("told", [False, True])
def test_every_prompt_of_the_critic_is_byte_identical_where_the_defenders_words_are(told: bool) -> None:
    """Not the opening alone: all six prompts are equal over eight passages if the Defender speaks alike of them."""
    design = DebateDesign(name="own", debaters_told=told)
    heard = {tuple(request.canonical for request in critic_of(design, item(year)).requests) for year in YEARS}
    assert len(heard) == 1
    assert len(heard.pop()) == 6


def test_the_opening_is_byte_identical_and_a_word_of_the_defender_is_heard_later() -> None:
    openings = {
        critic_of(DebateDesign(), item(year), f"{year}. The baker SENTINEL founded it.").requests[0].canonical
        for year in YEARS
    }
    assert len(openings) == 1
    critic = critic_of(DebateDesign(rounds=3), item(1934), "1934. SENTINEL says so.")
    assert ["SENTINEL" in seen_by(request) for request in critic.requests] == [False, True, True]
    critic = critic_of(DESIGNS["symmetric"], item(1934))
    assert all("SENTINEL" in question_of(request) for request in critic.requests)
    assert {kind_of(request) for request in critic.requests} == {"critic_told"}
