"""A chain of three questions, and a model that remembers, reads and rules by what is written here."""

import re
from typing import Any

import pandas as pd

from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.records import Completion, Item, Request
from srdcr_lab.study import Results, Study
from tests.scripted import REASONABLE, UNREASONABLE, ScriptedModel, exemplars, question_of

MAKER, HOME, CAPITAL = "Who made the Rocket?", "Where is {previous} from?", "What is the capital of {previous}?"
MEMORY = {"Rocket?": "Acme", "Acme from": "Peru", "Peru?": "Lima", "Bolt from": "Oslo", "Chad?": "Cairo"}
CLAIMS = {1: ("Bolt", "Cairo"), 2: ("Chad", "Cairo"), 3: ("Quito", "Quito")}  # false hop → its claim, the last answer


def chain(false: int = 0, name: str = "rocket") -> Item:
    """Acme made the Rocket, is from Peru, whose capital is Lima; the hop `false` says otherwise."""
    golds = ("Acme", "Peru", "Lima")
    said = [CLAIMS[false][0] if number == false else gold for number, gold in enumerate(golds, start=1)]
    texts = (f"HOP1: {said[0]} made the Rocket.", f"HOP2: Acme is from {said[1]}. Bolt is from Chad.",
             f"HOP3: The capital of Peru is {said[2]}. The capital of Chad is Cairo.")  # fmt: skip
    parts = zip((MAKER, HOME, CAPITAL), golds, said, texts, strict=True)
    keys = ("question", "gold_answer", "claimed_answer", "context")
    row = {"question": f"Capital of the home of the maker of the {name}?", "gold_answer": "Lima", "question_id": name,
           "item_id": f"{name}-{false}", "claimed_answer": CLAIMS[false][1] if false else "",
           "hops": [dict(zip(keys, part, strict=True)) for part in parts]}  # fmt: skip
    return load_items(pd.DataFrame([row])).items[0]


def remembers(request: Request, draw: int) -> Completion | str:
    text = next((said for asked, said in MEMORY.items() if asked in question_of(request)), "unknown")
    return Completion(text, tokens=(text,), logprobs=(-2.0 if text == "Lima" else -0.01,))


def reads(request: Request, draw: int) -> str:
    """What the passage says of the thing that the question asks about."""
    shown = question_of(request)
    if not (thing := re.search(r"(?:made the|is|capital of) (Rocket|\w+)(?: from)?\?", shown)):
        return "unknown"
    found = re.search(rf"(\w+) made the {thing[1]}\.|(?:{thing[1]} is from|capital of {thing[1]} is) (\w+)\.", shown)
    return next(filter(None, found.groups())) if found else "unknown"


def ruling(*suspicious: str) -> Any:
    return lambda request, draw: (
        UNREASONABLE if any(f"{name}. Mine" in question_of(request) for name in suspicious) else REASONABLE
    )


def ran(*items: Item, judge: Any = REASONABLE, names: str = "sr_dcr_per_hop") -> tuple[ScriptedModel, Results]:
    defends = {"defender": lambda request, draw: f"{reads(request, draw)}. Mine is read.", "judge": judge}
    script = {"answer_from_memory": remembers, "answer_with_passage": reads, "critic": "Well. I say so.", **defends}
    model = ScriptedModel(script)
    results = Study(model, ItemSet("chains", items, exemplars()), names, rounds=1, samples=0).run(progress=False)
    return model, results
