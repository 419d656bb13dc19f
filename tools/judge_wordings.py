"""Which wording of the Judge's prompt tells false passages from true ones, on questions that did not choose it.

    python tools/judge_wordings.py --model gguf:FILE --run RUN --out results/wordings/NAME [--rounds 6] [--ship FOLDER]
    python tools/judge_wordings.py --out FOLDER

Twelve prompts: three wordings (ours and its two paraphrases), either label first, and the verdict after reasons or
alone. (A verdict before its reasons is the verdict alone: what comes later cannot change it, and our reader wants it on
the last line.) The Judge rules once on the whole debate of each item of RUN; the debates themselves come from
OUT/store.sqlite if RUN was merged into it. Half of the questions choose: among the prompts that call between a fifth
and four fifths of the passages UNREASONABLE the one with the highest AUROC; if there is none, the most balanced one.
The other half report it, beside ours, with the verdicts of the κ that was best on the first half. --ship keeps a bundle
of each prompt's rulings and, in FOLDER/prompts, every prompt; the second command reads them, without a model.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd
from models_table import markdown
from study_real import of_questions

import srdcr_lab as lab
from srdcr_lab import cli
from srdcr_lab.commands import PATH, echo
from srdcr_lab.data.items import thaw
from srdcr_lab.debates import rates_by_kappa, verdict_discrimination, verdict_rates, with_kappa
from srdcr_lab.lib.groups import FEW
from srdcr_lab.lib.page import interval
from srdcr_lab.models import ChatModel
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.prompts.messages import paraphrases, sources
from srdcr_lab.protocols import DESIGNS, DebateDesign
from srdcr_lab.records import Role, Verdict
from srdcr_lab.records.files import write_whole
from srdcr_lab.study.results import ITEMS
from srdcr_lab.study.share import share

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


def measured(run: lab.Results, kappa: float | None = None) -> dict[str, Any]:
    """The measures of one prompt's rulings; with a κ also the rates that it gives."""
    records, spoken = run.records, run.turns[run.turns["role"] == Role.JUDGE]
    areas = verdict_discrimination(records).set_index("belief")
    row: dict[str, Any] = {"n": len(records), "unreasonable": (records["verdict"] == Verdict.UNREASONABLE).mean()}
    row["unread"] = (records["verdict"] == Verdict.UNPARSED).mean()
    label = spoken.sort_values("position").groupby("item_id")["text"].first().str.strip()
    row |= {f"bare {word}": (label == word).mean() for word in (Verdict.REASONABLE, Verdict.UNREASONABLE)}
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


def shown(prompt: str, half: str, row: Mapping[str, Any]) -> dict[str, str]:
    """A row of the table that is printed."""
    cells = {"prompt": prompt, "questions": half}
    names = {"unread": "unread", "bare REASONABLE": "only the word REASONABLE",
             "bare UNREASONABLE": "only the word UNREASONABLE", "believed": "true believed", "caught": "false caught",
             "at κ: believed": "true believed at κ", "at κ: caught": "false caught at κ"}  # fmt: skip
    cells |= {title: f"{row[name]:.2f}" for name, title in names.items() if name in row}
    ends = [row.get(name, math.nan) for name in ("auroc", "low", "high")]
    return cells | {"AUROC": interval(*ends) if row["n"] * (1 - row["unread"]) >= FEW else "–"}


def chosen(table: pd.DataFrame) -> str:
    """The name of the prompt that the first half chooses."""
    balanced = table[table["unreasonable"].between(*BALANCED)].dropna(subset="auroc")
    if len(balanced):
        return str(balanced["auroc"].idxmax())
    return str((table["unreasonable"] - 0.5).abs().idxmin())


def best_kappa(records: pd.DataFrame) -> float | None:
    """The κ with the highest mean of both verdict rates; None without probabilities."""
    rates = rates_by_kappa(records)
    return None if rates.empty else float(rates.set_index("kappa")[["true", "false"]].mean(axis=1).idxmax())


@click.command("judge-wordings")
@click.option("--model", help="as in srdcr run; without it the finished rulings in --out are read")
@click.option("--run", help="a run whose items are judged: a folder, bundle or name")
@click.option("--out", type=PATH, required=True, help="folder of the results and their store, or of their bundles")
@click.option("--design", default="acvd", show_default=True, type=click.Choice(["acvd", "two_answers", "one_critique"]))
@click.option("--rounds", default=6, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True)
@click.option("--dtype", help="type in which an hf: model computes; a study that ships has bfloat16")
@click.option(
    "--ship", "target", type=PATH, help="also write bundles of the rulings, and the prompts, into this folder"
)
def judge_wordings(
    model: str | None, run: str | None, out: Path, design: str, rounds: int, seed: int, dtype: str | None,
    target: Path | None,
) -> None:  # fmt: skip
    """Choose a wording of the Judge on half of the questions, and report it on the other half."""
    texts, ruled = dict(prompts()), partial(shipped, out)
    if model:
        if run is None:
            raise click.UsageError("Missing option '--run'.")
        held = replace(DESIGNS[design], rounds=rounds, final_verdict_only=True)
        options: dict[str, Any] = {"dtype": dtype} if dtype else {}
        judge = model_of_spec(model, **options)
        ruled = partial(rulings, judge, halves_of(run, seed), out, held, seed)
    first = {name: ruled(name, text, 0) for name, text in texts.items()}
    tried = {name: measured(run) for name, run in first.items()}
    best = chosen(pd.DataFrame(tried).T.apply(pd.to_numeric))
    second = {name: ruled(name, texts[name], 1) for name in dict.fromkeys((best, OURS))}
    reported = {name: measured(run, best_kappa(first[name].records)) for name, run in second.items()}
    rows = [shown(name, half, row) for half, table in (("choose", tried), ("report", reported))
            for name, row in table.items()]  # fmt: skip
    echo(markdown(rows))
    echo(f"chosen on {len(first[best].records)} items: {best}; reported on {len(second[best].records)} others")
    if target:
        (target / "prompts").mkdir(parents=True, exist_ok=True)
        for half, names in enumerate((first, second)):
            for name in names:
                share(out / place_of(name, half), target / f"{place_of(name, half)}.zip", store=out / "store.sqlite")
                write_whole(target / "prompts" / f"{place_of(name)}.j2", texts[name])


def place_of(name: str, half: int | None = None) -> str:
    """The folder or file of a prompt, and of its rulings on a half of the questions."""
    return name.replace(", ", "-").replace(" ", "_") + ("" if half is None else f"-{half + 1}")


def halves_of(run: str, seed: int) -> list[lab.ItemSet]:
    """The items of the questions that choose, and of those that report."""
    judged = lab.load_run(run)  # kept: a bundle is unpacked only as long as its run is there
    items = thaw(judged.folder / ITEMS)
    questions = sorted({item.question_id for item in items})
    random.Random(f"wordings|{seed}").shuffle(questions)
    middle = len(questions) // 2
    return [of_questions(items, part) for part in (questions[:middle], questions[middle:])]


def rulings(
    judge: ChatModel, halves: Sequence[lab.ItemSet], out: Path, held: DebateDesign, seed: int,
    name: str, text: str, half: int,
) -> lab.Results:  # fmt: skip
    """The debates of a half, judged with this prompt."""
    how: dict[str, Any] = {"design": held, "samples": 0, "prompts": {"judge": text}, "seed": seed}
    place = out / place_of(name, half)
    with lab.Study(judge, halves[half], "sr_dcr", out=place, store=out / "store.sqlite", **how) as study:
        return study.run()


def shipped(out: Path, name: str, text: str, half: int) -> lab.Results:
    """The run in a bundle, whose prompt is in a file beside it."""
    path = out / "prompts" / f"{place_of(name)}.j2"
    if path.read_text("utf-8") != text:
        raise lab.BadInput(f"{path} is not the prompt that was tried; the Judge's template has changed since")
    return lab.load_run(out / f"{place_of(name, half)}.zip")


if __name__ == "__main__":
    cli.cli.add_command(judge_wordings)  # in this process alone: its sentences and exit codes are those of srdcr
    cli.main(["judge-wordings", *sys.argv[1:]])
