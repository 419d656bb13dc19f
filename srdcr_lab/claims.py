"""The claims of the paper's section 4 as a table: each with one's own number, its interval and a verdict.

A claim compares one quantity with one bound; what the interval says of it is decided in `srdcr_lab.lib.sentences`. The
claims are *uncorrected*: by chance alone about one interval in twenty misses. The paper does not say whether a missing
answer counts as wrong in its accuracies, so a claim about accuracy has a row for either reading (`Denominator`).

A measure takes the records of one run and model, and raises `NoEvidence` where they cannot give the number.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.debates import without_debate
from srdcr_lab.lib import groups
from srdcr_lab.lib.comparison import condition_rows, each_repeat, outcome, over_both, side_by_side
from srdcr_lab.lib.page import Html, interval, shown
from srdcr_lab.lib.sentences import Relation, Standing, standing
from srdcr_lab.lib.statistics import Estimate, clustered_interval, contrast_interval, mean_interval, paired_interval
from srdcr_lab.preference import offset_slopes, perturbed_answers
from srdcr_lab.records import KnowledgeCategory
from srdcr_lab.records.names import IN_PAPER, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An estimate and what it rests on.

    Attributes
    ----------
    estimate : Estimate
        The number with its 95 % interval, and the questions behind it; NaN if it could not be measured.
    n : int, default 0
        Items behind it.
    note : str, default ""
        A remark, or why there is no value.
    """

    estimate: Estimate
    n: int = 0
    note: str = ""


class NoEvidence(Exception):
    """The records cannot give the number; the message says why."""


class Denominator(StrEnum):
    """What an accuracy is a share of: all items, where a missing answer counts as wrong, or the answered items."""

    ALL = "all items"
    ANSWERED = "answered items"


# What is measured


def accuracy_difference(
    records: pd.DataFrame, a: str, b: str, condition: str, denominator: str = Denominator.ALL
) -> Evidence:
    """Compute the accuracy of A minus that of B under a condition.

    The comparison is over the items that both have, or over those that each of them answered. It is paired if these are
    the same items.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.
    condition : str
        Standard, perturbed, overall (both halves weighted alike), a level, or "x-y" for a difference of two of these.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The difference with its interval.

    Raises
    ------
    NoEvidence
        One of the two was not run, or no item is left.
    """
    return _lead(_ran(records, a, b), a, b, condition, denominator)


def design_difference(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Compute the share of right verdicts of design A minus that of design B.

    The comparison is paired, with true and false passages weighted alike.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first design.
    b : str
        The second design.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    debates = _ran(records[records["method"] == "sr_dcr"], a, b, column="design")
    return _lead(debates, a, b, "overall", Denominator.ALL, column="design", name="verdict_right")


def accuracy_of(records: pd.DataFrame, method: str, condition: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the accuracy of one method under one condition.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    condition : str
        Standard, perturbed or a level.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The accuracy with its interval, clustered on the question.
    """
    rows = condition_rows(_of(_ran(records, method), denominator), condition)
    return _share(outcome(rows, "correct"), rows)


def gap(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the accuracy of one method on true passages minus that on false ones.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    rows = _of(_ran(records, method), denominator)
    return _contrast(outcome(rows, "correct"), rows, *_weights(rows, "standard-perturbed"))


def worse_half(records: pd.DataFrame, a: str, b: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compare two methods by the lower of their accuracies on true and on false passages.

    Always abstaining gains nothing here. A is better only if both its accuracies are above the lower one of B, so each
    end of the interval is the smaller one of the two contrasts.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The lower accuracy of A minus the lower accuracy of B, with its interval.

    Raises
    ------
    NoEvidence
        One of the two has no items with true, or with false, passages.
    """
    rows = _of(_ran(records, a, b), denominator)
    cells, right = rows["method"].astype(str) + " " + groups.halves(rows), outcome(rows, "correct")
    means = right.groupby(cells).mean()
    if len(means) < 4:
        raise NoEvidence("one of the two has no items with true, or with false, passages")
    worse = min(("perturbed", "standard"), key=lambda half: means[f"{b} {half}"])
    leads = [
        accuracy_difference(records, a, b, half, denominator)
        if half == worse
        else _contrast(right, rows, cells, {f"{a} {half}": 1.0, f"{b} {worse}": -1.0})
        for half in ("standard", "perturbed")
    ]
    ends = zip(*(lead.estimate[:3] for lead in leads), strict=True)
    return replace(_evidence(Estimate(*map(min, ends)), rows), note=f"the worse half of {called(b)}: {worse}")


def best_of_others(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the smallest overall lead of a method over the paper's other methods, except golden.

    Golden knows the truth, so no method can beat it.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The smallest lead, with an interval for a minimum.
    """
    _ran(records, method)
    return _least_lead({"": records}, method, denominator)


def least_over_strata(records: pd.DataFrame, method: str, denominator: str = Denominator.ALL) -> Evidence:
    """Compute the smallest lead of a method on false passages, over all offsets and all other methods.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    method : str
        The method.
    denominator : str, default Denominator.ALL
        A `Denominator`.

    Returns
    -------
    Evidence
        The smallest lead, with an interval for a minimum; its n is that of the smallest stratum.
    """
    _ran(records, method)
    false = condition_rows(records, "perturbed")
    stratum = groups.strata(false)
    parts = {f" at {name}": false[stratum == name] for name in groups.in_macro(list(stratum.unique()))}
    return _least_lead(parts, method, denominator)


def following(records: pd.DataFrame, level: str, *categories: str) -> Evidence:
    """Compute few-shot context preference on passages of one level, for some knowledge categories.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    level : str
        The level of the false passages.
    *categories : str
        The knowledge categories.

    Returns
    -------
    Evidence
        The share with its interval.
    """
    rows = perturbed_answers(condition_rows(records, level))
    rows = rows[rows["knowledge_category"].isin(categories) & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    return _share(rows["follows_claim"].astype(float), rows)


def offset_slope(records: pd.DataFrame, category: str) -> Evidence:
    """Compute the log-odds of following a claim per 100 years of offset.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    category : str
        The knowledge category.

    Returns
    -------
    Evidence
        The slope with its interval.
    """
    slopes = offset_slopes(records)
    found = slopes[slopes["knowledge_category"] == category].to_dict("records")
    if not found:
        raise NoEvidence("no year offsets")
    estimate = Estimate(*(found[0][name] for name in ("slope", "low", "high", "n_questions")))
    return Evidence(estimate=estimate, n=found[0]["n"], note=found[0]["note"])


def share_highly_known(records: pd.DataFrame, at_least: float, below: float = math.inf) -> Evidence:
    """Compute P(Highly-Known | confidence in [at_least, below)) over unique questions.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    at_least : float
        Lowest confidence.
    below : float, default math.inf
        Upper bound of the confidence, excluded.

    Returns
    -------
    Evidence
        The share with its Jeffreys interval.
    """
    rows = groups.of_one_kind(records)
    rows = rows[rows["knowledge_category"].notna() & rows["self_confidence"].notna()]
    rows = rows.drop_duplicates([name for name in ("repeat", "question_id") if name in rows])
    rows = rows[(rows["self_confidence"] >= at_least) & (rows["self_confidence"] < below)]
    return _share(rows["knowledge_category"] == KnowledgeCategory.HIGHLY_KNOWN, rows)


def prior_preference_change(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Compute the prior preference of A minus that of B on the false passages that both answered.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    _ran(records, a, b)
    rows = pd.concat([perturbed_answers(records, method) for method in (a, b)])
    rows = rows[~rows["prior_is_claim"]]
    both = side_by_side(rows, a, b, rows["follows_prior"].astype("Float64").astype(float))
    return _evidence(paired_interval(both["a"] - both["b"], both["question_id"], *_weights(both, "perturbed")), both)


def bias_contrast(records: pd.DataFrame, a: str, b: str, weight: float) -> Evidence:
    """Compute the prior bias of A minus `weight` times that of B.

    The prior bias is the share of prior answers on true passages whose question the model got wrong.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.
    weight : float
        Factor of B's bias.

    Returns
    -------
    Evidence
        The contrast with its interval.
    """
    rows = _ran(records, a, b)
    wrong = ~rows["prior_correct"].astype("boolean").fillna(True)
    rows = groups.with_matches(rows[groups.is_standard(rows) & wrong.astype(bool)])
    follows = rows["final_is_prior"].fillna(False).astype(float)
    return _contrast(follows, rows, rows["method"].astype(object), {a: 1.0, b: -weight})


def more_calls(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Compute how many more calls per item A takes than B, each by itself.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    a : str
        The first method.
    b : str
        The second method.

    Returns
    -------
    Evidence
        The difference with its interval.
    """
    rows = _ran(records, a, b)
    both = side_by_side(rows, a, b, rows["calls_alone"].astype(float))
    more = both["a"] - both["b"]
    return _evidence(mean_interval(more, both["question_id"]), both)


def _least_lead(parts: Mapping[str, pd.DataFrame], method: str, denominator: str) -> Evidence:
    """The least lead with an interval for a minimum.

    Its low end is the least of their low ends, without a correction, because every lead has to be above; −1 if some
    methods were not run. Its high end is the least of their high ends at level 1 − 0.05 / number of leads, because one
    lead below is enough.

    Source: intersection-union, Berger 1982; Bonferroni.
    """
    parts = {where: part for where, part in parts.items() if (part["method"] == method).any()}
    others = IN_PAPER - {method, groups.GOLDEN}
    rivals = [(where, name) for where, part in parts.items() for name in others & set(part["method"])]
    leads = []
    for where, name in rivals:
        with suppress(NoEvidence):
            lead = _lead(parts[where], method, name, "overall", denominator, level_of_high=1 - 0.05 / len(rivals))
            leads.append((*lead.estimate[:3], f"{called(name)}{where} (n = {lead.n})"))
    if not leads:
        raise NoEvidence("no other method was run")
    value, _, _, name = min(leads)
    missed = any(others - set(part["method"]) for part in parts.values())
    least = Estimate(value, -1.0 if missed else min(lead[1] for lead in leads), min(lead[2] for lead in leads))
    told = "; not every method of the paper was run" if missed else ""
    own_rows = min((part[part["method"] == method] for part in parts.values()), key=len)  # where it may be too few
    return replace(_evidence(least, own_rows), note=f"the least lead is over {name}{told}")


def _lead(
    rows: pd.DataFrame, a: str, b: str, condition: str, denominator: str,
    *, level_of_high: float | None = None, column: str = "method", name: str = "correct",
) -> Evidence:  # fmt: skip
    """A minus B: paired over the items of both, unless one of them left some unanswered: then of each its own."""
    rows = rows.filter(items=["item_id", "question_id", "level", "correct", "verdict", column])  # of some sixty columns
    rows = _of(rows[rows[column].isin([a, b])], denominator).reset_index(drop=True)
    values = outcome(rows, name)
    both = side_by_side(rows, a, b, values, column=column)
    paired = denominator == Denominator.ALL or not both.attrs["n_unpaired"]
    items = both if paired else rows
    parts, weights = _weights(items, condition)
    if paired:
        ends_at = partial(paired_interval, both["a"] - both["b"], both["question_id"], parts, weights)
    else:
        signed = {f"{part}, {side}": sign * w for side, sign in ((a, 1), (b, -1)) for part, w in weights.items()}
        cells = parts + ", " + rows[column]
        ends_at = partial(contrast_interval, values, rows["question_id"], cells, signed, bounds=(0.0, 1.0))
    found = ends_at()
    found = found._replace(high=ends_at(level=level_of_high).high) if level_of_high else found
    return _evidence(found, items[parts.isin(list(weights))])


def _ran(records: pd.DataFrame, *names: str, column: str = "method") -> pd.DataFrame:
    """The rows of these methods or designs, all of which are needed."""
    for name in names:
        if not (records[column] == name).any():
            raise NoEvidence(f"{called(name)} was not run")
    return records[records[column].isin(names)]


def _of(rows: pd.DataFrame, denominator: str) -> pd.DataFrame:
    return rows if denominator == Denominator.ALL else rows[rows["correct"].notna()]


def _weights(rows: pd.DataFrame, condition: str) -> tuple[pd.Series, dict[str, float]]:
    """Each row's part of a condition, and the parts' weights: overall (both halves equally), "x", or "x-y"."""
    first, _, second = condition.partition("-")
    half = groups.halves(rows)
    if first == "overall":
        return half, dict.fromkeys(half.unique(), 1 / half.nunique()) if len(rows) else {"standard": 1.0}
    parts = half if first in ("standard", "perturbed") else rows["level"]
    return parts, {first: 1.0} | ({second: -1.0} if second else {})


def _share(hits: pd.Series, rows: pd.DataFrame) -> Evidence:
    return _evidence(clustered_interval(hits, rows["question_id"]), rows)


def _contrast(shares: pd.Series, rows: pd.DataFrame, parts: pd.Series, weights: Mapping[str, float]) -> Evidence:
    found = contrast_interval(shares, rows["question_id"], parts, weights, bounds=(0.0, 1.0))
    return _evidence(found, rows[parts.isin(list(weights))])


def _evidence(found: Estimate, rows: pd.DataFrame) -> Evidence:
    """An estimate from these rows."""
    if rows.empty or math.isnan(found.value):
        raise NoEvidence("no item is left")
    return Evidence(estimate=found._replace(n=rows["question_id"].nunique()), n=rows["item_id"].nunique())


_OF_SHARES = (accuracy_of, following, share_highly_known)  # of which an interval stays within 0 and 1
_ROUNDS = ("judge_debate_5", "judge_debate_1")  # claims about them are about what debaters argue

# What the paper claims


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is measured here.

    Attributes
    ----------
    key : str
        Section of the paper, with a letter.
    text : str
        The claim in words.
    quantity : str
        What is measured.
    paper : str
        What the paper prints.
    measure : callable
        The function that takes records and gives `Evidence`.
    arguments : sequence of str or float
        Its further arguments.
    relation : Relation, default Relation.ABOVE
        How the quantity has to lie relative to `threshold`.
    threshold : float, default 0.0
        The bound.
    reading : str, default ""
        Our interpretation, where the paper leaves it open.
    """

    key: str
    text: str
    quantity: str
    paper: str
    measure: Callable[..., Evidence]
    arguments: Sequence[str | float]
    relation: Relation = Relation.ABOVE
    threshold: float = 0.0
    reading: str = ""

    @property
    def denominators(self) -> tuple[str, ...]:
        """Return the denominators under which the claim is checked.

        Returns
        -------
        tuple of str
            Both of `Denominator` for a claim about accuracy; other measures have a denominator of their own, named "".
        """
        return tuple(Denominator) if "denominator" in signature(self.measure).parameters else ("",)

    def evidence(self, records: pd.DataFrame, denominator: str = "") -> Evidence:
        """Measure the quantity on records.

        Parameters
        ----------
        records : DataFrame
            One row per item × method, as `Results.records`.
        denominator : str, default ""
            A `Denominator`, or "".

        Returns
        -------
        Evidence
            The value, NaN with a note if the records cannot give it. Its interval is over questions, and over repeats
            if there are several.
        """
        if "repeat" not in records or records["repeat"].nunique() < 2:
            return self._measured(records, denominator)
        pooled, each = each_repeat(records)
        together, *single = (self._measured(part, denominator) for part in (pooled, *each))
        bounds = (0.0, 1.0) if self.measure in _OF_SHARES else (-math.inf, math.inf)
        sd, low, high, k = over_both(together.estimate, [part.estimate for part in single], bounds=bounds)
        note = "; ".join(filter(None, [together.note, f"sd {sd:.3f} over {k} repeats" if k > 1 else ""]))
        estimate = together.estimate._replace(low=low, high=high)
        return replace(together, estimate=estimate, n=together.n // len(each), note=note)

    def _measured(self, records: pd.DataFrame, denominator: str) -> Evidence:
        try:
            return self.measure(records, *self.arguments, *filter(None, [denominator]))
        except NoEvidence as reason:
            return Evidence(estimate=Estimate(), note=str(reason))

    def standing(self, evidence: Evidence) -> Standing:
        """Say what the interval says about the claim.

        Parameters
        ----------
        evidence : Evidence
            The measured quantity.

        Returns
        -------
        Standing
            The verdict; "too few" below ten questions.
        """
        if evidence.estimate.n < groups.FEW:
            return Standing.TOO_FEW if evidence.n else Standing.NOT_MEASURED
        return standing(evidence.estimate.low, evidence.estimate.high, self.relation, self.threshold)


def _claim(measure: str, arguments: Sequence[str | float], relation: str, **texts: Any) -> Claim:
    """A claim as `claims.json` has it: the fields of `Claim`, with the measure by the name of its function above."""
    return Claim(measure=globals()[measure], arguments=tuple(arguments), relation=Relation(relation), **texts)


CLAIMS = tuple(_claim(**claim) for claim in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8")))


def check_claims(records: pd.DataFrame, *, turns: pd.DataFrame | None = None) -> pd.DataFrame:
    """Check every claim of the paper on these records; SR-DCR's debate is `acvd`, or without it the first design.

    Parameters
    ----------
    records : DataFrame
        One or several runs. With a column `repeat` (`load_repeats`) they are repeats of one study, and intervals are
        over questions and repeats.
    turns : DataFrame, optional
        The utterances of these runs, as `Results.turns`. With them a claim about arguments is *not tested* if its
        debaters mostly repeat themselves (`debates.without_debate`).

    Returns
    -------
    DataFrame
        One row per run × model × claim × denominator: the fields of `Claim`, the estimate of its `Evidence` over `n`
        items and `n_questions`, and the `standing`.

    References
    ----------
    Paper, section 4.
    """
    keys, rows = [name for name in ("run", "model") if name in records], []
    for values, part in records.groupby(keys, sort=False, observed=True):
        of_one, hollow = groups.of_design(part), False
        if turns is not None:
            speakers = part.filter(regex="^model").stack()  # the model, its debaters and its Judge
            spoken = turns[turns["model"].isin(speakers) & (turns["method"] == _ROUNDS[0])]
            own = spoken["run"] == part["run"].iloc[0] if "run" in turns and "run" in part else slice(None)
            hollow = without_debate(spoken[own])
        for claim in CLAIMS:
            about = part if claim.measure is design_difference else of_one
            for denominator in claim.denominators:
                evidence = claim.evidence(about, denominator)
                row = dict(zip(keys, values, strict=True)) | {"claim": claim.key} | asdict(claim)
                row |= evidence.estimate._asdict() | {"n": evidence.n, "n_questions": evidence.estimate.n}
                row |= {"note": evidence.note, "relation": claim.relation.value, "denominator": denominator}
                row["standing"] = claim.standing(evidence).value
                if evidence.n and claim.arguments[:2] == _ROUNDS and hollow:  # about arguments
                    row |= {"standing": Standing.NOT_TESTED.value, "note": "its debaters mostly repeat themselves"}
                rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, *_COLUMNS])


_COLUMNS = ("claim", "text", "quantity", "denominator", "paper", "value", "low", "high", "n", "n_questions", "relation",
            "threshold", "standing", "reading", "note")  # fmt: skip


def tally(checked: pd.DataFrame) -> str:
    """Count claims by verdict, a missing answer counted as wrong.

    Parameters
    ----------
    checked : DataFrame
        As returned by `check_claims`.

    Returns
    -------
    str
        Such as ``supported: 3, contradicted: 1``.
    """
    counts = checked.loc[checked["denominator"] != Denominator.ANSWERED, "standing"].value_counts()
    return ", ".join(f"{name}: {n}" for name, n in counts.items())


def claims_table(checked: pd.DataFrame) -> Html:
    """Show the checked claims of one model to a reader.

    Parameters
    ----------
    checked : DataFrame
        As returned by `check_claims`, of one model.

    Returns
    -------
    Html
        One row per claim, with both verdicts of a claim about accuracy.
    """
    answered = checked["denominator"] == Denominator.ANSWERED
    told = {row.claim: (row.standing, interval(row.value, row.low, row.high)) for row in checked[answered].itertuples()}
    of_answers = {claim: " ".join(each).removesuffix(" –") for claim, each in told.items()}
    rows = checked[~answered]
    remarks = [rows[name].mask(rows[name] != "", " (" + rows[name] + ")") for name in ("reading", "note")]
    texts = rows["claim"] + " " + rows["text"] + remarks[0] + remarks[1]
    claimed = [f"{relation} {bound:g}" for relation, bound in zip(rows["relation"], rows["threshold"], strict=True)]
    table = pd.DataFrame({"text": texts, "quantity": rows["quantity"], "paper": rows["paper"], "claimed": claimed})
    table = table.join(rows[["value", "low", "high", "n_questions", "standing"]].rename(columns={"value": "here"}))
    return shown(table.assign(of_answers=rows["claim"].map(of_answers)), "Uncorrected: each claim by its own interval.")
