"""Write requirements.lock: one version of every package of every extra, for all platforms and Python versions.

The lock is used as constraints, so it holds nothing of the machine that made it: no index, no path, no hash, no local
version (`torch==2.13.0`, not `+cpu`). Versions already in it stay where they can; delete it to take the newest.
"""

from __future__ import annotations

import re
import sys

from bootstrap import LOCK, PYTHON, InstallFailed, explain, make_venv, run, uv
from pip_settings import read_pip_settings, uv_environment

COMPILE = "pip compile pyproject.toml --all-extras --universal --python-version 3.11 --fork-strategy fewest --quiet"
BARE = "--no-header --no-annotate --no-emit-index-url --no-emit-find-links"
OF_THIS_MACHINE = {"extra-index-url", "find-links"}  # builds that others may not have


def main() -> None:
    LOCK.touch()
    make_venv()
    settings = {option: value for option, value in read_pip_settings(PYTHON).items() if option not in OF_THIS_MACHINE}
    try:
        run(uv(*COMPILE.split(), *BARE.split(), "--output-file", LOCK.name), uv_environment(settings))
    except InstallFailed as failure:
        if not LOCK.stat().st_size:
            LOCK.unlink()
        sys.exit(explain(failure))
    pins = re.sub(r"^(\S+==[^\s+]+)\+\S+", r"\1", LOCK.read_text("utf-8"), flags=re.MULTILINE)
    LOCK.write_text(pins, "utf-8")
    print(f"{LOCK.name}: {len(pins.splitlines())} versions")


if __name__ == "__main__":
    main()
