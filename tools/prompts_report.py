"""How far models keep to what our prompts ask of them: `make prompts-report MODEL=…`.

    python tools/prompts_report.py RUN… [--csv FILE]

A RUN is a results folder, a bundle (`srdcr share`), or a name that `lab.load_run` knows. Prints one table: a measure of
a model under a method, or of a role under a debate design, with n and a 95 % interval clustered on the question; of
words instead the median and between what the middle 90 % of turns lie.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import click
import pandas as pd

import srdcr_lab as lab
from srdcr_lab import cli
from srdcr_lab.commands import PATH, echo
from srdcr_lab.debates import keeps_side, verdict_discrimination, verdict_rates
from srdcr_lab.lib.groups import is_standard
from srdcr_lab.lib.statistics import shares
from srdcr_lab.prompts.messages import Prompts, own_prompts, sources
from srdcr_lab.records import Missing, Verdict
from srdcr_lab.records.files import csv_text, write_whole

TEMPLATES = {
    "defender": ("defender", "defender_told", "judge_debate_debater"),
    "critic": ("critic", "critic_told", "critic_may_agree", "judge_debate_debater"),
    "judge": ("judge", "judge_alone", "judge_debate_judge"),
}
COPIED = 8  # words of the instructions in a row
FRAME = 4  # least words of a sentence around what a role is shown: "Question:" is none
WORDS = 20, 120  # of a turn
_OF_DEBATE = ["item_id", "method", "design"]
_WORD, _USER = re.compile(r"[^\W_]+"), re.compile(r"\{%-? *block user *-?%\}")
_BETWEEN = re.compile(r"\{[{%#].*?[}%#]\}|\n|[.:]", re.DOTALL)  # two sentences of a template


def opened(run: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Records and debate turns of a run; a turn says whether its passage is true, whether it keeps to its side (missing
    where it was given none) and whether it repeats its instructions."""
    results = lab.load_run(run)
    records, turns, manifest = results.records, results.turns, results.manifest
    prompts = own_prompts(manifest["prompts"])
    asked, names = manifest["asked"].get("prompts_sha256", {}), sorted(set(chain(*TEMPLATES.values())))
    if changed := [name for name in names if asked.get(name) != prompts.hashes()[name]]:
        why = f"{run} was asked with other words in {', '.join(changed)}; what is repeated is looked for in today's"
        echo(f"note: {why}", err=True)
    shared = (turns["method"] == "debate_only") & (turns["method"] == "sr_dcr").any()
    turns = turns[turns["role"].isin(TEMPLATES) & ~shared]
    turns = turns.merge(records[[*_OF_DEBATE, "level", "verdict_path"]], on=_OF_DEBATE, how="left")
    phrases = {role: phrases_of(role, prompts) for role in TEMPLATES}
    repeats = [any(f" {each} " in said(row.text) for each in phrases[row.role]) for row in turns.itertuples()]
    about = turns["speaker"].str.removeprefix("about ").where(turns["speaker"].str.startswith("about "))
    talked_of = about.fillna(turns["item_id"]).map(results.items)  # a placebo's debaters: another item
    kept = [keeps_side(*side) for side in zip(turns["stated_answer"], turns["stance"], talked_of, strict=True)]
    of = turns["role"] + " (" + turns["design"].fillna(turns["method"]) + ")"
    kept_to = pd.array(kept, dtype="boolean")
    records = records.assign(of=records["method"] + (" (" + records["design"] + ")").fillna(""))
    return records, turns.assign(of=of, true=is_standard(turns), kept=kept_to, repeats=repeats)


def said(text: str) -> str:
    """The words of a text, and a space around each."""
    return " " + " ".join(_WORD.findall(text.casefold())) + " "


def phrases_of(role: str, prompts: Prompts) -> set[str]:
    """What a turn of the role repeats if it has it: eight words in a row of its instructions, or a sentence that stands
    in its prompt around what it is shown."""
    phrases = set()
    for name in TEMPLATES[role]:
        words = said(prompts.system_text(name)).split()
        phrases |= {" ".join(words[i : i + COPIED]) for i in range(len(words) - COPIED + 1)}
        shown = _USER.split(prompts.own.get(name, sources()[name]))[-1]
        sentences = map(said, _BETWEEN.split(shown))
        phrases |= {sentence.strip() for sentence in sentences if len(sentence.split()) >= FRAME}
    return phrases


def measured(model: str, records: pd.DataFrame, turns: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows of one model, of whom the turns are."""
    answers = records[records["model"] == model]
    yield _shares("answer in format", answers, ~answers["missing"].isin([Missing.UNPARSED, Missing.ERROR]))
    ruled = turns[(turns["role"] == "judge") & turns["verdict_path"].notna()]
    a_ruling = [*_OF_DEBATE, "round", "speaker"]
    firsts, rulings = ruled.drop_duplicates(a_ruling), ruled.drop_duplicates(a_ruling, keep="last")
    read = [Verdict.REASONABLE, Verdict.UNREASONABLE]
    yield _shares("ruling in format, first asking", firsts, firsts["verdict"].isin(read))
    yield _shares("ruling in format, after a repair", rulings, rulings["verdict"].isin(read))
    for true, passage in ((True, "true"), (False, "false")):
        here = rulings[rulings["true"] == true]
        yield _shares(f"ruling REASONABLE, {passage} passage", here, here["verdict"] == Verdict.REASONABLE)
    judged = records[records["model_judge"] == model].assign(model=model)
    if judged["verdict_path"].notna().any():
        rates, areas = verdict_rates(judged), verdict_discrimination(judged)
        yield rates.assign(measure=rates["rate"] + " (V*)", of="judge (" + rates["design"] + ")")
        areas = areas[areas["belief"] != "difference"].rename(columns={"auroc": "share"})
        yield areas.assign(measure="AUROC of " + areas["belief"], of="judge (" + areas["design"] + ")")
    debaters = turns[turns["role"] != "judge"]
    yield _shares("turn keeps to its side", debaters, debaters["kept"])
    yield _shares("turn repeats its instructions", turns, turns["repeats"])
    again = ruled.index.difference(firsts.index)  # a repair asks for one line
    whole = turns.drop(index=again).assign(words=lambda rows: rows["text"].str.split().str.len())
    yield _shares(f"turn of {WORDS[0]}–{WORDS[1]} words", whole, whole["words"].between(*WORDS))
    words = whole.groupby("of", sort=False)["words"]
    spread = {name: words.quantile(share) for name, share in (("low", 0.05), ("share", 0.5), ("high", 0.95))}
    yield pd.DataFrame({"n": words.size(), **spread}).reset_index().assign(measure="words of a turn: median, 5–95 %")


def _shares(measure: str, rows: pd.DataFrame, hits: pd.Series) -> pd.DataFrame:
    by = {"of": list(rows["of"].unique())}
    return shares(rows, hits, by).assign(measure=measure) if len(rows) else pd.DataFrame()


def report(runs: Sequence[str]) -> pd.DataFrame:
    """One row a model × measure × method or role: `n`, the value, and its 95 % interval."""
    records, turns = (pd.concat(parts, ignore_index=True) for parts in zip(*map(opened, runs), strict=True))
    records = records.drop_duplicates(["model", *_OF_DEBATE])  # of two runs with an item in common
    turns = turns.drop_duplicates(["model", *_OF_DEBATE, "position"]).reset_index(drop=True)
    tables = []
    for model in dict.fromkeys([*records["model"], *turns["model"]]):
        parts = [part for part in measured(model, records, turns[turns["model"] == model]) if len(part)]
        tables.append(pd.concat(parts, ignore_index=True).assign(model=model))
    table = pd.concat(tables, ignore_index=True).rename(columns={"share": "value"})
    return table[["model", "measure", "of", "n", "value", "low", "high"]]


@click.command("prompts-report")
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option("--csv", "target", type=PATH, help="write the table into this file too")
def prompts_report(runs: Sequence[str], target: Path | None) -> None:
    """How far models keep to what our prompts ask of them.

    RUN is a results folder, a bundle, or the name of a study that ships.
    """
    table = report(runs)
    echo(table.to_string(index=False, na_rep="–", float_format="{:.3f}".format))
    if target:
        write_whole(target, csv_text(table))


if __name__ == "__main__":
    cli.cli.add_command(prompts_report)  # in this process alone: its sentences and exit codes are those of srdcr
    cli.main(["prompts-report", *sys.argv[1:]])
