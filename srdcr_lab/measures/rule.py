"""From verdicts and confidence to a decision [3.1, 3.2]. Pure functions: this is the paper's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srdcr_lab.records import Decision, Verdict


@dataclass(frozen=True, slots=True)
class Ruling:
    """V*, the round r* from which it stood, and whether it stood for more than the last round alone.

    The latter two are None where only the last verdict was asked for.
    """

    verdict: Verdict
    r_star: int | None
    stabilised: bool | None


def stabilised_verdict(path: Sequence[Verdict], first_round: int = 0) -> Ruling:
    """The earliest stabilised verdict: V(r*) with V(r*) = … = V(R−1) [3.1].

    UNPARSED breaks a run of equal verdicts; if the last verdict is UNPARSED, so is V*, and r* is None.

    >>> stabilised_verdict([Verdict.UNREASONABLE, Verdict.REASONABLE, Verdict.REASONABLE]).r_star
    1
    """
    last = path[-1] if path else Verdict.UNPARSED
    if last is Verdict.UNPARSED:
        return Ruling(Verdict.UNPARSED, None, stabilised=False)
    start = len(path) - 1
    while start > 0 and path[start - 1] is last:
        start -= 1
    return Ruling(last, first_round + start, stabilised=start < len(path) - 1)


def majority_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """What more than half of the draws of one ruling say; UNPARSED where there is no such majority.

    >>> majority_verdict([Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED])
    <Verdict.UNPARSED: 'UNPARSED'>
    """
    most = max(verdicts, key=verdicts.count, default=Verdict.UNPARSED)
    return most if 2 * verdicts.count(most) > len(verdicts) else Verdict.UNPARSED


def decide(verdict: Verdict, confidence: float, tau: float = 0.90, *, gate: bool = True) -> Decision:
    """The gating decision [3.2]: Reasonable → context; Unreasonable and Conf ≥ τ → prior; else abstain.

    A NaN confidence is not ≥ τ. Without `gate`, Unreasonable means prior whatever the confidence (released code).

    >>> decide(Verdict.UNREASONABLE, 0.95)
    <Decision.USE_PRIOR: 'USE_PRIOR'>
    """
    if verdict is Verdict.REASONABLE:
        return Decision.USE_CONTEXT
    if verdict is Verdict.UNREASONABLE and (confidence >= tau or not gate):
        return Decision.USE_PRIOR
    return Decision.ABSTAIN
