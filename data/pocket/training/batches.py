"""From rows to tensors: one step's rows in the wanted mixture, bucketed by length and padded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from method_rows import (
    agent_row,
    critique_row,
    improve_row,
    picking_judge_row,
    reconsidering_row,
    self_ask_row,
    told_debater_row,
)
from roles import (
    certainty_row,
    comparison_chain,
    comparison_row,
    critic_row,
    defender_row,
    judge_row,
    sighted_critic_row,
    stated_confidence_row,
)
from rows import Materials, Row, first_reading_row, reading_pack, reading_row
from transformers import PreTrainedTokenizerFast

Maker = Callable[[Materials], Row]
Encoded = tuple[list[int], list[float]]

LONGEST = 900
BUCKETS = (40, 56, 72, 92, 120, 180, 300, 480, LONGEST)
COMPARING_FIRST = 0.11  # share of training in which telling equal from different answers is the most of it
READING_FIRST = 0.24  # from then until here, reading is
BELIEFS_FROM = 0.30

# Shares of the tokens that recall leaves over.
COMPARING_MIX: Mapping[Maker, float] = {first_reading_row: 0.28, comparison_row: 0.36, comparison_chain: 0.36}
FIRST_MIX: Mapping[Maker, float] = {
    first_reading_row: 0.54, reading_pack: 0.06, comparison_row: 0.15, comparison_chain: 0.15, defender_row: 0.10,
}  # fmt: skip
MIX: Mapping[Maker, float] = {
    reading_row: 0.28, reading_pack: 0.20, comparison_row: 0.09, comparison_chain: 0.07, judge_row: 0.08,
    defender_row: 0.08, critic_row: 0.06, sighted_critic_row: 0.02, certainty_row: 0.01, stated_confidence_row: 0.01,
    self_ask_row: 0.015, critique_row: 0.01, improve_row: 0.01, told_debater_row: 0.02, picking_judge_row: 0.02,
    agent_row: 0.015, reconsidering_row: 0.02,
}  # fmt: skip
BELIEF_MIX: Mapping[Maker, float] = {**MIX, certainty_row: 0.05, comparison_row: 0.08, comparison_chain: 0.06}
GATE_MIX: Mapping[Maker, float] = {comparison_row: 0.5, comparison_chain: 0.5}


def mixture(progress: float, *, gate: bool = False) -> Mapping[Maker, float]:
    """Shares of row makers at this share of training."""
    if gate:
        return GATE_MIX
    if progress < READING_FIRST:
        return COMPARING_MIX if progress < COMPARING_FIRST else FIRST_MIX
    return BELIEF_MIX if progress >= BELIEFS_FROM else MIX


class Encoder:
    """Rows to token ids and weights."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.backend = tokenizer.backend_tokenizer
        self.pad = tokenizer.pad_token_id

    def __call__(self, rows: Sequence[Row]) -> list[Encoded]:
        """Ids and weights of each row; rows longer than `LONGEST` are left out."""
        texts = [text for row in rows for text, _ in row]
        pieces = iter(self.backend.encode_batch(texts, add_special_tokens=False))
        out = []
        for row in rows:
            ids: list[int] = []
            weights: list[float] = []
            for _, weight in row:
                new = next(pieces).ids
                ids += new
                weights += [weight] * len(new)
            if len(ids) <= LONGEST:
                out.append((ids, weights))
        return out

    def padded(self, encoded: Sequence[Encoded]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and weights, (rows, longest), padded on the right."""
        longest = max(len(ids) for ids, _ in encoded)
        ids = torch.full((len(encoded), longest), self.pad)
        weights = torch.zeros(len(encoded), longest)
        for place, (tokens, given) in enumerate(encoded):
            ids[place, : len(tokens)] = torch.tensor(tokens)
            weights[place, : len(tokens)] = torch.tensor(given)
        return ids, weights

    def buckets(self, encoded: Sequence[Encoded]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Padded groups of rows of similar length."""
        shortest = 0
        for longest in BUCKETS:
            group = [one for one in encoded if shortest < len(one[0]) <= longest]
            if group:
                yield self.padded(group)
            shortest = longest


class Mixer:
    """Keeps the running token shares of the row makers at the wanted mixture."""

    def __init__(self) -> None:
        self.used: dict[Maker, float] = {}

    def fill(self, m: Materials, encode: Encoder, tokens: int, shares: Mapping[Maker, float]) -> list[Encoded]:
        """Rows of about ``tokens`` tokens; what a maker is owed from earlier steps comes first."""
        out: list[Encoded] = []
        for maker, share in shares.items():
            owed = self.used.get(maker, 0.0) + share * tokens
            while owed > 0:
                made = encode([maker(m) for _ in range(8 if maker is not reading_pack else 1)])
                owed -= sum(len(ids) for ids, _ in made)
                out += made
            self.used[maker] = owed
        return out
