"""Chapter 04: verdicts by round, and whom the answers follow after each [3.1, 4.3; Figures 4, 9]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from srdcr_lab.confidence import auroc, auroc_gain, decisions_table
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import comparable, condition_rows, outcome, side_by_side
from srdcr_lab.lib.controls import Slide, with_sliders
from srdcr_lab.lib.definitions import HARD, VERDICTS, decide, graded, stabilised_verdict
from srdcr_lab.lib.gating import Gating
from srdcr_lab.lib.groups import (
    DESIGN_KEYS,
    P_UNREASONABLE,
    RATES,
    RULINGS,
    cells,
    debates,
    groups,
    halves,
    is_standard,
    stack,
    strata,
)
from srdcr_lab.lib.page import Html, html_table, interval, render
from srdcr_lab.lib.statistics import positions, shares
from srdcr_lab.preference import TOGETHER, perturbed_answers, preference_shares, with_claims
from srdcr_lab.records import Decision, Verdict
from srdcr_lab.records.names import called

if TYPE_CHECKING:
    from ipywidgets import VBox

MOVES = ("changed", "oscillates", "unstabilised", "unparsed")
NO_DECISION = "none"
READ = (Verdict.REASONABLE, Verdict.UNREASONABLE)


def first_verdict_round(rows: pd.DataFrame) -> int:
    """The round of the first letter of a design's paths: rounds held less the number of letters."""
    return int(rows["rounds"].iloc[0]) - len(rows["verdict_path"].iloc[0])


def by_round(rows: pd.DataFrame) -> pd.DataFrame:
    """The debates of one design, once per round, with `round`, `symbol` (R, U or ?) and `held`.

    A debate that stopped early keeps its last symbol, without being `held`.
    """
    paths, first = list(rows["verdict_path"]), first_verdict_round(rows)
    parts = []
    for place in range(max(map(len, paths))):
        symbols = [path[min(place, len(path) - 1)] for path in paths]
        held = [len(path) > place for path in paths]
        parts.append(rows.assign(round=first + place, symbol=symbols, held=held))
    return pd.concat(parts, ignore_index=True)


def path_moves(path: str) -> dict[str, bool]:
    """What a path does: `changed` and `oscillates` (returns to an earlier verdict) leave unparsed verdicts out.

    It is `unstabilised` if V* was reached in the last round alone; a V* that is UNPARSED was never reached. `unparsed`:
    some verdict is.

    >>> path_moves("RUR?RR")
    {'changed': True, 'oscillates': True, 'unstabilised': False, 'unparsed': True}
    """
    changes = sum(a != b for a, b in pairwise(path.replace("?", "")))
    ruling = stabilised_verdict([RULINGS[letter] for letter in path])
    late = ruling.verdict is not Verdict.UNPARSED and not ruling.stabilised
    flags = changes >= 1, changes >= 2, late, "?" in path
    return dict(zip(MOVES, flags, strict=True))


def verdict_rates(records: pd.DataFrame, by: Sequence[str] = (), *, intervals: bool = True) -> pd.DataFrame:
    """`verdict_tpr` = P(Reasonable | true passage), `verdict_tnr` = P(Unreasonable | false passage), of debates held.

    UNPARSED counts as neither, and in `n_unparsed`. `by`: any of `stratum`, `knowledge_category`, `domain`, `level`.
    """
    tables = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        for rate, rows, right in _halves(part.assign(stratum=strata), part["verdict"]):
            values = cells(rows, by)
            read = right.where(rows["verdict"] != Verdict.UNPARSED)
            table = shares(rows, right, values, intervals=intervals)
            unparsed = shares(rows, read, values, intervals=False)["n_missing"]
            tables.append((names | {"rate": rate}, table.assign(n_unparsed=unparsed)))
    return stack(tables)


def verdicts_by_round(records: pd.DataFrame) -> pd.DataFrame:
    """Both verdict rates if the debate ended after each round; one that stopped early keeps its last verdict.

    `n_held` counts the debates that ruled in that round; an unparsed verdict (`n_unparsed`) counts as neither.
    """
    tables = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        rows = by_round(part)
        rounds = sorted(rows["round"].unique())
        for rate, half, right in _halves(rows, rows["symbol"].map(RULINGS)):
            counted = half.assign(n_held=half["held"], n_unparsed=half["symbol"] == "?").groupby("round")
            counts = counted[["n_held", "n_unparsed"]].sum().reindex(rounds, fill_value=0).reset_index(drop=True)
            table = shares(half, right, {"round": rounds})
            tables.append((names | {"rate": rate}, table.join(counts)))
    return stack(tables)


def _halves(rows: pd.DataFrame, verdict: pd.Series) -> Iterator[tuple[str, pd.DataFrame, pd.Series]]:
    """Each rate, the rows it is about, and which of their verdicts are right."""
    for rate, (wanted, true) in RATES.items():
        here = is_standard(rows) == true
        yield rate, rows[here], verdict[here] == wanted


def with_kappa(records: pd.DataFrame, kappa: float = HARD) -> pd.DataFrame:
    """The records with the verdicts that a threshold κ on P(UNREASONABLE) makes of V* (`rule.graded`).

    Decisions and answers stay as they were: `Gating.from_records` of these records says what follows.
    """
    verdict = positions(records["verdict"], VERDICTS)
    ruled = graded(verdict, records["p_unreasonable"].to_numpy(float, na_value=np.nan), kappa)
    return records.assign(verdict=np.array([*map(str, VERDICTS[:-1]), None], object)[ruled])


def rates_by_kappa(records: pd.DataFrame, kappas: Sequence[float] = (), *, intervals: bool = True) -> pd.DataFrame:
    """`verdict_rates` at each κ (default: each at which a rate can change), of debates whose V* has a probability."""
    held = debates(records)
    return stack(
        [
            ({"kappa": kappa}, verdict_rates(with_kappa(part, kappa), intervals=intervals))
            for _, part in groups(held[held["p_unreasonable"].notna()], DESIGN_KEYS)
            for kappa in kappas or sorted({0.0, HARD, 1.0, *part["p_unreasonable"]})
        ]
    )


def verdict_discrimination(records: pd.DataFrame) -> pd.DataFrame:
    """Does the judge tell false passages from true ones? AUROC of its P(UNREASONABLE), of its word alone (UNREASONABLE
    before REASONABLE, so ½ (verdict_tpr + verdict_tnr)), and of the first less the second: one row each per design.

    All three are of the debates whose V* was read and has a probability; `n_missing` are the others. Intervals are
    clustered on the question.
    """
    tables = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        word = part["verdict"].map({Verdict.REASONABLE: 0.0, Verdict.UNREASONABLE: 1.0}).astype(float)
        p = part["p_unreasonable"].astype(float).where(word.notna())
        false, questions = ~is_standard(part), part["question_id"]
        found = {
            P_UNREASONABLE: auroc(p, false, questions),
            "the word": auroc(word.where(p.notna()), false, questions),
            "difference": auroc_gain(p, word, false, questions),
        }
        rows = [{"belief": name, "auroc": area.value} | asdict(area) for name, area in found.items()]
        columns = ["belief", "auroc", "low", "high", "n", "n_target", "n_missing"]
        tables.append((names, pd.DataFrame(rows, columns=columns)))
    return stack(tables)


# Debate as oversight: what a judge makes of the debate, and of less


def persuasion(
    records: pd.DataFrame,
    alone: str = "judge_alone",
    after: str = "acvd",
    *,
    conditions: Sequence[str] = ("standard", "perturbed", "overall"),
) -> pd.DataFrame:
    """How often a debate talks the Judge out of a right verdict and into one: condition × `move`, by SR-DCR's designs.

    ``lost``: of the items on which the Judge of the design `alone` is right, the share on which that of `after` is
    wrong; ``won``: of those on which it is wrong, the share on which `after` is right. An item of which one of the two
    verdicts was not read, or is not there, is in neither and in `n_missing`. Intervals are clustered on the question.
    Ours, after the persuasiveness of single debaters in Khan et al. 2024.
    """
    tables = []
    for names, part, present in comparable(records[records["method"] == "sr_dcr"], "design"):
        if not {alone, after} <= set(present):
            continue
        right = outcome(part, "verdict_right").mask(part["verdict"] == Verdict.UNPARSED)
        pairs = side_by_side(part, alone, after, right, column="design")
        for condition in conditions:
            both, asked = condition_rows(pairs, condition), condition_rows(part, condition)["item_id"].nunique()
            for move, before in (("lost", 1.0), ("won", 0.0)):
                base = both[both["a"] == before]
                table = shares(base, base["b"] != before).assign(n_missing=asked - len(both))
                tables.append((names | {"alone": alone, "after": after, "condition": condition, "move": move}, table))
    return stack(tables)


def decision_counts(records: pd.DataFrame) -> pd.DataFrame:
    """Group × condition × `decision`: its `share` of all items, failed ones ("none") included, and how they ended."""
    tables = []
    for names, part in groups(records):
        decided = part.assign(decision=part["decision"].astype(object).fillna(NO_DECISION))
        for condition, rows in decided.groupby(halves(part), sort=False) if part["decision"].notna().any() else ():
            correct = rows["correct"].astype("boolean")
            for decision in (*Decision, NO_DECISION):
                here = rows["decision"] == decision
                counts = {
                    "n_decided": int(here.sum()),
                    "n_right": int((here & correct.fillna(False)).sum()),
                    "n_wrong": int((here & ~correct.fillna(True)).sum()),
                    "n_missing": int((here & correct.isna()).sum()),
                }
                row = names | {"condition": condition, "decision": str(decision)}
                tables.append((row, _share(rows, here).assign(**counts)))
    return stack(tables)


def _share(rows: pd.DataFrame, hits: pd.Series) -> pd.DataFrame:
    return shares(rows, hits).drop(columns="n_missing")


def path_stability(records: pd.DataFrame) -> pd.DataFrame:
    """Group × condition × `move`: the share of verdict paths that do it (see `path_moves`), of those that can move."""
    tables = []
    for names, rows in _paths(records):
        moves = pd.DataFrame(list(map(path_moves, rows["verdict_path"])), index=rows.index)
        tables += [(names | {"move": move}, _share(rows, moves[move])) for move in MOVES]
    return stack(tables)


def r_star_distribution(records: pd.DataFrame) -> pd.DataFrame:
    """Group × condition × `r_star`: the share of debates whose verdict holds from that round on; they sum to 1.

    r* = R − 1 means not `stabilised`. Debates whose V* is UNPARSED have no r*: they are the row with `r_star` missing.
    Debates with a single verdict are left out.
    """
    tables = []
    for names, rows in _paths(records):
        r_star = rows["r_star"].astype("Int64")
        first = first_verdict_round(rows)
        last = first + int(rows["verdict_path"].astype(object).str.len().max()) - 1
        for value in (*range(first, last + 1), None):
            here = r_star.isna() if value is None else (r_star == value).fillna(False)
            stabilised = value is not None and value < last
            tables.append((names | {"r_star": value, "stabilised": stabilised}, _share(rows, here)))
    return stack(tables).astype({"r_star": "Int64"} if tables else {})


def _paths(records: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Debates of more than one verdict, by group and condition."""
    held = debates(records)
    for names, part in groups(held[held["verdict_path"].astype(object).str.len() > 1], DESIGN_KEYS):
        for condition, rows in (*part.groupby(halves(part), sort=False), ("overall", part)):
            yield names | {"condition": condition}, rows


def prior_preference_by_round(
    records: pd.DataFrame, by: Sequence[str] = ("stratum",), *, gate: bool = False
) -> pd.DataFrame:
    """Prior preference: on perturbed items, the share of answers equal to the prior one after each round of a debate.

    `debate` is ``judge_debate``, whose judge picks an answer after r rounds, or a design whose verdict of that round
    leads to an answer: Reasonable the context answer, Unreasonable the prior answer (with `gate` only where Conf ≥ τ),
    otherwise none. Items whose prior answer equals the claim have rows of their own. An item without an answer, or
    without a prior answer, is outside the share and in `n_missing`. Source: paper 4.3, Figures 4 and 9; for designs
    with verdicts ours.
    """
    answers = pd.concat([_judge_debates(records), _ended_debates(records, gate)], ignore_index=True)
    return preference_shares(answers, ("model", "debate", "round"), "follows_prior", by)


def _judge_debates(records: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``judge_debate_r``, by r."""
    methods = pd.Series(records["method"].unique(), dtype=object)
    rounds = methods.str.extract(r"^judge_debate_(\d+)$", expand=False).dropna().astype(int).sort_values()
    parts = [perturbed_answers(records, methods[i]).assign(debate="judge_debate", round=r) for i, r in rounds.items()]
    return pd.concat(parts or [perturbed_answers(records.iloc[:0]).assign(debate="", round=0)])


def _ended_debates(records: pd.DataFrame, gate: bool) -> pd.DataFrame:
    """Rows of every design's debates, one per item × round, as if the debate had ended there."""
    held = debates(records)
    held = with_claims(held[~is_standard(held)].reset_index(drop=True))
    parts = [by_round(part) for _, part in groups(held, DESIGN_KEYS)]
    rows = pd.concat(parts, ignore_index=True) if parts else held.assign(round=0, symbol="")
    belief, tau = (rows[name].to_numpy(float, na_value=np.nan) for name in ("self_confidence", "tau"))
    ruled = zip(rows["symbol"], belief, tau, strict=True)
    decision = np.array([decide(RULINGS[symbol], conf, tau, gate=gate) for symbol, conf, tau in ruled], object)
    follows = rows["context_is_prior"].where(decision == Decision.USE_CONTEXT)
    follows = follows.mask(decision == Decision.USE_PRIOR, True).where(rows["prior_answer"].notna())
    return rows.assign(debate=rows["design"].astype(object), follows_prior=follows)


_LEGEND = draw.TOP | {"ncols": 2, "columnspacing": 1.2}
_NO_VERDICTS = "no debate with verdicts in these records"


@dataclass(frozen=True)
class VerdictDisplay:
    """`by_round`: the table of `verdicts_by_round`; `r_star`: that of `r_star_distribution`; of one model."""

    by_round: pd.DataFrame
    r_star: pd.DataFrame

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Self:
        return cls(verdicts_by_round(records), r_star_distribution(records))

    @property
    def table(self) -> pd.DataFrame:
        """The data of `plot`."""
        return self.by_round

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both verdict rates after each round, a colour per design, with 95 % intervals."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        if self.by_round.empty:
            return draw.nothing(ax, _NO_VERDICTS)
        rows = with_debate(self.by_round)
        rows["series"] = rows["debate"] + ": " + rows["rate"]
        looks: dict[str, draw.Look] = {}
        for debate, colour in draw.colours(rows["debate"]).items():
            for rate, line, marker, face in (("tpr", "-", "o", colour), ("tnr", "--", "s", "white")):
                look = {"linestyle": line, "linewidth": 1.2, "marker": marker, "color": colour, "markerfacecolor": face}
                looks[f"{debate}: verdict_{rate}"] = look | {"label": f"{called(debate)}: verdict_{rate}"}
        draw.points(ax, rows["round"], rows, "series", looks, step=0.06, n="max")
        ax.set(xticks=sorted(rows["round"].unique()), xlabel="verdict after round")
        return draw.finish(ax, _LEGEND, ylim=draw.SHARES, ylabel="share of right verdicts")

    def plot_r_star(self, ax: Axes | None = None, condition: str = "overall") -> Axes:
        """Share of debates whose verdict stays from round r* on; last, those whose final verdict was not read. A round
        in which no debate came to rest has no bar and no interval."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        rows = self.r_star[self.r_star["condition"] == condition] if len(self.r_star) else self.r_star
        if rows.empty:
            return draw.nothing(ax, _NO_VERDICTS)
        rounds = [*map(str, sorted(rows["r_star"].dropna().unique())), "none"]
        rows = with_debate(rows).assign(r_star=rows["r_star"].map(str, na_action="ignore").fillna("none"))
        colours = draw.colours(rows["debate"])
        n = rows.groupby("debate")["n"].max()
        width = 0.8 / len(colours)
        for (debate, colour), shift in zip(colours.items(), draw.shifts(len(colours), width), strict=True):
            part = rows[(rows["debate"] == debate) & (rows["share"] > 0)]
            ax.bar(
                part["r_star"].map(rounds.index) + shift, part["share"], 0.9 * width, yerr=draw.distances(part),
                color=colour, error_kw={"elinewidth": 1, "capsize": 1.5}, label=f"{called(debate)} (n = {n[debate]})",
            )  # fmt: skip
        last = f"{rounds[-2]}: not stabilised; " if len(rounds) > 1 else ""
        ax.set_xlabel(f"r*, the round from which the verdict stood\n({last}none: last verdict unparsed)")
        ax.set_xticks(range(len(rounds)), rounds)
        return draw.finish(ax, _LEGEND, ylim=(0, 1.03), ylabel="share of debates")


def with_debate(table: pd.DataFrame) -> pd.DataFrame:
    """With the column `debate`, what tells these rows apart: the design, the method where several methods debate under
    one design or some do not debate, or both; the method where there is no debate."""
    design, method = table["design"].astype(object), table["method"].astype(object)
    debating = design.notna()
    name, alike = design.fillna(method), design[debating].nunique() == 1
    if method[debating].nunique() > 1 or (alike and not debating.all()):
        both = [called(*pair) if isinstance(pair[1], str) else pair[0] for pair in zip(method, design, strict=True)]
        name = method if alike else pd.Series(both, table.index)
    return table.assign(debate=name)


class RatesDisplay(draw.Display):
    """Rates of the final verdict, by design: the table of `srdcr_lab.debates.verdict_rates` of one model."""

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Self:
        return cls(verdict_rates(records))

    def plot(self, ax: Axes | None = None) -> Axes:
        """`verdict_tpr` and `verdict_tnr` with 95 % intervals, and their mean as a bar: 0.5 is a judge that guesses."""
        if self.table.empty:
            return draw.nothing(draw.axes(ax, 3.4, 1.56), _NO_VERDICTS)
        means = self.table.groupby("design", sort=False)["share"].mean()
        ax = draw.named_rows(
            ax, [called(name) for name in means.index], (2.9, 0.8, 0.38), least=2, margin=0.6, fontsize=draw.SMALL
        )
        ax.axvline(0.5, color="0.8", linewidth=0.8, linestyle="--")
        ax.scatter(means, range(len(means)), marker="|", s=130, color="0.25", label="mean of the two", zorder=3)
        looks = {
            "verdict_tpr": {"color": draw.BLUE, "label": "Reasonable | true passage"},
            "verdict_tnr": {"color": draw.ORANGE, "label": "Unreasonable | false passage"},
        }
        y, _ = pd.factorize(self.table["design"])
        draw.points(ax, y, self.table, "rate", looks, step=0.28, across=True, n="max")
        return draw.finish(ax, draw.BELOW, left=False, xlim=draw.SHARES, xlabel="share of verdicts")


class GradedVerdictDisplay(draw.Display):
    """Both verdict rates at every κ: the table of `srdcr_lab.debates.rates_by_kappa` of one model."""

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> Self:
        return cls(rates_by_kappa(records, intervals=False))

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line per design from κ = 0, where nothing is believed, to 1; a mark at the words, κ = ½."""
        ax = draw.axes(ax, 4.4, 4.2)
        if self.table.empty:
            return draw.nothing(ax, "no verdict with a probability in these records")
        rows = with_debate(self.table)
        guessing_line(ax)
        for debate, colour in draw.colours(rows["debate"]).items():
            part = rows[rows["debate"] == debate].pivot(index="kappa", columns="rate", values="share")
            x, y = part["verdict_tpr"], part["verdict_tnr"]
            n = rows.loc[rows["debate"] == debate].groupby("rate")["n"].max().sum()
            ax.plot(x, y, color=colour, linewidth=1.2, label=f"{called(debate)} (n = {n})")
            ax.plot(x[HARD], y[HARD], "o", color=colour)
        ax.set(aspect="equal", xlabel="true passages believed (verdict_tpr)", xlim=draw.SHARES)
        return draw.finish(ax, draw.TOP, ylim=draw.SHARES, ylabel="false passages caught (verdict_tnr)")


def guessing_line(ax: Axes) -> None:
    """The line of judges that know nothing of the passage: what they believe more of the true, they catch less."""
    ax.plot([0, 1], [1, 0], color="0.7", linewidth=1, linestyle="--", label="knows nothing of the passage")


class PriorPreferenceByRoundDisplay(draw.Display):
    """The table of `srdcr_lab.debates.prior_preference_by_round` of one model and one kind of debate, by stratum."""

    @classmethod
    def from_records(cls, records: pd.DataFrame, debate: str = "judge_debate", *, gate: bool = False) -> Self:
        """`debate` is ``judge_debate`` or the name of a design whose verdicts are in the records. Strata all of which
        have fewer than `FEW` questions are one line together."""
        table = prior_preference_by_round(records, ("stratum",), gate=gate)
        if len(table) and draw.is_few(table[~table["prior_is_claim"]]).all():
            table = prior_preference_by_round(records, (), gate=gate).assign(stratum=TOGETHER)
        return cls(table[(table["debate"] == debate) & ~table["prior_is_claim"]] if len(table) else table)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line per stratum over the rounds, darker where the claim is farther off; 95 % intervals."""
        ax = draw.axes(ax, draw.WIDEST, 3.4)
        if self.table.empty:
            return draw.nothing(ax, "no such debate in these records")
        rows = self.table.sort_values("round", kind="stable")
        rounds, names = rows["round"].unique(), self.table["stratum"].unique()
        palette = sns.color_palette("flare", len(names))
        looks = {name: {"color": colour, "label": name} for name, colour in zip(names, palette, strict=True)}
        step = 0.09 * min(np.diff(rounds), default=1)
        for name, part in draw.points(ax, rows["round"], rows, "stratum", looks, step=step, n="max").items():
            draw.join(ax, part, color=looks[name]["color"], linewidth=1.2)
        ax.set_xticks(rounds, [str(number) for number in rounds])
        return draw.finish(
            ax, draw.BELOW, xlabel="debate ends after round", ylim=draw.SHARES, ylabel="prior preference"
        )


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
