"""What must not leave this machine with a shared study: keys, the user's name, absolute paths."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator
from pathlib import Path

from srdcr_lab.records import BadInput

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_KEYS = re.compile(rb"\bsk-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{30,}")
_SHORTEST_SECRET = 12


def check_no_traces(name: str, content: bytes) -> None:
    """Raise `BadInput` if a file that is to be shared holds a key, this user's name in a path, or a path of this
    machine."""
    for what, trace in _traces():
        if trace in content:
            raise BadInput(f"{name} holds {what}; run the study or its notebooks again without it, then share")
    if _KEYS.search(content):
        raise BadInput(f"{name} holds what looks like a key; take it out, then share")


def _traces() -> Iterator[tuple[str, bytes]]:
    for variable, value in os.environ.items():
        if _SECRET.search(variable) and len(value) >= _SHORTEST_SECRET:
            yield f"the value of {variable}", value.encode()
    for place in {Path.home(), Path.cwd()}:
        if len(place.parts) > 1:
            yield f"the path {place}", str(place).encode() + os.sep.encode()
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        return
    yield f"the user name {user}", f"/{user}/".encode()
