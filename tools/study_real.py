"""What a model knows of the shipped facts, and what SR-DCR gains there: `make study-real MODEL=gguf:FILE`.

    python tools/study_real.py --model gguf:FILE --out results/real/NAME [--plan]
    python tools/study_real.py --out results/real/NAME --ship data/studies/NAME

Each part is a results folder in --out. All share the store there, so the same command goes on after any stop, and what
a study that ships has asked is not asked again after `srdcr store merge OUT/store.sqlite NAME NAME/known …`:

    trial_answers, trial_debate   a minute or two, from which the hours of the others are estimated; --plan ends here
    known        prior answer, knowledge draws and confidence of --known-from public questions, without a passage
    debates      SR-DCR and what it is compared with, on --questions of these, each with a true and a false passage
    symmetric    the same debates with a critic who sees the passage, on --symmetric of these items
    controls     with --parts …,controls,fresh: few-shot, warned and not, a vote of 20, and what is left of a debate
                 in its controls, on the items of `debates`
    fresh        the same items debated in two rounds, as they were and with `fresh_turns`
    seed_0, …    with --parts …,seeds: few-shot, two rounds and one critique, with the worked examples of three seeds
    judged       with --parts …,judged: two rounds on --judged of these questions, before the Judge of --judge
    years        few-shot under every offset, on --years Highly-Known event years
    hops, chains with --parts …,hops,chains: of --chains chains, each true and with one false passage (`hops` of the
                 items), what is known of every hop, as `known`; then SR-DCR hop by hop, over the whole chain, and
                 few-shot, in debates of two rounds with one ruling, and what is left of a debate in two controls
    known_years  before it, where `known` holds too few of them: as `known`, of all other public event years

At least half of the questions of `debates` are Highly- or Maybe-Known, where there are so many. That is not so of the
facts: `weights.csv` says which were chosen and how much each counts to be weighted back, `weighted.csv` what comes out.
With --questions-of the items are those of another model's debates, so that the two pair; then they are weighted back
by what the other one knows, by which they were chosen, and the part `known` can be left out.

--ship asks no model: it bundles every part that is there, as far as it has come, for `lab.load_run` to open by name.
"""

from __future__ import annotations

import math
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

import srdcr_lab as lab
from srdcr_lab import cli
from srdcr_lab.commands import DONE, PATH, SOME_FAILED, echo
from srdcr_lab.data.items import freeze, grouped, thaw
from srdcr_lab.evaluation import weighted_back
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.protocols import DESIGNS as DESIGNS_OF
from srdcr_lab.protocols import METHODS
from srdcr_lab.protocols.choices import names_in
from srdcr_lab.records import AnswerType, KnowledgeCategory
from srdcr_lab.records.files import csv_text, write_whole
from srdcr_lab.study.bundle import PARTS
from srdcr_lab.study.plan import BESIDE, SHARED
from srdcr_lab.study.results import ITEMS, MANIFEST, WEIGHTS, check_same_study, read_manifest, write_manifest
from srdcr_lab.study.share import made_again, share

COMPARED = ("sr_dcr", "debate_only", "confidence_only", "token_probability", "calibrated_token_probability", "golden",
            "few_shot", "self_ask", "rci", "judge_debate_1")  # fmt: skip
DESIGNS = "acvd,judge_alone,two_answers"
CONTROLS, CONTROL_DESIGNS = "few_shot,few_shot_warned,vote_20,sr_dcr", "acvd,one_critique,judge_alone,two_answers"
FIRST = "known,debates,symmetric,years"
FRESH = {"design": "acvd,acvd_fresh,symmetric_fresh", "rounds": 2}
SEEDS = range(3)
REPEATED: dict[str, Any] = {"methods": "few_shot,sr_dcr", "design": "acvd,one_critique", "rounds": 2, "samples": 0}
CHAINS = "few_shot,few_shot_warned,few_shot_per_hop,sr_dcr,sr_dcr_per_hop,debate_only_per_hop"
SHORT = {
    "design": [
        replace(DESIGNS_OF["acvd"], rounds=2, final_verdict_only=True), DESIGNS_OF["judge_alone"],
        DESIGNS_OF["one_critique"],
    ],
    "rounds": None,
}  # fmt: skip
HIGHLY, MAYBE, WEAKLY, UNKNOWN = (category.value for category in KnowledgeCategory)
TRIED = 4  # questions of the trial
WEIGHTED = "weighted.csv"
MOST_MB = 12.0  # of all bundles of a study


@dataclass
class RealStudy:
    """The parts, in their order, of one model; the numbers are the command's options."""

    model: ChatModel
    out: Path
    known_from: int
    questions: int
    symmetric: int
    years: int
    judged: int
    rounds: int
    samples: int
    chains: int
    seed: int
    questions_of: str | None = None
    judge: ChatModel | None = None
    parts: str = FIRST
    failed: int = 0  # rows

    def __post_init__(self) -> None:
        scored = self.model.capabilities.logprobs
        self.compared = ",".join(name for name in COMPARED if scored or not METHODS[name].uses_logprobs)
        pairs = lab.load_items("facts:public:pairs", seed=self.seed)
        self.pairs = of_questions(pairs, {item.question_id for item in pairs if not item.is_control})
        closed = tuple(replace(item, context="") for item in self.pairs if item.is_standard)
        self.closed = replace(self.pairs, name="facts:public, without passages", items=closed)
        self.first = self.closed.limit(self.known_from, self.seed)
        self.event_years = {item.question_id for item in closed if item.answer_type is AnswerType.YEAR}
        self.more_years = of_questions(self.closed, self.event_years - {item.question_id for item in self.first})
        self.grid = lab.load_items("facts:public:grid")

    def study(self, part: str | None, items: lab.ItemSet, methods: str, **how: Any) -> lab.Study:
        """A part of the study; without a name one that is planned alone."""
        numbers: dict[str, Any] = {"rounds": self.rounds, "samples": self.samples, "seed": self.seed} | how
        place = {"out": self.out / part, "store": self.out / "store.sqlite"} if part else {}
        return lab.Study(self.model, items, methods, **numbers | place)

    def part(self, name: str, items: lab.ItemSet, methods: str, **how: Any) -> lab.Results:
        """Run a part, or go on with it."""
        echo(f"{name}: {len(items)} items, {methods}")
        with self.study(name, items, methods, **how) as study:
            results = study.run()
        self.failed += results.manifest["counts"]["failed"]
        return results

    def seconds_a_call(self, name: str, items: lab.ItemSet, methods: str, **how: Any) -> float:
        """Of a trial, which is run once; NaN where every completion was in the store before it."""
        with self.study(name, items, methods, **how) as study:
            earlier = check_same_study(self.out / name, study.asked(), study.items)
        done = earlier if earlier and earlier["status"] == "done" else self.part(name, items, methods, **how).manifest
        counts = done["counts"]
        return float(counts["wall_s"] / (counts["calls_paid"] or math.nan))

    def estimate(self) -> pd.DataFrame:
        """Completions and hours of each part from its beginning, at least and at most (an API's price at most): the
        plan's numbers times what the trial took for an answer or a turn. Four debates side by side are slower a turn
        than hundreds, and later rounds slower than the first."""
        tried = self.first.limit(TRIED, self.seed)
        answer = self.seconds_a_call("trial_answers", tried, "confidence_only")
        lies = of_questions(self.pairs, {item.question_id for item in tried})
        lies = replace(lies, items=tuple(item for item in lies if not item.is_standard))
        turn = self.seconds_a_call("trial_debate", lies, "sr_dcr", samples=0, rounds=1)
        questions, some = self.pairs.limit(2 * self.questions), self.pairs.limit(self.symmetric)
        years = of_questions(self.grid, sorted(self.event_years)[: self.years])
        parts = {  # what the first pass draws is not drawn again
            "known": self.study(None, self.first, "confidence_only"),
            "debates": self.study(None, questions, self.compared, design=DESIGNS, samples=0),
            "symmetric": self.study(None, some, "sr_dcr", design="symmetric", samples=0),
            "years": self.study(None, years, "few_shot", samples=0),
            "known_years": self.study(None, self.more_years, "confidence_only"),
        }
        parts["controls"] = self.study(None, questions, CONTROLS, design=CONTROL_DESIGNS, samples=0)
        chains = chains_of(self.chains)
        parts["hops"] = self.study(None, hops_of(chains), "confidence_only")
        parts["chains"] = self.study(None, chains, CHAINS, samples=0, **SHORT)
        parts["fresh"] = self.study(None, questions, "sr_dcr", samples=0, **FRESH)
        rows = []
        for name, study in parts.items():
            if name.removeprefix("known_") not in names_in(self.parts):
                continue
            plan = study.plan().table.set_index("methods")
            row: dict[str, Any] = {"part": name, "items": len(study.items)}
            for end in ("from", "to"):
                calls, short = plan.loc[SHARED, f"calls_{end}"], plan.loc[BESIDE, f"calls_{end}"]
                row |= {f"calls_{end}": calls, f"hours_{end}": (short * answer + (calls - short) * turn) / 3600}
            rows.append(row | {"usd_to": plan.loc[SHARED, "cost_usd_to"]})
        return pd.DataFrame(rows)

    def run(self) -> None:
        """Every part after the trial."""
        wanted = names_in(self.parts)
        chains = chains_of(self.chains)
        if "hops" in wanted:
            self.part("hops", hops_of(chains), "confidence_only")
        if "chains" in wanted:
            self.part("chains", chains, CHAINS, samples=0, **SHORT)
        if not {*wanted} - {"hops", "chains"}:
            return
        if {"known", "symmetric", "years"} & {*wanted} or not self.questions_of:
            first = self.part("known", self.first, "confidence_only")
            if failed := first.manifest["counts"]["failed"]:  # asked again later, they would change what is chosen
                why = f"{failed} rows of known failed, see the column error of its records.parquet"
                raise lab.Stopped(f"{why}; the same command asks for them again, and then goes on")
            known = first.questions
        if self.questions_of:
            others = lab.load_run(self.questions_of)
            chosen, weights = thaw(others.folder / ITEMS), others.weights
        else:
            chosen = choose(self.pairs, known, self.questions, self.seed)
            weights = weights_of(known, {item.question_id for item in chosen})
        if weights is not None:
            write_whole(self.out / WEIGHTS, csv_text(weights))
            echo(weights.value_counts(["knowledge_category", "share_first_pass", "weight"], sort=False).to_string())
        if "debates" in wanted:
            debates = self.part("debates", chosen, self.compared, design=DESIGNS)
        if "debates" in wanted and weights is not None:
            table = weighted_back(debates.records, weights)
            write_whole(self.out / WEIGHTED, csv_text(table))
            echo(table.drop(columns="model").to_string(index=False, na_rep="–", float_format="{:.3f}".format))
        if "controls" in wanted:
            self.part("controls", chosen, CONTROLS, design=CONTROL_DESIGNS)
        if "fresh" in wanted:
            self.part("fresh", chosen, "sr_dcr", **FRESH)
        for seed in SEEDS if "seeds" in wanted else ():
            self.part(f"seed_{seed}", chosen, **REPEATED, seed=self.seed + seed)
        if "judged" in wanted:
            some = chosen.limit(2 * self.judged, self.seed)
            self.part("judged", some, "sr_dcr", rounds=2, samples=0, judge=self.judge)
        if "symmetric" in wanted:
            some = choose(chosen, known, (self.symmetric + 1) // 2, self.seed)
            self.part("symmetric", some, "sr_dcr", design="symmetric")
        if "years" not in wanted:
            return
        if len(highly(known) & self.event_years) < self.years and len(self.more_years):
            known = pd.concat([known, self.part("known_years", self.more_years, "confidence_only").questions])
        found = sorted(highly(known) & self.event_years)
        if len(found) < self.years:
            echo(f"of {len(self.event_years)} event years {len(found)} are Highly-Known, fewer than {self.years}")
        taken = random.Random(self.seed).sample(found, min(self.years, len(found)))
        if taken:
            self.part("years", of_questions(self.grid, taken), "few_shot")


def of_questions(items: lab.ItemSet, questions: Collection[str]) -> lab.ItemSet:
    """The items of these questions."""
    return replace(items, items=tuple(item for item in items if item.question_id in questions))


def chains_of(n: int) -> lab.ItemSet:
    """The first n chains of `hops`, half of two hops and half of three, true and false: which hop is false is even."""
    items = lab.load_items("hops")
    ids = [
        list(dict.fromkeys(each.question_id for each in those))
        for those in grouped(items, lambda item: item.domain).values()
    ]
    return of_questions(items, {name for names in ids for name in names[: (n + 1) // len(ids)]})


def hops_of(chains: lab.ItemSet) -> lab.ItemSet:
    """Every question of the chains' hops, asked of memory, once."""
    hops = [chain.hop(number) for chain in chains if chain.is_standard for number in range(1, len(chain.hops) + 1)]
    closed = {hop.question: replace(hop, context="") for hop in reversed(hops)}
    return replace(chains, name="hops, without passages", items=tuple(reversed(closed.values())))


def highly(known: pd.DataFrame) -> set[str]:
    return set(known.loc[known["knowledge_category"] == HIGHLY, "question_id"])


def quotas(there: Mapping[str, int], n: int) -> Counter[str]:
    """How many of n questions each category gets of those that are there: half, rounded up, are Highly- or Maybe-Known,
    more where the others do not suffice; otherwise as even as can be."""
    quota: Counter[str] = Counter()
    for part, most in (((HIGHLY, MAYBE), n - n // 2), ((WEAKLY, UNKNOWN), n), ((HIGHLY, MAYBE), n)):
        while quota.total() < most and (left := [name for name in part if quota[name] < there.get(name, 0)]):
            quota[min(left, key=quota.__getitem__)] += 1
    return quota


def choose(pairs: lab.ItemSet, known: pd.DataFrame, n: int, seed: int) -> lab.ItemSet:
    """The true and the false item of n questions: `quotas` of each category, in it by domain in proportion, seeded."""
    of = {name: of_questions(pairs, set(rows["question_id"])) for name, rows in known.groupby("knowledge_category")}
    quota = quotas({name: len(items) // 2 for name, items in of.items()}, n)
    return of_questions(pairs, {item.question_id for name, k in quota.items() for item in of[name].limit(2 * k, seed)})


def weights_of(known: pd.DataFrame, chosen: Collection[str]) -> pd.DataFrame:
    """A row for each chosen question: its category, that one's share in the first pass, and the weight, which is this
    share over the category's share among the chosen. Questions without a category count in neither."""
    table = known.loc[known["question_id"].isin(chosen), ["question_id", "domain", "knowledge_category"]]
    category = table["knowledge_category"]
    share = category.map(known["knowledge_category"].value_counts(normalize=True)).astype(float)
    among = category.map(category.value_counts(normalize=True)).astype(float)
    return table.assign(share_first_pass=share, weight=share / among).reset_index(drop=True)


def ship(out: Path, target: Path) -> None:
    """Write a bundle of each part in `out`, finished or not, and the weights into the folder `target`.

    A part that is not finished holds the items that are done, and says so; one of which none is done is left out. Bad
    input, where `target` stays as it was: no part can be shared, or all together take more than `MOST_MB`.
    """
    parts = {part: manifest for part in PARTS if (manifest := read_manifest(out / part))}
    with tempfile.TemporaryDirectory(prefix="srdcr-") as place:
        for part, manifest in parts.items():
            bundle = Path(place) / f"{part}.zip"
            try:
                with closing(Store(out / "store.sqlite")) as store:
                    is_done = manifest["status"] == "done"
                    run = out / part if is_done else finished_items(out / part, store, Path(place) / "done" / part)
                count = share(run, bundle, store=out / "store.sqlite", unfinished=True)
            except lab.BadInput as reason:
                if manifest["status"] == "done":
                    raise
                echo(f"{part} is left out: {reason}")
                continue
            shared = lab.load_run(bundle).manifest
            items = f"{shared['asked']['n_items']} of {manifest['asked']['n_items']} items"
            echo(f"{bundle.name}: {items}, {count:,} completions, {bundle.stat().st_size / 1e6:.2f} MB")
        sizes = {bundle.name: bundle.stat().st_size / 1e6 for bundle in Path(place).glob("*.zip")}
        if not sizes:
            raise lab.BadInput(f"{out} holds no part of a study of which an item is done; run it first")
        if sum(sizes.values()) > MOST_MB:
            largest = max(sizes, key=sizes.__getitem__)
            raise lab.BadInput(
                f"the bundles take {sum(sizes.values()):.1f} MB ({largest} {sizes[largest]:.1f} MB), and {MOST_MB:.0f} "
                "MB may ship; nothing was written; study fewer items into another --out"
            )
        target.mkdir(parents=True, exist_ok=True)
        for file in (*Path(place).glob("*.zip"), out / WEIGHTS, out / WEIGHTED):
            if file.is_file():  # the weights come with the debates
                shutil.copyfile(file, target / file.name)
    echo(f"{target}: {sum(sizes.values()):.2f} MB")


def finished_items(folder: Path, store: Store, work: Path) -> Path:
    """An unfinished run as one of those of its items whose every row the store makes: a results folder in `work`."""
    run = lab.load_run(folder)
    items = thaw(folder / ITEMS)
    records = made_again(folder, store, work / "tried").records
    left = set(records.loc[records["error"].notna(), "item_id"])
    if not (done := tuple(item for item in items if item.item_id not in left)):
        raise lab.BadInput(f"{folder}: no item of this run is done yet; run the same command again, then share it")
    note = f"unfinished: {len(done)} of its {len(items)} items were done when this was shared, and only these are here"
    (begun := work / "begun").mkdir(parents=True)
    freeze(replace(items, items=done, notes=(*items.notes, note)), begun / ITEMS)
    shutil.copyfile(folder / MANIFEST, begun / MANIFEST)
    made = made_again(begun, store, work / "so far")
    counts = {name: n for name, n in made.manifest["counts"].items() if name not in ("calls_paid", "wall_s")}
    earlier = (each for each in run.manifest["notes"] if not each.startswith("stopped: "))  # of rows that are not here
    notes = [*dict.fromkeys((*made.manifest["notes"], *earlier))]
    new = {"asked": made.manifest["asked"], "counts": counts, "notes": notes, "status": "stopped"}
    write_manifest(made.folder, run.manifest | new)  # all else says how and when the run itself was made
    return made.folder


_NUMBERS = {
    "known-from": (300, "questions of the first pass"),
    "questions": (60, "questions of the debates, each with two passages"),
    "symmetric": (60, "items of the symmetric debates"),
    "years": (30, "Highly-Known event years"),
    "judged": (30, "questions of the debates before another Judge"),
    "rounds": (6, "rounds of a debate"),
    "samples": (32, "knowledge draws of a question"),
    "chains": (80, "chains of questions, each true and with one false passage"),
}


def _with_numbers(command: Any) -> Any:
    for name, (default, what) in reversed(_NUMBERS.items()):
        option = click.option(f"--{name}", default=default, show_default=True, type=click.IntRange(1), help=what)
        command = option(command)
    return command


@click.command("study-real")
@click.option("--model", help="as in srdcr run; needed but with --ship")
@click.option("--out", type=PATH, required=True, help="folder of the parts and their store")
@click.option("--plan", "plan_only", is_flag=True, help="only the trial and the hours that all would take")
@_with_numbers
@click.option("--seed", default=0, show_default=True)
@click.option("--questions-of", metavar="RUN", help="debates on the questions of this one, a folder, bundle or name")
@click.option("--judge", help="another model as the Judge of the part judged")
@click.option(
    "--parts", default=FIRST, show_default=True, help="which; also controls, fresh, seeds, judged, hops, chains"
)
@click.option("--dtype", help="type in which an hf: model computes; a study that ships has bfloat16")
@click.option(
    "--ship", "target", type=PATH, help="ask nothing: bundle what is in --out into this folder, 12 MB at most"
)
def study_real(
    model: str | None, judge: str | None, dtype: str | None, plan_only: bool, target: Path | None, **numbers: Any
) -> int:
    """SR-DCR and what it is compared with, on the shipped facts. The same command goes on after a stop."""
    if target:
        ship(numbers["out"], target)
        return DONE
    if model is None:
        raise click.UsageError("Missing option '--model'.")
    options: dict[str, Any] = {"dtype": dtype} if dtype else {}
    other = model_of_spec(judge, **options) if judge else None
    if "judged" in names_in(numbers["parts"]) and other is None:
        raise click.UsageError("the part judged needs --judge, a model other than --model")
    study = RealStudy(model_of_spec(model, **options), judge=other, **numbers)
    echo(study.estimate().to_string(index=False, na_rep="unknown", float_format="{:.2f}".format))
    if not plan_only:
        study.run()
    return SOME_FAILED if study.failed else DONE


if __name__ == "__main__":
    cli.cli.add_command(study_real)  # in this process alone: its sentences and exit codes are those of srdcr
    cli.main(["study-real", *sys.argv[1:]])
