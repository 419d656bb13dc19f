"""Recompute the numbers of data/studies/README.md and of README.md's table, with code that the package does not share.

    python tools/recompute_pages.py [REPLAYS] [--page data/studies/README.md] [--readme README.md] [--brief]

REPLAYS holds <study>/<part>/run and a store beside it, as `srdcr replay <study>/<part> --out REPLAYS/<study>/<part>`
writes them; without it, every shipped part is replayed first (minutes). Each part is made anew by `recompute.py` (one
line a part). From its records come the cells of the page's tables, which must agree to half a unit of the last digit
printed, and pieces of its sentences, which must stand on the page as they are. What has no rule here is printed,
numbers of the text that stand in no piece too.

Help texts alone say: the intervals of `matched_coverage` and `over_both`, weighted ranks (`by_percentile`), content
words (`later_turns`), near repeats (`says_again`) and clustered AUROCs (`auroc`). At matched coverage the influence
of an item is derived here: that on the accuracy of the most believed answers up to a coverage, where a change of
weights moves the cut, and the slope of that accuracy times the item's part in the error of the coverage. The accuracy
at the cut is that of the answers within 0.05 of the items on either side (`NEAR`; the help text of `Surest`).
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import recompute_figures as figures
import recompute_knowledge as knowledge
import recompute_tables as tables
from recompute import Ledger, audited
from recompute_replies import SHAPES, load, meaning, missing, read_verdict, right
from scipy import stats
from scipy.special import expit, logit

QWEN, SMOL = "qwen2.5-coder-1.5b", "smollm2-135m"
NAMES = {shown: name for shown, name in figures.SHOWN.items() if not shown.startswith("geometric")}
DESIGNS = {"ACVD": "acvd", "ACVD, fresh turns": "acvd_fresh", "Symmetric, fresh turns": "symmetric_fresh"}
DESIGNS |= {"One critique": "one_critique", "Judge alone": "judge_alone"}
NUMBER = r"(?<![\w.])[+−-]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)"
NEEDED = [(study, part) for study in ("pocket", QWEN, SMOL) for part in ("known", "debates")]
NEEDED += [(QWEN, f"seed_{seed}") for seed in range(3)] + [(SMOL, "judged")]
NEEDED += [(QWEN, part) for part in ("fresh", "judged", "symmetric", "years", "controls", "chains", "hops")]
NEEDED += [("elements", "known"), ("elements", "passages")]
NONE = [np.nan]  # a dash
FEW = 10  # with fewer nothing is said
NEAR = 0.05  # of the items, on either side of a cut
Cells = dict[str, list[Any]]
Parts = dict[tuple[str, str], SimpleNamespace]


def ends(value: float, low: float, high: float) -> list[float]:
    return NONE if np.isnan(value) else [value, low, high]


def say(value: float, low: float, high: float) -> str:
    """A number with its interval, as in the text."""
    return re.sub(r"-(0\.00\b)", r"\1", f"{value:.2f} [{low:.2f}, {high:.2f}]").replace("-", "−")


def called(method: str) -> str:
    return next((shown for shown, name in NAMES.items() if name == method), method)


def acvd(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows.design.fillna("acvd") == "acvd"]


def held(rows: pd.DataFrame, method: str, design: str | None = None) -> pd.DataFrame:
    return rows[(rows.method == method) & ((rows.design == design) if design else True)]


def scored(rows: pd.DataFrame) -> pd.Series:
    return rows.correct.fillna(False).astype(float)


def meanings(rows: pd.DataFrame) -> list[Any]:
    return [meaning(*each) for each in zip(rows.final_answer, rows.answer_type, strict=True)]


def plain(values: pd.Series, questions: pd.Series) -> tuple[float, float, float]:
    return tables.share(values.astype(float), questions, pd.Series(0, index=values.index))


# --- debates ---------------------------------------------------------------------------------------------------------


def same(answer: Any, other: Any, kind: str) -> bool | None:
    """Whether an answer equals another, by the rules for a gold answer."""
    if missing(other):
        return False
    return right(answer, {"answer_type": kind, "gold_answer": other, "aliases": [], "other_gold_answers": []})


def followed(rows: pd.DataFrame) -> pd.DataFrame:
    """Few-shot's answers to false passages whose claim is not the prior answer, and whether they are the claim."""
    of = rows[(rows.method == "few_shot") & (rows.level != "standard")].copy()
    for name, answer in (("is_prior", "prior_answer"), ("hit", "final_answer")):
        of[name] = [same(*each) for each in zip(of[answer], of.claimed_answer, of.answer_type, strict=True)]
    of = of[~of.is_prior.fillna(False).astype(bool) & of.hit.notna()]
    return of.assign(hit=of.hit.astype(float))


def later(turns: pd.DataFrame) -> pd.DataFrame:
    """Defender's and Critic's turns after their first, with what they repeat and take up."""
    rows: list[dict[str, Any]] = []
    turns = turns[turns.role.isin(["defender", "critic"]) & (turns.speaker != "asked again")]
    for _, debate in turns.sort_values("position").groupby(["item_id", "speaker"], sort=False):
        said: dict[str, list[str]] = {"defender": [], "critic": []}
        new: dict[str, set[str]] = {"defender": set(), "critic": set()}
        known: set[str] = set()
        for role, text in zip(debate.role, debate.text, strict=True):
            words = {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 4 or re.search(r"\d", word)}
            spelled = [re.findall(r"\w+", each.lower()) for each in (*said[role], text)]
            alike = [difflib.SequenceMatcher(None, each, spelled[-1], False).ratio() >= 0.9 for each in spelled[:-1]]
            row = {"role": role, "repeats": text in said[role], "nearly": any(alike)}
            row["addresses"] = bool(words & new["critic" if role == "defender" else "defender"])
            rows += [row] if said[role] else []
            new[role], known = words - known, known | words
            said[role].append(text)
    return pd.DataFrame(rows)


def changing(debates: pd.DataFrame) -> tuple[float, float, float, int]:
    """The share of debates of several verdicts in which it changes."""
    of = debates[debates.verdict_path.str.len() > 1]
    return *plain(of.verdict_path.map(lambda path: len(set(path) - {"?"}) > 1), of.question_id), len(of)


def rates(debates: pd.DataFrame) -> tuple[list[Any], list[Any]]:
    """True passages believed and false ones caught, with n; a dash where no ruling was read."""
    row, read = tables.summary_row(debates), (debates.verdict != "UNPARSED").any()
    names = [[f"verdict_{rate}{end}" for end in ("", "_low", "_high")] for rate in ("tpr", "tnr")]
    cells = [[row[name] for name in each] if read else NONE for each in names]
    return [*cells[0], row["verdict_tpr_n"]], [*cells[1], row["verdict_tnr_n"]]


def area(debates: pd.DataFrame) -> tuple[float, float, float]:
    """AUROC of P(UNREASONABLE) for false passages: DeLong's on the logit scale, with Student's t, by question."""
    of = debates[debates.p_unreasonable.notna() & (debates.verdict != "UNPARSED")]
    p, false = of.p_unreasonable.astype(float).to_numpy(), (of.level != "standard").to_numpy()
    if false.all() or not false.any():
        return np.nan, np.nan, np.nan
    wins = (p[false][:, None] > p[~false]) + (p[false][:, None] == p[~false]) / 2
    value, part = wins.mean(), np.zeros(len(of))
    question, rows = of.question_id.to_numpy(), np.arange(len(of))
    for side, axis in ((false, 1), (~false, 0)):
        part[rows[side]] = (wins.mean(axis=axis) - value) / np.sqrt(side.sum() * (side.sum() - 1))
    error = np.sqrt((pd.Series(part).groupby(question).sum() ** 2).sum())
    few = min(pd.Series(question[side]).nunique() for side in (false, ~false))
    low, high = expit(logit(value) + stats.t.ppf(tables.BOUNDS, few - 1) * error / (value * (1 - value)))
    return value, low, high


def reasonable(debates: pd.DataFrame) -> list[int]:
    """True passages called reasonable, all true ones, and the same of false ones."""
    halves = [debates[tables.halves(debates) == half] for half in ("standard", "perturbed")]
    return [n for of in halves for n in (int((of.verdict == "REASONABLE").sum()), len(of))]


def rightly(debates: pd.DataFrame) -> pd.Series:
    true = debates.level == "standard"
    return (debates.verdict == true.map({True: "REASONABLE", False: "UNREASONABLE"})).astype(float)


def against(rows: pd.DataFrame, first: str, other: str, condition: str = "overall", **how: Any) -> Any:
    """One comparison, with Holm's p over those with all others but golden."""
    return all_against(rows, first, condition, **how).loc[other]


def all_against(rows: pd.DataFrame, first: str, condition: str, **how: Any) -> pd.DataFrame:
    table = figures.comparisons(rows, first, **how)
    table = table[table.condition == condition].set_index("b")
    table["p_holm"], table["of"] = figures.holm(table.p_value.drop("golden", errors="ignore")), len(table)
    return table


def turned(lead: Any) -> tuple[float, float, float]:
    return -lead.difference, -lead.high, -lead.low


# --- what answers are worth ------------------------------------------------------------------------------------------


def weighted(values: pd.Series, rows: pd.DataFrame, weights: pd.DataFrame, difference: bool = False) -> Any:
    """The mean over all questions of the first pass, with its interval, and the means on true and on false passages."""
    category = rows.question_id.map(weights.set_index("question_id").knowledge_category)
    cell = category + " " + tables.halves(rows)
    share = weights.groupby("knowledge_category").share_first_pass.first()
    share = share[share.index.isin(category)] / share[share.index.isin(category)].sum()
    of = {name: share[name.split()[0]] / 2 for name in cell.unique()}
    bounds = (-1 if difference else 0, 1)
    low, high = tables.t_interval(values, rows.question_id, cell, of, bounds, difference=difference, groups=category)
    half = {half: sum(2 * of[name] * values[cell == name].mean() for name in of if name.endswith(half))
            for half in ("standard", "perturbed")}  # fmt: skip
    return (half["standard"] + half["perturbed"]) / 2, max(low, bounds[0]), min(high, 1.0), half


def weighted_right(rows: pd.DataFrame, weights: pd.DataFrame) -> pd.Series:
    """Right answers; calibrated token probability decides by the ranks of its confidences among all questions."""
    of = rows[rows.method == "calibrated_token_probability"]
    weight = of.question_id.map(weights.set_index("question_id").weight)
    once, outcome = ~of.question_id.duplicated(), scored(rows)

    def rank(values: pd.Series, kept: pd.Series) -> pd.Series:
        among, w = values[kept & values.notna()], weight[kept & values.notna()]
        ranks = [w[among < each].sum() + w[among == each].sum() / 2 if each == each else -1 for each in values]
        return pd.Series(ranks, index=values.index, dtype=float) / w.sum()

    prior = rank(of.self_confidence.astype(float), once) > rank(of.context_confidence.astype(float), once | True)
    outcome[of.index] = of.prior_correct.where(prior, of.context_correct).fillna(False).astype(float)
    return outcome


def changes_at(of_true: float, of_false: float) -> float:
    """The share of false passages at which a difference is 0: 0 or 1 where it is 0 on one half alone."""
    true, false = round(of_true, 12), round(of_false, 12)  # sums of weights leave less than that
    return abs(true / (true - false)) if true * false <= 0 and true != false else np.nan


def beliefs(rows: pd.DataFrame, records: pd.DataFrame) -> pd.Series:
    """The probability of the prior or context answer that a final answer equals, the larger one of both."""
    said = records[records.method == "token_probability"].set_index("item_id")
    found = []
    for item, kind, answer in zip(rows.item_id, rows.answer_type, rows.final_answer, strict=True):
        of = said.loc[item]
        pairs = ((of.prior_answer, of.self_confidence), (of.context_answer, of.context_confidence))
        # "Cusco, Peru" is Cusco, either way round
        alike = (p for each, p in pairs if same(answer, each, kind) or same(each, answer, kind))
        found.append(max(alike, default=-1))
    return pd.Series(found, index=rows.item_id, dtype=float).fillna(-1)


def matched(records: pd.DataFrame, a: str, b: str) -> list[float]:
    """The difference of accuracies of the most believed answers, as many as the method of lower coverage gives."""
    pair = [records[records.method == name].set_index("item_id", drop=False) for name in (a, b)]
    half, question = tables.halves(pair[0]), pair[0].question_id
    weight = 0.5 / half.map(half.value_counts())
    covers = [(weight * of.correct.notna()).sum() for of in pair]
    coverage, fewer = min(covers), pair[int(np.argmin(covers))]
    if not coverage:
        return NONE
    error = fewer.correct.notna() - coverage  # an item's part in that of the coverage
    (one, own), (other, its) = (most_believed(of, beliefs(of, records), weight, coverage, error) for of in pair)
    value = one - other
    bounds = (-1 - value) / coverage, (1 - value) / coverage
    of_half = {"standard": 0.5, "perturbed": 0.5}
    low, high = tables.t_interval(own - its, question, half, of_half, bounds, difference=True)
    return [value, max(-1, value + low), min(1, value + high)]


def most_believed(
    of: pd.DataFrame, belief: pd.Series, weight: pd.Series, coverage: float, error: pd.Series
) -> tuple[float, pd.Series]:
    """The accuracy A of the most believed answers that cover this share of the items, and what each item adds to it.

    With accuracy a at the cut, A changes by (right − a) / coverage for an item taken, for this moves the cut, and with
    the coverage by (a − A) / coverage.
    """
    given, right_ones, end, cut = of.correct.notna(), scored(of), 0.0, [0.0, 0.0]
    taken = pd.Series(0.0, index=of.index)
    for level in sorted(belief[given].unique(), reverse=True):
        tied = given & (belief == level)
        start, mass = end, weight[tied].sum()
        end += mass
        taken[tied] = np.clip((coverage - start) / mass, 0, 1)
        near = max(0.0, min(end, coverage + NEAR) - max(start, coverage - NEAR))
        cut = [cut[0] + near, cut[1] + near * (weight * right_ones)[tied].sum() / mass]
    value = (weight * taken * right_ones).sum() / coverage
    at_cut = cut[1] / cut[0] if coverage < end - 1e-9 else value  # where all answers are taken nothing moves
    own = taken * (right_ones - at_cut) / coverage - (value - at_cut)
    return value, own + (at_cut - value) / coverage * error


# --- the tables of the page ------------------------------------------------------------------------------------------


RIGHT_AREA = "AUROC of confidence for a right answer"


def model(parts: Parts, study: str, _: Any) -> Iterator[tuple[str, list[Any]]]:
    known = knowledge.questions(parts[study, "known"].records)
    k, few = int(known.highly.sum()), known.highly.sum() < FEW
    yield "Highly-Known questions", [k / len(known), *tables.jeffreys(k, len(known)), len(known)]
    of = knowledge.discrimination(known).iloc[0]
    yield "AUROC of confidence for Highly-Known", [*(NONE if few else [of.auroc, of.low, of.high]), of.n]
    of = knowledge.discrimination(known).iloc[1]
    yield RIGHT_AREA, [*(NONE if known.prior_right.sum() < FEW else [of.auroc, of.low, of.high]), of.n]
    of = knowledge.precision(known, [0.9]).iloc[0]
    yield r"P(Highly-Known \| Conf ≥ 0.9)", [*(NONE if few else [of.precision, of.low, of.high]), of.n_above]
    part = parts[study, "debates"]
    of, debates = followed(part.records), held(part.records, "sr_dcr", "acvd")
    yield "false passages followed, few-shot", [*plain(of.hit, of.question_id), len(of)]
    believed, caught = rates(debates)
    yield "true passages believed by the Judge", believed
    yield "false passages caught by the Judge", caught
    again = later(held(part.turns, "sr_dcr", "acvd"))
    for role in ("defender", "critic"):
        of = again[again.role == role].repeats
        yield f"{role.capitalize()}'s turns that repeat an earlier one", [of.mean(), len(of)]
    *share, n = changing(debates)
    yield "debates in which the verdict changes", [*(share if (debates.verdict != "UNPARSED").any() else NONE), n]


MEMORY = "From memory"


def answers(parts: Parts, study: str, weights: pd.DataFrame) -> Iterator[tuple[str, Cells]]:
    records = acvd(parts[study, "debates"].records)
    memory = records[records.method == "few_shot"].assign(method=MEMORY)
    memory = memory.assign(correct=memory.prior_correct, prompt_tokens=np.nan)  # it was not asked for alone
    records = pd.concat([records, memory], ignore_index=True)
    asked = pd.DataFrame([(m, c, 0.5) for m in records.method.unique() for c in (0, 1)])
    worth = figures.utility(records, asked.set_axis(["method", "cost", "false_share"], axis=1))
    worth, right_now = worth.set_index(["method", "cost"]), weighted_right(records, weights)
    for method, rows in records.groupby("method"):
        of, lossy = worth.loc[(method, 0)], worth.loc[(method, 1)]
        row = {"accuracy, all items": [of.utility, of.low, of.high], "coverage": [of.coverage]}
        selective = of.selective_accuracy, of.selective_accuracy_low, of.selective_accuracy_high
        row["accuracy of answers"] = ends(*selective)
        row["utility at cost 1"] = [lossy.utility, lossy.low, lossy.high] if of.n_answered else NONE
        tokens = (rows.prompt_tokens + rows.completion_tokens).astype(float).mean()
        row["accuracy per 1,000 tokens"] = NONE if method == MEMORY else [1000 * of.utility / tokens]
        row["accuracy, weighted to all questions"] = [*weighted(right_now[rows.index], rows, weights)[:3]]
        yield called(method), row


def differences(parts: Parts, study: str, weights: pd.DataFrame, pairs: Any) -> Iterator[tuple[str, Cells]]:
    records = acvd(parts[study, "debates"].records)
    right_now = weighted_right(records, weights)
    for shown in pairs:
        a, b = (NAMES[name] for name in shown.split(" − "))
        lead = against(records, a, b)
        row = {"accuracy, all items": [lead.difference, lead.low, lead.high]}
        row["at matched coverage"] = matched(records, a, b)
        one, other = (records[records.method == name].set_index("item_id") for name in (a, b))
        level = [scored(one).groupby(tables.halves(one)).mean() - scored(other).groupby(tables.halves(other)).mean()]
        now = [right_now[records.method == name].set_axis(of.index) for name, of in ((a, one), (b, other))]
        *row["weighted to all questions"], half = weighted(now[0] - now[1], one, weights, difference=True)
        answering = one.correct.notna().any() and other.correct.notna().any()
        places = [
            changes_at(*of[["standard", "perturbed"]]) if answering else np.nan for of in (*level, pd.Series(half))
        ]
        row["equal at this share of false passages"] = places
        yield shown, row


def heard(debates: pd.DataFrame) -> Cells:
    believed, caught = rates(debates)
    return {"true believed": believed, "false caught": caught, "AUROC of P(UNREASONABLE)": ends(*area(debates))}


def two_rounds(parts: Parts, study: str, _: Any) -> Iterator[tuple[str, Cells]]:
    debates, turns = (held(of, "sr_dcr") for of in (parts[study, "fresh"].records, parts[study, "fresh"].turns))
    for shown, design in DESIGNS.items():
        own = debates[debates.design == design]
        if not len(own):
            continue
        again = later(turns[turns.design == design]).groupby("role")[["nearly", "addresses"]].mean()
        row: Cells = {"calls an item": [own.calls_alone.mean()], "verdict changes": [changing(own)[0]]}
        for title, sign in (("nearly repeats", "nearly"), ("new word of the other", "addresses")):
            row[f"{title}: Defender, Critic"] = [again.loc[role, sign] for role in ("defender", "critic")]
        row |= heard(own)
        for what, outcome in (("verdicts", rightly(debates)), ("answers", scored(debates))):
            cell = NONE
            if design != "acvd":
                lead = against(debates, "acvd", design, column="design", outcome=outcome)
                cell = [*turned(lead), lead.p_holm]
            row[f"gain in right {what} over ACVD"] = cell
        yield shown, row


def over_both(runs: list[pd.DataFrame]) -> list[float]:
    """Accuracy of repeats together, with its interval over questions and repeats."""
    each = [
        tables.share(scored(rows), rows.question_id, tables.halves(rows))
        for rows in (pd.concat(runs, ignore_index=True), *runs)
    ]
    (value, low, high), alone = each[0], np.array(each[1:])
    k, wide, widths = len(runs), (high - low) ** 2, (alone[:, 2] - alone[:, 1]) ** 2
    noise = (widths.mean() - wide) * k / (k - 1)
    own = max(wide - noise / k, 0) / wide
    moved = stats.t.ppf(tables.BOUNDS[1], k - 1) ** 2 * alone[:, 0].var(ddof=1) / k
    halves = [np.sqrt(half**2 * own + moved) for half in (value - low, high - value)]
    return [value, max(0, value - halves[0]), min(1, value + halves[1])]


def seeds(parts: Parts, study: str, _: Any) -> Iterator[tuple[str, Cells]]:
    runs = [parts[study, f"seed_{seed}"].records for seed in range(3)]
    for method, design in runs[0][["method", "design"]].drop_duplicates().itertuples(index=False):
        of = [held(run, method, design) for run in runs]
        row = {f"accuracy, seed {seed}": [scored(rows).mean()] for seed, rows in enumerate(of)}
        row["accuracy, all seeds"] = over_both(of)
        said = [pd.Series(meanings(rows), rows.item_id, dtype=object).fillna("") for rows in of]
        differ = pd.concat(said, axis=1).map(str).nunique(axis=1) > 1
        row["items whose answer depends on the seed"] = [differ.sum(), len(differ)]
        yield called(method) + "".join(f" ({shown})" for shown, name in DESIGNS.items() if name == design), row


def judges(parts: Parts, study: str, _: Any) -> Iterator[tuple[str, Cells]]:
    judged = parts[study, "judged"]
    for part in [judged, *(parts[key] for key in [(study, "fresh")] if key in parts)]:
        rows = acvd(held(part.records, "sr_dcr"))
        rows = rows[rows.item_id.isin(judged.records.item_id)]
        read = [(rows.verdict != "UNPARSED").sum(), len(rows)]
        yield f"`{part.run['asked']['models']['judge']['name']}`", {"rulings read": read} | heard(rows)


def wording(parts: Parts, prompt: str, half: str) -> Cells:
    """One prompt's rulings, on the questions that choose a prompt or, with the κ of those, on the others."""
    name = prompt.replace(", ", "-").replace(" ", "_")
    first, part = (parts[QWEN, f"wordings/{name}-{number}"] for number in (1, 1 if half == "choose" else 2))
    debates = part.records
    judged = part.turns[part.turns.role == "judge"].sort_values("position")
    said = judged.groupby("item_id").text.first().str.strip()
    read = (debates.verdict != "UNPARSED").mean()
    cells: Cells = {"unread": [1 - read]}
    cells |= {f"only the word {word}": [(said == word).mean()] for word in ("REASONABLE", "UNREASONABLE")}
    cells |= {"true believed": [right_rulings(debates)[0]], "false caught": [right_rulings(debates)[1]]}
    cells["AUROC"] = ends(*area(debates)) if len(debates) * read >= FEW else NONE
    if half == "choose":
        return cells | {"true believed at κ": NONE, "false caught at κ": NONE}
    kappas = sorted(first.records.p_unreasonable.dropna().astype(float).unique())
    kappa = max(kappas, key=lambda each: sum(right_rulings(at(first.records, each))))
    believed, caught = right_rulings(at(debates, kappa))
    return cells | {"true believed at κ": [believed], "false caught at κ": [caught]}


def at_kappa(parts: Parts) -> Iterator[str]:
    """Our prompt and the chosen one, on the half of the questions that did not choose."""
    prompts = (f"{name}, UNREASONABLE first, reasons first" for name in ("ours", "paraphrase 1"))
    ours, chosen = (wording(parts, prompt, "report") for prompt in prompts)
    believed, caught = ([of[f"{what} at κ"][0] for of in (ours, chosen)] for what in ("true believed", "false caught"))
    yield (f"our prompt believes {believed[0]:.2f} of the true and catches {caught[0]:.2f} of the false passages of "
           f"the other half, and the chosen version {believed[1]:.2f} and {caught[1]:.2f}; as verdicts, both believe "
           f"{ours['true believed'][0]:.2f} and catch {ours['false caught'][0]:.2f}. "
           f"The AUROC is {say(*ours['AUROC'])} and {say(*chosen['AUROC'])}")  # fmt: skip


def at(debates: pd.DataFrame, kappa: float) -> pd.DataFrame:
    """The debates with the verdicts of P(UNREASONABLE) ≥ κ, where there is one."""
    says = (debates.p_unreasonable.astype(float) >= kappa).map({True: "UNREASONABLE", False: "REASONABLE"})
    return debates.assign(verdict=debates.verdict.where(debates.p_unreasonable.isna(), says))


def right_rulings(debates: pd.DataFrame) -> tuple[float, float]:
    """Shares of true passages believed and of false ones caught."""
    true = debates.level == "standard"
    return (debates.verdict[true] == "REASONABLE").mean(), (debates.verdict[~true] == "UNREASONABLE").mean()


RULES = {"method": answers, "difference": differences, "design, two rounds": two_rounds, "Judge": judges}


def page_tables(page: str) -> Iterator[list[list[str]]]:
    for table in re.findall(r"(?:^\|.*\n)+", page, re.M):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()]
        yield [rows[0], *rows[2:]]


def compare_cell(name: str, shown: str, ours: Any, ledger: Ledger) -> None:
    """The numbers of one cell, a dash being one that is missing."""
    found = re.findall(rf"–|{NUMBER}", shown)
    if ours is None or len(found) != len(ours):
        ledger.number(f"{name}: numbers in the cell", shown, ours and " ".join(f"{each:.3f}" for each in ours))
        return
    for place, (text, value) in enumerate(zip(found, ours, strict=True)):
        digits = len(text.partition(".")[2])
        theirs = np.nan if text == "–" else float(text.replace(",", "").replace("−", "-"))
        of = f"{name} [{place}]" if len(ours) > 1 else name
        ledger.number(of, theirs, float(value), 0.5 * 10.0**-digits + 1e-9)


def compare_tables(page: str, parts: Parts, weights: dict[str, pd.DataFrame], ledger: Ledger) -> None:
    for head, *rows in page_tables(page):
        if not head[0]:  # a column a model
            made = {name.strip("`"): dict(model(parts, name.strip("`"), None)) for name in head[1:]}
            for row in rows:
                for name, cell in zip(head[1:], row[1:], strict=True):
                    compare_cell(f"{row[0]} {name}", cell, made[name.strip("`")].get(row[0]), ledger)
            continue
        if head[0] == "prompt":
            for prompt, half, *cells in rows:
                rulings = wording(parts, prompt, half)
                for title, cell in zip(head[2:], cells, strict=True):
                    compare_cell(f"{prompt} ({half}) {title}", cell, rulings[title], ledger)
            continue
        rule: Any = RULES.get(head[1]) if "accuracy, seed 0" not in head else seeds
        if rule is None:
            ledger.leave_out(f"table of {head[0]}, {head[1]}, …", "no rule here", len(rows) * (len(head) - 2))
            continue
        for study in dict.fromkeys(row[0].strip("`") for row in rows):
            here = [row for row in rows if row[0].strip("`") == study]
            more = ([row[1] for row in here],) if rule is differences else ()
            of_study = dict(rule(parts, study, weights.get(study), *more))
            for row in here:
                ours = of_study.get(row[1], {})
                for title, cell in list(zip(head, row, strict=True))[2:]:
                    compare_cell(f"{study} {row[1]} {title}", cell, ours.get(title), ledger)


# --- the text --------------------------------------------------------------------------------------------------------


def categories(part: SimpleNamespace) -> str:
    known = knowledge.questions(part.records)
    counts = [int((known.knowledge_category == name).sum()) for name in knowledge.CATEGORIES]
    of = f" of {len(known)} questions are" if known.domain.nunique() > 2 else " questions are"
    return "{}{} Highly-Known, {} Maybe-, {} Weakly-Known, {} Unknown".format(counts[0], of, *counts[1:])


def passages(debates: pd.DataFrame, between: str = " and ") -> str:
    return "{} of {} true{}{} of {} false passages reasonable".format(*(n := reasonable(debates))[:2], between, *n[2:])


def years(part: SimpleNamespace) -> Iterator[str]:
    of = followed(part.records)
    of["offset"] = of.perturbation_value.astype(float)
    of["year"] = of.claimed_answer.map(lambda claim: meaning(claim, "year"))
    every = held(part.records, "few_shot")
    every = every.assign(
        hit=[bool(same(a, b, "year")) for a, b in zip(every.final_answer, every.claimed_answer, strict=True)]
    )
    shares = []
    for distance in (20, 100, 200):
        at = every[every.perturbation_value.astype(float).abs() == distance]
        shares.append(say(*plain(at.hit, at.question_id)))
    yield (
        f"{shares[0]} at 20 years, {shares[1]} at 100, {shares[2]} at 200 ({at.question_id.nunique()} "
        f"questions, {len(at)} claims each)"
    )
    of = of[of.level != "absurd"]
    pairs = of.assign(side=(of.year > 2026).map({True: "future", False: "past"}), distance=of.offset.abs())
    pairs["item_id"] = pairs.question_id + " " + pairs.distance.astype(str)
    pairs = pairs[pairs.groupby("item_id").side.transform("nunique") == 2].assign(level="false")
    lead = against(pairs, "future", "past", column="side", outcome=pairs.hit)
    yield (f"{lead.mean_a:.2f} and {lead.mean_b:.2f} of {lead.n} pairs ({lead.n_questions} questions; difference "
           f"{say(lead.difference, lead.low, lead.high)}")  # fmt: skip
    yield f"the slope is {say(*slope(of))} log-odds per 100 years"
    past = of[of.year <= 2026]
    rare = past.question_id[~past.hit.astype(bool)].nunique()
    yield f"{past.hit.sum():.0f} of {len(past)} past claims are followed, and {rare} questions have all the others"


def slope(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Of a logistic regression on the distance in 100 years, with a cluster-robust interval: of Student's t with K − 1
    degrees of freedom, its variance times K / (K − 1) · (n − 1) / (n − 2) for K questions and n answers."""
    x = np.column_stack([np.ones(len(rows)), rows.offset.abs() / 100])
    y, beta = rows.hit.to_numpy(), np.zeros(2)
    for _ in range(50):
        p = expit(x @ beta)
        bread = np.linalg.inv((x * (p * (1 - p))[:, None]).T @ x)
        beta = beta + bread @ x.T @ (y - p)
    scores = pd.DataFrame(x * (y - p)[:, None]).groupby(rows.question_id.to_numpy()).sum().to_numpy()
    k = len(scores)
    error = np.sqrt((bread @ scores.T @ scores @ bread)[1, 1] * k / (k - 1) * (len(x) - 1) / (len(x) - 2))
    low, high = beta[1] + stats.t.ppf(tables.BOUNDS, k - 1) * error
    return float(beta[1]), low, high


def qwen(parts: Parts, weights: pd.DataFrame) -> Iterator[str]:
    part = parts[QWEN, "debates"]
    records, debates = part.records, held(part.records, "sr_dcr")
    six, two = (debates[debates.design == design] for design in ("acvd", "two_answers"))
    n = reasonable(six)
    yield f"Qwen's Judge calls {n[2]} of {n[3]} false passages reasonable, and {n[0]} of {n[1]} true ones"
    yield categories(parts[QWEN, "known"])
    known = knowledge.questions(parts[QWEN, "known"].records).knowledge_category.value_counts()
    drawn = weights.knowledge_category.value_counts()
    chosen = [f"{drawn[name]} of {known[name]} {words}" for name, words in zip(
        knowledge.CATEGORIES, ("Highly-Known", "Maybe-Known", "Weakly-Known", "Unknown"), strict=True)]  # fmt: skip
    yield f"({', '.join(chosen)})"
    heaviest = known["UNKNOWN"] / known.sum()
    yield (
        f"One stratum, {drawn['UNKNOWN']} questions that are Unknown to Qwen, carries {100 * heaviest:.0f} % "
        f"of the weight"
    )
    of = followed(records)
    yield f"Few-shot follows {of.hit.sum():.0f} of the {len(of)} false passages whose claim differs"
    yield from years(parts[QWEN, "years"])
    yield f"The Judge of the debates calls {passages(six)}"
    areas = {design: say(*area(rows)) for design, rows in debates.groupby("design")}
    yield (f"(AUROC {areas['acvd']}; without a debate (`judge_alone`) {areas['judge_alone']}; from the two "
           f"answers alone "
           f"(`two_answers`) {areas['two_answers']})")  # fmt: skip
    yield f"calls {passages(held(parts[QWEN, 'symmetric'].records, 'sr_dcr'))}"
    took = (six.decision == "USE_CONTEXT").sum()
    yield f"took the passage's answer for {took} of {len(six)} items, and the answer from memory for none"
    turns = held(part.turns, "sr_dcr", "acvd")
    again, texts = later(turns).groupby("role").repeats.mean(), turns.groupby(["item_id", "role"]).text.nunique()
    texts = texts.groupby("role").mean()
    yield (f"{again['defender']:.2f} of the Defender's and {again['critic']:.2f} of the Critic's turns repeat "
           f"one of their "
           f"own earlier turns word for word ({texts['defender']:.1f} and {texts['critic']:.1f} distinct texts "
           f"per debate). "
           f"The verdict changes in {changing(six)[0]:.2f} of the debates")  # fmt: skip
    yield f"rules Reasonable in {(six.verdict == 'REASONABLE').sum()} of {len(six)}"
    yield from fresh(parts)
    caught, believed = (
        [tables.summary_row(rows)[name] for rows in (two, six)] for name in ("verdict_tnr", "verdict_tpr")
    )
    yield f"it catches {caught[0]:.2f} of the false passages, with them {caught[1]:.2f}"
    yield f"it believes {believed[0]:.2f} and {believed[1]:.2f} of the true ones"
    lead = against(debates, "acvd", "two_answers", column="design", outcome=rightly(debates))
    yield (f"right in {lead.mean_b:.2f} of the cases, against {lead.mean_a:.2f}, with unread rulings counted as wrong "
           f"(difference {say(*turned(lead))}, Holm p = {lead.p_holm:.3f}")  # fmt: skip
    read = debates[debates.verdict != "UNPARSED"]
    lead = against(read, "acvd", "two_answers", column="design", outcome=rightly(read))
    gap = [of.set_index("item_id") for of in (two, six)]
    more = [weighted(outcome(gap[i]) - outcome(gap[1 - i]), gap[0].loc[gap[1].index], weights, True)[:3]
            for outcome, i in ((rightly, 0), (scored, 1))]  # fmt: skip
    yield (f"over the {lead.n} items with both rulings read {say(*turned(lead))}, Holm p = {lead.p_holm:.2f}; "
           f"weighted to all questions {say(*more[0])})")  # fmt: skip
    yield (f"{scored(two).mean():.2f} with the two answers alone (coverage {two.correct.notna().mean():.2f}) and "
           f"{scored(six).mean():.2f} with the debate ({six.correct.notna().mean():.2f}); weighted to all questions, "
           f"the difference of {say(*more[1])} for the debate")  # fmt: skip
    yield from controls(parts[QWEN, "controls"])
    yield from few_shot_beaten(acvd(records))
    yield from chains(parts)
    rival = "Calibrated Token Probability − Few-Shot"
    of = dict(differences(parts, QWEN, weights, [rival]))[rival]
    yield f"no lead over few-shot is shown ({say(*of['weighted to all questions'])})"
    firsts = turns[(turns.role == "judge")].sort_values("position").drop_duplicates(["item_id", "round"])
    read_first = firsts.text.map(lambda text: read_verdict(text) != "UNPARSED")
    yield f"{read_first.sum()} of {len(firsts)} rulings of debates have the required line at the first attempt"
    changed = [row["items whose answer depends on the seed"] for _, row in seeds(parts, QWEN, None)]
    yield (f"change the final answer on {changed[0][0]} of {changed[0][1]} items with few-shot, on "
           f"{changed[1][0]} with "
           f"SR-DCR after two rounds, on {changed[2][0]} after one critique")  # fmt: skip
    right_in = [row[f"accuracy, seed {seed}"][0] for _, row in seeds(parts, QWEN, None) for seed in range(3)]
    yield f"Accuracy stays between {min(right_in):.2f} and {max(right_in):.2f} in all nine runs"
    if any(part.startswith("wordings/") for _, part in parts):
        yield from at_kappa(parts)


def fresh(parts: Parts) -> Iterator[str]:
    debates, turns = (held(of, "sr_dcr") for of in (parts[QWEN, "fresh"].records, parts[QWEN, "fresh"].turns))
    n: dict[str, Any] = {}
    areas, again, calls = dict(n), dict(n), dict(n)
    for design, of in debates.groupby("design"):
        n[design], areas[design], calls[design] = reasonable(of), say(*area(of)), of.calls_alone.mean()
        again[design] = later(turns[turns.design == design]).groupby("role")[["nearly", "addresses"]].mean()
    old, new, both = "acvd", "acvd_fresh", "symmetric_fresh"
    near, word = ({role: [again[design].loc[role, sign] for design in (old, new)] for role in ("defender", "critic")}
                  for sign in ("nearly", "addresses"))  # fmt: skip
    yield ("Near repeats fall from {:.2f} to {:.2f} (Defender) and from {:.2f} to {:.2f} (Critic) of the later "
           "turns, for "
           "{:.1f} calls an item instead of "
           "{:.1f}").format(*near["defender"], *near["critic"], calls[new], calls[old])  # fmt: skip
    yield (f"calls {n[old][0]} of {n[old][1]} true and {n[old][2]} of {n[old][3]} false passages reasonable in "
           f"plain ACVD, "
           f"{n[new][0]} and {n[new][2]} with fresh turns, {n[both][0]} and {n[both][2]} if the Critic also "
           f"sees the passage")  # fmt: skip
    yield ("takes up a new word of the Critic in {1:.2f} of its later turns ({0:.2f} in plain ACVD), the Critic "
           "one of the "
           "Defender in {3:.2f} ({2:.2f})").format(*word["defender"], *word["critic"])  # fmt: skip
    yield (
        f"AUROC {areas[old]} in plain ACVD, {areas[new]} with fresh turns, {areas[both]} if the Critic also "
        f"sees the passage"
    )
    of = held(parts[SMOL, "judged"].records, "sr_dcr")
    counts = [half.verdict.value_counts() for half in (of[of.level == "standard"], of[of.level != "standard"])]
    for each in counts:
        yield (f"{each.get('REASONABLE', 0)} of {each.sum()} reasonable, {each.get('UNREASONABLE', 0)} unreasonable, "
               f"{each.get('UNPARSED', 0)} unread")  # fmt: skip
    yield "rejects {} of {} true and {} of {} false passages".format(
        *(each for of in counts for each in (of.get("UNREASONABLE", 0), of.sum())))  # fmt: skip
    yield f"no gain in telling the passages apart is shown (AUROC {say(*area(of))})"


def controls(part: SimpleNamespace) -> Iterator[str]:
    given = {method: rows.set_index("item_id") for method, rows in part.records.groupby("method") if method != "sr_dcr"}
    said = {method: meanings(rows) for method, rows in given.items()}
    alike = {name: sum(a == b for a, b in zip(said[name], said["few_shot"], strict=True)) for name in said}
    warned = given["few_shot_warned"]
    false = scored(warned[warned.level != "standard"])
    yield (f"the same answer to all {alike['few_shot_warned']} items as without the warning: {false.sum():.0f} of "
           f"{len(false)} right on false passages")  # fmt: skip
    yield f"(`vote_20`) is the same answer to all {alike['vote_20']} items, too"
    debates = held(part.records, "sr_dcr")
    of = dict(list(debates.groupby("design")))
    six = reasonable(of["acvd"])
    yield f"the Judge calls {passages(of['one_critique'])}, after six rounds {six[0]} and {six[2]}"
    leads = [against(debates, "acvd", design, column="design") for design in ("one_critique", "judge_alone")]
    gaps = [say(lead.difference, lead.low, lead.high) for lead in leads]
    mean = {design: scored(rows).mean() for design, rows in of.items()}
    yield (f"{mean['acvd']:.2f} with the debate, {mean['one_critique']:.2f} with one critique (difference {gaps[0]}), "
           f"{mean['judge_alone']:.2f} with the Judge alone ({gaps[1]})")  # fmt: skip


def few_shot_beaten(records: pd.DataFrame) -> Iterator[str]:
    """Differences between the two methods that lead and few-shot, by condition."""
    calibrated, sure = "calibrated_token_probability", "confidence_only"
    of = {condition: [against(records, "few_shot", name, condition) for name in (calibrated, sure)]
          for condition in figures.HALVES}  # fmt: skip
    gap = {condition: [say(*turned(lead)) for lead in leads] for condition, leads in of.items()}
    p = {
        condition: ["p < 0.001" if lead.p_holm < 0.001 else f"p = {lead.p_holm:.3f}" for lead in leads]
        for condition, leads in of.items()
    }
    yield (
        f"leads by +{gap['perturbed'][0]} ({p['perturbed'][0]}), Confidence Only by +{gap['perturbed'][1]} "
        f"({p['perturbed'][1]})"
    )
    yield f"overall they lead by +{gap['overall'][0]} ({p['overall'][0]}) and +{gap['overall'][1]} ({p['overall'][1]})"
    yield f"On true passages the differences are {gap['standard'][0]} and {gap['standard'][1]}"
    rest = pd.concat(all_against(records, "few_shot", condition) for condition in figures.HALVES)
    rest = rest.drop([calibrated, sure, "golden"])
    least, most = (f"{-end:+.2f}".replace("-", "−") for end in rest.difference.agg(["max", "min"]))
    yield f"lies between {least} and {most} and is inconclusive (Holm p at least {rest.p_holm.min():.2f})"
    half = {}
    for condition in figures.HALVES:
        every = all_against(records, "few_shot", condition).drop("golden")
        half[condition] = " to ".join(f"{end:.2f}" for end in ((every.high - every.low) / 2).agg(["min", "max"]))
    yield f"half-widths of {half['overall']} overall and of {half['perturbed']} on false passages"


def takes_side(stated: Any, side: str, kind: str) -> bool:
    """Whether a turn states its side; of a name the last word will do, alone or with the first one."""
    if kind != "name" or missing(stated):
        return bool(same(stated, side, kind))
    said, given = (meaning(each, kind).split() for each in (stated, side))
    shorter = min(len(said), len(given))
    return said == given or (said[-1] == given[-1] and (shorter == 1 or (shorter == 2 and said[0] == given[0])))


def formats(part: SimpleNamespace) -> tuple[list[float], list[float], pd.Series]:
    """How many answers of a method could be read; how many turns of Defender and Critic keep to their side (an unread
    answer keeps to none); the words of each of their turns."""
    read = [1 - held(part.records, name).missing.isin(["unparsed", "error"]).mean() for name in ("self_ask", "rci")]
    turns = held(part.turns, "sr_dcr", "acvd")
    turns = turns[turns.role.isin(["defender", "critic"])]
    kinds = turns.item_id.map(lambda item: part.items[item]["answer_type"])
    kept = pd.Series([takes_side(*each) for each in zip(turns.ours, turns.stance, kinds, strict=True)], turns.index)
    values = {kind: rf"(?:{SHAPES[kind]})(?: \D+)?" for kind in ("year", "number", "date")}  # "29 feet" too
    values["name"] = r"(?!.*\w{3}\. \w).+"  # and no story
    given = [bool(re.fullmatch(values.get(kind, ".+"), side)) for side, kind in zip(turns.stance, kinds, strict=True)]
    kept = kept[given]  # "1924" is no side where a day is asked for
    sides = [kept[turns.role[kept.index] == role].mean() for role in ("defender", "critic")]
    return read, sides, turns.text.str.split().str.len()


def in_format(parts: Parts) -> Iterator[str]:
    read, sides, words = formats(parts[QWEN, "debates"])
    fits = words.between(20, 120)
    yield f"{read[0]:.2f} of self-ask's and {read[1]:.2f} of RCI's"
    yield f"keep to their side in {sides[0]:.2f} (Defender) and {sides[1]:.2f} (Critic) of turns (target"
    yield f"{fits.mean():.2f} of their turns have 20 to 120 words. Of the other {(~fits).sum()} turns"
    yield f"too short and {(words > 120).sum()} too long"
    _, sides, words = formats(parts[SMOL, "debates"])
    fit = words.between(20, 120).mean()
    yield f"in {sides[0]:.2f} (Defender) and {sides[1]:.2f} (Critic) of turns, and {fit:.2f} of their turns have"
    judged = parts[SMOL, "debates"].turns
    judged = judged[(judged.method == "sr_dcr") & (judged.role == "judge")]
    asked = judged.drop_duplicates(["item_id", "design", "round"]).design.eq("acvd")
    yield f"None of the {asked.sum()} rulings, and none of the {(~asked).sum()} rulings without a debate"


def hops_of(part: SimpleNamespace) -> pd.DataFrame:
    """What SR-DCR did at each hop of each chain, under each design."""
    rows: list[dict[str, Any]] = []
    turns = held(part.turns, "sr_dcr_per_hop").sort_values("position")
    for (item, design), of in turns.groupby(["item_id", "design"], sort=False):
        hops, on_path = part.items[item]["hops"], True
        false = next((place for place, hop in enumerate(hops, 1) if hop["level"] != "standard"), 0)
        for place, hop in enumerate(hops, 1):
            here = of[of.speaker == f"hop-{place}"]
            if len(here):
                ruled, answer = here[here.ruled.notna()], here.ours.iloc[-1]
                row = {"item_id": item, "question_id": part.items[item]["question_id"], "design": design, "hop": place}
                row |= {"n_hops": len(hops), "false_hop": false, "on_path": on_path}
                row |= {"verdict": ruled.ruled.iloc[-1], "p": ruled.chance.iloc[-1]} if len(ruled) else {}
                rows.append(row)
                on_path = on_path and bool(right(answer, hop))
    return pd.DataFrame(rows)


def chains(parts: Parts) -> Iterator[str]:
    part = parts[QWEN, "chains"]
    hops = hops_of(part)
    out = hops.verdict == "UNREASONABLE"
    lying = hops[hops.false_hop > 0].drop_duplicates(["item_id", "design"])
    of = lying[lying.design == "acvd"]
    n, first = len(of), hops[out & (hops.design == "acvd")].groupby("item_id").hop.min()
    first = of.item_id.map(first)
    found, none = (first == of.false_hop).sum(), first.isna().sum()
    yield (
        f"is the false one in {found} of {n} chains and a true one in {n - found - none}; in the other {none} it rules "
        "out none"
    )
    by_chance = (1 / of.n_hops).where(first.notna(), 0.0)
    gain = (first == of.false_hop) - by_chance
    interval = tables.t_interval(gain, of.question_id, gain * 0, {0: 1.0}, (-1, 1), difference=True)
    difference = say(gain.mean(), *interval)
    yield f"as many hops ruled out at random ({by_chance.sum():.1f} chains; difference {difference})"
    graded = hops[(hops.false_hop > 0) & hops.p.notna() & hops.on_path].astype({"p": float})
    graded = graded[graded.groupby(["item_id", "design"]).p.transform("size") > 1]
    honest = hops[(hops.false_hop == 0) & hops.p.notna() & hops.on_path].set_index(["design", "question_id", "hop"]).p
    places = pd.MultiIndex.from_frame(graded[["design", "question_id", "hop"]])
    graded["q"] = honest.reindex(places).fillna(1.0).to_numpy(float)  # P where all passages are true

    def leading(chains: list[pd.DataFrame], grade: str) -> pd.Series:
        hits = [(of.hop == of.false_hop)[of[grade] == of[grade].max()].mean() for of in chains]
        return pd.Series(hits, dtype=float)

    debated = [of for _, of in graded[graded.design == "acvd"].groupby("item_id", sort=False)]
    yield f"with all passages true (after the debate {leading(debated, 'q').mean():.2f})"
    for design in ("acvd", "one_critique", "judge_alone"):
        told = hops[(hops.design == design) & hops.on_path & hops.verdict.notna()]
        told = told[~(told.assign(false=told.hop == told.false_hop)[["question_id", "hop", "false"]].duplicated())]
        false = told.hop == told.false_hop
        counts = [n for of in (told[false], told[~false]) for n in ((of.verdict == "UNREASONABLE").sum(), len(of))]
        yield "{} of {} false and {} of {} true passages".format(*counts)
        own = [of for _, of in graded[graded.design == design].groupby("item_id", sort=False)]
        hit = leading(own, "p")
        gain, whose = hit - leading(own, "q"), pd.Series([of.question_id.iloc[0] for of in own])
        more = say(gain.mean(), *tables.t_interval(gain, whose, gain * 0, {0: 1.0}, (-1, 1), difference=True))
        value = say(*plain(hit, whose))
        yield f"{value} of {len(own)} chains, difference {more}"
    records = part.records
    for condition, words in (("perturbed", "With one false passage"), ("standard", "with all passages true")):
        of = tables.chosen(records, condition)
        reader = held(of, "few_shot")
        counts = [scored(held(of, *which)).sum() for which in
                  (("few_shot",), ("sr_dcr_per_hop", "acvd"), ("few_shot_per_hop",))]  # fmt: skip
        memory = reader.prior_correct.fillna(False).astype(bool).sum()
        yield (f"{words}, few-shot over all passages is right on {counts[0]:.0f} of the {n} chains, the answer "
               f"from memory on {memory}, SR-DCR hop by hop on {counts[1]:.0f} and few-shot hop by hop on "
               f"{counts[2]:.0f}")  # fmt: skip
    named = records.assign(variant=records.method + (" " + records.design).fillna(""))
    for name, link in (("sr_dcr_per_hop acvd", True), ("few_shot_per_hop", False)):
        lead = against(named, "few_shot", name, column="variant")
        family = f" over {lead['of']} comparisons" if link else ""
        yield f"by {say(lead.difference, lead.low, lead.high)} (Holm p = {lead.p_holm:.3f}{family})"
    yield f"ask {parts[QWEN, 'hops'].records.question_id.nunique()} different questions"
    # debate_only_per_hop keeps copies of the same debates, which are not counted twice
    turns = part.turns[(part.turns.design == "acvd") & ~part.turns.method.str.startswith("debate_only")]
    again = sum(
        later(held(turns, method)).groupby("role").nearly.agg(["sum", "size"]) for method in turns.method.unique()
    )
    repeats, (n, of) = again["sum"], again["size"][["defender", "critic"]]
    yield (
        f"{repeats['defender']} of the Defender's and {repeats['critic']} of the Critic's later turns nearly repeat an "
        f"earlier one, of {n} and {of}"
    )


def in_brief(parts: Parts, weights: dict[str, pd.DataFrame]) -> Iterator[str]:
    """The table of README.md, and what it says of Qwen's Judge."""
    pocket, large, small = ("pocket", QWEN, SMOL)
    first = {study: dict(model(parts, study, None)) for study in (pocket, large, small)}
    ranked, sure = ([first[study][name] for study in (pocket, large)] for name in
                    (RIGHT_AREA, r"P(Highly-Known \| Conf ≥ 0.9)"))  # fmt: skip
    highly = [first[study]["AUROC of confidence for Highly-Known"][0] for study in (pocket, large)]
    yield (f"`pocket` {say(*ranked[0][:3])}, Qwen2.5-Coder-1.5B {say(*ranked[1][:3])} ({ranked[0][3]} and "
           f"{ranked[1][3]} questions); for Highly-Known {highly[0]:.2f} and {highly[1]:.2f}")  # fmt: skip
    yield f"Highly-Known are: `pocket` {say(*sure[0][:3])} (of {sure[0][3]}), Qwen {say(*sure[1][:3])} ({sure[1][3]})"
    follow = {study: first[study]["false passages followed, few-shot"] for study in first}
    shares = [f"{100 * follow[study][0]:.0f} %" for study in (large, pocket, small)]
    yield (f"of {follow[large][3]} false claims that differ from its answer from memory, Qwen follows "
           f"{shares[0]}, `pocket` {shares[1]}, SmolLM2 {shares[2]}")  # fmt: skip
    gain, sole = "SR-DCR − Few-Shot", "SR-DCR − Confidence Only"
    of = {study: dict(differences(parts, study, weights[study], [gain, sole])) for study in (pocket, large)}
    whole, level, again = "accuracy, all items", "at matched coverage", "weighted to all questions"

    def plus(numbers: list[float], sign: int = 1) -> str:
        value, *both = (sign * each for each in numbers)
        return say(value, *sorted(both))

    yield f"{plus(of[large][gain][whole])} for Qwen, +{plus(of[pocket][gain][whole])} for `pocket`"
    yield (f"At equal coverage (by token probability): Qwen {plus(of[large][gain][level])}, "
           f"`pocket` +{plus(of[pocket][gain][level])}")  # fmt: skip
    yield f"For Qwen, by {plus(of[large][sole][whole], -1)}"
    right = [dict(answers(parts, study, weights[study])) for study in (pocket, large)]
    memory, debated = ([rows[name]["accuracy, all items"][0] for rows in right] for name in (MEMORY, "SR-DCR"))
    of_all = right[1][MEMORY]["accuracy, weighted to all questions"][0]
    yield (f"Memory alone: `pocket` {memory[0]:.2f}, Qwen {memory[1]:.2f} (weighted to all 300 questions "
           f"{of_all:.2f}); SR-DCR {debated[0]:.2f} and {debated[1]:.2f}")  # fmt: skip
    asked = pd.DataFrame({"method": ["few_shot", "sr_dcr"], "cost": 0, "false_share": 0.1})
    rare = figures.utility(acvd(parts[pocket, "debates"].records), asked).set_index("method").utility
    yield f"`pocket` would score {rare['few_shot']:.2f} with few-shot, {rare['sr_dcr']:.2f} with SR-DCR"
    yield f"weighted to all 300 questions, by {plus(of[large][sole][again], -1)}"
    yield f"if a missing answer counts as wrong: {plus(of[pocket][sole][whole], -1)}"
    yield f"at equal coverage inconclusive: {plus(of[pocket][sole][level], -1)}"
    n = reasonable(held(parts[QWEN, "debates"].records, "sr_dcr", "acvd"))
    yield f"Qwen's Judge accepts nearly all passages ({n[0]} of {n[1]} true, {n[2]} of {n[3]} false)"


def elsewhere(replies: pd.DataFrame) -> str:
    """What twenty models of others answer at a confidence of 0.90."""
    said = []
    for kind in ("stated_confidence", "token_probability"):
        above = replies[replies.answered & (replies[kind] >= 0.9)].groupby("model").right.mean()
        for shares in (above, above.drop("Gemma 3 1B")):
            said.append("{:.0f} to {:.0f} %".format(*(100 * shares.agg(["min", "max"]))))
    return (f"of the answers with a *stated* confidence ≥ 0.90, {said[0]} are right, by model; with the whole reply's "
            f"token probabilities {said[2]}; without the smallest model {said[1]} and {said[3]}")  # fmt: skip


def smaller(parts: Parts, weights: pd.DataFrame) -> Iterator[str]:
    """Of the elements and of SmolLM2."""
    known = knowledge.questions(parts["elements", "known"].records)
    yield categories(parts["elements", "known"])
    n = {domain: (int(of.highly.sum()), len(of)) for domain, of in known.groupby("domain")}
    yield (
        "{} of the Highly-Known are atomic numbers (of {}), {} discovery years (of {})".format(
            *n["atomic numbers"], *n["discovery years"]
        )
    )
    of = knowledge.discrimination(known).set_index("target").loc["prior answer right"]
    yield f"AUROC {say(of.auroc, of.low, of.high)}"
    above = [known[known.self_confidence >= tau].prior_right for tau in (0.8, 0.9)]
    wrong = [f"{(~each).sum()} of {len(each)}" for each in above]
    yield f"{wrong[0]} are wrong), and, separately, at 0.1 above τ = 0.9 ({wrong[1]})"
    for study, part in (("elements", "passages"), (SMOL, "debates")):
        records = parts[study, part].records
        rows = held(records, "few_shot")
        true, false = (scored(rows[(rows.level == "standard") == chosen]) for chosen in (True, False))
        of = followed(records)
        if study == "elements":
            yield (f"right on all {true.sum():.0f} true passages and on {false.sum():.0f} of the {len(false)} "
                   f"false ones; it repeats the claim of {of.hit.sum():.0f} of {len(of)} false passages")  # fmt: skip
            continue
        yield categories(parts[SMOL, "known"])
        yield (f"right on {true.mean():.2f} of the true and on {false.mean():.2f} of the false passages, and follows "
               f"{of.hit.sum():.0f} of {len(of)} false ones")  # fmt: skip
        gains = all_against(acvd(records), "few_shot", "perturbed").drop("golden")
        most = gains.loc[gains.difference.idxmin()]
        worth = dict(answers(parts, SMOL, weights))["Few-Shot"]["utility at cost 1"]
        yield f"never answering has utility 0 and few-shot {say(*worth)}"
        yield f"on false passages the largest gain is {-most.difference:+.2f} (Holm p = {most.p_holm:.2f})"


def compare_text(page: str, pieces: Iterator[str], ledger: Ledger) -> str:
    """Whether every piece stands in the text; what is left of the text without them."""
    left = text = re.sub(r"\s+", " ", page)
    for piece in pieces:
        shape = re.sub(r"(?:\\[+-]|[+−])?\d[\d.,\\]*\d|\d", lambda _: r"[+−-]?\d[\d.,]*", re.escape(piece))
        found = re.search(shape, text)
        theirs = piece if piece in text else found[0] if found else "not on the page"
        ledger.number(f"text: {piece}", theirs, piece)
        left = left.replace(theirs, "")
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "replays", type=Path, nargs="?", metavar="REPLAYS", help="default: every shipped part, replayed"
    )
    parser.add_argument("--page", type=Path, default=Path("data/studies/README.md"))
    parser.add_argument("--readme", type=Path, default=Path("README.md"))
    parser.add_argument("--brief", action="store_true", help="print only what differs or could not be recomputed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        return recomputed_from(arguments.replays or replayed(arguments.page.parent, Path(place)), arguments, parser)


def replayed(studies: Path, place: Path) -> Path:
    """Replay every part that ships, as a user does."""
    for bundle in sorted([*studies.glob("*/*.zip"), *studies.glob("*/wordings/*.zip")]):
        part = bundle.relative_to(studies).with_suffix("")
        program = Path(sys.executable).with_name("srdcr")
        command = [str(each) for each in (program, "replay", bundle, "--out", place / part)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return place


def recomputed_from(replays: Path, arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    ledger, parts = Ledger(), {}
    for path in sorted([*replays.glob("*/*/run"), *replays.glob("*/wordings/*/run")]):
        own, store = Ledger(), path.parent / "store.sqlite"
        folder = load(path, store if store.is_file() else None)
        study, _, part = path.parent.relative_to(replays).as_posix().partition("/")
        records = audited(folder, own)
        kept = {"turns": folder.turns.drop(columns="reply", errors="ignore"), "items": folder.items, "run": folder.run}
        parts[study, part] = SimpleNamespace(records=records, **kept)
        wrong = sum(not line[3] for line in own.lines)
        ledger.number(f"part {study}/{part}: lines that differ, of {len(own.lines)}", wrong, 0)
    if lacking := [f"{study}/{part}" for study, part in NEEDED if (study, part) not in parts]:
        parser.error(f"{replays}: without {', '.join(lacking)}; make them with srdcr replay <study>/<part> --out")
    page = arguments.page.read_text(encoding="utf-8")
    readme = arguments.readme.read_text(encoding="utf-8")
    compare_page(page, readme, arguments.page.parent, parts, ledger)
    return ledger.show(arguments.brief)


def compare_page(page: str, readme: str, folder: Path, parts: Parts, ledger: Ledger) -> None:
    """Tables, then text; the numbers of the text that stand in no piece are left out, a line for each paragraph."""
    weights = {path.parent.name: pd.read_csv(path) for path in sorted(folder.glob("*/weights.csv"))}
    compare_tables(page, parts, weights, ledger)
    text = re.sub(r"```.*?```", "", re.sub(r"^\|.*$", "", page, flags=re.M), flags=re.S)
    brief = readme.partition("| question | answer |")[2].partition("\n\nIntervals")
    of_others = elsewhere(pd.read_parquet(folder.parent / "elsewhere" / "mmlu_pro.parquet"))
    in_table = (*in_brief(parts, weights), of_others)
    left = compare_text(brief[0] + " " + brief[2].partition("\n")[0], iter(in_table), ledger)
    report_left("README.md", left.replace("| |", "¶"), ledger)
    pieces = [*qwen(parts, weights[QWEN]), *in_format(parts), *smaller(parts, weights[SMOL])]
    left = compare_text(re.sub(r"^(?=#|- |\*\*)", "¶", text, flags=re.M), iter(pieces), ledger)
    report_left("text", left, ledger)


def report_left(where: str, left: str, ledger: Ledger) -> None:
    for paragraph in left.split("¶"):
        if found := re.findall(NUMBER, re.sub(r"`[^`]*`|\d{4}-\d\d-\d\d", "", paragraph)):
            ledger.leave_out(f"numbers of the {where}, {paragraph[:60].strip()} …", " ".join(found)[:120], len(found))


if __name__ == "__main__":
    sys.exit(main())
