"""What a notebook shows of a run without a kernel: one debate, two side by side, the answers to one question.

Plain HTML, from the tables of a run; no model is called. Which case is shown is a rule's choice, so it shows no rate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab.lib.page import Html, Td, html_table, interval, render, shown
from srdcr_lab.records import BadInput, Item, Level
from srdcr_lab.records.names import called, category_called, kind_called
from srdcr_lab.transcripts.cases import Cases, judged, passage_of
from srdcr_lab.transcripts.explorer import store_of
from srdcr_lab.transcripts.views import DECISIONS, messages_in, passage_html

if TYPE_CHECKING:
    from srdcr_lab.study import Results

_KEY_NUMBERS = (
    "design", "condition", "n", "coverage", "accuracy", "selective_accuracy", "verdict_tpr", "verdict_tnr",
)  # fmt: skip
_LEFT = "text-align: left; vertical-align: top"


def example_html(run: Results, method: str = "sr_dcr", *, store: str | Path | None = None) -> Html:
    """A method's key numbers in the run, and below them one whole case, as plain HTML: the first debate over a false
    passage, whatever came of it. `store`: as in `explorer`."""
    cases, numbers = Cases.of(run, [method]), run.summary[run.summary["method"] == method]
    if not len(cases):
        known = ", ".join(run.records["method"].unique())
        raise BadInput(f"the run in {run.folder} has no row of the method {method!r:.60}; give one of {known}")
    kept = [name for name in _KEY_NUMBERS if name in numbers and numbers[name].notna().any()]
    with messages_in(store_of(run, store)) as sent:
        return Html(shown(numbers[kept], run.label) + cases.html(cases.start, sent=sent))


def contested(run: Results, design: str = "acvd", *, among: Collection[str] = ()) -> Item:
    """The item whose debate `Cases.contested` takes; bad input where the run holds no debate of this design.

    `among`: ids of items of which it is to be one, such as those of another run; where it holds none of them, of all.
    """
    records = run.records[run.records["design"] == design]
    shared = records[records["item_id"].isin(list(among))]
    cases = Cases(records if shared.empty else shared, run.turns, run.items, ["sr_dcr"])
    if (place := cases.contested) is None:
        raise BadInput(f"{run.folder.name} of {run.label} holds no debate ({called(design)})")
    return cases.items[cases.rows[place]["item_id"]]


def beside_html(
    runs: Sequence[Results], item_id: str, designs: Sequence[str] = ("acvd",), *, store: str | Path | None = None
) -> Html:
    """One item's debates of SR-DCR, round beside round: a column for each of these designs that a run held of it.

    Of runs of one model and design the first is shown. `store`: that of the runs without one of their own. Bad input
    where no run held any.
    """
    columns: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        cases = Cases.of(run, ["sr_dcr"], designs)
        held = [place for place in range(len(cases)) if cases.key(place)[0] == item_id]
        with messages_in(store_of(run, run.store or store) if held else None) as sent:
            for place in held:
                name = f"{run.label} · {called('sr_dcr', cases.rows[place]['design'])}"
                if name not in columns:
                    columns[name] = cases.column(place, name, sent)
    if not columns:
        raise BadInput(f"none of these runs holds a debate ({', '.join(map(called, designs))}) of {item_id}")
    numbers = sorted({number for case in columns.values() for number in case["rounds"]})
    return render("transcript", "beside", cases=list(columns.values()), numbers=numbers)


def answers_html(run: Results, question_id: str | None = None, methods: Sequence[str] = ("few_shot", "sr_dcr")) -> Html:
    """One question as the run asked it: the prior answer with its confidence, the answers drawn without a passage, and
    what these methods made of each passage. By default the first question whose draws differ."""
    draws = run.samples[run.samples["stream"] == "knowledge"]
    questions = run.questions.set_index("question_id")
    if question_id is None:
        drawn = draws.groupby("question_id", sort=False)["answer"].nunique(dropna=False)
        question_id = next((name for name in questions.index if drawn.get(name, 0) > 1), questions.index[0])
    if question_id not in questions.index:
        raise BadInput(f"the run in {run.folder} has no question {question_id!r:.60}")
    cases = Cases(run.records[run.records["question_id"] == question_id], run.turns.iloc[:0], run.items)
    read = [row for row in cases.rows if (item := cases.items.get(row["item_id"])) and item.context]
    given = [row for row in read if row["method"] in methods]
    first = next((row for row in given if row["level"] != Level.STANDARD), (given or cases.rows)[0])
    passage = passage_html(cases.items[first["item_id"]]) if given else ""
    facts = _known(questions.loc[question_id], run.samples[run.samples["question_id"] == question_id])
    parts = [
        render("transcript", "asked", row=first, item=None, passage=passage),
        html_table((), [(Td(name, _LEFT, head=True), Td(value, _LEFT)) for name, value in facts.items() if value]),
    ]
    if len(drawn := draws[draws["question_id"] == question_id]):
        counts = drawn.fillna({"answer": "(not read)"}).groupby("answer")["correct"].agg(["size", "any"])
        rows = sorted(counts.itertuples(), key=lambda row: -row[1])
        lines = [(Td(name, _LEFT), n, judged("", right).strip(" ()")) for name, n, right in rows]
        parts.append(html_table(["drawn without a passage", "draws", ""], lines))
    if given:
        parts.append(html_table(_ANSWERED, [[Td(cell, _LEFT) for cell in _answered(row)] for row in given]))
    return Html("".join((*parts, render("parts", "paragraphs", lines=[run.label]))))


_ANSWERED = ("passage", "it claims", "method", "answer", "that is", "verdict", "decision")


def _known(question: pd.Series, samples: pd.DataFrame) -> dict[str, str]:
    """What is known of a row of `Results.questions`; nothing where it is missing."""
    known: dict[Any, Any] = {name: None if pd.isna(value) else value for name, value in question.items()}
    ends = (known["sampled_accuracy"], known["accuracy_low"], known["accuracy_high"])
    reply = samples[samples["stream"] == "greedy"].head(1)
    return {
        "right answer": str(known["gold_answer"]),
        "prior answer": judged(known["prior_answer"], known["prior_correct"]),
        "self-confidence": "" if known["self_confidence"] is None
        else f"{known['self_confidence']:.3f} ({kind_called(known['confidence_kind'])})",
        "tokens of that reply, with their probabilities": " ".join(
            f"{token!r} {math.exp(p):.3f}" for tokens, ps in zip(reply["tokens"], reply["logprobs"], strict=True)
            if tokens is not None for token, p in zip(tokens, ps, strict=True)
        ),
        "sampled accuracy": "" if ends[0] is None else f"{interval(*ends)} of {known['n_samples']} draws",
        "knowledge category": category_called(known["knowledge_category"]),
    }  # fmt: skip


def _answered(row: Mapping[str, Any]) -> tuple[str, ...]:
    """A line of `_ANSWERED`."""
    whose = (("the passage's", row["final_is_claim"]), ("memory's", row["final_is_prior"]))
    said = row["missing"] if row["final_answer"] is None else judged(row["final_answer"], row["correct"])
    return (
        passage_of(row), row["claimed_answer"], called(row["method"], row["design"]), said,
        " and ".join(name for name, same in whose if same), row["verdict"] or "", DECISIONS.get(row["decision"], ""),
    )  # fmt: skip
