"""Chapter 09: several models side by side: what was tested, what each method gains, how the models differ. Ours.

Models are compared in pairs on the items that both were asked; the independent units are the questions. The column
`model` is the run's model, with the name of the run in brackets where several runs are of one model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab.confidence import auroc, precision_steps
from srdcr_lab.debates import MOST_REPEATS, path_moves, repeated_turns
from srdcr_lab.evaluation import weighted_back, weighted_leads
from srdcr_lab.final_answer import utility
from srdcr_lab.knowledge import draw_categories
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import OF_A_COMPARISON, compare, compare_pairs, corrected, outcome, side_by_side
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.groups import CATEGORY_NAMES, FEW, by_group, debates, groups, is_standard, of_design, stack
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import Sentence, answer_box, sentences
from srdcr_lab.lib.statistics import Estimate, holm
from srdcr_lab.preference import perturbed_answers
from srdcr_lab.records import Decision, Role
from srdcr_lab.records.names import called, model_called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

_QUESTION = ["question", "gold_answer"]  # question_ids of two tables may be the same by chance
_ITEM = ["item_id", *_QUESTION, "claimed_answer"]
METHODS_SHOWN = ("few_shot", "confidence_only", "calibrated_token_probability", "sr_dcr", "golden")
PAIRS = (("sr_dcr", "few_shot"), ("sr_dcr", "confidence_only"), ("confidence_only", "few_shot"))


@dataclass(frozen=True)
class Models:
    """The runs of several models, each table with the column `model`; debates are only of the design `acvd`.

    Attributes
    ----------
    records : DataFrame
        Records of all runs.
    questions : DataFrame
        All questions that a model was asked from memory.
    turns : DataFrame
        Turns of all runs.
    weights : mapping of str to DataFrame
        Model → the weights of a study whose questions were chosen.
    label : str
        The models behind the numbers.
    """

    records: pd.DataFrame
    questions: pd.DataFrame
    turns: pd.DataFrame
    weights: Mapping[str, pd.DataFrame]
    label: str

    @classmethod
    def of(cls, runs: Mapping[str, Results]) -> Models:
        """Combine opened runs.

        Parameters
        ----------
        runs : mapping of str to Results
            Name → run.

        Returns
        -------
        Models
            The combined tables.

        Raises
        ------
        BadInput
            A run has not ended.
        """
        models = [model_called(run.finished().records["model"].iloc[0]) for run in runs.values()]
        pairs = zip(models, runs, strict=True)
        names = [f"{model} ({run})" if models.count(model) > 1 else model for model, run in pairs]
        named = dict(zip(names, runs.values(), strict=True))

        def table(of: str) -> pd.DataFrame:
            tables = [(name, run.known if of == "questions" else run) for name, run in named.items()]
            rows = pd.concat([getattr(run, of).assign(model=name) for name, run in tables], ignore_index=True)
            return of_design(rows, "acvd") if "design" in rows else rows

        return cls(
            table("records"), table("questions"), table("turns"),
            {name: run.weights for name, run in named.items() if run.weights is not None},
            "; ".join(dict.fromkeys(run.label for run in runs.values())),
        )  # fmt: skip

    @property
    def asked(self) -> str:
        """Return the debated questions in words, for a caption.

        Returns
        -------
        str
            Text such as "60 chosen questions".
        """
        chosen = "chosen " if self.weights else ""
        return f"{self.records.groupby('model')['question_id'].nunique().max()} {chosen}questions"


def answer(models: Models) -> Html:
    """Make the answer box of notebook 09: SR-DCR against few-shot and Confidence Only, and signs of a debate.

    Parameters
    ----------
    models : Models
        The runs.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    gains = leads(models, [("sr_dcr", "few_shot"), ("confidence_only", "sr_dcr")]).query("not weighted")
    pairs = [
        sentences("{a} is right more often than {b}", pair, "difference", by=["model"], n="n_questions")
        for _, pair in gains.groupby("a", sort=False)
    ] or [Sentence("No run has SR-DCR with rulings beside another method.")]
    tested = what_was_tested(models)
    untested = tested[~tested["model"].isin(gains.loc[gains["a"] == "sr_dcr", "model"])]
    reason = untested["rulings_read"].map({0.0: "no ruling could be read"}).fillna("it was not run beside Few-Shot")
    for why, names in untested["model"].groupby(reason.mask(untested["debates"] == 0, "no debate (ACVD) was held")):
        pairs[-1] = Sentence(f"{pairs[-1]} SR-DCR was not tested for {', '.join(sorted(names))}: {why}.")
    spoken = tested.dropna(subset=["defender_repeats", "critic_repeats"])
    repeats = "; ".join(
        f"{row.model}: Defender {row.defender_repeats:.0%}, Critic {row.critic_repeats:.0%}"
        for row in spoken.itertuples()
    )
    argued = f"Later turns that nearly repeat an earlier one of the same debater: {repeats}."
    repeaters = spoken.loc[spoken[["defender_repeats", "critic_repeats"]].max(axis=1) > MOST_REPEATS, "model"]
    if len(repeaters):
        argued += f" So what arguments are worth was not tested for {', '.join(repeaters)}."
    return answer_box(
        Sentence(f"On {models.asked}, a missing answer counted as wrong: {pairs[0]}"), *pairs[1:],
        argued if repeats else "No run holds a debate.", label=models.label,
    )  # fmt: skip


def what_was_tested(models: Models) -> pd.DataFrame:
    """Tabulate what each run can tell.

    Parameters
    ----------
    models : Models
        The runs.

    Returns
    -------
    DataFrame
        One row per model: `n_questions` asked from memory, `n_shared` of them with another model; `debates`;
        `rulings_read`, the share of rulings that could be read; `defender_repeats` and `critic_repeats`, the shares of
        later turns that nearly repeat an earlier one; `verdict_changes`, the share of debates whose verdict changes;
        `not_tested`, in words.
    """
    asked = models.questions.drop_duplicates(["model", *_QUESTION])
    shared = asked[asked.duplicated(_QUESTION, keep=False)]
    spoken = models.turns[models.turns["method"] == "sr_dcr"]
    repeats = repeated_turns(spoken.assign(run=spoken["model"])).set_index(["model", "role"])["share"]
    rows = []
    for name, part in models.records.groupby("model", sort=False):
        paths = debates(part)["verdict_path"]
        rulings = "".join(paths)
        defender, critic = (repeats.get((name, role)) for role in (Role.DEFENDER, Role.CRITIC))
        repetitive = any(share > MOST_REPEATS for share in (defender, critic) if share is not None)
        drawn = asked.loc[asked["model"] == name, "knowledge_category"].notna()
        n_shared = int((shared["model"] == name).sum())
        decided = {*part[part["method"] == "sr_dcr"].get("decision", ())}
        missing = {
            "SR-DCR (no debate by ACVD)": not rulings,
            "SR-DCR (no ruling could be read)": bool(rulings) and set(rulings) == {"?"},
            "what arguments are worth (debaters repeat themselves)": repetitive,
            "what memory adds (never taken)": bool(decided) and Decision.USE_PRIOR not in decided,
            "knowledge categories (no draws)": not drawn.any(), "false passages": bool(is_standard(part).all()),
            "any other model (no question shared)": not n_shared,
        }  # fmt: skip
        rows.append({
            "model": name, "n_questions": len(drawn), "n_shared": n_shared, "debates": len(paths),
            "rulings_read": 1 - rulings.count("?") / len(rulings) if rulings else None,
            "defender_repeats": defender, "critic_repeats": critic,
            "verdict_changes": paths.map(path_moves).str["changed"].mean() if rulings.strip("?") else None,
            "not_tested": "; ".join(what for what, is_missing in missing.items() if is_missing) or None,
        })  # fmt: skip
    return pd.DataFrame(rows)


def _ruling(records: pd.DataFrame) -> list[str]:
    """Models whose Judge gave rulings: without any, SR-DCR was not tested."""
    held = debates(records)
    return [*held.loc[held["verdict_path"].str.contains("[RU]").astype(bool), "model"].unique()]


def knowledge(models: Models, tau: float = 0.90) -> pd.DataFrame:
    """Compute what each model knows, over all its questions, and how well its confidence shows it.

    Parameters
    ----------
    models : Models
        The runs.
    tau : float, default 0.9
        Confidence threshold τ in [0, 1].

    Returns
    -------
    DataFrame
        One row per model: the share in each knowledge category; `auroc` of confidence for Highly-Known questions, of
        the `n_auroc` with a confidence; `precision`, P(Highly-Known | Conf ≥ τ), of the `n_above` questions there; each
        with its 95 % interval. `auroc` is missing for fewer than ten questions that are Highly-Known, or that are not;
        `precision` for fewer than ten above τ.
    """

    def known_of(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        category, known = part["knowledge_category"], highly_known(part)
        area, sure = auroc(part["self_confidence"], known), precision_steps(part["self_confidence"], known).at(tau)
        n = int(category.notna().sum())
        row: dict[str, Any] = {"n": n} | {name: (category == name).sum() / n if n else None for name in CATEGORY_NAMES}
        classes = [(known[part["self_confidence"].notna()] == side).sum() for side in (True, False)]
        row |= {"n_auroc": area.n} | (area if min(classes) >= FEW else Estimate()).columns("auroc")
        precision = sure.precision if sure.n_above >= FEW else Estimate()
        yield row | precision.columns("precision") | {"n_above": sure.n_above}

    return by_group(models.questions, known_of, ("model",))


def weighted_accuracy(models: Models) -> pd.DataFrame:
    """Compute accuracy, coverage and utility of each method by model, and accuracy weighted to all questions.

    Parameters
    ----------
    models : Models
        The runs.

    Returns
    -------
    DataFrame
        One row per model × method of `METHODS_SHOWN`: `accuracy` (the mean of true and false passages; a missing
        answer is wrong), `coverage`, `selective_accuracy`, `utility` at cost 1, and `weighted`, the accuracy weighted
        to all questions that the asked ones were chosen from, each with its 95 % interval.
    """
    tables = []
    shown = models.records[models.records["method"].isin(METHODS_SHOWN)]
    shown = shown.sort_values("method", key=lambda names: names.map(METHODS_SHOWN.index), kind="stable")
    for names, part in groups(shown, ("model",)):
        worth = utility(part, [0.0, 1.0]).set_index(["cost", "method"])
        table = worth.loc[0.0, ["n", "coverage", *(f"selective_accuracy{end}" for end in ("", "_low", "_high"))]]
        for cost, name in ((0.0, "accuracy"), (1.0, "utility")):
            ends = worth.loc[cost, ["utility", "low", "high"]]
            table = table.join(ends.set_axis([name, f"{name}_low", f"{name}_high"], axis=1))
        if names["model"] in models.weights:
            back = weighted_back(part, models.weights[names["model"]]).set_index("method")
            table = table.join(back[["weighted", "weighted_low", "weighted_high"]])
        table.loc[table["coverage"] == 0, ["utility", "utility_low", "utility_high"]] = None  # it was not tested
        tables.append((names, table.reset_index()))
    return stack(tables)


def leads(models: Models, pairs: Sequence[tuple[str, str]] = PAIRS) -> pd.DataFrame:
    """Compare pairs of methods by right answers, for each model.

    Parameters
    ----------
    models : Models
        The runs.
    pairs : sequence of tuple of str, str, default PAIRS
        Pairs of methods.

    Returns
    -------
    DataFrame
        One row per model × pair on the items asked, and one that is `weighted` to all questions if the questions were
        chosen: `difference` with its 95 % interval. `p_holm` is over the models for each pair, and missing for weighted
        rows. SR-DCR is left out if its Judge gave no ruling, because it was not tested.
    """
    rows, ruling = [], _ruling(models.records)
    for names, part in groups(models.records, ("model",)):
        methods = set(part["method"]) - (set() if names["model"] in ruling else {"sr_dcr"})
        for a, b in (pair for pair in pairs if set(pair) <= methods):
            name = names | {"a": a, "b": b, "name": f"{called(a)} minus {called(b)}\n{names['model']}"}
            rows.append(name | {"weighted": False} | compare(part, a, b).columns())
            if (weights := models.weights.get(names["model"])) is not None:
                (back,) = weighted_leads(part[part["method"].isin([a, b])], weights, a).to_dict("records")
                rows.append(name | {"weighted": True} | back)
    table = pd.DataFrame(rows, columns=_OF_A_LEAD)
    plain = table[~table["weighted"].astype(bool)]
    return table.assign(p_holm=plain.groupby(["a", "b"])["p_value"].transform(holm))


_OF_A_LEAD = "model a b name weighted p_value difference low high n n_questions".split()


def compare_models(models: Models) -> pd.DataFrame:
    """Compare every two models on what both were asked.

    Compared are: right answers from memory, over all shared questions; few-shot answers to false passages that equal
    the claim, if it was read and neither model had that answer before; right verdicts; right answers of few-shot and of
    SR-DCR. Missing answers and unread verdicts are wrong. The last two weight true and false passages alike. Verdicts
    and SR-DCR are compared only for models whose Judge gave rulings. Items are the same if id, question, gold answer
    and claim agree.

    Parameters
    ----------
    models : Models
        The runs.

    Returns
    -------
    DataFrame
        One row per `quantity` and pair, with the columns of `Comparison` (A minus B). `corrected` over the whole table;
        a pair without a common item has n = 0.
    """
    rows = []
    for quantity, of_items, values, macro in _quantities(models):
        for a, b in combinations(of_items["model"].unique(), 2):
            pairs = side_by_side(of_items, a, b, values, column="model")
            name = {"quantity": quantity, "name": f"{a} minus {b}", "a": a, "b": b}
            rows.append(name | compare_pairs(pairs, macro=macro).columns())
    table = pd.DataFrame(rows, columns=["quantity", "name", "a", "b", *OF_A_COMPARISON])
    return corrected(table)


def _quantities(models: Models) -> Iterator[tuple[str, pd.DataFrame, pd.Series, bool]]:
    """Name, rows keyed as `_ITEM`, the value of each, and whether both halves weigh the same."""
    records = models.records
    of_models = [part for _, part in groups(records, ("model",))]
    questions = models.questions.drop_duplicates(["model", *_QUESTION], ignore_index=True)
    right = questions["prior_correct"].astype("boolean").fillna(False).astype(float)
    yield "right from memory", _keyed(questions.assign(level=""), _QUESTION), right, False
    false = pd.concat(map(perturbed_answers, of_models), ignore_index=True)
    follows = false["follows_claim"].astype("Float64").astype(float)
    yield "false passages followed", _keyed(false), follows.where(~false["prior_is_claim"]), False
    ruling = records["model"].isin(_ruling(records))
    held = pd.concat(map(debates, of_models), ignore_index=True)
    held = held[held["model"].isin(records.loc[ruling, "model"])]
    yield "verdicts right", _keyed(held), outcome(held, "verdict_right"), True
    for method in ("few_shot", "sr_dcr"):  # whose answers are compared between models
        own = records[(records["method"] == method) & (ruling | (method != "sr_dcr"))]
        yield f"{called(method)} right", _keyed(own), outcome(own, "correct"), True


def _keyed(rows: pd.DataFrame, keys: Sequence[str] = _ITEM) -> pd.DataFrame:
    """With ids that two models share only where these columns agree."""

    def joined(first: str, *others: str) -> pd.Series:
        return rows[first].astype("string").str.cat(rows[list(others)].astype("string"), sep="\n", na_rep="")

    return rows.assign(item_id=joined(*keys), question_id=joined(*_QUESTION))


def draw_knowledge(table: pd.DataFrame) -> Figure:
    """Draw the knowledge categories of each model, a bar per model.

    Parameters
    ----------
    table : DataFrame
        As returned by `knowledge`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    return draw_categories(table.melt(["model", "n"], list(CATEGORY_NAMES), "knowledge_category", "share"), "model")


def draw_leads(table: pd.DataFrame, asked: str = "questions asked") -> Figure:
    """Draw the differences between methods, with a panel for the questions asked and one for the weighted results.

    Parameters
    ----------
    table : DataFrame
        As returned by `leads`.
    asked : str, default "questions asked"
        Name of the first panel.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    halves = table["weighted"].map({False: asked, True: "weighted to all"})
    return draw.differences(table.drop(columns="p_holm").assign(condition=halves), "difference in right answers")


def draw_models(table: pd.DataFrame) -> Figure:
    """Draw the differences between models, with a panel per quantity and the n of its pairs.

    Parameters
    ----------
    table : DataFrame
        As returned by `compare_models`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    counts = table[table["n"] > 0].groupby("quantity")["n"].unique()
    counted = {name: f"{name} (n = {', '.join(map(str, of))})" for name, of in counts.items()}
    rows = table[table["quantity"].isin(counted)].assign(quantity=lambda shown: shown["quantity"].map(counted))
    return draw.differences(rows, "difference of the shares", panel="quantity", below=True)
