"""Results in the formats of other tools, as tables of the columns that `results_from` reads.

``lm-eval=FILE`` reads what lm-evaluation-harness writes with ``--log_samples``, ``clasheval=FILE`` the released
responses of ClashEval (Wu et al. 2024). Any other source is a table of our own columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.data.readers import CLASHEVAL_DOMAINS
from srdcr_lab.data.rows import read_table
from srdcr_lab.records import BadInput, ConfidenceKind, PerturbationKind
from srdcr_lab.records.vocabulary import visible

_GRADES = ("exact_match", "acc")  # of the harness; the first that is there grades the answer
_CLASHEVAL = {
    "question": "question", "answer_original": "gold_answer", "answer_mod": "claimed_answer", "context_mod": "context",
    "prior_response": "prior_answer", "post_response": "context_answer",
}  # fmt: skip


def read_results(source: str | Path) -> pd.DataFrame:
    """The rows of a table, or of ``FORMAT=FILE`` in our columns; bad input if the file has not that format."""
    name, equals, rest = str(source).partition("=")
    if not equals or name not in _FORMATS:
        return read_table(Path(source))
    convert, needed = _FORMATS[name]
    frame = read_table(Path(rest), needed)
    if missing := [column for column in needed if column not in frame]:
        found = ", ".join(visible(str(column)) for column in frame)
        raise BadInput(f"{rest} is not in the format {name}: it lacks the column {missing[0]}; its columns are {found}")
    return convert(frame, rest)


def _clasheval(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A row is one modification of a question's passage; where the claim is the original answer, it is true."""
    known = _CLASHEVAL | {"prior_logprobs": "logprobs"}
    table = frame[[column for column in known if column in frame]].rename(columns=known)
    if not {"dataset", "mod_degree"} <= {*frame}:
        return table
    kinds = {dataset: kind_of(answer_type).perturbation for dataset, (_, answer_type) in CLASHEVAL_DOMAINS.items()}
    types = {dataset: answer_type.value for dataset, (_, answer_type) in CLASHEVAL_DOMAINS.items()}
    table = table.assign(domain=frame["dataset"], answer_type=frame["dataset"].map(types))
    false = frame["answer_mod"].astype(str) != frame["answer_original"].astype(str)
    kind = frame["dataset"].map(kinds)
    table["perturbation_kind"] = kind.where(false, PerturbationKind.NONE).astype(str)
    table["perturbation_value"] = frame["mod_degree"].where(false & (kind != PerturbationKind.SUBSTITUTION))
    return table


def _lm_eval(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A row is a document under the first of its filters, asked of memory alone; a list of choices is our options."""
    grade = next((column for column in _GRADES if column in frame), None)
    rows = []
    for number, sample in enumerate(frame.drop_duplicates("doc_id").to_dict("records"), start=1):
        try:
            row = _choice(sample) if _has_choices(sample) else _generated(sample)
            row |= {"prior_correct": bool(int(sample[grade]))} if grade else {}  # a missing grade is no number
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            fault = "doc, arguments, target and filtered_resps do not fit together"
            raise BadInput(f"{name}, row {number}: {fault}; write the file again with --log_samples") from None
        rows.append(row)
    return pd.DataFrame(rows)


def _has_choices(sample: Mapping[str, Any]) -> bool:
    """Whether the harness compared the likelihoods of several continuations."""
    return isinstance(sample["filtered_resps"][0], Sequence) and not isinstance(sample["filtered_resps"][0], str)


def _generated(sample: Mapping[str, Any]) -> dict[str, Any]:
    gold, *aliases = sample["target"] if isinstance(sample["target"], list) else [sample["target"]]
    return {
        "question": _question(sample), "gold_answer": str(gold), "aliases": [str(alias) for alias in aliases],
        "prior_answer": str(sample["filtered_resps"][0]),
    }  # fmt: skip


def _choice(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The likeliest continuation; its confidence is the product of its tokens' probabilities."""
    texts = [str(request["arg_1"]).strip() for request in sample["arguments"].values()]
    likelihoods = [float(first) for first, *_ in sample["filtered_resps"]]
    best = max(range(len(likelihoods)), key=likelihoods.__getitem__)
    target = str(sample["target"]).strip()  # a number of a choice, or its text
    gold = texts[int(target)] if target.isdigit() and target not in texts else texts[texts.index(target)]
    return {
        "question": _question(sample), "options": texts, "gold_answer": gold,
        "prior_answer": texts[best], "self_confidence": math.exp(likelihoods[best]),
        "confidence_kind": ConfidenceKind.SEQUENCE.value,
    }  # fmt: skip


def _question(sample: Mapping[str, Any]) -> str:
    """The question of the document; where it has none, the prompt."""
    return str(sample["doc"].get("question") or next(iter(sample["arguments"].values()))["arg_0"])


_FORMATS: dict[str, tuple[Callable[[pd.DataFrame, str], pd.DataFrame], Sequence[str]]] = {
    "clasheval": (_clasheval, tuple(_CLASHEVAL)),
    "lm-eval": (_lm_eval, ("doc_id", "doc", "arguments", "target", "filtered_resps")),
}
