"""From a folder or a hub name to a tokenizer and a model, or to one sentence that says what is wrong with it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from srdcr_lab.records import BadInput
from srdcr_lab.records.files import folder

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_WANTED = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt"]
_UNWANTED = ["*/*", "consolidated*"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    folder: Path
    tokenizer: Any
    model: Any


def load(folder_or_name: str, *, device: str = "auto", dtype: str = "auto") -> Checkpoint:
    """Tokenizer and model (evaluation mode) of a local folder, or of a name on the hub.

    Safetensors only, no code from the checkpoint. `device` ``auto`` is a GPU where there is one; `dtype` ``auto`` is
    float32 on the CPU and the checkpoint's own type elsewhere.

    Raises
    ------
    BadInput
        Nothing there, no safetensors, no chat template, an architecture that is not a causal language model.
    """
    folder = locate(folder_or_name)
    if not any(folder.glob("*.safetensors")):
        raise BadInput(f"{folder_or_name} has no .safetensors file; convert its weights to safetensors first")
    where = _device(device)
    number_type = _dtype(dtype, where)
    with _no_progress_bar():
        return _read(folder_or_name, folder, where, number_type)


def _read(folder_or_name: str, folder: Path, where: torch.device, dtype: torch.dtype | str) -> Checkpoint:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:
        raise BadInput(f"the tokenizer of {folder_or_name} cannot be read ({_brief(error)})") from error
    if not tokenizer.chat_template:
        raise BadInput(f"{folder_or_name} has no chat template; choose an instruction-tuned model")
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False, use_safetensors=True, dtype=dtype)
    except Exception as error:
        raise BadInput(f"the model in {folder_or_name} cannot be loaded ({_brief(error)})") from error
    if model.config.is_encoder_decoder:
        raise BadInput(f"{folder_or_name} is an encoder-decoder model; choose a decoder-only one")
    return Checkpoint(folder, tokenizer, model.to(where).eval())


def locate(folder_or_name: str) -> Path:
    """The folder that holds the checkpoint, downloaded where it is a hub name.

    Raises
    ------
    BadInput
        Neither a folder nor a name that the hub (or its local cache, when offline) can give.
    """
    folder = Path(folder_or_name).expanduser()
    if folder.is_dir():
        return folder
    if not _HUB_NAME.fullmatch(folder_or_name):
        raise BadInput(f"there is no model folder {folder_or_name}; give an existing folder or a hub name ORG/NAME")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(folder_or_name, allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
    except Exception as error:  # the hub's own texts carry addresses and run over many lines
        raise BadInput(
            f"{folder_or_name} is neither a folder here nor a model that could be fetched ({type(error).__name__}); "
            "check the name, the connection and the access rights"
        ) from error


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Reading weights takes seconds, and the bar would stay in notebooks and logs."""
    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()


def _device(wanted: str) -> torch.device:
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        return torch.empty(0, device=wanted).device
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {wanted!r} cannot be used here; try device='cpu'") from error


def _dtype(wanted: str, device: torch.device) -> torch.dtype | str:
    if wanted == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    dtype = getattr(torch, wanted, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise BadInput(f"dtype must be auto, float32, bfloat16 or float16, not {wanted!r}")
    return dtype


def _brief(error: Exception) -> str:
    first = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {first[:160]}"


# -- which model gave an answer: one hash over everything in a folder that can change what the model says

WEIGHTS = ("*.safetensors", "config.json", "generation_config.json")
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
)
CHAT_TEMPLATE = ("chat_template.jinja", "chat_template.json")


def fingerprint(folder: Path) -> str:
    """SHA-256, hexadecimal, over weights, tokenizer and chat template of a model folder.

    Each file counts with its name and its content, in the order of names; other files (a README, a training log) do
    not count, and neither does where the folder lies. About a second per gigabyte; nothing is cached.
    """
    patterns = WEIGHTS + TOKENIZER + CHAT_TEMPLATE
    files = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{path.name}\x1f{content}\x1e".encode())
    return total.hexdigest()


# -- where the shipped pocket model lies, and whether it is whole and fits the prompts it will be asked with

REMEDY = "run `make pocket`"


def pocket_folder() -> Path:
    """Folder of the shipped pocket model, in a checkout or in the installed wheel.

    Raises
    ------
    BadInput
        If this installation does not carry it.
    """
    return folder("pocket")


def check_manifest(folder: Path, template_hashes: Mapping[str, str]) -> None:
    """Compare a pocket model's manifest with its files and with the prompt templates in use.

    Parameters
    ----------
    folder : the model's folder.
    template_hashes : template name → SHA-256, as in use. Templates the model was not trained with are not compared.

    Raises
    ------
    BadInput
        If the manifest is missing or unreadable, a template has changed since training, or a file is not as trained.
    """
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        trained_with, files = dict(manifest["templates"]), dict(manifest["files"])
    except FileNotFoundError:
        raise BadInput(f"the pocket model is not there ({path} is missing); {REMEDY}") from None
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError):
        raise BadInput(f"the pocket model's {path} cannot be read; {REMEDY}") from None
    changed = [f"{name}.j2" for name, known in sorted(trained_with.items()) if template_hashes.get(name) != known]
    if changed:
        raise BadInput(f"the pocket model was trained on other prompts ({', '.join(changed)} changed); {REMEDY}")
    for name, known in sorted(files.items()):
        try:
            found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except OSError:
            raise BadInput(f"the pocket model's file {folder / name} is missing; {REMEDY}") from None
        if found != known:
            raise BadInput(f"the pocket model's file {folder / name} is damaged or from another model; {REMEDY}")
