"""Self-confidence from the tokens of a reply: which of them state the answer, and three means of their probabilities.

Also the entropy of several draws. Confidences that need further questions are in `protocols.answering`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from srdcr_lab.answers.kinds import find
from srdcr_lab.answers.wording import Span
from srdcr_lab.records import AnswerType, ConfidenceKind


def mean_logprob(logprobs: Sequence[float]) -> float:
    """exp((1/L) Σ log p(tᵢ)): the geometric mean of the answer tokens' probabilities [2.3]. NaN for no token.

    >>> round(mean_logprob([math.log(0.9), math.log(0.4)]), 3)
    0.6
    """
    return math.exp(math.fsum(logprobs) / len(logprobs)) if logprobs else math.nan


def sequence(logprobs: Sequence[float]) -> float:
    """exp(Σ log p(tᵢ)): the probability of the whole answer. NaN for no token."""
    return math.exp(math.fsum(logprobs)) if logprobs else math.nan


def mean_probability(logprobs: Sequence[float]) -> float:
    """(1/L) Σ p(tᵢ): ClashEval's arithmetic mean. NaN for no token."""
    return math.fsum(map(math.exp, logprobs)) / len(logprobs) if logprobs else math.nan


FROM_LOGPROBS = {
    ConfidenceKind.MEAN_LOGPROB: mean_logprob,
    ConfidenceKind.SEQUENCE: sequence,
    ConfidenceKind.MEAN_PROBABILITY: mean_probability,
}
NEED_LOGPROBS = (*FROM_LOGPROBS, ConfidenceKind.P_TRUE)


def semantic_entropy(sizes: Sequence[int]) -> float:
    """1 − H / ln N, in [0, 1], of N draws in clusters of these sizes; 1 if all say the same, 0 if no two do.

    H = −Σ (nₖ / N) ln (nₖ / N), in nats, is the discrete semantic entropy of Farquhar et al. 2024 (Nature 630, after
    Kuhn, Gal and Farquhar 2023), here with the answer type's equality in place of entailment; its greatest value is ln
    N. It says how far the draws agree, not whether with the prior answer. NaN for fewer than two draws.

    >>> round(semantic_entropy([15, 1]), 3), round(semantic_entropy([14, 2]), 3)
    (0.916, 0.864)
    """
    n = sum(sizes)
    return 1 + math.fsum(k / n * math.log(k / n) for k in sizes) / math.log(n) if n > 1 else math.nan


def answer_tokens(
    text: str,
    tokens: Sequence[str],
    logprobs: Sequence[float],
    answer: str | None,
    answer_type: AnswerType,
    unit: str = "",
) -> tuple[float, ...]:
    """Log-probabilities of the tokens that overlap the answer in a reply; ``"".join(tokens)`` ends with `text`.

    The answer is what is compared with the gold one: the name in "Sir Edmund Hillary", without the title; the number in
    "25 metres", without the unit. Other words would change the confidence. If the answer was not read (None) or is not
    found, the reply without surrounding space counts as the answer.
    """
    spans = find(text, answer, answer_type, unit) if answer is not None else []
    whole_reply = Span(len(text) - len(text.lstrip()), len(text.rstrip()), text.strip())
    stated = next((span for span in spans if not span.partial), spans[0] if spans else whole_reply)
    kept, position = [], -max("".join(tokens).rfind(text), 0)
    for token, logprob in zip(tokens, logprobs, strict=True):
        if position < stated.end and position + len(token) > stated.start:
            kept.append(logprob)
        position += len(token)
    return tuple(kept)
