"""`import srdcr_lab`, and `srdcr plan` of the testbed, in fresh interpreters; the least of five."""

from __future__ import annotations

import subprocess
import sys
import time

TARGET, PLAN_TARGET, RUN_TARGET = 0.7, 1.5, 4.0
_PLAN = 'from srdcr_lab.cli import main; main(["plan", "--items", "facts:testbed", "--model", "openai:gpt-4o-mini"])'
_RUN = """
import sys, tempfile
from srdcr_lab.cli import main
with tempfile.TemporaryDirectory() as folder:
    sys.argv = ["srdcr", "run", "--model", "pocket", "--limit", "4", "--out", f"{folder}/run"]
    main()  # as in a shell, where the process then ends
"""
_LOAD = """
from transformers import AutoModelForCausalLM, AutoTokenizer
for loader in (AutoTokenizer, AutoModelForCausalLM):
    loader.from_pretrained("data/pocket", local_files_only=True)
"""


def rows() -> list[dict[str, object]]:
    bare, package, study = (_least(code) for code in ("pass", "import srdcr_lab", "import srdcr_lab; srdcr_lab.Study"))
    planned, ran, loaded = _least(_PLAN), _least(_RUN), _least(_LOAD)
    return [
        {
            "name": "import srdcr_lab",
            "measured": package - bare,
            "target": f"≤ {TARGET} s",
            "unit": "s",
            "detail": f"bare interpreter {bare:.2f} s; with Study, pandas and scipy {study - bare:.2f} s",
        },
        {
            "name": "srdcr plan --items facts:testbed",
            "measured": planned,
            "target": f"≤ {PLAN_TARGET:g} s",
            "unit": "s",
            "detail": "600 items and their false passages, two rehearsals of 32; interpreter and imports included",
        },
        {
            "name": "srdcr run --model pocket --limit 4",
            "measured": ran,
            "target": f"≤ {RUN_TARGET:g} s",
            "unit": "s",
            "detail": f"every default; transformers alone needs {loaded:.1f} s here to load the model",
        },
    ]


def _least(code: str) -> float:
    def once() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - started

    return min(once() for _ in range(5))
