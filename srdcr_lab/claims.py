"""The claims of the paper's section 4 as a checklist: each with one's own number, its interval, and where it stands.

Each claim, a row of claims.csv, compares one quantity with one threshold, and stands as `srdcr_lab.findings` says.
There is no correction for thirty claims: by chance alone about one interval in twenty misses. A claim about accuracy
has a row for each denominator, and a note where the two differ.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources

import pandas as pd

from srdcr_lab.evidence import OF_ACCURACY, OTHERS, SHARES, Denominator, Evidence, NoEvidence
from srdcr_lab.lib.groups import FEW
from srdcr_lab.lib.page import Html, Td, html_table, interval
from srdcr_lab.lib.repeats import each_repeat, has_repeats, over_both
from srdcr_lab.lib.sentences import Relation, Standing, standing


@dataclass(frozen=True)
class Claim:
    """A claim: `quantity` is what is measured, `paper` what the paper reports, `reading` which part is our reading."""

    key: str
    text: str
    quantity: str
    paper: str
    measure: Callable[..., Evidence]
    arguments: Sequence[str | float]
    relation: Relation
    threshold: float = 0.0
    reading: str = ""
    denominators: tuple[str, ...] = ("",)  # of an accuracy; others have a denominator of their own

    def evidence(self, records: pd.DataFrame, denominator: str = "") -> Evidence:
        """The measured quantity; NaN with a note where the records cannot give it. Its interval is over questions, and
        over repeats where there are several."""
        if not has_repeats(records):
            return self._measured(records, denominator)
        pooled, each = each_repeat(records)
        together, *single = (self._measured(part, denominator) for part in (pooled, *each))
        ends = [(found.value, found.low, found.high) for found in (together, *single)]
        bounds = (0.0, 1.0) if self.measure in SHARES else (-math.inf, math.inf)
        sd, low, high, n_repeats = over_both(ends[0], ends[1:], together.n_questions, bounds=bounds)
        varied = f"sd {sd:.3f} over {n_repeats} repeats" if n_repeats > 1 else ""
        note = "; ".join(filter(None, [together.note, varied]))
        return replace(together, low=low, high=high, n=together.n // len(each), note=note)

    def _measured(self, records: pd.DataFrame, denominator: str) -> Evidence:
        try:
            return self.measure(records, *self.arguments, *filter(None, [denominator]))
        except NoEvidence as reason:
            return Evidence(note=str(reason))

    def standing(self, evidence: Evidence) -> Standing:
        """What the interval says about the claim; of fewer than ten questions nothing."""
        if evidence.n_questions < FEW:
            return Standing.TOO_FEW if evidence.n else Standing.NOT_MEASURED
        return standing(evidence.low, evidence.high, self.relation, self.threshold)


def _claims() -> Iterator[Claim]:
    lines = (resources.files("srdcr_lab") / "claims.csv").read_text("utf-8").splitlines()
    for key, text, quantity, paper, evidence, relation, threshold, reading in [*csv.reader(lines)][1:]:
        name, *words = evidence.split()
        (measure,) = (measure for measure in (*OF_ACCURACY, *OTHERS) if measure.__name__ == name)
        arguments = [float(word) if word[0].isdigit() else word for word in words]
        denominators = tuple(Denominator) if measure in OF_ACCURACY else ("",)
        yield Claim(key, text, quantity, paper, measure, arguments, Relation(relation), float(threshold), reading,
                    denominators)  # fmt: skip


CLAIMS = tuple(_claims())


def claims_checklist(records: pd.DataFrame, *, design: str | None = None) -> pd.DataFrame:
    """Every claim on these records, per run and model (and `denominator`), with its evidence and whether it holds.

    `design` is the debate design whose SR-DCR is meant, where there are several; default: ``acvd``, else the first.
    Records with a column `repeat` (`load_repeats`) are of one study: intervals are over questions and repeats.
    """
    keys = [name for name in ("run", "model") if name in records]
    rows = []
    for values, part in records.groupby(keys, sort=False, observed=True):
        designs = [*part["design"].dropna().unique()]
        chosen = design or ("acvd" if "acvd" in designs else designs[0] if designs else None)
        of_one = part[part["design"].isna() | (part["design"] == chosen)]
        for claim in CLAIMS:
            compares_designs = claim.key == "3.1"
            shown = dict(zip(keys, values, strict=True)) | {"claim": claim.key} | asdict(claim)
            shown["relation"] = claim.relation.value
            found = {each: claim.evidence(part if compares_designs else of_one, each) for each in claim.denominators}
            standings = {each: claim.standing(evidence).value for each, evidence in found.items()}
            for each, evidence in found.items():
                row = shown | asdict(evidence) | {"denominator": each, "standing": standings[each]}
                other = [f"of {o}: {standing}" for o, standing in standings.items() if standing != standings[each]]
                rows.append(row | {"note": "; ".join(filter(None, [evidence.note, *other]))})
    return pd.DataFrame(rows, columns=[*keys, *_COLUMNS])


_COLUMNS = ("claim", "text", "quantity", "denominator", "paper", "value", "low", "high", "n", "n_questions", "relation",
            "threshold", "standing", "reading", "note")  # fmt: skip


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
        quantity = row["quantity"] + (f", of {row['denominator']}" if row["denominator"] else "")
        cells = [*(row[key] for key in keys), text, quantity, row["paper"], here, n, claimed]
        standing = Standing(row["standing"])
        last = Td(Html(f"<b>{standing}</b>"), f"color: {_COLOURS.get(standing, '#555555')}")
        rows.append([*(Td(cell, "text-align: left") for cell in cells), last])
    return html_table([*keys, "claim", "quantity", "paper", "here (95 %)", "n", "claimed", "standing"], rows)


_COLOURS = {Standing.SUPPORTED: "#0173b2", Standing.CONTRADICTED: "#d55e00"}
