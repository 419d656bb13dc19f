"""Two optimisers as one: Muon on the matrices inside the blocks, AdamW on embeddings and norms.

Muon steps along the orthogonalised momentum of a matrix, found by five Newton–Schulz iterations (Jordan et al., 2024).
"""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
MATRIX_RATE, OTHER_RATE = 0.01, 1.5e-3
MOMENTUM = 0.95
DECAY = 0.1


def orthogonalised(stack: torch.Tensor) -> torch.Tensor:
    """Nearest matrices with singular values near 1, for a stack (count, rows, columns) with rows ≤ columns.

    In bfloat16, as its authors do: only the directions matter.
    """
    a, b, c = COEFFICIENTS
    x = (stack / (stack.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.float()


class MuonAndAdam:
    """Steps all parameters of a model; matrices of one shape are orthogonalised together."""

    def __init__(self, model: nn.Module) -> None:
        self.matrices: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
        self.others: list[nn.Parameter] = []
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "embed" not in name:
                self.matrices[tuple(sorted(parameter.shape))].append(parameter)
            else:
                self.others.append(parameter)
        self.momentum = {p: torch.zeros_like(p) for group in self.matrices.values() for p in group}
        self.adam = torch.optim.AdamW(self.others, lr=OTHER_RATE, betas=(0.9, 0.98), weight_decay=0.0)

    def step(self, scale: float) -> None:
        """One step with both learning rates multiplied by ``scale``; gradients are cleared."""
        with torch.no_grad():
            nn.utils.clip_grad_norm_(self.others, 1.0)
            for group in self.adam.param_groups:
                group["lr"] = OTHER_RATE * scale
            self.adam.step()
            rate = MATRIX_RATE * scale
            for parameters in self.matrices.values():
                updates = []
                for p in parameters:
                    momentum = self.momentum[p].lerp_(p.grad, 1 - MOMENTUM)
                    update = p.grad.lerp(momentum, MOMENTUM)
                    updates.append(update if p.shape[0] <= p.shape[1] else update.T)
                for p, x in zip(parameters, orthogonalised(torch.stack(updates)), strict=True):
                    direction = x if p.shape[0] <= p.shape[1] else x.T
                    p.mul_(1 - rate * DECAY).add_(direction, alpha=-rate * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)
                    p.grad = None
            self.adam.zero_grad(set_to_none=True)
