"""What a method is, and all methods by the name that `--methods` takes."""

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from srdcr_lab.lib.definitions import by_percentile
from srdcr_lab.protocols import baselines, counterfactual, documents
from srdcr_lab.protocols.answering import Outcome, Setup
from srdcr_lab.protocols.choices import DESIGNS, names_in
from srdcr_lab.protocols.counterfactual import as_equals, cfmad, debated, reflected, undebated
from srdcr_lab.protocols.documents import per_hop, sr_dcr_per_document
from srdcr_lab.protocols.sr_dcr import sr_dcr
from srdcr_lab.records import BadInput, Decision, Item, Needs
from srdcr_lab.records.vocabulary import did_you_mean, must_be


@dataclass(frozen=True)
class Method:
    """A way to answer an item.

    Parameters
    ----------
    run : from item and setup to an outcome; it asks only models of the setup's cast.
    debates : roles besides the answerer's are played, so the tables name their models.
    designed : it follows the study's `DebateDesign`, and runs once under each design of a grid.
    uses_confidence : it needs self-confidence of the chosen kind.
    uses_logprobs : it needs log-probabilities.
    from_memory : it also answers closed-book questions, from memory; rows then show the prior answer and its
    confidence.
    weighs_sources : once every item has ended, its answers are decided by the reliability of the documents' sources.
    settle : decides once every item has ended, from (question_id, self_confidence, context_confidence) of all rows, as
        `by_percentile` does; None if `run` decides.
    """

    name: str
    run: Callable[[Item, Setup], Coroutine[Any, Any, Outcome]]
    debates: bool = False
    designed: bool = False
    uses_confidence: bool = False
    uses_logprobs: bool = False
    needs: Needs = Needs.PASSAGE
    from_memory: bool = False
    weighs_sources: bool = False
    settle: Callable[..., list[Decision | None]] | None = None

    def setups(self, setup: Setup) -> tuple[Setup, ...]:
        """The setups under which it runs: one for each design of the grid if it follows them, otherwise one."""
        if not (self.designed and setup.choices.also):
            return (setup,)
        alone = (replace(setup.choices, design=design, also=()) for design in setup.choices.designs)
        return tuple(replace(setup, choices=choices) for choices in alone)

    def takes(self, item: Item) -> bool:
        """Whether the item has what the method needs."""
        return item.has(self.needs) or (self.from_memory and item.is_closed_book)


_of_documents = partial(Method, needs=Needs.DOCUMENTS)
_of_hops = partial(Method, needs=Needs.HOPS)
_of_any = partial(Method, needs=Needs.QUESTION)
_debate_only = partial(sr_dcr, gate=False)


def _cfmad(name: str, **changed: Any) -> Method:
    return _of_any(name, partial(cfmad, **changed), debates=True)


_ALL = (
    Method("few_shot", baselines.few_shot, from_memory=True),
    Method("few_shot_warned", baselines.few_shot_warned),
    Method("zero_shot", baselines.zero_shot, from_memory=True),
    Method("self_ask", baselines.self_ask),
    Method("rci", baselines.rci),
    Method("astute", baselines.astute),
    *(Method(f"judge_debate_{n}", partial(baselines.judge_debate, rounds=n), debates=True) for n in (1, 3, 5)),
    Method("naive_debate", baselines.naive_debate),
    Method(f"vote_{baselines.VOTES}", baselines.vote),
    Method("sr_dcr", sr_dcr, debates=True, designed=True, uses_confidence=True),
    Method("debate_only", _debate_only, debates=True, designed=True),
    Method("confidence_only", baselines.confidence_only, uses_confidence=True, from_memory=True),
    Method("token_probability", baselines.token_probability, uses_logprobs=True),
    Method("calibrated_token_probability", baselines.token_probability, uses_logprobs=True, settle=by_percentile),
    Method("golden", baselines.golden),
    _of_documents("concatenate", documents.concatenate),
    _of_documents("madam_rag", documents.madam_rag, debates=True),
    _of_documents("ra_rag", documents.ra_rag, weighs_sources=True),
    _of_documents("dialectical", documents.dialectical, debates=True),
    _of_documents("sr_dcr_per_document", sr_dcr_per_document, debates=True, designed=True, uses_confidence=True),
    _of_hops("sr_dcr_per_hop", partial(per_hop, answering=sr_dcr), debates=True, designed=True, uses_confidence=True),
    _of_hops("debate_only_per_hop", partial(per_hop, answering=_debate_only), debates=True, designed=True),
    _of_hops("few_shot_per_hop", partial(per_hop, answering=baselines.few_shot)),
    _of_any("cot", counterfactual.cot),
    _of_any("self_reflection", counterfactual.self_reflection),
    _of_any("self_consistency", counterfactual.self_consistency),
    _of_any("mad", counterfactual.mad, debates=True),
    _of_any("self_contrast", counterfactual.self_contrast),
    _cfmad("cfmad"),
    _cfmad("direct_judge", examine=undebated),
    _cfmad("replace_with_self_reflection", examine=reflected),
    _cfmad("replace_with_mad", examine=as_equals),
    _cfmad("cfmad_swapped", swap=True),
    *(_cfmad(f"cfmad_stances_{n}", stances=n) for n in (3, 4, 5)),
    *(_cfmad(f"cfmad_rounds_{n}", examine=partial(debated, rounds=n)) for n in (2, 3, 4, 5)),
    _of_any("cfmad_when_unsure", counterfactual.cfmad_when_unsure, debates=True, uses_confidence=True),
)
METHODS = {method.name: method for method in _ALL}


def methods(names: str | Sequence[str]) -> tuple[Method, ...]:
    """Methods by name, in the order given; ``all`` means every one, of which a study keeps those that suit its items.

    Raises `BadInput` for an unknown name, no name, or a name that occurs twice.
    """
    must_be("methods", names, (str, Sequence), "a text such as 'few_shot,sr_dcr', or a list of names")
    wanted = names_in(names if isinstance(names, str) else ",".join(map(str, names)))
    if wanted == ["all"]:
        return tuple(METHODS.values())
    if unknown := [name for name in wanted if name not in METHODS]:
        near = did_you_mean(unknown[0], METHODS)
        near = f" (a design: --methods sr_dcr --design {unknown[0]})" if unknown[0] in DESIGNS else near
        raise BadInput(f"unknown method {unknown[0]!r}{near}; known are all (without any other), {', '.join(METHODS)}")
    if not wanted:
        raise BadInput(f"name each method once, at least one of {', '.join(METHODS)}")
    name, times = Counter(wanted).most_common(1)[0]
    if times > 1:
        raise BadInput(f"name each method once; {name} occurs {times:,} times")
    return tuple(METHODS[name] for name in wanted)
