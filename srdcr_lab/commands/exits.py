"""Exit codes of every command (design.md, section 4)."""

from __future__ import annotations

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3
