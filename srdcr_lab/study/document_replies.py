"""What a stand-in says in a dialectical debate when a run is planned: the shortest debate, or the longest."""

from __future__ import annotations

import json
import re
from functools import cache

from srdcr_lab.prompts import system_text
from srdcr_lab.records import Request

_NUMBER = re.compile(r'<document id="(\d+)">')
_AGAIN = "Reply again, with the JSON object alone."


@cache
def _template_of(system: str) -> str | None:
    """The template of a structured reply that a request was made from."""
    names = ("proponent_thesis", "devils_advocate", "proponent_rebuttal")
    return next((name for name in names if system == system_text(name)), None)


def document_reply(request: Request, answer: str, *, longest: bool) -> str | None:
    """The reply to a request for a JSON object; None for any other request.

    In the shortest debate nobody is challenged. In the longest all are, and every object comes at the second asking.
    """
    template, user = _template_of(request.messages[0].content), request.messages[-1].content
    if template is None:
        return None
    if longest and _AGAIN not in user:
        return f"{answer}. {request.digest}"
    steps = [request.digest]  # another prompt, another reply: nothing is shared by chance
    match template:
        case "proponent_thesis":
            return json.dumps({"answer": answer, "chain_of_thought": steps})
        case "proponent_rebuttal":
            return json.dumps({"state": "concede", "answer": None, "chain_of_thought": steps})
    faulted = sorted({int(number) for number in _NUMBER.findall(user)}) if longest else []
    return json.dumps({"challenges": [{"document": number, "challenge": request.digest} for number in faulted]})
