"""From a folder or a hub name to a tokenizer and a model, or to one sentence that says what is wrong with it.

Also the fingerprint of a model folder's files, and the comparison of the shipped pocket model with its manifest. Only
loading imports torch and transformers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.records import BadInput
from srdcr_lab.records.files import folder

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
_REMEDY = "run `make pocket`"


def load(folder_or_name: str, *, device: str = "auto", dtype: str = "auto") -> tuple[Path, Any, Any]:
    """Folder, tokenizer and model (evaluation mode) of a local folder, or of a name on the hub.

    Safetensors only, no code from the checkpoint. `device` ``auto`` is a GPU where there is one; `dtype` ``auto`` is
    float32 on the CPU and the checkpoint's own type elsewhere.

    Raises
    ------
    BadInput
        Nothing there, no safetensors, no chat template, or not a decoder-only language model.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    folder = locate(folder_or_name)
    if not any(folder.glob("*.safetensors")):
        raise BadInput(f"{folder_or_name} has no .safetensors file; convert its weights to safetensors first")
    where = _device(device)
    number_type = _dtype(dtype, where)
    tokenizer = _read(AutoTokenizer, folder, f"the tokenizer of {folder_or_name} cannot be read")
    if not tokenizer.chat_template:
        raise BadInput(f"{folder_or_name} has no chat template; choose an instruction-tuned model")
    shows_progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # reading weights takes seconds, and the bar would stay in notebooks and logs
    try:
        fault = f"the model in {folder_or_name} cannot be loaded"
        model = _read(AutoModelForCausalLM, folder, fault, use_safetensors=True, dtype=number_type)
    finally:
        if shows_progress:
            logging.enable_progress_bar()
    if model.config.is_encoder_decoder:
        raise BadInput(f"{folder_or_name} is an encoder-decoder model; choose a decoder-only one")
    return folder, tokenizer, model.to(where).eval()


def locate(folder_or_name: str) -> Path:
    """The folder that holds the checkpoint; a hub name is downloaded first.

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
        return torch.empty(0, device=wanted).device
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {wanted!r} cannot be used here; try device='cpu'") from error


def _dtype(wanted: str, device: torch.device) -> torch.dtype | str:
    import torch

    if wanted == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    dtype = getattr(torch, wanted, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise BadInput(f"dtype must be auto, float32, bfloat16 or float16, not {wanted!r}")
    return dtype


def fingerprint(folder: Path) -> str:
    """SHA-256, hexadecimal, over weights, tokenizer and chat template of a model folder.

    Each file counts with its name and content, in the order of names. Other files (a README, a training log) do not
    count, and neither does the folder's place. Takes about a second per gigabyte; nothing is cached.
    """
    files = sorted({path for pattern in _IDENTIFYING for path in folder.glob(pattern) if path.is_file()})
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{path.name}\x1f{content}\x1e".encode())
    return total.hexdigest()


def pocket_folder() -> Path:
    """Folder of the shipped pocket model, in a checkout or in the installed wheel. BadInput where there is none."""
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
        raise BadInput(f"the pocket model is not there ({path} is missing); {_REMEDY}") from None
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError):
        raise BadInput(f"the pocket model's {path} cannot be read; {_REMEDY}") from None
    changed = [f"{name}.j2" for name, known in sorted(trained_with.items()) if template_hashes.get(name) != known]
    if changed:
        raise BadInput(f"the pocket model was trained on other prompts ({', '.join(changed)} changed); {_REMEDY}")
    for name, known in sorted(files.items()):
        try:
            content = (folder / name).read_bytes()
        except OSError:
            raise BadInput(f"the pocket model's file {folder / name} is missing; {_REMEDY}") from None
        if hashlib.sha256(content).hexdigest() != known:
            raise BadInput(f"the pocket model's file {folder / name} is damaged or from another model; {_REMEDY}")
