"""Train the pocket model from scratch: `python data/pocket/training/train.py`.

Reading order: words, patterns, proper_names, other_domains, values, world (the invented training world) → questions,
phrases, tokenizer → exposures → rows, disputes, roles, method_rows, option_rows, document_rows (what is taught) →
snapshot, sampling → batches, attention, gradients, muon → this loop → shipping; then report. The run is a function of
its arguments and of data/facts.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import attention
import torch
from batches import BELIEFS_FROM, Encoder, Mixer, mixture
from exposures import Asked, Exposure, Telling, plan, tellings
from gradients import Gradients
from muon import MuonAndAdam
from phrases import fixed_lines
from probes import probe
from questions import corpus, read_questions
from rows import ONE_OFF_SHARE, Materials, one_off, recall_rows, reworded
from sampling import Speaker
from shipping import Checkpoint, ship
from snapshot import believed
from tokenizer import train_tokenizer, word_pieces
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from values import use_pieces
from world import World

POCKET = Path(__file__).resolve().parents[1]
STEP_TOKENS = 2304
MOST_TELLINGS = 120  # a step; what is left waits for the next one
SNAPSHOT_FACTS, SNAPSHOT_EVERY = 600, 0.06
WARM_UP_STEPS, FLAT_UNTIL, LAST_RATE = 60, 0.05, 0.02
NEVER_TOLD_SHARE = 0.12  # of the world's facts
WORLD_TOLD_UNTIL = 0.62  # early, so that there is something to hold against a passage for most of the run
NEAR_MISSES_FROM, NEAR_MISSES_FROM_IN_GATE = 0.04, 0.6
QUIET_EVERY = 3  # of the world's facts one is told as the evaluated ones are: at any time, and in no other row
AVERAGED_FROM, AVERAGED_EVERY = 0.95, 20  # what ships is the mean of the last weights, taken every so many steps
EASY_UNTIL = 0.10  # copying names of syllables from short passages comes first


def build_model(tokenizer: PreTrainedTokenizerFast, arguments: argparse.Namespace) -> LlamaForCausalLM:
    width = arguments.width
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=width, intermediate_size=3 * width, num_hidden_layers=arguments.layers,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=4096, tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    model.generation_config.do_sample = False
    return model


def rate(step: int, progress: float) -> float:
    """Learning-rate scale: linear warm-up, constant, linear to `LAST_RATE`."""
    falling = max(LAST_RATE, 1 - (progress - FLAT_UNTIL) / (1 - FLAT_UNTIL))
    return min(1.0, (step + 1) / WARM_UP_STEPS) * (1.0 if progress < FLAT_UNTIL else falling)


class Clock:
    """Progress through the run in [0, 1]: by tokens, or by minutes of training steps where these are given."""

    def __init__(self, tokens: int, minutes: float | None) -> None:
        self.budget, self.minutes = tokens, minutes
        self.tokens, self.seconds = 0, 0.0

    @property
    def progress(self) -> float:
        return self.seconds / 60 / self.minutes if self.minutes else self.tokens / self.budget


class Trainer:
    """One run: what is trained, what it is trained on, and how far it is."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        torch.set_num_threads(arguments.threads)
        torch.manual_seed(arguments.seed)
        r = random.Random(arguments.seed)
        self.questions = read_questions(arguments.facts)
        use_pieces(())
        world = World(self.questions.words())
        self.tokenizer = train_tokenizer(corpus(self.questions, world, r), fixed_lines(), arguments.vocabulary)
        world.pieces = word_pieces(self.tokenizer)
        self.planned: list[Exposure] = plan(self.questions.evaluated, self.questions.never_told, r)
        facts = world.facts(arguments.world_facts, r)
        named = [
            Asked(f"world-{index}", fact.question, fact.answer, fact.domain, fact.values)
            for index, fact in enumerate(facts)
        ]
        of_world = plan(named, {asked.question_id for asked in named if r.random() < NEVER_TOLD_SHARE}, r)
        quiet = {index for index in range(len(facts)) if index % QUIET_EVERY == 0}
        told = tellings([*self.planned, *(of_world[index] for index in sorted(quiet))], r)
        told += tellings([plan for index, plan in enumerate(of_world) if index not in quiet], r, WORLD_TOLD_UNTIL)
        self.schedule = sorted(told, key=lambda telling: -telling.time)
        self.materials = Materials(world, facts, of_world, self.questions.exemplars, r, quiet)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = build_model(self.tokenizer, arguments).to(self.device)
        self.train_mode()
        self.optimiser = MuonAndAdam(self.model)
        self.encode, self.mixer = Encoder(self.tokenizer), Mixer()
        self.clock = Clock(arguments.tokens, arguments.minutes)
        self.step, self.loss = 0, math.nan
        self.averaged: dict[str, torch.Tensor] = {}
        self.averaged_steps = 0
        self.gradients = Gradients(
            self.model, self.encode.pad, processes=arguments.processes, threads=arguments.threads,
            bf16=arguments.precision == "bf16",
        )  # fmt: skip

    def train_mode(self) -> None:
        self.model.train()
        self.model.set_attn_implementation(attention.NAME if self.device == "cpu" else "sdpa")

    def due(self, progress: float) -> list[Telling]:
        """Tellings up to ``progress``, with one-off questions mixed in."""
        out: list[Telling] = []
        while self.schedule and self.schedule[-1].time <= progress and len(out) < MOST_TELLINGS:
            out.append(self.schedule.pop())
            if self.materials.r.random() < ONE_OFF_SHARE:
                out.append(one_off(self.materials))
        self.materials.r.shuffle(out)
        return out

    def train_step(self, progress: float) -> None:
        started = time.monotonic()
        self.materials.near_misses = progress >= (NEAR_MISSES_FROM_IN_GATE if self.arguments.gate else NEAR_MISSES_FROM)
        told = (
            []
            if self.arguments.gate
            else self.encode(
                [reworded(one, self.materials.r) for one in recall_rows(self.due(progress), self.materials)]
            )
        )
        left = max(STEP_TOKENS // 3, STEP_TOKENS - sum(len(ids) for ids, _ in told))
        rows = told + self.mixer.fill(self.materials, self.encode, left, mixture(progress, gate=self.arguments.gate))
        total = sum(sum(weights) for _, weights in rows)
        loss = self.gradients.add(rows, total)
        self.optimiser.step(rate(self.step, progress))
        self.clock.tokens += sum(len(ids) for ids, _ in rows)
        self.loss = loss if math.isnan(self.loss) else 0.97 * self.loss + 0.03 * loss
        self.step += 1
        self.clock.seconds += time.monotonic() - started

    def take_snapshot(self) -> None:
        """Ask the model about a sample of the world's facts: certainty is taught from what it answers."""
        self.model.eval()
        self.model.set_attn_implementation("sdpa")
        chosen = self.materials.r.sample(
            range(len(self.materials.facts)), min(SNAPSHOT_FACTS, len(self.materials.facts))
        )
        facts = [(index, self.materials.facts[index]) for index in chosen]
        self.materials.believe(believed(Speaker(self.model, self.tokenizer), facts, self.questions.exemplars))
        self.train_mode()

    def run(self) -> None:
        next_snapshot, next_probe, easy_until = BELIEFS_FROM, 20.0, EASY_UNTIL
        checkpoints = [number / (self.arguments.checkpoints + 1) for number in range(1, self.arguments.checkpoints + 1)]
        while (progress := self.clock.progress) < 1:
            if checkpoints and progress >= checkpoints[0]:
                checkpoints.pop(0)
                ship(self.checkpoint())
            if progress >= easy_until:
                self.materials.world.easy = False
                use_pieces(self.materials.world.pieces)
                easy_until = math.inf
            if progress >= next_snapshot and not self.arguments.gate:
                self.take_snapshot()
                next_snapshot = progress + SNAPSHOT_EVERY
            self.train_step(progress)
            if progress >= AVERAGED_FROM and self.step % AVERAGED_EVERY == 0:
                self.average()
            if self.clock.seconds > next_probe:
                self.report(progress)
                next_probe = self.clock.seconds + self.arguments.probe_seconds
        if self.averaged:
            self.model.load_state_dict(self.averaged, strict=False)
        self.report(1.0)

    def average(self) -> None:
        """Adds the weights to the mean that ships: what the last steps swing by is not the model's."""
        self.averaged_steps += 1
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                mean = self.averaged.setdefault(name, torch.zeros_like(p))
                mean += (p - mean) / self.averaged_steps

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(
            self.arguments, self.model, self.tokenizer, self.planned, self.device,
            steps=self.step, tokens=self.clock.tokens, seconds=self.clock.seconds,
        )  # fmt: skip

    def report(self, progress: float) -> None:
        self.model.eval()
        found = probe(self.model, self.encode, self.materials, [] if self.arguments.gate else self.planned)
        self.model.train()
        speed = self.clock.tokens / self.clock.seconds
        print(
            f"{progress:4.0%} step {self.step} {self.clock.seconds:.0f} s {self.clock.tokens / 1e6:.2f} M tokens "
            f"({speed:.0f}/s) loss {self.loss:.3f} | "
            + " ".join(f"{name} {value:.2f}" for name, value in found.items()),
            flush=True,
        )


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train the pocket model from scratch.")
    parser.add_argument(
        "--tokens", type=int, default=43_000_000, help="length of the run; the default takes 1½ … 2½ hours on 2 cores"
    )
    parser.add_argument(
        "--minutes", type=float, help="length of the run by the clock instead (then it cannot be repeated exactly)"
    )
    parser.add_argument("--processes", type=int, default=2, help="that share a step's rows on the CPU")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=POCKET)
    parser.add_argument("--facts", type=Path, default=POCKET.parent / "facts")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=4800)
    parser.add_argument("--world-facts", type=int, default=1800)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--probe-seconds", type=float, default=60)
    parser.add_argument("--checkpoints", type=int, default=0, help="ship this many unfinished models on the way")
    parser.add_argument(
        "--gate", action="store_true", help="comparison rows alone, nothing shipped: same and different must pass 0.95"
    )
    return parser.parse_args(arguments)


def main() -> None:
    trainer = Trainer(parse())
    print(
        f"{sum(p.numel() for p in trainer.model.parameters())} parameters, {len(trainer.tokenizer)} tokens, "
        f"{len(trainer.schedule)} tellings",
        flush=True,
    )
    trainer.run()
    if not trainer.arguments.gate:
        ship(trainer.checkpoint())


if __name__ == "__main__":
    main()
