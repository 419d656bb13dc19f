"""A guarantee for the answers that SR-DCR gives, those to false passages included.

`FinalAnswerGuarantee` tries a fixed grid of rules on questions that were debated: τ, and what an unreasonable and an
unparsed verdict lead to. Of the rules whose risk, the share of wrong answers among those given, is shown to be at most
α where a stated share of the passages is false, it takes the one that answers most. `thresholds` bounds answers from
memory alone.

Source: Angelopoulos et al., Learn then Test, 2021; the test by bets with fixed stakes after Waudby-Smith and Ramdas,
Estimating means of bounded random variables by betting, 2024. Rules, weights and sequences are ours.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from numbers import Real
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from srdcr_lab.final_answer import half_weights
from srdcr_lab.lib.definitions import DECISIONS, ENDINGS, HARD, VERDICTS, decisions, endings, graded
from srdcr_lab.lib.gating import correct_positions
from srdcr_lab.lib.groups import groups, is_standard
from srdcr_lab.lib.page import Html, html_table, interval, shown
from srdcr_lab.lib.statistics import positions, ratio_interval
from srdcr_lab.records import BadInput, Decision, Missing
from srdcr_lab.records.vocabulary import must_be
from srdcr_lab.thresholds import PAPER_TAU, POWER, STARTS, TAUS, accept

NO_SETTING = "No guarantee: no setting attains this"
_SCOPE = (
    "Risk is the share of wrong answers among those that SR-DCR gives, from the passage or from memory, on questions "
    "like these and passages that are false as these are."
)
KAPPAS = (0.1, 0.3, HARD)
STAKES = (0.25, 0.5, 0.75, 1.0)  # of the largest that cannot lose more than all
_STUDIES = 500  # from which a power is taken
_MANY = 10**6  # more questions than anybody asks
_WORDS = {Decision.USE_PRIOR: "prior answer", Decision.USE_CONTEXT: "context answer", Decision.ABSTAIN: "abstain"}


class Debated(NamedTuple):
    """What the debates of some items left, arrays of one shape: positions in `rule.VERDICTS`, P(UNREASONABLE) (NaN
    without one), self-confidence, and positions in `rule.CORRECT` of the context and the prior answer."""

    verdict: NDArray[np.intp]
    p_unreasonable: NDArray[np.float64]
    confidence: NDArray[np.float64]
    context: NDArray[np.intp]
    prior: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Rule:
    """A point of the grid: Reasonable → context answer, the other two verdicts as named; the prior answer takes Conf ≥
    `tau`, else the rule abstains. `tau` is None where no verdict leads to the prior answer. A verdict is unreasonable
    from P(UNREASONABLE) = `kappa`; at ½, and where there is no probability, it is the word that was said."""

    tau: float | None
    unreasonable: Decision
    unparsed: Decision
    kappa: float = HARD

    def __str__(self) -> str:
        limits = "" if self.tau is None else f"τ = {self.tau:.4g}, "
        limits += "" if self.kappa == HARD else f"κ = {self.kappa:.4g}, "
        return f"{limits}unreasonable → {_WORDS[self.unreasonable]}, unparsed → {_WORDS[self.unparsed]}"

    def decisions(self, debated: Debated) -> NDArray[np.intp]:
        """Positions in `rule.DECISIONS`."""
        verdict = graded(debated.verdict, debated.p_unreasonable, self.kappa)
        confident = debated.confidence >= (math.inf if self.tau is None else self.tau)
        return decisions(verdict, confident, unreasonable=self.unreasonable, unparsed=self.unparsed)

    def outcomes(self, debated: Debated) -> NDArray[np.float64]:
        """Whether each item is answered, and whether wrongly, as 0 and 1: shape (2, …)."""
        verdict = graded(debated.verdict, debated.p_unreasonable, self.kappa)
        ending = endings(verdict, self.decisions(debated), debated.context, debated.prior)
        wrong = ending == ENDINGS.index("wrong")
        return np.stack([wrong | (ending == ENDINGS.index("right")), wrong]).astype(float)


# What an unreasonable and an unparsed verdict lead to, in ladders: of one τ, a later pair of a ladder answers more.
LADDERS: tuple[tuple[tuple[Decision, Decision], ...], ...] = (
    ((Decision.USE_PRIOR, Decision.ABSTAIN), (Decision.USE_PRIOR, Decision.USE_PRIOR)),  # the first is the paper's
    ((Decision.USE_PRIOR, Decision.USE_CONTEXT),),
    ((Decision.ABSTAIN, Decision.ABSTAIN),),
    ((Decision.USE_CONTEXT, Decision.USE_CONTEXT),),
)


def rule_grid(
    taus: Sequence[float] = TAUS, starts: Sequence[float] = STARTS, kappas: Sequence[float] = (HARD,)
) -> tuple[list[Rule], list[NDArray[np.intp]]]:
    """Every rule, and the sequences in which they are tested, as positions among them.

    At each κ each of the `LADDERS` is climbed at a τ, then at the next lower one, from each start downwards: neighbours
    give nearly the same answers, so that a test of one is nearly a test of the next, and Bonferroni would pay for each.
    One sequence alone would not do: the risk need not rise as τ falls, since right answers from memory make up for
    passages that were believed.
    """
    if not starts or not set(starts) <= set(taus):
        raise BadInput(f"each start is one of the taus, got starts {tuple(starts)}")
    rules: list[Rule] = []
    sequences = []
    for kappa, ladder in product(kappas, LADDERS):
        own = [Rule(None, *pair, kappa) for pair in ladder]
        if Decision.USE_PRIOR in ladder[0]:
            own = [Rule(tau, *pair, kappa) for tau in sorted(set(taus), reverse=True) for pair in ladder]
        for start in starts if own[0].tau is not None else (None,):
            first = [rule.tau for rule in own].index(start)
            sequences.append(np.arange(len(rules) + first, len(rules) + len(own)))
        rules += own
    return rules, sequences


def excess_p_value(excess: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """P-value of "the mean over all questions of `excess` is at least 0", for values in [−α, 1 − α] on the last axis.

    Excess is wrong − α · answered, of a question. Where the mean is at least 0, a gambler who stakes λ ≤ 1/(1 − α)
    against it has Π(1 − λ · excess) with an expectation of at most 1; so has the mean over the fixed `STAKES`, and by
    Markov's inequality its inverse is a p-value: for any number of questions and any likeness of the items of one.
    """
    return np.asarray(np.exp(-np.maximum(_evidence(_growth(excess, alpha).sum(axis=-2)), 0)))


def _growth(excess: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """The logarithm of what each stake becomes by each value: shape (…, stakes)."""
    with np.errstate(divide="ignore"):  # the full stake is lost where every answer to a question is wrong
        return np.log1p(-np.minimum(excess[..., None] * (np.array(STAKES) / (1 - alpha)), 1))


def _evidence(growth: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(logsumexp(growth, axis=-1) - math.log(len(STAKES)))


def questions_for_power(excess: NDArray[np.float64], alpha: float, level: float) -> int | None:
    """Questions with which the test at this level would pass in 80 % of studies, were these questions the population.

    Studies are drawn from them, with a fixed seed. None where no number would do, as the risk seen is not below α.
    """
    values, counts = np.unique(excess, return_counts=True)
    growth = _growth(values, alpha)
    if excess.size == 0 or excess.mean() >= 0 or (counts @ growth).max() <= 0:
        return None

    def passes(n: int) -> bool:
        drawn = np.random.default_rng(0).multinomial(n, counts / excess.size, _STUDIES)
        with np.errstate(invalid="ignore"):
            grown = np.where(drawn[..., None] > 0, drawn[..., None] * growth, 0.0).sum(axis=1)
        return bool((_evidence(grown) >= -math.log(level)).mean() >= POWER)

    n = 1 + bisect_left(range(1, _MANY), True, key=passes)
    return n if n < _MANY else None


class FinalAnswerGuarantee(BaseEstimator):  # type: ignore[misc]
    """Learn-then-Test for the final answer of SR-DCR, as a scikit-learn estimator.

    Parameters
    ----------
    alpha : the risk asked for: P(wrong | answered) at most, in (0, 1).
    delta : the probability, over draws of the questions, with which that may fail, in (0, 1).
    false_share : the share of false passages at which the rule is to be used, in [0, 1].
    taus, starts : as in `thresholds.learn_then_test`; chosen, with everything else, before these questions are seen.
    kappas : thresholds on P(UNREASONABLE), tried where the judge's verdicts have it.

    Attributes
    ----------
    rule_ : the `Rule`; None where no setting attains what was asked.
    sentence_ : what is promised of it, or what it would take; on how many questions, and what it does there.
    n_needed_ : without a rule, the questions that would do; None where no number would.
    coverage_, risk_ : of the rule at `false_share`, with 95 % intervals over questions; too good, as a rule, on the
        questions that chose it.
    sizes_ : `n` items, `n_questions`; `n_left_out`, questions that lack a passage of a kind; `n_error`, items that
        failed and are not answered.
    tests_ : a row per rule: its actions, `n_answered`, `n_wrong`, `coverage`, `risk`, `p_value`, `tested` (a
        sequence reached it), `accepted`.

    Notes
    -----
    A question counts once: of its items the true passages together weigh 1 − π, the false ones π. So the mean excess
    over questions is at least 0 just where the risk at π is at least α, however alike the items of one question are. A
    question with true passages alone is put together with one with false passages alone, in the order of the records.
    """

    def __init__(
        self,
        alpha: float = 0.1,
        delta: float = 0.1,
        false_share: float = 0.5,
        taus: Sequence[float] = TAUS,
        starts: Sequence[float] = STARTS,
        kappas: Sequence[float] = KAPPAS,
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.false_share = false_share
        self.taus = taus
        self.starts = starts
        self.kappas = kappas

    rule_: Rule | None
    n_needed_: int | None

    def fit(self, records: pd.DataFrame, y: None = None) -> Self:
        """Choose on the rows of sr_dcr of one model, run and design. `BadInput` where there are none, or several."""
        for name in ("taus", "starts", "kappas"):
            must_be(name, getattr(self, name), (Sequence, np.ndarray), "a list of numbers")
        for name in ("alpha", "delta", "false_share"):
            must_be(name, getattr(self, name), (Real,), "a number from 0 to 1")
        for name in ("alpha", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise BadInput(f"{name} lies between 0 and 1, got {getattr(self, name)}")
        rows = _rows(records)
        unit, weight = _units(rows, half_weights(self.false_share))
        kept, n_questions = unit >= 0, int(unit.max()) + 1
        debated = _debated(rows[kept])
        graded_too = not np.isnan(debated.p_unreasonable).all()
        rules, sequences = rule_grid(self.taus, self.starts, self.kappas if graded_too else (HARD,))
        failed = (rows["missing"] == Missing.ERROR).to_numpy(bool)
        of_items = np.stack([rule.outcomes(debated) for rule in rules]) * ~failed[kept]
        of_questions = np.stack(
            [[np.bincount(unit[kept], weight[kept] * side, n_questions) for side in rule] for rule in of_items]
        )
        excess = of_questions[:, 1] - self.alpha * of_questions[:, 0]
        p_value = excess_p_value(excess, self.alpha)
        accepted = accept(p_value, self.delta, sequences)
        tested = np.zeros(len(rules), bool)
        for places in sequences:
            passed = np.logical_and.accumulate(p_value[places] <= self.delta / len(sequences))
            tested[places[: 1 + passed.sum()]] = True
        coverage, wrong = of_questions.mean(axis=2).T
        counts = of_items.sum(axis=2).astype(int)
        self.tests_ = pd.DataFrame([asdict(rule) for rule in rules]).assign(
            n_answered=counts[:, 0], n_wrong=counts[:, 1], coverage=coverage,
            risk=wrong / np.where(coverage > 0, coverage, np.nan), p_value=p_value, tested=tested,
            accepted=accepted,
        )  # fmt: skip
        n_left_out = rows["question_id"].nunique() - rows.loc[kept, "question_id"].nunique()
        self.sizes_ = {"n": int(kept.sum()), "n_questions": n_questions, "n_left_out": n_left_out,
                       "n_error": int(failed[kept].sum())}  # fmt: skip
        self.rule_, self.n_needed_ = None, None
        self.coverage_, self.risk_ = (0.0, math.nan, math.nan), (math.nan, math.nan, math.nan)
        if accepted.any():
            best = int(np.where(accepted, coverage, -1).argmax())
            answered, missed = of_questions[best]
            same = np.arange(n_questions), np.zeros(n_questions), {0: 1.0}
            self.rule_ = rules[best]
            self.coverage_ = ratio_interval(answered, np.ones(n_questions), *same)
            self.risk_ = ratio_interval(missed, answered, *same)
            outcome = self._promise(*counts[best])
        else:
            first = [int(places[0]) for places in sequences]
            best = first[int(_growth(excess[first], self.alpha).sum(axis=1).max(axis=1).argmax())]
            self.n_needed_ = questions_for_power(excess[best], self.alpha, self.delta / len(first))
            outcome = self._refusal(rules[best], self.tests_["risk"].iloc[first].min())
        left_out = f" ({n_left_out} more lack a passage of a kind)" if n_left_out else ""
        on = f"on {n_questions} questions{left_out}, {self.false_share:.0%} of the passages false"
        self.sentence_ = f"{outcome} ({on}). {_SCOPE}"
        return self

    def predict(self, records: pd.DataFrame) -> pd.Series:
        """The decision for each row of sr_dcr; ABSTAIN everywhere where no setting attains what was asked."""
        check_is_fitted(self)
        rows = _rows(records)
        if self.rule_ is None:
            return pd.Series(Decision.ABSTAIN.value, rows.index)
        names = np.array([decision.value for decision in DECISIONS])
        return pd.Series(names[self.rule_.decisions(_debated(rows))], rows.index)

    def _promise(self, n_answered: int, n_wrong: int) -> str:
        return (
            f"Guaranteed: {self.rule_}; {n_answered} of {self.sizes_['n']} items answered, {n_wrong} wrong (coverage "
            f"{interval(*self.coverage_)}, risk {interval(*self.risk_)}); with probability ≥ {1 - self.delta:g} over "
            f"draws of such questions, at most {self.alpha:g} of the answers given to further ones are wrong"
        )

    def _refusal(self, best: Rule, least: float) -> str:
        asked = f"{NO_SETTING}: risk ≤ {self.alpha:g} with probability ≥ {1 - self.delta:g}"
        if math.isnan(least):
            return f"{asked}; no rule that is tested first gives an answer"
        if self.n_needed_ is None:
            return f"{asked}; the least risk seen is {least:.3f}, at which no number of questions would do"
        needed = f"{self.n_needed_} questions would do in {POWER:.0%} of studies"
        return f"{asked}; were the risk the one seen here, which is the best of several, {needed} (by {best})"


def final_answers(records: pd.DataFrame, alpha: float = 0.1, delta: float = 0.1, false_share: float = 0.5) -> Html:
    """What `FinalAnswerGuarantee` promises of these records, with the rules it tried; or why it cannot be asked."""
    guarantee = FinalAnswerGuarantee(alpha, delta, false_share)
    try:
        guarantee.fit(records)
    except BadInput as reason:
        return html_table((), (), caption=f"No guarantee: {reason}.")
    return shown(tests_table(guarantee), guarantee.sentence_)


def tests_table(guarantee: FinalAnswerGuarantee, most: int = 3) -> pd.DataFrame:
    """The rules that a fitted guarantee accepted, refused and did not test, at most so many of each.

    The accepted ones come in the order of their coverage, so that the chosen rule is the first row; the others in that
    of their p-values. Of rules that give the same answers one is shown.
    """
    tests = guarantee.tests_
    outcome = np.select([tests["accepted"], tests["tested"]], ["accepted", "refused"], "not tested")
    actions = zip(tests["unreasonable"], tests["unparsed"], strict=True)
    rule = [f"unreasonable → {_WORDS[one]}, unparsed → {_WORDS[other]}" for one, other in actions]
    order = tests["p_value"].where(~tests["accepted"], -tests["coverage"])
    rows = tests.assign(outcome=pd.Categorical(outcome, ["accepted", "refused", "not tested"]), rule=rule, order=order)
    rows = rows.sort_values(["outcome", "order"], kind="stable")
    rows = rows.drop_duplicates(["outcome", "n_answered", "n_wrong"]).groupby("outcome", observed=True).head(most)
    columns = ["outcome", "tau", "kappa", "rule", "n_answered", "n_wrong", "coverage", "risk", "p_value"]
    return rows[columns].astype({"outcome": str}).rename(columns={"risk": "share_wrong"}).reset_index(drop=True)


class DecisionRule(BaseEstimator):  # type: ignore[misc]
    """The rule of SR-DCR as a scikit-learn estimator, whose tools choose or judge τ without asking a model.

    `records` of one run are X: of sr_dcr, split by question (``GridSearchCV(DecisionRule(), {"tau": TAUS},
    cv=GroupKFold()).fit(records, groups=records["question_id"])``). They hold what is right, so y is not read, and
    there is nothing to fit. A τ that was searched for has no guarantee: see `FinalAnswerGuarantee`. Ours.

    Parameters
    ----------
    tau : as of `Rule`, whose other fields are the paper's.
    cost : what a wrong answer costs, where a right one is worth 1: `score` is the utility (right − cost · wrong) / n.
    """

    def __init__(self, tau: float = PAPER_TAU, cost: float = 1.0) -> None:
        self.tau = tau
        self.cost = cost

    def fit(self, records: pd.DataFrame, y: object = None) -> Self:
        """Nothing is fitted; `BadInput` where the records are not of one run."""
        self.n_ = len(_rows(records))
        return self

    @property
    def _rule(self) -> Rule:
        must_be("tau", self.tau, (Real,), "a number from 0 to 1")
        return Rule(self.tau, *LADDERS[0][0])

    def predict(self, records: pd.DataFrame) -> NDArray[np.str_]:
        """The decision for each row of sr_dcr, in order; a warning says so where the records hold other rows."""
        rows = _rows(records)
        if others := len(records) - len(rows):
            warnings.warn(
                f"DecisionRule decides the {len(rows):,} rows of sr_dcr, and not the {others:,} rows of other methods, "
                'which have no verdict; pass records[records["method"] == "sr_dcr"] to match decisions with rows',
                stacklevel=2,
            )
        return np.array([str(decision) for decision in DECISIONS])[self._rule.decisions(_debated(rows))]

    def score(self, records: pd.DataFrame, y: object = None) -> float:
        """Utility; a row whose call failed has no answer."""
        rows = _rows(records)
        answered, wrong = self._rule.outcomes(_debated(rows)) * (rows["missing"] != Missing.ERROR).to_numpy(bool)
        return float(np.mean(answered - (1 + self.cost) * wrong))


def _rows(records: pd.DataFrame) -> pd.DataFrame:
    must_be("records", records, (pd.DataFrame,), "a DataFrame, as load_run(…).records is")
    rows = records[records["method"] == "sr_dcr"] if "method" in records else records.iloc[:0]
    n_groups = sum(1 for _ in groups(rows, ("run", "model", "design")))
    if n_groups != 1:
        what = f"of {n_groups} runs, models or designs; choose one of them" if n_groups else "at all; debate first"
        raise BadInput(f"the guarantee takes the rows of sr_dcr of one run, got rows {what}")
    return rows


def _debated(rows: pd.DataFrame) -> Debated:
    verdict = positions(rows["verdict"], VERDICTS[:-1])
    beliefs = rows.reindex(columns=["p_unreasonable", "self_confidence"]).astype("Float64")
    p_unreasonable, confidence = beliefs.to_numpy(float, na_value=np.nan).T
    context, prior = (correct_positions(rows[f"{name}_correct"]) for name in ("context", "prior"))
    return Debated(np.where(verdict < 0, VERDICTS.index(None), verdict), p_unreasonable, confidence, context, prior)


def _units(rows: pd.DataFrame, weights: Mapping[bool, float]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The independent unit of each item, −1 where it lacks a half, and the item's weight in it; they sum to 1."""
    half = is_standard(rows).to_numpy(bool).astype(int)  # 1: the passage is true
    question = pd.factorize(rows["question_id"])[0]
    forms = np.zeros((question.max() + 1, 2))
    np.add.at(forms, (question, half), 1)
    weight = np.array([weights.get(False, 0.0), weights.get(True, 0.0)])
    unit = np.arange(len(forms))
    if weight.all():
        pairs = zip(np.flatnonzero(forms[:, 0] == 0), np.flatnonzero(forms[:, 1] == 0), strict=False)
        for with_true, with_false in pairs:
            unit[with_false] = with_true
    sizes = np.zeros(forms.shape)
    np.add.at(sizes, unit, forms)
    whole: NDArray[np.bool_] = np.all(sizes[:, weight > 0] > 0, axis=1)
    if not whole.any():
        kinds = " and ".join("true" if true else "false" for true in weights)
        raise BadInput(f"too few questions: none has {kinds} passages, which this share of false passages needs")
    own = unit[question]
    kept = whole[own] & (weight[half] > 0)
    return np.where(kept, whole.cumsum()[own] - 1, -1), weight[half] / sizes[own, half]
