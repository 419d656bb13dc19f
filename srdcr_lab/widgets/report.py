"""What was found out about a domain, on one page to hand on: no script, no font, no address, figures inside."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from srdcr_lab.measures import auroc, categories_by_domain, ece, precision_steps
from srdcr_lab.measures.gating import Gating
from srdcr_lab.measures.power import questions_for_width
from srdcr_lab.measures.precision import Above, PrecisionSteps
from srdcr_lab.measures.thresholds import PAPER_TAU, SCOPE, ThresholdChoice, every_choice, recommended
from srdcr_lab.pages import Html, html_page, html_table
from srdcr_lab.plots.confidence import ReliabilityDisplay, RiskCoverageDisplay
from srdcr_lab.plots.drawers import CATEGORY_LABELS
from srdcr_lab.records import Level, Verdict
from srdcr_lab.widgets.thresholds import choices_html, decisions_table

if TYPE_CHECKING:
    from srdcr_lab.data import Perturbed
    from srdcr_lab.data.checks import Report

_STYLE = """\
.chosen { border-left: 4px solid #029e73; padding: .3em .8em; background: #f3faf6; }
.label { color: #57606a; }
"""
_FINDINGS = 20  # shown of a validation
_WIDTH = 0.2  # of the interval that the plan for more questions aims at


class Found(Protocol):
    """What the report reads of a run (`srdcr_lab.Results` has it)."""

    @property
    def questions(self) -> pd.DataFrame: ...
    @property
    def records(self) -> pd.DataFrame: ...
    @property
    def label(self) -> str: ...


def domain_report(
    results: Found,
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
    rows = results.records if debated is None else debated
    rows = rows[rows["method"] == "sr_dcr"]
    parts = [
        f'<p class="label">{escape(results.label)}</p>',
        _verdict(recommended(choices)),
        *_table_part(results.records, checked),
        *([] if perturbed is None else _perturbed_part(perturbed)),
        *_knowledge_part(questions),
        *_calibration_part(questions),
        *_threshold_part(steps, choices, alpha, tau),
        *_bounds_part(rows, recommended(choices).tau, tau),
        f'<p class="label">{escape(results.label)}</p>',
    ]
    return Html(html_page(title, parts, style=_STYLE))


def framed(page: str, height: str = "36em") -> Html:
    """A page inside a notebook, in a frame that runs nothing."""
    style = f"width: 100%; height: {escape(height)}; border: 1px solid #d0d7de"
    return Html(f'<iframe sandbox srcdoc="{escape(page)}" style="{style}"></iframe>')


def _verdict(choice: ThresholdChoice) -> str:
    if choice.tau is None:
        return f'<p class="chosen"><b>No τ is recommended</b>: {escape(choice.guarantee)}.</p>'
    return (
        f'<p class="chosen"><b>Recommended: τ = {choice.tau:.4g}</b>, which answers {choice.n_above} of {choice.n} '
        f"questions from memory if need be (coverage {choice.coverage:.2f}). Guaranteed, for questions drawn like "
        f"these: {escape(choice.guarantee)}.</p>"
    )


def _table_part(records: pd.DataFrame, checked: Report | None) -> list[str]:
    asked = records.drop_duplicates("question_id")
    kinds = asked.groupby(["domain", "answer_type"], sort=False).size().rename("questions").reset_index()
    parts = ["<h2>The questions</h2>", html_table(kinds.columns, kinds.itertuples(index=False))]
    if checked is not None:
        n, found = sum(checked.checked.values()), len(checked.findings)
        said = f"{n} checks, {found} findings" if found else f"{n} checks, nothing was found"
        parts.append(f"<p>Validation of {escape(Path(checked.name).name)}: {said}.</p>")
        told = [str(finding) for finding in checked.findings[:_FINDINGS]] + checked.notes
        parts.append("".join(["<ul>", *(f"<li>{escape(line)}</li>" for line in told), "</ul>"]) if told else "")
    return parts


def _perturbed_part(perturbed: Perturbed) -> list[str]:
    from srdcr_lab.data.perturbing.table import by_outcome, by_reason

    parts = ["<h2>False passages</h2>", f"<p>{escape(perturbed.sentence())}.</p>"]
    for table in (by_outcome(perturbed), by_reason(perturbed)):
        if len(table):
            parts.append(html_table(table.columns, table.itertuples(index=False)))
    return parts


def _knowledge_part(questions: pd.DataFrame) -> list[str]:
    table = categories_by_domain(questions)
    rows = [
        (row["domain"], CATEGORY_LABELS[row["knowledge_category"]], f"{row['n_category']} of {row['n']}",
         _share(row["share"], row["low"], row["high"]))
        for row in table.to_dict("records")
    ]  # fmt: skip
    drawn = questions["n_samples"].dropna()
    n_draws = int(drawn.max()) if len(drawn) else 0
    said = f"From {n_draws} draws per question without a passage; with more draws fewer questions stay Unknown."
    return ["<h2>What the model knows</h2>", f"<p>{said}</p>", html_table(("domain", "category", "n", "share"), rows)]


def _calibration_part(questions: pd.DataFrame) -> list[str]:
    given = questions["self_confidence"], questions["prior_correct"]
    area, error = auroc(*given), ece(*given)
    kind = next(iter(questions["confidence_kind"].dropna()), "none")
    rows = [
        ("AUROC: are right answers more confident?", _share(area.value, area.low, area.high), area.n),
        ("ECE, debiased: is the number a probability?", _share(error.debiased, error.low, error.high), error.n),
    ]
    picture = _figure(ReliabilityDisplay.from_questions(questions).plot, "reliability diagram")
    said = f"Confidence is {escape(str(kind))}; held against whether the prior answer is right."
    table = html_table(("measure", "value [95 %]", "questions"), rows)
    return ["<h2>How far confidence can be trusted</h2>", f"<p>{said}</p>", table, picture]


def _threshold_part(steps: PrecisionSteps, choices: Sequence[ThresholdChoice], alpha: float, fixed: float) -> list[str]:
    picture = _figure(RiskCoverageDisplay.from_steps(steps, choices).plot, "risk and coverage", alpha=alpha)
    return ["<h2>Thresholds</h2>", choices_html(choices, scope=False), picture, _plan(steps.at(fixed))]


def _plan(above: Above) -> str:
    """How many questions would be enough to know the precision above the τ that was fixed beforehand."""
    if not above.n_above:
        return f"<p>No question lies above τ = {above.tau:g}, so nothing can be said of it.</p>"
    needed = questions_for_width(above.precision, above.coverage, _WIDTH)
    return (
        f"<p>To know the share of right answers above τ = {above.tau:g} to within an interval of {_WIDTH:g} takes "
        f"about {needed.n_above} questions above it: about {needed.n_questions} questions like these "
        f"(here {above.n_questions}).</p>"
    )


def _bounds_part(rows: pd.DataFrame, chosen: float | None, fixed: float) -> list[str]:
    """What τ bounds and what not, with what was seen of the other kind of error."""
    parts = ["<h2>What τ bounds, and what not</h2>", f"<p>{escape(SCOPE)}</p>"]
    if rows.empty:
        return parts
    false = rows[rows["level"] != Level.STANDARD]
    believed = int((false["verdict"] == Verdict.REASONABLE).sum())
    used = fixed if chosen is None else chosen
    why = "fixed beforehand, as none is recommended" if chosen is None else "recommended"
    return [
        *parts,
        f"<p>In the debates of this run the judge believed {believed} of {len(false)} false passages: of those errors "
        f"τ says nothing. SR-DCR at τ = {used:.4g} ({why}):</p>",
        decisions_table(Gating.from_records(rows).at(used)),
    ]


def _figure(plot: Any, text: str, **options: Any) -> str:
    """What `plot` draws, as an SVG inside the page."""
    import matplotlib
    import matplotlib.pyplot as plt

    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": text, "svg.fonttype": "none"}):
        ax = plot(**options)
        ax.figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(ax.figure)
    source = base64.b64encode(written.getvalue().encode()).decode()
    return f'<img alt="{escape(text)}" src="data:image/svg+xml;base64,{source}">'


def _share(value: float, low: float, high: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"
