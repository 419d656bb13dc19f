"""Which answers were held when: the turns of each question, and when two answers are the same."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab import answers
from srdcr_lab.measures.estimates import N_BOOT, clustered_interval, contrast_interval, jeffreys_interval
from srdcr_lab.measures.evaluation import accuracy
from srdcr_lab.measures.groups import groups
from srdcr_lab.records import AnswerType, Missing, Role


@dataclass(frozen=True)
class Asked:
    """One question under one method: its row of `records` and its turns in order."""

    row: Any
    turns: pd.DataFrame

    def same(self, a: object, b: object) -> bool:
        """Whether two answers are equal for this question; an unread one equals nothing. Aliases are not known here."""
        if not isinstance(a, str) or not isinstance(b, str):
            return False
        return answers.equal(a, b, AnswerType(self.row.answer_type))

    @property
    def answered(self) -> bool:
        return not pd.isna(self.row.correct)

    @property
    def right(self) -> bool:
        return self.answered and bool(self.row.correct)

    def is_gold(self, answer: object) -> bool:
        return self.same(answer, self.row.gold_answer)

    def said_by(self, *speakers: str, round_: int | None = None) -> list[object]:
        """The answers that these speakers stated, in order."""
        chosen = self.turns["speaker"].isin(speakers)
        if round_ is not None:
            chosen &= self.turns["round"] == round_
        return list(self.turns.loc[chosen, "stated_answer"])

    @property
    def defences(self) -> pd.DataFrame:
        """The turns of the preset stances."""
        return self.turns[(self.turns["role"] == Role.DEFENDER) & self.turns["stance"].notna()]

    @property
    def stances(self) -> list[str]:
        """The preset answers, in the order in which the judge read them."""
        return list(dict.fromkeys(self.defences["stance"]))

    @property
    def held_at_last(self) -> dict[str, object]:
        """Stance → the answer that its defender held at the end; empty where nobody replied to anything."""
        replies = self.defences[self.defences["round"] > 0]
        return {stance: own["stated_answer"].iloc[-1] for stance, own in replies.groupby("stance", sort=False)}


def asked(records: pd.DataFrame, turns: pd.DataFrame) -> Iterator[tuple[dict[str, Any], list[Asked]]]:
    """Each group's names (model, method …) and its questions with their turns, also where they have none.

    Tables of several runs need the column `run` in both.
    """
    keys = ["run", "method"] if "run" in records and "run" in turns else ["method"]
    spoken = dict(tuple(turns.sort_values("position", kind="stable").groupby([*keys, "item_id"], sort=False)))
    nothing = turns.iloc[:0]
    for names, rows in groups(records):
        yield (
            names,
            [
                Asked(row, spoken.get((*(getattr(row, key) for key in keys), row.item_id), nothing))
                for row in rows.itertuples(index=False)
            ],
        )


def share(hits: Sequence[bool], questions: Sequence[str]) -> dict[str, float | int]:
    """`share` of hits with its 95 % interval clustered on the question, and `n`; NaN of nothing."""
    low, high = clustered_interval(list(map(float, hits)), list(questions))
    return {"n": len(hits), "share": sum(hits) / len(hits) if hits else float("nan"), "low": low, "high": high}


# -- accuracy of options, macro-F1 of claims [CFMAD 4.1, Table 1]

CLASSES = ("true", "false")
_VARIANT = re.compile(r"cfmad(?:_(stances|rounds)_(\d))?")


def macro_f1(
    gold: pd.Series, final: pd.Series, clusters: pd.Series, *, level: float = 0.95, seed: int = 0
) -> dict[str, float]:
    """Mean over "true" and "false" of F1 = 2 tp / (2 tp + fp + fn), with a bootstrap interval over the clusters.

    What is missing is a false negative of its gold class and a false positive of none. A class that is neither the
    truth nor an answer anywhere has no F1 and is left out. Where every resample agrees, the interval is accuracy's
    Jeffreys interval. NaN for no row.
    """
    if gold.empty:
        return {"macro_f1": math.nan, "macro_f1_low": math.nan, "macro_f1_high": math.nan}
    codes, names = pd.factorize(clusters)
    counts = np.zeros((len(names), len(CLASSES), 2))  # cluster × class × (tp, fp + fn)
    for place, label in enumerate(CLASSES):
        is_gold, is_final = (gold == label).to_numpy(), (final == label).fillna(False).to_numpy(bool)
        np.add.at(counts[:, place, 0], codes, is_gold & is_final)
        np.add.at(counts[:, place, 1], codes, is_gold ^ is_final)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), N_BOOT)
    low, high = np.nanquantile(_mean_f1(np.tensordot(drawn, counts, 1)), [(1 - level) / 2, (1 + level) / 2])
    value = float(_mean_f1(counts.sum(axis=0)[None])[0])
    if low == high:
        low, high = jeffreys_interval(round(value * len(names)), len(names), level)
    return {"macro_f1": value, "macro_f1_low": float(low), "macro_f1_high": float(high)}


def _mean_f1(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    hits, misses = counts[..., 0], counts[..., 1]
    with np.errstate(invalid="ignore"):
        f1 = 2 * hits / (2 * hits + misses)
    return np.asarray(np.nanmean(f1, axis=-1))


def table_1(records: pd.DataFrame) -> pd.DataFrame:
    """Per model × method: n, accuracy (missing counts as wrong), selective accuracy, coverage; of claims macro-F1 too.

    Macro-F1 is NaN where a gold answer is something else than "true" or "false".
    """
    rows = []
    for names, part in groups(records):
        binary = part["gold_answer"].isin(CLASSES).all()
        measured = accuracy(part["correct"], part["question_id"])
        f1 = macro_f1(
            part["gold_answer"] if binary else part["gold_answer"].iloc[:0], part["final_answer"], part["question_id"]
        )
        missing = {f"n_{why}": int((part["missing"] == why).sum()) for why in ("abstained", "unparsed", "error")}
        rows.append({**names, **measured, **f1, **missing})
    return pd.DataFrame(rows)


def by_number(records: pd.DataFrame, what: str) -> pd.DataFrame:
    """Figure 6: accuracy of CFMAD by number of `stances` or of `rounds`, the other as in the paper (2, 1).

    The methods are `cfmad` and ``cfmad_stances_N`` or ``cfmad_rounds_N``. Columns: model …, the number, n, accuracy and
    its interval, selective accuracy and coverage.
    """
    base = {"stances": 2, "rounds": 1}[what]
    numbers = {}
    for method in records["method"].unique():
        found = _VARIANT.fullmatch(str(method))
        if found and found[1] in (None, what):
            numbers[method] = int(found[2]) if found[1] else base
    chosen = table_1(records[records["method"].isin(numbers)]) if numbers else pd.DataFrame()
    if chosen.empty:
        return pd.DataFrame(columns=["method", what, "n", "accuracy", "accuracy_low", "accuracy_high"])
    chosen.insert(chosen.columns.get_loc("method") + 1, what, chosen["method"].map(numbers))
    return chosen.sort_values([*(name for name in ("run", "model") if name in chosen), what], ignore_index=True)


# -- prompts and tokens per sample [CFMAD A.1, Table 3]

# Of questions with options; a claim takes CFMAD seven.
PAPER_PROMPTS: Mapping[str, int] = MappingProxyType(
    {"cot": 1, "self_reflection": 3, "self_consistency": 7, "mad": 10, "self_contrast": 6, "cfmad": 10}
)


def table_3(records: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Per model × method: mean prompts, tokens a prompt and tokens a sample, of the method by itself.

    Tokens are those of prompts and replies together. Intervals of the tokens a sample are Student's, over the means of
    the questions. Rows with an error are left out and counted in `n_error`. `paper_prompts` is Table 3's.
    """
    rows = []
    for names, part in groups(records):
        ended = part[part["missing"].fillna("") != Missing.ERROR]
        calls = ended["calls_alone"].to_numpy(float)
        tokens = (ended["prompt_tokens"] + ended["completion_tokens"]).to_numpy(float)
        by_question = pd.Series(tokens).groupby(ended["question_id"].to_numpy()).mean().to_numpy()
        low, high = _student(by_question, level)
        rows.append(
            {
                **names,
                "n": len(ended),
                "n_error": len(part) - len(ended),
                "prompts_per_sample": calls.mean() if len(calls) else math.nan,
                "tokens_per_prompt": tokens.sum() / calls.sum() if calls.sum() else math.nan,
                "tokens_per_sample": tokens.mean() if len(tokens) else math.nan,
                "tokens_per_sample_low": low,
                "tokens_per_sample_high": high,
                "paper_prompts": PAPER_PROMPTS.get(names["method"], pd.NA),
            }
        )
    return pd.DataFrame(rows)


def _student(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Interval of a mean; NaN for fewer than two values."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return math.nan, math.nan
    half = float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(n))
    return float(values.mean() - half), float(values.mean() + half)


# -- how many errors are a method's overconfidence: it never looked at another answer [CFMAD 2.2, Figure 2]

NEARLY_ALL = 6  # of seven draws


def _kept_by_reflection(question: Asked) -> bool:
    initial, revised = question.said_by("cot"), question.said_by("revision")
    if not initial or not revised:
        return False
    return question.same(initial[0], revised[-1]) and not question.is_gold(initial[0])


def _nearly_all_votes(question: Asked) -> bool:
    votes = [vote for vote in question.said_by(*(f"vote-{i}" for i in range(7))) if isinstance(vote, str)]
    counts = Counter({vote: sum(question.same(vote, other) for other in votes) for vote in votes})
    return any(n >= NEARLY_ALL and not question.is_gold(vote) for vote, n in counts.items())


def _all_three(question: Asked, *speakers: str) -> bool:
    initial = question.said_by(*speakers, round_=0)
    alike = len(initial) == len(speakers) and all(question.same(initial[0], other) for other in initial)
    return alike and not question.is_gold(initial[0])


OVERCONFIDENT: Mapping[str, Callable[[Asked], bool]] = MappingProxyType(
    {
        "self_reflection": _kept_by_reflection,
        "self_consistency": _nearly_all_votes,
        "mad": lambda question: _all_three(question, "agent-0", "agent-1", "agent-2"),
        "self_contrast": lambda question: _all_three(question, "view-0", "view-1", "view-2"),
    }
)


def overconfidence(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method of the four: `n` errors, the `share` that is overconfidence with its interval, `n_missing`.

    Questions without an answer are no errors here; `n_missing` counts them. NaN where there is no error.
    """
    rows = []
    for names, questions in asked(records, turns):
        rule = OVERCONFIDENT.get(names["method"])
        if rule is None:
            continue
        errors = [each for each in questions if each.answered and not each.right]
        hits = [rule(each) for each in errors]
        missing = sum(not each.answered for each in questions)
        found = share(hits, [each.row.question_id for each in errors])
        rows.append({**names, **found, "n_overconfident": sum(hits), "n_missing": missing})
    return pd.DataFrame(rows, columns=None if rows else ["method", "n", "share", "low", "high"])


# -- what counterfactual debates come to: stances that change

ENDS = ("valid_change", "invalid_change", "judge_right", "judge_wrong", "judge_missing")


def end_of(question: Asked) -> str | None:
    """Which of the five; None where nothing was debated."""
    held = list(question.held_at_last.values())
    if not held:
        return None
    if all(question.same(held[0], other) for other in held):
        return "valid_change" if question.is_gold(held[0]) else "invalid_change"
    if not question.answered:
        return "judge_missing"
    return "judge_right" if question.right else "judge_wrong"


def debate_ends(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method with debates: the share of each end with its interval, `n` debated, `n_undebated` beside them.

    Long: one row per end, in the order of `ENDS`.
    """
    rows = []
    for names, questions in asked(records, turns):
        ends = [(end_of(each), each.row.question_id) for each in questions]
        debated = [(end, question) for end, question in ends if end is not None]
        for end in ENDS if debated else ():
            found = share([each == end for each, _ in debated], [question for _, question in debated])
            rows.append({**names, "end": end, **found, "n_undebated": len(ends) - len(debated)})
    return pd.DataFrame(rows, columns=None if rows else ["method", "end", "n", "share", "low", "high", "n_undebated"])


def stance_changes(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method: how often a right and how often a wrong stance holds another answer at the end.

    The paper's claim is that wrong ones give up more often [CFMAD 4.3.1]. `n` counts stances whose last reply could be
    read, `n_unread` the others.
    """
    rows = []
    for names, questions in asked(records, turns):
        held = [(each, stance, answer) for each in questions for stance, answer in each.held_at_last.items()]
        for right in (True, False) if held else ():
            own = [(each, stance, answer) for each, stance, answer in held if each.is_gold(stance) is right]
            read = [(each, stance, answer) for each, stance, answer in own if isinstance(answer, str)]
            changed = [not each.same(stance, answer) for each, stance, answer in read]
            found = share(changed, [each.row.question_id for each, _, _ in read])
            rows.append({**names, "stance": "right" if right else "wrong", **found, "n_unread": len(own) - len(read)})
    return pd.DataFrame(rows, columns=None if rows else ["method", "stance", "n", "share", "low", "high", "n_unread"])


def candidate_recall(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """How often the gold answer is among the candidates: what no judge can make up for [CFMAD A.2, Table 4; 4.4].

    Candidates are the preset stances; where the chains of thought agreed and nothing was debated, their one answer.
    `n_without` counts the questions that have none. `accuracy_recalled` is the accuracy where it was among them.
    """
    rows = []
    for names, questions in asked(records, turns):
        if not names["method"].startswith(_PRESETTING):
            continue
        known = [(each, each.stances or _drawn(each)) for each in questions]
        having = [(each, candidates) for each, candidates in known if candidates]
        hits = [any(each.is_gold(candidate) for candidate in candidates) for each, candidates in having]
        right = [each.right for (each, _), hit in zip(having, hits, strict=True) if hit]
        found = share(hits, [each.row.question_id for each, _ in having])
        rows.append(
            {
                **names,
                **{{"share": "recall"}.get(name, name): value for name, value in found.items()},
                "n_without": len(questions) - len(having),
                "mean_candidates": float(np.mean([len(each) for _, each in having])) if having else np.nan,
                "accuracy_recalled": sum(right) / len(right) if right else np.nan,
            }
        )
    return pd.DataFrame(rows, columns=None if rows else ["method", "n", "recall", "low", "high"])


_PRESETTING = ("cfmad", "direct_judge", "replace_with")


def _drawn(question: Asked) -> list[str]:
    """Distinct answers of the chains of thought."""
    found: list[str] = []
    drawn = question.turns.loc[question.turns["speaker"].str.startswith("cot"), "stated_answer"]
    for answer in drawn:
        if isinstance(answer, str) and not any(question.same(answer, other) for other in found):
            found.append(answer)
    return found


# -- whether the order in which a judge reads the stances sways it: the same debates, read in both orders


def position_effect(
    records: pd.DataFrame, turns: pd.DataFrame, method: str = "cfmad", swapped: str = "cfmad_swapped"
) -> pd.DataFrame:
    """Per model, over the questions that were debated and answered in both orders.

    Columns
    -------
    n : pairs; `n_missing` those with an order without a readable answer.
    changed : share whose answer differs between the orders, with `changed_low`, `changed_high`.
    first, last : share of all judgements that choose the stance read first, and the one read last.
    effect : first − last in [−1, 1], 0 without a position effect, with `effect_low`, `effect_high` clustered on the
        question.
    """
    either: dict[tuple[Any, ...], dict[str, dict[str, Asked]]] = {}
    for names, questions in asked(records[records["method"].isin([method, swapped])], turns):
        debated = {each.row.item_id: each for each in questions if each.stances}
        either.setdefault(_without_method(names), {})[names["method"]] = debated
    rows = [{**dict(names), **_effect(orders[method], orders[swapped])}
            for names, orders in either.items() if {method, swapped} <= set(orders)]  # fmt: skip
    return pd.DataFrame(rows, columns=None if rows else ["n", "changed", "first", "last", "effect"])


def _without_method(names: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in names.items() if name != "method")


def _effect(straight: dict[str, Asked], reversed_: dict[str, Asked]) -> dict[str, float | int]:
    pairs = [(straight[item], reversed_[item]) for item in straight if item in reversed_]
    read = [pair for pair in pairs if all(isinstance(each.row.final_answer, str) for each in pair)]
    changed = [not a.same(a.row.final_answer, b.row.final_answer) for a, b in read]
    found = share(changed, [a.row.question_id for a, _ in read])
    judged = [each for pair in read for each in pair]
    places = [(each.same(each.row.final_answer, each.stances[0]), each.same(each.row.final_answer, each.stances[-1]))
              for each in judged]  # fmt: skip
    contrast = [int(first) - int(last) for first, last in places]
    effect, low, high = (
        contrast_interval(contrast, [each.row.question_id for each in judged], [0] * len(contrast), {0: 1.0})
        if contrast
        else (math.nan,) * 3
    )
    n = len(judged)
    return {
        "n": len(read),
        "n_missing": len(pairs) - len(read),
        "changed": found["share"],
        "changed_low": found["low"],
        "changed_high": found["high"],
        "first": sum(first for first, _ in places) / n if n else math.nan,
        "last": sum(last for _, last in places) / n if n else math.nan,
        "effect": effect,
        "effect_low": low,
        "effect_high": high,
    }
