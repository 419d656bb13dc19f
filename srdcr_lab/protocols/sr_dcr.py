"""SR-DCR [section 3]: debate the passage, weigh the verdict against self-confidence, then answer or abstain.

In round 0 of the debate Defender and Critic open at the same time, without seeing each other. From round 1 on the
Critic speaks first and the Defender replies (other orders are designs of ours). After each round the Judge rules on the
transcript so far; the debaters do not see its rulings. The Defender has to defend the context answer, the Critic the
prior answer [3.1]; each states it first. In the design `own_answers`, which is ours, nobody assigns these answers: the
Defender reads the passage's answer, the Critic recalls its own, and the table `turns` shows how often they coincide.

An oversight control (`Hears`) differs from the debate only in what the Judge hears. With `fresh_turns` (ours) a debater
who repeats itself is asked once more; nobody hears the first turn, whose speaker is `ASKED_AGAIN` in the table `turns`.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from srdcr_lab.answers import says_the_same
from srdcr_lab.lib.definitions import ASKED_AGAIN, Ruling, decide, majority_verdict, says_again, stabilised_verdict
from srdcr_lab.prompts import readers
from srdcr_lab.protocols import answering
from srdcr_lab.protocols.answering import Answer, Argument, Outcome, Setup, context_answer, prior_answer, select_answer
from srdcr_lab.protocols.choices import ONE_RULING, SILENT, Hears, Order, Sees, Stance
from srdcr_lab.records import CallFailed, Debate, Item, Role, Turn, Verdict

Assigned = Mapping[Role, str]  # what each debater is given to defend; empty where it states an answer of its own
RulingTask = asyncio.Task[tuple[Turn, ...]]  # a round's ruling, in one or several draws
FRESH_TEMPERATURE = 0.7  # of a turn that is asked for once more
_OTHER = {Role.DEFENDER: Role.CRITIC, Role.CRITIC: Role.DEFENDER}


async def sr_dcr(item: Item, setup: Setup, *, gate: bool = True) -> Outcome:
    """Run the three stages of the paper on one item; independent steps run at the same time.

    Parameters
    ----------
    item : Item
        The item.
    setup : Setup
        Models, choices, exemplars and prompts, as `Study.setup`.
    gate : bool, default True
        With False (`debate_only`), V* alone decides and no confidence is asked for.

    Returns
    -------
    Outcome
        The answer with its decision, verdict and debate.

    References
    ----------
    Paper, section 3.
    """
    async with asyncio.TaskGroup() as stages:
        reading = stages.create_task(context_answer(item, setup))
        remembering = stages.create_task(prior_answer(item, setup))
        debating = stages.create_task(debate_unless_agreed(item, setup, lambda: asyncio.gather(reading, remembering)))
        confidence = await answering.self_confidence(item, await remembering, setup) if gate else None
    context, prior, debate = reading.result(), remembering.result(), debating.result()
    ruling = ruled(debate, setup) if debate else None
    verdict = ruling.verdict if ruling else None
    belief = confidence.value if confidence else math.nan
    decision = decide(verdict, belief, setup.choices.tau, gate=gate and setup.choices.gate)
    return select_answer(decision, context, prior, verdict=verdict, ruling=ruling, debate=debate, confidence=confidence)


async def debate_unless_agreed(
    item: Item, setup: Setup, both_answers: Callable[[], Awaitable[tuple[Answer, Answer]]]
) -> Debate | None:
    """Hold the debate of the design, unless both answers agree and the design has the agreement shortcut.

    The debate of a placebo is about an item of another question, with that item's answers.

    Parameters
    ----------
    item : Item
        The item.
    setup : Setup
        Models, choices, exemplars and prompts.
    both_answers : callable
        A function that brings the context and the prior answer; it is called only if the design depends on them.

    Returns
    -------
    Debate or None
        The debate; None after the shortcut.

    Raises
    ------
    CallFailed
        A placebo has no item of another question.
    """
    design = setup.choices.design
    about, told = item, None
    if design.debaters_told or design.agreement_shortcut:
        context, prior = await both_answers()
        if design.agreement_shortcut and says_the_same(context.value, prior.value, item):
            return None
    if design.judge_hears is Hears.ANOTHER:
        if (another := setup.items.another(item, setup.seed)) is None:
            raise CallFailed("a placebo needs an item of another question, and there is none")
        about = another
        if design.debaters_told:
            context, prior = await asyncio.gather(context_answer(about, setup), prior_answer(about, setup))
    if design.debaters_told:
        told = {Role.DEFENDER: context.defended, Role.CRITIC: prior.defended}
    return await hold_debate(item, setup, told, about=about)


def ruled(debate: Debate, setup: Setup) -> Ruling:
    """Find the verdict of a debate.

    Parameters
    ----------
    debate : Debate
        The debate.
    setup : Setup
        Models, choices, exemplars and prompts.

    Returns
    -------
    Ruling
        V* and r*; r* is unknown if only the last verdict was asked for, or if nobody argued.
    """
    ruling, design = stabilised_verdict(debate.verdict_path, debate.first_verdict_round), setup.choices.design
    if design.final_verdict_only or design.judge_hears in ONE_RULING:
        return Ruling(ruling.verdict, r_star=None, stabilised=None)
    return ruling


async def hold_debate(item: Item, setup: Setup, told: Assigned | None = None, *, about: Item | None = None) -> Debate:
    """Hold the debate of the setup's design over one item.

    Rulings are requested while the debate goes on; only `early_stop` waits for them.

    Parameters
    ----------
    item : Item
        The item.
    setup : Setup
        Models, choices, exemplars and prompts.
    told : Assigned, optional
        The answer assigned to each debater; None if each states its own.
    about : Item, optional
        The item that the debaters of a placebo speak about; their turns name it as their speaker.

    Returns
    -------
    Debate
        The turns of each round, with its ruling after them, and the verdict path.

    Raises
    ------
    ValueError
        Answers are assigned in a design without them, or missing in one with them.

    References
    ----------
    Paper, section 3.1.
    """
    design, told = setup.choices.design, told or {}
    if bool(told) is not design.debaters_told:
        raise ValueError("a debate's design says whether its debaters have assigned answers")
    talk = Argument(about or item, setup, setup.choices.debate_tokens)
    async with asyncio.TaskGroup() as group:
        transcript: list[Turn] = []
        rulings: list[RulingTask] = []
        for round_ in range(design.rounds_held):
            transcript += await _round(talk, told, tuple(transcript), round_)
            if round_ >= design.judged_from:
                rulings.append(group.create_task(_judge(talk, item, told, tuple(transcript), round_)))
            if await _settled(rulings, design.early_stop):
                break
    spoken = [turn for ruling in rulings for turn in ruling.result()]
    turns = sorted([*transcript, *spoken], key=lambda turn: (turn.round, turn.role is Role.JUDGE))
    debate = talk.debate(turns, [_verdict(ruling.result()) for ruling in rulings], design.judged_from)
    if about is None or about is item:
        return debate
    of = f"about {about.item_id}"
    named = [turn if turn.role is Role.JUDGE else replace(turn, speaker=turn.speaker or of) for turn in debate.turns]
    return replace(debate, turns=tuple(named))


async def _round(talk: Argument, told: Assigned, heard: Sequence[Turn], round_: int) -> list[Turn]:
    """The debaters' turns of one round, in the order they enter the transcript."""
    design = talk.setup.choices.design
    order, hears = design.order, design.judge_hears
    defend, attack = partial(_defend, talk, told, round_), partial(_attack, talk, told, round_)
    if hears in SILENT:
        return []
    if hears in (Hears.DEFENDER, Hears.CRITIC, Hears.CRITIQUE):
        return [await (defend if hears is Hears.DEFENDER else attack)(heard)]
    if round_ == 0 or order is Order.SIMULTANEOUS:
        return list(await asyncio.gather(defend(heard), attack(heard)))
    first, second = (attack, defend) if order is Order.CRITIC_FIRST else (defend, attack)
    opening = await first(heard)
    return [opening, await second([*heard, opening])]


async def _defend(talk: Argument, told: Assigned, round_: int, heard: Sequence[Turn]) -> Turn:
    """The Defender sees question, passage and transcript, and defends the context answer, or what it reads itself."""
    template = "defender_told" if told else "defender"
    return await _speak(talk, Role.DEFENDER, template, heard, round_=round_, defends=told.get(Role.DEFENDER))


async def _attack(talk: Argument, told: Assigned, round_: int, heard: Sequence[Turn]) -> Turn:
    """The Critic sees question and transcript, the passage only where the design shows it, and argues from memory."""
    design = talk.setup.choices.design
    own = "critic" if design.critic_stance is Stance.ATTACK else "critic_may_agree"
    template = ("critic_shown" if design.says_what_critic_sees else "critic_told") if told else own
    sees = design.critic_sees is Sees.ALWAYS or (design.critic_sees is Sees.OPENING and round_ == 0)
    how = {"round_": round_, "defends": told.get(Role.CRITIC), "sees_passage": sees}
    return await _speak(talk, Role.CRITIC, template, heard, **how)


async def _speak(talk: Argument, role: Role, template: str, heard: Sequence[Turn], **how: Any) -> Turn:
    """A debater's turn; in a design with `fresh_turns` another one, asked for once, if it repeats an earlier one."""
    design = talk.setup.choices.design
    turn = await talk.ask(role, template, heard=heard, temperature=design.debater_temperature, **how)
    if not design.fresh_turns or not says_again(turn.text, [own.text for own in heard if own.role is role]):
        return turn
    how |= {"temperature": FRESH_TEMPERATURE, "side": role.value.capitalize(), "reply": turn.text}
    repeated = talk.withdrawn(turn, ASKED_AGAIN)
    return await talk.ask(role, "debater_fresh", heard=[*heard, repeated], transcript=heard, **how)


async def _judge(talk: Argument, item: Item, told: Assigned, heard: Sequence[Turn], round_: int) -> tuple[Turn, ...]:
    """The Judge sees question and transcript and rules, once or in several draws; what cannot be read is UNPARSED.

    Question and passage are the item's own, also where the transcript is not (placebo). A reply without its line is
    shown to the Judge again, who is asked for that line: that reply does not count; the Judge's next one does.
    """
    design = talk.setup.choices.design
    template = "judge_shown" if design.says_what_critic_sees else "judge"
    if design.judge_hears is Hears.NOTHING:
        template = "judge_alone"
    sees, shown = design.judge_sees_passage, _shown(design.judge_hears, told, heard)
    how: dict[str, Any] = {"round_": round_, "heard": heard, "sees_passage": sees, "rules": readers.verdict}
    how |= {"question": item.question, "passage": item.context if sees else None, "transcript": shown}
    ask = partial(talk.draw, Role.JUDGE, template, **how)
    temperature = design.judge_temperature if design.judge_draws > 1 else 0.0
    rulings = await ask(draws=design.judge_draws, temperature=temperature, reply="")

    async def repaired(ruling: Turn) -> tuple[Turn, ...]:
        if ruling.verdict is not Verdict.UNPARSED or not design.repair:
            return (ruling,)
        return (talk.withdrawn(ruling), *await ask(reply=ruling.text, speaker=ruling.speaker))

    return tuple(chain.from_iterable(await asyncio.gather(*map(repaired, rulings))))


def _shown(hears: Hears, told: Assigned, heard: Sequence[Turn]) -> Sequence[Turn]:
    """The transcript in the Judge's prompt, which differs from the debate in the controls alone."""

    def only(role: Role, text: str) -> Turn:
        return Turn(round=0, role=role, text=text, saw_passage=False, saw_turns=(), request_digest="")

    match hears:
        case Hears.ANSWERS:  # each debater says its answer and nothing else
            return [only(role, f"{answer}.") for role, answer in told.items()]
        case Hears.CRITIQUE:
            return [only(Role.DEFENDER, f"{told[Role.DEFENDER]}."), *heard]
        case Hears.DEFENDER | Hears.CRITIC:
            silent = _OTHER[Role(hears)]
            return [only(silent, f"(The {silent.value.capitalize()} takes no part in this debate.)"), *heard]
        case Hears.SWAPPED:
            return [replace(turn, role=_OTHER[turn.role]) for turn in heard]
        case _:
            return heard


async def _settled(rulings: Sequence[RulingTask], early_stop: int | None) -> bool:
    """Whether the last verdicts, as many as `early_stop` asks for, are equal and could be read."""
    if early_stop is None or len(rulings) < early_stop:
        return False
    last = {_verdict(await ruling) for ruling in rulings[-early_stop:]}
    return len(last) == 1 and Verdict.UNPARSED not in last


def _verdict(ruling: Sequence[Turn]) -> Verdict:
    return majority_verdict([turn.verdict for turn in ruling if turn.verdict is not None])
