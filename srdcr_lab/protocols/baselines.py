"""The methods that SR-DCR is compared with [4, A.2]: plain answers, answers chosen by the truth or by confidence,
self-ask, RCI, Astute RAG, judge debate, naive debate, and ClashEval's token probabilities.
"""

import asyncio
import math
import random
from collections.abc import Sequence
from functools import partial

from srdcr_lab.answers import says_the_same
from srdcr_lab.lib.definitions import mean_probability, more_probable
from srdcr_lab.protocols import answering
from srdcr_lab.protocols.answering import Answer, Argument, Outcome, Setup, answered, context_answer, prior_answer
from srdcr_lab.records import CallFailed, ConfidenceKind, Decision, Exemplar, Item, Role, Turn

SELF_ASK_TOKENS, RCI_TOKENS, JUDGE_DEBATE_TOKENS, NAIVE_DEBATE_TOKENS = 400, 300, 300, 250  # of each reply
ASTUTE_TOKENS = 400
AGENTS, ROUNDS = 3, 5  # of the naive debate
VOTES = 20  # the calls of SR-DCR with six rounds: two answers, and three turns a round


async def few_shot(item: Item, setup: Setup) -> Outcome:
    """The context answer: four seeded random in-domain exemplars, question and passage [A.2].

    For a closed-book question, the prior answer.
    """
    return answered(await (prior_answer if item.is_closed_book else context_answer)(item, setup))


async def few_shot_warned(item: Item, setup: Setup) -> Outcome:
    """Few-shot with one more sentence in its instructions: the passage may be wrong. Ours, not the paper's."""
    return answered(await context_answer(item, setup, "answer_with_passage_warned"))


async def zero_shot(item: Item, setup: Setup) -> Outcome:
    """The same without exemplars."""
    template = "answer_from_memory" if item.is_closed_book else "answer_with_passage"
    return answered(await answering.greedy_answer(item, setup, template))


async def vote(item: Item, setup: Setup) -> Outcome:
    """The most frequent of 20 sampled context answers, among equals the one drawn first: the calls of a debate, spent
    on self-consistency (Wang et al. 2023, arXiv 2203.11171). An oversight control, ours.
    """
    talk = answering.Conversation(item, setup, setup.choices.answer_tokens, setup.choices.sampling_temperature)
    shots = answering.worked(setup.random_exemplars(item))
    turns = await talk.draw(Role.AGENT, "answer_with_passage", shots=shots, draws=VOTES, stream="vote")
    return answered(talk.answer(answering.majority(turns, item), "vote"), talk.debate(turns))


async def golden(item: Item, setup: Setup) -> Outcome:
    """The context answer if the passage is true, otherwise the prior answer."""
    if item.is_standard:
        return answered(await context_answer(item, setup), decision=Decision.USE_CONTEXT)
    return answered(await prior_answer(item, setup), decision=Decision.USE_PRIOR)


async def confidence_only(item: Item, setup: Setup) -> Outcome:
    """The prior answer if Conf ≥ τ, otherwise the context answer (for a closed-book question none)."""
    if item.is_closed_book:
        prior, context, otherwise = await prior_answer(item, setup), None, Decision.ABSTAIN
    else:
        prior, context = await asyncio.gather(prior_answer(item, setup), context_answer(item, setup))
        otherwise = Decision.USE_CONTEXT
    confidence = await answering.self_confidence(item, prior, setup)
    sure = confidence.value >= setup.choices.tau  # NaN is not
    return answering.select_answer(Decision.USE_PRIOR if sure else otherwise, context, prior, confidence=confidence)


async def self_ask(item: Item, setup: Setup) -> Outcome:
    """One reply of three lines: an intermediate question, its answer, and ``Final answer: …``; only the last line is
    read.
    """
    talk = answering.FinalLine(item, setup, SELF_ASK_TOKENS)
    turn = await talk.ask(Role.AGENT, "self_ask")
    return answered(talk.answer(turn), talk.debate([turn]))


async def rci(item: Item, setup: Setup) -> Outcome:
    """Recursive criticism and improvement: answer, criticise the answer, improve it."""
    talk = answering.Conversation(item, setup, RCI_TOKENS)
    first = await talk.ask(Role.AGENT, "answer_with_passage")
    shown = {"answer": first.text}
    critique = await talk.ask(Role.AGENT, "rci_critique", round_=1, heard=[first], reads=answering.no_answer, **shown)
    shown |= {"critique": critique.text}
    improved = await talk.ask(Role.AGENT, "rci_improve", round_=2, heard=[first, critique], **shown)
    return answered(talk.answer(improved), talk.debate([first, critique, improved]))


async def astute(item: Item, setup: Setup) -> Outcome:
    """Write down what memory holds, then consolidate it with the passage, source by source, and answer: two calls.

    After Astute RAG (Wang et al. 2024, arXiv 2410.07176), in our own words: for one passage, and with one round of
    consolidation, whose reply ends with the answer.
    """
    talk = answering.FinalLine(item, setup, ASTUTE_TOKENS)
    memory = await talk.ask(Role.AGENT, "astute_memory", sees_passage=False, reads=answering.no_answer)
    turn = await talk.ask(Role.AGENT, "astute_answer", round_=1, heard=[memory], reply=memory.text)
    return answered(talk.answer(turn), talk.debate([memory, turn]))


async def judge_debate(item: Item, setup: Setup, *, rounds: int) -> Outcome:
    """The answer that the Judge picks after the openings and `rounds` rounds: 2 + 2 + 2 · rounds + 1 calls.

    Two debaters see the passage; one defends its answer, the other the answer from memory. Both open at the same time.
    In later rounds the Defender (the paper's Agent A) speaks first and the Critic (Agent B) replies. Then the Judge,
    who sees question, passage and transcript, begins with an answer, which need not be one of the two. A longer debate
    begins like a shorter one. The paper does not say whether openings count as a round; here they do not.
    """
    talk = Argument(item, setup, JUDGE_DEBATE_TOKENS)
    context, prior = await asyncio.gather(context_answer(item, setup), prior_answer(item, setup))
    defender, critic = partial(_argue, talk, Role.DEFENDER, context), partial(_argue, talk, Role.CRITIC, prior)
    transcript = list(await asyncio.gather(defender((), 0), critic((), 0)))
    for round_ in range(1, rounds + 1):
        transcript.append(await defender(transcript, round_))
        transcript.append(await critic(transcript, round_))
    heard = transcript[: 2 * (1 + rounds - setup.choices.judge_debate_unheard)]
    ruling = await talk.ask(Role.JUDGE, "judge_debate_judge", round_=rounds, heard=heard)
    return answered(talk.answer(ruling), talk.debate([*transcript, ruling]))


async def _argue(talk: Argument, role: Role, answer: Answer, heard: Sequence[Turn], round_: int) -> Turn:
    """A debater sees question, passage and transcript, and defends its assigned answer."""
    side, template = role.value.capitalize(), "judge_debate_debater"
    return await talk.ask(role, template, round_=round_, heard=heard, defends=answer.defended, side=side)


async def naive_debate(item: Item, setup: Setup) -> Outcome:
    """Three agents answer separately, then see each other's answers and reconsider: three calls per round.

    The debate ends when all agree or after five rounds; then the most frequent answer counts. The first answers count
    as one of the five rounds, which the paper leaves open. Raises `CallFailed` if the exemplars are too few or too
    much alike to give each agent an order of its own.
    """
    talk = Argument(item, setup, NAIVE_DEBATE_TOKENS)
    latest = await asyncio.gather(*map(partial(_answer, talk), range(AGENTS), exemplar_orders(item, setup)))
    turns = [*latest]
    while not _agree(latest, item) and latest[0].round + 1 < ROUNDS:
        latest = await asyncio.gather(*map(partial(_reconsider, talk, tuple(turns)), latest))
        turns += latest
    agreed = latest[0].round if _agree(latest, item) else None
    return answered(talk.answer(answering.majority(latest, item)), talk.debate(turns), agreed_round=agreed)


def exemplar_orders(item: Item, setup: Setup) -> list[tuple[Exemplar, ...]]:
    """A seeded order of the item's exemplars for each agent, all different; the first is the few-shot baseline's."""
    first = setup.random_exemplars(item)
    if len(first) < AGENTS or len({*first}) == 1:  # no three orders
        found = f"there are {len(first)} for {item.domain}"
        raise CallFailed(f"naive_debate needs {AGENTS} exemplars or more, not all equal, for three orders; {found}")
    rng = random.Random(f"{setup.seed}|agents|{item.question_id}")
    orders = [first]
    while len(orders) < AGENTS:
        order = tuple(rng.sample(first, len(first)))
        if order not in orders:
            orders.append(order)
    return orders


async def _answer(talk: Argument, agent: int, exemplars: Sequence[Exemplar]) -> Turn:
    """Round 0: question and passage, without the others' answers."""
    shots = answering.worked(exemplars, ending=". I take this to be right.")
    return await talk.ask(Role.AGENT, "naive_debate_answer", speaker=f"agent-{agent}", shots=shots)


async def _reconsider(talk: Argument, turns: Sequence[Turn], own: Turn) -> Turn:
    """A later round: the agent's own last answer, and the others' answers of every round so far."""
    others = [turn for turn in turns if turn.speaker != own.speaker]
    how = {"speaker": own.speaker, "heard": [own, *others], "answer": own.text, "transcript": others}
    return await talk.ask(Role.AGENT, "naive_debate_reconsider", round_=own.round + 1, **how)


def _agree(turns: Sequence[Turn], item: Item) -> bool:
    return all(says_the_same(turn.stated_answer, turns[0].stated_answer, item) for turn in turns)


async def token_probability(item: Item, setup: Setup) -> Outcome:
    """The prior answer if its mean token probability is the higher one, otherwise the context answer.

    An answer that could not be read is never the more probable one; with neither read the outcome is UNPARSED. Raises
    `CallFailed` if the model gives no log-probabilities.
    """
    prior, context = await asyncio.gather(prior_answer(item, setup), context_answer(item, setup))
    of_prior, of_context = _probability(prior, item, setup), _probability(context, item, setup)
    confidence = answering.SelfConfidence(of_prior, ConfidenceKind.MEAN_PROBABILITY)
    decision = more_probable(of_prior, of_context)
    return answering.select_answer(decision, context, prior, confidence=confidence, context_confidence=of_context)


def _probability(answer: Answer, item: Item, setup: Setup) -> float:
    """Mean probability of the answer's tokens; NaN if no answer could be read."""
    if answer.value is None:
        return math.nan
    logprobs = answering.answer_logprobs(answer, item)
    if logprobs is None:
        raise CallFailed(f"{setup.cast.answerer.identity} gives no log-probabilities, which token_probability needs")
    return mean_probability(logprobs)
