"""What pip is told about package indexes, said to uv, which does not read pip's settings."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

UV_NAMES = {  # pip's option: (uv's variable, what separates several values)
    "index-url": ("UV_INDEX_URL", " "),
    "extra-index-url": ("UV_EXTRA_INDEX_URL", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "timeout": ("UV_HTTP_TIMEOUT", ""),
    "default-timeout": ("UV_HTTP_TIMEOUT", ""),
    "cert": ("SSL_CERT_FILE", ""),
    "proxy": ("ALL_PROXY", ""),
}


def read_pip_settings(python: Path) -> dict[str, str]:
    """Option → value as `pip install` would use it: its variables over `install` over `global` settings."""
    listing = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, option = key.partition(".")
        if section in found:
            found[section][option] = ast.literal_eval(value)
    return found["global"] | found["install"] | found[":env:"]


def uv_options(settings: dict[str, str]) -> list[str]:
    """What has no variable: pip may be told to ask no index at all."""
    return ["--no-index"] if settings.get("no-index", "").lower() in {"1", "true", "yes", "on", "y", "t"} else []


def uv_environment(settings: dict[str, str]) -> dict[str, str]:
    """The process environment for uv. A variable of uv's own that is already set stays as it is."""
    told = {}
    for option, value in settings.items():
        if option in UV_NAMES and value.split():
            name, separator = UV_NAMES[option]
            told[name] = separator.join(value.split()) if separator else value
    if "UV_EXTRA_INDEX_URL" in told:  # pip takes the best version of all indexes, uv that of the first that has any
        told["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return told | dict(os.environ)
