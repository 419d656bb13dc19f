"""Chapter 04: what a debate does to verdicts and answers, round by round [3.1, 4.3; Figures 4, 9]."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.figure import Figure

from srdcr_lab.answers import same_answer
from srdcr_lab.confidence import auroc, auroc_gain
from srdcr_lab.lib import draw, groups
from srdcr_lab.lib.comparison import compare_all, corrected, outcome
from srdcr_lab.lib.definitions import ASKED_AGAIN, PAPER_KAPPA, decide, says_again, stabilised_verdict
from srdcr_lab.lib.groups import DESIGN_KEYS, RATES, RULINGS, by_group, debates, group_shares, is_standard, stack
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import answer_box, sentences
from srdcr_lab.lib.statistics import Estimate, clustered_interval, shares
from srdcr_lab.lib.summary import in_order
from srdcr_lab.preference import perturbed_answers, preference_shares, with_claims
from srdcr_lab.records import BadInput, Decision, Item, Role, Verdict
from srdcr_lab.records.names import called, model_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

MOVES = ("changed", "oscillates", "unstabilised", "unparsed")
READ = (Verdict.REASONABLE, Verdict.UNREASONABLE)
BOTH_WAYS = ("acvd", "symmetric")
MOST_REPEATS = 0.5  # of a debater's later turns; with more of them nothing is learned about arguments


def both_ways(results: Results) -> pd.DataFrame:
    """Select SR-DCR's records on the items that were debated under both designs of the paper.

    Parameters
    ----------
    results : Results
        A run; its part `symmetric` is used too.

    Returns
    -------
    DataFrame
        One row per item × design.

    Raises
    ------
    BadInput
        No item was debated under both.
    """
    records = pd.concat([part.records for part in (results, results.part("symmetric")) if part], ignore_index=True)
    held = records[(records["method"] == "sr_dcr") & records["design"].isin(BOTH_WAYS)]
    held = held.drop_duplicates(["model", "item_id", "design"])
    both = held.groupby("item_id")["design"].transform("nunique") == len(BOTH_WAYS)
    if not both.any():
        raise BadInput(
            f"this run has no item that was debated under each design ({', '.join(map(called, BOTH_WAYS))}); "
            f"srdcr run --methods sr_dcr --design {','.join(BOTH_WAYS)} makes them"
        )
    return held[both].reset_index(drop=True)


def answer(results: Results, real: Results | None = None) -> Html:
    """Make the answer box of notebook 04: whether a Critic without the passage helps, and how much was debated.

    Parameters
    ----------
    results : Results
        A run with debates under both designs.
    real : Results, optional
        A run of a real model, whose turns are described too.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    made = compare_all(both_ways(results), "acvd", column="design", name="verdict_right", others=["symmetric"])
    whole, apart = made[made["condition"] == "overall"], corrected(made[made["condition"] != "overall"])
    repeats = pd.concat([signs_of_debate(run) for run in (results, real) if run])
    repeats["speaker"] = [f"{row.model}’s {row.role.title()}" for row in repeats.itertuples()]
    return answer_box(
        sentences(
            "more verdicts are right if the Critic has not read the passage, true and false passages weighed alike",
            whole.drop(columns="p_holm"), "difference", of="items",
        ),
        sentences("more verdicts are right if the Critic has not read the passage", apart, "difference",
                  by=["condition"], of="items"),
        sentences("most later turns of a debater nearly repeat an earlier one", repeats, "repeats", above=MOST_REPEATS,
                  by=["speaker"], of="turns"),
        label=results.label,
    )  # fmt: skip


def signs_of_debate(results: Results, design: str = "acvd") -> pd.DataFrame:
    """Describe how much of a debate there was, by debater.

    If turns mostly repeat earlier ones, nothing can be concluded about *arguments*.

    Parameters
    ----------
    results : Results
        A run with debates.
    design : str, default "acvd"
        The debate design.

    Returns
    -------
    DataFrame
        One row per model × role: `repeats`, the share of later turns that nearly repeat an earlier one;
        `addresses`, the share that takes up a new word of the other side (see `later_turns`); `distinct`, the number of
        different texts per debate; `own_side`, the share of turns that state the assigned answer; `changes`, the share
        of debates in which the verdict changes; `debated`, whether `repeats` is at most one half.

    Raises
    ------
    BadInput
        There are no debates of several rounds under this design.
    """
    spoken = heard_turns(results.turns)
    spoken = spoken[(spoken["method"] == "sr_dcr") & (spoken["design"] == design)]
    records = results.records[(results.records["method"] == "sr_dcr") & (results.records["design"] == design)]
    if not spoken.duplicated(["model", "item_id", "role"]).any():
        raise BadInput(f"no debate of several rounds ({called(design)}); srdcr run --methods sr_dcr makes them")
    by = ["model", "role"]
    addresses = later_turns(spoken).astype({"addresses": float}).groupby(by)["addresses"].mean()
    texts = spoken.groupby([*by, "item_id"])["text"].nunique().groupby(by).mean()
    kept = kept_side(spoken, results.items).set_index(by)["share"]
    moves = path_stability(records).query("condition == 'overall' and move == 'changed'").set_index("model")["share"]
    of_all = moves.iloc[0] if len(moves) == 1 else np.nan  # also of a Critic that is another model
    rows = repeated_turns(spoken).rename(columns={"share": "repeats"}).set_index(by)
    rows = rows.assign(addresses=addresses, distinct=texts, own_side=kept).reset_index()
    rows["debated"] = rows["repeats"] <= MOST_REPEATS
    return rows.assign(model=rows["model"].map(model_called), changes=rows["model"].map(moves).fillna(of_all))


def first_verdict_round(rows: pd.DataFrame) -> int:
    """Return the round of the first verdict of a design's debates.

    Parameters
    ----------
    rows : DataFrame
        Debates of one design.

    Returns
    -------
    int
        The number of rounds held minus the number of verdicts.
    """
    return int(rows["rounds"].iloc[0]) - len(rows["verdict_path"].iloc[0])


def after_each_round(rows: pd.DataFrame) -> pd.DataFrame:
    """Repeat each debate once for each round.

    Parameters
    ----------
    rows : DataFrame
        Debates, as `debates` selects them.

    Returns
    -------
    DataFrame
        The rows with `round`, the `verdict` after it, and `held`. A debate that stopped earlier than others of its
        design keeps its last verdict, and is not `held` from then on.
    """
    paths, keys = rows["verdict_path"].astype(object), [rows[name] for name in groups.group_columns(rows, DESIGN_KEYS)]
    length = paths.str.len().astype(int)
    most = length.groupby(keys, dropna=False, observed=True).transform("max")
    verdicts = [[RULINGS[symbol] for symbol in path.ljust(n, path[-1])] for path, n in zip(paths, most, strict=True)]
    each = rows.assign(verdict=verdicts, length=length).explode("verdict")
    place = each.groupby(level=0).cumcount()
    each = each.assign(round=each["rounds"] - each["length"] + place, held=place < each["length"])
    return each.astype({"round": int}).reset_index(drop=True)


def path_moves(path: str) -> dict[str, bool]:
    """Describe how the verdict moves over the rounds.

    Parameters
    ----------
    path : str
        The verdict after each round: R, U or ?.

    Returns
    -------
    dict of str to bool
        `changed` and `oscillates` (it returns to an earlier verdict), both without unparsed verdicts; `unstabilised`,
        whether V* was reached only in the last round (never for an unparsed V*); `unparsed`, whether some verdict was
        not read.

    Examples
    --------
    >>> path_moves("RUR?RR")
    {'changed': True, 'oscillates': True, 'unstabilised': False, 'unparsed': True}
    """
    changes = sum(a != b for a, b in pairwise(path.replace("?", "")))
    ruling = stabilised_verdict([RULINGS[letter] for letter in path])
    late = ruling.verdict is not Verdict.UNPARSED and not ruling.stabilised
    return dict(zip(MOVES, (changes >= 1, changes >= 2, late, "?" in path), strict=True))


def verdict_rates(records: pd.DataFrame) -> pd.DataFrame:
    """Compute both verdict rates over the debates held.

    `verdict_tpr` is P(Reasonable | true passage), `verdict_tnr` is P(Unreasonable | false passage).

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per model × design × rate, with the columns of `shares` and `n_unparsed`. An unparsed verdict
        counts as neither Reasonable nor Unreasonable, and stays in `n`.
    """
    held = _rated(debates(records))
    by, right = {"rate": list(RATES)}, outcome(held, "verdict_right")
    return group_shares(held, right, by, DESIGN_KEYS, counts=["unparsed"])


def verdicts_by_round(records: pd.DataFrame) -> pd.DataFrame:
    """Compute both verdict rates as if each debate had ended after each round.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per model × design × rate × round, with the columns of `shares`; `n_held`, the debates with a ruling in
        that round; `n_unparsed`. A debate that stopped early keeps its last verdict; an unparsed verdict counts as
        neither.
    """
    rows = _rated(after_each_round(debates(records)))
    by = {"rate": list(RATES), "round": None}
    return group_shares(rows, outcome(rows, "verdict_right"), by, DESIGN_KEYS, counts=["held", "unparsed"])


def _rated(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the `rate` that their verdict counts for, and whether it is `unparsed`."""
    rates = {true: rate for rate, (_, true) in RATES.items()}
    return rows.assign(rate=is_standard(rows).map(rates), unparsed=rows["verdict"] == Verdict.UNPARSED)


def right_by_half(records: pd.DataFrame, *, answers: bool = False) -> pd.DataFrame:
    """Compute how often each method or design is right on true passages, and how often on false ones.

    A debate is right if V* is Reasonable on a true passage, or Unreasonable on a false one. A method without verdicts
    is right if its answer is: misreading a false claim does not make it right. With `answers` there is one method more,
    `FROM_MEMORY`: the prior answers, as if memory were always trusted.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    answers : bool, default False
        Take right answers for every method, also for those with verdicts.

    Returns
    -------
    DataFrame
        One row per model × method × design: `true` and `false`, the shares of true and of false passages on which it is
        right, with their 95 % intervals over questions; `coverage`, the share of items answered. An item without an
        answer or a readable verdict is not right; it is in `n` and in `n_missing`.
    """

    def halves_of(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        ruled = part["verdict"].notna().any() and not answers
        right = outcome(part, "verdict_right" if ruled else "correct").fillna(0.0)
        missing = ~part["verdict"].isin(READ) if ruled else part["correct"].isna()
        row = {"n": len(part), "n_questions": part["question_id"].nunique(), "n_missing": int(missing.sum())}
        for half, here in (("true", is_standard(part)), ("false", ~is_standard(part))):
            row |= clustered_interval(right[here], part["question_id"][here]).columns(half)
        yield row | {"coverage": part["correct"].notna().mean()}

    return by_group(groups.with_memory(records) if answers else records, halves_of, DESIGN_KEYS)


def with_kappa(records: pd.DataFrame, kappa: float = PAPER_KAPPA) -> pd.DataFrame:
    """Replace the verdicts by those of a threshold κ on P(UNREASONABLE).

    Decisions and answers stay as they were; `lib.gating.decided` computes what follows from the new verdicts. An
    unparsed verdict, and one without a probability, stays. Ours, not the paper's.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    kappa : float, default PAPER_KAPPA
        The probability from which a verdict is Unreasonable, in [0, 1]; ½ reproduces the stated verdicts.

    Returns
    -------
    DataFrame
        The records with the column `verdict` changed.
    """
    p_unreasonable = records["p_unreasonable"].to_numpy(float, na_value=np.nan)
    moved = records["verdict"].isin(READ) & ~np.isnan(p_unreasonable) & (kappa != PAPER_KAPPA)
    ruled = np.where(p_unreasonable >= kappa, Verdict.UNREASONABLE, Verdict.REASONABLE)
    return records.assign(verdict=np.where(moved, ruled, records["verdict"].to_numpy(object, na_value=None)))


def rates_by_kappa(records: pd.DataFrame) -> pd.DataFrame:
    """Compute how often verdicts are right at each κ at which one can change, where V* has a probability.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        The rows of `right_by_half`, with the column `kappa`.
    """
    held = debates(records)
    tables = []
    for _, part in groups.groups(held[held["p_unreasonable"].notna()], DESIGN_KEYS):
        for kappa in sorted({0.0, PAPER_KAPPA, 1.0, *part["p_unreasonable"]}):
            tables.append(({"kappa": kappa}, right_by_half(with_kappa(part, kappa))))
    return stack(tables)


def verdict_discrimination(records: pd.DataFrame) -> pd.DataFrame:
    """Measure how well the Judge separates false passages from true ones.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        Three rows per design: the AUROC of P(UNREASONABLE); that of the stated verdict alone, which equals ½
        (verdict_tpr + verdict_tnr); and the first minus the second; each with its 95 % interval, clustered on the
        question. All three use the debates whose V* was read and has a probability; `n_missing` counts the others.
    """

    def areas(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        word = part["verdict"].map({Verdict.REASONABLE: 0.0, Verdict.UNREASONABLE: 1.0}).astype(float)
        p = part["p_unreasonable"].astype(float).where(word.notna())
        false, questions = ~is_standard(part), part["question_id"]
        found = {
            groups.P_UNREASONABLE: auroc(p, false, questions),
            "the word": auroc(word.where(p.notna()), false, questions),
            "difference": auroc_gain(p, word, false, questions),
        }
        counts = {"n": p.count(), "n_target": (false & p.notna()).sum(), "n_missing": p.isna().sum()}
        for name, area in found.items():
            yield {"belief": name} | area.columns("auroc", alone=True) | counts

    return by_group(debates(records), areas, DESIGN_KEYS)


def discrimination_gain(records: pd.DataFrame) -> Estimate:
    """Compare the AUROC of P(UNREASONABLE) between ACVD and the symmetric debate, on the items debated in both.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    Estimate
        The AUROC in ACVD minus that in the symmetric debate, with its 95 % interval, clustered on the question, and the
        number of items.
    """
    held = debates(records)
    sides = [held[held["design"] == name].drop_duplicates("item_id").set_index("item_id") for name in BOTH_WAYS]
    both = sides[0].join(sides[1]["p_unreasonable"].rename("other"), how="inner")
    first, second = both["p_unreasonable"].astype(float), both["other"].astype(float)
    return auroc_gain(first, second, ~is_standard(both), both["question_id"])


def path_stability(records: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of verdict paths that change, oscillate, do not stabilise or hold an unparsed verdict.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per model × design × condition × `move` (see `path_moves`), with the columns of `shares` over the
        debates with more than one verdict.
    """
    tables = []
    for names, rows in _paths(records):
        moves = pd.DataFrame(list(map(path_moves, rows["verdict_path"])), index=rows.index)
        tables += [(names | {"move": move}, shares(rows, moves[move])) for move in MOVES]
    return stack(tables, [*DESIGN_KEYS, "condition", "move", *groups.COLUMNS_OF_SHARES]).drop(columns="n_missing")


def r_star_distribution(records: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of debates whose verdict holds from each round on.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per model × design × condition × `r_star`; the shares sum to 1. `stabilised` is false for r* = R − 1.
        Debates whose V* is unparsed form the row with `r_star` missing; debates with a single verdict are left out.
    """
    tables = []
    for names, rows in _paths(records):
        r_star = rows["r_star"].astype("Int64")
        first = first_verdict_round(rows)
        last = first + int(rows["verdict_path"].astype(object).str.len().max()) - 1
        for value in (*range(first, last + 1), None):
            here = r_star.isna() if value is None else (r_star == value).fillna(False)
            stabilised = value is not None and value < last
            tables.append((names | {"r_star": value, "stabilised": stabilised}, shares(rows, here)))
    table = stack(tables, [*DESIGN_KEYS, "condition", "r_star", "stabilised", *groups.COLUMNS_OF_SHARES])
    return table.drop(columns="n_missing").astype({"r_star": "Int64"})


def _paths(records: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Debates of more than one verdict, by group and condition."""
    held = debates(records)
    for names, part in groups.groups(held[held["verdict_path"].astype(object).str.len() > 1], DESIGN_KEYS):
        for condition, rows in (*part.groupby(groups.halves(part), sort=False), ("overall", part)):
            yield names | {"condition": condition}, rows


def prior_preference_by_round(records: pd.DataFrame, by: Sequence[str] = ("stratum",)) -> pd.DataFrame:
    """Compute prior preference as if each debate had ended after each round.

    Prior preference is the share of answers to false passages that equal the prior answer. In `judge_debate` the Judge
    picks an answer after each round. In a design with verdicts the verdict of that round leads to an answer whatever
    the confidence: Reasonable to the context answer, Unreasonable to the prior answer, unparsed to none.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    by : sequence of str, default ("stratum",)
        Columns that define cells.

    Returns
    -------
    DataFrame
        One row per model × `debate` × `round` × cell, with the columns of `shares`. Items whose prior answer equals the
        claim have rows of their own; an item without an answer, or without a prior answer, is outside the share and in
        `n_missing`.

    References
    ----------
    Paper, section 4.3, Figures 4 and 9; for designs with verdicts ours.
    """
    methods = pd.Series(records["method"].unique(), dtype=object)
    rounds = methods.str.extract(r"^judge_debate_(\d+)$", expand=False).dropna().astype(int).sort_values()
    parts = [perturbed_answers(records, methods[i]).assign(debate="judge_debate", round=r) for i, r in rounds.items()]
    answers = pd.concat([*parts, _ended_debates(records)], ignore_index=True)
    return preference_shares(answers, ("model", "debate", "round"), "follows_prior", by)


def _ended_debates(records: pd.DataFrame) -> pd.DataFrame:
    """Rows of every design's debates, one per item × round, as if the debate had ended there."""
    held = debates(records)
    rows = after_each_round(with_claims(held[~is_standard(held)].reset_index(drop=True)))
    decision = rows["verdict"].map({verdict: decide(verdict, np.nan, gate=False) for verdict in Verdict})
    follows = rows["context_is_prior"].where(decision == Decision.USE_CONTEXT)
    follows = follows.mask(decision == Decision.USE_PRIOR, True).where(rows["prior_answer"].notna())
    return rows.assign(debate=rows["design"].astype(object), follows_prior=follows)


_NO_VERDICTS = "no debate with verdicts in these records"
_RATES = {"verdict_tpr": "true passages believed", "verdict_tnr": "false passages rejected"}


def repeated_turns(turns: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of later turns that nearly repeat an earlier turn of the same debater.

    Parameters
    ----------
    turns : DataFrame
        One row per utterance, as `Results.turns`; of several runs with their column `run`.

    Returns
    -------
    DataFrame
        One row per model × role, with the columns of `shares` over the debater's turns after its first.
    """
    later, by = later_turns(turns), ["model", "role"]
    return group_shares(later[[*by, "question_id"]], later["nearly"], always=by)


def heard_turns(turns: pd.DataFrame) -> pd.DataFrame:
    """Select what Defender and Critic said to each other and to the Judge.

    Parameters
    ----------
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        Their turns, without each turn that was replaced because it repeated an earlier one (`fresh_turns`); nobody
        heard it.
    """
    return turns[turns["role"].isin([Role.DEFENDER, Role.CRITIC]) & (turns["speaker"] != ASKED_AGAIN)]


def later_turns(turns: pd.DataFrame) -> pd.DataFrame:
    """Mark what is new in the turns of Defender and Critic after their first.

    Parameters
    ----------
    turns : DataFrame
        One row per utterance, as `Results.turns`; of several runs with their column `run`.

    Returns
    -------
    DataFrame
        These turns with `again`, whether the turn repeats an earlier one of its speaker word for word; `nearly`,
        whether it says nearly the same as one (`says_again`); and `addresses`, whether it shares a content word with
        the last turn of the other side before it in the transcript, a word that nobody had said until then. Content
        words have five characters or more, or a digit. Ours.
    """

    def content(text: str) -> set[str]:
        return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 4 or re.search(r"\d", word)}

    spoken = heard_turns(turns).sort_values("position", kind="stable", ignore_index=True)
    marks = []
    keys = [name for name in ("run", "item_id", "method", "design") if name in spoken]
    for _, debate in spoken.groupby(keys, sort=False, dropna=False, observed=True):
        said: dict[str, list[str]] = {}
        new: dict[str, set[str]] = {}  # content words of each side's last turn that nobody had said before
        known: set[str] = set()
        for place, role, text in zip(debate.index, debate["role"], debate["text"], strict=True):
            words, own = content(text), said.setdefault(role, [])
            if own:
                others = [each for other, each in new.items() if other != role]
                addresses = bool(words & others[0]) if others else None
                marks.append((place, text in own, says_again(text, own), addresses))
            own.append(text)
            new[role] = words - known
            known |= words
    marked = pd.DataFrame(marks, columns=["place", "again", "nearly", "addresses"]).set_index("place")
    return spoken.loc[marked.index].join(marked.astype({"addresses": "boolean"}))


def without_debate(turns: pd.DataFrame) -> bool:
    """Decide whether a debater mostly repeats itself, so that there is no debate.

    Parameters
    ----------
    turns : DataFrame
        One row per utterance of one method, as `Results.turns`.

    Returns
    -------
    bool
        Whether more than half of the later turns of some model in one role are nearly repeats.
    """
    return bool((repeated_turns(turns)["share"] > MOST_REPEATS).any())


def keeps_side(stated: Any, stance: Any, item: Item) -> bool | None:
    """Decide whether a turn states the answer that was assigned to its speaker.

    Parameters
    ----------
    stated : object
        The stated answer; missing if it could not be read.
    stance : object
        The assigned answer; missing if there is none.
    item : Item
        The item of the debate.

    Returns
    -------
    bool or None
        None if the assigned answer is missing, or is none that the question can have; a turn without a readable answer
        keeps to no side.
    """
    assigned = None if pd.isna(stance) else stance
    if not same_answer(assigned, assigned, item):
        return None
    return same_answer(None if pd.isna(stated) else stated, assigned, item)


def kept_side(turns: pd.DataFrame, items: Mapping[str, Item]) -> pd.DataFrame:
    """Compute the share of debaters' turns that keep to the assigned answer.

    Parameters
    ----------
    turns : DataFrame
        One row per utterance, as `Results.turns`.
    items : mapping of str to Item
        Items by `item_id`, as `Results.items`.

    Returns
    -------
    DataFrame
        One row per model × design × role, with the columns of `shares`; a turn without a readable answer keeps to no
        side, one whose speaker was assigned no possible answer is in `n_missing`.
    """
    spoken = heard_turns(turns)
    sides = zip(spoken["stated_answer"], spoken["stance"], spoken["item_id"].map(items), strict=True)
    kept = pd.Series(pd.array([keeps_side(*side) for side in sides], "boolean"), spoken.index)
    keys = ["model", "design", "role"]
    return group_shares(spoken[[*keys, "question_id"]], kept, always=keys)


def draw_verdicts(table: pd.DataFrame) -> Figure:
    """Draw both verdict rates after each round, with 95 % intervals.

    Parameters
    ----------
    table : DataFrame
        As returned by `verdicts_by_round`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing(_NO_VERDICTS)
    rows, palette = draw.by_name(with_debate(table), "debate")
    rows, labels = rows.assign(rate=rows["rate"].map(_RATES)), ("verdict after round", "share of right verdicts")
    return draw.lines(rows, "round", "share", labels, hue="debate", palette=palette, panel="rate", points=True)


def draw_r_star(table: pd.DataFrame) -> Figure:
    """Draw the share of debates whose verdict holds from round r* on.

    "Not read" stands for an unparsed final verdict; a verdict that came only in the last round "changed" in it.

    Parameters
    ----------
    table : DataFrame
        As returned by `r_star_distribution`; true and false passages are shown together.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table[table["condition"] == "overall"]
    if rows.empty:
        return draw.nothing(_NO_VERDICTS)
    names = [
        "not read" if pd.isna(r) else f"r* = {r:.0f}" if stabilised else f"r* = {r:.0f} (changed in the last round)"
        for r, stabilised in zip(rows["r_star"], rows["stabilised"], strict=True)
    ]
    rows, palette = draw.by_name(with_debate(rows).assign(r_star=names).reset_index(drop=True), "debate")
    return draw.rows(rows, "share", "r_star", "share of debates", hue="debate", palette=palette, few="debates")


def draw_graded(table: pd.DataFrame) -> Figure:
    """Draw both verdict rates at every κ, a line per design; a mark shows the stated verdicts (κ = ½).

    Each model has its own panel.

    Parameters
    ----------
    table : DataFrame
        As returned by `rates_by_kappa`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return draw.nothing("no verdict with a probability in these records")
    rows, palette = draw.by_name(with_debate(table), "debate")
    place = {"x": "true", "y": "false", "color": "debate"}
    plot = so.Plot(rows, **place).add(so.Path()).limit(x=draw.ALL_SHARES, y=draw.ALL_SHARES)
    plot = plot.add(so.Dot(), data=rows[rows["kappa"] == PAPER_KAPPA], **place, marker="debate")
    plot = plot.label(x="true passages believed", y="false passages rejected")
    models = rows["model"].nunique()
    plot = plot.facet("model").label(title=model_called) if models > 1 else plot
    made = draw.figure(plot, 3.8, width=4.2 * models, palette=palette)
    for ax in made.axes:
        ax.plot([0, 1], [1, 0], color="0.7", linewidth=1, linestyle="--", zorder=0)
    return made


def draw_plane(table: pd.DataFrame, *, answers: bool = False) -> Figure:
    """Draw how often each method or design is right on true passages, and on false ones: a point each.

    Each model has its own panel. Larger points answer more items. On the dashed line the verdict does not depend on
    whether the passage is true.

    Parameters
    ----------
    table : DataFrame
        As returned by `right_by_half`.
    answers : bool, default False
        The table is of right answers, for which there is no dashed line.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = with_debate(in_order(table.dropna(subset=["true", "false"])))
    if rows.empty:
        return draw.nothing("no method here has both true and false passages")
    rows, palette = draw.by_name(rows.assign(model=rows["model"].map(model_called)), "debate")
    of_answers = ("right on true passages", "right on false passages")
    labels = of_answers if answers else ("true passages believed", "false passages rejected")
    panel = "model" if rows["model"].nunique() > 1 else ""
    return draw.plane(rows, "true", "false", "debate", labels, palette, panel=panel, guessing=not answers)


def draw_prior_preference(table: pd.DataFrame) -> Figure:
    """Draw prior preference on false passages as if the paper's debates had ended after each round.

    Parameters
    ----------
    table : DataFrame
        As returned by `prior_preference_by_round` without strata.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = table[table["debate"].isin(["judge_debate", *BOTH_WAYS]) & ~table["prior_is_claim"]]
    rows = rows.dropna(subset="share").reset_index(drop=True)
    if rows.empty:
        return draw.nothing("no such debate in these records")
    rows, palette = draw.by_name(rows, "debate")
    labels = ("debate ends after round", "prior preference")
    return draw.lines(rows, "round", "share", labels, hue="debate", palette=palette, points=True)


def with_debate(table: pd.DataFrame) -> pd.DataFrame:
    """Add the column `debate`, which names what tells the rows apart.

    Parameters
    ----------
    table : DataFrame
        Rows with the columns `design` and `method`.

    Returns
    -------
    DataFrame
        The table; `debate` is the design, or the method and the design if several methods debate or some do not, or the
        method alone if there is no debate.
    """
    design, method = table["design"].astype(object), table["method"].astype(object)
    debating = design.notna()
    name, alike = design.fillna(method), design[debating].nunique() == 1
    if method[debating].nunique() > 1 or (alike and not debating.all()):
        both = [called(*pair) if isinstance(pair[1], str) else pair[0] for pair in zip(method, design, strict=True)]
        name = method if alike else pd.Series(both, table.index)
    return table.assign(debate=name)
