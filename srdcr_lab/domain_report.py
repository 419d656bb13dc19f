"""Chapter 06: the page about a new domain that `srdcr report` writes: the answer, its figures, every term explained."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab import thresholds
from srdcr_lab.confidence import draw_reliability, questions_for_width, risk_coverage, rows_of_sr_dcr
from srdcr_lab.data.perturbing import by_outcome, by_reason
from srdcr_lab.guarantee import final_answers
from srdcr_lab.knowledge import categories_by_domain, draw_categories
from srdcr_lab.lib.calibration import auroc, ece, precision_steps, reliability_curve
from srdcr_lab.lib.definitions import PAPER_TAU
from srdcr_lab.lib.gating import decisions_by_condition
from srdcr_lab.lib.page import Html, render, shown
from srdcr_lab.lib.sentences import answer_box, sentence
from srdcr_lab.lib.statistics import share_with
from srdcr_lab.records import Level, Verdict
from srdcr_lab.records.names import CONFIDENCE_MEANINGS, kind_called

if TYPE_CHECKING:
    from srdcr_lab.data import Perturbed
    from srdcr_lab.data.load import Report
    from srdcr_lab.study import Results

_REASONS = 6  # why forms were refused or flagged, the commonest
_WIDTH = 0.2  # of the interval that the plan for more questions aims at

# A section of the page: its title, sentences that begin with their verdict, figures and tables, and what terms mean.
_Section: TypeAlias = tuple[str, Sequence[str], Sequence[Html], Html]


def domain_report(
    results: Results, *, passages: pd.DataFrame | None = None, checked: Report | None = None,
    perturbed: Perturbed | None = None, alpha: float = 0.10, delta: float = 0.10, tau: float = PAPER_TAU,
) -> Html:  # fmt: skip
    """Write what was learned about a domain as one page.

    The page has its figures inside, and no script, font or address. The guarantee for SR-DCR's answers holds where half
    of the passages are false.

    Parameters
    ----------
    results : Results
        A run over the questions of the domain, with knowledge draws. If the study has parts, its questions are
        those of the part `known`.
    passages : DataFrame, optional
        Records of answers to true and false passages; by default those of the part `passages`, or else of `results`.
    checked : Report, optional
        The result of `check_source` for the table; without it, checks are left out.
    perturbed : Perturbed, optional
        The result of `perturb` for the table; without it, perturbations are left out.
    alpha : float, default 0.1
        The wanted risk, in (0, 1).
    delta : float, default 0.1
        Probability with which the guarantee may fail, in (0, 1).
    tau : float, default PAPER_TAU
        A threshold that was fixed beforehand.

    Returns
    -------
    Html
        The page. Its title names the table, its first line the model and the date of the run.
    """
    records = (results.part("passages") or results).records if passages is None else passages
    questions = results.known.questions
    sections = [_table(results.known, checked), _knowledge(results.known), _confidence(questions)]
    lines = thresholds.answers_of(questions, records, alpha, delta, tau)
    sections.append(_threshold(questions, lines[:2], alpha, delta, tau))
    sections.append(_passages(records, perturbed))
    if (results.records["method"] == "sr_dcr").any():
        sections.append(_debates(results, alpha, delta, tau))
    manifest = results.manifest
    name = Path(manifest["asked"]["items"]).name.removesuffix(", perturbed")
    date = manifest["written"].partition("T")[0]
    return render(
        "report", title=f"{name}: at what confidence may the model answer from memory?",
        about=f"{name} · {results.label} · run of {date}", answer=answer_box(*lines), sections=sections,
    )  # fmt: skip


def _table(results: Results, checked: Report | None) -> _Section:
    asked = results.records.drop_duplicates("question_id")
    kinds = asked.groupby(["domain", "answer_type"], sort=False).size().rename("questions").reset_index()
    lines = []
    if checked is not None:
        sentences = checked.sentences()
        findings = {0: "No findings", 1: "1 finding"}.get(len(sentences), f"{len(sentences)} findings")
        lines = [f"{findings} in {sum(checked.checked.values()):,} checks of {Path(checked.name).name}."]
        lines += [*sentences[:20], *checked.notes]
    return "What was asked", lines, [shown(kinds)], render("terms", "asked")


def _knowledge(results: Results) -> _Section:
    questions = results.questions
    n_draws = int(questions["n_samples"].fillna(0).max()) if len(questions) else 0
    decoding = ", ".join(questions["knowledge_decoding"].dropna().unique())
    right = share_with(questions, "prior_correct", True).iloc[0]
    line = sentence("most answers from memory are right", *right[["share", "low", "high", "n"]], above=0.5)
    figure = _figure("knowledge categories", draw_categories(by_domain := categories_by_domain(questions)), by_domain)
    terms = render("terms", "knowledge", n_draws=n_draws, decoding=decoding, **results.bounds)
    return "What the model knows", [line], [figure], terms


def _confidence(questions: pd.DataFrame) -> _Section:
    confidence, right = questions["self_confidence"], questions["prior_correct"]
    area, error = auroc(confidence, right), ece(confidence, right)
    ranked = sentence("right answers are the more confident ones (AUROC)", *area, above=0.5)
    honest = sentence("confidence is close to a probability (calibration error; the bound is ours)", *error, below=0.1)
    kind = next(iter(questions["confidence_kind"].dropna()), "")
    terms = render("terms", "confidence", name=kind_called(kind or "missing"), meaning=CONFIDENCE_MEANINGS.get(kind))
    figure = _figure("reliability diagram", draw_reliability(curve := reliability_curve(confidence, right)), curve)
    return "Whether its confidence says so", [ranked, honest], [figure], terms


def _threshold(questions: pd.DataFrame, answers: Sequence[str], alpha: float, delta: float, tau: float) -> _Section:
    steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
    chosen, above, lines = thresholds.both_choices(questions, alpha, delta), steps.at(tau), [*answers]
    if above.n_above:
        needed = questions_for_width(above.precision.value, above.coverage.value, _WIDTH)
        lines.append(
            f"About {needed.n_questions:,} questions like these would be needed to know the share of right answers "
            f"above τ = {tau:.2f} to within an interval {_WIDTH:g} wide (here {above.n_questions:,})."
        )
    risks = risk_coverage(steps)
    figure = _figure("risk and coverage", thresholds.draw_risk_coverage(risks, chosen, alpha), risks)
    terms = render("terms", "threshold", alpha=f"{alpha:g}", delta=f"{delta:g}")
    return "The threshold", lines, [shown(thresholds.choices_table(chosen)), figure], terms


def _passages(records: pd.DataFrame, perturbed: Perturbed | None) -> _Section:
    share = thresholds.followed(records)
    lines: list[str] = [sentence("most false passages are followed", *share, above=0.5)]
    by_level = thresholds.passages_by_level(records)
    parts = [_figure("answers by level", thresholds.draw_passages(by_level), by_level)] if share.n else []
    if perturbed is not None:
        lines.append(f"{perturbed.sentence()}.")
        counts = (by_outcome(perturbed), by_reason(perturbed).head(_REASONS))
        parts += [shown(table) for table in counts if len(table)]
    return "What τ does not cover: false passages", lines, parts, render("terms", "passages")


def _debates(results: Results, alpha: float, delta: float, tau: float) -> _Section:
    rows, gate = rows_of_sr_dcr(results)
    false = rows[(rows["level"] != Level.STANDARD) & rows["verdict"].notna()]
    n_believed = int((false["verdict"] == Verdict.REASONABLE).sum())
    names = ("condition", "n", "use_context", "use_prior", "abstain", "coverage", "accuracy", "selective_accuracy")
    gated = decisions_by_condition(rows, tau, gate=gate)[[*names]]
    believed = f"{n_believed} of {len(false)} false passages were believed by the Judge: errors that τ does not bound."
    parts = [final_answers(rows, alpha, delta), shown(gated)]
    lines = [believed] if len(false) else []
    return "The answers that SR-DCR gives", lines, parts, render("terms", "debates", tau=f"{tau:.2f}")


def _figure(name: str, figure: Figure, table: pd.DataFrame) -> Html:
    """A figure as an image inside the page, with its numbers."""
    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    data = base64.b64encode(written.getvalue().encode()).decode()
    return render("parts", "picture", name=name, data=data, table=shown(table))


def framed(page: str) -> Html:
    """Show a page inside a notebook, in a frame that runs nothing.

    Parameters
    ----------
    page : str
        The page.

    Returns
    -------
    Html
        The frame.
    """
    return render("parts", "frame", page=str(page))
