"""Gradients of one step's rows, shared between processes: each takes a part of the rows, and their sums are added.

A second process uses a second core better than a second thread does: the matrices are small. The parameters lie in
shared memory, so nothing but rows and gradients travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import attention  # noqa: F401 (registers itself, in the helpers too)
import torch
from batches import Encoded, buckets
from torch import multiprocessing
from torch.nn import functional
from transformers import LlamaForCausalLM


def add_gradients(model: LlamaForCausalLM, rows: Sequence[Encoded], pad: int, total: float, bf16: bool) -> float:
    """Adds the gradient of the rows' weighted loss, divided by ``total``, to the model's; returns that loss."""
    loss = 0.0
    for ids, weights in buckets(rows, pad):
        ids, weights = ids.to(model.device), weights[:, 1:].reshape(-1).to(model.device)
        with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=bf16):
            hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        taught = weights.nonzero()[:, 0]
        states = hidden[:, :-1].reshape(-1, hidden.shape[-1])[taught].float()
        logits = functional.linear(states, model.lm_head.weight)
        each = functional.cross_entropy(logits, ids[:, 1:].reshape(-1)[taught], reduction="none")
        part = (each * weights[taught]).sum() / total
        part.backward()
        loss += float(part.detach())
    return loss


def _help(model: LlamaForCausalLM, sums: list[torch.Tensor], pipe: Connection, settings: dict[str, Any]) -> None:
    """A helper process: rows in, loss out, the gradient into ``sums``; ends when the pipe closes."""
    torch.set_num_threads(settings.pop("threads"))
    while True:
        try:
            rows, total = pipe.recv()
        except EOFError:
            return
        loss = add_gradients(model, rows, total=total, **settings)
        for parameter, out in zip(model.parameters(), sums, strict=True):
            out.zero_() if parameter.grad is None else out.copy_(parameter.grad)
            parameter.grad = None
        pipe.send(loss)


def shared_out(rows: Sequence[Encoded], parts: int) -> list[list[Encoded]]:
    """Rows of similar length together, so that few are padded; about as many tokens in each part."""
    by_length = sorted(rows, key=lambda row: len(row[0]))
    total, before = sum(len(ids) for ids, _ in rows), 0
    shares: list[list[Encoded]] = [[] for _ in range(parts)]
    for row in by_length:
        shares[before * parts // total].append(row)
        before += len(row[0])
    return shares


class Gradients:
    """One step's gradient on ``processes`` processes (one is this one; on a GPU it is alone)."""

    def __init__(self, model: LlamaForCausalLM, pad: int, *, processes: int, threads: int, bf16: bool) -> None:
        self.model, self.settings = model, {"pad": pad, "bf16": bf16}
        self.pipes: list[Connection] = []
        self.sums: list[list[torch.Tensor]] = []
        if processes > 1 and model.device.type == "cpu":
            model.share_memory()
            start = multiprocessing.get_context("spawn")
            for _ in range(processes - 1):
                here, there = start.Pipe()
                sums = [torch.zeros_like(p).share_memory_() for p in model.parameters()]
                helper = start.Process(
                    target=_help, args=(model, sums, there, {**self.settings, "threads": threads}), daemon=True
                )
                helper.start()
                there.close()
                self.pipes.append(here)
                self.sums.append(sums)

    def add(self, rows: Sequence[Encoded], total: float) -> float:
        """Adds the gradient to the model's parameters; returns the loss. The same rows give the same sum."""
        shares = shared_out(rows, len(self.pipes) + 1)
        for pipe, share in zip(self.pipes, shares[1:], strict=True):
            pipe.send((share, total))
        loss = add_gradients(self.model, shares[0], total=total, **self.settings)
        for pipe, sums in zip(self.pipes, self.sums, strict=True):
            loss += pipe.recv()
            for parameter, found in zip(self.model.parameters(), sums, strict=True):
                parameter.grad = found.clone() if parameter.grad is None else parameter.grad.add_(found)
        return loss
