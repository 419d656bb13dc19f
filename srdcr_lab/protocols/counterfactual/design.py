"""The settings of counterfactual debates and of the methods they are compared with [CFMAD 4.1, B.2]."""

from __future__ import annotations

from dataclasses import dataclass

from srdcr_lab.records import BadInput

MOST_STANCES = MOST_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class CounterfactualDesign:
    """What makes one counterfactual debate differ from another; the defaults are the paper's.

    Parameters
    ----------
    stances : preset answers, 2–5; fewer where the question has fewer options.
    rounds : rounds of critic and rebuttal, 1–5.
    temperature : of every call but the votes of self-consistency, > 0.
    candidates : chains of thought that a preset answer comes from: the most frequent option, or all answers of an open
        question.
    order_seed : beside the study's seed, draws the other stances and the order in which the judge reads them.
    swap : reverses that order, and nothing else.
    """

    stances: int = 2
    rounds: int = 1
    temperature: float = 0.2
    candidates: int = 3
    order_seed: int = 0
    swap: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.stances <= MOST_STANCES:
            raise BadInput(f"a counterfactual debate has 2 to {MOST_STANCES} stances, got {self.stances}")
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise BadInput(f"a counterfactual debate has 1 to {MOST_ROUNDS} rounds, got {self.rounds}")
        if not self.temperature > 0:
            raise BadInput(f"the temperature is above 0, or all chains of thought are one; got {self.temperature}")
        if self.candidates < 1:
            raise BadInput(f"at least 1 chain of thought gives the candidates, got {self.candidates}")


PAPER = CounterfactualDesign()
