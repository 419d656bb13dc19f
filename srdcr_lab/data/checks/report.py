"""What a check leaves: findings, and how much was looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: by which check, where, and what."""

    check: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


@dataclass(slots=True)
class Report:
    """Findings so far, how often each check was made, and counts of what was checked.

    `counts` are tables to print: a heading, its column names, and rows of label and numbers.
    """

    name: str
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    counts: list[tuple[str, Counter[tuple[str, ...]]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, check: str, where: str, complaints: Iterable[str]) -> None:
        """Note that a check was made there, and what it found."""
        self.checked[check] += 1
        self.findings += [Finding(check, where, what) for what in complaints if what]

    def found(self, check: str) -> int:
        """Number of findings of one check."""
        return sum(finding.check == check for finding in self.findings)
