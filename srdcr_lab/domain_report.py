"""Chapter 06: a page on a new domain: knowledge, calibration, the chosen τ and its guarantee."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab.confidence import (
    auroc,
    decisions_table,
    draw_reliability,
    precision_steps,
    questions_for_width,
    risk_coverage,
)
from srdcr_lab.data.perturbing import by_outcome, by_reason
from srdcr_lab.guarantee import FinalAnswerGuarantee
from srdcr_lab.knowledge import categories_by_domain
from srdcr_lab.lib.calibration import ece, reliability_curve
from srdcr_lab.lib.gating import Gating
from srdcr_lab.lib.page import Html, frame_table, html_table, interval, render
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.records.names import CATEGORY_LABELS, kind_called
from srdcr_lab.thresholds import PAPER_TAU, SCOPE, choices_html, draw_risk_coverage, every_choice, recommended

if TYPE_CHECKING:
    from srdcr_lab.data import Perturbed
    from srdcr_lab.data.load import Report
    from srdcr_lab.study import Results

_REASONS = 6  # why forms were refused or flagged, the commonest
_PLAN_WIDTH = 0.2  # of the interval that the report's plan for more questions aims at


def domain_report(
    results: Results,
    *,
    debated: pd.DataFrame | None = None,
    checked: Report | None = None,
    perturbed: Perturbed | None = None,
    alpha: float = 0.10,
    delta: float = 0.10,
    tau: float = PAPER_TAU,
    false_share: float = 0.5,
    title: str = "A new domain",
) -> Html:
    """What was learned about a domain: a page of its own, with no script, font or address, and the figures inside.

    Parameters
    ----------
    results : a run over the domain's questions with knowledge draws.
    debated : records with rows of sr_dcr; default: those of `results`. Without any, nothing is said of decisions.
    checked, perturbed : `check_source` of the table, and what `perturb` made of it; without them nothing is said.
    alpha, delta, tau : the risk asked for and the probability of missing it, both between 0 and 1; the threshold that
        was fixed beforehand.
    false_share : the share of false passages at which the answers of SR-DCR are to be right so often.
    """
    questions, asked = results.questions, results.records.drop_duplicates("question_id")
    steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
    curve = reliability_curve(questions["self_confidence"], questions["prior_correct"])
    choices = every_choice(steps, alpha=alpha, delta=delta, tau=tau)
    chosen, above = recommended(choices), steps.at(tau)
    rows = results.records if debated is None else debated
    rows = rows[rows["method"] == "sr_dcr"]
    false = rows[rows["level"] != Level.STANDARD]
    kinds = asked.groupby(["domain", "answer_type"], sort=False).size().rename("questions").reset_index()
    attained, final = _final_answers(rows, alpha, delta, false_share) if len(rows) else (False, "")
    counts = () if perturbed is None else (by_outcome(perturbed), by_reason(perturbed).head(_REASONS))
    return render(
        "report", title=title, label=results.label, tau=tau, chosen=chosen, scope=SCOPE,
        kinds=frame_table(kinds),
        checked=checked, checked_name="" if checked is None else Path(checked.name).name,
        perturbed=perturbed, perturbed_tables=[frame_table(table) for table in counts if len(table)],
        n_draws=int(questions["n_samples"].fillna(0).max()) if len(questions) else 0,
        knowledge=_knowledge(questions),
        confidence_kind=kind_called(next(iter(questions["confidence_kind"].dropna()), "none")),
        calibration=_calibration(questions),
        reliability=_figure("reliability diagram", draw_reliability(curve)),
        choices=choices_html(choices, scope=False),
        risk=_figure("risk and coverage", draw_risk_coverage(risk_coverage(steps), choices, alpha)),
        above=above, plan_width=_PLAN_WIDTH,
        needed=questions_for_width(above.precision, above.coverage, _PLAN_WIDTH) if above.n_above else None,
        n_debated=len(rows), n_false=len(false), n_believed=int((false["verdict"] == Verdict.REASONABLE).sum()),
        decisions=decisions_table(Gating.from_records(rows).at(tau if chosen.tau is None else chosen.tau)),
        final=final, final_attained=attained,
    )  # fmt: skip


def _final_answers(debated: pd.DataFrame, alpha: float, delta: float, false_share: float) -> tuple[bool, str]:
    """Whether `FinalAnswerGuarantee` has a rule on these debates, and what it says; or why it cannot be asked."""
    try:
        found = FinalAnswerGuarantee(alpha, delta, false_share).fit(debated)
        return found.rule_ is not None, found.sentence_
    except BadInput as reason:
        return False, str(reason)


def _knowledge(questions: pd.DataFrame) -> Html:
    rows = [
        (row.domain, CATEGORY_LABELS[row.knowledge_category], f"{row.n_category} of {row.n}",
         interval(row.share, row.low, row.high))
        for row in categories_by_domain(questions).itertuples()
    ]  # fmt: skip
    return html_table(("domain", "category", "n", "share"), rows)


def _calibration(questions: pd.DataFrame) -> Html:
    confidence, right = questions["self_confidence"], questions["prior_correct"]
    area, error = auroc(confidence, right), ece(confidence, right)
    rows = [
        ("AUROC: are right answers more confident?", interval(area.value, area.low, area.high), area.n),
        ("ECE, debiased: is the number a probability?", interval(error.debiased, error.low, error.high), error.n),
    ]
    return html_table(("measure", "value [95 %]", "questions"), rows)


def _figure(name: str, figure: Figure) -> Html:
    """A figure as an image inside the page."""
    import matplotlib
    import matplotlib.pyplot as plt

    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    return render("parts", "picture", name=name, data=base64.b64encode(written.getvalue().encode()).decode())


def framed(page: str, height: str = "36em") -> Html:
    """A page inside a notebook, in a frame that runs nothing."""
    return render("parts", "frame", page=str(page), height=height)
