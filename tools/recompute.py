"""Recompute every number of a results folder with code that shares nothing with the package.

    python tools/recompute.py results/study [--store results/store.sqlite] [--figures figures] [--brief]

It imports numpy, pandas and scipy, and no line of `srdcr_lab`. It starts from the rawest thing that is there: replies'
texts, tokens and log-probabilities in `turns.parquet` and `samples.parquet`, questions in `items.json`, choices in
`run.json`; and, where a store lies in the folder or beside it, the replies that no table shows (the answers with a
passage, and token counts). From these it makes anew what was read from each reply (`recompute_replies.py`), the columns
of `records.parquet` (here), every row and column of `summary.csv` with its intervals and, with `--figures`, the tables
that notebook 05 draws from the same study (`recompute_tables.py`); and the counts of `run.json`.

It prints a line for each number of the tables and of `run.json`, one for each column of replies and records (how many
cells, how many differ) and for the first cells that differ, and what it could not recompute, with the reason. Exit
code 1 where a number differs by more than 1e-9.

Definitions are the paper's and those that the Parquet files carry in their schemas. The published help texts alone say
ties of naive debate (`majority`), percentile ranks (`by_percentile`), and what `recompute_tables.py` names.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import recompute_figures as figures
import recompute_tables as tables
from recompute_replies import answered, compare_store, load, meaning, missing, read, reread, right, spelled

TOLERANCE = 1e-9


class Ledger:
    """Numbers side by side, and what could not be recomputed."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, Any, Any, bool]] = []
        self.left_out: Counter[str] = Counter()

    def number(self, name: str, theirs: Any, ours: Any, tolerance: float = TOLERANCE) -> None:
        self.lines.append((name, theirs, ours, equal(theirs, ours, tolerance)))

    def column(self, name: str, keys: Any, theirs: Any, ours: Any) -> None:
        """A line for the column, and one for each of the first ten cells that differ."""
        cells = list(zip(keys, theirs, ours, strict=True))
        wrong = [(f"{name}  {key}", a, b, False) for key, a, b in cells if not equal(a, b)]
        self.lines += [*wrong[:10], (f"{name}: cells that differ, of {len(cells)}", len(wrong), 0, not wrong)]

    def leave_out(self, what: str, why: str, n: int = 1) -> None:
        self.left_out[f"{what}: {why}"] += n

    def show(self, brief: bool) -> int:
        """Print everything; the exit code."""
        wrong = [line for line in self.lines if not line[3]]
        width = max(len(line[0]) for line in self.lines)
        print(f"{'number':{width}}  {'theirs':>22}  {'ours':>22}  difference")
        for name, theirs, ours, same in wrong if brief else self.lines:
            gap = f"{theirs - ours:.1e}" if is_number(theirs) and is_number(ours) else ""
            shown = ["" if missing(each) else str(each)[:22] for each in (theirs, ours)]
            print(f"{name:{width}}  {shown[0]:>22}  {shown[1]:>22}  {gap}{'' if same else '  <- differs'}")
        for what, n in self.left_out.items():
            print(f"not recomputed ({n}): {what}")
        print(f"{len(self.lines)} lines, {len(wrong)} differ; {sum(self.left_out.values())} cells not recomputed")
        return 1 if wrong else 0


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not missing(value)


def equal(a: Any, b: Any, tolerance: float = TOLERANCE) -> bool:
    a, b = (each.tolist() if isinstance(each, np.ndarray) else each for each in (a, b))
    if missing(a) or missing(b):
        return missing(a) and missing(b)
    return bool(a == b or (is_number(a) and is_number(b) and abs(a - b) <= tolerance))


# --- records: one row per item and method ----------------------------------------------------------------------------

CONFIDENCE = {  # design.md, section 3, of the probabilities of the tokens that spell the answer
    "mean_logprob": lambda p: float(np.exp(np.log(p).mean())),
    "sequence": lambda p: float(p.prod()),
    "mean_probability": lambda p: float(p.mean()),
}
RULED = ("sr_dcr", "debate_only", "confidence_only", "golden", "token_probability", "calibrated_token_probability")
ASKS = {  # the answers that a method asks for beyond the turns that it keeps; golden's depend on the item
    "few_shot": ("passage",),
    "zero_shot": ("bare",),
    **dict.fromkeys(("self_ask", "rci", "naive_debate", "vote_20", "astute"), ()),
    **dict.fromkeys((*RULED, "judge_debate_1", "judge_debate_3", "judge_debate_5"), ("passage", "memory")),
}


def category(accuracy: float, highly: float, maybe: float) -> str:
    """Table 3 of the paper."""
    known = "WEAKLY_KNOWN" if accuracy > 0 else "UNKNOWN"
    return "HIGHLY_KNOWN" if accuracy >= highly else "MAYBE_KNOWN" if accuracy >= maybe else known


def from_memory(folder: SimpleNamespace, item: dict[str, Any], ledger: Ledger) -> SimpleNamespace:
    """What the replies to a question without a passage say, as columns, with the probabilities of the prior answer."""
    of = folder.samples[folder.samples.question_id == item["question_id"]]
    draws, greedy, again = (of[of.stream == stream] for stream in ("knowledge", "greedy", "self_consistency"))
    share = float(draws.right.mean()) if len(draws) else None
    bounds = folder.choices["highly_known_from"], folder.choices["maybe_known_from"]
    row: dict[str, Any] = {
        "sampled_accuracy": share,
        "n_samples": len(draws),
        "prior_answer": None,
        "prior_correct": None,
    }
    row["knowledge_category"] = None if share is None else category(share, *bounds)
    known = SimpleNamespace(row=row, p=np.array([]), others={})
    known.reply = answered(folder, item, False, folder.choices["exemplars"])
    if len(greedy):
        first = greedy.iloc[0]
        row |= {"prior_answer": first.ours, "prior_correct": right(first.ours, item)}
        known.p = spelled(first.ours, first.tokens, first.logprobs)
        if known.reply is not None:
            ledger.number(f"samples.text {first.key}, as in the store", first.text, known.reply.text)
        if len(again):
            drawn = [meaning(answer, item["answer_type"]) for answer in again.ours]
            shares = np.array(list(Counter(drawn).values())) / len(drawn)
            known.others["self_consistency"] = drawn.count(meaning(first.ours, item["answer_type"])) / len(drawn)
            known.others["semantic_entropy"] = 1 + float((shares * np.log(shares)).sum() / np.log(len(drawn)))
        if item["question"] in folder.doubts:
            known.others["p_true"] = folder.doubts[item["question"]]
    return known


def with_passage(folder: SimpleNamespace, item: dict[str, Any], published: Any, ledger: Ledger) -> SimpleNamespace:
    """The answer to question and passage, from the store; as published where its reply is not there or not clear."""
    reply = answered(folder, item, True, folder.choices["exemplars"])
    answer = read(reply.text, reply.finish_reason, item["answer_type"]) if reply else None
    if answer is None:
        ledger.leave_out("records.context_answer", "no clear reply in the store: the published answer is used")
        answer = published.context_answer
    weighed = [] if missing(published.context_confidence) else [published.context_confidence]
    p = np.array(weighed) if reply is None else spelled(answer, reply.tokens, reply.logprobs)
    return SimpleNamespace(answer=answer, p=p, reply=reply, bare=answered(folder, item, True, 0))


def debated(turns: pd.DataFrame) -> dict[str, Any]:
    """Rounds, verdict path, V* and r* [3.1], and the round in which agents agreed."""
    row: dict[str, Any] = dict.fromkeys(("verdict", "verdict_path", "r_star", "stabilised", "rounds", "agreed_round"))
    if not len(turns):
        return row
    row["rounds"] = turns["round"].max() + 1
    last = turns[turns["round"] == row["rounds"] - 1]
    path = turns[turns.ruled.notna()].groupby("round").ruled.last()
    if len(path):
        row["verdict"] = path.iloc[-1]
        if "chance" in turns:
            row["p_unreasonable"] = turns[turns.ruled.notna() & (turns["round"] == path.index[-1])].chance.mean()
        letters = row["verdict_path"] = "".join("?" if each == "UNPARSED" else each[0] for each in path)
        stands_from = len(letters.rstrip(letters[-1]))
        if set(turns.role) != {"judge"}:  # without a debate nothing can settle
            row["r_star"] = None if letters[-1] == "?" else path.index[stands_from]
            row["stabilised"] = letters[-1] != "?" and stands_from < len(path) - 1
    elif set(last.method) == {"naive_debate"}:
        said = {meaning(answer, item["answer_type"]) for answer, item in zip(last.ours, last["item"], strict=True)}
        row["agreed_round"] = row["rounds"] - 1 if len(said) == 1 and None not in said else None
    return row


def decision(row: dict[str, Any], beliefs: list[float], gate: bool) -> str:
    """USE_CONTEXT, USE_PRIOR or ABSTAIN: the rule of section 3.2, or what a method leaves of it."""
    sure = not missing(row["self_confidence"]) and row["self_confidence"] >= row["tau"]
    if row["verdict"] is not None:
        free = row["method"] == "debate_only" or not gate
        unless = "USE_PRIOR" if row["verdict"] == "UNREASONABLE" and (sure or free) else "ABSTAIN"
        return "USE_CONTEXT" if row["verdict"] == "REASONABLE" else unless
    whose = {"confidence_only": sure, "golden": row["level"] != "standard"}
    remembers = whose.get(row["method"], beliefs[0] > beliefs[1])
    return "USE_PRIOR" if remembers else "USE_CONTEXT"


def most_frequent(answers: list[Any], kind: str) -> Any:
    """The most frequent answer, of several the one given first; None where none was read."""
    keys = [meaning(answer, kind) for answer in answers]
    counts = Counter(key for key in keys if key is not None)
    return answers[keys.index(counts.most_common(1)[0][0])] if counts else None


def percentile(value: float, among: list[float]) -> float:
    """Share of the values below, those equal to it counted half."""
    return float(np.mean([(each < value) + (each == value) / 2 for each in among]))


def recomputed(folder: SimpleNamespace, ledger: Ledger) -> pd.DataFrame:
    """`records` anew, in their order. A cell without a rule here is as published, and the ledger says so."""
    published = folder.records.groupby("item_id")[["context_answer", "context_confidence"]].first()
    without = {name: from_memory(folder, item, ledger) for name, item in folder.questions.items()}
    within = {name: with_passage(folder, item, published.loc[name], ledger) for name, item in folder.items.items()}
    among = [[each.p.mean() for each in of.values() if len(each.p)] for of in (without, within)]
    turns_of = folder.turns.fillna({"design": ""}).sort_values("position", kind="stable")
    turns_of = dict(list(turns_of.groupby(["item_id", "method", "design"])))
    rows = []
    for record in folder.records.to_dict("records"):
        item, method, kind = folder.items[record["item_id"]], record["method"], record["confidence_kind"]
        memory, passage = without[record["question_id"]], within[record["item_id"]]
        turns = turns_of.get((record["item_id"], method, record["design"] or ""), folder.turns.iloc[:0])
        row = {name: record[name] for name in ("method", "design", "confidence_kind", "error")}
        row |= {name: item[name] for name in item if name in record} | memory.row | debated(turns)
        row |= {"gold_answers": [item["gold_answer"], *item["other_gold_answers"]], "n_options": len(item["options"])}
        row |= {"n_documents": len(item["documents"]), "tau": folder.choices["tau"], "model": record["model"]}
        for role in ("defender", "critic", "judge"):
            row[f"model_{role}"] = record[f"model_{role}"] if "judge" in set(turns.role) else None
        row |= {"context_answer": passage.answer, "context_correct": right(passage.answer, item)}
        if kind in CONFIDENCE:
            row["self_confidence"] = CONFIDENCE[kind](memory.p) if len(memory.p) else None
        elif kind is None or kind in memory.others:
            row["self_confidence"] = memory.others.get(kind)
        else:
            ledger.leave_out("records.self_confidence", f"no rule here for {kind}")
            row["self_confidence"] = record["self_confidence"]
        beliefs = [float(each.p.mean()) if len(each.p) else np.nan for each in (memory, passage)]
        row["context_confidence"] = beliefs[1] if method.endswith("token_probability") else None
        if method == "calibrated_token_probability":
            beliefs = [percentile(*each) for each in zip(beliefs, among, strict=True)]
        row["decision"] = decision(row, beliefs, folder.choices["gate"]) if method in RULED else None
        row |= ended(record, row, item, turns, passage, ledger)
        row |= cost(row, turns, passage, memory)
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)


def ended(
    record: dict[str, Any],
    row: dict[str, Any],
    item: dict[str, Any],
    turns: pd.DataFrame,
    passage: SimpleNamespace,
    ledger: Ledger,
) -> dict[str, Any]:
    """The final answer of a row, and whether it is right or why it is missing."""
    method, answers = row["method"], list(turns[turns["round"] == turns["round"].max()].ours)
    if row["error"] is not None:
        return {"decision": None, "final_answer": None, "final_answers": [], "correct": None, "missing": "error"}
    if method in RULED:
        answer = {"USE_CONTEXT": passage.answer, "USE_PRIOR": row["prior_answer"]}.get(row["decision"])
    elif method == "few_shot":
        answer = passage.answer
    elif method in ("naive_debate", "vote_20"):
        answer = most_frequent(answers, item["answer_type"])
    elif method in ("self_ask", "rci", "astute") or method.startswith("judge_debate"):
        answer = answers[-1]
    else:
        answer = read(passage.bare.text, passage.bare.finish_reason, item["answer_type"]) if passage.bare else None
        if method != "zero_shot" or answer is None:
            ledger.leave_out(
                "records.final_answer", f"no rule or no clear reply for {method}: the published one is used"
            )
            answer = record["final_answer"]
    correct = right(answer, item)
    why = "abstained" if row["decision"] == "ABSTAIN" and row["verdict"] != "UNPARSED" else "unparsed"
    answers = [] if missing(answer) else [answer]
    return {
        "final_answer": answer,
        "final_answers": answers,
        "correct": correct,
        "missing": why if correct is None else None,
    }


def asks(row: dict[str, Any]) -> tuple[str, ...] | None:
    """Which answers a row needs beyond its turns; None where neither a rule here nor a table says."""
    if row["method"] == "golden":
        return ("passage",) if row["level"] == "standard" else ("memory",)
    further = row["confidence_kind"] not in (None, *CONFIDENCE) and row["method"] in ("sr_dcr", "confidence_only")
    return None if further or row["design"] == "placebo" else ASKS.get(row["method"])


def cost(row: dict[str, Any], turns: pd.DataFrame, passage: SimpleNamespace, memory: SimpleNamespace) -> dict[str, Any]:
    """Calls of the method by itself and, where the store has their replies, its tokens."""
    whose = {"passage": passage.reply, "bare": passage.bare, "memory": memory.reply}
    replies = None if (needed := asks(row)) is None else [whose[each] for each in needed]
    costs: dict[str, Any] = {} if replies is None else {"calls_alone": len(turns) + len(replies)}
    if replies is not None and all(replies):
        for name in ("prompt_tokens", "completion_tokens"):
            costs[name] = turns[name].sum() + sum(getattr(reply, name) for reply in replies)
    return costs


def compare_records(folder: SimpleNamespace, ours: pd.DataFrame, ledger: Ledger) -> None:
    """Every column of `records`."""
    theirs = folder.records
    keys = theirs.item_id + " " + theirs.method + " " + theirs.design.fillna("")
    reasons = {
        "calls_paid": "who of those that share a request asks first depends on time; the sum is compared",
        "cost_usd": "follows calls_paid; the sum is compared",
        "n_misinforming": "the kinds of documents are not read here",
    }
    for name in theirs:
        if name not in ours:
            ledger.leave_out(f"records.{name}", reasons.get(name, "no rule here"), len(theirs))
            continue
        counted = name in ("calls_alone", "prompt_tokens", "completion_tokens")
        here = ours[name].notna() if counted else ours.index >= 0
        if not all(here):
            ledger.leave_out(f"records.{name}", "a reply that is counted is in no table or store", int((~here).sum()))
        a, b = theirs[name][here], ours[name][here]
        if name in ("prior_answer", "context_answer", "final_answer"):
            a, b = ([meaning(*each) for each in zip(of, ours.answer_type[here], strict=True)] for of in (a, b))
        elif name == "final_answers":
            a, b = ([len(each) for each in of] for of in (a, b))
        ledger.column(f"records.{name}", keys[here], a, b)


def compare_counts(folder: SimpleNamespace, ours: pd.DataFrame, ledger: Ledger) -> None:
    """The counts of `run.json`."""
    run, counts = folder.run, folder.run.get("counts", {})
    known = {name: len(getattr(folder, name)) for name in ("records", "turns", "samples")}
    known["failed"] = int((ours.missing == "error").sum())
    needed = {each for row in ours.to_dict("records") for each in asks(row) or ("memory",)}
    streams = {"knowledge"} if "memory" in needed else {"knowledge", "greedy"}
    paid = folder.records.calls_paid.sum() + int(folder.samples.stream.isin(streams).sum())
    for name, theirs in counts.items():
        if name in known:
            ledger.number(f"run.json counts {name}", theirs, known[name])
        elif name == "calls_paid" and theirs == counts.get("completions_in_store"):  # the store began empty
            ledger.number("run.json counts calls_paid, of all rows and draws", theirs, paid)
        elif name == "completions_in_store" and folder.in_store is not None:
            ledger.number("run.json counts completions_in_store, when it was written", theirs, folder.in_store)
        else:
            ledger.leave_out(f"run.json counts {name}", "a clock, words, or what the store held before the run")
    ledger.number("run.json asked n_items", run["asked"]["n_items"], len(folder.items))
    if all(price and price["input_usd"] == price["output_usd"] == 0 for price in run["prices"].values()):
        ledger.number("run.json spent_usd, at a price of 0", run["spent_usd"], folder.records.cost_usd.sum())
    ledger.leave_out("run.json sent, versions, checksums", "the engine's own counters, and no results")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="a results folder")
    parser.add_argument("--store", type=Path, help="default: store.sqlite in DIR or beside it, where there is one")
    parser.add_argument("--figures", type=Path, help="the folder with the CSV files of the notebooks on the same items")
    parser.add_argument("--notebooks", type=Path, help="the folder with the notebooks executed on the same items")
    parser.add_argument("--brief", action="store_true", help="print only what differs or could not be recomputed")
    arguments = parser.parse_args()
    if not (arguments.folder / "run.json").is_file():
        parser.error(f"{arguments.folder}: no results folder, it has no run.json; name what `srdcr run --out` wrote")
    beside = [path / "store.sqlite" for path in (arguments.folder, arguments.folder.parent)]
    ledger = Ledger()
    folder = load(arguments.folder, arguments.store or next((path for path in beside if path.is_file()), None))
    reread(folder, ledger)
    if folder.replies:
        compare_store(folder, ledger)
    ours = recomputed(folder, ledger)
    compare_records(folder, ours, ledger)
    tables.compare_summary(folder.summary, ours, ledger)
    compare_counts(folder, ours, ledger)
    if arguments.figures:
        bounds = folder.choices["highly_known_from"], folder.choices["maybe_known_from"]
        figures.compare_figures(arguments.figures, ours, bounds, ledger)
    if arguments.notebooks:
        figures.compare_notebooks(arguments.notebooks, ours, ledger)
    return ledger.show(arguments.brief)


if __name__ == "__main__":
    sys.exit(main())
