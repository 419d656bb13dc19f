"""What is shown of a run without a browser: what can be asked for, how a case is told, debates side by side."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from markupsafe import escape

import srdcr_lab as lab
from srdcr_lab import transcripts
from srdcr_lab.models import Store
from srdcr_lab.records import BadInput, Document, DocumentKind, Item, Option, Request, Role
from srdcr_lab.transcripts import Cases, beside_html, contested, explain_row, explorer_html, messages_in, save_explorer
from tests.scripted import REASONABLE, UNREASONABLE, ScriptedModel, by_round, finished


def two_questions(named: str = "{}") -> pd.DataFrame:
    """When Ash and Elm were built, each with a true passage and a false one, which call them by this pattern."""
    return pd.DataFrame([
        {"item_id": f"{name}-{claim}", "question_id": name, "question": f"When was {named.format(name)} built?",
         "gold_answer": "1874", "claimed_answer": claim, "context": f"{named.format(name)} was built in {claim}.",
         "answer_type": "year", "domain": name}
        for name in ("Ash", "Elm") for claim in ("1874", "1934")
    ])  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> lab.Results:
    """Memory says 1874, the passage what it says; the judge says R, U, U, U, U, U: two true passages, two false."""
    says = ["final decision: REASONABLE", *[UNREASONABLE] * 5]
    model = ScriptedModel(
        {
            "judge": by_round(says),
            "answer_with_passage": lambda request, _: request.messages[-1].content.split("built in ")[1][:4],
        }
    )
    out = tmp_path_factory.mktemp("run") / "out"
    return finished(lab.Study(model, two_questions(), "few_shot,sr_dcr", samples=2, out=out))


@pytest.fixture(scope="module")
def cases(run: lab.Results) -> Cases:
    return Cases(run.records, run.turns, run.items)


def _places(cases: Cases, **wanted: str) -> list[int]:
    return [k for k, facets in enumerate(cases.facets) if all(wanted[name] in facets[name] for name in wanted)]


def _found(cases: Cases, **wanted: str) -> set[tuple[str, str]]:
    return {cases.key(place)[:2] for place in _places(cases, **wanted)}


def test_cases_are_found_by_what_happened(cases: Cases) -> None:
    assert _found(cases, story="rejected a true passage") == {("Ash-1874", "sr_dcr"), ("Elm-1874", "sr_dcr")}
    followed, saved = ({(f"{name}-1934", method) for name in ("Ash", "Elm")} for method in ("few_shot", "sr_dcr"))
    assert _found(cases, story="believed a false passage") == followed
    assert _found(cases, story="context answer wrong, final answer right") == saved
    assert _found(cases, story="prior answer right, final answer wrong") == followed
    assert cases.options("story") == [
        "believed a false passage", "rejected a true passage", "prior answer right, final answer wrong",
        "context answer wrong, final answer right", "verdict changed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "story"),
    [("UUR", "rejected a false passage first, believed it in the end"), ("R?R", "a ruling could not be read")],
)
def test_a_judge_persuaded_or_unread_is_found(path: str, story: str) -> None:
    rows = pd.DataFrame([_row(level="mild", verdict_path=path), _row(verdict_path="RRR")])
    cases = Cases(rows.assign(verdict="REASONABLE"), NO_TURNS, {})
    assert _places(cases, story=story) == [0]


def test_it_opens_on_a_debate_over_a_false_passage(cases: Cases) -> None:
    assert cases.key(cases.start)[:2] == ("Ash-1934", "sr_dcr")
    false = {"level": "mild", "method": "self_ask"}
    rows = [_row(), _row(**false), _row(**false, item_id="said")]
    spoken = pd.DataFrame([_turn(position=0, role="agent", text="1934", method="self_ask", item_id="said")])
    assert Cases(pd.DataFrame(rows), spoken, {}).start == 2
    assert Cases(pd.DataFrame(rows), NO_TURNS, {}).start == 1
    assert Cases(pd.DataFrame(rows[:1]), NO_TURNS, {}).start == 0


def test_a_case_in_the_list_tells_what_came_of_it_unless_blind(cases: Cases) -> None:
    question = "SR-DCR · When was Ash built?"
    assert cases.label(cases.start).startswith("false passage · SR-DCR · UNREASONABLE · right · When was Ash")
    assert cases.label(cases.start, blind=True) == question


def test_words_that_were_said_before_are_folded() -> None:
    """Critic and judge say the same in every round: short replies are shown again, long ones are not."""
    said = "The passage is plain about it, and memory may be wrong in such matters."
    turns = [
        _turn(position=k, round=k // 2, role=role, text=said if role == "defender" else "I am certain.")
        for k, role in enumerate(["defender", "critic"] * 3)
    ]
    html = Cases(pd.DataFrame([_row()]), pd.DataFrame(turns), {}).html(0)
    assert html.count("<summary>the same words as in round 0</summary>") == 2
    assert html.count(said) == 3
    assert html.count("I am certain.") == 3


def test_a_ruling_without_its_line_is_told_in_words() -> None:
    turns = [
        _turn(position=0, round=0, role="judge", text="The Critic is right, I think."),
        _turn(position=1, round=0, role="judge", text=UNREASONABLE, verdict="UNREASONABLE"),
        _turn(position=2, round=1, role="judge", text=UNREASONABLE, verdict="UNREASONABLE"),
    ]
    cases = Cases(pd.DataFrame([_row(), _row(item_id="other")]), pd.DataFrame(turns), {})
    html = cases.html(0)
    assert html.count("<b>no ruling: its last line is missing, and the Judge is asked for it again</b>") == 1
    assert html.count("was asked for the line of its ruling alone") == 1
    assert html.count("→ <b>UNREASONABLE</b>") == 2
    assert _places(cases, story="a ruling without its line, asked for again") == [0]


def test_each_turn_unfolds_into_the_messages_that_were_sent(run: lab.Results, cases: Cases) -> None:
    """As the store keeps them, beside the reply as it came."""
    with messages_in(run.folder / "store.sqlite") as sent:
        html = cases.html(cases.start, sent=sent)
        parts = [sent(turn) for turn in cases.turns(cases.start)]
    with closing(Store(run.folder / "store.sqlite")) as store:
        asked = {request.digest: request for _, request, _ in store.contents()}
    for turn, told in zip(cases.turns(cases.start), parts, strict=True):
        request = asked[turn.request_digest]
        assert told == [
            *((message.role, message.content) for message in request.messages),
            ("asked for", f"at most {request.max_tokens} tokens, greedy"),
            ("raw reply", turn.text),
        ]
        assert escape(request.messages[-1].content) in html
    assert html.count("<summary>messages and raw reply") == len(parts) == 18
    assert "not at hand" not in html


def test_without_the_store_a_sentence_says_where_the_messages_are(cases: Cases, tmp_path: Path) -> None:
    assert "are in the store of the run, which is not at hand here" in cases.html(cases.start)
    Store(tmp_path / "another.sqlite").close()
    for store, sentence in (("another.sqlite", "does not hold this turn"), ("none.sqlite", "there is no store")):
        with messages_in(tmp_path / store) as sent:
            html = cases.html(cases.start, sent=sent)
        assert html.count(sentence) == 18


def test_a_store_that_is_not_there_is_bad_input(run: lab.Results, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no store"):
        explorer_html(run, store=tmp_path / "none.sqlite")


def test_a_live_debate_unfolds_too_and_a_judge_that_is_asked_again_says_so(tmp_path: Path) -> None:
    def judge(request: Request, _: int) -> str:
        return UNREASONABLE if "Reply again" in request.messages[-1].content else "The Critic is right."

    model, store = ScriptedModel({"judge": judge}), tmp_path / "store.sqlite"
    rows = [{"question": "When was <Ash> built?", "gold_answer": "1934", "context": "<Ash> was built in 1934."}]
    with lab.Study(model, pd.DataFrame(rows), "sr_dcr", samples=0, rounds=2, store=store) as study:
        html = explorer_html(run := study.run(progress=False), store=store)
    assert html.count("<b>no ruling: its last line is missing") == 2
    assert html.count("was asked for the line of its ruling alone") == 2
    assert html.count("<summary>messages and raw reply") == len(run.turns) == 2 * 4


def test_a_large_run_has_several_pages(run: lab.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "CASES_A_PAGE", 3)
    stale = tmp_path / "debates-3.html"
    stale.write_text("of a longer explorer")
    first = save_explorer(run, tmp_path / "debates.html")
    pages = [path.read_text("utf-8") for path in (first, first.with_stem("debates-2"))]
    for page, (name, other) in zip(pages, (("Ash", "Elm"), ("Elm", "Ash")), strict=True):
        assert page.count("<article") == 2
        assert f"When was {name} built?" in page
        assert f"When was {other} built?" not in page
    assert 'Page 2 of 2: <a href="debates.html">1</a> 2.' in pages[1]
    assert not stale.exists()
    with pytest.raises(BadInput, match="pages 1 to 2, not 3"):
        explorer_html(run, ["sr_dcr"], page=3)


def test_the_page_keeps_every_line_of_the_messages_once(run: lab.Results, cases: Cases) -> None:
    page = explorer_html(run, ["sr_dcr"])
    assert "{ unicode-bidi: plaintext }" in page  # a passage from right to left is shown so
    sent = json.loads(re.findall(r'<script id="sent" type="application/json">(.*)</script>', page)[0])
    assert len(sent["lines"]) == len(set(sent["lines"]))
    (number,) = re.findall(r'data-sent="(\d+)"', page)[-1:]
    assert int(number) == len(sent["turns"]) - 1 == 4 * 18 - 1
    last = {heading: "\n".join(sent["lines"][line] for line in text) for heading, text in sent["turns"][-1]}
    with messages_in(run.folder / "store.sqlite") as parts:
        assert last == dict(parts(cases.turns(len(cases) - 1)[-1]))


def test_a_case_tells_both_answers_the_path_and_why(cases: Cases) -> None:
    (place,) = _places(cases, method="sr_dcr", domain="Ash", passage="false")
    html = cases.html(place)
    assert "Reasonable → Unreasonable → Unreasonable" in html
    assert "unchanged since round 1</b></p>" in html
    assert "1934 (wrong)" in html
    assert "The final verdict is UNREASONABLE and the confidence, " in html
    assert html.count("<h4>Round") == 6


def test_debates_of_other_kinds_are_told() -> None:
    item = Item(
        item_id="q", question_id="q", question="Which?", gold_answer="A", context="", claimed_answer="A",
        options=(Option(label="A", text="<b>ash</b>"), Option(label="B", text="elm")),
        documents=(Document(document_id="d1", text="<i>one</i>", source="s<1>", kind=DocumentKind.MISINFO),),
    )  # fmt: skip
    turns = [
        _turn(method="cfmad", text="<u>said</u>", position=place, role=role.value, speaker=f"<{role}>", stance="A & B")
        for place, role in enumerate(Role)
    ]
    row = _row(method="cfmad", n_options=2, n_documents=3, n_misinforming=1)
    cases = Cases(pd.DataFrame([row]), pd.DataFrame(turns), {"q": item})
    html = cases.html(0)
    assert "&lt;b&gt;ash" in html
    assert 's&lt;1&gt; <span class="srdcr-truth">(misinfo)</span></small><br>&lt;i&gt;one' in html
    assert html.count("was given the answer A &amp; B") == len(Role)
    assert "<b>Proponent &lt;proponent&gt;</b>" in html
    assert "1 of 3 documents misinform" in html
    assert cases.options("passage") == []


def _turn(**given: Any) -> dict[str, Any]:
    return {
        "item_id": "q", "question_id": "q", "method": "sr_dcr", "design": None, "verdict": None, "round": 0,
        "stated_answer": "A", "saw_passage": False, "saw_turns": [], "speaker": "", "stance": None, **given,
    }  # fmt: skip


NO_TURNS = pd.DataFrame(columns=["item_id", "method", "design", "position"])


def _row(**given: Any) -> dict[str, Any]:
    empty = ("decision", "design", "verdict", "verdict_path", "r_star", "stabilised", "agreed_round", "error",
             "missing", "self_confidence", "confidence_kind", "context_confidence", "knowledge_category",
             "prior_answer", "prior_correct", "context_answer", "context_correct", "perturbation_value")  # fmt: skip
    return dict.fromkeys(empty) | {
        "item_id": "q", "question_id": "q", "question": "Which?", "method": "sr_dcr", "domain": "trees",
        "level": "standard", "perturbation_kind": "none", "answer_type": "text", "claimed_answer": "A",
        "gold_answer": "A", "gold_answers": ["A"], "final_answer": "A", "final_answers": ["A"], "correct": True,
        "n_options": 0, "n_documents": 0, "n_misinforming": 0, "tau": 0.9, **given,
    }  # fmt: skip


@pytest.mark.parametrize(("stabilised", "said"), [(True, False), (False, True), (None, False)])
def test_a_verdict_that_stood_for_the_last_round_alone_says_so(stabilised: bool | None, said: bool) -> None:
    row = _row(**RULED, verdict_path="RRRRRU", r_star=5, stabilised=stabilised)
    html = Cases(pd.DataFrame([row]), NO_TURNS, {}).html(0)
    assert f"Final verdict: UNREASONABLE, {'reached only in the last' if said else 'unchanged since'} round" in html


RULED = {"verdict": "UNREASONABLE", "decision": "USE_PRIOR", "self_confidence": 0.95, "confidence_kind": "sequence"}
UNSURE = RULED | {"self_confidence": None, "decision": "ABSTAIN", "final_answer": None, "missing": "abstained"}
BOTH = {"self_confidence": 0.9, "context_confidence": 0.8}
WEIGHED = "The final verdict is UNREASONABLE and the confidence"
MEMORY, PASSAGE = "so the answer is taken from memory: A.", "so the answer is taken from the passage: A."


@pytest.mark.parametrize(("row", "sentence"), [
    (RULED, f"{WEIGHED}, 0.950 (sequence probability), is ≥ τ = 0.9, {MEMORY}"),
    (UNSURE, f"{WEIGHED}, missing (sequence probability), is not ≥ τ = 0.9, so there is no answer."),
    (RULED | {"self_confidence": 0.5},
     f"{WEIGHED}, 0.500 (sequence probability), is not ≥ τ = 0.9 (which this preset leaves out), {MEMORY}"),
    ({"verdict": "REASONABLE", "decision": "USE_CONTEXT"}, f"The final verdict is REASONABLE, {PASSAGE}"),
    ({"method": "debate_only", **RULED}, f"The final verdict is UNREASONABLE, {MEMORY}"),
    ({"decision": "USE_CONTEXT"}, f"Prior and context answer agree without a debate, {PASSAGE}"),
    ({"method": "confidence_only", **RULED, "verdict": None},
     f"The confidence, 0.950 (sequence probability), is ≥ τ = 0.9, {MEMORY}"),
    ({"method": "token_probability", "decision": "USE_PRIOR", **BOTH},
     f"Mean token probability is 0.900 for the prior answer and 0.800 for the context answer, {MEMORY}"),
    ({"final_answers": ["A", "B"]}, "The method answers A and B."),
    ({"final_answer": None, "correct": None, "missing": "unparsed"}, "No answer could be read in the reply."),
    ({"final_answer": None, "correct": None, "missing": "error", "error": "the server said 500"},
     "There is no answer, and accuracy counts that as wrong: the server said 500."),
])  # fmt: skip
def test_a_row_is_explained(row: Mapping[str, Any], sentence: str) -> None:
    assert explain_row(_row(**row)) == f"{sentence} The truth is A."
    assert explain_row(_row(**row, gold_answers=["A", "B"])) == f"{sentence} The truth is A and B."


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> lab.Results:
    """Another model on the same items, two rounds under two designs; its draws differ for Elm alone."""

    def remembers(request: object, draw: int) -> str:
        return "1874" if draw % 2 or "Elm" not in str(request) else "<i>1900</i>"

    model = ScriptedModel({"judge": REASONABLE, "answer_from_memory": remembers}, name="other")
    options = {"design": "acvd,symmetric", "rounds": 2, "samples": 4, "out": tmp_path_factory.mktemp("other") / "out"}
    return finished(lab.Study(model, two_questions("<{}>"), "few_shot,sr_dcr", **options))


SAME, NEW = ["1934. It is so."] * 2, ["1934. It is so.", "1934. I see no reason to doubt it."]


@pytest.mark.parametrize(("debates", "first"), [
    ([("mild", "RR", SAME), ("mild", "RU", SAME), ("mild", "RU", NEW)], 2),
    ([("mild", "RR", NEW), ("mild", "R?", NEW), ("mild", "RU", SAME), ("mild", "UR", SAME)], 2),
    ([("mild", "RR", SAME), ("mild", "RR", NEW)], 1), ([("standard", "RU", NEW), ("mild", "RR", SAME)], 1),
    ([("standard", "RR", SAME), ("standard", "RU", SAME)], 1), ([], None),
])  # fmt: skip
def test_the_debate_that_is_shown_is_chosen_by_a_rule(
    debates: Sequence[tuple[str, str, list[str]]], first: int | None
) -> None:
    """A false passage before all; then a Judge who ruled both ways, then a debater who says something new."""
    rows = [_row(item_id=str(n), level=level, verdict_path=path) for n, (level, path, _) in enumerate(debates)]
    turns = [
        _turn(item_id=str(n), position=2 * k + place, round=k, role=role, text=text)
        for n, (_, path, said) in enumerate(debates) for k in range(2)
        for place, (role, text) in enumerate([("defender", said[k]), ("judge", path[k])])
    ]  # fmt: skip
    rows.append(_row(item_id="silent", level="mild"))
    table = pd.DataFrame(turns) if turns else NO_TURNS
    assert Cases(pd.DataFrame(rows), table, {}).contested == first


def test_two_runs_debate_one_item_round_beside_round(run: lab.Results, other: lab.Results) -> None:
    item = contested(run)
    assert item.item_id == "Ash-1934"
    html = beside_html([run, other], item.item_id)
    names = ["scripted:scripted · SR-DCR (ACVD)", "scripted:other · SR-DCR (ACVD)"]
    assert re.findall(r"<th style=[^>]+>(scripted[^<]+)</th>", html) == names
    assert re.findall(r"<h4>Round (\d)", html) == list("00112345"), "the other held two rounds"
    assert html.count("<mark>1934</mark>") == 1, "the passage is shown once"
    assert html.count("<summary>messages and raw reply") == 18 + 6, "each from the store of its own run"
    assert "not at hand" not in html


def test_the_designs_of_a_run_stand_side_by_side_and_the_same_twice_does_not(other: lab.Results) -> None:
    assert contested(other, "symmetric").item_id == "Ash-1934"
    html = beside_html([other, other], "Elm-1934", ["acvd", "symmetric"])
    assert re.findall(r"· ([^<]+)</th>", html) == ["SR-DCR (ACVD)", "SR-DCR (Symmetric)"]
    assert "<Elm>" not in html
    assert "&lt;Elm&gt; was built in <mark>1934</mark>" in html


def test_what_no_run_debated_is_bad_input(run: lab.Results) -> None:
    with pytest.raises(BadInput, match=r"none of these runs holds a debate \(Symmetric\) of Ash-1934"):
        beside_html([run], "Ash-1934", ["symmetric"])
    with pytest.raises(BadInput, match=r"of scripted:scripted holds no debate \(Symmetric\)"):
        contested(run, "symmetric")


def test_a_live_run_is_shown_with_the_messages_of_the_given_store(tmp_path: Path) -> None:
    model = ScriptedModel({"judge": by_round([REASONABLE, UNREASONABLE])})
    store = tmp_path / "store.sqlite"
    live = finished(lab.Study(model, two_questions(), "sr_dcr", rounds=2, samples=0, store=store))
    assert beside_html([live], "Ash-1934", store=store).count("<summary>messages and raw reply") == 6
    assert "which is not at hand here" in beside_html([live], "Ash-1934")
