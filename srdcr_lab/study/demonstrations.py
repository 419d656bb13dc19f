"""Two demonstrations that need no model: a debate about a film from a script, and sources of known accuracy.

The script (`film.json`) is a question with two documents, one of which states the answer while the other has a false
category tag, and what every speaker says about it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab import prompts
from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.sources import SOURCES, reports
from srdcr_lab.documents import recovery
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
from srdcr_lab.study.opening import AbsentModel

_CONTENT = json.loads(Path(__file__).with_name("film.json").read_text("utf-8"))
FILM = Item(
    item_id="film",
    question_id="film",
    question=_CONTENT["question"],
    gold_answer=_CONTENT["gold_answer"],
    wrong_answers=tuple(_CONTENT["wrong_answers"]),
    context="",
    claimed_answer=_CONTENT["gold_answer"],
    domain="film",
    answer_type=AnswerType.NAME,
    documents=tuple(Document(**{**fields, "kind": DocumentKind(fields["kind"])}) for fields in _CONTENT["documents"]),
)


def film() -> ItemSet:
    """The one question as a set, for `Study`; it brings no exemplars."""
    return ItemSet("film", (FILM,), ())


def film_script() -> Script:
    """What the speakers of `concatenate`, `madam_rag`, `ra_rag` and `dialectical` say about it."""
    return Script(_CONTENT["lines"])


class Script(AbsentModel):
    """A `ChatModel` that reads from a script: a template's (words, reply) pairs, of which the first whose words are in
    the last user message gives the reply to every draw."""

    def __init__(self, lines: Mapping[str, Sequence[Sequence[str]]]) -> None:
        super().__init__(ModelIdentity("script", "a script by hand"), Capabilities(logprobs=False))
        self._lines = {prompts.system_text(template): pairs for template, pairs in lines.items()}

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        user = request.messages[-1].content
        for words, reply in self._lines.get(request.messages[0].content, ()):
            if words in user:
                n_prompt = sum(len(message.content.split()) for message in request.messages)
                n_reply = len(reply.split())
                return tuple(
                    Completion(reply, draw, prompt_tokens=n_prompt, completion_tokens=n_reply) for draw in request.draws
                )
        raise SrdcrError(f"the script has no reply to the prompt that ends in {user[-60:]!r}")


QUESTIONS = 200
_WEAKEST = sorted(SOURCES, key=SOURCES.__getitem__)
WORLDS: Mapping[str, Mapping[str, Any]] = {
    "independent, many lies": {},
    "independent, one lie a question": {"lies": 1},
    **{f"the {n} least accurate collude": {"colluding": tuple(_WEAKEST[:n])} for n in (3, 4, 5)},
}


def source_recovery(seeds: Iterable[int] = range(20), n_questions: int = QUESTIONS) -> pd.DataFrame:
    """How well RA-RAG estimates the reliability of sources that err by themselves or collude: one row per world × seed,
    with the numbers of `srdcr_lab.documents.recovery`."""
    rows = []
    for world, settings in WORLDS.items():
        for seed in seeds:
            made = reports(seed, n_questions=n_questions, **settings)
            numbers = recovery(made.questions, made.sources, made.answers, made.truth, made.accuracy)
            rows.append({"world": world, "seed": seed} | numbers)
    return pd.DataFrame(rows)
