"""The study: a model, items and choices, and the steps a researcher takes with them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import platform
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from copy import copy
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab import prompts
from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.budget import Budget
from srdcr_lab.models.stored import StoredModel
from srdcr_lab.protocols import Cast, Choices, DebateDesign, Outcome, Setup, choices, sr_dcr
from srdcr_lab.protocols import methods as methods_named
from srdcr_lab.records import BadInput, BudgetExhausted, Item, Stopped
from srdcr_lab.study import folder as folders
from srdcr_lab.study.loop import run as run_coroutine
from srdcr_lab.study.opening import open_all, price_for, wrap
from srdcr_lab.study.plan import Plan, make_plan
from srdcr_lab.study.results import Results
from srdcr_lab.study.runner import run_items

if TYPE_CHECKING:
    import pandas as pd

_PACKAGES = ("srdcr-lab", "numpy", "pandas", "pyarrow", "torch", "transformers", "openai", "anthropic", "genai-prices")


class Study:
    """A model, items and choices; its steps are plain calls that return DataFrames.

    Parameters
    ----------
    model : specification (``"pocket"``, ``"openai:gpt-4o"`` …) or a `ChatModel`; it answers, and plays the roles not
        given to others.
    items : anything `load_items` takes.
    methods : names of the methods to compare, or ``"all"``.
    defender, critic, judge : models of these roles.
    preset, design, rounds, tau, samples, confidence : see `srdcr_lab.protocols.choices`; None leaves what the preset
        says.
    limit : at most so many items, stratified and seeded.
    store : file of the completions; default: in the results folder, or in memory.
    offline : take every completion from the store, ask nothing.
    budget_usd : bound on what this study may spend.

    Raises
    ------
    BadInput
        One sentence on what to change.
    """

    def __init__(
        self,
        model: str | ChatModel = "pocket",
        items: str | Path | pd.DataFrame | ItemSet = "facts",
        methods: str | Sequence[str] = ("few_shot", "sr_dcr"),
        *,
        defender: str | ChatModel | None = None,
        critic: str | ChatModel | None = None,
        judge: str | ChatModel | None = None,
        preset: str = "paper",
        design: str | DebateDesign | None = None,
        rounds: int | None = None,
        tau: float | None = None,
        samples: int | None = None,
        confidence: str | None = None,
        limit: int | None = None,
        seed: int = 0,
        concurrency: int = 64,
        base_url: str | None = None,
        budget_usd: float | None = None,
        store: str | Path | None = None,
        offline: bool = False,
        out: str | Path | None = None,
    ) -> None:
        if budget_usd is not None and not budget_usd > 0:
            raise BadInput(f"a budget is more than 0 US dollars, got {budget_usd}")
        if concurrency < 1:
            raise BadInput(f"concurrency is at least 1, got {concurrency}")
        self.methods = methods_named(methods)
        self.choices: Choices = choices(
            preset, design=design, rounds=rounds, tau=tau, samples=samples, confidence=confidence
        )
        whole = load_items(
            items, seed=seed, year_offsets=self.choices.year_offsets, every_mention=self.choices.every_mention
        )
        self.items = whole.limit(limit, seed)
        self.limit, self.seed = limit, seed
        self._models = open_all(
            (model, defender, critic, judge), offline=offline, base_url=base_url, concurrency=concurrency
        )
        self._budget = Budget(budget_usd)
        for opened in self._models:
            price_for(opened.identity, budget_usd)
        self.out = Path(out) if out is not None else None
        self._store_path, self._offline = store, offline
        self._setup: Setup | None = None

    # -- the steps -----------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Calls alone and shared, tokens, cost from–to, before anything is spent."""
        prices = {model.identity.key: price_for(model.identity, None) for model in self._models}
        setup = Setup(Cast(*self._models), self.choices, self.items, self.seed)
        return run_coroutine(make_plan(setup, self.items.items, self.methods, prices))

    def run(self, *, progress: bool = True) -> Results:
        """Run every method on every item and write the tables of design.md, section 4.

        Returns
        -------
        Results
            The tables, in `out`, or in a temporary folder that lives as long as they do.

        Raises
        ------
        Stopped
            The budget is used up; what was paid for is kept, and the same call with more budget goes on.
        """
        temporary = None if self.out else tempfile.TemporaryDirectory(prefix="srdcr-")
        folder = self.out or Path(temporary.name if temporary else "")
        earlier = folders.check(folder, self.asked())
        run_coroutine(self._check())
        created = folders.make(folder)
        try:
            setup = self._opened(folder)
            self._budget.spent_usd = max(self._budget.spent_usd, self._spent_before(earlier))
            folders.write_manifest(folder, self._manifest("running"))
            run_coroutine(self._run(setup, folder, progress))
        except BadInput:
            if self._take_back() and earlier is None:
                folders.withdraw(folder, created)
            raise
        except KeyboardInterrupt:
            raise Stopped(f"interrupted; what was received is kept, run the same again to go on ({folder})") from None
        return Results(folder, temporary)

    def only(self, items: Sequence[Item]) -> Study:
        """The same study on other items, for a closer look: it shares models, exemplars and store, and writes no
        folder."""
        part = copy(self)
        part._setup = replace(self._opened(self.out), items=replace(self.items, items=tuple(items)))
        part.items, part.out, part._store = part._setup.items, None, self._store
        return part

    def debate(self, item: Item | str) -> tuple[Item, Outcome]:
        """SR-DCR on one item (or item_id), with every turn of its debate: what notebook 00 walks through."""
        chosen = item if isinstance(item, Item) else self.item(item)
        return chosen, run_coroutine(sr_dcr(chosen, self._opened(self.out)))

    def item(self, item_id: str) -> Item:
        """The item of that id."""
        for item in self.items:
            if item.item_id == item_id:
                return item
        raise BadInput(f"{self.items.name} has no item {item_id!r}")

    @property
    def setup(self) -> Setup:
        """What the protocols take, for whoever wants to await them."""
        return self._opened(self.out)

    def close(self) -> None:
        """Close models and store. A closed study opens again when its next step needs it."""
        if self._setup is not None:
            run_coroutine(self._aclose())
            self._store.close()
            self._setup = None

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _opened(self, folder: Path | None) -> Setup:
        if self._setup is None:
            if folder:
                folders.make(folder)
            self._store = Store(self._store_path or (folder / "store.sqlite" if folder and self.out else ":memory:"))
            wrapped = {
                id(model): wrap(model, self._store, self._budget, offline=self._offline) for model in self._models
            }
            self._wrapped = tuple(wrapped.values())
            self._setup = Setup(
                Cast(*(wrapped[id(model)] for model in self._models)), self.choices, self.items, self.seed
            )
        return self._setup

    async def _check(self) -> None:
        """Reach every server once, so that a wrong address or key is said before anything is written."""
        for model in () if self._offline else {id(model): model for model in self._models}.values():
            if hasattr(model, "check"):
                await model.check()

    async def _run(self, setup: Setup, folder: Path, progress: bool) -> None:
        try:
            stopped = await self._fill_tables(setup, folder, progress)
        except BaseException:
            for model in self._wrapped:
                await model.abandon()
            with suppress(OSError):  # a full disk, which is what the error says
                folders.write_manifest(folder, self._manifest("stopped"))
            raise
        results = Results(folder)
        folders.write_text(folder / "summary.csv", results.summary.to_csv(index=False))
        folders.write_manifest(folder, self._manifest("stopped" if stopped else "done", results))
        if stopped:
            raise stopped

    async def _fill_tables(self, setup: Setup, folder: Path, progress: bool) -> BudgetExhausted | None:
        """Write the tables as items end; the error that stopped the run, if the budget did."""
        stopped = None
        with (
            folders.TableWriter(folder) as writer,
            _progress_bar(self._wrapped, len(self.items), self._budget, show=progress) as bar,
        ):
            try:
                async with aclosing(run_items(self.items, setup, self.methods, on_done=bar.update)) as finished:
                    async for rows in finished:
                        writer.add(rows)
            except BudgetExhausted as reason:
                stopped = reason
            for model in self._wrapped:  # whom a failed call made unnecessary: it is paid for
                await model.landed()
            writer.commit()
        return stopped

    def _spent_before(self, earlier: dict[str, Any] | None) -> float:
        """What earlier attempts at this run have spent: as they wrote, or by their own store if they were killed."""
        if earlier is None:
            return 0.0
        in_store = 0.0
        if self._store_path is None:
            for identity, _, *tokens in self._store.models():
                in_store += price.cost(*tokens) if (price := price_for(identity, None)) else 0.0
        return max(float(earlier.get("spent_usd", 0.0)), in_store)

    def _take_back(self) -> bool:
        """Close without leaving an empty store behind; False if completions are in it, which stay."""
        nothing_paid = self._setup is None or self._store.count() == 0
        if self._setup is not None:
            run_coroutine(self._aclose())
            self._store.withdraw()
            self._setup = None
        return nothing_paid

    async def _aclose(self) -> None:
        for model in self._wrapped:
            await model.aclose()

    def asked(self) -> dict[str, Any]:
        """What decides the numbers: a folder resumes only under the same."""
        content = json.dumps([asdict(item) for item in self.items], sort_keys=True).encode()
        return {
            "items": self.items.name,
            "items_sha256": hashlib.sha256(content).hexdigest(),
            "n_items": len(self.items),
            "limit": self.limit,
            "methods": [method.name for method in self.methods],
            "choices": self.choices.as_dict(),
            "seed": self.seed,
            "models": dict(
                zip(
                    ("answerer", "defender", "critic", "judge"), (asdict(m.identity) for m in self._models), strict=True
                )
            ),
            "prompts_sha256": dict(prompts.hashes()),
        }

    def _manifest(self, status: str, results: Results | None = None) -> dict[str, Any]:
        manifest: dict[str, Any] = {
            "status": status,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "asked": self.asked(),
            "notes": [*self.items.notes, *_pocket_note(self._models)],
            "sent": {str(m.identity): m.sent() for m in self._models if hasattr(m, "sent")},
            "prices": {
                str(m.identity): asdict(p) if (p := price_for(m.identity, None)) else None for m in self._models
            },
            "budget_usd": self._budget.limit_usd,
            "spent_usd": self._budget.spent_usd,
            "versions": {"python": platform.python_version(), **_versions()},
        }
        if results is not None:
            records = results.records
            manifest["counts"] = {
                "records": len(records),
                "turns": len(results.turns),
                "samples": len(results.samples),
                "failed": int(records["error"].notna().sum()),
                "calls_paid": sum(model.paid for model in self._wrapped),
                "completions_in_store": self._store.count(),
            }
        return manifest


@contextmanager
def _progress_bar(models: Sequence[StoredModel], n_items: int, budget: Budget, *, show: bool) -> Iterator[Any]:
    """A bar over items that also ticks with completions: in a breadth-first run the items end together."""
    from tqdm.auto import tqdm

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.5)
            served = sum(model.served for model in models)
            bar.set_postfix_str(f"{served:,} completions, ${budget.spent_usd:.4f}")

    with tqdm(total=n_items, unit="item", disable=not show) as bar:
        ticking = asyncio.create_task(tick())
        try:
            yield bar
        finally:
            ticking.cancel()


def _pocket_note(models: Sequence[ChatModel]) -> list[str]:
    if any(model.identity.provider == "pocket" for model in models):
        return [
            "made with the pocket model, a model organism trained to know, half-know and not know: "
            "no evidence about any large model"
        ]
    return []


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
