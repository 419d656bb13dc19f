"""From rows to tensors: one step's rows in the wanted mixture, bucketed by length and padded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from document_rows import (
    advocate_row,
    aggregator_row,
    document_agent_row,
    documents_judge_row,
    rebuttal_row,
    thesis_row,
    together_row,
)
from method_rows import (
    agent_row,
    astute_row,
    critique_row,
    improve_row,
    picking_judge_row,
    reconsidering_row,
    self_ask_row,
    told_debater_row,
)
from option_rows import agents_row, label_row, option_row, reflection_row, stance_judge_row, stance_row
from roles import (
    certainty_row,
    comparison_chain,
    comparison_row,
    critic_row,
    defender_row,
    judge_row,
    lone_judge_row,
    sighted_critic_row,
    stated_confidence_row,
)
from rows import Materials, Row, echo_row, first_reading_row, lookup_row, reading_pack, reading_row, reworded
from transformers import PreTrainedTokenizerFast

Maker = Callable[[Materials], Row]
Encoded = tuple[list[int], list[float]]

LONGEST = 1100
BUCKETS = (40, 56, 72, 92, 120, 180, 300, 480, 700, LONGEST)
COMPARING_FIRST = 0.05  # share of training in which telling equal from different answers is the most of it
READING_FIRST = 0.14  # from then until here, reading is
BELIEFS_FROM = 0.22

# Shares of the tokens that recall leaves over. Those of the last two sum to a little over 1: a step is that much
# longer.
COMPARING_MIX: Mapping[Maker, float] = {
    first_reading_row: 0.24, comparison_row: 0.30, comparison_chain: 0.28, lookup_row: 0.11, echo_row: 0.07,
}  # fmt: skip
FIRST_MIX: Mapping[Maker, float] = {
    first_reading_row: 0.46, reading_pack: 0.06, comparison_row: 0.13, comparison_chain: 0.12, defender_row: 0.10,
    lookup_row: 0.10, echo_row: 0.03,
}  # fmt: skip
COUNTERFACTUAL_MIX: Mapping[Maker, float] = {
    option_row: 0.028, label_row: 0.035, agents_row: 0.015, reflection_row: 0.010, stance_row: 0.014,
    stance_judge_row: 0.012,
}  # fmt: skip
DOCUMENTS_MIX: Mapping[Maker, float] = {
    together_row: 0.022, document_agent_row: 0.013, aggregator_row: 0.008, thesis_row: 0.009, advocate_row: 0.030,
    rebuttal_row: 0.007, documents_judge_row: 0.010,
}  # fmt: skip
MIX: Mapping[Maker, float] = {
    reading_row: 0.26, reading_pack: 0.18, lookup_row: 0.03, comparison_row: 0.055, comparison_chain: 0.035,
    judge_row: 0.055, defender_row: 0.06, critic_row: 0.04, sighted_critic_row: 0.015, certainty_row: 0.01,
    stated_confidence_row: 0.01, self_ask_row: 0.012, critique_row: 0.008, improve_row: 0.008,
    told_debater_row: 0.045, lone_judge_row: 0.012, astute_row: 0.012,
    picking_judge_row: 0.012, agent_row: 0.012, reconsidering_row: 0.012, **COUNTERFACTUAL_MIX, **DOCUMENTS_MIX,
}  # fmt: skip
BELIEF_MIX: Mapping[Maker, float] = {**MIX, certainty_row: 0.05, comparison_row: 0.04, comparison_chain: 0.03}
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


def padded(encoded: Sequence[Encoded], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and weights, (rows, longest), padded on the right."""
    longest = max(len(ids) for ids, _ in encoded)
    ids = torch.full((len(encoded), longest), pad)
    weights = torch.zeros(len(encoded), longest)
    for place, (tokens, given) in enumerate(encoded):
        ids[place, : len(tokens)] = torch.tensor(tokens)
        weights[place, : len(tokens)] = torch.tensor(given)
    return ids, weights


def buckets(encoded: Sequence[Encoded], pad: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Padded groups of rows of similar length."""
    shortest = 0
    for longest in BUCKETS:
        group = [one for one in encoded if shortest < len(one[0]) <= longest]
        if group:
            yield padded(group, pad)
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
                made = encode([reworded(maker(m), m.r) for _ in range(8 if maker is not reading_pack else 1)])
                owed -= sum(len(ids) for ids, _ in made)
                out += made
            self.used[maker] = owed
        return out
