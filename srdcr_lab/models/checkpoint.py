"""A model folder: its tokenizer with its chat template, its weights, the type they compute in, and the fingerprint.

What is wrong with a folder is said in one sentence. Only `load` imports torch and transformers, and `number_type` torch
where there is a choice.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.models.base import as_dicts, common_length, fold_system
from srdcr_lab.records import BadInput, Message, ModelIdentity
from srdcr_lab.records.files import sha256_of

if TYPE_CHECKING:
    import torch

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_WANTED = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt"]
_UNWANTED = ["*/*", "consolidated*"]
_IDENTIFYING = (  # files that can change what a model says: weights, tokenizer, chat template
    "*.safetensors config.json generation_config.json "
    "tokenizer.json tokenizer_config.json tokenizer.model vocab.json vocab.txt merges.txt "
    "special_tokens_map.json added_tokens.json chat_template.jinja chat_template.json"
).split()
_REMEDY = "run `make pocket` (about two hours), or take another model"
_MEND = "restore it with `git checkout data/pocket`, or take another model"

# What some templates would fill in by themselves: today's date (Llama 3) and a hidden chain of thought (Qwen 3).
# A prompt must not change from one day to the next, and answers are short.
FIXED_FIELDS = {"date_string": "26 Jul 2024", "enable_thinking": False}


def load(folder_or_name: str, *, device: str = "auto", dtype: str = "float32") -> tuple[Any, Any]:
    """Tokenizer and model (evaluation mode) of a local folder, or of a name on the hub.

    Safetensors only, no code from the checkpoint. Bad input: nothing there, no safetensors, no chat template, or not a
    decoder-only language model. `dtype` is the name of the type to compute in (`number_type`).
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    folder, where, floats = checkpoint_folder(folder_or_name), _device(device), _dtype(dtype)
    tokenizer = _read(AutoTokenizer, folder, f"the tokenizer of {folder_or_name} cannot be read")
    if not tokenizer.chat_template:
        raise BadInput(f"{folder_or_name} has no chat template; choose an instruction-tuned model")
    shows_progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # reading weights takes seconds, and the bar would stay in notebooks and logs
    try:
        fault = f"the model in {folder_or_name} cannot be loaded"
        model = _read(AutoModelForCausalLM, folder, fault, use_safetensors=True, dtype=floats)
    finally:
        if shows_progress:
            logging.enable_progress_bar()
    if model.config.is_encoder_decoder:
        raise BadInput(f"{folder_or_name} is an encoder-decoder model; choose a decoder-only one")
    return tokenizer, model.to(where).eval()


def checkpoint_folder(folder_or_name: str) -> Path:
    """The folder that holds the checkpoint; a hub name is downloaded first, or taken from the hub's cache."""
    folder = Path(folder_or_name).expanduser()
    if not folder.is_dir():
        folder = _fetched(folder_or_name)
    if not any(folder.glob("*.safetensors")):
        raise BadInput(f"{folder_or_name} has no .safetensors file; convert its weights to safetensors first")
    return folder


def _fetched(folder_or_name: str) -> Path:
    if not _HUB_NAME.fullmatch(folder_or_name):
        raise BadInput(f"there is no model folder {folder_or_name}; give an existing folder or a hub name ORG/NAME")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(folder_or_name, allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
    except Exception as error:  # the hub's own texts carry addresses and run over many lines
        fault = f"is neither a folder here nor a model that could be fetched ({type(error).__name__})"
        raise BadInput(f"{folder_or_name} {fault}; check the name, the connection and the access rights") from error


def _read(kind: Any, folder: Path, fault: str, **options: Any) -> Any:
    try:
        return kind.from_pretrained(folder, trust_remote_code=False, **options)
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        raise BadInput(f"{fault} ({type(error).__name__}: {first[:160]})") from error


def _device(wanted: str) -> torch.device:
    import torch

    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        return torch.zeros(1, device=wanted).device
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {wanted!r} cannot be used here; try device='cpu'") from error


def _dtype(wanted: str) -> torch.dtype:
    import torch

    dtype = getattr(torch, wanted, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise BadInput(f"dtype must be auto, float32, bfloat16 or float16, not {wanted!r}")
    return dtype


def number_type(folder_or_name: str, *, device: str = "auto", dtype: str = "auto") -> str:
    """The type to compute in, by name.

    ``auto`` is the type in which the weights are stored where the device has instructions for it, else float32. So a
    model stored in float32 is never rounded.
    """
    if dtype != "auto":
        return dtype
    config: dict[str, Any] = {}
    with suppress(OSError, ValueError, TypeError, AttributeError):  # what is wrong with it is said when it is loaded
        whole = json.loads((checkpoint_folder(folder_or_name) / "config.json").read_text(encoding="utf-8"))
        config = whole | whole.get("text_config", {})
    stored = config.get("dtype") or config.get("torch_dtype")
    return stored if stored in ("bfloat16", "float16") and computes_in(stored, device) else "float32"


def computes_in(dtype: str, device: str = "auto") -> bool:
    """Whether a device has instructions for this smaller type. A CPU may have some for bfloat16."""
    import torch

    if _device(device).type != "cpu":
        return True
    able = torch.cpu.get_capabilities()
    return dtype == "bfloat16" and any(able.get(name) for name in ("amx_bf16", "avx512_bf16", "bf16"))


class ChatFormat:
    """A tokenizer with its chat template.

    A template that refuses or drops the system message (Gemma) gets its text at the head of the first user message.
    `end_ids` are the tokens that end a reply: the checkpoint's end tokens, and the special token that the template
    itself writes after an assistant's message.
    """

    def __init__(self, tokenizer: Any, generation_config: Any = None) -> None:
        self._tokenizer = tokenizer
        tokenizer.model_max_length = sys.maxsize  # no warning for long prompts: the adapter has a sentence of its own
        self._folds_system = not self._keeps_system()
        self.end_ids = frozenset(self._ends(generation_config))

    def prompt_ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Token ids of the conversation, up to where the assistant speaks next.

        Only the template writes control tokens: those that occur in a message are encoded as ordinary text.
        """
        if self._folds_system:
            messages = fold_system(messages)
        return tuple(self._apply(messages, tokenize=True, add_generation_prompt=True, sanitize_control_tokens=True))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a reply's tokens, without special tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def token_texts(self, ids: Sequence[int]) -> tuple[str, ...]:
        """One text per token; together they are `decode(ids)`.

        Token i gets what decoding ``ids[:i + 1]`` adds to the final text: a character that spans several tokens belongs
        to the token that completes it, and the tokens before it get ``""``, as skipped special tokens do.
        """
        whole = self.decode(ids)
        ends = [common_length(self.decode(ids[:count]), whole) for count in range(1, len(ids) + 1)]
        return tuple(whole[start:end] for start, end in pairwise(accumulate([0, *ends], max)))

    def _apply(self, messages: Iterable[Message], **options: Any) -> Any:
        return self._tokenizer.apply_chat_template(as_dicts(messages), return_dict=False, **options, **FIXED_FIELDS)

    def _keeps_system(self) -> bool:
        with suppress(Exception):  # a template raises whatever its author chose
            return "xyzzy" in self._apply([Message("system", "xyzzy"), Message("user", "a")], tokenize=False)
        return False

    def _ends(self, generation_config: Any) -> Iterable[int]:
        named = getattr(generation_config, "eos_token_id", None)
        yield from [named] if isinstance(named, int) else named or ()
        if self._tokenizer.eos_token_id is not None:
            yield self._tokenizer.eos_token_id
        try:
            text = self._apply([Message("user", "a"), Message("assistant", "xyzzy")], tokenize=False)
        except Exception as error:
            raise BadInput(f"the chat template fails on a plain exchange ({error})") from error
        after = self._tokenizer.encode(text.rpartition("xyzzy")[2].lstrip(), add_special_tokens=False)
        added = self._tokenizer.added_tokens_decoder
        if after and after[0] in added and added[after[0]].special:
            yield after[0]


def fingerprint(folder: Path) -> str:
    """SHA-256, hexadecimal, over weights, tokenizer and chat template of a model folder.

    Each file counts with its name and content, in the order of names. Other files (a README, a training log) do not
    count, and neither does the folder's place. Takes about a second per gigabyte; nothing is cached.
    """
    total = hashlib.sha256()
    for path in sorted({path for pattern in _IDENTIFYING for path in folder.glob(pattern) if path.is_file()}):
        total.update(f"{path.name}\x1f{sha256_of(path)}\x1e".encode())
    for name in ("generation_config.json", "config.json"):
        with suppress(OSError, ValueError, AttributeError):  # what is wrong with it is said when it is loaded
            if json.loads((folder / name).read_text(encoding="utf-8")).get("suppress_tokens"):
                total.update(b"suppress_tokens\x1e")  # before these were honoured, the same files said other things
    return total.hexdigest()


def identity_of(
    folder_or_name: str, *, provider: str = "hf", name: str | None = None, label: str = "", dtype: str = "float32"
) -> ModelIdentity:
    """The identity of the model in a local folder or under a hub name; its name is by default the hub name, or the
    folder's own.

    The same weights computed in another type than float32 give other replies: such a model has that type as a setting.
    """
    folder, path = checkpoint_folder(folder_or_name), Path(folder_or_name).expanduser()
    if name is None:  # a path's last part alone tells nothing about this machine
        name = path.resolve().name if path.exists() else folder_or_name
    settings = "" if dtype == "float32" else json.dumps({"dtype": dtype}, separators=(",", ":"))
    return ModelIdentity(provider, name, label, fingerprint(folder), settings)


def check_manifest(folder: Path, template_hashes: Mapping[str, str]) -> None:
    """Compare a pocket model's manifest with its files and with the prompt templates in use (name → SHA-256).

    Bad input: the manifest cannot be read, a template has changed since training, or a file is not as trained.
    Templates that the manifest does not name are not compared.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        trained_with, files = dict(manifest["templates"]), dict(manifest["files"])
        wrong = [name for name, known in sorted(files.items()) if sha256_of(folder / name) != known]
    except (OSError, ValueError, KeyError, TypeError) as error:
        where = folder / "manifest.json"
        raise BadInput(f"the pocket model's {where}, or a file it names, cannot be read ({error}); {_MEND}") from None
    changed = [f"{name}.j2" for name, known in sorted(trained_with.items()) if template_hashes.get(name) != known]
    if changed:
        raise BadInput(f"the pocket model was trained on other prompts ({', '.join(changed)} changed); {_REMEDY}")
    if wrong:
        raise BadInput(f"the pocket model's file {folder / wrong[0]} is damaged or from another model; {_MEND}")
