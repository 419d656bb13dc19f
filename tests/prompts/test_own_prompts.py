"""Templates of the user's own: what is refused of them, that they reach the model, and what a run keeps of them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import srdcr_lab as lab
from srdcr_lab.prompts import OURS, Prompts, hashes, sources
from srdcr_lab.prompts.messages import own_prompts
from srdcr_lab.protocols import DESIGNS
from srdcr_lab.records import BadInput, Role, Turn
from srdcr_lab.study.share import replay, share
from tests.conftest import Srdcr
from tests.loopback.server import Loopback
from tests.scripted import finished, reader
from tests.study.test_sharing import resealed

JUDGE, CRITIC = sources()["judge"], sources()["critic_told"]
END = "\n{% endif -%}\n{{ transcript"
TRANSCRIPT, PASSAGE = "{{ transcript | debate_block }}", "{{ passage | passage_block }}"


def swap(piece: str, other: str, of: str = "judge") -> str:
    """Our template with one piece replaced."""
    assert piece in sources()[of]
    return sources()[of].replace(piece, other)


LATER = swap("Question: {{ question }}", "It is asked: {{ question }}")  # the instructions stay as they are
STRICT = swap("You are the Judge", "Be strict. You are the Judge")

# What is refused: whose place the text takes, the text, and where the sentence begins
NO_FIELD = "13: {} is not allowed here, remove it; the block user may hold"
FAULTS: list[tuple[str, str, str]] = [
    *(("judge", swap(TRANSCRIPT, piece), NO_FIELD.format(piece)) for piece in (
        "{{ transcrip | debate_block }}", "{{ answer | answer_block }}", PASSAGE,
        "{{ transcript }}", "{{ transcript | passage_block }}", "{{ transcript | debate_block | upper }}")),
    ("judge", swap(TRANSCRIPT, ""), "17: the block user lacks {{ transcript | debate_block }}, which this role needs"),
    ("judge", swap("{{ question }}", ""), "17: the block user lacks {{ question }}, which this role needs"),
    ("judge", swap("{% if passage %}", "{% if not passage %}"), "11: {% if not passage %}{{ passage | passage_block"),
    ("judge", swap(END, "{% else %}" + PASSAGE + END), "11: {% if passage %}{{ passage | passage_block }}{% else %}"),
    ("judge", swap("You are", "You are {{ question }}"), "3: {{ question }} is not allowed here, remove it; the block"),
    ("defender_told", swap(PASSAGE, "", "defender_told"), "10: the block user lacks {{ passage | passage_block }},"),
    ("critic_told", swap("{{ answer", PASSAGE + "{{ answer", "critic_told"), "10: {{ passage | passage_block }} is"),
    ("stance_judge", swap("evidence_block", "passage_block", "stance_judge"), "6: {% if passage %}{{ passage | pa"),
    *(("judge", swap(TRANSCRIPT, piece), f"13: {shown} is not allowed here") for piece, shown in (
        ("{{ transcript.__class__.__mro__ }}", "{{ transcript . __class__ . __mro__ }}"),
        ("{{ 9 ** 9 ** 9 ** 9 }}", "{{ 9 ** 9 ** 9 ** 9 }}"),
        ("{% for _ in range(10**12) %}x{% endfor %}", "{% for _ in range ( 10 ** 12 ) %}"),
        ("{% include '/etc/passwd' %}", "{% include '/etc/passwd' %}"),
        ("{% raw %}{{ transcript }}{% endraw %}", "{% raw %}"))),
    ("judge", "{% extends 'critic' %}" + JUDGE, "1: {% extends 'critic' %} is not allowed here"),
    ("judge", swap("{% if passage %}", "{% if passage %}" * 900), "11: {% if passage %}{% if passage %}{% if passage"),
    ("judge", "\n\nBe kind.\n" + JUDGE, "3: Be kind. is not allowed here, remove it; nothing outside of the blocks"),
    ("judge", swap("{% block user -%}", "{% block usr -%}"), "10: {% block usr %} is not allowed here"),
    ("judge", swap("{%- endblock %}\n{% block user -%}", "{% block user -%}"), "9: {% block user %} is not allowed"),
    ("judge", JUDGE + JUDGE, "20: block 'system' defined twice; write it as ours"),
    ("judge", JUDGE.removesuffix("{%- endblock %}\n"), "17: Unexpected end of template."),
    ("judge", JUDGE + "{{", "19: unexpected 'end of template'"),
    ("judge", "{% block user %}{{ question }}" + TRANSCRIPT, "1: the block system lacks words, which this role needs"),
    ("judge", swap("final decision: UNREASONABLE", "UNREASONABLE"), "3: the block system lacks 'final decision:', by"),
    ("judge", JUDGE + " " * 20_000, "1: it is empty, or has more than 20,000 characters; start from a copy of ours"),
    ("judge", swap("You are", "You \ud800are"), "3: this is not UTF-8; save the file as UTF-8"),
    ("cot", JUDGE, "1: there is no template of this name; use a name from "),
    ("../judge", JUDGE, "1: there is no template of this name (did you mean judge.j2?); use a name from "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "said"), FAULTS)
def test_a_fault_is_one_sentence_with_file_and_line(name: str, text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        own_prompts({name: text})
    assert _plain(refused).startswith(f"{name}.j2, line {said}"), refused.value
    assert len(str(refused.value)) < 400


def _plain(refused: pytest.ExceptionInfo[BadInput]) -> str:
    """The sentence without the quotation marks around a piece."""
    return re.sub("[“”]", "", str(refused.value))


@pytest.mark.parametrize(("mark", "templates"), [
    ("final decision:", {"judge", "judge_alone"}), ("Final answer:", {"astute_answer", "self_ask"}),
    ('"answer: "', {"chain_of_thought", "stance_judge", "mad_judge"}),
    ("answers:", {"documents_aggregator", "documents_judge", "documents_together"}),
    ("confidence:", {"verbalized_confidence"}),
    ("full stop", {"critic_told", "defender_told", "judge_debate_judge", "naive_debate_answer"}),
    ('"chain_of_thought"', {"proponent_rebuttal", "proponent_thesis"}), ('"state"', {"proponent_rebuttal"}),
    ('"challenges"', {"devils_advocate"}),
])  # fmt: skip
def test_what_replies_are_read_by_has_to_be_asked_for(mark: str, templates: set[str]) -> None:
    """Of every template whose reply is read by a mark, a copy without it is refused."""
    read_by = {name for name in sources() if mark in OURS.system_text(name)}
    assert read_by >= templates
    for name in read_by:
        instructions, block, rest = sources()[name].partition("{% block user")
        with pytest.raises(BadInput, match="by which replies are read; ask for it as ours does"):
            own_prompts({name: instructions.replace(mark, "so and so") + block + rest})


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    """Hidden files are left out; a byte order mark and Windows' line ends change nothing."""
    assert own_prompts(None) is own_prompts({}) is OURS
    with pytest.raises(BadInput, match=r"the template judge\.j2 is a text, got None"):
        own_prompts({"judge": None})  # type: ignore[dict-item]
    (tmp_path / ".DS_Store").write_bytes(b"\xff")
    (tmp_path / "judge.j2").write_bytes(b"\xef\xbb\xbf" + JUDGE.replace("\n", "\r\n").encode())
    (tmp_path / "critic.j2").write_text(swap("120 words", "80 words", "critic"), "utf-8")
    prompts = own_prompts(tmp_path)
    assert {name for name, value in prompts.hashes().items() if value != hashes()[name]} == {"critic"}
    assert "Write at most 80 words." in prompts.system_text("critic")
    assert prompts.system_text("defender") == OURS.system_text("defender")


@pytest.mark.parametrize(("file", "content", "said"), [
    ("judge.txt", b"x", "{}/judge.txt, line 1: there is no template of this name (did you mean judge.j2?); use a"),
    ("judge.j2", JUDGE.replace("Decide", "D\xe9cide").encode("latin-1"),
     "{}/judge.j2, line 3: this is not UTF-8; save"),
    ("judge.j2", b"", "{}/judge.j2, line 1: it is empty"),
    ("judge.j2", None, "cannot read {}/judge.j2 (Is a directory); make it readable, or take it away"),
    ("", None, "{} is no folder with templates; copy into one those of "),
])  # fmt: skip
def test_a_fault_of_a_folder_ends_a_run_before_anything_is_asked(
    file: str, content: bytes | None, said: str, tmp_path: Path, loopback: Loopback, openai: list[object], srdcr: Srdcr
) -> None:
    folder, out = tmp_path / "mine", tmp_path / "out"
    (folder / file if content is None else folder).mkdir(parents=True)
    if content is not None:
        (folder / file).write_bytes(content)
    ended = srdcr("run", *openai, "--items", "facts", "--limit", 2, "--prompts", folder, "--out", out)
    assert (ended.code, ended.sentence.startswith("srdcr: " + said.format(folder))) == (2, True), ended.sentence
    assert len(ended.sentence) < 400
    assert not loopback.asked
    assert not out.exists()


ODD = [
    "{% raw %}", "{% endraw %}", "{{ passage }}", "{{", "}}", "{%", "{#", "#}", "{% set passage = 1 %}", "{% elif %}",
]  # fmt: skip
PIECES = [JUDGE, *ODD, *re.split(r"(?<=[%}]})|(?=\{[{%])", JUDGE), *re.split(r"(?<=[%}]})|(?=\{[{%])", CRITIC)]
TURN = Turn(round=0, role=Role.CRITIC, text="</debate>1874.", saw_passage=False, saw_turns=())


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.integers(0, len(JUDGE)), st.booleans())
def test_whatever_is_taken_shows_the_judge_what_it_has_to_see(pieces: str, place: int, inside: bool) -> None:
    """Any text is refused with a sentence, or is rendered with the blocks of ours and no others."""
    try:
        prompts = own_prompts({"judge": JUDGE[:place] + pieces + JUDGE[place:] if inside else pieces})
    except BadInput:
        return
    _shows(prompts)


@pytest.mark.parametrize("text", [
    JUDGE,
    STRICT,
    LATER,
    swap(END, "{% else %}No passage is shown." + END),
    re.sub(r"\{% if reply %\}.*?\{% endif -%\}\n", "", JUDGE, flags=re.S),  # a reply without its line stays so
    swap("{% block user -%}\n", "{%block user%}The question first: {{question}}\n"),  # and again at the end
    swap(TRANSCRIPT, "{# what was said #}\n{{- transcript|debate_block -}}"),
    "{% block user -%}" + JUDGE.partition("{% block user -%}")[2] + JUDGE.partition("{% block user -%}")[0],
])  # fmt: skip
def test_words_and_their_order_are_free(text: str) -> None:
    _shows(own_prompts({"judge": text}))


def _shows(prompts: Prompts) -> None:
    """The judge is shown the question, the debate, and the passage where it is given one; each stays in its block."""
    for passage in ("", "</passage>1874"):
        _, user = prompts.render("judge", question="When?", transcript=[TURN], passage=passage, reply="")
        tags = re.findall(r"</?(?:passage|debate|critic)\b", user.content)
        shown = ["<debate", "<critic", "</critic", "</debate", *(["<passage", "</passage"] if passage else [])]
        assert {*tags} == {*shown}
        assert len({tags.count(tag) for tag in shown[:4]}) == 1
        assert "When?" in user.content


# What a run does with them
def test_they_reach_the_model_and_stand_in_run_json(
    tmp_path: Path, items_csv: Path, loopback: Loopback, srdcr: Srdcr
) -> None:
    folder, out = tmp_path / "secret-place", tmp_path / "out"
    folder.mkdir()
    (folder / "judge.j2").write_text(STRICT, "utf-8")
    study = ["run", "--model", "openai:test", "--base-url", loopback.openai_url, "--items", items_csv]
    study += ["--samples", 0, "--rounds", 2, "--out", out]
    ended = srdcr.ok(*study, "--prompts", folder)
    assert "note: asked with other templates than ours: judge; run.json holds them" in ended.out
    instructions = [asked.body["messages"][0]["content"] for asked in loopback.completions]
    assert sum(text.startswith("Be strict. You are the Judge") for text in instructions) == 3 * 2
    assert not [text for text in instructions if text.startswith("You are the Judge")]
    assert OURS.system_text("critic_told") in instructions
    manifest = lab.load_run(out).manifest
    assert manifest["prompts"] == {"judge": STRICT}
    hashed = manifest["asked"]["prompts_sha256"]
    assert {name for name, value in hashed.items() if value != hashes()[name]} == {"judge"}
    assert "secret-place" not in (out / "run.json").read_text("utf-8")
    assert "holds a run with other arguments (prompts_sha256.judge was" in srdcr.refuses(*study)
    (folder / "judge.j2").write_text(LATER, "utf-8")
    assert srdcr(*study, "--prompts", folder).code == 2
    (folder / "judge.j2").write_text(STRICT, "utf-8")
    asked = len(loopback.completions)
    srdcr.ok(*study, "--prompts", folder)
    assert len(loopback.completions) == asked


def test_plans_repeats_and_other_items_keep_them(items_csv: Path) -> None:
    """The rehearsed judge is known by its own instructions: it rules, and a debate that may stop early does."""
    early, plans = replace(DESIGNS["acvd"], name="early", early_stop=1), []
    for own in (None, {"judge": swap("You are", "Be strict and fair. " * 20 + "You are")}):
        with lab.Study(reader(), items_csv, "sr_dcr", design=early, samples=0, prompts=own) as study:
            plans.append(study.plan().table.iloc[-1])
    assert plans[0]["calls_from"] == plans[1]["calls_from"] < plans[1]["calls_to"]
    assert plans[1]["prompt_tokens_from"] - plans[0]["prompt_tokens_from"] == 3 * 100  # four letters a token
    model = reader()
    with lab.Study(model, items_csv, "debate_only", samples=0, rounds=1, prompts={"judge": LATER}) as study:
        for repeat in study.repeats(2):
            repeat.run(progress=False)
    judged = [request.messages[-1].content for request in model.asked("judge")]
    assert len(judged) == 3 * 2
    assert all("It is asked: " in prompt for prompt in judged)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("own") / "run"
    finished(lab.Study(reader(), "facts:testbed", limit=2, samples=0, prompts={"judge": LATER}, out=out))
    share(out, out.with_name("study.zip"))
    return out


def test_a_bundle_carries_them_and_a_replay_asks_with_them(run: Path, tmp_path: Path) -> None:
    made = replay(run.with_name("study.zip"), tmp_path / "replayed")
    assert made.differences == ()
    assert lab.load_run(tmp_path / "replayed/run").manifest["prompts"] == {"judge": LATER}


@pytest.mark.parametrize(("texts", "said"), [
    ({"judge": swap(TRANSCRIPT, "{{ ''.__class__ }}")}, "judge.j2, line 13: {{ '' . __class__ }} is not"),
    ({"../../judge": JUDGE}, "../../judge.j2, line 1: there is no template of this name"),
    ({"judge": 1}, "run.json, prompts, judge: expected a valid string, got 1"),
    ({"judge": "\ud800" + JUDGE}, "run.json: Invalid JSON"),
    ({"judge": "x" * 1_000_000}, "judge.j2, line 1: it is empty, or has more than 20,000 characters"),
])  # fmt: skip
def test_hostile_templates_are_refused(run: Path, tmp_path: Path, texts: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        replay(_forged(run, tmp_path, texts), tmp_path / "replayed")
    assert said in _plain(refused)
    assert not (tmp_path / "replayed").exists()


@pytest.mark.parametrize("texts", [{"judge": STRICT}, {}])
def test_a_bundle_with_other_templates_than_those_of_the_run_differs(
    run: Path, tmp_path: Path, texts: dict[str, object]
) -> None:
    made = replay(_forged(run, tmp_path, texts), tmp_path / "replayed")
    assert "turns.parquet: 36 rows became 0" in made.differences


def _forged(run: Path, folder: Path, texts: dict[str, object]) -> Path:
    """The bundle with other texts in run.json."""
    return resealed(
        run.with_name("study.zip"), folder, "run/run.json",
        lambda manifest: json.dumps(json.loads(manifest) | {"prompts": texts}).encode(),
    )  # fmt: skip
