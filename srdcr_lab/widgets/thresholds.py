"""What a confidence threshold τ does in a domain: on sliders, and in a report to hand on.

`ConfidenceThreshold` moves τ itself; `DomainThresholds` moves the risk that is asked for, and shows the τ that attain
it. `domain_report` is a page of its own.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from srdcr_lab.data.perturbing import by_outcome, by_reason
from srdcr_lab.measures.calibration import ece, reliability_curve
from srdcr_lab.measures.gating import Gated, Gating
from srdcr_lab.measures.guarantee import FinalAnswerGuarantee
from srdcr_lab.measures.knowledge import categories_by_domain, highly_known
from srdcr_lab.measures.precision import PrecisionSteps, auroc, precision_steps, questions_for_width, risk_coverage
from srdcr_lab.measures.rule import HARD
from srdcr_lab.measures.thresholds import PAPER_TAU, SCOPE, ThresholdChoice, every_choice, recommended
from srdcr_lab.measures.verdicts import rates_by_kappa, with_kappa
from srdcr_lab.pages import Chart, Dot, Html, Label, Line, frame_table, html_table, interval, number, render
from srdcr_lab.plots.confidence import METHOD_NAMES, ReliabilityDisplay, RiskCoverageDisplay
from srdcr_lab.records import BadInput, Level, Verdict
from srdcr_lab.records.names import CATEGORY_LABELS, kind_called
from srdcr_lab.widgets.sliders import Menu, Slide, with_sliders

if TYPE_CHECKING:
    from ipywidgets import VBox

    from srdcr_lab.data import Perturbed
    from srdcr_lab.data.checks import Report
    from srdcr_lab.study import Results


ALL_DOMAINS = "all domains"
_BLUE, _GREY = "#0b3c5d", "#999"
_CHOICE_COLOURS = ("#0173b2", "#949494", "#029e73", "#de8f05")
_CONDITIONS = {"standard": "true", "perturbed": "false", "overall": "both (mean of the shares)"}
_POINTS = 200  # of a drawn curve, at most
_CURVES = Chart("precision and coverage against τ", 420, 150, (24, 24, 24, 24), ("", ""))
_RISK = Chart("risk against coverage", 190, 190, (34, 10, 16, 32), ("coverage", "risk"))
_RELIABILITY = Chart("reliability", 190, 190, (34, 10, 16, 32), ("self-confidence", "share right"))
_REASONS = 6  # why forms were refused or flagged, the commonest
_PLAN_WIDTH = 0.2  # of the interval that the report's plan for more questions aims at


@dataclass(frozen=True)
class ConfidenceThreshold:
    """Precision of Conf ≥ τ over questions, the rule over items, and both curves."""

    steps: PrecisionSteps
    gating: Gating
    curves: tuple[Line, ...]

    @classmethod
    def from_tables(cls, questions: pd.DataFrame, records: pd.DataFrame) -> ConfidenceThreshold:
        """From `Results.questions` and `Results.records`, which holds rows of the method sr_dcr."""
        steps = precision_steps(questions["self_confidence"], highly_known(questions))
        table = steps.frame(at_most=_POINTS).sort_values("tau")
        ends = np.repeat([0.0, *table["tau"]], 2)[1:-1]  # a value holds from the τ before up to and including its own
        curves = tuple(
            Line(list(zip(ends, np.repeat(table[name], 2), strict=True)), colour)
            for name, colour in (("coverage", _GREY), ("precision", _BLUE))
        )
        return cls(steps, Gating.from_records(records), curves)

    def html(self, tau: float) -> Html:
        """A sentence, the curves with τ in them, and the decisions by condition."""
        labels = (
            Label((0.02, 1), "■ P(Highly-Known | Conf ≥ τ)", (0, -10), style=f"fill: {_BLUE}"),
            Label((0.5, 1), "■ coverage", (0, -10), style=f"fill: {_GREY}"),
        )
        curves = _CURVES.svg(lines=[*self.curves, Line([(tau, 1), (tau, 0)], "currentColor", 1)], labels=labels)
        decisions = decisions_table(self.gating.at(tau))
        return render("sliders", "confidence", above=self.steps.at(tau), curves=curves, decisions=decisions)


def confidence_slider(questions: pd.DataFrame, records: pd.DataFrame, tau: float = 0.90, label: str = "") -> VBox:
    """A slider for τ, over `Results.questions` and `Results.records`."""
    view = ConfidenceThreshold.from_tables(questions, records)
    return with_sliders(view.html, {"tau": Slide("τ", tau)}, label)


class VerdictThreshold:
    """The judge's verdicts at a κ on P(UNREASONABLE), and the rule over items at κ and τ; of the records of one design,
    with rows of the method sr_dcr. What is the same for every τ is made once for each κ."""

    def __init__(self, records: pd.DataFrame) -> None:
        self.records = records
        self._seen: dict[float, tuple[Html, Gating]] = {}

    def html(self, kappa: float, tau: float) -> Html:
        """Both verdict rates at κ, of the debates with a probability, and the decisions by condition of all."""
        if kappa not in self._seen:
            rates = rates_by_kappa(self.records, (kappa,)).itertuples()
            rows = [(row.rate, row.n, interval(row.share, row.low, row.high)) for row in rates]
            table = html_table(("verdicts", "n", "share [95 %]"), rows)
            self._seen[kappa] = table, Gating.from_records(with_kappa(self.records, kappa))
        table, gating = self._seen[kappa]
        decisions = decisions_table(gating.at(tau))
        return render("sliders", "verdicts", rates=table, kappa=kappa, tau=tau, decisions=decisions)


def verdict_sliders(records: pd.DataFrame, tau: float = 0.90, label: str = "") -> VBox:
    """Sliders for κ and τ, over the records of one design."""
    slides = {"kappa": Slide("κ: UNREASONABLE from", HARD), "tau": Slide("τ: answer from memory from", tau)}
    return with_sliders(VerdictThreshold(records).html, slides, label)


def decisions_table(gated: Sequence[Gated]) -> Html:
    """What `Gating.at` gives, as an HTML table with a row per condition."""
    header = ("passages", "n", "USE_CONTEXT", "USE_PRIOR", "ABSTAIN", "coverage", "accuracy", "selective accuracy")
    rows = [
        [_CONDITIONS[part.condition], part.n, part.use_context, part.use_prior, part.abstain]
        + [number(share, ".3f") for share in (part.coverage, part.accuracy, part.selective_accuracy)]
        for part in gated
    ]
    table = html_table(header, rows, row_classes=[f"srdcr-{part.condition}" for part in gated])
    return render("sliders", "decisions", table=table, failed=gated[-1].n_error)


class Calibrated:
    """One confidence kind on the questions of one domain, and the rule on the items that were debated, with the
    confidence of these questions."""

    def __init__(self, questions: pd.DataFrame, debated: pd.DataFrame) -> None:
        self.steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
        confidence = questions.set_index("question_id")["self_confidence"].astype(float)
        rows = debated.assign(self_confidence=debated["question_id"].map(confidence).astype(float))
        self.gating = Gating.from_records(rows)
        curve = risk_coverage(self.steps, at_most=_POINTS)
        steps = zip(curve["coverage"].repeat(2)[1:], curve["risk"].repeat(2)[:-1], strict=True)
        self.risk = Line(list(steps), _BLUE)
        self.reliability = _reliability(questions)

    def html(self, alpha: float, delta: float) -> Html:
        """The choices, both pictures, and the decisions at the recommended τ (without one, the paper's)."""
        choices = every_choice(self.steps, alpha=alpha, delta=delta)
        chosen = recommended(choices).tau
        tau = PAPER_TAU if chosen is None else chosen
        dots = [
            Dot((choice.coverage, choice.risk), colour, 5, choice.guaranteed,
                f"{METHOD_NAMES[choice.method]}: τ = {choice.tau:.4g}")
            for choice, colour in zip(choices, _CHOICE_COLOURS, strict=True)
            if choice.n_above
        ]  # fmt: skip
        risk = _RISK.svg(lines=[self.risk, Line([(0, alpha), (1, alpha)], "#666", 1, dashed=True)], dots=dots)
        return render(
            "sliders", "thresholds", attained=chosen is not None, tau=tau, choices=choices_html(choices), risk=risk,
            reliability=self.reliability, decisions=decisions_table(self.gating.at(tau)),
        )  # fmt: skip


def _reliability(questions: pd.DataFrame) -> Html:
    """Share of right prior answers in ten bins of confidence, with 95 % intervals."""
    table = reliability_curve(questions["self_confidence"], questions["prior_correct"])
    bins = list(table[table["n"] > 0].itertuples())
    intervals = [Line([(row.mean_confidence, row.low), (row.mean_confidence, row.high)], _BLUE, 1) for row in bins]
    dots = [Dot((row.mean_confidence, row.frequency), _BLUE, 2.5, title=f"{row.n} questions") for row in bins]
    return _RELIABILITY.svg(lines=[Line([(0, 0), (1, 1)], _GREY, 1, dashed=True), *intervals], dots=dots)


@dataclass(frozen=True)
class DomainThresholds:
    """`Calibrated` for each kind and each domain; all of it in memory."""

    views: Mapping[tuple[str, str], Calibrated]
    kinds: tuple[str, ...]
    domains: tuple[str, ...]

    @classmethod
    def from_tables(cls, kinds: Mapping[str, pd.DataFrame], debated: pd.DataFrame) -> DomainThresholds:
        """From the questions table of each kind (`Results.questions`), and records with rows of sr_dcr."""
        first = next(iter(kinds.values()))
        names = tuple(map(str, dict.fromkeys(first["domain"])))
        domains = (ALL_DOMAINS, *names) if len(names) != 1 else names
        rows = debated[debated["method"] == "sr_dcr"]
        views = {
            (kind, domain): Calibrated(_of(questions, domain), _of(rows, domain))
            for kind, questions in kinds.items()
            for domain in domains
        }
        return cls(views, tuple(kinds), domains)

    def html(self, alpha: float, delta: float, kind: str, domain: str) -> Html:
        return self.views[kind, domain].html(alpha, delta)


def _of(table: pd.DataFrame, domain: str) -> pd.DataFrame:
    return table if domain == ALL_DOMAINS else table[table["domain"] == domain]


def choices_html(choices: Sequence[ThresholdChoice], label: str = "", *, scope: bool = True) -> Html:
    """Thresholds with their guarantee, one a row; below them what τ bounds at all (`scope`), and the label."""
    header = ("chosen", "τ", "above τ", "coverage", "wrong among them [95 %]", "what is guaranteed")
    rows = [
        (
            METHOD_NAMES[choice.method],
            number(choice.tau, ".4g"),
            f"{choice.n_above} of {choice.n}",
            f"{choice.coverage:.2f}" if choice.n else "–",
            interval(choice.risk, choice.low, choice.high),
            choice.guarantee,
        )
        for choice in choices
    ]
    return render("sliders", "choices", table=html_table(header, rows), scope=SCOPE if scope else "", label=label)


def threshold_controls(
    kinds: Mapping[str, pd.DataFrame], debated: pd.DataFrame, *, alpha: float = 0.1, delta: float = 0.1, label: str = ""
) -> VBox:
    """Controls over the questions of each confidence kind, and the records of the debates."""
    view = DomainThresholds.from_tables(kinds, debated)
    slides: dict[str, Slide | Menu] = {
        "alpha": Slide("α: risk at most", alpha, low=0.01, high=0.60),
        "delta": Slide("δ: may fail in a share of", delta, low=0.01, high=0.50),
        "kind": Menu("confidence", view.kinds),
        "domain": Menu("questions of", view.domains),
    }
    return with_sliders(view.html, slides, label)


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
        reliability=_figure("reliability diagram", ReliabilityDisplay.from_questions(questions)),
        choices=choices_html(choices, scope=False),
        risk=_figure("risk and coverage", RiskCoverageDisplay.from_steps(steps, choices), alpha=alpha),
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


def _figure(name: str, display: Any, **options: Any) -> Html:
    """What a display draws, as an image inside the page."""
    import matplotlib
    import matplotlib.pyplot as plt

    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        ax = display.plot(**options)
        ax.figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(ax.figure)
    return render("parts", "picture", name=name, data=base64.b64encode(written.getvalue().encode()).decode())


def framed(page: str, height: str = "36em") -> Html:
    """A page inside a notebook, in a frame that runs nothing."""
    return render("parts", "frame", page=str(page), height=height)
