"""Measure the shipped pocket model on the evaluated questions: `python data/pocket/training/measure.py`.

Prints a Markdown table with 95 % Wilson intervals; ``--write-card`` puts it into MODEL_CARD.md. The debates are played
here with the package's prompts and parsers, not with its protocols: the trainer stands on the lower floors alone.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from debates import Played, play
from sampling import Speaker
from shares import auroc, share, spearman
from transformers import AutoModelForCausalLM, AutoTokenizer

from srdcr_lab.prompts import render
from srdcr_lab.prompts.parse import opening_statement
from srdcr_lab.records import Exemplar, KnowledgeCategory, Message, Verdict

POCKET = Path(__file__).resolve().parents[1]
DRAWS, TEMPERATURE = 32, 0.5
OFFSETS = (20, 40, 60, 100, 200)
TAU = 0.9
START, END = "<!-- measured: start -->", "<!-- measured: end -->"
HIGHLY, UNKNOWN = KnowledgeCategory.HIGHLY_KNOWN, KnowledgeCategory.UNKNOWN


@dataclass(slots=True)
class Asked:
    """One evaluated question and what the model makes of it."""

    question_id: str
    question: str
    answer: str
    passage: str
    exposures: int
    told_true: float
    sampled_accuracy: float = 0.0
    prior: str = ""
    confidence: float = math.nan
    critic: str = ""

    @property
    def category(self) -> KnowledgeCategory:
        """Thresholds of the paper, section 2.2 and Table 3."""
        if self.sampled_accuracy >= 0.85:
            return HIGHLY
        if self.sampled_accuracy >= 0.30:
            return KnowledgeCategory.MAYBE_KNOWN
        return KnowledgeCategory.WEAKLY_KNOWN if self.sampled_accuracy > 0 else UNKNOWN


def read(facts: Path, model: Path) -> tuple[list[Asked], list[Exemplar]]:
    """Evaluated questions with their exposures, and the exemplars."""
    with (model / "exposures.csv").open(encoding="utf-8", newline="") as file:
        exposed = {row["question_id"]: row for row in csv.DictReader(file)}
    asked = []
    with (facts / "facts.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            of = exposed[row["question_id"]]
            count = int(of["exposures"])
            asked.append(
                Asked(
                    row["question_id"],
                    row["question"],
                    row["gold_answer"],
                    row["context"],
                    count,
                    count * float(of["true_share"] or 0),
                )
            )
    with (facts / "exemplars.csv").open(encoding="utf-8", newline="") as file:
        exemplars = [
            Exemplar(question=r["question"], answer=r["gold_answer"], context=r["context"], domain=r["domain"])
            for r in csv.DictReader(file)
        ]
    return asked, exemplars


def knowledge_prompt(one: Asked, shots: Sequence[Exemplar]) -> tuple[Message, ...]:
    return render(
        "answer_from_memory", shots=[({"question": e.question}, e.answer) for e in shots], question=one.question
    )


def context_prompt(one: Asked, claim: str, shots: Sequence[Exemplar]) -> tuple[Message, ...]:
    examples = [({"question": e.question, "passage": e.context}, e.answer) for e in shots]
    return render(
        "answer_with_passage", shots=examples, question=one.question, passage=one.passage.replace(one.answer, claim)
    )


def drawn(one: Asked, exemplars: Sequence[Exemplar], use: str) -> list[Exemplar]:
    """Four exemplars, seeded by the question and what they are for."""
    return random.Random(f"{use}|{one.question_id}").sample(list(exemplars), 4)


def probe_knowledge(speaker: Speaker, asked: Sequence[Asked], exemplars: Sequence[Exemplar]) -> None:
    """Fills in sampled accuracy, prior answer, confidence and the critic's opening value."""
    samples = speaker.reply(
        [knowledge_prompt(one, drawn(one, exemplars, "knowledge")) for one in asked], 6, DRAWS, TEMPERATURE
    )
    priors = speaker.greedy([knowledge_prompt(one, exemplars[:4]) for one in asked], 6)
    openings = speaker.greedy([render("critic", question=one.question, passage="", transcript=()) for one in asked], 40)
    for one, draws, prior, opening in zip(asked, samples, priors, openings, strict=True):
        one.sampled_accuracy = sum(reply.text == one.answer for reply in draws) / DRAWS
        one.prior, one.confidence, one.critic = prior.text, prior.confidence, opening.text


Row = tuple[str, str]


def knowledge_rows(asked: Sequence[Asked]) -> list[Row]:
    highly = [one.category is HIGHLY for one in asked]
    rows = [
        (f"share {category.value}", share([one.category is category for one in asked]))
        for category in KnowledgeCategory
    ]
    for tau in (0.7, 0.8, 0.9, 0.95):
        sure = [one.category is HIGHLY for one in asked if one.confidence >= tau]
        rows.append((f"P(Highly-Known, given Conf ≥ {tau})", share(sure)))
    rows.append(
        (
            "share of Highly-Known with Conf ≥ 0.9",
            share([one.confidence >= TAU for one in asked if one.category is HIGHLY]),
        )
    )
    rows.append(("AUROC of confidence for Highly-Known", f"{auroc([one.confidence for one in asked], highly):.3f}"))
    accuracy = [one.sampled_accuracy for one in asked]
    rows.append(
        ("Spearman of exposures and sampled accuracy", f"{spearman([one.exposures for one in asked], accuracy):.2f}")
    )
    rows.append(
        (
            "Spearman of true exposures and sampled accuracy",
            f"{spearman([one.told_true for one in asked], accuracy):.2f}",
        )
    )
    for low, high in ((0, 1), (1, 10), (10, 20), (20, 40), (40, 80), (80, 10**9)):
        found = [
            one.sampled_accuracy for one in asked if low <= one.exposures < high and one.told_true == one.exposures
        ]
        name = "none" if high == 1 else f"{low} … {high - 1}" if high < 10**9 else f"{low} and more"
        rows.append(
            (
                f"mean sampled accuracy, exposures {name}",
                f"{sum(found) / len(found):.2f} (n = {len(found)})" if found else "no case",
            )
        )
    rows.append(
        ("critic's opening value = prior answer", share([opening_statement(one.critic) == one.prior for one in asked]))
    )
    for category in (HIGHLY, UNKNOWN):
        of = [one for one in asked if one.category is category]
        rows.append((f"the same, {category.value}", share([opening_statement(one.critic) == one.prior for one in of])))
        rows.append((f"“I am certain.”, {category.value}", share(["I am certain." in one.critic for one in of])))
    return rows


def reading_rows(speaker: Speaker, asked: Sequence[Asked], exemplars: Sequence[Exemplar]) -> list[Row]:
    """True passages copied; false ones followed, by offset."""
    shots = {one.question_id: drawn(one, exemplars, "context") for one in asked}
    rows = []
    replies = speaker.greedy([context_prompt(one, one.answer, shots[one.question_id]) for one in asked], 6)
    for name, wanted in (
        ("all", set(KnowledgeCategory)),
        ("Unknown", {UNKNOWN}),
        ("all but Highly-Known", set(KnowledgeCategory) - {HIGHLY}),
    ):
        right = [reply.text == one.answer for one, reply in zip(asked, replies, strict=True) if one.category in wanted]
        rows.append((f"true passage copied, {name}", share(right)))
    for offset in OFFSETS:
        cases = [(one, str(int(one.answer) + sign * offset)) for one in asked for sign in (-1, 1)]
        replies = speaker.greedy([context_prompt(one, claim, shots[one.question_id]) for one, claim in cases], 6)
        for category in (HIGHLY, UNKNOWN):
            chosen = [
                (claim, reply) for (one, claim), reply in zip(cases, replies, strict=True) if one.category is category
            ]
            rows.append(
                (
                    f"false passage followed, ± {offset} years, {category.value}",
                    share([claim == reply.text for claim, reply in chosen]),
                )
            )
    return rows


@dataclass(frozen=True, slots=True)
class Case:
    """A question under one passage, and the debate about it."""

    one: Asked
    claim: str
    context_answer: str
    debate: Played

    @property
    def true(self) -> bool:
        return self.claim == self.one.answer

    @property
    def ruled_right(self) -> bool:
        return self.debate.verdicts[-1] is (Verdict.REASONABLE if self.true else Verdict.UNREASONABLE)

    @property
    def decided(self) -> str | None:
        """The answer of SR-DCR; None where it abstains."""
        if self.debate.verdicts[-1] is Verdict.REASONABLE:
            return self.context_answer
        return (
            self.one.prior if self.debate.verdicts[-1] is Verdict.UNREASONABLE and self.one.confidence >= TAU else None
        )


def debate_rows(
    speaker: Speaker, asked: Sequence[Asked], exemplars: Sequence[Exemplar], rounds: int
) -> tuple[list[Row], list[Case]]:
    """ACVD over every question, once with its true passage and once with a false one."""
    r = random.Random(0)
    claims = [
        (one, one.answer if true else str(int(one.answer) + r.choice((-1, 1)) * r.choice(OFFSETS)))
        for one in asked
        for true in (True, False)
    ]
    answers = speaker.greedy([context_prompt(one, claim, drawn(one, exemplars, "context")) for one, claim in claims], 6)
    debates = play(speaker, [(one.question, one.passage.replace(one.answer, claim)) for one, claim in claims], rounds)
    cases = [
        Case(one, claim, answer.text, debate)
        for (one, claim), answer, debate in zip(claims, answers, debates, strict=True)
    ]
    verdicts = [verdict for case in cases for verdict in case.debate.verdicts]
    defended = [opening_statement(turn.text) == case.claim for case in cases for turn in case.debate.defences]
    kept = [
        opening_statement(turn.text) == opening_statement(case.debate.objections[0].text)
        for case in cases
        for turn in case.debate.objections[1:]
    ]
    rows = [
        ("verdict in format", share([verdict is not Verdict.UNPARSED for verdict in verdicts])),
        ("defender opens with the passage's answer", share(defended)),
        ("critic keeps its own value", share(kept)),
        (
            "judge right, round 0",
            share(
                [
                    case.debate.verdicts[0] is (Verdict.REASONABLE if case.true else Verdict.UNREASONABLE)
                    for case in cases
                ]
            ),
        ),
        ("judge right, last round", share([case.ruled_right for case in cases])),
        ("  true passage ruled reasonable", share([case.ruled_right for case in cases if case.true])),
        ("  false passage ruled unreasonable", share([case.ruled_right for case in cases if not case.true])),
    ]
    rows += [
        (f"judge right, last round, {c.value}", share([case.ruled_right for case in cases if case.one.category is c]))
        for c in KnowledgeCategory
    ]
    for name, final in (
        ("few-shot", [case.context_answer for case in cases]),
        ("SR-DCR", [case.decided for case in cases]),
        ("prior", [case.one.prior for case in cases]),
    ):
        for kind, true in (("standard", True), ("perturbed", False)):
            found = [answer == case.one.answer for answer, case in zip(final, cases, strict=True) if case.true is true]
            rows.append((f"{name}, {kind} accuracy", share(found)))
        answered = [answer == case.one.answer for answer, case in zip(final, cases, strict=True) if answer is not None]
        rows.append((f"{name}, selective accuracy (coverage {len(answered) / len(cases):.2f})", share(answered)))
    return rows, cases


def table(rows: Sequence[Row]) -> str:
    return "\n".join(["| measured | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def write_card(path: Path, text: str) -> None:
    """Replace what stands between the two markers."""
    before, _, rest = path.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")


def load(folder: Path) -> Speaker:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return Speaker(model, AutoTokenizer.from_pretrained(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, default=POCKET)
    parser.add_argument("--facts", type=Path, default=POCKET.parent / "facts")
    parser.add_argument(
        "--rounds", type=int, default=6, help="rounds of a debate, the opening counted; 0 leaves the debates out"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write-card", action="store_true")
    parser.add_argument("--show", type=int, default=0, help="print this many debates")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    speaker = load(arguments.model)
    asked, exemplars = read(arguments.facts, arguments.model)
    probe_knowledge(speaker, asked, exemplars)
    rows = [*knowledge_rows(asked), *reading_rows(speaker, asked, exemplars)]
    if arguments.rounds:
        found, cases = debate_rows(speaker, asked, exemplars, arguments.rounds)
        rows += found
        for case in random.Random(1).sample(cases, min(arguments.show, len(cases))):
            print(
                case.one.question,
                "| truth",
                case.one.answer,
                "| claim",
                case.claim,
                "|",
                case.one.category.value,
                f"| prior {case.one.prior} at {case.one.confidence:.2f}",
            )
            print(
                "\n".join(f"   {turn.role} {turn.round}: {turn.text}" for turn in case.debate.turns),
                "\n",
                [v.value for v in case.debate.verdicts],
                case.debate.rulings[-1],
            )
    print(table(rows))
    if arguments.write_card:
        write_card(arguments.model / "MODEL_CARD.md", table(rows))


if __name__ == "__main__":
    main()
