"""Commands for finished studies: notebooks and a report that show them, sharing and replay, exchange with other tools,
and the store of completions.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import is_zipfile

import click

from srdcr_lab.commands import (
    ASKING,
    BAD_INPUT,
    DONE,
    PATH,
    SOME_FAILED,
    SOURCE,
    Command,
    as_text,
    echo,
    open_store,
    with_options,
)
from srdcr_lab.commands.study import final_table
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import write_whole
from srdcr_lab.records.vocabulary import n_of, visible

_SHOWN = ["model", "method", "condition", "n", "coverage", "accuracy", "selective_accuracy"]
_FINDINGS, _ERRORS = 20, 3  # that are printed of a check, and of replies


@click.command(cls=Command)
@click.option("--model", help="as in srdcr run; default: what each notebook says")
@click.option("--items", type=SOURCE, help="as in srdcr run; default: what each notebook says")
@click.option("--limit", type=int, help="largest number of items; default: what each notebook says")
@click.option("--questions", type=int, help="number of questions where nothing is debated; default: what each says")
@click.option("--out", type=PATH, default=Path("results/notebooks"), show_default=True)
@click.option("--figures", type=PATH, help="folder of their figures and tables; default: figures/ beside --out")
@click.option("--run", type=SOURCE, help="a results folder, a bundle or the name of a shipped study; asks nothing")
@click.option("--only", help="numbers of notebooks, such as 03,04b; default: all")
@click.option("--jobs", type=click.IntRange(1), help="how many run at once; default: one per core, at most 4")
@click.option("--html", is_flag=True, help="also write each as a page that needs no network and no kernel")
def notebooks(out: Path, figures: Path | None, only: str | None, jobs: int | None, html: bool, **options: Any) -> None:
    """Execute the notebooks, 00 to 10, into the folder --out.

    Their figures go beside that folder (results/figures), and they share results/store.sqlite. With --run, notebooks
    00–05 show that study; a notebook whose question it cannot answer says so and is left out. With --html, pages are
    written into the folder html in --out.
    """
    from srdcr_lab.study.notebooks import SEQUENCE, run_notebooks, write_pages

    other = [name for name in ("model", "items", "limit", "questions") if options[name] is not None]
    if options["run"] and other:
        raise BadInput(f"--run names a study with its model and items: leave --{other[0]} out")
    figures = (figures or out.resolve().parent / "figures").resolve()
    if figures.is_relative_to(SEQUENCE.parent):  # so that no notebook holds a path of this machine
        figures = Path(os.path.relpath(figures, SEQUENCE))
    options["figures"] = None if figures == Path("../figures") else figures.as_posix()  # what they say anyway
    parameters = {name.upper(): value for name, value in options.items()}
    made = run_notebooks(out, parameters, only=only and only.replace(",", " ").split(), cannot=echo, jobs=jobs)
    for path in made:
        echo(path.name)
    if html:
        echo(write_pages(made, out / "html"))


@click.command(cls=Command)
@click.argument("table", type=SOURCE, required=False)
@click.option("--model", default="pocket", show_default=True, help="as in srdcr run")
@click.option("--run", "finished", type=SOURCE, help="a results folder, a bundle or a shipped study; asks nothing")
@click.option("--out", type=PATH, default=Path("report.html"), show_default=True, help="file of the page")
@click.option("--limit", type=int, help="largest number of items, as in srdcr run; default: all")
@click.option("--alpha", default=0.2, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="share of wrong answers from memory that you can accept")  # fmt: skip
@click.option("--delta", default=0.1, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="probability with which the guarantee may fail")  # fmt: skip
@click.option("--tau", type=float, help="a confidence threshold fixed beforehand, in [0, 1]; default: the run's (0.9)")
@click.option("--store", type=PATH, help="file of the completions; default: results/store.sqlite")
@with_options(ASKING)
def report(
    table: str | None, finished: str | None, out: Path, alpha: float, delta: float, tau: float | None, **how: Any
) -> int:
    """Say on one page when a model may answer from memory.

    TABLE has the columns question, gold_answer and context. Its passages are made false by known amounts, the model is
    asked with and without them, and the page has the answer, its guarantee and what that does not cover: notebook 06 as
    one command. With --run it is the page of a finished run.
    """
    from srdcr_lab.data import check_source, load_items, perturb
    from srdcr_lab.domain_report import domain_report
    from srdcr_lab.study import load_run, open_study

    if (table is None) is (finished is None):
        raise BadInput("name a TABLE to study, or with --run a finished run, and not both")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise BadInput(f"{out} is a folder, or its folder does not exist; give --out a file in an existing folder")
    if finished is not None:
        results, checked, perturbed = load_run(finished), None, None
    else:
        items, checked = load_items(str(table)), check_source(str(table))
        perturbed = perturb(items) if all(item.is_standard for item in items) else None
        how["store"] = how["store"] or Path("results/store.sqlite")
        graded = items if perturbed is None else perturbed.items or items  # rows without a passage are in none
        results = open_study(how.pop("model"), graded, "few_shot", tau=tau, **how)
    fixed = results.manifest["asked"]["choices"]["tau"] if tau is None else tau
    page = domain_report(results, checked=checked, perturbed=perturbed, alpha=alpha, delta=delta, tau=fixed)
    write_whole(out, page)
    echo(f"{out}: {results.label}")
    return SOME_FAILED if results.manifest["counts"]["failed"] else DONE


@click.command("share", cls=Command)
@click.argument("folder", type=PATH)
@click.argument("target", type=PATH)
@click.option("--store", type=PATH, help="the run's store; default: store.sqlite in FOLDER")
def share_run(folder: Path, target: Path, store: Path | None) -> None:
    """Bundle a run into one file, TARGET (.zip).

    It holds the results in FOLDER and the completions they were made of; no key.
    """
    from srdcr_lab.study.share import share

    shared = share(folder, target, store=store)
    echo(f"{target}: {len(shared.files)} files, {shared.completions:,} completions; replayed, no difference")
    echo(f"sha256 {shared.sha256}")
    if others := sorted(path.name for path in folder.glob("repeat-*")):
        how = f"share each by itself, with --store {store or folder / 'store.sqlite'}"
        echo(f"note: {target} holds the first repeat, not {', '.join(others)}; {how}")


@click.command("replay", cls=Command)
@click.argument("source", type=PATH)
@click.option("--out", type=PATH, default=Path("results/replay"), show_default=True)
def replay_bundle(source: Path, out: Path) -> int:
    """Compute every table of a bundle again, offline, and compare.

    SOURCE is a file of srdcr share, or the name of a shipped study. The exit code is 1 if anything differs.
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
    for note in made.notes:
        echo(f"note: {note}")
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
    from srdcr_lab.study import load_run
    from srdcr_lab.study.exchange import write_inspect

    echo(write_inspect(load_run(folder), target))


@click.command("import", cls=Command)
@click.argument("table", type=PATH)
@click.option("--out", required=True, type=PATH, help="results folder to write")
@click.option("--model", default="model", show_default=True, help="name of the model; shown after elsewhere:")
@click.option("--method", default="own", show_default=True, help="name of the method behind the column final_answer")
@click.option("--tau", type=float, help="confidence threshold in [0, 1]; default: the paper's (0.9)")
@click.option("--strict", is_flag=True, help="refuse a table with unusable rows; default: leave these rows out")
def import_results(table: Path, out: Path, model: str, method: str, tau: float | None, strict: bool) -> None:
    """Make a results folder from results made elsewhere.

    TABLE is lm-eval=FILE (--log_samples of lm-evaluation-harness), clasheval=FILE (its released responses), or a
    table of your own (.csv, .jsonl, .parquet). That has one row per item: question, gold_answer and, unless it was
    asked from memory, context; what the passage asserts (claimed_answer, and optionally perturbation_kind: none,
    offset, factor, substitution, rewrite); any other column of --items (options, answer_type, argued …); and any of
    these results:

    \b
    prior_answer, context_answer    answers without and with the passage, or replies that state them
    final_answer                    answers of a method of your own; empty if it abstained
    prior_correct, context_correct, final_correct
                                    their grades (true or false, 1 or 0), used instead of our own comparison
    self_confidence                 in the prior answer, from 0 to 1, with confidence_kind
    logprobs                        a list: natural logarithms of the prior answer's tokens
    samples                         a list: answers drawn without the passage
    knowledge_category              without samples: HIGHLY_KNOWN, MAYBE_KNOWN, WEAKLY_KNOWN, UNKNOWN
    verdict_path                    R, U or ? after each round of a debate
    verdict                         alone: of a judge without a debate (REASONABLE, UNREASONABLE, UNPARSED)
    p_unreasonable                  the judge's probability of UNREASONABLE
    """
    from srdcr_lab.study import results_from

    results = results_from(table, out, model=model, method=method, tau=tau, strict=strict)
    designs = results.records.dropna(subset="design").set_index("method")["design"].to_dict()
    named = {method: f"{method} ({design})" for method, design in designs.items()}
    echo(as_text(results.summary[_SHOWN].replace({"method": named})))
    for note in results.manifest["notes"]:
        echo(f"note: {note}")
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
def merge(file: Path, sources: tuple[Path, ...]) -> None:
    """Add stores, exports or bundles to FILE.

    A shipped study goes by its name. What FILE already holds is kept. If one row or line of a source is damaged,
    nothing is added.
    """
    with TemporaryDirectory(prefix="srdcr-") as place:
        stores = [_store_in(source, Path(place) / str(k)) for k, source in enumerate(sources)]
        with open_store(file, create=True) as opened, opened.transaction():
            merged = [opened.merge(each) for each in stores]
    for source, (added, known) in zip(sources, merged, strict=True):
        echo(f"{added:,} completions added from {source}, {known:,} were here already")


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
            echo(f"{file}: {opened.count():,} completions, no damage found")
    return BAD_INPUT if findings else DONE


@store.command()
@click.argument("file", type=PATH)
@click.argument("batch")
def forget(file: Path, batch: str) -> None:
    """Give up a batch, by its provider's id.

    Its requests may then be asked again. Use it if the account of the batch, or its results, are gone.
    """
    with open_store(file) as opened:
        lines = opened.forget_batch(batch)
    echo(f"{batch} is forgotten; {lines:,} requests may be asked again, and billed again by the provider")
