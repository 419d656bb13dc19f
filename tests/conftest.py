"""Fixtures that many tests share: the loopback server, items of one's own, and the command line in this process."""

import csv
import gc
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

from srdcr_lab import cli
from tests.loopback.fixture import loopback, no_keys, quick_retries
from tests.loopback.server import Loopback

__all__ = ["loopback", "no_keys", "quick_retries"]

# The same examples in every run, however slow the machine is.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")

ITEMS = (
    {"question": "When was the bridge built?", "gold_answer": "1874", "context": "The bridge was built in 1874."},
    {"question": "When was the tower built?", "gold_answer": "1912", "context": "The tower was built in 1912."},
    {
        "question": "When was the canal dug?",
        "gold_answer": "1801",
        "claimed_answer": "1861",
        "context": "The canal was dug in 1861.",
    },
)

sys.modules["rfc3987_syntax"] = None  # jsonschema would load its grammar for three seconds, and nobody checks an IRI

# These take longest: they start first, so that no worker is left with one at the end.
# Ray goes before them: its start forks, which a process that has grown to gigabytes cannot.
LONGEST = (
    *("test_ray.py", "test_real_study.py", "test_notebooks_of_methods.py", "test_browser.py", "test_sharing.py"),
    *("test_notebooks.py", "test_notebooks_own_table.py", "test_setup.py", "test_resume.py", "test_repeats.py"),
)

gc.disable()  # until all are collected: what modules leave behind is no garbage, and there are millions of objects


def pytest_collection_finish() -> None:
    """From here on garbage is collected, without going through the imported modules each time."""
    gc.freeze()
    gc.enable()


def pytest_configure() -> None:
    """Ctrl-C works in every worker and in what it starts.

    A process that a shell starts in the background (`make test &` in a script) ignores SIGINT, and so would every
    process that a test starts and interrupts: such a test would wait for ever.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, the others as they are found (`make test` hands out whole files in this order)."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture
def figures_closed() -> Iterator[None]:
    """Figures are drawn without a screen, and closed after the test."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture
def items_csv(tmp_path: Path) -> Path:
    """Three items, the last with a false passage."""
    path = tmp_path / "items.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["question", "gold_answer", "claimed_answer", "context"], restval="")
        writer.writeheader()
        writer.writerows(ITEMS)
    return path


@dataclass(frozen=True)
class Ended:
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """What the command complained of: the last line of stderr, but for the one that names a page of the guide."""
        lines = [line for line in self.err.strip().split("\n") if not line.startswith("more: ")]
        return lines[-1] if lines else ""


class Srdcr:
    """`srdcr` in this process: a call runs it with these arguments."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> Ended:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        return Ended(int(ended.value.code or 0), *self.capsys.readouterr())

    def ok(self, *arguments: object) -> Ended:
        """A command that does what it is asked to."""
        ended = self(*arguments)
        assert ended.code == 0, ended.err
        return ended

    def refuses(self, *arguments: object) -> str:
        """The sentence with which a command refuses its arguments."""
        ended = self(*arguments)
        assert ended.code == 2, ended
        return ended.sentence


@pytest.fixture
def openai(loopback: Loopback) -> list[object]:
    """The arguments that name a model of the server."""
    return ["--model", "openai:test", "--base-url", loopback.openai_url]


@pytest.fixture
def srdcr(capsys: pytest.CaptureFixture[str]) -> Srdcr:
    return Srdcr(capsys)
