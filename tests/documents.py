"""Items with several documents, and replies in the form that their debates ask for."""

import json
from collections.abc import Callable, Sequence

from srdcr_lab.records import AnswerType, Document, DocumentKind, Item, Request
from tests.scripted import question_of

TRUE, FALSE, NOISE = DocumentKind.CORRECT, DocumentKind.MISINFO, DocumentKind.NOISE


def documents(*years: int | None, sources: Sequence[str] = ()) -> tuple[Document, ...]:
    """One document a year, which says that year; None makes one that says nothing. 1874 is the truth."""
    return tuple(
        Document(
            document_id=str(i),
            text=f"DOC{i} opened in {year}." if year else f"DOC{i} is about geese.",
            source=sources[i - 1] if sources else "",
            kind=NOISE if year is None else TRUE if year == 1874 else FALSE,
            answer=str(year or ""),
        )
        for i, year in enumerate(years, start=1)
    )


def item(
    *years: int | None, question_id: str = "q1", sources: Sequence[str] = (), golds: Sequence[int] = (1874,)
) -> Item:
    """When was the hall opened? In 1874; the documents say these years."""
    found = documents(*years, sources=sources)
    return Item(
        item_id=question_id, question_id=question_id, question=f"When was the hall {question_id} opened?",
        gold_answer=str(golds[0]), other_gold_answers=tuple(map(str, golds[1:])),
        wrong_answers=tuple(dict.fromkeys(each.answer for each in found if each.kind is FALSE)), context="",
        claimed_answer=str(golds[0]), domain="history", answer_type=AnswerType.YEAR, documents=found,
    )  # fmt: skip


def shown(request: Request) -> list[int]:
    """Numbers of the documents in a prompt."""
    return [i for i in range(1, 60) if f"DOC{i} " in question_of(request)]


def year_in(request: Request) -> str | None:
    """The year in the prompt's first document; None where it has none."""
    _, found, rest = question_of(request).partition("</document>")[0].partition("opened in ")
    return rest[:4] if found else None


def says_what_it_reads(request: Request, draw: int) -> str:
    """An agent who stands by its document."""
    year = year_in(request)
    return f"{year}. My document says so." if year else "Unknown. My document is about geese."


def thesis(answer: str | None, *steps: str) -> str:
    return json.dumps({"answer": answer, "chain_of_thought": list(steps) or ["My document says so."]})


def thesis_of_document(request: Request, draw: int) -> str:
    return thesis(year_in(request))


def challenges(**texts: str) -> str:
    """``challenges(d2="…")`` challenges the proponent of document 2."""
    return json.dumps({"challenges": [{"document": int(name[1:]), "challenge": text} for name, text in texts.items()]})


def rebuttal(state: str, answer: str | None, *steps: str) -> str:
    return json.dumps({"state": state, "answer": answer, "chain_of_thought": list(steps) or ["I have looked again."]})


def in_turn(*replies: str) -> Callable[[Request, int], str]:
    """Another reply each time it is asked, the last one for ever."""
    left = list(replies)
    return lambda request, draw: left.pop(0) if len(left) > 1 else left[0]
