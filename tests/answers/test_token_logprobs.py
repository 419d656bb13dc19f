"""`aligned`: tokens that spell the text, or nothing."""

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


CUP = [entry(r"\xe2", -0.1, b"\xe2"), entry(r"\x98", -0.2, b"\x98"), entry(r"\x95", -0.3, b"\x95")]
YEAR = (("187", "4"), (-0.5, -0.5))
NONE = (None, None)


@pytest.mark.parametrize(("text", "content", "expected"), [
    ("18 74", [entry("18", -0.1), entry(" 74", -0.2)], (("18", " 74"), (-0.1, -0.2))),
    ("☕", CUP, (("", "", "☕"), (-0.1, -0.2, -0.3))),  # a character of three tokens belongs to the last
    # what follows the text is dropped, and white space before it cut off
    *(("1874", [entry("187"), entry("4"), entry(marker, -3.0)], YEAR)
      for marker in ("<|im_end|>", "</s>", "", "<end_of_turn>", "\n")),
    ("1874", [entry("\n", -9.0), entry(" 187"), entry("4")], YEAR),
    # whatever does not spell the text is given up
    *(("1874", content, NONE) for content in (
        None, "1874", [], [None], [entry("187")], [entry("think: "), entry("1874")], [entry("1874", None)],
        [entry("1874", math.nan)], [entry("1874", "−0.1")], [entry("1874", True)], [{"logprob": -0.1}],
        [{"token": 1874, "logprob": -0.1}],
    )),
    ("", [entry("<|im_end|>")], NONE),
    # G 5: a probability is no log-probability; only what rounding puts above 0 is 0
    *(("a", [entry("a", value)], NONE) for value in (0.97, 0.01, 5)),
    *(("a", [entry("a", value)], (("a",), (kept,)))
      for value, kept in ((1e-9, 0.0), (-math.inf, LOWEST), (-9999.0, LOWEST), (-1, -1.0))),
    # impossible bytes fall back on the tokens
    *(("a", [{"token": "a", "logprob": -0.5, "bytes": spelled}], (("a",), (-0.5,)))
      for spelled in ([300], ["x"], [-1])),
])  # fmt: skip
def test_tokens_by_hand(text: str, content: Any, expected: tuple[Any, Any]) -> None:
    assert aligned(text, content) == expected


@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), cuts=st.sets(st.integers(1, 79)))
def test_any_split_of_the_bytes_spells_the_text(text: str, cuts: set[int]) -> None:
    spelled = text.encode()
    edges = [0, *sorted(cut for cut in cuts if cut < len(spelled)), len(spelled)]
    pieces = [spelled[a:b] for a, b in pairwise(edges)]
    tokens, logprobs = aligned(text, [entry("?", -0.5, piece) for piece in pieces])
    assert "".join(tokens) == text
    assert len(tokens) == len(logprobs) == len(pieces)


@given(st.text(max_size=10), st.lists(st.tuples(st.text(max_size=5), st.floats(-10, 0)), max_size=6))
def test_what_is_given_always_spells_the_text(text: str, pieces: list[tuple[str, float]]) -> None:
    tokens, logprobs = aligned(text, [{"token": token, "logprob": value} for token, value in pieces])
    assert (tokens is None) == (logprobs is None)
    assert tokens is None or "".join(tokens) == text
