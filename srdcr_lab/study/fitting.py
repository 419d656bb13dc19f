"""Which methods these items and this model can do, and what a finished run should say of one that could not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srdcr_lab.data import ItemSet
from srdcr_lab.models import ChatModel
from srdcr_lab.protocols import Method
from srdcr_lab.records import BadInput, Missing, Needs, Verdict

if TYPE_CHECKING:
    import pandas as pd


def fitting(
    methods: Sequence[Method], items: ItemSet, answerer: ChatModel, *, every: bool
) -> tuple[tuple[Method, ...], tuple[str, ...]]:
    """The methods that can be run, and sentences on what was left out.

    With `every` (``--methods all``) these are the methods made for such items: beside a passage or documents, those
    that look at the question alone are not compared unless they are named.

    Raises
    ------
    BadInput
        If a method that was named cannot be run, or none can.
    """
    if every:
        shown = {need for need in Needs if any(item.has(need) for item in items)}
        passed_by = {Needs.QUESTION} if shown & {Needs.PASSAGE, Needs.DOCUMENTS} else set()
        methods = [method for method in methods if method.needs in shown - passed_by]
    unfit = {method.name: reason for method in methods if (reason := _unfit(method, items, answerer))}
    if unfit and not (every and len(unfit) < len(methods)):
        raise BadInput(next(iter(unfit.values())))
    fit = tuple(method for method in methods if method.name not in unfit)
    return fit, (*unfit.values(), *_without_sources(fit, items))


def _without_sources(methods: Sequence[Method], items: ItemSet) -> list[str]:
    """A sentence on methods that weigh sources where no document names its own."""
    named = any(document.source for item in items for document in item.documents)
    return [
        f"{method.name}: no document of {items.name} names its source, so reliabilities cannot be estimated and every "
        "document has one vote"
        for method in methods
        if method.weighs_sources and not named
    ]


def _unfit(method: Method, items: ItemSet, answerer: ChatModel) -> str | None:
    if not any(item.has(method.needs) for item in items):
        return f"{method.name} needs items with {method.needs}, and {items.name} has none"
    if method.uses_logprobs and not answerer.capabilities.logprobs:
        return f"{method.name} needs log-probabilities, and {answerer.identity} gives none"
    return None


def unread(records: pd.DataFrame) -> list[str]:
    """A sentence on each judge or method of which not one verdict or answer could be read."""
    said = []
    for (method, design), rows in records.groupby(["method", "design"], sort=False, dropna=False):
        held = rows[rows["verdict"].notna()]
        where = f"{method} ({design})" if isinstance(design, str) else str(method)
        if len(held) and (held["verdict"] == Verdict.UNPARSED).all():
            said.append(
                f"{where}: the judge's last ruling could be read in none of {len(held)} debates; it has to end with "
                'the line "final decision: REASONABLE" or "final decision: UNREASONABLE"'
            )
        elif (rows["missing"] == Missing.UNPARSED).all():
            said.append(f"{where}: no answer could be read in any of {len(rows)} items")
    return said
