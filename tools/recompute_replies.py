"""What `recompute.py` reads: the tables of a results folder, the replies of its store, and the answer in each reply.

The reader here is simple on purpose. It reads replies that begin with an answer and a full stop, or end in "Final
answer: …", and says of all others that they are unclear; then the published reading is used, and counted.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd


def missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


NAME = r"[^\W\d]+(?:(?:(?!\.\.)[ .’'-])+[^\W\d]+){0,4}\.?"  # not "L.. Chirteth"
DATE = r"\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}"
NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
SHAPES = {"year": r"\d{1,4}", "number": NUMBER, "date": DATE, "name": NAME, "city": NAME, "text": NAME}
TITLE = r"(?i)(?:(?:dr|doctor|sir|dame|lord|lady|prof|professor|mr|mrs|ms|miss|captain|general)\b\.? )+(?=\w)"


def read(text: str, finish_reason: str, answer_type: str) -> str | None:
    """The answer of a reply that begins with it and a full stop, or ends in "Final answer:"; None where unclear."""
    line, *further = re.split(r"(?i)final answer:", text)[-1].strip().splitlines() or [""]
    said, *more = re.split(r"(?:(?<=\w\w)|(?<=\d))\.(?:\s|$)", re.sub(r"(?i)^the answer is:? ", "", line))
    shaped = finish_reason == "stop" and re.fullmatch(SHAPES.get(answer_type, "(?!)"), said)
    words = [] if answer_type in ("date", "year", "number") else said.split()
    small = {"of", "the", "and"} if answer_type == "text" else set()
    odd = words and (len(said) <= 3 or said == "Unknown" or any(word.islower() for word in {*words} - small))
    odd = odd or re.fullmatch(r"(?i)(?:the )?(?:defender|critic)", said)  # a speaker's name is no answer
    odd = odd or (answer_type == "city" and words[:1] and words[0].lower() in {"in", "at", "near", "from", "on", "to"})
    goes_on = more[:1] > [""] and len(re.split("[ -]", said)[-1]) <= 3  # "Dr. Ada Vance", "9. 58"
    another = any(each.startswith(said) or re.match(r"[\d,.]+$|.*\banswer (?:is|to)\b", each) for each in further)
    return said if shaped and not odd and not goes_on and not another and meaning(said, answer_type) else None


def meaning(answer: Any, answer_type: str) -> Any:
    """What equal answers share: a number's value, a day, a name without title, case, accents, full stops, hyphens."""
    if missing(answer):
        return None
    if answer_type in ("year", "number") and re.fullmatch(NUMBER, answer):
        return float(answer.replace(",", ""))
    if answer_type == "date" and re.fullmatch(DATE, answer):
        day = pd.to_datetime(answer, errors="coerce")
        return None if pd.isna(day) else str(day.date())  # 29 February 1990 is no day
    if answer_type == "name":
        answer = re.sub(TITLE, "", answer)
    letters = (c for c in unicodedata.normalize("NFKD", answer) if not unicodedata.combining(c))
    return " ".join(re.sub(r"[.,-]", " ", "".join(letters).casefold()).split())


def right(answer: Any, item: dict[str, Any]) -> bool | None:
    """Whether an answer equals the gold one, an alias or an accepted value; None for no answer."""
    kind, accepted = item["answer_type"], item.get("accepted", ())
    if missing(answer):
        return None
    said, golds = meaning(answer, kind), [item["gold_answer"], *item["aliases"], *item["other_gold_answers"], *accepted]
    if kind == "city" and "," not in item["gold_answer"]:
        said = meaning(answer.partition(",")[0], kind)  # Paris, France
    ranges = ([meaning(end.strip(), kind) for end in each.split("..")] for each in accepted if ".." in each)
    return said in [meaning(gold, kind) for gold in golds] or any(low <= said <= high for low, high in ranges)


def read_verdict(text: str) -> str:
    """The verdict that ends a reply; UNPARSED without one."""
    found = re.search(r"(?i)decision(?::| is:?)\W*(unreasonable|reasonable)\W*$", text.strip())
    return found.group(1).upper() if found else "UNPARSED"


def places(answer: str, text: str, kind: str) -> list[tuple[int, int]]:
    """Where a text states the answer: a value without its unit, a name without title or what follows a comma."""
    shape, value = {"date": DATE, "year": NUMBER, "number": NUMBER}.get(kind), meaning(answer, kind)
    if shape:
        value = value if kind == "date" or isinstance(value, float) else meaning(answer.split()[0], kind)
        return [found.span() for found in re.finditer(shape, text) if meaning(found[0], kind) == value]
    said = re.split(r",(?! [JS]r\b)", re.sub(TITLE, "", answer))[0] if kind == "name" else answer
    return [found.span() for found in re.finditer(re.escape(said), text)]


def spelled(answer: str | None, tokens: Any, logprobs: Any, kind: str = "", last: bool = False) -> Any:
    """Probabilities of the tokens that spell the answer where it stands first, or last; empty where there are none."""
    tokens, logprobs = (json.loads(each) if isinstance(each, str) else each for each in (tokens, logprobs))
    if answer is None or tokens is None or not (found := places(answer, "".join(tokens), kind)):
        return np.array([])
    ends, (start, end) = np.cumsum([len(token) for token in tokens]), found[-1 if last else 0]
    begins = np.concatenate([[0], ends[:-1]])
    return np.exp(np.asarray(logprobs, float))[(ends > start) & (begins < end)]


# --- the folder ------------------------------------------------------------------------------------------------------


def load(path: Path, store: Path | None) -> SimpleNamespace:
    """The tables, items and choices of a folder, and the greedy answers in its store."""
    run = json.loads((path / "run.json").read_text(encoding="utf-8"))
    items = json.loads((path / "items.json").read_text(encoding="utf-8"))["items"]
    folder = SimpleNamespace(run=run, choices=run["asked"]["choices"], store={}, replies={}, in_store=None)
    for name in ("records", "turns", "samples"):
        table = pd.read_parquet(path / f"{name}.parquet").astype(object)
        setattr(folder, name, table.where(table.notna(), None))
    folder.summary = pd.read_csv(path / "summary.csv")
    folder.items = {item["item_id"]: item for item in items}
    folder.questions = {item["question_id"]: item for item in items}
    if store is None:
        return folder
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    count = "select count(*) from completions where substr(created, 1, 25) <= ?"
    folder.in_store = connection.execute(count, [run["written"]]).fetchone()[0]
    who, kept = run["asked"]["models"]["answerer"], set(folder.turns.request_digest)
    rows = connection.execute(
        "select provider, name, label, fingerprint, digest, canonical, stream, text, finish_reason, prompt_tokens,"
        " completion_tokens, tokens, logprobs from completions c join requests r on c.request = r.id"
        " join models m on c.model = m.id where substr(created, 1, 25) <= ?",
        [run["written"]],
    )
    names = [column[0] for column in rows.description]
    for row in rows:
        reply = SimpleNamespace(**dict(zip(names, row, strict=True)))
        if reply.digest in kept:
            folder.replies.setdefault(reply.digest, []).append(reply)
        if reply.stream == "greedy" and all(getattr(reply, name) == who[name] for name in names[:4]):
            request = json.loads(reply.canonical)
            wanted = folder.choices["answer_tokens"], 0, run["asked"]["seed"]  # repeats have other seeds
            if (request["max_tokens"], request["temperature"], request["seed"]) == wanted:
                reply.prompt = request["messages"][-1][1]
                asked = (reply.prompt.rsplit("Question: ", 1)[-1], len(request["messages"]))
                folder.store.setdefault(asked, []).append(reply)
    connection.close()
    return folder


def answered(folder: SimpleNamespace, item: dict[str, Any], passage: bool, exemplars: int) -> Any:
    """The store's one reply to this question, with or without its passage; None where none or several fit."""
    asked = folder.store.get((item["question"], 2 + 2 * exemplars), [])
    fits = [reply for reply in asked if ("<passage>" in reply.prompt) == passage == (item["context"] in reply.prompt)]
    return fits[0] if len({(reply.text, reply.prompt_tokens) for reply in fits}) == 1 else None


def said_unreasonable(reply: Any) -> float | None:
    """P(UNREASONABLE): the probability of the first token of the verdict's word, or 1 less it for the other word."""
    verdict, words = read_verdict(reply.text), re.findall(r"(?i)(?:un)?reasonable", reply.text)
    p = [] if verdict == "UNPARSED" else spelled(words[-1], reply.tokens, reply.logprobs, last=True)
    return None if not len(p) else float(p[0] if verdict == "UNREASONABLE" else 1 - p[0])


def compare_store(folder: SimpleNamespace, ledger: Any) -> None:
    """Whether `turns` are what the store holds: the text, its tokens, and the probability of a verdict."""
    turns = folder.turns
    turns["reply"] = [
        max(
            (reply for reply in folder.replies.get(digest, []) if (reply.text, reply.prompt_tokens) == tuple(said)),
            key=lambda reply: reply.completion_tokens == n,  # one text may be spelled by other tokens in another draw
            default=None,
        )
        for digest, n, *said in zip(
            turns.request_digest, turns.completion_tokens, turns.text, turns.prompt_tokens, strict=True
        )
    ]
    there = turns.request_digest.isin(folder.replies)
    if not there.all():
        ledger.leave_out("turns.text", "its request is not in the store", int((~there).sum()))
    there = turns[there]
    for name in ("text", "finish_reason", "prompt_tokens", "completion_tokens"):
        ledger.column(f"turns.{name}", there.key, there[name], [getattr(each, name, None) for each in there.reply])
    if "p_unreasonable" in turns:
        chance = [
            reply and said_unreasonable(reply) if ruled else None
            for reply, ruled in zip(turns.reply, turns.ruled, strict=True)
        ]
        turns["chance"] = pd.Series(chance, index=turns.index, dtype=object)
        ledger.column("turns.p_unreasonable", there.key, there.p_unreasonable, turns.chance[there.index])


def reread(folder: SimpleNamespace, ledger: Any) -> None:
    """Read every reply of `turns` and `samples` into columns `ours` and `ruled`; an unclear one stays as published."""
    turns, samples = folder.turns, folder.samples
    turns["item"] = turns.item_id.map(folder.items)
    samples["item"] = samples.question_id.map(folder.questions)
    turns["key"] = turns.item_id + " " + turns.method + " " + turns.design.fillna("") + " " + turns.position.astype(str)
    samples["key"] = samples.question_id + " " + samples.stream + " " + samples.draw.astype(str)
    rules = (turns.role == "judge") & turns.design.notna()
    ruled = [read_verdict(text) if rule else None for rule, text in zip(rules, turns.text, strict=True)]
    turns["ruled"] = pd.Series(ruled, index=turns.index, dtype=object)
    a_ruling = ["item_id", "method", "design", "role", "round", "speaker"]
    asked_again = turns.sort_values("position", kind="stable").duplicated(a_ruling, keep="last") & (
        turns.ruled == "UNPARSED"
    )
    turns.loc[asked_again, "ruled"] = None  # what the repaired reply says counts
    ledger.column("turns.verdict", turns.key, turns.verdict, turns.ruled)
    notes = {"rci": 1, "astute": 0}  # RCI's critique, and what astute remembers, state no answer
    turns["silent"] = rules | (turns["round"] == turns.method.map(notes))
    for name, table, column in (("turns", turns, "stated_answer"), ("samples", samples, "answer")):
        ours, meanings = [], []
        for row in table.to_dict("records"):
            kind = row["item"]["answer_type"]
            unmarked = row.get("method") == "self_ask" and "final answer:" not in row["text"].lower()
            clear = not row.get("silent") and not unmarked
            ours.append(read(row["text"], row.get("finish_reason", "stop"), kind) if clear else None)
            if ours[-1] is None and not row.get("silent"):
                ledger.leave_out(
                    f"{name}.{column}", "no reply that begins with an answer: the published reading is used"
                )
                ours[-1] = row[column]
            meanings.append((meaning(row[column], kind), meaning(ours[-1], kind)))
        table["ours"] = pd.Series(ours, index=table.index, dtype=object)
        ledger.column(f"{name}.{column}", table.key, [a for a, _ in meanings], [b for _, b in meanings])
    samples["right"] = [bool(right(*each)) for each in zip(samples.ours, samples["item"], strict=True)]
    ledger.column("samples.correct", samples.key, samples.correct, samples.right)
