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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from copy import copy
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.data.items import ItemSet, freeze, thaw
from srdcr_lab.data.load import load_items
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.base import API, NEAR_TIE
from srdcr_lab.models.doctor import DOCTOR
from srdcr_lab.models.spending import Budget, price_of
from srdcr_lab.prompts.messages import Prompts, own_prompts
from srdcr_lab.protocols import METHODS, Cast, Choices, Outcome, Setup, choices, sr_dcr
from srdcr_lab.protocols import methods as named_methods
from srdcr_lab.protocols.answering import refuse_unscored
from srdcr_lab.protocols.choices import check_ranges
from srdcr_lab.records import BadInput, BudgetExhausted, ConfidenceKind, Item, ModelIdentity, Needs, SrdcrError, Stopped
from srdcr_lab.records.files import as_path, as_plain, csv_text, from_plain, made, one_writer, write_whole
from srdcr_lab.records.files import folder as shipped
from srdcr_lab.records.tables import TABLES
from srdcr_lab.records.vocabulary import did_you_mean, must_be
from srdcr_lab.study.opening import ROLES, Asking, Session, fitting
from srdcr_lab.study.results import (
    ITEMS,
    MANIFEST,
    REPEAT,
    STORE,
    SUMMARY,
    Results,
    check_same_study,
    load_repeats,
    load_run,
    sent_together,
    table_writer,
    withdraw,
    write_manifest,
)
from srdcr_lab.study.run import Causes, Waiting, each_setup, progress_bar, run_items, wait_for

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.study.plan import Plan
    from srdcr_lab.study.waves import Waves

_PACKAGES = ("srdcr-lab", "numpy", "pandas", "pyarrow", "torch", "transformers", *API, "genai-prices")
_POCKET = (
    "made with the pocket model, a model organism trained to know, half-know and not know: "
    "no evidence about any large model"
)
_OF_CHOICES = ("design", "rounds", "tau", "samples", "confidence")
_say_once = cache(logging.getLogger(__name__).warning)


class Study:
    """A model, items and choices; each step is a plain call, and tables come as DataFrames.

    `plan()` costs nothing; `run()` makes `Results`; `repeats(n)` runs again with other seeds; `debate(item)` shows one
    debate; `with_confidence(kind)` varies the study; `close()` ends it, as a ``with`` block does.

    Parameters
    ----------
    model : str or ChatModel, default "pocket"
        Answers, and plays every role that is not given to another model; a specification such as "openai:gpt-4o".
    items : str, Path, DataFrame or ItemSet, default "facts"
        What `load_items` takes.
    methods : str or sequence of str, default ("few_shot", "sr_dcr")
        Names of the methods to compare, or "all".
    limit, seed, strict : int, int and bool
        Largest number of items (`ItemSet.limit`); seed of exemplars, orders and draws; refuse a table with unusable
        rows.
    preset, prompts : str, or Choices and mapping
        "paper", "released" or `Choices`; templates that replace the original ones (a folder, name → text, or
        "paraphrase-1").
    store, out : str or Path, optional
        File of the completions, by default in `out`, otherwise in memory; results folder, resumed if it exists.
    asking : Asking, optional
        How models are asked: other roles, server, concurrency, thinking, budget, batches, offline.
    **more : object
        Fields of `Asking` by themselves (`judge`, `budget_usd`, …), and `design`, `rounds`, `tau`, `samples` and
        `confidence` of `srdcr_lab.protocols.choices`.

    Raises
    ------
    BadInput
        One sentence says what to change.

    Examples
    --------
    >>> with Study(items="facts:testbed", limit=4) as study:
    ...     len(study.items), study.plan().rehearsed
    (4, 4)
    """

    def __init__(
        self,
        model: str | ChatModel = "pocket",
        items: str | Path | pd.DataFrame | ItemSet = "facts",
        methods: str | Sequence[str] = ("few_shot", "sr_dcr"),
        *,
        limit: int | None = None,
        seed: int = 0,
        strict: bool = False,
        preset: str | Choices = "paper",
        prompts: str | Path | Mapping[str, str] | None = None,
        store: str | Path | Store | None = None,
        out: str | Path | None = None,
        asking: Asking | None = None,
        **more: Any,
    ) -> None:
        must_be("model", model, (str, ChatModel), "a specification such as 'pocket', or a ChatModel")
        must_be("strict", strict, (bool,), "True or False")
        must_be("prompts", prompts, (str, Path, Mapping, None), "a folder, or a mapping of name to text")
        check_ranges(limit=limit, seed=seed)
        of_asking = {each.name: more.pop(each.name) for each in fields(Asking) if each.name in more}
        self.asking = replace(asking or Asking(), **of_asking)
        self.model, self.limit, self.seed, self._first_seed = model, limit, seed, seed
        self._seeds: Sequence[int] = (seed,)  # of the repeats whose requests a wave holds
        # Absolute, so that a later change of the working directory moves nothing.
        self.out = as_path(out).absolute() if out is not None else None
        self._store_path = store if store is None or isinstance(store, Store) else as_path(store).absolute()
        self._session: Session | None = None
        self._of: Results | None = None
        self._earlier: Mapping[str, Any] | None = None  # run.json of the run that goes on
        # Sent by other processes before this one; of this one a model says the whole.
        self._sent_before: Mapping[str, Any] | None = None
        self._budget = Budget(self.asking.budget_usd)
        if unknown := [name for name in more if name not in _OF_CHOICES]:
            known = [*_OF_CHOICES, *(each.name for each in fields(Asking))]
            raise TypeError(f"Study has no argument {unknown[0]!r}{did_you_mean(unknown[0], known)}")
        self.choices, self.prompts = choices(preset, **more), own_prompts(prompts)
        wanted = named_methods(methods)
        every = wanted == tuple(METHODS.values())
        documents = not every and any(method.needs is Needs.DOCUMENTS for method in wanted)
        offsets = self.choices.year_offsets
        whole = load_items(items, seed=seed, year_offsets=offsets, documents=documents, strict=strict)
        chosen = whole.limit(limit, seed)
        named = dict.fromkeys(spec for shape in self.choices.designs for spec in shape.players)
        self._cast, self._players = self.asking.opened(model, named)
        refuse_unscored(self.choices.confidence, self._cast.answerer)
        self.methods, left_out = fitting(wanted, chosen, self._cast.answerer, every=every)
        self.items = replace(chosen, notes=tuple(dict.fromkeys((*chosen.notes, *left_out))))
        providers = {opened.identity.provider for opened in self._everyone}
        if self.asking.batch and not providers & set(API):
            raise BadInput(
                f"{self._cast.answerer.identity} runs on this machine, and cannot be asked in batches or by file; "
                "leave --batch out, or name a provider's model, openai:NAME or anthropic:NAME (for an engine of your "
                "own: openai:NAME)"
            )
        if self.prompts.own and "pocket" in providers:
            _say_once(_of_pocket(self.prompts))

    @classmethod
    def of_run(
        cls,
        run: Results,
        opened: Callable[[ModelIdentity], ChatModel] | None = None,
        *,
        methods: Sequence[str] | None = None,
        design: str | None = None,
        **how: Any,
    ) -> Study:
        """Rebuild the study of a finished run.

        Parameters
        ----------
        run : Results
            The run.
        opened : callable, optional
            A function from an identity to a model; by default models are never asked, and the run's own completions are
            used.
        methods : sequence of str, optional
            Some of its methods; None for all.
        design : str, optional
            One of its designs; None for all.
        **how : object
            Further arguments of `Study`.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        BadInput
            The run lacks a method or design, or its completions.
        """
        must_be("run", run, (Results,), "what load_run gives")
        asked, where = run.manifest["asked"], str(run.folder / MANIFEST)
        chosen = from_plain(Choices, asked["choices"], f"{where}, choices")
        designs = {each.name: each for each in chosen.designs}
        names, held = (*(methods or ()), *([design] if design else ())), {*asked["methods"], *designs}
        if lacking := [name for name in names if name not in held]:
            known = f"its methods are {', '.join(asked['methods'])}, its designs {', '.join(designs)}"
            raise BadInput(f"the run of {asked['items']:.60} has no {lacking[0]}; {known:.250}")
        if opened is None and "store" not in how and run.store is None:
            raise BadInput(
                f"there is no store of completions in {run.folder} nor beside it ({STORE}); pass store=FILE, the file "
                "that the run had as --store"
            )
        made = cache(opened) if opened else None  # one model may play several roles
        try:
            cast = {role: made(identity) for role, identity in run.identities.items()} if made else run.absent
            model, *roles = (cast[role] for role in ("answerer", *ROLES))
            players = {name: cast[name] for each in designs.values() for name in each.players}
        except KeyError as error:
            raise BadInput(f"{where}: {error} is not as srdcr run writes it") from None
        how = {"store": run.store, "design": designs[design] if design else None} | how
        how |= dict(zip(ROLES, roles, strict=True)) | {"preset": chosen, "seed": asked["seed"], "players": players}
        how |= {"prompts": run.manifest["prompts"]}
        study = cls(model, thaw(run.folder / ITEMS), methods or asked["methods"], **how)
        study._of = run  # of a bundle, the completions go with it
        return study

    def plan(self) -> Plan:
        """Estimate calls, tokens and cost before anything is spent.

        With many items the plan is scaled up from some of them. What an existing store knows about the models is used.

        Returns
        -------
        Plan
            The plan.
        """
        from srdcr_lab.study.plan import make_plan

        if isinstance(self._store, Store) or (self._store and self._store.exists()):
            self._opened()
        prices = {model.identity.key: price_of(model.identity) for model in self._everyone}
        setup = self._setup(self._cast, self._players)
        return wait_for(make_plan(setup, self.methods, prices, batch=self.asking.batch))

    def run(self, *, progress: bool = True, ray: str | None = None, shards: int | None = None) -> Results:
        """Run every method on every item and write the tables of the results.

        Parameters
        ----------
        progress : bool, default True
            Show progress.
        ray : str, optional
            Let the workers of the Ray cluster at this address ask; "local" starts one on this machine.
        shards : int, optional
            Number of parts of the items; by default as many as suit the cluster.

        Returns
        -------
        Results
            The results, in `out` or in a temporary folder that lives as long as they do.

        Raises
        ------
        Stopped
            The budget is used up, or the run was interrupted. Paid completions are kept; the same call resumes.
        """
        temporary = None if self.out else tempfile.TemporaryDirectory(prefix="srdcr-")
        folder = self.out or Path(temporary.name if temporary else "")
        if (ray or shards is not None) and not (ray and self.out):
            raise BadInput("shards are for Ray, and their stores for a folder: give both ray (--ray) and out (--out)")
        if ray and self.asking.batch:
            raise BadInput("a batch is one queue at the provider, which no worker makes faster: leave --ray out")
        asked = self.asked()
        check_same_study(folder, asked, self.items)
        with one_writer(folder):
            self._earlier = check_same_study(folder, asked, self.items)
            if self._sent_before is None:
                self._sent_before = (self._earlier or {}).get("sent", {})
            self._write_tables(folder, progress, ray, shards)
        return Results(folder, temporary)

    def _write_tables(self, folder: Path, progress: bool, ray: str | None, shards: int | None) -> None:
        if not ray:
            wait_for(self._check())
        try:
            session = self._opened()
            paid = session.paid
            if (folder / "shards").is_dir():  # of a run that was killed
                from srdcr_lab.study.cluster import gather

                gather(folder, session, self._run_key())
            if self._earlier is not None:  # this run goes on, and so does what it has spent, even where it was killed
                before = max(float(self._earlier["spent_usd"]), session.store.spent(self._run_key()))
                self._budget.spent_usd = max(self._budget.spent_usd, before)
            self._budget.on_spent = partial(session.store.note_spent, self._run_key())
            self._write_manifest(folder, "running")
            write_whole(folder / ITEMS, freeze(self.items))
            if ray:
                from srdcr_lab.study.cluster import ask_in_shards, connected

                with connected(ray) as cluster:
                    sent = ask_in_shards(self, folder, cluster, shards)
                self._sent_before = sent_together(self._sent_before, sent)
            wait_for(self._run(session, folder, progress, paid))
        except BadInput:
            if self._nothing_kept() and self._earlier is None:
                withdraw(folder)
            raise
        except KeyboardInterrupt:
            raise Stopped(
                f"interrupted; what was received is kept, run the same command again to resume ({folder})"
            ) from None

    def repeats(self, n: int) -> Iterator[Study]:
        """Repeat the study with further seeds on the same items.

        Repeat k has the seed `seed` + k − 1, hence other exemplars, orders and draws, and writes into `out`/repeat-k.
        All share store and budget; closing this study closes all.

        Parameters
        ----------
        n : int
            Number of repeats, this study included.

        Yields
        ------
        Study
            This study, then the others.

        Raises
        ------
        BadInput
            A folder holds another study; nothing has been run then.
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
        """Make the same study with another kind of self-confidence.

        Parameters
        ----------
        kind : str
            Kind of confidence.

        Returns
        -------
        Study
            The study. It shares models, exemplars and store and writes no folder; closing either closes both.
        """
        return self._beside(choices=replace(self.choices, confidence=choices(confidence=kind).confidence))

    def debate(self, item: Item | str) -> tuple[Item, Outcome]:
        """Run SR-DCR on one item, with every turn of its debate.

        Parameters
        ----------
        item : Item or str
            The item, or its `item_id`.

        Returns
        -------
        tuple of Item, Outcome
            The item and the outcome, which `srdcr_lab.transcripts.debate_html` shows.
        """
        chosen = item if isinstance(item, Item) else self.item(item)
        return chosen, wait_for(sr_dcr(chosen, self.setup))

    def item(self, item_id: str) -> Item:
        """Find an item.

        Parameters
        ----------
        item_id : str
            Its identifier.

        Returns
        -------
        Item
            The item.

        Raises
        ------
        BadInput
            There is no such item.
        """
        for item in self.items:
            if item.item_id == item_id:
                return item
        raise BadInput(f"{self.items.name} has no item {item_id!r}")

    @property
    def setup(self) -> Setup:
        """Return what protocols take, for awaiting them directly.

        Returns
        -------
        Setup
            Models, choices, exemplars and prompts.
        """
        session = self._opened()
        return self._setup(session.cast, session.players)

    def write_requests(self, target: Path, most_draws: int | None = None) -> tuple[int, int, int]:
        """Write the missing requests as lines of OpenAI's batch files; for a new study also run.json and items.json.

        Parameters
        ----------
        target : Path
            The file; none is written if nothing is missing.
        most_draws : int, optional
            Most draws per line; None for no limit.

        Returns
        -------
        tuple of int, int, int
            The numbers of lines, draws and items.

        Raises
        ------
        BadInput
            A model takes no such lines, or the file is the store.
        """
        if others := [model.identity for model in self._everyone if model.identity.provider in set(API) - {"openai"}]:
            raise BadInput(f"{others[0]} takes no such lines; name the model that your engine runs as openai:NAME")
        folder, asked = self.out or Path(), self.asked()
        if check_same_study(folder, asked, self.items) is None:
            with one_writer(folder):
                self._write_manifest(folder, "running")
                write_whole(folder / ITEMS, freeze(self.items))
        waves, store = self._waves(), self._opened().store
        if target.exists() and target.samefile(store.path):
            raise BadInput(f"{target} is the store of the study; give another --out")
        wave = wait_for(waves.missing())
        with store.transaction():
            if lines := [line for model, requests in wave.items() for line in model.lines(requests, most_draws)]:
                write_whole(target, "".join(lines))
        draws = sum(len(request.draws) for requests in wave.values() for request in requests)
        return len(lines), draws, len(waves.work)

    def asked(self) -> dict[str, Any]:
        """Return what determines the numbers; a folder resumes only with the same.

        Returns
        -------
        dict of str to object
            Items, methods, choices, seed, models and prompts.
        """
        roles = vars(self._cast) | self._players
        return {
            "items": self.items.name,
            "items_sha256": self.items.sha256,
            "n_items": len(self.items),
            "limit": self.limit,
            "methods": [method.name for method in self.methods],
            "choices": self.choices.as_dict(),
            "seed": self.seed,
            "models": {role: as_plain(model.identity) for role, model in roles.items()},
            "prompts_sha256": dict(self.prompts.hashes()),
        }

    def close(self) -> None:
        """Close models and store; a closed study opens again when its next step needs it."""
        if self._session is not None:
            wait_for(self._session.aclose(close_store=not isinstance(self._store_path, Store)))
            self._session = None

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _everyone(self) -> Collection[ChatModel]:
        """Each model once, whatever it plays."""
        return {id(model): model for model in (*vars(self._cast).values(), *self._players.values())}.values()

    def _setup(self, cast: Cast, players: Mapping[str, ChatModel]) -> Setup:
        return Setup(cast, self.choices, self.items, self.seed, players, self.prompts)

    def _waves(self) -> Waves:
        """Over every item of every repeat."""
        from srdcr_lab.study.waves import Waves

        setups = [replace(self.setup, seed=seed) for seed in self._seeds]
        work = [(item, setup) for setup in setups for item in setup.items]
        return Waves(self._opened().models, self.methods, work)

    def _beside(self, **changed: Any) -> Study:
        self._opened()
        other = copy(self)
        vars(other).update({"out": None, "_sent_before": None} | changed)
        return other

    @property
    def _store(self) -> Path | Store | None:
        """Where the completions are kept; None: in memory."""
        return self._store_path or (self.out / "store.sqlite" if self.out else None)

    def _opened(self) -> Session:
        if self._session is None:
            if self.out:
                made(self.out)
            store = self._store if isinstance(self._store, Store) else Store(self._store or ":memory:")
            how: dict[str, Any] = {"offline": self.asking.offline}
            if self.asking.batch:
                from srdcr_lab.study.waves import InWaves

                how["stored"] = InWaves
            self._session = Session(self._cast, self._players, store, self._budget, **how)
        return self._session

    async def _check(self) -> None:
        """Reach every server once: a wrong address or key is reported before anything is written."""
        for model in self._everyone:
            if hasattr(model, "check") and not self.asking.offline:
                await model.check()

    async def _run(self, session: Session, folder: Path, progress: bool, paid_before: int) -> None:
        started, causes, waiting = time.monotonic(), Causes(), Waiting(self.methods)
        stopped: BudgetExhausted | None = None
        try:
            if self.asking.batch and not self.asking.offline:
                from srdcr_lab.study.waves import ask_in_waves

                tell = partial(print, file=sys.stderr, flush=True) if progress else lambda _: None
                await ask_in_waves(self._waves(), tell=tell)
            bar = progress_bar(session, len(self.items) * len(each_setup(self.methods, self.setup)), show=progress)
            with table_writer(folder) as writer, bar as counted:
                try:
                    async with aclosing(run_items(self.setup, self.methods, on_done=counted)) as finished:
                        async for rows in finished:
                            causes.add(rows.replies)
                            writer.add(waiting.hold_back(rows))
                except BudgetExhausted as reason:
                    stopped = reason
                await session.landed()
                writer.add_records(waiting.settled())
        except BaseException as error:
            if isinstance(error, SrdcrError):  # not an interrupt: what is in flight may be billed, so it is awaited
                await session.landed()
            await session.abandon()
            with suppress(OSError):  # a full disk, which is what the error says
                self._write_manifest(folder, "stopped")
            raise
        results = Results(folder)
        write_whole(folder / SUMMARY, csv_text(results.summary))
        counts = {
            **{table: results.n_rows(table) for table in TABLES},
            "failed": int(results.records["error"].notna().sum()),
            "causes": causes.counts,
            "calls_paid": session.paid - paid_before,
            "completions_in_store": session.store.count(),
            "wall_s": round(time.monotonic() - started, 1),  # a run that resumes counts its own time alone
        }
        notes = [*near_ties(results.records), *self._of_confidence(results.records), *causes.notes()]
        self._write_manifest(folder, "stopped" if stopped else "done", notes, counts=counts)
        if stopped:
            raise stopped

    def _of_confidence(self, records: pd.DataFrame) -> Iterator[str]:
        """What τ means where `auto` had to take another kind of confidence than the paper's."""
        if self.choices.confidence == "auto" and (records["confidence_kind"] == ConfidenceKind.SELF_CONSISTENCY).any():
            tau, n = self.choices.tau, self.choices.consistency_draws
            yield (
                f"without log-probabilities confidence is self-consistency, the share of {n} draws that agree with the "
                f"prior answer: τ = {tau:g} now means at least {math.ceil(tau * n - 1e-9)} of {n}"
            )

    def _write_manifest(self, folder: Path, status: str, notes: Sequence[str] = (), **counted: Any) -> None:
        """Write run.json; until its tables are replaced (`counted`), a finished run stays as it is."""
        if self._earlier and self._earlier["status"] == "done" and not counted:
            return
        models = {str(model.identity): model for model in self._everyone}
        prices = {name: price_of(model.identity) for name, model in models.items()}
        pocket = any(model.identity.provider == "pocket" for model in models.values())
        sent = {name: model.sent() for name, model in models.items() if hasattr(model, "sent")}
        sent = sent_together(self._sent_before, sent)
        known = {name: self._opened().store.recall(model.identity.key, DOCTOR) for name, model in models.items()}
        said = [note for record in sent.values() for note in record.get("notes", ())]
        if self.seed != self._first_seed:
            said.append(f"a repeat with seed {self.seed}; its items are those of seed {self._first_seed}")
        if self.prompts.own:
            said.append(f"asked with other templates than ours: {', '.join(self.prompts.own)}; run.json holds them")
        notes = [*self.items.notes, *([_of_pocket(self.prompts)] if pocket else []), *said, *notes]
        if status == "stopped":
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
            "versions": {"python": platform.python_version(), **_versions()},
            "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        }
        write_manifest(folder, manifest | counted)

    def _run_key(self) -> str:
        asked = self.asked() | {"seed": self._first_seed}  # repeats share a budget
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()

    def _nothing_kept(self) -> bool:
        """Close without leaving an empty store behind; False if completions were received, which stay."""
        if self._session is None:
            return True
        nothing = self._session.paid == 0
        self._session.store.withdraw()
        self.close()
        return nothing


def near_ties(records: pd.DataFrame) -> Iterator[str]:
    """How many prior answers another run may give otherwise, counted once a question."""
    margins = records.groupby("question_id")["prior_margin"].min().dropna()
    if n := int((margins < NEAR_TIE).sum()):
        yield (
            f"near ties: {n:,} of {len(margins):,} prior answers have a token that is ahead of the next by less than "
            f"{NEAR_TIE} in log-probability (column prior_margin); another run may answer otherwise"
        )


def _of_pocket(prompts: Prompts) -> str:
    """What a reader of its numbers must know: what it is, and which prompts are new to it."""
    manifest = json.loads((shipped("pocket") / "manifest.json").read_text("utf-8"))
    learned = {*manifest["templates"].items(), *map(tuple, manifest["paraphrases"])}
    new = ", ".join(name for name, known in prompts.hashes().items() if (name, known) not in learned)
    return _POCKET + (f"; it was not trained on the prompts {new}" if new else "")


def _versions() -> dict[str, str]:
    installed = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def open_study(
    model: str | ChatModel = "pocket",
    items: str | Path | pd.DataFrame | ItemSet = "facts:testbed",
    methods: str | Sequence[str] = ("few_shot", "sr_dcr"),
    *,
    run: str | Path | Results | None = None,
    questions: int | None = None,
    **how: Any,
) -> Results:
    """Open the results of a study: ask a model for what the store lacks, or open a finished run.

    Parameters
    ----------
    model : str or ChatModel, default "pocket"
        As in `Study`; ignored with `run`.
    items : str, Path, DataFrame or ItemSet, default "facts:testbed"
        As in `Study`; ignored with `run`.
    methods : str or sequence of str, default ("few_shot", "sr_dcr")
        As in `Study`; with a table without passages, methods that need one are left out.
    run : str, Path or Results, optional
        A results folder, a bundle, or the name of a shipped study.
    questions : int, optional
        Number of questions of `items`, each with all its forms (`ItemSet.of_questions`); None for all. `limit` counts
        items instead.
    **how : object
        Further arguments of `Study`, such as `limit`, `tau`, `design` and `store`.

    Returns
    -------
    Results
        The results; `with_confidence` asks the open study for another kind of confidence.

    Raises
    ------
    BadInput
        One sentence says what to change.

    Examples
    --------
    >>> open_study(run="pocket").records["method"].nunique() > 5
    True
    """
    if run is not None:
        return run if isinstance(run, Results) else load_run(run)
    if isinstance(how.get("store"), str | Path):
        as_path(how["store"]).absolute().parent.mkdir(parents=True, exist_ok=True)
    if questions is not None:
        items = load_items(items, seed=how.get("seed", 0)).of_questions(questions, how.get("seed", 0))
    table = load_items(items) if isinstance(items, str | Path) else items
    if isinstance(table, ItemSet) and all(item.is_closed_book for item in table):
        methods = [method.name for method in named_methods(methods) if any(map(method.takes, table))]
    study = Study(model, items, methods, **how)
    return replace(study.run(progress=False), _study=study)


def open_repeats(
    repeats: int,
    model: str | ChatModel = "pocket",
    items: str | Path | pd.DataFrame | ItemSet = "facts:testbed",
    methods: str | Sequence[str] = ("few_shot", "sr_dcr"),
    *,
    run: str | Path | Results | None = None,
    **how: Any,
) -> pd.DataFrame:
    """Open the records of a study that was asked again with further seeds.

    Parameters
    ----------
    repeats : int
        Number of repeats.
    model : str or ChatModel, default "pocket"
        As in `Study`; ignored with `run`.
    items : str, Path, DataFrame or ItemSet, default "facts:testbed"
        As in `Study`; ignored with `run`.
    methods : str or sequence of str, default ("few_shot", "sr_dcr")
        As in `Study`; ignored with `run`.
    run : str, Path or Results, optional
        A finished run with repeats in its folder (``srdcr run --repeats``), or a single run.
    **how : object
        Further arguments of `Study`.

    Returns
    -------
    DataFrame
        The records, with the column `repeat`.
    """
    import pandas as pd

    if run is not None:
        return load_repeats(run.folder if isinstance(run, Results) else run)
    with Study(model, items, methods, **how) as study:
        runs = [each.run(progress=False) for each in study.repeats(repeats)]
    return pd.concat([each.records.assign(repeat=k) for k, each in enumerate(runs, start=1)], ignore_index=True)
