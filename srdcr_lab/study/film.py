"""A statement against a category tag: one question, two documents, and how four systems may go about them.

The pattern is that of "Lahu Ke Do Rang" in the dialectical RAG paper (section 3): the text of one document says who
directed a film, the categories at the end of the other say otherwise. Film, persons and documents here are invented.
The script is written by hand, after the paper's own account: it shows who sees what, and is no evidence about any
model.
"""

from __future__ import annotations

import json

from srdcr_lab.data import ItemSet
from srdcr_lab.records import AnswerType, Document, DocumentKind, Item
from srdcr_lab.study.script import Script

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
