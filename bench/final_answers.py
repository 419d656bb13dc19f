"""Does the guarantee of the final answer hold? 1,000 studies of invented models whose risks are known.

A study debates questions, each once with its true and once with a false passage. What its two items have in common is
part of the population: memory and confidence always, the judge's mood where it says so. Each study chooses a rule; one
whose true risk is above α is a violation, and the one-sided binomial test asks whether they are more than a share of δ.
The rule that merely looks good enough is there for contrast.

These studies are many at a time. `guaranteed_rule` itself is run on the records of some of them, where it has
to choose the same rule, and on the `EDGES`: there every rule has a risk above α, and a study is made so that one fault
of the procedure chooses a rule too often (tests/chapters/test_final_guarantee.py plants these faults).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest

from srdcr_lab.guarantee import KAPPAS, Rule, excess_p_value, guaranteed_rule, rule_grid
from srdcr_lab.lib.definitions import PAPER_KAPPA
from srdcr_lab.lib.groups import RULINGS
from srdcr_lab.records import Decision
from srdcr_lab.thresholds import accept

STUDIES, QUESTIONS, ALPHA, DELTA, LEVEL = 1000, 150, 0.10, 0.10, 0.05
FALSE_SHARES = (0.1, 0.5)
WAYS = {"Learn-then-Test": True, "looks good enough": False}
FITTED, EDGE_STUDIES = 20, 200  # studies of each population, and of each edge, that it is run on
KNOWN_FROM = 40_000  # questions of each population from which its risks are taken

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Truths = NDArray[np.bool_]
Shape = tuple[int, ...]


class Debated(NamedTuple):
    """The results of the debates on some items, as arrays of one shape: the verdict as a letter of `RULINGS`,
    P(UNREASONABLE), NaN without one, and whether the answers are right."""

    verdict: NDArray[np.str_]
    p_unreasonable: Floats
    confidence: Floats
    context: Truths
    prior: Truths


def outcomes(rule: Rule, debated: Debated) -> Floats:
    """Whether each item is answered, and whether wrongly, as 0 or 1: shape (2, …). The package's own rule is not used,
    so that `fitted_alike` compares two."""
    unread, rejected = debated.verdict == "?", debated.verdict == "U"
    if rule.kappa != PAPER_KAPPA:
        doubted = np.where(np.isnan(debated.p_unreasonable), rejected, debated.p_unreasonable >= rule.kappa)
        rejected = ~unread & doubted
    leads_to = {
        decision: (rejected & (rule.unreasonable == decision)) | (unread & (rule.unparsed == decision))
        for decision in Decision
    }
    from_context = leads_to[Decision.USE_CONTEXT] | ~(rejected | unread)
    from_prior = leads_to[Decision.USE_PRIOR] & (debated.confidence >= (np.inf if rule.tau is None else rule.tau))
    answered = from_context | from_prior
    right = (from_context & debated.context) | (from_prior & debated.prior)
    return np.stack([answered, answered & ~right]).astype(float)


def _debated(
    rng: np.random.Generator, shape: Shape, right: Callable[[Floats], Floats], believed: tuple[float, float],
    follows: tuple[float, float], *, alike: bool = False, graded: bool = False,
) -> Debated:  # fmt: skip
    """Prior answers are right with probability `right`(confidence); true and false passages are `believed`, and answers
    from them right, so often. `alike`: what befalls one passage of a question befalls the other. `graded`: verdicts
    have a probability, and κ is an axis of the grid."""
    confidence = rng.beta(4, 1, shape)
    prior = rng.random(shape) < right(confidence)
    moods, readings = (np.stack([rng.random(shape)] * 2) if alike else rng.random((2, *shape)) for _ in range(2))
    column = (2, *(1,) * len(shape))
    trust, hits = (np.reshape(pair, column) for pair in (believed, follows))
    verdict = np.where(moods < trust, "R", np.where(moods > 0.97, "?", "U"))
    doubt = np.clip(moods - trust + 0.5, 0, 1) if graded else np.full(moods.shape, np.nan)
    return Debated(verdict, doubt, confidence, readings < hits, prior)


POPULATIONS: dict[str, Callable[[np.random.Generator, Shape], Debated]] = {
    "risk 0.101 of every rule": lambda rng, shape: _debated(
        rng, shape, lambda c: np.full_like(c, 0.899), (0.7, 0.4), (0.899, 0.899)),
    "risk 0.101 of every rule, both passages alike": lambda rng, shape: _debated(
        rng, shape, lambda c: np.full_like(c, 0.899), (0.5, 0.5), (0.899, 0.899), alike=True),
    "risk 0.101 of every rule, graded verdicts": lambda rng, shape: _debated(
        rng, shape, lambda c: np.full_like(c, 0.899), (0.7, 0.4), (0.899, 0.899), graded=True),
    "risk falls with τ": lambda rng, shape: _debated(
        rng, shape, lambda c: c, (0.9, 0.03), (0.98, 0.05)),
    "risk falls with τ, the judge sure of both or none": lambda rng, shape: _debated(
        rng, shape, lambda c: c, (0.6, 0.06), (0.99, 0.30), alike=True),
    "riskier at the top": lambda rng, shape: _debated(
        rng, shape, lambda c: np.where(c > 0.95, 0.80, 0.97), (0.9, 0.03), (0.97, 0.10)),
    "risk up and down": lambda rng, shape: _debated(
        rng, shape, lambda c: 0.92 + 0.08 * np.sin(40 * c), (0.9, 0.05), (0.97, 0.05)),
    "risk up and down, graded verdicts": lambda rng, shape: _debated(
        rng, shape, lambda c: 0.92 + 0.08 * np.sin(40 * c), (0.9, 0.30), (0.97, 0.05), graded=True),
}  # fmt: skip


def grid(population: str) -> tuple[list[Rule], list[Places]]:
    return rule_grid(kappas=KAPPAS if "graded" in population else (PAPER_KAPPA,))


def of_questions(rules: list[Rule], debated: Debated, false_share: float) -> Iterator[tuple[Floats, Floats]]:
    """For each rule, how much of each question is answered, and wrongly, at this share of false passages."""
    for rule in rules:
        yield tuple((1 - false_share) * side[0] + false_share * side[1] for side in outcomes(rule, debated))


@cache
def known_risks(population: str, false_share: float) -> tuple[Floats, Floats]:
    """Coverage and risk of each rule, from very many questions."""
    debated = POPULATIONS[population](np.random.default_rng(1), (KNOWN_FROM,))
    coverage, wrong = np.array(
        [(a.mean(), w.mean()) for a, w in of_questions(grid(population)[0], debated, false_share)]
    ).T
    return coverage, wrong / coverage


def chosen(
    population: str, false_share: float, studies: int = STUDIES, n: int = QUESTIONS, seed: int = 0
) -> dict[str, Places]:
    """The rule that each study chooses by each of the `WAYS`, −1 where none attains α."""
    debated = POPULATIONS[population](np.random.default_rng(seed), (studies, n))
    rules, sequences = grid(population)
    coverage, risk, p_value = [], [], []
    for answered, wrong in of_questions(rules, debated, false_share):
        excess = wrong - ALPHA * answered
        coverage.append(answered.mean(axis=-1))
        risk.append(excess.mean(axis=-1))
        p_value.append(excess_p_value(excess, ALPHA))
    answers, values = np.stack(coverage, axis=-1), np.stack(p_value, axis=-1)
    found = {}
    for name, tested in WAYS.items():
        usable = accept(values, DELTA, sequences) if tested else np.stack(risk, axis=-1) <= 0
        found[name] = np.where(usable.any(axis=-1), np.where(usable, answers, -1).argmax(axis=-1), -1)
    return found


def violations(population: str, false_share: float, rules: Places) -> int:
    """Studies whose rule has a risk above α; that of a population "of every rule" is 0.101 by its making."""
    found = rules[rules >= 0]
    if "of every rule" in population or not found.size:
        return found.size
    return int((known_risks(population, false_share)[1][found] > ALPHA).sum())


def records(debated: Debated, forms: int = 1) -> pd.DataFrame:
    """The rows of sr_dcr of one study, whose arrays have a true and a false side (or the former alone), then questions;
    each question has so many forms, alike."""
    sides, n = debated.verdict.shape
    places = [np.repeat(np.reshape(a, -1), forms) for a in np.broadcast_arrays(*debated, np.arange(n))]
    verdict, p_unreasonable, confidence, context, prior, question = places
    form, false = np.tile(np.arange(forms), sides * n), np.repeat(np.arange(sides), n * forms)
    rows = pd.DataFrame({"question_id": question, "form": form, "self_confidence": confidence})
    rows["verdict"], rows["p_unreasonable"] = [RULINGS[letter] for letter in verdict], p_unreasonable
    rows["level"], rows["item_id"] = np.where(false, "mild", "standard"), range(len(rows))
    for name, correct in (("context", context), ("prior", prior)):
        rows[f"{name}_correct"] = pd.array(correct, "boolean")
    return rows.assign(method="sr_dcr", model="m", design="acvd", missing=None, correct=pd.NA)


class Edge(NamedTuple):
    """Studies of which every rule has a risk above α, and the options with which the guarantee is asked for."""

    study: Callable[[np.random.Generator], pd.DataFrame]
    options: dict[str, Any]


def _believed(rng: np.random.Generator, right: tuple[float, ...], n: int, forms: int = 1) -> pd.DataFrame:
    """Each passage is believed; answers from true and from false ones are right so often, the forms of a question
    together. The prior answer is never asked for."""
    shape = len(right), n
    context = rng.random(n) < np.reshape(right, (-1, 1))
    same = np.full(shape, "R"), np.full(shape, np.nan), np.full(shape, 0.95)
    return records(Debated(*same, context, np.zeros(shape, bool)), forms)


def _opposed(rng: np.random.Generator) -> pd.DataFrame:
    """One question with a true passage, never believed: of memory and passage one is right, seldom neither."""
    draw, shape = rng.random((1, 1)), (1, 1)
    sides = draw < 0.49, draw > 0.51
    return records(Debated(np.full(shape, "U"), np.full(shape, np.nan), np.full(shape, 0.95), *sides))


_ONE_START: dict[str, Any] = {"taus": (0.9,), "starts": (0.9,)}
EDGES = {
    "memory right where the passage is wrong": Edge(
        _opposed, {"alpha": 0.5, "delta": 0.62, "false_share": 0.0} | _ONE_START),
    "risk 0.021 of many answers": Edge(
        lambda rng: _believed(rng, (0.979,), 3000), {"alpha": 0.02, "false_share": 0.0} | _ONE_START),
    "ten forms of a question, alike": Edge(
        lambda rng: _believed(rng, (0.899, 0.899), 30, forms=10), _ONE_START),
    "wrong on false passages": Edge(
        lambda rng: _believed(rng, (0.98, 0.75), 200), {"alpha": 0.2, "false_share": 0.9} | _ONE_START),
}  # fmt: skip


def found_at(edge: str, studies: int = EDGE_STUDIES, seed: int = 0) -> tuple[int, float]:
    """Studies of an edge for which a rule is chosen, each a violation; and the p-value of "at most δ are"."""
    study, options = EDGES[edge]
    rng = np.random.default_rng(seed)
    n = sum(guaranteed_rule(study(rng), **options).rule is not None for _ in range(studies))
    return n, float(binomtest(n, studies, options.get("delta", DELTA), alternative="greater").pvalue)


def fitted_alike(population: str, false_share: float, studies: int = FITTED, n: int = QUESTIONS) -> int:
    """Studies for which `guaranteed_rule` chooses the rule that the simulation chooses."""
    debated = POPULATIONS[population](np.random.default_rng(0), (studies, n))
    rules, places = grid(population)[0], chosen(population, false_share, studies, n)[next(iter(WAYS))]
    arrays = np.broadcast_arrays(*debated)  # sides, studies, questions
    alike = 0
    for study, place in enumerate(places):
        rows = records(Debated(*(array[:, study] for array in arrays)))
        rule = guaranteed_rule(rows, ALPHA, DELTA, false_share).rule
        alike += rule == (rules[place] if place >= 0 else None)
    return alike


def rows() -> list[dict[str, object]]:
    table: list[dict[str, object]] = []
    for population in POPULATIONS:
        for false_share in FALSE_SHARES:
            for name, rules in chosen(population, false_share).items():
                n, found = violations(population, false_share, rules), rules[rules >= 0]
                p_value = float(binomtest(n, STUDIES, DELTA, alternative="greater").pvalue)
                coverage = known_risks(population, false_share)[0][found].mean() if found.size else 0.0
                tested = WAYS[name]
                table.append(
                    {
                        "name": f"{population}, {false_share:.0%} false: {name}, violations",
                        "measured": n / STUDIES,
                        "target": f"not significantly above δ = {DELTA}" if tested else "none",
                        "holds": p_value >= LEVEL or not tested,
                        "unit": "of studies",
                        "detail": f"{found.size} of {STUDIES} studies of {QUESTIONS} questions found a rule; mean "
                        f"coverage of these {coverage:.2f}; one-sided binomial p = {p_value:.2g}",
                    }
                )
            table.append(
                {
                    "name": f"{population}, {false_share:.0%} false: `fit` chooses the rule of the simulation",
                    "measured": (alike := fitted_alike(population, false_share)),
                    "target": FITTED,
                    "holds": alike == FITTED,
                    "unit": "studies",
                    "detail": f"{FITTED} studies of {QUESTIONS} questions",
                }
            )
    for n in (60, 150, 300, 600):
        rules = chosen("risk falls with τ", 0.1, 300, n)[next(iter(WAYS))]
        table.append(
            {
                "name": f"risk falls with τ, 10% false: power with {n} questions",
                "measured": ((rules >= 0).sum() - violations("risk falls with τ", 0.1, rules)) / rules.size,
                "target": "none",
                "holds": True,
                "unit": "of studies",
                "detail": f"a rule was found whose risk is at most {ALPHA}; {rules.size} studies",
            }
        )
    for edge in EDGES:
        n, p_value = found_at(edge)
        table.append(
            {
                "name": f"{edge}: `fit`, violations",
                "measured": n,
                "target": "not significantly above δ",
                "holds": p_value >= LEVEL,
                "unit": f"of {EDGE_STUDIES} studies",
                "detail": f"δ = {EDGES[edge].options.get('delta', DELTA)}; one-sided binomial p = {p_value:.2g}",
            }
        )
    return table
