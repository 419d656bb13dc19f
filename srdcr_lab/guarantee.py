"""A guarantee for the answers that SR-DCR gives, those to false passages included.

`guaranteed_rule` tries a fixed grid of rules on questions that were debated: τ, and what an unreasonable and an
unparsed verdict lead to. The risk of a rule is the share of wrong answers among those given. Of the rules whose risk is
shown to be at most α at a stated share of false passages, it takes the one with the highest coverage. `thresholds`
bounds answers from memory only.

Source: Angelopoulos et al., Learn then Test, 2021; the test by bets with fixed stakes after Waudby-Smith and Ramdas,
Estimating means of bounded random variables by betting, 2024. Rules, weights and sequences are ours.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srdcr_lab.debates import with_kappa
from srdcr_lab.lib.definitions import PAPER_KAPPA
from srdcr_lab.lib.gating import decided, half_weights
from srdcr_lab.lib.groups import groups, is_standard
from srdcr_lab.lib.page import Html, html_table, shown
from srdcr_lab.lib.statistics import Estimate, ratio_interval
from srdcr_lab.records import BadInput, Decision, Missing
from srdcr_lab.records.vocabulary import must_be
from srdcr_lab.thresholds import STARTS, TAUS, accept, check_tests

NO_SETTING = "No guarantee: no rule is shown to keep the risk at or below"
KAPPAS = (0.1, 0.3, PAPER_KAPPA)
STAKES = (0.25, 0.5, 0.75, 1.0)  # of the largest that cannot lose more than all
POWER, _STUDIES = 0.8, 500  # the share of simulated studies that a number of questions has to satisfy
_MANY = 10**6  # more questions than anybody asks
_WORDS = {Decision.USE_PRIOR: "prior answer", Decision.USE_CONTEXT: "context answer", Decision.ABSTAIN: "abstain"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision rule of the grid.

    A reasonable verdict leads to the context answer. The prior answer is given only with Conf ≥ `tau`; otherwise the
    rule abstains.

    Attributes
    ----------
    tau : float, optional
        The confidence threshold; None if no verdict leads to the prior answer.
    unreasonable : Decision
        Decision after an unreasonable verdict.
    unparsed : Decision
        Decision after an unparsed verdict.
    kappa : float, default 0.5
        P(UNREASONABLE) from which a verdict is unreasonable; at 0.5, and without a probability, the stated verdict
        counts.
    """

    tau: float | None
    unreasonable: Decision
    unparsed: Decision
    kappa: float = PAPER_KAPPA

    def __str__(self) -> str:
        limits = "" if self.tau is None else f"τ = {self.tau:.4g}, "
        limits += "" if self.kappa == PAPER_KAPPA else f"κ = {self.kappa:.4g}, "
        return f"{limits}unreasonable → {_WORDS[self.unreasonable]}, unparsed → {_WORDS[self.unparsed]}"


# What an unreasonable and an unparsed verdict lead to, in ladders: of one τ, a later pair of a ladder answers more.
LADDERS: tuple[tuple[tuple[Decision, Decision], ...], ...] = (
    ((Decision.USE_PRIOR, Decision.ABSTAIN), (Decision.USE_PRIOR, Decision.USE_PRIOR)),  # the first is the paper's
    ((Decision.USE_PRIOR, Decision.USE_CONTEXT),),
    ((Decision.ABSTAIN, Decision.ABSTAIN),),
    ((Decision.USE_CONTEXT, Decision.USE_CONTEXT),),
)


def rule_grid(
    taus: Sequence[float] = TAUS, starts: Sequence[float] = STARTS, kappas: Sequence[float] = (PAPER_KAPPA,)
) -> tuple[list[Rule], list[NDArray[np.intp]]]:
    """List every rule, and the sequences in which the rules are tested.

    At each κ, each of the `LADDERS` is climbed at one τ, then at the next lower one, from each start downwards.
    Neighbours give nearly the same answers, so their tests nearly coincide, and Bonferroni would pay for each. A single
    sequence would not do: the risk need not rise as τ falls, because right answers from memory can make up for passages
    that were believed.

    Parameters
    ----------
    taus : sequence of float, default TAUS
        The grid of thresholds.
    starts : sequence of float, default STARTS
        Thresholds at which the sequences begin; each is one of `taus`.
    kappas : sequence of float, default (PAPER_KAPPA,)
        Thresholds on P(UNREASONABLE).

    Returns
    -------
    tuple of list of Rule, list of ndarray of int
        The rules, and the sequences as positions among them.

    Raises
    ------
    BadInput
        A start is not one of the taus.
    """
    check_tests(taus, starts)
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
    """Compute the p-value of "the mean of `excess` over all questions is at least 0".

    Excess is wrong − α · answered, per question. If its mean is at least 0, a gambler who stakes λ ≤ 1/(1 − α) against
    it has wealth Π(1 − λ · excess) with an expectation of at most 1. The same holds for the mean over the fixed
    `STAKES`, and by Markov's inequality its inverse is a p-value, for any number of questions and any dependence among
    the items of one.

    Parameters
    ----------
    excess : ndarray of float
        Values in [−α, 1 − α], with the questions on the last axis.
    alpha : float
        The wanted risk, in (0, 1).

    Returns
    -------
    ndarray of float
        The p-values.
    """
    return np.asarray(np.exp(-np.maximum(_evidence(_growth(excess, alpha).sum(axis=-2)), 0)))


def _growth(excess: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """The logarithm of what each stake becomes by each value: shape (…, stakes)."""
    with np.errstate(divide="ignore"):  # the full stake is lost where every answer to a question is wrong
        return np.log1p(-np.minimum(excess[..., None] * (np.array(STAKES) / (1 - alpha)), 1))


def _evidence(growth: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(logsumexp(growth, axis=-1) - math.log(len(STAKES)))


def questions_for_power(excess: NDArray[np.float64], alpha: float, level: float) -> int | None:
    """Find the smallest number of questions with which the test passes in 80 % of studies, to 1 %.

    Studies are drawn from these questions, as if they were the population, with a fixed seed.

    Parameters
    ----------
    excess : ndarray of float
        Excess per question, as in `excess_p_value`.
    alpha : float
        The wanted risk, in (0, 1).
    level : float
        Level of the test.

    Returns
    -------
    int or None
        The number; None if no number suffices, because the observed risk is not below α.
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

    n = 1
    while n < _MANY and not passes(n):
        n += 1 + n // 100
    return n if n < _MANY else None


@dataclass(frozen=True)
class Guarantee:
    """What Learn-then-Test found for the final answers of SR-DCR.

    Attributes
    ----------
    rule : Rule or None
        The chosen rule; None if no setting attains the wanted risk.
    sentence : str
        The guarantee in words, or what it would take; the number of questions, and the results on them.
    n_needed : int or None
        Without a rule, the number of questions that would be needed; None if no number suffices.
    coverage, risk : Estimate
        Of the rule at the stated share of false passages, with 95 % intervals over questions; usually too optimistic on
        the questions that chose it.
    sizes : dict
        `n` items; `n_questions`; `n_left_out`, the questions without one kind of passage; `n_error`, the items that
        failed and are not answered.
    tests : DataFrame
        One row per rule: its decisions, `n_answered`, `n_wrong`, `coverage`, `risk`, `p_value`, `tested` (a sequence
        reached it) and `accepted`.
    """

    rule: Rule | None
    sentence: str
    n_needed: int | None
    coverage: Estimate
    risk: Estimate
    sizes: dict[str, int]
    tests: pd.DataFrame


def guaranteed_rule(
    records: pd.DataFrame, alpha: float = 0.1, delta: float = 0.1, false_share: float = 0.5, *,
    taus: Sequence[float] = TAUS, starts: Sequence[float] = STARTS,
) -> Guarantee:  # fmt: skip
    """Choose the rule for SR-DCR's final answers by Learn-then-Test.

    Of the rules whose risk is shown to be at most `alpha`, it takes the one with the highest coverage. If the Judge's
    verdicts have P(UNREASONABLE), rules at each of `KAPPAS` are tried.

    Parameters
    ----------
    records : DataFrame
        Records with rows of SR-DCR, of one model, run and design.
    alpha : float, default 0.1
        The wanted bound on the risk P(wrong | answered), in (0, 1).
    delta : float, default 0.1
        Probability, over draws of the questions, with which the bound may fail, in (0, 1).
    false_share : float, default 0.5
        Share of false passages at which the rule is to be used, in [0, 1].
    taus, starts : sequence of float
        As in `learn_then_test`; chosen, like everything else, before these questions are seen.

    Returns
    -------
    Guarantee
        The rule or None, the guarantee in a sentence, and every test.

    Raises
    ------
    BadInput
        There are no such rows, or they belong to several runs, models or designs.

    Notes
    -----
    A question counts once: with π = `false_share`, its true passages together weigh 1 − π and its false ones π. So the
    mean excess over questions is at least 0 exactly where the risk at π is at least α, however alike the items of one
    question are. A question with true passages alone is put together with one with false passages alone, in the order
    of the records.
    """
    for name, values in {"taus": taus, "starts": starts}.items():
        must_be(name, values, (Sequence, np.ndarray), "a list of numbers")
    must_be("false_share", false_share, (Real,), "a number from 0 to 1")
    check_tests(alpha=alpha, delta=delta)
    rows = _rows(records)
    unit, weight = _units(rows, half_weights(false_share))
    kept, n_questions = unit >= 0, int(unit.max()) + 1
    graded_too = rows.loc[kept, "p_unreasonable"].notna().any()
    rules, sequences = rule_grid(taus, starts, KAPPAS if graded_too else (PAPER_KAPPA,))
    of_items = _outcomes(rows[kept], rules)
    summed = partial(np.bincount, unit[kept], minlength=n_questions)
    of_questions = np.array([[summed(weight[kept] * side) for side in rule] for rule in of_items])
    excess = of_questions[:, 1] - alpha * of_questions[:, 0]
    p_value = excess_p_value(excess, alpha)
    accepted = accept(p_value, delta, sequences)
    tested = np.zeros(len(rules), bool)
    for places in sequences:  # the first of a sequence, and what comes after an accepted one
        tested[places] |= np.append(True, accepted[places[:-1]])
    coverage, wrong = of_questions.mean(axis=2).T
    counts = of_items.sum(axis=2).astype(int)
    tests = pd.DataFrame([asdict(rule) for rule in rules]).assign(
        n_answered=counts[:, 0], n_wrong=counts[:, 1], coverage=coverage,
        risk=wrong / np.where(coverage > 0, coverage, np.nan), p_value=p_value, tested=tested, accepted=accepted,
    )  # fmt: skip
    left_out = rows["question_id"].nunique() - rows.loc[kept, "question_id"].nunique()
    n, n_error = int(kept.sum()), int((rows.loc[kept, "missing"] == Missing.ERROR).sum())
    sizes = {"n": n, "n_questions": n_questions, "n_left_out": left_out, "n_error": n_error}
    more = f" ({left_out} more lack a passage of a kind)" if left_out else ""
    on = (
        f"(on {n_questions} questions{more}, {false_share:.0%} of the passages false). Risk is the share of wrong "
        "answers among those that SR-DCR gives, from the passage or from memory, on questions and passages like these."
    )
    if accepted.any():
        best = int(np.where(accepted, coverage, -1).argmax())
        answered, missed = of_questions[best]
        same = np.arange(n_questions), np.zeros(n_questions), {0: 1.0}
        covered = ratio_interval(answered, np.ones(n_questions), *same)
        risk = ratio_interval(missed, answered, *same)
        sentence = (
            f"Guaranteed: {rules[best]}; {counts[best][0]} of {n} items answered, {counts[best][1]} wrong "
            f"(coverage {covered}, risk {risk}); with probability ≥ {1 - delta:g} over draws of "
            f"such questions, at most {alpha:g} of the answers given to further ones are wrong {on}"
        )
        return Guarantee(rules[best], sentence, None, covered, risk, sizes, tests)
    first = [int(places[0]) for places in sequences]
    best = first[int(_growth(excess[first], alpha).sum(axis=1).max(axis=1).argmax())]
    needed = questions_for_power(excess[best], alpha, delta / len(first))
    needs = _takes(rules[best], tests["risk"].iloc[first].min(), needed)
    sentence = f"{NO_SETTING} {alpha:g} with probability ≥ {1 - delta:g} {on} {needs}"
    return Guarantee(None, sentence, needed, Estimate(0.0), Estimate(), sizes, tests)


def _takes(best: Rule, least: float, needed: int | None) -> str:
    """What a guarantee would take, in words; `least`: the least risk of the rules that are tested first."""
    if math.isnan(least):
        return "No rule that is tested first gives an answer."
    if needed is None:
        return f"The lowest risk seen is {least:.3f}, for which no number of questions would suffice."
    return (
        f"If the risk of the best rule ({best}) is really as low as here, {needed} questions would suffice in "
        f"{POWER:.0%} of studies."
    )


def final_answers(records: pd.DataFrame, alpha: float = 0.1, delta: float = 0.1, false_share: float = 0.5) -> Html:
    """Show the guarantee for these records with the rules it tried, or why there is none.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    alpha : float, default 0.1
        The wanted bound on P(wrong | answered), in (0, 1).
    delta : float, default 0.1
        Probability with which the bound may fail, in (0, 1).
    false_share : float, default 0.5
        Share of false passages, in [0, 1].

    Returns
    -------
    Html
        The guarantee in a sentence, above the table of rules.
    """
    try:
        found = guaranteed_rule(records, alpha, delta, false_share)
    except BadInput as reason:
        return html_table((), (), caption=f"No guarantee: {reason}.")
    return shown(tests_table(found), found.sentence)


def tests_table(found: Guarantee) -> pd.DataFrame:
    """List rules that were accepted, refused and not tested, up to three of each.

    Parameters
    ----------
    found : Guarantee
        What `guaranteed_rule` found.

    Returns
    -------
    DataFrame
        One row per rule. Accepted rules are in the order of coverage, so the chosen one comes first; the others in the
        order of their p-values. Of rules with the same answers one is listed.
    """
    tests = found.tests
    outcome = np.select([tests["accepted"], tests["tested"]], ["accepted", "refused"], "not tested")
    rule = [str(Rule(None, *actions)) for actions in zip(tests["unreasonable"], tests["unparsed"], strict=True)]
    order = tests["p_value"].where(~tests["accepted"], -tests["coverage"])
    rows = tests.assign(outcome=pd.Categorical(outcome, ["accepted", "refused", "not tested"]), rule=rule, order=order)
    rows = rows.sort_values(["outcome", "order"], kind="stable")
    rows = rows.drop_duplicates(["outcome", "n_answered", "n_wrong"]).groupby("outcome", observed=True).head(3)
    columns = ["outcome", "tau", "kappa", "rule", "n_answered", "n_wrong", "coverage", "risk", "p_value"]
    return rows[columns].astype({"outcome": str}).rename(columns={"risk": "share_wrong"}).reset_index(drop=True)


def _rows(records: pd.DataFrame) -> pd.DataFrame:
    must_be("records", records, (pd.DataFrame,), "a DataFrame, as load_run(…).records is")
    rows = records[records["method"] == "sr_dcr"] if "method" in records else records.iloc[:0]
    n_groups = sum(1 for _ in groups(rows, ("run", "model", "design")))
    if n_groups != 1:
        what = f"of {n_groups} runs, models or designs; choose one of them" if n_groups else "at all; debate first"
        raise BadInput(f"the guarantee takes the rows of sr_dcr of one run, got rows {what}")
    return rows


def _outcomes(rows: pd.DataFrame, rules: Sequence[Rule]) -> NDArray[np.float64]:
    """Whether each rule answers each item, and whether wrongly, as 0 or 1: shape (rules, 2, items)."""
    outcomes = np.empty((len(rules), 2, len(rows)))
    for (kappa, unreasonable, unparsed), alike in pd.DataFrame(rules).groupby(["kappa", "unreasonable", "unparsed"]):
        taus = alike["tau"].astype(float).fillna(math.inf)
        _, ending = decided(with_kappa(rows, kappa), taus, unreasonable=unreasonable, unparsed=unparsed)
        wrong = ending == "wrong"
        outcomes[alike.index] = np.stack([wrong | (ending == "right"), wrong], axis=1)
    return outcomes


def _units(rows: pd.DataFrame, weights: Mapping[bool, float]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The independent unit of each item, −1 where it lacks a half, and the item's weight in it; they sum to 1."""
    half = is_standard(rows).to_numpy(bool).astype(int)  # 1: the passage is true
    question = pd.factorize(rows["question_id"])[0]
    forms = np.bincount(2 * question + half, minlength=2 * (question.max() + 1)).reshape(-1, 2)
    weight = np.array([weights.get(False, 0.0), weights.get(True, 0.0)])
    unit = np.arange(len(forms))
    if weight.all():
        only_true, only_false = (np.flatnonzero(forms[:, other] == 0) for other in (0, 1))
        unit[only_false[: only_true.size]] = only_true[: only_false.size]
    sizes = np.zeros(forms.shape)
    np.add.at(sizes, unit, forms)
    whole: NDArray[np.bool_] = np.all(sizes[:, weight > 0] > 0, axis=1)
    if not whole.any():
        kinds = " and ".join("true" if true else "false" for true in weights)
        raise BadInput(f"too few questions: none has {kinds} passages, which this share of false passages needs")
    own = unit[question]
    return np.where(whole[own] & (weight[half] > 0), whole.cumsum()[own] - 1, -1), weight[half] / sizes[own, half]
