"""What was learned about a domain, on one page to hand on: no script, no font, no address, figures inside."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab.measures import auroc, categories_by_domain, ece, precision_steps
from srdcr_lab.measures.gating import Gating
from srdcr_lab.measures.power import questions_for_width
from srdcr_lab.measures.thresholds import PAPER_TAU, SCOPE, every_choice, recommended
from srdcr_lab.pages import Html, frame_table, html_table, render
from srdcr_lab.plots.confidence import ReliabilityDisplay, RiskCoverageDisplay
from srdcr_lab.plots.drawers import CATEGORY_LABELS
from srdcr_lab.records import Level, Verdict
from srdcr_lab.widgets.thresholds import choices_html, decisions_table

if TYPE_CHECKING:
    from srdcr_lab.data import Perturbed
    from srdcr_lab.data.checks import Report
    from srdcr_lab.study import Results

_WIDTH = 0.2  # of the interval that the plan for more questions aims at


def domain_report(
    results: Results,
    *,
    debated: pd.DataFrame | None = None,
    checked: Report | None = None,
    perturbed: Perturbed | None = None,
    alpha: float = 0.10,
    delta: float = 0.10,
    tau: float = PAPER_TAU,
    title: str = "A new domain",
) -> Html:
    """The page, as a document of its own.

    Parameters
    ----------
    results : a run over the domain's questions with knowledge draws.
    debated : records with rows of sr_dcr; default: those of `results`. Without any, nothing is said of decisions.
    checked : `check_source` of the table; perturbed : what `perturb` made of it. Without them their parts are left out.
    alpha, delta : the risk asked for, and the probability of missing it; tau : the threshold fixed beforehand.

    Raises
    ------
    ValueError
        If alpha or delta do not lie between 0 and 1.
    """
    questions = results.questions
    steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
    choices = every_choice(steps, alpha=alpha, delta=delta, tau=tau)
    chosen, above = recommended(choices), steps.at(tau)
    figures = {
        "reliability diagram": _figure("reliability diagram", ReliabilityDisplay.from_questions(questions)),
        "risk and coverage": _figure("risk and coverage", RiskCoverageDisplay.from_steps(steps, choices), alpha=alpha),
    }
    rows = results.records if debated is None else debated
    rows = rows[rows["method"] == "sr_dcr"]
    false = rows[rows["level"] != Level.STANDARD]
    decisions = decisions_table(Gating.from_records(rows).at(tau if chosen.tau is None else chosen.tau))
    return render(
        "report",
        title=title,
        label=results.label,
        chosen=chosen,
        kinds=frame_table(_kinds(results.records)),
        checked=checked,
        checked_name="" if checked is None else Path(checked.name).name,
        perturbed=perturbed,
        perturbed_tables=_perturbed_tables(perturbed),
        n_draws=int(questions["n_samples"].fillna(0).max()) if len(questions) else 0,
        knowledge=_knowledge(questions),
        confidence_kind=next(iter(questions["confidence_kind"].dropna()), "none"),
        calibration=_calibration(questions),
        choices=choices_html(choices, scope=False),
        figures=figures,
        tau=tau,
        width=_WIDTH,
        needed=questions_for_width(above.precision, above.coverage, _WIDTH) if above.n_above else None,
        n_questions=above.n_questions,
        scope=SCOPE,
        believed=int((false["verdict"] == Verdict.REASONABLE).sum()),
        n_false=len(false),
        decisions=decisions if len(rows) else "",
    )


def framed(page: str, height: str = "36em") -> Html:
    """A page inside a notebook, in a frame that runs nothing."""
    return render("parts", "frame", page=str(page), height=height)


def _kinds(records: pd.DataFrame) -> pd.DataFrame:
    asked = records.drop_duplicates("question_id")
    return asked.groupby(["domain", "answer_type"], sort=False).size().rename("questions").reset_index()


def _perturbed_tables(perturbed: Perturbed | None) -> list[Html]:
    from srdcr_lab.data.perturbing.audit import by_outcome, by_reason

    if perturbed is None:
        return []
    return [frame_table(table) for table in (by_outcome(perturbed), by_reason(perturbed)) if len(table)]


def _knowledge(questions: pd.DataFrame) -> Html:
    rows = [
        (row.domain, CATEGORY_LABELS[row.knowledge_category], f"{row.n_category} of {row.n}",
         _interval(row.share, row.low, row.high))
        for row in categories_by_domain(questions).itertuples()
    ]  # fmt: skip
    return html_table(("domain", "category", "n", "share"), rows)


def _calibration(questions: pd.DataFrame) -> Html:
    confidence, right = questions["self_confidence"], questions["prior_correct"]
    area, error = auroc(confidence, right), ece(confidence, right)
    rows = [
        ("AUROC: are right answers more confident?", _interval(area.value, area.low, area.high), area.n),
        ("ECE, debiased: is the number a probability?", _interval(error.debiased, error.low, error.high), error.n),
    ]
    return html_table(("measure", "value [95 %]", "questions"), rows)


def _interval(value: float, low: float, high: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _figure(name: str, display: Any, **options: Any) -> str:
    """What a display draws, as SVG in base64."""
    import matplotlib
    import matplotlib.pyplot as plt

    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        ax = display.plot(**options)
        ax.figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(ax.figure)
    return base64.b64encode(written.getvalue().encode()).decode()
