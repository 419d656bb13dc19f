"""The paper's definitions for one question or item: category, confidence, verdict, decision, ending [2.2–3.2].

Confidences that need further questions are in `protocols.answering`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.answers.kinds import find
from srdcr_lab.answers.wording import Span
from srdcr_lab.records import AnswerType, BadInput, ConfidenceKind, Decision, KnowledgeCategory, Missing, Verdict

HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, PAPER_TAU = 0.85, 0.30, 0.90
CATEGORIES = tuple(KnowledgeCategory)  # from highly known to unknown
PAPER_KAPPA = 0.5  # the κ of the paper: the word that was said
ENDINGS = ("right", "wrong", *(why.value for why in Missing))  # of an item with a method
NEARLY = 0.9  # the similarity from which a turn says nearly the same as another
ASKED_AGAIN = "asked again"  # the `speaker` of a debater's turn that nobody heard, because it repeated an earlier one


def sampled_accuracy(correct: Sequence[bool]) -> float:
    """Compute Acc = (1/N) Σ 1[âᵢ = a] over N draws.

    Parameters
    ----------
    correct : sequence of bool
        Whether each draw is right; an unread draw is not.

    Returns
    -------
    float
        The share of right draws; NaN without draws.

    References
    ----------
    Paper, section 2.2.

    Examples
    --------
    >>> sampled_accuracy([True] * 28 + [False] * 4)
    0.875
    """
    return sum(correct) / len(correct) if len(correct) else math.nan


def categorise(
    accuracy: ArrayLike, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> NDArray[np.intp]:
    """Find the knowledge category of each sampled accuracy.

    Highly-Known from 0.85, Maybe-Known from 0.30, Weakly-Known above 0, Unknown at 0. With more draws fewer questions
    are Unknown.

    Parameters
    ----------
    accuracy : array-like
        Sampled accuracies in [0, 1].
    highly_from : float, default HIGHLY_KNOWN_FROM
        Lower bound of Highly-Known.
    maybe_from : float, default MAYBE_KNOWN_FROM
        Lower bound of Maybe-Known.

    Returns
    -------
    ndarray of int
        Positions in `CATEGORIES`; −1 for NaN.

    Raises
    ------
    ValueError
        The bounds are not 0 < maybe ≤ highly ≤ 1.

    References
    ----------
    Paper, section 2.2 and Table 3.

    Examples
    --------
    >>> categorise([0.875, 0.19, 0.0]).tolist()
    [0, 2, 3]
    """
    if not 0 < maybe_from <= highly_from <= 1:
        raise ValueError(f"categories need 0 < maybe ≤ highly ≤ 1, got {maybe_from} and {highly_from}")
    values = np.asarray(accuracy, float)
    passed = np.searchsorted([np.nextafter(0, 1), maybe_from, highly_from], values, side="right")
    return np.where(np.isnan(values), -1, len(CATEGORIES) - 1 - passed)


@lru_cache(maxsize=1000)  # n draws have n + 1 accuracies
def knowledge_category(accuracy: float, **bounds: float) -> KnowledgeCategory | None:
    """Find the knowledge category of one sampled accuracy.

    Parameters
    ----------
    accuracy : float
        Sampled accuracy in [0, 1], or NaN.
    **bounds : float
        `highly_from` and `maybe_from`, as in `categorise`.

    Returns
    -------
    KnowledgeCategory or None
        The category; None for NaN (no draws).
    """
    return None if math.isnan(accuracy) else CATEGORIES[int(categorise(accuracy, **bounds))]


def category_counts(n_draws: int, **bounds: float) -> NDArray[np.intp]:
    """Find the category for each possible number of right draws.

    Parameters
    ----------
    n_draws : int
        Number of draws.
    **bounds : float
        `highly_from` and `maybe_from`, as in `categorise`.

    Returns
    -------
    ndarray of int, shape (n_draws + 1,)
        Positions in `CATEGORIES`.
    """
    return categorise(np.arange(n_draws + 1) / n_draws, **bounds)


def redraw_stability(successes: int, n: int, **bounds: float) -> float:
    """Compute P(same category on n new draws | k of n right), with k′ ~ BetaBinomial(n, k + ½, n − k + ½).

    Parameters
    ----------
    successes : int
        Number of right draws k.
    n : int
        Number of draws.
    **bounds : float
        `highly_from` and `maybe_from`, as in `categorise`.

    Returns
    -------
    float
        The probability; NaN for n = 0.

    References
    ----------
    Ours.
    """
    from scipy.stats import betabinom  # takes a second to import, which the command line would pay at every start

    if n == 0:
        return math.nan
    labels = category_counts(n, **bounds)
    probabilities = betabinom.pmf(np.arange(n + 1), n, successes + 0.5, n - successes + 0.5)
    return float(probabilities[labels == labels[successes]].sum())


def highly_known(questions: pd.DataFrame) -> pd.Series:
    """Find which questions are Highly-Known, the target of P(Highly-Known | Conf ≥ τ).

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.

    Returns
    -------
    Series
        Whether each question is Highly-Known; missing without draws.

    References
    ----------
    Paper, section 4.2.
    """
    category = one_row_each(questions)["knowledge_category"]
    return (category == CATEGORIES[0]).astype("boolean").mask(category.isna())


def one_row_each(questions: pd.DataFrame) -> pd.DataFrame:
    """Return the table, if it has one row per question (and model, run and repeat).

    Parameters
    ----------
    questions : DataFrame
        One row per question, as `Results.questions`.

    Returns
    -------
    DataFrame
        The same table.

    Raises
    ------
    BadInput
        A question has several rows, as in `Results.records`.
    """
    keys = [name for name in ("run", "model", "repeat", "seed", "question_id") if name in questions]
    if "question_id" in keys and questions.duplicated(keys).any():
        raise BadInput("a question has several rows; give a table with one row each, such as results.questions")
    return questions


# Confidence


def mean_logprob(logprobs: Sequence[float]) -> float:
    """Compute exp((1/L) Σ log p(tᵢ)), the geometric mean of the probabilities of an answer's tokens.

    Parameters
    ----------
    logprobs : sequence of float
        Log-probabilities of the tokens.

    Returns
    -------
    float
        The mean; NaN without tokens.

    References
    ----------
    Paper, section 2.3.

    Examples
    --------
    >>> round(mean_logprob([math.log(0.9), math.log(0.4)]), 3)
    0.6
    """
    return math.exp(math.fsum(logprobs) / len(logprobs)) if logprobs else math.nan


def sequence(logprobs: Sequence[float]) -> float:
    """Compute exp(Σ log p(tᵢ)), the probability of the whole answer.

    Parameters
    ----------
    logprobs : sequence of float
        Log-probabilities of its tokens.

    Returns
    -------
    float
        The probability; NaN without tokens.
    """
    return math.exp(math.fsum(logprobs)) if logprobs else math.nan


def mean_probability(logprobs: Sequence[float]) -> float:
    """Compute (1/L) Σ p(tᵢ), the arithmetic mean of the probabilities of an answer's tokens.

    Parameters
    ----------
    logprobs : sequence of float
        Log-probabilities of the tokens.

    Returns
    -------
    float
        The mean; NaN without tokens.

    References
    ----------
    Wu et al., ClashEval, 2024.
    """
    return math.fsum(map(math.exp, logprobs)) / len(logprobs) if logprobs else math.nan


FROM_LOGPROBS = {ConfidenceKind(of.__name__): of for of in (mean_logprob, sequence, mean_probability)}


def semantic_entropy(sizes: Sequence[int]) -> float:
    """Compute 1 − H / ln N of N draws in clusters: 1 if all say the same, 0 if no two do.

    H = −Σ (nₖ / N) ln (nₖ / N), in nats, is the discrete semantic entropy, here with the answer type's equality in
    place of entailment; its greatest value is ln N. It says how far the draws agree, not whether with the prior answer.

    Parameters
    ----------
    sizes : sequence of int
        The sizes of the clusters; they sum to N.

    Returns
    -------
    float
        The confidence, in [0, 1]; NaN for fewer than two draws.

    References
    ----------
    Farquhar et al., Nature 630, 2024, after Kuhn, Gal and Farquhar, 2023.

    Examples
    --------
    >>> round(semantic_entropy([15, 1]), 3), round(semantic_entropy([14, 2]), 3)
    (0.916, 0.864)
    """
    n = sum(sizes)
    return 1 + math.fsum(k / n * math.log(k / n) for k in sizes) / math.log(n) if n > 1 else math.nan


def answer_tokens(
    text: str, tokens: Sequence[str], logprobs: Sequence[float], answer: str | None, answer_type: AnswerType,
    unit: str = "",
) -> tuple[float, ...]:  # fmt: skip
    """Find the log-probabilities of the tokens that state the answer in a reply.

    The answer is what is compared with the gold one: the name in "Sir Edmund Hillary", without the title; the number in
    "25 metres", without the unit. Other words would change the confidence. If the answer was not read or is not found,
    the reply without surrounding space counts as the answer.

    Parameters
    ----------
    text : str
        The reply.
    tokens : sequence of str
        Its tokens; joined, they end with `text`.
    logprobs : sequence of float
        Their log-probabilities.
    answer : str
        The answer; None if it was not read.
    answer_type : AnswerType
        Its type.
    unit : str, default ""
        Its unit.

    Returns
    -------
    tuple of float
        Log-probabilities of the tokens that overlap the answer.
    """
    spans = find(text, answer, answer_type, unit) if answer is not None else []
    whole_reply = Span(len(text) - len(text.lstrip()), len(text.rstrip()), text.strip())
    stated = next((span for span in spans if not span.partial), spans[0] if spans else whole_reply)
    edges = pairwise(accumulate(map(len, tokens), initial=-max("".join(tokens).rfind(text), 0)))
    inside = [begin < stated.end and end > stated.start for begin, end in edges]
    return tuple(logprob for logprob, kept in zip(logprobs, inside, strict=True) if kept)


# Verdict and decision


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict of a debate, and how long it took.

    Attributes
    ----------
    verdict : Verdict
        V*, the earliest stabilised verdict.
    r_star : int, optional
        r*, the round from which V* holds; None for an unparsed V*, and if only the last verdict was asked for.
    stabilised : bool, optional
        Whether V* holds for more than the last round; None if only the last verdict was asked for.
    """

    verdict: Verdict
    r_star: int | None
    stabilised: bool | None


def stabilised_verdict(path: Sequence[str], first_round: int = 0) -> Ruling:
    """Find the earliest stabilised verdict: V(r*) with V(r*) = … = V(R−1).

    An unparsed verdict breaks a run of equal verdicts. If the last verdict is unparsed, so is V*, and r* is None.

    Parameters
    ----------
    path : sequence of Verdict or str
        The verdict after each round.
    first_round : int, default 0
        The round of the first verdict.

    Returns
    -------
    Ruling
        V* and r*.

    References
    ----------
    Paper, section 3.1.

    Examples
    --------
    >>> stabilised_verdict([Verdict.UNREASONABLE, Verdict.REASONABLE, Verdict.REASONABLE]).r_star
    1
    """
    last = Verdict(path[-1]) if path else Verdict.UNPARSED
    if last is Verdict.UNPARSED:
        return Ruling(Verdict.UNPARSED, None, stabilised=False)
    start = len(path) - 1
    while start > 0 and path[start - 1] == last:
        start -= 1
    return Ruling(last, first_round + start, stabilised=start < len(path) - 1)


def majority_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of more than half of the draws of one ruling.

    Parameters
    ----------
    verdicts : sequence of Verdict
        The drawn verdicts.

    Returns
    -------
    Verdict
        The majority; UNPARSED if there is none.
    """
    most = max(verdicts, key=verdicts.count, default=Verdict.UNPARSED)
    return most if 2 * verdicts.count(most) > len(verdicts) else Verdict.UNPARSED


def says_again(text: str, earlier: Iterable[str]) -> bool:
    """Decide whether a turn says nearly the same as one of several earlier turns.

    Parameters
    ----------
    text : str
        The turn.
    earlier : iterable of str
        The earlier turns.

    Returns
    -------
    bool
        Whether the similarity to one of them is at least 0.9: twice the number of words that match in order
        (`difflib`, case and punctuation ignored), over the number of words of both; two turns without a word are the
        same. Ours.

    Examples
    --------
    >>> says_again("1874. I am **sure**!", ["1875. The town is older.", "1874. I am sure."])
    True
    """

    def words(of: str) -> list[str]:
        return re.findall(r"\w+", of.casefold())

    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(words(text))
    for each in earlier:
        matcher.set_seq1(words(each))
        if matcher.real_quick_ratio() >= NEARLY and matcher.quick_ratio() >= NEARLY and matcher.ratio() >= NEARLY:
            return True
    return False


def decide(
    verdict: str | None, confidence: float, tau: float = PAPER_TAU, *, gate: bool = True,
    unreasonable: Decision = Decision.USE_PRIOR, unparsed: Decision = Decision.ABSTAIN,
) -> Decision:  # fmt: skip
    """Decide from verdict and confidence: the rule of SR-DCR.

    Reasonable leads to the context answer; Unreasonable with Conf ≥ τ to the prior answer; anything else to abstaining.

    Parameters
    ----------
    verdict : Verdict or str
        The verdict; None or NaN if no debate was needed because both answers are equal, which leads to the context
        answer.
    confidence : float
        Self-confidence in [0, 1]; NaN is never ≥ τ.
    tau : float, default PAPER_TAU
        Confidence threshold τ in [0, 1].
    gate : bool, default True
        With False, Unreasonable leads to the prior answer whatever the confidence (the released code).
    unreasonable : Decision, default Decision.USE_PRIOR
        Decision after an unreasonable verdict.
    unparsed : Decision, default Decision.ABSTAIN
        Decision after an unparsed verdict.

    Returns
    -------
    Decision
        The decision. The prior answer always needs Conf ≥ τ, unless the gate is off.

    Raises
    ------
    ValueError
        The text is no verdict.

    References
    ----------
    Paper, section 3.2.

    Examples
    --------
    >>> decide(Verdict.UNREASONABLE, 0.95)
    <Decision.USE_PRIOR: 'USE_PRIOR'>
    """
    if pd.isna(verdict) or verdict == Verdict.REASONABLE:
        return Decision.USE_CONTEXT
    decision = Decision(unreasonable if Verdict(str(verdict)) is Verdict.UNREASONABLE else unparsed)
    if decision is Decision.USE_PRIOR and gate and not confidence >= tau:
        return Decision.ABSTAIN
    return decision


def missing_reason(verdict: str | None, decision: str | None, *, readable: bool) -> Missing | None:
    """Find out why an item has no answer.

    Parameters
    ----------
    verdict : Verdict or str
        The verdict, if there was one.
    decision : Decision or str
        The decision; None if nothing was read to decide from.
    readable : bool
        Whether the chosen answer could be read.

    Returns
    -------
    Missing or None
        The reason; None if there is an answer.
    """
    if decision == Decision.ABSTAIN:
        return Missing.UNPARSED if verdict == Verdict.UNPARSED else Missing.ABSTAINED
    return None if readable else Missing.UNPARSED


def more_probable(prior: float, context: float) -> Decision | None:
    """Choose the answer with the higher value.

    Parameters
    ----------
    prior : float
        Value of the prior answer, or NaN.
    context : float
        Value of the context answer, or NaN.

    Returns
    -------
    Decision or None
        The decision. Equal values go to the passage; NaN is below everything; None for two NaN.
    """
    if math.isnan(prior) and math.isnan(context):
        return None
    return Decision.USE_PRIOR if prior > context or math.isnan(context) else Decision.USE_CONTEXT


def by_percentile(
    question_id: Sequence[str], prior: ArrayLike, context: ArrayLike, weight: ArrayLike | None = None
) -> list[Decision | None]:
    """Choose by percentile ranks: a prior answer's among the questions, a context answer's among the items.

    The rule is transductive: each decision depends on the confidences of all the items, so it holds for these and for
    similar ones. If some questions were chosen more often than others, `weight` makes the ranks those of the
    population.

    Parameters
    ----------
    question_id : sequence of str
        Question of each item.
    prior, context : array-like
        Probability that the model gives to the prior and to the context answer of each item; None or NaN if it could
        not be read.
    weight : array-like, optional
        Weight of each item; None for 1.

    Returns
    -------
    list of Decision
        One decision per item; None if neither answer could be read.

    References
    ----------
    Wu, Wu and Zou 2024, ClashEval (arXiv 2404.10198); the weights are ours.
    """
    priors, contexts = np.asarray(prior, float), np.asarray(context, float)
    weights = np.ones(len(question_id)) if weight is None else np.asarray(weight, float)
    once = [*{question: place for place, question in enumerate(question_id)}.values()]
    of_priors = percentile_ranks(priors, priors[once], weights[once])
    return list(map(more_probable, of_priors, percentile_ranks(contexts, contexts, weights)))


def percentile_ranks(values: ArrayLike, among: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Compute the share of a weighted population below each value, with equal ones counted half.

    Parameters
    ----------
    values : array-like
        The values.
    among : array-like
        The population; NaN is left out.
    weights : array-like
        Weight of each of the population.

    Returns
    -------
    ndarray of float
        The ranks in [0, 1]; NaN for NaN, and where the population is empty.

    Examples
    --------
    >>> percentile_ranks([0.5, 0.9], [0.1, 0.5, 0.5, 0.9], [1, 1, 1, 1]).tolist()
    [0.5, 0.875]
    """
    known = pd.Series(weights, among, float).groupby(level=0).sum()  # ascending, without NaN
    up_to = np.append(0.0, known.cumsum())
    ends = (up_to[np.searchsorted(known.index, values, side)] for side in ("left", "right"))
    return np.where(np.isnan(values), np.nan, sum(ends) / (2 * up_to[-1] or np.nan))
