"""Which wording of the Judge's prompt tells false passages from true ones, on questions that did not choose it.

    python tools/judge_wordings.py --model gguf:FILE --run RUN --out results/wordings/NAME [--design acvd] [--rounds 6]

Twelve prompts: three wordings (ours and its two paraphrases), either label first, and the verdict after reasons or
alone. (A verdict before its reasons is the verdict alone: what comes later cannot change it, and our reader wants it on
the last line.) The Judge rules once on the whole debate of each item of RUN; the debates themselves come from
OUT/store.sqlite if RUN was merged into it. Half of the questions choose: among the prompts that call between a fifth
and four fifths of the passages UNREASONABLE the one with the highest AUROC; if there is none, the most balanced one.
The other half report it, beside ours, with the verdicts of the κ that was best on the first half. Every prompt is kept
in OUT/prompts.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pandas as pd
from study_real import of_questions

import srdcr_lab as lab
from srdcr_lab import cli
from srdcr_lab.commands import PATH, echo
from srdcr_lab.data.items import thaw
from srdcr_lab.debates import rates_by_kappa, verdict_discrimination, verdict_rates, with_kappa
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.prompts.messages import paraphrases, sources
from srdcr_lab.protocols import DESIGNS
from srdcr_lab.records import Verdict
from srdcr_lab.records.files import csv_text, write_whole
from srdcr_lab.study.results import ITEMS

BALANCED = (0.2, 0.8)  # of all passages, the share called UNREASONABLE
OURS = "ours, UNREASONABLE first, reasons first"
LABELS = "UNREASONABLE or REASONABLE"
# What speaks of two lines, where the first is not asked for.
ALONE = {"the second line": "that line", "The second line": "That line", "these two lines": "this line",
         "Without the second it": "Without it a reply"}  # fmt: skip


def prompts() -> Iterator[tuple[str, str]]:
    """Name and text of each of the twelve."""
    texts = {"ours": sources()["judge"]}
    texts |= {f"paraphrase {place}": other.own["judge"] for place, other in enumerate(paraphrases(), start=1)}
    for wording, text in texts.items():
        lines = [line for line in text.splitlines(keepends=True) if not line.startswith("Reasons:")]
        alone = "".join(lines)
        for said, instead in ALONE.items():
            alone = alone.replace(said, instead)
        for first, labels in (("UNREASONABLE", LABELS), ("REASONABLE", "REASONABLE or UNREASONABLE")):
            yield f"{wording}, {first} first, reasons first", text.replace(LABELS, labels)
            yield f"{wording}, {first} first, verdict alone", alone.replace(LABELS, labels)


def measured(records: pd.DataFrame, kappa: float | None = None) -> dict[str, Any]:
    """The measures of one prompt's rulings; with a κ also the rates that it gives."""
    areas = verdict_discrimination(records).set_index("belief")
    row: dict[str, Any] = {"n": len(records), "unreasonable": (records["verdict"] == Verdict.UNREASONABLE).mean()}
    row["unread"] = (records["verdict"] == Verdict.UNPARSED).mean()
    if "P(UNREASONABLE)" in areas.index:
        row |= areas.loc["P(UNREASONABLE)", ["auroc", "low", "high"]].to_dict()
    for name, table in (
        ("", verdict_rates(records)),
        *([] if kappa is None else [("at κ: ", with_kappa(records, kappa))]),
    ):
        rates = table if not name else verdict_rates(table)
        row |= {name + ("believed" if rate == "verdict_tpr" else "caught"): share
                for rate, share in zip(rates["rate"], rates["share"], strict=True)}  # fmt: skip
    return row


def chosen(table: pd.DataFrame) -> str:
    """The name of the prompt that the first half chooses."""
    balanced = table[table["unreasonable"].between(*BALANCED)].dropna(subset="auroc")
    if len(balanced):
        return str(balanced["auroc"].idxmax())
    return str((table["unreasonable"] - 0.5).abs().idxmin())


def best_kappa(records: pd.DataFrame) -> float | None:
    """The κ with the highest mean of both verdict rates; None without probabilities."""
    rates = rates_by_kappa(records, intervals=False)
    return None if rates.empty else float(rates.groupby("kappa")["share"].mean().idxmax())


@click.command("judge-wordings")
@click.option("--model", required=True, help="as in srdcr run")
@click.option("--run", required=True, help="a run whose items are judged: a folder, bundle or name")
@click.option("--out", type=PATH, required=True, help="folder of the results and their store")
@click.option("--design", default="acvd", show_default=True, type=click.Choice(["acvd", "two_answers", "one_critique"]))
@click.option("--rounds", default=6, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True)
@click.option("--dtype", help="type in which an hf: model computes; a study that ships has bfloat16")
def judge_wordings(model: str, run: str, out: Path, design: str, rounds: int, seed: int, dtype: str | None) -> None:
    """Choose a wording of the Judge on half of the questions, and report it on the other half."""
    judged, judge = lab.load_run(run), model_of_spec(model, **({"dtype": dtype} if dtype else {}))  # type: ignore[arg-type]
    items = thaw(judged.folder / ITEMS)
    questions = sorted({item.question_id for item in items})
    random.Random(f"wordings|{seed}").shuffle(questions)
    halves = [
        of_questions(items, part) for part in (questions[: len(questions) // 2], questions[len(questions) // 2 :])
    ]
    held = replace(DESIGNS[design], rounds=rounds, final_verdict_only=True)

    def ruled(name: str, half: int) -> pd.DataFrame:
        place, text = f"{name.replace(', ', '-').replace(' ', '_')}-{half + 1}", texts[name]
        write_whole(out / "prompts" / f"{place[:-2]}.j2", text)
        how: dict[str, Any] = {"design": held, "samples": 0, "prompts": {"judge": text}, "seed": seed}
        with lab.Study(judge, halves[half], "sr_dcr", out=out / place, store=out / "store.sqlite", **how) as study:
            return study.run().records

    texts = dict(prompts())
    (out / "prompts").mkdir(parents=True, exist_ok=True)
    first = {name: ruled(name, 0) for name in texts}
    tried = pd.DataFrame({name: measured(records) for name, records in first.items()}).T.rename_axis("prompt")
    best = chosen(tried.apply(pd.to_numeric))
    kept = {name: measured(ruled(name, 1), best_kappa(first[name])) for name in dict.fromkeys((best, OURS))}
    table = pd.concat([tried.assign(half="chooses"), pd.DataFrame(kept).T.assign(half="reports")])
    write_whole(out / "wordings.csv", csv_text(table.rename_axis("prompt").reset_index()))
    echo(table.to_string(na_rep="–", float_format="{:.2f}".format))
    echo(f"chosen on {len(halves[0])} items: {best}; reported on {len(halves[1])} others")


if __name__ == "__main__":
    cli.cli.add_command(judge_wordings)  # in this process alone: its sentences and exit codes are those of srdcr
    cli.main(["judge-wordings", *sys.argv[1:]])
