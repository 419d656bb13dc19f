"""The claims of the paper's section 4 as a checklist: each with one's own number, its interval, and whether it holds.

Each claim is one quantity against one threshold. It *holds* where the whole 95 % interval lies on the claimed side, it
*does not* where the whole interval lies on the other, and else these records *cannot tell*. No correction is made for
asking about thirty times: by chance alone about one interval in twenty misses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import pandas as pd

from srdcr_lab.measures import evidence as on
from srdcr_lab.measures.evidence import Evidence
from srdcr_lab.measures.groups import stack
from srdcr_lab.pages import Html, Td, html_table, interval
from srdcr_lab.records import KnowledgeCategory, Level


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
    """A claim of the paper as a quantity that is above or below a threshold.

    `quantity` says what is measured; `paper` what the paper reports; `reading` what of it is our reading.
    """

    key: str
    text: str
    quantity: str
    paper: str
    measure: Callable[[pd.DataFrame], Evidence]
    relation: Relation
    threshold: float
    reading: str = ""

    def standing(self, found: Evidence) -> Standing:
        """What the interval says about the claim."""
        low, high, bound = found.low, found.high, self.threshold
        if math.isnan(low) or math.isnan(high):
            return Standing.CANNOT_TELL
        holds, fails = {
            Relation.ABOVE: (low > bound, high < bound),
            Relation.BELOW: (high < bound, low > bound),
            Relation.AT_MOST: (high <= bound, low > bound),
            Relation.WITHIN: (-bound < low and high < bound, low > bound or high < -bound),
        }[self.relation]
        return Standing.HOLDS if holds else Standing.DOES_NOT if fails else Standing.CANNOT_TELL


_UP, _DOWN = Relation.ABOVE, Relation.BELOW
_MARGIN = "the margin of 5 points is ours"
_NO_BASELINE = "no baseline is named, and the tables do not give the number; we take the debate without confidence"
_LITTLE_KNOWN = (KnowledgeCategory.UNKNOWN, KnowledgeCategory.WEAKLY_KNOWN)


def _differs(
    key: str, text: str, a: str, b: str, condition: str, paper: str, relation: Relation = _UP, bound: float = 0.0,
    reading: str = "",
) -> Claim:  # fmt: skip
    quantity = f"{condition} accuracy, {a} − {b}"
    return Claim(
        key, text, quantity, paper, partial(on.difference, a=a, b=b, condition=condition), relation, bound, reading
    )


CLAIMS = (
    Claim(
        "4.1a", "The farther off a claim is, the less it is followed where the model knows the answer well.",
        "log-odds of following per 100 years, HIGHLY_KNOWN", "Figure 2",
        partial(on.offset_slope, category=KnowledgeCategory.HIGHLY_KNOWN), _DOWN, 0.0,
    ),
    Claim(
        "4.1b", "Where it knows little, the model follows even blatantly false passages.",
        "context preference on blatant passages, UNKNOWN and WEAKLY_KNOWN", "> 70 %",
        partial(on.following, categories=_LITTLE_KNOWN, level=Level.BLATANT), _UP, 0.70,
    ),
    Claim(
        "4.2a", "Confidence of 0.90 or more means highly known.", "P(HIGHLY_KNOWN | Conf ≥ 0.90)", "> 0.88",
        partial(on.highly_known, at_least=0.90), _UP, 0.88,
    ),
    Claim(
        "4.2b", "Confidence of 0.95 or more means highly known.", "P(HIGHLY_KNOWN | Conf ≥ 0.95)", "> 0.95",
        partial(on.highly_known, at_least=0.95), _UP, 0.95,
    ),
    Claim(
        "4.2c", "Below 0.70, confidence overlaps poorly with what is highly known.", "P(HIGHLY_KNOWN | Conf < 0.70)",
        "poor", partial(on.highly_known, below=0.70), _DOWN, 0.50, "poor is less than half",
    ),
    _differs("4.3a", "More rounds of judge debate raise accuracy on true passages.",
             "judge_debate_5", "judge_debate_1", "standard", "GPT-4o 70.0 → 96.0"),
    _differs("4.3b", "More rounds of judge debate lower accuracy on false passages.",
             "judge_debate_5", "judge_debate_1", "perturbed", "GPT-4o 57.3 → 45.3", _DOWN),
    _differs("4.3c", "One round resists false passages better than Self-Ask.",
             "judge_debate_1", "self_ask", "perturbed", "GPT-4o 57.3 against 31.7"),
    _differs("4.3d", "One round resists false passages better than RCI.",
             "judge_debate_1", "rci", "perturbed", "GPT-4o 57.3 against 22.3"),
    Claim(
        "4.3e", "Judges lean on the prior answer early and on the passage later.",
        "prior preference on false passages, judge_debate_5 − judge_debate_1", "Figures 4 and 9: falls",
        partial(on.prior_preference_change, a="judge_debate_5", b="judge_debate_1"), _DOWN, 0.0,
    ),
    Claim(
        "4.3f", "More rounds hurt more where the passage is subtly false than where it is blatantly so.",
        "(judge_debate_5 − judge_debate_1) subtle less blatant", "Figures 4 and 9: steeper for subtle",
        partial(on.level_contrast, a="judge_debate_5", b="judge_debate_1", first=Level.SUBTLE, second=Level.BLATANT),
        _DOWN, 0.0,
    ),
    _differs("4.3g", "On blatantly false passages accuracy is stable over the rounds.",
             "judge_debate_5", "judge_debate_1", "blatant", "relatively stable", Relation.WITHIN, 0.10,
             "stable is within 10 points"),
    *(
        Claim(key, f"{name} does well on true passages and drops sharply on false ones.",
              f"standard − perturbed accuracy, {method}", paper, partial(on.gap, method=method), _UP, 0.20,
              "sharply is by more than 20 points")
        for key, name, method, paper in (
            ("4.4a", "Few-shot", "few_shot", "GPT-3.5 99.3 against 9.0"),
            ("4.4b", "Self-Ask", "self_ask", "GPT-3.5 95.0 against 14.7"),
            ("4.4c", "RCI", "rci", "GPT-3.5 96.7 against 12.3"),
        )
    ),
    _differs("4.4d", "Judge debate (5 rounds) resists false passages better than few-shot.",
             "judge_debate_5", "few_shot", "perturbed", "GPT-3.5 17.0 against 9.0 (Sonnet 24.7 against 43.0)"),
    _differs("4.4e", "It pays for that on true passages.",
             "judge_debate_5", "few_shot", "standard", "GPT-3.5 90.3 against 99.3", _DOWN),
    _differs("4.4f", "SR-DCR is the most accurate overall: better than Naive Debate.",
             "sr_dcr", "naive_debate", "overall", "GPT-3.5 +3.4"),
    Claim("4.4g", "SR-DCR is better overall than every other method.", "overall accuracy, sr_dcr − the strongest other",
          "4 of 5 models", partial(on.best_of_others, method="sr_dcr", condition="overall"), _UP, 0.0),
    _differs("4.4h", "SR-DCR gains most on false passages: over Naive Debate.", "sr_dcr", "naive_debate", "perturbed",
             "GPT-4o +10.2, Haiku +20.2", reading="its text says Judge Debate and RCI"),
    _differs("4.4i", "… over Judge Debate (5 rounds).", "sr_dcr", "judge_debate_5", "perturbed", "GPT-4o +9.2"),
    _differs("4.4j", "… over RCI.", "sr_dcr", "rci", "perturbed", "Haiku +27.9"),
    Claim("4.4k", "SR-DCR is the most accurate at every offset.", "perturbed accuracy, sr_dcr − the strongest other",
          "GPT-3.5, but for offset 200 (38.3 against 40.0)", partial(on.least_over_strata, method="sr_dcr"), _UP, 0.0),
    _differs("4.4l", "SR-DCR keeps its accuracy on true passages.", "sr_dcr", "few_shot", "standard",
             "GPT-3.5 95.7 against 99.3", bound=-0.05, reading=_MARGIN),
    _differs("4.4m", "On false passages SR-DCR nearly matches the golden baseline.", "sr_dcr", "golden", "perturbed",
             "GPT-3.5 29.7 against 31.7", bound=-0.05, reading=_MARGIN),
    Claim("4.4n", "SR-DCR balances both kinds of passage better than Naive Debate.",
          "(standard − perturbed) accuracy, sr_dcr less naive_debate", "GPT-3.5 66.0 against 78.0",
          partial(on.gap_difference, a="sr_dcr", b="naive_debate"), _DOWN, 0.0),
    _differs("4.4o", "SR-DCR beats confidence alone.", "sr_dcr", "confidence_only", "overall", "not tabulated"),
    _differs("4.4p", "SR-DCR beats the debate alone.", "sr_dcr", "debate_only", "overall", "not tabulated"),
    _differs("4.4q", "Self-reflection makes it more robust to false passages.", "sr_dcr", "debate_only", "perturbed",
             "+7.7", reading=_NO_BASELINE),
    _differs("4.4r", "Self-reflection recovers accuracy on true passages.", "sr_dcr", "debate_only", "standard",
             "+5.6", reading=_NO_BASELINE),
    Claim("4.4s", "SR-DCR halves the prior bias of extended debates.",
          "prior bias, sr_dcr − ½ judge_debate_5", "2 ×",
          partial(on.prior_bias_contrast, a="sr_dcr", b="judge_debate_5", weight=0.5), _DOWN, 0.0,
          "extended debates are judge_debate_5"),
    Claim("4.4t", "SR-DCR takes at most one call more than its debate.", "calls an item, sr_dcr − debate_only", "1",
          partial(on.more_calls, a="sr_dcr", b="debate_only"), Relation.AT_MOST, 1.0),
    Claim("3.1", "Keeping the passage from the critic makes better verdicts.",
          "share of right verdicts, overall, acvd − symmetric", "not tested",
          partial(on.design_difference, a="acvd", b="symmetric"), _UP, 0.0, "claimed in section 3.1, tested nowhere"),
)  # fmt: skip


def claims_checklist(records: pd.DataFrame, *, design: str | None = None) -> pd.DataFrame:
    """Every claim on these records, per run and model.

    Parameters
    ----------
    design : the debate design whose SR-DCR is meant, where there are several; default: ``acvd``, else the first.

    Returns
    -------
    DataFrame : (`run`,) `model`, `claim` (its key), `text`, `quantity`, `paper`, `value`, `low`, `high`, `n`,
        `n_questions`, `relation`, `threshold`, `standing` (holds, does not hold, cannot tell), `reading`, `note`.
    """
    keys = [name for name in ("run", "model") if name in records]
    tables = []
    for values, part in records.groupby(keys, sort=False, observed=True):
        one = _one_design(part, design)
        rows = [_row(claim, part if claim.key == "3.1" else one) for claim in CLAIMS]
        tables.append((dict(zip(keys, values, strict=True)), pd.DataFrame(rows)))
    return stack(tables)


def _one_design(part: pd.DataFrame, design: str | None) -> pd.DataFrame:
    names = list(part["design"].dropna().unique())
    if not names:
        return part
    chosen = design or ("acvd" if "acvd" in names else names[0])
    return part[part["design"].isna() | (part["design"] == chosen)]


def _row(claim: Claim, records: pd.DataFrame) -> dict[str, Any]:
    found = claim.measure(records)
    row = asdict(found)
    return {
        "claim": claim.key,
        "text": claim.text,
        "quantity": claim.quantity,
        "paper": claim.paper,
        **{name: row[name] for name in ("value", "low", "high", "n", "n_questions")},
        "relation": claim.relation.value,
        "threshold": claim.threshold,
        "standing": claim.standing(found).value,
        "reading": claim.reading,
        "note": found.note,
    }


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
