"""The claims of the paper's section 4 as a checklist: each with one's own number, its interval, and whether it holds.

Each claim, a row of claims.csv, compares one quantity with one threshold. It *holds* where the whole 95 % interval is
on the claimed side, *does not hold* where all of it is on the other side; otherwise these records *cannot tell*. There
is no correction for thirty claims: by chance alone about one interval in twenty misses.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from importlib import resources
from typing import Any

import pandas as pd

from srdcr_lab.measures.comparison import condition_rows, outcome, paired, side_by_side
from srdcr_lab.measures.estimates import clustered_interval, contrast_interval, jeffreys_interval, mean_interval
from srdcr_lab.measures.groups import GOLDEN, is_standard, of_one_kind, strata, with_matches
from srdcr_lab.measures.preference import offset_slopes, perturbed_answers
from srdcr_lab.pages import Html, Td, html_table, interval
from srdcr_lab.records import KnowledgeCategory


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A value, its 95 % interval, and what is behind it; NaN with n = 0 and a note where nothing is."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_questions: int = 0
    note: str = ""


class NoEvidence(Exception):
    """The records cannot give the number; the message is the note."""


def difference(
    records: pd.DataFrame, a: str, b: str, condition: str, *, column: str = "method", name: str = "correct"
) -> Evidence:
    """Accuracy of A less that of B on the items both have, under a condition (see `_weights`)."""
    pairs = paired(_ran(records, a, b, column=column), a, b, column=column, name=name)
    return _contrast(pairs["a"] - pairs["b"], pairs, *_weights(pairs, condition))


def design_difference(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Share of right verdicts of design A less that of B, paired; overall macro."""
    debates = records[records["method"] == "sr_dcr"]
    return difference(debates, a, b, "overall", column="design", name="verdict_right")


def gap(records: pd.DataFrame, method: str) -> Evidence:
    """Standard less perturbed accuracy of one method."""
    rows = _ran(records, method)
    return _contrast(outcome(rows, "correct"), rows, *_weights(rows, "standard-perturbed"), bounds=(0.0, 1.0))


def best_of_others(records: pd.DataFrame, method: str, condition: str) -> Evidence:
    """The method less the most accurate other one but golden, which is chosen on the same items."""
    _ran(records, method)
    rows = condition_rows(records, condition)
    others = rows[~rows["method"].isin([method, GOLDEN])]
    if others.empty:
        raise NoEvidence("no other method was run")
    halves = outcome(others, "correct").groupby([others["method"].astype(object), is_standard(others)], sort=False)
    rival = str(halves.mean().groupby(level=0, sort=False).mean().idxmax())
    return replace(difference(records, method, rival, condition), note=f"the strongest other method is {rival}")


def least_over_strata(records: pd.DataFrame, method: str) -> Evidence:
    """The least, over the offsets, of the method less the most accurate other one (intersection-union interval)."""
    _ran(records, method)
    false = condition_rows(records, "perturbed")
    parts = []
    for _, rows in false.groupby(strata(false), sort=False):
        with suppress(NoEvidence):
            parts.append(best_of_others(rows, method, "overall"))
    if not parts:
        raise NoEvidence("no other method was run on false passages")
    least = {name: min(getattr(part, name) for part in parts) for name in ("value", "low", "high")}
    n, n_questions = sum(part.n for part in parts), max(part.n_questions for part in parts)
    return Evidence(**least, n=n, n_questions=n_questions, note="the least over the offsets")


def following(records: pd.DataFrame, level: str, *categories: str) -> Evidence:
    """Few-shot context preference of some knowledge categories on passages of a level."""
    rows = perturbed_answers(condition_rows(records, level))
    rows = rows[rows["knowledge_category"].isin(categories) & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    hits = rows["follows_claim"].astype(float)
    return _evidence(hits.mean(), clustered_interval(hits, rows["question_id"]), rows)


def offset_slope(records: pd.DataFrame, category: str) -> Evidence:
    """Log-odds of following per 100 years of offset."""
    slopes = offset_slopes(records).rename(columns={"slope": "value"})
    for row in slopes[slopes["knowledge_category"] == category].to_dict("records"):
        return Evidence(**{field.name: row[field.name] for field in fields(Evidence)})
    raise NoEvidence("no year offsets")


def highly_known(records: pd.DataFrame, at_least: float, below: float = math.inf) -> Evidence:
    """P(Highly-Known | confidence in [at_least, below)) over unique questions, Jeffreys interval."""
    rows = of_one_kind(records)
    rows = rows[rows["knowledge_category"].notna() & rows["self_confidence"].notna()].drop_duplicates("question_id")
    rows = rows[(rows["self_confidence"] >= at_least) & (rows["self_confidence"] < below)]
    hits = rows["knowledge_category"] == KnowledgeCategory.HIGHLY_KNOWN
    return _evidence(hits.mean(), jeffreys_interval(hits.sum(), len(hits)), rows)


def prior_preference_change(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Prior preference of A less that of B on the false passages that both answered."""
    _ran(records, a, b)
    rows = pd.concat([perturbed_answers(records, method) for method in (a, b)])
    rows = rows[~rows["prior_is_claim"]]
    both = side_by_side(rows, a, b, rows["follows_prior"].astype("Float64").astype(float))
    return _contrast(both["a"] - both["b"], both, *_weights(both, "perturbed"))


def prior_bias_contrast(records: pd.DataFrame, a: str, b: str, weight: float) -> Evidence:
    """Prior bias of A less `weight` times that of B: on true passages whose question the model got wrong."""
    rows = _ran(records, a, b)
    wrong = ~rows["prior_correct"].astype("boolean").fillna(True)
    rows = with_matches(rows[is_standard(rows) & wrong.astype(bool)])
    follows = rows["final_is_prior"].fillna(False).astype(float)
    return _contrast(follows, rows, rows["method"].astype(object), {a: 1.0, b: -weight}, bounds=(0.0, 1.0))


def more_calls(records: pd.DataFrame, a: str, b: str) -> Evidence:
    """Calls an item that A takes more than B, each by itself."""
    rows = _ran(records, a, b)
    both = side_by_side(rows, a, b, rows["calls_alone"].astype(float))
    more = both["a"] - both["b"]
    return _evidence(more.mean(), mean_interval(more, both["question_id"]), both)


def _ran(records: pd.DataFrame, *names: str, column: str = "method") -> pd.DataFrame:
    """The rows of these methods or designs, all of which are needed."""
    for name in names:
        if not (records[column] == name).any():
            raise NoEvidence(f"the design {name} was not run" if column == "design" else f"{name} was not run")
    return records[records[column].isin(names)]


def _weights(rows: pd.DataFrame, condition: str) -> tuple[pd.Series, dict[str, float]]:
    """Each row's part of a condition, and the parts' weights: overall (both halves equally), "x", or "x-y"."""
    first, _, second = condition.partition("-")
    halves = is_standard(rows).map({True: "standard", False: "perturbed"})
    if first == "overall":
        return halves, dict.fromkeys(halves.unique(), 1 / halves.nunique()) if len(rows) else {"standard": 1.0}
    parts = halves if first in ("standard", "perturbed") else rows["level"]
    return parts, {first: 1.0} | ({second: -1.0} if second else {})


def _contrast(
    values: pd.Series,
    rows: pd.DataFrame,
    parts: pd.Series,
    weights: Mapping[str, float],
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Evidence:
    value, *ends = contrast_interval(values, rows["question_id"], parts, weights, bounds=bounds)
    return _evidence(value, ends, rows[parts.isin(list(weights))])


def _evidence(value: float, ends: Sequence[Any], rows: pd.DataFrame) -> Evidence:
    if rows.empty:
        raise NoEvidence("no item is left")
    low, high = map(float, ends)
    return Evidence(value=float(value), low=low, high=high, n=len(rows), n_questions=rows["question_id"].nunique())


class Relation(StrEnum):
    ABOVE = "above"
    BELOW = "below"
    AT_MOST = "at most"
    WITHIN = "within ±"


class Standing(StrEnum):
    HOLDS = "holds"
    DOES_NOT = "does not hold"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Claim:
    """A claim: `quantity` is what is measured, `paper` what the paper reports, `reading` which part is our reading."""

    key: str
    text: str
    quantity: str
    paper: str
    measure: Callable[[pd.DataFrame], Evidence]
    relation: Relation
    threshold: float = 0.0
    reading: str = ""

    def evidence(self, records: pd.DataFrame) -> Evidence:
        """The measured quantity; NaN with a note where the records cannot give it."""
        try:
            return self.measure(records)
        except NoEvidence as reason:
            return Evidence(note=str(reason))

    def standing(self, evidence: Evidence) -> Standing:
        """What the interval says about the claim."""
        low, high, bound = evidence.low, evidence.high, self.threshold
        if math.isnan(low) or math.isnan(high):
            return Standing.CANNOT_TELL
        holds, fails = {
            Relation.ABOVE: (low > bound, high < bound),
            Relation.BELOW: (high < bound, low > bound),
            Relation.AT_MOST: (high <= bound, low > bound),
            Relation.WITHIN: (-bound < low and high < bound, low > bound or high < -bound),
        }[self.relation]
        return Standing.HOLDS if holds else Standing.DOES_NOT if fails else Standing.CANNOT_TELL


_MEASURES: tuple[Callable[..., Evidence], ...] = (
    *(difference, design_difference, gap, best_of_others, least_over_strata, following, offset_slope, highly_known),
    *(prior_preference_change, prior_bias_contrast, more_calls),
)


def _measure(words: str) -> Callable[[pd.DataFrame], Evidence]:
    """The measure with this name and these arguments, such as "highly_known 0.9"."""
    name, *rest = words.split()
    (measure,) = (measure for measure in _MEASURES if measure.__name__ == name)
    arguments = [float(word) if word[0].isdigit() else word for word in rest]
    return lambda records: measure(records, *arguments)


def _claims() -> Iterator[Claim]:
    lines = (resources.files("srdcr_lab.measures") / "claims.csv").read_text("utf-8").splitlines()
    for key, text, quantity, paper, evidence, relation, threshold, reading in [*csv.reader(lines)][1:]:
        yield Claim(key, text, quantity, paper, _measure(evidence), Relation(relation), float(threshold), reading)


CLAIMS = tuple(_claims())


def claims_checklist(records: pd.DataFrame, *, design: str | None = None) -> pd.DataFrame:
    """Every claim on these records, per run and model, with its evidence and whether it holds.

    `design` is the debate design whose SR-DCR is meant, where there are several; default: ``acvd``, else the first.
    """
    keys = [name for name in ("run", "model") if name in records]
    rows = []
    for values, part in records.groupby(keys, sort=False, observed=True):
        designs = [*part["design"].dropna().unique()]
        chosen = design or ("acvd" if "acvd" in designs else designs[0] if designs else None)
        of_one = part[part["design"].isna() | (part["design"] == chosen)]
        for claim in CLAIMS:
            compares_designs = claim.key == "3.1"
            evidence = claim.evidence(part if compares_designs else of_one)
            row = dict(zip(keys, values, strict=True)) | {"claim": claim.key} | asdict(claim) | asdict(evidence)
            rows.append(row | {"standing": claim.standing(evidence).value, "relation": claim.relation.value})
    return pd.DataFrame(rows, columns=[*keys, *_COLUMNS])


_COLUMNS = ("claim", "text", "quantity", "paper", "value", "low", "high", "n", "n_questions", "relation", "threshold",
            "standing", "reading", "note")  # fmt: skip


def claims_html(table: pd.DataFrame) -> Html:
    """The checklist as an HTML table, everything escaped."""
    keys = [name for name in ("run", "model") if name in table and table[name].nunique() > 1]
    rows = []
    for row in table.to_dict("records"):
        here = interval(row["value"], row["low"], row["high"], ".3f")
        remarks = "; ".join(filter(None, (row["reading"], row["note"])))
        text = f"{row['claim']} {row['text']}" + (f" ({remarks})" if remarks else "")
        claimed = f"{row['relation']} {row['threshold']:g}"
        n = f"{row['n']} items, {row['n_questions']} questions"
        cells = [*(row[key] for key in keys), text, row["quantity"], row["paper"], here, n, claimed]
        standing = Standing(row["standing"])
        last = Td(Html(f"<b>{standing}</b>"), f"color: {_COLOURS[standing]}")
        rows.append([*(Td(cell, "text-align: left") for cell in cells), last])
    return html_table([*keys, "claim", "quantity", "paper", "here (95 %)", "n", "claimed", "standing"], rows)


_COLOURS = {Standing.HOLDS: "#0173b2", Standing.DOES_NOT: "#d55e00", Standing.CANNOT_TELL: "#555555"}
