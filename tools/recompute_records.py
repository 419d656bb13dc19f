"""`records` made anew: one row per item and method, from what was read of replies, by the rules of the paper.

The published help texts alone say ties of naive debate (`majority`) and percentile ranks (`by_percentile`); that
semantic entropy is 1 − H / log of the number of draws is inferred from published values.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from recompute_replies import answered, meaning, missing, read, right, spelled

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


PER_HOP = "_per_hop"


def category(accuracy: float, highly: float, maybe: float) -> str:
    """Table 3 of the paper."""
    known = "WEAKLY_KNOWN" if accuracy > 0 else "UNKNOWN"
    return "HIGHLY_KNOWN" if accuracy >= highly else "MAYBE_KNOWN" if accuracy >= maybe else known


def from_memory(folder: SimpleNamespace, item: dict[str, Any], ledger: Any) -> SimpleNamespace:
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
    row["knowledge_decoding"] = draws.decoding.iloc[0] if len(draws) and "decoding" in draws else None
    known = SimpleNamespace(row=row, p=np.array([]), others={})
    known.reply = answered(folder, item, False, folder.choices["exemplars"])
    if len(greedy):
        first = greedy.iloc[0]
        row |= {"prior_answer": first.ours, "prior_correct": right(first.ours, item)}
        known.p = spelled(first.ours, first.tokens, first.logprobs, item["answer_type"])
        if known.reply is not None:
            ledger.number(f"samples.text {first.key}, as in the store", first.text, known.reply.text)
        if len(again):
            drawn = [meaning(answer, item["answer_type"]) for answer in again.ours]
            shares = np.array(list(Counter(drawn).values())) / len(drawn)
            known.others["self_consistency"] = drawn.count(meaning(first.ours, item["answer_type"])) / len(drawn)
            known.others["semantic_entropy"] = 1 + float((shares * np.log(shares)).sum() / np.log(len(drawn)))
    return known


def with_passage(folder: SimpleNamespace, item: dict[str, Any], published: Any, ledger: Any) -> SimpleNamespace:
    """The answer to question and passage, from the store; as published where its reply is not there or not clear."""
    if not item["context"]:  # a question alone
        return SimpleNamespace(answer=None, p=np.array([]), reply=None, bare=None)
    reply = answered(folder, item, True, folder.choices["exemplars"])
    answer = read(reply.text, reply.finish_reason, item["answer_type"]) if reply else None
    if answer is None:
        ledger.leave_out("records.context_answer", "no clear reply in the store: the published answer is used")
        answer = published.context_answer
    weighed = [] if missing(published.context_confidence) else [published.context_confidence]
    p = np.array(weighed) if reply is None else spelled(answer, reply.tokens, reply.logprobs, item["answer_type"])
    return SimpleNamespace(answer=answer, p=p, reply=reply, bare=answered(folder, item, True, 0))


def debated(turns: pd.DataFrame, one_ruling: bool) -> dict[str, Any]:
    """Rounds, verdict path, V* and r* [3.1], and the round in which agents agreed."""
    row: dict[str, Any] = dict.fromkeys(("verdict", "verdict_path", "r_star", "stabilised", "rounds", "agreed_round"))
    if not len(turns):
        return row
    row["rounds"] = turns["round"].max() + 1
    if turns.method.iloc[0].endswith(PER_HOP):  # a debate a hop, whose verdicts stand in `turns`
        return row
    last = turns[turns["round"] == row["rounds"] - 1]
    path = turns[turns.ruled.notna()].groupby("round").ruled.last()
    if len(path):
        row["verdict"] = path.iloc[-1]
        if "chance" in turns:
            row["p_unreasonable"] = turns[turns.ruled.notna() & (turns["round"] == path.index[-1])].chance.mean()
        letters = row["verdict_path"] = "".join("?" if each == "UNPARSED" else each[0] for each in path)
        stands_from = len(letters.rstrip(letters[-1]))
        if "defender" in set(turns.role) and not one_ruling:  # without a debate nothing can settle
            row["r_star"] = None if letters[-1] == "?" else path.index[stands_from]
            row["stabilised"] = letters[-1] != "?" and stands_from < len(path) - 1
    elif set(last.method) == {"naive_debate"}:
        said = {meaning(answer, item["answer_type"]) for answer, item in zip(last.ours, last["item"], strict=True)}
        row["agreed_round"] = row["rounds"] - 1 if len(said) == 1 and None not in said else None
    return row


def decision(row: dict[str, Any], beliefs: list[float], gate: bool) -> str | None:
    """USE_CONTEXT, USE_PRIOR or ABSTAIN: the rule of section 3.2, or what a method leaves of it; None for no answer."""
    sure = not missing(row["self_confidence"]) and row["self_confidence"] >= row["tau"]
    if row["verdict"] is not None:
        free = row["method"] == "debate_only" or not gate
        unless = "USE_PRIOR" if row["verdict"] == "UNREASONABLE" and (sure or free) else "ABSTAIN"
        return "USE_CONTEXT" if row["verdict"] == "REASONABLE" else unless
    if row["method"].endswith("token_probability") and np.isnan(beliefs).all():
        return None
    whose = {"confidence_only": sure, "golden": row["level"] != "standard"}
    prior, context = (-np.inf if np.isnan(each) else each for each in beliefs)
    remembers = whose.get(row["method"], prior > context)
    return "USE_PRIOR" if remembers else "USE_CONTEXT" if row["context"] else "ABSTAIN"


def of_last_hop(folder: SimpleNamespace, item: dict[str, Any], row: dict[str, Any], turns: pd.DataFrame) -> Any:
    """What the rule needs of the hop at which a chain ended: its verdict, and the confidence in its own question."""
    number = int(turns.speaker.iloc[-1].removeprefix("hop-"))
    hop, before = item["hops"][number - 1], turns[turns.speaker == f"hop-{number - 1}"].ours
    question = hop["question"].replace("{previous}", before.iloc[-1] if number > 1 else "")
    last = turns[turns.speaker == turns.speaker.iloc[-1]]
    ruled = last.ruled.dropna()
    reply = answered(folder, hop | {"question": question}, False, folder.choices["exemplars"])
    said = read(reply.text, reply.finish_reason, hop["answer_type"]) if reply else None
    p = np.array([]) if said is None else spelled(said, reply.tokens, reply.logprobs, hop["answer_type"])
    confidence = CONFIDENCE[row["confidence_kind"]](p) if len(p) else None
    if confidence is None and last.role.iloc[-1] == "agent":  # no clear reply: that it answered says it was sure
        confidence = 1.0
    method = row["method"].removesuffix(PER_HOP)
    return row | {"method": method, "verdict": ruled.iloc[-1] if len(ruled) else None, "self_confidence": confidence}


def most_frequent(answers: list[Any], kind: str) -> Any:
    """The most frequent answer, of several the one given first; None where none was read."""
    keys = [meaning(answer, kind) for answer in answers]
    counts = Counter(key for key in keys if key is not None)
    return answers[keys.index(counts.most_common(1)[0][0])] if counts else None


def percentile(value: float, among: list[float]) -> float:
    """Share of the values below, those equal to it counted half; NaN stays."""
    return value if np.isnan(value) else float(np.mean([(each < value) + (each == value) / 2 for each in among]))


def recomputed(folder: SimpleNamespace, ledger: Any) -> pd.DataFrame:
    """`records` anew, in their order. A cell without a rule here is as published, and the ledger says so."""
    published = folder.records.groupby("item_id")[["context_answer", "context_confidence"]].first()
    without = {name: from_memory(folder, item, ledger) for name, item in folder.questions.items()}
    within = {name: with_passage(folder, item, published.loc[name], ledger) for name, item in folder.items.items()}
    among = [[each.p.mean() for each in of.values() if len(each.p)] for of in (without, within)]
    turns_of = folder.turns.fillna({"design": ""}).sort_values("position", kind="stable")
    turns_of = dict(list(turns_of.groupby(["item_id", "method", "design"])))
    one_ruling, rows = folder.choices["design"]["final_verdict_only"], []
    for record in folder.records.to_dict("records"):
        item, method, kind = folder.items[record["item_id"]], record["method"], record["confidence_kind"]
        if record["error"] is not None:
            ledger.leave_out("records, whole rows", "a call failed: the row is as published")
            ours = {name: record[name] for name in record if name not in ("calls_paid", "cost_usd", "n_misinforming")}
            rows.append(ours | {"cut": False})
            continue
        memory, passage = without[record["question_id"]], within[record["item_id"]]
        turns = turns_of.get((record["item_id"], method, record["design"] or ""), folder.turns.iloc[:0])
        row = {name: record[name] for name in ("method", "design", "confidence_kind", "error")}
        row |= {name: item[name] for name in item if name in record} | memory.row | debated(turns, one_ruling)
        row |= {"gold_answers": [item["gold_answer"], *item["other_gold_answers"]], "n_options": len(item["options"])}
        row |= {"n_documents": len(item["documents"]), "context": item["context"]}
        row |= {"tau": folder.choices["tau"], "model": record["model"]}
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
        by_hop = of_last_hop(folder, item, row, turns) if method.endswith(PER_HOP) else row
        row["decision"] = decision(by_hop, beliefs, folder.choices["gate"]) if by_hop["method"] in RULED else None
        row["last_verdict"] = by_hop["verdict"]
        row |= ended(record, row, item, turns, passage, memory, ledger)
        row |= cost(row, turns, passage, memory)
        greedy = {"greedy"} if asks(row) or not len(turns) else set()
        ways = greedy | set(turns.get("decoding", pd.Series(dtype=object)).dropna())
        row["decoding"] = ", ".join(sorted(ways, key=str.lower)) or None
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)


def ended(
    record: dict[str, Any],
    row: dict[str, Any],
    item: dict[str, Any],
    turns: pd.DataFrame,
    passage: SimpleNamespace,
    memory: SimpleNamespace,
    ledger: Any,
) -> dict[str, Any]:
    """The final answer of a row, and whether it is right or why it is missing."""
    method, answers = row["method"], list(turns[turns["round"] == turns["round"].max()].ours)
    if method.endswith(PER_HOP):
        answer = None if row["decision"] == "ABSTAIN" else turns.ours.iloc[-1]
    elif method in RULED:
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
    whose = passage.bare if method == "zero_shot" else passage.reply if row["decision"] != "USE_PRIOR" else memory.reply
    if row["last_verdict"] == "UNPARSED":
        ended_by = turns[turns.ruled.notna()].finish_reason.iloc[-1]
    elif method in RULED or not len(turns):
        ended_by = getattr(whose, "finish_reason", None)
    else:
        ended_by = turns.finish_reason.iloc[-1]
    why = "abstained" if row["decision"] == "ABSTAIN" and row["last_verdict"] != "UNPARSED" else "unparsed"
    answers = [] if missing(answer) else [answer]
    return {
        "cut": ended_by == "length",
        "final_answer": answer,
        "final_answers": answers,
        "correct": correct,
        "right": bool(correct),
        "condition": "standard" if row["level"] == "standard" else "perturbed",
        "missing": why if correct is None else None,
    }


def asks(row: dict[str, Any]) -> tuple[str, ...] | None:
    """Which answers a row needs beyond its turns; None where neither a rule here nor a table says."""
    if row["method"] == "golden":
        return ("passage",) if row["level"] == "standard" else ("memory",)
    further = row["confidence_kind"] not in (None, *CONFIDENCE) and row["method"] in ("sr_dcr", "confidence_only")
    needed = None if further or row["design"] == "placebo" else ASKS.get(row["method"])
    return needed if needed is None or row["context"] else tuple(each for each in needed if each != "passage")


def cost(row: dict[str, Any], turns: pd.DataFrame, passage: SimpleNamespace, memory: SimpleNamespace) -> dict[str, Any]:
    """Calls of the method by itself and, where the store has their replies, its tokens."""
    whose = {"passage": passage.reply, "bare": passage.bare, "memory": memory.reply}
    replies = None if (needed := asks(row)) is None else [whose[each] for each in needed]
    if row["method"].endswith(PER_HOP):
        debates = row["method"] != f"few_shot{PER_HOP}"  # which asks what each hop's answer is, twice
        return {"calls_alone": sum(turns.role != "agent") + (1 + debates) * turns.speaker.nunique()}
    costs: dict[str, Any] = {} if replies is None else {"calls_alone": len(turns) + len(replies)}
    if replies is not None and all(replies):
        for name in ("prompt_tokens", "completion_tokens"):
            costs[name] = turns[name].sum() + sum(getattr(reply, name) for reply in replies)
    return costs
