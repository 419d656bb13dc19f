"""Quick looks at a model in training: does it learn to copy, compare, recall? Teacher-forced, a few seconds in all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from batches import Encoder
from exposures import Exposure
from roles import balanced, critic_later, critic_row, judge_row, judgement, transcript
from rows import Materials, Reading, Row, exchanges, row
from transformers import LlamaForCausalLM
from world import corrupted

from srdcr_lab.prompts import render

ROWS = 40


def accuracy(model: LlamaForCausalLM, encode: Encoder, rows: Sequence[Row]) -> float:
    """Share of rows whose tokens of weight 1 are all the model's first choice; NaN for no rows."""
    with torch.inference_mode():
        right: list[bool] = []
        for ids, weights in encode.buckets(encode(rows)):
            asked = weights[:, 1:] >= 1
            states = model.model(input_ids=ids.to(model.device), use_cache=False).last_hidden_state[:, :-1].cpu()[asked]
            wrong = torch.zeros(len(ids), dtype=torch.bool)
            missed = model.lm_head(states.to(model.device)).argmax(-1).cpu() != ids[:, 1:][asked]
            wrong[asked.nonzero()[:, 0][missed]] = True
            right += (~wrong).tolist()
        return sum(right) / len(right) if right else float("nan")


def _only(pieces: Sequence[tuple[str, float]], place: int) -> list[tuple[str, float]]:
    return [(text, 1.0 if index == place else 0.0) for index, (text, _) in enumerate(pieces[: place + 1])]


def comparisons(m: Materials, same: bool) -> dict[str, list[Row]]:
    """Rows that ask for nothing but same or different, as judge and as later critic."""
    judged: list[Row] = []
    argued: list[Row] = []
    while len(judged) < ROWS:
        d = balanced(m)
        if d.agree == same:
            turns = transcript(d, 0, m)
            judged.append(
                row(
                    render("judge", question=d.fact.question, passage="", transcript=turns), _only(judgement(d), 4), 0.0
                )
            )
            argued.append(
                row(
                    render("critic", question=d.fact.question, passage="", transcript=turns),
                    _only(critic_later(d), 4),
                    0.0,
                )
            )
    return {"judge": judged, "critic": argued}


def readings(m: Materials, make: Callable[[], Reading], shots: int) -> list[Row]:
    """Four-sentence passages after ``shots`` exemplars."""
    out = []
    for _ in range(ROWS):
        told = make()
        fields = {"question": told.fact.question, "passage": m.world.passage(told.fact, told.claim, m.r, 3)}
        parts = [
            ({"question": e.question, "passage": e.context}, e.answer, 0.0) for e in m.r.sample(m.exemplars, shots)
        ]
        out.append(exchanges("answer_with_passage", [*parts, (fields, told.truth, 1.0)]))
    return out


def probe(
    model: LlamaForCausalLM, encode: Encoder, materials: Materials, planned: Sequence[Exposure]
) -> dict[str, float]:
    """Name → accuracy. Uses its own generator, so that probing does not change the run."""
    m = replace(materials, r=random.Random(1))
    m.beliefs = materials.beliefs
    known = sorted(
        (i for i, fact in enumerate(m.planned) if fact.true_share == 1), key=lambda i: -m.planned[i].exposures
    )[: max(1, len(m.facts) // 4)]

    def fresh() -> Reading:
        fact = m.world.fact(m.r)
        return Reading(fact, fact.answer, fact.answer)

    def against() -> Reading:
        fact = m.facts[m.r.choice(known)]
        return Reading(fact, corrupted(fact.answer, m.r), fact.answer)

    def recall(facts: Sequence[tuple[str, str]], template: str) -> list[Row]:
        extra: dict[str, Any] = {"passage": "", "transcript": ()} if template == "critic" else {}
        return [
            row(render(template, question=q, **extra), [(a + ".", 1.0)] if extra else [(a, 1.0)], 0.0) for q, a in facts
        ]

    rows: dict[str, list[Row]] = {}
    for same in (True, False):
        rows |= {f"{role}-{'same' if same else 'diff'}": made for role, made in comparisons(m, same).items()}
    if planned:
        often = [(fact.question, fact.answer) for fact in planned if fact.true_share == 1 and fact.exposures >= 60]
        world = [(m.facts[i].question, m.facts[i].answer) for i in known[:: max(1, len(known) // ROWS)]]
        rows |= {"copy": readings(m, fresh, 0), "copy4": readings(m, fresh, 4), "resist": readings(m, against, 0)}
        rows |= {
            "world": recall(world, "answer_from_memory"),
            "eval60+": recall(often, "answer_from_memory"),
            "critic60+": recall(often, "critic"),
        }
        rows |= {"critic": [critic_row(m) for _ in range(ROWS)], "verdict": [judge_row(m) for _ in range(2 * ROWS)]}
    return {name: accuracy(model, encode, made) for name, made in rows.items()}
