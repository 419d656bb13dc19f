"""Commands for a study (plan, doctor of its server, run, requests for other engines) and for what it leaves:
notebooks and a report, sharing and replay, exchange with other tools, the store of completions.
"""

import hashlib
import json
import math
import os
import shlex
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import is_zipfile

import click
from click.core import ParameterSource

import srdcr_lab as lab
from srdcr_lab import commands
from srdcr_lab.commands import DONE, PATH, SOME_FAILED, Command, as_text, echo, note_all, open_store, refuse_overwriting
from srdcr_lab.lib.page import number
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import csv_text, made, write_whole
from srdcr_lab.records.vocabulary import n_of, visible

_SHOWN = ["model", "method", "condition", "n", "coverage", "accuracy", "selective_accuracy"]
_FINDINGS, _ERRORS = 20, 3  # that are printed of a check, and of a run or of replies
_REPEATS = "repeats.csv"
_CONDITIONS = {"standard": "true passages", "perturbed": "false passages", "overall": "mean"}  # columns of Table 1
_EXAMPLES = """\b
Examples:
  srdcr run --items facts:pairs --limit 20 --out results/first
  srdcr run --model openai:NAME --items QUESTIONS.csv --methods few_shot,sr_dcr --budget-usd 5 --out results/mine
"""
_NO_CHOICES = {"folder", "out", "store", "draws", "base_url", "concurrency", "patience_s", "budget_usd", "offline",
               "batch", "repeats", "ray", "shards"}  # fmt: skip


@click.command(cls=Command)
def plan(repeats: int, **options: Any) -> None:
    """Estimate the calls, tokens and cost of a run, as ranges.

    This asks no server and needs no key.
    """
    from srdcr_lab.study.plan import SPREAD, spans

    with lab.Study(offline=True, **options) as study:
        planned = study.plan()
        some = f", estimated from {planned.rehearsed} of them" if planned.rehearsed < len(study.items) else ""
        n = len({item.question_id for item in study.items})
        echo(f"{len(study.items)} items of {study.items.name}, on {n_of(n, 'questions')}{some}")
        note_all(study.items.notes)
        if repeats > 1:
            echo(f"{repeats} repeats together; they share no call, since each asks with a seed of its own")
        echo(as_text(spans((planned.table.set_index("methods") * repeats).reset_index())))
        echo(
            "A call is one completion. alone: each item asked by itself. shared: identical requests counted once, in a "
            "row or, in the last row, in the run. Tokens and costs are of the shared calls.\n"
            "If an API model refuses a temperature, its prior and context answers take "
            f"{study.choices.consistency_draws} draws each.\n"
            f"A difference in accuracy below {2.8 * SPREAD / n**0.5:.2f} will probably be missed (80 % power; two "
            "methods that vary as in pocket's study). A guaranteed τ (risk ≤ 0.1) needs 33 or more questions above it."
        )
        if planned.waves:
            fewest, most = planned.waves
            waves = n_of(most, "waves") if fewest == most else f"{fewest}–{most} waves"
            lasts = f"{waves}, one after the other, of 24 hours at most each: {n_of(most, 'days')} at worst"
            echo(f"In batches: {lasts} (longer if one expires). Costs are those of batches: half the price.")


@click.command(cls=Command, epilog=_EXAMPLES)
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

    failed, folders = 0, []
    options["offline"] = options["offline"] or None  # for SRDCR_OFFLINE to decide
    with _study(out, from_run=bool(options["offline"]), **options) as study:
        for repeat in study.repeats(repeats):
            results = repeat.run(ray=ray, shards=shards)
            echo(as_text(final_table(results.summary)))
            note_all(results.manifest["notes"])
            failed += (here := results.manifest["counts"].get("failed"))
            for error, rows in results.records["error"].value_counts()[:_ERRORS].items() if here else ():
                echo(f"error of {rows} rows: {error}")
            folders.append(results.folder)
            paid, spent = results.manifest["counts"]["calls_paid"], f"${results.manifest['spent_usd']:.4f}"
            cost = "at unknown cost" if None in results.manifest["prices"].values() else f"{spent} spent so far"
            echo(f"{n_of(paid, 'completions')} asked for, the others shared or from the store; {cost}")
            echo(f"results in {results.folder}")
            echo(f"to look further: {shlex.join(['srdcr', 'notebooks', '--run', str(results.folder)])}")
    if repeats > 1:
        table = over_repeats(summary, lab.load_repeats(*folders))
        write_whole(out / _REPEATS, csv_text(table))
        echo(f"{as_text(table)}\nboth: over questions and repeats; the same table is {out / _REPEATS}")
    return SOME_FAILED if failed else DONE


def _study(folder: Path, *, from_run: bool, opened: Any = None, **options: Any) -> Any:
    """The study of these options; with `from_run`, if none of them defines one, the study in the folder.

    `opened` makes a model of that study from its identity; by default none is asked.
    """
    from srdcr_lab.study import study_of
    from srdcr_lab.study.results import read_manifest

    if _typed() - _NO_CHOICES or not from_run:
        return lab.Study(out=folder, **options)
    if read_manifest(folder) is None:
        raise BadInput(f"there is no study in {folder}; give its options, or a folder with run.json and items.json")
    held = lab.load_run(folder)
    how = {name: options[name] for name in ("store", "offline", "batch") if options[name] is not None}
    return study_of(held, opened, out=folder, limit=held.manifest["asked"].get("limit"), **how)


def _typed() -> set[str]:
    """The names of the options that were given on the command line."""
    context = click.get_current_context()
    return {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}


@click.command(cls=Command)
@click.argument("folder", type=PATH)
def requests(folder: Path, out: Path, draws: int | None, **options: Any) -> None:
    """Write what a study still needs, for other engines to answer.

    FOLDER is a results folder; if it holds no study yet, the options define one, as in srdcr run. The lines are those
    of OpenAI's batch files, which vllm run-batch reads too. srdcr store import reads the replies; then the same command
    writes the next wave, until nothing is missing.
    """
    from srdcr_lab.study.results import FILES, STORE
    from srdcr_lab.study.study import write_requests
    from srdcr_lab.study.waves import adapter

    refuse_overwriting((out,), (options["store"], *(folder / name for name in (*FILES, STORE))))
    options["base_url"] = options["base_url"] or "http://localhost"  # where nobody is asked, so no key is needed
    place = ["--store", str(options["store"])] if options["store"] else []
    with _study(folder, from_run=True, opened=adapter, batch=True, offline=False, **options) as study:
        lines, n_draws, items = write_requests(study, out, draws)
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
def doctor(model: str, store: Path | None, **asking: Any) -> int:
    """Find out how a server answers a study's requests. Takes about 50 short completions."""
    from srdcr_lab.models.doctor import DOCTOR, NO, conclusions, examine
    from srdcr_lab.models.spending import price_of
    from srdcr_lab.study.run import wait_for

    opened = lab.Asking(patience_s=0.0, offline=False, **asking).opened(model).answerer
    if store:
        made(store.parent)
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
    is_fit = any(each.text.strip() for each in completions) and findings["system message arrives"][0] is not NO
    for sentence in conclusions(findings, is_fit=is_fit):
        echo(f"- {sentence}")
    return int(not is_fit)


@click.command(cls=Command)
def notebooks(out: Path, figures: Path | None, only: str | None, jobs: int | None, html: bool, **options: Any) -> None:
    """Execute the notebooks into the folder --out.

    Their figures go beside that folder (results/figures), and they share results/store.sqlite. With --run, notebooks
    00–05b and 06b show that study at its own τ; a notebook whose question it cannot answer says so and is left out.
    With --html, pages are written into the folder html in --out.
    """
    from srdcr_lab.study.notebooks import SEQUENCE, run_notebooks, write_pages

    other = [name for name in ("model", "items", "limit", "questions") if options[name] is not None]
    if options["run"] and other:
        raise BadInput(f"--run names a study with its model and items: leave --{other[0]} out")
    figures = (figures or out.resolve().parent / "figures").resolve()
    if figures.is_relative_to(SEQUENCE.parent):  # so that no notebook holds a path of this machine
        figures = Path(os.path.relpath(figures, SEQUENCE))
    options["store"] = options["store"] and options["store"].resolve().as_posix()
    options["figures"] = None if figures == Path("../figures") else figures.as_posix()  # what they say anyway
    parameters = {name.upper(): value for name, value in options.items()}
    made = run_notebooks(out, parameters, only=only and only.replace(",", " ").split(), tell=echo, jobs=jobs)
    if html:
        echo(write_pages(made, out / "html"))


@click.command(cls=Command)
@click.argument("table", type=commands.SOURCE, required=False)
def report(
    table: str | None, run: str | None, out: Path, alpha: float, delta: float, tau: float | None, **how: Any
) -> int:
    """Say on one page when a model may answer from memory.

    TABLE has the columns question, gold_answer and context. Its passages are made false by known amounts, the model is
    asked with and without them, and the page has the answer, its guarantee and what that does not cover: notebook 06 as
    one command. With --run it is the page of that run.
    """
    from srdcr_lab.data import check_source
    from srdcr_lab.domain_report import domain_report
    from srdcr_lab.protocols.choices import check_ranges

    if (table is None) is (run is None):
        raise BadInput("name a TABLE to study, or with --run a finished run, and not both")
    check_ranges(tau=tau)
    how["store"] = how["store"] or Path("results/store.sqlite")
    refuse_overwriting((out,), (table, run, how["store"]))
    if run is not None:
        if ignored := sorted(_typed() - {"run", "out", "alpha", "delta", "tau"}):
            raise BadInput(f"--run names a study with its model and items: leave --{ignored[0].replace('_', '-')} out")
        results, checked, perturbed = lab.load_run(run), None, None
    else:
        items, checked = lab.load_items(str(table)), check_source(str(table))
        true = all(item.is_standard for item in items)
        perturbed = lab.perturb(items) if true else None
        graded = items if perturbed is None else perturbed.items or items  # rows without a passage are in none
        results = lab.open_study(how.pop("model"), graded, "few_shot", tau=tau, **how)
    fixed = results.manifest["asked"]["choices"]["tau"] if tau is None else tau
    with closing(results):
        page = domain_report(results, checked=checked, perturbed=perturbed, alpha=alpha, delta=delta, tau=fixed)
    write_whole(out, page)
    echo(f"{out}: {results.label}")
    if failed := results.manifest["counts"].get("failed"):
        echo(f"{n_of(failed, 'rows')} of the run failed; the column error says why")
    return SOME_FAILED if failed else DONE


@click.command("share", cls=Command)
@click.argument("folder", type=PATH)
@click.argument("target", type=PATH)
def share_run(folder: Path, target: Path, store: Path | None) -> None:
    """Bundle a run into one file, TARGET (.zip).

    It holds the results in FOLDER and the completions they were made of; no key.
    """
    from srdcr_lab.study.share import share

    refuse_overwriting((target,), (store, folder.parent / "store.sqlite", *folder.glob("*")))
    echo(f"{target}: {share(folder, target, store=store):,} completions; replayed, no difference")
    echo(f"sha256 {hashlib.sha256(target.read_bytes()).hexdigest()}")
    if others := sorted(path.name for path in folder.glob("repeat-*")):
        how = "share each by itself" + (f", with --store {store}" if store else "")
        echo(f"note: {target} holds the first repeat, not {', '.join(others)}; {how}")


@click.command("replay", cls=Command)
@click.argument("source", type=PATH)
def replay_bundle(source: Path, out: Path) -> int:
    """Compute every table of a bundle again, offline, and compare.

    SOURCE is a file of srdcr share, or the name of a shipped study; --out is a new or empty folder. The exit code is 1
    if anything differs.
    """
    from srdcr_lab.study.share import replay

    made = replay(source, out)
    manifest = made.shared.manifest
    echo(f"as it was shared: {made.shared.label}; items {manifest['asked']['items']}; made {manifest['written']}")
    try:
        echo(as_text(final_table(made.shared.summary)))
    except Exception as error:  # whatever a stranger's tables make a measure raise
        echo(f"note: its own tables give no summary ({type(error).__name__})")
    echo(f"{made.tables} tables compared; see {out}")
    note_all(made.notes)
    echo("\n".join(made.differences) or "no difference")
    return SOME_FAILED if made.differences else DONE


@click.command("export", cls=Command)
@click.argument("kind", metavar="inspect", type=click.Choice(["inspect"]))
@click.argument("folder", type=PATH)
@click.argument("target", type=PATH)
def export_results(kind: str, folder: Path, target: Path) -> None:
    """Write the results in FOLDER for another tool.

    inspect: an Inspect AI log, TARGET (.eval), with each item × method as a sample.

    It holds no key, no path of this machine, and no invisible character.
    """
    from srdcr_lab.study.exchange import write_inspect

    echo(write_inspect(lab.load_run(folder).finished(), target))


@click.command("import", cls=Command)
@click.argument("table", type=PATH)
def import_results(table: Path, out: Path, model: str | None, method: str, tau: float | None, strict: bool) -> None:
    """Make a results folder from results made elsewhere.

    TABLE is inspect=LOG (.eval or .json, of Inspect AI), lm-eval=FILE (--log_samples of lm-evaluation-harness),
    clasheval=FILE (its released responses), or your own table (.csv, .jsonl, .parquet), which has one row per item:
    question, gold_answer and, unless it was asked from memory, context; what the passage asserts (claimed_answer, and
    optionally perturbation_kind: none, offset, factor, substitution, rewrite) or its relevance (true, false,
    irrelevant); any other column of --items (options, answer_type, argued …); and any of these results:

    \b
    prior_answer, context_answer    answers without and with the passage, or replies that state them
    final_answer                    answers of a method of your own; empty if it abstained
    prior_correct, context_correct, final_correct
                                    their grades (true or false, 1 or 0), used instead of our own comparison
    self_confidence                 in the prior answer, from 0 to 1, with confidence_kind
    confidence_KIND                 a further confidence, of a KIND of srdcr run --confidence
    logprobs                        a list: natural logarithms of the prior answer's tokens
    tokens                          a list: the tokens of the whole reply, if logprobs are of these
    samples                         a list: answers drawn without the passage; samples_correct: a list of their grades
    knowledge_category              without samples: HIGHLY_KNOWN, MAYBE_KNOWN, WEAKLY_KNOWN, UNKNOWN
    verdict_path                    R, U or ? after each round of a debate
    verdict                         instead: one verdict without a debate (REASONABLE, UNREASONABLE, UNPARSED)
    p_unreasonable                  the judge's probability of UNREASONABLE
    """
    results = lab.results_from(table, out, model=model, method=method, tau=tau, strict=strict)
    designs = results.records.dropna(subset="design").set_index("method")["design"].to_dict()
    named = {method: f"{method} ({design})" for method, design in designs.items()}
    echo(as_text(results.summary[_SHOWN].replace({"method": named})))
    note_all(results.manifest["notes"])
    echo(f"results in {out}")


@click.group()
def store() -> None:
    """Look into a store, move it, check it."""


@store.command()
@click.argument("file", type=PATH)
def info(file: Path) -> None:
    """Show what the store holds, by model."""
    with open_store(file) as opened:
        models = opened.models()
        echo(f"{file}: {opened.count():,} completions of {opened.count('requests'):,} requests")
        for identity, completions, prompt, completion in models:
            tokens = f"{prompt:,} prompt tokens, {completion:,} completion tokens"
            echo(f"  {identity}: {completions:,} completions, {tokens}")


@store.command("export")
@click.argument("file", type=PATH)
@click.argument("target", type=PATH)
def export_store(file: Path, target: Path) -> None:
    """Write the store as sorted JSON lines.

    The file is portable and can be compared by diff; it holds no keys and no times.
    """
    with open_store(file) as opened:
        echo(f"{opened.export(target):,} requests written to {target}")


@store.command()
@click.argument("file", type=PATH)
@click.argument("sources", nargs=-1, required=True, type=PATH)
def merge(file: Path, sources: tuple[Path, ...]) -> int:
    """Add stores, exports or bundles to FILE.

    A shipped study goes by its name. A reply that FILE has is kept, also if a source has another one; the exit code is
    1 then. If one row or line of a source is damaged, nothing is added.
    """
    with TemporaryDirectory(prefix="srdcr-") as place:
        stores = [_store_in(source, Path(place) / str(k)) for k, source in enumerate(sources)]
        with open_store(file, create=True) as opened, opened.transaction():
            merged = [opened.merge(each) for each in stores]
    for source, (added, known, unlike) in zip(sources, merged, strict=True):
        echo(f"{added:,} completions added from {source}, {known:,} were here already")
        if unlike:
            echo(f"{unlike:,} of these differ there, so a run made with {source} may not be replayed from {file}")
    return SOME_FAILED if any(unlike for _, _, unlike in merged) else DONE


def _store_in(source: Path, folder: Path) -> Path:
    """The export in a bundle, which is unpacked into this folder; any other source itself."""
    from srdcr_lab.study.bundle import shipped_studies, unpack

    bundle = shipped_studies().get(source.as_posix(), source)
    if not is_zipfile(bundle):
        return source
    unpack(bundle, folder)
    return folder / "store.jsonl"


@store.command("import")
@click.argument("file", type=PATH)
@click.argument("replies", type=PATH)
def take_replies(file: Path, replies: Path) -> int:
    """Add the replies to the lines of srdcr requests.

    FILE is the store, or the results folder with it; REPLIES holds lines as OpenAI's batch API and vllm run-batch write
    them. If one line does not reply to these requests, nothing is added. The exit code is 1 if some lines have an
    error.
    """
    from srdcr_lab.study.run import wait_for
    from srdcr_lab.study.waves import import_replies

    with open_store(file / "store.sqlite" if file.is_dir() else file) as opened:
        taken = wait_for(import_replies(opened, replies))
    echo(f"{taken.added:,} completions added from {replies}, {taken.known:,} were here already")
    if taken.short:
        fewer = f"{n_of(taken.short, 'lines')} brought fewer draws than were asked for"
        echo(f"{fewer}; srdcr requests --draws 1 asks for one in each line")
    for note in (*taken.notes, *taken.failed[:_ERRORS]):
        echo(note)
    if taken.failed:
        echo(f"{n_of(len(taken.failed), 'lines')} brought an error and no reply; the next wave asks for them again")
    return SOME_FAILED if taken.failed else DONE


@store.command("check")
@click.argument("file", type=PATH)
def check_store(file: Path) -> int:
    """Look for damage.

    This runs SQLite's own check, reads every row as a run does, and finds requests whose key does not fit their text.
    """
    with open_store(file) as opened:
        findings = opened.integrity()
        for finding in findings[:_FINDINGS]:
            echo(visible(finding, 380))
        if findings:
            more = f"{len(findings):,} findings; " if len(findings) > _FINDINGS else ""
            echo(f"{more}tools/recover_store.py of the repository saves what can be read")
        else:
            empty = "" if (n := opened.count()) else "; was it copied without its -wal file?"
            echo(f"{file}: {n:,} completions, no damage found{empty}")
    return commands.BAD_INPUT if findings else DONE
