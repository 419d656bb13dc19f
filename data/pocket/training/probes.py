"""Quick looks at a model in training: does it learn to copy, compare, recall? Teacher-forced, a few seconds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from batches import Encoder, buckets
from disputes import balanced
from exposures import Exposure
from roles import critic_later, critic_row, defender_row, judge_row, judgement, transcript, up_to_comparison
from rows import Materials, Reading, Row, exchanges, row
from transformers import LlamaForCausalLM
from values import corrupted
from world import DOMAINS

from srdcr_lab.prompts import render

ROWS = 40


def accuracy(model: LlamaForCausalLM, encode: Encoder, rows: Sequence[Row]) -> float:
    """Share of rows whose tokens of weight 1 are all the model's first choice; NaN for no rows."""
    with torch.inference_mode():
        right: list[bool] = []
        for ids, weights in buckets(encode(rows), encode.pad):
            asked = weights[:, 1:] >= 1
            states = model.model(input_ids=ids.to(model.device), use_cache=False).last_hidden_state[:, :-1].cpu()[asked]
            wrong = torch.zeros(len(ids), dtype=torch.bool)
            missed = model.lm_head(states.to(model.device)).argmax(-1).cpu() != ids[:, 1:][asked]
            wrong[asked.nonzero()[:, 0][missed]] = True
            right += (~wrong).tolist()
        return sum(right) / len(right) if right else float("nan")


def _last_alone(pieces: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    return [*((text, 0.0) for text, _ in pieces[:-1]), (pieces[-1][0], 1.0)]


def comparisons(m: Materials, same: bool) -> dict[str, list[Row]]:
    """Rows that ask for nothing but same or different, as judge and as critic; half of the differences are small."""
    rows: dict[str, list[Row]] = {"judge": [], "critic": []}
    while len(rows["judge"]) < 2 * ROWS:
        d = balanced(m)
        if d.agree == same:
            turns = transcript(d, 0, m)
            for template, said in (("judge", judgement(d)), ("critic", critic_later(d))):
                prompt = render(template, question=d.fact.question, passage="", transcript=turns, reply="")
                rows[template].append(row(prompt, _last_alone(up_to_comparison(said)), 0.0))
    return rows


def readings(m: Materials, make: Callable[[], Reading], shots: int) -> list[Row]:
    """Four-sentence passages after ``shots`` exemplars."""
    out = []
    for _ in range(ROWS):
        told = make()
        fields = {"question": told.fact.question, "passage": m.world.passage(told.fact, told.claim, m.r, 3)}
        parts = [
            ({"question": e.question, "passage": e.context}, e.answer, 0.0)
            for e in m.r.sample(m.exemplars[told.fact.domain], shots)
        ]
        out.append(exchanges("answer_with_passage", [*parts, (fields, told.truth, 1.0)]))
    return out


def probe(
    model: LlamaForCausalLM, encode: Encoder, materials: Materials, planned: Sequence[Exposure]
) -> dict[str, float]:
    """Name → accuracy. Uses its own generator, so that probing does not change the run."""
    m = replace(materials, r=random.Random(1), near_misses=True)
    rows: dict[str, list[Row]] = {}
    for same in (True, False):
        rows |= {f"{role}-{'same' if same else 'diff'}": made for role, made in comparisons(m, same).items()}
    if planned:
        rows |= _learned(m, planned)
    return {name: accuracy(model, encode, made) for name, made in rows.items()}


def _learned(m: Materials, planned: Sequence[Exposure]) -> dict[str, list[Row]]:
    """Copying by kind of answer, resisting, recall by exposure, and the roles."""
    certain = [i for i, fact in enumerate(m.planned) if fact.true_share == 1]
    known = sorted(certain, key=lambda i: -m.planned[i].exposures)[: max(1, len(m.facts) // 4)]

    def fresh(domain: str) -> Reading:
        fact = m.world.fact(m.r, domain=domain)
        return Reading(fact, fact.answer, fact.answer)

    def against() -> Reading:
        fact = m.facts[m.r.choice(known)]
        return Reading(fact, corrupted(fact.answer, fact.values, m.r), fact.answer)

    def recalled(low: int, high: int, template: str) -> list[Row]:
        told = [of.asked for of in planned if of.true_share == 1 and low <= of.exposures < high]
        extra: dict[str, Any] = {"passage": "", "transcript": ()} if template == "critic" else {}
        stop = "." if extra else ""
        return [row(render(template, question=t.question, **extra), [(t.answer + stop, 1.0)], 0.0) for t in told]

    rows = {f"copy-{domain}": readings(m, partial(fresh, domain), 0) for domain in DOMAINS}
    rows |= {"copy4": readings(m, partial(fresh, ""), 4), "resist": readings(m, against, 0)}
    for low, high in ((1, 6), (6, 16), (16, 50), (50, 1000)):
        rows[f"recall{low}+"] = recalled(low, high, "answer_from_memory")
    rows["critic50+"] = recalled(50, 1000, "critic")
    makers = {"defender": defender_row, "critic": critic_row, "verdict": judge_row}
    return rows | {name: [make(m) for _ in range(ROWS)] for name, make in makers.items()}
