"""What a model knows and how sure it is, made anew from recomputed records: the tables of notebooks 01 and 02.

The published help texts alone say: which subsets `categories_by_draws` takes, the Beta-binomial of `redraw_stability`,
the bins of `reliability_curve`, and DeLong's interval on the logit scale (`auroc`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import recompute_tables as tables
from scipy import stats
from scipy.special import expit, logit

CATEGORIES = ("HIGHLY_KNOWN", "MAYBE_KNOWN", "WEAKLY_KNOWN", "UNKNOWN")


def questions(ours: pd.DataFrame) -> pd.DataFrame:
    """One row per question; its confidence is of the kind that most rows have."""
    kind = ours.confidence_kind.mode()[0]
    rows = ours[ours.confidence_kind == kind].drop_duplicates("question_id")
    rows = rows.assign(highly=rows.knowledge_category == "HIGHLY_KNOWN")
    rows = rows.assign(prior_right=rows.prior_correct.fillna(False).astype(bool))
    return rows.astype({"sampled_accuracy": float, "self_confidence": float}).reset_index(drop=True)


# --- notebook 01 -----------------------------------------------------------------------------------------------------


def band(share: Any, bounds: tuple[float, float]) -> Any:
    """Place of each share in `CATEGORIES`."""
    return np.select([share >= bounds[0], share >= bounds[1], share > 0], [0, 1, 2], 3)


def categories(known: pd.DataFrame, bounds: tuple[float, float]) -> pd.DataFrame:
    """Share of each category in each domain and, where there are several, in all."""
    rows = []
    domains = list(known.groupby("domain", sort=False))
    for domain, of in [*domains, *[("all domains", known)][: len(domains) - 1]]:
        for name in CATEGORIES:
            k, n = int((of.knowledge_category == name).sum()), len(of)
            low, high = tables.jeffreys(k, n)
            row = {"domain": domain, "knowledge_category": name, "n_category": k, "n": n, "n_missing": 0}
            rows.append(row | {"share": k / n, "low": low, "high": high})
    return pd.DataFrame(rows)


def redraws(known: pd.DataFrame, bounds: tuple[float, float]) -> pd.DataFrame:
    """P(same category on as many new draws), which are Beta-binomial given the old ones."""
    rows = []
    for (share, n), of in known.groupby(["sampled_accuracy", "n_samples"]):
        k, again = round(share * n), np.arange(n + 1)
        same = band(again / n, bounds) == band(np.array([share]), bounds)
        stable = stats.betabinom.pmf(again, n, k + 0.5, n - k + 0.5)[same].sum()
        row = {"sampled_accuracy": share, "n_samples": n, "knowledge_category": of.knowledge_category.iloc[0]}
        rows.append(row | {"redraw_stability": stable, "n_questions": len(of)})
    return pd.DataFrame(rows)


def fewer_draws(known: pd.DataFrame, bounds: tuple[float, float]) -> pd.DataFrame:
    """Expected category of 4, 8 … 32 of the draws, without replacement, of the questions that have so many."""
    rows: list[dict[str, Any]] = []
    for size in range(4, 33, 4):
        some, again = known[known.n_samples >= size], np.arange(size + 1)
        place, chances = band(some.sampled_accuracy.to_numpy(), bounds), np.zeros((len(some), 4))
        for i, (share, n) in enumerate(zip(some.sampled_accuracy, some.n_samples, strict=True)):
            chance = stats.hypergeom.pmf(again, n, round(share * n), size)
            chances[i] = np.bincount(band(again / size, bounds), chance, 4)
        table = pd.DataFrame({"place": place, "agrees": chances[np.arange(len(some)), place]})
        for i, name in enumerate(CATEGORIES):
            agrees = table.agrees[table.place == i]
            row = {"size": size, "knowledge_category": name, "n": len(agrees), "agreement": agrees.mean()}
            rows.append(row | {"share": chances[:, i].mean() if len(some) else np.nan})
        whole = {"agreement": table.agrees.mean(), "share": 1.0 if len(some) else np.nan}
        rows.append({"size": size, "knowledge_category": "all", "n": len(some)} | whole)
    return pd.DataFrame(rows)


# --- notebook 02 -----------------------------------------------------------------------------------------------------


def bins(known: pd.DataFrame, width: float) -> pd.Series:
    return np.minimum((known.self_confidence / width + 1e-9).astype(int), round(1 / width) - 1)


def histogram(known: pd.DataFrame) -> pd.DataFrame:
    """Questions in bins of confidence of 0.05, by category."""
    sure = known[known.self_confidence.notna()]
    counts = sure.groupby([sure.knowledge_category, bins(sure, 0.05)]).size()
    rows = [(name, i * 0.05, counts.get((name, i), 0)) for name in CATEGORIES for i in range(20)]
    table = pd.DataFrame(rows, columns=["knowledge_category", "left", "n"])
    return table.assign(confidence_kind=known.confidence_kind[0], n_missing=len(known) - len(sure))


def precision(known: pd.DataFrame, at: Any = None) -> pd.DataFrame:
    """P(Highly-Known | Conf ≥ τ), and of a right prior answer, at every confidence, or at the τ of `at`."""
    rows = []
    for tau in sorted(known.self_confidence.dropna().unique(), reverse=True) if at is None else at:
        above = known[known.self_confidence >= tau]
        row: dict[str, Any] = {"tau": tau, "n_above": len(above), "coverage": len(above) / len(known)}
        row["n_target"], n_right = above.highly.sum(), above.prior_right.sum()
        row |= {"precision": row["n_target"] / len(above), "right": n_right / len(above)}
        row["low"], row["high"] = tables.jeffreys(row["n_target"], len(above))
        row["right_low"], row["right_high"] = tables.jeffreys(n_right, len(above))
        rows.append(row)
    kind, unsure = known.confidence_kind[0], known.self_confidence.isna().sum()
    return pd.DataFrame(rows).assign(confidence_kind=kind, n_missing=unsure)


def reliability(known: pd.DataFrame) -> pd.DataFrame:
    """Share of right prior answers in bins of confidence of 0.1."""
    sure, rows = known[known.self_confidence.notna()], []
    for i in range(10):
        of = sure[bins(sure, 0.1) == i]
        row: dict[str, Any] = {"left": i / 10, "n": len(of), "n_target": of.prior_right.sum()}
        row |= {"mean_confidence": of.self_confidence.mean(), "frequency": of.prior_right.mean()}
        if len(of):
            row["low"], row["high"] = tables.jeffreys(row["n_target"], len(of))
        rows.append(row)
    return pd.DataFrame(rows).assign(confidence_kind=known.confidence_kind[0])


def ece(known: pd.DataFrame) -> pd.DataFrame:
    """Mean distance of the bins of `reliability` from the diagonal, weighted by questions."""
    table = reliability(known)
    value = ((table.frequency - table.mean_confidence).abs() * table.n).sum() / table.n.sum()
    return pd.DataFrame({"confidence_kind": known.confidence_kind[:1], "value": value, "n": table.n.sum()})


def discrimination(known: pd.DataFrame) -> pd.DataFrame:
    """AUROC for two targets, with DeLong's interval on the logit scale and Student's t of the smaller class."""
    sure, rows = known[known.self_confidence.notna()], []
    for name, hit in (("Highly-Known", sure.highly), ("prior answer right", sure.prior_right)):
        yes, no = (sure.self_confidence[of].to_numpy() for of in (hit, ~hit))
        row: dict[str, Any] = {"target": name, "n": len(sure), "n_target": len(yes)}
        if len(yes) > 1 and len(no) > 1:
            wins = (yes[:, None] > no) + (yes[:, None] == no) / 2
            value = row["auroc"] = wins.mean()
            error = np.sqrt(wins.mean(axis=1).var(ddof=1) / len(yes) + wins.mean(axis=0).var(ddof=1) / len(no))
            if error:
                ends = stats.t.ppf(tables.BOUNDS, min(len(yes), len(no)) - 1) * error / (value * (1 - value))
                row["low"], row["high"] = expit(logit(value) + ends)
        rows.append(row)
    return pd.DataFrame(rows).assign(confidence_kind=known.confidence_kind[0])


def gating(ours: pd.DataFrame, taus: Any) -> pd.DataFrame:
    """What SR-DCR would decide and answer at other τ."""
    rows, debates = [], ours[ours.method == "sr_dcr"]
    believed = debates.verdict == "REASONABLE"
    for tau in taus:
        sure = debates.self_confidence.astype(float) >= tau - 1e-9  # a figure's table gives τ nine digits
        remembered = (debates.verdict == "UNREASONABLE") & sure
        answers = debates.context_correct.where(believed, debates.prior_correct.where(remembered, None))
        anew = debates.assign(correct=answers, missing=None)
        for half in ("standard", "perturbed"):
            of = tables.chosen(anew, half)
            row = {"tau": tau, "condition": half} | tables.summary_row(of)
            row |= {"use_context": believed[of.index].sum(), "use_prior": remembered[of.index].sum()}
            row |= {"abstain": len(of) - row["use_context"] - row["use_prior"]}
            rows.append(row | {"n_right": of.correct.fillna(False).sum()})
    return pd.DataFrame(rows)
