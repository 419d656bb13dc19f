"""`aligned`: tokens that spell the text, or nothing."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srdcr_lab.models.base import LOWEST
from srdcr_lab.models.openai import aligned


def entry(token: str, logprob: Any = -0.5, spelled: bytes | None = None) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode() if spelled is None else spelled)}


def test_plain_tokens() -> None:
    assert aligned("18 74", [entry("18", -0.1), entry(" 74", -0.2)]) == (("18", " 74"), (-0.1, -0.2))


def test_a_character_of_three_tokens_belongs_to_the_last() -> None:
    parts = [entry(r"\xe2", -0.1, b"\xe2"), entry(r"\x98", -0.2, b"\x98"), entry(r"\x95", -0.3, b"\x95")]
    assert aligned("☕", parts) == (("", "", "☕"), (-0.1, -0.2, -0.3))


@pytest.mark.parametrize("marker", ["<|im_end|>", "</s>", "", "<end_of_turn>", "\n"])
def test_what_follows_the_text_is_dropped(marker: str) -> None:
    assert aligned("1874", [entry("187"), entry("4"), entry(marker, -3.0)]) == (("187", "4"), (-0.5, -0.5))


def test_white_space_before_the_text_is_cut_off() -> None:
    assert aligned("1874", [entry("\n", -9.0), entry(" 187", -0.1), entry("4", -0.2)]) == (("187", "4"), (-0.1, -0.2))


@pytest.mark.parametrize(
    "content",
    [
        None,
        "1874",
        [],
        [None],
        [entry("187")],  # short
        [entry("think: "), entry("1874")],  # other text before the answer
        [entry("1874", None)],
        [entry("1874", math.nan)],
        [entry("1874", "−0.1")],
        [entry("1874", True)],
        [{"logprob": -0.1}],
        [{"token": 1874, "logprob": -0.1}],
    ],
)
def test_whatever_does_not_spell_the_text_is_given_up(content: Any) -> None:
    assert aligned("1874", content) == (None, None)


def test_an_empty_text_has_no_tokens() -> None:
    assert aligned("", [entry("<|im_end|>")]) == (None, None)


@pytest.mark.parametrize("value", [0.97, 0.01, 5])
def test_a_probability_is_no_log_probability(value: float) -> None:
    """G 5: as in a store and in an export; only what rounding puts above 0 is 0."""
    assert aligned("a", [entry("a", value)]) == (None, None)


@pytest.mark.parametrize(("given_value", "kept"), [(1e-9, 0.0), (-math.inf, LOWEST), (-9999.0, LOWEST), (-1, -1.0)])
def test_values_stay_in_range(given_value: float, kept: float) -> None:
    assert aligned("a", [entry("a", given_value)]) == (("a",), (kept,))


@pytest.mark.parametrize("spelled", [[300], ["x"], [-1]])
def test_impossible_bytes_fall_back_on_the_tokens(spelled: list[Any]) -> None:
    assert aligned("a", [{"token": "a", "logprob": -0.5, "bytes": spelled}]) == (("a",), (-0.5,))


@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), cuts=st.sets(st.integers(1, 79)))
def test_any_split_of_the_bytes_spells_the_text(text: str, cuts: set[int]) -> None:
    spelled = text.encode()
    edges = [0, *sorted(cut for cut in cuts if cut < len(spelled)), len(spelled)]
    pieces = [spelled[a:b] for a, b in pairwise(edges)]
    tokens, logprobs = aligned(text, [entry("?", -0.5, piece) for piece in pieces])
    assert tokens is not None
    assert logprobs is not None
    assert "".join(tokens) == text
    assert len(tokens) == len(logprobs) == len(pieces)


@given(st.text(max_size=10), st.lists(st.tuples(st.text(max_size=5), st.floats(-10, 0)), max_size=6))
def test_what_is_given_always_spells_the_text(text: str, pieces: list[tuple[str, float]]) -> None:
    tokens, logprobs = aligned(text, [{"token": token, "logprob": value} for token, value in pieces])
    assert (tokens is None) == (logprobs is None)
    assert tokens is None or "".join(tokens) == text
