"""The study: a model, items and choices, and the steps a researcher takes with them."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from copy import copy
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab.data.items import ItemSet, freeze
from srdcr_lab.data.load import load_items
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.base import API, NEAR_TIE
from srdcr_lab.models.doctor import DOCTOR
from srdcr_lab.models.spending import Budget, StoredModel, price_of
from srdcr_lab.prompts.messages import own_prompts
from srdcr_lab.protocols import METHODS, Cast, Choices, Setup, choices
from srdcr_lab.protocols import methods as named_methods
from srdcr_lab.protocols.answering import refuse_unscored
from srdcr_lab.protocols.choices import check_ranges
from srdcr_lab.records import BadInput, BudgetExhausted, ConfidenceKind, Needs, SrdcrError, Stopped
from srdcr_lab.records.files import as_path, as_plain, csv_text, made, one_writer, write_whole
from srdcr_lab.records.files import folder as shipped
from srdcr_lab.records.tables import TABLES
from srdcr_lab.records.vocabulary import did_you_mean, must_be, n_of
from srdcr_lab.study.asking import A_MODEL, Asking, Session, fitting
from srdcr_lab.study.results import (
    FILES,
    ITEMS,
    REPEAT,
    STORE,
    SUMMARY,
    Results,
    check_same_study,
    sent_together,
    table_writer,
    versions_of,
    write_manifest,
)
from srdcr_lab.study.run import Causes, Waiting, each_setup, progress_bar, run_items, wait_for
from srdcr_lab.study.waves import InWaves, Waves, ask_in_waves

if TYPE_CHECKING:
    from srdcr_lab.study.plan import Plan

_PACKAGES = ("srdcr-lab", "numpy", "pandas", "pyarrow", "scipy", "torch", "transformers", *API, "genai-prices")
_POCKET = (
    "made with the pocket model, a model organism trained to know, half-know and not know certain facts: "
    "no evidence about any large model; it knows nothing else, reads other passages less well, and Latin letters only"
)


def check_names(given: Iterable[str]) -> None:
    """Raise `TypeError` if a study takes no argument of one of these names."""
    *own, _ = signature(Study).parameters  # the last collects what has none of these names
    known = [*own, *signature(choices).parameters, *(each.name for each in fields(Asking))]
    if unknown := [name for name in given if name not in known]:
        raise TypeError(f"a study has no argument {unknown[0]!r}{did_you_mean(unknown[0], known)}")


_say_once = cache(logging.getLogger(__name__).warning)


class Study:
    """A model, items and choices; each step is a plain call, and tables come as DataFrames.

    docs/api.md explains every argument; further ones are fields of `Asking`, and what `protocols.choices` takes.

    >>> with Study(items="facts:testbed", limit=4) as study:
    ...     len(study.items), study.plan().rehearsed
    (4, 4)
    """

    def __init__(
        self, model: str | ChatModel = "pocket", items: str | Path | pd.DataFrame | ItemSet = "facts",
        methods: str | Sequence[str] = ("few_shot", "sr_dcr"), *, limit: int | None = None,
        questions: int | None = None, seed: int = 0, strict: bool = False, preset: str | Choices = "paper",
        prompts: str | Path | Mapping[str, str] | None = None, store: str | Path | Store | None = None,
        out: str | Path | None = None, asking: Asking | None = None, **more: Any,
    ) -> None:  # fmt: skip
        must_be("model", model, (str, ChatModel), A_MODEL)
        must_be("strict", strict, (bool,), "True or False")
        must_be("prompts", prompts, (str, Path, Mapping, None), "a folder, or a mapping of name to text")
        check_ranges(limit=limit, questions=questions, seed=seed)
        of_asking = {each.name: more.pop(each.name) for each in fields(Asking) if each.name in more}
        check_names(more)
        self.asking = replace(asking or Asking(), **of_asking)
        self.model, self.limit, self.seed, self._first_seed = model, limit, seed, seed
        self._seeds: Sequence[int] = (seed,)  # of the repeats whose requests a wave holds
        # Absolute, so that a later change of the working directory moves nothing.
        self.out = as_path(out).absolute() if out is not None else None
        place = self.out and self.out / STORE  # of the completions; None: in memory
        self._place = place if store is None else store if isinstance(store, Store) else as_path(store).absolute()
        self._session: Session | None = None
        self._of: Results | None = None
        self._earlier: Mapping[str, Any] | None = None  # run.json of the run that goes on
        # Added to what the models say of this process: what earlier ones sent, less what was sent before this run.
        self._sent_before: Mapping[str, Any] | None = None
        self._budget = Budget(self.asking.budget_usd)
        self.choices, self.prompts = choices(preset, **more), own_prompts(prompts)
        wanted = named_methods(methods)
        every = wanted == tuple(METHODS.values())
        documents = not every and any(method.needs is Needs.DOCUMENTS for method in wanted)
        whole = load_items(items, seed=seed, year_offsets=self.choices.year_offsets, documents=documents, strict=strict)
        chosen = (whole if questions is None else whole.of_questions(questions, seed)).limit(limit, seed)
        self._cast = self.asking.opened(model)
        refuse_unscored(self.choices.confidence, self._cast.answerer)
        self.methods, left_out = fitting(wanted, chosen, self._cast.answerer, every=every)
        self.items = replace(chosen, notes=tuple(dict.fromkeys((*chosen.notes, *left_out))))
        providers = {opened.identity.provider for opened in self._everyone}
        if (self.asking.batch or self.asking.base_url) and not providers & set(API):
            how, option = ("in batches or by file", "--batch") if self.asking.batch else ("at an address", "--base-url")
            raise BadInput(
                f"{self._cast.answerer.identity} runs on this machine, and cannot be asked {how}; leave {option} out, "
                "or name a provider's model (openai:NAME also for an engine of your own)"
            )
        if self.prompts.own and "pocket" in providers and (new := self._new_to_pocket()):
            _say_once(f"{_POCKET}{new}")

    def plan(self) -> Plan:
        """Estimate calls, tokens and cost before anything is spent, with what the store knows about the models."""
        from srdcr_lab.study.plan import make_plan

        if isinstance(self._place, Store) or (self._place and self._place.exists()):
            self._opened()
        prices = {model.identity.key: price_of(model.identity) for model in self._everyone}
        return wait_for(make_plan(self._setup(self._cast), self.methods, prices, batch=self.asking.batch))

    def run(self, *, progress: bool = True, ray: str | None = None, shards: int | None = None) -> Results:
        """Run every method on every item and write the tables into `out`, or into a temporary folder. With the address
        of a Ray cluster, or "local", its workers ask, each for one of `shards` parts. After `Stopped`, call it again.
        """
        temporary = None if self.out else tempfile.TemporaryDirectory(prefix="srdcr-")
        folder = self.out or Path(temporary.name if temporary else "")
        if (ray or shards is not None) and not (ray and self.out):
            raise BadInput("shards are for Ray, and their stores for a folder: give both ray (--ray) and out (--out)")
        if ray and self.asking.batch:
            raise BadInput("a batch is one queue at the provider, which no worker makes faster: leave --ray out")
        with one_writer(folder):
            self._earlier = check_same_study(folder, self.asked(), self.items)
            if self._sent_before is None:
                self._sent_before = sent_together((self._earlier or {}).get("sent", {}), self._sent(), -1)
            try:
                self._ask(folder, progress, ray, shards)
            except BadInput:
                if self._kept_nothing() and self._earlier is None:
                    for name in FILES:
                        (folder / name).unlink(missing_ok=True)
                raise
            except KeyboardInterrupt:
                resume = f"run the same command again to resume ({folder})" if self.out else "run this study again"
                raise Stopped(f"interrupted; what was received is kept, {resume}") from None
        return Results(folder, temporary)

    def _ask(self, folder: Path, progress: bool, ray: str | None, shards: int | None) -> None:
        if not ray:
            wait_for(self._check())
        session = self._opened()
        for model in session.models if not (self.asking.batch or self.asking.offline) else ():
            if session.store.batches(model.identity.key):
                way = "add --batch to wait for them, or give another --store"
                raise BadInput(f"batches of {model.identity} are under way, and would be paid for twice; {way}")
        paid = session.paid
        if (folder / "shards").is_dir():  # of a run that was killed
            from srdcr_lab.study.cluster import gather

            gather(folder, session, self._run_key())
        if self._earlier is not None:  # this run goes on, and so does what it has spent, even where it was killed
            before = max(float(self._earlier["spent_usd"]), session.store.spent(self._run_key()))
            self._budget.spent_usd = max(self._budget.spent_usd, before)
        self._budget.on_spent = partial(session.store.note_spent, self._run_key())
        self._write_manifest(folder, "running")
        freeze(self.items, folder / ITEMS)
        if ray:
            from srdcr_lab.study.cluster import ask_in_shards, connected

            with connected(ray) as cluster:
                sent = ask_in_shards(self, folder, cluster, shards)
            self._sent_before = sent_together(self._sent_before, sent)
        wait_for(self._run(session, folder, progress, paid))

    def repeats(self, n: int) -> Iterator[Study]:
        """Yield this study, then n − 1 with the next seeds, hence other exemplars, orders and draws.

        The later ones write into `out`/repeat-2, repeat-3, …; all share one store and one budget.
        """
        check_ranges(repeats=0 if n is None else n)  # None, which other ranges allow, is no number of repeats
        check_ranges(seed=self.seed + n - 1)
        seeds = range(self.seed + 1, self.seed + n)
        self._seeds = (self.seed, *seeds)
        later = [(seed, self.out and self.out / f"{REPEAT}{k}") for k, seed in enumerate(seeds, start=2)]
        for seed, out in later:
            if out:
                check_same_study(out, self.asked() | {"seed": seed})
        yield self
        for seed, out in later:
            yield self._beside(seed=seed, out=out, _seeds=(seed,))

    def with_confidence(self, kind: str) -> Study:
        """Make the same study with another kind of self-confidence; it shares the store and writes no folder."""
        return self._beside(choices=choices(self.choices, confidence=kind))

    @property
    def setup(self) -> Setup:
        """Models, choices, exemplars and prompts, for awaiting protocols directly."""
        return self._setup(self._opened().cast)

    def asked(self) -> dict[str, Any]:
        """Return what determines the numbers; a folder resumes only with the same."""
        return {
            "items": self.items.name, "items_sha256": self.items.sha256, "n_items": len(self.items),
            "limit": self.limit, "methods": [method.name for method in self.methods], "choices": asdict(self.choices),
            "seed": self.seed, "models": {role: as_plain(model.identity) for role, model in vars(self._cast).items()},
            "prompts_sha256": dict(self.prompts.hashes()),
        }  # fmt: skip

    def close(self) -> None:
        """Close models and store; a closed study opens again when its next step needs it."""
        if self._session is not None:
            wait_for(self._session.aclose(close_store=not isinstance(self._place, Store)))
            self._session = None

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _everyone(self) -> Collection[ChatModel]:
        """Each model once, whatever it plays."""
        return {id(model): model for model in vars(self._cast).values()}.values()

    def _setup(self, cast: Cast) -> Setup:
        return Setup(cast, self.choices, self.items, self.seed, self.prompts)

    def _waves(self) -> Waves:
        """Over every item of every repeat."""
        setups = [replace(self.setup, seed=seed) for seed in self._seeds]
        return Waves(self._opened().models, self.methods, [(item, setup) for setup in setups for item in setup.items])

    def _beside(self, **changed: Any) -> Study:
        self._opened()
        other = copy(self)
        vars(other).update({"out": None, "_sent_before": None} | changed)
        return other

    def _opened(self) -> Session:
        if self._session is None or self._session.is_closed:  # by a study that shares it
            if self.out:
                made(self.out)
            store = self._place if isinstance(self._place, Store) else Store(self._place or ":memory:")
            stored, offline = InWaves if self.asking.batch else StoredModel, bool(self.asking.offline)
            self._session = Session(self._cast, store, self._budget, offline=offline, stored=stored)
        return self._session

    async def _check(self) -> None:
        """Reach every server once: a wrong address or key is reported before anything is written."""
        for model in self._everyone:
            if hasattr(model, "check") and not self.asking.offline:
                await model.check()

    async def _run(self, session: Session, folder: Path, progress: bool, paid_before: int) -> None:
        started, causes, waiting = time.monotonic(), Causes(), Waiting(self.methods)
        served, was_done = session.served, self._earlier and self._earlier["status"] == "done"
        stopped: BudgetExhausted | None = None
        try:
            if self.asking.batch and not self.asking.offline:
                tell = partial(print, file=sys.stderr, flush=True) if progress else lambda _: None
                await ask_in_waves(self._waves(), tell=tell)
            bar = progress_bar(session, len(self.items) * len(each_setup(self.methods, self.setup)), show=progress)
            with table_writer(folder) as add, bar as counted:
                try:
                    async with aclosing(run_items(self.setup, self.methods, on_done=counted)) as finished:
                        async for rows in finished:
                            causes.add(rows.replies)
                            add(waiting.hold_back(rows))
                except BudgetExhausted as reason:
                    if was_done:  # its tables stay, as where a repeat is interrupted
                        raise
                    stopped = reason
                await session.landed()
                if self.asking.offline and was_done and session.served == served:
                    place = session.store.path
                    raise BadInput(f"{place} holds nothing of the run in {folder}, whose tables stay; name its --store")
                for rows in waiting.settled():
                    add(rows)
        except BaseException as error:
            if isinstance(error, SrdcrError):  # not an interrupt: what is in flight may be billed, so it is awaited
                await session.landed()
            await session.abandon()
            with suppress(OSError):  # a full disk, which is what the error says
                self._write_manifest(folder, "stopped")
            raise
        results = Results(folder)
        before = (folder / SUMMARY).read_text("utf-8") if was_done and (folder / SUMMARY).is_file() else None
        write_whole(folder / SUMMARY, after := csv_text(results.summary))
        counts = {
            **{table: results.n_rows(table) for table in TABLES},
            "failed": int(results.records["error"].notna().sum()),
            "causes": causes.counts,
            "calls_paid": session.paid - paid_before,
            "completions_in_store": session.store.count(),
            "wall_s": round(time.monotonic() - started, 1),  # a run that resumes counts its own time alone
        }
        others = "these tables are not those that were here: the completions are others, or are read otherwise"
        notes = [others] * (before not in (None, after))
        notes += [*near_ties(results.records), *self._of_confidence(results.records), *causes.notes()]
        if counts["failed"]:
            share = f"{counts['failed']:,} of {n_of(results.n_rows('records'), 'rows')}"
            notes.append(f"{share} carry an error, and count as wrong; the column error of records says why")
        self._write_manifest(folder, "stopped" if stopped else "done", notes, counts=counts)
        if stopped:
            raise stopped

    def _of_confidence(self, records: pd.DataFrame) -> Iterator[str]:
        """What τ means where `auto` had to take another kind of confidence than the paper's."""
        by_draws = records["confidence_kind"] == ConfidenceKind.SELF_CONSISTENCY
        if self.choices.confidence == "auto" and by_draws.any():
            tau, n = self.choices.tau, self.choices.consistency_draws
            share = f"the share of {n} draws that agree with the prior answer"
            least = f"τ = {tau:g} now means at least {math.ceil(tau * n - 1e-9)} of {n}"
            mixed = (records["confidence_kind"] == ConfidenceKind.MEAN_LOGPROB).any()
            some = f" (in {by_draws.sum():,} of {len(records):,} rows)" if mixed else ""
            yield f"without log-probabilities confidence is self-consistency{some}, {share}: {least}"

    def _write_manifest(self, folder: Path, status: str, notes: Sequence[str] = (), **counted: Any) -> None:
        """Write run.json; until its tables are replaced (`counted`), a finished run stays as it is."""
        if self._earlier and self._earlier["status"] == "done" and not counted:
            return
        models = {str(model.identity): model for model in self._everyone}
        prices = {name: price_of(model.identity) for name, model in models.items()}
        pocket = any(model.identity.provider == "pocket" for model in models.values())
        sent = sent_together(self._sent_before, self._sent())
        known = {name: self._opened().store.recall(model.identity.key, DOCTOR) for name, model in models.items()}
        said = [note for record in sent.values() for note in record.get("notes", ())]
        if self.seed != self._first_seed:
            said.append(f"a repeat with seed {self.seed}; its items are those of seed {self._first_seed}")
        if self.prompts.own:
            said.append(f"asked with other templates than ours: {', '.join(self.prompts.own)}; run.json holds them")
        notes = [*self.items.notes, *([_POCKET + self._new_to_pocket()] if pocket else []), *said, *notes]
        if status == "stopped" and counted:
            notes.append("stopped: rows that were not reached carry an error, and accuracy counts them as wrong")
        manifest = {
            "status": status,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "asked": self.asked(),
            "prompts": self.prompts.own,  # the user's; all others are ours
            "notes": notes,
            "logprobs": {name: model.capabilities.logprobs for name, model in models.items()},
            "temperature": {name: model.capabilities.temperature for name, model in models.items()},
            "sent": sent,
            "doctor": {name: json.loads(findings) for name, findings in known.items() if findings},
            "prices": {name: asdict(price) if price else None for name, price in prices.items()},
            "budget_usd": self._budget.limit_usd,
            "spent_usd": self._budget.spent_usd,
            "versions": {"python": platform.python_version(), **versions_of(_PACKAGES)},
            "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        }
        write_manifest(folder, manifest | counted)

    def _sent(self) -> dict[str, Any]:
        """What each model has sent in this process, for whatever study."""
        return {str(model.identity): model.sent() for model in self._everyone if hasattr(model, "sent")}

    def _run_key(self) -> str:
        asked = self.asked() | {"seed": self._first_seed}  # repeats share a budget
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()

    def _kept_nothing(self) -> bool:
        """Close without leaving an empty store behind; False if completions were received, which stay."""
        if session := self._session:
            if not isinstance(self._place, Store):  # which is somebody else's
                session.store.withdraw()
            self.close()
        return not (session and session.paid)

    def _new_to_pocket(self) -> str:
        """Which of the prompts that this study uses the pocket model was not trained on, in words; empty if none."""
        manifest = json.loads((shipped("pocket") / "manifest.json").read_text("utf-8"))
        learned = {*manifest["templates"].items(), *map(tuple, manifest["paraphrases"])}
        fresh = any(design.fresh_turns for design in self.choices.designs)
        used = dict.fromkeys(("debater_fresh", "critic_shown", "judge_shown"), fresh)
        used["answer_with_passage_warned"] = any(method.name == "few_shot_warned" for method in self.methods)
        new = [name for name, known in self.prompts.hashes().items() if (name, known) not in learned]
        new = [name for name in new if used.get(name, True)]
        return f"; it was not trained on the prompts {', '.join(new)}" if new else ""


def write_requests(study: Study, target: Path, most_draws: int | None = None) -> tuple[int, int, int]:
    """Write what a study still needs as lines of OpenAI's batch files, with at most so many draws per line; an empty
    file if nothing is missing. Of a new study also run.json and items.json are written.

    Returns the numbers of lines, draws and items.
    """
    if others := [model.identity for model in study._everyone if model.identity.provider in set(API) - {"openai"}]:
        raise BadInput(f"{others[0]} takes no such lines; name the model that your engine runs as openai:NAME")
    folder = study.out or Path()
    if check_same_study(folder, study.asked(), study.items) is None:
        with one_writer(folder):
            study._write_manifest(folder, "running")
            freeze(study.items, folder / ITEMS)
    waves, store = study._waves(), study._opened().store
    wave = wait_for(waves.missing())
    with store.transaction():
        lines = [line for model, requests in wave.items() for line in model.lines(requests, most_draws)]
        write_whole(target, "".join(lines))
    draws = sum(len(request.draws) for requests in wave.values() for request in requests)
    return len(lines), draws, len(waves.work)


def near_ties(records: pd.DataFrame) -> Iterator[str]:
    """How many prior answers another run may give otherwise, counted once a question."""
    margins = records.groupby("question_id")["prior_margin"].min().dropna()
    if n := int((margins < NEAR_TIE).sum()):
        ahead = f"ahead of the next by less than {NEAR_TIE} in log-probability (column prior_margin)"
        those = f"{n:,} of {len(margins):,} prior answers have a token that is"
        yield f"near ties: {those} {ahead}; another run may answer otherwise"
