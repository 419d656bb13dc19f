"""Exit codes of every command: the first four as README.md lists them, and one for an error of our own."""

from __future__ import annotations

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3
ERROR_OF_OURS = 70
