"""What can go wrong, sorted by what the user has to do about it.

The command line turns these into its exit codes: bad input is 2, a stop that can be resumed is 3; a failed call
is neither, it becomes the `error` of one row and the run goes on.
"""

from __future__ import annotations


class SrdcrError(Exception):
    """Base of every error this package raises on purpose. Its text is one sentence a user can act on."""


class BadInput(SrdcrError):
    """The user has to change something: a file, an argument, a key. Nothing was written."""


class CallFailed(SrdcrError):
    """One model call gave no completion, after the bounded retries. The item's row carries the text."""

    unanswered_attempts: int = 0  # attempts that brought nothing usable, and that the provider may bill all the same


class NotInStore(CallFailed):
    """Offline, and the store does not hold the completion that is asked for."""


class Stopped(SrdcrError):
    """The run ended early and can be resumed: what was paid for is in the store."""


class BudgetExhausted(Stopped):
    """The next call's worst case does not fit into what is left of the budget."""
