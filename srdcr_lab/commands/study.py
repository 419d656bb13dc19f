"""Commands for a study: its plan, the doctor of its server, the study itself, requests for other engines."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from srdcr_lab.commands import ASKING, DONE, PATH, SOME_FAILED, SOURCE, Command, as_text, echo, open_store, with_options
from srdcr_lab.lib.page import number
from srdcr_lab.records import ConfidenceKind
from srdcr_lab.records.files import csv_text, write_whole
from srdcr_lab.records.vocabulary import n_of

_ERRORS = 3  # that a run prints
_REPEATED = "number of repeats, each with the next seed: other exemplars, orders and draws"
_BATCHED = "use the batch APIs of openai: and anthropic: models, at half price; takes hours or days"
_REPEATS = "repeats.csv"
_CONDITIONS = {"standard": "true passages", "perturbed": "false passages", "overall": "mean"}  # columns of Table 1
_ROLES = ("defender", "critic", "judge")
# What `plan`, `run` and `requests` share: what decides the numbers, and how the models are reached.
_study_options = with_options(
    [
        click.option(
            "--model",
            default="pocket",
            show_default=True,
            help="pocket (shipped), hf:NAME_OR_PATH, gguf:FILE, gguf:smollm2, openai:NAME (key in OPENAI_API_KEY), "
            "anthropic:NAME (key in ANTHROPIC_API_KEY)",
        ),
        click.option(
            "--items",
            type=SOURCE,
            default="facts",
            show_default=True,
            help="facts, facts:testbed, facts:pairs, facts:second, facts:grid, facts:rewrites, facts:options, "
            "facts:claims, facts:documents, of one split facts:held (facts:held:pairs …), a benchmark (srdcr data "
            "list), BENCHMARK=FILE, or a CSV, JSONL or Parquet file",
        ),
        click.option(
            "--methods",
            default="few_shot,sr_dcr",
            show_default=True,
            help="names separated by commas (docs/guide/methods.md lists them), or all that suit the items",
        ),
        *(click.option(f"--{role}", help="model of this role; default: --model") for role in _ROLES),
        click.option("--preset", default="paper", show_default=True, help="paper or released"),
        click.option(
            "--design",
            help="acvd, symmetric, own_answers, released, or a control (judge_alone, two_answers, placebo, swapped, "
            "consultancy_defender, consultancy_critic), or several separated by commas; default: the preset's",
        ),
        click.option("--rounds", type=int, help="rounds of debate; default: the preset's (6)"),
        click.option("--tau", type=float, help="confidence threshold in [0, 1]; default: the preset's (0.9)"),
        click.option(
            "--confidence",
            help=f"{', '.join(('auto', *ConfidenceKind))}; default: the preset's "
            "(auto: mean_logprob, or self_consistency for a model without log-probabilities)",
        ),
        click.option(
            "--samples", type=int, help="knowledge draws per question, 0 for no categories; default: the preset's (32)"
        ),
        click.option(
            "--prompts",
            type=PATH,
            help="folder of templates (NAME.j2) that replace ours; or paraphrase-1, paraphrase-2: our own rewordings",
        ),
        click.option("--strict", is_flag=True, help="refuse items with unusable rows; default: leave these rows out"),
        click.option(
            "--limit",
            type=int,
            help="largest number of items, stratified and seeded; a question keeps one true and one false form, "
            "more only if all questions fit; default: all",
        ),
        click.option("--seed", default=0, show_default=True, type=int),
        *ASKING,
    ]
)
_EXAMPLES = """\b
Examples:
  srdcr run --items facts:pairs --limit 20 --out results/first
  srdcr run --model openai:NAME --items QUESTIONS.csv --methods few_shot,sr_dcr --budget-usd 5 --out results/mine
"""
_repeats = click.option("--repeats", default=1, show_default=True, type=click.IntRange(1, 100), help=_REPEATED)
_batch = click.option("--batch", is_flag=True, help=_BATCHED)
_NO_CHOICES = {"folder", "out", "store", "draws", "base_url", "concurrency", "patience_s", "budget_usd", "offline"}


@click.command(cls=Command)
@_study_options
@_repeats
@_batch
@click.option("--store", type=PATH, help="a store of earlier runs, which records what the models refuse")
def plan(repeats: int, **options: Any) -> None:
    """Estimate what a run takes: calls, tokens, and cost from–to.

    This asks no server and needs no key.
    """
    from srdcr_lab.study import Study
    from srdcr_lab.study.plan import spans

    with Study(offline=True, **options) as study:
        planned = study.plan()
        some = f", estimated from {planned.rehearsed} of them" if planned.rehearsed < len(study.items) else ""
        questions = n_of(len({item.question_id for item in study.items}), "questions")
        echo(f"{len(study.items)} items of {study.items.name}, on {questions}{some}")
        for note in study.items.notes:
            echo(f"note: {note}")
        if repeats > 1:
            echo(f"{repeats} repeats together; they share no call, since each asks with a seed of its own")
        echo(as_text(spans((planned.table.set_index("methods") * repeats).reset_index())))
        echo(
            "A call is one completion. alone: every item by itself. shared: identical requests asked once, "
            "in a row over its items, in the last row over all rows; tokens and costs are estimates of these."
        )
        votes = study.choices.consistency_draws
        echo(f"If an API model refuses a temperature, its prior and context answers take {votes} draws each.")
        if planned.waves:
            waves, days = "–".join(map(str, dict.fromkeys(planned.waves))), max(planned.waves)
            echo(
                f"In batches: {waves} waves, one after the other, of 24 hours at most each: {days} days at worst "
                "(longer if one expires). Costs are those of batches: half the price."
            )


@click.command(cls=Command, epilog=_EXAMPLES)
@_study_options
@_repeats
@_batch
@click.option("--out", required=True, type=PATH, help="results folder; an existing one is resumed")
@click.option("--concurrency", default=64, show_default=True, type=int, help="API requests in flight at once")
@click.option(
    "--patience",
    "patience_s",
    default=300.0,
    show_default=True,
    help="seconds to wait for a server that is down",
)
@click.option("--budget-usd", type=float, help="never spend more than this; default: no limit")
@click.option("--store", type=PATH, help="file of the completions; default: store.sqlite in the results folder")
@click.option("--offline", is_flag=True, help="take every completion from the store and ask nothing")
@click.option("--ray", metavar="local|ADDRESS", help="let the workers of a Ray cluster ask; local starts one here")
@click.option("--shards", type=int, help="with --ray: number of parts, one per worker; default: what suits the cluster")
def run(out: Path, repeats: int, ray: str | None, shards: int | None, **options: Any) -> int:
    """Run methods on items and write the results.

    The folder --out then holds summary.csv, records, turns and samples as Parquet, items.json, run.json and, unless
    --store names another file, the store of the completions. The same command resumes a run that was stopped.

    With --repeats the folder holds the first repeat, its folders repeat-2, repeat-3 … the others, and repeats.csv shows
    how accuracies vary. All share one store and one budget.

    With --offline and no option that defines a study, the study in the folder --out is run.
    """
    from srdcr_lab.lib.comparison import over_repeats
    from srdcr_lab.lib.summary import summary
    from srdcr_lab.study import load_repeats

    failed = 0
    with _study(out, from_run=options["offline"], **options) as study:
        for repeat in study.repeats(repeats):
            results = repeat.run(ray=ray, shards=shards)
            echo(as_text(final_table(results.summary)))
            for note in results.manifest["notes"]:
                echo(f"note: {note}")
            failed += (here := results.manifest["counts"]["failed"])
            errors = f"; {here} rows carry an error, see the column error of records.parquet" if here else ""
            for error, rows in results.records["error"].value_counts()[:_ERRORS].items() if here else ():
                echo(f"error of {rows} rows: {error}")
            echo(f"results in {results.folder}{errors}")
            look = shlex.join(["srdcr", "notebooks", "--run", str(results.folder)])
            echo(f"to look further: {look}")
    if repeats > 1:
        keys = [name for name in ("model", "method", "design", "condition") if name in results.summary]
        table = over_repeats(summary, load_repeats(out), by=keys)
        write_whole(out / _REPEATS, csv_text(table))
        echo(f"{as_text(table)}\nboth: over questions and repeats; the same table is {out / _REPEATS}")
    return SOME_FAILED if failed else DONE


def _study(folder: Path, *, from_run: bool, opened: Any = None, **options: Any) -> Any:
    """The study of these options; with `from_run`, if none of them defines one, the study in the folder.

    `opened` makes a model of that study from its identity; by default none is asked.
    """
    from srdcr_lab.study import Study, load_run
    from srdcr_lab.study.results import read_manifest

    context = click.get_current_context()
    typed = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if typed - _NO_CHOICES or not from_run or read_manifest(folder) is None:
        return Study(out=folder, **options)
    held = load_run(folder)
    how = {name: options[name] for name in ("store", "offline", "batch")}
    return Study.of_run(held, opened, out=folder, limit=held.manifest["asked"].get("limit"), **how)


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@_study_options
@click.option("--out", required=True, type=PATH, help="file of the lines")
@click.option("--store", type=PATH, help="file of the completions; default: store.sqlite in FOLDER")
@click.option(
    "--draws",
    type=click.IntRange(1),
    help="most draws per line, by default as before; 1 for an engine that ignores n",
)
def requests(folder: Path, out: Path, draws: int | None, **options: Any) -> None:
    """Write what a study still needs, for other engines to answer.

    FOLDER is a results folder; if it holds no study yet, the options define one, as in srdcr run. The lines are those
    of OpenAI's batch files, which vllm run-batch reads too. srdcr store import reads the replies; then the same command
    writes the next wave, until nothing is missing.
    """
    from srdcr_lab.study.waves import adapter

    options["base_url"] = options["base_url"] or "http://localhost"  # where nobody is asked, so no key is needed
    place = ["--store", str(options["store"])] if options["store"] else []
    with _study(folder, from_run=True, opened=adapter, batch=True, offline=False, **options) as study:
        lines, n_draws, items = study.write_requests(out, draws)
    if lines:
        echo(f"{out}: {n_of(lines, 'requests')} with {n_of(n_draws, 'draws')}, for {n_of(items, 'items')}")
        taken = shlex.join(["srdcr", "store", "import", place[1] if place else str(folder)])
        echo(f"when your engine has answered them: {taken} REPLIES, then the same command for the next wave")
    else:
        tables = shlex.join(["srdcr", "run", "--offline", "--out", str(folder), *place])
        echo(f"nothing is missing; this writes the tables: {tables}")


def final_table(summary: Any) -> Any:
    """Table 1 for a terminal: one row per method; right answers in per cent, with their intervals, side by side."""
    import pandas as pd

    keys = [name for name in ("model", "design") if name in summary and summary[name].nunique() > 1]
    rows = []
    for labels, of_method in summary.groupby(["method", *keys], sort=False, dropna=False):
        row = dict(zip(["method", *keys], labels, strict=True))
        by_condition = {each.condition: each for each in of_method.itertuples()}
        overall = by_condition["overall"]
        row["items"] = overall.n
        for condition, title in _CONDITIONS.items():
            row[f"{title} %"] = _percent(by_condition.get(condition), "accuracy")
        row["where it answers %"] = _percent(overall, "selective_accuracy")
        row["answered %"] = number(100 * overall.coverage, ".0f")
        row |= {name: getattr(overall, f"n_{name}") for name in ("abstained", "unparsed", "error")}
        rows.append(row | ({"drawn": overall.decoding} if "decoding" in summary else {}))
    return pd.DataFrame(rows)


def _percent(row: Any, measure: str) -> str:
    share = getattr(row, measure, math.nan)
    if math.isnan(share):
        return "–"
    low, high = (100 * getattr(row, f"{measure}_{end}") for end in ("low", "high"))
    return f"{100 * share:.1f} [{low:.0f}, {high:.0f}]"


@click.command(cls=Command)
@click.option("--model", default="pocket", show_default=True, help="as in srdcr run")
@click.option("--store", type=PATH, help="record the findings there; runs with this store write them into run.json")
@with_options(ASKING)
def doctor(model: str, store: Path | None, **asking: Any) -> None:
    """Find out what a server does with a study's requests. Takes about 50 short completions."""
    from srdcr_lab.models.doctor import DOCTOR, conclusions, examine
    from srdcr_lab.models.spending import price_of
    from srdcr_lab.study.opening import Asking
    from srdcr_lab.study.run import wait_for

    opened = Asking(patience_s=0.0, offline=False, **asking).opened(model)[0].answerer
    with open_store(store or Path(":memory:"), create=True) as kept:
        try:
            findings, trials = wait_for(examine(opened))
        finally:
            wait_for(opened.aclose())
        kept.remember(opened.identity.key, DOCTOR, json.dumps(findings, ensure_ascii=False))
    completions = [completion for each in trials for completion in each.completions]
    read, said = (sum(getattr(each, f"{kind}_tokens") for each in completions) for kind in ("prompt", "completion"))
    cost = f"${price.cost_of(completions):.4f}" if (price := price_of(opened.identity)) else "cost unknown"
    requests = opened.sent().get("requests", len(trials)) if hasattr(opened, "sent") else len(trials)
    spent = f"{requests} requests, {read:,} prompt tokens, {said:,} completion tokens, {cost}"
    echo(f"{opened.identity}: {len(completions)} completions in {spent}")
    for about, (told, observed) in findings.items():
        echo(f"{about:<27}{told}: {observed}")
    for failure in dict.fromkeys(each.failure for each in trials if each.failure):
        echo(f"failed: {failure}")
    for sentence in conclusions(findings):
        echo(f"- {sentence}")
