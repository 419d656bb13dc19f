"""Greedy and sampled replies of the model in training; identical partial draws share one forward pass.

Small on purpose: the package's own adapter is what serves a study.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from conversation import shown
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from srdcr_lab.records import Message


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply and exp of the mean log-probability of its tokens, end marker left out (NaN for an empty one)."""

    text: str
    confidence: float


@dataclass
class _Branch:
    """Draws that agree so far."""

    prompt: int
    tokens: list[int]
    log_probability: float
    draws: int


class Speaker:
    """A model with its tokenizer, ready to reply."""

    def __init__(self, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, batch: int = 48) -> None:
        self.model, self.tokenizer, self.batch = model, tokenizer, batch

    def greedy(self, prompts: Sequence[Sequence[Message]], max_new: int) -> list[Reply]:
        """The reply at temperature 0 to each prompt."""
        return [replies[0] for replies in self.reply(prompts, max_new)]

    def reply(
        self,
        prompts: Sequence[Sequence[Message]],
        max_new: int,
        draws: int = 1,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[list[Reply]]:
        """``draws`` replies to each prompt, of at most ``max_new`` tokens; the order of the draws has no meaning."""
        with torch.inference_mode():
            generator = torch.Generator().manual_seed(seed)
            encoded = self.tokenizer([shown(messages) for messages in prompts], add_special_tokens=False)["input_ids"]
            by_length = sorted(range(len(encoded)), key=lambda index: len(encoded[index]))
            replies: list[list[Reply]] = [[] for _ in encoded]
            for start in range(0, len(by_length), self.batch):
                chosen = by_length[start : start + self.batch]
                self._extend(
                    chosen, [encoded[index] for index in chosen], replies, max_new, draws, temperature, generator
                )
            return replies

    def _extend(
        self, chosen: list[int], encoded: list[list[int]], replies: list[list[Reply]], max_new: int, draws: int,
        temperature: float, generator: torch.Generator,
    ) -> None:  # fmt: skip
        device = self.model.device
        longest = max(map(len, encoded))
        ids = torch.full((len(encoded), longest), self.tokenizer.pad_token_id)
        mask = torch.zeros_like(ids)
        for place, tokens in enumerate(encoded):
            ids[place, longest - len(tokens) :] = torch.tensor(tokens)
            mask[place, longest - len(tokens) :] = 1
        mask = mask.to(device)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        out = self.model(
            input_ids=ids.to(device), attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1
        )
        branches = [_Branch(index, [], 0.0, draws) for index in chosen]
        for step in range(max_new):
            log_probabilities = torch.log_softmax(out.logits[:, -1].float(), -1).cpu()
            parents, longer = [], []
            for place, branch in enumerate(branches):
                for token, count in self._draw(log_probabilities[place], branch.draws, temperature, generator).items():
                    if token == self.tokenizer.eos_token_id:
                        replies[branch.prompt] += [self._finish(branch)] * count
                        continue
                    total = branch.log_probability + log_probabilities[place, token].item()
                    grown = _Branch(branch.prompt, [*branch.tokens, token], total, count)
                    if step == max_new - 1:
                        replies[branch.prompt] += [self._finish(grown)] * count
                    else:
                        parents.append(place)
                        longer.append(grown)
            if not longer:
                return
            chosen_rows = torch.tensor(parents, device=device)
            cache = out.past_key_values
            cache.batch_select_indices(chosen_rows)
            mask = torch.cat([mask[chosen_rows], torch.ones(len(parents), 1, dtype=mask.dtype, device=device)], 1)
            last = torch.tensor([[branch.tokens[-1]] for branch in longer], device=device)
            out = self.model(
                input_ids=last,
                attention_mask=mask,
                position_ids=mask.sum(1, keepdim=True) - 1,
                past_key_values=cache,
                use_cache=True,
            )
            branches = longer

    @staticmethod
    def _draw(
        log_probabilities: torch.Tensor, draws: int, temperature: float, generator: torch.Generator
    ) -> Counter[int]:
        if temperature == 0:
            return Counter({int(log_probabilities.argmax()): draws})
        weights = torch.softmax(log_probabilities / temperature, -1)
        return Counter(torch.multinomial(weights, draws, replacement=True, generator=generator).tolist())

    def _finish(self, branch: _Branch) -> Reply:
        mean = branch.log_probability / len(branch.tokens) if branch.tokens else math.nan
        return Reply(self.tokenizer.decode(branch.tokens).strip(), math.exp(mean))
