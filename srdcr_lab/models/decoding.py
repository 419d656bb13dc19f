"""The batched decoder: many prompts, many draws of each, one forward pass per token. Nothing is approximated.

A *row* of a batch is one distinct partial sample with the draws that agree on it so far. All draws of a prompt start as
one row, so the prompt is computed once; where draws pick different tokens the row splits, and the cache follows.
Finished draws leave the batch, and new prompts can join it while it runs. What prompts begin with is computed once: of
those that wait and begin alike one goes first, and the others are computed on top of the states that it leaves. These
are kept for later prompts (`Beginnings`).

Debaters repeat what was said. Where a row's last three tokens stand in its prompt, or in an earlier reply, what follows
them there is its *guess*: it is computed in the same forward call, and of it the row keeps what its draws would have
picked anyway. So that no padding is computed, the new tokens of all rows pass through the layers as one sequence; only
its attention is taken row by row (`attention_by_row`). Each row writes its states behind its own last token, so those
of a wrong guess are written over.

A draw's seed and the step give a number u in [0, 1). The token is where the cumulative distribution (CDF) of
softmax(logits / T) passes u, in float64. So a sample does not depend on what else is in the batch, up to rounding:
batch composition changes logits by about 1e-6 in float32, and a u that close to an edge of the CDF may fall on its
other side. Greedy decoding has the same limit for two tokens that are equally likely.
"""

from __future__ import annotations

import inspect
import math
import threading
from bisect import bisect, insort
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from srdcr_lab.models.base import common_length

_PREFILL_TOKENS = 8192  # padded tokens in one forward call of a prefill
_UNKNOWN_BYTES = 1 << 16  # per token, for a cache that is more than keys and values
_WORTH_WAITING = 32  # tokens in common with a prompt that goes first: one more forward call costs about as much
_WASTE, _SLACK = 1.5, 4096  # padding that putting rows together may add: a factor, and cells that are always allowed
_ROOM = 128  # tokens for which a cache that is full is enlarged
_KNOWN_BY = 3  # last tokens of a row by which its place in the prompt is found, or in an earlier reply
_GUESSED, _MOST_GUESSED = 4, 32  # tokens: at first, and at most while guesses hold
_REMEMBERED = 50_000  # such places in earlier replies
_QUERIES = 32  # that attention on a processor takes in one block
_FEW_ROWS = 64  # up to which further tokens of a step cost little
_FAR_AHEAD = 999.0  # of a token that alone is allowed
# What a decoder counts, without padding. Tokens of prompts: computed, and taken from an earlier prompt. Then prefill
# calls, and the steps of decoding with the sum of their rows.
_COUNTED = ("prefill_tokens", "shared_prefix_tokens", "batches", "decode_steps", "decode_rows")
_CELLS = 1 << 23  # rows × vocabulary of the float64 tables that are computed at once

_T = TypeVar("_T")
Prompt = tuple[int, ...]
TextPlace = tuple[Prompt, int]  # a text, and a number of its first tokens


class Pick(NamedTuple):
    """A chosen token: its natural log-probability at T = 1, and how far the likeliest token is ahead of the next one in
    log-probability."""

    token: int
    logprob: float
    margin: float


@dataclass(eq=False, slots=True)
class Draw:
    """One wanted sample: seed and limits. T = 0 is greedy. `owner` and `index` are for the caller."""

    seed: int
    temperature: float
    max_new: int
    stop: tuple[str, ...] = ()
    owner: Any = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """A finished draw: its tokens, without the end marker.

    `generated` counts the end marker too; `ended` is False where the length limit cut the sample.
    """

    picks: tuple[Pick, ...]
    ended: bool
    generated: int


class Begun(NamedTuple):
    """A prompt that is to be computed, and an earlier prompt that begins with the same `kept` tokens."""

    prompt: Prompt
    source: Prompt = ()
    kept: int = 0

    @property
    def rest(self) -> int:
        """How many of its tokens are to be computed."""
        return len(self.prompt) - self.kept


class PlacedLayer(DynamicLayer):  # type: ignore[misc]
    """A layer of the cache. With `places`, each new state is written at its own row and column, and the columns up to
    the last of all are seen."""

    keys: torch.Tensor
    values: torch.Tensor
    places: tuple[torch.Tensor, torch.Tensor, int] | None = None  # rows, columns, their number up to the last

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if self.places is None:
            return super().update(key_states, value_states, *args, **kwargs)
        rows, columns, length = self.places
        for states, new in ((self.keys, key_states), (self.values, value_states)):
            states[rows, :, columns] = new[0].transpose(0, 1)
        return self.keys[:, :, :length], self.values[:, :, :length]


def attention_by_row(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **options: Any
) -> tuple[torch.Tensor, None]:
    """Attention as transformers computes it by default, also for the tokens of several rows as one sequence.

    Their mask is (rows, 1, width, length): what each place sees, nothing where there is no token. Heads that share keys
    are taken as one with more queries. A processor pays for each block of queries, also for padding in it; there rows
    are taken together only with neighbours that fill as many blocks.
    """
    if len(query) == len(key):
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)  # type: ignore[no-any-return]
    places = attention_mask[:, 0].any(dim=-1)
    (rows, width), heads = places.shape, query.shape[1]
    sharing = heads // key.shape[1]
    apart = query.new_zeros(rows, width, heads, query.shape[3])
    apart[places] = query[0].transpose(0, 1)
    seen = query.new_zeros(rows, width, heads, value.shape[3])
    widths = places.sum(dim=1).tolist() if query.device.type == "cpu" else [width] * rows
    for _, alike in groupby(range(rows), lambda row: -(-sharing * widths[row] // _QUERIES)):
        part = [*alike]
        here, most = slice(part[0], part[-1] + 1), max(widths[row] for row in part)
        queries = apart[here, :most].transpose(1, 2).reshape(len(part), key.shape[1], sharing * most, -1)
        mask = attention_mask[here, :, :most].repeat(1, 1, sharing, 1)
        found = scaled_dot_product_attention(queries, key[here], value[here], mask, scale=options.get("scaling"))
        seen[here, :most] = found.reshape(len(part), heads, most, -1).transpose(1, 2)
    return seen[places][None], None


_BY_ROW = "attention_by_row"
AttentionInterface.register(_BY_ROW, attention_by_row)
AttentionMaskInterface.register(_BY_ROW, sdpa_mask)


class PackedLinear(torch.nn.Module):  # type: ignore[misc]
    """A linear layer of bfloat16 whose weights lie as a processor's matrix instructions take them; otherwise torch lays
    them out anew at each call. Its numbers are the same, up to rounding. These are the functions that torch's own
    compiler calls (torch/_inductor/fx_passes/mkldnn_fusion.py)."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.bias, self.packed = layer.bias, torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), 16)
        self(layer.weight[:1].detach())  # raises RuntimeError where the processor lacks such instructions

    @property
    def weight(self) -> torch.Tensor:
        """As they were, for a model that looks at them."""
        return self.packed.to_dense()

    def forward(self, states: torch.Tensor) -> Any:
        return torch.ops.mkldnn._linear_pointwise(states, self.packed, self.bias, "none", [], "")


def pack_linear(model: Any) -> None:
    """Pack the linear layers of a model that computes in bfloat16 on a processor; weights that are also its embedding
    stay as they are."""
    if model.dtype is not torch.bfloat16 or model.device.type != "cpu":
        return
    with suppress(AttributeError, RuntimeError):  # a torch or a processor without these functions
        for parent in [*model.modules()]:
            for name, layer in parent.named_children():
                if type(layer) is torch.nn.Linear and layer.weight is not model.get_input_embeddings().weight:
                    setattr(parent, name, PackedLinear(layer))
        for each in model.parameters():  # copied, so that nothing holds the file of all weights in memory
            each.data = each.data.clone()


class Beginnings:
    """The states of earlier prompts, for later prompts that begin alike: of at most `most` tokens, the least recently
    used go first. In the sorted list of prompts the neighbours of a new one have most in common with it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._sorted: list[Prompt] = []
        self._states: OrderedDict[Prompt, list[list[torch.Tensor]]] = OrderedDict()  # of each layer, keys and values

    def find(self, prompt: Prompt) -> tuple[Prompt, int]:
        """The kept prompt with the longest common beginning, and the length of that."""
        place = bisect(self._sorted, prompt)
        around = self._sorted[max(place - 1, 0) : place + 1]
        length, source = max(((common_length(each, prompt), each) for each in around), default=(0, ()))
        if length:
            self._states.move_to_end(source)
        return source, length

    def states(self, prompts: Sequence[Begun]) -> Iterator[list[torch.Tensor]]:
        """States of their beginnings, layer by layer, shorter ones padded at their left; nothing if all are empty."""
        if not (longest := max(begun.kept for begun in prompts)):
            return
        some = next(iter(self._states.values()))  # of which a prompt without a beginning takes nothing
        for layers in zip(*(self._states.get(begun.source, some) for begun in prompts), strict=True):
            padded = [
                [pad(each[:, : begun.kept], (0, 0, longest - begun.kept, 0)) for each in layer]
                for layer, begun in zip(layers, prompts, strict=True)
            ]
            yield [torch.stack(each) for each in zip(*padded, strict=True)]

    def keep(self, prompts: Sequence[Prompt], mask: torch.Tensor, cache: DynamicCache) -> None:
        """Add prompts with the columns of the cache where their row of `mask`, (prompts, columns), is 1."""
        for row, prompt in enumerate(prompts):
            if prompt in self._states or len(prompt) > self.most:
                continue
            columns = mask[row].nonzero()[:, 0]
            states = [[each[row][:, columns] for each in (layer.keys, layer.values)] for layer in cache.layers]
            source, length = self.find(prompt)
            if source and length == len(source):  # the new one holds all of it
                self._forget(source)
            while sum(map(len, self._sorted)) + len(prompt) > self.most:
                self._forget(next(iter(self._states)))
            self._states[prompt] = states
            insort(self._sorted, prompt)

    def _forget(self, prompt: Prompt) -> None:
        del self._states[prompt]
        self._sorted.remove(prompt)


@dataclass(eq=False, slots=True)
class DecodingRow:
    """A partial sample, and the draws that agree on it so far. `after` tells where three tokens end, and in which text;
    `guess` are the tokens that were computed behind its last one, `ahead` says how many are guessed next."""

    prompt: Prompt
    after: Mapping[Prompt, TextPlace]
    draws: list[Draw] = field(default_factory=list)
    picks: list[Pick] = field(default_factory=list)
    guess: Prompt = ()
    ahead: int = _GUESSED

    def children(self, chosen: Sequence[Pick]) -> Iterator[DecodingRow]:
        """The rows after one more token: one for each distinct token that the draws picked."""
        for pick in dict.fromkeys(chosen):
            draws = [draw for draw, own in zip(self.draws, chosen, strict=True) if own == pick]
            yield DecodingRow(self.prompt, self.after, draws, [*self.picks, pick])

    def continued(self, most: int) -> Prompt:
        """The tokens, at most so many, that follow in an earlier text where the last three tokens stand in it."""
        most = min(most, max(draw.max_new for draw in self.draws) - len(self.picks) - 1)
        tokens = [*self.prompt[-_KNOWN_BY:], *(pick.token for pick in self.picks[-_KNOWN_BY:])]
        text, start = self.after.get(tuple(tokens[-_KNOWN_BY:]), ((), 0))
        return text[start : start + max(most, 0)]


def ends_of_triples(text: Prompt) -> dict[Prompt, TextPlace]:
    """Where each three tokens end that occur before the text's end, with the text; of several places the last."""
    triples = zip(*(text[start:] for start in range(_KNOWN_BY)), strict=False)
    return {triple: (text, end) for triple, end in zip(triples, range(_KNOWN_BY, len(text)), strict=False)}


@dataclass(eq=False)
class DecodingBatch:
    """Rows that take their next token together.

    `mask` is (rows, length), 0 where no token is; `logits` are for each row (tokens, vocabulary), after its last token
    and those of its guess.
    """

    rows: list[DecodingRow]
    mask: torch.Tensor
    cache: DynamicCache
    logits: Sequence[torch.Tensor]

    def select(self, rows: list[DecodingRow], parents: Sequence[int]) -> None:
        """Go on with `rows`; row i continues the old row ``parents[i]``, which may have several children or none."""
        if rows and list(parents) != list(range(len(self.rows))):
            indices = torch.tensor(parents, device=self.mask.device)
            self.cache.reorder_cache(indices)
            self.mask = self.mask[indices]
        self.rows = rows

    @property
    def ends(self) -> torch.Tensor:
        """The number of columns up to the last token of each row."""
        return (self.mask * torch.arange(1, self.mask.shape[1] + 1, device=self.mask.device)).amax(dim=1)

    @property
    def span(self) -> range:
        """The columns from the first token of any row to the last."""
        columns = self.mask.any(dim=0).nonzero()[:, 0].tolist()
        return range(columns[0], columns[-1] + 1)

    def drop(self, is_unwanted: Callable[[Draw], bool]) -> None:
        """Go on without some draws, and without the rows that have no others."""
        for row in self.rows:
            row.draws = [draw for draw in row.draws if not is_unwanted(draw)]
        kept = [place for place, row in enumerate(self.rows) if row.draws]
        if len(kept) < len(self.rows):
            self.logits = [self.logits[place] for place in kept]
            self.select([self.rows[place] for place in kept], kept)


def _in_groups(things: Iterable[_T], fit: Callable[[Sequence[_T]], bool]) -> list[list[_T]]:
    """Cut a sequence before each thing that does not fit together with those since the last cut."""
    groups: list[list[_T]] = []
    for thing in things:
        if groups and fit([*groups[-1], thing]):
            groups[-1].append(thing)
        else:
            groups.append([thing])
    return groups


def little_padding(filled: int, padded: int) -> bool:
    """Whether so many cells, padding included, are few enough for what is in them."""
    return padded <= _WASTE * filled + _SLACK


def joined(parts: Sequence[DecodingBatch]) -> DecodingBatch:
    """One batch of all rows with room for more tokens, in the cache of the first; the others are emptied layer by
    layer, so that no more than one layer is held twice."""
    length = max(len(part.span) for part in parts)
    sides = [(length - part.span.stop, _ROOM + part.span.stop - part.mask.shape[1]) for part in parts]
    for first, *others in zip(*(part.cache.layers for part in parts), strict=True):
        for name in ("keys", "values"):
            states = [getattr(layer, name) for layer in (first, *others)]
            padded = [pad(each, (0, 0, *side)) for each, side in zip(states, sides, strict=True)]
            setattr(first, name, torch.cat(padded) if others else padded[0])
            for layer in others:
                setattr(layer, name, None)
    mask = torch.cat([pad(part.mask, side) for part, side in zip(parts, sides, strict=True)])
    rows, logits = ([each for part in parts for each in getattr(part, name)] for name in ("rows", "logits"))
    return DecodingBatch(rows, mask, parts[0].cache, logits)


class Decoder:
    """Prefills prompts and advances batches of one decoder-only transformers model in evaluation mode.

    `end_ids` are the tokens that end a sample; `decode` is called only for draws with stop strings. `pads_left` and
    `pads_anywhere` say whether padding on the left (not tried with a sliding window), or anywhere, leaves its
    logits as they are; shared beginnings, joined batches and guesses need the second. `bytes_per_token` is the size of
    its cache; `kept_bytes` bounds the states of earlier prompts. Tokens that the checkpoint's `suppress_tokens`
    (generation_config.json) names are never chosen, and log-probabilities are those among the others, as
    transformers' `generate` has it.
    """

    def __init__(
        self, model: Any, end_ids: frozenset[int], decode: Callable[[Sequence[int]], str], kept_bytes: int
    ) -> None:
        self._model, self._end_ids, self._decode = model, end_ids, decode
        self._accepted = inspect.signature(model.forward).parameters
        self._suppressed: torch.Tensor | None = None
        if named := getattr(getattr(model, "generation_config", None), "suppress_tokens", None):
            known = range(model.config.get_text_config().vocab_size)  # others are passed over, as transformers does
            self._suppressed = torch.tensor([token for token in named if token in known], device=model.device)
        self.in_use = threading.Lock()  # held by the thread that decodes
        self.stats = dict.fromkeys(_COUNTED, 0)
        self._beginnings = Beginnings(0)
        self.pads_left, self.pads_anywhere, self.bytes_per_token = self._examine()
        self._said: OrderedDict[Prompt, TextPlace] = OrderedDict()  # as `DecodingRow.after`, in the latest replies
        self._beginnings.most = kept_bytes // self.bytes_per_token if self.pads_anywhere else 0
        self.kept_bytes = self._beginnings.most * self.bytes_per_token

    def start(self, prompts: Sequence[tuple[Prompt, Sequence[Draw]]]) -> list[DecodingBatch]:
        """Prefill: batches whose rows have no token yet. Equal prompts share a row."""
        rows: dict[Prompt, DecodingRow] = {}
        for prompt, draws in prompts:
            if prompt not in rows:
                rows[prompt] = DecodingRow(prompt, ChainMap(ends_of_triples(prompt), self._said))
            rows[prompt].draws.extend(draws)
        batches: list[DecodingBatch] = []
        waiting = list(rows)
        while waiting:
            ready, waiting = self._ready(waiting)
            batches += self._prefill(ready, rows)
        return self.join(batches)

    def join(self, batches: Iterable[DecodingBatch]) -> list[DecodingBatch]:
        """The same rows in few batches, with bounded padding: shorter ones are padded at their left, where the model's
        cache allows it."""

        def fit(parts: Sequence[DecodingBatch]) -> bool:
            filled, rows = sum(len(part.rows) * len(part.span) for part in parts), sum(len(part.rows) for part in parts)
            return self.pads_anywhere and little_padding(filled, rows * len(parts[-1].span))

        groups = _in_groups(sorted(batches, key=lambda batch: len(batch.span)), fit)
        return [joined(group) if len(group) > 1 else group[0] for group in groups]

    def advance(self, batch: DecodingBatch) -> list[tuple[Draw, Sample]]:
        """Add one token to every row, and what holds of its guess; return what is finished. A batch without rows is
        done."""
        finished: list[tuple[Draw, Sample]] = []
        children: list[DecodingRow] = []
        parents: list[int] = []
        wrong = [len(row.guess) for row in batch.rows]  # tokens of the guess that do not hold, as far as is known
        going = dict(enumerate(batch.rows))
        while going:
            last = torch.stack([batch.logits[place][-1 - wrong[place]] for place in going])
            for (place, row), picks in zip([*going.items()], choose(last, [*going.values()]), strict=True):
                grown = [child for child in row.children(picks) if self._goes_on(child, finished)]
                guess = batch.rows[place].guess
                if len(grown) == 1 and wrong[place] and grown[0].picks[-1].token == guess[-wrong[place]]:
                    wrong[place] -= 1
                    going[place] = grown[0]
                else:
                    del going[place]
                    for child in grown if guess and not wrong[place] else ():
                        child.ahead = min(4 * batch.rows[place].ahead, _MOST_GUESSED)
                    children += grown
                    parents += [place] * len(grown)
        columns = torch.arange(batch.mask.shape[1], device=batch.mask.device)
        batch.mask *= columns < (batch.ends - self._tensor(wrong))[:, None]
        batch.select(children, parents)
        if children:
            self._compute_next(batch)
        return finished

    def _compute_next(self, batch: DecodingBatch) -> None:
        """The logits after every row's last token, and after those of what earlier texts let guess behind it."""
        self.stats["decode_steps"] += 1
        self.stats["decode_rows"] += len(batch.rows)
        for row in batch.rows if self.pads_anywhere and len(batch.rows) <= _FEW_ROWS else ():
            row.guess = row.continued(row.ahead)
        new = [(len(row.prompt) + len(row.picks) - 1, (row.picks[-1].token, *row.guess)) for row in batch.rows]
        if self.pads_anywhere:
            self._step(batch, new)
        else:
            ids, own, positions = self._padded(new)
            batch.mask = torch.cat([batch.mask, own], dim=1)
            batch.logits = self._forward(ids, batch.mask, positions, batch.cache)

    def _step(self, batch: DecodingBatch, new: Sequence[tuple[int, Prompt]]) -> None:
        """Compute further tokens of each row, given as in `_padded`, any number of each, as one sequence."""
        counts = [len(tokens) for _, tokens in new]
        if batch.span.stop + max(counts) > batch.mask.shape[1]:
            batch.mask = joined([batch]).mask
        ends, ahead = batch.ends[:, None], torch.arange(max(counts), device=self._model.device)
        places = ahead < self._tensor(counts)[:, None]
        rows, columns = places.nonzero(as_tuple=True)[0], (ends + ahead)[places]
        batch.mask[rows, columns] = 1
        length = int(columns.max()) + 1
        is_earlier = torch.arange(length, device=ends.device) <= (ends + ahead)[:, :, None]
        sees = batch.mask[:, None, None, :length].bool() & (is_earlier & places[:, :, None])[:, None]
        for layer in batch.cache.layers:
            layer.places = rows, columns, length
        ids = self._tensor([[token for _, tokens in new for token in tokens]])
        positions = (self._tensor([[start] for start, _ in new]) + ahead)[places]
        batch.logits = self._forward(ids, sees, positions[None], batch.cache, len(rows))[0].split(counts)

    def _padded(self, parts: Sequence[tuple[int, Prompt]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Tokens, mask and positions of parts of rows: the position of each part's first token, and its tokens. Shorter
        ones are padded at their left."""
        widest = max(len(tokens) for _, tokens in parts)
        ids = self._tensor([[0] * (widest - len(tokens)) + [*tokens] for _, tokens in parts])
        mask = self._tensor([[0] * (widest - len(tokens)) + [1] * len(tokens) for _, tokens in parts])
        positions = self._tensor([[start] for start, _ in parts]) + (mask.cumsum(dim=1) - 1).clamp(min=0)
        return ids, mask, positions

    def _goes_on(self, row: DecodingRow, finished: list[tuple[Draw, Sample]]) -> bool:
        """Whether draws of the row go on after its last token. Those that end with it move to `finished`."""
        picks, unfinished = tuple(row.picks), []
        at_end = picks[-1].token in self._end_ids
        text = self._decode([pick.token for pick in picks]) if any(draw.stop for draw in row.draws) else ""
        for draw in row.draws:
            is_over = at_end or any(stop in text for stop in draw.stop)
            if is_over or len(picks) >= draw.max_new:
                finished.append((draw, Sample(picks[: len(picks) - at_end], is_over, len(picks))))
            else:
                unfinished.append(draw)
        row.draws = unfinished
        if not unfinished:
            self._said |= ends_of_triples((*row.prompt[-_KNOWN_BY:], *(pick.token for pick in picks)))
            while len(self._said) > _REMEMBERED:
                self._said.popitem(last=False)
        return bool(unfinished)

    def _ready(self, prompts: Iterable[Prompt]) -> tuple[list[Begun], list[Prompt]]:
        """The prompts to compute now, and those that wait to be computed on top of one of these."""
        ready: list[Begun] = []
        waiting = []
        for prompt in sorted(prompts):  # of those before it, the last has most in common with it
            begun = self.begun(prompt)
            common = common_length(ready[-1].prompt, prompt) if ready and self._beginnings.most else 0
            if common - begun.kept >= _WORTH_WAITING:
                waiting.append(prompt)
            else:
                ready.append(begun)
        return ready, waiting

    def begun(self, prompt: Prompt) -> Begun:
        """What is kept of a prompt, and how many of its tokens are to be computed."""
        return Begun(prompt, *self._beginnings.find(prompt[:-1]))  # its last token is computed, for what follows it

    def _prefill(self, prompts: Iterable[Begun], rows: dict[Prompt, DecodingRow]) -> list[DecodingBatch]:
        """Batches of these prompts, sorted by length, none with a token yet: cut where a forward call would grow too
        large or hold too much padding. What was computed is kept."""

        def fit(piece: Sequence[Begun]) -> bool:
            shortest, longest = piece[0].rest, piece[-1].rest
            is_alike = longest <= (1.25 * shortest + 16 if self.pads_left else shortest)
            length = max(begun.kept for begun in piece) + longest
            filled = sum(len(begun.prompt) for begun in piece)
            is_small = len(piece) * longest <= _PREFILL_TOKENS and little_padding(filled, len(piece) * length)
            return is_alike and is_small

        batches: list[DecodingBatch] = []
        for planned in _in_groups(sorted(prompts, key=lambda begun: (begun.rest, begun.kept)), fit):
            piece = [self.begun(begun.prompt) for begun in planned]  # the piece before it may have ousted some
            mask, cache, logits = self._compute(piece)
            self._beginnings.keep([begun.prompt for begun in piece], mask, cache)
            batches.append(DecodingBatch([rows[begun.prompt] for begun in piece], mask, cache, logits))
            self.stats["batches"] += 1
            self.stats["prefill_tokens"] += sum(begun.rest for begun in piece)
            self.stats["shared_prefix_tokens"] += sum(begun.kept for begun in piece)
        return batches

    def _compute(self, prompts: Sequence[Begun]) -> tuple[torch.Tensor, DynamicCache, torch.Tensor]:
        """Mask, cache and last logits of prompts, on top of the states of their kept beginnings.

        Shorter beginnings are padded at their left, shorter rests between the two.
        """
        _, beginnings, _ = self._padded([(0, begun.prompt[: begun.kept]) for begun in prompts])
        ids, rests, positions = self._padded([(begun.kept, begun.prompt[begun.kept :]) for begun in prompts])
        mask = torch.cat([beginnings.to(rests.dtype), rests], dim=1)
        cache = DynamicCache(config=self._model.config)
        cache.layers = [PlacedLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
        for place, (keys, values) in enumerate(self._beginnings.states(prompts)):
            cache.update(keys, values, place)
        return mask, cache, self._forward(ids, mask, positions, cache)

    def _forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any, width: int = 1
    ) -> torch.Tensor:
        """Logits (rows, width, vocabulary) after the last tokens of each row; the cache grows by the width of `ids`."""
        options = {"position_ids": positions, "logits_to_keep": width}
        taken = {name: value for name, value in options.items() if name in self._accepted}
        taken["cache" if "cache" in self._accepted else "past_key_values"] = cache  # its name since transformers 5.24
        with torch.inference_mode():
            out = self._model(input_ids=ids, attention_mask=mask, use_cache=True, **taken)
            logits = out.logits[:, -width:]
            return logits if self._suppressed is None else logits.index_fill(2, self._suppressed, -torch.inf)

    def _tensor(self, lines: Sequence[Any]) -> torch.Tensor:
        return torch.tensor(lines, device=self._model.device)

    def _examine(self) -> tuple[bool, bool, int]:
        """`pads_left` and `pads_anywhere`, and `bytes_per_token`, tried on a few tokens.

        A sliding window cannot be padded in its middle, and a running state not at all.
        """
        prompt = tuple((3 + 7 * place) % self._model.config.get_text_config().vocab_size for place in range(12))
        _, cache, whole = self._compute([Begun((*prompt, *prompt[:3]))])
        kinds = {type(layer) for layer in cache.layers}
        if not kinds <= {PlacedLayer, DynamicSlidingWindowLayer}:
            return False, False, _UNKNOWN_BYTES
        states = [each for layer in cache.layers for each in (layer.keys, layer.values)]
        size = sum(each.numel() * each.element_size() for each in states) // (len(prompt) + 3)
        if kinds != {PlacedLayer}:
            return True, False, size
        is_harmless = self._model.config._attn_implementation == "sdpa" and self._takes_rows(prompt, whole)
        return is_harmless, is_harmless, size

    def _takes_rows(self, prompt: Prompt, whole: torch.Tensor) -> bool:
        """Whether the model may compute tokens of two rows as one sequence. If so, its attention stays replaced.

        Both rows begin with `prompt`; one goes on with one token, the other with three. Their first logits have to be
        equal, and the last ones those of the `whole` prompt.
        """
        self._model.set_attn_implementation(_BY_ROW)
        with suppress(RuntimeError, ValueError, TypeError, IndexError):
            mask, cache, _ = self._compute([Begun(prompt)] * 2)
            batch = DecodingBatch([], mask, cache, ())
            self._step(batch, [(len(prompt), prompt[:n]) for n in (1, 3)])
            one, several = batch.logits
            found, expected = torch.stack([one[0], several[-1]]), torch.stack([several[0], whole[0, -1]])
            said = (logits.float().log_softmax(dim=-1) for logits in (found, expected))  # -inf equals itself
            if torch.allclose(*said, rtol=0, atol=1e-3 if whole.dtype == torch.float32 else 0.25):
                return True
        self._model.set_attn_implementation("sdpa")
        return False


def choose(logits: torch.Tensor, rows: Sequence[DecodingRow]) -> list[list[Pick]]:
    """The next token of each row's draws.

    `logits` is (rows, vocabulary), −inf excludes a token. Raises FloatingPointError where a row's logits are not
    numbers.
    """
    piece = max(1, _CELLS // logits.shape[1])
    if len(rows) > piece:
        return choose(logits[:piece], rows[:piece]) + choose(logits[piece:], rows[piece:])
    logits = logits.float()
    most = max(len(row.draws) for row in rows)
    greedy = logits.argmax(dim=-1).tolist()  # of equal logits, the first
    by_temperature = {(place, 0.0): [token] * most for place, token in enumerate(greedy)}
    if sampled := [(place, t) for place, row in enumerate(rows) for t in {draw.temperature for draw in row.draws} if t]:
        seeds = np.zeros((len(sampled), most), dtype=np.uint64)
        for line, (place, _) in enumerate(sampled):
            seeds[line, : len(rows[place].draws)] = [draw.seed for draw in rows[place].draws]
        steps = np.array([[len(rows[place].picks)] for place, _ in sampled], dtype=np.uint64)
        temperatures = torch.tensor([[t] for _, t in sampled], dtype=torch.float64)
        picked = inverse_cdf(logits[[place for place, _ in sampled]], temperatures, uniforms(seeds, steps))
        by_temperature |= zip(sampled, picked.tolist(), strict=True)
    tokens = [
        [by_temperature[place, draw.temperature][column] for column, draw in enumerate(row.draws)]
        for place, row in enumerate(rows)
    ]
    padded = torch.tensor([line + [0] * (most - len(line)) for line in tokens], device=logits.device)
    logprobs = torch.log_softmax(logits, dim=-1).gather(1, padded).tolist()
    first_two = logits.topk(2, dim=-1).values
    margins = (first_two[:, 0] - first_two[:, 1]).clamp(max=_FAR_AHEAD).tolist()
    picks = [
        [Pick(token, logprob, margin) for token, logprob in zip(line, scores, strict=False)]
        for line, scores, margin in zip(tokens, logprobs, margins, strict=True)
    ]
    if not all(math.isfinite(pick.logprob) for line in picks for pick in line):
        raise FloatingPointError("the model's logits are not finite numbers")
    return picks


def inverse_cdf(logits: torch.Tensor, temperatures: torch.Tensor, u: NDArray[np.float64]) -> torch.Tensor:
    """Tokens at which the distribution function of softmax(logits / T) passes u.

    `logits` is (rows, vocabulary), `temperatures` (rows, 1), `u` (rows, draws) in [0, 1). A token of probability zero
    is never picked.
    """
    wide = logits.cpu() if logits.device.type == "mps" else logits  # mps has no float64
    cdf = torch.softmax(wide.double() / temperatures.to(wide.device), dim=-1).cumsum(dim=-1)
    reached = torch.from_numpy(u).to(cdf.device) * cdf[:, -1:]
    return torch.searchsorted(cdf, reached, right=True).clamp_(max=cdf.shape[1] - 1)


def uniforms(seeds: NDArray[np.uint64], steps: NDArray[np.uint64]) -> NDArray[np.float64]:
    """One number in [0, 1) for each (seed, step): SplitMix64 as a counter-based generator, upper 52 bits.

    Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
    """
    with np.errstate(over="ignore"):
        state = _mix(seeds) + (steps + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        return (_mix(state) >> np.uint64(12)).astype(np.float64) * 2.0**-52


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
