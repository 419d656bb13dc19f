"""Replies written by hand in a model's place: what every speaker says is known, so a protocol can be watched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import pandas as pd

from srdcr_lab import prompts
from srdcr_lab.data import ItemSet
from srdcr_lab.data.sets import SOURCES, reports
from srdcr_lab.measures.reliability import Recovery, recovery
from srdcr_lab.records import (
    AnswerType,
    Capabilities,
    Completion,
    Document,
    DocumentKind,
    Item,
    ModelIdentity,
    Request,
    SrdcrError,
)

Lines = Mapping[str, Sequence[tuple[str, str]]]


class Script:
    """A `ChatModel` that reads from a script.

    Parameters
    ----------
    lines : template → (words, reply) pairs; the first pair whose words stand in the last user message is the reply.
    name : what the tables call it.
    """

    def __init__(self, lines: Lines, name: str = "a script by hand") -> None:
        self.identity = ModelIdentity("script", name)
        self.capabilities = Capabilities(logprobs=False)
        self._lines = {prompts.system_text(template): pairs for template, pairs in lines.items()}

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """The scripted reply, for every draw.

        Raises
        ------
        SrdcrError
            If the script has none.
        """
        asked = request.messages[-1].content
        for words, reply in self._lines.get(request.messages[0].content, ()):
            if words in asked:
                tokens = [sum(len(m.content.split()) for m in request.messages), len(reply.split())]
                return tuple(Completion(reply, draw, None, None, prompt_tokens=tokens[0], completion_tokens=tokens[1])
                             for draw in request.draws)  # fmt: skip
        raise SrdcrError(f"the script has no reply to the prompt that ends in {asked[-60:]!r}")

    async def aclose(self) -> None:
        """Nothing to let go of."""


# -- a statement against a category tag: one question, two documents, and how four systems may go about them

STATEMENT = (
    "The Salt Lantern is a 1979 drama about a lighthouse keeper and her two brothers. It was directed by Ines Holt, "
    "who had made her name with short films about fishermen. The outdoor scenes were shot in nine days between storms."
)
TAG = (
    "The Salt Lantern was photographed on the skerries north of Marnow. Its score, for harmonium and two violins, was "
    "recorded in a village church. Categories: 1979 films; drama films; films set on islands; films directed by Raul "
    "Medin."
)

FILM = Item(
    item_id="film",
    question_id="film",
    question="Who directed the film The Salt Lantern?",
    gold_answer="Ines Holt",
    wrong_answers=("Raul Medin",),
    context="",
    claimed_answer="Ines Holt",
    domain="film",
    answer_type=AnswerType.NAME,
    documents=(
        Document(document_id="1", text=STATEMENT, kind=DocumentKind.CORRECT, answer="Ines Holt"),
        Document(document_id="2", text=TAG, kind=DocumentKind.MISINFO, answer="Raul Medin"),
    ),
)


_BOTH = "answers: Ines Holt | Raul Medin"
_ASKED = "The question asks who directed the film."


def _object(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _thesis(answer: str, evidence: str) -> tuple[str, str]:
    """The line of the proponent whose document names the answer."""
    return f"directed by {answer}", _object(answer=answer, chain_of_thought=[_ASKED, evidence])


_LINES = {
    "documents_together": [("", f"One document names Ines Holt, the other Raul Medin.\n{_BOTH}")],
    "document_agent": [
        ("directed by Ines Holt", "Ines Holt. My document says that she directed it."),
        ("directed by Raul Medin", "Raul Medin. My document lists it among the films directed by him."),
    ],
    "documents_aggregator": [("", f"The agents contradict each other, and neither gives way.\n{_BOTH}")],
    "proponent_thesis": [
        _thesis("Ines Holt", "My document says: 'It was directed by Ines Holt'."),
        _thesis("Raul Medin", "My document has the category 'films directed by Raul Medin'."),
    ],
    "devils_advocate": [("", _object(challenges=[{"document": 2, "challenge": (
        "Your thesis rests on a category tag. Document 1 states in its text: 'It was directed by Ines Holt'. Why "
        "should a tag outweigh a statement?"
    )}]))],
    "proponent_rebuttal": [("", _object(state="concede", answer="Ines Holt", chain_of_thought=[
        "Of who directed the film my document says nothing but in its category tag.",
        "A statement in the text is better evidence than a tag. I concede.",
    ]))],
    "documents_judge": [
        ("", "The thesis for Ines Holt was not faulted; the one for Raul Medin was withdrawn.\nanswers: Ines Holt")
    ],
}  # fmt: skip


def film() -> ItemSet:
    """The one question as a set, for `Study`; it brings no exemplars."""
    return ItemSet("film", (FILM,), ())


def film_script() -> Script:
    """What the speakers of `concatenate`, `madam_rag`, `ra_rag` and `dialectical` say about it."""
    return Script(_LINES)


# -- RA-RAG's estimate on sources of known accuracy: sources that err by themselves, and sources that collude

QUESTIONS = 200
_WEAKEST = tuple(sorted(SOURCES, key=SOURCES.__getitem__))
WORLDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "independent, many lies": {},
        "independent, one lie a question": {"lies": 1},
        "the 3 least accurate collude": {"colluding": _WEAKEST[:3]},
        "the 4 least accurate collude": {"colluding": _WEAKEST[:4]},
        "the 5 least accurate collude": {"colluding": _WEAKEST[:5]},
    }
)


def recovered(world: str, seed: int, n_questions: int = QUESTIONS) -> Recovery:
    """The estimate from the reports of one world, beside the truth."""
    said = reports(seed, n_questions=n_questions, **WORLDS[world])
    return recovery(said.questions, said.sources, said.answers, said.truth, said.accuracy)


def source_recovery(seeds: Iterable[int] = range(20), n_questions: int = QUESTIONS) -> pd.DataFrame:
    """One row per world × seed: `world`, `seed`, and the numbers of `srdcr_lab.measures.reliability.Recovery`."""
    names = [field.name for field in fields(Recovery) if field.name != "table"]
    rows = []
    for world in WORLDS:
        for seed in seeds:
            found = recovered(world, seed, n_questions)
            rows.append({"world": world, "seed": seed} | {name: getattr(found, name) for name in names})
    return pd.DataFrame(rows)
