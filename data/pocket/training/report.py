"""Measure the shipped pocket model: `make pocket-report`.

Four studies, run here from the weights, all but the second read instead where `srdcr run` has written them: the
testbed, with debates; the grid's standard items and false years, without; and, on samples, counterfactual debates on
questions with options and the debates between documents. Prints one table: target, value, 95 % interval, met or missed;
``--write-card`` puts it into MODEL_CARD.md. ``--also FOLDER`` measures what another seed's training put there too, and
says what differs: intervals are over questions and do not contain what changes from one training to another.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import findings as F
import pandas as pd

import srdcr_lab as lab
from srdcr_lab.answers import same_answer
from srdcr_lab.records import AnswerType

POCKET = Path(__file__).resolve().parents[1]
RESULTS = POCKET.parents[1] / "results"
START, END = "<!-- measured: start -->", "<!-- measured: end -->"
ON_OPTIONS = "cot,self_reflection,self_consistency,mad,self_contrast,cfmad,cfmad_when_unsure"
ON_DOCUMENTS = "concatenate,madam_rag,ra_rag,dialectical"
OWN = "own_answers"  # the design in which debaters state answers of their own, so that what they recall can be seen
APART = 0.10  # two trainings differ by less in what is stable
MOST = 100  # questions with options, and questions with documents: 45 and 30 calls each


def finished(
    folder: Path | None,
    arguments: argparse.Namespace,
    items: str,
    methods: str,
    limit: int | None,
    samples: int | None,
    design: str | None = None,
) -> lab.Results:
    """The run in the folder, or one made now under ``--out``."""
    if folder:
        return lab.load_run(folder)
    out = arguments.out / items.partition(":")[2]
    with lab.Study(
        arguments.model, items, methods, limit=limit, samples=samples, design=design, out=out, store=arguments.store
    ) as study:
        return study.run()


def testbed(arguments: argparse.Namespace) -> lab.Results:
    """Debates over one passage, on the testbed: the paper's, and those in which the critic recalls its answer."""
    designs = f"acvd,{OWN}"
    results = finished(arguments.testbed, arguments, "facts:testbed", arguments.methods, arguments.limit, None, designs)
    if OWN not in set(results.records["design"]):
        raise SystemExit(f"{results.folder} has no debates of the design {OWN}; run it with --design {designs}")
    return results


def options(arguments: argparse.Namespace) -> lab.Results:
    """CFMAD and the methods it is compared with, on questions with four options."""
    return finished(arguments.options, arguments, "facts:options", ON_OPTIONS, arguments.most, 0)


def documents(arguments: argparse.Namespace) -> lab.Results:
    """The debates between documents, on questions with six of them."""
    return finished(arguments.documents, arguments, "facts:documents", ON_DOCUMENTS, arguments.most, 0)


def grid(arguments: argparse.Namespace) -> tuple[lab.Results, pd.DataFrame]:
    """Every question with its true passage, event years under every offset; and the confidence that is stated."""
    whole = lab.load_items("facts:grid")
    chosen = tuple(item for item in whole if item.is_standard or item.answer_type is AnswerType.YEAR)
    items = replace(whole, name="facts:grid (standard, and false years)", items=chosen)
    standard = replace(whole, name="facts", items=tuple(item for item in whole if item.is_standard))
    store = arguments.store
    with lab.Study(arguments.model, items, "few_shot", out=arguments.out / "grid", store=store) as study:
        results = study.run()
    with lab.Study(arguments.model, standard, "few_shot", confidence="verbalized", store=store) as study:
        return results, study.run().questions


def equality() -> Callable[[str, str, str], bool]:
    """Whether two answers to a question are the same, by its answer type; a missing one equals nothing."""
    items = {item.question_id: item for item in lab.load_items("facts")}

    def same(question_id: str, one: str, other: str) -> bool:
        return not (pd.isna(one) or pd.isna(other)) and same_answer(one, other, items[question_id])

    return same


def sections(
    testbed: lab.Results, grid: lab.Results, verbalized: pd.DataFrame, exposures: pd.DataFrame
) -> dict[str, list[F.Finding]]:
    """Every finding, by the heading it stands under."""
    questions, same = grid.questions, equality()
    turns, records = (table[table["design"] == OWN] for table in (testbed.turns, testbed.records))
    known = questions[["question_id", "knowledge_category", "prior_answer"]]
    return {
        "What it knows": F.knowledge(questions, exposures) + F.recall_by_exposure(questions, exposures),
        "What it reads": F.reading(grid.records) + F.following(grid.records),
        "How it argues": [
            *F.openings(turns, known, same),
            *F.stated(verbalized, questions),
            *F.roles(turns, records, same),
        ],
        "What the methods make of it": F.methods(testbed.records),
    }


def further(options: lab.Results, documents: lab.Results) -> dict[str, list[F.Finding]]:
    """A row for each method that does not read a single passage."""
    return {
        "Questions with four options, no passage (chance: 0.25)": F.by_method(options.records),
        "Documents that contradict each other (right: the one right answer and no wrong one)": F.by_method(
            documents.records
        ),
    }


def measured(arguments: argparse.Namespace) -> dict[str, list[F.Finding]]:
    """All findings on one model, by the heading they stand under."""
    known, verbalized = grid(arguments)
    parts = sections(testbed(arguments), known, verbalized, pd.read_csv(arguments.exposures))
    return parts | further(options(arguments), documents(arguments))


def trained_anew(arguments: argparse.Namespace) -> argparse.Namespace:
    """The same measurements of the model in ``--also``: no finished run is its."""
    other = {"model": f"hf:{arguments.also}", "exposures": arguments.also / "exposures.csv"}
    unread = dict.fromkeys(("testbed", "options", "documents"))
    return argparse.Namespace(**vars(arguments) | other | unread | {"out": arguments.out / arguments.also.name})


def beside(parts: dict[str, list[F.Finding]], also: dict[str, list[F.Finding]]) -> str:
    """Markdown: both values, with their intervals, where two trainings differ by `APART` or more or in what they meet;
    and how strict their Judges are."""
    pairs = [pair for heading, rows in parts.items() for pair in zip(rows, also[heading], strict=True)]
    lines = ["| measured | this model | another seed's |", "|---|---|---|"]
    for one, other in pairs:
        near = round(abs(one.value - other.value), 2) < APART and one.met == other.met
        if not near or "(verdict_t" in one.name:
            lines.append(f"| {one.name.partition(' (answered')[0].strip()} | {_cell(one)} | {_cell(other)} |")
    aims = [other.met for _, other in pairs if other.met is not None]
    said = (
        f"Another seed's model meets {sum(aims)} of {len(aims)} targets. Of {len(pairs)} numbers the table has those "
    )
    chosen = f"that differ by {APART:.2f} or more, or of which one alone meets its target, and how strict the Judge is."
    return "\n".join([*lines, "", said + chosen])


def _cell(found: F.Finding) -> str:
    interval = "" if pd.isna(found.low) else f" [{found.low:.2f}, {found.high:.2f}]"
    return "no case" if pd.isna(found.value) else f"{found.value:.2f}{interval} (n = {found.n})"


def table(parts: dict[str, list[F.Finding]]) -> str:
    """Markdown; targets and whether they are met stand beside the numbers."""
    lines = ["| measured | target | value [95 % interval] | |", "|---|---|---|---|"]
    for heading, rows in parts.items():
        lines.append(f"| **{heading}** | | | |")
        for row in rows:
            met = "" if row.met is None else "met" if row.met else "**missed**"
            met += " (the interval spans the bound)" if row.spanned else ""
            lines.append(f"| {row.name.strip()} | {row.target} | {_cell(row)} | {met} |")
    aims = [row for rows in parts.values() for row in rows if row.met is not None]
    kept = [row for row in aims if row.met]
    count = f"{len(kept)} of {len(aims)} targets met, {sum(row.spanned for row in kept)} of these by an estimate whose "
    return "\n".join([*lines, "", f"{count}interval spans the bound."])


def write_card(path: Path, text: str) -> None:
    """Replace what stands between the two markers."""
    before, _, rest = path.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the pocket model against its targets.")
    parser.add_argument("--model", default="pocket")
    parser.add_argument("--exposures", type=Path, default=POCKET / "exposures.csv")
    parser.add_argument("--testbed", type=Path, help=f"a finished run on facts:testbed with sr_dcr, also {OWN}")
    parser.add_argument("--methods", default="few_shot,sr_dcr", help="methods of the testbed's run, or all")
    parser.add_argument("--limit", type=int, help="at most so many items of the testbed")
    parser.add_argument("--options", type=Path, help="a finished run on facts:options, to read instead")
    parser.add_argument("--documents", type=Path, help="a finished run on facts:documents, to read instead")
    parser.add_argument(
        "--most", type=int, default=MOST, help="at most so many items of facts:options, and of facts:documents"
    )
    parser.add_argument("--also", type=Path, help="a folder that train.py filled with another --seed")
    parser.add_argument("--out", type=Path, default=RESULTS / "pocket-report")
    parser.add_argument("--store", type=Path, default=RESULTS / "store.sqlite", help="completions shared with others")
    parser.add_argument("--write-card", action="store_true")
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.store.parent.mkdir(parents=True, exist_ok=True)
    parts = measured(arguments)
    text = table(parts)
    if arguments.also:
        text += "\n\n" + beside(parts, measured(trained_anew(arguments)))
    print(text)
    if arguments.write_card:
        write_card(POCKET / "MODEL_CARD.md", text)


if __name__ == "__main__":
    main()
