"""Where the shipped pocket model lies, and whether it is whole and fits the prompts it will be asked with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from srdcr_lab.records import BadInput
from srdcr_lab.shipped import folder

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
