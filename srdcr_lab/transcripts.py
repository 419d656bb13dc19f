"""What was asked, said and decided, as HTML: the cases of a run, debates side by side, and the transcript explorer.

A case is one item under one method. No model is asked and no kernel is needed: everything is read from the tables of a
run, and the messages of a speaker from its store. The templates escape whatever came from a passage, a file or a model.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import count, islice, pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.wording import spoken
from srdcr_lab.data.items import grouped
from srdcr_lab.lib.groups import with_matches
from srdcr_lab.lib.page import Html, render, source
from srdcr_lab.models.store import Store, as_file
from srdcr_lab.protocols import METHODS
from srdcr_lab.records import BadInput, Decision, Item, Level, Needs, Role, SrdcrError, Verdict
from srdcr_lab.records.files import write_whole
from srdcr_lab.records.names import called, kind_called
from srdcr_lab.records.vocabulary import visible

if TYPE_CHECKING:
    from srdcr_lab.study import Results

Parts = list[tuple[str, str]]  # headings and texts: the messages of a request, its settings, the raw reply


def explain_row(row: Mapping[str, Any]) -> str:
    """Explain why a method answered as it did: verdict, confidence against τ, and the truth.

    Parameters
    ----------
    row : mapping of str to object
        A row of the table `records`, as a Series or a dict; in a dict a missing value is None.

    Returns
    -------
    str
        Two sentences.
    """
    if isinstance(row, pd.Series):
        row = _plain(row).to_dict()
    truth = f"The truth is {' and '.join(row['gold_answers'])}."
    if row["missing"] == "error":
        return f"There is no answer, and accuracy counts that as wrong: {row['error']}. {truth}"
    answer = None if row["final_answer"] is None else " and ".join(row["final_answers"])
    if row["decision"] is not None:
        return f"{_reason(row)}, so {_decided(row['decision'], answer)}. {truth}"
    if answer is None:
        return f"No answer could be read in the reply. {truth}"
    return f"The method answers {answer}. {truth}"


def _decided(decision: str, answer: str | None) -> str:
    if decision == Decision.ABSTAIN:
        return "there is no answer"
    source = f"the answer is taken from {'the passage' if decision == Decision.USE_CONTEXT else 'memory'}"
    return f"{source}, and could not be read" if answer is None else f"{source}: {answer}"


def _reason(row: Mapping[str, Any]) -> str:
    """What the decision followed from."""
    name, verdict, decision, confidence = row["method"], row["verdict"], row["decision"], row["self_confidence"]
    method = METHODS.get(name)
    if method and method.needs is Needs.HOPS:
        return "Each hop is decided by itself, here the last one reached"
    shown = "missing" if confidence is None else f"{confidence:.3f}"
    if name == "golden":
        return "This reference knows whether the passage is true"
    if row["context_confidence"] is not None:
        ranked = ", compared by rank among all items" if name.startswith("calibrated") else ""
        other = f"{row['context_confidence']:.3f} for the context answer"
        return f"Mean token probability is {shown} for the prior answer and {other}{ranked}"
    if verdict is None and (method is None or method.debates):
        return "Prior and context answer agree without a debate"
    reached = confidence is not None and confidence >= row["tau"]
    kind, relation = kind_called(row["confidence_kind"]), "≥" if reached else "not ≥"
    belief = f"confidence, {shown} ({kind}), is {relation} τ = {row['tau']:g}"
    if verdict is None:
        return f"The {belief}"
    weighed = decision != Decision.USE_CONTEXT and verdict != Verdict.UNPARSED
    if not weighed or method is None or not method.uses_confidence:
        return f"The final verdict is {verdict}"
    ignored = decision == Decision.USE_PRIOR and not reached
    return f"The final verdict is {verdict} and the {belief}" + (" (which this preset leaves out)" if ignored else "")


def passage_html(item: Item) -> Html:
    """Show a question and its passage, with the passage's claim marked and whether it is true.

    Parameters
    ----------
    item : Item
        The item.

    Returns
    -------
    Html
        The passage.
    """
    return render("transcript", "passage", item=item, pieces=_marked(item.context, item.claimed_answer, item))


def _marked(text: str, answer: str, item: Item) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is a mention of the answer."""
    pieces, position = [], 0
    for span in answers.find(text, answer, item.answer_type, item.unit) if answer else []:
        pieces += [(text[position : span.start], False), (text[span.start : span.end], True)]
        position = span.end
    return [*pieces, (text[position:], False)]


@contextmanager
def messages_in(store: str | Path | None) -> Iterator[Callable[[Any], Parts] | None]:
    """Open a store to read what a speaker was sent.

    Parameters
    ----------
    store : str or Path
        File of the store; None for no messages.

    Yields
    ------
    callable
        A function from a turn (or its row) to the messages that its speaker was sent and its raw reply; None without a
        store. If they are not in the store, it returns a sentence instead.
    """
    if store is None:
        yield None
        return
    try:
        opened = Store(as_file(Path(store)))
    except SrdcrError as error:
        instead = [("not at hand", str(error))]
        yield lambda _: instead
        return
    with closing(opened):
        yield partial(_sent, opened)


def _sent(store: Store, turn: Any) -> Parts:
    try:
        for model, request, replies in store.contents([turn.request_digest or ""]):
            for reply in replies:
                if getattr(turn, "model", str(model)) == str(model) and spoken(reply.text) == turn.text:
                    parts: Parts = [(message.role, message.content) for message in request.messages]
                    parts.append(("asked for", f"at most {request.max_tokens} tokens, {request.decoding}"))
                    thinking = [("thinking", reply.thinking)] if reply.thinking else []
                    return [*parts, *thinking, ("raw reply", reply.text)]
    except SrdcrError as error:
        return [("not at hand", str(error))]
    return [("not at hand", f"{store.path} does not hold this turn's request with its reply")]


_BRIEF = 40  # characters that are shown again rather than folded: the sentence in their place is no shorter


def by_round(turns: Sequence[Any], sent: Callable[[Any], object] | None = None) -> dict[int, list[dict[str, Any]]]:
    """Group the turns of a debate by round.

    Parameters
    ----------
    turns : sequence of object
        The turns, or rows of them, in order.
    sent : callable, optional
        What `messages_in` gives, or a function to a number by which a page's script finds the messages.

    Returns
    -------
    dict of int to list of dict
        Round → its turns: `turn`; `note` on how it came about; `ruling`, if it ruled; `repeats`, the round in which its
        speaker said the same; `sent`, its messages.
    """
    rounds: dict[int, list[dict[str, Any]]] = {}
    first: dict[tuple[str, str, str], int] = {}
    again = False
    for turn, gone in zip(turns, withdrawn(turns), strict=True):
        said = first.setdefault((turn.role, turn.speaker, turn.text), turn.round)
        repeats = said if said < turn.round and len(turn.text) > _BRIEF else None
        note = ", was asked for the line of its ruling alone" if again else ""
        ruling = "no ruling: its last line is missing, and the Judge is asked for it again" if gone else turn.verdict
        shown = {"turn": turn, "note": note, "ruling": ruling, "repeats": repeats, "sent": sent(turn) if sent else None}
        rounds.setdefault(turn.round, []).append(shown)
        again = gone
    return rounds


def withdrawn(turns: Sequence[Any]) -> list[bool]:
    """Find the rulings without their line, which the Judge gives again in the next turn.

    Parameters
    ----------
    turns : sequence of object
        The turns, or rows of them, in order.

    Returns
    -------
    list of bool
        Whether each turn is such a ruling.
    """
    gone = [
        (one.role, one.speaker, one.round) == (Role.JUDGE, after.speaker, after.round)
        and one.verdict is None and after.role == Role.JUDGE and after.verdict is not None
        for one, after in pairwise(turns)
    ]  # fmt: skip
    return [*gone, *([False] if turns else [])]


def documents_html(run: Results, item_id: str) -> Html:
    """Show a question with its documents, and a column per method with what was said and its answer.

    Parameters
    ----------
    run : Results
        A run over items with documents.
    item_id : str
        The item.

    Returns
    -------
    Html
        The documents and the columns.
    """
    item = run.items[item_id]
    said = run.turns[run.turns["item_id"] == item_id].sort_values("position", kind="stable")
    rows = run.records[run.records["item_id"] == item_id].itertuples()
    columns = [(called(row.method), row, said[said["method"] == row.method].itertuples()) for row in rows]
    pieces = [_marked(each.text, each.answer, item) for each in item.documents]
    documents = render("transcript", "documents", item=item, pieces=pieces)
    return Html(documents + render("transcript", "columns", columns=columns))


def stances_html(run: Results, item_id: str) -> Html:
    """Show a question with its options and its debate by CFMAD: chains of thought, each stance, then the judge.

    Parameters
    ----------
    run : Results
        A run over questions with options, or over claims.
    item_id : str
        The item.

    Returns
    -------
    Html
        The debate.
    """
    chosen = run.turns[(run.turns["item_id"] == item_id) & (run.turns["method"] == "cfmad")].sort_values("position")
    about, judged = chosen["stance"].fillna(""), chosen["role"] == Role.JUDGE
    parts = {"Where the stances come from": (about == "") & ~judged}
    parts |= {f"Stance: {stance}": about == stance for stance in dict.fromkeys(about[about != ""])}
    parts["Judge"] = judged
    said = {heading: list(chosen[rows].itertuples()) for heading, rows in parts.items() if rows.any()}
    debate = render("transcript", "stances", parts=said, item_id=item_id)
    return Html(render("transcript", "options", item=run.items[item_id]) + debate)


def chain_html(run: Results, item_id: str) -> Html:
    """Show a chain hop by hop: the passage, what was said about it, the ruling, and the answer that went on.

    The method is `sr_dcr_per_hop` and the design ACVD.

    Parameters
    ----------
    run : Results
        A run over chains.
    item_id : str
        The chain.

    Returns
    -------
    Html
        The hops.
    """
    item = run.items[item_id]
    place = {"item_id": item_id, "method": "sr_dcr_per_hop", "design": "acvd"}
    said = run.turns[(run.turns[[*place]] == pd.Series(place)).all(axis=1)].sort_values("position", kind="stable")
    spoken_at = said["speaker"].str.extract(r"hop-(\d+)", expand=False)
    hops, previous = [], None
    for number in range(1, len(item.hops) + 1):
        turns = [*_plain(said[spoken_at == str(number)]).itertuples()]
        hops.append((passage_html(item.hop(number, previous)), by_round(turns)))
        previous = turns[-1].stated_answer if turns else None
    return render("transcript", "chain", item=item, hops=hops)


# The cases of a run

STORIES: dict[str, Callable[[Mapping[str, Any]], Any]] = {  # what happened, and of which cases that is true
    "believed a false passage": lambda case: case["passage"] == "false" and case["follows"],
    "rejected a true passage": lambda case: case["passage"] == "true" and case["verdict"] == Verdict.UNREASONABLE,
    "rejected a false passage first, believed it in the end": lambda case: (
        case["passage"] == "false" and case["verdict"] == Verdict.REASONABLE and "U" in case["path"]
    ),
    "prior answer right, final answer wrong": lambda case: case["prior_correct"] and case["outcome"] == "wrong",
    "context answer wrong, final answer right": lambda case: case["context_correct"] is False and case["correct"],
    "context answer right, final answer not": lambda case: case["context_correct"] and not case["correct"],
    "verdict changed": lambda case: {"R", "U"} <= set(case["path"]),
    "a ruling could not be read": lambda case: "?" in case["path"],
    "a ruling without its line, asked for again": lambda case: case["asked_again"],
}
FACETS = {
    "method": "method", "outcome": "outcome", "decision": "decision", "verdict": "final verdict",
    "passage": "passage", "domain": "domain", "story": "what happened",
}  # fmt: skip
CaseKey = tuple[str, str, str]  # item, method, and design ("" for none): what tells a case from all others of its run


class Cases:
    """The cases of a run by method.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.
    items : mapping of str to Item
        Items by `item_id`; for an item that is not here only the question is shown.
    methods : sequence of str, optional
        The methods; None for all.
    """

    def __init__(
        self, records: pd.DataFrame, turns: pd.DataFrame, items: Mapping[str, Item],
        methods: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        wanted = list(records["method"].unique()) if methods is None else list(methods)
        chosen = with_matches(records[records["method"].isin(wanted)])
        chosen = chosen.sort_values("method", key=lambda name: name.map(wanted.index), kind="stable")
        turns = turns[turns["item_id"].isin(chosen["item_id"])]
        self.items, self.rows = items, _plain(chosen).to_dict("records")
        said = _plain(turns.sort_values("position", kind="stable")).itertuples()
        self._turns = grouped(said, lambda turn: (turn.item_id, turn.method, turn.design or ""))
        several = chosen["design"].nunique() > 1
        self.facets = [_facets(row, self.turns(place), several) for place, row in enumerate(self.rows)]

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, place: int) -> CaseKey:
        """Return what tells a case from all others of its run.

        Parameters
        ----------
        place : int
            Position of the case.

        Returns
        -------
        CaseKey
            The item, the method, and the design ("" for none).
        """
        row = self.rows[place]
        return row["item_id"], row["method"], row["design"] or ""

    def turns(self, place: int) -> Sequence[Any]:
        """Return the turns of a case, in order.

        Parameters
        ----------
        place : int
            Position of the case.

        Returns
        -------
        sequence of object
            Its rows of the table `turns`.
        """
        return self._turns.get(self.key(place), ())

    @property
    def start(self) -> int:
        """Return the case to open first: a false passage, if possible with a ruling and turns.

        Returns
        -------
        int
            Its position.
        """

        def wanted(place: int) -> tuple[bool, bool, bool]:
            facets = self.facets[place]
            return "false" in facets["passage"], bool(facets["verdict"]), bool(self.turns(place))

        return max(range(len(self)), key=wanted, default=0)

    @property
    def contested(self) -> int | None:
        """Return the most contested debate over a false passage.

        It is the first in which the Judge ruled both ways and a debater did more than repeat itself; if there is none,
        the first that comes closest.

        Returns
        -------
        int or None
            Its position; None without a debate.
        """

        def argued(place: int) -> tuple[bool, bool, bool]:
            spoken = [turn for turn in self.turns(place) if turn.role != Role.JUDGE]
            said = {(turn.role, turn.speaker, turn.text) for turn in spoken}
            new = len(said) > len({speaker[:2] for speaker in said})
            ruled = set(self.rows[place]["verdict_path"] or "") - {"?"}
            return "false" in self.facets[place]["passage"], len(ruled) > 1, new

        return max((place for place in range(len(self)) if self.turns(place)), key=argued, default=None)

    def label(self, place: int, *, blind: bool = False) -> str:
        """Describe a case in one line of a list.

        Parameters
        ----------
        place : int
            Position of the case.
        blind : bool, default False
            Leave out how it ended.

        Returns
        -------
        str
            The line.
        """
        facets, names = self.facets[place], ("method",) if blind else ("passage", "method", "verdict", "outcome")
        parts = [f"{value} passage" if name == "passage" else said(value) for name in names for value in facets[name]]
        return " · ".join([*parts, visible(self.rows[place]["question"], 120)])

    def html(self, place: int, sent: Callable[[Any], object] | None = None) -> Html:
        """Show what was asked and said in each round, and how it ended.

        Parameters
        ----------
        place : int
            Position of the case.
        sent : callable, optional
            As in `by_round`.

        Returns
        -------
        Html
            The case.
        """
        return render("transcript", "case", **self.shown(place, sent))

    def shown(self, place: int, sent: Callable[[Any], object] | None = None) -> dict[str, Any]:
        """Prepare a case for a template.

        Parameters
        ----------
        place : int
            Position of the case.
        sent : callable, optional
            As in `by_round`.

        Returns
        -------
        dict of str to object
            Values for the template.
        """
        row = self.rows[place]
        item = self.items.get(row["item_id"])
        return {
            "row": row, "item": item, "passage": passage_html(item) if item and item.context else "",
            "rounds": by_round(self.turns(place), sent), "elsewhere": sent is None,
            "ending": explain_row(row),
        }  # fmt: skip

    def options(self, facet: str) -> list[str]:
        """List the values of a facet, in order of first appearance.

        Parameters
        ----------
        facet : str
            A key of `FACETS`.

        Returns
        -------
        list of str
            The values.
        """
        values = dict.fromkeys(value for facets in self.facets for value in facets[facet])
        return [story for story in STORIES if story in values] if facet == "story" else list(values)


def _plain(table: Any) -> Any:
    """A table, or a row of one, with None for what is missing."""
    return table.astype(object).where(table.notna(), None)


def said(value: str) -> str:
    """Write a value of a facet for a reader.

    Parameters
    ----------
    value : str
        The value, such as a method, or a method and a design.

    Returns
    -------
    str
        The text.
    """
    return " · ".join(map(called, value.split(" · ")))


def _facets(row: dict[str, Any], turns: Sequence[Any], several_designs: bool) -> dict[str, tuple[str, ...]]:
    """What a case can be asked for by; nothing where its method has no such thing."""
    has_passage, true = not (row["n_options"] or row["n_documents"]), row["level"] == Level.STANDARD
    facets = {
        "method": row["method"] + (f" · {row['design']}" if several_designs and row["design"] else ""),
        "outcome": row["missing"] or ("right" if row["correct"] else "wrong"), "decision": row["decision"],
        "verdict": row["verdict"], "passage": ("true" if true else "false") if has_passage else None,
        "domain": row["domain"],
    }  # fmt: skip
    follows = row["verdict"] == Verdict.REASONABLE or (row["verdict"] is None and row["final_is_claim"])
    case = row | facets | {"path": row["verdict_path"] or "", "follows": follows, "asked_again": any(withdrawn(turns))}
    stories = tuple(story for story, happened in STORIES.items() if happened(case))
    return {name: (value,) if value else () for name, value in facets.items()} | {"story": stories}


# Debates side by side


def contested(run: Results, design: str = "acvd", *, among: Collection[str] = ()) -> Item:
    """Find the item with the most contested debate of a design.

    Parameters
    ----------
    run : Results
        The run.
    design : str, default "acvd"
        The debate design.
    among : Collection[str], default ()
        Ids of items to choose from; if the run has none of them, all its items.

    Returns
    -------
    Item
        The item.

    Raises
    ------
    BadInput
        The run holds no debate of this design.
    """
    records = run.records[run.records["design"] == design]
    shared = records[records["item_id"].isin(list(among))]
    cases = Cases(records if shared.empty else shared, run.turns, run.items, ["sr_dcr"])
    if (place := cases.contested) is None:
        raise BadInput(f"{run.folder.name} of {run.label} holds no debate ({called(design)})")
    return cases.items[cases.rows[place]["item_id"]]


def beside_html(
    runs: Sequence[Results], item_id: str, designs: Sequence[str] = ("acvd",), *, store: str | Path | None = None
) -> Html:
    """Show one item's debates of SR-DCR side by side, a column per run and design.

    If several runs have one model and design, the first is shown.

    Parameters
    ----------
    runs : sequence of Results
        The runs.
    item_id : str
        The item.
    designs : sequence of str, default ("acvd",)
        The debate designs.
    store : str or Path, optional
        File of the completions of runs without a store of their own.

    Returns
    -------
    Html
        The debates.

    Raises
    ------
    BadInput
        No run holds such a debate.
    """
    columns: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        here = (run.records["item_id"] == item_id) & run.records["design"].isin(list(designs))
        cases = Cases(run.records[here], run.turns, run.items, ["sr_dcr"])
        with messages_in(_store_of(run, run.store or store) if len(cases) else None) as sent:
            for place in range(len(cases)):
                name = f"{run.label} · {called('sr_dcr', cases.rows[place]['design'])}"
                columns.setdefault(name, {"name": name, **cases.shown(place, sent)})
    if not columns:
        raise BadInput(f"none of these runs holds a debate ({', '.join(map(called, designs))}) of {item_id}")
    numbers = sorted({number for case in columns.values() for number in case["rounds"]})
    return render("transcript", "beside", cases=list(columns.values()), numbers=numbers)


# The explorer

CASES_A_PAGE = 2000  # a page of 4 MB if they are short answers, of about 10 MB if half are debates


def explorer_html(
    run: Results, methods: Sequence[str] | None = None, title: str = "Transcripts", *,
    store: str | Path | None = None, page: int = 1, files: Sequence[str] = (),
) -> Html:  # fmt: skip
    """Make a page with the cases of a run, to filter, search and step through, and to rule for oneself.

    The page works with the keyboard. It needs no server, kernel or network; its policy allows only its own script,
    named by its digest. It holds at most `CASES_A_PAGE` cases; all cases of a question are on one page.

    Parameters
    ----------
    run : Results
        The run.
    methods : sequence of str, optional
        The methods; None for all.
    title : str, default "Transcripts"
        Title of the page.
    store : str or Path, optional
        File of the completions, for what each speaker was sent; by default the run's own store.
    page : int, default 1
        Which page of a run with more cases.
    files : sequence of str, default ()
        Names of the files of all pages, for the links between them.

    Returns
    -------
    Html
        The page.

    Raises
    ------
    BadInput
        The run has no such page.
    """
    pages = _pages(run, methods)
    if not 1 <= page <= len(pages):
        raise BadInput(f"{run.folder.name} has transcript pages 1 to {len(pages)}, not {page}")
    cases, script = Cases(pages[page - 1], run.turns, run.items, methods), source("explorer.js")
    lines: dict[str, int] = {}  # every line of the messages is kept once: the prompts of a debate repeat its turns
    sent: list[list[tuple[str, list[int]]]] = []
    with messages_in(_store_of(run, store)) as parts_of:

        def numbered(turn: Any) -> int:
            parts = [(heading, text.split("\n")) for heading, text in parts_of(turn)] if parts_of else []
            sent.append([(heading, [lines.setdefault(line, len(lines)) for line in text]) for heading, text in parts])
            return len(sent) - 1

        shown = [
            ({f"data-{name}": "; ".join(values) for name, values in facets.items()}
             | {"data-key": json.dumps(cases.key(place))},
             cases.html(place, numbered if parts_of else None))
            for place, facets in enumerate(cases.facets)
        ]  # fmt: skip
    return render(
        "explorer", title=title, label=run.label, cases=cases, shown=shown, script=script, facets=FACETS, said=said,
        page=page, files=files or [""] * len(pages), sent={"lines": list(lines), "turns": sent},
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )  # fmt: skip


def save_explorer(run: Results, path: str | Path, *, store: str | Path | None = None) -> Path:
    """Write the explorer of every method of the run that speaks in turns; further pages get the ending -2, -3, ….

    Pages that an earlier, longer explorer left there are removed.

    Parameters
    ----------
    run : Results
        The run.
    path : str or Path
        The file; its folder is made if needed.
    store : str or Path, optional
        File of the completions, if the run has no store of its own.

    Returns
    -------
    Path
        The file of the first page.
    """
    path, spoken = Path(path), list(run.turns["method"].unique())
    path.parent.mkdir(parents=True, exist_ok=True)
    further = (path.with_stem(f"{path.stem}-{page}") for page in count(2))
    pages = [path, *islice(further, len(_pages(run, spoken)) - 1)]
    for page, file in enumerate(pages, 1):
        title, names = "Debates, turn by turn", [each.name for each in pages]
        write_whole(file, explorer_html(run, spoken, title, store=run.store or store, page=page, files=names))
    for file in takewhile(Path.is_file, further):
        file.unlink()
    return path


def _pages(run: Results, methods: Sequence[str] | None) -> list[pd.DataFrame]:
    """The records of each page, in the order of the questions; without records one empty page."""
    records = run.records if methods is None else run.records[run.records["method"].isin(list(methods))]
    question = records.groupby("question_id", sort=False).ngroup()
    questions_a_page = max(1, CASES_A_PAGE // max(question.value_counts(), default=1))
    return [rows for _, rows in records.groupby(question // questions_a_page)] or [records]


def _store_of(run: Results, store: str | Path | None) -> Path | None:
    """The file with the messages of a run: this one, by default its own."""
    return as_file(Path(store)) if store is not None else run.store
