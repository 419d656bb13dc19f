"""Open a study: ask a model for what the store lacks, show a finished run, or rebuild the study that it was."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.data.items import ItemSet, thaw
from srdcr_lab.data.load import load_items
from srdcr_lab.models import ChatModel
from srdcr_lab.models.load import AbsentModel
from srdcr_lab.protocols import Choices
from srdcr_lab.protocols import methods as named_methods
from srdcr_lab.records import BadInput, Capabilities, ModelIdentity
from srdcr_lab.records.files import as_path, from_plain
from srdcr_lab.records.vocabulary import must_be
from srdcr_lab.study.asking import ROLES
from srdcr_lab.study.results import ITEMS, MANIFEST, STORE, Results, load_repeats, load_run
from srdcr_lab.study.study import Study, check_names


def open_study(
    model: str | ChatModel = "pocket", items: str | Path | pd.DataFrame | ItemSet = "facts:testbed",
    methods: str | Sequence[str] = ("few_shot", "sr_dcr"), *, run: str | Path | Results | None = None,
    questions: int | None = None, progress: bool = False, **how: Any,
) -> Results:  # fmt: skip
    """Open the results of a study: ask a model for what the store lacks, or open a finished run.

    Parameters
    ----------
    model : str or ChatModel, default "pocket"
        As in `Study`; ignored with `run`.
    items : str, Path, DataFrame or ItemSet, default "facts:testbed"
        As in `Study`, whose default is "facts" (true passages only); ignored with `run`.
    methods : str or sequence of str, default ("few_shot", "sr_dcr")
        As in `Study`; ignored with `run`. With a table without passages, methods that need one are left out.
    run : str, Path or Results, optional
        A results folder, a bundle, or the name of a shipped study.
    questions : int, optional
        Number of questions of `items`, each with all its forms (`ItemSet.of_questions`); None for all. `limit` counts
        items instead.
    progress : bool, default False
        Whether to show how far the model is.
    **how : object
        Further arguments of `Study`, such as `limit`, `tau`, `design` and `store`. With `run` only `tau` counts: the
        results are shown at that threshold.

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
    check_names(how)
    if run is not None:
        results = run if isinstance(run, Results) else load_run(run)
        tau, asked = how.get("tau"), results.manifest["asked"]["choices"]["tau"]
        return results if tau in (None, asked) else results.at(tau)
    if isinstance(how.get("store"), str | Path):
        as_path(how["store"]).absolute().parent.mkdir(parents=True, exist_ok=True)
    is_named = isinstance(items, str | Path) and not as_path(items).is_file()
    table = load_items(items, strict=how.get("strict", False))
    for note in () if is_named or table is items else table.notes:  # what was read of a user's own table
        logging.getLogger(__name__).warning(note)
    if all(item.is_closed_book for item in table):
        methods = [method.name for method in named_methods(methods) if any(map(method.takes, table))]
    study = Study(model, items if is_named else table, methods, questions=questions, **how)
    results = study.run(progress=progress)
    for note in results.manifest["notes"][-1:] if results.manifest["counts"]["failed"] else ():
        logging.getLogger(__name__).warning(note)
    return replace(results, _study=study)


def open_repeats(
    repeats: int, model: str | ChatModel = "pocket", items: str | Path | pd.DataFrame | ItemSet = "facts:testbed",
    methods: str | Sequence[str] = ("few_shot", "sr_dcr"), *, run: str | Path | Results | None = None, **how: Any,
) -> pd.DataFrame:  # fmt: skip
    """Open the records of a study that was asked again with further seeds.

    Parameters
    ----------
    repeats : int
        Number of repeats.
    model : str or ChatModel, default "pocket"
        As in `Study`; ignored with `run`.
    items : str, Path, DataFrame or ItemSet, default "facts:testbed"
        As in `Study`, whose default is "facts" (true passages only); ignored with `run`.
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
    if run is not None:
        results = replace(run if isinstance(run, Results) else load_run(run))
        vars(results)["records"] = load_repeats(results.folder)  # which open_study shows at tau
        return open_study(run=results, **how).records
    with Study(model, items, methods, **how) as study:
        runs = [each.run(progress=False) for each in study.repeats(repeats)]
    return pd.concat([each.records.assign(repeat=k) for k, each in enumerate(runs, start=1)], ignore_index=True)


def study_of(
    run: Results, opened: Callable[[ModelIdentity], ChatModel] | None = None, *, methods: Sequence[str] | None = None,
    design: str | None = None, **how: Any,
) -> Study:  # fmt: skip
    """The study of a finished run, or some of its `methods` or one `design` of it, with further arguments of `Study`.

    `opened` makes a model from its identity; by default models are never asked, and the run's own completions are used.
    """
    must_be("run", run, (Results,), "what load_run gives")
    asked, where = run.manifest["asked"], str(run.folder / MANIFEST)
    chosen = from_plain(Choices, asked["choices"], f"{where}, choices", extra="ignore")
    designs = {each.name: each for each in chosen.designs}
    known: dict[str, Sequence[str]] = {"method": asked["methods"], "design": [*designs]}
    for kind, names in (("method", methods or ()), ("design", [design] if design else ())):
        if missing := [name for name in names if name not in known[kind]]:
            told = f"its {kind}s are {', '.join(known[kind])}"
            raise BadInput(f"the run of {asked['items']:.60} has no {kind} {missing[0]:.60}; {told:.250}")
    if opened is None and "store" not in how and run.store is None:
        place = f"in {run.folder} nor beside it ({STORE})"
        raise BadInput(f"there is no store of completions {place}; name it: --store FILE, store=FILE")
    logprobs = run.manifest["logprobs"]
    open_once = cache(opened or (lambda model: AbsentModel(model, Capabilities(logprobs=logprobs[str(model)]))))
    try:
        cast = {role: open_once(identity) for role, identity in run.identities.items()}
        model, *roles = (cast[role] for role in ("answerer", *ROLES))
    except KeyError as error:
        raise BadInput(f"{where}: {error} is not as srdcr run writes it") from None
    of_run = {"store": run.store, "design": designs[design] if design else None, "seed": asked["seed"]}
    how = of_run | dict(zip(ROLES, roles, strict=True)) | how | {"preset": chosen}
    study = Study(model, thaw(run.folder / ITEMS), methods or asked["methods"], prompts=run.manifest["prompts"], **how)
    study._of = run  # of a bundle, the completions go with it
    return study
