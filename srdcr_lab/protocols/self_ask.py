"""Self-Ask [A.2]: a question on the way, its answer, the final answer, in one reply of three lines."""

from __future__ import annotations

from srdcr_lab import prompts
from srdcr_lab.prompts import parse
from srdcr_lab.protocols.answering import read
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import answer_of, speak
from srdcr_lab.records import Debate, Item, Role

MAX_TOKENS = 400


async def self_ask(item: Item, setup: Setup) -> Outcome:
    """One call; the answer is read from the last line, `Final answer: …`, and from nothing else."""

    def final(text: str) -> str | None:
        said = parse.final_answer(text)
        return None if said is None else read(said, item, setup.choices.match)

    messages = prompts.render("self_ask", question=item.question, passage=item.context)
    (turn,) = await speak(Role.AGENT, messages, setup, round_=0, max_tokens=MAX_TOKENS, states=final)
    return given(answer_of(turn, parse.final_answer(turn.text)), Debate(turns=(turn,), verdict_path=()))


SELF_ASK = Method("self_ask", self_ask)
